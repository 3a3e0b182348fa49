//! A folder that is written next to its target and replaces it when it is complete.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use onrush_wire::Diagnostic;

use crate::temporary::{is_ours, name_for, sweep};
use crate::{behind_links, check_parent, io_diagnostic};

/// A folder under way. If it is dropped before [`TemporaryFolder::replace`], it is removed.
pub struct TemporaryFolder {
    /// As the user named it, absolute.
    named: PathBuf,
    /// Behind all links.
    target: PathBuf,
    path: PathBuf,
    /// Holds the lock.
    lock: File,
    is_left: bool,
}

impl TemporaryFolder {
    /// Makes a folder next to `target`, and removes those that ended processes have left there. A target that is there
    /// is a folder without entries.
    ///
    /// # Errors
    /// A missing folder above the target, one that cannot be written.
    pub fn create(target: &Path) -> Result<TemporaryFolder, Diagnostic> {
        let named = target.to_path_buf();
        let failed = |e: io::Error| io_diagnostic("written", target, &e);
        let target = behind_links(target)?;
        check_parent(&named, &target)?;
        if let Some(folder) = target.parent() {
            sweep(folder);
        }
        // Nobody looks into a folder that will be private.
        let mode = if target.is_dir() { 0o700 } else { 0o777 };
        loop {
            let path = name_for(&target);
            match DirBuilder::new().mode(mode).create(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(failed(error)),
            }
            let Ok(lock) = File::open(&path) else { continue };
            if is_ours(&lock, &path) {
                return Ok(TemporaryFolder { named, target, path, lock, is_left: false });
            }
        }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the complete folder the name of the target, and the mode of an empty folder that is there.
    ///
    /// # Errors
    /// A failed flush or rename.
    pub fn replace(mut self) -> Result<(), Diagnostic> {
        let failed = |e: io::Error| io_diagnostic("written", &self.named, &e);
        rustix::fs::syncfs(&self.lock).map_err(|e| failed(e.into()))?;
        if let Ok(existing) = fs::metadata(&self.target) {
            let mode = existing.permissions().mode() & 0o7777;
            self.lock.set_permissions(Permissions::from_mode(mode)).map_err(failed)?;
        }
        // An empty folder makes way.
        let _ = fs::remove_dir(&self.target);
        fs::rename(&self.path, &self.target).map_err(failed)?;
        self.is_left = true;
        Ok(())
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if !self.is_left {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
