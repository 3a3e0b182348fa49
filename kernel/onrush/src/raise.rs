//! How a call that cannot be done ends the cell: it raises a [`Diagnostic`]; and how a cell catches one.

use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};

use onrush_wire::{Diagnostic, Span};

/// What [`attempt`] gives: message, place and help of a call that could not be done.
pub type Error = Diagnostic;

/// Ends the cell with `diagnostic`. It unwinds without the panic hook, so nothing is printed; [`attempt`] catches it.
pub fn raise(diagnostic: Diagnostic) -> ! {
    resume_unwind(Box::new(diagnostic))
}

/// Runs `work` and gives its value, or the error that a call in it raised. A panic goes on.
///
/// ```text
/// let flights = attempt(|| read_csv("new.csv")).unwrap_or_else(|_| read_csv("old.csv"));
/// ```
pub fn attempt<T>(work: impl FnOnce() -> T) -> Result<T, Error> {
    // The closure's captures may be seen half done after a raise, as after any `?` in its middle.
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match payload.downcast::<Diagnostic>() {
        Ok(diagnostic) => *diagnostic,
        Err(panic) => resume_unwind(panic),
    })
}

/// The place of the call of a method of ours, under its name.
#[track_caller]
pub(crate) fn here(method: &str) -> Span {
    place(Location::caller(), method)
}

pub(crate) fn place(location: &Location<'_>, method: &str) -> Span {
    Span {
        file: location.file().to_string(),
        line: location.line(),
        column: location.column(),
        length: method.chars().count().max(1) as u32,
    }
}
