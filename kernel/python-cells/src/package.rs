//! The Python package `onrush`, as the kernel's program carries it: written to the cache folder when it is needed, so
//! that every Python finds it.

use std::path::{Path, PathBuf};
use std::{fs, io};

use onrush_wire::paths;

/// Path below the package, and content.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The folder that holds the package: an entry of `PYTHONPATH`. Its name is the hash of the files, so programs of
/// several versions share a cache.
pub fn folder() -> io::Result<PathBuf> {
    let folders = paths::cache_dir().join("python");
    paths::private_dir(&paths::cache_dir())?;
    written(&folders, FILES)
}

fn written(folders: &Path, files: &[(&str, &[u8])]) -> io::Result<PathBuf> {
    let mut hasher = blake3::Hasher::new();
    for (name, content) in files {
        hasher.update(name.as_bytes()).update(&(content.len() as u64).to_le_bytes()).update(content);
    }
    let folder = folders.join(&hasher.finalize().to_hex()[..16]);
    // Somebody may have deleted a part of the cache.
    if files.iter().all(|(name, _)| folder.join("onrush").join(name).is_file()) {
        return Ok(folder);
    }
    // Written beside and renamed: another kernel may do the same, or read it already.
    let fresh = folders.join(format!(".{}-{}", folder.file_name().unwrap_or_default().display(), std::process::id()));
    let _ = fs::remove_dir_all(&fresh);
    for (name, content) in files {
        let path = fresh.join("onrush").join(name);
        fs::create_dir_all(path.parent().unwrap_or(&fresh))?;
        fs::write(path, content)?;
    }
    if fs::rename(&fresh, &folder).is_err() {
        for (name, _) in files {
            let path = folder.join("onrush").join(name);
            fs::create_dir_all(path.parent().unwrap_or(&folder))?;
            fs::rename(fresh.join("onrush").join(name), path)?;
        }
        let _ = fs::remove_dir_all(&fresh);
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_is_written_once_and_mended() {
        let cache = tempfile::tempdir().unwrap();
        let files: &[(&str, &[u8])] = &[("__init__.py", b"x = 1\n"), ("sub/part.py", b"y = 2\n")];
        let folder = written(cache.path(), files).unwrap();
        assert_eq!(fs::read(folder.join("onrush/sub/part.py")).unwrap(), b"y = 2\n");
        fs::remove_file(folder.join("onrush/__init__.py")).unwrap();
        assert_eq!(written(cache.path(), files).unwrap(), folder);
        assert_eq!(fs::read(folder.join("onrush/__init__.py")).unwrap(), b"x = 1\n");
        let other = written(cache.path(), &[("__init__.py", b"x = 2\n")]).unwrap();
        assert_ne!(other, folder);
        // No half written folder is left.
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 2);
    }

    #[test]
    fn the_worker_is_in_the_package() {
        for name in ["__init__.py", "worker.py"] {
            assert!(FILES.iter().any(|(file, content)| *file == name && !content.is_empty()), "{name}");
        }
    }
}
