//! One line of progress on standard error. A terminal has it as its last line, rewritten in place; a log gets it every
//! 15 seconds. Other messages go through `note`, which keeps both apart.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Between two lines of a log.
const QUIET: Duration = Duration::from_secs(15);
const CLEAR: &str = "\r\x1b[K";

struct Line {
    text: String,
    /// The last line of a log, or the start of the part.
    printed: Option<Instant>,
}

static LINE: Mutex<Line> = Mutex::new(Line { text: String::new(), printed: None });

fn line() -> MutexGuard<'static, Line> {
    LINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Replaces the line. The text should fit into 80 columns.
pub fn set(text: String) {
    let mut line = line();
    if io::stderr().is_terminal() {
        if text != line.text {
            eprint!("{CLEAR}{text}");
            let _ = io::stderr().flush();
        }
    } else if line.printed.get_or_insert_with(Instant::now).elapsed() >= QUIET {
        eprintln!("    {text}");
        line.printed = Some(Instant::now());
    }
    line.text = text;
}

/// Prints a message above the line.
pub fn note(message: &str) {
    let line = line();
    if io::stderr().is_terminal() && !line.text.is_empty() {
        eprint!("{CLEAR}{message}\n{}", line.text);
        let _ = io::stderr().flush();
    } else {
        eprintln!("{message}");
    }
}

/// Removes the line.
pub fn clear() {
    let mut line = line();
    if io::stderr().is_terminal() && !line.text.is_empty() {
        eprint!("{CLEAR}");
        let _ = io::stderr().flush();
    }
    line.text.clear();
    line.printed = None;
}

/// A time that is left, as precise as an estimate is.
pub fn about(seconds: f64) -> String {
    match (seconds / 60.0).round() as u64 {
        0 => "less than a minute".to_string(),
        minutes => format!("about {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_whole_minutes() {
        assert_eq!(about(0.0), "less than a minute");
        assert_eq!(about(29.0), "less than a minute");
        assert_eq!(about(31.0), "about 1 min");
        assert_eq!(about(560.0), "about 9 min");
    }
}
