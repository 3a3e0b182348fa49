//! Pinned host memory that copies go through. Pinned memory is copied at the bus's rate while the host goes on.
//! Allocating it takes milliseconds, so it is cached.

use parking_lot::Mutex;

use super::{Device, Event, Stream};
use crate::backend::Handle;
use crate::error::{Error, Result};

/// A large copy goes in pieces of this size. A piece fits into a core's cache, and is large enough for the rate of the
/// bus.
pub const PIECE: usize = 2 << 20;
const SMALLEST: usize = 4 << 10;
/// Pieces in the pool; more are freed after use. As many small ones, so that a large copy does not drive them out:
/// getting one takes longer than what it is for.
const POOLED_PIECES: usize = 16;
pub const SMALL: usize = 64 << 10;

/// Pinned host memory, at least as long as was asked for.
pub struct PinnedPiece {
    address: *mut u8,
    bytes: usize,
}

// SAFETY: the memory belongs to this value alone; which thread uses it does not matter.
unsafe impl Send for PinnedPiece {}

impl PinnedPiece {
    pub fn address(&self) -> *mut u8 {
        self.address
    }
}

/// A piece that may still be read or written by a stream.
struct PooledPiece {
    pinned: PinnedPiece,
    /// After which it is free.
    event: Option<Event>,
    of: Handle,
}

/// Pieces for copies to come.
#[derive(Default)]
pub struct Staging {
    pool: Mutex<Vec<PooledPiece>>,
}

impl Staging {
    /// For a copy in the order of a stream.
    pub fn take(&self, device: &Device, bytes: usize, stream: &Stream) -> Result<PinnedPiece> {
        // Large ones have one size: the end of a copy may have the piece of another's beginning.
        let wanted = if bytes > SMALL { PIECE } else { bytes.max(SMALLEST).next_power_of_two() };
        if let Some((pinned, event)) = self.pooled(wanted, stream)? {
            if let Some(event) = event {
                event.synchronize()?;
            }
            return Ok(pinned);
        }
        let address = device.backend().allocate_pinned(wanted)?;
        if address.is_null() {
            return Err(Error::OutOfHostMemory { requested: wanted as u64 });
        }
        Ok(PinnedPiece { address, bytes: wanted })
    }

    /// A piece that nobody uses. If the stream has as many pieces on their way as the pool holds, the one that comes
    /// back first: getting more takes longer. Pieces of other streams may stand behind a kernel that takes seconds.
    fn pooled(&self, wanted: usize, stream: &Stream) -> Result<Option<(PinnedPiece, Option<Event>)>> {
        let mut pool = self.pool.lock();
        let mut mine = Vec::new();
        for index in 0..pool.len() {
            let PooledPiece { pinned, event, of } = &pool[index];
            if pinned.bytes != wanted {
                continue;
            }
            if event.as_ref().map_or(Ok(true), Event::is_done)? {
                return Ok(Some((pool.remove(index).pinned, None)));
            }
            if *of == stream.handle() {
                mine.push(index);
            }
        }
        let first = mine.first().filter(|_| mine.len() >= POOLED_PIECES && wanted > SMALL);
        Ok(first.map(|index| pool.remove(*index)).map(|piece| (piece.pinned, piece.event)))
    }

    /// Gives a piece back that is free after the event.
    pub fn keep(&self, device: &Device, pinned: PinnedPiece, event: Option<Event>, stream: &Stream) {
        let mut pool = self.pool.lock();
        let small = |pinned: &PinnedPiece| pinned.bytes <= SMALL;
        if pool.iter().filter(|other| small(&other.pinned) == small(&pinned)).count() < POOLED_PIECES {
            pool.push(PooledPiece { pinned, event, of: stream.handle() });
            return;
        }
        drop(pool);
        device.defer(free(device, pinned, event));
    }

    /// Waits for the pieces and frees them.
    pub fn clear(&self, device: &Device) -> Result<()> {
        let pool = std::mem::take(&mut *self.pool.lock());
        pool.into_iter().try_for_each(|piece| free(device, piece.pinned, piece.event))
    }
}

fn free(device: &Device, pinned: PinnedPiece, event: Option<Event>) -> Result<()> {
    if let Some(event) = event {
        event.synchronize()?;
    }
    // SAFETY: the stream has passed the last copy, and the value is consumed.
    unsafe { device.backend().free_pinned(pinned.address, pinned.bytes) }
}
