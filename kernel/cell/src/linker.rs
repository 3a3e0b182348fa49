//! The linker that rustc brings along, called without rustc and the C compiler in between: a quarter of the time of a
//! one-line cell.
//!
//! The cell process has loaded the prelude and the standard library already. A link would spend its time on their
//! symbol tables, so they are left out. The C compiler is asked once where the system's libraries are, and the answer
//! is kept with the prelude build. If such a link fails, rustc links the cell again, so nothing is lost on an unusual
//! machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::toolchain::Toolchain;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Linker {
    program: PathBuf,
    /// The libraries of the system that compiled Rust calls by itself, for the versions of their symbols.
    libraries: Vec<PathBuf>,
}

impl Linker {
    /// Finds the linker of this toolchain. `None` if the toolchain has no linker or the system's libraries are not
    /// found.
    pub fn find(toolchain: &Toolchain, kit: &Path) -> Option<Linker> {
        let record = kit.join("libraries.json");
        if let Some(known) = fs::read(&record).ok().and_then(|bytes| serde_json::from_slice::<Linker>(&bytes).ok()) {
            return known.program.is_file().then_some(known);
        }
        let found = Linker::look(toolchain)?;
        if let Ok(bytes) = serde_json::to_vec(&found) {
            // Looked for again next time.
            let _ = fs::write(record, bytes);
        }
        Some(found)
    }

    fn look(toolchain: &Toolchain) -> Option<Linker> {
        let program = toolchain.library_folder().parent()?.join("bin/rust-lld");
        if !program.is_file() {
            return None;
        }
        let mut libraries: Vec<PathBuf> = Vec::new();
        for library in ["libc.so.6", "libm.so.6", "libgcc_s.so.1"] {
            let mut command = Command::new("cc");
            command.arg(format!("-print-file-name={library}")).stdin(Stdio::null()).stderr(Stdio::null());
            let output = command.output().ok()?.stdout;
            // Without a folder it was not found.
            libraries.push(fs::canonicalize(String::from_utf8(output).ok()?.trim()).ok().filter(|p| p.is_file())?);
        }
        Some(Linker { program, libraries })
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
