//! Compiled kernels on disk, under a hash of all their inputs. A damaged file counts as a missing one.

use std::fs;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Changes with the format of the files.
const FORMAT: &[u8; 8] = b"onrush01";

/// Counters since the cache was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStatistics {
    pub compiled: u64,
    pub from_disk: u64,
    pub from_memory: u64,
    /// Time spent in the compiler.
    pub compiling: Duration,
    /// Programs that were compiled a second time, after a quick compilation.
    pub optimised: u64,
    /// Time spent loading compiled code onto the device.
    pub loading: Duration,
}

/// A folder of compiled kernels; without a folder nothing is cached.
pub struct DiskCache {
    folder: Option<PathBuf>,
}

impl DiskCache {
    pub fn new(folder: Option<&Path>) -> Self {
        // For its owner alone, whatever the umask: what lies there is run.
        let make = |folder: &PathBuf| fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).is_ok();
        let folder = folder.map(Path::to_path_buf).filter(make);
        DiskCache { folder }
    }

    pub fn get(&self, key: &blake3::Hash) -> Option<Vec<u8>> {
        let bytes = fs::read(self.path(key)?).ok()?;
        let (head, image) = bytes.split_at_checked(FORMAT.len() + blake3::OUT_LEN)?;
        let (format, sum) = head.split_at(FORMAT.len());
        (format == FORMAT && blake3::hash(image).as_bytes() == sum).then(|| image.to_vec())
    }

    /// A failed write, for example on a full disk, is ignored: the kernel is compiled again.
    pub fn put(&self, key: &blake3::Hash, image: &[u8]) {
        let Some(path) = self.path(key) else { return };
        let folder = path.parent().unwrap_or(Path::new("."));
        // Written under another name first: neither a reader nor a crash meets half a file.
        let written = tempfile::NamedTempFile::new_in(folder).and_then(|mut file| {
            file.write_all(FORMAT)?;
            file.write_all(blake3::hash(image).as_bytes())?;
            file.write_all(image)?;
            Ok(file)
        });
        if let Ok(file) = written {
            drop(file.persist(path));
        }
    }

    fn path(&self, key: &blake3::Hash) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{}.kernel", key.to_hex())))
    }
}
