//! The cell process's side of the prelude: the channel to the kernel process, the store of variables, and what generated
//! code calls at the edges of a cell.
//!
//! Used by `onrush-cell`, by the rest of this crate and by generated code, never by users. What a cell does between its
//! edges is not here.

pub mod calls;
mod channel;
mod error;
mod keep;
pub mod last_words;
mod locks;
mod store;
mod tests;

pub use channel::{capture, clear_output, display, input, need_session, output, read_control, save_picture, tell};
pub use channel::{send, send_begin, send_end};
pub(crate) use error::AnyRef;
pub use error::{AnyError, CellError, Panic, describe_panic, last_panic, payload_text, returned, set_panic};
pub use keep::{KeepBothEnds, KeepIterator, KeepOther, Kept};
pub use store::{Done, Preview, Store};
pub use tests::{Test, Verdict, run_tests};

use std::any::Any;
use std::os::fd::RawFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use onrush_wire::{Generation, NotebookId, ObjectId};

/// The cell process's own descriptors, fixed so that a snapshot that takes over finds them where the runner had them.
pub const CONTROL_FD: i32 = 3;
pub const OUTPUT_FD: i32 = 4;
pub const LIFETIME_FD: i32 = 5;

/// No type implements it: a bound on it makes rustc spell a type's name.
pub trait Nameable {}

/// What every compiled cell exports. It returns the proof that it reached its end.
pub type Entry = fn(&mut Store) -> Result<Done, CellError>;

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
    object_of: Option<fn(&dyn Any) -> Option<ObjectId>>,
    own: Vec<RawFd>,
}

static STATE: Mutex<State> =
    Mutex::new(State { context: None, released: Vec::new(), published: Vec::new(), object_of: None, own: Vec::new() });

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

/// How to see whether a variable holds an object of the session. Set once by the rest of the prelude.
pub fn set_object_of(probe: fn(&dyn Any) -> Option<ObjectId>) {
    state().object_of = Some(probe);
}

pub(crate) fn object_of(value: &dyn Any) -> Option<ObjectId> {
    let probe = state().object_of;
    probe.and_then(|probe| probe(value))
}

/// This socket belongs to the process that runs the cell alone: its snapshot lets go of it, so that who is at the other end notices
/// when the runner ends.
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

/// What was released and published since the last call.
pub fn take_ledger() -> (Vec<ObjectId>, Vec<(String, ObjectId)>) {
    let mut state = state();
    (std::mem::take(&mut state.released), std::mem::take(&mut state.published))
}

/// Forks with the locks of this module and of standard output and error held, so that the child gets them unlocked and whole.
/// Returns what `fork` returns.
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

/// A snapshot has taken over: what threads of the runner had locked is theirs for ever.
pub fn took_over() {
    crate::session::begin_anew();
}

/// Writes out what `print!` left in the buffer of standard output.
pub fn flush() {
    use std::io::Write;
    let _ = std::io::stdout().flush();
}

/// Asks the user for a line. An interrupt ends the cell.
pub fn ask(prompt: &str) -> String {
    input(prompt, false).unwrap_or_default()
}

/// `print!` of a cell: what it prints appears at once, not at the next end of line.
#[doc(hidden)]
#[macro_export]
macro_rules! __print {
    ($($t:tt)*) => {{
        ::std::print!($($t)*);
        $crate::host::flush();
    }};
}

/// A value that is made once for all cells of a process, by its type: the runtime of an asynchronous crate, which must outlive the
/// cells that wait for what it keeps.
pub fn once<T: Send + 'static>(make: impl FnOnce() -> T) -> &'static Mutex<T> {
    static KEPT: Mutex<Vec<&'static (dyn Any + Send + Sync)>> = Mutex::new(Vec::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept.iter().find_map(|value| value.downcast_ref::<Mutex<T>>()) {
        return known;
    }
    let made: &'static Mutex<T> = Box::leak(Box::new(Mutex::new(make())));
    kept.push(made);
    made
}

/// Runs a future of a cell that awaits at its top level. There is no reactor: what it waits for wakes it from a thread.
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Wake(std::thread::Thread);
    impl std::task::Wake for Wake {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut future = std::pin::pin!(future);
    let waker = std::sync::Arc::new(Wake(std::thread::current())).into();
    let mut context = std::task::Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(output) => return output,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}

/// The diagnostic of a raise, if a panic's payload is one.
pub fn raised(payload: &(dyn Any + Send)) -> Option<onrush_wire::Diagnostic> {
    payload.downcast_ref::<onrush_wire::Diagnostic>().cloned()
}
