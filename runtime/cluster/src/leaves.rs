//! Leaves of plans: rows in the session's memory become parts of the plan, cut into one piece for each task. Calls of
//! functions are cut in the same way.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::source::{DataSource, DataSourceExec};
use datafusion::error::Result;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion_distributed::{
    DesiredTaskCountEvent, DesiredTaskCountEventResponse, DistributedLeafExec, ScaleUpLeafNodeEvent,
    ScaleUpLeafNodeEventResponse,
};
use onrush_calls::CallExec;
use onrush_expr::error::external;
use onrush_logical::mem_table::HeldRows;
use onrush_wire::limits::size;
use onrush_wire::{Class, Diagnostic};

/// Bytes of the session's rows that may travel with a plan.
const MOST: usize = 64 << 20;
/// Bytes of rows for which another task is worth its while.
const BYTES_OF_TASK: usize = 4 << 20;

/// The plan with the rows of the session in a form that can be written.
///
/// # Errors
/// More rows than may travel with each query.
pub(crate) fn written(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let mut total = 0;
    let plan = plan.transform_up(|node| {
        let Some(source) = node.downcast_ref::<DataSourceExec>() else { return Ok(Transformed::no(node)) };
        if let Some(memory) = source.data_source().downcast_ref::<MemorySourceConfig>() {
            total += bytes(memory);
            return Ok(Transformed::no(node));
        }
        let Some(held) = source.data_source().downcast_ref::<HeldRows>() else { return Ok(Transformed::no(node)) };
        let columns = held.columns();
        let batches = held.table().batches().iter().map(|batch| batch.project(&columns));
        let batches = batches.collect::<std::result::Result<Vec<_>, _>>()?;
        let schema = Arc::new(held.table().schema().project(&columns)?);
        let memory = MemorySourceConfig::try_new(&[batches], schema, None)?.with_limit(held.fetch());
        total += bytes(&memory);
        Ok(Transformed::yes(DataSourceExec::from_data_source(memory) as Arc<dyn ExecutionPlan>))
    })?;
    if total > MOST {
        let message = format!(
            "this query would send {} of the session's rows to the workers, and at most {} travel with a query",
            size(total as u64),
            size(MOST as u64)
        );
        return Err(external(Diagnostic::error(Class::Resources, "cluster-rows", message).help(
            "write the frame to Parquet in a folder that all machines share, and read it with the cluster's \
             `read_parquet`",
        )));
    }
    Ok(plan.data)
}

fn bytes(memory: &MemorySourceConfig) -> usize {
    let batches = || memory.partitions().iter().flatten();
    let used = |batch: &RecordBatch| -> usize {
        batch.columns().iter().map(|column| column.to_data().get_slice_memory_size().unwrap_or(0)).sum()
    };
    batches().map(used).sum()
}

fn memory_of(plan: &Arc<dyn ExecutionPlan>) -> Option<&MemorySourceConfig> {
    plan.downcast_ref::<DataSourceExec>()?.data_source().downcast_ref()
}

/// How many tasks read a leaf. One reads a leaf of one partition: the steps above it take all of its rows together, and
/// nothing in the plan says so. DataFusion puts an exchange above the partitions of others.
pub(crate) fn tasks(event: DesiredTaskCountEvent<'_>) -> Option<Result<DesiredTaskCountEventResponse>> {
    if let Some(calls) = event.plan.downcast_ref::<CallExec>() {
        // A single task would run in the session.
        return Some(Ok(DesiredTaskCountEventResponse::desired(calls.calls().max(2))));
    }
    if event.plan.children().is_empty() && event.plan.output_partitioning().partition_count() == 1 {
        return Some(Ok(DesiredTaskCountEventResponse::maximum(1)));
    }
    let memory = memory_of(event.plan)?;
    // A limit counts the rows of all tasks.
    if memory.fetch().is_some() {
        return Some(Ok(DesiredTaskCountEventResponse::maximum(1)));
    }
    Some(Ok(DesiredTaskCountEventResponse::desired(bytes(memory).div_ceil(BYTES_OF_TASK).max(1))))
}

/// A piece of the rows for each task.
pub(crate) fn pieces(event: ScaleUpLeafNodeEvent<'_>) -> Option<Result<ScaleUpLeafNodeEventResponse>> {
    let count = event.task_count;
    if let Some(calls) = event.plan.downcast_ref::<CallExec>() {
        let share = |number| Ok(Arc::new(calls.share(number, count)?) as Arc<dyn ExecutionPlan>);
        return Some(leaf(event.plan, (0..count).map(share).collect()));
    }
    let memory = memory_of(event.plan)?;
    let piece = |number: usize| -> Result<Arc<dyn ExecutionPlan>> {
        let parts: Vec<Vec<RecordBatch>> =
            memory.partitions().iter().map(|batches| cut(batches, number, count)).collect();
        let schema = memory.original_schema();
        let piece = MemorySourceConfig::try_new(&parts, schema, memory.projection().clone())?;
        Ok(DataSourceExec::from_data_source(piece.with_limit(memory.fetch())))
    };
    Some(leaf(event.plan, (0..count).map(piece).collect()))
}

/// The leaf of which each task has a piece.
fn leaf(
    whole: &Arc<dyn ExecutionPlan>,
    pieces: Result<Vec<Arc<dyn ExecutionPlan>>>,
) -> Result<ScaleUpLeafNodeEventResponse> {
    let leaf = pieces.and_then(|pieces| DistributedLeafExec::try_new(Arc::clone(whole), pieces))?;
    Ok(ScaleUpLeafNodeEventResponse::new(Arc::new(leaf)))
}

/// The rows of one of `count` pieces of about the same size, in their order.
fn cut(batches: &[RecordBatch], number: usize, count: usize) -> Vec<RecordBatch> {
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let (start, end) = (rows * number / count, rows * (number + 1) / count);
    let (mut at, mut piece) = (0, Vec::new());
    for batch in batches {
        let (from, to) = (start.max(at), end.min(at + batch.num_rows()));
        if from < to {
            piece.push(batch.slice(from - at, to - from));
        }
        at += batch.num_rows();
    }
    piece
}
