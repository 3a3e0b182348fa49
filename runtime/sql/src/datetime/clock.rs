//! Strings as times of day: `11:12`, `11:12:13.5`, `11:12:13 PM`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Time64NanosecondType, TimeUnit};
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use onrush_expr::error::external;
use onrush_expr::scalar_udf::{Body, kernel, strict};
use onrush_expr::type_coercion;
use onrush_wire::{Class, Diagnostic};

const TIME: DataType = DataType::Time64(TimeUnit::Nanosecond);
const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400 * SECOND;

/// A cast of a string. A string that is not a time is an error, or null.
pub fn of_string(value: Expr, fail: bool) -> Expr {
    let body: Body = if fail { |args| read(args, true) } else { |args| read(args, false) };
    kernel(if fail { "time_of_varchar" } else { "try_time_of_varchar" }, TIME, body).call(vec![value])
}

fn read(args: &[ArrayRef], fail: bool) -> Result<ArrayRef> {
    let texts = strict(&args[0], &type_coercion::TEXT)?;
    // Forms with AM and PM, which Arrow reads.
    let others = cast(&texts, &TIME)?;
    let others = others.as_primitive::<Time64NanosecondType>();
    let times = texts.as_string_view().iter().enumerate().map(|(row, text)| {
        let Some(text) = text else { return Ok(None) };
        let other = || others.is_valid(row).then(|| others.value(row)).filter(|time| text.contains(':') && *time < DAY);
        match parsed(text.trim()).or_else(other) {
            None if fail => {
                let message = format!("the string `{text}` cannot be cast to `time`");
                let help = "such as `11:12` or `11:12:13.5`; `try_cast` gives null";
                Err(external(Diagnostic::error(Class::Data, "cast", message).help(help)))
            }
            found => Ok(found),
        }
    });
    Ok(Arc::new(times.collect::<Result<PrimitiveArray<Time64NanosecondType>>>()?))
}

/// Nanoseconds since midnight of hours, a colon, and minutes and seconds, which may be missing.
fn parsed(text: &str) -> Option<i64> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    // A number of at most two digits below a limit, and the rest.
    let field = |text: &str, limit: i64| -> Option<(i64, usize)> {
        let count = digits(text);
        let value = if count == 0 { 0 } else { text[..count].parse::<i64>().ok()? };
        (count <= 2 && value < limit).then_some((value, count))
    };
    let (hours, count) = field(text, 24).filter(|(_, count)| *count > 0)?;
    let rest = text[count..].strip_prefix(':')?;
    let (minutes, count) = field(rest, 60)?;
    let rest = &rest[count..];
    let (seconds, rest) = match rest.strip_prefix(':') {
        Some(rest) => {
            let (seconds, count) = field(rest, 60)?;
            (seconds, &rest[count..])
        }
        None => (0, rest),
    };
    let fraction = rest.strip_prefix('.').unwrap_or("");
    let count = digits(fraction);
    // Digits after the sixth are dropped.
    let micros = format!("{:0<6}", &fraction[..count]).get(..6)?.parse::<i64>().ok()?;
    let rest = if rest.starts_with('.') { &fraction[count..] } else { rest };
    rest.is_empty().then_some((hours * 3600 + minutes * 60 + seconds) * SECOND + micros * 1000)
}
