//! The engines that cases run on, in one table, and an engine with tables in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use onrush_engine::{ClusterSettings, Engine, EngineChoice, EngineConfig, Policy, WorkerOptions};
use onrush_frame::{Table, TaskHandle};
use onrush_wire::plan::{Format, Op, ParquetOptions, Sink, SinkFormat, Source};
use onrush_wire::{Class, Diagnostic, FrameId};

/// An engine that `--engine` can name.
pub struct Spec {
    pub name: &'static str,
    pub what: &'static str,
    /// Rows come out in the order in which they went in, so that `first`, `last` and `LIMIT` mean one thing.
    pub keeps_order: bool,
    open: fn(Option<PathBuf>) -> Result<Engine, Diagnostic>,
}

/// The engine whose tables are files that two workers of a cluster read. They run in this process.
const CLUSTER: &str = "cluster";

/// A new engine is a line here.
pub const ENGINES: &[Spec] = &[
    Spec { name: "cpu", what: "DataFusion, as notebooks use it", keeps_order: true, open: cpu },
    Spec { name: "cpu-1", what: "the same on one thread", keeps_order: true, open: |_| cpu_with(1, None, false) },
    Spec {
        name: "cpu-chunks",
        what: "the same on three threads, in partitions of 33 rows that end at random times",
        keeps_order: true,
        open: |_| cpu_with(3, Some(33), true),
    },
    Spec {
        name: "cpu-chunks-1",
        what: "the same partitions on one thread",
        keeps_order: true,
        open: |_| cpu_with(1, Some(33), false),
    },
    Spec {
        name: "cpu-chunks-2",
        what: "the same partitions on two threads, which end at random times",
        keeps_order: true,
        open: |_| cpu_with(2, Some(33), true),
    },
    Spec {
        name: "cpu-chunks-16",
        what: "the same on sixteen threads",
        keeps_order: true,
        open: |_| cpu_with(16, Some(33), true),
    },
    Spec {
        name: "cpu-split",
        what: "DataFusion in three partitions, batches of 7 rows, joins by sorting",
        keeps_order: false,
        open: cpu_split,
    },
    Spec {
        name: CLUSTER,
        what: "two workers of a cluster, of two threads each, to which a task goes for each byte of a file",
        keeps_order: false,
        open: cluster,
    },
    Spec {
        name: "emulated",
        what: "generated kernels on the processor, and DataFusion for what they cannot do",
        keeps_order: true,
        open: |cache| device(EngineChoice::Emulated, cache, None),
    },
    Spec {
        name: "emulated-parts",
        what: "the same as if no more than 33 rows fit into its memory",
        keeps_order: true,
        open: |cache| device(EngineChoice::Emulated, cache, Some(33)),
    },
    Spec {
        name: "cuda",
        what: "generated kernels on a GPU, and DataFusion for what they cannot do",
        keeps_order: true,
        open: |cache| device(EngineChoice::Cuda, cache, None),
    },
    Spec {
        name: "cuda-parts",
        what: "the same as if no more than 33 rows fit into its memory",
        keeps_order: true,
        open: |cache| device(EngineChoice::Cuda, cache, Some(33)),
    },
];

/// Whatever the size of the tables, and with the processor for the rest: a plan that is refused proves nothing.
fn device(choice: EngineChoice, cache: Option<PathBuf>, part_rows: Option<u64>) -> Result<Engine, Diagnostic> {
    Engine::new(EngineConfig {
        choice,
        policy: Some(Policy::Always),
        cache,
        part_rows,
        memory_limit: MEMORY,
        ..Default::default()
    })
}

/// Enough for TPC-H at scale 10.
const MEMORY: u64 = 64 << 30;

fn cpu(_: Option<PathBuf>) -> Result<Engine, Diagnostic> {
    Engine::new(EngineConfig { memory_limit: MEMORY, ..Default::default() })
}

fn cpu_with(threads: usize, chunk_rows: Option<usize>, jitter: bool) -> Result<Engine, Diagnostic> {
    Engine::new(EngineConfig { memory_limit: MEMORY, threads, chunk_rows, jitter, ..Default::default() })
}

fn cpu_split(_: Option<PathBuf>) -> Result<Engine, Diagnostic> {
    let settings = [
        ("datafusion.execution.target_partitions", "3"),
        ("datafusion.execution.batch_size", "7"),
        ("datafusion.optimizer.prefer_hash_join", "false"),
        ("datafusion.optimizer.enable_topk_aggregation", "false"),
        ("datafusion.optimizer.enable_dynamic_filter_pushdown", "false"),
    ];
    let settings = settings.map(|(name, value)| (name.to_string(), value.to_string())).to_vec();
    Engine::new(EngineConfig { settings, ..Default::default() })
}

/// The token of the workers of this process, and their address.
static WORKERS: LazyLock<Result<(String, String), Diagnostic>> = LazyLock::new(|| {
    let failed = |e: std::io::Error| Diagnostic::error(Class::Environment, "worker", e.to_string());
    let token = onrush_wire::cluster::new_token().map_err(failed)?;
    let mut names = Vec::new();
    for _ in 0..2 {
        let (tell, told) = std::sync::mpsc::channel();
        let own = token.clone();
        let worker = move || {
            let options = WorkerOptions { listen: "127.0.0.1:0".to_string(), threads: 2, memory: MEMORY, spill: None };
            let problem = tell.clone();
            if let Err(error) = onrush_engine::serve_worker(&options, Some(&own), move |at| _ = tell.send(Ok(at))) {
                let _ = problem.send(Err(error));
            }
        };
        std::thread::Builder::new().name("worker".to_string()).spawn(worker).map_err(failed)?;
        let ended = || Diagnostic::error(Class::Internal, "worker", "a worker ended before it listened");
        names.push(told.recv().map_err(|_| ended())??.to_string());
    }
    Ok((token, format!("onrush://{}", names.join(","))))
});

fn cluster(_: Option<PathBuf>) -> Result<Engine, Diagnostic> {
    let (token, _) = WORKERS.clone()?;
    let cluster = ClusterSettings { bytes_of_partition: 1 };
    Engine::new(EngineConfig { memory_limit: MEMORY, cluster_token: Some(token), cluster, ..Default::default() })
}

/// # Errors
/// If there is no engine of that name: all names are in the text.
pub fn spec(name: &str) -> Result<&'static Spec, String> {
    let known: Vec<&str> = ENGINES.iter().map(|e| e.name).collect();
    ENGINES
        .iter()
        .find(|e| e.name == name)
        .ok_or_else(|| format!("there is no engine `{name}`; there are {}", known.join(", ")))
}

/// Answers queries: an engine, or a stand-in for one.
pub trait Answers {
    fn name(&self) -> &str;

    /// See [`Spec::keeps_order`].
    fn keeps_order(&self) -> bool {
        true
    }

    /// Makes a table known under a name, in place of an older one of that name.
    ///
    /// # Errors
    /// If the engine takes no such rows.
    fn load(&mut self, name: &str, table: &Table) -> Result<(), Diagnostic>;

    /// The rows of a query.
    ///
    /// # Errors
    /// What the engine says is wrong with the query or the data.
    fn sql(&mut self, query: &str) -> Result<Arc<Table>, Diagnostic>;
}

/// An engine with tables in it.
pub struct Subject {
    spec: &'static Spec,
    engine: Engine,
    next: AtomicU64,
    tables: BTreeMap<String, FrameId>,
    on_device: usize,
    on_workers: usize,
    reasons: BTreeMap<String, usize>,
    /// The folder of the tables of a cluster.
    files: Option<tempfile::TempDir>,
}

impl Subject {
    /// Compiled kernels are kept in `cache`, if one is given.
    ///
    /// # Errors
    /// If there is no engine of that name, or it does not start.
    pub fn open(name: &str, cache: Option<PathBuf>) -> Result<Self, String> {
        let spec = spec(name)?;
        let engine = (spec.open)(cache).map_err(|d| d.to_string())?;
        let files = (name == CLUSTER).then(tempfile::tempdir).transpose().map_err(|e| e.to_string())?;
        Ok(Subject {
            spec,
            engine,
            next: AtomicU64::new(1),
            tables: BTreeMap::new(),
            on_device: 0,
            on_workers: 0,
            reasons: BTreeMap::new(),
            files,
        })
    }

    /// Why nodes stayed on the CPU, and how many did, the most frequent first.
    pub fn reasons(&self) -> Vec<(&str, usize)> {
        let mut all: Vec<(&str, usize)> =
            self.reasons.iter().map(|(reason, count)| (reason.as_str(), *count)).collect();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        all
    }

    /// How many queries ran on a device, at least in part.
    pub fn on_device(&self) -> usize {
        self.on_device
    }

    /// How many queries ran on the workers of a cluster.
    pub fn on_workers(&self) -> usize {
        self.on_workers
    }

    /// How many fragments ran on the CPU after all.
    pub fn cpu_fallbacks(&self) -> u64 {
        self.engine.accelerator().map_or(0, |accelerator| accelerator.cpu_fallbacks.load(Ordering::Relaxed))
    }

    /// How many parts of fragments ran.
    pub fn parts(&self) -> u64 {
        self.engine.accelerator().map_or(0, |accelerator| accelerator.partitions_run.load(Ordering::Relaxed))
    }

    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    pub fn frame(&self, name: &str) -> Option<FrameId> {
        self.tables.get(name).copied()
    }

    /// The rows of a frame as a file that the workers read.
    fn as_file(&self, id: FrameId, folder: &Path) -> Result<FrameId, Diagnostic> {
        let (folder, task) = (folder.display().to_string(), TaskHandle::new());
        let format = SinkFormat::Parquet { compression: "none".to_string(), row_group_rows: Some(1024) };
        let sink = Sink { path: format!("{}.parquet", id.0), folder: folder.clone(), format };
        let (path, ..) = self.engine.write(id, &sink, &task)?;
        self.engine.release(&[id]);
        let (_, address) = WORKERS.clone()?;
        let format = Format::Parquet(ParquetOptions::default());
        let read = self.id();
        self.engine.step(
            read,
            &Op::Read(Source { path, folder, format, cluster: Some(address) }),
            None,
            None,
            &task,
        )?;
        Ok(read)
    }

    pub fn id(&self) -> FrameId {
        FrameId(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// The query as a step: `plan` for each of its parts is up to the caller.
    pub fn query(&self, query: &str) -> Op {
        let tables = self.tables.iter().map(|(name, id)| (name.clone(), *id)).collect();
        Op::Sql { query: query.to_string(), tables }
    }
}

impl Answers for Subject {
    fn name(&self) -> &str {
        self.spec.name
    }

    fn keeps_order(&self) -> bool {
        self.spec.keeps_order
    }

    fn load(&mut self, name: &str, table: &Table) -> Result<(), Diagnostic> {
        let id = self.id();
        let op = Op::FromArrow { schema: onrush_frame::schema_to_wire(table.schema()), bytes: None };
        self.engine.step(id, &op, None, Some(table.batches().to_vec()), &TaskHandle::new())?;
        let id = match &self.files {
            // Every third table stays where the session is.
            Some(files) if !id.0.is_multiple_of(3) => self.as_file(id, files.path())?,
            _ => id,
        };
        if let Some(old) = self.tables.insert(name.to_string(), id) {
            self.engine.release(&[old]);
        }
        Ok(())
    }

    fn sql(&mut self, query: &str) -> Result<Arc<Table>, Diagnostic> {
        let id = self.id();
        let task = TaskHandle::new();
        self.engine.step(id, &self.query(query), None, None, &task)?;
        if self.engine.accelerator().is_some() {
            let plan = self.engine.explain(id, false, &task).unwrap_or_default();
            if ["[gpu]", "[emulated]"].iter().any(|place| plan.contains(place)) {
                self.on_device += 1;
            }
            for (_, reason) in plan.lines().filter_map(|line| line.split_once("[cpu] ")) {
                *self.reasons.entry(reason.trim().to_string()).or_default() += 1;
            }
        }
        if self.files.is_some() && self.engine.explain(id, false, &task).is_ok_and(|plan| plan.contains("Stage 1")) {
            self.on_workers += 1;
        }
        let table = self.engine.table(id, &[], &task);
        self.engine.release(&[id]);
        table
    }
}
