//! SQL: queries over frames and files, and the statements that make, drop and write tables.
//!
//! The session plans queries. Names and files of the notebook are resolved here. Paths in FROM become frames, `CREATE
//! TABLE` keeps a frame under a name, `COPY` writes one.

mod files;

use std::sync::{Mutex, PoisonError};

use onrush_wire::plan::Op;
use onrush_wire::session::{Reply, Request};
use onrush_wire::{Class, Diagnostic, FrameId, Span};

use super::Frame;
use super::read::source;
use crate::raise::here;
use crate::session;
use files::{FileTable, files, literal};

/// Frames that `CREATE TABLE` and `CREATE VIEW` made. The snapshot of a failed cell restores the list with all other
/// memory.
static CREATED: Mutex<Vec<(String, Frame)>> = Mutex::new(Vec::new());

fn created() -> std::sync::MutexGuard<'static, Vec<(String, Frame)>> {
    CREATED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The result of a query in DuckDB's dialect. Its tables are the notebook's frames, by their variables' names,
/// published frames, and files: `sql("select origin, count(*) n from flights group by origin")`, `sql("from
/// 'data/airlines.csv'")`.
///
/// `create table t as select ...` and `create view` keep a result under a name, `drop table t` forgets it, `copy t to
/// 'x.parquet'` writes it. `describe`, `summarize`, `show tables`, `explain` and `pivot` are queries.
///
/// # Panics
/// Raises an error of the cell if the query is wrong, or a file cannot be read or written.
#[track_caller]
pub fn sql(query: &str) -> Frame {
    let at = here("sql");
    statement(query, &at)
}

fn statement(query: &str, at: &Span) -> Frame {
    let words = words(query, 6);
    let word = |index: usize| words.get(index).map(|(word, _)| word.to_lowercase()).unwrap_or_default();
    // Behind the words of a statement.
    let rest = |index: usize| words.get(index).map_or("", |(_, end)| query[*end..].trim());
    match word(0).as_str() {
        "create" => {
            let mut next = 1;
            while matches!(word(next).as_str(), "or" | "replace" | "temp" | "temporary") {
                next += 1;
            }
            let (kind, name) = (word(next), words.get(next + 1).map(|(name, _)| name.trim_matches('"').to_string()));
            match (kind.as_str(), name, word(next + 2).as_str()) {
                ("table" | "view", Some(name), "as") => {
                    let made = statement(rest(next + 2), at);
                    if kind == "table" {
                        made.persist();
                    }
                    let mut all = created();
                    all.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
                    all.push((name, made.clone()));
                    made
                }
                _ => session::raise_at(
                    Diagnostic::error(Class::Plan, "sql-syntax", "a table is made of a query".to_string())
                        .help("write `create table name as select ...`, or `let name = sql(\"select ...\")`"),
                    at.clone(),
                ),
            }
        }
        "drop" if matches!(word(1).as_str(), "table" | "view") => {
            let index = if word(2) == "if" && word(3) == "exists" { 4 } else { 2 };
            let name = words.get(index).map(|(name, _)| name.trim_matches(['"', ';']).to_string()).unwrap_or_default();
            let before = created().len();
            created().retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
            if created().len() == before && index == 2 {
                session::raise_at(
                    Diagnostic::error(Class::Plan, "unknown-table", format!("SQL has made no table `{name}`"))
                        .help("frames of variables are forgotten with the variable; `drop table if exists` is quiet"),
                    at.clone(),
                );
            }
            statement("select true as \"Success\"", at)
        }
        "copy" => copy(rest(0), at),
        _ => query_of(query, at),
    }
}

/// `t to 'x.parquet' (format parquet)` or `(select ...) to 'x.csv'`.
fn copy(rest: &str, at: &Span) -> Frame {
    let wrong = || -> ! {
        session::raise_at(
            Diagnostic::error(Class::Plan, "sql-syntax", "the COPY statement is not complete".to_string())
                .help("write `copy (select ...) to 'x.parquet'`; the extension of the path says the format"),
            at.clone(),
        )
    };
    let (what, to) = match rest.strip_prefix('(') {
        Some(inner) => match closing(inner) {
            Some(end) => (inner[..end].to_string(), inner[end + 1..].trim()),
            None => wrong(),
        },
        None => match words(rest, 1).first() {
            Some((name, end)) => (format!("select * from {name}"), rest[*end..].trim()),
            None => wrong(),
        },
    };
    let is_to = to.get(..2).is_some_and(|word| word.eq_ignore_ascii_case("to"));
    let path = if is_to { literal(to[2..].trim()) } else { None };
    let Some((path, _)) = path else { wrong() };
    let rows = statement(&what, at).write(path);
    statement(&format!("select {rows} as \"Count\""), at)
}

fn query_of(query: &str, at: &Span) -> Frame {
    let mut tables: Vec<(String, FrameId)> = crate::bindings::current();
    let (query, files) = files(query).unwrap_or_else(|diagnostic| session::raise_at(diagnostic, at.clone()));
    let read = |file: FileTable| (file.name, Frame::step(source(file.path, file.format), at.clone()));
    let read: Vec<(String, Frame)> = files.into_iter().map(read).collect();
    let own: Vec<(String, Frame)> = created().clone();
    for (name, frame) in read.iter().chain(&own) {
        if !tables.iter().any(|(known, _)| known == name) {
            tables.push((name.clone(), frame.id()));
        }
    }
    if let Reply::Names { own, published, .. } = session::expect(&Request::Names, at.clone()) {
        for known in own.into_iter().chain(published) {
            if !tables.iter().any(|(name, _)| *name == known.name) {
                tables.push((known.name, known.frame));
            }
        }
    }
    Frame::step(Op::Sql { query, tables }, at.clone())
}

/// The first words, with the places behind them.
fn words(text: &str, most: usize) -> Vec<(String, usize)> {
    let mut out = Vec::new();
    let mut rest = 0;
    while out.len() < most {
        let Some(start) = text[rest..].find(|c: char| !c.is_whitespace()).map(|at| rest + at) else { break };
        let quoted = text[start..].starts_with('"');
        let end = match quoted {
            true => text[start + 1..].find('"').map(|at| start + at + 2),
            false => text[start..].find(|c: char| c.is_whitespace() || c == '(').map(|at| start + at),
        };
        let end = end.unwrap_or(text.len());
        if end == start {
            break;
        }
        out.push((text[start..end].to_string(), end));
        rest = end;
    }
    out
}

/// The place of the bracket that closes one before the text.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (1, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            (None, _) => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_end_at_brackets_and_blanks() {
        let found: Vec<String> = words("create table \"my t\" as select 1", 4).into_iter().map(|(w, _)| w).collect();
        assert_eq!(found, ["create", "table", "\"my t\"", "as"]);
        assert_eq!(closing("select ')' ) to 'x'"), Some(11));
        assert_eq!(literal("'it''s' x"), Some(("it's".to_string(), 7)));
    }
}
