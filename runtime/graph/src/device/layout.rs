//! Positions of nodes on a device: the host's iterations, with forces that are sums in another order.

use onrush_kernels::Context;
use onrush_kernels::graph::layout::{ForceOptions, Layout};

use super::{DeviceGraph, DeviceRounds, DeviceValues, Result};
use crate::layout::repulsion::{EXACT, THETA};
use crate::layout::{ForceAtlas2, Point, Speed, start};
use crate::run::Run;

/// [`crate::layout::forceatlas2_layout`] on a device.
///
/// # Errors
/// Errors of the device. Also if a parameter is out of range, there is not one finite position for each node, or the
/// user stops it.
pub fn forceatlas2_layout(
    graph: &DeviceGraph,
    options: &ForceAtlas2,
    pos: Option<&[Point]>,
    context: &Context,
    run: &Run,
) -> Result<DeviceValues<Point>> {
    options.check()?;
    let n = graph.nodes();
    let rounds = DeviceRounds::new(graph, context, run)?;
    let points = context.upload(&start(n, pos, options.seed)?)?;
    if n == 0 {
        return Ok(DeviceValues::new(points, 0));
    }
    let into = if graph.is_directed() { Some(graph.in_rows(context)?) } else { None };
    let layout = Layout::new(context, graph.out_rows(), into, options.weighted, points)?;
    let forces = ForceOptions {
        scaling_ratio: options.scaling_ratio,
        gravity: options.gravity,
        distributed_action: options.distributed_action,
        strong_gravity: options.strong_gravity,
        linlog: options.linlog,
        theta: THETA,
        exact: EXACT,
    };
    let mut speed = Speed::default();
    for iteration in 0..options.max_iter {
        run.stage(format!("forceatlas2_layout: iteration {} of at most {}", iteration + 1, options.max_iter));
        run.check(|| format!("{iteration} iterations of forceatlas2_layout"))?;
        (run.steps)(iteration as u64, options.max_iter as u64);
        let extent = layout.extent()?;
        let [swing, traction] = layout.add_forces(&extent, &forces)?;
        speed.add(swing, 0.5 * traction);
        speed.change(n as f64, options.jitter_tolerance);
        if layout.advance(speed.speed())? < 1e-10 {
            break;
        }
    }
    rounds.finish()?;
    Ok(DeviceValues::new(layout.points, n))
}
