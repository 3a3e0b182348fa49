//! A fragment of a plan that runs on a device, as one node of DataFusion's plan.

mod fragment_input;

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet, Time};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, execute_stream,
};
use futures::{StreamExt, TryStreamExt};
use onrush_frame::{Table, table::own_bytes};
use onrush_ops::{DeviceTable, DeviceType, Sink, Stage, StreamContext};
use parking_lot::Mutex;

use self::fragment_input::FragmentInput;
use super::accelerator::{Accelerator, Policy};
use super::blocking::{Stop, blocking};
use super::diagnostics::diagnostic;
use super::download::download;
use super::fragment::{Fragment, FragmentNode, OutOfCore};
use super::memory_input::{is_same, memory_rows};
use super::plan_node::{common_methods, with_schema};
use super::{host_top_k, materialized_exec, table_columns, udf};

/// The metric of how many parts a fragment ran in.
pub const PARTITIONS_METRIC: &str = "parts";

pub struct GpuExec {
    accelerator: Arc<Accelerator>,
    /// The nodes that it stands for, the topmost first.
    chain: Vec<FragmentNode>,
    /// How many of them, from the topmost on, run on the host over the few rows that the device leaves.
    finish: usize,
    /// The input of the lowest node, then the build sides.
    inputs: Vec<Arc<dyn ExecutionPlan>>,
    stages: Arc<Vec<Stage>>,
    /// Runs it if it does not fit.
    out_of_core: OutOfCore,
    /// Columns of the inputs that are read.
    used: Vec<Vec<usize>>,
    /// The inputs in memory, once they were read.
    read: Vec<Arc<OnceLock<FragmentInput>>>,
    /// Whether it has run, over these inputs: its kernels are compiled.
    ran: Arc<AtomicBool>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    /// Whether it is a partition of a larger fragment. Then a lack of memory is an error, and the result does not stay
    /// on the device.
    is_part: bool,
}

/// The error of a partition that is too large.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct DoesNotFit(onrush_ops::Error);

impl fmt::Debug for GpuExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GpuExec({:?})", self.chain)
    }
}

impl GpuExec {
    pub fn new(
        accelerator: &Arc<Accelerator>,
        chain: Vec<FragmentNode>,
        finish: usize,
        inputs: Vec<(Arc<dyn ExecutionPlan>, Vec<usize>)>,
        stages: Vec<Stage>,
        out_of_core: OutOfCore,
    ) -> GpuExec {
        let (inputs, used): (Vec<_>, Vec<_>) = inputs.into_iter().unzip();
        let schema = chain.first().map_or_else(|| inputs[0].schema(), |top| top.node.schema());
        // Nodes above may rely on the order of a sort or of the input, unless groups or joins follow it.
        let since = stages.iter().rev().take_while(|stage| !matches!(stage.sink, Sink::Sort(_)));
        let is_sorted = finish > 0
            || since.fold(true, |so_far, stage| {
                so_far && stage.joins.is_empty() && !matches!(stage.sink, Sink::Aggregate { .. })
            });
        // Constant and equal columns do not depend on the order.
        let mut equivalences = match chain.first() {
            Some(top) => materialized_exec::known_of(top.node.properties()),
            None => EquivalenceProperties::new(schema),
        };
        if !is_sorted {
            equivalences.clear_orderings();
        }
        let properties = PlanProperties::new(
            equivalences,
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        GpuExec {
            accelerator: Arc::clone(accelerator),
            chain,
            finish,
            inputs,
            stages: Arc::new(stages),
            out_of_core,
            read: used.iter().map(|_| Arc::default()).collect(),
            used,
            ran: Arc::default(),
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
            is_part: false,
        }
    }

    /// A plan whose fragments are parts of a larger one.
    pub fn as_part(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        let is_part = |plan: Arc<dyn ExecutionPlan>| {
            let any: &dyn Any = plan.as_ref();
            Ok(match any.downcast_ref::<GpuExec>() {
                Some(found) => Transformed::yes(Arc::new(GpuExec { is_part: true, ..found.fresh() }) as _),
                None => Transformed::no(plan),
            })
        };
        Ok(plan.transform_down(is_part)?.data)
    }

    /// The same one, before it has run.
    fn fresh(&self) -> GpuExec {
        GpuExec {
            accelerator: Arc::clone(&self.accelerator),
            chain: self.chain.clone(),
            finish: self.finish,
            inputs: self.inputs.clone(),
            stages: Arc::clone(&self.stages),
            out_of_core: self.out_of_core,
            used: self.used.clone(),
            read: self.read.clone(),
            ran: Arc::clone(&self.ran),
            properties: Arc::clone(&self.properties),
            metrics: ExecutionPlanMetricsSet::new(),
            is_part: self.is_part,
        }
    }

    /// The nodes that run on the device, the topmost first.
    pub fn chain(&self) -> &[FragmentNode] {
        &self.chain
    }

    /// The input of the lowest node.
    pub fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.inputs[0]
    }

    /// The tables that are joined.
    pub fn others(&self) -> &[Arc<dyn ExecutionPlan>] {
        &self.inputs[1..]
    }

    /// Whether its rows are on the device.
    pub fn output_on_device(&self) -> bool {
        self.finish == 0
    }

    /// Whether each output column is a string column stored as bytes. Empty if the last stage does not write columns.
    pub fn as_bytes(&self) -> Vec<bool> {
        let Some(last) = self.stages.last().filter(|_| self.finish == 0) else { return Vec::new() };
        let columns = match &last.sink {
            Sink::Output(output) => &output.columns,
            Sink::Sort(sort) => &sort.columns,
            Sink::TopK(top) => &top.columns,
            Sink::Aggregate { .. } => return Vec::new(),
        };
        columns.iter().map(|column| last.graph.kind(*column) == DeviceType::String).collect()
    }

    /// The name of the device in `explain`.
    pub fn place(&self) -> &'static str {
        if self.accelerator.gpu.context().device().is_emulated() { "emulated" } else { "gpu" }
    }

    fn schema_below(&self, finish: usize) -> SchemaRef {
        self.chain.get(finish).map_or_else(|| self.inputs[0].schema(), |link| link.node.schema())
    }
}

/// A chain on the CPU, over what its inputs gave.
fn on_cpu(chain: &[FragmentNode], inputs: &[Arc<dyn ExecutionPlan>]) -> Result<Arc<dyn ExecutionPlan>> {
    chain.iter().rev().try_fold(Arc::clone(&inputs[0]), |below, link| link.over(below, &inputs[1..]))
}

impl DisplayAs for GpuExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GpuExec: {} nodes", self.chain.len())
    }
}

impl ExecutionPlan for GpuExec {
    common_methods!("GpuExec");

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.inputs.iter().collect()
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        if children.len() != self.inputs.len() {
            let (found, inputs) = (children.len(), self.inputs.len());
            return Err(DataFusionError::Internal(format!("a GPU fragment of {inputs} inputs got {found}")));
        }
        let read =
            self.read.iter().zip(self.inputs.iter().zip(&children)).map(|(read, (old, new))| match is_same(old, new) {
                true => Arc::clone(read),
                false => Arc::default(),
            });
        let read = read.collect();
        let again = self.fresh();
        let is_other =
            self.inputs.iter().zip(&children).any(|(old, new)| !is_same(old, new) && memory_rows(new).is_some());
        let ran = if is_other { Arc::default() } else { Arc::clone(&again.ran) };
        Ok(Arc::new(GpuExec { inputs: children, read, ran, ..again }))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let schema = self.schema();
        let running = FragmentRun::of(self, &context);
        let finish = self.chain[..self.finish].to_vec();
        let (rows, keep) = (running.rows.clone(), !self.is_part);
        let future = async move {
            let (accelerator, schema) = (Arc::clone(&running.accelerator), Arc::clone(&running.schema));
            let table = match running.run().await? {
                Outcome::Device(table) => table,
                Outcome::Host(stream) => {
                    let counted = stream.inspect_ok(move |batch| rows.add(batch.num_rows()));
                    return Ok::<_, DataFusionError>(counted.boxed());
                }
            };
            let left = Arc::clone(&schema);
            let is_quick = table.rows <= QUICK_DOWNLOAD_ROWS;
            let batches = blocking(is_quick, move |_| download(&accelerator.gpu, &schema, &table, keep)).await?;
            let batches = batches.map_err(|error| DataFusionError::External(Box::new(diagnostic(error))))?;
            if finish.is_empty() {
                rows.add(batches.iter().map(RecordBatch::num_rows).sum());
                return Ok(futures::stream::iter(batches.into_iter().map(Ok)).boxed());
            }
            if let [batch] = &batches[..]
                && let Some(done) = host_top_k::finish(&finish, batch)?
            {
                rows.add(done.num_rows());
                return Ok(futures::stream::iter([Ok(done)]).boxed());
            }
            let left: Arc<dyn ExecutionPlan> = MemorySourceConfig::try_new_exec(&[batches], left, None)?;
            let plan = finish.iter().rev().try_fold(left, |below, link| link.over(below, &[]))?;
            let counted = execute_stream(plan, context)?.inspect_ok(move |batch| rows.add(batch.num_rows()));
            Ok(counted.boxed())
        };
        let stream = futures::stream::once(future).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream)))
    }
}

/// The result of a fragment.
enum Outcome {
    /// Rows on the device, before what runs on the host over a few of them.
    Device(DeviceTable),
    /// All of it, from the CPU: there was nothing to do on the device, or it could not.
    Host(SendableRecordBatchStream),
}

/// A fragment while it runs.
struct FragmentRun {
    accelerator: Arc<Accelerator>,
    stages: Arc<Vec<Stage>>,
    out_of_core: OutOfCore,
    ran: Arc<AtomicBool>,
    /// The schema of the rows that the device gives.
    schema: SchemaRef,
    inputs: Vec<(Arc<dyn ExecutionPlan>, Vec<usize>, Arc<OnceLock<FragmentInput>>)>,
    chain: Vec<FragmentNode>,
    context: Arc<TaskContext>,
    rows: Count,
    time: Time,
    /// In how many parts it ran, of one that did not fit.
    parts: Count,
    is_part: bool,
}

impl FragmentRun {
    fn of(node: &GpuExec, context: &Arc<TaskContext>) -> FragmentRun {
        FragmentRun {
            accelerator: Arc::clone(&node.accelerator),
            stages: Arc::clone(&node.stages),
            out_of_core: node.out_of_core,
            ran: Arc::clone(&node.ran),
            schema: node.schema_below(node.finish),
            inputs: node
                .inputs
                .iter()
                .zip(node.used.iter().zip(&node.read))
                .map(|(input, (used, read))| (Arc::clone(input), used.clone(), Arc::clone(read)))
                .collect(),
            chain: node.chain.clone(),
            context: Arc::clone(context),
            rows: MetricBuilder::new(&node.metrics).output_rows(0),
            time: MetricBuilder::new(&node.metrics).elapsed_compute(0),
            parts: MetricBuilder::new(&node.metrics).counter(PARTITIONS_METRIC, 0),
            is_part: node.is_part,
        }
    }

    async fn run(self) -> Result<Outcome> {
        let FragmentRun {
            accelerator,
            stages,
            out_of_core,
            inputs,
            chain,
            context,
            time,
            parts: count,
            ran,
            is_part,
            ..
        } = self;
        let gather = |(input, used, read): &(Arc<dyn ExecutionPlan>, Vec<usize>, Arc<OnceLock<FragmentInput>>)| {
            let (input, used, read, context) =
                (Arc::clone(input), used.clone(), Arc::clone(read), Arc::clone(&context));
            async move { FragmentInput::gather(input, &used, &read, &context).await }
        };
        let found = match ran.load(Ordering::Relaxed) {
            true => {
                let mut found = Vec::with_capacity(inputs.len());
                for input in &inputs {
                    found.push(gather(input).await?);
                }
                found
            }
            // Side by side, while kernels are compiled: the compiler has several threads then.
            false => futures::future::try_join_all(inputs.iter().map(gather)).await?,
        };
        let (tables, gathered): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        let tables = Arc::new(tables);
        let on_host = async |accelerator: &Arc<Accelerator>| {
            let mut inputs = Vec::new();
            for input in gathered {
                inputs.push(input.plan(accelerator).await?);
            }
            Ok::<_, DataFusionError>(inputs)
        };
        let run = |inputs: &[Arc<dyn ExecutionPlan>]| {
            Ok::<_, DataFusionError>(Outcome::Host(execute_stream(on_cpu(&chain, inputs)?, Arc::clone(&context))?))
        };
        if tables.iter().any(|rows| rows.count() == 0) {
            // Without rows there is nothing to upload, and nothing to win.
            return run(&on_host(&accelerator).await?);
        }
        let fragment = |inputs: &[Arc<dyn ExecutionPlan>], multiplies: bool| Fragment {
            multiplies,
            accelerator: Arc::clone(&accelerator),
            chain: chain.clone(),
            inputs: inputs.to_vec(),
            context: Arc::clone(&context),
            ran: count.clone(),
            held: Mutex::new(MemoryConsumer::new("parts").register(context.memory_pool())),
        };
        let whole = time.clone();
        let run_partitioned = async |fragment| {
            let timer = whole.timer();
            let found = out_of_core(fragment).await;
            timer.done();
            found
        };
        if let (Some(_), false) = (accelerator.part_rows, is_part) {
            let inputs = on_host(&accelerator).await?;
            return match run_partitioned(fragment(&inputs, false)).await? {
                Some(stream) => Ok(Outcome::Host(stream)),
                None => run(&inputs),
            };
        }
        let work = FragmentTask { accelerator: Arc::clone(&accelerator), stages: Arc::clone(&stages) };
        let is_quick = ran.load(Ordering::Relaxed) && work.is_quick(&tables);
        let done = blocking(is_quick, move |stop| {
            let timer = time.timer();
            let result = work.run(&tables, stop);
            timer.done();
            result
        });
        match done.await? {
            Ok(table) => {
                ran.store(true, Ordering::Relaxed);
                Ok(Outcome::Device(table))
            }
            // Some row has no result: the CPU says which, or finds that nobody asks for it.
            Err(onrush_ops::Error::Fault) => {
                accelerator.cpu_fallbacks.fetch_add(1, Ordering::Relaxed);
                run(&on_host(&accelerator).await?)
            }
            Err(onrush_ops::Error::Unsupported(_)) if accelerator.policy != Policy::Only => {
                accelerator.cpu_fallbacks.fetch_add(1, Ordering::Relaxed);
                run(&on_host(&accelerator).await?)
            }
            Err(error) if error.is_too_large() && is_part => {
                Err(DataFusionError::External(Box::new(DoesNotFit(error))))
            }
            Err(error) if error.is_too_large() => {
                let inputs = on_host(&accelerator).await?;
                let multiplies = !error.is_memory() && inputs.len() > 1;
                match run_partitioned(fragment(&inputs, multiplies)).await? {
                    Some(stream) => Ok(Outcome::Host(stream)),
                    // The CPU spills to disk, unless it must be the device's.
                    None if accelerator.policy != Policy::Only => {
                        accelerator.cpu_fallbacks.fetch_add(1, Ordering::Relaxed);
                        run(&inputs)
                    }
                    None => Err(DataFusionError::External(Box::new(diagnostic(error)))),
                }
            }
            Err(error) => {
                let functions = udf::called_by(&stages);
                let failed = if functions.is_empty() { diagnostic(error) } else { udf::failed(&functions, error) };
                Err(DataFusionError::External(Box::new(failed)))
            }
        }
    }
}

/// Rows that are copied to the host before a user notices.
const QUICK_DOWNLOAD_ROWS: u64 = 1 << 16;

/// The work of a fragment once its input is there.
struct FragmentTask {
    accelerator: Arc<Accelerator>,
    stages: Arc<Vec<Stage>>,
}

impl FragmentTask {
    /// Whether it takes a few hundredths of a second with compiled kernels. Then all columns are on the device, and the
    /// rows or pairs of rows are few.
    fn is_quick(&self, tables: &[FragmentInput]) -> bool {
        const QUICK_ROWS: u64 = 1 << 32;
        let rows: Vec<u64> = tables.iter().map(FragmentInput::count).collect();
        let is_here = |rows: &FragmentInput| rows.is_on(&self.accelerator.gpu);
        onrush_ops::pipeline::estimate_rows(&self.stages, &rows) <= QUICK_ROWS && tables.iter().all(is_here)
    }

    fn run(&self, tables: &[FragmentInput], stop: &Stop) -> onrush_ops::Result<DeviceTable> {
        let gpu = &self.accelerator.gpu;
        if let Some(file) = &self.accelerator.fault_file
            && let Ok(kind) = std::fs::read_to_string(file)
            && std::fs::remove_file(file).is_ok()
        {
            match kind.as_str() {
                // The error that a driver gives after such a kernel.
                "lost" => return Err(onrush_device::Error::Lost { call: "a test", code: "lost".to_string() }.into()),
                _ => gpu.inject_fault()?,
            }
        }
        let calls = !udf::called_by(&self.stages).is_empty();
        let _call = calls.then(|| udf::UdfCall::begin(Some(stop.clone())));
        let attempt = || {
            let rows: Vec<u64> = tables.iter().map(FragmentInput::count).collect();
            let lane = gpu.lane(onrush_ops::pipeline::estimate_rows(&self.stages, &rows))?;
            let table = |(number, rows): (usize, &FragmentInput)| {
                let graph = onrush_ops::pipeline::graph_of_table(&self.stages, number);
                let as_bytes =
                    |place: usize| graph.is_some_and(|graph| onrush_ops::column::string::reads_bytes(graph, place));
                self.table(&lane, rows, &as_bytes)
            };
            let tables = tables.iter().enumerate().map(table).collect::<onrush_ops::Result<Vec<_>>>()?;
            let (first, others) = tables
                .split_first()
                .ok_or_else(|| onrush_ops::Error::Unsupported("a fragment without an input".to_string()))?;
            gpu.run(&lane, first, others, &self.stages, &|| stop.is_set())
        };
        gpu.with_eviction(attempt)
    }

    /// An input on the device. String columns for which `as_bytes` is true are stored as bytes.
    fn table(
        &self,
        lane: &StreamContext,
        rows: &FragmentInput,
        as_bytes: &dyn Fn(usize) -> bool,
    ) -> onrush_ops::Result<DeviceTable> {
        match rows {
            FragmentInput::Device(table) => Ok(table.clone()),
            FragmentInput::Host { parts, count } => {
                let residency = &self.accelerator.gpu.residency;
                let columns =
                    parts.iter().enumerate().map(|(place, parts)| residency.column(lane, parts, as_bytes(place)));
                Ok(DeviceTable { rows: *count, columns: columns.collect::<onrush_ops::Result<_>>()? })
            }
            FragmentInput::Concat(parts) => {
                // Nothing is uploaded of an input without rows.
                let some = parts.iter().filter(|part| part.count() > 0).map(|part| self.table(lane, part, as_bytes));
                let some = some.collect::<onrush_ops::Result<Vec<_>>>()?;
                let all = DeviceTable::concat(&lane.context, &some);
                // Before they are let go of.
                lane.context.stream.synchronize()?;
                all
            }
        }
    }
}

/// Runs a plan that is one fragment. Its rows stay on the device, and come to the host on another thread; rows that the
/// CPU computed are given as they are. `None` without a run if the plan is another one. `None` after a run if the rows
/// take more than `most` bytes of the host's memory. Then the caller runs the plan again, and writes the rows to disk.
///
/// # Errors
/// As those of the plan's execution.
pub async fn run_on_device(
    plan: &Arc<dyn ExecutionPlan>,
    schema: &SchemaRef,
    context: &Arc<TaskContext>,
    most: u64,
) -> Result<Option<Table>> {
    /// Rows that the host has before a user notices.
    const BACKGROUND_COPY_ROWS: u64 = 1 << 20;
    let any: &dyn Any = plan.as_ref();
    let Some(fragment) = any.downcast_ref::<GpuExec>().filter(|fragment| fragment.output_on_device()) else {
        return Ok(None);
    };
    let types = |schema: &SchemaRef| schema.fields().iter().map(|field| field.data_type().clone()).collect::<Vec<_>>();
    if types(schema) != types(&plan.schema()) {
        return Ok(None);
    }
    let accelerator = Arc::clone(&fragment.accelerator);
    match FragmentRun::of(fragment, context).run().await? {
        Outcome::Host(mut stream) => {
            let (mut batches, mut bytes) = (Vec::new(), 0);
            while let Some(batch) = stream.try_next().await? {
                bytes += batch.columns().iter().map(own_bytes).sum::<u64>();
                if bytes > most {
                    return Ok(None);
                }
                batches.push(with_schema(&batch, schema)?);
            }
            Ok(Some(Table::of_canonical(Arc::clone(schema), batches)))
        }
        Outcome::Device(table) if table_columns::host_bytes(schema, &table) > most => Ok(None),
        Outcome::Device(table) if table.rows < BACKGROUND_COPY_ROWS => {
            let to = Arc::clone(schema);
            let batches = blocking(false, move |_| download(&accelerator.gpu, &to, &table, true)).await?;
            let batches = batches.map_err(|error| DataFusionError::External(Box::new(diagnostic(error))))?;
            Ok(Some(Table::of_canonical(Arc::clone(schema), batches)))
        }
        Outcome::Device(table) => {
            // Before other queries can read the columns.
            let context = Arc::clone(&accelerator);
            let table = blocking(false, move |_| one_nan(&context, table)).await?;
            let table = table.map_err(|error| DataFusionError::External(Box::new(diagnostic(error))))?;
            Ok(Some(table_columns::keep(accelerator, schema, table)))
        }
    }
}

/// Gives the columns of a result the one NaN, and waits for that.
fn one_nan(accelerator: &Accelerator, table: DeviceTable) -> onrush_ops::Result<DeviceTable> {
    let lane = accelerator.gpu.lane(table.rows)?;
    table.unify_nans(&lane)?;
    lane.context.stream.synchronize()?;
    Ok(table)
}
