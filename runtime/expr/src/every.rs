//! Calendar intervals such as `15m` or `1mo`: their syntax, and the start of the interval that holds a timestamp.
//!
//! `dt.truncate`, `dt.offset_by` and the time buckets of plots share them. Intervals start at the same points as in Polars.

use chrono::{DateTime, Datelike, NaiveDate};

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// What to write where a text is none.
pub const HELP: &str = "a time span is a number and a unit: `15m`, `1h`, `1d`, `1w`, `1mo`, `1q`, `1y`";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// Counted from 1970-01-01.
    Micros(i64),
    /// From Mondays, counted from 1970-01-05.
    Weeks(i64),
    /// Counted from 1970-01.
    Months(i64),
}

impl Every {
    /// `15m`, `1d`, `1mo`; also a word, as in SQL: `day`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let n: i64 = if digits == 0 { 1 } else { text[..digits].parse().ok()? };
        let micros = |per: i64| n.checked_mul(per).map(Every::Micros);
        let every = match &text[digits..] {
            "ns" if n % 1000 == 0 => Every::Micros(n / 1000),
            "us" | "microsecond" => Every::Micros(n),
            "ms" | "millisecond" => micros(1_000)?,
            "s" | "second" => micros(SECOND)?,
            "m" | "min" | "minute" => micros(MINUTE)?,
            "h" | "hour" => micros(HOUR)?,
            "d" | "day" => micros(DAY)?,
            "w" | "week" => Every::Weeks(n),
            "mo" | "month" => Every::Months(n),
            "q" | "quarter" => Every::Months(n.checked_mul(3)?),
            "y" | "year" => Every::Months(n.checked_mul(12)?),
            _ => return None,
        };
        let is_possible = match every {
            Every::Micros(n) => n > 0,
            Every::Weeks(n) | Every::Months(n) => (1..1_000_000).contains(&n),
        };
        is_possible.then_some(every)
    }

    /// Which one a moment lies in; `None` beyond the calendar.
    pub fn index(self, micros: i64) -> Option<i64> {
        Some(match self {
            Every::Micros(n) => micros.div_euclid(n),
            // 1970-01-01 was a Thursday.
            Every::Weeks(n) => (micros.div_euclid(DAY) - 4).div_euclid(7 * n),
            Every::Months(n) => {
                let time = DateTime::from_timestamp_micros(micros)?;
                ((i64::from(time.year()) - 1970) * 12 + i64::from(time.month0())).div_euclid(n)
            }
        })
    }

    /// Where one begins, in microseconds since 1970.
    pub fn start(self, index: i64) -> Option<i64> {
        match self {
            Every::Micros(n) => index.checked_mul(n),
            Every::Weeks(n) => index.checked_mul(7 * n)?.checked_add(4)?.checked_mul(DAY),
            Every::Months(n) => {
                let month = index.checked_mul(n)?.checked_add(1970 * 12)?;
                let year = i32::try_from(month.div_euclid(12)).ok()?;
                let date = NaiveDate::from_ymd_opt(year, month.rem_euclid(12) as u32 + 1, 1)?;
                Some(date.and_time(Default::default()).and_utc().timestamp_micros())
            }
        }
    }

    /// Where the one of a moment begins.
    pub fn truncate(self, micros: i64) -> Option<i64> {
        self.start(self.index(micros)?)
    }

    /// About how many seconds one is long.
    pub fn seconds(self) -> f64 {
        match self {
            Every::Micros(n) => n as f64 / 1e6,
            Every::Weeks(n) => n as f64 * 7.0 * 86_400.0,
            Every::Months(n) => n as f64 * 2_629_746.0,
        }
    }

    /// `15 minutes`, `hour`.
    pub fn words(self) -> String {
        let (count, unit) = match self {
            Every::Months(n) if n % 12 == 0 => (n / 12, "year"),
            Every::Months(3) => (1, "quarter"),
            Every::Months(n) => (n, "month"),
            Every::Weeks(n) => (n, "week"),
            Every::Micros(n) => {
                let units =
                    [(DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"), (SECOND, "second"), (1_000, "millisecond")];
                let unit = units.into_iter().find(|(one, _)| n % one == 0);
                unit.map_or((n, "microsecond"), |(one, name)| (n / one, name))
            }
        };
        if count == 1 { unit.to_string() } else { format!("{count} {unit}s") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written() {
        assert_eq!(Every::parse("15m"), Some(Every::Micros(15 * MINUTE)));
        assert_eq!((Every::parse("min"), Every::parse("day")), (Some(Every::Micros(MINUTE)), Some(Every::Micros(DAY))));
        assert_eq!((Every::parse("month"), Every::parse("2q")), (Some(Every::Months(1)), Some(Every::Months(6))));
        for wrong in ["0d", "h1", "fortnight", "", "-1d", "1ns", "9999999y", "999999999999999d"] {
            assert_eq!(Every::parse(wrong), None, "{wrong}");
        }
        let words =
            ["7d", "90m", "1500ms", "2w", "3mo", "18mo", "24mo"].map(|text| Every::parse(text).unwrap().words());
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
            let every = Every::parse(every).unwrap();
            assert_eq!(moments.map(|m| every.truncate(m).unwrap()), starts.map(at), "{every:?}");
        }
        assert_eq!(Every::Months(1).truncate(i64::MAX), None);
    }
}
