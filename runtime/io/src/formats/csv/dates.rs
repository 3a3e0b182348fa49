//! Dates and timestamps of CSV files: the orders of year, month and day that are recognised, and formats of the user.

use arrow::datatypes::{DataType, TimeUnit};
use chrono::format::{Fixed, Item, Numeric, Parsed, StrftimeItems};
use onrush_wire::{Class, Diagnostic};

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;
/// The most formats that can be told apart.
pub(super) const MOST: usize = 16;

/// The order of the parts of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// `2013-07-04`, `2013/7/4`.
    YearFirst,
    /// `04.07.2013`: points are between days and months only.
    Points,
    /// `04/07/2013`, `04-07-2013`.
    DayFirst,
    /// `07/04/2013`, `07-04-2013`.
    MonthFirst,
}

pub(super) const ORDERS: [Order; 4] = [Order::YearFirst, Order::Points, Order::DayFirst, Order::MonthFirst];

#[inline]
fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |n, c| c.is_ascii_digit().then(|| n * 10 + i64::from(c - b'0')))
}

/// Days since 1970-01-01 of a date with nothing behind it.
#[inline]
pub(super) fn date(value: &[u8], order: Order) -> Option<i32> {
    match date_at_start(value, order)? {
        (day, []) => Some(day),
        _ => None,
    }
}

/// The day, and what follows the date.
#[inline]
pub(super) fn date_at_start(value: &[u8], order: Order) -> Option<(i32, &[u8])> {
    if order == Order::YearFirst
        && let [y3, y2, y1, y0, b'-', m1, m0, b'-', d1, d0, rest @ ..] = value
        && !rest.first().is_some_and(u8::is_ascii_digit)
    {
        let day = days(number(&[*y3, *y2, *y1, *y0])?, number(&[*m1, *m0])?, number(&[*d1, *d0])?)?;
        return Some((day, rest));
    }
    free_date(value, order)
}

/// With one or two digits for days and months, and other separators.
fn free_date(value: &[u8], order: Order) -> Option<(i32, &[u8])> {
    let (first, rest) = digits(value)?;
    let (separator, rest) = rest.split_first()?;
    let fits = match order {
        Order::Points => *separator == b'.',
        _ => matches!(separator, b'-' | b'/'),
    };
    let (second, rest) = digits(rest)?;
    let (again, rest) = rest.split_first()?;
    let (third, rest) = digits(rest)?;
    let (year, month, day) = match order {
        Order::YearFirst => (first, second, third),
        Order::Points | Order::DayFirst => (third, second, first),
        Order::MonthFirst => (third, first, second),
    };
    if !fits || again != separator || year.len() != 4 || month.len() > 2 || day.len() > 2 {
        return None;
    }
    Some((days(number(year)?, number(month)?, number(day)?)?, rest))
}

fn digits(value: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = value.iter().take(5).take_while(|c| c.is_ascii_digit()).count();
    (1..=4).contains(&length).then(|| value.split_at(length))
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

/// Microseconds since 1970 of a date, `T` or a blank, and `HH:MM[:SS[.fraction]][Z|±HH[:MM]]`, and whether there was a
/// zone (then they are in UTC). Digits after the sixth of the fraction are dropped.
#[inline]
#[cfg(test)]
pub(super) fn timestamp(value: &[u8], order: Order) -> Option<(i64, bool)> {
    let (day, rest) = date_at_start(value, order)?;
    time_of_day(day, rest)
}

/// The timestamp of a day and of what follows the date.
pub(super) fn time_of_day(day: i32, rest: &[u8]) -> Option<(i64, bool)> {
    let [b'T' | b't' | b' ', rest @ ..] = rest else { return None };
    let (hour, rest) = match rest {
        [h1, h0, b':', rest @ ..] => (number(&[*h1, *h0])?, rest),
        // Hours have two digits in ISO 8601; spreadsheets write one.
        [h0, b':', rest @ ..] => (number(&[*h0])?, rest),
        _ => return None,
    };
    let [m1, m0, rest @ ..] = rest else { return None };
    let minute = number(&[*m1, *m0])?;
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

/// The type of the values of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Date,
    Timestamp,
    /// A timestamp with an offset from UTC.
    Instant,
}

impl Shape {
    pub fn data_type(self) -> DataType {
        match self {
            Shape::Date => DataType::Date32,
            Shape::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            Shape::Instant => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        }
    }
}

/// A format of the user in the notation of `strftime`.
#[derive(Clone, Debug)]
pub(super) struct Format {
    items: Vec<Item<'static>>,
    pub shape: Shape,
}

impl Format {
    /// # Errors
    /// A directive that does not exist, a format without a date.
    pub fn new(text: &str) -> Result<Format, Diagnostic> {
        let bad = |what: &str| {
            Diagnostic::error(Class::Plan, "bad-option", format!("the date format `{text}` {what}"))
                .help("use a format such as \"%d.%m.%Y\" or \"%m/%d/%Y %H:%M\"")
        };
        let items =
            StrftimeItems::new(text).parse_to_owned().map_err(|_| bad("has a directive that does not exist"))?;
        let has = |numeric: &[Numeric]| items.iter().any(|i| matches!(i, Item::Numeric(n, _) if numeric.contains(n)));
        let is_fixed = |test: fn(&Fixed) -> bool| items.iter().any(|i| matches!(i, Item::Fixed(f) if test(f)));
        let is_stamp = has(&[Numeric::Timestamp]);
        let has_month = has(&[Numeric::Month, Numeric::Ordinal])
            || is_fixed(|f| {
                matches!(f, Fixed::ShortMonthName | Fixed::LongMonthName | Fixed::RFC2822 | Fixed::RFC3339)
            });
        if !has_month && !is_stamp {
            return Err(bad("has no day and month"));
        }
        let is_instant = is_stamp
            || is_fixed(|f| {
                // Some of the offsets are private variants.
                matches!(f, Fixed::RFC2822 | Fixed::RFC3339) || format!("{f:?}").contains("TimezoneOffset")
            });
        let shape = match () {
            () if is_instant => Shape::Instant,
            () if has(&[Numeric::Hour, Numeric::Hour12]) => Shape::Timestamp,
            () => Shape::Date,
        };
        Ok(Format { items, shape })
    }

    /// Microseconds since 1970. `None` for a value of another format.
    pub fn parse(&self, value: &str) -> Option<i64> {
        let mut parsed = Parsed::new();
        chrono::format::parse(&mut parsed, value, self.items.iter()).ok()?;
        match self.shape {
            Shape::Date => Some(parsed.to_naive_date().ok()?.and_hms_opt(0, 0, 0)?.and_utc().timestamp_micros()),
            Shape::Timestamp => {
                // Minutes that the format lacks are zero.
                if parsed.minute().is_none() {
                    parsed.set_minute(0).ok()?;
                }
                Some(parsed.to_naive_datetime_with_offset(0).ok()?.and_utc().timestamp_micros())
            }
            Shape::Instant => match parsed.timestamp() {
                Some(seconds) if parsed.offset().is_none() => seconds.checked_mul(1_000_000),
                _ => Some(parsed.to_datetime().ok()?.timestamp_micros()),
            },
        }
    }

    pub fn parse_day(&self, value: &str) -> Option<i32> {
        i32::try_from(self.parse(value)?.div_euclid(DAY)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values: Python's `datetime`.
    #[test]
    fn dates_and_instants() {
        let date = |value: &str| super::date(value.as_bytes(), Order::YearFirst);
        let timestamp = |value: &str| super::timestamp(value.as_bytes(), Order::YearFirst);
        assert_eq!(date("1970-01-01"), Some(0));
        assert_eq!((date("2013-07-04"), date("2013/07/04"), date("2013-7-4")), (Some(15890), Some(15890), Some(15890)));
        assert_eq!(date("1899-12-31"), Some(-25568));
        assert_eq!(
            (date("2013-07/04"), date("13-07-04"), date("2013-07-041"), date("2013-13-01")),
            (None, None, None, None)
        );
        assert_eq!(timestamp("2013-07-04T12:34:56.789Z"), Some((1_372_941_296_789_000, true)));
        assert_eq!(timestamp("2013-07-04 12:34:56+02:00"), Some((1_372_934_096_000_000, true)));
        assert_eq!(timestamp("2013/07/04 12:34:56+02:00"), Some((1_372_934_096_000_000, true)));
        assert_eq!(timestamp("1969-12-31 23:59"), Some((-60_000_000, false)));
        assert_eq!(timestamp("2013-07-04T24:00:00"), None);
        assert_eq!(super::date(b"04.07.2013", Order::Points), Some(15890));
        assert_eq!(super::date(b"04.07.2013", Order::DayFirst), None);
        assert_eq!(super::date(b"4/7/2013", Order::DayFirst), Some(15890));
        assert_eq!(super::date(b"7/4/2013", Order::MonthFirst), Some(15890));
        assert_eq!(super::date(b"13/4/2013", Order::MonthFirst), None);
    }

    /// Expected values: Python's `datetime.strptime`.
    #[test]
    fn formats_of_the_user() {
        let parse = |format: &str, value: &str| Format::new(format).unwrap().parse(value);
        assert_eq!(Format::new("%d.%m.%y").unwrap().parse_day("04.07.13"), Some(15890));
        assert_eq!(parse("%m/%d/%Y %H:%M", "07/04/2013 12:34"), Some(1_372_941_240_000_000));
        assert_eq!(parse("%d %b %Y %I:%M:%S %p", "04 Jul 2013 12:34:56 PM"), Some(1_372_941_296_000_000));
        assert_eq!(parse("%Y-%m-%dT%H:%M:%S%.f%z", "2013-07-04T12:34:56.789+0200"), Some(1_372_934_096_789_000));
        assert_eq!(parse("%Y%m%d %H", "20130704 12"), Some(1_372_939_200_000_000));
        assert_eq!(parse("%s", "1372941296"), Some(1_372_941_296_000_000));
        assert_eq!(parse("%d.%m.%Y", "31.02.2013"), None);
        assert_eq!(Format::new("%d.%m.%Y").unwrap().shape, Shape::Date);
        assert_eq!(Format::new("%c %z").unwrap().shape, Shape::Instant);
        for bad in ["%Q", "%H:%M", "x", ""] {
            assert_eq!(Format::new(bad).unwrap_err().code, "bad-option", "{bad}");
        }
    }
}
