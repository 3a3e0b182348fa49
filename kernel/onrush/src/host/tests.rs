//! Runs the `#[test]` functions of a notebook as `cargo test` does, one after another, and says what became of them.

use std::fmt::{Debug, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use onrush_wire::{Class, Diagnostic};

use super::{calls, flush, last_panic, payload_text, raised};
use crate::raise::raise;

/// One function with `#[test]`.
pub struct Test {
    /// `tests::adds`.
    pub name: &'static str,
    pub ignored: bool,
    /// `#[should_panic]`, and what its message must contain.
    pub should_panic: Option<&'static str>,
    pub run: fn() -> Result<(), String>,
}

/// Lines of the compiled text and where the user wrote them: the first, the last, the cell, and the first line there.
pub type Lines = &'static [(u32, u32, &'static str, u32)];

/// A result of a test function.
pub trait Verdict {
    fn verdict(self) -> Result<(), String>;
}

impl Verdict for () {
    fn verdict(self) -> Result<(), String> {
        Ok(())
    }
}

impl<T, E: Debug> Verdict for Result<T, E> {
    fn verdict(self) -> Result<(), String> {
        self.map(drop).map_err(|error| format!("Error: {error:?}"))
    }
}

/// Ends the cell if a test has failed. `file`: the compiled text.
pub fn run_tests(tests: &[Test], file: &str, lines: Lines) {
    println!("running {} test{}", tests.len(), if tests.len() == 1 { "" } else { "s" });
    let mut failures: Vec<(&str, String)> = Vec::new();
    let (mut passed, mut ignored) = (0, 0);
    for test in tests {
        print!("test {} ... ", test.name);
        flush();
        if test.ignored {
            ignored += 1;
            println!("ignored");
            continue;
        }
        match (outcome(test, file, lines), test.should_panic) {
            (Ok(Ok(())), None) => {
                passed += 1;
                println!("ok");
            }
            (Err(message), Some(expected)) if message.contains(expected) => {
                passed += 1;
                println!("ok");
            }
            (ended, expected) => {
                println!("FAILED");
                failures.push((test.name, reason(ended, expected)));
            }
        }
    }
    if !failures.is_empty() {
        println!("\nfailures:");
    }
    for (name, message) in &failures {
        println!("\n---- {name} ----\n{message}");
    }
    let verdict = if failures.is_empty() { "ok" } else { "FAILED" };
    println!("\ntest result: {verdict}. {passed} passed; {} failed; {ignored} ignored", failures.len());
    if !failures.is_empty() {
        let names: Vec<String> = failures.iter().map(|(name, _)| format!("`{name}`")).collect();
        let message = format!("{} of {} tests failed: {}", names.len(), tests.len(), names.join(", "));
        raise(Diagnostic::error(Class::Run, "tests", message));
    }
}

/// The function's result, or the panic's message and place.
fn outcome(test: &Test, file: &str, lines: Lines) -> Result<Result<(), String>, String> {
    catch_unwind(AssertUnwindSafe(test.run)).map_err(|payload| {
        calls::take();
        if let Some(diagnostic) = raised(&*payload) {
            return diagnostic.to_string();
        }
        // A hook that the test itself has set leaves the payload alone.
        let Some(panic) = last_panic() else {
            return payload_text(&*payload).unwrap_or_else(|| "a panic with a value that is not a string".to_string());
        };
        let mut text = panic.message;
        if let Some(span) = panic.span {
            let _ = write!(text, "\n  at {}", place(&span.file, span.line, file, lines));
        }
        text
    })
}

fn reason(ended: Result<Result<(), String>, String>, expected: Option<&str>) -> String {
    match (ended, expected) {
        (Err(message), None) | (Ok(Err(message)), _) => message,
        (Err(message), Some(expected)) => {
            format!("{message}\nit should panic with a message that contains {expected:?}")
        }
        (Ok(Ok(())), _) => "it should panic, and did not".to_string(),
    }
}

/// `In [3], line 2`.
fn place(of: &str, line: u32, file: &str, lines: Lines) -> String {
    let known = lines.iter().find(|(first, last, ..)| of == file && (*first..=*last).contains(&line));
    match (known, of.strip_prefix("cell_").and_then(|name| name.strip_suffix(".rs"))) {
        (Some((first, _, cell, start)), _) => format!("In [{cell}], line {}", start + line - first),
        (None, Some(cell)) => format!("In [{cell}], line {line}"),
        (None, None) => format!("{of}, line {line}"),
    }
}
