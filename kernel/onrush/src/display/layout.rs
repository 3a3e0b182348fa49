//! Breaks a long `Debug` text into lines, as rustfmt would break the expression. A value that fits on a line stays on
//! it, and small values share lines.
//!
//! It knows the text alone: brackets, strings and commas. A text in which these do not match is not broken.

/// Deeper values are not broken: they have no form that is easy to read.
const DEEPEST: usize = 100;
const INDENT: usize = 4;
/// An item with brackets in it that is no longer than this may share a line with others.
const SMALL: usize = 16;

/// A part of an item.
enum Piece<'a> {
    Text(&'a str),
    Group(Group<'a>),
}

/// An opening bracket, what is between commas, and the closing bracket.
struct Group<'a> {
    flat: &'a str,
    open: &'a str,
    items: Vec<Item<'a>>,
    close: &'a str,
}

struct Item<'a> {
    flat: &'a str,
    /// In characters.
    width: usize,
    pieces: Vec<Piece<'a>>,
}

impl Item<'_> {
    fn ends_in_a_group(&self) -> bool {
        matches!(self.pieces.as_slice(), [.., Piece::Group(_), Piece::Text("")])
    }

    fn is_small(&self) -> bool {
        self.width <= SMALL || !self.pieces.iter().any(|piece| matches!(piece, Piece::Group(_)))
    }
}

/// The text in lines of at most `width` characters where that is possible; `None` if it cannot be read.
pub fn wrap(text: &str, width: usize) -> Option<String> {
    let mut reader = Reader { text, at: 0 };
    let item = reader.item(0)?;
    if reader.at != text.len() {
        return None;
    }
    let mut writer = Writer { out: String::with_capacity(text.len() + text.len() / 4), column: 0, width };
    writer.item(&item, 0, 0);
    Some(writer.out)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Up to a comma or a closing bracket of the group around it.
    fn item(&mut self, depth: usize) -> Option<Item<'a>> {
        if depth > DEEPEST {
            return None;
        }
        let (start, mut pieces) = (self.at, Vec::new());
        let mut text_start = self.at;
        while let Some(c) = self.rest().chars().next() {
            match c {
                '"' => self.quoted()?,
                '\'' => self.character(),
                '(' | '[' | '{' => {
                    pieces.push(Piece::Text(&self.text[text_start..self.at]));
                    pieces.push(Piece::Group(self.group(c, depth)?));
                    text_start = self.at;
                }
                ')' | ']' | '}' => break,
                ',' if depth > 0 && self.rest().starts_with(", ") => break,
                c => self.at += c.len_utf8(),
            }
        }
        pieces.push(Piece::Text(&self.text[text_start..self.at]));
        let flat = &self.text[start..self.at];
        Some(Item { flat, width: flat.chars().count(), pieces })
    }

    fn group(&mut self, open: char, depth: usize) -> Option<Group<'a>> {
        let start = self.at;
        let close = match open {
            '(' => ')',
            '[' => ']',
            _ => '}',
        };
        self.at += 1;
        let opening = &self.text[start..self.at];
        let mut items = Vec::new();
        loop {
            self.at += self.rest().len() - self.rest().trim_start_matches(' ').len();
            if self.rest().starts_with(close) {
                break;
            }
            let mut item = self.item(depth + 1)?;
            // `Point { x: 1 }` has a space before its bracket.
            item.flat = item.flat.trim_end_matches(' ');
            item.width = item.flat.chars().count();
            if let Some(Piece::Text(last)) = item.pieces.last_mut() {
                *last = last.trim_end_matches(' ');
            }
            items.push(item);
            if self.rest().starts_with(", ") {
                self.at += 2;
            } else if !self.rest().starts_with(close) {
                return None;
            }
        }
        self.at += 1;
        let closing = &self.text[self.at - 1..self.at];
        Some(Group { flat: &self.text[start..self.at], open: opening, items, close: closing })
    }

    /// A string with its quotes.
    fn quoted(&mut self) -> Option<()> {
        let mut escaped = false;
        for (at, c) in self.rest().char_indices().skip(1) {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => {
                    self.at += at + 1;
                    return Some(());
                }
                _ => {}
            }
        }
        None
    }

    /// A character with its quotes; else the quote alone, which is that of a lifetime or of plain words.
    fn character(&mut self) {
        let rest = &self.rest()[1..];
        let length = match rest.strip_prefix('\\') {
            Some(escaped) => escaped.chars().next().and_then(|c| {
                let from = 1 + c.len_utf8();
                Some(from + rest[from..].find('\'')?)
            }),
            None => rest.chars().next().map(char::len_utf8),
        };
        match length {
            Some(length) if rest[length..].starts_with('\'') => self.at += length + 2,
            _ => self.at += 1,
        }
    }
}

struct Writer {
    out: String,
    column: usize,
    width: usize,
}

impl Writer {
    fn text(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }

    fn line(&mut self, indent: usize) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', indent));
        self.column = indent;
    }

    /// Writes an item after which `after` more characters stand on the line.
    fn item(&mut self, item: &Item<'_>, indent: usize, after: usize) {
        if self.column + item.width + after <= self.width {
            return self.text(item.flat);
        }
        for piece in &item.pieces {
            match piece {
                Piece::Text(text) => self.text(text),
                Piece::Group(group) => self.group(group, indent, after),
            }
        }
    }

    fn group(&mut self, group: &Group<'_>, indent: usize, after: usize) {
        if group.items.is_empty() || self.column + group.flat.chars().count() + after <= self.width {
            return self.text(group.flat);
        }
        self.text(group.open);
        if let [item] = group.items.as_slice()
            && group.open == "("
            && item.ends_in_a_group()
        {
            // `Some(Point {`: both brackets stand on one line.
            self.item(item, indent, after + 1);
            return self.text(group.close);
        }
        let inner = indent + INDENT;
        let mut shares = false;
        for item in &group.items {
            let fits = self.column + 1 + item.width < self.width;
            if shares && item.is_small() && fits {
                self.text(" ");
            } else {
                self.line(inner);
            }
            self.item(item, inner, 1);
            if item.flat != ".." {
                self.text(",");
            }
            shares = item.is_small();
        }
        self.line(indent);
        self.text(group.close);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(wrap(text, 40).as_deref(), Some(expected));
        assert!(expected.lines().all(|line| line.chars().count() <= 40), "{expected}");
    }

    // As rustfmt breaks the same expressions at 40 columns, but that numbers of structs share lines.
    #[test]
    fn what_fits_stays_on_a_line() {
        check("Point { x: 1, y: 2 }", "Point { x: 1, y: 2 }");
        check(
            "[Point { x: 1, y: 2 }, Point { x: 3, y: 4 }]",
            "[\n    Point { x: 1, y: 2 },\n    Point { x: 3, y: 4 },\n]",
        );
        check(
            "Config { name: \"a, b\", sizes: [100, 200, 300, 400, 500, 600], on: true, .. }",
            "Config {\n    name: \"a, b\",\n    sizes: [\n        100, 200, 300, 400, 500, 600,\n    ],\n    on: true, ..\n}",
        );
        check(
            "{\"one\": Some([1, 2]), \"two\": None, \"three\": Some([3, 4])}",
            "{\n    \"one\": Some([1, 2]),\n    \"two\": None,\n    \"three\": Some([3, 4]),\n}",
        );
    }

    #[test]
    fn one_value_in_parentheses_keeps_its_brackets_beside_them() {
        check(
            "Some(Point { x: 1, label: \"a text of twenty letters\" })",
            "Some(Point {\n    x: 1,\n    label: \"a text of twenty letters\",\n})",
        );
    }

    #[test]
    fn small_values_fill_lines() {
        let numbers: Vec<u32> = (0..30).collect();
        let text = wrap(&format!("{numbers:?}"), 40).unwrap();
        assert_eq!(text.lines().count(), 6, "{text}");
        assert!(text.starts_with("[\n    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,\n    11, 12, "), "{text}");
    }

    #[test]
    fn brackets_in_strings_and_characters_are_text() {
        let value = ("([{\\\"", 'x', '\'', '"', '(', "ä, ö", "a long text to make it break");
        let text = wrap(&format!("{value:?}"), 40).unwrap();
        let joined: String = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        assert_eq!(joined.replace("( \"(", "(\"(").replace(", )", ")"), format!("{value:?}"));
    }

    #[test]
    fn what_cannot_be_read_is_left_alone() {
        assert_eq!(wrap("a ) b", 3), None);
        assert_eq!(wrap("[1, 2", 3), None);
        assert_eq!(wrap("\"open", 3), None);
        assert_eq!(wrap(&("[".repeat(5000) + &"]".repeat(5000)), 40), None);
        assert_eq!(wrap("it's a word that isn't quoted", 5).as_deref(), Some("it's a word that isn't quoted"));
    }
}
