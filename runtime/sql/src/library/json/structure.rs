//! `json_structure`: the types of a document in its own form. Knows no Arrow types.

use super::document::Json;

/// The names of the types of all values. Elements of an array have one type in common, `JSON` if there is no other.
pub fn structure(value: &Json) -> Json {
    shown(inner(value))
}

fn name(of: &str) -> Json {
    Json::Text(of.to_string())
}

fn inner(value: &Json) -> Json {
    match value {
        Json::Object(fields) => {
            let mut out = Vec::new();
            fields.iter().for_each(|(name, value)| add(&mut out, name, inner(value)));
            Json::Object(out)
        }
        Json::Array(items) => Json::Array(vec![items.iter().map(inner).fold(name("NULL"), common)]),
        other => name(other.kind()),
    }
}

/// Adds a field; the type of a second one of a name is that of both.
fn add(fields: &mut Vec<(String, Json)>, name: &str, dtype: Json) {
    match fields.iter_mut().find(|(own, _)| own == name) {
        Some((_, own)) => *own = common(std::mem::replace(own, Json::Null), dtype),
        None => fields.push((name.to_string(), dtype)),
    }
}

/// The type that holds the values of two.
fn common(a: Json, b: Json) -> Json {
    let is_number = |text: &str| matches!(text, "UBIGINT" | "BIGINT" | "HUGEINT" | "DOUBLE");
    match (a, b) {
        (a, b) if a == b => a,
        (Json::Text(null), other) | (other, Json::Text(null)) if null == "NULL" => other,
        (Json::Object(mut own), Json::Object(others)) => {
            others.into_iter().for_each(|(name, dtype)| add(&mut own, &name, dtype));
            Json::Object(own)
        }
        (Json::Array(own), Json::Array(others)) => {
            Json::Array(vec![own.into_iter().chain(others).fold(name("NULL"), common)])
        }
        (Json::Text(a), Json::Text(b)) if is_number(&a) && is_number(&b) => {
            name(if a == "DOUBLE" || b == "DOUBLE" { "DOUBLE" } else { "HUGEINT" })
        }
        _ => name("JSON"),
    }
}

/// An object without fields has no columns: it is `JSON`.
fn shown(dtype: Json) -> Json {
    match dtype {
        Json::Object(fields) if fields.is_empty() => name("JSON"),
        Json::Object(fields) => Json::Object(fields.into_iter().map(|(name, dtype)| (name, shown(dtype))).collect()),
        Json::Array(items) => Json::Array(items.into_iter().map(shown).collect()),
        other => other,
    }
}
