//! A DataFusion table source over batches in memory, with cheap planning.
//!
//! DataFusion's `MemorySourceConfig` copies the list of batches several times for each plan, and reads every array for
//! its statistics. Planning a table of a thousand batches then takes longer than computing on it.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{ColumnStatistics, Statistics, project_schema};
use datafusion::datasource::memory::{DataSourceExec, MemorySourceConfig};
use datafusion::datasource::source::DataSource;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, PhysicalExpr};
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::execution_plan::SchedulingType;
use datafusion::physical_plan::memory::MemoryStream;
use datafusion::physical_plan::projection::{all_alias_free_columns, new_projections_for_columns};
use datafusion::physical_plan::{DisplayFormatType, ExecutionPlan, Partitioning};
use onrush_frame::Table;

/// Rows of a batch of which an operator's intermediate columns stay in a core's cache.
const CACHED_ROWS: usize = 16_384;

/// A table as something to scan.
#[derive(Debug)]
pub struct HeldTable(pub Arc<Table>);

#[async_trait]
impl TableProvider for HeldTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.0.schema())
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = project_schema(self.0.schema(), projection)?;
        let table = Arc::clone(&self.0);
        let rows = HeldRows { table, projection: projection.cloned(), schema, fetch: None, chunk: None };
        Ok(DataSourceExec::from_data_source(rows))
    }
}

/// The rows of a table in their order: in one partition, or in partitions of so many rows.
#[derive(Clone, Debug)]
pub struct HeldRows {
    table: Arc<Table>,
    projection: Option<Vec<usize>>,
    /// The columns that are read.
    schema: SchemaRef,
    fetch: Option<usize>,
    /// Rows of each partition; the last one may have fewer.
    chunk: Option<usize>,
}

impl HeldRows {
    /// The same rows in partitions of `chunk` rows. A row's partition depends on its number alone.
    pub fn in_chunks(&self, chunk: usize) -> HeldRows {
        HeldRows { chunk: Some(chunk.max(1)), ..self.clone() }
    }

    /// Rows of each partition, if there are several.
    pub fn chunk(&self) -> Option<usize> {
        self.chunk
    }

    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The places of the columns that are read.
    pub fn columns(&self) -> Vec<usize> {
        self.projection.clone().unwrap_or_else(|| (0..self.table.schema().fields().len()).collect())
    }
}

/// Batches of at most [`CACHED_ROWS`] rows.
fn cut(batches: &[RecordBatch]) -> Vec<RecordBatch> {
    let mut pieces = Vec::with_capacity(batches.len());
    for batch in batches {
        let rows = batch.num_rows();
        // A piece of a few rows costs as many calls as a whole one.
        let count = (rows + CACHED_ROWS / 2) / CACHED_ROWS;
        match count {
            0 | 1 => pieces.push(batch.clone()),
            _ => {
                let start = |piece: usize| if piece == count { rows } else { piece * CACHED_ROWS };
                pieces.extend((0..count).map(|piece| batch.slice(start(piece), start(piece + 1) - start(piece))));
            }
        }
    }
    pieces
}

impl DataSource for HeldRows {
    fn open(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let batches: Vec<RecordBatch> = match self.chunk {
            Some(chunk) => cut(self.table.slice(partition * chunk, chunk).batches()),
            None => self.table.batches().to_vec(),
        };
        let stream = MemoryStream::try_new(batches, Arc::clone(&self.schema), self.projection.clone())?;
        Ok(Box::pin(cooperative(stream.with_fetch(self.fetch))))
    }

    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "rows={}", self.table.rows())?;
        self.chunk.map_or(Ok(()), |rows| write!(f, ", chunk={rows}"))?;
        self.fetch.map_or(Ok(()), |rows| write!(f, ", fetch={rows}"))
    }

    fn repartitioned(
        &self,
        target_partitions: usize,
        smallest: usize,
        order: Option<LexOrdering>,
    ) -> Result<Option<Arc<dyn DataSource>>> {
        let batches = [self.table.batches().to_vec()];
        let rows = MemorySourceConfig::try_new(&batches, Arc::clone(self.table.schema()), self.projection.clone())?;
        rows.with_limit(self.fetch).repartitioned(target_partitions, smallest, order)
    }

    fn output_partitioning(&self) -> Partitioning {
        let partitions = self.chunk.map_or(1, |chunk| self.table.rows().div_ceil(chunk).max(1));
        Partitioning::UnknownPartitioning(partitions)
    }

    fn eq_properties(&self) -> EquivalenceProperties {
        EquivalenceProperties::new(Arc::clone(&self.schema))
    }

    fn scheduling_type(&self) -> SchedulingType {
        SchedulingType::Cooperative
    }

    /// Statistics of all rows: nothing asks for a partition.
    fn partition_statistics(&self, _: Option<usize>) -> Result<Arc<Statistics>> {
        let columns = self.columns();
        let sizes = self.table.column_sizes();
        let nulls = |column: &usize| {
            let mut known = ColumnStatistics::new_unknown();
            known.null_count = Precision::Exact(sizes[*column].nulls);
            known
        };
        Ok(Arc::new(Statistics {
            num_rows: Precision::Exact(self.table.rows()),
            total_byte_size: Precision::Exact(columns.iter().map(|column| sizes[*column].bytes).sum()),
            column_statistics: columns.iter().map(nulls).collect(),
        }))
    }

    fn with_fetch(&self, fetch: Option<usize>) -> Option<Arc<dyn DataSource>> {
        Some(Arc::new(HeldRows { fetch, ..self.clone() }))
    }

    fn fetch(&self) -> Option<usize> {
        self.fetch
    }

    fn try_swapping_with_projection(&self, projection: &ProjectionExprs) -> Result<Option<Arc<dyn DataSource>>> {
        let exprs: Vec<_> = projection.iter().cloned().collect();
        if !all_alias_free_columns(&exprs) {
            return Ok(None);
        }
        let columns = new_projections_for_columns(&exprs, &self.columns());
        let schema = project_schema(self.table.schema(), Some(&columns))?;
        Ok(Some(Arc::new(HeldRows { projection: Some(columns), schema, ..self.clone() })))
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }
}
