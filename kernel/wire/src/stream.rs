//! Messages over a Unix socket, with file descriptors beside them.
//!
//! The framing is [`codec`](crate::codec)'s: four bytes of length, then the body. Descriptors travel as `SCM_RIGHTS` with the **first bytes** of the
//! message that they belong to: the sender gives them to the `sendmsg` that writes these, and a receiver must read the length with `recvmsg`
//! (a plain `read` would drop them).

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codec::{CodecError, encode, read_message};

/// Descriptors that a message can have.
pub const MAX_DESCRIPTORS: usize = 64;

/// Sends a message, and copies of the descriptors with it.
pub fn send<T: Serialize>(socket: &UnixStream, message: &T, descriptors: &[BorrowedFd<'_>]) -> Result<(), CodecError> {
    let bytes = encode(message)?;
    let sent = if descriptors.is_empty() { 0 } else { send_with(socket, &bytes, descriptors)? };
    let mut rest = socket;
    rest.write_all(&bytes[sent..])?;
    Ok(())
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
    let mut reader = Reader { socket, descriptors: Vec::new() };
    let message = read_message(&mut reader)?;
    Ok((message, reader.descriptors))
}

struct Reader<'a> {
    socket: &'a UnixStream,
    descriptors: Vec<OwnedFd>,
}

impl Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let received = recvmsg(self.socket, &mut [IoSliceMut::new(buffer)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.descriptors.extend(descriptors);
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
    fn too_many_descriptors_are_refused() {
        let (a, _b) = UnixStream::pair().unwrap();
        let file = file("");
        let many = vec![file.as_fd(); MAX_DESCRIPTORS + 1];
        assert!(matches!(send(&a, &"m", &many), Err(CodecError::Io(_))));
    }
}
