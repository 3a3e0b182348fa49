//! Grouping: what is known of the keys decides how rows find their slot, and how the table is kept.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use onrush_device::Buffer;
use onrush_kernels::{Context, Scalar};

use crate::aggregate::{Accumulator, Layout, Round, What};
use crate::codegen::group::{self, Digit, Finding};
use crate::codegen::output::Target;
use crate::codegen::{Beside, Body, Source, parted, reduce};
use crate::graph::{Graph, Id, Kind, Op};
use crate::lane::{Lane, Status};
use crate::launch::{launch, launch_blocks, launch_rows};
use crate::memo::Key;
use crate::parted::Tuning;
use crate::prepared::Run;
use crate::{Error, Result};

/// A range of keys up to this size always has a slot for each; a larger one if there are rows for it.
const ALWAYS_DENSE: u64 = 1 << 12;
/// Slots of a hash table for each group that is expected, groups at first and at least, and how much larger the next table is.
const SLOTS: u64 = 2;
const GUESS: u64 = 1 << 18;
const LEAST: u64 = 1 << 9;
const GROWTH: u64 = 4;
/// Shared memory with which two blocks of 1024 threads are on a multiprocessor.
pub const HALF_SHARED: u32 = 113 << 10;

/// What the values of an accumulator are, once they are in a slot.
pub fn kinds(graph: &Graph, accumulators: &[Accumulator]) -> Vec<Kind> {
    let kind = |a: &Accumulator| match a.what {
        What::SumFloat
        | What::About
        | What::SquaresAbout
        | What::ProductsAbout
        | What::Spread
        | What::DistinctFloat => Kind::Number(Scalar::F64),
        What::SumWide | What::SumShort | What::DistinctWide => Kind::Number(Scalar::I128),
        What::SumInteger | What::DistinctInteger => a.of.map_or(Kind::Number(Scalar::I64), |of| graph.kind(of)),
        What::Count | What::Distinct | What::Least | What::Greatest | What::LeastUpper | What::GreatestUpper => {
            Kind::Number(Scalar::I64)
        }
        What::LeastUnsigned | What::GreatestUnsigned | What::LeastLower | What::GreatestLower => {
            Kind::Number(Scalar::U64)
        }
    };
    accumulators.iter().map(kind).collect()
}

/// How rows find their group.
pub fn finding(body: &Body, keys: &[Id], rows: u64) -> Finding {
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
        digits.push(Digit { key: *key, kind, base, count, nullable: *nullable, stride });
    }
    if digits.len() == keys.len() {
        let dense = product <= ALWAYS_DENSE || product <= rows.saturating_mul(2);
        return if dense { Finding::Dense { digits, size: product } } else { Finding::Packed { digits } };
    }
    match keys {
        [key] if body.graph.kind(*key) != Kind::Number(Scalar::I128) => {
            Finding::Raw { key: *key, kind: body.graph.kind(*key), nullable: nullable[0] }
        }
        _ => Finding::Wide {
            keys: keys.iter().zip(nullable).map(|(key, null)| (*key, body.graph.kind(*key), null)).collect(),
        },
    }
}

/// How many groups there were when the same keys of the same memory were grouped last.
#[derive(Default)]
pub struct Sizes {
    known: Mutex<HashMap<u64, u64>>,
}

impl Sizes {
    /// Where what is known of some keys is.
    pub fn place(body: &Body, keys: &[Id]) -> u64 {
        let mut hasher = DefaultHasher::new();
        for id in body.graph.needed(keys) {
            body.graph.node(id).hash(&mut hasher);
        }
        body.graph.literals().hash(&mut hasher);
        body.source.identity.hash(&mut hasher);
        hasher.finish()
    }

    pub fn get(&self, place: u64) -> Option<u64> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&place).copied()
    }

    pub fn put(&self, place: u64, expected: u64) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() > 10_000 {
            known.clear();
        }
        known.insert(place, expected);
    }
}

/// What grouping works with.
pub struct Tools<'a> {
    pub context: &'a Context,
    pub status: &'a Status,
    pub sizes: &'a Sizes,
    pub tuning: &'a Tuning,
}

impl Tools<'_> {
    fn clear(&self, body: &Body, finding: &Finding, layout: &Layout, table: &Buffer, slots: u64) -> Result<()> {
        let mut key = Key::new("group_clear");
        finding.start(layout).hash(&mut key);
        let program = || group::clear(finding, layout);
        let function = body.memo.function(self.context, key, "group_clear", program)?;
        let words = slots * u64::from(finding.stride(layout));
        let arguments = onrush_device::Arguments::new().buffer(table).value(words);
        launch(self.context, &function, arguments, words, 256, 0)
    }

    /// Adds rows to a table in device memory.
    fn direct(
        &self,
        body: &Body,
        finding: &Finding,
        layout: &Layout,
        round: Round,
        table: &Buffer,
        slots: u64,
    ) -> Result<()> {
        let parameters = group::direct_parameters(body, finding, self.status, table, slots);
        let of = (finding.form(), layout, round);
        let program = || group::direct(body, layout, round, finding, &parameters);
        let function = body.kernel(self.context, "group_direct", of, program)?;
        launch_rows(self.context, &function, parameters.arguments(), body.source, group::DIRECT_THREADS)
    }

    /// Adds up all rows.
    fn reduce(&self, body: &Body, layout: &Layout, round: Round, table: u64, partials: u64) -> Result<()> {
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
            (reduce::THREADS, reducing(self.context)),
            0,
        )
    }

    /// The same by a table of each block in shared memory where that has room.
    fn dense(
        &self,
        body: &Body,
        finding: &Finding,
        layout: &Layout,
        round: Round,
        table: &Buffer,
        size: u64,
    ) -> Result<()> {
        let each = layout.shared_bytes(round).max(4);
        let bytes = size.saturating_mul(u64::from(each));
        if bytes > u64::from(self.tuning.shared_bytes) {
            return self.direct(body, finding, layout, round, table, size);
        }
        let bytes = (bytes as u32).max(1);
        let replicas = 1 << (HALF_SHARED / bytes).clamp(1, 32).ilog2();
        let parameters = group::shared_parameters(body, finding, self.status.fault(), table, replicas);
        let of = (finding.form(), layout, round);
        let program = || group::shared(body, layout, round, finding, &parameters);
        let function = body.kernel(self.context, "group_shared", of, program)?;
        let threads = group::shared_threads(layout);
        launch(self.context, &function, parameters.arguments(), body.source.rows, threads, bytes * replicas)
    }
}

/// Groups a pipeline's rows. The source reads keys and accumulators from the table that is given back with it.
pub fn run(tools: &Tools, body: &Body, keys: &[Id], accumulators: &[Accumulator]) -> Result<(Source, Buffer)> {
    let finding = finding(body, keys, body.source.rows);
    by(tools, body, &finding, accumulators, (Sizes::place(body, keys), true))
}

/// `moves`: whether rows may be moved so that those of a part of a hash table come one after another.
fn by(
    tools: &Tools,
    body: &Body,
    finding: &Finding,
    accumulators: &[Accumulator],
    (place, mut moves): (u64, bool),
) -> Result<(Source, Buffer)> {
    let (context, rows, keys) = (tools.context, body.source.rows, &finding.keys()[..]);
    let dense = matches!(finding, Finding::Dense { .. });
    let layout = layout(body, accumulators, dense);
    let of = kinds(body.graph, accumulators);
    let stride = u64::from(finding.stride(&layout));
    let add = |body: &Body, finding: &Finding, round: Round, table: &Buffer, slots: u64| match dense {
        true => tools.dense(body, finding, &layout, round, table, slots),
        false => tools.direct(body, finding, &layout, round, table, slots),
    };
    let (mut slots, mut expected) = match finding {
        Finding::Dense { size, .. } => (*size, 0),
        _ => {
            let expected = tools.sizes.get(place).unwrap_or_else(|| GUESS.min(rows).max(LEAST));
            (expected * SLOTS, expected)
        }
    };
    let mut parted = tools.part(body, finding, &layout, place)?;
    let mut may_be_less = !dense;
    loop {
        let all = slots + finding.special();
        if !dense && moves && tools.is_far(rows, all * stride * 8) {
            moves = false;
            let read = parted::read(layout.accumulators.iter());
            if let Some(moved) = tools.cluster(body, finding, read, all * stride * 8, place)? {
                tools.sizes.put(place, expected);
                let (finding, accumulators) = (finding.over(&moved.keys(keys)), moved.accumulators(accumulators));
                return by(tools, &moved.body(body.memo), &finding, &accumulators, (place, false));
            }
        }
        let table = match context.allocate(all * stride * 8).map_err(Error::from) {
            Err(error) if error.is_memory() && parted.is_some() => {
                parted = None;
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
        tools.clear(body, finding, &layout, &table, all)?;
        let add_rows = |round: Round| match &parted {
            Some(parted) => parted.add(tools, finding, &layout, round, &table),
            None => add(body, finding, round, &table, slots),
        };
        add_rows(Round::First)?;
        if dense || !tools.status.overflowed(context)? {
            if !dense {
                tools.sizes.put(place, expected);
            }
            if layout.has(Round::Second) {
                add_rows(Round::Second)?;
            }
            // Their memory may be wanted.
            drop(parted.take());
            for (of, numbers) in layout.distinct() {
                let pairs = Pairs::new(tools, body, keys, of)?;
                for number in numbers {
                    let round = Round::Distinct(number, pairs.value);
                    add(&pairs.body(body), &finding.over(&pairs.keys), round, &table, slots)?;
                }
            }
            return Ok((group::source(Some(finding), &layout, &of, table.address(), slots), table));
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
struct Pairs {
    source: Source,
    graph: Graph,
    /// The keys among the columns of these groups.
    keys: Vec<Id>,
    value: Id,
    _memory: Buffer,
}

impl Pairs {
    fn new(tools: &Tools, body: &Body, keys: &[Id], of: Id) -> Result<Pairs> {
        let mut graph = body.graph.clone();
        let null = graph.add(Op::IsNull, &[of], Kind::Bool);
        let mut filter = graph.add(Op::Not, &[null], Kind::Bool);
        if let Some(before) = body.filter {
            filter = graph.add(Op::And, &[before, filter], Kind::Bool);
        }
        let body = Body::new(body.source, &graph, body.beside, Some(filter), body.memo);
        let both: Vec<Id> = keys.iter().copied().chain([of]).collect();
        let (source, memory) = run(tools, &body, &both, &[])?;
        let mut groups = Graph::new();
        let value = groups.input(keys.len(), graph.kind(of));
        let keys = keys.iter().enumerate().map(|(at, key)| groups.input(at, graph.kind(*key))).collect();
        Ok(Pairs { source, graph: groups, keys, value, _memory: memory })
    }

    fn body<'a>(&'a self, of: &Body<'a>) -> Body<'a> {
        Body::new(&self.source, &self.graph, Beside::default(), None, of.memo)
    }
}

/// With sums of 128-bit numbers that cannot leave 64 bits, however the rows fall into groups or frames, as such.
pub(crate) fn shortened(body: &Body, accumulators: &[Accumulator]) -> Vec<Accumulator> {
    let short = |of: Id| {
        let largest = body.range(of).map(|(low, high)| low.unsigned_abs().max(high.unsigned_abs()));
        largest.and_then(|most| most.checked_mul(u128::from(body.source.rows))).is_some_and(|most| most < 1 << 63)
    };
    let shorten = |a: &Accumulator| match a.what {
        What::SumWide if a.of.is_some_and(short) => Accumulator::new(What::SumShort, a.of),
        _ => *a,
    };
    accumulators.iter().map(shorten).collect()
}

fn layout(body: &Body, accumulators: &[Accumulator], rows: bool) -> Layout {
    let values: Vec<Id> = accumulators.iter().flat_map(|a| a.of.into_iter().chain(a.with)).collect();
    let nullable: HashMap<Id, bool> = values.iter().copied().zip(body.nullable(&values)).collect();
    let accumulators = shortened(body, accumulators);
    Layout::of(&accumulators, &|id| nullable.get(&id).copied().unwrap_or(true), rows)
}

/// Blocks of a reduction at most: as many as there is room for at once, as each has memory in every lane.
pub fn reducing(context: &Context) -> u32 {
    const EACH: u32 = 2048 / reduce::THREADS;
    EACH * context.device().properties().multiprocessors.max(1)
}

/// All rows as one group, and columns over that in the same kernel: their one value each. The graph is over accumulators. None where rows
/// are looked at more than once, or where the words of a slot are many. Waits.
pub fn row(
    tools: &Tools,
    lane: &Lane,
    body: &Body,
    accumulators: &[Accumulator],
    (graph, roots): (&Graph, &[Id]),
) -> Result<Option<(Vec<Target>, Run)>> {
    let (context, status) = (tools.context, tools.status);
    let layout = layout(body, accumulators, false);
    let is_once = !layout.has(Round::Second) && layout.distinct().is_empty();
    let is_free = body.source.identity != status.table();
    if !is_once || !is_free || u64::from(layout.words) > Status::WORDS {
        return Ok(None);
    }
    let table = status.table();
    let partials = table + u64::from(layout.words.max(1)) * 8;
    let source = group::source(None, &layout, &kinds(body.graph, accumulators), table, 1);
    let end = Body::new(&source, graph, Beside::default(), None, body.memo);
    let mut targets = Vec::new();
    for (root, nullable) in roots.iter().zip(end.nullable(roots)) {
        debug_assert!(graph.kind(*root) != Kind::Text);
        let valid = if nullable { Some(lane.piece(16)?) } else { None };
        targets.push(Target { values: lane.piece(16)?, valid, packed: true });
    }
    let mut parameters = reduce::parameters(body, Round::First, status, partials, table, &layout);
    let ending = reduce::Ending::new(&end, roots, &targets, (status.fault(), lane.mailbox.address()));
    ending.extend(&mut parameters);
    let program = || reduce::program(body, &layout, Round::First, &parameters, Some(&ending));
    let function = body.kernel(context, "reduce_row", (&layout, ending.form()), program)?;
    let items = body.source.rows.max(1);
    lane.told(|| {
        launch_blocks(context, &function, parameters.arguments(), items, (reduce::THREADS, reducing(context)), 0)?;
        lane.restock();
        Ok(())
    })?;
    // The word that it is told in is behind them.
    let values = targets.len() + targets.iter().filter(|target| target.valid.is_some()).count();
    let run = Run {
        function,
        first: parameters.len() - values - 1,
        arguments: parameters.arguments(),
        grid: (items, reduce::THREADS, reducing(context)),
        results: Vec::new(),
        rows: 1,
        tables: Vec::new(),
    };
    Ok(Some((targets, run)))
}

/// All rows as one group. Memory is given back unless what the status has is enough.
pub fn all(tools: &Tools, body: &Body, accumulators: &[Accumulator]) -> Result<(Source, Option<Buffer>)> {
    let context = tools.context;
    let layout = layout(body, accumulators, false);
    let of = kinds(body.graph, accumulators);
    let words = u64::from(layout.words.max(1));
    // Not over the row that a reduction before this one left there.
    let is_free = body.source.identity != tools.status.table();
    let memory = match is_free && words <= Status::WORDS {
        true => None,
        false => Some(context.allocate(words * 8 * (1 + u64::from(reducing(context))))?),
    };
    let table = memory.as_ref().map_or(tools.status.table(), Buffer::address);
    let partials = table + words * 8;
    for round in [Round::First, Round::Second] {
        if layout.has(round) {
            tools.reduce(body, &layout, round, table, partials)?;
        }
    }
    for (of, numbers) in layout.distinct() {
        let pairs = Pairs::new(tools, body, &[], of)?;
        for number in numbers {
            tools.reduce(&pairs.body(body), &layout, Round::Distinct(number, pairs.value), table, partials)?;
        }
    }
    Ok((group::source(None, &layout, &of, table, 1), memory))
}
