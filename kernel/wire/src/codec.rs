//! Length-prefixed messages: four bytes of length (little endian), then postcard. Blocking; the asynchronous side of a
//! socket uses [`encode`] and [`decode`] with its own reads.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Longest message that is accepted. Bulk data does not travel in messages but in shared memory.
pub const MAX_MESSAGE: usize = 256 << 20;

/// Bytes of a body that are read first; then as many again as there are.
const FIRST_PIECE: usize = 256 << 10;

#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    #[error("the other process closed the connection")]
    Closed,
    #[error("a message of {0} bytes is longer than the limit of {MAX_MESSAGE} bytes")]
    TooLong(usize),
    #[error("a message could not be encoded")]
    Encode(#[source] postcard::Error),
    #[error("a message could not be decoded: the two processes are of different builds, or the bytes are damaged")]
    Decode(#[source] postcard::Error),
    #[error("the rest of a message did not come in time")]
    Late,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// One message with its length in front.
pub fn encode<T: Serialize>(message: &T) -> Result<Vec<u8>, CodecError> {
    let mut bytes = postcard::to_extend(message, vec![0u8; 4]).map_err(CodecError::Encode)?;
    let length = bytes.len() - 4;
    if length > MAX_MESSAGE {
        return Err(CodecError::TooLong(length));
    }
    bytes[..4].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(bytes)
}

/// A value's bytes, of any length: equal values have equal ones.
pub fn content<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).expect("the types of messages have no maps, and lists of known lengths")
}

/// A message from its body, without the length.
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, CodecError> {
    postcard::from_bytes(body).map_err(CodecError::Decode)
}

/// The body's length from the four bytes in front of it; refuses what is over the limit before anything is allocated.
pub fn body_length(prefix: [u8; 4]) -> Result<usize, CodecError> {
    let length = u32::from_le_bytes(prefix) as usize;
    if length > MAX_MESSAGE { Err(CodecError::TooLong(length)) } else { Ok(length) }
}

pub fn write_message<T: Serialize>(out: &mut impl Write, message: &T) -> Result<(), CodecError> {
    out.write_all(&encode(message)?)?;
    out.flush()?;
    Ok(())
}

/// The next message; [`CodecError::Closed`] at a clean end of the stream.
pub fn read_message<T: DeserializeOwned>(input: &mut impl Read) -> Result<T, CodecError> {
    let length = read_length(input)?;
    decode(&read_body(input, length)?)
}

/// The length of the next message.
pub fn read_length(input: &mut impl Read) -> Result<usize, CodecError> {
    let mut prefix = [0u8; 4];
    let mut got = 0;
    while got < 4 {
        match input.read(&mut prefix[got..]) {
            Ok(0) if got == 0 => return Err(CodecError::Closed),
            Ok(0) => return Err(CodecError::Io(io::ErrorKind::UnexpectedEof.into())),
            Ok(n) => got += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) if e.kind() == io::ErrorKind::ConnectionReset && got == 0 => return Err(CodecError::Closed),
            Err(e) => return Err(e.into()),
        }
    }
    body_length(prefix)
}

/// Reads the body of a message. Memory is allocated as bytes arrive, because the announced length may be wrong.
pub fn read_body(input: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    while body.len() < length {
        let piece = FIRST_PIECE.max(body.len()).min(length - body.len());
        body.reserve_exact(piece);
        let from = body.len();
        body.resize(from + piece, 0);
        input.read_exact(&mut body[from..])?;
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_and_the_end_is_clean() {
        let mut bytes = Vec::new();
        write_message(&mut bytes, &("flights".to_string(), 336_776u64)).unwrap();
        write_message(&mut bytes, &("".to_string(), 0u64)).unwrap();
        let mut input = bytes.as_slice();
        assert_eq!(read_message::<(String, u64)>(&mut input).unwrap(), ("flights".to_string(), 336_776));
        assert_eq!(read_message::<(String, u64)>(&mut input).unwrap(), (String::new(), 0));
        assert!(matches!(read_message::<(String, u64)>(&mut input), Err(CodecError::Closed)));
    }

    #[test]
    fn a_cut_message_and_an_absurd_length_are_errors() {
        let bytes = encode(&"hello").unwrap();
        assert!(matches!(read_message::<String>(&mut &bytes[..5]), Err(CodecError::Io(_))));
        assert!(matches!(read_message::<String>(&mut &[0xff, 0xff, 0xff, 0xff, 0][..]), Err(CodecError::TooLong(_))));
        assert!(decode::<String>(&[200]).is_err());
    }
}
