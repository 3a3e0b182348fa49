//! `!command`: a shell command in the notebook's folder, its output shown while it runs.

use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use onrush_wire::host::Stream;
use onrush_wire::{Class, Diagnostic};

use crate::interface::Event;
use crate::interrupt::{Stoppable, interrupted};
use crate::process::output;

pub fn run(line: &str, folder: &Path, stop: &Arc<Stoppable>, events: &Sender<Event>) -> Result<(), Diagnostic> {
    let failed = |what: String| Diagnostic::error(Class::Run, "shell", what);
    let mut child = Command::new("/bin/sh")
        .args(["-c", line])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|e| failed(format!("the shell cannot be started: {e}")))?;
    if !stop.watch(child.id() as i32) {
        let _ = child.kill();
    }
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let (ended, ends) = mpsc::channel::<()>();
    let (events_of_err, ended_too) = (events.clone(), ended.clone());
    let events_of_out = events.clone();
    std::thread::spawn(move || {
        forward(err, Stream::Stderr, events_of_err);
        drop(ended_too);
    });
    std::thread::spawn(move || {
        forward(out, Stream::Stdout, events_of_out);
        drop(ended);
    });
    // A process that left the group keeps the pipes open: after an interrupt nobody waits for it.
    while ends.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) && !stop.interrupted() {}
    stop.unwatch();
    let status = child.wait().map_err(|e| failed(e.to_string()))?;
    if stop.interrupted() {
        return Err(interrupted());
    }
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(()),
        (Some(code), _) => Err(failed(format!("`{line}` ended with exit code {code}"))),
        (None, signal) => Err(failed(format!("`{line}` was ended by signal {}", signal.unwrap_or(0)))),
    }
}

/// Between two looks at whether the user interrupts.
const LOOK: Duration = Duration::from_millis(20);

fn forward(pipe: Option<impl Read>, stream: Stream, events: Sender<Event>) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = [0u8; 8192];
    while let Ok(n) = pipe.read(&mut buffer) {
        if n == 0 {
            return;
        }
        output(&events, stream, String::from_utf8_lossy(&buffer[..n]).into_owned());
    }
}
