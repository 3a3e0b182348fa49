//! Arrow's types and the wire's: several Arrow layouts are one type to the user.

use std::sync::Arc;

use arrow::datatypes::{
    DataType as Arrow, Field as ArrowField, IntervalUnit, Schema as ArrowSchema, TimeUnit as ArrowUnit,
};
use onrush_wire::{Class, DataType, Diagnostic, Field, Schema, TimeUnit};

pub fn unit_to_wire(unit: &ArrowUnit) -> TimeUnit {
    match unit {
        ArrowUnit::Second => TimeUnit::Second,
        ArrowUnit::Millisecond => TimeUnit::Millisecond,
        ArrowUnit::Microsecond => TimeUnit::Microsecond,
        ArrowUnit::Nanosecond => TimeUnit::Nanosecond,
    }
}

pub fn unit_from_wire(unit: TimeUnit) -> ArrowUnit {
    match unit {
        TimeUnit::Second => ArrowUnit::Second,
        TimeUnit::Millisecond => ArrowUnit::Millisecond,
        TimeUnit::Microsecond => ArrowUnit::Microsecond,
        TimeUnit::Nanosecond => ArrowUnit::Nanosecond,
    }
}

/// The user's name for an Arrow type. Views and large offsets disappear; a dictionary of text is a categorical, any
/// other dictionary or run-end encoding is the type of its values.
pub fn dtype_to_wire(dtype: &Arrow) -> DataType {
    match dtype {
        Arrow::Null => DataType::Null,
        Arrow::Boolean => DataType::Boolean,
        Arrow::Int8 => DataType::Int8,
        Arrow::Int16 => DataType::Int16,
        Arrow::Int32 => DataType::Int32,
        Arrow::Int64 => DataType::Int64,
        Arrow::UInt8 => DataType::UInt8,
        Arrow::UInt16 => DataType::UInt16,
        Arrow::UInt32 => DataType::UInt32,
        Arrow::UInt64 => DataType::UInt64,
        Arrow::Float16 => DataType::Float16,
        Arrow::Float32 => DataType::Float32,
        Arrow::Float64 => DataType::Float64,
        Arrow::Decimal32(p, s) | Arrow::Decimal64(p, s) | Arrow::Decimal128(p, s) | Arrow::Decimal256(p, s) => {
            DataType::Decimal { precision: *p, scale: *s }
        }
        Arrow::Utf8 | Arrow::LargeUtf8 | Arrow::Utf8View => DataType::String,
        Arrow::Binary | Arrow::LargeBinary | Arrow::BinaryView | Arrow::FixedSizeBinary(_) => DataType::Binary,
        Arrow::Date32 | Arrow::Date64 => DataType::Date,
        Arrow::Time32(unit) | Arrow::Time64(unit) => DataType::Time(unit_to_wire(unit)),
        Arrow::Timestamp(unit, zone) => DataType::Timestamp(unit_to_wire(unit), zone.as_ref().map(|z| z.to_string())),
        Arrow::Duration(unit) => DataType::Duration(unit_to_wire(unit)),
        Arrow::Interval(_) => DataType::Interval,
        Arrow::Dictionary(_, values) => match dtype_to_wire(values) {
            DataType::String => DataType::Categorical,
            other => other,
        },
        Arrow::RunEndEncoded(_, values) => dtype_to_wire(values.data_type()),
        Arrow::List(item)
        | Arrow::LargeList(item)
        | Arrow::ListView(item)
        | Arrow::LargeListView(item)
        | Arrow::FixedSizeList(item, _) => DataType::List(Box::new(dtype_to_wire(item.data_type()))),
        Arrow::Struct(fields) => DataType::Struct(fields.iter().map(|f| field_to_wire(f)).collect()),
        Arrow::Map(..) => DataType::Other("map".to_string()),
        other => DataType::Other(other.to_string()),
    }
}

pub fn field_to_wire(field: &ArrowField) -> Field {
    Field { name: field.name().clone(), dtype: dtype_to_wire(field.data_type()), nullable: field.is_nullable() }
}

pub fn schema_to_wire(schema: &ArrowSchema) -> Schema {
    Schema { fields: schema.fields().iter().map(|f| field_to_wire(f)).collect() }
}

/// The layout in which the session makes new columns of a type.
///
/// # Errors
/// For [`DataType::Other`], which only a file can bring, and for decimals of more than 76 digits.
pub fn dtype_from_wire(dtype: &DataType) -> Result<Arrow, Diagnostic> {
    Ok(match dtype {
        DataType::Null => Arrow::Null,
        DataType::Boolean => Arrow::Boolean,
        DataType::Int8 => Arrow::Int8,
        DataType::Int16 => Arrow::Int16,
        DataType::Int32 => Arrow::Int32,
        DataType::Int64 => Arrow::Int64,
        DataType::UInt8 => Arrow::UInt8,
        DataType::UInt16 => Arrow::UInt16,
        DataType::UInt32 => Arrow::UInt32,
        DataType::UInt64 => Arrow::UInt64,
        DataType::Float16 => Arrow::Float16,
        DataType::Float32 => Arrow::Float32,
        DataType::Float64 => Arrow::Float64,
        DataType::Decimal { precision, scale } if (1..=38).contains(precision) && *scale <= *precision as i8 => {
            Arrow::Decimal128(*precision, *scale)
        }
        DataType::Decimal { precision, scale } if (39..=76).contains(precision) && *scale <= *precision as i8 => {
            Arrow::Decimal256(*precision, *scale)
        }
        DataType::Decimal { precision, scale } => {
            return Err(Diagnostic::error(
                Class::Plan,
                "bad-decimal",
                format!("a decimal of {precision} digits with {scale} after the point is not possible"),
            )
            .help("use a precision from 1 to 76 and a scale that is not larger"));
        }
        DataType::String => Arrow::Utf8View,
        DataType::Binary => Arrow::BinaryView,
        DataType::Date => Arrow::Date32,
        DataType::Time(unit @ (TimeUnit::Second | TimeUnit::Millisecond)) => Arrow::Time32(unit_from_wire(*unit)),
        DataType::Time(unit) => Arrow::Time64(unit_from_wire(*unit)),
        DataType::Timestamp(unit, zone) => {
            Arrow::Timestamp(unit_from_wire(*unit), zone.as_ref().map(|z| Arc::from(z.as_str())))
        }
        DataType::Duration(unit) => Arrow::Duration(unit_from_wire(*unit)),
        DataType::Interval => Arrow::Interval(IntervalUnit::MonthDayNano),
        DataType::Categorical => Arrow::Dictionary(Box::new(Arrow::Int32), Box::new(Arrow::Utf8)),
        DataType::List(item) => Arrow::List(Arc::new(ArrowField::new_list_field(dtype_from_wire(item)?, true))),
        DataType::Struct(fields) => {
            Arrow::Struct(fields.iter().map(field_from_wire).collect::<Result<Vec<_>, _>>()?.into())
        }
        DataType::Other(name) => {
            return Err(Diagnostic::error(
                Class::Plan,
                "unsupported-type",
                format!("columns of type `{name}` can be read but not made"),
            )
            .help("cast the column to text, a number or a list first"));
        }
    })
}

pub fn field_from_wire(field: &Field) -> Result<ArrowField, Diagnostic> {
    Ok(ArrowField::new(&field.name, dtype_from_wire(&field.dtype)?, field.nullable))
}

pub fn schema_from_wire(schema: &Schema) -> Result<ArrowSchema, Diagnostic> {
    Ok(ArrowSchema::new(schema.fields.iter().map(field_from_wire).collect::<Result<Vec<_>, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_session_makes_keeps_its_type_on_the_way_back() {
        for dtype in [
            DataType::Int8,
            DataType::Float16,
            DataType::Decimal { precision: 50, scale: 2 },
            DataType::String,
            DataType::Binary,
            DataType::Categorical,
            DataType::Time(TimeUnit::Millisecond),
            DataType::Time(TimeUnit::Nanosecond),
            DataType::Timestamp(TimeUnit::Microsecond, Some("Europe/Berlin".to_string())),
            DataType::List(Box::new(DataType::Struct(vec![Field {
                name: "a".to_string(),
                dtype: DataType::Date,
                nullable: true,
            }]))),
        ] {
            assert_eq!(dtype_to_wire(&dtype_from_wire(&dtype).unwrap()), dtype);
        }
        assert_eq!(dtype_from_wire(&DataType::Other("map".to_string())).unwrap_err().code, "unsupported-type");
        assert_eq!(dtype_from_wire(&DataType::Decimal { precision: 3, scale: 9 }).unwrap_err().code, "bad-decimal");
    }
}
