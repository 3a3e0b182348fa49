//! Cells: from cell text to a running shared object, and the only crate that knows rustc.
//!
//! [`Executor`] is what the Jupyter kernel drives: one for each notebook. Below it: the parser (`split`), the code generator,
//! rustc with its cache and diagnostics, and the cell process with its snapshots (`kernel/host` is the other end of it).

mod again;
mod commands;
mod compile;
mod complete;
mod cuda;
mod deps;
pub mod executor;
mod export;
mod generate;
mod hints;
mod index;
mod keep;
pub mod kit;
mod linker;
mod names;
mod notebook;
mod process;
mod reemit;
mod rustc;
mod scan;
mod shell;
mod space;
mod split;
mod stale;
mod trace;
mod types;

pub use deps::lock::MIME as LOCK_MIME;
pub use executor::{
    Completeness, Completions, Config, Event, Executor, Inspection, Interrupt, Match, Outcome, Times, VariableInfo,
};
pub use names::{Frames, Names, NoFrames};
pub use process::Bell;
pub use stale::{Flow, Origin, Stale, defined_names};
