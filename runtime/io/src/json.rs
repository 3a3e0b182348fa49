//! JSON lines: one object for each line. The columns are those of all lines; what a line lacks is null.

use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::json::ReaderBuilder;
use arrow::json::reader::infer_json_schema_from_iterator;
use onrush_frame::{Table, TaskHandle};
use onrush_wire::{Class, Diagnostic};
use serde_json::Value;

use crate::cache::FileState;
use crate::memory::Reservation;
use crate::text::{excerpt, load};

/// Rows decoded between two looks at the task.
const BATCH: usize = 8192;

pub(crate) fn read(files: &[FileState], taken: &Reservation<'_>, task: &TaskHandle) -> Result<Table, Diagnostic> {
    let mut texts = Vec::with_capacity(files.len());
    let mut schemas = Vec::with_capacity(files.len());
    for file in files {
        let bytes = load(file, taken, task)?;
        schemas.push(schema(&file.path, &bytes, task)?);
        texts.push(bytes);
    }
    let mut merged = schemas[0].clone();
    for (file, schema) in files.iter().zip(&schemas).skip(1) {
        merged = Schema::try_merge([merged, schema.clone()]).map_err(|e| {
            Diagnostic::error(
                Class::Data,
                "different-columns",
                format!("`{}` does not fit the files before it: {e}", file.path.display()),
            )
            .help("read the files one by one, cast the column, and put them together with `concat`")
        })?;
    }
    let schema: SchemaRef = Arc::new(views(&merged));
    let mut batches = Vec::new();
    for (file, bytes) in files.iter().zip(&texts) {
        decode(&file.path, bytes, &schema, taken, task, &mut batches)?;
    }
    Ok(Table::new(schema, batches))
}

/// Lines that are not blank, with their number from 1.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    bytes.split(|b| *b == b'\n').enumerate().map(|(i, l)| (i + 1, l.trim_ascii())).filter(|(_, l)| !l.is_empty())
}

/// The schema of all lines.
fn schema(path: &Path, bytes: &[u8], task: &TaskHandle) -> Result<Schema, Diagnostic> {
    let Some((_, first)) = lines(bytes).next() else {
        return Err(Diagnostic::error(Class::Data, "empty-file", format!("`{}` is empty", path.display()))
            .help("check that it was written to its end; a JSON lines file has one object in each line"));
    };
    if first.starts_with(b"[") {
        return Err(Diagnostic::error(
            Class::Data,
            "bad-json",
            format!("`{}` holds a JSON array, not one object for each line", path.display()),
        )
        .help("turn it into JSON lines, for example: jq -c '.[]' FILE > FILE.jsonl"));
    }
    let mut failed = None;
    let mut last_line = 0;
    let values = lines(bytes).map_while(|(number, line)| {
        last_line = number;
        if number % BATCH == 0 && task.cancelled() {
            failed = Some(onrush_frame::Cancelled.into());
            return None;
        }
        match serde_json::from_slice::<Value>(line) {
            Ok(value @ Value::Object(_)) => Some(Ok(value)),
            Ok(other) => {
                failed = Some(bad_line(path, number, line, &format!("{} instead of an object", kind(&other))));
                None
            }
            Err(error) => {
                failed = Some(bad_line(
                    path,
                    number,
                    line,
                    &format!("no JSON: {error}").replace(" at line 1 column", " at column"),
                ));
                None
            }
        }
    });
    let schema = infer_json_schema_from_iterator(values);
    if let Some(error) = failed {
        return Err(error);
    }
    schema.map_err(|e| {
        Diagnostic::error(
            Class::Data,
            "mixed-types",
            format!("line {last_line} of `{}` does not fit the lines before it: {e}", path.display()),
        )
        .help("give the field the same type in every line")
    })
}

fn decode(
    path: &Path,
    bytes: &[u8],
    schema: &SchemaRef,
    taken: &Reservation<'_>,
    task: &TaskHandle,
    batches: &mut Vec<RecordBatch>,
) -> Result<(), Diagnostic> {
    let failed = |e: arrow::error::ArrowError| {
        Diagnostic::error(Class::Data, "bad-json", format!("`{}` could not be read: {e}", path.display()))
    };
    // Fields that are numbers in some lines and strings in others are strings.
    let reader = ReaderBuilder::new(Arc::clone(schema)).with_batch_size(BATCH).with_coerce_primitive(true);
    for batch in reader.build(bytes).map_err(failed)? {
        task.check()?;
        let batch = batch.map_err(failed)?;
        taken.take(path, batch.get_array_memory_size() as u64)?;
        task.add_rows(batch.num_rows() as u64);
        batches.push(batch);
    }
    Ok(())
}

fn bad_line(path: &Path, number: usize, line: &[u8], what: &str) -> Diagnostic {
    Diagnostic::error(Class::Data, "bad-json", format!("line {number} of `{}` holds {what}", path.display()))
        .note(format!("the line is `{}`", excerpt(line)))
        .help("each line must be one JSON object, such as {\"name\": \"JFK\", \"flights\": 3}")
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The schema with top-level strings as string views, as in every other reader. Columns that are null everywhere are strings.
fn views(schema: &Schema) -> Schema {
    let fields: Vec<Field> = schema
        .fields()
        .iter()
        .map(|f| {
            let dtype = match f.data_type() {
                DataType::Utf8 | DataType::Null => DataType::Utf8View,
                other => other.clone(),
            };
            Field::new(f.name(), dtype, true)
        })
        .collect();
    Schema::new(fields)
}
