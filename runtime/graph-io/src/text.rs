//! Bytes of files: decompression, UTF-8, lines.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use crate::error::{Error, Fault};

/// Bytes that a compressed file may have after decompression: 1 MB can hide 1 GB of zeros.
const MOST_DECOMPRESSED_BYTES: u64 = 2 << 30;

fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

/// The content of a file, decompressed if its name ends in `.gz`.
pub(crate) fn load(path: &Path) -> Result<Vec<u8>, Error> {
    load_up_to(path, MOST_DECOMPRESSED_BYTES)
}

/// The content of a file, decompressed to at most so many bytes.
pub fn load_up_to(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let failed = |error| Error::io("read", path, error);
    if !is_compressed(path) {
        return std::fs::read(path).map_err(failed);
    }
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    MultiGzDecoder::new(BufReader::new(file)).take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit {
        let message = format!("decompressed, it has more than {} MiB, the limit", limit >> 20);
        return Err(Fault::limit(message).help("decompress the file before reading it").at_path(path));
    }
    Ok(bytes)
}

/// The bytes of a file: compressed if its name ends in `.gz`.
pub(crate) fn encode(path: &Path, text: String) -> Result<Vec<u8>, Error> {
    if !is_compressed(path) {
        return Ok(text.into_bytes());
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish()).map_err(|error| Error::io("write", path, error))
}

/// The text of a file, without a byte order mark.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, Fault> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
        let message = match utf16 {
            true => "the file is UTF-16, expected UTF-8".to_string(),
            false => format!("found the byte 0x{:02x}, expected UTF-8", bytes[at]),
        };
        Fault::file(line_of(bytes, at), message).help("convert the file, for example with `iconv -t utf-8`")
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// The line of a byte, counted from 1.
pub(crate) fn line_of(bytes: &[u8], at: usize) -> usize {
    memchr::memchr_iter(b'\n', &bytes[..at.min(bytes.len())]).count() + 1
}

/// The lines of a text with their numbers, counted from 1.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines())
}
