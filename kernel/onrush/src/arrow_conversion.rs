//! Conversion between Arrow and the wire's types: data types, single values, and expressions as source text.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{self as ad, DataType as Arrow, TimeUnit as ArrowUnit};
use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta};
use onrush_wire::{DataType, Expr, ExprKind, Field, Schema, TimeUnit, UnaryOp, Value};

fn unit(unit: ArrowUnit) -> TimeUnit {
    match unit {
        ArrowUnit::Second => TimeUnit::Second,
        ArrowUnit::Millisecond => TimeUnit::Millisecond,
        ArrowUnit::Microsecond => TimeUnit::Microsecond,
        ArrowUnit::Nanosecond => TimeUnit::Nanosecond,
    }
}

/// The user's name of an Arrow type.
pub fn wire_type(dtype: &Arrow) -> DataType {
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
        Arrow::Decimal128(precision, scale) => DataType::Decimal { precision: *precision, scale: *scale },
        Arrow::Utf8 | Arrow::LargeUtf8 | Arrow::Utf8View => DataType::String,
        Arrow::Binary | Arrow::LargeBinary | Arrow::BinaryView | Arrow::FixedSizeBinary(_) => DataType::Binary,
        Arrow::Date32 | Arrow::Date64 => DataType::Date,
        Arrow::Time32(u) | Arrow::Time64(u) => DataType::Time(unit(*u)),
        Arrow::Timestamp(u, zone) => DataType::Timestamp(unit(*u), zone.as_ref().map(|z| z.to_string())),
        Arrow::Duration(u) => DataType::Duration(unit(*u)),
        Arrow::Interval(_) => DataType::Interval,
        Arrow::Dictionary(_, value) if matches!(**value, Arrow::Utf8 | Arrow::LargeUtf8 | Arrow::Utf8View) => {
            DataType::Categorical
        }
        Arrow::Dictionary(_, value) => wire_type(value),
        Arrow::List(field) | Arrow::LargeList(field) | Arrow::FixedSizeList(field, _) => {
            DataType::List(Box::new(wire_type(field.data_type())))
        }
        Arrow::Struct(fields) => DataType::Struct(fields.iter().map(|f| wire_field(f)).collect()),
        other => DataType::Other(other.to_string()),
    }
}

fn wire_field(field: &ad::Field) -> Field {
    Field { name: field.name().clone(), dtype: wire_type(field.data_type()), nullable: field.is_nullable() }
}

pub fn wire_schema(schema: &ad::Schema) -> Schema {
    Schema { fields: schema.fields().iter().map(|f| wire_field(f)).collect() }
}

/// The value of one row.
pub fn value_at(array: &ArrayRef, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    macro_rules! primitive {
        ($t:ident) => {
            array.as_primitive::<ad::$t>().value(row)
        };
    }
    let stamp = |value: i64, u: ArrowUnit, zone: &Option<Arc<str>>| Value::Timestamp {
        value,
        unit: unit(u),
        zone: zone.as_ref().map(|z| z.to_string()),
    };
    match array.data_type() {
        Arrow::Null => Value::Null,
        Arrow::Boolean => Value::Boolean(array.as_boolean().value(row)),
        Arrow::Int8 => Value::from(primitive!(Int8Type)),
        Arrow::Int16 => Value::from(primitive!(Int16Type)),
        Arrow::Int32 => Value::from(primitive!(Int32Type)),
        Arrow::Int64 => Value::from(primitive!(Int64Type)),
        Arrow::UInt8 => Value::from(primitive!(UInt8Type)),
        Arrow::UInt16 => Value::from(primitive!(UInt16Type)),
        Arrow::UInt32 => Value::from(primitive!(UInt32Type)),
        Arrow::UInt64 => Value::from(primitive!(UInt64Type)),
        Arrow::Float16 => Value::Float32(primitive!(Float16Type).to_f32()),
        Arrow::Float32 => Value::from(primitive!(Float32Type)),
        Arrow::Float64 => Value::from(primitive!(Float64Type)),
        Arrow::Decimal128(precision, scale) => {
            Value::Decimal { value: primitive!(Decimal128Type), precision: *precision, scale: *scale }
        }
        Arrow::Utf8 => Value::from(array.as_string::<i32>().value(row)),
        Arrow::LargeUtf8 => Value::from(array.as_string::<i64>().value(row)),
        Arrow::Utf8View => Value::from(array.as_string_view().value(row)),
        Arrow::Binary => Value::Binary(array.as_binary::<i32>().value(row).to_vec()),
        Arrow::LargeBinary => Value::Binary(array.as_binary::<i64>().value(row).to_vec()),
        Arrow::BinaryView => Value::Binary(array.as_binary_view().value(row).to_vec()),
        Arrow::FixedSizeBinary(_) => Value::Binary(array.as_fixed_size_binary().value(row).to_vec()),
        Arrow::Date32 => Value::Date(primitive!(Date32Type)),
        Arrow::Date64 => Value::Date(primitive!(Date64Type).div_euclid(86_400_000) as i32),
        Arrow::Time32(ArrowUnit::Second) => Value::Time(i64::from(primitive!(Time32SecondType)) * 1_000_000_000),
        Arrow::Time32(_) => Value::Time(i64::from(primitive!(Time32MillisecondType)) * 1_000_000),
        Arrow::Time64(ArrowUnit::Microsecond) => Value::Time(primitive!(Time64MicrosecondType) * 1_000),
        Arrow::Time64(_) => Value::Time(primitive!(Time64NanosecondType)),
        Arrow::Timestamp(u @ ArrowUnit::Second, z) => stamp(primitive!(TimestampSecondType), *u, z),
        Arrow::Timestamp(u @ ArrowUnit::Millisecond, z) => stamp(primitive!(TimestampMillisecondType), *u, z),
        Arrow::Timestamp(u @ ArrowUnit::Microsecond, z) => stamp(primitive!(TimestampMicrosecondType), *u, z),
        Arrow::Timestamp(u @ ArrowUnit::Nanosecond, z) => stamp(primitive!(TimestampNanosecondType), *u, z),
        Arrow::Duration(u) => {
            let value = match u {
                ArrowUnit::Second => primitive!(DurationSecondType),
                ArrowUnit::Millisecond => primitive!(DurationMillisecondType),
                ArrowUnit::Microsecond => primitive!(DurationMicrosecondType),
                ArrowUnit::Nanosecond => primitive!(DurationNanosecondType),
            };
            Value::Duration { value, unit: unit(*u) }
        }
        Arrow::List(_) => list(&array.as_list::<i32>().value(row)),
        Arrow::LargeList(_) => list(&array.as_list::<i64>().value(row)),
        Arrow::FixedSizeList(..) => list(&array.as_fixed_size_list().value(row)),
        Arrow::Struct(fields) => {
            let columns = array.as_struct().columns();
            Value::Struct(fields.iter().zip(columns).map(|(f, c)| (f.name().clone(), value_at(c, row))).collect())
        }
        Arrow::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let key = dictionary.normalized_keys()[row];
            value_at(dictionary.values(), key)
        }
        _ => match arrow::util::display::array_value_to_string(array, row) {
            Ok(text) => Value::Text(text),
            Err(_) => Value::Null,
        },
    }
}

fn list(values: &ArrayRef) -> Value {
    Value::List((0..values.len()).map(|row| value_at(values, row)).collect())
}

/// Levels of an expression whose text anybody reads.
const READABLE: usize = 100;

/// An expression close to what was written; of one that a loop has made, how large it is.
pub fn expression_text(expr: &Expr) -> String {
    match expr.depth() {
        depth if depth > READABLE => format!("<an expression of {depth} levels>"),
        _ => text_of(expr),
    }
}

fn text_of(expr: &Expr) -> String {
    let all = |exprs: &[Expr]| exprs.iter().map(text_of).collect::<Vec<_>>().join(", ");
    match &expr.kind {
        ExprKind::Column(name) if is_plain(name) => name.clone(),
        ExprKind::Column(name) => format!("col({name:?})"),
        ExprKind::Literal(value) => value_text(value),
        ExprKind::Alias(inner, name) if is_plain(name) => format!("{name} = {}", text_of(inner)),
        ExprKind::Alias(inner, name) => format!("{name:?} = {}", text_of(inner)),
        ExprKind::Unary(UnaryOp::Not, inner) => format!("!{}", inner_text(inner)),
        ExprKind::Unary(UnaryOp::Negate, inner) => format!("-{}", inner_text(inner)),
        ExprKind::Binary(op, a, b) => format!("{} {} {}", inner_text(a), op.symbol(), inner_text(b)),
        ExprKind::Case { branches, otherwise } => {
            let mut text = String::new();
            for (condition, value) in branches {
                text += &format!("if {} {{ {} }} else ", text_of(condition), text_of(value));
            }
            text + &match otherwise {
                Some(value) => format!("{{ {} }}", text_of(value)),
                None => "{ None }".to_string(),
            }
        }
        ExprKind::In { value, list } => format!("{} in [{}]", inner_text(value), all(list)),
        ExprKind::Between { value, low, high, high_inclusive } => {
            let dots = if *high_inclusive { "..=" } else { ".." };
            format!("{} in {}{dots}{}", inner_text(value), inner_text(low), inner_text(high))
        }
        ExprKind::Cast { value, to, strict: true } => format!("{}.cast(\"{to}\")", inner_text(value)),
        ExprKind::Cast { value, to, strict: false } => format!("{}.try_cast(\"{to}\")", inner_text(value)),
        ExprKind::Call { function, args } => {
            let arg = |a: &onrush_wire::Arg| match &a.name {
                Some(name) => format!("{name} = {}", text_of(&a.value)),
                None => text_of(&a.value),
            };
            match args.split_first() {
                Some((first, rest)) if first.name.is_none() => {
                    let rest: Vec<String> = rest.iter().map(arg).collect();
                    format!("{}.{function}({})", inner_text(&first.value), rest.join(", "))
                }
                _ => format!("{function}({})", args.iter().map(arg).collect::<Vec<_>>().join(", ")),
            }
        }
        ExprKind::Over { value, partition, order } => {
            let order: Vec<String> = order
                .iter()
                .map(|k| if k.descending { format!("desc({})", text_of(&k.expr)) } else { text_of(&k.expr) })
                .collect();
            let order = if order.is_empty() { String::new() } else { format!(".order_by({})", order.join(", ")) };
            format!("{}.over({}){order}", inner_text(value), all(partition))
        }
        ExprKind::Native { function, args } => format!("{}({})", function.name, all(args)),
        ExprKind::Model(output) => format!("{{model}}.{}", output.output),
        ExprKind::All { except } if except.is_empty() => "all()".to_string(),
        ExprKind::All { except } => format!("all().exclude({except:?})"),
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_numeric())
}

fn inner_text(expr: &Expr) -> String {
    let text = text_of(expr);
    match expr.kind {
        ExprKind::Binary(..)
        | ExprKind::Alias(..)
        | ExprKind::In { .. }
        | ExprKind::Between { .. }
        | ExprKind::Case { .. } => {
            format!("({text})")
        }
        _ => text,
    }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::Null => "None".to_string(),
        Value::Boolean(v) => v.to_string(),
        Value::Int(v) => v.to_string(),
        Value::UInt(v) => v.to_string(),
        Value::Float32(v) => format!("{v:?}"),
        Value::Float(v) => format!("{v:?}"),
        Value::Text(v) => format!("{v:?}"),
        Value::List(values) => format!("[{}]", values.iter().map(value_text).collect::<Vec<_>>().join(", ")),
        Value::Date(days) => date_from_days(*days).map_or_else(|| format!("{days} days"), |d| d.to_string()),
        other => format!("{other:?}"),
    }
}

/// The day; `None` beyond chrono's range.
pub(crate) fn date_from_days(days: i32) -> Option<NaiveDate> {
    NaiveDate::default().checked_add_signed(TimeDelta::days(days.into()))
}

/// Dates and times as chrono reads them by serde.
pub fn iso(value: &Value) -> Option<String> {
    Some(match value {
        Value::Date(days) => date_from_days(*days)?.to_string(),
        Value::Time(ns) => {
            let (seconds, rest) = (ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000));
            let time = NaiveTime::from_num_seconds_from_midnight_opt(u32::try_from(seconds).ok()?, rest as u32)?;
            time.format("%H:%M:%S%.f").to_string()
        }
        Value::Timestamp { value, unit, zone } => {
            let per_second: i64 = match unit {
                TimeUnit::Second => 1,
                TimeUnit::Millisecond => 1_000,
                TimeUnit::Microsecond => 1_000_000,
                TimeUnit::Nanosecond => 1_000_000_000,
            };
            let nanoseconds = value.rem_euclid(per_second) * (1_000_000_000 / per_second);
            let time = DateTime::from_timestamp(value.div_euclid(per_second), nanoseconds as u32)?;
            let zone = if zone.is_some() { "Z" } else { "" };
            format!("{}{zone}", time.naive_utc().format("%Y-%m-%dT%H:%M:%S%.f"))
        }
        Value::Duration { value, unit } => format!("{value}{unit}"),
        _ => return None,
    })
}
