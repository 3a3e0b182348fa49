//! The compiler and the cargo that cells are compiled with. They are looked for in `prelude_build`.

use std::fs;
use std::path::{Path, PathBuf};

/// A compiler, without rustup's choice by folder in between.
#[derive(Clone, Debug)]
pub struct Toolchain {
    pub rustc: PathBuf,
    pub cargo: PathBuf,
    pub sysroot: PathBuf,
    /// `rustc -vV`.
    pub verbose_version: String,
    /// The program that rustc links with instead of `cc`, on a machine without a C compiler.
    pub linker: Option<PathBuf>,
}

impl Toolchain {
    /// Such as `1.95.0`.
    pub fn version(&self) -> &str {
        self.field("release: ").unwrap_or("unknown")
    }

    pub fn host(&self) -> &str {
        self.field("host: ").unwrap_or("x86_64-unknown-linux-gnu")
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.verbose_version.lines().find_map(|line| line.strip_prefix(name))
    }

    /// The folder in which the loader finds `libstd`.
    pub fn library_folder(&self) -> PathBuf {
        self.sysroot.join("lib/rustlib").join(self.host()).join("lib")
    }
}

/// The toolchain that the packages `onrush-toolchain-*` install below the prefix of the program, with the prelude that
/// it built. Nothing is written there.
pub struct InstalledToolchain(PathBuf);

impl InstalledToolchain {
    /// `PREFIX/share/onrush/toolchain` for the program `PREFIX/bin/onrush`.
    pub fn find() -> Option<Self> {
        let program = std::env::current_exe().and_then(fs::canonicalize).ok()?;
        Self::below(program.parent()?.parent()?)
    }

    fn below(prefix: &Path) -> Option<Self> {
        let folder = prefix.join("share/onrush/toolchain");
        let is_whole = folder.join("version").is_file() && folder.join("bin/rustc").is_file();
        is_whole.then_some(InstalledToolchain(folder))
    }

    pub fn toolchain(&self) -> Option<Toolchain> {
        let (rustc, cargo) = (self.0.join("bin/rustc"), self.0.join("bin/cargo"));
        let verbose_version = fs::read_to_string(self.0.join("version")).ok()?;
        Some(Toolchain { rustc, cargo, sysroot: self.0.clone(), verbose_version, linker: None })
    }

    /// The folder of a prelude build.
    pub fn prelude(&self, key: &str) -> PathBuf {
        self.0.join("prelude").join(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installed_toolchain_is_whole_or_not_there() {
        let prefix = std::env::temp_dir().join(format!("onrush-toolchain-{}", std::process::id()));
        let folder = prefix.join("share/onrush/toolchain");
        fs::create_dir_all(folder.join("bin")).unwrap();
        fs::write(folder.join("version"), "rustc 1.95.0\nhost: x86_64-unknown-linux-gnu\nrelease: 1.95.0\n").unwrap();
        assert!(InstalledToolchain::below(&prefix).is_none());
        fs::write(folder.join("bin/rustc"), "").unwrap();
        let toolchain = InstalledToolchain::below(&prefix).unwrap().toolchain().unwrap();
        assert_eq!((toolchain.version(), toolchain.sysroot.as_path()), ("1.95.0", folder.as_path()));
        fs::remove_dir_all(&prefix).unwrap();
    }
}
