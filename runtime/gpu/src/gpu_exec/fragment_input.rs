//! The inputs of a fragment: read for the device, and kept readable for the CPU.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use arrow::array::RecordBatch;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::TryStreamExt;
use onrush_ops::residency::ColumnChunks;
use onrush_ops::{DeviceTable, Executor};

use super::{FragmentRun, GpuExec, Outcome};
use crate::accelerator::Accelerator;
use crate::blocking::blocking;
use crate::concat_exec::ConcatExec;
use crate::diagnostics::diagnostic;
use crate::download::download;
use crate::memory_input::{held, memory, memory_column, memory_rows};
use crate::plan_node::with_schema;
use crate::{materialized_exec, table_columns};

/// The columns that are read from an input.
#[derive(Clone)]
pub enum FragmentInput {
    /// The arrays of each column.
    Host { parts: Vec<ColumnChunks>, count: u64 },
    /// The columns that are read from the rows of another fragment.
    Device(DeviceTable),
    /// Several inputs, concatenated.
    Concat(Vec<FragmentInput>),
}

/// An input that has been read, should the CPU need it after all.
pub enum GatheredInput {
    Plan(Arc<dyn ExecutionPlan>),
    Device(DeviceTable, Arc<dyn ExecutionPlan>),
    Concat(Vec<GatheredInput>, Arc<dyn ExecutionPlan>),
}

impl GatheredInput {
    pub async fn plan(self, accelerator: &Arc<Accelerator>) -> Result<Arc<dyn ExecutionPlan>> {
        let (table, of) = match self {
            GatheredInput::Plan(plan) => return Ok(plan),
            GatheredInput::Device(table, of) => (table, of),
            GatheredInput::Concat(parts, of) => {
                let mut all = Vec::new();
                for part in parts {
                    let plan = Box::pin(part.plan(accelerator)).await?;
                    let in_memory = || held(&plan).map(|(table, columns)| (table.batches(), columns));
                    let Some((batches, columns)) = memory(&plan).or_else(in_memory) else {
                        return Err(DataFusionError::Internal("an input that was read is not in memory".to_string()));
                    };
                    for batch in batches {
                        all.push(with_schema(&batch.project(&columns)?, &of.schema())?);
                    }
                }
                return materialized_exec::fresh(all, &of);
            }
        };
        let (accelerator, schema) = (Arc::clone(accelerator), of.schema());
        let batches = blocking(false, move |_| download(&accelerator.gpu, &schema, &table, true)).await?;
        let batches = batches.map_err(|error| DataFusionError::External(Box::new(diagnostic(error))))?;
        materialized_exec::fresh(batches, &of)
    }
}

impl FragmentInput {
    pub fn count(&self) -> u64 {
        match self {
            FragmentInput::Host { count, .. } => *count,
            FragmentInput::Device(table) => table.rows,
            FragmentInput::Concat(parts) => parts.iter().map(FragmentInput::count).sum(),
        }
    }

    /// Whether nothing has to be uploaded.
    pub fn is_on(&self, gpu: &Executor) -> bool {
        match self {
            FragmentInput::Host { parts, .. } => {
                parts.iter().all(|parts| [false, true].into_iter().any(|form| gpu.residency.get(parts, form).is_some()))
            }
            FragmentInput::Device(_) => true,
            FragmentInput::Concat(parts) => parts.iter().all(|part| part.is_on(gpu)),
        }
    }

    /// The input comes back as what can be read again.
    pub async fn gather(
        input: Arc<dyn ExecutionPlan>,
        used: &[usize],
        read: &OnceLock<FragmentInput>,
        context: &Arc<TaskContext>,
    ) -> Result<(FragmentInput, GatheredInput)> {
        let of = |batches: &[RecordBatch], columns: &mut dyn Iterator<Item = usize>| FragmentInput::Host {
            parts: columns.map(|column| ColumnChunks::of(batches, column)).collect(),
            count: batches.iter().map(|batch| batch.num_rows() as u64).sum(),
        };
        if let Some((table, columns)) = held(&input)
            && let Some(here) = table_columns::coming(table)
        {
            let columns = used.iter().map(|column| here.columns[columns[*column]].clone()).collect();
            let rows = FragmentInput::Device(DeviceTable { rows: here.rows, columns });
            return Ok((rows, GatheredInput::Plan(input)));
        }
        if let Some(count) = memory_rows(&input) {
            // A plan that runs again reads the same arrays: thousands, maybe.
            let rows = read.get_or_init(|| {
                // All inputs of `memory_rows` have their columns.
                let column =
                    |column: &usize| memory_column(&input, *column).unwrap_or_else(|| ColumnChunks::new(Vec::new()));
                FragmentInput::Host { parts: used.iter().map(column).collect(), count }
            });
            return Ok((rows.clone(), GatheredInput::Plan(input)));
        }
        let any: &dyn Any = input.as_ref();
        if any.is::<ConcatExec>() {
            let (mut parts, mut gathered) = (Vec::new(), Vec::new());
            for child in input.children() {
                let none = OnceLock::new();
                let (rows, back) = Box::pin(FragmentInput::gather(Arc::clone(child), used, &none, context)).await?;
                parts.push(rows);
                gathered.push(back);
            }
            return Ok((FragmentInput::Concat(parts), GatheredInput::Concat(gathered, input)));
        }
        let (stream, counted) = match any.downcast_ref::<GpuExec>().filter(|below| below.finish == 0) {
            // Its rows stay where they are.
            Some(below) => {
                let running = FragmentRun::of(below, context);
                let counted = running.rows.clone();
                match Box::pin(running.run()).await? {
                    Outcome::Device(table) => {
                        counted.add(table.rows as usize);
                        let columns = used.iter().map(|column| table.columns[*column].clone()).collect();
                        let rows = FragmentInput::Device(DeviceTable { rows: table.rows, columns });
                        return Ok((rows, GatheredInput::Device(table, input)));
                    }
                    Outcome::Host(stream) => (stream, Some(counted)),
                }
            }
            None => (execute_stream(Arc::clone(&input), Arc::clone(context))?, None),
        };
        let batches: Vec<RecordBatch> = stream.try_collect().await?;
        if let Some(counted) = counted {
            counted.add(batches.iter().map(RecordBatch::num_rows).sum());
        }
        let rows = of(&batches, &mut used.iter().copied());
        Ok((rows, GatheredInput::Plan(materialized_exec::fresh(batches, &input)?)))
    }
}
