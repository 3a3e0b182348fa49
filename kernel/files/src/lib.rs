//! The only writer of files that a user names: frames, models, graphs, pictures, pages, notebooks and exported
//! projects.
//!
//! Symbolic links are followed. Pipes, devices and sockets are refused. A file that is there keeps its mode and its
//! owner. The bytes go to a temporary file in the same folder, which replaces the target after it is complete. Caches
//! and spilled data are written elsewhere: `xtask/src/tidy/writers.rs` lists these places.

mod folder;
mod temporary;

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use onrush_wire::{Class, Diagnostic};
use rustix::fs::FallocateFlags;

pub use folder::TemporaryFolder;
pub use temporary::Temporary;

/// Links that are followed, as the kernel does.
const LINKS: usize = 40;

/// A file that was checked and can be written.
pub struct Target {
    /// As the user named it, absolute.
    pub named: PathBuf,
    /// Behind all links.
    file: PathBuf,
    /// Metadata of the file that is replaced.
    existing: Option<Metadata>,
}

impl Target {
    /// Checks a path. Nothing is written yet. A relative path is below the folder of the process.
    ///
    /// # Errors
    /// A missing folder, a path that exists and is not a regular file, a file that may not be written.
    pub fn open(path: &Path) -> Result<Target, Diagnostic> {
        let named = std::path::absolute(path).map_err(|e| io_diagnostic("written", path, &e))?;
        if named.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(a_folder(path));
        }
        let file = behind_links(&named)?;
        let existing = match fs::metadata(&file) {
            Ok(metadata) => Some(metadata),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => None,
            Err(error) => return Err(io_diagnostic("written", &named, &error)),
        };
        if let Some(kind) = existing.as_ref().and_then(special) {
            return Err(Diagnostic::error(
                Class::Data,
                "not-a-file",
                format!("`{}` is {kind}, not a regular file", named.display()),
            )
            .help("write to a regular file, and copy it from there"));
        }
        if existing.is_some() {
            // Another file in its place would also replace one that must not be changed.
            OpenOptions::new().write(true).open(&file).map_err(|e| io_diagnostic("written", &named, &e))?;
        }
        check_parent(&named, &file)?;
        Ok(Target { named, file, existing })
    }

    /// Creates a temporary file in the folder of the target.
    ///
    /// # Errors
    /// A folder that cannot be written, a full disk.
    pub fn temporary(&self) -> Result<(Temporary, File), Diagnostic> {
        // Nobody reads half of a file who may not read the whole.
        let mode = if self.existing.is_some() { 0o600 } else { 0o666 };
        temporary::create(&self.file, mode).map_err(|e| io_diagnostic("written", &self.named, &e))
    }

    /// Gives the complete file the name, mode and owner of the target. Returns its bytes. Call [`File::sync_all`]
    /// first.
    ///
    /// # Errors
    /// A failed rename. The target is then as it was.
    pub fn replace(&self, mut temporary: Temporary, file: &File) -> Result<u64, Diagnostic> {
        let failed = |e: io::Error| io_diagnostic("written", &self.named, &e);
        let written = file.metadata().map_err(failed)?;
        if let Some(existing) = &self.existing {
            // Another file in its place would take the content away from the other names of this one.
            let has_more_names = existing.nlink() > 1;
            let is_of_another = (existing.uid(), existing.gid()) != (written.uid(), written.gid());
            if has_more_names || is_of_another && fchown(file, Some(existing.uid()), Some(existing.gid())).is_err() {
                let existing = existing.len();
                return self.overwrite(temporary, existing, written.len()).map(|()| written.len());
            }
            file.set_permissions(Permissions::from_mode(existing.mode() & 0o7777)).map_err(failed)?;
        }
        fs::rename(temporary.path(), &self.file).map_err(failed)?;
        temporary.leave();
        Ok(written.len())
    }

    /// Copies the new content over the old one. Its space is reserved before a byte of the old one is lost.
    fn overwrite(&self, mut temporary: Temporary, before: u64, after: u64) -> Result<(), Diagnostic> {
        let failed = |e: io::Error| io_diagnostic("written", &self.named, &e);
        let mut from = File::open(temporary.path()).map_err(failed)?;
        let mut to = OpenOptions::new().write(true).open(&self.file).map_err(failed)?;
        if after > before {
            match rustix::fs::fallocate(&to, FallocateFlags::KEEP_SIZE, before, after - before) {
                // Not every file system can.
                Ok(()) | Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {}
                Err(error) => return Err(failed(error.into())),
            }
        }
        let copied = io::copy(&mut from, &mut to).and_then(|_| to.set_len(after)).and_then(|()| to.sync_all());
        copied.map_err(|error| {
            temporary.leave();
            failed(error).note(format!("the new content is complete in `{}`", temporary.path().display()))
        })
    }
}

/// Writes a whole file. Returns its bytes.
///
/// # Errors
/// Those of [`Target::open`], and a full disk. The target is then as it was.
pub fn write(path: &Path, bytes: &[u8]) -> Result<u64, Diagnostic> {
    let target = Target::open(path)?;
    let (temporary, mut file) = target.temporary()?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(|e| io_diagnostic("written", &target.named, &e))?;
    target.replace(temporary, &file)
}

/// The file that a path stands for, whether it is there or not.
///
/// # Errors
/// Links that lead to each other.
pub fn behind_links(path: &Path) -> Result<PathBuf, Diagnostic> {
    let mut file = path.to_path_buf();
    for _ in 0..LINKS {
        match fs::read_link(&file) {
            // Relative to the link's folder.
            Ok(to) => file = file.parent().unwrap_or(Path::new("/")).join(to),
            Err(_) => return Ok(file),
        }
    }
    Err(Diagnostic::error(
        Class::Data,
        "link-loop",
        format!("`{}` cannot be written: its symbolic links lead to each other", path.display()),
    )
    .help("remove the link, or write to another name"))
}

/// Refuses a file whose folder is missing. `named` is the path in the message.
///
/// # Errors
/// The missing folder, with the part of its path that exists.
pub fn check_parent(named: &Path, file: &Path) -> Result<(), Diagnostic> {
    match file.parent() {
        Some(parent) if !parent.is_dir() => {
            let existing = parent.ancestors().find(|a| a.is_dir()).unwrap_or(Path::new("/"));
            Err(Diagnostic::error(
                Class::Data,
                "no-folder",
                format!("`{}` cannot be written: there is no folder `{}`", named.display(), parent.display()),
            )
            .note(format!("`{}` exists", existing.display()))
            .help(format!("make it first: std::fs::create_dir_all(\"{}\")?", parent.display())))
        }
        _ => Ok(()),
    }
}

/// The error of a folder in the place of a file.
fn a_folder(path: &Path) -> Diagnostic {
    let message = format!("`{}` is a folder, not a file", path.display());
    Diagnostic::error(Class::Data, "is-a-folder", message).help("give the name of a file in it")
}

/// The error of a system call. `what` is a participle: "written", "read".
#[must_use]
pub fn io_diagnostic(what: &str, path: &Path, error: &io::Error) -> Diagnostic {
    use io::ErrorKind;
    let class = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::OutOfMemory => Class::Resources,
        _ => Class::Data,
    };
    let diagnostic =
        Diagnostic::error(class, "file-error", format!("`{}` could not be {what}: {error}", path.display()));
    match error.kind() {
        ErrorKind::PermissionDenied => diagnostic.help("check the permissions of the file and of the folders above it"),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            diagnostic.help("free some disk space, or use another folder")
        }
        _ => diagnostic,
    }
}

/// The kind of a path that is not a regular file. `None` for a regular file.
fn special(metadata: &Metadata) -> Option<&'static str> {
    let kind = metadata.file_type();
    match () {
        () if kind.is_file() => None,
        () if kind.is_dir() => Some("a folder"),
        () if kind.is_fifo() => Some("a pipe"),
        () if kind.is_socket() => Some("a socket"),
        () if kind.is_char_device() || kind.is_block_device() => Some("a device"),
        () => Some("something else"),
    }
}
