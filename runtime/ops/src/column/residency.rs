//! A cache of uploaded columns, keyed by their Arrow arrays. An upload is reused as long as someone else holds the
//! arrays. Other entries are dropped while a later execution runs, or after a while without executions. The least
//! recently used ones are evicted if memory is short.

mod pinned_cache;

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringViewArray};

use onrush_device::phases::{self, Phase};
use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::column::DeviceColumn;
use crate::ir::expr::DeviceType;
use crate::launch::stream_context::StreamContext;
use crate::launch::stream_context::StreamGuard;
use crate::{Error, Result};
use pinned_cache::{PinnedCache, PinnedColumn};

#[derive(Default)]
pub struct Residency {
    state: Mutex<State>,
    /// Columns that a thread uploads. Other threads wait for it.
    uploading: Mutex<HashSet<ColumnKey>>,
    uploaded: Condvar,
}

/// A column that this thread uploads.
struct Upload<'a> {
    residency: &'a Residency,
    key: ColumnKey,
}

impl Drop for Upload<'_> {
    fn drop(&mut self) {
        self.residency.uploading.lock().remove(&self.key);
        self.residency.uploaded.notify_all();
    }
}

#[derive(Default)]
struct State {
    clock: u64,
    sweeps: u64,
    swept: Option<Instant>,
    changes: u64,
    columns: HashMap<ColumnKey, Entry>,
    /// Pinned copies of evicted columns. `restored` counts the columns that came from them.
    pinned: PinnedCache,
    restored: u64,
    /// Whether string columns have a high cardinality, by the addresses of their arrays. An entry counts as long as its
    /// first array lives.
    many: HashMap<Vec<usize>, (Weak<dyn Array>, bool)>,
}

/// The arrays of one column, in order, none of them empty. A clone is found in the [`Residency`] at the same cost
/// however many arrays there are. A reader that reads a column several times keeps a clone.
#[derive(Clone)]
pub struct ColumnChunks(Arc<ChunkList>);

struct ChunkList {
    arrays: Vec<ArrayRef>,
    addresses: Vec<usize>,
    hash: u64,
}

impl ColumnChunks {
    pub fn new(arrays: Vec<ArrayRef>) -> ColumnChunks {
        let addresses: Vec<usize> = arrays.iter().map(address).collect();
        let mut hasher = DefaultHasher::new();
        addresses.hash(&mut hasher);
        ColumnChunks(Arc::new(ChunkList { arrays, addresses, hash: hasher.finish() }))
    }

    /// A column of some batches.
    pub fn of(batches: &[RecordBatch], column: usize) -> ColumnChunks {
        let arrays = batches.iter().map(|batch| Arc::clone(batch.column(column)));
        ColumnChunks::new(arrays.filter(|part| !part.is_empty()).collect())
    }

    pub fn arrays(&self) -> &[ArrayRef] {
        &self.0.arrays
    }
}

impl PartialEq for ColumnChunks {
    fn eq(&self, other: &ColumnChunks) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.addresses == other.0.addresses
    }
}

impl Eq for ColumnChunks {}

impl Hash for ColumnChunks {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash.hash(state);
    }
}

/// A column's arrays, which keep their addresses from being used again, and whether its strings are stored as bytes.
#[derive(Clone, PartialEq, Eq, Hash)]
struct ColumnKey(ColumnChunks, bool);

struct Entry {
    column: DeviceColumn,
    used: u64,
}

fn address(part: &ArrayRef) -> usize {
    Arc::as_ptr(part).cast::<()>().addr()
}

/// Rows that are sampled to tell whether a column has a high cardinality.
const SAMPLE: usize = 1 << 12;

/// Whether nearly all strings of a sample differ. In a column with fewer than about [`SAMPLE`] times 8 distinct strings
/// they do not.
fn differ(parts: &[ArrayRef]) -> bool {
    let rows: usize = parts.iter().map(|part| part.len()).sum();
    let step = (rows / SAMPLE).max(1);
    let (mut seen, mut texts) = (HashSet::new(), 0);
    let mut before = 0_usize;
    for part in parts {
        let mut row = before.next_multiple_of(step) - before;
        let view = part.as_any().downcast_ref::<StringViewArray>();
        let (short, long) = (part.as_string_opt::<i32>(), part.as_string_opt::<i64>());
        if view.is_none() && short.is_none() && long.is_none() {
            // It has another type: it is a dictionary already.
            return false;
        }
        while row < part.len() {
            if part.is_valid(row) {
                let text = match (view, short, long) {
                    (Some(texts), ..) => texts.value(row),
                    (_, Some(texts), _) => texts.value(row),
                    (.., Some(texts)) => texts.value(row),
                    _ => "",
                };
                texts += 1;
                seen.insert(text);
            }
            row += step;
        }
        before += part.len();
    }
    (texts - seen.len()) * 16 < texts
}

/// Drops columns. Device memory is free at once. Much host memory is freed on another thread: the system takes a tenth
/// of a second for a gigabyte. The caller does not wait for that, because the thread that finds unused columns is not
/// the one that used them.
fn let_go(gone: Vec<(ColumnKey, Entry)>, saved: Vec<(ColumnKey, Arc<PinnedColumn>)>) {
    const LARGE: usize = 16 << 20;
    let keys: Vec<ColumnKey> = gone.into_iter().map(|(key, _)| key).collect();
    let all = keys.iter().chain(saved.iter().map(|(key, _)| key));
    let bytes: usize = all.flat_map(|key| key.0.arrays()).map(|array| array.get_buffer_memory_size()).sum();
    if bytes > LARGE {
        std::thread::spawn(move || drop((saved, keys)));
    }
}

impl Residency {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Whether a string column has such a high cardinality that expressions read the string of each row rather than
    /// each dictionary entry. Sampled once.
    pub fn has_many_strings(&self, parts: &ColumnChunks) -> bool {
        let (parts, place) = (parts.arrays(), parts.0.addresses.clone());
        let Some(first) = parts.first() else { return false };
        if let Some((alive, many)) = self.lock().many.get(&place)
            && alive.strong_count() > 0
        {
            return *many;
        }
        let many = differ(parts);
        let mut state = self.lock();
        state.many.retain(|_, (alive, _)| alive.strong_count() > 0);
        state.many.insert(place, (Arc::downgrade(first), many));
        many
    }

    /// A resident column, with its strings as bytes or as dictionary indices.
    pub fn get(&self, parts: &ColumnChunks, as_bytes: bool) -> Option<DeviceColumn> {
        let mut state = self.lock();
        state.clock += 1;
        let clock = state.clock;
        let held = state.columns.get_mut(&ColumnKey(parts.clone(), as_bytes))?;
        held.used = clock;
        Some(held.column.clone())
    }

    /// A column, which is copied to the device if it is not there.
    pub fn column(&self, lane: &StreamContext, parts: &ColumnChunks, as_bytes: bool) -> Result<DeviceColumn> {
        if let Some(column) = self.get(parts, as_bytes) {
            return Ok(column);
        }
        let _upload = self.begin(ColumnKey(parts.clone(), as_bytes));
        // Another thread may have brought it meanwhile.
        if let Some(column) = self.get(parts, as_bytes) {
            return Ok(column);
        }
        let Some(first) = parts.arrays().first() else {
            return Err(Error::Unsupported("an input without rows".to_string()));
        };
        let _time = phases::scope(Phase::Upload);
        let column = match self.restore(&lane.context, &ColumnKey(parts.clone(), as_bytes))? {
            Some(column) => column,
            None => DeviceColumn::upload(&lane.context, first.data_type(), parts.arrays(), as_bytes)?,
        };
        // Other runs find it from here on.
        lane.context.stream.synchronize()?;
        self.put(parts, &column);
        Ok(column)
    }

    /// Waits until no other thread copies the column.
    fn begin(&self, key: ColumnKey) -> Upload<'_> {
        let mut uploading = self.uploading.lock();
        while !uploading.insert(key.clone()) {
            self.uploaded.wait(&mut uploading);
        }
        Upload { residency: self, key }
    }

    /// Whether all columns of some batches are there.
    pub fn holds(&self, batches: &[RecordBatch]) -> bool {
        let columns = batches.first().map_or(0, |batch| batch.num_columns());
        let state = self.lock();
        let there = |column: usize| {
            let parts = ColumnChunks::of(batches, column);
            [false, true].into_iter().any(|as_bytes| state.columns.contains_key(&ColumnKey(parts.clone(), as_bytes)))
        };
        columns > 0 && (0..columns).all(there)
    }

    pub fn put(&self, parts: &ColumnChunks, column: &DeviceColumn) {
        if parts.arrays().is_empty() {
            return;
        }
        let mut state = self.lock();
        state.clock += 1;
        let used = state.clock;
        state.changes += 1;
        let key = ColumnKey(parts.clone(), column.kind == DeviceType::String);
        state.columns.insert(key, Entry { column: column.clone(), used });
    }

    /// The columns of some batches are those of others from now on, which hold the same rows. Pinned copies of the
    /// first ones are dropped, because there is little memory.
    pub fn moved(&self, from: &[RecordBatch], to: &[RecordBatch]) {
        let columns = from.first().map_or(0, |batch| batch.num_columns());
        let mut gone = Vec::new();
        let mut state = self.lock();
        for (column, as_bytes) in (0..columns).flat_map(|column| [(column, false), (column, true)]) {
            let key = ColumnKey(ColumnChunks::of(from, column), as_bytes);
            gone.extend(state.pinned.remove(&key));
            if let Some(held) = state.columns.remove(&key) {
                state.columns.insert(ColumnKey(ColumnChunks::of(to, column), as_bytes), held);
                state.changes += 1;
            }
        }
        drop(state);
        drop(gone);
    }

    /// Drops columns whose arrays nobody else holds, and returns how many they were. A holder of a table's column holds
    /// its first array. References to one array from other lists in this cache, or several from one list, are counted
    /// rarely. Counting takes time in proportion to the number of arrays.
    pub fn sweep(&self) -> usize {
        const SWEEPS_PER_COUNT: u64 = 64;
        let mut state = self.lock();
        state.sweeps += 1;
        state.swept = Some(Instant::now());
        let all = state.sweeps.is_multiple_of(SWEEPS_PER_COUNT);
        // A column is here in both forms, or in several tables.
        let keys = || state.columns.keys().chain(state.pinned.keys());
        let lists: HashMap<*const ChunkList, &ColumnChunks> =
            keys().map(|key| (Arc::as_ptr(&key.0.0), &key.0)).collect();
        let mut mine: HashMap<usize, usize> = HashMap::new();
        for parts in lists.values() {
            let some = if all { &parts.0.addresses[..] } else { &parts.0.addresses[..parts.0.addresses.len().min(1)] };
            some.iter().for_each(|address| *mine.entry(*address).or_default() += 1);
        }
        let is_held = |first: &ArrayRef| {
            let here = mine.get(&address(first)).copied().unwrap_or_default();
            Arc::strong_count(first) > here
        };
        let keys: HashSet<ColumnKey> =
            keys().filter(|key| !key.0.arrays().first().is_some_and(is_held)).cloned().collect();
        drop(lists);
        let gone: Vec<(ColumnKey, Entry)> = keys.iter().filter_map(|key| state.columns.remove_entry(key)).collect();
        let saved: Vec<(ColumnKey, Arc<PinnedColumn>)> =
            keys.iter().filter_map(|key| state.pinned.remove(key)).collect();
        let columns = gone.len();
        state.changes += columns as u64;
        drop(state);
        drop(keys);
        let_go(gone, saved);
        columns
    }

    /// Does that if it was not done just now.
    pub fn sweep_at_times(&self) {
        const JUST_NOW: Duration = Duration::from_millis(10);
        if self.lock().swept.is_none_or(|swept| swept.elapsed() > JUST_NOW) {
            self.sweep();
        }
    }

    /// How often that was done.
    pub(crate) fn sweeps(&self) -> u64 {
        self.lock().sweeps
    }

    /// How often columns came or went.
    pub fn changes(&self) -> u64 {
        self.lock().changes
    }

    /// The time of the LRU clock, which orders uses of columns.
    pub(crate) fn now(&self) -> u64 {
        self.lock().clock
    }

    /// Evicts columns that were not used after a time of the LRU clock, least recently used first, until so many bytes
    /// are free. Returns how many bytes are. Columns that took long to encode are copied to pinned memory.
    pub(crate) fn evict<'a>(&self, lane: impl FnOnce() -> Result<StreamGuard<'a>>, bytes: u64, before: u64) -> u64 {
        let mut state = self.lock();
        let mut freed = 0;
        let mut gone = Vec::new();
        while freed < bytes {
            let old = state.columns.iter().filter(|(_, held)| held.used <= before);
            let Some(oldest) = old.min_by_key(|(_, held)| held.used).map(|(key, _)| key.clone()) else { break };
            if let Some((key, held)) = state.columns.remove_entry(&oldest) {
                freed += held.column.bytes().max(1);
                state.changes += 1;
                gone.push((key, held));
            }
        }
        drop(state);
        if let Ok(lane) = lane() {
            gone.iter().for_each(|(key, held)| self.copy_to_pinned(&lane.context, key, &held.column));
        }
        let_go(gone, Vec::new());
        freed
    }

    /// Bytes of device memory, and of those that belong to some arrays.
    pub fn bytes(&self) -> u64 {
        self.lock().columns.values().map(|held| held.column.bytes()).sum()
    }
}
