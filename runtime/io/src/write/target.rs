//! The target of a written file. Symbolic links are followed, and a regular file is replaced with the same mode and owner. The rows go to a
//! temporary file in the same folder first.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use onrush_frame::TaskHandle;
use onrush_places::Places;
use onrush_wire::{Class, Diagnostic};
use rustix::fs::FallocateFlags;

use crate::cache::io_diagnostic;
use crate::paths;

/// The suffix of temporary files: `.NAME.HOST.PROCESS.NUMBER.onrush`. The process that writes one holds a lock on it. A file of this host
/// without a lock belongs to no process. Locks of another host may not be visible here.
const SUFFIX: &str = ".onrush";
/// Bytes of the target's name in a temporary file's: names have at most 255.
const NAME: usize = 200;
/// Links that are followed, as the kernel does.
const LINKS: usize = 40;

/// A file that was checked and can be written.
pub(super) struct Target {
    /// As the user named it, absolute.
    pub named: PathBuf,
    /// Behind all links.
    file: PathBuf,
    /// Of the file that is there already.
    existing: Option<Metadata>,
    /// The address to which the complete file is sent. The file here is then removed.
    upload: Option<String>,
    /// Whether the file is part of a folder, which waits for the disk once.
    pub is_part: bool,
}

/// A file in the folder of the target, which replaces the target after it is complete. If it is dropped before, it is removed.
pub(super) struct Temporary {
    path: PathBuf,
    moved: bool,
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
            return Err(Diagnostic::error(
                Class::Data,
                "is-a-folder",
                format!("`{}` is a folder, not a file", named.display()),
            )
            .help(format!("name a file in it, such as \"{}/out.parquet\"", given.trim_end_matches('/'))));
        }
        let file = behind_links(&named)?;
        let existing = match fs::metadata(&file) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound || error.kind() == io::ErrorKind::NotADirectory => {
                None
            }
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
        no_folder(&named, &file)?;
        Ok(Target { named, file, existing, upload: None, is_part: false })
    }

    /// A file in another place: written to the cache folder first.
    fn elsewhere(address: &str) -> Result<Target, Diagnostic> {
        Places::of_process().check_writable(address)?;
        let named = PathBuf::from(address);
        if address.ends_with('/') || named.file_name().is_none() {
            let message = format!("`{address}` is a folder, not a file");
            return Err(Diagnostic::error(Class::Data, "is-a-folder", message)
                .help(format!("name a file in it, such as \"{}/out.parquet\"", address.trim_end_matches('/'))));
        }
        let folder = onrush_wire::paths::cache_dir().join("uploads");
        onrush_wire::paths::private_dir(&folder).map_err(|e| io_diagnostic("made", &folder, &e))?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let file = folder.join(format!("{}.{number}.{}", std::process::id(), paths::short(&named)));
        Ok(Target { named, file, existing: None, upload: Some(address.to_string()), is_part: false })
    }

    /// Creates a temporary file in the folder of the target.
    pub fn temporary(&self) -> Result<(Temporary, File), Diagnostic> {
        let failed = |e: io::Error| io_diagnostic("written", &self.named, &e);
        if let Some(folder) = self.file.parent() {
            sweep(folder);
        }
        let name = paths::short(&self.file);
        let name = &name[..name.floor_char_boundary(NAME)];
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let process = std::process::id();
            let path = self.file.with_file_name(format!(".{name}.{}.{process}.{number}{SUFFIX}", host()));
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            if self.existing.is_some() {
                // Nobody reads half of it who may not read the whole.
                options.mode(0o600);
            }
            let file = match options.open(&path) {
                Ok(file) => file,
                // Left behind by a process that had the same number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(failed(error)),
            };
            let temporary = Temporary { path, moved: false };
            match file.try_lock() {
                // Between its making and the lock, another process may have taken it for a file that nobody writes.
                Ok(()) if fs::symlink_metadata(&temporary.path).is_ok() => return Ok((temporary, file)),
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                // A file system without locks: nobody sweeps there.
                Err(TryLockError::Error(_)) => return Ok((temporary, file)),
            }
        }
    }

    /// Gives the complete file the name, mode and owner of the target.
    pub fn replace(&self, mut temporary: Temporary, file: &File, task: &TaskHandle) -> Result<u64, Diagnostic> {
        let failed = |e: io::Error| io_diagnostic("written", &self.named, &e);
        if !self.is_part {
            file.sync_all().map_err(failed)?;
        }
        let written = file.metadata().map_err(failed)?;
        if let Some(address) = &self.upload {
            return Places::of_process().put(address, &temporary.path, task).map(|()| written.len());
        }
        if let Some(existing) = &self.existing {
            if (existing.uid(), existing.gid()) != (written.uid(), written.gid())
                && fchown(file, Some(existing.uid()), Some(existing.gid())).is_err()
            {
                // Only the owner's file keeps its owner when another one takes its place.
                let existing = existing.len();
                return self.overwrite(temporary, existing, written.len()).map(|()| written.len());
            }
            file.set_permissions(fs::Permissions::from_mode(existing.mode() & 0o7777)).map_err(failed)?;
        }
        fs::rename(&temporary.path, &self.file).map_err(failed)?;
        temporary.moved = true;
        Ok(written.len())
    }

    /// Copies the new content over the old one. Its space is reserved before a byte of the old one is lost.
    fn overwrite(&self, mut temporary: Temporary, before: u64, after: u64) -> Result<(), Diagnostic> {
        let failed = |e: io::Error| io_diagnostic("written", &self.named, &e);
        let mut from = File::open(&temporary.path).map_err(failed)?;
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
            temporary.moved = true;
            failed(error).note(format!("the new content is complete in `{}`", temporary.path.display()))
        })
    }
}

static NEXT: AtomicU64 = AtomicU64::new(0);

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.moved {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The file that a path stands for, whether it is there or not.
fn behind_links(path: &Path) -> Result<PathBuf, Diagnostic> {
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

pub(super) fn no_folder(named: &Path, file: &Path) -> Result<(), Diagnostic> {
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

/// A number for this machine, or container.
fn host() -> u32 {
    static HOST: OnceLock<u32> = OnceLock::new();
    *HOST.get_or_init(|| {
        let mut hasher = DefaultHasher::new();
        rustix::system::uname().nodename().hash(&mut hasher);
        hasher.finish() as u32
    })
}

/// Removes temporary files of processes of this host that ended before they were done.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !is_temporary(&entry.file_name()) || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let path = entry.path();
        // The lock of a process ends with it, however that ends. It is held here until the file is gone.
        if let Ok(file) = OpenOptions::new().write(true).open(&path)
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(&path);
        }
    }
}

/// `.NAME.HOST.PROCESS.NUMBER.onrush`, of this host.
fn is_temporary(name: &OsStr) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let Some(rest) = name.to_str().and_then(|n| n.strip_prefix('.')?.strip_suffix(SUFFIX)) else { return false };
    let mut parts = rest.rsplitn(4, '.');
    parts.next().is_some_and(digits)
        && parts.next().is_some_and(digits)
        && parts.next().is_some_and(|part| part == host().to_string())
        && parts.next().is_some_and(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_temporary_files_are_swept() {
        let temporary = |name: &str| is_temporary(OsStr::new(name));
        let (here, elsewhere) = (host(), host().wrapping_add(1));
        assert!(temporary(&format!(".out.csv.{here}.4711.0.onrush")) && temporary(&format!(".a.{here}.1.2.onrush")));
        for other in [
            format!("out.csv.{here}.4711.0.onrush"),
            format!(".out.csv.{here}.4711.0.tmp"),
            format!(".out.csv.{here}.x.0.onrush"),
            format!(".out.csv.{elsewhere}.4711.0.onrush"),
            format!("..{here}.1.2.onrush"),
            format!(".{here}.1.2.onrush"),
        ] {
            assert!(!temporary(&other), "{other}");
        }
    }
}
