//! Triangles: `cuda/graph_triangles.cuh`.

use onrush_device::{Arguments, Buffer};

use super::{Csr, Kernel, Kernels};
use crate::error::Result;
use crate::headers;
use crate::library::Context;

/// Bytes of the table of a block: a key and a count for each of twice 4,096 targets.
const TABLE_BYTES: u32 = 16 * 4096;

const KERNELS: &[Kernel] = &[
    Kernel {
        name: "list_corners_",
        parameters: "const u32* offsets, u64 nodes, u32* few, u32* many, u32* lengths",
        call: "list_corners(offsets, nodes, few, many, lengths)",
    },
    Kernel {
        name: "count_few_",
        parameters: "const u32* offsets, const u32* targets, const u32* list, u32 count, u64* triangles",
        call: "count_few(offsets, targets, list, count, triangles)",
    },
    Kernel {
        name: "count_many_",
        parameters: "const u32* offsets, const u32* targets, const u32* list, u32 count, u32* ticket, u64* triangles",
        call: "count_many(offsets, targets, list, count, ticket, triangles)",
    },
    Kernel {
        name: "clustering_of_",
        parameters: "const u64* triangles, const u32* degrees, u64 nodes, f64* out",
        call: "clustering_of(triangles, degrees, nodes, out)",
    },
];

fn kernels(context: &Context) -> Kernels<'_> {
    Kernels::new(context, &headers::GRAPH_TRIANGLES, KERNELS)
}

/// The triangles that each node is a corner of, a u64 for each. `oriented` has one arc for each pair of neighbours,
/// along one order of all nodes. Waits for the stream.
///
/// # Errors
/// Errors of the device.
pub fn triangles(context: &Context, oriented: &Csr) -> Result<Buffer> {
    let kernels = kernels(context);
    let nodes = u64::from(oriented.nodes);
    let triangles = context.zeros(8 * nodes)?;
    let (few, many) = (context.allocate(4 * nodes)?, context.allocate(4 * nodes)?);
    // Two lengths, and the ticket.
    let lengths = context.zeros(12)?;
    let arguments = Arguments::new().buffer(&oriented.offsets).value(nodes).buffer(&few).buffer(&many);
    kernels.over("list_corners_", nodes, arguments.buffer(&lengths))?;
    let counts = lengths.read::<u32>(0..2, &context.stream)?;
    let rows = || Arguments::new().buffer(&oriented.offsets).buffer(&oriented.targets);
    if counts[1] > 0 {
        let blocks = kernels.resident("count_many_", TABLE_BYTES)?.min(counts[1]);
        let arguments = rows().buffer(&many).value(counts[1]).value(lengths.address() + 8).buffer(&triangles);
        kernels.blocks("count_many_", blocks, TABLE_BYTES, arguments)?;
    }
    if counts[0] > 0 {
        let arguments = rows().buffer(&few).value(counts[0]).buffer(&triangles);
        kernels.over("count_few_", 32 * u64::from(counts[0]), arguments)?;
    }
    Ok(triangles)
}

/// The part of the pairs of neighbours that are neighbours of each other, an f64 for each node, of its triangles and
/// its distinct neighbours.
///
/// # Errors
/// Errors of the device.
pub fn clustering(context: &Context, triangles: &Buffer, degrees: &Buffer, nodes: u32) -> Result<Buffer> {
    let nodes = u64::from(nodes);
    let out = context.allocate(8 * nodes)?;
    let arguments = Arguments::new().buffer(triangles).buffer(degrees).value(nodes).buffer(&out);
    kernels(context).over("clustering_of_", nodes, arguments)?;
    Ok(out)
}
