//! Threads of cells: which cell has started one, and what waits for one that is gone.
//!
//! This executable's own `pthread_create` and `syscall` come first in the loader's search, so libstd's calls arrive
//! here.

use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use libc::{c_int, c_long, c_void, pthread_attr_t, pthread_t};
use onrush::host::{Store, crash_record};
use onrush_wire::host::Fault;

use super::current_cell;
use super::rtld_next::Next;
use super::snapshot::other_threads;

/// Threads of earlier cells have ended because a cell failed.
static ABANDONED: AtomicBool = AtomicBool::new(false);

/// Variables whose locks were opened, until the kernel process is told.
static OPENED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// This process was forked from one with other threads, and has taken over.
pub fn abandoned(store: &Store) {
    ABANDONED.store(true, Ordering::Relaxed);
    // SAFETY: the process has one thread, which runs no cell.
    let opened = unsafe { store.open_locks() };
    if let Ok(mut known) = OPENED.lock() {
        *known = opened;
    }
}

pub fn take_opened() -> Vec<String> {
    OPENED.lock().map_or_else(|_| Vec::new(), |mut opened| std::mem::take(&mut *opened))
}

type Start = extern "C" fn(*mut c_void) -> *mut c_void;

struct ThreadStart {
    start: Start,
    argument: *mut c_void,
    cell: u64,
}

extern "C" fn enter(begun: *mut c_void) -> *mut c_void {
    // SAFETY: `pthread_create` below has made the box for this call alone.
    let ThreadStart { start, argument, cell } = *unsafe { Box::from_raw(begun.cast::<ThreadStart>()) };
    current_cell::join(cell);
    start(argument)
}

/// # Safety
/// As of POSIX `pthread_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    type Create = unsafe extern "C" fn(*mut pthread_t, *const pthread_attr_t, Start, *mut c_void) -> c_int;
    static NEXT: Next = Next::new(c"pthread_create");
    // SAFETY: the C library's function has this signature.
    let create = unsafe { std::mem::transmute::<*const c_void, Create>(NEXT.address()) };
    let begun = Box::into_raw(Box::new(ThreadStart { start, argument, cell: current_cell::cell() })).cast::<c_void>();
    // SAFETY: the caller's promise; `enter` takes what it is given here.
    let result = unsafe { create(thread, attributes, enter, begun) };
    if result != 0 {
        // SAFETY: no thread was started that would take it.
        drop(unsafe { Box::from_raw(begun.cast::<ThreadStart>()) });
    }
    result
}

/// A wait of the only thread for memory that nobody else can change has no end. The thread that would have changed it
/// was lost with a failed cell. The cell ends there, and says why.
fn waits_for_ever(number: c_long, operation: c_long, timeout: c_long) -> bool {
    const WAITS: [c_int; 2] = [libc::FUTEX_WAIT, libc::FUTEX_WAIT_BITSET];
    ABANDONED.load(Ordering::Relaxed)
        && number == libc::SYS_futex
        && timeout == 0
        && operation as c_int & libc::FUTEX_PRIVATE_FLAG != 0
        && WAITS.contains(&(operation as c_int & libc::FUTEX_CMD_MASK))
        && other_threads() == 0
}

/// # Safety
/// As of Linux's `syscall`. It is variadic in C: on this platform's calling convention arguments that were not given
/// are only passed on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    type Call = unsafe extern "C" fn(c_long, c_long, c_long, c_long, c_long, c_long, c_long) -> c_long;
    static NEXT: Next = Next::new(c"syscall");
    // SAFETY: the C library's function reads that many arguments at most.
    let call = unsafe { std::mem::transmute::<*const c_void, Call>(NEXT.address()) };
    if number == libc::SYS_futex && waits_for_ever(number, b, d) {
        // SAFETY: a futex's first argument is the address of a word that can be read; the kernel would read it, too.
        let word = unsafe { ptr::read_volatile(a as *const u32) };
        if word == c as u32 {
            crash_record::fault(Fault::Abandoned);
            super::stdio::exit(3);
        }
    }
    // SAFETY: the caller's promise.
    unsafe { call(number, a, b, c, d, e, f) }
}

#[used]
static KEEP: unsafe extern "C" fn(*mut pthread_t, *const pthread_attr_t, Start, *mut c_void) -> c_int = pthread_create;
#[used]
static KEEP_CALL: unsafe extern "C" fn(c_long, c_long, c_long, c_long, c_long, c_long, c_long) -> c_long = syscall;
