//! Local times in a time zone: which moment a wall clock means where the zone skips or repeats an hour.

use std::sync::Arc;

use arrow::array::timezone::Tz;
use arrow::array::{ArrayRef, AsArray, StringViewBuilder, TimestampMicrosecondBuilder};
use arrow::datatypes::{DataType, TimeUnit, TimestampMicrosecondType};
use chrono::{DateTime, LocalResult, NaiveDateTime, Offset, TimeDelta, TimeZone, Utc};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, cast};
use onrush_wire::{Class, Diagnostic, Span};

use super::scalar_udf::{error, kernel_at, literal_text, text_literal};
use crate::error::external;

const MICRO: TimeUnit = TimeUnit::Microsecond;

fn utc() -> DataType {
    DataType::Timestamp(MICRO, Some("UTC".into()))
}

/// The timestamps of a wall clock (microseconds without a zone) in a zone, by the choices of Polars'
/// `replace_time_zone`.
pub fn localized(
    wall: Expr,
    (unit, zone): (TimeUnit, &Arc<str>),
    ambiguous: &str,
    non_existent: &str,
    at: Option<&Span>,
) -> Expr {
    let out = DataType::Timestamp(unit, Some(Arc::clone(zone)));
    // A zone whose clocks never change.
    if ["UTC", "Etc/UTC", "GMT", "Z"].contains(&zone.as_ref()) || zone.starts_with(['+', '-']) {
        return cast(cast(wall, DataType::Timestamp(unit, None)), out);
    }
    let function = kernel_at("localized", utc(), by_choice, at);
    let args = vec![wall, text_literal(zone), text_literal(ambiguous), text_literal(non_existent)];
    cast(function.call(args), out)
}

/// The moment of a wall clock that was computed from another moment. A repeated hour is the one of `before`. A time
/// that the zone skips is moved by the length of the gap, as in Polars.
pub fn moved(wall: Expr, before: Expr, (unit, zone): (TimeUnit, &Arc<str>)) -> Expr {
    let function = kernel_at("moved", utc(), by_offset, None);
    let before = cast(before, utc());
    cast(function.call(vec![wall, before, text_literal(zone)]), DataType::Timestamp(unit, Some(Arc::clone(zone))))
}

/// Timestamps (microseconds, in UTC) by a format, in local time of the zone that the last argument names.
pub fn text(args: &[ArrayRef]) -> Result<ArrayRef> {
    let moments = args[0].as_primitive::<TimestampMicrosecondType>();
    let mut out = StringViewBuilder::with_capacity(moments.len());
    let (format, zone) = (literal_text(&args[1]).unwrap_or_default(), literal_text(&args[2]).unwrap_or("UTC"));
    let mut write = |of: &dyn Fn(DateTime<Utc>) -> String| {
        let moment = |micros: Option<i64>| micros.and_then(DateTime::from_timestamp_micros);
        moments.iter().for_each(|micros| out.append_option(moment(micros).map(of)));
    };
    // Zones by name have abbreviations, such as CEST. Zones by an offset have none.
    match zone.parse::<chrono_tz::Tz>() {
        Ok(zone) => write(&|t| t.with_timezone(&zone).format(format).to_string()),
        Err(_) => {
            let zone = zone.parse::<Tz>()?;
            write(&|t| t.with_timezone(&zone).format(format).to_string());
        }
    }
    Ok(Arc::new(out.finish()))
}

fn zone_of(array: &ArrayRef) -> Result<Tz> {
    Ok(literal_text(array).unwrap_or("UTC").parse::<Tz>()?)
}

fn local(micros: i64) -> Result<NaiveDateTime> {
    DateTime::from_timestamp_micros(micros).map(|t| t.naive_utc()).ok_or_else(|| error("a date is out of range"))
}

/// A skipped time, with the offset of the day before.
fn over_gap(zone: &Tz, wall: NaiveDateTime) -> i64 {
    let before = zone.offset_from_utc_datetime(&(wall - TimeDelta::days(1)));
    (wall - TimeDelta::seconds(before.fix().local_minus_utc().into())).and_utc().timestamp_micros()
}

fn by_choice(args: &[ArrayRef]) -> Result<ArrayRef> {
    let walls = args[0].as_primitive::<TimestampMicrosecondType>();
    let mut out = TimestampMicrosecondBuilder::with_capacity(walls.len());
    if !walls.is_empty() {
        let (zone, name) = (zone_of(&args[1])?, literal_text(&args[1]).unwrap_or("UTC"));
        let (ambiguous, non_existent) = (literal_text(&args[2]), literal_text(&args[3]));
        let refuse = |wall: NaiveDateTime, what: &str, help: &str| {
            let message = format!("`{wall}` {what} in the time zone {name}");
            Err(external(Diagnostic::error(Class::Data, "time-zone", message).help(help)))
        };
        for wall in walls {
            let Some(wall) = wall.map(local).transpose()? else {
                out.append_null();
                continue;
            };
            match (zone.from_local_datetime(&wall), ambiguous, non_existent) {
                (LocalResult::Single(t), ..) => out.append_value(t.timestamp_micros()),
                (LocalResult::Ambiguous(t, _), Some("earliest"), _) => out.append_value(t.timestamp_micros()),
                (LocalResult::Ambiguous(_, t), Some("latest"), _) => out.append_value(t.timestamp_micros()),
                (LocalResult::Ambiguous(..), Some("null"), _) | (LocalResult::None, _, Some("null")) => {
                    out.append_null();
                }
                (LocalResult::Ambiguous(..), ..) => {
                    let help = "say which one is meant: `ambiguous = \"earliest\"`, `\"latest\"` or `\"null\"`";
                    return refuse(wall, "occurs twice", help);
                }
                (LocalResult::None, ..) => {
                    return refuse(wall, "does not exist", "`non_existent = \"null\"` makes such times null");
                }
            }
        }
    }
    Ok(Arc::new(out.finish().with_timezone("UTC")))
}

fn by_offset(args: &[ArrayRef]) -> Result<ArrayRef> {
    let walls = args[0].as_primitive::<TimestampMicrosecondType>();
    let before = args[1].as_primitive::<TimestampMicrosecondType>();
    let mut out = TimestampMicrosecondBuilder::with_capacity(walls.len());
    if !walls.is_empty() {
        let zone = zone_of(&args[2])?;
        for (wall, before) in walls.iter().zip(before) {
            let Some((wall, before)) = wall.zip(before) else {
                out.append_null();
                continue;
            };
            let (wall, before) = (local(wall)?, local(before)?);
            out.append_value(match zone.from_local_datetime(&wall) {
                LocalResult::Single(t) => t.timestamp_micros(),
                LocalResult::Ambiguous(first, second) => {
                    let offset = zone.offset_from_utc_datetime(&before).fix();
                    let chosen = if first.offset().fix() == offset { first } else { second };
                    chosen.timestamp_micros()
                }
                LocalResult::None => over_gap(&zone, wall),
            });
        }
    }
    Ok(Arc::new(out.finish().with_timezone("UTC")))
}
