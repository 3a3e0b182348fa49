//! JSON: one object for each line, one array of objects, or objects one after another. The columns are those of all
//! objects; what an object lacks is null.
//!
//! Two passes over pieces of whole objects, on all cores: the first finds the types, the second decodes.

mod documents;
mod scan;
mod surrogates;
mod types;
mod value;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::json::ReaderBuilder;
use onrush_frame::{CancelError, Table, TaskHandle};
use onrush_wire::{Class, Diagnostic};

use crate::file::FileState;
use crate::hive::Folders;
use crate::memory::Reservation;
use crate::paths::below;
use crate::pieces::{self, Division};
use crate::text::{TextOptions, excerpt, line_of, load};
use documents::{NotThere, UnexpectedJson};
use types::Fields;
use value::Value;

/// Rows decoded between two looks at the task. The decoder's tape of so many fits into the cache of a core.
const BATCH: usize = 8192;

struct Text {
    path: PathBuf,
    bytes: Vec<u8>,
    /// One object in each line.
    is_lines: bool,
    pieces: Vec<Range<usize>>,
}

/// Reads files one below the other. `at` is the path of the value in each file; `folder` the one that paths are shown
/// for, `folders` have further columns.
pub(crate) fn read(
    files: &[FileState],
    at: Option<&str>,
    folder: &str,
    folders: &Folders,
    division: Division,
    taken: &Reservation<'_>,
    task: &TaskHandle,
) -> Result<Table, Diagnostic> {
    let mut texts = Vec::with_capacity(files.len());
    let mut unread = None;
    for file in files {
        match open(file, at, folder, division, taken, task) {
            Ok(text) => texts.push(text),
            Err(error) => {
                // An error in an earlier file comes first.
                unread = Some(error);
                break;
            }
        }
    }
    let schemas = match schemas(&texts, division, task) {
        // A line that is not an object can be a part of one.
        Err(error) if error.code == "bad-json" && as_objects(&mut texts, division) => {
            self::schemas(&texts, division, task).map_err(|_| error)?
        }
        schemas => schemas?,
    };
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
    let batches = division.run(&jobs(&texts), task, |(text, piece)| decode(text, piece.clone(), &schema, taken, task));
    let places = texts.iter().enumerate().flat_map(|(file, text)| text.pieces.iter().map(move |_| file));
    let batches = places.zip(batches).map(|(file, batch)| batch.map(|batch| (file, batch)));
    folders.table(schema, batches.collect::<Result<_, Diagnostic>>()?, files, taken)
}

type Job<'a> = (&'a Text, Range<usize>);

fn jobs(texts: &[Text]) -> Vec<Job<'_>> {
    texts.iter().flat_map(|t| t.pieces.iter().map(move |p| (t, p.clone()))).collect()
}

/// Loads a file and cuts it into pieces.
fn open(
    file: &FileState,
    at: Option<&str>,
    folder: &str,
    division: Division,
    taken: &Reservation<'_>,
    task: &TaskHandle,
) -> Result<Text, Diagnostic> {
    let shown = below(&file.path, folder);
    let help = |encoding: &str| {
        let encoding = encoding.to_uppercase();
        format!("JSON is written in UTF-8. Re-encode it: iconv -f {encoding} -t UTF-8 \"{shown}\" > utf8.json")
    };
    let wanted = TextOptions { charset: None, keep_mistakes: false, help: &help };
    let mut bytes = load(file, &wanted, taken, task)?.bytes;
    let path = &file.path;
    if let Some(at) = at {
        let value = documents::find(&bytes, at).map_err(|e| not_there(&file.path, &bytes, at, e))?;
        // Blanks take the place of all else, so that lines stay those of the file.
        let blank = |bytes: &mut [u8]| bytes.iter_mut().filter(|b| **b != b'\n').for_each(|b| *b = b' ');
        blank(&mut bytes[..value.start]);
        blank(&mut bytes[value.end..]);
    }
    let first = documents::skip_space(&bytes, 0);
    let target = division.bytes(&bytes);
    let unexpected = |bytes: &[u8], e: UnexpectedJson| bad_json(&Place { path, bytes }, e.at, &e.what);
    let (is_lines, pieces) = match bytes.get(first) {
        None => {
            return Err(Diagnostic::error(Class::Data, "empty-file", format!("`{}` is empty", path.display()))
                .help("check that it was written to its end; a JSON file has objects, one for each row"));
        }
        Some(b'[') => match documents::array(&mut bytes, first, target) {
            Ok(pieces) => (false, pieces),
            Err(error) => return Err(unexpected(&bytes, error)),
        },
        Some(b'{') => {
            let line = memchr::memchr(b'\n', &bytes[first..]).map_or(bytes.len(), |i| first + i);
            // An object that ends in its line is one of JSON lines, unless another follows there.
            let end = documents::value_end(&bytes[..line], first).map(|end| documents::skip_space(&bytes, end));
            if end.as_ref().is_ok_and(|end| *end == bytes.len())
                || end.is_err()
                    && documents::value_end(&bytes, first)
                        .is_ok_and(|e| documents::skip_space(&bytes, e) == bytes.len())
            {
                frame_of_pandas(path, &shown, &bytes, first)?;
            }
            match end {
                Ok(end) if end >= line => (true, pieces::lines(&bytes, target)),
                _ => match documents::objects(&bytes, first, target) {
                    Ok(pieces) => (false, pieces),
                    // The reader of lines has the better message if there are lines.
                    Err(_) if end.is_ok() => (true, pieces::lines(&bytes, target)),
                    Err(error) => return Err(unexpected(&bytes, error)),
                },
            }
        }
        Some(_) => (true, pieces::lines(&bytes, target)),
    };
    Ok(Text { path: path.clone(), bytes, is_lines, pieces })
}

/// Takes files that are not lines for objects one after another. False if none can be.
fn as_objects(texts: &mut [Text], division: Division) -> bool {
    let mut any = false;
    for text in texts.iter_mut().filter(|t| t.is_lines) {
        let first = documents::skip_space(&text.bytes, 0);
        if let Ok(pieces) = documents::objects(&text.bytes, first, division.bytes(&text.bytes)) {
            (text.is_lines, text.pieces, any) = (false, pieces, true);
        }
    }
    any
}

fn frame_of_pandas(path: &std::path::Path, shown: &str, bytes: &[u8], at: usize) -> Result<(), Diagnostic> {
    let Some(orient) = documents::pandas(bytes, at) else { return Ok(()) };
    let what = match orient {
        "split" => "its columns, index and rows are apart",
        _ => "an object for each column, and not for each row",
    };
    let message = format!("`{}` is a frame as pandas writes it by `to_json`: {what}", path.display());
    Err(Diagnostic::error(Class::Data, "columns-json", message).help(format!(
        "write it with a row in each object: pd.read_json(\"{shown}\", orient=\"{orient}\").to_json(\"rows.json\", \
         orient=\"records\")"
    )))
}

fn not_there(path: &std::path::Path, bytes: &[u8], at: &str, error: NotThere) -> Diagnostic {
    let file = path.display();
    match error {
        NotThere::UnexpectedJson(e) => bad_json(&Place { path, bytes }, e.at, &e.what),
        NotThere::NoObject(_, kind) => Diagnostic::error(
            Class::Data,
            "no-such-field",
            format!("`{file}` has no `{at}`: there is {kind} on the way"),
        )
        .help("name the fields from the outer to the inner one: json().at(\"data.records\")"),
        NotThere::Names(_, names) => {
            let error = Diagnostic::error(Class::Data, "no-such-field", format!("`{file}` has no `{at}`"));
            let shown = names.iter().take(12).map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
            match names.len() {
                0 => error.help("the object on the way has no fields"),
                n => error.help(format!("its fields are {shown}{}", if n > 12 { ", ..." } else { "" })),
            }
        }
    }
}

/// The objects of a piece.
fn records(text: &Text, piece: Range<usize>) -> Box<dyn Iterator<Item = Range<usize>> + '_> {
    let bytes = &text.bytes[..piece.end];
    let mut at = piece.start;
    let is_lines = text.is_lines;
    Box::new(std::iter::from_fn(move || {
        at = documents::skip_space(bytes, at);
        if at >= bytes.len() {
            return None;
        }
        let end = match is_lines {
            true => memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |i| at + i),
            false => documents::value_end(bytes, at).unwrap_or(bytes.len()),
        };
        let record = at..at + bytes[at..end].trim_ascii_end().len();
        at = end;
        Some(record)
    }))
}

/// A piece with an error: the types of the objects before it.
struct FailedPiece {
    before: Box<Fields>,
    error: Box<Diagnostic>,
}

impl From<CancelError> for FailedPiece {
    fn from(cancelled: CancelError) -> Self {
        FailedPiece { before: Box::default(), error: Box::new(cancelled.into()) }
    }
}

/// The schema of all objects of each file.
fn schemas(texts: &[Text], division: Division, task: &TaskHandle) -> Result<Vec<Schema>, Diagnostic> {
    let found = division.run(&jobs(texts), task, |(text, piece)| {
        let bytes = &text.bytes[piece.clone()];
        match if text.is_lines { scan::scan::<true>(bytes) } else { scan::scan::<false>(bytes) } {
            Some(fields) => Ok(fields),
            None => by_value(text, piece.clone(), Fields::default(), task),
        }
    });
    let mut found = found.into_iter();
    let mut schemas = Vec::with_capacity(texts.len());
    for text in texts {
        let mut earlier: Vec<Fields> = Vec::with_capacity(text.pieces.len());
        let mut all = Fields::default();
        for (piece, found) in text.pieces.iter().zip(found.by_ref()) {
            let (fields, error) = match found {
                Ok(fields) => (fields, None),
                Err(stopped) => (*stopped.before, Some(*stopped.error)),
            };
            if all.merge(&fields).is_err() {
                // The object is found by adding objects to those of the pieces before.
                let mut before = Fields::default();
                for fields in &earlier {
                    before.merge(fields).map_err(|e| mixed(text, 1, &e))?;
                }
                by_value(text, piece.clone(), before, task).map_err(|stopped| *stopped.error)?;
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

/// Adds the objects of a piece one by one, by their values.
fn by_value(text: &Text, piece: Range<usize>, mut fields: Fields, task: &TaskHandle) -> Result<Fields, FailedPiece> {
    for (number, record) in records(text, piece).enumerate() {
        if number % BATCH == 0 {
            task.check()?;
        }
        let bytes = &text.bytes[record.clone()];
        let place = Place { path: &text.path, bytes: &text.bytes };
        let failed = match Value::parse(bytes) {
            Ok(Value::Object(members)) => match fields.add(&members) {
                Ok(()) => continue,
                Err(error) => mixed(text, line_of(&text.bytes, record.start), &error),
            },
            Ok(other) => bad_json(&place, record.start, &format!("{} instead of an object", other.kind())),
            Err(error) => no_json(&place, record, &error),
        };
        return Err(FailedPiece { before: Box::new(fields), error: Box::new(failed) });
    }
    Ok(fields)
}

/// A text for messages.
struct Place<'a> {
    path: &'a std::path::Path,
    bytes: &'a [u8],
}

/// The error of `serde_json` about a value, by the lines and columns of the file.
fn no_json(place: &Place<'_>, record: Range<usize>, error: &serde_json::Error) -> Diagnostic {
    let what = error.to_string();
    let what = what.split(" at line ").next().unwrap_or_default();
    let bytes = place.bytes;
    let before = match error.line() {
        ..=1 => record.start,
        line => {
            let ends = memchr::memchr_iter(b'\n', &bytes[record.clone()]);
            record.start + ends.take(line - 1).last().map_or(0, |i| i + 1)
        }
    };
    // Columns of serde are bytes from 1; at an end they are those of the last byte.
    let at = (before + error.column().saturating_sub(1)).min(bytes.len());
    let start = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |i| i + 1);
    let column = String::from_utf8_lossy(&bytes[start..at]).chars().count() + 1;
    let word = bytes[record.start..].get(at - record.start..).unwrap_or_default();
    let diagnostic = bad_json(place, at, &format!("no JSON: {what} at column {column}"));
    let has = |word: &str| memchr::memmem::find(&bytes[record.clone()], word.as_bytes()).is_some();
    if [&b"N"[..], b"I", b"-I"].iter().any(|start| word.starts_with(start)) && (has("NaN") || has("Infinity")) {
        return diagnostic.help(
            "NaN and Infinity are not JSON: write null in their place; in Python by `df.to_json(path, orient=\"records\")`",
        );
    }
    diagnostic
}

/// The text at a place instead of JSON.
fn bad_json(place: &Place<'_>, at: usize, what: &str) -> Diagnostic {
    let bytes = place.bytes;
    let start = memchr::memrchr(b'\n', &bytes[..at.min(bytes.len())]).map_or(0, |i| i + 1);
    let end = memchr::memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |i| start + i);
    // A long line is cut around the place.
    let start = bytes[start..at.min(bytes.len())].len().saturating_sub(60) + start;
    let message = format!("line {} of `{}` holds {what}", line_of(bytes, at), place.path.display());
    Diagnostic::error(Class::Data, "bad-json", message)
        .note(format!("the line is `{}`", excerpt(bytes[start..end].trim_ascii())))
        .help("a file has one JSON object for each row, in lines or in one array: {\"name\": \"JFK\", \"flights\": 3}")
}

fn mixed(text: &Text, number: usize, error: &types::MixedTypes) -> Diagnostic {
    let message = format!("line {number} of `{}` does not fit the lines before it: {error}", text.path.display());
    Diagnostic::error(Class::Data, "mixed-types", message).help("give the field the same type in every line")
}

/// Bytes that decoding takes for each byte of a piece, besides the rows.
const SCRATCH: u64 = 4;

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
    // The decoder copies strings, and has 8 bytes for each token.
    let scratch = SCRATCH * piece.len() as u64;
    taken.take(&text.path, scratch)?;
    let plain = surrogates::decoded(&text.bytes[piece.clone()]);
    let mut bytes = plain.as_ref();
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
    drop(decoder);
    taken.give_back(scratch);
    if batches.len() < 2 {
        return Ok(batches.pop().unwrap_or_else(|| RecordBatch::new_empty(Arc::clone(schema))));
    }
    let parts: usize = batches.iter().map(RecordBatch::get_array_memory_size).sum();
    taken.take(&text.path, parts as u64)?;
    let whole = concat_batches(schema, &batches)
        .map_err(|e| Diagnostic::error(Class::Internal, "json", format!("batches do not fit together: {e}")))?;
    drop(batches);
    // The memory of the parts and of the whole.
    let bytes = whole.get_array_memory_size() as u64;
    taken.take(&text.path, bytes)?;
    taken.give_back(2 * parts as u64);
    Ok(whole)
}

fn decoder(schema: &SchemaRef, rows: usize) -> Result<arrow::json::reader::Decoder, ArrowError> {
    // Fields that are numbers in some lines and strings in others are strings.
    ReaderBuilder::new(Arc::clone(schema)).with_batch_size(rows).with_coerce_primitive(true).build_decoder()
}

/// An error of the decoder, which knows no lines: the first object that alone has one.
fn bad_value(text: &Text, piece: Range<usize>, schema: &SchemaRef, error: &ArrowError) -> Diagnostic {
    let alone = |record: &[u8]| -> Result<(), ArrowError> {
        let mut decoder = decoder(schema, 1)?;
        decoder.decode(record)?;
        decoder.flush().map(|_| ())
    };
    let found = records(text, piece).find_map(|record| Some((record.clone(), alone(&text.bytes[record]).err()?)));
    let path = text.path.display();
    match found {
        Some((record, error)) => {
            let line = line_of(&text.bytes, record.start);
            let message = format!("line {line} of `{path}` could not be read: {error}");
            let note = format!("the object is `{}`", excerpt(&text.bytes[record]));
            Diagnostic::error(Class::Data, "bad-json", message).note(note)
        }
        None => Diagnostic::error(Class::Data, "bad-json", format!("`{path}` could not be read: {error}")),
    }
}

/// The schema with top-level strings as string views, as in every other reader. Columns that are null everywhere are
/// strings.
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

#[cfg(test)]
mod tests {
    use arrow::json::reader::infer_json_schema_from_iterator;

    use super::*;
    use crate::memory::NoLimit;

    const THREADS: [usize; 4] = [1, 2, 3, 16];

    fn division(threads: usize, piece: usize) -> Division {
        Division { threads, piece, chunk: 1 }
    }

    fn file(dir: &tempfile::TempDir, text: &str) -> FileState {
        let path = dir.path().join("a.jsonl");
        std::fs::write(&path, text).unwrap();
        let metadata = std::fs::metadata(&path).unwrap();
        FileState::of(path, &metadata)
    }

    /// The table or the error, which are the same on any number of threads.
    fn table(text: &str, piece: usize) -> Result<Table, Diagnostic> {
        let dir = tempfile::tempdir().unwrap();
        let file = file(&dir, text);
        let mut tables = THREADS.map(|threads| {
            let files = std::slice::from_ref(&file);
            read(
                files,
                None,
                "/",
                &Folders::none(),
                division(threads, piece),
                &Reservation::new(&NoLimit),
                &TaskHandle::new(),
            )
        });
        for other in &tables[1..] {
            match (&tables[0], other) {
                (Ok(a), Ok(b)) => assert!(a.schema() == b.schema() && a.batches() == b.batches(), "{text}"),
                (a, b) => assert_eq!(a.as_ref().err(), b.as_ref().err(), "{text}"),
            }
        }
        std::mem::replace(&mut tables[0], Ok(Table::empty(Arc::new(Schema::empty()))))
    }

    /// The message of the error without the folder of the file.
    fn message(text: &str, piece: usize) -> String {
        let error = table(text, piece).unwrap_err();
        let (before, path) = error.message.split_once("`/").unwrap();
        format!("{before}{}", path.split_once("a.jsonl`").unwrap().1)
    }

    /// arrow-json's answer: the types from values, one reader over the whole text. `None` if it has an error. Its
    /// fields are in alphabetical order; they get the order of `table`.
    fn arrow(text: &str, table: Option<&Table>) -> Option<RecordBatch> {
        let lines = text.split('\n').map(str::trim).filter(|line| !line.is_empty());
        let values: Vec<serde_json::Value> = lines.map(serde_json::from_str).collect::<Result<_, _>>().ok()?;
        let inferred = infer_json_schema_from_iterator(values.iter().map(Ok::<_, ArrowError>)).ok()?;
        let mut schema = Arc::new(views(&inferred));
        if let Some(table) = table {
            assert_eq!(sorted(schema.fields()), sorted(table.schema().fields()), "{text}");
            schema = Arc::clone(table.schema());
        }
        let reader = ReaderBuilder::new(Arc::clone(&schema)).with_coerce_primitive(true).build(text.as_bytes());
        let batches = reader.ok()?.collect::<Result<Vec<_>, _>>().ok()?;
        concat_batches(&schema, &batches).ok()
    }

    /// Fields by name, those of structs too.
    fn sorted(fields: &arrow::datatypes::Fields) -> Vec<Field> {
        fn dtype(of: &DataType) -> DataType {
            match of {
                DataType::Struct(fields) => DataType::Struct(sorted(fields).into()),
                DataType::List(inner) => {
                    DataType::List(Arc::new(Field::new_list_field(dtype(inner.data_type()), true)))
                }
                other => other.clone(),
            }
        }
        let mut fields: Vec<Field> = fields.iter().map(|f| Field::new(f.name(), dtype(f.data_type()), true)).collect();
        fields.sort_by(|a, b| a.name().cmp(b.name()));
        fields
    }

    fn assert_as_arrow(text: &str) {
        let expected = arrow(text, None);
        for piece in [1, 33, 1 << 20] {
            match (table(text, piece), &expected) {
                (Ok(table), Some(_)) => {
                    let expected = arrow(text, Some(&table)).unwrap();
                    assert_eq!(table.to_batch().unwrap(), expected, "{text}");
                }
                (Err(_), None) => {}
                (Ok(_), None) => panic!("arrow-json refuses {text}"),
                (Err(error), Some(_)) => panic!("{error}: {text}"),
            }
        }
    }

    #[test]
    fn pieces_have_the_types_and_rows_of_the_whole() {
        for text in [
            "{\"a\": 1}\n{\"b\": \"x\"}\n",
            // CRLF, blank lines, blanks around a line, no line end at the end.
            "{\"a\": 1}\r\n\r\n \t\n  {\"a\" : 2 , \"b\":null}  \r\n\n{}\n{\"a\":3}",
            // MixedTypes scalars; integers that a float cannot hold; integers that an i64 cannot hold.
            "{\"a\": 1}\n{\"a\": 2.5}\n{\"a\": null}\n",
            "{\"a\": 1}\n{\"a\": \"x\"}\n{\"a\": true}\n{\"a\": 1.50}\n",
            "{\"a\": 9007199254740993}\n{\"a\": -9223372036854775808}\n{\"a\": 9223372036854775807}\n",
            "{\"a\": -0}\n{\"a\": 0}\n{\"b\": 0}\n{\"b\": 1e3}\n{\"b\": 1E-30}\n{\"b\": 1.5e+300}\n",
            "{\"a\": true}\n{\"a\": false}\n{\"b\": true}\n{\"b\": 1}\n",
            // Fields in any order; new ones late; the same one twice: the last counts.
            "{\"b\": 1, \"a\": 2}\n{\"a\": 1, \"d\": 2, \"c\": 3}\n{\"c\": 1, \"b\": 2.0}\n",
            "{\"a\": 1}\n{\"a\": \"x\", \"a\": 2}\n",
            // Names and strings with escapes, quotes, surrogates.
            "{\"a\\\"b\": \"x\\ny\"}\n{\"a\\\"b\": \"\\ud83d\\ude00\", \"\\u0061\": \"é\\u00e9\\\\\"}\n{\"a\": \"\\/\"}\n",
            "{\"\": 1}\n{\"naïve\": \"ünïcödé 12345678\", \"\": 2}\n",
            // Nested.
            "{\"o\": {\"k\": 1}}\n{\"o\": null}\n{\"o\": {\"k\": 2.5, \"j\": {\"x\": []}}}\n{}\n",
            "{\"l\": []}\n{\"l\": [1, 2]}\n{\"l\": null}\n{\"l\": [null]}\n{\"l\": [1.5]}\n",
            "{\"l\": [[1], []]}\n{\"l\": []}\n{\"l\": [[], [\"x\", null]]}\n{\"m\": [null]}\n{\"n\": []}\n",
            "{\"l\": [{\"b\": 1}, {\"a\": \"x\"}]}\n{\"l\": [{\"c\": [{\"d\": 1}]}]}\n",
            // No fit.
            "{\"l\": 1}\n{\"l\": [1]}\n",
            "{\"l\": [1]}\n{\"l\": {\"a\": 1}}\n",
            "{\"l\": [null, {\"a\": 1}]}\n",
            "{\"l\": [[1], 2]}\n",
            "{\"l\": [null]}\n{\"l\": [{\"a\": 1}]}\n",
            "{\"a\": \"\\ud83d\"}\n",
            "{\"a\": \"\\udc00\\ud83d\"}\n",
            "{\"a\": 1e400}\n",
            "{\"a\": 01}\n",
            "{\"a\": .5}\n",
            "{\"a\": 1.}\n",
            "{\"a\": \"\u{1}\"}\n",
            "{\"a\": 1,}\n",
            "{\"a\": nul}\n",
        ] {
            assert_as_arrow(text);
        }
        let wide: String =
            (0..50).map(|i| format!("{{\"f{}\": 1, \"f{}\": {{\"x{i}\": 2}}}}\n", i * 7, i + 1000)).collect();
        assert_as_arrow(&wide);
        assert_as_arrow(&format!("{{\"a\": {}1{}}}\n", "[".repeat(110), "]".repeat(110)));
        assert_as_arrow(&format!("{{\"a\": {}1{}}}\n", "[".repeat(200), "]".repeat(200)));
    }

    /// Random lines from a small grammar; arrow-json's answer is expected.
    #[test]
    fn random_lines_are_read_as_by_arrow() {
        // Knuth's linear congruential generator: the same files every time.
        struct Random(u64);
        impl Random {
            fn below(&mut self, below: usize) -> usize {
                self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (self.0 >> 33) as usize % below
            }

            fn value(&mut self, kinds: usize, depth: usize) -> String {
                match self.below(if depth == 0 { kinds.min(6) } else { kinds }) {
                    0 => "null".to_string(),
                    1 => self.below(1000).to_string(),
                    2 => format!("-{}.{}", self.below(10), self.below(100)),
                    3 => format!("\"{}\"", ["", "x", "é \\n", "a long string of many bytes"][self.below(4)]),
                    4 => ["true", "false"][self.below(2)].to_string(),
                    5 => "1234567890123456789".to_string(),
                    6 => {
                        let elements: Vec<String> = (0..self.below(3)).map(|_| self.value(kinds, depth - 1)).collect();
                        format!("[{}]", elements.join([",", " , "][self.below(2)]))
                    }
                    _ => self.object(kinds, depth - 1),
                }
            }

            fn object(&mut self, kinds: usize, depth: usize) -> String {
                let members: Vec<String> = (0..self.below(4))
                    .map(|_| format!("\"{}\": {}", ["a", "b", "c", "d", "e"][self.below(5)], self.value(kinds, depth)))
                    .collect();
                format!("{{{}}}", members.join(", "))
            }
        }
        let mut random = Random(7);
        let mut good = 0;
        for round in 0..240 {
            // Scalars, then lists, then objects too.
            let kinds = 3 + round % 6;
            let text: String = (0..1 + random.below(5)).map(|_| random.object(kinds, 2) + "\n").collect();
            good += usize::from(arrow(&text, None).is_some());
            assert_as_arrow(&text);
        }
        assert!((80..240).contains(&good), "{good}");
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        let table = table("\u{feff}{\"a\": 1}\n{\"a\": 2}\n", 5).unwrap();
        assert_eq!((table.rows(), table.schema().field(0).name().as_str()), (2, "a"));
    }

    #[test]
    fn the_earliest_error_wins() {
        let good = "{\"a\": 1, \"b\": [1]}\n";
        let text = |early: &str, late: &str| [&good.repeat(20), early, &good.repeat(50), late, good].concat();
        for piece in [1, 33, 100, 1 << 20] {
            let early = message(&text("{\"a\": \n", "3\n"), piece);
            assert_eq!(early, "line 21 of  holds no JSON: EOF while parsing a value at column 5");
            assert_eq!(message(&text("3\n", "{\"a\": \n"), piece), "line 21 of  holds a number instead of an object");
            let mixed = "line 21 of  does not fit the lines before it: `a` is an object here, and a scalar before";
            assert_eq!(message(&text("{\"a\": {\"b\": 1}}\n", "3\n"), piece), mixed);
            // The two lines fit all others, but not each other.
            let mixed =
                "line 72 of  does not fit the lines before it: `n.x` is a list of scalars here, and an object before";
            let (object, list) = ("{\"n\": {\"x\": {\"y\": 1}}}\n", "{\"n\": {\"x\": [1]}}\n");
            assert_eq!(message(&text(object, list), piece), mixed);
            let mixed = "line 21 of  does not fit the lines before it: `n` is a list with scalars or nulls and objects";
            assert_eq!(message(&text("{\"n\": [null, {}]}\n", "3\n"), piece), mixed);
            // A scalar in a list column is an error of the decoder.
            let early = message(&text("{\"a\": 1, \"b\": 2}\n", "{\"a\": 1, \"b\": 3}\n"), piece);
            assert!(early.starts_with("line 21 of  could not be read"), "{early}");
        }
    }

    #[test]
    fn an_error_in_an_earlier_file_wins() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &[u8]| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            let metadata = std::fs::metadata(&path).unwrap();
            FileState::of(path, &metadata)
        };
        let files = [put("a", b"{}\n3\n"), put("b", b"\xff\xff\n"), put("c", b"[1]\n")];
        let code = |files: &[FileState]| {
            let taken = Reservation::new(&NoLimit);
            read(files, None, "/", &Folders::none(), division(3, 1), &taken, &TaskHandle::new()).unwrap_err().message
        };
        assert!(code(&files).contains("line 2 of") && code(&files[1..]).contains("is not UTF-8"));
        assert!(code(&files[2..]).contains("a number instead of an object"));
    }

    #[test]
    fn a_piece_is_a_batch_and_a_cancelled_read_ends() {
        let dir = tempfile::tempdir().unwrap();
        let file = file(&dir, &"{\"a\": 1, \"b\": \"some string of a line\"}\n".repeat(60_000));
        let taken = Reservation::new(&NoLimit);
        let task = TaskHandle::new();
        let files = std::slice::from_ref(&file);
        let whole = read(files, None, "/", &Folders::none(), division(2, 1 << 30), &taken, &task).unwrap();
        assert_eq!((whole.rows(), whole.batches().len(), task.progress().rows), (60_000, 1, 60_000));
        task.cancel();
        let error = read(files, None, "/", &Folders::none(), division(2, 1000), &taken, &task).unwrap_err();
        assert_eq!(error.class, Class::Interrupted);
    }
}
