//! Folders that only their owner can enter, and sockets in them. What lies there is loaded and run, so that another
//! user of the machine must neither read nor exchange it, whatever the umask and whatever he has put there before.
//!
//! A path is as safe as the folders that lead to it: each must belong to the user or to root, and others may write to
//! none but one with the sticky bit, such as `/tmp`. The owner of each symbolic link counts too. A group may write if
//! nobody else is in it ([`accounts`]).

mod accounts;

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Component, Path, PathBuf};

use accounts::Accounts;

use super::{CACHE_DIR, RUNTIME_DIR, cache_dir};

/// As the operating system has it.
const LINKS: usize = 40;
const STICKY: u32 = 0o1000;

/// The number of the user that this process acts for.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Makes a folder that only its owner can enter.
///
/// # Errors
/// `PermissionDenied` with a sentence if somebody else owns it or could write to it, or to a folder that leads to it.
pub fn private_dir(path: &Path) -> io::Result<()> {
    make(path).map_err(|error| advised(path, error))
}

fn make(path: &Path) -> io::Result<()> {
    // Before anything is made: not behind a link that somebody else has put there.
    resolve(path)?;
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let folder = resolve(path)?;
    let metadata = fs::symlink_metadata(&folder)?;
    check_own(&folder, &metadata)?;
    if metadata.mode() & 0o077 != 0 {
        fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Whether a folder is this user's alone, or will be when its mode is 700.
fn check_own(folder: &Path, metadata: &Metadata) -> io::Result<()> {
    if !metadata.is_dir() {
        return Err(refused(format!("{} is not a folder", folder.display())));
    }
    if metadata.uid() != user() {
        return Err(refused(owned_by(folder, metadata)));
    }
    if others_write(metadata) {
        return Err(refused(written_by_others(folder, metadata)));
    }
    Ok(())
}

/// The reason for which [`private_dir`] would not make this folder, or this user could not write to it. `None` if the
/// folder can be made and written to. This function makes no folder.
pub(super) fn obstacle(path: &Path) -> Option<String> {
    let look = || -> io::Result<()> {
        let mut folder = resolve(path)?;
        if let Ok(metadata) = fs::symlink_metadata(&folder) {
            check_own(&folder, &metadata)?;
        }
        while !folder.exists() && folder.pop() {}
        let wanted = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        rustix::fs::access(&folder, wanted)
            .map_err(|_| refused(format!("this user cannot write to {}", folder.display())))
    };
    look().err().map(|error| error.to_string())
}

/// Makes or empties a file that only its owner can read and write, whatever the umask.
pub fn create_private(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    if file.metadata()?.mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

/// Connects to a socket of this user.
///
/// # Errors
/// As [`private_dir`], and those of the connection.
pub fn connect(socket: &Path) -> io::Result<UnixStream> {
    let resolved = resolve(socket).map_err(|error| advised(socket, error))?;
    match fs::symlink_metadata(&resolved) {
        Ok(metadata) if metadata.uid() != user() => Err(advised(socket, refused(owned_by(&resolved, &metadata)))),
        _ => UnixStream::connect(&resolved),
    }
}

/// The process that listens at the other end of a connection, also while it is stopped. `None` if the system does not
/// say.
pub fn listener(stream: &UnixStream) -> Option<u32> {
    let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
    u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
}

/// The path without symbolic links, as far as it exists, if nobody else can exchange a part of it.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let whole = std::path::absolute(path)?;
    let mut rest = reversed(&whole);
    let mut at = PathBuf::from("/");
    let mut links = 0;
    while let Some(name) = rest.pop() {
        if name == ".." {
            at.pop();
            continue;
        }
        let next = at.join(&name);
        let metadata = match fs::symlink_metadata(&next) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // What is not there yet is made here.
                return Ok(rest.iter().rev().fold(next, |path, name| path.join(name)));
            }
            Err(error) => return Err(error),
        };
        if !is_trusted(metadata.uid()) {
            return Err(refused(owned_by(&next, &metadata)));
        }
        if metadata.is_symlink() {
            links += 1;
            if links > LINKS {
                return Err(refused(format!("{} leads through too many symbolic links", next.display())));
            }
            let target = fs::read_link(&next)?;
            if target.is_absolute() {
                at = PathBuf::from("/");
            }
            rest.extend(reversed(&target));
            continue;
        }
        if !rest.is_empty() && metadata.is_dir() && others_write(&metadata) && metadata.mode() & STICKY == 0 {
            return Err(refused(written_by_others(&next, &metadata)));
        }
        at = next;
    }
    Ok(at)
}

/// The names of a path, the last one first.
fn reversed(path: &Path) -> Vec<OsString> {
    let names = path.components().filter(|c| matches!(c, Component::Normal(_) | Component::ParentDir));
    let mut names: Vec<OsString> = names.map(|c| c.as_os_str().to_os_string()).collect();
    names.reverse();
    names
}

fn is_trusted(owner: u32) -> bool {
    owner == 0 || owner == user() || is_outside(owner)
}

/// Inside of a user namespace (a container without root) the machine's root has no number, and is shown as this one.
fn is_outside(owner: u32) -> bool {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let shown: u32 = read("/proc/sys/kernel/overflowuid").trim().parse().unwrap_or(65534);
    owner == shown && read("/proc/self/uid_map").split_whitespace().ne(["0", "0", "4294967295"])
}

fn others_write(metadata: &Metadata) -> bool {
    let (user, group) = (user(), rustix::process::getegid().as_raw());
    writable_by_others(metadata.mode(), metadata.gid(), |gid| {
        is_own_group(gid, user) || Accounts::read().is_alone(user, group, gid)
    })
}

/// Whether a mode lets others than the owner write. `is_own`: whether a group holds nobody else.
fn writable_by_others(mode: u32, group: u32, is_own: impl FnOnce(u32) -> bool) -> bool {
    mode & 0o002 != 0 || mode & 0o020 != 0 && !is_own(group)
}

/// A group that holds nobody else, whatever the databases say: root's, and the one that systems make for each user,
/// with the user's number.
fn is_own_group(group: u32, user: u32) -> bool {
    group == 0 || group == user && group >= 1000
}

fn owned_by(path: &Path, metadata: &Metadata) -> String {
    format!("{} belongs to another user (number {})", path.display(), metadata.uid())
}

fn written_by_others(path: &Path, metadata: &Metadata) -> String {
    format!("other users can write to {} (its mode is {:03o})", path.display(), metadata.mode() & 0o777)
}

fn refused(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, what)
}

/// Says what to do about a folder that is refused; errors of the operating system stay what they are.
fn advised(path: &Path, error: io::Error) -> io::Error {
    if error.raw_os_error().is_some() || error.kind() != io::ErrorKind::PermissionDenied {
        return error;
    }
    let variable = if path.starts_with(cache_dir()) { CACHE_DIR } else { RUNTIME_DIR };
    let help = format!("remove it or take their rights away (`chmod go-w`), or set {variable} to a folder of your own");
    refused(format!("{error}: {help}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{lchown, symlink};
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// A folder such as `/tmp`, in which everybody may make things.
    struct SharedFolder(PathBuf);

    impl SharedFolder {
        fn new() -> SharedFolder {
            static COUNT: AtomicU32 = AtomicU32::new(0);
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("onrush-private-{}-{number}", std::process::id()));
            fs::create_dir(&path).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o1777)).unwrap();
            SharedFolder(path)
        }

        fn folder(&self, name: &str, mode: u32) -> PathBuf {
            let path = self.0.join(name);
            fs::create_dir(&path).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            path
        }
    }

    impl Drop for SharedFolder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    fn refusal(path: &Path) -> String {
        let error = private_dir(path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
        error.to_string()
    }

    #[test]
    fn every_folder_on_the_way_is_private() {
        let shared = SharedFolder::new();
        let path = shared.0.join("a/b/c");
        private_dir(&path).unwrap();
        assert_eq!([&path, &shared.0.join("a/b"), &shared.0.join("a")].map(|p| mode(p)), [0o700; 3]);
        let readable = shared.folder("readable", 0o755);
        private_dir(&readable).unwrap();
        assert_eq!(mode(&readable), 0o700);
        drop(create_private(&path.join("f")).unwrap());
        assert_eq!(mode(&path.join("f")), 0o600);
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_refused() {
        let shared = SharedFolder::new();
        let loose = shared.folder("loose", 0o777);
        assert!(refusal(&loose).contains("loose (its mode is 777)"));
        assert!(refusal(&loose.join("below")).contains("loose (its mode is 777)"));
        assert!(!loose.join("below").exists());
        // A folder like /tmp itself is not private.
        assert!(refusal(&shared.0).contains("its mode is 777"));
    }

    /// What the operating system says of the modes: `w` of others, and of a group with others in it.
    #[test]
    fn a_group_may_write_if_nobody_else_is_in_it() {
        let decide = |mode: u32, is_own: bool| writable_by_others(mode, 100, |_| is_own);
        assert!(!decide(0o42775, true));
        assert!(decide(0o42775, false));
        assert!(decide(0o40777, true));
        assert!(!decide(0o40755, false));
        assert!(is_own_group(0, 1000) && is_own_group(1000, 1000));
        assert!(!is_own_group(100, 1000) && !is_own_group(100, 100));
    }

    #[test]
    fn a_folder_that_cannot_be_made_private_has_an_obstacle() {
        let shared = SharedFolder::new();
        assert_eq!(obstacle(&shared.0.join("a/b")), None);
        assert!(!shared.0.join("a").exists());
        let loose = shared.folder("loose", 0o777);
        assert!(obstacle(&loose.join("below")).unwrap().contains("loose (its mode is 777)"));
        assert!(obstacle(&loose).unwrap().contains("loose (its mode is 777)"));
        let closed = shared.folder("closed", 0o555);
        // Root writes everywhere.
        assert_eq!(obstacle(&closed.join("below")).is_none(), user() == 0);
    }

    #[test]
    fn a_link_is_followed_if_it_is_ones_own() {
        let shared = SharedFolder::new();
        let real = shared.folder("real", 0o700);
        symlink(&real, shared.0.join("link")).unwrap();
        private_dir(&shared.0.join("link/cache")).unwrap();
        assert!(real.join("cache").is_dir());
        symlink("link", shared.0.join("link2")).unwrap();
        private_dir(&shared.0.join("link2/../real/other")).unwrap();
        assert!(real.join("other").is_dir());
        symlink("round", shared.0.join("round")).unwrap();
        assert!(refusal(&shared.0.join("round/cache")).contains("too many symbolic links"));
    }

    /// As root, who can make things that belong to another user.
    #[test]
    fn what_another_user_has_put_there_is_refused() {
        let shared = SharedFolder::new();
        let (theirs, link) = (shared.folder("theirs", 0o700), shared.0.join("link"));
        symlink(shared.folder("real", 0o700), &link).unwrap();
        let socket = shared.0.join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        connect(&socket).unwrap();
        if user() != 0 {
            return;
        }
        for path in [&theirs, &link, &socket] {
            lchown(path, Some(65534), Some(65534)).unwrap();
        }
        assert!(refusal(&theirs).contains("belongs to another user (number 65534)"));
        assert!(refusal(&theirs.join("cache")).contains("theirs belongs to another user"));
        assert!(!theirs.join("cache").exists());
        assert!(refusal(&link.join("cache")).contains("link belongs to another user"));
        assert!(!shared.0.join("real/cache").exists());
        assert!(connect(&socket).unwrap_err().to_string().contains("socket belongs to another user"));
    }
}
