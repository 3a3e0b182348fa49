//! Pinned host memory for evicted columns, in their device layout: dictionary-encoded columns are restored at bus
//! bandwidth and not encoded again. The rows are on the host in any case, so entries may be dropped at any time. No
//! entry outlives the device.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use arrow::array::ArrayRef;
use onrush_device::{Buffer, PinnedCopy};
use onrush_kernels::Context;

use super::{ColumnKey, Residency};
use crate::Result;
use crate::column::DeviceColumn;
use crate::column::dictionary::Dictionary;
use crate::column::string::StringBuffers;
use crate::ir::expr::DeviceType;

/// Bytes of a column that is not worth keeping.
const LEAST: u64 = 1 << 20;
const LEAST_EMULATED: u64 = 1 << 10;

/// A column without its device memory, and that memory's contents.
pub struct PinnedColumn {
    kind: DeviceType,
    stored: DeviceType,
    rows: u64,
    range: Arc<OnceLock<Option<(i128, i128)>>>,
    is_partitioned: bool,
    has_validity: bool,
    /// The dictionary of dictionary-encoded strings.
    texts: Option<ArrayRef>,
    /// For strings that are stored as bytes: whether their offsets have 64 bits.
    wide: Option<bool>,
    /// Values, or the bytes and the offsets of strings; then the validity bitmap, if there is one.
    memory: PinnedCopy,
}

impl PinnedColumn {
    /// Copies a column to pinned memory. `None` if the column refers to other columns or shares the strings of a
    /// dictionary. Waits.
    fn of(context: &Context, column: &DeviceColumn) -> Result<Option<PinnedColumn>> {
        let texts = match (column.kind, &column.dictionary) {
            (DeviceType::DictIndex, Some(dictionary)) if dictionary.elements.is_empty() => {
                Some(Arc::clone(&dictionary.values))
            }
            (DeviceType::DictIndex, _) | (DeviceType::ListView, _) | (_, Some(_)) => return Ok(None),
            (_, None) => None,
        };
        let mut buffers: Vec<&Buffer> = vec![&column.values];
        let bytes = column.texts.as_ref().filter(|_| column.kind == DeviceType::String);
        match bytes {
            Some(texts) => buffers = vec![&texts.bytes, &texts.offsets],
            None if column.kind == DeviceType::String => return Ok(None),
            None => {}
        }
        buffers.extend(column.validity.as_deref());
        Ok(Some(PinnedColumn {
            kind: column.kind,
            stored: column.stored,
            rows: column.rows,
            range: Arc::clone(&column.range),
            is_partitioned: column.is_partitioned,
            has_validity: column.validity.is_some(),
            texts,
            wide: bytes.map(|texts| texts.wide),
            memory: PinnedCopy::of(&buffers, &context.stream)?,
        }))
    }

    /// Copies the column to newly allocated device memory. Waits.
    pub fn back(&self, context: &Context) -> Result<DeviceColumn> {
        let mut next = 0;
        let mut buffer = || -> Result<Arc<Buffer>> {
            let buffer = context.allocate(self.memory.length(next))?;
            self.memory.write(next, &buffer, &context.stream)?;
            next += 1;
            Ok(Arc::new(buffer))
        };
        let values = buffer()?;
        let texts = match self.wide {
            Some(wide) => Some(Arc::new(StringBuffers { bytes: Arc::clone(&values), offsets: buffer()?, wide })),
            None => None,
        };
        let validity = if self.has_validity { Some(buffer()?) } else { None };
        Ok(DeviceColumn {
            stored: self.stored,
            validity,
            dictionary: self.texts.as_ref().map(|texts| Arc::new(Dictionary::new(Arc::clone(texts)))),
            texts,
            range: Arc::clone(&self.range),
            is_partitioned: self.is_partitioned,
            ..DeviceColumn::plain(self.kind, values, self.rows)
        })
    }
}

/// Whether the layout of a column on the device is that of its rows in host memory. Such rows are copied nearly as
/// fast, without a copy beforehand.
fn is_as_rows(column: &DeviceColumn) -> bool {
    matches!(column.kind, DeviceType::Number(_)) && column.kind == column.stored && column.dictionary.is_none()
}

/// LRU cache of pinned copies of evicted columns.
#[derive(Default)]
pub struct PinnedCache {
    entries: HashMap<ColumnKey, (Arc<PinnedColumn>, u64)>,
    /// Bytes that it may take.
    limit: u64,
}

impl PinnedCache {
    pub fn keys(&self) -> impl Iterator<Item = &ColumnKey> {
        self.entries.keys()
    }

    pub fn bytes(&self) -> u64 {
        self.entries.values().map(|(copied, _)| copied.memory.bytes()).sum()
    }

    pub fn remove(&mut self, key: &ColumnKey) -> Option<(ColumnKey, Arc<PinnedColumn>)> {
        self.entries.remove_entry(key).map(|(key, (copied, _))| (key, copied))
    }

    /// The pinned copy of a column, which counts as used now.
    fn get(&mut self, key: &ColumnKey, now: u64) -> Option<&Arc<PinnedColumn>> {
        let (copied, used) = self.entries.get_mut(key)?;
        *used = now;
        Some(copied)
    }

    /// The least recently used ones beyond the limit.
    fn beyond(&mut self) -> Vec<(ColumnKey, Arc<PinnedColumn>)> {
        let (mut all, mut gone) = (self.bytes(), Vec::new());
        while all > self.limit {
            let oldest = self.entries.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| key.clone());
            let Some(entry) = oldest.and_then(|key| self.remove(&key)) else { break };
            all -= entry.1.memory.bytes();
            gone.push(entry);
        }
        gone
    }
}

impl Residency {
    /// Sets how many bytes of host memory may be pinned for evicted columns. At first the limit is 0.
    pub fn set_pinned_limit(&self, bytes: u64) {
        self.lock().pinned.limit = bytes;
    }

    /// Bytes of host memory that are pinned for evicted columns.
    pub fn pinned_bytes(&self) -> u64 {
        self.lock().pinned.bytes()
    }

    /// How many columns were restored from pinned memory.
    pub fn restored(&self) -> u64 {
        self.lock().restored
    }

    /// Copies a column that is evicted to pinned memory. Without host memory for the copy nothing happens: the rows are
    /// on the host in any case.
    pub(super) fn copy_to_pinned(&self, context: &Context, key: &ColumnKey, column: &DeviceColumn) {
        let least = if context.device().is_emulated() { LEAST_EMULATED } else { LEAST };
        let bytes = column.bytes();
        if bytes < least || is_as_rows(column) {
            return;
        }
        {
            let mut state = self.lock();
            let now = state.clock;
            if bytes > state.pinned.limit || state.pinned.get(key, now).is_some() {
                return;
            }
        }
        let Ok(Some(copied)) = PinnedColumn::of(context, column) else { return };
        let mut state = self.lock();
        let now = state.clock;
        let before = state.pinned.entries.insert(key.clone(), (Arc::new(copied), now));
        let gone = state.pinned.beyond();
        drop(state);
        drop((before, gone));
    }

    /// Restores an evicted column, if there is a pinned copy. Waits.
    pub(super) fn restore(&self, context: &Context, key: &ColumnKey) -> Result<Option<DeviceColumn>> {
        let copied = {
            let mut state = self.lock();
            let now = state.clock;
            state.pinned.get(key, now).map(Arc::clone)
        };
        let Some(copied) = copied else { return Ok(None) };
        let column = copied.back(context)?;
        self.lock().restored += 1;
        Ok(Some(column))
    }
}
