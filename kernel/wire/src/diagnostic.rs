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

/// A span of source to underline, with a short text next to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    pub span: Span,
    /// May be empty: the underline alone.
    pub text: String,
    /// The primary label is where the mistake is; others explain it.
    pub primary: bool,
}

/// An error as the user reads it. `message` says what was found and what was expected, `help` what to do; neither ends
/// in a full stop, and both read well without colour.
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
    /// The calls of the user's functions that led there, the innermost first. The kernel process finds them: no other
    /// sends any.
    #[serde(skip)]
    pub trace: Vec<Call>,
}

/// One of the calls that led to an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub file: String,
    /// `None`: somewhere in the file.
    pub line: Option<u32>,
    /// Whose code it is, such as `mean`, `Point::norm` or `{{closure}}`. Empty: the cell's own statements.
    pub function: String,
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
            trace: Vec::new(),
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

/// The literals of text in a source that read `text`, by the offset of their opening quote. Escapes are taken as they
/// are.
fn literals(source: &str, text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut open = None;
    let mut previous = ' ';
    for (at, c) in source.char_indices() {
        match (c, open) {
            ('"', None) => open = Some(at),
            ('"', Some(start)) if previous != '\\' => {
                if &source[start + 1..at] == text {
                    found.push(start);
                }
                open = None;
            }
            _ => {}
        }
        previous = c;
    }
    found
}

impl Diagnostic {
    /// Moves the underline from a method's name to the text in its arguments that is wrong. A frame's method knows
    /// where it was called, and not where the text `"dep_dela"` stands that it was given; the message names it between
    /// backticks. `source` gives the text of a file, if it is known.
    pub fn narrow<'s>(&mut self, source: impl Fn(&str) -> Option<&'s str>) {
        let Some(name) = self.message.split('`').nth(1).filter(|name| !name.is_empty()).map(str::to_string) else {
            return;
        };
        for label in self.labels.iter_mut().filter(|label| label.primary) {
            let Some(source) = source(&label.span.file) else { continue };
            let line_start = match label.span.line {
                0 => continue,
                1 => 0,
                line => match source.match_indices('\n').nth(line as usize - 2) {
                    Some((at, _)) => at + 1,
                    None => continue,
                },
            };
            let skipped: usize = (label.span.column + label.span.length).saturating_sub(1) as usize;
            let call: usize =
                line_start + source[line_start..].chars().take(skipped).map(char::len_utf8).sum::<usize>();
            if !source[call..].starts_with(['(', ':']) {
                continue;
            }
            // In the arguments if it is there, else the only one in the cell (`group_by("x").agg(..)`).
            let all = literals(source, &name);
            let inside = all.iter().copied().find(|at| *at > call && balance(&source[call..*at]) > 0);
            let Some(at) = inside.or(if let [only] = all[..] { Some(only) } else { None }) else { continue };
            let line = source[..at].matches('\n').count() as u32 + 1;
            let column = source[..at].chars().rev().take_while(|c| *c != '\n').count() as u32 + 1;
            let length = name.chars().count() as u32 + 2;
            label.span = Span { file: label.span.file.clone(), line, column, length };
        }
    }
}

impl Diagnostic {
    /// Underlines the whole name that begins where a panic or a `?` says it happened: they know a place, and no length.
    pub fn widen<'s>(&mut self, source: impl Fn(&str) -> Option<&'s str>) {
        for label in self.labels.iter_mut().filter(|label| label.primary && label.span.length == 1) {
            let Span { file, line, column, length } = &mut label.span;
            let text = source(file).and_then(|text| text.lines().nth((*line as usize).checked_sub(1)?));
            let Some(text) = text else { continue };
            let is_name = |c: &char| c.is_alphanumeric() || *c == '_';
            let name = text.chars().skip((*column as usize).saturating_sub(1)).take_while(is_name).count();
            *length = u32::try_from(name).unwrap_or(1).max(1);
        }
    }
}

/// How many parentheses are open at the end of a text that begins with one; 0 once the first was closed.
fn balance(text: &str) -> u32 {
    let mut open = 0u32;
    let mut quoted = false;
    let mut previous = ' ';
    for c in text.chars() {
        match c {
            '"' if previous != '\\' => quoted = !quoted,
            '(' if !quoted => open += 1,
            ')' if !quoted => {
                open = open.saturating_sub(1);
                if open == 0 {
                    return 0;
                }
            }
            _ => {}
        }
        previous = c;
    }
    open
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

#[cfg(test)]
mod tests {
    use super::*;

    fn narrowed(source: &str, line: u32, column: u32, length: u32, name: &str) -> (u32, u32, u32) {
        let span = Span { file: "cell_1.rs".into(), line, column, length };
        let mut diagnostic =
            Diagnostic::error(Class::Plan, "unknown-column", format!("there is no column `{name}`")).at(span, "");
        diagnostic.narrow(|file| (file == "cell_1.rs").then_some(source));
        let span = &diagnostic.labels[0].span;
        (span.line, span.column, span.length)
    }

    #[test]
    fn the_underline_moves_to_the_text_that_is_wrong() {
        assert_eq!(narrowed("f.select([\"a\", \"b\"])", 1, 3, 6, "b"), (1, 16, 3));
        assert_eq!(narrowed("let é = 1;\nf.select(\n  \"b\")", 2, 3, 6, "b"), (3, 3, 3));
        // In an argument of another call of the chain, if there is only one.
        assert_eq!(narrowed("f.group_by(\"x\").agg(x!(n = len()))", 1, 17, 3, "x"), (1, 12, 3));
        assert_eq!(narrowed("f.column::<f64>(\"b\")", 1, 3, 6, "b"), (1, 17, 3));
    }

    #[test]
    fn a_name_is_underlined_as_a_whole() {
        for (column, length) in [(1, 4), (6, 1), (7, 1), (9, 5), (40, 1)] {
            let span = Span { file: "cell_1.rs".into(), line: 2, column, length: 1 };
            let mut diagnostic = Diagnostic::error(Class::Run, "panic", "").at(span, "");
            diagnostic.widen(|file| (file == "cell_1.rs").then_some("\nwert[i] panic!()"));
            assert_eq!(diagnostic.labels[0].span.length, length, "at {column}");
        }
    }

    #[test]
    fn what_is_not_found_stays() {
        assert_eq!(narrowed("f.select(name)", 1, 3, 6, "b"), (1, 3, 6));
        assert_eq!(narrowed("f.filter(x!(b > 1 && c == \"b\"))", 1, 13, 1, "b"), (1, 13, 1));
        assert_eq!(narrowed("g(\"b\"); f.select(n); h(\"b\")", 1, 12, 6, "b"), (1, 12, 6));
    }
}
