//! Plans: what a notebook asks for, checked at once, planned and run by DataFusion.
//!
//! The wire's steps become DataFusion plans here and nowhere else; frames follow Polars' meaning, SQL follows DuckDB's
//! (`docs/semantics.md`). Knows no sockets, no names of notebooks and no files' formats.

pub mod cache;
pub mod engine;
pub mod explain;
mod pool;

pub use engine::{CALLS_STACK, Engine, EngineConfig, KEPT, Loan, title};
pub use explain::Placement;
pub use onrush_gpu::{EngineChoice, Policy, Tuning};
