//! Data that is derived from a column once and cached with it: dictionary encodings of composite keys, and join key
//! statistics.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};

use onrush_device::Buffer;

use crate::column::weak_cache::WeakLruCache;
use crate::column::{DeviceColumn, DictionaryEncoding};
use crate::ir::packed_key::PackedKeyPart;

/// Dictionary encodings of composite keys, by the encodings of their columns. `None` if there are too many distinct
/// keys.
pub type CompositeKeyCache = WeakLruCache<OnceLock<Option<Arc<DictionaryEncoding>>>, Option<Arc<CompositeKey>>>;

/// Keys of several columns, packed into one integer (`digits`), and the dictionary encoding of that.
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

/// Statistics of a column as a join key.
#[derive(Default)]
pub struct JoinKeyStats {
    /// Whether the column has been a probe key before. Its dictionary encoding pays from the second time on.
    pub(crate) asked: AtomicBool,
    /// The highest limit of entries at which encoding failed: there are more distinct values, or there was no memory.
    pub(crate) refused: AtomicU64,
    /// Its values as dictionary indices of other columns' encodings.
    pub(crate) among: WeakLruCache<DictionaryEncoding, DeviceColumn>,
}

impl JoinKeyStats {
    pub fn bytes(&self) -> u64 {
        self.among.sum(DeviceColumn::bytes)
    }
}

/// A hash table of the values of a dictionary. A slot has the value's dictionary index plus one, and 0 if it is empty.
pub type Slots = OnceLock<Buffer>;
