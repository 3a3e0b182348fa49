//! rustc's JSON messages, and the diagnostics made of them: places mapped to the user's lines, generated names left out.

use onrush_wire::{Class, Diagnostic, Label, Severity, Span};
use serde::Deserialize;

use crate::types::without_crates;

/// Errors that are shown; the rest usually follow from them.
const SHOWN: usize = 5;

/// Lints that say something about a cell. A notebook is not a finished program: that something is unused, or badly named, is
/// nobody's worry.
pub const LINTS: &str = "arithmetic_overflow, overflowing_literals, unconditional_panic, unconditional_recursion, \
    unreachable_code, unreachable_patterns, unused_comparisons, unused_must_use";

#[derive(Clone, Debug, Deserialize)]
pub struct Message {
    pub message: String,
    pub code: Option<Code>,
    pub level: String,
    #[serde(default)]
    pub spans: Vec<RustcSpan>,
    #[serde(default)]
    pub children: Vec<Message>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Code {
    pub code: String,
}

#[derive(Clone, Debug, Deserialize)]
pub struct RustcSpan {
    pub file_name: String,
    pub line_start: u32,
    pub line_end: u32,
    pub column_start: u32,
    pub column_end: u32,
    pub is_primary: bool,
    pub label: Option<String>,
    pub suggested_replacement: Option<String>,
    pub expansion: Option<Box<Expansion>>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Expansion {
    pub span: RustcSpan,
}

/// Where a generated position is for the user.
pub enum Place {
    Users(Span),
    /// A line that generated code added to this cell: its number, counted from the first one after the user's.
    Added(u32),
    Elsewhere,
}

impl Message {
    pub fn code(&self) -> &str {
        self.code.as_ref().map_or("", |c| c.code.as_str())
    }

    pub fn primary(&self) -> Option<&RustcSpan> {
        self.spans.iter().find(|s| s.is_primary)
    }
}

pub fn parse(stderr: &str) -> Vec<Message> {
    stderr.lines().filter(|l| l.starts_with('{')).filter_map(|l| serde_json::from_str(l).ok()).collect()
}

/// Errors that stand for themselves, without rustc's summary lines.
pub fn first_messages(messages: &[Message]) -> Vec<&Message> {
    let summary = |m: &Message| {
        m.spans.is_empty()
            && (m.message.starts_with("aborting due to") || m.message.starts_with("For more information"))
    };
    messages.iter().filter(|m| m.level.starts_with("error") && !summary(m)).collect()
}

/// Warnings about what the user wrote; not about what was generated around it.
pub fn warnings(messages: &[Message], place: &dyn Fn(&RustcSpan) -> Place) -> Vec<Diagnostic> {
    let is_ours = |m: &&Message| {
        let about_the_cell = m.primary().is_some_and(|span| matches!(place(span), Place::Users(_)));
        m.level == "warning" && about_the_cell && LINTS.split(", ").any(|lint| lint == m.code())
    };
    messages.iter().filter(is_ours).take(SHOWN).map(|m| diagnostic(m, place)).collect()
}

/// Diagnostics of the first errors. `place` maps a file, line, column and length.
pub fn diagnostics(messages: &[&Message], place: &dyn Fn(&RustcSpan) -> Place) -> Vec<Diagnostic> {
    let mut out: Vec<Diagnostic> = Vec::new();
    for message in messages {
        let diagnostic = diagnostic(message, place);
        if !out.contains(&diagnostic) {
            out.push(diagnostic);
        }
    }
    let more = out.len().saturating_sub(SHOWN);
    out.truncate(SHOWN);
    if let (true, Some(last)) = (more > 0, out.last_mut()) {
        last.notes.push(format!("and {more} more error{}", if more == 1 { "" } else { "s" }));
    }
    out
}

pub fn diagnostic(message: &Message, place: &dyn Fn(&RustcSpan) -> Place) -> Diagnostic {
    let mut out = Diagnostic {
        severity: if message.level == "warning" { Severity::Warning } else { Severity::Error },
        class: Class::Compile,
        code: if message.code().is_empty() { "syntax".to_string() } else { message.code().to_string() },
        message: clean(&message.message),
        labels: Vec::new(),
        notes: Vec::new(),
        help: Vec::new(),
    };
    // The prelude's macros have no other place for advice than their message.
    if let Some((said, advice)) = out.message.clone().split_once("\nhelp: ") {
        out.message = said.to_string();
        out.help.extend(advice.split("\nhelp: ").map(str::to_string));
    }
    for span in &message.spans {
        if let Some(span_) = resolve(span, place) {
            let label =
                Label { span: span_, text: clean(span.label.as_deref().unwrap_or("")), primary: span.is_primary };
            if !out.labels.contains(&label) {
                out.labels.push(label);
            }
        }
    }
    out.labels.sort_by_key(|l| !l.primary);
    for child in &message.children {
        let text = clean(&child.message);
        if text.is_empty() || is_noise(&child.message) {
            continue;
        }
        match child.level.as_str() {
            "help" => out.help.push(suggestion(child, text, place)),
            _ => {
                let place = child.spans.iter().find_map(|s| resolve(s, place));
                match place {
                    Some(span) => out.labels.push(Label { span, text, primary: false }),
                    None => out.notes.push(text),
                }
            }
        }
    }
    out
}

/// The user's place of a span: of a macro's expansion, the call.
fn resolve(span: &RustcSpan, place: &dyn Fn(&RustcSpan) -> Place) -> Option<Span> {
    let mut current = span;
    loop {
        match place(current) {
            Place::Users(span) => return Some(span),
            _ => current = &current.expansion.as_ref()?.span,
        }
    }
}

/// A help with the text that it suggests, if it is short.
fn suggestion(child: &Message, text: String, place: &dyn Fn(&RustcSpan) -> Place) -> String {
    let mut pieces: Vec<&str> = child.spans.iter().filter_map(|s| s.suggested_replacement.as_deref()).collect();
    let users = child.spans.iter().all(|s| matches!(place(s), Place::Users(_)));
    pieces.retain(|piece| !piece.contains("onrush"));
    let quoted = |piece: &str| text.contains(&format!("`{}`", piece.trim()));
    match pieces.as_slice() {
        // Where it goes does not matter: an import can stand anywhere in a cell.
        [piece, ..] if piece.starts_with("use ") && piece.len() <= 80 => {
            let imports: Vec<String> = pieces.iter().take(3).map(|p| format!("`{}`", p.trim())).collect();
            format!("add {}", imports.join(" or "))
        }
        [piece] if users && !piece.trim().is_empty() && !quoted(piece) && piece.len() <= 80 => {
            format!("{}: `{}`", text.trim_end_matches(':'), clean(piece.trim()))
        }
        _ => text,
    }
}

/// Advice about the generated crate, not about the cell.
fn is_noise(text: &str) -> bool {
    text.contains("__onrush")
        || text.contains("RUST_BACKTRACE")
        || text.contains("this error originates in the macro `::onrush::")
        || text.contains("in this expansion of `::onrush::__")
        || text.contains("#[warn(")
        || text.starts_with("the lint level is defined")
        || text.contains("#[deny(")
        || text.contains("you can add it to your Cargo.toml")
        || text.starts_with("consider importing") && text.contains("onrush::host")
}

/// Text without the names that only generated code has.
pub fn clean(text: &str) -> String {
    let out = without_crates(text);
    let out = out.replace("::onrush::host::", "").replace("onrush::host::", "");
    out.replace("Result<Done, CellError>", "Result<(), _>").replace("__onrush_run", "the cell").trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_names_are_left_out() {
        assert_eq!(clean("expected `::onrush_cell_12::Point`, found `i32`"), "expected `Point`, found `i32`");
        assert_eq!(clean("expected `Vec<onrush_cell_3::P>`"), "expected `Vec<P>`");
    }
}
