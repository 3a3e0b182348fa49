//! The engine process and the socket to it. A link is one life of an engine; when it dies, its calls end with
//! [`Broken::Gone`] and a new link is made.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use onrush_wire::codec::{self, CodecError};
use onrush_wire::plan::FileMark;
use onrush_wire::session::{Reply, Residency};
use onrush_wire::{Class, Diagnostic, FrameId, ObjectId, fd_passing};
use parking_lot::Mutex;

use crate::connection::{Receiver, split};
use crate::protocol::{CallProgress, EngineRequest, FromEngine, ToEngine};

/// How long an engine may take to answer a cancellation before its caller is sent away without it.
const CANCEL_PATIENCE: Duration = Duration::from_millis(700);
/// How long a search may take that was stopped by its button: it trains its best model once more, on all rows.
const SEARCH_PATIENCE: Duration = Duration::from_secs(600);
/// Between two looks at whether the engine is stopped.
const STOPPED_LOOK: Duration = Duration::from_millis(250);
/// How long the engine may be stopped. A process that was stopped is often continued at once.
const STOPPED_PATIENCE: Duration = Duration::from_secs(2);
/// Why an engine ended after a fatal error of its device.
pub const GPU_STOPPED: &str = "the GPU stopped";
/// Why an engine ended whose query was stopped in vain.
pub const ENDLESS: &str = "a function of a `%%cuda` cell went on after its query was stopped";
/// Calls that ended whose last progress is kept: their tasks end a moment later.
const ENDED: usize = 64;
/// Between two looks at whether the caller still wants the answer.
const LOOK: Duration = Duration::from_millis(50);

/// How long an engine may take to say what it runs on: opening a GPU takes half a second, compiling the emulated device
/// some seconds.
const READY: Duration = Duration::from_secs(30);

/// One life of an engine process.
pub(super) struct Link {
    pub pid: u32,
    /// Counts the lives: 1 is the first.
    pub life: u32,
    socket: UnixStream,
    /// To the thread that writes: an engine that is stopped reads nothing, and holds up nobody but those who wait for
    /// its answers.
    out: mpsc::Sender<Outgoing>,
    shared: Arc<LinkState>,
}

/// A message on its way to the engine.
struct Outgoing {
    bytes: Vec<u8>,
    descriptor: Option<OwnedFd>,
}

struct LinkState {
    waiting: Mutex<HashMap<u64, mpsc::Sender<(Reply, Option<OwnedFd>)>>>,
    progress: Mutex<HashMap<u64, CallProgress>>,
    /// The last that was heard of calls that ended, for their tasks' last line.
    ended: Mutex<VecDeque<CallProgress>>,
    next: AtomicU64,
    dead: AtomicBool,
    reason: Mutex<String>,
    resident: AtomicU64,
    device: Mutex<Option<u64>>,
    spent: Mutex<Vec<(String, u64)>>,
    held: Mutex<HashMap<ObjectId, Residency>>,
    /// The files of frames whose answers have not been looked at yet.
    read: Mutex<HashMap<FrameId, Vec<FileMark>>>,
    /// What it runs on, once it said so.
    engine: OnceLock<String>,
}

/// Why a call has no answer.
#[derive(Debug)]
pub(super) enum Broken {
    /// The engine died; with the reason.
    Gone(String),
    Cancelled,
    /// A signal has stopped the process of this number, and nothing has let it go on.
    Stopped(u32),
    /// The message itself could not be sent.
    Unsendable(Diagnostic),
}

impl Link {
    /// Starts an engine.
    pub fn start(life: u32) -> io::Result<Link> {
        let (ours, theirs) = UnixStream::pair()?;
        let child = Command::new("/proc/self/exe")
            .arg("engine")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            // What libraries print to standard output belongs to nobody.
            .stdout(Stdio::null())
            .current_dir("/")
            // glibc otherwise learns from the first large array that is freed to keep such memory for itself: a
            // released frame would stay with the process.
            .env("MALLOC_MMAP_THRESHOLD_", "131072")
            .env("MALLOC_TRIM_THRESHOLD_", "16777216")
            .spawn()?;
        let pid = child.id();
        let (_, receiver) = split(ours.try_clone()?)?;
        let shared = Arc::new(LinkState {
            waiting: Mutex::default(),
            progress: Mutex::default(),
            ended: Mutex::default(),
            next: AtomicU64::new(1),
            dead: AtomicBool::new(false),
            reason: Mutex::default(),
            resident: AtomicU64::new(0),
            device: Mutex::default(),
            spent: Mutex::default(),
            held: Mutex::default(),
            read: Mutex::default(),
            engine: OnceLock::new(),
        });
        let reader = Arc::clone(&shared);
        std::thread::Builder::new().name("engine".into()).spawn(move || reader.listen(receiver, child))?;
        let (out, outgoing) = mpsc::channel::<Outgoing>();
        let socket = ours.try_clone()?;
        std::thread::Builder::new().name("to engine".into()).spawn(move || {
            for Outgoing { bytes, descriptor } in outgoing {
                let descriptor = descriptor.as_ref().map(|d| d.as_fd());
                // The reader notices an engine that is gone, and tells all who wait.
                if fd_passing::send_encoded(&ours, &bytes, descriptor.as_slice()).is_err() {
                    return;
                }
            }
        })?;
        Ok(Link { pid, life, socket, out, shared })
    }

    pub fn is_dead(&self) -> bool {
        self.shared.dead.load(Ordering::Acquire)
    }

    /// Why it died.
    pub fn reason(&self) -> String {
        self.shared.reason.lock().clone()
    }

    /// `cpu`, `cuda` or `emulated`: waits until the engine knows, and no longer than [`READY`].
    pub fn engine(&self) -> Option<String> {
        let begun = Instant::now();
        while self.shared.engine.get().is_none() && !self.is_dead() && begun.elapsed() < READY {
            std::thread::sleep(Duration::from_millis(1));
            if begun.elapsed() > LOOK && self.is_stopped() {
                break;
            }
        }
        self.known_engine()
    }

    pub fn known_engine(&self) -> Option<String> {
        self.shared.engine.get().cloned()
    }

    pub fn resident_bytes(&self) -> u64 {
        if self.is_dead() { 0 } else { self.shared.resident.load(Ordering::Relaxed) }
    }

    pub fn device_bytes(&self) -> Option<u64> {
        if self.is_dead() { None } else { *self.shared.device.lock() }
    }

    /// Where the engine's time went since it began: phases, in microseconds.
    pub fn spent(&self) -> Vec<(String, u64)> {
        if self.is_dead() { Vec::new() } else { self.shared.spent.lock().clone() }
    }

    /// The objects whose data the engine holds.
    pub fn held(&self) -> HashMap<ObjectId, Residency> {
        if self.is_dead() { HashMap::new() } else { self.shared.held.lock().clone() }
    }

    /// The files that a frame was read from, once.
    pub fn take_files(&self, frame: FrameId) -> Option<Vec<FileMark>> {
        self.shared.read.lock().remove(&frame)
    }

    pub fn progress(&self, call: u64) -> Option<CallProgress> {
        let running = self.shared.progress.lock().get(&call).cloned();
        running.or_else(|| self.shared.ended.lock().iter().find(|last| last.call == call).cloned())
    }

    /// Sends a call and waits for its answer. `wanted` is asked now and then: false cancels the call. `begun` learns
    /// the call's number before it is sent.
    pub fn call(
        &self,
        ask: EngineRequest,
        descriptor: Option<&OwnedFd>,
        begun: impl FnOnce(u64),
        wanted: &dyn Fn() -> bool,
        keeps: &dyn Fn() -> bool,
    ) -> Result<(Reply, Option<OwnedFd>), Broken> {
        let longest = match &ask {
            EngineRequest::Call { call, .. } if call.is_search() => SEARCH_PATIENCE,
            _ => CANCEL_PATIENCE,
        };
        let call = self.shared.next.fetch_add(1, Ordering::Relaxed);
        begun(call);
        let (answer, answered) = mpsc::channel();
        self.shared.waiting.lock().insert(call, answer);
        let _forget = Forget { shared: &self.shared, call };
        self.send(&ToEngine { call, ask }, descriptor)?;
        let mut cancelled: Option<Instant> = None;
        let (mut looked, mut stopped) = (Instant::now(), None);
        loop {
            let is_gone = match answered.recv_timeout(LOOK) {
                Ok(answer) => return Ok(answer),
                Err(mpsc::RecvTimeoutError::Disconnected) => true,
                Err(mpsc::RecvTimeoutError::Timeout) => self.is_dead(),
            };
            if is_gone {
                let reason = self.wait_reason();
                // Nobody wants it from another engine.
                return Err(if cancelled.is_some() { Broken::Cancelled } else { Broken::Gone(reason) });
            }
            match cancelled {
                None if !wanted() => {
                    self.tell(EngineRequest::Cancel { call });
                    if self.is_stopped() {
                        return Err(Broken::Cancelled);
                    }
                    cancelled = Some(Instant::now());
                }
                Some(since) if since.elapsed() > if keeps() { longest } else { CANCEL_PATIENCE } => {
                    return Err(Broken::Cancelled);
                }
                _ => {}
            }
            if looked.elapsed() >= STOPPED_LOOK {
                looked = Instant::now();
                stopped = self.is_stopped().then(|| stopped.unwrap_or(looked));
                if stopped.is_some_and(|since: Instant| since.elapsed() >= STOPPED_PATIENCE) {
                    self.tell(EngineRequest::Cancel { call });
                    return Err(Broken::Stopped(self.pid));
                }
            }
        }
    }

    fn send(&self, message: &ToEngine, descriptor: Option<&OwnedFd>) -> Result<(), Broken> {
        let unsendable =
            |code: &'static str, text: String| Broken::Unsendable(Diagnostic::error(Class::Resources, code, text));
        let bytes = codec::encode(message)
            .map_err(|error| unsendable("too-long", format!("the request is too large: {error}")))?;
        let descriptor = descriptor.map(OwnedFd::try_clone).transpose();
        let descriptor = descriptor
            .map_err(|error| unsendable("descriptors", format!("the session has no more open files: {error}")))?;
        self.out.send(Outgoing { bytes, descriptor }).map_err(|_| Broken::Gone(self.wait_reason()))
    }

    /// Whether a signal has stopped the process: it answers nothing until another one lets it go on.
    fn is_stopped(&self) -> bool {
        // The name, in brackets, may hold anything.
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('T'))
    }

    /// Sends what needs no answer.
    pub fn tell(&self, ask: EngineRequest) {
        let call = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let _ = self.send(&ToEngine { call, ask }, None);
    }

    /// The reader learns how the process ended a moment after its socket closed.
    fn wait_reason(&self) -> String {
        for _ in 0..200 {
            if self.is_dead() {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let reason = self.reason();
        if reason.is_empty() { "it stopped answering".to_string() } else { reason }
    }

    /// Closes the socket: the engine ends by itself.
    pub fn close(&self) {
        if !self.is_dead() && self.is_stopped() {
            // It would not notice, and stay for ever. Nobody else has its number: its end was not waited for yet.
            let pid = rustix::process::Pid::from_raw(self.pid as i32);
            let _ = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL));
        }
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.close();
    }
}

/// Takes a call's entries away, however it ends.
struct Forget<'a> {
    shared: &'a LinkState,
    call: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.shared.waiting.lock().remove(&self.call);
        if let Some(last) = self.shared.progress.lock().remove(&self.call) {
            let mut ended = self.shared.ended.lock();
            ended.push_back(last);
            if ended.len() > ENDED {
                ended.pop_front();
            }
        }
    }
}

impl LinkState {
    fn listen(&self, mut receiver: Receiver, mut child: Child) {
        let mut failure = None;
        loop {
            match receiver.receive::<FromEngine>() {
                Ok((FromEngine::Ready { engine }, _)) => _ = self.engine.set(engine),
                Ok((FromEngine::Answer { call, reply, spent }, descriptor)) => {
                    *self.spent.lock() = spent;
                    // A caller that gave up is gone from the map; its answer's memory is freed here.
                    if let Some(answer) = self.waiting.lock().remove(&call) {
                        let _ = answer.send((*reply, descriptor));
                    }
                }
                Ok((FromEngine::Read { id, files }, _)) => _ = self.read.lock().insert(id, files),
                Ok((FromEngine::Progress(calls), _)) => {
                    let waiting = self.waiting.lock();
                    let mut progress = self.progress.lock();
                    progress.extend(calls.into_iter().filter(|c| waiting.contains_key(&c.call)).map(|c| (c.call, c)));
                }
                Ok((FromEngine::Holds { resident_bytes, device_bytes, objects }, _)) => {
                    *self.device.lock() = device_bytes;
                    self.resident.store(resident_bytes, Ordering::Relaxed);
                    *self.held.lock() = objects.into_iter().collect();
                }
                Err(CodecError::Closed) => break,
                Err(error) => {
                    failure = Some(error.to_string());
                    break;
                }
            }
        }
        // An engine that closed its socket or sent nonsense is of no use, whether it still runs or not.
        let _ = receiver.stream().shutdown(std::net::Shutdown::Both);
        let ended = wait_or_kill(&mut child);
        *self.reason.lock() = match (ended, failure) {
            (Some(status), _) if status.signal() == Some(9) => {
                "killed by signal 9: by hand, or because memory ran out".to_string()
            }
            (Some(status), _) if status.signal() == Some(6) => {
                "aborted (signal 6): it was refused memory, or detected an internal error".to_string()
            }
            (Some(status), _) if status.signal() == Some(crate::engine::LOST.as_raw()) => GPU_STOPPED.to_string(),
            (Some(status), _) if status.signal() == Some(crate::engine::ENDLESS.as_raw()) => ENDLESS.to_string(),
            (Some(status), _) if status.signal().is_some() => {
                format!("ended by signal {}", status.signal().unwrap_or(0))
            }
            (Some(status), None) => format!("ended with {status}"),
            (_, Some(failure)) => failure,
            (None, None) => "it stopped answering".to_string(),
        };
        self.dead.store(true, Ordering::Release);
        self.waiting.lock().clear();
    }
}

/// The exit status; a process that does not end by itself is killed.
fn wait_or_kill(child: &mut Child) -> Option<std::process::ExitStatus> {
    let deadline = Instant::now() + Duration::from_secs(2);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
}
