//! The last nodes of a fragment on the host, over the few rows that a device left. The candidates of a top-k are
//! sorted, limited and projected. DataFusion's own operators for that take a third of a millisecond for ten rows.

use std::any::Any;

use arrow::array::{RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::take_record_batch;
use arrow::row::{RowConverter, SortField};
use datafusion::error::Result;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;

use super::classify::is_transparent;
use super::fragment::FragmentNode;

/// Rows up to which sorting all of them costs less than what DataFusion does first.
const MAX_ROWS: usize = 1 << 12;

/// Runs the chain, the topmost node first, over all rows of its input. `None` if the rows are many or a node is not
/// known here. The sort is stable.
pub fn finish(chain: &[FragmentNode], rows: &RecordBatch) -> Result<Option<RecordBatch>> {
    if rows.num_rows() > MAX_ROWS {
        return Ok(None);
    }
    let mut rows = rows.clone();
    for link in chain.iter().rev() {
        let any: &dyn Any = link.node.as_ref();
        rows = if let Some(sort) = any.downcast_ref::<SortExec>() {
            sorted(sort, &rows)?
        } else if let Some(projection) = any.downcast_ref::<ProjectionExec>() {
            let arrays = projection.expr().iter().map(|item| item.expr.evaluate(&rows)?.into_array(rows.num_rows()));
            let arrays = arrays.collect::<Result<Vec<_>>>()?;
            let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
            RecordBatch::try_new_with_options(link.node.schema(), arrays, &options)?
        } else if let Some(limit) = any.downcast_ref::<GlobalLimitExec>() {
            let skip = limit.skip().min(rows.num_rows());
            rows.slice(skip, limit.fetch().unwrap_or(usize::MAX).min(rows.num_rows() - skip))
        } else if is_transparent(&link.node) && link.node.fetch().is_none() {
            rows
        } else {
            return Ok(None);
        };
    }
    Ok(Some(rows))
}

fn sorted(sort: &SortExec, rows: &RecordBatch) -> Result<RecordBatch> {
    let (mut fields, mut keys) = (Vec::new(), Vec::new());
    for key in sort.expr() {
        let values = key.expr.evaluate(rows)?.into_array(rows.num_rows())?;
        fields.push(SortField::new_with_options(values.data_type().clone(), key.options));
        keys.push(values);
    }
    let keys = RowConverter::new(fields)?.convert_columns(&keys)?;
    let mut order: Vec<u32> = (0..rows.num_rows() as u32).collect();
    order.sort_by(|a, b| keys.row(*a as usize).cmp(&keys.row(*b as usize)));
    order.truncate(sort.fetch().unwrap_or(usize::MAX));
    Ok(take_record_batch(rows, &UInt32Array::from(order))?)
}
