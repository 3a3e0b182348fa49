//! Whether files are those that were read before. A frame is made again from its plan when the engine that had it is gone; it would become
//! another one, and nobody would notice, if its files were others by then.

use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use onrush_wire::limits::size;
use onrush_wire::plan::{FileMark, Source};
use onrush_wire::{Class, Diagnostic};

use crate::cache::{FileState, io_diagnostic};
use crate::{any, paths};

/// Bytes at each end of a file that are compared.
const END: u64 = 64 << 10;

/// What there is to recognise a file by.
pub(crate) fn mark(state: &FileState) -> Result<FileMark, Diagnostic> {
    let ends = ends(&state.path, state.bytes).map_err(|e| io_diagnostic("read", &state.path, &e))?;
    Ok(with_ends(state, ends))
}

/// The same, of a file whose hash of its ends is known.
pub(crate) fn with_ends(state: &FileState, ends: u64) -> FileMark {
    let path = state.path.to_string_lossy().into_owned();
    FileMark { path, bytes: state.bytes, modified: state.modified, ends }
}

/// A hash of the first and last bytes.
fn ends(path: &Path, bytes: u64) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let mut hasher = DefaultHasher::new();
    let mut buffer = Vec::new();
    file.by_ref().take(END.min(bytes)).read_to_end(&mut buffer)?;
    if bytes > END {
        // Not what was added to the file meanwhile.
        let from = bytes.saturating_sub(END).max(END);
        file.seek(SeekFrom::Start(from))?;
        file.take(bytes - from).read_to_end(&mut buffer)?;
    }
    hasher.write(&buffer);
    Ok(hasher.finish())
}

/// Fails if a source's files are not those that were `marked`.
pub(crate) fn unchanged(source: &Source, marked: &[FileMark], files: &[FileState]) -> Result<(), Diagnostic> {
    if let Some(new) = files.iter().find(|f| !marked.iter().any(|m| m.path == f.path.to_string_lossy())) {
        let what = match marked {
            [one] if files.len() == 1 => format!("`{}` stood for `{}`", source.path, one.path),
            _ => format!("`{}` has come", new.path.display()),
        };
        return Err(changed(source, &source.path, &what));
    }
    for mark in marked {
        let Some(file) = files.iter().find(|f| f.path.to_string_lossy() == mark.path) else {
            return Err(changed(source, &source.path, &format!("`{}` is gone", mark.path)));
        };
        let now = self::mark(file)?;
        if now.bytes != mark.bytes {
            let what = format!("it had {} and has {}", bytes(mark.bytes), bytes(now.bytes));
            return Err(changed(source, &mark.path, &what));
        }
        // The hash is of all bytes of a small file: one that was written again as it was is the same.
        let touched = now.modified != mark.modified && mark.bytes > 2 * END;
        if now.ends != mark.ends || touched {
            return Err(changed(source, &mark.path, "it was written again"));
        }
    }
    Ok(())
}

/// Fails if files have changed since they were looked at. A file `may_grow` while it is read, as logs do: what is remembered of it is what it was
/// before, so that it is not taken for the same later.
pub(crate) fn still(files: &[FileState], may_grow: bool) -> Result<(), Diagnostic> {
    for file in files {
        let now = std::fs::metadata(&file.path).map(|metadata| FileState::of(file.path.clone(), &metadata));
        if !now.as_ref().is_ok_and(|now| now == file || may_grow && now.bytes > file.bytes) {
            let what = match now {
                Ok(now) if now.bytes != file.bytes => {
                    format!("it had {} and has {}", bytes(file.bytes), bytes(now.bytes))
                }
                Ok(_) => "it was written again".to_string(),
                Err(error) => error.to_string(),
            };
            return Err(since(&file.path.to_string_lossy(), &what).help("read it again: run the cell that reads it"));
        }
    }
    Ok(())
}

fn bytes(count: u64) -> String {
    if count < 100_000 { format!("{count} bytes") } else { format!("{count} bytes ({})", size(count)) }
}

fn since(path: &str, what: &str) -> Diagnostic {
    let message = format!("`{path}` has changed since this frame was read: {what}");
    Diagnostic::error(Class::Data, "file-changed", message)
}

fn changed(source: &Source, path: &str, what: &str) -> Diagnostic {
    let function = any::reader(&source.format);
    since(path, what).help(format!(
        "read it again: run the cell with `{function}(\"{}\")` and those after it",
        paths::short(Path::new(&source.name()))
    ))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_that_grows_while_it_is_read_is_known_by_what_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log.csv");
        for bytes in [10, END as usize + 10, 3 * END as usize] {
            std::fs::write(&path, vec![b'a'; bytes]).unwrap();
            let state = FileState::of(path.clone(), &std::fs::metadata(&path).unwrap());
            let before = mark(&state).unwrap();
            let mut file = File::options().append(true).open(&path).unwrap();
            file.write_all(&[b'b'; 100]).unwrap();
            let files = [state];
            assert!(still(&files, true).is_ok() && still(&files, false).is_err());
            assert_eq!(mark(&files[0]).unwrap(), before);
            // Shorter than it was is another file.
            std::fs::write(&path, "a").unwrap();
            assert!(still(&files, true).is_err());
        }
    }
}
