//! The files of a source: their state when they were looked at, and their extensions.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

pub(crate) use onrush_files::io_diagnostic;
use onrush_wire::Diagnostic;
use onrush_wire::plan::COMPRESSED;

/// A file as it was when it was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileState {
    pub path: PathBuf,
    pub bytes: u64,
    /// Nanoseconds since 1970.
    pub modified: u128,
    /// As of [`FileMark`](onrush_wire::plan::FileMark): what no program can set back after it has written to the file.
    pub inode: u64,
    pub changed: u128,
}

impl FileState {
    pub fn of(path: PathBuf, metadata: &std::fs::Metadata) -> Self {
        let modified = metadata.modified().ok().and_then(|m| m.duration_since(UNIX_EPOCH).ok());
        let modified = modified.map_or(0, |d| d.as_nanos());
        let nanos = u128::try_from(metadata.ctime()).unwrap_or(0) * 1_000_000_000;
        let changed = nanos + u128::try_from(metadata.ctime_nsec()).unwrap_or(0);
        FileState { path, bytes: metadata.len(), modified, inode: metadata.ino(), changed }
    }

    /// A copy of a file in another place: its path stands for its content, and the copy may have been fetched again.
    pub fn copied(self) -> Self {
        FileState { inode: 0, changed: 0, ..self }
    }

    /// The same file, as it is now.
    pub fn again(&self, metadata: &std::fs::Metadata) -> Self {
        let now = FileState::of(self.path.clone(), metadata);
        if self.inode == 0 { now.copied() } else { now }
    }
}

/// The files of a path.
#[derive(Debug)]
pub(crate) struct SourceFiles {
    /// Sorted by name; at least one.
    pub files: Vec<FileState>,
    /// Keys and values of the folders named `key=value` above each file, from the outermost one.
    pub hive: Vec<Vec<(String, String)>>,
    /// Whether the path is a folder or a pattern.
    pub is_set: bool,
    /// The addresses of files that were fetched. Empty for files of this machine.
    pub urls: Vec<String>,
}

impl SourceFiles {
    /// An error as the user reads it: with the addresses of fetched files in place of their paths in the cache.
    pub fn named(&self, mut error: Diagnostic) -> Diagnostic {
        for (file, url) in self.files.iter().zip(&self.urls) {
            let path = file.path.to_string_lossy();
            let texts = std::iter::once(&mut error.message).chain(&mut error.notes).chain(&mut error.help);
            texts.for_each(|text| *text = text.replace(path.as_ref(), url));
        }
        error
    }
}

/// The extension of a name in small letters, without that of a compression.
pub(crate) fn extension(path: &Path) -> String {
    let lower = |path: &Path| path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    let last = lower(path);
    if COMPRESSED.contains(&last.as_str()) {
        path.file_stem().map(|s| lower(Path::new(s))).unwrap_or(last)
    } else {
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_those_inside_of_a_compression() {
        for (name, expected) in
            [("a.CSV", "csv"), ("a.tsv.gz", "tsv"), ("b/c.jsonl.zst", "jsonl"), ("x.gz", ""), ("x", "")]
        {
            assert_eq!(extension(Path::new(name)), expected, "{name}");
        }
    }
}
