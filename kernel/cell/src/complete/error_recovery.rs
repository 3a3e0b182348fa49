//! Error recovery: makes source that rustc can parse from an unfinished cell, with a type query in the place of the
//! cursor. Brackets are closed, and statements that do not parse are dropped.

use std::ops::Range;

use super::tokens::{Kind, Token, closing, open_brackets, partners, tokens};
use crate::type_query::PROBE;

/// Lines before the cursor that are looked at where nothing else helps.
const LINES: usize = 40;

/// Code that can be compiled, from `before` the dot (or the `::`) and what is asked; `after` gives the items that
/// follow. `None` if nothing sensible was left of it.
pub fn repair(before: &str, asked: &str, after: &str) -> Option<String> {
    let mut code = before.to_string();
    code.push_str(asked);
    let (found, _) = tokens(&code);
    let mut code = without_macros(&code, &found);
    close(&mut code);
    let items = items_after(after);
    for end in ["\n", ";\n"] {
        let with_items = format!("{code}{end}{items}");
        if parses(&with_items) {
            return Some(with_items);
        }
    }
    if parses(&code) {
        return Some(code);
    }
    let shorter = without_broken_parts(&code);
    if parses(&shorter) {
        return Some(shorter);
    }
    by_lines(&format!("{before}{asked}"))
}

/// The rest of a source with wrong brackets: the last lines that can be closed, and before them the lines that parse.
fn by_lines(code: &str) -> Option<String> {
    let lines: Vec<&str> = code.lines().collect();
    let begin = lines.len().saturating_sub(LINES);
    for first in begin..lines.len() {
        let mut end = lines[first..].join("\n");
        let (found, _) = tokens(&end);
        end = without_macros(&end, &found);
        close(&mut end);
        if !parses(&end) {
            continue;
        }
        let mut kept = String::new();
        let mut from = begin;
        while from < first {
            let whole = (from..first).find(|&to| parses(&lines[from..=to].join("\n")));
            if let Some(to) = whole {
                kept.push_str(&lines[from..=to].join("\n"));
                kept.push('\n');
            }
            from = whole.unwrap_or(from) + 1;
        }
        let all = kept + &end;
        return Some(if parses(&all) { all } else { end });
    }
    None
}

pub fn parses(code: &str) -> bool {
    crate::parse::parse_cell(code).error.is_none()
}

/// Macros that are not closed: their arguments alone are an expression too, a tuple, and need not be complete.
fn without_macros(code: &str, found: &[Token<'_>]) -> String {
    let mut out = code.to_string();
    for open in open_brackets(found) {
        let is_bang = open >= 2 && found[open - 1].is("!") && found[open - 2].kind == Kind::Word;
        if !is_bang || matches!(found[open - 2].text, "vec" | "macro_rules" | "dbg") {
            continue;
        }
        // The whole path: `std::println!`.
        let mut first = open - 2;
        while first >= 2 && found[first - 1].is("::") {
            first -= 2;
        }
        blank(&mut out, found[first].start..found[open - 1].end());
    }
    out
}

fn blank(code: &mut String, range: Range<usize>) {
    let blanks: String = code[range.clone()].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
    // Columns do not matter, lengths in bytes do: positions behind stay.
    let missing = range.len() - blanks.len();
    code.replace_range(range, &(blanks + &" ".repeat(missing)));
}

/// Adds what is missing at the end: brackets, the body of an `if`, the `;` of a `let`.
fn close(code: &mut String) {
    let (found, _) = tokens(code);
    let open = open_brackets(&found);
    let mut end = String::new();
    for level in (0..=open.len()).rev() {
        let (start, bracket) = match level {
            0 => (0, None),
            n => (open[n - 1] + 1, Some(found[open[n - 1]].kind)),
        };
        // The tokens of this level alone: what is in brackets counts as one thing, and the open rest as nothing.
        let stop = if level < open.len() { open[level] } else { found.len() };
        let tail_open = level < open.len() && found[open[level]].kind == Kind::Open('{');
        end.push_str(missing(&found[start..stop], bracket, tail_open));
        if let Some(Kind::Open(c)) = bracket {
            end.push(closing(c));
        }
    }
    code.push_str(&end);
}

/// The text that a level lacks before its closing bracket.
fn missing(level: &[Token<'_>], bracket: Option<Kind>, continues_with_block: bool) -> &'static str {
    let pairs = partners(level);
    let (mut wants_body, mut declares, mut first) = (false, false, true);
    let mut i = 0;
    while i < level.len() {
        let token = &level[i];
        let in_block = matches!(bracket, None | Some(Kind::Open('{')));
        match token.kind {
            Kind::Open('{') => {
                // The body of a loop or an item ends a statement; that of `let x = if …` does not, but `else` or `;`
                // follows.
                wants_body = false;
                first = !declares;
            }
            Kind::Open(_) => first = false,
            Kind::Mark if token.is(";") => (wants_body, declares, first) = (false, false, true),
            Kind::Mark if token.is("=>") => (wants_body, first) = (false, true),
            Kind::Word => {
                match token.text {
                    "if" | "while" | "match" => wants_body = true,
                    "for" if !level.get(i + 1).is_some_and(|t| t.is("<")) => wants_body = true,
                    "let" | "static" | "const" | "use" if first && in_block => declares = true,
                    _ => {}
                }
                first = first && matches!(token.text, "pub");
            }
            _ => first = false,
        }
        i = pairs[i].filter(|&p| p > i).map_or(i + 1, |p| p + 1);
    }
    match (wants_body && !continues_with_block, declares) {
        (true, true) => " {};",
        (true, false) => " {}",
        (false, true) => ";",
        (false, false) => "",
    }
}

/// The items behind the cursor that parse: code may use what is defined below.
fn items_after(after: &str) -> String {
    let (found, _) = tokens(after);
    let pairs = partners(&found);
    let mut out = String::new();
    let (mut i, mut at_start) = (0, false);
    while i < found.len() {
        let starts = matches!(
            found[i].text,
            "fn" | "struct"
                | "enum"
                | "impl"
                | "trait"
                | "mod"
                | "use"
                | "const"
                | "static"
                | "type"
                | "pub"
                | "macro_rules"
        ) && found[i].kind == Kind::Word
            || found[i].is("#");
        if starts && (at_start || before_is_line_start(after, found[i].start)) {
            // Up to its block or its semicolon.
            let mut end = None;
            let mut j = i;
            while j < found.len() {
                match found[j].kind {
                    Kind::Open(c) => match pairs[j] {
                        Some(p) if c == '{' => {
                            end = Some(p);
                            break;
                        }
                        Some(p) => j = p,
                        None => break,
                    },
                    Kind::Mark if found[j].is(";") => {
                        end = Some(j);
                        break;
                    }
                    Kind::Close(_) => break,
                    _ => {}
                }
                j += 1;
            }
            if let Some(end) = end {
                let text = &after[found[i].start..found[end].end()];
                if syn::parse_str::<syn::Item>(text).is_ok() {
                    out.push_str(text);
                    out.push('\n');
                    i = end + 1;
                    at_start = true;
                    continue;
                }
            }
        }
        at_start = found[i].is(";") || found[i].kind == Kind::Close('}');
        i += 1;
    }
    out
}

/// In the first column: the rest of the function around the cursor is not an item.
fn before_is_line_start(text: &str, at: usize) -> bool {
    at > 0 && text[..at].ends_with('\n')
}

/// Without the statements that do not parse, from the outermost block inwards. The one with the question stays.
fn without_broken_parts(code: &str) -> String {
    let mut code = code.to_string();
    // Each round looks one block deeper on the way to the question.
    for depth in 0..12 {
        let (found, _) = tokens(&code);
        let Some(at) = found.iter().position(|t| t.text == PROBE) else { return code };
        let pairs = partners(&found);
        let around: Vec<usize> =
            (0..at).filter(|&i| found[i].kind == Kind::Open('{') && pairs[i].is_some_and(|p| p > at)).collect();
        if depth > around.len() {
            break;
        }
        let (from, to) = match depth {
            0 => (0, found.len()),
            n => (around[n - 1] + 1, pairs[around[n - 1]].unwrap_or(found.len())),
        };
        let blanks = broken(&code, &found, &pairs, from..to, at);
        for range in blanks {
            blank(&mut code, range);
        }
        if parses(&code) {
            break;
        }
    }
    code
}

/// The statements between these tokens that do not parse. The end of one is not known: a new line or a `;` may be it.
fn broken(
    code: &str,
    found: &[Token<'_>],
    pairs: &[Option<usize>],
    within: Range<usize>,
    keep: usize,
) -> Vec<Range<usize>> {
    // Candidate ends: tokens behind which a statement may end.
    let mut pieces: Vec<Range<usize>> = Vec::new();
    let mut start = within.start;
    let mut i = within.start;
    while i < within.end {
        let last = pairs[i].filter(|&p| p > i).unwrap_or(i);
        let next = found.get(last + 1).filter(|_| last + 1 < within.end);
        let new_line = next.is_none_or(|n| code[found[last].end()..n.start].contains('\n'));
        let goes_on = next.is_some_and(|n| {
            n.is(".") || n.is("?") || n.is("else") || n.is(")") || n.is("{") || n.is("&&") || n.is("||") || n.is("=>")
        });
        if found[last].is(";") || new_line && !goes_on {
            pieces.push(start..last + 1);
            start = last + 1;
        }
        i = last + 1;
    }
    if start < within.end {
        pieces.push(start..within.end);
    }
    let text = |piece: &Range<usize>| found[piece.start].start..found[piece.end - 1].end();
    let mut blanks = Vec::new();
    let mut from = 0;
    while from < pieces.len() {
        // As few lines as make a statement.
        let whole = (from..pieces.len().min(from + 40))
            .find(|&to| parses(&code[text(&pieces[from]).start..text(&pieces[to]).end]));
        let keeps = |to: usize| pieces[from].start <= keep && keep < pieces[to].end;
        match whole {
            Some(to) => from = to + 1,
            None if keeps(from) => from += 1,
            None => {
                blanks.push(text(&pieces[from]));
                from += 1;
            }
        }
    }
    blanks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, wanted: &str) {
        let repaired =
            repair(before, ".__onrush_probe", after).unwrap_or_else(|| panic!("nothing is left of {before}"));
        let squeezed: Vec<&str> = repaired.split_whitespace().collect();
        assert_eq!(squeezed.join(" "), wanted, "{before}");
    }

    #[test]
    fn what_is_open_is_closed() {
        check("v", "", "v.__onrush_probe");
        check("let a = v", "", "let a = v.__onrush_probe;");
        check("let b = xs.iter().map(|x| x", "", "let b = xs.iter().map(|x| x.__onrush_probe);");
        check("for x in v", "", "for x in v.__onrush_probe {}");
        check("fn f(a: Vec<i32>) {\n if a", "", "fn f(a: Vec<i32>) { if a.__onrush_probe {}}");
        check("let y = match x { Some(s) => s", "", "let y = match x { Some(s) => s.__onrush_probe};");
        check("println!(\"{} {}\", v", "", "(\"{} {}\", v.__onrush_probe)");
        check("let t = vec![a", "", "let t = vec![a.__onrush_probe];");
        check("if v", " { 1 }\nfn g() {}\n", "if v.__onrush_probe {} fn g() {}");
        check("let p = Point { x: q", ", y: 1 };", "let p = Point { x: q.__onrush_probe};");
        check("impl P { fn n(&self) -> f64 { self", " } }", "impl P { fn n(&self) -> f64 { self.__onrush_probe}}");
        check("let z = if a { b", "", "let z = if a { b.__onrush_probe};");
    }

    #[test]
    fn broken_statements_are_left_out() {
        check("let x = ;\nlet y = 1;\ny", "", "let y = 1; y.__onrush_probe");
        check("let v = 1;\nfoo(;\nv", "", "let v = 1; v.__onrush_probe");
        check("let a = vec![1]\na", "", "a.__onrush_probe;");
        check("fn f() {\n let x = ;\n let y = 1;\n y", "", "fn f() { let y = 1; y.__onrush_probe}");
        check(
            "foo bar;\nlet s = \"a\";\nfor c in s.chars() {\n  let let;\n  c",
            "",
            "let s = \"a\"; for c in s.chars() { c.__onrush_probe}",
        );
    }
}
