//! Compiles the source of a cell to a module, and maps the compiler's diagnostics to places in the cell.

use onrush_device::{CompileOptions, CompilerMessage, Device, Error, Module, compiler_messages};
use onrush_wire::worker::Source;
use onrush_wire::{Class, Diagnostic, Label, Span};

use crate::source::instrument_uninitialized::{self, Instrumentation, MarkedVariables};
use crate::source::lint_condition;
use crate::{diagnostics, source};

/// The message about `asm`, and the help.
const PTX: (&str, &str) = (
    "inline PTX is for a GPU alone",
    "write it in CUDA C++, which runs without a GPU, too: `threadIdx.x % 32` is the lane",
);
/// Limit of reported diagnostics after the first.
const FURTHER_MESSAGES: usize = 4;

/// A module, and what its text has that the cell's has not.
pub fn compile(device: &Device, source: &Source) -> Result<(Module, Vec<Instrumentation>), Diagnostic> {
    let refused = [
        (lint_condition::assignment(&source.text), "`=` in a condition sets the variable", "`==` compares"),
        (
            lint_condition::alone(&source.text),
            "the `;` behind the condition is all that depends on it",
            "leave it out: what follows is done in any case",
        ),
    ];
    for (place, message, help) in refused {
        if let Some((line, column)) = place {
            let place = Span { file: source.file.clone(), line, column, length: 1 };
            return Err(Diagnostic::error(Class::Compile, "cuda", message).at(place, "").help(help));
        }
    }
    let marked = |which| {
        let marks = instrument_uninitialized::marks(&source.text, which);
        let text = Source { text: instrument_uninitialized::with_marks(&source.text, &marks), ..source.clone() };
        compile_text(device, &text).map(|module| (module, marks))
    };
    let (arrays, all) = (
        instrument_uninitialized::marks(&source.text, MarkedVariables::Arrays),
        instrument_uninitialized::marks(&source.text, MarkedVariables::All),
    );
    if !device.is_emulated() || all.is_empty() {
        return compile_text(device, source).map(|module| (module, Vec::new()));
    }
    // Variables that have no value for sure are told by the compiler, which sees none where marks are.
    let first = marked(MarkedVariables::Arrays).or_else(|error| {
        // Its mistakes are reported for the text as it was written.
        if arrays.is_empty() { Err(error) } else { compile_text(device, source).map(|module| (module, Vec::new())) }
    })?;
    Ok(if arrays == all { first } else { marked(MarkedVariables::All).unwrap_or(first) })
}

fn compile_text(device: &Device, source: &Source) -> Result<Module, Diagnostic> {
    let text = source::text(source, device.is_emulated());
    let program = onrush_device::Source::new(source.file.clone(), text, source.kernels.clone());
    let options = CompileOptions { contract: true, lines: true, ..CompileOptions::default() };
    let compiled = device.compile(&program, &options).and_then(|image| device.load(&image)).and_then(|module| {
        // One that is declared alone is noticed here, not at its launch.
        source.kernels.iter().try_for_each(|kernel| module.function(kernel).map(drop))?;
        Ok(module)
    });
    compiled.map_err(|error| match &error {
        Error::Compile { log, .. } => complaint(log, source),
        Error::NoSuchFunction { name } => undefined(name, source),
        Error::EmulationFailed { reason } => match reason.split_once("undefined symbol: ") {
            Some((_, symbol)) => undefined(&plain_name(symbol.trim()), source),
            None => diagnostics::unavailable(&error),
        },
        _ => diagnostics::unavailable(&error),
    })
}

/// Something that the text uses, or a kernel, is declared and nothing defines it.
fn undefined(name: &str, source: &Source) -> Diagnostic {
    let is_kernel = source.kernels.iter().any(|kernel| kernel == name);
    let (what, help) = match is_kernel {
        true => (
            format!("the kernel `{name}` has no definition in this cell"),
            "leave it out, or define it at the top level: not inside of a `namespace`, nor between `#if` and `#endif` that leave it out",
        ),
        false => (
            format!("`{name}` is declared, and nothing in this cell defines it"),
            "define it in this cell: cells do not see each other's CUDA C++",
        ),
    };
    let diagnostic = Diagnostic::error(Class::Compile, "cuda-undefined", what).help(help);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut places = source.text.lines().zip(1u32..).filter_map(|(line, number)| {
        let whole = |at: &usize| !line[..*at].ends_with(is_word) && !line[at + name.len()..].starts_with(is_word);
        let at = line.match_indices(name).map(|(at, _)| at).find(whole)?;
        Some((number, line[..at].chars().count() as u32 + 1))
    });
    match places.next() {
        Some((line, column)) => {
            let length = name.chars().count() as u32;
            diagnostic.at(Span { file: source.file.clone(), line, column, length }, "")
        }
        None => diagnostic,
    }
}

/// A symbol as it is written: `_Z4areaf` is `area`, and so is `_ZN3geo4areaEf`, of a namespace.
fn plain_name(symbol: &str) -> String {
    let Some(mut rest) = symbol.strip_prefix("_Z") else { return symbol.to_string() };
    rest = rest.trim_start_matches(['N', 'K', 'L']);
    let mut name = symbol;
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let length = rest[..digits].parse::<usize>().unwrap_or(0);
        let Some(part) = rest.get(digits..digits + length).filter(|part| !part.is_empty()) else { break };
        name = part;
        rest = &rest[digits + length..];
        if !symbol.starts_with("_ZN") {
            break;
        }
    }
    name.to_string()
}

fn complaint(log: &str, source: &Source) -> Diagnostic {
    // Assembler messages for a GPU have no lines.
    if let Some((_, symbol)) = log.split_once("Unresolved extern function '") {
        return undefined(&plain_name(symbol.split('\'').next().unwrap_or("")), source);
    }
    // Assembler messages for a processor have no columns.
    if let Some((_, place)) = log.split_once("Assembler messages:") {
        let line =
            place.trim_start().strip_prefix(source.file.as_str()).and_then(|rest| rest.split(':').nth(1)?.parse().ok());
        let diagnostic = Diagnostic::error(Class::Compile, "cuda", PTX.0).help(PTX.1);
        return match line {
            Some(line) => diagnostic.at(diagnostics::whole_line(source, line), ""),
            None => diagnostic,
        };
    }
    let mut found = compiler_messages(log, &source.file).into_iter();
    let Some(first) = found.next() else {
        if let Some(complaint) = in_a_macro(log, &source.file) {
            let mut diagnostic = Diagnostic::error(Class::Compile, "cuda", complaint.message.clone());
            diagnostic.labels.push(Label { span: span(&complaint, source), text: String::new(), primary: true });
            return match advice(&complaint.message) {
                Some(advice) => diagnostic.help(advice),
                None => diagnostic,
            };
        }
        if let Some((message, line)) = in_a_template(log, &source.file) {
            let diagnostic = Diagnostic::error(Class::Compile, "cuda", message);
            return diagnostic.at(diagnostics::whole_line(source, line), "");
        }
        return Diagnostic::error(Class::Compile, "cuda", "the CUDA C++ of this cell does not compile")
            .note(log.to_string());
    };
    let barrier = near_barrier(&first.message);
    if let Some((message, help)) = in_other_words(&first, source) {
        let mut diagnostic = Diagnostic::error(Class::Compile, "cuda", message).help(help);
        diagnostic.labels.push(Label { span: span(&first, source), text: String::new(), primary: true });
        return diagnostic;
    }
    let message = match (barrier, first.message.split_once("; did you mean")) {
        // The proposal is never the barrier itself, which may be a macro.
        (true, Some((said, _))) => said.to_string(),
        // `max` is not a member of `std`; did you mean `max`?
        (_, Some((said, other))) if said.split('`').nth(1) == other.split('`').nth(1) => said.to_string(),
        _ => first.message.clone(),
    };
    let mut diagnostic = Diagnostic::error(Class::Compile, "cuda", message);
    diagnostic.labels.push(Label { span: span(&first, source), text: String::new(), primary: true });
    for other in found.take(FURTHER_MESSAGES) {
        // Messages that follow from the first mistake on the same line say nothing new.
        if other.line != first.line {
            diagnostic.labels.push(Label { span: span(&other, source), text: other.message, primary: false });
        }
    }
    let below = below(&first, source).map(|help| diagnostic.clone().help(help));
    match advice(&first.message) {
        _ if below.is_some() => below.unwrap_or(diagnostic),
        _ if barrier => diagnostic.help("did you mean `__syncthreads`?"),
        Some(advice) => diagnostic.help(advice),
        None => diagnostic,
    }
}

/// A mistake in the use of one of the emulation's macros, such as `threadIdx`.
fn in_a_macro(log: &str, file: &str) -> Option<CompilerMessage> {
    let mut lines = log.lines().skip_while(|line| !line.contains("error: "));
    let said = lines.next()?.split_once("error: ")?.1;
    let note = lines.find(|line| line.contains("in expansion of macro"))?;
    let place = note.strip_prefix(file)?.strip_prefix(':')?.split_once(": note")?.0;
    compiler_messages(&format!("{file}:{place}: error: {said}"), file).pop()
}

/// A mistake in a call of a template that is not the cell's, and the call's line.
fn in_a_template(log: &str, file: &str) -> Option<(String, u32)> {
    let said = log.lines().find_map(|line| line.split_once("error: ").map(|(_, said)| said))?;
    let call = log.lines().find(|line| line.contains("required from here") || line.contains("requested here"))?;
    let line = call.split_once(file)?.1.strip_prefix(':')?.split(':').next()?.parse().ok()?;
    let said = said
        .strip_prefix("static assertion failed: ")
        .or_else(|| said.strip_prefix("static_assert failed "))
        .unwrap_or(said);
    Some((said.trim_matches('"').to_string(), line))
}

/// A function that is used above its definition, or what looks like another language's.
fn below(complaint: &CompilerMessage, source: &Source) -> Option<String> {
    let missing = ["was not declared", "is undefined", "undeclared identifier"];
    if !missing.iter().any(|said| complaint.message.contains(said)) {
        return line(complaint, source)
            .contains("**")
            .then(|| "C++ has no `**`: `x * x`, or `powf(x, 3.0f)`".to_string())
            .filter(|_| complaint.message.contains("unary `*`"));
    }
    let name = complaint.message.split('`').nth(1)?;
    match name {
        "True" | "False" | "None" => return Some("C++ writes `true`, `false` and `nullptr`".to_string()),
        "elif" => return Some("C++ writes `else if`".to_string()),
        _ => {}
    }
    let mut later = source.text.lines().skip(complaint.line as usize);
    let defines = |text: &str| {
        let head = text.split_once('(').map_or("", |(head, _)| head.trim_end());
        text.contains("__device__") && head.strip_suffix(name).is_some_and(|rest| rest.ends_with([' ', '*', '&']))
    };
    later.any(defines).then(|| format!("`{name}` comes further down: C++ knows what stands above, so put it before"))
}

/// Whether a name that is not there is nearly that of the barrier.
fn near_barrier(message: &str) -> bool {
    let missing =
        ["was not declared", "is undefined", "undeclared identifier"].iter().any(|said| message.contains(said));
    let name = message.split('`').nth(1).unwrap_or("").replace('_', "").to_lowercase();
    missing
        && matches!(name.as_str(), "syncthread" | "syncthreads" | "syncthreds" | "synchthreads" | "synchronizethreads")
}

/// A compiler's message about the emulation's own names or C++ alone, in terms of CUDA, and the help.
fn in_other_words(complaint: &CompilerMessage, source: &Source) -> Option<(String, &'static str)> {
    let message = complaint.message.as_str();
    let has = |word: &str| message.contains(word);
    let named = message.split('`').nth(1).unwrap_or("");
    Some(if has("-Werror=vla") || has("variable length array") || has("storage size of") {
        let help = match line(complaint, source).contains("__shared__") {
            true => {
                "give it a length that is a number: `__shared__ float tile[256]`; or let the launch say it: `extern __shared__ float tile[];` and \
                 `256.shared(bytes)`"
            }
            false => "give it a length that is a number: `float tile[64]`; or take a buffer",
        };
        // clang++ names none.
        let what = if named.is_empty() { "an array".to_string() } else { format!("`{named}`") };
        (format!("the length of {what} is not known when the cell is compiled"), help)
    } else if has("uninitialized") {
        (format!("`{named}` is used before it has a value"), "give it one where it is declared: `int sum = 0;`")
    } else if has("read-only location") {
        (
            "what is behind a `const` pointer is read-only".to_string(),
            "leave `const` out of the parameter to write through it",
        )
    } else if (has("read-only") || has("const-qualified")) && ["uint3", "dim3"].into_iter().any(has) {
        (
            "`threadIdx`, `blockIdx`, `blockDim` and `gridDim` can only be read".to_string(),
            "`==` compares, and `=` sets; an index that you set is a variable: `int i = threadIdx.x;`",
        )
    } else if has("exception handling disabled") || has("with exceptions disabled") {
        ("there are no exceptions on a GPU".to_string(), "check before, and write into a buffer what went wrong")
    } else if has("do not have their mathematical meaning") {
        ("C++ compares two numbers at a time".to_string(), "`0 <= i && i < n` is true where both are")
    } else if has("suggest parentheses around comparison in operand of") {
        ("this compares first, and then takes bits of what comes out".to_string(), "`(n & 1) == 0` takes them first")
    } else if has("statement has no effect") {
        (
            "this statement does nothing".to_string(),
            "`=` sets, and `==` compares; a function is called with its parentheses, and gives something back by `return`",
        )
    } else if has("logical not is only applied") {
        ("`!` is about what stands on the left of the comparison alone".to_string(), "`a != b`, or `!(a == b)`")
    } else if has("does not compute the number of array elements") || has("on array function parameter") {
        (
            "`sizeof` of a pointer is 8 bytes, however many elements it points to".to_string(),
            "a kernel is told how many there are: a parameter `int n`",
        )
    } else if has("local variable") && (has("returned") || has("returns") || has("may return"))
        || has("-Wreturn-stack-address")
    {
        (
            "what this function gives back is the address of a variable that ends with it".to_string(),
            "give the value back, or let the caller pass the address of a variable",
        )
    } else if has("section attribute cannot be specified for local") {
        (
            "`__constant__` variables stand outside of all functions".to_string(),
            "move it before the kernel, or make it the function's own: `const int n = 3;`",
        )
    } else if has("invalid `asm`") || has("in `asm`") || has("inline assembly") {
        (PTX.0.to_string(), PTX.1)
    } else {
        return None;
    })
}

fn line<'a>(complaint: &CompilerMessage, source: &'a Source) -> &'a str {
    source.text.lines().nth((complaint.line as usize).saturating_sub(1)).unwrap_or("")
}

fn span(complaint: &CompilerMessage, source: &Source) -> Span {
    let (column, length) = complaint.place(&source.text);
    // A sign says little: what stands before the bracket of a call is meant, or what the message names.
    let text: Vec<char> = line(complaint, source).chars().collect();
    let is_word = |c: &char| c.is_alphanumeric() || *c == '_';
    let (before, at) = text.split_at((column as usize).saturating_sub(1).min(text.len()));
    if at.first().is_some_and(|c| !is_word(c)) {
        let called = before.iter().rev().take_while(|c| is_word(c)).count() as u32;
        if at[0] == '(' && called > 0 {
            return Span { file: source.file.clone(), line: complaint.line, column: column - called, length: called };
        }
        let named = CompilerMessage { column: None, ..complaint.clone() };
        let (column, length) = named.place(&source.text);
        let name: String = text.iter().skip(column as usize - 1).take(length as usize).collect();
        if complaint.message.starts_with(&format!("`{name}`")) {
            return Span { file: source.file.clone(), line: complaint.line, column, length };
        }
    }
    Span { file: source.file.clone(), line: complaint.line, column, length }
}

fn advice(message: &str) -> Option<&'static str> {
    let has = |word: &str| message.contains(word);
    let named = message.split('`').nth(1).unwrap_or("");
    Some(if matches!(named, "half" | "half2" | "__half" | "__half2" | "__nv_bfloat16") {
        "floats of 16 bits are not there: compute in `float`"
    } else if named == "cooperative_groups" {
        "cooperative groups are not there: `__syncthreads()` is for a block, `__syncwarp()` is for a warp, and a separate launch is for a grid"
    } else if matches!(named, "rand" | "srand" | "curand" | "curandState" | "curand_init" | "curand_uniform") {
        "random numbers are not there: fill a buffer with them in Rust, or let each thread make its own from its index"
    } else if matches!(named, "let" | "var" | "mut" | "def" | "fn") {
        "C++ declares a variable by its type: `int i = 3;`, `float x = 0.5f;`"
    } else if named.starts_with("__shfl") && named.contains("_sync") && message.matches(", ").count() < 2 {
        "the first argument says which lanes take part: `__shfl_down_sync(0xffffffff, x, 1)`"
    } else if named.starts_with("__shfl") && named.contains("_sync") {
        "a shuffle brings a number of 32 or 64 bits: the parts of a `float2` take one call each"
    } else if named.starts_with("__shfl") || matches!(named, "__ballot" | "__any" | "__all") {
        "operations of a warp end in `_sync`, and the first argument says which lanes take part: `__shfl_down_sync(0xffffffff, x, 1)`"
    } else if has("must have a constant value") {
        "give it a length that is a number: `float tile[64]`; shared memory can have its length from the launch: `extern __shared__ float tile[];`"
    } else if has("is not a member of `std`") || has("named `vector` in namespace") || has("named `cout` in namespace")
    {
        "the C++ standard library is not there on a GPU: `printf` prints, an array or a buffer takes numbers, `min`, `max`, `sqrtf` and others have no `std::`"
    } else if has("call to `atomic") || has("conversion") && has("int*` to `long long unsigned int*`") {
        "atomics take the address of an `int`, `unsigned` or `unsigned long long`, and `atomicAdd` and `atomicExch` of a `float`, too, `atomicAdd` of a `double`; \
         and a value of the same type"
    } else if has("invalid conversion from `int` to `int*`") || has("to `float*`") && has("cannot convert `float`") {
        "an address is wanted: `&data[i]` is that of `data[i]`"
    } else if has("to binary `operator+`") && has("char") {
        "strings have no `+`: `printf(\"%d of %d\\n\", i, n)` puts numbers into one"
    } else if message
        .split("types `")
        .nth(1)
        .and_then(|types| types.split_once('['))
        .is_some_and(|(of, _)| !of.ends_with('*') && !of.contains('`'))
    {
        "what stands before the bracket is one number: a buffer has one index, and `data[y * width + x]` is the element of a row and a column"
    } else if has("to binary `operator%`") {
        "`%` is for integers: `fmodf(x, y)` is the remainder of floats"
    } else if has("to binary `operator^`") {
        "`^` is for bits: `x * x` is a square, `powf(x, y)` a power"
    } else if has("for call to `float2::") || has("for call to `float3::") || has("for call to `float4::") {
        "`make_float4(x, y, z, w)` makes one, and `make_float2`, `make_int3` and others their own"
    } else if has("`uint3` to `") || has("`const uint3` to `") {
        "`threadIdx` and its like are three numbers: `threadIdx.x` is one"
    } else if has("no match for `operator[]`") && !has("uint3") {
        "its parts have names: `v.x`, `v.y`, `v.z`, `v.w`; an index is an integer"
    } else if has("no match for `operator") && !has("operator[]") && has("operand types are") {
        "types of several numbers have no arithmetic: `a.x + b.x` is that of one part, or define `operator+` in this cell"
    } else if has("expected `)`") {
        "a `(` before has no `)`"
    } else if has("for array subscript") || has("array subscript is not an integer") {
        "an index is an integer: `data[(int)x]`; `threadIdx` alone is three of them, `threadIdx.x` one"
    } else if has("no match for `operator[]`") {
        "an index is an integer: `threadIdx` is three of them, `threadIdx.x` is one"
    } else if has("was not declared") || has("is undefined") || has("undeclared identifier") {
        "declare it, or correct the name; what `#include` would bring is built in: `printf`, `sqrtf`, `atomicAdd`, …"
    } else if ["expected `;`", "expected a `;`", "expected `,` or `;`"].into_iter().any(has) {
        "put a `;` at the end of the statement before"
    } else if has("ambiguous") || has("more than one instance of overloaded") {
        "give it arguments of one type: `max(n, (long)m)`, `min(x, (float)n)`"
    } else if (has("no member named") || has("has no member")) && (has("dim3") || has("uint3")) {
        "`threadIdx`, `blockIdx`, `blockDim` and `gridDim` have `x`, `y` and `z`"
    } else if has("read-only variable") {
        "a `const` variable keeps the value that it begins with: leave `const` out to set it later"
    } else if has("read-only") || has("must be a modifiable lvalue") {
        "a `const` pointer is only read: leave `const` out of the parameter to write through it"
    } else {
        return None;
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> Source {
        let text = "\n__global__ void k(float* a) {\n    a[i] = 1;\n}\n".to_string();
        Source { file: "cell_1.rs".into(), text, declarations: String::new(), kernels: vec!["k".into()] }
    }

    #[test]
    fn both_compilers_name_places() {
        let log = "cell_1.rs: In function 'void k(float*)':\ncell_1.rs:3:7: error: 'i' was not declared in this scope\n    3 |";
        let nvrtc =
            "cell_1.rs(3): error: identifier \"i\" is undefined\n      a[i] = 1;\n        ^\n\n1 error detected";
        let found = complaint(log, &source());
        assert_eq!(found.message, "`i` was not declared in this scope");
        let span = &found.labels[0].span;
        assert_eq!((span.line, span.column, span.length), (3, 7, 1));
        let found = complaint(nvrtc, &source());
        assert_eq!(found.message, "identifier `i` is undefined");
        let span = &found.labels[0].span;
        assert_eq!((span.line, span.column, span.length), (3, 7, 1));
    }

    #[test]
    fn what_is_missing_is_said() {
        let help = |message: &str| {
            let found = complaint(&format!("cell_1.rs:3:5: error: {message}"), &source());
            format!("{}; {}", found.message, found.help.join(" "))
        };
        assert!(help("expected ',' or ';' before 'a'").contains("put a `;` at the end of the statement before"));
        let barrier = help("'__syncthread' was not declared in this scope; did you mean '__syncthreads_or'?");
        assert_eq!(barrier, "`__syncthread` was not declared in this scope; did you mean `__syncthreads`?");
        let nvrtc = complaint("cell_1.rs(3): error: identifier \"__syncThreads\" is undefined", &source());
        assert_eq!(nvrtc.help, ["did you mean `__syncthreads`?"]);
        assert!(help("call of overloaded 'max(long int&, int)' is ambiguous").contains("of one type"));
    }

    #[test]
    fn what_nothing_defines_has_its_place() {
        let found = undefined("k", &source());
        assert!(found.message.contains("the kernel `k` has no definition"), "{found}");
        let span = &found.labels[0].span;
        assert_eq!((span.line, span.column, span.length), (2, 17, 1));
        assert_eq!((plain_name("_Z4areaf").as_str(), plain_name("tile").as_str()), ("area", "tile"));
        let log = "emulated.h:9:5: error: static assertion failed: printf prints numbers\ncell_1.rs:3:7:   required from here\n";
        let found = complaint(log, &source());
        assert_eq!((found.message.as_str(), found.labels[0].span.line), ("printf prints numbers", 3));
        let found = complaint("ptxas fatal   : Unresolved extern function '_Z1kf'\n", &source());
        assert_eq!(found.labels[0].span.line, 2);
        assert_eq!((plain_name("_ZN3geo4areaEf").as_str(), plain_name("_Z3sumPfi").as_str()), ("area", "sum"));
    }

    #[test]
    fn what_is_not_understood_is_shown() {
        let found = complaint("ptxas fatal: too much", &source());
        assert!(found.labels.is_empty());
        assert_eq!(found.notes, ["ptxas fatal: too much"]);
    }
}
