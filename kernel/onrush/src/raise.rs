//! How a call that cannot be done ends the cell: it raises a [`Diagnostic`]; and how a cell catches one.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};

use onrush_wire::{Diagnostic, Span};

/// The error of [`attempt`]: message, place and help of a call that could not be done.
pub type Error = Diagnostic;

thread_local! {
    /// How many calls of `attempt` this thread is in.
    static ATTEMPTS: Cell<u32> = const { Cell::new(0) };
}

/// Ends the cell with `diagnostic`. It unwinds without the panic hook; [`attempt`] catches it.
pub fn raise(diagnostic: Diagnostic) -> ! {
    // A cell process shows what ended the cell. In a separate program nobody else would show it.
    if ATTEMPTS.get() == 0 && crate::process::context().is_none() {
        match diagnostic.labels.first() {
            Some(label) => eprintln!("error: {diagnostic}\n --> {}:{}", label.span.file, label.span.line),
            None => eprintln!("error: {diagnostic}"),
        }
    }
    match ATTEMPTS.get() {
        0 => crate::process::calls::keep(),
        _ => crate::process::calls::leave(),
    }
    resume_unwind(Box::new(diagnostic))
}

/// Runs `work` and gives its value, or the error that a call in it raised. A panic goes on.
///
/// ```text
/// let flights = attempt(|| read_csv("new.csv")).unwrap_or_else(|_| read_csv("old.csv"));
/// ```
pub fn attempt<T>(work: impl FnOnce() -> T) -> Result<T, Error> {
    // The closure's captures may be seen half done after a raise, as after any `?` in its middle.
    ATTEMPTS.set(ATTEMPTS.get() + 1);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    ATTEMPTS.set(ATTEMPTS.get() - 1);
    outcome.map_err(|payload| match payload.downcast::<Diagnostic>() {
        Ok(diagnostic) => *diagnostic,
        Err(panic) => {
            crate::process::calls::leave();
            resume_unwind(panic)
        }
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
