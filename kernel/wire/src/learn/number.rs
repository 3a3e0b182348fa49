//! Numbers in formats that people read: JSON has no NaN and no infinity, which are strings there. For
//! `#[serde(with = "number")]` on fields. Binary formats get the number as it is.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serializer};

/// Writes a number: `NaN`, `inf` and `-inf` as strings if people read the format.
///
/// # Errors
/// Those of the format.
pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    match serializer.is_human_readable() && !value.is_finite() {
        true => serializer.serialize_str(&value.to_string()),
        false => serializer.serialize_f64(*value),
    }
}

/// Reads what [`serialize`] wrote.
///
/// # Errors
/// If there is neither a number nor one of the strings.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    match deserializer.is_human_readable() {
        true => deserializer.deserialize_any(Readable),
        false => f64::deserialize(deserializer),
    }
}

struct Readable;

impl Visitor<'_> for Readable {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, `NaN`, `inf` or `-inf`")
    }

    fn visit_f64<E>(self, value: f64) -> Result<f64, E> {
        Ok(value)
    }

    fn visit_i64<E>(self, value: i64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_u64<E>(self, value: u64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<f64, E> {
        match value {
            "NaN" => Ok(f64::NAN),
            "inf" => Ok(f64::INFINITY),
            "-inf" => Ok(f64::NEG_INFINITY),
            other => Err(E::invalid_value(serde::de::Unexpected::Str(other), &self)),
        }
    }
}
