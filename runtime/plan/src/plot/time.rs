//! Rows of each hour, day or month combined into one: for lines and bars over more moments than there are pixels.

use std::collections::{BTreeMap, HashSet};

use chrono::Datelike;
use onrush_frame::{Table, TaskHandle};
use onrush_wire::plot::statistics::{Cell, Combine};
use onrush_wire::plot::{Axis, Series};
use onrush_wire::{Diagnostic, Expr};

use super::columns::{Column, Values, each_of};
use super::{SERIES, most};
use crate::check::{place, plan_error};

/// Different moments that are drawn as they are.
const MOMENTS: usize = 1_000;
/// Stretches of a plot's width, for lines and for bars.
const STRETCHES: f64 = 600.0;
const BARS: f64 = 90.0;
/// Stretches that somebody may ask for.
const MOST: f64 = 20_000.0;
const MINUTE: f64 = 60.0;
const HOUR: f64 = 3_600.0;
const DAY: f64 = 86_400.0;
/// A mean month, for choosing.
const MONTH: f64 = 2_629_746.0;

/// A stretch of time. Weeks begin on Monday, days at midnight UTC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Every {
    Seconds(f64),
    Months(i32),
}

impl Every {
    /// `15m`, `1h`, `2w`, `1mo`.
    pub fn parse(text: &str) -> Option<Self> {
        let split = text.find(|c: char| !c.is_ascii_digit())?;
        let (count, unit) = text.split_at(split);
        let count: u32 = if count.is_empty() { 1 } else { count.parse().ok()? };
        let seconds = |one: f64| (count > 0).then_some(Every::Seconds(one * f64::from(count)));
        let months = |one: i32| (1..=1200).contains(&count).then_some(Every::Months(one * count as i32));
        match unit {
            "s" => seconds(1.0),
            "m" | "min" => seconds(MINUTE),
            "h" => seconds(HOUR),
            "d" => seconds(DAY),
            "w" => seconds(7.0 * DAY),
            "mo" => months(1),
            "q" => months(3),
            "y" => months(12),
            _ => None,
        }
    }

    /// The shortest round one of which at most `most` fill the span.
    fn of(span: f64, most: f64) -> Self {
        let least = span / most;
        let seconds = [1.0, 5.0, 15.0, 30.0]
            .into_iter()
            .chain([1.0, 5.0, 15.0, 30.0].map(|n| n * MINUTE))
            .chain([1.0, 3.0, 6.0, 12.0].map(|n| n * HOUR))
            .chain([1.0, 7.0].map(|n| n * DAY));
        let months = [1, 3, 6, 12, 24, 60, 120, 600, 1200];
        let short = seconds.into_iter().find(|s| *s >= least).map(Every::Seconds);
        short.unwrap_or_else(|| {
            let months = months.into_iter().find(|m| f64::from(*m) * MONTH >= least).unwrap_or(12_000);
            Every::Months(months)
        })
    }

    fn length(self) -> f64 {
        match self {
            Every::Seconds(seconds) => seconds,
            Every::Months(months) => f64::from(months) * MONTH,
        }
    }

    /// Which one a moment lies in.
    fn index(self, moment: f64) -> i64 {
        match self {
            Every::Seconds(length) => ((moment - self.origin()) / length).floor() as i64,
            Every::Months(months) => {
                let time = chrono::DateTime::from_timestamp(moment.floor() as i64, 0).unwrap_or_default();
                (i64::from(time.year()) * 12 + i64::from(time.month0())).div_euclid(i64::from(months))
            }
        }
    }

    /// Where one begins.
    fn start(self, index: i64) -> f64 {
        match self {
            Every::Seconds(length) => index as f64 * length + self.origin(),
            Every::Months(months) => {
                let month = index * i64::from(months);
                let date =
                    chrono::NaiveDate::from_ymd_opt(month.div_euclid(12) as i32, month.rem_euclid(12) as u32 + 1, 1);
                date.and_then(|d| d.and_hms_opt(0, 0, 0)).map_or(f64::NAN, |t| t.and_utc().timestamp() as f64)
            }
        }
    }

    /// 1970-01-01 was a Thursday; weeks begin on the Monday before it.
    fn origin(self) -> f64 {
        match self {
            Every::Seconds(length) if length % (7.0 * DAY) == 0.0 => -3.0 * DAY,
            _ => 0.0,
        }
    }

    /// `15 minutes`, `hour`.
    pub fn words(self) -> String {
        let (count, unit) = match self {
            Every::Months(months) if months % 12 == 0 => (f64::from(months / 12), "year"),
            Every::Months(3) => (1.0, "quarter"),
            Every::Months(months) => (f64::from(months), "month"),
            Every::Seconds(s) if s % (7.0 * DAY) == 0.0 => (s / (7.0 * DAY), "week"),
            Every::Seconds(s) if s % DAY == 0.0 => (s / DAY, "day"),
            Every::Seconds(s) if s % HOUR == 0.0 => (s / HOUR, "hour"),
            Every::Seconds(s) if s % MINUTE == 0.0 => (s / MINUTE, "minute"),
            Every::Seconds(s) => (s, "second"),
        };
        if count == 1.0 { unit.to_string() } else { format!("{count} {unit}s") }
    }
}

/// What is asked of [`combine`].
pub struct Asked<'a> {
    pub combine: Combine,
    /// As the user wrote it; `None`: the shortest that can be drawn, if the moments cannot.
    pub every: Option<&'a str>,
    pub is_bars: bool,
    pub at: &'a Expr,
}

pub struct Stretches {
    pub x: Axis,
    pub every: Every,
    pub series: Vec<Series>,
    pub left_out: usize,
    pub hidden: usize,
}

/// The rows of each stretch combined; `None` if the moments can be drawn as they are. Without a `y` rows are counted.
pub fn combine(
    table: &Table,
    x: &Values,
    y: Option<&Values>,
    color: Option<Column>,
    asked: &Asked<'_>,
    task: &TaskHandle,
) -> Result<Option<Stretches>, Diagnostic> {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut moments = HashSet::new();
    let few = if asked.is_bars { BARS as usize } else { MOMENTS };
    x.each(task, |_, moment| {
        if moment.is_finite() {
            (low, high) = (low.min(moment), high.max(moment));
            if moments.len() <= few {
                moments.insert((moment + 0.0).to_bits());
            }
        }
    })?;
    let every = match asked.every {
        Some(text) => Every::parse(text).ok_or_else(|| unknown(text, asked.at))?,
        None if moments.len() <= few => return Ok(None),
        None => Every::of(high - low, if asked.is_bars { BARS } else { STRETCHES }),
    };
    if high >= low && (high - low) / every.length() > MOST {
        let message = format!("stretches of one {} are too many to be drawn", every.words());
        return Err(place(plan_error("plot-size", message), asked.at.span.as_ref(), None, "spans too much time")
            .help("take longer ones, such as `.every(\"1d\")`, or leave it out: then they fit the plot"));
    }
    let color = color.map(Column::into_categories);
    let names = color.as_ref().map_or(vec![String::new()], |c| c.categories.clone());
    let mut cells: Vec<BTreeMap<i64, Cell>> = vec![BTreeMap::new(); names.len()];
    let mut left_out = 0;
    each_of([Some(x), y], table.rows(), task, |row, [moment, value]| {
        let series = color.as_ref().map_or(0.0, |c| c.positions[row]);
        let value = if y.is_some() { value } else { 1.0 };
        if !moment.is_finite() || value.is_nan() || series.is_nan() {
            left_out += 1;
        } else {
            cells[series as usize].entry(every.index(moment)).or_default().add(value, asked.combine);
        }
    })?;
    let mut series: Vec<(usize, Series)> = Vec::new();
    for (name, cells) in names.into_iter().zip(cells) {
        if cells.is_empty() {
            continue;
        }
        let (mut rows, mut xs, mut ys) = (0, Vec::new(), Vec::new());
        for (index, cell) in cells {
            rows += cell.count() as usize;
            xs.push(every.start(index));
            ys.push(cell.value(asked.combine).unwrap_or(f64::NAN));
        }
        series.push((rows, Series { name, x: xs, y: ys }));
    }
    let sizes: Vec<usize> = series.iter().map(|s| s.0).collect();
    let hidden = sizes.len().saturating_sub(SERIES);
    let mut most = most(&sizes, SERIES).into_iter();
    series.retain(|_| most.next().unwrap_or(false));
    Ok(Some(Stretches { x: x.axis(), every, series: series.into_iter().map(|s| s.1).collect(), left_out, hidden }))
}

fn unknown(text: &str, at: &Expr) -> Diagnostic {
    let diagnostic = plan_error("plot-every", format!("`{text}` is no length of time"));
    place(diagnostic, at.span.as_ref(), None, "")
        .help("write a number and `s`, `m`, `h`, `d`, `w`, `mo`, `q` or `y`: `15m`, `1d`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_begin_where_calendars_say() {
        let at = |text: &str| text.parse::<chrono::DateTime<chrono::Utc>>().map_or(f64::NAN, |t| t.timestamp() as f64);
        // A Wednesday; the Monday before it was the 16th, the quarter began in July.
        let moment = at("2013-09-18T14:47:31Z");
        for (every, start) in [
            ("15m", "2013-09-18T14:45:00Z"),
            ("6h", "2013-09-18T12:00:00Z"),
            ("d", "2013-09-18T00:00:00Z"),
            ("1w", "2013-09-16T00:00:00Z"),
            ("1mo", "2013-09-01T00:00:00Z"),
            ("1q", "2013-07-01T00:00:00Z"),
            ("1y", "2013-01-01T00:00:00Z"),
        ] {
            let every = Every::parse(every).unwrap();
            assert_eq!(every.start(every.index(moment)), at(start), "{every:?}");
        }
        let before = Every::Months(1);
        assert_eq!(before.start(before.index(at("1969-12-31T23:59:59Z"))), at("1969-12-01T00:00:00Z"));
        assert_eq!((Every::parse("0h"), Every::parse("h1"), Every::parse("fortnight")), (None, None, None));
    }

    #[test]
    fn as_many_as_fit() {
        assert_eq!(Every::of(365.0 * DAY, 600.0).words(), "day");
        assert_eq!(Every::of(10.0 * DAY, 600.0).words(), "30 minutes");
        assert_eq!(Every::of(100.0 * 365.25 * DAY, 600.0).words(), "quarter");
        assert_eq!(Every::of(365.0 * DAY, 90.0).words(), "week");
    }
}
