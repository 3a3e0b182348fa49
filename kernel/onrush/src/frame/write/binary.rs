//! Writers of binary formats.

use std::path::Path;

use onrush_wire::Span;
use onrush_wire::plan::SinkFormat;

use crate::expr::IntoColumns;
use crate::frame::{Frame, path_text};
use crate::raise::here;

impl Frame {
    /// Runs the plan and writes a file in the format of its extension: `.parquet`, `.csv`, `.tsv`, `.jsonl`, `.arrow`,
    /// `.feather`, `.avro`, `.orc` or `.xlsx`. Returns the number of rows.
    #[track_caller]
    pub fn write(&self, path: impl AsRef<Path>) -> u64 {
        self.write_to(path_text(path), SinkFormat::Any, here("write"))
    }

    /// Runs the plan and writes a Parquet file, compressed with zstd. Returns the number of rows.
    #[track_caller]
    pub fn write_parquet(&self, path: impl AsRef<Path>) -> u64 {
        self.parquet_writer().run(path_text(path), here("write_parquet"))
    }

    /// Runs the plan and writes an Arrow IPC file, not compressed. Categorical columns are written as strings. Returns
    /// the number of rows.
    #[track_caller]
    pub fn write_ipc(&self, path: impl AsRef<Path>) -> u64 {
        self.ipc_writer().run(path_text(path), here("write_ipc"))
    }

    /// Runs the plan and writes a Feather file: Arrow IPC, compressed with LZ4. Returns the number of rows.
    #[track_caller]
    pub fn write_feather(&self, path: impl AsRef<Path>) -> u64 {
        self.ipc_writer().compression("lz4").run(path_text(path), here("write_feather"))
    }

    /// Runs the plan and writes an Avro file, compressed with snappy. Times have at most microseconds. Returns the
    /// number of rows.
    #[track_caller]
    pub fn write_avro(&self, path: impl AsRef<Path>) -> u64 {
        let format = SinkFormat::Avro { compression: "snappy".to_string() };
        self.write_to(path_text(path), format, here("write_avro"))
    }

    /// Runs the plan and writes an ORC file, compressed with zstd. Decimals, times of the day, lists and structs have
    /// no form in it. Returns the number of rows.
    #[track_caller]
    pub fn write_orc(&self, path: impl AsRef<Path>) -> u64 {
        let format = SinkFormat::Orc { compression: "zstd".to_string() };
        self.write_to(path_text(path), format, here("write_orc"))
    }

    /// Runs the plan and writes an xlsx file of one sheet, with a bold header and dates as dates. A sheet has at most
    /// 1,048,576 rows with the header. Returns the number of rows.
    #[track_caller]
    pub fn write_excel(&self, path: impl AsRef<Path>) -> u64 {
        self.excel_writer().run(path_text(path), here("write_excel"))
    }

    /// Options for writing Parquet: `f.parquet_writer().compression("snappy").write("x.parquet")`.
    pub fn parquet_writer(&self) -> ParquetWriter {
        ParquetWriter { frame: self.clone(), compression: "zstd".to_string(), row_group_rows: None, by: Vec::new() }
    }

    /// Options for writing Arrow IPC: `f.ipc_writer().compression("zstd").write("x.arrow")`.
    pub fn ipc_writer(&self) -> IpcWriter {
        IpcWriter { frame: self.clone(), compression: "none".to_string() }
    }

    /// Options for writing a workbook: `f.excel_writer().sheet("2024").write("x.xlsx")`.
    pub fn excel_writer(&self) -> ExcelWriter {
        ExcelWriter { frame: self.clone(), sheet: "Sheet1".to_string() }
    }
}

/// Options of a Parquet writer; see [`Frame::parquet_writer`].
#[derive(Clone)]
#[must_use = "`.write(path)` writes the file"]
pub struct ParquetWriter {
    frame: Frame,
    compression: String,
    row_group_rows: Option<u64>,
    by: Vec<String>,
}

impl ParquetWriter {
    /// The compression: `zstd` (default), `snappy`, `lz4`, `gzip`, `brotli` or `none`.
    pub fn compression(mut self, name: impl Into<String>) -> Self {
        self.compression = name.into();
        self
    }

    /// The most rows of a row group. Default: 1,048,576.
    pub fn row_group_rows(mut self, rows: usize) -> Self {
        self.row_group_rows = Some(rows as u64);
        self
    }

    /// Writes a folder with a folder for each value of these columns: `out/year=2024/month=5/part-0.parquet`. The
    /// columns are in the names of the folders alone; rows keep their order inside of a folder. The folder must be new
    /// or empty, and appears when it is complete. At most 10,000 folders.
    pub fn partition_by(mut self, columns: impl IntoColumns) -> Self {
        self.by = columns.into_columns();
        self
    }

    /// Runs the plan and writes the file, or the folder. Returns the number of rows.
    #[track_caller]
    pub fn write(&self, path: impl AsRef<Path>) -> u64 {
        self.run(path_text(path), here("write"))
    }

    fn run(&self, path: String, at: Span) -> u64 {
        let format = SinkFormat::Parquet { compression: self.compression.clone(), row_group_rows: self.row_group_rows };
        self.frame.write_to(path, in_folders(format, &self.by), at)
    }
}

/// A format in folders by columns, if there are any.
pub(super) fn in_folders(format: SinkFormat, by: &[String]) -> SinkFormat {
    if by.is_empty() { format } else { SinkFormat::Folders { by: by.to_vec(), format: Box::new(format) } }
}

/// Options of an Arrow IPC writer; see [`Frame::ipc_writer`].
#[derive(Clone)]
#[must_use = "`.write(path)` writes the file"]
pub struct IpcWriter {
    frame: Frame,
    compression: String,
}

impl IpcWriter {
    /// The compression: `none` (default), `lz4` or `zstd`.
    pub fn compression(mut self, name: impl Into<String>) -> Self {
        self.compression = name.into();
        self
    }

    /// Runs the plan and writes the file. Returns the number of rows.
    #[track_caller]
    pub fn write(&self, path: impl AsRef<Path>) -> u64 {
        self.run(path_text(path), here("write"))
    }

    fn run(&self, path: String, at: Span) -> u64 {
        self.frame.write_to(path, SinkFormat::Ipc { compression: self.compression.clone() }, at)
    }
}

/// Options of a writer of workbooks; see [`Frame::excel_writer`].
#[derive(Clone)]
#[must_use = "`.write(path)` writes the file"]
pub struct ExcelWriter {
    frame: Frame,
    sheet: String,
}

impl ExcelWriter {
    /// The name of the sheet: at most 31 characters. Default: `Sheet1`.
    pub fn sheet(mut self, name: impl Into<String>) -> Self {
        self.sheet = name.into();
        self
    }

    /// Runs the plan and writes the file. Returns the number of rows.
    #[track_caller]
    pub fn write(&self, path: impl AsRef<Path>) -> u64 {
        self.run(path_text(path), here("write"))
    }

    fn run(&self, path: String, at: Span) -> u64 {
        self.frame.write_to(path, SinkFormat::Excel { sheet: self.sheet.clone() }, at)
    }
}
