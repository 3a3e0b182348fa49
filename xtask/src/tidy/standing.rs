//! Exceptions to the rules about words and names, as data: places that do not keep the rules yet.
//!
//! The lists only shrink. `tidy` reports an entry that is not needed any more, and a new entry is a mistake. A crate
//! that is split or renamed changes its entry in `UNSWEPT`.

/// Starts of paths whose documents, doc comments and messages still have retired words.
pub const UNSWEPT: &[&str] = &[
    "kernel/cell/src/cuda.rs",
    "runtime/ops/src/codegen/reduce.rs",
    "runtime/ops/src/codegen/window.rs",
    "runtime/oracle/src/tpch.rs",
    "runtime/worker/src/diagnostics.rs",
];

/// Public names that some crate has for more than one type. `Tuning` stays: each algorithm of `kernels` has one, as in
/// CUB.
pub const TWICE: &[&str] = &["Case", "Element", "Outcome", "Source", "Tuning"];

/// Types whose names are bare participles.
pub const PARTICIPLES: &[&str] = &[];
