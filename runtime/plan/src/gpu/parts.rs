//! A fragment that does not fit into the device's memory, in parts that do. It is cut from below at what needs all rows at once; each cut runs
//! over some of the rows at a time, and the host puts together what comes of them:
//!
//! - filters, projections and joins with a table that fits: over some of the rows, one after the other;
//! - aggregates whose states can be merged, if there are few groups: the states of some of the rows, merged by DataFusion;
//! - orders: some of the rows in order, then each range of keys of all of these (of the first rows: merged by DataFusion);
//! - other aggregates, windows and joins: all inputs are parted by a hash of the keys first, so that rows of the same keys meet
//!   (Kitsuregawa, Tanaka and Moto-oka, "Application of hash to data base machine and its architecture", 1983).
//!
//! What of this does not fit is halved, or parted again by another hash.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use arrow::array::make_comparator;
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, UInt32Array, UInt64Array};
use arrow::compute::{
    SortColumn, SortOptions, cast, concat, concat_batches, lexsort_to_indices, take, take_record_batch,
};
use arrow::datatypes::{DataType, Field, Float32Type, Float64Type, Schema, SchemaRef};
use datafusion::common::hash_utils::{RandomState, create_hashes};
use datafusion::common::{JoinType, NullEquality};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{ExecutionPlan, WindowExpr, execute_stream};
use futures::TryStreamExt;

use super::exec::{DoesNotFit, GpuExec, Link, StopOnDrop, blocking};
use super::nodes::{is_light, keeps_order};
use super::place::place;
use super::{Accelerator, Policy, aggregates, memory, read};
use crate::check::HIDDEN;

/// A part is at first this share of the memory that is free: its input, what is made of it, and what that takes.
const SHARE: u64 = 8;
/// Parts of fewer rows are not tried.
const LEAST: usize = 256;
/// How often rows are parted by another hash, and into how many parts at most, at first and then.
const DEPTH: u32 = 4;
const MOST: u64 = 1 << 10;
const AGAIN: u64 = 4;
/// Rows whose parts are found at once, at least: what a part is made of should be few arrays.
const PIECE: usize = 1 << 18;
/// Pieces for each thread.
const PIECES: usize = 2;
/// Rows of a run that are looked at for each range of an order.
const SAMPLES: usize = 8;
/// Bytes of a value whose type does not tell.
const TEXT: u64 = 32;

/// A fragment that did not fit.
pub struct Fragment {
    pub accelerator: Arc<Accelerator>,
    /// The topmost first.
    pub chain: Vec<Link>,
    /// What it goes over, and what is joined: rows in memory.
    pub inputs: Vec<Arc<dyn ExecutionPlan>>,
    pub context: Arc<TaskContext>,
}

/// How the lowest nodes of a fragment run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Some rows at a time.
    Rows,
    Groups,
    Order,
    Windows,
    /// A join whose sides are both parted.
    Apart,
    /// On the host.
    Host,
}

type Parts = Vec<Vec<RecordBatch>>;
type Plans = Vec<Arc<dyn ExecutionPlan>>;
/// A plan over some inputs.
type Make<'a> = dyn Fn(Plans) -> Result<Arc<dyn ExecutionPlan>> + Sync + 'a;

/// All of a fragment's rows; nothing where some of it cannot be parted, or no part fits.
pub async fn run(fragment: Fragment) -> Result<Option<SendableRecordBatchStream>> {
    let chain: Vec<Link> = fragment.chain.iter().rev().cloned().collect();
    let (count, way) = fragment.lowest(&chain);
    let (lowest, rest) = chain.split_at(count);
    let Some(top) = lowest.last() else { return Ok(None) };
    let found = match way {
        Way::Rows => fragment.lowest_in_chunks(lowest, rest.first().and_then(wanted)).await?,
        Way::Groups => fragment.groups(lowest).await?.map(|batches| vec![batches]),
        Way::Order => fragment.order(lowest).await?.map(|batches| vec![batches]),
        Way::Windows => fragment.windows(lowest).await?.map(|batches| vec![batches]),
        Way::Apart => fragment.join(&lowest[0]).await?,
        Way::Host => match fragment.accelerator.policy == Policy::Only && !numbers_rows(&lowest[0].node) {
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
    let batches = batches.map(|batch| with_schema(&batch, &schema)).collect::<Result<Vec<_>>>()?;
    let below = read::again(batches, &top.node)?;
    if rest.is_empty() {
        return below.execute(0, Arc::clone(&fragment.context)).map(Some);
    }
    let (plan, _) = place(fragment.over(rest, below)?, &fragment.accelerator)?;
    execute_stream(plan, Arc::clone(&fragment.context)).map(Some)
}

/// How many rows a limit needs.
fn wanted(link: &Link) -> Option<usize> {
    let any: &dyn Any = link.node.as_ref();
    let global = any.downcast_ref::<GlobalLimitExec>().and_then(|limit| Some(limit.skip() + limit.fetch()?));
    global.or_else(|| any.downcast_ref::<LocalLimitExec>().map(LocalLimitExec::fetch))
}

/// Those that are the same type are the same rows.
fn with_schema(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), batch.columns().to_vec(), &options)?)
}

fn row_bytes(schema: &Schema) -> u64 {
    let width = |field: &Arc<Field>| match field.data_type() {
        DataType::Boolean => 1,
        dtype => dtype.primitive_width().map_or(TEXT, |bytes| bytes as u64),
    };
    schema.fields().iter().map(width).sum::<u64>().max(1)
}

fn count(batches: &[RecordBatch]) -> usize {
    batches.iter().map(RecordBatch::num_rows).sum()
}

/// Some rows of a table.
fn slice(batches: &[RecordBatch], at: usize, rows: usize) -> Vec<RecordBatch> {
    let (mut before, mut found) = (0, Vec::new());
    for batch in batches {
        let (from, to) = (at.max(before), (at.saturating_add(rows)).min(before + batch.num_rows()));
        if from < to {
            found.push(batch.slice(from - before, to - from));
        }
        before += batch.num_rows();
    }
    found
}

/// Of a window node.
fn windows_of(node: &Arc<dyn ExecutionPlan>) -> Option<&[Arc<dyn WindowExpr>]> {
    let any: &dyn Any = node.as_ref();
    let bounded = any.downcast_ref::<BoundedWindowAggExec>().map(BoundedWindowAggExec::window_expr);
    bounded.or_else(|| any.downcast_ref::<WindowAggExec>().map(WindowAggExec::window_expr))
}

/// What all windows of a node are parted by.
fn partition_by(node: &Arc<dyn ExecutionPlan>) -> Option<&[Arc<dyn PhysicalExpr>]> {
    let [first, others @ ..] = windows_of(node)? else { return None };
    others.iter().all(|other| other.partition_by() == first.partition_by()).then(|| first.partition_by())
}

/// Whether a node does nothing but number its input's rows, which costs the host nothing.
fn numbers_rows(node: &Arc<dyn ExecutionPlan>) -> bool {
    let plain = |window: &Arc<dyn WindowExpr>| {
        window.partition_by().is_empty() && window.order_by().is_empty() && window.name().starts_with("row_number()")
    };
    windows_of(node).is_some_and(|windows| windows.iter().all(plain))
}

impl Fragment {
    /// Bytes of a part, for a start.
    fn budget(&self) -> u64 {
        let ledger = self.accelerator.gpu.context().device().ledger();
        let held = self.accelerator.gpu.residency.bytes();
        // What lies there for later makes room.
        (ledger.capacity().saturating_sub(ledger.total().used.saturating_sub(held)) / SHARE).max(1)
    }

    /// Rows of a part, for a start.
    fn rows_of_part(&self, schema: &Schema) -> u64 {
        let fit = || (self.budget() / row_bytes(schema)).max(LEAST as u64);
        self.accelerator.part_rows.unwrap_or_else(fit)
    }

    fn over(&self, links: &[Link], below: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        links.iter().try_fold(below, |below, link| link.over(below, &self.inputs[1..]))
    }

    async fn rows(&self, plan: &Arc<dyn ExecutionPlan>) -> Result<Vec<RecordBatch>> {
        // Those in memory as they lie there: a stream would cut them into thousands.
        if let Some((batches, columns)) = memory(plan) {
            return batches.iter().map(|batch| Ok(batch.project(&columns)?)).collect();
        }
        execute_stream(Arc::clone(plan), Arc::clone(&self.context))?.try_collect().await
    }

    /// How many of the lowest nodes run in which way.
    fn lowest(&self, chain: &[Link]) -> (usize, Way) {
        for (at, link) in chain.iter().enumerate() {
            let any: &dyn Any = link.node.as_ref();
            let (next, way) = match link.other {
                _ if is_light(&link.node) => continue,
                Some((other, is_left)) => match any.downcast_ref::<HashJoinExec>() {
                    Some(join) if self.joins_rows(join, &self.inputs[1 + other], is_left) => continue,
                    Some(_) => (0, Way::Apart),
                    None => (0, Way::Host),
                },
                None if any.is::<AggregateExec>() => (1, Way::Groups),
                None if any.is::<SortExec>() => match chain.get(at + 1).is_some_and(|next| groups_rows(&next.node)) {
                    true => (0, Way::Windows),
                    false => (1, Way::Order),
                },
                None if groups_rows(&link.node) => (0, Way::Windows),
                None => (0, Way::Host),
            };
            return match (at + next, way) {
                // What is below comes first.
                (below, _) if next == 0 && below > 0 => (below, Way::Rows),
                (_, Way::Windows) => (self.same_windows(chain), Way::Windows),
                (0, way) => (1, way),
                (count, way) => (count, way),
            };
        }
        (chain.len(), Way::Rows)
    }

    /// The nodes from the lowest on, an order or a window, whose windows are parted by the same keys.
    fn same_windows(&self, chain: &[Link]) -> usize {
        let sorts = usize::from(windows_of(&chain[0].node).is_none());
        let by = chain.get(sorts).and_then(|link| partition_by(&link.node));
        sorts + chain[sorts..].iter().take_while(|link| by.is_some() && partition_by(&link.node) == by).count()
    }

    /// Whether a join gives for some of the pipeline's rows what it gives for all, and its table fits.
    fn joins_rows(&self, join: &HashJoinExec, table: &Arc<dyn ExecutionPlan>, is_left: bool) -> bool {
        in_parts(*join.join_type(), if is_left { Side::Right } else { Side::Left }) && self.fits(table)
    }

    /// Whether a table is no larger than a part.
    fn fits(&self, table: &Arc<dyn ExecutionPlan>) -> bool {
        let rows = read::rows(table).map_or(u64::MAX, |batches| count(batches) as u64);
        rows <= self.rows_of_part(&table.schema())
    }

    /// What a plan gives on the device, as far as it can be there; nothing if it does not fit.
    async fn attempt(&self, plan: Arc<dyn ExecutionPlan>) -> Result<Option<Vec<RecordBatch>>> {
        let (plan, _) = place(plan, &self.accelerator)?;
        self.accelerator.in_parts.fetch_add(1, Ordering::Relaxed);
        match self.rows(&GpuExec::as_part(plan)?).await {
            Err(error) if does_not_fit(&error) => Ok(None),
            done => done.map(Some),
        }
    }

    /// What `make` makes of some of an input's rows at a time. `stop`: told of how many rows something came, and how many have come so far,
    /// whether that is enough.
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
            match self.attempt(make(vec![read::again(chunk, input)?])?).await? {
                Some(found) => {
                    at += taken;
                    so_far += count(&found);
                    parts.push(found);
                }
                None if taken / 2 < LEAST => return Ok(None),
                None => rows = taken / 2,
            }
            if stop(at, so_far) {
                break;
            }
        }
        Ok(Some(parts))
    }

    /// The lowest nodes over some of the rows at a time.
    async fn lowest_in_chunks(&self, links: &[Link], enough: Option<usize>) -> Result<Option<Parts>> {
        let make = |mut inputs: Plans| self.over(links, inputs.remove(0));
        self.in_chunks(&self.inputs[0], &make, &|_, so_far| enough.is_some_and(|n| so_far >= n)).await
    }

    /// Those of nodes over what others gave, which are done first.
    async fn above(&self, below: &[Link]) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(top) = below.last() else { return Ok(Some(Arc::clone(&self.inputs[0]))) };
        let Some(parts) = self.lowest_in_chunks(below, None).await? else { return Ok(None) };
        read::again(parts.into_iter().flatten().collect(), &top.node).map(Some)
    }

    async fn groups(&self, links: &[Link]) -> Result<Option<Vec<RecordBatch>>> {
        let Some((last, below)) = links.split_last() else { return Ok(None) };
        let any: &dyn Any = last.node.as_ref();
        let Some(aggregate) = any.downcast_ref::<AggregateExec>() else { return Ok(None) };
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
            // As many states as half of the rows: nothing is won.
            let many = AtomicBool::new(false);
            let stop = |rows: usize, states: usize| {
                let are_many = !keys.is_empty() && states > rows / 2 && states > LEAST;
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
        if keys.is_empty() || !aggregate.group_expr().is_single() {
            return Ok(None);
        }
        let Some(input) = self.above(below).await? else { return Ok(None) };
        let make = |mut inputs: Plans| last.over(inputs.remove(0), &[]);
        let sides = vec![Keyed { rows: self.rows(&input).await?, of: input, keys, spreads_nulls: false }];
        Ok(self.apart(sides, &make, 0, false).await?.map(|parts| parts.concat()))
    }

    async fn order(&self, links: &[Link]) -> Result<Option<Vec<RecordBatch>>> {
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
        let ranges = blocking(move || ranges(runs, &found_in, &of, rows)).await??;
        let unordered: Arc<dyn ExecutionPlan> =
            MemorySourceConfig::try_new_exec(&[Vec::new()], Arc::clone(&schema), None)?;
        let mut all = Vec::new();
        for range in ranges {
            let range: Parts = range.into_iter().filter(|part| count(part) > 0).collect();
            if range.len() < 2 {
                all.extend(range.concat());
                continue;
            }
            let rows = read::again(range.concat(), &unordered)?;
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

    async fn windows(&self, links: &[Link]) -> Result<Option<Vec<RecordBatch>>> {
        let Some(keys) = links.iter().find_map(|link| partition_by(&link.node)) else { return Ok(None) };
        let Some(top) = links.last() else { return Ok(None) };
        let input = &self.inputs[0];
        let make = |mut inputs: Plans| self.over(links, inputs.remove(0));
        let sides = vec![Keyed {
            rows: self.rows(input).await?,
            of: Arc::clone(input),
            keys: keys.to_vec(),
            spreads_nulls: false,
        }];
        let Some(parts) = self.apart(sides, &make, 0, false).await? else { return Ok(None) };
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

    /// A join of which both sides are parted.
    async fn join(&self, link: &Link) -> Result<Option<Parts>> {
        let any: &dyn Any = link.node.as_ref();
        let (Some(join), Some((other, is_left))) = (any.downcast_ref::<HashJoinExec>(), link.other) else {
            return Ok(None);
        };
        let (mine, its) = (Arc::clone(&self.inputs[0]), Arc::clone(&self.inputs[1 + other]));
        let (left, right) = if is_left { (its, mine) } else { (mine, its) };
        let (left_keys, right_keys) = join.on().iter().cloned().unzip();
        let is_ordered = is_left && (keeps_order(join) || right.properties().output_ordering().is_some());
        // A side that fits stays whole.
        if in_parts(*join.join_type(), Side::Right) && self.fits(&left) {
            let make = |mut inputs: Plans| joined(join, vec![Arc::clone(&left), inputs.remove(0)], None);
            if let Some(parts) = self.in_chunks(&right, &make, &|_, _| false).await? {
                return Ok(Some(parts));
            }
        }
        if in_parts(*join.join_type(), Side::Left) && self.fits(&right) && !is_ordered {
            let make = |mut inputs: Plans| joined(join, vec![inputs.remove(0), Arc::clone(&right)], None);
            if let Some(parts) = self.in_chunks(&left, &make, &|_, _| false).await? {
                return Ok(Some(parts));
            }
        }
        let is_inner = *join.join_type() == JoinType::Inner;
        let spreads_nulls = join.null_equality() == NullEquality::NullEqualsNothing && !join.null_aware;
        let mut sides = Vec::new();
        for (of, keys) in [(left, left_keys), (right, right_keys)] {
            sides.push(Keyed { rows: self.rows(&of).await?, of, keys, spreads_nulls });
        }
        if !is_ordered {
            let make = |inputs: Plans| joined(join, inputs, None);
            return self.apart(sides, &make, 0, is_inner).await;
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
        let Some(parts) = self.apart(sides, &make, 0, is_inner).await? else { return Ok(None) };
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

    /// What `make` makes of the parts of some sides, whose rows of the same keys are in the same one.
    async fn apart(
        &self,
        sides: Vec<Keyed>,
        make: &Make<'_>,
        depth: u32,
        can_be_halved: bool,
    ) -> Result<Option<Parts>> {
        let bytes = |side: &Keyed| count(&side.rows) as u64 * row_bytes(&side.of.schema());
        let all: u64 = sides.iter().map(bytes).sum();
        let parts: u64 = sides.iter().map(|side| count(&side.rows) as u64 / self.rows_of_part(&side.of.schema())).sum();
        let parts = if depth == 0 { (parts + 1).clamp(2, MOST) } else { AGAIN } as usize;
        let (mut of, mut parted) = (Vec::new(), Vec::new());
        for Keyed { rows, of: plan, keys, spreads_nulls } in sides {
            let stop = Arc::new(AtomicBool::new(false));
            let _guard = StopOnDrop(Arc::clone(&stop));
            let by = Hashing { keys: keys.clone(), spreads_nulls, parts, seed: u64::from(depth) };
            parted.push(blocking(move || part(&rows, &by, &stop)).await??);
            of.push((plan, keys, spreads_nulls));
        }
        let mut found = Vec::new();
        for number in 0..parts {
            let rows: Parts = parted.iter_mut().map(|parts| std::mem::take(&mut parts[number])).collect();
            if rows.iter().all(|side| count(side) == 0) {
                continue;
            }
            let inputs = rows.iter().zip(&of).map(|(rows, (of, ..))| read::again(rows.clone(), of));
            if let Some(batches) = self.attempt(make(inputs.collect::<Result<_>>()?)?).await? {
                found.push(batches);
                continue;
            }
            let sides: Vec<Keyed> = rows
                .into_iter()
                .zip(&of)
                .map(|(rows, (of, keys, spreads_nulls))| {
                    let (of, keys) = (Arc::clone(of), keys.clone());
                    Keyed { rows, of, keys, spreads_nulls: *spreads_nulls }
                })
                .collect();
            // Rows of one key stay together: they cannot be parted.
            let is_less = sides.iter().map(bytes).sum::<u64>() < all / 10 * 9;
            let more = match depth < DEPTH && is_less {
                true if sides.iter().map(|side| count(&side.rows)).sum::<usize>() < LEAST => None,
                true => Box::pin(self.apart(sides, make, depth + 1, can_be_halved)).await?,
                false if can_be_halved => self.halves(sides, make).await?,
                false => None,
            };
            let Some(more) = more else { return Ok(None) };
            found.extend(more);
        }
        Ok(Some(found))
    }

    /// The same of halves of the larger side and all of the others, where that is all: of rows of one key that an inner join finds.
    async fn halves(&self, mut sides: Vec<Keyed>, make: &Make<'_>) -> Result<Option<Parts>> {
        let Some(larger) = (0..sides.len()).max_by_key(|side| count(&sides[*side].rows)) else { return Ok(None) };
        let whole = std::mem::take(&mut sides[larger].rows);
        let (mut found, all) = (Vec::new(), count(&whole));
        for (at, rows) in [(0, all / 2), (all / 2, all - all / 2)] {
            sides[larger].rows = slice(&whole, at, rows);
            let inputs = sides.iter().map(|side| read::again(side.rows.clone(), &side.of)).collect::<Result<_>>()?;
            let more = match self.attempt(make(inputs)?).await? {
                Some(batches) => vec![batches],
                None if rows < LEAST => return Ok(None),
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
fn in_parts(kind: JoinType, side: Side) -> bool {
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

/// Rows that are parted by keys, and the node that they stand for.
#[derive(Clone)]
struct Keyed {
    rows: Vec<RecordBatch>,
    of: Arc<dyn ExecutionPlan>,
    keys: Vec<Arc<dyn PhysicalExpr>>,
    /// Whether rows without a key meet none: they can be anywhere.
    spreads_nulls: bool,
}

/// A join of other inputs.
fn joined(
    join: &HashJoinExec,
    inputs: Vec<Arc<dyn ExecutionPlan>>,
    projection: Option<Vec<usize>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let [left, right] = <[_; 2]>::try_from(inputs)
        .map_err(|inputs| DataFusionError::Internal(format!("a join of {} tables", inputs.len())))?;
    let projection = projection.or_else(|| join.projection.as_ref().map(|of| of.to_vec()));
    Ok(Arc::new(HashJoinExec::try_new(
        left,
        right,
        join.on().to_vec(),
        join.filter().cloned(),
        join.join_type(),
        projection,
        *join.partition_mode(),
        join.null_equality(),
        join.null_aware,
    )?))
}

fn does_not_fit(error: &DataFusionError) -> bool {
    match error.find_root() {
        DataFusionError::External(error) => error.is::<DoesNotFit>(),
        _ => false,
    }
}

impl fmt::Debug for Fragment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fragment({:?})", self.chain)
    }
}

/// Keys that are equal have the same bits.
fn plain(key: ArrayRef) -> Result<ArrayRef> {
    Ok(match key.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => cast(&key, &DataType::Utf8View)?,
        DataType::Dictionary(_, values) => {
            let values = if values.is_string() { DataType::Utf8View } else { values.as_ref().clone() };
            cast(&key, &values)?
        }
        DataType::Float64 => {
            let one = |x: f64| if x.is_nan() { f64::NAN } else { x + 0.0 };
            Arc::new(key.as_primitive::<Float64Type>().unary::<_, Float64Type>(one))
        }
        DataType::Float32 => {
            let one = |x: f32| if x.is_nan() { f32::NAN } else { x + 0.0 };
            Arc::new(key.as_primitive::<Float32Type>().unary::<_, Float32Type>(one))
        }
        _ => key,
    })
}

/// Runs that are in an order, cut at the same keys into ranges of about so many rows in all: the pieces of each range, in the order of the
/// runs. (Frazer and McKellar, "Samplesort: a sampling approach to minimal storage tree sorting", 1970.)
fn ranges(runs: Parts, schema: &SchemaRef, by: &LexOrdering, rows: u64) -> Result<Vec<Parts>> {
    let runs = runs.iter().map(|run| Ok(concat_batches(schema, run)?)).collect::<Result<Vec<_>>>()?;
    let all: usize = runs.iter().map(RecordBatch::num_rows).sum();
    // Samples are not even: ranges of two thirds fit.
    let wanted = (all as u64 * 3 / 2 / rows.max(1) + 1).clamp(2, MOST) as usize;
    let keys_of = |run: &RecordBatch| -> Result<Vec<ArrayRef>> {
        by.iter().map(|key| plain(key.expr.evaluate(run)?.into_array(run.num_rows())?)).collect()
    };
    let keys = runs.iter().map(keys_of).collect::<Result<Vec<_>>>()?;
    let mut samples = vec![Vec::new(); by.len()];
    for (run, keys) in runs.iter().zip(&keys) {
        let (rows, most) = (run.num_rows(), (wanted * SAMPLES).min(run.num_rows()));
        let at = UInt32Array::from_iter_values((0..most).map(|sample| (sample * rows / most) as u32));
        for (samples, key) in samples.iter_mut().zip(keys) {
            samples.push(take(key, &at, None)?);
        }
    }
    let column = |(samples, key): (&Vec<ArrayRef>, &PhysicalSortExpr)| -> Result<SortColumn> {
        let samples: Vec<&dyn Array> = samples.iter().map(AsRef::as_ref).collect();
        Ok(SortColumn { values: concat(&samples)?, options: Some(key.options) })
    };
    let columns = samples.iter().zip(by.iter()).map(column).collect::<Result<Vec<_>>>()?;
    let order = lexsort_to_indices(&columns, None)?;
    let edges = (1..wanted).map(|edge| order.value(edge * order.len() / wanted) as usize).collect::<Vec<_>>();
    let mut found: Vec<Parts> = (0..wanted).map(|_| Vec::new()).collect();
    for (run, keys) in runs.iter().zip(&keys) {
        let compare = |(key, (samples, by)): (&ArrayRef, (&SortColumn, &PhysicalSortExpr))| {
            Ok(make_comparator(key.as_ref(), samples.values.as_ref(), by.options)?)
        };
        let compare = keys.iter().zip(columns.iter().zip(by.iter())).map(compare).collect::<Result<Vec<_>>>()?;
        let is_before = |row: usize, sample: usize| {
            let differs = compare.iter().map(|compare| compare(row, sample)).find(|found| found.is_ne());
            differs == Some(std::cmp::Ordering::Less)
        };
        let mut begin = 0;
        for (number, range) in found.iter_mut().enumerate() {
            // The first row that is not before the edge: all rows of one key are in the same range.
            let mut end = run.num_rows();
            if let Some(edge) = edges.get(number) {
                let mut low = begin;
                while low < end {
                    let middle = low.midpoint(end);
                    if is_before(middle, *edge) { low = middle + 1 } else { end = middle }
                }
            }
            range.push(if begin < end { vec![run.slice(begin, end - begin)] } else { Vec::new() });
            begin = end;
        }
    }
    Ok(found)
}

/// How rows are parted.
struct Hashing {
    keys: Vec<Arc<dyn PhysicalExpr>>,
    /// As [`Keyed`]'s.
    spreads_nulls: bool,
    parts: usize,
    seed: u64,
}

/// The rows of each part, in their order.
fn part(batches: &[RecordBatch], by: &Hashing, stop: &AtomicBool) -> Result<Parts> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let size = (count(batches) / (PIECES * threads)).max(PIECE);
    let all = count(batches);
    let pieces: Vec<Vec<RecordBatch>> = (0..all).step_by(size).map(|at| slice(batches, at, size)).collect();
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, Vec<RecordBatch>)>> {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = pieces.get(number) else { return Ok(done) };
            if stop.load(Ordering::Relaxed) {
                return Err(DataFusionError::External(Box::new(onrush_ops::Error::Cancelled)));
            }
            let Some(first) = piece.first() else { continue };
            let piece = concat_batches(&first.schema(), piece)?;
            done.push((number, part_piece(&piece, by)?));
        }
    };
    let threads = threads.min(pieces.len().max(1));
    let done = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let join = |handle: std::thread::ScopedJoinHandle<'_, Result<Vec<_>>>| {
            handle
                .join()
                .unwrap_or_else(|_| Err(DataFusionError::Internal("a thread that parts rows panicked".to_string())))
        };
        handles.into_iter().map(join).collect::<Result<Vec<_>>>()
    })?;
    let mut done: Vec<_> = done.into_iter().flatten().collect();
    done.sort_unstable_by_key(|(number, _)| *number);
    let mut found = vec![Vec::new(); by.parts];
    for (_, piece) in done {
        for (part, rows) in found.iter_mut().zip(piece) {
            if rows.num_rows() > 0 {
                part.push(rows);
            }
        }
    }
    Ok(found)
}

/// Another hash of a hash: the finalizer of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn part_piece(piece: &RecordBatch, by: &Hashing) -> Result<Vec<RecordBatch>> {
    let Hashing { keys, spreads_nulls, parts, seed } = by;
    let parts = *parts;
    let rows = piece.num_rows();
    let evaluate = |key: &Arc<dyn PhysicalExpr>| plain(key.evaluate(piece)?.into_array(rows)?);
    let arrays = keys.iter().map(evaluate).collect::<Result<Vec<_>>>()?;
    let mut hashes = vec![0; rows];
    create_hashes(&arrays, &RandomState::with_seed(0), &mut hashes)?;
    if *spreads_nulls && arrays.iter().any(|array| array.logical_null_count() > 0) {
        let nulls: Vec<_> = arrays.iter().filter_map(|array| array.logical_nulls()).collect();
        let lacks = |row: usize| nulls.iter().any(|nulls| nulls.is_null(row));
        hashes.iter_mut().zip(0..).filter(|(_, row)| lacks(*row)).for_each(|(hash, row)| *hash = row as u64);
    }
    hashes.iter_mut().for_each(|hash| *hash = mixed(*hash ^ (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let of = |hash: &u64| ((hash >> 32) as usize * parts) >> 32;
    let mut ends = vec![0_usize; parts + 1];
    hashes.iter().for_each(|hash| ends[of(hash) + 1] += 1);
    (0..parts).for_each(|part| ends[part + 1] += ends[part]);
    let (begins, mut places) = (ends.clone(), ends);
    let mut order = vec![0_u32; rows];
    for (row, hash) in hashes.iter().enumerate() {
        let place = &mut places[of(hash)];
        order[*place] = row as u32;
        *place += 1;
    }
    let sorted = take_record_batch(piece, &UInt32Array::from(order))?;
    Ok((0..parts).map(|part| sorted.slice(begins[part], begins[part + 1] - begins[part])).collect())
}
