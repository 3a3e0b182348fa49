//! Where a CSV file's records and fields are. Knows quotes, separators and line ends; no types.

use std::borrow::Cow;

/// The characters that give a file its form. All are ASCII.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub separator: u8,
    pub quote: Option<u8>,
    pub comment: Option<u8>,
}

/// A field's bytes in the file, without its quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub start: usize,
    pub end: usize,
    pub quoted: bool,
    /// Holds doubled quotes.
    pub escaped: bool,
}

/// What is wrong with a record's form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Malformed {
    /// A quote that starts here is never closed.
    Unclosed { at: usize },
    /// Text between a closing quote, here, and the next separator.
    AfterQuote { at: usize },
}

impl Field {
    pub fn bytes<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        &text[self.start..self.end]
    }

    /// The field's text, doubled quotes made single.
    pub fn text<'a>(&self, text: &'a [u8], form: &Form) -> Cow<'a, str> {
        let raw = self.bytes(text);
        // The file was checked; a field's ends are at ASCII characters.
        let raw = std::str::from_utf8(raw).unwrap_or_default();
        match (self.escaped, form.quote) {
            (true, Some(quote)) => {
                let quote = char::from(quote);
                let mut double = String::new();
                double.push(quote);
                double.push(quote);
                Cow::Owned(raw.replace(&double, quote.encode_utf8(&mut [0; 4])))
            }
            _ => Cow::Borrowed(raw),
        }
    }
}

/// Splits the record at `at` into fields and returns where the next one starts. `at` is below `text.len()`.
#[inline]
pub(super) fn record(text: &[u8], at: usize, form: &Form, fields: &mut Vec<Field>) -> Result<usize, Malformed> {
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
            fields.push(Field { start, end, quoted: false, escaped: false });
        }
        match text.get(at) {
            Some(b'\n') => return Ok(at + 1),
            None => return Ok(at),
            // The separator: another field follows, if only an empty one.
            Some(_) => at += 1,
        }
    }
}

/// A field in quotes, from its first quote; returns where its separator or line end is.
fn quoted(text: &[u8], open: usize, form: &Form, fields: &mut Vec<Field>) -> Result<usize, Malformed> {
    let quote = form.quote.unwrap_or(b'"');
    let start = open + 1;
    let mut escaped = false;
    let mut at = start;
    loop {
        let Some(found) = memchr::memchr(quote, &text[at..]) else { return Err(Malformed::Unclosed { at: open }) };
        at += found;
        if text.get(at + 1) == Some(&quote) {
            escaped = true;
            at += 2;
            continue;
        }
        break;
    }
    fields.push(Field { start, end: at, quoted: true, escaped });
    let next = at + 1;
    match (text.get(next), text.get(next + 1)) {
        (Some(b'\r'), Some(b'\n')) => Ok(next + 1),
        (Some(b'\r'), None) => Ok(next + 1),
        (None | Some(b'\n'), _) => Ok(next),
        (Some(c), _) if *c == form.separator => Ok(next),
        _ => Err(Malformed::AfterQuote { at }),
    }
}

/// Where the record at `at` ends, without its fields. A quote counts where a field starts only, as in [`record`].
fn record_end(text: &[u8], at: usize, form: &Form, fields: &mut Vec<Field>) -> Result<usize, Malformed> {
    let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |i| at + i + 1);
    match form.quote {
        Some(quote) if memchr::memchr(quote, &text[at..end]).is_some() => record(text, at, form, fields),
        _ => Ok(end),
    }
}

/// True for lines that are no records: comments.
#[inline]
pub(super) fn is_comment(text: &[u8], at: usize, form: &Form) -> bool {
    form.comment.is_some() && text.get(at).copied() == form.comment
}

/// Where the line at `at` ends.
pub(super) fn line_end(text: &[u8], at: usize) -> usize {
    memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |i| at + i + 1)
}

/// True if the line at `at` has nothing in it.
#[inline]
pub(super) fn is_blank(text: &[u8], at: usize) -> bool {
    text[at] == b'\n' || (text[at] == b'\r' && text.get(at + 1).is_none_or(|c| *c == b'\n'))
}

/// Cuts `text[from..]` into pieces of about `target` bytes, each of whole records.
pub(super) fn pieces(text: &[u8], from: usize, target: usize, form: &Form) -> Result<Vec<(usize, usize)>, Malformed> {
    let mut pieces = Vec::new();
    let mut start = from;
    // Without a quote every line end ends a record, and nothing between the cuts has to be looked at.
    let simple = form.quote.is_none_or(|q| memchr::memchr(q, &text[from..]).is_none());
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

/// Where `text` ends if only `rows` records of it, from `from`, are wanted.
pub(super) fn limit(text: &[u8], from: usize, rows: u64, skip_blank: bool, form: &Form) -> Result<usize, Malformed> {
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

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: Form = Form { separator: b',', quote: Some(b'"'), comment: Some(b'#') };

    fn all(text: &str) -> Result<Vec<Vec<String>>, Malformed> {
        let (mut at, mut rows, mut fields) = (0, Vec::new(), Vec::new());
        while at < text.len() {
            at = record(text.as_bytes(), at, &FORM, &mut fields)?;
            rows.push(fields.iter().map(|f| f.text(text.as_bytes(), &FORM).into_owned()).collect());
        }
        Ok(rows)
    }

    #[test]
    fn fields_with_quotes_separators_and_line_ends() {
        let rows = all("a,b\r\n\"x, \"\"y\"\"\n2\",\r\n,\"\"\nlast,é").unwrap();
        assert_eq!(rows, [vec!["a", "b"], vec!["x, \"y\"\n2", ""], vec!["", ""], vec!["last", "é"]]);
        assert_eq!(all("5\" pipe,1\n").unwrap(), [["5\" pipe", "1"]]);
        assert_eq!(all("a,\"open\n1,2\n"), Err(Malformed::Unclosed { at: 2 }));
        assert_eq!(all("\"a\"b,1\n"), Err(Malformed::AfterQuote { at: 2 }));
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
}
