//! rustc's JSON messages, and the diagnostics made of them: places mapped to the user's lines, generated names left
//! out.

use onrush_wire::{Class, Diagnostic, Label, Severity, Span};
use serde::Deserialize;

use super::suggestion::{Source, help};
use crate::generate::LINTS;
use crate::hints::rustc_text::SYNTAX;
use crate::types::without_crates;

/// Errors that are shown; the rest usually follow from them.
const SHOWN: usize = 5;

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
    /// The span of the macro's definition.
    #[serde(default)]
    pub def_site_span: Option<RustcSpan>,
}

/// A generated position as the user sees it.
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
pub fn warnings(messages: &[Message], source: &Source<'_>) -> Vec<Diagnostic> {
    let is_ours = |m: &&Message| {
        let about_the_cell = m.primary().is_some_and(|span| matches!((source.place)(span), Place::Users(_)));
        m.level == "warning" && about_the_cell && LINTS.split(", ").any(|lint| lint == m.code())
    };
    messages.iter().filter(is_ours).take(SHOWN).map(|m| diagnostic(m, source)).collect()
}

/// Diagnostics of the first errors.
pub fn diagnostics(messages: &[&Message], source: &Source<'_>) -> Vec<Diagnostic> {
    let mut out: Vec<Diagnostic> = Vec::new();
    for message in messages {
        let diagnostic = diagnostic(message, source);
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

pub fn diagnostic(message: &Message, source: &Source<'_>) -> Diagnostic {
    let mut out = Diagnostic {
        severity: if message.level == "warning" { Severity::Warning } else { Severity::Error },
        class: Class::Compile,
        code: if message.code().is_empty() { SYNTAX.to_string() } else { message.code().to_string() },
        message: clean(&message.message),
        labels: Vec::new(),
        notes: Vec::new(),
        help: Vec::new(),
        trace: Vec::new(),
    };
    // The prelude's macros have no other place for advice than their message.
    if let Some((said, advice)) = out.message.clone().split_once("\nhelp: ") {
        out.message = said.to_string();
        out.help.extend(advice.split("\nhelp: ").map(str::to_string));
    }
    for span in &message.spans {
        let text = clean(span.label.as_deref().unwrap_or(""));
        match resolve(span, source.place) {
            Some(place) => {
                // An error in a macro of the user's is shown there, and so is the call.
                let call = invocation(span, source.place).filter(|call| *call != place && span.is_primary);
                push_label(&mut out.labels, Label { span: place, text, primary: span.is_primary });
                if let Some(call) = call {
                    let text = "in this macro invocation".to_string();
                    push_label(&mut out.labels, Label { span: call, text, primary: false });
                }
            }
            // The variable was defined by an earlier cell: its place here is generated.
            None if text.starts_with("move occurs because") => out.notes.push(text),
            None => {}
        }
    }
    out.labels.sort_by_key(|l| !l.primary);
    for child in &message.children {
        let text = clean(&child.message);
        if text.is_empty() || is_noise(&child.message) {
            continue;
        }
        match child.level.as_str() {
            "help" => out.help.extend(help(child, text, source)),
            _ => {
                let place = child.spans.iter().find_map(|s| resolve(s, source.place));
                match place {
                    Some(span) => out.labels.push(Label { span, text, primary: false }),
                    // Its place would have been in the standard library or the prelude.
                    None if text.ends_with("defined here") => {}
                    None => out.notes.push(text),
                }
            }
        }
    }
    out
}

fn push_label(labels: &mut Vec<Label>, label: Label) {
    if !labels.contains(&label) {
        labels.push(label);
    }
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

/// Finds where the user called the outermost user-defined macro that a span comes from.
fn invocation(span: &RustcSpan, place: &dyn Fn(&RustcSpan) -> Place) -> Option<Span> {
    let mut current = span;
    let mut found = None;
    while let Some(expansion) = &current.expansion {
        let own = expansion.def_site_span.as_ref().is_some_and(|s| matches!(place(s), Place::Users(_)));
        current = &expansion.span;
        match place(current) {
            Place::Users(span) if own => found = Some(span),
            _ => {}
        }
    }
    found
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
        || text.starts_with("the full name for the type has been written to")
        || text.starts_with("consider using `--verbose`")
        || text.starts_with("required by a bound in `onrush::")
        || text.starts_with("cannot satisfy `_: ")
        || text.starts_with("the trait `onrush::")
        || text.starts_with("consider importing") && text.contains("onrush::host")
}

/// rustc's spelling of names that the prelude has twice, and the user's.
const SHORT: &[(&str, &str)] = &[
    ("::onrush::host::", ""),
    ("onrush::host::", ""),
    ("onrush::ser::", "serde::ser::"),
    ("onrush::de::", "serde::de::"),
    ("onrush::Serialize", "serde::Serialize"),
    ("onrush::Deserialize", "serde::Deserialize"),
    ("onrush::prelude::", ""),
    ("onrush::", ""),
    ("std::option::Option", "Option"),
    ("std::string::String", "String"),
    ("std::result::Result", "Result"),
    ("std::vec::Vec", "Vec"),
    ("std::boxed::Box", "Box"),
    ("Result<CellEnd, CellError>", "Result<(), _>"),
    ("Result<CellEnd, AnyError>", "Result<(), _>"),
    ("__onrush_run", "the cell"),
];

/// Text without the names that only generated code has.
pub fn clean(text: &str) -> String {
    let mut out = without_crates(text);
    for (long, short) in SHORT {
        if out.contains(long) {
            out = out.replace(long, short);
        }
    }
    without_places(&out).trim().to_string()
}

/// A closure's type names a place in the generated file: what is left says that it is a closure.
fn without_places(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("@cell_") {
        let end = rest[at..].find('}').map_or(rest.len(), |n| at + n);
        out.push_str(&rest[..at]);
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_names_are_left_out() {
        assert_eq!(clean("expected `::onrush_cell_12::Point`, found `i32`"), "expected `Point`, found `i32`");
        assert_eq!(clean("expected `Vec<onrush_cell_3::P>`"), "expected `Vec<P>`");
        assert_eq!(clean("found closure `{closure@cell_4.rs:1:416: 1:423}`"), "found closure `{closure}`");
        assert_eq!(clean("`onrush::Frame` is no `std::option::Option<i32>`"), "`Frame` is no `Option<i32>`");
    }
}
