//! Whether files are those that were read before. A frame is made again from its plan when the engine that had it is
//! gone. If its files were others by then, it would silently become another frame.

use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use onrush_wire::limits::size;
use onrush_wire::plan::{FileMark, Source};
use onrush_wire::{Class, Diagnostic};

use crate::file::{FileState, io_diagnostic};
use crate::paths;

/// Bytes of a file that are compared, at most: all of a smaller one.
const MOST: u64 = 8 << 20;
/// Bytes of all files of a source that are compared, about, at most.
const TOGETHER: u64 = 1 << 30;
/// Bytes of a block of a larger file. At least the first and the last block are compared.
const BLOCK: u64 = 64 << 10;

/// The marks by which the files of a source are recognised.
pub(crate) fn marks(files: &[FileState]) -> Result<Vec<FileMark>, Diagnostic> {
    let depth = depth(files);
    files.iter().map(|file| mark(file, depth)).collect()
}

/// The mark of one file, of which `depth` bytes are compared.
pub(crate) fn mark(state: &FileState, depth: u64) -> Result<FileMark, Diagnostic> {
    let hash = hash(&state.path, state.bytes, depth).map_err(|e| io_diagnostic("read", &state.path, &e))?;
    Ok(with_hash(state, hash))
}

/// The same, of a file whose hash is known.
pub(crate) fn with_hash(state: &FileState, hash: u64) -> FileMark {
    let path = state.path.to_string_lossy().into_owned();
    let FileState { bytes, modified, inode, changed, .. } = *state;
    FileMark { path, bytes, modified, inode, changed, hash }
}

/// The bytes of each file that are compared: fewer if there are many files.
pub(crate) fn depth(files: &[FileState]) -> u64 {
    let all: u64 = files.iter().map(|file| file.bytes.min(MOST)).sum();
    if all <= TOGETHER { MOST } else { (TOGETHER / files.len() as u64 / BLOCK).max(2) * BLOCK }
}

/// A hash of all bytes of a file of at most `depth`, else of so many bytes in blocks from its start to its end.
fn hash(path: &Path, bytes: u64, depth: u64) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let mut hasher = DefaultHasher::new();
    let mut buffer = Vec::new();
    let (block, count) = if bytes <= depth { (bytes, 1) } else { (BLOCK, depth / BLOCK) };
    for number in 0..count {
        // Not what was added to the file meanwhile.
        let start = u128::from(bytes - block) * u128::from(number) / u128::from((count - 1).max(1));
        file.seek(SeekFrom::Start(start as u64))?;
        buffer.clear();
        file.by_ref().take(block).read_to_end(&mut buffer)?;
        hasher.write(&buffer);
    }
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
    let mut pairs = Vec::with_capacity(marked.len());
    for mark in marked {
        let Some(file) = files.iter().find(|f| f.path.to_string_lossy() == mark.path) else {
            return Err(changed(source, &source.path, &format!("`{}` is gone", mark.path)));
        };
        if file.bytes != mark.bytes {
            let what = format!("it had {} and has {}", bytes(mark.bytes), bytes(file.bytes));
            return Err(changed(source, &mark.path, &what));
        }
        pairs.push((mark, file));
    }
    let depth = depth(files);
    for (mark, file) in pairs {
        let now = self::mark(file, depth)?;
        if now.hash != mark.hash {
            return Err(changed(source, &mark.path, "it was written again"));
        }
        // All bytes of a small file are compared: one that was written again as it was is the same.
        let same = (now.modified, now.inode, now.changed) == (mark.modified, mark.inode, mark.changed);
        if !same && mark.bytes > depth {
            let what =
                "it was written again, or its name, rights or times were changed; it is too large to be compared whole";
            return Err(changed(source, &mark.path, what));
        }
    }
    Ok(())
}

/// Fails if files have changed since they were looked at. A file `may_grow` while it is read, as logs do. Its
/// earlier state is kept, so that it is not taken for the same later.
pub(crate) fn still(files: &[FileState], may_grow: bool) -> Result<(), Diagnostic> {
    for file in files {
        let now = std::fs::metadata(&file.path).map(|metadata| file.again(&metadata));
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
    let function = source.format.reader();
    since(path, what).help(format!(
        "read it again: run the cell with `{function}(\"{}\")` and those after it",
        paths::short(Path::new(&source.name()))
    ))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn few_bytes_of_many_files_are_compared() {
        let file = |bytes| FileState { path: PathBuf::new(), bytes, modified: 0, inode: 0, changed: 0 };
        assert_eq!(depth(&vec![file(u64::MAX / 256); 128]), MOST);
        assert_eq!(depth(&vec![file(100); 1_000_000]), MOST);
        assert_eq!(depth(&vec![file(MOST); 1024]), TOGETHER / 1024);
        assert_eq!(depth(&vec![file(MOST); 100_000]), 2 * BLOCK);
    }

    #[test]
    fn a_file_that_grows_while_it_is_read_is_known_by_what_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log.csv");
        for bytes in [10, MOST as usize, 2 * MOST as usize] {
            std::fs::write(&path, vec![b'a'; bytes]).unwrap();
            let state = FileState::of(path.clone(), &std::fs::metadata(&path).unwrap());
            let before = marks(std::slice::from_ref(&state)).unwrap();
            let mut file = File::options().append(true).open(&path).unwrap();
            file.write_all(&[b'b'; 100]).unwrap();
            let files = [state];
            assert!(still(&files, true).is_ok() && still(&files, false).is_err());
            assert_eq!(marks(&files).unwrap(), before);
            // Shorter than it was is another file.
            std::fs::write(&path, "a").unwrap();
            assert!(still(&files, true).is_err());
        }
    }
}
