//! Between a cell and the person in front of it: a line of input, and a clean output.

use onrush_wire::{Class, Diagnostic};

use crate::host;
use crate::raise::{here, raise};

/// Asks for a line of text; it comes without the end of line.
#[track_caller]
pub fn input(prompt: &str) -> String {
    let at = here("input");
    host::input(prompt, false).unwrap_or_else(|| stopped(at))
}

/// As [`input`], without showing what is typed.
#[track_caller]
pub fn password(prompt: &str) -> String {
    let at = here("password");
    host::input(prompt, true).unwrap_or_else(|| stopped(at))
}

/// Asks for a line of text, with a prompt as of `format!`: `let n: i32 = input!("how many? ").trim().parse()?;`
#[macro_export]
macro_rules! input {
    () => { $crate::input("") };
    ($($prompt:tt)+) => { $crate::input(&::std::format!($($prompt)+)) };
}

/// As [`input!`], without showing what is typed.
#[macro_export]
macro_rules! password {
    () => { $crate::password("") };
    ($($prompt:tt)+) => { $crate::password(&::std::format!($($prompt)+)) };
}

fn stopped(at: onrush_wire::Span) -> ! {
    raise(Diagnostic::error(Class::Interrupted, "interrupted", "no line was given").at(at, ""))
}

/// Takes away what this cell has shown so far, when the next output comes.
pub fn clear_output() {
    host::clear_output(true);
}
