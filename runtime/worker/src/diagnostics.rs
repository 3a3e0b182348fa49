//! A fault on the device in the cell's words: the kernel's name, the parameter's, the thread, and the line.

mod access_span;

use std::ops::Range;

use onrush_device::{Access, Error, Fault, FaultKind, Memory, StopCause, ThreadSite, Variable};
use onrush_wire::worker::{Launch, Source};
use onrush_wire::{Class, Diagnostic, Label, Span};

use crate::source::instrument_uninitialized::{self, Instrumentation};

/// A buffer that a launch was given.
pub struct NamedBuffer {
    pub name: String,
    pub address: u64,
    pub element: u64,
}

/// The device, its compiler or its memory cannot be had.
pub fn unavailable(error: &Error) -> Diagnostic {
    let class = match error.class() {
        onrush_device::Class::Resources => Class::Resources,
        onrush_device::Class::Internal => Class::Internal,
        _ => Class::Environment,
    };
    with_help(Diagnostic::error(class, "cuda", error.to_string()), error)
}

/// A buffer did not get there or back.
pub fn moving(error: &Error) -> Diagnostic {
    unavailable(error)
}

fn with_help(diagnostic: Diagnostic, error: &Error) -> Diagnostic {
    match error.help() {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    }
}

/// A cell's text, and what the compiler has had more.
pub struct Cell<'a> {
    pub source: &'a Source,
    pub marks: &'a [Instrumentation],
}

pub fn failed(error: &Error, launch: &Launch, cell: &Cell<'_>, buffers: &[NamedBuffer], emulated: bool) -> Diagnostic {
    let source = cell.source;
    match error {
        Error::Kernel { fault: Some(fault), .. } => {
            let mut fault = (**fault).clone();
            if let (Some(column), Some(line)) = (fault.column, line_in(&fault.parties[0].line, source)) {
                fault.column = Some(instrument_uninitialized::column_before(&source.text, cell.marks, line, column));
            }
            Report { launch, source, buffers, fault: &fault }.diagnostic()
        }
        Error::Kernel { reason, cause, .. } => {
            far(reason, launch, source, buffers).unwrap_or_else(|| from_text(reason, *cause, launch, source))
        }
        Error::Lost { code, .. } => {
            let message = format!("`{}` did what the GPU does not allow: {code}", launch.kernel);
            let help = "begin the cell with `%%cuda check`: memcheck then names the thread and the line";
            Diagnostic::error(Class::Run, "cuda-fault", message).help(help)
        }
        _ if emulated => unavailable(error),
        _ => {
            let message = format!("`{}` cannot be launched: {error}", launch.kernel);
            with_help(Diagnostic::error(Class::Run, "cuda-launch", message), error)
        }
    }
}

/// A line of the cell from its first character to its last.
pub fn whole_line(source: &Source, line: u32) -> Span {
    let text = line_of(source, line);
    let indent = text.chars().take_while(|c| c.is_whitespace()).count() as u32;
    let length = text.trim().chars().count().max(1) as u32;
    Span { file: source.file.clone(), line, column: indent + 1, length }
}

/// The line's number, from `cell_3.rs:7`.
fn line_in(place: &str, source: &Source) -> Option<u32> {
    place.strip_prefix(source.file.as_str())?.strip_prefix(':')?.parse().ok()
}

fn line_of(source: &Source, line: u32) -> &str {
    source.text.lines().nth((line as usize).saturating_sub(1)).unwrap_or("")
}

/// A part of a line, in bytes of it.
fn part(source: &Source, line: u32, range: Range<usize>) -> Span {
    let text = line_of(source, line);
    let (column, length) = (text[..range.start].chars().count() as u32 + 1, text[range].chars().count() as u32);
    Span { file: source.file.clone(), line, column, length }
}

/// Says how a kernel that stopped for a cause is mended.
fn help_for(cause: StopCause, source: &Source) -> Option<&'static str> {
    let help = match cause {
        StopCause::Other => return None,
        StopCause::BlockMemory => "use a smaller array, or one of narrower numbers",
        StopCause::NullPointer => {
            "a pointer gets its address from a buffer or an array before it is used; `malloc` gives none where its 8 MB are full"
        }
        StopCause::ForeignVariable => {
            "a variable in a function is each thread's own: `__shared__` ones are the block's, `__device__` ones and buffers are everybody's"
        }
        StopCause::NoReturn => "each way through the function needs its `return`: one behind the last `if`, too",
        StopCause::NoMemoryThere => "a pointer to a text or to a function has no such thing behind it",
        StopCause::UnsetVariable => {
            "give it a value where it is declared: `int sum = 0;`; a variable that no branch sets has whatever was there"
        }
        StopCause::EndedFunction => {
            "a variable in a function is gone when the function ends: give the value back, or let the caller pass the address of a variable"
        }
        StopCause::UnsetArray => {
            "an array in a function begins with whatever was there: `int count[8] = {};` sets all of it to 0"
        }
        StopCause::BesideVariable => {
            "an index or a pointer goes past an array in a function: how many elements does it have, and how many does the loop think that it has?"
        }
        StopCause::CheckerMemory => {
            "the emulated device needs twenty times a buffer's bytes to look at each access to it: try the kernel on a smaller one"
        }
        StopCause::Stack => {
            "an array in a function is each thread's own, and each call of a function that calls itself has one more: use less of both, `__shared__` memory, \
             or a buffer; this is the emulated device's limit, and a GPU's is another"
        }
        StopCause::Printf => {
            "`%d` prints an `int`, `%u` an `unsigned`, `%lld` a `long long`, `%f` a `float` or a `double`, `%s` a text, `%p` an address"
        }
        StopCause::BadFree => "`free` and `delete` take what `malloc` and `new` gave, once",
        StopCause::Freed => {
            "what `free` and `delete` have taken back is nobody's, for all threads: the last one that uses it gives it back"
        }
        StopCause::NoAllocation => {
            "a pointer must come from a buffer that the kernel was given; an index may be far out of it"
        }
        StopCause::NoProgress => {
            "a loop waits for something that no other thread does; blocks run in any order, and not all at once"
        }
        StopCause::Division => "a GPU goes on with some number; an `if` around the division keeps it out",
        StopCause::AbsentLane => match source.text.contains("__activemask") {
            true => {
                "`__activemask()` says who happens to be there, which may be one lane alone: a mask that is known, such as 0xffffffff, says who must come"
            }
            false => {
                "only lanes that take part give something: let all of them take part with a value that changes nothing, such as 0 in a sum, \
                 or keep to lanes that are in the mask"
            }
        },
        StopCause::WarpWidth => {
            "the width is 2, 4, 8, 16 or 32: the warp is split into groups of so many lanes; leave it out for the whole warp"
        }
        StopCause::OwnLane => {
            "the mask says which lanes take part, one bit for each, and the calling lane must be among them: 0xffffffff is all 32"
        }
        StopCause::WarpDivergence => {
            "all lanes of the mask must come to the same call, with the same mask: put it behind the `if`, not into it"
        }
    };
    Some(help)
}

/// Makes a diagnostic of the text of the checker: places in the text become underlines.
fn from_text(reason: &str, cause: StopCause, launch: &Launch, source: &Source) -> Diagnostic {
    let mut text = String::new();
    let mut places = Vec::new();
    let mut rest = reason;
    while let Some((before, after)) = rest.split_once(&format!(" at {}:", source.file)) {
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        text.push_str(before);
        if let Ok(line) = after[..digits].parse::<u32>() {
            // Two threads are spoken of: a call by each of them, which may be on the same line.
            let function = before.rsplit(' ').next().filter(|word| word.starts_with("__")).unwrap_or_default();
            let range = access_span::call(line_of(source, line), function).filter(|_| !function.is_empty());
            places.push(range.map_or_else(|| whole_line(source, line), |range| part(source, line, range)));
        }
        rest = &after[digits..];
    }
    text.push_str(rest);
    let help = help_for(cause, source);
    let of_two = places.len() > 1;
    // `thread (0,0,0) …, and lane 20 of its warp …`
    let lane = text.split_once("lane ").and_then(|(_, rest)| rest.split(' ').next()).map(|lane| format!("lane {lane}"));
    let names = [text.split_inclusive(')').next().map(|name| name.trim_start_matches("deadlock: ").to_string()), lane];
    let mut diagnostic = Diagnostic::error(Class::Run, "cuda-fault", format!("`{}`: {text}", launch.kernel));
    for (at, span) in places.into_iter().enumerate() {
        let name = names.get(at).and_then(Option::as_ref).filter(|_| of_two);
        let text = name.map_or(String::new(), |name| format!("{name} is here"));
        diagnostic.labels.push(Label { span, text, primary: at == 0 });
    }
    match help {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    }
}

/// An index that is wrong by so much that its address is nobody's: which one, if the line shows which buffer is meant.
fn far(reason: &str, launch: &Launch, source: &Source, buffers: &[NamedBuffer]) -> Option<Diagnostic> {
    let (access, rest) = reason.strip_suffix(", which belongs to no allocation")?.split_once(" bytes at address 0x")?;
    let (address, place) = rest.split_once(" at ")?;
    let address = u64::from_str_radix(address, 16).ok()?;
    let number = line_in(place, source)?;
    // `thread (0,0,0) of block (0,0,0) writes 4`
    let thread = access.rsplit_once(' ')?.0;
    let writes = thread.ends_with(" writes");
    let text = line_of(source, number);
    let mut all: Vec<(&NamedBuffer, access_span::Mention)> = Vec::new();
    for buffer in buffers {
        all.extend(access_span::mentions(text, &buffer.name, false).into_iter().map(|mention| (buffer, mention)));
    }
    let mentions: Vec<access_span::Mention> = all.iter().map(|(_, mention)| mention.clone()).collect();
    // A mention that is only written was not read.
    let mention = access_span::pick(&mentions, writes).filter(|mention| writes || mention.is_read)?;
    let buffer = all.iter().find(|(_, other)| other == mention)?.0;
    let offset = i128::from(address) - i128::from(buffer.address);
    let (index, beside) =
        (offset.div_euclid(i128::from(buffer.element)), offset.rem_euclid(i128::from(buffer.element)));
    // Farther than an index of 32 bits and some terms reaches: it is another pointer.
    if beside != 0 || index.abs() > 1 << 34 {
        return None;
    }
    let name = &buffer.name;
    let message = format!("`{}`: {thread} `{name}[{index}]`, which is far out of `{name}`", launch.kernel);
    let help = if index < 0 {
        "an `int` ends at 2147483647, and what is more becomes negative: compute large products as `long long`"
    } else if index >= 1 << 31 {
        "an `unsigned` number is never negative: 0 - 1 is 4294967295; use `int`, or keep 0 out by an `if`"
    } else {
        "an `if` around the access keeps larger indices out; an `int` that overflows may be any number"
    };
    let said = format!("{} `{name}[{index}]` here", if writes { "writes" } else { "reads" });
    let span = part(source, number, mention.range.clone());
    let label = Label { span, text: said, primary: true };
    Some(Diagnostic::error(Class::Run, "cuda-bounds", message).help(help).labelled(Some(label)))
}

struct Report<'a> {
    launch: &'a Launch,
    source: &'a Source,
    buffers: &'a [NamedBuffer],
    fault: &'a Fault,
}

/// The name of an element, the number of elements, and whether they are a block's or a thread's own.
struct Element {
    name: String,
    index: i64,
    count: u64,
    shared: bool,
    /// It is a variable, and no array.
    is_scalar: bool,
}

impl Element {
    fn shown(&self) -> String {
        if self.is_scalar { format!("`{}`", self.name) } else { format!("`{}[{}]`", self.name, self.index) }
    }

    /// As the code would have it, for any element.
    fn any(&self) -> String {
        if self.is_scalar { self.name.clone() } else { format!("{}[…]", self.name) }
    }
}

fn who(party: &ThreadSite) -> String {
    let [x, y, z] = party.thread;
    let [a, b, c] = party.block;
    format!("thread ({x},{y},{z}) of block ({a},{b},{c})")
}

fn thread(party: &ThreadSite) -> String {
    let [x, y, z] = party.thread;
    format!("thread ({x},{y},{z})")
}

fn verb(access: Access) -> &'static str {
    match access {
        Access::Read => "reads",
        Access::Write => "writes",
        Access::Update => "updates",
        Access::Use => "uses",
    }
}

fn past(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "written",
        Access::Update => "updated",
        Access::Use => "used",
    }
}

impl Report<'_> {
    fn diagnostic(&self) -> Diagnostic {
        let kernel = &self.launch.kernel;
        let [first, second] = &self.fault.parties;
        match &self.fault.kind {
            FaultKind::OutOfBounds => {
                let element = self.element();
                let Element { name, count, index, .. } = &element;
                let elements = if *count == 1 { "element" } else { "elements" };
                let message = match self.in_bytes(&element) {
                    true => format!(
                        "`{kernel}`: {} {} byte {index} of `{name}`, which has {count}",
                        who(first),
                        verb(first.access)
                    ),
                    false => format!(
                        "`{kernel}`: {} {} {}, and `{name}` has {count} {elements}",
                        who(first),
                        verb(first.access),
                        element.shown()
                    ),
                };
                let help = if *index < 0 {
                    "the first index is 0: an `if` around the access keeps smaller ones out".to_string()
                } else if *count == 0 && self.fault.memory == Memory::Dynamic {
                    "dynamic shared memory is given with the threads: `name(blocks, 256.shared(bytes), …)`".to_string()
                } else if self.fault.memory == Memory::Dynamic {
                    let bytes = self.launch.shared;
                    format!(
                        "the launch gives {bytes} bytes of it: `threads.shared(bytes)` counts bytes, not elements, and all arrays in it together"
                    )
                } else if *count == 0 {
                    format!("`{name}` is empty: `Buffer::zeros(n)` has n elements")
                } else {
                    let threads =
                        self.launch.threads.iter().zip(self.launch.blocks).map(|(t, b)| u64::from(*t) * u64::from(b));
                    let last = count - 1;
                    match threads.product::<u64>() {
                        all if all > *count && !element.shared => format!(
                            "the last one is `{name}[{last}]`, and {all} threads were started: `if (i < n)` keeps out those that are too many"
                        ),
                        _ => format!(
                            "the last one is `{name}[{last}]`: an `if` around the access keeps larger indices out"
                        ),
                    }
                };
                let said = format!("{} {} here", verb(first.access), element.shown());
                let place = match self.array() {
                    Some((line, range, _)) => Some(part(self.source, line, range)),
                    None => self.place(first, &element),
                };
                self.error("cuda-bounds", message).help(help).labelled(label(place, said, true))
            }
            FaultKind::Race | FaultKind::MissingSyncwarp => self.race(),
            FaultKind::UninitializedShared => {
                let element = self.element();
                let of_heap = matches!(self.fault.memory, Memory::Device { .. });
                let message = format!(
                    "`{kernel}`: {} {} {}, and {} has written it",
                    who(first),
                    verb(first.access),
                    element.shown(),
                    if of_heap { "nobody" } else { "no thread of its block" }
                );
                let help = match of_heap {
                    true => "memory of `malloc` and `new` begins with whatever was there: set it first, or `new int[n]()` is zeros"
                        .to_string(),
                    false => format!(
                        "shared memory begins with whatever was there: set `{}` first, then `__syncthreads();`",
                        element.name
                    ),
                };
                let said = format!("{} here", past(first.access));
                self.error("cuda-unwritten", message).help(help).labelled(label(
                    self.place(first, &element),
                    said,
                    true,
                ))
            }
            FaultKind::BarrierDivergence => {
                let message = format!(
                    "`{kernel}`: threads of block {} wait at different barriers: {} at one, {} at another",
                    block(first),
                    thread(first),
                    thread(second)
                );
                self.error("cuda-barrier", message)
                    .help("all threads of a block must come to the same `__syncthreads();`: put it behind the `if`, not into it")
                    .labelled(label(self.whole(first), format!("{} waits here", thread(first)), true))
                    .labelled(label(self.whole(second), format!("{} waits here", thread(second)), false))
            }
            FaultKind::BarrierExit => {
                let message = format!(
                    "`{kernel}`: {} waits at a barrier that {} never reaches: it has left the kernel",
                    who(first),
                    thread(second)
                );
                self.error("cuda-barrier", message)
                    .help("all threads of a block must come to each `__syncthreads();`: put the `if` around the work only, and leave out an early `return`")
                    .labelled(label(self.whole(first), format!("{} waits here", thread(first)), true))
                    .labelled(label(self.whole(second), format!("{} was here last", thread(second)), false))
            }
            FaultKind::Constant => {
                let element = self.element();
                let message = format!(
                    "`{kernel}`: {} writes {}, and `{}` is `__constant__`",
                    who(first),
                    element.shown(),
                    element.name
                );
                let place = self.place(first, &element);
                self.error("cuda-constant", message)
                    .help("kernels only read `__constant__` variables: a `__device__` variable is what they can write")
                    .labelled(label(place, "written here".to_string(), true))
            }
            FaultKind::Misaligned { type_name } => self.misaligned(type_name),
            FaultKind::Division => {
                let message = format!("`{kernel}`: {} divides an integer by zero", who(first));
                self.error("cuda-arithmetic", message)
                    .help("a GPU goes on with some number; an `if` around the division keeps it out")
                    .labelled(label(self.operator(&["/", "%"]), "the divisor is 0 here".to_string(), true))
            }
            FaultKind::Shift => {
                let Fault { offset: by, size: bits, .. } = self.fault;
                let message = format!("`{kernel}`: {} shifts a number of {bits} bits by {by}", who(first));
                let help = if *by < 0 {
                    "a number is shifted by 0 or more: `>>` is the other direction".to_string()
                } else if *bits < 64 && *by < 64 {
                    format!("it is shifted by {} at most: `1ull << n` is a number of 64 bits", bits - 1)
                } else {
                    format!("it is shifted by {} at most: an `if` around it keeps larger ones out", bits - 1)
                };
                self.error("cuda-arithmetic", message).help(help).labelled(label(
                    self.operator(&["<<", ">>"]),
                    format!("by {by} here"),
                    true,
                ))
            }
        }
    }

    fn race(&self) -> Diagnostic {
        let [first, second] = &self.fault.parties;
        let element = self.element();
        let message = format!(
            "`{}`: a race: {} {} {}, which {} has {} at the same time",
            self.launch.kernel,
            who(first),
            verb(first.access),
            element.shown(),
            if first.block == second.block { thread(second) } else { who(second) },
            past(second.access)
        );
        let same_line = first.line == second.line;
        let places = [first, second].map(|party| self.place(party, &element));
        let text = line_in(&first.line, self.source).map_or("", |line| line_of(self.source, line));
        let adds_up = access_span::adds_up(text, &access_span::mentions(text, &element.name, element.is_scalar));
        let one_reads = (first.access == Access::Read) != (second.access == Access::Read);
        let (name, any) = (&element.name, element.any());
        let help = if self.fault.kind == FaultKind::MissingSyncwarp {
            "`volatile` makes no thread wait for another, and lanes of a warp are not in step: read into a variable, then `__syncwarp();` (in one warp) or \
             `__syncthreads();`, then write, then the same again before the next read; or add the warp up by `__shfl_down_sync`"
                .to_string()
        } else if same_line && adds_up {
            format!(
                "several threads change `{any}`, and changes get lost: `atomicAdd(&{any}, …)` makes them one after the other"
            )
        } else if same_line && one_reads && first.block == second.block {
            format!(
                "one thread reads what another one changes in the same line: read into a variable first, then `__syncthreads();`, then write, \
                 then `__syncthreads();` before the next round; or write to a second array, and leave `{name}` as it is"
            )
        } else if same_line && one_reads {
            format!(
                "blocks run in any order: write to a second buffer, and leave `{name}` as it is while others read it"
            )
        } else if first.block != second.block && element.is_scalar {
            format!("blocks run in any order: `atomicAdd` makes changes of `{name}` one after the other")
        } else if first.block != second.block {
            format!("blocks run in any order: give each thread a separate element of `{name}`, or use `atomicAdd`")
        } else if same_line && element.is_scalar {
            format!("let one thread write `{name}`: `if (threadIdx.x == 0)`, then `__syncthreads();`")
        } else if same_line && first.access == Access::Write {
            format!("give each thread a separate element of `{name}`: is the index different in each thread?")
        } else if same_line {
            "`__syncthreads();` between the two accesses makes all threads of the block wait for each other".to_string()
        } else {
            "`__syncthreads();` between the two lines makes all threads of the block wait for each other".to_string()
        };
        let diagnostic = self.error("cuda-race", message).help(help);
        let said = |party: &ThreadSite| format!("{} here by {}", past(party.access), thread(party));
        let [here, there] = places;
        let second_label = if here == there { None } else { label(there, said(second), false) };
        diagnostic.labelled(label(here, said(first), true)).labelled(second_label)
    }

    fn misaligned(&self, type_name: &str) -> Diagnostic {
        let [first, _] = &self.fault.parties;
        let Fault { offset, bytes, memory, .. } = self.fault;
        let element = self.element();
        let article = if type_name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        let what = format!("{article} `{type_name}`");
        let at = match memory {
            Memory::None => "at an address that is not a multiple".to_string(),
            _ => format!("at byte {offset} of `{}`, which is not a multiple", element.name),
        };
        let message = format!("`{}`: {} {} {what} {at} of {bytes}", self.launch.kernel, who(first), verb(first.access));
        let buffer = self.buffers.iter().find(|buffer| *memory == Memory::Device { address: buffer.address });
        let step = buffer.map(|buffer| (&buffer.name, bytes / buffer.element.max(1))).filter(|(_, step)| *step > 1);
        let first_ones = step.map_or(String::new(), |(name, step)| {
            format!(", as `{name}[0]`, `{name}[{step}]`, `{name}[{}]` are", 2 * step)
        });
        let help = format!("a GPU reads and writes {what} only where the address is a multiple of {bytes}{first_ones}");
        let said = format!("{} here", past(first.access));
        self.error("cuda-alignment", message).help(help).labelled(label(self.whole(first), said, true))
    }

    fn error(&self, code: &str, message: String) -> Diagnostic {
        Diagnostic::error(Class::Run, code, message)
    }

    fn element(&self) -> Element {
        let Fault { offset, bytes, size, memory, .. } = self.fault;
        let unnamed = |name: &str, element: u64, shared| Element {
            name: name.to_string(),
            index: offset.div_euclid(element.max(1) as i64),
            count: size / element.max(1),
            shared,
            is_scalar: false,
        };
        let variable = |variable: &Variable| {
            let element = self.declared_element(variable).unwrap_or(*bytes).max(1);
            let count = variable.bytes / element;
            let index = (offset - variable.offset as i64).div_euclid(element as i64);
            Element { name: variable.name.clone(), index, count, shared: true, is_scalar: count == 1 && index == 0 }
        };
        match memory {
            Memory::Device { address } => match self.buffers.iter().find(|buffer| buffer.address == *address) {
                Some(buffer) => unnamed(&buffer.name, buffer.element, false),
                None => unnamed("memory", *bytes, false),
            },
            Memory::Shared(variables) => match nearest(own(variables, &self.launch.kernel), *offset) {
                Some(found) => variable(found),
                None => unnamed("shared memory", *bytes, true),
            },
            Memory::Variables(variables) => match nearest(variables.iter(), *offset) {
                Some(found) => variable(found),
                None => unnamed("the cell's variables", *bytes, true),
            },
            Memory::Array { .. } => {
                unnamed(&self.array().map_or_else(|| "the array".to_string(), |(_, _, name)| name), *bytes, true)
            }
            Memory::Dynamic => unnamed(&self.dynamic_name(), *bytes, true),
            Memory::None => unnamed("memory", *bytes, false),
        }
    }

    /// Bytes of an element of an array of structs: more than an access of a member takes. Known where the length is
    /// written as a number.
    fn declared_element(&self, variable: &Variable) -> Option<u64> {
        let (text, name) = (&self.source.text, format!("{}[", variable.name));
        let lengths = text.match_indices(&name).filter_map(|(at, found)| {
            let before = text[..at].chars().next_back()?;
            let (length, rest) = text[at + found.len()..].split_once(']')?;
            let declares =
                before.is_whitespace() && !rest.starts_with('[') && rest.trim_start().starts_with([';', ',', '=']);
            length.trim().parse::<u64>().ok().filter(|length| declares && *length > 0)
        });
        let mut elements = lengths.map(|length| variable.bytes / length);
        elements.find(|element| self.fault.bytes > 1 && *element > self.fault.bytes && element % self.fault.bytes == 0)
    }

    /// Whether an element is a byte only because `memcpy` or `memset` takes one at a time.
    fn in_bytes(&self, element: &Element) -> bool {
        let line = line_in(&self.fault.parties[0].line, self.source).map_or("", |line| line_of(self.source, line));
        element.shared && self.fault.bytes == 1 && (line.contains("memcpy") || line.contains("memset"))
    }

    /// The name of dynamic shared memory in the cell.
    fn dynamic_name(&self) -> String {
        let found = self.source.text.split("extern").skip(1).find_map(|rest| {
            let inner = rest.trim_start().strip_prefix("__shared__")?;
            let name = inner.split_once('[')?.0.split_whitespace().next_back()?;
            Some(name.to_string())
        });
        found.unwrap_or_else(|| "shared memory".to_string())
    }

    fn whole(&self, party: &ThreadSite) -> Option<Span> {
        line_in(&party.line, self.source).map(|line| whole_line(self.source, line))
    }

    /// The access of a party on its line, or the whole line.
    fn place(&self, party: &ThreadSite, element: &Element) -> Option<Span> {
        let line = line_in(&party.line, self.source)?;
        let text = line_of(self.source, line);
        let all = access_span::mentions(text, &element.name, element.is_scalar);
        let of_bounds = || match self.fault.kind {
            FaultKind::OutOfBounds => access_span::by_direction(text, &all, element.index < 0),
            _ => None,
        };
        Some(match access_span::pick(&all, party.access != Access::Read).or_else(of_bounds) {
            Some(mention) => part(self.source, line, mention.range.clone()),
            None => whole_line(self.source, line),
        })
    }

    /// The array whose index is out of it: the line, the place there, and the array without that index.
    fn array(&self) -> Option<(u32, Range<usize>, String)> {
        let Memory::Array { dimensions } = self.fault.memory else { return None };
        let line = line_in(&self.fault.parties[0].line, self.source)?;
        let (range, name) = access_span::indexed(line_of(self.source, line), self.fault.column?, dimensions)?;
        Some((line, range, name.to_string()))
    }

    /// One of these signs at the fault's column, or the whole line.
    fn operator(&self, signs: &[&str]) -> Option<Span> {
        let first = &self.fault.parties[0];
        let line = line_in(&first.line, self.source)?;
        let start = (self.fault.column.unwrap_or(1) as usize).saturating_sub(1);
        let rest = line_of(self.source, line).get(start..).unwrap_or("");
        match signs.iter().find(|sign| rest.starts_with(**sign)) {
            Some(sign) => Some(part(self.source, line, start..start + sign.len())),
            None => self.whole(first),
        }
    }
}

fn label(span: Option<Span>, text: String, primary: bool) -> Option<Label> {
    span.map(|span| Label { span, text, primary })
}

fn block(party: &ThreadSite) -> String {
    let [x, y, z] = party.block;
    format!("({x},{y},{z})")
}

/// The variables of shared memory that a kernel can mean: its own, if it has some.
fn own<'a>(variables: &'a [Variable], kernel: &'a str) -> impl Iterator<Item = &'a Variable> {
    let has_own = variables.iter().any(|v| v.function == kernel);
    variables.iter().filter(move |v| !has_own || v.function == kernel)
}

/// The variable that an offset is in, or is nearest to.
fn nearest<'a>(variables: impl Iterator<Item = &'a Variable>, offset: i64) -> Option<&'a Variable> {
    variables.min_by_key(|v| {
        let (start, end) = (v.offset as i64, (v.offset + v.bytes) as i64);
        // Past the end is more usual than before the start.
        if offset >= end { offset - end + 1 } else { 2 * (start - offset).max(0) }
    })
}

trait WithLabel {
    fn labelled(self, label: Option<Label>) -> Self;
}

impl WithLabel for Diagnostic {
    fn labelled(mut self, label: Option<Label>) -> Self {
        self.labels.extend(label);
        self
    }
}
