//! Levels of Louvain and Leiden: `cuda/graph_levels.cuh`.

use std::sync::Arc;

use onrush_device::{Arguments, Buffer};

use super::{Csr, Kernel, Kernels, filled, numbers};
use crate::column::Column;
use crate::error::Result;
use crate::headers;
use crate::library::Context;
use crate::scalar::Scalar;
use crate::scan::{Bounds, scan};
use crate::sort::{sort, sort_keys, sort_with};

/// Values of a chunk of sums of floats.
pub const SUM_CHUNK: u64 = 4096;

/// Arcs of a tile.
const TILE: u64 = 2048;

/// The number of a node that has none.
pub const NO_COMMUNITY: u32 = u32::MAX;

const KERNELS: &[Kernel] = &[
    Kernel {
        name: "sum_all_",
        parameters: "const u64* values, u64 count, u64* out",
        call: "sum_all(values, count, out)",
    },
    Kernel {
        name: "weight_chunks_",
        parameters: "const f64* weights, u64 arcs, f64* partials",
        call: "weight_chunks(weights, arcs, partials)",
    },
    Kernel {
        name: "expected_chunks_",
        parameters: "const u64* out, const u64* into, f64 total, u64 nodes, f64* partials",
        call: "expected_chunks(out, into, total, nodes, partials)",
    },
    Kernel {
        name: "find_negative_",
        parameters: "const f64* weights, u64 arcs, u32* first",
        call: "find_negative(weights, arcs, first)",
    },
    Kernel {
        name: "fix_weights_",
        parameters: "const f64* weights, u64 arcs, f64 scale, u64* out",
        call: "fix_weights(weights, arcs, scale, out)",
    },
    Kernel {
        name: "row_sums_",
        parameters: "const u32* offsets, const u32* targets, const u64* weights, u64 unit, u64 nodes, u64 arcs, u32 sides, \
                     u64* sums, u64* loops",
        call: "row_sums(offsets, targets, weights, unit, nodes, arcs, sides, sums, loops)",
    },
    Kernel {
        name: "join_rows_",
        parameters: "const u32* offsets, const u32* targets, const u64* weights, u64 nodes, u64 arcs, const u32* before, \
                     u32 second, u32* joined, u64* joined_weights",
        call: "join_rows(offsets, targets, weights, nodes, arcs, before, second, joined, joined_weights)",
    },
    Kernel {
        name: "join_offsets_",
        parameters: "const u32* a, const u32* b, u64 nodes, u32* out",
        call: "join_offsets(a, b, nodes, out)",
    },
    Kernel {
        name: "begin_alone_",
        parameters: "CommunityLevel level, u32* label, u64* out, u64* into, u32* sizes",
        call: "begin_alone(level, label, out, into, sizes)",
    },
    Kernel {
        name: "sum_labels_",
        parameters: "const u32* label, const u64* values, u64 nodes, u64* sums",
        call: "sum_labels(label, values, nodes, sums)",
    },
    Kernel {
        name: "narrow_",
        parameters: "const u64* values, u64 count, u32* out",
        call: "narrow(values, count, out)",
    },
    Kernel {
        name: "find_labels_",
        parameters: "CommunityLevel level, const u32* label, u32* occurs",
        call: "find_labels(level, label, occurs)",
    },
    Kernel {
        name: "number_nodes_",
        parameters: "CommunityLevel level, const u32* label, const u64* rank, u32* number",
        call: "number_nodes(level, label, rank, number)",
    },
    Kernel {
        name: "keep_sums_",
        parameters: "const u64* sums, const u32* occurs, const u64* rank, u64 nodes, u64* kept",
        call: "keep_sums(sums, occurs, rank, nodes, kept)",
    },
    Kernel {
        name: "pair_communities_",
        parameters: "CommunityLevel level, const u32* number, u32 bits, u64* keys, u64* values, u64* within, u64* count",
        call: "pair_communities(level, number, bits, keys, values, within, count)",
    },
    Kernel {
        name: "count_runs_",
        parameters: "const u64* keys, u64 count, u32* counts",
        call: "count_runs(keys, count, counts)",
    },
    Kernel {
        name: "write_runs_",
        parameters: "const u64* keys, u64 count, const u64* before, u64* run_keys, u32* run_begins",
        call: "write_runs(keys, count, before, run_keys, run_begins)",
    },
    Kernel {
        name: "weigh_runs_",
        parameters: "const u64* run_keys, const u32* run_begins, u64 runs, u64 count, u32 bits, const u64* sums, u64 unit, \
                     u32* targets, u64* weights",
        call: "weigh_runs(run_keys, run_begins, runs, count, bits, sums, unit, targets, weights)",
    },
    Kernel {
        name: "begin_rows_",
        parameters: "const u64* run_keys, u64 runs, u32 bits, u64 nodes, u32* offsets",
        call: "begin_rows(run_keys, runs, bits, nodes, offsets)",
    },
    Kernel {
        name: "add_within_",
        parameters: "const u64* within, u64 nodes, u32 seen, u64* inside",
        call: "add_within(within, nodes, seen, inside)",
    },
    Kernel {
        name: "follow_numbers_",
        parameters: "const u32* number, u64 nodes, u32* membership",
        call: "follow_numbers(number, nodes, membership)",
    },
    Kernel {
        name: "take_labels_",
        parameters: "const u32* node, const u32* label, u64 nodes, u32* membership",
        call: "take_labels(node, label, nodes, membership)",
    },
    Kernel {
        name: "flag_missing_",
        parameters: "const u32* membership, u64 nodes, u32* flags",
        call: "flag_missing(membership, nodes, flags)",
    },
    Kernel {
        name: "measure_",
        parameters: "const u64* missing, u64 first, u64 nodes, u32* membership, u32* sizes, u32* lowest",
        call: "measure_communities(missing, first, nodes, membership, sizes, lowest)",
    },
    Kernel {
        name: "size_keys_",
        parameters: "const u32* sizes, const u32* lowest, u64 count, u64* keys",
        call: "size_keys(sizes, lowest, count, keys)",
    },
    Kernel {
        name: "invert_",
        parameters: "const u32* order, u64 count, u32* place",
        call: "invert(order, count, place)",
    },
    Kernel {
        name: "cut_sums_",
        parameters: "CommunityLevel level, const u32* label, u64* cut",
        call: "cut_sums(level, label, cut)",
    },
    Kernel {
        name: "lowest_numbers_",
        parameters: "const u32* label, const u32* number, u64 nodes, u32* lowest",
        call: "lowest_numbers(label, number, nodes, lowest)",
    },
    Kernel {
        name: "start_labels_",
        parameters: "const u32* label, const u32* number, const u32* lowest, u64 nodes, u32* start",
        call: "start_labels(label, number, lowest, nodes, start)",
    },
    Kernel {
        name: "find_names_",
        parameters: "const u32* node, const u32* membership, u64 nodes, u32* lowest",
        call: "find_names(node, membership, nodes, lowest)",
    },
    Kernel {
        name: "take_names_",
        parameters: "const u32* node, const u32* lowest, u64 nodes, u32* membership",
        call: "take_names(node, lowest, nodes, membership)",
    },
    Kernel {
        name: "find_above_",
        parameters: "const u32* values, u64 count, u32 limit, u32* found",
        call: "find_above(values, count, limit, found)",
    },
    Kernel {
        name: "find_change_",
        parameters: "const u32* a, const u32* b, u64 count, u32* found",
        call: "find_change(a, b, count, found)",
    },
    Kernel { name: "begin_roots_", parameters: "u64 nodes, u32* parent", call: "begin_roots(nodes, parent)" },
    Kernel {
        name: "join_roots_",
        parameters: "const u32* offsets, const u32* targets, u64 nodes, u64 arcs, u32 directed, const u32* membership, \
                     u32* parent",
        call: "join_roots(offsets, targets, nodes, arcs, directed, membership, parent)",
    },
    Kernel {
        name: "take_roots_",
        parameters: "u64 nodes, u32* parent, u32* membership",
        call: "take_roots(nodes, parent, membership)",
    },
];

fn kernels(context: &Context) -> Kernels<'_> {
    Kernels::new(context, &headers::GRAPH_LEVELS, KERNELS)
}

/// Threads of a grid that goes over arcs by tiles of eight for each.
fn tiled(arcs: u64) -> u64 {
    arcs.div_ceil(TILE) * u64::from(super::THREADS)
}

/// A graph whose nodes are communities of the graph before, with weights in fixed point. `runtime/graph` has the same
/// on the host.
pub struct CommunityLevel {
    pub nodes: u32,
    pub arcs: u32,
    /// As [`Csr::offsets`].
    pub offsets: Arc<Buffer>,
    /// Self-loops may occur, and are skipped.
    pub targets: Arc<Buffer>,
    /// A u64 for each arc. `None`: each weighs `unit`. Directed: an edge is in the rows of both of its ends.
    pub weights: Option<Buffer>,
    pub unit: u64,
    /// A u64 for each node: weight of its edges, or of those that leave it.
    pub out: Buffer,
    /// Weight of edges that enter a node. `None` if undirected.
    pub into: Option<Buffer>,
    /// Weight of edges inside of a node, twice if undirected.
    pub inside: Buffer,
    /// The sum of `out`.
    pub total: f64,
}

/// Communities while nodes move: a label for each node, and by label the sums of `out` and `into` and the numbers of
/// members.
pub struct CommunityState {
    pub label: Buffer,
    pub out: Buffer,
    pub into: Option<Buffer>,
    pub sizes: Buffer,
}

impl CommunityState {
    /// Each node alone.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn alone(context: &Context, level: &CommunityLevel) -> Result<CommunityState> {
        let nodes = u64::from(level.nodes);
        let (label, out) = (context.allocate(4 * nodes)?, context.allocate(8 * nodes)?);
        let into = level.into.as_ref().map(|_| context.allocate(8 * nodes)).transpose()?;
        let sizes = context.allocate(4 * nodes)?;
        let arguments = Arguments::new().value(level.parameter()).buffer(&label).buffer(&out);
        kernels(context).over("begin_alone_", nodes, arguments.optional(into.as_ref()).buffer(&sizes))?;
        Ok(CommunityState { label, out, into, sizes })
    }

    /// The communities `label`, a number below that of the nodes for each node.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn of_labels(context: &Context, level: &CommunityLevel, label: Buffer) -> Result<CommunityState> {
        let nodes = u64::from(level.nodes);
        let counted = sums_by_label(context, nodes, &label, None, nodes)?;
        let sizes = context.allocate(4 * nodes)?;
        kernels(context).over("narrow_", nodes, Arguments::new().buffer(&counted).value(nodes).buffer(&sizes))?;
        let out = sums_by_label(context, nodes, &label, Some(&level.out), nodes)?;
        let into =
            level.into.as_ref().map(|into| sums_by_label(context, nodes, &label, Some(into), nodes)).transpose()?;
        Ok(CommunityState { label, out, into, sizes })
    }

    /// The parameter `CommunityState` of kernels.
    pub fn parameter(&self) -> [u64; 4] {
        let into = self.into.as_ref().map_or(0, Buffer::address);
        [self.label.address(), self.out.address(), into, self.sizes.address()]
    }

    /// Whether no community has two nodes.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn is_alone(&self, context: &Context, nodes: u32) -> Result<bool> {
        is_below(context, &self.sizes, nodes, 2)
    }
}

/// Sums by label over `nodes` nodes, for labels below `count`; numbers of nodes without values.
fn sums_by_label(context: &Context, nodes: u64, label: &Buffer, values: Option<&Buffer>, count: u64) -> Result<Buffer> {
    let sums = context.zeros(8 * count)?;
    let arguments = Arguments::new().buffer(label).optional(values).value(nodes).buffer(&sums);
    kernels(context).over("sum_labels_", nodes.div_ceil(8), arguments)?;
    Ok(sums)
}

/// The sum of u64 values, modulo 2^64. Waits for the stream.
fn sum_of(context: &Context, values: &Buffer, count: u64) -> Result<u64> {
    let out = context.zeros(8)?;
    kernels(context).over("sum_all_", count, Arguments::new().buffer(values).value(count).buffer(&out))?;
    Ok(out.read_one::<u64>(&context.stream)?)
}

/// The arcs of each row, a u64 for each; self-loops count `sides` times, 1 or 2.
///
/// # Errors
/// Errors of the device.
pub fn row_lengths(context: &Context, rows: &Csr, sides: u32) -> Result<Buffer> {
    FixedRows { rows, weights: None }.sums(context, 1, sides, None)
}

/// Self-loops of rows. Waits for the stream.
///
/// # Errors
/// Errors of the device.
pub fn loops(context: &Context, rows: &Csr) -> Result<u64> {
    let nodes = u64::from(rows.nodes);
    let loops = context.zeros(8 * nodes)?;
    FixedRows { rows, weights: None }.sums(context, 1, 1, Some(&loops))?;
    sum_of(context, &loops, nodes)
}

/// Rows of all arcs of two graphs of the same nodes, those of the first before the others, without weights. Together
/// they have at most [`MOST_ARCS`](super::MOST_ARCS) arcs.
///
/// # Errors
/// Errors of the device.
pub fn joined_rows(context: &Context, a: &Csr, b: &Csr) -> Result<Csr> {
    let fixed = |rows| FixedRows { rows, weights: None };
    let (offsets, targets, _) = joined(context, &fixed(a), &fixed(b))?;
    Ok(Csr::new((a.nodes, a.arcs + b.arcs), offsets, targets, None, None))
}

/// The first arc with a negative weight.
///
/// # Errors
/// Errors of the device.
pub fn first_negative(context: &Context, rows: &Csr) -> Result<Option<u32>> {
    let Some(weights) = &rows.weights else { return Ok(None) };
    let first = filled(context, 1, u32::MAX)?;
    let arcs = u64::from(rows.arcs);
    kernels(context).over("find_negative_", arcs, Arguments::new().buffer(weights).value(arcs).buffer(&first))?;
    let first = first.read_one::<u32>(&context.stream)?;
    Ok((first != u32::MAX).then_some(first))
}

/// The sum of all weights of arcs, in chunks of [`SUM_CHUNK`] that are added in order; the number of arcs without
/// weights.
///
/// # Errors
/// Errors of the device.
pub fn weight_sum(context: &Context, rows: &Csr) -> Result<f64> {
    let arcs = u64::from(rows.arcs);
    let Some(weights) = &rows.weights else { return Ok(arcs as f64) };
    let chunks = arcs.div_ceil(SUM_CHUNK);
    let partials = context.allocate(8 * chunks)?;
    kernels(context).over(
        "weight_chunks_",
        32 * chunks,
        Arguments::new().buffer(weights).value(arcs).buffer(&partials),
    )?;
    Ok(partials.read::<f64>(0..chunks as usize, &context.stream)?.into_iter().sum())
}

/// Rows with weights in fixed point.
struct FixedRows<'a> {
    rows: &'a Csr,
    weights: Option<Buffer>,
}

impl<'a> FixedRows<'a> {
    fn new(context: &Context, rows: &'a Csr, scale: f64) -> Result<FixedRows<'a>> {
        let arcs = u64::from(rows.arcs);
        let fix = |weights: &Arc<Buffer>| -> Result<Buffer> {
            let fixed = context.allocate(8 * arcs)?;
            let arguments = Arguments::new().buffer(weights).value(arcs).value(scale).buffer(&fixed);
            kernels(context).over("fix_weights_", arcs, arguments)?;
            Ok(fixed)
        };
        Ok(FixedRows { rows, weights: rows.weights.as_ref().map(fix).transpose()? })
    }

    /// Weights of rows; `loops` gets those of self-loops times `sides`.
    fn sums(&self, context: &Context, unit: u64, sides: u32, loops: Option<&Buffer>) -> Result<Buffer> {
        let rows = self.rows;
        let sums = context.zeros(8 * u64::from(rows.nodes))?;
        let arguments = Arguments::new().buffer(&rows.offsets).buffer(&rows.targets).optional(self.weights.as_ref());
        let arguments = arguments.value(unit).value(u64::from(rows.nodes)).value(u64::from(rows.arcs)).value(sides);
        let arguments = arguments.buffer(&sums).optional(loops);
        kernels(context).over("row_sums_", tiled(u64::from(rows.arcs)), arguments)?;
        Ok(sums)
    }
}

impl CommunityLevel {
    /// The first level of a graph: its rows, and of a directed one those by target. Weights are multiplied by `scale`
    /// and rounded; their sum, of both ends, is below 2^61.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn of(context: &Context, rows: &Csr, into: Option<&Csr>, scale: f64) -> Result<CommunityLevel> {
        let unit = scale as u64;
        let nodes = u64::from(rows.nodes);
        let inside = context.zeros(8 * nodes)?;
        let sides = if into.is_some() { 1 } else { 2 };
        let fixed = FixedRows::new(context, rows, scale)?;
        let out = fixed.sums(context, unit, sides, Some(&inside))?;
        let (offsets, targets, weights, arcs, entering) = match into {
            None => (Arc::clone(&rows.offsets), Arc::clone(&rows.targets), fixed.weights, rows.arcs, None),
            Some(into) => {
                let second = FixedRows::new(context, into, scale)?;
                let entering = second.sums(context, unit, 1, None)?;
                let (offsets, targets, weights) = joined(context, &fixed, &second)?;
                (Arc::new(offsets), Arc::new(targets), weights, rows.arcs + into.arcs, Some(entering))
            }
        };
        let total = sum_of(context, &out, nodes)? as f64;
        let into = entering;
        Ok(CommunityLevel { nodes: rows.nodes, arcs, offsets, targets, weights, unit, out, into, inside, total })
    }

    /// The parameter `CommunityLevel` of kernels.
    pub fn parameter(&self) -> [u64; 9] {
        let address = |buffer: &Option<Buffer>| buffer.as_ref().map_or(0, Buffer::address);
        [
            u64::from(self.nodes),
            u64::from(self.arcs),
            self.offsets.address(),
            self.targets.address(),
            address(&self.weights),
            self.unit,
            self.out.address(),
            address(&self.into),
            self.total.to_bits(),
        ]
    }

    /// The modularity if each node is a community, in the order of the host's sums. Waits for the stream.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn modularity(&self, context: &Context, resolution: f64) -> Result<f64> {
        let inside = sum_of(context, &self.inside, u64::from(self.nodes))? as f64 / self.total;
        let expected = self.expected(context, &self.out, self.into.as_ref().unwrap_or(&self.out))?;
        Ok(inside - resolution * expected)
    }

    /// The modularity of communities, numbers below that of the nodes. Waits for the stream.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn modularity_of(&self, context: &Context, label: &Buffer, resolution: f64) -> Result<f64> {
        let nodes = u64::from(self.nodes);
        let within = sum_of(context, &self.cut(context, label)?, nodes)?;
        // Directed, each edge is in the rows of both ends.
        let within = if self.into.is_some() { within / 2 } else { within };
        let inside = (sum_of(context, &self.inside, nodes)? + within) as f64 / self.total;
        let out = sums_by_label(context, nodes, label, Some(&self.out), nodes)?;
        let into =
            self.into.as_ref().map(|into| sums_by_label(context, nodes, label, Some(into), nodes)).transpose()?;
        let expected = self.expected(context, &out, into.as_ref().unwrap_or(&out))?;
        Ok(inside - resolution * expected)
    }

    /// The share of random edges inside of communities of these strengths.
    fn expected(&self, context: &Context, out: &Buffer, into: &Buffer) -> Result<f64> {
        let nodes = u64::from(self.nodes);
        let chunks = nodes.div_ceil(SUM_CHUNK);
        let partials = context.allocate(8 * chunks)?;
        let arguments = Arguments::new().buffer(out).buffer(into).value(self.total).value(nodes).buffer(&partials);
        kernels(context).over("expected_chunks_", 32 * chunks, arguments)?;
        Ok(partials.read::<f64>(0..chunks as usize, &context.stream)?.into_iter().sum())
    }

    /// A level whose nodes are the labels that occur, in ascending order, and the new number of each node:
    /// [`NO_COMMUNITY`] of one without arcs and weight. Rows ascend. Waits for the stream.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn aggregate(&self, context: &Context, state: &CommunityState) -> Result<(CommunityLevel, Buffer)> {
        let kernels = kernels(context);
        let nodes = u64::from(self.nodes);
        let occurs = context.zeros(4 * (nodes + 1))?;
        kernels.over(
            "find_labels_",
            nodes,
            Arguments::new().value(self.parameter()).buffer(&state.label).buffer(&occurs),
        )?;
        let rank = scan(context, &numbers(&occurs, nodes + 1), Bounds::Exclusive)?;
        let number = context.allocate(4 * nodes)?;
        let arguments = Arguments::new().value(self.parameter()).buffer(&state.label).buffer(&rank).buffer(&number);
        kernels.over("number_nodes_", nodes, arguments)?;
        let count = rank.read::<u64>(nodes as usize..nodes as usize + 1, &context.stream)?[0];
        let keep = |sums: &Buffer| -> Result<Buffer> {
            let kept = context.zeros(8 * count)?;
            let arguments = Arguments::new().buffer(sums).buffer(&occurs).buffer(&rank).value(nodes).buffer(&kept);
            kernels.over("keep_sums_", nodes, arguments)?;
            Ok(kept)
        };
        let out = keep(&state.out)?;
        let into = state.into.as_ref().map(keep).transpose()?;
        let inside = sums_by_label(context, nodes, &number, Some(&self.inside), count)?;
        let (offsets, targets, weights, arcs) = self.pairs(context, &number, count, &inside)?;
        let (unit, total) = (0, self.total);
        let (offsets, targets, weights) = (Arc::new(offsets), Arc::new(targets), Some(weights));
        let nodes = count as u32;
        let level = CommunityLevel { nodes, arcs, offsets, targets, weights, unit, out, into, inside, total };
        Ok((level, number))
    }

    /// Offsets, targets, weights and number of arcs between communities; weights of other arcs are added to `inside`.
    fn pairs(
        &self,
        context: &Context,
        number: &Buffer,
        count: u64,
        inside: &Buffer,
    ) -> Result<(Buffer, Buffer, Buffer, u32)> {
        let kernels = kernels(context);
        let arcs = u64::from(self.arcs);
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        let within = context.zeros(8 * count)?;
        let found = context.zeros(8)?;
        let keys = context.allocate(8 * arcs)?;
        let values = self.weights.as_ref().map(|_| context.allocate(8 * arcs)).transpose()?;
        let arguments = Arguments::new().value(self.parameter()).buffer(number).value(bits).buffer(&keys);
        let arguments = arguments.optional(values.as_ref()).buffer(&within).buffer(&found);
        kernels.over("pair_communities_", tiled(arcs), arguments)?;
        let seen: u32 = if self.into.is_some() { 2 } else { 1 };
        kernels.over("add_within_", count, Arguments::new().buffer(&within).value(count).value(seen).buffer(inside))?;
        let found = found.read_one::<u64>(&context.stream)?;
        let (keys, sums) = match values {
            None => (sort_keys(context, &Column::new(Scalar::U64, &keys).slice(0, found))?, None),
            Some(values) => {
                let highest = (count << bits).saturating_sub(1);
                let (keys, values) = sort_with(context, (Scalar::U64, found, highest), keys, values)?;
                let sums = scan(context, &Column::new(Scalar::U64, &values).slice(0, found), Bounds::Inclusive)?;
                (keys, Some(sums))
            }
        };
        let tiles = found.div_ceil(TILE);
        let counts = context.zeros(4 * (tiles + 1))?;
        kernels.over("count_runs_", tiled(found), Arguments::new().buffer(&keys).value(found).buffer(&counts))?;
        let before = scan(context, &numbers(&counts, tiles + 1), Bounds::Exclusive)?;
        let runs = before.read::<u64>(tiles as usize..tiles as usize + 1, &context.stream)?[0];
        let (run_keys, run_begins) = (context.allocate(8 * runs)?, context.allocate(4 * runs)?);
        let arguments =
            Arguments::new().buffer(&keys).value(found).buffer(&before).buffer(&run_keys).buffer(&run_begins);
        kernels.over("write_runs_", tiled(found), arguments)?;
        let (targets, weights) = (context.allocate(4 * runs)?, context.allocate(8 * runs)?);
        let arguments = Arguments::new().buffer(&run_keys).buffer(&run_begins).value(runs).value(found).value(bits);
        let arguments = arguments.optional(sums.as_ref()).value(self.unit).buffer(&targets).buffer(&weights);
        kernels.over("weigh_runs_", runs, arguments)?;
        let offsets = context.allocate(4 * (count + 1))?;
        let arguments = Arguments::new().buffer(&run_keys).value(runs).value(bits).value(count).buffer(&offsets);
        kernels.over("begin_rows_", count + 1, arguments)?;
        Ok((offsets, targets, weights, runs as u32))
    }

    /// For each node the weight to others of its community.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn cut(&self, context: &Context, label: &Buffer) -> Result<Buffer> {
        let cut = context.zeros(8 * u64::from(self.nodes))?;
        let arguments = Arguments::new().value(self.parameter()).buffer(label).buffer(&cut);
        kernels(context).over("cut_sums_", tiled(u64::from(self.arcs)), arguments)?;
        Ok(cut)
    }
}

/// Rows with the arcs of both.
fn joined(context: &Context, a: &FixedRows, b: &FixedRows) -> Result<(Buffer, Buffer, Option<Buffer>)> {
    let kernels = kernels(context);
    let nodes = u64::from(a.rows.nodes);
    let arcs = u64::from(a.rows.arcs) + u64::from(b.rows.arcs);
    let (offsets, targets) = (context.allocate(4 * (nodes + 1))?, context.allocate(4 * arcs)?);
    let weights = a.weights.as_ref().map(|_| context.allocate(8 * arcs)).transpose()?;
    let arguments = Arguments::new().buffer(&a.rows.offsets).buffer(&b.rows.offsets).value(nodes).buffer(&offsets);
    kernels.over("join_offsets_", nodes + 1, arguments)?;
    for (own, other, second) in [(a, b, 0_u32), (b, a, 1)] {
        let rows = own.rows;
        let arguments = Arguments::new().buffer(&rows.offsets).buffer(&rows.targets).optional(own.weights.as_ref());
        let arguments = arguments.value(nodes).value(u64::from(rows.arcs)).buffer(&other.rows.offsets).value(second);
        let arguments = arguments.buffer(&targets).optional(weights.as_ref());
        kernels.over("join_rows_", tiled(u64::from(rows.arcs)), arguments)?;
    }
    Ok((offsets, targets, weights))
}

/// Nodes in communities of the last level become nodes in those of the next: `membership[v] = number[membership[v]]`.
///
/// # Errors
/// Errors of the device.
pub fn follow(context: &Context, number: &Buffer, nodes: u32, membership: &Buffer) -> Result<()> {
    let nodes = u64::from(nodes);
    let arguments = Arguments::new().buffer(number).value(nodes).buffer(membership);
    kernels(context).over("follow_numbers_", nodes, arguments)
}

/// `membership[v] = label[node[v]]` of nodes that have a `node`.
///
/// # Errors
/// Errors of the device.
pub fn take_labels(context: &Context, node: &Buffer, label: &Buffer, nodes: u32, membership: &Buffer) -> Result<()> {
    let nodes = u64::from(nodes);
    let arguments = Arguments::new().buffer(node).buffer(label).value(nodes).buffer(membership);
    kernels(context).over("take_labels_", nodes, arguments)
}

/// Communities numbered from 0 in order of falling size, ties by their lowest node. `membership` has numbers below
/// `count`, or [`NO_COMMUNITY`] of nodes that are alone, and is overwritten.
///
/// # Errors
/// Errors of the device.
pub fn by_size(context: &Context, membership: &Buffer, nodes: u32, count: u32) -> Result<Buffer> {
    let kernels = kernels(context);
    let (nodes, first) = (u64::from(nodes), u64::from(count));
    let flags = context.zeros(4 * (nodes + 1))?;
    kernels.over("flag_missing_", nodes, Arguments::new().buffer(membership).value(nodes).buffer(&flags))?;
    let missing = scan(context, &numbers(&flags, nodes + 1), Bounds::Exclusive)?;
    let all = first + missing.read::<u64>(nodes as usize..nodes as usize + 1, &context.stream)?[0];
    let (sizes, lowest) = (context.zeros(4 * all)?, filled(context, all, u32::MAX)?);
    let arguments = Arguments::new().buffer(&missing).value(first).value(nodes).buffer(membership);
    kernels.over("measure_", nodes, arguments.buffer(&sizes).buffer(&lowest))?;
    let keys = context.allocate(8 * all)?;
    let arguments = Arguments::new().buffer(&sizes).buffer(&lowest).value(all).buffer(&keys);
    kernels.over("size_keys_", all, arguments)?;
    let sorted = sort(context, &Column::new(Scalar::U64, &keys).slice(0, all))?;
    let place = context.allocate(4 * all)?;
    kernels.over("invert_", all, Arguments::new().buffer(&sorted.rows).value(all).buffer(&place))?;
    let labels = context.allocate(4 * nodes)?;
    take_labels(context, membership, &place, nodes as u32, &labels)?;
    Ok(labels)
}

/// For each community of the last level, the lowest number that one of its nodes has in the next level. The result is
/// the communities of the `count` nodes there.
///
/// # Errors
/// Errors of the device.
pub fn start_labels(context: &Context, label: &Buffer, number: &Buffer, nodes: u32, count: u32) -> Result<Buffer> {
    let kernels = kernels(context);
    let nodes = u64::from(nodes);
    let lowest = filled(context, nodes, u32::MAX)?;
    let arguments = Arguments::new().buffer(label).buffer(number).value(nodes).buffer(&lowest);
    kernels.over("lowest_numbers_", nodes, arguments)?;
    let start = context.allocate(4 * u64::from(count))?;
    let arguments = Arguments::new().buffer(label).buffer(number).buffer(&lowest).value(nodes).buffer(&start);
    kernels.over("start_labels_", nodes, arguments)?;
    Ok(start)
}

/// Names each community by its lowest node. Nodes that have no `node` are named by themselves.
///
/// # Errors
/// Errors of the device.
pub fn lowest_names(context: &Context, node: &Buffer, nodes: u32, membership: &Buffer) -> Result<()> {
    let kernels = kernels(context);
    let lowest = filled(context, u64::from(nodes), u32::MAX)?;
    let nodes = u64::from(nodes);
    let arguments = Arguments::new().buffer(node).buffer(membership).value(nodes).buffer(&lowest);
    kernels.over("find_names_", nodes, arguments)?;
    let arguments = Arguments::new().buffer(node).buffer(&lowest).value(nodes).buffer(membership);
    kernels.over("take_names_", nodes, arguments)
}

/// Whether all of a column of u32 are below `bound`, which is not 0 if there are any. Waits for the stream.
///
/// # Errors
/// Errors of the device.
pub fn is_below(context: &Context, values: &Buffer, count: u32, bound: u32) -> Result<bool> {
    let found = context.zeros(4)?;
    let count = u64::from(count);
    let arguments = Arguments::new().buffer(values).value(count).value(bound.saturating_sub(1)).buffer(&found);
    kernels(context).over("find_above_", count, arguments)?;
    Ok(found.read_one::<u32>(&context.stream)? == 0)
}

/// Whether two columns of u32 are the same. Waits for the stream.
///
/// # Errors
/// Errors of the device.
pub fn is_same(context: &Context, a: &Buffer, b: &Buffer, count: u32) -> Result<bool> {
    let found = context.zeros(4)?;
    let count = u64::from(count);
    kernels(context).over("find_change_", count, Arguments::new().buffer(a).buffer(b).value(count).buffer(&found))?;
    Ok(found.read_one::<u32>(&context.stream)? == 0)
}

/// The numbers 0, 1, ... of nodes.
///
/// # Errors
/// Errors of the device.
pub fn identity(context: &Context, nodes: u32) -> Result<Buffer> {
    let out = context.allocate(4 * u64::from(nodes))?;
    let nodes = u64::from(nodes);
    kernels(context).over("begin_roots_", nodes, Arguments::new().value(nodes).buffer(&out))?;
    Ok(out)
}

/// Splits communities into their connected parts, which are named by their lowest nodes. Edges of a digraph connect
/// both ways.
///
/// # Errors
/// Errors of the device.
pub fn split_apart(context: &Context, rows: &Csr, directed: bool, membership: &Buffer) -> Result<()> {
    let kernels = kernels(context);
    let (nodes, arcs) = (u64::from(rows.nodes), u64::from(rows.arcs));
    let parent = identity(context, rows.nodes)?;
    let arguments = Arguments::new().buffer(&rows.offsets).buffer(&rows.targets).value(nodes).value(arcs);
    let arguments = arguments.value(u32::from(directed)).buffer(membership).buffer(&parent);
    kernels.over("join_roots_", tiled(arcs), arguments)?;
    kernels.over("take_roots_", nodes, Arguments::new().value(nodes).buffer(&parent).buffer(membership))
}
