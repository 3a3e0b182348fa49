//! The version that `--version` prints, with the commit and its date if the sources are a clone of git. The build scripts
//! of `kernel/jupyter` and `runtime/session`.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    // Without a line of this kind cargo runs the script for each change of the package.
    println!("cargo::rerun-if-changed=Cargo.toml");
    let version = env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    let commit = commit().map(|commit| format!(" ({commit})")).unwrap_or_default();
    println!("cargo::rustc-env=ONRUSH_VERSION={version}{commit}");
}

/// The commit and its date, such as `3c66871c 2026-11-29`; `None` outside of a clone.
fn commit() -> Option<String> {
    // Sources without git may lie inside of another repository.
    if git(&["rev-parse", "--show-cdup"])? != "../../" {
        return None;
    }
    // Each new commit is a line of the log of HEAD. Clones share a target folder, so the paths are relative.
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--path-format=relative", "--git-path", name])?;
        // Cargo would run this script in each build for a file that is missing.
        if Path::new(&path).is_file() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["-c", "log.showSignature=false", "log", "-1", "--abbrev=8", "--date=short", "--format=%h %cd"])
}

/// The output of git; `None` if it is missing or fails.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_string())
}
