//! A help of rustc as text: what it says, and the lines of the cell as they would be, with what is new underlined.

use onrush_wire::Span;
use proc_macro2::{TokenStream, TokenTree};

use super::messages::{Message, Place, RustcSpan, clean};

/// Lines of a suggestion that are shown.
const SHOWN: usize = 6;

/// The map of positions, and the text of the user's files as far as it is at hand.
pub struct Source<'a> {
    pub place: &'a dyn Fn(&RustcSpan) -> Place,
    pub text: &'a dyn Fn(&str) -> Option<&'a str>,
}

/// One replacement in the user's text: byte range and new text.
struct Edit {
    start: usize,
    end: usize,
    new: String,
}

/// A help with the lines that it would change. `None` if it is about code that `x!` has made of what stands in it: its
/// brackets are not the user's.
pub fn help(child: &Message, text: String, source: &Source<'_>) -> Option<String> {
    let pieces: Vec<&RustcSpan> = child.spans.iter().filter(|s| s.suggested_replacement.is_some()).collect();
    let new = |span: &RustcSpan| span.suggested_replacement.clone().unwrap_or_default();
    // The place of an import does not matter: it can stand anywhere in a cell.
    let imports: Vec<String> = pieces
        .iter()
        .map(|s| clean(new(s).trim()))
        .filter(|piece| piece.starts_with("use ") && piece.len() <= 80 && !piece.contains("onrush"))
        .map(|piece| format!("`{piece}`"))
        .take(3)
        .collect();
    if !imports.is_empty() {
        return Some(format!("add {}", imports.join(" or ")));
    }
    let said = text.trim_end_matches(':').to_string();
    // Several lines that the text has in full already.
    if pieces.iter().map(|s| new(s)).any(|new| new.contains('\n') && said.contains(&format!("`{}`", new.trim()))) {
        return Some(said);
    }
    if pieces.iter().any(|piece| is_of_expression(piece, source)) {
        return None;
    }
    Some(match changed(&pieces, source) {
        Some(lines) => format!("{said}:\n{lines}"),
        None => said,
    })
}

/// Whether more than a name would change inside of an `x!(…)`.
fn is_of_expression(piece: &RustcSpan, source: &Source<'_>) -> bool {
    let Place::Users(Span { file, .. }) = (source.place)(piece) else { return false };
    let Some(code) = (source.text)(&file) else { return false };
    let Some(edit) = edit(piece, &file, code, source) else { return false };
    let is_name = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    let is_renamed = is_name(&code[edit.start..edit.end]) && is_name(&edit.new);
    !is_renamed && code.parse().is_ok_and(|tokens| has_expression(tokens, edit.start))
}

/// Whether a byte of the text stands in an `x!(…)`.
fn has_expression(tokens: TokenStream, at: usize) -> bool {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    tokens.iter().enumerate().any(|(index, token)| {
        let TokenTree::Group(group) = token else { return false };
        let is_call = index.checked_sub(2).and_then(|from| tokens.get(from..index)).is_some_and(|before| {
            matches!(before, [TokenTree::Ident(name), TokenTree::Punct(bang)] if name == "x" && bang.as_char() == '!')
        });
        group.span().byte_range().contains(&at) && (is_call || has_expression(group.stream(), at))
    })
}

/// The user's lines after a suggestion, if all of it is about a few of them.
fn changed(pieces: &[&RustcSpan], source: &Source<'_>) -> Option<String> {
    let first = pieces.first()?;
    let Place::Users(Span { file, .. }) = (source.place)(first) else { return None };
    let code = (source.text)(&file)?;
    let mut edits = pieces.iter().map(|piece| edit(piece, &file, code, source)).collect::<Option<Vec<Edit>>>()?;
    edits.sort_by_key(|edit| (edit.start, edit.end));
    // Alternatives, of which the first is as good as any; parts of one suggestion do not overlap.
    if edits.windows(2).any(|pair| pair[1].start < pair[0].end || pair[1].start == pair[0].start) {
        edits.truncate(1);
    }
    if edits.iter().any(|edit| edit.new.contains("onrush")) {
        return None;
    }
    let (start, end) = (edits.first()?.start, edits.iter().map(|e| e.end).max()?);
    let from = code[..start].rfind('\n').map_or(0, |at| at + 1);
    let to = code[end..].find('\n').map_or(code.len(), |at| end + at);
    // The new text, and which of its bytes are new.
    let (mut out, mut marks, mut at) = (String::new(), Vec::new(), from);
    for edit in &edits {
        out.push_str(&code[at..edit.start]);
        let begun = out.len();
        out.push_str(&edit.new);
        marks.push((begun..out.len(), edit.end > edit.start));
        at = edit.end;
    }
    out.push_str(&code[at..to]);
    let lines: Vec<&str> = out.split('\n').collect();
    if lines.len() > SHOWN || out.trim().is_empty() {
        return None;
    }
    let indent = lines.iter().filter(|l| !l.trim().is_empty()).map(|l| l.len() - l.trim_start().len()).min()?;
    let mut shown = Vec::new();
    let mut offset = 0;
    for line in &lines {
        let here = offset..offset + line.len();
        offset = here.end + 1;
        shown.push(format!("    {}", line.get(indent..).unwrap_or("").trim_end()).trim_end().to_string());
        // A line that is new as a whole needs no marks.
        let whole = marks.iter().any(|(mark, _)| mark.start <= here.start && mark.end >= here.end && !line.is_empty());
        let mut row = String::new();
        for (mark, replaces) in marks.iter().filter(|_| !whole) {
            let (start, end) = (mark.start.max(here.start), mark.end.min(here.end));
            if start < end {
                let lead = width(&out[here.start + indent.min(start - here.start)..start]);
                let sign = if *replaces { "~" } else { "+" };
                let blank = lead.saturating_sub(row.len());
                row.push_str(&" ".repeat(blank));
                row.push_str(&sign.repeat(width(&out[start..end])));
            }
        }
        if !row.trim().is_empty() {
            shown.push(format!("    {row}").trim_end().to_string());
        }
    }
    Some(shown.join("\n"))
}

fn width(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}

fn edit(piece: &RustcSpan, file: &str, code: &str, source: &Source<'_>) -> Option<Edit> {
    let at = |line: u32, column: u32| {
        let point = RustcSpan {
            line_start: line,
            line_end: line,
            column_start: column,
            column_end: column,
            expansion: None,
            ..piece.clone()
        };
        match (source.place)(&point) {
            Place::Users(span) if span.file == file => offset(code, span.line, span.column),
            _ => None,
        }
    };
    let start = at(piece.line_start, piece.column_start)?;
    let end = at(piece.line_end, piece.column_end)?;
    let new = clean_code(piece.suggested_replacement.as_deref().unwrap_or(""));
    (start <= end).then_some(Edit { start, end, new })
}

/// Code without the names of generated crates; its blanks stay.
fn clean_code(code: &str) -> String {
    let cleaned = clean(code);
    let (lead, tail) = (code.len() - code.trim_start().len(), code.len() - code.trim_end().len());
    if code.trim().is_empty() {
        return code.to_string();
    }
    format!("{}{cleaned}{}", &code[..lead], &code[code.len() - tail..])
}

/// The byte at a line and a column, both from 1.
fn offset(code: &str, line: u32, column: u32) -> Option<usize> {
    let start = match line {
        0 => return None,
        1 => 0,
        _ => code.match_indices('\n').nth(line as usize - 2)?.0 + 1,
    };
    let length = code[start..].find('\n').unwrap_or(code.len() - start);
    let text = &code[start..start + length];
    let bytes: usize = text.chars().take(column as usize - 1).map(char::len_utf8).sum();
    Some(start + bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(line: (u32, u32), column: (u32, u32), new: &str) -> RustcSpan {
        RustcSpan {
            file_name: "c".into(),
            line_start: line.0,
            line_end: line.1,
            column_start: column.0,
            column_end: column.1,
            is_primary: true,
            label: None,
            suggested_replacement: Some(new.to_string()),
            expansion: None,
        }
    }

    fn helped(code: &str, spans: Vec<RustcSpan>) -> String {
        let child = Message { message: String::new(), code: None, level: "help".into(), spans, children: Vec::new() };
        let place = |s: &RustcSpan| {
            let length = s.column_end.saturating_sub(s.column_start).max(1);
            Place::Users(Span { file: "c".into(), line: s.line_start, column: s.column_start, length })
        };
        let text = |_: &str| Some(code);
        help(&child, "do this".to_string(), &Source { place: &place, text: &text }).unwrap_or_default()
    }

    #[test]
    fn what_x_has_made_of_a_call_is_not_shown() {
        assert_eq!(helped("f.select(x!(v = two(n)))", vec![span((1, 1), (20, 23), "(two(n, /* b */)")]), "");
        assert_eq!(helped("f.select(x!(v = two(1, 2)))", vec![span((1, 1), (17, 26), "")]), "");
        let name = helped("x!(tow(n))", vec![span((1, 1), (4, 7), "two")]);
        assert_eq!(name, "do this:\n    x!(two(n))\n       ~~~");
        let other = helped("max!(two(n))", vec![span((1, 1), (9, 12), "(n, m)")]);
        assert!(other.contains("max!(two(n, m))"), "{other}");
    }

    #[test]
    fn the_changed_line_is_shown() {
        assert_eq!(helped("borrow(p)", vec![span((1, 1), (8, 8), "&")]), "do this:\n    borrow(&p)\n           +");
        let parts = vec![span((2, 2), (3, 4), "'ä'"), span((2, 2), (7, 7), "mut ")];
        assert_eq!(helped("// é\n  x é y", parts), "do this:\n    'ä' é mut y\n    ~~~   ++++");
        assert_eq!(helped("日本 p", vec![span((1, 1), (4, 4), "&")]), "do this:\n    日本 &p\n         +");
    }

    #[test]
    fn alternatives_give_one_and_lines_that_are_new_have_no_marks() {
        let two = vec![span((1, 1), (3, 4), "a"), span((1, 1), (3, 4), "b")];
        assert_eq!(helped("f x", two), "do this:\n    f a\n      ~");
        assert_eq!(
            helped("enum E { A }", vec![span((1, 1), (1, 1), "#[derive(Debug)]\n")]),
            "do this:\n    #[derive(Debug)]\n    enum E { A }"
        );
        // Removed text leaves nothing to mark.
        assert_eq!(helped("f(1, 2)", vec![span((1, 1), (4, 7), "")]), "do this:\n    f(1)");
        assert_eq!(helped("x", vec![span((1, 1), (1, 1), "use std::io; ")]), "add `use std::io;`");
    }
}
