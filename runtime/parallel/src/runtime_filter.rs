//! The keys of a join's build side as a bitmap, which drops rows of the probe side where they are read (semi-join
//! reduction: Bernstein and Chiu, JACM 1981).
//!
//! A join takes in its build side before it asks for a row of its probe side, so the bitmap is complete by then. It
//! depends on the rows alone, and so do the rows that it drops.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{BatchCoalescer, filter_record_batch};
use arrow::datatypes::{
    DataType, Date32Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
};
use datafusion::common::JoinType;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties};
use futures::{StreamExt, stream};
use parking_lot::Mutex;

use crate::exchange::HashExchangeExec;
use crate::filter::coalescer;
use crate::gather::GatherExec;
use crate::group::PartitionedAggregateExec;
use crate::nodes::{Plan, cast, node_parts, visit_all, with_inputs};

/// Number of build-side keys up to which a bitmap is made.
const MOST_KEYS: usize = 2_000_000;
/// Size limit of a bitmap in bits: 4 MB.
const MOST_BITS: u64 = 1 << 25;
/// Probe rows of a partition after which a bitmap that drops less than a third of them is no longer evaluated.
const TRIAL_ROWS: usize = 32_768;

/// The set of build-side keys as a bitmap over their range.
#[derive(Debug)]
struct Bitmap {
    least: i64,
    bits: BooleanBuffer,
}

/// The bitmap of a join, once its build side is complete. A plan that runs again has the same rows, and so the same
/// bitmap.
#[derive(Debug, Default)]
pub struct JoinKeys {
    bitmap: OnceLock<Option<Bitmap>>,
}

/// Whether keys of a type can be bits.
pub fn has_bits(dtype: &DataType) -> bool {
    use DataType::{Date32, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32};
    matches!(dtype, Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | Date32)
}

/// Calls `each` with the row and the value of each key that is not null.
fn each_key(array: &ArrayRef, mut each: impl FnMut(usize, i64)) {
    macro_rules! keys {
        ($($dtype:ident => $type:ty),*) => {
            match array.data_type() {
                $(DataType::$dtype => {
                    let array = array.as_primitive::<$type>();
                    match array.null_count() {
                        0 => array.values().iter().enumerate().for_each(|(row, key)| each(row, i64::from(*key))),
                        _ => array.iter().enumerate().for_each(|(row, key)| {
                            if let Some(key) = key {
                                each(row, i64::from(key));
                            }
                        }),
                    }
                })*
                _ => {}
            }
        };
    }
    keys! {
        Int8 => Int8Type, Int16 => Int16Type, Int32 => Int32Type, Int64 => Int64Type,
        UInt8 => UInt8Type, UInt16 => UInt16Type, UInt32 => UInt32Type, Date32 => Date32Type
    }
}

impl Bitmap {
    fn new(keys: &[i64]) -> Option<Bitmap> {
        let (least, most) = (*keys.iter().min().unwrap_or(&0), *keys.iter().max().unwrap_or(&0));
        let range = most.checked_sub(least).and_then(|range| u64::try_from(range).ok())?;
        if range >= MOST_BITS {
            return None;
        }
        let bits = if keys.is_empty() { 0 } else { range as usize + 1 };
        let mut bytes = vec![0u8; bits.div_ceil(8)];
        for key in keys {
            let bit = key.wrapping_sub(least) as usize;
            bytes[bit / 8] |= 1 << (bit % 8);
        }
        Some(Bitmap { least, bits: BooleanBuffer::new(bytes.into(), 0, bits) })
    }

    fn holds(&self, keys: &ArrayRef) -> BooleanBuffer {
        let bits = self.bits.len() as u64;
        let values = self.bits.values();
        let holds = |key: i64| {
            let bit = key.wrapping_sub(self.least) as u64;
            bit < bits && values[(bit / 8) as usize] >> (bit % 8) & 1 == 1
        };
        macro_rules! mask {
            ($($dtype:ident => $type:ty),*) => {
                match keys.data_type() {
                    $(DataType::$dtype => {
                        let keys = keys.as_primitive::<$type>();
                        let values = keys.values();
                        let mask = BooleanBuffer::collect_bool(values.len(), |row| holds(i64::from(values[row])));
                        match keys.nulls() {
                            Some(nulls) => &mask & nulls.inner(),
                            None => mask,
                        }
                    })*
                    // `has_bits` has no other.
                    _ => BooleanBuffer::new_set(keys.len()),
                }
            };
        }
        mask! {
            Int8 => Int8Type, Int16 => Int16Type, Int32 => Int32Type, Int64 => Int64Type,
            UInt8 => UInt8Type, UInt16 => UInt16Type, UInt32 => UInt32Type, Date32 => Date32Type
        }
    }
}

/// Collects the keys of the build side, and passes its rows on.
#[derive(Debug)]
pub struct RuntimeFilterBuildExec {
    input: Plan,
    key: Arc<dyn PhysicalExpr>,
    keys: Arc<JoinKeys>,
    noted: Arc<Mutex<CollectedKeys>>,
}

#[derive(Debug)]
struct CollectedKeys {
    /// None once they are too many.
    keys: Option<Vec<i64>>,
    /// Partitions that have not ended.
    open: Vec<bool>,
}

impl RuntimeFilterBuildExec {
    pub fn new(input: Plan, key: Arc<dyn PhysicalExpr>, keys: Arc<JoinKeys>) -> RuntimeFilterBuildExec {
        let open = vec![true; input.output_partitioning().partition_count()];
        let noted = CollectedKeys { keys: Some(Vec::new()), open };
        RuntimeFilterBuildExec { input, key, keys, noted: Arc::new(Mutex::new(noted)) }
    }
}

impl DisplayAs for RuntimeFilterBuildExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RuntimeFilterBuildExec: {}", self.key)
    }
}

impl ExecutionPlan for RuntimeFilterBuildExec {
    node_parts! {
        RuntimeFilterBuildExec of self,
        properties: self.input.properties(),
        children: vec![&self.input],
        expressions: |visit| visit_all([&self.key], visit),
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn with_new_children(self: Arc<Self>, mut inputs: Vec<Plan>) -> Result<Plan> {
        let (key, keys) = (Arc::clone(&self.key), Arc::clone(&self.keys));
        Ok(Arc::new(RuntimeFilterBuildExec::new(inputs.swap_remove(0), key, keys)))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.input.execute(partition, context)?;
        let (key, keys, noted) = (Arc::clone(&self.key), Arc::clone(&self.keys), Arc::clone(&self.noted));
        let schema = self.schema();
        let state = (rows, Vec::new());
        let passed = stream::unfold(state, move |(mut rows, mut own)| {
            let (key, keys, noted) = (Arc::clone(&key), Arc::clone(&keys), Arc::clone(&noted));
            async move {
                let batch = rows.next().await;
                match batch {
                    Some(Ok(batch)) => {
                        let values = key.evaluate(&batch).and_then(|value| value.into_array(batch.num_rows()));
                        match values {
                            Ok(values) if own.len() <= MOST_KEYS => each_key(&values, |_, key| own.push(key)),
                            Ok(_) => {}
                            Err(error) => return Some((Err(error), (rows, own))),
                        }
                        Some((Ok(batch), (rows, own)))
                    }
                    Some(Err(error)) => Some((Err(error), (rows, own))),
                    None => {
                        let mut noted = noted.lock();
                        if std::mem::take(&mut noted.open[partition]) {
                            let many = noted.keys.as_ref().is_none_or(|all| all.len() + own.len() > MOST_KEYS);
                            match noted.keys.as_mut().filter(|_| !many) {
                                Some(all) => all.append(&mut own),
                                None => noted.keys = None,
                            }
                            if !noted.open.contains(&true) {
                                let bitmap = noted.keys.take().and_then(|all| Bitmap::new(&all));
                                let _ = keys.bitmap.set(bitmap);
                            }
                        }
                        None
                    }
                }
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, passed)))
    }
}

/// The probe rows whose key is in the bitmap.
#[derive(Debug)]
pub struct RuntimeFilterExec {
    input: Plan,
    key: Arc<dyn PhysicalExpr>,
    keys: Arc<JoinKeys>,
    metrics: ExecutionPlanMetricsSet,
}

impl DisplayAs for RuntimeFilterExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = column(&self.key).map(|place| self.schema().field(place).name().clone());
        write!(f, "RuntimeFilterExec: {}", name.unwrap_or_default())
    }
}

impl ExecutionPlan for RuntimeFilterExec {
    node_parts! {
        RuntimeFilterExec of self,
        properties: self.input.properties(),
        children: vec![&self.input],
        expressions: |visit| visit_all([&self.key], visit),
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn with_new_children(self: Arc<Self>, mut inputs: Vec<Plan>) -> Result<Plan> {
        let (key, keys) = (Arc::clone(&self.key), Arc::clone(&self.keys));
        Ok(Arc::new(RuntimeFilterExec {
            input: inputs.swap_remove(0),
            key,
            keys,
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.input.execute(partition, context)?;
        let schema = self.schema();
        let (key, keys) = (Arc::clone(&self.key), Arc::clone(&self.keys));
        let measured = BaselineMetrics::new(&self.metrics, partition);
        let state = State { rows, out: coalescer(&schema), seen: 0, kept: 0, ended: false };
        let filtered = stream::unfold(state, move |mut state| {
            let (key, keys, measured) = (Arc::clone(&key), Arc::clone(&keys), measured.clone());
            async move {
                loop {
                    if let Some(batch) = state.out.next_completed_batch() {
                        measured.record_output(batch.num_rows());
                        return Some((Ok(batch), state));
                    }
                    if state.ended {
                        return None;
                    }
                    let next = state.rows.next().await;
                    let _timer = measured.elapsed_compute().timer();
                    let done = match next {
                        Some(Ok(batch)) => {
                            let bitmap = keys.bitmap.get().and_then(Option::as_ref);
                            match bitmap.filter(|_| state.seen < TRIAL_ROWS || state.kept * 3 < state.seen * 2) {
                                Some(bitmap) => state.put(batch, &key, bitmap),
                                None if state.out.is_empty() => {
                                    measured.record_output(batch.num_rows());
                                    return Some((Ok(batch), state));
                                }
                                None => state.out.push_batch(batch).map_err(Into::into),
                            }
                        }
                        Some(Err(error)) => Err(error),
                        None => {
                            state.ended = true;
                            state.out.finish_buffered_batch().map_err(Into::into)
                        }
                    };
                    if let Err(error) = done {
                        state.ended = true;
                        return Some((Err(error), state));
                    }
                }
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, filtered)))
    }
}

struct State {
    rows: SendableRecordBatchStream,
    out: BatchCoalescer,
    /// Rows that were looked at, and those of them that have a bit.
    seen: usize,
    kept: usize,
    ended: bool,
}

impl State {
    fn put(&mut self, batch: RecordBatch, key: &Arc<dyn PhysicalExpr>, bitmap: &Bitmap) -> Result<()> {
        let mask = bitmap.holds(&key.evaluate(&batch)?.into_array(batch.num_rows())?);
        self.seen += batch.num_rows();
        self.kept += mask.count_set_bits();
        Ok(self.out.push_batch(filter_record_batch(&batch, &BooleanArray::new(mask, None))?)?)
    }
}

fn column(expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    let any: &dyn Any = expr.as_ref();
    any.downcast_ref::<Column>().map(Column::index)
}

/// A plan without the rows whose key in a column has no bit, filtered as far down as these rows can be told.
pub fn reduced(plan: &Plan, place: usize, keys: &Arc<JoinKeys>) -> Result<Plan> {
    let below = if let Some(projection) = cast::<ProjectionExec>(plan) {
        column(&projection.expr()[place].expr)
    } else if cast::<HashExchangeExec>(plan).is_some() || cast::<GatherExec>(plan).is_some() {
        Some(place)
    } else if let Some(group) = cast::<PartitionedAggregateExec>(plan) {
        group.key(place)
    } else if let Some(join) = cast::<HashJoinExec>(plan) {
        return through_join(plan, join, place, keys);
    } else {
        None
    };
    if let Some(below) = below {
        let input = reduced(plan.children()[0], below, keys)?;
        return with_inputs(plan, vec![input]);
    }
    Ok(here(plan, place, keys))
}

fn here(plan: &Plan, place: usize, keys: &Arc<JoinKeys>) -> Plan {
    let schema = plan.schema();
    let key: Arc<dyn PhysicalExpr> = Arc::new(Column::new(schema.field(place).name(), place));
    let keys = Arc::clone(keys);
    Arc::new(RuntimeFilterExec { input: Arc::clone(plan), key, keys, metrics: ExecutionPlanMetricsSet::new() })
}

/// Rows of the probe side come out of a join once for each match, or not at all.
fn through_join(plan: &Plan, join: &HashJoinExec, place: usize, keys: &Arc<JoinKeys>) -> Result<Plan> {
    use JoinType::{Inner, Right, RightAnti, RightSemi};
    if !matches!(join.join_type(), Inner | Right | RightSemi | RightAnti) || join.fetch().is_some() {
        return Ok(here(plan, place, keys));
    }
    let place_of_all = join.projection.as_ref().map_or(place, |columns| columns[place]);
    let before = match join.join_type() {
        RightSemi | RightAnti => 0,
        _ => join.left().schema().fields().len(),
    };
    let Some(of_right) = place_of_all.checked_sub(before) else { return Ok(here(plan, place, keys)) };
    let right = reduced(join.right(), of_right, keys)?;
    join.builder().with_new_children(vec![Arc::clone(join.left()), right])?.build_exec()
}
