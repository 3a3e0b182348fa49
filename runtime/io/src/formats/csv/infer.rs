//! Infers the type of a column of strings: every value narrows the set of types. Whole files are read, so the type
//! holds for every row.

use std::borrow::Cow;

use arrow::datatypes::{DataType, TimeUnit};

use super::dates::{self, Format, ORDERS, Order, Shape};

/// A set of types that all values seen so far could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds(u32);

/// The notation of dates in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DateForm {
    /// A type that the user gave: each order without doubt, and each format.
    Any,
    Order(Order),
    /// The position in [`Notation::formats`].
    Format(usize),
}

/// The notation of numbers and dates in a file.
#[derive(Clone, Debug)]
pub(super) struct Notation {
    pub decimal: u8,
    pub thousands: Option<u8>,
    pub parse_dates: bool,
    pub formats: Vec<Format>,
    /// A decimal point, nothing between digits, and no formats.
    pub is_plain: bool,
}

impl Notation {
    pub fn new(decimal: u8, thousands: Option<u8>, parse_dates: bool, formats: Vec<Format>) -> Notation {
        let is_plain = decimal == b'.' && thousands.is_none() && formats.is_empty();
        Notation { decimal, thousands, parse_dates, formats, is_plain }
    }

    /// A number with a decimal point and without separators. `None` if the separators are not where they belong.
    #[inline]
    pub fn number<'a>(&self, value: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        match self.is_plain {
            true => Some(Cow::Borrowed(value)),
            false => self.plain_number(value).map(Cow::Owned),
        }
    }

    #[cold]
    fn plain_number(&self, value: &[u8]) -> Option<Vec<u8>> {
        let point = memchr::memchr(self.decimal, value);
        let (whole, fraction) = value.split_at(point.unwrap_or(value.len()));
        // A point that is no decimal point is not a part of a number.
        if self.decimal != b'.' && (fraction.contains(&b'.') || (self.thousands != Some(b'.') && whole.contains(&b'.')))
        {
            return None;
        }
        let mut plain = Vec::with_capacity(value.len());
        match self.thousands {
            Some(separator) if whole.contains(&separator) => {
                let sign = usize::from(matches!(whole, [b'-' | b'+', ..]));
                plain.extend_from_slice(&whole[..sign]);
                let groups: Vec<&[u8]> = whole[sign..].split(|c| *c == separator).collect();
                let last = groups.len() - 1;
                let fits = |(i, group): (usize, &&[u8])| match i {
                    0 => (1..=3).contains(&group.len()),
                    // In India groups before the last have two digits.
                    i if i < last => (2..=3).contains(&group.len()),
                    _ => group.len() == 3,
                };
                if !groups.iter().enumerate().all(fits) {
                    return None;
                }
                groups.iter().for_each(|group| plain.extend_from_slice(group));
            }
            _ => plain.extend_from_slice(whole),
        }
        if let Some((_, digits)) = fraction.split_first() {
            plain.push(b'.');
            plain.extend_from_slice(digits);
        }
        Some(plain)
    }
}

impl Kinds {
    pub const BOOLEAN: Kinds = Kinds(1);
    pub const INTEGER: Kinds = Kinds(2);
    pub const FLOAT: Kinds = Kinds(4);
    pub const INSTANT: Kinds = Kinds(8);
    /// Before the first value.
    pub const ANY: Kinds = Kinds(u32::MAX);
    /// Nothing but text fits.
    pub const TEXT: Kinds = Kinds(0);

    const fn date(order: usize) -> Kinds {
        Kinds(16 << order)
    }

    const fn timestamp(order: usize) -> Kinds {
        Kinds(256 << order)
    }

    const fn format(index: usize) -> Kinds {
        Kinds((1 << 16) << index)
    }

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
    pub fn data_type(self, notation: &Notation) -> (DataType, DateForm) {
        let plain = |dtype| (dtype, DateForm::Any);
        if self == Kinds::ANY {
            return plain(DataType::Utf8View);
        }
        // Formats of the user come before those that are recognised: `20130704` is an integer, too.
        if let Some(i) = (0..notation.formats.len()).find(|i| self.has(Kinds::format(*i))) {
            return (notation.formats[i].shape.data_type(), DateForm::Format(i));
        }
        if self.has(Kinds::BOOLEAN) {
            return plain(DataType::Boolean);
        } else if self.has(Kinds::INTEGER) {
            return plain(DataType::Int64);
        } else if self.has(Kinds::FLOAT) {
            return plain(DataType::Float64);
        }
        if notation.parse_dates {
            if self.has(Kinds::INSTANT) {
                return (Shape::Instant.data_type(), DateForm::Order(Order::YearFirst));
            }
            for (kind, shape) in
                [(Kinds::date as fn(usize) -> Kinds, Shape::Date), (Kinds::timestamp, Shape::Timestamp)]
            {
                if let Some(order) = self.order(kind) {
                    return (shape.data_type(), DateForm::Order(order));
                }
            }
        }
        plain(DataType::Utf8View)
    }

    /// The order of all dates, if it is the only one.
    fn order(self, kind: fn(usize) -> Kinds) -> Option<Order> {
        let has = |order: Order| self.has(kind(order as usize));
        if let Some(order) = [Order::YearFirst, Order::Points].into_iter().find(|order| has(*order)) {
            return Some(order);
        }
        // No day beyond the twelfth says which is which; and Polars takes no month for the first part.
        (has(Order::DayFirst) && !has(Order::MonthFirst)).then_some(Order::DayFirst)
    }
}

/// The types that one value could have. Digits behind a leading zero (zip codes) or a plus sign (phone numbers) and
/// integers beyond 64 bits (which a float would round) are text.
#[inline]
pub(super) fn kinds(value: &[u8], notation: &Notation) -> Kinds {
    if notation.is_plain { plain_kinds(value) } else { noted_kinds(value, notation) }
}

#[inline]
fn plain_kinds(value: &[u8]) -> Kinds {
    let Some(first) = value.first() else { return Kinds::TEXT };
    match first {
        b'0'..=b'9' | b'-' | b'+' | b'.' => {
            let number = number_kinds(value);
            if number == Kinds::TEXT { date_kinds(value) } else { number }
        }
        b't' | b'T' | b'f' | b'F' if boolean(value).is_some() => Kinds::BOOLEAN,
        b'n' | b'N' | b'i' | b'I' if float(value).is_some() => Kinds::FLOAT,
        _ => Kinds::TEXT,
    }
}

#[inline]
fn number_kinds(value: &[u8]) -> Kinds {
    if integer(value).is_some() {
        Kinds::INTEGER.or(Kinds::FLOAT)
    } else if float(value).is_some() {
        Kinds::FLOAT
    } else {
        Kinds::TEXT
    }
}

fn date_kinds(value: &[u8]) -> Kinds {
    let mut kinds = Kinds::TEXT;
    if !value[0].is_ascii_digit() {
        return kinds;
    }
    for order in ORDERS {
        let number = order as usize;
        let Some((day, rest)) = dates::date_at_start(value, order) else { continue };
        kinds = kinds.or(match rest {
            [] => Kinds::date(number).or(Kinds::timestamp(number)),
            rest => match dates::time_of_day(day, rest) {
                Some((_, false)) => Kinds::timestamp(number),
                Some((_, true)) if order == Order::YearFirst => Kinds::INSTANT,
                _ => Kinds::TEXT,
            },
        });
        // A year is first or it is not.
        if order == Order::YearFirst && kinds != Kinds::TEXT {
            break;
        }
    }
    kinds
}

fn noted_kinds(value: &[u8], notation: &Notation) -> Kinds {
    let mut kinds = match notation.number(value) {
        Some(number) => plain_kinds(&number).and(Kinds::BOOLEAN.or(Kinds::INTEGER).or(Kinds::FLOAT)),
        None => Kinds::TEXT,
    };
    if kinds == Kinds::TEXT && value.first().is_some_and(u8::is_ascii_digit) {
        kinds = date_kinds(value);
    }
    if let (false, Ok(text)) = (notation.formats.is_empty(), std::str::from_utf8(value)) {
        for (i, format) in notation.formats.iter().enumerate() {
            if format.parse(text).is_some() {
                kinds = kinds.or(Kinds::format(i));
            }
        }
    }
    kinds
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

/// As [`integer`], with leading zeros and a plus sign: for columns whose type the user gave.
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
            let longest = if value[0] == b'+' { 0 } else { 18 };
            if has_leading_zero(digits) || digits.iter().all(u8::is_ascii_digit) && digits.len() > longest {
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

/// Days since 1970 of a value of a date column.
#[inline]
pub(super) fn date(value: &[u8], form: DateForm, formats: &[Format]) -> Option<i32> {
    match form {
        DateForm::Order(order) => dates::date(value, order),
        DateForm::Format(i) => formats.get(i)?.parse_day(std::str::from_utf8(value).ok()?),
        DateForm::Any => {
            let text = std::str::from_utf8(value).ok()?;
            let dates = formats.iter().filter(|f| f.shape == Shape::Date);
            dates.clone().find_map(|f| f.parse_day(text)).or_else(|| {
                let sure = [Order::YearFirst, Order::Points];
                sure.into_iter().find_map(|order| dates::date(value, order))
            })
        }
    }
}

/// Microseconds since 1970 of a value of a timestamp column.
#[inline]
pub(super) fn timestamp(value: &[u8], form: DateForm, formats: &[Format]) -> Option<i64> {
    let ordered = |order| match dates::date_at_start(value, order)? {
        (day, []) => Some(i64::from(day) * 86_400_000_000),
        (day, rest) => dates::time_of_day(day, rest).map(|t| t.0),
    };
    match form {
        DateForm::Order(order) => ordered(order),
        DateForm::Format(i) => formats.get(i)?.parse(std::str::from_utf8(value).ok()?),
        DateForm::Any => {
            let text = std::str::from_utf8(value).ok()?;
            let sure = || [Order::YearFirst, Order::Points].into_iter().find_map(ordered);
            formats.iter().find_map(|f| f.parse(text)).or_else(sure)
        }
    }
}

/// The type of timestamps that dates of this column have. For [`super::build`].
pub(super) fn is_plain_timestamp(dtype: &DataType) -> bool {
    matches!(dtype, DataType::Timestamp(TimeUnit::Microsecond, zone) if zone.as_deref().is_none_or(|z| z == "UTC"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> Notation {
        Notation::new(b'.', None, true, Vec::new())
    }

    fn noted(values: &[&str], notation: &Notation) -> DataType {
        values.iter().fold(Kinds::ANY, |k, v| k.and(kinds(v.as_bytes(), notation))).data_type(notation).0
    }

    fn column(values: &[&str]) -> DataType {
        noted(values, &plain())
    }

    const NAIVE: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

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
        assert_eq!(column(&["2013-01-01", "2013-01-01 05:00", "2013-01-01T05:00:00.25"]), NAIVE);
        let utc = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        assert_eq!(column(&["2013-01-01T10:00:00Z", "2013-01-01T10:00:00-05:00"]), utc);
        assert_eq!(column(&["2013-01-01T10:00:00Z", "2013-01-01T10:00:00"]), DataType::Utf8View);
        assert_eq!(column(&[]), DataType::Utf8View);
        assert_eq!(column(&["nantes", "inf"]), DataType::Utf8View);
    }

    /// As Polars and DuckDB do; DuckDB alone takes `12/31/2023`, and both take `01/02/2023` for the first of February.
    #[test]
    fn phone_numbers_and_dates_of_other_orders() {
        assert_eq!(column(&["+15551234567", "+442071234567"]), DataType::Utf8View);
        assert_eq!(column(&["+1.5", "-2.5"]), DataType::Float64);
        assert_eq!(column(&["2012/01/01", "2012/1/2", "2012-01-03"]), DataType::Date32);
        assert_eq!(column(&["2012/01/01 10:00", "2012/01/02 9:30:01"]), NAIVE);
        assert_eq!(column(&["01.02.2024", "31.12.2023"]), DataType::Date32);
        assert_eq!(column(&["1.2.2024 10:00"]), NAIVE);
        assert_eq!(column(&["01/02/2024", "31/12/2023"]), DataType::Date32);
        assert_eq!(column(&["01-02-2024", "31-12-2023"]), DataType::Date32);
        assert_eq!(column(&["01/02/2024", "03/04/2023"]), DataType::Utf8View);
        assert_eq!(column(&["01/02/2024", "12/31/2023"]), DataType::Utf8View);
        assert_eq!(column(&["13/12/2024", "12/31/2023"]), DataType::Utf8View);
        assert_eq!(column(&["2024.01.02", "1.2.3", "10.0.0.1"]), DataType::Utf8View);
    }

    #[test]
    fn notations_of_numbers() {
        let german = Notation::new(b',', Some(b'.'), true, Vec::new());
        assert_eq!(noted(&["1,5", "-10,25", "1.234.567,5", "7"], &german), DataType::Float64);
        assert_eq!(noted(&["1.234", "-12.345.678", "7"], &german), DataType::Int64);
        assert_eq!(noted(&["1.23"], &german), DataType::Utf8View);
        assert_eq!(noted(&["31.12.2023"], &german), DataType::Date32);
        let comma = Notation::new(b',', None, true, Vec::new());
        assert_eq!(noted(&["1,5", "2"], &comma), DataType::Float64);
        assert_eq!(noted(&["1.5", "2"], &comma), DataType::Utf8View);
        let english = Notation::new(b'.', Some(b','), true, Vec::new());
        assert_eq!(noted(&["1,234.5", "12"], &english), DataType::Float64);
        assert_eq!(noted(&["12,34,567"], &english), DataType::Int64);
        for bad in ["1,23", ",123", "1234,567", "1,,234"] {
            assert_eq!(noted(&[bad], &english), DataType::Utf8View, "{bad}");
        }
        let format = |f: &str| Notation::new(b'.', None, true, vec![Format::new(f).unwrap()]);
        assert_eq!(noted(&["12/31/2023", "1/2/2024"], &format("%m/%d/%Y")), DataType::Date32);
        assert_eq!(noted(&["20231231"], &format("%Y%m%d")), DataType::Date32);
        assert_eq!(noted(&["20231231", "20231232"], &format("%Y%m%d")), DataType::Int64);
        assert_eq!(noted(&["12/31/2023 10:00"], &format("%m/%d/%Y %H:%M")), NAIVE);
    }
}
