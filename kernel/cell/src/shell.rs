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
use crate::interrupt::{InterruptToken, interrupted};
use crate::process::output;
use crate::procfs::has_ended;

pub fn run(line: &str, folder: &Path, stop: &Arc<InterruptToken>, events: &Sender<Event>) -> Result<(), Diagnostic> {
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
    let pid = child.id() as i32;
    let (mut prints, mut pause) = (true, Duration::from_millis(1));
    loop {
        if prints {
            prints = ends.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout);
        } else {
            // It has closed its output, and goes on.
            std::thread::sleep(pause);
            pause = (pause * 2).min(LOOK);
        }
        // A process that left the group keeps the pipes open: after an interrupt nobody waits for it.
        if has_ended(pid) && (!prints || stop.interrupted()) {
            break;
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::Interrupt;

    /// The shell says how long it would take; the test would wait for it.
    #[test]
    fn a_command_that_has_closed_its_output_is_interrupted() {
        let stop = Arc::new(InterruptToken::default());
        stop.begin();
        let (events, shown) = mpsc::channel();
        let running = Arc::clone(&stop);
        let command = std::thread::spawn(move || {
            run("echo begun; exec sleep 1000 > /dev/null 2>&1", Path::new("/"), &running, &events)
        });
        let said = shown.recv().unwrap();
        assert!(matches!(&said, Event::Output { text, .. } if text == "begun\n"), "{said:?}");
        // Both pipes are closed.
        assert!(shown.recv_timeout(LOOK * 5).is_err());
        stop.interrupt();
        assert_eq!(command.join().unwrap().unwrap_err().class, Class::Interrupted);
    }

    #[test]
    fn the_exit_code_is_that_of_the_shell() {
        let stop = Arc::new(InterruptToken::default());
        let (events, _shown) = mpsc::channel();
        let run = |line: &str| run(line, Path::new("/"), &stop, &events);
        assert!(run("true").is_ok());
        assert!(run("exec > /dev/null 2>&1; exit 3").unwrap_err().message.ends_with("exit code 3"));
    }
}
