//! Terminal output of `onrush run`: cells and their outputs as text for 80 columns, or one line of progress if the
//! outputs go into a file.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use onrush_view::{Neutral, neutral};
use onrush_wire::host::Stream;
use serde_json::Value;

use crate::notebook::{self, CellError, Output};

pub struct Terminal {
    /// Outputs go into a file: only progress and failures are printed.
    to_file: bool,
    colors: bool,
    /// Standard error is a terminal: lines can be replaced.
    live: bool,
    /// A line that can be replaced is on the screen.
    live_line: bool,
    /// The last text ended without a newline.
    open_line: bool,
    /// When something was last said where lines cannot be replaced.
    said: Instant,
    /// Standard output and standard error of the cell.
    streams: [Neutral; 2],
}

/// A log file gets a line of progress this often.
const QUIET: Duration = Duration::from_secs(15);

impl Terminal {
    pub fn new(to_file: bool) -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Terminal {
            to_file,
            colors: !plain && if to_file { std::io::stderr().is_terminal() } else { std::io::stdout().is_terminal() },
            live: std::io::stderr().is_terminal(),
            live_line: false,
            open_line: false,
            said: Instant::now(),
            streams: Default::default(),
        }
    }

    pub fn cell(&mut self, count: u64, position: usize, total: usize, source: &str) {
        self.said = Instant::now();
        if self.to_file {
            let first = source.lines().find(|line| !line.trim().is_empty()).unwrap_or("").trim();
            self.replace_line(&onrush_view::clip(&format!("cell {position} of {total}: {first}"), 79));
            return;
        }
        let prompt = format!("In [{count}]: ");
        let mut text = String::new();
        for (index, line) in source.trim_end().lines().enumerate() {
            let lead = if index == 0 { prompt.clone() } else { format!("{:>1$}", "...: ", prompt.len()) };
            text.push_str(&format!("{}{}\n", self.paint("32", &lead), neutral(line)));
        }
        self.print(&text);
    }

    pub fn output(&mut self, output: &Output, count: u64) {
        if let Output::Progress { data } = output {
            let line =
                data.get("text/plain").and_then(Value::as_str).and_then(|text| text.lines().next()).unwrap_or("");
            self.replace_line(&onrush_view::clip(line, 79));
            if !self.live && !line.is_empty() && self.said.elapsed() > QUIET {
                self.said = Instant::now();
                eprintln!("{}", onrush_view::plain(line));
            }
            return;
        }
        if self.to_file {
            return;
        }
        match output {
            Output::Stream { stream: Stream::Stdout, text } => {
                let text = self.streams[0].pass(text);
                self.print(&text);
            }
            Output::Stream { stream: Stream::Stderr, text } => {
                let text = self.streams[1].pass(text);
                self.clear_line();
                let _ = std::io::stdout().flush();
                let _ = std::io::stderr().write_all(text.as_bytes());
                self.open_line = !text.ends_with('\n');
            }
            Output::Display { data, .. } => self.bundle(data, ""),
            Output::Result { data, .. } => {
                let lead = self.paint("31", &format!("Out[{count}]:"));
                self.bundle(data, &lead);
            }
            Output::Panel { panel, outputs, .. } => self.bundle(&notebook::panel_bundle(panel, outputs), ""),
            Output::Clear { .. } | Output::Progress { .. } => {}
        }
    }

    /// The text of a bundle; several lines stand below the prompt.
    fn bundle(&mut self, data: &onrush_view::Bundle, lead: &str) {
        let text = match data.get("text/plain").and_then(Value::as_str) {
            Some(text) => neutral(text),
            None => format!("[{}]", data.keys().map(String::as_str).collect::<Vec<_>>().join(", ")),
        };
        self.fresh_line();
        let separator = match (lead.is_empty(), text.contains('\n')) {
            (true, _) => "",
            (false, true) => "\n",
            (false, false) => " ",
        };
        self.print(&format!("{lead}{separator}{}\n", text.trim_end_matches('\n')));
    }

    pub fn end_of_cell(&mut self) {
        self.clear_line();
        let rest = self.streams.each_mut().map(Neutral::finish).concat();
        if !self.to_file {
            self.print(&rest);
            self.fresh_line();
        }
    }

    pub fn error(&mut self, error: &CellError, expected: bool) {
        self.clear_line();
        if self.to_file && expected {
            return;
        }
        self.fresh_line();
        let text = neutral(&error.traceback.join("\n"));
        let text = if self.colors { text } else { without_colors(&text) };
        if self.to_file {
            eprintln!("{text}");
        } else {
            self.print(&format!("{text}\n"));
        }
    }

    pub fn failure(&mut self, text: &str) {
        self.clear_line();
        let _ = std::io::stdout().flush();
        eprintln!("onrush: {}", neutral(text));
    }

    pub fn prompt(&mut self, prompt: &str) {
        self.fresh_line();
        self.print(&neutral(prompt));
        self.open_line = false;
    }

    fn print(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.clear_line();
        let mut out = std::io::stdout().lock();
        // A reader that went away (`| head`) must not stop the run in the middle of a cell.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        self.open_line = !text.ends_with('\n');
    }

    fn fresh_line(&mut self) {
        if self.open_line {
            self.print("\n");
        }
    }

    fn replace_line(&mut self, text: &str) {
        if !self.live {
            return;
        }
        self.fresh_line();
        let _ = write!(std::io::stderr(), "\r\x1b[K{}", onrush_view::plain(text));
        let _ = std::io::stderr().flush();
        self.live_line = true;
    }

    fn clear_line(&mut self) {
        if std::mem::take(&mut self.live_line) {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
            let _ = std::io::stderr().flush();
        }
    }

    fn paint(&self, color: &str, text: &str) -> String {
        if self.colors { format!("\x1b[{color}m{text}\x1b[0m") } else { text.to_string() }
    }
}

/// Removes ANSI escape sequences of colours and styles.
pub fn without_colors(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\x1b' && chars.next_if_eq(&'[').is_some() {
            while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {}
        } else {
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_removed_and_text_is_not() {
        assert_eq!(without_colors("\x1b[1;31merror\x1b[0m: [a] ü\n"), "error: [a] ü\n");
        assert_eq!(without_colors("\x1b["), "");
    }
}
