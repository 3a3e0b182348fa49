//! The two halves of a connection: messages, and the descriptor that one may have (`onrush_wire::fd_passing`).
//!
//! A message has at most one descriptor. The memory behind it is a memfd sealed against writing, growing and shrinking,
//! and can be mapped safely. `Reply::Batches` with `inline: None` comes with one, as may `Request::Step` with
//! `Op::FromArrow` whose `bytes` is `None`. That of `Reply::Exported` is memory of a device, which its driver maps.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use onrush_wire::codec::{CodecError, MAX_MESSAGE};
use onrush_wire::fd_passing;
use parking_lot::{Condvar, Mutex};
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
        fd_passing::send(&self.0, message, descriptor.as_slice())
    }

    pub fn stream(&self) -> &UnixStream {
        &self.0
    }
}

impl Receiver {
    /// The next message and the descriptor that came with it.
    pub fn receive<T: DeserializeOwned>(&mut self) -> Result<(T, Option<OwnedFd>), CodecError> {
        let (message, descriptors) = fd_passing::receive(&self.0)?;
        Ok((message, descriptors.into_iter().next()))
    }

    /// The same from someone who may send anything: a message that there is room for, whose rest comes `within` this
    /// time.
    pub fn receive_from_outside<T: DeserializeOwned>(
        &mut self,
        room: Room<'_>,
        within: Duration,
    ) -> Result<(T, Option<OwnedFd>), CodecError> {
        let started = fd_passing::begin(&self.0)?;
        let _taken = match room {
            Room::AtMost(longest) if started.length() > longest => return Err(CodecError::TooLong(started.length())),
            Room::AtMost(_) => None,
            Room::Shared(incoming) => Some(incoming.take(started.length(), &self.0)?),
        };
        let (message, descriptors) = started.finish(Some(within))?;
        Ok((message, descriptors.into_iter().next()))
    }

    pub fn stream(&self) -> &UnixStream {
        &self.0
    }
}

/// How much of a message is read.
#[derive(Clone, Copy, Debug)]
pub enum Room<'a> {
    /// So many bytes.
    AtMost(usize),
    /// What the messages of all connections have together.
    Shared(&'a Incoming),
}

/// Messages up to this size need no room: they come at once.
#[doc(hidden)]
pub const SMALL: usize = 1 << 20;

/// Bytes of the messages that all connections are reading, limited to the size of the longest message. A client that
/// announces long messages and does not send them delays other clients with long messages until its time is up. It
/// takes no memory.
#[derive(Debug, Default)]
pub struct Incoming {
    bytes: Mutex<usize>,
    changed: Condvar,
}

impl Incoming {
    /// Waits for room for a message, as long as its sender does.
    #[doc(hidden)]
    pub fn take(&self, length: usize, from: &UnixStream) -> Result<MessageRoom<'_>, CodecError> {
        if length <= SMALL {
            return Ok(MessageRoom { incoming: self, length: 0 });
        }
        let mut bytes = self.bytes.lock();
        while *bytes + length > MAX_MESSAGE {
            if is_closed(from) {
                return Err(CodecError::Closed);
            }
            self.changed.wait_for(&mut bytes, Duration::from_millis(100));
        }
        *bytes += length;
        Ok(MessageRoom { incoming: self, length })
    }
}

#[doc(hidden)]
pub struct MessageRoom<'a> {
    incoming: &'a Incoming,
    length: usize,
}

impl Drop for MessageRoom<'_> {
    fn drop(&mut self) {
        if self.length > 0 {
            *self.incoming.bytes.lock() -= self.length;
            self.incoming.changed.notify_all();
        }
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
