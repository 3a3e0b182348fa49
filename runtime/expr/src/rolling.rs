//! Functions over neighbouring rows and over quantiles of them that DataFusion lacks: `interpolate`, `ewm_mean`,
//! `rolling_quantile`, `rolling_corr`, windows by time, `qcut`, random numbers.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, PrimitiveArray, StringViewBuilder};
use arrow::datatypes::{DataType, Float64Type, Int64Type, TimeUnit, UInt64Type};
use datafusion::logical_expr::{Expr, cast};
use onrush_wire::{Diagnostic, Value};

use super::function::{Call, Function, Kind, function};
use super::quantile::{Interpolation, quantile};
use super::scalar_udf::{Body, kernel, kernel_at, text_literal};
use super::series::{Bits, ClosedEnds, Reach, Statistic, Work, series};
use super::window::{self, Output};
use super::{Aggregation, Lower, TypedExpr, lit, operators};
use crate::calendar_interval::{self, CalendarInterval, TimeSpan};
use crate::diagnostics;
use crate::error::external;
use crate::type_coercion::{self, TEXT, float_of};

const W: Kind = Kind::Window;

const BY: &str = "self:num by:any window_size:#any min_samples:#int? closed:#str?";

pub const FUNCTIONS: &[Function] = &[
    function("interpolate", &[], W, "self:any", |l, c| {
        let value = c.this();
        let order = l.order()?;
        let back = match &value.dtype {
            d if type_coercion::is_number(d) => float_of(d),
            d if type_coercion::is_temporal(d) => d.clone(),
            _ => return Err(not_a_number(l, c, &value)),
        };
        let is_time = type_coercion::is_temporal(&back);
        let numbers = if is_time { ticks(&value).f64() } else { value.f64() };
        let expr = window::window(l, series(Work::Interpolate), vec![numbers], Vec::new(), order)?;
        let expr = if is_time { from_ticks(expr, &back) } else { cast(expr, back.clone()) };
        Ok(value.with(expr, back))
    }),
    function(
        "ewm_mean",
        &["ewm"],
        W,
        "self:num alpha:#num? span:#num? com:#num? half_life:#num? adjust:#bool? min_samples:#int? ignore_nulls:#bool?",
        |l, c| {
            let alpha = decay(l, c)?;
            let adjust = c.opt(5).is_none() || c.flag(5);
            let min_samples = u64::try_from(c.int(6).unwrap_or(1)).unwrap_or(0);
            let work = Work::Ewm { alpha: Bits::new(alpha), adjust, ignore_nulls: c.flag(7), min_samples };
            let (value, order) = (c.this(), l.order()?);
            let expr = window::window(l, series(work), vec![value.f64()], Vec::new(), order)?;
            let out = float_of(&value.dtype);
            Ok(value.with(cast(expr, out.clone()), out))
        },
    ),
    function(
        "rolling_quantile",
        &[],
        W,
        "self:num quantile:#num window_size:#int min_samples:#int? center:#bool? interpolation:#str?",
        |l, c| {
            let (size, needed) = window::sizes(l, c, 2)?;
            let function = quantile(share(l, c, 1)?, interpolation(l, c, 5)?);
            window::rolled(l, c, function, Output::Float, (size, needed, c.flag(4)))
        },
    ),
    function("rolling_corr", &[], W, "self:num other:num window_size:#int min_samples:#int?", |l, c| {
        together(l, c, None)
    }),
    function("rolling_cov", &[], W, "self:num other:num window_size:#int min_samples:#int? ddof:#int?", |l, c| {
        together(l, c, Some(c.int(4).unwrap_or(1)))
    }),
    function("rolling_mean_by", &[], W, BY, |l, c| by_time(l, c, Statistic::Mean)),
    function("rolling_sum_by", &[], W, BY, |l, c| by_time(l, c, Statistic::Sum)),
    function("rolling_min_by", &[], W, BY, |l, c| by_time(l, c, Statistic::Min)),
    function("rolling_max_by", &[], W, BY, |l, c| by_time(l, c, Statistic::Max)),
    function("rolling_std_by", &[], W, BY, |l, c| by_time(l, c, Statistic::Std)),
    function("rolling_var_by", &[], W, BY, |l, c| by_time(l, c, Statistic::Var)),
    function("rolling_median_by", &[], W, BY, |l, c| {
        by_time(l, c, Statistic::Quantile(Bits::new(0.5), Interpolation::Linear))
    }),
    function("qcut", &[], W, "self:num quantiles:#any labels:#list? left_closed:#bool? allow_duplicates:#bool?", qcut),
    // The place of the value among the different values in their order, as the codes of pandas' categories.
    function("cat.codes", &["cat.to_physical"], W, "self:any", |l, c| {
        let rank = window::rank_of(l, &c.this(), "dense", false)?;
        Ok(rank.with(cast(rank.to(&DataType::Int64).expr - lit(1i64), DataType::UInt32), DataType::UInt32))
    }),
    // From the number of the row and the seed, so that it is the same each time.
    function("random", &["rand"], W, "seed:#int?", |l, c| {
        let seed = c.int(0).unwrap_or(0).cast_unsigned();
        let body: Body = |args| {
            let (rows, seeds) = (args[0].as_primitive::<UInt64Type>(), args[1].as_primitive::<UInt64Type>());
            let seed = if seeds.is_empty() { 0 } else { mixed(seeds.value(0)) };
            // 53 bits, as many as a number between 0 and 1 has.
            let number = |row: u64| (mixed(row ^ seed) >> 11) as f64 / (1u64 << 53) as f64;
            Ok(Arc::new(rows.unary::<_, Float64Type>(number) as PrimitiveArray<Float64Type>))
        };
        let expr = kernel("random", DataType::Float64, body).call(vec![l.row()?, lit(seed)]);
        let name = "random".to_string();
        Ok(TypedExpr { expr, dtype: DataType::Float64, name, span: c.span.cloned(), literal: None })
    }),
];

/// A step of SplitMix64.
fn mixed(value: u64) -> u64 {
    let x = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn not_a_number(lower: &Lower, call: &Call, value: &TypedExpr) -> Diagnostic {
    let dtype = diagnostics::type_name(&value.dtype);
    let message = format!("`{}` needs numbers or times, but this is `{dtype}`", call.function.name);
    let diagnostic = diagnostics::plan_error("type-mismatch", message);
    lower.fail(diagnostic, value.span.as_ref().or(call.span), &format!("this is `{dtype}`"))
}

fn is_short(dtype: &DataType) -> bool {
    matches!(dtype, DataType::Date32 | DataType::Time32(_))
}

fn ticks(value: &TypedExpr) -> TypedExpr {
    let whole = if is_short(&value.dtype) { DataType::Int32 } else { DataType::Int64 };
    value.to(&whole).to(&DataType::Int64)
}

fn from_ticks(expr: Expr, dtype: &DataType) -> Expr {
    let whole = if is_short(dtype) { DataType::Int32 } else { DataType::Int64 };
    cast(cast(expr, whole), dtype.clone())
}

/// The weight of the newest value, from one of the four ways to say it.
fn decay(lower: &Lower, call: &Call) -> Result<f64, Diagnostic> {
    let given: Vec<usize> = (1..5).filter(|slot| call.opt(*slot).is_some()).collect();
    let [slot] = given[..] else {
        let message =
            format!("`ewm_mean` takes one of `alpha`, `span`, `com` and `half_life`, and {} are given", given.len());
        return Err(call.wrong(lower, 0, message).help("such as `.ewm_mean(span = 10)`"));
    };
    let value = call.number(slot).unwrap_or(f64::NAN);
    let alpha = match slot {
        1 => value,
        2 => 2.0 / (value + 1.0),
        3 => 1.0 / (1.0 + value),
        _ => 1.0 - (-std::f64::consts::LN_2 / value).exp(),
    };
    let is_possible = match slot {
        1 => value > 0.0 && value <= 1.0,
        2 => value >= 1.0,
        3 => value >= 0.0,
        _ => value > 0.0,
    };
    match is_possible && alpha.is_finite() {
        true => Ok(alpha),
        false => {
            let range = ["0 < alpha <= 1", "span >= 1", "com >= 0", "half_life > 0"][slot - 1];
            Err(call.wrong(lower, slot, format!("{range} is needed, this is {value}")))
        }
    }
}

fn share(lower: &Lower, call: &Call, slot: usize) -> Result<f64, Diagnostic> {
    match call.number(slot) {
        Some(q) if (0.0..=1.0).contains(&q) => Ok(q),
        q => {
            Err(call.wrong(lower, slot, format!("a quantile lies between 0 and 1, this is {}", q.unwrap_or(f64::NAN))))
        }
    }
}

fn interpolation(lower: &Lower, call: &Call, slot: usize) -> Result<Interpolation, Diagnostic> {
    let words = ["nearest", "lower", "higher", "midpoint", "linear"];
    Ok(Interpolation::parse(call.choice(lower, slot, &words)?).unwrap_or(Interpolation::Nearest))
}

fn together(lower: &mut Lower, call: &Call, covariance: Option<i64>) -> Result<TypedExpr, Diagnostic> {
    let (size, needed) = window::sizes(lower, call, 2)?;
    let work = Work::Together { window: size.cast_unsigned(), min_samples: needed.cast_unsigned(), covariance };
    let (value, order) = (call.this(), lower.order()?);
    let args = vec![value.f64(), call.arg(1).f64()];
    let expr = window::window(lower, series(work), args, Vec::new(), order)?;
    Ok(value.with(expr, DataType::Float64))
}

/// The nanoseconds of a span without months.
fn nanos_of(text: &str) -> Option<i64> {
    let span = TimeSpan::parse(text).filter(|span| span.months == 0)?;
    i64::try_from(span.fixed_nanos()).ok().filter(|nanos| *nanos > 0)
}

/// Over the rows whose time lies in a stretch that ends at the row's own: `(t - window_size, t]`.
fn by_time(lower: &mut Lower, call: &Call, statistic: Statistic) -> Result<TypedExpr, Diagnostic> {
    let by = match call.text(1) {
        Some(name) => lower.column(name, call.arg(1).span.as_ref())?,
        None => call.arg(1),
    };
    let (times, reach) = match (&by.dtype, call.text(2), call.int(2)) {
        (DataType::Timestamp(TimeUnit::Nanosecond, _), Some(text), _) if nanos_of(text).is_some() => {
            (by.i64(), Reach::Number(nanos_of(text).unwrap_or(1)))
        }
        (d, Some(text), _) if type_coercion::is_date_or_time(d) => {
            let Some(every) = CalendarInterval::parse(text) else {
                return Err(call.wrong(lower, 2, format!("`{text}` is not a time span")).help(calendar_interval::HELP));
            };
            // The days are those of moments, not of a wall clock.
            let zone = match d {
                DataType::Timestamp(_, zone) => zone.clone(),
                _ => None,
            };
            (by.to(&DataType::Timestamp(TimeUnit::Microsecond, zone)).i64(), Reach::of(every))
        }
        (d, None, Some(size)) if d.is_integer() && size > 0 => (by.i64(), Reach::Number(size)),
        (d, ..) => {
            let message = format!(
                "windows go by a date or a time and a span such as \"2h\", or by integers and a number; `by` is `{}`",
                diagnostics::type_name(d)
            );
            return Err(call.wrong(lower, 1, message));
        }
    };
    let closed = match call.choice(lower, 4, &["right", "left", "both", "none"])? {
        "left" => (true, false),
        "both" => (true, true),
        "none" => (false, false),
        _ => (false, true),
    };
    let closed = ClosedEnds { left: closed.0, right: closed.1 };
    let min_samples = u64::try_from(call.int(3).unwrap_or(1)).unwrap_or(0);
    let value = call.this();
    let order = vec![times.clone().sort(true, true), lower.row()?.sort(true, true)];
    let work = Work::ByTime { statistic, reach, closed, min_samples };
    let expr = window::window(lower, series(work), vec![value.f64(), times], Vec::new(), order)?;
    let out = float_of(&value.dtype);
    let is_whole = matches!(statistic, Statistic::Min | Statistic::Max | Statistic::Sum);
    let out = match &value.dtype {
        d if is_whole && d.is_integer() => match statistic {
            Statistic::Sum if d.is_signed_integer() => DataType::Int64,
            Statistic::Sum => DataType::UInt64,
            _ => d.clone(),
        },
        _ => out,
    };
    Ok(value.with(cast(expr, out.clone()), out))
}

/// Intervals between quantiles, named as those of `cut`.
fn qcut(lower: &mut Lower, call: &Call) -> Result<TypedExpr, Diagnostic> {
    let value = call.this();
    let number = |v: &Value| match v {
        Value::Int(v) => Some(*v as f64),
        Value::UInt(v) => Some(*v as f64),
        Value::Float(v) => Some(*v),
        Value::Float32(v) => Some(f64::from(*v)),
        _ => None,
    };
    let shares: Vec<f64> = match (call.int(1), call.arg(1).literal) {
        (Some(n), _) if (1..=10_000).contains(&n) => (1..n).map(|i| i as f64 / n as f64).collect(),
        (_, Some(Value::List(values))) => values.iter().filter_map(number).collect(),
        _ => vec![f64::NAN],
    };
    if shares.iter().any(|q| !(0.0..=1.0).contains(q)) {
        let message = "`quantiles` is a number of intervals, or a list of numbers between 0 and 1";
        return Err(call.wrong(lower, 1, message));
    }
    let labels = match call.opt(2).and_then(|l| l.literal) {
        Some(Value::List(values)) => values.iter().map(text_of).collect(),
        _ => Vec::new(),
    };
    if !labels.is_empty() && labels.len() != shares.len() + 1 {
        let message = format!("{} intervals need as many labels, {} are given", shares.len() + 1, labels.len());
        return Err(call.wrong(lower, 2, message));
    }
    // NaN has no place among the quantiles.
    let numbers = value.with(value.f64(), DataType::Float64);
    let number = Expr::Not(Box::new(datafusion::functions::expr_fn::isnan(numbers.expr.clone())));
    let present = operators::only_if(number, &numbers)?;
    let mut args = vec![present.clone(), lit(shares.len() as i64), lit(call.flag(3)), lit(call.flag(4))];
    for q in &shares {
        let at = quantile(*q, Interpolation::Linear);
        args.push(lower.aggregate(at, vec![present.clone()], Aggregation::default())?);
    }
    args.extend(labels.iter().map(|label| text_literal(label)));
    Ok(value.with(kernel_at("qcut", TEXT, intervals, call.span).call(args), TEXT))
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Int(v) => v.to_string(),
        Value::UInt(v) => v.to_string(),
        Value::Float(v) => v.to_string(),
        other => format!("{other:?}"),
    }
}

/// Arguments: the values, the number of breaks, `left_closed`, whether breaks may be equal, the breaks, the labels if
/// there are any.
fn intervals(args: &[ArrayRef]) -> datafusion::error::Result<ArrayRef> {
    let values = args[0].as_primitive::<Float64Type>();
    let mut out = StringViewBuilder::with_capacity(values.len());
    if values.is_empty() {
        return Ok(Arc::new(out.finish()));
    }
    let count = args[1].as_primitive::<Int64Type>().value(0) as usize;
    let (is_left, may_repeat) = (args[2].as_boolean().value(0), args[3].as_boolean().value(0));
    let breaks: Vec<&Float64Array> = args[4..4 + count].iter().map(|a| a.as_primitive::<Float64Type>()).collect();
    let labels = &args[4 + count..];
    for row in 0..values.len() {
        if values.is_null(row) {
            out.append_null();
            continue;
        }
        let value = values.value(row);
        let all: Vec<f64> = breaks.iter().map(|b| b.value(row)).collect();
        if !may_repeat && all.windows(2).any(|pair| pair[0] >= pair[1]) {
            let diagnostic = Diagnostic::error(
                onrush_wire::Class::Data,
                "equal-quantiles",
                "two quantiles of `qcut` are equal, so that an interval would be empty",
            );
            return Err(external(diagnostic.help("take fewer intervals, or `allow_duplicates = true`")));
        }
        let place = all.partition_point(|b| if is_left { *b <= value } else { *b < value });
        match labels.get(place) {
            Some(label) => out.append_value(label.as_string_view().value(row)),
            None => {
                let edge = |at: Option<&f64>, none: &str| at.map_or(none.to_string(), f64::to_string);
                let low = edge(place.checked_sub(1).and_then(|at| all.get(at)), "-inf");
                let high = edge(all.get(place), "inf");
                out.append_value(if is_left { format!("[{low}, {high})") } else { format!("({low}, {high}]") });
            }
        }
    }
    Ok(Arc::new(out.finish()))
}
