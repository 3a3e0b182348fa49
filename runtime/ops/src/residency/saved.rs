//! Columns that made room on the device, in page-locked memory of the host, in the form that they had: what took long to make comes back at the bus's
//! rate. The rows themselves are the host's in any case: what is kept here may go at any time, and does not outlive the device.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use arrow::array::ArrayRef;
use onrush_device::{Aside, Buffer};
use onrush_kernels::Context;

use super::{Key, Residency};
use crate::column::DeviceColumn;
use crate::dictionary::Dictionary;
use crate::text::Texts;
use crate::{Kind, Result};

/// Bytes of a column that is not worth keeping.
const LEAST: u64 = 1 << 20;
const LEAST_EMULATED: u64 = 1 << 10;

/// A column without its device memory, and that memory's contents.
pub struct Copied {
    kind: Kind,
    stored: Kind,
    rows: u64,
    range: Arc<OnceLock<Option<(i128, i128)>>>,
    parted: bool,
    has_validity: bool,
    /// Of numbers of texts: these.
    texts: Option<ArrayRef>,
    /// Of texts as bytes: whether their offsets are of 64 bits.
    wide: Option<bool>,
    /// Values, or bytes of texts and their offsets; then whether they are there.
    memory: Aside,
}

impl Copied {
    /// Waits. None of what holds other columns, or shares texts with them.
    fn of(context: &Context, column: &DeviceColumn) -> Result<Option<Copied>> {
        let texts = match (column.kind, &column.dictionary) {
            (Kind::Code, Some(dictionary)) if dictionary.elements.is_empty() => Some(Arc::clone(&dictionary.values)),
            (Kind::Code, _) | (Kind::List, _) | (_, Some(_)) => return Ok(None),
            (_, None) => None,
        };
        let mut buffers: Vec<&Buffer> = vec![&column.values];
        let bytes = column.texts.as_ref().filter(|_| column.kind == Kind::Text);
        match bytes {
            Some(texts) => buffers = vec![&texts.bytes, &texts.offsets],
            None if column.kind == Kind::Text => return Ok(None),
            None => {}
        }
        buffers.extend(column.validity.as_deref());
        Ok(Some(Copied {
            kind: column.kind,
            stored: column.stored,
            rows: column.rows,
            range: Arc::clone(&column.range),
            parted: column.parted,
            has_validity: column.validity.is_some(),
            texts,
            wide: bytes.map(|texts| texts.wide),
            memory: Aside::of(&buffers, &context.stream)?,
        }))
    }

    /// The column, in memory of its own. Waits.
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
            Some(wide) => Some(Arc::new(Texts { bytes: Arc::clone(&values), offsets: buffer()?, wide })),
            None => None,
        };
        let validity = if self.has_validity { Some(buffer()?) } else { None };
        Ok(DeviceColumn {
            stored: self.stored,
            validity,
            dictionary: self.texts.as_ref().map(|texts| Arc::new(Dictionary::new(Arc::clone(texts)))),
            texts,
            range: Arc::clone(&self.range),
            parted: self.parted,
            ..DeviceColumn::plain(self.kind, values, self.rows)
        })
    }
}

/// Whether a column lies on the device as its rows lie in the host's memory: these are copied nearly as fast, and no copy has to be made before.
fn is_as_rows(column: &DeviceColumn) -> bool {
    matches!(column.kind, Kind::Number(_)) && column.kind == column.stored && column.dictionary.is_none()
}

/// What is kept of columns that made room.
#[derive(Default)]
pub struct Shelf {
    entries: HashMap<Key, (Arc<Copied>, u64)>,
    /// Bytes that it may take.
    limit: u64,
}

impl Shelf {
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.entries.keys()
    }

    pub fn bytes(&self) -> u64 {
        self.entries.values().map(|(copied, _)| copied.memory.bytes()).sum()
    }

    pub fn remove(&mut self, key: &Key) -> Option<(Key, Arc<Copied>)> {
        self.entries.remove_entry(key).map(|(key, (copied, _))| (key, copied))
    }

    /// What there is of a column, which is used now.
    fn get(&mut self, key: &Key, now: u64) -> Option<&Arc<Copied>> {
        let (copied, used) = self.entries.get_mut(key)?;
        *used = now;
        Some(copied)
    }

    /// Those beyond the limit, which were used longest ago.
    fn beyond(&mut self) -> Vec<(Key, Arc<Copied>)> {
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
    /// How many bytes of the host's memory may be locked for columns that make room; none at first.
    pub fn set_aside_limit(&self, bytes: u64) {
        self.lock().shelf.limit = bytes;
    }

    /// Bytes of the host's memory that are locked for columns that made room.
    pub fn aside(&self) -> u64 {
        self.lock().shelf.bytes()
    }

    /// How many columns came back from there.
    pub fn came_back(&self) -> u64 {
        self.lock().came_back
    }

    /// Keeps a copy of a column that makes room. Where the host has no memory for that, nothing: its rows are there.
    pub(super) fn set_aside(&self, context: &Context, key: &Key, column: &DeviceColumn) {
        let least = if context.device().is_emulated() { LEAST_EMULATED } else { LEAST };
        let bytes = column.bytes();
        if bytes < least || is_as_rows(column) {
            return;
        }
        {
            let mut state = self.lock();
            let now = state.clock;
            if bytes > state.shelf.limit || state.shelf.get(key, now).is_some() {
                return;
            }
        }
        let Ok(Some(copied)) = Copied::of(context, column) else { return };
        let mut state = self.lock();
        let now = state.clock;
        let before = state.shelf.entries.insert(key.clone(), (Arc::new(copied), now));
        let gone = state.shelf.beyond();
        drop(state);
        drop((before, gone));
    }

    /// A column that made room, if it was kept. Waits.
    pub(super) fn back(&self, context: &Context, key: &Key) -> Result<Option<DeviceColumn>> {
        let copied = {
            let mut state = self.lock();
            let now = state.clock;
            state.shelf.get(key, now).map(Arc::clone)
        };
        let Some(copied) = copied else { return Ok(None) };
        let column = copied.back(context)?;
        self.lock().came_back += 1;
        Ok(Some(column))
    }
}
