//! The kernel's side of the cell process: start it, run a cell in it, and let the snapshot take over when a cell fails.
//!
//! It knows nothing of Rust source; `kernel/host` is the other end.

mod clock;
mod descriptors;
mod output;

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, Once, mpsc};
use std::time::{Duration, Instant};

use onrush_wire::codec::write_message;
use onrush_wire::host::{Finished, FromHost, Stream, ToHost, Variable};
use onrush_wire::{Class, Diagnostic, Generation, NotebookId};

use crate::executor::{Event, Interrupt};
use crate::generate::SourceMap;
pub use clock::ProcessorTime;
use descriptors::{MessageReader, check, pidfd, pipe, poll, send_descriptors, socket_pair};
use output::{Outputs, Places};

/// Stack of a cell. The main thread's stack grows as it is used.
const STACK_BYTES: u64 = 64 << 20;
/// How long a process may take to say that it is ready.
const READY: Duration = Duration::from_secs(10);

/// How a cell process is started.
#[derive(Clone, Debug)]
pub struct Launch {
    pub host: PathBuf,
    pub library_path: String,
    pub folder: PathBuf,
    pub notebook: NotebookId,
    pub session_socket: PathBuf,
    /// Where output over the limit is written.
    pub overflow: PathBuf,
}

/// What can be stopped at this moment, shared with [`Interrupt`]ers.
#[derive(Default)]
pub struct Stoppable {
    state: Mutex<StopState>,
}

#[derive(Default)]
struct StopState {
    /// A process group to kill.
    group: Option<i32>,
    busy: bool,
    interrupted: bool,
}

impl Stoppable {
    fn state(&self) -> MutexGuard<'_, StopState> {
        self.state.lock().unwrap_or_else(|p| p.into_inner())
    }

    /// A cell begins: an interrupt from here on counts.
    pub fn begin(&self) {
        *self.state() = StopState { busy: true, ..StopState::default() };
    }

    pub fn end(&self) {
        *self.state() = StopState::default();
    }

    /// Makes a process group the one to stop; `false` if it was interrupted already.
    pub fn watch(&self, group: i32) -> bool {
        let mut state = self.state();
        state.group = Some(group);
        !state.interrupted
    }

    /// Call before the process is reaped, so that its id cannot belong to another one when a signal is sent.
    pub fn unwatch(&self) {
        self.state().group = None;
    }

    pub fn interrupted(&self) -> bool {
        self.state().interrupted
    }
}

impl Interrupt for Stoppable {
    fn interrupt(&self) {
        let mut state = self.state();
        if state.busy {
            state.interrupted = true;
            if let Some(group) = state.group {
                kill_group(group);
            }
        }
    }
}

fn kill_group(group: i32) {
    // SAFETY: plain system calls; the group is that of a child which has not been reaped.
    unsafe {
        libc::kill(-group, libc::SIGKILL);
        libc::kill(group, libc::SIGKILL);
    }
}

/// How a cell ended in its process.
pub enum Ended {
    Ok(Finished),
    /// The snapshot has taken over, or a new process was started (then `diagnostic` says that variables are lost).
    Failed {
        diagnostic: Diagnostic,
        variables_lost: bool,
    },
}

/// The ends that the kernel holds.
struct Ends {
    control: MessageReader,
    outputs: Outputs,
    /// Never written to: when it closes, the cell process ends.
    _lifetime: OwnedFd,
}

pub struct CellProcess {
    launch: Launch,
    stop: Arc<Stoppable>,
    pid: i32,
    pidfd: OwnedFd,
    ends: Ends,
    generation: Generation,
    places: Places,
}

fn internal(what: &str, error: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::error(Class::Internal, "cell-process", format!("{what}: {error}")).help("restart the kernel")
}

/// The five descriptors of the cell process, in the order of `kernel/host`'s `DESCRIPTORS`: control, output, lifetime, 1, 2.
fn channels() -> io::Result<(Ends, [OwnedFd; 5])> {
    let (control, control_host) = socket_pair(libc::SOCK_STREAM)?;
    let (output, output_host) = pipe()?;
    let (lifetime_host, lifetime) = pipe()?;
    let (out, out_host) = pipe()?;
    let (err, err_host) = pipe()?;
    let ends = Ends {
        control: MessageReader::new(UnixStream::from(control)),
        outputs: Outputs::new(File::from(output), [File::from(out), File::from(err)])?,
        _lifetime: lifetime,
    };
    Ok((ends, [control_host, output_host, lifetime_host, out_host, err_host]))
}

impl CellProcess {
    pub fn start(launch: Launch, stop: Arc<Stoppable>, generation: Generation) -> Result<Self, Diagnostic> {
        static SUBREAPER: Once = Once::new();
        // SAFETY: plain system call. Snapshots become children of this process when their parent, the runner, is gone.
        SUBREAPER.call_once(|| unsafe {
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        });
        let (ends, hosts) = channels().map_err(|e| internal("no pipes for the cell process", e))?;
        let raw: Vec<RawFd> = hosts.iter().map(|fd| fd.as_raw_fd()).collect();
        let mut command = Command::new(&launch.host);
        command.current_dir(&launch.folder).env("LD_LIBRARY_PATH", &launch.library_path);
        // A trace of our own frames says nothing about the cell.
        command.env("RUST_BACKTRACE", "0").stdin(Stdio::null());
        // Large pages: the fork before each cell copies page tables, 195 ms for 8 GB of small ones and 4 ms of large ones.
        command.env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
        // SAFETY: only system calls that are safe between fork and exec.
        unsafe {
            command.pre_exec(move || {
                for (from, to) in raw.iter().zip([3, 4, 5, 1, 2]) {
                    check(libc::dup2(*from, to))?;
                }
                let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
                check(libc::getrlimit(libc::RLIMIT_STACK, &mut limit))?;
                limit.rlim_cur = STACK_BYTES.min(limit.rlim_max);
                check(libc::setrlimit(libc::RLIMIT_STACK, &limit))?;
                check(libc::setpgid(0, 0))?;
                Ok(())
            });
        }
        let child = command.spawn().map_err(|e| {
            let folder = launch.folder.display();
            internal(&format!("the cell process {} cannot be started in {folder}", launch.host.display()), e)
        })?;
        drop(hosts);
        let pid = child.id() as i32;
        let pidfd = pidfd(pid).map_err(|e| internal("the cell process cannot be watched", e))?;
        let mut process = CellProcess { launch, stop, pid, pidfd, ends, generation, places: Places::default() };
        process.configure().map_err(|e| internal("the cell process does not answer", e))?;
        Ok(process)
    }

    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Processor time that it has used so far.
    pub fn processor_time(&self) -> ProcessorTime {
        ProcessorTime::of(self.pid)
    }

    /// Ends the process with all that it holds, and starts another of the next generation.
    pub fn restart(&mut self) -> Result<(), Diagnostic> {
        let generation = Generation(self.generation.0 + 1);
        let fresh = CellProcess::start(self.launch.clone(), Arc::clone(&self.stop), generation)?;
        std::mem::replace(self, fresh).shutdown();
        Ok(())
    }

    fn send(&mut self, message: &ToHost) -> io::Result<()> {
        write_message(self.ends.control.stream(), message).map_err(io::Error::other)
    }

    fn configure(&mut self) -> io::Result<()> {
        let message = ToHost::Configure {
            notebook: self.launch.notebook.clone(),
            generation: self.generation,
            session_socket: self.launch.session_socket.display().to_string(),
        };
        self.send(&message)?;
        match self.receive(READY)? {
            FromHost::Ready { .. } => Ok(()),
            other => Err(io::Error::other(format!("it said {other:?}"))),
        }
    }

    /// The next message, without regard to output.
    fn receive(&mut self, timeout: Duration) -> io::Result<FromHost> {
        let end = Instant::now() + timeout;
        loop {
            if let Some((message, _)) = self.ends.control.next()? {
                return Ok(message);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            poll(&[self.ends.control.as_raw_fd()], left)?;
        }
    }

    /// Drops variables; all of them if `names` is empty.
    pub fn forget(&mut self, names: Vec<String>) -> Result<Vec<Variable>, Diagnostic> {
        self.send(&ToHost::Forget { names }).map_err(|e| internal("the cell process is gone", e))?;
        match self.receive(READY) {
            Ok(FromHost::Variables(variables)) => Ok(variables),
            Ok(other) => Err(internal("the cell process said something else", format!("{other:?}"))),
            Err(e) => Err(internal("the cell process does not answer", e)),
        }
    }

    /// Places that a cell prints (`dbg!`, a panic on a thread) are shown in the user's columns.
    pub fn know_places(&mut self, file: &str, map: &SourceMap) {
        self.places.0.insert(file.to_string(), map.clone());
    }

    /// Runs a compiled cell, passing on what it shows.
    pub fn run(&mut self, cell: u64, library: &Path, entry: &str, events: &Sender<Event>) -> Ended {
        let (reply, begun) = mpsc::channel();
        if events.send(Event::Begin { generation: self.generation, reply }).is_ok() {
            let _ = begun.recv();
        }
        self.ends.outputs.begin(cell, &self.launch.overflow, self.places.clone());
        let message = ToHost::Run { cell, library: library.display().to_string(), entry: entry.to_string() };
        if self.stop.interrupted() {
            // Interrupted before the cell began: nothing has to be undone.
            return Ended::Failed { diagnostic: interrupted(), variables_lost: false };
        }
        let mut wake = None;
        let sent = self.send(&message);
        let result = match sent {
            Ok(()) => self.attend(&mut wake, events),
            Err(_) => Err(self.death(None)),
        };
        match result {
            Ok(finished) if finished.outcome.is_ok() => {
                self.stop.unwatch();
                self.ends.outputs.finish(events);
                drop(wake);
                Ended::Ok(finished)
            }
            other => {
                let diagnostic = match other {
                    Ok(Finished { outcome: Err(diagnostic), .. }) => diagnostic,
                    Ok(_) => internal("the cell process", "no outcome"),
                    Err(diagnostic) => diagnostic,
                };
                self.roll_back(diagnostic, wake, events)
            }
        }
    }

    /// Follows a running cell to its end. An error: the process is gone, and why.
    fn attend(&mut self, wake: &mut Option<(OwnedFd, i32)>, events: &Sender<Event>) -> Result<Finished, Diagnostic> {
        loop {
            let message = self.ends.control.next();
            // What was written before a message is shown before it.
            self.ends.outputs.drain(events, &mut self.ends.control);
            match message {
                Ok(Some((FromHost::Finished(finished), _))) => return Ok(finished),
                Ok(Some((FromHost::Started { snapshot_pid, reason }, descriptor))) => {
                    *wake = descriptor.zip(snapshot_pid.map(|pid| pid as i32));
                    // Only now: a runner that is killed before there is a snapshot takes the variables along.
                    if !self.stop.watch(self.pid) {
                        kill_group(self.pid);
                    }
                    if let Some(reason) = reason {
                        let _ = events.send(Event::Warning(Diagnostic {
                            severity: onrush_wire::Severity::Warning,
                            ..Diagnostic::error(Class::Resources, "no-snapshot", reason)
                                .note("if this cell fails, the variables are lost")
                        }));
                    }
                }
                Ok(Some((FromHost::Input { prompt, password }, _))) => {
                    let line = self.question(events, |reply| Event::Input { prompt, password, reply }).flatten();
                    if line.is_none() {
                        self.stop.interrupt();
                    }
                    let _ = self.send(&ToHost::InputReply(line));
                }
                Ok(Some((FromHost::SavePlot { plot, path }, _))) => {
                    let path = self.launch.folder.join(path);
                    let answer = self.question(events, |reply| Event::SavePlot { plot, path, reply });
                    let _ = self.send(&ToHost::Answer(answer.unwrap_or_else(|| Err(interrupted()))));
                }
                Ok(Some((FromHost::NeedSession, _))) => {
                    let answer = self.question(events, |reply| Event::NeedSession { reply });
                    let _ = self.send(&ToHost::Answer(answer.unwrap_or_else(|| Err(interrupted()))));
                }
                Ok(Some((
                    FromHost::Display(_)
                    | FromHost::ClearOutput { .. }
                    | FromHost::Ready { .. }
                    | FromHost::Variables(_),
                    _,
                ))) => {}
                // An output that was waited for brought it along.
                Ok(None) if self.ends.control.has_more() => {}
                Ok(None) => {
                    if poll(&[self.pidfd.as_raw_fd()], Duration::ZERO).is_ok_and(|ready| ready[0]) {
                        self.ends.outputs.drain(events, &mut self.ends.control);
                        return Err(self.death(Some(events)));
                    }
                    let mut fds = self.ends.outputs.descriptors();
                    fds.push(self.ends.control.as_raw_fd());
                    fds.push(self.pidfd.as_raw_fd());
                    let _ = poll(&fds, Duration::from_millis(500));
                }
                // The socket closed: the process ends now or closed its descriptors.
                Err(_) => {
                    let _ = poll(&[self.pidfd.as_raw_fd()], Duration::from_secs(1));
                    self.ends.outputs.drain(events, &mut self.ends.control);
                    return Err(self.death(Some(events)));
                }
            }
        }
    }

    /// Asks the front end and waits for its answer, or for an interrupt: `None`.
    fn question<T>(&self, events: &Sender<Event>, event: impl FnOnce(Sender<T>) -> Event) -> Option<T> {
        let (reply, answer) = mpsc::channel();
        events.send(event(reply)).ok()?;
        loop {
            match answer.recv_timeout(Duration::from_millis(50)) {
                Ok(answer) => return Some(answer),
                Err(RecvTimeoutError::Timeout) if !self.stop.interrupted() => {}
                Err(_) => return None,
            }
        }
    }

    /// Reaps the runner and says how it ended.
    fn death(&mut self, events: Option<&Sender<Event>>) -> Diagnostic {
        self.stop.unwatch();
        let status = self.reap();
        if let Some(events) = events {
            self.ends.outputs.finish(events);
        }
        if self.stop.interrupted() {
            return interrupted();
        }
        describe_death(status, self.ends.outputs.stderr_tail())
    }

    /// Kills the runner if it still lives, and takes it from the process table.
    fn reap(&mut self) -> Option<libc::siginfo_t> {
        // SAFETY: `info` is written by the kernel; waiting on a pidfd reaps that process only.
        unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let fd = self.pidfd.as_raw_fd() as libc::id_t;
            let gone = libc::waitid(libc::P_PIDFD, fd, &mut info, libc::WEXITED | libc::WNOHANG | libc::WNOWAIT) == 0
                && info.si_pid() != 0;
            kill_group(self.pid);
            let mut last: libc::siginfo_t = std::mem::zeroed();
            while libc::waitid(libc::P_PIDFD, fd, &mut last, libc::WEXITED) != 0 {
                if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                    return None;
                }
            }
            // What it died of by itself, not our signal.
            Some(if gone { info } else { last })
        }
    }

    fn roll_back(&mut self, mut diagnostic: Diagnostic, wake: Option<(OwnedFd, i32)>, events: &Sender<Event>) -> Ended {
        self.stop.unwatch();
        self.reap();
        self.ends.outputs.finish(events);
        self.generation = Generation(self.generation.0 + 1);
        let reason = match wake {
            Some((wake, pid)) => match self.take_over(wake, pid) {
                Ok(()) => {
                    if matches!(diagnostic.class, Class::Run | Class::Resources | Class::Interrupted) {
                        diagnostic = diagnostic.note("the variables are as they were before this cell");
                    }
                    return Ended::Failed { diagnostic, variables_lost: false };
                }
                Err(error) => format!("the snapshot did not answer ({error})"),
            },
            None => "there was no snapshot".to_string(),
        };
        diagnostic = diagnostic
            .note(format!("the variables are lost: {reason}"))
            .help("run the cells above again; frames in the session are still there and are not computed again");
        match CellProcess::start(self.launch.clone(), Arc::clone(&self.stop), self.generation) {
            Ok(process) => *self = CellProcess { places: self.places.clone(), ..process },
            Err(error) => diagnostic = diagnostic.note(error.message),
        }
        Ended::Failed { diagnostic, variables_lost: true }
    }

    fn take_over(&mut self, wake: OwnedFd, pid: i32) -> io::Result<()> {
        let watched = pidfd(pid)?;
        let (ends, hosts) = channels()?;
        send_descriptors(&wake, &hosts)?;
        drop(hosts);
        self.pid = pid;
        self.pidfd = watched;
        self.ends = ends;
        let answer = self.configure();
        if answer.is_err() {
            self.reap();
        }
        answer
    }

    pub fn shutdown(mut self) {
        let _ = self.send(&ToHost::Shutdown);
        let _ = poll(&[self.pidfd.as_raw_fd()], Duration::from_millis(500));
        self.reap();
    }
}

pub fn interrupted() -> Diagnostic {
    Diagnostic::error(Class::Interrupted, "interrupted", "the cell was interrupted")
}

fn describe_death(status: Option<libc::siginfo_t>, stderr: &str) -> Diagnostic {
    let Some(info) = status else { return internal("the cell process", "it is gone") };
    // SAFETY: the kernel filled it in for a child that ended.
    let number = unsafe { info.si_status() };
    if info.si_code == libc::CLD_EXITED {
        return Diagnostic::error(Class::Run, "exit", format!("the cell ended its process with exit code {number}"))
            .help(
                "a cell does not need `std::process::exit`: `return` from a function, or `?` with an error, ends it",
            );
    }
    let run = |code: &str, message: String| Diagnostic::error(Class::Run, code, message);
    match number {
        libc::SIGSTKFLT => run(
            "stack-overflow",
            format!("the cell used up its stack of {} MB: a recursion without an end?", STACK_BYTES >> 20),
        )
        .help("check the condition that ends the recursion; large arrays belong into a `Vec` or a `Box`"),
        libc::SIGSEGV | libc::SIGBUS => {
            run("segfault", "the cell touched memory that is not its own (segmentation fault)".into())
                .help("look for `unsafe` code, raw pointers or a C library in this cell")
        }
        libc::SIGABRT => match stderr.split("memory allocation of ").nth(1).and_then(|t| t.split(' ').next()) {
            Some(bytes) => Diagnostic::error(
                Class::Resources,
                "out-of-memory",
                format!("the cell ran out of memory: {bytes} bytes could not be had"),
            )
            .help("keep large data in a frame, or work on parts of it"),
            None => run("abort", "the cell aborted its process (SIGABRT)".into())
                .help("its own text on standard error says why; a panic while another panic unwinds ends like this"),
        },
        libc::SIGKILL => Diagnostic::error(
            Class::Resources,
            "killed",
            "the cell's process was killed: most likely the machine ran out of memory",
        )
        .help("keep large data in a frame, or work on parts of it"),
        libc::SIGILL | libc::SIGTRAP => {
            run("abort", format!("the cell's process was ended by an illegal instruction (signal {number})"))
        }
        libc::SIGFPE => run("abort", "the cell's process was ended by an arithmetic fault (SIGFPE)".into()),
        _ => run("signal", format!("the cell's process was ended by signal {number}")),
    }
}

/// Events of standard output and error, for code outside of the cell process (`!command`).
pub fn output(events: &Sender<Event>, stream: Stream, text: String) {
    let _ = events.send(Event::Output { stream, text });
}
