//! Joins by hashed keys with a table that is larger than the L2 cache: the rows of both tables are moved into the same parts by the hash of their keys
//! first. Then rows that are put into the table, look for rows there and read their columns work on one part at a time, which the cache holds.
//!
//! Only where nothing depends on the order of rows: below an aggregate. What parts rows fall into changes no result but the last bits of sums of floats, so
//! nothing here has to agree with how the table is built. Dense keys stay in place (`clustered.rs` says why).
//! After Schuh, Chen and Dittrich, "An Experimental Comparison of Thirteen Relational Equi-Joins in Main Memory", 2016, and Sioulas et al.,
//! "Hardware-Conscious Hash-Joins on GPUs", 2019; parts of the cache's size instead of shared memory's take one pass.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::Result;
use crate::clustered::parts_of;
use crate::codegen::group::Finding;
use crate::codegen::join::stride;
use crate::codegen::output::Target;
use crate::codegen::parted::{self, Moved};
use crate::codegen::{Beside, Body};
use crate::column::{DeviceColumn, DeviceTable};
use crate::graph::{Graph, Id, Kind, Op};
use crate::group::{Sizes, Tools};
use crate::join::{self, How, MOST_ROWS, SLOTS};
use crate::meaning::fetches;
use crate::memo::Memo;
use crate::parted::{IN_PLACE, WIDEST, is_movable};
use crate::run::{Sink, Stage};

/// Moves the rows of the first stage's table and of the one that it joins to their parts, if that is worth it: whether it was.
pub(crate) fn joins(
    tools: &Tools,
    memo: &Memo,
    stages: &[Stage],
    table: &mut Cow<DeviceTable>,
    others: &mut [DeviceTable],
) -> Result<bool> {
    let stage = &stages[0];
    let [join] = &stage.joins[..] else { return Ok(false) };
    let other = &others[join.table];
    // What a slot may have at most: most joins end here.
    let most = SLOTS * other.rows * (3 + 2 * join.keys.len() as u64).next_multiple_of(4) * 8;
    if !tools.is_far(table.rows, most) || table.rows.max(other.rows) > MOST_ROWS || join.is_all() {
        return Ok(false);
    }
    let in_forms = table.in_forms(tools.context, &stage.graph)?;
    let Some(read) = read(stage, stages.get(1), &in_forms) else { return Ok(false) };
    let of_other = {
        let keys = inputs(&join.graph, &join.keys);
        let all = join::used(stage, 0, other.columns.len()).into_iter().chain(keys.iter().copied());
        Columns::new(all.collect(), keys.iter().copied().chain(joined_keys(stage)).collect())
    };
    if !of_other.are_movable(other) || !read.are_movable(&in_forms) {
        return Ok(false);
    }
    let source = other.source(tools.context, &|index| of_other.keys.contains(&index))?;
    let body = Body::new(&source, &join.graph, Beside::default(), None, memo);
    let finding = join::finding(&body, &join.keys, join.nulls_equal, other.rows)?;
    let bytes = SLOTS * other.rows * u64::from(stride(&finding)) * 8;
    if matches!(finding, Finding::Dense { .. }) || !tools.is_far(table.rows, bytes) {
        return Ok(false);
    }
    // Copies beside a table that has no room then are worse than none.
    let room = tools.context.device().ledger().room();
    if of_other.bytes(other) + read.bytes(&in_forms) + bytes > room {
        return Ok(false);
    }
    let with = Moving { tools, memo, parts: parts_of(bytes) };
    let by = finding.over(&stage.graph.node(join.probe).args);
    // Rows that are not joined at all are left out here: of other joins they stay.
    let filter = join.before.filter(|_| join.how == How::Inner);
    let Some(moved) = with.table(&in_forms, &stage.graph, &by, filter, &read)? else { return Ok(false) };
    if let Some(other) = with.table(other, &join.graph, &finding, None, &of_other)? {
        others[join.table] = other;
    }
    *table = Cow::Owned(moved);
    Ok(true)
}

/// Columns of a table that are moved, by their numbers, and those of them that keys are made of.
struct Columns {
    all: Vec<usize>,
    keys: Vec<usize>,
}

impl Columns {
    fn new(mut all: Vec<usize>, keys: Vec<usize>) -> Columns {
        all.sort_unstable();
        all.dedup();
        Columns { all, keys }
    }

    /// Whether all have a width, and rows are no wider than what is worth moving.
    fn are_movable(&self, table: &DeviceTable) -> bool {
        let kinds = || self.all.iter().map(|index| table.columns[*index].kind);
        kinds().all(|kind| !matches!(kind, Kind::Text | Kind::List)) && kinds().map(Kind::bytes).sum::<u64>() < WIDEST
    }

    fn bytes(&self, table: &DeviceTable) -> u64 {
        self.all.iter().map(|index| table.columns[*index].kind.bytes()).sum::<u64>() * table.rows
    }
}

/// Columns that some nodes read.
fn inputs(graph: &Graph, roots: &[Id]) -> Vec<usize> {
    let input = |id: &Id| match graph.node(*id).op {
        Op::Input(index) => Some(index as usize),
        _ => None,
    };
    graph.needed(roots).iter().filter_map(input).collect()
}

/// Columns of the joined table that groups are found by.
fn joined_keys(stage: &Stage) -> Vec<usize> {
    let Sink::Aggregate { keys, .. } = &stage.sink else { return Vec::new() };
    let joined = |id: &Id| match stage.graph.node(*id).op {
        Op::Joined(_, column) => Some(column as usize),
        _ => None,
    };
    stage.graph.needed(keys).iter().filter_map(joined).collect()
}

/// What a stage reads of its table. None where something depends on the order of rows, or on what is found for a column once and kept with it.
fn read(stage: &Stage, next: Option<&Stage>, table: &DeviceTable) -> Option<Columns> {
    let Sink::Aggregate { keys, accumulators } = &stage.sink else { return None };
    let is_plain = stage.window.is_none() && stage.spread.is_none() && stage.structs.is_empty();
    if !is_plain || next.is_some_and(|next| fetches(&next.graph)) {
        return None;
    }
    let mut roots: Vec<Id> = accumulators.iter().flat_map(|a| a.of.into_iter().chain(a.with)).collect();
    roots.extend(keys.iter().copied().chain(stage.filter));
    roots.extend(stage.joins.iter().flat_map(|join| [Some(join.probe), join.residual, join.before]).flatten());
    let has_order = |id: &Id| matches!(stage.graph.node(*id).op, Op::Row | Op::Place | Op::Fetch(_));
    if stage.graph.needed(&roots).iter().any(has_order) {
        return None;
    }
    // A column that lies anywhere has numbers by which groups are found, and so have several columns together.
    let column = |key: &Id| match stage.graph.node(*key).op {
        Op::Input(index) => Some(table.columns[index as usize].kind),
        _ => None,
    };
    let columns: Vec<Kind> = keys.iter().filter_map(column).collect();
    if columns.len() > 1 || columns.iter().any(|kind| matches!(kind, Kind::Number(_))) {
        return None;
    }
    let probes = stage.joins.iter().map(|join| join.probe);
    let keys: Vec<Id> = keys.iter().copied().chain(probes).collect();
    Some(Columns::new(inputs(&stage.graph, &roots), inputs(&stage.graph, &keys)))
}

struct Moving<'a> {
    tools: &'a Tools<'a>,
    memo: &'a Memo,
    parts: u64,
}

impl Moving<'_> {
    /// A table with the columns of these numbers by the parts of their rows; the others are as they were, and are not to be read. None where rows lie
    /// so already, where moving them is not worth it, or where there is no room.
    fn table(
        &self,
        table: &DeviceTable,
        graph: &Graph,
        finding: &Finding,
        filter: Option<Id>,
        columns: &Columns,
    ) -> Result<Option<DeviceTable>> {
        let Tools { context, sizes, .. } = *self.tools;
        let is_narrow = |index: usize| table.columns[index].is_narrow();
        let source = table.source(context, &|index| columns.keys.contains(&index) || is_narrow(index))?;
        let columns = &columns.all;
        let mut graph = graph.clone();
        let roots: Vec<Id> = columns.iter().map(|index| graph.input(*index, source.inputs[*index].kind)).collect();
        let body = Body::new(&source, &graph, Beside::default(), filter, self.memo);
        let place = {
            let mut hasher = DefaultHasher::new();
            ("joined", Sizes::place(&body, &finding.keys())).hash(&mut hasher);
            hasher.finish()
        };
        let read: Vec<(Id, bool)> = roots.iter().map(|root| (*root, true)).collect();
        // What is looked up is not there yet.
        let needs_more = |id: &Id| matches!(graph.node(*id).op, Op::Lookup(_) | Op::Local(..) | Op::Utc(..));
        let computed: Vec<Id> = finding.keys().into_iter().chain(filter).collect();
        if sizes.get(place) == Some(IN_PLACE)
            || graph.needed(&computed).iter().any(needs_more)
            || !is_movable(&body, finding, &read)
        {
            return Ok(None);
        }
        let moved = Moved::all(&body, read);
        if parted::staged_bytes(&moved) > WIDEST {
            return Ok(None);
        }
        let shifted = match self.tools.shift(&body, finding, (1, self.parts, false), moved, place) {
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
            let target = Target { values, valid, packed: false };
            let written = DeviceColumn::written(context, moved.kind, target, shifted.count, before.dictionary.clone())?;
            let stored = if moved.narrow { Kind::Number(onrush_kernels::Scalar::I64) } else { moved.kind };
            let column = DeviceColumn { stored, parted: true, ..written };
            // Rows that were left out make it no wider.
            if let Some(range) = before.range.get() {
                let _ = column.range.set(*range);
            }
            found.columns[columns[at]] = column;
        }
        Ok(Some(found))
    }
}
