//! Cells: from cell text to a running shared object, and the only crate that knows rustc.
//!
//! [`Executor`] is what the Jupyter kernel drives: one for each notebook. Below it are the parser (`parse`), the code
//! generator, rustc with its cache and diagnostics, and the cell process with its snapshots. `kernel/host` is the other
//! end of the cell process.
//!
//! A module imports only modules below it. The order, from `interface` up to `executor`, is data in
//! `xtask/src/tidy/module_layers.rs`.

mod backtrace;
mod commands;
mod compile;
mod complete;
mod completion_snapshot;
mod cuda;
mod deps;
mod disk_full;
pub mod executor;
mod export;
mod generate;
mod hints;
mod index;
mod interface;
mod interrupt;
mod lexer;
mod linker;
mod notebook;
mod parameters;
mod parse;
pub mod prelude_build;
mod process;
mod procfs;
mod python;
mod recompile_dependents;
pub mod reference;
mod reopen_crate;
mod rustc;
mod shell;
mod source_map;
mod stale;
mod toolchain;
mod type_query;
mod types;
mod unchanged_items;

pub use completion_snapshot::{Frames, Names, NoFrames};
pub use deps::lock::MIME as LOCK_MIME;
pub use executor::Executor;
pub use hints::rustc_text::unknown_name;
pub use interface::{
    Completeness, Completions, Config, Event, Flow, Inspection, Interrupt, Match, Outcome, Stale, Times, VariableInfo,
};
pub use parameters::{ParameterCell, injected_parameters};
pub use process::Bell;
pub use stale::{Origin, defined_names};
