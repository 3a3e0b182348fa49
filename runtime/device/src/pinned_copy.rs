//! Copies of evicted buffers in pinned host memory. They cross the bus at its full rate, without a core that copies.

use parking_lot::Mutex;

use crate::buffer::{Buffer, in_pieces_of};
use crate::device::{Device, Stream};
use crate::error::Result;
use crate::pinned_chunks::{Chunk, POOLED_CHUNKS, chunk_bytes};

/// The alignment of a piece of a copy, in bytes.
const ALIGN: usize = 256;

/// Copies of some buffers in pinned memory.
pub struct PinnedCopy {
    device: Device,
    chunks: Vec<Chunk>,
    /// The start and the number of each buffer's bytes.
    places: Vec<(usize, usize)>,
}

impl PinnedCopy {
    /// Copies buffers, in the order of a stream, and waits.
    ///
    /// # Errors
    /// If the host has no memory that can be locked, or what the driver says.
    pub fn of(buffers: &[&Buffer], stream: &Stream) -> Result<PinnedCopy> {
        let device = stream.device();
        device.check()?;
        let size = chunk_bytes(device.backend());
        let mut end = 0;
        let mut places = Vec::new();
        for buffer in buffers {
            places.push((end, buffer.bytes() as usize));
            end = (end + buffer.bytes() as usize).next_multiple_of(ALIGN);
        }
        let count = end.div_ceil(size);
        let mut chunks = {
            let mut free = device.pages().free();
            let from = free.len() - free.len().min(count);
            free.split_off(from)
        };
        let new = Mutex::new(Vec::new());
        // One core makes a fifth of the pages that the bus fills.
        let made = in_pieces_of(1, count - chunks.len(), 1, |_, _| {
            let chunk = Chunk::new(device.backend(), size)?;
            new.lock().push(chunk);
            Ok(())
        });
        chunks.append(&mut new.into_inner());
        // Its end gives them back, also where not all of them could be made.
        let aside = PinnedCopy { device: device.clone(), chunks, places };
        made?;
        let copied = buffers.iter().zip(&aside.places).try_for_each(|(buffer, place)| {
            aside.walk(*place, |host, offset, bytes| {
                // SAFETY: as long as `walk` says, inside of the buffer, and waited for below.
                unsafe { device.backend().copy_to_host(host, buffer.address() + offset, bytes, stream.handle()) }
            })
        });
        // The copies that began must end, also after an error.
        stream.synchronize()?;
        copied.map(|()| aside)
    }

    /// Bytes that it takes of the host's memory.
    pub fn bytes(&self) -> u64 {
        (self.chunks.len() * chunk_bytes(self.device.backend())) as u64
    }

    /// Bytes of a buffer.
    ///
    /// # Panics
    /// If there were not so many.
    pub fn length(&self, buffer: usize) -> u64 {
        self.places[buffer].1 as u64
    }

    /// Copies a buffer's bytes to the start of another one that is as long, and waits.
    ///
    /// # Errors
    /// If it is shorter, or what the driver says.
    ///
    /// # Panics
    /// If there were not so many buffers.
    pub fn write(&self, buffer: usize, to: &Buffer, stream: &Stream) -> Result<()> {
        let place = self.places[buffer];
        to.check_range(0, place.1 as u64)?;
        let done = self.walk(place, |host, offset, bytes| {
            // SAFETY: as long as `walk` says, inside of the buffer as was checked, and waited for below.
            unsafe { self.device.backend().copy_to_device(to.address() + offset, host, bytes, stream.handle()) }
        });
        // The copies that began must end, also after an error.
        stream.record()?.synchronize()?;
        done
    }

    /// The pieces of a place, each within a chunk: where it lies, its offset, its length.
    fn walk(
        &self,
        (start, bytes): (usize, usize),
        mut each: impl FnMut(*mut u8, u64, usize) -> Result<()>,
    ) -> Result<()> {
        let size = chunk_bytes(self.device.backend());
        let mut at = 0;
        while at < bytes {
            let (chunk, within) = ((start + at) / size, (start + at) % size);
            let length = (size - within).min(bytes - at);
            // SAFETY: inside of the chunk.
            each(unsafe { self.chunks[chunk].address().add(within) }, at as u64, length)?;
            at += length;
        }
        Ok(())
    }
}

impl Drop for PinnedCopy {
    fn drop(&mut self) {
        let mut rest = std::mem::take(&mut self.chunks);
        {
            let mut free = self.device.pages().free();
            let room = POOLED_CHUNKS.saturating_sub(free.len()).min(rest.len());
            free.extend(rest.drain(..room));
        }
        let size = chunk_bytes(self.device.backend());
        rest.into_iter().for_each(|chunk| self.device.defer(chunk.free(self.device.backend(), size)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Options;
    use crate::emulated::Emulation;
    use crate::error::Error;
    use crate::ledger::Owner;

    fn device() -> Device {
        Device::emulated(&Emulation::default(), &Options::default()).unwrap()
    }

    fn numbers(count: usize, seed: u64) -> Vec<u64> {
        (0..count as u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed).collect()
    }

    #[test]
    fn copies_come_back_whole() {
        let device = device();
        let (stream, owner) = (device.stream().unwrap(), Owner::new("test"));
        // None, less than a chunk, more than one.
        let all = [0, 100, 30_000, 1].map(|count| numbers(count, count as u64));
        let buffers: Vec<Buffer> = all.iter().map(|some| device.upload(&owner, some, &stream).unwrap()).collect();
        let aside = PinnedCopy::of(&buffers.iter().collect::<Vec<_>>(), &stream).unwrap();
        drop(buffers);
        assert_eq!(aside.bytes(), 4 * (64 << 10));
        for (index, some) in all.iter().enumerate() {
            assert_eq!(aside.length(index), 8 * some.len() as u64);
            let back = device.zeros(&owner, aside.length(index), &stream).unwrap();
            aside.write(index, &back, &stream).unwrap();
            assert_eq!(&back.read::<u64>(0..some.len(), &stream).unwrap(), some);
        }
        let short = device.zeros(&owner, 8, &stream).unwrap();
        assert!(matches!(aside.write(1, &short, &stream), Err(Error::OutOfRange { .. })));
        // Its memory is there for the next one.
        drop(aside);
        assert_eq!(device.pages().free().len(), 4);
        let next = PinnedCopy::of(&[&short], &stream).unwrap();
        assert_eq!(device.pages().free().len(), 3);
        drop(next);
        device.trim().unwrap();
        assert!(device.pages().free().is_empty());
    }
}
