//! Messages over a Unix socket, with file descriptors.
//!
//! The framing is [`codec`](crate::codec)'s: four bytes of length, then the body. Descriptors travel as `SCM_RIGHTS`
//! with the **first bytes** of the message that they belong to: the sender gives them to the `sendmsg` that writes
//! these, and a receiver must read the length with `recvmsg` (a plain `read` would drop them).

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codec::{CodecError, decode, encode, read_body, read_length};

/// Descriptors that a message can have.
pub const MAX_DESCRIPTORS: usize = 64;

/// Sends a message, and copies of the descriptors with it.
pub fn send<T: Serialize>(socket: &UnixStream, message: &T, descriptors: &[BorrowedFd<'_>]) -> Result<(), CodecError> {
    Ok(send_encoded(socket, &encode(message)?, descriptors)?)
}

/// Sends a message that [`encode`] has made.
pub fn send_encoded(mut socket: &UnixStream, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let sent = if descriptors.is_empty() { 0 } else { send_with(socket, bytes, descriptors)? };
    socket.write_all(&bytes[sent..])
}

fn send_with(socket: &UnixStream, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    // The space is rounded up, so that a few more would be taken here and lost at the other end.
    if descriptors.len() > MAX_DESCRIPTORS || !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other(format!("a message has at most {MAX_DESCRIPTORS} descriptors")));
    }
    loop {
        match sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL) {
            Err(rustix::io::Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
}

/// The next message, and the descriptors that came with it; [`CodecError::Closed`] at a clean end.
pub fn receive<T: DeserializeOwned>(socket: &UnixStream) -> Result<(T, Vec<OwnedFd>), CodecError> {
    begin(socket)?.finish(None)
}

/// Waits until a message begins, as [`receive`], and leaves its body for later.
pub fn begin(socket: &UnixStream) -> Result<IncomingMessage<'_>, CodecError> {
    let mut reader = Reader { socket, descriptors: Vec::new(), deadline: None };
    let length = read_length(&mut reader)?;
    Ok(IncomingMessage { reader, length })
}

/// A message whose length is known and whose body has not been read.
pub struct IncomingMessage<'a> {
    reader: Reader<'a>,
    length: usize,
}

impl IncomingMessage<'_> {
    /// Bytes of the body.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The message; [`CodecError::Late`] if it is not there `within` this time.
    pub fn finish<T: DeserializeOwned>(self, within: Option<Duration>) -> Result<(T, Vec<OwnedFd>), CodecError> {
        let (body, descriptors) = self.finish_bytes(within)?;
        Ok((decode(&body)?, descriptors))
    }

    /// As [`IncomingMessage::finish`], the body as it is.
    pub fn finish_bytes(mut self, within: Option<Duration>) -> Result<(Vec<u8>, Vec<OwnedFd>), CodecError> {
        self.reader.deadline = within.map(|within| Instant::now() + within);
        let body = read_body(&mut self.reader, self.length).map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => CodecError::Late,
            _ => CodecError::Io(error),
        })?;
        Ok((body, self.reader.descriptors))
    }
}

struct Reader<'a> {
    socket: &'a UnixStream,
    descriptors: Vec<OwnedFd>,
    /// No read waits longer.
    deadline: Option<Instant>,
}

impl Reader<'_> {
    /// Waits for bytes, or for the deadline.
    fn wait(&self, deadline: Instant) -> io::Result<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: left.as_secs().min(1 << 30) as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        match poll(&mut [PollFd::new(self.socket, PollFlags::IN)], Some(&timeout)) {
            Ok(0) => Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        if let Some(deadline) = self.deadline {
            self.wait(deadline)?;
        }
        let received = recvmsg(self.socket, &mut [IoSliceMut::new(buffer)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.descriptors.extend(descriptors);
            }
            if self.descriptors.len() > MAX_DESCRIPTORS {
                let message = format!("a message has at most {MAX_DESCRIPTORS} descriptors");
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
        }
        Ok(received.bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Seek, Write};
    use std::os::fd::AsFd;

    use super::*;

    fn file(text: &str) -> File {
        let mut file = File::from(rustix::fs::memfd_create("test", rustix::fs::MemfdFlags::CLOEXEC).unwrap());
        file.write_all(text.as_bytes()).unwrap();
        file.rewind().unwrap();
        file
    }

    fn text(descriptor: OwnedFd) -> String {
        io::read_to_string(File::from(descriptor)).unwrap()
    }

    #[test]
    fn descriptors_stay_with_their_message() {
        let (a, b) = UnixStream::pair().unwrap();
        let long = "x".repeat(1_000_000);
        let writer = std::thread::spawn(move || {
            let (hello, one, two) = (file("hello"), file("1"), file("2"));
            send(&a, &"first", &[]).unwrap();
            send(&a, &long, &[hello.as_fd()]).unwrap();
            send(&a, &"third", &[one.as_fd(), two.as_fd()]).unwrap();
            send(&a, &"last", &[]).unwrap();
        });
        let next = || receive::<String>(&b).unwrap();
        assert!(matches!(next(), (message, descriptors) if message == "first" && descriptors.is_empty()));
        let (message, mut descriptors) = next();
        assert_eq!(message.len(), 1_000_000);
        assert_eq!(text(descriptors.remove(0)), "hello");
        let (message, descriptors) = next();
        assert_eq!(message, "third");
        assert_eq!(descriptors.into_iter().map(text).collect::<String>(), "12");
        assert!(matches!(next(), (message, descriptors) if message == "last" && descriptors.is_empty()));
        writer.join().unwrap();
        assert!(matches!(receive::<String>(&b), Err(CodecError::Closed)));
    }

    #[test]
    fn the_rest_of_a_message_is_waited_for_no_longer_than_said() {
        let (a, b) = UnixStream::pair().unwrap();
        // 200 MB are announced, and a few bytes come.
        (&a).write_all(&200_000_000u32.to_le_bytes()).unwrap();
        (&a).write_all(b"a few").unwrap();
        let started = begin(&b).unwrap();
        assert_eq!(started.length(), 200_000_000);
        let late = started.finish::<String>(Some(Duration::from_millis(30)));
        assert!(matches!(late, Err(CodecError::Late)));
        let (a, b) = UnixStream::pair().unwrap();
        send(&a, &"whole", &[]).unwrap();
        let (message, _) = begin(&b).unwrap().finish::<String>(Some(Duration::from_secs(9))).unwrap();
        assert_eq!(message, "whole");
        // Half of a message whose sender is gone.
        (&a).write_all(&200_000_000u32.to_le_bytes()).unwrap();
        drop(a);
        assert!(matches!(receive::<String>(&b), Err(CodecError::Io(e)) if e.kind() == io::ErrorKind::UnexpectedEof));
    }

    #[test]
    fn too_many_descriptors_are_refused() {
        let (a, _b) = UnixStream::pair().unwrap();
        let file = file("");
        let many = vec![file.as_fd(); MAX_DESCRIPTORS + 1];
        assert!(matches!(send(&a, &"m", &many), Err(CodecError::Io(_))));
    }
}
