//! The engines against DuckDB's answers and against each other. One binary, since linking DataFusion is slow.

mod answer;
mod cores;
mod random;
mod slt;
mod sql;
mod tables;
mod tpcds;
mod tpch;
