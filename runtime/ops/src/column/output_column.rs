//! Output buffers that a kernel writes a column to.

use onrush_device::Buffer;
use onrush_kernels::Context;

use crate::Result;
use crate::ir::expr::DeviceType;

/// The buffers that a column is written to: values (lengths of strings that are stored as bytes) and validity. If
/// `packed` is set, booleans and validity take a bit for each row, else a byte.
pub struct OutputColumn {
    pub values: Buffer,
    pub valid: Option<Buffer>,
    pub packed: bool,
}

impl OutputColumn {
    pub fn new(context: &Context, kind: DeviceType, nullable: bool, rows: u64, packed: bool) -> Result<OutputColumn> {
        let bits = |bytes: u64| if packed { rows.div_ceil(32) * 4 } else { bytes };
        let values = match kind {
            DeviceType::Bool => bits(rows),
            // Its length, and one more behind the last.
            DeviceType::String => 4 * (rows + 1),
            _ => rows * kind.bytes(),
        };
        Ok(OutputColumn {
            values: context.allocate(values)?,
            valid: if nullable { Some(context.allocate(bits(rows))?) } else { None },
            packed,
        })
    }
}
