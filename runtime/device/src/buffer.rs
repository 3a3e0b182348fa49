//! Memory on a device, counted in the ledger, freed when it is dropped.

use std::ops::Range;

use crate::device::Device;
use crate::error::{Error, Result};
use crate::ledger::{Entry, Owner, Reservation};
use crate::staging::{PIECE, Pinned, SMALL};
use crate::stream::Stream;

/// A type whose values are plain bytes, on the host as on a device, any of which are a value.
///
/// # Safety
/// No padding, no pointers, no bit patterns that are not values.
pub unsafe trait Pod: Copy + Send + Sync + 'static {}

macro_rules! pod {
    ($($type:ty),*) => {
        $(
            // SAFETY: a number without padding, of which all bit patterns are values.
            unsafe impl Pod for $type {}
        )*
    };
}
pod!(u8, i8, u16, i16, u32, i32, u64, i64, u128, i128, f32, f64);
// SAFETY: as its elements, which lie one after the other.
unsafe impl<T: Pod, const N: usize> Pod for [T; N] {}

/// Bytes on a device, uninitialised when allocated. It belongs to the stream that it was allocated on, in whose order it is freed: whoever
/// uses it on another one follows that first, and waits before letting go of it, or lets it follow (`release_after`).
pub struct Buffer {
    stream: Stream,
    address: u64,
    bytes: u64,
    entry: Entry,
}

impl Buffer {
    pub(crate) fn allocate(reservation: &mut Reservation, bytes: u64, stream: &Stream) -> Result<Buffer> {
        let entry = reservation.take(bytes)?;
        let device = stream.device();
        // A buffer without bytes has an address too, so that kernels need not know.
        let asked = bytes.max(1);
        // SAFETY: the stream is alive.
        let address = match unsafe { device.backend().allocate(asked, stream.handle()) } {
            Err(error @ Error::DriverOutOfMemory { .. }) => {
                // What streams have yet to free is not there, and what the pool keeps may be in pieces that are too small.
                device.settle()?;
                device.trim()?;
                // SAFETY: as above.
                unsafe { device.backend().allocate(asked, stream.handle()) }.map_err(|_| error)?
            }
            other => other?,
        };
        Ok(Buffer { stream: stream.clone(), address, bytes, entry })
    }

    /// Aligned to 256 bytes.
    pub fn address(&self) -> u64 {
        self.address
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn owner(&self) -> &Owner {
        self.entry.owner()
    }

    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    pub fn device(&self) -> &Device {
        self.stream.device()
    }

    /// The memory is freed only after what `stream` has been given so far: for a buffer that another stream used.
    pub fn release_after(&self, stream: &Stream) -> Result<()> {
        self.stream.follow(stream)
    }

    /// Copies values to `offset` bytes from the start. The host may reuse `values` at once.
    pub fn write<T: Pod>(&self, offset: u64, values: &[T], stream: &Stream) -> Result<()> {
        let device = self.device();
        device.check()?;
        let bytes = size_of_val(values);
        self.check_range(offset, bytes as u64)?;
        let source = values.as_ptr().cast::<u8>();
        for start in (0..bytes).step_by(PIECE) {
            let length = PIECE.min(bytes - start);
            let pinned = device.staging().take(device, length)?;
            // SAFETY: both sides are at least `length` bytes long, and the pinned memory is ours alone.
            unsafe { std::ptr::copy_nonoverlapping(source.add(start), pinned.address(), length) };
            // SAFETY: the range was checked, and the pinned memory is kept until the stream has passed.
            let copied = unsafe {
                let to = self.address + offset + start as u64;
                device.backend().copy_to_device(to, pinned.address(), length, stream.handle())
            };
            self.keep(pinned, stream)?;
            copied?;
        }
        Ok(())
    }

    /// Waits for the stream and copies values to the host; the range counts values of `T`.
    pub fn read<T: Pod>(&self, range: Range<usize>, stream: &Stream) -> Result<Vec<T>> {
        let device = self.device();
        device.check()?;
        let (offset, bytes) = (range.start * size_of::<T>(), range.len() * size_of::<T>());
        self.check_range(offset as u64, bytes as u64)?;
        let mut values = Vec::<T>::with_capacity(range.len());
        let target = values.as_mut_ptr().cast::<u8>();
        large_pages(target, bytes);
        if (1..=SMALL).contains(&bytes) {
            let pinned = device.staging().take(device, bytes)?;
            // SAFETY: the range was checked, the pinned memory is held until the stream has passed, and the target has room.
            unsafe {
                let from = self.address + offset as u64;
                device.backend().copy_to_host(pinned.address(), from, bytes, stream.handle())?;
                stream.synchronize()?;
                std::ptr::copy_nonoverlapping(pinned.address(), target, bytes);
                values.set_len(range.len());
            }
            device.staging().keep(device, pinned, None);
            return Ok(values);
        }
        // Two pieces on their way: one crosses the bus while the other is copied out.
        let mut previous: Option<(Pinned, usize, usize, crate::stream::Event)> = None;
        let mut starts = (0..bytes).step_by(PIECE);
        loop {
            let next = starts.next();
            let begun = match next {
                Some(start) => {
                    let length = PIECE.min(bytes - start);
                    let pinned = device.staging().take(device, length)?;
                    // SAFETY: the range was checked, and the pinned memory is held until its event is done.
                    unsafe {
                        let from = self.address + (offset + start) as u64;
                        device.backend().copy_to_host(pinned.address(), from, length, stream.handle())?;
                    }
                    Some((pinned, start, length, stream.record()?))
                }
                None => None,
            };
            if let Some((pinned, start, length, event)) = previous.take() {
                event.synchronize()?;
                // SAFETY: `start + length` is within the capacity, and the copy into the pinned memory is done.
                unsafe { std::ptr::copy_nonoverlapping(pinned.address(), target.add(start), length) };
                device.staging().keep(device, pinned, None);
            }
            previous = begun;
            if previous.is_none() {
                break;
            }
        }
        if bytes == 0 {
            stream.synchronize()?;
        }
        // SAFETY: all of `range.len()` values were written above, and any bytes are a `T`.
        unsafe { values.set_len(range.len()) };
        Ok(values)
    }

    /// Waits for the stream and copies the first value to the host.
    pub fn read_one<T: Pod>(&self, stream: &Stream) -> Result<T> {
        Ok(self.read::<T>(0..1, stream)?[0])
    }

    /// Sets all bytes.
    pub fn fill(&self, value: u8, stream: &Stream) -> Result<()> {
        self.fill_range(0, self.bytes, value, stream)
    }

    pub fn fill_range(&self, offset: u64, bytes: u64, value: u8, stream: &Stream) -> Result<()> {
        self.check_range(offset, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the range was checked.
        unsafe { self.device().backend().fill(self.address + offset, value, bytes as usize, stream.handle()) }
    }

    /// Copies from another buffer of the same device.
    pub fn copy_from(&self, offset: u64, from: &Buffer, from_offset: u64, bytes: u64, stream: &Stream) -> Result<()> {
        self.check_range(offset, bytes)?;
        from.check_range(from_offset, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: both ranges were checked.
        unsafe {
            let (to, from) = (self.address + offset, from.address + from_offset);
            self.device().backend().copy_on_device(to, from, bytes as usize, stream.handle())
        }
    }

    fn keep(&self, pinned: Pinned, stream: &Stream) -> Result<()> {
        let event = stream.record()?;
        self.device().staging().keep(self.device(), pinned, Some(event));
        Ok(())
    }

    fn check_range(&self, offset: u64, bytes: u64) -> Result<()> {
        if offset.checked_add(bytes).is_some_and(|end| end <= self.bytes) {
            return Ok(());
        }
        Err(Error::OutOfRange { offset, bytes, length: self.bytes })
    }
}

/// Asks for large pages for memory that is about to be written for the first time: with small ones, the faults take most of the time
/// of a large copy. A wish: the system may not have them.
fn large_pages(start: *mut u8, bytes: usize) {
    const PAGE: usize = 2 << 20;
    let first = (start as usize).next_multiple_of(PAGE);
    let end = start as usize + bytes;
    if end > first + PAGE {
        // SAFETY: the range is inside of an allocation of ours, and the advice changes no contents.
        unsafe { libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_HUGEPAGE) };
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let device = self.stream.device();
        // SAFETY: allocated on this stream with this size, and not freed before.
        let done = unsafe { device.backend().free(self.address, self.bytes.max(1), self.stream.handle()) };
        device.defer(done);
    }
}
