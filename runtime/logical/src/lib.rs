//! Plans: the steps of the wire as logical plans of DataFusion, over frames that are still names.
//!
//! Frames follow Polars' meaning (`docs/semantics.md`). Knows no SQL, no devices and no files' formats, and runs
//! nothing.

pub mod cooperative;
pub mod drop_functional_dependencies;
pub mod fingerprint;
pub mod frame_table;
pub mod mem_table;
pub mod ops;
pub mod predicates;
pub mod resident;
pub mod serialize;
pub mod session_states;
