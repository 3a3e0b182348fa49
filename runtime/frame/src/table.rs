//! A table in host memory: record batches of one schema. Immutable; slices share the buffers.

use std::any::Any;
use std::collections::HashSet;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

use arrow::array::{Array, ArrayData, ArrayRef, AsArray, RecordBatch};
use arrow::compute::{concat_batches, max, min};
use arrow::datatypes::{
    DataType, Date32Type, Int8Type, Int16Type, Int32Type, Int64Type, Schema, SchemaRef, UInt8Type, UInt16Type,
    UInt32Type,
};
use arrow::error::ArrowError;

use crate::coming::ComingBatches;
use crate::mapping;
use crate::nan::canonical_batch;
use crate::sealed::{SealedCopy, SealedFile};
use parking_lot::Mutex;

#[derive(Clone, Debug)]
enum Batches {
    There(Vec<RecordBatch>),
    Coming(Arc<ComingBatches>),
}

#[derive(Clone, Debug)]
pub struct Table {
    schema: SchemaRef,
    batches: Batches,
    rows: usize,
    /// The result of [`Table::bytes`]: a walk over all buffers of a large table takes a while, and callers ask often.
    bytes: OnceLock<u64>,
    sizes: OnceLock<Vec<ColumnSize>>,
    /// The results of [`Table::range`], by column.
    ranges: OnceLock<Vec<OnceLock<Option<(i64, i64)>>>>,
    on_disk: bool,
    /// The value of [`Table::extension`].
    extension: OnceLock<Arc<dyn Any + Send + Sync>>,
    sealed: SealedCopy,
}

/// The lowest and highest value of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnSize {
    /// Values that are null.
    pub nulls: usize,
    /// Bytes of the arrays, each with all that it keeps alive, but for files that are mapped.
    pub bytes: usize,
}

impl Table {
    fn made(schema: SchemaRef, batches: Vec<RecordBatch>, rows: usize) -> Self {
        let (bytes, sizes, ranges) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let batches = Batches::There(batches);
        let (extension, sealed) = (OnceLock::new(), SealedCopy::default());
        Table { schema, batches, rows, bytes, sizes, ranges, on_disk: false, extension, sealed }
    }

    /// A table of `rows` rows that another thread makes. `extension` is what [`Table::extension`] gives.
    pub fn coming(
        schema: SchemaRef,
        rows: usize,
        batches: &Arc<ComingBatches>,
        extension: Arc<dyn Any + Send + Sync>,
    ) -> Table {
        let made = Table::made(schema, Vec::new(), rows);
        Table { batches: Batches::Coming(Arc::clone(batches)), extension: extension.into(), ..made }
    }

    /// Empty batches are left out. The batches must have the columns of `schema` in their order. Every NaN becomes the
    /// one NaN of [`crate::nan`].
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        let batches = batches.into_iter().map(|batch| canonical_batch(batch.clone()).unwrap_or(batch)).collect();
        Table::of_canonical(schema, batches)
    }

    /// As [`Table::new`], of batches that come from a table or from a plan, where there is one NaN: their values are
    /// not looked at.
    pub fn of_canonical(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        let batches = batches.into_iter().filter(|b| b.num_rows() > 0).collect();
        Table::made(schema, batches, rows)
    }

    pub fn empty(schema: SchemaRef) -> Self {
        Table::made(schema, Vec::new(), 0)
    }

    pub(crate) fn on_disk(self) -> Self {
        Table { on_disk: true, ..self }
    }

    pub(crate) fn with_sealed(self, file: Arc<SealedFile>) -> Self {
        Table { sealed: SealedCopy::of(file), ..self }
    }

    /// The copy of the rows in shared memory: an Arrow IPC file of at most one batch. `None` if nobody asked for one.
    pub fn sealed(&self) -> Option<Arc<SealedFile>> {
        self.sealed.get()
    }

    /// From now on the table has the copy of `other`, a table of the same rows.
    pub fn share_sealed(&self, other: &Table) {
        if let Some(file) = other.sealed() {
            self.sealed.set(file);
        }
    }

    /// Whether the buffers are those of a file that is mapped: they take memory only while there is room. Tables made
    /// from such a table do not know it.
    pub fn is_on_disk(&self) -> bool {
        self.on_disk
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Waits if they are still on their way from a device.
    pub fn batches(&self) -> &[RecordBatch] {
        match &self.batches {
            Batches::There(batches) => batches,
            Batches::Coming(batches) => batches.wait(),
        }
    }

    /// Whether [`Table::batches`] returns at once.
    pub fn is_there(&self) -> bool {
        match &self.batches {
            Batches::There(_) => true,
            Batches::Coming(batches) => batches.is_there(),
        }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Data that another crate derives from the rows, made once. `None` if the table has an extension of another type.
    pub fn extension<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Option<&T> {
        self.extension.get_or_init(|| Arc::new(make())).downcast_ref()
    }

    /// The same rows in batches of at least `rows` rows, but for the last one. Copies the rows of smaller batches, by
    /// all cores.
    ///
    /// # Errors
    /// If batches cannot be concatenated: dictionaries that together have more entries than their type has indices.
    pub fn coalesced(self, rows: usize) -> Result<Table, ArrowError> {
        if self.batches().len() < 2 || self.batches().iter().rev().skip(1).all(|batch| batch.num_rows() >= rows) {
            return Ok(self);
        }
        let mut groups: Vec<Vec<RecordBatch>> = vec![Vec::new()];
        let mut last = 0;
        for batch in self.batches() {
            if last >= rows {
                groups.push(Vec::new());
                last = 0;
            }
            last += batch.num_rows();
            groups.last_mut().into_iter().for_each(|group| group.push(batch.clone()));
        }
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(groups.len());
        let next = AtomicUsize::new(0);
        let groups: Vec<Mutex<Vec<RecordBatch>>> = groups.into_iter().map(Mutex::new).collect();
        let work = || {
            loop {
                let Some(group) = groups.get(next.fetch_add(1, Relaxed)) else { return Ok(()) };
                let mut group = group.lock();
                if group.len() > 1 {
                    *group = vec![concat_batches(&self.schema, group.iter())?];
                }
            }
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let joined = others.into_iter().map(|other| other.join().unwrap_or(Ok(())));
            work().and(joined.collect::<Result<Vec<()>, ArrowError>>().map(drop))
        })?;
        let batches = groups.into_iter().flat_map(|group| group.into_inner());
        Ok(Table::of_canonical(self.schema, batches.collect()))
    }

    /// Rows `offset..offset + length`, cut at the end. Shares the buffers.
    pub fn slice(&self, offset: usize, length: usize) -> Table {
        let mut skip = offset;
        let mut left = length;
        let mut batches = Vec::new();
        for batch in self.batches() {
            if left == 0 {
                break;
            }
            let rows = batch.num_rows();
            if skip >= rows {
                skip -= rows;
                continue;
            }
            let take = left.min(rows - skip);
            batches.push(batch.slice(skip, take));
            left -= take;
            skip = 0;
        }
        Table::of_canonical(Arc::clone(&self.schema), batches)
    }

    pub fn head(&self, rows: usize) -> Table {
        self.slice(0, rows)
    }

    pub fn tail(&self, rows: usize) -> Table {
        self.slice(self.rows.saturating_sub(rows), rows)
    }

    /// The columns of that position, in the given order.
    pub fn project(&self, columns: &[usize]) -> Result<Table, ArrowError> {
        let schema = Arc::new(self.schema.project(columns)?);
        let batches = self.batches().iter().map(|b| b.project(columns)).collect::<Result<_, _>>()?;
        Ok(Table::made(schema, batches, self.rows))
    }

    /// Nulls of each column.
    pub fn null_counts(&self) -> Vec<u64> {
        self.column_sizes().iter().map(|size| size.nulls as u64).collect()
    }

    /// The range of each column, looked for once.
    pub fn column_sizes(&self) -> &[ColumnSize] {
        self.sizes.get_or_init(|| {
            let of = |column: usize| {
                let arrays = self.batches().iter().map(|batch| batch.column(column));
                arrays.fold(ColumnSize::default(), |so_far, array| ColumnSize {
                    nulls: so_far.nulls + array.logical_null_count(),
                    bytes: so_far.bytes + memory(&array.to_data()),
                })
            };
            (0..self.schema.fields().len()).map(of).collect()
        })
    }

    /// The least and the greatest value of a column of integers or dates; looked for once. `None` for other types and
    /// without values.
    pub fn range(&self, column: usize) -> Option<(i64, i64)> {
        let columns = self.schema.fields().len();
        let ranges = self.ranges.get_or_init(|| (0..columns).map(|_| OnceLock::new()).collect());
        *ranges.get(column)?.get_or_init(|| {
            let of_batches = self.batches().iter().filter_map(|batch| range(batch.column(column)));
            of_batches.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
        })
    }

    /// Bytes of the distinct buffers that the table keeps alive. A buffer that several columns or batches share counts
    /// once, and a slice counts its whole buffers.
    pub fn bytes(&self) -> u64 {
        if let (Batches::Coming(batches), false) = (&self.batches, self.is_there()) {
            return batches.bytes();
        }
        let arrays = *self.bytes.get_or_init(|| {
            let mut seen = HashSet::new();
            let mut total = 0;
            for batch in self.batches() {
                for column in batch.columns() {
                    count_buffers(&column.to_data(), &mut seen, &mut total);
                }
            }
            total
        });
        arrays + self.sealed().map_or(0, |file| file.bytes().saturating_sub(self.bytes_in(&file)))
    }

    /// Bytes of a sealed file that the arrays of the table keep alive: all of them if one array is the file's.
    fn bytes_in(&self, file: &SealedFile) -> u64 {
        fn is_in(file: &SealedFile, data: &ArrayData) -> bool {
            data.buffers().iter().any(|buffer| file.has(buffer))
                || data.child_data().iter().any(|child| is_in(file, child))
        }
        let mut columns = self.batches().iter().flat_map(RecordBatch::columns);
        if columns.any(|column| is_in(file, &column.to_data())) { file.bytes() } else { 0 }
    }

    /// Bytes of the rows themselves: what a copy of this table alone would take. For a slice this is less than
    /// [`Self::bytes`].
    pub fn own_bytes(&self) -> u64 {
        let columns = self.batches().iter().flat_map(RecordBatch::columns);
        let own: Option<u64> =
            columns.map(|c| c.to_data().get_slice_memory_size().ok().map(|bytes| bytes as u64)).sum();
        own.map_or_else(|| self.bytes(), |own| own.min(self.bytes()))
    }

    /// One batch with all rows; copies if there are several.
    pub fn to_batch(&self) -> Result<RecordBatch, ArrowError> {
        match self.batches() {
            [one] => Ok(one.clone()),
            _ => arrow::compute::concat_batches(&self.schema, self.batches()),
        }
    }

    /// A column as one array; copies if there are several batches.
    pub fn column(&self, index: usize) -> Result<ArrayRef, ArrowError> {
        let parts: Vec<&dyn Array> = self.batches().iter().map(|b| b.column(index).as_ref()).collect();
        match parts.as_slice() {
            [] => Ok(arrow::array::new_empty_array(self.schema.field(index).data_type())),
            [_] => Ok(Arc::clone(self.batches()[0].column(index))),
            _ => arrow::compute::concat(&parts),
        }
    }

    /// The same rows under other field names or nullability; types must be the same.
    pub fn with_schema(self, schema: Schema) -> Result<Table, ArrowError> {
        let schema = Arc::new(schema);
        let batches = self
            .batches()
            .iter()
            .map(|b| {
                let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(b.num_rows()));
                RecordBatch::try_new_with_options(Arc::clone(&schema), b.columns().to_vec(), &options)
            })
            .collect::<Result<_, _>>()?;
        Ok(Table::made(schema, batches, self.rows))
    }
}

fn range(array: &ArrayRef) -> Option<(i64, i64)> {
    macro_rules! ends {
        ($($dtype:pat => $type:ty),*) => {
            match array.data_type() {
                $($dtype => {
                    let array = array.as_primitive::<$type>();
                    Some((i64::from(min(array)?), i64::from(max(array)?)))
                })*
                _ => None,
            }
        };
    }
    ends! {
        DataType::Int8 => Int8Type,
        DataType::Int16 => Int16Type,
        DataType::Int32 => Int32Type,
        DataType::Int64 => Int64Type,
        DataType::UInt8 => UInt8Type,
        DataType::UInt16 => UInt16Type,
        DataType::UInt32 => UInt32Type,
        DataType::Date32 => Date32Type
    }
}

fn memory(data: &ArrayData) -> usize {
    let of = |buffer: &arrow::buffer::Buffer| match mapping::is_file(buffer.data_ptr().as_ptr() as usize) {
        true => buffer.len(),
        false => buffer.capacity(),
    };
    let nulls = data.nulls().map_or(0, |nulls| of(nulls.buffer()));
    nulls + data.buffers().iter().map(of).sum::<usize>() + data.child_data().iter().map(memory).sum::<usize>()
}

fn count_buffers(data: &ArrayData, seen: &mut HashSet<usize>, total: &mut u64) {
    let mut add = |buffer: &arrow::buffer::Buffer| {
        // The start of the allocation, not of the slice; a file that is mapped is one for all tables in it.
        let start = buffer.data_ptr().as_ptr() as usize;
        let (place, bytes) = match mapping::is_mapped(start) {
            true => (buffer.as_ptr() as usize, buffer.len()),
            false => (start, buffer.capacity()),
        };
        if seen.insert(place) {
            *total += bytes as u64;
        }
    };
    for buffer in data.buffers() {
        add(buffer);
    }
    if let Some(nulls) = data.nulls() {
        add(nulls.buffer());
    }
    for child in data.child_data() {
        count_buffers(child, seen, total);
    }
}

/// Bytes that a copy of an array would take; a string that several views share counts once for each.
pub fn own_bytes(array: &ArrayRef) -> u64 {
    let bytes = match array.data_type() {
        DataType::Utf8View => array.len() * 16 + array.as_string_view().total_buffer_bytes_used(),
        _ => array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size()),
    };
    bytes as u64
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, StringArray};
    use arrow::datatypes::{DataType, Field};

    use super::*;

    fn table() -> Table {
        let schema =
            Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, true), Field::new("b", DataType::Utf8, true)]));
        let batch = |a: Vec<Option<i64>>, b: Vec<Option<&str>>| {
            RecordBatch::try_new(
                Arc::clone(&schema),
                vec![Arc::new(Int64Array::from(a)), Arc::new(StringArray::from(b))],
            )
            .unwrap()
        };
        let first = batch(vec![Some(1), None, Some(3)], vec![Some("x"), Some("y"), None]);
        let second = batch(vec![Some(4), Some(5)], vec![None, None]);
        Table::new(Arc::clone(&schema), vec![first.clone(), first.slice(0, 0), second])
    }

    fn values(table: &Table) -> Vec<Option<i64>> {
        let column = table.column(0).unwrap();
        column.as_any().downcast_ref::<Int64Array>().unwrap().iter().collect()
    }

    #[test]
    fn slices_cross_batches_and_stop_at_the_ends() {
        let t = table();
        assert_eq!((t.rows(), t.batches().len()), (5, 2));
        assert_eq!(values(&t.slice(1, 3)), [None, Some(3), Some(4)]);
        assert_eq!(values(&t.head(2)), [Some(1), None]);
        assert_eq!(values(&t.tail(3)), [Some(3), Some(4), Some(5)]);
        assert_eq!(values(&t.tail(99)).len(), 5);
        assert_eq!(values(&t.slice(9, 1)), []);
        assert_eq!(t.null_counts(), [1, 3]);
        assert_eq!(t.slice(3, 2).null_counts(), [0, 2]);
    }

    #[test]
    fn shared_buffers_count_once() {
        let t = table();
        let once = t.bytes();
        assert!(t.slice(0, 1).own_bytes() < t.own_bytes());
        let twice = Table::new(Arc::clone(t.schema()), [t.batches(), t.batches()].concat());
        assert_eq!(twice.bytes(), once);
        assert!(once >= 5 * 8);
    }
}
