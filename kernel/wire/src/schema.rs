//! Column types as the user knows them, and schemas of frames.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TimeUnit {
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
}

/// The type of a column. How it is stored (dictionary, view, large offsets) is the session's business and not part of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DataType {
    Null,
    Boolean,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Float16,
    Float32,
    Float64,
    Decimal {
        precision: u8,
        scale: i8,
    },
    String,
    Binary,
    Date,
    Time(TimeUnit),
    /// With a zone (IANA name or offset) the instant is in UTC and shown in the zone; without one it is a wall clock.
    Timestamp(TimeUnit, Option<String>),
    Duration(TimeUnit),
    Interval,
    /// A string column that is known to repeat few values.
    Categorical,
    List(Box<DataType>),
    Struct(Vec<Field>),
    /// What the table above has no word for, by Arrow's name.
    Other(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Field {
    pub name: String,
    pub dtype: DataType,
    pub nullable: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Schema {
    pub fields: Vec<Field>,
}

impl Schema {
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|f| f.name.as_str())
    }

    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|f| f.name == name)
    }
}

impl DataType {
    pub fn is_numeric(&self) -> bool {
        self.is_integer() || self.is_float() || matches!(self, DataType::Decimal { .. })
    }

    pub fn is_integer(&self) -> bool {
        use DataType::*;
        matches!(self, Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64)
    }

    pub fn is_float(&self) -> bool {
        matches!(self, DataType::Float16 | DataType::Float32 | DataType::Float64)
    }

    pub fn is_text(&self) -> bool {
        matches!(self, DataType::String | DataType::Categorical)
    }

    pub fn is_temporal(&self) -> bool {
        matches!(self, DataType::Date | DataType::Time(_) | DataType::Timestamp(..) | DataType::Duration(_))
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TimeUnit::Second => "s",
            TimeUnit::Millisecond => "ms",
            TimeUnit::Microsecond => "μs",
            TimeUnit::Nanosecond => "ns",
        })
    }
}

/// Polars' short names, as under the column names of a table: `i64`, `str`, `datetime[μs, UTC]`, `list[f64]`.
impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DataType::Null => "null",
            DataType::Boolean => "bool",
            DataType::Int8 => "i8",
            DataType::Int16 => "i16",
            DataType::Int32 => "i32",
            DataType::Int64 => "i64",
            DataType::UInt8 => "u8",
            DataType::UInt16 => "u16",
            DataType::UInt32 => "u32",
            DataType::UInt64 => "u64",
            DataType::Float16 => "f16",
            DataType::Float32 => "f32",
            DataType::Float64 => "f64",
            DataType::Decimal { precision, scale } => return write!(f, "decimal[{precision},{scale}]"),
            DataType::String => "str",
            DataType::Binary => "binary",
            DataType::Date => "date",
            DataType::Time(_) => "time",
            DataType::Timestamp(unit, None) => return write!(f, "datetime[{unit}]"),
            DataType::Timestamp(unit, Some(zone)) => return write!(f, "datetime[{unit}, {zone}]"),
            DataType::Duration(unit) => return write!(f, "duration[{unit}]"),
            DataType::Interval => "interval",
            DataType::Categorical => "cat",
            DataType::List(inner) => return write!(f, "list[{inner}]"),
            DataType::Struct(fields) => return write!(f, "struct[{}]", fields.len()),
            DataType::Other(name) => name,
        })
    }
}
