//! Results by plan: an LRU cache of computed frames for the next request, and a map of weak references to the results
//! that frames hold.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use lru::LruCache;
use onrush_frame::Table;
use parking_lot::{Mutex, MutexGuard};

#[derive(Debug)]
pub struct ResultCache {
    state: Mutex<State>,
    /// The most bytes of all results.
    limit: u64,
}

#[derive(Debug)]
struct State {
    bytes: u64,
    entries: LruCache<u128, Entry>,
}

#[derive(Debug)]
struct Entry {
    table: Arc<Table>,
    bytes: u64,
}

impl ResultCache {
    /// Keeps at most `limit` bytes.
    pub fn new(limit: u64) -> Self {
        ResultCache { state: Mutex::new(State { bytes: 0, entries: LruCache::unbounded() }), limit }
    }

    pub fn get(&self, key: u128) -> Option<Arc<Table>> {
        self.state.lock().entries.get(&key).map(|entry| Arc::clone(&entry.table))
    }

    /// A result larger than half of the limit is not kept.
    pub fn put(&self, key: u128, table: Arc<Table>) {
        let bytes = table.bytes() + 256;
        if bytes > self.limit / 2 {
            return;
        }
        // Let go of when others may look again: large tables take the system a while.
        let mut gone = Vec::new();
        let mut state = self.state.lock();
        if let Some(old) = state.entries.put(key, Entry { table, bytes }) {
            state.bytes -= old.bytes;
            gone.push(old);
        }
        state.bytes += bytes;
        while state.bytes > self.limit {
            let Some((_, old)) = state.entries.pop_lru() else { break };
            state.bytes -= old.bytes;
            gone.push(old);
        }
        drop(state);
        drop(gone);
    }

    pub fn bytes(&self) -> u64 {
        self.state.lock().bytes
    }

    /// Lets go of a table, under whatever keys.
    pub fn forget(&self, table: &Arc<Table>) {
        let mut state = self.state.lock();
        let keys = state.entries.iter().filter(|(_, entry)| Arc::ptr_eq(&entry.table, table)).map(|(key, _)| *key);
        let keys: Vec<u128> = keys.collect();
        let gone: Vec<Entry> = keys.iter().filter_map(|key| state.entries.pop(key)).collect();
        state.bytes -= gone.iter().map(|entry| entry.bytes).sum::<u64>();
        drop(state);
        drop(gone);
    }

    pub fn clear(&self) {
        let mut state = self.state.lock();
        let gone = std::mem::replace(&mut state.entries, LruCache::unbounded());
        state.bytes = 0;
        drop(state);
        drop(gone);
    }
}

/// Objects that are held elsewhere, by the key of their plan. It keeps nothing alive.
#[derive(Debug)]
pub struct WeakMap<T> {
    all: Mutex<HashMap<u128, Weak<T>>>,
}

impl<T> Default for WeakMap<T> {
    fn default() -> Self {
        WeakMap { all: Mutex::default() }
    }
}

impl<T> WeakMap<T> {
    fn lock(&self) -> MutexGuard<'_, HashMap<u128, Weak<T>>> {
        self.all.lock()
    }

    pub fn put(&self, key: u128, held: &Arc<T>) {
        let mut all = self.lock();
        // Now and then, so that a look at all of them is paid for by as many that were added.
        if all.len().is_power_of_two() {
            all.retain(|_, held| held.strong_count() > 0);
        }
        all.insert(key, Arc::downgrade(held));
    }

    /// How many are known, also of those that nobody holds any more.
    pub fn entries(&self) -> usize {
        self.lock().len()
    }

    pub fn get(&self, key: u128) -> Option<Arc<T>> {
        self.lock().get(&key)?.upgrade()
    }
}
