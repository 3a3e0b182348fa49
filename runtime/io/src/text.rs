//! The bytes of a text file: unpacked, without byte order mark, known to be UTF-8.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use onrush_frame::TaskHandle;
use onrush_wire::limits::size;
use onrush_wire::{Class, Diagnostic};

use crate::cache::{FileState, io_diagnostic};
use crate::memory::Reservation;

/// Read at a time, so that progress shows and a stop is noticed.
const STEP: usize = 8 << 20;
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// How many times its size a packed file may have: tables of text have 3 to 30 times as much, and gzip ends at about 1,000.
const RATIO: usize = 200;
/// Bytes that are unpacked whatever the packed file's size.
const MOST_UNPACKED: usize = 256 << 20;

/// The whole text of a file; `.gz` is unpacked, by its first bytes, not its name.
///
/// The bytes count as taken.
pub(crate) fn load(file: &FileState, taken: &Reservation<'_>, task: &TaskHandle) -> Result<Vec<u8>, Diagnostic> {
    let path = &file.path;
    taken.take(path, file.bytes)?;
    let mut bytes = read_all(path, file.bytes, task)?;
    if bytes.starts_with(&GZIP) {
        bytes = unpacked(path, &bytes, taken, task)?;
        taken.give_back(file.bytes);
    }
    if let Some(encoding) = foreign(&bytes) {
        return Err(Diagnostic::error(
            Class::Data,
            "not-utf8",
            format!("`{}` is written in {encoding}, not in UTF-8", path.display()),
        )
        .help(format!("re-encode it: iconv -f {encoding} -t UTF-8 {} > utf8.csv", crate::paths::short(path))));
    }
    if bytes.starts_with(&[0xef, 0xbb, 0xbf]) {
        bytes.drain(..3);
    }
    task.check()?;
    if let Err(error) = std::str::from_utf8(&bytes) {
        return Err(bad_utf8(path, &bytes, error.valid_up_to()));
    }
    Ok(bytes)
}

fn unpacked(path: &Path, packed: &[u8], taken: &Reservation<'_>, task: &TaskHandle) -> Result<Vec<u8>, Diagnostic> {
    let mut decoder = flate2::read::MultiGzDecoder::new(packed);
    let mut plain: Vec<u8> = Vec::new();
    let most = MOST_UNPACKED.max(packed.len().saturating_mul(RATIO));
    loop {
        task.check()?;
        // By what a vector grows anyway, so that what is taken is what is there.
        let room = STEP.max(plain.len() / 2);
        taken.take(path, room as u64)?;
        plain.try_reserve_exact(room).map_err(|e| {
            let message = format!("`{}` unpacks to more than {}: {e}", path.display(), size(plain.len() as u64));
            Diagnostic::error(Class::Resources, "out-of-memory", message)
        })?;
        let before = plain.len();
        decoder.by_ref().take(room as u64).read_to_end(&mut plain).map_err(|e| {
            Diagnostic::error(
                Class::Data,
                "damaged-file",
                format!("`{}` is not a complete gzip file: {e}", path.display()),
            )
            .help("the file was cut off or damaged on the way: fetch it again")
        })?;
        if plain.len() > most {
            return Err(Diagnostic::error(
                Class::Data,
                "unpacks-too-large",
                format!(
                    "`{}` has {} and unpacks to more than {}: more than {RATIO} times as much is not read",
                    path.display(),
                    size(packed.len() as u64),
                    size(most as u64)
                ),
            )
            .help("if the file is what you expect, unpack it first (`gunzip`) and read that"));
        }
        if plain.len() - before < room {
            return Ok(plain);
        }
    }
}

fn read_all(path: &Path, size: u64, task: &TaskHandle) -> Result<Vec<u8>, Diagnostic> {
    let failed = |e: std::io::Error| io_diagnostic("read", path, &e);
    let mut file = File::open(path).map_err(failed)?;
    let too_large = |there: u64| {
        Diagnostic::error(
            Class::Resources,
            "out-of-memory",
            format!("`{}` has {} MB, and {} MB of memory are free", path.display(), size >> 20, there >> 20),
        )
        .help("a text file is read whole: split it, or turn it into Parquet once, which is read piece by piece")
    };
    // The text and about as much again for its columns. An allocation alone would succeed: memory is given when it is used.
    if let Some(free) = free_memory().filter(|free| size.saturating_mul(2) > *free) {
        return Err(too_large(free));
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size as usize + 1).map_err(|_| too_large(0))?;
    loop {
        task.check()?;
        let got = file.by_ref().take(STEP as u64).read_to_end(&mut bytes).map_err(failed)?;
        task.add_bytes(got as u64);
        if got == 0 {
            return Ok(bytes);
        }
    }
}

/// What the machine could give now without swapping; `None` where that cannot be asked.
fn free_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|l| l.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|k| k << 10)
}

/// The encoding that a byte order mark announces, other than UTF-8.
fn foreign(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xff, 0xfe, 0, 0, ..] => Some("UTF-32LE"),
        [0xff, 0xfe, ..] => Some("UTF-16LE"),
        [0xfe, 0xff, ..] => Some("UTF-16BE"),
        _ => None,
    }
}

fn bad_utf8(path: &Path, bytes: &[u8], at: usize) -> Diagnostic {
    let start = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |i| i + 1);
    let line = 1 + memchr::memchr_iter(b'\n', &bytes[..at]).count();
    let before = String::from_utf8_lossy(&bytes[start..at]);
    let column = before.chars().count() + 1;
    let end = (at + 30).min(bytes.len());
    let after = String::from_utf8_lossy(&bytes[at..end]);
    let shown: String = before.chars().rev().take(30).collect::<Vec<_>>().into_iter().rev().collect();
    let after = after.lines().next().unwrap_or_default();
    let name = crate::paths::short(path);
    Diagnostic::error(
        Class::Data,
        "not-utf8",
        format!(
            "`{}` is not UTF-8: byte 0x{:02x} in line {line}, column {column} (byte {at} of the file)",
            path.display(),
            bytes[at]
        ),
    )
    .note(format!("there it says `{shown}{after}`"))
    .help(format!("re-encode it, for example: iconv -f WINDOWS-1252 -t UTF-8 {name} > utf8-{name}"))
}

/// The line number of a byte, from 1.
pub(crate) fn line_of(bytes: &[u8], at: usize) -> usize {
    1 + memchr::memchr_iter(b'\n', &bytes[..at.min(bytes.len())]).count()
}

/// A piece of a line for a message: at most 80 characters, no line breaks.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(400)]).replace(['\n', '\r'], "⏎");
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
