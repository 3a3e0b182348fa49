//! Connected components: links between labels, and their numbers: `cuda/graph_components.cuh`.

use onrush_device::{Arguments, Buffer};

use super::{Csr, Kernel, Kernels};
use crate::column::Column;
use crate::error::Result;
use crate::headers;
use crate::library::Context;
use crate::scalar::Scalar;
use crate::sort::sort_keys;

const KERNELS: &[Kernel] = &[
    Kernel { name: "graph_links_begin", parameters: "u32* labels, u32 nodes", call: "graph_link_begin(labels, nodes)" },
    Kernel {
        name: "graph_links_of",
        parameters: "GraphRows rows, u32 nth, u32* labels",
        call: "graph_link_nth(rows, nth, labels)",
    },
    Kernel { name: "graph_compressed", parameters: "u32* labels, u32 nodes", call: "graph_compress(labels, nodes)" },
    Kernel {
        name: "graph_sampled",
        parameters: "const u32* labels, u32 nodes, u32 count, u32* out",
        call: "graph_sample(labels, nodes, count, out)",
    },
    Kernel {
        name: "graph_links_rest",
        parameters: "GraphRows rows, u32 skip, u32 largest, u32* labels",
        call: "graph_link_rest(rows, skip, largest, labels)",
    },
    Kernel {
        name: "graph_links_all",
        parameters: "GraphRows rows, GraphBins bins, u32* labels, u32* ticket",
        call: "graph_link_all(rows, bins, labels, ticket)",
    },
    Kernel {
        name: "graph_sizes",
        parameters: "const u32* labels, u32 nodes, u32* sizes",
        call: "graph_component_sizes(labels, nodes, sizes)",
    },
    Kernel {
        name: "graph_keys",
        parameters: "const u32* labels, const u32* sizes, u32 nodes, u64* keys, u64* count",
        call: "graph_component_keys(labels, sizes, nodes, keys, count)",
    },
    Kernel {
        name: "graph_numbers",
        parameters: "const u64* keys, u32 count, u32* numbers, u32* sizes",
        call: "graph_component_numbers(keys, count, numbers, sizes)",
    },
    Kernel {
        name: "graph_numbered",
        parameters: "const u32* labels, const u32* numbers, u32 nodes, u32* component",
        call: "graph_component_of(labels, numbers, nodes, component)",
    },
];

/// Labels whose most frequent one is that of the largest component, most likely.
const SAMPLES: u32 = 1024;

fn kernels(context: &Context) -> Kernels<'_> {
    Kernels::new(context, &headers::GRAPH_COMPONENTS, KERNELS)
}

/// The lowest node of the component of each node, a u32 each, without regard to directions. `inwards` are rows by
/// target, if the graph has others than `rows` and they are made.
///
/// # Errors
/// Errors of the device.
pub fn labels(context: &Context, rows: &Csr, inwards: Option<&Csr>) -> Result<Buffer> {
    let (kernels, nodes) = (kernels(context), u64::from(rows.nodes));
    let labels = context.allocate(4 * nodes)?;
    if nodes == 0 {
        return Ok(labels);
    }
    let of_labels = || Arguments::new().buffer(&labels).value(rows.nodes);
    kernels.over("graph_links_begin", nodes, of_labels())?;
    for nth in 0..2_u32 {
        let arguments = Arguments::new().value(rows.parameter()).value(nth).buffer(&labels);
        kernels.over("graph_links_of", nodes, arguments)?;
        kernels.over("graph_compressed", nodes, of_labels())?;
    }
    // Arcs into a node are those out of another: only where the rows of both ends have an edge can rows be left out.
    if let Some(inwards) = inwards {
        let samples = context.allocate(4 * u64::from(SAMPLES))?;
        let arguments = of_labels().value(SAMPLES).buffer(&samples);
        kernels.over("graph_sampled", u64::from(SAMPLES), arguments)?;
        let largest = most_frequent(samples.read::<u32>(0..SAMPLES as usize, &context.stream)?);
        let link = |rows: &Csr, skip: u32| {
            let arguments = Arguments::new().value(rows.parameter()).value(skip).value(largest).buffer(&labels);
            kernels.over("graph_links_rest", nodes, arguments)
        };
        link(rows, 2)?;
        if inwards.targets.address() != rows.targets.address() {
            link(inwards, 0)?;
        }
    } else {
        let (bins, ticket) = (rows.bins(context)?, context.zeros(4)?);
        let arguments = Arguments::new().value(rows.parameter()).value(bins.parameter()).buffer(&labels);
        let blocks = kernels.resident("graph_links_all", 0)?.min(bins.tiles.max(1));
        kernels.blocks("graph_links_all", blocks, 0, arguments.buffer(&ticket))?;
    }
    kernels.over("graph_compressed", nodes, of_labels())?;
    Ok(labels)
}

fn most_frequent(mut labels: Vec<u32>) -> u32 {
    labels.sort_unstable();
    labels.chunk_by(|a, b| a == b).max_by_key(|run| run.len()).map_or(0, |run| run[0])
}

/// Components numbered from 0, by size, largest first, then by their lowest node.
pub struct ComponentNumbers {
    /// A u32 for each node.
    pub component: Buffer,
    /// Nodes of each component, a u32 each.
    pub sizes: Buffer,
    pub count: u32,
}

/// Numbers the components of labels that are their lowest nodes. Waits for the stream.
///
/// # Errors
/// Errors of the device.
pub fn numbers(context: &Context, labels: &Buffer, nodes: u32) -> Result<ComponentNumbers> {
    let (kernels, rows) = (kernels(context), u64::from(nodes));
    let by_label = context.zeros(4 * rows)?;
    kernels.over("graph_sizes", rows, Arguments::new().buffer(labels).value(nodes).buffer(&by_label))?;
    let (keys, count) = (context.allocate(8 * rows)?, context.zeros(8)?);
    let arguments = Arguments::new().buffer(labels).buffer(&by_label).value(nodes).buffer(&keys).buffer(&count);
    kernels.over("graph_keys", rows, arguments)?;
    let count = count.read_one::<u64>(&context.stream)?;
    let sorted = sort_keys(context, &Column::new(Scalar::U64, &keys).slice(0, count))?;
    drop(keys);
    // The sizes are no more needed: the memory becomes the numbers.
    let (number_of, sizes) = (by_label, context.allocate(4 * count)?);
    let arguments = Arguments::new().buffer(&sorted).value(count as u32).buffer(&number_of).buffer(&sizes);
    kernels.over("graph_numbers", count, arguments)?;
    let component = context.allocate(4 * rows)?;
    let arguments = Arguments::new().buffer(labels).buffer(&number_of).value(nodes).buffer(&component);
    kernels.over("graph_numbered", rows, arguments)?;
    context.stream.synchronize()?;
    Ok(ComponentNumbers { component, sizes, count: count as u32 })
}
