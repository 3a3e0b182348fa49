//! Tokens of CSV: the records and fields of a text. Knows quotes, separators and line ends; no types.

use std::borrow::Cow;

/// The characters that give a file its form. All are ASCII.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub separator: u8,
    pub quote: Option<u8>,
    pub comment: Option<u8>,
    /// Makes the next character a part of the value.
    pub escape: Option<u8>,
    /// Blanks around fields are not a part of them.
    pub trim: bool,
    /// A record with a broken quote ends at its line end.
    pub skip_broken: bool,
}

/// A field's bytes in the file, without its quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub start: usize,
    pub end: usize,
    pub quoted: bool,
    /// Holds doubled quotes or escapes.
    pub escaped: bool,
    /// The record has no such field.
    pub missing: bool,
}

/// The error of a record's form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MalformedRecord {
    /// A quote that starts here is never closed.
    Unclosed { at: usize },
    /// Text between a closing quote, here, and the next separator.
    AfterQuote { at: usize },
}

impl Field {
    pub const MISSING: Field = Field { start: 0, end: 0, quoted: false, escaped: false, missing: true };

    #[inline]
    pub fn bytes<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        &text[self.start..self.end]
    }

    /// The field's text, doubled quotes made single and escapes removed.
    #[inline]
    pub fn text<'a>(&self, text: &'a [u8], form: &Form) -> Cow<'a, str> {
        let raw = self.bytes(text);
        // The file was checked; a field's ends are at ASCII characters.
        let raw = std::str::from_utf8(raw).unwrap_or_default();
        if self.escaped { Cow::Owned(self.unescaped(raw, form)) } else { Cow::Borrowed(raw) }
    }

    fn unescaped(&self, raw: &str, form: &Form) -> String {
        let (escape, quote) = (form.escape.map(char::from), form.quote.map(char::from));
        let mut plain = String::with_capacity(raw.len());
        let mut rest = raw.chars();
        while let Some(c) = rest.next() {
            if Some(c) == escape || (self.quoted && Some(c) == quote) {
                plain.extend(rest.next());
            } else {
                plain.push(c);
            }
        }
        plain
    }
}

/// Splits the record at `at` into fields and returns where the next one starts. `at` is below `text.len()`.
#[inline]
pub(super) fn record(text: &[u8], at: usize, form: &Form, fields: &mut Vec<Field>) -> Result<usize, MalformedRecord> {
    if form.trim || form.escape.is_some() {
        return free_record(text, at, form, fields);
    }
    fields.clear();
    let mut at = at;
    loop {
        if form.quote.is_some() && text.get(at).copied() == form.quote {
            at = quoted(text, at, form, fields)?;
        } else {
            let start = at;
            while at < text.len() && text[at] != form.separator && text[at] != b'\n' {
                at += 1;
            }
            let end = match text.get(at) {
                Some(b'\n') | None if at > start && text[at - 1] == b'\r' => at - 1,
                _ => at,
            };
            fields.push(Field { start, end, quoted: false, escaped: false, missing: false });
        }
        match text.get(at) {
            Some(b'\n') => return Ok(at + 1),
            None => return Ok(at),
            // The separator: another field follows, if only an empty one.
            Some(_) => at += 1,
        }
    }
}

/// As [`record`], for forms with escapes or blanks around fields.
fn free_record(text: &[u8], at: usize, form: &Form, fields: &mut Vec<Field>) -> Result<usize, MalformedRecord> {
    fields.clear();
    let is_blank = |at: usize| form.trim && matches!(text.get(at), Some(b' ' | b'\t')) && text[at] != form.separator;
    let mut at = at;
    loop {
        while is_blank(at) {
            at += 1;
        }
        if form.quote.is_some() && text.get(at).copied() == form.quote {
            at = quoted(text, at, form, fields)?;
        } else {
            let start = at;
            let mut escaped = false;
            while at < text.len() && text[at] != form.separator && text[at] != b'\n' {
                if Some(text[at]) == form.escape && at + 1 < text.len() {
                    escaped = true;
                    at += 1;
                }
                at += 1;
            }
            let mut end = match text.get(at) {
                Some(b'\n') | None if at > start && text[at - 1] == b'\r' => at - 1,
                _ => at,
            };
            while end > start && is_blank(end - 1) {
                end -= 1;
            }
            fields.push(Field { start, end, quoted: false, escaped, missing: false });
        }
        match text.get(at) {
            Some(b'\n') => return Ok(at + 1),
            None => return Ok(at),
            Some(_) => at += 1,
        }
    }
}

/// A field in quotes, from its first quote; returns where its separator or line end is.
fn quoted(text: &[u8], open: usize, form: &Form, fields: &mut Vec<Field>) -> Result<usize, MalformedRecord> {
    let quote = form.quote.unwrap_or(b'"');
    let start = open + 1;
    let mut escaped = false;
    let mut at = start;
    loop {
        let found = match form.escape {
            Some(escape) => memchr::memchr2(quote, escape, &text[at..]),
            None => memchr::memchr(quote, &text[at..]),
        };
        let Some(found) = found else { return Err(MalformedRecord::Unclosed { at: open }) };
        at += found;
        if text[at] != quote || text.get(at + 1) == Some(&quote) {
            // An escape at the end of the text escapes nothing.
            if at + 1 >= text.len() {
                return Err(MalformedRecord::Unclosed { at: open });
            }
            escaped = true;
            at += 2;
            continue;
        }
        break;
    }
    fields.push(Field { start, end: at, quoted: true, escaped, missing: false });
    let mut next = at + 1;
    while form.trim && matches!(text.get(next), Some(b' ' | b'\t')) && text[next] != form.separator {
        next += 1;
    }
    match (text.get(next), text.get(next + 1)) {
        (Some(b'\r'), Some(b'\n')) => Ok(next + 1),
        (Some(b'\r'), None) => Ok(next + 1),
        (None | Some(b'\n'), _) => Ok(next),
        (Some(c), _) if *c == form.separator => Ok(next),
        _ => Err(MalformedRecord::AfterQuote { at }),
    }
}

/// The end of the record at `at`, without its fields. A quote counts where a field starts only, as in [`record`].
fn record_end(text: &[u8], at: usize, form: &Form, fields: &mut Vec<Field>) -> Result<usize, MalformedRecord> {
    let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |i| at + i + 1);
    let line = &text[at..end];
    let has = |special: Option<u8>| special.is_some_and(|c| memchr::memchr(c, line).is_some());
    if !has(form.quote) && !has(form.escape) {
        return Ok(end);
    }
    match record(text, at, form, fields) {
        Err(_) if form.skip_broken => Ok(end),
        result => result,
    }
}

/// True for lines that are no records: comments.
#[inline]
pub(super) fn is_comment(text: &[u8], at: usize, form: &Form) -> bool {
    form.comment.is_some() && text.get(at).copied() == form.comment
}

/// The end of the line at `at`.
pub(super) fn line_end(text: &[u8], at: usize) -> usize {
    memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |i| at + i + 1)
}

/// True if the line at `at` has nothing in it.
#[inline]
pub(super) fn is_blank(text: &[u8], at: usize) -> bool {
    text[at] == b'\n' || (text[at] == b'\r' && text.get(at + 1).is_none_or(|c| *c == b'\n'))
}

/// Cuts `text[from..]` into pieces of about `target` bytes, each of whole records.
pub(super) fn pieces(
    text: &[u8],
    from: usize,
    target: usize,
    form: &Form,
) -> Result<Vec<(usize, usize)>, MalformedRecord> {
    let mut pieces = Vec::new();
    let mut start = from;
    // Without a quote every line end ends a record, and nothing between the cuts has to be looked at.
    let lacks = |special: Option<u8>| special.is_none_or(|c| memchr::memchr(c, &text[from..]).is_none());
    let simple = lacks(form.quote) && lacks(form.escape);
    let mut fields = Vec::new();
    while start < text.len() {
        let mut end = start;
        if simple {
            end = line_end(text, (start + target).min(text.len() - 1));
        } else {
            while end < text.len() && end - start < target {
                end = match is_comment(text, end, form) {
                    true => line_end(text, end),
                    false => record_end(text, end, form, &mut fields)?,
                };
            }
        }
        pieces.push((start, end));
        start = end;
    }
    Ok(pieces)
}

/// The end of `text` if only `rows` records of it, from `from`, are wanted.
pub(super) fn limit(
    text: &[u8],
    from: usize,
    rows: u64,
    skip_blank: bool,
    form: &Form,
) -> Result<usize, MalformedRecord> {
    let mut at = from;
    let mut left = rows;
    let mut fields = Vec::new();
    while at < text.len() && left > 0 {
        if is_comment(text, at, form) || (skip_blank && is_blank(text, at)) {
            at = line_end(text, at);
            continue;
        }
        at = record_end(text, at, form, &mut fields)?;
        left -= 1;
    }
    Ok(at)
}

/// Makes line feeds of the carriage returns that end lines, if the first line ends so: the line ends of old Macs, and
/// `\r\r\n`.
pub(super) fn line_feeds(text: &mut Vec<u8>, form: &Form) {
    let first = memchr::memchr2(b'\r', b'\n', text);
    match first {
        Some(at) if text[at] == b'\r' && text.get(at + 1).is_some_and(|c| *c != b'\n') => {}
        _ => return,
    }
    let (mut to, mut at) = (0, 0);
    let mut is_start = true;
    let mut is_quoted = false;
    while at < text.len() {
        let byte = text[at];
        if is_quoted {
            if Some(byte) == form.escape && at + 1 < text.len() {
                text[to] = byte;
                (to, at) = (to + 1, at + 1);
            } else if Some(byte) == form.quote {
                is_quoted = false;
            }
        } else if byte == b'\r' {
            let run = text[at..].iter().take(8).take_while(|c| **c == b'\r').count();
            if text.get(at + run) == Some(&b'\n') {
                at += run;
            }
            text[to] = b'\n';
            (to, at, is_start) = (to + 1, at + 1, true);
            continue;
        } else if Some(byte) == form.quote && (is_start || to > 0 && Some(text[to - 1]) == form.quote) {
            // A second quote goes on with the field.
            is_quoted = true;
        }
        is_start = !is_quoted && (byte == form.separator || byte == b'\n' || (form.trim && is_start && byte == b' '));
        text[to] = text[at];
        (to, at) = (to + 1, at + 1);
    }
    text.truncate(to);
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: Form =
        Form { separator: b',', quote: Some(b'"'), comment: Some(b'#'), escape: None, trim: false, skip_broken: false };

    fn all(text: &str, form: &Form) -> Result<Vec<Vec<String>>, MalformedRecord> {
        let (mut at, mut rows, mut fields) = (0, Vec::new(), Vec::new());
        while at < text.len() {
            at = record(text.as_bytes(), at, form, &mut fields)?;
            rows.push(fields.iter().map(|f| f.text(text.as_bytes(), form).into_owned()).collect());
        }
        Ok(rows)
    }

    #[test]
    fn fields_with_quotes_separators_and_line_ends() {
        let rows = all("a,b\r\n\"x, \"\"y\"\"\n2\",\r\n,\"\"\nlast,é", &FORM).unwrap();
        assert_eq!(rows, [vec!["a", "b"], vec!["x, \"y\"\n2", ""], vec!["", ""], vec!["last", "é"]]);
        assert_eq!(all("5\" pipe,1\n", &FORM).unwrap(), [["5\" pipe", "1"]]);
        assert_eq!(all("a,\"open\n1,2\n", &FORM), Err(MalformedRecord::Unclosed { at: 2 }));
        assert_eq!(all("\"a\"b,1\n", &FORM), Err(MalformedRecord::AfterQuote { at: 2 }));
    }

    /// Expected values: Python's `csv.reader` with `escapechar` and `skipinitialspace`, and by hand for blanks after
    /// fields.
    #[test]
    fn escapes_and_blanks() {
        let escape = Form { escape: Some(b'\\'), ..FORM };
        let rows = all("\"a \\\"b\\\" \\\\\",x\\,y\n\"é\\\n\"\"\",\\\"z\n", &escape).unwrap();
        assert_eq!(rows, [["a \"b\" \\", "x,y"], ["é\n\"", "\"z"]]);
        assert_eq!(all("\"a\\", &escape), Err(MalformedRecord::Unclosed { at: 0 }));
        assert_eq!(all("a\\", &escape).unwrap(), [["a\\"]]);
        let trim = Form { trim: true, ..FORM };
        let rows = all(" a ,  \"x, y\" \t,\t b c\r\n\" \",  ,\n", &trim).unwrap();
        assert_eq!(rows, [["a", "x, y", "b c"], [" ", "", ""]]);
        let tabs = Form { separator: b'\t', ..trim };
        assert_eq!(all(" a \t\t \"b\" \t\n", &tabs).unwrap(), [["a", "", "b", ""]]);
    }

    #[test]
    fn pieces_never_cut_a_quoted_line_break() {
        let text = "\"a\nb\",1\n".repeat(50);
        let cut = pieces(text.as_bytes(), 0, 20, &FORM).unwrap();
        assert!(cut.len() > 10);
        assert!(cut.iter().all(|(s, e)| text[*s..*e].starts_with("\"a") && text[*s..*e].ends_with(",1\n")));
        assert_eq!(cut.last().unwrap().1, text.len());
        assert_eq!(limit(text.as_bytes(), 0, 3, true, &FORM).unwrap(), 24);
    }

    /// Expected lines: pandas, but for the carriage return in quotes, which it makes a line feed.
    #[test]
    fn carriage_returns_as_line_ends() {
        let lines = |text: &str| {
            let mut bytes = text.as_bytes().to_vec();
            line_feeds(&mut bytes, &FORM);
            String::from_utf8(bytes).unwrap()
        };
        assert_eq!(lines("a,b\r1,\"x\ry\"\"\r\"\r2,5\"\r"), "a,b\n1,\"x\ry\"\"\r\"\n2,5\"\n");
        assert_eq!(lines("a,b\r\r\n1,2\r\r\n"), "a,b\n1,2\n");
        assert_eq!(lines("a,b\r1,2\n3,4\r\n5,6"), "a,b\n1,2\n3,4\n5,6");
        for same in ["a,b\r\n1,2\r", "a\n1\r2\n", "a\r", ""] {
            assert_eq!(lines(same), same);
        }
    }
}
