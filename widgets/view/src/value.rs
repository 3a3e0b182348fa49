//! Values as the text of table cells: one format for each column, so that its digits line up. Knows neither HTML nor
//! boxes.

use std::fmt::Write as _;

use chrono::{DateTime, Duration, NaiveDate, NaiveDateTime, NaiveTime, TimeZone, Utc};
use onrush_wire::{DataType, TimeUnit, Value};

/// The kind of a cell, as far as it matters for its look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Null,
    /// NaN and the infinities.
    NotFinite,
    Plain,
    /// A string of the user's data.
    Text,
    /// A string that is empty or white space only.
    Blank,
}

/// One cell, not truncated and not escaped.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub text: String,
    pub kind: Kind,
}

/// The format of the values of one column.
#[derive(Clone, Debug, Default)]
pub struct ColumnFormat {
    float: FloatFormat,
    /// Digits after the second: 0, 3, 6 or 9.
    second_digits: usize,
    /// Every timestamp is at midnight: the time of day is omitted if there is no time zone.
    midnight: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum FloatFormat {
    Fixed(usize),
    Scientific,
}

impl Default for FloatFormat {
    fn default() -> Self {
        FloatFormat::Fixed(1)
    }
}

/// Whether the cells of a column are right-aligned.
pub fn right_aligned(dtype: &DataType) -> bool {
    dtype.is_numeric() || matches!(dtype, DataType::Duration(_))
}

impl ColumnFormat {
    /// Chooses the format that suits all shown values.
    pub fn of<'a>(values: impl Iterator<Item = &'a Value> + Clone) -> Self {
        let floats = values.clone().filter_map(|v| match v {
            Value::Float(f) => Some(*f),
            Value::Float32(f) => f.to_string().parse().ok(),
            _ => None,
        });
        let second_digits = values.clone().map(subsecond_digits).max().unwrap_or(0);
        let midnight = values
            .filter_map(|v| match v {
                Value::Timestamp { value, unit, zone } => Some((value, unit, zone)),
                _ => None,
            })
            .all(|(value, unit, zone)| zone.is_none() && value.rem_euclid(86_400 * per_second(*unit)) == 0);
        ColumnFormat { float: float_format(floats), second_digits, midnight }
    }

    /// A value of this column.
    pub fn cell(&self, value: &Value) -> Cell {
        let kind = match value {
            Value::Null => Kind::Null,
            Value::Float(f) if !f.is_finite() => Kind::NotFinite,
            Value::Float32(f) if !f.is_finite() => Kind::NotFinite,
            Value::Text(t) if t.chars().all(char::is_whitespace) => Kind::Blank,
            Value::Text(_) => Kind::Text,
            _ => Kind::Plain,
        };
        let mut text = String::new();
        self.write(&mut text, value, Place::Cell);
        Cell { text, kind }
    }

    fn write(&self, out: &mut String, value: &Value, place: Place) {
        // Writing to a String cannot fail.
        let _ = match value {
            Value::Null => write!(out, "null"),
            Value::Boolean(b) => write!(out, "{b}"),
            Value::Int(i) => write!(out, "{i}"),
            Value::UInt(u) => write!(out, "{u}"),
            // By the shortest representation of the f32, so that 0.1 does not become 0.10000000149.
            Value::Float32(f) => self.write_float(out, f.to_string().parse().unwrap_or(f64::from(*f))),
            Value::Float(f) => self.write_float(out, *f),
            Value::Text(t) if place == Place::Cell => write!(out, "{t}"),
            Value::Text(t) => write!(out, "\"{}\"", t.replace('\\', "\\\\").replace('"', "\\\"")),
            Value::Binary(bytes) => write_binary(out, bytes),
            Value::Decimal { value, scale, .. } => write_decimal(out, *value, *scale),
            Value::Date(days) => match NaiveDate::default().checked_add_signed(Duration::days(i64::from(*days))) {
                Some(date) => write!(out, "{}", date.format("%Y-%m-%d")),
                None => write!(out, "day {days}"),
            },
            Value::Time(nanos) => self.write_time(out, *nanos),
            Value::Timestamp { value, unit, zone } => self.write_timestamp(out, *value, *unit, zone.as_deref()),
            Value::Duration { value, unit } => write_duration(out, *value, *unit),
            Value::List(items) => {
                let _ = write!(out, "[");
                let shown = if items.len() > MAX_ITEMS { MAX_ITEMS - 1 } else { items.len() };
                for (i, item) in items[..shown].iter().enumerate() {
                    if i > 0 {
                        let _ = write!(out, ", ");
                    }
                    ColumnFormat::of(items.iter()).write(out, item, Place::Nested);
                }
                if shown < items.len() {
                    let _ = write!(out, ", … {} more", items.len() - shown);
                }
                write!(out, "]")
            }
            Value::Struct(fields) => {
                let _ = write!(out, "{{");
                for (i, (name, value)) in fields.iter().enumerate() {
                    let _ = write!(out, "{}{name}: ", if i > 0 { ", " } else { "" });
                    ColumnFormat::of(std::iter::once(value)).write(out, value, Place::Nested);
                }
                write!(out, "}}")
            }
        };
    }

    fn write_float(&self, out: &mut String, f: f64) -> std::fmt::Result {
        if f.is_nan() {
            return write!(out, "NaN");
        }
        if f.is_infinite() {
            return write!(out, "{}", if f > 0.0 { "inf" } else { "-inf" });
        }
        match self.float {
            // A small value must not look like zero.
            FloatFormat::Fixed(digits) if f != 0.0 && f.abs() < 0.5 * 0.1f64.powi(digits as i32) => {
                write!(out, "{f:.2e}")
            }
            FloatFormat::Fixed(digits) => write!(out, "{f:.digits$}"),
            FloatFormat::Scientific if f == 0.0 => write!(out, "0.0"),
            FloatFormat::Scientific => write!(out, "{f:.4e}"),
        }
    }

    fn write_time(&self, out: &mut String, nanos: i64) -> std::fmt::Result {
        let time = u32::try_from(nanos.div_euclid(1_000_000_000))
            .ok()
            .and_then(|s| NaiveTime::from_num_seconds_from_midnight_opt(s, nanos.rem_euclid(1_000_000_000) as u32));
        match time {
            Some(time) => write!(out, "{}", time.format(&format!("%H:%M:%S{}", fraction(self.second_digits)))),
            None => write!(out, "{nanos} ns"),
        }
    }

    fn write_timestamp(&self, out: &mut String, value: i64, unit: TimeUnit, zone: Option<&str>) -> std::fmt::Result {
        let per_second = per_second(unit);
        let (seconds, rest) = (value.div_euclid(per_second), value.rem_euclid(per_second));
        let Some(utc) = DateTime::from_timestamp(seconds, (rest * (1_000_000_000 / per_second)) as u32) else {
            return write!(out, "{value} {unit} since 1970");
        };
        let naive: NaiveDateTime = utc.naive_utc();
        let pattern = format!("%Y-%m-%d %H:%M:%S{}", fraction(self.second_digits));
        match zone {
            None if self.midnight => write!(out, "{}", naive.format("%Y-%m-%d")),
            None => write!(out, "{}", naive.format(&pattern)),
            Some(zone) => match zone.parse::<chrono_tz::Tz>() {
                Ok(tz) => write!(out, "{}", tz.from_utc_datetime(&naive).format(&format!("{pattern} %Z"))),
                Err(_) => match zone.parse::<chrono::FixedOffset>() {
                    Ok(offset) => write!(out, "{}", offset.from_utc_datetime(&naive).format(&format!("{pattern} %:z"))),
                    Err(_) => write!(out, "{} UTC", Utc.from_utc_datetime(&naive).format(&pattern)),
                },
            },
        }
    }
}

/// Maximum number of shown list items.
const MAX_ITEMS: usize = 8;

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Cell,
    /// Inside a list or struct: strings are quoted.
    Nested,
}

/// About six significant digits of the largest value, at least two decimals, and none that are zero in the whole
/// column.
fn float_format(values: impl Iterator<Item = f64> + Clone) -> FloatFormat {
    let finite = values.filter(|f| f.is_finite());
    let largest = finite.clone().fold(0.0f64, |a, f| a.max(f.abs()));
    if largest == 0.0 {
        return FloatFormat::Fixed(1);
    }
    if !(1e-4..1e15).contains(&largest) {
        return FloatFormat::Scientific;
    }
    let magnitude = largest.log10().floor() as i32 + 1;
    let most = (6 - magnitude).clamp(2, 8) as usize;
    let mut needed = 1;
    for f in finite {
        let text = format!("{f:.most$}");
        let decimals = text.split_once('.').map_or(0, |(_, d)| d.trim_end_matches('0').len());
        needed = needed.max(decimals);
    }
    FloatFormat::Fixed(needed)
}

fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

fn subsecond_digits(value: &Value) -> usize {
    let nanos = match value {
        Value::Time(nanos) => nanos.rem_euclid(1_000_000_000),
        Value::Timestamp { value, unit, .. } => {
            let per_second = per_second(*unit);
            value.rem_euclid(per_second) * (1_000_000_000 / per_second)
        }
        _ => 0,
    };
    match nanos {
        0 => 0,
        n if n % 1_000_000 == 0 => 3,
        n if n % 1_000 == 0 => 6,
        _ => 9,
    }
}

fn fraction(digits: usize) -> &'static str {
    match digits {
        0 => "",
        3 => "%.3f",
        6 => "%.6f",
        _ => "%.9f",
    }
}

fn write_binary(out: &mut String, bytes: &[u8]) -> std::fmt::Result {
    const SHOWN: usize = 12;
    write!(out, "0x")?;
    for byte in bytes.iter().take(SHOWN) {
        write!(out, "{byte:02x}")?;
    }
    if bytes.len() > SHOWN {
        write!(out, "… ({} bytes)", bytes.len())?;
    }
    Ok(())
}

fn write_decimal(out: &mut String, value: i128, scale: i8) -> std::fmt::Result {
    let digits = value.unsigned_abs().to_string();
    if value < 0 {
        out.push('-');
    }
    match usize::try_from(scale) {
        Ok(0) => write!(out, "{digits}"),
        Ok(scale) => {
            let padded = format!("{digits:0>width$}", width = scale + 1);
            let (whole, part) = padded.split_at(padded.len() - scale);
            write!(out, "{whole}.{part}")
        }
        // A negative scale counts zeros after the digits.
        Err(_) if value == 0 => write!(out, "0"),
        Err(_) => write!(out, "{digits}{}", "0".repeat(usize::from(scale.unsigned_abs()))),
    }
}

/// `1d 2h 3m 4s 5ms`: the units that are not zero.
fn write_duration(out: &mut String, value: i64, unit: TimeUnit) -> std::fmt::Result {
    let nanos = i128::from(value) * i128::from(1_000_000_000 / per_second(unit));
    if nanos == 0 {
        return write!(out, "0{unit}");
    }
    if nanos < 0 {
        out.push('-');
    }
    let mut rest = nanos.unsigned_abs();
    let mut first = true;
    for (name, size) in [
        ("d", 86_400_000_000_000),
        ("h", 3_600_000_000_000),
        ("m", 60_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("μs", 1_000),
        ("ns", 1u128),
    ] {
        let count = rest / size;
        rest %= size;
        if count > 0 {
            write!(out, "{}{count}{name}", if first { "" } else { " " })?;
            first = false;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(values: &[Value]) -> Vec<String> {
        let format = ColumnFormat::of(values.iter());
        values.iter().map(|v| format.cell(v).text).collect()
    }

    fn floats(values: &[f64]) -> Vec<String> {
        column(&values.iter().map(|f| Value::Float(*f)).collect::<Vec<_>>())
    }

    #[test]
    fn floats_of_a_column_have_the_same_decimals() {
        assert_eq!(floats(&[227.0, 1400.0]), ["227.0", "1400.0"]);
        assert_eq!(floats(&[2.5, 3.25, -1.0]), ["2.50", "3.25", "-1.00"]);
        assert_eq!(floats(&[370.044_052_863, 12.0]), ["370.044", "12.000"]);
        assert_eq!(floats(&[1.0 / 3.0]), ["0.333333"]);
        assert_eq!(floats(&[123_456_789.123]), ["123456789.12"]);
        assert_eq!(floats(&[1e-9, 1e20]), ["1.0000e-9", "1.0000e20"]);
        assert_eq!(floats(&[1500.25, 0.000_012, 0.0]), ["1500.25", "1.20e-5", "0.00"]);
        assert_eq!(floats(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.5]), ["NaN", "inf", "-inf", "1.5"]);
        assert_eq!(column(&[Value::Float32(0.1), Value::Float32(2.0)]), ["0.1", "2.0"]);
    }

    #[test]
    fn dates_and_times() {
        assert_eq!(column(&[Value::Date(15_706), Value::Date(-1), Value::Null]), ["2013-01-01", "1969-12-31", "null"]);
        assert_eq!(column(&[Value::Date(i32::MAX)]), ["day 2147483647"]);
        let at = |value, unit, zone: Option<&str>| Value::Timestamp { value, unit, zone: zone.map(str::to_string) };
        assert_eq!(column(&[at(1_357_034_400, TimeUnit::Second, None)]), ["2013-01-01 10:00:00"]);
        assert_eq!(column(&[at(1_356_998_400_000, TimeUnit::Millisecond, None)]), ["2013-01-01"]);
        assert_eq!(
            column(&[at(1_357_034_400_000, TimeUnit::Millisecond, Some("America/New_York"))]),
            ["2013-01-01 05:00:00 EST"]
        );
        assert_eq!(
            column(&[at(1_357_034_400_000_000, TimeUnit::Microsecond, Some("+05:30"))]),
            ["2013-01-01 15:30:00 +05:30"]
        );
        assert_eq!(
            column(&[at(1, TimeUnit::Nanosecond, None), at(-1_000_000_000, TimeUnit::Nanosecond, None)]),
            ["1970-01-01 00:00:00.000000001", "1969-12-31 23:59:59.000000000"]
        );
        assert_eq!(column(&[Value::Time(3_661_500_000_000)]), ["01:01:01.500"]);
        assert_eq!(column(&[Value::Time(-1)]), ["-1 ns"]);
        assert_eq!(column(&[at(i64::MAX, TimeUnit::Second, None)]), ["9223372036854775807 s since 1970"]);
    }

    #[test]
    fn durations_decimals_and_nested_values() {
        let duration = |value, unit| Value::Duration { value, unit };
        assert_eq!(
            column(&[duration(93_784_005, TimeUnit::Millisecond), duration(-60, TimeUnit::Second)]),
            ["1d 2h 3m 4s 5ms", "-1m"]
        );
        assert_eq!(column(&[duration(0, TimeUnit::Microsecond)]), ["0μs"]);
        let decimal = |value, scale| Value::Decimal { value, precision: 10, scale };
        assert_eq!(
            column(&[decimal(12_345, 2), decimal(-5, 2), decimal(7, 0), decimal(7, -2)]),
            ["123.45", "-0.05", "7", "700"]
        );
        let list = Value::List((0..20).map(Value::Int).collect());
        assert_eq!(column(&[list]), ["[0, 1, 2, 3, 4, 5, 6, … 13 more]"]);
        let record = Value::Struct(vec![
            ("a".into(), Value::Int(1)),
            ("b".into(), Value::Text("x \"y\"".into())),
            ("c".into(), Value::Null),
        ]);
        assert_eq!(column(&[record]), ["{a: 1, b: \"x \\\"y\\\"\", c: null}"]);
        assert_eq!(column(&[Value::Binary(vec![0xde, 0xad])]), ["0xdead"]);
    }
}
