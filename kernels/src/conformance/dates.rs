//! `dates` against a calendar that is walked day by day, and its speed.

use super::values::Random;
use super::{Bench, Cases, same};
use crate::column::Column;
use crate::dates::{Part, Tick, Unit, part, truncate};
use crate::error::Result;
use crate::scalar::Scalar;

/// A day of the civil calendar.
#[derive(Clone, Copy)]
struct Day {
    /// Since 1970-01-01, a Thursday.
    number: i64,
    year: i64,
    month: i64,
    day: i64,
    of_year: i64,
    /// Monday is 1, Sunday 7.
    weekday: i64,
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Years 1601 to 2400, from the first day on: 1601-01-01 was a Monday.
fn calendar() -> Vec<Day> {
    let mut days = Vec::new();
    for year in 1601..=2400 {
        let mut of_year = 0;
        for month in 1..=12 {
            for day in 1..=days_of(year, month) {
                of_year += 1;
                let weekday = days.len() as i64 % 7 + 1;
                days.push(Day { number: 0, year, month, day, of_year, weekday });
            }
        }
    }
    let epoch = days.iter().position(|day| day.year == 1970).unwrap_or_default() as i64;
    days.iter_mut().enumerate().for_each(|(at, day)| day.number = at as i64 - epoch);
    days
}

fn iso_week(calendar: &[Day], at: usize) -> i64 {
    // The number of Thursdays of the year up to this week's.
    let thursday = (at as i64 + 4 - calendar[at].weekday) as usize;
    (calendar[thursday].of_year + 6) / 7
}

const PARTS: [Part; 10] = [
    Part::Year,
    Part::Quarter,
    Part::Month,
    Part::Week,
    Part::Day,
    Part::DayOfYear,
    Part::DayOfWeek,
    Part::Hour,
    Part::Minute,
    Part::Second,
];
const UNITS: [Unit; 8] =
    [Unit::Year, Unit::Quarter, Unit::Month, Unit::Week, Unit::Day, Unit::Hour, Unit::Minute, Unit::Second];

fn expected_part(calendar: &[Day], at: usize, second: i64, part: Part) -> i32 {
    let day = calendar[at];
    let found = match part {
        Part::Year => day.year,
        Part::Quarter => (day.month + 2) / 3,
        Part::Month => day.month,
        Part::Week => iso_week(calendar, at),
        Part::Day => day.day,
        Part::DayOfYear => day.of_year,
        Part::DayOfWeek => day.weekday % 7,
        Part::Hour => second / 3600,
        Part::Minute => second / 60 % 60,
        Part::Second => second % 60,
    };
    found as i32
}

/// The tick at which the unit of this timestamp began.
fn expected_start(calendar: &[Day], at: usize, second: i64, unit: Unit, tick: Tick) -> i64 {
    let day = calendar[at];
    let back = |same: &dyn Fn(&Day) -> bool| {
        let first = (0..=at).rev().take_while(|&before| same(&calendar[before])).last();
        calendar[first.unwrap_or(at)].number
    };
    let (number, second) = match unit {
        Unit::Year => (back(&|d| d.year == day.year), 0),
        Unit::Quarter => (back(&|d| d.year == day.year && (d.month + 2) / 3 == (day.month + 2) / 3), 0),
        Unit::Month => (back(&|d| d.year == day.year && d.month == day.month), 0),
        Unit::Week => (day.number - day.weekday + 1, 0),
        Unit::Day => (day.number, 0),
        Unit::Hour => (day.number, second / 3600 * 3600),
        Unit::Minute => (day.number, second / 60 * 60),
        Unit::Second => (day.number, second),
    };
    number * tick.per_day() + second * (tick.per_day() / 86_400)
}

fn check_tick(cases: &mut Cases, calendar: &[Day], tick: Tick, rows: usize) {
    let mut random = Random(rows as u64 + tick.per_day() as u64);
    // Nanoseconds in 64 bits reach from 1677 to 2262.
    let within = if tick == Tick::Nanosecond { 1680..2260 } else { 1602..2400 };
    let there: Vec<usize> = (0..calendar.len()).filter(|at| within.contains(&calendar[*at].year)).collect();
    let picks: Vec<(usize, i64)> = (0..rows)
        .map(|_| (there[random.below(there.len() as u64) as usize], random.below(86_400) as i64))
        .map(|(at, second)| (at, if tick == Tick::Day { 0 } else { second }))
        .collect();
    let per_second = tick.per_day() / 86_400;
    let times: Vec<i64> = picks
        .iter()
        .map(|(at, second)| {
            let fraction = if per_second > 1 { random.below(per_second as u64) as i64 } else { 0 };
            calendar[*at].number * tick.per_day() + second * per_second + fraction
        })
        .collect();
    // Each part is a kernel: all of them for two ticks are enough.
    let all = matches!(tick, Tick::Day | Tick::Microsecond);
    for &asked in if all { &PARTS[..] } else { &PARTS[7..] } {
        cases.case(
            || format!("dates {asked:?} of {tick:?}, {rows} rows"),
            |context| {
                let out = context.allocate(rows as u64 * 4)?;
                // Dates are 32 bits wide, timestamps 64.
                if tick == Tick::Day {
                    let days: Vec<i32> = times.iter().map(|time| *time as i32).collect();
                    part(context, &Column::new(Scalar::I32, &context.upload(&days)?), tick, asked, &out)?;
                } else {
                    part(context, &Column::new(Scalar::I64, &context.upload(&times)?), tick, asked, &out)?;
                }
                let found = out.read::<i32>(0..rows, &context.stream)?;
                let expected: Vec<i32> =
                    picks.iter().map(|(at, second)| expected_part(calendar, *at, *second, asked)).collect();
                Ok(same(&found, &expected))
            },
        );
    }
    for &unit in if all { &UNITS[..] } else { &UNITS[2..5] } {
        cases.case(
            || format!("dates {tick:?} to {unit:?}, {rows} rows"),
            |context| {
                let out = context.allocate(rows as u64 * 8)?;
                truncate(context, &Column::new(Scalar::I64, &context.upload(&times)?), tick, unit, &out)?;
                let found = out.read::<i64>(0..rows, &context.stream)?;
                let expected: Vec<i64> =
                    picks.iter().map(|(at, second)| expected_start(calendar, *at, *second, unit, tick)).collect();
                Ok(same(&found, &expected))
            },
        );
    }
}

pub fn check(cases: &mut Cases) {
    let calendar = calendar();
    for tick in [Tick::Day, Tick::Second, Tick::Microsecond, Tick::Nanosecond] {
        for rows in [0, 1, 33, 1025] {
            check_tick(cases, &calendar, tick, rows);
        }
    }
    cases.case(
        || "dates far from 1970".into(),
        |context| {
            // From PostgreSQL's documentation and ISO 8601: year 0 is 1 BC, and 400 years are 146097 days.
            let days = [-719_528, -719_529, 2_932_896, -1_000 * 146_097, 1_000 * 146_097];
            let out = context.allocate(20)?;
            part(context, &Column::new(Scalar::I32, &context.upload(&days)?), Tick::Day, Part::Year, &out)?;
            let found = out.read::<i32>(0..5, &context.stream)?;
            Ok(same(&found, &[0, -1, 9999, 1970 - 400_000, 1970 + 400_000]))
        },
    );
}

pub fn measure(bench: &mut Bench) -> Result<()> {
    let rows = bench.rows;
    let times = bench.context.zeros(rows * 8)?;
    let out = bench.context.allocate(rows * 8)?;
    let column = Column::new(Scalar::I64, &times);
    for asked in [Part::Hour, Part::Year] {
        bench.measure(format!("dates {asked:?} of microseconds"), rows, rows * 12, |context| {
            part(context, &column, Tick::Microsecond, asked, &out)
        })?;
    }
    bench.measure("dates microseconds to Month", rows, rows * 16, |context| {
        truncate(context, &column, Tick::Microsecond, Unit::Month, &out)
    })
}
