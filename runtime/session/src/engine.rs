//! The engine process: holds the data and runs plans, one thread for each call.
//!
//! It knows no notebooks, no names and no generations. It ends when the supervisor's end of the socket closes.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use onrush_engine::{Answer, CALLS_STACK, Engine, EngineChoice, EngineConfig, ExportedColumn, Job};
use onrush_explore::Views;
use onrush_frame::{Table, TaskHandle, ipc, sealed};
use onrush_gpu::GPU_LOST;
use onrush_wire::call::Family;
use onrush_wire::codec::CodecError;
use onrush_wire::session::{Reply, Residency};
use onrush_wire::visual::Section;
use onrush_wire::{Class, Diagnostic, FrameId, ObjectId, limits, paths};
use parking_lot::Mutex;
use rustix::process::Signal;

use crate::connection::{Receiver, Sender, split};
use crate::memfd;
use crate::protocol::{CallProgress, EngineRequest, FromEngine, ToEngine};
use crate::thread_pool::Threads;

/// Between two reports of calls under way.
const REPORT: Duration = Duration::from_millis(150);
/// When memory runs out the kernel ends processes of a high score first: the engine can be rebuilt, notebooks cannot.
const OOM_SCORE: &str = "600";
/// The signal that ends the engine after a fatal error of the device. An exit would run the destructors of libraries
/// that other threads still use.
pub const LOST: Signal = Signal::PROF;
/// What ends the engine after a query was stopped and a function of a `%%cuda` cell went on. No exit: that would wait
/// for a GPU's kernel.
pub const ENDLESS: Signal = Signal::VTALARM;
/// For tests: a file; when it is there, a kernel writes where it must not.
const FAULT: &str = "ONRUSH_TEST_FAULT";

struct Process {
    engine: Arc<Engine>,
    views: Views,
    out: Mutex<Out>,
    threads: Threads,
    running: Mutex<HashMap<u64, TaskHandle>>,
}

/// The way to the supervisor, and what it was last told of what is held here.
struct Out {
    sender: Sender,
    told: Option<LastReport>,
}

/// What is held, and which frames (their numbers, and where their tables lie) and columns that was found of.
#[derive(PartialEq)]
struct LastReport {
    tables: Vec<(FrameId, usize)>,
    models: Vec<(ObjectId, u64)>,
    columns: u64,
    resident: u64,
    device: Option<u64>,
}

/// Runs the engine on a socket until that closes.
pub fn serve(stream: UnixStream) -> Result<(), Diagnostic> {
    // Not allowed in some containers; then the kernel chooses by size alone.
    let _ = std::fs::write("/proc/self/oom_score_adj", OOM_SCORE);
    let limit = limits::session_memory();
    onrush_io::FileCache::shared().set_limit(limit / 4);
    let choice = EngineChoice::parse(&std::env::var(paths::ENGINE).unwrap_or_default())?;
    let device_memory = std::env::var(paths::DEVICE_MEMORY).ok().and_then(|text| limits::parse_size(&text));
    let folder = paths::cache_dir();
    paths::private_dir(&folder).map_err(|error| {
        Diagnostic::error(
            Class::Environment,
            "cache",
            format!("the folder {} cannot be used: {error}", folder.display()),
        )
    })?;
    let cache = Some(folder.clone());
    let fault_file = std::env::var_os(FAULT).map(Into::into);
    let config = EngineConfig {
        choice,
        cache,
        device_memory,
        memory_limit: limit,
        disk: Some(folder.join("rows")),
        fault_file,
        ..Default::default()
    };
    let engine = match Engine::new(config.clone()) {
        // `Ready` tells the client that this is another engine than it asked for. The session's frames are still there.
        Err(error) if choice != EngineChoice::Cpu => {
            eprintln!("onrush-session: {}", error.message);
            Engine::new(EngineConfig { choice: EngineChoice::Cpu, ..config })?
        }
        engine => engine?,
    };
    let broken = |e: &dyn std::fmt::Display| {
        Diagnostic::error(Class::Internal, "engine-socket", format!("the engine's socket failed: {e}"))
    };
    // The program of this process has the role of a driver process, too.
    onrush_databases::set_program("/proc/self/exe".into());
    let (mut sender, mut receiver) = split(stream).map_err(|e| broken(&e))?;
    sender.send(&FromEngine::Ready { engine: engine.name().to_string() }, None).map_err(|e| broken(&e))?;
    let out = Mutex::new(Out { sender, told: None });
    let engine = Arc::new(engine);
    let views = Views::new(Arc::clone(&engine));
    let (threads, running) = (Threads::new(CALLS_STACK), Mutex::default());
    let process = Arc::new(Process { engine, views, out, threads, running });
    let reporter = Arc::clone(&process);
    let report = move || reporter.report();
    std::thread::Builder::new().name("report".to_string()).spawn(report).map_err(|e| broken(&e))?;
    match process.listen(&mut receiver) {
        Ok(()) | Err(CodecError::Closed) => Ok(()),
        Err(error) => Err(broken(&error)),
    }
}

fn progress(call: u64, task: &TaskHandle, device: Option<u64>) -> CallProgress {
    let p = task.progress();
    CallProgress {
        call,
        stage: p.stage,
        rows: p.rows,
        total_rows: p.total_rows,
        bytes: p.bytes,
        total_bytes: p.total_bytes,
        memory: p.memory,
        device,
        steps: p.steps,
        detail: p.detail,
    }
}

impl Process {
    fn listen(self: &Arc<Self>, receiver: &mut Receiver) -> Result<(), CodecError> {
        loop {
            let (ToEngine { call, ask }, descriptor) = receiver.receive::<ToEngine>()?;
            match ask {
                EngineRequest::Cancel { call } => {
                    if let Some(task) = self.running.lock().get(&call) {
                        task.cancel();
                    }
                    if onrush_gpu::udf::is_any() {
                        self.end_the_endless();
                    }
                }
                // Here, in the order of the calls: the same frame may be made again by the next one.
                EngineRequest::Release(objects) => {
                    self.engine.release(&objects);
                    self.tell(call, Reply::Done, None);
                }
                ask => {
                    let task = TaskHandle::new();
                    self.running.lock().insert(call, task.clone());
                    let process = Arc::clone(self);
                    let begun = Instant::now();
                    let started = self.threads.run(move || {
                        let work = std::panic::AssertUnwindSafe(|| process.answer(ask, descriptor, &task));
                        let (reply, descriptor) = std::panic::catch_unwind(work).unwrap_or_else(|_| {
                            let bug =
                                Diagnostic::error(Class::Internal, "panic", "the session's engine failed at this call");
                            (Reply::Failed(bug.help("please report it with the cell that led to it")), None)
                        });
                        process.running.lock().remove(&call);
                        if begun.elapsed() >= REPORT {
                            // What was reported last is old by up to as much.
                            let last = progress(call, &task, process.engine.device_bytes());
                            let _ = process.out.lock().sender.send(&FromEngine::Progress(vec![last]), None);
                        }
                        let lost = match &reply {
                            Reply::Failed(error) if error.code == GPU_LOST => Some(error.message.clone()),
                            _ => None,
                        };
                        process.tell(call, reply, descriptor);
                        if let Some(message) = lost {
                            // Its context works no more: the supervisor starts another engine, and asks that one. No
                            // message ends half-written.
                            let _out = process.out.lock();
                            eprintln!("onrush-session: {message}");
                            let _ = rustix::process::kill_process(rustix::process::getpid(), LOST);
                        }
                    });
                    if !started {
                        self.running.lock().remove(&call);
                        let full = Diagnostic::error(Class::Resources, "threads", "no more threads can be started");
                        self.tell(call, Reply::Failed(full), None);
                    }
                }
            }
        }
    }

    /// A kernel is ended by nothing but the end of its process: the supervisor starts another engine, and asks that one
    /// for what others wait for.
    fn end_the_endless(self: &Arc<Self>) {
        let process = Arc::clone(self);
        self.threads.run(move || {
            if onrush_gpu::udf::is_endless() {
                // No message ends half-written.
                let _out = process.out.lock();
                eprintln!("onrush-session: a function of a `%%cuda` cell went on after its query was stopped");
                let _ = rustix::process::kill_process(rustix::process::getpid(), ENDLESS);
            }
        });
    }

    fn tell(&self, call: u64, reply: Reply, descriptor: Option<OwnedFd>) {
        // The driver is asked before others have to wait.
        let device = self.engine.device_bytes();
        let mut out = self.out.lock();
        self.hold(&mut out, device);
        let out = &mut out.sender;
        let spent: Vec<(String, u64)> =
            self.engine.spent().named().map(|(phase, time)| (phase.to_string(), time.as_micros() as u64)).collect();
        let answer = |reply, spent| FromEngine::Answer { call, reply: Box::new(reply), spent };
        let sent = out.send(&answer(reply, spent.clone()), descriptor.as_ref().map(|d| d.as_fd()));
        if let Err(CodecError::TooLong(bytes)) = sent {
            let error = Diagnostic::error(
                Class::Resources,
                "too-long",
                format!("the answer has {bytes} bytes, too many for a message"),
            );
            let reply = Reply::Failed(error.help("ask for fewer rows or shorter strings"));
            let _ = out.send(&answer(reply, spent), None);
        }
    }

    /// Tells the supervisor what is held, if that changed: with many frames it takes a while to say.
    fn hold(&self, out: &mut Out, device: Option<u64>) {
        let engine = &self.engine;
        let mut residents = engine.residents();
        residents.sort_unstable_by_key(|(id, _)| *id);
        let now = LastReport {
            tables: residents.iter().map(|(id, table)| (*id, Arc::as_ptr(table).addr())).collect(),
            models: engine.models(),
            columns: engine.device_changes(),
            resident: engine.resident_bytes(),
            device,
        };
        if out.told.as_ref() == Some(&now) {
            return;
        }
        // Tables are Arrow in the processor's memory, whatever computed them.
        let held = |table: &Table| Residency {
            rows: table.rows() as u64,
            bytes: table.bytes(),
            place: engine.place(table).to_string(),
        };
        let mut objects: Vec<(ObjectId, Residency)> =
            residents.iter().map(|(id, table)| (ObjectId::from(*id), held(table))).collect();
        let models = now.models.iter();
        objects.extend(models.map(|(id, bytes)| (*id, Residency { rows: 0, bytes: *bytes, place: "cpu".to_string() })));
        let holds = FromEngine::Holds { resident_bytes: now.resident, device_bytes: now.device, objects };
        // A supervisor that is gone is noticed by the reader.
        let _ = out.sender.send(&holds, None);
        out.told = Some(now);
    }

    fn report(&self) {
        loop {
            std::thread::sleep(REPORT);
            let device = self.engine.device_bytes();
            let calls: Vec<CallProgress> =
                self.running.lock().iter().map(|(call, task)| progress(*call, task, device)).collect();
            let mut out = self.out.lock();
            if !calls.is_empty() {
                if out.sender.send(&FromEngine::Progress(calls), None).is_err() {
                    return;
                }
            } else if out.told.as_ref().is_some_and(|told| told.device != device) {
                // Memory goes back to the driver after the last answer.
                self.hold(&mut out, device);
            }
        }
    }

    fn answer(&self, ask: EngineRequest, descriptor: Option<OwnedFd>, task: &TaskHandle) -> (Reply, Option<OwnedFd>) {
        match self.run(ask, descriptor, task) {
            Ok(answer) => answer,
            Err(diagnostic) => (Reply::Failed(diagnostic), None),
        }
    }

    fn run(
        &self,
        ask: EngineRequest,
        descriptor: Option<OwnedFd>,
        task: &TaskHandle,
    ) -> Result<(Reply, Option<OwnedFd>), Diagnostic> {
        let (call, made, files) = match ask {
            EngineRequest::Call { call, made, files } => (call, made, files),
            EngineRequest::RestoreModel { id } => {
                let descriptor = descriptor.ok_or_else(|| lost_file("it did not come with the message"))?;
                let bytes = memfd::read(&descriptor).map_err(|e| lost_file(&e.to_string()))?;
                let (info, _) = self.engine.restore_model(id, "the session's copy of the model", bytes)?;
                return Ok((Reply::Model { id, info: Box::new(info) }, None));
            }
            EngineRequest::Release(_) | EngineRequest::Cancel { .. } => return Ok((Reply::Done, None)),
        };
        let rows = descriptor.map(|d| values(&d)).transpose()?;
        let job = Job { request: call.into(), made, rows, files };
        let answer = match job.request.family() {
            Some(Family::Views) => self.views.answer(job, task)?,
            _ => self.engine.answer(job, task)?,
        };
        Ok(match answer {
            Answer::Reply(reply) => (*reply, None),
            Answer::Rows(table) => {
                let (reply, memory) = to_cell(&table, task)?;
                (reply, Some(memory))
            }
            Answer::Exported(ExportedColumn { rows, bytes, dtype, device, emulated, memory }) => {
                (Reply::Exported { rows, bytes, dtype, device, emulated }, Some(memory))
            }
            Answer::Read { id, schema, files } => {
                // A supervisor that is gone is noticed by the reader.
                let _ = self.out.lock().sender.send(&FromEngine::Read { id, files }, None);
                (Reply::Frame { id, schema }, None)
            }
            // Without a copy a model is trained again when it is needed again; one of a file cannot be restored.
            Answer::Model { id, info, file } => (Reply::Model { id, info }, memfd::sealed("onrush-model", &file).ok()),
            Answer::Visual { head, sections } => {
                let sections: Vec<_> =
                    sections.iter().map(|(name, kind, bytes)| (name.as_str(), *kind, bytes.as_slice())).collect();
                let (sections, memory) = Section::lay_out(&sections);
                let memory = match memory.is_empty() {
                    true => None,
                    false => Some(memfd::sealed("onrush-visual", &memory).map_err(|e| no_memory(&e))?),
                };
                (Reply::Visual { head, sections, inline: None }, memory)
            }
        })
    }
}

fn lost_file(why: &str) -> Diagnostic {
    Diagnostic::error(Class::Internal, "model-file", format!("the copy of the model cannot be read: {why}"))
}

fn no_memory(error: &dyn std::fmt::Display) -> Diagnostic {
    Diagnostic::error(Class::Resources, "shared-memory", format!("the rows do not fit into shared memory: {error}"))
        .help("collect fewer rows or columns")
}

/// The rows as one batch in an Arrow IPC file, so that the other side maps every column in one piece.
fn to_cell(table: &Table, task: &TaskHandle) -> Result<(Reply, OwnedFd), Diagnostic> {
    if let Some(file) = table.sealed() {
        let memory = file.memory().try_clone_to_owned().map_err(|e| no_memory(&e))?;
        let schema = onrush_frame::schema_to_wire(table.schema());
        return Ok((Reply::Batches { schema, rows: table.rows() as u64, bytes: file.bytes(), inline: None }, memory));
    }
    task.stage("copy to the cell");
    let table = ipc::plain(table).map_err(|e| no_memory(&e))?;
    let table = match table.batches().len() {
        0 | 1 => table,
        _ => Table::new(Arc::clone(table.schema()), vec![table.to_batch().map_err(|e| no_memory(&e))?]),
    };
    let memory = memfd::sealed_by("onrush-result", |file| {
        ipc::write_file(&table, io::BufWriter::with_capacity(1 << 20, file)).map_err(io::Error::other)
    })
    .map_err(|e| no_memory(&e))?;
    let bytes = memfd::length(&memory).map_err(|e| no_memory(&e))?;
    let schema = onrush_frame::schema_to_wire(table.schema());
    Ok((Reply::Batches { schema, rows: table.rows() as u64, bytes, inline: None }, memory))
}

/// The rows of a frame that is made from values. Never empty as a list: without rows the schema would be lost.
fn values(descriptor: &OwnedFd) -> Result<Vec<RecordBatch>, Diagnostic> {
    let damaged = |e: &dyn std::fmt::Display| {
        Diagnostic::error(Class::Internal, "shared-memory", format!("the rows that the cell sent cannot be read: {e}"))
    };
    let bytes = match sealed::map(descriptor).map_err(|e| damaged(&e))? {
        Some(mapped) => mapped,
        None => Buffer::from_vec(memfd::read(descriptor).map_err(|e| damaged(&e))?),
    };
    let table = ipc::read(bytes).map_err(|e| damaged(&e))?;
    match table.batches() {
        [] => Ok(vec![RecordBatch::new_empty(Arc::clone(table.schema()))]),
        some => Ok(some.to_vec()),
    }
}
