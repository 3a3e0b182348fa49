//! The way of a result from the device to the host.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use onrush_frame::nan::canonical;
use onrush_ops::residency::ColumnChunks;
use onrush_ops::{DeviceTable, Executor};

/// Copies a result to the host. With `keep` the columns stay cached on the device, for later readers of the same rows.
pub fn download(
    gpu: &Executor,
    schema: &SchemaRef,
    result: &DeviceTable,
    keep: bool,
) -> onrush_ops::Result<Vec<RecordBatch>> {
    let lane = gpu.lane(result.rows)?;
    let (mut result, mut keep) = (result.clone(), keep);
    for (column, field) in result.columns.iter_mut().zip(schema.fields()) {
        match gpu.compacted(&lane, field.data_type(), column) {
            Ok(settled) => *column = settled,
            // The host finds the elements among all of them.
            Err(error) if error.is_memory() => keep = false,
            Err(error) => return Err(error),
        }
    }
    // A device, and above all an emulated one, makes NaNs of either sign. The host looks at small results and lists.
    let unified = result.unify_nans(&lane)?;
    let mut arrays = Vec::with_capacity(unified.len());
    for ((array, is_unified), column) in result.download(&lane, schema)?.into_iter().zip(unified).zip(&result.columns) {
        let one = if is_unified { Arc::clone(&array) } else { canonical(&array) };
        // A column that only the host has changed is not that of the array.
        if keep && Arc::ptr_eq(&one, &array) {
            gpu.residency.put(&ColumnChunks::new(vec![array]), column);
        }
        arrays.push(one);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(result.rows as usize));
    let batch = RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)?;
    Ok(if batch.num_rows() == 0 { Vec::new() } else { vec![batch] })
}
