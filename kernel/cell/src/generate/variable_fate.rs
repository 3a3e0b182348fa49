//! Why variables are not put back after a cell, or not as they are.

use serde::{Deserialize, Serialize};

/// Why a variable does not outlive its cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum VariableFate {
    Moved,
    /// A field of it was moved.
    MovedInPart,
    /// `let x: i32;` that got no value.
    Unset,
    Borrows,
    /// It borrows, and must be dropped before the others are put back: a guard.
    Holds,
    /// Some variable of its cell borrows, and rustc does not say which: all that the cell makes ends with it.
    WithCell,
    /// It is a closure that does not end, and that changes what it captured.
    CallsMut,
    /// The same, and it can be called once.
    CallsOnce,
    /// It is a closure that no box fits: it is put back as it is, and ends when its type is seen.
    Plain,
}

impl VariableFate {
    pub fn is_end(self) -> bool {
        !matches!(self, VariableFate::CallsMut | VariableFate::CallsOnce | VariableFate::Plain)
    }
}

/// Among the variables, for the shown value: it is not asked what it can do but has to be `Debug`. That lets rustc
/// infer its type where a method call needs it at once: `let twice = |x| x * 2; twice(4)`.
pub const SHOWN: &str = "";
