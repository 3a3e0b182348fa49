//! One connection to the session. No wait has no end: a supervisor that does not answer, that somebody has stopped, or
//! a user who interrupts ends it.

use std::fmt::Display;
use std::io::{self, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use onrush_wire::codec::{self, CodecError};
use onrush_wire::session::{Hello, Reply, Request, Role, Welcome};
use onrush_wire::{Class, Diagnostic, Generation, NotebookId, PROTOCOL, fd_passing, paths};

/// Bookkeeping requests that take longer mean that the session hangs.
pub const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// Between two looks at whether an answer is still waited for.
const LOOK: Duration = Duration::from_millis(50);
/// A session that lives answers within this time even to a user who interrupts.
const SHORT: Duration = Duration::from_millis(300);

/// The process of the session that was connected to last.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Why there is no connection.
#[derive(Debug)]
pub enum ConnectError {
    /// Nothing answers, or the answer broke off.
    Unreachable(Diagnostic),
    /// A session answers and will not talk, such as one of another build.
    Refused(Diagnostic),
}

impl From<ConnectError> for Diagnostic {
    fn from(error: ConnectError) -> Diagnostic {
        let (ConnectError::Unreachable(diagnostic) | ConnectError::Refused(diagnostic)) = error;
        diagnostic
    }
}

/// One connection, after its [`Hello`].
pub struct Connection {
    pub(super) stream: UnixStream,
    pub(super) reader: BufReader<Reader>,
    pub engine: String,
    pub pid: u32,
}

impl Connection {
    /// Connects without starting anything.
    pub fn open(socket: &Path, notebook: &NotebookId, role: Role, generation: Generation) -> Result<Self, Diagnostic> {
        Ok(Self::open_within(socket, notebook, role, generation, ANSWER_LIMIT, None)?)
    }

    /// The same, with a separate limit for each answer. `interrupted` ends waiting, too.
    pub fn open_within(
        socket: &Path,
        notebook: &NotebookId,
        role: Role,
        generation: Generation,
        limit: Duration,
        interrupted: Option<Arc<AtomicBool>>,
    ) -> Result<Self, ConnectError> {
        let failed = |error: &dyn Display| ConnectError::Unreachable(unreachable_session(socket, &error.to_string()));
        // A stopped process accepts nothing: each try would take a place in its queue.
        if let Some(why) = stopped() {
            return Err(failed(&why));
        }
        let stream = paths::connect(socket).map_err(|e| failed(&e))?;
        // Before it answers: one that was stopped before this notebook was opened never does.
        if let Some(process) = paths::listener(&stream) {
            PROCESS.store(process, Ordering::Relaxed);
        }
        let reading = stream.try_clone().map_err(|e| failed(&e))?;
        let reader = Reader { stream: reading, limit: None, begun: Instant::now(), interrupted };
        let mut connection = Connection { stream, reader: BufReader::new(reader), engine: String::new(), pid: 0 };
        connection.limit(Some(limit));
        let hello = Hello {
            protocol: PROTOCOL,
            notebook: notebook.clone(),
            role,
            generation,
            pid: std::process::id(),
            token: String::new(),
        };
        codec::write_message(&mut connection.stream, &hello).map_err(|e| failed(&e))?;
        match codec::read_message(&mut connection.reader).map_err(|e| failed(&e))? {
            Welcome::Accepted { pid, engine, .. } => {
                PROCESS.store(pid, Ordering::Relaxed);
                connection.pid = pid;
                connection.engine = engine;
                Ok(connection)
            }
            Welcome::Refused(diagnostic) => Err(ConnectError::Refused(diagnostic)),
        }
    }

    /// How long an answer may take from here on.
    pub(super) fn limit(&mut self, limit: Option<Duration>) {
        let reader = self.reader.get_mut();
        reader.limit = limit;
        let _ = reader.stream.set_read_timeout(limit.map(|limit| limit.min(LOOK)));
        let _ = self.stream.set_write_timeout(limit);
    }

    /// For work whose length nobody knows.
    pub fn wait_as_long_as_it_takes(&mut self) {
        self.limit(None);
    }

    /// A handle by which another thread can end the connection.
    pub fn closer(&self) -> Option<UnixStream> {
        self.stream.try_clone().ok()
    }

    pub fn ask(&mut self, request: &Request) -> Result<Reply, CodecError> {
        self.reader.get_mut().begun = Instant::now();
        codec::write_message(&mut self.stream, request)?;
        codec::read_message(&mut self.reader)
    }
}

impl Connection {
    /// As [`Connection::ask`], with the memory that comes with an answer. Waits as long as the connection is open.
    pub fn ask_with_memory(&mut self, request: &Request) -> Result<(Reply, Option<OwnedFd>), CodecError> {
        codec::write_message(&mut self.stream, request)?;
        // The buffered reader would lose the descriptor. It holds no bytes, because each request is answered once.
        let (reply, descriptors) = fd_passing::receive(&self.stream)?;
        Ok((reply, descriptors.into_iter().next()))
    }
}

/// The reading side: looks now and then at whether waiting makes sense.
pub struct Reader {
    stream: UnixStream,
    limit: Option<Duration>,
    begun: Instant,
    interrupted: Option<Arc<AtomicBool>>,
}

impl Reader {
    fn look(&self) -> io::Result<()> {
        let waited = self.begun.elapsed();
        if self.limit.is_some_and(|limit| waited >= limit) {
            let why = format!("there was no answer within {:.1} s", waited.as_secs_f64());
            return Err(io::Error::new(io::ErrorKind::TimedOut, why));
        }
        if waited < SHORT {
            return Ok(());
        }
        if let Some(why) = stopped() {
            return Err(io::Error::other(why));
        }
        match &self.interrupted {
            Some(interrupted) if interrupted.load(Ordering::Acquire) => {
                Err(io::Error::other("the cell was interrupted"))
            }
            _ => Ok(()),
        }
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.read(buffer) {
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => self.look()?,
                other => return other,
            }
        }
    }
}

/// That somebody has stopped the session's process, in words.
pub fn stopped() -> Option<String> {
    let pid = PROCESS.load(Ordering::Relaxed);
    (pid != 0 && is_stopped(pid)).then(|| {
        format!(
            "its process ({pid}) was stopped by a signal; `kill -CONT {pid}` lets it go on, `kill -9 {pid}` ends it"
        )
    })
}

fn is_stopped(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with(['T', 't']))
}

pub fn unreachable_session(socket: &Path, why: &str) -> Diagnostic {
    Diagnostic::error(
        Class::Environment,
        "no-session",
        format!("the session at {} does not answer: {why}", socket.display()),
    )
    .help("run the cell again: a new session is started when a frame is next used; `onrush doctor` says what is wrong")
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_session_that_does_not_answer_is_not_waited_for() {
        let path = std::env::temp_dir().join(format!("onrush-silent-{}.sock", std::process::id()));
        let _ = std::fs::remove_file(&path);
        // It accepts connections, as the kernel does for a process that is stopped, and never says a word.
        let _silent = UnixListener::bind(&path).unwrap();
        let open = |limit: Duration, interrupted: bool| {
            let begun = Instant::now();
            let interrupted = Some(Arc::new(AtomicBool::new(interrupted)));
            let notebook = NotebookId("n".into());
            let opened = Connection::open_within(&path, &notebook, Role::Kernel, Generation(1), limit, interrupted);
            let message = opened.err().map(|error| Diagnostic::from(error).message).unwrap_or_default();
            (message, begun.elapsed())
        };
        let (message, _) = open(Duration::from_millis(200), false);
        assert!(message.contains("no answer within 0."), "{message}");
        let (message, waited) = open(Duration::from_secs(60), true);
        assert!(message.contains("the cell was interrupted") && waited < Duration::from_secs(10), "{message}");
        // Linux's own word for a stopped process is what is asked.
        let mut child = Command::new("sleep").arg("100").spawn().unwrap();
        PROCESS.store(child.id(), Ordering::Relaxed);
        assert_eq!(stopped(), None);
        assert!(Command::new("kill").args(["-STOP", &child.id().to_string()]).status().unwrap().success());
        while stopped().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let (message, waited) = open(Duration::from_secs(60), false);
        assert!(message.contains(&format!("`kill -CONT {}`", child.id())), "{message}");
        assert!(waited < Duration::from_secs(10), "{waited:?}");
        child.kill().unwrap();
        child.wait().unwrap();
        std::fs::remove_file(path).unwrap();
    }
}
