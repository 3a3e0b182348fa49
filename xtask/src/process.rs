//! Runs other programs: their output is passed through, and a failure names the program and its exit status.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

/// The reason why a task stopped, as one message for the terminal.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    pub fn new(message: impl Into<String>) -> Self {
        Failure(message.into())
    }

    pub fn io(what: impl fmt::Display, error: io::Error) -> Self {
        Failure(format!("{what}: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Runs a command with its output on the terminal.
pub fn run(what: &str, command: &mut Command) -> Result<(), Failure> {
    let status = command.stdin(Stdio::null()).status().map_err(|e| not_started(what, command, e))?;
    if status.success() { Ok(()) } else { Err(Failure(format!("{what} failed ({status})"))) }
}

/// The output of a command, both streams, line by line in order, and whether it succeeded.
pub struct Transcript {
    pub success: bool,
    pub lines: Vec<String>,
}

/// Runs a command, copies its output to the terminal line by line, and returns it.
pub fn run_recorded(what: &str, command: &mut Command) -> Result<Transcript, Failure> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| not_started(what, command, e))?;
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(Failure(format!("{what}: its output could not be read")));
    };
    let errors = thread::spawn(move || copy_lines(stderr, io::stderr()));
    let mut lines = copy_lines(stdout, io::stdout());
    lines.extend(errors.join().unwrap_or_default());
    let status = child.wait().map_err(|e| Failure::io(what, e))?;
    Ok(Transcript { success: status.success(), lines })
}

/// Runs a command without showing its output; a failure has the end of it.
pub fn run_quietly(what: &str, command: &mut Command) -> Result<String, Failure> {
    let output = command.stdin(Stdio::null()).output().map_err(|e| not_started(what, command, e))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let both = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&both);
    let lines: Vec<&str> = text.lines().collect();
    let tail = lines[lines.len().saturating_sub(25)..].join("\n");
    Err(Failure(format!("{what} failed ({}):\n{tail}", output.status)))
}

/// Prints the next stage, with the minutes and seconds since `start`.
pub fn stage(start: Instant, what: &str) {
    let seconds = start.elapsed().as_secs();
    eprintln!("\n==> [{}:{:02}] {what}", seconds / 60, seconds % 60);
}

fn not_started(what: &str, command: &Command, error: io::Error) -> Failure {
    let program = command.get_program().to_string_lossy();
    Failure(format!("{what}: {program} could not be started: {error}"))
}

fn copy_lines(from: impl Read, mut to: impl Write) -> Vec<String> {
    let mut lines = Vec::new();
    let mut from = BufReader::new(from);
    let mut bytes = Vec::new();
    while from.read_until(b'\n', &mut bytes).is_ok_and(|n| n > 0) {
        // A closed terminal must not end the run.
        let _ = to.write_all(&bytes).and_then(|()| to.flush());
        lines.push(String::from_utf8_lossy(&bytes).trim_end().to_string());
        bytes.clear();
    }
    lines
}
