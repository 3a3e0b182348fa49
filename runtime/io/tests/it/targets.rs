//! Targets of writers: files, links and folders that are there already. The operating system gives the expected values.

use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use onrush_frame::TaskHandle;
use onrush_io::{FileWriter, FrameWriter};
use onrush_wire::Diagnostic;
use onrush_wire::plan::{Sink, SinkFormat};

const CSV: &str = "n\n1\n2\n";

fn write(path: &Path) -> Result<u64, Diagnostic> {
    let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
    let format = SinkFormat::Csv { separator: ',', header: true, null: String::new() };
    let sink = Sink { path: path.display().to_string(), folder: "/".to_string(), format };
    let mut writer = FileWriter::create(&sink, &batch.schema())?;
    writer.write(&batch, &TaskHandle::new())?;
    writer.finish().map(|written| written.bytes)
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn refused(path: &Path, what: &str) {
    let error = write(path).unwrap_err();
    assert_eq!(error.code, "not-a-file");
    assert_eq!(error.message, format!("`{}` is {what}, not a regular file", path.display()));
}

#[test]
fn a_link_stays_and_what_it_leads_to_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::create_dir(path("data")).unwrap();
    fs::write(path("data/old.csv"), "old").unwrap();
    symlink("data/old.csv", path("relative")).unwrap();
    symlink(path("relative"), path("twice")).unwrap();
    symlink("data/new.csv", path("dangling")).unwrap();
    for (link, file) in [("relative", "data/old.csv"), ("twice", "data/old.csv"), ("dangling", "data/new.csv")] {
        assert_eq!(write(&path(link)).unwrap(), 6);
        assert!(fs::symlink_metadata(path(link)).unwrap().is_symlink(), "{link}");
        assert_eq!(text(&path(file)), CSV);
        fs::write(path(file), "old").unwrap();
    }
    assert_eq!(names(&path("data")), ["new.csv", "old.csv"]);
    symlink("round", path("round")).unwrap();
    assert_eq!(write(&path("round")).unwrap_err().code, "link-loop");
    symlink("nowhere/a.csv", path("lost")).unwrap();
    assert_eq!(write(&path("lost")).unwrap_err().code, "no-folder");
}

#[test]
fn a_file_keeps_its_mode_and_owner() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("private.csv");
    fs::write(&path, "old").unwrap();
    for mode in [0o600, 0o664, 0o755] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        write(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode);
    }
    assert_eq!(text(&path), CSV);
    // Only root can give files away.
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        chown(&path, Some(12_345), Some(23_456)).unwrap();
        write(&path).unwrap();
        let now = fs::metadata(&path).unwrap();
        assert_eq!((now.uid(), now.gid(), now.mode() & 0o7777), (12_345, 23_456, 0o755));
    }
}

#[test]
fn what_is_no_regular_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    refused(&pipe, "a pipe");
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    let _listener = std::os::unix::net::UnixListener::bind(dir.path().join("socket")).unwrap();
    refused(&dir.path().join("socket"), "a socket");
    refused(Path::new("/dev/full"), "a device");
    let link = dir.path().join("link");
    symlink("/dev/full", &link).unwrap();
    refused(&link, "a device");
    assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device());
    assert_eq!(names(dir.path()), ["link", "pipe", "socket"]);
}

#[test]
fn files_of_processes_that_ended_are_swept() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { dir.path().join(name) };
    // The name of a file while it is written: `.x.HOST.PROCESS.NUMBER.onrush`.
    let format = SinkFormat::Csv { separator: ',', header: true, null: String::new() };
    let sink = Sink { path: path("x").display().to_string(), folder: "/".to_string(), format };
    let writer = FileWriter::create(&sink, &Arc::new(arrow::datatypes::Schema::empty())).unwrap();
    let host = names(dir.path())[0].split('.').nth(2).unwrap().to_string();
    drop(writer);
    let (left, held) = (format!(".a.csv.{host}.4711.0.onrush"), format!(".b.csv.{host}.4711.7.onrush"));
    // A number that no host has.
    let elsewhere = ".c.csv.99999999999.4711.0.onrush";
    for name in [&left, &held, elsewhere, ".mine.onrush"] {
        fs::write(path(name), "half").unwrap();
    }
    // As the one who writes it holds it.
    let written = File::options().write(true).open(path(&held)).unwrap();
    written.lock().unwrap();
    write(&path("a.csv")).unwrap();
    assert_eq!(names(dir.path()), [&held, elsewhere, ".mine.onrush", "a.csv"]);
    drop(written);
    write(&path("a.csv")).unwrap();
    assert_eq!(names(dir.path()), [elsewhere, ".mine.onrush", "a.csv"]);
}

#[test]
fn a_name_as_long_as_names_can_be() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("é".repeat(127));
    write(&path).unwrap();
    assert_eq!(text(&path), CSV);
}

/// `link(2)`: both names are one file, before and after.
#[test]
fn a_file_with_two_names_keeps_them() {
    let dir = tempfile::tempdir().unwrap();
    let (one, other) = (dir.path().join("one.csv"), dir.path().join("other.csv"));
    fs::write(&one, "a longer content than the new one\n").unwrap();
    fs::set_permissions(&one, fs::Permissions::from_mode(0o640)).unwrap();
    fs::hard_link(&one, &other).unwrap();
    assert_eq!(write(&one).unwrap(), 6);
    assert_eq!((text(&one), text(&other)), (CSV.to_string(), CSV.to_string()));
    let now = fs::metadata(&one).unwrap();
    assert_eq!((now.nlink(), now.ino(), now.mode() & 0o7777), (2, fs::metadata(&other).unwrap().ino(), 0o640));
    assert_eq!(names(dir.path()), ["one.csv", "other.csv"]);
}

fn folders(path: &Path) -> Result<FrameWriter, Diagnostic> {
    let format = SinkFormat::Csv { separator: ',', header: true, null: String::new() };
    let format = SinkFormat::Folders { by: vec!["n".to_string()], format: Box::new(format) };
    let sink = Sink { path: path.display().to_string(), folder: "/".to_string(), format };
    FrameWriter::create(&sink, &rows().schema())
}

fn rows() -> RecordBatch {
    let column = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
    RecordBatch::try_from_iter([("n", column(vec![1, 2])), ("v", column(vec![3, 4]))]).unwrap()
}

#[test]
fn folders_of_processes_that_ended_are_swept() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    // Another process has it under way while a folder is written to.
    let under_way = folders(&path("parts")).unwrap();
    let host = names(dir.path())[0].split('.').nth(2).unwrap().to_string();
    let left = format!(".parts.{host}.4711.0.onrush");
    fs::create_dir_all(path(&left).join("n=1")).unwrap();
    fs::write(path(&left).join("n=1/part-0.csv"), "half").unwrap();
    let mut writer = folders(&path("parts")).unwrap();
    assert!(!path(&left).exists());
    writer.write(&rows(), &TaskHandle::new()).unwrap();
    writer.finish(&TaskHandle::new()).unwrap();
    assert_eq!(text(&path("parts/n=1/part-0.csv")), "v\n3\n");
    assert_eq!(names(dir.path()).len(), 2, "the folder under way stays");
    drop(under_way);
    assert_eq!(names(dir.path()), ["parts"]);
}

#[test]
fn an_empty_folder_behind_a_link_keeps_its_mode() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::create_dir(path("private")).unwrap();
    fs::set_permissions(path("private"), fs::Permissions::from_mode(0o700)).unwrap();
    symlink("private", path("link")).unwrap();
    let mut writer = folders(&path("link")).unwrap();
    writer.write(&rows(), &TaskHandle::new()).unwrap();
    writer.finish(&TaskHandle::new()).unwrap();
    assert!(fs::symlink_metadata(path("link")).unwrap().is_symlink());
    assert_eq!(fs::metadata(path("private")).unwrap().mode() & 0o7777, 0o700);
    assert_eq!(text(&path("private/n=2/part-0.csv")), "v\n4\n");
    assert_eq!(folders(&path("nowhere/parts")).err().unwrap().code, "no-folder");
}
