//! Numbers of shortest paths, and what they add to the nodes on the way: `cuda/graph_betweenness.cuh`.

use onrush_device::{Arguments, Buffer};

use super::{Csr, Kernel, Kernels};
use crate::error::Result;
use crate::headers;
use crate::library::Context;

/// Sources of a batch.
pub const SOURCES: usize = 8;

/// Threads of a block that has a node alone.
const WIDE: u32 = 512;

/// Powers of two of degrees: nodes of fewer arcs have eight lanes, those of more a block.
const FEW: u32 = 4;
const MANY: u32 = 10;

const KERNELS: &[Kernel] = &[
    Kernel {
        name: "begin_paths_",
        parameters: "PathCounts paths, u64 nodes, const u32* sources, u32 count",
        call: "begin_paths(paths, nodes, sources, count)",
    },
    Kernel {
        name: "few_out",
        parameters: "PathCounts paths, u32 level, u32 begin, u32 end",
        call: "pull_few<false>(paths, level, begin, end)",
    },
    Kernel {
        name: "warp_out",
        parameters: "PathCounts paths, u32 level, u32 begin, u32 end",
        call: "pull_warp<false>(paths, level, begin, end)",
    },
    Kernel {
        name: "few_back",
        parameters: "PathCounts paths, u32 level, u32 begin, u32 end",
        call: "pull_few<true>(paths, level, begin, end)",
    },
    Kernel {
        name: "warp_back",
        parameters: "PathCounts paths, u32 level, u32 begin, u32 end",
        call: "pull_warp<true>(paths, level, begin, end)",
    },
    Kernel {
        name: "end_level_",
        parameters: "PathState* state, u32 level",
        call: "if (thread_in_grid() == 0) end_level(state, level)",
    },
    Kernel {
        name: "begin_back_",
        parameters: "PathCounts paths, u64 nodes, u32 depth",
        call: "begin_back(paths, nodes, depth)",
    },
    Kernel {
        name: "count_reached_",
        parameters: "PathCounts paths, u64 nodes, u64* reached",
        call: "count_reached(paths, nodes, reached)",
    },
    Kernel {
        name: "add_paths_",
        parameters: "PathCounts paths, u64 nodes, const u32* sources, u32 count, u32 endpoints, const u64* reached, f64* sums",
        call: "add_paths(paths, nodes, sources, count, endpoints, reached, sums)",
    },
];

const WIDE_KERNELS: &[Kernel] = &[
    Kernel {
        name: "block_out",
        parameters: "PathCounts paths, u32 level, u32 begin, u32 end",
        call: "pull_block<false>(paths, level, begin, end)",
    },
    Kernel {
        name: "block_back",
        parameters: "PathCounts paths, u32 level, u32 begin, u32 end",
        call: "pull_block<true>(paths, level, begin, end)",
    },
];

/// Direction of a pass.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Out,
    Back,
}

/// The state of batches of sources, and the sums over all of them.
pub struct PathCounts<'a> {
    kernels: Kernels<'a>,
    wide: Kernels<'a>,
    /// Rows by which numbers of paths come in, and by which shares come back.
    into: &'a Csr,
    out: &'a Csr,
    level: Buffer,
    sigma: Buffer,
    delta: Buffer,
    /// Values of the level before, and of this one; they change places.
    values: [Buffer; 2],
    sources: Buffer,
    count: u32,
    /// The farthest level.
    depth: u32,
    /// The first word is not 0 once all nodes that are reached are found, the third is the depth.
    pub state: Buffer,
    /// An f64 for each node.
    pub sums: Buffer,
}

impl<'a> PathCounts<'a> {
    /// `out` and `into` are simple rows by source and by target, the same if undirected.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn new(context: &'a Context, out: &'a Csr, into: &'a Csr) -> Result<PathCounts<'a>> {
        let nodes = u64::from(out.nodes);
        let numbers = || context.allocate(8 * nodes * SOURCES as u64);
        out.classes(context)?;
        into.classes(context)?;
        Ok(PathCounts {
            kernels: Kernels::new(context, &headers::GRAPH_BETWEENNESS, KERNELS),
            wide: Kernels::with_threads(context, &headers::GRAPH_BETWEENNESS, WIDE, WIDE_KERNELS),
            into,
            out,
            level: context.allocate(4 * nodes * SOURCES as u64)?,
            sigma: numbers()?,
            delta: numbers()?,
            values: [numbers()?, numbers()?],
            sources: context.allocate(4 * SOURCES as u64)?,
            count: 0,
            depth: 0,
            state: context.zeros(24)?,
            sums: context.zeros(8 * nodes)?,
        })
    }

    fn nodes(&self) -> u64 {
        u64::from(self.out.nodes)
    }

    /// The parameter `PathCounts` of kernels, which reads values from `from`.
    fn parameter(&self, rows: &Csr, from: usize) -> Result<[u64; 9]> {
        let order = rows.classes(self.kernels.context)?.order.address();
        Ok([
            rows.offsets.address(),
            rows.targets.address(),
            order,
            self.level.address(),
            self.sigma.address(),
            self.delta.address(),
            self.values[from].address(),
            self.values[1 - from].address(),
            self.state.address(),
        ])
    }

    /// Begins with at most [`SOURCES`] sources.
    ///
    /// # Errors
    /// Errors of the device.
    ///
    /// # Panics
    /// If there are more.
    pub fn begin(&mut self, sources: &[u32]) -> Result<()> {
        assert!(sources.len() <= SOURCES, "{} sources", sources.len());
        self.sources.write(0, sources, &self.kernels.context.stream)?;
        self.count = sources.len() as u32;
        let arguments = Arguments::new().value(self.parameter(self.into, 0)?).value(self.nodes());
        let items = self.nodes() * SOURCES as u64;
        self.kernels.over("begin_paths_", items, arguments.buffer(&self.sources).value(self.count))
    }

    /// Finds the nodes of `level`, from 1 on. Does nothing once all are found.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn out(&self, level: u32) -> Result<()> {
        self.pull(self.into, Way::Out, level, (level as usize - 1) % 2)?;
        self.kernels.blocks("end_level_", 1, 0, Arguments::new().buffer(&self.state).value(level))
    }

    /// Begins the pass back at the farthest level, `depth`. [`PathCounts::back`] follows for each level from
    /// `depth - 1` down to 1, then [`PathCounts::end_back`].
    ///
    /// # Errors
    /// Errors of the device.
    pub fn begin_back(&mut self, depth: u32) -> Result<()> {
        self.depth = depth;
        let arguments = Arguments::new().value(self.parameter(self.out, 0)?).value(self.nodes()).value(depth);
        self.kernels.over("begin_back_", self.nodes() * SOURCES as u64, arguments)
    }

    /// Adds up the dependencies of the nodes of one level.
    ///
    /// # Errors
    /// Errors of the device.
    ///
    /// # Panics
    /// If the level is not below that of [`PathCounts::begin_back`].
    pub fn back(&self, level: u32) -> Result<()> {
        assert!(level < self.depth, "level {level} of {}", self.depth);
        self.pull(self.out, Way::Back, level, (self.depth - level - 1) as usize % 2)
    }

    /// Adds the dependencies to the sums. With `endpoints` a path counts for its ends.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn end_back(&self, endpoints: bool) -> Result<()> {
        let (nodes, context) = (self.nodes(), self.kernels.context);
        let items = nodes * SOURCES as u64;
        let reached = context.zeros(8 * SOURCES as u64)?;
        let paths = self.parameter(self.out, 0)?;
        let arguments = Arguments::new().value(paths).value(nodes).buffer(&reached);
        self.kernels.over("count_reached_", items, arguments)?;
        let arguments = Arguments::new().value(paths).value(nodes).buffer(&self.sources).value(self.count);
        let arguments = arguments.value(u32::from(endpoints)).buffer(&reached).buffer(&self.sums);
        self.kernels.over("add_paths_", nodes, arguments)
    }

    fn pull(&self, rows: &Csr, way: Way, level: u32, from: usize) -> Result<()> {
        let paths = self.parameter(rows, from)?;
        let classes = rows.classes(self.kernels.context)?;
        let name = |out, back| if way == Way::Out { out } else { back };
        let arguments = |begin: u32, end: u32| Arguments::new().value(paths).value(level).value(begin).value(end);
        let many = classes.range(MANY, 32);
        if !many.is_empty() {
            let name = name("block_out", "block_back");
            let blocks = self.wide.resident(name, 0)?.min(many.len() as u32);
            self.wide.blocks(name, blocks, 0, arguments(many.start, many.end))?;
        }
        let some = classes.range(FEW, MANY);
        let items = 32 * some.len() as u64;
        self.kernels.over(name("warp_out", "warp_back"), items, arguments(some.start, some.end))?;
        // Nodes without arcs, too: their values must be 0.
        let (begin, end) = (some.end, rows.nodes);
        let items = u64::from(end - begin) * SOURCES as u64;
        self.kernels.over(name("few_out", "few_back"), items, arguments(begin, end))
    }
}
