//! Readers of files, and frames from Rust values.

use std::path::Path;

use arrow::array::RecordBatch;
use onrush_wire::DataType;
use onrush_wire::plan::{CsvOptions, Format, Op, Source};

use super::{Frame, IntoPairs, folder, path_text};
use crate::expr::IntoColumns;
use crate::raise::here;

fn source(path: String, format: Format) -> Op {
    Op::Read(Source { path, folder: folder(), format })
}

/// Reads a CSV file, or several with `*`, `?`, `[..]` and `**` in the path. The first row names the columns. Types are inferred
/// from the whole file; empty fields and `NA` are null; ISO dates are dates. For other options see [`csv`].
#[track_caller]
pub fn read_csv(path: impl AsRef<Path>) -> Frame {
    Frame::step(source(path_text(path), Format::Csv(CsvOptions::default())), here("read_csv"))
}

/// Reads a Parquet file, or several (see [`read_csv`] for patterns). Only the used columns and row groups are read.
#[track_caller]
pub fn read_parquet(path: impl AsRef<Path>) -> Frame {
    Frame::step(source(path_text(path), Format::Parquet), here("read_parquet"))
}

/// Reads JSON lines: one object in each line.
#[track_caller]
pub fn read_json(path: impl AsRef<Path>) -> Frame {
    Frame::step(source(path_text(path), Format::JsonLines), here("read_json"))
}

/// Reads JSON lines: an alias of [`read_json`].
#[track_caller]
pub fn read_ndjson(path: impl AsRef<Path>) -> Frame {
    Frame::step(source(path_text(path), Format::JsonLines), here("read_ndjson"))
}

/// Options for reading a CSV file: `csv().sep(';').nulls(["-"]).read("x.csv")`.
pub fn csv() -> CsvReader {
    CsvReader { options: CsvOptions::default() }
}

/// Options of a CSV reader; see [`csv`].
#[derive(Clone, Debug)]
#[must_use = "`.read(path)` reads the file"]
pub struct CsvReader {
    options: CsvOptions,
}

impl CsvReader {
    /// The separator of fields. Default: a comma.
    pub fn sep(mut self, separator: char) -> Self {
        self.options.separator = separator;
        self
    }

    /// The quote character of strings. `None`: quotes are part of the string. Default: `"`.
    pub fn quote(mut self, quote: impl Into<Option<char>>) -> Self {
        self.options.quote = quote.into();
        self
    }

    /// Whether the first row is a header with names. Without: `column_1`, `column_2`, ...
    pub fn header(mut self, has_header: bool) -> Self {
        self.options.has_header = has_header;
        self
    }

    /// Skips lines that start with this.
    pub fn comment(mut self, start: char) -> Self {
        self.options.comment = Some(start);
        self
    }

    /// Strings that mean null, instead of `NA`. An empty field is null as well.
    pub fn nulls(mut self, texts: impl IntoColumns) -> Self {
        self.options.nulls = texts.into_columns();
        self
    }

    /// Skips rows at the top, before the header.
    pub fn skip_rows(mut self, rows: usize) -> Self {
        self.options.skip_rows = rows as u64;
        self
    }

    /// Types for some columns: `.dtypes([("zip", "str")])`.
    #[track_caller]
    pub fn dtypes(mut self, dtypes: impl IntoPairs<DataType>) -> Self {
        self.options.dtypes.extend(dtypes.into_pairs());
        self
    }

    /// Whether ISO dates and times are recognised. Default: yes.
    pub fn parse_dates(mut self, parse: bool) -> Self {
        self.options.parse_dates = parse;
        self
    }

    /// Reads only these columns.
    pub fn columns(mut self, names: impl IntoColumns) -> Self {
        self.options.columns = names.into_columns();
        self
    }

    /// Reads only the first rows.
    pub fn limit(mut self, rows: usize) -> Self {
        self.options.limit = Some(rows as u64);
        self
    }

    /// Reads the file, or several with `*` in the path.
    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> Frame {
        Frame::step(source(path_text(path), Format::Csv(self.options.clone())), here("read"))
    }
}

/// A frame with a copy of the batch's rows. `Frame::from(batch)` does it, too.
#[track_caller]
pub fn from_batch(batch: &RecordBatch) -> Frame {
    send(batch, here("from_batch"))
}

#[inline(never)]
pub(crate) fn send(batch: &RecordBatch, at: onrush_wire::Span) -> Frame {
    Frame::new(crate::session::send(batch, at))
}

impl From<RecordBatch> for Frame {
    #[track_caller]
    fn from(batch: RecordBatch) -> Self {
        send(&batch, here("from"))
    }
}

impl From<&RecordBatch> for Frame {
    #[track_caller]
    fn from(batch: &RecordBatch) -> Self {
        send(batch, here("from"))
    }
}
