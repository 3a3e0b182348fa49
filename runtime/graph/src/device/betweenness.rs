//! Betweenness on a device: the host's values with sums in another order.

use onrush_kernels::Context;
use onrush_kernels::graph::betweenness::{PathCounts, SOURCES};
use onrush_kernels::graph::simple;

use super::{DeviceGraph, DeviceRounds, DeviceValues, Result};
use crate::betweenness::{self, BetweennessOptions, Scale};
use crate::run::Run;

/// Levels of the backward pass between checks for cancellation.
const LEVELS_BETWEEN_CHECKS: usize = 16;

/// [`betweenness::betweenness_centrality`] on a device, eight sources at once. By weight it runs on the host.
///
/// Takes O(sources * (edges + nodes * depth)) time: a graph with long paths is faster on the host.
///
/// # Errors
/// As on the host, and those of the device.
pub fn betweenness_centrality(
    graph: &DeviceGraph,
    options: &BetweennessOptions,
    context: &Context,
    run: &Run,
) -> Result<DeviceValues<f64>> {
    let n = graph.nodes();
    let rounds = DeviceRounds::new(graph, context, run)?;
    if options.weighted && graph.is_weighted() || n == 0 {
        let found = betweenness::betweenness_centrality(&graph.download(context)?, options, run)?;
        let values = context.upload(&found)?;
        rounds.finish()?;
        return Ok(DeviceValues::new(values, n));
    }
    let sources = betweenness::sources(n, &options.sources)?;
    let out = simple::simple(context, graph.out_rows())?;
    let into = if graph.is_directed() { Some(simple::simple(context, graph.in_rows(context)?)?) } else { None };
    run.stage(format!("betweenness_centrality: {} sources", sources.len()));
    let mut counts = PathCounts::new(context, &out, into.as_ref().unwrap_or(&out))?;
    for (number, batch) in sources.chunks(SOURCES).enumerate() {
        let done = number * SOURCES;
        run.check(|| format!("{done} sources of betweenness_centrality"))?;
        counts.begin(batch)?;
        let step = |level: u64| Ok(counts.out(level as u32 + 1)?);
        let name = "betweenness_centrality";
        let [_, _, depth] = rounds.until_done::<3>(name, n as u64, &counts.state, step, |_, _| {})?;
        counts.begin_back(depth as u32)?;
        for (levels, level) in (1..depth as u32).rev().enumerate() {
            if levels % LEVELS_BETWEEN_CHECKS == 0 {
                // The stream passes these levels before the next are enqueued.
                rounds.finish()?;
                run.check(|| format!("{done} sources and {levels} levels back of {name}"))?;
            }
            counts.back(level)?;
        }
        counts.end_back(options.endpoints)?;
        (run.steps)((done + batch.len()) as u64, sources.len() as u64);
    }
    let mut sums = counts.sums.read::<f64>(0..n, &context.stream)?;
    rounds.finish()?;
    Scale::of(n, &sources, graph.is_directed(), options).apply(&mut sums, &sources);
    let values = context.upload(&sums)?;
    context.stream.synchronize()?;
    Ok(DeviceValues::new(values, n))
}
