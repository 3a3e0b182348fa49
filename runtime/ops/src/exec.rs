//! The executor: runs the stages of a pipeline on a stream, replays single-kernel executions, evicts and exports
//! columns.

mod eviction;
pub mod executor;
mod export;
pub mod replay;
