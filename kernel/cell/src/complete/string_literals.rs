//! Completion inside a string, by the call that takes the string: columns, files, a query, names in `{}`. Other strings
//! get no candidates.

use onrush_wire::plan::{COMPRESSED, FORMATS};

use super::calls::{Call, enclosing};
use super::symbols::Symbols;
use super::tokens::{Kind, is_word};
use super::{Candidates, CursorContext, columns, files, sql};
use crate::type_query::PROBE;

/// Functions whose string is a file, and the endings of files that come first. Readers and writers of formats are in
/// [`FORMATS`].
const FILES: &[(&str, &[&str])] = &[
    ("read_database", &[".db", ".sqlite", ".sqlite3", ".duckdb"]),
    ("write_database", &[".db", ".sqlite", ".sqlite3", ".duckdb"]),
    ("read", &[]),
    ("write", &[]),
    ("save", &[]),
    ("open", &[]),
    ("create", &[]),
    ("read_to_string", &[]),
    ("read_dir", &[]),
    ("create_dir", &[]),
    ("create_dir_all", &[]),
    ("remove_file", &[]),
    ("remove_dir_all", &[]),
    ("metadata", &[]),
    ("copy", &[]),
    ("rename", &[]),
    ("include_str", &[]),
    ("include_bytes", &[]),
    ("include", &[]),
    ("glob", &[]),
];

const FORMATTING: &[&str] = &[
    "print",
    "println",
    "eprint",
    "eprintln",
    "format",
    "write",
    "writeln",
    "panic",
    "assert",
    "assert_eq",
    "assert_ne",
    "todo",
    "unimplemented",
    "unreachable",
    "format_args",
    "raise",
    "debug_assert",
];

/// Functions whose strings name columns, whatever they are called on.
const COLUMNS: &[&str] = &["col", "desc", "asc", "on", "using", "asof", "by", "over", "sort_by", "exclude"];

pub fn complete<'a>(
    place: &CursorContext<'a>,
    start: usize,
    contents: usize,
    raw: bool,
    candidates: &mut Candidates<'a>,
) {
    let contents = contents.min(place.at);
    let typed = &place.text[contents..place.at];
    let calls = enclosing(&place.tokens);
    let Some(call) = calls.iter().find(|c| !c.name.is_empty()) else { return };
    // A string in a block between the call's brackets is not an argument of the call.
    let is_direct =
        calls.iter().take_while(|c| c.open != call.open).all(|c| place.tokens[c.open].kind != Kind::Open('{'));
    if !is_direct {
        return;
    }
    if call.is_macro && FORMATTING.contains(&call.name) {
        return arguments(place, start, typed, candidates);
    }
    if call.name == "sql" && !call.is_method {
        let rest = &place.text[place.at..];
        let end = if raw { rest.find("\"#").or(rest.find('"')) } else { rest.find('"') };
        return sql::complete(place, typed, &rest[..end.unwrap_or(rest.len())], candidates);
    }
    if let Some(liked) = endings(call.name).filter(|_| is_for_files(place, call)) {
        return files::complete(place.text, place.at, typed, place.names.folder(), &liked, candidates);
    }
    if is_path(place, call) {
        return files::complete(place.text, place.at, typed, place.names.folder(), &[], candidates);
    }
    columns(place, &calls, call, contents, candidates);
}

/// The endings of files that come first in the string of a function. `None`: its string is not a file.
fn endings(function: &str) -> Option<Vec<String>> {
    if let Some((_, endings)) = FILES.iter().find(|(name, _)| *name == function) {
        return Some(endings.iter().map(|ending| (*ending).to_string()).collect());
    }
    // Functions of the files of one format.
    let reader = match function {
        "sheets" => "read_excel",
        "rejects" => "read_csv",
        other => other,
    };
    if let Some(info) = FORMATS.iter().find(|info| info.readers.contains(&reader)) {
        let compressed: &[&str] = if info.is_text { COMPRESSED } else { &[] };
        let all = info.extensions.iter().chain(info.more_extensions).chain(compressed);
        return Some(all.map(|extension| format!(".{extension}")).collect());
    }
    FORMATS.iter().any(|info| info.writers.contains(&function)).then(Vec::new)
}

/// `rename` is a method of frames and a function of files.
fn is_for_files(place: &CursorContext<'_>, call: &Call<'_>) -> bool {
    match call.name {
        "rename" | "copy" | "write" | "read" | "open" | "create" | "metadata" => {
            let first = call.open + 1 == place.tokens.len() || call.name == "rename" || call.name == "copy";
            first && (!call.is_method || call.name == "read" || call.name == "write" || call.name == "open")
        }
        _ => true,
    }
}

/// `Path::new("`, `PathBuf::from("`.
fn is_path(place: &CursorContext<'_>, call: &Call<'_>) -> bool {
    let owner = call.at.checked_sub(2).filter(|_| place.tokens[call.at - 1].is("::"));
    owner.is_some_and(|i| matches!(place.tokens[i].text, "Path" | "PathBuf")) && matches!(call.name, "new" | "from")
}

/// `"{na|}"`: variables and locals.
fn arguments<'a>(place: &CursorContext<'a>, start: usize, typed: &'a str, candidates: &mut Candidates<'a>) {
    let open = typed.rfind('{').filter(|&n| {
        let braces = typed[..=n].len() - typed[..=n].trim_end_matches('{').len();
        braces % 2 == 1 && typed[n + 1..].chars().all(is_word)
    });
    if open.is_none() {
        return;
    }
    let known = Symbols::at(place, &place.text[..start], PROBE);
    for name in known.scope.locals.iter().rev() {
        candidates.add(0, name, "variable", "");
    }
    if !known.scope.in_function {
        for (name, variable) in &place.names.notebook.variables {
            candidates.add(1, name, "variable", &crate::types::short(&variable.type_code));
        }
    }
    for index in [&known.present, &known.cells] {
        for (name, item) in index.children("").into_iter().filter(|(_, i)| matches!(i.kind, "const" | "static")) {
            candidates.add(2, name, "constant", item.signature);
        }
    }
}

fn columns<'a>(
    place: &CursorContext<'a>,
    calls: &[Call<'a>],
    call: &Call<'a>,
    contents: usize,
    candidates: &mut Candidates<'a>,
) {
    let tokens = &place.tokens;
    let by_name = COLUMNS.contains(&call.name);
    // Values, not names: `x!(carrier == "AA")`, `.str.contains("U")`.
    let of_values =
        call.at >= 2 && tokens[call.at - 1].is(".") && matches!(tokens[call.at - 2].text, "str" | "dt" | "list");
    let is_value = call.is_macro && call.name == "x"
        || of_values
        || matches!(
            call.name,
            "lit" | "alias" | "cast" | "title" | "x_label" | "y_label" | "theme" | "publish" | "get" | "suffix"
        );
    let compares = tokens.last().is_some_and(|t| matches!(t.text, "==" | "!=" | "<" | ">" | "<=" | ">="));
    if is_value || compares {
        return;
    }
    let found = columns::in_hand(place).or_else(|| {
        let in_x = calls.iter().any(|c| c.is_macro && c.name == "x");
        (by_name || in_x).then(|| columns::all(place))
    });
    candidates.replace(place.text, contents..place.at);
    for column in found.into_iter().flatten() {
        let dtype = column.dtype.map(|d| d.to_string()).unwrap_or_default();
        candidates.add(0, &column.name, "column", &dtype);
    }
}
