//! Memory on a device, counted in the ledger, freed when it is dropped.

use std::ops::Range;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::device::staging::{PIECE, PinnedPiece, SMALL};
use crate::device::{Device, Stream};
use crate::error::{Error, Result};
use crate::ledger::{Entry, Owner, Reservation};
use crate::phases::{self, Phase};
use crate::pinned_chunks::large_pages;

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

/// Bytes on a device, uninitialised when allocated. A buffer belongs to the stream that it was allocated on, and is
/// freed in that stream's order. A user on another stream follows that stream first. Before the user drops the buffer,
/// it waits, or lets the buffer's stream follow its own (`release_after`).
pub struct Buffer {
    stream: Stream,
    address: u64,
    bytes: u64,
    entry: Entry,
    /// Not from the device's pool: other processes may have it too.
    mapped: bool,
}

impl Buffer {
    fn allocate(reservation: &mut Reservation, bytes: u64, stream: &Stream) -> Result<Buffer> {
        let entry = reservation.take(bytes)?;
        let device = stream.device();
        // A buffer without bytes has an address too, so that kernels need not know.
        let asked = bytes.max(1);
        // SAFETY: the stream is alive.
        let address = with_room(device, || unsafe { device.backend().allocate(asked, stream.handle()) })?;
        Ok(Buffer { stream: stream.clone(), address, bytes, entry, mapped: false })
    }

    fn export(reservation: &mut Reservation, bytes: u64, stream: &Stream) -> Result<(Buffer, OwnedFd)> {
        let entry = reservation.take(bytes)?;
        let device = stream.device();
        let (address, memory) = with_room(device, || device.backend().export(bytes))?;
        Ok((Buffer { stream: stream.clone(), address, bytes, entry, mapped: true }, memory))
    }

    fn import(reservation: &mut Reservation, memory: BorrowedFd<'_>, bytes: u64, stream: &Stream) -> Result<Buffer> {
        let entry = reservation.take(bytes)?;
        let device = stream.device();
        let address = with_room(device, || device.backend().import(memory, bytes))?;
        Ok(Buffer { stream: stream.clone(), address, bytes, entry, mapped: true })
    }

    /// An exported buffer's contents are done with: once the stream has passed, what kernels write to it is a fault,
    /// where the device can tell.
    pub fn protect(&self) -> Result<()> {
        if !self.mapped {
            return Ok(());
        }
        self.stream.synchronize()?;
        // SAFETY: mapped with this size, and nothing is writing.
        unsafe { self.device().backend().protect(self.address, self.bytes) }
    }

    /// Aligned to 256 bytes.
    pub fn address(&self) -> u64 {
        self.address
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether other processes may have it, too.
    pub fn is_mapped(&self) -> bool {
        self.mapped
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
        let _time = phases::part(Phase::Upload);
        let device = self.device();
        device.check()?;
        let bytes = size_of_val(values);
        self.check_range(offset, bytes as u64)?;
        let source = Address(values.as_ptr().cast::<u8>().cast_mut());
        in_pieces(bytes, 1, |start, length| {
            let pinned = device.staging().take(device, length, stream)?;
            // SAFETY: both sides are at least `length` bytes long, and the pinned memory is ours alone.
            unsafe { std::ptr::copy_nonoverlapping(source.at(start), pinned.address(), length) };
            // SAFETY: the range was checked, and the pinned memory is kept until the stream has passed.
            let copied = unsafe {
                let to = self.address + offset + start as u64;
                device.backend().copy_to_device(to, pinned.address(), length, stream.handle())
            };
            self.keep(pinned, stream)?;
            copied
        })
    }

    /// Waits for the stream and copies values to the host; the range counts values of `T`.
    pub fn read<T: Pod>(&self, range: Range<usize>, stream: &Stream) -> Result<Vec<T>> {
        let _time = phases::scope(Phase::Readback);
        let device = self.device();
        device.check()?;
        let (offset, bytes) = (range.start * size_of::<T>(), range.len() * size_of::<T>());
        self.check_range(offset as u64, bytes as u64)?;
        let mut values = Vec::<T>::with_capacity(range.len());
        let target = values.as_mut_ptr().cast::<u8>();
        large_pages(target, bytes);
        if (1..=SMALL).contains(&bytes) {
            let pinned = device.staging().take(device, bytes, stream)?;
            // SAFETY: the range was checked, the pinned memory is held until the stream has passed, and the target has
            // room.
            unsafe {
                let from = self.address + offset as u64;
                device.backend().copy_to_host(pinned.address(), from, bytes, stream.handle())?;
                stream.synchronize()?;
                std::ptr::copy_nonoverlapping(pinned.address(), target, bytes);
                values.set_len(range.len());
            }
            device.staging().keep(device, pinned, None, stream);
            return Ok(values);
        }
        let target = Address(target);
        // At least two, so that one piece crosses the bus while another is copied out.
        in_pieces(bytes, 2, |start, length| {
            let pinned = device.staging().take(device, length, stream)?;
            // SAFETY: the range was checked, the pinned memory is held until the event is done, and `start + length` is
            // within the capacity.
            unsafe {
                let from = self.address + (offset + start) as u64;
                device.backend().copy_to_host(pinned.address(), from, length, stream.handle())?;
                stream.record()?.synchronize()?;
                std::ptr::copy_nonoverlapping(pinned.address(), target.at(start), length);
            }
            device.staging().keep(device, pinned, None, stream);
            Ok(())
        })?;
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

    fn keep(&self, pinned: PinnedPiece, stream: &Stream) -> Result<()> {
        let event = stream.record()?;
        self.device().staging().keep(self.device(), pinned, Some(event), stream);
        Ok(())
    }

    pub(crate) fn check_range(&self, offset: u64, bytes: u64) -> Result<()> {
        if offset.checked_add(bytes).is_some_and(|end| end <= self.bytes) {
            return Ok(());
        }
        Err(Error::OutOfRange { offset, bytes, length: self.bytes })
    }
}

impl Device {
    /// Reserves and allocates. The memory belongs to `stream`: others must follow it before they use the buffer.
    pub fn allocate(&self, owner: &Owner, bytes: u64, stream: &Stream) -> Result<Buffer> {
        let mut reservation = self.reserve(owner, bytes)?;
        Buffer::allocate(&mut reservation, bytes, stream)
    }

    /// Allocates a buffer, of at least one byte, that another process can map by the descriptor. A holder of the
    /// descriptor keeps the memory, also without a device and after this process has ended, however it ended. Only the
    /// ledgers of the processes that map the memory count it.
    pub fn export(&self, owner: &Owner, bytes: u64, stream: &Stream) -> Result<(Buffer, OwnedFd)> {
        let mut reservation = self.reserve(owner, bytes)?;
        Buffer::export(&mut reservation, bytes, stream)
    }

    /// Maps memory that was exported with this size, for reading.
    pub fn import(&self, owner: &Owner, memory: BorrowedFd<'_>, bytes: u64, stream: &Stream) -> Result<Buffer> {
        let mut reservation = self.reserve(owner, bytes)?;
        Buffer::import(&mut reservation, memory, bytes, stream)
    }

    /// A buffer with a copy of the values. The host may reuse `values` at once.
    pub fn upload<T: Pod>(&self, owner: &Owner, values: &[T], stream: &Stream) -> Result<Buffer> {
        let buffer = self.allocate(owner, size_of_val(values) as u64, stream)?;
        buffer.write(0, values, stream)?;
        Ok(buffer)
    }

    /// A buffer of zeros.
    pub fn zeros(&self, owner: &Owner, bytes: u64, stream: &Stream) -> Result<Buffer> {
        let buffer = self.allocate(owner, bytes, stream)?;
        buffer.fill(0, stream)?;
        Ok(buffer)
    }
}

/// Tries again with what streams have yet to free, and with what the pool keeps, which may be in pieces that are too
/// small.
fn with_room<T>(device: &Device, get: impl Fn() -> Result<T>) -> Result<T> {
    match get() {
        Err(error @ Error::DriverOutOfMemory { .. }) => {
            device.trim()?;
            get().map_err(|_| error)
        }
        other => other,
    }
}

/// The start of a copy on the host.
#[derive(Clone, Copy)]
struct Address(*mut u8);

// SAFETY: threads that copy pieces use disjoint parts, and the function that made the address waits for them.
unsafe impl Sync for Address {}

impl Address {
    /// # Safety
    /// Within the memory that begins there.
    unsafe fn at(&self, offset: usize) -> *mut u8 {
        // SAFETY: by the contract of this function.
        unsafe { self.0.add(offset) }
    }
}

/// Threads that a large copy takes at most: with more, the bus is what limits it.
const MAX_THREADS: usize = 8;
/// Below as many pieces for each of them a thread is not worth its start.
const PIECES_PER_THREAD: usize = 4;

/// Does the same for each piece, given its start and its length. Several threads run large copies, because one core
/// copies at a fifth of the bus's rate.
fn in_pieces(bytes: usize, least: usize, each: impl Fn(usize, usize) -> Result<()> + Sync) -> Result<()> {
    in_pieces_of(PIECE, bytes, least, each)
}

/// The same, with pieces of another size.
pub(crate) fn in_pieces_of(
    piece: usize,
    bytes: usize,
    least: usize,
    each: impl Fn(usize, usize) -> Result<()> + Sync,
) -> Result<()> {
    let pieces = bytes.div_ceil(piece);
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() / 2);
    let threads = (pieces / PIECES_PER_THREAD).min(cores).min(MAX_THREADS).max(least).min(pieces);
    let next = AtomicUsize::new(0);
    let run = || loop {
        let start = next.fetch_add(1, Ordering::Relaxed) * piece;
        if start >= bytes {
            return Ok(());
        }
        each(start, piece.min(bytes - start))?;
    };
    if threads <= 1 {
        return run();
    }
    std::thread::scope(|scope| {
        // With as many as the system gives.
        let spawn = |_| std::thread::Builder::new().spawn_scoped(scope, run).ok();
        let others: Vec<_> = (1..threads).map_while(spawn).collect();
        let own = run();
        let panicked = || Err(Error::DriverFailed { reason: "a thread that copied ended early".into() });
        others.into_iter().map(|other| other.join().unwrap_or_else(|_| panicked())).fold(own, Result::and)
    })
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let device = self.stream.device();
        let backend = device.backend();
        // SAFETY: allocated on this stream or mapped with this size, and not freed before. A mapping has no stream that
        // would end it in its order.
        let done = unsafe {
            if self.mapped {
                backend.synchronize_stream(self.stream.handle()).and_then(|()| backend.unmap(self.address, self.bytes))
            } else {
                backend.free(self.address, self.bytes.max(1), self.stream.handle())
            }
        };
        device.defer(done);
    }
}
