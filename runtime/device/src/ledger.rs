//! Who holds how much of a device's memory: reserve, then allocate. It counts; it allocates nothing itself.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::error::{Error, Result};

/// Allocations are counted in the units that the driver's pool hands out.
pub const UNIT: u64 = 512;

/// Whom memory is counted for: a notebook, or a part of the engine.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(Arc<str>);

impl Owner {
    pub fn new(name: impl AsRef<str>) -> Self {
        Owner(Arc::from(name.as_ref()))
    }

    pub fn name(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Bytes. Reserved bytes that are not yet allocated are not in `used`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub used: u64,
    pub reserved: u64,
    /// The most that was used and reserved at one time.
    pub high_water: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerUsage {
    pub owner: Owner,
    pub usage: Usage,
}

#[derive(Default)]
struct Books {
    capacity: u64,
    total: Usage,
    owners: BTreeMap<Owner, Usage>,
}

/// Shared by all that allocate on one device.
#[derive(Clone)]
pub struct Ledger {
    books: Arc<Mutex<Books>>,
}

impl Ledger {
    pub fn new(capacity: u64) -> Self {
        Ledger { books: Arc::new(Mutex::new(Books { capacity, ..Books::default() })) }
    }

    /// Sets bytes aside that nobody else can allocate. The end of the reservation gives back the bytes that were not
    /// allocated.
    pub fn reserve(&self, owner: &Owner, bytes: u64) -> Result<Reservation> {
        let bytes = rounded(bytes);
        let mut books = self.books.lock();
        let free = books.room();
        if bytes > free {
            let largest = books.owners.iter().max_by_key(|(_, usage)| usage.used + usage.reserved);
            return Err(Error::OutOfMemory {
                requested: bytes,
                free,
                capacity: books.capacity,
                largest: largest.map(|(owner, usage)| (owner.name().to_string(), usage.used + usage.reserved)),
            });
        }
        books.change(owner, |usage| usage.reserved += bytes);
        Ok(Reservation { ledger: self.clone(), owner: owner.clone(), left: bytes })
    }

    pub fn capacity(&self) -> u64 {
        self.books.lock().capacity
    }

    /// Bytes that can be reserved now.
    pub fn room(&self) -> u64 {
        self.books.lock().room()
    }

    pub fn total(&self) -> Usage {
        self.books.lock().total
    }

    /// By owner, those that hold or ever held something.
    pub fn owners(&self) -> Vec<OwnerUsage> {
        let books = self.books.lock();
        books.owners.iter().map(|(owner, usage)| OwnerUsage { owner: owner.clone(), usage: *usage }).collect()
    }

    /// Forgets an owner that holds nothing, such as a notebook that was closed.
    pub fn forget(&self, owner: &Owner) {
        let mut books = self.books.lock();
        if books.owners.get(owner).is_some_and(|usage| usage.used + usage.reserved == 0) {
            books.owners.remove(owner);
        }
    }
}

impl Books {
    fn room(&self) -> u64 {
        self.capacity.saturating_sub(self.total.used + self.total.reserved)
    }

    fn change(&mut self, owner: &Owner, change: impl Fn(&mut Usage)) {
        let usage = self.owners.entry(owner.clone()).or_default();
        for usage in [usage, &mut self.total] {
            change(usage);
            usage.high_water = usage.high_water.max(usage.used + usage.reserved);
        }
    }
}

/// Bytes set aside for an owner.
pub struct Reservation {
    ledger: Ledger,
    owner: Owner,
    left: u64,
}

impl Reservation {
    /// Bytes that can still be allocated from it.
    pub fn left(&self) -> u64 {
        self.left
    }

    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Moves bytes from the reservation to a separate entry. A reservation that is too small grows first.
    pub(crate) fn take(&mut self, bytes: u64) -> Result<Entry> {
        let bytes = rounded(bytes);
        if bytes > self.left {
            let mut more = self.ledger.reserve(&self.owner, bytes - self.left)?;
            self.left += std::mem::take(&mut more.left);
        }
        self.left -= bytes;
        self.ledger.books.lock().change(&self.owner, |usage| {
            usage.reserved -= bytes;
            usage.used += bytes;
        });
        Ok(Entry { ledger: self.ledger.clone(), owner: self.owner.clone(), bytes })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let left = self.left;
        self.ledger.books.lock().change(&self.owner, |usage| usage.reserved -= left);
    }
}

/// Bytes that an allocation holds.
pub(crate) struct Entry {
    ledger: Ledger,
    owner: Owner,
    bytes: u64,
}

impl Entry {
    pub fn owner(&self) -> &Owner {
        &self.owner
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let bytes = self.bytes;
        self.ledger.books.lock().change(&self.owner, |usage| usage.used -= bytes);
    }
}

fn rounded(bytes: u64) -> u64 {
    bytes.div_ceil(UNIT) * UNIT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reserved_nobody_else_gets() {
        let ledger = Ledger::new(4096);
        let (a, b) = (Owner::new("a.ipynb"), Owner::new("b.ipynb"));
        let mut first = ledger.reserve(&a, 3000).unwrap();
        assert_eq!(ledger.total(), Usage { used: 0, reserved: 3072, high_water: 3072 });
        match ledger.reserve(&b, 1025) {
            Err(Error::OutOfMemory { requested: 1536, free: 1024, capacity: 4096, largest: Some((owner, 3072)) }) => {
                assert_eq!(owner, "a.ipynb");
            }
            other => panic!("{:?}", other.err()),
        }
        let entry = first.take(1000).unwrap();
        assert_eq!(ledger.total(), Usage { used: 1024, reserved: 2048, high_water: 3072 });
        // More than was reserved: the reservation grows by what is free.
        let second = first.take(2560).unwrap();
        assert_eq!(ledger.total(), Usage { used: 3584, reserved: 0, high_water: 3584 });
        drop((entry, second, first));
        assert_eq!(ledger.total(), Usage { used: 0, reserved: 0, high_water: 3584 });
        assert_eq!(ledger.owners().len(), 1);
        ledger.forget(&a);
        assert_eq!(ledger.owners(), []);
    }
}
