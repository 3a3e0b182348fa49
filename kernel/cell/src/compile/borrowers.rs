//! The variables of a cell that borrow from others, if rustc's diagnostic about a stored value does not name them.
//!
//! A value that is put back must be `'static`. If a closure gives back references (`.map(|line| line.trim())`), rustc
//! blames the closure, not the variable. So it is asked otherwise: the variables leave the cell's block one after
//! another, the oldest first, and are used behind its end. A variable that borrows is then one of which rustc says that
//! its borrow is "later used here".

use std::collections::BTreeSet;
use std::path::Path;

use super::{Compiler, Place, Places, is_about_borrowing};
use crate::generate::{Request, VariableFate, generate};
use crate::hints::rustc_text;
use crate::rustc;

/// Questions about one cell: each finds at least one variable.
const ROUNDS: usize = 8;

#[derive(Debug, Default)]
pub struct Borrowers {
    pub names: BTreeSet<String>,
    /// There are errors that are about none of them: the cell would not compile in a function either.
    pub is_rustcs_own: bool,
}

pub fn find(compiler: &Compiler, request: Request<'_>, library: &Path) -> Borrowers {
    let mut found = Borrowers::default();
    let mut omit = request.omit.clone();
    for _ in 0..ROUNDS {
        let generated = generate(&Request { omit: &omit, asks_for_borrowers: true, ..request });
        let job = compiler.job(request.notebook, &generated, request.crate_name, library);
        let Ok(messages) = rustc::check(&job) else { break };
        let places = Places { file: request.file, map: &generated.map, notebook: request.notebook };
        let count = generated.puts.len();
        let later = |span: &rustc::RustcSpan| match places.of(span) {
            Place::Added(line) if span.file_name == places.file => {
                let at = (line as usize - 1) % (count + 1);
                let label = span.label.as_deref().unwrap_or("");
                let is_use = rustc_text::is_later_use(label);
                generated.puts.iter().rev().nth(at).filter(|_| is_use).map(|put| put.name.clone())
            }
            _ => None,
        };
        let errors = rustc::first_messages(&messages);
        let borrowers: BTreeSet<String> = errors.iter().flat_map(|m| m.spans.iter().filter_map(later)).collect();
        found.is_rustcs_own =
            errors.iter().any(|m| !is_about_borrowing(m) || !m.spans.iter().any(|span| later(span).is_some()));
        let is_done = borrowers.is_empty();
        omit.extend(borrowers.iter().map(|name| (name.clone(), VariableFate::Borrows)));
        found.names.extend(borrowers);
        if is_done || found.is_rustcs_own {
            break;
        }
    }
    found
}
