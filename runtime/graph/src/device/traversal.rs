//! Breadth-first search on a device: distances and predecessors are those of `crate::traversal` bit for bit.

use onrush_kernels::Context;
use onrush_kernels::graph::Csr;
use onrush_kernels::graph::search::{self, HopSearch};

use super::{DeviceGraph, DeviceRounds, DeviceValues, Result};
use crate::run::Run;

/// Inwards if the level has more arcs than the rest of the graph divided by this: alpha of the GAP benchmark.
const INWARDS_DIVISOR: u64 = 15;

/// Outwards again if the level has less than this part of the nodes: beta of the GAP benchmark.
const OUTWARDS_DIVISOR: u64 = 18;

/// Levels with less arcs are searched outwards: a look at all nodes costs more.
const FEW_ARCS: u64 = 1 << 13;

/// A search from one node: [`crate::traversal::Bfs`] on a device.
pub struct DeviceBfs {
    pub distance: DeviceValues<u32>,
    pub predecessor: DeviceValues<u32>,
}

/// [`crate::traversal::bfs`] on a device: direction-optimising, one or two launches a level.
///
/// # Errors
/// Those of the host's, and those of the device.
pub fn bfs(
    graph: &DeviceGraph,
    source: u32,
    depth_limit: Option<u32>,
    context: &Context,
    run: &Run,
) -> Result<DeviceBfs> {
    let rounds = DeviceRounds::new(graph, context, run)?;
    let distance = distances_within(&rounds, &[source], depth_limit)?;
    let rows = graph.out_rows();
    let predecessor = search::predecessors(context, rows, graph.made_in_rows(), distance.buffer())?;
    rounds.finish()?;
    Ok(DeviceBfs { distance, predecessor: DeviceValues::new(predecessor, graph.nodes()) })
}

/// [`crate::traversal::distances`] on a device.
///
/// # Errors
/// Those of the host's, and those of the device.
pub fn distances(
    graph: &DeviceGraph,
    sources: &[u32],
    depth_limit: Option<u32>,
    context: &Context,
    run: &Run,
) -> Result<DeviceValues<u32>> {
    distances_within(&DeviceRounds::new(graph, context, run)?, sources, depth_limit)
}

fn distances_within(rounds: &DeviceRounds, sources: &[u32], depth_limit: Option<u32>) -> Result<DeviceValues<u32>> {
    let graph = rounds.graph;
    sources.iter().try_for_each(|s| graph.check_node(*s))?;
    // Rows by target are worth making for other reasons only.
    search_from(rounds, (graph.out_rows(), graph.made_in_rows()), sources, depth_limit)
}

/// [`crate::traversal::distances_to`] on a device.
///
/// # Errors
/// Those of the host's, and those of the device.
pub fn distances_to(
    graph: &DeviceGraph,
    targets: &[u32],
    depth_limit: Option<u32>,
    context: &Context,
    run: &Run,
) -> Result<DeviceValues<u32>> {
    targets.iter().try_for_each(|s| graph.check_node(*s))?;
    let rounds = DeviceRounds::new(graph, context, run)?;
    let rows = (graph.in_rows(context)?, Some(graph.out_rows()));
    search_from(&rounds, rows, targets, depth_limit)
}

/// Hops from the nearest source along `rows`. `inwards` are the rows of the reversed graph, if there are any.
fn search_from(
    rounds: &DeviceRounds,
    (rows, inwards): (&Csr, Option<&Csr>),
    sources: &[u32],
    depth_limit: Option<u32>,
) -> Result<DeviceValues<u32>> {
    let (graph, context, run) = (rounds.graph, rounds.context, rounds.run);
    let n = graph.nodes() as u64;
    let mut search = HopSearch::begin(context, rows, sources)?;
    let mut left = u64::from(rows.arcs);
    let mut depth = 0;
    let [mut size, mut arcs, mut entries] = rounds.look_and_clear(&search.state)?;
    while size > 0 && depth_limit.is_none_or(|limit| depth < limit) {
        run.check(|| format!("{depth} levels of a breadth-first search"))?;
        if let (Some(inwards), true) = (inwards, arcs > left / INWARDS_DIVISOR && arcs >= FEW_ARCS) {
            let mut before = 0;
            // While the level grows or is large.
            while size > 0
                && (size >= before || size > n / OUTWARDS_DIVISOR)
                && depth_limit.is_none_or(|limit| depth < limit)
            {
                run.check(|| format!("{depth} levels of a breadth-first search"))?;
                (before, left) = (size, left.saturating_sub(arcs));
                depth += 1;
                search.inwards(inwards, depth)?;
                [size, arcs, _] = rounds.look_and_clear(&search.state)?;
            }
            if size > 0 {
                search.queue(depth)?;
                [_, _, entries] = rounds.look_and_clear(&search.state)?;
            }
        } else {
            depth += 1;
            left = left.saturating_sub(arcs);
            search.outwards(entries, depth)?;
            [size, arcs, entries] = rounds.look_and_clear(&search.state)?;
        }
    }
    rounds.finish()?;
    Ok(DeviceValues::new(search.distance, graph.nodes()))
}
