//! Which columns of host tables are in device memory. A column is known by its arrays: as long as someone else holds these, what was
//! uploaded once is used again; when nobody does, it goes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::array::{Array, ArrayRef};

use crate::column::DeviceColumn;

#[derive(Default)]
pub struct Residency {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    clock: u64,
    columns: HashMap<Key, Held>,
}

/// The addresses of a column's arrays.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key(Vec<usize>);

struct Held {
    /// Keeps the addresses from being used again.
    parts: Vec<ArrayRef>,
    column: DeviceColumn,
    used: u64,
}

fn key(parts: &[ArrayRef]) -> Key {
    Key(parts.iter().map(|part| Arc::as_ptr(part).cast::<()>() as usize).collect())
}

impl Residency {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn get(&self, parts: &[ArrayRef]) -> Option<DeviceColumn> {
        let mut state = self.lock();
        state.clock += 1;
        let clock = state.clock;
        let held = state.columns.get_mut(&key(parts))?;
        held.used = clock;
        Some(held.column.clone())
    }

    /// Whether all columns of some batches are there.
    pub fn holds(&self, batches: &[arrow::array::RecordBatch]) -> bool {
        let columns = batches.first().map_or(0, |batch| batch.num_columns());
        let state = self.lock();
        columns > 0 && (0..columns).all(|column| state.columns.contains_key(&key(&parts(batches, column))))
    }

    pub fn put(&self, parts: &[ArrayRef], column: &DeviceColumn) {
        if parts.is_empty() {
            return;
        }
        let mut state = self.lock();
        state.clock += 1;
        let used = state.clock;
        state.columns.insert(key(parts), Held { parts: parts.to_vec(), column: column.clone(), used });
    }

    /// Lets go of columns whose arrays nobody else holds.
    pub fn sweep(&self) {
        self.lock().columns.retain(|_, held| held.parts.iter().any(|part| Arc::strong_count(part) > 1));
    }

    /// Lets go of the column that was used longest ago; returns its bytes.
    pub fn evict(&self) -> Option<u64> {
        let mut state = self.lock();
        let oldest = state.columns.iter().min_by_key(|(_, held)| held.used).map(|(key, _)| key.clone())?;
        state.columns.remove(&oldest).map(|held| held.column.bytes())
    }

    /// Bytes of device memory, and of those that belong to some arrays.
    pub fn bytes(&self) -> u64 {
        self.lock().columns.values().map(|held| held.column.bytes()).sum()
    }
}

/// The arrays of one column, in order.
pub fn parts(batches: &[arrow::array::RecordBatch], column: usize) -> Vec<ArrayRef> {
    batches.iter().map(|batch| Arc::clone(batch.column(column))).filter(|part| !part.is_empty()).collect()
}
