//! XGBoost's model files as a tree of values: UBJSON (<https://ubjson.org>, draft 12, as far as XGBoost's
//! `src/common/json.cc` writes it) and JSON. Reads bytes that may lie: every count is checked against the bytes that
//! are left before memory is taken.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// Values inside of values that are followed. XGBoost's files have nine.
const DEPTH: usize = 32;

/// A value of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Document {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(String),
    List(Vec<Document>),
    /// A typed array of integers, with UBJSON's letter of their type.
    Ints(u8, Vec<i64>),
    /// A typed array of single precision.
    Floats(Vec<f32>),
    Map(Vec<(String, Document)>),
}

impl Document {
    /// Reads UBJSON or JSON, by its first bytes.
    ///
    /// # Errors
    /// Says where the bytes stop being a document.
    pub fn read(bytes: &[u8]) -> Result<Document, String> {
        if is_ubj(bytes) {
            let mut reader = Reader { bytes, at: 0 };
            let document = reader.value(DEPTH)?;
            return match bytes.len() - reader.at {
                0 => Ok(document),
                left => Err(format!("{left} bytes are left after its end")),
            };
        }
        serde_json::from_slice(&quoted(bytes)).map_err(|e| e.to_string())
    }

    /// The value under a name. `None` if this is not a map or has no such name.
    pub fn get(&self, name: &str) -> Option<&Document> {
        match self {
            Document::Map(entries) => entries.iter().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The value under a path such as `learner.objective.name`.
    pub fn at(&self, path: &str) -> Option<&Document> {
        path.split('.').try_fold(self, Document::get)
    }

    pub fn str(&self) -> Option<&str> {
        match self {
            Document::Str(text) => Some(text),
            _ => None,
        }
    }

    pub fn list(&self) -> Option<&[Document]> {
        match self {
            Document::List(values) => Some(values),
            _ => None,
        }
    }

    /// An integer, also one that is written as a string, as XGBoost's parameters are.
    pub fn int(&self) -> Option<i64> {
        match self {
            Document::Int(value) => Some(*value),
            Document::Bool(value) => Some(i64::from(*value)),
            Document::Str(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// An array of integers, typed or not.
    pub fn ints(&self) -> Option<Vec<i64>> {
        match self {
            Document::Ints(_, values) => Some(values.clone()),
            Document::List(values) => values.iter().map(Document::int).collect(),
            // An empty array has no type.
            Document::Floats(values) if values.is_empty() => Some(Vec::new()),
            _ => None,
        }
    }

    /// An array of numbers in single precision, typed or not.
    pub fn floats(&self) -> Option<Vec<f32>> {
        match self {
            Document::Floats(values) => Some(values.clone()),
            Document::Ints(_, values) => Some(values.iter().map(|v| *v as f32).collect()),
            Document::List(values) => values.iter().map(|v| v.float().map(|v| v as f32)).collect(),
            _ => None,
        }
    }

    pub fn float(&self) -> Option<f64> {
        match self {
            Document::Int(value) => Some(*value as f64),
            Document::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// The document as UBJSON.
    pub fn to_ubj(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write_ubj(&mut out);
        out
    }

    /// The document as JSON. Numbers have as many digits as they need to be read again as they were.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out);
        out
    }

    fn write_ubj(&self, out: &mut Vec<u8>) {
        let length = |out: &mut Vec<u8>, len: usize| {
            out.push(b'L');
            out.extend((len as i64).to_be_bytes());
        };
        match self {
            Document::Null => out.push(b'Z'),
            Document::Bool(value) => out.push(if *value { b'T' } else { b'F' }),
            Document::Int(value) => {
                out.push(b'L');
                out.extend(value.to_be_bytes());
            }
            Document::Float(value) => {
                out.push(b'd');
                out.extend((*value as f32).to_be_bytes());
            }
            Document::Str(text) => {
                out.push(b'S');
                length(out, text.len());
                out.extend(text.as_bytes());
            }
            Document::List(values) => {
                out.extend(b"[#");
                length(out, values.len());
                values.iter().for_each(|value| value.write_ubj(out));
            }
            Document::Ints(letter, values) => {
                out.extend([b'[', b'$', *letter, b'#']);
                length(out, values.len());
                for value in values {
                    // The value came from this many bytes.
                    out.extend(&value.to_be_bytes()[8 - width(*letter).unwrap_or(8)..]);
                }
            }
            Document::Floats(values) => {
                out.extend(b"[$d#");
                length(out, values.len());
                values.iter().for_each(|value| out.extend(value.to_be_bytes()));
            }
            Document::Map(entries) => {
                out.push(b'{');
                for (name, value) in entries {
                    length(out, name.len());
                    out.extend(name.as_bytes());
                    value.write_ubj(out);
                }
                out.push(b'}');
            }
        }
    }

    fn write_json(&self, out: &mut String) {
        fn join<T>(out: &mut String, values: &[T], mut write: impl FnMut(&T, &mut String)) {
            for (position, value) in values.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                write(value, out);
            }
        }
        // With an exponent, as XGBoost writes it: it tells integers from numbers by their looks.
        let float = |value: f32, out: &mut String| match value.is_finite() {
            true => out.push_str(&format!("{value:E}")),
            false if value.is_nan() => out.push_str("NaN"),
            false => out.push_str(if value > 0.0 { "Infinity" } else { "-Infinity" }),
        };
        match self {
            Document::Null => out.push_str("null"),
            Document::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Document::Int(value) => out.push_str(&value.to_string()),
            Document::Float(value) => float(*value as f32, out),
            Document::Str(text) => out.push_str(&serde_json::Value::from(text.as_str()).to_string()),
            Document::List(values) => {
                out.push('[');
                join(out, values, |value, out| value.write_json(out));
                out.push(']');
            }
            Document::Ints(_, values) => {
                out.push('[');
                join(out, values, |value, out| out.push_str(&value.to_string()));
                out.push(']');
            }
            Document::Floats(values) => {
                out.push('[');
                join(out, values, |value, out| float(*value, out));
                out.push(']');
            }
            Document::Map(entries) => {
                out.push('{');
                join(out, entries, |(name, value), out| {
                    out.push_str(&serde_json::Value::from(name.as_str()).to_string());
                    out.push(':');
                    value.write_json(out);
                });
                out.push('}');
            }
        }
    }
}

/// Numbers of XGBoost's JSON that JSON does not have, and their form for its reader. The form is a string that begins
/// with a zero character, as no name does.
const NOT_FINITE: [(&str, &str, f64); 3] = [
    ("NaN", "\"\\u0000NaN\"", f64::NAN),
    ("Infinity", "\"\\u0000Infinity\"", f64::INFINITY),
    ("-Infinity", "\"\\u0000-Infinity\"", f64::NEG_INFINITY),
];

/// The text with the numbers of [`NOT_FINITE`] outside of strings in quotes.
fn quoted(bytes: &[u8]) -> Cow<'_, [u8]> {
    let mut out = Vec::new();
    let (mut copied, mut at, mut inside) = (0, 0, false);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => inside = !inside,
            b'\\' if inside => at += 1,
            b'N' | b'I' | b'-' if !inside => {
                if let Some((token, marked, _)) = NOT_FINITE.iter().find(|t| bytes[at..].starts_with(t.0.as_bytes())) {
                    out.extend_from_slice(&bytes[copied..at]);
                    out.extend_from_slice(marked.as_bytes());
                    at += token.len();
                    copied = at;
                    continue;
                }
            }
            _ => {}
        }
        at += 1;
    }
    if copied == 0 {
        return Cow::Borrowed(bytes);
    }
    out.extend_from_slice(&bytes[copied..]);
    Cow::Owned(out)
}

/// Whether these bytes begin as UBJSON does: `{`, then the type of a name's length.
pub fn is_ubj(bytes: &[u8]) -> bool {
    matches!(bytes, [b'{', b'L' | b'l' | b'I' | b'i' | b'U', ..])
}

/// Bytes of an integer, by UBJSON's letter.
fn width(letter: u8) -> Option<usize> {
    match letter {
        b'i' | b'U' => Some(1),
        b'I' => Some(2),
        b'l' => Some(4),
        b'L' => Some(8),
        _ => None,
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], String> {
        let left = self.bytes.len() - self.at;
        match len <= left {
            true => {
                self.at += len;
                Ok(&self.bytes[self.at - len..self.at])
            }
            false => Err(format!("{len} bytes are expected at byte {}, and {left} are left", self.at)),
        }
    }

    fn byte(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?[0])
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// An integer of the type that a letter says.
    fn int(&mut self, letter: u8) -> Result<i64, String> {
        let width = width(letter).ok_or_else(|| self.strange(letter))?;
        Ok(int(letter, self.take(width)?))
    }

    /// A count or a length: a letter, then an integer.
    fn length(&mut self) -> Result<usize, String> {
        let letter = self.byte()?;
        let length = self.int(letter)?;
        usize::try_from(length).map_err(|_| format!("a length is {length} at byte {}", self.at))
    }

    fn string(&mut self) -> Result<String, String> {
        let len = self.length()?;
        String::from_utf8(self.take(len)?.to_vec()).map_err(|_| format!("a string is not UTF-8 at byte {}", self.at))
    }

    fn strange(&self, letter: u8) -> String {
        format!("{:?} is not a type of UBJSON at byte {}", char::from(letter), self.at)
    }

    fn value(&mut self, depth: usize) -> Result<Document, String> {
        if depth == 0 {
            return Err(format!("values are inside of each other more than {DEPTH} times"));
        }
        Ok(match self.byte()? {
            b'{' => self.map(depth)?,
            b'[' => self.array(depth)?,
            b'Z' => Document::Null,
            b'T' => Document::Bool(true),
            b'F' => Document::Bool(false),
            b'S' => Document::Str(self.string()?),
            b'd' => Document::Float(f64::from(single(self.take(4)?))),
            b'D' => Document::Float(double(self.take(8)?)),
            letter => Document::Int(self.int(letter)?),
        })
    }

    fn map(&mut self, depth: usize) -> Result<Document, String> {
        let mut entries = Vec::new();
        while self.peek() != Some(b'}') {
            let name = self.string()?;
            entries.push((name, self.value(depth - 1)?));
        }
        self.at += 1;
        Ok(Document::Map(entries))
    }

    fn array(&mut self, depth: usize) -> Result<Document, String> {
        let mut typed = None;
        if self.peek() == Some(b'$') {
            self.at += 1;
            typed = Some(self.byte()?);
        }
        let mut values = Vec::new();
        if typed.is_none() && self.peek() != Some(b'#') {
            while self.peek() != Some(b']') {
                values.push(self.value(depth - 1)?);
            }
            self.at += 1;
            return Ok(Document::List(values));
        }
        match self.byte()? {
            b'#' => {}
            other => return Err(self.strange(other)),
        }
        let count = self.length()?;
        let Some(letter) = typed else {
            // Each value takes a byte or more, so that a lying count ends at the end of the bytes.
            for _ in 0..count {
                values.push(self.value(depth - 1)?);
            }
            return Ok(Document::List(values));
        };
        let width = match letter {
            b'd' => 4,
            b'D' => 8,
            letter => width(letter).ok_or_else(|| self.strange(letter))?,
        };
        let len = count.checked_mul(width).ok_or_else(|| format!("an array has {count} values at byte {}", self.at))?;
        let items = self.take(len)?.chunks_exact(width);
        Ok(match letter {
            b'd' => Document::Floats(items.map(single).collect()),
            b'D' => Document::List(items.map(|item| Document::Float(double(item))).collect()),
            letter => Document::Ints(letter, items.map(|item| int(letter, item)).collect()),
        })
    }
}

/// A big-endian integer of up to eight bytes, with its sign if its type has one.
fn int(letter: u8, bytes: &[u8]) -> i64 {
    let negative = letter != b'U' && bytes.first().is_some_and(|b| b & 0x80 != 0);
    let start = if negative { -1i64 } else { 0 };
    bytes.iter().fold(start, |value, byte| (value << 8) | i64::from(*byte))
}

fn single(bytes: &[u8]) -> f32 {
    f32::from_bits(bytes.iter().fold(0, |bits, byte| (bits << 8) | u32::from(*byte)))
}

fn double(bytes: &[u8]) -> f64 {
    f64::from_bits(bytes.iter().fold(0, |bits, byte| (bits << 8) | u64::from(*byte)))
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Json)
    }
}

/// Makes a document of what a reader of JSON meets.
struct Json;

impl<'de> Visitor<'de> for Json {
    type Value = Document;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_unit<E>(self) -> Result<Document, E> {
        Ok(Document::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Document, E> {
        Ok(Document::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Document, E> {
        Ok(Document::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Document, E> {
        Ok(i64::try_from(value).map_or(Document::Float(value as f64), Document::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Document, E> {
        Ok(Document::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Document, E> {
        let not_finite = value.strip_prefix('\0').and_then(|name| NOT_FINITE.iter().find(|t| t.0 == name));
        Ok(not_finite.map_or_else(|| Document::Str(value.to_string()), |(_, _, value)| Document::Float(*value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Document, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element()? {
            values.push(value);
        }
        Ok(Document::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut items: A) -> Result<Document, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = items.next_entry()? {
            entries.push(entry);
        }
        Ok(Document::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_of_xgboost_has_numbers_that_are_not_finite() {
        let text = r#"{"a":[NaN,-Infinity,1.5E0,Infinity],"NaN":"Infinity \" NaN"}"#;
        let read = Document::read(text.as_bytes()).unwrap();
        let values = read.get("a").and_then(Document::floats).unwrap();
        assert!(values[0].is_nan() && values[1..] == [f32::NEG_INFINITY, 1.5, f32::INFINITY], "{values:?}");
        assert_eq!(read.get("NaN").and_then(Document::str), Some("Infinity \" NaN"));
        assert_eq!(read.to_json(), text);
        assert!(Document::read(br#"{"a":NaNa}"#).is_err() && Document::read(br#"{"a":Infinit}"#).is_err());
    }
}
