//! Values as strings in the form of DuckDB: `cast(x as varchar)` of times, floats, intervals, bytes and nested values.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::types::IntervalMonthDayNano;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, make_comparator};
use arrow::compute::SortOptions;
use arrow::datatypes::{
    DataType, Float64Type, IntervalDayTimeType, IntervalMonthDayNanoType, IntervalUnit, IntervalYearMonthType,
    Time64NanosecondType, TimeUnit, TimestampMicrosecondType,
};
use arrow::util::display::array_value_to_string;
use chrono::DateTime;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, Operator, ScalarUDF};
use onrush_expr::scalar_udf::{Body, kernel, kernel_by_types, strict};
use onrush_expr::type_coercion;

use super::{format, lists, text, to_strings};

pub fn functions() -> Vec<ScalarUDF> {
    vec![
        kernel_by_types("as_varchar", text, as_varchar),
        kernel_by_types("blob_concat", |_| Ok(DataType::Binary), concat),
    ]
}

/// Whether a cast to a string differs from Arrow's.
pub fn differs(dtype: &DataType) -> bool {
    // Floats are written by devices, too, in Arrow's form.
    dtype.is_nested()
        || matches!(
            dtype,
            DataType::Timestamp(..)
                | DataType::Time32(_)
                | DataType::Time64(_)
                | DataType::Interval(_)
                | DataType::Binary
        )
}

/// A value as a string.
pub fn call(value: Expr) -> Expr {
    kernel("as_varchar", type_coercion::TEXT, as_varchar).call(vec![value])
}

pub fn concatenated(left: Expr, right: Expr) -> Expr {
    kernel("blob_concat", DataType::Binary, concat).call(vec![left, right])
}

fn as_varchar(args: &[ArrayRef]) -> Result<ArrayRef> {
    let values = &args[0];
    to_strings(values.len(), |row| if values.is_null(row) { Ok(None) } else { shown(values, row).map(Some) })
}

fn concat(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (a, b) = (strict(&args[0], &DataType::Binary)?, strict(&args[1], &DataType::Binary)?);
    let (a, b) = (a.as_binary::<i32>(), b.as_binary::<i32>());
    let joined = a.iter().zip(b.iter()).map(|(a, b)| Some([a?, b?].concat()));
    Ok(Arc::new(joined.collect::<arrow::array::BinaryArray>()))
}

/// `.5` for half a second: without zeros at the end.
fn fraction(micros: i64) -> String {
    match micros {
        0 => String::new(),
        micros => format!(".{micros:06}").trim_end_matches('0').to_string(),
    }
}

/// A value as DuckDB writes it.
pub(super) fn shown(values: &ArrayRef, row: usize) -> Result<String> {
    if values.is_null(row) || *values.data_type() == DataType::Null {
        return Ok("NULL".to_string());
    }
    Ok(match values.data_type() {
        t if t.is_floating() => {
            let wide = strict(values, &DataType::Float64)?.as_primitive::<Float64Type>().value(row);
            match t {
                DataType::Float32 => {
                    let single = values.as_primitive::<arrow::datatypes::Float32Type>().value(row);
                    format::float_text(f64::from(single), single.to_string().parse().ok())
                }
                _ => format::float_text(wide, None),
            }
        }
        DataType::Timestamp(_, zone) => {
            let micros = strict(values, &DataType::Timestamp(TimeUnit::Microsecond, zone.clone()))?;
            let value = micros.as_primitive::<TimestampMicrosecondType>().value(row);
            let suffix = if zone.is_some() { "+00" } else { "" };
            match DateTime::from_timestamp_micros(value) {
                Some(time) => {
                    let part = fraction(value.rem_euclid(1_000_000));
                    format!("{}{part}{suffix}", time.format("%Y-%m-%d %H:%M:%S"))
                }
                None => array_value_to_string(values, row)?,
            }
        }
        DataType::Time32(_) | DataType::Time64(_) => {
            let nanos = strict(values, &DataType::Time64(TimeUnit::Nanosecond))?;
            let micros = nanos.as_primitive::<Time64NanosecondType>().value(row) / 1_000;
            clock(micros)
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            interval(values.as_primitive::<IntervalMonthDayNanoType>().value(row))
        }
        DataType::Interval(IntervalUnit::YearMonth) => {
            let months = values.as_primitive::<IntervalYearMonthType>().value(row);
            interval(IntervalMonthDayNano { months, days: 0, nanoseconds: 0 })
        }
        DataType::Interval(IntervalUnit::DayTime) => {
            let of = values.as_primitive::<IntervalDayTimeType>().value(row);
            let nanoseconds = i64::from(of.milliseconds) * 1_000_000;
            interval(IntervalMonthDayNano { months: 0, days: of.days, nanoseconds })
        }
        DataType::Binary => {
            let bytes = values.as_binary::<i32>().value(row);
            let shown = bytes.iter().map(|byte| match byte {
                b'\\' | b'\'' | b'"' => format!("\\x{byte:02X}"),
                0x20..=0x7e => char::from(*byte).to_string(),
                other => format!("\\x{other:02X}"),
            });
            shown.collect()
        }
        t if type_coercion::is_list(t) => {
            let list = lists::list_at(values, row)?;
            let items = (0..list.len()).map(|at| inner(&list, at)).collect::<Result<Vec<_>>>()?;
            format!("[{}]", items.join(", "))
        }
        DataType::Struct(fields) => {
            let columns = values.as_struct().columns();
            let items = fields
                .iter()
                .zip(columns)
                .map(|(f, column)| Ok(format!("{}: {}", quoted(f.name()), inner(column, row)?)));
            format!("{{{}}}", items.collect::<Result<Vec<_>>>()?.join(", "))
        }
        DataType::Map(..) => {
            let entries = values.as_map().value(row);
            let (keys, inner_values) = (entries.column(0), entries.column(1));
            let items = (0..entries.len()).map(|at| Ok(format!("{}={}", inner(keys, at)?, inner(inner_values, at)?)));
            format!("{{{}}}", items.collect::<Result<Vec<_>>>()?.join(", "))
        }
        _ => array_value_to_string(values, row)?,
    })
}

/// A value inside of another: strings with special characters have quotes.
fn inner(values: &ArrayRef, row: usize) -> Result<String> {
    let text = shown(values, row)?;
    if values.is_null(row) || !type_coercion::is_text(values.data_type()) {
        return Ok(text);
    }
    let special = |c: char| matches!(c, '[' | ']' | '{' | '}' | '(' | ')' | ',' | ':' | '=' | '\'' | '"' | '\\');
    let needs = text.is_empty()
        || text.contains(special)
        || text.starts_with(char::is_whitespace)
        || text.ends_with(char::is_whitespace)
        || text.eq_ignore_ascii_case("null");
    Ok(if needs { quoted(&text) } else { text })
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn clock(micros: i64) -> String {
    let (sign, size) = (if micros < 0 { "-" } else { "" }, micros.abs());
    let seconds = size / 1_000_000;
    format!("{sign}{:02}:{:02}:{:02}{}", seconds / 3600, seconds / 60 % 60, seconds % 60, fraction(size % 1_000_000))
}

/// `1 year 2 months 3 days 04:05:06`
fn interval(of: IntervalMonthDayNano) -> String {
    let mut parts = Vec::new();
    let mut part = |count: i32, unit: &str| {
        if count != 0 {
            parts.push(format!("{count} {unit}{}", if count.abs() == 1 { "" } else { "s" }));
        }
    };
    part(of.months / 12, "year");
    part(of.months % 12, "month");
    part(of.days, "day");
    if of.nanoseconds != 0 || parts.is_empty() {
        parts.push(clock(of.nanoseconds / 1_000));
    }
    parts.join(" ")
}

/// A comparison of nested values: nulls inside equal each other and are the largest.
pub fn compared(op: Operator, left: Expr, right: Expr) -> Option<Expr> {
    let (name, body): (&'static str, Body) = match op {
        Operator::Eq => ("nested_eq", |args| compare(args, Ordering::is_eq)),
        Operator::NotEq => ("nested_ne", |args| compare(args, Ordering::is_ne)),
        Operator::Lt => ("nested_lt", |args| compare(args, Ordering::is_lt)),
        Operator::LtEq => ("nested_le", |args| compare(args, Ordering::is_le)),
        Operator::Gt => ("nested_gt", |args| compare(args, Ordering::is_gt)),
        Operator::GtEq => ("nested_ge", |args| compare(args, Ordering::is_ge)),
        _ => return None,
    };
    Some(kernel(name, DataType::Boolean, body).call(vec![left, right]))
}

fn compare(args: &[ArrayRef], is: fn(Ordering) -> bool) -> Result<ArrayRef> {
    // One of the two types holds the values of both, such as a struct with a field that is null in all rows.
    let (left, right) = match args[0].data_type() == args[1].data_type() {
        true => (Arc::clone(&args[0]), Arc::clone(&args[1])),
        false => match strict(&args[1], args[0].data_type()) {
            Ok(right) => (Arc::clone(&args[0]), right),
            Err(_) => (strict(&args[0], args[1].data_type())?, Arc::clone(&args[1])),
        },
    };
    let order = make_comparator(&left, &right, SortOptions { descending: false, nulls_first: false })?;
    let rows = 0..left.len();
    let found = rows.map(|row| (left.is_valid(row) && right.is_valid(row)).then(|| is(order(row, row))));
    Ok(Arc::new(found.collect::<BooleanArray>()))
}
