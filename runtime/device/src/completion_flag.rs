//! Completion flags: words of pinned host memory that kernels write and the host waits for. A result arrives a copy and
//! a synchronisation earlier than by way of device memory.

use std::time::{Duration, Instant};

use crate::buffer::Pod;
use crate::device::{Device, Stream};
use crate::error::{Error, Result};
use crate::phases::{self, Phase};

/// How long a core looks at the word before it leaves that to the driver.
const SPIN_TIME: Duration = Duration::from_millis(2);

/// Pinned memory at the same address on the device. The flag comes first, and is not zero once it is set. The words of
/// the flag and room for more follow.
pub struct CompletionFlag {
    device: Device,
    word: *mut u64,
    room: usize,
}

// SAFETY: the memory belongs to this value alone; which thread reads it does not matter.
unsafe impl Send for CompletionFlag {}
// SAFETY: it is only read and written whole.
unsafe impl Sync for CompletionFlag {}

impl CompletionFlag {
    const BYTES: usize = 64;

    /// With room for so many bytes.
    pub fn new(device: &Device, room: usize) -> Result<CompletionFlag> {
        let bytes = Self::BYTES + room;
        let word = device.backend().allocate_pinned(bytes)?.cast::<u64>();
        if word.is_null() {
            return Err(Error::OutOfHostMemory { requested: bytes as u64 });
        }
        device.backend().map_pinned(word.cast(), bytes);
        let flag = CompletionFlag { device: device.clone(), word, room };
        flag.empty();
        Ok(flag)
    }

    /// The address at which kernels write, the first word last.
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
        let _time = phases::scope(Phase::Device);
        let begun = Instant::now();
        let mut looks = 0_u32;
        loop {
            // SAFETY: the word is ours.
            let word = unsafe { self.word.read_volatile() };
            if word != 0 {
                // The words that the kernel wrote before the flag.
                std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
                return Ok(Some(word));
            }
            looks += 1;
            if looks.is_multiple_of(256) && begun.elapsed() > SPIN_TIME {
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

impl CompletionFlag {
    /// The address at which kernels write more, aligned to 64 bytes.
    pub fn room_address(&self) -> u64 {
        self.word as u64 + Self::BYTES as u64
    }

    /// So many values that a kernel wrote there, `at` so many bytes into the room.
    ///
    /// # Panics
    /// Beyond the room that there is.
    pub fn copy<T: Pod>(&self, at: usize, count: usize) -> Vec<T> {
        let bytes = count * size_of::<T>();
        assert!(at <= self.room && bytes <= self.room - at, "{bytes} bytes at {at} of {}", self.room);
        let mut values = Vec::<T>::with_capacity(count);
        // SAFETY: the range is within the memory, which is ours; no kernel writes there after its word was waited for.
        // Any bytes are a value.
        unsafe {
            let from = self.word.cast::<u8>().add(Self::BYTES + at);
            std::ptr::copy_nonoverlapping(from, values.as_mut_ptr().cast::<u8>(), bytes);
            values.set_len(count);
        }
        values
    }

    /// Puts something where kernels that are launched from here on find it, `at` so many bytes into the room, and says
    /// its address there. The caller waits first for earlier kernels that read or write there.
    ///
    /// # Panics
    /// Beyond the room that there is.
    pub fn put<T: Pod>(&self, at: usize, values: &[T]) -> u64 {
        let bytes = size_of_val(values);
        assert!(at <= self.room && bytes <= self.room - at, "{bytes} bytes at {at} of {}", self.room);
        // SAFETY: the range is within the memory, which is ours.
        unsafe {
            let to = self.word.cast::<u8>().add(Self::BYTES + at);
            std::ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), to, bytes);
        }
        self.room_address() + at as u64
    }

    /// The word behind the one that was waited for.
    pub fn value(&self) -> u64 {
        // SAFETY: the words are ours.
        unsafe { self.word.add(1).read_volatile() }
    }
}

impl Drop for CompletionFlag {
    fn drop(&mut self) {
        // SAFETY: allocated with this size; the owner waits for the kernels that may write here before it drops the
        // flag.
        let done = unsafe { self.device.backend().free_pinned(self.word.cast(), Self::BYTES + self.room) };
        self.device.defer(done);
    }
}
