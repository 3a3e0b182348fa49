//! Group-by: the ranges of the keys decide the key lookup (direct-address or hashed) and where the table of groups
//! is.

pub mod key_encoding;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use onrush_device::Buffer;
use onrush_kernels::{Context, Scalar};
use parking_lot::Mutex;

use crate::codegen::group::{self, KeyLookup};
use crate::codegen::source::launch_rows;
use crate::codegen::{KernelBody, RowSource, SideInputs, partition, reduce};
use crate::column::output_column::OutputColumn;
use crate::ir::aggregate::{Accumulator, AggregateOp, Pass, SlotLayout};
use crate::ir::expr::{DeviceType, ExprGraph, NodeId, Op};
use crate::ir::packed_key::PackedKeyPart;
use crate::launch::kernel_cache::KernelKey;
use crate::launch::stream_context::{StatusBlock, StreamContext, max_reduce_blocks};
use crate::launch::{launch, launch_blocks};
use crate::operators::partition::shared::Tuning;
use crate::operators::write::RecordedLaunch;
use crate::{Error, Result};

/// A range of keys up to this size always has a slot for each; a larger one if there are rows for it.
const ALWAYS_DENSE: u64 = 1 << 12;
/// Slots of a hash table for each group that is expected, groups at first and at least, and how much larger the next
/// table is.
const SLOTS: u64 = 2;
const GUESS: u64 = 1 << 18;
const LEAST: u64 = 1 << 9;
const GROWTH: u64 = 4;
/// Shared memory with which two blocks of 1024 threads are on a multiprocessor.
pub const HALF_SHARED: u32 = 113 << 10;

/// The types of the values of accumulators in a slot.
pub fn kinds(graph: &ExprGraph, accumulators: &[Accumulator]) -> Vec<DeviceType> {
    let kind = |a: &Accumulator| match a.op {
        AggregateOp::SumFloat
        | AggregateOp::ProductFloat
        | AggregateOp::DeviationSum
        | AggregateOp::M2
        | AggregateOp::CoMoment
        | AggregateOp::Welford
        | AggregateOp::DistinctFloat => DeviceType::Number(Scalar::F64),
        AggregateOp::SumI128 | AggregateOp::SumFitsI64 | AggregateOp::DistinctI128 => DeviceType::Number(Scalar::I128),
        AggregateOp::SumInteger | AggregateOp::DistinctInteger => {
            a.of.map_or(DeviceType::Number(Scalar::I64), |of| graph.kind(of))
        }
        AggregateOp::Count
        | AggregateOp::ProductInteger
        | AggregateOp::Distinct
        | AggregateOp::Min
        | AggregateOp::Max
        | AggregateOp::MinHigh
        | AggregateOp::MaxHigh => DeviceType::Number(Scalar::I64),
        AggregateOp::MinUnsigned | AggregateOp::MaxUnsigned | AggregateOp::MinLow | AggregateOp::MaxLow => {
            DeviceType::Number(Scalar::U64)
        }
    };
    accumulators.iter().map(kind).collect()
}

/// How rows find their group.
pub fn choose_key_lookup(body: &KernelBody, keys: &[NodeId], rows: u64) -> KeyLookup {
    let nullable = body.nullable(keys);
    let mut digits = Vec::new();
    let mut product: u64 = 1;
    for (key, nullable) in keys.iter().zip(&nullable) {
        let kind = body.graph.kind(*key);
        let count = body.range(*key).filter(|_| !kind.is_float()).and_then(|(low, high)| {
            let base = i64::try_from(low).ok()?;
            let count = u64::try_from(high.checked_sub(low)?.checked_add(1 + i128::from(*nullable))?).ok()?;
            Some((base, count))
        });
        let Some((base, count)) = count else { break };
        let stride = product;
        // Below 2^63, so that no key is the one that marks an empty slot.
        let Some(next) = product.checked_mul(count).filter(|p| *p < 1 << 63) else { break };
        product = next;
        digits.push(PackedKeyPart { key: *key, kind, base, count, nullable: *nullable, stride });
    }
    if digits.len() == keys.len() {
        let dense = product <= ALWAYS_DENSE || product <= rows.saturating_mul(2);
        return if dense { KeyLookup::Direct { digits, size: product } } else { KeyLookup::HashPacked { digits } };
    }
    match keys {
        [key] if body.graph.kind(*key) != DeviceType::Number(Scalar::I128) => {
            KeyLookup::HashSingle { key: *key, kind: body.graph.kind(*key), nullable: nullable[0] }
        }
        _ => KeyLookup::HashMultiWord {
            keys: keys.iter().zip(nullable).map(|(key, null)| (*key, body.graph.kind(*key), null)).collect(),
        },
    }
}

/// How many groups there were when the same keys of the same memory were grouped last.
#[derive(Default)]
pub struct GroupCountHints {
    known: Mutex<HashMap<u64, u64>>,
}

impl GroupCountHints {
    /// The key under which the hints of some keys are kept.
    pub fn place(body: &KernelBody, keys: &[NodeId]) -> u64 {
        let mut hasher = DefaultHasher::new();
        for id in body.graph.needed(keys) {
            body.graph.node(id).hash(&mut hasher);
        }
        body.graph.literals().hash(&mut hasher);
        body.source.identity.hash(&mut hasher);
        hasher.finish()
    }

    pub fn get(&self, place: u64) -> Option<u64> {
        self.known.lock().get(&place).copied()
    }

    pub fn put(&self, place: u64, expected: u64) {
        let mut known = self.known.lock();
        if known.len() > 10_000 {
            known.clear();
        }
        known.insert(place, expected);
    }
}

/// The device, memory and caches that grouping works with.
pub struct GroupContext<'a> {
    pub context: &'a Context,
    pub status: &'a StatusBlock,
    pub sizes: &'a GroupCountHints,
    pub tuning: &'a Tuning,
}

impl GroupContext<'_> {
    fn clear(
        &self,
        body: &KernelBody,
        key_lookup: &KeyLookup,
        layout: &SlotLayout,
        table: &Buffer,
        slots: u64,
    ) -> Result<()> {
        let mut key = KernelKey::new("group_clear");
        key_lookup.init_words(layout).hash(&mut key);
        let program = || group::clear(key_lookup, layout);
        let function = body.memo.function(self.context, key, "group_clear", program)?;
        let words = slots * u64::from(key_lookup.stride(layout));
        let arguments = onrush_device::Arguments::new().buffer(table).value(words);
        launch(self.context, &function, arguments, words, 256, 0)
    }

    /// Adds rows to a table in device memory.
    fn direct(
        &self,
        body: &KernelBody,
        key_lookup: &KeyLookup,
        layout: &SlotLayout,
        round: Pass,
        table: &Buffer,
        slots: u64,
    ) -> Result<()> {
        let parameters = group::direct_parameters(body, key_lookup, self.status, table, slots);
        let of = (key_lookup.codegen_key(), layout, round);
        let program = || group::direct(body, layout, round, key_lookup, &parameters);
        let function = body.kernel(self.context, "group_direct", of, program)?;
        launch_rows(self.context, &function, parameters.arguments(), body.source, group::DIRECT_THREADS)
    }

    /// Adds up all rows.
    fn reduce(&self, body: &KernelBody, layout: &SlotLayout, round: Pass, table: u64, partials: u64) -> Result<()> {
        let parameters = reduce::parameters(body, round, self.status, partials, table, layout);
        let program = || reduce::program(body, layout, round, &parameters, None);
        let function = body.kernel(self.context, "reduce_rows", (layout, round), program)?;
        // One block at least: it writes the result.
        let items = body.source.rows.max(1);
        launch_blocks(
            self.context,
            &function,
            parameters.arguments(),
            items,
            (reduce::THREADS, max_reduce_blocks(self.context)),
            0,
        )
    }

    /// The same by a table of each block in shared memory where that has room.
    fn dense(
        &self,
        body: &KernelBody,
        key_lookup: &KeyLookup,
        layout: &SlotLayout,
        round: Pass,
        table: &Buffer,
        size: u64,
    ) -> Result<()> {
        let each = layout.shared_bytes(round).max(4);
        let bytes = size.saturating_mul(u64::from(each));
        if bytes > u64::from(self.tuning.shared_bytes) {
            return self.direct(body, key_lookup, layout, round, table, size);
        }
        let bytes = (bytes as u32).max(1);
        let replicas = 1 << (HALF_SHARED / bytes).clamp(1, 32).ilog2();
        let parameters = group::shared_parameters(body, key_lookup, self.status.fault(), table, replicas);
        let of = (key_lookup.codegen_key(), layout, round);
        let program = || group::shared(body, layout, round, key_lookup, &parameters);
        let function = body.kernel(self.context, "group_shared", of, program)?;
        let threads = group::shared_threads(layout);
        launch(self.context, &function, parameters.arguments(), body.source.rows, threads, bytes * replicas)
    }
}

/// Groups a pipeline's rows. The source reads keys and accumulators from the table that is given back with it.
pub fn run(
    tools: &GroupContext,
    body: &KernelBody,
    keys: &[NodeId],
    accumulators: &[Accumulator],
) -> Result<(RowSource, Buffer)> {
    let key_lookup = choose_key_lookup(body, keys, body.source.rows);
    by(tools, body, &key_lookup, accumulators, (GroupCountHints::place(body, keys), true))
}

/// `moves`: whether rows may be moved so that those of a part of a hash table come one after another.
fn by(
    tools: &GroupContext,
    body: &KernelBody,
    key_lookup: &KeyLookup,
    accumulators: &[Accumulator],
    (place, mut moves): (u64, bool),
) -> Result<(RowSource, Buffer)> {
    let (context, rows, keys) = (tools.context, body.source.rows, &key_lookup.keys()[..]);
    let dense = matches!(key_lookup, KeyLookup::Direct { .. });
    let layout = layout(body, accumulators, dense);
    let of = kinds(body.graph, accumulators);
    let stride = u64::from(key_lookup.stride(&layout));
    let add = |body: &KernelBody, key_lookup: &KeyLookup, round: Pass, table: &Buffer, slots: u64| match dense {
        true => tools.dense(body, key_lookup, &layout, round, table, slots),
        false => tools.direct(body, key_lookup, &layout, round, table, slots),
    };
    let (mut slots, mut expected) = match key_lookup {
        KeyLookup::Direct { size, .. } => (*size, 0),
        _ => {
            let expected = tools.sizes.get(place).unwrap_or_else(|| GUESS.min(rows).max(LEAST));
            (expected * SLOTS, expected)
        }
    };
    let mut partitioned = tools.part(body, key_lookup, &layout, place)?;
    let mut may_be_less = !dense;
    loop {
        let all = slots + key_lookup.special();
        if !dense && moves && tools.exceeds_l2(rows, all * stride * 8) {
            moves = false;
            let read = partition::read(layout.accumulators.iter());
            if let Some(moved) = tools.cluster(body, key_lookup, read, all * stride * 8, place)? {
                tools.sizes.put(place, expected);
                let (key_lookup, accumulators) = (key_lookup.over(&moved.keys(keys)), moved.accumulators(accumulators));
                return by(tools, &moved.body(body.memo), &key_lookup, &accumulators, (place, false));
            }
        }
        let table = match context.allocate(all * stride * 8).map_err(Error::from) {
            Err(error) if error.is_memory() && partitioned.is_some() => {
                partitioned = None;
                continue;
            }
            // Fewer groups than were guessed may do.
            Err(error) if error.is_memory() && may_be_less && expected > LEAST => {
                expected = (expected / (GROWTH * GROWTH)).max(LEAST);
                slots = expected * SLOTS;
                continue;
            }
            table => table?,
        };
        may_be_less = false;
        tools.clear(body, key_lookup, &layout, &table, all)?;
        let add_rows = |round: Pass| match &partitioned {
            Some(partitioned) => partitioned.add(tools, key_lookup, &layout, round, &table),
            None => add(body, key_lookup, round, &table, slots),
        };
        add_rows(Pass::First)?;
        if dense || !tools.status.overflowed(context)? {
            if !dense {
                tools.sizes.put(place, expected);
            }
            if layout.has(Pass::Second) {
                add_rows(Pass::Second)?;
            }
            // Their memory may be wanted.
            drop(partitioned.take());
            for (of, numbers) in layout.distinct() {
                let pairs = DistinctGroups::new(tools, body, keys, of)?;
                for number in numbers {
                    let round = Pass::Distinct(number, pairs.value);
                    add(&pairs.body(body), &key_lookup.over(&pairs.keys), round, &table, slots)?;
                }
            }
            return Ok((group::source(Some(key_lookup), &layout, &of, table.address(), slots), table));
        }
        // Twice as many slots as rows never overflow but by a bad hash.
        if slots > 64 * rows.max(1) {
            return Err(Error::Kernels(onrush_kernels::Error::TooManyGroups { slots }));
        }
        tools.status.clear_overflow(context)?;
        expected = expected.saturating_mul(GROWTH);
        slots = expected * SLOTS;
    }
}

/// Keys and different values: the groups by both.
struct DistinctGroups {
    source: RowSource,
    graph: ExprGraph,
    /// The keys among the columns of these groups.
    keys: Vec<NodeId>,
    value: NodeId,
    _memory: Buffer,
}

impl DistinctGroups {
    fn new(tools: &GroupContext, body: &KernelBody, keys: &[NodeId], of: NodeId) -> Result<DistinctGroups> {
        let mut graph = body.graph.clone();
        let null = graph.add(Op::IsNull, &[of], DeviceType::Bool);
        let mut filter = graph.add(Op::Not, &[null], DeviceType::Bool);
        if let Some(before) = body.filter {
            filter = graph.add(Op::And, &[before, filter], DeviceType::Bool);
        }
        let body = KernelBody::new(body.source, &graph, body.beside, Some(filter), body.memo);
        let both: Vec<NodeId> = keys.iter().copied().chain([of]).collect();
        let (source, memory) = run(tools, &body, &both, &[])?;
        let mut groups = ExprGraph::new();
        let value = groups.input(keys.len(), graph.kind(of));
        let keys = keys.iter().enumerate().map(|(at, key)| groups.input(at, graph.kind(*key))).collect();
        Ok(DistinctGroups { source, graph: groups, keys, value, _memory: memory })
    }

    fn body<'a>(&'a self, of: &KernelBody<'a>) -> KernelBody<'a> {
        KernelBody::new(&self.source, &self.graph, SideInputs::default(), None, of.memo)
    }
}

/// With sums of 128-bit numbers that cannot leave 64 bits, however the rows fall into groups or frames, as such.
pub(crate) fn narrow_sums(body: &KernelBody, accumulators: &[Accumulator]) -> Vec<Accumulator> {
    let short = |of: NodeId| {
        let largest = body.range(of).map(|(low, high)| low.unsigned_abs().max(high.unsigned_abs()));
        largest.and_then(|most| most.checked_mul(u128::from(body.source.rows))).is_some_and(|most| most < 1 << 63)
    };
    let shorten = |a: &Accumulator| match a.op {
        AggregateOp::SumI128 if a.of.is_some_and(short) => Accumulator::new(AggregateOp::SumFitsI64, a.of),
        _ => *a,
    };
    accumulators.iter().map(shorten).collect()
}

fn layout(body: &KernelBody, accumulators: &[Accumulator], rows: bool) -> SlotLayout {
    let values: Vec<NodeId> = accumulators.iter().flat_map(|a| a.of.into_iter().chain(a.with)).collect();
    let nullable: HashMap<NodeId, bool> = values.iter().copied().zip(body.nullable(&values)).collect();
    let accumulators = narrow_sums(body, accumulators);
    SlotLayout::of(&accumulators, &|id| nullable.get(&id).copied().unwrap_or(true), rows)
}

/// All rows as one group, and columns over that in the same kernel: their one value each. The graph is over
/// accumulators. None where rows are looked at more than once, or where the words of a slot are many. Waits.
pub fn fused_scalar_aggregate(
    tools: &GroupContext,
    lane: &StreamContext,
    body: &KernelBody,
    accumulators: &[Accumulator],
    (graph, roots): (&ExprGraph, &[NodeId]),
) -> Result<Option<(Vec<OutputColumn>, RecordedLaunch)>> {
    let (context, status) = (tools.context, tools.status);
    let layout = layout(body, accumulators, false);
    let is_once = !layout.has(Pass::Second) && layout.distinct().is_empty();
    let is_free = body.source.identity != status.table();
    if !is_once || !is_free || u64::from(layout.words) > StatusBlock::WORDS {
        return Ok(None);
    }
    let table = status.table();
    let partials = table + u64::from(layout.words.max(1)) * 8;
    let source = group::source(None, &layout, &kinds(body.graph, accumulators), table, 1);
    let end = KernelBody::new(&source, graph, SideInputs::default(), None, body.memo);
    let mut targets = Vec::new();
    for (root, nullable) in roots.iter().zip(end.nullable(roots)) {
        debug_assert!(graph.kind(*root) != DeviceType::String);
        let valid = if nullable { Some(lane.scratch(16)?) } else { None };
        targets.push(OutputColumn { values: lane.scratch(16)?, valid, packed: true });
    }
    let mut parameters = reduce::parameters(body, Pass::First, status, partials, table, &layout);
    let ending = reduce::FinalOutput::new(&end, roots, &targets, (status.fault(), lane.mailbox.address()));
    ending.extend(&mut parameters);
    let program = || reduce::program(body, &layout, Pass::First, &parameters, Some(&ending));
    let function = body.kernel(context, "reduce_row", (&layout, ending.codegen_key()), program)?;
    let items = body.source.rows.max(1);
    lane.launch_and_wait(|| {
        launch_blocks(
            context,
            &function,
            parameters.arguments(),
            items,
            (reduce::THREADS, max_reduce_blocks(context)),
            0,
        )?;
        lane.restock();
        Ok(())
    })?;
    // The word that it is told in is behind them.
    let values = targets.len() + targets.iter().filter(|target| target.valid.is_some()).count();
    let run = RecordedLaunch {
        function,
        first: parameters.len() - values - 1,
        arguments: parameters.arguments(),
        grid: (items, reduce::THREADS, max_reduce_blocks(context)),
        results: Vec::new(),
        rows: 1,
        tables: Vec::new(),
    };
    Ok(Some((targets, run)))
}

/// All rows as one group. Memory is given back unless what the status has is enough.
pub fn all(
    tools: &GroupContext,
    body: &KernelBody,
    accumulators: &[Accumulator],
) -> Result<(RowSource, Option<Buffer>)> {
    let context = tools.context;
    let layout = layout(body, accumulators, false);
    let of = kinds(body.graph, accumulators);
    let words = u64::from(layout.words.max(1));
    // Not over the row that a reduction before this one left there.
    let is_free = body.source.identity != tools.status.table();
    let memory = match is_free && words <= StatusBlock::WORDS {
        true => None,
        false => Some(context.allocate(words * 8 * (1 + u64::from(max_reduce_blocks(context))))?),
    };
    let table = memory.as_ref().map_or(tools.status.table(), Buffer::address);
    let partials = table + words * 8;
    for round in [Pass::First, Pass::Second] {
        if layout.has(round) {
            tools.reduce(body, &layout, round, table, partials)?;
        }
    }
    for (of, numbers) in layout.distinct() {
        let pairs = DistinctGroups::new(tools, body, &[], of)?;
        for number in numbers {
            tools.reduce(&pairs.body(body), &layout, Pass::Distinct(number, pairs.value), table, partials)?;
        }
    }
    Ok((group::source(None, &layout, &of, table, 1), memory))
}
