//! Pinned host memory that copies go through. Pinned memory is copied at the bus's rate while the host goes on.
//! Allocating it takes milliseconds, so it is cached.

use parking_lot::Mutex;

use super::{Device, Event, Stream};
use crate::backend::Handle;
use crate::error::{Error, Result};

/// A large copy goes in pieces of this size: small enough that a core's cache holds what it copies for a while, and the bus does not notice.
pub const PIECE: usize = 2 << 20;
const SMALLEST: usize = 4 << 10;
/// Pieces that are kept; more are freed after use. As many small ones, so that a large copy does not drive them out: getting one
/// takes longer than what it is for.
const KEPT: usize = 16;
pub const SMALL: usize = 64 << 10;

/// Pinned host memory, at least as long as was asked for.
pub struct Pinned {
    address: *mut u8,
    bytes: usize,
}

// SAFETY: the memory belongs to this value alone; which thread uses it does not matter.
unsafe impl Send for Pinned {}

impl Pinned {
    pub fn address(&self) -> *mut u8 {
        self.address
    }
}

/// A piece that may still be read or written by a stream.
struct Kept {
    pinned: Pinned,
    /// After which it is free.
    event: Option<Event>,
    of: Handle,
}

/// Pieces for copies to come.
#[derive(Default)]
pub struct Staging {
    kept: Mutex<Vec<Kept>>,
}

impl Staging {
    /// For a copy in the order of a stream.
    pub fn take(&self, device: &Device, bytes: usize, stream: &Stream) -> Result<Pinned> {
        // Large ones have one size: the end of a copy may have the piece of another's beginning.
        let wanted = if bytes > SMALL { PIECE } else { bytes.max(SMALLEST).next_power_of_two() };
        if let Some((pinned, event)) = self.kept_one(wanted, stream)? {
            if let Some(event) = event {
                event.synchronize()?;
            }
            return Ok(pinned);
        }
        let address = device.backend().allocate_pinned(wanted)?;
        if address.is_null() {
            return Err(Error::OutOfHostMemory { requested: wanted as u64 });
        }
        Ok(Pinned { address, bytes: wanted })
    }

    /// A piece that nobody uses, or, where the stream has as many as are kept on their way, the one that comes back first: getting more takes
    /// longer. Pieces of other streams may stand behind a kernel that takes seconds.
    fn kept_one(&self, wanted: usize, stream: &Stream) -> Result<Option<(Pinned, Option<Event>)>> {
        let mut kept = self.kept.lock();
        let mut mine = Vec::new();
        for index in 0..kept.len() {
            let Kept { pinned, event, of } = &kept[index];
            if pinned.bytes != wanted {
                continue;
            }
            if event.as_ref().map_or(Ok(true), Event::is_done)? {
                return Ok(Some((kept.remove(index).pinned, None)));
            }
            if *of == stream.handle() {
                mine.push(index);
            }
        }
        let first = mine.first().filter(|_| mine.len() >= KEPT && wanted > SMALL);
        Ok(first.map(|index| kept.remove(*index)).map(|kept| (kept.pinned, kept.event)))
    }

    /// Gives a piece back that is free after the event.
    pub fn keep(&self, device: &Device, pinned: Pinned, event: Option<Event>, stream: &Stream) {
        let mut kept = self.kept.lock();
        let small = |pinned: &Pinned| pinned.bytes <= SMALL;
        if kept.iter().filter(|other| small(&other.pinned) == small(&pinned)).count() < KEPT {
            kept.push(Kept { pinned, event, of: stream.handle() });
            return;
        }
        drop(kept);
        device.defer(free(device, pinned, event));
    }

    /// Waits for the pieces and frees them.
    pub fn clear(&self, device: &Device) -> Result<()> {
        let kept = std::mem::take(&mut *self.kept.lock());
        kept.into_iter().try_for_each(|kept| free(device, kept.pinned, kept.event))
    }
}

fn free(device: &Device, pinned: Pinned, event: Option<Event>) -> Result<()> {
    if let Some(event) = event {
        event.synchronize()?;
    }
    // SAFETY: the stream has passed the last copy, and the value is consumed.
    unsafe { device.backend().free_pinned(pinned.address, pinned.bytes) }
}
