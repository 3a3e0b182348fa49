//! Files that are read again for a frame that was read before: they must be those that were read, whatever their size
//! and time say.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use onrush_frame::TaskHandle;
use onrush_io::{FileCache, NoLimit};
use onrush_wire::Diagnostic;
use onrush_wire::plan::{CsvOptions, FileMark, Format, Source};

use super::support::assert_says;

fn open(
    path: &str,
    folder: &Path,
    format: Format,
    marked: Option<&[FileMark]>,
) -> Result<(u64, Vec<FileMark>), Diagnostic> {
    let source = Source { path: path.to_string(), folder: folder.display().to_string(), format, cluster: None };
    // As a new engine: nothing is known of the files.
    let cache = FileCache::new(64 << 20);
    cache.open_marked(&source, marked, &NoLimit, &TaskHandle::new()).map(|(loaded, marks)| (loaded.rows, marks))
}

/// Other bytes at a place, with the size and the time that the file had.
fn change(path: &Path, at: usize, bytes: &[u8]) {
    let modified = fs::metadata(path).unwrap().modified().unwrap();
    let mut all = fs::read(path).unwrap();
    all[at..at + bytes.len()].copy_from_slice(bytes);
    let changed = |metadata: fs::Metadata| (metadata.ctime(), metadata.ctime_nsec());
    let before = changed(fs::metadata(path).unwrap());
    // The clock of the file system may not have ticked since the file was made.
    while changed(fs::metadata(path).unwrap()) == before {
        fs::write(path, &all).unwrap();
        File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
    }
}

fn lines(count: usize) -> String {
    "a,b\n".to_string() + &"12345,some words\n".repeat(count)
}

/// The changes are known here: a small file is compared whole, a large one in blocks and by what no program can set
/// back.
#[test]
fn a_change_in_the_middle_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let csv = || Format::Csv(CsvOptions::default());
    let (small, large) = (dir.path().join("small.csv"), dir.path().join("large.csv"));
    fs::write(&small, lines(16_000)).unwrap();
    fs::write(&large, lines(1_100_000)).unwrap();
    for (name, path, place) in [("small.csv", &small, 130_004), ("large.csv", &large, 9_123_449)] {
        let (rows, marks) = open(name, dir.path(), csv(), None).unwrap();
        assert_eq!(open(name, dir.path(), csv(), Some(&marks)).unwrap(), (rows, marks.clone()));
        change(path, place, b"7");
        let error = open(name, dir.path(), csv(), Some(&marks)).unwrap_err();
        assert_says(&error, "file-changed", &[name, "read it again"]);
    }
}

#[test]
fn each_file_of_a_folder_and_of_any_format_counts() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("d/k=1")).unwrap();
    let put = |name: &str| fs::write(dir.path().join(name), "{\"a\": 12345}\n".repeat(20_000)).unwrap();
    ["d/1.jsonl", "d/k=1/2.jsonl"].iter().for_each(|name| put(name));
    // The first file has no keys of folders.
    let path = "d/k=1/*.jsonl";
    let (_, marks) = open(path, dir.path(), Format::JsonLines, None).unwrap();
    change(&dir.path().join("d/k=1/2.jsonl"), 130_006, b"9");
    assert_says(&open(path, dir.path(), Format::JsonLines, Some(&marks)).unwrap_err(), "file-changed", &["2.jsonl"]);
}

/// A small file that was written again as it was, or whose rights were changed, is the same.
#[test]
fn the_same_bytes_are_the_same_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.csv");
    fs::write(&path, lines(100)).unwrap();
    let csv = || Format::Csv(CsvOptions::default());
    let (_, marks) = open("a.csv", dir.path(), csv(), None).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, lines(100)).unwrap();
    assert!(open("a.csv", dir.path(), csv(), Some(&marks)).is_ok());
}

/// In one engine, too: what is remembered of a file is not taken for one that was changed since.
#[test]
fn a_changed_file_is_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.csv");
    fs::write(&path, lines(10)).unwrap();
    let format = Format::Csv(CsvOptions::default());
    let folder = dir.path().display().to_string();
    let source = Source { path: "a.csv".to_string(), folder, format, cluster: None };
    let cache = FileCache::new(64 << 20);
    let key = || cache.open(&source, &TaskHandle::new()).unwrap().key;
    let before = key();
    assert_eq!(key(), before);
    change(&path, 6, b"9");
    assert_ne!(key(), before);
}
