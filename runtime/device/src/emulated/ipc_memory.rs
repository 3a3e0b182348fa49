//! Memory that another process can have too, on the emulated device: a memory file, mapped between margins that nobody
//! may touch.

use std::ffi::CStr;
use std::io::Error as IoError;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;

use libc::{MAP_ANONYMOUS, MAP_FAILED, MAP_FIXED, MAP_NORESERVE, MAP_PRIVATE, MAP_SHARED};
use libc::{PROT_NONE, PROT_READ, PROT_WRITE};

use crate::error::{Error, Result};

const NAME: &CStr = c"onrush-buffer";
const PAGE: usize = 4096;

fn failed(call: &'static str) -> Error {
    Error::Driver { call, code: IoError::last_os_error().to_string() }
}

/// A memory file of so many bytes.
pub fn file(bytes: u64) -> Result<OwnedFd> {
    // SAFETY: the name is a C string.
    let descriptor = unsafe { libc::memfd_create(NAME.as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(failed("memfd_create"));
    }
    // SAFETY: opened just now, for us.
    let file = unsafe { OwnedFd::from_raw_fd(descriptor) };
    // SAFETY: the descriptor is open.
    if unsafe { libc::ftruncate(file.as_raw_fd(), bytes as i64) } != 0 {
        return Err(failed("ftruncate"));
    }
    Ok(file)
}

fn length(bytes: u64) -> usize {
    (bytes.max(1) as usize).next_multiple_of(PAGE)
}

/// Maps the file, `margin` bytes behind the beginning of a range that is kept free of others.
pub fn map(file: BorrowedFd<'_>, bytes: u64, margin: usize, writable: bool) -> Result<u64> {
    // SAFETY: an empty status, and an open descriptor.
    let has = unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        if libc::fstat(file.as_raw_fd(), &mut status) != 0 {
            return Err(failed("fstat"));
        }
        status.st_size as u64
    };
    // Pages past the end of a file end the process that touches them.
    if has < bytes {
        return Err(Error::OutOfRange { offset: 0, bytes, length: has });
    }
    let whole = length(bytes) + 2 * margin;
    // SAFETY: a range of the system's choice.
    let start = unsafe { libc::mmap(null_mut(), whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) };
    if start == MAP_FAILED {
        return Err(failed("mmap"));
    }
    let access = if writable { PROT_READ | PROT_WRITE } else { PROT_READ };
    // SAFETY: inside of the range that is ours since the call before.
    let middle = unsafe {
        let middle = start.cast::<u8>().add(margin).cast();
        libc::mmap(middle, length(bytes), access, MAP_SHARED | MAP_FIXED, file.as_raw_fd(), 0)
    };
    if middle == MAP_FAILED {
        let error = failed("mmap");
        // SAFETY: the range is ours, and nothing is in it.
        unsafe { libc::munmap(start, whole) };
        return Err(error);
    }
    Ok(middle as u64)
}

/// # Safety
/// Mapped by `map` with this size.
pub unsafe fn protect(address: u64, bytes: u64) -> Result<()> {
    // SAFETY: by the contract of this function.
    match unsafe { libc::mprotect(address as *mut libc::c_void, length(bytes), PROT_READ) } {
        0 => Ok(()),
        _ => Err(failed("mprotect")),
    }
}

/// # Safety
/// Mapped by `map` with this size and this margin, and nothing uses it any more.
pub unsafe fn unmap(address: u64, bytes: u64, margin: usize) -> Result<()> {
    // SAFETY: by the contract of this function.
    match unsafe { libc::munmap((address as usize - margin) as *mut libc::c_void, length(bytes) + 2 * margin) } {
        0 => Ok(()),
        _ => Err(failed("munmap")),
    }
}
