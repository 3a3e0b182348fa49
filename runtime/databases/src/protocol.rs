//! The protocol of the engine and the driver process over a socket: one [`Order`], rows as an Arrow IPC stream in
//! pieces, and the outcome.

use std::io::{self, Read, Write};

use onrush_wire::codec;
use onrush_wire::plan::IfExists;
use serde::{Deserialize, Serialize};

use crate::address::Setting;
use crate::drivers::DriverFile;
use crate::error::Failure;

/// The role of `onrush-session` that is a driver process.
pub const ROLE: &str = "driver";

/// The only message to a driver process. The rows to write follow it as an Arrow IPC stream.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    pub driver: DriverFile,
    /// Options that open the database.
    pub settings: Vec<Setting>,
    pub work: Work,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Work {
    Query {
        query: String,
        /// A statement that runs before it.
        before: Option<String>,
    },
    Insert {
        table: String,
        if_exists: IfExists,
    },
}

/// A piece of an answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    /// Bytes of the stream of rows.
    Rows(Vec<u8>),
    Done,
    Failed(Failure),
}

/// Bytes of the longest piece.
const LONGEST: usize = 4 << 20;
const ROWS: u8 = 1;
const DONE: u8 = 2;
const FAILED: u8 = 3;

/// The pieces of rows on their way out. Written bytes go into pieces.
pub struct Pieces<W: Write> {
    out: W,
}

impl<W: Write> Pieces<W> {
    pub fn new(out: W) -> Self {
        Pieces { out }
    }

    /// Says how it ended.
    pub fn end(&mut self, result: &Result<(), Failure>) -> io::Result<()> {
        match result {
            Ok(()) => self.piece(DONE, &[]),
            Err(failure) => self.piece(FAILED, &codec::content(failure)),
        }
    }

    fn piece(&mut self, kind: u8, bytes: &[u8]) -> io::Result<()> {
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        let mut head = [kind, 0, 0, 0, 0];
        head[1..].copy_from_slice(&length.to_le_bytes());
        self.out.write_all(&head)?;
        self.out.write_all(bytes)
    }
}

impl<W: Write> Write for Pieces<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(LONGEST);
        if taken > 0 {
            self.piece(ROWS, &bytes[..taken])?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The next piece.
///
/// # Errors
/// If the other end has closed, or says something else.
pub fn next(input: &mut impl Read) -> io::Result<Piece> {
    let mut head = [0u8; 5];
    input.read_exact(&mut head)?;
    let strange = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what);
    let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
    if length > LONGEST {
        return Err(strange("a piece that is too long"));
    }
    let mut bytes = vec![0; length];
    input.read_exact(&mut bytes)?;
    match head[0] {
        ROWS => Ok(Piece::Rows(bytes)),
        DONE => Ok(Piece::Done),
        FAILED => codec::decode(&bytes).map(Piece::Failed).map_err(|_| strange("a failure that cannot be read")),
        _ => Err(strange("a piece of no kind")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Stage;

    #[test]
    fn pieces_come_back() {
        let mut bytes = Vec::new();
        let mut out = Pieces::new(&mut bytes);
        let long = vec![7u8; LONGEST + 1];
        out.write_all(&long).unwrap();
        out.end(&Ok(())).unwrap();
        let failure = Failure::new(Stage::Query, "no such table: t");
        out.end(&Err(failure.clone())).unwrap();
        let mut input = bytes.as_slice();
        assert_eq!(next(&mut input).unwrap(), Piece::Rows(long[1..].to_vec()));
        assert_eq!(next(&mut input).unwrap(), Piece::Rows(vec![7]));
        assert_eq!(next(&mut input).unwrap(), Piece::Done);
        assert_eq!(next(&mut input).unwrap(), Piece::Failed(failure));
        assert_eq!(next(&mut input).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(next(&mut &[9u8, 0, 0, 0, 0][..]).is_err() && next(&mut &[1u8, 255, 255, 255, 255][..]).is_err());
    }
}
