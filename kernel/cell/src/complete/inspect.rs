//! Inspection of a name: type, signature and documentation; for a frame its schema and size, for a column its summary.

use std::fmt::Write;

use onrush_wire::format_integer::grouped;
use onrush_wire::session::NamedFrame;

use super::CursorContext;
use super::calls::enclosing;
use super::columns::{self, Column};
use super::identifiers::{in_expression, in_use, receiver, written_path};
use super::magics::python_magic;
use super::members::{MemberMatch, head};
use super::symbols::Symbols;
use super::tokens::{End, Kind, word_end, word_start};
use super::ty::Ty;
use crate::completion_snapshot::{Frames, Names};
use crate::index::{Item, last};
use crate::interface::Inspection;
use crate::parse::{ItemKind, PartKind, parse_cell};
use crate::reference;
use crate::type_query::PROBE;
use crate::types::short;

/// Columns that are listed.
const COLUMNS: usize = 60;

/// The name in a cell such as `name?`, `name??` or `?name`, and how much is asked. `None` where it is Rust: `result?`.
pub fn question<'a>(names: &Names, text: &'a str) -> Option<(&'a str, u8)> {
    let text = text.trim();
    let marks = |n: usize| if n > 1 { 1 } else { 0 };
    let (subject, detail) = match text.strip_prefix('?') {
        Some(rest) => (rest.trim_start_matches('?').trim(), marks(text.len() - rest.trim_start_matches('?').len())),
        None => {
            let subject = text.trim_end_matches('?');
            (subject.trim_end(), marks(text.len() - subject.len()))
        }
    };
    let is_path = !subject.is_empty()
        && subject.len() < text.len()
        && subject.chars().all(|c| super::tokens::is_word(c) || matches!(c, ':' | '.' | '!'))
        && !subject.starts_with(|c: char| c.is_ascii_digit());
    if !is_path {
        return None;
    }
    // The operator's work: these end the cell, or give what is inside.
    let tries = names.notebook.variables.get(subject).is_some_and(|v| {
        v.type_code.split_once('<').is_some_and(|(path, _)| TRIED.iter().any(|t| path.ends_with(&format!("::{t}"))))
    });
    (text.starts_with('?') || !tries).then_some((subject, detail))
}

/// Whether `?` behind a field is the operator, because of what the field is: `config.port?`, `pair.0?`.
pub fn is_tried(names: &Names, subject: &str, turn: u64, frames: &dyn Frames) -> bool {
    // In brackets, because `pair.0.` would be read as a number.
    let (before, text) = (format!("({subject})"), format!("({subject})."));
    let place = CursorContext::new(names, frames, &text, text.chars().count(), turn);
    let known = Symbols::at(&place, &before, &format!(".{PROBE}"));
    let ty = receiver(&place, &known, &place.tokens);
    ty.is_some_and(|ty| TRIED.contains(&head(&ty).rsplit("::").next().unwrap_or_default()))
}

/// Types that the operator `?` takes.
const TRIED: [&str; 4] = ["Result", "Option", "ControlFlow", "Poll"];

/// `cursor` counts code points; `detail` is Jupyter's.
pub fn inspect(names: &Names, text: &str, cursor: usize, detail: u8, turn: u64, frames: &dyn Frames) -> Inspection {
    if python_magic(text).is_some() {
        return Inspection::default();
    }
    let at = text.char_indices().nth(cursor).map_or(text.len(), |(i, _)| i);
    let (start, end) = (word_start(text, at), word_end(text, at));
    let characters = |at: usize| text[..at].chars().count();
    if start < end {
        let place = CursorContext::new(names, frames, text, characters(end), turn);
        if let Some(markdown) = about_word(&place, detail) {
            return found(markdown);
        }
    }
    // Between the brackets of a call: the function.
    let place = CursorContext::new(names, frames, text, characters(start), turn);
    for call in enclosing(&place.tokens).into_iter().filter(|c| !c.name.is_empty()) {
        let name_end = place.tokens[call.at].end();
        let place = CursorContext::new(names, frames, text, characters(name_end), turn);
        if let Some(markdown) = about_word(&place, detail) {
            return found(markdown);
        }
    }
    Inspection::default()
}

fn found(markdown: String) -> Inspection {
    Inspection { found: true, markdown }
}

fn code(text: &str) -> String {
    format!("```rust\n{text}\n```\n")
}

fn about_word(place: &CursorContext<'_>, detail: u8) -> Option<String> {
    if place.text.trim_start().starts_with("%%sql") {
        return reference::sql_function(place.word()).map(reference::markdown);
    }
    if let End::Text { contents, .. } = place.end {
        return about_text(place, contents);
    }
    if place.end == End::Comment || place.word().starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    match place.last() {
        Some(dot) if dot.is(".") => {
            let known = Symbols::at(place, &place.text[..dot.start], &format!(".{PROBE}"));
            let ty = receiver(place, &known, &place.tokens)?;
            let members = known.world.members(&ty);
            let member = members.iter().find(|m| m.name == place.word()).map(|m| about_member(m, &ty));
            // `x!` takes functions that the prelude has no method for.
            member.or_else(|| about_function(&ty, place.word()))
        }
        Some(colons) if colons.is("::") => about_path(place),
        _ if in_use(&place.tokens).is_some_and(|path| !path.is_empty()) => about_path(place),
        _ => about_name(place, detail),
    }
}

fn about_member(member: &MemberMatch, ty: &Ty) -> String {
    let first = match member.kind {
        'f' => format!("{}.{}: {}", member.owner, member.name, member.signature),
        _ => member.signature.clone(),
    };
    let mut text = code(&first);
    let of = if member.kind == 'f' { String::new() } else { format!("\n*{}, of `{ty}`*\n", member.owner) };
    let _ = write!(text, "\n{}\n{of}", member.docs);
    if let Some(entry) = reference::method(last(&head(ty)), &member.name) {
        text.push_str(&reference::footer(entry));
    }
    text
}

/// A function of `x!` behind a dot, by the type of its namespace.
fn about_function(ty: &Ty, name: &str) -> Option<String> {
    reference::method(last(&head(ty)), name).map(reference::markdown)
}

fn about_item(item: &Item<'_>) -> String {
    let head =
        if item.signature.is_empty() { format!("{} {}", item.kind, item.path) } else { item.signature.to_string() };
    let mut text = code(&head);
    let _ = write!(text, "\n{}\n", item.docs());
    let list = |kind: char| -> Vec<String> {
        let members = item.members().filter(|m| m.kind == kind);
        members
            .map(|m| if kind == 'f' { format!("{}: {}", m.name, m.signature) } else { m.signature.to_string() })
            .collect()
    };
    for (kind, title) in [('f', "Fields"), ('v', "Variants")] {
        let members = list(kind);
        if !members.is_empty() {
            let _ = write!(
                text,
                "\n{title}: {}\n",
                members.iter().map(|m| format!("`{m}`")).collect::<Vec<_>>().join(", ")
            );
        }
    }
    if item.path.contains("::") {
        let _ = write!(text, "\n*{}*\n", item.path);
    }
    text
}

fn about_path(place: &CursorContext<'_>) -> Option<String> {
    let used = in_use(&place.tokens);
    let mut written = match &used {
        Some(path) => path.clone(),
        None => written_path(&place.tokens)?,
    };
    let known = Symbols::at(place, place.before(), PROBE);
    let owner = known.full_path(&written);
    written.push(place.word());
    if let Some(item) = known.full_path(&written).and_then(|path| known.items(&path).first().map(about_item)) {
        return Some(item);
    }
    let ty = match &owner {
        Some(path) if !known.items(path).is_empty() => Ty::path(path),
        _ => known.asked(place)?,
    };
    let of_type = known.world.associated(&ty);
    let member = of_type.iter().find(|m| m.name == place.word()).map(|m| about_member(m, &ty));
    member.or_else(|| {
        let item = known.world.trait_item(&head(&ty))?;
        let member = item.members().find(|m| m.name == place.word())?;
        Some(format!("{}\n{}\n", code(member.signature), member.docs()))
    })
}

fn about_name(place: &CursorContext<'_>, detail: u8) -> Option<String> {
    let word = place.word();
    let known = Symbols::at(place, place.before(), PROBE);
    if in_expression(&place.tokens) {
        if let Some(column) = column_named(place, word) {
            return Some(about_column(place, &column));
        }
        let is_call = place.text[place.at..].trim_start().starts_with('(');
        if let Some(entry) = reference::function(word).filter(|_| is_call) {
            return Some(reference::markdown(entry));
        }
    }
    if known.scope.locals.iter().any(|l| l == word) || is_bound_here(place) {
        let ty = type_of_local(place)?;
        let frame = place.frames.frames().into_iter().find(|f| f.name == word);
        let mut text = code(&format!("let {word}: {ty}"));
        if let (true, Some(frame)) = (ty.to_string() == "Frame", frame) {
            text.push_str(&about_frame(&frame));
        }
        return Some(text);
    }
    if !known.scope.in_function
        && let Some(text) = about_variable(place, word)
    {
        return Some(text);
    }
    for index in [&known.present, &known.cells] {
        if let Some(item) = index.at(word).into_iter().find(|i| i.kind != "impl") {
            let mut text = about_item(&item);
            let source = place.names.notebook.sources.get(word);
            if let Some(source) = source.filter(|_| detail > 0) {
                text = format!("{}\n{text}", code(&source.text));
            }
            if let Some(number) = cell_of(place.names, word) {
                let _ = write!(text, "\n*defined in cell {number}*\n");
            }
            return Some(text);
        }
    }
    let is_macro = place.text[place.at..].starts_with('!');
    let standard = crate::index::standard();
    if let Some(item) = known.full_path(&[word]).and_then(|path| {
        let found = known.items(&path);
        let item = found.iter().find(|i| (i.kind == "macro") == is_macro).or(found.first())?;
        let entry = reference::function(word).filter(|_| item.kind == "fn" && path.starts_with("onrush::"));
        Some(about_item(item) + &entry.map(reference::footer).unwrap_or_default())
    }) {
        return Some(item);
    }
    if let Some((_, item)) = standard.children("std").into_iter().find(|(name, i)| *name == word && i.kind == "macro") {
        return Some(about_item(&item));
    }
    for (name, of) in [
        ("Some", "std::option::Option"),
        ("None", "std::option::Option"),
        ("Ok", "std::result::Result"),
        ("Err", "std::result::Result"),
    ] {
        if name == word {
            return known.items(of).first().map(about_item);
        }
    }
    let keyword = standard.at(word).into_iter().find(|i| matches!(i.kind, "keyword" | "primitive"))?;
    Some(format!("`{word}`: {}\n", keyword.docs()))
}

/// The name of a pattern: `let x| = …`.
fn is_bound_here(place: &CursorContext<'_>) -> bool {
    let n = place.tokens.len();
    let before = |i: usize| n.checked_sub(i).map(|i| &place.tokens[i]);
    before(1).is_some_and(|t| t.is("let"))
        || before(1).is_some_and(|t| t.is("mut")) && before(2).is_some_and(|t| t.is("let"))
}

fn type_of_local(place: &CursorContext<'_>) -> Option<Ty> {
    let word = place.word();
    if !is_bound_here(place) {
        let cursor = place.text[..place.at].chars().count();
        let with_word = CursorContext::new(place.names, place.frames, place.text, cursor, place.turn);
        return Symbols::at(&with_word, &place.text[..place.at], &format!(".{PROBE}")).asked(place);
    }
    // Behind the statement that binds it.
    let rest = &place.text[place.at..];
    let (tokens, _) = super::tokens::tokens(rest);
    let pairs = super::tokens::partners(&tokens);
    let mut i = 0;
    while i < tokens.len() && !tokens[i].is(";") {
        i = pairs[i].filter(|&p| p > i).map_or(i + 1, |p| p + 1);
    }
    let end = tokens.get(i).map_or(place.text.len(), |t| place.at + t.end());
    let semicolon = if tokens.get(i).is_some() { "" } else { ";" };
    let before = format!("{}{semicolon} {word}", &place.text[..end]);
    Symbols::at(place, &before, &format!(".{PROBE}")).asked(place)
}

fn about_variable(place: &CursorContext<'_>, word: &str) -> Option<String> {
    let variable = place.names.notebook.variables.get(word)?;
    let mutable = if variable.mutable { "mut " } else { "" };
    let mut text = code(&format!("let {mutable}{word}: {}", short(&variable.type_code)));
    if let Some(frame) = place.frames.frames().iter().find(|f| f.name == word) {
        text.push_str(&about_frame(frame));
    } else if let Some(preview) = &variable.preview {
        let _ = write!(text, "\n`{preview}`\n");
    }
    let made = cell_of(place.names, word).map(|n| format!("made by cell {n}"));
    let bytes = (variable.bytes > 0).then(|| size(variable.bytes));
    let facts: Vec<String> = bytes.into_iter().chain(made).collect();
    if !facts.is_empty() {
        let _ = write!(text, "\n*{}*\n", facts.join(", "));
    }
    Some(text)
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// The newest cell that defines a name and did not fail.
fn cell_of(names: &Names, name: &str) -> Option<u64> {
    let ran = names.notebook.crates.iter().filter_map(|c| names.sources.get(&c.file));
    let mut cells: Vec<&(u64, String)> = ran.filter(|(number, _)| *number < 1 << 32).collect();
    cells.sort_unstable();
    let defines = |text: &str| {
        text.contains(name)
            && parse_cell(text).parts.iter().any(|part| match &part.kind {
                PartKind::Let { names, .. } => names.iter().any(|b| b.name == name),
                PartKind::Item(item) => match &item.kind {
                    ItemKind::Named(n) | ItemKind::Trait(n) | ItemKind::Macro(n) => n == name,
                    _ => false,
                },
                _ => false,
            })
    };
    cells.iter().rev().find(|(_, text)| defines(text)).map(|(number, _)| *number)
}

fn about_frame(frame: &NamedFrame) -> String {
    let columns = &frame.schema.fields;
    let rows = frame.rows.map_or_else(|| "rows are counted when it is shown".to_string(), |n| counted(n, "row"));
    let width = counted(columns.len() as u64, "column");
    let mut text = format!("\n{rows}, {width}, in the session\n\n| column | type |\n|---|---|\n");
    for field in columns.iter().take(COLUMNS) {
        let _ = writeln!(text, "| {} | {} |", field.name.replace('|', "\\|"), field.dtype);
    }
    if columns.len() > COLUMNS {
        let _ = writeln!(text, "\nand {} more", columns.len() - COLUMNS);
    }
    text
}

/// `1 row`, `336,776 rows`.
fn counted(n: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(n, ','), if n == 1 { "" } else { "s" })
}

fn column_named(place: &CursorContext<'_>, name: &str) -> Option<Column> {
    let in_hand = columns::in_hand(place).unwrap_or_else(|| columns::all(place));
    in_hand.into_iter().find(|c| c.name == name)
}

/// A string that names a column.
fn about_text(place: &CursorContext<'_>, contents: usize) -> Option<String> {
    let end = place.text[place.at..].find('"').map_or(place.text.len(), |n| place.at + n);
    let name = place.text.get(contents..end)?;
    if let Some(entry) = sql_function(place) {
        return Some(reference::markdown(entry));
    }
    let call = enclosing(&place.tokens).into_iter().find(|c| place.tokens[c.open].kind == Kind::Open('('))?;
    let column = column_named(place, name).filter(|_| !call.name.is_empty())?;
    Some(about_column(place, &column))
}

/// A function of SQL that is called in a query: `sql("select list_sort(…)")`.
fn sql_function(place: &CursorContext<'_>) -> Option<&'static reference::FunctionEntry> {
    let is_query = enclosing(&place.tokens).first().is_some_and(|call| call.name == "sql");
    let is_call = place.text[place.at..].trim_start().starts_with('(');
    reference::sql_function(place.word()).filter(|_| is_query && is_call)
}

fn about_column(place: &CursorContext<'_>, column: &Column) -> String {
    let Some((frame, id)) = &column.of else {
        return format!("`{}`: a column that an earlier step of this chain makes\n", column.name);
    };
    let dtype = column.dtype.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut text = format!("`{}`: **{dtype}**, a column of `{frame}`\n", column.name);
    let facts = place.frames.summary(*id, &column.name);
    if !facts.is_empty() {
        text.push_str("\n| | |\n|---|---|\n");
        for (what, value) in facts {
            let _ = writeln!(text, "| {what} | {} |", value.replace('|', "\\|"));
        }
    }
    text
}
