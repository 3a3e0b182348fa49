//! Window functions over sorted rows, a column at a time.
//!
//! DataFusion's operator for windows calls accumulators for each row. Here running values are one fold over the rows,
//! and frames of a fixed width are folds of two parts without subtraction (van Herk 1992; Gil and Werman 1993), so that
//! infinities leave no trace in later rows. Ranks, `lag` and `lead` are DataFusion's own, over whole partitions.

pub(crate) mod folds;

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::{SortColumn, concat, concat_batches, take};
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::utils::evaluate_partition_ranges;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{WindowFrame, WindowFrameBound, WindowFrameUnits};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::window::{
    PlainAggregateWindowExpr, SlidingAggregateWindowExpr, StandardWindowExpr, WindowExpr,
};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, InputOrderMode, PlanProperties,
};
use datafusion::scalar::ScalarValue;
use futures::{StreamExt, TryStreamExt, stream};

use crate::exchange::rows_size;
use crate::gather::counted;
use crate::nodes::{node_parts, with_inputs};
use crate::streams::StreamsExec;
use folds::Frames;

/// Rows of a batch of the result.
const BATCH_ROWS: usize = 16_384;

/// Windows over one order, of which each row has its values after its columns.
#[derive(Debug)]
pub struct ColumnarWindowExec {
    /// DataFusion's nodes from the lowest on, for rows that do not fit into memory.
    nodes: Vec<Arc<dyn ExecutionPlan>>,
    windows: Vec<Arc<dyn WindowExpr>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

fn windows(node: &Arc<dyn ExecutionPlan>) -> Option<&[Arc<dyn WindowExpr>]> {
    let any: &dyn Any = node.as_ref();
    if let Some(window) = any.downcast_ref::<BoundedWindowAggExec>() {
        return matches!(window.input_order_mode, InputOrderMode::Sorted).then(|| window.window_expr());
    }
    any.downcast_ref::<WindowAggExec>().map(WindowAggExec::window_expr)
}

impl ColumnarWindowExec {
    /// A node of windows in this form. `None` if a function or a frame has none.
    pub fn of(node: &Arc<dyn ExecutionPlan>) -> Option<ColumnarWindowExec> {
        let windows = windows(node)?;
        let input = node.children()[0].schema();
        if windows.is_empty() || !windows.iter().all(|window| has_form(window, &input)) {
            return None;
        }
        let any: &dyn Any = node.children()[0].as_ref();
        // Windows over windows: the rows are taken in once.
        let (mut nodes, mut all) = match any.downcast_ref::<ColumnarWindowExec>() {
            Some(below) => (below.nodes.clone(), below.windows.clone()),
            None => (Vec::new(), Vec::new()),
        };
        nodes.push(Arc::clone(node));
        all.extend_from_slice(windows);
        let (properties, metrics) = (Arc::clone(node.properties()), ExecutionPlanMetricsSet::new());
        Some(ColumnarWindowExec { nodes, windows: all, properties, metrics })
    }

    /// The windows, from the lowest node on.
    pub fn windows(&self) -> &[Arc<dyn WindowExpr>] {
        &self.windows
    }

    fn input(&self) -> &Arc<dyn ExecutionPlan> {
        self.nodes[0].children()[0]
    }
}

fn aggregate(window: &Arc<dyn WindowExpr>) -> Option<&AggregateFunctionExpr> {
    let any = window.as_any();
    let plain = || any.downcast_ref::<PlainAggregateWindowExpr>().map(PlainAggregateWindowExpr::get_aggregate_expr);
    let sliding =
        || any.downcast_ref::<SlidingAggregateWindowExpr>().map(SlidingAggregateWindowExpr::get_aggregate_expr);
    plain().or_else(sliding)
}

fn has_form(window: &Arc<dyn WindowExpr>, input: &SchemaRef) -> bool {
    let Some(call) = aggregate(window) else {
        // Functions of a frame are called for each row in either form.
        let Some(standard) = window.as_any().downcast_ref::<StandardWindowExpr>() else { return false };
        return standard
            .get_standard_func_expr()
            .create_evaluator()
            .is_ok_and(|function| !function.uses_window_frame());
    };
    let frame = window.get_window_frame();
    let by_rows = match frame.units {
        WindowFrameUnits::Rows => true,
        _ => is_unbounded(&frame.start_bound) && (is_current(&frame.end_bound) || is_unbounded(&frame.end_bound)),
    };
    let arguments = call.expressions();
    let [argument] = arguments.as_slice() else { return false };
    let Ok(dtype) = argument.data_type(input) else { return false };
    let width = bounds(frame).ok().and_then(|(from, to)| from.zip(to)).map(|(from, to)| to - from + 1);
    // The filter of a window is not public.
    let unfiltered = || format!("{window:?}").ends_with("filter: None }");
    by_rows && folds::has_fold(call.fun(), &dtype, width) && !call.is_distinct() && !call.is_reversed() && unfiltered()
}

fn is_unbounded(bound: &WindowFrameBound) -> bool {
    match bound {
        WindowFrameBound::Preceding(rows) | WindowFrameBound::Following(rows) => rows.is_null(),
        WindowFrameBound::CurrentRow => false,
    }
}

fn is_current(bound: &WindowFrameBound) -> bool {
    matches!(bound, WindowFrameBound::CurrentRow)
}

impl DisplayAs for ColumnarWindowExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.windows.iter().map(|window| window.name()).collect();
        write!(f, "ColumnarWindowExec: {}", names.join(", "))
    }
}

impl ExecutionPlan for ColumnarWindowExec {
    node_parts! {
        ColumnarWindowExec of self,
        properties: &self.properties,
        children: vec![self.input()],
        expressions: |visit| self.nodes.iter().try_fold(TreeNodeRecursion::Continue, |so_far, node| {
            so_far.visit_sibling(|| node.apply_expressions(visit))
        }),
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn with_new_children(self: Arc<Self>, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let mut nodes: Vec<Arc<dyn ExecutionPlan>> = Vec::new();
        for node in &self.nodes {
            let below = nodes.last().map_or_else(|| inputs.clone(), |below| vec![Arc::clone(below)]);
            nodes.push(with_inputs(node, below)?);
        }
        let windows = self.windows.clone();
        let properties =
            nodes.last().map_or_else(|| Arc::clone(&self.properties), |node| Arc::clone(node.properties()));
        Ok(Arc::new(ColumnarWindowExec { nodes, windows, properties, metrics: ExecutionPlanMetricsSet::new() }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.input().execute(partition, Arc::clone(&context))?;
        let (nodes, windows, schema) = (self.nodes.clone(), self.windows.clone(), self.schema());
        let result = stream::once(run(nodes, windows, rows, context)).try_flatten();
        Ok(counted(Box::pin(RecordBatchStreamAdapter::new(schema, result)), &self.metrics, partition))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

async fn run(
    nodes: Vec<Arc<dyn ExecutionPlan>>,
    windows: Vec<Arc<dyn WindowExpr>>,
    mut rows: SendableRecordBatchStream,
    context: Arc<TaskContext>,
) -> Result<SendableRecordBatchStream> {
    let input = Arc::clone(nodes[0].children()[0]);
    let reservation = MemoryConsumer::new("ColumnWindows").with_can_spill(true).register(context.memory_pool());
    let mut batches: Vec<RecordBatch> = Vec::new();
    while let Some(batch) = rows.try_next().await? {
        // A copy of the rows, and the values of the windows.
        let bytes = rows_size(&batch) + 16 * windows.len() * batch.num_rows();
        batches.push(batch);
        if reservation.try_grow(bytes).is_err() {
            // DataFusion's node holds a few rows at a time, where the frames let it.
            reservation.free();
            let all = stream::iter(batches.into_iter().map(Ok)).chain(rows);
            let all = RecordBatchStreamAdapter::new(input.schema(), all);
            let slots = StreamsExec::ordered(input.equivalence_properties().clone(), vec![Box::pin(all)]);
            let mut plan: Arc<dyn ExecutionPlan> = Arc::new(slots);
            for node in &nodes {
                plan = with_inputs(node, vec![plan])?;
            }
            return plan.execute(0, context);
        }
    }
    let mut whole = concat_batches(&input.schema(), &batches)?;
    drop(batches);
    let rows = whole.num_rows();
    let mut windows = windows.into_iter();
    for node in &nodes {
        let schema = node.schema();
        let count = schema.fields().len() - whole.num_columns();
        let values = windows.by_ref().take(count).map(|window| values(&window, &whole)).collect::<Result<Vec<_>>>()?;
        let columns = whole.columns().iter().cloned().chain(values).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        whole = RecordBatch::try_new_with_options(schema, columns, &options)?;
    }
    let schema = whole.schema();
    let pieces = (0..rows).step_by(BATCH_ROWS).map(move |start| {
        // Held until the last piece is taken.
        let _ = &reservation;
        Ok(whole.slice(start, BATCH_ROWS.min(rows - start)))
    });
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream::iter(pieces))))
}

/// Ranges of rows with equal values of some sorted columns; all rows if there is none.
fn ranges(columns: Vec<ArrayRef>, rows: usize) -> Result<Vec<Range<usize>>> {
    if columns.is_empty() {
        return Ok(std::iter::once(0..rows).collect());
    }
    let columns: Vec<SortColumn> = columns.into_iter().map(|values| SortColumn { values, options: None }).collect();
    evaluate_partition_ranges(rows, &columns)
}

/// The values of a window for all rows.
fn values(window: &Arc<dyn WindowExpr>, batch: &RecordBatch) -> Result<ArrayRef> {
    let rows = batch.num_rows();
    let evaluated = |expr: &Arc<dyn PhysicalExpr>| expr.evaluate(batch)?.into_array(rows);
    let keys = window.partition_by().iter().map(evaluated).collect::<Result<Vec<_>>>()?;
    let partitions = match rows {
        0 => Vec::new(),
        rows => ranges(keys.clone(), rows)?,
    };
    let Some(call) = aggregate(window) else {
        return match partitions.as_slice() {
            [_] => window.evaluate(batch),
            // The type of no rows is known to the function alone.
            [] => window.evaluate(batch),
            several => {
                let parts: Vec<ArrayRef> = several
                    .iter()
                    .map(|part| window.evaluate(&batch.slice(part.start, part.len())))
                    .collect::<Result<_>>()?;
                Ok(concat(&parts.iter().map(AsRef::as_ref).collect::<Vec<&dyn Array>>())?)
            }
        };
    };
    let argument = evaluated(&call.expressions()[0])?;
    let frame = window.get_window_frame();
    let peers = match frame.units {
        WindowFrameUnits::Rows => None,
        _ if is_unbounded(&frame.end_bound) => None,
        // Rows with equal values of the order are in one another's frames.
        _ => {
            let order = window.order_by().iter().map(|key| evaluated(&key.expr));
            let columns = keys.into_iter().map(Ok).chain(order).collect::<Result<Vec<_>>>()?;
            Some(if rows == 0 { Vec::new() } else { ranges(columns, rows)? })
        }
    };
    let frames = Frames::new(partitions, bounds(frame)?, peers.as_deref(), rows);
    let value = folds::fold(call.fun(), call.ignore_nulls(), &argument, &frames)?;
    let field = call.field();
    match value.data_type() == field.data_type() {
        true => Ok(value),
        false => Ok(arrow::compute::cast(&value, field.data_type())?),
    }
}

/// The first and the last row of a frame, counted from the present one. `None` is the end of the partition.
fn bounds(frame: &WindowFrame) -> Result<(Option<i64>, Option<i64>)> {
    if !matches!(frame.units, WindowFrameUnits::Rows) {
        return Ok((None, if is_unbounded(&frame.end_bound) { None } else { Some(0) }));
    }
    let bound = |bound: &WindowFrameBound| {
        let (rows, sign) = match bound {
            WindowFrameBound::CurrentRow => return Ok(Some(0)),
            WindowFrameBound::Preceding(rows) => (rows, -1),
            WindowFrameBound::Following(rows) => (rows, 1),
        };
        match rows {
            rows if rows.is_null() => Ok(None),
            ScalarValue::UInt64(Some(rows)) => {
                Ok(Some(sign * i64::try_from(*rows).unwrap_or(i64::MAX / 4).min(i64::MAX / 4)))
            }
            other => Err(DataFusionError::Internal(format!("a frame ends after {other} rows"))),
        }
    };
    Ok((bound(&frame.start_bound)?, bound(&frame.end_bound)?))
}

/// Values of rows, by their numbers; `None` is null.
fn taken(values: &ArrayRef, rows: Vec<Option<u32>>) -> Result<ArrayRef> {
    Ok(take(values, &arrow::array::UInt32Array::from(rows), None)?)
}

fn is_float(dtype: &DataType) -> bool {
    matches!(dtype, DataType::Float64)
}
