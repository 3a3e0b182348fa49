//! Column profiles for table headers: nulls, distinct values, minimum, maximum, mean, histogram, most frequent values.
//!
//! One pass over the values finds the range, and a second pass fills the histogram.

mod quantiles;

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{ArrowPrimitiveType, DataType, Decimal128Type, Float64Type, Int64Type, UInt64Type};
use onrush_expr::error::internal;
use onrush_frame::{TaskHandle, preview};
use onrush_logical::fingerprint::mix;
use onrush_wire::explore::{Distinct, Histogram, Quantile, Summary, SummaryRequest};
use onrush_wire::{Diagnostic, TimeUnit, Value};

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

    /// The unit of its last digit.
    fn unit(&self) -> f64 {
        match self {
            Integer::Decimal { scale, .. } => 10f64.powi(-i32::from(*scale)),
            _ => 1.0,
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
    let mut seen = ValueCounts::default();
    match &mut scale {
        Scale::Opaque => {
            // A column of nulls has no values at all.
            summary.distinct = (summary.nulls == summary.rows).then_some(Distinct { count: 0, exact: true });
            return Ok(summary);
        }
        Scale::Text => texts(chunks, &mut summary, &mut seen, task)?,
        Scale::Boolean => booleans(chunks, &mut summary, &mut seen, task)?,
        Scale::Float { narrow } => {
            let prepare = |chunk: &ArrayRef| prepared(chunk, &DataType::Float64);
            let moments = walk::<Float64Type>(chunks, prepare, &mut seen, task)?;
            summary.nans = moments.left_out;
            let value = |x: f64| if *narrow { Value::Float32(x as f32) } else { Value::Float(x) };
            (summary.min, summary.max) = (moments.least.map(value), moments.most.map(value));
            (summary.mean, summary.std) = moments.mean_and_std(1.0);
            let found = quantiles::of::<Float64Type>(chunks, prepare, &moments, request, task)?;
            let at = |found: quantiles::QuantileEstimate<f64>| {
                value(found.between(|low, high, part| low + (high - low) * part))
            };
            tell(&mut summary, request, found, at);
            if let Some((least, most)) = moments.finite {
                summary.histogram = float_histogram(chunks, least, most, request.bins, task)?;
            }
        }
        Scale::Integer(kind) => {
            let kind = kind.clone();
            match kind {
                Integer::Unsigned => numbers::<UInt64Type>(chunks, &kind, &mut summary, &mut seen, request, task)?,
                Integer::Decimal { .. } => {
                    numbers::<Decimal128Type>(chunks, &kind, &mut summary, &mut seen, request, task)?;
                }
                _ => numbers::<Int64Type>(chunks, &kind, &mut summary, &mut seen, request, task)?,
            }
        }
    }
    // An estimate can be above the number of values.
    let most = summary.rows - summary.nulls;
    summary.distinct = Some(seen.distinct()).map(|found| Distinct { count: found.count.min(most), ..found });
    if request.top > 0 {
        summary.top = seen.top(chunks, request.top as usize);
    }
    Ok(summary)
}

/// The type of a column's numbers.
trait Number: Copy + PartialOrd {
    fn float(self) -> f64;
    fn hash(self) -> u64;
    /// Exact if the type is an integer.
    fn wide(self) -> i128;
    fn is_nan(self) -> bool {
        false
    }
}

impl Number for f64 {
    #[inline(always)]
    fn float(self) -> f64 {
        self
    }
    #[inline(always)]
    fn hash(self) -> u64 {
        let x = if f64::is_nan(self) { f64::NAN } else { self + 0.0 };
        mix(x.to_bits().wrapping_add(SALT))
    }
    fn wide(self) -> i128 {
        self as i128
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        f64::is_nan(self)
    }
}

macro_rules! whole_numbers {
    ($($t:ty),*) => {$(
        impl Number for $t {
            #[inline(always)]
            fn float(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn hash(self) -> u64 {
                mix((self as u64).wrapping_add(SALT) ^ ((((self as i128) >> 64) as u64) << 1))
            }
            #[inline(always)]
            fn wide(self) -> i128 {
                self as i128
            }
        }
    )*};
}
whole_numbers!(i64, u64, i128);

struct Moments<T> {
    least: Option<T>,
    most: Option<T>,
    /// Without infinities.
    finite: Option<(T, T)>,
    left_out: u64,
    count: u64,
    /// Sums of the distances from a value of the column and of their squares: they stay small where the values are
    /// large.
    pivot: f64,
    sum: f64,
    squares: f64,
}

impl<T> Moments<T> {
    /// `unit`: what one of the column's digits stands for.
    fn mean_and_std(&self, unit: f64) -> (Option<f64>, Option<f64>) {
        let n = self.count as f64;
        let mean = (self.count > 0).then(|| (self.pivot + self.sum / n) * unit);
        let variance = |n: f64| ((self.squares - self.sum * self.sum / n) / (n - 1.0)).max(0.0);
        let std = (self.count > 1).then(|| match self.squares.is_finite() {
            true => variance(n).sqrt() * unit,
            false => f64::NAN,
        });
        (mean, std)
    }
}

fn prepared(chunk: &ArrayRef, to: &DataType) -> Result<ArrayRef, Diagnostic> {
    cast(chunk, to).map_err(|e| internal(&e.to_string()))
}

#[inline(always)]
fn each_value<T: Copy>(values: &[T], nulls: Option<&NullBuffer>, mut each: impl FnMut(usize, T)) {
    match nulls.filter(|nulls| nulls.null_count() > 0) {
        None => values.iter().enumerate().for_each(|(row, value)| each(row, *value)),
        Some(nulls) => nulls.valid_indices().for_each(|row| each(row, values[row])),
    }
}

fn walk<P: ArrowPrimitiveType>(
    chunks: &[ArrayRef],
    prepare: impl Fn(&ArrayRef) -> Result<ArrayRef, Diagnostic>,
    seen: &mut ValueCounts,
    task: &TaskHandle,
) -> Result<Moments<P::Native>, Diagnostic>
where
    P::Native: Number,
{
    let mut m = Moments {
        least: None,
        most: None,
        finite: None,
        left_out: 0,
        count: 0,
        pivot: f64::NAN,
        sum: 0.0,
        squares: 0.0,
    };
    for (at, chunk) in chunks.iter().enumerate() {
        task.check()?;
        let prepared = prepare(chunk)?;
        let array = prepared.as_primitive::<P>();
        let (mut sum, mut squares, mut count, mut nans) = (0.0, 0.0, 0u64, 0u64);
        let (mut least, mut most): (Option<P::Native>, Option<P::Native>) = (None, None);
        let mut finite: Option<(P::Native, P::Native)> = None;
        let mut pivot = m.pivot;
        each_value(array.values(), array.nulls(), |row, value| {
            seen.add(value.hash(), at, row);
            if value.is_nan() {
                nans += 1;
                return;
            }
            if least.is_none_or(|least| value < least) {
                least = Some(value);
            }
            if most.is_none_or(|most| value > most) {
                most = Some(value);
            }
            let x = value.float();
            if x.is_finite() {
                match &mut finite {
                    None => finite = Some((value, value)),
                    Some((low, _)) if value < *low => *low = value,
                    Some((_, high)) if value > *high => *high = value,
                    Some(_) => {}
                }
                if pivot.is_nan() {
                    pivot = x;
                }
            }
            count += 1;
            // Before the first finite value there are infinities alone.
            let distance = if pivot.is_nan() { x } else { x - pivot };
            sum += distance;
            squares += distance * distance;
        });
        m.pivot = pivot;
        m.left_out += nans;
        m.count += count;
        m.sum += sum;
        m.squares += squares;
        let lower =
            |a: Option<P::Native>, b: Option<P::Native>| if b.is_some_and(|b| a.is_none_or(|a| b < a)) { b } else { a };
        let upper =
            |a: Option<P::Native>, b: Option<P::Native>| if b.is_some_and(|b| a.is_none_or(|a| b > a)) { b } else { a };
        (m.least, m.most) = (lower(m.least, least), upper(m.most, most));
        let low = lower(m.finite.map(|f| f.0), finite.map(|f| f.0));
        let high = upper(m.finite.map(|f| f.1), finite.map(|f| f.1));
        m.finite = low.zip(high);
        task.add_rows(chunk.len() as u64);
    }
    // Nothing but infinities: their mean is one.
    if m.pivot.is_nan() && m.count > 0 {
        m.pivot = m.most.map_or(f64::NAN, Number::float);
    }
    Ok(m)
}

fn tell<T>(
    summary: &mut Summary,
    request: &SummaryRequest,
    found: Vec<quantiles::QuantileEstimate<T>>,
    value: impl Fn(quantiles::QuantileEstimate<T>) -> Value,
) {
    let mut found = found.into_iter();
    for (q, one) in request.quantiles.iter().zip(found.by_ref()) {
        let exact = one.is_exact();
        summary.quantiles.push(Quantile { q: *q, value: value(one), exact });
    }
    summary.median = found.next().map(value);
}

/// Integers, and types that are stored as integers.
fn numbers<P: ArrowPrimitiveType>(
    chunks: &[ArrayRef],
    kind: &Integer,
    summary: &mut Summary,
    seen: &mut ValueCounts,
    request: &SummaryRequest,
    task: &TaskHandle,
) -> Result<(), Diagnostic>
where
    P::Native: Number,
{
    let prepare = |chunk: &ArrayRef| match (kind, chunk.data_type()) {
        (Integer::Unsigned, _) => Ok(std::sync::Arc::clone(chunk)),
        (Integer::Decimal { scale, .. }, _) => prepared(chunk, &DataType::Decimal128(38, *scale)),
        (Integer::Date, _) => {
            prepared(&prepared(&prepared(chunk, &DataType::Date32)?, &DataType::Int32)?, &DataType::Int64)
        }
        (Integer::Time, _) => {
            let nanos = DataType::Time64(arrow::datatypes::TimeUnit::Nanosecond);
            prepared(&prepared(chunk, &nanos)?, &DataType::Int64)
        }
        _ => prepared(chunk, &DataType::Int64),
    };
    let moments = walk::<P>(chunks, prepare, seen, task)?;
    let (least, most) = (moments.least.map(Number::wide), moments.most.map(Number::wide));
    (summary.min, summary.max) = (least.map(|n| kind.value(n)), most.map(|n| kind.value(n)));
    if kind.has_mean() {
        (summary.mean, summary.std) = moments.mean_and_std(kind.unit());
    }
    let found = quantiles::of::<P>(chunks, prepare, &moments, request, task)?;
    let at = |found: quantiles::QuantileEstimate<P::Native>| match found {
        quantiles::QuantileEstimate::Between(low, high, part) if kind.has_mean() && low != high && part > 0.0 => {
            Value::Float((low.float() + (high.float() - low.float()) * part) * kind.unit())
        }
        quantiles::QuantileEstimate::Between(low, ..) => kind.value(low.wide()),
        quantiles::QuantileEstimate::About(x) => kind.value(x.round() as i128),
    };
    tell(summary, request, found, at);
    let (Some(least), Some(most), true) = (least, most, request.bins > 0) else { return Ok(()) };
    // Few values: a bar for each.
    let values = (most - least + 1) as u128;
    let width = values.div_ceil(u128::from(request.bins)) as i128;
    let bars = values.div_ceil(width as u128) as usize;
    let mut counts = vec![0u64; bars];
    let narrow = u64::try_from(most - least).is_ok();
    for chunk in chunks {
        task.check()?;
        let prepared = prepare(chunk)?;
        let array = prepared.as_primitive::<P>();
        if narrow {
            // Divisions of 64 bits take a tenth of those of 128.
            let width = width as u64;
            let least = least as u64;
            each_value(array.values(), array.nulls(), |_, n| {
                counts[((n.wide() as u64).wrapping_sub(least) / width) as usize] += 1;
            });
        } else {
            each_value(array.values(), array.nulls(), |_, n| counts[((n.wide() - least) / width) as usize] += 1);
        }
    }
    let edges = match least == most {
        true => vec![kind.value(least), kind.value(least)],
        false => (0..=bars).map(|i| kind.value(if i == bars { most } else { least + width * i as i128 })).collect(),
    };
    summary.histogram = Some(Histogram { edges, counts });
    Ok(())
}

fn texts(
    chunks: &[ArrayRef],
    summary: &mut Summary,
    seen: &mut ValueCounts,
    task: &TaskHandle,
) -> Result<(), Diagnostic> {
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

fn booleans(
    chunks: &[ArrayRef],
    summary: &mut Summary,
    seen: &mut ValueCounts,
    task: &TaskHandle,
) -> Result<(), Diagnostic> {
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
    let bars = if width == 0.0 { 1 } else { bins as usize };
    let mut counts = vec![0u64; bars];
    let each = if width == 0.0 { 0.0 } else { 1.0 / width };
    for chunk in chunks {
        task.check()?;
        let prepared = prepared(chunk, &DataType::Float64)?;
        let array = prepared.as_primitive::<Float64Type>();
        each_value(array.values(), array.nulls(), |_, x| {
            if x.is_finite() {
                // Rounding may push the largest one bar too far.
                counts[(((x - least) * each) as usize).min(bars - 1)] += 1;
            }
        });
    }
    let edge = |i: usize| if i == bars { most } else { least + width * i as f64 };
    Ok(Some(Histogram { edges: (0..=bars).map(|i| Value::Float(edge(i))).collect(), counts }))
}

const SALT: u64 = 0x9e37_79b9_7f4a_7c15;

fn text_hash(text: &str) -> u64 {
    let mut hash = SALT ^ text.len() as u64;
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

/// Registers of the estimate (HyperLogLog; Flajolet, Fusy, Gandouet, Meunier 2007): a standard error of 1.04 /
/// sqrt(2^14).
const REGISTERS: u32 = 14;

/// The values that came by: counted one by one while there are few, estimated beyond.
struct ValueCounts {
    /// The place of a value's first occurrence, and the number of occurrences.
    counts: HashMap<u64, (usize, usize, u64), BuildHasherDefault<Same>>,
    counting: bool,
    registers: Vec<u8>,
}

impl Default for ValueCounts {
    fn default() -> Self {
        ValueCounts { counts: HashMap::default(), counting: true, registers: vec![0; 1 << REGISTERS] }
    }
}

impl ValueCounts {
    #[inline]
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

    #[inline(always)]
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
