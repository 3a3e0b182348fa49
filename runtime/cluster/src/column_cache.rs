//! The cache of decoded columns of a worker, so that a file is decoded once and not for each query.
//!
//! A column of a part of a table (some files, or ranges of them) is cached as the batches in which DataFusion reads it.
//! Queries read the same parts, because the session cuts files in the same way each time. The least recently used
//! columns are dropped first.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};
use futures::{StreamExt, stream};
use parking_lot::Mutex;

use crate::files;
use crate::plan_node::leaf_methods;

/// Bytes of a part in its files, at most. Each query reads a larger one, and skips what its filters exclude.
const LARGEST_PART: i64 = 256 << 20;

/// The cache of a worker.
pub(crate) struct ColumnCache {
    limit: usize,
    state: Mutex<CachedColumns>,
}

#[derive(Default)]
struct CachedColumns {
    columns: HashMap<Key, CachedColumn>,
    bytes: usize,
    clock: u64,
}

/// A part of a table, and the place of a column in the table.
type Key = ([u8; 32], usize);

struct CachedColumn {
    batches: Arc<[ArrayRef]>,
    bytes: usize,
    used: u64,
}

impl fmt::Debug for ColumnCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ColumnCache({} bytes)", self.state.lock().bytes)
    }
}

impl ColumnCache {
    pub fn new(limit: usize) -> ColumnCache {
        ColumnCache { limit, state: Mutex::default() }
    }

    fn get(&self, key: &Key) -> Option<Arc<[ArrayRef]>> {
        let mut state = self.state.lock();
        state.clock += 1;
        let now = state.clock;
        let column = state.columns.get_mut(key)?;
        column.used = now;
        Some(Arc::clone(&column.batches))
    }

    fn put(&self, key: Key, batches: Vec<ArrayRef>) {
        let bytes = batches.iter().map(bytes_of).sum::<usize>();
        if bytes > self.limit / 2 {
            return;
        }
        let mut state = self.state.lock();
        state.clock += 1;
        let column = CachedColumn { batches: batches.into(), bytes, used: state.clock };
        state.bytes += bytes;
        if let Some(old) = state.columns.insert(key, column) {
            state.bytes -= old.bytes;
        }
        while state.bytes > self.limit {
            let Some(oldest) = state.columns.iter().min_by_key(|(_, column)| column.used).map(|(key, _)| *key) else {
                break;
            };
            if let Some(old) = state.columns.remove(&oldest) {
                state.bytes -= old.bytes;
            }
        }
    }
}

fn bytes_of(array: &ArrayRef) -> usize {
    array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size())
}

/// The plan with the readers of the session: those that travel would use statistics of floats, which leave NaN out.
/// Each scan goes through the cache of the worker.
pub(crate) fn with_cache(
    plan: Arc<dyn ExecutionPlan>,
    context: &TaskContext,
    columns: Option<&Arc<ColumnCache>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| {
        let Some(config) = files::scan_of(&node) else { return Ok(Transformed::no(node)) };
        let Some(source) = config.file_source().downcast_ref::<ParquetSource>() else {
            return Ok(Transformed::no(node));
        };
        let readers = onrush_io::parquet_readers(&context.runtime_env(), &config.object_store_url)?;
        let source = Arc::new(source.clone().with_parquet_file_reader_factory(readers));
        let config = FileScanConfigBuilder::from(config.clone()).with_source(source).build();
        let scan: Arc<dyn ExecutionPlan> = DataSourceExec::from_data_source(config.clone());
        Ok(Transformed::yes(match columns {
            Some(columns) => cached(scan, &config, columns),
            None => scan,
        }))
    })
    .map(|plan| plan.data)
}

/// The scan of Parquet files through the cache.
#[derive(Debug)]
struct CachedScanExec {
    scan: Arc<dyn ExecutionPlan>,
    config: FileScanConfig,
    /// The places in the table of the columns that are read.
    wanted: Vec<usize>,
    columns: Arc<ColumnCache>,
}

/// The scan through the cache, if it reads plain columns of local files.
fn cached(scan: Arc<dyn ExecutionPlan>, config: &FileScanConfig, columns: &Arc<ColumnCache>) -> Arc<dyn ExecutionPlan> {
    match wanted(config) {
        Some(wanted) => Arc::new(CachedScanExec { scan, config: config.clone(), wanted, columns: Arc::clone(columns) }),
        None => scan,
    }
}

fn wanted(config: &FileScanConfig) -> Option<Vec<usize>> {
    let source = config.file_source();
    let own = source.table_schema().file_schema().fields().len();
    let place =
        |expr: &Arc<dyn PhysicalExpr>| expr.downcast_ref::<Column>().map(Column::index).filter(|place| *place < own);
    let is_local = config.object_store_url.as_str() == "file:///" && config.limit.is_none();
    if !is_local {
        return None;
    }
    source.projection()?.iter().map(|projected| place(&projected.expr)).collect()
}

impl CachedScanExec {
    /// The key of a part: its files as they are now, their ranges, and the table that they are read as.
    fn part(&self, group: &FileGroup) -> Option<[u8; 32]> {
        let mut hasher = blake3::Hasher::new();
        let mut total = 0;
        for file in group.files() {
            let path = format!("/{}", file.object_meta.location);
            let mark = files::mark(path.as_ref()).ok()?;
            let modified = std::fs::metadata(&path).and_then(|metadata| metadata.modified()).ok()?;
            let modified = modified.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_nanos();
            let range = file.range.as_ref().map(|range| (range.start, range.end));
            total += range.map_or(file.object_meta.size as i64, |(start, end)| end - start);
            hasher.update(&postcard::to_stdvec(&(mark, modified, range)).ok()?);
        }
        hasher.update(format!("{:?}", self.config.file_source().table_schema().table_schema()).as_bytes());
        (total <= LARGEST_PART).then(|| *hasher.finalize().as_bytes())
    }

    /// The rows of some columns of a part, read from its files without filters.
    fn decoded(
        &self,
        group: &FileGroup,
        places: Vec<usize>,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let source = self.config.file_source();
        let mut plain = ParquetSource::new(source.table_schema().clone());
        if let Some(parquet) = source.downcast_ref::<ParquetSource>() {
            plain = plain.with_table_parquet_options(parquet.table_parquet_options().clone());
            if let Some(readers) = parquet.parquet_file_reader_factory() {
                plain = plain.with_parquet_file_reader_factory(Arc::clone(readers));
            }
        }
        let config = FileScanConfigBuilder::new(self.config.object_store_url.clone(), Arc::new(plain))
            .with_file_groups(vec![group.clone()])
            .with_projection_indices(Some(places))?
            .build();
        DataSourceExec::from_data_source(config).execute(0, context)
    }
}

/// A scan that is under way.
struct Scan {
    schema: SchemaRef,
    columns: Arc<ColumnCache>,
    keys: Vec<Key>,
    /// Columns of the cache, and the place among the decoded ones of each that was not in it.
    known: Vec<std::result::Result<Arc<[ArrayRef]>, usize>>,
    /// The columns that are decoded now. `None` if all are known.
    decoded: Option<SendableRecordBatchStream>,
    /// Their batches so far, for the cache.
    fresh: Vec<Vec<ArrayRef>>,
    bytes: usize,
    at: usize,
}

impl Scan {
    async fn next(&mut self) -> Option<Result<RecordBatch>> {
        let batch = match &mut self.decoded {
            Some(decoded) => match decoded.next().await {
                Some(Ok(batch)) => Some(batch),
                Some(Err(error)) => return Some(Err(error)),
                None => {
                    self.fill_cache();
                    return None;
                }
            },
            None => None,
        };
        let column = |known: &std::result::Result<Arc<[ArrayRef]>, usize>| match (known, &batch) {
            (Ok(batches), _) => batches.get(self.at).cloned(),
            (Err(place), Some(batch)) => Some(Arc::clone(batch.column(*place))),
            (Err(_), None) => None,
        };
        let arrays: Vec<ArrayRef> = self.known.iter().map_while(column).collect();
        if arrays.len() < self.known.len() {
            // The end of the cached columns. Decoded columns have as many batches, or the file has changed meanwhile.
            return batch
                .is_some()
                .then(|| Err(DataFusionError::Execution("a file has changed while it was read".into())));
        }
        self.at += 1;
        if let Some(batch) = &batch {
            self.bytes += batch.columns().iter().map(bytes_of).sum::<usize>();
            match self.bytes > self.columns.limit {
                true => self.fresh.clear(),
                false => self.fresh.iter_mut().zip(batch.columns()).for_each(|(all, new)| all.push(Arc::clone(new))),
            }
        }
        let rows = RecordBatchOptions::new().with_row_count(batch.map(|batch| batch.num_rows()));
        let options = if arrays.is_empty() { rows } else { RecordBatchOptions::new() };
        Some(RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options).map_err(Into::into))
    }

    fn fill_cache(&mut self) {
        let keys = self.known.iter().zip(&self.keys).filter(|(known, _)| known.is_err()).map(|(_, key)| *key);
        for (key, batches) in keys.zip(std::mem::take(&mut self.fresh)) {
            self.columns.put(key, batches);
        }
    }
}

impl DisplayAs for CachedScanExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        self.scan.fmt_as(t, f)
    }
}

impl ExecutionPlan for CachedScanExec {
    leaf_methods!("CachedScanExec", self => self.scan.properties());

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let group = self.config.file_groups.get(partition);
        let part = group.and_then(|group| Some((group, self.part(group)?)));
        // Counting rows needs no column, and DataFusion counts them in the footers.
        let Some((group, part)) = part.filter(|_| !self.wanted.is_empty()) else {
            return self.scan.execute(partition, context);
        };
        let keys: Vec<Key> = self.wanted.iter().map(|place| (part, *place)).collect();
        let mut missing = Vec::new();
        let mut known = Vec::with_capacity(keys.len());
        for key in &keys {
            known.push(self.columns.get(key).ok_or_else(|| {
                missing.push(key.1);
                missing.len() - 1
            }));
        }
        let fresh = vec![Vec::new(); missing.len()];
        let decoded = if missing.is_empty() { None } else { Some(self.decoded(group, missing, context)?) };
        let (schema, columns) = (self.scan.schema(), Arc::clone(&self.columns));
        let scan = Scan { schema: Arc::clone(&schema), columns, keys, known, decoded, fresh, bytes: 0, at: 0 };
        let rows = stream::unfold(scan, |mut scan| async move { scan.next().await.map(|batch| (batch, scan)) });
        // Cached batches come without a pause, in which a task could be cancelled.
        Ok(make_cooperative(Box::pin(RecordBatchStreamAdapter::new(schema, rows))))
    }
}
