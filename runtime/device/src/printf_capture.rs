//! The output of kernels. `printf` of a kernel writes to the standard output of its process. The capture redirects it
//! to memory, which is read when a launch has ended. An endless kernel prints without end: bytes over the limit are
//! counted and dropped.

use std::ffi::{c_char, c_int, c_void};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, FromRawFd};

use parking_lot::Mutex;

/// Bytes that are kept of what a launch prints.
const MAX_BYTES: u64 = 4 << 20;

/// The standard output of this process.
pub struct PrintfCapture {
    memory: File,
}

/// The destination of C's standard output.
struct Sink {
    memory: File,
    written: u64,
    dropped: u64,
}

static SINK: Mutex<Option<Sink>> = Mutex::new(None);

/// As glibc's `cookie_io_functions_t`.
#[repr(C)]
struct Cookie {
    read: Option<unsafe extern "C" fn(*mut c_void, *mut c_char, usize) -> isize>,
    write: Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> isize>,
    seek: Option<unsafe extern "C" fn(*mut c_void, *mut i64, c_int) -> c_int>,
    close: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
}

unsafe extern "C" {
    static mut stdout: *mut libc::FILE;
    fn fopencookie(cookie: *mut c_void, mode: *const c_char, functions: Cookie) -> *mut libc::FILE;
}

/// Says that all of it was taken, so that C's stream never fails.
unsafe extern "C" fn write(_cookie: *mut c_void, text: *const c_char, bytes: usize) -> isize {
    if let Some(sink) = SINK.lock().as_mut() {
        // SAFETY: the stream hands over its buffer.
        let text = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), bytes) };
        let room = MAX_BYTES.saturating_sub(sink.written).min(bytes as u64) as usize;
        let kept = if sink.memory.write_all(&text[..room]).is_ok() { room as u64 } else { 0 };
        sink.written += kept;
        sink.dropped += bytes as u64 - kept;
    }
    bytes as isize
}

impl PrintfCapture {
    /// From here on the process's standard output is kept, and written nowhere else.
    pub fn capture() -> io::Result<PrintfCapture> {
        // SAFETY: the name is a text that ends in a zero.
        let memory = unsafe { libc::memfd_create(c"onrush-printed".as_ptr(), libc::MFD_CLOEXEC) };
        if memory < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made, and nobody else has it.
        let memory = unsafe { File::from_raw_fd(memory) };
        // SAFETY: plain system call on two open descriptors. This is for writers that do not use C's stream.
        if unsafe { libc::dup2(memory.as_raw_fd(), 1) } < 0 {
            return Err(io::Error::last_os_error());
        }
        // The same position in the memory for all that write to it.
        let sink = Sink { memory: memory.try_clone()?, written: 0, dropped: 0 };
        *SINK.lock() = Some(sink);
        let functions = Cookie { read: None, write: Some(write), seek: None, close: None };
        // SAFETY: the functions are as glibc wants them, and the mode is a text that ends in a zero.
        let stream = unsafe { fopencookie(std::ptr::null_mut(), c"w".as_ptr(), functions) };
        if stream.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: glibc lets a program give this variable another stream; no thread prints yet.
        unsafe { stdout = stream };
        Ok(PrintfCapture { memory })
    }

    /// The output since the last call, and the number of bytes that are left out because they are over the limit.
    pub fn take(&mut self, limit: usize) -> io::Result<(String, u64)> {
        // SAFETY: flushes all of C's output streams.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        let mut sink = SINK.lock();
        let dropped = sink.as_mut().map_or(0, |sink| {
            sink.written = 0;
            std::mem::take(&mut sink.dropped)
        });
        let bytes = self.memory.seek(SeekFrom::End(0))?;
        if bytes == 0 {
            return Ok((String::new(), dropped));
        }
        self.memory.rewind()?;
        let mut text = vec![0u8; (bytes as usize).min(limit)];
        self.memory.read_exact(&mut text)?;
        self.memory.set_len(0)?;
        self.memory.rewind()?;
        let left_out = bytes - text.len() as u64 + dropped;
        Ok((String::from_utf8_lossy(&text).into_owned(), left_out))
    }
}
