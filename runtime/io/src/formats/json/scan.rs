//! Types of JSON objects without values: one pass over the bytes of a piece.
//!
//! The scan is sure or it gives up. It gives up at errors, at a field that an object has twice, at deep nesting and at
//! numbers beyond the range of a float. `serde_json` reads such a piece again and has the message.

use super::types::{Fields, Kind, Scalars};

/// Objects and lists in each other; `serde_json` refuses more than 128.
const DEEP: usize = 100;
/// Digits of an integer that is an `i64` for sure, and of one that is a finite float.
const INTEGER: usize = 18;
const FINITE: usize = 200;

/// The fields of all objects of a text; `None` if the scan gave up. With `LINES` there is one object in each line, and
/// none is longer.
pub(super) fn scan<const LINES: bool>(text: &[u8]) -> Option<Fields> {
    let mut fields = Fields::default();
    let mut scan = Scan::<LINES> { text, at: 0 };
    loop {
        while matches!(scan.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            scan.at += 1;
        }
        match scan.peek() {
            None => return Some(fields),
            Some(b'{') => scan.object(&mut fields, 0)?,
            Some(_) => return None,
        }
        scan.space();
        if LINES && !matches!(scan.peek(), None | Some(b'\n')) {
            return None;
        }
    }
}

struct Scan<'a, const LINES: bool> {
    text: &'a [u8],
    at: usize,
}

impl<const LINES: bool> Scan<'_, LINES> {
    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Skips the white space that can stand within an object.
    #[inline]
    fn space(&mut self) {
        while self.peek().is_some_and(|b| matches!(b, b' ' | b'\t' | b'\r') || (!LINES && b == b'\n')) {
            self.at += 1;
        }
    }

    /// Skips white space, takes one byte and returns it.
    #[inline]
    fn token(&mut self) -> Option<u8> {
        self.space();
        let token = self.peek()?;
        self.at += 1;
        Some(token)
    }

    fn object(&mut self, fields: &mut Fields, depth: usize) -> Option<()> {
        if depth >= DEEP {
            return None;
        }
        self.at += 1;
        fields.begin();
        let mut expected = 0;
        let mut token = self.token()?;
        if token == b'}' {
            return Some(());
        }
        loop {
            if token != b'"' {
                return None;
            }
            let position = match fields.expected(expected, &self.text[self.at..]) {
                Some(length) => {
                    self.at += length + 1;
                    expected
                }
                None => self.name(fields)?,
            };
            expected = position + 1;
            if self.token()? != b':' {
                return None;
            }
            self.space();
            self.value(fields.value(position)?, depth + 1)?;
            match self.token()? {
                b',' => token = self.token()?,
                b'}' => break,
                _ => return None,
            }
        }
        Some(())
    }

    /// The position of a field that does not come in the usual order.
    #[cold]
    fn name(&mut self, fields: &mut Fields) -> Option<usize> {
        let start = self.at;
        let escaped = self.string()?;
        let raw = &self.text[start..self.at - 1];
        match escaped {
            false => Some(fields.position(std::str::from_utf8(raw).ok()?)),
            true => {
                let name: String = serde_json::from_slice(&self.text[start - 1..self.at]).ok()?;
                Some(fields.position(&name))
            }
        }
    }

    #[inline]
    fn value(&mut self, kind: &mut Kind, depth: usize) -> Option<()> {
        let found = match self.peek()? {
            b'{' => return self.object(kind.object()?, depth),
            b'[' => return self.list(kind, depth),
            b'n' => return self.word(b"null"),
            _ => self.scalar()?,
        };
        kind.scalar(found).then_some(())
    }

    fn list(&mut self, kind: &mut Kind, depth: usize) -> Option<()> {
        if depth >= DEEP {
            return None;
        }
        self.at += 1;
        let inner = kind.list()?;
        self.space();
        let shape = |token| matches!(token, b'{' | b'[').then_some(token);
        let first = self.peek()?;
        if first == b']' {
            self.at += 1;
            return Some(());
        }
        loop {
            let next = self.peek()?;
            if shape(next) != shape(first) {
                return None;
            }
            if next == b'n' {
                self.word(b"null")?;
                inner.scalar(Scalars::NULL).then_some(())?;
            } else {
                self.value(inner, depth + 1)?;
            }
            match self.token()? {
                b',' => self.space(),
                b']' => return Some(()),
                _ => return None,
            }
        }
    }

    #[inline]
    fn scalar(&mut self) -> Option<Scalars> {
        match self.peek()? {
            b'"' => {
                self.at += 1;
                self.string()?;
                Some(Scalars::STRING)
            }
            b't' => self.word(b"true").map(|()| Scalars::BOOLEAN),
            b'f' => self.word(b"false").map(|()| Scalars::BOOLEAN),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        if !self.text[self.at..].starts_with(word) {
            return None;
        }
        self.at += word.len();
        Some(())
    }

    /// Skips the rest of a string with its closing quote. True if there are escapes in it.
    #[inline]
    fn string(&mut self) -> Option<bool> {
        let mut escaped = false;
        loop {
            self.at += plain(&self.text[self.at..]);
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(escaped);
                }
                b'\\' => {
                    escaped = true;
                    self.escape()?;
                }
                _ => return None,
            }
        }
    }

    fn escape(&mut self) -> Option<()> {
        let escape = *self.text.get(self.at + 1)?;
        self.at += 2;
        match escape {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(()),
            b'u' => match self.hex()? {
                // The second of two surrogates must follow the first, and never stands alone.
                0xd800..=0xdbff => {
                    self.word(b"\\u")?;
                    matches!(self.hex()?, 0xdc00..=0xdfff).then_some(())
                }
                0xdc00..=0xdfff => None,
                _ => Some(()),
            },
            _ => None,
        }
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |sum, digit| Some(sum * 16 + char::from(*digit).to_digit(16)?))
    }

    #[inline]
    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    #[inline]
    fn number(&mut self) -> Option<Scalars> {
        let start = self.at;
        let negative = self.peek() == Some(b'-');
        self.at += usize::from(negative);
        let zero = self.peek() == Some(b'0');
        let digits = self.digits();
        if digits == 0 || digits > FINITE || (zero && digits > 1) {
            return None;
        }
        let mut integer = true;
        if self.peek() == Some(b'.') {
            self.at += 1;
            integer = false;
            if self.digits() == 0 {
                return None;
            }
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            integer = false;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            let exponent = self.digits();
            let number = std::str::from_utf8(&self.text[start..self.at]).ok()?;
            if exponent == 0 || (exponent > 1 && !number.parse().is_ok_and(f64::is_finite)) {
                return None;
            }
        }
        if !integer || (negative && zero) {
            // Zero with a sign is a float.
            return Some(Scalars::FLOAT);
        }
        Some(match (digits, negative) {
            (..=INTEGER, false) => Scalars::INTEGER,
            (..=INTEGER, true) => Scalars::NEGATIVE,
            (_, negative) => {
                let number = std::str::from_utf8(&self.text[start..self.at]).ok()?;
                match (number.parse::<i64>().is_ok(), number.parse::<u64>().is_ok()) {
                    (true, _) if negative => Scalars::NEGATIVE,
                    (true, _) => Scalars::INTEGER,
                    (false, true) => Scalars::UNSIGNED,
                    (false, false) => Scalars::HUGE,
                }
            }
        })
    }
}

/// Bytes before the first quote, backslash or control character: eight at a time
/// ([Mycroft's test](https://graphics.stanford.edu/~seander/bithacks.html#HasLessInWord) for bytes less than a value).
#[inline]
fn plain(text: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    let mut at = 0;
    while let Some(eight) = text.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*eight);
        // The lowest bit that is set is right; a borrow can set higher ones.
        let below = |word: u64, least: u8| word.wrapping_sub(ONES * u64::from(least)) & !word;
        let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
        let found = (below(word, 0x20) | equal(b'"') | equal(b'\\')) & HIGH;
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let rest = &text[at..];
    at + rest.iter().position(|b| *b < 0x20 || *b == b'"' || *b == b'\\').unwrap_or(rest.len())
}
