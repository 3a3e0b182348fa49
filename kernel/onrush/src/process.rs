//! The cell process: its descriptors, who it is, its channel to the kernel process, and how it ends. Exported as
//! `host`.
//!
//! The lowest module of the crate. It knows nothing of sessions, frames and variables.

mod call_entry;
pub mod calls;
mod channel;
pub mod crash_record;
mod error;

pub(crate) use call_entry::function_at;
pub use call_entry::{CallEntry, call_entry};
pub use channel::{capture, clear_output, display, input, need_session, output, read_control, save_picture, tell};
pub use channel::{send, send_begin, send_end};
pub(crate) use error::AnyRef;
pub use error::{AnyError, CellError, Panic, describe_panic, last_panic, payload_text, returned, set_panic};

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use onrush_wire::{Generation, NotebookId, ObjectId};

/// The cell process's own descriptors, fixed so that a snapshot that takes over finds them where the runner had them.
pub const CONTROL_FD: i32 = 3;
pub const OUTPUT_FD: i32 = 4;
pub const LIFETIME_FD: i32 = 5;

/// Who this process is. `None` outside a cell process (an exported program, a test).
#[derive(Clone, Debug)]
pub struct Context {
    pub notebook: NotebookId,
    pub generation: Generation,
    pub session_socket: String,
}

#[derive(Default)]
struct State {
    context: Option<Context>,
    released: Vec<ObjectId>,
    published: Vec<(String, ObjectId)>,
    own: Vec<RawFd>,
}

static STATE: Mutex<State> =
    Mutex::new(State { context: None, released: Vec::new(), published: Vec::new(), own: Vec::new() });

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The generation changes when a snapshot takes over: a connection to the session made in an older one is dead.
pub fn context() -> Option<Context> {
    state().context.clone()
}

/// Called by the host when the kernel process has said who this process is.
pub fn configure(context: Context) {
    state().context = Some(context);
}

/// A handle of an object of the session was dropped; the session is told when the cell has succeeded.
pub fn release(object: impl Into<ObjectId>) {
    state().released.push(object.into());
}

/// The object gets a name for every notebook when the cell has succeeded.
pub fn publish(name: &str, object: impl Into<ObjectId>) {
    state().published.push((name.to_string(), object.into()));
}

/// This socket belongs to the process that runs the cell alone. Its snapshot closes the socket, so that the other end
/// notices the end of the runner.
pub(crate) fn keep_to_runner(descriptor: RawFd) {
    let mut state = state();
    state.own.retain(|known| *known != descriptor);
    state.own.push(descriptor);
}

/// It was closed.
pub(crate) fn give_up(descriptor: RawFd) {
    state().own.retain(|known| *known != descriptor);
}

/// Descriptors that a snapshot lets go of.
pub fn of_runner() -> Vec<RawFd> {
    state().own.clone()
}

/// The objects that were released and published since the last call.
pub fn take_ledger() -> (Vec<ObjectId>, Vec<(String, ObjectId)>) {
    let mut state = state();
    (std::mem::take(&mut state.released), std::mem::take(&mut state.published))
}

/// A unique id, also after a snapshot has taken over, whose counter goes back.
pub(crate) fn new_id(kind: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{kind}-{:x}-{:x}-{count:x}", std::process::id(), now.as_nanos())
}

/// Forks with the locks of this module and of standard output and error held, so that the child gets them unlocked and
/// whole. Returns what `fork` returns.
pub fn fork() -> i32 {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    let _ = out.flush();
    let _err = std::io::stderr().lock();
    let _channel = channel::lock();
    let _state = state();
    // SAFETY: the child runs only the forking thread; the locks that it needs are held by that thread.
    unsafe { libc::fork() }
}

/// Writes out what `print!` left in the buffer of standard output.
pub fn flush() {
    use std::io::Write;
    let _ = std::io::stdout().flush();
}
