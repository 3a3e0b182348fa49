//! Columns that go from the engine's device to another process, past the host.

use std::os::fd::OwnedFd;

use onrush_frame::{Table, TaskHandle};
use onrush_gpu::{GPU_LOST, diagnostic};
use onrush_ops::residency::ColumnChunks;
use onrush_wire::worker::LENT;
use onrush_wire::{DataType, Diagnostic};

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
