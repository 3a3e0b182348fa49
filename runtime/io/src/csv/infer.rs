//! Infers the type of a column of strings: every value narrows the set of types. Whole files are read, so the type holds for every row.

use arrow::datatypes::{DataType, TimeUnit};

/// A set of types that all values seen so far could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub const BOOLEAN: Kinds = Kinds(1);
    pub const INTEGER: Kinds = Kinds(2);
    pub const FLOAT: Kinds = Kinds(4);
    pub const DATE: Kinds = Kinds(8);
    pub const TIMESTAMP: Kinds = Kinds(16);
    pub const INSTANT: Kinds = Kinds(32);
    /// Before the first value.
    pub const ANY: Kinds = Kinds(63);
    /// Nothing but text fits.
    pub const TEXT: Kinds = Kinds(0);

    pub fn and(self, other: Kinds) -> Kinds {
        Kinds(self.0 & other.0)
    }

    fn or(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    pub fn has(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }

    /// The most special type left. A column without values is text.
    pub fn data_type(self, parse_dates: bool) -> DataType {
        if self == Kinds::ANY {
            DataType::Utf8View
        } else if self.has(Kinds::BOOLEAN) {
            DataType::Boolean
        } else if self.has(Kinds::INTEGER) {
            DataType::Int64
        } else if self.has(Kinds::FLOAT) {
            DataType::Float64
        } else if parse_dates && self.has(Kinds::DATE) {
            DataType::Date32
        } else if parse_dates && self.has(Kinds::TIMESTAMP) {
            DataType::Timestamp(TimeUnit::Microsecond, None)
        } else if parse_dates && self.has(Kinds::INSTANT) {
            DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
        } else {
            DataType::Utf8View
        }
    }
}

/// The types that one value could have. Digits behind a leading zero (zip codes, phone numbers) and integers beyond 64 bits
/// (which a float would round) are text.
#[inline]
pub(super) fn kinds(value: &[u8]) -> Kinds {
    let Some(first) = value.first() else { return Kinds::TEXT };
    match first {
        b'0'..=b'9' | b'-' | b'+' | b'.' => {
            if integer(value).is_some() {
                return Kinds::INTEGER.or(Kinds::FLOAT);
            }
            if float(value).is_some() {
                return Kinds::FLOAT;
            }
            if date(value).is_some() {
                return Kinds::DATE.or(Kinds::TIMESTAMP);
            }
            match timestamp(value) {
                Some((_, false)) => Kinds::TIMESTAMP,
                Some((_, true)) => Kinds::INSTANT,
                None => Kinds::TEXT,
            }
        }
        b't' | b'T' | b'f' | b'F' if boolean(value).is_some() => Kinds::BOOLEAN,
        b'n' | b'N' | b'i' | b'I' if float(value).is_some() => Kinds::FLOAT,
        _ => Kinds::TEXT,
    }
}

pub(super) fn boolean(value: &[u8]) -> Option<bool> {
    match value {
        b"true" | b"True" | b"TRUE" => Some(true),
        b"false" | b"False" | b"FALSE" => Some(false),
        _ => None,
    }
}

/// True if digits follow a leading zero: `007`, `-01.5`, but not `0.5`.
fn has_leading_zero(digits: &[u8]) -> bool {
    matches!(digits, [b'0', b'0'..=b'9', ..])
}

#[inline]
pub(super) fn integer(value: &[u8]) -> Option<i64> {
    let (negative, digits) = match value {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, value),
    };
    if digits.is_empty() || digits.len() > 19 || has_leading_zero(digits) {
        return None;
    }
    let mut number: u64 = 0;
    for c in digits {
        if !c.is_ascii_digit() {
            return None;
        }
        // 19 digits fit into 64 bits without sign.
        number = number * 10 + u64::from(c - b'0');
    }
    if negative { 0i64.checked_sub_unsigned(number) } else { i64::try_from(number).ok() }
}

/// As [`integer`], with leading zeros: for columns whose type the user gave.
pub(super) fn any_integer(value: &[u8]) -> Option<i64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

pub(super) fn float(value: &[u8]) -> Option<f64> {
    let digits = match value {
        [b'-' | b'+', rest @ ..] => rest,
        _ => value,
    };
    match digits.first()? {
        b'0'..=b'9' | b'.' => {
            if has_leading_zero(digits) || digits.iter().all(u8::is_ascii_digit) && digits.len() > 18 {
                return None;
            }
            std::str::from_utf8(value).ok()?.parse().ok()
        }
        b'n' | b'N' | b'i' | b'I' => match digits {
            b"nan" | b"NaN" | b"inf" | b"Inf" | b"Infinity" | b"infinity" => {
                std::str::from_utf8(value).ok()?.parse().ok()
            }
            _ => None,
        },
        _ => None,
    }
}

/// As [`float`], for columns whose type the user gave: any number of digits and leading zeros.
pub(super) fn any_float(value: &[u8]) -> Option<f64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |n, c| c.is_ascii_digit().then(|| n * 10 + i64::from(c - b'0')))
}

/// Days since 1970-01-01 of `YYYY-MM-DD`.
pub(super) fn date(value: &[u8]) -> Option<i32> {
    let [y @ .., b'-', m1, m0, b'-', d1, d0] = value else { return None };
    if y.len() != 4 {
        return None;
    }
    days(number(y)?, number(&[*m1, *m0])?, number(&[*d1, *d0])?)
}

/// The civil calendar by Howard Hinnant's `days_from_civil`.
fn days(year: i64, month: i64, day: i64) -> Option<i32> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return None,
    };
    if day < 1 || day > length {
        return None;
    }
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let of_era = y.rem_euclid(400);
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    i32::try_from(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468).ok()
}

/// Microseconds since 1970 of `YYYY-MM-DD[T ]HH:MM[:SS[.fraction]][Z|±HH[:MM]]`, and whether it had a zone (then it is in
/// UTC). Digits after the sixth of the fraction are dropped.
pub(super) fn timestamp(value: &[u8]) -> Option<(i64, bool)> {
    let day = date(value.get(..10)?)?;
    let (b'T' | b't' | b' ', rest) = (value.get(10)?, value.get(11..)?) else { return None };
    let [h1, h0, b':', m1, m0, rest @ ..] = rest else { return None };
    let (hour, minute) = (number(&[*h1, *h0])?, number(&[*m1, *m0])?);
    let (second, rest) = match rest {
        [b':', s1, s0, rest @ ..] => (number(&[*s1, *s0])?, rest),
        rest => (0, rest),
    };
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let (micros, rest) = match rest {
        [b'.' | b',', rest @ ..] => {
            let length = rest.iter().take_while(|c| c.is_ascii_digit()).count();
            if length == 0 || length > 9 {
                return None;
            }
            let used = length.min(6);
            (number(&rest[..used])? * 10i64.pow(6 - used as u32), &rest[length..])
        }
        rest => (0, rest),
    };
    let offset = match rest {
        [] => None,
        [b'Z' | b'z'] => Some(0),
        [sign @ (b'+' | b'-'), zone @ ..] => {
            let minutes = match zone {
                [h1, h0] => number(&[*h1, *h0])? * 60,
                [h1, h0, m1, m0] | [h1, h0, b':', m1, m0] => number(&[*h1, *h0])? * 60 + number(&[*m1, *m0])?,
                _ => return None,
            };
            if minutes > 18 * 60 {
                return None;
            }
            Some(if *sign == b'-' { -minutes } else { minutes })
        }
        _ => return None,
    };
    let seconds = i64::from(day) * 86_400 + hour * 3600 + minute * 60 + second - offset.unwrap_or(0) * 60;
    Some((seconds * 1_000_000 + micros, offset.is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(values: &[&str]) -> DataType {
        values.iter().fold(Kinds::ANY, |k, v| k.and(kinds(v.as_bytes()))).data_type(true)
    }

    #[test]
    fn the_narrowest_type_that_holds_all() {
        assert_eq!(column(&["1", "-2", "9223372036854775807", "-9223372036854775808"]), DataType::Int64);
        assert_eq!(column(&["1", "2.5", "1e-3", "NaN", "-inf", ".5", "5."]), DataType::Float64);
        assert_eq!(column(&["true", "FALSE"]), DataType::Boolean);
        assert_eq!(column(&["true", "1"]), DataType::Utf8View);
        assert_eq!(column(&["01234", "20001"]), DataType::Utf8View);
        assert_eq!(column(&["0", "0.5", "-0.25"]), DataType::Float64);
        assert_eq!(column(&["12345678901234567890"]), DataType::Utf8View);
        assert_eq!(column(&["2013-01-01", "2012-02-29"]), DataType::Date32);
        assert_eq!(column(&["2013-02-29"]), DataType::Utf8View);
        let naive = DataType::Timestamp(TimeUnit::Microsecond, None);
        assert_eq!(column(&["2013-01-01", "2013-01-01 05:00", "2013-01-01T05:00:00.25"]), naive);
        let utc = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        assert_eq!(column(&["2013-01-01T10:00:00Z", "2013-01-01T10:00:00-05:00"]), utc);
        assert_eq!(column(&["2013-01-01T10:00:00Z", "2013-01-01T10:00:00"]), DataType::Utf8View);
        assert_eq!(column(&[]), DataType::Utf8View);
        assert_eq!(column(&["nantes", "inf"]), DataType::Utf8View);
    }

    /// Expected values: Python's `datetime`.
    #[test]
    fn dates_and_instants() {
        assert_eq!(date(b"1970-01-01"), Some(0));
        assert_eq!(date(b"2013-07-04"), Some(15890));
        assert_eq!(date(b"1899-12-31"), Some(-25568));
        assert_eq!(timestamp(b"2013-07-04T12:34:56.789Z"), Some((1_372_941_296_789_000, true)));
        assert_eq!(timestamp(b"2013-07-04 12:34:56+02:00"), Some((1_372_934_096_000_000, true)));
        assert_eq!(timestamp(b"1969-12-31 23:59"), Some((-60_000_000, false)));
        assert_eq!(timestamp(b"2013-07-04T24:00:00"), None);
    }
}
