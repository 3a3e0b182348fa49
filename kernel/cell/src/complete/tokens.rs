//! A lenient lexer: the words, brackets and string literals of an unfinished cell up to the cursor.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Word,
    Number,
    /// A string; `hashes` of a raw one are not told apart.
    Text,
    Character,
    Lifetime,
    Open(char),
    Close(char),
    /// `::`, `=>`, `->`, `..`, or one character.
    Mark,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    pub start: usize,
}

impl Token<'_> {
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }

    pub fn is(&self, text: &str) -> bool {
        self.text == text && self.kind != Kind::Text
    }
}

/// The token that is open at the end of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Code,
    Comment,
    /// Inside a string that begins here, and where its contents do.
    Text {
        start: usize,
        contents: usize,
        raw: bool,
    },
}

pub fn is_word(c: char) -> bool {
    // Identifiers may hold combining marks.
    c.is_alphanumeric() || c == '_' || ('\u{300}'..='\u{36f}').contains(&c)
}

/// The beginning of the word that ends at `at`.
pub fn word_start(text: &str, at: usize) -> usize {
    text[..at].char_indices().rev().take_while(|&(_, c)| is_word(c)).last().map_or(at, |(i, _)| i)
}

/// The end of the word that `at` is in.
pub fn word_end(text: &str, at: usize) -> usize {
    at + text[at..].find(|c| !is_word(c)).unwrap_or(text.len() - at)
}

pub fn tokens(text: &str) -> (Vec<Token<'_>>, End) {
    let bytes = text.as_bytes();
    let mut out: Vec<Token<'_>> = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        let start = i;
        let rest = &text[i..];
        let first = rest.chars().next().unwrap_or(' ');
        if first.is_whitespace() {
            i += first.len_utf8();
            continue;
        }
        if rest.starts_with("//") {
            match rest.find('\n') {
                Some(n) => i += n,
                None => return (out, End::Comment),
            }
            continue;
        }
        if rest.starts_with("/*") {
            match crate::lexer::block_comment(bytes, i) {
                Some(end) => i = end,
                None => return (out, End::Comment),
            }
            continue;
        }
        if let Some((contents, closing)) = text_start(rest) {
            let raw = !closing.is_empty();
            let begins = start + contents;
            let end = if raw {
                text[begins..].find(&closing).map(|n| begins + n + closing.len())
            } else {
                crate::lexer::string(bytes, begins)
            };
            match end {
                Some(end) => i = end,
                None => return (out, End::Text { start, contents: begins, raw }),
            }
            out.push(Token { kind: Kind::Text, text: &text[start..i], start });
            continue;
        }
        let kind = match first {
            '\'' => {
                i = quoted(text, i);
                if text[start..i].len() > 1 && text[start + 1..i].ends_with('\'') {
                    Kind::Character
                } else {
                    Kind::Lifetime
                }
            }
            '0'..='9' => {
                let after_dot = out.last().is_some_and(|t| t.is(".") && t.end() == start);
                i = number(text, i, after_dot);
                Kind::Number
            }
            c if is_word(c) => {
                i = word_end(text, i);
                if &text[start..i] == "r" && text[i..].starts_with('#') && text[i + 1..].starts_with(is_word) {
                    i = word_end(text, i + 1);
                }
                Kind::Word
            }
            c @ ('(' | '[' | '{') => {
                i += 1;
                Kind::Open(c)
            }
            c @ (')' | ']' | '}') => {
                i += 1;
                Kind::Close(c)
            }
            c => {
                let two =
                    ["::", "=>", "->", "..", "==", "!=", "<=", ">=", "&&", "||"].iter().find(|m| rest.starts_with(**m));
                i += two.map_or(c.len_utf8(), |m| m.len());
                Kind::Mark
            }
        };
        out.push(Token { kind, text: &text[start..i], start });
    }
    (out, End::Code)
}

/// If a string begins here: where its contents do, and for a raw one what ends it.
fn text_start(rest: &str) -> Option<(usize, String)> {
    for prefix in ["", "b", "c"] {
        let Some(after) = rest.strip_prefix(prefix) else { continue };
        if after.starts_with('"') {
            return Some((prefix.len() + 1, String::new()));
        }
        if let Some(after) = after.strip_prefix('r') {
            let hashes = after.bytes().take_while(|&b| b == b'#').count();
            if after[hashes..].starts_with('"') {
                return Some((prefix.len() + 1 + hashes + 1, format!("\"{}", "#".repeat(hashes))));
            }
        }
    }
    None
}

fn quoted(text: &str, start: usize) -> usize {
    let mut rest = text[start + 1..].char_indices();
    match rest.next() {
        Some((_, '\\')) => {
            rest.next();
            rest.find(|&(_, c)| c == '\'' || c == '\n').map_or(text.len(), |(at, _)| start + 1 + at + 1)
        }
        Some((_, c)) => match rest.next() {
            Some((at, '\'')) => start + 1 + at + 1,
            _ if is_word(c) => word_end(text, start + 1),
            _ => start + 1,
        },
        None => start + 1,
    }
}

/// `1.5e3`, but the `0` of `pair.0.1`, and the `1` of `1..2` and of `1.max(2)`.
fn number(text: &str, start: usize, is_field: bool) -> usize {
    let digits =
        |at: usize| at + text[at..].find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len() - at);
    let mut end = digits(start);
    if !is_field {
        let after = text[end..].strip_prefix('.');
        if after.is_some_and(|a| a.starts_with(|c: char| c.is_ascii_digit())) {
            end = digits(end + 1);
        }
        let hex = text[start..end].starts_with("0x");
        if !hex && text[..end].ends_with(['e', 'E']) && text[end..].starts_with(['+', '-']) {
            end = digits(end + 1);
        }
    }
    end
}

/// For each token that opens a bracket: the index of the one that closes it.
pub fn partners(tokens: &[Token<'_>]) -> Vec<Option<usize>> {
    let mut partners = vec![None; tokens.len()];
    let mut open: Vec<usize> = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Open(_) => open.push(i),
            Kind::Close(c) => {
                // One that does not fit closes what it can.
                if let Some(at) = open.iter().rposition(|&o| tokens[o].kind == Kind::Open(opening(c))) {
                    partners[i] = Some(open[at]);
                    open.drain(at..).for_each(|o| partners[o] = Some(i));
                }
            }
            _ => {}
        }
    }
    partners
}

pub fn opening(close: char) -> char {
    match close {
        ')' => '(',
        ']' => '[',
        _ => '{',
    }
}

pub fn closing(open: char) -> char {
    match open {
        '(' => ')',
        '[' => ']',
        _ => '}',
    }
}

/// The opening brackets that nothing closes, outermost first: indexes of tokens.
pub fn open_brackets(tokens: &[Token<'_>]) -> Vec<usize> {
    let partners = partners(tokens);
    (0..tokens.len()).filter(|&i| matches!(tokens[i].kind, Kind::Open(_)) && partners[i].is_none()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(code: &str) -> Vec<&str> {
        tokens(code).0.iter().map(|t| t.text).collect()
    }

    #[test]
    fn half_typed_code_has_tokens() {
        assert_eq!(texts("let x: &'a str = \"a(\"; // ("), ["let", "x", ":", "&", "'a", "str", "=", "\"a(\"", ";"]);
        assert_eq!(texts("t.0.1.abs(1.5e-3, 1..2, 'x', r#type)")[..6], ["t", ".", "0", ".", "1", "."]);
        assert_eq!(texts("1.max(2)"), ["1", ".", "max", "(", "2", ")"]);
        assert_eq!(tokens("f(\"abc").1, End::Text { start: 2, contents: 3, raw: false });
        assert_eq!(tokens("f(r#\"abc\"").1, End::Text { start: 2, contents: 5, raw: true });
        assert_eq!(tokens("a /* b").1, End::Comment);
        let (found, _) = tokens("f(a, [b) {");
        assert_eq!(open_brackets(&found).iter().map(|&i| found[i].text).collect::<Vec<_>>(), ["{"]);
    }

    #[test]
    fn words_hold_marks() {
        let text = "let e\u{301}te\u{301}";
        assert_eq!(word_start(text, text.len()), 4);
    }
}
