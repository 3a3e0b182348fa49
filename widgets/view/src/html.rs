//! HTML escaping, and visible forms of invisible characters. No layout.

use std::fmt::Write as _;

/// Text for an element's content or a quoted attribute.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Not allowed in XML and of no use in HTML.
            c if c.is_control() && !matches!(c, '\n' | '\t') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// `12.3 MB`: decimal units, three digits.
pub fn bytes(n: u64) -> String {
    let mut value = n as f64;
    if n < 1000 {
        return format!("{n} B");
    }
    let mut unit = "B";
    for next in ["kB", "MB", "GB", "TB", "PB", "EB"] {
        // 999.5 would be written as 1000.
        if value < 999.5 {
            break;
        }
        value /= 1000.0;
        unit = next;
    }
    if value < 9.995 {
        format!("{value:.2} {unit}")
    } else if value < 99.95 {
        format!("{value:.1} {unit}")
    } else {
        format!("{value:.0} {unit}")
    }
}

/// The visible form of a character that is invisible, or would disturb the text around it.
pub fn visible(c: char) -> Option<String> {
    Some(match c {
        '\n' => "↵".to_string(),
        '\r' => "␍".to_string(),
        '\t' => "⇥".to_string(),
        // Directional overrides can falsify a table; zero-width characters hide differences.
        c if c.is_control()
            || matches!(c, '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}' | '\u{2066}'..='\u{2069}' | '\u{feff}') =>
        {
            let mut out = String::new();
            let _ = write!(out, "\\u{{{:x}}}", c as u32);
            out
        }
        _ => return None,
    })
}

/// Whether the text has right-to-left characters.
pub fn has_right_to_left(text: &str) -> bool {
    text.chars().any(|c| {
        matches!(c, '\u{0590}'..='\u{08ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_three_digits() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1000), "1.00 kB");
        assert_eq!(bytes(12_345_678), "12.3 MB");
        assert_eq!(bytes(999_600), "1.00 MB");
        assert_eq!(bytes(u64::MAX), "18.4 EB");
    }

    #[test]
    fn markup_is_escaped() {
        assert_eq!(escape("<a href=\"x\" b='y'>&\u{0}"), "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;\u{fffd}");
    }
}
