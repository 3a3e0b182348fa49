//! Joins: a table's rows by their keys, so that the rows of a pipeline find them. Where a key has one row, finding it is a part of the
//! pipeline's kernel; where keys have several, rows become pairs first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use arrow::array::{Array, AsArray};
use onrush_device::{Arguments, Buffer};
use onrush_kernels::scan::{Bounds, scan};
use onrush_kernels::{Column, Context, Scalar, sort};

use crate::codegen::group::{Digit, Finding};
use crate::codegen::join::{self, Holds, Looked, Pairs, Written};
use crate::codegen::output::Target;
use crate::codegen::{Access, Beside, Body, Parameters, Probing, Source, Table};
use crate::column::DeviceTable;
use crate::dictionary::Dictionary;
use crate::graph::{Graph, Id, Kind, Op};
use crate::group::Tools;
use crate::memo::{Key, Memo};
use crate::run::{launch, launch_blocks, launch_tiles};
use crate::{Error, Result};

pub use crate::codegen::join::How;

/// A table in which a pipeline's rows find rows by keys.
#[derive(Clone)]
pub struct Join {
    /// Which of the tables beside the pipeline's own.
    pub table: usize,
    /// Over that table's columns.
    pub graph: Graph,
    pub keys: Vec<Id>,
    /// The node of the pipeline that finds a row; its arguments are the keys there.
    pub probe: Id,
    /// Whether null is a key like any other one.
    pub nulls_equal: bool,
    pub how: How,
    /// What else must hold of both rows, in terms of the pipeline's nodes. Of inner joins it is a filter instead.
    pub residual: Option<Id>,
    /// Which of the pipeline's rows are joined at all.
    pub before: Option<Id>,
}

impl Join {
    /// Whether all pairs of rows are looked at: there are no keys.
    pub fn is_all(&self) -> bool {
        self.keys.iter().all(|key| matches!(self.graph.node(*key).op, Op::Literal(_)))
    }
}

/// Slots for each row up to which keys have a slot each, and the number of slots that is always so.
pub const SPARSE: u64 = 8;
pub const ALWAYS: u64 = 1 << 16;
/// Bytes of columns that are put to the slots of keys; of more, the rows are. They fit into the L2 cache: beyond it a row that is put
/// somewhere costs more than one that is read, and columns are written once more than rows alone (measured on an H200: 1e7 keys with a
/// column of 8 bytes take 2.04 ms rather than 1.17).
const MOST_BY_SLOT: u64 = 32 << 20;
/// Blocks on each multiprocessor that look at all rows of runs, which may take seconds: half of those that it has room for.
const LOOKING: u32 = 4;
/// Pairs of a piece: 20 ms on an H200.
const PIECE: u64 = 1 << 34;
/// Rows are numbers of 32 bits, of which the last two mean something else.
const MOST_ROWS: u64 = u32::MAX as u64 - 2;

/// The memory of a join while its stage runs.
pub struct Built {
    pub probing: Probing,
    /// The rows of the joined table by their runs, where keys have several.
    order: Option<Buffer>,
    _table: Arc<Buffer>,
    _by_slot: Vec<Target>,
    _numbers: Vec<Arc<Buffer>>,
}

impl Built {
    /// Whether the pipeline's rows have to become pairs: keys have several rows, or rows that nobody finds are wanted, too.
    pub fn has_pairs(&self, join: &Join) -> bool {
        self.order.is_some() && join.how != How::Exists
    }
}

/// The columns of a table by the slots of dense keys.
struct Direct {
    slots: u64,
    /// Whether each slot has a row.
    complete: bool,
    /// A bit for each slot.
    present: Arc<Buffer>,
    columns: Vec<Target>,
}

impl Direct {
    /// How a probing reads the columns of the numbers `used`.
    fn read(&self, number: usize, used: &[usize], columns: &mut [Access], parameters: &mut Parameters) {
        for (index, target) in used.iter().zip(&self.columns) {
            let access = &mut columns[*index];
            let (name, valid) = (format!("j{number}d{index}"), format!("j{number}e{index}"));
            let (stored, value) = match access.kind {
                Kind::Bool => ("u8", format!("({name}[row] != 0)")),
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

/// A source whose rows are pairs, and the memory that it reads.
pub struct Paired {
    pub source: Source,
    /// Whether some have no row of the source.
    lost: bool,
    _rows: Buffer,
    found: Vec<(usize, Buffer)>,
}

fn finding(body: &Body, keys: &[Id], nulls_equal: bool, rows: u64) -> Result<Finding> {
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
        digits.push(Digit { key: *key, kind, base, count, nullable: *nullable, stride });
    }
    if digits.len() == keys.len() {
        let dense = product <= ALWAYS || product <= rows.saturating_mul(SPARSE);
        return Ok(if dense { Finding::Dense { digits, size: product } } else { Finding::Packed { digits } });
    }
    let keys: Vec<_> = keys.iter().zip(nullable).map(|(key, null)| (*key, body.graph.kind(*key), null)).collect();
    Ok(match keys[..] {
        [(key, kind, nullable)] if !join::is_wide(kind) => Finding::Raw { key, kind, nullable },
        _ => Finding::Wide { keys },
    })
}

/// Whether each slot of dense keys has one row.
fn is_complete(body: &Body, join: &Join, finding: &Finding, several: bool) -> bool {
    let Finding::Dense { size, .. } = *finding else { return false };
    !several && body.source.rows == size && !body.nullable(&join.keys).into_iter().any(|nullable| nullable)
}

/// Numbers of texts in other dictionaries, kept as long as both are.
#[derive(Default)]
pub struct Renumberings {
    known: Mutex<HashMap<(usize, usize), Renumbering>>,
}

struct Renumbering {
    from: Weak<Dictionary>,
    to: Weak<Dictionary>,
    numbers: Arc<Buffer>,
}

impl Renumberings {
    /// For each text of `from` its number in `to`, all bits set where it is not there.
    fn get(&self, context: &Context, from: &Arc<Dictionary>, to: &Arc<Dictionary>) -> Result<Arc<Buffer>> {
        let place = (Arc::as_ptr(from).addr(), Arc::as_ptr(to).addr());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, r| r.from.strong_count() > 0 && r.to.strong_count() > 0);
        if let Some(found) = known.get(&place) {
            return Ok(Arc::clone(&found.numbers));
        }
        let numbers = Arc::new(context.upload(&renumber(from, to))?);
        // Other runs find them from here on.
        context.stream.synchronize()?;
        let (from, to) = (Arc::downgrade(from), Arc::downgrade(to));
        known.insert(place, Renumbering { from, to, numbers: Arc::clone(&numbers) });
        Ok(numbers)
    }
}

/// Both are in the order of their texts.
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

/// What a stage's joins are made with.
pub struct Builder<'a> {
    pub tools: &'a Tools<'a>,
    pub memo: &'a Memo,
    pub renumberings: &'a Renumberings,
}

impl Builder<'_> {
    /// The table of a join. `number` is its place among the joins of its stage, `graph` the stage's, which looks for `rows`; `ranged` says
    /// which columns' ranges are needed beside those of keys, and the dictionaries are those of the keys in the pipeline.
    pub fn build(
        &self,
        (number, join): (usize, &Join),
        (graph, rows): (&Graph, u64),
        table: &DeviceTable,
        ranged: &dyn Fn(usize) -> bool,
        dictionaries: &[Option<Arc<Dictionary>>],
    ) -> Result<Built> {
        let context = self.tools.context;
        if table.rows > MOST_ROWS {
            return Err(Error::TooManyRows(format!("a join with a table of {} rows", table.rows)));
        }
        let needed = join.graph.needed(&join.keys);
        let keys = |index: usize| needed.iter().any(|id| join.graph.node(*id).op == Op::Input(index as u32));
        let narrow = |index: usize| table.columns[index].kind != table.columns[index].stored();
        let source = table.source(context, &|index| keys(index) || ranged(index) || narrow(index))?;
        let body = Body::new(&source, &join.graph, Beside::default(), None, self.memo);
        let finding = finding(&body, &join.keys, join.nulls_equal, table.rows)?;
        let used = |column: usize| graph.nodes().iter().any(|n| n.op == Op::Joined(number as u32, column as u32));
        let used: Vec<usize> = (0..table.columns.len()).filter(|column| used(*column)).collect();
        let mut direct = None;
        // As many rows at least have to be looked for as are put in.
        if join.how != How::Full && rows >= table.rows {
            direct = self.direct(&body, join, &finding, &used)?;
        }
        let (memory, slots, holds, order, complete) = match &direct {
            Some(direct) => {
                let holds = Holds::Slot { complete: direct.complete };
                (Arc::clone(&direct.present), direct.slots, holds, None, direct.complete)
            }
            None => {
                let (memory, slots, several) = self.fill(&body, join, &finding)?;
                let all = several && (join.how != How::Exists || join.residual.is_some());
                let mut order = None;
                if all || join.how == How::Full {
                    order = Some(self.order(&body, join, &finding, &memory, slots)?);
                }
                let holds = if order.is_some() { Holds::Run } else { Holds::Row };
                let complete = holds == Holds::Row && is_complete(&body, join, &finding, several);
                (Arc::new(memory), slots, holds, order, complete)
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
        let finding = finding.over(&graph.node(join.probe).args);
        let of_residual = order.as_ref().filter(|_| join.residual.is_some());
        let mut parameters = join::probe_parameters(number, &finding, (&memory, slots), &renumber, of_residual, holds);
        let (mut columns, of_columns) =
            table.inputs(context, &format!("j{number}"), &|index| ranged(index) || narrow(index))?;
        match &direct {
            Some(direct) => direct.read(number, &used, &mut columns, &mut parameters),
            None => parameters.extend(&of_columns),
        }
        let probing = Probing {
            number,
            finding,
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
        let by_slot = direct.map_or_else(Vec::new, |direct| direct.columns);
        Ok(Built { probing, order, _table: memory, _by_slot: by_slot, _numbers: numbers })
    }

    /// The columns of a table by the slots of its keys, where these are dense, have one row each (or nothing but that there is one is wanted)
    /// and the columns are not too large. None where it is not so.
    fn direct(&self, body: &Body, join: &Join, finding: &Finding, used: &[usize]) -> Result<Option<Direct>> {
        let Finding::Dense { size: slots, .. } = *finding else { return Ok(None) };
        if used.iter().any(|index| matches!(body.source.inputs[*index].kind, Kind::Text | Kind::List)) {
            return Ok(None);
        }
        let bytes: u64 = used.iter().map(|index| body.source.inputs[*index].kind.bytes()).sum();
        if slots.saturating_mul(bytes.max(1)) > MOST_BY_SLOT {
            return Ok(None);
        }
        let (context, status, rows) = (self.tools.context, self.tools.status, body.source.rows);
        let mut graph = join.graph.clone();
        let roots: Vec<Id> = used.iter().map(|index| graph.input(*index, body.source.inputs[*index].kind)).collect();
        let body = Body::new(body.source, &graph, Beside::default(), None, self.memo);
        let mut columns = Vec::new();
        for (root, nullable) in roots.iter().zip(body.nullable(&roots)) {
            columns.push(Target::new(context, graph.kind(*root), nullable, slots.max(1), false)?);
        }
        let present = context.zeros(4 * slots.div_ceil(32).max(1))?;
        let of = (&roots[..], &columns[..]);
        let parameters = join::direct_parameters(&body, finding, status, (&present, slots), of);
        let program = || join::direct(&body, finding, join.nulls_equal, &roots, &parameters);
        let function = body.kernel(context, "join_direct", (finding.form(), join.nulls_equal, &roots), program)?;
        launch(context, &function, parameters.arguments(), rows, join::THREADS, 0)?;
        let (_, several) = status.built(context)?;
        if several {
            status.clear_build(context)?;
            // Whether there is one row or several makes no difference to those who only want to know of one.
            if !(used.is_empty() && join.how == How::Exists) {
                return Ok(None);
            }
        }
        let complete = is_complete(&body, join, finding, several);
        Ok(Some(Direct { slots, complete, present: Arc::new(present), columns }))
    }

    /// The filled table, its slots, and whether some key has several rows.
    fn fill(&self, body: &Body, join: &Join, finding: &Finding) -> Result<(Buffer, u64, bool)> {
        let (context, status) = (self.tools.context, self.tools.status);
        let rows = body.source.rows;
        let mut slots = match finding {
            Finding::Dense { size, .. } => *size,
            _ => 2 * rows.max(256),
        };
        loop {
            let bytes = (slots + finding.special()) * u64::from(join::stride(finding)) * 8;
            // One more for keys that are not there.
            let table = context.allocate(bytes + 8)?;
            let empty = if matches!(finding, Finding::Packed { .. } | Finding::Raw { .. }) { 0xff } else { 0 };
            table.fill(empty, &context.stream)?;
            let parameters = join::build_parameters(body, finding, status, &table, slots);
            let program = || join::build(body, finding, join.nulls_equal, &parameters);
            let of = (finding.form(), join.nulls_equal);
            let function = body.kernel(context, "join_build", of, program)?;
            launch(context, &function, parameters.arguments(), rows, join::THREADS, 0)?;
            let (overflowed, several) = status.built(context)?;
            if overflowed || several {
                status.clear_build(context)?;
            }
            if !overflowed {
                return Ok((table, slots, several));
            }
            if slots > 64 * rows.max(256) {
                return Err(Error::Kernels(onrush_kernels::Error::TooManyGroups { slots }));
            }
            slots *= 4;
        }
    }

    /// The rows of a table in the order of their slots, and of themselves within one; slots then hold runs.
    fn order(&self, body: &Body, join: &Join, finding: &Finding, table: &Buffer, slots: u64) -> Result<Buffer> {
        let (context, status) = (self.tools.context, self.tools.status);
        let rows = body.source.rows;
        let last = slots + finding.special();
        if last >= u64::from(u32::MAX) {
            return Err(Error::Unsupported(format!("a join with keys of {last} slots")));
        }
        let of_row = context.allocate(rows * 4)?;
        let parameters = join::slots_parameters(body, finding, status, (table, slots), &of_row);
        let program = || join::slots(body, finding, join.nulls_equal, &parameters);
        let function = body.kernel(context, "join_slots", (finding.form(), join.nulls_equal), program)?;
        launch(context, &function, parameters.arguments(), rows, join::THREADS, 0)?;
        let sorted = sort::sort(context, &Column::new(Scalar::U32, &of_row).slice(0, rows))?;
        let mut key = Key::new("join_runs");
        std::hash::Hash::hash(&finding.form(), &mut key);
        let function = self.memo.function(context, key, "join_runs", || join::runs(finding))?;
        let arguments = Arguments::new().buffer(&sorted.keys).value(rows).value(last as u32).buffer(table);
        launch(context, &function, arguments, rows, 256, 0)?;
        Ok(sorted.rows)
    }

    /// The rows of a pipeline with those of a join whose keys have several: joins up to `number` are there, and `base` is the source
    /// before there were pairs.
    pub fn pairs(
        &self,
        base: &Source,
        before: Option<Paired>,
        (graph, tables): (&Graph, &[Arc<Table>]),
        (number, join): (usize, &Join),
        built: &mut [Built],
    ) -> Result<Paired> {
        let (context, status) = (self.tools.context, self.tools.status);
        let source = before.as_ref().map_or(base, |paired| &paired.source);
        if base.rows > MOST_ROWS {
            return Err(Error::TooManyRows(format!("a join of {} rows", base.rows)));
        }
        // Rows that no pair has are read at the first row of the source.
        if base.rows == 0 && join.how == How::Full {
            return Err(Error::Unsupported("a full join of no rows".to_string()));
        }
        let probings: Vec<&Probing> = built.iter().map(|b| &b.probing).collect();
        let beside = Beside { tables, joins: &probings, window: None };
        let body = Body::new(source, graph, beside, join.before, self.memo);
        let earlier: Vec<usize> = before.iter().flat_map(|paired| paired.found.iter().map(|(n, _)| *n)).collect();
        let pairs = Pairs { join: number, how: join.how, earlier: &earlier, composed: before.is_some() };
        let of = (number, join.how, &earlier, join.probe);
        if join.how == How::Full && (before.is_some() || join.before.is_some()) {
            return Err(Error::Unsupported("a full join behind other ones".to_string()));
        }

        let looks = join.residual.is_some();
        let counts = if looks { Some(self.look(&body, &pairs, join)?) } else { None };
        let total = match &counts {
            Some((_, _, total)) => *total,
            None => {
                let parameters = join::count_parameters(&body, status);
                let program = || join::count(&body, &pairs, join.probe, &parameters);
                let function = body.kernel(context, "join_count", of, program)?;
                status.clear_count(context)?;
                launch(context, &function, parameters.arguments(), source.rows, join::THREADS, 0)?;
                status.finish(context)?
            }
        };
        if total > MOST_ROWS {
            return Err(Error::TooManyRows(format!("a join of {total} rows")));
        }

        let order =
            built[number].order.as_ref().ok_or_else(|| Error::Unsupported("a join without runs".to_string()))?;
        let tiles = source.rows.div_ceil(u64::from(join::THREADS * join::ITEMS));
        let state = context.zeros(8 + 8 * tiles)?;
        // As many more as there are rows that nobody may find.
        let others = if join.how == How::Full { built[number].probing.rows } else { 0 };
        if total + others > MOST_ROWS {
            return Err(Error::TooManyRows(format!("a full join of {total} rows")));
        }
        let room = || Ok::<Buffer, Error>(context.allocate(4 * (total + others).max(1))?);
        let (rows, found) = (room()?, room()?);
        let copies = earlier.iter().map(|_| room()).collect::<Result<Vec<_>>>()?;
        let written = Written { state: &state, order, source: &rows, earlier: &copies, found: &found };
        match &counts {
            _ if total == 0 => {}
            Some((counts, ends, _)) => {
                let rows = 0..source.rows;
                self.looked(&body, &pairs, join, &Looked { rows, counts, written: Some((ends, &written)) })?;
            }
            None => {
                let parameters = join::pairs_parameters(&body, &pairs, status, &written);
                let program = || join::pairs(&body, &pairs, join.probe, &parameters);
                let function = body.kernel(context, "join_pairs", of, program)?;
                launch_tiles(context, &function, parameters.arguments(), tiles, join::THREADS)?;
            }
        }
        let mut lost = before.as_ref().is_some_and(|paired| paired.lost);
        let mut all = total;
        if join.how == How::Full {
            let rest = self.rest(others, total, &rows, &found)?;
            (lost, all) = (rest > 0, total + rest);
        }

        let mut found: Vec<(usize, Buffer)> = earlier.iter().copied().zip(copies).chain([(number, found)]).collect();
        found.sort_by_key(|(number, _)| *number);
        for (of, buffer) in &found {
            let probing = &mut built[*of].probing;
            if *of == number {
                probing.paired = Some(matches!(join.how, How::Outer | How::Full));
            }
            probing.pair(buffer);
        }
        let mut parameters = base.parameters.clone();
        parameters.buffer("const u32* __restrict__", "pair", &rows);
        let source = Source {
            rows: all,
            parameters,
            inputs: join::paired(&base.inputs, lost),
            // These are read at row numbers of the table before, which pairs change nothing about.
            fetched: base.fetched.clone(),
            present: None,
            identity: base.identity,
        };
        Ok(Paired { source, lost, _rows: rows, found })
    }

    /// How many pairs each row has where more than the keys decides, their sums, and how many there are in all. Waits.
    fn look(&self, body: &Body, pairs: &Pairs, join: &Join) -> Result<(Buffer, Buffer, u64)> {
        let (context, rows) = (self.tools.context, body.source.rows);
        let counts = context.allocate(4 * rows.max(1))?;
        self.looked(body, pairs, join, &Looked { rows: 0..rows, counts: &counts, written: None })?;
        let ends = scan(context, &Column::new(Scalar::U32, &counts).slice(0, rows), Bounds::Inclusive)?;
        self.tools.status.finish(context)?;
        let last = rows as usize;
        let total = if rows == 0 { 0 } else { ends.read::<u64>(last - 1..last, &context.stream)?[0] };
        Ok((counts, ends, total))
    }

    fn looked(&self, body: &Body, pairs: &Pairs, join: &Join, of: &Looked) -> Result<()> {
        let context = self.tools.context;
        let writes = of.written.is_some();
        let status = self.tools.status;
        let parameters = join::looked_parameters(body, pairs, status, of);
        let program = || join::looked(body, pairs, join.probe, &parameters, writes);
        let key = (pairs.join, pairs.how, pairs.earlier, join.probe, writes);
        let function = body.kernel(context, if writes { "join_written" } else { "join_looked" }, key, program)?;
        let most = LOOKING * context.device().properties().multiprocessors;
        let all = if join.is_all() { body.beside.joins[pairs.join].rows.max(1) } else { 1 };
        let piece = (PIECE / all).max(u64::from(most * join::THREADS));
        let mut begin = of.rows.start;
        while begin < of.rows.end {
            let rows = begin..of.rows.end.min(begin + piece);
            begin = rows.end;
            let parameters = join::looked_parameters(body, pairs, status, &Looked { rows, ..of.clone() });
            launch_blocks(context, &function, parameters.arguments(), piece, (join::THREADS, most), 0)?;
        }
        Ok(())
    }

    /// Puts the rows of a joined table that no pair has behind the pairs, without a row of the source, and gives their number.
    fn rest(&self, rows: u64, total: u64, source: &Buffer, found: &Buffer) -> Result<u64> {
        let context = self.tools.context;
        let program = join::matched();
        let run = |entry: &str, arguments: Arguments, items: u64| {
            launch(context, &context.library.function(&program, entry)?, arguments, items, join::THREADS, 0)
        };
        let left = context.allocate(4 * rows.max(1))?;
        run("join_left", Arguments::new().buffer(&left).value(rows), rows)?;
        run("join_matched", Arguments::new().buffer(found).value(total).buffer(&left), total)?;
        let places = scan(context, &Column::new(Scalar::U32, &left).slice(0, rows), Bounds::Inclusive)?;
        let (source, found) = (source.address() + 4 * total, found.address() + 4 * total);
        let arguments = Arguments::new().buffer(&left).buffer(&places).value(rows).value(source).value(found);
        run("join_rest", arguments, rows)?;
        let last = rows as usize;
        Ok(places.read::<u64>(last - 1..last, &context.stream)?[0])
    }
}
