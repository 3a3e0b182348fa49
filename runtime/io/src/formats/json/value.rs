//! Types of the values of a JSON text, with the fields of objects in the order of the text. A field that comes twice
//! has its last value.

use std::fmt;

use serde_json::Error;

use super::types::Scalars;

/// A value without its content.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Scalar(Scalars),
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl Value {
    /// # Errors
    /// A text that is not one JSON value.
    pub fn parse(text: &[u8]) -> Result<Value, Error> {
        serde_json::from_slice(text)
    }

    /// A few words for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Scalar(Scalars::BOOLEAN) => "a boolean",
            Value::Scalar(Scalars::STRING) => "a text",
            Value::Scalar(_) => "a number",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        }
    }
}

impl<'de> serde::Deserialize<'de> for Value {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Visitor)
    }
}

struct Visitor;

impl<'de> serde::de::Visitor<'de> for Visitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Value, E> {
        Ok(Value::Scalar(Scalars::BOOLEAN))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Value, E> {
        // Positive integers are unsigned for serde.
        Ok(Value::Scalar(Scalars::NEGATIVE))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        let is_small = i64::try_from(number).is_ok();
        Ok(Value::Scalar(if is_small { Scalars::INTEGER } else { Scalars::UNSIGNED }))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Value, E> {
        Ok(Value::Scalar(Scalars::FLOAT))
    }

    fn visit_str<E>(self, _: &str) -> Result<Value, E> {
        Ok(Value::Scalar(Scalars::STRING))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(element) = elements.next_element()? {
            all.push(element);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut all: Vec<(String, Value)> = Vec::new();
        // Positions by name, for objects with many fields.
        let mut index: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
        while let Some((name, value)) = members.next_entry::<String, Value>()? {
            match index.get(&name) {
                Some(position) => all[*position].1 = value,
                None => {
                    index.insert(name.clone(), all.len());
                    all.push((name, value));
                }
            }
        }
        Ok(Value::Object(all))
    }
}
