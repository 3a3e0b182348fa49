//! The connections to the notebook's worker processes: one for the device, one for `%%cuda check`. Each starts when a
//! cell first needs it. A fault of a kernel, an interrupt and the end of the cell process end it. The next launch
//! starts another worker, and sends it the cells and buffers again.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard};

use onrush_wire::codec::CodecError;
use onrush_wire::worker::{FromWorker, Launch, PIECE, PrintfOutput, ROLE, ToWorker};
use onrush_wire::{Class, Diagnostic, Generation, fd_passing, paths};
use rustix::fs::{MemfdFlags, memfd_create};

use super::buffer::AnyBuffer;
use super::launch::{LaunchArgument, Program};
use crate::process;
use crate::session::start::program;

/// The target of CUDA kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// On the GPU, or on the emulated device if there is none.
    Device,
    /// On the emulated device, which checks each access. Its results always come to the host: the other worker may have
    /// a GPU, which cannot map its memory.
    Checked,
}

pub struct Worker {
    target: Target,
    child: Child,
    socket: UnixStream,
    memory: File,
    /// The name of the worker; empty if it is not to be used again.
    device: String,
    emulated: bool,
    /// The process id and generation that started the worker: after a snapshot took over, it belongs to another
    /// process.
    owner: (u32, Generation),
    loaded: BTreeSet<u64>,
    /// The version of each buffer that the worker has.
    buffers: HashMap<u64, u64>,
}

struct Slot {
    worker: Mutex<Option<Worker>>,
    /// Buffers that were dropped since the last message to the worker; `None` before the first worker.
    freed: Mutex<Option<Vec<u64>>>,
}

impl Slot {
    const fn new() -> Slot {
        Slot { worker: Mutex::new(None), freed: Mutex::new(None) }
    }
}

/// With the lock of `CHECKED`, the lock of `DEVICE` may be taken: contents that only the device has come from there.
/// Not the reverse.
static DEVICE: Slot = Slot::new();
static CHECKED: Slot = Slot::new();

fn slot(target: Target) -> &'static Slot {
    match target {
        Target::Device => &DEVICE,
        Target::Checked => &CHECKED,
    }
}

fn lock<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

pub fn freed(number: u64) {
    for slot in [&DEVICE, &CHECKED] {
        lock(&slot.freed).iter_mut().for_each(|freed| freed.push(number));
    }
}

/// The error, and the output of the kernels up to it.
type Failure = (Diagnostic, PrintfOutput);

/// Runs a closure with a worker, which is started if there is none.
pub fn with<T>(target: Target, work: impl FnOnce(&mut Worker) -> Result<T, Failure>) -> Result<T, Diagnostic> {
    with_printed(target, work).map_err(|(diagnostic, _)| diagnostic)
}

fn with_printed<T>(target: Target, work: impl FnOnce(&mut Worker) -> Result<T, Failure>) -> Result<T, Failure> {
    let mut guard = lock(&slot(target).worker);
    let owner = (std::process::id(), process::context().map_or(Generation(0), |c| c.generation));
    if guard.as_mut().is_some_and(|worker| worker.owner != owner || worker.has_ended()) {
        *guard = None;
    }
    let worker = match &mut *guard {
        Some(worker) => worker,
        empty => {
            empty.insert(Worker::start(target, owner).map_err(|diagnostic| (diagnostic, PrintfOutput::default()))?)
        }
    };
    let outcome = work(worker);
    if worker.device.is_empty() {
        *guard = None;
    }
    outcome
}

/// Runs a kernel and returns nanoseconds and the name of the device. The results are in the buffers only if the kernel
/// succeeded.
pub fn launch(
    program: &'static Program,
    launch: &Launch,
    arguments: &mut [(&'static str, LaunchArgument<'_>)],
) -> (Result<(u64, String), Diagnostic>, PrintfOutput) {
    let outcome = with_printed(program.target, |worker| {
        worker.load(program)?;
        worker.forget_freed()?;
        for (_, given) in arguments.iter() {
            if let Some(buffer) = given.buffer() {
                worker.send(buffer)?;
            }
        }
        // A kernel that fails leaves the worker's buffers unchanged, too.
        let outcome = worker.ask(&ToWorker::Launch(launch.clone()), None, Some(&launch.kernel))?;
        let (FromWorker::Launched(launched), descriptors) = outcome else { return Err(worker.broken()) };
        for (_, given) in arguments.iter() {
            if let LaunchArgument::Write(buffer) = given {
                // Until the copy to the host, the host has other contents than the device.
                worker.buffers.remove(&buffer.number());
            }
        }
        let lent = match worker.target {
            Target::Device => launched.lent.iter().copied().zip(descriptors).collect(),
            Target::Checked => HashMap::new(),
        };
        let brought = worker.bring(arguments, lent);
        let device = match worker.emulated {
            true => format!("{}, each access checked", worker.device),
            false => worker.device.clone(),
        };
        brought
            .map(|()| (launched.nanoseconds, device, launched.printed.clone()))
            .map_err(|(d, _)| (d, launched.printed))
    });
    match outcome {
        Ok((nanoseconds, device, printed)) => (Ok((nanoseconds, device)), printed),
        Err((diagnostic, printed)) => (Err(diagnostic), printed),
    }
}

fn no_worker(what: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::error(
        Class::Environment,
        "no-worker",
        format!("the process that runs kernels cannot be started: {what}"),
    )
    .help("`onrush doctor` says what is wrong with the installation")
}

/// The device of `%%cuda` cells: its name, and whether it is emulated. `None` if no worker can be started.
pub(crate) fn device() -> Option<(String, bool)> {
    with(Target::Device, |worker| Ok((worker.device.clone(), worker.emulated))).ok()
}

/// Sends a buffer's contents before a kernel needs them, and returns whether the worker has them.
pub fn has(buffer: &dyn AnyBuffer) -> bool {
    let give = |worker: &mut Worker| {
        // A loop that takes columns and launches nothing must not keep all of them on the device.
        worker.forget_freed()?;
        worker.send(buffer)
    };
    with(Target::Device, give).is_ok()
}

/// Fills memory with the contents of a buffer from this byte on, if only the device has the newest contents.
pub fn fetch(buffer: &dyn AnyBuffer, offset: u64, bytes: &mut [u8]) -> Result<(), Diagnostic> {
    let mut attempt = || {
        with(Target::Device, |worker| {
            worker.send(buffer)?;
            let mut offset = offset;
            for piece in bytes.chunks_mut(PIECE) {
                let length = piece.len() as u64;
                worker.done(&ToWorker::Read { buffer: buffer.number(), offset, length }, None)?;
                worker.memory.read_exact_at(piece, 0).map_err(|error| full(&error))?;
                offset += length;
            }
            Ok(())
        })
    };
    // A worker that has ended since is noticed here. The next worker maps the same memory.
    attempt().or_else(|_| attempt())
}

/// Elements of a chunk: as many as the shared memory holds.
fn pieces(buffer: &dyn AnyBuffer) -> impl Iterator<Item = (usize, usize)> + use<> {
    let (length, each) = (buffer.length() as usize, PIECE / buffer.element().max(1) as usize);
    (0..length.div_ceil(each)).map(move |piece| (piece * each, ((piece + 1) * each).min(length)))
}

impl Worker {
    fn start(target: Target, owner: (u32, Generation)) -> Result<Self, Diagnostic> {
        let (program, _) = program().filter(|(path, _)| path.ends_with("onrush-session")).ok_or_else(|| {
            no_worker("`onrush-session` was not found")
                .help("put the folder with `onrush` and `onrush-session` on PATH")
        })?;
        let (socket, other) = UnixStream::pair().map_err(no_worker)?;
        let memory = File::from(memfd_create("onrush-buffers", MemfdFlags::CLOEXEC).map_err(no_worker)?);
        let shared = memory.try_clone().map_err(no_worker)?;
        let mut command = Command::new(program);
        command.arg(ROLE).stdin(OwnedFd::from(other)).stdout(shared).stderr(Stdio::null());
        if target == Target::Checked {
            command.env(paths::ENGINE, "emulated");
        }
        let child = command.spawn().map_err(no_worker)?;
        // The new worker does not have the buffers that were dropped before.
        *lock(&slot(target).freed) = Some(Vec::new());
        process::keep_to_runner(socket.as_raw_fd());
        let (loaded, buffers) = (BTreeSet::new(), HashMap::new());
        let device = "?".to_string();
        let mut worker = Worker { target, child, socket, memory, device, emulated: false, owner, loaded, buffers };
        match worker.ask(&ToWorker::Hello, None, None) {
            Ok((FromWorker::Ready { device, emulated }, _)) => {
                (worker.device, worker.emulated) = (device, emulated);
                Ok(worker)
            }
            Ok(_) => Err(worker.broken().0),
            Err((diagnostic, _)) => Err(diagnostic),
        }
    }

    /// Whether its process ended since it was last asked something, as when it is killed from outside. It took no
    /// contents with it: what the device alone has is in memory that the buffers hold.
    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    pub fn load(&mut self, program: &'static Program) -> Result<(), Failure> {
        if self.loaded.contains(&program.number) {
            return Ok(());
        }
        self.done(&ToWorker::Load { module: program.number, source: program.source() }, None)?;
        self.loaded.insert(program.number);
        Ok(())
    }

    fn forget_freed(&mut self) -> Result<(), Failure> {
        let mut buffers = lock(&slot(self.target).freed).as_mut().map(std::mem::take).unwrap_or_default();
        buffers.retain(|number| self.buffers.remove(number).is_some());
        if buffers.is_empty() {
            return Ok(());
        }
        fd_passing::send(&self.socket, &ToWorker::Free { buffers }, &[]).map_err(|error| self.ended(&error, None))
    }

    /// Sends the contents of a buffer, if the worker does not have them.
    fn send(&mut self, buffer: &dyn AnyBuffer) -> Result<(), Failure> {
        let (number, stamp) = (buffer.number(), buffer.stamp());
        if self.buffers.get(&number) == Some(&stamp) {
            return Ok(());
        }
        let element = u64::from(buffer.element());
        let bytes = buffer.length() * element;
        // The checked device may be another one than that of the memory.
        if let Some(memory) = buffer.lent().filter(|_| self.target == Target::Device) {
            self.done(&ToWorker::Import { buffer: number, bytes }, Some(memory))?;
            self.buffers.insert(number, stamp);
            return Ok(());
        }
        if bytes == 0 {
            self.done(&ToWorker::Write { buffer: number, bytes, offset: 0, length: 0 }, None)?;
        }
        for (from, to) in pieces(buffer) {
            let piece = buffer.piece(from, to);
            self.memory.write_all_at(&piece, 0).map_err(|error| full(&error))?;
            let (offset, length) = (from as u64 * element, piece.len() as u64);
            self.done(&ToWorker::Write { buffer: number, bytes, offset, length }, None)?;
        }
        self.buffers.insert(number, stamp);
        Ok(())
    }

    /// Brings back the results of a kernel, or the descriptors of their device memory: of all buffers, or of none.
    fn bring(
        &mut self,
        arguments: &mut [(&'static str, LaunchArgument<'_>)],
        mut lent: HashMap<u64, OwnedFd>,
    ) -> Result<(), Failure> {
        // The memory holds one chunk at a time: earlier chunks are kept until all have arrived.
        let mut come = Vec::new();
        for (at, (_, given)) in arguments.iter().enumerate() {
            let LaunchArgument::Write(buffer) = given else { continue };
            if lent.contains_key(&buffer.number()) {
                continue;
            }
            for (from, to) in pieces(&**buffer) {
                let element = u64::from(buffer.element());
                let (offset, length) = (from as u64 * element, (to - from) as u64 * element);
                self.done(&ToWorker::Read { buffer: buffer.number(), offset, length }, None)?;
                let mut bytes = vec![0u8; length as usize];
                self.memory.read_exact_at(&mut bytes, 0).map_err(|error| full(&error))?;
                come.push((at, from, bytes));
            }
        }
        for (at, from, bytes) in come {
            if let (_, LaunchArgument::Write(buffer)) = &mut arguments[at] {
                buffer.put(from, &bytes);
            }
        }
        for (_, given) in arguments {
            if let LaunchArgument::Write(buffer) = given {
                if let Some(memory) = lent.remove(&buffer.number()) {
                    buffer.lend(memory);
                }
                let stamp = buffer.renew();
                self.buffers.insert(buffer.number(), stamp);
            }
        }
        Ok(())
    }

    fn done(&mut self, request: &ToWorker, memory: Option<BorrowedFd<'_>>) -> Result<(), Failure> {
        match self.ask(request, memory, None)? {
            (FromWorker::Done, _) => Ok(()),
            _ => Err(self.broken()),
        }
    }

    /// Handles an error of the worker. `kernel` is the kernel that ran when the worker ended.
    fn ask(
        &mut self,
        request: &ToWorker,
        memory: Option<BorrowedFd<'_>>,
        kernel: Option<&str>,
    ) -> Result<(FromWorker, Vec<OwnedFd>), Failure> {
        let sent = fd_passing::send(&self.socket, request, memory.as_slice());
        match sent.and_then(|()| fd_passing::receive(&self.socket)) {
            Ok((FromWorker::Failed { diagnostic, printed, lost }, _)) => {
                if lost {
                    self.give_up();
                }
                Err((diagnostic, printed))
            }
            Ok(answer) => Ok(answer),
            Err(error) => Err(self.ended(&error, kernel)),
        }
    }

    /// Marks the worker as not to be used again.
    fn give_up(&mut self) {
        self.device.clear();
    }

    fn broken(&mut self) -> Failure {
        self.give_up();
        let message = "the process that runs kernels said something else than what was asked";
        (Diagnostic::error(Class::Internal, "worker", message).help("restart the kernel"), PrintfOutput::default())
    }

    /// The error of a worker that has ended, from its exit status.
    fn ended(&mut self, error: &CodecError, kernel: Option<&str>) -> Failure {
        use libc::{SIGBUS as BUS, SIGFPE as ARITHMETIC, SIGKILL as KILL, SIGSEGV as SEGMENT};
        self.give_up();
        let _ = self.child.kill();
        let signal = self.child.wait().ok().and_then(|status| status.signal());
        let what = kernel.map_or("the process that runs kernels".to_string(), |kernel| format!("`{kernel}`"));
        let failed = |message: String| Diagnostic::error(Class::Run, "cuda-fault", message);
        let diagnostic = match signal {
            Some(ARITHMETIC) => failed(format!("{what}: an integer was divided by zero"))
                .help("a GPU goes on with some number; `if (d != 0)` around the division keeps it out"),
            Some(SEGMENT | BUS) => failed(format!(
                "{what}: a thread used more than its stack, wrote to a `const` buffer, or followed a pointer that leads nowhere"
            ))
            .help("large arrays inside of a function and deep recursion take the stack: a thread has 128 kB here"),
            Some(signal) if signal != KILL => failed(format!("{what} ended its process by signal {signal}")),
            _ => failed(format!("{what}: the process that runs kernels has ended")).note(error.to_string()),
        };
        (diagnostic, PrintfOutput::default())
    }
}

fn full(error: &std::io::Error) -> Failure {
    let message = format!("the memory for copies of buffers is used up: {error}");
    (Diagnostic::error(Class::Resources, "shared-memory", message), PrintfOutput::default())
}

impl Drop for Worker {
    fn drop(&mut self) {
        process::give_up(self.socket.as_raw_fd());
        // The worker of another process ends with that process.
        if self.owner.0 == std::process::id() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
