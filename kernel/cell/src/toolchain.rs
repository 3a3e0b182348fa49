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
    /// The reason for which there is neither a C compiler nor a program instead of it.
    pub no_linker: Option<String>,
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

    /// The linker that belongs to rustc. Toolchains of a system may lack it.
    pub fn rust_lld(&self) -> PathBuf {
        self.sysroot.join("lib/rustlib").join(self.host()).join("bin/rust-lld")
    }
}

/// The toolchain that the packages `onrush-toolchain-*` install below the prefix of the program, with the prelude that
/// it built. Nothing is written there.
pub struct InstalledToolchain(PathBuf);

impl InstalledToolchain {
    /// `PREFIX/share/onrush/toolchain` for the program `PREFIX/bin/onrush`. `None` if a package is missing.
    pub fn find() -> Option<Self> {
        Self::of_packages().filter(InstalledToolchain::is_whole)
    }

    /// The folder of the packages. Some of them may be missing.
    pub fn of_packages() -> Option<Self> {
        let program = std::env::current_exe().and_then(fs::canonicalize).ok()?;
        Self::below(program.parent()?.parent()?)
    }

    fn below(prefix: &Path) -> Option<Self> {
        let folder = prefix.join("share/onrush/toolchain");
        folder.is_dir().then_some(InstalledToolchain(folder))
    }

    /// Whether the packages of the compiler, of LLVM and of the standard library are there. Each has a file of these.
    pub fn is_whole(&self) -> bool {
        let Some(toolchain) = self.toolchain() else { return false };
        let (own, target) = (self.0.join("lib"), toolchain.library_folder());
        let has_compiler = toolchain.rustc.is_file() && has_file(&own, "librustc_driver-", ".so");
        let has_llvm = toolchain.rust_lld().is_file() && has_file(&own, "libLLVM", ".so");
        has_compiler && has_llvm && has_file(&target, "libstd-", ".rlib")
    }

    pub fn folder(&self) -> &Path {
        &self.0
    }

    pub fn toolchain(&self) -> Option<Toolchain> {
        let (rustc, cargo) = (self.0.join("bin/rustc"), self.0.join("bin/cargo"));
        let verbose_version = fs::read_to_string(self.0.join("version")).ok()?;
        Some(Toolchain { rustc, cargo, sysroot: self.0.clone(), verbose_version, linker: None, no_linker: None })
    }

    /// The folder of a prelude build.
    pub fn prelude(&self, key: &str) -> PathBuf {
        self.0.join("prelude").join(key)
    }
}

/// Whether a folder has a file whose name has this start and, behind it, this part.
fn has_file(folder: &Path, start: &str, part: &str) -> bool {
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let mut names = names.map(|name| name.to_string_lossy().into_owned());
    names.any(|name| name.strip_prefix(start).is_some_and(|rest| rest.contains(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installed_toolchain_is_whole_or_not_there() {
        let prefix = std::env::temp_dir().join(format!("onrush-toolchain-{}", std::process::id()));
        let folder = prefix.join("share/onrush/toolchain");
        assert!(InstalledToolchain::below(&prefix).is_none());
        let write = |file: &str, text: &str| {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("version", "rustc 1.95.0\nhost: x86_64-unknown-linux-gnu\nrelease: 1.95.0\n");
        let installed = InstalledToolchain::below(&prefix).unwrap();
        for file in [
            "bin/rustc",
            "lib/librustc_driver-0123.so",
            "lib/libLLVM.so.22.1-rust-1.95.0-stable",
            "lib/rustlib/x86_64-unknown-linux-gnu/bin/rust-lld",
            "lib/rustlib/x86_64-unknown-linux-gnu/lib/libstd-0123.rlib",
        ] {
            assert!(!installed.is_whole(), "without {file}");
            write(file, "");
        }
        assert!(installed.is_whole());
        let toolchain = installed.toolchain().unwrap();
        assert_eq!((toolchain.version(), toolchain.sysroot.as_path()), ("1.95.0", folder.as_path()));
        fs::remove_dir_all(&prefix).unwrap();
    }
}
