//! Calendar intervals such as `15m` or `1mo`: their syntax, and the start of the interval that holds a timestamp.
//!
//! `dt.truncate`, `dt.offset_by` and the time buckets of plots share them. Intervals start at the same points as in
//! Polars.

use chrono::{DateTime, Datelike, NaiveDate};

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The help for a text that is not an interval.
pub const HELP: &str =
    "a time span is a number and a unit: `15m`, `1h`, `1d`, `1w`, `1mo`, `1q`, `1y`, or several of them: `1d12h`";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalendarInterval {
    /// Counted from 1970-01-01.
    Micros(i64),
    /// From Mondays, counted from 1970-01-05.
    Weeks(i64),
    /// Counted from 1970-01.
    Months(i64),
}

impl CalendarInterval {
    /// `15m`, `1d`, `1mo`; also a word, as in SQL: `day`. Several of one kind are added: `1d12h`, `1y6mo`.
    pub fn parse(text: &str) -> Option<Self> {
        CalendarInterval::one(text).or_else(|| {
            let span = TimeSpan::parse(text)?;
            match (span.months, span.fixed_nanos()) {
                (0, nanos) if nanos % 1_000 == 0 => {
                    CalendarInterval::possible(CalendarInterval::Micros(i64::try_from(nanos / 1_000).ok()?))
                }
                (months, 0) => CalendarInterval::possible(CalendarInterval::Months(months)),
                _ => None,
            }
        })
    }

    fn possible(self) -> Option<Self> {
        let is_possible = match self {
            CalendarInterval::Micros(n) => n > 0,
            CalendarInterval::Weeks(n) | CalendarInterval::Months(n) => (1..1_000_000).contains(&n),
        };
        is_possible.then_some(self)
    }

    fn one(text: &str) -> Option<Self> {
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let n: i64 = if digits == 0 { 1 } else { text[..digits].parse().ok()? };
        let micros = |per: i64| n.checked_mul(per).map(CalendarInterval::Micros);
        let every = match &text[digits..] {
            "ns" if n % 1000 == 0 => CalendarInterval::Micros(n / 1000),
            "us" | "microsecond" => CalendarInterval::Micros(n),
            "ms" | "millisecond" => micros(1_000)?,
            "s" | "second" => micros(SECOND)?,
            "m" | "min" | "minute" => micros(MINUTE)?,
            "h" | "hour" => micros(HOUR)?,
            "d" | "day" => micros(DAY)?,
            "w" | "week" => CalendarInterval::Weeks(n),
            "mo" | "month" => CalendarInterval::Months(n),
            "q" | "quarter" => CalendarInterval::Months(n.checked_mul(3)?),
            "y" | "year" => CalendarInterval::Months(n.checked_mul(12)?),
            _ => return None,
        };
        every.possible()
    }

    /// The number of the interval that a moment lies in; `None` beyond the calendar.
    pub fn index(self, micros: i64) -> Option<i64> {
        Some(match self {
            CalendarInterval::Micros(n) => micros.div_euclid(n),
            // 1970-01-01 was a Thursday.
            CalendarInterval::Weeks(n) => (micros.div_euclid(DAY) - 4).div_euclid(7 * n),
            CalendarInterval::Months(n) => {
                let time = DateTime::from_timestamp_micros(micros)?;
                ((i64::from(time.year()) - 1970) * 12 + i64::from(time.month0())).div_euclid(n)
            }
        })
    }

    /// The start of an interval by its number, in microseconds since 1970.
    pub fn start(self, index: i64) -> Option<i64> {
        match self {
            CalendarInterval::Micros(n) => index.checked_mul(n),
            CalendarInterval::Weeks(n) => index.checked_mul(7 * n)?.checked_add(4)?.checked_mul(DAY),
            CalendarInterval::Months(n) => {
                let month = index.checked_mul(n)?.checked_add(1970 * 12)?;
                let year = i32::try_from(month.div_euclid(12)).ok()?;
                let date = NaiveDate::from_ymd_opt(year, month.rem_euclid(12) as u32 + 1, 1)?;
                Some(date.and_time(Default::default()).and_utc().timestamp_micros())
            }
        }
    }

    /// The start of the interval of a moment.
    pub fn truncate(self, micros: i64) -> Option<i64> {
        self.start(self.index(micros)?)
    }

    /// About how many seconds one is long.
    pub fn seconds(self) -> f64 {
        match self {
            CalendarInterval::Micros(n) => n as f64 / 1e6,
            CalendarInterval::Weeks(n) => n as f64 * 7.0 * 86_400.0,
            CalendarInterval::Months(n) => n as f64 * 2_629_746.0,
        }
    }

    /// `15 minutes`, `hour`.
    pub fn words(self) -> String {
        let (count, unit) = match self {
            CalendarInterval::Months(n) if n % 12 == 0 => (n / 12, "year"),
            CalendarInterval::Months(3) => (1, "quarter"),
            CalendarInterval::Months(n) => (n, "month"),
            CalendarInterval::Weeks(n) => (n, "week"),
            CalendarInterval::Micros(n) => {
                let units =
                    [(DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"), (SECOND, "second"), (1_000, "millisecond")];
                let unit = units.into_iter().find(|(one, _)| n % one == 0);
                unit.map_or((n, "microsecond"), |(one, name)| (n / one, name))
            }
        };
        if count == 1 { unit.to_string() } else { format!("{count} {unit}s") }
    }
}

/// A length of time of several units, as Polars writes it: `1d12h`, `-1mo2d`, `500ns`. All parts have one sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSpan {
    pub months: i64,
    /// Days of a calendar: those of a time zone may have 23 hours.
    pub days: i64,
    pub nanos: i64,
}

impl TimeSpan {
    /// `None` if the text is not a span, or does not fit. A word alone is one of it: `day`.
    pub fn parse(text: &str) -> Option<TimeSpan> {
        let (sign, mut rest) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
        let mut span = TimeSpan::default();
        if rest.is_empty() {
            return None;
        }
        let is_word = rest.chars().all(|c| c.is_ascii_alphabetic());
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit())?;
            let n = if is_word { sign } else { sign * rest[..digits].parse::<i64>().ok()? };
            rest = &rest[digits..];
            let (unit, after) = rest.split_at(rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len()));
            rest = after;
            let (part, per) = match unit {
                "ns" => (&mut span.nanos, 1),
                "us" | "microsecond" => (&mut span.nanos, 1_000),
                "ms" | "millisecond" => (&mut span.nanos, 1_000_000),
                "s" | "second" => (&mut span.nanos, 1_000 * SECOND),
                "m" | "min" | "minute" => (&mut span.nanos, 1_000 * MINUTE),
                "h" | "hour" => (&mut span.nanos, 1_000 * HOUR),
                "d" | "day" => (&mut span.days, 1),
                "w" | "week" => (&mut span.days, 7),
                "mo" | "month" => (&mut span.months, 1),
                "q" | "quarter" => (&mut span.months, 3),
                "y" | "year" => (&mut span.months, 12),
                _ => return None,
            };
            *part = part.checked_add(n.checked_mul(per)?)?;
        }
        Some(span)
    }

    /// Two spans that are one after the other this one: that of the calendar, and that of a clock.
    pub fn parts(&self) -> (String, String) {
        let sign = if self.months < 0 || self.days < 0 || self.nanos < 0 { "-" } else { "" };
        let days = format!("{sign}{}mo{}d", self.months.unsigned_abs(), self.days.unsigned_abs());
        (days, format!("{sign}{}ns", self.nanos.unsigned_abs()))
    }

    /// Days of 24 hours and what is smaller.
    pub fn fixed_nanos(&self) -> i128 {
        i128::from(self.days) * i128::from(DAY) * 1_000 + i128::from(self.nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand; Polars 2.1 adds the parts in the same way.
    #[test]
    fn spans_of_several_units_are_added() {
        assert_eq!(CalendarInterval::parse("1d12h"), Some(CalendarInterval::Micros(36 * HOUR)));
        assert_eq!(CalendarInterval::parse("1y6mo"), Some(CalendarInterval::Months(18)));
        assert_eq!(CalendarInterval::parse("1w12h"), Some(CalendarInterval::Micros(7 * DAY + 12 * HOUR)));
        assert_eq!(
            (CalendarInterval::parse("1mo2d"), CalendarInterval::parse("500ns"), CalendarInterval::parse("1d12")),
            (None, None, None)
        );
        let span = |months, days, nanos| Some(TimeSpan { months, days, nanos });
        assert_eq!(TimeSpan::parse("-1mo2d3h"), span(-1, -2, -3_000 * HOUR));
        assert_eq!((TimeSpan::parse("500ns"), TimeSpan::parse("1w1d")), (span(0, 0, 500), span(0, 8, 0)));
        assert_eq!(
            (TimeSpan::parse(""), TimeSpan::parse("-"), TimeSpan::parse("hour")),
            (None, None, span(0, 0, 1_000 * HOUR))
        );
    }

    #[test]
    fn what_is_written() {
        assert_eq!(CalendarInterval::parse("15m"), Some(CalendarInterval::Micros(15 * MINUTE)));
        assert_eq!(
            (CalendarInterval::parse("min"), CalendarInterval::parse("day")),
            (Some(CalendarInterval::Micros(MINUTE)), Some(CalendarInterval::Micros(DAY)))
        );
        assert_eq!(
            (CalendarInterval::parse("month"), CalendarInterval::parse("2q")),
            (Some(CalendarInterval::Months(1)), Some(CalendarInterval::Months(6)))
        );
        for wrong in ["0d", "h1", "fortnight", "", "-1d", "1ns", "9999999y", "999999999999999d"] {
            assert_eq!(CalendarInterval::parse(wrong), None, "{wrong}");
        }
        let words = ["7d", "90m", "1500ms", "2w", "3mo", "18mo", "24mo"]
            .map(|text| CalendarInterval::parse(text).unwrap().words());
        let expected = ["7 days", "90 minutes", "1500 milliseconds", "2 weeks", "quarter", "18 months", "2 years"];
        assert_eq!(words, expected);
    }

    /// `polars.Series([...]).dt.truncate(every)`, Polars 2.1.
    #[test]
    fn stretches_begin_where_those_of_polars_do() {
        let at = |text: &str| text.parse::<DateTime<chrono::Utc>>().unwrap().timestamp_micros();
        let moments = [at("2013-09-18T14:47:31Z"), at("1969-12-31T23:59:59.5Z"), 0];
        for (every, starts) in [
            ("15m", ["2013-09-18T14:45:00Z", "1969-12-31T23:45:00Z", "1970-01-01T00:00:00Z"]),
            ("6h", ["2013-09-18T12:00:00Z", "1969-12-31T18:00:00Z", "1970-01-01T00:00:00Z"]),
            ("1d", ["2013-09-18T00:00:00Z", "1969-12-31T00:00:00Z", "1970-01-01T00:00:00Z"]),
            ("7d", ["2013-09-12T00:00:00Z", "1969-12-25T00:00:00Z", "1970-01-01T00:00:00Z"]),
            ("1w", ["2013-09-16T00:00:00Z", "1969-12-29T00:00:00Z", "1969-12-29T00:00:00Z"]),
            ("2w", ["2013-09-16T00:00:00Z", "1969-12-22T00:00:00Z", "1969-12-22T00:00:00Z"]),
            ("3w", ["2013-09-16T00:00:00Z", "1969-12-15T00:00:00Z", "1969-12-15T00:00:00Z"]),
            ("1mo", ["2013-09-01T00:00:00Z", "1969-12-01T00:00:00Z", "1970-01-01T00:00:00Z"]),
            ("5mo", ["2013-05-01T00:00:00Z", "1969-08-01T00:00:00Z", "1970-01-01T00:00:00Z"]),
            ("1q", ["2013-07-01T00:00:00Z", "1969-10-01T00:00:00Z", "1970-01-01T00:00:00Z"]),
            ("3q", ["2013-07-01T00:00:00Z", "1969-04-01T00:00:00Z", "1970-01-01T00:00:00Z"]),
            ("1y", ["2013-01-01T00:00:00Z", "1969-01-01T00:00:00Z", "1970-01-01T00:00:00Z"]),
            ("3y", ["2012-01-01T00:00:00Z", "1967-01-01T00:00:00Z", "1970-01-01T00:00:00Z"]),
            ("250ms", ["2013-09-18T14:47:31Z", "1969-12-31T23:59:59.5Z", "1970-01-01T00:00:00Z"]),
        ] {
            let every = CalendarInterval::parse(every).unwrap();
            assert_eq!(moments.map(|m| every.truncate(m).unwrap()), starts.map(at), "{every:?}");
        }
        assert_eq!(CalendarInterval::Months(1).truncate(i64::MAX), None);
    }
}
