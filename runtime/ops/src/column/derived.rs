//! Data that is derived from a column once and cached with it: dictionary encodings of composite keys, and join key
//! statistics.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};

use onrush_device::Buffer;

use crate::column::weak_cache::WeakLruCache;
use crate::column::{DeviceColumn, DictionaryEncoding};
use crate::ir::packed_key::PackedKeyPart;

/// Numbers of a column's values together with those of others, by what makes these themselves; none where there are too many.
pub type CompositeKeyCache = WeakLruCache<OnceLock<Option<Arc<DictionaryEncoding>>>, Option<Arc<CompositeKey>>>;

/// Keys of several columns as one number (`digits`), and that as numbers from 0 on.
pub struct CompositeKey {
    pub(crate) digits: Vec<PackedKeyPart>,
    pub encoded: DictionaryEncoding,
}

impl CompositeKey {
    pub(crate) fn is_of(&self, digits: &[PackedKeyPart]) -> bool {
        let of = |digit: &PackedKeyPart| (digit.kind, digit.base, digit.count, digit.nullable);
        self.digits.len() == digits.len() && self.digits.iter().zip(digits).all(|(a, b)| of(a) == of(b))
    }
}

/// What is known of a column as a key of joins.
#[derive(Default)]
pub struct JoinKeyStats {
    /// Rows have been looked for by it before. Its numbers are worth their time from the second time on.
    pub(crate) asked: AtomicBool,
    /// So many numbers were wanted at most, and there are more of them, or there was no room.
    pub(crate) refused: AtomicU64,
    /// The numbers that its values have among those of other columns.
    pub(crate) among: WeakLruCache<DictionaryEncoding, DeviceColumn>,
}

impl JoinKeyStats {
    pub fn bytes(&self) -> u64 {
        self.among.sum(DeviceColumn::bytes)
    }
}

/// A hash table of the values of a dictionary. A slot has the value's dictionary index plus one, and 0 if it is empty.
pub type Slots = OnceLock<Buffer>;
