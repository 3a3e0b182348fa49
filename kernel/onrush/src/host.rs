//! The cell process's side of the prelude: the store of variables, and what generated code calls at the edges of a
//! cell.
//!
//! Used by `onrush-cell`, by the cell process and by generated code, never by users. The work of a cell between its
//! edges is not here.

mod keep;
mod locks;
mod store;
mod tests;

pub use crate::process::{
    AnyError, CONTROL_FD, CallEntry, CellError, Context, LIFETIME_FD, OUTPUT_FD, Panic, call_entry, calls, capture,
    clear_output, configure, context, crash_record, describe_panic, display, flush, fork, input, last_panic,
    need_session, of_runner, output, payload_text, publish, read_control, release, returned, save_picture, send,
    send_begin, send_end, set_panic, take_ledger, tell,
};
pub use keep::{KeepBothEnds, KeepIterator, KeepOther, KeptValue};
pub use store::{CellEnd, Preview, Store};
pub use tests::{Test, Verdict, run_tests};

use std::any::Any;
use std::sync::{Mutex, PoisonError};

use onrush_wire::ObjectId;

/// No type implements it: a bound on it makes rustc spell a type's name.
pub trait Nameable {}

/// The function that every compiled cell exports. It returns the proof that it reached its end.
pub type Entry = fn(&mut Store) -> Result<CellEnd, CellError>;

/// The object of the session that a variable holds, if it holds one. A new kind of object has its line here.
fn object_of(value: &dyn Any) -> Option<ObjectId> {
    crate::handle::object_of(value).or_else(|| crate::learn::object_of(value))
}

/// A snapshot has taken over: what threads of the runner had locked is theirs for ever.
pub fn took_over() {
    crate::session::begin_anew();
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

/// A value that is made once for all cells of a process, by its type. An example is the runtime of an asynchronous
/// crate, which must outlive the cells that use it.
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
