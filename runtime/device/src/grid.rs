//! The shape of a launch, and the resources of a kernel.

/// How many threads: blocks in a grid, threads in a block, and the bytes of dynamic shared memory of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    pub blocks: [u32; 3],
    pub threads: [u32; 3],
    pub dynamic_shared: u32,
}

impl Grid {
    pub fn new(blocks: u32, threads: u32) -> Self {
        Grid { blocks: [blocks, 1, 1], threads: [threads, 1, 1], dynamic_shared: 0 }
    }

    #[must_use]
    pub fn shared(mut self, bytes: u32) -> Self {
        self.dynamic_shared = bytes;
        self
    }
}

/// The resources of a multiprocessor that a kernel takes. Zeros on the emulated device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionUsage {
    pub registers: u32,
    pub static_shared: u32,
    /// Bytes of a thread that did not fit into registers.
    pub local: u32,
    pub max_threads: u32,
}
