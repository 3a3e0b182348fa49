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
    let compiled = device.compile(&program, &options).and_then(|image| device.load(&image));
    compiled.map_err(|error| match &error {
        Error::Compile { log, .. } => complaint(log, source),
        _ => report::unavailable(&error),
    })
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

fn span(complaint: &Complaint, source: &Source) -> Span {
    let (column, length) = complaint.place(&source.text);
    Span { file: source.file.clone(), line: complaint.line, column, length }
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
