//! The values of a column in Rust: views of shared memory for numbers, vectors for types with another layout in Rust.

use std::ops::Deref;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::ScalarBuffer;
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{self as ad, DataType as Arrow, TimeUnit as ArrowUnit};
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc};
use onrush_wire::{Class, DataType, Diagnostic};

use crate::arrow_conversion::{date_from_days, value_at, wire_type};

/// The values of a column, in order. It derefs to a slice: `delays[0]`, `delays.iter()`, `&delays[..10]`.
#[derive(Clone)]
pub struct Column<T: Element> {
    pub(crate) name: String,
    pub(crate) array: ArrayRef,
    values: T::Store,
}

impl<T: Element> Column<T> {
    pub(crate) fn new(name: &str, array: &ArrayRef) -> Result<Self, Diagnostic> {
        let array = as_type(name, array, &T::arrow())?;
        if !T::NULLABLE && array.null_count() > 0 {
            let nulls = array.null_count();
            let inner = T::name();
            return Err(Diagnostic::error(
                Class::Data,
                "nulls",
                format!("`{name}` has {nulls} null{} among {} values", if nulls == 1 { "" } else { "s" }, array.len()),
            )
            .help(format!(
                "`column::<Option<{inner}>>(\"{name}\")` keeps them as `None`; `drop_nulls_in(\"{name}\")` or `fill_null` takes them out first"
            )));
        }
        let values = T::store(&array).map_err(|problem| {
            Diagnostic::error(
                Class::Data,
                "value",
                format!("`{name}` holds a value that `{}` cannot: {problem}", T::name()),
            )
        })?;
        Ok(Column { name: name.to_string(), array, values })
    }

    /// The column's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The values with their nulls, as an Arrow array.
    pub fn array(&self) -> &ArrayRef {
        &self.array
    }

    /// A copy of the values as a vector.
    pub fn to_vec(&self) -> Vec<T>
    where
        T: Clone,
    {
        let values: &[T] = self;
        values.to_vec()
    }
}

impl<T: Element> Deref for Column<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.values
    }
}

impl<'a, T: Element> IntoIterator for &'a Column<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: Element + Clone> IntoIterator for Column<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        self.to_vec().into_iter()
    }
}

impl<T: Element + Clone> From<Column<T>> for Vec<T> {
    fn from(column: Column<T>) -> Self {
        column.to_vec()
    }
}

impl<T: Element + PartialEq> PartialEq<Vec<T>> for Column<T> {
    fn eq(&self, other: &Vec<T>) -> bool {
        **self == **other
    }
}

impl<T: Element + PartialEq, const N: usize> PartialEq<[T; N]> for Column<T> {
    fn eq(&self, other: &[T; N]) -> bool {
        **self == *other
    }
}

/// A type that column values can have in Rust: a number, `bool`, `String`, a date or time of chrono, or an `Option` of
/// one of them for columns with nulls.
#[diagnostic::on_unimplemented(
    message = "a column cannot be read as `{Self}`",
    label = "expected a number type, `bool`, `String`, a date or time of chrono's, or an `Option` of one of these"
)]
pub trait Element: Sized {
    #[doc(hidden)]
    type Store: Deref<Target = [Self]> + Clone;
    #[doc(hidden)]
    const NULLABLE: bool;
    /// The Arrow type from which the values are read.
    #[doc(hidden)]
    fn arrow() -> Arrow;
    #[doc(hidden)]
    fn name() -> String;
    #[doc(hidden)]
    fn store(array: &ArrayRef) -> Result<Self::Store, String>;
}

/// The part of [`Element`] that an `Option` repeats: reads one value that is not null.
#[doc(hidden)]
pub trait Single: Element {
    fn single(array: &ArrayRef, row: usize) -> Result<Self, String>;
}

macro_rules! numbers {
    ($($t:ty: $native:ident $arrow:expr, $shown:literal);* $(;)?) => {$(
        impl Element for $t {
            type Store = ScalarBuffer<$t>;
            const NULLABLE: bool = false;
            fn arrow() -> Arrow {
                $arrow
            }
            fn name() -> String {
                $shown.to_string()
            }
            fn store(array: &ArrayRef) -> Result<Self::Store, String> {
                Ok(array.as_primitive::<ad::$native>().values().clone())
            }
        }
        impl Single for $t {
            fn single(array: &ArrayRef, row: usize) -> Result<Self, String> {
                Ok(array.as_primitive::<ad::$native>().value(row))
            }
        }
    )*};
}
numbers! {
    i8: Int8Type Arrow::Int8, "i8";
    i16: Int16Type Arrow::Int16, "i16";
    i32: Int32Type Arrow::Int32, "i32";
    i64: Int64Type Arrow::Int64, "i64";
    u8: UInt8Type Arrow::UInt8, "u8";
    u16: UInt16Type Arrow::UInt16, "u16";
    u32: UInt32Type Arrow::UInt32, "u32";
    u64: UInt64Type Arrow::UInt64, "u64";
    f32: Float32Type Arrow::Float32, "f32";
    f64: Float64Type Arrow::Float64, "f64";
}

macro_rules! copied {
    ($($t:ty: $arrow:expr, $shown:literal, |$array:ident, $row:ident| $value:expr);* $(;)?) => {$(
        impl Element for $t {
            type Store = Arc<[$t]>;
            const NULLABLE: bool = false;
            fn arrow() -> Arrow {
                $arrow
            }
            fn name() -> String {
                $shown.to_string()
            }
            fn store(array: &ArrayRef) -> Result<Self::Store, String> {
                (0..array.len()).map(|row| Self::single(array, row)).collect()
            }
        }
        impl Single for $t {
            fn single($array: &ArrayRef, $row: usize) -> Result<Self, String> {
                $value
            }
        }
    )*};
}
copied! {
    usize: Arrow::UInt64, "usize", |array, row| Ok(array.as_primitive::<ad::UInt64Type>().value(row) as usize);
    isize: Arrow::Int64, "isize", |array, row| Ok(array.as_primitive::<ad::Int64Type>().value(row) as isize);
    bool: Arrow::Boolean, "bool", |array, row| Ok(array.as_boolean().value(row));
    String: Arrow::LargeUtf8, "String", |array, row| Ok(array.as_string::<i64>().value(row).to_string());
    NaiveDate: Arrow::Date32, "NaiveDate", |array, row| {
        let days = array.as_primitive::<ad::Date32Type>().value(row);
        date_from_days(days).ok_or_else(|| format!("{days} days after 1970-01-01"))
    };
    NaiveTime: Arrow::Time64(ArrowUnit::Nanosecond), "NaiveTime", |array, row| {
        let ns = array.as_primitive::<ad::Time64NanosecondType>().value(row);
        NaiveTime::from_num_seconds_from_midnight_opt((ns / 1_000_000_000) as u32, (ns % 1_000_000_000) as u32)
            .ok_or_else(|| format!("{ns} ns after midnight"))
    };
    NaiveDateTime: Arrow::Timestamp(ArrowUnit::Microsecond, None), "NaiveDateTime", |array, row| {
        let us = array.as_primitive::<ad::TimestampMicrosecondType>().value(row);
        DateTime::from_timestamp_micros(us).map(|t| t.naive_utc()).ok_or_else(|| format!("{us} μs after 1970-01-01"))
    };
    DateTime<Utc>: Arrow::Timestamp(ArrowUnit::Microsecond, Some("UTC".into())), "DateTime<Utc>", |array, row| {
        let us = array.as_primitive::<ad::TimestampMicrosecondType>().value(row);
        DateTime::from_timestamp_micros(us).ok_or_else(|| format!("{us} μs after 1970-01-01"))
    };
    TimeDelta: Arrow::Duration(ArrowUnit::Microsecond), "TimeDelta", |array, row| {
        Ok(TimeDelta::microseconds(array.as_primitive::<ad::DurationMicrosecondType>().value(row)))
    };
}

impl<T: Single> Element for Option<T> {
    type Store = Arc<[Option<T>]>;
    const NULLABLE: bool = true;
    fn arrow() -> Arrow {
        T::arrow()
    }
    fn name() -> String {
        format!("Option<{}>", T::name())
    }
    fn store(array: &ArrayRef) -> Result<Self::Store, String> {
        (0..array.len())
            .map(|row| if array.is_null(row) { Ok(None) } else { T::single(array, row).map(Some) })
            .collect()
    }
}

/// Converts the column to the Arrow type that a Rust type needs. Numbers become other numbers if no value changes, and
/// a date becomes a timestamp. No other types are converted.
fn as_type(name: &str, array: &ArrayRef, to: &Arrow) -> Result<ArrayRef, Diagnostic> {
    let from = array.data_type();
    if from == to {
        return Ok(Arc::clone(array));
    }
    let (found, wanted) = (wire_type(from), wire_type(to));
    let allowed = match (&found, &wanted) {
        (DataType::Null, _) => true,
        (a, b) if a.is_text() && b.is_text() => true,
        (a, b) if a.is_numeric() && b.is_numeric() => true,
        (DataType::Date, DataType::Timestamp(..)) => true,
        (DataType::Timestamp(_, a), DataType::Timestamp(_, b)) => a.is_some() == b.is_some(),
        (DataType::Time(_), DataType::Time(_)) | (DataType::Duration(_), DataType::Duration(_)) => true,
        (a, b) => a == b,
    };
    let mismatch = || {
        let rust = rust_name(&found);
        Diagnostic::error(Class::Plan, "column-type", format!("`{name}` is of type {found}, and is read as {wanted}"))
            .help(match rust {
                Some(rust) => {
                    format!("read it as `{rust}`, or convert it first: `.cast([(\"{name}\", \"{wanted}\")])`")
                }
                None => format!("convert it first: `.cast([(\"{name}\", \"{wanted}\")])`"),
            })
    };
    if !allowed {
        return Err(mismatch());
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let cast = cast_with_options(array, to, &options).map_err(|e| mismatch().note(e.to_string()))?;
    // A cast would silently truncate a float that is not an integer.
    if (found.is_float() || matches!(found, DataType::Decimal { .. })) && wanted.is_integer() {
        let back = cast_with_options(&cast, from, &options).map_err(|e| mismatch().note(e.to_string()))?;
        if back.as_ref() != array.as_ref() {
            return Err(mismatch().note("some of its values are not integers"));
        }
    }
    Ok(cast)
}

/// The Arrow type as which a column of this type is read.
pub(crate) fn rust_name(dtype: &DataType) -> Option<&'static str> {
    Some(match dtype {
        DataType::Boolean => "bool",
        DataType::Int8 => "i8",
        DataType::Int16 => "i16",
        DataType::Int32 => "i32",
        DataType::Int64 => "i64",
        DataType::UInt8 => "u8",
        DataType::UInt16 => "u16",
        DataType::UInt32 => "u32",
        DataType::UInt64 => "u64",
        DataType::Float32 => "f32",
        DataType::Float64 => "f64",
        DataType::String | DataType::Categorical => "String",
        DataType::Date => "chrono::NaiveDate",
        DataType::Time(_) => "chrono::NaiveTime",
        DataType::Timestamp(_, None) => "chrono::NaiveDateTime",
        DataType::Timestamp(_, Some(_)) => "chrono::DateTime<chrono::Utc>",
        DataType::Duration(_) => "chrono::TimeDelta",
        _ => return None,
    })
}

/// One value as a Rust value; `None` if the value is null and `T` has no null.
pub(crate) fn first<T: Element + Clone>(name: &str, array: &ArrayRef) -> Result<T, Diagnostic> {
    let column = Column::<T>::new(name, array)?;
    column.first().cloned().ok_or_else(|| {
        let shown = if array.is_empty() { "no row".to_string() } else { format!("{:?}", value_at(array, 0)) };
        Diagnostic::error(Class::Data, "value", format!("there is {shown} where one value was expected"))
    })
}
