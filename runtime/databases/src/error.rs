//! Failures of a database, as the driver process reports them. The diagnostics that a user reads are made in the
//! engine.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The order that the driver was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// The driver's library is loaded.
    Load,
    /// The database is opened.
    Open,
    /// The query runs.
    Query,
    /// The rows of the result are fetched.
    Rows,
    /// Rows are written.
    Write,
}

/// A failure of a driver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Failure {
    /// With ADBC's status; 0 if the failure is not the driver's.
    #[error("{message}")]
    Driver { stage: Stage, status: u8, message: String },
    /// A column of a type that is not read or not written.
    #[error("column `{column}` has the type {dtype}")]
    Unsupported { column: String, dtype: String },
}

impl Failure {
    pub fn new(stage: Stage, message: impl Into<String>) -> Self {
        Failure::Driver { stage, status: 0, message: message.into() }
    }

    pub fn unsupported(column: &str, dtype: impl fmt::Display) -> Self {
        Failure::Unsupported { column: column.to_string(), dtype: dtype.to_string() }
    }
}
