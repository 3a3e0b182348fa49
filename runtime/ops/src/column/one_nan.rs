//! One NaN in device memory: every NaN of a float column gets the bits of [`f64::NAN`], in place. Arithmetic on a
//! device gives NaNs of either sign. A pass over a column reads memory at the device's rate, and the host need not look
//! at the values.

use onrush_device::Arguments;
use onrush_kernels::{Program, Scalar, headers};

use crate::Result;
use crate::column::DeviceTable;
use crate::ir::expr::DeviceType;
use crate::launch::launch;
use crate::launch::stream_context::StreamContext;

/// Rows from which a launch takes less time than the host's look at the values.
const MIN_ROWS: u64 = 1 << 15;

impl DeviceTable {
    /// Gives the float columns of a large table the one NaN. True for each column in which the host need not look for
    /// others: a float column of a large table, and a column without floats.
    ///
    /// No other stream may read the table. Columns of inputs may be among the columns: they have the one NaN already,
    /// and are not written.
    ///
    /// # Errors
    /// Those of a launch.
    pub fn unify_nans(&self, lane: &StreamContext) -> Result<Vec<bool>> {
        let mut unified = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            let (name, bits, infinity, nan) = match column.stored {
                DeviceType::Number(Scalar::F64) => {
                    ("one_nan_f64", "u64", "0x7ff0000000000000ull", "0x7ff8000000000000ull")
                }
                DeviceType::Number(Scalar::F32) => ("one_nan_f32", "u32", "0x7f800000u", "0x7fc00000u"),
                // Lists and structs may have floats inside.
                DeviceType::ListView => {
                    unified.push(false);
                    continue;
                }
                _ => {
                    unified.push(true);
                    continue;
                }
            };
            if column.rows < MIN_ROWS {
                unified.push(false);
                continue;
            }
            let body = format!(
                "extern \"C\" __global__ void __launch_bounds__(256) {name}({bits}* values, u64 rows) {{\n  \
                 for (u64 i = thread_in_grid(); i < rows; i += threads_in_grid()) {{\n    const {bits} value = values[i];\n    \
                 if ((value << 1) > ({infinity} << 1) && value != {nan}) values[i] = {nan};\n  }}\n}}\n"
            );
            let program = Program::new(&[&headers::PRELUDE], body, [name]);
            let function = lane.context.library.function(&program, name)?;
            let arguments = Arguments::new().buffer(&column.values).value(column.rows);
            launch(&lane.context, &function, arguments, column.rows, 256, 0)?;
            unified.push(true);
        }
        Ok(unified)
    }
}
