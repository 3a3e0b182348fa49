//! Type-dependent rewrites of time functions and casts in plans, and of times combined with other types.

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::functions::expr_fn as df;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, ExprSchemable, cast, lit};
use onrush_expr::type_coercion;

use super::super::intervals;
use super::{MICRO, NAIVE, clock, series, with_seconds, zoned};

/// Functions and casts of times, after their types are known.
pub fn lowered(expr: Expr, schema: &DFSchema) -> std::result::Result<Expr, Expr> {
    match &expr {
        Expr::Cast(c)
            if matches!(c.field.data_type(), DataType::Timestamp(_, None) | DataType::Time64(_))
                && !is_text(&c.expr, schema) =>
        {
            match is_zoned(&c.expr, schema) {
                true => Ok(cast(df::to_local_time(vec![*c.expr.clone()]), c.field.data_type().clone())),
                false => Err(expr),
            }
        }
        Expr::TryCast(c) if matches!(c.field.data_type(), DataType::Timestamp(_, None)) => {
            match is_zoned(&c.expr, schema) {
                true => Ok(cast(df::to_local_time(vec![*c.expr.clone()]), c.field.data_type().clone())),
                false => Err(expr),
            }
        }
        Expr::Cast(c) if matches!(c.field.data_type(), DataType::Time64(_)) && is_text(&c.expr, schema) => {
            Ok(cast(clock::of_string(*c.expr.clone(), true), c.field.data_type().clone()))
        }
        Expr::TryCast(c) if matches!(c.field.data_type(), DataType::Time64(_)) && is_text(&c.expr, schema) => {
            Ok(cast(clock::of_string(*c.expr.clone(), false), c.field.data_type().clone()))
        }
        Expr::ScalarFunction(f) => call(f, schema).ok_or(expr),
        _ => Err(expr),
    }
}

/// A function of times, or `None` for one that stays as it is.
fn call(f: &ScalarFunction, schema: &DFSchema) -> Option<Expr> {
    let type_of = |arg: usize| f.args.get(arg)?.get_type(schema).ok();
    match (f.func.name(), f.args.len()) {
        ("date_part", 2) => match (&f.args[0], type_of(1)?) {
            (Expr::Literal(part, _), DataType::Interval(_)) => (intervals::singular(part.try_as_str().flatten()?)
                == "epoch")
                .then(|| intervals::epoch(f.args[1].clone())),
            _ => None,
        },
        ("to_char", 2) => zone_named(&f.args, schema).map(|(time, format)| df::to_char(time, format)),
        (name @ ("range" | "generate_series"), _) => series::planned(name, &f.args, schema),
        ("to_timestamptz" | "try_to_timestamptz", _) => match type_of(0)? {
            DataType::Date32 => Some(cast(cast(f.args[0].clone(), NAIVE), zoned())),
            DataType::Timestamp(..) => Some(cast(f.args[0].clone(), zoned())),
            _ => None,
        },
        // A date gives a time.
        ("date_trunc", 2) if type_of(1)? == DataType::Date32 => {
            let mut f = f.clone();
            f.args[1] = cast(f.args[1].clone(), NAIVE);
            Some(Expr::ScalarFunction(f))
        }
        ("date_diff", 3) => difference(&f.args, schema),
        _ => None,
    }
}

/// A zoned time and its format with the name of its time zone in the place of `%Z`, which chrono writes as an offset.
fn zone_named(args: &[Expr], schema: &DFSchema) -> Option<(Expr, Expr)> {
    let [time, Expr::Literal(format, _)] = args else { return None };
    let format = format.try_as_str().flatten().filter(|format| format.contains("%Z"))?;
    let Ok(DataType::Timestamp(_, Some(zone))) = time.get_type(schema) else { return None };
    // `%%Z` is a percent sign and a letter.
    let named: Vec<String> = format.split("%%").map(|part| part.replace("%Z", &zone)).collect();
    Some((time.clone(), lit(named.join("%%"))))
}

fn is_text(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|dtype| type_coercion::is_text(&dtype))
}

fn is_zoned(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(expr.get_type(schema), Ok(DataType::Timestamp(_, Some(_))))
}

/// Borders between times without a zone in what a GPU knows, too.
fn difference(args: &[Expr], schema: &DFSchema) -> Option<Expr> {
    let [Expr::Literal(part, _), from, to] = args else { return None };
    let part = intervals::singular(part.try_as_str().flatten()?);
    let is_plain = |e: &Expr| matches!(e.get_type(schema), Ok(DataType::Date32 | DataType::Timestamp(_, None)));
    if !is_plain(from) || !is_plain(to) {
        return None;
    }
    let field = |name: &str, of: &Expr| df::date_part(lit(name), of.clone());
    let days = |of: &Expr| cast(cast(cast(of.clone(), DataType::Date32), DataType::Int32), DataType::Int64);
    let within_year = |of: &Expr, count: i32, name: &str| field("year", of) * lit(count) + field(name, of);
    Some(match part.as_str() {
        "day" => days(to) - days(from),
        "week" => (days(to) - days(from)) / lit(7_i64),
        "month" => cast(within_year(to, 12, "month") - within_year(from, 12, "month"), DataType::Int64),
        "quarter" => cast(within_year(to, 4, "quarter") - within_year(from, 4, "quarter"), DataType::Int64),
        "year" => cast(field("year", to) - field("year", from), DataType::Int64),
        _ => return None,
    })
}

/// Times and what is compared with them in one type: DataFusion would count in nanoseconds. A time without a zone is a
/// local time of the other's zone.
pub fn meet(exprs: &mut [&mut Expr], dtypes: &[DataType]) -> bool {
    let Some(time) = dtypes
        .iter()
        .find(|dtype| matches!(dtype, DataType::Timestamp(_, Some(_))))
        .or_else(|| dtypes.iter().find(|dtype| matches!(dtype, DataType::Timestamp(..))))
    else {
        return false;
    };
    let mut changed = false;
    for (expr, dtype) in exprs.iter_mut().zip(dtypes) {
        let new = match (&**expr, dtype) {
            (Expr::Literal(value, _), dtype) if type_coercion::is_text(dtype) => {
                let text =
                    value.try_as_str().flatten().map(|text| with_seconds(text).unwrap_or_else(|| text.to_string()));
                text.and_then(|text| read_as(&text, time)).map(|value| Expr::Literal(value, None))
            }
            (other, DataType::Date32) => {
                let DataType::Timestamp(unit, zone) = time else { continue };
                let unit = if *unit == TimeUnit::Nanosecond { MICRO } else { *unit };
                let naive = cast(other.clone(), DataType::Timestamp(unit, None));
                Some(if zone.is_some() { cast(naive, DataType::Timestamp(unit, zone.clone())) } else { naive })
            }
            _ => None,
        };
        if let Some(new) = new {
            **expr = new;
            changed = true;
        }
    }
    changed
}

/// A text as a time of a type, in microseconds at least; none where it is none, or has more digits.
fn read_as(text: &str, dtype: &DataType) -> Option<ScalarValue> {
    let DataType::Timestamp(unit, zone) = dtype else { return None };
    let digits = text.rsplit_once('.').map_or(0, |(_, part)| part.bytes().take_while(u8::is_ascii_digit).count());
    if *unit == TimeUnit::Nanosecond || digits > 6 {
        return None;
    }
    let value = ScalarValue::Utf8View(Some(text.to_string()));
    value.cast_to(&DataType::Timestamp(MICRO, zone.clone())).ok().filter(|value| !value.is_null())
}
