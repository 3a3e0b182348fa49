//! What kernels print. `printf` of a kernel writes to the standard output of its process: that becomes a piece of memory, which is
//! read when a launch has ended.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::FromRawFd;

/// The standard output of this process.
pub struct Printed {
    memory: File,
}

impl Printed {
    /// From here on the process's standard output is kept, and written nowhere else.
    pub fn capture() -> io::Result<Printed> {
        // SAFETY: the name is a text that ends in a zero.
        let memory = unsafe { libc::memfd_create(c"onrush-printed".as_ptr(), libc::MFD_CLOEXEC) };
        if memory < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made, and nobody else has it.
        let memory = unsafe { File::from_raw_fd(memory) };
        // SAFETY: plain system call on two open descriptors.
        if unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&memory), 1) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Printed { memory })
    }

    /// What was printed since the last call, and how many bytes of it are left out because they are over the limit.
    pub fn take(&mut self, limit: usize) -> io::Result<(String, u64)> {
        // SAFETY: flushes all of C's output streams.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        let bytes = self.memory.seek(SeekFrom::End(0))?;
        if bytes == 0 {
            return Ok((String::new(), 0));
        }
        self.memory.rewind()?;
        let mut text = vec![0u8; (bytes as usize).min(limit)];
        self.memory.read_exact(&mut text)?;
        self.memory.set_len(0)?;
        self.memory.rewind()?;
        let left_out = bytes - text.len() as u64;
        Ok((String::from_utf8_lossy(&text).into_owned(), left_out))
    }
}
