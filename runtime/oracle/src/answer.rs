//! Rows as text and as values, and when two answers are the same.
//!
//! Floats may differ in their last digits, because sums depend on the order of the rows; everything else is exact. A
//! decimal is the number that it is, whatever its scale.

use std::cmp::Ordering;

use chrono::{DateTime, TimeDelta};
use onrush_frame::Table;
use onrush_wire::{TimeUnit, Value};

/// The largest difference of two floats that are the same.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// A share of the larger float.
    pub relative: f64,
    pub absolute: f64,
}

impl Tolerance {
    pub const EXACT: Tolerance = Tolerance { relative: 1e-12, absolute: 0.0 };

    fn allows(self, a: f64, b: f64) -> bool {
        // Both zeros are one, both infinities and every NaN equal themselves.
        a == b
            || (a.is_nan() && b.is_nan())
            || (a - b).abs() <= (a.abs().max(b.abs()) * self.relative).max(self.absolute)
                && a.is_finite()
                && b.is_finite()
    }
}

/// The class of a column in a `query` line of a SQL file: boolean, integer, float, decimal, date, time or interval,
/// string.
pub fn letter(dtype: &onrush_wire::DataType) -> char {
    use onrush_wire::DataType::*;
    match dtype {
        Boolean => 'B',
        Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 => 'I',
        Float16 | Float32 | Float64 => 'R',
        Decimal { .. } => 'D',
        Date | Time(_) | Timestamp(..) | Duration(_) | Interval => 'P',
        Null => '?',
        _ => 'T',
    }
}

pub fn letters(table: &Table) -> String {
    let schema = onrush_frame::schema_to_wire(table.schema());
    schema.fields.iter().map(|f| letter(&f.dtype)).collect()
}

pub fn rows(table: &Table) -> Vec<Vec<Value>> {
    let mut rows = Vec::with_capacity(table.rows());
    for batch in table.batches() {
        for row in 0..batch.num_rows() {
            rows.push(batch.columns().iter().map(|c| onrush_frame::value_at(c, row)).collect());
        }
    }
    rows
}

/// One word: blanks are escaped.
pub fn text(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_string(),
        Value::Boolean(v) => v.to_string(),
        Value::Int(v) => v.to_string(),
        Value::UInt(v) => v.to_string(),
        Value::Float32(v) => format!("{v:?}"),
        Value::Float(v) => format!("{v:?}"),
        Value::Text(v) => escaped(v),
        Value::Decimal { value, scale, .. } => decimal(*value, *scale),
        Value::Date(days) => {
            let day = DateTime::UNIX_EPOCH.checked_add_signed(TimeDelta::days((*days).into()));
            day.map_or_else(|| format!("day{days}"), |d| d.format("%F").to_string())
        }
        Value::Timestamp { value, unit, zone } => {
            let zulu = if zone.is_some() { "Z" } else { "" };
            let time = micros(*value, *unit).and_then(DateTime::from_timestamp_micros);
            time.map_or_else(|| format!("tick{value}{zulu}"), |t| t.naive_utc().format("%FT%T%.f").to_string() + zulu)
        }
        Value::Duration { value, unit } => match micros(*value, *unit) {
            Some(micros) => format!("{micros}us"),
            None => format!("{value}{unit:?}"),
        },
        Value::List(items) => format!("[{}]", items.iter().map(text).collect::<Vec<_>>().join(",")),
        Value::Struct(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name}:{}", text(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        other => escaped(&format!("{other:?}")),
    }
}

fn micros(value: i64, unit: TimeUnit) -> Option<i64> {
    match unit {
        TimeUnit::Second => value.checked_mul(1_000_000),
        TimeUnit::Millisecond => value.checked_mul(1_000),
        TimeUnit::Microsecond => Some(value),
        TimeUnit::Nanosecond => Some(value.div_euclid(1_000)),
    }
}

/// Without zeros at the end.
fn decimal(value: i128, scale: i8) -> String {
    let scale = usize::try_from(scale).unwrap_or(0);
    let digits = format!("{:0width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, part) = digits.split_at(digits.len() - scale);
    let part = part.trim_end_matches('0');
    let sign = if value < 0 { "-" } else { "" };
    if part.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
}

pub fn escaped(text: &str) -> String {
    if text.is_empty() {
        return "(empty)".to_string();
    }
    if text == "NULL" {
        return "\\NULL".to_string();
    }
    text.replace('\\', "\\\\").replace(' ', "\\s").replace('\t', "\\t").replace('\n', "\\n")
}

pub fn unescaped(word: &str) -> String {
    if word == "(empty)" {
        return String::new();
    }
    let mut out = String::with_capacity(word.len());
    let mut chars = word.chars();
    while let Some(c) = chars.next() {
        match (c, chars.clone().next()) {
            ('\\', Some(code @ ('s' | 't' | 'n' | '\\'))) => {
                chars.next();
                out.push(match code {
                    's' => ' ',
                    't' => '\t',
                    'n' => '\n',
                    other => other,
                });
            }
            ('\\', _) => {}
            _ => out.push(c),
        }
    }
    out
}

/// Whether a value is what a SQL file says in a column of class `letter`.
pub fn is(value: &Value, expected: &str, letter: char) -> bool {
    let float = match value {
        Value::Float32(v) => Some((f64::from(*v), Tolerance { relative: 2e-6, absolute: 0.0 })),
        Value::Float(v) => Some((*v, Tolerance { relative: 1e-11, absolute: 1e-14 })),
        _ => None,
    };
    match (letter, float) {
        ('R', Some((value, tolerance))) => expected.parse().is_ok_and(|e| tolerance.allows(value, e)),
        _ => text(value) == expected,
    }
}

fn same(a: &Value, b: &Value, tolerance: Tolerance) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => tolerance.allows(*a, *b),
        (Value::Float32(a), Value::Float32(b)) => {
            let single = Tolerance { relative: tolerance.relative.max(1e-6), ..tolerance };
            tolerance.allows(f64::from(*a), f64::from(*b)) || single.allows(f64::from(*a), f64::from(*b))
        }
        _ => text(a) == text(b),
    }
}

/// The first difference of two answers, in words. `exact` says of each column whether its floats are equal to the last
/// bit; rows in any order unless `ordered`.
///
/// # Errors
/// If they differ.
pub fn compare(a: &Table, b: &Table, exact: &[bool], tolerance: Tolerance, ordered: bool) -> Result<(), String> {
    let types = |t: &Table| onrush_frame::schema_to_wire(t.schema()).fields.into_iter().map(|f| f.dtype);
    for (index, (a, b)) in types(a).zip(types(b)).enumerate() {
        if a != b {
            return Err(format!("column {index} is {a} and {b}"));
        }
    }
    let (mut left, mut right) = (rows(a), rows(b));
    if left.len() != right.len() {
        return Err(format!("{} rows and {} rows", left.len(), right.len()));
    }
    let is_exact = |column: usize| exact.get(column).copied().unwrap_or(true);
    let equal = |a: &[Value], b: &[Value]| {
        a.iter()
            .zip(b)
            .enumerate()
            .all(|(column, (a, b))| same(a, b, if is_exact(column) { Tolerance::EXACT } else { tolerance }))
    };
    if !ordered {
        left.sort_by(|a, b| order(a, b, &is_exact));
        right.sort_by(|a, b| order(a, b, &is_exact));
    }
    if left.iter().zip(&right).all(|(a, b)| equal(a, b)) {
        return Ok(());
    }
    if ordered {
        let place = left.iter().zip(&right).position(|(a, b)| !equal(a, b)).unwrap_or(0);
        return Err(format!("row {place}: {}\n     and: {}", line(&left[place]), line(&right[place])));
    }
    // Rows that differ in their last digits only may lie in another order: each takes the first that fits.
    for row in &left {
        match right.iter().position(|other| equal(row, other)) {
            Some(place) => _ = right.swap_remove(place),
            None => {
                let near = right
                    .iter()
                    .max_by_key(|other| row.iter().zip(other.iter()).filter(|(a, b)| text(a) == text(b)).count());
                let near = near.map_or_else(String::new, |row| line(row));
                return Err(format!(
                    "a row of the first is not in the second: {}\n     nearest there: {near}",
                    line(row)
                ));
            }
        }
    }
    Ok(())
}

pub fn line(row: &[Value]) -> String {
    row.iter().map(text).collect::<Vec<_>>().join("\t")
}

/// By the exact columns first.
fn order(a: &[Value], b: &[Value], is_exact: &impl Fn(usize) -> bool) -> Ordering {
    let columns = |wanted: bool| (0..a.len()).filter(move |i| is_exact(*i) == wanted);
    let mut all = columns(true).chain(columns(false));
    all.find_map(|i| Some(order_of(&a[i], &b[i])).filter(|o| o.is_ne())).unwrap_or(Ordering::Equal)
}

fn order_of(a: &Value, b: &Value) -> Ordering {
    // One zero, one NaN.
    let plain = |v: f64| if v.is_nan() { f64::NAN } else { v + 0.0 };
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => plain(*a).total_cmp(&plain(*b)),
        (Value::Float32(a), Value::Float32(b)) => plain((*a).into()).total_cmp(&plain((*b).into())),
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::UInt(a), Value::UInt(b)) => a.cmp(b),
        _ => text(a).cmp(&text(b)),
    }
}
