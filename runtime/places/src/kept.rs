//! Fetched files in the cache folder: a folder for each address and version, in it the file under its name. The least
//! recently used ones are removed when they take too much.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use onrush_wire::limits::size;
use onrush_wire::{Class, Diagnostic, paths};

/// Bytes that are kept.
pub(crate) const LIMIT: u64 = 8 << 30;
/// The time of fetched files after 1970.
const YEAR: Duration = Duration::from_secs(365 * 86_400);
/// The file in a folder that is touched when it is used.
const USED: &str = ".used";
/// The extension of a file that is being fetched.
const PART: &str = "part";

#[derive(Clone, Debug)]
pub(crate) struct FileStore {
    folder: PathBuf,
}

/// A file that is being fetched. It is removed if it is dropped before it is complete. Its lock ends with this process.
pub(crate) struct PartialFile {
    path: PathBuf,
    file: File,
    /// Bytes that it may have.
    limit: u64,
    hashers: [DefaultHasher; 2],
    pub bytes: u64,
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The facts about the last version of an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Version {
    pub tag: String,
    pub modified: String,
    /// Below the folder.
    pub file: String,
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> Diagnostic {
    use std::io::ErrorKind;
    let full = matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
    let message = format!("`{}` could not be {what}: {error}", path.display());
    let error = Diagnostic::error(Class::Resources, "file-error", message);
    match full {
        true => error.help("free some disk space, or set ONRUSH_CACHE_DIR to a folder of another disk"),
        false => error.help("ONRUSH_CACHE_DIR names another folder for the cache"),
    }
}

/// Notes that a folder is used now.
fn touch(folder: &Path) {
    let _ = paths::create_private(&folder.join(USED)).and_then(|file| file.set_modified(SystemTime::now()));
}

/// 128 bits of parts, as a name.
pub(crate) fn key(parts: &[&str]) -> String {
    let half = |seed: u8| {
        let mut hasher = DefaultHasher::new();
        seed.hash(&mut hasher);
        parts.hash(&mut hasher);
        hasher.finish()
    };
    format!("{:016x}{:016x}", half(1), half(2))
}

impl FileStore {
    pub fn new(folder: PathBuf) -> FileStore {
        FileStore { folder }
    }

    /// Makes the folder: its files are the user's alone. Removes what processes left that ended before a file was
    /// complete.
    pub fn prepare(&self) -> Result<(), Diagnostic> {
        paths::private_dir(&self.folder)
            .map_err(|e| failed("used", &self.folder, &std::io::Error::other(e.to_string())))?;
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let path = entry.path();
            // A lock ends with its process, however that ends.
            let is_left = || File::open(&path).is_ok_and(|file| file.try_lock().is_ok());
            if path.extension().is_some_and(|extension| extension == PART) && is_left() {
                let _ = fs::remove_file(&path);
            }
        }
        Ok(())
    }

    /// The file of a version, if it is there with these bytes.
    pub fn find(&self, key: &str, name: &str, bytes: Option<u64>) -> Option<PathBuf> {
        let path = self.folder.join(key).join(name);
        let metadata = fs::metadata(&path).ok()?;
        (metadata.is_file() && bytes.is_none_or(|bytes| metadata.len() == bytes)).then(|| {
            touch(&self.folder.join(key));
            path
        })
    }

    /// A new file of at most `limit` bytes.
    pub fn start(&self, limit: u64) -> Result<PartialFile, Diagnostic> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!("{}.{number}.{PART}", std::process::id()));
        let file = paths::create_private(&path).map_err(|e| failed("written", &path, &e))?;
        // On a file system without locks it is removed only by this process.
        let _ = file.try_lock();
        let hashers = [0u8, 1].map(|seed| {
            let mut hasher = DefaultHasher::new();
            seed.hash(&mut hasher);
            hasher
        });
        Ok(PartialFile { path, file, limit, hashers, bytes: 0 })
    }

    /// Gives a complete file its name. A file that is there already stays, with its time.
    pub fn keep(&self, coming: PartialFile, key: &str, name: &str) -> Result<PathBuf, Diagnostic> {
        if let Some(path) = self.find(key, name, Some(coming.bytes)) {
            return Ok(path);
        }
        let folder = self.folder.join(key);
        let path = folder.join(name);
        paths::private_dir(&folder).map_err(|e| failed("made", &folder, &e))?;
        // The name stands for the version: a file that is fetched again after it was removed has the same time.
        let _ = coming.file.set_modified(SystemTime::UNIX_EPOCH + YEAR);
        fs::rename(&coming.path, &path).map_err(|e| failed("written", &path, &e))?;
        touch(&folder);
        self.shrink(key);
        Ok(path)
    }

    /// The facts about an address.
    pub fn version(&self, address: &str) -> Option<(Version, PathBuf)> {
        let text = fs::read_to_string(self.folder.join(format!("{}.version", key(&[address])))).ok()?;
        let mut lines = text.lines().map(str::to_string);
        let version = Version { tag: lines.next()?, modified: lines.next()?, file: lines.next()? };
        let (key, name) = version.file.split_once('/')?;
        let path = self.find(key, name, None)?;
        Some((version, path))
    }

    pub fn remember(&self, address: &str, version: &Version) {
        let path = self.folder.join(format!("{}.version", key(&[address])));
        let line = |text: &str| text.replace(['\n', '\r'], " ");
        let text = format!("{}\n{}\n{}\n", line(&version.tag), line(&version.modified), line(&version.file));
        let _ = paths::create_private(&path).and_then(|mut file| file.write_all(text.as_bytes()));
    }

    /// Removes what was used longest ago until the rest is within the limit. `spare` stays.
    fn shrink(&self, spare: &str) {
        let mut folders: Vec<(SystemTime, PathBuf, u64)> = Vec::new();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if !path.is_dir() || entry.file_name().to_string_lossy() == spare {
                continue;
            }
            let used = fs::metadata(path.join(USED)).and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
            let files = fs::read_dir(&path).into_iter().flatten().flatten();
            let bytes = files.filter_map(|file| file.metadata().ok()).map(|m| m.len()).sum();
            folders.push((used, path, bytes));
        }
        folders.sort();
        let mut total: u64 = folders.iter().map(|(_, _, bytes)| bytes).sum();
        for (_, path, bytes) in folders {
            if total <= LIMIT {
                break;
            }
            let _ = fs::remove_dir_all(path);
            total -= bytes;
        }
    }
}

impl PartialFile {
    /// # Errors
    /// More bytes than the limit, or a full disk.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Diagnostic> {
        self.check(bytes.len() as u64)?;
        self.file.write_all(bytes).map_err(|e| failed("written", &self.path, &e))?;
        self.hashers.iter_mut().for_each(|hasher| hasher.write(bytes));
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Fails if so many further bytes would be more than the limit.
    pub fn check(&self, further: u64) -> Result<(), Diagnostic> {
        let whole = self.bytes.saturating_add(further);
        if whole <= self.limit {
            return Ok(());
        }
        let message = format!(
            "the file has {} or more, and {} are the most that is fetched of one file",
            size(whole),
            size(self.limit)
        );
        let variable = paths::DOWNLOAD_LIMIT;
        Err(Diagnostic::error(Class::Resources, "too-large", message).help(format!(
            "set {variable} to a larger size such as 50G, or to `none`, in the environment of the kernel, and restart the session"
        )))
    }

    /// A name for the content.
    pub fn content(&self) -> String {
        self.hashers.iter().map(|hasher| format!("{:016x}", hasher.finish())).collect()
    }

    /// Starts again.
    pub fn clear(&mut self) -> Result<(), Diagnostic> {
        use std::io::{Seek, SeekFrom};
        let cleared = self.file.set_len(0).and_then(|()| self.file.seek(SeekFrom::Start(0)));
        cleared.map_err(|e| failed("written", &self.path, &e))?;
        self.hashers = [0u8, 1].map(|seed| {
            let mut hasher = DefaultHasher::new();
            seed.hash(&mut hasher);
            hasher
        });
        self.bytes = 0;
        Ok(())
    }
}
