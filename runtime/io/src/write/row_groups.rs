//! Parquet out: all cores encode the columns of a row group. The file does not depend on the number of cores.

use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use onrush_frame::TaskHandle;
use onrush_wire::{Class, Diagnostic};
use parking_lot::Mutex;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;

use super::encode::{Encode, EncodeError, Out};
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
    fn write_rows(&mut self, batch: &RecordBatch, task: &TaskHandle) -> Result<(), Diagnostic> {
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
    fn complete(mut self, task: &TaskHandle) -> Result<BufWriter<File>, Diagnostic> {
        self.flush(task)?;
        self.file.into_inner().map_err(failed)
    }

    /// Writes the row group that is under way to the file.
    fn flush(&mut self, task: &TaskHandle) -> Result<(), Diagnostic> {
        let Some(group) = self.group.take() else { return Ok(()) };
        let chunks = division(group.rows).run(&group.columns, task, |writers| {
            let writers = std::mem::take(&mut *writers.lock());
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

impl Encode for ParquetWriter {
    fn write(&mut self, batch: &RecordBatch, task: &TaskHandle) -> Result<(), EncodeError> {
        Ok(self.write_rows(batch, task)?)
    }

    fn finish(self: Box<Self>, task: &TaskHandle) -> Result<Out, EncodeError> {
        Ok(self.complete(task)?)
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
            let mut writers = this.columns[*column].lock();
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

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array, ListArray, StructArray};
    use arrow::compute::concat_batches;
    use arrow::datatypes::{DataType, Field, Int64Type};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;

    /// Expected values are what was written.
    #[test]
    fn nested_columns_come_back_from_several_row_groups() {
        let batch = |from: i64| {
            let numbers = (from..from + 7).map(|i| (i % 3 != 0).then_some(i));
            let numbers: ArrayRef = Arc::new(Int64Array::from_iter(numbers));
            let lists = (from..from + 7).map(|i| (i % 5 != 0).then(|| (0..i % 4).map(Some).collect::<Vec<_>>()));
            let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists));
            let field = Arc::new(Field::new("n", DataType::Int64, true));
            let structs: ArrayRef = Arc::new(StructArray::from(vec![(field, Arc::clone(&numbers))]));
            RecordBatch::try_from_iter([("n", numbers), ("l", lists), ("o", structs)]).unwrap()
        };
        let batches: Vec<RecordBatch> = (0..5).map(|i| batch(i * 7)).collect();
        let schema = batches[0].schema();
        let file = tempfile::tempfile().unwrap();
        let properties = WriterProperties::builder().set_max_row_group_row_count(Some(10)).build();
        let out = BufWriter::new(file.try_clone().unwrap());
        let mut writer = ParquetWriter::new(out, &schema, properties).unwrap();
        let task = TaskHandle::new();
        for batch in &batches {
            writer.write_rows(batch, &task).unwrap();
        }
        writer.complete(&task).unwrap().into_inner().unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let groups: Vec<i64> = reader.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
        assert_eq!(groups, [10, 10, 10, 5]);
        let read = reader.build().unwrap().collect::<Result<Vec<_>, _>>().unwrap();
        let read = concat_batches(&read[0].schema(), &read).unwrap();
        assert_eq!(read.columns(), concat_batches(&schema, &batches).unwrap().columns());
    }
}
