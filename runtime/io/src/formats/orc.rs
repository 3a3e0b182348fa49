//! ORC files. Timestamps have nanoseconds, as those of pandas.

use std::fs::File;

use onrush_wire::Diagnostic;
use onrush_wire::plan::FileKind;
use orc_rust::ArrowReaderBuilder;
use orc_rust::projection::ProjectionMask;
use orc_rust::schema::TimestampPrecision;

use crate::file::{FileState, io_diagnostic};
use crate::formats::binary::{Binary, ColumnBatches, PARTS, damaged};
use crate::memory::Reservation;

pub(crate) const ORC: Binary = Binary { name: "an ORC file", kinds: &[FileKind::Orc], open };

/// Rows that are decoded at a time.
const BATCH: usize = 32_768;

fn open(file: &FileState, _: &Reservation<'_>) -> Result<Vec<ColumnBatches>, Diagnostic> {
    let builder = || {
        let handle = File::open(&file.path).map_err(|e| io_diagnostic("read", &file.path, &e))?;
        ArrowReaderBuilder::try_new(handle).map_err(|e| damaged(&file.path, ORC.name, &e.to_string()))
    };
    let whole = builder()?;
    let columns = whole.file_metadata().root_data_type().children();
    let columns: Vec<usize> = columns.iter().map(|column| column.data_type().column_index()).collect();
    let part = |columns: &[usize]| {
        let builder = builder()?;
        let mask = ProjectionMask::roots(builder.file_metadata().root_data_type(), columns.iter().copied());
        let builder = builder.with_projection(mask).with_batch_size(BATCH);
        let builder = builder.with_timestamp_precision(TimestampPrecision::Nanosecond);
        Ok::<_, Diagnostic>(ColumnBatches { schema: builder.schema(), batches: Box::new(builder.build()) })
    };
    if columns.is_empty() {
        return Ok(vec![part(&[])?]);
    }
    columns.chunks(columns.len().div_ceil(PARTS)).map(part).collect()
}
