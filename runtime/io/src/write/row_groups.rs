//! Parquet out: all cores encode the columns of a row group. The file does not depend on the number of cores.

use std::fs::File;
use std::io::BufWriter;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use onrush_frame::TaskHandle;
use onrush_wire::{Class, Diagnostic};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;

use crate::pieces::Division;

/// Rows of a batch below which a single core encodes it: starting threads takes longer.
const SMALL: usize = 4096;

/// A Parquet file under way.
pub(super) struct ParquetWriter {
    file: SerializedFileWriter<BufWriter<File>>,
    factory: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    /// Rows of a row group, at most.
    most: usize,
    group: Option<RowGroup>,
}

/// A row group under way.
struct RowGroup {
    /// For each column, the writers of its leaves.
    columns: Vec<Mutex<Vec<ArrowColumnWriter>>>,
    rows: usize,
}

impl ParquetWriter {
    pub fn new(
        file: BufWriter<File>,
        schema: &SchemaRef,
        properties: WriterProperties,
    ) -> Result<ParquetWriter, ParquetError> {
        let most = properties.max_row_group_row_count().unwrap_or(usize::MAX);
        let writer = ArrowWriter::try_new(file, Arc::clone(schema), Some(properties))?;
        let (file, factory) = writer.into_serialized_writer()?;
        Ok(ParquetWriter { file, factory, schema: Arc::clone(schema), most, group: None })
    }

    /// Writes the rows of a batch.
    ///
    /// # Errors
    /// A value that Parquet cannot hold, a file that cannot be written, an interrupt.
    pub fn write(&mut self, batch: &RecordBatch, task: &TaskHandle) -> Result<(), Diagnostic> {
        let mut start = 0;
        while start < batch.num_rows() {
            let group = match &mut self.group {
                Some(group) => group,
                none => none.insert(RowGroup::start(&self.factory, &self.file, &self.schema).map_err(failed)?),
            };
            let rows = (batch.num_rows() - start).min(self.most - group.rows);
            group.write(&batch.slice(start, rows), &self.schema, task)?;
            start += rows;
            if group.rows == self.most {
                self.flush(task)?;
            }
        }
        Ok(())
    }

    /// Completes the file.
    pub fn finish(mut self, task: &TaskHandle) -> Result<BufWriter<File>, Diagnostic> {
        self.flush(task)?;
        self.file.into_inner().map_err(failed)
    }

    /// Writes the row group that is under way to the file.
    fn flush(&mut self, task: &TaskHandle) -> Result<(), Diagnostic> {
        let Some(group) = self.group.take() else { return Ok(()) };
        let chunks = division(group.rows).run(&group.columns, task, |writers| {
            let writers = std::mem::take(&mut *writers.lock().unwrap_or_else(PoisonError::into_inner));
            let chunks = writers.into_iter().map(ArrowColumnWriter::close);
            chunks.collect::<Result<Vec<ArrowColumnChunk>, ParquetError>>().map_err(failed)
        });
        let mut out = self.file.next_row_group().map_err(failed)?;
        for chunks in chunks {
            for chunk in chunks? {
                chunk.append_to_row_group(&mut out).map_err(failed)?;
            }
        }
        out.close().map_err(failed)?;
        Ok(())
    }
}

impl RowGroup {
    fn start(
        factory: &ArrowRowGroupWriterFactory,
        file: &SerializedFileWriter<BufWriter<File>>,
        schema: &Schema,
    ) -> Result<RowGroup, ParquetError> {
        let mut columns: Vec<Vec<ArrowColumnWriter>> = schema.fields().iter().map(|_| Vec::new()).collect();
        for (leaf, writer) in factory.create_column_writers(file.flushed_row_groups().len())?.into_iter().enumerate() {
            columns[file.schema_descr().get_column_root_idx(leaf)].push(writer);
        }
        Ok(RowGroup { columns: columns.into_iter().map(Mutex::new).collect(), rows: 0 })
    }

    fn write(&mut self, batch: &RecordBatch, schema: &Schema, task: &TaskHandle) -> Result<(), Diagnostic> {
        let columns: Vec<usize> = (0..self.columns.len()).collect();
        let this = &*self;
        let written = division(batch.num_rows()).run(&columns, task, |column| -> Result<(), Diagnostic> {
            let leaves = compute_leaves(schema.field(*column), batch.column(*column)).map_err(failed)?;
            let mut writers = this.columns[*column].lock().unwrap_or_else(PoisonError::into_inner);
            for (writer, leaf) in writers.iter_mut().zip(&leaves) {
                writer.write(leaf).map_err(failed)?;
            }
            Ok(())
        });
        written.into_iter().collect::<Result<(), Diagnostic>>()?;
        self.rows += batch.num_rows();
        Ok(())
    }
}

fn division(rows: usize) -> Division {
    let division = Division::default();
    if rows < SMALL { Division { threads: 1, ..division } } else { division }
}

fn failed(error: ParquetError) -> Diagnostic {
    Diagnostic::error(Class::Data, "write-failed", error.to_string())
}
