//! `strptime` with the specifiers of DuckDB, which reads each number with or without leading zeros and takes dates from
//! weeks, too.
//!
//! A format with other specifiers is not read here: `datetime.rs` leaves it to chrono.

use arrow::array::timezone::Tz;
use chrono::{Datelike, Days, NaiveDate};

use super::{SECOND, micros_of, utc};

/// A piece of a format.
enum Piece {
    Literal(u8),
    /// A run of blanks, which any run of blanks matches.
    Blanks,
    Field(u8),
}

/// A format that is parsed once for all rows.
pub struct Format(Vec<Piece>);

/// The part of a string that decides on the date. Months and days come first, whatever else is there.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    Default,
    Year,
    MonthOrDay,
    /// Weeks of `%U` (0, they begin on Sunday) or `%W` (1, on Monday).
    Week(u8),
    Iso,
    DayOfYear,
}

struct Fields {
    source: Source,
    year: i32,
    month: u32,
    day: u32,
    day_of_year: u32,
    week: u32,
    weekday: Option<u32>,
    iso: (i32, u32, u32),
    hour: u32,
    minute: u32,
    second: u32,
    nanosecond: u32,
    is_afternoon: Option<bool>,
    /// Seconds ahead of UTC.
    offset: Option<i64>,
    zone: Option<Tz>,
}

impl Default for Fields {
    fn default() -> Self {
        Fields {
            source: Source::Default,
            year: 1900,
            month: 1,
            day: 1,
            day_of_year: 1,
            week: 0,
            weekday: None,
            iso: (1900, 1, 1),
            hour: 0,
            minute: 0,
            second: 0,
            nanosecond: 0,
            is_afternoon: None,
            offset: None,
            zone: None,
        }
    }
}

impl Format {
    /// `None` if the format is empty or has a specifier that DuckDB does not have.
    pub fn parse(format: &str) -> Option<Format> {
        let format = format.replace("%c", "%Y-%m-%d %H:%M:%S").replace("%x", "%Y-%m-%d").replace("%X", "%H:%M:%S");
        let mut pieces = Vec::new();
        let mut bytes = format.bytes().peekable();
        while let Some(byte) = bytes.next() {
            pieces.push(match byte {
                b'%' => match bytes.next()? {
                    b'%' => Piece::Literal(b'%'),
                    b'-' => Piece::Field(bytes.next().filter(|field| b"dmyHIMSjUW".contains(field))?),
                    field if b"aAbBdfgGHIjmMnpSuUVwWyYzZ".contains(&field) => Piece::Field(field),
                    _ => return None,
                },
                blank if blank.is_ascii_whitespace() => {
                    while bytes.next_if(u8::is_ascii_whitespace).is_some() {}
                    Piece::Blanks
                }
                other => Piece::Literal(other),
            });
        }
        (!pieces.is_empty()).then_some(Format(pieces))
    }

    /// Microseconds since 1970, in UTC if the string has an offset or a zone. `None` if the string is not in the
    /// format.
    pub fn read(&self, text: &str) -> Option<i64> {
        let mut fields = Fields::default();
        let mut rest = text.trim_ascii_start().as_bytes();
        for piece in &self.0 {
            match piece {
                Piece::Literal(byte) => rest = rest.strip_prefix(&[*byte])?,
                Piece::Blanks => {
                    rest.first().filter(|byte| byte.is_ascii_whitespace())?;
                    rest = rest.trim_ascii_start();
                }
                Piece::Field(field) => rest = fields.take(*field, rest)?,
            }
        }
        rest.trim_ascii_end().is_empty().then(|| fields.micros()).flatten()
    }
}

/// The most digits of a field of numbers.
fn width(field: u8) -> usize {
    match field {
        b'Y' | b'G' => 4,
        b'j' | b'g' => 3,
        b'f' => 6,
        b'n' => 9,
        b'w' | b'u' => 1,
        _ => 2,
    }
}

/// The index of the name that a string begins with, in any case, and the rest.
fn named<'a>(names: &[&str], rest: &'a [u8]) -> Option<(u32, &'a [u8])> {
    let starts = |name: &&str| rest.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name.as_bytes()));
    let at = names.iter().position(starts)?;
    Some((at as u32, &rest[names[at].len()..]))
}

const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

impl Fields {
    /// Reads one field and gives the rest of the string.
    fn take<'a>(&mut self, field: u8, rest: &'a [u8]) -> Option<&'a [u8]> {
        match field {
            b'a' => Some(named(&DAYS.map(|day| &day[..3]), rest)?.1),
            b'A' => Some(named(&DAYS, rest)?.1),
            b'b' | b'B' => {
                let short = MONTHS.map(|month| &month[..3]);
                let (at, rest) = named(if field == b'b' { &short } else { &MONTHS }, rest)?;
                self.month = at + 1;
                self.source = Source::MonthOrDay;
                Some(rest)
            }
            b'p' => {
                let (at, rest) = named(&["am", "pm"], rest)?;
                self.is_afternoon = Some(at == 1);
                Some(rest)
            }
            b'z' => self.take_offset(rest),
            b'Z' => self.take_zone(rest.trim_ascii_start()),
            _ => {
                let digits = rest.iter().take(width(field)).take_while(|byte| byte.is_ascii_digit()).count();
                let (number, rest) = rest.split_at(digits);
                let value = std::str::from_utf8(number).ok()?.parse().ok()?;
                self.number(field, value, digits)?;
                Some(rest)
            }
        }
    }

    /// `None` if the number is outside of its field's range, or if two fields name different days of a year.
    fn number(&mut self, field: u8, value: u32, digits: usize) -> Option<()> {
        let within = |least: u32, most: u32| (least..=most).contains(&value).then_some(value);
        match field {
            b'd' => (self.day, self.source) = (within(1, 31)?, Source::MonthOrDay),
            b'm' => (self.month, self.source) = (within(1, 12)?, Source::MonthOrDay),
            b'Y' | b'y' => {
                // Python's and C's turn of the century.
                let century = if field == b'Y' { 0 } else { 1900 + 100 * u32::from(value < 69) };
                self.year = (value + century) as i32;
                if matches!(self.source, Source::Default | Source::Iso) {
                    self.source = Source::Year;
                }
            }
            b'H' => self.hour = within(0, 23)?,
            b'I' => self.hour = within(1, 12)?,
            b'M' => self.minute = within(0, 59)?,
            b'S' => self.second = within(0, 59)?,
            b'f' | b'g' | b'n' => self.nanosecond = value * 10_u32.pow(9 - digits as u32),
            b'j' => {
                self.day_of_year = within(1, 366)?;
                self.claim(Source::DayOfYear, &[Source::Default, Source::Year])?;
            }
            b'U' | b'W' => {
                self.week = within(0, 53)?;
                self.claim(Source::Week(u8::from(field == b'W')), &[Source::Default, Source::Year])?;
            }
            b'V' => {
                self.iso.1 = within(1, 53)?;
                self.claim(Source::Iso, &[Source::Default, Source::Iso])?;
            }
            b'G' => {
                self.iso.0 = value as i32;
                if self.source != Source::Year {
                    self.claim(Source::Iso, &[Source::Default, Source::Iso])?;
                }
            }
            b'w' => self.weekday = Some(within(0, 6)?),
            _ => self.iso.2 = within(1, 7)?,
        }
        Some(())
    }

    /// Takes the date from `source` if only sources that go with it came before. Months and days keep the date.
    fn claim(&mut self, source: Source, after: &[Source]) -> Option<()> {
        if self.source == Source::MonthOrDay {
            return Some(());
        }
        after.contains(&self.source).then(|| self.source = source)
    }

    /// `+02`, `+0200` or `+02:00`.
    fn take_offset<'a>(&mut self, rest: &'a [u8]) -> Option<&'a [u8]> {
        let two = |bytes: &[u8]| match bytes {
            [a, b, ..] if a.is_ascii_digit() && b.is_ascii_digit() => Some(i64::from((a - b'0') * 10 + b - b'0')),
            _ => None,
        };
        let (sign, rest) = match rest {
            [b'+', rest @ ..] => (1, rest),
            [b'-', rest @ ..] => (-1, rest),
            _ => return None,
        };
        let hours = two(rest)?;
        let rest = &rest[2..];
        let after = rest.strip_prefix(b":").unwrap_or(rest);
        let minutes = two(after);
        self.offset = Some(sign * (hours * 60 + minutes.unwrap_or(0)) * 60);
        Some(if minutes.is_some() { &after[2..] } else { rest })
    }

    fn take_zone<'a>(&mut self, rest: &'a [u8]) -> Option<&'a [u8]> {
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_/+-".contains(byte);
        let (name, rest) = rest.split_at(rest.iter().take_while(is_part).count());
        // Zones of ICU that the database of time zones does not have.
        let name = match std::str::from_utf8(name).ok()? {
            "Z" => "UTC",
            "PST" => "America/Los_Angeles",
            "CST" => "America/Chicago",
            "JST" => "Asia/Tokyo",
            "IST" => "Asia/Kolkata",
            name => name,
        };
        self.zone = Some(name.parse().ok()?);
        Some(rest)
    }

    fn date(&self) -> Option<NaiveDate> {
        let first = |year: i32, day: u32| NaiveDate::from_ymd_opt(year, 1, day);
        let monday = |date: NaiveDate| date.checked_sub_days(Days::new(date.weekday().num_days_from_monday().into()));
        match self.source {
            Source::Default | Source::Year | Source::MonthOrDay => {
                NaiveDate::from_ymd_opt(self.year, self.month, self.day)
            }
            // The day after the last one of a year is the first of the next year.
            Source::DayOfYear => first(self.year, 1)?.checked_add_days(Days::new(u64::from(self.day_of_year) - 1)),
            Source::Iso => {
                let (year, week, weekday) = self.iso;
                let days = (week - 1) * 7 + weekday - 1;
                monday(first(year, 4)?)?.checked_add_days(Days::new(days.into()))
            }
            Source::Week(start) => {
                let start = u32::from(start);
                let weekday = self.weekday.map_or(0, |day| (day + 7 - start) % 7);
                let new_year = first(self.year, 1)?;
                // Week 1 begins on the year's first Sunday or Monday.
                let until = (start + 7 - new_year.weekday().num_days_from_sunday()) % 7;
                let days = i64::from(until + self.week * 7 + weekday) - 7;
                new_year.checked_add_signed(chrono::TimeDelta::days(days))
            }
        }
    }

    fn micros(&self) -> Option<i64> {
        let hour = match self.is_afternoon {
            Some(_) if self.hour > 12 => return None,
            Some(afternoon) => self.hour % 12 + 12 * u32::from(afternoon),
            None => self.hour,
        };
        let time = self.date()?.and_hms_nano_opt(hour, self.minute, self.second, self.nanosecond)?;
        let micros = micros_of(time);
        match (self.offset, &self.zone) {
            (Some(offset), _) => micros.checked_sub(offset * SECOND),
            (None, Some(zone)) => utc(zone, micros, None),
            (None, None) => Some(micros),
        }
    }
}
