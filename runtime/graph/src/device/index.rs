//! Graphs from columns of ids on a device: nodes numbered in ascending order of ids, and rows as the host makes them.

use onrush_device::Buffer;
use onrush_kernels::graph::build::{self, EdgeColumns};
use onrush_kernels::{Context, Scalar};

use super::{DeviceGraph, MOST_ARCS, Result};
use crate::error::{Error, ErrorKind};

/// A graph, and the ids of its nodes.
pub struct DeviceIndex {
    pub graph: DeviceGraph,
    /// The id of each node, ascending, in the type of the columns.
    pub ids: Buffer,
    pub id_type: Scalar,
}

/// The graph of columns of ids: equal to `Graph::new` of the same edges bit for bit. Edges with a null end are left
/// out; edge numbers are rows of the columns.
///
/// Ids are integers of at most 64 bits, or indices of a dictionary whose values ascend. Takes a radix sort of the arcs.
///
/// # Errors
/// If there are more than [`MOST_ARCS`] arcs, a weight is not finite, a column has another type, and those of the
/// device.
///
/// # Panics
/// If the columns differ in length or the ends in type.
pub fn index(context: &Context, columns: &EdgeColumns) -> Result<DeviceIndex> {
    let arcs = if columns.directed { columns.sources.rows } else { 2 * columns.sources.rows };
    if arcs > MOST_ARCS as u64 {
        let message = format!("{arcs} arcs: a graph on a device has at most {MOST_ARCS}");
        return Err(Error::new(ErrorKind::TooManyArcs, message)
            .help("merge parallel edges, or run the algorithm on the CPU")
            .into());
    }
    let built = build::build(context, columns)?;
    if let Some(edge) = built.bad_weight {
        let message = format!("the weight of edge {edge} is not a finite number");
        let error = Error::new(ErrorKind::Weight, message).edge(edge);
        return Err(error.help("leave the edge out, or give it a weight").into());
    }
    context.stream.synchronize()?;
    Ok(DeviceIndex {
        graph: DeviceGraph::new(columns.directed, built.edges, built.csr),
        ids: built.ids,
        id_type: columns.sources.scalar,
    })
}
