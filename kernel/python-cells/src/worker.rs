//! The worker process of one notebook: starts, listens, interrupts, ends.
//!
//! The worker leads a process group, so that an interrupt and its end also reach the processes that it has started.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use onrush_wire::host::Stream;
use onrush_wire::{Class, Diagnostic, NotebookId, paths};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, waitid};

use crate::message::{FromWorker, ToWorker};
use crate::{find, package};

/// The variable with the number of the worker's socket.
const SOCKET: &str = "ONRUSH_WORKER_FD";
/// The variable with the id of the notebook.
const NOTEBOOK: &str = "ONRUSH_NOTEBOOK";
/// The time that a worker has to end by itself when its socket closes: its `atexit` functions run.
const FAREWELL: Duration = Duration::from_millis(500);
/// A worker that does not take a message for so long does not read any more.
const DEAF: Duration = Duration::from_secs(5);
/// Bytes of one read.
const PIECE: usize = 1 << 16;
/// The time between the end of the socket and that of the process.
const CLOSING: Duration = Duration::from_secs(1);

/// How a worker is started.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The notebook's folder.
    pub folder: PathBuf,
    pub notebook: NotebookId,
    pub session_socket: PathBuf,
}

/// Something that came from the worker.
#[derive(Debug)]
pub enum Heard {
    Message(FromWorker),
    /// Bytes that the process or one it has started wrote to its standard output or standard error.
    Printed(Stream, Vec<u8>),
}

#[derive(Debug)]
pub struct Worker {
    python: PathBuf,
    child: Child,
    /// Kills the group if this process is killed.
    guard: Option<Child>,
    pidfd: Option<OwnedFd>,
    socket: Option<UnixStream>,
    pipes: [Option<File>; 2],
    /// The unfinished last line of the socket.
    line: Vec<u8>,
    heard: VecDeque<Heard>,
    /// The process has ended. It stays in the process table until this value is dropped, so that a signal to its group
    /// reaches nobody else.
    ended: bool,
    /// It has said something.
    is_known: bool,
    last_id: u64,
}

impl Worker {
    /// Starts the active Python. Does not wait until it is ready.
    ///
    /// # Errors
    /// If there is no Python, or it or the package cannot be put into place.
    pub fn start(launch: &Launch) -> Result<Worker, Diagnostic> {
        Worker::start_in(find::python()?, launch)
    }

    fn start_in(python: PathBuf, launch: &Launch) -> Result<Worker, Diagnostic> {
        let failed = |what: &str, error: io::Error| {
            Diagnostic::error(Class::Resources, "python-start", format!("{what}: {error}"))
        };
        let package = package::folder()
            .map_err(|e| failed("the Python package `onrush` cannot be written to the cache folder", e))?;
        let (own, theirs) = UnixStream::pair().map_err(|e| failed("no socket for Python", e))?;
        let mut command = Command::new(&python);
        command
            .args(["-m", "onrush.worker"])
            .current_dir(&launch.folder)
            .env(SOCKET, theirs.as_raw_fd().to_string())
            .env(NOTEBOOK, &launch.notebook.0)
            .env(paths::SESSION, &launch.session_socket)
            // A backend of another front end.
            .env_remove("MPLBACKEND")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let paths_of_python = std::env::var_os("PYTHONPATH").filter(|paths| !paths.is_empty());
        let all = [package].into_iter().chain(paths_of_python.iter().flat_map(std::env::split_paths));
        if let Ok(all) = std::env::join_paths(all) {
            command.env("PYTHONPATH", all);
        }
        if let Some(folder) = std::env::current_exe().ok().as_deref().and_then(std::path::Path::parent) {
            command.env(paths::PROGRAMS, folder);
        }
        let (descriptor, parent) = (theirs.as_raw_fd(), std::process::id());
        // SAFETY: only system calls that are safe between fork and exec. The descriptor stays open until then.
        unsafe {
            command.pre_exec(move || {
                rustix::io::fcntl_setfd(BorrowedFd::borrow_raw(descriptor), rustix::io::FdFlags::empty())?;
                // The worker dies with the thread that starts it, which lives as long as the notebook.
                rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
                let is_orphan = rustix::process::getppid().is_none_or(|pid| pid.as_raw_pid() as u32 != parent);
                if is_orphan { Err(io::ErrorKind::NotConnected.into()) } else { Ok(()) }
            });
        }
        let mut child = command
            .spawn()
            .map_err(|e| failed(&format!("{} cannot be started", python.display()), e))
            .map_err(|failed| failed.help("the variable ONRUSH_PYTHON names another Python"))?;
        drop(theirs);
        let _ = own.set_write_timeout(Some(DEAF));
        let out = child.stdout.take().map(|pipe| File::from(OwnedFd::from(pipe)));
        let err = child.stderr.take().map(|pipe| File::from(OwnedFd::from(pipe)));
        let pid = Pid::from_child(&child);
        let worker = Worker {
            python,
            guard: guard(pid),
            pidfd: pidfd_open(pid, PidfdFlags::empty()).ok(),
            child,
            socket: Some(own),
            pipes: [out, err],
            line: Vec::new(),
            heard: VecDeque::new(),
            ended: false,
            is_known: false,
            last_id: 0,
        };
        for pipe in worker.pipes.iter().flatten() {
            rustix::io::ioctl_fionbio(pipe, true)
                .map_err(|e| failed("the output of Python cannot be read", e.into()))?;
        }
        Ok(worker)
    }

    /// The process group, for interrupts.
    pub fn group(&self) -> i32 {
        self.child.id() as i32
    }

    /// Descriptors that are readable when the worker says or prints something, or ends.
    pub fn descriptors(&self) -> Vec<RawFd> {
        let socket = self.socket.iter().map(AsRawFd::as_raw_fd);
        let pipes = self.pipes.iter().flatten().map(AsRawFd::as_raw_fd);
        socket.chain(pipes).chain(self.pidfd.iter().map(AsRawFd::as_raw_fd)).collect()
    }

    /// A number for a request.
    pub fn id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Sends a message.
    ///
    /// # Errors
    /// If the worker is gone or does not read.
    pub fn send(&mut self, message: &ToWorker) -> io::Result<()> {
        let Some(mut socket) = self.socket.as_ref() else { return Err(io::ErrorKind::BrokenPipe.into()) };
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        socket.write_all(&line)
    }

    /// The next thing that came, waiting for up to `limit`. `None` if nothing came, or the worker has ended and
    /// everything was taken.
    pub fn hear(&mut self, limit: Duration) -> Option<Heard> {
        if self.heard.is_empty() && !self.ended {
            self.wait(limit);
            self.read();
        }
        self.heard.pop_front()
    }

    /// Whether the worker has ended and everything that it said was taken.
    pub fn has_ended(&self) -> bool {
        self.ended && self.heard.is_empty()
    }

    /// Asks for completions at a cursor, waiting for up to `limit`. Other messages are kept for [`Worker::hear`].
    pub fn complete(&mut self, code: &str, cursor: usize, limit: Duration) -> Option<(Vec<String>, usize, usize)> {
        let asked = self.id();
        self.send(&ToWorker::Complete { id: asked, code: code.to_string(), cursor }).ok()?;
        let until = Instant::now() + limit;
        loop {
            let is_answer =
                |heard: &Heard| matches!(heard, Heard::Message(FromWorker::Matches { id, .. }) if *id == asked);
            if let Some(at) = self.heard.iter().position(is_answer)
                && let Some(Heard::Message(FromWorker::Matches { matches, start, end, .. })) = self.heard.remove(at)
            {
                return Some((matches, start, end));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.ended {
                return None;
            }
            self.wait(left);
            self.read();
        }
    }

    /// Waits until something is there, or the process has ended.
    fn wait(&self, limit: Duration) {
        let sources = self.socket.iter().map(AsFd::as_fd).chain(self.pipes.iter().flatten().map(AsFd::as_fd));
        let all = sources.chain(self.pidfd.iter().map(AsFd::as_fd));
        let mut fds: Vec<PollFd<'_>> = all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        // Without a pidfd the end is seen by looking.
        let limit = if self.pidfd.is_some() { limit } else { limit.min(Duration::from_millis(100)) };
        let limit = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: i64::from(limit.subsec_nanos()) };
        // An interrupted call is as good as one that found nothing.
        let _ = poll(&mut fds, Some(&limit));
    }

    fn wait_for_exit(&self, limit: Duration) {
        let until = Instant::now() + limit;
        while !self.has_exited() && Instant::now() < until {
            let look = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
            let mut fds: Vec<PollFd<'_>> =
                self.pidfd.iter().map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)).collect();
            let _ = poll(&mut fds, Some(&look));
        }
    }

    /// Takes what is there.
    fn read(&mut self) {
        if self.socket.is_none() && !self.has_exited() {
            // It has lost its socket, so nobody can talk to it.
            self.wait_for_exit(CLOSING);
            if !self.has_exited() {
                self.end_group();
                self.wait_for_exit(CLOSING);
            }
        }
        let ends = self.has_exited();
        self.read_socket();
        self.read_pipes();
        if ends {
            // All that it has written was there when it had ended. Its processes may keep the pipes open.
            while self.read_socket() | self.read_pipes() {}
            self.ended = true;
            self.end_group();
        }
    }

    /// Whether the process has ended. It stays in the process table.
    fn has_exited(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(Pid::from_child(&self.child)), options), Ok(None))
    }

    /// `false`: nothing was there.
    fn read_pipes(&mut self) -> bool {
        let mut found = false;
        for (pipe, stream) in self.pipes.iter_mut().zip([Stream::Stdout, Stream::Stderr]) {
            let mut piece = [0; PIECE];
            match pipe.as_mut().map(|pipe| pipe.read(&mut piece)) {
                Some(Ok(n)) if n > 0 => {
                    found = true;
                    self.heard.push_back(Heard::Printed(stream, piece[..n].to_vec()));
                }
                Some(Err(e)) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                _ => *pipe = None,
            }
        }
        found
    }

    /// `false`: nothing was there.
    fn read_socket(&mut self) -> bool {
        let mut piece = [0; PIECE];
        let Some(socket) = &self.socket else { return false };
        let received = rustix::net::recv(socket, &mut piece[..], rustix::net::RecvFlags::DONTWAIT);
        match received.map(|(_, n)| n).map_err(io::Error::from) {
            Ok(n) if n > 0 => {
                let mut rest = &piece[..n];
                while let Some(at) = rest.iter().position(|&byte| byte == b'\n') {
                    self.line.extend_from_slice(&rest[..at]);
                    let line = std::mem::take(&mut self.line);
                    self.take(&line);
                    rest = &rest[at + 1..];
                }
                self.line.extend_from_slice(rest);
                true
            }
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => false,
            _ => {
                self.socket = None;
                false
            }
        }
    }

    /// Takes a line of the socket.
    fn take(&mut self, line: &[u8]) {
        self.is_known = true;
        match serde_json::from_slice(line) {
            Ok(message) => {
                if matches!(message, FromWorker::Done { .. }) {
                    // Processes that the cell has started and waited for printed this before its end.
                    while self.read_pipes() {}
                }
                self.heard.push_back(Heard::Message(message));
            }
            Err(error) => {
                let notice = format!("note: an output of the cell cannot be shown: {error}\n");
                self.heard.push_back(Heard::Printed(Stream::Stderr, notice.into_bytes()));
            }
        }
    }

    /// Kills the worker and the processes that it has started.
    pub fn kill(&mut self) {
        self.end_group();
        self.ended = true;
        self.heard.clear();
    }

    fn end_group(&mut self) {
        if let Some(mut guard) = self.guard.take() {
            let _ = guard.kill();
            let _ = guard.wait();
        }
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
    }

    /// Why a worker is gone that has ended, as an error of the cell.
    pub fn death(mut self) -> Diagnostic {
        let status = self.child.wait().ok();
        let (what, note) = match status.map(|status| (status.code(), status.signal())) {
            Some((Some(code), _)) => (format!("Python ended with exit code {code}"), None),
            Some((None, Some(signal))) => {
                let (name, note) = SIGNALS
                    .iter()
                    .find(|(known, ..)| known.as_raw() == signal)
                    .map_or((String::new(), None), |(_, name, note)| (format!(" ({name})"), *note));
                (format!("Python was ended by signal {signal}{name}"), note)
            }
            _ => ("Python has ended".to_string(), None),
        };
        let mut diagnostic = Diagnostic::error(Class::Run, "python-ended", what);
        diagnostic.notes.extend(note.map(str::to_string));
        if !self.is_known {
            let python = self.python.display();
            diagnostic = diagnostic
                .note(format!("it was started as `{python} -m onrush.worker`"))
                .help("Python 3.9 or newer is needed; the variable ONRUSH_PYTHON names another one");
        }
        diagnostic
    }

    /// Ends the worker. It has a moment to run its `atexit` functions.
    pub fn end(mut self) {
        self.socket = None;
        self.wait_for_exit(FAREWELL);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.end_group();
        let _ = self.child.wait();
    }
}

/// Signals that end a process, and what the user may want to know.
const SIGNALS: [(Signal, &str, Option<&str>); 8] = [
    (Signal::KILL, "SIGKILL", Some("the system kills a process with SIGKILL when the machine has no memory left")),
    (Signal::SEGV, "SIGSEGV", Some("a library of native code has crashed; `import faulthandler` shows where")),
    (Signal::BUS, "SIGBUS", Some("a library of native code has crashed, or a file that it had mapped was cut")),
    (Signal::ILL, "SIGILL", Some("a library was built for another processor")),
    (Signal::ABORT, "SIGABRT", None),
    (Signal::FPE, "SIGFPE", None),
    (Signal::TERM, "SIGTERM", None),
    (Signal::INT, "SIGINT", None),
];

/// A process outside of the group that waits for the end of this process, and then kills the group. The death signal of
/// the worker does not reach the processes that it has started.
fn guard(group: Pid) -> Option<Child> {
    let script = format!("read end; kill -9 -{}", group.as_raw_pid());
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // In a separate process group: a signal to the group of the kernel process does not end it.
    command.process_group(0).spawn().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    /// A worker whose Python is a shell script; `$S` is the socket.
    fn worker(script: &str) -> (tempfile::TempDir, Worker) {
        let folder = tempfile::tempdir().unwrap();
        let python = folder.path().join("python");
        fs::write(&python, format!("#!/usr/bin/env bash\nS=$ONRUSH_WORKER_FD\n{script}\n")).unwrap();
        fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
        let launch = Launch {
            folder: folder.path().to_path_buf(),
            notebook: NotebookId("n".into()),
            session_socket: "/nowhere/session.sock".into(),
        };
        let worker = Worker::start_in(python, &launch).unwrap();
        (folder, worker)
    }

    /// Everything until the worker is silent or has ended, as a line each.
    fn said(worker: &mut Worker) -> Vec<String> {
        let mut all = Vec::new();
        while !worker.has_ended() {
            match worker.hear(PATIENCE) {
                Some(Heard::Printed(stream, bytes)) => {
                    all.push(format!("{stream:?} {}", String::from_utf8(bytes).unwrap().trim_end()));
                }
                Some(Heard::Message(FromWorker::Done { id, .. })) => {
                    all.push(format!("done {id}"));
                    return all;
                }
                Some(Heard::Message(FromWorker::Stream { text, .. })) => all.push(text),
                Some(Heard::Message(other)) => all.push(format!("{other:?}")),
                None => {}
            }
        }
        all
    }

    #[test]
    fn what_processes_print_comes_before_the_end_of_the_cell() {
        let script = r#"read line <&$S; echo out; echo '{"type":"stream","name":"stdout","text":"a"}' >&$S
            echo '{"type":"done","id":1,"ok":true}' >&$S; read line <&$S; echo "$line"; exit 3"#;
        let (_folder, mut worker) = worker(script);
        worker.send(&ToWorker::Input { text: None }).unwrap();
        let mut first = said(&mut worker);
        assert_eq!(first.pop().as_deref(), Some("done 1"));
        first.sort();
        assert_eq!(first, ["Stdout out", "a"]);
        worker.send(&ToWorker::Release { names: vec!["ß".into()] }).unwrap();
        assert_eq!(said(&mut worker), [r#"Stdout {"type":"release","names":["ß"]}"#]);
        assert_eq!(worker.death().message, "Python ended with exit code 3");
    }

    #[test]
    fn a_worker_takes_the_processes_along_that_it_has_started() {
        let (_folder, mut worker) = worker("sleep 1000 & echo $!; kill -SEGV $$");
        let printed = said(&mut worker);
        let child: i32 = printed[0].strip_prefix("Stdout ").unwrap().parse().unwrap();
        let death = worker.death();
        assert_eq!(death.message, "Python was ended by signal 11 (SIGSEGV)");
        assert!(death.help[0].contains("ONRUSH_PYTHON"), "{death:?}");
        // It may still wait to be reaped.
        let lives = || {
            let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            !stat.is_empty() && !stat.contains(") Z ") && !stat.contains(") X ")
        };
        let until = Instant::now() + PATIENCE;
        while lives() {
            assert!(Instant::now() < until, "the process lives");
            std::thread::yield_now();
        }
    }

    #[test]
    fn completion_keeps_what_else_is_said() {
        let script = r#"read line <&$S; echo '{"type":"stream","name":"stdout","text":"late"}' >&$S
            echo '{"type":"matches","id":7,"matches":["old"],"start":0,"end":1}' >&$S
            echo '{"type":"matches","id":1,"matches":["a","b"],"start":2,"end":3}' >&$S; read line <&$S; sleep 1000"#;
        let (_folder, mut worker) = worker(script);
        let found = worker.complete("x.a", 3, PATIENCE);
        assert_eq!(found, Some((vec!["a".to_string(), "b".to_string()], 2, 3)));
        assert!(
            matches!(worker.hear(PATIENCE), Some(Heard::Message(FromWorker::Stream { text, .. })) if text == "late")
        );
        assert_eq!(worker.complete("x.a", 3, Duration::from_millis(50)), None);
        let group = worker.group();
        worker.end();
        assert!(!std::path::Path::new(&format!("/proc/{group}")).exists());
    }

    #[test]
    fn an_output_that_is_not_json_is_said() {
        let (_folder, mut worker) = worker("echo '{\"type\":\"display\",\"data\":{\"a\":NaN}}' >&$S");
        let all = said(&mut worker);
        assert!(all[0].starts_with("Stderr note: an output of the cell cannot be shown"), "{all:?}");
    }
}
