//! Shortest paths by weights: near-far relaxation, and predecessors: `cuda/graph_paths.cuh`.

use onrush_device::{Arguments, Buffer};

use super::search::{ENTRY_LANES, NONE, Queues};
use super::{Csr, Kernel, Kernels, filled};
use crate::column::Column;
use crate::error::Result;
use crate::gather::scatter;
use crate::headers;
use crate::library::Context;
use crate::scalar::Scalar;

const KERNELS: &[Kernel] = &[
    Kernel {
        name: "graph_paths_first",
        parameters: "GraphRows rows, const u32* sources, u32 count, GraphPaths paths, GraphQueue near",
        call: "graph_paths_begin(rows, sources, count, paths, near)",
    },
    Kernel {
        name: "graph_paths_follow",
        parameters: "GraphRows rows, const u64* entries, u64 count, f64 bound, f64 limit, u32 round, GraphPaths paths, \
                     GraphQueue near, u64* far_count",
        call: "graph_paths_relax(rows, entries, count, bound, limit, round, paths, near, far_count)",
    },
    Kernel {
        name: "graph_paths_cut",
        parameters: "GraphRows rows, const u32* far, u64 count, f64 done, f64 bound, u32 round, GraphPaths paths, \
                     GraphQueue near, u64* far_count, u64* least",
        call: "graph_paths_split(rows, far, count, done, bound, round, paths, near, far_count, least)",
    },
    Kernel {
        name: "graph_paths_pull",
        parameters: "GraphRows inwards, GraphLaneBins bins, const f64* distance, u32* round_of, u32* predecessor, \
                     u64* open",
        call: "graph_paths_predecessors(inwards, bins, distance, round_of, predecessor, open)",
    },
    Kernel {
        name: "graph_paths_push",
        parameters: "GraphRows rows, GraphBins bins, const f64* distance, u32* predecessor, u32* ticket",
        call: "graph_paths_push_predecessors(rows, bins, distance, predecessor, ticket)",
    },
    Kernel {
        name: "graph_paths_left",
        parameters: "u32 nodes, const f64* distance, u32* round_of, u32* predecessor, u64* open",
        call: "graph_paths_open(nodes, distance, round_of, predecessor, open)",
    },
    Kernel {
        name: "graph_paths_level",
        parameters: "GraphRows inwards, const f64* distance, u32 round, u32* round_of, u32* predecessor, u64* found",
        call: "graph_paths_plateau(inwards, distance, round, round_of, predecessor, found)",
    },
    Kernel {
        name: "graph_paths_hops",
        parameters: "const u32* hops, u32 nodes, f64* distance",
        call: "graph_paths_of_hops(hops, nodes, distance)",
    },
];

/// Relaxation in work.
pub struct Paths<'a> {
    kernels: Kernels<'a>,
    rows: &'a Csr,
    /// An f64 for each node, infinite if it is not reached.
    pub distance: Buffer,
    round_of: Buffer,
    is_far: Buffer,
    far: [Buffer; 2],
    queues: Queues,
    /// Entries of the near queue that is filled, and nodes of the far list. Also the least distance of the list as its
    /// bits, after a split. The first word must be 0 before a round.
    pub state: Buffer,
    round: u32,
    /// The number of the current far list.
    list: usize,
}

impl<'a> Paths<'a> {
    /// Begins at `sources`. The rows have weights of at least 0.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn begin(context: &'a Context, rows: &'a Csr, sources: &[u32]) -> Result<Paths<'a>> {
        let nodes = u64::from(rows.nodes);
        let paths = Paths {
            kernels: Kernels::new(context, &headers::GRAPH_PATHS, KERNELS),
            rows,
            distance: filled(context, nodes, f64::INFINITY)?,
            round_of: context.zeros(4 * nodes)?,
            is_far: context.zeros(4 * nodes.div_ceil(32))?,
            far: [context.allocate(4 * nodes)?, context.allocate(4 * nodes)?],
            queues: Queues::new(context, rows)?,
            state: context.zeros(24)?,
            round: 0,
            list: 0,
        };
        let sources_there = context.upload(sources)?;
        let arguments = Arguments::new().value(rows.parameter()).buffer(&sources_there).value(sources.len() as u32);
        let arguments = arguments.value(paths.parameter()).value(paths.near());
        paths.kernels.over("graph_paths_first", sources.len() as u64, arguments)?;
        Ok(paths)
    }

    fn parameter(&self) -> [u64; 4] {
        let far = self.far[self.list].address();
        [self.distance.address(), self.round_of.address(), self.is_far.address(), far]
    }

    fn near(&self) -> [u64; 2] {
        self.queues.filled(self.round, self.state.address())
    }

    /// Follows the near queue, which has so many entries. Nodes that are nearer than `bound` enter the next queue,
    /// others up to `limit` the far list.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn relax(&mut self, entries: u64, bound: f64, limit: f64) -> Result<()> {
        self.round += 1;
        let arguments = Arguments::new()
            .value(self.rows.parameter())
            .buffer(self.queues.read(self.round))
            .value(entries)
            .value(bound)
            .value(limit)
            .value(self.round)
            .value(self.parameter())
            .value(self.near())
            .value(self.state.address() + 8);
        self.kernels.over("graph_paths_follow", entries * ENTRY_LANES, arguments)
    }

    /// Moves nodes of the far list, which has so many, to the near queue if they are nearer than `bound`. Nodes nearer
    /// than `done` are left out.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn split(&mut self, nodes: u64, done: f64, bound: f64) -> Result<()> {
        let from = self.list;
        self.list ^= 1;
        let stream = &self.kernels.context.stream;
        self.state.fill_range(8, 8, 0, stream)?;
        self.state.fill_range(16, 8, 0xff, stream)?;
        let arguments = Arguments::new()
            .value(self.rows.parameter())
            .buffer(&self.far[from])
            .value(nodes)
            .value(done)
            .value(bound)
            .value(self.round + 1)
            .value(self.parameter())
            .value(self.near())
            .value(self.state.address() + 8)
            .value(self.state.address() + 16);
        self.kernels.over("graph_paths_cut", nodes, arguments)
    }
}

/// Predecessors in work.
pub struct Predecessors<'a> {
    kernels: Kernels<'a>,
    nodes: u64,
    /// A u32 for each node: [`NONE`] if it has none.
    pub predecessor: Buffer,
    round_of: Buffer,
    /// Nodes that are left after the first pass, or that a later one gave a predecessor. 0 before a pass.
    pub state: Buffer,
    round: u32,
}

impl<'a> Predecessors<'a> {
    /// The lowest nearer node on a shortest path: from rows by target if there are any. [`Predecessors::state`] counts
    /// the reached nodes, but for sources, that have none.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn begin(
        context: &'a Context,
        rows: &Csr,
        inwards: Option<&Csr>,
        distance: &Buffer,
        sources: &[u32],
    ) -> Result<Predecessors<'a>> {
        let nodes = u64::from(rows.nodes);
        let made = Predecessors {
            kernels: Kernels::new(context, &headers::GRAPH_PATHS, KERNELS),
            nodes,
            predecessor: filled(context, nodes, NONE)?,
            round_of: context.zeros(4 * nodes)?,
            state: context.zeros(8)?,
            round: 2,
        };
        let mut distinct = sources.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let (marks, at) = (filled(context, distinct.len() as u64, 1_u32)?, context.upload(&distinct)?);
        scatter(context, &Column::new(Scalar::U32, &marks), &Column::new(Scalar::U32, &at), &made.round_of)?;
        let kernels = &made.kernels;
        if let Some(inwards) = inwards {
            let arguments = Arguments::new().value(inwards.parameter()).value(inwards.lane_bins(context)?);
            let arguments = arguments.buffer(distance).buffer(&made.round_of).buffer(&made.predecessor);
            // Rows of warps are the first.
            let threads = (32 * nodes).min(4 * u64::from(inwards.arcs) + nodes);
            kernels.over("graph_paths_pull", threads, arguments.buffer(&made.state))?;
            return Ok(made);
        }
        let (bins, ticket) = (rows.bins(context)?, context.zeros(4)?);
        let arguments = Arguments::new().value(rows.parameter()).value(bins.parameter()).buffer(distance);
        let arguments = arguments.buffer(&made.predecessor).buffer(&ticket);
        let blocks = kernels.resident("graph_paths_push", 0)?.min(bins.tiles.max(1));
        kernels.blocks("graph_paths_push", blocks, 0, arguments)?;
        let arguments = Arguments::new().value(rows.nodes).buffer(distance).buffer(&made.round_of);
        let arguments = arguments.buffer(&made.predecessor).buffer(&made.state);
        kernels.over("graph_paths_left", nodes, arguments)?;
        Ok(made)
    }

    /// Gives nodes that are left the lowest neighbour on a shortest path that has a predecessor since an earlier pass.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn level(&mut self, inwards: &Csr, distance: &Buffer) -> Result<()> {
        self.round += 1;
        let arguments = Arguments::new().value(inwards.parameter()).buffer(distance).value(self.round);
        let arguments = arguments.buffer(&self.round_of).buffer(&self.predecessor).buffer(&self.state);
        self.kernels.over("graph_paths_level", self.nodes, arguments)
    }
}

/// Hops as an f64 for each node, infinite where there are none.
///
/// # Errors
/// Errors of the device.
pub fn distance_of_hops(context: &Context, hops: &Buffer, nodes: u32) -> Result<Buffer> {
    let distance = context.allocate(8 * u64::from(nodes))?;
    let arguments = Arguments::new().buffer(hops).value(nodes).buffer(&distance);
    let kernels = Kernels::new(context, &headers::GRAPH_PATHS, KERNELS);
    kernels.over("graph_paths_hops", u64::from(nodes), arguments)?;
    Ok(distance)
}
