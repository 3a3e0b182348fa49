//! Words of host memory that kernels write and the host waits for: what a kernel has to say arrives a copy and a synchronisation earlier than
//! by way of device memory.

use std::time::{Duration, Instant};

use crate::device::Device;
use crate::error::{Error, Result};
use crate::stream::Stream;

/// How long a core looks at the word before it leaves that to the driver.
const LOOKING: Duration = Duration::from_millis(2);

/// Words in page-locked memory, at the same address on the device: first the one that is waited for, which is not zero, then what goes with it,
/// and then room for more.
pub struct Mailbox {
    device: Device,
    word: *mut u64,
    room: usize,
}

// SAFETY: the memory belongs to this value alone; which thread reads it does not matter.
unsafe impl Send for Mailbox {}
// SAFETY: it is only read and written whole.
unsafe impl Sync for Mailbox {}

impl Mailbox {
    const BYTES: usize = 64;

    /// With room for so many bytes.
    pub fn new(device: &Device, room: usize) -> Result<Mailbox> {
        let bytes = Self::BYTES + room;
        let word = device.backend().allocate_pinned(bytes)?.cast::<u64>();
        if word.is_null() {
            return Err(Error::OutOfHostMemory { requested: bytes as u64 });
        }
        device.backend().share_pinned(word.cast(), bytes);
        let mailbox = Mailbox { device: device.clone(), word, room };
        mailbox.empty();
        Ok(mailbox)
    }

    /// Where kernels write, the first word as the last thing they do.
    pub fn address(&self) -> u64 {
        self.word as u64
    }

    /// Before a kernel is launched that writes here.
    pub fn empty(&self) {
        // SAFETY: the word is ours.
        unsafe { self.word.write_volatile(0) };
    }

    /// The word of a kernel that was given to `stream`; none if it ended without one.
    ///
    /// # Errors
    /// If the kernel failed.
    pub fn wait(&self, stream: &Stream) -> Result<Option<u64>> {
        let begun = Instant::now();
        let mut looks = 0_u32;
        loop {
            // SAFETY: the word is ours.
            let word = unsafe { self.word.read_volatile() };
            if word != 0 {
                // What the kernel wrote before it.
                std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
                return Ok(Some(word));
            }
            looks += 1;
            if looks.is_multiple_of(256) && begun.elapsed() > LOOKING {
                break;
            }
            std::hint::spin_loop();
        }
        stream.synchronize()?;
        // SAFETY: the word is ours.
        let word = unsafe { self.word.read_volatile() };
        Ok((word != 0).then_some(word))
    }
}

impl Mailbox {
    /// Where kernels write more, aligned to 64 bytes.
    pub fn room_address(&self) -> u64 {
        self.word as u64 + Self::BYTES as u64
    }

    /// What a kernel wrote there.
    ///
    /// # Panics
    /// Beyond the room that there is.
    pub fn copy(&self, range: std::ops::Range<usize>) -> Vec<u8> {
        assert!(range.start <= range.end && range.end <= self.room, "{range:?} of {} bytes", self.room);
        let mut copy = vec![0; range.len()];
        // SAFETY: the range is within the memory, which is ours; no kernel writes there after its word was waited for.
        unsafe {
            let from = self.word.cast::<u8>().add(Self::BYTES + range.start);
            std::ptr::copy_nonoverlapping(from, copy.as_mut_ptr(), range.len());
        }
        copy
    }

    /// The word behind the one that was waited for.
    pub fn value(&self) -> u64 {
        // SAFETY: the words are ours.
        unsafe { self.word.add(1).read_volatile() }
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        // SAFETY: allocated with this size; whoever has it waits for the kernels that may write here before letting go of it.
        let done = unsafe { self.device.backend().free_pinned(self.word.cast(), Self::BYTES + self.room) };
        self.device.defer(done);
    }
}
