//! The target of a written frame: a file here, which `onrush_files` replaces, or one in another place, to which the
//! complete file is sent.

use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use onrush_files::Temporary;
use onrush_frame::TaskHandle;
use onrush_places::Places;
use onrush_wire::{Class, Diagnostic};

use crate::file::io_diagnostic;
use crate::paths;

/// A file that was checked and can be written.
pub(super) struct Target {
    /// As the user named it, absolute.
    pub named: PathBuf,
    file: onrush_files::Target,
    /// The address to which the complete file is sent. The file here is then removed.
    upload: Option<String>,
    /// Whether the file is part of a folder, which waits for the disk once.
    pub is_part: bool,
}

impl Target {
    /// # Errors
    /// A missing folder, a path that exists and is not a regular file, a file that may not be written.
    pub fn open(given: &str, folder: &str) -> Result<Target, Diagnostic> {
        if onrush_places::is_place(given) {
            return Target::elsewhere(given);
        }
        let named = paths::absolute(given, folder);
        if given.trim().is_empty() {
            return Err(Diagnostic::error(Class::Plan, "no-file", "the file name is empty")
                .help("give a path, such as \"out.parquet\""));
        }
        if named.is_dir() || given.ends_with('/') {
            return Err(a_folder(&named.display().to_string(), given));
        }
        let file = onrush_files::Target::open(&named)?;
        Ok(Target { named, file, upload: None, is_part: false })
    }

    /// A file in another place: written to the cache folder first.
    fn elsewhere(address: &str) -> Result<Target, Diagnostic> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Places::of_process().check_writable(address)?;
        let named = PathBuf::from(address);
        if address.ends_with('/') || named.file_name().is_none() {
            return Err(a_folder(address, address));
        }
        let folder = onrush_wire::paths::cache_dir().join("uploads");
        onrush_wire::paths::private_dir(&folder).map_err(|e| io_diagnostic("made", &folder, &e))?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}.{number}.{}", std::process::id(), paths::short(&named));
        let file = onrush_files::Target::open(&folder.join(name))?;
        Ok(Target { named, file, upload: Some(address.to_string()), is_part: false })
    }

    /// Creates a temporary file in the folder of the target.
    pub fn temporary(&self) -> Result<(Temporary, File), Diagnostic> {
        self.file.temporary()
    }

    /// Gives the complete file the name, mode and owner of the target.
    pub fn replace(&self, temporary: Temporary, file: &File, task: &TaskHandle) -> Result<u64, Diagnostic> {
        let failed = |e: std::io::Error| io_diagnostic("written", &self.named, &e);
        if !self.is_part {
            file.sync_all().map_err(failed)?;
        }
        match &self.upload {
            Some(address) => {
                let bytes = file.metadata().map_err(failed)?.len();
                Places::of_process().put(address, temporary.path(), task).map(|()| bytes)
            }
            None => self.file.replace(temporary, file),
        }
    }
}

fn a_folder(shown: &str, given: &str) -> Diagnostic {
    Diagnostic::error(Class::Data, "is-a-folder", format!("`{shown}` is a folder, not a file"))
        .help(format!("name a file in it, such as \"{}/out.parquet\"", given.trim_end_matches('/')))
}
