//! Files that a cell opens for writing. The loader finds the `open` functions of this executable first, so libstd's
//! calls arrive here. Written files stay after a failed cell, and the message names them.
//!
//! Direct system calls, and processes that the cell started, are not seen.

use std::ffi::CStr;

use libc::{c_char, c_int, c_uint};
use onrush::host::crash_record;

/// Folders whose entries are not files on a disk.
const NO_FILES: [&[u8]; 3] = [b"/dev/", b"/proc/", b"/sys/"];

/// # Safety
/// As of POSIX `openat`.
unsafe fn open_noted(folder: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: the caller's promise.
    let fd = unsafe { libc::syscall(libc::SYS_openat, folder, path, flags, mode) } as c_int;
    if fd >= 0 && flags & libc::O_ACCMODE != libc::O_RDONLY {
        // SAFETY: the system call has succeeded, so the path is text that ends in a zero.
        let path = unsafe { CStr::from_ptr(path) }.to_bytes();
        if !NO_FILES.iter().any(|start| path.starts_with(start)) {
            crash_record::wrote(path);
        }
    }
    fd
}

// `mode` is variadic in C. On this platform's calling convention an argument that was not given is only not read.

/// # Safety
/// As of POSIX `open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { open_noted(libc::AT_FDCWD, path, flags, mode) }
}

/// # Safety
/// As of POSIX `open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { open_noted(libc::AT_FDCWD, path, flags, mode) }
}

/// # Safety
/// As of POSIX `openat`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn openat(folder: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { open_noted(folder, path, flags, mode) }
}

/// # Safety
/// As of POSIX `openat`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn openat64(folder: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { open_noted(folder, path, flags, mode) }
}

type Open = unsafe extern "C" fn(*const c_char, c_int, c_uint) -> c_int;
type OpenAt = unsafe extern "C" fn(c_int, *const c_char, c_int, c_uint) -> c_int;

#[used]
static KEEP: [Open; 2] = [open, open64];
#[used]
static KEEP_AT: [OpenAt; 2] = [openat, openat64];
