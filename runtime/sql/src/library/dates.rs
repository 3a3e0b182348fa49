//! Dates and times that neither DataFusion nor `datetime.rs` has: ages, times of day, Julian days.

use std::sync::Arc;

use arrow::array::types::{IntervalMonthDayNano, IntervalMonthDayNanoType};
use arrow::array::{Array, ArrayRef, AsArray, Float64Array, PrimitiveArray, Time64MicrosecondArray};
use arrow::datatypes::{DataType, IntervalUnit, TimeUnit, TimestampMicrosecondType};
use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, Timelike, Utc};
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use onrush_expr::scalar_udf::{kernel_by_types, stable_kernel, strict};

use super::{float, floats_of, integers_of, invalid, number_at, takes};

pub fn functions() -> Vec<ScalarUDF> {
    let interval = |_: &[DataType]| Ok(DataType::Interval(IntervalUnit::MonthDayNano));
    vec![
        // The age of one timestamp is the time until today.
        stable_kernel("age", interval, age),
        kernel_by_types("make_time", |_| Ok(DataType::Time64(TimeUnit::Microsecond)), time),
        kernel_by_types("julian", float, julian),
    ]
}

fn moments(values: &ArrayRef) -> Result<PrimitiveArray<TimestampMicrosecondType>> {
    let values = strict(values, &DataType::Timestamp(TimeUnit::Microsecond, None))?;
    Ok(values.as_primitive::<TimestampMicrosecondType>().clone())
}

fn moment(micros: i64) -> Option<NaiveDateTime> {
    DateTime::from_timestamp_micros(micros).map(|time| time.naive_utc())
}

/// The years, months, days and time from one timestamp to another, or to today, as in PostgreSQL. Days are borrowed
/// from the month of the earlier one.
fn age(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("age", args, 1, 2)?;
    let first = moments(&args[0])?;
    let second = args.get(1).map(moments).transpose()?;
    let today = Utc::now().date_naive().and_hms_opt(0, 0, 0).map_or(0, |day| day.and_utc().timestamp_micros());
    let ages = (0..first.len()).map(|row| {
        let valid = first.is_valid(row) && second.as_ref().is_none_or(|second| second.is_valid(row));
        if !valid {
            return Ok(None);
        }
        let (to, from) = match &second {
            Some(second) => (first.value(row), second.value(row)),
            None => (today, first.value(row)),
        };
        match moment(to).zip(moment(from)) {
            Some((to, from)) => Ok(Some(between(from, to))),
            None => invalid("a timestamp is out of range"),
        }
    });
    Ok(Arc::new(ages.collect::<Result<PrimitiveArray<IntervalMonthDayNanoType>>>()?))
}

fn between(from: NaiveDateTime, to: NaiveDateTime) -> IntervalMonthDayNano {
    let (early, late, sign) = if from <= to { (from, to, 1) } else { (to, from, -1) };
    let of_day = |time: NaiveDateTime| {
        i64::from(time.num_seconds_from_midnight()) * 1_000_000_000 + i64::from(time.nanosecond())
    };
    let mut months = (late.year() - early.year()) * 12 + late.month() as i32 - early.month() as i32;
    let mut days = late.day() as i32 - early.day() as i32;
    let mut nanos = of_day(late) - of_day(early);
    if nanos < 0 {
        nanos += 86_400_000_000_000;
        days -= 1;
    }
    if days < 0 {
        days += days_of(early.year(), early.month());
        months -= 1;
    }
    IntervalMonthDayNano { months: sign * months, days: sign * days, nanoseconds: i64::from(sign) * nanos }
}

fn days_of(year: i32, month: u32) -> i32 {
    let next = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    let first = |(year, month): (i32, u32)| NaiveDate::from_ymd_opt(year, month, 1);
    first(next).zip(first((year, month))).map_or(30, |(next, this)| (next - this).num_days() as i32)
}

/// `make_time(hour, minute, second)`.
fn time(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("make_time", args, 3, 3)?;
    let (hours, minutes, seconds) = (integers_of(&args[0])?, integers_of(&args[1])?, floats_of(&args[2])?);
    let times = (0..hours.len()).map(|row| {
        let (Some(hour), Some(minute)) = (number_at(&hours, row), number_at(&minutes, row)) else { return Ok(None) };
        if seconds.is_null(row) {
            return Ok(None);
        }
        let second = seconds.value(row);
        match (0..24).contains(&hour) && (0..60).contains(&minute) && (0.0..60.0).contains(&second) {
            true => Ok(Some((hour * 60 + minute) * 60_000_000 + (second * 1e6).round() as i64)),
            false => invalid(format!("{hour}:{minute}:{second} is not a time of day")),
        }
    });
    Ok(Arc::new(times.collect::<Result<Time64MicrosecondArray>>()?))
}

/// Days since noon of 4714-11-24 BC, with the time as a fraction from midnight on, as in DuckDB.
fn julian(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("julian", args, 1, 1)?;
    let times = moments(&args[0])?;
    Ok(Arc::new(times.iter().map(|t| t.map(|t| t as f64 / 86_400e6 + 2_440_588.0)).collect::<Float64Array>()))
}
