//! The compiler and the cargo that cells are compiled with. They are looked for in `prelude_build`.

use std::path::PathBuf;

/// A compiler, without rustup's choice by folder in between.
#[derive(Clone, Debug)]
pub struct Toolchain {
    pub rustc: PathBuf,
    pub cargo: PathBuf,
    pub sysroot: PathBuf,
    /// `rustc -vV`.
    pub verbose_version: String,
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
