//! Core numbers: `cuda/graph_cores.cuh`.

use onrush_device::{Arguments, Buffer};

use super::{Csr, Kernel, Kernels};
use crate::error::Result;
use crate::headers;
use crate::library::Context;

const KERNELS: &[Kernel] = &[
    Kernel { name: "begin_cores_", parameters: "CoreGraph graph, u64 nodes", call: "begin_cores(graph, nodes)" },
    Kernel { name: "core_step_", parameters: "CoreGraph graph", call: "core_step(graph)" },
];

/// Words of the state. The first is not 0 at the end, the second is k, the third the nodes that were left at the last
/// scan.
const STATE: [u64; 13] = [0, 1, 0, 0, 0, 0, 0, 0, 0, u32::MAX as u64, 0, 0, 0];

/// A search for core numbers: steps until the first word of `state` is not 0.
pub struct Cores<'a> {
    kernels: Kernels<'a>,
    graph: [u64; 8],
    blocks: u32,
    pub state: Buffer,
    /// A u32 for each node, complete at the end.
    pub core: Buffer,
    _scratch: [Buffer; 4],
}

impl<'a> Cores<'a> {
    /// `rows` have each pair of neighbours in both rows; of a directed graph a neighbour may occur twice in a row.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn new(context: &'a Context, rows: &Csr) -> Result<Cores<'a>> {
        let kernels = Kernels::new(context, &headers::GRAPH_CORES, KERNELS);
        let nodes = u64::from(rows.nodes);
        let numbers = || context.allocate(4 * nodes);
        let (core, scratch) = (numbers()?, [numbers()?, numbers()?, numbers()?, numbers()?]);
        let state = context.upload(&STATE)?;
        let [left, first, second, queue] = scratch.each_ref().map(Buffer::address);
        let (offsets, targets) = (rows.offsets.address(), rows.targets.address());
        let graph = [offsets, targets, left, core.address(), first, second, queue, state.address()];
        kernels.over("begin_cores_", nodes, Arguments::new().value(graph).value(nodes))?;
        let blocks = kernels.resident("core_step_", 0)?;
        Ok(Cores { kernels, graph, blocks, state, core, _scratch: scratch })
    }

    /// The next scan or wave. Does nothing at the end.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn step(&self) -> Result<()> {
        self.kernels.blocks("core_step_", self.blocks, 0, Arguments::new().value(self.graph))
    }
}
