//! JSON lines: one object for each line. The columns are those of all lines; what a line lacks is null.
//!
//! Two passes over pieces of whole lines, on all cores: the first finds the types, the second decodes.

mod scan;
mod types;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::json::ReaderBuilder;
use onrush_frame::{Cancelled, Table, TaskHandle};
use onrush_wire::{Class, Diagnostic};
use serde_json::Value;

use crate::cache::FileState;
use crate::memory::Reservation;
use crate::pieces::{self, Division};
use crate::text::{excerpt, line_of, load};
use types::Fields;

/// Rows decoded between two looks at the task. The decoder's tape of so many fits into the cache of a core.
const BATCH: usize = 8192;

struct Text {
    path: PathBuf,
    bytes: Vec<u8>,
    pieces: Vec<Range<usize>>,
}

/// Reads files one below the other.
pub(crate) fn read(
    files: &[FileState],
    division: Division,
    taken: &Reservation<'_>,
    task: &TaskHandle,
) -> Result<Table, Diagnostic> {
    let mut texts = Vec::with_capacity(files.len());
    let mut unread = None;
    for file in files {
        match open(file, division, taken, task) {
            Ok(text) => texts.push(text),
            Err(error) => {
                // An error in an earlier file comes first.
                unread = Some(error);
                break;
            }
        }
    }
    let jobs: Vec<(&Text, Range<usize>)> =
        texts.iter().flat_map(|t| t.pieces.iter().map(move |p| (t, p.clone()))).collect();
    let schemas = schemas(&texts, &jobs, division, task)?;
    if let Some(error) = unread {
        return Err(error);
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
    let batches = division.run(&jobs, task, |(text, piece)| decode(text, piece.clone(), &schema, taken, task));
    Ok(Table::new(schema, batches.into_iter().collect::<Result<_, Diagnostic>>()?))
}

/// Loads a file and cuts it into pieces.
fn open(file: &FileState, division: Division, taken: &Reservation<'_>, task: &TaskHandle) -> Result<Text, Diagnostic> {
    let bytes = load(file, taken, task)?;
    let path = &file.path;
    let Some((_, first)) = lines(&bytes).next() else {
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
    let pieces = pieces::lines(&bytes, division.bytes(&bytes));
    Ok(Text { path: path.clone(), bytes, pieces })
}

/// Lines that are not blank, with their number from 1.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    bytes.split(|b| *b == b'\n').enumerate().map(|(i, l)| (i + 1, l.trim_ascii())).filter(|(_, l)| !l.is_empty())
}

/// A piece with an error: the types of the lines before it.
struct Stopped {
    before: Fields,
    error: Diagnostic,
}

impl From<Cancelled> for Stopped {
    fn from(cancelled: Cancelled) -> Self {
        Stopped { before: Fields::default(), error: cancelled.into() }
    }
}

/// The schema of all lines of each file.
fn schemas(
    texts: &[Text],
    jobs: &[(&Text, Range<usize>)],
    division: Division,
    task: &TaskHandle,
) -> Result<Vec<Schema>, Diagnostic> {
    let found = division.run(jobs, task, |(text, piece)| match scan::scan(&text.bytes[piece.clone()]) {
        Some(fields) => Ok(fields),
        None => by_value(text, piece.clone(), Fields::default(), task),
    });
    let mut found = found.into_iter();
    let mut schemas = Vec::with_capacity(texts.len());
    for text in texts {
        let mut earlier: Vec<Fields> = Vec::with_capacity(text.pieces.len());
        let mut all = Fields::default();
        for (piece, found) in text.pieces.iter().zip(found.by_ref()) {
            let (fields, error) = match found {
                Ok(fields) => (fields, None),
                Err(stopped) => (stopped.before, Some(stopped.error)),
            };
            if all.merge(&fields).is_err() {
                // The line is found by adding lines to what the pieces before have.
                let mut before = Fields::default();
                for fields in &earlier {
                    before.merge(fields).map_err(|e| mixed(text, 1, &e))?;
                }
                by_value(text, piece.clone(), before, task).map_err(|stopped| stopped.error)?;
            }
            if let Some(error) = error {
                return Err(error);
            }
            earlier.push(fields);
        }
        schemas.push(all.schema());
    }
    Ok(schemas)
}

/// Adds the lines of a piece one by one, by their values.
fn by_value(text: &Text, piece: Range<usize>, mut fields: Fields, task: &TaskHandle) -> Result<Fields, Stopped> {
    let first = || line_of(&text.bytes, piece.start) - 1;
    for (number, line) in lines(&text.bytes[piece.clone()]) {
        if number % BATCH == 0 {
            task.check()?;
        }
        let failed = match serde_json::from_slice::<Value>(line) {
            Ok(Value::Object(object)) => match fields.add(&object) {
                Ok(()) => continue,
                Err(error) => mixed(text, first() + number, &error),
            },
            Ok(other) => {
                bad_line(&text.path, first() + number, line, &format!("{} instead of an object", kind(&other)))
            }
            Err(error) => {
                let what = format!("no JSON: {error}").replace(" at line 1 column", " at column");
                bad_line(&text.path, first() + number, line, &what)
            }
        };
        return Err(Stopped { before: fields, error: failed });
    }
    Ok(fields)
}

fn mixed(text: &Text, number: usize, error: &types::Mixed) -> Diagnostic {
    let message = format!("line {number} of `{}` does not fit the lines before it: {error}", text.path.display());
    Diagnostic::error(Class::Data, "mixed-types", message).help("give the field the same type in every line")
}

/// The rows of a piece: one batch.
fn decode(
    text: &Text,
    piece: Range<usize>,
    schema: &SchemaRef,
    taken: &Reservation<'_>,
    task: &TaskHandle,
) -> Result<RecordBatch, Diagnostic> {
    let failed = |e: ArrowError| bad_value(text, piece.clone(), schema, &e);
    let mut decoder = decoder(schema, BATCH).map_err(failed)?;
    let mut bytes = &text.bytes[piece.clone()];
    let mut batches = Vec::new();
    while !bytes.is_empty() {
        task.check()?;
        let read = decoder.decode(bytes).map_err(failed)?;
        bytes = &bytes[read..];
        if let Some(batch) = decoder.flush().map_err(failed)? {
            taken.take(&text.path, batch.get_array_memory_size() as u64)?;
            task.add_rows(batch.num_rows() as u64);
            batches.push(batch);
        }
    }
    if batches.len() < 2 {
        return Ok(batches.pop().unwrap_or_else(|| RecordBatch::new_empty(Arc::clone(schema))));
    }
    let parts: usize = batches.iter().map(RecordBatch::get_array_memory_size).sum();
    let whole = concat_batches(schema, &batches)
        .map_err(|e| Diagnostic::error(Class::Internal, "json", format!("batches do not fit together: {e}")))?;
    taken.take(&text.path, whole.get_array_memory_size() as u64)?;
    drop(batches);
    taken.give_back(parts as u64);
    Ok(whole)
}

fn decoder(schema: &SchemaRef, rows: usize) -> Result<arrow::json::reader::Decoder, ArrowError> {
    // Fields that are numbers in some lines and strings in others are strings.
    ReaderBuilder::new(Arc::clone(schema)).with_batch_size(rows).with_coerce_primitive(true).build_decoder()
}

/// An error of the decoder, which knows no lines: the first line that alone has one.
fn bad_value(text: &Text, piece: Range<usize>, schema: &SchemaRef, error: &ArrowError) -> Diagnostic {
    let first = line_of(&text.bytes, piece.start) - 1;
    let alone = |line: &[u8]| -> Result<(), ArrowError> {
        let mut decoder = decoder(schema, 1)?;
        decoder.decode(line)?;
        decoder.flush().map(|_| ())
    };
    let found = lines(&text.bytes[piece]).find_map(|(number, line)| Some((number, line, alone(line).err()?)));
    let path = text.path.display();
    match found {
        Some((number, line, error)) => {
            let message = format!("line {} of `{path}` could not be read: {error}", first + number);
            Diagnostic::error(Class::Data, "bad-json", message).note(format!("the line is `{}`", excerpt(line)))
        }
        None => Diagnostic::error(Class::Data, "bad-json", format!("`{path}` could not be read: {error}")),
    }
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
