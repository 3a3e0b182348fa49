//! Parses Rust literals as values. A malformed number such as `1stFlrSF` is a column name.

use onrush_wire::{DataType, Value};
use proc_macro2::Literal;

use crate::cursor::{Failure, Result};

#[derive(Debug, PartialEq)]
pub enum LiteralToken {
    Value(Value),
    /// A literal with a suffix: it has the type of the suffix in every expression.
    Typed(Value, DataType),
    /// `1stFlrSF`.
    Name(String),
}

pub fn parse(literal: &Literal) -> Result<LiteralToken> {
    let text = literal.to_string();
    let fail = |message: &str| Err(Failure::new(literal.span(), message));
    if text.starts_with('"') || text.starts_with('r') {
        return Ok(LiteralToken::Value(Value::Text(unquote(&text))));
    }
    if let Some(inner) = text.strip_prefix('\'') {
        let inner = unescape(inner.strip_suffix('\'').unwrap_or(inner));
        if inner.chars().count() > 1 {
            return Err(Failure::new(
                literal.span(),
                format!("strings are in double quotes in Rust\nhelp: write \"{inner}\""),
            ));
        }
        return Ok(LiteralToken::Value(Value::Text(inner)));
    }
    if text.starts_with('b') || text.starts_with('c') {
        return fail("byte and C strings cannot be values of a column\nhelp: write a string such as \"abc\"");
    }
    Ok(number(&text).unwrap_or(LiteralToken::Name(text)))
}

fn number(text: &str) -> Option<LiteralToken> {
    let digits = text.replace('_', "");
    for (radix, prefix) in [(16, "0x"), (8, "0o"), (2, "0b")] {
        if let Some(rest) = digits.strip_prefix(prefix) {
            return u64::from_str_radix(rest, radix).ok().map(|n| LiteralToken::Value(integer(n)));
        }
    }
    const SUFFIXES: [&str; 12] = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "usize", "isize"];
    let suffix = SUFFIXES.iter().find(|s| digits.ends_with(**s) && digits.len() > s.len());
    let plain = suffix.map_or(digits.as_str(), |s| &digits[..digits.len() - s.len()]);
    if !plain.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let value = match plain.parse::<u64>() {
        Ok(n) => integer(n),
        // Rust reads `1e400` as infinity and `nan` not at all. Only digits, a decimal point and an exponent get here.
        Err(_) => Value::Float(plain.parse::<f64>().ok()?),
    };
    let Some(suffix) = suffix else { return Some(LiteralToken::Value(value)) };
    let dtype: DataType = suffix.parse().ok()?;
    let value = match (&dtype, value) {
        (DataType::Float64, Value::Int(n)) => Value::Float(n as f64),
        (DataType::Float32, Value::Int(n)) => Value::Float32(n as f32),
        (DataType::Float32, Value::Float(n)) => Value::Float32(n as f32),
        (_, value) => value,
    };
    Some(LiteralToken::Typed(value, dtype))
}

fn integer(n: u64) -> Value {
    i64::try_from(n).map_or(Value::UInt(n), Value::Int)
}

/// The value of a string literal, escaped or raw.
fn unquote(text: &str) -> String {
    if let Some(raw) = text.strip_prefix('r') {
        let hashes = raw.bytes().take_while(|b| *b == b'#').count();
        let inner = &raw[hashes..raw.len() - hashes];
        return inner[1..inner.len() - 1].to_string();
    }
    unescape(text[1..].strip_suffix('"').unwrap_or(&text[1..]))
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('0') => out.push('\0'),
            Some('x') => {
                let code: String = chars.by_ref().take(2).collect();
                out.extend(u8::from_str_radix(&code, 16).ok().map(char::from));
            }
            Some('u') => {
                let code: String = chars.by_ref().skip(1).take_while(|c| *c != '}').filter(|c| *c != '_').collect();
                out.extend(u32::from_str_radix(&code, 16).ok().and_then(char::from_u32));
            }
            // A line continuation: the white space after the line break is not part of the string.
            Some('\n') => while chars.next_if(|c| c.is_whitespace()).is_some() {},
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: LiteralToken) {
        let literal: Literal = text.parse().unwrap();
        assert_eq!(parse(&literal).unwrap(), expect, "{text}");
    }

    #[test]
    fn literals_have_rusts_values() {
        check("42", LiteralToken::Value(Value::Int(42)));
        check("1_000", LiteralToken::Value(Value::Int(1000)));
        check("0xff", LiteralToken::Value(Value::Int(255)));
        check("18446744073709551615", LiteralToken::Value(Value::UInt(u64::MAX)));
        check("2.5e3", LiteralToken::Value(Value::Float(2500.0)));
        check("7u8", LiteralToken::Typed(Value::Int(7), DataType::UInt8));
        check("2f64", LiteralToken::Typed(Value::Float(2.0), DataType::Float64));
        check(r#""a\"b\n\u{e9}\x41""#, LiteralToken::Value(Value::Text("a\"b\né\x41".into())));
        check(r##"r#"a"\b"#"##, LiteralToken::Value(Value::Text("a\"\\b".into())));
        check("'U'", LiteralToken::Value(Value::Text("U".into())));
    }

    #[test]
    fn names_that_start_with_a_digit_are_columns() {
        check("1stFlrSF", LiteralToken::Name("1stFlrSF".into()));
        check("3SsnPorch", LiteralToken::Name("3SsnPorch".into()));
        check("2ndFlrSF", LiteralToken::Name("2ndFlrSF".into()));
    }
}
