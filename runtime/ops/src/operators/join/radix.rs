//! Radix-partitioned hash joins for build tables that are larger than the L2 cache: both sides are partitioned by the
//! hash of their keys. Then build, probe and column reads work on one partition at a time, which the cache holds.
//!
//! Used only below aggregates, which need no row order. The partitions change no result but the last bits of float
//! sums, so they are independent of the table's layout. Dense keys stay in place (`partition/l2.rs` has the
//! measurement). After Schuh, Chen and Dittrich, "An Experimental Comparison of Thirteen Relational Equi-Joins in Main
//! Memory", 2016. Also after Sioulas et al., "Hardware-Conscious Hash-Joins on GPUs", 2019. Partitions of the size of
//! the L2 cache, instead of shared memory, take one pass.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::Result;
use crate::codegen::group::KeyLookup;
use crate::codegen::join::stride;
use crate::codegen::partition::{self, PartitionedColumn};
use crate::codegen::{KernelBody, RowSource, SideInputs};
use crate::column::output_column::OutputColumn;
use crate::column::{DeviceColumn, DeviceTable};
use crate::ir::expr::{DeviceType, ExprGraph, NodeId, Op};
use crate::launch::kernel_cache::KernelCache;
use crate::operators::group::{GroupContext, GroupCountHints};
use crate::operators::join::{self, MOST_ROWS, SLOTS};
use crate::operators::partition::l2::parts_of;
use crate::operators::partition::shared::{IN_PLACE, WIDEST, is_movable};
use crate::pipeline::dictionary_propagation::reads_previous_stage;
use crate::pipeline::{JoinKind, Sink, Stage};

/// Radix-partitions the first stage's table and its build side, if that pays. Returns whether it did.
pub(crate) fn joins(
    tools: &GroupContext,
    memo: &KernelCache,
    stages: &[Stage],
    table: &mut Cow<DeviceTable>,
    others: &mut [DeviceTable],
) -> Result<bool> {
    let stage = &stages[0];
    let [join] = &stage.joins[..] else { return Ok(false) };
    let other = &others[join.table];
    // The most bytes of the table: most joins end here.
    let most = SLOTS * other.rows * (3 + 2 * join.keys.len() as u64).next_multiple_of(4) * 8;
    if !tools.exceeds_l2(table.rows, most) || table.rows.max(other.rows) > MOST_ROWS || join.is_all() {
        return Ok(false);
    }
    let in_forms = table.to_representation(tools.context, &stage.graph)?;
    let Some(read) = read(stage, stages.get(1), &in_forms) else { return Ok(false) };
    let of_other = {
        let keys = inputs(&join.graph, &join.keys);
        let all = join::used(stage, 0, other.columns.len()).into_iter().chain(keys.iter().copied());
        ColumnSet::new(all.collect(), keys.iter().copied().chain(joined_keys(stage)).collect())
    };
    if !of_other.are_movable(other) || !read.are_movable(&in_forms) {
        return Ok(false);
    }
    let source = RowSource::of(tools.context, other, &|index| of_other.keys.contains(&index))?;
    let body = KernelBody::new(&source, &join.graph, SideInputs::default(), None, memo);
    let key_lookup = join::choose_key_lookup(&body, &join.keys, join.nulls_equal, other.rows)?;
    let bytes = SLOTS * other.rows * u64::from(stride(&key_lookup)) * 8;
    if matches!(key_lookup, KeyLookup::Direct { .. }) || !tools.exceeds_l2(table.rows, bytes) {
        return Ok(false);
    }
    // Copies that leave no memory for the table are worse than none.
    let room = tools.context.device().ledger().room();
    if of_other.bytes(other) + read.bytes(&in_forms) + bytes > room {
        return Ok(false);
    }
    let with = TablePartitioner { tools, memo, parts: parts_of(bytes) };
    let by = key_lookup.over(&stage.graph.node(join.probe).args);
    // An inner join drops rows that do not pass the probe filter here. Other joins keep them.
    let filter = join.probe_filter.filter(|_| join.how == JoinKind::Inner);
    let Some(moved) = with.table(&in_forms, &stage.graph, &by, filter, &read)? else { return Ok(false) };
    if let Some(other) = with.table(other, &join.graph, &key_lookup, None, &of_other)? {
        others[join.table] = other;
    }
    *table = Cow::Owned(moved);
    Ok(true)
}

/// Columns of a table that are moved, by their numbers, and those of them that keys are made of.
struct ColumnSet {
    all: Vec<usize>,
    keys: Vec<usize>,
}

impl ColumnSet {
    fn new(mut all: Vec<usize>, keys: Vec<usize>) -> ColumnSet {
        all.sort_unstable();
        all.dedup();
        ColumnSet { all, keys }
    }

    /// Whether all have a width, and rows are no wider than what is worth moving.
    fn are_movable(&self, table: &DeviceTable) -> bool {
        let kinds = || self.all.iter().map(|index| table.columns[*index].kind);
        kinds().all(|kind| !matches!(kind, DeviceType::String | DeviceType::ListView))
            && kinds().map(DeviceType::bytes).sum::<u64>() < WIDEST
    }

    fn bytes(&self, table: &DeviceTable) -> u64 {
        self.all.iter().map(|index| table.columns[*index].kind.bytes()).sum::<u64>() * table.rows
    }
}

/// Columns that some nodes read.
fn inputs(graph: &ExprGraph, roots: &[NodeId]) -> Vec<usize> {
    let input = |id: &NodeId| match graph.node(*id).op {
        Op::Input(index) => Some(index as usize),
        _ => None,
    };
    graph.needed(roots).iter().filter_map(input).collect()
}

/// Columns of the build side that rows are grouped by.
fn joined_keys(stage: &Stage) -> Vec<usize> {
    let Sink::Aggregate { keys, .. } = &stage.sink else { return Vec::new() };
    let joined = |id: &NodeId| match stage.graph.node(*id).op {
        Op::BuildColumn(_, column) => Some(column as usize),
        _ => None,
    };
    stage.graph.needed(keys).iter().filter_map(joined).collect()
}

/// The columns that a stage reads of its table. `None` if something depends on the order of rows, or on data that is
/// computed once for a column and cached with it.
fn read(stage: &Stage, next: Option<&Stage>, table: &DeviceTable) -> Option<ColumnSet> {
    let Sink::Aggregate { keys, accumulators, quantiles } = &stage.sink else { return None };
    let is_plain = stage.window.is_none() && stage.repeat.is_none() && stage.structs.is_empty();
    if !is_plain || next.is_some_and(|next| reads_previous_stage(&next.graph)) {
        return None;
    }
    let mut roots: Vec<NodeId> = accumulators.iter().flat_map(|a| a.of.into_iter().chain(a.with)).collect();
    roots.extend(keys.iter().copied().chain(stage.filter));
    roots.extend(quantiles.iter().map(|quantile| quantile.of));
    roots.extend(stage.joins.iter().flat_map(|join| [Some(join.probe), join.residual, join.probe_filter]).flatten());
    let has_order = |id: &NodeId| matches!(stage.graph.node(*id).op, Op::RowNumber | Op::RepeatIndex | Op::Gather(_));
    if stage.graph.needed(&roots).iter().any(has_order) {
        return None;
    }
    // Groups of a sparse key or of several keys are found by a dictionary encoding, which is cached with the columns.
    let column = |key: &NodeId| match stage.graph.node(*key).op {
        Op::Input(index) => Some(table.columns[index as usize].kind),
        _ => None,
    };
    let columns: Vec<DeviceType> = keys.iter().filter_map(column).collect();
    if columns.len() > 1 || columns.iter().any(|kind| matches!(kind, DeviceType::Number(_))) {
        return None;
    }
    let probes = stage.joins.iter().map(|join| join.probe);
    let keys: Vec<NodeId> = keys.iter().copied().chain(probes).collect();
    Some(ColumnSet::new(inputs(&stage.graph, &roots), inputs(&stage.graph, &keys)))
}

struct TablePartitioner<'a> {
    tools: &'a GroupContext<'a>,
    memo: &'a KernelCache,
    parts: u64,
}

impl TablePartitioner<'_> {
    /// A table whose columns of these numbers are partitioned. The other columns are as before, and must not be read.
    /// `None` if rows are clustered already, if partitioning does not pay, or if there is no memory.
    fn table(
        &self,
        table: &DeviceTable,
        graph: &ExprGraph,
        key_lookup: &KeyLookup,
        filter: Option<NodeId>,
        columns: &ColumnSet,
    ) -> Result<Option<DeviceTable>> {
        let GroupContext { context, sizes, .. } = *self.tools;
        let is_decimal64 = |index: usize| table.columns[index].is_decimal64();
        let source = RowSource::of(context, table, &|index| columns.keys.contains(&index) || is_decimal64(index))?;
        let columns = &columns.all;
        let mut graph = graph.clone();
        let roots: Vec<NodeId> = columns.iter().map(|index| graph.input(*index, source.inputs[*index].kind)).collect();
        let body = KernelBody::new(&source, &graph, SideInputs::default(), filter, self.memo);
        let place = {
            let mut hasher = DefaultHasher::new();
            ("joined", GroupCountHints::place(&body, &key_lookup.keys())).hash(&mut hasher);
            hasher.finish()
        };
        let read: Vec<(NodeId, bool)> = roots.iter().map(|root| (*root, true)).collect();
        // Lookup tables do not exist yet.
        let needs_more = |id: &NodeId| matches!(graph.node(*id).op, Op::Lookup(_) | Op::ToLocal(..) | Op::ToUtc(..));
        let computed: Vec<NodeId> = key_lookup.keys().into_iter().chain(filter).collect();
        if sizes.get(place) == Some(IN_PLACE)
            || graph.needed(&computed).iter().any(needs_more)
            || !is_movable(&body, key_lookup, &read)
        {
            return Ok(None);
        }
        let moved = PartitionedColumn::all(&body, read);
        if partition::staged_bytes(&moved) > WIDEST {
            return Ok(None);
        }
        let shifted = match self.tools.shift(&body, key_lookup, (1, self.parts, false), moved, place) {
            Err(error) if error.is_memory() => return Ok(None),
            shifted => shifted?,
        };
        let Some(shifted) = shifted else { return Ok(None) };
        let mut memory = shifted.memory.into_iter();
        let mut found = DeviceTable { rows: shifted.count, columns: table.columns.clone() };
        for moved in &shifted.moved {
            let Some(at) = roots.iter().position(|root| *root == moved.of) else { continue };
            let before = &table.columns[columns[at]];
            let Some(values) = memory.next() else { continue };
            let valid = if moved.nullable { memory.next() } else { None };
            let target = OutputColumn { values, valid, packed: false };
            let written = DeviceColumn::written(context, moved.kind, target, shifted.count, before.dictionary.clone())?;
            let stored = if moved.narrow { DeviceType::Number(onrush_kernels::Scalar::I64) } else { moved.kind };
            let column = DeviceColumn { stored, is_partitioned: true, ..written };
            // Rows that were left out make it no wider.
            if let Some(range) = before.range.get() {
                let _ = column.range.set(*range);
            }
            found.columns[columns[at]] = column;
        }
        Ok(Some(found))
    }
}
