//! Groups of time intervals, and ranges of dates and numbers as frames.

use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Int64Array, RecordBatch, TimestampMicrosecondArray};
use chrono::{DateTime, Months, NaiveDate, NaiveDateTime, TimeDelta};
use onrush_wire::plan::{ConcatHow, Keep, Op};
use onrush_wire::{Class, DataType, Diagnostic, Expr, ExprKind, Span, Value};

use super::{Frame, GroupBy};
use crate::expr::{IntoExprs, ToExpr};
use crate::raise::{here, raise};

/// Rows that a range may have.
const MOST_ROWS: usize = 100_000_000;

#[derive(Clone, Copy)]
enum Step {
    Months(u32),
    Micros(i64),
}

const DAY: i64 = 86_400_000_000;
const HELP: &str =
    "a time span is a number and a unit: `15m`, `1h`, `1d`, `1w`, `1mo`, `1q`, `1y`, or several of them: `1d12h`";

impl Step {
    /// `15m`, `1d`, `1mo`; several of one kind are added: `1d12h`, `1y6mo`.
    fn parse(text: &str) -> Option<Step> {
        let (mut months, mut nanos) = (0i64, 0i64);
        let mut rest = text;
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit())?;
            let n: i64 = if digits == 0 && rest.len() == text.len() { 1 } else { rest[..digits].parse().ok()? };
            rest = &rest[digits..];
            let (unit, after) = rest.split_at(rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len()));
            rest = after;
            let (sum, per) = match unit {
                "ns" => (&mut nanos, 1),
                "us" => (&mut nanos, 1_000),
                "ms" => (&mut nanos, 1_000_000),
                "s" => (&mut nanos, 1_000_000_000),
                "m" | "min" => (&mut nanos, 60_000_000_000),
                "h" => (&mut nanos, 3_600_000_000_000),
                "d" => (&mut nanos, 1_000 * DAY),
                "w" => (&mut nanos, 7_000 * DAY),
                "mo" => (&mut months, 1),
                "q" => (&mut months, 3),
                "y" => (&mut months, 12),
                _ => return None,
            };
            *sum = sum.checked_add(n.checked_mul(per)?)?;
        }
        match (months, nanos) {
            (0, nanos) if nanos > 0 && nanos % 1_000 == 0 => Some(Step::Micros(nanos / 1_000)),
            (months, 0) if months > 0 => u32::try_from(months).ok().map(Step::Months),
            _ => None,
        }
    }

    /// The `index`-th moment after the start: months are counted from the start, so that a day 31 comes back.
    fn after(self, start: NaiveDateTime, index: usize) -> Option<NaiveDateTime> {
        match self {
            Step::Months(n) => start.checked_add_months(Months::new(n.checked_mul(u32::try_from(index).ok()?)?)),
            Step::Micros(n) => {
                start.checked_add_signed(TimeDelta::microseconds(n.checked_mul(i64::try_from(index).ok()?)?))
            }
        }
    }

    fn is_whole_days(self) -> bool {
        match self {
            Step::Months(_) => true,
            Step::Micros(n) => n % DAY == 0,
        }
    }
}

/// A moment, and whether it is a date without a time.
fn moment(value: &impl ToExpr, at: &Span) -> (NaiveDateTime, bool) {
    let value = match value.to_expr().0.into_kind() {
        ExprKind::Literal(value) => value,
        _ => Value::Null,
    };
    let found = match &value {
        Value::Text(text) => {
            let date = text.parse::<NaiveDate>().ok().map(|date| (date.and_time(Default::default()), true));
            let time = || ["%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M"].into_iter();
            date.or_else(|| time().find_map(|f| NaiveDateTime::parse_from_str(text, f).ok()).map(|t| (t, false)))
        }
        Value::Date(days) => {
            crate::arrow_conversion::date_from_days(*days).map(|date| (date.and_time(Default::default()), true))
        }
        Value::Timestamp { value, .. } => DateTime::from_timestamp_micros(*value).map(|t| (t.naive_utc(), false)),
        _ => None,
    };
    found.unwrap_or_else(|| {
        let message = "the start and the end of a range of dates are dates or times";
        let help = "such as \"2024-01-31\" or \"2024-01-31 12:00:00\"";
        raise(Diagnostic::error(Class::Plan, "date", message).at(at.clone(), "").help(help))
    })
}

fn column(name: &str, values: ArrayRef, at: Span) -> Frame {
    match RecordBatch::try_from_iter([(name, values)]) {
        Ok(batch) => crate::handle::send(&batch, at),
        Err(e) => raise(Diagnostic::error(Class::Plan, "frame", e.to_string()).at(at, "")),
    }
}

/// Dates or times from `start` to `end`, both included, in steps of `every` (`"1d"`, `"1mo"`, `"15m"`): a frame with
/// the column `date`, or `time` if a start, an end or a step has a time of day.
#[track_caller]
pub fn date_range(start: impl ToExpr, end: impl ToExpr, every: &str) -> Frame {
    let at = here("date_range");
    let ((start, starts_day), (end, ends_day)) = (moment(&start, &at), moment(&end, &at));
    range(start, end, every, starts_day && ends_day, at)
}

fn range(start: NaiveDateTime, end: NaiveDateTime, every: &str, are_days: bool, at: Span) -> Frame {
    let Some(step) = Step::parse(every) else {
        let message = format!("`{every}` is not a time span");
        raise(Diagnostic::error(Class::Plan, "argument", message).at(at, "").help(HELP))
    };
    let mut all = Vec::new();
    while let Some(next) = step.after(start, all.len()).filter(|next| *next <= end) {
        if all.len() == MOST_ROWS {
            let message = format!("a range has at most {MOST_ROWS} rows");
            raise(Diagnostic::error(Class::Plan, "argument", message).at(at, ""));
        }
        all.push(next.and_utc().timestamp_micros());
    }
    match are_days && step.is_whole_days() {
        true => {
            let days = all.iter().map(|micros| micros.div_euclid(DAY) as i32);
            column("date", Arc::new(Date32Array::from_iter_values(days)), at)
        }
        false => column("time", Arc::new(TimestampMicrosecondArray::from(all)), at),
    }
}

/// Integers from `start` up to, but without `end`, as a frame with the column `value`.
#[track_caller]
pub fn int_range(start: i64, end: i64) -> Frame {
    let at = here("int_range");
    if end.saturating_sub(start) > MOST_ROWS as i64 {
        let message = format!("a range has at most {MOST_ROWS} rows");
        raise(Diagnostic::error(Class::Plan, "argument", message).at(at, ""));
    }
    column("value", Arc::new(Int64Array::from_iter_values(start..end)), at)
}

/// Groups of time intervals, of which those without a row are there, too; see [`Frame::resample`].
#[derive(Clone)]
pub struct Resample {
    groups: GroupBy,
    time: String,
    every: String,
}

impl Frame {
    /// Starts an aggregation by intervals of a time: `f.group_by_dynamic("time", "1h").agg(x!(n = len()))`. The key is
    /// the start of the interval. Intervals without rows are left out, as in Polars; [`Frame::resample`] has them.
    /// [`GroupBy::and_by`] adds other keys.
    #[track_caller]
    pub fn group_by_dynamic(&self, time: &str, every: &str) -> GroupBy {
        let at = here("group_by_dynamic");
        GroupBy::new(self.clone(), vec![interval(time, every, &at)])
    }

    /// Starts an aggregation as of [`Frame::group_by_dynamic`], with a row for each interval between the first and the
    /// last one; aggregates of intervals without rows are null. As pandas' `resample`. Intervals of a zoned time are
    /// those of local time: an hour that the zone repeats is two of `"1h"`.
    #[track_caller]
    pub fn resample(&self, time: &str, every: &str) -> Resample {
        let at = here("resample");
        let groups = GroupBy::new(self.clone(), vec![interval(time, every, &at)]);
        Resample { groups, time: time.to_string(), every: every.to_string() }
    }
}

fn interval(time: &str, every: &str, at: &Span) -> Expr {
    let start = Expr::call("dt.truncate", [Expr::column(time).at(at.clone()), Expr::literal(every)]);
    start.at(at.clone()).alias(time)
}

impl Resample {
    /// One row for each interval: its start, and these aggregates. Finds the first and the last interval at the call.
    #[track_caller]
    pub fn agg(&self, aggs: impl IntoExprs) -> Frame {
        self.filled(aggs.into_exprs(), here("agg"))
    }

    #[inline(never)]
    fn filled(&self, aggs: Vec<Expr>, at: Span) -> Frame {
        let groups = self.groups.run(aggs, at.clone());
        let Some(field) = groups.schema().fields.into_iter().next() else { return groups };
        let zone = match &field.dtype {
            DataType::Timestamp(_, Some(zone)) => Some(zone.to_string()),
            _ => None,
        };
        let time = || Expr::column(&*self.time);
        let end = |function: &str| {
            // Local time of the zone.
            let wall = match &zone {
                Some(_) => Expr::call("dt.replace_time_zone", [time(), Expr::literal(Value::Null)]),
                None => time(),
            };
            let micros = Expr::call("cast", [Expr::call(function, [wall]), Expr::literal("datetime")]);
            Expr::call("dt.epoch", [micros]).alias(function)
        };
        let bounds = Frame::step(Op::Select { input: groups.id(), exprs: vec![end("min"), end("max")] }, at.clone());
        let batch = crate::session::collect(bounds.id(), Vec::new(), at.clone());
        let micros = |column: usize| match crate::arrow_conversion::value_at(batch.column(column), 0) {
            Value::Int(micros) => DateTime::from_timestamp_micros(micros).map(|t| t.naive_utc()),
            _ => None,
        };
        let (Some(first), Some(last)) = (micros(0), micros(1)) else { return groups };
        let mut all = range(first, last, &self.every, false, at.clone());
        if let Some(zone) = &zone {
            all = self.in_zone(&all, zone, &groups, &at);
        }
        let columns = vec![("time".to_string(), field.dtype.clone())];
        let all = Frame::step(Op::Cast { input: all.id(), columns, strict: true }, at.clone());
        let names = vec![("time".to_string(), self.time.clone())];
        let all = match self.time.as_str() {
            "time" => all,
            _ => Frame::step(Op::Rename { input: all.id(), names }, at.clone()),
        };
        let join = Op::Join {
            left: all.id(),
            right: groups.id(),
            how: onrush_wire::plan::JoinKind::Left,
            left_on: vec![time()],
            right_on: vec![time()],
            suffix: "_right".to_string(),
        };
        Frame::step(join, at)
    }
}

impl Resample {
    /// The intervals of local time in a zone, and those of the groups: a repeated hour is two, and a skipped one is
    /// none.
    fn in_zone(&self, walls: &Frame, zone: &str, groups: &Frame, at: &Span) -> Frame {
        let is_short = matches!(Step::parse(&self.every), Some(step) if !step.is_whole_days());
        let time = || Expr::column("time");
        let placed = |wall: Expr, ambiguous: &str| {
            let choices = [Expr::literal(zone), Expr::literal(ambiguous), Expr::literal("null")];
            Expr::call("dt.replace_time_zone", [wall].into_iter().chain(choices))
        };
        let starts = |ambiguous: &str| {
            let mut start = placed(time(), ambiguous);
            if !is_short {
                // A day whose midnight is skipped starts later.
                let day = |wall: Expr, by: &str| Expr::call("dt.offset_by", [wall, Expr::literal(by)]);
                start = Expr::call("coalesce", [start, day(placed(day(time(), "-1d"), ambiguous), "1d")]);
            }
            let exprs = vec![start.alias("time")];
            Frame::step(Op::Select { input: walls.id(), exprs }, at.clone())
        };
        let of_groups = Op::Select { input: groups.id(), exprs: vec![Expr::column(&*self.time).alias("time")] };
        let mut parts = vec![Frame::step(of_groups, at.clone()), starts("earliest")];
        if is_short {
            parts.push(starts("latest"));
        }
        let inputs = parts.iter().map(Frame::id).collect();
        let all = Frame::step(Op::Concat { inputs, how: ConcatHow::Vertical }, at.clone());
        let all = Frame::step(Op::DropNulls { input: all.id(), subset: Vec::new() }, at.clone());
        let all = Frame::step(Op::Unique { input: all.id(), subset: Vec::new(), keep: Keep::First }, at.clone());
        let keys = vec![onrush_wire::expr::SortKey { expr: time(), descending: false, nulls_last: None }];
        Frame::step(Op::Sort { input: all.id(), keys }, at.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From Polars 2.1: `pl.date_range(date(2024, 1, 31), date(2024, 4, 30), "1mo", eager=True)`.
    #[test]
    fn months_are_counted_from_the_start() {
        let start: NaiveDateTime = "2024-01-31T00:00:00".parse().unwrap();
        let step = Step::parse("1mo").unwrap();
        let days = [0, 1, 2, 3].map(|i| step.after(start, i).unwrap().date().to_string());
        assert_eq!(days, ["2024-01-31", "2024-02-29", "2024-03-31", "2024-04-30"]);
        assert!(["", "0d", "x", "-1d", "1 d", "1mo1d", "1d2"].into_iter().all(|text| Step::parse(text).is_none()));
        assert!(matches!(Step::parse("1d12h"), Some(Step::Micros(n)) if n == 36 * 3_600_000_000));
    }
}
