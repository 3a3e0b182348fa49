//! Small grammars inside of lines: fields of CSV, Python dicts of simple values, words with quotes.

use std::borrow::Cow;

use crate::error::{ErrorKind, Fault, shown};
use crate::tables::Value;

/// The fields of a line. Quotes are as in RFC 4180, but do not span lines.
pub(crate) fn csv_fields<'a>(line: &'a str, separator: char, fields: &mut Vec<Cow<'a, str>>) -> Result<(), Fault> {
    let mut rest = line;
    loop {
        let trimmed = rest.trim_start_matches([' ', '\t']);
        if let (true, Some(quoted)) = (separator != '\t' || rest.starts_with('"'), trimmed.strip_prefix('"')) {
            let mut field = String::new();
            let mut open = quoted;
            let after = loop {
                let Some(at) = open.find('"') else {
                    let message = format!("the quote before {} is never closed", shown(quoted));
                    return Err(Fault::new(ErrorKind::File, message).help("close the quote in the same line"));
                };
                field.push_str(&open[..at]);
                open = &open[at + 1..];
                match open.strip_prefix('"') {
                    Some(more) => {
                        field.push('"');
                        open = more;
                    }
                    None => break open.trim_start_matches(' '),
                }
            };
            fields.push(Cow::Owned(field));
            match after.strip_prefix(separator) {
                Some(more) => rest = more,
                None if after.is_empty() => return Ok(()),
                None => {
                    let message = format!("found {} after a closing quote, expected a separator", shown(after));
                    return Err(Fault::new(ErrorKind::File, message).help("double the quotes inside of a field"));
                }
            }
            continue;
        }
        let (field, more) = match rest.split_once(separator) {
            Some((field, more)) => (field, Some(more)),
            None => (rest, None),
        };
        fields.push(Cow::Borrowed(field.trim()));
        match more {
            Some(more) => rest = more,
            None => return Ok(()),
        }
    }
}

/// Words of a line separated by spaces; a word in double quotes may have spaces.
pub(crate) fn words(line: &str) -> Result<Vec<&str>, Fault> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let end;
        if let Some(quoted) = rest.strip_prefix('"') {
            let Some(at) = quoted.find('"') else {
                let message = format!("the quote before {} is never closed", shown(quoted));
                return Err(Fault::new(ErrorKind::File, message).help("close the quote in the same line"));
            };
            words.push(&quoted[..at]);
            end = at + 2;
        } else {
            end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            words.push(&rest[..end]);
        }
        rest = rest[end..].trim_start();
    }
    Ok(words)
}

/// The entries of a Python dict: names, and numbers, strings, `True`, `False` or `None`.
pub(crate) struct PythonDict<'a> {
    rest: &'a str,
    has_failed: bool,
}

impl<'a> PythonDict<'a> {
    /// The text from the opening brace on.
    pub fn of(text: &'a str) -> Self {
        PythonDict { rest: text.strip_prefix('{').unwrap_or(text).trim_start(), has_failed: false }
    }

    fn entry(&mut self) -> Result<(String, Option<Value>), Fault> {
        let name = match self.value()? {
            Some(Value::Str(name)) => name,
            Some(Value::Int(name)) => name.to_string(),
            _ => return Err(self.expected("a name in quotes")),
        };
        self.rest = self.rest.strip_prefix(':').ok_or_else(|| self.expected("a colon"))?.trim_start();
        let value = self.value()?;
        self.rest = match self.rest.strip_prefix(',') {
            Some(rest) => rest.trim_start(),
            None if self.rest == "}" => self.rest,
            None => return Err(self.expected("a comma or a closing brace")),
        };
        Ok((name, value))
    }

    fn value(&mut self) -> Result<Option<Value>, Fault> {
        if let Some(quote) = self.rest.chars().next().filter(|c| matches!(c, '\'' | '"')) {
            return self.string(quote).map(|value| Some(Value::Str(value)));
        }
        let end = self.rest.find([',', ':', '}']).unwrap_or(self.rest.len());
        let word = self.rest[..end].trim_end();
        let value = match word {
            "True" => Some(Value::Bool(true)),
            "False" => Some(Value::Bool(false)),
            "None" => None,
            _ => match Value::guessed(word) {
                Value::Str(_) => {
                    let expected = "a number, a string in quotes, `True`, `False` or `None`";
                    return Err(self.expected(expected));
                }
                value => Some(value),
            },
        };
        self.rest = self.rest[end..].trim_start();
        Ok(value)
    }

    fn string(&mut self, quote: char) -> Result<String, Fault> {
        let mut value = String::new();
        let mut chars = self.rest[1..].chars();
        while let Some(c) = chars.next() {
            if c == quote {
                self.rest = chars.as_str().trim_start();
                return Ok(value);
            }
            if c != '\\' {
                value.push(c);
                continue;
            }
            let escaped = match chars.next() {
                Some('n') => Some('\n'),
                Some('t') => Some('\t'),
                Some('r') => Some('\r'),
                Some(c @ ('\\' | '\'' | '"')) => Some(c),
                Some(letter @ ('x' | 'u' | 'U')) => {
                    let digits = match letter {
                        'x' => 2,
                        'u' => 4,
                        _ => 8,
                    };
                    let code = chars.as_str().get(..digits);
                    chars = chars.as_str().get(digits..).unwrap_or_default().chars();
                    code.and_then(|code| u32::from_str_radix(code, 16).ok()).and_then(char::from_u32)
                }
                _ => None,
            };
            value.push(escaped.ok_or_else(|| self.expected("an escape sequence of Python"))?);
        }
        Err(self.expected("a closing quote"))
    }

    fn expected(&self, expected: &str) -> Fault {
        Fault::new(ErrorKind::File, format!("found {}, expected {expected}", shown(self.rest)))
            .help("attributes are a Python dict of simple values, such as `{'weight': 2.5}`")
    }
}

impl Iterator for PythonDict<'_> {
    type Item = Result<(String, Option<Value>), Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed || self.rest == "}" {
            return None;
        }
        let entry = self.entry();
        self.has_failed = entry.is_err();
        Some(entry)
    }
}
