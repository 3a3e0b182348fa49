//! Join expansion for duplicate keys: row-index pairs of all matches, or the columns of matches directly.

use std::sync::Arc;

use onrush_device::{Arguments, Buffer};
use onrush_kernels::scan::{Bounds, scan};
use onrush_kernels::{Column, Scalar};

use crate::codegen::expand::{self, ExpandPlan, PairOutput, ResidualScan};
use crate::codegen::join::THREADS;
use crate::codegen::{KernelBody, LookupTable, ProbePlan, RowSource, SideInputs, check_parameters};
use crate::column::DeviceTable;
use crate::column::output_column::OutputColumn;
use crate::ir::expr::{DeviceType, ExprGraph, NodeId, Op};
use crate::launch::{launch, launch_blocks, launch_tiles};
use crate::operators::join::{BuildSide, GatheredColumns, JoinBuilder, MOST_ROWS, MatchList, are_movable, used};
use crate::pipeline::{Join, JoinKind, Sink, Stage};
use crate::{Error, Result};

/// Blocks on each multiprocessor of a residual scan, which may take seconds: half of those that it has room for.
const RESIDUAL_BLOCKS: u32 = 4;
/// Pairs of a piece: 20 ms on an H200.
const PIECE: u64 = 1 << 34;

/// A source whose rows are pairs, and the memory that it reads.
pub struct ExpandedRows {
    pub source: RowSource,
    /// Whether some have no row of the source.
    lost: bool,
    _rows: Buffer,
    found: Vec<(usize, Buffer)>,
}

/// The state of the pairs of a pipeline's rows.
enum MatchCounts {
    /// The run of each row.
    Ranges(Buffer),
    /// How many pairs each has, and how many those up to it have.
    PerRow { counts: Buffer, ends: Buffer },
}

/// The build-side data in the order of runs: rows, or the columns that are read of them, moved to there now or before.
pub enum MatchOrder {
    Rows(Buffer),
    Columns(Option<GatheredColumns>),
}

/// Rows with their runs: pairs that are nowhere, because nothing is wanted but their columns.
pub struct LazyMatches {
    probe: NodeId,
    /// Whether a row stays that has no other one.
    keeps: bool,
    runs: Buffer,
    total: u64,
    /// The other rows by their runs, unless they are in that order.
    order: Option<Buffer>,
}

/// Whether a condition holds of all pairs of an inner join: that there is one, and what its rows had to fulfil before.
fn holds(graph: &ExprGraph, condition: NodeId, join: &Join) -> bool {
    let node = graph.node(condition);
    match node.op {
        _ if join.probe_filter == Some(condition) => true,
        Op::And => node.args.iter().all(|part| holds(graph, *part, join)),
        Op::Not => graph.node(node.args[0]).op == Op::IsNull && graph.node(node.args[0]).args[0] == join.probe,
        _ => false,
    }
}

impl JoinBuilder<'_> {
    /// The rows of a table in the order of its runs, or the columns that are read of it.
    fn order(&self, order: Option<MatchList>, table: &DeviceTable, used: &[usize], pairs: u64) -> Result<MatchOrder> {
        match order {
            None => Err(Error::Unsupported("a join without runs".to_string())),
            Some(MatchList::Columns) => Ok(MatchOrder::Columns(None)),
            Some(MatchList::Rows(rows)) => match self.ordered(table, used, &rows, pairs)? {
                Some(moved) => Ok(MatchOrder::Columns(Some(moved))),
                None => Ok(MatchOrder::Rows(rows)),
            },
        }
    }

    /// Columns of a table in the order of its duplicate-key ranges. `None` if they stay in place: there are too few
    /// pairs, or there is no memory.
    fn ordered(
        &self,
        table: &DeviceTable,
        used: &[usize],
        order: &Buffer,
        pairs: u64,
    ) -> Result<Option<GatheredColumns>> {
        let (context, status) = (self.tools.context, self.tools.status);
        let narrow = |index: usize| table.columns[index].is_decimal64();
        let mut source = RowSource::of(context, table, &|index| used.contains(&index) || narrow(index))?;
        let bytes: u64 = used.iter().map(|index| source.inputs[*index].kind.bytes()).sum();
        let is_far = table.rows.saturating_mul(bytes) > self.tools.tuning.cached_bytes;
        if !is_far || pairs < table.rows || !are_movable(&source.inputs, used) {
            return Ok(None);
        }
        source.inputs = expand::paired(&source.inputs, false);
        source.parameters.buffer("const u32* __restrict__", "pair", order);
        let mut graph = ExprGraph::new();
        let roots: Vec<NodeId> = used.iter().map(|index| graph.input(*index, source.inputs[*index].kind)).collect();
        let body = KernelBody::new(&source, &graph, SideInputs::default(), None, self.memo);
        let moved = match GatheredColumns::new(context, &body, &roots, table.rows) {
            Err(error) if error.is_memory() => return Ok(None),
            moved => moved?,
        };
        let parameters = expand::ordered_parameters(&body, status, &roots, &moved.0);
        let program = || expand::ordered(&body, &roots, &parameters);
        let function = body.kernel(context, "join_ordered", &roots, program)?;
        launch(context, &function, parameters.arguments(), table.rows, THREADS, 0)?;
        Ok(Some(moved))
    }

    /// The rows of a pipeline with those of a join whose keys have several rows. Joins up to `number` exist, and `base`
    /// is the source before there were pairs.
    pub fn pairs(
        &self,
        base: &RowSource,
        before: Option<ExpandedRows>,
        (stage, tables): (&Stage, &[Arc<LookupTable>]),
        (number, join, table): (usize, &Join, &DeviceTable),
        built: &mut [BuildSide],
    ) -> Result<ExpandedRows> {
        let (context, status) = (self.tools.context, self.tools.status);
        let source = before.as_ref().map_or(base, |paired| &paired.source);
        if base.rows > MOST_ROWS {
            return Err(Error::TooManyRows(format!("a join of {} rows", base.rows)));
        }
        // Rows that no pair has are read at the first row of the source.
        if base.rows == 0 && join.how == JoinKind::Full {
            return Err(Error::Unsupported("a full join of no rows".to_string()));
        }
        let order = built[number].order.take();
        let probings: Vec<&ProbePlan> = built.iter().map(|b| &b.probing).collect();
        let beside = SideInputs { tables, joins: &probings, window: None };
        let body = KernelBody::new(source, &stage.graph, beside, join.probe_filter, self.memo);
        let earlier: Vec<usize> = before.iter().flat_map(|paired| paired.found.iter().map(|(n, _)| *n)).collect();
        let pairs = ExpandPlan { join: number, how: join.how, earlier: &earlier, composed: before.is_some() };
        let of = (number, join.how, &earlier, join.probe);
        if join.how == JoinKind::Full && (before.is_some() || join.probe_filter.is_some()) {
            return Err(Error::Unsupported("a full join behind other ones".to_string()));
        }

        let (counted, total) = match join.residual {
            Some(_) => self.look(&body, &pairs, join)?,
            None => self.count(&body, &pairs, join)?,
        };
        // As many more as there are rows that nobody may find.
        let others = if join.how == JoinKind::Full { built[number].probing.rows } else { 0 };
        if total + others > MOST_ROWS {
            return Err(Error::TooManyRows(format!("a join of {} rows", total + others)));
        }

        let used = used(stage, number, table.columns.len());
        let order = match (&counted, order) {
            (MatchCounts::PerRow { .. }, Some(MatchList::Rows(rows))) => MatchOrder::Rows(rows),
            (_, order) => self.order(order, table, &used, total)?,
        };
        let room = || Ok::<Buffer, Error>(context.allocate(4 * (total + others).max(1))?);
        let (rows, found) = (room()?, room()?);
        let copies = earlier.iter().map(|_| room()).collect::<Result<Vec<_>>>()?;
        let rows_in_order = match &order {
            MatchOrder::Rows(rows) => Some(rows),
            MatchOrder::Columns(_) => None,
        };
        let written = PairOutput { order: rows_in_order, source: &rows, earlier: &copies, found: &found };
        match &counted {
            _ if total == 0 => {}
            MatchCounts::PerRow { counts, ends } => {
                let rows = 0..source.rows;
                self.looked(&body, &pairs, join, &ResidualScan { rows, counts, written: Some((ends, &written)) })?;
            }
            MatchCounts::Ranges(runs) => {
                let tiles = source.rows.div_ceil(u64::from(THREADS * expand::ITEMS));
                let state = context.zeros(8 + 8 * tiles)?;
                let parameters = expand::pairs_parameters(&body, &pairs, status, (&state, runs), &written);
                let program = || expand::pairs(&body, &pairs, rows_in_order.is_none(), &parameters);
                let function = body.kernel(context, "join_pairs", (of, rows_in_order.is_none()), program)?;
                launch_tiles(context, &function, parameters.arguments(), tiles, THREADS)?;
            }
        }
        built[number].in_order(number, &used, order);
        let mut lost = before.as_ref().is_some_and(|paired| paired.lost);
        let mut all = total;
        if join.how == JoinKind::Full {
            let rest = self.rest(others, total, &rows, &found)?;
            (lost, all) = (rest > 0, total + rest);
        }

        let mut found: Vec<(usize, Buffer)> = earlier.iter().copied().zip(copies).chain([(number, found)]).collect();
        found.sort_by_key(|(number, _)| *number);
        for (of, buffer) in &found {
            let probing = &mut built[*of].probing;
            if *of == number {
                probing.paired = Some(matches!(join.how, JoinKind::Outer | JoinKind::Full));
            }
            probing.pair(buffer);
        }
        let mut parameters = base.parameters.clone();
        parameters.buffer("const u32* __restrict__", "pair", &rows);
        let source = RowSource {
            rows: all,
            parameters,
            inputs: expand::paired(&base.inputs, lost),
            // These are read at row numbers of the table before, which pairs change nothing about.
            fetched: base.fetched.clone(),
            present: None,
            identity: base.identity,
            is_partitioned: base.is_partitioned,
        };
        Ok(ExpandedRows { source, lost, _rows: rows, found })
    }

    /// The pairs of a stage's last join, where nothing is done with them but to write their columns. None where more
    /// is.
    pub fn open(
        &self,
        source: &RowSource,
        (stage, tables): (&Stage, &[Arc<LookupTable>]),
        (number, join, table): (usize, &Join, &DeviceTable),
        built: &mut [BuildSide],
    ) -> Result<Option<LazyMatches>> {
        let Sink::Output(output) = &stage.sink else { return Ok(None) };
        let has_width = |id: &NodeId| !matches!(stage.graph.kind(*id), DeviceType::String | DeviceType::ListView);
        let is_all = output.skip == 0 && output.limit.is_none() && output.columns.iter().all(has_width);
        let is_last = number + 1 == stage.joins.len() && stage.repeat.is_none() && stage.window.is_none();
        let pass = match (join.how, stage.filter) {
            (_, None) => true,
            (JoinKind::Inner, Some(filter)) => holds(&stage.graph, filter, join),
            _ => false,
        };
        if !is_all
            || !is_last
            || !pass
            || join.residual.is_some()
            || join.how == JoinKind::Full
            || source.rows > MOST_ROWS
        {
            return Ok(None);
        }
        let probings: Vec<&ProbePlan> = built.iter().map(|b| &b.probing).collect();
        let beside = SideInputs { tables, joins: &probings, window: None };
        let body = KernelBody::new(source, &stage.graph, beside, join.probe_filter, self.memo);
        let pairs = ExpandPlan { join: number, how: join.how, earlier: &[], composed: false };
        let (MatchCounts::Ranges(runs), total) = self.count(&body, &pairs, join)? else { return Ok(None) };
        if total > MOST_ROWS {
            return Err(Error::TooManyRows(format!("a join of {total} rows")));
        }
        let used = used(stage, number, table.columns.len());
        let order = self.order(built[number].order.take(), table, &used, total)?;
        let order = built[number].in_order(number, &used, order);
        let keeps = join.how == JoinKind::Outer;
        let probing = &mut built[number].probing;
        probing.paired = Some(keeps);
        probing.parameters = probing.of_columns.clone();
        Ok(Some(LazyMatches { probe: join.probe, keeps, runs, total, order }))
    }

    /// Writes columns of pairs, and how many rows that are. Waits.
    pub fn expand(&self, body: &KernelBody, open: &LazyMatches, roots: &[NodeId]) -> Result<(Vec<OutputColumn>, u64)> {
        let (context, status) = (self.tools.context, self.tools.status);
        let targets = GatheredColumns::new(context, body, roots, open.total.max(1))?.0;
        let tiles = body.source.rows.div_ceil(u64::from(THREADS * expand::ITEMS));
        let state = context.zeros(8 + 8 * tiles)?;
        let of = (&state, &open.runs, open.order.as_ref());
        let parameters = expand::expanded_parameters(body, status, of, (roots, &targets));
        check_parameters(context, &parameters)?;
        let (join, is_ordered) = ((open.probe, open.keeps), open.order.is_none());
        let program = || expand::expanded(body, join, roots, is_ordered, &parameters);
        let function = body.kernel(context, "output_expanded", (join, roots, is_ordered), program)?;
        launch_tiles(context, &function, parameters.arguments(), tiles, THREADS)?;
        status.finish(context)?;
        Ok((targets, open.total))
    }

    /// The run of each row, and how many pairs there are. Waits.
    fn count(&self, body: &KernelBody, pairs: &ExpandPlan, join: &Join) -> Result<(MatchCounts, u64)> {
        let (context, status, rows) = (self.tools.context, self.tools.status, body.source.rows);
        let runs = context.allocate(8 * rows.max(1))?;
        let parameters = expand::count_parameters(body, status, &runs);
        let program = || expand::count(body, pairs, join.probe, &parameters);
        let of = (pairs.join, pairs.how, pairs.earlier, join.probe);
        let function = body.kernel(context, "join_count", of, program)?;
        status.clear_count(context)?;
        launch(context, &function, parameters.arguments(), rows, THREADS, 0)?;
        Ok((MatchCounts::Ranges(runs), status.finish(context)?))
    }

    /// How many pairs each row has where more than the keys decides, and how many there are in all. Waits.
    fn look(&self, body: &KernelBody, pairs: &ExpandPlan, join: &Join) -> Result<(MatchCounts, u64)> {
        let (context, rows) = (self.tools.context, body.source.rows);
        let counts = context.allocate(4 * rows.max(1))?;
        self.looked(body, pairs, join, &ResidualScan { rows: 0..rows, counts: &counts, written: None })?;
        let ends = scan(context, &Column::new(Scalar::U32, &counts).slice(0, rows), Bounds::Inclusive)?;
        self.tools.status.finish(context)?;
        let last = rows as usize;
        let total = if rows == 0 { 0 } else { ends.read::<u64>(last - 1..last, &context.stream)?[0] };
        Ok((MatchCounts::PerRow { counts, ends }, total))
    }

    fn looked(&self, body: &KernelBody, pairs: &ExpandPlan, join: &Join, of: &ResidualScan) -> Result<()> {
        let context = self.tools.context;
        let writes = of.written.is_some();
        let status = self.tools.status;
        let parameters = expand::looked_parameters(body, pairs, status, of);
        let program = || expand::looked(body, pairs, join.probe, &parameters, writes);
        let key = (pairs.join, pairs.how, pairs.earlier, join.probe, writes);
        let function = body.kernel(context, if writes { "join_written" } else { "join_looked" }, key, program)?;
        let most = RESIDUAL_BLOCKS * context.device().properties().multiprocessors;
        let all = if join.is_all() { body.beside.joins[pairs.join].rows.max(1) } else { 1 };
        let piece = (PIECE / all).max(u64::from(most * THREADS));
        let mut begin = of.rows.start;
        while begin < of.rows.end {
            let rows = begin..of.rows.end.min(begin + piece);
            begin = rows.end;
            let parameters = expand::looked_parameters(body, pairs, status, &ResidualScan { rows, ..of.clone() });
            launch_blocks(context, &function, parameters.arguments(), piece, (THREADS, most), 0)?;
        }
        Ok(())
    }

    /// Appends the build-side rows without a match to the pairs, without a row of the source, and returns their number.
    fn rest(&self, rows: u64, total: u64, source: &Buffer, found: &Buffer) -> Result<u64> {
        let context = self.tools.context;
        let program = expand::matched();
        let run = |entry: &str, arguments: Arguments, items: u64| {
            launch(context, &context.library.function(&program, entry)?, arguments, items, THREADS, 0)
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
