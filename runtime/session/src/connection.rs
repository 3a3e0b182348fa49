//! Messages over a Unix socket, with file descriptors beside them.
//!
//! The framing is `onrush_wire::codec`'s: four bytes of length, then the body. A descriptor travels as `SCM_RIGHTS` with the
//! **first byte of the length prefix** of the message that it belongs to: the sender gives it to the `sendmsg` that writes
//! the message's first bytes, and a receiver must read the prefix with `recvmsg` (a plain `read` would drop it). A message
//! has at most one descriptor. The memory behind it is a memfd sealed against writing, growing and shrinking, and can be
//! mapped safely. `Reply::Batches` with `inline: None` comes with one, as may `Request::Step` with `Op::FromArrow` whose
//! `bytes` is `None`.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use onrush_wire::codec::{CodecError, encode, read_message};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Descriptors that one read can take; more than any message has.
const MAX_DESCRIPTORS: usize = 4;

/// The sending half.
#[derive(Debug)]
pub struct Sender(UnixStream);

/// The receiving half; keeps descriptors until their message is read.
#[derive(Debug)]
pub struct Receiver {
    stream: UnixStream,
    descriptors: VecDeque<OwnedFd>,
}

/// Both halves of a connected socket.
pub fn split(stream: UnixStream) -> io::Result<(Sender, Receiver)> {
    let writer = stream.try_clone()?;
    Ok((Sender(writer), Receiver { stream, descriptors: VecDeque::new() }))
}

impl Sender {
    pub fn send<T: Serialize>(&mut self, message: &T, descriptor: Option<BorrowedFd<'_>>) -> Result<(), CodecError> {
        let bytes = encode(message)?;
        let sent = match descriptor {
            None => 0,
            Some(descriptor) => {
                let descriptors = [descriptor];
                let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
                let mut control = SendAncillaryBuffer::new(&mut space);
                if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
                    return Err(CodecError::Io(io::Error::other("no room for a descriptor")));
                }
                loop {
                    match sendmsg(&self.0, &[IoSlice::new(&bytes)], &mut control, SendFlags::NOSIGNAL) {
                        Err(rustix::io::Errno::INTR) => {}
                        other => break other.map_err(io::Error::from)?,
                    }
                }
            }
        };
        self.0.write_all(&bytes[sent..])?;
        Ok(())
    }

    pub fn stream(&self) -> &UnixStream {
        &self.0
    }
}

impl Receiver {
    /// The next message and the descriptor that came with it.
    pub fn receive<T: DeserializeOwned>(&mut self) -> Result<(T, Option<OwnedFd>), CodecError> {
        self.descriptors.clear();
        let message = read_message(self)?;
        Ok((message, self.descriptors.pop_front()))
    }

    pub fn stream(&self) -> &UnixStream {
        &self.stream
    }
}

impl Read for Receiver {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(buffer)];
        let received = recvmsg(self.stream.as_fd(), &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC)?;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.descriptors.extend(descriptors);
            }
        }
        Ok(received.bytes)
    }
}

/// True if the other end has hung up. Does not block.
pub fn is_closed(stream: &UnixStream) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut descriptors = [PollFd::new(stream, PollFlags::RDHUP)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut descriptors, Some(&now)) {
        Ok(_) => descriptors[0].revents().intersects(PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn descriptors_stay_with_their_message() {
        let (a, b) = UnixStream::pair().unwrap();
        let (mut sender, other_half) = split(a).unwrap();
        let (_b, mut receiver) = split(b).unwrap();
        let memory = crate::memory::sealed("test", b"hello").unwrap();
        let long = "x".repeat(100_000);
        let writer = std::thread::spawn(move || {
            sender.send(&"first", None).unwrap();
            sender.send(&long, Some(memory.as_fd())).unwrap();
            sender.send(&"last", None).unwrap();
        });
        assert!(matches!(receiver.receive::<String>().unwrap(), (t, None) if t == "first"));
        let (text, descriptor) = receiver.receive::<String>().unwrap();
        assert_eq!(text.len(), 100_000);
        let mut bytes = [0; 5];
        std::fs::File::from(descriptor.unwrap()).read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"hello");
        assert!(matches!(receiver.receive::<String>().unwrap(), (t, None) if t == "last"));
        writer.join().unwrap();
        assert!(!is_closed(receiver.stream()));
        drop(other_half);
        assert!(is_closed(receiver.stream()));
        assert!(matches!(receiver.receive::<String>(), Err(CodecError::Closed)));
    }
}
