//! The engines against DuckDB's answers. One binary, since linking DataFusion is slow.

mod oracle {
    pub mod sql;
}
