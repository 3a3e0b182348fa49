//! Parquet files: decoded once and held if they are small enough, otherwise scanned by DataFusion for every query.

mod scan;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array};
use arrow::compute::{concat_batches, take};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use onrush_frame::{Table, TaskHandle, categories};
use onrush_wire::plan::{FileKind, ParquetOptions};
use onrush_wire::{Class, Diagnostic};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelectionPolicy,
};
use parquet::file::metadata::{FileMetaData, ParquetMetaData};

use self::scan::Parts;
use crate::columns;
use crate::content::DecodedFiles;
use crate::file::{FileState, SourceFiles, io_diagnostic};
use crate::formats::binary::check_kind;
use crate::hive::{self, HiveColumn};
use crate::memory::Reservation;
use crate::pieces::Division;

pub use scan::{ParquetScan, parquet_readers};

const MAGIC: &[u8; 4] = b"PAR1";
const ENCRYPTED: &[u8; 4] = b"PARE";
/// Batches of a run of row groups, about: the first and the last batch of a run can be copies.
const RUN: usize = 8;
/// Units of a run, at most: opening a unit takes time for each column of the file.
const UNITS: usize = 64;

#[derive(Debug)]
struct OpenFile {
    path: std::path::PathBuf,
    bytes: u64,
    metadata: ArrowReaderMetadata,
    /// About what the columns take in memory.
    memory_bytes: u64,
    rows: u64,
    /// The columns of the folders above the file, with one value each.
    constants: Vec<(String, ArrayRef)>,
    /// The columns of categories that have an order, and that order.
    orders: Vec<(String, Vec<String>)>,
}

impl OpenFile {
    /// About what a column takes in memory.
    fn column_bytes(&self, name: &str) -> u64 {
        let Ok(index) = self.metadata.schema().index_of(name) else { return self.rows * 16 };
        let leaves = self.metadata.parquet_schema();
        let of_column = |leaf: &usize| leaves.get_column_root_idx(*leaf) == index;
        let groups = self.metadata.metadata().row_groups();
        let leaves = (0..leaves.num_columns()).filter(of_column);
        let packed: u64 = leaves
            .flat_map(|leaf| groups.iter().map(move |group| group.column(leaf).uncompressed_size().max(0) as u64))
            .sum();
        packed.max(self.rows * width(self.metadata.schema().field(index).data_type()))
    }
}

impl OpenFile {
    /// A column of all files for the rows of a batch of this one: that of the batch or of the folders, else nulls.
    fn column(&self, batch: &RecordBatch, field: &Field) -> Result<ArrayRef, ArrowError> {
        let rows = batch.num_rows();
        let constant = || self.constants.iter().find(|(name, _)| name == field.name());
        Ok(match (batch.column_by_name(field.name()), constant()) {
            (Some(column), _) if column.data_type() != &DataType::Null => {
                return columns::converted(column, field.data_type());
            }
            (None, Some((_, value))) if value.is_valid(0) => take(value, &UInt32Array::from(vec![0; rows]), None)
                .unwrap_or_else(|_| new_null_array(value.data_type(), rows)),
            _ => new_null_array(field.data_type(), rows),
        })
    }
}

/// Files one below the other; held if together they take at most `hold` bytes. The columns of folders come last.
pub(crate) fn read(
    resolved: &SourceFiles,
    options: &ParquetOptions,
    hold: u64,
    division: Division,
    taken: &Reservation<'_>,
    task: &TaskHandle,
) -> Result<DecodedFiles, Diagnostic> {
    let files = resolved.files.as_slice();
    let folders = match options.hive.unwrap_or(resolved.is_set) {
        true => hive::columns(files, &resolved.hive)?,
        false => Vec::new(),
    };
    let mut opened = Vec::with_capacity(files.len());
    for (i, file) in files.iter().enumerate() {
        task.check()?;
        let mut file = guarded(&file.path, || open(file))?;
        file.constants = folders.iter().map(|f| (f.field.name().clone(), f.values.slice(i, 1))).collect();
        opened.push(file);
    }
    let schemas: Vec<_> = opened.iter().map(|o| (o.path.as_path(), o.metadata.schema().as_ref())).collect();
    let own = with_orders(&columns::of_all(&schemas, options.union_by_name)?, &opened);
    // Polars writes the keys into the files, too: then those are read.
    let folders: Vec<HiveColumn> =
        folders.into_iter().filter(|folder| own.field_with_name(folder.field.name()).is_err()).collect();
    let fields = own.fields().iter().cloned().chain(folders.iter().map(|f| Arc::new(f.field.clone())));
    let all: SchemaRef = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let schema = columns::chosen(&all, &options.columns, &files[0].path)?;
    let rows = opened.iter().map(|o| o.rows).sum();
    task.set_total_rows(Some(rows));
    let bytes: u64 = match options.columns.is_empty() {
        true => opened.iter().map(|o| o.memory_bytes).sum(),
        false => opened.iter().flat_map(|o| schema.fields().iter().map(|f| o.column_bytes(f.name()))).sum(),
    };
    if bytes <= hold {
        let batches = decode(&opened, &schema, division, taken, task)?;
        return Ok(DecodedFiles::Table(Table::new(schema, batches)));
    }
    let parts = Parts { own, folders: folders.into_iter().map(|f| f.field).collect(), schema };
    let scan = ParquetScan::new(parts, files.to_vec(), opened)?;
    Ok(DecodedFiles::Scan { provider: Arc::new(scan), rows })
}

/// Checks both ends of the file and reads its footer.
fn open(file: &FileState) -> Result<OpenFile, Diagnostic> {
    let path = &file.path;
    let failed = |e: std::io::Error| io_diagnostic("read", path, &e);
    let mut handle = File::open(path).map_err(failed)?;
    if file.bytes == 0 {
        return Err(Diagnostic::error(Class::Data, "empty-file", format!("`{}` is empty", path.display()))
            .help("check that it was written to its end"));
    }
    let (mut first, mut last) = ([0u8; 4], [0u8; 4]);
    if file.bytes < 12 {
        return Err(no_parquet(path, file.bytes));
    }
    handle.read_exact(&mut first).map_err(failed)?;
    handle.seek(SeekFrom::End(-4)).map_err(failed)?;
    handle.read_exact(&mut last).map_err(failed)?;
    match (&first == MAGIC, &last == MAGIC) {
        (true, true) => {}
        (true, false) => return Err(cut_off(path, "its end is not there")),
        _ if &last == ENCRYPTED => {
            return Err(Diagnostic::error(
                Class::Data,
                "encrypted-file",
                format!("`{}` is an encrypted Parquet file, which cannot be read", path.display()),
            ));
        }
        _ => return Err(no_parquet(path, file.bytes)),
    }
    let load = |options| ArrowReaderMetadata::load(&handle, options);
    let plain = match catch_unwind(AssertUnwindSafe(|| load(ArrowReaderOptions::new()))) {
        Ok(plain) => plain.map_err(|e| cut_off(path, &e.to_string()))?,
        // The Arrow schema in the footer has a type that Arrow lacks: the footer itself may be whole.
        Err(_) => {
            let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
            return Err(load(options).map_or_else(|e| cut_off(path, &e.to_string()), |own| no_type(path, own.schema())));
        }
    };
    // Text as views: slices and filters of them copy nothing.
    let schema = Arc::new(views(plain.schema()));
    let options = ArrowReaderOptions::new().with_schema(schema);
    let metadata =
        ArrowReaderMetadata::try_new(counted(plain.metadata()), options).map_err(|e| cut_off(path, &e.to_string()))?;
    let groups = metadata.metadata().row_groups();
    let end = groups.iter().flat_map(|g| g.columns()).map(|c| {
        let (start, length) = c.byte_range();
        start.saturating_add(length)
    });
    if end.max().unwrap_or(0) > file.bytes {
        return Err(cut_off(path, "its footer points behind its end"));
    }
    let rows = groups.iter().map(|g| g.num_rows().max(0) as u64).sum::<u64>();
    let packed = groups.iter().map(|g| g.total_byte_size().max(0) as u64).sum::<u64>();
    let fixed = metadata.schema().fields().iter().map(|f| width(f.data_type())).sum::<u64>();
    let (memory_bytes, constants) = (packed.max(rows * fixed), Vec::new());
    let orders = orders(plain.schema(), &handle, &metadata, path)?;
    Ok(OpenFile { path: path.clone(), bytes: file.bytes, memory_bytes, rows, metadata, constants, orders })
}

/// The orders of ordered categories. Polars' Enum has them in the schema of the footer, pandas' categoricals in the
/// dictionary of the column.
fn orders(
    schema: &Schema,
    handle: &File,
    metadata: &ArrowReaderMetadata,
    path: &Path,
) -> Result<Vec<(String, Vec<String>)>, Diagnostic> {
    let mut orders = Vec::new();
    for (place, field) in schema.fields().iter().enumerate() {
        if let Some(order) = categories::ordered(field) {
            orders.push((field.name().clone(), order));
            continue;
        }
        if field.dict_is_ordered() != Some(true) {
            continue;
        }
        let damaged = |e: &dyn std::fmt::Display| cut_off(path, &e.to_string());
        let handle = handle.try_clone().map_err(|e| io_diagnostic("read", path, &e))?;
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(handle, metadata.clone());
        let mask = ProjectionMask::roots(metadata.parquet_schema(), [place]);
        let mut first = builder.with_projection(mask).with_batch_size(1).build().map_err(|e| damaged(&e))?;
        let Some(batch) = first.next().transpose().map_err(|e| damaged(&e))? else { continue };
        let Some(dictionary) = batch.column(0).as_any_dictionary_opt() else { continue };
        let Ok(values) = arrow::compute::cast(dictionary.values(), &DataType::Utf8View) else { continue };
        let order = values.as_string_view().iter().flatten().map(str::to_string).collect();
        orders.push((field.name().clone(), order));
    }
    Ok(orders)
}

/// The columns of all files, whose categories have an order if it is the same in all files.
fn with_orders(schema: &SchemaRef, files: &[OpenFile]) -> SchemaRef {
    let order = |field: &Field| {
        let has = |file: &&OpenFile| file.metadata.schema().field_with_name(field.name()).is_ok();
        let of =
            |file: &OpenFile| file.orders.iter().find(|(name, _)| name == field.name()).map(|(_, order)| order.clone());
        let mut all = files.iter().filter(has).map(of);
        let first = all.next()??;
        let is_dictionary = matches!(field.data_type(), DataType::Dictionary(..));
        (is_dictionary && all.all(|other| other.as_ref() == Some(&first))).then_some(first)
    };
    let field = |field: &Arc<Field>| match order(field) {
        Some(order) => Arc::new(categories::with_order(field.as_ref().clone(), &order)),
        None => Arc::clone(field),
    };
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

/// A footer whose number of rows is that of its row groups. The reader makes batches of at most the number in the
/// footer: with 0 there it reads nothing.
fn counted(footer: &Arc<ParquetMetaData>) -> Arc<ParquetMetaData> {
    let file = footer.file_metadata();
    let rows = footer.row_groups().iter().fold(0i64, |sum, group| sum.saturating_add(group.num_rows()));
    if file.num_rows() == rows {
        return Arc::clone(footer);
    }
    let file = FileMetaData::new(
        file.version(),
        rows,
        file.created_by().map(str::to_string),
        file.key_value_metadata().cloned(),
        file.schema_descr_ptr(),
        file.column_orders().cloned(),
    );
    Arc::new(ParquetMetaData::new(file, footer.row_groups().to_vec()))
}

/// The error of a column whose type has no equal, such as the 128-bit integers of Polars.
fn no_type(path: &Path, schema: &Schema) -> Diagnostic {
    let wide: Vec<String> = schema
        .fields()
        .iter()
        .filter(|f| f.data_type() == &DataType::FixedSizeBinary(16))
        .map(|f| format!("`{}`", f.name()))
        .collect();
    let what = match wide.as_slice() {
        [] => "it has a column of a type that is not supported".to_string(),
        wide => format!("the type of column {} is not supported (128-bit integers)", wide.join(", ")),
    };
    Diagnostic::error(Class::Data, "unsupported-type", format!("`{}` cannot be read: {what}", path.display()))
        .help("cast the column before it is written, in Polars: pl.col(\"x\").cast(pl.Decimal(38, 0))")
}

/// Bytes of a row's value in memory, without the data of long strings and lists. The size in the file is not used. It
/// is that of the encoded pages, and a column that repeats a few values has next to none.
fn width(dtype: &DataType) -> u64 {
    match dtype {
        DataType::Null | DataType::Boolean => 1,
        DataType::Utf8View | DataType::BinaryView => 16,
        DataType::Struct(fields) => fields.iter().map(|f| width(f.data_type())).sum(),
        other => other.primitive_width().unwrap_or(8) as u64,
    }
}

/// The decoder trusts a file's inner structure and panics where that is damaged.
fn guarded<T>(path: &Path, work: impl FnOnce() -> Result<T, Diagnostic>) -> Result<T, Diagnostic> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(cut_off(path, "its inner structure makes no sense")))
}

/// The error of a file that does not start and end as Parquet does. It says what the file is.
fn no_parquet(path: &Path, bytes: u64) -> Diagnostic {
    let error = check_kind(path, "a Parquet file", &[FileKind::Parquet]).err();
    let mut error = error.unwrap_or_else(|| cut_off(path, "its end is not there"));
    if error.code == "wrong-format" {
        error.code = "no-parquet".to_string();
    }
    error.note(format!("it has {bytes} bytes, and does not start and end with `PAR1`"))
}

/// The error of a value that the type of all files does not hold.
fn unfit(path: &Path, error: &ArrowError) -> Diagnostic {
    let message =
        format!("a column of `{}` does not fit the type that all files have together: {error}", path.display());
    Diagnostic::error(Class::Data, "different-columns", message)
        .help("read the files one by one, cast the column, and put them together with `concat`")
}

fn cut_off(path: &Path, why: &str) -> Diagnostic {
    Diagnostic::error(Class::Data, "damaged-file", format!("`{}` is cut off or damaged: {why}", path.display()))
        .help("write or fetch the file again; what is left of a Parquet file without its end cannot be read")
}

/// `Utf8` and `Binary` become views, here and below lists and structs.
fn views(schema: &Schema) -> Schema {
    fn view(dtype: &DataType) -> DataType {
        let field = |f: &Arc<Field>| Arc::new(f.as_ref().clone().with_data_type(view(f.data_type())));
        match dtype {
            DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
            DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
            DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect()),
            other => other.clone(),
        }
    }
    let fields: Vec<Field> =
        schema.fields().iter().map(|f| f.as_ref().clone().with_data_type(view(f.data_type()))).collect();
    // Metadata such as pandas' is of no use here and would make equal schemas differ.
    Schema::new(fields)
}

/// Row groups that are read one after another, so that a batch can have rows of two of them without a copy.
struct Run<'a> {
    file: &'a OpenFile,
    groups: Range<usize>,
    rows: usize,
    /// The first rows that belong to the last batch of the run before.
    head: usize,
}

/// Some columns of a run, by their positions in the schema of all files: what a thread decodes at a time.
struct Unit<'a> {
    run: &'a Run<'a>,
    columns: Range<usize>,
}

/// Decodes each file into batches of rows `i * chunk..(i + 1) * chunk`. Columns are decoded apart, so that all cores
/// share a file of one row group.
fn decode(
    files: &[OpenFile],
    schema: &SchemaRef,
    division: Division,
    taken: &Reservation<'_>,
    task: &TaskHandle,
) -> Result<Vec<RecordBatch>, Diagnostic> {
    let runs: Vec<Run<'_>> = files.iter().flat_map(|file| runs(file, division.chunk)).collect();
    let columns = schema.fields().len();
    let width = columns.div_ceil(UNITS).max(1);
    let units: Vec<Unit<'_>> = runs
        .iter()
        .flat_map(|run| {
            let starts = (0..columns.max(1)).step_by(width);
            starts.map(move |start| Unit { run, columns: start..(start + width).min(columns) })
        })
        .collect();
    let decoded = division
        .run(&units, task, |unit| guarded(&unit.run.file.path, || unit.decode(schema, division.chunk, taken, task)));
    let mut decoded = decoded.into_iter();
    // The batches as they lie in the runs: one or two of them for each batch of a file.
    let mut batches: Vec<Vec<RecordBatch>> = Vec::new();
    for run in &runs {
        let units: Vec<Vec<RecordBatch>> =
            decoded.by_ref().take(columns.div_ceil(width).max(1)).collect::<Result<_, _>>()?;
        for (i, batch) in beside(run, schema, &units)?.into_iter().enumerate() {
            match batches.last_mut() {
                Some(last) if i == 0 && run.head > 0 => last.push(batch),
                _ => batches.push(vec![batch]),
            }
        }
    }
    let whole = division.run(&batches, task, |parts| match parts.as_slice() {
        [one] => Ok(one.clone()),
        several => {
            let whole = concat_batches(schema, several).map_err(|e| {
                Diagnostic::error(Class::Internal, "parquet", format!("row groups do not fit together: {e}"))
            })?;
            taken.take(&files[0].path, whole.get_array_memory_size() as u64)?;
            Ok(whole)
        }
    });
    let copied = batches.iter().filter(|parts| parts.len() > 1).flatten();
    let copied: usize = copied.map(RecordBatch::get_array_memory_size).sum();
    drop(batches);
    taken.give_back(copied as u64);
    whole.into_iter().collect()
}

/// The row groups of a file in runs of about [`RUN`] batches.
fn runs(file: &OpenFile, chunk: usize) -> Vec<Run<'_>> {
    // The dictionaries of two row groups together can have more entries than the type of the indices has numbers.
    let apart =
        file.metadata.schema().flattened_fields().iter().any(|f| matches!(f.data_type(), DataType::Dictionary(..)));
    let mut runs = Vec::new();
    let (mut start, mut rows, mut first) = (0, 0, 0);
    let groups = file.metadata.metadata().row_groups();
    for (i, group) in groups.iter().enumerate() {
        rows = usize::try_from(group.num_rows()).unwrap_or(0).saturating_add(rows);
        if rows > 0 && (apart || rows >= RUN * chunk || i + 1 == groups.len()) {
            let head = if apart { 0 } else { rows.min((chunk - start % chunk) % chunk) };
            runs.push(Run { file, groups: first..i + 1, rows, head });
            start = rows.saturating_add(start);
            (rows, first) = (0, i + 1);
        }
    }
    runs
}

/// The columns of the units of a run as batches of all columns.
fn beside(run: &Run<'_>, schema: &SchemaRef, units: &[Vec<RecordBatch>]) -> Result<Vec<RecordBatch>, Diagnostic> {
    let path = &run.file.path;
    let count = units.first().map_or(0, Vec::len);
    if units.iter().any(|unit| unit.len() != count) {
        return Err(cut_off(path, "its columns have different numbers of rows"));
    }
    let batch = |i: usize| {
        let rows = RecordBatchOptions::new().with_row_count(Some(units[0][i].num_rows()));
        let columns = units.iter().flat_map(|unit| unit[i].columns()).map(Arc::clone).collect();
        RecordBatch::try_new_with_options(Arc::clone(schema), columns, &rows).map_err(|e| cut_off(path, &e.to_string()))
    };
    (0..count).map(batch).collect()
}

impl Unit<'_> {
    /// The batches of the run: the head, if it has one, and those of `chunk` rows.
    fn decode(
        &self,
        schema: &SchemaRef,
        chunk: usize,
        taken: &Reservation<'_>,
        task: &TaskHandle,
    ) -> Result<Vec<RecordBatch>, Diagnostic> {
        let (file, run) = (self.run.file, self.run);
        let damaged = |e: &dyn std::fmt::Display| cut_off(&file.path, &e.to_string());
        let fields = &schema.fields()[self.columns.clone()];
        // Another file can have its columns in another order, and other nullability; it can lack some.
        let roots: Vec<usize> = fields.iter().filter_map(|f| file.metadata.schema().index_of(f.name()).ok()).collect();
        let mask = ProjectionMask::roots(file.metadata.parquet_schema(), roots);
        let schema = Arc::new(Schema::new(fields.to_vec()));
        let builder = || {
            let handle = File::open(&file.path).map_err(|e| io_diagnostic("read", &file.path, &e))?;
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(handle, file.metadata.clone());
            Ok::<_, Diagnostic>(
                builder
                    .with_projection(mask.clone())
                    .with_row_groups(run.groups.clone().collect())
                    .with_row_selection_policy(RowSelectionPolicy::Selectors),
            )
        };
        let mut readers = Vec::new();
        if run.head > 0 {
            readers.push(builder()?.with_batch_size(run.head).with_limit(run.head));
        }
        if run.head < run.rows {
            let rest = builder()?.with_batch_size(chunk);
            readers.push(if run.head > 0 { rest.with_offset(run.head) } else { rest });
        }
        let mut batches = Vec::new();
        for reader in readers {
            for batch in reader.build().map_err(|e| damaged(&e))? {
                task.check()?;
                let batch = batch.map_err(|e| damaged(&e))?;
                taken.take(&file.path, batch.get_array_memory_size() as u64)?;
                let columns = fields.iter().map(|f| file.column(&batch, f)).collect::<Result<_, _>>();
                let columns = columns.map_err(|e| unfit(&file.path, &e))?;
                let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
                let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &rows);
                batches.push(batch.map_err(|e| damaged(&e))?);
            }
        }
        if self.columns.start == 0 {
            task.add_rows(run.rows as u64);
        }
        task.add_bytes(self.bytes());
        Ok(batches)
    }

    /// The bytes in the file.
    fn bytes(&self) -> u64 {
        let file = self.run.file;
        let groups = file.metadata.metadata().num_row_groups();
        let columns = file.metadata.schema().fields().len();
        let all = (groups * columns).max(1) as u64;
        file.bytes / all * (self.run.groups.len() * self.columns.len()) as u64
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array, DictionaryArray, Int64Array, ListArray, StringArray, StructArray};
    use arrow::datatypes::{Int8Type, Int64Type};
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::WriterProperties;

    use super::*;
    use crate::memory::NoLimit;

    /// Row `i` of every column is made of `i`.
    fn rows(range: Range<usize>, dictionary: bool) -> RecordBatch {
        let numbers = Int64Array::from_iter(range.clone().map(|i| (i % 7 != 0).then_some(i as i64)));
        let strings = StringArray::from_iter_values(range.clone().map(|i| format!("the string of row {i}")));
        let lists = range.clone().map(|i| (i % 5 != 0).then(move || (0..i % 4).map(move |k| Some((i + k) as i64))));
        let lists = ListArray::from_iter_primitive::<Int64Type, _, _>(lists);
        let field = Arc::new(Field::new("n", DataType::Int64, true));
        let structs = StructArray::from(vec![(field, Arc::new(numbers.clone()) as _)]);
        let mut columns: Vec<(&str, arrow::array::ArrayRef)> =
            vec![("n", Arc::new(numbers)), ("s", Arc::new(strings)), ("l", Arc::new(lists)), ("o", Arc::new(structs))];
        if dictionary {
            let words: Vec<String> = range.map(|i| format!("w{i}")).collect();
            let words = words.iter().map(String::as_str).collect::<DictionaryArray<Int8Type>>();
            columns.push(("d", Arc::new(words)));
        }
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn file(dir: &Path, groups: &[usize], dictionary: bool) -> FileState {
        let path = dir.join("a.parquet");
        let properties = WriterProperties::builder().set_data_page_row_count_limit(7).set_write_batch_size(7).build();
        let schema = rows(0..1, dictionary).schema();
        let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), schema, Some(properties)).unwrap();
        let mut start = 0;
        for group in groups {
            writer.write(&rows(start..start + group, dictionary)).unwrap();
            writer.flush().unwrap();
            start += group;
        }
        writer.close().unwrap();
        let metadata = std::fs::metadata(&path).unwrap();
        FileState::of(path, &metadata)
    }

    fn table(file: &FileState, threads: usize, chunk: usize) -> Result<Table, Diagnostic> {
        let division = Division { threads, chunk, ..Division::default() };
        let task = TaskHandle::new();
        let resolved =
            SourceFiles { files: vec![file.clone()], hive: vec![Vec::new()], is_set: false, urls: Vec::new() };
        let options = ParquetOptions::default();
        let read = read(&resolved, &options, u64::MAX, division, &Reservation::new(&NoLimit), &task)?;
        match read {
            DecodedFiles::Table(table) => {
                assert_eq!(task.progress().rows as usize, table.rows());
                Ok(table)
            }
            DecodedFiles::Scan { .. } => panic!("a small file is held"),
        }
    }

    /// A footer that counts no rows, as that of parquet-testing's `repeated_no_annotation.parquet`.
    #[test]
    fn rows_are_those_of_the_row_groups() {
        let dir = tempfile::tempdir().unwrap();
        let file = file(dir.path(), &[3, 4], false);
        let loaded = ArrowReaderMetadata::load(&File::open(&file.path).unwrap(), ArrowReaderOptions::new()).unwrap();
        let (whole, own) = (loaded.metadata(), loaded.metadata().file_metadata());
        let none = FileMetaData::new(own.version(), 0, None, None, own.schema_descr_ptr(), None);
        let footer = Arc::new(ParquetMetaData::new(none, whole.row_groups().to_vec()));
        assert_eq!([whole, &footer].map(|footer| counted(footer).file_metadata().num_rows()), [7, 7]);
    }

    /// Expected values are what was written.
    #[test]
    fn batches_have_the_rows_of_a_chunk_whatever_the_row_groups() {
        let dir = tempfile::tempdir().unwrap();
        for groups in [&[100][..], &[10; 10], &[40, 40, 20], &[1, 98, 1], &[33, 0, 67], &[7; 30], &[]] {
            let file = file(dir.path(), groups, false);
            let total: usize = groups.iter().sum();
            let written = rows(0..total, false);
            for chunk in [1, 3, 10, 64, 1000] {
                let tables = [1, 2, 3, 16].map(|threads| table(&file, threads, chunk).unwrap());
                for table in &tables {
                    let sizes: Vec<usize> = table.batches().iter().map(RecordBatch::num_rows).collect();
                    let expected: Vec<usize> = (0..total).step_by(chunk).map(|at| chunk.min(total - at)).collect();
                    assert_eq!(sizes, expected, "{groups:?} by {chunk}");
                    assert_eq!(table.batches(), tables[0].batches());
                    if total > 0 {
                        let batch = table.to_batch().unwrap();
                        let strings = arrow::compute::cast(batch.column(1), &DataType::Utf8).unwrap();
                        assert_eq!(&strings, written.column(1));
                        for column in [0, 2, 3] {
                            assert_eq!(batch.column(column), written.column(column), "{groups:?} by {chunk}");
                        }
                    }
                }
            }
        }
    }

    /// 200 words have no place in one dictionary of 8-bit indices.
    #[test]
    fn dictionaries_of_row_groups_stay_apart() {
        let dir = tempfile::tempdir().unwrap();
        let file = file(dir.path(), &[100, 100], true);
        let table = table(&file, 3, 64).unwrap();
        let sizes: Vec<usize> = table.batches().iter().map(RecordBatch::num_rows).collect();
        assert_eq!(sizes, [64, 36, 64, 36]);
        let last = arrow::compute::cast(table.batches()[3].column(4), &DataType::Utf8).unwrap();
        assert_eq!(last.as_any().downcast_ref::<StringArray>().unwrap().value(35), "w199");
    }

    #[test]
    fn the_earliest_damage_is_the_error() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = file(dir.path(), &[50; 20], false);
        let bytes = std::fs::read(&file.path).unwrap();
        let opened = open(&file).unwrap();
        let mut damaged = bytes.clone();
        // The headers of the first pages of one column in two row groups.
        for group in [3, 17] {
            let start = opened.metadata.metadata().row_group(group).column(1).byte_range().0 as usize;
            damaged[start..start + 8].fill(0xff);
        }
        std::fs::write(&file.path, &damaged).unwrap();
        file = FileState::of(file.path.clone(), &std::fs::metadata(&file.path).unwrap());
        let errors = [1, 2, 3, 16].map(|threads| table(&file, threads, 8).unwrap_err());
        assert_eq!(errors[0].code, "damaged-file");
        assert!(errors.iter().all(|error| error == &errors[0]));
    }
}
