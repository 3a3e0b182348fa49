//! The kernel's side of the cell process: start it, run a cell in it, and let the snapshot take over when a cell fails.
//!
//! It knows nothing of Rust source; `kernel/host` is the other end.

mod cpu_time;
mod descriptors;
mod exit_report;
mod memory_limit;
mod orphans;
mod output;
mod prints;

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use onrush_wire::codec::write_message;
use onrush_wire::control::Change;
use onrush_wire::host::{Address, FinishedRun, FromHost, LastWords, Stream, ToHost};
use onrush_wire::{Class, Diagnostic, Generation, NotebookId, ObjectId, limits};

use crate::interface::{Event, Interrupt as _};
use crate::interrupt::{InterruptToken, interrupted};
use crate::procfs::{children_of, is_stopped, kill_group, state_of, thread_names, wake_group, with_descendants};
use crate::source_map::SourceMap;
pub use cpu_time::ProcessorTime;
pub use descriptors::Bell;
use descriptors::{MessageReader, check, pidfd, pipe, poll, send_descriptors, socket_pair};
use exit_report::{Circumstances, Death, Failure, Variables};
pub use exit_report::{RunOutcome, is_crash};
use memory_limit::{Allowance, Watch};
use output::{Outputs, PositionMaps};

/// Stack of a cell. The main thread's stack grows as it is used.
const STACK_BYTES: u64 = 64 << 20;
/// How long a process may take to say that it is ready.
const READY: Duration = Duration::from_secs(10);
/// And a snapshot: it is there already, and has to wake up only. One that waits for something after this time waits for
/// ever.
const AWAKE: Duration = Duration::from_secs(1);
/// A snapshot that computes or is read from disk meanwhile has longer.
const AWAKE_AT_WORK: Duration = Duration::from_secs(10);
/// After this time without a sign of life it is said that the process was stopped.
const SILENT: Duration = Duration::from_secs(1);
/// How long a cell that was interrupted may take to get its snapshot. One that does not is stopped without it.
const HUNG: Duration = Duration::from_secs(2);

/// How a cell process is started.
#[derive(Clone, Debug)]
pub struct Launch {
    pub host: PathBuf,
    pub library_path: String,
    pub folder: PathBuf,
    pub notebook: NotebookId,
    pub session_socket: PathBuf,
    /// The folder for output over the limit.
    pub overflow: PathBuf,
}

/// The ends that the kernel holds.
struct Channels {
    control: MessageReader,
    outputs: Outputs,
    /// Never written to: when it closes, the cell process ends.
    _lifetime: OwnedFd,
    /// The writing ends of the plain pipes: the next process gets them, too.
    writers: [OwnedFd; 2],
}

pub struct CellProcess {
    launch: Launch,
    stop: Arc<InterruptToken>,
    pid: i32,
    pidfd: OwnedFd,
    ends: Channels,
    generation: Generation,
    /// The generation with which it began: snapshots that take over have its variables.
    lineage: Generation,
    places: PositionMaps,
    /// Bytes that cells may hold.
    limit: Option<u64>,
    /// For variables of which size it was said that there is no room for them twice.
    told: u64,
    /// That led to the error of the cell that ran last.
    calls: Vec<Address>,
    /// Variables that hold objects of the session, after what succeeded last.
    objects: Vec<(String, ObjectId)>,
    /// The cell that runs, or ran last.
    cell: u64,
    /// Groups of processes that cells have started before a cell failed: they live as long as the notebook.
    left: Vec<i32>,
}

/// The generation of the newest cell process of this program: one that is started after a fault of the kernel's own
/// goes on from there.
static NEWEST: AtomicU64 = AtomicU64::new(0);

/// The generation of a first cell process.
pub fn next_generation() -> Generation {
    Generation(NEWEST.load(Ordering::Relaxed) + 1)
}

/// The state of a cell while it runs.
#[derive(Default)]
struct RunState {
    /// Wakes the snapshot; and its process.
    wake: Option<(OwnedFd, i32)>,
    /// Threads of earlier cells, and their names.
    threads: u32,
    names: Vec<Option<String>>,
    /// Processes that earlier cells have started, the cell process's own children.
    children: Vec<i32>,
    /// These processes and their descendants.
    spared: Vec<i32>,
    /// When the process has last said something, and whether it was said that it is stopped.
    heard: Option<Instant>,
    is_known_to_be_stopped: bool,
    watch: Option<Watch>,
    machine_kills: u64,
    /// Since when a cell that was interrupted waits for its snapshot.
    interrupted_at: Option<Instant>,
}

fn internal(what: &str, error: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::error(Class::Internal, "cell-process", format!("{what}: {error}")).help("restart the kernel")
}

/// The five descriptors of the cell process, in the order of `kernel/host`'s `DESCRIPTORS`: control, output, lifetime,
/// 1, 2.
fn channels(overflow: &Path) -> io::Result<(Channels, [OwnedFd; 5])> {
    let (control, control_host) = socket_pair(libc::SOCK_STREAM)?;
    let (output, output_host) = pipe()?;
    let (lifetime_host, lifetime) = pipe()?;
    let (out, out_host) = pipe()?;
    let (err, err_host) = pipe()?;
    let ends = Channels {
        control: MessageReader::new(UnixStream::from(control)),
        outputs: Outputs::new(File::from(output), [File::from(out), File::from(err)], overflow)?,
        _lifetime: lifetime,
        writers: [out_host.try_clone()?, err_host.try_clone()?],
    };
    Ok((ends, [control_host, output_host, lifetime_host, out_host, err_host]))
}

impl CellProcess {
    pub fn start(launch: Launch, stop: Arc<InterruptToken>, generation: Generation) -> Result<Self, Diagnostic> {
        orphans::adopt();
        let allowed = limits::cell_memory()?;
        output::remove_left_files(&launch.overflow);
        let (ends, hosts) = channels(&launch.overflow).map_err(|e| internal("no pipes for the cell process", e))?;
        let raw: Vec<RawFd> = hosts.iter().map(|fd| fd.as_raw_fd()).collect();
        let mut command = Command::new(&launch.host);
        command.current_dir(&launch.folder).env("LD_LIBRARY_PATH", &launch.library_path);
        if let Some(folder) = std::env::current_exe().ok().as_deref().and_then(Path::parent) {
            command.env(onrush_wire::paths::PROGRAMS, folder);
        }
        // A backtrace of Onrush's stack frames says nothing about the cell.
        command.env("RUST_BACKTRACE", "0").stdin(Stdio::null());
        // Crates that show their values as evcxr's ask for it.
        command.env("EVCXR_IS_RUNTIME", "1");
        // Large pages: the fork before each cell copies page tables, 195 ms for 8 GB of small ones and 4 ms of large
        // ones.
        if std::env::var_os("GLIBC_TUNABLES").is_none() {
            command.env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
        }
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
                if let Some(bytes) = allowed {
                    lower(libc::RLIMIT_DATA, bytes)?;
                }
                // A crash is described in the notebook; a file as large as the variables would help nobody.
                lower(libc::RLIMIT_CORE, 0)?;
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
        let places = PositionMaps::default();
        let lineage = generation;
        let mut process = CellProcess {
            launch,
            stop,
            pid,
            pidfd,
            ends,
            generation,
            lineage,
            places,
            limit: allowed,
            told: 0,
            calls: Vec::new(),
            objects: Vec::new(),
            cell: 0,
            left: Vec::new(),
        };
        NEWEST.fetch_max(generation.0, Ordering::Relaxed);
        process.configure(READY).map_err(|e| internal("the cell process does not answer", e))?;
        Ok(process)
    }

    pub fn generation(&self) -> Generation {
        self.generation
    }

    pub fn lineage(&self) -> Generation {
        self.lineage
    }

    /// The variables that hold objects of the session.
    pub fn objects(&self) -> Vec<(String, ObjectId)> {
        self.objects.clone()
    }

    /// Processor time that it has used so far.
    pub fn processor_time(&self) -> ProcessorTime {
        ProcessorTime::of(self.pid)
    }

    /// Ends the process with all that it holds, and starts another of the next generation.
    pub fn restart(&mut self) -> Result<(), Diagnostic> {
        let generation = Generation(self.generation.0 + 1);
        let mut fresh = CellProcess::start(self.launch.clone(), Arc::clone(&self.stop), generation)?;
        // The files of long outputs are still named by what the notebook shows.
        fresh.ends.outputs.inherit(&mut self.ends.outputs);
        fresh.cell = self.cell;
        std::mem::replace(self, fresh).shutdown();
        Ok(())
    }

    fn send(&mut self, message: &ToHost) -> io::Result<()> {
        write_message(self.ends.control.stream(), message).map_err(io::Error::other)
    }

    fn configure(&mut self, limit: Duration) -> io::Result<LastWords> {
        let message = ToHost::Configure {
            notebook: self.launch.notebook.clone(),
            generation: self.generation,
            session_socket: self.launch.session_socket.display().to_string(),
        };
        self.send(&message)?;
        match self.receive(limit)? {
            FromHost::Ready { last, .. } => Ok(last),
            other => Err(io::Error::other(format!("it said {other:?}"))),
        }
    }

    /// The next message, without regard to output. A process that is at work when the time is over has some more.
    fn receive(&mut self, timeout: Duration) -> io::Result<FromHost> {
        let begun = Instant::now();
        loop {
            if let Some((message, _)) = self.ends.control.next()? {
                return Ok(message);
            }
            let waited = begun.elapsed();
            if waited > timeout && (waited > AWAKE_AT_WORK || !matches!(state_of(self.pid), Some('R' | 'D'))) {
                return Err(io::ErrorKind::TimedOut.into());
            }
            poll(&[self.ends.control.as_raw_fd()], Duration::from_millis(50))?;
        }
    }

    /// Drops variables, all of them if `names` is empty: code of the user's that runs as a cell does.
    pub fn forget(&mut self, names: Vec<String>, events: &Sender<Event>) -> RunOutcome {
        self.attempt(&ToHost::Forget { cell: self.cell, names }, events)
    }

    fn advance(&mut self) {
        self.generation = Generation(self.generation.0 + 1);
        NEWEST.fetch_max(self.generation.0, Ordering::Relaxed);
    }

    /// Output from here on is this cell's.
    pub fn open(&mut self, cell: u64) {
        self.cell = cell;
        self.ends.outputs.begin(cell);
    }

    /// The cell that runs is on the screen: what child processes print after its end is shown there.
    pub fn show_children(&mut self) {
        self.ends.outputs.show_children();
    }

    /// The cell is over. Output of its threads from here on comes with [`Self::between`].
    pub fn close(&mut self) {
        self.ends.outputs.end();
    }

    /// Passes on what threads and child processes of earlier cells print, until `bell` rings. No cell runs meanwhile.
    /// `false`: the bell has not rung, but one of the descriptors `others` is readable.
    pub fn between(&mut self, bell: &Bell, others: &[RawFd], events: &Sender<Event>) -> bool {
        let rings = bell.descriptor();
        let mut watched = self.ends.outputs.descriptors();
        loop {
            let fds: Vec<RawFd> = watched.iter().chain(others).copied().chain([rings]).collect();
            match poll(&fds, Duration::from_secs(3600)) {
                Ok(ready) if ready.last() == Some(&true) => {
                    bell.silence();
                    return true;
                }
                Ok(ready) if ready[watched.len()..].contains(&true) => return false,
                Ok(ready) if !ready.contains(&true) => continue,
                Ok(_) => {}
                Err(_) => return true,
            }
            if !self.ends.outputs.drain_between(events, &mut self.ends.control) {
                // The other end was closed: the process is gone, and the next cell says so.
                watched.clear();
            }
            // One that prints without an end is read slowly, so that it waits instead of the machine.
            let _ = poll(&[rings], Duration::from_millis(20));
        }
    }

    /// Places that a cell prints (`dbg!`, a panic on a thread) are shown in the user's columns.
    pub fn know_places(&mut self, file: &str, map: &SourceMap) {
        self.places.maps.insert(file.to_string(), map.clone());
    }

    /// For a file that is made of several cells: the first and the last line of each piece, its cell, its first line
    /// there.
    pub fn know_pieces(&mut self, file: &str, pieces: &[(u32, u32, u64, u32)]) {
        self.places.pieces.insert(file.to_string(), pieces.to_vec());
    }

    /// Runs a compiled cell, passing on what it shows.
    pub fn run(&mut self, cell: u64, library: &Path, entry: &str, events: &Sender<Event>) -> RunOutcome {
        let message = ToHost::Run { cell, library: library.display().to_string(), entry: entry.to_string() };
        self.run_as(&message, events)
    }

    /// Runs what cells have left to be done when controls change, as if it were a cell.
    pub fn run_callbacks(&mut self, change: Change, events: &Sender<Event>) -> RunOutcome {
        self.run_as(&ToHost::React { cell: self.cell, change }, events)
    }

    /// Controls that are on no screen any more.
    pub fn drop_controls(&mut self, ids: Vec<String>) {
        // If the process is gone, so are they; the next cell says so.
        let _ = self.send(&ToHost::DropControls { ids });
    }

    fn run_as(&mut self, message: &ToHost, events: &Sender<Event>) -> RunOutcome {
        if self.stop.interrupted() {
            // Before anybody was told of the cell: nothing has to be undone.
            return RunOutcome::Failed { diagnostic: interrupted(), variables_lost: false };
        }
        let (reply, begun) = mpsc::channel();
        let told = events.send(Event::Begin { generation: self.generation, reply }).is_ok();
        let answer = if told { begun.recv().unwrap_or(Ok(())) } else { Ok(()) };
        match answer {
            Err(refused) => self.withdraw(refused),
            Ok(()) if self.stop.interrupted() => self.withdraw(interrupted()),
            Ok(()) => self.attempt(message, events),
        }
    }

    /// The session knows of the beginning of a cell that does not run. It takes that for a rollback, and hears no more
    /// of this generation: the cell process gets the next one.
    fn withdraw(&mut self, diagnostic: Diagnostic) -> RunOutcome {
        self.stop.unwatch();
        self.advance();
        wake_group(self.pid);
        match self.configure(AWAKE) {
            Ok(_) => RunOutcome::Failed { diagnostic, variables_lost: false },
            Err(error) => {
                self.reap(&[]);
                let diagnostic = self.start_anew(
                    diagnostic
                        .note(format!("the variables are lost because the cell process did not answer ({error})")),
                );
                RunOutcome::Failed { diagnostic, variables_lost: true }
            }
        }
    }

    /// Has the cell process run something with a snapshot to go back to.
    fn attempt(&mut self, message: &ToHost, events: &Sender<Event>) -> RunOutcome {
        let mut running = RunState {
            machine_kills: memory_limit::machine_kills(),
            heard: Some(Instant::now()),
            ..RunState::default()
        };
        self.ends.outputs.know(self.places.clone());
        let result = match self.send(message) {
            Ok(()) => self.attend(&mut running, events),
            Err(_) => Err(Failure::Died(Death::Unknown)),
        };
        match result {
            Ok(mut finished) => match std::mem::replace(&mut finished.outcome, Ok(())) {
                // From here on an interrupt stops nothing, and only then does the snapshot end.
                Ok(()) if self.stop.settle() => {
                    if self.send(&ToHost::Committed).is_err() {
                        return self.roll_back(Failure::Died(Death::Unknown), running, events);
                    }
                    self.objects.clone_from(&finished.objects);
                    self.ends.outputs.finish(events);
                    if let Some(warning) = running.watch.as_mut().and_then(Watch::doubled) {
                        let _ = events.send(Event::Warning(warning));
                    }
                    RunOutcome::Ok(finished)
                }
                Ok(()) => self.roll_back(Failure::Interrupted, running, events),
                Err(diagnostic) => {
                    let ended = self.roll_back(Failure::Said(diagnostic), running, events);
                    self.calls = std::mem::take(&mut finished.calls);
                    ended
                }
            },
            Err(failure) => self.roll_back(failure, running, events),
        }
    }

    /// The calls that led to the error of the cell that has failed just now, the innermost first.
    pub fn take_calls(&mut self) -> Vec<Address> {
        std::mem::take(&mut self.calls)
    }

    /// Follows a running cell to its end. An error: the process is gone or must go, and why.
    fn attend(&mut self, running: &mut RunState, events: &Sender<Event>) -> Result<FinishedRun, Failure> {
        let mut ended = false;
        loop {
            let message = self.ends.control.next();
            // Output before a message is shown before it.
            self.ends.outputs.drain(events, &mut self.ends.control);
            if let Some(over) = running.watch.as_mut().and_then(Watch::look) {
                return Err(Failure::Memory(over));
            }
            if matches!(message, Ok(Some(_))) {
                running.heard = Some(Instant::now());
            }
            match message {
                Ok(Some((FromHost::Finished(finished), _))) => return Ok(finished),
                Ok(Some((FromHost::Started { snapshot_pid, reason, threads, held }, descriptor))) => {
                    running.wake = descriptor.zip(snapshot_pid.map(|pid| pid as i32));
                    running.threads = threads;
                    if threads > 0 {
                        running.names = thread_names(self.pid);
                    }
                    let snapshot = running.wake.as_ref().map(|(_, pid)| *pid);
                    running.children = children_of(self.pid);
                    running.children.retain(|pid| Some(*pid) != snapshot);
                    running.spared = with_descendants(&running.children);
                    // Only now: a runner that is killed before there is a snapshot takes the variables along.
                    if !self.stop.watch_sparing(self.pid, running.spared.clone()) {
                        kill_group(self.pid, &running.spared);
                    }
                    running.watch = Some(Watch::start(self.limit, self.pid, snapshot, held));
                    self.started(Allowance { held, limit: self.limit }, reason, events);
                }
                Ok(Some((FromHost::Input { prompt, password }, _))) => {
                    // A question in evcxr's form was printed before the line is read.
                    let asked = self.ends.outputs.asked().filter(|_| prompt.is_empty());
                    let (prompt, password) = asked.unwrap_or((prompt, password));
                    let line = self.question(events, |reply| Event::Input { prompt, password, reply }).flatten();
                    if line.is_none() {
                        self.stop.interrupt();
                    }
                    let _ = self.send(&ToHost::InputReply(line));
                }
                Ok(Some((FromHost::SavePicture { picture, path }, _))) => {
                    let path = self.launch.folder.join(path);
                    let answer = self.question(events, |reply| Event::SavePicture { picture, path, reply });
                    let _ = self.send(&ToHost::Answer(answer.unwrap_or_else(|| Err(interrupted()))));
                }
                Ok(Some((FromHost::NeedSession, _))) => {
                    let answer = self.question(events, |reply| Event::NeedSession { reply });
                    let _ = self.send(&ToHost::Answer(answer.unwrap_or_else(|| Err(interrupted()))));
                }
                Ok(Some((FromHost::Control(control), _))) => drop(events.send(Event::Control(control))),
                Ok(Some((FromHost::Filter { id, filters }, _))) => drop(events.send(Event::Filter { id, filters })),
                Ok(Some((FromHost::Loop(told), _))) => drop(events.send(Event::Loop(told))),
                Ok(Some((FromHost::ReadControl { id }, _))) => {
                    let setting = self.question(events, |reply| Event::ReadControl { id, reply }).flatten();
                    let _ = self.send(&ToHost::ControlSetting(setting));
                }
                Ok(Some((
                    FromHost::Display(_) | FromHost::Capture | FromHost::ClearOutput { .. } | FromHost::Ready { .. },
                    _,
                ))) => {}
                // An output that was waited for brought it along.
                Ok(None) if self.ends.control.has_more() => {}
                Ok(None) => {
                    if poll(&[self.pidfd.as_raw_fd()], Duration::ZERO).is_ok_and(|ready| ready[0]) {
                        // Since the look above it may have said something, even where its snapshot is.
                        if !std::mem::replace(&mut ended, true) {
                            continue;
                        }
                        self.ends.outputs.drain(events, &mut self.ends.control);
                        return Err(Failure::Died(self.death()));
                    }
                    // With many gigabytes a process takes a second to end: it does not compute any more, and nobody
                    // waits for it.
                    let stopped = running.wake.is_some() && self.stop.interrupted();
                    if stopped || self.hangs(running) {
                        return Err(Failure::Interrupted);
                    }
                    self.tell_of_silence(running, events);
                    let mut fds = self.ends.outputs.descriptors();
                    fds.push(self.ends.control.as_raw_fd());
                    fds.push(self.pidfd.as_raw_fd());
                    let look = running.watch.as_ref().map_or(Duration::MAX, Watch::due);
                    let _ = poll(&fds, look.clamp(Duration::from_millis(1), Duration::from_millis(500)));
                }
                // The socket closed: the process ends now or closed its descriptors.
                Err(_) => {
                    let _ = poll(&[self.pidfd.as_raw_fd()], Duration::from_secs(1));
                    self.ends.outputs.drain(events, &mut self.ends.control);
                    return Err(Failure::Died(self.death()));
                }
            }
        }
    }

    /// The folder of the cells, which they may change: as a path that leads there while the process lives.
    pub fn folder(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/cwd", self.pid))
    }

    /// The cell's code begins, with a snapshot or without one for `reason`.
    fn started(&mut self, allowance: Allowance, reason: Option<String>, events: &Sender<Event>) {
        let no_snapshot = reason.map(|reason| {
            Diagnostic::error(Class::Resources, "no-snapshot", reason)
                .note("if this cell fails, the variables are lost")
        });
        let warning = no_snapshot.or_else(|| memory_limit::room_to_double(allowance, &mut self.told));
        if let Some(warning) = warning {
            let _ = events.send(Event::Warning(Diagnostic { severity: onrush_wire::Severity::Warning, ..warning }));
        }
    }

    /// Whether a cell that was interrupted does not even get as far as its snapshot. A thread of an earlier cell then
    /// holds a lock that the cell process needs.
    fn hangs(&self, running: &mut RunState) -> bool {
        if running.watch.is_some() || !self.stop.interrupted() {
            return false;
        }
        let state = state_of(self.pid);
        if matches!(state, Some('T' | 't')) && running.interrupted_at.is_none() {
            // It goes on as far as its snapshot, and is stopped there without a loss.
            wake_group(self.pid);
        } else if !matches!(state, Some('S' | 'T' | 't')) {
            // A process that computes is in the middle of the fork: with many gigabytes that takes seconds.
            running.interrupted_at = None;
            return false;
        }
        running.interrupted_at.get_or_insert_with(Instant::now).elapsed() > HUNG
    }

    /// Says once why a cell does not go on, if the reason is not the cell.
    fn tell_of_silence(&self, running: &mut RunState, events: &Sender<Event>) {
        if running.is_known_to_be_stopped || running.heard.is_none_or(|heard| heard.elapsed() < SILENT) {
            return;
        }
        running.heard = Some(Instant::now());
        let pid = self.pid;
        let (message, help) = if is_stopped(pid) {
            let message = format!("the cell process ({pid}) was stopped by a signal, so the cell does not go on");
            (message, format!("`kill -CONT {pid}` lets it go on; an interrupt ends the cell"))
        } else if running.watch.is_none() && state_of(pid) == Some('S') {
            let message = "the cell has not begun: a thread of an earlier cell holds a lock that its snapshot needs \
                           (of standard output or standard error)";
            (message.to_string(), "an interrupt ends the cell process, and the variables are lost with it".to_string())
        } else {
            return;
        };
        running.is_known_to_be_stopped = true;
        let warning = Diagnostic::error(Class::Environment, "stopped", message).help(help);
        let _ = events.send(Event::Warning(Diagnostic { severity: onrush_wire::Severity::Warning, ..warning }));
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

    /// How the runner ended by itself. It stays in the process table.
    fn death(&self) -> Death {
        // SAFETY: `info` is written by the kernel.
        unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let fd = self.pidfd.as_raw_fd() as libc::id_t;
            let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
            if libc::waitid(libc::P_PIDFD, fd, &mut info, options) != 0 || info.si_pid() == 0 {
                return Death::Unknown;
            }
            match info.si_code {
                libc::CLD_EXITED => Death::Exit(info.si_status()),
                _ => Death::Signal(info.si_status()),
            }
        }
    }

    /// Kills the runner and what it started, but for what is spared, and takes it from the process table.
    fn reap(&mut self, spared: &[i32]) {
        // SAFETY: `info` is written by the kernel; waiting on a pidfd reaps that process only.
        unsafe {
            let fd = self.pidfd.as_raw_fd() as libc::id_t;
            kill_group(self.pid, spared);
            let mut info: libc::siginfo_t = std::mem::zeroed();
            while libc::waitid(libc::P_PIDFD, fd, &mut info, libc::WEXITED) != 0 {
                if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                    return;
                }
            }
        }
    }

    /// The same, but another thread waits for its end.
    fn reap_later(&mut self, spared: &[i32]) {
        kill_group(self.pid, spared);
        let Ok(process) = self.pidfd.try_clone() else { return self.reap(spared) };
        std::thread::spawn(move || {
            // SAFETY: `info` is written by the kernel; waiting on a pidfd reaps that process only.
            unsafe {
                let mut info: libc::siginfo_t = std::mem::zeroed();
                libc::waitid(libc::P_PIDFD, process.as_raw_fd() as libc::id_t, &mut info, libc::WEXITED);
            }
        });
    }

    fn roll_back(&mut self, mut failure: Failure, running: RunState, events: &Sender<Event>) -> RunOutcome {
        self.stop.unwatch();
        self.calls.clear();
        if matches!(failure, Failure::Died(Death::Unknown)) {
            failure = Failure::Died(self.death());
        }
        let stopped = match &failure {
            Failure::Died(_) => true,
            // Its request to the session was stopped before the process was.
            Failure::Said(diagnostic) => diagnostic.class == Class::Interrupted,
            Failure::Interrupted | Failure::Memory(_) => false,
        };
        if self.stop.interrupted() && stopped {
            failure = Failure::Interrupted;
        }
        // Nobody can count the threads of a process that ended or is just ending.
        let own = match failure {
            Failure::Said(_) | Failure::Memory(_) => threads_of(self.pid).saturating_sub(running.threads),
            Failure::Died(_) | Failure::Interrupted => 0,
        };
        match (&failure, &running.wake) {
            (Failure::Interrupted, Some(_)) => self.reap_later(&running.spared),
            _ => self.reap(&running.spared),
        }
        if !running.spared.is_empty() {
            orphans::keep(&running.children);
            self.left.push(self.pid);
        }
        self.ends.outputs.drain(events, &mut self.ends.control);
        self.ends.outputs.finish(events);
        let mut known = Circumstances {
            stderr: self.ends.outputs.stderr_tail().to_string(),
            threads: (running.threads, own),
            names: running.names.into_iter().flatten().collect(),
            allowance: Allowance { held: running.watch.as_ref().map_or(0, |w| w.held), limit: self.limit },
            out_of_memory: memory_limit::machine_kills() > running.machine_kills,
            words: LastWords::default(),
        };
        self.advance();
        let variables = match running.wake {
            Some((wake, pid)) => match self.take_over(wake, pid) {
                Ok(mut words) => {
                    self.calls = std::mem::take(&mut words.calls);
                    known.words = words;
                    Variables::Kept
                }
                Err(error) => Variables::Lost(format!("the snapshot did not answer ({error})")),
            },
            None if self.stop.interrupted() => Variables::Lost(
                "the cell process took no snapshot: it was stopped, or a thread of an earlier cell holds a lock"
                    .to_string(),
            ),
            None => Variables::Lost("the process ended before it could take a snapshot".to_string()),
        };
        let mut diagnostic = exit_report::describe(failure, &variables, &known);
        let variables_lost = matches!(variables, Variables::Lost(_));
        if variables_lost {
            diagnostic = self.start_anew(diagnostic);
        }
        RunOutcome::Failed { diagnostic, variables_lost }
    }

    /// Another process in place of the one that is gone; if there is none, the diagnostic says why.
    fn start_anew(&mut self, diagnostic: Diagnostic) -> Diagnostic {
        match CellProcess::start(self.launch.clone(), Arc::clone(&self.stop), self.generation) {
            Ok(mut process) => {
                process.ends.outputs.inherit(&mut self.ends.outputs);
                let (places, left) = (std::mem::take(&mut self.places), std::mem::take(&mut self.left));
                *self = CellProcess { places, left, cell: self.cell, ..process };
                diagnostic
            }
            Err(error) => diagnostic.note(error.message),
        }
    }

    fn take_over(&mut self, wake: OwnedFd, pid: i32) -> io::Result<LastWords> {
        self.pidfd = pidfd(pid)?;
        self.pid = pid;
        // A signal that stopped the runner may have stopped the snapshot, too.
        wake_group(pid);
        let answer = self.wake(&wake);
        if answer.is_err() {
            self.reap(&[]);
        }
        answer
    }

    fn wake(&mut self, snapshot: &OwnedFd) -> io::Result<LastWords> {
        let (ends, [control, output, lifetime, ..]) = channels(&self.launch.overflow)?;
        // Child processes of earlier cells hold the plain pipes: they stay as they are.
        let [out, err] = &self.ends.writers;
        let hosts = [control, output, lifetime, out.try_clone()?, err.try_clone()?];
        send_descriptors(snapshot, &hosts)?;
        drop(hosts);
        self.ends.control = ends.control;
        self.ends._lifetime = ends._lifetime;
        self.ends.outputs.reconnect(ends.outputs);
        self.configure(AWAKE)
    }

    pub fn shutdown(mut self) {
        let _ = self.send(&ToHost::Shutdown);
        let _ = poll(&[self.pidfd.as_raw_fd()], Duration::from_millis(500));
        self.reap(&[]);
        orphans::end(&self.left);
        self.ends.outputs.remove_files();
    }
}

/// Counts the threads of a process, without the main thread.
fn threads_of(pid: i32) -> u32 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, |tasks| tasks.flatten().count());
    tasks.saturating_sub(1) as u32
}

/// Both the limit and what it may be raised to.
fn lower(resource: libc::__rlimit_resource_t, bytes: u64) -> io::Result<()> {
    // SAFETY: plain system calls with a valid struct.
    unsafe {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        check(libc::getrlimit(resource, &mut limit))?;
        limit.rlim_cur = bytes.min(limit.rlim_max);
        limit.rlim_max = limit.rlim_cur;
        check(libc::setrlimit(resource, &limit)).map(|_| ())
    }
}

/// Events of standard output and error, for code outside of the cell process (`!command`).
pub fn output(events: &Sender<Event>, stream: Stream, text: String) {
    let _ = events.send(Event::Output { stream, text });
}
