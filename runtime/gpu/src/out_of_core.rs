//! Out-of-core execution: runs a fragment that does not fit into device memory in partitions that do. The fragment is
//! cut, from below, at each node that needs all rows at once. Each cut runs over one partition at a time, and the host
//! merges the results:
//!
//! - Filters, projections and joins whose build side fits: over chunks of the rows, one after another.
//!
//! - Aggregates whose states can be merged, if there are few groups: the states of each chunk, merged by DataFusion.
//!
//! - Sorts: sorted chunks, then each range of keys of all chunks (a top-k is merged by DataFusion).
//!
//! - Other aggregates, windows and joins: hash partitions of all inputs, so that rows with equal keys meet. See
//!   Kitsuregawa, Tanaka and Moto-oka, "Application of hash to data base machine and its architecture", 1983.
//!
//! A partition that does not fit is halved, or partitioned again with another hash. A join with more pairs than one
//! execution can number runs in partitions only if the pairs are aggregated.

mod partition;

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{JoinType, NullEquality};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::window::StandardWindowExpr;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::windows::WindowUDFExpr;
use datafusion::physical_plan::{ExecutionPlan, WindowExpr, execute_stream};
use futures::TryStreamExt;
use futures::future::BoxFuture;
use onrush_expr::diagnostics::HIDDEN;

use self::partition::{Hashing, count, part, ranges, slice};
use super::accelerator::Policy;
use super::blocking::blocking;
use super::classify::{is_light, windows};
use super::fragment::{Fragment, FragmentNode};
use super::gpu_exec::{DoesNotFit, GpuExec};
use super::join_node::{JoinNode, keeps_order};
use super::memory_input::{held, memory, memory_rows};
use super::plan_node::with_schema;
use super::{aggregates, materialized_exec, placement};

/// A part is at first this share of the memory that is free: its input, what is made of it, and what that takes.
const MEMORY_DIVISOR: u64 = 8;
/// Parts of fewer rows are not tried.
const MIN_ROWS: usize = 256;
/// Limits of hash partitioning: repetitions with another hash, partitions at first, and partitions of each repetition.
const MAX_DEPTH: u32 = 4;
pub const MAX_PARTITIONS: u64 = 1 << 10;
const REPARTITIONS: u64 = 4;
/// Bytes of a value whose type does not tell.
const STRING_BYTES: u64 = 32;

/// How the lowest nodes of a fragment run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strategy {
    /// Some rows at a time.
    Rows,
    Groups,
    Order,
    Windows,
    /// A join with both sides hash-partitioned.
    PartitionedJoin,
    /// On the host.
    Host,
}

type Parts = Vec<Vec<RecordBatch>>;
type Plans = Vec<Arc<dyn ExecutionPlan>>;
/// A plan over some inputs.
type Make<'a> = dyn Fn(Plans) -> Result<Arc<dyn ExecutionPlan>> + Sync + 'a;

/// All rows of a fragment, as [`super::fragment::OutOfCore`] has it.
pub fn run(fragment: Fragment) -> BoxFuture<'static, Result<Option<SendableRecordBatchStream>>> {
    Box::pin(rows_of(fragment))
}

async fn rows_of(fragment: Fragment) -> Result<Option<SendableRecordBatchStream>> {
    let chain: Vec<FragmentNode> = fragment.chain.iter().rev().cloned().collect();
    let (count, way) = fragment.lowest(&chain);
    if fragment.multiplies && way != Strategy::Groups {
        return Ok(None);
    }
    let (lowest, rest) = chain.split_at(count);
    let Some(top) = lowest.last() else { return Ok(None) };
    let found = match way {
        Strategy::Rows => {
            let enough = top.node.fetch().or_else(|| rest.first().and_then(wanted));
            fragment.lowest_in_chunks(lowest, enough).await?
        }
        Strategy::Groups => fragment.groups(lowest).await?.map(|batches| vec![batches]),
        Strategy::Order => fragment.order(lowest).await?.map(|batches| vec![batches]),
        Strategy::Windows => fragment.windows(lowest).await?.map(|batches| vec![batches]),
        Strategy::PartitionedJoin => fragment.join(&lowest[0]).await?,
        Strategy::Host => match fragment.accelerator.policy == Policy::Only && !numbers_rows(&lowest[0].node) {
            true => None,
            false => {
                let plan = fragment.over(lowest, Arc::clone(&fragment.inputs[0]))?;
                Some(vec![fragment.rows(&plan).await?])
            }
        },
    };
    let Some(found) = found else { return Ok(None) };
    let schema = top.node.schema();
    let batches = found.into_iter().flatten().filter(|batch| batch.num_rows() > 0);
    let mut batches = batches.map(|batch| with_schema(&batch, &schema)).collect::<Result<Vec<_>>>()?;
    if let Some(fetch) = top.node.fetch() {
        batches = slice(&batches, 0, fetch);
    }
    // As a fragment that runs whole says: groups and joined rows are in no order.
    let keeps_order = way != Strategy::Groups && lowest.iter().all(|link| link.other.is_none());
    let below = if keeps_order {
        materialized_exec::fresh(batches, &top.node)?
    } else {
        materialized_exec::unordered(batches, &top.node)?
    };
    if rest.is_empty() {
        return below.execute(0, Arc::clone(&fragment.context)).map(Some);
    }
    let (plan, _) = placement::place(fragment.over(rest, below)?, &fragment.accelerator, run)?;
    execute_stream(plan, Arc::clone(&fragment.context)).map(Some)
}

/// How many rows a limit needs.
fn wanted(link: &FragmentNode) -> Option<usize> {
    let any: &dyn Any = link.node.as_ref();
    let global =
        any.downcast_ref::<GlobalLimitExec>().and_then(|limit| Some(limit.skip().saturating_add(limit.fetch()?)));
    global.or_else(|| any.downcast_ref::<LocalLimitExec>().map(LocalLimitExec::fetch))
}

fn row_bytes(schema: &Schema) -> u64 {
    let width = |field: &Arc<Field>| match field.data_type() {
        DataType::Boolean => 1,
        dtype => dtype.primitive_width().map_or(STRING_BYTES, |bytes| bytes as u64),
    };
    schema.fields().iter().map(width).sum::<u64>().max(1)
}

/// The `PARTITION BY` keys that all windows of a node share. `None` if they differ.
fn partition_by(node: &Arc<dyn ExecutionPlan>) -> Option<&[Arc<dyn PhysicalExpr>]> {
    let [first, others @ ..] = windows(node)? else { return None };
    others.iter().all(|other| other.partition_by() == first.partition_by()).then(|| first.partition_by())
}

/// Whether a node does nothing but number its input's rows, which costs the host nothing.
fn numbers_rows(node: &Arc<dyn ExecutionPlan>) -> bool {
    let is_number = |window: &Arc<dyn WindowExpr>| {
        let standard = window.as_any().downcast_ref::<StandardWindowExpr>()?;
        // Its own name: that of the window says what the column is called.
        let function: &dyn Any = standard.get_standard_func_expr().as_any();
        Some(function.downcast_ref::<WindowUDFExpr>()?.fun().name() == "row_number")
    };
    let plain = |window: &Arc<dyn WindowExpr>| window.partition_by().is_empty() && is_number(window) == Some(true);
    windows(node).is_some_and(|windows| windows.iter().all(plain))
}

impl Fragment {
    /// Bytes of a part, for a start.
    fn budget(&self) -> u64 {
        let ledger = self.accelerator.gpu.context().device().ledger();
        let held = self.accelerator.gpu.residency.bytes();
        // Cached columns can be evicted, so their bytes count as free.
        (ledger.capacity().saturating_sub(ledger.total().used.saturating_sub(held)) / MEMORY_DIVISOR).max(1)
    }

    /// Rows of a part, for a start.
    fn rows_of_part(&self, schema: &Schema) -> u64 {
        let fit = || (self.budget() / row_bytes(schema)).max(MIN_ROWS as u64);
        self.accelerator.part_rows.map_or_else(fit, |rows| rows.max(1))
    }

    fn over(&self, links: &[FragmentNode], below: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        links.iter().try_fold(below, |below, link| link.over(below, &self.inputs[1..]))
    }

    async fn rows(&self, plan: &Arc<dyn ExecutionPlan>) -> Result<Vec<RecordBatch>> {
        // Batches in memory are taken as they are: a stream would cut them into thousands.
        let held = held(plan).map(|(table, columns)| (table.batches(), columns));
        if let Some((batches, columns)) = held.or_else(|| memory(plan)) {
            // A projection may have renamed them.
            return batches.iter().map(|batch| with_schema(&batch.project(&columns)?, &plan.schema())).collect();
        }
        execute_stream(Arc::clone(plan), Arc::clone(&self.context))?.try_collect().await
    }

    /// How many of the lowest nodes run in which way.
    fn lowest(&self, chain: &[FragmentNode]) -> (usize, Strategy) {
        for (at, link) in chain.iter().enumerate() {
            let any: &dyn Any = link.node.as_ref();
            let (next, way) = match link.other {
                _ if is_light(&link.node) => continue,
                Some((other, is_left)) => match JoinNode::of(&link.node) {
                    Some(join) if self.joins_rows(&join, &self.inputs[1 + other], is_left) => match link.node.fetch() {
                        None => continue,
                        // Nodes above the limit see so many rows and no more.
                        Some(_) => return (at + 1, Strategy::Rows),
                    },
                    // A null of NOT IN belongs to all partitions. A join without keys cannot be hash-partitioned.
                    Some(join) if any.is::<HashJoinExec>() && !join.null_aware => (0, Strategy::PartitionedJoin),
                    _ => (0, Strategy::Host),
                },
                None if any.is::<AggregateExec>() => (1, Strategy::Groups),
                None if any.is::<SortExec>() => {
                    let is_windows = chain.get(at + 1).is_some_and(|next| groups_rows(&next.node));
                    // The first rows of all are not those of each part.
                    if is_windows && link.node.fetch().is_none() {
                        (0, Strategy::Windows)
                    } else {
                        (1, Strategy::Order)
                    }
                }
                None if groups_rows(&link.node) => (0, Strategy::Windows),
                None => (0, Strategy::Host),
            };
            return match (at + next, way) {
                // The nodes below come first.
                (below, _) if next == 0 && below > 0 => (below, Strategy::Rows),
                (_, Strategy::Windows) => (self.same_windows(chain), Strategy::Windows),
                (0, way) => (1, way),
                (count, way) => (count, way),
            };
        }
        (chain.len(), Strategy::Rows)
    }

    /// Number of nodes, from the lowest on, that are a sort or windows partitioned by the same keys.
    fn same_windows(&self, chain: &[FragmentNode]) -> usize {
        let sorts = usize::from(windows(&chain[0].node).is_none());
        let by = chain.get(sorts).and_then(|link| partition_by(&link.node));
        sorts + chain[sorts..].iter().take_while(|link| by.is_some() && partition_by(&link.node) == by).count()
    }

    /// Whether a join gives for some of the pipeline's rows what it gives for all, and its table fits.
    fn joins_rows(&self, join: &JoinNode, table: &Arc<dyn ExecutionPlan>, is_left: bool) -> bool {
        can_partition(join.kind, if is_left { Side::Right } else { Side::Left }) && self.fits(table)
    }

    /// Whether a table is no larger than a part.
    fn fits(&self, table: &Arc<dyn ExecutionPlan>) -> bool {
        let rows = memory_rows(table).unwrap_or(u64::MAX);
        rows <= self.rows_of_part(&table.schema())
    }

    /// Runs a plan on the device, as far as its nodes can. `None` if it does not fit.
    async fn attempt(&self, plan: Arc<dyn ExecutionPlan>) -> Result<Option<Vec<RecordBatch>>> {
        let (plan, _) = placement::place(plan, &self.accelerator, run)?;
        self.accelerator.partitions_run.fetch_add(1, Ordering::Relaxed);
        self.ran.add(1);
        let found = match self.rows(&GpuExec::as_part(plan)?).await {
            Err(error) if does_not_fit(&error) => return Ok(None),
            done => done?,
        };
        let bytes = partition::bytes(&found);
        // More than the session may hold: the CPU's plans spill.
        let fits = self.held.lock().try_grow(bytes).is_ok();
        Ok(fits.then_some(found))
    }

    /// Runs the plan of `make` over some of an input's rows at a time. `stop` gets the number of rows read and the
    /// number of rows that came of them, and says whether that is enough.
    async fn in_chunks(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        make: &Make<'_>,
        stop: &(dyn Fn(usize, usize) -> bool + Sync),
    ) -> Result<Option<Parts>> {
        let batches = self.rows(input).await?;
        let all = count(&batches);
        let mut rows = usize::try_from(self.rows_of_part(&input.schema())).unwrap_or(usize::MAX);
        let (mut at, mut so_far, mut parts) = (0, 0, Vec::new());
        while at < all {
            let chunk = slice(&batches, at, rows);
            let taken = count(&chunk);
            match self.attempt(make(vec![materialized_exec::fresh(chunk, input)?])?).await? {
                Some(found) => {
                    at += taken;
                    so_far += count(&found);
                    parts.push(found);
                }
                None if taken / 2 < MIN_ROWS => return Ok(None),
                None => rows = taken / 2,
            }
            if stop(at, so_far) {
                break;
            }
        }
        Ok(Some(parts))
    }

    /// The lowest nodes over some of the rows at a time.
    async fn lowest_in_chunks(&self, links: &[FragmentNode], enough: Option<usize>) -> Result<Option<Parts>> {
        let make = |mut inputs: Plans| self.over(links, inputs.remove(0));
        self.in_chunks(&self.inputs[0], &make, &|_, so_far| enough.is_some_and(|n| so_far >= n)).await
    }

    /// The input of nodes over the result of others, which run first.
    async fn above(&self, below: &[FragmentNode]) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(top) = below.last() else { return Ok(Some(Arc::clone(&self.inputs[0]))) };
        let Some(parts) = self.lowest_in_chunks(below, None).await? else { return Ok(None) };
        materialized_exec::unordered(parts.into_iter().flatten().collect(), &top.node).map(Some)
    }

    async fn groups(&self, links: &[FragmentNode]) -> Result<Option<Vec<RecordBatch>>> {
        let Some((last, below)) = links.split_last() else { return Ok(None) };
        let any: &dyn Any = last.node.as_ref();
        let Some(aggregate) = any.downcast_ref::<AggregateExec>() else { return Ok(None) };
        if !matches!(aggregate.mode(), AggregateMode::Single | AggregateMode::SinglePartitioned) {
            return Ok(None);
        }
        let keys: Vec<_> = aggregate.group_expr().expr().iter().map(|(key, _)| Arc::clone(key)).collect();
        if aggregate.aggr_expr().iter().all(|function| aggregates::merges(function)) {
            let partial = |below: Arc<dyn ExecutionPlan>| -> Result<Arc<dyn ExecutionPlan>> {
                Ok(Arc::new(AggregateExec::try_new(
                    AggregateMode::Partial,
                    aggregate.group_expr().clone(),
                    aggregate.aggr_expr().to_vec(),
                    aggregate.filter_expr().to_vec(),
                    below,
                    aggregate.input_schema(),
                )?))
            };
            // As many states as an eighth of the rows: the host would merge for long.
            let many = AtomicBool::new(false);
            let stop = |rows: usize, states: usize| {
                let are_many = !self.multiplies && !keys.is_empty() && states > rows / 8 && states > MIN_ROWS;
                many.store(are_many, Ordering::Relaxed);
                are_many
            };
            let make = |mut inputs: Plans| partial(self.over(below, inputs.remove(0))?);
            let Some(states) = self.in_chunks(&self.inputs[0], &make, &stop).await? else { return Ok(None) };
            if !many.load(Ordering::Relaxed) {
                let schema = partial(self.over(below, Arc::clone(&self.inputs[0]))?)?.schema();
                let states = MemorySourceConfig::try_new_exec(&[states.concat()], schema, None)?;
                let functions = aggregate.aggr_expr().to_vec();
                let filters = vec![None; functions.len()];
                let (by, schema) = (aggregate.group_expr().as_final(), aggregate.input_schema());
                let merged = AggregateExec::try_new(AggregateMode::Final, by, functions, filters, states, schema)?;
                let merged: Arc<dyn ExecutionPlan> = Arc::new(merged);
                return self.rows(&merged).await.map(Some);
            }
        }
        if self.multiplies || keys.is_empty() || !aggregate.group_expr().is_single() {
            return Ok(None);
        }
        let Some(input) = self.above(below).await? else { return Ok(None) };
        let make = |mut inputs: Plans| last.over(inputs.remove(0), &[]);
        let sides = vec![KeyedRows { rows: self.rows(&input).await?, of: input, keys, spreads_nulls: false }];
        Ok(self.partitioned(sides, &make, 0, false).await?.map(|parts| parts.concat()))
    }

    async fn order(&self, links: &[FragmentNode]) -> Result<Option<Vec<RecordBatch>>> {
        let any: &dyn Any = match links.last() {
            Some(last) => last.node.as_ref(),
            None => return Ok(None),
        };
        let Some(sort) = any.downcast_ref::<SortExec>() else { return Ok(None) };
        let Some(parts) = self.lowest_in_chunks(links, None).await? else { return Ok(None) };
        let runs: Parts = parts.into_iter().filter(|part| count(part) > 0).collect();
        if runs.len() < 2 || sort.fetch().is_some() {
            return self.merged(runs, sort.schema(), sort.expr().clone(), sort.fetch()).await.map(Some);
        }
        // Each range of keys, of all runs, is put in order on the device.
        let (schema, by) = (sort.schema(), sort.expr().clone());
        let rows = self.rows_of_part(&schema);
        let (found_in, of) = (Arc::clone(&schema), by.clone());
        let ranges = blocking(false, move |_| ranges(runs, &found_in, &of, rows)).await??;
        let unordered: Arc<dyn ExecutionPlan> =
            MemorySourceConfig::try_new_exec(&[Vec::new()], Arc::clone(&schema), None)?;
        let mut all = Vec::new();
        for range in ranges {
            let range: Parts = range.into_iter().filter(|part| count(part) > 0).collect();
            if range.len() < 2 {
                all.extend(range.concat());
                continue;
            }
            let rows = materialized_exec::fresh(range.concat(), &unordered)?;
            let found = match self.attempt(Arc::new(SortExec::new(by.clone(), rows))).await? {
                Some(found) => found,
                None => self.merged(range, Arc::clone(&schema), by.clone(), None).await?,
            };
            all.extend(found);
        }
        Ok(Some(all))
    }

    /// Parts in an order as one; of equal rows those of an earlier part come first.
    async fn merged(
        &self,
        parts: Parts,
        schema: SchemaRef,
        by: LexOrdering,
        fetch: Option<usize>,
    ) -> Result<Vec<RecordBatch>> {
        let parts: Parts = parts.into_iter().filter(|part| count(part) > 0).collect();
        if parts.len() < 2 {
            return Ok(parts.concat());
        }
        let parts = MemorySourceConfig::try_new_exec(&parts, schema, None)?;
        let merged = SortPreservingMergeExec::new(by, parts).with_fetch(fetch).with_round_robin_repartition(false);
        let merged: Arc<dyn ExecutionPlan> = Arc::new(merged);
        self.rows(&merged).await
    }

    async fn windows(&self, links: &[FragmentNode]) -> Result<Option<Vec<RecordBatch>>> {
        let Some(keys) = links.iter().find_map(|link| partition_by(&link.node)) else { return Ok(None) };
        let Some(top) = links.last() else { return Ok(None) };
        let input = &self.inputs[0];
        let make = |mut inputs: Plans| self.over(links, inputs.remove(0));
        let sides = vec![KeyedRows {
            rows: self.rows(input).await?,
            of: Arc::clone(input),
            keys: keys.to_vec(),
            spreads_nulls: false,
        }];
        let Some(parts) = self.partitioned(sides, &make, 0, false).await? else { return Ok(None) };
        let any: &dyn Any = links[0].node.as_ref();
        let by = match any.downcast_ref::<SortExec>() {
            Some(sort) => Some(sort.expr().clone()),
            None => input.properties().output_ordering().cloned(),
        };
        match by {
            Some(by) => self.merged(parts, top.node.schema(), by, None).await.map(Some),
            None => Ok(Some(parts.concat())),
        }
    }

    /// Runs a join with both sides hash-partitioned.
    async fn join(&self, link: &FragmentNode) -> Result<Option<Parts>> {
        let any: &dyn Any = link.node.as_ref();
        let (Some(join), Some((other, is_left))) = (any.downcast_ref::<HashJoinExec>(), link.other) else {
            return Ok(None);
        };
        let (mine, its) = (Arc::clone(&self.inputs[0]), Arc::clone(&self.inputs[1 + other]));
        let (left, right) = if is_left { (its, mine) } else { (mine, its) };
        let (left_keys, right_keys) = join.on().iter().cloned().unzip();
        let is_ordered = is_left && (keeps_order(&link.node) || right.properties().output_ordering().is_some());
        if is_ordered && *join.join_type() == JoinType::RightMark {
            return Ok(None);
        }
        // A side that fits stays whole.
        if can_partition(*join.join_type(), Side::Right) && self.fits(&left) {
            let make = |mut inputs: Plans| joined(join, vec![Arc::clone(&left), inputs.remove(0)], None);
            if let Some(parts) = self.in_chunks(&right, &make, &|_, _| false).await? {
                return Ok(Some(parts));
            }
        }
        if can_partition(*join.join_type(), Side::Left) && self.fits(&right) && !is_ordered {
            let make = |mut inputs: Plans| joined(join, vec![inputs.remove(0), Arc::clone(&right)], None);
            if let Some(parts) = self.in_chunks(&left, &make, &|_, _| false).await? {
                return Ok(Some(parts));
            }
        }
        let is_inner = *join.join_type() == JoinType::Inner;
        let spreads_nulls = join.null_equality() == NullEquality::NullEqualsNothing && !join.null_aware;
        let mut sides = Vec::new();
        for (of, keys) in [(left, left_keys), (right, right_keys)] {
            sides.push(KeyedRows { rows: self.rows(&of).await?, of, keys, spreads_nulls });
        }
        if !is_ordered {
            let make = |inputs: Plans| joined(join, inputs, None);
            return self.partitioned(sides, &make, 0, is_inner).await;
        }
        // The order of the right side's rows, by their number.
        let number = Field::new(format!("{HIDDEN}part_row"), DataType::UInt64, false);
        let schema = sides[1].of.schema();
        let fields = schema.fields().iter().map(|field| field.as_ref().clone()).chain([number]);
        let schema = Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone()));
        let mut before = 0_u64;
        for batch in &mut sides[1].rows {
            let numbers = UInt64Array::from_iter_values(before..before + batch.num_rows() as u64);
            before += batch.num_rows() as u64;
            let columns = batch.columns().iter().cloned().chain([Arc::new(numbers) as ArrayRef]);
            *batch = RecordBatch::try_new(Arc::clone(&schema), columns.collect())?;
        }
        sides[1].of = MemorySourceConfig::try_new_exec(&[Vec::new()], schema, None)?;
        let all = join.join_schema().fields().len();
        let projection = match &join.projection {
            Some(projection) => projection.iter().copied().chain([all]).collect(),
            None => (0..=all).collect::<Vec<_>>(),
        };
        let make = |inputs: Plans| joined(join, inputs, Some(projection.clone()));
        let schema = make(sides.iter().map(|side| Arc::clone(&side.of)).collect())?.schema();
        let Some(parts) = self.partitioned(sides, &make, 0, is_inner).await? else { return Ok(None) };
        let last = schema.fields().len() - 1;
        let number = PhysicalSortExpr {
            expr: Arc::new(Column::new(schema.field(last).name(), last)),
            options: SortOptions { descending: false, nulls_first: false },
        };
        let Some(by) = LexOrdering::new([number]) else { return Ok(None) };
        let merged = self.merged(parts, schema, by, None).await?;
        let kept: Vec<usize> = (0..last).collect();
        let merged = merged.iter().map(|batch| Ok(batch.project(&kept)?)).collect::<Result<Vec<_>>>()?;
        Ok(Some(vec![merged]))
    }

    /// Runs the plan of `make` over each partition of some sides. Rows of equal keys are in the same partition.
    async fn partitioned(
        &self,
        mut sides: Vec<KeyedRows>,
        make: &Make<'_>,
        depth: u32,
        can_be_halved: bool,
    ) -> Result<Option<Parts>> {
        let bytes = |side: &KeyedRows| count(&side.rows) as u64 * row_bytes(&side.of.schema());
        let all: u64 = sides.iter().map(bytes).sum();
        let parts: u64 = sides.iter().map(|side| count(&side.rows) as u64 / self.rows_of_part(&side.of.schema())).sum();
        let parts = if depth == 0 { (parts + 1).clamp(2, MAX_PARTITIONS) } else { REPARTITIONS } as usize;
        let mut parted = Vec::new();
        for side in &mut sides {
            let (rows, keys) = (std::mem::take(&mut side.rows), side.keys.clone());
            let by = Hashing { keys, spreads_nulls: side.spreads_nulls, parts, seed: u64::from(depth) };
            parted.push(blocking(false, move |stop| part(&rows, &by, stop)).await??);
        }
        let mut found = Vec::new();
        for number in 0..parts {
            let rows = parted.iter_mut().map(|parts| std::mem::take(&mut parts[number]));
            let sides: Vec<KeyedRows> =
                sides.iter().zip(rows).map(|(side, rows)| KeyedRows { rows, ..side.clone() }).collect();
            if sides.iter().all(|side| count(&side.rows) == 0) {
                continue;
            }
            if let Some(batches) = self.attempt(make(plans(&sides)?)?).await? {
                found.push(batches);
                continue;
            }
            // Rows with equal keys always share a partition, so another hash cannot separate them.
            let is_less = sides.iter().map(bytes).sum::<u64>() < all / 10 * 9;
            let more = match depth < MAX_DEPTH && is_less {
                true if sides.iter().map(|side| count(&side.rows)).sum::<usize>() < MIN_ROWS => None,
                true => Box::pin(self.partitioned(sides, make, depth + 1, can_be_halved)).await?,
                false if can_be_halved => self.halves(sides, make).await?,
                false => None,
            };
            let Some(more) = more else { return Ok(None) };
            found.extend(more);
        }
        Ok(Some(found))
    }

    /// Runs the node for each half of the larger side with all rows of the other sides. This is correct for inner joins
    /// only, which find the matches of a row independently of other rows.
    async fn halves(&self, mut sides: Vec<KeyedRows>, make: &Make<'_>) -> Result<Option<Parts>> {
        let Some(larger) = (0..sides.len()).max_by_key(|side| count(&sides[*side].rows)) else { return Ok(None) };
        let whole = std::mem::take(&mut sides[larger].rows);
        let (mut found, all) = (Vec::new(), count(&whole));
        for (at, rows) in [(0, all / 2), (all / 2, all - all / 2)] {
            sides[larger].rows = slice(&whole, at, rows);
            let more = match self.attempt(make(plans(&sides)?)?).await? {
                Some(batches) => vec![batches],
                None if rows < MIN_ROWS => return Ok(None),
                None => match Box::pin(self.halves(sides.clone(), make)).await? {
                    Some(more) => more,
                    None => return Ok(None),
                },
            };
            found.extend(more);
        }
        Ok(Some(found))
    }
}

#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

/// Whether a join gives for all rows of a side what it gives for some of them at a time.
fn can_partition(kind: JoinType, side: Side) -> bool {
    use JoinType::{Inner, Left, LeftAnti, LeftMark, LeftSemi, Right, RightAnti, RightMark, RightSemi};
    match side {
        Side::Left => matches!(kind, Inner | Left | LeftSemi | LeftAnti | LeftMark),
        Side::Right => matches!(kind, Inner | Right | RightSemi | RightAnti | RightMark),
    }
}

/// Whether a node's windows are over groups of rows.
fn groups_rows(node: &Arc<dyn ExecutionPlan>) -> bool {
    partition_by(node).is_some_and(|keys| !keys.is_empty())
}

/// Rows to be hash-partitioned by keys, and the plan node whose output they are.
#[derive(Clone)]
struct KeyedRows {
    rows: Vec<RecordBatch>,
    of: Arc<dyn ExecutionPlan>,
    keys: Vec<Arc<dyn PhysicalExpr>>,
    /// Whether rows without a key meet none: they can be anywhere.
    spreads_nulls: bool,
}

fn plans(sides: &[KeyedRows]) -> Result<Plans> {
    sides.iter().map(|side| materialized_exec::fresh(side.rows.clone(), &side.of)).collect()
}

/// A join of other inputs.
fn joined(join: &HashJoinExec, inputs: Plans, projection: Option<Vec<usize>>) -> Result<Arc<dyn ExecutionPlan>> {
    let [left, right] = <[_; 2]>::try_from(inputs)
        .map_err(|inputs| DataFusionError::Internal(format!("a join of {} tables", inputs.len())))?;
    let projection = projection.or_else(|| join.projection.as_ref().map(|of| of.to_vec()));
    let plan: Arc<dyn ExecutionPlan> = Arc::new(HashJoinExec::try_new(
        left,
        right,
        join.on().to_vec(),
        join.filter().cloned(),
        join.join_type(),
        projection,
        *join.partition_mode(),
        join.null_equality(),
        join.null_aware,
    )?);
    Ok(join.fetch().and_then(|fetch| plan.with_fetch(Some(fetch))).unwrap_or(plan))
}

fn does_not_fit(error: &DataFusionError) -> bool {
    match error.find_root() {
        DataFusionError::External(error) => error.is::<DoesNotFit>(),
        _ => false,
    }
}
