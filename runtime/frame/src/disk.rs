//! Tables on disk: written once, then mapped, so that the system reads what is looked at and forgets it where memory is
//! short. The files have no name: they are gone with the table, whatever ends the process.

use std::fs::File;
use std::io::{BufWriter, Seek, Write};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::writer::FileWriter;

use crate::nan::canonical;
use crate::table::Table;
use crate::{ipc, mapping};

/// A table that is being written, batch by batch.
pub struct DiskWriter {
    schema: SchemaRef,
    /// The part that is being written.
    part: Option<FileWriter<BufWriter<File>>>,
    /// The offset of its start.
    begins: u64,
    file: File,
    /// The places of the earlier ones: each is an Arrow IPC file, which holds one dictionary for a column.
    parts: Vec<(u64, u64)>,
    /// The dictionaries of the part.
    dictionaries: Vec<ArrayRef>,
}

impl DiskWriter {
    /// # Errors
    /// If no file can be made in `folder`, which must be there.
    pub fn create(folder: &Path, schema: SchemaRef) -> Result<Self, ArrowError> {
        let file = tempfile::tempfile_in(folder)?;
        Ok(DiskWriter { schema, part: None, begins: 0, file, parts: Vec::new(), dictionaries: Vec::new() })
    }

    /// # Errors
    /// If the disk is full, or a type cannot be written.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        pieces(batch).iter().try_for_each(|piece| self.write_piece(piece))
    }

    fn write_piece(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let columns = batch.columns().iter().map(|column| canonical(&own(column))).collect::<Vec<_>>();
        let mut dictionaries = Vec::new();
        columns.iter().for_each(|column| dictionaries_of(column, &mut dictionaries));
        let is_same = dictionaries.len() == self.dictionaries.len()
            && dictionaries.iter().zip(&self.dictionaries).all(|(a, b)| a.to_data().ptr_eq(&b.to_data()));
        if !is_same {
            self.end_part()?;
        }
        if self.part.is_none() {
            self.begins = self.file.stream_position()?;
            let out = BufWriter::with_capacity(1 << 20, self.file.try_clone()?);
            self.part = Some(FileWriter::try_new(out, &self.schema)?);
            self.dictionaries = dictionaries;
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?;
        self.part.as_mut().map_or(Ok(()), |part| part.write(&batch))
    }

    fn end_part(&mut self) -> Result<(), ArrowError> {
        /// The alignment of the buffers in a part.
        const ALIGNMENT: u64 = 64;
        let Some(mut part) = self.part.take() else { return Ok(()) };
        part.finish()?;
        part.into_inner()?.flush()?;
        let end = self.file.stream_position()?;
        self.parts.push((self.begins, end));
        let rest = end.next_multiple_of(ALIGNMENT) - end;
        Ok(self.file.write_all(&vec![0; rest as usize])?)
    }

    /// The table, mapped.
    ///
    /// # Errors
    /// If the disk is full, or the file cannot be mapped.
    pub fn finish(mut self) -> Result<Table, ArrowError> {
        self.end_part()?;
        if self.parts.is_empty() {
            return Ok(Table::empty(self.schema));
        }
        let whole = mapping::map(self.file)?;
        let mut batches = Vec::new();
        for (begin, end) in self.parts {
            let part = ipc::read(whole.slice_with_length(begin as usize, (end - begin) as usize))?;
            for batch in part.batches() {
                let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
                let columns = batch.columns().to_vec();
                batches.push(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?);
            }
        }
        Ok(Table::of_canonical(self.schema, batches).on_disk())
    }
}

/// The same rows, on disk.
///
/// # Errors
/// As of [`DiskWriter`]; and what `each` says, which is asked before each batch.
pub fn move_to(
    folder: &Path,
    table: &Table,
    mut each: impl FnMut() -> Result<(), ArrowError>,
) -> Result<Table, ArrowError> {
    let mut writer = DiskWriter::create(folder, Arc::clone(table.schema()))?;
    for piece in table.batches().iter().flat_map(pieces) {
        each()?;
        writer.write_piece(&piece)?;
    }
    writer.finish()
}

/// A batch in pieces: what is copied of it at a time.
fn pieces(batch: &RecordBatch) -> Vec<RecordBatch> {
    const ROWS: usize = 1 << 16;
    let rows = batch.num_rows();
    (0..rows).step_by(ROWS).map(|start| batch.slice(start, ROWS.min(rows - start))).collect()
}

/// Copies string views to new buffers, without the strings that a filter dropped.
fn own(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Utf8View => Arc::new(column.as_string_view().gc()),
        DataType::BinaryView => Arc::new(column.as_binary_view().gc()),
        _ => Arc::clone(column),
    }
}

fn dictionaries_of(column: &ArrayRef, found: &mut Vec<ArrayRef>) {
    match column.data_type() {
        DataType::Dictionary(..) => {
            let values = column.as_any_dictionary().values();
            dictionaries_of(values, found);
            found.push(Arc::clone(values));
        }
        DataType::Struct(_) => column.as_struct().columns().iter().for_each(|column| dictionaries_of(column, found)),
        DataType::List(_) => dictionaries_of(column.as_list::<i32>().values(), found),
        DataType::LargeList(_) => dictionaries_of(column.as_list::<i64>().values(), found),
        DataType::FixedSizeList(..) => dictionaries_of(column.as_fixed_size_list().values(), found),
        DataType::Map(..) => {
            column.as_map().entries().columns().iter().for_each(|column| dictionaries_of(column, found));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{DictionaryArray, Int64Array, ListArray, StringViewArray};
    use arrow::datatypes::{Int32Type, Int64Type};

    use super::*;

    fn batch(from: i64, words: &[&str]) -> RecordBatch {
        let numbers = Int64Array::from_iter((from..from + 3).map(|n| (n % 2 == 0).then_some(n)));
        let texts =
            StringViewArray::from_iter((from..).take(3).map(|n| (n % 3 > 0).then(|| format!("a long text for {n}"))));
        let lists =
            ListArray::from_iter_primitive::<Int64Type, _, _>((0..3).map(|n| (n != 1).then(|| vec![Some(n), None])));
        let coded = DictionaryArray::<Int32Type>::from_iter(words.iter().copied());
        RecordBatch::try_from_iter_with_nullable([
            ("n", Arc::new(numbers) as ArrayRef, true),
            ("t", Arc::new(texts) as ArrayRef, true),
            ("l", Arc::new(lists) as ArrayRef, true),
            ("d", Arc::new(coded) as ArrayRef, true),
        ])
        .unwrap()
    }

    /// Slices, batches that share a dictionary and such that do not.
    #[test]
    fn rows_come_back() {
        let (a, b) = (batch(0, &["x", "y", "x"]), batch(3, &["z", "z", "y"]));
        let table = Table::new(a.schema(), vec![a.clone(), a.slice(1, 2), b.clone(), b.slice(0, 1), a.slice(2, 1)]);
        let folder = tempfile::tempdir().unwrap();
        let moved = move_to(folder.path(), &table, || Ok(())).unwrap();
        assert!(moved.is_on_disk() && !table.is_on_disk());
        assert_eq!(moved.schema(), table.schema());
        assert_eq!(moved.batches(), table.batches());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the file has no name");
        drop(folder);
        assert_eq!(moved.slice(2, 3).batches()[0], table.slice(2, 3).batches()[0]);
        let parts = |table: &Table| {
            let dictionary = |batch: &RecordBatch| batch.column(3).as_any_dictionary().values().to_data();
            table
                .batches()
                .windows(2)
                .map(|pair| dictionary(&pair[0]).ptr_eq(&dictionary(&pair[1])))
                .collect::<Vec<_>>()
        };
        assert_eq!(parts(&moved), [true, false, true, false]);
    }

    #[test]
    fn nothing_is_written_where_nothing_can_be() {
        let one = batch(0, &["x"; 3]);
        let table = Table::new(one.schema(), vec![one]);
        assert!(move_to(Path::new("/no/such/folder"), &table, || Ok(())).is_err());
        let folder = tempfile::tempdir().unwrap();
        let stop = || Err(ArrowError::IoError("stopped".to_string(), std::io::Error::other("stopped")));
        assert!(move_to(folder.path(), &table, stop).is_err());
        let none = Table::empty(Arc::clone(table.schema()));
        assert_eq!(move_to(folder.path(), &none, || Ok(())).unwrap().rows(), 0);
    }
}
