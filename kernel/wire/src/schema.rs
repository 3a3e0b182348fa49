//! Column types as the user knows them, and schemas of frames.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TimeUnit {
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
}

/// The type of a column. How it is stored (dictionary, view, large offsets) is the session's business and not part of
/// it.
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

/// A text that names no type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a type: expected i8 to i64, u8 to u64, f32, f64, bool, str, date, time, datetime[us], duration[us], cat, \
         decimal[10,2] or list[i64]"
)]
pub struct UnknownType(pub String);

/// The short names that `Display` writes, Rust's (`String`), NumPy's (`int64`) and Polars' (`Int64`, `Utf8`). Units of
/// time may be `s`, `ms`, `us`, `μs` or `ns`; without one they are microseconds.
impl FromStr for DataType {
    type Err = UnknownType;

    fn from_str(text: &str) -> Result<Self, UnknownType> {
        let unknown = || UnknownType(text.to_string());
        let lower = text.trim().to_lowercase();
        let (name, inner) = match lower.split_once('[') {
            Some((name, rest)) => (name, Some(rest.strip_suffix(']').ok_or_else(unknown)?)),
            None => (lower.as_str(), None),
        };
        let unit = |text: &str| match text.trim() {
            "s" => Ok(TimeUnit::Second),
            "ms" => Ok(TimeUnit::Millisecond),
            "" | "us" | "μs" | "µs" => Ok(TimeUnit::Microsecond),
            "ns" => Ok(TimeUnit::Nanosecond),
            _ => Err(unknown()),
        };
        let parsed = match (name, inner) {
            ("datetime" | "timestamp", inner) => {
                let (u, zone) = inner.unwrap_or("").split_once(',').unwrap_or((inner.unwrap_or(""), ""));
                // The zone's own spelling, not the lower-case one.
                let zone = zone.trim();
                let zone = (!zone.is_empty()).then(|| {
                    let at = lower.find(zone).filter(|_| lower.len() == text.trim().len());
                    at.map_or(zone, |at| &text.trim()[at..at + zone.len()]).to_string()
                });
                DataType::Timestamp(unit(u)?, zone)
            }
            ("duration", inner) => DataType::Duration(unit(inner.unwrap_or(""))?),
            ("time", inner) => DataType::Time(unit(inner.unwrap_or("ns"))?),
            ("decimal", Some(inner)) => {
                let (p, s) = inner.split_once(',').unwrap_or((inner, "0"));
                DataType::Decimal {
                    precision: p.trim().parse().map_err(|_| unknown())?,
                    scale: s.trim().parse().map_err(|_| unknown())?,
                }
            }
            ("list", Some(inner)) => DataType::List(Box::new(inner.parse().map_err(|_| unknown())?)),
            (_, Some(_)) => return Err(unknown()),
            ("null", None) => DataType::Null,
            ("bool" | "boolean", None) => DataType::Boolean,
            ("i8" | "int8", None) => DataType::Int8,
            ("i16" | "int16", None) => DataType::Int16,
            ("i32" | "int32", None) => DataType::Int32,
            ("i64" | "int64" | "int", None) => DataType::Int64,
            ("u8" | "uint8", None) => DataType::UInt8,
            ("u16" | "uint16", None) => DataType::UInt16,
            ("u32" | "uint32", None) => DataType::UInt32,
            ("u64" | "uint64" | "usize", None) => DataType::UInt64,
            ("isize", None) => DataType::Int64,
            ("f16" | "float16", None) => DataType::Float16,
            ("f32" | "float32", None) => DataType::Float32,
            ("f64" | "float64" | "float" | "double", None) => DataType::Float64,
            ("str" | "string" | "utf8" | "text", None) => DataType::String,
            ("binary", None) => DataType::Binary,
            ("date" | "naivedate", None) => DataType::Date,
            ("naivedatetime", None) => DataType::Timestamp(TimeUnit::Microsecond, None),
            ("cat" | "categorical", None) => DataType::Categorical,
            _ => return Err(unknown()),
        };
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_as_they_are_written() {
        let types = [
            DataType::Int64,
            DataType::String,
            DataType::Timestamp(TimeUnit::Millisecond, Some("Europe/Berlin".into())),
            DataType::Timestamp(TimeUnit::Microsecond, None),
            DataType::Duration(TimeUnit::Nanosecond),
            DataType::Decimal { precision: 12, scale: 2 },
            DataType::List(Box::new(DataType::Float32)),
        ];
        for dtype in types {
            assert_eq!(dtype.to_string().parse(), Ok(dtype));
        }
        assert_eq!("Utf8".parse(), Ok(DataType::String));
        assert_eq!("datetime".parse(), Ok(DataType::Timestamp(TimeUnit::Microsecond, None)));
        assert!("strng".parse::<DataType>().is_err());
    }
}
