//! Answers: JSON with columns, whose numbers follow.

use onrush_learn::{Attribute, Column, FittedModel, Kind, Param, Values};
use onrush_wire::learn::{self, EstimatorInfo};
use serde_json::{Value as Json, json};

/// A line of JSON and the numbers that follow it.
pub struct Answer {
    pub head: Json,
    pub floats: Vec<f64>,
}

impl Answer {
    pub fn new(head: Json) -> Self {
        Answer { head, floats: Vec::new() }
    }

    pub fn with(self, floats: Vec<f64>) -> Self {
        Answer { floats, ..self }
    }
}

/// The table of estimators.
pub fn table() -> Json {
    let entry = |info: &EstimatorInfo| {
        let params = info.params.iter().map(|p| json!({"name": p.name, "default": plain(&p.default)}));
        json!({
            "name": info.name,
            "kind": format!("{:?}", info.kind),
            "missing": info.missing,
            "params": params.collect::<Vec<Json>>(),
            "attributes": info.attributes.iter().map(|(name, _)| *name).collect::<Vec<&str>>(),
        })
    };
    json!({"table": learn::table().iter().map(entry).collect::<Vec<Json>>()})
}

fn plain(value: &Param) -> Json {
    match value {
        Param::None => Json::Null,
        Param::Bool(value) => json!(value),
        Param::Int(value) => json!(value),
        Param::Float(value) if value.is_finite() => json!(value),
        Param::Float(value) => json!({"float": value.to_string()}),
        Param::Str(value) => json!(value),
        Param::List(values) => values.iter().map(plain).collect(),
    }
}

/// All attributes of a model that it has.
pub fn attributes(fitted: &FittedModel, floats: &mut Vec<f64>) -> Json {
    let mut found = Vec::new();
    let names = learn::info(&fitted.spec.estimator).into_iter().flat_map(|info| info.attributes.iter());
    for (name, _) in names {
        let mut value = match fitted.attribute(name) {
            None => continue,
            // JSON has no infinity: numbers travel as columns.
            Some(Attribute::Float(value)) => json!({"float": numbers(vec![vec![value]], floats)}),
            Some(Attribute::Int(value)) => json!({"int": value}),
            Some(Attribute::Strs(values)) => json!({"strs": values}),
            Some(Attribute::Frame(columns)) => {
                json!({"frame": columns.into_iter().map(|(name, values)| values_of(&name, values, floats)).collect::<Vec<Json>>()})
            }
        };
        value["name"] = json!(name);
        found.push(value);
    }
    // A list, because their numbers follow in this order.
    Json::Array(found)
}

fn values_of(name: &str, values: Values, floats: &mut Vec<f64>) -> Json {
    match values {
        Values::Floats(values) => number(name, values, floats),
        Values::Ints(values) => json!({"name": name, "values": values}),
        Values::Strs(values) => json!({"name": name, "values": values}),
        Values::Bools(values) => json!({"name": name, "values": values}),
        Values::Nullable(values) => json!({"name": name, "values": values}),
    }
}

fn number(name: &str, values: Vec<f64>, floats: &mut Vec<f64>) -> Json {
    let column = json!({"name": name, "rows": values.len()});
    floats.extend(values);
    column
}

/// Columns of numbers without names.
pub fn numbers(columns: Vec<Vec<f64>>, floats: &mut Vec<f64>) -> Json {
    columns.into_iter().map(|values| number("", values, floats)).collect()
}

/// Columns of numbers or strings.
pub fn columns(columns: Vec<Column>, floats: &mut Vec<f64>) -> Json {
    let column = |column: Column| match column.kind {
        Kind::Category(names) => {
            let values: Vec<Option<&String>> = column.values.iter().map(|v| names.get(*v as usize)).collect();
            let values: Vec<Option<&String>> =
                values.into_iter().zip(&column.values).map(|(s, v)| s.filter(|_| !v.is_nan())).collect();
            json!({"name": column.name, "values": values})
        }
        Kind::Number | Kind::Text => number(&column.name, column.values, floats),
    };
    columns.into_iter().map(column).collect()
}
