//! Whether a statement only reads. A database that is opened for reading may still write other files (`copy ... to`). A
//! query runs again if the engine that had its rows was killed.

use onrush_wire::{Class, Diagnostic};

use crate::address::Kind;

/// First words of statements that give rows and change nothing.
const READING: [&str; 11] =
    ["select", "with", "from", "values", "table", "describe", "desc", "show", "summarize", "pivot", "unpivot"];

/// Fails for a statement that is not a query, and for several.
///
/// # Errors
/// Both, with what was found.
pub fn check(sql: &str, kind: Kind) -> Result<(), Diagnostic> {
    let plain = plain(sql);
    let refused = |message: String| {
        Err(Diagnostic::error(Class::Plan, "not-a-query", message)
            .help("`read_database` runs one query that reads, such as `select ...`; `write_database` writes rows"))
    };
    let statement = plain.trim().trim_end_matches(|c: char| c == ';' || c.is_whitespace());
    if statement.contains(';') {
        return refused("there is more than one statement".to_string());
    }
    let mut words = statement.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    let mut word = words.next().unwrap_or_default().to_lowercase();
    if word == "explain" {
        // `explain analyze` runs what follows.
        const OPTIONS: [&str; 12] = [
            "analyze", "verbose", "query", "plan", "format", "json", "text", "html", "graphviz", "true", "false",
            "costs",
        ];
        word = words.map(str::to_lowercase).find(|word| !OPTIONS.contains(&word.as_str())).unwrap_or_default();
    }
    let reads = READING.contains(&word.as_str()) || kind == Kind::Sqlite && word == "pragma";
    match reads {
        true => Ok(()),
        false if word.is_empty() => refused("the query is empty".to_string()),
        false => refused(format!("{} is not a query", word.to_uppercase())),
    }
}

/// The text of a statement with blanks in place of comments, and `''` in place of literals and of names in quotes.
fn plain(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len());
    let mut rest = sql;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => comment(rest),
            '\'' => {
                // `E'it\'s'`
                let escapes = out.ends_with(['e', 'E'])
                    && !out[..out.len() - 1].ends_with(|c: char| c.is_alphanumeric() || c == '_');
                quoted(rest, '\'', escapes)
            }
            '"' => quoted(rest, '"', false),
            '$' if !out.ends_with(|c: char| c.is_alphanumeric() || c == '_') => dollars(rest).unwrap_or_default(),
            _ => 0,
        };
        if length == 0 {
            out.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        }
        out.push_str(if matches!(c, '-' | '/') { " " } else { "''" });
        rest = &rest[length..];
    }
    out
}

/// The length of a comment, which may hold others.
fn comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        if text[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if text[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length of what stands in quotes. A doubled quote is a part of it.
fn quoted(text: &str, quote: char, escapes: bool) -> usize {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if escapes && c == '\\' {
            chars.next();
        } else if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return at + c.len_utf8();
        }
    }
    text.len()
}

/// The length of `$tag$ ... $tag$`.
fn dollars(text: &str) -> Option<usize> {
    let end = text[1..].find('$')? + 2;
    let tag = &text[..end];
    let is_tag = tag[1..end - 1].chars().all(|c| c.is_alphanumeric() || c == '_')
        && !tag[1..].starts_with(|c: char| c.is_ascii_digit());
    is_tag.then(|| text[end..].find(tag).map_or(text.len(), |at| end + at + end))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DuckDB 2.0 and PostgreSQL read the statements so.
    #[test]
    fn queries_pass_and_all_else_is_refused() {
        for sql in [
            "select 1",
            " -- a remark; here\n(select ';' from \"a;b\") ;\n ",
            "/* a /* b */ ; */ FROM t",
            "with a as (select 1) select * from a",
            "select E'it\\'s; so', $$ ; $$, $a$ $$; $a$",
            "explain analyze select 1",
            "explain (analyze, format json) select 1",
            "values (1)",
            "describe t",
        ] {
            assert!(check(sql, Kind::DuckDb).is_ok(), "{sql}");
        }
        assert!(check("pragma table_info('t')", Kind::Sqlite).is_ok());
        for sql in [
            "copy (select 1) to '/tmp/a.csv'",
            "select 1; copy (select 1) to '/tmp/a.csv'",
            "select E'\\\\'; copy t to 'x' --'",
            "select $a; copy t to 'x' --$",
            "explain analyze copy t to 'x'",
            "explain (analyze) insert into t select 1",
            "install httpfs",
            "attach 'x' as y",
            "pragma table_info('t')",
            "set threads = 1",
            "insert into t values (1)",
            "",
            " ; ",
        ] {
            let error = check(sql, Kind::DuckDb).unwrap_err();
            assert_eq!(error.code, "not-a-query", "{sql}");
        }
    }
}
