//! Cells: from cell text to a running shared object, and the only crate that knows rustc.
//!
//! [`Executor`] is what the Jupyter kernel drives: one for each notebook. Below it: the parser (`split`), the code generator,
//! rustc with its cache and diagnostics, and the cell process with its snapshots (`kernel/host` is the other end of it).
//!
//! A module imports only modules below it. The order, from `interface` up to `executor`, is data in `xtask/src/tidy/modules.rs`.

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
mod interface;
mod interrupt;
mod keep;
pub mod kit;
mod linker;
mod names;
mod notebook;
mod parameters;
mod probe;
mod process;
mod procfs;
mod reemit;
pub mod reference;
mod rustc;
mod scan;
mod shell;
mod source_map;
mod space;
mod split;
mod stale;
mod toolchain;
mod trace;
mod types;

pub use deps::lock::MIME as LOCK_MIME;
pub use executor::Executor;
pub use interface::{
    Completeness, Completions, Config, Event, Flow, Inspection, Interrupt, Match, Outcome, Stale, Times, VariableInfo,
};
pub use names::{Frames, Names, NoFrames};
pub use parameters::{ParameterCell, injected_parameters};
pub use process::Bell;
pub use stale::{Origin, defined_names};
