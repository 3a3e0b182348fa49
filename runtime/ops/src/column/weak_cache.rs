//! A small LRU cache keyed by a set of `Weak` pointers. An entry dies with any of its keys.

use std::sync::{Arc, Weak};

use parking_lot::{Mutex, MutexGuard};

/// Sets of things of which something is kept.
const MOST: usize = 4;

/// Things of type `W` are not kept alive; a `T` is found by exactly those, in their order.
pub struct WeakLruCache<W, T> {
    known: Mutex<Vec<(Vec<Weak<W>>, T)>>,
}

impl<W, T> Default for WeakLruCache<W, T> {
    fn default() -> Self {
        WeakLruCache { known: Mutex::default() }
    }
}

impl<W, T: Clone> WeakLruCache<W, T> {
    fn lock(&self) -> MutexGuard<'_, Vec<(Vec<Weak<W>>, T)>> {
        self.known.lock()
    }

    pub fn get(&self, of: &[&Arc<W>]) -> Option<T> {
        self.lock().iter().find(|(known, _)| is_same(known, of)).map(|(_, found)| found.clone())
    }

    /// In the place of what is there.
    pub fn put(&self, of: &[&Arc<W>], found: T) {
        let mut all = self.lock();
        all.retain(|(known, _)| !is_same(known, of) && known.iter().all(|one| one.strong_count() > 0));
        if all.len() >= MOST {
            all.remove(0);
        }
        all.push((of.iter().map(|one| Arc::downgrade(one)).collect(), found));
    }

    pub fn sum(&self, of: impl Fn(&T) -> u64) -> u64 {
        self.lock().iter().map(|(_, found)| of(found)).sum()
    }
}

/// A thing that is gone is like no other one: what points to it holds its place in memory.
fn is_same<W>(known: &[Weak<W>], of: &[&Arc<W>]) -> bool {
    known.len() == of.len() && known.iter().zip(of).all(|(a, b)| std::ptr::eq(a.as_ptr(), Arc::as_ptr(b)))
}
