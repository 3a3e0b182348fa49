//! A cell's text to a module; a compiler's complaints to places in the cell.

use onrush_device::{CompileOptions, Device, Error, Module};
use onrush_wire::worker::Source;
use onrush_wire::{Class, Diagnostic, Label, Span};

use crate::{report, source};

/// Complaints after the first that are told.
const MORE: usize = 4;

pub fn compile(device: &Device, source: &Source) -> Result<Module, Diagnostic> {
    let text = source::text(source, device.is_emulated());
    let program = onrush_device::Source::new(source.file.clone(), text, source.kernels.clone());
    let options = CompileOptions { contract: true, lines: true, ..CompileOptions::default() };
    let compiled = device.compile(&program, &options).and_then(|image| device.load(&image));
    compiled.map_err(|error| match &error {
        Error::Compile { log, .. } => complaint(log, source),
        _ => report::unavailable(&error),
    })
}

/// One error of a compiler; lines and columns count from 1.
#[derive(Debug, PartialEq, Eq)]
struct Complaint {
    line: u32,
    column: Option<u32>,
    message: String,
}

fn complaint(log: &str, source: &Source) -> Diagnostic {
    let mut found = complaints(log, &source.file).into_iter();
    let Some(first) = found.next() else {
        return Diagnostic::error(Class::Compile, "cuda", "the CUDA C++ of this cell does not compile")
            .note(log.to_string());
    };
    let mut diagnostic = Diagnostic::error(Class::Compile, "cuda", first.message.clone());
    diagnostic.labels.push(Label { span: span(&first, source), text: String::new(), primary: true });
    for other in found.take(MORE) {
        // What follows from the first mistake on the same line says nothing new.
        if other.line != first.line {
            diagnostic.labels.push(Label { span: span(&other, source), text: other.message, primary: false });
        }
    }
    match advice(&first.message) {
        Some(advice) => diagnostic.help(advice),
        None => diagnostic,
    }
}

/// The word at the place, or the whole line.
fn span(complaint: &Complaint, source: &Source) -> Span {
    let line = source.text.lines().nth(complaint.line as usize - 1).unwrap_or("");
    let named = complaint.message.split('`').nth(1).filter(|name| !name.is_empty());
    let column = complaint.column.or_else(|| {
        let at = line.find(named?)?;
        Some(line[..at].chars().count() as u32 + 1)
    });
    match column {
        Some(column) => {
            let rest: String = line.chars().skip(column as usize - 1).collect();
            let word = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').count();
            Span { file: source.file.clone(), line: complaint.line, column, length: word.max(1) as u32 }
        }
        None => report::whole_line(source, complaint.line),
    }
}

/// The errors in what g++, clang or NVRTC says: `file:7:5: error: …` or `file(7): error: …`.
fn complaints(log: &str, file: &str) -> Vec<Complaint> {
    let mut found = Vec::new();
    for line in log.lines() {
        let Some((_, rest)) = line.split_once(file) else { continue };
        let place = match rest.strip_prefix('(') {
            Some(rest) => rest.split_once(')').map(|(line, rest)| (line.to_string(), rest)),
            None => {
                rest.strip_prefix(':').and_then(|rest| rest.split_once(": ")).map(|(p, rest)| (p.to_string(), rest))
            }
        };
        let Some((place, rest)) = place else { continue };
        let Some((kind, message)) = rest.trim_start_matches([':', ' ']).split_once("error") else {
            // clang and g++ have the kind behind the place.
            continue;
        };
        if !(kind.is_empty() || kind == "fatal " || kind == "catastrophic ") {
            continue;
        }
        // NVRTC may number its errors: `error #20: `, `error: `.
        let message = message.split_once(": ").map_or(message, |(_, text)| text).trim();
        let mut numbers = place.split(':').map(|number| number.trim().parse::<u32>());
        let Some(Ok(line)) = numbers.next() else { continue };
        let column = numbers.next().and_then(Result::ok);
        found.push(Complaint { line, column, message: plain(message) });
    }
    found
}

/// Names between backticks, without the emulation's own.
fn plain(message: &str) -> String {
    let text = message.replace(['\'', '"'], "`").replace("struct uint3", "uint3").replace("{aka ", "{");
    text.trim_end_matches('.').to_string()
}

fn advice(message: &str) -> Option<&'static str> {
    let has = |word: &str| message.contains(word);
    Some(if has("was not declared") || has("is undefined") {
        "declare it, or correct the name; what `#include` would bring is built in: `printf`, `sqrtf`, `atomicAdd`, …"
    } else if has("expected `;`") || has("expected a `;`") {
        "put a `;` at the end of the statement before"
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
    fn what_is_not_understood_is_shown() {
        let found = complaint("ptxas fatal: too much", &source());
        assert!(found.labels.is_empty());
        assert_eq!(found.notes, ["ptxas fatal: too much"]);
    }
}
