//! Core numbers on a device: those of the host, bit for bit.

use onrush_kernels::Context;
use onrush_kernels::graph::cores::Cores;
use onrush_kernels::graph::{Csr, levels, simple};

use super::{DeviceGraph, DeviceRounds, DeviceValues, MOST_ARCS, Result};
use crate::error::{Error, ErrorKind};
use crate::run::Run;

/// [`crate::cores::core_number`] on a device, in rounds.
///
/// # Errors
/// If the graph has self-loops, there are too many arcs, or the user stops it; those of the device.
pub fn core_number(graph: &DeviceGraph, context: &Context, run: &Run) -> Result<DeviceValues<u32>> {
    let rounds = DeviceRounds::new(graph, context, run)?;
    let rows = neighbors(graph, context)?;
    let cores = Cores::new(context, &rows)?;
    let stage = |state: &[u64; 3], _| run.stage(format!("core_number: k = {}, {} nodes left", state[1], state[2]));
    if graph.nodes() > 0 {
        rounds.until_done::<3>("core_number", u64::MAX, &cores.state, |_| Ok(cores.step()?), stage)?;
    }
    rounds.finish()?;
    Ok(DeviceValues::new(cores.core, graph.nodes()))
}

/// Rows of distinct neighbours: of a directed graph, those in and those out.
fn neighbors(graph: &DeviceGraph, context: &Context) -> Result<Csr> {
    let loops = levels::loops(context, graph.out_rows())?;
    if loops > 0 {
        let message = format!("core_number takes no self-loops, the graph has {loops}");
        return Err(Error::new(ErrorKind::Loops, message).help("leave the self-loops out").into());
    }
    let out = simple::simple(context, graph.out_rows())?;
    if !graph.is_directed() {
        return Ok(out);
    }
    let into = simple::simple(context, graph.in_rows(context)?)?;
    let arcs = out.arcs as usize + into.arcs as usize;
    if arcs > MOST_ARCS {
        let message = format!("{arcs} arcs in both directions: core_number on a device has at most {MOST_ARCS}");
        return Err(Error::new(ErrorKind::TooManyArcs, message).help("run the algorithm on the CPU").into());
    }
    Ok(levels::joined_rows(context, &out, &into)?)
}
