//! The bytes of a text file: unpacked, without byte order mark, known to be UTF-8.

mod encoding;
mod packed;

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use onrush_frame::{CancelError, TaskHandle};
use onrush_wire::{Class, Diagnostic};
use parking_lot::Mutex;

use crate::file::{FileState, io_diagnostic};
use crate::memory::Reservation;
use crate::pieces::Division;
pub(crate) use encoding::Charset;

/// Read at a time, so that progress shows and a stop is noticed.
const STEP: usize = 8 << 20;
/// Bytes of a file from which on all cores read it.
pub(crate) const SHARED: u64 = 64 << 20;

/// The options of a reader of text.
#[derive(Clone, Copy)]
pub(crate) struct TextOptions<'a> {
    /// The encoding that the user named. `None`: UTF-8, or as a byte order mark says.
    pub charset: Option<Charset>,
    /// Bytes that are not UTF-8 are no error: the reader leaves their lines out.
    pub keep_mistakes: bool,
    /// The help for a file that is not UTF-8 but, probably, of the encoding.
    pub help: &'a dyn Fn(&str) -> String,
}

/// The whole text of a file. It is unpacked by its first bytes, not its name.
pub(crate) struct LoadedText {
    pub bytes: Vec<u8>,
    /// Whether there are bytes that are not UTF-8.
    pub has_mistakes: bool,
}

/// Loads a file. The bytes count as taken.
pub(crate) fn load(
    file: &FileState,
    wanted: &TextOptions<'_>,
    taken: &Reservation<'_>,
    task: &TaskHandle,
) -> Result<LoadedText, Diagnostic> {
    let path = &file.path;
    taken.take(path, file.bytes)?;
    let mut bytes = read_all(path, file.bytes, task)?;
    if let Some(text) = packed::unpacked(path, &bytes, taken, task)? {
        bytes = text;
        taken.give_back(file.bytes);
    }
    if let Some(error) = packed::foreign(path, &bytes) {
        return Err(error);
    }
    let charset = Charset::marked(&bytes).or(wanted.charset).unwrap_or(Charset::Utf8);
    if charset == Charset::Utf8 && is_wide(&bytes) {
        let message = format!("`{}` seems to be UTF-16: every other byte is zero", path.display());
        return Err(Diagnostic::error(Class::Data, "not-utf8", message).help((wanted.help)("utf-16")));
    }
    if let Some(text) = encoding::decoded(path, &bytes, charset, taken, task)? {
        bytes = text;
    }
    if bytes.starts_with(&[0xef, 0xbb, 0xbf]) {
        bytes.drain(..3);
    }
    task.check()?;
    match first_mistake(&bytes, SHARED) {
        Some(at) if !wanted.keep_mistakes => Err(bad_utf8(path, &bytes, at).help((wanted.help)("windows-1252"))),
        mistake => Ok(LoadedText { bytes, has_mistakes: mistake.is_some() }),
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
    // The text and about as much again for its columns. An allocation alone would succeed: memory is given when it is
    // used.
    if let Some(free) = free_memory().filter(|free| size.saturating_mul(2) > *free) {
        return Err(too_large(free));
    }
    if size >= SHARED
        && let Some(bytes) = read_shared(path, &file, size as usize, task)?
    {
        return Ok(bytes);
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

/// Reads a large file by all cores: most of the time goes to memory that is touched for the first time. `None` if the
/// file has another size by now, or without memory for it: the sequential reader has the error.
pub(crate) fn read_shared(
    path: &Path,
    file: &File,
    size: usize,
    task: &TaskHandle,
) -> Result<Option<Vec<u8>>, Diagnostic> {
    let failed = |e: std::io::Error| io_diagnostic("read", path, &e);
    if file.metadata().map_err(failed)?.len() != size as u64 {
        return Ok(None);
    }
    // A failed `vec!` would end the process.
    if Vec::<u8>::new().try_reserve_exact(size).is_err() {
        return Ok(None);
    }
    let mut bytes = vec![0; size];
    let pieces = bytes.chunks_mut(STEP).enumerate().map(|(i, piece)| Mutex::new((i * STEP, piece)));
    let pieces: Vec<Mutex<(usize, &mut [u8])>> = pieces.collect();
    let read = |piece: &Mutex<(usize, &mut [u8])>| {
        let mut piece = piece.lock();
        let (at, piece) = &mut *piece;
        file.read_exact_at(piece, *at as u64).map_err(failed)?;
        task.add_bytes(piece.len() as u64);
        Ok(())
    };
    Division::default().run(&pieces, task, read).into_iter().collect::<Result<Vec<()>, Diagnostic>>()?;
    drop(pieces);
    Ok(Some(bytes))
}

/// The first byte that is not UTF-8, if there is one. All cores look at a long one.
fn first_mistake(bytes: &[u8], least: u64) -> Option<usize> {
    if bytes.len() as u64 >= least {
        let is_start = |at: &usize| bytes.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80);
        let cut = |at: usize| (at..at + 4).find(is_start).unwrap_or(at).min(bytes.len());
        let inner = (STEP..bytes.len()).step_by(STEP).map(cut);
        let cuts: Vec<usize> = std::iter::once(0).chain(inner).chain([bytes.len()]).collect();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        let check = |piece: &&[u8]| std::str::from_utf8(piece).map(drop).map_err(|_| Diagnostic::from(CancelError));
        let checked = Division::default().run(&pieces, &TaskHandle::new(), check);
        if checked.len() == pieces.len() && checked.iter().all(Result::is_ok) {
            return None;
        }
    }
    std::str::from_utf8(bytes).err().map(|error| error.valid_up_to())
}

/// The memory that the machine could give now without swapping; `None` where that cannot be asked.
fn free_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|l| l.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|k| k << 10)
}

/// True for UTF-16 of Latin letters without a byte order mark.
fn is_wide(bytes: &[u8]) -> bool {
    let zeros = |from: usize| bytes.iter().skip(from).step_by(2).take(8).filter(|b| **b == 0).count();
    bytes.len() >= 16 && (zeros(0) == 8 && zeros(1) == 0 || zeros(1) == 8 && zeros(0) == 0)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_found_by_all_cores() {
        let mut text = "a€é𝄞".repeat(3 << 20).into_bytes();
        assert_eq!(first_mistake(&text, 0), None);
        let at = text.len() / 2;
        text[at..at + 8].fill(0xbf);
        let wanted = std::str::from_utf8(&text).unwrap_err().valid_up_to();
        assert_eq!(first_mistake(&text, 0), Some(wanted));
        let mut text = vec![b'a'; 2 * STEP];
        text[0] = 0x80;
        assert_eq!(first_mistake(&text, 0), Some(0));
    }

    #[test]
    fn large_files_are_read_whole() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let bytes: Vec<u8> = (0..STEP * 2 + 5).map(|i| (i % 251) as u8).collect();
        std::io::Write::write_all(&mut file, &bytes).unwrap();
        let read = |size| read_shared(file.path(), file.as_file(), size, &TaskHandle::new()).unwrap();
        assert_eq!(read(bytes.len()), Some(bytes.clone()));
        assert_eq!(read(bytes.len() + 1), None);
    }
}
