//! Errors of files of graphs.

use std::path::Path;

use onrush_wire::diagnostic::{Class, Diagnostic};

/// The kind of an error in the content of a file or of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The file is not as its format asks for.
    File,
    /// The rows do not make a graph.
    Data,
    /// The format cannot hold the graph.
    Format,
    /// The content is more than a reader takes.
    Limit,
    /// The content needs more memory than there is.
    Memory,
}

impl ErrorKind {
    /// The code of a diagnostic, and whose fault the error is.
    fn code(self) -> (&'static str, Class) {
        match self {
            ErrorKind::File => ("graph-file", Class::Data),
            ErrorKind::Data => ("graph-data", Class::Data),
            ErrorKind::Format => ("graph-format", Class::Plan),
            ErrorKind::Limit => ("graph-limit", Class::Resources),
            ErrorKind::Memory => ("out-of-memory", Class::Resources),
        }
    }
}

/// A graph is not read or written: the message names the found and the expected, `help` a way out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {action} `{path}`: {source}")]
    Io {
        /// `read` or `write`.
        action: &'static str,
        path: String,
        source: std::io::Error,
    },
    /// The content of a file, or a graph that the format cannot hold.
    #[error("{}`{path}`: {message}", line.map_or(String::new(), |line| format!("line {line} of ")))]
    Content {
        path: String,
        /// Counts from 1. `None` if the error is not about one line.
        line: Option<usize>,
        kind: ErrorKind,
        message: String,
        help: Option<String>,
    },
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        Error::Io { action, path: path.display().to_string(), source }
    }

    /// The error as the user reads it.
    pub fn diagnostic(&self) -> Diagnostic {
        match self {
            Error::Io { .. } => Diagnostic::error(Class::Environment, "graph-file", self.to_string()),
            Error::Content { kind, help, .. } => {
                let (code, class) = kind.code();
                let diagnostic = Diagnostic::error(class, code, self.to_string());
                match help {
                    Some(help) => diagnostic.help(help),
                    None => diagnostic,
                }
            }
        }
    }
}

/// An error of a format, which does not know the path.
#[derive(Debug, PartialEq)]
pub(crate) struct Fault {
    line: Option<usize>,
    kind: ErrorKind,
    message: String,
    help: Option<String>,
}

impl Fault {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Fault { line: None, kind, message: message.into(), help: None }
    }

    /// The content is not what the format asks for.
    pub fn file(line: usize, message: impl Into<String>) -> Self {
        Fault { line: Some(line), ..Fault::new(ErrorKind::File, message) }
    }

    /// The content is more than what is read.
    pub fn limit(message: impl Into<String>) -> Self {
        Fault::new(ErrorKind::Limit, message)
    }

    /// The content needs more memory than there is.
    pub fn memory(message: impl Into<String>) -> Self {
        Fault::new(ErrorKind::Memory, message)
    }

    /// The line, if none is known yet.
    pub fn at_line(mut self, line: usize) -> Self {
        self.line.get_or_insert(line);
        self
    }

    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub fn at_path(self, path: &Path) -> Error {
        let Fault { line, kind, message, help } = self;
        Error::Content { path: path.display().to_string(), line, kind, message, help }
    }
}

/// A piece of a file in a message, at most 40 characters of it. Control characters are escaped.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::from("`");
    for c in text.chars().take(40) {
        match c.is_control() {
            true => shown.extend(c.escape_debug()),
            false => shown.push(c),
        }
    }
    shown.push_str(if text.chars().nth(40).is_some() { "...`" } else { "`" });
    shown
}
