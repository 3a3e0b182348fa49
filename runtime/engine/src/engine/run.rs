//! Running a plan: its inputs put in place, the rows taken from DataFusion batch by batch, results kept.

use std::any::Any;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, TryLockError};
use std::time::Duration;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::SchemaRef;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::StreamExt;
use onrush_device::phases::{self, Phase, Phases};
use onrush_expr::error::{diagnose, internal};
use onrush_frame::table::own_bytes;
use onrush_frame::{Table, TaskHandle};
use onrush_gpu::{Accelerator, GpuExec, Placements, Policy};
use onrush_logical::frame_table::{self, Frame};
use onrush_logical::ops::Inputs;
use onrush_wire::{Class, Diagnostic, FrameId};

use super::{Engine, KEPT, guarded, panicked, physical};
use crate::explain::{self, Placement, Times};

/// A plan that runs.
type Runs = Arc<dyn ExecutionPlan>;

/// A plan that may be kept, and when it was made.
type Steady = (Runs, u64);

impl Engine {
    /// The plan as it will run, a line for each node with where it runs. `analyze` runs it and adds rows and times.
    pub fn explain(&self, id: FrameId, analyze: bool, task: &TaskHandle) -> Result<String, Diagnostic> {
        let frame = self.frame(id)?;
        self.explain_frame(&frame, analyze, task)
    }

    pub(super) fn explain_frame(&self, frame: &Frame, analyze: bool, task: &TaskHandle) -> Result<String, Diagnostic> {
        if let Some(address) = &frame.cluster {
            return self.explain_on_cluster(address, frame, task);
        }
        let mut ready = HashMap::new();
        if analyze {
            self.prepare(&frame.plan, &mut ready, task)?;
        }
        let held = |f: &Frame| ready.get(&f.key).map(Arc::clone).or_else(|| self.held(f));
        let plan = frame_table::expand(&frame.plan, &held).map_err(diagnose)?;
        let mut known = Vec::new();
        self.known(&frame.plan, &ready, &mut known);
        // A frame that was computed at once has no input that says what it is.
        if let Some(table) = frame.resident.as_ref().map(|resident| resident.table()) {
            known.extend(table.batches().first().map(|batch| (batch.clone(), title_of(frame))));
        }
        let titles = move |batches: &[RecordBatch]| {
            let first = batches.first()?;
            known.iter().find(|(batch, _)| same_rows(batch, first)).map(|(_, title)| title.clone())
        };
        let state = self.states.lend(&self.context);
        let (accelerator, why_cpu, cores) = (self.accelerator.clone(), self.why_cpu.clone(), self.config.cores());
        let task = task.clone();
        self.block(async move {
            let (started, before) = (std::time::Instant::now(), Phases::now());
            let (physical, placements) =
                physical::of(plan, &state, accelerator.as_ref(), cores).await.map_err(diagnose)?;
            let placing = |node: &Arc<dyn ExecutionPlan>| Placement::Cpu {
                reason: match (&accelerator, placements.reason(node)) {
                    (_, Some(reason)) => reason.to_string(),
                    (Some(_), None) => "nothing above it is on the GPU".to_string(),
                    (None, None) => why_cpu.clone(),
                },
            };
            if !analyze {
                return Ok(explain::render(&physical, &titles, &placing, None));
            }
            let planned = started.elapsed();
            drain(&physical, state.task_ctx(), &task, u64::MAX).await?;
            let ran = started.elapsed() - planned;
            // Phases are counted in the whole process. Without a device they are those of other engines.
            let phases = if accelerator.is_some() { Phases::now().since(&before) } else { Phases::default() };
            Ok(explain::render(&physical, &titles, &placing, Some(Times { planned, ran, phases })))
        })?
    }

    /// Rows that a plan reads from memory, by their first batch, with a title.
    fn known(&self, plan: &LogicalPlan, ready: &HashMap<u128, Arc<Table>>, known: &mut Vec<(RecordBatch, String)>) {
        for frame in frame_table::inputs(plan) {
            let held = ready.get(&frame.key).map(Arc::clone).or_else(|| self.held(&frame));
            match held {
                Some(table) => {
                    let title = title_of(&frame);
                    known.extend(table.batches().first().map(|batch| (batch.clone(), title)));
                }
                None => self.known(&frame.plan, ready, known),
            }
        }
    }

    /// The rows of a frame that are there: held for good, or kept as a result.
    pub fn held(&self, frame: &Frame) -> Option<Arc<Table>> {
        let known = || self.known.get(frame.key).map(|resident| resident.table());
        let kept = || self.results.get(frame.key).or_else(known);
        frame.resident.as_ref().map(|resident| resident.table()).or_else(kept)
    }

    /// The rows of a frame: held, kept, or computed now.
    pub fn run(&self, frame: &Arc<Frame>, task: &TaskHandle) -> Result<Arc<Table>, Diagnostic> {
        if let Some(table) = self.held(frame) {
            return Ok(table);
        }
        let _running = self.alone(frame, task)?;
        if let Some(table) = self.held(frame) {
            return Ok(table);
        }
        task.stage(frame.title.clone());
        let (physical, steady) = self.ready(frame, task)?;
        let table = Arc::new(self.drain_plan(Arc::clone(&frame.schema), physical, task)?);
        self.keep_plan(frame, steady);
        self.results.put(frame.key, Arc::clone(&table));
        Ok(table)
    }

    /// The rows of a frame one batch after another; none of them is kept here. The frame runs while they are looked at.
    pub fn stream(
        &self,
        frame: &Frame,
        task: &TaskHandle,
        each: &mut dyn FnMut(RecordBatch) -> Result<(), Diagnostic>,
    ) -> Result<(), Diagnostic> {
        /// Batches that may wait.
        const AHEAD: usize = 16;
        task.stage(frame.title.clone());
        task.set_rows(0);
        let (physical, steady) = self.ready(frame, task)?;
        let context = Arc::clone(self.task_context.get_or_init(|| self.context.task_ctx()));
        let (sender, mut receiver) = tokio::sync::mpsc::channel(AHEAD);
        let Some(runtime) = &self.runtime else { return Err(internal("the engine is closed")) };
        let of_task = task.clone();
        let work = runtime.spawn(async move {
            let mut stream = execute_stream(physical, context).map_err(diagnose)?;
            loop {
                let batch = tokio::select! {
                    biased;
                    () = of_task.wait_cancelled() => return Err(Diagnostic::from(onrush_frame::CancelError)),
                    batch = stream.next() => batch,
                };
                let Some(batch) = batch else { return Ok(()) };
                let batch = batch.map_err(diagnose)?;
                of_task.add_rows(batch.num_rows() as u64);
                // Nobody looks at them any more: what went wrong is known there.
                if sender.send(batch).await.is_err() {
                    return Ok(());
                }
            }
        });
        while let Some(batch) = futures::executor::block_on(receiver.recv()) {
            each(fit(&frame.schema, batch)?)?;
        }
        self.block(work)?.map_err(|e| match e.try_into_panic() {
            Ok(panic) => panicked(&*panic),
            Err(e) => internal(&e.to_string()),
        })??;
        self.keep_plan(frame, steady);
        Ok(())
    }

    /// Keeps the rows of a frame that something else has run.
    pub(crate) fn remember(&self, frame: &Frame, table: &Arc<Table>) {
        self.results.put(frame.key, Arc::clone(table));
    }

    /// Whether a frame has other rows each time that it runs.
    pub fn varies(&self, frame: &Frame) -> bool {
        frame.varies
    }

    /// Another request may be computing the frame: waits for that, unless this one is cancelled.
    pub(super) fn alone<'a>(&self, frame: &'a Frame, task: &TaskHandle) -> Result<MutexGuard<'a, ()>, Diagnostic> {
        loop {
            match frame.running.try_lock() {
                Ok(guard) => return Ok(guard),
                Err(TryLockError::Poisoned(e)) => return Ok(e.into_inner()),
                Err(TryLockError::WouldBlock) => {
                    task.check()?;
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        }
    }

    /// What computes a frame, and the plan that may be kept after that.
    fn ready(&self, frame: &Frame, task: &TaskHandle) -> Result<(Runs, Option<Steady>), Diagnostic> {
        if let Some(physical) = self.plans.get(frame.key)? {
            used(&frame.plan);
            return Ok((physical, None));
        }
        let made = self.plans.now();
        if let Some(address) = &frame.cluster {
            return Ok((self.on_cluster(address, &frame.plan, &frame.title, task)?, None));
        }
        let (physical, steady) = self.physical(&frame.plan, task)?;
        if !steady {
            return Ok((physical, None));
        }
        // What is kept does not run itself: it would hold what its joins have built. A plan that failed is not kept:
        // the same step of another cell has its mistake at another place.
        Ok((reset_plan_states(Arc::clone(&physical)).map_err(diagnose)?, Some((physical, made))))
    }

    fn keep_plan(&self, frame: &Frame, steady: Option<Steady>) {
        if let Some((physical, made)) = steady {
            self.plans.put(frame.key, &physical, made);
        }
    }

    pub(crate) fn run_plan(
        &self,
        plan: LogicalPlan,
        schema: SchemaRef,
        task: &TaskHandle,
    ) -> Result<Table, Diagnostic> {
        let plan = self.analysed(plan)?;
        let physical = match frame_table::inputs(&plan).iter().find_map(|frame| frame.cluster.clone()) {
            Some(address) => self.on_cluster(&address, &plan, "query", task)?,
            None => self.physical(&plan, task)?.0,
        };
        self.drain_plan(schema, physical, task)
    }

    /// A plan, analysed before, as it will run, and whether it reads only rows that frames hold for good, so that it
    /// can run again as it is.
    pub(super) fn physical(
        &self,
        plan: &LogicalPlan,
        task: &TaskHandle,
    ) -> Result<(Arc<dyn ExecutionPlan>, bool), Diagnostic> {
        let mut ready = HashMap::new();
        self.prepare(plan, &mut ready, task)?;
        let steady = is_steady(plan, &ready);
        let held = |f: &Frame| ready.get(&f.key).map(Arc::clone).or_else(|| self.held(f));
        let plan = frame_table::expand(plan, &held).map_err(diagnose)?;
        let state = self.states.lend(&self.context);
        let accelerator = self.accelerator.as_ref();
        let _time = phases::scope(Phase::Plan);
        let physical = guarded(|| {
            let made = self.wait(physical::of(plan, &state, accelerator, self.config.cores()))?;
            let (physical, placements) = made.map_err(diagnose)?;
            allowed(accelerator, &placements)?;
            Ok(physical)
        })?;
        Ok((physical, steady))
    }

    /// The rows of a frame that is to be held, of a plan that is one fragment for the device: they stay there, and come
    /// to the host while nobody waits. `None` if the plan is another one, or the rows would not fit.
    pub(super) fn run_on_device(&self, frame: &Frame, task: &TaskHandle) -> Result<Option<Table>, Diagnostic> {
        if self.accelerator.is_none() {
            return Ok(None);
        }
        task.stage(frame.title.clone());
        let (physical, steady) = self.ready(frame, task)?;
        let context = Arc::clone(self.task_context.get_or_init(|| self.context.task_ctx()));
        let (schema, most) = (Arc::clone(&frame.schema), self.memory_limit() / 2);
        let work = async {
            tokio::select! {
                biased;
                () = task.wait_cancelled() => Err(onrush_frame::CancelError.into()),
                made = onrush_gpu::run_on_device(&physical, &schema, &context, most) => made.map_err(diagnose),
            }
        };
        let made = self.wait(onrush_gpu::run_inline(task.clone(), work))??;
        if made.is_some() {
            self.keep_plan(frame, steady);
        }
        Ok(made)
    }

    fn drain_plan(
        &self,
        schema: SchemaRef,
        physical: Arc<dyn ExecutionPlan>,
        task: &TaskHandle,
    ) -> Result<Table, Diagnostic> {
        // Making one copies the names of all functions.
        let context = Arc::clone(self.task_context.get_or_init(|| self.context.task_ctx()));
        let task = task.clone();
        let limit = self.config.memory_limit;
        if (physical.as_ref() as &dyn Any).is::<GpuExec>() {
            let alone = onrush_gpu::run_inline(task.clone(), async { drain(&physical, context, &task, limit).await });
            // Kernels give one NaN. The processor would read memory that the device has just written.
            return Ok(Table::of_canonical(Arc::clone(&schema), fitted(&schema, self.wait(alone)??)?));
        }
        conform(schema, self.block(async move { drain(&physical, context, &task, limit).await })??)
    }

    /// Runs on this thread, with the engine's for what the work gives to others.
    pub(super) fn wait<T>(&self, work: impl Future<Output = T>) -> Result<T, Diagnostic> {
        let Some(runtime) = &self.runtime else { return Err(internal("the engine is closed")) };
        let done = std::panic::catch_unwind(AssertUnwindSafe(|| runtime.block_on(work)));
        done.map_err(|panic| panicked(&*panic))
    }

    /// The rows of inputs that are there, or that are computed before the plan is made. The plans of all other inputs
    /// become a part of it.
    pub(super) fn prepare(
        &self,
        plan: &LogicalPlan,
        ready: &mut HashMap<u128, Arc<Table>>,
        task: &TaskHandle,
    ) -> Result<(), Diagnostic> {
        let mut readers = HashMap::new();
        self.count_readers(plan, &mut readers);
        self.compute_inputs(plan, false, &readers, ready, task)
    }

    /// How often each frame below a plan is read, by frames that are in the plan once.
    fn count_readers(&self, plan: &LogicalPlan, readers: &mut HashMap<u128, u32>) {
        for frame in frame_table::inputs(plan) {
            let count = readers.entry(frame.key).or_default();
            *count += 1;
            if *count == 1 && self.held(&frame).is_none() {
                self.count_readers(&frame.plan, readers);
            }
        }
    }

    fn compute_inputs(
        &self,
        plan: &LogicalPlan,
        unordered: bool,
        readers: &HashMap<u128, u32>,
        ready: &mut HashMap<u128, Arc<Table>>,
        task: &TaskHandle,
    ) -> Result<(), Diagnostic> {
        let unordered = unordered || !frame_table::keeps_order(plan);
        for frame in frame_table::inputs(plan) {
            if ready.contains_key(&frame.key) {
                continue;
            }
            if let Some(table) = self.held_for(&frame) {
                ready.insert(frame.key, table);
                continue;
            }
            // Two queries over a frame that takes other rows each time see the same ones.
            if unordered && frame.sorts && frame.varies {
                ready.insert(frame.key, self.run(&frame, task)?);
                continue;
            }
            let again = frame.readers.fetch_add(1, Ordering::Relaxed) > 0 || readers.get(&frame.key) > Some(&1);
            let again = again && frame.cluster.is_none();
            let rows = if frame.whole || (frame.costly && again) { self.small_rows(&frame, task)? } else { None };
            match rows {
                Some(table) => _ = ready.insert(frame.key, table),
                None => self.compute_inputs(&frame.plan, unordered, readers, ready, task)?,
            }
        }
        Ok(())
    }

    /// The rows of a frame that several plans or nodes read, computed now and kept, unless they take more than a part
    /// of the session's memory.
    fn small_rows(&self, frame: &Arc<Frame>, task: &TaskHandle) -> Result<Option<Arc<Table>>, Diagnostic> {
        let _running = self.alone(frame, task)?;
        if let Some(table) = self.held(frame) {
            return Ok(Some(table));
        }
        if frame.too_many().is_some() || frame.large.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let limit = self.memory_limit() / KEPT / 2;
        let (mut batches, mut bytes) = (Vec::new(), 0);
        let streamed = self.stream(frame, task, &mut |batch| {
            bytes += batch.columns().iter().map(own_bytes).sum::<u64>();
            batches.push(batch);
            if bytes > limit { Err(too_large(limit)) } else { Ok(()) }
        });
        if bytes > limit {
            frame.large.store(true, Ordering::Relaxed);
            return Ok(None);
        }
        streamed?;
        let table = Arc::new(Table::new(Arc::clone(&frame.schema), batches));
        self.results.put(frame.key, Arc::clone(&table));
        Ok(Some(table))
    }

    /// Runs on the engine's threads and waits. A panic there is a bug of ours and no end of the engine.
    pub(super) fn block<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Diagnostic> {
        let Some(runtime) = &self.runtime else { return Err(internal("the engine is closed")) };
        let handle = runtime.spawn(work);
        futures::executor::block_on(handle).map_err(|e| match e.try_into_panic() {
            Ok(panic) => panicked(&*panic),
            Err(e) => internal(&e.to_string()),
        })
    }
}

/// A plan that was kept reads its frames' rows again.
fn used(plan: &LogicalPlan) {
    for frame in frame_table::inputs(plan) {
        match &frame.resident {
            Some(resident) => drop(resident.table()),
            None => used(&frame.plan),
        }
    }
}

/// Whether a plan reads only rows that frames hold for good; `ready` are all that it reads.
fn is_steady(plan: &LogicalPlan, ready: &HashMap<u128, Arc<Table>>) -> bool {
    let steady = |frame: &Arc<Frame>| {
        let computed =
            || frame.too_many().is_none() && !ready.contains_key(&frame.key) && is_steady(&frame.plan, ready);
        frame.resident.is_some() || computed()
    };
    !frame_table::changes(plan) && frame_table::inputs(plan).iter().all(steady)
}

/// What a scan of a frame's rows is called.
fn title_of(frame: &Frame) -> String {
    match (frame.title.strip_prefix("read "), frame.title.as_str()) {
        (Some(file), _) => file.to_string(),
        (None, "values") => "values".to_string(),
        (None, step) => format!("the result of {step}"),
    }
}

/// The same rows in memory, maybe under another schema.
fn same_rows(a: &RecordBatch, b: &RecordBatch) -> bool {
    a.num_rows() == b.num_rows() && a.columns().first().zip(b.columns().first()).is_some_and(|(a, b)| Arc::ptr_eq(a, b))
}

/// An engine that was asked for by name takes no other one in silence.
fn allowed(accelerator: Option<&Arc<Accelerator>>, placements: &Placements) -> Result<(), Diagnostic> {
    let only = accelerator.filter(|accelerator| accelerator.policy == Policy::Only);
    let (Some(accelerator), [reason, ..]) = (only, &placements.reasons()[..]) else { return Ok(()) };
    let name = accelerator.name;
    let message = format!("the engine `{name}` was asked for, and a part of this plan would run on the CPU: {reason}");
    Err(Diagnostic::error(Class::Environment, "engine", message)
        .help("`explain()` shows which part; `:engine auto` lets such parts run on the CPU"))
}

/// All batches of a plan, until it ends, fails, is cancelled or holds more than `limit` bytes.
async fn drain(
    physical: &Arc<dyn ExecutionPlan>,
    context: Arc<datafusion::execution::TaskContext>,
    task: &TaskHandle,
    limit: u64,
) -> Result<Vec<RecordBatch>, Diagnostic> {
    let mut stream = execute_stream(Arc::clone(physical), context).map_err(diagnose)?;
    let mut batches = Vec::new();
    let mut bytes = 0u64;
    loop {
        let batch = tokio::select! {
            biased;
            () = task.wait_cancelled() => return Err(onrush_frame::CancelError.into()),
            batch = stream.next() => batch,
        };
        let Some(batch) = batch else { return Ok(batches) };
        let batch = batch.map_err(diagnose)?;
        task.add_rows(batch.num_rows() as u64);
        // Batches of string views share their buffers, and each batch would count them again. Therefore a value counts
        // as 16 bytes.
        bytes += batch.columns().iter().map(|c| (c.len() * 16) as u64).sum::<u64>();
        task.set_memory(bytes);
        if bytes > limit {
            return Err(too_large(limit));
        }
        batches.push(batch);
        // The stream may always be ready: let the cancellation be seen.
        tokio::task::yield_now().await;
    }
}

pub(super) fn too_large(limit: u64) -> Diagnostic {
    let message = format!("the result is larger than the session's memory limit of {} MB", limit >> 20);
    Diagnostic::error(Class::Resources, "out-of-memory", message)
        .help("take fewer rows or columns, aggregate first, or raise ONRUSH_MEMORY")
}

/// Batches under the frame's schema.
pub(super) fn conform(schema: SchemaRef, batches: Vec<RecordBatch>) -> Result<Table, Diagnostic> {
    let batches = fitted(&schema, batches)?;
    Ok(Table::new(schema, batches))
}

fn fitted(schema: &SchemaRef, batches: Vec<RecordBatch>) -> Result<Vec<RecordBatch>, Diagnostic> {
    batches.into_iter().map(|batch| fit(schema, batch)).collect()
}

/// A type that the physical plan chose differently is cast.
fn fit(schema: &SchemaRef, batch: RecordBatch) -> Result<RecordBatch, Diagnostic> {
    let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| {
        match column.data_type() == field.data_type() {
            true => Ok(Arc::clone(column)),
            // Never a null for a value that has no place there.
            false => {
                cast_with_options(column, field.data_type(), &CastOptions { safe: false, ..CastOptions::default() })
            }
        }
    });
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    columns
        .collect::<Result<Vec<_>, _>>()
        .and_then(|columns| RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options))
        .map_err(|e| internal(&format!("a result does not have the frame's types: {e}")))
}
