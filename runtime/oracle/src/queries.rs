//! Queries of a peer process, a JSON object a line: another system's files of SQL run on an engine without being part
//! of it.
//!
//! `{"load": NAME, "path": FILE}` makes the rows of an Arrow IPC file a table, `{"query": TEXT}` runs a query. The
//! answer is `{"columns": [..], "types": [..], "rows": [[..], ..]}`, `{"loaded": NAME}` or `{"error": MESSAGE, "code":
//! CODE}`.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use arrow::array::RecordBatch;
use arrow::ipc::reader::FileReader;
use onrush_frame::Table;
use onrush_wire::{TimeUnit, Value};
use serde_json::{Value as Json, json};

use crate::answer;
use crate::engines::{Answers, Subject};

/// Answers all requests of `input`.
///
/// # Errors
/// If `input` ends early or `output` takes no more.
pub fn serve(subject: &mut Subject, input: impl BufRead, mut output: impl Write) -> Result<(), String> {
    for line in input.lines() {
        let line = line.map_err(|e| e.to_string())?;
        let answer = match serde_json::from_str::<Json>(&line) {
            Ok(request) => answered(subject, &request),
            Err(error) => json!({ "error": error.to_string(), "code": "request" }),
        };
        writeln!(output, "{answer}").and_then(|()| output.flush()).map_err(|e| e.to_string())?;
    }
    Ok(())
}

fn answered(subject: &mut Subject, request: &Json) -> Json {
    let text = |key: &str| request[key].as_str().unwrap_or_default();
    let failed = |code: &str, message: String| json!({ "error": message, "code": code });
    if !text("load").is_empty() {
        let loaded = read(text("path")).and_then(|t| subject.load(text("load"), &t).map_err(|d| d.to_string()));
        return loaded.map_or_else(|message| failed("load", message), |()| json!({ "loaded": text("load") }));
    }
    match subject.sql(text("query")) {
        Ok(table) => {
            let schema = table.schema();
            let columns: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
            let types: Vec<String> = schema.fields().iter().map(|f| f.data_type().to_string()).collect();
            let rows: Vec<Vec<Json>> =
                answer::rows(&table).iter().map(|row| row.iter().map(value_of).collect()).collect();
            json!({ "columns": columns, "types": types, "rows": rows })
        }
        Err(diagnostic) => failed(&diagnostic.code, diagnostic.message.clone()),
    }
}

fn read(path: &str) -> Result<Table, String> {
    let file = File::open(path).map_err(|e| e.to_string())?;
    let reader = FileReader::try_new(BufReader::new(file), None).map_err(|e| e.to_string())?;
    let schema = reader.schema();
    let batches: Vec<RecordBatch> = reader.collect::<Result<_, _>>().map_err(|e| e.to_string())?;
    Ok(Table::new(schema, batches))
}

/// A value as an object of its type and its text: JSON has one type of numbers.
fn value_of(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Boolean(v) => json!(v),
        Value::Int(_) | Value::UInt(_) => json!({ "i": answer::text(value) }),
        Value::Float32(v) => json!({ "f": format!("{v:?}") }),
        Value::Float(v) => json!({ "f": format!("{v:?}") }),
        Value::Decimal { .. } => json!({ "d": answer::text(value) }),
        Value::Text(v) => json!(v),
        Value::Binary(bytes) => json!({ "b": bytes.iter().map(|b| format!("{b:02x}")).collect::<String>() }),
        Value::List(items) => json!({ "l": items.iter().map(value_of).collect::<Vec<_>>() }),
        Value::Struct(fields) => {
            json!({ "s": fields.iter().map(|(n, v)| json!([n, value_of(v)])).collect::<Vec<_>>() })
        }
        Value::Time(nanoseconds) => json!({ "t": nanoseconds }),
        Value::Duration { value, unit } => {
            let per = match unit {
                TimeUnit::Second => 1_000_000_000_i128,
                TimeUnit::Millisecond => 1_000_000,
                TimeUnit::Microsecond => 1_000,
                TimeUnit::Nanosecond => 1,
            };
            json!({ "u": (i128::from(*value) * per).to_string() })
        }
        other => json!({ "p": answer::text(other) }),
    }
}
