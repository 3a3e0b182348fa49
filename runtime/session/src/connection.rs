//! The two halves of a connection: messages, and the descriptor that one may have (`onrush_wire::stream`).
//!
//! A message has at most one descriptor. The memory behind it is a memfd sealed against writing, growing and shrinking, and can be
//! mapped safely. `Reply::Batches` with `inline: None` comes with one, as may `Request::Step` with `Op::FromArrow` whose
//! `bytes` is `None`. That of `Reply::Lent` is memory of a device, which its driver maps.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use onrush_wire::codec::CodecError;
use onrush_wire::stream;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The sending half.
#[derive(Debug)]
pub struct Sender(UnixStream);

/// The receiving half.
#[derive(Debug)]
pub struct Receiver(UnixStream);

/// Both halves of a connected socket.
pub fn split(stream: UnixStream) -> io::Result<(Sender, Receiver)> {
    let writer = stream.try_clone()?;
    Ok((Sender(writer), Receiver(stream)))
}

impl Sender {
    pub fn send<T: Serialize>(&mut self, message: &T, descriptor: Option<BorrowedFd<'_>>) -> Result<(), CodecError> {
        stream::send(&self.0, message, descriptor.as_slice())
    }

    pub fn stream(&self) -> &UnixStream {
        &self.0
    }
}

impl Receiver {
    /// The next message and the descriptor that came with it.
    pub fn receive<T: DeserializeOwned>(&mut self) -> Result<(T, Option<OwnedFd>), CodecError> {
        let (message, descriptors) = stream::receive(&self.0)?;
        Ok((message, descriptors.into_iter().next()))
    }

    pub fn stream(&self) -> &UnixStream {
        &self.0
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
    use super::*;

    #[test]
    fn the_other_ends_hanging_up_is_seen() {
        let (a, b) = UnixStream::pair().unwrap();
        let (mut sender, other_half) = split(a).unwrap();
        let (_b, mut receiver) = split(b).unwrap();
        sender.send(&"last", None).unwrap();
        assert!(matches!(receiver.receive::<String>().unwrap(), (text, None) if text == "last"));
        assert!(!is_closed(receiver.stream()));
        drop((sender, other_half));
        assert!(is_closed(receiver.stream()));
        assert!(matches!(receiver.receive::<String>(), Err(CodecError::Closed)));
    }
}
