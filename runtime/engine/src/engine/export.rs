//! Rows that another process maps: frames in sealed shared memory, and columns in memory of the device.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use onrush_frame::{Table, TaskHandle, ipc};
use onrush_gpu::{GPU_LOST, diagnostic};
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
        let table = self.table(id, columns, task)?;
        if table.sealed().is_some() {
            return Ok(table);
        }
        task.stage("copy to shared memory");
        // As long as both are there.
        let mut memory = self.account("shared memory");
        memory.grow(table.own_bytes())?;
        let sealed = ipc::seal(&table).map(Arc::new).map_err(|error| {
            let message = format!("the rows do not fit into shared memory: {error}");
            Diagnostic::error(Class::Resources, "shared-memory", message).help("take fewer rows or columns")
        })?;
        if columns.is_empty() && !table.is_on_disk() {
            let frame = self.frame(id)?;
            self.hold_sealed(frame.key, &table, &sealed);
        }
        Ok(sealed)
    }

    /// Puts a table's copy in its place. With a device the table stays, because the device finds columns by its arrays.
    fn hold_sealed(&self, key: u128, table: &Arc<Table>, sealed: &Arc<Table>) {
        if self.accelerator.is_some() {
            table.share_sealed(sealed);
            return;
        }
        if let Some(resident) = self.known.get(key).filter(|resident| Arc::ptr_eq(&resident.look(), table)) {
            resident.put(Arc::clone(sealed));
        } else if self.results.get(key).is_some_and(|kept| Arc::ptr_eq(&kept, table)) {
            self.results.put(key, Arc::clone(sealed));
        } else {
            return;
        }
        // They would keep the old rows in memory.
        self.results.forget(table);
        self.each_holder(|holder| holder.forget_table(table));
        self.plans.clear();
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
