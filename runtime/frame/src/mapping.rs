//! Memory-mapped files of tables, and the addresses at which they begin.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;

use arrow::buffer::Buffer;
use parking_lot::RwLock;

/// The first addresses of the mapped files.
static MAPPED: RwLock<BTreeSet<usize>> = RwLock::new(BTreeSet::new());
/// The first addresses of mapped shared memory.
static SEALED: RwLock<BTreeSet<usize>> = RwLock::new(BTreeSet::new());

struct Mapping {
    mapping: memmap2::Mmap,
    /// The list that has its address.
    list: &'static RwLock<BTreeSet<usize>>,
}

impl Mapping {
    fn new(mapping: memmap2::Mmap, list: &'static RwLock<BTreeSet<usize>>) -> Self {
        list.write().insert(mapping.as_ptr() as usize);
        Mapping { mapping, list }
    }
}

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        &self.mapping
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        self.list.write().remove(&(self.mapping.as_ptr() as usize));
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
    Ok(Buffer::from(bytes::Bytes::from_owner(Mapping::new(mapping, &MAPPED))))
}

/// Whether a buffer that begins at this address is a table's file.
pub fn is_mapped(start: usize) -> bool {
    MAPPED.read().contains(&start)
}

/// Maps memory that is sealed against writing and shrinking.
///
/// # Errors
/// If the system cannot map it.
pub fn map_sealed(file: &File) -> io::Result<Buffer> {
    if file.metadata()?.len() == 0 {
        return Ok(Buffer::from(&[]));
    }
    // SAFETY: the callers have looked at the seals: nobody can write to the memory or cut it. The mapping is read-only.
    let mapping = unsafe { memmap2::Mmap::map(file) }?;
    Ok(Buffer::from(bytes::Bytes::from_owner(Mapping::new(mapping, &SEALED))))
}

/// Whether a buffer that begins at this address is a mapped file, in memory or not.
pub fn is_file(start: usize) -> bool {
    is_mapped(start) || SEALED.read().contains(&start)
}
