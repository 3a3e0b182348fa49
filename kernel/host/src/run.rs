//! One cell: load its shared object, call its entry, and say how it ended. And the end of variables, which is code of
//! the user's, too.

use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use libc::{c_int, c_void};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW, Symbol};
use onrush::host::{self, CellEnd, CellError, Entry, Panic, Store};
use onrush_wire::control::Change;
use onrush_wire::host::FinishedRun;
use onrush_wire::{Class, Diagnostic, Span};

use crate::rtld_next::Next;

/// Runs on the main thread: its stack is as large as the kernel process's limit allows.
pub fn run(store: &mut Store, library: &str, entry: &str) -> FinishedRun {
    let begun = Instant::now();
    let mut load = Duration::ZERO;
    let outcome = call(store, library, entry, &mut || load = begun.elapsed());
    finish(store, outcome, load, begun.elapsed() - load)
}

/// Runs the callbacks of controls that have changed.
pub fn run_callbacks(store: &Store, change: &Change) -> FinishedRun {
    let begun = Instant::now();
    forget_caught();
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| onrush::controls::react(&change.controls))).map_err(describe);
    finish(store, outcome, Duration::ZERO, begun.elapsed())
}

/// Drops variables, all of them if `names` is empty. The session learns of released objects with the result of the next
/// cell.
pub fn forget(store: &mut Store, names: &[String]) -> FinishedRun {
    let begun = Instant::now();
    forget_caught();
    let dropped = panic::catch_unwind(AssertUnwindSafe(|| {
        store.forget(names);
        if names.is_empty() {
            onrush::controls::forget_all();
        }
    }));
    let outcome = dropped.map_err(describe);
    flush();
    let calls = if outcome.is_err() { host::calls::take() } else { Vec::new() };
    FinishedRun {
        outcome,
        variables: store.variables(),
        objects: store.objects(),
        released: Vec::new(),
        published: Vec::new(),
        load_micros: 0,
        run_micros: micros(begun.elapsed()),
        calls,
    }
}

/// Drops what was to be done when these controls change. No cell runs that a panic of a `Drop` could end.
pub fn drop_controls(ids: &[String]) {
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| onrush::controls::forget(ids))) {
        eprintln!("a value of a control panicked in its `Drop`: {}", describe(payload).message);
    }
}

fn finish(store: &Store, outcome: Result<(), Diagnostic>, load: Duration, run: Duration) -> FinishedRun {
    flush();
    onrush::bindings::clear();
    let (released, published) = host::take_ledger();
    let calls = if outcome.is_err() { host::calls::take() } else { Vec::new() };
    FinishedRun {
        outcome,
        variables: store.variables(),
        objects: store.objects(),
        released,
        published,
        load_micros: micros(load),
        run_micros: micros(run),
        calls,
    }
}

/// Writes output that has no end of line yet, of Rust and of C.
fn flush() {
    host::flush();
    crate::stdio::flush();
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn call(store: &mut Store, library: &str, entry: &str, loaded: &mut dyn FnMut()) -> Result<(), Diagnostic> {
    let failed = |what: &str, error: libloading::Error| {
        // The loader's own words are in the source.
        let why = std::error::Error::source(&error).map_or_else(|| error.to_string(), |source| source.to_string());
        Diagnostic::error(Class::Internal, "load", format!("{what}: {why}"))
            .help("restart the kernel; if it happens again, empty the cache folder (`onrush doctor` names it)")
    };
    // SAFETY: the shared object is rustc's, built against this very prelude. It may be loaded already: that is the same
    // one.
    let library = unsafe { Library::open(Some(library), RTLD_NOW | RTLD_GLOBAL) }
        .map_err(|e| failed("the compiled cell cannot be loaded", e))?;
    // Values, vtables and thread-locals of the cell outlive it: no library is ever unloaded.
    let library = std::mem::ManuallyDrop::new(library);
    crate::rayon_pool::remember();
    // SAFETY: generated code declares the symbol with the type `Entry`.
    let entry: Symbol<Entry> =
        unsafe { library.get(entry.as_bytes()) }.map_err(|e| failed("the compiled cell has no entry function", e))?;
    let entry: Entry = *entry;
    forget_caught();
    loaded();
    match panic::catch_unwind(AssertUnwindSafe(|| entry(store))) {
        Ok(Ok(CellEnd { .. })) => Ok(()),
        Ok(Err(CellError { diagnostic })) => {
            // A panic that the cell caught earlier is not the reason for this error.
            host::calls::take();
            Err(diagnostic)
        }
        Err(payload) => Err(describe(payload)),
    }
}

/// Forgets the panic that an earlier cell has caught. And a hook that it has set runs from here on after ours.
fn forget_caught() {
    host::last_panic();
    host::calls::take();
    keep_hook();
}

#[expect(
    clippy::disallowed_methods,
    reason = "the panic of a value's `Drop` has a payload whose `Drop` may panic again"
)]
fn describe(payload: Box<dyn std::any::Any + Send>) -> Diagnostic {
    let raised = onrush::host::raised(&*payload);
    let message = message_of(&*payload);
    let panic = match host::last_panic() {
        Some(panic) if panic.message == message => panic,
        // The hook has seen an earlier panic, which the cell has caught: the calls are of that one.
        Some(_) => {
            host::calls::take();
            Panic { message, span: None }
        }
        None => Panic { message, span: None },
    };
    // A payload may be a value of the user's, whose `Drop` panics.
    let dropped = panic::catch_unwind(AssertUnwindSafe(|| drop(payload)));
    std::mem::forget(dropped);
    raised.unwrap_or_else(|| host::describe_panic(&panic))
}

fn message_of(payload: &(dyn std::any::Any + Send)) -> String {
    let other = || "the cell panicked with a value that is not a string".to_string();
    host::payload_text(payload).unwrap_or_else(other)
}

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

/// The address of our hook: a hook at another address is a cell's.
static OURS: AtomicUsize = AtomicUsize::new(0);
static MAIN: OnceLock<ThreadId> = OnceLock::new();

fn is_main() -> bool {
    MAIN.get().is_some_and(|main| std::thread::current().id() == *main)
}

/// A panic on the main thread is kept for the cell's diagnostic; other threads print theirs as usual.
pub fn install_panic_hook() {
    let _ = MAIN.set(std::thread::current().id());
    let usual = panic::take_hook();
    set_hook(Box::new(move |info| if is_main() { note(info) } else { usual(info) }));
}

/// Puts our hook before the one that a cell has set.
fn keep_hook() {
    let hook = panic::take_hook();
    if address(&hook) == OURS.load(Ordering::Relaxed) {
        return panic::set_hook(hook);
    }
    set_hook(Box::new(move |info| {
        if is_main() {
            note(info);
        }
        hook(info);
    }));
}

fn set_hook(hook: Hook) {
    OURS.store(address(&hook), Ordering::Relaxed);
    panic::set_hook(hook);
}

/// Closures without captures share one address; ours have some.
fn address(hook: &Hook) -> usize {
    std::ptr::from_ref(&**hook).cast::<()>().addr()
}

fn note(info: &PanicHookInfo<'_>) {
    let span =
        info.location().map(|l| Span { file: l.file().to_string(), line: l.line(), column: l.column(), length: 1 });
    let message = message_of(info.payload());
    // If the process aborts over it, this is all that is left.
    host::crash_record::panicked(&message, span.as_ref());
    host::calls::keep();
    host::set_panic(Panic { message, span });
}

/// How the standard library names its exceptions: the bytes in the order of the machine.
const RUST: u64 = u64::from_ne_bytes(*b"MOZ\0RUST");

/// Begins to unwind. A panic whose hook a cell has set in the same cell has noted nothing down yet: its calls say where
/// it was. This executable's own function comes first in the loader's search, so the calls of the standard library
/// arrive here.
///
/// # Safety
/// As of the unwinder's `_Unwind_RaiseException`.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the unwinder's own name")]
pub unsafe extern "C-unwind" fn _Unwind_RaiseException(exception: *mut u64) -> c_int {
    type Raise = unsafe extern "C-unwind" fn(*mut u64) -> c_int;
    static NEXT: Next = Next::new(c"_Unwind_RaiseException");
    // SAFETY: an exception begins with its class.
    if unsafe { *exception } == RUST && is_main() {
        host::calls::keep_of_unwinding();
    }
    // SAFETY: the unwinder's function has this signature; the caller's promise.
    unsafe { std::mem::transmute::<*const c_void, Raise>(NEXT.address())(exception) }
}

#[used]
static KEEP: unsafe extern "C-unwind" fn(*mut u64) -> c_int = _Unwind_RaiseException;
