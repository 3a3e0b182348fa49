//! Shared memory: anonymous files (memfd), sealed once they are written.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;

use onrush_wire::limits;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

/// A memfd that `fill` wrote and nobody can change any more.
pub fn sealed_by(name: &str, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<OwnedFd> {
    let descriptor = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut file = File::from(descriptor);
    fill(&mut file)?;
    let descriptor = OwnedFd::from(file);
    fcntl_add_seals(&descriptor, SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(descriptor)
}

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

/// Makes a descriptor that a client sent safe to keep: one that is sealed is kept as it is, any other is copied.
pub fn keep(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    let length = checked_length(&descriptor)?;
    let all = SealFlags::WRITE | SealFlags::SHRINK;
    if rustix::fs::fcntl_get_seals(&descriptor).is_ok_and(|seals| seals.contains(all)) {
        return Ok(descriptor);
    }
    let mut source = File::from(descriptor);
    source.seek(SeekFrom::Start(0))?;
    // Its owner may make it longer meanwhile.
    sealed_by("onrush-values", |kept| io::copy(&mut source.take(length), kept).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_memory_cannot_be_changed() {
        let memory = sealed("test", b"abc").unwrap();
        assert_eq!(length(&memory).unwrap(), 3);
        let mut file = File::from(memory.try_clone().unwrap());
        assert!(file.write_all(b"x").is_err());
        assert!(file.set_len(0).is_err());
        assert_eq!(read(&keep(memory).unwrap()).unwrap(), b"abc");
    }

    #[test]
    fn what_is_no_memory_or_says_that_it_is_huge_is_refused() {
        let huge = File::from(memfd_create("test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap());
        huge.set_len(1 << 42).unwrap();
        let seals = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW;
        fcntl_add_seals(&huge, seals).unwrap();
        assert!(read(&huge.try_clone().unwrap().into()).unwrap_err().to_string().contains("ONRUSH_MEMORY"));
        assert!(keep(huge.into()).unwrap_err().to_string().contains("they have 4.4 TB"));
        let endless = File::open("/dev/zero").unwrap();
        assert!(keep(endless.into()).unwrap_err().to_string().contains("not shared memory"));
        let open = File::from(memfd_create("test", MemfdFlags::CLOEXEC).unwrap());
        (&open).write_all(b"abc").unwrap();
        assert_eq!(read(&keep(open.into()).unwrap()).unwrap(), b"abc");
    }
}
