//! Completion inside a query: frames, the columns of the frames that the query names, SQL keywords.

use onrush_wire::session::NamedFrame;

use super::columns::columns_of;
use super::tokens::{is_word, word_start};
use super::{Candidates, CursorContext};

const WORDS: &[&str] = &[
    "all",
    "and",
    "any",
    "as",
    "asc",
    "between",
    "by",
    "case",
    "cast",
    "count",
    "cross join",
    "desc",
    "distinct",
    "else",
    "end",
    "except",
    "exists",
    "false",
    "from",
    "full join",
    "group by",
    "having",
    "in",
    "inner join",
    "intersect",
    "is",
    "join",
    "left join",
    "like",
    "limit",
    "not",
    "null",
    "offset",
    "on",
    "or",
    "order by",
    "over",
    "partition by",
    "right join",
    "select",
    "then",
    "true",
    "union",
    "using",
    "values",
    "when",
    "where",
    "with",
];

const FUNCTIONS: &[&str] = &[
    "abs",
    "avg",
    "ceil",
    "coalesce",
    "concat",
    "count",
    "date_part",
    "date_trunc",
    "dense_rank",
    "exp",
    "extract",
    "first_value",
    "floor",
    "greatest",
    "lag",
    "last_value",
    "lead",
    "least",
    "length",
    "ln",
    "log10",
    "lower",
    "max",
    "median",
    "min",
    "nullif",
    "power",
    "rank",
    "regexp_like",
    "regexp_replace",
    "replace",
    "round",
    "row_number",
    "sqrt",
    "stddev",
    "strpos",
    "substr",
    "sum",
    "trim",
    "upper",
    "variance",
];

/// `before` and `after` are the query around the cursor.
pub fn complete<'a>(place: &CursorContext<'a>, before: &str, after: &str, candidates: &mut Candidates<'a>) {
    let at = place.at;
    let start = word_start(before, before.len());
    let quoted = before[..start].ends_with('"') || before.matches('"').count() % 2 == 1;
    let inside_text = before.matches('\'').count() % 2 == 1;
    if inside_text {
        return;
    }
    let frames = place.frames.frames();
    let word = &before[start..];
    if quoted {
        // A quoted name may have spaces.
        let start = before.rfind('"').map_or(before.len(), |n| n + 1);
        candidates.replace(place.text, at - (before.len() - start)..at);
        add_columns(&tables_of(before, after, &frames), true, candidates);
        return;
    }
    candidates.replace(place.text, at - word.len()..at);
    let head = before[..start].trim_end();
    if let Some(owner) = before[..start].strip_suffix('.') {
        let name = &owner[word_start(owner, owner.len())..];
        let table = table_of(name, before, after, &frames);
        add_columns(&table.into_iter().collect::<Vec<_>>(), false, candidates);
        return;
    }
    if is_table_due(head) {
        for frame in &frames {
            let columns = frame.schema.fields.len();
            candidates.add(0, &frame.name, "frame", &format!("{columns} columns"));
        }
        return;
    }
    let named = tables_of(before, after, &frames);
    add_columns(&if named.is_empty() { frames.iter().collect() } else { named }, false, candidates);
    let upper = word.starts_with(char::is_uppercase);
    for name in FUNCTIONS.iter().filter(|_| !word.is_empty()) {
        candidates.add(3, &cased(name, upper), "function", "");
    }
    WORDS.iter().for_each(|name| candidates.add(2, &cased(name, upper), "keyword", ""));
    for frame in &frames {
        candidates.add(1, &frame.name, "frame", "");
    }
}

fn cased(word: &str, upper: bool) -> String {
    if upper { word.to_uppercase() } else { word.to_string() }
}

/// Offers the columns of frames. A name that is not an SQL name is quoted.
fn add_columns(frames: &[&NamedFrame], quoted: bool, candidates: &mut Candidates<'_>) {
    for column in frames.iter().flat_map(|f| columns_of(f)) {
        let dtype = column.dtype.map(|d| d.to_string()).unwrap_or_default();
        let plain = column.name.chars().all(|c| is_word(c) && !c.is_uppercase())
            && !column.name.starts_with(|c: char| c.is_ascii_digit());
        match plain || quoted {
            true => candidates.add(0, &column.name, "column", &dtype),
            false => candidates.add_as(0, &format!("\"{}\"", column.name), "column", &dtype),
        }
    }
}

/// Behind `from` and `join`, and behind a comma of theirs.
fn is_table_due(head: &str) -> bool {
    let words: Vec<String> = head.split_whitespace().map(str::to_lowercase).collect();
    let Some(last) = words.last() else { return false };
    if last == "from" || last == "join" {
        return true;
    }
    let from = words.iter().rposition(|w| w == "from");
    let clause =
        words.iter().rposition(|w| matches!(w.as_str(), "where" | "select" | "on" | "group" | "order" | "having"));
    last.ends_with(',') && from.is_some() && from > clause
}

/// The words of a query with what separates them.
fn words(query: &str) -> Vec<&str> {
    query.split(|c: char| c.is_whitespace() || matches!(c, ',' | '(' | ')' | ';')).filter(|w| !w.is_empty()).collect()
}

fn tables_of<'f>(before: &str, after: &str, frames: &'f [NamedFrame]) -> Vec<&'f NamedFrame> {
    let whole = format!("{before}\u{0}{after}").replace('\u{0}', "");
    let mut found: Vec<&NamedFrame> = Vec::new();
    let mut after_from = false;
    for word in words(&whole) {
        let low = word.to_lowercase();
        match low.as_str() {
            "from" | "join" => after_from = true,
            "where" | "select" | "on" | "group" | "order" | "having" | "limit" => after_from = false,
            _ if after_from => {
                let name = word.trim_matches('"');
                if let Some(frame) = frames.iter().find(|f| f.name == name)
                    && !found.iter().any(|f| f.name == frame.name)
                {
                    found.push(frame);
                }
            }
            _ => {}
        }
    }
    found
}

/// The frame of a name or of an alias: `from flights f`, `join airports as a`.
fn table_of<'f>(name: &str, before: &str, after: &str, frames: &'f [NamedFrame]) -> Option<&'f NamedFrame> {
    if let Some(frame) = frames.iter().find(|f| f.name == name) {
        return Some(frame);
    }
    let whole = format!("{before}{after}");
    let all = words(&whole);
    let at = (1..all.len()).find(|&i| {
        all[i] == name
            && frames
                .iter()
                .any(|f| f.name == all[i - 1] || i > 1 && all[i - 1].eq_ignore_ascii_case("as") && f.name == all[i - 2])
    })?;
    frames.iter().find(|f| f.name == all[at - 1] || at > 1 && f.name == all[at - 2])
}
