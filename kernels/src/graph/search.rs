//! Levels of a breadth-first search: `cuda/graph_search.cuh`.

use onrush_device::{Arguments, Buffer};

use super::{Bins, Csr, Kernel, Kernels, filled};
use crate::error::Result;
use crate::headers;
use crate::library::Context;

const KERNELS: &[Kernel] = &[
    Kernel {
        name: "graph_search_first",
        parameters: "GraphRows rows, const u32* sources, u32 count, GraphSearch search, GraphQueue next, u64* state",
        call: "graph_search_begin(rows, sources, count, search, next, state)",
    },
    Kernel {
        name: "graph_search_out",
        parameters: "GraphRows rows, const u64* entries, u64 count, u32 depth, GraphSearch search, GraphQueue next, \
                     u64* state",
        call: "graph_search_outwards(rows, entries, count, depth, search, next, state)",
    },
    Kernel {
        name: "graph_search_in",
        parameters: "GraphRows inwards, GraphRows rows, u32 depth, GraphSearch search, u32* reached_out, u64* state",
        call: "graph_search_inwards(inwards, rows, depth, search, reached_out, state)",
    },
    Kernel {
        name: "graph_search_level",
        parameters: "GraphRows rows, const u32* distance, u32 depth, GraphQueue next",
        call: "graph_search_queue(rows, distance, depth, next)",
    },
    Kernel {
        name: "graph_search_pull",
        parameters: "GraphRows inwards, const u32* distance, u32* predecessor",
        call: "graph_search_predecessors(inwards, distance, predecessor)",
    },
    Kernel {
        name: "graph_search_push",
        parameters: "GraphRows rows, GraphBins bins, const u32* distance, u32* predecessor, u32* ticket",
        call: "graph_search_push_predecessors(rows, bins, distance, predecessor, ticket)",
    },
];

/// In place of a node or a distance: there is none.
pub const NONE: u32 = u32::MAX;

/// Arcs of an entry of a queue.
const ENTRY_ARCS: u64 = 128;
/// Lanes that take an entry.
pub(super) const ENTRY_LANES: u64 = 8;

/// Two queues of rows: one is read while the other is filled.
pub(super) struct Queues {
    entries: [Buffer; 2],
}

impl Queues {
    /// # Errors
    /// Errors of the device.
    pub fn new(context: &Context, rows: &Csr) -> Result<Queues> {
        let most = u64::from(rows.nodes) + u64::from(rows.arcs) / ENTRY_ARCS;
        Ok(Queues { entries: [context.allocate(8 * most)?, context.allocate(8 * most)?] })
    }

    /// The queue that is read in a turn.
    pub fn read(&self, turn: u32) -> &Buffer {
        &self.entries[turn as usize % 2]
    }

    /// The parameter `GraphQueue` of the queue that is filled in a turn.
    pub fn filled(&self, turn: u32, count: u64) -> [u64; 2] {
        [self.entries[(turn as usize + 1) % 2].address(), count]
    }
}

/// A search in work.
pub struct HopSearch<'a> {
    kernels: Kernels<'a>,
    rows: &'a Csr,
    /// Hops from the source, a u32 each. [`NONE`] if a node is not reached.
    pub distance: Buffer,
    reached: [Buffer; 2],
    queues: Queues,
    /// Nodes and arcs of the level that was found, and entries of its queue. They must be 0 before a level.
    pub state: Buffer,
    /// The number of the queue that is read.
    turn: u32,
    /// The number of the current bitmap.
    bitmap: usize,
}

impl<'a> HopSearch<'a> {
    /// Begins at `sources`.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn begin(context: &'a Context, rows: &'a Csr, sources: &[u32]) -> Result<HopSearch<'a>> {
        let words = u64::from(rows.nodes).div_ceil(32);
        let search = HopSearch {
            kernels: Kernels::new(context, &headers::GRAPH_SEARCH, KERNELS),
            rows,
            distance: filled(context, u64::from(rows.nodes), NONE)?,
            reached: [context.zeros(4 * words)?, context.allocate(4 * words)?],
            queues: Queues::new(context, rows)?,
            state: context.zeros(24)?,
            turn: 1,
            bitmap: 0,
        };
        let sources_there = context.upload(sources)?;
        let arguments = Arguments::new().value(rows.parameter()).buffer(&sources_there).value(sources.len() as u32);
        let arguments = arguments.value(search.parameter()).value(search.next()).buffer(&search.state);
        search.kernels.over("graph_search_first", sources.len() as u64, arguments)?;
        Ok(search)
    }

    fn parameter(&self) -> [u64; 2] {
        [self.distance.address(), self.reached[self.bitmap].address()]
    }

    fn next(&self) -> [u64; 2] {
        self.queues.filled(self.turn, self.state.address() + 16)
    }

    /// The level `depth`, from the queue of the one before, which has so many entries.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn outwards(&mut self, entries: u64, depth: u32) -> Result<()> {
        self.turn += 1;
        let arguments = Arguments::new().value(self.rows.parameter()).buffer(self.queues.read(self.turn));
        let arguments = arguments.value(entries).value(depth).value(self.parameter()).value(self.next());
        self.kernels.over("graph_search_out", entries * ENTRY_LANES, arguments.buffer(&self.state))
    }

    /// The level `depth`, from the nodes that are not reached. There is no queue afterwards.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn inwards(&mut self, inwards: &Csr, depth: u32) -> Result<()> {
        let other = self.bitmap ^ 1;
        let arguments = Arguments::new().value(inwards.parameter()).value(self.rows.parameter()).value(depth);
        let arguments = arguments.value(self.parameter()).buffer(&self.reached[other]).buffer(&self.state);
        self.kernels.over("graph_search_in", u64::from(inwards.nodes), arguments)?;
        self.bitmap = other;
        Ok(())
    }

    /// Makes the queue of the level `depth`.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn queue(&mut self, depth: u32) -> Result<()> {
        let arguments = Arguments::new().value(self.rows.parameter()).buffer(&self.distance).value(depth);
        self.kernels.over("graph_search_level", u64::from(self.rows.nodes), arguments.value(self.next()))
    }
}

/// The lowest node one hop nearer, for each node that is reached: from rows by target if there are any.
///
/// # Errors
/// Errors of the device.
pub fn predecessors(context: &Context, rows: &Csr, inwards: Option<&Csr>, distance: &Buffer) -> Result<Buffer> {
    let kernels = Kernels::new(context, &headers::GRAPH_SEARCH, KERNELS);
    let nodes = u64::from(rows.nodes);
    if let Some(inwards) = inwards {
        let predecessor = context.allocate(4 * nodes)?;
        let arguments = Arguments::new().value(inwards.parameter()).buffer(distance).buffer(&predecessor);
        kernels.over("graph_search_pull", nodes, arguments)?;
        return Ok(predecessor);
    }
    let bins: Bins = rows.bins(context)?;
    let (predecessor, ticket) = (filled(context, nodes, NONE)?, context.zeros(4)?);
    let arguments = Arguments::new().value(rows.parameter()).value(bins.parameter()).buffer(distance);
    let arguments = arguments.buffer(&predecessor).buffer(&ticket);
    let blocks = kernels.resident("graph_search_push", 0)?.min(bins.tiles.max(1));
    kernels.blocks("graph_search_push", blocks, 0, arguments)?;
    Ok(predecessor)
}
