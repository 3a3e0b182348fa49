//! Single values: literals in expressions, cells of a preview, answers of `value`.

use serde::{Deserialize, Serialize};

use crate::schema::TimeUnit;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    Null,
    Boolean(bool),
    /// As a literal it takes the type of the other operand if it fits, as in Polars.
    Int(i64),
    UInt(u64),
    Float32(f32),
    Float(f64),
    Text(String),
    Binary(Vec<u8>),
    Decimal {
        value: i128,
        precision: u8,
        scale: i8,
    },
    /// Days since 1970-01-01.
    Date(i32),
    /// Nanoseconds since midnight.
    Time(i64),
    /// Since 1970-01-01T00:00:00, in `unit`; in UTC if `zone` is given.
    Timestamp {
        value: i64,
        unit: TimeUnit,
        zone: Option<String>,
    },
    Duration {
        value: i64,
        unit: TimeUnit,
    },
    List(Vec<Value>),
    Struct(Vec<(String, Value)>),
}

macro_rules! from {
    ($($t:ty => $v:ident as $as:ty),* $(,)?) => {$(
        impl From<$t> for Value {
            fn from(value: $t) -> Self {
                Value::$v(value as $as)
            }
        }
    )*};
}
from!(i8 => Int as i64, i16 => Int as i64, i32 => Int as i64, i64 => Int as i64, isize => Int as i64,
      u8 => UInt as u64, u16 => UInt as u64, u32 => UInt as u64, u64 => UInt as u64, usize => UInt as u64,
      f32 => Float32 as f32, f64 => Float as f64, bool => Boolean as bool);

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::Text(value.to_string())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::Text(value)
    }
}

impl From<&String> for Value {
    fn from(value: &String) -> Self {
        Value::Text(value.clone())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}
