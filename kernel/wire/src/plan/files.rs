//! Options of binary file formats.

use serde::{Deserialize, Serialize};

/// Options for Parquet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ParquetOptions {
    /// Whether folders named `key=value` give columns. `None`: for folders and patterns, and not for a single file.
    pub hive: Option<bool>,
    /// Columns that a file lacks are null. Without it, all files must have the same columns.
    pub union_by_name: bool,
    /// Keep only these columns, in this order, if not empty.
    pub columns: Vec<String>,
}

/// Options for workbooks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExcelOptions {
    pub sheet: Sheet,
    /// Cells such as `B3:F200`, `B:F` or `3:200`. `None`: all cells that are used.
    pub range: Option<String>,
    pub has_header: bool,
    /// Keep only these columns, in this order, if not empty.
    pub columns: Vec<String>,
    pub limit: Option<u64>,
}

impl Default for ExcelOptions {
    fn default() -> Self {
        ExcelOptions { sheet: Sheet::Position(0), range: None, has_header: true, columns: Vec::new(), limit: None }
    }
}

/// A sheet of a workbook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sheet {
    Name(String),
    /// From 0.
    Position(u64),
}

impl From<&str> for Sheet {
    fn from(name: &str) -> Self {
        Sheet::Name(name.to_string())
    }
}

impl From<String> for Sheet {
    fn from(name: String) -> Self {
        Sheet::Name(name)
    }
}

impl From<&String> for Sheet {
    fn from(name: &String) -> Self {
        Sheet::Name(name.clone())
    }
}

impl From<usize> for Sheet {
    fn from(position: usize) -> Self {
        Sheet::Position(position as u64)
    }
}

impl From<i32> for Sheet {
    /// A negative position is the position of no sheet.
    fn from(position: i32) -> Self {
        Sheet::Position(u64::try_from(position).unwrap_or(u64::MAX))
    }
}
