//! Databases: SQLite, DuckDB's files and PostgreSQL, by drivers of ADBC (Arrow Database Connectivity).
//!
//! A driver is foreign code, so each query and each write has a separate process (`onrush-session driver`), which may
//! crash, hang and be killed. Rows come and go as an Arrow IPC stream over its socket. Knows no files but those of
//! drivers, and no plans: `runtime/io` asks.

mod adbc;
mod address;
mod client;
mod drivers;
mod error;
mod protocol;
mod serve;
mod statement;
mod types;

pub use address::{Address, Kind, Place};
pub use client::{QueryRows, TableWriter, Target, query, set_program};
pub use protocol::ROLE;
pub use serve::serve;
