//! The engines against DuckDB's answers and against each other. One binary, since linking DataFusion is slow.

mod oracle {
    pub mod cores;
    pub mod random;
    pub mod sql;
    pub mod tpcds;
    pub mod tpch;
}
