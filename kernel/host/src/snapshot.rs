//! Snapshots: a forked child that sleeps while its parent runs a cell, and takes over if the cell fails.
//!
//! The child keeps one wake socket. If the other end closes, the child is not needed and ends. If five descriptors
//! arrive, it puts them where the runner had them and goes on from where it was forked.

use std::io::{self, IoSlice};
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::os::unix::net::UnixStream;

use libc::c_int;
use onrush::host::{self, CONTROL_FD, LIFETIME_FD, OUTPUT_FD};
use onrush_wire::codec::{self, CodecError};
use onrush_wire::host::FromHost;

/// `F_SETSIG` of Linux, which the libc crate does not name.
const SET_SIGNAL: c_int = 10;

/// The numbers of the descriptors that a snapshot gets when it takes over, in the order in which they are sent.
const DESCRIPTORS: [c_int; 5] = [CONTROL_FD, OUTPUT_FD, LIFETIME_FD, 1, 2];

pub enum Fork {
    /// This process runs the cell; the kernel process gets `wake`.
    Runner {
        wake: c_int,
        pid: u32,
    },
    TookOver,
    Failed(String),
}

/// The control socket, left open at the end of the scope.
pub fn control() -> ManuallyDrop<UnixStream> {
    // SAFETY: CONTROL_FD is open for the whole life of the process.
    ManuallyDrop::new(unsafe { UnixStream::from_raw_fd(CONTROL_FD) })
}

pub fn close_on_exec(fd: c_int) -> io::Result<()> {
    // SAFETY: plain system call.
    check(unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) }).map(|_| ())
}

/// Ends this process when the other end of the pipe closes: the kernel process is gone. Needs no thread, and works
/// while a cell computes.
pub fn end_with(lifetime: c_int) -> io::Result<()> {
    // SAFETY: plain system calls on an open descriptor.
    unsafe {
        check(libc::fcntl(lifetime, libc::F_SETOWN, libc::getpid()))?;
        check(libc::fcntl(lifetime, SET_SIGNAL, libc::SIGKILL))?;
        let flags = check(libc::fcntl(lifetime, libc::F_GETFL))?;
        check(libc::fcntl(lifetime, libc::F_SETFL, flags | libc::O_ASYNC))?;
    }
    // If it closed before the signal was asked for, there is an end of file to read.
    let mut poll = libc::pollfd { fd: lifetime, events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid pollfd.
    if unsafe { libc::poll(&mut poll, 1, 0) } == 1 && poll.revents & (libc::POLLHUP | libc::POLLERR) != 0 {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    Ok(())
}

/// Counts the threads other than this one. Cells have started them: the cell process and the prelude start none.
pub fn other_threads() -> u32 {
    let tasks = std::fs::read_dir("/proc/self/task").map_or(0, |tasks| tasks.flatten().count());
    tasks.saturating_sub(1) as u32
}

/// Reads how many bytes of memory only this process holds: resident pages that are neither a file's nor shared.
pub fn held() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: Vec<u64> = text.split(' ').filter_map(|number| number.parse().ok()).collect();
    // SAFETY: plain call.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    if let [_, resident, shared, ..] = pages[..] { resident.saturating_sub(shared) * page } else { 0 }
}

/// How often a snapshot is tried that has no lock of a gone thread in it.
const TRIES: u32 = 200;
/// How often a new snapshot is looked at.
const LOOK_MS: c_int = 1;
/// Number of looks at a computing process before it is given up.
const LOOKS: u32 = 1000;

/// Forks. With other `threads` the child may have got a lock of the C library or the standard library that such a
/// thread held. A child that cannot take them is given up, and another one is made.
pub fn take(threads: u32) -> Fork {
    for _ in 0..TRIES {
        match fork(threads > 0) {
            Fork::Runner { wake, pid } if threads > 0 && !is_usable(wake, pid) => {
                close(wake);
                reap(pid, true);
            }
            other => return other,
        }
    }
    Fork::Failed(
        "threads of earlier cells hold locks of the standard library or of the C library all the time".to_string(),
    )
}

/// In the child: takes the locks that the rest of this process may need. The allocator's and those of open C streams
/// are free after a fork, and [`super::fork_locks::fork`] holds those of the standard library.
fn try_locks() {
    let _ = std::env::var_os("ONRUSH_SNAPSHOT");
    drop(std::backtrace::Backtrace::force_capture());
    drop(std::io::stderr().lock());
    // SAFETY: reads the time zone, under the lock that all functions of local time take.
    unsafe { tzset() };
    // SAFETY: loads nothing: it asks for the executable itself.
    unsafe { libc::dlopen(std::ptr::null(), libc::RTLD_NOW) };
}

unsafe extern "C" {
    fn tzset();
}

/// In the parent: whether the child could take all locks. One that waits for something does so for ever.
fn is_usable(wake: c_int, pid: u32) -> bool {
    let mut waited = 0;
    for _ in 0..LOOKS {
        let mut poll = libc::pollfd { fd: wake, events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid pollfd.
        if unsafe { libc::poll(&mut poll, 1, LOOK_MS) } == 1 {
            let mut byte = 0u8;
            // SAFETY: room for one byte.
            return unsafe { libc::recv(wake, (&raw mut byte).cast(), 1, 0) } == 1;
        }
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let waits = stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('S'));
        waited = if waits { waited + 1 } else { 0 };
        if waited > 1 {
            return false;
        }
    }
    false
}

fn fork(with_threads: bool) -> Fork {
    let mut pair = [0; 2];
    // SAFETY: `pair` has room for two descriptors.
    let made =
        unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0, pair.as_mut_ptr()) };
    if let Err(error) = check(made) {
        return Fork::Failed(format!("no socket for the snapshot: {error}"));
    }
    let [wake, sleeper] = pair;
    match if with_threads { super::fork_locks::fork() } else { host::fork() } {
        -1 => {
            let error = io::Error::last_os_error();
            close(wake);
            close(sleeper);
            Fork::Failed(format!("no snapshot could be taken: {error}"))
        }
        0 => {
            close(wake);
            if with_threads {
                try_locks();
                // SAFETY: one byte of a constant. The parent waits for it.
                unsafe { libc::send(sleeper, c"1".as_ptr().cast(), 1, libc::MSG_NOSIGNAL) };
            }
            prefer_to_kill(b"200");
            sleep(sleeper);
            Fork::TookOver
        }
        pid => {
            close(sleeper);
            // Both sides do it: whichever is first, a signal to the runner's group does not reach the snapshot.
            // SAFETY: plain system call.
            unsafe { libc::setpgid(pid, pid) };
            // If memory runs out, the kernel ends the cell that uses it up, and neither its snapshot nor another
            // process.
            prefer_to_kill(b"600");
            Fork::Runner { wake, pid: pid as u32 }
        }
    }
}

/// In the child: lets go of everything that the kernel process or the session watches, and waits.
fn sleep(sleeper: c_int) {
    // SAFETY: plain system calls in a process with one thread.
    unsafe {
        libc::setpgid(0, 0);
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        for fd in session_sockets().into_iter().chain(host::of_runner()).chain(DESCRIPTORS) {
            libc::dup3(null, fd, if fd > 2 { libc::O_CLOEXEC } else { 0 });
        }
        libc::close(null);
    }
    let Some(descriptors) = receive(sleeper) else {
        super::stdio::exit(0);
    };
    close(sleeper);
    for (from, to) in descriptors.into_iter().zip(DESCRIPTORS) {
        // SAFETY: both are descriptors of this process.
        unsafe { libc::dup3(from, to, if to > 2 { libc::O_CLOEXEC } else { 0 }) };
        close(from);
    }
    if end_with(LIFETIME_FD).is_err() {
        super::stdio::exit(0);
    }
}

/// Connections to other processes over Unix sockets that the prelude made: shared with the runner, they would keep the
/// session waiting for it. Theirs is the generation that ends; the next one connects anew.
fn session_sockets() -> Vec<c_int> {
    let Some(context) = host::context() else { return Vec::new() };
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let fds = entries.flatten().filter_map(|e| e.file_name().to_str()?.parse::<c_int>().ok());
    fds.filter(|&fd| fd > LIFETIME_FD && peer_path(fd).is_some_and(|path| path == context.session_socket)).collect()
}

fn peer_path(fd: c_int) -> Option<String> {
    // SAFETY: `address` has room for the longest Unix address, whose length the kernel writes.
    unsafe {
        let mut address: libc::sockaddr_un = std::mem::zeroed();
        let mut length = std::mem::size_of::<libc::sockaddr_un>() as libc::socklen_t;
        if libc::getpeername(fd, (&raw mut address).cast(), &mut length) != 0
            || address.sun_family != libc::AF_UNIX as u16
        {
            return None;
        }
        let bytes: Vec<u8> = address.sun_path.iter().take_while(|&&c| c != 0).map(|&c| c as u8).collect();
        String::from_utf8(bytes).ok()
    }
}

/// Five descriptors, or `None` when the other end closed.
fn receive(sleeper: c_int) -> Option<Vec<c_int>> {
    let mut byte = [0u8; 1];
    let mut space = [0u64; 16];
    loop {
        let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
        // SAFETY: the buffers outlive the call, and the control buffer is aligned and large enough for five
        // descriptors.
        unsafe {
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_iov = &mut part;
            message.msg_iovlen = 1;
            message.msg_control = space.as_mut_ptr().cast();
            message.msg_controllen = std::mem::size_of_val(&space);
            let got = libc::recvmsg(sleeper, &mut message, libc::MSG_CMSG_CLOEXEC);
            if got < 0 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted {
                continue;
            }
            if got <= 0 {
                return None;
            }
            let header = libc::CMSG_FIRSTHDR(&message);
            if header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
                return None;
            }
            let data = libc::CMSG_DATA(header).cast::<c_int>();
            return Some((0..DESCRIPTORS.len()).map(|i| data.add(i).read_unaligned()).collect());
        }
    }
}

/// Sends a message with one descriptor, and closes it here.
pub fn send_with_descriptor(message: &FromHost, descriptor: c_int) -> Result<(), CodecError> {
    let bytes = codec::encode(message)?;
    let part = IoSlice::new(&bytes);
    let mut space = [0u64; 4];
    // SAFETY: the buffers outlive the call; the control buffer holds one descriptor and is aligned.
    let sent = unsafe {
        let mut header: libc::msghdr = std::mem::zeroed();
        header.msg_iov = (&raw const part).cast_mut().cast();
        header.msg_iovlen = 1;
        header.msg_control = space.as_mut_ptr().cast();
        header.msg_controllen = libc::CMSG_SPACE(4) as usize;
        let control = libc::CMSG_FIRSTHDR(&header);
        (*control).cmsg_level = libc::SOL_SOCKET;
        (*control).cmsg_type = libc::SCM_RIGHTS;
        (*control).cmsg_len = libc::CMSG_LEN(4) as usize;
        libc::CMSG_DATA(control).cast::<c_int>().write_unaligned(descriptor);
        libc::sendmsg(CONTROL_FD, &header, libc::MSG_NOSIGNAL)
    };
    close(descriptor);
    // A message of this size goes whole or not at all on a socket that the other side reads.
    if sent == bytes.len() as isize { Ok(()) } else { Err(io::Error::last_os_error().into()) }
}

/// Takes the snapshot from the process table. Nobody needs it after a success; after a failure the kernel process ends
/// this one.
pub fn reap(pid: u32, succeeded: bool) {
    let pid = pid as libc::pid_t;
    // SAFETY: plain system calls on a child that nobody else waits for; the status is not wanted.
    unsafe {
        if succeeded {
            libc::kill(pid, libc::SIGKILL);
        }
        libc::waitpid(pid, std::ptr::null_mut(), 0);
    }
}

fn prefer_to_kill(score: &[u8]) {
    // Without this file there is no preference; nothing else depends on it.
    let _ = std::fs::write("/proc/self/oom_score_adj", score);
}

fn close(fd: c_int) {
    // SAFETY: the callers own the descriptor.
    unsafe { libc::close(fd) };
}

fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
