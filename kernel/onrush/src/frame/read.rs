//! Readers of files, and frames from Rust values.

pub(crate) mod binary;

use std::path::Path;

use arrow::array::RecordBatch;
use onrush_wire::plan::{CsvOptions, Format, Op, Source};

use super::{Frame, folder, path_text};
use crate::handle::send;
use crate::raise::here;

pub(super) fn source(path: String, format: Format) -> Op {
    Op::Read(Source { path, folder: folder(), format, cluster: None })
}

/// Reads a CSV file, or several with `*`, `?`, `[..]` and `**` in the path. The first row names the columns. Types are
/// inferred from the whole file; empty fields and `NA` are null; dates are dates. A file may be compressed by gzip,
/// zstd or bzip2, or be a zip archive of one file. For other options see [`crate::csv`].
#[track_caller]
pub fn read_csv(path: impl AsRef<Path>) -> Frame {
    Frame::step(source(path_text(path), Format::Csv(CsvOptions::default())), here("read_csv"))
}

/// Reads JSON: one object in each line, one array of objects, or objects one after another. Columns come in the order
/// of the file. Integers beyond 64 bits and mixed scalars are strings. A file may be compressed; see [`read_csv`]. For
/// the rows in a field of an object see [`crate::json`].
#[track_caller]
pub fn read_json(path: impl AsRef<Path>) -> Frame {
    Frame::step(source(path_text(path), Format::JsonLines), here("read_json"))
}

/// Reads JSON lines and other JSON: an alias of [`read_json`].
#[track_caller]
pub fn read_ndjson(path: impl AsRef<Path>) -> Frame {
    Frame::step(source(path_text(path), Format::JsonLines), here("read_ndjson"))
}

/// A frame with a copy of the batch's rows. `Frame::from(batch)` does it, too.
#[track_caller]
pub fn from_batch(batch: &RecordBatch) -> Frame {
    send(batch, here("from_batch"))
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
