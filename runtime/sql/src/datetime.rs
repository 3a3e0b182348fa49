//! Dates, times and zones as DuckDB has them: functions that DataFusion lacks, or has for the years 1677 to 2262 alone.
//!
//! The session's zone, that of `timestamptz '...'`, of `t::timestamptz` and of `now()`, is UTC. A column of a frame
//! keeps the zone that it has. Its parts, truncations and casts to a date or to a time without a zone are in the local
//! time of that zone.

mod clock;
mod plans;
mod series;
mod strptime;

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::timezone::Tz;
use arrow::array::types::{Date32Type, IntervalMonthDayNano, IntervalMonthDayNanoType, TimestampMicrosecondType};
use arrow::array::{Array, ArrayRef, AsArray, Date32Array, Int64Array, PrimitiveArray, TimestampMicrosecondArray};
use arrow::compute::kernels::cast_utils::string_to_datetime;
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type, IntervalUnit, TimeUnit};
use chrono::format::{Parsed, StrftimeItems, parse};
use chrono::{
    DateTime, Datelike, Days, MappedLocalTime, Months, NaiveDate, NaiveDateTime, Offset, TimeDelta, TimeZone, Timelike,
    Utc,
};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::ScalarUDF;
use datafusion::prelude::SessionContext;
use onrush_expr::calendar_interval::CalendarInterval;
use onrush_expr::diagnostics::plan_error;
use onrush_expr::error::external;
use onrush_expr::scalar_udf::{error, kernel_by_types, one_text, strict};
use onrush_expr::type_coercion;

use super::intervals::singular;
pub use plans::{lowered, meet};

const MICRO: TimeUnit = TimeUnit::Microsecond;
const NAIVE: DataType = DataType::Timestamp(MICRO, None);
const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// Times of the session's zone.
pub fn zoned() -> DataType {
    DataType::Timestamp(MICRO, Some("UTC".into()))
}

type Moments = TimestampMicrosecondArray;

pub fn register(context: &SessionContext) -> Result<()> {
    let state = context.state_ref();
    let mut state = state.write();
    let whole = |_: &[DataType]| Ok(DataType::Int64);
    let naive = |_: &[DataType]| Ok(NAIVE);
    let in_session = |_: &[DataType]| Ok(zoned());
    let functions: Vec<ScalarUDF> = vec![
        kernel_by_types("date_trunc", |types| Ok(time_of(types.get(1))), truncated),
        kernel_by_types("time_bucket", |types| Ok(bucket_of(types.get(1))), bucketed),
        kernel_by_types("timezone", |types| Ok(other_clock(types.get(1))), in_other_zone),
        kernel_by_types("to_timestamptz", in_session, |args| with_zone(&args[0], true)),
        kernel_by_types("try_to_timestamptz", in_session, |args| with_zone(&args[0], false)),
        kernel_by_types("to_timestamp", in_session, from_seconds),
        kernel_by_types("make_timestamp", naive, made),
        kernel_by_types("make_timestamptz", in_session, made_in_zone),
        kernel_by_types("strptime", naive, |args| read(args, true)),
        kernel_by_types("try_strptime", naive, |args| read(args, false)),
        kernel_by_types("date_diff", whole, |args| between("date_diff", args, borders)),
        kernel_by_types("date_sub", whole, |args| between("date_sub", args, elapsed)),
        kernel_by_types("calendar_part", whole, calendar_part),
        kernel_by_types("epoch_us", whole, |args| ticks(args, Some)),
        kernel_by_types("epoch_ns", whole, |args| ticks(args, |t| t.checked_mul(1000))),
        kernel_by_types("epoch_ms", |types| Ok(milliseconds_of(types.first())), milliseconds),
    ];
    for function in functions {
        state.register_udf(Arc::new(function))?;
    }
    Ok(())
}

fn out_of_range() -> DataFusionError {
    error("a date is out of range: times lie between the years -262143 and 262142")
}

/// Microseconds since 1970, in UTC where there is a zone.
fn moments(values: &ArrayRef) -> Result<(Moments, Option<Tz>)> {
    let zone = match values.data_type() {
        DataType::Timestamp(_, Some(zone)) => Some(known(zone)?),
        _ => None,
    };
    let moments = match values.data_type() {
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            strict(values, &DataType::Int64)?.as_primitive::<Int64Type>().unary(|t| t.div_euclid(1000))
        }
        DataType::Timestamp(_, zone) => {
            let micros = strict(values, &DataType::Timestamp(MICRO, zone.clone()))?;
            micros.as_primitive::<TimestampMicrosecondType>().clone().with_timezone_opt(None::<&str>)
        }
        _ => strict(values, &NAIVE)?.as_primitive::<TimestampMicrosecondType>().clone(),
    };
    Ok((moments, zone))
}

fn known(zone: &str) -> Result<Tz> {
    zone.parse::<Tz>().map_err(|_| {
        let diagnostic = plan_error("argument", format!("there is no time zone `{zone}`"));
        external(diagnostic.help("such as `Europe/Berlin` or `UTC`"))
    })
}

fn each(values: &Moments, f: impl Fn(i64) -> Option<i64>) -> Result<Moments> {
    values.try_unary(|t| f(t).ok_or_else(out_of_range))
}

/// Microseconds in another type of times.
fn as_type(moments: Moments, dtype: &DataType) -> Result<ArrayRef> {
    match dtype {
        DataType::Date32 => {
            let days: Date32Array = moments
                .try_unary::<_, Date32Type, _>(|t| i32::try_from(t.div_euclid(DAY)).map_err(|_| out_of_range()))?;
            Ok(Arc::new(days))
        }
        DataType::Timestamp(_, zone) => strict(&(Arc::new(moments.with_timezone_opt(zone.clone())) as ArrayRef), dtype),
        _ => Ok(Arc::new(moments)),
    }
}

fn moment(micros: i64) -> Option<NaiveDateTime> {
    DateTime::from_timestamp_micros(micros).map(|t| t.naive_utc())
}

fn micros_of(time: NaiveDateTime) -> i64 {
    time.and_utc().timestamp_micros()
}

/// Microseconds ahead of UTC.
fn ahead(zone: &Tz, utc: i64) -> Option<i64> {
    let offset = zone.offset_from_utc_datetime(&moment(utc)?).fix();
    Some(i64::from(offset.local_minus_utc()) * SECOND)
}

/// The local time of a zone.
fn local(zone: &Tz, utc: i64) -> Option<i64> {
    utc.checked_add(ahead(zone, utc)?)
}

/// The timestamp of a local time. A repeated time is the first one if the clocks were so far ahead then, and otherwise
/// the second. A skipped time is told by the clocks before.
fn utc(zone: &Tz, local: i64, was_ahead: Option<i64>) -> Option<i64> {
    let time = moment(local)?;
    let micros = |offset: &<Tz as TimeZone>::Offset| i64::from(offset.fix().local_minus_utc()) * SECOND;
    let ahead = match zone.offset_from_local_datetime(&time) {
        MappedLocalTime::Single(offset) => micros(&offset),
        MappedLocalTime::Ambiguous(first, _) if was_ahead == Some(micros(&first)) => micros(&first),
        MappedLocalTime::Ambiguous(_, second) => micros(&second),
        MappedLocalTime::None => micros(&zone.offset_from_local_datetime(&(time - TimeDelta::hours(3))).earliest()?),
    };
    local.checked_sub(ahead)
}

/// A function of the wall clock.
fn by_the_clock(zone: Option<&Tz>, t: i64, f: impl Fn(i64) -> Option<i64>) -> Option<i64> {
    match zone {
        None => f(t),
        Some(zone) => {
            let ahead = ahead(zone, t)?;
            utc(zone, f(t.checked_add(ahead)?)?, Some(ahead))
        }
    }
}

fn time_of(dtype: Option<&DataType>) -> DataType {
    match dtype {
        Some(dtype @ DataType::Timestamp(..)) => dtype.clone(),
        _ => NAIVE,
    }
}

fn part_of(args: &[ArrayRef]) -> Result<String> {
    Ok(singular(&one_text(&strict(&args[0], &type_coercion::TEXT)?, "a part")?))
}

/// A time that is written to the minute, to the second. A zone behind it stays.
pub fn with_seconds(text: &str) -> Option<String> {
    let day = b"dddd-dd-dd";
    let fits = |byte: u8, form: u8| match form {
        b'd' => byte.is_ascii_digit(),
        form => byte == form,
    };
    let (head, tail) = text.split_at_checked(16)?;
    let is_day = head.bytes().zip(day).all(|(byte, form)| fits(byte, *form));
    let is_time = head.bytes().skip(11).zip(b"dd:dd").all(|(byte, form)| fits(byte, *form));
    let is_between = matches!(head.as_bytes()[10], b' ' | b'T' | b't');
    let is_minute = !tail.starts_with([':', '.']) && !tail.starts_with(|c: char| c.is_ascii_digit());
    (is_day && is_time && is_between && is_minute).then(|| format!("{head}:00{tail}"))
}

/// The years of parts that are several whole years.
fn years_of(part: &str) -> Option<i32> {
    match part {
        "decade" => Some(10),
        "century" => Some(100),
        "millennium" => Some(1000),
        _ => None,
    }
}

/// Intervals by the full names of parts: `CalendarInterval` has short ones that mean something else here.
fn every_of(part: &str) -> Option<CalendarInterval> {
    CalendarInterval::parse(part).filter(|_| part.len() > 2)
}

/// The start of the part of time in which a moment lies.
fn cut(part: &str) -> Option<impl Fn(i64) -> Option<i64>> {
    let years = years_of(part);
    let every = if years.is_none() { Some(every_of(part)?) } else { None };
    Some(move |t: i64| match (every, years) {
        (Some(every), _) => every.truncate(t),
        (None, years) => {
            let years = years?;
            let year = moment(t)?.year().div_euclid(years) * years;
            Some(micros_of(NaiveDate::from_ymd_opt(year, 1, 1)?.and_hms_opt(0, 0, 0)?))
        }
    })
}

fn unknown<T>(function: &str, part: &str) -> Result<T> {
    let diagnostic = plan_error("argument", format!("`{function}` knows no part `{part}`")).help(
        "one of millennium, century, decade, year, quarter, month, week, day, hour, minute, second, millisecond, microsecond",
    );
    Err(external(diagnostic))
}

fn truncated(args: &[ArrayRef]) -> Result<ArrayRef> {
    let part = match part_of(args)?.as_str() {
        "dow" | "doy" | "isodow" => "day".to_string(),
        "yearweek" => "week".to_string(),
        "epoch" => "second".to_string(),
        part => part.to_string(),
    };
    let Some(cut) = cut(&part) else { return unknown("date_trunc", &part) };
    let to = time_of(Some(args[1].data_type()));
    let (values, zone) = moments(&args[1])?;
    // Every zone is ahead by whole seconds, but not always by whole minutes.
    let zone = zone.filter(|_| !matches!(part.as_str(), "second" | "millisecond" | "microsecond"));
    as_type(each(&values, |t| by_the_clock(zone.as_ref(), t, &cut))?, &to)
}

fn bucket_of(dtype: Option<&DataType>) -> DataType {
    match dtype {
        Some(DataType::Date32) => DataType::Date32,
        Some(DataType::Timestamp(_, zone)) => DataType::Timestamp(MICRO, zone.clone()),
        _ => NAIVE,
    }
}

/// A moment after months, then days, then a time.
pub fn moved(micros: i64, by: IntervalMonthDayNano, back: bool) -> Option<i64> {
    let sign = if back { -1 } else { 1 };
    let time = moment(micros)?;
    let (months, days) = (i64::from(by.months) * sign, i64::from(by.days) * sign);
    let size = |n: i64| u32::try_from(n.unsigned_abs()).ok();
    let time = match months < 0 {
        true => time.checked_sub_months(Months::new(size(months)?))?,
        false => time.checked_add_months(Months::new(size(months)?))?,
    };
    let time = match days < 0 {
        true => time.checked_sub_days(Days::new(days.unsigned_abs()))?,
        false => time.checked_add_days(Days::new(days.unsigned_abs()))?,
    };
    micros_of(time).checked_add(by.nanoseconds / 1000 * sign)
}

/// The origin of buckets of a width: whole months from 2000 on, and others from its first Monday.
fn bucket(width: IntervalMonthDayNano, origin: Option<i64>, t: i64) -> Result<i64> {
    let micros = i128::from(width.days) * i128::from(DAY) + i128::from(width.nanoseconds / 1000);
    let wrong = |message: &str| {
        let diagnostic = plan_error("argument", format!("the width of `time_bucket` {message}"));
        external(diagnostic.help("such as `interval 3 month` or `interval 15 minute`"))
    };
    match (width.months, micros) {
        (0, micros) if micros > 0 => {
            const MONDAY: i64 = 10_959 * DAY;
            let origin = i128::from(origin.unwrap_or(MONDAY));
            let start = (i128::from(t) - origin).div_euclid(micros) * micros + origin;
            i64::try_from(start).map_err(|_| out_of_range())
        }
        (months, 0) if months > 0 => {
            let month_of = |t: i64| moment(t).map(|t| i64::from(t.year()) * 12 + i64::from(t.month0()));
            let start = || {
                let origin = origin.map_or(Some(2000 * 12), month_of)?;
                let month = (month_of(t)? - origin).div_euclid(months.into()) * i64::from(months) + origin;
                let year = i32::try_from(month.div_euclid(12)).ok()?;
                let first = NaiveDate::from_ymd_opt(year, month.rem_euclid(12) as u32 + 1, 1)?;
                Some(micros_of(first.and_hms_opt(0, 0, 0)?))
            };
            start().ok_or_else(out_of_range)
        }
        (0, _) => Err(wrong("is not above zero")),
        (_, 0) => Err(wrong("is not above zero")),
        _ => Err(wrong("has months and a part of a month")),
    }
}

fn bucketed(args: &[ArrayRef]) -> Result<ArrayRef> {
    let widths = strict(&args[0], &DataType::Interval(IntervalUnit::MonthDayNano))?;
    let widths = widths.as_primitive::<IntervalMonthDayNanoType>();
    let (values, _) = moments(&args[1])?;
    enum Third {
        None,
        Offset(PrimitiveArray<IntervalMonthDayNanoType>),
        Origin(Moments),
        Zone(Tz),
    }
    let third = match args.get(2) {
        None => Third::None,
        Some(text) if type_coercion::is_text(text.data_type()) => {
            Third::Zone(known(&one_text(&strict(text, &type_coercion::TEXT)?, "a zone")?)?)
        }
        Some(by) if matches!(by.data_type(), DataType::Interval(_) | DataType::Duration(_)) => {
            let by = strict(by, &DataType::Interval(IntervalUnit::MonthDayNano))?;
            Third::Offset(by.as_primitive::<IntervalMonthDayNanoType>().clone())
        }
        Some(origin) => Third::Origin(moments(origin)?.0),
    };
    let starts = (0..values.len()).map(|row| {
        if widths.is_null(row) || values.is_null(row) {
            return Ok(None);
        }
        let (width, t) = (widths.value(row), values.value(row));
        let start = match &third {
            Third::None => bucket(width, None, t)?,
            Third::Zone(zone) => {
                let ahead = ahead(zone, t).ok_or_else(out_of_range)?;
                let start = bucket(width, None, t.checked_add(ahead).ok_or_else(out_of_range)?)?;
                utc(zone, start, Some(ahead)).ok_or_else(out_of_range)?
            }
            Third::Offset(by) if by.is_null(row) => return Ok(None),
            Third::Offset(by) => {
                let by = by.value(row);
                let start = bucket(width, None, moved(t, by, true).ok_or_else(out_of_range)?)?;
                moved(start, by, false).ok_or_else(out_of_range)?
            }
            Third::Origin(origin) if origin.is_null(row) => return Ok(None),
            Third::Origin(origin) => bucket(width, Some(origin.value(row)), t)?,
        };
        Ok(Some(start))
    });
    as_type(starts.collect::<Result<Moments>>()?, &bucket_of(Some(args[1].data_type())))
}

/// Converts a time of a zone to another zone's local time, and a local time to the time.
fn other_clock(dtype: Option<&DataType>) -> DataType {
    match dtype {
        Some(DataType::Timestamp(_, Some(_))) => NAIVE,
        _ => zoned(),
    }
}

fn in_other_zone(args: &[ArrayRef]) -> Result<ArrayRef> {
    let to = other_clock(Some(args[1].data_type()));
    let (values, from) = moments(&args[1])?;
    let names = strict(&args[0], &type_coercion::TEXT)?;
    let names = names.as_string_view();
    let mut zones: HashMap<&str, Tz> = HashMap::new();
    let mut out = Vec::with_capacity(values.len());
    for row in 0..values.len() {
        if names.is_null(row) || values.is_null(row) {
            out.push(None);
            continue;
        }
        let (name, t) = (names.value(row), values.value(row));
        if !zones.contains_key(name) {
            zones.insert(name, known(name)?);
        }
        let zone = &zones[name];
        let moved = if from.is_some() { local(zone, t) } else { utc(zone, t, None) };
        out.push(Some(moved.ok_or_else(out_of_range)?));
    }
    as_type(Moments::from(out), &to)
}

/// Times of the session's zone, of strings and of times of other zones.
fn with_zone(values: &ArrayRef, fail: bool) -> Result<ArrayRef> {
    if !type_coercion::is_text(values.data_type()) {
        return as_type(moments(values)?.0, &zoned());
    }
    let texts = strict(values, &type_coercion::TEXT)?;
    let times = texts.as_string_view().iter().map(|text| {
        let Some(text) = text else { return Ok(None) };
        let whole = with_seconds(text.trim());
        match string_to_datetime(&Utc, whole.as_deref().unwrap_or(text.trim())) {
            Ok(time) => Ok(Some(time.timestamp_micros())),
            Err(_) if !fail => Ok(None),
            Err(_) => Err(cast_failed(text)),
        }
    });
    as_type(times.collect::<Result<Moments>>()?, &zoned())
}

fn cast_failed(text: &str) -> DataFusionError {
    let diagnostic = onrush_wire::Diagnostic::error(
        onrush_wire::Class::Data,
        "cast",
        format!("the text `{text}` cannot be cast to `timestamptz`"),
    );
    let help = "such as `2024-01-31 10:00:00+01` or `2024-01-31 10:00:00 Europe/Berlin`; `try_cast` gives null";
    external(diagnostic.help(help))
}

fn from_seconds(args: &[ArrayRef]) -> Result<ArrayRef> {
    if type_coercion::is_text(args[0].data_type()) || type_coercion::is_date_or_time(args[0].data_type()) {
        return with_zone(&args[0], true);
    }
    let seconds = strict(&args[0], &DataType::Float64)?;
    let micros = |s: f64| {
        let t = (s * 1e6).round();
        (t.abs() < 9.2e18).then_some(t as i64).filter(|t| moment(*t).is_some()).ok_or_else(out_of_range)
    };
    let moments: Moments = seconds.as_primitive::<Float64Type>().try_unary(micros)?;
    as_type(moments, &zoned())
}

fn made(args: &[ArrayRef]) -> Result<ArrayRef> {
    Ok(Arc::new(composed(args)?))
}

fn made_in_zone(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (parts, zone) = match args.last() {
        Some(name) if type_coercion::is_text(name.data_type()) => {
            let zone = one_text(&strict(name, &type_coercion::TEXT)?, "a zone")?;
            (&args[..args.len() - 1], Some(known(&zone)?))
        }
        _ => (args, None),
    };
    let times = composed(parts)?;
    let times = match zone {
        Some(zone) => each(&times, |t| utc(&zone, t, None))?,
        None => times,
    };
    as_type(times, &zoned())
}

/// Times from their year, month, day, hour, minute and second, or from microseconds.
fn composed(args: &[ArrayRef]) -> Result<Moments> {
    if let [micros] = args {
        return Ok(strict(micros, &DataType::Int64)?.as_primitive::<Int64Type>().unary(|t| t));
    }
    let [.., seconds] = args else { return Err(error("a time without parts")) };
    if args.len() != 6 {
        let diagnostic = plan_error("argument", "`make_timestamp` takes year, month, day, hour, minute and second");
        return Err(external(diagnostic));
    }
    let whole = args[..5].iter().map(|a| strict(a, &DataType::Int64)).collect::<Result<Vec<_>>>()?;
    let seconds = strict(seconds, &DataType::Float64)?;
    let seconds = seconds.as_primitive::<Float64Type>();
    let at = |part: usize, row: usize| {
        let part = whole[part].as_primitive::<Int64Type>();
        part.is_valid(row).then(|| part.value(row))
    };
    let times = (0..seconds.len()).map(|row| {
        let parts = (0..5).map(|part| at(part, row)).collect::<Option<Vec<i64>>>();
        let Some(parts) = parts.filter(|_| seconds.is_valid(row)) else { return Ok(None) };
        let second = seconds.value(row);
        let time = || {
            let small = |n: i64| u32::try_from(n).ok();
            let date = NaiveDate::from_ymd_opt(i32::try_from(parts[0]).ok()?, small(parts[1])?, small(parts[2])?)?;
            let time = date.and_hms_opt(small(parts[3])?, small(parts[4])?, 0)?;
            (0.0..60.0).contains(&second).then(|| micros_of(time) + (second * 1e6).round() as i64)
        };
        time()
            .map(Some)
            .ok_or_else(|| error(format!("there is no time with the parts {parts:?} and the second {second}")))
    });
    times.collect()
}

/// A format of `strptime`: DuckDB's, or one with specifiers that chrono alone has.
enum Format {
    Own(strptime::Format),
    Chrono(String),
}

impl Format {
    fn new(format: &str) -> Format {
        strptime::Format::parse(format).map_or_else(
            || {
                // `%f` with the point, or as so many digits.
                let format = format.replace(".%f", "\0").replace("%f", "%6f").replace("%g", "%3f").replace("%n", "%9f");
                Format::Chrono(format.replace('\0', "%.f"))
            },
            Format::Own,
        )
    }

    /// Microseconds since 1970, or `None` if the string is not in the format.
    fn read(&self, text: &str) -> Option<i64> {
        let format = match self {
            Format::Own(format) => return format.read(text),
            Format::Chrono(format) => format,
        };
        let mut parsed = Parsed::new();
        parse(&mut parsed, text.trim(), StrftimeItems::new(format)).ok()?;
        let offset = parsed.offset().unwrap_or(0);
        let whole = parsed.to_naive_datetime_with_offset(offset).ok();
        let day = || {
            let hour = parsed.hour_div_12().map_or(0, |half| half * 12) + parsed.hour_mod_12().unwrap_or(0);
            parsed.to_naive_date().ok()?.and_hms_opt(hour, 0, 0)
        };
        Some(micros_of(whole.or_else(day)?) - i64::from(offset) * SECOND)
    }
}

/// The format, or the list of formats, of which the first that fits a string is taken.
fn formats(of: &ArrayRef) -> Result<Vec<String>> {
    if !matches!(of.data_type(), DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..)) {
        return Ok(vec![one_text(&strict(of, &type_coercion::TEXT)?, "a format")?]);
    }
    let lists = strict(of, &DataType::List(Arc::new(Field::new_list_field(type_coercion::TEXT, true))))?;
    let list = lists.as_list::<i32>().value(0);
    Ok(list.as_string_view().iter().flatten().map(str::to_string).collect())
}

/// Parses strings in a format of C's `strptime`, or in one of a list.
fn read(args: &[ArrayRef], fail: bool) -> Result<ArrayRef> {
    let texts = strict(&args[0], &type_coercion::TEXT)?;
    if args[1].is_null(0) {
        return Ok(arrow::array::new_null_array(&NAIVE, texts.len()));
    }
    let names = formats(&args[1])?;
    let formats: Vec<Format> = names.iter().map(|format| Format::new(format)).collect();
    let times = texts.as_string_view().iter().map(|text| match text {
        None => Ok(None),
        Some(text) => match formats.iter().find_map(|format| format.read(text)) {
            None if fail => Err(error(format!("the string `{text}` is not in the format `{}`", names.join("` or `")))),
            found => Ok(found),
        },
    });
    Ok(Arc::new(times.collect::<Result<Moments>>()?))
}

/// A local time, and its UTC offset.
#[derive(Clone, Copy)]
struct ZoneTime {
    local: i64,
    ahead: i64,
}

/// Two times by the clocks of one zone. One without a zone is what the other's clocks show; of two zones the one that
/// is not the session's counts, and the first.
fn on_one_clock(a: &ArrayRef, b: &ArrayRef) -> Result<[Vec<Option<ZoneTime>>; 2]> {
    let is_session = |dtype: &DataType| matches!(dtype, DataType::Timestamp(_, Some(zone)) if &**zone == "UTC");
    let ((x, from), (y, to)) = (moments(a)?, moments(b)?);
    let zone = match (&from, &to) {
        (Some(_), Some(other)) if is_session(a.data_type()) => Some(other),
        (Some(zone), _) | (None, Some(zone)) => Some(zone),
        (None, None) => None,
    };
    let shown = |t: i64, has_zone: bool| match zone {
        None => Some(ZoneTime { local: t, ahead: 0 }),
        Some(zone) if has_zone => {
            let ahead = ahead(zone, t)?;
            Some(ZoneTime { local: t.checked_add(ahead)?, ahead })
        }
        Some(zone) => Some(ZoneTime { local: t, ahead: t.checked_sub(utc(zone, t, None)?)? }),
    };
    let all = |values: Moments, has_zone: bool| {
        let shown = values.iter().map(|t| t.map(|t| shown(t, has_zone).ok_or_else(out_of_range)).transpose());
        shown.collect::<Result<Vec<_>>>()
    };
    Ok([all(x, from.is_some())?, all(y, to.is_some())?])
}

fn between(
    name: &str,
    args: &[ArrayRef],
    count: fn(&str, ZoneTime, ZoneTime) -> Option<Option<i64>>,
) -> Result<ArrayRef> {
    let part = part_of(args)?;
    let [from, to] = on_one_clock(&args[1], &args[2])?;
    let counts = from.into_iter().zip(to).map(|(from, to)| match from.zip(to) {
        None => Ok(None),
        Some((from, to)) => match count(&part, from, to) {
            None => unknown(name, &part),
            Some(None) => Err(out_of_range()),
            Some(count) => Ok(count),
        },
    });
    Ok(Arc::new(counts.collect::<Result<Int64Array>>()?))
}

/// How many borders of a part lie between two times. The outer `None`: there is no such part.
fn borders(part: &str, from: ZoneTime, to: ZoneTime) -> Option<Option<i64>> {
    let every = every_of(part);
    // Hours and less pass while clocks are put forward and back.
    if let Some(CalendarInterval::Micros(n)) = every
        && n < DAY
    {
        let start = |t: ZoneTime| t.local.checked_sub(t.local.rem_euclid(n))?.checked_sub(t.ahead);
        return Some(start(to).zip(start(from)).and_then(|(to, from)| Some(to.checked_sub(from)? / n)));
    }
    let (from, to) = (from.local, to.local);
    if let Some(years) = years_of(part) {
        let index = |t: i64| moment(t).map(|t| t.year().div_euclid(years)).map(i64::from);
        return Some(index(to).zip(index(from)).map(|(to, from)| to - from));
    }
    // Whole weeks between the days, wherever a week begins.
    if part == "week" {
        return Some(Some((to.div_euclid(DAY) - from.div_euclid(DAY)) / 7));
    }
    let every = every?;
    Some(every.index(to).zip(every.index(from)).map(|(to, from)| to - from))
}

/// How many whole parts lie between two times.
fn elapsed(part: &str, from: ZoneTime, to: ZoneTime) -> Option<Option<i64>> {
    let months = match part {
        "month" => 1,
        "quarter" => 3,
        "year" => 12,
        "decade" => 120,
        "century" => 1200,
        "millennium" => 12_000,
        _ => 0,
    };
    if months == 0 {
        let micros = match every_of(part)? {
            CalendarInterval::Micros(n) => n,
            _ => 7 * DAY,
        };
        let (from, to) = match micros < DAY {
            true => (from.local - from.ahead, to.local - to.ahead),
            false => (from.local, to.local),
        };
        return Some(to.checked_sub(from).map(|between| between / micros));
    }
    let (begin, end) = (from.local, to.local);
    if end < begin {
        return elapsed(part, to, from).map(|count| count.map(|n| -n));
    }
    let whole = || {
        let index = |t: i64| CalendarInterval::Months(1).index(t);
        let mut count = index(end)? - index(begin)?;
        let after = |count: i64| moved(begin, IntervalMonthDayNano::new(i32::try_from(count).ok()?, 0, 0), false);
        if after(count)? > end {
            count -= 1;
        }
        Some(count / months)
    };
    Some(whole())
}

/// Parts that DataFusion does not know.
pub const PARTS: [&str; 13] = [
    "century",
    "decade",
    "millennium",
    "isoyear",
    "era",
    "yearweek",
    "isodow",
    "millisecond",
    "microsecond",
    "nanosecond",
    "timezone",
    "timezone_hour",
    "timezone_minute",
];

fn calendar_part(args: &[ArrayRef]) -> Result<ArrayRef> {
    let part = part_of(args)?;
    let (values, zone) = moments(&args[1])?;
    let of = |t: i64| -> Option<i64> {
        let ahead = match &zone {
            Some(zone) => ahead(zone, t)?,
            None => 0,
        };
        let time = moment(t.checked_add(ahead)?)?;
        let year = i64::from(time.year());
        let nanos = i64::from(time.second()) * 1_000_000_000 + i64::from(time.nanosecond());
        let up = |n: i64| if year > 0 { (year - 1) / n + 1 } else { -((-year) / n + 1) };
        Some(match part.as_str() {
            "century" => up(100),
            "millennium" => up(1000),
            "decade" => year / 10,
            "isoyear" => time.iso_week().year().into(),
            "era" => i64::from(year > 0),
            "yearweek" => i64::from(time.iso_week().year()) * 100 + i64::from(time.iso_week().week()),
            "isodow" => time.weekday().number_from_monday().into(),
            "millisecond" => nanos / 1_000_000,
            "microsecond" => nanos / 1_000,
            "nanosecond" => nanos,
            "timezone" => ahead / SECOND,
            "timezone_hour" => ahead / (3600 * SECOND),
            _ => ahead / (60 * SECOND) % 60,
        })
    };
    if !PARTS.contains(&part.as_str()) {
        return unknown("date_part", &part);
    }
    let parts: Int64Array = values.try_unary::<_, Int64Type, _>(|t| of(t).ok_or_else(out_of_range))?;
    Ok(Arc::new(parts))
}

/// The part under the name that [`calendar_part`] has for it.
pub fn own_part(part: &str) -> Option<String> {
    Some(singular(part)).filter(|part| PARTS.contains(&part.as_str()))
}

fn ticks(args: &[ArrayRef], f: fn(i64) -> Option<i64>) -> Result<ArrayRef> {
    let (values, _) = moments(&args[0])?;
    let out: Int64Array = values.try_unary::<_, Int64Type, _>(|t| f(t).ok_or_else(out_of_range))?;
    Ok(Arc::new(out))
}

fn milliseconds_of(dtype: Option<&DataType>) -> DataType {
    if dtype.is_some_and(DataType::is_integer) { NAIVE } else { DataType::Int64 }
}

fn milliseconds(args: &[ArrayRef]) -> Result<ArrayRef> {
    if !args[0].data_type().is_integer() {
        return ticks(args, |t| t.checked_add(500).map(|t| t.div_euclid(1000)));
    }
    let values = strict(&args[0], &DataType::Int64)?;
    let micros = |ms: i64| ms.checked_mul(1000).ok_or_else(out_of_range);
    let times: Moments = values.as_primitive::<Int64Type>().try_unary(micros)?;
    Ok(Arc::new(times))
}
