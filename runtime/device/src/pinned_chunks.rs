//! Chunks of pinned host memory for evicted buffers, and the pool of those that are free.

use std::alloc::{Layout, alloc, dealloc};

use parking_lot::{Mutex, MutexGuard};

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::properties::Kind;

/// Copies lie in pieces of this size, which fit all others once they are free: locking new memory takes longer than a
/// copy. Smaller ones on the emulated device, so that tests meet several.
pub fn chunk_bytes(backend: &dyn Backend) -> usize {
    if backend.properties().kind == Kind::Emulated { 64 << 10 } else { 8 << 20 }
}

/// Bytes of a page of the system's memory.
const PAGE: usize = 4 << 10;
/// Chunks that are kept for copies to come.
pub const POOLED_CHUNKS: usize = 16;

/// Chunks that a device has locked for copies to come.
#[derive(Default)]
pub struct PinnedChunkPool {
    free: Mutex<Vec<Chunk>>,
}

/// The address of a chunk. The chunk is freed by hand, because unlocking it can fail.
pub struct Chunk(*mut u8);

// SAFETY: the memory belongs to this value alone; which thread uses it does not matter.
unsafe impl Send for Chunk {}
// SAFETY: it is written by copies only whose end is waited for before anyone else has it.
unsafe impl Sync for Chunk {}

impl Chunk {
    fn layout(bytes: usize) -> Layout {
        // Large pages, where the system has them.
        Layout::from_size_align(bytes, bytes.min(2 << 20)).unwrap_or(Layout::new::<u128>())
    }

    pub fn new(backend: &dyn Backend, bytes: usize) -> Result<Chunk> {
        // SAFETY: the size is not zero.
        let start = unsafe { alloc(Self::layout(bytes)) };
        if start.is_null() {
            return Err(Error::OutOfHostMemory { requested: bytes as u64 });
        }
        large_pages(start, bytes);
        // Locking memory that is not there yet takes ten times as long.
        for page in (0..bytes).step_by(PAGE) {
            // SAFETY: inside of the allocation.
            unsafe { start.add(page).write_volatile(0) };
        }
        // SAFETY: the memory is ours until the chunk is freed.
        match unsafe { backend.lock_pages(start, bytes) } {
            Ok(()) => Ok(Chunk(start)),
            Err(error) => {
                // SAFETY: allocated just now.
                unsafe { dealloc(start, Self::layout(bytes)) };
                Err(error)
            }
        }
    }

    pub fn address(&self) -> *mut u8 {
        self.0
    }

    pub fn free(self, backend: &dyn Backend, bytes: usize) -> Result<()> {
        // SAFETY: locked when it was made, and nothing copies there now.
        let unlocked = unsafe { backend.unlock_pages(self.0) };
        if unlocked.is_ok() {
            // SAFETY: allocated with the same layout. Memory that is still locked stays: the driver may write there.
            unsafe { dealloc(self.0, Self::layout(bytes)) };
        }
        unlocked
    }
}

impl PinnedChunkPool {
    pub fn free(&self) -> MutexGuard<'_, Vec<Chunk>> {
        self.free.lock()
    }

    /// Lets go of chunks that nobody has.
    pub fn clear(&self, backend: &dyn Backend) -> Result<()> {
        let free = std::mem::take(&mut *self.free());
        // All of them, also where one fails.
        let mut done = Ok(());
        for chunk in free {
            done = done.and(chunk.free(backend, chunk_bytes(backend)));
        }
        done
    }
}

/// Asks for large pages for memory that is about to be written for the first time. With small ones, page faults take
/// most of the time of a large copy. A wish: the system may not have them.
pub fn large_pages(start: *mut u8, bytes: usize) {
    const PAGE: usize = 2 << 20;
    let first = (start as usize).next_multiple_of(PAGE);
    let end = start as usize + bytes;
    if end > first + PAGE {
        // SAFETY: the range is inside of an allocation of ours, and the advice changes no contents.
        unsafe { libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_HUGEPAGE) };
    }
}
