//! A frame in folders `key=value`, one level for each column. The whole folder appears when it is complete.
//!
//! Rows of a folder keep their order. They are collected in memory first, and written when they are many, as pyarrow's
//! `write_dataset` does. A folder has one file, and more of them if more than [`OPEN`] folders grow at once.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray, UInt32Array};
use arrow::compute::{cast, concat_batches, take_record_batch};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use onrush_files::TemporaryFolder;
use onrush_frame::TaskHandle;
use onrush_frame::dtype_to_wire;
use onrush_wire::plan::{Sink, SinkFormat};
use onrush_wire::{Class, Diagnostic};

use super::target::Target;
use super::{FileWriter, WrittenFile};
use crate::columns::unknown;
use crate::file::io_diagnostic;
use crate::pieces::Division;
use crate::{hive, paths};

/// Folders that a frame is divided into, at most.
const FOLDERS: usize = 10_000;
/// Files that are open at once, at most.
const OPEN: usize = 256;
/// Bytes of rows that are collected before some are written.
const COLLECTED: usize = 128 << 20;

/// Folders under way. Dropped before [`FolderWriter::finish`], they leave nothing behind.
pub struct FolderWriter {
    /// Absolute, as the user named it.
    target: PathBuf,
    /// In the folder of the target. Removed when this is dropped.
    temporary: TemporaryFolder,
    by: Vec<usize>,
    names: Vec<String>,
    format: SinkFormat,
    extension: &'static str,
    /// The schema of the files.
    schema: SchemaRef,
    rest: Vec<usize>,
    /// The position of a part by its key, as [`encode_key`] writes it.
    places: HashMap<Vec<u8>, usize>,
    parts: Vec<Part>,
    collected: usize,
    rows: u64,
    bytes: u64,
}

/// The rows of one folder.
struct Part {
    folder: PathBuf,
    collected: Vec<RecordBatch>,
    bytes: usize,
    writer: Option<FileWriter>,
    files: usize,
}

impl FolderWriter {
    /// Starts a folder.
    ///
    /// # Errors
    /// A missing column, one that cannot be part of a name, or no column that is left. A target that is a file or a
    /// folder with files.
    pub fn create(
        sink: &Sink,
        by: &[String],
        format: &SinkFormat,
        schema: &Schema,
    ) -> Result<FolderWriter, Diagnostic> {
        let target = paths::absolute(sink.path.trim_end_matches('/'), &sink.folder);
        let bad = |what: String| Diagnostic::error(Class::Plan, "bad-option", what);
        if onrush_places::is_place(&sink.path) {
            return Err(bad(format!("`{}` is in another place, and folders are written to this machine", sink.path))
                .help("write the folder here, and copy it"));
        }
        if by.is_empty() {
            return Err(bad("there is no column to divide the rows by".to_string())
                .help("name one, such as .partition_by([\"year\"])"));
        }
        let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
        let position = |name: &String| schema.index_of(name).map_err(|_| unknown(name, &names, &target));
        let by: Vec<usize> = by.iter().map(position).collect::<Result<_, _>>()?;
        for column in &by {
            let field = schema.field(*column);
            if field.data_type().is_floating() || field.data_type().is_nested() || !names_a_folder(field.data_type()) {
                let dtype = dtype_to_wire(field.data_type());
                return Err(bad(format!("column `{}` of type {dtype} cannot be the name of a folder", field.name()))
                    .help("divide by integers, strings, booleans, dates or times"));
            }
        }
        let rest: Vec<usize> = (0..names.len()).filter(|i| !by.contains(i)).collect();
        if rest.is_empty() {
            return Err(bad("all columns are names of folders, and none is left for the files".to_string())
                .help("leave out a column of `partition_by`"));
        }
        check_target(&target)?;
        let temporary = TemporaryFolder::create(&target)?;
        let internal = |e: arrow::error::ArrowError| Diagnostic::error(Class::Internal, "internal", e.to_string());
        Ok(FolderWriter {
            names: by.iter().map(|i| names[*i].to_string()).collect(),
            schema: Arc::new(schema.project(&rest).map_err(internal)?),
            target,
            temporary,
            by,
            format: format.clone(),
            extension: format.extension(),
            rest,
            places: HashMap::new(),
            parts: Vec::new(),
            collected: 0,
            rows: 0,
            bytes: 0,
        })
    }

    /// Writes some rows.
    pub fn write(&mut self, batch: &RecordBatch, task: &TaskHandle) -> Result<(), Diagnostic> {
        task.check()?;
        let failed = |e: arrow::error::ArrowError| {
            Diagnostic::error(Class::Internal, "internal", format!("rows cannot be divided: {e}"))
        };
        let keys: Vec<ArrayRef> = self
            .by
            .iter()
            .map(|i| cast(batch.column(*i), &DataType::Utf8))
            .collect::<Result<_, _>>()
            .map_err(failed)?;
        let keys: Vec<&StringArray> = keys.iter().map(|keys| keys.as_string::<i32>()).collect();
        // The rows of each part.
        let mut rows: Vec<Vec<u32>> = Vec::new();
        let mut key = Vec::new();
        for row in 0..batch.num_rows() {
            encode_key(&keys, row, &mut key);
            let place = match self.places.get(key.as_slice()) {
                Some(place) => *place,
                None => self.part(&keys, row, key.clone())?,
            };
            if rows.len() <= place {
                rows.resize_with(place + 1, Vec::new);
            }
            rows[place].push(row as u32);
        }
        let values = batch.project(&self.rest).map_err(failed)?;
        let rows = rows.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty());
        let rows: Vec<(usize, UInt32Array)> = rows.map(|(place, rows)| (place, UInt32Array::from(rows))).collect();
        let parts = Division::default().run(&rows, task, |(_, rows)| take_record_batch(&values, rows).map_err(failed));
        for ((place, _), part) in rows.into_iter().zip(parts) {
            let part = part?;
            let bytes = part.get_array_memory_size();
            self.collected += bytes;
            self.parts[place].bytes += bytes;
            self.parts[place].collected.push(part);
        }
        self.rows += batch.num_rows() as u64;
        while self.collected > COLLECTED {
            self.write_largest(task)?;
        }
        Ok(())
    }

    /// Completes the folder and gives it its name.
    pub fn finish(mut self, task: &TaskHandle) -> Result<WrittenFile, Diagnostic> {
        for place in 0..self.parts.len() {
            task.check()?;
            self.write_collected(place, task)?;
            self.close(place)?;
        }
        check_target(&self.target)?;
        self.temporary.replace()?;
        Ok(WrittenFile { path: self.target, rows: self.rows, bytes: self.bytes })
    }

    /// A folder for the key of a row that comes for the first time.
    fn part(&mut self, keys: &[&StringArray], row: usize, key: Vec<u8>) -> Result<usize, Diagnostic> {
        if self.parts.len() == FOLDERS {
            let names = self.names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
            let message = format!("{names} would give more than {FOLDERS} folders");
            return Err(Diagnostic::error(Class::Data, "too-many-folders", message)
                .help("divide by a column with fewer distinct values"));
        }
        let mut folder = self.temporary.path().to_path_buf();
        for (name, keys) in self.names.iter().zip(keys) {
            let value = if keys.is_valid(row) { hive::encode(keys.value(row)) } else { hive::NULL.to_string() };
            folder.push(format!("{}={value}", hive::encode(name)));
        }
        fs::create_dir_all(&folder).map_err(|e| io_diagnostic("written", &self.target, &e))?;
        self.parts.push(Part { folder, collected: Vec::new(), bytes: 0, writer: None, files: 0 });
        self.places.insert(key, self.parts.len() - 1);
        Ok(self.parts.len() - 1)
    }

    /// Writes the rows that take the most memory.
    fn write_largest(&mut self, task: &TaskHandle) -> Result<(), Diagnostic> {
        let largest = self.parts.iter().enumerate().max_by_key(|(_, part)| part.bytes).map(|(i, _)| i);
        let Some(place) = largest else { return Ok(()) };
        let open = self.parts.iter().filter(|part| part.writer.is_some()).count();
        if open >= OPEN && self.parts[place].writer.is_none() {
            // Rows that come later for it go to another file.
            let idle = self.parts.iter().enumerate().filter(|(_, part)| part.writer.is_some());
            if let Some(idle) = idle.min_by_key(|(_, part)| part.bytes).map(|(i, _)| i) {
                self.write_collected(idle, task)?;
                self.close(idle)?;
            }
        }
        self.write_collected(place, task)
    }

    fn write_collected(&mut self, place: usize, task: &TaskHandle) -> Result<(), Diagnostic> {
        let part = &mut self.parts[place];
        let batches = std::mem::take(&mut part.collected);
        self.collected -= std::mem::take(&mut part.bytes);
        if batches.is_empty() {
            return Ok(());
        }
        let batch = concat_batches(&self.schema, &batches)
            .map_err(|e| Diagnostic::error(Class::Internal, "internal", e.to_string()))?;
        if part.writer.is_none() {
            let path = part.folder.join(format!("part-{}.{}", part.files, self.extension));
            let sink = Sink { path: text(&path), folder: String::new(), format: self.format.clone() };
            let mut target = Target::open(&sink.path, "")?;
            target.is_part = true;
            part.writer = Some(FileWriter::start(target, &sink, &self.schema)?);
            part.files += 1;
        }
        part.writer.iter_mut().try_for_each(|writer| writer.write(&batch, task))
    }

    fn close(&mut self, place: usize) -> Result<(), Diagnostic> {
        if let Some(writer) = self.parts[place].writer.take() {
            self.bytes += writer.finish()?.bytes;
        }
        Ok(())
    }
}

/// Writes the key of a row so that different keys have different bytes, without an allocation for each row.
fn encode_key(keys: &[&StringArray], row: usize, into: &mut Vec<u8>) {
    into.clear();
    for keys in keys {
        if keys.is_null(row) {
            into.push(0);
            continue;
        }
        let value = keys.value(row).as_bytes();
        into.push(1);
        into.extend_from_slice(&value.len().to_le_bytes());
        into.extend_from_slice(value);
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn names_a_folder(dtype: &DataType) -> bool {
    arrow::compute::can_cast_types(dtype, &DataType::Utf8)
        && !matches!(
            dtype,
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_)
        )
}

/// A folder with files stays as it is: what would be left of it and what is new could not be told apart.
fn check_target(target: &Path) -> Result<(), Diagnostic> {
    let entries = fs::read_dir(target).map(|mut entries| entries.next().is_some());
    let error = match entries {
        Ok(true) => {
            let message = format!("the folder `{}` is not empty", target.display());
            Diagnostic::error(Class::Data, "folder-not-empty", message).help(format!(
                "remove it first: std::fs::remove_dir_all(\"{}\")?, or write to another",
                target.display()
            ))
        }
        Err(_) if fs::symlink_metadata(target).is_ok() => {
            let message = format!("`{}` is a file, and the rows are written to a folder", target.display());
            Diagnostic::error(Class::Data, "not-a-folder", message).help("name a folder that is new or empty")
        }
        _ => return Ok(()),
    };
    Err(error)
}
