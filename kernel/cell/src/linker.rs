//! The linker that rustc brings along, called without the C compiler in between: a fifth of the time of a one-line cell.
//!
//! What only the C compiler knows, its library folders, is asked once and kept beside the kit. A link that fails this way is
//! done again the usual way, so nothing is lost where a machine is unusual.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::kit::Toolchain;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Linker {
    program: PathBuf,
    /// Where `libc.so` and `libgcc_s.so` are.
    folders: Vec<PathBuf>,
}

impl Linker {
    /// The linker of this toolchain; `None` where it has none of its own or the system's libraries are not found.
    pub fn find(toolchain: &Toolchain, kit: &Path) -> Option<Linker> {
        let record = kit.join("linker.json");
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
        let mut folders: Vec<PathBuf> = Vec::new();
        for library in ["libc.so", "libgcc_s.so"] {
            let mut command = Command::new("cc");
            command.arg(format!("-print-file-name={library}")).stdin(Stdio::null()).stderr(Stdio::null());
            let output = command.output().ok()?.stdout;
            // Without a folder it was not found.
            let path = fs::canonicalize(String::from_utf8(output).ok()?.trim()).ok().filter(|p| p.is_file())?;
            let folder = path.parent()?.to_path_buf();
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        Some(Linker { program, folders })
    }

    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![format!("-Clinker={}", self.program.display()), "-Clinker-flavor=ld.lld".to_string()];
        arguments.extend(self.folders.iter().map(|folder| format!("-Clink-arg=-L{}", folder.display())));
        arguments
    }
}
