//! The facts about a device that code which launches kernels reads.

/// The implementation of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An NVIDIA GPU.
    Cuda,
    /// The host's processor, with threads as fibers.
    Emulated,
}

/// The facts about a device for code that launches kernels.
#[derive(Clone, Debug)]
pub struct Properties {
    pub kind: Kind,
    pub name: String,
    /// The target of the compiler, such as `sm_90`: part of the key of compiled kernels.
    pub architecture: String,
    pub multiprocessors: u32,
    pub threads_per_multiprocessor: u32,
    /// Bytes that a block may have, past the 48 KiB that need no asking.
    pub shared_memory_per_block: u32,
    pub l2_bytes: u64,
    pub memory_bytes: u64,
    /// Such as 13000 for CUDA 13.0; 0 where there is no driver.
    pub driver_version: u32,
}
