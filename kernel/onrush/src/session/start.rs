//! Outside a cell process (a program made from a notebook, a test): a session is started where none answers.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use onrush_wire::{Class, Diagnostic, Generation, NotebookId, paths};

use super::connection::{Connection, OpenError};

const PATIENCE: Duration = Duration::from_secs(10);

/// A program is its own notebook.
fn notebook() -> NotebookId {
    static ID: OnceLock<NotebookId> = OnceLock::new();
    ID.get_or_init(|| {
        let started = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_nanos());
        NotebookId(format!("program-{}-{started:x}", std::process::id()))
    })
    .clone()
}

pub fn connect_or_start(socket: &Path) -> Result<Connection, Diagnostic> {
    match Connection::open(socket, notebook(), Generation(0)) {
        Ok(connection) => return Ok(connection),
        Err(OpenError::Refused(diagnostic)) => return Err(diagnostic),
        Err(OpenError::NobodyThere(_)) => {}
    }
    let mut child = spawn()?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match Connection::open(socket, notebook(), Generation(0)) {
            Ok(connection) => return Ok(connection),
            Err(OpenError::Refused(diagnostic)) => return Err(diagnostic),
            Err(OpenError::NobodyThere(diagnostic)) => {
                // It forks into the background and ends with 0; any other end is a failure.
                let failed = matches!(child.try_wait(), Ok(Some(status)) if !status.success());
                if failed || Instant::now() > deadline {
                    return Err(diagnostic.help("start one by hand with `onrush session` to see what it says"));
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

fn spawn() -> Result<std::process::Child, Diagnostic> {
    let (program, arguments) = program().ok_or_else(|| {
        Diagnostic::error(Class::Environment, "no-session", "no session is running, and `onrush-session` was not found")
            .help("put the folder with `onrush` and `onrush-session` on PATH, or start `onrush session` by hand")
    })?;
    let mut command = Command::new(&program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map_err(|e| {
        Diagnostic::error(Class::Environment, "no-session", format!("{} could not be started", program.display()))
            .note(e.to_string())
    })
}

/// The session's program and the arguments that make it a session: next to the kernel's program, next to this one, or
/// in PATH.
pub(crate) fn program() -> Option<(PathBuf, &'static [&'static str])> {
    let of_kernel = std::env::var_os(paths::PROGRAMS).map(PathBuf::from);
    // Tests and examples are built into folders below the programs'.
    let above = of_kernel.as_deref().and_then(Path::parent).map(Path::to_path_buf);
    let beside = std::env::current_exe().ok().and_then(|exe| exe.parent().map(Path::to_path_buf));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> =
        of_kernel.into_iter().chain(above).chain(beside).chain(std::env::split_paths(&path)).collect();
    [("onrush-session", &[][..]), ("onrush", &["session"][..])].into_iter().find_map(|(name, arguments)| {
        let program = folders.iter().map(|folder| folder.join(name)).find(|program| program.is_file())?;
        Some((program, arguments))
    })
}
