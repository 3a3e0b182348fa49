//! Shortest paths by weights on a device: distances and predecessors are those of `crate::shortest_paths` bit for bit.

use onrush_device::Buffer;
use onrush_kernels::Context;
use onrush_kernels::graph::paths::{self, Paths, Predecessors};

use super::{DeviceGraph, DeviceRounds, DeviceValues, Result, traversal};
use crate::error::Error;
use crate::run::Run;
use crate::traversal::NONE;

/// Distances and predecessors: [`crate::shortest_paths::Paths`] on a device.
pub struct DevicePaths {
    pub distance: DeviceValues<f64>,
    pub predecessor: DeviceValues<u32>,
}

/// The width of the near part, in mean weights / mean arcs of a node.
const DELTA: f64 = 4.0;

/// Entries of a near queue below which the near part is made wider: a round costs as much as the launch.
const FEW_ENTRIES: u64 = 1 << 13;

/// [`crate::shortest_paths::single_source_dijkstra`] on a device.
///
/// # Errors
/// Those of the host's, and those of the device.
pub fn single_source_dijkstra(
    graph: &DeviceGraph,
    source: u32,
    cutoff: Option<f64>,
    context: &Context,
    run: &Run,
) -> Result<DevicePaths> {
    multi_source_dijkstra(graph, &[source], cutoff, context, run)
}

/// [`crate::shortest_paths::multi_source_dijkstra`] on a device.
///
/// # Errors
/// Those of the host's, and those of the device.
pub fn multi_source_dijkstra(
    graph: &DeviceGraph,
    sources: &[u32],
    cutoff: Option<f64>,
    context: &Context,
    run: &Run,
) -> Result<DevicePaths> {
    let distance = distances(graph, sources, cutoff, context, run)?;
    let predecessor = predecessors(graph, distance.buffer(), sources, context, run)?;
    Ok(DevicePaths { distance, predecessor })
}

/// The distances of [`multi_source_dijkstra`] alone: near-far relaxation (Davidson, Baxter, Garland and Owens 2014).
///
/// # Errors
/// As [`multi_source_dijkstra`].
pub fn distances(
    graph: &DeviceGraph,
    sources: &[u32],
    cutoff: Option<f64>,
    context: &Context,
    run: &Run,
) -> Result<DeviceValues<f64>> {
    sources.iter().try_for_each(|s| graph.check_node(*s))?;
    if sources.is_empty() {
        return Err(Error::parameter("there is no source: expected at least one").into());
    }
    if cutoff.is_some_and(f64::is_nan) {
        return Err(Error::parameter("`cutoff` is NaN, expected a number").into());
    }
    let limit = cutoff.unwrap_or(f64::INFINITY);
    if !graph.is_weighted() {
        let limit = Some(limit.clamp(0.0, f64::from(NONE)) as u32);
        let hops = traversal::distances(graph, sources, limit, context, run)?;
        let distance = paths::distance_of_hops(context, hops.buffer(), graph.nodes() as u32)?;
        context.stream.synchronize()?;
        return Ok(DeviceValues::new(distance, graph.nodes()));
    }
    let rounds = DeviceRounds::new(graph, context, run)?;
    graph.check_positive("Dijkstra's algorithm", context)?;
    let distance = near_far(&rounds, sources, limit)?;
    rounds.finish()?;
    Ok(DeviceValues::new(distance, graph.nodes()))
}

fn near_far(rounds: &DeviceRounds, sources: &[u32], limit: f64) -> Result<Buffer> {
    let (graph, context) = (rounds.graph, rounds.context);
    let (n, arcs) = (graph.nodes() as f64, graph.arcs() as f64);
    let mean = graph.weight_sum(context)? / arcs;
    let mut delta = match DELTA * mean * n / arcs {
        delta if delta > 0.0 && delta.is_finite() => delta,
        _ => 1.0,
    };
    let mut paths = Paths::begin(context, graph.out_rows(), sources)?;
    let mut bound = delta;
    let mut steps = 0_u64;
    let [mut entries, mut far, _] = rounds.look::<3>(&paths.state)?;
    loop {
        let mut most = 0;
        while entries > 0 {
            rounds.run.check(|| format!("{steps} rounds of shortest paths"))?;
            steps += 1;
            most = most.max(entries);
            paths.state.fill_range(0, 8, 0, &context.stream)?;
            paths.relax(entries, bound, limit)?;
            [entries, far, _] = rounds.look::<3>(&paths.state)?;
        }
        if far == 0 {
            return Ok(paths.distance);
        }
        if most < FEW_ENTRIES {
            delta *= 2.0;
        }
        let mut done = bound;
        bound += delta;
        // Nothing may be as near: then the near part begins at the least distance.
        while entries == 0 && far > 0 {
            paths.split(far, done, bound)?;
            let least;
            [entries, far, least] = rounds.look::<3>(&paths.state)?;
            if entries == 0 && far > 0 {
                let least = f64::from_bits(least);
                (done, bound) = (bound, (least + delta).max(least.next_up()));
            }
        }
    }
}

fn predecessors(
    graph: &DeviceGraph,
    distance: &Buffer,
    sources: &[u32],
    context: &Context,
    run: &Run,
) -> Result<DeviceValues<u32>> {
    let rounds = DeviceRounds::new(graph, context, run)?;
    let rows = graph.out_rows();
    let mut found = Predecessors::begin(context, rows, graph.made_in_rows(), distance, sources)?;
    let [mut open] = rounds.look_and_clear(&found.state)?;
    // Along edges of weight 0 any neighbour might close a cycle: a breadth-first search.
    while open > 0 {
        run.check(|| "the predecessors of shortest paths".to_string())?;
        found.level(graph.in_rows(context)?, distance)?;
        let [more] = rounds.look_and_clear(&found.state)?;
        open = if more == 0 { 0 } else { open.saturating_sub(more) };
    }
    rounds.finish()?;
    Ok(DeviceValues::new(found.predecessor, graph.nodes()))
}
