//! Shared memory: anonymous files (memfd), sealed once they are written.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;

use onrush_frame::sealed;
use onrush_wire::limits;

pub use onrush_frame::sealed::sealed_by;

pub fn sealed(name: &str, bytes: &[u8]) -> io::Result<OwnedFd> {
    sealed_by(name, |file| file.write_all(bytes))
}

pub fn length(descriptor: &OwnedFd) -> io::Result<u64> {
    Ok(rustix::fs::fstat(descriptor)?.st_size.try_into().unwrap_or(0))
}

/// The length of what someone else has sent. A file may say that it has any, and a pipe has none.
fn checked_length(descriptor: &OwnedFd) -> io::Result<u64> {
    let stat = rustix::fs::fstat(descriptor)?;
    if !rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not shared memory"));
    }
    let (length, limit) = (stat.st_size.try_into().unwrap_or(0), limits::session_memory());
    if length > limit {
        let (length, limit) = (limits::size(length), limits::size(limit));
        let message = format!("they have {length}, and ONRUSH_MEMORY is {limit}");
        return Err(io::Error::new(io::ErrorKind::OutOfMemory, message));
    }
    Ok(length)
}

/// A copy of what is in a descriptor. The file position of other holders is left alone.
pub fn read(descriptor: &OwnedFd) -> io::Result<Vec<u8>> {
    use std::os::unix::fs::FileExt;
    let file = File::from(descriptor.try_clone()?);
    let size = usize::try_from(checked_length(descriptor)?).map_err(io::Error::other)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size).map_err(io::Error::other)?;
    bytes.resize(size, 0);
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// The bytes of a file from its beginning, without its position.
pub struct At<'a> {
    file: &'a File,
    at: u64,
    length: u64,
}

impl<'a> At<'a> {
    pub fn new(file: &'a File, length: u64) -> At<'a> {
        At { file, at: 0, length }
    }
}

impl Read for At<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        use std::os::unix::fs::FileExt;
        let left = usize::try_from(self.length - self.at).unwrap_or(usize::MAX);
        let most = bytes.len().min(left);
        let read = self.file.read_at(&mut bytes[..most], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Makes a descriptor that a client sent safe to keep: one that is sealed is kept as it is, any other is copied.
pub fn keep(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    let length = checked_length(&descriptor)?;
    if sealed::is_immutable(&descriptor) {
        return Ok(descriptor);
    }
    let mut source = File::from(descriptor);
    source.seek(SeekFrom::Start(0))?;
    // Its owner may make it longer meanwhile.
    sealed_by("onrush-values", |kept| io::copy(&mut source.take(length), kept).map(drop))
}
