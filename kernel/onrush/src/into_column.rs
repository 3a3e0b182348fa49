//! Conversion of Rust values to columns for `frame!`: arrays, slices, vectors, columns.

use std::sync::Arc;

use arrow::array::{self as a, ArrayRef, RecordBatch};
use arrow::datatypes::{Field, Schema};
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Timelike, Utc};
use onrush_wire::{Class, Diagnostic, Span};

use crate::column::{Column, Element};
use crate::handle::{self, Frame};
use crate::raise::raise;

/// Values that make a column, by reference: an array, a slice, a `Vec` or a `Column` of numbers, strings, `bool`s,
/// dates, or `Option`s of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a column of a frame",
    label = "expected an array, a slice or a `Vec` of numbers, strings, `bool`s, dates, or `Option`s of them"
)]
pub trait IntoColumn {
    #[doc(hidden)]
    fn to_array(&self) -> ArrayRef;
}

/// A type whose values can be one value of a column of `frame!`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a value in a column",
    label = "expected a number, a string, a `bool`, a date or time of chrono's, or an `Option` of one of these"
)]
pub trait ColumnValue: Sized {
    #[doc(hidden)]
    fn array(values: &[Self]) -> ArrayRef;
}

macro_rules! values {
    ($($t:ty: $array:ident, |$v:ident| $convert:expr);* $(;)?) => {$(
        impl ColumnValue for $t {
            fn array(values: &[Self]) -> ArrayRef {
                Arc::new(a::$array::from_iter(values.iter().map(|$v| Some($convert))))
            }
        }
        impl ColumnValue for Option<$t> {
            fn array(values: &[Self]) -> ArrayRef {
                Arc::new(a::$array::from_iter(values.iter().map(|v| v.as_ref().map(|$v| $convert))))
            }
        }
    )*};
}
values! {
    i8: Int8Array, |v| *v;
    i16: Int16Array, |v| *v;
    i32: Int32Array, |v| *v;
    i64: Int64Array, |v| *v;
    isize: Int64Array, |v| *v as i64;
    u8: UInt8Array, |v| *v;
    u16: UInt16Array, |v| *v;
    u32: UInt32Array, |v| *v;
    u64: UInt64Array, |v| *v;
    usize: UInt64Array, |v| *v as u64;
    f32: Float32Array, |v| *v;
    f64: Float64Array, |v| *v;
    bool: BooleanArray, |v| *v;
    &str: StringArray, |v| *v;
    String: StringArray, |v| v.as_str();
    &String: StringArray, |v| v.as_str();
    char: StringArray, |v| v.to_string();
    NaiveDate: Date32Array, |v| v.signed_duration_since(NaiveDate::default()).num_days() as i32;
    NaiveDateTime: TimestampMicrosecondArray, |v| v.and_utc().timestamp_micros();
    NaiveTime: Time64NanosecondArray,
        |v| i64::from(v.num_seconds_from_midnight()) * 1_000_000_000 + i64::from(v.nanosecond());
    TimeDelta: DurationMicrosecondArray, |v| v.num_microseconds().unwrap_or(i64::MAX);
}

fn utc(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(a::TimestampMicrosecondArray::from_iter(values).with_timezone("UTC"))
}

impl ColumnValue for DateTime<Utc> {
    fn array(values: &[Self]) -> ArrayRef {
        utc(values.iter().map(|v| Some(v.timestamp_micros())))
    }
}

impl ColumnValue for Option<DateTime<Utc>> {
    fn array(values: &[Self]) -> ArrayRef {
        utc(values.iter().map(|v| v.map(|v| v.timestamp_micros())))
    }
}

impl<T: ColumnValue> IntoColumn for [T] {
    fn to_array(&self) -> ArrayRef {
        T::array(self)
    }
}

impl<T: ColumnValue, const N: usize> IntoColumn for [T; N] {
    fn to_array(&self) -> ArrayRef {
        T::array(self)
    }
}

impl<T: ColumnValue> IntoColumn for Vec<T> {
    fn to_array(&self) -> ArrayRef {
        T::array(self)
    }
}

impl<T: Element> IntoColumn for Column<T> {
    fn to_array(&self) -> ArrayRef {
        Arc::clone(self.array())
    }
}

impl IntoColumn for ArrayRef {
    fn to_array(&self) -> ArrayRef {
        Arc::clone(self)
    }
}

impl<T: IntoColumn + ?Sized> IntoColumn for &T {
    fn to_array(&self) -> ArrayRef {
        (**self).to_array()
    }
}

macro_rules! ranges {
    ($($t:ty),*) => {$(
        impl IntoColumn for std::ops::Range<$t> {
            fn to_array(&self) -> ArrayRef {
                <$t>::array(&self.clone().collect::<Vec<_>>())
            }
        }
        impl IntoColumn for std::ops::RangeInclusive<$t> {
            fn to_array(&self) -> ArrayRef {
                <$t>::array(&self.clone().collect::<Vec<_>>())
            }
        }
    )*};
}
ranges!(i32, i64, u32, u64, usize);

/// One `name: values` of `frame!`.
pub struct NamedColumn {
    name: &'static str,
    place: (u32, u32, u32),
    array: ArrayRef,
}

pub fn column<T: IntoColumn + ?Sized>(name: &'static str, place: (u32, u32, u32), values: &T) -> NamedColumn {
    NamedColumn { name, place, array: values.to_array() }
}

#[inline(never)]
pub fn frame(file: &str, columns: Vec<NamedColumn>) -> Frame {
    let span = |c: &NamedColumn| Span { file: file.to_string(), line: c.place.0, column: c.place.1, length: c.place.2 };
    let fail = |code: &str, message: String| Diagnostic::error(Class::Plan, code, message);
    if let Some(first) = columns.first() {
        let rows = first.array.len();
        if let Some(other) = columns.iter().find(|c| c.array.len() != rows) {
            raise(
                fail(
                    "lengths",
                    format!("`{}` has {} values, and `{}` has {rows}", other.name, other.array.len(), first.name),
                )
                .at(span(other), "")
                .help("the columns of a frame have the same length"),
            );
        }
    }
    for (at, column) in columns.iter().enumerate() {
        if columns[..at].iter().any(|c| c.name == column.name) {
            raise(fail("duplicate-column", format!("there are two columns `{}`", column.name)).at(span(column), ""));
        }
    }
    let at = columns.first().map_or_else(|| Span { file: file.to_string(), line: 1, column: 1, length: 1 }, span);
    let fields: Vec<Field> = columns.iter().map(|c| Field::new(c.name, c.array.data_type().clone(), true)).collect();
    let arrays = columns.into_iter().map(|c| c.array).collect();
    match RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays) {
        Ok(batch) => handle::send(&batch, at),
        Err(e) => raise(fail("frame", "the columns do not make a frame".to_string()).note(e.to_string()).at(at, "")),
    }
}
