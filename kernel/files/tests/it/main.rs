//! Whole files through `onrush_files::write`. Expected values are those of the operating system for the written files.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::process::Command;

#[test]
fn whole_files_replace_what_a_path_stands_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("real"), "old").unwrap();
    fs::set_permissions(path("real"), fs::Permissions::from_mode(0o600)).unwrap();
    symlink("real", path("link")).unwrap();
    assert_eq!(onrush_files::write(&path("link"), b"new content").unwrap(), 11);
    assert!(fs::symlink_metadata(path("link")).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(path("real")).unwrap(), "new content");
    assert_eq!(fs::metadata(path("real")).unwrap().permissions().mode() & 0o7777, 0o600);
    onrush_files::write(&path("fresh"), b"1").unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3, "nothing is left beside the files");
}

#[test]
fn what_is_no_file_stays_and_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let refused = |path: &std::path::Path| {
        let error = onrush_files::write(path, b"x").unwrap_err();
        (error.code, error.message)
    };
    let (code, message) = refused(&pipe);
    assert_eq!((code.as_str(), message), ("not-a-file", format!("`{}` is a pipe, not a regular file", pipe.display())));
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    assert_eq!(refused(std::path::Path::new("/dev/full")).0, "not-a-file");
    assert_eq!(refused(dir.path()).0, "is-a-folder");
    assert_eq!(refused(&dir.path().join("new/")).0, "is-a-folder");
    assert_eq!(refused(&dir.path().join("none/new")).0, "no-folder");
}
