//! Type-dependent rewrites of time functions and casts in plans, and of times combined with other types.

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::functions::expr_fn as df;
use datafusion::logical_expr::{Expr, ExprSchemable, cast, lit};
use onrush_expr::types;

use super::super::functions::with_seconds;
use super::{MICRO, NAIVE, singular, zoned};

/// What functions and casts of times are, where their types are known.
pub fn lowered(expr: Expr, schema: &DFSchema) -> std::result::Result<Expr, Expr> {
    match &expr {
        Expr::Cast(c) if matches!(c.field.data_type(), DataType::Timestamp(_, None) | DataType::Time64(_)) => {
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
        Expr::ScalarFunction(f) if f.func.name().ends_with("to_timestamptz") => match f.args[0].get_type(schema) {
            Ok(dtype) if types::is_text(&dtype) => Err(expr),
            Ok(DataType::Date32) => Ok(cast(cast(f.args[0].clone(), NAIVE), zoned())),
            Ok(DataType::Timestamp(..)) => Ok(cast(f.args[0].clone(), zoned())),
            _ => Err(expr),
        },
        // Of a date it is a time.
        Expr::ScalarFunction(f) if f.func.name() == "date_trunc" && f.args.len() == 2 => {
            match f.args[1].get_type(schema) {
                Ok(DataType::Date32) => {
                    let mut f = f.clone();
                    f.args[1] = cast(f.args[1].clone(), NAIVE);
                    Ok(Expr::ScalarFunction(f))
                }
                _ => Err(expr),
            }
        }
        Expr::ScalarFunction(f) if f.func.name() == "date_diff" && f.args.len() == 3 => {
            difference(&f.args, schema).ok_or(expr)
        }
        _ => Err(expr),
    }
}

fn is_zoned(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(expr.get_type(schema), Ok(DataType::Timestamp(_, Some(_))))
}

/// Borders between times without a zone in what a GPU knows, too.
fn difference(args: &[Expr], schema: &DFSchema) -> Option<Expr> {
    let [Expr::Literal(part, _), from, to] = args else { return None };
    let part = singular(part.try_as_str().flatten()?);
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

/// Times and what is compared with them in one type: DataFusion would count in nanoseconds. What has no zone is what the clocks of the other's zone show.
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
            (Expr::Literal(value, _), dtype) if types::is_text(dtype) => {
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
