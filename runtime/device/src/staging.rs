//! Pinned host memory that copies go through: page-locked memory is copied at the bus's rate and while the host goes on, and
//! getting it takes milliseconds, so it is kept.

use std::sync::{Mutex, PoisonError};

use crate::device::Device;
use crate::error::{Error, Result};
use crate::stream::Event;

/// A large copy goes in pieces of this size, two on their way at a time.
pub const PIECE: usize = 8 << 20;
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
        {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            for index in 0..kept.len() {
                let (pinned, event) = &kept[index];
                if pinned.bytes == wanted && event.as_ref().map_or(Ok(true), Event::is_done)? {
                    return Ok(kept.swap_remove(index).0);
                }
            }
        }
        let address = device.backend().allocate_pinned(wanted)?;
        if address.is_null() {
            return Err(Error::OutOfHostMemory { requested: wanted as u64 });
        }
        Ok(Pinned { address, bytes: wanted })
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
