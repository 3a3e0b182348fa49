//! Device columns of a table, cached as the extension of the table.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};

use arrow::datatypes::SchemaRef;
use onrush_expr::error::internal;
use onrush_frame::{ComingBatches, Table};
use onrush_ops::residency::ColumnChunks;
use onrush_ops::{DeviceTable, DeviceType};
use parking_lot::Mutex;

use super::accelerator::Accelerator;
use super::diagnostics::diagnostic;
use super::download::download;

/// The extension of a table.
struct TableColumns {
    /// The chunks of each column, made when they are first read. Every plan over the table finds its columns on the
    /// device without a walk over all batches.
    chunks: Vec<OnceLock<ColumnChunks>>,
    /// The rows, as long as they are on their way to the host. After that the columns are found by their chunks.
    coming: Mutex<Option<DeviceTable>>,
}

impl TableColumns {
    fn new(columns: usize, coming: Option<DeviceTable>) -> TableColumns {
        TableColumns { chunks: (0..columns).map(|_| OnceLock::new()).collect(), coming: Mutex::new(coming) }
    }

    fn of(table: &Table) -> Option<&TableColumns> {
        table.extension(|| TableColumns::new(table.schema().fields().len(), None))
    }
}

/// A column of a table. Waits for rows that are on their way to the host.
pub fn chunks_of(table: &Table, column: usize) -> ColumnChunks {
    let chunks = || ColumnChunks::of(table.batches(), column);
    match TableColumns::of(table).and_then(|known| known.chunks.get(column)) {
        Some(known) => known.get_or_init(chunks).clone(),
        None => chunks(),
    }
}

/// The rows of a table that are on the device and still on their way to the host.
pub fn coming(table: &Table) -> Option<DeviceTable> {
    if table.is_there() { None } else { TableColumns::of(table)?.coming.lock().clone() }
}

/// Whether a column of such a table has its strings as bytes.
pub fn coming_as_bytes(table: &Table, column: usize) -> Option<bool> {
    coming(table).map(|table| table.columns[column].kind == DeviceType::String)
}

/// About what the rows of a table take in the host's memory. A string is a view of 16 bytes, with its bytes elsewhere.
pub fn host_bytes(schema: &SchemaRef, table: &DeviceTable) -> u64 {
    let columns = table.columns.iter().zip(schema.fields());
    let bytes = columns.map(|(column, field)| match field.data_type().primitive_width() {
        Some(width) => table.rows * width as u64,
        None => table.rows * 16 + column.bytes(),
    });
    bytes.sum()
}

/// A table whose rows are on the device. They come to the host on another thread.
pub fn keep(accelerator: Arc<Accelerator>, schema: &SchemaRef, rows: DeviceTable) -> Table {
    let columns = Arc::new(TableColumns::new(schema.fields().len(), Some(rows.clone())));
    let coming = Arc::new(ComingBatches::new(host_bytes(schema, &rows)));
    let extension = Arc::<TableColumns>::clone(&columns);
    let table = Table::coming(Arc::clone(schema), rows.rows as usize, &coming, extension);
    let (schema, batches) = (Arc::clone(schema), Arc::clone(&coming));
    let copy = move || {
        let copied = std::panic::catch_unwind(AssertUnwindSafe(|| download(&accelerator.gpu, &schema, &rows, true)));
        batches.finish(match copied {
            Ok(copied) => copied.map_err(diagnostic),
            Err(_) => Err(internal("the copy of a result to the host panicked")),
        });
        *columns.coming.lock() = None;
    };
    if let Err(error) = std::thread::Builder::new().name("rows to the host".to_string()).spawn(copy) {
        coming.finish(Err(internal(&format!("no thread could be started: {error}"))));
    }
    table
}
