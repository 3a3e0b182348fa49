//! Single values: out of an array for display and answers, and into an array of one row.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Decimal256Array,
    DurationMicrosecondArray, DurationMillisecondArray, DurationNanosecondArray, DurationSecondArray, Float32Array,
    Float64Array, Int64Array, ListArray, NullArray, RunArray, StringArray, StructArray, Time64NanosecondArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt64Array,
    new_null_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{
    DataType as Arrow, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType, Field, Fields,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, RunEndIndexType,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimeUnit as ArrowUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type, i256,
};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use onrush_wire::{Class, Diagnostic, TimeUnit, Value};

use crate::types::unit_to_wire;

const MILLISECONDS_PER_DAY: i64 = 86_400_000;

/// The value in `row`. Types that the wire has no value for (intervals, maps, unions, decimals beyond 38 digits) come
/// as the text that Arrow prints.
///
/// # Panics
/// If `row` is not below `array.len()`.
pub fn value_at(array: &dyn Array, row: usize) -> Value {
    assert!(row < array.len(), "row {row} of an array of {} rows", array.len());
    // A dictionary's or run's null can lie in its values, so those look for themselves.
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        Arrow::Null => Value::Null,
        Arrow::Boolean => Value::Boolean(array.as_boolean().value(row)),
        Arrow::Int8 => Value::Int(array.as_primitive::<Int8Type>().value(row).into()),
        Arrow::Int16 => Value::Int(array.as_primitive::<Int16Type>().value(row).into()),
        Arrow::Int32 => Value::Int(array.as_primitive::<Int32Type>().value(row).into()),
        Arrow::Int64 => Value::Int(array.as_primitive::<Int64Type>().value(row)),
        Arrow::UInt8 => Value::UInt(array.as_primitive::<UInt8Type>().value(row).into()),
        Arrow::UInt16 => Value::UInt(array.as_primitive::<UInt16Type>().value(row).into()),
        Arrow::UInt32 => Value::UInt(array.as_primitive::<UInt32Type>().value(row).into()),
        Arrow::UInt64 => Value::UInt(array.as_primitive::<UInt64Type>().value(row)),
        Arrow::Float16 => Value::Float32(array.as_primitive::<Float16Type>().value(row).to_f32()),
        Arrow::Float32 => Value::Float32(array.as_primitive::<Float32Type>().value(row)),
        Arrow::Float64 => Value::Float(array.as_primitive::<Float64Type>().value(row)),
        Arrow::Decimal32(precision, scale) => {
            decimal(array.as_primitive::<Decimal32Type>().value(row).into(), *precision, *scale)
        }
        Arrow::Decimal64(precision, scale) => {
            decimal(array.as_primitive::<Decimal64Type>().value(row).into(), *precision, *scale)
        }
        Arrow::Decimal128(precision, scale) => {
            decimal(array.as_primitive::<Decimal128Type>().value(row), *precision, *scale)
        }
        Arrow::Decimal256(precision, scale) => match array.as_primitive::<Decimal256Type>().value(row).to_i128() {
            Some(value) => decimal(value, *precision, *scale),
            None => printed(array, row),
        },
        Arrow::Utf8 => Value::Text(array.as_string::<i32>().value(row).to_string()),
        Arrow::LargeUtf8 => Value::Text(array.as_string::<i64>().value(row).to_string()),
        Arrow::Utf8View => Value::Text(array.as_string_view().value(row).to_string()),
        Arrow::Binary => Value::Binary(array.as_binary::<i32>().value(row).to_vec()),
        Arrow::LargeBinary => Value::Binary(array.as_binary::<i64>().value(row).to_vec()),
        Arrow::BinaryView => Value::Binary(array.as_binary_view().value(row).to_vec()),
        Arrow::FixedSizeBinary(_) => Value::Binary(array.as_fixed_size_binary().value(row).to_vec()),
        Arrow::Date32 => Value::Date(array.as_primitive::<Date32Type>().value(row)),
        Arrow::Date64 => {
            let days = array.as_primitive::<Date64Type>().value(row).div_euclid(MILLISECONDS_PER_DAY);
            i32::try_from(days).map_or_else(|_| printed(array, row), Value::Date)
        }
        Arrow::Time32(ArrowUnit::Second) => {
            Value::Time(i64::from(array.as_primitive::<Time32SecondType>().value(row)) * 1_000_000_000)
        }
        Arrow::Time32(_) => {
            Value::Time(i64::from(array.as_primitive::<Time32MillisecondType>().value(row)) * 1_000_000)
        }
        Arrow::Time64(ArrowUnit::Microsecond) => {
            Value::Time(array.as_primitive::<Time64MicrosecondType>().value(row).saturating_mul(1000))
        }
        Arrow::Time64(_) => Value::Time(array.as_primitive::<Time64NanosecondType>().value(row)),
        Arrow::Timestamp(unit, zone) => {
            let value = match unit {
                ArrowUnit::Second => array.as_primitive::<TimestampSecondType>().value(row),
                ArrowUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().value(row),
                ArrowUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().value(row),
                ArrowUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().value(row),
            };
            Value::Timestamp { value, unit: unit_to_wire(unit), zone: zone.as_ref().map(|z| z.to_string()) }
        }
        Arrow::Duration(unit) => {
            let value = match unit {
                ArrowUnit::Second => array.as_primitive::<DurationSecondType>().value(row),
                ArrowUnit::Millisecond => array.as_primitive::<DurationMillisecondType>().value(row),
                ArrowUnit::Microsecond => array.as_primitive::<DurationMicrosecondType>().value(row),
                ArrowUnit::Nanosecond => array.as_primitive::<DurationNanosecondType>().value(row),
            };
            Value::Duration { value, unit: unit_to_wire(unit) }
        }
        Arrow::List(_) => list(array.as_list::<i32>().value(row)),
        Arrow::LargeList(_) => list(array.as_list::<i64>().value(row)),
        Arrow::ListView(_) => list(array.as_list_view::<i32>().value(row)),
        Arrow::LargeListView(_) => list(array.as_list_view::<i64>().value(row)),
        Arrow::FixedSizeList(..) => list(array.as_fixed_size_list().value(row)),
        Arrow::Struct(fields) => {
            let array = array.as_struct();
            Value::Struct(
                fields
                    .iter()
                    .zip(array.columns())
                    .map(|(f, c)| (f.name().clone(), value_at(c.as_ref(), row)))
                    .collect(),
            )
        }
        Arrow::Dictionary(..) => {
            let array = array.as_any_dictionary();
            value_at(array.values().as_ref(), array.normalized_keys()[row])
        }
        Arrow::RunEndEncoded(ends, _) => match ends.data_type() {
            Arrow::Int16 => run::<Int16Type>(array, row),
            Arrow::Int32 => run::<Int32Type>(array, row),
            _ => run::<Int64Type>(array, row),
        },
        _ => printed(array, row),
    }
}

fn decimal(value: i128, precision: u8, scale: i8) -> Value {
    Value::Decimal { value, precision, scale }
}

fn list(items: ArrayRef) -> Value {
    Value::List((0..items.len()).map(|i| value_at(items.as_ref(), i)).collect())
}

fn run<R: RunEndIndexType>(array: &dyn Array, row: usize) -> Value {
    match array.as_any().downcast_ref::<RunArray<R>>() {
        Some(array) => value_at(array.values().as_ref(), array.get_physical_index(row)),
        None => printed(array, row),
    }
}

fn printed(array: &dyn Array, row: usize) -> Value {
    let options = FormatOptions::default();
    match ArrayFormatter::try_new(array, &options).and_then(|f| f.value(row).try_to_string()) {
        Ok(text) => Value::Text(text),
        Err(error) => Value::Text(format!("<{error}>")),
    }
}

/// An array of one row with the value in its own type: integers are `Int64` or `UInt64`, text is `Utf8`.
///
/// # Errors
/// For lists of different types and decimals that do not fit their precision.
pub fn array_from_value(value: &Value) -> Result<ArrayRef, Diagnostic> {
    Ok(match value {
        Value::Null => Arc::new(NullArray::new(1)),
        Value::Boolean(v) => Arc::new(BooleanArray::from(vec![*v])),
        Value::Int(v) => Arc::new(Int64Array::from(vec![*v])),
        Value::UInt(v) => Arc::new(UInt64Array::from(vec![*v])),
        Value::Float32(v) => Arc::new(Float32Array::from(vec![*v])),
        Value::Float(v) => Arc::new(Float64Array::from(vec![*v])),
        Value::Text(v) => Arc::new(StringArray::from(vec![v.as_str()])),
        Value::Binary(v) => Arc::new(BinaryArray::from(vec![v.as_slice()])),
        Value::Decimal { value, precision, scale } if *precision <= 38 => {
            let array = Decimal128Array::from(vec![*value]).with_precision_and_scale(*precision, *scale);
            Arc::new(array.map_err(bad_literal)?)
        }
        Value::Decimal { value, precision, scale } => {
            let array =
                Decimal256Array::from(vec![i256::from_i128(*value)]).with_precision_and_scale(*precision, *scale);
            Arc::new(array.map_err(bad_literal)?)
        }
        Value::Date(v) => Arc::new(Date32Array::from(vec![*v])),
        Value::Time(v) => Arc::new(Time64NanosecondArray::from(vec![*v])),
        Value::Timestamp { value, unit, zone } => {
            let zone = zone.as_ref().map(|z| Arc::<str>::from(z.as_str()));
            match unit {
                TimeUnit::Second => Arc::new(TimestampSecondArray::from(vec![*value]).with_timezone_opt(zone)),
                TimeUnit::Millisecond => {
                    Arc::new(TimestampMillisecondArray::from(vec![*value]).with_timezone_opt(zone))
                }
                TimeUnit::Microsecond => {
                    Arc::new(TimestampMicrosecondArray::from(vec![*value]).with_timezone_opt(zone))
                }
                TimeUnit::Nanosecond => Arc::new(TimestampNanosecondArray::from(vec![*value]).with_timezone_opt(zone)),
            }
        }
        Value::Duration { value, unit } => match unit {
            TimeUnit::Second => Arc::new(DurationSecondArray::from(vec![*value])),
            TimeUnit::Millisecond => Arc::new(DurationMillisecondArray::from(vec![*value])),
            TimeUnit::Microsecond => Arc::new(DurationMicrosecondArray::from(vec![*value])),
            TimeUnit::Nanosecond => Arc::new(DurationNanosecondArray::from(vec![*value])),
        },
        Value::List(items) => {
            let arrays = items.iter().map(array_from_value).collect::<Result<Vec<_>, _>>()?;
            let dtype =
                arrays.iter().map(|a| a.data_type()).find(|t| **t != Arrow::Null).cloned().unwrap_or(Arrow::Null);
            // Nulls in a list have no type, and take the type of the other elements.
            let arrays: Vec<ArrayRef> = arrays
                .into_iter()
                .map(|a| if a.data_type() == &Arrow::Null { new_null_array(&dtype, 1) } else { a })
                .collect();
            let parts: Vec<&dyn Array> = arrays.iter().map(|a| a.as_ref()).collect();
            let items = match parts.is_empty() {
                true => arrow::array::new_empty_array(&dtype),
                false => arrow::compute::concat(&parts).map_err(bad_literal)?,
            };
            let offsets = OffsetBuffer::from_lengths([items.len()]);
            let field = Arc::new(Field::new_list_field(dtype, true));
            Arc::new(ListArray::try_new(field, offsets, items, None).map_err(bad_literal)?)
        }
        Value::Struct(fields) => {
            let columns = fields.iter().map(|(_, v)| array_from_value(v)).collect::<Result<Vec<_>, _>>()?;
            let fields: Fields =
                fields.iter().zip(&columns).map(|((n, _), c)| Field::new(n, c.data_type().clone(), true)).collect();
            Arc::new(StructArray::try_new_with_length(fields, columns, None::<NullBuffer>, 1).map_err(bad_literal)?)
        }
    })
}

fn bad_literal(error: arrow::error::ArrowError) -> Diagnostic {
    Diagnostic::error(Class::Plan, "bad-literal", format!("a literal value cannot be used: {error}"))
        .help("give all elements of a list the same type, and decimals enough digits")
}

#[cfg(test)]
mod tests {
    use arrow::array::{DictionaryArray, IntervalYearMonthArray, StringViewArray};

    use super::*;

    #[test]
    fn values_of_every_layout() {
        let dictionary: DictionaryArray<Int32Type> = vec![Some("a"), None, Some("b"), Some("a")].into_iter().collect();
        let got: Vec<Value> = (0..4).map(|i| value_at(&dictionary, i)).collect();
        assert_eq!(got, [Value::from("a"), Value::Null, Value::from("b"), Value::from("a")]);
        let view = StringViewArray::from(vec![Some("a text that is longer than twelve"), None]);
        assert_eq!(value_at(&view, 0), Value::from("a text that is longer than twelve"));
        assert_eq!(value_at(&view, 1), Value::Null);
        let runs: RunArray<Int32Type> = vec!["x", "x", "y"].into_iter().collect();
        assert_eq!((value_at(&runs, 1), value_at(&runs, 2)), (Value::from("x"), Value::from("y")));
        let list = ListArray::from_iter_primitive::<Int64Type, _, _>(vec![Some(vec![Some(1), None]), None]);
        assert_eq!(value_at(&list, 0), Value::List(vec![Value::Int(1), Value::Null]));
        assert_eq!(value_at(&list, 1), Value::Null);
        let interval = IntervalYearMonthArray::from(vec![14]);
        assert_eq!(value_at(&interval, 0), Value::from("1 years 2 mons"));
        let big = Decimal256Array::from(vec![i256::MAX]).with_precision_and_scale(76, 0).unwrap();
        assert!(matches!(value_at(&big, 0), Value::Text(_)));
    }

    #[test]
    fn a_literal_comes_back_from_its_array() {
        for value in [
            Value::Null,
            Value::Int(-3),
            Value::UInt(u64::MAX),
            Value::Float(1.5),
            Value::from("é"),
            Value::Decimal { value: 12345, precision: 7, scale: 2 },
            Value::Date(-1),
            Value::Time(1),
            Value::Timestamp { value: 5, unit: TimeUnit::Microsecond, zone: Some("UTC".to_string()) },
            Value::Duration { value: -5, unit: TimeUnit::Millisecond },
            Value::List(vec![Value::Null, Value::Int(2)]),
            Value::List(vec![]),
            Value::Struct(vec![("a".to_string(), Value::Int(1)), ("b".to_string(), Value::Null)]),
        ] {
            assert_eq!(value_at(array_from_value(&value).unwrap().as_ref(), 0), value);
        }
        assert_eq!(
            array_from_value(&Value::List(vec![Value::Int(1), Value::from("a")])).unwrap_err().code,
            "bad-literal"
        );
    }
}
