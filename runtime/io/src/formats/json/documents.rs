//! JSON that is not one object for each line: an array of objects, objects one after another, a value inside of an
//! object.
//!
//! A pass over brackets and strings finds where values end. It checks no more than that; the readers of types and
//! values do.

use std::ops::Range;

/// The place and the reason of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnexpectedJson {
    pub at: usize,
    pub what: String,
}

impl UnexpectedJson {
    fn new(at: usize, what: impl Into<String>) -> Self {
        UnexpectedJson { at, what: what.into() }
    }
}

/// The first position from `at` on that is not white space.
pub(super) fn skip_space(text: &[u8], at: usize) -> usize {
    at + text[at..].iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n')).count()
}

/// The end of the string whose quote is at `at`.
fn string_end(text: &[u8], at: usize) -> Result<usize, UnexpectedJson> {
    let mut next = at + 1;
    loop {
        let rest = text.get(next..).unwrap_or_default();
        match memchr::memchr2(b'"', b'\\', rest) {
            None => return Err(UnexpectedJson::new(at, "a string that is never closed")),
            Some(found) if rest[found] == b'"' => return Ok(next + found + 1),
            Some(found) => next += found + 2,
        }
    }
}

/// The end of the value at `at`.
pub(super) fn value_end(text: &[u8], at: usize) -> Result<usize, UnexpectedJson> {
    match text.get(at) {
        None => Err(UnexpectedJson::new(at, "the end of the file instead of a value")),
        Some(b'"') => string_end(text, at),
        Some(b'{' | b'[') => {
            let (mut depth, mut next) = (0usize, at);
            loop {
                match text.get(next) {
                    None => {
                        let what = if text[at] == b'{' { "an object" } else { "an array" };
                        return Err(UnexpectedJson::new(at, format!("{what} that is never closed")));
                    }
                    Some(b'"') => next = string_end(text, next)?,
                    Some(b'{' | b'[') => (depth, next) = (depth + 1, next + 1),
                    Some(b'}' | b']') => {
                        (depth, next) = (depth - 1, next + 1);
                        if depth == 0 {
                            return Ok(next);
                        }
                    }
                    Some(_) => next += 1,
                }
            }
        }
        Some(_) => {
            let ends = |b: &u8| matches!(b, b',' | b':' | b'}' | b']' | b'{' | b'[' | b'"') || b.is_ascii_whitespace();
            let length = text[at..].iter().take_while(|b| !ends(b)).count();
            match length {
                0 => Err(UnexpectedJson::new(
                    at,
                    format!("`{}` instead of a value", char::from(text[at]).escape_default()),
                )),
                length => Ok(at + length),
            }
        }
    }
}

fn kind(first: u8) -> &'static str {
    match first {
        b'"' => "a text",
        b'[' => "an array",
        b't' | b'f' => "a boolean",
        b'n' => "null",
        b'-' | b'0'..=b'9' => "a number",
        _ => "no JSON value",
    }
}

/// Cuts objects one after another into pieces of about `target` bytes. `from` is the first of them.
pub(super) fn objects(text: &[u8], from: usize, target: usize) -> Result<Vec<Range<usize>>, UnexpectedJson> {
    let mut pieces = Vec::new();
    let (mut start, mut at) = (from, from);
    while at < text.len() {
        if text[at] != b'{' {
            return Err(UnexpectedJson::new(at, format!("{} instead of an object", kind(text[at]))));
        }
        at = skip_space(text, value_end(text, at)?);
        if at - start >= target || at >= text.len() {
            pieces.push(start..at);
            start = at;
        }
    }
    Ok(pieces)
}

/// As [`objects`] for an array whose bracket is at `from`. Blanks take the place of its brackets and commas.
pub(super) fn array(text: &mut [u8], from: usize, target: usize) -> Result<Vec<Range<usize>>, UnexpectedJson> {
    let mut pieces = Vec::new();
    text[from] = b' ';
    let mut at = skip_space(text, from + 1);
    let mut start = at;
    let mut is_empty = true;
    loop {
        match text.get(at) {
            Some(b'{') => {}
            Some(b']') if is_empty => break,
            Some(b']') => return Err(UnexpectedJson::new(at, "`]` behind a comma")),
            Some(first) => return Err(UnexpectedJson::new(at, format!("{} instead of an object", kind(*first)))),
            None => return Err(UnexpectedJson::new(from, "an array that is never closed")),
        }
        is_empty = false;
        at = skip_space(text, value_end(text, at)?);
        match text.get(at) {
            Some(b',') => {
                text[at] = b' ';
                at = skip_space(text, at);
            }
            Some(b']') => break,
            Some(_) => return Err(UnexpectedJson::new(at, "no comma between two values of an array")),
            None => return Err(UnexpectedJson::new(from, "an array that is never closed")),
        }
        if at - start >= target {
            pieces.push(start..at);
            start = at;
        }
    }
    text[at] = b' ';
    if at > start {
        pieces.push(start..at);
    }
    match skip_space(text, at) {
        end if end < text.len() => Err(UnexpectedJson::new(end, "text behind the array")),
        _ => Ok(pieces),
    }
}

/// The members of the object at `at`: names as they are written, without quotes, and values.
pub(super) fn members(text: &[u8], at: usize) -> Result<Vec<(Range<usize>, Range<usize>)>, UnexpectedJson> {
    let mut all = Vec::new();
    let mut next = skip_space(text, at + 1);
    if text.get(next) == Some(&b'}') {
        return Ok(all);
    }
    loop {
        if text.get(next) != Some(&b'"') {
            return Err(UnexpectedJson::new(next.min(text.len()), "no name where a field should be"));
        }
        let end = string_end(text, next)?;
        let name = next + 1..end - 1;
        next = skip_space(text, end);
        if text.get(next) != Some(&b':') {
            return Err(UnexpectedJson::new(next.min(text.len()), "no colon behind the name of a field"));
        }
        let start = skip_space(text, next + 1);
        let end = value_end(text, start)?;
        all.push((name, start..end));
        next = skip_space(text, end);
        match text.get(next) {
            Some(b',') => next = skip_space(text, next + 1),
            Some(b'}') => return Ok(all),
            _ => return Err(UnexpectedJson::new(next.min(text.len()), "no comma between two fields")),
        }
    }
}

/// The error of a path that [`find`] does not find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NotThere {
    UnexpectedJson(UnexpectedJson),
    /// The names that are there instead, and where.
    Names(usize, Vec<String>),
    /// A value on the way has no fields.
    NoObject(usize, &'static str),
}

/// The value under a path of names with points between them. A name can have points, too.
pub(super) fn find(text: &[u8], path: &str) -> Result<Range<usize>, NotThere> {
    let mut value = skip_space(text, 0)..text.len();
    let mut path = path;
    loop {
        if text.get(value.start) != Some(&b'{') {
            let first = text.get(value.start).copied().unwrap_or_default();
            return Err(NotThere::NoObject(value.start, kind(first)));
        }
        let members = members(text, value.start).map_err(NotThere::UnexpectedJson)?;
        // The longest name that fits. The last one of two equal names counts.
        let fits = |name: &str| path == name || path.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        let named = |range: &Range<usize>| {
            let quoted = &text[range.start - 1..range.end + 1];
            serde_json::from_slice::<String>(quoted).unwrap_or_default()
        };
        let best = members
            .iter()
            .map(|(name, value)| (named(name), value))
            .filter(|(name, _)| fits(name))
            .max_by_key(|(name, _)| name.len());
        match best {
            Some((name, range)) => {
                value = range.clone();
                path = &path[name.len()..];
                match path.strip_prefix('.') {
                    Some(rest) => path = rest,
                    None => return Ok(value),
                }
            }
            None => {
                return Err(NotThere::Names(value.start, members.iter().map(|(name, _)| named(name)).collect()));
            }
        }
    }
}

/// How pandas has written a frame in one object: the name of the `orient` of its `to_json`. `None` for other objects.
pub(super) fn pandas(text: &[u8], at: usize) -> Option<&'static str> {
    let all = members(text, at).ok()?;
    let name = |range: &Range<usize>| &text[range.clone()];
    let starts = |range: &Range<usize>, with: u8| text[range.start] == with;
    let has = |wanted: &str, first| all.iter().any(|(n, v)| name(n) == wanted.as_bytes() && starts(v, first));
    if all.len() == 3 && has("columns", b'[') && has("index", b'[') && has("data", b'[') {
        return Some("split");
    }
    let is_column = |range: &Range<usize>| {
        starts(range, b'{')
            && members(text, range.start).is_ok_and(|rows| {
                !rows.is_empty() && rows.iter().all(|(n, _)| !n.is_empty() && name(n).iter().all(u8::is_ascii_digit))
            })
    };
    (!all.is_empty() && all.iter().all(|(_, value)| is_column(value))).then_some("columns")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_end_where_their_brackets_do() {
        let end = |text: &str| value_end(text.as_bytes(), 0);
        assert_eq!(end("{\"a}\\\"\": [1, {}]} x"), Ok(17));
        assert_eq!(end("[\"]\"],"), Ok(5));
        assert_eq!((end("-1.5e3, 2"), end("null}"), end("\"\\\\\" ")), (Ok(6), Ok(4), Ok(4)));
        for bad in ["{\"a\": 1", "[[]", "\"x", "\"x\\", "", ",", "{\"x}"] {
            assert!(end(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn arrays_become_objects() {
        let cut = |text: &str, target| {
            let mut bytes = text.as_bytes().to_vec();
            let pieces = array(&mut bytes, 0, target)?;
            Ok::<_, UnexpectedJson>(
                pieces.iter().map(|p| String::from_utf8_lossy(&bytes[p.clone()]).into_owned()).collect(),
            )
        };
        let all: Vec<String> = cut("[{\"a\": [1, 2]} ,\n {}]\n", 1).unwrap();
        assert_eq!(all, ["{\"a\": [1, 2]}  \n ", "{}"]);
        assert_eq!(cut("[ ]", 1), Ok(vec![]));
        let what = |text: &str| cut(text, 1).map(drop).unwrap_err().what;
        assert_eq!(what("[1]"), "a number instead of an object");
        assert_eq!(what("[{},]"), "`]` behind a comma");
        assert_eq!(what("[{} {}]"), "no comma between two values of an array");
        assert_eq!(what("[{}, {}"), "an array that is never closed");
        assert_eq!(what("[{}] x"), "text behind the array");
        assert_eq!(what("[{\"a\": 1}, nul"), "null instead of an object");
    }

    #[test]
    fn values_under_a_path() {
        let text = r#"{"n": 1, "a.b": {"c": [2]}, "a": {"b": 3, "\u0063": {"d": 4}}, "n": "last"}"#;
        let value = |path: &str| find(text.as_bytes(), path).map(|r| &text[r]);
        assert_eq!((value("n"), value("a.b.c"), value("a.c.d")), (Ok("\"last\""), Ok("[2]"), Ok("4")));
        assert!(matches!(value("a.x"), Err(NotThere::Names(_, names)) if names == ["b", "c"]));
        assert!(matches!(value("n.x"), Err(NotThere::NoObject(_, "a text"))));
    }

    /// The files are those of `DataFrame.to_json` of pandas.
    #[test]
    fn frames_of_pandas() {
        let orient = |text: &str| pandas(text.as_bytes(), 0);
        assert_eq!(orient("{\"a\":{\"0\":1,\"1\":2},\"b\":{\"0\":\"x\",\"1\":\"y\"}}"), Some("columns"));
        assert_eq!(orient("{\"columns\":[\"a\"],\"index\":[0],\"data\":[[1]]}"), Some("split"));
        for other in ["{\"a\": {\"x\": 1}}", "{\"a\": {}}", "{}", "{\"a\": 1}", "{\"a\": {\"0\": 1}, \"b\": 2}"] {
            assert_eq!(orient(other), None, "{other}");
        }
    }
}
