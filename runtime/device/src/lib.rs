//! Devices that run CUDA kernels, and the only user of cudarc: memory with a ledger, streams, events, modules and launches, on an
//! NVIDIA GPU (`cuda`) or on the host's processor (`emulated`), which compiles the same CUDA C++ with the host's compiler.
//!
//! No kernel is here, and no cache of compiled ones: that is `kernels/`. Nothing here knows columns or plans.
//!
//! Nothing waits for the whole device (but an allocation that the driver refuses, once, for all our streams), and there is no default stream. What a `Drop` cannot report is reported by the next call.

mod backend;
mod buffer;
mod compiler_message;
mod completion_flag;
mod cuda;
mod device;
mod emulated;
mod error;
mod fault;
mod ledger;
mod module;
pub mod phases;
mod pinned_copy;
mod printf_capture;
mod probe;
mod staging;
mod stream;

pub use buffer::{Buffer, Pod};
pub use compiler_message::{CompilerMessage, compiler_messages};
pub use completion_flag::CompletionFlag;
pub use cuda::nvrtc::compile_for;
pub use device::{Device, MemoryReport, Options, Warming};
pub use emulated::Emulation;
pub use error::{Class, Error, Result};
pub use fault::{Access, Fault, FaultKind, Memory, ThreadSite, Variable};
pub use ledger::{Ledger, Owner, OwnerUsage, Reservation, Usage};
pub use module::{Arguments, CompileOptions, Function, FunctionUsage, Grid, Module, Source};
pub use pinned_copy::PinnedCopy;
pub use printf_capture::PrintfCapture;
pub use probe::{Finding, State, probe};
pub use stream::{Event, Priority, Stream};

/// What people expect of C's headers: goes before CUDA C++ that is not ours, for a GPU and for the emulated device.
pub const NAMES: &str = include_str!("../c_constants.h");

/// Which of the implementations a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An NVIDIA GPU.
    Cuda,
    /// The host's processor, with threads as fibers.
    Emulated,
}

/// What code that launches kernels wants to know of a device.
#[derive(Clone, Debug)]
pub struct Properties {
    pub kind: Kind,
    pub name: String,
    /// What kernels are compiled for, such as `sm_90`: part of the key of compiled kernels.
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
