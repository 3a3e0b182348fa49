//! Forks while this thread holds the standard library's locks of the environment and of backtraces. Another thread may
//! use them all the time, and then hardly a moment is right to fork without.
//!
//! Neither lock can be taken from outside. But the standard library calls C functions with them held, and this
//! executable's own `unsetenv` and `_Unwind_Backtrace` come first in the loader's search.

use std::cell::Cell;
use std::ffi::{CStr, c_void};

use libc::{c_char, c_int};
use onrush::host;

use super::rtld_next::Next;

/// No variable has this name.
const NAME: &CStr = c"ONRUSH forks here";

thread_local! {
    static WANTED: Cell<bool> = const { Cell::new(false) };
    static FORKED: Cell<c_int> = const { Cell::new(0) };
}

/// Forks with all locks held that can be. Returns what `fork` returns.
#[expect(clippy::disallowed_methods, reason = "its lock is wanted, and nothing is removed")]
pub fn fork() -> c_int {
    // A thread that holds one of these may wait for those below: these first.
    let (_out, _err) = (std::io::stdout().lock(), std::io::stderr().lock());
    WANTED.set(true);
    // SAFETY: the lock is what is wanted; nothing is removed.
    unsafe { std::env::remove_var(NAME.to_str().unwrap_or_default()) };
    if WANTED.replace(false) { host::fork() } else { FORKED.get() }
}

/// # Safety
/// As of POSIX `unsetenv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unsetenv(name: *const c_char) -> c_int {
    // SAFETY: the caller gives a text that ends in a zero.
    if WANTED.try_with(Cell::get).unwrap_or(false) && unsafe { CStr::from_ptr(name) } == NAME {
        drop(std::backtrace::Backtrace::force_capture());
        return 0;
    }
    type Unset = unsafe extern "C" fn(*const c_char) -> c_int;
    static NEXT: Next = Next::new(c"unsetenv");
    // SAFETY: the C library's function has this signature; the caller's promise.
    unsafe { std::mem::transmute::<*const c_void, Unset>(NEXT.address())(name) }
}

/// `_URC_END_OF_STACK`: there are no more calls.
const END_OF_STACK: c_int = 5;

type Each = extern "C" fn(*mut c_void, *mut c_void) -> c_int;
type Unwind = unsafe extern "C" fn(Each, *mut c_void) -> c_int;

/// # Safety
/// As of the unwinder's `_Unwind_Backtrace`.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the unwinder's own name")]
pub unsafe extern "C" fn _Unwind_Backtrace(each: Each, argument: *mut c_void) -> c_int {
    if WANTED.try_with(|wanted| wanted.replace(false)).unwrap_or(false) {
        let forked = host::fork();
        FORKED.set(forked);
        return END_OF_STACK;
    }
    static NEXT: Next = Next::new(c"_Unwind_Backtrace");
    // SAFETY: the unwinder's function has this signature; the caller's promise.
    unsafe { std::mem::transmute::<*const c_void, Unwind>(NEXT.address())(each, argument) }
}

#[used]
static KEEP: unsafe extern "C" fn(*const c_char) -> c_int = unsetenv;
#[used]
static KEEP_TRACE: Unwind = _Unwind_Backtrace;
