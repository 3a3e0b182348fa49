//! Memory-mapped files of tables, and the addresses at which they begin.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;

use arrow::buffer::Buffer;
use parking_lot::RwLock;

/// The first addresses of the mapped files.
static MAPPED: RwLock<BTreeSet<usize>> = RwLock::new(BTreeSet::new());

struct Mapping(memmap2::Mmap);

impl Mapping {
    fn new(mapping: memmap2::Mmap) -> Self {
        MAPPED.write().insert(mapping.as_ptr() as usize);
        Mapping(mapping)
    }
}

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        MAPPED.write().remove(&(self.0.as_ptr() as usize));
    }
}

/// Maps a file that has no name, by its only descriptor.
///
/// # Errors
/// If the system cannot map it.
pub fn map(file: File) -> io::Result<Buffer> {
    // SAFETY: the file has no name, and its only descriptor ends with this function. Nobody can write to the file or
    // cut it while the mapping lives. The mapping is read-only.
    let mapping = unsafe { memmap2::Mmap::map(&file) }?;
    Ok(Buffer::from(bytes::Bytes::from_owner(Mapping::new(mapping))))
}

/// Whether a buffer that begins at this address is a table's file.
pub fn is_mapped(start: usize) -> bool {
    MAPPED.read().contains(&start)
}
