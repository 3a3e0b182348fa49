//! Messages between a cell process and its worker, which runs the CUDA kernels of `%%cuda` cells on a separate device
//! context.
//!
//! The contents of buffers travel through shared memory: a message says how many bytes from its start are meant. A
//! large buffer that a kernel has written stays on the device. The cell process gets a descriptor that keeps its memory
//! ([`fd_passing`](crate::fd_passing)).

use serde::{Deserialize, Serialize};

use crate::diagnostic::Diagnostic;

/// Bytes of the shared memory: longer buffers go in pieces.
pub const PIECE: usize = 64 << 20;

/// Buffers of so many bytes and more stay on the device after a kernel wrote them. The device's pages are 2 MB.
pub const LENT: u64 = 1 << 20;

/// The argument of the session's program that makes it a worker: the socket is its standard input, the shared memory
/// its standard output.
pub const ROLE: &str = "worker";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ToWorker {
    /// Answer: [`FromWorker::Ready`].
    Hello,
    /// Compile, and keep under this number. Answer: [`FromWorker::Done`].
    Load { module: u64, source: Source },
    /// A piece of a buffer is in the shared memory; the first piece makes the buffer. Answer: [`FromWorker::Done`].
    Write { buffer: u64, bytes: u64, offset: u64, length: u64 },
    /// A buffer is in the device's memory behind the descriptor that comes with this. Answer: [`FromWorker::Done`].
    Import { buffer: u64, bytes: u64 },
    /// Put a piece of a buffer into the shared memory. Answer: [`FromWorker::Done`].
    Read { buffer: u64, offset: u64, length: u64 },
    /// Answer: [`FromWorker::Launched`].
    Launch(Launch),
    /// Frees buffers. No answer.
    Free { buffers: Vec<u64> },
}

/// The text of a `%%cuda` cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The cell's file, as in [`crate::Span::file`].
    pub file: String,
    /// With the magic's line blank, so that lines are the cell's.
    pub text: String,
    /// Declarations of the kernels with C linkage, in one line, and their names.
    pub declarations: String,
    pub kernels: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    pub module: u64,
    pub kernel: String,
    pub blocks: [u32; 3],
    pub threads: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    pub arguments: Vec<Argument>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Argument {
    /// The parameter's name.
    pub name: String,
    pub value: ArgumentValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ArgumentValue {
    /// A buffer, the bytes of each element, and whether the kernel can write it.
    Buffer { buffer: u64, element: u32, written: bool },
    /// As it lies in memory: 1, 2, 4 or 8 bytes.
    Scalar(Vec<u8>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FromWorker {
    /// The device's name, and whether it is the processor that plays one.
    Ready {
        device: String,
        emulated: bool,
    },
    Done,
    /// With a descriptor for each buffer of [`LaunchReply::lent`].
    Launched(LaunchReply),
    /// `printed` is what kernels had printed until then.
    Failed {
        diagnostic: Diagnostic,
        printed: PrintfOutput,
        /// The device cannot go on: the worker ends.
        lost: bool,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchReply {
    /// By the device's clock.
    pub nanoseconds: u64,
    pub printed: PrintfOutput,
    /// Buffers whose new contents are in the device's memory behind the descriptors that come with this, in their
    /// order. The other ones that were written are to be read.
    pub lent: Vec<u64>,
}

/// What kernels printed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrintfOutput {
    pub text: String,
    /// Bytes over the limit.
    pub left_out: u64,
}
