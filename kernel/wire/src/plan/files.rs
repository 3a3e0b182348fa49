//! Files to read and to write: their formats and the options of most of them.

use serde::{Deserialize, Serialize};

use super::{CsvOptions, IfExists};

/// Files to read. `path` may hold `*`, `?`, `[...]` and `**`; relative paths are relative to `folder`, the cell process's
/// working folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// With its password, if it is the address of a database: [`database_name`] is for messages.
    pub path: String,
    pub folder: String,
    pub format: Format,
}

/// A file as it was when it was read: the lineage of a frame has one for each of its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMark {
    /// Absolute, without links.
    pub path: String,
    pub bytes: u64,
    /// Nanoseconds since 1970.
    pub modified: u128,
    /// The file system's number of the file, and nanoseconds from 1970 to the last change of its content, name or rights: no
    /// program can set them. 0 for copies of files in other places, whose name stands for the content.
    pub inode: u64,
    pub changed: u128,
    /// A hash of all bytes of a file of at most 8 MiB, else of blocks that are spread over it.
    pub hash: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Format {
    /// By the extension and the first bytes of the first file.
    Any,
    Csv(CsvOptions),
    Parquet(ParquetOptions),
    /// JSON lines, one array of objects, or objects one after another.
    JsonLines,
    /// As [`Format::JsonLines`], of the value under a path of keys with points between them: `data.records`.
    JsonAt(String),
    /// A sheet of a workbook: xlsx, xlsm, xlsb, xls, ods.
    Excel(ExcelOptions),
    /// The names of the sheets of a workbook.
    Sheets,
    /// Arrow IPC, file or stream; Feather 2.
    Ipc,
    Avro,
    Orc,
    /// A file of a graph. `format` is the name of the format (`graphml`, `gexf`, ...) if the extension does not say it.
    Graph {
        format: Option<String>,
        part: GraphPart,
    },
    /// The rows of a query. The path is the address of a database.
    Database {
        query: String,
    },
}

/// What a frame has of a file of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GraphPart {
    /// One row: whether the graph is `directed`, and whether its edges are `weighted`.
    Kind,
    /// `node`, then the columns of the nodes.
    Nodes,
    /// `source` and `target`, then the columns of the edges.
    Edges,
}

/// Where a frame is written. The file appears under its name when it is complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sink {
    pub path: String,
    pub folder: String,
    pub format: SinkFormat,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SinkFormat {
    /// By the extension.
    Any,
    Csv {
        separator: char,
        header: bool,
        null: String,
    },
    /// `compression`: `zstd`, `snappy`, `lz4`, `gzip`, `brotli` or `none`.
    /// `row_group_rows`: the most rows of a row group, 1,048,576 if not given.
    Parquet {
        compression: String,
        row_group_rows: Option<u64>,
    },
    JsonLines,
    /// The file format of Arrow IPC. `compression`: `none`, `lz4` or `zstd`.
    Ipc {
        compression: String,
    },
    /// `compression`: `snappy`, `deflate`, `zstd`, `bzip2` or `none`.
    Avro {
        compression: String,
    },
    /// `compression`: `zstd`, `zlib`, `snappy`, `lz4` or `none`.
    Orc {
        compression: String,
    },
    Excel {
        sheet: String,
    },
    /// Files in folders `key=value`, one level for each column of `by`. The path is a folder.
    Folders {
        by: Vec<String>,
        format: Box<SinkFormat>,
    },
    /// One array of objects.
    JsonArray,
    /// A table. The path is the address of a database.
    Database {
        table: String,
        if_exists: IfExists,
    },
}

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
