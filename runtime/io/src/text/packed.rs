//! Compressed files, and files that are no text at all, by their first bytes; the name of a file says nothing.

use std::io::{Cursor, Read};
use std::path::Path;

use onrush_frame::TaskHandle;
use onrush_wire::limits::size;
use onrush_wire::plan::{FILE_KINDS, FileKind};
use onrush_wire::{Class, Diagnostic};
use zip::ZipArchive;
use zip::result::ZipError;

use crate::memory::Reservation;

/// Unpacked at a time, so that a stop is noticed.
const STEP: usize = 8 << 20;
/// The highest ratio of the unpacked to the packed size. Tables of text have 3 to 30, and gzip ends at about 1,000.
const RATIO: usize = 200;
/// Bytes that are unpacked whatever the packed file's size.
const MOST_UNPACKED: usize = 256 << 20;
/// Files of an archive that an error lists.
const LISTED: usize = 10;

/// The compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Gzip,
    Zstd,
    Bzip2,
    Zip,
}

impl Packing {
    fn of(bytes: &[u8]) -> Option<Packing> {
        match bytes {
            [0x1f, 0x8b, ..] => Some(Packing::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Packing::Zstd),
            // The magic bytes of the file and of its first block, or of its end.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, ..]
            | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, ..] => Some(Packing::Bzip2),
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Some(Packing::Zip),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip file",
            Packing::Zstd => "zstd file",
            Packing::Bzip2 => "bzip2 file",
            Packing::Zip => "zip archive",
        }
    }

    fn program(self) -> &'static str {
        match self {
            Packing::Gzip => "gunzip",
            Packing::Zstd => "unzstd",
            Packing::Bzip2 => "bunzip2",
            Packing::Zip => "unzip",
        }
    }
}

/// The text of a compressed file; `None` if it is not compressed. The bytes count as taken.
///
/// # Errors
/// A damaged file, an archive of several files or none, a text that is too large.
pub(super) fn unpacked(
    path: &Path,
    packed: &[u8],
    taken: &Reservation<'_>,
    task: &TaskHandle,
) -> Result<Option<Vec<u8>>, Diagnostic> {
    let Some(packing) = Packing::of(packed) else { return Ok(None) };
    let all = |reader: &mut dyn Read, plain: usize| read_all(path, packing, (packed.len(), plain), reader, taken, task);
    let failed = |e: std::io::Error| damaged(path, packing, &e.to_string());
    match packing {
        Packing::Gzip => {
            // The last four bytes of a member are its size, modulo 2^32.
            let size = packed.last_chunk().map_or(0, |size| u32::from_le_bytes(*size));
            all(&mut flate2::read::MultiGzDecoder::new(packed), size as usize)
        }
        Packing::Zstd => all(&mut zstd::stream::read::Decoder::with_buffer(packed).map_err(failed)?, 0),
        Packing::Bzip2 => all(&mut bzip2::bufread::MultiBzDecoder::new(packed), 0),
        Packing::Zip => {
            // A workbook is a zip archive, too.
            if let Some(error) = office(path, packed) {
                return Err(error);
            }
            let mut archive = ZipArchive::new(Cursor::new(packed)).map_err(|e| zip_error(path, &e))?;
            let index = only_file(path, &mut archive)?;
            let mut file = archive.by_index(index).map_err(|e| zip_error(path, &e))?;
            let size = usize::try_from(file.size()).unwrap_or(usize::MAX);
            all(&mut file, size)
        }
    }
    .map(Some)
}

/// `expected`: the size that the file claims, or 0. Room for it is taken at once.
fn read_all(
    path: &Path,
    packing: Packing,
    (packed, expected): (usize, usize),
    reader: &mut dyn Read,
    taken: &Reservation<'_>,
    task: &TaskHandle,
) -> Result<Vec<u8>, Diagnostic> {
    let mut plain: Vec<u8> = Vec::new();
    let most = MOST_UNPACKED.max(packed.saturating_mul(RATIO));
    loop {
        task.check()?;
        // By what a vector grows anyway, so that what is taken is what is there. While it grows, its bytes are there
        // twice.
        let first = if plain.is_empty() && expected <= most { expected + 1 } else { 0 };
        let (room, moved) = (STEP.max(plain.len() / 2).max(first), plain.len() as u64);
        taken.take(path, room as u64 + moved)?;
        plain.try_reserve_exact(room).map_err(|e| {
            let message = format!("`{}` unpacks to more than {}: {e}", path.display(), size(plain.len() as u64));
            Diagnostic::error(Class::Resources, "out-of-memory", message)
        })?;
        taken.give_back(moved);
        let before = plain.len();
        let got = reader.take(room as u64).read_to_end(&mut plain);
        got.map_err(|e| damaged(path, packing, &e.to_string()))?;
        if plain.len() > most {
            return Err(Diagnostic::error(
                Class::Data,
                "unpacks-too-large",
                format!(
                    "`{}` has {} and unpacks to more than {}: more than {RATIO} times as much is not read",
                    path.display(),
                    size(packed as u64),
                    size(most as u64)
                ),
            )
            .help(format!("if the file is what you expect, unpack it first (`{}`) and read that", packing.program())));
        }
        if plain.len() - before < room {
            return Ok(plain);
        }
    }
}

fn damaged(path: &Path, packing: Packing, why: &str) -> Diagnostic {
    Diagnostic::error(
        Class::Data,
        "damaged-file",
        format!("`{}` is not a complete {}: {why}", path.display(), packing.name()),
    )
    .help("the file was cut off or damaged on the way: fetch it again")
}

fn zip_error(path: &Path, error: &ZipError) -> Diagnostic {
    match error {
        ZipError::UnsupportedArchive(_) | ZipError::CompressionMethodNotSupported(_) => Diagnostic::error(
            Class::Data,
            "unsupported-archive",
            format!("`{}` is a zip archive that cannot be read: {error}", path.display()),
        )
        .help("unpack it first (`unzip`) and read the file"),
        other => damaged(path, Packing::Zip, &other.to_string()),
    }
}

/// The index of the one file in an archive. Folders, and what macOS adds, do not count.
fn only_file(path: &Path, archive: &mut ZipArchive<Cursor<&[u8]>>) -> Result<usize, Diagnostic> {
    let mut files: Vec<(usize, String)> = Vec::new();
    for index in 0..archive.len() {
        let name = match archive.name_for_index(index) {
            Some(Ok(name)) => name.into_owned(),
            _ => format!("file {}", index + 1),
        };
        let hidden = name.starts_with("__MACOSX/") || name.rsplit('/').next().is_some_and(|n| n.starts_with('.'));
        if !name.ends_with('/') && !hidden {
            files.push((index, name));
        }
    }
    if let [(index, _)] = files.as_slice() {
        return Ok(*index);
    }
    if files.is_empty() {
        let message = format!("the zip archive `{}` holds no file", path.display());
        return Err(Diagnostic::error(Class::Data, "empty-file", message).help("check that it was written to its end"));
    }
    let listed = files.iter().take(LISTED).map(|(_, name)| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let more = files.len().saturating_sub(LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Err(Diagnostic::error(
        Class::Data,
        "several-files",
        format!(
            "the zip archive `{}` holds {} files, and one can be read: {listed}{more}",
            path.display(),
            files.len()
        ),
    )
    .help("unpack it (`unzip`) and read the files that you need, with `*` in the path for several"))
}

/// The error for a zip archive that is a workbook or another document.
fn office(path: &Path, bytes: &[u8]) -> Option<Diagnostic> {
    let head = &bytes[..bytes.len().min(4096)];
    let has = |name: &[u8]| memchr::memmem::find(head, name).is_some();
    let kind = if has(b"opendocument.spreadsheet") {
        FileKind::OpenDocument
    } else if has(b"xl/") || (has(b"[Content_Types].xml") && !has(b"word/") && !has(b"ppt/")) {
        FileKind::Excel
    } else {
        return None;
    };
    Some(not_text(path, kind.name(), &kind.help()))
}

fn not_text(path: &Path, what: &str, help: &str) -> Diagnostic {
    Diagnostic::error(Class::Data, "not-text", format!("`{}` is {what}, not a text file", path.display())).help(help)
}

/// Magic bytes of files that no reader reads, the name of the kind, and the help.
const FOREIGN: &[(&[u8], &str, &str)] = &[
    (b"SQLite format 3\0", "a SQLite database", "export the table as CSV or Parquet, and read that"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", "write it as Parquet with the program that made it, and read that"),
    (b"\x93NUMPY", "a NumPy array", "write it as Parquet or CSV, and read that"),
    (b"\xfd7zXZ\0", "an xz file", "xz is not read: unpack it first (`unxz`), or compress it with zstd or gzip"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "7z is not read: unpack it first, or compress it with zstd or gzip"),
    (
        b"\x04\x22\x4d\x18",
        "an LZ4 file",
        "LZ4 is not read: unpack it first (`unlz4`), or compress it with zstd or gzip",
    ),
    (b"Rar!\x1a\x07", "a RAR archive", "RAR is not read: unpack it first, or compress it with zstd or gzip"),
    (b"%PDF-", "a PDF document", "copy its table into a CSV file, and read that"),
];

/// The error for a file that is known not to be text.
pub(super) fn foreign(path: &Path, bytes: &[u8]) -> Option<Diagnostic> {
    if let Some((_, what, help)) = FOREIGN.iter().find(|(magic, _, _)| bytes.starts_with(magic)) {
        return Some(not_text(path, what, help));
    }
    let formats = FILE_KINDS.iter().filter(|info| info.format.is_some());
    let mut starts = formats.flat_map(|info| info.starts.iter().map(move |start| (info.kind, *start)));
    if let Some((kind, start)) = starts.find(|(_, start)| bytes.starts_with(start))
        && !goes_on_as_text(start, bytes)
    {
        return Some(not_text(path, kind.name(), &kind.help()));
    }
    let head = bytes[..bytes.len().min(256)].trim_ascii_start().to_ascii_lowercase();
    (head.starts_with(b"<!doctype html") || head.starts_with(b"<html")).then(|| {
        let help = "an error page may have been saved in place of the file: fetch it again";
        Diagnostic::error(Class::Data, "not-text", format!("`{}` is an HTML page, not a table", path.display()))
            .help(help)
    })
}

/// Whether magic bytes that are letters are the start of a word or of a line: a header can begin with `ORC` or
/// `PARENT`.
fn goes_on_as_text(start: &[u8], bytes: &[u8]) -> bool {
    let is_text = |byte: &u8| (b' '..0x7f).contains(byte) || b"\t\r\n".contains(byte);
    start.iter().all(is_text) && bytes.get(start.len()).is_some_and(is_text)
}
