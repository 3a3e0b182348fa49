//! Kernels and functions of `%%cuda` cells: what the functions call that such a cell becomes, and the buffers that they
//! take.
//!
//! A buffer's contents are the cell process's own, so that a cell that fails leaves them as they were. A launch gives
//! them to the notebook's worker process (`runtime/worker`), which has copies in the device's memory, and brings back
//! what it wrote. CUDA kernels of `%%cuda check` cells run in a second worker, whose device is always the emulated one.

mod buffer;
mod extent;
mod function;
mod launch;
mod worker;

pub(crate) use buffer::preview;
pub use buffer::{Buffer, Element};
pub use extent::{Blocks, SharedMemory, Threads, WithShared};
pub use function::{Function, call};
pub use launch::{Call, Definitions, LaunchReport, Program, define};
pub use worker::Target;
pub(crate) use worker::device;
