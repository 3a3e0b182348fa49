//! Frames into tables of databases, in a transaction: a write that fails leaves the table as it was.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::cast;
use arrow::datatypes::SchemaRef;
use onrush_databases::{Address, Place, TableWriter, Target};
use onrush_frame::{Table, TaskHandle};
use onrush_wire::plan::{IfExists, Sink};
use onrush_wire::{Class, Diagnostic};

use super::WrittenFile;
use crate::database;

/// A frame under way to a table. Dropped before [`DatabaseWriter::finish`], nothing is written.
pub struct DatabaseWriter {
    writer: TableWriter,
    /// With offsets in place of views.
    schema: SchemaRef,
    path: PathBuf,
    rows: u64,
    bytes: u64,
}

impl DatabaseWriter {
    /// Starts to write batches of `schema`.
    ///
    /// # Errors
    /// A missing folder or driver, an empty name, a column of a type that the database does not hold.
    pub fn create(
        sink: &Sink,
        (table, if_exists): (&str, IfExists),
        schema: &SchemaRef,
    ) -> Result<DatabaseWriter, Diagnostic> {
        let mut address = Address::parse(&sink.path)?;
        if table.trim().is_empty() {
            return Err(Diagnostic::error(Class::Plan, "bad-option", "the name of the table is empty"));
        }
        let path = match &address.place {
            Place::Server(_) => None,
            Place::File(path) => Some(database::existing(path, &sink.folder)),
        };
        if let Some(path) = &path {
            onrush_files::check_parent(path, path)?;
            if path.exists() {
                address.kind = database::kind(path, address.kind)?;
            }
        }
        let plain =
            onrush_frame::ipc::plain(&Table::empty(Arc::clone(schema))).map_err(|e| internal(&e.to_string()))?;
        let schema = Arc::clone(plain.schema());
        let name = address.name();
        let file = path.as_ref().map(|path| path.to_string_lossy().into_owned());
        let target = Target { address, file };
        let writer = TableWriter::start(&target, table, if_exists, &schema, &TaskHandle::new())?;
        Ok(DatabaseWriter { writer, schema, path: path.unwrap_or_else(|| name.into()), rows: 0, bytes: 0 })
    }

    pub fn write(&mut self, batch: &RecordBatch, task: &TaskHandle) -> Result<(), Diagnostic> {
        let columns = batch.columns().iter().zip(self.schema.fields()).map(|(column, field)| {
            match column.data_type() == field.data_type() {
                true => Ok(Arc::clone(column)),
                false => cast(column, field.data_type()),
            }
        });
        let columns = columns.collect::<Result<Vec<_>, _>>().map_err(|e| internal(&e.to_string()))?;
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(|e| internal(&e.to_string()))?;
        self.writer.write(&batch, task)?;
        self.rows += batch.num_rows() as u64;
        self.bytes += batch.get_array_memory_size() as u64;
        Ok(())
    }

    /// Waits until the rows are in the table.
    pub fn finish(self) -> Result<WrittenFile, Diagnostic> {
        self.writer.finish()?;
        Ok(WrittenFile { path: self.path, rows: self.rows, bytes: self.bytes })
    }
}

fn internal(what: &str) -> Diagnostic {
    Diagnostic::error(Class::Internal, "internal", format!("rows for a database could not be laid out: {what}"))
}
