//! JSON documents with the order of their keys and the text of their numbers, and paths into them.
//!
//! `serde_json::Value` sorts keys and rounds numbers; DuckDB's functions keep both.

use std::fmt::Write;

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Boolean(bool),
    /// As it is written.
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
            Json::Number(n) if n.contains(['.', 'e', 'E']) => "DOUBLE",
            Json::Number(n) if n.starts_with('-') => "BIGINT",
            Json::Number(_) => "UBIGINT",
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

    /// RFC 7396.
    pub fn merged(self, patch: Json) -> Json {
        let Json::Object(patch) = patch else { return patch };
        let mut fields = match self {
            Json::Object(fields) => fields,
            _ => Vec::new(),
        };
        for (name, value) in patch {
            let old = fields.iter().position(|(own, _)| *own == name);
            match (value, old) {
                (Json::Null, Some(old)) => drop(fields.remove(old)),
                (Json::Null, None) => {}
                (value, Some(old)) => {
                    let own = std::mem::replace(&mut fields[old].1, Json::Null);
                    fields[old].1 = own.merged(value);
                }
                (value, None) => fields.push((name, Json::Null.merged(value))),
            }
        }
        Json::Object(fields)
    }

    /// Whether all of `other` is somewhere in this document.
    pub fn contains(&self, other: &Json) -> bool {
        let here = match (self, other) {
            (Json::Array(own), Json::Array(other)) => other.iter().all(|o| own.iter().any(|item| item.contains(o))),
            (Json::Object(own), Json::Object(other)) => {
                other.iter().all(|(name, value)| own.iter().any(|(n, v)| n == name && v.contains(value)))
            }
            (own, other) => own == other,
        };
        here || match self {
            Json::Array(items) => items.iter().any(|item| item.contains(other)),
            Json::Object(fields) => fields.iter().any(|(_, value)| value.contains(other)),
            _ => false,
        }
    }
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

    /// What stands between brackets, separated by commas.
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
                Some(b',') => self.at += 1,
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
        Ok(Json::Number(self.text[start..self.at].to_string()))
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
    /// All elements, or all values.
    Every,
    /// The document and everything in it.
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

    pub fn parse(text: &str) -> Result<Path, String> {
        if let Some(rest) = text.strip_prefix('/') {
            let steps = rest.split('/').map(|part| match part.parse() {
                Ok(index) => Step::Index(index),
                Err(_) => Step::Key(part.replace("~1", "/").replace("~0", "~")),
            });
            return Ok(Path { steps: steps.collect() });
        }
        let Some(rest) = text.strip_prefix('$') else { return Ok(Path::key(text)) };
        let wrong = |at: &str| format!("`{text}` is not a path of JSON: `{at}` is not understood");
        let mut steps = Vec::new();
        let mut rest = rest;
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('[') {
                let (inside, after) = after.split_once(']').ok_or_else(|| wrong(rest))?;
                steps.push(match inside {
                    "*" => Step::Every,
                    quoted if quoted.starts_with(['"', '\'']) => {
                        Step::Key(quoted.trim_matches(['"', '\'']).to_string())
                    }
                    number => Step::Index(number.trim_start_matches('#').parse().map_err(|_| wrong(number))?),
                });
                rest = after;
                continue;
            }
            let after = rest.strip_prefix('.').ok_or_else(|| wrong(rest))?;
            if let Some(after) = after.strip_prefix('.') {
                steps.push(Step::Deep);
                rest = if after.starts_with('[') { after } else { &rest[1..] };
                continue;
            }
            if let Some(after) = after.strip_prefix('"') {
                let (key, after) = after.split_once('"').ok_or_else(|| wrong(rest))?;
                steps.push(Step::Key(key.to_string()));
                rest = after;
                continue;
            }
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let (key, after) = after.split_at(end);
            steps.push(if key == "*" { Step::Every } else { Step::Key(key.to_string()) });
            rest = after;
        }
        Ok(Path { steps })
    }

    /// Whether it names several values at once.
    pub fn is_many(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Every | Step::Deep))
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
    fn of<'a>(&self, value: &'a Json) -> Vec<&'a Json> {
        match (self, value) {
            (Step::Key(key), Json::Object(fields)) => {
                fields.iter().find(|(name, _)| name == key).map(|(_, value)| value).into_iter().collect()
            }
            (Step::Index(index), Json::Array(items)) => {
                let place = if *index < 0 { items.len() as i64 + index } else { *index };
                usize::try_from(place).ok().and_then(|place| items.get(place)).into_iter().collect()
            }
            (Step::Every, Json::Array(items)) => items.iter().collect(),
            (Step::Every, Json::Object(fields)) => fields.iter().map(|(_, value)| value).collect(),
            (Step::Deep, value) => {
                let mut all = vec![value];
                let inner: Vec<&Json> = Step::Every.of(value);
                all.extend(inner.into_iter().flat_map(|inner| Step::Deep.of(inner)));
                all
            }
            _ => Vec::new(),
        }
    }
}
