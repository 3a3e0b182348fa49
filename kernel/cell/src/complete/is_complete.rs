//! Is-complete: whether a cell can be run, for consoles that run on Enter; if not, the indentation of the next line.

use super::tokens::{Kind, Token, open_brackets, tokens};
use crate::interface::Completeness;
use crate::lexer::scan;

const INDENT: usize = 4;

pub fn is_complete(text: &str) -> Completeness {
    let first = text.trim_start();
    if first.is_empty() || first.starts_with('!') || first.starts_with('?') {
        return Completeness::Complete;
    }
    if first.starts_with(':') && !first.starts_with("::") && !first.trim_end().contains('\n') {
        return Completeness::Complete;
    }
    if first.starts_with("%%") {
        // A query ends with an empty line.
        let open = first.starts_with("%%cuda") && !scan(text).open.is_empty();
        let ends = text.ends_with('\n') && text.trim_end().contains('\n') && !open;
        return if ends { Completeness::Complete } else { Completeness::Incomplete { indent: String::new() } };
    }
    let found = scan(text);
    if found.wrong.is_some() {
        return Completeness::Invalid;
    }
    if found.unterminated.is_some() {
        // Text in a string or a comment is the user's, its spaces too.
        return Completeness::Incomplete { indent: String::new() };
    }
    let incomplete = || Completeness::Incomplete { indent: " ".repeat(indent(text)) };
    if !found.open.is_empty() {
        return incomplete();
    }
    let lines = |line: &str| !line.starts_with([':', '!', '%']) || line.starts_with("::");
    let code: Vec<&str> = text.split('\n').map(|l| if lines(l) { l } else { "" }).collect();
    let cell = crate::parse::parse_cell(&code.join("\n"));
    match cell.error {
        // An `impl` or a chain may go on in the next line; an empty one ends it.
        None => Completeness::Complete,
        // syn came to the end and wanted more.
        Some(error) if error.contains("end of input") || ends_open(text) => incomplete(),
        Some(error) if error == "expected `;`" || error == "expected one of: `;`" => incomplete(),
        Some(_) => Completeness::Invalid,
    }
}

/// An operator or a dot at the end.
fn ends_open(text: &str) -> bool {
    let text = text.trim_end();
    let ends = ["=", "+", "-", "*", "/", "%", ".", ",", "&&", "||", "&", "|", "->", "=>", "::", "<", ">", "#"];
    ends.iter().any(|end| text.ends_with(end))
}

/// Spaces before the next line.
fn indent(text: &str) -> usize {
    let (found, _) = tokens(text);
    let open = open_brackets(&found);
    let line = text.rsplit('\n').next().unwrap_or("");
    let spaces = |line: &str| line.chars().take_while(|&c| c == ' ').count();
    match open.last() {
        // Brackets that were opened in one line indent once.
        Some(&last) => {
            let at = found[last].start;
            let start = text[..at].rfind('\n').map_or(0, |n| n + 1);
            let inner = spaces(&text[start..]) + INDENT;
            let behind = &found[last + 1..];
            // A statement that goes on: `let x =`, `.map(…)`.
            if behind.is_empty() || ends_statement(behind) { inner } else { goes_on(line, inner, spaces(line)) }
        }
        None => {
            let start = statement_start(&found, text);
            goes_on(line, spaces(&text[start..]), spaces(line))
        }
    }
}

/// Behind the end of a statement or an element nothing goes on.
fn ends_statement(tokens: &[Token<'_>]) -> bool {
    tokens.last().is_some_and(|t| t.is(";") || t.is(",") || t.kind == Kind::Close('}'))
}

/// The line after the first of a chain is one step further in, the others below it.
fn goes_on(line: &str, outer: usize, present: usize) -> usize {
    let continues = line.trim_start().starts_with('.') || present > outer;
    if continues { present } else { outer + INDENT }
}

/// The line in which the last statement begins.
fn statement_start(found: &[Token<'_>], text: &str) -> usize {
    let end = found.iter().rposition(|t| t.is(";") || t.kind == Kind::Close('}'));
    let first = end.map_or(found.first(), |n| found.get(n + 1)).or(found.first());
    first.map_or(0, |t| text[..t.start].rfind('\n').map_or(0, |n| n + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_and_unfinished_cells() {
        for text in [
            "let x = 1;",
            "x + 1",
            "",
            "fn f() {}",
            ":vars",
            "println!(\"a\")",
            "for i in 0..3 { }",
            "struct S;",
            "impl P {\n    fn f(&self) {}\n}",
            "%%sql\nselect 1\n\n",
            "x?",
        ] {
            assert_eq!(is_complete(text), Completeness::Complete, "{text}");
        }
        for text in ["let x = );", "}", "let let = 2;", "fn f( ]"] {
            assert_eq!(is_complete(text), Completeness::Invalid, "{text}");
        }
    }

    #[test]
    fn the_next_line_is_indented() {
        for (text, spaces) in [
            ("fn f() {", 4),
            ("fn f() {\n    let x = 1;", 4),
            ("fn f() {\n    if a {", 8),
            ("fn f() {\n    if a {\n        b();\n    }", 4),
            ("match x {\n    1 => {", 8),
            ("match x {\n    1 => 2,", 4),
            ("match x {\n    1 =>", 8),
            ("let v = vec![", 4),
            ("let t = (1,", 4),
            ("f(g(|x| {", 4),
            ("let x =", 4),
            ("let x = v.iter()\n    .map(|x| x + 1)", 4),
            ("let x = 1", 4),
            ("foo.", 4),
            ("let s = \"abc", 0),
            ("/* a", 0),
            ("%%sql\nselect 1", 0),
            ("%%cuda\n__global__ void k() {\n", 0),
            ("fn f() {\n    v.iter()\n        .map(|x| x)", 8),
        ] {
            let wanted = Completeness::Incomplete { indent: " ".repeat(spaces) };
            assert_eq!(is_complete(text), wanted, "{text}");
        }
    }
}
