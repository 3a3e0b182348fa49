//! Connections: room for messages, and other ends that hang up.

use std::os::unix::net::UnixStream;

use onrush_session::connection::{Incoming, SMALL, is_closed, split};
use onrush_wire::codec::{CodecError, MAX_MESSAGE};

#[test]
fn long_messages_wait_for_each_other() {
    let incoming = Incoming::default();
    let (a, b) = UnixStream::pair().unwrap();
    let most = incoming.take(MAX_MESSAGE - SMALL, &b).unwrap();
    assert!(incoming.take(SMALL, &b).is_ok(), "short ones need no room");
    drop(a);
    assert!(matches!(incoming.take(SMALL + 1, &b), Err(CodecError::Closed)));
    let (_a, b) = UnixStream::pair().unwrap();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| incoming.take(MAX_MESSAGE, &b).map(drop));
        drop(most);
        waits.join().unwrap().unwrap();
    });
}

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
