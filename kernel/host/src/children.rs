//! Child processes that earlier cells have started, after a cell failed: the snapshot that took over is not their
//! parent. The kernel process has adopted them and leaves those that ended in the process table, where their status can
//! be read.
//!
//! This executable's own `waitpid` comes first in the loader's search, so the calls of `std::process::Child` arrive
//! here.

use std::fs;

use libc::{c_int, pid_t};

struct Process {
    parent: pid_t,
    ended: bool,
    /// As `waitpid` gives it.
    status: c_int,
}

/// From `/proc/PID/stat`; `None` if there is no such process.
fn look(pid: pid_t) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in parentheses, may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let status = fields.get(49)?.parse().ok()?;
    Some(Process { parent: fields.get(1)?.parse().ok()?, ended: fields.first() == Some(&"Z"), status })
}

/// Waits until a process that is not this one's child ends.
fn wait_for_end(pid: pid_t) -> bool {
    // SAFETY: plain system calls; the descriptor is this function's own.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0) as c_int;
        if fd < 0 {
            return false;
        }
        let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let ready = libc::poll(&mut poll, 1, -1);
        let error = *libc::__errno_location();
        libc::close(fd);
        *libc::__errno_location() = error;
        ready == 1
    }
}

/// # Safety
/// As of POSIX `waitpid`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn waitpid(pid: pid_t, status: *mut c_int, options: c_int) -> pid_t {
    // SAFETY: the caller's promise.
    let got = unsafe { libc::syscall(libc::SYS_wait4, pid, status, options, 0) } as pid_t;
    // SAFETY: errno belongs to this thread.
    if got >= 0 || pid <= 0 || unsafe { *libc::__errno_location() } != libc::ECHILD {
        return got;
    }
    // SAFETY: plain system call.
    let kernel = unsafe { libc::getppid() };
    while let Some(process) = look(pid).filter(|process| process.parent == kernel) {
        if process.ended {
            if !status.is_null() {
                // SAFETY: the caller gives a place for the status.
                unsafe { status.write(process.status) };
            }
            return pid;
        }
        if options & libc::WNOHANG != 0 {
            return 0;
        }
        if !wait_for_end(pid) {
            return -1;
        }
    }
    // SAFETY: errno belongs to this thread.
    unsafe { *libc::__errno_location() = libc::ECHILD };
    -1
}

#[used]
static KEEP: unsafe extern "C" fn(pid_t, *mut c_int, c_int) -> pid_t = waitpid;
