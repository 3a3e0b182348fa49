//! One session for each socket: the lock, the socket, and the way into the background.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use onrush_wire::{Class, Diagnostic, paths};
use rustix::fs::{FlockOperation, flock};

use super::Options;
use super::server::{self, Supervisor};

/// How long a starter waits for another one that has the lock, and for its own child.
const PATIENCE: Duration = Duration::from_secs(10);
const STEP: Duration = Duration::from_millis(10);

fn failed(what: &str, path: &Path, error: &io::Error) -> Diagnostic {
    Diagnostic::error(
        Class::Environment,
        "no-session",
        format!("the session cannot {what} `{}`: {error}", path.display()),
    )
    .help(format!("set {} to a folder on a local file system that is yours", paths::RUNTIME_DIR))
}

fn lock_path(socket: &Path) -> PathBuf {
    socket.with_extension("lock")
}

/// Starts this executable again as a separate session, and returns after it answers. If a session answers already, none
/// is started.
pub fn start_in_background(options: &Options) -> Result<(), Diagnostic> {
    if UnixStream::connect(&options.socket).is_ok() {
        return Ok(());
    }
    let mut child = Command::new("/proc/self/exe")
        .arg("serve")
        .arg("--detached")
        .arg("--socket")
        .arg(&options.socket)
        .arg("--idle")
        .arg(options.idle.as_secs_f64().to_string())
        .current_dir("/")
        .stdin(Stdio::null())
        .spawn()
        .map_err(|e| failed("start", Path::new("/proc/self/exe"), &e))?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        if UnixStream::connect(&options.socket).is_ok() {
            return Ok(());
        }
        match child.try_wait() {
            // It joined another one that was just starting; what it had to say it has said.
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => {
                return Err(Diagnostic::error(
                    Class::Environment,
                    "no-session",
                    format!("the session ended at once ({status})"),
                ));
            }
            _ if Instant::now() > deadline => {
                return Err(Diagnostic::error(Class::Environment, "no-session", "the session does not answer"));
            }
            _ => std::thread::sleep(STEP),
        }
    }
}

/// Holds the lock for as long as the session lives.
struct Exclusive(#[allow(dead_code, reason = "the lock is in the open file")] File);

/// Takes the lock, or `None` if another session answers at the socket.
fn exclusive(socket: &Path) -> Result<Option<Exclusive>, Diagnostic> {
    let path = lock_path(socket);
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|e| failed("open", &path, &e))?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Some(Exclusive(file))),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                // Somebody else has it: a session that runs, one that is just starting, or one that is just ending.
                if UnixStream::connect(socket).is_ok() {
                    return Ok(None);
                }
                if Instant::now() > deadline {
                    return Err(Diagnostic::error(
                        Class::Environment,
                        "no-session",
                        format!("another session holds `{}` but does not answer", path.display()),
                    )
                    .help("end it: `pkill -f onrush-session`"));
                }
                std::thread::sleep(STEP);
            }
            Err(error) => return Err(failed("lock", &path, &error.into())),
        }
    }
}

/// Serves until the session is idle or shut down. Returns at once if another session answers at the socket.
pub fn serve(options: &Options) -> Result<(), Diagnostic> {
    let socket = &options.socket;
    if let Some(folder) = socket.parent() {
        paths::private_dir(folder).map_err(|e| failed("use the folder", folder, &e))?;
    }
    // The engine loads compiled kernels from there, and writes rows of frames to it.
    let cache = paths::cache_dir();
    paths::private_dir(&cache).map_err(|e| failed("use the folder", &cache, &e))?;
    if options.detached {
        // Jupyter ends whole process groups. It fails only for a process that leads its group already.
        let _ = rustix::process::setsid();
    }
    let Some(_lock) = exclusive(socket)? else { return Ok(()) };
    // With the lock held, a socket that is there belongs to nobody.
    match fs::remove_file(socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed("replace", socket, &error)),
        _ => {}
    }
    let listener = UnixListener::bind(socket).map_err(|e| failed("listen at", socket, &e))?;
    let supervisor = Arc::new(Supervisor::new(options.idle));
    server::run(&supervisor, &listener);
    // First the name, then the lock (when this returns): a starter that gets the lock binds a new socket.
    let _ = fs::remove_file(socket);
    supervisor.end();
    Ok(())
}
