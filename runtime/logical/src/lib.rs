//! Plans: the steps of the wire as logical plans of DataFusion, over frames that are still names.
//!
//! Frames follow Polars' meaning (`docs/semantics.md`). Knows no SQL, no devices and no files' formats, and runs
//! nothing.

pub mod key;
pub mod keyless;
pub mod ops;
pub mod predicates;
pub mod resident;
pub mod rows;
pub mod states;
pub mod table;
