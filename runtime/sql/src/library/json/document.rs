//! JSON documents with the order of their keys, and paths into them.
//!
//! `serde_json::Value` sorts keys and rounds integers beyond 64 bits; DuckDB's functions keep both. As in DuckDB, a
//! float is written in its shortest form, a comma may stand behind the last element, and infinities and NaN are
//! numbers.

use std::fmt::Write;

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Boolean(bool),
    /// Integers and what no 64-bit float holds as written, other floats as [`number_text`] writes them.
    Number(String),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// Levels of brackets, at most: parsing is recursive.
const DEEPEST: usize = 500;

impl Json {
    /// A whole document. `Err` says what is wrong and where, in bytes.
    pub fn parse(text: &str) -> Result<Json, String> {
        let mut parser = Parser { text, at: 0 };
        let value = parser.value(0)?;
        parser.blanks();
        match parser.peek() {
            None => Ok(value),
            Some(_) => Err(parser.wrong("the end")),
        }
    }

    pub fn kind(&self) -> &'static str {
        match self {
            Json::Null => "NULL",
            Json::Boolean(_) => "BOOLEAN",
            Json::Number(n) if n.parse::<u64>().is_ok() => "UBIGINT",
            Json::Number(n) if n.parse::<i64>().is_ok() => "BIGINT",
            Json::Number(_) => "DOUBLE",
            Json::Text(_) => "VARCHAR",
            Json::Array(_) => "ARRAY",
            Json::Object(_) => "OBJECT",
        }
    }

    /// The value of a string without quotes, other values as JSON; `None` for null.
    pub fn plain(&self) -> Option<String> {
        match self {
            Json::Null => None,
            Json::Text(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    }

    /// Over several lines, indented by four blanks.
    pub fn pretty(&self, level: usize, out: &mut String) {
        let line = |out: &mut String, level: usize| {
            out.push('\n');
            out.push_str(&"    ".repeat(level));
        };
        match self {
            Json::Array(items) if !items.is_empty() => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    line(out, level + 1);
                    item.pretty(level + 1, out);
                }
                line(out, level);
                out.push(']');
            }
            Json::Object(fields) if !fields.is_empty() => {
                out.push('{');
                for (index, (name, value)) in fields.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    line(out, level + 1);
                    out.push_str(&format!("{}: ", Json::Text(name.clone())));
                    value.pretty(level + 1, out);
                }
                line(out, level);
                out.push('}');
            }
            other => out.push_str(&other.to_string()),
        }
    }

    /// RFC 7396. The fields that the patch does not name come first, and then those of the patch.
    pub fn merged(self, patch: Json) -> Json {
        let (Json::Object(own), Json::Object(patch)) = (self, &patch) else { return patch };
        let (mut kept, mut patched): (Vec<_>, Vec<_>) =
            own.into_iter().partition(|(name, _)| !patch.iter().any(|(other, _)| other == name));
        for (name, value) in patch.iter().filter(|(_, value)| *value != Json::Null) {
            let old = patched.iter().position(|(own, _)| own == name).map(|at| patched.remove(at).1);
            // Inside of a patch for no object, a null still means that there is no such field.
            let old = old.filter(|old| matches!(old, Json::Object(_))).unwrap_or(Json::Object(Vec::new()));
            kept.push((name.clone(), old.merged(value.clone())));
        }
        Json::Object(kept)
    }

    /// Whether all of `other` is in this document, or in one of its values at any depth. Objects may have more fields
    /// than `other`, and arrays more elements.
    pub fn contains(&self, other: &Json) -> bool {
        self.covers(other)
            || match self {
                Json::Array(items) => items.iter().any(|item| item.contains(other)),
                Json::Object(fields) => fields.iter().any(|(_, value)| value.contains(other)),
                _ => false,
            }
    }

    /// As [`Json::contains`], at the same depth.
    fn covers(&self, other: &Json) -> bool {
        match (self, other) {
            (Json::Array(own), Json::Array(other)) => other.iter().all(|o| own.iter().any(|item| item.covers(o))),
            (Json::Object(own), Json::Object(other)) => {
                other.iter().all(|(name, value)| own.iter().any(|(n, v)| n == name && v.covers(value)))
            }
            (own, other) => own == other,
        }
    }
}

/// A float as JSON: in its shortest form, with an exponent below 1e-6 and from 1e21 on.
pub fn number_text(value: f64) -> String {
    if value != 0.0 && !(1e-6..1e21).contains(&value.abs()) {
        return format!("{value:e}");
    }
    let text = value.to_string();
    if text.contains('.') { text } else { text + ".0" }
}

impl std::fmt::Display for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Boolean(value) => write!(f, "{value}"),
            Json::Number(digits) => f.write_str(digits),
            Json::Text(text) => quoted(f, text),
            Json::Array(items) => {
                f.write_char('[')?;
                for (index, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if index > 0 { "," } else { "" })?;
                }
                f.write_char(']')
            }
            Json::Object(fields) => {
                f.write_char('{')?;
                for (index, (name, value)) in fields.iter().enumerate() {
                    f.write_str(if index > 0 { "," } else { "" })?;
                    quoted(f, name)?;
                    write!(f, ":{value}")?;
                }
                f.write_char('}')
            }
        }
    }
}

fn quoted(f: &mut std::fmt::Formatter<'_>, text: &str) -> std::fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            '\u{8}' => f.write_str("\\b")?,
            '\u{c}' => f.write_str("\\f")?,
            c if u32::from(c) < 0x20 => write!(f, "\\u{:04X}", u32::from(c))?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn wrong(&self, expected: &str) -> String {
        match self.text[self.at..].chars().next() {
            Some(c) => format!("`{c}` at byte {}, where {expected} is expected", self.at),
            None => format!("the text ends where {expected} is expected"),
        }
    }

    fn take(&mut self, word: &str, value: Json) -> Result<Json, String> {
        match self.text[self.at..].starts_with(word) {
            true => {
                self.at += word.len();
                Ok(value)
            }
            false => Err(self.wrong("a value")),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth > DEEPEST {
            return Err(format!("more than {DEEPEST} levels of brackets"));
        }
        self.blanks();
        if let Some(special) = self.special() {
            return Ok(special);
        }
        match self.peek() {
            Some(b'n') => self.take("null", Json::Null),
            Some(b't') => self.take("true", Json::Boolean(true)),
            Some(b'f') => self.take("false", Json::Boolean(false)),
            Some(b'"') => self.string().map(Json::Text),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'[') => {
                let mut items = Vec::new();
                self.items(b']', |parser| {
                    items.push(parser.value(depth + 1)?);
                    Ok(())
                })?;
                Ok(Json::Array(items))
            }
            Some(b'{') => {
                let mut fields = Vec::new();
                self.items(b'}', |parser| {
                    if parser.peek() != Some(b'"') {
                        return Err(parser.wrong("a key in double quotes"));
                    }
                    let name = parser.string()?;
                    parser.blanks();
                    if parser.peek() != Some(b':') {
                        return Err(parser.wrong("`:`"));
                    }
                    parser.at += 1;
                    fields.push((name, parser.value(depth + 1)?));
                    Ok(())
                })?;
                Ok(Json::Object(fields))
            }
            _ => Err(self.wrong("a value")),
        }
    }

    /// An infinity or a NaN, which DuckDB reads and writes.
    fn special(&mut self) -> Option<Json> {
        let rest = self.text.get(self.at..)?;
        let sign = usize::from(rest.starts_with('-'));
        let is_next =
            |word: &str| rest.get(sign..sign + word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word));
        let length = sign + ["infinity", "inf", "nan"].iter().find(|word| is_next(word))?.len();
        self.at += length;
        Some(Json::Number(rest[..length].to_string()))
    }

    /// The items between brackets, separated by commas. One comma may stand behind the last.
    fn items(&mut self, end: u8, mut item: impl FnMut(&mut Self) -> Result<(), String>) -> Result<(), String> {
        self.at += 1;
        self.blanks();
        if self.peek() == Some(end) {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.blanks();
            item(self)?;
            self.blanks();
            match self.peek() {
                Some(b',') => {
                    self.at += 1;
                    self.blanks();
                    if self.peek() == Some(end) {
                        self.at += 1;
                        return Ok(());
                    }
                }
                Some(found) if found == end => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.wrong(&format!("`,` or `{}`", char::from(end)))),
            }
        }
    }

    fn digits(&mut self) -> Result<(), String> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(self.wrong("a digit")) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<Json, String> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let text = &self.text[start..self.at];
        let float = text.parse::<f64>().ok().filter(|value| text.contains(['.', 'e', 'E']) && value.is_finite());
        Ok(Json::Number(float.map_or_else(|| text.to_string(), number_text)))
    }

    fn string(&mut self) -> Result<String, String> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let Some(c) = self.text[self.at..].chars().next() else { return Err(self.wrong("`\"`")) };
            self.at += c.len_utf8();
            match c {
                '"' => return Ok(out),
                '\\' => {
                    let Some(code) = self.text[self.at..].chars().next() else { return Err(self.wrong("an escape")) };
                    self.at += code.len_utf8();
                    match code {
                        'n' => out.push('\n'),
                        't' => out.push('\t'),
                        'r' => out.push('\r'),
                        'b' => out.push('\u{8}'),
                        'f' => out.push('\u{c}'),
                        '"' | '\\' | '/' => out.push(code),
                        'u' => out.push(self.escaped()?),
                        _ => return Err(format!("`\\{code}` at byte {} is not an escape of JSON", self.at)),
                    }
                }
                c if u32::from(c) < 0x20 => return Err(format!("a control character at byte {}", self.at)),
                c => out.push(c),
            }
        }
    }

    fn hex(&mut self) -> Result<u32, String> {
        let code = self.text.get(self.at..self.at + 4).and_then(|hex| u32::from_str_radix(hex, 16).ok());
        self.at += 4;
        code.ok_or_else(|| "an escape `\\u` has four hexadecimal digits".to_string())
    }

    fn escaped(&mut self) -> Result<char, String> {
        let high = self.hex()?;
        let code = match high {
            0xd800..=0xdbff if self.text.get(self.at..self.at + 2) == Some("\\u") => {
                self.at += 2;
                let low = self.hex()?;
                0x10000 + ((high - 0xd800) << 10) + (low.wrapping_sub(0xdc00) & 0x3ff)
            }
            code => code,
        };
        char::from_u32(code).ok_or_else(|| "half of a surrogate pair".to_string())
    }
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Key(String),
    /// From the end if it is negative.
    Index(i64),
    /// All elements of an array.
    Items,
    /// All values of an object.
    Fields,
    /// All elements and all values, below [`Step::Deep`].
    Every,
    /// The document and everything in it, level by level.
    Deep,
}

/// `$.a.b[0]`, `$.a[*]`, `$..b`, `/a/b/0`, or a key alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    steps: Vec<Step>,
}

impl Path {
    pub fn key(name: &str) -> Path {
        Path { steps: vec![Step::Key(name.to_string())] }
    }

    pub fn index(index: i64) -> Path {
        Path { steps: vec![Step::Index(index)] }
    }

    /// An empty path leads to the document itself.
    pub fn parse(text: &str) -> Result<Path, String> {
        if text.is_empty() {
            return Ok(Path { steps: Vec::new() });
        }
        if let Some(rest) = text.strip_prefix('/') {
            let steps = rest.split('/').map(|part| match part.parse() {
                Ok(index) => Step::Index(index),
                Err(_) => Step::Key(part.replace("~1", "/").replace("~0", "~")),
            });
            return Ok(Path { steps: steps.collect() });
        }
        let Some(mut rest) = text.strip_prefix('$') else { return Ok(Path::key(text)) };
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let is_deep = steps.last() == Some(&Step::Deep);
            let (step, after) = Step::first(rest, is_deep)
                .ok_or_else(|| format!("`{text}` is not a path of JSON: `{rest}` is not understood"))?;
            // Everything below: `$.**` is `$..*`.
            if step == Step::Deep && after.is_empty() {
                steps.push(Step::Deep);
                steps.push(Step::Every);
                break;
            }
            steps.push(step);
            rest = after;
        }
        Ok(Path { steps })
    }

    /// Whether it names several values at once.
    pub fn is_many(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Items | Step::Fields | Step::Every | Step::Deep))
    }

    pub fn of<'a>(&self, document: &'a Json) -> Vec<&'a Json> {
        let mut now = vec![document];
        for step in &self.steps {
            now = now.into_iter().flat_map(|value| step.of(value)).collect();
        }
        now
    }
}

impl Step {
    /// The first step of a path and the text behind it, or `None` if it is not understood.
    fn first(text: &str, below_deep: bool) -> Option<(Step, &str)> {
        if let Some(after) = text.strip_prefix('[') {
            let (inside, after) = after.split_once(']')?;
            let step = match inside {
                "*" => Step::Items,
                quoted if quoted.starts_with(['"', '\'']) => Step::Key(quoted.trim_matches(['"', '\'']).to_string()),
                number => Step::Index(number.trim_start_matches('#').parse().ok()?),
            };
            return Some((step, after));
        }
        let after = text.strip_prefix('.')?;
        if let Some(after) = after.strip_prefix("**") {
            return Some((Step::Deep, after));
        }
        if let Some(key) = after.strip_prefix('.') {
            let is_last = key.is_empty();
            return (!is_last).then_some((Step::Deep, if key.starts_with('[') { key } else { after }));
        }
        if let Some(quoted) = after.strip_prefix('"') {
            return Step::quoted(quoted);
        }
        let (key, after) = after.split_at(after.find(['.', '[']).unwrap_or(after.len()));
        let step = match key {
            "*" if below_deep => Step::Every,
            "*" => Step::Fields,
            key => Step::Key(key.to_string()),
        };
        Some((step, after))
    }

    /// A key up to its closing quote. A backslash escapes a quote and a backslash.
    fn quoted(text: &str) -> Option<(Step, &str)> {
        let mut key = String::new();
        let mut chars = text.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => return Some((Step::Key(key), &text[at + 1..])),
                '\\' if text[at + 1..].starts_with(['"', '\\']) => key.extend(chars.next().map(|(_, c)| c)),
                c => key.push(c),
            }
        }
        None
    }

    fn of<'a>(&self, value: &'a Json) -> Vec<&'a Json> {
        match (self, value) {
            (Step::Key(key), Json::Object(fields)) => {
                fields.iter().find(|(name, _)| name == key).map(|(_, value)| value).into_iter().collect()
            }
            (Step::Index(index), Json::Array(items)) => {
                let place = if *index < 0 { items.len() as i64 + index } else { *index };
                usize::try_from(place).ok().and_then(|place| items.get(place)).into_iter().collect()
            }
            (Step::Items | Step::Every, Json::Array(items)) => items.iter().collect(),
            (Step::Fields | Step::Every, Json::Object(fields)) => fields.iter().map(|(_, value)| value).collect(),
            (Step::Deep, value) => {
                let (mut all, mut next) = (vec![value], 0);
                while let Some(value) = all.get(next).copied() {
                    all.extend(Step::Every.of(value));
                    next += 1;
                }
                all
            }
            _ => Vec::new(),
        }
    }
}
