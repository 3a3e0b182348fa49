//! What went wrong on the device, in the cell's words: the kernel's name, the parameter's, the thread, and the line.

use onrush_device::{Access, Error, Fault, FaultKind, Memory, Party, SharedVariable};
use onrush_wire::worker::{Launch, Source};
use onrush_wire::{Class, Diagnostic, Label, Span};

/// A buffer that a launch was given.
pub struct Named {
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

pub fn failed(error: &Error, launch: &Launch, source: &Source, buffers: &[Named], emulated: bool) -> Diagnostic {
    match error {
        Error::Kernel { fault: Some(fault), .. } => Report { launch, source, buffers, fault }.diagnostic(),
        Error::Kernel { reason, .. } => from_text(reason, launch, source),
        Error::Lost { code, .. } => {
            let message = format!("`{}` did what the GPU does not allow: {code}", launch.kernel);
            let help = "start Jupyter with ONRUSH_ENGINE=emulated: there each access is looked at, and the message names thread and line";
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
    let text = source.text.lines().nth((line as usize).saturating_sub(1)).unwrap_or("");
    let indent = text.chars().take_while(|c| c.is_whitespace()).count() as u32;
    let length = text.trim().chars().count().max(1) as u32;
    Span { file: source.file.clone(), line, column: indent + 1, length }
}

/// The line's number, from `cell_3.rs:7`.
fn line_in(place: &str, source: &Source) -> Option<u32> {
    place.strip_prefix(source.file.as_str())?.strip_prefix(':')?.parse().ok()
}

/// What the checker says of itself: places in it become underlines.
fn from_text(reason: &str, launch: &Launch, source: &Source) -> Diagnostic {
    let mut text = reason.to_string();
    let mut lines = Vec::new();
    for word in reason.split([' ', ',', ':']).filter(|word| *word == source.file) {
        let after = reason.find(word).map_or("", |at| &reason[at + word.len()..]);
        let digits: String = after.chars().skip(1).take_while(char::is_ascii_digit).collect();
        if let Ok(line) = digits.parse::<u32>() {
            text = text.replace(&format!(" at {word}:{digits}"), "");
            lines.push(line);
        }
    }
    let mut diagnostic = Diagnostic::error(Class::Run, "cuda-fault", format!("`{}`: {text}", launch.kernel));
    for (at, line) in lines.into_iter().enumerate() {
        diagnostic.labels.push(Label { span: whole_line(source, line), text: String::new(), primary: at == 0 });
    }
    if text.contains("bytes of shared memory") {
        return diagnostic.help("use a smaller array, or one of narrower numbers");
    }
    if text.contains("belongs to no allocation") {
        return diagnostic
            .help("a pointer must come from a buffer that the kernel was given; an index may be far out of it");
    }
    if text.contains("no block has finished") {
        return diagnostic.help(
            "a loop waits for something that no other thread does; blocks run in any order, and not all at once",
        );
    }
    diagnostic
}

struct Report<'a> {
    launch: &'a Launch,
    source: &'a Source,
    buffers: &'a [Named],
    fault: &'a Fault,
}

/// What an element is called, how many there are, and whether it is in shared memory.
struct Element {
    name: String,
    index: i64,
    count: u64,
    shared: bool,
}

impl Element {
    fn shown(&self) -> String {
        format!("`{}[{}]`", self.name, self.index)
    }
}

fn who(party: &Party) -> String {
    let [x, y, z] = party.thread;
    let [a, b, c] = party.block;
    format!("thread ({x},{y},{z}) of block ({a},{b},{c})")
}

fn thread(party: &Party) -> String {
    let [x, y, z] = party.thread;
    format!("thread ({x},{y},{z})")
}

fn verb(access: Access) -> &'static str {
    match access {
        Access::Read => "reads",
        Access::Write => "writes",
        Access::Update => "updates",
    }
}

fn past(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "written",
        Access::Update => "updated",
    }
}

impl Report<'_> {
    fn diagnostic(&self) -> Diagnostic {
        let kernel = &self.launch.kernel;
        let [first, second] = &self.fault.parties;
        match self.fault.kind {
            FaultKind::OutOfBounds => {
                let element = self.element();
                let Element { name, count, index, .. } = &element;
                let elements = if *count == 1 { "element" } else { "elements" };
                let message = format!(
                    "`{kernel}`: {} {} {}, and `{name}` has {count} {elements}",
                    who(first),
                    verb(first.access),
                    element.shown()
                );
                let help = if *index < 0 {
                    "the first index is 0: an `if` around the access keeps smaller ones out".to_string()
                } else if *count == 0 && element.shared {
                    "dynamic shared memory is given with the threads: `name(blocks, 256.shared(bytes), …)`".to_string()
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
                self.error("cuda-bounds", message).help(help).labelled(self.label(first, Some(name), said, true))
            }
            FaultKind::Race => self.race(),
            FaultKind::Unwritten => {
                let element = self.element();
                let message = format!(
                    "`{kernel}`: {} {} {}, and no thread of its block has written it",
                    who(first),
                    verb(first.access),
                    element.shown()
                );
                let help = format!(
                    "shared memory begins with whatever was there: set `{}` first, then `__syncthreads();`",
                    element.name
                );
                let said = format!("{} here", past(first.access));
                self.error("cuda-unwritten", message).help(help).labelled(self.label(
                    first,
                    Some(&element.name),
                    said,
                    true,
                ))
            }
            FaultKind::Divergent => {
                let message = format!(
                    "`{kernel}`: threads of block {} wait at different barriers: {} at one, {} at another",
                    block(first),
                    thread(first),
                    thread(second)
                );
                self.error("cuda-barrier", message)
                    .help("all threads of a block must come to the same `__syncthreads();`: put it behind the `if`, not into it")
                    .labelled(self.label(first, None, format!("{} waits here", thread(first)), true))
                    .labelled(self.label(second, None, format!("{} waits here", thread(second)), false))
            }
            FaultKind::Left => {
                let message = format!(
                    "`{kernel}`: {} waits at a barrier that {} never reaches: it has left the kernel",
                    who(first),
                    thread(second)
                );
                self.error("cuda-barrier", message)
                    .help("all threads of a block must come to each `__syncthreads();`: put the `if` around the work only, and leave out an early `return`")
                    .labelled(self.label(first, None, format!("{} waits here", thread(first)), true))
                    .labelled(self.label(second, None, format!("{} was here last", thread(second)), false))
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
        let plain_update = same_line && self.adds_up(first);
        let name = &element.name;
        let help = if plain_update {
            format!(
                "several threads change `{name}[…]`, and changes get lost: `atomicAdd(&{name}[…], …)` makes them one after the other"
            )
        } else if first.block != second.block {
            format!("blocks run in any order: give each thread an element of `{name}` of its own, or use `atomicAdd`")
        } else if same_line && first.access == Access::Write {
            format!("give each thread an element of `{name}` of its own: is the index different in each thread?")
        } else {
            "`__syncthreads();` between the two lines makes all threads of the block wait for each other".to_string()
        };
        let diagnostic = self.error("cuda-race", message).help(help);
        let said = |party: &Party| format!("{} here by {}", past(party.access), thread(party));
        let diagnostic = diagnostic.labelled(self.label(first, Some(name), said(first), true));
        if same_line { diagnostic } else { diagnostic.labelled(self.label(second, Some(name), said(second), false)) }
    }

    /// Whether the line changes what it reads: `sum[0] += x`, `bins[b]++`.
    fn adds_up(&self, party: &Party) -> bool {
        let line = line_in(&party.line, self.source).and_then(|line| self.source.text.lines().nth(line as usize - 1));
        line.is_some_and(|text| ["+=", "-=", "++", "--", "|=", "*="].iter().any(|change| text.contains(change)))
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
        };
        match memory {
            Memory::Device { address } => match self.buffers.iter().find(|buffer| buffer.address == *address) {
                Some(buffer) => unnamed(&buffer.name, buffer.element, false),
                None => unnamed("memory", *bytes, false),
            },
            Memory::Shared(variables) => match nearest(variables, &self.launch.kernel, *offset) {
                Some(variable) => Element {
                    name: variable.name.clone(),
                    index: (offset - variable.offset as i64).div_euclid((*bytes).max(1) as i64),
                    count: variable.bytes / (*bytes).max(1),
                    shared: true,
                },
                None => unnamed("shared memory", *bytes, true),
            },
            Memory::Dynamic => unnamed(&self.dynamic_name(), *bytes, true),
            Memory::None => unnamed("memory", *bytes, false),
        }
    }

    /// What the cell calls its dynamic shared memory.
    fn dynamic_name(&self) -> String {
        let found = self.source.text.split("extern").skip(1).find_map(|rest| {
            let inner = rest.trim_start().strip_prefix("__shared__")?;
            let name = inner.split_once('[')?.0.split_whitespace().next_back()?;
            Some(name.to_string())
        });
        found.unwrap_or_else(|| "shared memory".to_string())
    }

    fn label(&self, party: &Party, name: Option<&str>, text: String, primary: bool) -> Option<Label> {
        let line = line_in(&party.line, self.source)?;
        Some(Label { span: self.place(line, name), text, primary })
    }

    /// `name[…]` on the line, or the whole line.
    fn place(&self, line: u32, name: Option<&str>) -> Span {
        let text = self.source.text.lines().nth((line as usize).saturating_sub(1)).unwrap_or("");
        let found = name.and_then(|name| {
            text.match_indices(name).map(|(at, _)| at).find_map(|at| {
                let before = text[..at].chars().next_back();
                if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
                    return None;
                }
                let end = closing(&text[at + name.len()..])?;
                Some((text[..at].chars().count() as u32 + 1, text[at..at + name.len() + end].chars().count() as u32))
            })
        });
        match found {
            Some((column, length)) => Span { file: self.source.file.clone(), line, column, length },
            None => whole_line(self.source, line),
        }
    }
}

fn block(party: &Party) -> String {
    let [x, y, z] = party.block;
    format!("({x},{y},{z})")
}

/// The length of one or more `[…]` at the start of a text.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut end) = (0, None);
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => {
                depth -= 1;
                if depth == 0 {
                    end = Some(at + 1);
                }
            }
            _ if depth == 0 => break,
            _ => {}
        }
    }
    end
}

/// The variable that an offset is in, or is meant to be in: the kernel's own, if it has some.
fn nearest<'a>(variables: &'a [SharedVariable], kernel: &str, offset: i64) -> Option<&'a SharedVariable> {
    let has_own = variables.iter().any(|v| v.function == kernel);
    let own = || variables.iter().filter(move |v| !has_own || v.function == kernel);
    let before = own().filter(|v| v.offset as i64 <= offset).max_by_key(|v| v.offset);
    before.or_else(|| own().min_by_key(|v| v.offset))
}

trait Labelled {
    fn labelled(self, label: Option<Label>) -> Self;
}

impl Labelled for Diagnostic {
    fn labelled(mut self, label: Option<Label>) -> Self {
        self.labels.extend(label);
        self
    }
}
