//! SortKeys of a sort as strings of bits that order as the keys do, cut into words of 64 bits.
//!
//! Numbers are taken relative to the lowest one, in as many bits as the highest needs. Strings are their bytes behind
//! the prefix that all have, padded with zeros, and then their length. A null is a bit before the value. All bits of
//! all keys stand one after another.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Date64Type, DurationMicrosecondType, DurationMillisecondType,
    DurationNanosecondType, DurationSecondType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use datafusion::error::Result;
use datafusion::physical_expr::LexOrdering;

/// Bytes of a string past which its words are too many.
const LONG_STRING_BYTES: usize = 4_096;

/// Whether keys of a type have words.
pub fn has_words(dtype: &DataType) -> bool {
    match dtype {
        DataType::Dictionary(_, values) => has_words(values),
        DataType::Boolean | DataType::Decimal128(..) => true,
        DataType::Date32 | DataType::Date64 | DataType::Time32(_) | DataType::Time64(_) => true,
        DataType::Timestamp(..) | DataType::Duration(_) => true,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => true,
        dtype => dtype.is_integer() || matches!(dtype, DataType::Float16 | DataType::Float32 | DataType::Float64),
    }
}

/// The values of a key in some rows.
pub enum SortKeys {
    /// Numbers that order as the values do, with the least and the greatest of those that are there.
    Numbers {
        codes: Vec<u64>,
        nulls: Option<NullBuffer>,
        least: u64,
        most: u64,
    },
    Wide {
        values: Decimal128Array,
        least: i128,
        most: i128,
    },
    /// Strings of some type as bytes, with the length of the longest and that of the prefix that all have.
    Bytes {
        values: ArrayRef,
        longest: usize,
        shared: usize,
    },
}

/// An integer with its sign bit flipped: they order as unsigned numbers.
fn signed(value: i64) -> u64 {
    value as u64 ^ 1 << 63
}

/// IEEE's total order, as Arrow sorts floats.
fn float(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

impl SortKeys {
    pub fn new(array: &ArrayRef) -> Result<SortKeys> {
        macro_rules! numbers {
            ($type:ty, $code:expr) => {{
                let array = array.as_primitive::<$type>();
                #[allow(clippy::redundant_closure_call)]
                let codes: Vec<u64> = array.values().iter().map(|value| $code(*value)).collect();
                Self::numbers(codes, array.nulls().cloned())
            }};
        }
        let int = |value: i64| signed(value);
        Ok(match array.data_type() {
            DataType::Boolean => {
                let array = array.as_boolean();
                Self::numbers(array.values().iter().map(u64::from).collect(), array.nulls().cloned())
            }
            DataType::Int8 => numbers!(Int8Type, |v: i8| int(v.into())),
            DataType::Int16 => numbers!(Int16Type, |v: i16| int(v.into())),
            DataType::Int32 => numbers!(Int32Type, |v: i32| int(v.into())),
            DataType::Int64 => numbers!(Int64Type, int),
            DataType::UInt8 => numbers!(UInt8Type, |v: u8| u64::from(v)),
            DataType::UInt16 => numbers!(UInt16Type, |v: u16| u64::from(v)),
            DataType::UInt32 => numbers!(UInt32Type, |v: u32| u64::from(v)),
            DataType::UInt64 => numbers!(UInt64Type, |v: u64| v),
            DataType::Float16 => {
                numbers!(Float16Type, |v: <Float16Type as ArrowPrimitiveType>::Native| half_code(v.to_bits()))
            }
            DataType::Float32 => numbers!(Float32Type, |v: f32| single_code(v.to_bits())),
            DataType::Float64 => numbers!(Float64Type, float),
            DataType::Date32 => numbers!(Date32Type, |v: i32| int(v.into())),
            DataType::Date64 => numbers!(Date64Type, int),
            DataType::Time32(TimeUnit::Second) => numbers!(Time32SecondType, |v: i32| int(v.into())),
            DataType::Time32(_) => numbers!(Time32MillisecondType, |v: i32| int(v.into())),
            DataType::Time64(TimeUnit::Microsecond) => numbers!(Time64MicrosecondType, int),
            DataType::Time64(_) => numbers!(Time64NanosecondType, int),
            DataType::Timestamp(TimeUnit::Second, _) => numbers!(TimestampSecondType, int),
            DataType::Timestamp(TimeUnit::Millisecond, _) => numbers!(TimestampMillisecondType, int),
            DataType::Timestamp(TimeUnit::Microsecond, _) => numbers!(TimestampMicrosecondType, int),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => numbers!(TimestampNanosecondType, int),
            DataType::Duration(TimeUnit::Second) => numbers!(DurationSecondType, int),
            DataType::Duration(TimeUnit::Millisecond) => numbers!(DurationMillisecondType, int),
            DataType::Duration(TimeUnit::Microsecond) => numbers!(DurationMicrosecondType, int),
            DataType::Duration(TimeUnit::Nanosecond) => numbers!(DurationNanosecondType, int),
            DataType::Decimal128(..) => {
                let values = array.as_primitive::<arrow::datatypes::Decimal128Type>().clone();
                let (mut least, mut most) = (i128::MAX, i128::MIN);
                for value in values.iter().flatten() {
                    (least, most) = (least.min(value), most.max(value));
                }
                SortKeys::Wide { values, least, most }
            }
            DataType::Dictionary(_, values) => return SortKeys::new(&cast(array, values)?),
            _ => Self::strings(Arc::clone(array)),
        })
    }

    fn numbers(codes: Vec<u64>, nulls: Option<NullBuffer>) -> SortKeys {
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        let (mut least, mut most) = (u64::MAX, u64::MIN);
        match &nulls {
            None => codes.iter().for_each(|code| (least, most) = (least.min(*code), most.max(*code))),
            Some(nulls) => {
                nulls.valid_indices().for_each(|row| (least, most) = (least.min(codes[row]), most.max(codes[row])));
            }
        }
        SortKeys::Numbers { codes, nulls, least, most }
    }

    fn strings(values: ArrayRef) -> SortKeys {
        let mut longest = 0;
        let mut first: Option<&[u8]> = None;
        let mut shared = 0;
        for row in 0..values.len() {
            if values.is_null(row) {
                continue;
            }
            let value = bytes(&values, row);
            longest = longest.max(value.len());
            match first {
                None => (first, shared) = (Some(value), value.len()),
                Some(first) if value.get(..shared) != Some(&first[..shared]) => {
                    shared = first.iter().zip(value).take(shared).take_while(|(a, b)| a == b).count();
                }
                Some(_) => {}
            }
        }
        SortKeys::Bytes { values, longest, shared }
    }

    fn is_null(&self, row: usize) -> bool {
        match self {
            SortKeys::Numbers { nulls, .. } => nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)),
            SortKeys::Wide { values, .. } => values.is_null(row),
            SortKeys::Bytes { values, .. } => values.is_null(row),
        }
    }

    fn has_nulls(&self) -> bool {
        match self {
            SortKeys::Numbers { nulls, .. } => nulls.is_some(),
            SortKeys::Wide { values, .. } => values.null_count() > 0,
            SortKeys::Bytes { values, .. } => values.null_count() > 0,
        }
    }

    /// The first string that is there.
    fn first(&self) -> Option<&[u8]> {
        let SortKeys::Bytes { values, .. } = self else { return None };
        (0..values.len()).find(|row| values.is_valid(*row)).map(|row| bytes(values, row))
    }
}

fn half_code(bits: u16) -> u64 {
    u64::from(if bits >> 15 == 1 { !bits } else { bits | 1 << 15 })
}

fn single_code(bits: u32) -> u64 {
    u64::from(if bits >> 31 == 1 { !bits } else { bits | 1 << 31 })
}

/// A string as bytes.
fn bytes(values: &ArrayRef, row: usize) -> &[u8] {
    match values.data_type() {
        DataType::Utf8 => values.as_string::<i32>().value(row).as_bytes(),
        DataType::LargeUtf8 => values.as_string::<i64>().value(row).as_bytes(),
        DataType::Utf8View => values.as_string_view().value(row).as_bytes(),
        DataType::Binary => values.as_binary::<i32>().value(row),
        DataType::LargeBinary => values.as_binary::<i64>().value(row),
        DataType::BinaryView => values.as_binary_view().value(row),
        // `has_words` has no other.
        _ => &[],
    }
}

/// A part of a key that is a number of up to 128 bits.
#[derive(Clone, Copy, Debug)]
struct Part {
    key: usize,
    what: PartKind,
    bits: u32,
    descending: bool,
}

#[derive(Clone, Copy, Debug)]
enum PartKind {
    Null {
        first: bool,
    },
    Number {
        least: u64,
        most: u64,
    },
    Wide {
        least: i128,
        most: i128,
    },
    /// Up to 8 bytes from there.
    Bytes {
        from: usize,
    },
    Length {
        longest: usize,
    },
}

/// Some bits of a part in a word.
#[derive(Clone, Copy, Debug)]
struct Piece {
    part: Part,
    /// Bits of the part below those that are taken.
    below: u32,
    /// How many are taken.
    taken: u32,
    /// Bits of the word below them.
    shift: u32,
}

/// How words are made of keys. The last word may be filled in part.
pub struct Layout {
    words: Vec<Vec<Piece>>,
}

fn width(most: u128) -> u32 {
    128 - most.leading_zeros()
}

impl Layout {
    /// The layout of the keys of all units. `None` if strings are too long.
    pub fn new(order: &LexOrdering, units: &[&[SortKeys]]) -> Option<Layout> {
        let mut parts = Vec::new();
        for (key, sort) in order.iter().enumerate() {
            let (descending, first) = (sort.options.descending, sort.options.nulls_first);
            let of: Vec<&SortKeys> = units.iter().map(|keys| &keys[key]).collect();
            let mut part = |what: PartKind, bits: u32| {
                let descending = descending && !matches!(what, PartKind::Null { .. });
                if bits > 0 {
                    parts.push(Part { key, what, bits, descending });
                }
            };
            if of.iter().any(|keys| keys.has_nulls()) {
                part(PartKind::Null { first }, 1);
            }
            match of.first()? {
                SortKeys::Numbers { .. } => {
                    let (mut least, mut most) = (u64::MAX, u64::MIN);
                    for keys in &of {
                        let SortKeys::Numbers { least: low, most: high, .. } = keys else { return None };
                        (least, most) = (least.min(*low), most.max(*high));
                    }
                    if least <= most {
                        part(PartKind::Number { least, most }, width(u128::from(most - least)));
                    }
                }
                SortKeys::Wide { .. } => {
                    let (mut least, mut most) = (i128::MAX, i128::MIN);
                    for keys in &of {
                        let SortKeys::Wide { least: low, most: high, .. } = keys else { return None };
                        (least, most) = (least.min(*low), most.max(*high));
                    }
                    if least <= most {
                        part(PartKind::Wide { least, most }, width(most.wrapping_sub(least) as u128));
                    }
                }
                SortKeys::Bytes { .. } => {
                    let (longest, shared) = ends(&of)?;
                    if longest > LONG_STRING_BYTES {
                        return None;
                    }
                    for from in (shared..longest).step_by(8) {
                        part(PartKind::Bytes { from }, 8 * (longest - from).min(8) as u32);
                    }
                    part(PartKind::Length { longest }, width(longest as u128));
                }
            }
        }
        let mut words: Vec<Vec<Piece>> = Vec::new();
        let mut room = 0;
        for part in parts {
            let mut left = part.bits;
            while left > 0 {
                if room == 0 {
                    words.push(Vec::new());
                    room = 64;
                }
                let taken = left.min(room);
                (left, room) = (left - taken, room - taken);
                let piece = Piece { part, below: left, taken, shift: room };
                words.last_mut()?.push(piece);
            }
        }
        Some(Layout { words })
    }

    pub fn levels(&self) -> usize {
        self.words.len()
    }

    /// A word of a row.
    pub fn word(&self, keys: &[SortKeys], row: usize, level: usize) -> u64 {
        self.words[level].iter().fold(0, |word, piece| word | piece.bits(&keys[piece.part.key], row))
    }

    /// The first word of each row.
    pub fn first_words(&self, keys: &[SortKeys], rows: usize) -> Vec<u64> {
        let mut words = vec![0u64; rows];
        for piece in self.words.first().into_iter().flatten() {
            let key = &keys[piece.part.key];
            // Most keys are numbers without nulls.
            if let (PartKind::Number { least, most }, SortKeys::Numbers { codes, nulls: None, .. }) =
                (piece.part.what, key)
            {
                let (below, shift) = (piece.below, piece.shift);
                let mask = u64::MAX >> (64 - piece.taken);
                let put = |(word, code): (&mut u64, &u64)| {
                    let value = if piece.part.descending { most - code } else { code - least };
                    *word |= (value >> below & mask) << shift;
                };
                words.iter_mut().zip(codes).for_each(put);
            } else {
                words.iter_mut().enumerate().for_each(|(row, word)| *word |= piece.bits(key, row));
            }
        }
        words
    }
}

/// The length of the longest string, and that of the prefix that all strings have.
fn ends(units: &[&SortKeys]) -> Option<(usize, usize)> {
    let mut longest_of_all = 0;
    let mut prefix: Option<&[u8]> = None;
    for keys in units {
        let SortKeys::Bytes { longest, shared, .. } = keys else { return None };
        longest_of_all = longest_of_all.max(*longest);
        let Some(first) = keys.first() else { continue };
        let own = &first[..*shared];
        prefix = Some(match prefix {
            None => own,
            Some(prefix) => &prefix[..prefix.iter().zip(own).take_while(|(a, b)| a == b).count()],
        });
    }
    Some((longest_of_all, prefix.map_or(0, <[u8]>::len)))
}

impl Piece {
    /// The bits of a row at their place in the word.
    fn bits(&self, key: &SortKeys, row: usize) -> u64 {
        let value = self.part.value(key, row) >> self.below;
        (value as u64 & u64::MAX >> (64 - self.taken)) << self.shift
    }
}

impl Part {
    fn value(&self, key: &SortKeys, row: usize) -> u128 {
        let null = key.is_null(row);
        if let PartKind::Null { first } = self.what {
            return u128::from(null != first);
        }
        // One value for all nulls.
        if null {
            return 0;
        }
        match (self.what, key) {
            (PartKind::Number { least, most }, SortKeys::Numbers { codes, .. }) => {
                u128::from(if self.descending { most - codes[row] } else { codes[row] - least })
            }
            (PartKind::Wide { least, most }, SortKeys::Wide { values, .. }) => {
                let value = values.value(row);
                (if self.descending { most.wrapping_sub(value) } else { value.wrapping_sub(least) }) as u128
            }
            (PartKind::Bytes { from }, SortKeys::Bytes { values, .. }) => {
                let value = bytes(values, row);
                let rest = value.get(from..).unwrap_or_default();
                let mut eight = [0u8; 8];
                let taken = rest.len().min(8);
                eight[..taken].copy_from_slice(&rest[..taken]);
                let prefix = u64::from_be_bytes(eight) >> (64 - self.bits);
                u128::from(if self.descending { !prefix & u64::MAX >> (64 - self.bits) } else { prefix })
            }
            (PartKind::Length { longest }, SortKeys::Bytes { values, .. }) => {
                let length = bytes(values, row).len();
                (if self.descending { longest - length } else { length }) as u128
            }
            _ => 0,
        }
    }
}
