//! What the head of a column says: nulls, distinct values, ends, mean, a histogram, the most frequent values. One walk over the
//! values, and a second one for the histogram, whose ends the first one finds.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Date32Type, Decimal128Type, Float64Type, Int64Type, UInt64Type};
use onrush_frame::{TaskHandle, preview};
use onrush_wire::explore::{Distinct, Histogram, Summary, SummaryRequest};
use onrush_wire::{Diagnostic, TimeUnit, Value};

use crate::error::internal;

/// Values that are counted one by one; beyond, distinct values are estimated and none is the most frequent.
const COUNTED: usize = 20_000;

/// How the values of a column are numbers.
#[derive(Clone)]
enum Scale {
    Float {
        narrow: bool,
    },
    Integer(Integer),
    Text,
    Boolean,
    /// Nothing but nulls can be said.
    Opaque,
}

#[derive(Clone)]
enum Integer {
    Signed,
    Unsigned,
    Decimal { precision: u8, scale: i8 },
    Date,
    Time,
    Timestamp { unit: TimeUnit, zone: Option<String> },
    Duration { unit: TimeUnit },
}

impl Integer {
    fn value(&self, n: i128) -> Value {
        let narrow = n as i64;
        match self {
            Integer::Signed => Value::Int(narrow),
            Integer::Unsigned => Value::UInt(n as u64),
            Integer::Decimal { precision, scale } => Value::Decimal { value: n, precision: *precision, scale: *scale },
            Integer::Date => Value::Date(n as i32),
            Integer::Time => Value::Time(narrow),
            Integer::Timestamp { unit, zone } => Value::Timestamp { value: narrow, unit: *unit, zone: zone.clone() },
            Integer::Duration { unit } => Value::Duration { value: narrow, unit: *unit },
        }
    }

    /// What a mean is computed of.
    fn float(&self, n: i128) -> f64 {
        match self {
            Integer::Decimal { scale, .. } => n as f64 / 10f64.powi(i32::from(*scale)),
            _ => n as f64,
        }
    }

    fn has_mean(&self) -> bool {
        matches!(self, Integer::Signed | Integer::Unsigned | Integer::Decimal { .. })
    }
}

fn scale(dtype: &DataType) -> Scale {
    match dtype {
        DataType::Float16 | DataType::Float32 => Scale::Float { narrow: true },
        DataType::Float64 => Scale::Float { narrow: false },
        DataType::Boolean => Scale::Boolean,
        DataType::UInt64 => Scale::Integer(Integer::Unsigned),
        other if other.is_integer() => Scale::Integer(Integer::Signed),
        DataType::Decimal32(p, s) | DataType::Decimal64(p, s) | DataType::Decimal128(p, s) => {
            Scale::Integer(Integer::Decimal { precision: *p, scale: *s })
        }
        DataType::Date32 | DataType::Date64 => Scale::Integer(Integer::Date),
        DataType::Time32(_) | DataType::Time64(_) => Scale::Integer(Integer::Time),
        DataType::Timestamp(unit, zone) => Scale::Integer(Integer::Timestamp {
            unit: onrush_frame::types::unit_to_wire(unit),
            zone: zone.as_ref().map(|z| z.to_string()),
        }),
        DataType::Duration(unit) => Scale::Integer(Integer::Duration { unit: onrush_frame::types::unit_to_wire(unit) }),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Scale::Text,
        DataType::Dictionary(_, values) => match scale(values) {
            Scale::Text => Scale::Text,
            _ => Scale::Opaque,
        },
        _ => Scale::Opaque,
    }
}

/// A column's pieces, all of one type.
pub fn of(chunks: &[ArrayRef], request: &SummaryRequest, task: &TaskHandle) -> Result<Summary, Diagnostic> {
    let mut summary = Summary::default();
    let mut scale = chunks.first().map_or(Scale::Opaque, |chunk| self::scale(chunk.data_type()));
    for chunk in chunks {
        summary.rows += chunk.len() as u64;
        summary.nulls += chunk.logical_null_count() as u64;
    }
    task.set_total_rows(Some(summary.rows));
    let mut seen = Seen::default();
    match &mut scale {
        Scale::Opaque => {
            // A column of nulls has no values at all.
            summary.distinct = (summary.nulls == summary.rows).then_some(Distinct { count: 0, exact: true });
            return Ok(summary);
        }
        Scale::Text => texts(chunks, &mut summary, &mut seen, task)?,
        Scale::Boolean => booleans(chunks, &mut summary, &mut seen, task)?,
        Scale::Float { narrow } => {
            let moments = walk(chunks, &mut seen, task, floats, |x| x, float_hash, f64::is_nan)?;
            summary.nans = moments.left_out;
            let value = |x: f64| if *narrow { Value::Float32(x as f32) } else { Value::Float(x) };
            (summary.min, summary.max) = (moments.least.map(value), moments.most.map(value));
            (summary.mean, summary.std) = moments.mean_and_std();
            if let (Some(least), Some(most)) = (moments.finite_least, moments.finite_most) {
                summary.histogram = float_histogram(chunks, least, most, request.bins, task)?;
            }
        }
        Scale::Integer(kind) => {
            let kind = kind.clone();
            let moments = walk(chunks, &mut seen, task, integers, |n| kind.float(n), integer_hash, |_| false)?;
            (summary.min, summary.max) = (moments.least.map(|n| kind.value(n)), moments.most.map(|n| kind.value(n)));
            if kind.has_mean() {
                (summary.mean, summary.std) = moments.mean_and_std();
            }
            if let (Some(least), Some(most)) = (moments.least, moments.most) {
                summary.histogram = integer_histogram(chunks, &kind, least, most, request.bins, task)?;
            }
        }
    }
    summary.distinct = Some(seen.distinct());
    if request.top > 0 {
        summary.top = seen.top(chunks, request.top as usize);
    }
    Ok(summary)
}

struct Moments<T> {
    least: Option<T>,
    most: Option<T>,
    finite_least: Option<T>,
    finite_most: Option<T>,
    count: u64,
    mean: f64,
    squares: f64,
    left_out: u64,
}

impl<T> Moments<T> {
    fn mean_and_std(&self) -> (Option<f64>, Option<f64>) {
        let mean = (self.count > 0).then_some(self.mean);
        let std = (self.count > 1).then(|| (self.squares / (self.count - 1) as f64).sqrt());
        (mean, std)
    }
}

type Values<'a, T> = Box<dyn FnMut(&mut dyn FnMut(usize, T)) + 'a>;

/// Welford's mean and squares, ends, and every value seen.
fn walk<T: Copy + PartialOrd>(
    chunks: &[ArrayRef],
    seen: &mut Seen,
    task: &TaskHandle,
    values: fn(&ArrayRef) -> Result<Values<'_, T>, Diagnostic>,
    float: impl Fn(T) -> f64,
    hash: fn(T) -> u64,
    leave_out: fn(T) -> bool,
) -> Result<Moments<T>, Diagnostic> {
    let mut m = Moments {
        least: None,
        most: None,
        finite_least: None,
        finite_most: None,
        count: 0,
        mean: 0.0,
        squares: 0.0,
        left_out: 0,
    };
    for (at, chunk) in chunks.iter().enumerate() {
        task.check()?;
        values(chunk)?(&mut |row, value| {
            seen.add(hash(value), at, row);
            if leave_out(value) {
                m.left_out += 1;
                return;
            }
            if m.least.is_none_or(|least| value < least) {
                m.least = Some(value);
            }
            if m.most.is_none_or(|most| value > most) {
                m.most = Some(value);
            }
            let x = float(value);
            if x.is_finite() {
                if m.finite_least.is_none_or(|least| value < least) {
                    m.finite_least = Some(value);
                }
                if m.finite_most.is_none_or(|most| value > most) {
                    m.finite_most = Some(value);
                }
            }
            m.count += 1;
            let distance = x - m.mean;
            m.mean += distance / m.count as f64;
            m.squares += distance * (x - m.mean);
        });
        task.add_rows(chunk.len() as u64);
    }
    Ok(m)
}

fn floats(chunk: &ArrayRef) -> Result<Values<'_, f64>, Diagnostic> {
    let chunk = cast(chunk, &DataType::Float64).map_err(|e| internal(&e.to_string()))?;
    Ok(Box::new(move |each| {
        let array = chunk.as_primitive::<Float64Type>();
        match array.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => array.values().iter().enumerate().for_each(|(row, x)| each(row, *x)),
            Some(nulls) => nulls.valid_indices().for_each(|row| each(row, array.value(row))),
        }
    }))
}

fn integers(chunk: &ArrayRef) -> Result<Values<'_, i128>, Diagnostic> {
    let failed = |e: arrow::error::ArrowError| internal(&e.to_string());
    macro_rules! each {
        ($array:expr, $t:ty) => {{
            let array = $array;
            Ok(Box::new(move |each: &mut dyn FnMut(usize, i128)| {
                let array = array.as_primitive::<$t>();
                match array.nulls().filter(|nulls| nulls.null_count() > 0) {
                    None => array.values().iter().enumerate().for_each(|(row, n)| each(row, *n as i128)),
                    Some(nulls) => nulls.valid_indices().for_each(|row| each(row, array.value(row) as i128)),
                }
            }))
        }};
    }
    match chunk.data_type() {
        DataType::UInt64 => each!(std::sync::Arc::clone(chunk), UInt64Type),
        DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) | DataType::Decimal128(_, scale) => {
            each!(cast(chunk, &DataType::Decimal128(38, *scale)).map_err(failed)?, Decimal128Type)
        }
        DataType::Date32 | DataType::Date64 => each!(cast(chunk, &DataType::Date32).map_err(failed)?, Date32Type),
        DataType::Time32(_) | DataType::Time64(_) => {
            let nanos = DataType::Time64(arrow::datatypes::TimeUnit::Nanosecond);
            let time = cast(chunk, &nanos).map_err(failed)?;
            each!(cast(&time, &DataType::Int64).map_err(failed)?, Int64Type)
        }
        _ => each!(cast(chunk, &DataType::Int64).map_err(failed)?, Int64Type),
    }
}

fn texts(chunks: &[ArrayRef], summary: &mut Summary, seen: &mut Seen, task: &TaskHandle) -> Result<(), Diagnostic> {
    for (at, chunk) in chunks.iter().enumerate() {
        task.check()?;
        if let DataType::Dictionary(..) = chunk.data_type() {
            let dictionary = chunk.as_any_dictionary();
            let values = cast(dictionary.values(), &DataType::Utf8View).map_err(|e| internal(&e.to_string()))?;
            let values = values.as_string_view();
            let hashes: Vec<u64> = (0..values.len()).map(|i| text_hash(values.value(i))).collect();
            let empty: Vec<bool> = (0..values.len()).map(|i| values.value(i).is_empty()).collect();
            let keys = dictionary.normalized_keys();
            let nulls = chunk.logical_nulls();
            for (row, key) in keys.iter().enumerate() {
                if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) {
                    seen.add(hashes[*key], at, row);
                    summary.empty += u64::from(empty[*key]);
                }
            }
        } else {
            let array = cast(chunk, &DataType::Utf8View).map_err(|e| internal(&e.to_string()))?;
            let array = array.as_string_view();
            for (row, text) in array.iter().enumerate() {
                if let Some(text) = text {
                    seen.add(text_hash(text), at, row);
                    summary.empty += u64::from(text.is_empty());
                }
            }
        }
        task.add_rows(chunk.len() as u64);
    }
    Ok(())
}

fn booleans(chunks: &[ArrayRef], summary: &mut Summary, seen: &mut Seen, task: &TaskHandle) -> Result<(), Diagnostic> {
    for (at, chunk) in chunks.iter().enumerate() {
        task.check()?;
        for (row, value) in chunk.as_boolean().iter().enumerate() {
            let Some(value) = value else { continue };
            seen.add(mix(u64::from(value) + 1), at, row);
            let (value, least, most) = (Value::Boolean(value), &mut summary.min, &mut summary.max);
            if least.is_none() || value == Value::Boolean(false) {
                *least = Some(value.clone());
            }
            if most.is_none() || value == Value::Boolean(true) {
                *most = Some(value);
            }
        }
        task.add_rows(chunk.len() as u64);
    }
    Ok(())
}

fn float_histogram(
    chunks: &[ArrayRef],
    least: f64,
    most: f64,
    bins: u32,
    task: &TaskHandle,
) -> Result<Option<Histogram>, Diagnostic> {
    let width = most / f64::from(bins.max(1)) - least / f64::from(bins.max(1));
    if bins == 0 || !width.is_finite() {
        return Ok(None);
    }
    if width == 0.0 {
        return Ok(Some(single(chunks, Value::Float(least), |x: f64| x.is_finite(), floats, task)?));
    }
    let mut counts = vec![0u64; bins as usize];
    for chunk in chunks {
        task.check()?;
        floats(chunk)?(&mut |_, x| {
            if x.is_finite() {
                let bar = ((x - least) / width) as usize;
                counts[bar.min(bins as usize - 1)] += 1;
            }
        });
    }
    let edge = |i: u32| if i == bins { most } else { least + width * f64::from(i) };
    Ok(Some(Histogram { edges: (0..=bins).map(|i| Value::Float(edge(i))).collect(), counts }))
}

fn integer_histogram(
    chunks: &[ArrayRef],
    kind: &Integer,
    least: i128,
    most: i128,
    bins: u32,
    task: &TaskHandle,
) -> Result<Option<Histogram>, Diagnostic> {
    if bins == 0 {
        return Ok(None);
    }
    if least == most {
        return Ok(Some(single(chunks, kind.value(least), |_| true, integers, task)?));
    }
    // Few values: a bar for each.
    let values = (most - least + 1) as u128;
    let width = values.div_ceil(u128::from(bins)) as i128;
    let bars = (values.div_ceil(width as u128)) as usize;
    let mut counts = vec![0u64; bars];
    for chunk in chunks {
        task.check()?;
        integers(chunk)?(&mut |_, n| counts[((n - least) / width) as usize] += 1);
    }
    let edges = (0..=bars).map(|i| kind.value(if i == bars { most } else { least + width * i as i128 })).collect();
    Ok(Some(Histogram { edges, counts }))
}

/// Of a column whose values are all the same.
fn single<T>(
    chunks: &[ArrayRef],
    value: Value,
    counts: fn(T) -> bool,
    values: fn(&ArrayRef) -> Result<Values<'_, T>, Diagnostic>,
    task: &TaskHandle,
) -> Result<Histogram, Diagnostic> {
    let mut count = 0;
    for chunk in chunks {
        task.check()?;
        values(chunk)?(&mut |_, x| count += u64::from(counts(x)));
    }
    Ok(Histogram { edges: vec![value.clone(), value], counts: vec![count] })
}

/// Stafford's mixer, as in SplitMix64.
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn float_hash(x: f64) -> u64 {
    let x = if x.is_nan() { f64::NAN } else { x + 0.0 };
    mix(x.to_bits().wrapping_add(0x9e37_79b9_7f4a_7c15))
}

fn integer_hash(n: i128) -> u64 {
    mix((n as u64).wrapping_add(0x9e37_79b9_7f4a_7c15) ^ (((n >> 64) as u64) << 1))
}

fn text_hash(text: &str) -> u64 {
    let mut hash = 0x9e37_79b9_7f4a_7c15u64 ^ text.len() as u64;
    for piece in text.as_bytes().chunks(8) {
        let mut word = [0u8; 8];
        word[..piece.len()].copy_from_slice(piece);
        hash = mix(hash ^ u64::from_le_bytes(word));
    }
    mix(hash)
}

/// Hashes are hashed already.
#[derive(Clone, Copy, Default)]
struct Same(u64);

impl Hasher for Same {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.0 = mix(self.0 ^ u64::from(*b)));
    }
    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }
}

/// Registers of the estimate (HyperLogLog; Flajolet, Fusy, Gandouet, Meunier 2007): a standard error of 1.04 / sqrt(2^14).
const REGISTERS: u32 = 14;

/// The values that came by: counted one by one while there are few, estimated beyond.
struct Seen {
    /// Where a value was first, and how often it came.
    counts: HashMap<u64, (usize, usize, u64), BuildHasherDefault<Same>>,
    counting: bool,
    registers: Vec<u8>,
}

impl Default for Seen {
    fn default() -> Self {
        Seen { counts: HashMap::default(), counting: true, registers: vec![0; 1 << REGISTERS] }
    }
}

impl Seen {
    fn add(&mut self, hash: u64, chunk: usize, row: usize) {
        if self.counting {
            self.counts.entry(hash).or_insert((chunk, row, 0)).2 += 1;
            if self.counts.len() > COUNTED {
                self.counting = false;
                let so_far: HashSet<u64> = self.counts.keys().copied().collect();
                self.counts.clear();
                so_far.into_iter().for_each(|hash| self.estimate(hash));
            }
        } else {
            self.estimate(hash);
        }
    }

    fn estimate(&mut self, hash: u64) {
        let register = (hash >> (64 - REGISTERS)) as usize;
        let zeros = ((hash << REGISTERS) | (1 << (REGISTERS - 1))).leading_zeros() as u8 + 1;
        if self.registers[register] < zeros {
            self.registers[register] = zeros;
        }
    }

    fn distinct(&self) -> Distinct {
        if self.counting {
            return Distinct { count: self.counts.len() as u64, exact: true };
        }
        let m = f64::from(1u32 << REGISTERS);
        let sum: f64 = self.registers.iter().map(|r| 2f64.powi(-i32::from(*r))).sum();
        let estimate = 0.7213 / (1.0 + 1.079 / m) * m * m / sum;
        let zeros = self.registers.iter().filter(|r| **r == 0).count();
        // Few values fill few registers: then the empty ones say more.
        let count = if estimate <= 2.5 * m && zeros > 0 { m * (m / zeros as f64).ln() } else { estimate };
        Distinct { count: count.round() as u64, exact: false }
    }

    /// The most frequent first; of equal ones the one that came first.
    fn top(&self, chunks: &[ArrayRef], most: usize) -> Option<Vec<(Value, u64)>> {
        if !self.counting {
            return None;
        }
        let mut all: Vec<(usize, usize, u64)> = self.counts.values().copied().collect();
        all.sort_by_key(|(chunk, row, count)| (std::cmp::Reverse(*count), *chunk, *row));
        let value = |(chunk, row, count): &(usize, usize, u64)| (preview::shown(&chunks[*chunk], *row), *count);
        Some(all.iter().take(most).map(value).collect())
    }
}
