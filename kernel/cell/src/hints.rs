//! Advice that rustc cannot give: what it does not know of notebooks, of earlier cells, and of people who come from Python.

use onrush_wire::{Diagnostic, Span};

use crate::commands::nearest;
use crate::complete::table::ENTRIES;
use crate::notebook::Notebook;

/// Adds advice to the diagnostics of one cell, and leaves out those that only follow from another.
pub fn advise(diagnostics: &mut Vec<Diagnostic>, code: &str, notebook: &Notebook) {
    // Text that is no Rust: what comes after the first such place says nothing more.
    let no_token = |d: &Diagnostic| {
        d.message.starts_with("unknown start of token") || d.message.starts_with("character literal may only contain")
    };
    if let Some(first) = diagnostics.iter().position(no_token) {
        diagnostics.swap(0, first);
        diagnostics.truncate(1);
    }
    // `f.filter(name == "a")`: the comparison of a name that is not there has no type that would matter.
    let unknown: Vec<Span> = diagnostics.iter().filter(|d| d.code == "E0425").filter_map(primary).collect();
    diagnostics.retain(|d| {
        let covers = |outer: Span| {
            let inside = |inner: &Span| inner.line == outer.line && inner.column >= outer.column;
            unknown.iter().any(|inner| inside(inner) && inner.column < outer.column + outer.length)
        };
        d.code != "E0277" || !primary(d).is_some_and(covers)
    });
    for diagnostic in diagnostics {
        advise_one(diagnostic, code, notebook);
    }
}

fn advise_one(diagnostic: &mut Diagnostic, code: &str, notebook: &Notebook) {
    let at = primary(diagnostic);
    let text = at.as_ref().and_then(|span| text_at(code, span)).unwrap_or_default();
    let line = at.as_ref().and_then(|span| code.lines().nth(span.line as usize - 1)).unwrap_or_default();
    let named = diagnostic.message.split('`').nth(1).unwrap_or("").to_string();
    let set = |help: String, diagnostic: &mut Diagnostic| diagnostic.help = vec![help];
    match diagnostic.code.as_str() {
        "E0425" | "E0423" if notebook.gone.contains_key(&named) => gone(diagnostic, &named, notebook),
        // A macro of the prelude has the name of a variable that is not there.
        "E0423" if diagnostic.message.starts_with("expected value, found macro") => {
            diagnostic.message = format!("there is no variable `{text}`");
            diagnostic.labels.iter_mut().for_each(|l| l.text.clear());
            set(format!("`let {text} = …;` defines one"), diagnostic);
        }
        // Immutable variables of earlier cells: rustc's advice is about a line that generated code has.
        "E0384" | "E0596" | "E0594" if notebook.variables.get(&named).is_some_and(|v| !v.mutable) => {
            let help = format!(
                "`{named}` was defined without `mut`: write `let mut {named} = …` in its cell and run that again, or `let mut {named} = {named};` here"
            );
            set(help, diagnostic);
        }
        "E0069" => {
            diagnostic.message = "`return` at the top level of a cell: there is no function to return from".to_string();
            diagnostic.labels.iter_mut().for_each(|l| l.text.clear());
            set("put the code into a `fn`, or use `if` around the rest of the cell".to_string(), diagnostic);
        }
        "E0425" if diagnostic.help.is_empty() && mentions_frame(line, notebook) => {
            set(format!("a column is written inside of `x!(…)`: `x!({named} …)`"), diagnostic);
        }
        "E0608" | "E0609" if diagnostic.message.ends_with("`Frame`") => {
            let help = "`f.column::<f64>(\"name\")` gives the values of a column, `f.select(\"name\")` a frame of it";
            set(help.to_string(), diagnostic);
        }
        "E0277" if diagnostic.message == "`Frame` is not an iterator" => {
            diagnostic.notes.clear();
            set(
                "`f.rows()` gives the rows as values: `for (hour, name) in f.rows::<(i64, String)>() { … }`"
                    .to_string(),
                diagnostic,
            );
        }
        "E0282" | "E0283" | "E0284" if line.contains(".value(") => {
            set("say the type: `let m: f64 = f.value(…)`".to_string(), diagnostic);
        }
        "E0277" if diagnostic.message.starts_with("the `?` operator can only be applied to") => {
            set("methods of frames raise by themselves: leave out the `?`".to_string(), diagnostic);
            diagnostic.notes.clear();
        }
        "E0599" if diagnostic.help.is_empty() => method(diagnostic),
        "syntax" if diagnostic.message.starts_with("character literal may only contain") => {
            let inner = text.trim_matches('\'');
            set(format!("write \"{inner}\": single quotes are for one character"), diagnostic);
        }
        "syntax" if code.trim_start().starts_with("import ") || code.trim_start().starts_with("from ") => {
            set("cells are Rust: `use std::collections::HashMap;` brings a name in".to_string(), diagnostic);
        }
        _ => {}
    }
    two_of_a_name(diagnostic);
    // Hundreds of types of the standard library are no advice.
    diagnostic.help.retain(|help| !help.starts_with("the following other types implement"));
}

fn primary(diagnostic: &Diagnostic) -> Option<Span> {
    diagnostic.labels.iter().find(|l| l.primary).map(|l| l.span.clone())
}

/// Whether a line is about a variable that holds a frame.
fn mentions_frame(line: &str, notebook: &Notebook) -> bool {
    let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.any(|word| notebook.variables.get(word).is_some_and(|v| v.type_code.ends_with("::Frame")))
}

/// A variable that was there once.
fn gone(diagnostic: &mut Diagnostic, name: &str, notebook: &Notebook) {
    let Some(why) = notebook.gone.get(name) else { return };
    diagnostic.message = format!("`{name}` {why}");
    diagnostic.labels.iter_mut().for_each(|l| l.text.clear());
    diagnostic.help = vec![match name.strip_prefix('_') {
        Some(kept) if why.starts_with("begins") => format!("call it `{kept}` in its cell"),
        _ if why.ends_with("failed") => "correct that cell and run it again".to_string(),
        _ => "run the cell that defines it again".to_string(),
    }];
}

/// A method that one of our types does not have.
fn method(diagnostic: &mut Diagnostic) {
    let mut names = diagnostic.message.split('`').skip(1).step_by(2);
    let (Some(method), Some(owner)) = (names.next(), names.next()) else { return };
    let owner = owner.trim_start_matches('&').rsplit("::").next().unwrap_or(owner);
    let owner = owner.split('<').next().unwrap_or(owner);
    let known: Vec<&str> = ENTRIES.iter().filter(|e| e.owner == owner).map(|e| e.name).collect();
    if let Some(near) = nearest(method, &known) {
        diagnostic.help.push(format!("did you mean `{near}`?"));
    }
}

/// Two types of one name: the crates' names say nothing to the user, the cells do.
fn two_of_a_name(diagnostic: &mut Diagnostic) {
    let crate_of = " is defined in crate ``";
    if !diagnostic.labels.iter().any(|l| l.text.ends_with(crate_of)) {
        return;
    }
    for label in &mut diagnostic.labels {
        if let Some(name) = label.text.strip_suffix(crate_of) {
            label.text = format!("one {name}");
        }
    }
    let help = "a cell that defines a type again makes a new type: run the cells that use the old one again";
    diagnostic.help = vec![help.to_string()];
}

/// The characters that a span of this cell covers.
fn text_at(code: &str, span: &Span) -> Option<String> {
    let line = code.lines().nth((span.line as usize).checked_sub(1)?)?;
    Some(line.chars().skip(span.column as usize - 1).take(span.length as usize).collect())
}

/// A `let` without its `;` at the end of the cell, which rustc notices only after the cell.
pub fn missing_semicolon(code: &str, file: &str) -> Option<Diagnostic> {
    if crate::split::split(&format!("{code}\n;")).error.is_some() {
        return None;
    }
    let end = code_end(code);
    let (line, column) = crate::scan::position(code, end);
    let span = Span { file: file.to_string(), line, column, length: 1 };
    let error =
        Diagnostic::error(onrush_wire::Class::Compile, "syntax", "a `;` is missing at the end of this statement");
    Some(error.at(span, "").help("add `;` here"))
}

/// Where the last token ends: before comments and blanks.
fn code_end(code: &str) -> usize {
    let tokens = code.parse::<proc_macro2::TokenStream>().ok();
    let last = tokens.and_then(|tokens| tokens.into_iter().last());
    last.map_or(code.trim_end().len(), |token| token.span().byte_range().end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_semicolon_is_shown_where_it_belongs() {
        let diagnostic = missing_semicolon("let a = 1;\nlet y = a // of a\n", "c").unwrap();
        assert_eq!((diagnostic.labels[0].span.line, diagnostic.labels[0].span.column), (2, 10));
        assert!(missing_semicolon("let y = ;", "c").is_none());
    }
}
