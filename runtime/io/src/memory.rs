//! Memory that readers take in addition to the rows that come out: source text, and columns that are being built. It is
//! counted before it is allocated. A small file that unpacks to a large one is refused before the machine has no memory
//! left.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use onrush_wire::limits::size;
use onrush_wire::{Class, Diagnostic};

/// The source of memory for readers. `runtime/engine`'s pool implements it.
pub trait Memory: Send + Sync {
    /// Counts bytes before they are taken.
    ///
    /// # Errors
    /// If there are not as many.
    fn take(&self, bytes: u64) -> Result<(), Full>;

    /// Takes back what [`Memory::take`] counted.
    fn give_back(&self, bytes: u64);
}

/// There is not enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full {
    /// The bytes in all.
    pub limit: u64,
    /// The bytes that are free.
    pub free: u64,
}

/// As much as the machine gives: for tools and tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLimit;

impl Memory for NoLimit {
    fn take(&self, _: u64) -> Result<(), Full> {
        Ok(())
    }

    fn give_back(&self, _: u64) {}
}

/// The bytes that one reader has taken. They are given back when it is dropped.
pub(crate) struct Reservation<'a> {
    memory: &'a dyn Memory,
    bytes: AtomicU64,
}

impl<'a> Reservation<'a> {
    pub fn new(memory: &'a dyn Memory) -> Self {
        Reservation { memory, bytes: AtomicU64::new(0) }
    }

    /// Counts bytes for a file that is read.
    pub fn take(&self, path: &Path, bytes: u64) -> Result<(), Diagnostic> {
        self.memory.take(bytes).map_err(|full| {
            Diagnostic::error(
                Class::Resources,
                "out-of-memory",
                format!(
                    "`{}` does not fit into memory: {} more are needed to read it, and of the {} of ONRUSH_MEMORY {} are free",
                    path.display(),
                    size(bytes),
                    size(full.limit),
                    size(full.free)
                ),
            )
            .help("split the file, turn it into Parquet once, which is read piece by piece, or raise ONRUSH_MEMORY")
        })?;
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Counts as many of these bytes as there are, and says how many.
    pub fn take_up_to(&self, mut bytes: u64) -> u64 {
        while let Err(full) = self.memory.take(bytes) {
            bytes = full.free.min(bytes.saturating_sub(1));
        }
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        bytes
    }

    pub fn give_back(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.memory.give_back(bytes);
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.memory.give_back(*self.bytes.get_mut());
    }
}
