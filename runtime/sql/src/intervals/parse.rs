//! Strings as intervals, with the units, fractions and times of day of DuckDB: `1.5 years`, `2 days 03:04:05`,
//! `3 hours ago`, `42`.

use arrow::array::types::{IntervalMonthDayNano, IntervalMonthDayNanoType};
use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::compute::kernels::cast_utils::{IntervalParseConfig, IntervalUnit, parse_interval_month_day_nano_config};
use arrow::datatypes::DataType;
use datafusion::error::Result;
use onrush_expr::error::external;
use onrush_expr::scalar_udf::strict;
use onrush_expr::type_coercion;
use onrush_wire::{Class, Diagnostic};

use super::{INTERVAL, is_span, singular};

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// Months, days and microseconds of an interval that is read.
#[derive(Default)]
struct Sum {
    months: i64,
    days: i64,
    micros: i64,
}

impl Sum {
    /// Adds `whole` and a `fraction` of a unit, both with one sign. `None` for a name that is not a unit, and beyond
    /// the range.
    fn add(&mut self, whole: i64, fraction: f64, unit: &str) -> Option<()> {
        let months = |sum: &mut Sum, per: i64| {
            sum.months = sum.months.checked_add(whole.checked_mul(per)?)?;
            Some(fraction * per as f64)
        };
        let years = match unit {
            "year" => 12,
            "decade" => 120,
            "century" => 1_200,
            "millennium" => 12_000,
            _ => 0,
        };
        match unit {
            // Fractions of years are whole months, and fractions of quarters whole days.
            _ if years > 0 => {
                let part = months(self, years)?;
                self.months = self.months.checked_add(part.round() as i64)?;
            }
            "quarter" => {
                let part = months(self, 3)?;
                self.months = self.months.checked_add(part.trunc() as i64)?;
                self.days = self.days.checked_add((part.fract() * 30.0).round() as i64)?;
            }
            "month" => {
                let part = months(self, 1)?;
                self.add_days(part * 30.0);
            }
            "week" => {
                self.days = self.days.checked_add(whole.checked_mul(7)?)?;
                self.add_days(fraction * 7.0);
            }
            "day" => {
                self.days = self.days.checked_add(whole)?;
                self.add_days(fraction);
            }
            _ => {
                let micros = match unit {
                    "hour" => 3600 * SECOND,
                    "minute" => 60 * SECOND,
                    "second" => SECOND,
                    "millisecond" => 1000,
                    "microsecond" => 1,
                    _ => return None,
                };
                // No fraction is left of a microsecond.
                let part = if micros == 1 { 0 } else { (fraction * micros as f64).round() as i64 };
                self.micros = self.micros.checked_add(whole.checked_mul(micros)?)?.checked_add(part)?;
            }
        }
        Some(())
    }

    fn add_days(&mut self, days: f64) {
        self.days = self.days.saturating_add(days.trunc() as i64);
        self.micros = self.micros.saturating_add((days.fract() * DAY as f64).round() as i64);
    }

    fn interval(&self, sign: i64) -> Option<IntervalMonthDayNano> {
        let part = |part: i64| i32::try_from(part.checked_mul(sign)?).ok();
        let (months, days) = (part(self.months)?, part(self.days)?);
        Some(IntervalMonthDayNano::new(months, days, self.micros.checked_mul(1000 * sign)?))
    }
}

/// The digits at the begin of a string, and the rest.
fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

/// Microseconds of `:04:05.6` after the hours of a time of day.
fn time_of_day(hours: i64, rest: &str) -> Option<i64> {
    let (minutes, rest) = digits(rest.strip_prefix(':')?);
    let (seconds, rest) = digits(rest.strip_prefix(':').unwrap_or(rest));
    let (fraction, rest) = digits(rest.strip_prefix('.').unwrap_or(rest));
    let number = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse::<i64>().ok() };
    let sixty = |digits: &str| number(digits).filter(|number| *number < 60);
    // Digits after the sixth are dropped.
    let micros = format!("{fraction:0<6}").get(..6)?.parse::<i64>().ok()?;
    let whole = hours.checked_mul(3600)?.checked_add(sixty(minutes)? * 60 + sixty(seconds)?)?;
    let is_end = rest.is_empty() || rest == ":";
    is_end.then(|| whole.checked_mul(SECOND)?.checked_add(micros)).flatten()
}

/// An interval that a string names, or `None`. A number alone is a number of seconds.
pub fn parsed(text: &str) -> Option<IntervalMonthDayNano> {
    let mut rest = text.strip_prefix('@').unwrap_or(text).trim();
    let mut sum = Sum::default();
    let mut is_first = true;
    while !rest.is_empty() {
        if rest.eq_ignore_ascii_case("ago") && !is_first {
            return sum.interval(-1);
        }
        let (sign, from) = rest.strip_prefix('-').map_or((1, rest), |from| (-1, from));
        let (whole, after) = digits(from);
        let whole = whole.parse::<i64>().ok()?;
        if after.starts_with(':') {
            sum.micros = sum.micros.checked_add(sign * time_of_day(whole, after)?)?;
            break;
        }
        let (fraction, after) = after.strip_prefix('.').map_or(("", after), digits);
        let fraction = format!("0.{fraction}0").parse::<f64>().ok()?;
        let after = after.trim_start();
        let (unit, after) = after.split_at(after.bytes().take_while(u8::is_ascii_alphabetic).count());
        rest = after.trim_start();
        let unit = if unit.is_empty() && is_first && rest.is_empty() { "second".to_string() } else { singular(unit) };
        sum.add(sign * whole, sign as f64 * fraction, &unit)?;
        is_first = false;
    }
    (!text.trim().is_empty()).then(|| sum.interval(1)).flatten()
}

/// The literal of an interval in words that the planner reads as DuckDB does, if its own reading is another one.
pub fn spelt(text: &str) -> Option<String> {
    let of = parsed(text)?;
    let theirs = parse_interval_month_day_nano_config(text, IntervalParseConfig::new(IntervalUnit::Second));
    if theirs.is_ok_and(|theirs| theirs == of) {
        return None;
    }
    let IntervalMonthDayNano { months, days, nanoseconds } = of;
    Some(format!("{months} months {days} days {nanoseconds} nanoseconds"))
}

/// A cast to an interval. A string that is not one is an error, or null.
pub fn cast_to_interval(args: &[ArrayRef], fail: bool) -> Result<ArrayRef> {
    if !type_coercion::is_text(args[0].data_type()) {
        return match is_span(args[0].data_type()) || fail || args[0].data_type() == &DataType::Null {
            true => strict(&args[0], &INTERVAL),
            false => Ok(arrow::compute::cast(&args[0], &INTERVAL)?),
        };
    }
    let texts = strict(&args[0], &type_coercion::TEXT)?;
    let spans = texts.as_string_view().iter().map(|text| {
        let Some(text) = text else { return Ok(None) };
        match parsed(text) {
            None if fail => {
                let message = format!("the string `{text}` cannot be cast to `interval`");
                let help = "such as `3 days 04:05:06` or `1.5 years`; `try_cast` gives null";
                Err(external(Diagnostic::error(Class::Data, "cast", message).help(help)))
            }
            found => Ok(found),
        }
    });
    Ok(std::sync::Arc::new(spans.collect::<Result<PrimitiveArray<IntervalMonthDayNanoType>>>()?))
}
