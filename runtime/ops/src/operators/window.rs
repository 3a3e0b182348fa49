//! Window functions over a sorted table. Partition and peer boundaries are found once for a table, and accumulators
//! are scanned along partitions.

use onrush_device::Buffer;
use onrush_kernels::scan::{Bounds, scan};
use onrush_kernels::{Column, Context, Scalar};

use crate::codegen::window::{self, SPAN, ScanSpec, TILE, WindowState};
use crate::codegen::{KernelBody, Parameters};
use crate::ir::aggregate::{Accumulator, AggregateOp, SlotLayout};
use crate::ir::expr::{DeviceType, ExprGraph, NodeId};
use crate::ir::value_range::Range;
use crate::launch::stream_context::StatusBlock;
use crate::launch::{launch, launch_tiles};
use crate::operators::group;
use crate::pipeline::Window;
use crate::{Error, Result};

/// Words of the accumulators that run along a table together: two tables of them fit into the shared memory of a block.
const MOST_WORDS: u32 = 16;

/// Looks for the partitions of a table, and accumulates along them. The body has no windows so far.
pub fn find(context: &Context, status: &StatusBlock, body: &KernelBody, of: &Window) -> Result<WindowState> {
    let rows = body.source.rows;
    if rows >= u64::from(u32::MAX) {
        return Err(Error::TooManyRows(format!("windows over {rows} rows")));
    }
    let flags = context.allocate(8 * rows.max(1))?;
    let roots: Vec<NodeId> = of.partition.iter().chain(&of.order).copied().collect();
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
    let all = [&of.prefix, &of.suffix].map(|accumulators| group::narrow_sums(body, accumulators));
    for (accumulators, (backwards, name)) in all.iter().zip([(false, "wrun"), (true, "wback")]) {
        if accumulators.is_empty() {
            continue;
        }
        let layout = SlotLayout::new(accumulators);
        if layout.words > MOST_WORDS {
            return Err(Error::Unsupported(format!("{} aggregates over one window", accumulators.len())));
        }
        let mut kinds = group::kinds(body.graph, accumulators);
        // Half as much to write and to read.
        for (kind, _) in kinds.iter_mut().zip(accumulators).filter(|(_, a)| a.op == AggregateOp::SumFitsI64) {
            *kind = DeviceType::Number(Scalar::I64);
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
        let run = ScanSpec {
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
    if of.block_tree && !of.sliding.is_empty() {
        let layout = SlotLayout::new(&of.sliding);
        memory.push(spans(context, status, body, &layout)?);
        parameters.buffer("const Span* __restrict__", "wspans", &memory[memory.len() - 1]);
        structure = Some(window::span(&layout));
    }
    let [prefix, suffix] = all.map(|accumulators| accumulators.iter().map(|a| range(body, a)).collect());
    Ok(WindowState { parameters, sliding: of.sliding.clone(), prefix, suffix, block_tree: structure, _memory: memory })
}

/// The range of an accumulator along rows: a count, or a sum in fewer bits, of none of the rows to all of them.
fn range(body: &KernelBody, accumulator: &Accumulator) -> Option<Range> {
    let rows = i128::from(body.source.rows);
    match accumulator.op {
        AggregateOp::Count => Some((0, rows)),
        AggregateOp::SumFitsI64 => {
            body.range(accumulator.of?).map(|(low, high)| (rows * low.min(0), rows * high.max(0)))
        }
        _ => None,
    }
}

/// The accumulators of each span of rows: first the spans of [`SPAN`] rows, then those of as many spans, and so on.
/// Rows and spans that make no whole one are in none.
fn spans(context: &Context, status: &StatusBlock, body: &KernelBody, layout: &SlotLayout) -> Result<Buffer> {
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

/// Whether an accumulator can run along rows: it needs one round, and nothing that the round before it found.
pub fn can_run(accumulator: &Accumulator) -> bool {
    accumulator.op.is_plain()
}

/// The kinds of what accumulators hold.
pub fn kinds(graph: &ExprGraph, accumulators: &[Accumulator]) -> Vec<crate::ir::expr::DeviceType> {
    group::kinds(graph, accumulators)
}
