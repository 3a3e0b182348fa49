//! Parquet files: decoded once and held if they are small enough, otherwise scanned by DataFusion for every query.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use onrush_frame::{Table, TaskHandle, dtype_to_wire};
use onrush_wire::{Class, Diagnostic};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};

use crate::cache::{Decoded, FileState, io_diagnostic};
use crate::marks;
use crate::memory::Reservation;

const MAGIC: &[u8; 4] = b"PAR1";
const ENCRYPTED: &[u8; 4] = b"PARE";
/// Rows of a batch in memory.
const BATCH: usize = 65_536;

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
        let batches = decode(&opened, &schema, taken, task)?;
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

/// All row groups on all cores, in their order.
fn decode(
    files: &[Opened],
    schema: &SchemaRef,
    taken: &Reservation<'_>,
    task: &TaskHandle,
) -> Result<Vec<RecordBatch>, Diagnostic> {
    let jobs: Vec<(&Opened, usize)> =
        files.iter().flat_map(|f| (0..f.metadata.metadata().num_row_groups()).map(move |g| (f, g))).collect();
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<Result<Vec<RecordBatch>, Diagnostic>>>> =
        Mutex::new(jobs.iter().map(|_| None).collect());
    let worker = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some((file, group)) = jobs.get(i) else { return };
            let result = guarded(&file.path, || row_group(file, *group, schema, taken, task));
            if result.is_err() {
                next.store(jobs.len(), Ordering::Relaxed);
            }
            let groups = file.metadata.metadata().num_row_groups() as u64;
            task.add_bytes(file.bytes / groups.max(1));
            done.lock().unwrap_or_else(|e| e.into_inner())[i] = Some(result);
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get()).min(jobs.len().max(1));
    std::thread::scope(|scope| {
        for _ in 1..cores {
            scope.spawn(worker);
        }
        worker();
    });
    let mut batches = Vec::new();
    for result in done.into_inner().unwrap_or_else(|e| e.into_inner()) {
        match result {
            Some(result) => batches.extend(result?),
            None => break,
        }
    }
    Ok(batches)
}

fn row_group(
    file: &Opened,
    group: usize,
    schema: &SchemaRef,
    taken: &Reservation<'_>,
    task: &TaskHandle,
) -> Result<Vec<RecordBatch>, Diagnostic> {
    let handle = File::open(&file.path).map_err(|e| io_diagnostic("read", &file.path, &e))?;
    let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(handle, file.metadata.clone())
        .with_row_groups(vec![group])
        .with_batch_size(BATCH)
        .build()
        .map_err(|e| cut_off(&file.path, &e.to_string()))?;
    let mut batches = Vec::new();
    for batch in reader {
        task.check()?;
        let batch = batch.map_err(|e| cut_off(&file.path, &e.to_string()))?;
        taken.take(&file.path, batch.get_array_memory_size() as u64)?;
        task.add_rows(batch.num_rows() as u64);
        // Another file can have its columns in another order, and other nullability.
        let columns = schema
            .fields()
            .iter()
            .map(|f| batch.column_by_name(f.name()).map(Arc::clone))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| cut_off(&file.path, "a column is missing"))?;
        let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
            .map_err(|e| cut_off(&file.path, &e.to_string()))?;
        batches.push(batch);
    }
    Ok(batches)
}
