//! Joins: the build side is a hash table or a direct-address table. If each key has one row, the probe is part of the
//! pipeline's kernel; duplicate keys need join expansion first.

pub mod encoded_keys;
pub mod expand;
pub mod guaranteed_match;
pub mod radix;

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use arrow::array::{Array, AsArray};
use onrush_device::{Arguments, Buffer};
use onrush_kernels::{Column, Context, Scalar, sort};
use parking_lot::Mutex;

use crate::codegen::group::KeyLookup;
use crate::codegen::join::{self, BuildPayload};
use crate::codegen::source::{inputs, launch_rows};
use crate::codegen::{ColumnRef, KernelBody, Parameters, ProbePlan, RowSource, SideInputs};
use crate::column::DeviceTable;
use crate::column::dictionary::Dictionary;
use crate::column::output_column::OutputColumn;
use crate::ir::expr::{DeviceType, NodeId, Op};
use crate::ir::packed_key::PackedKeyPart;
use crate::launch::kernel_cache::{KernelCache, KernelKey};
use crate::launch::launch;
use crate::operators::group::{GroupContext, GroupCountHints};
use crate::operators::join::expand::MatchOrder;
use crate::pipeline::{Join, JoinKind, Sink, Stage};
use crate::{Error, Result};

/// Slots of a hash table for each row at first.
pub(crate) const SLOTS: u64 = 2;
/// Slots for each row up to which keys have a slot each, and the number of slots that is always so.
pub const SPARSE: u64 = 8;
pub const ALWAYS: u64 = 1 << 16;
/// Bytes of columns that are put to the slots of keys; of more, the rows are. They fit into the L2 cache. Beyond it a
/// row that is put somewhere costs more than one that is read, and columns are written once more than rows alone.
/// Measured on an H200: 1e7 keys with a column of 8 bytes take 2.04 ms rather than 1.17.
const MOST_BY_SLOT: u64 = 32 << 20;
/// Tables of more than so many times the bytes that the L2 cache holds are made by sorting. Measured on an H200: 1e8
/// rows are put to their slots in 6.2 ms as they come, and in 5.2 ms by a sort. Rows that share their keys need the
/// sort in any case.
const SORTED_FROM: u64 = 8;
/// The hints of a place: whether some key had several rows at the last look.
const UNIQUE_KEYS: u64 = 0;
const DUPLICATE_KEYS: u64 = 1;
/// Makes another place of one of groups.
const JOIN_SEED: u64 = 0x6a09_e667_f3bc_c908;
/// Rows are numbers of 32 bits, of which the last two mean something else.
pub const MOST_ROWS: u64 = u32::MAX as u64 - 2;

/// The memory of a join while its stage runs.
pub struct BuildSide {
    pub probing: ProbePlan,
    /// The match list, if keys have several rows.
    pub order: Option<MatchList>,
    _table: Arc<Buffer>,
    /// Columns by slots, or in the order of runs.
    moved: GatheredColumns,
    _numbers: Vec<Arc<Buffer>>,
}

impl BuildSide {
    /// Whether the join needs expansion: keys have several rows, or build-side rows without a match are wanted, too.
    pub fn has_pairs(&self, join: &Join) -> bool {
        self.order.is_some() && join.how != JoinKind::Semi
    }

    /// From here on, the columns of the numbers `used` are read where they were moved to. Gives the rows in their order
    /// where none was.
    pub fn in_order(&mut self, number: usize, used: &[usize], order: MatchOrder) -> Option<Buffer> {
        match order {
            MatchOrder::Rows(rows) => return Some(rows),
            MatchOrder::Columns(None) => {}
            MatchOrder::Columns(Some(moved)) => {
                self.probing.of_columns = Parameters::new();
                moved.read(number, used, &mut self.probing.columns, &mut self.probing.of_columns);
                self.moved = moved;
            }
        }
        None
    }
}

/// The columns of a table by the slots of dense keys.
struct DirectTable {
    slots: u64,
    /// Whether each slot has a row.
    complete: bool,
    /// A bit for each slot.
    present: Arc<Buffer>,
    columns: GatheredColumns,
}

/// The rows of a table by their keys.
struct HashTableBuild {
    table: Buffer,
    slots: u64,
    /// Whether some key has several.
    several: bool,
    /// The match list, if slots have runs.
    order: Option<MatchList>,
    /// The column that was asked for, if it is in that order.
    moved: GatheredColumns,
}

/// The rows of a table in the order of their slots.
struct RowsBySlot {
    slots: Buffer,
    several: bool,
    /// Numbers of rows, or values of a column.
    moved: Buffer,
}

/// The rows of a build side, by duplicate-key range.
pub enum MatchList {
    Rows(Buffer),
    /// All columns that are read are in that order themselves.
    Columns,
}

/// Columns of a build side, gathered in another order.
#[derive(Default)]
pub struct GatheredColumns(pub Vec<OutputColumn>);

impl GatheredColumns {
    /// The columns of `roots`, with room for so many rows.
    pub fn new(context: &Context, body: &KernelBody, roots: &[NodeId], rows: u64) -> Result<GatheredColumns> {
        let nullable = body.nullable(roots);
        let target = |(root, nullable): (&NodeId, bool)| {
            OutputColumn::new(context, body.graph.kind(*root), nullable, rows, false)
        };
        Ok(GatheredColumns(roots.iter().zip(nullable).map(target).collect::<Result<_>>()?))
    }

    /// How a probing reads the columns of the numbers `used`.
    pub fn read(&self, number: usize, used: &[usize], columns: &mut [ColumnRef], parameters: &mut Parameters) {
        for (index, target) in used.iter().zip(&self.0) {
            let access = &mut columns[*index];
            let (name, valid) = (format!("j{number}d{index}"), format!("j{number}e{index}"));
            let (stored, value) = match access.kind {
                DeviceType::Bool => ("u8", format!("({name}[row] != 0)")),
                kind => (kind.cuda(), format!("{name}[row]")),
            };
            parameters.buffer(&format!("const {stored}* __restrict__"), &name, &target.values);
            access.value = value;
            access.valid = target.valid.as_ref().map(|there| {
                parameters.buffer("const u8* __restrict__", &valid, there);
                format!("({valid}[row] != 0)")
            });
        }
    }
}

/// How rows find their place by some keys.
pub(crate) fn choose_key_lookup(body: &KernelBody, keys: &[NodeId], nulls_equal: bool, rows: u64) -> Result<KeyLookup> {
    let nullable: Vec<bool> = body.nullable(keys).into_iter().map(|nullable| nullable && nulls_equal).collect();
    if keys.iter().any(|key| body.graph.kind(*key).is_float()) {
        return Err(Error::Unsupported("a join by floats".to_string()));
    }
    let mut digits = Vec::new();
    let mut product: u64 = 1;
    for (key, nullable) in keys.iter().zip(&nullable) {
        let kind = body.graph.kind(*key);
        let known = body.range(*key).filter(|_| !join::is_wide(kind)).and_then(|(low, high)| {
            let base = i64::try_from(low).ok()?;
            i64::try_from(high).ok()?;
            let count = u64::try_from(high.checked_sub(low)?.checked_add(1 + i128::from(*nullable))?).ok()?;
            Some((base, count))
        });
        let Some((base, count)) = known else { break };
        let stride = product;
        // Below 2^63, so that no key is the one that marks an empty slot.
        let Some(next) = product.checked_mul(count).filter(|p| *p < 1 << 63) else { break };
        product = next;
        digits.push(PackedKeyPart { key: *key, kind, base, count, nullable: *nullable, stride });
    }
    if digits.len() == keys.len() {
        let dense = product <= ALWAYS || product <= rows.saturating_mul(SPARSE);
        return Ok(if dense { KeyLookup::Direct { digits, size: product } } else { KeyLookup::HashPacked { digits } });
    }
    let keys: Vec<_> = keys.iter().zip(nullable).map(|(key, null)| (*key, body.graph.kind(*key), null)).collect();
    Ok(match keys[..] {
        [(key, kind, nullable)] if !join::is_wide(kind) => KeyLookup::HashSingle { key, kind, nullable },
        _ => KeyLookup::HashMultiWord { keys },
    })
}

/// Whether slots have duplicate-key ranges: a key has several rows and all are wanted, or the rows without a match are.
fn wants_runs(join: &Join, several: bool) -> bool {
    join.how == JoinKind::Full || several && (join.how != JoinKind::Semi || join.residual.is_some())
}

/// The columns of a build side that a stage reads, by their numbers.
pub fn used(stage: &Stage, number: usize, columns: usize) -> Vec<usize> {
    let mut roots: Vec<NodeId> = match &stage.sink {
        Sink::Output(output) => output.columns.clone(),
        Sink::TopK(top) => top.columns.iter().copied().chain([top.key]).collect(),
        Sink::Sort(sort) => {
            let keys = sort.keys.iter().flat_map(|key| [key.value, key.key, key.absent]);
            keys.chain(sort.columns.iter().copied()).collect()
        }
        Sink::Aggregate { keys, accumulators, quantiles } => {
            let values = accumulators.iter().flat_map(|a| a.of.into_iter().chain(a.with));
            keys.iter().copied().chain(values).chain(quantiles.iter().map(|quantile| quantile.of)).collect()
        }
    };
    roots.extend(stage.filter.into_iter().chain(stage.repeat));
    roots.extend(stage.joins.iter().flat_map(|join| [Some(join.probe), join.residual, join.probe_filter]).flatten());
    let needed = stage.graph.needed(&roots);
    let is_used = |column: &usize| {
        let joined = Op::BuildColumn(number as u32, *column as u32);
        // Windows have separate roots.
        match stage.window {
            Some(_) => stage.graph.nodes().iter().any(|node| node.op == joined),
            None => needed.iter().any(|id| stage.graph.node(*id).op == joined),
        }
    };
    (0..columns).filter(is_used).collect()
}

/// The only column that is read of a build side, if it has 64 bits and more bytes than the L2 cache holds. It can be
/// sorted with its slots.
fn carried(source: &RowSource, join: &Join, used: &[usize], cached_bytes: u64) -> Option<usize> {
    let [column] = *used else { return None };
    let access = &source.inputs[column];
    let is_wide =
        matches!(access.kind, DeviceType::Number(Scalar::I64 | Scalar::U64 | Scalar::F64)) && access.valid.is_none();
    let has_pairs = matches!(join.how, JoinKind::Inner | JoinKind::Outer) && join.residual.is_none();
    (is_wide && has_pairs && 8 * source.rows > cached_bytes).then_some(column)
}

/// Whether columns have values of one width, which can be copied.
pub fn are_movable(inputs: &[ColumnRef], used: &[usize]) -> bool {
    used.iter().all(|index| !matches!(inputs[*index].kind, DeviceType::String | DeviceType::ListView))
}

/// Whether each slot of dense keys has one row.
fn is_complete(body: &KernelBody, join: &Join, key_lookup: &KeyLookup, several: bool) -> bool {
    let KeyLookup::Direct { size, .. } = *key_lookup else { return false };
    !several && body.source.rows == size && !body.nullable(&join.keys).into_iter().any(|nullable| nullable)
}

/// Maps from the indices of one dictionary to those of another, cached as long as both dictionaries live.
#[derive(Default)]
pub struct DictionaryRemaps {
    known: Mutex<HashMap<(usize, usize), DictionaryRemap>>,
}

struct DictionaryRemap {
    from: Weak<Dictionary>,
    to: Weak<Dictionary>,
    numbers: Arc<Buffer>,
}

impl DictionaryRemaps {
    /// For each string of `from` its index in `to`, all bits set if `to` lacks it.
    fn get(&self, context: &Context, from: &Arc<Dictionary>, to: &Arc<Dictionary>) -> Result<Arc<Buffer>> {
        let place = (Arc::as_ptr(from).addr(), Arc::as_ptr(to).addr());
        let mut known = self.known.lock();
        known.retain(|_, r| r.from.strong_count() > 0 && r.to.strong_count() > 0);
        if let Some(found) = known.get(&place) {
            return Ok(Arc::clone(&found.numbers));
        }
        let numbers = Arc::new(context.upload(&renumber(from, to))?);
        // Other runs find them from here on.
        context.stream.synchronize()?;
        let (from, to) = (Arc::downgrade(from), Arc::downgrade(to));
        known.insert(place, DictionaryRemap { from, to, numbers: Arc::clone(&numbers) });
        Ok(numbers)
    }
}

/// Maps the indices of a dictionary to those of another one. Both are in the order of their strings.
fn renumber(from: &Dictionary, to: &Dictionary) -> Vec<u32> {
    let (a, b) = (from.values.as_string_view(), to.values.as_string_view());
    let mut numbers = vec![u32::MAX; a.len().max(1)];
    let mut at = 0;
    for (number, text) in numbers.iter_mut().zip(a.iter().flatten()) {
        while at < b.len() && b.value(at) < text {
            at += 1;
        }
        if at < b.len() && b.value(at) == text {
            *number = at as u32;
        }
    }
    numbers
}

/// The device, memory and caches that a stage's joins are built with.
pub struct JoinBuilder<'a> {
    pub tools: &'a GroupContext<'a>,
    pub memo: &'a KernelCache,
    pub renumberings: &'a DictionaryRemaps,
}

impl JoinBuilder<'_> {
    /// Builds the table of a join. `number` is the join's place in its stage, `stage` probes with `rows`. `ranged` says
    /// which columns need value ranges in addition to the keys. `dictionaries` are those of the keys in the pipeline.
    pub fn build(
        &self,
        (number, join): (usize, &Join),
        (stage, rows): (&Stage, u64),
        table: &DeviceTable,
        ranged: &dyn Fn(usize) -> bool,
        dictionaries: &[Option<Arc<Dictionary>>],
    ) -> Result<BuildSide> {
        let context = self.tools.context;
        if table.rows > MOST_ROWS {
            return Err(Error::TooManyRows(format!("a join with a table of {} rows", table.rows)));
        }
        let needed = join.graph.needed(&join.keys);
        let keys = |index: usize| needed.iter().any(|id| join.graph.node(*id).op == Op::Input(index as u32));
        let narrow = |index: usize| table.columns[index].is_decimal64();
        let source = RowSource::of(context, table, &|index| keys(index) || ranged(index) || narrow(index))?;
        let body = KernelBody::new(&source, &join.graph, SideInputs::default(), None, self.memo);
        let key_lookup = choose_key_lookup(&body, &join.keys, join.nulls_equal, table.rows)?;
        let used = used(stage, number, table.columns.len());
        let mut direct = None;
        // At least as many rows have to probe as are on the build side.
        if join.how != JoinKind::Full && rows >= table.rows {
            direct = self.direct(&body, join, &key_lookup, &used)?;
        }
        let mut moved = GatheredColumns::default();
        let (memory, slots, holds, order, complete) = match &direct {
            Some(direct) => {
                let holds = BuildPayload::Slot { complete: direct.complete };
                (Arc::clone(&direct.present), direct.slots, holds, None, direct.complete)
            }
            None => {
                let cached = self.tools.tuning.cached_bytes;
                let carried = carried(&source, join, &used, cached).filter(|_| rows >= table.rows / 2);
                let HashTableBuild { table, slots, several, order, moved: carried } =
                    self.fill(&body, join, &key_lookup, carried)?;
                moved = carried;
                let holds = if order.is_some() { BuildPayload::Run } else { BuildPayload::Row };
                let complete = holds == BuildPayload::Row && is_complete(&body, join, &key_lookup, several);
                (Arc::new(table), slots, holds, order, complete)
            }
        };

        let mut numbers = Vec::new();
        let mut renumber = Vec::new();
        for (key, dictionary) in join.keys.iter().zip(dictionaries) {
            let here = match join.graph.node(*key).op {
                Op::Input(index) => table.columns[index as usize].dictionary.as_ref(),
                _ => None,
            };
            renumber.push(match (dictionary, here) {
                (Some(from), Some(to)) if !Arc::ptr_eq(from, to) => {
                    numbers.push(self.renumberings.get(context, from, to)?);
                    numbers.last().map(|buffer| buffer.address())
                }
                _ => None,
            });
        }
        // The same keys, as the pipeline's nodes.
        let key_lookup = key_lookup.over(&stage.graph.node(join.probe).args);
        let of_residual = match &order {
            Some(MatchList::Rows(order)) if join.residual.is_some() => Some(order),
            _ => None,
        };
        let mut parameters =
            join::probe_parameters(number, &key_lookup, (&memory, slots), &renumber, of_residual, holds);
        let (mut columns, mut of_columns) =
            inputs(context, table, &format!("j{number}"), &|index| ranged(index) || narrow(index))?;
        if let Some(MatchList::Columns) = order {
            of_columns = Parameters::new();
            moved.read(number, &used, &mut columns, &mut of_columns);
        }
        match &direct {
            Some(direct) => direct.columns.read(number, &used, &mut columns, &mut parameters),
            None => parameters.extend(&of_columns),
        }
        let probing = ProbePlan {
            number,
            key_lookup,
            nulls_equal: join.nulls_equal,
            renumbered: renumber.iter().map(Option::is_some).collect(),
            holds,
            residual: join.residual,
            complete,
            certain: false,
            rows: if direct.is_some() { slots } else { table.rows },
            columns,
            parameters,
            of_columns,
            paired: None,
        };
        let moved = direct.map_or(moved, |direct| direct.columns);
        Ok(BuildSide { probing, order, _table: memory, moved, _numbers: numbers })
    }

    /// The columns of a table by the slots of its keys. Keys are dense, and the columns are not too large. Each key has
    /// one row, or nothing is wanted but that there is one. None where it is not so.
    fn direct(
        &self,
        body: &KernelBody,
        join: &Join,
        key_lookup: &KeyLookup,
        used: &[usize],
    ) -> Result<Option<DirectTable>> {
        let KeyLookup::Direct { size: slots, .. } = *key_lookup else { return Ok(None) };
        if !are_movable(&body.source.inputs, used) {
            return Ok(None);
        }
        let bytes: u64 = used.iter().map(|index| body.source.inputs[*index].kind.bytes()).sum();
        if slots.saturating_mul(bytes.max(1)) > MOST_BY_SLOT {
            return Ok(None);
        }
        let (context, status, rows) = (self.tools.context, self.tools.status, body.source.rows);
        let mut graph = join.graph.clone();
        let roots: Vec<NodeId> =
            used.iter().map(|index| graph.input(*index, body.source.inputs[*index].kind)).collect();
        let body = KernelBody::new(body.source, &graph, SideInputs::default(), None, self.memo);
        let columns = GatheredColumns::new(context, &body, &roots, slots.max(1))?;
        let present = context.zeros(4 * slots.div_ceil(32).max(1))?;
        let of = (&roots[..], &columns.0[..]);
        let parameters = join::direct_parameters(&body, key_lookup, status, (&present, slots), of);
        let program = || join::direct(&body, key_lookup, join.nulls_equal, &roots, &parameters);
        let function =
            body.kernel(context, "join_direct", (key_lookup.codegen_key(), join.nulls_equal, &roots), program)?;
        launch(context, &function, parameters.arguments(), rows, join::THREADS, 0)?;
        let (_, several) = status.built(context)?;
        if several {
            status.clear_build(context)?;
            // Whether there is one row or several makes no difference to those who only want to know of one.
            if !(used.is_empty() && join.how == JoinKind::Semi) {
                return Ok(None);
            }
        }
        let complete = is_complete(&body, join, key_lookup, several);
        Ok(Some(DirectTable { slots, complete, present: Arc::new(present), columns }))
    }

    /// Rows by their keys. Dense keys that had several rows at the last look, or whose table is much larger than the L2
    /// cache, are sorted at once. A row that is put anywhere costs more there than in a sort.
    fn fill(
        &self,
        body: &KernelBody,
        join: &Join,
        key_lookup: &KeyLookup,
        carried: Option<usize>,
    ) -> Result<HashTableBuild> {
        let KeyLookup::Direct { size: slots, .. } = *key_lookup else { return self.hashed(body, join, key_lookup) };
        let (sizes, place) = (self.tools.sizes, GroupCountHints::place(body, &join.keys) ^ JOIN_SEED);
        let context = self.tools.context;
        let bytes = 8 * (slots + 1);
        let is_sorted =
            bytes > SORTED_FROM * self.tools.tuning.cached_bytes || sizes.get(place) == Some(DUPLICATE_KEYS);
        if !is_sorted || slots >= u64::from(u32::MAX) {
            let filled = self.hashed(body, join, key_lookup)?;
            sizes.put(place, if filled.several { DUPLICATE_KEYS } else { UNIQUE_KEYS });
            return Ok(filled);
        }
        let table = context.zeros(bytes)?;
        // As runs even if keys turn out to have one row each this time.
        let carried = carried.filter(|_| sizes.get(place) == Some(DUPLICATE_KEYS));
        let sorted = self.sorted(body, join, key_lookup, (&table, slots), carried)?;
        let several = sorted.several;
        sizes.put(place, if several { DUPLICATE_KEYS } else { UNIQUE_KEYS });
        if carried.is_some() {
            let moved = GatheredColumns(vec![OutputColumn { values: sorted.moved, valid: None, packed: false }]);
            return Ok(HashTableBuild { table, slots, several, order: Some(MatchList::Columns), moved });
        }
        let mut order = None;
        if wants_runs(join, several) {
            order = Some(MatchList::Rows(sorted.moved));
        } else {
            let rows = body.source.rows;
            let arguments = Arguments::new().buffer(&sorted.slots).value(rows).value(slots as u32).buffer(&table);
            self.by_run(key_lookup, "join_rows", arguments.buffer(&sorted.moved), rows)?;
        }
        Ok(HashTableBuild { table, slots, several, order, moved: GatheredColumns::default() })
    }

    /// Rows put under their keys as they come, and sorted where that is wanted.
    fn hashed(&self, body: &KernelBody, join: &Join, key_lookup: &KeyLookup) -> Result<HashTableBuild> {
        let (context, status) = (self.tools.context, self.tools.status);
        let rows = body.source.rows;
        let mut slots = match key_lookup {
            KeyLookup::Direct { size, .. } => *size,
            _ => SLOTS * rows.max(256),
        };
        loop {
            let bytes = (slots + key_lookup.special()) * u64::from(join::stride(key_lookup)) * 8;
            // One more for keys that are not there.
            let table = context.allocate(bytes + 8)?;
            let empty = if matches!(key_lookup, KeyLookup::HashPacked { .. } | KeyLookup::HashSingle { .. }) {
                0xff
            } else {
                0
            };
            table.fill(empty, &context.stream)?;
            let parameters = join::build_parameters(body, key_lookup, status, &table, slots);
            let program = || join::build(body, key_lookup, join.nulls_equal, &parameters);
            let of = (key_lookup.codegen_key(), join.nulls_equal);
            let function = body.kernel(context, "join_build", of, program)?;
            launch_rows(context, &function, parameters.arguments(), body.source, join::THREADS)?;
            let (overflowed, several) = status.built(context)?;
            if overflowed || several {
                status.clear_build(context)?;
            }
            if !overflowed {
                let mut order = None;
                if wants_runs(join, several) {
                    order = Some(MatchList::Rows(self.sorted(body, join, key_lookup, (&table, slots), None)?.moved));
                }
                return Ok(HashTableBuild { table, slots, several, order, moved: GatheredColumns::default() });
            }
            if slots > 64 * rows.max(256) {
                return Err(Error::Kernels(onrush_kernels::Error::TooManyGroups { slots }));
            }
            slots *= 4;
        }
    }

    /// The rows of a table in the order of their slots, and of themselves within one; slots then hold runs. With a
    /// column in place of the rows where one is `carried`.
    fn sorted(
        &self,
        body: &KernelBody,
        join: &Join,
        key_lookup: &KeyLookup,
        (table, slots): (&Buffer, u64),
        carried: Option<usize>,
    ) -> Result<RowsBySlot> {
        let (context, status) = (self.tools.context, self.tools.status);
        let rows = body.source.rows;
        let last = slots + key_lookup.special();
        if last >= u64::from(u32::MAX) {
            return Err(Error::Unsupported(format!("a join with keys of {last} slots")));
        }
        let mut graph = join.graph.clone();
        let column = carried.map(|column| graph.input(column, body.source.inputs[column].kind));
        let body = &KernelBody::new(body.source, &graph, SideInputs::default(), None, self.memo);
        let of_row = context.allocate(rows * 4)?;
        let values = column.map(|_| context.allocate(rows * 8)).transpose()?;
        let parameters = join::slots_parameters(body, key_lookup, status, (table, slots), &of_row, values.as_ref());
        let program = || join::slots(body, key_lookup, join.nulls_equal, column, &parameters);
        let of = (key_lookup.codegen_key(), join.nulls_equal, column);
        let function = body.kernel(context, "join_slots", of, program)?;
        launch_rows(context, &function, parameters.arguments(), body.source, join::THREADS)?;
        let (slots, moved) = match values {
            Some(values) => sort::sort_with(context, (Scalar::U32, rows, last), of_row, values)?,
            None => {
                let sorted = sort::sort(context, &Column::new(Scalar::U32, &of_row).slice(0, rows))?;
                (sorted.keys, sorted.rows)
            }
        };
        let arguments = Arguments::new().buffer(&slots).value(rows).value(last as u32).buffer(table);
        self.by_run(key_lookup, "join_runs", arguments.value(status.duplicates()), rows)?;
        // With a column that is carried, slots have duplicate-key ranges in any case: nothing has to be awaited.
        let several = carried.is_some() || status.built(context)?.1;
        if several {
            status.clear_build(context)?;
        }
        Ok(RowsBySlot { slots, several, moved })
    }

    fn by_run(&self, key_lookup: &KeyLookup, entry: &'static str, arguments: Arguments, rows: u64) -> Result<()> {
        let mut key = KernelKey::new(entry);
        std::hash::Hash::hash(&key_lookup.codegen_key(), &mut key);
        let function = self.memo.function(self.tools.context, key, entry, || join::runs(key_lookup))?;
        launch(self.tools.context, &function, arguments, rows, join::THREADS, 0)
    }
}
