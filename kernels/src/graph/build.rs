//! Rows of a graph from columns of ids on a device: `cuda/graph_build.cuh`.

use onrush_device::{Arguments, Buffer};

use super::{Csr, Kernel, Kernels, MOST_ARCS, THREADS};
use crate::column::Column;
use crate::dictionary::{Values, encode};
use crate::error::{Error, Result};
use crate::gather::gather;
use crate::headers;
use crate::library::Context;
use crate::reduce::{HIGH, LOW, Number, reduce};
use crate::scalar::Scalar;
use crate::scan::{Bounds, scan};
use crate::sort::{sort, sort_keys};

const KERNELS: &[Kernel] = &[
    Kernel {
        name: "graph_ids_present",
        parameters: "GraphIds<Id> sources, GraphIds<Id> targets, u64 rows, u64 low, u32* present, u64* count",
        call: "graph_presence(sources, targets, rows, low, present, count)",
    },
    Kernel {
        name: "graph_ids_counted",
        parameters: "const u32* present, u64 words, u32* counts",
        call: "graph_popcounts(present, words, counts)",
    },
    Kernel {
        name: "graph_ids_table",
        parameters: "const u32* present, const u64* before, u64 words, u64 low, u64* table, Id* ids",
        call: "graph_id_table(present, before, words, low, table, ids)",
    },
    Kernel {
        name: "graph_ids_keys",
        parameters: "GraphIds<Id> sources, GraphIds<Id> targets, u64 rows, u64* keys, u32* there, u64* count",
        call: "graph_id_keys(sources, targets, rows, keys, there, count)",
    },
    Kernel {
        name: "graph_ids_ranks",
        parameters: "const u64* keys, const u32* order, u64 count, u32* rank_of, Id* ids",
        call: "graph_id_ranks(keys, order, count, rank_of, ids)",
    },
    Kernel {
        name: "graph_pack_dense",
        parameters: "GraphIds<Id> sources, GraphIds<Id> targets, u64 low, const u64* table, u64 rows, u32 bits, u32 \
                     undirected, u64* keys",
        call: "graph_pack(sources, targets, GraphDenseIds<Id>{sources, low, table}, \
               GraphDenseIds<Id>{targets, low, table}, rows, bits, undirected, keys)",
    },
    Kernel {
        name: "graph_pack_coded",
        parameters: "GraphIds<Id> sources, GraphIds<Id> targets, const u32* codes, const u32* rank_of, u64 rows, \
                     u32 bits, u32 undirected, u64* keys",
        call: "graph_pack(sources, targets, GraphCodedIds{codes, rank_of}, GraphCodedIds{codes + rows, rank_of}, \
               rows, bits, undirected, keys)",
    },
    Kernel {
        name: "graph_begins_of_rows",
        parameters: "const u64* keys, u32 count, u32 bits, u32 nodes, u32* offsets",
        call: "graph_row_begins(keys, count, bits, nodes, offsets)",
    },
    Kernel {
        name: "graph_unpack_arcs",
        parameters: "const u64* keys, const u32* order, u32 arcs, u32 bits, u32 undirected, \
                     const Weight* weights_in, u32* targets, u32* edges, f64* weights, u32* bad",
        call: "graph_unpack(keys, order, arcs, bits, undirected, weights_in, targets, edges, weights, bad)",
    },
];

/// Ids whose range is less than this times the edges are numbered by a bitmap, others by a dictionary.
const DENSE: u64 = 8;
/// Ranges up to this are dense too.
const SMALL_RANGE: u64 = 1 << 16;

/// Edges as columns of one length. Ids are integers of one type; weights are numbers without nulls.
#[derive(Clone, Copy)]
pub struct EdgeColumns<'a> {
    pub sources: Column<'a>,
    pub targets: Column<'a>,
    pub weights: Option<Column<'a>>,
    pub directed: bool,
    /// Keep the row of each arc.
    pub with_edges: bool,
}

/// Rows of a graph, and the ids of its nodes.
pub struct BuiltRows {
    pub csr: Csr,
    /// The ids of nodes, ascending, in the type of the columns.
    pub ids: Buffer,
    /// Edges with two ends.
    pub edges: u64,
    /// The first edge whose weight is not finite.
    pub bad_weight: Option<u32>,
}

/// The source of the numbers of ids.
enum NodeNumbers {
    Dense { low: u64, table: Buffer },
    Coded { codes: Buffer, rank_of: Buffer },
}

struct NumberedIds {
    numbers: NodeNumbers,
    ids: Buffer,
    nodes: u64,
    edges: u64,
}

/// The rows of the edges: by source, and of an undirected graph each edge in the rows of both ends, a self-loop once.
/// Edges with a null are left out; edge numbers are rows of the columns. Waits for the stream.
///
/// # Errors
/// If a column has another type, there are more than [`MOST_ARCS`] arcs or nodes, and those of the device.
///
/// # Panics
/// If the columns differ in length or type.
pub fn build(context: &Context, columns: &EdgeColumns) -> Result<BuiltRows> {
    let EdgeColumns { sources, targets, weights, directed, with_edges } = columns;
    let rows = sources.rows;
    assert!(targets.rows == rows && weights.is_none_or(|w| w.rows == rows), "columns of different lengths");
    assert_eq!(sources.scalar, targets.scalar, "ids of different types");
    let keys_of_arcs = if *directed { rows } else { 2 * rows };
    let unsupported = sources.scalar.is_float() || sources.scalar.bytes() > 8;
    if unsupported || keys_of_arcs > u64::from(MOST_ARCS) || weights.is_some_and(|w| w.scalar.bytes() > 8) {
        return Err(Error::Unsupported { algorithm: "the rows of a graph", scalar: sources.scalar.cuda() });
    }
    let weight_type = weights.map_or("f64", |w| w.scalar.cuda());
    let types = format!("typedef {} Id;\ntypedef {weight_type} Weight;\n", sources.scalar.cuda());
    let kernels = Kernels::typed(context, &headers::GRAPH_BUILD, THREADS, &types, KERNELS);
    let numbered = number(&kernels, columns)?;
    let bits = 64 - numbered.nodes.leading_zeros();
    if numbered.nodes > u64::from(MOST_ARCS) {
        return Err(Error::TooManyGroups { slots: numbered.nodes });
    }
    let keys = pack(&kernels, columns, &numbered.numbers, bits)?;
    drop(numbered.numbers);
    let all = Column::new(Scalar::U64, &keys).slice(0, keys_of_arcs);
    // The order of the arcs is needed only where something belongs to them.
    let (sorted, order) = match with_edges | weights.is_some() {
        true => sort(context, &all).map(|sorted| (sorted.keys, Some(sorted.rows)))?,
        false => (sort_keys(context, &all)?, None),
    };
    drop(keys);
    let nodes = numbered.nodes as u32;
    let offsets = context.allocate(4 * (numbered.nodes + 1))?;
    let arguments = Arguments::new().buffer(&sorted).value(keys_of_arcs as u32).value(bits).value(nodes);
    kernels.over("graph_begins_of_rows", numbered.nodes + 1, arguments.buffer(&offsets))?;
    let last = numbered.nodes as usize;
    let arcs = offsets.read::<u32>(last..last + 1, &context.stream)?[0];
    let bytes = 4 * u64::from(arcs);
    let out = context.allocate(bytes)?;
    let edges = with_edges.then(|| context.allocate(bytes)).transpose()?;
    let made = weights.map(|_| context.allocate(2 * bytes)).transpose()?;
    let bad = super::filled(context, 1, u32::MAX)?;
    let arguments = Arguments::new()
        .buffer(&sorted)
        .optional(order.as_ref())
        .value(arcs)
        .value(bits)
        .value(u32::from(!directed))
        .value(weights.map_or(0, |w| w.address()))
        .buffer(&out)
        .optional(edges.as_ref())
        .optional(made.as_ref())
        .buffer(&bad);
    kernels.over("graph_unpack_arcs", u64::from(arcs), arguments)?;
    let bad = bad.read_one::<u32>(&context.stream)?;
    Ok(BuiltRows {
        csr: Csr::new((nodes, arcs), offsets, out, made, edges),
        ids: numbered.ids,
        edges: numbered.edges,
        bad_weight: (bad != u32::MAX).then_some(bad),
    })
}

/// The parameter `GraphIds`.
fn ids(column: &Column) -> [u64; 3] {
    [column.address(), column.validity_address(), column.first]
}

fn number(kernels: &Kernels, columns: &EdgeColumns) -> Result<NumberedIds> {
    let context = kernels.context;
    let (sources, targets, rows) = (&columns.sources, &columns.targets, columns.sources.rows);
    let mut range: Option<(i128, i128)> = None;
    for column in [sources, targets] {
        let totals = reduce(context, column, LOW | HIGH)?;
        if let (true, Number::Integer(low), Number::Integer(high)) = (totals.count > 0, totals.low, totals.high) {
            range = Some(range.map_or((low, high), |(l, h)| (l.min(low), h.max(high))));
        }
    }
    let (low, high) = range.unwrap_or((0, 0));
    let width = (high - low) as u64;
    match width < SMALL_RANGE.max(DENSE.saturating_mul(rows)) && width < 1 << 36 {
        true => dense(kernels, columns, low as u64, width + 1),
        false => coded(kernels, columns),
    }
}

fn dense(kernels: &Kernels, columns: &EdgeColumns, low: u64, width: u64) -> Result<NumberedIds> {
    let context = kernels.context;
    let (sources, targets, rows) = (&columns.sources, &columns.targets, columns.sources.rows);
    let words = width.div_ceil(32);
    let (present, count) = (context.zeros(4 * words)?, context.zeros(8)?);
    let arguments = Arguments::new().value(ids(sources)).value(ids(targets)).value(rows).value(low);
    kernels.over("graph_ids_present", rows, arguments.buffer(&present).buffer(&count))?;
    let counts = context.allocate(4 * (words + 1))?;
    counts.fill_range(4 * words, 4, 0, &context.stream)?;
    kernels.over("graph_ids_counted", words, Arguments::new().buffer(&present).value(words).buffer(&counts))?;
    let before = scan(context, &Column::new(Scalar::U32, &counts).slice(0, words + 1), Bounds::Exclusive)?;
    let last = words as usize;
    let nodes = before.read::<u64>(last..last + 1, &context.stream)?[0];
    let (table, out) = (context.allocate(8 * words)?, context.allocate(sources.scalar.bytes() * nodes)?);
    let arguments = Arguments::new().buffer(&present).buffer(&before).value(words).value(low);
    kernels.over("graph_ids_table", words, arguments.buffer(&table).buffer(&out))?;
    let edges = count.read_one::<u64>(&context.stream)?;
    Ok(NumberedIds { numbers: NodeNumbers::Dense { low, table }, ids: out, nodes, edges })
}

fn coded(kernels: &Kernels, columns: &EdgeColumns) -> Result<NumberedIds> {
    let context = kernels.context;
    let (sources, targets, rows) = (&columns.sources, &columns.targets, columns.sources.rows);
    let (keys, count) = (context.allocate(16 * rows)?, context.zeros(8)?);
    let there = context.allocate(4 * (2 * rows).div_ceil(32))?;
    let arguments = Arguments::new().value(ids(sources)).value(ids(targets)).value(rows);
    kernels.over("graph_ids_keys", 2 * rows, arguments.buffer(&keys).buffer(&there).buffer(&count))?;
    let values = Values::Fixed { scalar: Scalar::U64, values: &keys };
    let dictionary = encode(context, values, Some(&there), 2 * rows, rows)?;
    let nodes = dictionary.count;
    let distinct = context.allocate(8 * nodes)?;
    let first = Column::new(Scalar::U64, &dictionary.first_rows).slice(0, nodes);
    gather(context, &Column::new(Scalar::U64, &keys), &first, &distinct, None)?;
    let sorted = sort(context, &Column::new(Scalar::U64, &distinct).slice(0, nodes))?;
    let rank_of = context.allocate(4 * nodes)?;
    let out = context.allocate(sources.scalar.bytes() * nodes)?;
    let arguments = Arguments::new().buffer(&sorted.keys).buffer(&sorted.rows).value(nodes);
    kernels.over("graph_ids_ranks", nodes, arguments.buffer(&rank_of).buffer(&out))?;
    let edges = count.read_one::<u64>(&context.stream)?;
    Ok(NumberedIds { numbers: NodeNumbers::Coded { codes: dictionary.codes, rank_of }, ids: out, nodes, edges })
}

fn pack(kernels: &Kernels, columns: &EdgeColumns, numbers: &NodeNumbers, bits: u32) -> Result<Buffer> {
    let (sources, targets, rows) = (&columns.sources, &columns.targets, columns.sources.rows);
    let undirected = u32::from(!columns.directed);
    let keys = kernels.context.allocate(8 * rows * (1 + u64::from(undirected)))?;
    let ends = Arguments::new().value(ids(sources)).value(ids(targets));
    let (name, arguments) = match numbers {
        NodeNumbers::Dense { low, table } => ("graph_pack_dense", ends.value(*low).buffer(table)),
        NodeNumbers::Coded { codes, rank_of } => ("graph_pack_coded", ends.buffer(codes).buffer(rank_of)),
    };
    kernels.over(name, rows, arguments.value(rows).value(bits).value(undirected).buffer(&keys))?;
    Ok(keys)
}
