//! ZMTP 3.0 (RFC 23) as far as a publisher needs it: the greeting without security, subscriptions, and messages of
//! several frames.

use std::io;

use bytes::{BufMut, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use zeromq::ZmqMessage;

const MORE: u8 = 1;
const LONG: u8 = 2;
const COMMAND: u8 = 4;

const GREETING_BYTES: usize = 64;
const MECHANISM: std::ops::Range<usize> = 12..32;
/// A subscriber sends topics and commands, nothing longer.
const LONGEST: u64 = 1 << 16;

/// A message of a subscriber.
#[derive(Debug, PartialEq, Eq)]
pub enum SubscriberMessage {
    Subscribe(Bytes),
    Cancel(Bytes),
    /// Its context goes back with the answer.
    Ping(Bytes),
    Other,
}

fn malformed(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

/// Greetings and handshake of both sides.
pub async fn greet(reader: &mut (impl AsyncRead + Unpin), writer: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    let mut own = [0u8; GREETING_BYTES];
    (own[0], own[9], own[10]) = (0xff, 0x7f, 3);
    own[MECHANISM][..4].copy_from_slice(b"NULL");
    writer.write_all(&own).await?;
    let mut theirs = [0u8; GREETING_BYTES];
    reader.read_exact(&mut theirs).await?;
    if theirs[0] != 0xff || theirs[9] & 1 == 0 || theirs[10] < 3 {
        return Err(malformed("it does not speak ZMTP 3"));
    }
    let mechanism = String::from_utf8_lossy(&theirs[MECHANISM]).trim_end_matches('\0').to_string();
    if mechanism != "NULL" {
        return Err(malformed(format!("it asks for the security mechanism `{mechanism}`; this kernel has none")));
    }
    writer.write_all(&command(b"READY", b"\x0bSocket-Type\x00\x00\x00\x04XPUB")).await?;
    match frame(reader).await? {
        (flags, body) if flags & COMMAND != 0 && body.starts_with(b"\x05READY") => Ok(()),
        (_, body) => Err(malformed(format!("its handshake is `{}`", body.escape_ascii()))),
    }
}

async fn frame(reader: &mut (impl AsyncRead + Unpin)) -> io::Result<(u8, Bytes)> {
    let flags = reader.read_u8().await?;
    let length = if flags & LONG != 0 { reader.read_u64().await? } else { u64::from(reader.read_u8().await?) };
    if length > LONGEST {
        return Err(malformed(format!("a subscriber sent a frame of {length} bytes")));
    }
    let mut body = vec![0; length as usize];
    reader.read_exact(&mut body).await?;
    Ok((flags, body.into()))
}

/// The next thing that a subscriber sends. A subscription is a message that begins with 1 (0 ends it), or from ZMTP 3.1
/// on a command.
pub async fn read(reader: &mut (impl AsyncRead + Unpin)) -> io::Result<SubscriberMessage> {
    let (flags, body) = frame(reader).await?;
    if flags & COMMAND == 0 {
        return Ok(match body.first() {
            Some(1) => SubscriberMessage::Subscribe(body.slice(1..)),
            Some(0) => SubscriberMessage::Cancel(body.slice(1..)),
            _ => SubscriberMessage::Other,
        });
    }
    let name = usize::from(body.first().copied().unwrap_or(0));
    let rest = body.slice((1 + name).min(body.len())..);
    Ok(match body.get(1..1 + name) {
        Some(b"SUBSCRIBE") => SubscriberMessage::Subscribe(rest),
        Some(b"CANCEL") => SubscriberMessage::Cancel(rest),
        // Two bytes say for how long it waits.
        Some(b"PING") if rest.len() >= 2 => SubscriberMessage::Ping(rest.slice(2..)),
        _ => SubscriberMessage::Other,
    })
}

pub fn pong(context: &[u8]) -> Bytes {
    command(b"PONG", context)
}

fn command(name: &[u8], data: &[u8]) -> Bytes {
    let mut body = BytesMut::with_capacity(1 + name.len() + data.len());
    body.put_u8(name.len() as u8);
    body.put_slice(name);
    body.put_slice(data);
    let mut out = BytesMut::with_capacity(body.len() + 9);
    put_frame(&mut out, COMMAND, &body);
    out.freeze()
}

/// All frames of a message, as they are written.
pub fn message(frames: &ZmqMessage) -> Bytes {
    let mut out = BytesMut::with_capacity(frames.iter().map(|frame| frame.len() + 9).sum());
    for (index, frame) in frames.iter().enumerate() {
        put_frame(&mut out, if index + 1 < frames.len() { MORE } else { 0 }, frame);
    }
    out.freeze()
}

fn put_frame(out: &mut BytesMut, flags: u8, body: &[u8]) {
    match u8::try_from(body.len()) {
        Ok(length) => out.put_slice(&[flags, length]),
        Err(_) => {
            out.put_u8(flags | LONG);
            out.put_u64(body.len() as u64);
        }
    }
    out.put_slice(body);
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn received(bytes: &[u8]) -> io::Result<SubscriberMessage> {
        read(&mut &bytes[..]).await
    }

    /// Bytes by hand from RFC 23 and RFC 37.
    #[tokio::test]
    async fn what_subscribers_send() {
        let topic = |text: &'static str| Bytes::from_static(text.as_bytes());
        assert_eq!(received(b"\x00\x04\x01abc").await.unwrap(), SubscriberMessage::Subscribe(topic("abc")));
        assert_eq!(received(b"\x00\x01\x01").await.unwrap(), SubscriberMessage::Subscribe(topic("")));
        assert_eq!(received(b"\x00\x02\x00a").await.unwrap(), SubscriberMessage::Cancel(topic("a")));
        assert_eq!(received(b"\x04\x0c\x09SUBSCRIBEab").await.unwrap(), SubscriberMessage::Subscribe(topic("ab")));
        assert_eq!(received(b"\x04\x07\x06CANCEL").await.unwrap(), SubscriberMessage::Cancel(topic("")));
        assert_eq!(received(b"\x04\x09\x04PING\x00\x0axy").await.unwrap(), SubscriberMessage::Ping(topic("xy")));
        for other in [&b"\x00\x00"[..], b"\x00\x01\x07", b"\x04\x00", b"\x04\x02\x09S"] {
            assert_eq!(received(other).await.unwrap(), SubscriberMessage::Other, "{other:?}");
        }
        assert!(received(b"\x02\x00\x00\x00\x01\x00\x00\x00\x00").await.is_err(), "four GB");
        assert!(received(b"\x00\x04\x01").await.is_err(), "it ends early");
    }

    #[test]
    fn frames_have_short_and_long_lengths() {
        let mut frames = ZmqMessage::from(Bytes::from_static(b"t"));
        frames.push_back(Bytes::from(vec![7; 300]));
        let bytes = message(&frames);
        assert_eq!(bytes[..3], *b"\x01\x01t");
        assert_eq!(bytes[3..12], [2, 0, 0, 0, 0, 0, 0, 1, 44]);
        assert_eq!(bytes.len(), 12 + 300);
        assert_eq!(pong(b"xy")[..], *b"\x04\x07\x04PONGxy");
    }
}
