//! Writers of files.

use std::path::Path;

use onrush_wire::Span;
use onrush_wire::plan::{Sink, SinkFormat};
use onrush_wire::session::{Reply, Request};

use super::{Frame, folder, path_text};
use crate::raise::here;
use crate::session;

impl Frame {
    /// Runs the plan and writes the rows as CSV, with a header and empty fields for nulls. Returns the number of rows.
    #[track_caller]
    pub fn write_csv(&self, path: impl AsRef<Path>) -> u64 {
        self.csv_writer().run(path_text(path), here("write_csv"))
    }

    /// Runs the plan and writes a Parquet file, compressed with zstd. Returns the number of rows.
    #[track_caller]
    pub fn write_parquet(&self, path: impl AsRef<Path>) -> u64 {
        self.parquet_writer().run(path_text(path), here("write_parquet"))
    }

    /// Runs the plan and writes JSON lines: one object for each row. Returns the number of rows.
    #[track_caller]
    pub fn write_json(&self, path: impl AsRef<Path>) -> u64 {
        self.write(path_text(path), SinkFormat::JsonLines, here("write_json"))
    }

    /// Options for writing CSV: `f.csv_writer().sep(';').write("x.csv")`.
    pub fn csv_writer(&self) -> CsvWriter {
        CsvWriter { frame: self.clone(), separator: ',', header: true, null: String::new() }
    }

    /// Options for writing Parquet: `f.parquet_writer().compression("snappy").write("x.parquet")`.
    pub fn parquet_writer(&self) -> ParquetWriter {
        ParquetWriter { frame: self.clone(), compression: "zstd".to_string() }
    }

    #[inline(never)]
    fn write(&self, path: String, format: SinkFormat, at: Span) -> u64 {
        let sink = Sink { path, folder: folder(), format };
        match session::expect(&Request::Write { frame: self.id(), sink }, at.clone()) {
            Reply::Written { rows, path, .. } => {
                crate::host::last_words::wrote(path.as_bytes());
                rows
            }
            other => session::unexpected(&other, at),
        }
    }
}

/// Options of a CSV writer; see [`Frame::csv_writer`].
#[derive(Clone)]
#[must_use = "`.write(path)` writes the file"]
pub struct CsvWriter {
    frame: Frame,
    separator: char,
    header: bool,
    null: String,
}

impl CsvWriter {
    /// The separator of fields. Default: a comma.
    pub fn sep(mut self, separator: char) -> Self {
        self.separator = separator;
        self
    }

    /// Whether the first row is a header with the names. Default: yes.
    pub fn header(mut self, header: bool) -> Self {
        self.header = header;
        self
    }

    /// The representation of null. Default: an empty field.
    pub fn null(mut self, text: impl Into<String>) -> Self {
        self.null = text.into();
        self
    }

    /// Runs the plan and writes the file. Returns the number of rows.
    #[track_caller]
    pub fn write(&self, path: impl AsRef<Path>) -> u64 {
        self.run(path_text(path), here("write"))
    }

    fn run(&self, path: String, at: Span) -> u64 {
        let format = SinkFormat::Csv { separator: self.separator, header: self.header, null: self.null.clone() };
        self.frame.write(path, format, at)
    }
}

/// Options of a Parquet writer; see [`Frame::parquet_writer`].
#[derive(Clone)]
#[must_use = "`.write(path)` writes the file"]
pub struct ParquetWriter {
    frame: Frame,
    compression: String,
}

impl ParquetWriter {
    /// The compression: `zstd` (default), `snappy`, `lz4`, `gzip`, `brotli` or `none`.
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
        self.frame.write(path, SinkFormat::Parquet { compression: self.compression.clone() }, at)
    }
}
