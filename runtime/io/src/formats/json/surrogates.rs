//! Escapes of characters beyond U+FFFF, such as `\ud83d\ude00`, written as the characters. The decoder of arrow 59 gets
//! every second 65,536 of them wrong: it combines the halves with `|` where a sum is needed
//! (`char_from_surrogate_pair`).

use std::borrow::Cow;

/// The text of a JSON file, checked before, with each pair of surrogates as its character.
pub(super) fn decoded(text: &[u8]) -> Cow<'_, [u8]> {
    let pairs = memchr::memmem::find_iter(text, b"\\u").any(|at| matches!(text.get(at + 2), Some(b'd' | b'D')));
    if !pairs {
        return Cow::Borrowed(text);
    }
    let mut made = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        made.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        match pair(rest) {
            Some(letter) => {
                made.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                rest = &rest[PAIR..];
            }
            // The letter after a backslash may be a backslash.
            None => {
                let (escape, behind) = rest.split_at(rest.len().min(2));
                made.extend_from_slice(escape);
                rest = behind;
            }
        }
    }
    made.extend_from_slice(rest);
    Cow::Owned(made)
}

/// Bytes of the two escapes.
const PAIR: usize = 12;

/// The character whose two escapes a text starts with.
fn pair(text: &[u8]) -> Option<char> {
    let half = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    char::decode_utf16([half(0)?, half(6)?]).next()?.ok().filter(|letter| u32::from(*letter) > 0xffff)
}

#[cfg(test)]
mod tests {
    use super::decoded;

    /// Expected values: Python's `json`.
    #[test]
    fn pairs_are_characters() {
        let is = |text: &str, expected: &str| assert_eq!(decoded(text.as_bytes()), expected.as_bytes(), "{text}");
        is(r#"{"a": "\ud83d\ude00"}"#, "{\"a\": \"\u{1f600}\"}");
        is(r#"["\uDBFF\uDFFF", "\ud840\udc00"]"#, "[\"\u{10ffff}\", \"\u{20000}\"]");
        // A backslash before the escape; one half; a character below U+10000.
        for text in [r#"["\\ud83d\\ude00"]"#, r#"["\ud83d"]"#, r#"["\ud7ff\ude00"]"#, r#"["é\u00e9\n"]"#, "[\"\\"] {
            is(text, text);
        }
    }
}
