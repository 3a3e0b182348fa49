//! Writers of files.

mod binary;

use std::path::Path;

use onrush_wire::Span;
use onrush_wire::plan::{Sink, SinkFormat};
use onrush_wire::session::{Reply, Request};

use super::{Frame, folder, path_text};
use crate::expr::IntoColumns;
use crate::raise::here;
use crate::session;

use binary::in_folders;
pub use binary::{ExcelWriter, IpcWriter, ParquetWriter};

impl Frame {
    /// Runs the plan and writes the rows as CSV, with a header, empty fields for nulls and `""` for empty strings.
    /// `.gz`, `.zst` and `.bz2` at the end of the path compress the file. Returns the number of rows.
    #[track_caller]
    pub fn write_csv(&self, path: impl AsRef<Path>) -> u64 {
        self.csv_writer().run(path_text(path), here("write_csv"))
    }

    /// Runs the plan and writes JSON lines: one object for each row. The path can compress the file; see
    /// [`Frame::write_csv`]. Returns the number of rows.
    #[track_caller]
    pub fn write_ndjson(&self, path: impl AsRef<Path>) -> u64 {
        self.write_to(path_text(path), SinkFormat::JsonLines, here("write_ndjson"))
    }

    /// Writes JSON lines: an alias of [`Frame::write_ndjson`]. For one array see [`Frame::write_json_array`].
    #[track_caller]
    pub fn write_json(&self, path: impl AsRef<Path>) -> u64 {
        self.write_to(path_text(path), SinkFormat::JsonLines, here("write_json"))
    }

    /// Runs the plan and writes one JSON array of objects, as `write_json` of Polars does. Returns the number of rows.
    #[track_caller]
    pub fn write_json_array(&self, path: impl AsRef<Path>) -> u64 {
        self.write_to(path_text(path), SinkFormat::JsonArray, here("write_json_array"))
    }

    /// Options for writing JSON: `f.json_writer().array().write("x.json")`.
    pub fn json_writer(&self) -> JsonWriter {
        JsonWriter { frame: self.clone(), array: false }
    }

    /// Options for writing CSV: `f.csv_writer().sep(';').write("x.csv")`.
    pub fn csv_writer(&self) -> CsvWriter {
        CsvWriter { frame: self.clone(), separator: ',', header: true, null: String::new(), by: Vec::new() }
    }

    #[inline(never)]
    pub(super) fn write_to(&self, path: String, format: SinkFormat, at: Span) -> u64 {
        let sink = Sink { path, folder: folder(), format };
        match session::expect(&Request::Write { frame: self.id(), sink }, at.clone()) {
            Reply::Written { rows, path, .. } => {
                crate::process::crash_record::wrote(path.as_bytes());
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
    by: Vec<String>,
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

    /// Writes a folder with a folder for each value of these columns: see [`ParquetWriter::partition_by`].
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
        let format = SinkFormat::Csv { separator: self.separator, header: self.header, null: self.null.clone() };
        self.frame.write_to(path, in_folders(format, &self.by), at)
    }
}

/// Options of a JSON writer; see [`Frame::json_writer`].
#[derive(Clone)]
#[must_use = "`.write(path)` writes the file"]
pub struct JsonWriter {
    frame: Frame,
    array: bool,
}

impl JsonWriter {
    /// One array of objects.
    pub fn array(mut self) -> Self {
        self.array = true;
        self
    }

    /// One object in each line: the default.
    pub fn lines(mut self) -> Self {
        self.array = false;
        self
    }

    /// Runs the plan and writes the file. Returns the number of rows.
    #[track_caller]
    pub fn write(&self, path: impl AsRef<Path>) -> u64 {
        let format = if self.array { SinkFormat::JsonArray } else { SinkFormat::JsonLines };
        self.frame.write_to(path_text(path), format, here("write"))
    }
}
