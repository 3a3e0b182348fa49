//! Pipes, sockets and waiting: thin safe functions over the system calls that the standard library has no words for.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use onrush_wire::codec;
use onrush_wire::host::FromHost;

/// How long the message of a marker may stay away.
const SILENT: Duration = Duration::from_secs(10);

pub fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Moves a descriptor out of the numbers that the cell process's own descriptors take.
fn high(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: `fd` was just made by the caller, who gives it up.
    unsafe {
        let moved = check(libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 10));
        libc::close(fd);
        Ok(OwnedFd::from_raw_fd(moved?))
    }
}

/// Reading end and writing end.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors.
    check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    Ok((high(ends[0])?, high(ends[1])?))
}

pub fn socket_pair(kind: libc::c_int) -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors.
    check(unsafe { libc::socketpair(libc::AF_UNIX, kind | libc::SOCK_CLOEXEC, 0, ends.as_mut_ptr()) })?;
    Ok((high(ends[0])?, high(ends[1])?))
}

pub fn pidfd(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: plain system call that gives a new descriptor.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        check(fd as libc::c_int).map(|fd| OwnedFd::from_raw_fd(fd))
    }
}

pub fn nonblocking(fd: RawFd) -> io::Result<()> {
    // SAFETY: plain system calls.
    unsafe {
        let flags = check(libc::fcntl(fd, libc::F_GETFL))?;
        check(libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK)).map(|_| ())
    }
}

/// Whether each descriptor has something to read (or is closed), after at most `timeout`.
pub fn poll(fds: &[RawFd], timeout: Duration) -> io::Result<Vec<bool>> {
    let mut polls: Vec<libc::pollfd> =
        fds.iter().map(|&fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
    // SAFETY: a valid array.
    let ready =
        unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, timeout.as_millis() as libc::c_int) };
    match check(ready) {
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(vec![false; fds.len()]),
        Err(e) => Err(e),
        Ok(_) => Ok(polls.iter().map(|p| p.revents != 0).collect()),
    }
}

/// Wakes a thread that waits for descriptors.
pub struct Bell {
    ear: File,
    hammer: File,
}

impl Bell {
    pub fn new() -> io::Result<Bell> {
        let (ear, hammer) = pipe()?;
        nonblocking(ear.as_raw_fd())?;
        nonblocking(hammer.as_raw_fd())?;
        Ok(Bell { ear: File::from(ear), hammer: File::from(hammer) })
    }

    pub fn ring(&self) {
        // A pipe that is full rings already.
        let _ = (&self.hammer).write(&[1]);
    }

    pub fn descriptor(&self) -> RawFd {
        self.ear.as_raw_fd()
    }

    pub fn silence(&self) {
        let mut buffer = [0; 64];
        while (&self.ear).read(&mut buffer).is_ok_and(|n| n > 0) {}
    }
}

/// Sends descriptors with one byte.
pub fn send_descriptors(socket: &OwnedFd, descriptors: &[OwnedFd]) -> io::Result<()> {
    let byte = [1u8];
    let mut part = libc::iovec { iov_base: byte.as_ptr() as *mut libc::c_void, iov_len: 1 };
    let mut space = [0u64; 16];
    let bytes = (descriptors.len() * 4) as u32;
    // SAFETY: the buffers outlive the call; the control buffer is aligned and has room for the few descriptors we send.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = space.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(bytes) as usize;
        let header = libc::CMSG_FIRSTHDR(&message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(bytes) as usize;
        for (i, fd) in descriptors.iter().enumerate() {
            libc::CMSG_DATA(header).cast::<libc::c_int>().add(i).write_unaligned(fd.as_raw_fd());
        }
        check(libc::sendmsg(socket.as_raw_fd(), &message, libc::MSG_NOSIGNAL) as libc::c_int).map(|_| ())
    }
}

/// Messages of the control socket with the descriptors that come with them. Outputs wait for their marker in the output
/// pipe, everything else is taken in its order. Neither can be taken for the other, however the two channels
/// interleave.
pub struct MessageReader {
    stream: UnixStream,
    bytes: Vec<u8>,
    descriptors: VecDeque<OwnedFd>,
    outputs: VecDeque<FromHost>,
    others: VecDeque<(FromHost, Option<OwnedFd>)>,
}

impl MessageReader {
    pub fn new(stream: UnixStream) -> Self {
        MessageReader {
            stream,
            bytes: Vec::new(),
            descriptors: VecDeque::new(),
            outputs: VecDeque::new(),
            others: VecDeque::new(),
        }
    }

    pub fn stream(&mut self) -> &mut UnixStream {
        &mut self.stream
    }

    pub fn as_raw_fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    /// Takes the next message that is not an output. `None` if no message is complete yet; an error if the other side
    /// is gone.
    pub fn next(&mut self) -> io::Result<Option<(FromHost, Option<OwnedFd>)>> {
        while self.others.is_empty() {
            if !self.fill()? {
                return Ok(None);
            }
            self.sort()?;
        }
        Ok(self.others.pop_front())
    }

    /// Whether [`Self::next`] has a message without reading.
    pub fn has_more(&self) -> bool {
        !self.others.is_empty()
    }

    /// The next output, which a marker has announced: waits for it while the other side lives.
    pub fn wait_for_output(&mut self) -> io::Result<FromHost> {
        let mut heard = Instant::now();
        loop {
            if let Some(message) = self.outputs.pop_front() {
                return Ok(message);
            }
            if self.fill()? {
                heard = Instant::now();
                self.sort()?;
            } else if heard.elapsed() > SILENT {
                // A process that was stopped between the two: the message comes later, and its place is lost.
                return Err(io::ErrorKind::TimedOut.into());
            } else {
                poll(&[self.stream.as_raw_fd()], Duration::from_millis(100))?;
            }
        }
    }

    fn sort(&mut self) -> io::Result<()> {
        while let Some(prefix) = self.bytes.first_chunk::<4>() {
            let length = codec::body_length(*prefix).map_err(io::Error::other)?;
            if self.bytes.len() < 4 + length {
                break;
            }
            let message: FromHost = codec::decode(&self.bytes[4..4 + length]).map_err(io::Error::other)?;
            self.bytes.drain(..4 + length);
            match message {
                FromHost::Display(_) | FromHost::Capture | FromHost::ClearOutput { .. } => {
                    self.outputs.push_back(message)
                }
                FromHost::Started { snapshot_pid: Some(_), .. } => {
                    let descriptor = self.descriptors.pop_front();
                    self.others.push_back((message, descriptor));
                }
                _ => self.others.push_back((message, None)),
            }
        }
        Ok(())
    }

    /// Reads what is there; `false` if nothing is.
    fn fill(&mut self) -> io::Result<bool> {
        let mut buffer = [0u8; 16384];
        let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        let mut space = [0u64; 16];
        // SAFETY: the buffers outlive the call, and what it gives is checked before it is used.
        unsafe {
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_iov = &mut part;
            message.msg_iovlen = 1;
            message.msg_control = space.as_mut_ptr().cast();
            message.msg_controllen = std::mem::size_of_val(&space);
            let got = libc::recvmsg(self.stream.as_raw_fd(), &mut message, libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC);
            if got < 0 {
                let error = io::Error::last_os_error();
                return match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(false),
                    _ => Err(error),
                };
            }
            if got == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.bytes.extend_from_slice(&buffer[..got as usize]);
            let header = libc::CMSG_FIRSTHDR(&message);
            if !header.is_null() && (*header).cmsg_type == libc::SCM_RIGHTS {
                let fd = libc::CMSG_DATA(header).cast::<libc::c_int>().read_unaligned();
                self.descriptors.push_back(OwnedFd::from_raw_fd(fd));
            }
        }
        Ok(true)
    }
}
