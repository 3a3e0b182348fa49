//! The linker that rustc brings along, called without rustc and the C compiler in between: a quarter of the time of a
//! one-line cell.
//!
//! The cell process has loaded the prelude and the standard library already. A link would spend its time on their
//! symbol tables, so they are left out. If such a link fails, rustc links the cell again, so nothing is lost on an
//! unusual machine. For that link, and for crates, there is the C compiler, or a [stand-in](stand_in) without one.

pub mod stand_in;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::toolchain::Toolchain;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linker {
    program: PathBuf,
    /// The libraries of the system that compiled Rust calls by itself, for the versions of their symbols.
    libraries: Vec<PathBuf>,
}

impl Linker {
    /// Finds the linker of this toolchain. `None` if the toolchain has no linker or the system's libraries are not
    /// found.
    pub fn find(toolchain: &Toolchain) -> Option<Linker> {
        let program = program(toolchain)?;
        let names = ["libc.so.6", "libm.so.6", "libgcc_s.so.1"];
        let libraries = SystemLibraries::find();
        let found = names.map(|name| libraries.path(name).or_else(|| asked_of_compiler(name)));
        Some(Linker { program, libraries: found.into_iter().collect::<Option<_>>()? })
    }

    /// The arguments of every link. The machine is named so that the linker does not look for it in its arguments,
    /// which can be read only once.
    pub const FOR_EVERY_LIBRARY: [&str; 15] = [
        "-flavor",
        "gnu",
        "-m",
        "elf_x86_64",
        "-shared",
        "--eh-frame-hdr",
        "-z",
        "noexecstack",
        "-z",
        "relro",
        "-z",
        "now",
        "--build-id=none",
        "--threads=1",
        "--as-needed",
    ];

    pub fn program(&self) -> &Path {
        &self.program
    }

    pub fn libraries(&self) -> &[PathBuf] {
        &self.libraries
    }
}

/// `rust-lld` of a toolchain.
fn program(toolchain: &Toolchain) -> Option<PathBuf> {
    let program = toolchain.rust_lld();
    program.is_file().then_some(program)
}

/// The folders of the system's shared libraries. The first one holds the C library that this process has loaded, so a
/// link needs neither a C compiler nor its development files.
struct SystemLibraries(Vec<PathBuf>);

impl SystemLibraries {
    fn find() -> Self {
        let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let usual = ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib"];
        SystemLibraries(loaded_from(&maps).into_iter().chain(usual.map(PathBuf::from)).collect())
    }

    /// The file of a soname, without links.
    fn path(&self, soname: &str) -> Option<PathBuf> {
        self.0.iter().find_map(|folder| fs::canonicalize(folder.join(soname)).ok().filter(|path| path.is_file()))
    }
}

/// The folder of `libc.so.6` in the lines of `/proc/self/maps`.
fn loaded_from(maps: &str) -> Option<PathBuf> {
    let paths: BTreeSet<&Path> = maps.lines().filter_map(|line| Some(Path::new(&line[line.find('/')?..]))).collect();
    let is_c_library = |path: &&Path| path.file_name().is_some_and(|name| name == "libc.so.6");
    paths.into_iter().find(is_c_library)?.parent().map(PathBuf::from)
}

/// The path of a library, or of a file that programs begin with, as the C compiler says it.
fn asked_of_compiler(name: &str) -> Option<PathBuf> {
    let mut command = Command::new("cc");
    command.arg(format!("-print-file-name={name}")).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok()?.stdout;
    let path = PathBuf::from(String::from_utf8(output).ok()?.trim());
    // Without a folder it was not found.
    fs::canonicalize(&path).ok().filter(|found| path.is_absolute() && found.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_the_loaded_c_library_comes_first() {
        let maps = "55d0-55d1 r--p 00000000 fe:00 12   /usr/bin/onrush\n\
                    7f00-7f01 r--p 00000000 fe:00 13   /opt/my libraries/libc.so.6\n\
                    7f02-7f03 rw-p 00000000 00:00 0    [stack]\n";
        assert_eq!(loaded_from(maps), Some(PathBuf::from("/opt/my libraries")));
        assert_eq!(loaded_from("7f02-7f03 rw-p 00000000 00:00 0    [stack]\n"), None);
    }

    /// A program of Rust has loaded these three.
    #[test]
    fn libraries_of_the_system_are_found_without_a_compiler() {
        let libraries = SystemLibraries::find();
        for name in ["libc.so.6", "libm.so.6", "libgcc_s.so.1"] {
            assert!(libraries.path(name).is_some(), "{name} is in none of {:?}", libraries.0);
        }
        assert_eq!(libraries.path("libnothing.so.1"), None);
    }
}
