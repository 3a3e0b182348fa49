//! Exports columns to other processes as copies in shareable memory, which they map by a file descriptor.

use std::os::fd::OwnedFd;

use arrow::datatypes::DataType;

use crate::column::kind_of;
use crate::column::residency::ColumnChunks;
use crate::exec::executor::Executor;
use crate::ir::expr::DeviceType;
use crate::{Error, Result};

/// The device type of a number in C++. `None` for values with another layout, and for dates and times.
fn plain(dtype: &DataType) -> Option<DeviceType> {
    let is_number = dtype.is_integer() || dtype.is_floating();
    kind_of(dtype).filter(|_| is_number)
}

impl Executor {
    /// Copies a numeric column, one value after another, and exports the copy as a descriptor. The copy is complete
    /// when the function returns. The process that has the descriptor keeps the memory: this process has no mapping of
    /// it left, and counts it no longer. The value of a null is arbitrary.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for other types and for no rows. The error of the driver if it exports no
    /// descriptors, or has no memory for the copy.
    pub fn export_ipc(&self, parts: &ColumnChunks) -> Result<OwnedFd> {
        let first = parts.arrays().first().map(|array| array.data_type());
        let unsupported = || Error::Unsupported("export of a column that is not numeric".to_string());
        let stored = first.and_then(plain).ok_or_else(unsupported)?;
        let rows = parts.arrays().iter().map(|array| array.len() as u64).sum();
        let bytes = rows * stored.bytes();
        let attempt = || {
            let lane = self.lane(rows)?;
            let context = &lane.context;
            // A driver that refuses does so before anything is copied for nothing.
            let (copy, descriptor) = context.device().export(&context.owner, bytes, &context.stream)?;
            let column = self.residency.column(&lane, parts, false)?;
            if column.stored() != stored {
                return Err(unsupported());
            }
            copy.copy_from(0, &column.values, 0, bytes, &context.stream)?;
            // Before others read the copy, and before the column is let go of.
            context.stream.synchronize()?;
            Ok(descriptor)
        };
        self.with_eviction(attempt)
    }
}
