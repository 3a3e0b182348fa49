//! Hints that rustc cannot give: about notebooks, about earlier cells, and for people who come from Python.

mod captured;
mod cuda;
mod frame_methods;
mod frames;
mod habits;
mod keeping;
mod prelude;
pub mod rustc_text;

use onrush_wire::{Diagnostic, Span};

use crate::commands::nearest;

pub use cuda::variables_begin_anew;
pub use keeping::{BORROWED, borrower, keeping};
use rustc_text::SYNTAX;

use crate::notebook::{Loss, Notebook};

/// Adds hints to the diagnostics of one cell, and drops consequential errors.
pub fn advise(diagnostics: &mut Vec<Diagnostic>, code: &str, notebook: &Notebook) {
    if cuda::not_rust(diagnostics, code) {
        return;
    }
    // Source that is not Rust: errors after the first place add nothing.
    let decides = diagnostics
        .iter()
        .position(rustc_text::has_no_token)
        .or_else(|| diagnostics.iter().position(rustc_text::has_unclear_literal));
    if let Some(first) = decides {
        diagnostics.swap(0, first);
        diagnostics.truncate(1);
    }
    // A source that does not parse was compiled unchanged, without the names of earlier cells.
    if diagnostics.iter().any(rustc_text::is_syntax) && crate::parse::parse_cell(code).error.is_some() {
        diagnostics.retain(rustc_text::is_syntax);
    }
    // Errors after the cell's last token are about generated code.
    if diagnostics.len() > 1 {
        diagnostics.retain(|d| !(d.code == SYNTAX && rustc_text::met_token(&d.message, "::") && is_past(d, code)));
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
    // A name that a forgotten `let` would define is unknown further down, too.
    let mut forgotten: Vec<String> = Vec::new();
    let mut said: Vec<String> = Vec::new();
    diagnostics.retain_mut(|diagnostic| {
        let named = quoted(&diagnostic.message);
        if diagnostic.code == "E0425" && forgotten.contains(&named) {
            return false;
        }
        advise_one(diagnostic, code, notebook);
        if diagnostic.help.iter().any(|help| rustc_text::introduces_binding(help)) {
            forgotten.push(named);
        }
        // Each use of a variable in a function is an error of rustc.
        let is_new = diagnostic.code != "E0434" || !said.contains(&diagnostic.message);
        said.push(diagnostic.message.clone());
        is_new
    });
}

/// The first name in backticks.
fn quoted(message: &str) -> String {
    message.split('`').nth(1).unwrap_or("").to_string()
}

fn advise_one(diagnostic: &mut Diagnostic, code: &str, notebook: &Notebook) {
    let at = primary(diagnostic);
    let text = at.as_ref().and_then(|span| text_at(code, span)).unwrap_or_default();
    let line = at.as_ref().and_then(|span| code.lines().nth(span.line as usize - 1)).unwrap_or_default();
    let named = quoted(&diagnostic.message);
    let is_call = diagnostic.message.contains(" function");
    let set = |help: String, diagnostic: &mut Diagnostic| diagnostic.help = vec![help];
    // `p` of a message about `p.x`.
    let mut roots =
        diagnostic.message.split('`').skip(1).step_by(2).map(|name| name.split(['.', '[']).next().unwrap_or(name));
    let immutable = roots.find(|name| notebook.variables.get(*name).is_some_and(|v| !v.mutable)).map(str::to_string);
    prelude::advise(diagnostic, code);
    if diagnostic.code == "E0425" {
        captured::advise(diagnostic, &named, code, notebook);
    }
    match diagnostic.code.as_str() {
        "E0425" | "E0423" | "E0381" if notebook.gone.contains_key(&named) => {
            let forgotten = at.as_ref().and_then(|at| habits::forgotten_let(line, at));
            gone(diagnostic, &named, notebook);
            diagnostic.help.extend(forgotten.filter(|_| diagnostic.code == "E0425"));
        }
        "E0425" if at.as_ref().is_some_and(|at| habits::forgotten_let(line, at).is_some()) => {
            set(at.and_then(|at| habits::forgotten_let(line, &at)).unwrap_or_default(), diagnostic);
        }
        // `random.random()`
        "E0599" if of_function_item(diagnostic).is_some() => {
            set(of_function_item(diagnostic).unwrap_or_default(), diagnostic);
        }
        // The name is that of a function: `line = 5`.
        "E0070" if assigned_function(diagnostic, line).is_some() => {
            set(assigned_function(diagnostic, line).unwrap_or_default(), diagnostic);
        }
        "E0425" if at.as_ref().is_some_and(|at| habits::named_argument(line, at).is_some()) => {
            set(at.and_then(|at| habits::named_argument(line, &at)).unwrap_or_default(), diagnostic);
        }
        // A macro of the prelude has the name of an unknown variable.
        "E0423" if rustc_text::met_macro(&diagnostic.message) => {
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
            if mentions_frame(line, notebook)
                && habits::of_name(&named, is_call).is_none()
                && (diagnostic.help.is_empty() || is_far_fetched(diagnostic, &named)) =>
        {
            set(format!("a column is written inside of `x!(…)`: `x!({named} …)`"), diagnostic);
        }
        "E0608" | "E0609" | "E0615" | "E0616" if diagnostic.message.contains("`Frame`") => {
            let column = "`f.column::<f64>(\"name\")` gives the values of a column, `f.select(\"name\")` a frame of it";
            let advice = frames::advise(diagnostic, code);
            let is_method = diagnostic.code == "E0615" && advice.is_none();
            if !is_method {
                set(advice.unwrap_or_else(|| column.to_string()), diagnostic);
            }
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
        "E0277" if rustc_text::is_try_on_value(&diagnostic.message) => {
            set("methods of frames raise by themselves: leave out the `?`".to_string(), diagnostic);
            diagnostic.notes.clear();
        }
        // `pd::read_csv`, `pl::col`: as in Python, but without the module.
        "E0432" | "E0433" if ["pd", "pl", "np", "pandas", "polars"].contains(&text.as_str()) => {
            set(elsewhere("pd").unwrap_or_default().to_string(), diagnostic);
        }
        "E0432" | "E0433" if diagnostic.labels.iter().any(|l| rustc_text::is_unlinked_crate(&l.text)) => {
            let name = diagnostic.labels.iter().find_map(|l| l.text.split('`').nth(1)).unwrap_or("NAME").to_string();
            set(format!("`:dep {name}` adds the crate of this name"), diagnostic);
        }
        "E0425" | "E0423" | "E0412" | "E0405" if elsewhere(&named).is_some() => {
            set(elsewhere(&named).unwrap_or_default().to_string(), diagnostic);
        }
        "E0425" | "E0423" if habits::of_name(&named, is_call).is_some() => {
            set(habits::of_name(&named, is_call).unwrap_or_default().to_string(), diagnostic);
        }
        "E0425" | "E0423" | "E0412" | "E0405" | "E0422" | "E0433" | SYNTAX
            if (diagnostic.help.is_empty() || is_one_letter_off(diagnostic, &named, notebook))
                && near_name(diagnostic, &named, notebook).is_some() =>
        {
            set(near_name(diagnostic, &named, notebook).unwrap_or_default(), diagnostic);
        }
        "E0282" | "E0283" | "E0284" | "E0790" if line.contains("let ") => {
            let note = "what a later cell does with a variable does not say its type: this cell must";
            diagnostic.notes.push(note.to_string());
            if diagnostic.code == "E0790" {
                set("say the type of the variable: `let name: f64 = Default::default();`".to_string(), diagnostic);
            }
        }
        "E0277" if rustc_text::is_try_on_option(&diagnostic.message) => {
            diagnostic.message =
                "`?` on an `Option` at the top level of a cell, which ends with a `Result`".to_string();
            diagnostic.labels.iter_mut().for_each(|l| l.text.clear());
            set("say what is wrong when it is `None`: `.ok_or(\"…\")?`".to_string(), diagnostic);
        }
        "E0369" if diagnostic.labels.iter().any(|l| l.text == "Expr") => {
            diagnostic.notes.clear();
            set("comparisons of columns stand in `x!(a > 1)`, or are methods: `col(\"a\").gt(1)`".into(), diagnostic);
        }
        SYNTAX | "E0614" => {
            if let Some(help) = syntax_help(diagnostic, code, line, &text) {
                set(help, diagnostic);
            }
        }
        _ => {}
    }
    if rustc_text::needs_annotation(&diagnostic.message) {
        name_types(diagnostic);
    }
    two_of_a_name(diagnostic);
    // Hundreds of types of the standard library do not help.
    diagnostic.help.retain(|help| !rustc_text::lists_types(help));
}

/// The help on code that does not parse, or that is read otherwise than it was meant.
fn syntax_help(diagnostic: &Diagnostic, code: &str, line: &str, text: &str) -> Option<String> {
    let message = diagnostic.message.as_str();
    if diagnostic.code != SYNTAX {
        return habits::of_syntax(diagnostic, line);
    }
    if text == "where" && line.contains(".where(") {
        return Some("rows by a condition: `f.filter(x!(a > 1))`".to_string());
    }
    if [".loc[", ".iloc["].iter().any(|word| line.contains(word)) {
        return frame_methods::of_frame("loc");
    }
    let help = if line.contains(".agg({") {
        "aggregates are expressions: `.agg(x!(a.sum(), m = b.mean()))`"
    } else if rustc_text::is_long_character(message) {
        return Some(format!("write \"{}\": single quotes are for one character", text.trim_matches('\'')));
    } else if text.starts_with("lambda") || line.contains("lambda ") && rustc_text::met_some_token(message) {
        "a closure is written `|x| x + 1`"
    } else if line.contains("= {") && rustc_text::met_token(message, ":") {
        "a map is made with `HashMap::from([(\"a\", 1)])`, a frame with `frame! { a: [1, 2] }`"
    } else if line.to_lowercase().contains("sql(select ") {
        "the query is a text: `sql(\"select … from …\")`"
    } else if message == "prefix `f` is unknown" {
        "`format!(\"… {name} …\")` puts values into a text"
    } else if code.trim_start().starts_with("import ") || code.trim_start().starts_with("from ") {
        "cells are Rust: `use std::collections::HashMap;` brings a name in"
    } else {
        return habits::of_syntax(diagnostic, line);
    };
    Some(help.to_string())
}

/// Adds hints to an error of a running cell.
pub fn advise_run(diagnostic: &mut Diagnostic) {
    let is_column = is_missing_column(diagnostic);
    let name = diagnostic.message.split('`').nth(1).unwrap_or_default();
    let is_expression = name.contains(['>', '<', '=', '+', '*', '/', '(']) || name.contains(" and ");
    const AGGREGATES: [&str; 9] = ["sum", "mean", "min", "max", "count", "median", "std", "var", "size"];
    if is_column && AGGREGATES.contains(&name) {
        let method = if name == "size" { "len" } else { name };
        diagnostic.help = vec![match method {
            "len" => "a string names a column; the number of rows is written `x!(len())`".to_string(),
            _ => format!("a string names a column; an aggregate of a column is written `x!(a.{method}())`"),
        }];
    }
    if is_column && is_expression {
        let expression = name.replace(" and ", " && ");
        diagnostic.help = vec![format!("a string names a column; an expression is written `x!({expression})`")];
    }
}

/// Whether the session says that a frame has no such column. Messages of the same code about files, models and `concat`
/// begin with another name.
fn is_missing_column(diagnostic: &Diagnostic) -> bool {
    diagnostic.code == "unknown-column"
        && diagnostic.message.split('`').next().is_some_and(|text| text.ends_with("no column "))
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
    diagnostic.help = vec![match why {
        Loss::Underscore(_) => format!("call it `{}` in its cell", name.strip_prefix('_').unwrap_or(name)),
        Loss::MovedInPart(_) => in_part(name, notebook),
        Loss::Unset(_) => format!("give it one: `{name} = …;`"),
        Loss::CellFailed(_) => "correct that cell and run it again".to_string(),
        Loss::Borrowed(_) => keeping(BORROWED).to_string(),
        Loss::Unkept(what, _) => keeping(what).to_string(),
        _ => "run the cell that defines it again".to_string(),
    }];
}

/// The fields that are left of a variable that was moved in part.
fn in_part(name: &str, notebook: &Notebook) -> String {
    let start = format!("{name}.");
    let left: Vec<String> =
        notebook.variables.keys().filter(|known| known.starts_with(&start)).map(|known| format!("`{known}`")).collect();
    match left.is_empty() {
        true => format!("take it apart in that cell: `let (a, b) = {name};`; or leave it whole: `{name}.0.clone()`"),
        false => format!("{} can still be used; move a copy to keep all of it: `.clone()`", left.join(", ")),
    }
}

/// The nearest name of the notebook to an unknown one.
fn near_name(diagnostic: &Diagnostic, named: &str, notebook: &Notebook) -> Option<String> {
    if !rustc_text::is_unknown_in_scope(&diagnostic.message) {
        return None;
    }
    let names = notebook.variables.keys().chain(notebook.items.keys()).chain(notebook.macros.keys());
    let names: Vec<&str> = names.map(String::as_str).collect();
    if notebook.items.contains_key(named) && !notebook.variables.contains_key(named) {
        return Some(format!("a module sees the items of cells with `super::`: `super::{named}`"));
    }
    let found = nearest(named, &names).filter(|found| *found != named)?;
    // Short names are all near to each other.
    let close = named.chars().count() > 3 || strsim::damerau_levenshtein(named, found) < named.chars().count().min(2);
    close.then(|| format!("did you mean `{found}`?"))
}

/// Whether a name of the notebook differs by one letter, where rustc has found a name of the prelude that is similar.
fn is_one_letter_off(diagnostic: &Diagnostic, named: &str, notebook: &Notebook) -> bool {
    let mut names = notebook.variables.keys().chain(notebook.items.keys());
    diagnostic.help.iter().all(|help| rustc_text::names_similar(help))
        && names.any(|name| strsim::damerau_levenshtein(name, named) == 1)
}

/// Names that people know from other languages.
fn elsewhere(name: &str) -> Option<&'static str> {
    Some(match name {
        "null" | "nil" | "NULL" | "nullptr" => {
            "what may be missing is an `Option`: `None`, or `Some(value)`; nulls of a column: `x!(a.is_null())`"
        }
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
    name.chars().count() <= 2 && diagnostic.help.iter().all(|help| rustc_text::names_similar(help))
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
    let (line, column) = crate::lexer::position(code, code.trim_end().len());
    primary(diagnostic).is_some_and(|at| (at.line, at.column) >= (line, column))
}

/// rustc's help leaves the type of a result open, `.sum::<S>()`: one that fits is code to copy.
fn name_types(diagnostic: &mut Diagnostic) {
    let summed = diagnostic.notes.iter().find_map(|note| note.split_once(": Sum<").or(note.split_once(": Product<")));
    let item = summed.and_then(|(_, rest)| rest.split('>').next()).unwrap_or("i32").trim_start_matches('&');
    let item = item.replace("{integer}", "i32").replace("{float}", "f64");
    let mut named = vec![("sum::<S>", format!("sum::<{item}>")), ("product::<P>", format!("product::<{item}>"))];
    named.push(("parse::<F>", "parse::<i32>".to_string()));
    if summed.is_some() {
        named.push(("/* Type */", item));
    }
    for (open, of) in named {
        for help in diagnostic.help.iter_mut().filter(|help| help.contains(open)) {
            *help = help.replacen(open, &of, 1);
            // The signs below what is new go on as far as it does.
            let Some(end) = help.rfind('+') else { continue };
            let start = help[..end].rfind(|c: char| c != '+').map_or(0, |at| at + 1);
            let width = (end + 1 - start + of.len()).saturating_sub(open.len());
            help.replace_range(start..=end, &"+".repeat(width));
        }
    }
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

/// The byte at which a span of this cell begins.
fn offset(code: &str, span: &Span) -> Option<usize> {
    let line = (span.line as usize).checked_sub(1)?;
    let start: usize = code.split_inclusive('\n').take(line).map(str::len).sum();
    let text = code.get(start..)?;
    let before: usize = text.chars().take((span.column as usize).checked_sub(1)?).map(char::len_utf8).sum();
    Some(start + before)
}

/// A `let` that was forgotten in front of a name that a function has.
fn assigned_function(diagnostic: &Diagnostic, line: &str) -> Option<String> {
    let at = primary(diagnostic)?;
    let to = diagnostic.labels.iter().find(|label| label.text == "cannot assign to this expression")?;
    let is_name = |text: &str| text.chars().all(|c| c.is_alphanumeric() || c == '_');
    let name: String = line.chars().skip(to.span.column as usize - 1).take(to.span.length as usize).collect();
    (to.span.line == at.line && is_name(&name)).then(|| habits::forgotten_let(line, &to.span)).flatten()
}

/// A function of the prelude that is used as a module of another language.
fn of_function_item(diagnostic: &Diagnostic) -> Option<String> {
    let (_, item) = diagnostic.message.split_once(" found for fn item ")?;
    habits::of_function(item.split_once('{')?.1.split('}').next()?, "")
}

/// The source that a span of this cell covers.
fn text_at(code: &str, span: &Span) -> Option<String> {
    let line = code.lines().nth((span.line as usize).checked_sub(1)?)?;
    Some(line.chars().skip(span.column as usize - 1).take(span.length as usize).collect())
}

/// A `let` without its `;` at the end of the cell, which rustc notices only after the cell.
pub fn missing_semicolon(code: &str, file: &str) -> Option<Diagnostic> {
    if crate::parse::parse_cell(&format!("{code}\n;")).error.is_some() {
        return None;
    }
    let end = code_end(code);
    let (line, column) = crate::lexer::position(code, end);
    let span = Span { file: file.to_string(), line, column, length: 1 };
    let error = Diagnostic::error(onrush_wire::Class::Compile, SYNTAX, "a `;` is missing at the end of this statement");
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
    fn an_open_type_of_a_help_is_named() {
        let mut diagnostic = Diagnostic::error(onrush_wire::Class::Compile, "E0283", "type annotations needed")
            .note("cannot satisfy `_: Sum<&f64>`")
            .help("consider specifying the generic argument:\n    v.iter().sum::<S>()\n                +++++");
        name_types(&mut diagnostic);
        let help = "consider specifying the generic argument:\n    v.iter().sum::<f64>()\n                +++++++";
        assert_eq!(diagnostic.help, [help]);
        diagnostic.help =
            vec!["consider giving `t` an explicit type:\n    let t: /* Type */ = v\n         ++++++++++++".into()];
        name_types(&mut diagnostic);
        assert_eq!(diagnostic.help, ["consider giving `t` an explicit type:\n    let t: f64 = v\n         +++++"]);
    }

    #[test]
    fn a_missing_semicolon_is_shown_where_it_belongs() {
        let diagnostic = missing_semicolon("let a = 1;\nlet y = a // of a\n", "c").unwrap();
        assert_eq!((diagnostic.labels[0].span.line, diagnostic.labels[0].span.column), (2, 10));
        assert!(missing_semicolon("let y = ;", "c").is_none());
    }
}
