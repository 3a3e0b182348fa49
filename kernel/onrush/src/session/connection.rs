//! One connection to the session: messages, and the descriptors that come with them.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use onrush_wire::codec::CodecError;
use onrush_wire::session::{Hello, Reply, Request, Role, Welcome};
use onrush_wire::{Class, Diagnostic, Generation, NotebookId, PROTOCOL, fd_passing, paths};

pub struct Connection {
    socket: UnixStream,
    used: bool,
    /// The id of the session's process.
    pid: u32,
}

pub enum OpenError {
    /// No session listens at the socket.
    NobodyThere(Diagnostic),
    Refused(Diagnostic),
}

impl From<OpenError> for Diagnostic {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::NobodyThere(diagnostic) | OpenError::Refused(diagnostic) => diagnostic,
        }
    }
}

impl Connection {
    pub fn open(socket: &Path, notebook: NotebookId, generation: Generation) -> Result<Self, OpenError> {
        let unreachable = |e: &dyn std::fmt::Display| {
            Diagnostic::error(
                Class::Environment,
                "no-session",
                format!("the session at {} cannot be reached", socket.display()),
            )
            .note(e.to_string())
            .help(format!("`onrush doctor` says what is wrong; {} names another socket", paths::SESSION))
        };
        let socket = paths::connect(socket).map_err(|e| OpenError::NobodyThere(unreachable(&e)))?;
        let hello = Hello {
            protocol: PROTOCOL,
            notebook,
            role: Role::Cell,
            generation,
            pid: std::process::id(),
            token: String::new(),
        };
        let welcome = fd_passing::send(&socket, &hello, &[]).and_then(|()| fd_passing::receive::<Welcome>(&socket));
        match welcome {
            Ok((Welcome::Accepted { pid, engine, .. }, _)) => {
                same_engine(&engine).map_err(OpenError::Refused)?;
                Ok(Connection { socket, used: false, pid })
            }
            Ok((Welcome::Refused(diagnostic), _)) => Err(OpenError::Refused(diagnostic)),
            // It ended between the connection and the greeting.
            Err(e @ (CodecError::Closed | CodecError::Io(_))) => Err(OpenError::NobodyThere(unreachable(&e))),
            Err(e) => Err(OpenError::Refused(unreachable(&e))),
        }
    }

    pub fn session_pid(&self) -> u32 {
        self.pid
    }

    /// Whether a request was answered on it.
    pub fn was_used(&self) -> bool {
        self.used
    }

    /// One request and its reply; shared memory goes with the first byte of the one, and comes with that of the other.
    pub fn exchange(
        &mut self,
        request: &Request,
        memory: Option<BorrowedFd<'_>>,
    ) -> Result<(Reply, Option<OwnedFd>), CodecError> {
        fd_passing::send(&self.socket, request, memory.as_slice())?;
        let (reply, descriptors) = fd_passing::receive(&self.socket)?;
        self.used = true;
        Ok((reply, descriptors.into_iter().next()))
    }
}

/// An engine that was asked for by name is never quietly another one.
fn same_engine(found: &str) -> Result<(), Diagnostic> {
    let wanted = std::env::var(paths::ENGINE).unwrap_or_default();
    if matches!(wanted.as_str(), "" | "auto") || wanted == found {
        return Ok(());
    }
    let message = format!("the engine `{wanted}` was asked for, and the session runs on `{found}`");
    Err(Diagnostic::error(Class::Environment, "engine", message).help(format!(
        "start with `--engine auto`, or unset {}; a session that runs already keeps its engine until its notebooks are closed",
        paths::ENGINE
    )))
}
