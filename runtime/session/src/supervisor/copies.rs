//! Sealed files that the supervisor keeps to make objects again: of models, and of the rows that cells sent. They are
//! in shared memory as long as they take no more than a part of `ONRUSH_MEMORY` together. Past that the oldest are
//! moved to unnamed files on disk.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Weak};

use onrush_wire::{limits, paths};
use parking_lot::Mutex;

use crate::memfd;

/// The part of the session's memory that copies may take.
const PART: u64 = 8;

/// A file that is kept.
#[derive(Debug)]
pub struct Copy {
    file: Mutex<Arc<OwnedFd>>,
    bytes: u64,
}

impl Copy {
    /// The file, wherever it is.
    pub fn file(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.file.lock())
    }
}

/// The copies in memory, oldest first.
#[derive(Debug, Default)]
pub struct Copies {
    held: Mutex<VecDeque<Weak<Copy>>>,
}

impl Copies {
    /// Keeps a file in shared memory, and moves the oldest others to disk if there are too many.
    pub fn keep(&self, file: Arc<OwnedFd>) -> Arc<Copy> {
        let bytes = memfd::length(&file).unwrap_or(0);
        let copy = Arc::new(Copy { file: Mutex::new(file), bytes });
        let mut held = self.held.lock();
        held.push_back(Arc::downgrade(&copy));
        make_room(&mut held, limits::session_memory() / PART, &paths::cache_dir().join("rows"));
        copy
    }
}

fn make_room(held: &mut VecDeque<Weak<Copy>>, limit: u64, folder: &Path) {
    held.retain(|copy| copy.strong_count() > 0);
    let mut bytes: u64 = held.iter().filter_map(Weak::upgrade).map(|copy| copy.bytes).sum();
    while bytes > limit
        && let Some(oldest) = held.pop_front()
    {
        let Some(copy) = oldest.upgrade() else { continue };
        // A disk without room: the copy stays in memory, and is not tried again.
        if let Ok(file) = on_disk(&copy.file(), folder) {
            *copy.file.lock() = Arc::new(file);
        }
        bytes -= copy.bytes;
    }
}

/// An unnamed file with the same content, in a folder of the user's own.
fn on_disk(file: &OwnedFd, folder: &Path) -> io::Result<OwnedFd> {
    paths::private_dir(folder)?;
    let mut target = tempfile::tempfile_in(folder)?;
    let length = memfd::length(file)?;
    // By offset: the file's position is that of all who have it.
    let source = File::from(file.try_clone()?);
    io::copy(&mut memfd::At::new(&source, length), &mut target)?;
    Ok(OwnedFd::from(target))
}
