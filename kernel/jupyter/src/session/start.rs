//! The start of a session's process, and why it failed.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use onrush_wire::{Class, Diagnostic, paths};

use super::{executable, log_path};

/// A fresh session has this long until it answers.
const START_LIMIT: Duration = Duration::from_secs(20);

/// Starts a session in the background. It outlives this kernel and does not belong to its process group, because
/// Jupyter ends whole groups. Without an `engine` it has that of the environment.
pub fn start(socket: &Path, engine: Option<&str>) -> Result<(), Diagnostic> {
    let executable = executable()?;
    let failed = |what: &str, error: io::Error| {
        Diagnostic::error(
            Class::Environment,
            "no-session",
            format!("the session could not be started: {what}: {error}"),
        )
        .help("`onrush doctor` says what is missing")
    };
    if let Some(folder) = socket.parent() {
        paths::private_dir(folder).map_err(|e| failed(&format!("the folder {}", folder.display()), e))?;
    }
    let output = std::fs::OpenOptions::new().create(true).append(true).open(log_path(socket));
    let output = output.map_err(|e| failed(&log_path(socket).display().to_string(), e))?;
    let errors = output.try_clone().map_err(|e| failed("its log", e))?;
    let begun = output.metadata().map_or(0, |metadata| metadata.len());
    let mut child = Command::new(&executable)
        .arg("serve")
        .env(paths::SESSION, socket)
        .envs(engine.map(|engine| (paths::ENGINE, engine)))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .process_group(0)
        .spawn()
        .map_err(|e| failed(&executable.display().to_string(), e))?;
    // `serve` puts the session into the background, and ends when it answers.
    let end = Instant::now() + START_LIMIT;
    loop {
        match child.try_wait().map_err(|e| failed("its process", e))? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => {
                let said = said_since(&log_path(socket), begun);
                let why = if said.is_empty() { format!("it ended with {status}") } else { said };
                return Err(failed("onrush-session", io::Error::other(why)));
            }
            None if Instant::now() > end => {
                let _ = child.kill().and_then(|()| child.wait());
                let why = format!("no answer within {} s", START_LIMIT.as_secs());
                return Err(failed("onrush-session", io::Error::other(why)));
            }
            None => std::thread::sleep(Duration::from_millis(3)),
        }
    }
}

/// The text of the log after its first `begun` bytes, in one line.
fn said_since(log: &Path, begun: u64) -> String {
    use std::io::{Read, Seek, SeekFrom};
    let mut text = Vec::new();
    let read = std::fs::File::open(log).and_then(|mut file| {
        file.seek(SeekFrom::Start(begun))?;
        file.take(2000).read_to_end(&mut text)
    });
    match read {
        Ok(_) => String::from_utf8_lossy(&text).split_whitespace().collect::<Vec<_>>().join(" "),
        Err(_) => String::new(),
    }
}
