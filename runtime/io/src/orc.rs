//! ORC files. Timestamps have nanoseconds, as those of pandas.

use std::fs::File;

use onrush_wire::Diagnostic;
use orc_rust::ArrowReaderBuilder;
use orc_rust::schema::TimestampPrecision;

use crate::binary::{Binary, Opened, damaged};
use crate::cache::{FileState, io_diagnostic};
use crate::magic::FileKind;
use crate::memory::Reservation;

pub(crate) const ORC: Binary = Binary { name: "an ORC file", kinds: &[FileKind::Orc], open };

/// Rows that are decoded at a time.
const BATCH: usize = 32_768;

fn open(file: &FileState, _: &Reservation<'_>) -> Result<Opened, Diagnostic> {
    let handle = File::open(&file.path).map_err(|e| io_diagnostic("read", &file.path, &e))?;
    let builder = ArrowReaderBuilder::try_new(handle);
    let builder = builder.map_err(|e| damaged(&file.path, ORC.name, &e.to_string()))?;
    let builder = builder.with_batch_size(BATCH).with_timestamp_precision(TimestampPrecision::Nanosecond);
    let schema = builder.schema();
    Ok(Opened { schema, batches: Box::new(builder.build()) })
}
