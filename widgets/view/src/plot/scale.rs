//! Scales of axes: the drawn range, ticks at round values or dates, and their labels.

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime};
use onrush_wire::format_integer::grouped;
use onrush_wire::plot::AxisScale;

use super::format;

/// One axis. Positions are drawn positions: the logarithm to base 10 on a logarithmic axis.
#[derive(Clone, Debug)]
pub struct Scale {
    pub kind: AxisScale,
    pub log: bool,
    pub low: f64,
    pub high: f64,
    /// The drawn categories.
    pub categories: Vec<String>,
    /// How many categories there are.
    pub all_categories: usize,
    /// The label format of the user.
    pub format: Option<String>,
}

/// A tick and its label.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    pub at: f64,
    pub label: String,
}

impl Scale {
    /// The position of a data value; `None` if the axis has none for it.
    pub fn position(&self, value: f64) -> Option<f64> {
        if !value.is_finite() {
            None
        } else if self.log {
            (value > 0.0).then(|| value.log10())
        } else {
            Some(value)
        }
    }

    /// About `count` ticks, and the part of the axis label that all tick labels share (a date, a year).
    pub fn ticks(&self, count: usize) -> (Vec<Tick>, Option<String>) {
        let count = count.max(2);
        let format = self.format.as_deref().filter(|f| format::is_valid(f, self.kind));
        let (mut ticks, shared) = self.plain_ticks(count);
        let Some(format) = format else { return (ticks, shared) };
        for tick in &mut ticks {
            let value = if self.log { 10f64.powf(tick.at) } else { tick.at };
            if let Some(label) = format::text(format, self.kind, value) {
                tick.label = label;
            }
        }
        (ticks, None)
    }

    fn plain_ticks(&self, count: usize) -> (Vec<Tick>, Option<String>) {
        match self.kind {
            AxisScale::Category => (
                self.categories.iter().enumerate().map(|(i, c)| Tick { at: i as f64, label: c.clone() }).collect(),
                None,
            ),
            AxisScale::Time => time_ticks(self.low, self.high, count),
            AxisScale::Number if self.log => (log_ticks(self.low, self.high, count), None),
            AxisScale::Number => (number_ticks(self.low, self.high, count), None),
        }
    }
}

/// Steps of 1, 2 or 5 times a power of ten.
pub fn number_ticks(low: f64, high: f64, count: usize) -> Vec<Tick> {
    let span = high - low;
    if !span.is_finite() || span <= 0.0 {
        return vec![Tick { at: low, label: number_label(low, low.abs().max(1.0) / 10.0, low.abs()) }];
    }
    let rough = span / count as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= rough * 0.999_999).unwrap_or(10.0 * power);
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    let largest = low.abs().max(high.abs());
    (first..=last)
        .map(|i| {
            let at = i as f64 * step;
            Tick { at, label: number_label(at, step, largest) }
        })
        .collect()
}

/// `1 500`, `2.5M`, `0.05`, `3e-7`: with the digits that the step needs and the unit that suits the largest.
pub fn number_label(value: f64, step: f64, largest: f64) -> String {
    let (unit, suffix) = match largest {
        l if l >= 1e15 => return scientific(value),
        l if l >= 1e12 => (1e12, "T"),
        l if l >= 1e9 => (1e9, "G"),
        l if l >= 1e6 => (1e6, "M"),
        l if l > 0.0 && l < 1e-4 => return scientific(value),
        _ => (1.0, ""),
    };
    if value == 0.0 {
        return "0".to_string();
    }
    let step = step / unit;
    let digits = if step >= 1.0 { 0 } else { (-step.log10() - 1e-9).ceil().clamp(0.0, 9.0) as usize };
    // A step of 2.5 needs one more digit than its magnitude.
    let digits = if step >= 1.0 && (step - step.round()).abs() > 1e-6 { 1 } else { digits };
    let text = format!("{:.digits$}", (value / unit).abs());
    let (whole, part) = text.split_once('.').map_or((text.as_str(), ""), |(w, p)| (w, p));
    let whole = match whole.parse::<u64>() {
        Ok(n) if n >= 10_000 => grouped(n, '\u{202f}'),
        _ => whole.to_string(),
    };
    let sign = if value < 0.0 { "−" } else { "" };
    let point = if part.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{part}{suffix}")
}

fn scientific(value: f64) -> String {
    let text = format!("{value:.2e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
    if value == 0.0 { "0".to_string() } else { format!("{mantissa}e{exponent}") }
}

/// Powers of ten; with 2 and 5 in between if there is space.
fn log_ticks(low: f64, high: f64, count: usize) -> Vec<Tick> {
    let label = |value: f64| {
        let exponent = value.log10().floor();
        if (-4.0..6.0).contains(&exponent) {
            number_label(value, 10f64.powf(exponent), value)
        } else if exponent < -4.0 {
            scientific(value)
        } else {
            number_label(value, value, value)
        }
    };
    let (first, last) = (low.floor() as i64, high.ceil() as i64);
    let decades = (high - low).max(1e-9);
    let factors: &[f64] = if decades * 3.0 <= count as f64 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let every = ((decades / count as f64).ceil() as i64).max(1);
    let mut ticks: Vec<Tick> = (first..=last)
        .filter(|d| d.rem_euclid(every) == 0)
        .flat_map(|d| factors.iter().map(move |f| f * 10f64.powi(d as i32)))
        .filter(|v| (low - 1e-9..=high + 1e-9).contains(&v.log10()))
        .map(|v| Tick { at: v.log10(), label: label(v) })
        .collect();
    if ticks.len() < 2 {
        // Less than a decade: ticks at round numbers.
        ticks = number_ticks(10f64.powf(low), 10f64.powf(high), count)
            .into_iter()
            .filter(|t| t.at > 0.0)
            .map(|t| Tick { at: t.at.log10(), ..t })
            .collect();
    }
    ticks
}

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

fn at(seconds: f64) -> Option<NaiveDateTime> {
    DateTime::from_timestamp(seconds.floor() as i64, 0).map(|t| t.naive_utc())
}

fn seconds(time: NaiveDateTime) -> f64 {
    time.and_utc().timestamp() as f64
}

fn time_ticks(low: f64, high: f64, count: usize) -> (Vec<Tick>, Option<String>) {
    let span = high - low;
    let rough = span / count as f64;
    let (Some(first), Some(last)) = (at(low), at(high)) else { return (number_ticks(low, high, count), None) };
    if rough < 0.5 {
        // Below a second, ticks are offsets from a timestamp in the axis label.
        let start = low.floor();
        let ticks = number_ticks(low - start, high - start, count)
            .into_iter()
            .map(|t| Tick { at: t.at + start, label: format!("{} s", t.label) })
            .collect();
        return (ticks, Some(format!("after {}", first.format("%Y-%m-%d %H:%M:%S"))));
    }
    const STEPS: [i64; 16] = [
        1,
        2,
        5,
        10,
        30,
        MINUTE,
        5 * MINUTE,
        10 * MINUTE,
        30 * MINUTE,
        HOUR,
        3 * HOUR,
        6 * HOUR,
        12 * HOUR,
        DAY,
        2 * DAY,
        7 * DAY,
    ];
    if let Some(step) = STEPS.into_iter().find(|s| *s as f64 >= rough) {
        let start = (low / step as f64).ceil() as i64;
        let end = (high / step as f64).floor() as i64;
        let times: Vec<NaiveDateTime> = (start..=end).filter_map(|i| at((i * step) as f64)).collect();
        let one_day = first.date() == last.date();
        let one_year = first.year() == last.year();
        let clock = if step < MINUTE { "%H:%M:%S" } else { "%H:%M" };
        let ticks = times
            .iter()
            .map(|t| {
                let midnight = t.time() == NaiveTime::MIN;
                let label = match (step >= DAY, midnight && !one_day, one_year) {
                    (true, _, true) | (false, true, true) => t.format("%b %-d").to_string(),
                    (true, _, false) | (false, true, false) => t.format("%Y-%m-%d").to_string(),
                    (false, false, _) => t.format(clock).to_string(),
                };
                Tick { at: seconds(*t), label }
            })
            .collect();
        let shared = if one_day {
            Some(first.format("%Y-%m-%d").to_string())
        } else if one_year {
            Some(first.year().to_string())
        } else {
            None
        };
        return (ticks, shared);
    }
    let months = rough / (30.44 * DAY as f64);
    if let Some(step) = [1u32, 2, 3, 6].into_iter().find(|m| f64::from(*m) >= months) {
        let one_year = first.year() == last.year();
        let mut ticks = Vec::new();
        let mut year = first.year();
        let mut month = 1u32;
        while let Some(date) = NaiveDate::from_ymd_opt(year, month, 1) {
            let position = seconds(date.and_time(NaiveTime::MIN));
            if position > high {
                break;
            }
            if position >= low {
                let label = match (month, one_year) {
                    (1, false) => date.format("%Y").to_string(),
                    _ => date.format("%b").to_string(),
                };
                ticks.push(Tick { at: position, label });
            }
            month += step;
            if month > 12 {
                month = 1;
                year += 1;
            }
        }
        return (ticks, one_year.then(|| first.year().to_string()));
    }
    let years = number_ticks(f64::from(first.year()), f64::from(last.year() + 1), count);
    let step_is_whole = years.iter().all(|t| t.at.fract() == 0.0);
    let ticks = years
        .iter()
        .filter(|_| step_is_whole)
        .filter_map(|t| NaiveDate::from_ymd_opt(t.at as i32, 1, 1))
        .map(|d| Tick { at: seconds(d.and_time(NaiveTime::MIN)), label: d.year().to_string() })
        .filter(|t| t.at >= low && t.at <= high)
        .collect();
    (ticks, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|t| t.label.as_str()).collect()
    }

    fn time(text: &str) -> f64 {
        seconds(NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S").unwrap())
    }

    #[test]
    fn numbers_have_round_ticks() {
        assert_eq!(labels(&number_ticks(0.0, 10.0, 5)), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(labels(&number_ticks(-0.3, 0.3, 4)), ["−0.2", "0", "0.2"]);
        assert_eq!(
            labels(&number_ticks(0.0, 40_000.0, 4)),
            ["0", "10\u{202f}000", "20\u{202f}000", "30\u{202f}000", "40\u{202f}000"]
        );
        assert_eq!(labels(&number_ticks(0.0, 3e6, 6)), ["0", "0.5M", "1.0M", "1.5M", "2.0M", "2.5M", "3.0M"]);
        assert_eq!(labels(&number_ticks(0.0, 2e-6, 2)), ["0", "1e-6", "2e-6"]);
        assert_eq!(labels(&number_ticks(2013.0, 2016.0, 3)), ["2013", "2014", "2015", "2016"]);
        assert_eq!(number_ticks(5.0, 5.0, 4).len(), 1);
    }

    #[test]
    fn logarithmic_ticks_are_powers_of_ten() {
        assert_eq!(labels(&log_ticks(0.0, 4.0, 5)), ["1", "10", "100", "1000", "10\u{202f}000"]);
        assert_eq!(labels(&log_ticks(0.0, 1.0, 6)), ["1", "2", "5", "10"]);
        assert_eq!(log_ticks(0.0, 40.0, 5).len(), 6);
    }

    #[test]
    fn times_have_calendar_ticks() {
        let (ticks, shared) = time_ticks(time("2013-01-01 00:00:00"), time("2013-12-31 00:00:00"), 6);
        assert_eq!(labels(&ticks), ["Jan", "Mar", "May", "Jul", "Sep", "Nov"]);
        assert_eq!(shared.as_deref(), Some("2013"));
        let (ticks, shared) = time_ticks(time("2013-01-01 05:00:00"), time("2013-01-01 23:00:00"), 6);
        assert_eq!(labels(&ticks), ["06:00", "09:00", "12:00", "15:00", "18:00", "21:00"]);
        assert_eq!(shared.as_deref(), Some("2013-01-01"));
        let (ticks, _) = time_ticks(time("1990-01-01 00:00:00"), time("2020-06-01 00:00:00"), 6);
        assert_eq!(labels(&ticks), ["1990", "2000", "2010", "2020"]);
        let (ticks, _) = time_ticks(time("2012-11-01 00:00:00"), time("2013-04-01 00:00:00"), 5);
        assert_eq!(labels(&ticks), ["Nov", "Dec", "2013", "Feb", "Mar", "Apr"]);
    }
}
