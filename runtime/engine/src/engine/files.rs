//! Frames that are some columns of a Parquet file which is too large to be held by the cache of files. If such a frame
//! is to be held, all cores decode the file. A scan would be read by one.

use std::any::Any;
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::DFSchema;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Expr, LogicalPlan};
use onrush_device::phases::{self, Phase};
use onrush_frame::{Table, TaskHandle};
use onrush_io::ParquetScan;
use onrush_logical::frame_table::{self, Frame};
use onrush_wire::{Class, Diagnostic};

use super::{Engine, run};

impl Engine {
    /// The rows of such a frame. `None` for other frames, and if there is too little memory for them.
    pub(super) fn decoded(&self, frame: &Frame, task: &TaskHandle) -> Result<Option<Table>, Diagnostic> {
        let Some((provider, columns)) = self.scanned(&frame.plan) else { return Ok(None) };
        let any: &dyn Any = provider.as_ref();
        let Some(scan) = any.downcast_ref::<ParquetScan>() else { return Ok(None) };
        let mut distinct = columns.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let fits = scan.memory_bytes(&columns) <= self.memory_limit() / 2;
        if columns.is_empty() || distinct.len() < columns.len() || !fits {
            return Ok(None);
        }
        task.stage(frame.title.clone());
        let _time = phases::scope(Phase::Read);
        match scan.decode(&columns, self.pool.as_ref(), task) {
            Ok(table) => run::conform(Arc::clone(&frame.schema), table.batches().to_vec()).map(Some),
            // A scan that is streamed takes less.
            Err(error) if error.class == Class::Resources => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The source of a plan that only chooses columns of it, and these columns.
    fn scanned(&self, plan: &LogicalPlan) -> Option<(Arc<dyn TableProvider>, Vec<usize>)> {
        match plan {
            LogicalPlan::TableScan(scan) if scan.filters.is_empty() && scan.fetch.is_none() => {
                let (provider, columns) = match frame_table::frame_of(scan) {
                    Some(frame) if self.held(&frame).is_some() => return None,
                    Some(frame) => self.scanned(&frame.plan)?,
                    None => {
                        let provider = source_as_provider(&scan.source).ok()?;
                        let columns = (0..provider.schema().fields().len()).collect();
                        (provider, columns)
                    }
                };
                let columns = match &scan.projection {
                    Some(chosen) => chosen.iter().map(|column| columns[*column]).collect(),
                    None => columns,
                };
                Some((provider, columns))
            }
            LogicalPlan::SubqueryAlias(alias) => self.scanned(&alias.input),
            LogicalPlan::Projection(projection) => {
                let (provider, columns) = self.scanned(&projection.input)?;
                let chosen = projection.expr.iter().map(|expr| Some(columns[column(expr, projection.input.schema())?]));
                Some((provider, chosen.collect::<Option<_>>()?))
            }
            _ => None,
        }
    }
}

/// The place of the column that an expression is, under whatever name.
fn column(expr: &Expr, schema: &DFSchema) -> Option<usize> {
    match expr {
        Expr::Column(column) => schema.index_of_column(column).ok(),
        Expr::Alias(alias) => column(&alias.expr, schema),
        _ => None,
    }
}
