//! Avro: object container files, whose schema is a record. Blocks may be compressed by deflate, snappy, zstd or bzip2.

use std::fs::File;
use std::io::BufReader;

use arrow_avro::reader::ReaderBuilder;
use onrush_wire::Diagnostic;
use onrush_wire::plan::FileKind;

use crate::file::{FileState, io_diagnostic};
use crate::formats::binary::{Binary, ColumnBatches, damaged};
use crate::memory::Reservation;

pub(crate) const AVRO: Binary = Binary { name: "an Avro file", kinds: &[FileKind::Avro], open };

/// Rows that are decoded at a time.
const BATCH: usize = 8192;
/// Bytes that are read at a time.
const BUFFER: usize = 1 << 20;

fn open(file: &FileState, _: &Reservation<'_>) -> Result<Vec<ColumnBatches>, Diagnostic> {
    let reader = File::open(&file.path).map_err(|e| io_diagnostic("read", &file.path, &e))?;
    let reader = BufReader::with_capacity(BUFFER, reader);
    // Without views: the decoder of arrow-avro 59.3 loses the nulls of views.
    let reader = ReaderBuilder::new().with_batch_size(BATCH).build(reader);
    let reader = reader.map_err(|e| damaged(&file.path, AVRO.name, &e.to_string()))?;
    Ok(vec![ColumnBatches { schema: reader.schema(), batches: Box::new(reader) }])
}
