//! Prefetch: a background thread uploads the columns of new frames.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Weak};

use arrow::datatypes::SchemaRef;
use onrush_frame::Table;
use onrush_ops::{DeviceType, kind_of};

use super::accelerator::{Accelerator, MIN_GPU_ROWS};
use super::table_columns::chunks_of;

/// Prefetched columns leave at least 1/`FREE_DIVISOR` of the device's memory free.
const FREE_DIVISOR: u64 = 2;
/// Bytes that a row takes at most, about.
const NUMBER_BYTES: u64 = 16;
const STRING_BYTES: u64 = 48;

impl Accelerator {
    /// Copies the columns of a table to the device on another thread, as long as half of its memory is free. The table
    /// may go away meanwhile. A table that was spilled stays on disk.
    pub fn prefetch(self: &Arc<Accelerator>, table: &Arc<Table>) {
        // On the emulated device a copy is of no use to anybody.
        let is_small = (table.rows() as u64) < MIN_GPU_ROWS;
        if self.gpu.context().device().is_emulated() || is_small || table.is_on_disk() {
            return;
        }
        let mut queue = self.prefetch.queue.lock();
        let sender = queue.get_or_insert_with(|| start(self));
        // The thread ends with the accelerator.
        drop(sender.send(Arc::downgrade(table)));
    }
}

fn start(accelerator: &Arc<Accelerator>) -> Sender<Weak<Table>> {
    let (sender, tables) = mpsc::channel::<Weak<Table>>();
    let weak = Arc::downgrade(accelerator);
    let work = move || {
        for table in tables {
            let schema = table.upgrade().map(|table| Arc::clone(table.schema()));
            for column in 0..schema.as_ref().map_or(0, |schema: &SchemaRef| schema.fields().len()) {
                let (Some(accelerator), Some(table)) = (weak.upgrade(), table.upgrade()) else { break };
                accelerator.prefetch_column(&table, column);
            }
        }
    };
    // Without this thread the first query copies them.
    drop(std::thread::Builder::new().name("prefetch".to_string()).spawn(work));
    sender
}

impl Accelerator {
    /// Copies a column to the device, if half of its memory stays free. After an error the query that needs the column
    /// tries again, and reports it.
    fn prefetch_column(&self, table: &Table, column: usize) {
        let gpu = &self.gpu;
        let dtype = table.schema().field(column).data_type();
        let Some(kind) = kind_of(dtype).filter(|kind| *kind != DeviceType::ListView) else { return };
        let bytes = table.rows() as u64 * if kind == DeviceType::DictIndex { STRING_BYTES } else { NUMBER_BYTES };
        let is_free = gpu.context().device().memory().is_ok_and(|memory| {
            let free = memory.driver_free + memory.pool.saturating_sub(memory.used);
            bytes + memory.driver_total / FREE_DIVISOR <= free
        });
        if !is_free {
            return;
        }
        let chunks = chunks_of(table, column);
        let as_bytes = kind == DeviceType::DictIndex && gpu.residency.has_many_strings(&chunks);
        let Ok(lane) = gpu.lane(u64::MAX) else { return };
        if let Ok(column) = gpu.residency.column(&lane, &chunks, as_bytes) {
            drop(column.range(&lane.context));
        }
    }
}
