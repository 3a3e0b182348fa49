//! Runs calls of the table of algorithms for tests in other languages: a JSON object a line in, one a line out.
//!
//! In: `{"directed": true, "nodes": 3, "sources": [0, 1], "targets": [1, 2], "weights": null, "algorithm": "bfs",
//! "params": {"source": 0}, "frames": {"pairs": {"u": [0], "v": [2]}}}`. Nodes are numbers. Out: `{"columns": {...}}`,
//! or `{"error": {"code": "...", "message": "..."}}`. Floats that JSON lacks are the strings `NaN`, `inf` and `-inf`.
//!
//! For tests only; no part of the product.

use std::io::{BufRead, Write};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type, Schema};
use onrush_graph::Run;
use onrush_graph_arrow::{EdgeColumns, Index, WeightColumn, call};
use onrush_wire::graph::GraphCall;
use onrush_wire::{Class, Diagnostic, Value};
use serde_json::{Map, Value as Json, json};

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let answer = match answer(&line?) {
            Ok(batch) => json!({"columns": columns(&batch)}),
            Err(error) => json!({"error": {"code": error.code, "message": error.message}}),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn wrong(message: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::error(Class::Plan, "request", format!("the request is wrong: {message}"))
}

fn answer(line: &str) -> Result<RecordBatch, Diagnostic> {
    let request: Json = serde_json::from_str(line).map_err(wrong)?;
    let nodes = request["nodes"].as_i64().ok_or_else(|| wrong("no number of `nodes`"))?;
    let weight = match &request["weights"] {
        Json::Null => None,
        weights => Some(WeightColumn { name: "weight".to_string(), values: floats(weights)? }),
    };
    let columns = EdgeColumns {
        source: vec![column(&request["sources"])?],
        target: vec![column(&request["targets"])?],
        names: [vec!["source".to_string()], vec!["target".to_string()]],
        weight,
        directed: request["directed"].as_bool().unwrap_or(false),
        nodes: vec![vec![Arc::new((0..nodes).map(Some).collect::<Int64Array>())]],
    };
    let algorithm = request["algorithm"].as_str().ok_or_else(|| wrong("no `algorithm`"))?.to_string();
    let params = request["params"].as_object().into_iter().flatten();
    let params = params.map(|(name, value)| Ok((name.clone(), param(value)?))).collect::<Result<_, Diagnostic>>()?;
    let frames = request["frames"].as_object().into_iter().flatten();
    let frames =
        frames.map(|(name, value)| Ok((name.clone(), frame(value)?))).collect::<Result<Vec<_>, Diagnostic>>()?;
    let request = GraphCall { algorithm, params, frames: Vec::new() };
    call(&Index::of(columns)?, &request, &frames, &Run::silent())
}

fn param(value: &Json) -> Result<Value, Diagnostic> {
    match value {
        Json::Bool(value) => Ok(Value::Boolean(*value)),
        Json::String(value) => Ok(Value::Text(value.clone())),
        Json::Number(value) => match value.as_i64() {
            Some(value) => Ok(Value::Int(value)),
            None => Ok(Value::Float(value.as_f64().unwrap_or(f64::NAN))),
        },
        value => Err(wrong(format!("{value} is not a parameter"))),
    }
}

fn frame(value: &Json) -> Result<RecordBatch, Diagnostic> {
    let columns = value.as_object().ok_or_else(|| wrong("a frame is not an object"))?;
    let columns = columns.iter().map(|(name, value)| Ok((name, column(value)?)));
    let columns = columns.collect::<Result<Vec<(&String, ArrayRef)>, Diagnostic>>()?;
    let fields: Vec<Field> = columns.iter().map(|(name, a)| Field::new(*name, a.data_type().clone(), true)).collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(wrong)
}

/// Integers if all are, else floats.
fn column(value: &Json) -> Result<ArrayRef, Diagnostic> {
    let values = value.as_array().ok_or_else(|| wrong("a column is not an array"))?;
    match values.iter().all(|value| value.is_i64()) {
        true => Ok(Arc::new(values.iter().map(Json::as_i64).collect::<Int64Array>())),
        false => floats(value),
    }
}

fn floats(value: &Json) -> Result<ArrayRef, Diagnostic> {
    let values = value.as_array().ok_or_else(|| wrong("a column is not an array"))?;
    Ok(Arc::new(values.iter().map(Json::as_f64).collect::<Float64Array>()))
}

fn columns(batch: &RecordBatch) -> Map<String, Json> {
    let schema = batch.schema();
    let named = schema.fields().iter().zip(batch.columns());
    named.map(|(field, array)| (field.name().clone(), values(array))).collect()
}

fn values(array: &ArrayRef) -> Json {
    let float = |value: f64| match value.is_finite() {
        true => json!(value),
        false => json!(value.to_string()),
    };
    match array.data_type() {
        DataType::Float64 => array.as_primitive::<Float64Type>().iter().map(|v| v.map_or(Json::Null, float)).collect(),
        DataType::Int64 => array.as_primitive::<Int64Type>().iter().map(|v| json!(v)).collect(),
        DataType::Boolean => array.as_boolean().iter().map(|v| json!(v)).collect(),
        other => json!(format!("a column of {other}")),
    }
}
