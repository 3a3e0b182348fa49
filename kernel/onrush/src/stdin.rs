//! Requests of a cell to the front end: a line of input, and clearing the output.

use onrush_wire::{Class, Diagnostic};

use crate::process;
use crate::raise::{here, raise};

/// Asks for a line of text. The returned string has no line break.
#[track_caller]
pub fn input(prompt: &str) -> String {
    let at = here("input");
    process::input(prompt, false).unwrap_or_else(|| stopped(at))
}

/// Asks for a line of text as [`input`] does, without showing what is typed.
#[track_caller]
pub fn password(prompt: &str) -> String {
    let at = here("password");
    process::input(prompt, true).unwrap_or_else(|| stopped(at))
}

/// Asks for a line of text, with a prompt as of `format!`: `let n: i32 = input!("how many? ").trim().parse()?;`
#[macro_export]
macro_rules! input {
    () => { $crate::input("") };
    ($($prompt:tt)+) => { $crate::input(&::std::format!($($prompt)+)) };
}

/// Asks for a line of text as `input!` does, without showing what is typed.
#[macro_export]
macro_rules! password {
    () => { $crate::password("") };
    ($($prompt:tt)+) => { $crate::password(&::std::format!($($prompt)+)) };
}

fn stopped(at: onrush_wire::Span) -> ! {
    raise(Diagnostic::error(Class::Interrupted, "interrupted", "no line was given").at(at, ""))
}

/// Clears the output of this cell when the next output arrives.
pub fn clear_output() {
    process::clear_output(true);
}
