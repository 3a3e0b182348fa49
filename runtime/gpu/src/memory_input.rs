//! Inputs of fragments that are rows in memory.

use std::any::Any;
use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::datasource::memory::{DataSourceExec, MemorySourceConfig};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;
use onrush_frame::Table;
use onrush_logical::mem_table::HeldRows;
use onrush_ops::residency::ColumnChunks;

use super::materialized_exec;
use super::table_columns::{self, chunks_of};

/// The table below a node whose rows a frame holds, and which of its columns are read, under whatever names.
pub fn held(plan: &Arc<dyn ExecutionPlan>) -> Option<(&Table, Vec<usize>)> {
    let any: &dyn Any = materialized_exec::source(plan).as_ref();
    if let Some(projection) = any.downcast_ref::<ProjectionExec>() {
        let (table, columns) = held(projection.input())?;
        let chosen = projection.expr().iter().map(|chosen| {
            let any: &dyn Any = chosen.expr.as_ref();
            Some(columns[any.downcast_ref::<Column>()?.index()])
        });
        return Some((table, chosen.collect::<Option<_>>()?));
    }
    let source: &dyn Any = any.downcast_ref::<DataSourceExec>()?.data_source().as_ref();
    let rows = source.downcast_ref::<HeldRows>().filter(|_| plan.fetch().is_none())?;
    Some((rows.table(), rows.columns()))
}

/// Column `column` of rows in memory.
pub fn memory_column(plan: &Arc<dyn ExecutionPlan>, column: usize) -> Option<ColumnChunks> {
    if let Some((table, columns)) = held(plan) {
        return Some(chunks_of(table, columns[column]));
    }
    let (batches, columns) = memory(plan)?;
    Some(ColumnChunks::of(batches, columns[column]))
}

/// Whether a string column of rows that are only on the device is stored as bytes there.
pub fn memory_as_bytes(plan: &Arc<dyn ExecutionPlan>, column: usize) -> Option<bool> {
    let (table, columns) = held(plan)?;
    table_columns::coming_as_bytes(table, columns[column])
}

/// How many rows in memory a node reads.
pub fn memory_rows(plan: &Arc<dyn ExecutionPlan>) -> Option<u64> {
    if let Some((table, _)) = held(plan) {
        return Some(table.rows() as u64);
    }
    memory(plan).map(|(batches, _)| batches.iter().map(|batch| batch.num_rows() as u64).sum())
}

/// Rows in memory, and which of their columns are read.
pub fn memory(plan: &Arc<dyn ExecutionPlan>) -> Option<(&[RecordBatch], Vec<usize>)> {
    let any: &dyn Any = materialized_exec::source(plan).as_ref();
    let source: &dyn Any = any.downcast_ref::<DataSourceExec>()?.data_source().as_ref();
    // A limit that was pushed into the scan: let the CPU do it.
    if plan.fetch().is_some() {
        return None;
    }
    if let Some(held) = source.downcast_ref::<HeldRows>() {
        return Some((held.table().batches(), held.columns()));
    }
    let memory = source.downcast_ref::<MemorySourceConfig>()?;
    let [batches] = memory.partitions() else { return None };
    let all = memory.original_schema().fields().len();
    Some((batches, memory.projection().clone().unwrap_or_else(|| (0..all).collect())))
}

/// Whether two inputs are the same rows in memory: a plan that is to run again has new nodes over them.
pub fn is_same(old: &Arc<dyn ExecutionPlan>, new: &Arc<dyn ExecutionPlan>) -> bool {
    if let Some(((old, these), (new, those))) = held(old).zip(held(new)) {
        return std::ptr::eq(old, new) && these == those;
    }
    Arc::ptr_eq(old, new)
        || memory(old).zip(memory(new)).is_some_and(|((old, these), (new, those))| {
            old.as_ptr() == new.as_ptr() && old.len() == new.len() && these == those
        })
}
