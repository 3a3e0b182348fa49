//! Axis formats: the part of d3-format that axes use (`,.1f`, `.0%`, `~s`, `+d`, `$,.2f`), and strftime for times
//! (`%b %Y`). Vega takes the same format strings, so that picture and interactive form agree.

use std::fmt::Write as _;

use chrono::DateTime;
use chrono::format::{Item, StrftimeItems};
use onrush_wire::format_integer::grouped;
use onrush_wire::plot::AxisScale;

/// Whether a format fits an axis of this kind.
pub fn is_valid(format: &str, kind: AxisScale) -> bool {
    match kind {
        AxisScale::Number => Number::parse(format).is_some(),
        AxisScale::Time => !StrftimeItems::new(format).any(|item| matches!(item, Item::Error)),
        AxisScale::Category => false,
    }
}

/// A formatted value; `None` if the format is not valid.
pub fn text(format: &str, kind: AxisScale, value: f64) -> Option<String> {
    match kind {
        AxisScale::Number => Some(Number::parse(format)?.text(value)),
        AxisScale::Time if is_valid(format, kind) => {
            let time = DateTime::from_timestamp(value.floor() as i64, 0)?;
            let mut out = String::new();
            write!(out, "{}", time.format(format)).ok()?;
            Some(out)
        }
        _ => None,
    }
}

struct Number {
    plus: bool,
    currency: bool,
    comma: bool,
    precision: Option<usize>,
    trim: bool,
    kind: char,
}

impl Number {
    /// `[+][$][,][.precision][~][type]`
    fn parse(format: &str) -> Option<Self> {
        let mut rest = format;
        let mut take = |c: char| {
            let there = rest.starts_with(c);
            if there {
                rest = &rest[c.len_utf8()..];
            }
            there
        };
        let (plus, currency, comma, point) = (take('+'), take('$'), take(','), take('.'));
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let precision = if point { Some(rest[..digits].parse::<usize>().ok().filter(|p| *p <= 20)?) } else { None };
        rest = if point { &rest[digits..] } else { rest };
        let trim = rest.starts_with('~');
        rest = rest.trim_start_matches('~');
        let mut letters = rest.chars();
        let kind = letters.next().unwrap_or(' ');
        (letters.next().is_none() && " feds%grp".contains(kind)).then_some(Number {
            plus,
            currency,
            comma,
            precision,
            trim,
            kind,
        })
    }

    fn text(&self, value: f64) -> String {
        let size = value.abs();
        let significant = |digits: usize, value: f64| -> String {
            let power = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
            let rounded: f64 = format!("{:.*e}", digits.max(1) - 1, value).parse().unwrap_or(value);
            format!("{rounded:.*}", (digits as i32 - 1 - power).clamp(0, 20) as usize)
        };
        let (text, suffix) = match self.kind {
            'd' => (format!("{size:.0}"), String::new()),
            'f' => (format!("{size:.*}", self.precision.unwrap_or(6)), String::new()),
            '%' => (format!("{:.*}", self.precision.unwrap_or(6), size * 100.0), "%".to_string()),
            'p' => (significant(self.precision.unwrap_or(6), size * 100.0), "%".to_string()),
            'e' => {
                let text = format!("{size:.*e}", self.precision.unwrap_or(6));
                let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
                let sign = if power.starts_with('-') { "" } else { "+" };
                (mantissa.to_string(), format!("e{sign}{}", power.replace('-', "−")))
            }
            's' => {
                const UNITS: [&str; 17] =
                    ["y", "z", "a", "f", "p", "n", "µ", "m", "", "k", "M", "G", "T", "P", "E", "Z", "Y"];
                let power = if size == 0.0 { 0 } else { (size.log10() / 3.0).floor() as i32 }.clamp(-8, 8);
                (
                    significant(self.precision.unwrap_or(6), size / 1e3f64.powi(power)),
                    UNITS[(power + 8) as usize].into(),
                )
            }
            _ => (significant(self.precision.unwrap_or(6), size), String::new()),
        };
        let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
        let part =
            if self.trim || (self.kind == ' ' && self.precision.is_none()) { part.trim_end_matches('0') } else { part };
        let whole = match whole.parse::<u64>() {
            Ok(number) if self.comma => grouped(number, '\u{202f}'),
            _ => whole.to_string(),
        };
        let is_zero = !whole.chars().chain(part.chars()).any(|c| c.is_ascii_digit() && c != '0');
        let sign = match value < 0.0 && !is_zero {
            true => "−",
            false if self.plus => "+",
            false => "",
        };
        let point = if part.is_empty() { "" } else { "." };
        let currency = if self.currency { "$" } else { "" };
        format!("{sign}{currency}{whole}{point}{part}{suffix}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_d3_writes_them() {
        // d3-format 3.1, but for the thin space that groups digits here.
        for (format, value, expected) in [
            (",.1f", 12345.67, "12\u{202f}345.7"),
            (".0%", 0.256, "26%"),
            ("~s", 1_500_000.0, "1.5M"),
            (".2s", 0.0042, "4.2m"),
            ("+d", 42.0, "+42"),
            ("$,.2f", -1234.5, "−$1\u{202f}234.50"),
            (".2e", 12345.0, "1.23e+4"),
            (".3r", 123_456.0, "123000"),
            ("", 0.25, "0.25"),
            (".1f", -0.01, "0.0"),
        ] {
            assert_eq!(text(format, AxisScale::Number, value).as_deref(), Some(expected), "{format}");
        }
        for wrong in ["%Q", ".f", "x", ",.2ff", "%b"] {
            assert!(!is_valid(wrong, AxisScale::Number), "{wrong}");
        }
    }

    #[test]
    fn times_are_written_by_strftime() {
        assert_eq!(text("%b %Y", AxisScale::Time, 1_356_998_400.0).as_deref(), Some("Jan 2013"));
        assert!(!is_valid("%!", AxisScale::Time) && text("%!", AxisScale::Time, 0.0).is_none());
    }
}
