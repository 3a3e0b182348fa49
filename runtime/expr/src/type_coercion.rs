//! Type coercion in frame expressions: the rules of Polars on Arrow's types.

use arrow::datatypes::{DataType, Field, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use onrush_wire::{Diagnostic, Value};

/// The layout of text that expressions make.
pub const TEXT: DataType = DataType::Utf8View;

/// Whether an estimator takes it as a number: numbers, decimals and booleans.
pub fn is_feature(dtype: &DataType) -> bool {
    is_number(dtype) || is_decimal(dtype) || dtype == &DataType::Boolean
}

/// Whether it holds strings, also as a dictionary.
pub fn is_string(dtype: &DataType) -> bool {
    match dtype {
        DataType::Dictionary(_, value) => is_text(value),
        dtype => is_text(dtype),
    }
}

/// 128 bits hold 1.7e38, and sums are looked at as floats, which are not exact.
pub const MAX_EXACT_SUM: f64 = 1.5e38;

pub fn is_text(dtype: &DataType) -> bool {
    match dtype {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

pub fn is_decimal(dtype: &DataType) -> bool {
    matches!(
        dtype,
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..)
    )
}

pub fn is_number(dtype: &DataType) -> bool {
    dtype.is_integer() || dtype.is_floating() || is_decimal(dtype)
}

pub fn is_temporal(dtype: &DataType) -> bool {
    matches!(
        dtype,
        DataType::Date32
            | DataType::Date64
            | DataType::Timestamp(..)
            | DataType::Time32(_)
            | DataType::Time64(_)
            | DataType::Duration(_)
    )
}

pub fn is_date_or_time(dtype: &DataType) -> bool {
    matches!(dtype, DataType::Date32 | DataType::Date64 | DataType::Timestamp(..))
}

pub fn is_list(dtype: &DataType) -> bool {
    matches!(dtype, DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) | DataType::ListView(_))
}

fn bits(dtype: &DataType) -> u32 {
    match dtype {
        DataType::Int8 | DataType::UInt8 => 8,
        DataType::Int16 | DataType::UInt16 | DataType::Float16 => 16,
        DataType::Int32 | DataType::UInt32 | DataType::Float32 => 32,
        _ => 64,
    }
}

fn signed(bits: u32) -> DataType {
    match bits {
        8 => DataType::Int8,
        16 => DataType::Int16,
        32 => DataType::Int32,
        _ => DataType::Int64,
    }
}

fn unsigned(bits: u32) -> DataType {
    match bits {
        8 => DataType::UInt8,
        16 => DataType::UInt16,
        32 => DataType::UInt32,
        _ => DataType::UInt64,
    }
}

/// The type in which values of both types can be held and calculated with; `None` if there is none.
///
/// As Polars, but `i64` with `u64` gives `f64`, since there is no 128-bit integer column.
pub fn supertype(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType::*;
    if a == b {
        return Some(match a {
            Dictionary(..) if is_text(a) => TEXT,
            Float16 => Float32,
            _ => a.clone(),
        });
    }
    Some(match (a, b) {
        (Null, other) | (other, Null) => other.clone(),
        (x, y) if is_text(x) && is_text(y) => TEXT,
        (x, Dictionary(_, values)) | (Dictionary(_, values), x) => return supertype(x, values),
        (Boolean, x) | (x, Boolean) if is_number(x) => match x {
            Int8 | Int16 | UInt8 | UInt16 => x.clone(),
            _ => x.clone(),
        },
        (x, y) if x.is_integer() && y.is_integer() => match (x.is_signed_integer(), y.is_signed_integer()) {
            (true, true) => signed(bits(x).max(bits(y))),
            (false, false) => unsigned(bits(x).max(bits(y))),
            (s, _) => {
                let (signed_bits, unsigned_bits) = if s { (bits(x), bits(y)) } else { (bits(y), bits(x)) };
                match unsigned_bits {
                    64 => Float64,
                    _ => signed(signed_bits.max(unsigned_bits * 2)),
                }
            }
        },
        (x, y) if x.is_floating() && y.is_floating() => match bits(x).max(bits(y)) {
            64 => Float64,
            _ => Float32,
        },
        (f, i) | (i, f) if f.is_floating() && i.is_integer() => match (bits(f), bits(i)) {
            (64, _) | (_, 32 | 64) => Float64,
            _ => Float32,
        },
        (f, d) | (d, f) if f.is_floating() && is_decimal(d) => Float64,
        (d, i) | (i, d) if is_decimal(d) && i.is_integer() => Decimal128(38, scale_of(d)),
        (d, e) if is_decimal(d) && is_decimal(e) => Decimal128(38, scale_of(d).max(scale_of(e))),
        (Date32 | Date64, Timestamp(unit, zone)) | (Timestamp(unit, zone), Date32 | Date64) => {
            Timestamp(*unit, zone.clone())
        }
        (Date32, Date64) | (Date64, Date32) => Date32,
        (Timestamp(u, z), Timestamp(v, y)) if z == y || (z.is_some() && y.is_some()) => {
            Timestamp(coarser(*u, *v), z.clone())
        }
        (Duration(u), Duration(v)) => Duration(coarser(*u, *v)),
        (Time32(_) | Time64(_), Time32(_) | Time64(_)) => Time64(TimeUnit::Nanosecond),
        (List(x), List(y)) => {
            List(std::sync::Arc::new(Field::new_list_field(supertype(x.data_type(), y.data_type())?, true)))
        }
        _ => return None,
    })
}

fn coarser(a: TimeUnit, b: TimeUnit) -> TimeUnit {
    let rank = |u| match u {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 1,
        TimeUnit::Microsecond => 2,
        TimeUnit::Nanosecond => 3,
    };
    if rank(a) <= rank(b) { a } else { b }
}

pub fn scale_of(dtype: &DataType) -> i8 {
    match dtype {
        DataType::Decimal32(_, s)
        | DataType::Decimal64(_, s)
        | DataType::Decimal128(_, s)
        | DataType::Decimal256(_, s) => *s,
        _ => 0,
    }
}

/// The float type in which numbers of a type are averaged and divided.
pub fn float_of(dtype: &DataType) -> DataType {
    match dtype {
        DataType::Float32 | DataType::Float16 => DataType::Float32,
        _ => DataType::Float64,
    }
}

/// Floats with one zero: 0.0 and -0.0 are equal, but not to a hash table or a sort.
pub fn one_zero(expr: Expr, dtype: &DataType) -> Expr {
    match dtype {
        DataType::Float64 => expr + datafusion::logical_expr::lit(0.0f64),
        DataType::Float32 => expr + datafusion::logical_expr::lit(0.0f32),
        _ => expr,
    }
}

/// Range of an integer type.
pub fn integer_range(dtype: &DataType) -> Option<(i128, i128)> {
    Some(match dtype {
        DataType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 => (i64::MIN.into(), i64::MAX.into()),
        DataType::UInt8 => (0, u8::MAX.into()),
        DataType::UInt16 => (0, u16::MAX.into()),
        DataType::UInt32 => (0, u32::MAX.into()),
        DataType::UInt64 => (0, u64::MAX.into()),
        _ => return None,
    })
}

/// The type that a bare number takes with a column: the column's own if the number fits it. In Polars, a literal does
/// not widen a column unless it must.
pub fn literal_beside(value: &Value, column: &DataType) -> Option<DataType> {
    let integer = match value {
        Value::Int(v) => i128::from(*v),
        Value::UInt(v) => i128::from(*v),
        Value::Float(_) => {
            return match column {
                DataType::Float32 | DataType::Float16 => Some(DataType::Float32),
                dtype if is_number(dtype) => Some(DataType::Float64),
                _ => None,
            };
        }
        _ => return None,
    };
    if column.is_floating() || is_decimal(column) {
        return supertype(column, column);
    }
    let (low, high) = integer_range(column)?;
    if (low..=high).contains(&integer) {
        return Some(column.clone());
    }
    [DataType::Int16, DataType::Int32, DataType::Int64]
        .into_iter()
        .find(|t| {
            let fits = integer_range(t).is_some_and(|(low, high)| (low..=high).contains(&integer));
            fits && bits(t) > bits(column)
        })
        .or(Some(if integer >= 0 && !column.is_signed_integer() { DataType::UInt64 } else { DataType::Float64 }))
}

/// A literal as DataFusion holds it.
pub fn scalar(value: &Value) -> Result<ScalarValue, Diagnostic> {
    Ok(match value {
        Value::Null => ScalarValue::Null,
        Value::Boolean(v) => ScalarValue::Boolean(Some(*v)),
        Value::Int(v) => ScalarValue::Int64(Some(*v)),
        Value::UInt(v) => match i64::try_from(*v) {
            Ok(v) => ScalarValue::Int64(Some(v)),
            Err(_) => ScalarValue::UInt64(Some(*v)),
        },
        Value::Float32(v) => ScalarValue::Float32(Some(*v)),
        Value::Float(v) => ScalarValue::Float64(Some(*v)),
        Value::Text(v) => ScalarValue::Utf8View(Some(v.clone())),
        other => {
            let array = onrush_frame::array_from_value(other)?;
            ScalarValue::try_from_array(&array, 0).map_err(crate::error::diagnose)?
        }
    })
}

/// A type by the short name that tables show.
pub fn parse_dtype(text: &str) -> Option<onrush_wire::DataType> {
    use onrush_wire::{DataType, TimeUnit};
    Some(match text {
        "bool" | "boolean" => DataType::Boolean,
        "i8" => DataType::Int8,
        "i16" => DataType::Int16,
        "i32" => DataType::Int32,
        "i64" | "int" => DataType::Int64,
        "u8" => DataType::UInt8,
        "u16" => DataType::UInt16,
        "u32" => DataType::UInt32,
        "u64" => DataType::UInt64,
        "f32" => DataType::Float32,
        "f64" | "float" => DataType::Float64,
        "str" | "string" | "text" => DataType::String,
        "binary" => DataType::Binary,
        "date" => DataType::Date,
        "time" => DataType::Time(TimeUnit::Nanosecond),
        "datetime" | "datetime[us]" | "datetime[μs]" | "timestamp" => DataType::Timestamp(TimeUnit::Microsecond, None),
        "datetime[ms]" => DataType::Timestamp(TimeUnit::Millisecond, None),
        "datetime[ns]" => DataType::Timestamp(TimeUnit::Nanosecond, None),
        "duration" | "duration[us]" | "duration[μs]" => DataType::Duration(TimeUnit::Microsecond),
        "cat" | "categorical" => DataType::Categorical,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From Polars 2.1: dtypes of `a + b` for columns of these types.
    #[test]
    fn supertypes_are_polars() {
        use DataType::*;
        for (a, b, expect) in [
            (Int8, Float32, Some(Float32)),
            (Int64, Float32, Some(Float64)),
            (UInt8, Int8, Some(Int16)),
            (UInt32, Int32, Some(Int64)),
            (Decimal128(10, 2), Int64, Some(Decimal128(38, 2))),
            (Decimal128(10, 2), Float64, Some(Float64)),
            (Utf8, Int64, None),
            (Null, Utf8View, Some(Utf8View)),
        ] {
            assert_eq!(supertype(&a, &b), expect, "{a} {b}");
        }
    }

    /// From Polars 2.1: `Int8 + 100` is `Int8`, `Int8 + 1000` is `Int16`, `Int8 * 1.5` is `Float64`.
    #[test]
    fn literals_take_the_columns_type_where_they_fit() {
        assert_eq!(literal_beside(&Value::Int(100), &DataType::Int8), Some(DataType::Int8));
        assert_eq!(literal_beside(&Value::Int(1000), &DataType::Int8), Some(DataType::Int16));
        assert_eq!(literal_beside(&Value::Float(1.5), &DataType::Int8), Some(DataType::Float64));
        assert_eq!(literal_beside(&Value::Float(1.5), &DataType::Float32), Some(DataType::Float32));
    }
}
