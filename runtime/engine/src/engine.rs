//! The engine: frames by id, each a checked plan; results on request. How a plan is run is in `engine/run.rs`.
//!
//! Methods block and can be called from any thread that runs no futures. Nothing here knows of notebooks, names or
//! sockets (`runtime/session`).

mod cluster;
mod export;
mod files;
mod frames;
mod graphs;
mod models;
mod objects;
mod physical;
mod plan_cache;
mod preview;
mod run;
mod service;
mod spill;
mod sql;
mod visual;

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, RwLock, Weak};

use datafusion::execution::TaskContext;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use onrush_device::phases::Phases;
use onrush_expr::device_udf::UdfHost;
use onrush_expr::error::{diagnose, internal};
use onrush_expr::{chains, diagnostics};
use onrush_frame::{Table, TaskHandle};
use onrush_gpu::udf::DeviceUdfRunner;
use onrush_gpu::{Accelerator, EngineChoice, Policy, Tuning};
use onrush_logical::frame_table::Frame;
use onrush_logical::ops::Inputs;
use onrush_logical::resident::Resident;
use onrush_logical::session_states::States;
use onrush_parallel::Cores;
use onrush_wire::plan::Op;
use onrush_wire::{Class, Diagnostic, Expr, FrameId, ObjectId, Span};

use crate::memory_pool::{HeldMemory, Pool};
use crate::result_cache::{ResultCache, WeakMap};
pub use cluster::serve_worker;
pub use export::ExportedColumn;
use models::TrainedModel;
use objects::{Catalog, Object};
use plan_cache::Plans;
pub use preview::{FrameRows, HeadTail};
pub use service::{Answer, Job, misrouted};
use spill::Store;
pub use visual::{DevicePositions, DeviceSlots, SlotValues, SlotView};

/// Bytes of stack that planning may use: plans are trees, and DataFusion walks them by recursion. A thread that has
/// less left gets a new stack for it.
const PLANS_STACK: usize = 48 << 20;
/// Bytes of stack of a thread that answers calls: planning then needs no other stack.
pub const CALLS_STACK: usize = PLANS_STACK + (16 << 20);
/// The divisor of the session's memory that rows may take between two walks over them: more are computed again.
pub const KEPT: u64 = 4;

/// A cache of views outside of the engine. The engine tells it which tables and objects to drop.
pub trait TableHolder: Send + Sync {
    /// Drops the entries that show a table.
    fn forget_table(&self, table: &Arc<Table>);

    /// Drops the entries that show one of the objects.
    fn release(&self, objects: &[ObjectId]);
}

#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Where plans run if they can.
    pub choice: EngineChoice,
    /// When a plan that can run on the device does; `None` leaves it to the choice.
    pub policy: Option<Policy>,
    /// For tests: rows of which at most so many fit into a device's memory.
    pub part_rows: Option<u64>,
    /// For measurements: when the rows of many groups are moved to their part of these first.
    pub tuning: Option<Tuning>,
    /// For tests: when this file is there, a kernel writes where it must not, once.
    pub fault_file: Option<PathBuf>,
    /// Where compiled kernels are kept.
    pub cache: Option<PathBuf>,
    /// Bytes of a device's memory that may be used; `None` leaves it to the device.
    pub device_memory: Option<u64>,
    /// Bytes that running plans and kept results may hold.
    pub memory_limit: u64,
    /// Where rows that frames hold go when they take more than three quarters of it; without one they stay in memory.
    pub disk: Option<PathBuf>,
    /// Threads that run plans.
    pub threads: usize,
    /// For tests: rows of a partition of the CPU engine, and whether partitions are delayed by random times.
    pub chunk_rows: Option<usize>,
    pub jitter: bool,
    /// Settings of DataFusion by name, over ours: for tests that compare configurations.
    pub settings: Vec<(String, String)>,
    /// The token of clusters. `None`: that of the environment.
    pub cluster_token: Option<String>,
    pub cluster: onrush_cluster::Settings,
}

impl EngineConfig {
    fn cores(&self) -> Cores {
        let chunk = self.chunk_rows.unwrap_or(onrush_parallel::CHUNK);
        Cores { chunk, jitter: self.jitter, ..Cores::new(self.threads) }
    }
}

impl Default for EngineConfig {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(2, |n| n.get()).max(2);
        EngineConfig {
            choice: EngineChoice::Cpu,
            policy: None,
            part_rows: None,
            tuning: None,
            fault_file: None,
            cache: None,
            device_memory: None,
            memory_limit: 4 << 30,
            disk: None,
            threads,
            chunk_rows: None,
            jitter: false,
            settings: Vec::new(),
            cluster_token: None,
            cluster: onrush_cluster::Settings::default(),
        }
    }
}

pub struct Engine {
    config: EngineConfig,
    accelerator: Option<Arc<Accelerator>>,
    /// Why there is none.
    why_cpu: String,
    context: SessionContext,
    pool: Arc<Pool>,
    states: States,
    catalog: Catalog,
    results: ResultCache,
    /// Rows that frames hold, by what they are: a frame of the same plan shares them.
    known: WeakMap<Resident>,
    store: Store,
    /// Physical plans that can run again.
    plans: Plans,
    task_context: OnceLock<Arc<TaskContext>>,
    holders: RwLock<Vec<Weak<dyn TableHolder>>>,
    runtime: Option<tokio::runtime::Runtime>,
    /// Trained models by key, held weakly.
    trained: Mutex<HashMap<u128, Weak<TrainedModel>>>,
    /// Graphs that were used last.
    graphs: graphs::Indexes,
    /// Clusters that frames are computed by, by address.
    clusters: Mutex<HashMap<String, Arc<cluster::ClusterSession>>>,
    /// The threads that train models. `None` if none could be started: trainings then run on the thread that asks.
    learners: OnceLock<Option<rayon::ThreadPool>>,
}

impl Engine {
    /// # Errors
    /// If the machine gives no threads, or has no device of the kind that was asked for.
    pub fn new(config: EngineConfig) -> Result<Self, Diagnostic> {
        let (mut accelerator, why_cpu) =
            Accelerator::open(config.choice, config.cache.as_deref(), config.device_memory)?;
        if let Some(opened) = accelerator.as_mut().and_then(Arc::get_mut) {
            opened.policy = config.policy.unwrap_or(opened.policy);
            opened.part_rows = config.part_rows;
            opened.fault_file.clone_from(&config.fault_file);
            opened.gpu.tuning = config.tuning.unwrap_or(opened.gpu.tuning);
        }
        if let Some(accelerator) = &accelerator {
            accelerator.trim_when_idle();
            accelerator.gpu.residency.set_pinned_limit(config.memory_limit / 8);
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(config.threads)
            .thread_name("onrush-engine")
            // Plans are trees, and DataFusion walks them by recursion.
            .thread_stack_size(16 << 20)
            .enable_all()
            .build()
            .map_err(|e| Diagnostic::error(Class::Environment, "threads", format!("no threads can be started: {e}")))?;
        let running = usize::try_from(config.memory_limit / 2).unwrap_or(usize::MAX);
        let pool = Arc::new(Pool::new(running));
        let environment = RuntimeEnvBuilder::new().with_memory_pool(Arc::<Pool>::clone(&pool));
        let environment = environment.with_disk_manager_builder(onrush_io::disk_manager(None));
        let environment = environment.build_arc().map_err(diagnose)?;
        // Plans are made for one partition, in which rows keep their order through every operator; `runtime/parallel`
        // spreads them over cores so that they still do.
        let session = SessionConfig::new()
            .with_target_partitions(1)
            .with_information_schema(false)
            // Joins of frames have the sides that keep their order (`runtime/logical/src/ops/join.rs`), joins of SQL
            // the smaller build side (`runtime/optimizer/src/sides.rs`).
            .set_bool("datafusion.optimizer.join_reordering", false)
            // It objects to plans in which `x is true` could be null for all that the physical plan knows.
            .set_bool("datafusion.execution.skip_physical_aggregate_schema_check", true)
            // What a sort keeps free for merging what it wrote to disk: 10 MB, which is too much of little memory.
            .set_u64("datafusion.execution.sort_spill_reservation_bytes", (running as u64 / 4).min(10 << 20))
            .set_str("datafusion.sql_parser.dialect", "duckdb")
            // `runtime/sql/src/orders.rs` takes out those that nothing relies on.
            .set_bool("datafusion.sql_parser.enable_subquery_sort_elimination", false)
            .set_str("datafusion.sql_parser.default_null_ordering", "nulls_last")
            // What is written with a point is exact, as in DuckDB.
            .set_bool("datafusion.sql_parser.parse_float_as_decimal", true)
            .set_bool("datafusion.sql_parser.enable_ident_normalization", false);
        onrush_expr::model::set_loader(models::from_file);
        let hosts = DeviceUdfRunner::new(accelerator.as_ref(), config.cache.as_deref());
        let session = session.with_option_extension(UdfHost(Arc::new(hosts)));
        let session = config.settings.iter().fold(session, |session, (name, value)| session.set_str(name, value));
        let for_device = accelerator.is_some();
        let mut state = SessionStateBuilder::new()
            .with_config(session)
            .with_runtime_env(environment)
            .with_default_features()
            .with_optimizer_rules(vec![Arc::new(onrush_optimizer::Logical::new(for_device))])
            // `physical.rs` runs those that are needed.
            .with_physical_optimizer_rules(vec![Arc::new(physical::PlannerGuard)])
            .with_query_planner(Arc::new(onrush_logical::ops::describe::Planner));
        state.expr_planners().get_or_insert_default().insert(0, onrush_sql::planner());
        let context = SessionContext::new_with_state(state.build());
        onrush_sql::register(&context)?;
        let results = ResultCache::new(config.memory_limit / 4);
        let store = Store::new(config.memory_limit / 4 * 3, config.disk.clone());
        let (catalog, known) = (Catalog::default(), WeakMap::default());
        Ok(Engine {
            config,
            accelerator,
            why_cpu,
            context,
            pool,
            states: States::default(),
            catalog,
            results,
            known,
            store,
            plans: Plans::default(),
            task_context: OnceLock::new(),
            holders: RwLock::default(),
            runtime: Some(runtime),
            trained: Mutex::default(),
            graphs: graphs::Indexes::default(),
            clusters: Mutex::default(),
            learners: OnceLock::new(),
        })
    }

    /// `cpu`, `cuda` or `emulated`.
    pub fn name(&self) -> &str {
        self.accelerator.as_ref().map_or("cpu", |accelerator| accelerator.name)
    }

    /// Where a table's columns are: `cpu`, or `disk`, or the device that has all of them, too.
    pub fn place(&self, table: &Table) -> &'static str {
        let there = |accelerator: &&Arc<Accelerator>| accelerator.gpu.residency.holds(table.batches());
        let host = if table.is_on_disk() { "disk" } else { "cpu" };
        self.accelerator.as_ref().filter(there).map_or(host, |accelerator| accelerator.name)
    }

    /// How often the columns that lie on the device have become others.
    pub fn device_changes(&self) -> u64 {
        self.accelerator.as_ref().map_or(0, |accelerator| accelerator.gpu.residency.changes())
    }

    /// Where the time of this process went.
    pub fn spent(&self) -> Phases {
        Phases::now()
    }

    /// What is held on the device now, for data and for work under way, with what lies between and is kept for what
    /// comes next: what the driver shows of this process, but for its context. None without a device.
    pub fn device_bytes(&self) -> Option<u64> {
        let accelerator = self.accelerator.as_ref()?;
        Some(accelerator.gpu.context().device().held())
    }

    /// Bytes that running plans and kept results may hold.
    pub fn memory_limit(&self) -> u64 {
        self.config.memory_limit
    }

    /// A count of memory for something that outlives a request; `what` is for messages.
    pub fn account(&self, what: &'static str) -> HeldMemory {
        HeldMemory::new(Arc::clone(&self.pool), what)
    }

    /// From now on `holder` is told which tables and frames are gone, as long as it lives.
    pub fn add_holder(&self, holder: Weak<dyn TableHolder>) {
        let mut holders = self.holders.write().unwrap_or_else(|e| e.into_inner());
        holders.retain(|other| other.strong_count() > 0);
        holders.push(holder);
    }

    fn each_holder(&self, tell: impl Fn(&dyn TableHolder)) {
        let holders = self.holders.read().unwrap_or_else(|e| e.into_inner());
        holders.iter().filter_map(Weak::upgrade).for_each(|holder| tell(&*holder));
    }

    pub fn accelerator(&self) -> Option<&Arc<Accelerator>> {
        self.accelerator.as_ref()
    }

    fn insert(&self, id: FrameId, frame: Frame, task: &TaskHandle) {
        let resident = frame.resident.clone();
        if let Some(resident) = &resident {
            self.known.put(frame.key, resident);
        }
        self.catalog.insert(id, Object::Frame(Arc::new(frame)));
        if let Some(resident) = resident {
            self.make_room(task);
            if let Some(accelerator) = &self.accelerator {
                accelerator.prefetch(&resident.look());
            }
        }
    }

    /// A plan with DataFusion's own analysis, for what ours does not see: what types become of others, and what does
    /// not go together.
    fn analysed(&self, plan: LogicalPlan) -> Result<LogicalPlan, Diagnostic> {
        let plan = chains::shortened(plan).map_err(diagnose)?;
        let state = self.states.lend(&self.context);
        state.analyzer().execute_and_check(plan, state.config_options(), |_, _| {}).map_err(diagnose)
    }

    /// Forgets objects. Frames that others are made from live on until these are gone, too.
    pub fn release(&self, ids: &[impl Into<ObjectId> + Copy]) {
        let ids: Vec<ObjectId> = ids.iter().copied().map(Into::into).collect();
        let gone = self.catalog.remove(&ids);
        if gone.iter().any(Object::is_resident) {
            self.plans.clear();
        }
        drop(gone);
        self.each_holder(|holder| holder.release(&ids));
    }

    pub fn contains(&self, id: FrameId) -> bool {
        self.catalog.contains(id)
    }

    /// Bytes of resident frames in memory, of models, of kept results and of kept indexes of graphs. A buffer that two
    /// of them share counts twice.
    pub fn resident_bytes(&self) -> u64 {
        let models: u64 = self.models().iter().map(|(_, bytes)| bytes).sum();
        self.all_residents().iter().map(|resident| resident.memory()).sum::<u64>()
            + self.results.bytes()
            + models
            + self.graphs.bytes()
    }

    /// What frames hold, each once.
    fn all_residents(&self) -> Vec<Arc<Resident>> {
        let mut held = self.catalog.of_frames(|_, frame| frame.resident.clone());
        let mut seen = std::collections::HashSet::new();
        held.retain(|resident| seen.insert(Arc::as_ptr(resident)));
        held
    }

    /// The frames that hold their rows, with their tables. Nothing is run.
    pub fn residents(&self) -> Vec<(FrameId, Arc<Table>)> {
        self.catalog.of_frames(|id, frame| Some((id, frame.resident.as_ref()?.look())))
    }

    /// Drops results that no frame pins.
    pub fn forget_results(&self) {
        self.results.clear();
        self.graphs.clear();
    }

    /// Plans again what was planned before.
    pub fn forget_plans(&self) {
        self.plans.clear();
    }

    pub fn frame_count(&self) -> usize {
        self.catalog.of_frames(|_, _| Some(())).len()
    }

    /// Groups and aggregates a frame for plots and previews, without a separate frame for the result. Without `keys`
    /// the result is one row over the whole frame. The result is sorted by the keys, nulls first, and cached like any
    /// other.
    pub fn run_aggregate(
        &self,
        id: FrameId,
        keys: &[Expr],
        aggs: &[Expr],
        task: &TaskHandle,
    ) -> Result<Arc<Table>, Diagnostic> {
        match keys.is_empty() {
            true => self.run_op(&Op::Select { input: id, exprs: aggs.to_vec() }, task),
            false => self.run_op(&Op::GroupBy { input: id, keys: keys.to_vec(), aggs: aggs.to_vec() }, task),
        }
    }

    /// What type an expression over a frame has. Nothing runs.
    pub fn type_of(
        &self,
        id: FrameId,
        expr: &Expr,
        task: &TaskHandle,
    ) -> Result<arrow::datatypes::DataType, Diagnostic> {
        let op = Op::Select { input: id, exprs: vec![expr.clone().alias("value")] };
        let frame = self.made(&op, task)?;
        Ok(frame.schema.field(0).data_type().clone())
    }

    /// Any step whose result is wanted and that needs no id.
    pub fn run_op(&self, op: &Op, task: &TaskHandle) -> Result<Arc<Table>, Diagnostic> {
        self.run(&Arc::new(self.made(op, task)?), task)
    }

    /// The frame of a step that needs no id. Nothing runs.
    pub fn made(&self, op: &Op, task: &TaskHandle) -> Result<Frame, Diagnostic> {
        guarded(|| self.plan(op, None, None, task))
    }
}

impl Inputs for Engine {
    fn frame(&self, id: FrameId) -> Result<Arc<Frame>, Diagnostic> {
        self.catalog.frame(id).ok_or_else(|| {
            Diagnostic::error(Class::Internal, "unknown-frame", format!("the session has no frame {}", id.0))
                .help("run the cell that makes the frame again")
        })
    }

    fn rows(&self, plan: LogicalPlan) -> Result<Table, Diagnostic> {
        let schema = Arc::new(plan.schema().as_arrow().clone());
        self.run_plan(plan, schema, &TaskHandle::new())
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A runtime that is dropped where another one runs would panic.
            runtime.shutdown_background();
        }
    }
}

fn placed(diagnostic: Diagnostic, at: Option<&Span>) -> Diagnostic {
    if diagnostic.labels.is_empty() { diagnostics::place(diagnostic, None, at, "") } else { diagnostic }
}

/// Plans on a stack that deep expressions cannot exhaust, on this thread: another one would have nothing of the
/// planner's code and data in its caches. A panic there is a bug of ours and no end of the engine.
fn guarded<T>(work: impl FnOnce() -> Result<T, Diagnostic>) -> Result<T, Diagnostic> {
    stacker::maybe_grow(PLANS_STACK, PLANS_STACK + (1 << 20), || {
        let done = std::panic::catch_unwind(AssertUnwindSafe(work));
        done.unwrap_or_else(|panic| Err(panicked(&*panic)))
    })
}

/// The error of a panic: the diagnostic that it was raised with, or an internal error with its message.
fn panicked(panic: &(dyn std::any::Any + Send)) -> Diagnostic {
    if let Some(diagnostic) = panic.downcast_ref::<Diagnostic>() {
        return diagnostic.clone();
    }
    let text = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
    internal(&text.unwrap_or_else(|| "a panic without a message".to_string()))
}
