//! Errors of a device, and whose fault they are.

use std::path::PathBuf;

pub type Result<T> = std::result::Result<T, Error>;

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Something is not installed or too old: the CPU engine can take over.
    Environment,
    /// Too little memory: the device still works.
    Resources,
    /// The source of a kernel, or what it does when it runs.
    Kernel,
    /// The device must be opened again, in a new process: CUDA does not recover.
    Lost,
    /// A bug of ours or of the driver.
    Internal,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("no NVIDIA driver was found (libcuda.so.1)")]
    NoDriver,
    #[error("the NVIDIA driver found no GPU")]
    NoGpu,
    #[error("there is no GPU number {ordinal}: the driver has {count}")]
    NoSuchGpu { ordinal: usize, count: usize },
    #[error("the NVIDIA driver is for CUDA {}.{}, and Onrush needs {}.{} or newer", found / 1000, found % 1000 / 10, needed / 1000, needed % 1000 / 10)]
    OldDriver { found: u32, needed: u32 },
    #[error("the NVIDIA driver does not start: {reason}")]
    DriverFailed { reason: String },
    #[error("no NVRTC{} was found, which compiles kernels{}", max_major.map(|m| format!(" for CUDA {m} or older")).unwrap_or_default(), rejected.as_deref().map(|r| format!(" ({r})")).unwrap_or_default())]
    NoNvrtc { max_major: Option<u32>, rejected: Option<String> },
    #[error("no C++ compiler was found (g++, c++ or clang++), which the emulated device needs")]
    NoHostCompiler,
    #[error("the emulated device cannot be prepared: {reason}")]
    EmulationFailed { reason: String },
    #[error(
        "{} of device memory were asked for, and {} of {} are free{}",
        size(*requested),
        size(*free),
        size(*capacity),
        largest.as_ref().map(|(owner, used)| format!(" ({owner} holds {})", size(*used))).unwrap_or_default()
    )]
    OutOfMemory { requested: u64, free: u64, capacity: u64, largest: Option<(String, u64)> },
    #[error("the driver has no {} of device memory: {} of {} are free", size(*requested), size(*free), size(*total))]
    DriverOutOfMemory { requested: u64, free: u64, total: u64 },
    #[error("no {requested} bytes of host memory for copies")]
    OutOfHostMemory { requested: u64 },
    #[error("{name} does not compile:\n{log}")]
    Compile { name: String, log: String },
    #[error("the module has no kernel {name}")]
    NoSuchFunction { name: String },
    #[error("the kernel {kernel} failed: {reason}")]
    Kernel {
        kernel: String,
        reason: String,
        cause: crate::fault::StopCause,
        /// The finding of the emulated device's checker, field by field.
        fault: Option<Box<crate::fault::Fault>>,
    },
    #[error("the GPU stopped: {call} returned {code}")]
    Lost { call: &'static str, code: String },
    #[error("{call} returned {code}")]
    Driver { call: &'static str, code: String },
    #[error("a copy of {bytes} bytes at offset {offset} does not fit into a buffer of {length}")]
    OutOfRange { offset: u64, bytes: u64, length: u64 },
    #[error("{path}: {source}", path = path.display())]
    File { path: PathBuf, source: std::io::Error },
}

impl Error {
    pub fn class(&self) -> Class {
        match self {
            Error::NoDriver
            | Error::NoGpu
            | Error::NoSuchGpu { .. }
            | Error::OldDriver { .. }
            | Error::DriverFailed { .. }
            | Error::NoNvrtc { .. }
            | Error::NoHostCompiler
            | Error::EmulationFailed { .. }
            | Error::File { .. } => Class::Environment,
            Error::OutOfMemory { .. } | Error::DriverOutOfMemory { .. } | Error::OutOfHostMemory { .. } => {
                Class::Resources
            }
            Error::Compile { .. } | Error::Kernel { .. } => Class::Kernel,
            Error::Lost { .. } => Class::Lost,
            Error::NoSuchFunction { .. } | Error::Driver { .. } | Error::OutOfRange { .. } => Class::Internal,
        }
    }

    /// The advice for the user, if there is any.
    pub fn help(&self) -> Option<&'static str> {
        Some(match self {
            Error::NoDriver | Error::NoGpu => {
                "queries run on the CPU; a GPU needs NVIDIA's driver for CUDA 12.0 or newer"
            }
            Error::OldDriver { .. } => "install a newer NVIDIA driver",
            Error::NoNvrtc { .. } => {
                "install the CUDA toolkit, or `pip install nvidia-cuda-nvrtc` into the active Python"
            }
            Error::NoHostCompiler => "install g++ (Debian and Ubuntu: `apt install g++`)",
            Error::OutOfMemory { .. } | Error::DriverOutOfMemory { .. } => {
                "take fewer rows or columns, drop frames that are persisted, or run it on the CPU (`:engine cpu`)"
            }
            Error::Lost { .. } => "the engine must be started again",
            _ => return None,
        })
    }
}

/// Bytes as people read them.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}
