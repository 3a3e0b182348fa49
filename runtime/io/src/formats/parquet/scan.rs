//! Parquet files that are too large to be held: DataFusion reads what each query needs of them.
//!
//! The statistics of float columns are not used. Writers leave NaN out of them, while NaN is the largest float here: a
//! row group whose maximum is 3 can have rows with `x > 50`.

use std::sync::Arc;

use arrow::datatypes::{Field, SchemaRef};
use async_trait::async_trait;
use bytes::Bytes;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{ScalarValue, Statistics};
use datafusion::datasource::listing::{ListingTableUrl, PartitionedFile};
use datafusion::datasource::physical_plan::parquet::CachedParquetFileReaderFactory;
use datafusion::datasource::physical_plan::{
    FileGroup, FileScanConfigBuilder, ParquetFileReaderFactory, ParquetSource,
};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::{DataFusionError, Result as PlanResult};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::FutureExt;
use futures::future::BoxFuture;
use onrush_frame::{Table, TaskHandle};
use onrush_wire::{Class, Diagnostic};
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::basic::Type;
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use url::Url;

use super::{OpenFile, decode};
use crate::file::FileState;
use crate::file_marks;
use crate::memory::{Memory, Reservation};
use crate::pieces::Division;

/// The columns of a scan.
#[derive(Debug)]
pub(super) struct Parts {
    /// The columns of the files.
    pub own: SchemaRef,
    /// The columns of the folders.
    pub folders: Vec<Field>,
    /// The columns that the table has, in its order.
    pub schema: SchemaRef,
}

/// Files that are read anew by each scan, as long as they are those whose schema and number of rows are known.
#[derive(Debug)]
pub struct ParquetScan {
    schema: SchemaRef,
    table: TableSchema,
    /// The places in the table of the columns of the schema.
    places: Vec<usize>,
    url: ListingTableUrl,
    locations: Vec<PartitionedFile>,
    rows: u64,
    files: Vec<FileState>,
    opened: Vec<OpenFile>,
}

impl ParquetScan {
    pub(super) fn new(parts: Parts, files: Vec<FileState>, opened: Vec<OpenFile>) -> Result<ParquetScan, Diagnostic> {
        let internal = |e: DataFusionError| {
            Diagnostic::error(Class::Internal, "parquet-scan", format!("the files cannot be scanned: {e}"))
        };
        let mut locations = Vec::with_capacity(opened.len());
        let mut first = None;
        for file in &opened {
            // Not parsed: a `?` or `[` in a name would be taken for a pattern.
            let url = Url::from_file_path(&file.path).map_err(|()| {
                internal(DataFusionError::Plan(format!("`{}` is not an absolute path", file.path.display())))
            })?;
            let url = ListingTableUrl::try_new(url, None).map_err(internal)?;
            let mut location = PartitionedFile::new(String::new(), file.bytes);
            location.object_meta.location = url.prefix().clone();
            for field in &parts.folders {
                let value = file.constants.iter().find(|(name, _)| name == field.name());
                let value = value.map(|(_, value)| ScalarValue::try_from_array(value, 0)).transpose();
                let null = ScalarValue::try_from(field.data_type()).unwrap_or(ScalarValue::Null);
                location.partition_values.push(value.map_err(internal)?.unwrap_or(null));
            }
            locations.push(location);
            first.get_or_insert(url);
        }
        let url = first.ok_or_else(|| Diagnostic::error(Class::Internal, "parquet-scan", "there is no file"))?;
        let table = TableSchema::builder(parts.own)
            .with_table_partition_cols(parts.folders.into_iter().map(Arc::new).collect::<Vec<_>>())
            .build();
        let place = |f: &Arc<Field>| table.table_schema().index_of(f.name());
        let places = parts.schema.fields().iter().map(place).collect::<Result<_, _>>();
        let places = places.map_err(|e| internal(e.into()))?;
        let rows = opened.iter().map(|o| o.rows).sum();
        Ok(ParquetScan { schema: parts.schema, table, places, url, locations, rows, files, opened })
    }

    /// About the bytes that these columns take in memory.
    pub fn memory_bytes(&self, columns: &[usize]) -> u64 {
        let of = |file: &OpenFile| {
            columns.iter().map(|column| file.column_bytes(self.schema.field(*column).name())).sum::<u64>()
        };
        self.opened.iter().map(of).sum()
    }

    /// Decodes some columns of all rows, by all cores. The batches have the rows of a chunk.
    ///
    /// # Errors
    /// A file that has changed since it was opened, or that is damaged; not enough `memory`.
    pub fn decode(&self, columns: &[usize], memory: &dyn Memory, task: &TaskHandle) -> Result<Table, Diagnostic> {
        file_marks::still(&self.files, false)?;
        let schema =
            Arc::new(self.schema.project(columns).map_err(|e| {
                Diagnostic::error(Class::Internal, "parquet-scan", format!("columns are missing: {e}"))
            })?);
        task.set_rows(0);
        task.set_total_rows(Some(self.rows));
        let batches = decode(&self.opened, &schema, Division::default(), &Reservation::new(memory), task)?;
        Ok(Table::new(schema, batches))
    }

    fn has_floats(&self) -> bool {
        self.opened
            .iter()
            .any(|file| (0..leaves(file.metadata.metadata())).any(|i| is_float(file.metadata.metadata(), i)))
    }
}

fn leaves(metadata: &ParquetMetaData) -> usize {
    metadata.file_metadata().schema_descr().num_columns()
}

fn is_float(metadata: &ParquetMetaData, leaf: usize) -> bool {
    let column = metadata.file_metadata().schema_descr().column(leaf);
    let is_half = column.logical_type_ref() == Some(&parquet::basic::LogicalType::Float16);
    is_half || matches!(column.physical_type(), Type::FLOAT | Type::DOUBLE)
}

#[async_trait]
impl TableProvider for ParquetScan {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        file_marks::still(&self.files, false).map_err(|e| DataFusionError::External(Box::new(e)))?;
        let (runtime, url) = (session.runtime_env(), self.url.object_store());
        let mut factory = any_readers(runtime, &url)?;
        let mut source =
            ParquetSource::new(self.table.clone()).with_table_parquet_options(session.default_table_options().parquet);
        if self.has_floats() {
            factory = parquet_readers(runtime, &url)?;
            source = source.with_enable_page_index(false);
        }
        let source = source.with_parquet_file_reader_factory(factory);
        let mut statistics = Statistics::new_unknown(self.table.table_schema());
        statistics.num_rows = Precision::Exact(self.rows as usize);
        let places = match projection {
            Some(chosen) => chosen.iter().map(|i| self.places[*i]).collect(),
            None => self.places.clone(),
        };
        // One group: the rows come in the order of the files.
        let config = FileScanConfigBuilder::new(url, Arc::new(source))
            .with_file_groups(vec![FileGroup::new(self.locations.clone())])
            .with_statistics(statistics)
            .with_projection_indices(Some(places))?
            .with_limit(limit)
            .build();
        Ok(DataSourceExec::from_data_source(config))
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> PlanResult<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }
}

fn any_readers(runtime: &RuntimeEnv, url: &ObjectStoreUrl) -> PlanResult<Arc<dyn ParquetFileReaderFactory>> {
    let store = runtime.object_store(url)?;
    let cache = runtime.cache_manager.get_file_metadata_cache();
    Ok(Arc::new(CachedParquetFileReaderFactory::new(store, cache)))
}

/// Readers of Parquet files that leave out the statistics of float columns, as all scans of such files need them.
///
/// # Errors
/// If the runtime knows no store of this URL.
pub fn parquet_readers(runtime: &RuntimeEnv, url: &ObjectStoreUrl) -> PlanResult<Arc<dyn ParquetFileReaderFactory>> {
    Ok(Arc::new(WithoutFloats { inner: any_readers(runtime, url)? }))
}

/// Readers of files whose metadata have no statistics of float columns.
#[derive(Debug)]
struct WithoutFloats {
    inner: Arc<dyn ParquetFileReaderFactory>,
}

impl ParquetFileReaderFactory for WithoutFloats {
    fn create_reader(
        &self,
        partition: usize,
        file: PartitionedFile,
        hint: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> PlanResult<Box<dyn AsyncFileReader + Send>> {
        Ok(Box::new(Reader { inner: self.inner.create_reader(partition, file, hint, metrics)? }))
    }
}

struct Reader {
    inner: Box<dyn AsyncFileReader + Send>,
}

impl AsyncFileReader for Reader {
    fn get_bytes(&mut self, range: std::ops::Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        self.inner.get_bytes(range)
    }

    fn get_byte_ranges(&mut self, ranges: Vec<std::ops::Range<u64>>) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
        self.inner.get_byte_ranges(ranges)
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        async move { without_floats(&*self.inner.get_metadata(options).await?).map(Arc::new) }.boxed()
    }
}

fn without_floats(metadata: &ParquetMetaData) -> ParquetResult<ParquetMetaData> {
    let groups = metadata.row_groups().iter().map(|group| {
        let columns = group.columns().iter().enumerate().map(|(i, column)| match is_float(metadata, i) {
            true => column.clone().into_builder().clear_statistics().build(),
            false => Ok(column.clone()),
        });
        group.clone().into_builder().set_column_metadata(columns.collect::<ParquetResult<_>>()?).build()
    });
    let groups = groups.collect::<ParquetResult<Vec<RowGroupMetaData>>>()?;
    Ok(metadata.clone().into_builder().set_row_groups(groups).build())
}
