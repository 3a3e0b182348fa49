//! The clone, the target folder, the built binaries, and commands that run in the clone.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::Failure;

pub struct Workspace {
    pub root: PathBuf,
    /// The target folder of cargo. Outside the clone unless `CARGO_TARGET_DIR` says otherwise, so that a fresh clone
    /// reuses the DataFusion of an earlier one.
    pub target: PathBuf,
}

impl Workspace {
    pub fn find() -> Result<Self, Failure> {
        // Read from the environment of this call: several clones share a target folder, and another clone may have
        // built this binary.
        let own = set("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = own.parent().filter(|p| p.join("Cargo.toml").is_file()).ok_or_else(|| {
            Failure::new(format!("there is no workspace above {}; run `cargo xtask` inside the clone", own.display()))
        })?;
        let target = match set("CARGO_TARGET_DIR") {
            Some(path) => env::current_dir().map_err(|e| Failure::io("the current folder", e))?.join(path),
            None => cache()?.join("target"),
        };
        Ok(Workspace { root: root.to_path_buf(), target })
    }

    /// Cargo in the clone, with the target folder set.
    pub fn cargo(&self) -> Command {
        let mut command = self.command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.env("CARGO_TARGET_DIR", &self.target);
        command
    }

    /// A command in the clone, in the environment of the user's shell. Variables that `cargo run` adds for xtask are
    /// removed, so that a binary that only works under cargo fails here too.
    pub fn command(&self, program: impl Into<OsString>) -> Command {
        let mut command = Command::new(program.into());
        command.current_dir(&self.root);
        for (name, _) in env::vars_os() {
            if name.to_str().is_some_and(|n| n.starts_with("CARGO_PKG_") || n.starts_with("CARGO_MANIFEST_")) {
                command.env_remove(name);
            }
        }
        if let Some(paths) = env::var_os("LD_LIBRARY_PATH") {
            let own = |path: &Path| {
                path.components().any(|c| c.as_os_str() == "rustlib" || c.as_os_str() == "toolchains")
                    || path.ends_with("debug/deps")
                    || path.ends_with("debug")
            };
            let kept: Vec<PathBuf> = env::split_paths(&paths).filter(|p| !own(p)).collect();
            match env::join_paths(kept) {
                Ok(paths) if !paths.is_empty() => command.env("LD_LIBRARY_PATH", paths),
                _ => command.env_remove("LD_LIBRARY_PATH"),
            };
        }
        command
    }

    /// A binary of the default build.
    pub fn binary(&self, name: &str) -> PathBuf {
        self.target.join("debug").join(name)
    }

    pub fn venv(&self) -> PathBuf {
        self.root.join(".venv")
    }

    /// The files of the repository: tracked files and new files that git does not ignore, relative to the root, sorted.
    pub fn files(&self) -> Result<Vec<PathBuf>, Failure> {
        let mut git = self.command("git");
        git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
        let output = git.output().map_err(|e| Failure::new(format!("git could not be run ({e}): install git")))?;
        if !output.status.success() {
            return Err(Failure::new(format!(
                "git ls-files failed: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            )));
        }
        let names = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut files: Vec<PathBuf> = names.split('\0').filter(|n| !n.is_empty()).map(PathBuf::from).collect();
        // A file that was deleted but is still in the index is skipped.
        files.retain(|f| self.root.join(f).is_file());
        files.sort();
        files.dedup();
        Ok(files)
    }
}

/// The folder of everything that can be rebuilt: the same folder as in the product (`kernel/wire/src/paths.rs`).
pub fn cache() -> Result<PathBuf, Failure> {
    set("ONRUSH_CACHE_DIR")
        .or_else(|| set("XDG_CACHE_HOME").map(|d| d.join("onrush")))
        .or_else(|| set("HOME").map(|d| d.join(".cache/onrush")))
        .ok_or_else(|| {
            Failure::new("neither HOME nor CARGO_TARGET_DIR is set: set one, so that there is a place to build in")
        })
}

fn set(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from)
}
