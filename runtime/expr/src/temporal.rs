//! Functions of dates, times and durations, under `.dt`. Fields of a timestamp with a zone are those of its wall clock.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use arrow::compute::{DatePart, date_part};
use arrow::datatypes::{DataType, TimeUnit, TimestampMicrosecondType};
use chrono::{DateTime, Datelike, Months, NaiveDate, NaiveDateTime, TimeDelta};
use datafusion::functions::expr_fn as df;
use datafusion::logical_expr::{Expr, Operator, binary_expr, cast};
use onrush_wire::Diagnostic;

use super::function::{Call, Function, Kind, function};
use super::scalar_udf::{Body, error, kernel, literal_text};
use super::{Lower, TypedExpr, lit, zones};
use crate::calendar_interval::{self, CalendarInterval, TimeSpan};
use crate::type_coercion::TEXT;

const R: Kind = Kind::Row;
const MICRO: TimeUnit = TimeUnit::Microsecond;

/// A calendar field by Arrow's kernel. Polars has 8 bits for most of them, in which `hour() * 60` wraps.
macro_rules! part {
    ($name:literal, $aliases:expr, $params:literal, $part:expr) => {
        function($name, $aliases, R, $params, |_, c| {
            let body: Body = |args| Ok(date_part(&args[0], $part)?);
            let value = field_source(&c.this());
            let expr = kernel($name, DataType::Int32, body).call(vec![value]);
            Ok(c.this().with(expr, DataType::Int32))
        })
    };
}

/// A field that chrono computes from a date.
macro_rules! day_field {
    ($name:literal, $aliases:expr, $f:expr) => {
        function($name, $aliases, R, "self:date", |_, c| {
            let body: Body = |args| {
                let f: fn(NaiveDate) -> i64 = $f;
                let moments = args[0].as_primitive::<TimestampMicrosecondType>();
                Ok(Arc::new(moments.iter().map(|t| Some(f(moment(t?)?.date()))).collect::<arrow::array::Int64Array>()))
            };
            let expr = kernel($name, DataType::Int64, body).call(vec![wall(&c.this())]);
            Ok(c.this().with(cast(expr, DataType::Int32), DataType::Int32))
        })
    };
}

/// A duration in whole units, cut towards zero.
macro_rules! total {
    ($name:literal, $micros:expr) => {
        function($name, &[], R, "self:dur", |_, c| {
            let ticks = c.this().to(&DataType::Duration(MICRO)).to(&DataType::Int64).expr;
            Ok(c.this().with(binary_expr(ticks, Operator::Divide, lit($micros as i64)), DataType::Int64))
        })
    };
}

pub const FUNCTIONS: &[Function] = &[
    part!("dt.year", &[], "self:date", DatePart::Year),
    part!("dt.month", &[], "self:date", DatePart::Month),
    part!("dt.day", &["dt.dayofmonth"], "self:date", DatePart::Day),
    part!("dt.hour", &[], "self:time", DatePart::Hour),
    part!("dt.minute", &[], "self:time", DatePart::Minute),
    part!("dt.second", &[], "self:time", DatePart::Second),
    part!("dt.quarter", &[], "self:date", DatePart::Quarter),
    part!("dt.week", &["dt.weekofyear"], "self:date", DatePart::Week),
    part!("dt.ordinal_day", &["dt.dayofyear"], "self:date", DatePart::DayOfYear),
    day_field!("dt.iso_year", &[], |d| d.iso_week().year().into()),
    // Monday is 1, Sunday is 7.
    day_field!("dt.weekday", &["dt.dayofweek"], |d| d.weekday().number_from_monday().into()),
    day_field!("dt.days_in_month", &[], |d| d.num_days_in_month().into()),
    function("dt.is_leap_year", &[], R, "self:date", |_, c| {
        let body: Body = |args| {
            let moments = args[0].as_primitive::<TimestampMicrosecondType>();
            let leap = moments.iter().map(|t| Some(moment(t?)?.date().leap_year()));
            Ok(Arc::new(leap.collect::<arrow::array::BooleanArray>()))
        };
        Ok(c.this()
            .with(kernel("is_leap_year", DataType::Boolean, body).call(vec![wall(&c.this())]), DataType::Boolean))
    }),
    function("dt.is_weekend", &[], R, "self:date", |_, c| {
        let body: Body = |args| {
            let moments = args[0].as_primitive::<TimestampMicrosecondType>();
            let weekend = moments.iter().map(|t| Some(moment(t?)?.weekday().number_from_monday() > 5));
            Ok(Arc::new(weekend.collect::<arrow::array::BooleanArray>()))
        };
        Ok(c.this().with(kernel("is_weekend", DataType::Boolean, body).call(vec![wall(&c.this())]), DataType::Boolean))
    }),
    function("dt.millisecond", &[], R, "self:time", |_, c| Ok(fraction(c, 1_000_000))),
    function("dt.microsecond", &[], R, "self:time", |_, c| Ok(fraction(c, 1_000))),
    function("dt.nanosecond", &[], R, "self:time", |_, c| Ok(fraction(c, 1))),
    function("dt.date", &[], R, "self:date", |_, c| {
        Ok(c.this().with(cast(wall(&c.this()), DataType::Date32), DataType::Date32))
    }),
    function("dt.time", &[], R, "self:date", |_, c| {
        let out = DataType::Time64(MICRO);
        Ok(c.this().with(cast(wall(&c.this()), out.clone()), out))
    }),
    function("dt.truncate", &["dt.floor"], R, "self:date every:#str", truncate),
    // The time of day stays, as in Polars; `dt.truncate("1mo")` cuts it off.
    function("dt.month_start", &[], R, "self:date", |_, c| {
        let body: Body = |args| shifted(args, |t, _| Some(t.date().with_day(1)?.and_time(t.time())));
        Ok(back(&c.this(), kernel("month_start", DataType::Timestamp(MICRO, None), body).call(vec![wall(&c.this())])))
    }),
    function("dt.month_end", &[], R, "self:date", |_, c| {
        let body: Body = |args| {
            shifted(args, |t, _| {
                let date = t.date().with_day(u32::from(t.date().num_days_in_month()))?;
                Some(date.and_time(t.time()))
            })
        };
        Ok(back(&c.this(), kernel("month_end", DataType::Timestamp(MICRO, None), body).call(vec![wall(&c.this())])))
    }),
    function("dt.offset_by", &[], R, "self:date by:#str", offset_by),
    function("dt.to_string", &["dt.strftime", "dt.format"], R, "self:time format:#str?", written),
    function("dt.epoch", &["dt.timestamp"], R, "self:date time_unit:#str?", |l, c| {
        let unit = match c.choice(l, 1, &["us", "ns", "ms", "s", "d"])? {
            "ns" => TimeUnit::Nanosecond,
            "ms" => TimeUnit::Millisecond,
            "s" => TimeUnit::Second,
            "d" => {
                let days = c.this().to(&DataType::Date32).to(&DataType::Int32).expr;
                return Ok(c.this().with(days, DataType::Int32));
            }
            _ => MICRO,
        };
        let zone = match &c.this().dtype {
            DataType::Timestamp(_, zone) => zone.clone(),
            _ => None,
        };
        let ticks = c.this().to(&DataType::Timestamp(unit, zone)).to(&DataType::Int64).expr;
        Ok(c.this().with(ticks, DataType::Int64))
    }),
    total!("dt.total_days", 86_400_000_000u64),
    total!("dt.total_hours", 3_600_000_000u64),
    total!("dt.total_minutes", 60_000_000u64),
    total!("dt.total_seconds", 1_000_000u64),
    total!("dt.total_milliseconds", 1_000u64),
    total!("dt.total_microseconds", 1u64),
    function("dt.total_nanoseconds", &[], R, "self:dur", |_, c| {
        Ok(c.this().with(c.this().to(&DataType::Duration(TimeUnit::Nanosecond)).i64(), DataType::Int64))
    }),
    function("dt.convert_time_zone", &[], R, "self:date time_zone:#str", |l, c| {
        let zone = zone(l, c)?;
        match &c.this().dtype {
            DataType::Timestamp(unit, _) => {
                // Without a zone it is taken as UTC, as in Polars.
                let utc = match &c.this().dtype {
                    DataType::Timestamp(_, None) => c.this().to(&DataType::Timestamp(*unit, Some("UTC".into()))),
                    _ => c.this(),
                };
                Ok(utc.to(&DataType::Timestamp(*unit, Some(zone))))
            }
            _ => Err(c.wrong(l, 0, "only a timestamp can have a time zone")),
        }
    }),
    function(
        "dt.replace_time_zone",
        &["dt.tz_localize"],
        R,
        "self:date time_zone:#any? ambiguous:#str? non_existent:#str?",
        |l, c| match &c.this().dtype {
            DataType::Timestamp(unit, _) => {
                let wall = wall(&c.this());
                if c.opt(1).is_some_and(|zone| zone.dtype != DataType::Null) && c.text(1).is_none() {
                    return Err(c.wrong(l, 1, "a time zone is a text such as \"Europe/Berlin\", or `None`"));
                }
                if c.text(1).is_none() {
                    let naive = DataType::Timestamp(*unit, None);
                    return Ok(c.this().with(wall, DataType::Timestamp(MICRO, None)).to(&naive));
                }
                let ambiguous = c.choice(l, 2, &["raise", "earliest", "latest", "null"])?;
                let non_existent = c.choice(l, 3, &["raise", "null"])?;
                let zone = zone(l, c)?;
                let expr = zones::localized(wall, (*unit, &zone), ambiguous, non_existent, c.span);
                Ok(c.this().with(expr, DataType::Timestamp(*unit, Some(zone))))
            }
            _ => Err(c.wrong(l, 0, "only a timestamp can have a time zone")),
        },
    ),
    function("dt.cast_time_unit", &[], R, "self:time time_unit:#str", |l, c| {
        let unit = match c.choice(l, 1, &["us", "ns", "ms", "s"])? {
            "ns" => TimeUnit::Nanosecond,
            "ms" => TimeUnit::Millisecond,
            "s" => TimeUnit::Second,
            _ => MICRO,
        };
        match &c.this().dtype {
            DataType::Timestamp(_, zone) => Ok(c.this().to(&DataType::Timestamp(unit, zone.clone()))),
            DataType::Duration(_) => Ok(c.this().to(&DataType::Duration(unit))),
            _ => Err(c.wrong(l, 0, "only timestamps and durations have a time unit")),
        }
    }),
];

fn zone(lower: &Lower, call: &Call) -> Result<Arc<str>, Diagnostic> {
    let name = call.text(1).unwrap_or("UTC");
    match name.parse::<arrow::array::timezone::Tz>() {
        Ok(_) => Ok(name.into()),
        Err(_) => Err(call
            .wrong(lower, 1, format!("there is no time zone `{name}`"))
            .help("such as \"Europe/Berlin\" or \"UTC\"")),
    }
}

/// The type that Arrow's field kernel reads; a `Date64` is a date.
fn field_source(value: &TypedExpr) -> Expr {
    match value.dtype {
        DataType::Date64 => value.to(&DataType::Date32).expr,
        DataType::Null => value.to(&DataType::Date32).expr,
        _ => value.expr.clone(),
    }
}

/// The wall clock as a timestamp without a zone, in microseconds.
fn wall(value: &TypedExpr) -> Expr {
    match &value.dtype {
        DataType::Timestamp(_, Some(_)) => {
            cast(df::to_local_time(vec![value.expr.clone()]), DataType::Timestamp(MICRO, None))
        }
        _ => value.to(&DataType::Timestamp(MICRO, None)).expr,
    }
}

/// From the wall clock back to the column's own type.
fn back(value: &TypedExpr, wall: Expr) -> TypedExpr {
    if let DataType::Timestamp(unit, Some(zone)) = &value.dtype {
        return value.with(zones::moved(wall, value.expr.clone(), (*unit, zone)), value.dtype.clone());
    }
    value.with(cast(wall, value.dtype.clone()), value.dtype.clone())
}

fn moment(micros: i64) -> Option<NaiveDateTime> {
    DateTime::from_timestamp_micros(micros).map(|t| t.naive_utc())
}

/// Nanoseconds within the second, in units of `per`.
fn fraction(call: &Call, per: i64) -> TypedExpr {
    let nanos = match &call.this().dtype {
        DataType::Time32(_) | DataType::Time64(_) => call.this().to(&DataType::Time64(TimeUnit::Nanosecond)).i64(),
        DataType::Duration(_) => call.this().to(&DataType::Duration(TimeUnit::Nanosecond)).i64(),
        DataType::Timestamp(_, zone) => call.this().to(&DataType::Timestamp(TimeUnit::Nanosecond, zone.clone())).i64(),
        _ => call.this().to(&DataType::Timestamp(TimeUnit::Nanosecond, None)).i64(),
    };
    let whole = super::scalar_udf::floor_mod(&DataType::Int64).call(vec![nanos, lit(1_000_000_000i64)]);
    call.this().with(cast(binary_expr(whole, Operator::Divide, lit(per)), DataType::Int32), DataType::Int32)
}

fn truncate(lower: &mut Lower, call: &Call) -> Result<TypedExpr, Diagnostic> {
    let (value, text) = (call.this(), call.text(1).unwrap_or_default());
    let span = TimeSpan::parse(text).filter(|span| span.months == 0 && span.days == 0 && span.nanos > 0);
    // Less than a microsecond, of whole seconds or parts of one: whatever the zone is, it is counted from 1970.
    if let (DataType::Timestamp(TimeUnit::Nanosecond, _), Some(TimeSpan { nanos, .. })) = (&value.dtype, span)
        && nanos % 1_000 != 0
    {
        let rest = super::scalar_udf::floor_mod(&DataType::Int64).call(vec![value.i64(), lit(nanos)]);
        let ticks = binary_expr(value.i64(), Operator::Minus, rest);
        return Ok(value.with(cast(ticks, value.dtype.clone()), value.dtype.clone()));
    }
    if CalendarInterval::parse(text).is_none() {
        return Err(call.wrong(lower, 1, format!("`{text}` is not a time span")).help(calendar_interval::HELP));
    }
    let body: Body = |args| {
        shifted(args, |t, text| moment(CalendarInterval::parse(text)?.truncate(t.and_utc().timestamp_micros())?))
    };
    let args = vec![wall(&value), call.arg(1).text()];
    Ok(back(&value, kernel("truncate", DataType::Timestamp(MICRO, None), body).call(args)))
}

/// Hours pass at the same speed in every zone; days and months go by the wall clock.
fn offset_by(lower: &mut Lower, call: &Call) -> Result<TypedExpr, Diagnostic> {
    let (value, text) = (call.this(), call.text(1).unwrap_or_default());
    let Some(span) = TimeSpan::parse(text) else {
        return Err(call.wrong(lower, 1, format!("`{text}` is not a time span")).help(calendar_interval::HELP));
    };
    let function = kernel("offset_by", DataType::Timestamp(MICRO, None), |args| shifted(args, offset));
    let text_of = |text: &str| super::scalar_udf::text_literal(text);
    let is_calendar = span.months != 0 || span.days != 0;
    let moved = match &value.dtype {
        DataType::Timestamp(unit, Some(zone)) => {
            let parts = span.parts();
            let mut moved = value.clone();
            if is_calendar {
                let text = if span.nanos == 0 { text } else { &parts.0 };
                moved = back(&value, function.call(vec![wall(&value), text_of(text)]));
            }
            if span.nanos != 0 {
                let text = if is_calendar { &parts.1 } else { text };
                let utc = DataType::Timestamp(MICRO, Some("UTC".into()));
                let moment = df::to_local_time(vec![moved.to(&utc).expr]);
                let out = DataType::Timestamp(*unit, Some(Arc::clone(zone)));
                let expr = cast(function.call(vec![moment, text_of(text)]), utc);
                moved = value.with(cast(expr, out.clone()), out);
            }
            moved
        }
        _ => back(&value, function.call(vec![wall(&value), call.arg(1).text()])),
    };
    // The nanoseconds behind the microseconds.
    let DataType::Timestamp(TimeUnit::Nanosecond, _) = &value.dtype else { return Ok(moved) };
    let rest = super::scalar_udf::floor_mod(&DataType::Int64).call(vec![value.i64(), lit(1_000i64)]);
    let more = binary_expr(rest, Operator::Plus, lit(span.nanos.rem_euclid(1_000)));
    let ticks = binary_expr(moved.i64(), Operator::Plus, more);
    Ok(value.with(cast(ticks, value.dtype.clone()), value.dtype.clone()))
}

/// A moment later by the span that the text is: months, then days, then whole microseconds.
fn offset(t: NaiveDateTime, text: &str) -> Option<NaiveDateTime> {
    let span = TimeSpan::parse(text)?;
    let months = Months::new(u32::try_from(span.months.unsigned_abs()).ok()?);
    let t = if span.months < 0 { t.checked_sub_months(months)? } else { t.checked_add_months(months)? };
    let t = t.checked_add_signed(TimeDelta::try_days(span.days)?)?;
    t.checked_add_signed(TimeDelta::microseconds(span.nanos.div_euclid(1_000)))
}

/// Dates and times by a format; those with a zone in local time of their zone.
fn written(lower: &mut Lower, call: &Call) -> Result<TypedExpr, Diagnostic> {
    use chrono::format::{Fixed, Item, Numeric, StrftimeItems};
    let value = call.this();
    let is_time = matches!(value.dtype, DataType::Time32(_) | DataType::Time64(_));
    if !is_time && !crate::type_coercion::is_date_or_time(&value.dtype) && value.dtype != DataType::Null {
        let found = crate::diagnostics::type_name(&value.dtype);
        let message = format!("`dt.to_string` needs a date or a time, but this is `{found}`");
        return Err(call.wrong(lower, 0, message).help("a duration as a number: `.dt.total_seconds()`"));
    }
    let default = match &value.dtype {
        DataType::Date32 => "%Y-%m-%d",
        _ if is_time => "%H:%M:%S%.f",
        _ => "%Y-%m-%d %H:%M:%S%.f",
    };
    let format = call.text(1).unwrap_or(default).to_string();
    let wrong = |what: &str| {
        Err(call.wrong(lower, 1, format!("`{format}` is not a {what} format")).help("such as \"%Y-%m-%d %H:%M\""))
    };
    if StrftimeItems::new(&format).any(|item| matches!(item, Item::Error)) {
        return wrong("time");
    }
    let text = super::scalar_udf::text_literal(&format);
    if is_time {
        use std::fmt::Write;
        // Without a date there is neither a day nor a zone to write.
        if write!(String::new(), "{}", chrono::NaiveTime::MIN.format(&format)).is_err() {
            return wrong("time of day's");
        }
        let ticks = cast(value.to(&DataType::Time64(MICRO)).i64(), DataType::Timestamp(MICRO, None));
        return Ok(value.with(kernel("to_string", TEXT, wall_text).call(vec![ticks, text]), TEXT));
    }
    let of_zone = |item: Item| match item {
        Item::Numeric(Numeric::Timestamp, _) => true,
        Item::Fixed(fixed) => {
            use Fixed::{RFC2822, RFC3339, TimezoneName, TimezoneOffset, TimezoneOffsetColon, TimezoneOffsetZ};
            use Fixed::{TimezoneOffsetColonZ, TimezoneOffsetDoubleColon, TimezoneOffsetTripleColon};
            matches!(fixed, TimezoneName | TimezoneOffset | TimezoneOffsetZ | TimezoneOffsetColon | RFC2822 | RFC3339)
                || matches!(fixed, TimezoneOffsetColonZ | TimezoneOffsetDoubleColon | TimezoneOffsetTripleColon)
        }
        _ => false,
    };
    if let DataType::Timestamp(_, Some(zone)) = &value.dtype
        && StrftimeItems::new(&format).any(of_zone)
    {
        let moments = value.to(&DataType::Timestamp(MICRO, Some(Arc::clone(zone)))).expr;
        let args = vec![moments, text, super::scalar_udf::text_literal(zone)];
        return Ok(value.with(kernel("zoned_to_string", TEXT, zones::text).call(args), TEXT));
    }
    Ok(value.with(kernel("to_string", TEXT, wall_text).call(vec![wall(&value), text]), TEXT))
}

/// Timestamps of a wall clock (microseconds without a zone) by a format.
fn wall_text(args: &[ArrayRef]) -> datafusion::error::Result<ArrayRef> {
    let format = literal_text(&args[1]).unwrap_or_default();
    let mut out = StringViewBuilder::with_capacity(args[0].len());
    for t in args[0].as_primitive::<TimestampMicrosecondType>() {
        // As UTC, so that `%z` has something to say; a text that fails to format is our bug.
        out.append_option(t.and_then(moment).map(|t| t.and_utc().format(format).to_string()));
    }
    Ok(Arc::new(out.finish()))
}

/// Each moment by `f`, which also gets the literal text of the second argument.
fn shifted(
    args: &[ArrayRef],
    f: impl Fn(NaiveDateTime, &str) -> Option<NaiveDateTime>,
) -> datafusion::error::Result<ArrayRef> {
    let text = args.get(1).and_then(literal_text).unwrap_or_default();
    let moments = args[0].as_primitive::<TimestampMicrosecondType>();
    let mut out = arrow::array::TimestampMicrosecondBuilder::with_capacity(moments.len());
    for micros in moments {
        match micros {
            None => out.append_null(),
            Some(micros) => {
                let moved = moment(micros).and_then(|t| f(t, text));
                out.append_value(moved.ok_or_else(|| error("a date is out of range"))?.and_utc().timestamp_micros());
            }
        }
    }
    Ok(Arc::new(out.finish()))
}
