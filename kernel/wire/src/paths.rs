//! Where Onrush keeps things, one function each. Environment variables that move them are named here and nowhere else.

mod private;

use std::env;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

pub use private::{connect, create_private, listener, private_dir};

/// Moves sockets and other files that live as long as the session. Default: `$XDG_RUNTIME_DIR/onrush`, else
/// `/tmp/onrush-UID`.
pub const RUNTIME_DIR: &str = "ONRUSH_RUNTIME_DIR";
/// Moves what can be made again: compiled cells, the prelude. Default: `$XDG_CACHE_HOME/onrush`, else
/// `~/.cache/onrush`; for a user without a home folder, or with one that others can write to, `/tmp/onrush-UID/cache`.
pub const CACHE_DIR: &str = "ONRUSH_CACHE_DIR";
/// Which engine: `auto`, `cpu`, `cuda` or `emulated`.
pub const ENGINE: &str = "ONRUSH_ENGINE";
/// Path of the session's socket, instead of the one in the runtime folder.
pub const SESSION: &str = "ONRUSH_SESSION";
/// Bytes of host memory that the session may hold; default: half of what the machine has. Suffixes K, M, G.
pub const MEMORY: &str = "ONRUSH_MEMORY";
/// Bytes of a GPU's memory that the session may use; default: nine tenths of what is free. Suffixes K, M, G.
pub const DEVICE_MEMORY: &str = "ONRUSH_DEVICE_MEMORY";
/// Bytes that a notebook's cells may hold in variables; default: half of what the machine has. Suffixes K, M, G;
/// `none`.
pub const CELL_MEMORY: &str = "ONRUSH_CELL_MEMORY";
/// Bytes of a file that is fetched from another place, at most; default: 8G. Suffixes K, M, G; `none`.
pub const DOWNLOAD_LIMIT: &str = "ONRUSH_DOWNLOAD_LIMIT";
/// The token of a cluster's workers, which the session shows them; default: what [`token_file`] holds.
pub const TOKEN: &str = "ONRUSH_TOKEN";
/// Seconds for which the session keeps what a failed cell had finished; default: 600.
pub const PARKED: &str = "ONRUSH_PARKED";

/// Folder of Onrush's programs, which the kernel process says to its cell processes.
pub const PROGRAMS: &str = "ONRUSH_PROGRAMS";

/// Seconds after which a session with nobody attached ends. Default: 60.
pub const IDLE: &str = "ONRUSH_IDLE";

/// How long a session stays without an attached client. A value that is not a number counts as not set.
pub fn idle() -> Duration {
    seconds(IDLE, 60)
}

/// How long results of a failed cell are kept. A value that is not a number counts as not set.
pub fn parked() -> Duration {
    seconds(PARKED, 600)
}

fn seconds(name: &str, default: u64) -> Duration {
    let given = env::var(name).ok().and_then(|v| v.trim().parse::<f64>().ok());
    given.and_then(|s| Duration::try_from_secs_f64(s).ok()).unwrap_or(Duration::from_secs(default))
}

/// `$XDG_CONFIG_HOME/onrush/token`, else `~/.config/onrush/token`. `None` for a user without a home folder.
pub fn token_file() -> Option<PathBuf> {
    let config = set("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    Some(config.or_else(|| Some(home()?.join(".config")))?.join("onrush/token"))
}

fn set(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from)
}

pub fn runtime_dir() -> PathBuf {
    set(RUNTIME_DIR).or_else(|| set("XDG_RUNTIME_DIR").map(|d| d.join("onrush"))).unwrap_or_else(temporary)
}

/// What is kept there is loaded and run: [`private_dir`] before it is used.
pub fn cache_dir() -> PathBuf {
    named_cache().unwrap_or_else(|| usual_cache().0.clone())
}

/// A sentence if the cache is not below the home folder, where it usually is, because it could not be private there.
pub fn cache_notice() -> Option<String> {
    if named_cache().is_some() { None } else { usual_cache().1.clone() }
}

/// The folder that the user has chosen.
fn named_cache() -> Option<PathBuf> {
    set(CACHE_DIR).or_else(|| set("XDG_CACHE_HOME").map(|d| d.join("onrush")))
}

/// Decided once, so that all parts of a process agree.
fn usual_cache() -> &'static (PathBuf, Option<String>) {
    static DECIDED: OnceLock<(PathBuf, Option<String>)> = OnceLock::new();
    DECIDED.get_or_init(|| {
        let other = temporary().join("cache");
        let Some(usual) = home().map(|d| d.join(".cache/onrush")) else { return (other, None) };
        match private::obstacle(&usual) {
            None => (usual, None),
            Some(why) => {
                let notice = format!(
                    "the cache is {}, because {} cannot be used: {why}; {CACHE_DIR} names another folder",
                    other.display(),
                    usual.display()
                );
                (other, Some(notice))
            }
        }
    })
}

/// `HOME`, else the home folder of the user database if it is there and the user's own: services and `env -i` have no
/// HOME.
pub fn home() -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt;
    let listed = || {
        let folder = env::home_dir().filter(|folder| folder.is_absolute())?;
        let metadata = std::fs::metadata(&folder).ok()?;
        (metadata.is_dir() && metadata.uid() == private::user()).then_some(folder)
    };
    set("HOME").or_else(listed)
}

/// One for each user: a folder in `/tmp` that several users share is a way from one to the other.
fn temporary() -> PathBuf {
    env::temp_dir().join(format!("onrush-{}", private::user()))
}

/// Bytes that this user can still write to the disk with this folder.
pub fn free(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

pub fn session_socket() -> PathBuf {
    set(SESSION).unwrap_or_else(|| runtime_dir().join("session.sock"))
}
