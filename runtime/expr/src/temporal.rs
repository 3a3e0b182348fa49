//! Functions of dates, times and durations, under `.dt`. Fields of a timestamp with a zone are those of its wall clock.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use arrow::compute::{DatePart, date_part};
use arrow::datatypes::{DataType, TimeUnit, TimestampMicrosecondType};
use chrono::{DateTime, Datelike, Days, Months, NaiveDate, NaiveDateTime};
use datafusion::functions::expr_fn as df;
use datafusion::logical_expr::{Expr, Operator, binary_expr, cast};
use onrush_wire::Diagnostic;

use super::catalogue::{Call, Function, Kind, function};
use super::kernels::{Body, error, kernel, literal_text};
use super::{Lower, Typed, lit, zones};
use crate::every::{self, Every};
use crate::types::TEXT;

const R: Kind = Kind::Row;
const MICRO: TimeUnit = TimeUnit::Microsecond;

/// A calendar field by Arrow's kernel, in the type that Polars gives it.
macro_rules! part {
    ($name:literal, $aliases:expr, $params:literal, $part:expr, $dtype:expr) => {
        function($name, $aliases, R, $params, |_, c| {
            let body: Body = |args| Ok(date_part(&args[0], $part)?);
            let value = field_source(&c.this());
            let expr = kernel($name, DataType::Int32, body).call(vec![value]);
            Ok(c.this().with(cast(expr, $dtype), $dtype))
        })
    };
}

/// A field that chrono computes from a date.
macro_rules! day_field {
    ($name:literal, $aliases:expr, $dtype:expr, $f:expr) => {
        function($name, $aliases, R, "self:date", |_, c| {
            let body: Body = |args| {
                let f: fn(NaiveDate) -> i64 = $f;
                let moments = args[0].as_primitive::<TimestampMicrosecondType>();
                Ok(Arc::new(moments.iter().map(|t| Some(f(moment(t?)?.date()))).collect::<arrow::array::Int64Array>()))
            };
            let expr = kernel($name, DataType::Int64, body).call(vec![wall(&c.this())]);
            Ok(c.this().with(cast(expr, $dtype), $dtype))
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
    part!("dt.year", &[], "self:date", DatePart::Year, DataType::Int32),
    part!("dt.month", &[], "self:date", DatePart::Month, DataType::Int8),
    part!("dt.day", &["dt.dayofmonth"], "self:date", DatePart::Day, DataType::Int8),
    part!("dt.hour", &[], "self:time", DatePart::Hour, DataType::Int8),
    part!("dt.minute", &[], "self:time", DatePart::Minute, DataType::Int8),
    part!("dt.second", &[], "self:time", DatePart::Second, DataType::Int8),
    part!("dt.quarter", &[], "self:date", DatePart::Quarter, DataType::Int8),
    part!("dt.week", &["dt.weekofyear"], "self:date", DatePart::Week, DataType::Int8),
    part!("dt.ordinal_day", &["dt.dayofyear"], "self:date", DatePart::DayOfYear, DataType::Int16),
    day_field!("dt.iso_year", &[], DataType::Int32, |d| d.iso_week().year().into()),
    // Monday is 1, Sunday is 7.
    day_field!("dt.weekday", &["dt.dayofweek"], DataType::Int8, |d| d.weekday().number_from_monday().into()),
    day_field!("dt.days_in_month", &[], DataType::Int8, |d| d.num_days_in_month().into()),
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
    function("dt.offset_by", &[], R, "self:date by:#str", |l, c| {
        let text = c.text(1).unwrap_or_default().to_string();
        if Every::parse(text.strip_prefix('-').unwrap_or(&text)).is_none() {
            return Err(c.wrong(l, 1, format!("`{text}` is not a time span")).help(every::HELP));
        }
        let body: Body = |args| {
            shifted(args, |t, text| {
                let (is_back, span) = text.strip_prefix('-').map_or((false, text), |span| (true, span));
                match Every::parse(span)? {
                    Every::Months(n) if is_back => t.checked_sub_months(Months::new(n as u32)),
                    Every::Months(n) => t.checked_add_months(Months::new(n as u32)),
                    Every::Weeks(n) if is_back => t.checked_sub_days(Days::new(7 * n as u64)),
                    Every::Weeks(n) => t.checked_add_days(Days::new(7 * n as u64)),
                    Every::Micros(n) if is_back => t.checked_sub_signed(chrono::TimeDelta::microseconds(n)),
                    Every::Micros(n) => t.checked_add_signed(chrono::TimeDelta::microseconds(n)),
                }
            })
        };
        let function = kernel("offset_by", DataType::Timestamp(MICRO, None), body);
        // Hours pass at the same speed in every zone, days end at midnight of the wall clock.
        let unit = text.trim_start_matches(|c: char| c == '-' || c.is_ascii_digit());
        let is_calendar = !["h", "hour", "m", "min", "minute", "s", "second", "ms", "us", "ns"].contains(&unit);
        if let (DataType::Timestamp(unit, Some(zone)), false) = (&c.this().dtype, is_calendar) {
            let moment = c.this().to(&DataType::Timestamp(MICRO, Some("UTC".into())));
            let moment = df::to_local_time(vec![moment.expr]);
            let moved = function.call(vec![moment, c.arg(1).text()]);
            let moved = cast(moved, DataType::Timestamp(MICRO, Some("UTC".into())));
            let out = DataType::Timestamp(*unit, Some(zone.clone()));
            return Ok(c.this().with(cast(moved, out.clone()), out));
        }
        Ok(back(&c.this(), function.call(vec![wall(&c.this()), c.arg(1).text()])))
    }),
    function("dt.to_string", &["dt.strftime", "dt.format"], R, "self:date format:#str?", |l, c| {
        let default = if matches!(c.this().dtype, DataType::Date32) { "%Y-%m-%d" } else { "%Y-%m-%d %H:%M:%S%.f" };
        let format = c.text(1).unwrap_or(default).to_string();
        use chrono::format::{Item, StrftimeItems};
        if StrftimeItems::new(&format).any(|i| matches!(i, Item::Error)) {
            return Err(c.wrong(l, 1, format!("`{format}` is not a time format")).help("such as \"%Y-%m-%d %H:%M\""));
        }
        let body: Body = |args| {
            let format = literal_text(&args[1]).unwrap_or_default();
            let mut out = StringViewBuilder::with_capacity(args[0].len());
            for t in args[0].as_primitive::<TimestampMicrosecondType>() {
                out.append_option(t.and_then(moment).map(|t| {
                    // With an offset, so that `%z` has something to say; a text that fails to format is our bug.
                    t.and_utc().format(format).to_string()
                }));
            }
            Ok(Arc::new(out.finish()))
        };
        let args = vec![wall(&c.this()), c.this().with(lit(format), DataType::Utf8).text()];
        Ok(c.this().with(kernel("to_string", TEXT, body).call(args), TEXT))
    }),
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

/// What Arrow's field kernel reads; a `Date64` is a date.
fn field_source(value: &Typed) -> Expr {
    match value.dtype {
        DataType::Date64 => value.to(&DataType::Date32).expr,
        DataType::Null => value.to(&DataType::Date32).expr,
        _ => value.expr.clone(),
    }
}

/// The wall clock as a timestamp without a zone, in microseconds.
fn wall(value: &Typed) -> Expr {
    match &value.dtype {
        DataType::Timestamp(_, Some(_)) => {
            cast(df::to_local_time(vec![value.expr.clone()]), DataType::Timestamp(MICRO, None))
        }
        _ => value.to(&DataType::Timestamp(MICRO, None)).expr,
    }
}

/// From the wall clock back to the column's own type.
fn back(value: &Typed, wall: Expr) -> Typed {
    if let DataType::Timestamp(unit, Some(zone)) = &value.dtype {
        return value.with(zones::moved(wall, value.expr.clone(), (*unit, zone)), value.dtype.clone());
    }
    value.with(cast(wall, value.dtype.clone()), value.dtype.clone())
}

fn moment(micros: i64) -> Option<NaiveDateTime> {
    DateTime::from_timestamp_micros(micros).map(|t| t.naive_utc())
}

/// Nanoseconds within the second, in units of `per`.
fn fraction(call: &Call, per: i64) -> Typed {
    let nanos = match &call.this().dtype {
        DataType::Time32(_) | DataType::Time64(_) => call.this().to(&DataType::Time64(TimeUnit::Nanosecond)).i64(),
        DataType::Duration(_) => call.this().to(&DataType::Duration(TimeUnit::Nanosecond)).i64(),
        DataType::Timestamp(_, zone) => call.this().to(&DataType::Timestamp(TimeUnit::Nanosecond, zone.clone())).i64(),
        _ => call.this().to(&DataType::Timestamp(TimeUnit::Nanosecond, None)).i64(),
    };
    let whole = super::kernels::floor_mod(&DataType::Int64).call(vec![nanos, lit(1_000_000_000i64)]);
    call.this().with(cast(binary_expr(whole, Operator::Divide, lit(per)), DataType::Int32), DataType::Int32)
}

fn truncate(lower: &mut Lower, call: &Call) -> Result<Typed, Diagnostic> {
    let text = call.text(1).unwrap_or_default();
    if Every::parse(text).is_none() {
        return Err(call.wrong(lower, 1, format!("`{text}` is not a time span")).help(every::HELP));
    }
    let body: Body =
        |args| shifted(args, |t, text| moment(Every::parse(text)?.truncate(t.and_utc().timestamp_micros())?));
    let args = vec![wall(&call.this()), call.arg(1).text()];
    Ok(back(&call.this(), kernel("truncate", DataType::Timestamp(MICRO, None), body).call(args)))
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
