//! Results by plan: what was computed for a frame is there for the next request, least recently used out; and what frames hold
//! is there for others of the same plan.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use onrush_frame::Table;
use parking_lot::{Mutex, MutexGuard};

#[derive(Debug)]
pub struct ResultCache {
    state: Mutex<State>,
    limit: u64,
}

#[derive(Debug, Default)]
struct State {
    clock: u64,
    bytes: u64,
    entries: HashMap<u128, Entry>,
}

#[derive(Debug)]
struct Entry {
    table: Arc<Table>,
    bytes: u64,
    used: u64,
}

impl ResultCache {
    /// Keeps at most `limit` bytes.
    pub fn new(limit: u64) -> Self {
        ResultCache { state: Mutex::default(), limit }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    pub fn get(&self, key: u128) -> Option<Arc<Table>> {
        let mut state = self.lock();
        state.clock += 1;
        let clock = state.clock;
        let entry = state.entries.get_mut(&key)?;
        entry.used = clock;
        Some(Arc::clone(&entry.table))
    }

    /// A result larger than half of the limit is not kept.
    pub fn put(&self, key: u128, table: Arc<Table>) {
        let bytes = table.bytes() + 256;
        if bytes > self.limit / 2 {
            return;
        }
        // Let go of when others may look again: large tables take the system a while.
        let mut gone = Vec::new();
        let mut state = self.lock();
        state.clock += 1;
        let used = state.clock;
        if let Some(old) = state.entries.insert(key, Entry { table, bytes, used }) {
            state.bytes -= old.bytes;
            gone.push(old);
        }
        state.bytes += bytes;
        while state.bytes > self.limit {
            let oldest = state.entries.iter().min_by_key(|(_, e)| e.used).map(|(key, _)| *key);
            let Some(old) = oldest.and_then(|key| state.entries.remove(&key)) else { break };
            state.bytes -= old.bytes;
            gone.push(old);
        }
        drop(state);
        drop(gone);
    }

    pub fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    /// Lets go of a table, under whatever keys.
    pub fn forget(&self, table: &Arc<Table>) {
        let mut state = self.lock();
        let gone: Vec<u128> =
            state.entries.iter().filter(|(_, e)| Arc::ptr_eq(&e.table, table)).map(|(key, _)| *key).collect();
        let gone: Vec<Entry> = gone.iter().filter_map(|key| state.entries.remove(key)).collect();
        state.bytes -= gone.iter().map(|entry| entry.bytes).sum::<u64>();
        drop(state);
        drop(gone);
    }

    pub fn clear(&self) {
        let mut state = self.lock();
        let gone = std::mem::take(&mut state.entries);
        state.bytes = 0;
        drop(state);
        drop(gone);
    }
}

/// What is held elsewhere, found by what it is. It keeps nothing alive.
#[derive(Debug)]
pub struct Known<T> {
    all: Mutex<HashMap<u128, Weak<T>>>,
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Known { all: Mutex::default() }
    }
}

impl<T> Known<T> {
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
