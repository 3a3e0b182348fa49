//! Proof that the engines are right: SQL files with DuckDB's answers, random plans of which two engines must say the
//! same, TPC-H and TPC-DS.
//!
//! Not part of the product. Everything is inside the binary `onrush-oracle`, so that it runs on a machine without Rust,
//! Python or a network. It knows [`onrush_engine::Engine`] alone, neither DataFusion nor a device.

pub mod answer;
pub mod cores;
pub mod corpus;
pub mod engines;
pub mod queries;
pub mod random;
pub mod slt;
pub mod tables;
pub mod tpcds;
pub mod tpch;
