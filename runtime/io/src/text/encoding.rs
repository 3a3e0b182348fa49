//! Files of other encodings, turned into UTF-8.

use std::borrow::Cow;
use std::path::Path;

use encoding_rs::{CoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};
use onrush_frame::TaskHandle;
use onrush_wire::{Class, Diagnostic};

use crate::memory::Reservation;

/// Decoded at a time, so that a stop is noticed.
const STEP: usize = 4 << 20;

/// An encoding that the user named, or a byte order mark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Charset {
    Utf8,
    /// UTF-8 in which other bytes are replaced by U+FFFD.
    Lossy,
    /// ISO 8859-1: each byte is the code point of that number. `Encoding` takes Windows-1252 for it.
    Latin1,
    Other(&'static Encoding),
}

impl Charset {
    /// An encoding by its name in Python, in Polars or on the web.
    ///
    /// # Errors
    /// A name that is not known.
    pub fn named(name: &str) -> Result<Charset, Diagnostic> {
        let plain = name.trim().to_ascii_lowercase().replace('_', "-");
        Ok(match plain.as_str() {
            "utf-8" | "utf8" | "utf-8-sig" | "ascii" | "us-ascii" => Charset::Utf8,
            "utf8-lossy" | "utf-8-lossy" => Charset::Lossy,
            "latin1" | "latin-1" | "l1" | "iso-8859-1" | "iso8859-1" | "iso88591" => Charset::Latin1,
            "utf16" | "utf-16-le" => Charset::Other(UTF_16LE),
            "utf-16-be" => Charset::Other(UTF_16BE),
            other => {
                let windows = other.strip_prefix("cp").filter(|n| n.len() == 4).map(|n| format!("windows-{n}"));
                let label = windows.as_deref().unwrap_or(other);
                match Encoding::for_label(label.as_bytes()).or_else(|| Encoding::for_label(other.as_bytes())) {
                    Some(encoding) if encoding == UTF_8 => Charset::Utf8,
                    Some(encoding) => Charset::Other(encoding),
                    None => return Err(unknown(name)),
                }
            }
        })
    }

    /// The encoding of a byte order mark, other than that of UTF-8.
    pub fn marked(bytes: &[u8]) -> Option<Charset> {
        match bytes {
            // UTF-32 starts as UTF-16 does.
            [0xff, 0xfe, 0, 0, ..] => None,
            [0xff, 0xfe, ..] => Some(Charset::Other(UTF_16LE)),
            [0xfe, 0xff, ..] => Some(Charset::Other(UTF_16BE)),
            _ => None,
        }
    }
}

fn unknown(name: &str) -> Diagnostic {
    Diagnostic::error(Class::Plan, "bad-option", format!("there is no encoding `{name}`"))
        .help("use utf-8, utf8-lossy, latin1, windows-1252, utf-16, shift_jis, gbk, euc-kr, or another name of the web")
}

/// The text in UTF-8. `None` if it is in UTF-8 by its encoding.
///
/// # Errors
/// Bytes that are nothing in the encoding; not enough memory.
pub(super) fn decoded(
    path: &Path,
    bytes: &[u8],
    charset: Charset,
    taken: &Reservation<'_>,
    task: &TaskHandle,
) -> Result<Option<Vec<u8>>, Diagnostic> {
    match charset {
        Charset::Utf8 => Ok(None),
        Charset::Lossy => match String::from_utf8_lossy(bytes) {
            Cow::Borrowed(_) => Ok(None),
            Cow::Owned(text) => {
                taken.take(path, text.len() as u64)?;
                Ok(Some(text.into_bytes()))
            }
        },
        Charset::Latin1 => {
            let length = bytes.len() + bytes.iter().filter(|b| !b.is_ascii()).count();
            let mut text = room(path, length, taken)?;
            let mut buffer = vec![0; 2 << 16];
            for step in bytes.chunks(1 << 16) {
                task.check()?;
                let written = encoding_rs::mem::convert_latin1_to_utf8(step, &mut buffer);
                text.extend_from_slice(&buffer[..written]);
            }
            Ok(Some(text))
        }
        Charset::Other(encoding) => by_decoder(path, bytes, encoding, taken, task).map(Some),
    }
}

fn room(path: &Path, bytes: usize, taken: &Reservation<'_>) -> Result<Vec<u8>, Diagnostic> {
    taken.take(path, bytes as u64)?;
    let mut text = Vec::new();
    text.try_reserve_exact(bytes).map_err(|e| {
        let message = format!("`{}` does not fit into memory when it is decoded: {e}", path.display());
        Diagnostic::error(Class::Resources, "out-of-memory", message)
    })?;
    Ok(text)
}

fn by_decoder(
    path: &Path,
    bytes: &[u8],
    encoding: &'static Encoding,
    taken: &Reservation<'_>,
    task: &TaskHandle,
) -> Result<Vec<u8>, Diagnostic> {
    // Removes a byte order mark.
    let mut decoder = encoding.new_decoder_with_bom_removal();
    let mut text = room(path, bytes.len() + bytes.len() / 4 + 16, taken)?;
    let mut buffer = vec![0; 1 << 16];
    let mut at = 0;
    let mut mistakes = 0;
    loop {
        if at % STEP < buffer.len() {
            task.check()?;
        }
        let (result, read, written, mistake) = decoder.decode_to_utf8(&bytes[at..], &mut buffer, true);
        at += read;
        mistakes += usize::from(mistake);
        if mistakes > 0 {
            return Err(Diagnostic::error(
                Class::Data,
                "bad-encoding",
                format!("`{}` is not {}: about byte {at} of the file", path.display(), encoding.name()),
            )
            .help("the file may have another encoding: csv().encoding(\"windows-1252\") takes every byte"));
        }
        if text.capacity() - text.len() < written {
            let more = text.len() / 2 + written;
            taken.take(path, more as u64)?;
            text.try_reserve_exact(more).map_err(|e| {
                let message = format!("`{}` does not fit into memory when it is decoded: {e}", path.display());
                Diagnostic::error(Class::Resources, "out-of-memory", message)
            })?;
        }
        text.extend_from_slice(&buffer[..written]);
        if result == CoderResult::InputEmpty {
            return Ok(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::NoLimit;

    /// Expected values: Python's `bytes.decode`.
    #[test]
    fn encodings_by_name() {
        let decode = |name: &str, bytes: &[u8]| {
            let charset = Charset::named(name).unwrap();
            let text = decoded(Path::new("x"), bytes, charset, &Reservation::new(&NoLimit), &TaskHandle::new());
            String::from_utf8(text.unwrap().unwrap()).unwrap()
        };
        assert_eq!(decode("latin1", b"Jos\xe9 \x92"), "José \u{92}");
        assert_eq!(decode("windows-1252", b"\x80 Jos\xe9 \x92"), "€ José ’");
        assert_eq!(decode("cp1251", b"\xcf\xf0\xe8\xe2\xe5\xf2"), "Привет");
        assert_eq!(decode("utf_16", b"\xff\xfea\0\xe9\0"), "aé");
        assert_eq!(decode("utf-16-be", b"\0a\0\xe9"), "aé");
        assert_eq!(decode("Shift_JIS", b"\x93\xfa\x96{"), "日本");
        assert_eq!(decode("utf8-lossy", b"a\xffb"), "a\u{fffd}b");
        assert!(Charset::named("klingon").is_err());
    }
}
