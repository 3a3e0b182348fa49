//! What leaves a process when something went wrong: one shape for compile errors, bad calls, bad data and our own bugs.

use serde::{Deserialize, Serialize};

/// A place in a source file as the user sees it. Lines and columns count from 1; columns and lengths count characters.
/// `file` is the file name that rustc was given (`cell_3.rs`); the kernel process maps generated positions to the cell.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    pub file: String,
    pub line: u32,
    pub column: u32,
    /// Characters to underline; at least 1.
    pub length: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Severity {
    Error,
    Warning,
}

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Class {
    /// The cell does not compile.
    Compile,
    /// The cell panicked, returned an error, crashed or exited.
    Run,
    /// A call asks for what cannot be: a wrong column, type or argument.
    Plan,
    /// A file or a value is not what it should be.
    Data,
    /// Memory, disk or a limit is used up.
    Resources,
    /// Something on this machine is missing or misconfigured.
    Environment,
    /// The user stopped it.
    Interrupted,
    /// A bug of ours.
    Internal,
}

/// A piece of source to underline, with a few words beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    pub span: Span,
    /// May be empty: the underline alone.
    pub text: String,
    /// The primary label is where the mistake is; others explain it.
    pub primary: bool,
}

/// An error as the user reads it. `message` says what was found and what was expected, `help` what to do; neither ends in
/// a full stop, and both read well without colour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    pub severity: Severity,
    pub class: Class,
    /// Short and stable, such as `unknown-column`, `E0382`, `panic`. Shown as the error's name.
    pub code: String,
    pub message: String,
    pub labels: Vec<Label>,
    /// Facts that are no advice: sources of the error, what stays as it was.
    pub notes: Vec<String>,
    pub help: Vec<String>,
}

impl Diagnostic {
    pub fn error(class: Class, code: impl Into<String>, message: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Error,
            class,
            code: code.into(),
            message: message.into(),
            labels: Vec::new(),
            notes: Vec::new(),
            help: Vec::new(),
        }
    }

    /// Underlines `span` as the place of the mistake.
    #[must_use]
    pub fn at(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into(), primary: true });
        self
    }

    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        for help in &self.help {
            write!(f, "\nhelp: {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}
