//! Tables in sealed shared memory: an Arrow IPC file in a memfd, which other processes map and nobody can change.

use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use arrow::buffer::Buffer;
use parking_lot::Mutex;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, memfd_create};

use crate::mapping;

/// The seals that make a mapping safe: nobody can write to the memory or cut it.
const IMMUTABLE: SealFlags = SealFlags::WRITE.union(SealFlags::SHRINK);

/// An Arrow IPC file in sealed memory.
#[derive(Debug)]
pub struct SealedFile {
    memory: OwnedFd,
    bytes: u64,
    /// The address of the mapping that a table's arrays are in.
    mapped_at: OnceLock<usize>,
}

impl SealedFile {
    /// The file that `fill` writes.
    ///
    /// # Errors
    /// Errors of [`sealed_by`].
    pub fn write(fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<SealedFile> {
        let memory = sealed_by("onrush-frame", fill)?;
        let bytes = u64::try_from(fstat(&memory)?.st_size).unwrap_or(0);
        Ok(SealedFile { memory, bytes, mapped_at: OnceLock::new() })
    }

    /// Its bytes, mapped.
    ///
    /// # Errors
    /// If the system cannot map it.
    pub fn map(&self) -> io::Result<Buffer> {
        let mapped = mapping::map_sealed(&File::from(self.memory.try_clone()?))?;
        self.mapped_at.get_or_init(|| mapped.as_ptr() as usize);
        Ok(mapped)
    }

    /// Whether a buffer is in the first mapping of the file.
    pub(crate) fn has(&self, buffer: &Buffer) -> bool {
        self.mapped_at.get().is_some_and(|start| *start == buffer.data_ptr().as_ptr() as usize)
    }

    pub fn memory(&self) -> BorrowedFd<'_> {
        use std::os::fd::AsFd;
        self.memory.as_fd()
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A memfd that `fill` wrote and nobody can change any more.
///
/// # Errors
/// Errors of `fill`, and if the system has no memory.
pub fn sealed_by(name: &str, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<OwnedFd> {
    let descriptor = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut file = File::from(descriptor);
    fill(&mut file)?;
    let descriptor = OwnedFd::from(file);
    fcntl_add_seals(&descriptor, IMMUTABLE | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(descriptor)
}

/// Whether nobody can change or cut the memory behind a descriptor.
pub fn is_immutable(descriptor: &OwnedFd) -> bool {
    fcntl_get_seals(descriptor).is_ok_and(|seals| seals.contains(IMMUTABLE))
}

/// The bytes of sealed memory, mapped. `None` if it is not sealed: then others can change it.
///
/// # Errors
/// If the system cannot map it.
pub fn map(descriptor: &OwnedFd) -> io::Result<Option<Buffer>> {
    match is_immutable(descriptor) {
        true => mapping::map_sealed(&File::from(descriptor.try_clone()?)).map(Some),
        false => Ok(None),
    }
}

/// The copy of a table's rows in sealed memory, if one was made.
#[derive(Debug, Default)]
pub(crate) struct SealedCopy(Mutex<Option<Arc<SealedFile>>>);

impl SealedCopy {
    pub fn of(file: Arc<SealedFile>) -> Self {
        SealedCopy(Mutex::new(Some(file)))
    }

    pub fn get(&self) -> Option<Arc<SealedFile>> {
        self.0.lock().clone()
    }

    pub fn set(&self, file: Arc<SealedFile>) {
        *self.0.lock() = Some(file);
    }
}

impl Clone for SealedCopy {
    fn clone(&self) -> Self {
        SealedCopy(Mutex::new(self.get()))
    }
}
