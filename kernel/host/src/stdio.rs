//! Standard input, output and error of the cell process. This executable's own `read`, `write` and `writev` come first
//! in the loader's search, so libstd's calls arrive here. Pieces of both output streams go to one pipe in the order in
//! which they were written; reading asks the notebook's user for a line.
//!
//! C's `stdout` and `stderr` go the same way. Code that calls the kernel directly, and processes that the cell started,
//! write to descriptors 1 and 2. They are plain pipes that the kernel process reads too.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use libc::{c_char, c_int, c_void, iovec, size_t, ssize_t};
use onrush::host::OUTPUT_FD;
use onrush_wire::host::{OutputHeader, Stream};

static FRAMED: AtomicBool = AtomicBool::new(false);

/// From here on, output is framed.
pub fn start() {
    FRAMED.store(true, Ordering::Release);
    streams();
}

/// The functions that `fopencookie` of the C library takes.
#[repr(C)]
struct Functions {
    read: Option<unsafe extern "C" fn(*mut c_void, *mut c_char, size_t) -> ssize_t>,
    write: Option<unsafe extern "C" fn(*mut c_void, *const c_char, size_t) -> ssize_t>,
    seek: Option<unsafe extern "C" fn(*mut c_void, *mut i64, c_int) -> c_int>,
    close: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
}

unsafe extern "C" {
    static mut stdout: *mut libc::FILE;
    static mut stderr: *mut libc::FILE;
    fn fopencookie(cookie: *mut c_void, mode: *const c_char, functions: Functions) -> *mut libc::FILE;
}

/// # Safety
/// As of `cookie_write_function_t`.
unsafe extern "C" fn write_of_stream(fd: *mut c_void, bytes: *const c_char, length: size_t) -> ssize_t {
    // SAFETY: the C library's promise.
    let written = unsafe { write(fd as usize as c_int, bytes.cast(), length) };
    // An error is told by a 0.
    written.max(0)
}

/// The C library's own `stdout` and `stderr` write where Rust's do, so that both keep their order. A line is written at
/// once.
fn streams() {
    let functions = || Functions { read: None, write: Some(write_of_stream), seek: None, close: None };
    // SAFETY: no thread uses the streams yet. Both variables may be set; those that they held are never closed.
    unsafe {
        let out = fopencookie(std::ptr::without_provenance_mut(1), c"w".as_ptr(), functions());
        let err = fopencookie(std::ptr::without_provenance_mut(2), c"w".as_ptr(), functions());
        if !out.is_null() && !err.is_null() {
            libc::setvbuf(out, std::ptr::null_mut(), libc::_IOLBF, 4096);
            libc::setvbuf(err, std::ptr::null_mut(), libc::_IONBF, 0);
            stdout = out;
            stderr = err;
        }
    }
}

/// Writes out what C code has left in the buffer of its standard output.
pub fn flush() {
    // SAFETY: the stream is open.
    unsafe { libc::fflush(stdout) };
}

/// Ends the process at once: no destructors of variables, no exit handlers.
pub fn exit(status: c_int) -> ! {
    // SAFETY: `_exit` has no preconditions.
    unsafe { libc::_exit(status) }
}

fn stream_of(fd: c_int) -> Option<Stream> {
    if !FRAMED.load(Ordering::Acquire) {
        return None;
    }
    match fd {
        1 => Some(Stream::Stdout),
        2 => Some(Stream::Stderr),
        _ => None,
    }
}

/// Writes `length` bytes in pieces that the pipe takes whole. Returns what `write` would.
///
/// # Safety
/// `bytes` points to `length` readable bytes.
unsafe fn framed(stream: Stream, bytes: *const c_void, length: size_t) -> ssize_t {
    let mut done = 0;
    while done < length {
        let piece = (length - done).min(OutputHeader::MAX_PIECE);
        let header = OutputHeader { stream, length: piece as u32, cell: super::current_cell::cell() }.to_bytes();
        let parts = [
            iovec { iov_base: header.as_ptr() as *mut c_void, iov_len: header.len() },
            // SAFETY: `done + piece <= length`.
            iovec { iov_base: unsafe { bytes.cast::<u8>().add(done) } as *mut c_void, iov_len: piece },
        ];
        // SAFETY: both parts are readable; the kernel only reads them.
        let written = unsafe { libc::syscall(libc::SYS_writev, OUTPUT_FD, parts.as_ptr(), 2) };
        if written < 0 {
            // SAFETY: errno belongs to this thread.
            if unsafe { *libc::__errno_location() } == libc::EINTR {
                continue;
            }
            return if done > 0 { done as ssize_t } else { -1 };
        }
        done += piece;
    }
    length as ssize_t
}

/// # Safety
/// As of POSIX `write`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(fd: c_int, bytes: *const c_void, length: size_t) -> ssize_t {
    match stream_of(fd) {
        // SAFETY: the caller's promise.
        Some(stream) => unsafe { framed(stream, bytes, length) },
        // SAFETY: the caller's promise.
        None => unsafe { libc::syscall(libc::SYS_write, fd, bytes, length) as ssize_t },
    }
}

/// # Safety
/// As of POSIX `writev`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn writev(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    let Some(stream) = stream_of(fd) else {
        // SAFETY: the caller's promise.
        return unsafe { libc::syscall(libc::SYS_writev, fd, parts, count) as ssize_t };
    };
    let mut done = 0;
    for i in 0..count.max(0) as usize {
        // SAFETY: the caller gives `count` parts.
        let part = unsafe { &*parts.add(i) };
        // SAFETY: the caller's promise about each part.
        let written = unsafe { framed(stream, part.iov_base, part.iov_len) };
        if written < 0 {
            return if done > 0 { done } else { -1 };
        }
        done += written;
    }
    done
}

/// Typed bytes that nobody has read yet.
static TYPED: Mutex<VecDeque<u8>> = Mutex::new(VecDeque::new());

/// # Safety
/// As of POSIX `read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn read(fd: c_int, bytes: *mut c_void, length: size_t) -> ssize_t {
    if fd != 0 || !FRAMED.load(Ordering::Acquire) {
        // SAFETY: the caller's promise.
        return unsafe { libc::syscall(libc::SYS_read, fd, bytes, length) as ssize_t };
    }
    let Ok(mut typed) = TYPED.lock() else { return 0 };
    if typed.is_empty() {
        let Some(line) = onrush::host::input("", false) else { return 0 };
        typed.extend(line.bytes());
        typed.push_back(b'\n');
    }
    let count = length.min(typed.len());
    for (i, byte) in typed.drain(..count).enumerate() {
        // SAFETY: `i < count <= length`, and the caller gives `length` writable bytes.
        unsafe { bytes.cast::<u8>().add(i).write(byte) };
    }
    count as ssize_t
}

#[used]
static KEEP_R: unsafe extern "C" fn(c_int, *mut c_void, size_t) -> ssize_t = read;
#[used]
static KEEP: unsafe extern "C" fn(c_int, *const c_void, size_t) -> ssize_t = write;
#[used]
static KEEP_V: unsafe extern "C" fn(c_int, *const iovec, c_int) -> ssize_t = writev;
