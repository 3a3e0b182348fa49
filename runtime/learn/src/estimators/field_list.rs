//! The features of a model in its file. Many numbers are packed into arrays.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::data::Kind;
use crate::model::Field;
use crate::text::packed;

/// Features of numbers at the end of a list from which they are packed.
const MANY: usize = 1000;

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Form {
    List(Vec<Field>),
    Packed { first: Vec<Field>, numbers: Names },
}

#[derive(Serialize, Deserialize)]
struct Names(#[serde(with = "packed")] Arc<Vec<String>>);

pub fn serialize<S: Serializer>(fields: &[Field], serializer: S) -> Result<S::Ok, S::Error> {
    let numbers = fields.iter().rev().take_while(|field| field.kind == Kind::Number).count();
    let (first, rest) = fields.split_at(if numbers < MANY { fields.len() } else { fields.len() - numbers });
    let form = match rest.is_empty() {
        true => Form::List(first.to_vec()),
        false => Form::Packed {
            first: first.to_vec(),
            numbers: Names(Arc::new(rest.iter().map(|field| field.name.clone()).collect())),
        },
    };
    form.serialize(serializer)
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Field>, D::Error> {
    Ok(match Form::deserialize(deserializer)? {
        Form::List(fields) => fields,
        Form::Packed { first, numbers } => {
            let numbers = numbers.0.iter().map(|name| Field { name: name.clone(), kind: Kind::Number });
            first.into_iter().chain(numbers).collect()
        }
    })
}
