//! The interface of the implementations of a device: thin, unsafe, without bookkeeping. Handles are plain numbers; the
//! types around it own them.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use crate::error::Result;
use crate::grid::{FunctionUsage, Grid};
use crate::properties::Properties;
use crate::source::{CompileOptions, Source};

/// A stream, an event, a module or a function of a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle(pub usize);

/// Whose blocks come first where several streams have some that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    #[default]
    Usual,
    High,
}

/// Unsafe functions need live handles of the same backend, and addresses inside of live allocations. Host memory must
/// stay in place until the stream has passed the copy.
#[allow(clippy::missing_safety_doc)]
pub trait Backend: Send + Sync {
    fn properties(&self) -> &Properties;
    /// Free and total bytes, as the driver says.
    fn memory(&self) -> Result<(u64, u64)>;
    /// Bytes that the pool holds from the driver, in use or not.
    fn pool_bytes(&self) -> Result<u64>;
    /// Lets the backend cache large blocks that are freed, for allocations of their size. The cache takes at most an
    /// eighth of so many bytes, and the pool never more than these.
    fn set_cache_capacity(&self, capacity: u64);
    /// Frees what is kept.
    fn release_cached(&self) -> Result<()>;
    /// Returns what the pool does not use, and streams have passed, to the driver, as long as it keeps so many bytes.
    fn trim_pool(&self, keep: u64) -> Result<()>;

    unsafe fn allocate(&self, bytes: u64, stream: Handle) -> Result<u64>;
    unsafe fn free(&self, address: u64, bytes: u64, stream: Handle) -> Result<()>;
    /// Memory that other processes map by the descriptor, which keeps it as a mapping does.
    fn export(&self, bytes: u64) -> Result<(u64, OwnedFd)>;
    /// Maps what was exported with this size, here or by a process that has ended since, for reading.
    fn import(&self, memory: BorrowedFd<'_>, bytes: u64) -> Result<u64>;
    /// From here on kernels read mapped memory, and their writes fail, as far as the device can tell.
    unsafe fn protect(&self, address: u64, bytes: u64) -> Result<()>;
    unsafe fn unmap(&self, address: u64, bytes: u64) -> Result<()>;
    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8>;
    unsafe fn free_pinned(&self, address: *mut u8, bytes: usize) -> Result<()>;
    /// Locks whole pages of the host's memory, none of which is locked: copies read and write them as they do memory
    /// that was allocated so.
    unsafe fn lock_pages(&self, address: *mut u8, bytes: usize) -> Result<()>;
    /// Unlocks what was locked from this address on.
    unsafe fn unlock_pages(&self, address: *mut u8) -> Result<()>;
    /// Makes pinned memory accessible to kernels, at the same address on the device.
    fn map_pinned(&self, address: *mut u8, bytes: usize);

    fn create_stream(&self, priority: Priority) -> Result<Handle>;
    unsafe fn destroy_stream(&self, stream: Handle) -> Result<()>;
    unsafe fn synchronize_stream(&self, stream: Handle) -> Result<()>;
    fn create_event(&self) -> Result<Handle>;
    unsafe fn destroy_event(&self, event: Handle) -> Result<()>;
    unsafe fn record(&self, event: Handle, stream: Handle) -> Result<()>;
    unsafe fn wait(&self, stream: Handle, event: Handle) -> Result<()>;
    unsafe fn is_done(&self, event: Handle) -> Result<bool>;
    unsafe fn synchronize_event(&self, event: Handle) -> Result<()>;
    unsafe fn elapsed(&self, from: Handle, to: Handle) -> Result<Duration>;

    unsafe fn copy_to_device(&self, to: u64, from: *const u8, bytes: usize, stream: Handle) -> Result<()>;
    unsafe fn copy_to_host(&self, to: *mut u8, from: u64, bytes: usize, stream: Handle) -> Result<()>;
    unsafe fn copy_on_device(&self, to: u64, from: u64, bytes: usize, stream: Handle) -> Result<()>;
    unsafe fn fill(&self, address: u64, value: u8, bytes: usize, stream: Handle) -> Result<()>;

    /// Names the compiler and its version: part of the key of what it makes.
    fn compiler(&self) -> Result<String>;
    fn compile(&self, source: &Source, options: &CompileOptions) -> Result<Vec<u8>>;
    fn has_quick_compiler(&self) -> bool;
    fn load(&self, image: &[u8]) -> Result<Handle>;
    unsafe fn unload(&self, module: Handle) -> Result<()>;
    unsafe fn function(&self, module: Handle, name: &str) -> Result<Handle>;
    unsafe fn function_usage(&self, function: Handle) -> Result<FunctionUsage>;
    unsafe fn allow_dynamic_shared(&self, function: Handle, bytes: u32) -> Result<()>;
    unsafe fn blocks_per_multiprocessor(&self, function: Handle, threads: u32, dynamic_shared: u32) -> Result<u32>;
    /// `arguments` are the addresses of the values.
    unsafe fn launch(
        &self,
        function: Handle,
        grid: &Grid,
        arguments: &mut [*mut libc::c_void],
        stream: Handle,
    ) -> Result<()>;
}
