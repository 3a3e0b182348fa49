//! Files of typed formats that come as Arrow batches and are read whole: Arrow IPC, Avro, ORC. Each format is a
//! [`Binary`]; the rest is the same for all.

use std::fs::File;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, RecordBatch, RecordBatchOptions};
use arrow::compute::concat_batches;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use onrush_frame::{Table, TaskHandle};
use onrush_wire::plan::FileKind;
use onrush_wire::{Class, Diagnostic};
use parking_lot::Mutex;

use crate::columns::{self, held_schema};
use crate::file::{FileState, io_diagnostic};
use crate::hive::Folders;
use crate::magic::{self, HEAD};
use crate::memory::Reservation;
use crate::pieces::Division;

/// The parts into which the columns of a file are divided, at most: each part follows all messages of the file.
pub(crate) const PARTS: usize = 16;
/// A batch with `1 / LARGE` of the rows of a chunk stays as it is: a copy takes as much time as decoding it.
const LARGE: usize = 4;

/// A format.
pub(crate) struct Binary {
    /// With its article: `an ORC file`.
    pub name: &'static str,
    pub kinds: &'static [FileKind],
    /// Opens a file, whose first bytes are those of the format. Its columns come from left to right, some of them in
    /// each [`ColumnBatches`]. They are decoded apart and have the same batches of rows. A panic of it is caught.
    pub open: fn(&FileState, &Reservation<'_>) -> Result<Vec<ColumnBatches>, Diagnostic>,
}

/// Some columns of a file that was opened, or all of them.
pub(crate) struct ColumnBatches {
    pub schema: SchemaRef,
    pub batches: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>,
}

/// Reads files of the same columns one below the other. `folders` have further columns.
pub(crate) fn read(
    format: &Binary,
    files: &[FileState],
    folders: &Folders,
    division: Division,
    taken: &Reservation<'_>,
    task: &TaskHandle,
) -> Result<Table, Diagnostic> {
    let tables = division.run(files, task, |file| {
        check_kind(&file.path, format.name, format.kinds)?;
        guarded(&file.path, format.name, || one(format, file, division, taken, task))
    });
    let tables = tables.into_iter().collect::<Result<Vec<_>, Diagnostic>>()?;
    let schemas: Vec<_> =
        files.iter().zip(&tables).map(|(file, table)| (file.path.as_path(), table.schema().as_ref())).collect();
    let schema = columns::of_all(&schemas, false)?;
    let mut batches = Vec::new();
    for (place, (file, table)) in files.iter().zip(&tables).enumerate() {
        for batch in table.batches() {
            let batch = columns::with_schema(batch, &schema);
            batches.push((place, batch.map_err(|e| damaged(&file.path, format.name, &e.to_string()))?));
        }
    }
    folders.table(schema, batches, files, taken)
}

/// Reads a file into batches of at most `division.chunk` rows. All cores share its columns.
fn one(
    format: &Binary,
    file: &FileState,
    division: Division,
    taken: &Reservation<'_>,
    task: &TaskHandle,
) -> Result<Table, Diagnostic> {
    let failed = |e: ArrowError| damaged(&file.path, format.name, &e.to_string());
    let parts = (format.open)(file, taken)?;
    let parts: Vec<(usize, Mutex<Option<ColumnBatches>>)> =
        parts.into_iter().map(|part| Mutex::new(Some(part))).enumerate().collect();
    let tables = division.run(&parts, task, |(i, part)| -> Result<Table, Diagnostic> {
        let part = part.lock().take();
        let Some(ColumnBatches { schema, batches }) = part else {
            return Err(Diagnostic::error(Class::Internal, "internal", "columns of a file are decoded twice"));
        };
        let counted = batches.inspect(|batch| match batch {
            Ok(batch) if *i == 0 => task.add_rows(batch.num_rows() as u64),
            _ => {}
        });
        assembled(&schema, counted, &file.path, &failed, division.chunk, taken, task)
    });
    let tables = tables.into_iter().collect::<Result<Vec<Table>, Diagnostic>>()?;
    task.add_bytes(file.bytes);
    beside(tables).map_err(failed)
}

/// Tables of the same batches of rows as one, with the columns of all.
fn beside(tables: Vec<Table>) -> Result<Table, ArrowError> {
    let tables = match <[Table; 1]>::try_from(tables) {
        Ok([one]) => return Ok(one),
        Err(tables) => tables,
    };
    let fields = tables.iter().flat_map(|table| table.schema().fields().iter().map(Arc::clone));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let count = tables.first().map_or(0, |table| table.batches().len());
    if tables.iter().any(|table| table.batches().len() != count) {
        return Err(ArrowError::SchemaError("its columns have different numbers of rows".to_string()));
    }
    let batch = |i: usize| {
        let columns = tables.iter().flat_map(|table| table.batches()[i].columns().iter().map(Arc::clone));
        RecordBatch::try_new(Arc::clone(&schema), columns.collect())
    };
    let batches = (0..count).map(batch).collect::<Result<Vec<_>, ArrowError>>()?;
    Ok(Table::new(schema, batches))
}

/// Puts small batches together, and large ones into batches of at most `chunk` rows, in the layout in which columns are
/// held.
pub(crate) fn assembled(
    schema: &Schema,
    read: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
    path: &Path,
    failed: &dyn Fn(ArrowError) -> Diagnostic,
    chunk: usize,
    taken: &Reservation<'_>,
    task: &TaskHandle,
) -> Result<Table, Diagnostic> {
    let schema = Arc::new(held_schema(schema));
    let mut batches = Vec::new();
    // Rows that do not fill a batch yet.
    let mut parts: Vec<RecordBatch> = Vec::new();
    let mut rows = 0;
    for batch in read {
        task.check()?;
        let batch = laid_out(&batch.map_err(failed)?, &schema).map_err(failed)?;
        let count = batch.num_rows();
        if count == 0 {
            continue;
        }
        taken.take(path, bytes(&batch))?;
        let is_large = count >= chunk.div_ceil(LARGE);
        if !parts.is_empty() && (is_large || rows + count > chunk) {
            batches.push(whole(&mut parts, &schema, path, taken)?);
            rows = 0;
        }
        if is_large {
            batches.extend((0..count).step_by(chunk).map(|start| batch.slice(start, chunk.min(count - start))));
        } else {
            rows += count;
            parts.push(batch);
        }
    }
    if !parts.is_empty() {
        batches.push(whole(&mut parts, &schema, path, taken)?);
    }
    Ok(Table::new(schema, batches))
}

/// The parts of a batch as one batch.
fn whole(
    parts: &mut Vec<RecordBatch>,
    schema: &SchemaRef,
    path: &Path,
    taken: &Reservation<'_>,
) -> Result<RecordBatch, Diagnostic> {
    let parts = std::mem::take(parts);
    if let [one] = parts.as_slice() {
        return Ok(one.clone());
    }
    let before: u64 = parts.iter().map(bytes).sum();
    taken.take(path, before)?;
    let batch = concat_batches(schema, &parts)
        .map_err(|e| Diagnostic::error(Class::Internal, "internal", format!("batches do not fit together: {e}")))?;
    drop(parts);
    taken.give_back(before);
    Ok(batch)
}

/// Bytes of the rows alone.
fn bytes(batch: &RecordBatch) -> u64 {
    batch.columns().iter().map(|column| column.to_data().get_slice_memory_size().unwrap_or(0) as u64).sum()
}

/// The columns of a batch by position, in the layout of `schema`.
fn laid_out(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    if batch.num_columns() != schema.fields().len() {
        return Err(ArrowError::SchemaError("a batch has other columns than the file".to_string()));
    }
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| columns::converted(column, field.data_type()));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &rows)
}

/// Fails unless a file starts as one of `kinds` does. The error says what the file is.
pub(crate) fn check_kind(path: &Path, name: &str, kinds: &[FileKind]) -> Result<FileKind, Diagnostic> {
    let failed = |e: std::io::Error| io_diagnostic("read", path, &e);
    let mut head = Vec::with_capacity(HEAD);
    File::open(path).map_err(failed)?.take(HEAD as u64).read_to_end(&mut head).map_err(failed)?;
    if head.is_empty() {
        return Err(Diagnostic::error(Class::Data, "empty-file", format!("`{}` is empty", path.display()))
            .help("check that it was written to its end"));
    }
    match magic::kind_of(&head) {
        Some(kind) if kinds.contains(&kind) => Ok(kind),
        Some(kind) => Err(Diagnostic::error(
            Class::Data,
            "wrong-format",
            format!("`{}` is not {name}: it is {}", path.display(), kind.name()),
        )
        .help(kind.help())),
        None => {
            let error = Diagnostic::error(
                Class::Data,
                "wrong-format",
                format!("`{}` is not {name}: its first bytes are others", path.display()),
            );
            Err(match text_reader(path, &head) {
                Some(reader) => error.help(format!("if it is text: read it with `{reader}`")),
                None => error.help("check how it was made and whether it was copied whole"),
            })
        }
    }
}

/// The reader of a text file, by its name and first character.
fn text_reader(path: &Path, head: &[u8]) -> Option<&'static str> {
    let name = path.to_string_lossy().to_lowercase();
    if name.contains(".json") || name.contains(".ndjson") || head.trim_ascii_start().starts_with(b"{") {
        return Some("read_json");
    }
    let is_text = !head.iter().any(|byte| *byte < b' ' && !b"\t\r\n".contains(byte));
    (name.contains(".csv") || name.ends_with(".tsv") || name.ends_with(".txt") || is_text).then_some("read_csv")
}

/// Runs a decoder. Decoders trust the inner structure of a file and panic where that is damaged.
pub(crate) fn guarded<T>(
    path: &Path,
    name: &str,
    work: impl FnOnce() -> Result<T, Diagnostic>,
) -> Result<T, Diagnostic> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(damaged(path, name, "its inner structure makes no sense")))
}

/// The error of a file that starts as the format does and cannot be read to its end.
pub(crate) fn damaged(path: &Path, name: &str, why: &str) -> Diagnostic {
    Diagnostic::error(Class::Data, "damaged-file", format!("`{}` is {name} and cannot be read: {why}", path.display()))
        .help("if it was cut off or damaged on the way, write or fetch it again")
}
