//! Temporary files and folders next to their targets: `.NAME.HOST.PROCESS.NUMBER.onrush`. The process that writes one
//! holds a lock on it.
//!
//! One of this host without a lock belongs to no process, and the next writer in its folder removes it. Locks of
//! another host may not be visible here.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The suffix of temporary files and folders.
const SUFFIX: &str = ".onrush";
/// Bytes of the target's name in that of a temporary file: names have at most 255.
const NAME: usize = 200;

/// A file in the folder of the target, which replaces the target after it is complete. If it is dropped before, it is
/// removed.
pub struct Temporary {
    path: PathBuf,
    /// Renamed, or kept for the user.
    is_left: bool,
}

impl Temporary {
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file stays.
    pub(crate) fn leave(&mut self) {
        self.is_left = true;
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_left {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Makes a file next to `target`, and removes those that ended processes have left there.
pub fn create(target: &Path, mode: u32) -> io::Result<(Temporary, File)> {
    if let Some(folder) = target.parent() {
        sweep(folder);
    }
    loop {
        let path = name_for(target);
        let file = match OpenOptions::new().write(true).create_new(true).mode(mode).open(&path) {
            Ok(file) => file,
            // Left behind by a process that had the same number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
        };
        let temporary = Temporary { path, is_left: false };
        if is_ours(&file, &temporary.path) {
            return Ok((temporary, file));
        }
    }
}

/// A new name next to `target`.
pub fn name_for(target: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = target.file_name().unwrap_or(target.as_os_str()).to_string_lossy();
    let name = &name[..name.floor_char_boundary(NAME)];
    let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    target.with_file_name(format!(".{name}.{}.{process}.{number}{SUFFIX}", host()))
}

/// Locks what was just made. `false` if another process took it for left before it was locked, and removed it.
pub fn is_ours(file: &File, path: &Path) -> bool {
    match file.try_lock() {
        Ok(()) => match (fs::symlink_metadata(path), file.metadata()) {
            (Ok(there), Ok(here)) => (there.dev(), there.ino()) == (here.dev(), here.ino()),
            _ => false,
        },
        Err(TryLockError::WouldBlock) => false,
        // A file system without locks: nobody sweeps there.
        Err(TryLockError::Error(_)) => true,
    }
}

/// Removes temporary files and folders of processes of this host that ended before they were done.
pub fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !is_temporary(&entry.file_name()) {
            continue;
        }
        let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
        let opened = match () {
            () if kind.is_file() => OpenOptions::new().write(true).open(&path),
            () if kind.is_dir() => File::open(&path),
            () => continue,
        };
        // The lock of a process ends with it, however that ends. It is held here until the file is gone.
        if opened.as_ref().is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = if kind.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        }
    }
}

/// A number for this machine, or container.
fn host() -> u32 {
    static HOST: OnceLock<u32> = OnceLock::new();
    *HOST.get_or_init(|| {
        let mut hasher = DefaultHasher::new();
        rustix::system::uname().nodename().hash(&mut hasher);
        hasher.finish() as u32
    })
}

/// `.NAME.HOST.PROCESS.NUMBER.onrush`, of this host.
fn is_temporary(name: &OsStr) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let Some(rest) = name.to_str().and_then(|n| n.strip_prefix('.')?.strip_suffix(SUFFIX)) else { return false };
    let mut parts = rest.rsplitn(4, '.');
    parts.next().is_some_and(digits)
        && parts.next().is_some_and(digits)
        && parts.next().is_some_and(|part| part == host().to_string())
        && parts.next().is_some_and(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_temporary_files_are_swept() {
        let temporary = |name: &str| is_temporary(OsStr::new(name));
        let (here, elsewhere) = (host(), host().wrapping_add(1));
        assert!(temporary(&format!(".out.csv.{here}.4711.0.onrush")) && temporary(&format!(".a.{here}.1.2.onrush")));
        for other in [
            format!("out.csv.{here}.4711.0.onrush"),
            format!(".out.csv.{here}.4711.0.tmp"),
            format!(".out.csv.{here}.x.0.onrush"),
            format!(".out.csv.{elsewhere}.4711.0.onrush"),
            format!("..{here}.1.2.onrush"),
            format!(".{here}.1.2.onrush"),
        ] {
            assert!(!temporary(&other), "{other}");
        }
    }

    /// A folder and a file without a lock, as a process that was killed leaves them, and a folder with one.
    #[test]
    fn what_ended_processes_left_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(format!(".{name}.{}.1.0.onrush", host()));
        for name in ["parts", "under_way"] {
            fs::create_dir_all(path(name).join("k=1")).unwrap();
            fs::write(path(name).join("k=1/part-0.csv"), "a\n1\n").unwrap();
        }
        fs::write(path("out.csv"), "a\n").unwrap();
        let lock = File::open(path("under_way")).unwrap();
        lock.try_lock().unwrap();
        sweep(folder.path());
        assert!(!path("parts").exists() && !path("out.csv").exists());
        assert!(path("under_way").join("k=1/part-0.csv").exists());
    }
}
