//! The text around a cell that asks rustc which of its variables borrow from others. `compile/borrowers.rs` asks.

use std::fmt::Write;

use super::cfg_of;
use crate::parse::Binding;

/// Stands before the cell's first statement: the variables of the question, and the block that the others do not
/// outlive.
pub fn prologue(puts: &[Binding]) -> String {
    let kept = puts.iter().rev().enumerate();
    let kept: String = kept.map(|(at, put)| format!("{}let __onrush_kept_{at}; ", cfg_of(put))).collect();
    format!("{kept}{{ ")
}

/// Stands behind the cell's last line: a line for each variable that leaves the block, one for its end, a line for each
/// use.
pub fn epilogue(puts: &[Binding]) -> String {
    let mut text = String::new();
    for (at, put) in puts.iter().rev().enumerate() {
        let _ = writeln!(text, "{}{{ __onrush_kept_{at} = {}; }}", cfg_of(put), put.name);
    }
    text.push_str("}\n");
    for (at, put) in puts.iter().rev().enumerate() {
        let _ = writeln!(text, "{}{{ ::core::mem::drop(__onrush_kept_{at}); }}", cfg_of(put));
    }
    text
}
