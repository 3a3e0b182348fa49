//! A fragment of a plan that runs on a device, as one node of DataFusion's plan.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::memory::{DataSourceExec, MemorySourceConfig};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, execute_stream,
};
use futures::{StreamExt, TryStreamExt};
use onrush_ops::{DeviceColumn, DeviceTable, Stage};
use onrush_wire::{Class, Diagnostic};

use super::{Accelerator, Policy};

pub struct GpuExec {
    accelerator: Arc<Accelerator>,
    /// The nodes that it stands for, the topmost first.
    chain: Vec<Arc<dyn ExecutionPlan>>,
    /// How many of them, from the topmost on, run on the host over the few rows that the device leaves.
    finish: usize,
    /// What the lowest of them reads.
    input: Arc<dyn ExecutionPlan>,
    stages: Arc<Vec<Stage>>,
    /// Columns of the input that the first stage reads.
    used: Vec<usize>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl fmt::Debug for GpuExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GpuExec({:?})", self.chain)
    }
}

impl GpuExec {
    pub fn new(
        accelerator: &Arc<Accelerator>,
        chain: Vec<Arc<dyn ExecutionPlan>>,
        finish: usize,
        input: Arc<dyn ExecutionPlan>,
        stages: Vec<Stage>,
        used: Vec<usize>,
    ) -> GpuExec {
        let schema = chain.first().map_or_else(|| input.schema(), |top| top.schema());
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        GpuExec {
            accelerator: Arc::clone(accelerator),
            chain,
            finish,
            input,
            stages: Arc::new(stages),
            used,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// The nodes that run on the device, the topmost first.
    pub fn chain(&self) -> &[Arc<dyn ExecutionPlan>] {
        &self.chain
    }

    pub fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    /// What `explain` calls it.
    pub fn place(&self) -> &'static str {
        if self.accelerator.gpu.context().device().is_emulated() { "emulated" } else { "gpu" }
    }

    /// The same on the CPU.
    fn on_cpu(&self) -> Result<Arc<dyn ExecutionPlan>> {
        self.chain.iter().rev().try_fold(Arc::clone(&self.input), |below, node| with_input(node, below))
    }
}

/// A node of one input with another one.
pub fn with_input(node: &Arc<dyn ExecutionPlan>, input: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    with_inputs(node, vec![input])
}

pub fn with_inputs(
    node: &Arc<dyn ExecutionPlan>,
    inputs: Vec<Arc<dyn ExecutionPlan>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    Arc::clone(node).replace_children(inputs, options)
}

/// Rows in memory, and which of their columns are read.
pub fn memory(plan: &Arc<dyn ExecutionPlan>) -> Option<(&[RecordBatch], Vec<usize>)> {
    let any: &dyn Any = plan.as_ref();
    let source: &dyn Any = any.downcast_ref::<DataSourceExec>()?.data_source().as_ref();
    let memory = source.downcast_ref::<MemorySourceConfig>()?;
    let [batches] = memory.partitions() else { return None };
    // A limit that was pushed into the scan: let the CPU do it.
    if plan.fetch().is_some() {
        return None;
    }
    let all = memory.original_schema().fields().len();
    Some((batches, memory.projection().clone().unwrap_or_else(|| (0..all).collect())))
}

impl DisplayAs for GpuExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GpuExec: {} nodes", self.chain.len())
    }
}

impl ExecutionPlan for GpuExec {
    fn name(&self) -> &str {
        "GpuExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let [input] = &mut children[..] else {
            return Err(DataFusionError::Internal("a GPU fragment has one input".to_string()));
        };
        Ok(Arc::new(GpuExec {
            accelerator: Arc::clone(&self.accelerator),
            chain: self.chain.clone(),
            finish: self.finish,
            input: Arc::clone(input),
            stages: Arc::clone(&self.stages),
            used: self.used.clone(),
            properties: Arc::clone(&self.properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let schema = self.schema();
        let finish = self.chain[..self.finish].to_vec();
        let work = Work {
            accelerator: Arc::clone(&self.accelerator),
            stages: Arc::clone(&self.stages),
            used: self.used.clone(),
            schema: self.chain.get(self.finish).map_or_else(|| self.input.schema(), |node| node.schema()),
        };
        let left = Arc::clone(&work.schema);
        let input = Arc::clone(&self.input);
        let cpu = self.on_cpu()?;
        let rows = MetricBuilder::new(&self.metrics).output_rows(0);
        let time = MetricBuilder::new(&self.metrics).elapsed_compute(0);
        let policy = self.accelerator.policy;
        let future = async move {
            let count = |batches: &[RecordBatch]| batches.iter().map(|b| b.num_rows() as u64).sum::<u64>();
            let parts = |batches: &[RecordBatch], column: usize| onrush_ops::residency::parts(batches, column);
            let (parts, count): (Vec<Vec<ArrayRef>>, u64) = match memory(&input) {
                Some((batches, projection)) => {
                    (work.used.iter().map(|c| parts(batches, projection[*c])).collect(), count(batches))
                }
                None => {
                    let stream = execute_stream(Arc::clone(&input), Arc::clone(&context))?;
                    let batches: Vec<RecordBatch> = stream.try_collect().await?;
                    (work.used.iter().map(|c| parts(&batches, *c)).collect(), count(&batches))
                }
            };
            if count == 0 {
                // Without rows there is nothing to upload, and nothing to win.
                return Ok(execute_stream(cpu, context)?.boxed());
            }
            // Set when the stream is dropped: the work stops at its next step.
            let stop = Arc::new(AtomicBool::new(false));
            let _guard = StopOnDrop(Arc::clone(&stop));
            let done = tokio::task::spawn_blocking(move || {
                let timer = time.timer();
                let result = work.run(parts, count, &stop);
                timer.done();
                result
            });
            let done = done.await.map_err(|e| DataFusionError::Internal(format!("the GPU's thread failed: {e}")))?;
            match done {
                Ok(batches) if !finish.is_empty() => {
                    let left: Arc<dyn ExecutionPlan> = MemorySourceConfig::try_new_exec(&[batches], left, None)?;
                    let plan = finish.iter().rev().try_fold(left, |below, node| with_input(node, below))?;
                    let counted = execute_stream(plan, context)?.inspect_ok(move |batch| rows.add(batch.num_rows()));
                    Ok(counted.boxed())
                }
                Ok(batches) => {
                    rows.add(batches.iter().map(RecordBatch::num_rows).sum());
                    Ok(futures::stream::iter(batches.into_iter().map(Ok)).boxed())
                }
                // Some row has no result: the CPU says which, or finds that nobody asks for it.
                Err(onrush_ops::Error::Fault) => Ok(execute_stream(cpu, context)?.boxed()),
                Err(onrush_ops::Error::Unsupported(_)) if policy != Policy::Only => {
                    Ok(execute_stream(cpu, context)?.boxed())
                }
                Err(error) => Err(DataFusionError::External(Box::new(diagnostic(error)))),
            }
        };
        let stream = futures::stream::once(future).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream)))
    }
}

struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What a fragment does once its input is there.
struct Work {
    accelerator: Arc<Accelerator>,
    stages: Arc<Vec<Stage>>,
    used: Vec<usize>,
    schema: SchemaRef,
}

impl Work {
    /// `parts` are the arrays of each column that is read.
    fn run(&self, parts: Vec<Vec<ArrayRef>>, rows: u64, stop: &AtomicBool) -> onrush_ops::Result<Vec<RecordBatch>> {
        let gpu = &self.accelerator.gpu;
        gpu.residency.sweep();
        let attempt = || -> onrush_ops::Result<Vec<RecordBatch>> {
            let columns = parts.iter().map(|parts| self.column(parts)).collect::<onrush_ops::Result<Vec<_>>>()?;
            let table = DeviceTable { rows, columns };
            let result = gpu.run(&table, &self.stages, &|| stop.load(Ordering::Relaxed))?;
            self.download(&result)
        };
        loop {
            match attempt() {
                // What lies there for later makes room.
                Err(error) if error.is_memory() && gpu.residency.evict().is_some() => {}
                done => return done,
            }
        }
    }

    fn column(&self, parts: &[ArrayRef]) -> onrush_ops::Result<DeviceColumn> {
        let gpu = &self.accelerator.gpu;
        if let Some(column) = gpu.residency.get(parts) {
            return Ok(column);
        }
        let Some(first) = parts.first() else {
            return Err(onrush_ops::Error::Unsupported("an input without rows".to_string()));
        };
        let column = DeviceColumn::upload(gpu.context(), first.data_type(), parts)?;
        gpu.residency.put(parts, &column);
        Ok(column)
    }

    fn download(&self, result: &DeviceTable) -> onrush_ops::Result<Vec<RecordBatch>> {
        let gpu = &self.accelerator.gpu;
        let mut arrays = Vec::new();
        for (column, field) in result.columns.iter().zip(self.schema.fields()) {
            let array = column.download(gpu.context(), field.data_type(), result.rows)?;
            // Whoever keeps the rows has them on the device, too.
            gpu.residency.put(std::slice::from_ref(&array), column);
            arrays.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(result.rows as usize));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)?;
        Ok(if batch.num_rows() == 0 { Vec::new() } else { vec![batch] })
    }
}

fn diagnostic(error: onrush_ops::Error) -> Diagnostic {
    use onrush_ops::Error;
    let text = error.to_string();
    match &error {
        Error::Cancelled => onrush_frame::Cancelled.into(),
        Error::Kernels(onrush_kernels::Error::Device(device)) => {
            let (class, code) = match device.class() {
                onrush_device::Class::Resources => (Class::Resources, "gpu-memory"),
                onrush_device::Class::Environment => (Class::Environment, "gpu"),
                _ => (Class::Internal, "gpu"),
            };
            let diagnostic = Diagnostic::error(class, code, text);
            match device.help() {
                Some(help) => diagnostic.help(help),
                None => diagnostic,
            }
        }
        _ => Diagnostic::error(Class::Internal, "gpu", text),
    }
}
