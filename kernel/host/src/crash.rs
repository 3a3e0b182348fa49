//! Memory faults: ends the process with one signal for a stack overflow and with another for an invalid pointer, and records the
//! address.
//!
//! The kernel process writes the message. This module prints nothing.

use libc::{c_int, c_void, siginfo_t};
use onrush::host::last_words;
use onrush_wire::host::Fault;

/// The signal that stands for an exhausted stack: unused on this platform, and it ends a process by default.
const STACK_USED_UP: c_int = libc::SIGSTKFLT;
/// A fault this near to the stack pointer is one of the stack.
const NEAR: usize = 256 << 10;

/// Replaces the standard library's handler, which would print a message. That handler has set up the alternate stack.
pub fn install() {
    for signal in [libc::SIGSEGV, libc::SIGBUS] {
        // SAFETY: the handler calls only functions that are safe in a signal handler.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_fault as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

extern "C" fn on_fault(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes valid pointers to a handler with SA_SIGINFO.
    let (address, stack) = unsafe { ((*info).si_addr() as usize, stack_pointer(&*context.cast::<libc::ucontext_t>())) };
    let is_stack = signal == libc::SIGSEGV && address.abs_diff(stack) < NEAR;
    // SAFETY: plain system calls.
    let is_main = unsafe { libc::syscall(libc::SYS_gettid) == libc::c_long::from(libc::getpid()) };
    last_words::fault(match (is_stack, is_main) {
        (true, true) => Fault::Stack,
        (true, false) => Fault::ThreadStack,
        (false, _) => Fault::Address(address as u64),
    });
    let end = if is_stack { STACK_USED_UP } else { signal };
    // SAFETY: resetting a signal and raising it are async-signal-safe; the process ends here.
    unsafe {
        libc::signal(end, libc::SIG_DFL);
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, end);
        libc::sigprocmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
        libc::kill(libc::getpid(), end);
        libc::_exit(128 + end);
    }
}

#[cfg(target_arch = "x86_64")]
fn stack_pointer(context: &libc::ucontext_t) -> usize {
    context.uc_mcontext.gregs[libc::REG_RSP as usize] as usize
}

#[cfg(target_arch = "aarch64")]
fn stack_pointer(context: &libc::ucontext_t) -> usize {
    context.uc_mcontext.sp as usize
}
