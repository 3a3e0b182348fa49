//! Brackets, strings and comments of a cell, without parsing it: what is left open, and where.
//!
//! For completeness while typing, and for messages about brackets that point at the user's, not at generated ones.

use onrush_wire::{Class, Diagnostic, Span};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// Opening brackets that nothing closes: character and byte position.
    pub open: Vec<(char, usize)>,
    /// The first closing bracket that does not fit: its character and position, and the opening one it met.
    pub wrong: Option<(char, usize, Option<(char, usize)>)>,
    /// A string, character or comment without an end: what and where it begins.
    pub unterminated: Option<(&'static str, usize)>,
}

pub fn scan(text: &str) -> Scan {
    let bytes = text.as_bytes();
    let mut scan = Scan::default();
    let mut i = 0;
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80;
    while i < bytes.len() {
        let start = i;
        match bytes[i] {
            b'/' if bytes.get(i + 1) == Some(&b'/') => i = text[i..].find('\n').map_or(bytes.len(), |n| i + n),
            b'/' if bytes.get(i + 1) == Some(&b'*') => match block_comment(bytes, i) {
                Some(end) => i = end,
                None => return Scan { unterminated: Some(("comment", start)), ..scan },
            },
            b'"' => match string(bytes, i + 1) {
                Some(end) => i = end,
                None => return Scan { unterminated: Some(("string", start)), ..scan },
            },
            b'\'' => i = character(text, i),
            byte if is_word(byte) => {
                while i < bytes.len() && is_word(bytes[i]) {
                    i += 1;
                }
                let raw = matches!(&text[start..i], "r" | "br" | "cr");
                let hashes = bytes[i..].iter().take_while(|&&b| b == b'#').count();
                if raw && bytes.get(i + hashes) == Some(&b'"') {
                    let end = format!("\"{}", "#".repeat(hashes));
                    match text[i + hashes + 1..].find(&end) {
                        Some(at) => i += hashes + 1 + at + end.len(),
                        None => return Scan { unterminated: Some(("raw string", start)), ..scan },
                    }
                }
            }
            open @ (b'(' | b'[' | b'{') => {
                scan.open.push((open as char, i));
                i += 1;
            }
            close @ (b')' | b']' | b'}') => {
                let wanted = match close {
                    b')' => '(',
                    b']' => '[',
                    _ => '{',
                };
                match scan.open.last() {
                    Some((open, _)) if *open == wanted => drop(scan.open.pop()),
                    other => {
                        scan.wrong = Some((close as char, i, other.copied()));
                        return scan;
                    }
                }
                i += 1;
            }
            _ => i += 1,
        }
    }
    scan
}

/// The token that is open at the end of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Open {
    #[default]
    Nothing,
    String,
    /// With what ends it: `"#`.
    RawString(String),
    /// With its depth.
    Comment(usize),
}

impl Open {
    /// At the end of the next line, which is given with its `\n`.
    pub fn after(self, line: &str) -> Open {
        let bytes = line.as_bytes();
        let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80;
        let mut open = self;
        let mut i = 0;
        while i < bytes.len() {
            match &open {
                Open::String => match string(bytes, i) {
                    Some(end) => (open, i) = (Open::Nothing, end),
                    None => return open,
                },
                Open::RawString(end) => match line[i..].find(end.as_str()) {
                    Some(at) => (i, open) = (i + at + end.len(), Open::Nothing),
                    None => return open,
                },
                Open::Comment(depth) => {
                    let (depth, mark) = (*depth, bytes.get(i..i + 2).unwrap_or_default());
                    match mark {
                        b"/*" => (open, i) = (Open::Comment(depth + 1), i + 2),
                        b"*/" if depth == 1 => (open, i) = (Open::Nothing, i + 2),
                        b"*/" => (open, i) = (Open::Comment(depth - 1), i + 2),
                        _ => i += 1,
                    }
                }
                Open::Nothing => match bytes[i] {
                    b'/' if bytes.get(i + 1) == Some(&b'/') => return open,
                    b'/' if bytes.get(i + 1) == Some(&b'*') => (open, i) = (Open::Comment(1), i + 2),
                    b'"' => (open, i) = (Open::String, i + 1),
                    b'\'' => i = character(line, i),
                    byte if is_word(byte) => {
                        let start = i;
                        i += bytes[i..].iter().take_while(|&&b| is_word(b)).count();
                        let hashes = bytes[i..].iter().take_while(|&&b| b == b'#').count();
                        let is_raw = matches!(&line[start..i], "r" | "br" | "cr");
                        if is_raw && bytes.get(i + hashes) == Some(&b'"') {
                            (open, i) = (Open::RawString(format!("\"{}", "#".repeat(hashes))), i + hashes + 1);
                        }
                    }
                    _ => i += 1,
                },
            }
        }
        open
    }
}

/// Finds the end of a comment that begins at `start`. Comments nest.
pub fn block_comment(bytes: &[u8], start: usize) -> Option<usize> {
    let (mut depth, mut i) = (0, start);
    while i + 1 < bytes.len() {
        match &bytes[i..i + 2] {
            b"/*" => (depth, i) = (depth + 1, i + 2),
            b"*/" => {
                (depth, i) = (depth - 1, i + 2);
                if depth == 0 {
                    return Some(i);
                }
            }
            _ => i += 1,
        }
    }
    None
}

/// The end of a string whose text begins at `i`, behind its closing quote.
pub fn string(bytes: &[u8], mut i: usize) -> Option<usize> {
    while i < bytes.len() {
        match bytes[i] {
            b'\\' => i += 2,
            b'"' => return Some(i + 1),
            _ => i += 1,
        }
    }
    None
}

/// The end of a character literal, or of a lifetime's tick.
fn character(text: &str, start: usize) -> usize {
    let mut rest = text[start + 1..].char_indices();
    match rest.next() {
        Some((_, '\\')) => {
            // The escaped character may be a quote itself.
            rest.next();
            rest.find(|&(_, c)| c == '\'' || c == '\n').map_or(text.len(), |(at, _)| start + 1 + at + 1)
        }
        Some((_, _)) => match rest.next() {
            Some((at, '\'')) => start + 1 + at + 1,
            _ => start + 1,
        },
        None => start + 1,
    }
}

/// Line and column, from 1, of a byte position.
pub fn position(text: &str, at: usize) -> (u32, u32) {
    let before = &text[..at];
    let line = before.matches('\n').count() as u32 + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() as u32 + 1;
    (line, column)
}

/// The lines of a text, to ask for many positions.
pub struct Lines(Vec<usize>);

impl Lines {
    pub fn new(text: &str) -> Self {
        Lines(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// The line, from 1, of a byte position.
    pub fn line(&self, at: usize) -> u32 {
        self.0.partition_point(|&end| end < at) as u32 + 1
    }
}

/// The error of the brackets, if they have one.
pub fn bracket_error(text: &str, file: &str) -> Option<Diagnostic> {
    let scan = scan(text);
    let span = |at: usize| {
        let (line, column) = position(text, at);
        Span { file: file.to_string(), line, column, length: 1 }
    };
    let error = |message: String| Diagnostic::error(Class::Compile, "syntax", message);
    if let Some((close, at, met)) = scan.wrong {
        return Some(match met {
            None => error(format!("this `{close}` closes nothing"))
                .at(span(at), "")
                .help("remove it, or add what it should close"),
            Some((open, from)) => {
                let mut diagnostic = error(format!("`{open}` is closed by `{close}`"))
                    .at(span(at), format!("this `{close}` does not fit"));
                diagnostic.labels.push(onrush_wire::Label {
                    span: span(from),
                    text: format!("`{open}` is opened here"),
                    primary: false,
                });
                diagnostic
            }
        });
    }
    if scan.unterminated.is_some() {
        return None;
    }
    let (open, at) = *scan.open.last()?;
    let close = match open {
        '(' => ')',
        '[' => ']',
        _ => '}',
    };
    let error = error(format!("this `{open}` is never closed")).at(span(at), "");
    Some(match comment_after(text, at) {
        Some(comment) => error.help(format!(
            "`//` starts a comment in Rust; for whole-number division write `{}`",
            whole_division(text, comment)
        )),
        None => error.help(format!("add the missing `{close}`")),
    })
}

/// The beginning of a comment after `at`, in the same line.
fn comment_after(text: &str, at: usize) -> Option<usize> {
    let end = text[at..].find('\n').map_or(text.len(), |n| at + n);
    let starts = text[at..end].match_indices("//").map(|(n, _)| at + n);
    // Not inside of a string.
    starts.into_iter().find(|&n| scan(&text[..n]).unterminated.is_none())
}

/// The division that `a // b` was meant to be.
fn whole_division(text: &str, comment: usize) -> String {
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let before = text[..comment].trim_end();
    let left = &before[before.trim_end_matches(is_name).len()..];
    let after = text[comment + 2..].trim_start();
    let right = &after[..after.find(|c| !is_name(c)).unwrap_or(after.len())];
    if left.is_empty() || right.is_empty() { "(a / b).floor()".into() } else { format!("({left} / {right}).floor()") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_comments_and_lifetimes_hide_brackets() {
        for text in [
            "\"(\"",
            "'('",
            "'\\''",
            "// (",
            "/* ( /* [ */ */",
            "r#\"(\"#",
            "fn f<'a>(x: &'a str) {}",
            "b'(' ; b\"{\"",
            "'ä'",
        ] {
            assert_eq!(scan(text), Scan::default(), "{text}");
        }
    }

    #[test]
    fn what_goes_on_at_the_end_of_a_line_is_what_a_scan_of_all_lines_finds() {
        let text =
            "let s = \"a\n:vars\\\"\n\"; // \"\nr##\"\n\"#\n\"##; '\"'; /* /*\n*/ \"\n*/ let x = 'a'; br\"\\\n\";";
        let (mut open, mut all) = (Open::default(), String::new());
        for line in text.split_inclusive('\n') {
            all.push_str(line);
            open = open.after(line);
            assert_eq!(open != Open::Nothing, scan(&all).unterminated.is_some(), "{all}");
        }
    }

    #[test]
    fn lines_are_those_of_positions() {
        let text = "a\nbc\n\nd";
        let lines = Lines::new(text);
        (0..=text.len()).for_each(|at| assert_eq!(lines.line(at), position(text, at).0));
    }

    #[test]
    fn what_is_open_is_found() {
        assert_eq!(scan("let x = (1;").open, [('(', 8)]);
        assert_eq!(scan("}").wrong, Some(('}', 0, None)));
        assert_eq!(scan("(]").wrong, Some((']', 1, Some(('(', 0)))));
        assert_eq!(scan("let s = \"abc").unterminated, Some(("string", 8)));
        let help = |text| bracket_error(text, "c").unwrap().help.remove(0);
        assert!(help("x!(hour // 2 == 1)").ends_with("`(hour / 2).floor()`"));
        assert!(help("f(\"http://x\"").contains("missing `)`"));
        assert_eq!(bracket_error("let ä = 'x';\n  f(", "c").unwrap().labels[0].span.column, 4);
    }
}
