//! Similarity of given pairs of nodes on a device: the host's values, with sums in another order.

use onrush_kernels::Context;
use onrush_kernels::graph::similarity::{Measure, similarities};
use onrush_kernels::graph::simple;

use super::{DeviceGraph, DeviceRounds, DeviceValues, Result};
use crate::run::Run;

macro_rules! measures {
    ($($name:ident $measure:ident)*) => {
        $(
            #[doc = concat!("[`crate::similarity::", stringify!($name), "`] of given pairs on a device.")]
            ///
            /// # Errors
            /// If the graph is directed, or a pair names a node that is not in the graph; those of the device.
            pub fn $name(
                graph: &DeviceGraph,
                pairs: &[(u32, u32)],
                context: &Context,
                run: &Run,
            ) -> Result<DeviceValues<f64>> {
                scores(graph, pairs, Measure::$measure, stringify!($name), context, run)
            }
        )*
    };
}

measures! {
    common_neighbors CommonNeighbors
    jaccard_coefficient Jaccard
    adamic_adar_index AdamicAdar
    resource_allocation_index ResourceAllocation
    preferential_attachment PreferentialAttachment
    overlap Overlap
    sorensen Sorensen
    cosine Cosine
}

fn scores(
    graph: &DeviceGraph,
    pairs: &[(u32, u32)],
    measure: Measure,
    name: &str,
    context: &Context,
    run: &Run,
) -> Result<DeviceValues<f64>> {
    graph.check_undirected(name)?;
    for (u, v) in pairs {
        graph.check_node(*u)?;
        graph.check_node(*v)?;
    }
    let rounds = DeviceRounds::new(graph, context, run)?;
    run.stage(format!("{name}: {} pairs", pairs.len()));
    let rows = simple::simple(context, graph.out_rows())?;
    let ends = |end: fn(&(u32, u32)) -> u32| context.upload(&pairs.iter().map(end).collect::<Vec<u32>>());
    let (first, second) = (ends(|p| p.0)?, ends(|p| p.1)?);
    let values = similarities(context, &rows, measure, &first, &second, pairs.len() as u64)?;
    rounds.finish()?;
    Ok(DeviceValues::new(values, pairs.len()))
}
