//! Degrees on a device: those of `crate::degree` bit for bit.

use onrush_kernels::Context;
use onrush_kernels::graph::Csr;
use onrush_kernels::graph::rank::Rank;

use super::{DeviceGraph, DeviceRounds, DeviceValues, Result};
use crate::run::Run;

/// [`crate::degree::degree`] on a device.
///
/// # Errors
/// Errors of the device.
pub fn degree(graph: &DeviceGraph, context: &Context) -> Result<DeviceValues<u64>> {
    let run = Run::silent();
    let rounds = DeviceRounds::new(graph, context, &run)?;
    let out = context.allocate(8 * graph.nodes() as u64)?;
    let into = if graph.is_directed() { Some(graph.in_rows(context)?) } else { None };
    Rank::new(context)?.degrees(graph.out_rows(), into, &out)?;
    rounds.finish()?;
    Ok(DeviceValues::new(out, graph.nodes()))
}

/// [`crate::degree::in_degree`] on a device.
///
/// # Errors
/// Errors of the device.
pub fn in_degree(graph: &DeviceGraph, context: &Context) -> Result<DeviceValues<u64>> {
    if !graph.is_directed() {
        return degree(graph, context);
    }
    lengths(graph, context, DeviceGraph::in_rows)
}

/// [`crate::degree::out_degree`] on a device.
///
/// # Errors
/// Errors of the device.
pub fn out_degree(graph: &DeviceGraph, context: &Context) -> Result<DeviceValues<u64>> {
    if !graph.is_directed() {
        return degree(graph, context);
    }
    lengths(graph, context, |graph, _| Ok(graph.out_rows()))
}

/// The arcs of each of the `rows` of a graph.
fn lengths(
    graph: &DeviceGraph,
    context: &Context,
    rows: for<'a> fn(&'a DeviceGraph, &Context) -> Result<&'a Csr>,
) -> Result<DeviceValues<u64>> {
    let run = Run::silent();
    let rounds = DeviceRounds::new(graph, context, &run)?;
    let out = context.allocate(8 * graph.nodes() as u64)?;
    Rank::new(context)?.lengths(rows(graph, context)?, &out)?;
    rounds.finish()?;
    Ok(DeviceValues::new(out, graph.nodes()))
}

/// [`crate::degree::degree_centrality`] on a device, of degrees: those of edges in, out, or both.
///
/// # Errors
/// Errors of the device.
pub fn centrality(degrees: &DeviceValues<u64>, context: &Context) -> Result<DeviceValues<f64>> {
    let nodes = degrees.len();
    let out = context.allocate(8 * nodes as u64)?;
    Rank::new(context)?.centrality(degrees.buffer(), nodes as u32, &out)?;
    context.stream.synchronize()?;
    Ok(DeviceValues::new(out, nodes))
}
