//! One connection to the session: messages, and the descriptors that come with them.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use onrush_wire::codec::{CodecError, encode, read_message, write_message};
use onrush_wire::session::{Hello, Reply, Request, Role, Welcome};
use onrush_wire::{Class, Diagnostic, Generation, NotebookId, PROTOCOL, paths};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

pub struct Connection {
    stream: Stream,
    used: bool,
    /// Of the session's process.
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
        let socket = UnixStream::connect(socket).map_err(|e| OpenError::NobodyThere(unreachable(&e)))?;
        let mut stream = Stream { socket, descriptors: VecDeque::new() };
        let hello = Hello {
            protocol: PROTOCOL,
            notebook,
            role: Role::Cell,
            generation,
            pid: std::process::id(),
            token: String::new(),
        };
        let welcome = write_message(&mut stream, &hello).and_then(|()| read_message::<Welcome>(&mut stream));
        match welcome {
            Ok(Welcome::Accepted { pid, engine, .. }) => {
                same_engine(&engine).map_err(OpenError::Refused)?;
                Ok(Connection { stream, used: false, pid })
            }
            Ok(Welcome::Refused(diagnostic)) => Err(OpenError::Refused(diagnostic)),
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
        self.stream.descriptors.clear();
        let bytes = encode(request)?;
        let sent = match memory {
            None => 0,
            Some(memory) => self.stream.write_with(&bytes, memory)?,
        };
        self.stream.write_all(&bytes[sent..])?;
        let reply = read_message(&mut self.stream)?;
        self.used = true;
        Ok((reply, self.stream.descriptors.pop_front()))
    }
}

/// A socket whose reads keep the descriptors that arrive with the bytes.
struct Stream {
    socket: UnixStream,
    descriptors: VecDeque<OwnedFd>,
}

impl Stream {
    fn write_with(&mut self, bytes: &[u8], memory: BorrowedFd<'_>) -> io::Result<usize> {
        let descriptors = [memory];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
            return Err(io::Error::other("no room for a descriptor"));
        }
        loop {
            match sendmsg(&self.socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL) {
                Err(rustix::io::Errno::INTR) => {}
                other => return Ok(other?),
            }
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let received = recvmsg(&self.socket, &mut [IoSliceMut::new(buffer)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.descriptors.extend(descriptors);
            }
        }
        Ok(received.bytes)
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
