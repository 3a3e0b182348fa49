//! `WHERE`, one condition after the other.
//!
//! A condition is evaluated on the selected rows alone, once the conditions before have left a quarter or fewer. It
//! then reads only its own columns. DataFusion's filter copies all columns for each `AND`. Comparisons that cannot fail
//! come first, the cheap ones before the others.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{BatchCoalescer, filter_record_batch, prep_null_mask_filter, take};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::internal_err;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{ColumnarValue, Operator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, Literal, NotExpr,
};
use datafusion::physical_expr::utils::{collect_columns, split_conjunction};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};
use futures::{StreamExt, stream};

use crate::nodes::{node_parts, with_inputs};

/// Rows of a batch of the result.
const BATCH_ROWS: usize = 8_192;
/// The part of the rows that are left from which on the next condition looks at these alone: one in so many.
const NARROW_DIVISOR: usize = 4;

/// The rows for which all conditions are true.
#[derive(Debug)]
pub struct ConjunctFilterExec {
    node: Arc<dyn ExecutionPlan>,
    conditions: Arc<[Condition]>,
    metrics: ExecutionPlanMetricsSet,
}

/// A condition over some columns of its input.
#[derive(Debug)]
struct Condition {
    expr: Arc<dyn PhysicalExpr>,
    columns: Vec<usize>,
    schema: SchemaRef,
}

impl ConjunctFilterExec {
    /// A filter in this form.
    ///
    /// # Errors
    /// If DataFusion does not take its own expressions.
    pub fn of(node: &Arc<dyn ExecutionPlan>) -> Result<Option<ConjunctFilterExec>> {
        let any: &dyn Any = node.as_ref();
        let Some(filter) = any.downcast_ref::<FilterExec>() else { return Ok(None) };
        let schema = filter.input().schema();
        let mut parts: Vec<&Arc<dyn PhysicalExpr>> = split_conjunction(filter.predicate());
        // Stable: conditions that may fail stay behind those that guard them.
        parts.sort_by_key(|part| cost(part, &schema).unwrap_or(u32::MAX));
        let conditions = parts.into_iter().map(|part| Condition::new(part, &schema)).collect::<Result<_>>()?;
        Ok(Some(ConjunctFilterExec { node: Arc::clone(node), conditions, metrics: ExecutionPlanMetricsSet::new() }))
    }

    /// DataFusion's filter, which this node stands for.
    pub fn node(&self) -> &Arc<dyn ExecutionPlan> {
        &self.node
    }

    fn filter(&self) -> Option<&FilterExec> {
        let any: &dyn Any = self.node.as_ref();
        any.downcast_ref::<FilterExec>()
    }
}

/// Estimated cost of a condition for a row. `None` if it may fail.
fn cost(expr: &Arc<dyn PhysicalExpr>, schema: &SchemaRef) -> Option<u32> {
    let any: &dyn Any = expr.as_ref();
    if any.is::<Literal>() {
        return Some(0);
    }
    if any.is::<Column>() {
        return Some(match expr.data_type(schema).ok()? {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => 10,
            DataType::Decimal128(..) | DataType::Decimal256(..) => 4,
            DataType::Boolean => 1,
            dtype => dtype.primitive_width().map_or(20, |bytes| 1 + bytes as u32 / 8),
        });
    }
    if let Some(binary) = any.downcast_ref::<BinaryExpr>() {
        use Operator::{And, Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq, Or};
        let safe =
            matches!(binary.op(), Eq | NotEq | Lt | LtEq | Gt | GtEq | And | Or | IsDistinctFrom | IsNotDistinctFrom);
        let both = cost(binary.left(), schema)? + cost(binary.right(), schema)?;
        return safe.then_some(both);
    }
    let one = |expr: &Arc<dyn PhysicalExpr>| cost(expr, schema);
    if let Some(not) = any.downcast_ref::<NotExpr>() {
        return one(not.arg());
    }
    if let Some(list) = any.downcast_ref::<InListExpr>() {
        return Some(2 * one(list.expr())? + list.list().iter().map(one).sum::<Option<u32>>()?);
    }
    let tested = any.downcast_ref::<IsNotNullExpr>().map(IsNotNullExpr::arg);
    let tested = tested.or_else(|| any.downcast_ref::<IsNullExpr>().map(IsNullExpr::arg));
    one(tested?).map(|_| 1)
}

impl Condition {
    fn new(expr: &Arc<dyn PhysicalExpr>, schema: &SchemaRef) -> Result<Condition> {
        let mut columns: Vec<usize> = collect_columns(expr).iter().map(Column::index).collect();
        columns.sort_unstable();
        let fields: Vec<Arc<Field>> = columns.iter().map(|column| Arc::clone(&schema.fields()[*column])).collect();
        let place = |node: Arc<dyn PhysicalExpr>| {
            let any: &dyn Any = node.as_ref();
            let Some(column) = any.downcast_ref::<Column>() else { return Ok(Transformed::no(node)) };
            let place = columns.binary_search(&column.index()).unwrap_or_default();
            Ok(Transformed::yes(Arc::new(Column::new(column.name(), place)) as Arc<dyn PhysicalExpr>))
        };
        let expr = Arc::clone(expr).transform(place)?.data;
        Ok(Condition { expr, columns, schema: Arc::new(Schema::new(fields)) })
    }

    /// Whether the condition is true for each of so many rows. `None` is all.
    fn holds(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<Option<BooleanArray>> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?;
        let array = match self.expr.evaluate(&batch)? {
            ColumnarValue::Scalar(value) => match value {
                datafusion::scalar::ScalarValue::Boolean(Some(true)) => return Ok(None),
                _ => return Ok(Some(BooleanArray::new(BooleanBuffer::new_unset(rows), None))),
            },
            ColumnarValue::Array(array) => array,
        };
        let Some(array) = array.as_boolean_opt() else {
            return internal_err!("a condition is of type {}", array.data_type());
        };
        Ok(Some(if array.null_count() > 0 { prep_null_mask_filter(array) } else { array.clone() }))
    }
}

impl DisplayAs for ConjunctFilterExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.filter() {
            Some(filter) => filter.fmt_as(t, f),
            None => write!(f, "ConjunctFilterExec"),
        }
    }
}

impl ExecutionPlan for ConjunctFilterExec {
    node_parts! {
        ConjunctFilterExec of self,
        properties: self.node.properties(),
        children: self.node.children(),
        expressions: |visit| self.node.apply_expressions(visit),
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn with_new_children(self: Arc<Self>, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let node = with_inputs(&self.node, inputs)?;
        let conditions = Arc::clone(&self.conditions);
        Ok(Arc::new(ConjunctFilterExec { node, conditions, metrics: ExecutionPlanMetricsSet::new() }))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.node.children()[0].execute(partition, context)?;
        let schema = self.schema();
        let projection = self.filter().and_then(|filter| filter.projection().as_ref().map(|columns| columns.to_vec()));
        let (of, conditions) = (Arc::clone(&schema), Arc::clone(&self.conditions));
        let out = coalescer(&schema);
        let measured = BaselineMetrics::new(&self.metrics, partition);
        let state = (rows, out, false);
        let filtered = stream::unfold(state, move |(mut rows, mut out, mut ended)| {
            let (of, conditions, projection) = (Arc::clone(&of), Arc::clone(&conditions), projection.clone());
            let measured = measured.clone();
            async move {
                loop {
                    if let Some(batch) = out.next_completed_batch() {
                        return Some((Ok(batch), (rows, out, ended)));
                    }
                    if ended {
                        return None;
                    }
                    let next = rows.next().await;
                    let _timer = measured.elapsed_compute().timer();
                    let done = match next {
                        Some(Ok(batch)) => put(&batch, &conditions, projection.as_deref(), &of, &mut out),
                        Some(Err(error)) => Err(error),
                        None => {
                            ended = true;
                            out.finish_buffered_batch().map_err(Into::into)
                        }
                    };
                    if let Err(error) = done {
                        ended = true;
                        return Some((Err(error), (rows, coalescer(&of), ended)));
                    }
                }
            }
        });
        let count = BaselineMetrics::new(&self.metrics, partition);
        let counted = filtered.inspect(move |batch| {
            if let Ok(batch) = batch {
                count.record_output(batch.num_rows());
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, counted)))
    }
}

/// Puts small batches together; those of a quarter of the size are passed on.
pub fn coalescer(schema: &SchemaRef) -> BatchCoalescer {
    BatchCoalescer::new(Arc::clone(schema), BATCH_ROWS).with_biggest_coalesce_batch_size(Some(BATCH_ROWS / 4))
}

/// Rows of a batch: all, those of a mask, or those of these numbers.
enum Selection {
    All,
    Mask(BooleanBuffer),
    Rows(UInt32Array),
}

/// Gives the rows for which all conditions are true to `out`.
fn put(
    batch: &RecordBatch,
    conditions: &[Condition],
    projection: Option<&[usize]>,
    schema: &SchemaRef,
    out: &mut BatchCoalescer,
) -> Result<()> {
    let rows = batch.num_rows();
    let mut left = Selection::All;
    for condition in conditions {
        let columns = condition.columns.iter().map(|column| batch.column(*column));
        left = match left {
            Selection::Rows(numbers) => {
                let columns = columns.map(|column| take(column, &numbers, None)).collect::<Result<Vec<_>, _>>()?;
                match condition.holds(columns, numbers.len())? {
                    None => Selection::Rows(numbers),
                    Some(holds) => {
                        let kept = holds.values().set_indices().map(|place| numbers.value(place));
                        Selection::Rows(UInt32Array::from_iter_values(kept))
                    }
                }
            }
            left => {
                let all = columns.cloned().collect();
                match (condition.holds(all, rows)?, left) {
                    (None, left) => left,
                    (Some(holds), Selection::Mask(mask)) => narrowed(&mask & holds.values(), rows),
                    (Some(holds), _) => narrowed(holds.values().clone(), rows),
                }
            }
        };
        if matches!(&left, Selection::Rows(numbers) if numbers.is_empty()) {
            return Ok(());
        }
    }
    let of_result = |of: &dyn Fn(&ArrayRef) -> Result<ArrayRef>, rows: usize| -> Result<RecordBatch> {
        let columns = match projection {
            Some(places) => places.iter().map(|place| of(batch.column(*place))).collect::<Result<Vec<_>>>()?,
            None => batch.columns().iter().map(of).collect::<Result<Vec<_>>>()?,
        };
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
    };
    match left {
        Selection::Rows(numbers) => {
            let taken = |column: &ArrayRef| Ok(take(column, &numbers, None)?);
            out.push_batch(of_result(&taken, numbers.len())?)?;
        }
        Selection::Mask(mask) => {
            let same = of_result(&|column| Ok(Arc::clone(column)), rows)?;
            out.push_batch(filter_record_batch(&same, &BooleanArray::new(mask, None))?)?;
        }
        Selection::All => out.push_batch(of_result(&|column| Ok(Arc::clone(column)), rows)?)?,
    }
    Ok(())
}

/// The rows of a mask, by their numbers if they are few.
fn narrowed(mask: BooleanBuffer, rows: usize) -> Selection {
    match mask.count_set_bits() * NARROW_DIVISOR <= rows {
        true => Selection::Rows(UInt32Array::from_iter_values(mask.set_indices().map(|row| row as u32))),
        false => Selection::Mask(mask),
    }
}
