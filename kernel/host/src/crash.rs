//! Faults: ends the process with one signal for a stack overflow and with another for an invalid pointer. Records the
//! address, the calls that led there, and the sender of a signal from outside.
//!
//! The kernel process writes the message. This module prints nothing.

use std::ffi::CStr;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use libc::{c_int, c_void, siginfo_t};
use onrush::host::crash_record;
use onrush_wire::host::Fault;

/// The signal that stands for an exhausted stack: unused on this platform, and it ends a process by default.
const STACK_USED_UP: c_int = libc::SIGSTKFLT;
/// A fault this near to the stack pointer is one of the stack.
const NEAR: usize = 256 << 10;
/// Bytes of the main thread's stack for signals. That of the standard library is too small for the unwinder.
const SIGNAL_STACK: usize = 128 << 10;
/// Calls that are looked at. The innermost calls of a deeper recursion are kept.
const DEEPEST: usize = 256;
/// How the file names of compiled cells begin.
const CELL: &[u8] = b"libonrush_cell_";

/// The calls of the process's only crash.
static CALLS: [AtomicPtr<c_void>; DEEPEST] = [const { AtomicPtr::new(ptr::null_mut()) }; DEEPEST];
static CRASHED: AtomicBool = AtomicBool::new(false);
/// The address of the main thread's stack for signals.
static STACK: AtomicUsize = AtomicUsize::new(0);

/// Replaces the standard library's handlers, which would print a message, and the system's for what ends a process by a
/// fault of its code. A cell may install its own.
pub fn install() {
    // SAFETY: a new mapping, which lives as long as the process; it is the stack of this thread's signal handlers.
    unsafe {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let memory = libc::mmap(ptr::null_mut(), SIGNAL_STACK, access, kind, -1, 0);
        if memory != libc::MAP_FAILED {
            let stack = libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: SIGNAL_STACK };
            if libc::sigaltstack(&stack, ptr::null_mut()) == 0 {
                STACK.store(memory as usize, Ordering::Relaxed);
            }
        }
        // The first call loads the unwinder, which a signal handler must not do.
        let mut one = ptr::null_mut::<c_void>();
        libc::backtrace(&mut one, 1);
    }
    for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGABRT] {
        // SAFETY: the handler calls only functions that are safe in a signal handler.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_fault as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(signal, &action, ptr::null_mut());
        }
    }
}

extern "C" fn on_fault(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes valid pointers to a handler with SA_SIGINFO.
    let (info, context) = unsafe { (&*info, &*context.cast::<libc::ucontext_t>()) };
    let end = match sender(info) {
        Some(process) => {
            crash_record::fault(Fault::Sent(process));
            signal
        }
        None => fault(signal, info, context),
    };
    // SAFETY: resetting a signal and raising it are async-signal-safe; the process ends here.
    unsafe {
        libc::signal(end, libc::SIG_DFL);
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, end);
        libc::sigprocmask(libc::SIG_UNBLOCK, &set, ptr::null_mut());
        // To this thread: a signal to the process may be taken by another thread, and this one would go on.
        libc::raise(end);
        libc::_exit(128 + end);
    }
}

/// The process that has sent a signal, if it is another one.
fn sender(info: &siginfo_t) -> Option<u32> {
    if !matches!(info.si_code, libc::SI_USER | libc::SI_QUEUE | libc::SI_TKILL) {
        return None;
    }
    // SAFETY: such a signal has a sender.
    let process = unsafe { info.si_pid() };
    // SAFETY: plain system call.
    (process != unsafe { libc::getpid() }).then_some(process as u32)
}

/// Notes down a fault of the code. Gives the signal that the process ends with.
fn fault(signal: c_int, info: &siginfo_t, context: &libc::ucontext_t) -> c_int {
    // The processor does not say the address of an access that is not even the form of one (`SI_KERNEL`).
    let is_known = info.si_code > 0 && info.si_code != libc::SI_KERNEL;
    let has_address = matches!(signal, libc::SIGSEGV | libc::SIGBUS) && is_known;
    // SAFETY: a fault of memory has an address.
    let address = if has_address { unsafe { info.si_addr() as usize } } else { 0 };
    let stack = stack_pointer(context);
    let is_stack = signal == libc::SIGSEGV && has_address && address.abs_diff(stack) < NEAR;
    // SAFETY: plain system calls.
    let is_main = unsafe { libc::gettid() == libc::getpid() };
    crash_record::fault(match (has_address, is_stack, is_main) {
        (false, ..) => Fault::Signal,
        (true, true, true) => Fault::Stack,
        (true, true, false) => Fault::ThreadStack,
        (true, false, _) => Fault::Address(address as u64),
    });
    // The first crash is the one that counts. If the unwinder fails over a broken stack, the fault is known already.
    if !CRASHED.swap(true, Ordering::Relaxed) {
        note_calls(context);
    }
    if is_stack { STACK_USED_UP } else { signal }
}

/// Notes down the calls that led to the fault, as far as they are in cells.
fn note_calls(context: &libc::ucontext_t) {
    let place = instruction(context);
    note_call(place);
    // A call through a pointer that leads nowhere: the caller's address is the last on the stack.
    if in_library(place).is_none() {
        note_return(context);
    }
    let here = (&raw const place).addr();
    let own = STACK.load(Ordering::Relaxed);
    if own == 0 || !(own..own + SIGNAL_STACK).contains(&here) {
        // A thread's stack for signals is too small for the unwinder.
        return;
    }
    // SAFETY: there is room for as many addresses as are asked for, and an `AtomicPtr` is a pointer in memory.
    let count = unsafe { libc::backtrace(CALLS.as_ptr().cast_mut().cast(), DEEPEST as c_int) };
    let calls = &CALLS[..usize::try_from(count).unwrap_or(0).min(DEEPEST)];
    let address = |call: &AtomicPtr<c_void>| call.load(Ordering::Relaxed) as usize;
    // The calls above the fault are those of this handler.
    let from = calls.iter().position(|call| address(call) == place).map_or(calls.len(), |at| at + 1);
    for call in &calls[from..] {
        // The recorded address is the one after the call: one less is in it.
        note_call(address(call).wrapping_sub(1));
    }
}

/// The shared object that holds an address: where it was loaded, and its path.
fn in_library(address: usize) -> Option<(usize, &'static CStr)> {
    // SAFETY: zeros are a valid value of this struct of pointers.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: any address may be asked for. The loader allocates nothing for the answer.
    if unsafe { libc::dladdr(address as *const c_void, &mut found) } == 0 || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader's own text; no library is ever unloaded.
    Some((found.dli_fbase as usize, unsafe { CStr::from_ptr(found.dli_fname) }))
}

fn note_call(address: usize) {
    let Some((base, path)) = in_library(address) else { return };
    let path = path.to_bytes();
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    if name.starts_with(CELL) {
        crash_record::call(path, (address - base) as u64);
    }
}

#[cfg(target_arch = "x86_64")]
fn note_return(context: &libc::ucontext_t) {
    let stack = stack_pointer(context);
    if stack != 0 && stack.is_multiple_of(align_of::<usize>()) {
        // SAFETY: not certain. The stack of a thread that has just made a call is there. If it is not, the process ends
        // by the same signal, and its fault is known already.
        let address = unsafe { ptr::read_volatile(stack as *const usize) };
        note_call(address.wrapping_sub(1));
    }
}

#[cfg(target_arch = "aarch64")]
fn note_return(context: &libc::ucontext_t) {
    note_call((context.uc_mcontext.regs[30] as usize).wrapping_sub(1));
}

#[cfg(target_arch = "x86_64")]
fn stack_pointer(context: &libc::ucontext_t) -> usize {
    context.uc_mcontext.gregs[libc::REG_RSP as usize] as usize
}

#[cfg(target_arch = "aarch64")]
fn stack_pointer(context: &libc::ucontext_t) -> usize {
    context.uc_mcontext.sp as usize
}

#[cfg(target_arch = "x86_64")]
fn instruction(context: &libc::ucontext_t) -> usize {
    context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize
}

#[cfg(target_arch = "aarch64")]
fn instruction(context: &libc::ucontext_t) -> usize {
    context.uc_mcontext.pc as usize
}
