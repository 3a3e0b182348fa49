//! Pinned host memory that copies go through: page-locked memory is copied at the bus's rate and while the host goes on, and
//! getting it takes milliseconds, so it is kept.

use std::sync::{Mutex, PoisonError};

use crate::device::Device;
use crate::error::{Error, Result};
use crate::stream::Event;

/// A large copy goes in pieces of this size: small enough that a core's cache holds what it copies for a while, and the bus does not notice.
pub const PIECE: usize = 2 << 20;
const SMALLEST: usize = 4 << 10;
/// Pieces that are kept; more are freed after use. As many small ones, so that a large copy does not drive them out: getting one
/// takes longer than what it is for.
const KEPT: usize = 16;
pub const SMALL: usize = 64 << 10;

/// Page-locked memory of the host, at least as long as asked for.
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

/// Pieces that may still be read or written by a stream, with the event after which they are free.
#[derive(Default)]
pub struct Staging {
    kept: Mutex<Vec<(Pinned, Option<Event>)>>,
}

impl Staging {
    pub fn take(&self, device: &Device, bytes: usize) -> Result<Pinned> {
        let wanted = bytes.clamp(SMALLEST, PIECE).next_power_of_two();
        if let Some((pinned, event)) = self.kept_one(wanted)? {
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

    /// A piece that nobody uses, or, where as many as are kept are on their way, the one that is back first: getting more takes longer.
    fn kept_one(&self, wanted: usize) -> Result<Option<(Pinned, Option<Event>)>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut on_their_way = 0;
        for index in 0..kept.len() {
            let (pinned, event) = &kept[index];
            if pinned.bytes != wanted {
                continue;
            }
            if event.as_ref().map_or(Ok(true), Event::is_done)? {
                return Ok(Some((kept.remove(index).0, None)));
            }
            on_their_way += 1;
        }
        let first = kept.iter().position(|(pinned, _)| pinned.bytes == wanted);
        Ok(first.filter(|_| on_their_way >= KEPT && wanted > SMALL).map(|index| kept.remove(index)))
    }

    /// Gives a piece back that is free after the event.
    pub fn keep(&self, device: &Device, pinned: Pinned, event: Option<Event>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let small = |pinned: &Pinned| pinned.bytes <= SMALL;
        if kept.iter().filter(|(other, _)| small(other) == small(&pinned)).count() < KEPT {
            kept.push((pinned, event));
            return;
        }
        drop(kept);
        device.defer(free(device, pinned, event));
    }

    /// Waits for the pieces and frees them.
    pub fn clear(&self, device: &Device) -> Result<()> {
        let kept = std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        kept.into_iter().try_for_each(|(pinned, event)| free(device, pinned, event))
    }
}

fn free(device: &Device, pinned: Pinned, event: Option<Event>) -> Result<()> {
    if let Some(event) = event {
        event.synchronize()?;
    }
    // SAFETY: the stream has passed the last copy, and the value is consumed.
    unsafe { device.backend().free_pinned(pinned.address, pinned.bytes) }
}
