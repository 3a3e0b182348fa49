//! Parquet files: decoded once and held if they are small enough, otherwise scanned by DataFusion for every query.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use onrush_frame::{Table, TaskHandle, dtype_to_wire};
use onrush_wire::{Class, Diagnostic};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelectionPolicy,
};

use crate::cache::{Decoded, FileState, io_diagnostic};
use crate::marks;
use crate::memory::Reservation;
use crate::pieces::Division;

const MAGIC: &[u8; 4] = b"PAR1";
const ENCRYPTED: &[u8; 4] = b"PARE";
/// Batches of a run of row groups, about: the first and the last batch of a run can be copies.
const RUN: usize = 8;
/// Units of a run, at most: opening a unit takes time for each column of the file.
const UNITS: usize = 64;

struct Opened {
    path: std::path::PathBuf,
    bytes: u64,
    metadata: ArrowReaderMetadata,
    /// About what the columns take in memory.
    memory_bytes: u64,
    rows: u64,
}

/// Files of one schema one below the other; held if together they take at most `hold` bytes.
pub(crate) fn read(
    files: &[FileState],
    hold: u64,
    division: Division,
    taken: &Reservation<'_>,
    task: &TaskHandle,
) -> Result<Decoded, Diagnostic> {
    let mut opened = Vec::with_capacity(files.len());
    for file in files {
        task.check()?;
        opened.push(guarded(&file.path, || open(file))?);
    }
    let schema = same_schema(&opened)?;
    let rows = opened.iter().map(|o| o.rows).sum();
    task.set_total_rows(Some(rows));
    if opened.iter().map(|o| o.memory_bytes).sum::<u64>() <= hold {
        let batches = decode(&opened, &schema, division, taken, task)?;
        return Ok(Decoded::Table(Table::new(schema, batches)));
    }
    let internal = |e: datafusion::error::DataFusionError| {
        Diagnostic::error(Class::Internal, "parquet-scan", format!("the files cannot be scanned: {e}"))
    };
    let urls = opened
        .iter()
        .map(|o| ListingTableUrl::parse(o.path.to_string_lossy()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(internal)?;
    let options = ListingOptions::new(Arc::new(ParquetFormat::default())).with_file_extension("");
    let config = ListingTableConfig::new_with_multi_paths(urls).with_listing_options(options).with_schema(schema);
    let inner = ListingTable::try_new(config).map_err(internal)?;
    Ok(Decoded::Scan { provider: Arc::new(CheckedScan { inner, files: files.to_vec() }), rows })
}

/// Files that are read anew by each scan, as long as they are those whose schema and number of rows are known.
#[derive(Debug)]
struct CheckedScan {
    inner: ListingTable,
    files: Vec<FileState>,
}

#[async_trait]
impl TableProvider for CheckedScan {
    fn schema(&self) -> SchemaRef {
        self.inner.schema()
    }

    fn table_type(&self) -> TableType {
        self.inner.table_type()
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> datafusion::error::Result<Arc<dyn ExecutionPlan>> {
        marks::still(&self.files, false).map_err(|e| datafusion::error::DataFusionError::External(Box::new(e)))?;
        self.inner.scan(session, projection, filters, limit).await
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> datafusion::error::Result<Vec<TableProviderFilterPushDown>> {
        self.inner.supports_filters_pushdown(filters)
    }
}

/// Checks both ends of the file and reads its footer.
fn open(file: &FileState) -> Result<Opened, Diagnostic> {
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
    let plain = ArrowReaderMetadata::load(&handle, ArrowReaderOptions::new());
    let plain = plain.map_err(|e| cut_off(path, &e.to_string()))?;
    // Text as views: slices and filters of them copy nothing.
    let schema = Arc::new(views(plain.schema()));
    let options = ArrowReaderOptions::new().with_schema(schema);
    let metadata = ArrowReaderMetadata::try_new(Arc::clone(plain.metadata()), options)
        .map_err(|e| cut_off(path, &e.to_string()))?;
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
    Ok(Opened { path: path.clone(), bytes: file.bytes, memory_bytes: packed.max(rows * fixed), rows, metadata })
}

/// Bytes of a row's value in memory, without the data of long strings and lists. The size in the file is not used, because it is
/// that of the encoded pages: a column that repeats a few values has next to none.
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
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(cut_off(path, "its inner structure makes no sense")))
}

fn no_parquet(path: &Path, bytes: u64) -> Diagnostic {
    let error = Diagnostic::error(
        Class::Data,
        "no-parquet",
        format!("`{}` ({bytes} bytes) is not a Parquet file: it does not start and end with `PAR1`", path.display()),
    );
    let name = path.to_string_lossy().to_lowercase();
    if name.contains(".csv") || name.ends_with(".tsv") || name.ends_with(".txt") {
        error.help("read it with `read_csv`")
    } else if name.contains(".json") || name.contains(".ndjson") {
        error.help("read it with `read_json`")
    } else {
        error.help("check how it was made and whether it was copied whole")
    }
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

/// The schema that all files have; a column that can be null in one file can be null in all.
fn same_schema(files: &[Opened]) -> Result<SchemaRef, Diagnostic> {
    let first = &files[0];
    let mut fields: Vec<Field> = first
        .metadata
        .schema()
        .fields()
        .iter()
        .map(|f| Field::new(f.name(), f.data_type().clone(), f.is_nullable()))
        .collect();
    let differs = |file: &Opened, what: String| {
        Diagnostic::error(
            Class::Data,
            "different-columns",
            format!("`{}` does not have the columns of `{}`: {what}", file.path.display(), first.path.display()),
        )
        .help("read the files one by one, cast or select columns, and put them together with `concat`")
    };
    let mut names = std::collections::HashSet::new();
    if let Some(twice) = fields.iter().find(|f| !names.insert(f.name().clone())) {
        return Err(Diagnostic::error(
            Class::Data,
            "duplicate-column",
            format!("`{}` has more than one column named `{}`", first.path.display(), twice.name()),
        ));
    }
    for file in &files[1..] {
        let other = file.metadata.schema();
        if let Some(extra) = other.fields().iter().find(|f| !fields.iter().any(|o| o.name() == f.name())) {
            return Err(differs(file, format!("its column `{}` is not in the first", extra.name())));
        }
        for field in &mut fields {
            match other.field_with_name(field.name()) {
                Err(_) => return Err(differs(file, format!("it has no column `{}`", field.name()))),
                Ok(found) if found.data_type() != field.data_type() => {
                    let (there, here) = (dtype_to_wire(found.data_type()), dtype_to_wire(field.data_type()));
                    return Err(differs(file, format!("its column `{}` is {there}, not {here}", field.name())));
                }
                Ok(found) => *field = field.clone().with_nullable(field.is_nullable() || found.is_nullable()),
            }
        }
    }
    Ok(Arc::new(Schema::new(fields)))
}

/// Row groups that are read one after another, so that a batch can have rows of two of them without a copy.
struct Run<'a> {
    file: &'a Opened,
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

/// Decodes each file into batches of rows `i * chunk..(i + 1) * chunk`. Columns are decoded apart, so that all cores share a
/// file of one row group.
fn decode(
    files: &[Opened],
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
fn runs(file: &Opened, chunk: usize) -> Vec<Run<'_>> {
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
        // Another file can have its columns in another order, and other nullability.
        let roots = fields.iter().map(|f| file.metadata.schema().index_of(f.name())).collect::<Result<Vec<_>, _>>();
        let roots = roots.map_err(|e| damaged(&e))?;
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
                let columns = fields.iter().map(|f| batch.column_by_name(f.name()).map(Arc::clone));
                let columns: Option<Vec<_>> = columns.collect();
                let columns = columns.ok_or_else(|| cut_off(&file.path, "a column is missing"))?;
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
        let read = read(std::slice::from_ref(file), u64::MAX, division, &Reservation::new(&NoLimit), &task)?;
        match read {
            Decoded::Table(table) => {
                assert_eq!(task.progress().rows as usize, table.rows());
                Ok(table)
            }
            Decoded::Scan { .. } => panic!("a small file is held"),
        }
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
