//! Windows: what a row of a sorted table knows of the rows around it. Rows with equal keys of the partition are one run of rows, rows that
//! are equal in the order, too, are peers; where these begin and end is found once for a table, and accumulators run along it.

use onrush_device::Buffer;
use onrush_kernels::scan::{Bounds, scan};
use onrush_kernels::{Column, Context, Scalar};

use crate::aggregate::{Accumulator, Layout, What};
use crate::codegen::window::{self, Running, SPAN, TILE};
use crate::codegen::{Body, Parameters};
use crate::graph::{Graph, Id, Kind};
use crate::lane::Status;
use crate::launch::{launch, launch_tiles};
use crate::range::Range;
use crate::{Error, Result, group};

/// The windows of a stage, whose table is sorted by partition and order.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// Nodes over the table's columns alone.
    pub partition: Vec<Id>,
    pub order: Vec<Id>,
    /// From the beginning of a row's partition to the row, by the number in [`crate::Op::Running`].
    pub running: Vec<Accumulator>,
    /// From the row to the end of its partition, by the number in [`crate::Op::RunningBack`].
    pub back: Vec<Accumulator>,
    /// Of some rows, by the number in [`crate::Op::Sliding`].
    pub sliding: Vec<Accumulator>,
    /// Whether these may be many: then what accumulators have of runs of rows is found before.
    pub spans: bool,
}

/// What has been found for a table.
pub struct Found {
    pub parameters: Parameters,
    pub sliding: Vec<Accumulator>,
    /// Of accumulators along rows, the lowest and the highest value that each can have, where that is known.
    pub running: Vec<Option<Range>>,
    pub back: Vec<Option<Range>>,
    /// The structure of what accumulators have of spans, if there are any.
    pub spans: Option<String>,
    _memory: Vec<Buffer>,
}

/// Words of the accumulators that run along a table together: two tables of them fit into the shared memory of a block.
const MOST_WORDS: u32 = 16;

/// Looks for the partitions of a table, and accumulates along them. The body has no windows so far.
pub fn find(context: &Context, status: &Status, body: &Body, of: &Window) -> Result<Found> {
    let rows = body.source.rows;
    if rows >= u64::from(u32::MAX) {
        return Err(Error::TooManyRows(format!("windows over {rows} rows")));
    }
    let flags = context.allocate(8 * rows.max(1))?;
    let roots: Vec<Id> = of.partition.iter().chain(&of.order).copied().collect();
    let parameters = window::flags_parameters(body, status.fault(), &flags);
    let program = || window::flags(body, of, &parameters);
    let function = body.kernel(context, "window_flags", (&roots, of.partition.len()), program)?;
    launch(context, &function, parameters.arguments(), rows, window::THREADS, 0)?;
    // Both halves of a word at once: no more runs than rows.
    let ids = scan(context, &Column::new(Scalar::U64, &flags).slice(0, rows), Bounds::Inclusive)?;
    let (starts, peers) = (context.allocate(4 * (rows + 1))?, context.allocate(4 * (rows + 1))?);
    let function = context.library.function(&window::starts(), "window_starts")?;
    let arguments = onrush_device::Arguments::new().buffer(&ids).value(rows).buffer(&starts).buffer(&peers);
    launch(context, &function, arguments, rows, window::THREADS, 0)?;

    let mut parameters = Parameters::new();
    parameters.buffer("const u64* __restrict__", "wids", &ids);
    parameters.buffer("const u32* __restrict__", "wstarts", &starts);
    parameters.buffer("const u32* __restrict__", "wpeers", &peers);
    let mut memory = vec![ids, starts, peers];
    let all = [&of.running, &of.back].map(|accumulators| group::shortened(body, accumulators));
    for (accumulators, (backwards, name)) in all.iter().zip([(false, "wrun"), (true, "wback")]) {
        if accumulators.is_empty() {
            continue;
        }
        let layout = Layout::new(accumulators);
        if layout.words > MOST_WORDS {
            return Err(Error::Unsupported(format!("{} aggregates over one window", accumulators.len())));
        }
        let mut kinds = group::kinds(body.graph, accumulators);
        // Half as much to write and to read.
        for (kind, _) in kinds.iter_mut().zip(accumulators).filter(|(_, a)| a.what == What::SumShort) {
            *kind = Kind::Number(Scalar::I64);
        }
        let mut sums = Vec::new();
        for (index, kind) in kinds.iter().enumerate() {
            let buffer = context.allocate(kind.bytes() * rows.max(1))?;
            parameters.buffer(&format!("const {}* __restrict__", kind.cuda()), &format!("{name}{index}"), &buffer);
            sums.push(buffer);
        }
        let tiles = rows.div_ceil(TILE).max(1);
        let bytes = 8 * u64::from(layout.words);
        // A tile's total, then what comes before it; and whether a partition begins in a tile.
        let totals = context.allocate(2 * bytes * tiles)?;
        let resets = context.allocate(4 * tiles)?;
        let before = totals.address() + bytes * tiles;
        let run = Running {
            layout: &layout,
            kinds: &kinds,
            ids: &memory[0],
            totals: &totals,
            before,
            resets: &resets,
            backwards,
        };
        for (entry, sums) in [("window_tiles", None), ("window_running", Some(&sums[..]))] {
            let own = window::running_parameters(body, status.fault(), &run, sums);
            let program = || window::running(body, &run, entry, sums.is_some(), &own);
            let function = body.kernel(context, entry, (&layout, backwards), program)?;
            launch_tiles(context, &function, own.arguments(), tiles, window::THREADS)?;
            if sums.is_none() {
                let function = body.kernel(context, "window_before", &layout, || window::before(body, &layout))?;
                let arguments =
                    onrush_device::Arguments::new().buffer(&totals).value(before).buffer(&resets).value(tiles);
                launch_tiles(context, &function, arguments, 1, window::THREADS)?;
            }
        }
        memory.extend(sums);
        memory.extend([totals, resets]);
    }
    let mut structure = None;
    if of.spans && !of.sliding.is_empty() {
        let layout = Layout::new(&of.sliding);
        memory.push(spans(context, status, body, &layout)?);
        parameters.buffer("const Span* __restrict__", "wspans", &memory[memory.len() - 1]);
        structure = Some(window::span(&layout));
    }
    let [running, back] = all.map(|accumulators| accumulators.iter().map(|a| range(body, a)).collect());
    Ok(Found { parameters, sliding: of.sliding.clone(), running, back, spans: structure, _memory: memory })
}

/// What an accumulator along rows can have: a count, or a sum in fewer bits, of none of the rows to all of them.
fn range(body: &Body, accumulator: &Accumulator) -> Option<Range> {
    let rows = i128::from(body.source.rows);
    match accumulator.what {
        What::Count => Some((0, rows)),
        What::SumShort => body.range(accumulator.of?).map(|(low, high)| (rows * low.min(0), rows * high.max(0))),
        _ => None,
    }
}

/// What accumulators have of each span of rows: first those of [`SPAN`] rows, then those of as many spans, and so on. Rows and spans that
/// make no whole one are in none.
fn spans(context: &Context, status: &Status, body: &Body, layout: &Layout) -> Result<Buffer> {
    let sizes: Vec<u64> = std::iter::successors(Some(body.source.rows / SPAN), |below| Some(below / SPAN))
        .take_while(|count| *count > 0)
        .collect();
    let spans = context.allocate(8 * u64::from(layout.words) * sizes.iter().sum::<u64>().max(1))?;
    let Some(first) = sizes.first() else { return Ok(spans) };
    let parameters = window::spans_parameters(body, status.fault(), &spans);
    let function = body.kernel(context, "window_spans", layout, || window::spans(body, layout, &parameters))?;
    launch(context, &function, parameters.arguments(), *first, window::THREADS, 0)?;
    let mut below = 0;
    for pair in sizes.windows(2) {
        let function = body.kernel(context, "window_spans_of", layout, || window::spans_of(body, layout))?;
        let arguments = onrush_device::Arguments::new().buffer(&spans).value(below).value(pair[0]).value(pair[1]);
        launch(context, &function, arguments, pair[1], window::THREADS, 0)?;
        below += pair[0];
    }
    Ok(spans)
}

impl Window {
    /// Values that are summed in 128 bits, along rows from an end of their partition: in fewer if it is known that these are enough.
    pub fn sums(&self) -> Vec<Id> {
        let all = self.running.iter().chain(&self.back);
        all.filter(|a| a.what == What::SumWide).filter_map(|a| a.of).collect()
    }

    /// What its accumulators and keys need of a graph.
    pub fn roots(&self) -> Vec<Id> {
        let values = self.running.iter().chain(&self.back).chain(&self.sliding).filter_map(|a| a.of);
        self.partition.iter().chain(&self.order).copied().chain(values).collect()
    }
}

/// Whether an accumulator can run along rows: it needs one round, and nothing that the round before it found.
pub fn can_run(accumulator: &Accumulator) -> bool {
    accumulator.what.is_plain()
}

/// The kinds of what accumulators hold.
pub fn kinds(graph: &Graph, accumulators: &[Accumulator]) -> Vec<crate::Kind> {
    group::kinds(graph, accumulators)
}
