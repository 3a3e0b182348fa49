//! Proof that the engines are right, and what measures them: SQL files with DuckDB's answers, random plans of which two engines must
//! say the same, TPC-H, and the benchmark of the GPU engine.
//!
//! Not part of the product. Everything is inside the binary `onrush-gpu-bench`, so that it runs on a machine without Rust, Python or
//! a network; nothing here knows DataFusion or a device, only [`onrush_plan::Engine`].

pub mod answer;
pub mod corpus;
pub mod engines;
pub mod random;
pub mod slt;
pub mod tables;
