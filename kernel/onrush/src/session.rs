//! The way to the session: one connection for each process, one request at a time.
//!
//! Requests block; user code that wants several at once asks from threads and waits its turn. The shared memory of a
//! reply is mapped here. Other modules know its meaning.

mod connection;
mod memory;
pub(crate) mod start;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, TryLockError};

use arrow::array::RecordBatch;
use onrush_wire::codec::CodecError;
use onrush_wire::plan::Op;
use onrush_wire::session::{Reply, Request};
use onrush_wire::visual::{Section, VisualAsk, VisualHead, VisualSpec};
use onrush_wire::{Class, DataType, Diagnostic, FrameId, Generation, Schema, Span, paths};

use crate::process;
use crate::raise::raise;
use connection::Connection;

/// The connection, with the process and the generation that made it: after a fork, or when a snapshot took over,
/// another one is needed. And with that another lock, because a thread that asked in the process before holds this one
/// for ever.
static CONNECTIONS: [Mutex<Option<(u32, Generation, Connection)>>; 64] = [const { Mutex::new(None) }; 64];

/// How often a snapshot took over.
static TAKEN_OVER: AtomicUsize = AtomicUsize::new(0);

/// A snapshot has taken over.
pub(crate) fn begin_anew() {
    let before = TAKEN_OVER.fetch_add(1, Ordering::Relaxed) % CONNECTIONS.len();
    // The connection of the process before is of no use. It is closed, unless a thread that is gone holds its lock.
    match CONNECTIONS[before].try_lock() {
        Ok(mut connection) => *connection = None,
        Err(TryLockError::Poisoned(poisoned)) => *poisoned.into_inner() = None,
        Err(TryLockError::WouldBlock) => {}
    }
}

/// A program's own choice of a session, instead of the user's.
static SOCKET: OnceLock<PathBuf> = OnceLock::new();

/// Outside a notebook: which session is used from here on. Only the first call counts, and only before the first frame.
pub fn use_session(socket: impl Into<PathBuf>) {
    let _ = SOCKET.set(socket.into());
}

/// The session that answered last, and the number of sessions before it. A frame of an earlier one is gone, and its
/// number may be another frame's by now.
static SESSION: Mutex<(u32, u64)> = Mutex::new((0, 0));

/// Grows when another session answers than before.
pub(crate) fn epoch() -> u64 {
    SESSION.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).1
}

/// The error of a frame of an earlier session.
pub(crate) fn restarted() -> Diagnostic {
    Diagnostic::error(
        Class::Environment,
        "session-restarted",
        "the session was restarted: this frame was in the one before",
    )
    .help("run the cells again that make it")
}

fn lock() -> MutexGuard<'static, Option<(u32, Generation, Connection)>> {
    let lock = &CONNECTIONS[TAKEN_OVER.load(Ordering::Relaxed) % CONNECTIONS.len()];
    lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Sends one request and gives its reply. `Err` is what the session answered, or why it could not be reached.
pub(crate) fn ask(request: &Request) -> Result<Reply, Diagnostic> {
    ask_with_memory(request, None).map(|(reply, _)| reply)
}

/// The same, with descriptors of shared memory: what goes with the request, and what came with the reply.
#[inline(never)]
fn ask_with_memory(request: &Request, memory: Option<BorrowedFd<'_>>) -> Result<(Reply, Option<OwnedFd>), Diagnostic> {
    let mut guard = lock();
    let (pid, generation) = (std::process::id(), process::context().map_or(Generation(0), |c| c.generation));
    if !matches!(&*guard, Some((p, g, _)) if *p == pid && *g == generation) {
        *guard = None;
    }
    for attempt in 0..2 {
        let (_, _, connection) = match &mut *guard {
            Some(known) => known,
            empty => {
                let connection = connect(generation)?;
                let mut session = SESSION.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                if session.0 != connection.session_pid() {
                    let first = session.0 == 0;
                    *session = (connection.session_pid(), session.1 + 1);
                    if !first && names_frames(request) {
                        return Err(restarted());
                    }
                }
                empty.insert((pid, generation, connection))
            }
        };
        let used = connection.was_used();
        match connection.exchange(request, memory) {
            Ok((Reply::Failed(diagnostic), _)) => return Err(diagnostic),
            Ok(answer) => return Ok(answer),
            Err(error) => {
                *guard = None;
                // A session that ended while nobody asked: nothing of this request was done yet.
                if attempt > 0 || !used || !is_gone(&error) {
                    return Err(lost(&error));
                }
            }
        }
    }
    Err(Diagnostic::error(Class::Environment, "session-lost", "the session ended twice while it was asked"))
}

/// Whether a request means nothing to a session that did not make its frames.
fn names_frames(request: &Request) -> bool {
    match request {
        Request::Step { op: Op::Read(_) | Op::FromArrow { .. }, .. } => false,
        Request::Step { op: Op::Sql { tables, .. }, .. } => !tables.is_empty(),
        Request::Names | Request::Get { .. } | Request::LoadModel { .. } | Request::Connect { .. } => false,
        Request::Status | Request::Tasks => false,
        _ => true,
    }
}

fn is_gone(error: &CodecError) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionReset, NotConnected};
    match error {
        CodecError::Closed => true,
        CodecError::Io(e) => matches!(e.kind(), BrokenPipe | ConnectionReset | NotConnected),
        _ => false,
    }
}

fn lost(error: &CodecError) -> Diagnostic {
    let diagnostic = Diagnostic::error(Class::Environment, "session-lost", "the session stopped answering");
    match error {
        CodecError::Closed => diagnostic.help("run the cell again: a new session is started, and files are read again"),
        error => diagnostic.note(error.to_string()).help("run the cell again, or restart the kernel"),
    }
}

fn connect(generation: Generation) -> Result<Connection, Diagnostic> {
    match process::context() {
        Some(context) => {
            let socket = PathBuf::from(&context.session_socket);
            match Connection::open(&socket, context.notebook.clone(), generation) {
                Err(connection::OpenError::NobodyThere(_)) => {
                    process::need_session()?;
                    Connection::open(&socket, context.notebook, generation).map_err(Into::into)
                }
                other => other.map_err(Into::into),
            }
        }
        None => start::connect_or_start(&SOCKET.get().cloned().unwrap_or_else(paths::session_socket)),
    }
}

/// Sends a request; raises what the session answers with an error, at `at` if the answer names no place.
pub(crate) fn expect(request: &Request, at: Span) -> Reply {
    match ask(request) {
        Ok(reply) => reply,
        Err(diagnostic) => raise_at(diagnostic, at),
    }
}

pub(crate) fn raise_at(mut diagnostic: Diagnostic, at: Span) -> ! {
    // A forgotten pair of braces: the session knows columns only.
    if diagnostic.code == "unknown-column"
        && let Some(name) = diagnostic.message.split('`').nth(1)
        && crate::bindings::is_variable(name)
    {
        let advice = format!("`{name}` is a variable: write `{{{name}}}`");
        diagnostic.help.insert(0, advice);
    }
    if diagnostic.labels.is_empty() {
        diagnostic = diagnostic.at(at, "");
    }
    raise(diagnostic)
}

/// A reply of a kind that the request cannot have: two builds speak to each other.
pub(crate) fn unexpected(reply: &Reply, at: Span) -> ! {
    let kind = format!("{reply:?}");
    let kind: String = kind.chars().take_while(|c| c.is_alphanumeric()).collect();
    raise_at(
        Diagnostic::error(
            Class::Internal,
            "reply",
            format!("the session answered with `{kind}`, which does not fit the question"),
        )
        .help("restart the kernel: the session is of another version"),
        at,
    )
}

/// One step of a plan; raises if it is refused.
#[inline(never)]
pub(crate) fn step(op: Op, at: Span) -> (FrameId, Schema) {
    match expect(&Request::Step { op, at: Some(at.clone()) }, at.clone()) {
        Reply::Frame { id, schema } => (id, schema),
        other => unexpected(&other, at),
    }
}

/// A frame of these rows. Many travel through shared memory.
#[inline(never)]
pub(crate) fn send(batch: &RecordBatch, at: Span) -> (FrameId, Schema) {
    let schema = crate::arrow_conversion::wire_schema(&batch.schema());
    let answer = memory::stream(batch).and_then(|stream| {
        let (bytes, memory) = match &stream {
            memory::Stream::Inline(bytes) => (Some(bytes.clone()), None),
            memory::Stream::Shared(memory) => (None, Some(memory.as_fd())),
        };
        ask_with_memory(&Request::Step { op: Op::FromArrow { schema, bytes }, at: Some(at.clone()) }, memory)
    });
    match answer {
        Ok((Reply::Frame { id, schema }, _)) => (id, schema),
        Ok((other, _)) => unexpected(&other, at),
        Err(diagnostic) => raise_at(diagnostic, at),
    }
}

/// A column for kernels, as it came.
pub(crate) enum ExportedColumn {
    /// In the memory of a device, by its name and whether the processor plays it. The descriptor keeps it.
    OnDevice { memory: OwnedFd, rows: u64, dtype: DataType, device: (String, bool) },
    /// As [`collect`] gives it.
    OnHost(RecordBatch),
}

/// A column of a frame for kernels.
#[inline(never)]
pub(crate) fn export_column(frame: FrameId, column: String, at: Span) -> ExportedColumn {
    let answer = ask_with_memory(&Request::ExportColumn { frame, column }, None);
    let lent = answer.and_then(|(reply, descriptor)| match (reply, descriptor) {
        (Reply::Exported { rows, dtype, device, emulated, .. }, Some(memory)) => {
            Ok(ExportedColumn::OnDevice { memory, rows, dtype, device: (device, emulated) })
        }
        (Reply::Batches { inline, bytes, .. }, descriptor) => {
            memory::batch(inline, descriptor, bytes).map(ExportedColumn::OnHost)
        }
        (other, _) => unexpected(&other, at.clone()),
    });
    lent.unwrap_or_else(|diagnostic| raise_at(diagnostic, at))
}

/// The rows that a request is answered with.
#[inline(never)]
pub(crate) fn rows_of(request: &Request, at: Span) -> RecordBatch {
    let answer = ask_with_memory(request, None);
    let batch = answer.and_then(|(reply, descriptor)| match reply {
        Reply::Batches { inline, bytes, .. } => memory::batch(inline, descriptor, bytes),
        other => unexpected(&other, at.clone()),
    });
    batch.unwrap_or_else(|diagnostic| raise_at(diagnostic, at))
}

/// Asks for a live picture, and maps the memory of the answer's sections.
#[inline(never)]
pub(crate) fn visual(what: VisualSpec, ask: VisualAsk, at: Span) -> (VisualHead, Vec<Section>, Vec<u8>) {
    let answer = ask_with_memory(&Request::Visual { what, ask }, None).and_then(|(reply, memory)| match reply {
        Reply::Visual { head, sections, inline } => {
            let bytes = match (inline, memory) {
                (Some(bytes), _) => bytes,
                (None, Some(memory)) => memory::bytes(memory)?,
                (None, None) => Vec::new(),
            };
            Ok((head, sections, bytes))
        }
        other => unexpected(&other, at.clone()),
    });
    answer.unwrap_or_else(|diagnostic| raise_at(diagnostic, at))
}

/// The frame's rows, in one batch; numbers share memory with the session.
#[inline(never)]
pub(crate) fn collect(frame: FrameId, columns: Vec<String>, at: Span) -> RecordBatch {
    rows_of(&Request::Collect { frame, columns }, at)
}
