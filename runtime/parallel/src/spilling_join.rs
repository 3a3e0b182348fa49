//! Hash joins whose build side may be larger than memory (a Grace hash join: Kitsuregawa et al., 1983).
//!
//! The build side is taken in first. If the memory pool has room for it, DataFusion's join runs over it. Otherwise both
//! sides are hash-partitioned on disk by the keys, and the partitions are joined one after the other. Rows then carry
//! their row numbers of both sides. A sort by these restores the order of the join in memory, if that order is of use.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinType, internal_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::joins::{HashJoinExec, HashJoinExecBuilder, PartitionMode};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties};
use futures::{StreamExt, TryStreamExt, stream};
use onrush_expr::diagnostics::HIDDEN;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use crate::cores::Cores;
use crate::estimate::rows;
use crate::exchange::{PARTITIONS, exchanged, rows_size};
use crate::gather::plan_in_order;
use crate::group::{PartitionedAggregateExec, merges};
use crate::nodes::{Plan, cast, node_parts, with_inputs};
use crate::sort::ParallelSortExec;
use crate::streams::{self, StreamsExec};

/// Bytes of the hash table for each row of the build side, at most: DataFusion's estimate.
const TABLE_BYTES_PER_ROW: usize = 48;
/// Numbers of the rows of a partition begin at its number times this.
const PARTITION_ROW_NUMBERS: u64 = 1 << 40;

/// The plan with joins that can go to disk, but for those with few rows in their build side. `ordered`: the order of
/// its rows is of use. Partitions are chunks of the rows, one after the other.
pub fn spilling(plan: Plan, ordered: bool, cores: Cores) -> Result<Plan> {
    with_spilling(plan, ordered, cores, Place::First)
}

/// As [`spilling`], for DataFusion's own partitions: joins whose rows stay in their partition.
pub fn spilling_in_partitions(plan: Plan, ordered: bool, cores: Cores) -> Result<Plan> {
    with_spilling(plan, ordered, cores, Place::Same)
}

/// The partition of the rows of a join that went to disk.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    First,
    Same,
}

impl Place {
    /// Whether the rows of a join may come there.
    fn suits(self, join: &HashJoinExec) -> bool {
        let is_one = |side: &Plan| side.output_partitioning().partition_count() == 1;
        match (join.partition_mode(), self) {
            (PartitionMode::CollectLeft, Place::First) => is_one(join.left()),
            (PartitionMode::CollectLeft, Place::Same) => is_one(join.left()) && is_one(join.right()),
            (PartitionMode::Partitioned, place) => place == Place::Same,
            (PartitionMode::Auto, _) => false,
        }
    }
}

fn with_spilling(plan: Plan, ordered: bool, cores: Cores, place: Place) -> Result<Plan> {
    let requires = plan.required_input_ordering().iter().any(Option::is_some);
    let below = match (cast::<AggregateExec>(&plan), cast::<PartitionedAggregateExec>(&plan)) {
        (Some(group), _) => {
            // Groups come in the order of their first rows.
            requires || (ordered && !group.group_expr().is_empty()) || reads_order(group)
        }
        (_, Some(group)) => requires || ordered || reads_order(group.aggregate()),
        _ => {
            let any: &dyn Any = plan.as_ref();
            ordered || any.is::<SortExec>() || any.is::<ParallelSortExec>() || requires
        }
    };
    let plan = plan.map_children(|input| with_spilling(input, below, cores, place).map(Transformed::yes))?.data;
    let Some(join) = cast::<HashJoinExec>(&plan) else { return Ok(plan) };
    let few = rows(join.left()).is_some_and(|rows| rows <= cores.chunk);
    if !place.suits(join) || join.null_aware || few || join.on().is_empty() || join.fetch().is_some() {
        return Ok(plan);
    }
    Ok(match place {
        Place::First => Arc::new(SpillingJoinExec::new(plan, ordered, cores)),
        Place::Same => Arc::new(PartitionedSpillingJoinExec { join: plan, ordered, cores }),
    })
}

fn reads_order(group: &AggregateExec) -> bool {
    let first = |name: &str| matches!(name, "first_value" | "last_value" | "product");
    !merges(group) || group.aggr_expr().iter().any(|call| first(call.fun().name()))
}

/// A hash join of DataFusion's in mode `CollectLeft`.
#[derive(Debug)]
pub struct SpillingJoinExec {
    join: Plan,
    ordered: bool,
    cores: Cores,
    /// Filled by the partition that is asked first.
    state: Arc<OnceCell<Result<State, Arc<DataFusionError>>>>,
}

impl SpillingJoinExec {
    fn new(join: Plan, ordered: bool, cores: Cores) -> SpillingJoinExec {
        SpillingJoinExec { join, ordered, cores, state: Arc::default() }
    }

    /// DataFusion's join, which this node stands for.
    pub fn node(&self) -> &Plan {
        &self.join
    }
}

impl DisplayAs for SpillingJoinExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpillingJoinExec: ")?;
        self.join.fmt_as(t, f)
    }
}

impl ExecutionPlan for SpillingJoinExec {
    node_parts! {
        SpillingJoinExec of self,
        properties: self.join.properties(),
        children: self.join.children(),
        expressions: |visit| self.join.apply_expressions(visit),
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        self.join.maintains_input_order()
    }

    fn with_new_children(self: Arc<Self>, inputs: Vec<Plan>) -> Result<Plan> {
        let join = with_inputs(&self.join, inputs)?;
        Ok(Arc::new(SpillingJoinExec::new(join, self.ordered, self.cores)))
    }

    fn reset_state(self: Arc<Self>) -> Result<Plan> {
        let join = Arc::clone(&self.join).reset_state()?;
        Ok(Arc::new(SpillingJoinExec::new(join, self.ordered, self.cores)))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let schema = self.schema();
        let (state, join, ordered, cores) = (Arc::clone(&self.state), Arc::clone(&self.join), self.ordered, self.cores);
        let rows = async move {
            let made = || async { State::new(&join, ordered, cores, &context).await.map_err(Arc::new) };
            match state.get_or_init(made).await {
                Ok(State::Held(join)) => join.execute(partition, context),
                Ok(State::Parted(rows)) => {
                    let taken = match partition {
                        0 => rows.lock().take(),
                        _ => Some(streams::batches(join.schema(), Vec::new())),
                    };
                    taken.map_or_else(|| internal_err!("the rows of a join were read twice"), Ok)
                }
                Err(error) => Err(DataFusionError::Shared(Arc::clone(error))),
            }
        };
        // A row may have any number of matches, and a join that is always ready must let its cancellation be seen.
        let rows = RecordBatchStreamAdapter::new(schema, stream::once(rows).try_flatten());
        Ok(make_cooperative(Box::pin(rows)))
    }
}

/// A hash join of DataFusion's whose partitions are separate joins, which can go to disk.
#[derive(Debug)]
struct PartitionedSpillingJoinExec {
    join: Plan,
    ordered: bool,
    cores: Cores,
}

impl DisplayAs for PartitionedSpillingJoinExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PartitionedSpillingJoinExec: ")?;
        self.join.fmt_as(t, f)
    }
}

impl ExecutionPlan for PartitionedSpillingJoinExec {
    node_parts! {
        PartitionedSpillingJoinExec of self,
        properties: self.join.properties(),
        children: self.join.children(),
        expressions: |visit| self.join.apply_expressions(visit),
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        self.join.maintains_input_order()
    }

    fn with_new_children(self: Arc<Self>, inputs: Vec<Plan>) -> Result<Plan> {
        let join = with_inputs(&self.join, inputs)?;
        Ok(Arc::new(PartitionedSpillingJoinExec { join, ordered: self.ordered, cores: self.cores }))
    }

    fn reset_state(self: Arc<Self>) -> Result<Plan> {
        let join = Arc::clone(&self.join).reset_state()?;
        Ok(Arc::new(PartitionedSpillingJoinExec { join, ordered: self.ordered, cores: self.cores }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let Some(join) = cast::<HashJoinExec>(&self.join) else {
            return internal_err!("{} is not a hash join", self.join.name());
        };
        // Both sides begin at once, as those of DataFusion's join: other processes wait for their rows to be asked for.
        let side = |input: &Plan| -> Result<Plan> {
            let rows = input.execute(partition, Arc::clone(&context))?;
            Ok(Arc::new(StreamsExec::ordered(input.equivalence_properties().clone(), vec![rows])))
        };
        let join =
            HashJoinExecBuilder::new(side(join.left())?, side(join.right())?, join.on().to_vec(), *join.join_type())
                .with_filter(join.filter().cloned())
                .with_projection(join.projection.as_ref().map(|columns| columns.to_vec()))
                .with_partition_mode(PartitionMode::CollectLeft)
                .with_null_equality(join.null_equality())
                .build_exec()?;
        SpillingJoinExec::new(join, self.ordered, self.cores).execute(0, context)
    }
}

/// The join after its build side was taken in.
enum State {
    /// The join over a build side in memory.
    Held(Plan),
    /// All rows of the join, which are those of its first partition.
    Parted(Mutex<Option<SendableRecordBatchStream>>),
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if matches!(self, State::Held(_)) { "Held" } else { "Parted" })
    }
}

impl State {
    async fn new(plan: &Plan, ordered: bool, cores: Cores, context: &Arc<TaskContext>) -> Result<State> {
        let Some(join) = cast::<HashJoinExec>(plan) else { return internal_err!("{} is not a hash join", plan.name()) };
        let left = join.left();
        let mut rows = left.execute(0, Arc::clone(context))?;
        let reservation = MemoryConsumer::new("HashJoinBuild").register(context.memory_pool());
        let mut batches = Vec::new();
        while let Some(batch) = rows.try_next().await? {
            let bytes = rows_size(&batch) + TABLE_BYTES_PER_ROW * batch.num_rows();
            batches.push(batch);
            if reservation.try_grow(bytes).is_err() {
                reservation.free();
                let all = stream::iter(batches.into_iter().map(Ok)).chain(rows);
                let build = Box::pin(RecordBatchStreamAdapter::new(left.schema(), all));
                let rows = parted(join, build, ordered, cores, context).await?;
                return Ok(State::Parted(Mutex::new(Some(rows))));
            }
        }
        // The join takes it for the same rows.
        reservation.free();
        let rows = vec![streams::batches(left.schema(), batches)];
        let build: Plan = Arc::new(StreamsExec::ordered(left.equivalence_properties().clone(), rows));
        let join = join.builder().recompute_properties().with_new_children(vec![build, Arc::clone(join.right())])?;
        Ok(State::Held(join.build_exec()?))
    }
}

/// The name of the column with the number of a row of a side.
fn row_of(side: &str) -> String {
    format!("{HIDDEN}{side}_join_row")
}

fn with_row(schema: &SchemaRef, side: &str) -> SchemaRef {
    let row = Arc::new(Field::new(row_of(side), DataType::UInt64, false));
    Arc::new(Schema::new(schema.fields().iter().cloned().chain([row]).collect::<Vec<_>>()))
}

/// Rows with their numbers, from `before` on, as the last column.
fn numbered(rows: SendableRecordBatchStream, schema: &SchemaRef, mut before: u64) -> SendableRecordBatchStream {
    let of = Arc::clone(schema);
    let rows = rows.map(move |batch| {
        let batch = batch?;
        let next = before + batch.num_rows() as u64;
        let numbers = UInt64Array::from_iter_values(before..next);
        before = next;
        let columns = batch.columns().iter().cloned().chain([Arc::new(numbers) as _]).collect();
        Ok(RecordBatch::try_new(Arc::clone(&of), columns)?)
    });
    Box::pin(RecordBatchStreamAdapter::new(Arc::clone(schema), rows))
}

/// The join of partitions on disk, in the order of the join in memory if `ordered`.
async fn parted(
    join: &HashJoinExec,
    build: SendableRecordBatchStream,
    ordered: bool,
    cores: Cores,
    context: &Arc<TaskContext>,
) -> Result<SendableRecordBatchStream> {
    let (left, right) = (with_row(&join.left().schema(), "build"), with_row(&join.right().schema(), "probe"));
    let (left_keys, right_keys): (Vec<_>, Vec<_>) = join.on().iter().cloned().unzip();
    let build = Mutex::new(Some(numbered(build, &left, 0)));
    let open = move |_| {
        let taken = build.lock().take();
        taken.map_or_else(|| internal_err!("the build side of a join was read twice"), Ok)
    };
    let builds = exchanged(Arc::clone(&left), 1, open, left_keys, cores, true, context).await?;
    let open = {
        let (probe, schema, context) = (Arc::clone(join.right()), Arc::clone(&right), Arc::clone(context));
        move |partition: usize| {
            let rows = probe.execute(partition, Arc::clone(&context))?;
            Ok(numbered(rows, &schema, partition as u64 * PARTITION_ROW_NUMBERS))
        }
    };
    let count = join.right().output_partitioning().partition_count();
    let probes = exchanged(Arc::clone(&right), count, open, right_keys, cores, true, context).await?;
    let all = |pieces: &crate::exchange::Pieces| (0..PARTITIONS).map(|at| pieces.partition(at)).collect::<Result<_>>();
    let (columns, order) = placed(join);
    let left: Plan = Arc::new(StreamsExec::new(left, all(&builds)?));
    let right: Plan = Arc::new(StreamsExec::new(right, all(&probes)?));
    let partitions = HashJoinExecBuilder::new(left, right, join.on().to_vec(), *join.join_type())
        .with_filter(join.filter().cloned())
        .with_projection(Some(columns))
        .with_partition_mode(PartitionMode::Partitioned)
        .with_null_equality(join.null_equality())
        .build_exec()?;
    // One after the other: each takes memory for its build side.
    let one = Cores { threads: 1, jitter: false, ..cores };
    let mut rows = plan_in_order(&partitions, one, false, context);
    let schema = join.schema();
    if ordered {
        let key = |place: &usize| {
            let column = Column::new(partitions.schema().field(*place).name(), *place);
            PhysicalSortExpr::new(
                Arc::new(column),
                arrow::compute::SortOptions { descending: false, nulls_first: false },
            )
        };
        let Some(order) = LexOrdering::new(order.iter().map(key)) else {
            return internal_err!("a join has no rows' numbers");
        };
        let input: Plan = Arc::new(StreamsExec::new(partitions.schema(), vec![rows]));
        let sort: Plan = Arc::new(SortExec::new(order.clone(), Arc::clone(&input)));
        rows = ParallelSortExec::new(input, order, None, cores, &sort).execute(0, Arc::clone(context))?;
    }
    let of = Arc::clone(&schema);
    let rows = rows.map(move |batch| {
        let batch = batch?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = batch.columns()[..of.fields().len()].to_vec();
        Ok(RecordBatch::try_new_with_options(Arc::clone(&of), columns, &options)?)
    });
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
}

/// The columns of a join over sides with row numbers: the columns that the join gives, then the numbers. Also the
/// places of the numbers in the result, as keys of its sort. Rows come in the order of the probe side, and unmatched
/// rows of the build side last.
fn placed(join: &HashJoinExec) -> (Vec<usize>, Vec<usize>) {
    use JoinType::{Full, Inner, Left, LeftAnti, LeftMark, LeftSemi, Right, RightAnti, RightMark, RightSemi};
    let (left, right) = (join.left().schema().fields().len(), join.right().schema().fields().len());
    let given: Vec<usize> = match &join.projection {
        Some(columns) => columns.to_vec(),
        None => (0..join.join_schema().fields().len()).collect(),
    };
    let (first, numbers) = match join.join_type() {
        Inner | Left | Right | Full => (left, vec![left + 1 + right, left]),
        LeftSemi | LeftAnti | LeftMark => (left, vec![left]),
        RightSemi | RightAnti | RightMark => (right, vec![right]),
    };
    let order = (given.len()..given.len() + numbers.len()).collect();
    let columns = given.into_iter().map(|column| if column < first { column } else { column + 1 });
    (columns.chain(numbers).collect(), order)
}
