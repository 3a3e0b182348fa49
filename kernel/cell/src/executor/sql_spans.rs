//! Errors of a `%%sql` cell: the session knows the call that the cell became, the user sees the query.

use onrush_wire::{Diagnostic, Label, Span};

/// Moves the underline from the magic's line to the word of the query that the message names.
pub fn find_place(diagnostic: &mut Diagnostic, text: &str, file: &str) {
    let Some((at, length)) = place(&diagnostic.message, text) else {
        // Nothing is named: the whole line of the magic, which is where the call stands.
        diagnostic.labels.iter_mut().filter(|l| l.span.file == file).for_each(|label| {
            let line = text.split('\n').nth((label.span.line as usize).saturating_sub(1)).unwrap_or("");
            if line.trim_start().starts_with("%%sql") {
                (label.span.column, label.span.length) = (1, line.trim_end().chars().count().max(1) as u32);
            }
        });
        return;
    };
    let (line, column) = crate::lexer::position(text, at);
    let span = Span { file: file.to_string(), line, column, length };
    let said = diagnostic.labels.iter().find(|l| l.primary).map(|l| l.text.clone()).unwrap_or_default();
    diagnostic.labels.retain(|l| l.span.file != file);
    diagnostic.labels.insert(0, Label { span, text: said, primary: true });
}

/// Whether the parser of SQL has come to the end of the query.
fn is_unfinished(message: &str) -> bool {
    message.ends_with("found: EOF")
}

/// Byte and length in characters of what a message is about.
fn place(message: &str, text: &str) -> Option<(usize, u32)> {
    let length = |word: &str| word.chars().count() as u32;
    let query = text.trim_end().trim_end_matches(';').trim_end();
    if is_unfinished(message) {
        let last = query.char_indices().next_back().filter(|_| query.contains('\n'))?;
        return Some((last.0, 1));
    }
    // `found: selct near `selct * from flights``: the token, where the rest of the line stands.
    if let Some((found, near)) = message.rsplit_once("found: ").and_then(|(_, rest)| rest.split_once(" near `")) {
        let near = near.trim_end_matches('`');
        if let Some(at) = whole_word(query, near).filter(|_| near.starts_with(found)) {
            return Some((at, length(found)));
        }
    }
    let words = ['`', '\'', '"'].into_iter().flat_map(|quote| message.split(quote).skip(1).step_by(2));
    // `small.a` may be `a` in the query.
    let mut words =
        words.flat_map(|word| [word, word.rsplit('.').next().unwrap_or(word)]).filter(|word| !word.is_empty());
    words.find_map(|word| whole_word(query, word).map(|at| (at, length(word))))
}

/// The first place of a word in the query, in any case, not as a part of a longer one.
fn whole_word(text: &str, word: &str) -> Option<usize> {
    let start = text.find("%%sql")? + "%%sql".len();
    let query = text[start..].to_lowercase();
    // Lower case of some letters is longer: then places would be wrong.
    let query = if query.len() == text.len() - start { query } else { text[start..].to_string() };
    let word = word.to_lowercase();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (first, last) = (word.chars().next()?, word.chars().next_back()?);
    let free = |at: &usize| {
        let before = query[..*at].chars().next_back().is_some_and(is_word) && is_word(first);
        let after = query[*at + word.len()..].chars().next().is_some_and(is_word) && is_word(last);
        !before && !after
    };
    query.match_indices(word.as_str()).map(|(at, _)| at).find(free).map(|at| start + at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_wire::Class;

    #[test]
    fn the_named_word_of_the_query_is_underlined() {
        let text = "// delays\n%%sql worst\nselect delay, Dep_Delya\nfrom flights";
        let call = Span { file: "cell_1.rs".into(), line: 2, column: 13, length: 3 };
        let mut diagnostic =
            Diagnostic::error(Class::Plan, "unknown-column", "there is no column `dep_delya`").at(call, "");
        find_place(&mut diagnostic, text, "cell_1.rs");
        let span = &diagnostic.labels[0].span;
        assert_eq!((span.line, span.column, span.length), (3, 15, 9));
    }

    #[test]
    fn tokens_names_in_quotes_and_the_end_are_found() {
        let found = |message: &str, query: &str| {
            let text = format!("%%sql\n{query}\n");
            place(message, &text).map(|(at, length)| (at - "%%sql\n".len(), length))
        };
        let query = "selct * from flights";
        assert_eq!(found("Expected: an SQL statement, found: selct near `selct * from flights`", query), Some((0, 5)));
        assert_eq!(found("Expected: an expression, found: EOF", "select a where;"), Some((13, 1)));
        assert_eq!(found("Function 'sum' failed", "select a, sum(b)"), Some((10, 3)));
        assert_eq!(found("column \"small.b\" must appear", "select a, b"), Some((10, 1)));
        assert_eq!(found("nothing is named", query), None);
    }

    #[test]
    fn without_a_name_the_magic_is_underlined() {
        let call = Span { file: "c".into(), line: 1, column: 9, length: 3 };
        let mut diagnostic = Diagnostic::error(Class::Plan, "sql", "the query ends too early").at(call, "");
        find_place(&mut diagnostic, "%%sql\nselect", "c");
        assert_eq!((diagnostic.labels[0].span.column, diagnostic.labels[0].span.length), (1, 5));
    }
}
