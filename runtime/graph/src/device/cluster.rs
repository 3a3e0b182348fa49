//! Triangles and clustering coefficients on a device: those of the host, bit for bit.

use onrush_device::Buffer;
use onrush_kernels::Context;
use onrush_kernels::graph::{simple, triangles as passes};

use super::{DeviceGraph, DeviceRounds, DeviceValues, Result};
use crate::cluster;
use crate::run::Run;

/// [`cluster::triangles`] on a device.
///
/// # Errors
/// If the graph is directed, or the user stops it; those of the device.
pub fn triangles(graph: &DeviceGraph, context: &Context, run: &Run) -> Result<DeviceValues<u64>> {
    graph.check_undirected("triangles")?;
    let rounds = DeviceRounds::new(graph, context, run)?;
    let (triangles, _) = found(graph, context, run)?;
    rounds.finish()?;
    Ok(DeviceValues::new(triangles, graph.nodes()))
}

/// Triangles and distinct neighbours of each node.
fn found(graph: &DeviceGraph, context: &Context, run: &Run) -> Result<(Buffer, Buffer)> {
    run.stage("triangles: degrees");
    let rows = graph.out_rows();
    let degrees = simple::degrees(context, rows)?;
    let oriented = simple::oriented(context, rows, &degrees)?;
    run.check(|| "the degrees of triangles".into())?;
    run.stage(format!("triangles: {} edges", oriented.arcs));
    let triangles = passes::triangles(context, &oriented)?;
    // The rows are freed in the order of the stream.
    Ok((triangles, degrees))
}

/// [`cluster::clustering`] on a device. Weighted or directed, it runs on the host.
///
/// # Errors
/// If all weights are 0 or the largest is negative, or the user stops it; those of the device.
pub fn clustering(graph: &DeviceGraph, weighted: bool, context: &Context, run: &Run) -> Result<DeviceValues<f64>> {
    let rounds = DeviceRounds::new(graph, context, run)?;
    let values = if graph.is_directed() || (weighted && graph.is_weighted()) {
        context.upload(&cluster::clustering(&graph.download(context)?, weighted, run)?)?
    } else {
        let (triangles, degrees) = found(graph, context, run)?;
        passes::clustering(context, &triangles, &degrees, graph.nodes() as u32)?
    };
    rounds.finish()?;
    Ok(DeviceValues::new(values, graph.nodes()))
}

/// [`cluster::average_clustering`] on a device.
///
/// # Errors
/// If there are no such nodes, and as [`clustering`].
pub fn average_clustering(
    graph: &DeviceGraph,
    weighted: bool,
    count_zeros: bool,
    context: &Context,
    run: &Run,
) -> Result<f64> {
    let values = clustering(graph, weighted, context, run)?.download(context)?;
    Ok(cluster::average(&values, count_zeros)?)
}

/// [`cluster::transitivity`] on a device. Directed, it runs on the host.
///
/// # Errors
/// If the user stops it; those of the device.
pub fn transitivity(graph: &DeviceGraph, context: &Context, run: &Run) -> Result<f64> {
    let rounds = DeviceRounds::new(graph, context, run)?;
    if graph.is_directed() {
        return Ok(cluster::transitivity(&graph.download(context)?, run)?);
    }
    let (triangles, degrees) = found(graph, context, run)?;
    let nodes = 0..graph.nodes();
    let triangles = triangles.read::<u64>(nodes.clone(), &context.stream)?;
    let degrees = degrees.read::<u32>(nodes, &context.stream)?;
    rounds.finish()?;
    let pairs = degrees.iter().map(|d| u128::from(*d) * u128::from(d.saturating_sub(1))).sum();
    Ok(cluster::share_of_pairs(triangles.iter().sum(), pairs))
}
