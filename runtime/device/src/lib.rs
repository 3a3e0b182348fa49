//! Devices that run CUDA kernels, and the only user of cudarc: memory with a ledger, streams, events, modules and
//! launches. The backends are an NVIDIA GPU (`cuda`), and the host's processor (`emulated`), which compiles the same
//! CUDA C++ with the host's compiler.
//!
//! No kernel is here, and no cache of compiled ones: that is `kernels/`. Nothing here knows columns or plans.
//!
//! Nothing waits for the whole device (but an allocation that the driver refuses, once, for all our streams). There is
//! no default stream. The next call reports the error of a `Drop`.

mod backend;
mod buffer;
mod compiler_message;
mod completion_flag;
mod cuda;
mod device;
mod emulated;
mod error;
mod fault;
mod grid;
mod ledger;
mod module;
pub mod phases;
mod pinned_chunks;
mod pinned_copy;
mod printf_capture;
mod probe;
mod properties;
mod source;

pub use backend::Priority;
pub use buffer::{Buffer, Pod};
pub use compiler_message::{CompilerMessage, compiler_messages};
pub use completion_flag::CompletionFlag;
pub use cuda::nvrtc::compile_for;
pub use device::{Device, Event, MemoryReport, Options, Stream};
pub use emulated::Emulation;
pub use error::{Class, Error, Result};
pub use fault::{Access, Fault, FaultKind, Memory, StopCause, ThreadSite, Variable};
pub use grid::{FunctionUsage, Grid};
pub use ledger::{Ledger, Owner, OwnerUsage, Reservation, Usage};
pub use module::{Arguments, Function, Module};
pub use pinned_copy::PinnedCopy;
pub use printf_capture::PrintfCapture;
pub use probe::{Finding, State, probe};
pub use properties::{Kind, Properties};
pub use source::{CompileOptions, Source};

/// Names of C's headers. They come before CUDA C++ of users, for a GPU and for the emulated device.
pub const C_CONSTANTS: &str = include_str!("../c_constants.h");
