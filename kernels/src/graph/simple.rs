//! Rows without self-loops and parallel edges, and their orientation by degree: `cuda/graph_simple.cuh`.

use onrush_device::{Arguments, Buffer};

use super::{Csr, Kernel, Kernels, THREADS, numbers};
use crate::error::Result;
use crate::headers;
use crate::library::Context;
use crate::scan::{Bounds, scan};

/// Arcs of a tile.
const TILE: u64 = 2048;

const KERNELS: &[Kernel] = &[
    Kernel {
        name: "count_distinct",
        parameters: "const u32* offsets, const u32* targets, u64 nodes, u64 arcs, const u32* degrees, u32* by_row, u32* by_tile",
        call: "count_kept<KEEP_DISTINCT>(offsets, targets, degrees, nodes, arcs, by_row, by_tile)",
    },
    Kernel {
        name: "write_distinct",
        parameters: "const u32* offsets, const u32* targets, u64 nodes, u64 arcs, const u32* degrees, const u64* before, u32* kept",
        call: "write_kept<KEEP_DISTINCT>(offsets, targets, degrees, nodes, arcs, before, kept)",
    },
    Kernel {
        name: "count_higher",
        parameters: "const u32* offsets, const u32* targets, u64 nodes, u64 arcs, const u32* degrees, u32* by_row, u32* by_tile",
        call: "count_kept<KEEP_HIGHER>(offsets, targets, degrees, nodes, arcs, by_row, by_tile)",
    },
    Kernel {
        name: "write_higher",
        parameters: "const u32* offsets, const u32* targets, u64 nodes, u64 arcs, const u32* degrees, const u64* before, u32* kept",
        call: "write_kept<KEEP_HIGHER>(offsets, targets, degrees, nodes, arcs, before, kept)",
    },
    Kernel {
        name: "narrow_offsets_",
        parameters: "const u64* sums, u64 count, u32* out",
        call: "narrow_offsets(sums, count, out)",
    },
];

/// The arcs that stay.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Distinct,
    Higher,
}

/// Distinct neighbours of each node, itself left out: a u32 for each.
///
/// # Errors
/// Errors of the device.
pub fn degrees(context: &Context, rows: &Csr) -> Result<Buffer> {
    Ok(count(context, rows, Keep::Distinct, None)?.0)
}

/// Rows without self-loops and parallel edges, without weights. Waits for the stream.
///
/// # Errors
/// Errors of the device.
pub fn simple(context: &Context, rows: &Csr) -> Result<Csr> {
    kept(context, rows, Keep::Distinct, None)
}

/// The arc of each pair of neighbours, from the end with the lower of `degrees` to the other one. If degrees are equal,
/// it is from the higher node. Waits for the stream.
///
/// # Errors
/// Errors of the device.
pub fn oriented(context: &Context, rows: &Csr, degrees: &Buffer) -> Result<Csr> {
    kept(context, rows, Keep::Higher, Some(degrees))
}

fn kernels(context: &Context) -> Kernels<'_> {
    Kernels::new(context, &headers::GRAPH_SIMPLE, KERNELS)
}

fn tiled(arcs: u64) -> u64 {
    arcs.div_ceil(TILE) * u64::from(THREADS)
}

fn arguments(rows: &Csr, degrees: Option<&Buffer>) -> Arguments {
    let arguments = Arguments::new().buffer(&rows.offsets).buffer(&rows.targets).value(u64::from(rows.nodes));
    arguments.value(u64::from(rows.arcs)).optional(degrees)
}

/// Arcs that stay, by row and by tile, each with a 0 at the end.
fn count(context: &Context, rows: &Csr, keep: Keep, degrees: Option<&Buffer>) -> Result<(Buffer, Buffer)> {
    let arcs = u64::from(rows.arcs);
    let by_row = context.zeros(4 * (u64::from(rows.nodes) + 1))?;
    let by_tile = context.zeros(4 * (arcs.div_ceil(TILE) + 1))?;
    let name = if keep == Keep::Distinct { "count_distinct" } else { "count_higher" };
    kernels(context).over(name, tiled(arcs), arguments(rows, degrees).buffer(&by_row).buffer(&by_tile))?;
    Ok((by_row, by_tile))
}

fn kept(context: &Context, rows: &Csr, keep: Keep, degrees: Option<&Buffer>) -> Result<Csr> {
    let (nodes, arcs) = (u64::from(rows.nodes), u64::from(rows.arcs));
    let (by_row, by_tile) = count(context, rows, keep, degrees)?;
    let tiles = arcs.div_ceil(TILE);
    let sums = scan(context, &numbers(&by_row, nodes + 1), Bounds::Exclusive)?;
    let before = scan(context, &numbers(&by_tile, tiles + 1), Bounds::Exclusive)?;
    let offsets = context.allocate(4 * (nodes + 1))?;
    let narrow = Arguments::new().buffer(&sums).value(nodes + 1).buffer(&offsets);
    kernels(context).over("narrow_offsets_", nodes + 1, narrow)?;
    let count = before.read::<u64>(tiles as usize..tiles as usize + 1, &context.stream)?[0];
    let targets = context.allocate(4 * count)?;
    let name = if keep == Keep::Distinct { "write_distinct" } else { "write_higher" };
    kernels(context).over(name, tiled(arcs), arguments(rows, degrees).buffer(&before).buffer(&targets))?;
    Ok(Csr::new((rows.nodes, count as u32), offsets, targets, None, None))
}
