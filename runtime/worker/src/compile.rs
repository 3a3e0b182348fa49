//! A cell's text to a module; a compiler's complaints to places in the cell.

use onrush_device::{CompileOptions, Complaint, Device, Error, Module, complaints};
use onrush_wire::worker::Source;
use onrush_wire::{Class, Diagnostic, Label, Span};

use crate::{report, source};

/// Complaints after the first that are told.
const MORE: usize = 4;

pub fn compile(device: &Device, source: &Source) -> Result<Module, Diagnostic> {
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
            None => report::unavailable(&error),
        },
        _ => report::unavailable(&error),
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

/// A symbol as it is written: `_Z4areaf` is `area`.
fn plain_name(symbol: &str) -> String {
    let rest = symbol.strip_prefix("_Z").unwrap_or(symbol).trim_start_matches(['N', 'L']);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let length = rest[..digits].parse::<usize>().unwrap_or(0);
    match rest.get(digits..digits + length).filter(|name| symbol.starts_with("_Z") && !name.is_empty()) {
        Some(name) => name.to_string(),
        None => symbol.to_string(),
    }
}

fn complaint(log: &str, source: &Source) -> Diagnostic {
    let mut found = complaints(log, &source.file).into_iter();
    let Some(first) = found.next() else {
        return Diagnostic::error(Class::Compile, "cuda", "the CUDA C++ of this cell does not compile")
            .note(log.to_string());
    };
    let barrier = near_barrier(&first.message);
    let message = match (barrier, first.message.split_once("; did you mean")) {
        // What it proposes is never the barrier itself, which may be a macro.
        (true, Some((said, _))) => said.to_string(),
        _ => first.message.clone(),
    };
    let mut diagnostic = Diagnostic::error(Class::Compile, "cuda", message);
    diagnostic.labels.push(Label { span: span(&first, source), text: String::new(), primary: true });
    for other in found.take(MORE) {
        // What follows from the first mistake on the same line says nothing new.
        if other.line != first.line {
            diagnostic.labels.push(Label { span: span(&other, source), text: other.message, primary: false });
        }
    }
    match advice(&first.message) {
        _ if barrier => diagnostic.help("did you mean `__syncthreads`?"),
        Some(advice) => diagnostic.help(advice),
        None => diagnostic,
    }
}

/// Whether a name that is not there is nearly that of the barrier.
fn near_barrier(message: &str) -> bool {
    let missing = message.contains("was not declared") || message.contains("is undefined");
    let name = message.split('`').nth(1).unwrap_or("").replace('_', "").to_lowercase();
    missing
        && matches!(name.as_str(), "syncthread" | "syncthreads" | "syncthreds" | "synchthreads" | "synchronizethreads")
}

fn span(complaint: &Complaint, source: &Source) -> Span {
    let (column, length) = complaint.place(&source.text);
    Span { file: source.file.clone(), line: complaint.line, column, length }
}

fn advice(message: &str) -> Option<&'static str> {
    let has = |word: &str| message.contains(word);
    Some(if has("was not declared") || has("is undefined") {
        "declare it, or correct the name; what `#include` would bring is built in: `printf`, `sqrtf`, `atomicAdd`, …"
    } else if ["expected `;`", "expected a `;`", "expected `,` or `;`"].into_iter().any(has) {
        "put a `;` at the end of the statement before"
    } else if has("ambiguous") || has("more than one instance of overloaded") {
        "give it arguments of one type: `max(n, (long)m)`, `min(x, (float)n)`"
    } else if has("no member named") || has("has no member") {
        "`threadIdx`, `blockIdx`, `blockDim` and `gridDim` have `x`, `y` and `z`"
    } else if has("read-only") || has("assignment of read-only") || has("must be a modifiable lvalue") {
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
        assert_eq!(plain_name("_ZN3geo4areaEf"), "geo");
    }

    #[test]
    fn what_is_not_understood_is_shown() {
        let found = complaint("ptxas fatal: too much", &source());
        assert!(found.labels.is_empty());
        assert_eq!(found.notes, ["ptxas fatal: too much"]);
    }
}
