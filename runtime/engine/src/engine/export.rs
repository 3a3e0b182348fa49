//! Rows that another process maps: frames in sealed shared memory, and columns in memory of the device.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use arrow::datatypes::DataType as Arrow;
use onrush_frame::table::own_bytes;
use onrush_frame::{Table, TaskHandle, ipc};
use onrush_gpu::{GPU_LOST, diagnostic};
use onrush_logical::frame_table::Frame;
use onrush_logical::ops::Inputs;
use onrush_ops::residency::ColumnChunks;
use onrush_wire::worker::LENT;
use onrush_wire::{Class, DataType, Diagnostic, FrameId};

use super::Engine;

/// A copy of a column's values, in memory of the device that its descriptor keeps.
#[derive(Debug)]
pub struct ExportedColumn {
    pub rows: u64,
    pub bytes: u64,
    pub dtype: DataType,
    /// The device's name, and whether the processor plays it.
    pub device: String,
    pub emulated: bool,
    pub memory: OwnedFd,
}

impl Engine {
    /// The named columns (all if none is named) as a table that has a copy in sealed memory. Held rows
    /// are replaced by the copy: they are in memory once, and the next call returns at once.
    ///
    /// # Errors
    /// Errors of the frame's plan, and if there is no memory for the copy.
    pub fn shared(&self, id: FrameId, columns: &[String], task: &TaskHandle) -> Result<Arc<Table>, Diagnostic> {
        let frame = self.frame(id)?;
        let table = self.table(id, columns, task)?;
        if table.sealed().is_some() {
            return Ok(table);
        }
        task.stage("copy to shared memory");
        // As long as the copy is made.
        let mut memory = self.account("shared memory");
        memory.grow(copy_bytes(&table))?;
        let sealed = ipc::seal(&table).map(Arc::new).map_err(|error| {
            let message = format!("the rows do not fit into shared memory: {error}");
            Diagnostic::error(Class::Resources, "shared-memory", message).help("take fewer rows or columns")
        })?;
        drop(memory);
        if columns.is_empty() && !table.is_on_disk() {
            self.hold_sealed(&frame, &table, &sealed, task);
        }
        Ok(sealed)
    }

    /// Puts a table's copy in its place. With a device the table stays, because the device finds columns by its arrays.
    fn hold_sealed(&self, frame: &Frame, table: &Arc<Table>, sealed: &Arc<Table>, task: &TaskHandle) {
        let is_kept = |of: &Arc<Table>| self.results.get(frame.key).is_some_and(|kept| Arc::ptr_eq(&kept, of));
        if self.accelerator.is_some() {
            table.share_sealed(sealed);
            if is_kept(table) {
                // Counts its bytes again.
                self.results.put(frame.key, Arc::clone(table));
            }
            return self.make_room(task);
        }
        let known = self.known.get(frame.key);
        let residents = frame.resident.iter().chain(&known);
        let residents: Vec<_> = residents.filter(|resident| Arc::ptr_eq(&resident.look(), table)).collect();
        for resident in &residents {
            resident.put(Arc::clone(sealed));
        }
        if is_kept(table) {
            self.results.put(frame.key, Arc::clone(sealed));
        }
        if residents.is_empty() && !is_kept(sealed) {
            return;
        }
        // They would keep the old rows in memory.
        self.results.forget(table);
        self.each_holder(|holder| holder.forget_table(table));
        self.plans.clear();
        self.make_room(task);
    }

    /// The only column of a table for another process that has the same device. A column that is on the device is not
    /// copied there again. `None` where the rows have to go through the host: there is no device; values are null or no
    /// numbers; they are few; the device has no memory for the copy, or its driver gives out no descriptors.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn export_column(&self, table: &Table, task: &TaskHandle) -> Result<Option<ExportedColumn>, Diagnostic> {
        let (Some(accelerator), [field]) = (&self.accelerator, &table.schema().fields()[..]) else { return Ok(None) };
        let bytes = field.data_type().primitive_width().unwrap_or(0) as u64 * table.rows() as u64;
        let parts = ColumnChunks::of(table.batches(), 0);
        if bytes < LENT || parts.arrays().iter().any(|array| array.null_count() > 0) {
            return Ok(None);
        }
        task.stage("copy on the device");
        match accelerator.gpu.export_ipc(&parts) {
            Ok(memory) => {
                let device = accelerator.gpu.context().device();
                Ok(Some(ExportedColumn {
                    rows: table.rows() as u64,
                    bytes,
                    dtype: onrush_frame::dtype_to_wire(field.data_type()),
                    device: device.properties().name.clone(),
                    emulated: device.is_emulated(),
                    memory,
                }))
            }
            Err(error) => {
                let error = diagnostic(error);
                if error.code == GPU_LOST { Err(error) } else { Ok(None) }
            }
        }
    }
}

/// Bytes that a copy in shared memory takes while it is made. They are the file, and its batch before it is written;
/// also all batches as one, and plain strings.
fn copy_bytes(table: &Table) -> u64 {
    let columns = || table.batches().iter().flat_map(|batch| batch.columns());
    let all: u64 = columns().map(own_bytes).sum();
    let strings: u64 = columns().filter(|column| column.data_type() == &Arrow::Utf8View).map(own_bytes).sum();
    2 * all + strings + if table.batches().len() > 1 { all } else { 0 }
}
