//! Hints that rustc cannot give: about notebooks, about earlier cells, and for people who come from Python.

mod cuda;
mod prelude;
mod words;

use onrush_wire::{Diagnostic, Span};

use crate::commands::nearest;

pub use cuda::variables_begin_anew;

use crate::notebook::Notebook;

/// Adds hints to the diagnostics of one cell, and drops consequential errors.
pub fn advise(diagnostics: &mut Vec<Diagnostic>, code: &str, notebook: &Notebook) {
    if cuda::not_rust(diagnostics, code) {
        return;
    }
    // Source that is not Rust: errors after the first place add nothing.
    let no_token = |d: &Diagnostic| {
        d.message.starts_with("unknown start of token")
            || d.message.starts_with("character literal may only contain")
            || d.code == "E0762"
    };
    let unclear =
        |d: &Diagnostic| d.code.starts_with("E076") || d.message.ends_with(" is unknown") && d.code == "syntax";
    let decides = diagnostics.iter().position(no_token).or_else(|| diagnostics.iter().position(unclear));
    if let Some(first) = decides {
        diagnostics.swap(0, first);
        diagnostics.truncate(1);
    }
    // A source that does not parse was compiled unchanged, without the names of earlier cells.
    let is_syntax = |d: &Diagnostic| d.code == "syntax" || d.code.starts_with("E07");
    if diagnostics.iter().any(is_syntax) && crate::split::split(code).error.is_some() {
        diagnostics.retain(is_syntax);
    }
    // Errors after the cell's last token are about generated code.
    if diagnostics.len() > 1 {
        diagnostics.retain(|d| !(d.code == "syntax" && d.message.ends_with("found `::`") && is_past(d, code)));
    }
    // `f.filter(name == "a")`: the type of a comparison with an unknown name does not matter.
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
    // `p` of a message about `p.x`.
    let mut roots =
        diagnostic.message.split('`').skip(1).step_by(2).map(|name| name.split(['.', '[']).next().unwrap_or(name));
    let immutable = roots.find(|name| notebook.variables.get(*name).is_some_and(|v| !v.mutable)).map(str::to_string);
    prelude::advise(diagnostic, code);
    match diagnostic.code.as_str() {
        "E0425" | "E0423" if notebook.gone.contains_key(&named) => gone(diagnostic, &named, notebook),
        // A macro of the prelude has the name of an unknown variable.
        "E0423" if diagnostic.message.starts_with("expected value, found macro") => {
            diagnostic.message = format!("there is no variable `{text}`");
            diagnostic.labels.iter_mut().for_each(|l| l.text.clear());
            set(format!("`let {text} = …;` defines one"), diagnostic);
        }
        // Immutable variables of earlier cells: rustc's hint is about a line of generated code.
        "E0384" | "E0596" | "E0594" if immutable.is_some() => {
            let named = immutable.unwrap_or_default();
            let help = format!(
                "`{named}` was defined without `mut`: write `let mut {named} = …` in its cell and run that again, or `let mut {named} = {named};` here"
            );
            set(help, diagnostic);
        }
        "E0069" | "E0308" if diagnostic.code == "E0069" || returns(diagnostic, line) => {
            diagnostic.code = "E0069".to_string();
            diagnostic.notes.clear();
            diagnostic.message = "`return` at the top level of a cell: there is no function to return from".to_string();
            diagnostic.labels.iter_mut().for_each(|l| l.text.clear());
            set("put the code into a `fn`, or use `if` around the rest of the cell".to_string(), diagnostic);
        }
        "E0425" if cuda::no_function(&named, notebook).is_some() => {
            set(cuda::no_function(&named, notebook).unwrap_or_default(), diagnostic);
        }
        "E0502" | "E0499" | "E0505" => cuda::borrowed(diagnostic, code, notebook),
        "E0425"
            if mentions_frame(line, notebook) && (diagnostic.help.is_empty() || is_far_fetched(diagnostic, &named)) =>
        {
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
        // `pd::read_csv`, `pl::col`: as in Python, but without the module.
        "E0432" | "E0433" if ["pd", "pl", "np", "pandas", "polars"].contains(&text.as_str()) => {
            set(elsewhere("pd").unwrap_or_default().to_string(), diagnostic);
        }
        "E0432" | "E0433" if diagnostic.labels.iter().any(|l| l.text.contains("unlinked crate")) => {
            let name = diagnostic.labels.iter().find_map(|l| l.text.split('`').nth(1)).unwrap_or("NAME").to_string();
            set(format!("`:dep {name}` adds the crate of this name"), diagnostic);
        }
        "E0425" | "E0423" | "E0412" | "E0405" if elsewhere(&named).is_some() => {
            set(elsewhere(&named).unwrap_or_default().to_string(), diagnostic);
        }
        "E0425" | "E0423" | "E0412" | "E0405" | "E0422" | "E0433" | "syntax"
            if (diagnostic.help.is_empty() || is_one_letter_off(diagnostic, &named, notebook))
                && near_name(diagnostic, &named, notebook).is_some() =>
        {
            set(near_name(diagnostic, &named, notebook).unwrap_or_default(), diagnostic);
        }
        "E0282" | "E0283" if line.contains("let ") && diagnostic.message.starts_with("type annotations needed") => {
            let note = "what a later cell does with a variable does not say its type: this cell must";
            diagnostic.notes.push(note.to_string());
        }
        "E0277" if diagnostic.message.contains("can only be used on `Result`s, not `Option`s") => {
            diagnostic.message =
                "`?` on an `Option` at the top level of a cell, which ends with a `Result`".to_string();
            diagnostic.labels.iter_mut().for_each(|l| l.text.clear());
            set("say what is wrong when it is `None`: `.ok_or(\"…\")?`".to_string(), diagnostic);
        }
        "E0369" if diagnostic.labels.iter().any(|l| l.text == "Expr") => {
            diagnostic.notes.clear();
            set("comparisons of columns stand in `x!(a > 1)`, or are methods: `col(\"a\").gt(1)`".into(), diagnostic);
        }
        "syntax" if diagnostic.message.starts_with("character literal may only contain") => {
            let inner = text.trim_matches('\'');
            set(format!("write \"{inner}\": single quotes are for one character"), diagnostic);
        }
        "syntax"
            if text.starts_with("lambda") || line.contains("lambda ") && diagnostic.message.contains("found `") =>
        {
            set("a closure is written `|x| x + 1`".to_string(), diagnostic);
        }
        "syntax" if line.contains("= {") && diagnostic.message.ends_with("found `:`") => {
            set(
                "a map is made with `HashMap::from([(\"a\", 1)])`, a frame with `frame! { a: [1, 2] }`".into(),
                diagnostic,
            );
        }
        "syntax" if line.to_lowercase().contains("sql(select ") => {
            set("the query is a text: `sql(\"select … from …\")`".to_string(), diagnostic);
        }
        "syntax" if diagnostic.message == "prefix `f` is unknown" => {
            set("`format!(\"… {name} …\")` puts values into a text".to_string(), diagnostic);
        }
        "syntax" if code.trim_start().starts_with("import ") || code.trim_start().starts_with("from ") => {
            set("cells are Rust: `use std::collections::HashMap;` brings a name in".to_string(), diagnostic);
        }
        _ => {}
    }
    two_of_a_name(diagnostic);
    // Hundreds of types of the standard library do not help.
    diagnostic.help.retain(|help| {
        !help.starts_with("the following other types implement") && !help.starts_with("the following types implement")
    });
}

/// Adds hints to an error of a running cell.
pub fn advise_run(diagnostic: &mut Diagnostic) {
    let mut parts = diagnostic.message.split('`');
    // Messages of this code about files, models and `concat` begin with another name.
    let is_column =
        diagnostic.code == "unknown-column" && parts.next().is_some_and(|text| text.ends_with("no column "));
    let name = parts.next().unwrap_or_default();
    let is_expression = name.contains(['>', '<', '=', '+', '*', '/', '(']) || name.contains(" and ");
    if is_column && is_expression {
        let expression = name.replace(" and ", " && ");
        diagnostic.help = vec![format!("a string names a column; an expression is written `x!({expression})`")];
    }
}

fn primary(diagnostic: &Diagnostic) -> Option<Span> {
    diagnostic.labels.iter().find(|l| l.primary).map(|l| l.span.clone())
}

/// Whether a line is about a variable that holds a frame.
fn mentions_frame(line: &str, notebook: &Notebook) -> bool {
    let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.any(|word| notebook.variables.get(word).is_some_and(|v| v.type_code.ends_with("::Frame")))
}

/// A variable that no longer exists.
fn gone(diagnostic: &mut Diagnostic, name: &str, notebook: &Notebook) {
    let Some(why) = notebook.gone.get(name) else { return };
    diagnostic.message = format!("`{name}` {why}");
    diagnostic.labels.iter_mut().for_each(|l| l.text.clear());
    diagnostic.help = vec![match name.strip_prefix('_') {
        Some(kept) if why.starts_with("begins") => format!("call it `{kept}` in its cell"),
        _ if why.ends_with("failed") => "correct that cell and run it again".to_string(),
        _ if why.starts_with("borrowed") => keeping("borrowed").to_string(),
        _ if why.starts_with("is ") && why.contains(", and ended with") => {
            keeping(why[3..].split(", and ended").next().unwrap_or_default()).to_string()
        }
        _ => "run the cell that defines it again".to_string(),
    }];
}

/// The hint on how a variable can persist, by the reason why it did not.
pub fn keeping(what: &str) -> &'static str {
    match what {
        "borrowed" => "a variable that outlives its cell owns its value: `.clone()`, `.to_owned()` or `.collect()` it",
        "a closure" => "write a `fn`, or box it with its type: `let f: Box<dyn Fn(i32) -> i32> = Box::new(…)`",
        "a function" => "say its type: `let f: fn(i32) -> i32 = …`",
        "an iterator over a closure" => {
            "`.collect::<Vec<_>>()` it, or box it: `let it: Box<dyn Iterator<Item = i32>> = Box::new(…)`"
        }
        "a future" => "await it in its cell, or box it: `let f: Pin<Box<dyn Future<Output = i32>>> = Box::pin(…)`",
        "of a private type" => "keep what it was made from, or turn it into a type with a name (`collect`, `to_owned`)",
        _ => "define the type at the top level of a cell",
    }
}

/// The nearest name of the notebook to an unknown one.
fn near_name(diagnostic: &Diagnostic, named: &str, notebook: &Notebook) -> Option<String> {
    if !diagnostic.message.starts_with("cannot find ") || !diagnostic.message.ends_with(" in this scope") {
        return None;
    }
    let names = notebook.variables.keys().chain(notebook.items.keys()).chain(notebook.macros.keys());
    let names: Vec<&str> = names.map(String::as_str).collect();
    if notebook.items.contains_key(named) && !notebook.variables.contains_key(named) {
        return Some(format!("a module sees the items of cells with `super::`: `super::{named}`"));
    }
    let found = nearest(named, &names)?;
    // Short names are all near to each other.
    let close = named.chars().count() > 3 || strsim::damerau_levenshtein(named, found) < named.chars().count().min(2);
    close.then(|| format!("did you mean `{found}`?"))
}

/// Whether a name of the notebook differs by one letter, where rustc has found a name of the prelude that is similar.
fn is_one_letter_off(diagnostic: &Diagnostic, named: &str, notebook: &Notebook) -> bool {
    let mut names = notebook.variables.keys().chain(notebook.items.keys());
    diagnostic.help.iter().all(|help| help.contains("similar name"))
        && names.any(|name| strsim::damerau_levenshtein(name, named) == 1)
}

/// Names that people know from other languages.
fn elsewhere(name: &str) -> Option<&'static str> {
    Some(match name {
        "null" | "nil" | "NULL" | "nullptr" => "what may be missing is an `Option`: `None`, or `Some(value)`",
        "True" => "write `true`",
        "False" => "write `false`",
        "range" => "a range is written `0..10`",
        "self" | "this" => return None,
        "str" | "string" | "int" | "float" | "double" => return None,
        "enumerate" | "zip" | "map" | "filter" | "sum" => {
            "iterators have it as a method: `v.iter().enumerate()`, `v.iter().map(|x| …)`, `v.iter().sum::<i32>()`"
        }
        "sorted" => "`v.sort()` sorts a `Vec` in place",
        "type" => "`:type NAME` says the type of a variable",
        "read_sql" | "read_sql_query" | "read_sql_table" | "read_database_uri" | "create_engine" | "dbConnect" => {
            "a query of a database gives a frame: `read_database(\"sqlite:///a.db\", \"select * from t\")`"
        }
        "pd" | "pl" | "np" => "cells are Rust: `read_csv(\"…\")` and similar functions need no module",
        _ => return None,
    })
}

/// Whether two names are similar. A name of one letter is similar to every other one.
fn is_far_fetched(diagnostic: &Diagnostic, name: &str) -> bool {
    name.chars().count() <= 2 && diagnostic.help.iter().all(|help| help.contains("similar name"))
}

/// A `return` with a value, outside of a function.
fn returns(diagnostic: &Diagnostic, line: &str) -> bool {
    let Some(place) = primary(diagnostic) else { return false };
    let before: String = line.chars().take(place.column as usize - 1).collect();
    before.trim_end().ends_with("return")
        && diagnostic.labels.iter().any(|l| l.primary && l.text.contains("`Result<(), _>`"))
}

/// Whether the position of an error is after the last token of the cell.
fn is_past(diagnostic: &Diagnostic, code: &str) -> bool {
    let (line, column) = crate::scan::position(code, code.trim_end().len());
    primary(diagnostic).is_some_and(|at| (at.line, at.column) >= (line, column))
}

/// Two types of one name: their crate names mean nothing to the user, their cells do.
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

/// The source that a span of this cell covers.
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

/// The end of the last token, before comments and blanks.
fn code_end(code: &str) -> usize {
    let tokens = code.parse::<proc_macro2::TokenStream>().ok();
    let last = tokens.and_then(|tokens| tokens.into_iter().last());
    last.map_or(code.trim_end().len(), |token| token.span().byte_range().end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_as_the_name_of_a_column_is_written_in_a_macro() {
        let help = |message: &str| {
            let mut diagnostic = Diagnostic::error(onrush_wire::Class::Plan, "unknown-column", message).help("other");
            advise_run(&mut diagnostic);
            diagnostic.help.concat()
        };
        let hint = "a string names a column; an expression is written `x!(a > 1 && b < 2)`";
        // Messages of the session and of `kernel/onrush/src/graph.rs`.
        for message in ["there is no column `a > 1 and b < 2`", "no column `a > 1 and b < 2`"] {
            assert_eq!(help(message), hint, "{message}");
        }
        for message in [
            "there is no column `club`",
            "`/data/a.csv` has no column `b`",
            "`a/b` is missing: the model was trained on a/b, c",
            "frame 1 has the column `a/b`, frame 2 has not",
        ] {
            assert_eq!(help(message), "other", "{message}");
        }
        let mut other = Diagnostic::error(onrush_wire::Class::Plan, "another-code", "no column `a > 1`");
        advise_run(&mut other);
        assert!(other.help.is_empty());
    }

    #[test]
    fn a_missing_semicolon_is_shown_where_it_belongs() {
        let diagnostic = missing_semicolon("let a = 1;\nlet y = a // of a\n", "c").unwrap();
        assert_eq!((diagnostic.labels[0].span.line, diagnostic.labels[0].span.column), (2, 10));
        assert!(missing_semicolon("let y = ;", "c").is_none());
    }
}
