//! Aggregates with Polars' meaning: nulls left out, the sum of nothing is 0, small integers add up in `i64`.

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::functions_aggregate as df;
use datafusion::logical_expr::{Expr, binary_expr, cast, when};
use onrush_wire::Diagnostic;

use super::function::{Call, Function, Kind, function};
use super::quantile::{Interpolation, product, quantile};
use super::{Aggregation, Lower, TypedExpr, lit, null, operators};
use crate::diagnostics::{self, type_name};
use crate::error::diagnose;
use crate::type_coercion::{self, float_of, is_decimal, is_number};

const A: Kind = Kind::Aggregate;

pub const FUNCTIONS: &[Function] = &[
    function("len", &["size"], A, "self:any?", len),
    function("count", &[], A, "self:any?", count),
    function("null_count", &[], A, "self:any", |l, c| {
        let value = c.this();
        let null = Expr::IsNull(Box::new(value.expr.clone()));
        count_if(l, &value, null)
    }),
    function("sum", &[], A, "self:any", sum),
    function("mean", &["avg", "average"], A, "self:any", mean),
    function("median", &[], A, "self:any", |l, c| quantile_of(l, c, 0.5, Interpolation::Linear)),
    function("min", &[], A, "self:any", |l, c| extreme(l, c, false)),
    function("max", &[], A, "self:any", |l, c| extreme(l, c, true)),
    function("std", &["stddev"], A, "self:num ddof:#int?", |l, c| spread(l, c, true)),
    function("var", &["variance"], A, "self:num ddof:#int?", |l, c| spread(l, c, false)),
    function("quantile", &["percentile"], A, "self:any quantile:#num interpolation:#str?", |l, c| {
        let q = c.number(1).unwrap_or(f64::NAN);
        if !(0.0..=1.0).contains(&q) {
            return Err(c.wrong(l, 1, format!("a quantile lies between 0 and 1, this is {q}")));
        }
        let words = ["nearest", "lower", "higher", "midpoint", "linear"];
        let how = Interpolation::parse(c.choice(l, 2, &words)?).unwrap_or(Interpolation::Nearest);
        quantile_of(l, c, q, how)
    }),
    // One of the three quartiles, `nearest`; `describe` uses it: the values are put in order once for all of them.
    function("quartile", &[], A, "self:any which:#int", |l, c| {
        quantile_by(l, c, |lower, numbers| {
            let list = lower.aggregate(super::quantile::quartiles(), vec![numbers], Aggregation::default())?;
            Ok(datafusion::functions_nested::expr_fn::array_element(list, lit(c.int(1).unwrap_or(2))))
        })
    }),
    function("n_unique", &["nunique", "count_distinct"], A, "self:any", n_unique),
    function("first", &[], A, "self:any", |l, c| end(l, c, true)),
    function("last", &[], A, "self:any", |l, c| end(l, c, false)),
    // Takes the rows where `condition` holds; `pivot` uses it.
    function("first_where", &[], A, "self:any condition:bool first:#bool?", |l, c| {
        let (value, condition) = (c.this(), c.arg(1));
        let backwards = c.opt(2).is_some() && !c.flag(2);
        let function = if backwards { df::first_last::last_value_udaf() } else { df::first_last::first_value_udaf() };
        let outer = l.filter.clone();
        l.filter = Some(match &outer {
            Some(filter) => filter.clone().and(condition.expr),
            None => condition.expr,
        });
        let how = Aggregation { ordered: true, ..Default::default() };
        let expr = l.aggregate(function, vec![value.expr.clone()], how);
        l.filter = outer;
        Ok(value.with(expr?, value.dtype.clone()))
    }),
    // The number of the group's first row, from 1.
    function("first_row", &[], A, "", |l, c| {
        let row = l.row()?;
        let expr = l.aggregate(df::min_max::min_udaf(), vec![row], Aggregation::default())?;
        let name = "first_row".to_string();
        Ok(TypedExpr { expr, dtype: DataType::UInt64, name, span: c.span.cloned(), literal: None })
    }),
    function("any_value", &[], A, "self:any", |l, c| {
        let value = c.this();
        let ignore = Some(datafusion::logical_expr::expr::NullTreatment::IgnoreNulls);
        let how = Aggregation { ordered: true, null_treatment: ignore, ..Default::default() };
        let expr = l.aggregate(df::first_last::first_value_udaf(), vec![value.expr.clone()], how)?;
        Ok(value.with(expr, value.dtype.clone()))
    }),
    function("any", &[], A, "self:bool", |l, c| all_or_any(l, c, false)),
    function("all", &[], A, "self:bool", |l, c| all_or_any(l, c, true)),
    function("product", &["prod"], A, "self:num", |l, c| {
        let value = c.this();
        let value = value.to(&if value.dtype.is_floating() { DataType::Float64 } else { DataType::Int64 });
        let expr = l.aggregate(product(), vec![value.expr.clone()], Aggregation::default())?;
        Ok(value.with(expr, value.dtype.clone()))
    }),
    function("cov", &[], A, "self:num other:num ddof:#int?", |l, c| {
        let (a, b) = (c.this(), c.arg(1));
        let function = match c.int(2).unwrap_or(1) {
            1 => df::covariance::covar_samp_udaf(),
            0 => df::covariance::covar_pop_udaf(),
            other => return Err(c.wrong(l, 2, format!("`ddof` is 0 or 1, this is {other}"))),
        };
        let expr = l.aggregate(function, vec![a.f64(), b.f64()], Aggregation::default())?;
        Ok(a.with(expr, DataType::Float64))
    }),
    function("implode", &["collect", "list"], A, "self:any", |l, c| implode(l, &c.this())),
    function("str.join", &["str.concat"], A, "self:str delimiter:#str?", |l, c| {
        let value = c.this();
        let args = vec![value.text(), lit(c.text(1).unwrap_or("").to_string())];
        let how = Aggregation { ordered: true, ..Default::default() };
        let expr = l.aggregate(df::string_agg::string_agg_udaf(), args, how)?;
        let joined = datafusion::functions::expr_fn::coalesce(vec![
            cast(expr, type_coercion::TEXT),
            cast(lit(""), type_coercion::TEXT),
        ]);
        Ok(value.with(joined, type_coercion::TEXT))
    }),
    function("mode", &[], A, "self:any", |l, c| {
        let value = c.this();
        let expr = l.aggregate(super::quantile::mode(), vec![value.expr.clone()], Aggregation::default())?;
        Ok(value.with(expr, value.dtype.clone()))
    }),
    function("max_by", &[], A, "self:any by:any", |l, c| by(l, c, false)),
    function("min_by", &[], A, "self:any by:any", |l, c| by(l, c, true)),
];

/// The value in the first row where `by` is largest or smallest; rows where that is null do not count.
fn by(lower: &mut Lower, call: &Call, ascending: bool) -> Result<TypedExpr, Diagnostic> {
    let (value, by) = (call.this(), call.arg(1));
    let present = Expr::IsNotNull(Box::new(by.expr.clone()));
    let order = vec![by.expr.sort(ascending, false), lower.row()?.sort(true, true)];
    let outer = lower.filter.clone();
    lower.filter = Some(match &outer {
        Some(filter) => filter.clone().and(present),
        None => present,
    });
    let expr = lower.aggregate_by(df::first_last::first_value_udaf(), vec![value.expr.clone()], order);
    lower.filter = outer;
    Ok(value.with(expr?, value.dtype.clone()))
}

/// Counts come as `u32`, as in Polars.
fn counted(like: &TypedExpr, expr: Expr) -> TypedExpr {
    like.with(cast(expr, DataType::UInt32), DataType::UInt32)
}

fn len(lower: &mut Lower, call: &Call) -> Result<TypedExpr, Diagnostic> {
    let mut like = call.this();
    if call.opt(0).is_none() {
        like.name = "len".to_string();
    }
    let expr = lower.aggregate(df::count::count_udaf(), vec![lit(1i64)], Aggregation::default())?;
    Ok(counted(&like, expr))
}

fn count(lower: &mut Lower, call: &Call) -> Result<TypedExpr, Diagnostic> {
    let Some(value) = call.opt(0) else { return len(lower, call) };
    let expr = lower.aggregate(df::count::count_udaf(), vec![value.expr.clone()], Aggregation::default())?;
    Ok(counted(&value, expr))
}

fn count_if(lower: &mut Lower, like: &TypedExpr, condition: Expr) -> Result<TypedExpr, Diagnostic> {
    let one = when(condition, lit(1i64)).otherwise(null(&DataType::Int64)).map_err(diagnose)?;
    let expr = lower.aggregate(df::count::count_udaf(), vec![one], Aggregation::default())?;
    Ok(counted(like, expr))
}

fn unsupported(lower: &Lower, call: &Call, value: &TypedExpr) -> Diagnostic {
    let mut diagnostic = diagnostics::plan_error(
        "type-mismatch",
        format!("`{}` needs numbers, but this is `{}`", call.function.name, type_name(&value.dtype)),
    );
    if type_coercion::is_text(&value.dtype) {
        diagnostic = diagnostic.help("make the text a number first: `.cast(\"f64\")`");
    }
    lower.fail(diagnostic, value.span.as_ref().or(call.span), &format!("this is `{}`", type_name(&value.dtype)))
}

fn sum(lower: &mut Lower, call: &Call) -> Result<TypedExpr, Diagnostic> {
    let value = call.this();
    let (input, output) = match &value.dtype {
        DataType::Boolean => (DataType::Int64, DataType::UInt32),
        DataType::Int8 | DataType::Int16 | DataType::UInt8 | DataType::UInt16 => (DataType::Int64, DataType::Int64),
        // Polars adds these up in their own 32 bits and wraps; 64 bits hold the same sums and more.
        DataType::Int32 | DataType::Int64 => (DataType::Int64, DataType::Int64),
        DataType::UInt32 | DataType::UInt64 => (DataType::UInt64, DataType::UInt64),
        DataType::Null => (DataType::Int64, DataType::Int64),
        DataType::Duration(_) => (DataType::Int64, value.dtype.clone()),
        d if d.is_floating() => (DataType::Float64, float_of(d)),
        d if is_decimal(d) => {
            (DataType::Decimal128(38, type_coercion::scale_of(d)), DataType::Decimal128(38, type_coercion::scale_of(d)))
        }
        _ => return Err(unsupported(lower, call, &value)),
    };
    let expr = lower.aggregate(df::sum::sum_udaf(), vec![value.to(&input).expr], Aggregation::default())?;
    let expr = cast(expr, output.clone());
    let zero = match &output {
        DataType::Duration(_) => cast(lit(0i64), output.clone()),
        other => operators::number(0, other),
    };
    Ok(value.with(datafusion::functions::expr_fn::coalesce(vec![expr, zero]), output))
}

fn mean(lower: &mut Lower, call: &Call) -> Result<TypedExpr, Diagnostic> {
    let value = call.this();
    let output = match &value.dtype {
        d if is_number(d) => float_of(d),
        DataType::Boolean | DataType::Null => DataType::Float64,
        d if type_coercion::is_temporal(d) => return temporal_mean(lower, value),
        _ => return Err(unsupported(lower, call, &value)),
    };
    let numbers = match value.dtype {
        DataType::Boolean => value.to(&DataType::Int64).f64(),
        _ => value.f64(),
    };
    let expr = lower.aggregate(df::average::avg_udaf(), vec![numbers], Aggregation::default())?;
    Ok(value.with(cast(expr, output.clone()), output))
}

/// As microseconds, cut to the unit below.
fn temporal_mean(lower: &mut Lower, value: TypedExpr) -> Result<TypedExpr, Diagnostic> {
    let value = match &value.dtype {
        DataType::Date32 | DataType::Date64 => {
            value.to(&DataType::Timestamp(arrow::datatypes::TimeUnit::Microsecond, None))
        }
        _ => value,
    };
    let ticks = value.to(&DataType::Int64).f64();
    let expr = lower.aggregate(df::average::avg_udaf(), vec![ticks], Aggregation::default())?;
    Ok(value.with(cast(cast(expr, DataType::Int64), value.dtype.clone()), value.dtype.clone()))
}

fn quantile_of(lower: &mut Lower, call: &Call, q: f64, how: Interpolation) -> Result<TypedExpr, Diagnostic> {
    let mut call = call.clone();
    // Between two days lies a time, as in Polars.
    if matches!(call.this().dtype, DataType::Date32 | DataType::Date64) && how != Interpolation::Nearest {
        call.replace(call.this().to(&DataType::Timestamp(arrow::datatypes::TimeUnit::Microsecond, None)));
    }
    quantile_by(lower, &call, |lower, numbers| lower.aggregate(quantile(q, how), vec![numbers], Aggregation::default()))
}

/// The values as floats, through an aggregate, back in their type.
fn quantile_by(
    lower: &mut Lower,
    call: &Call,
    aggregate: impl FnOnce(&mut Lower, Expr) -> Result<Expr, Diagnostic>,
) -> Result<TypedExpr, Diagnostic> {
    let value = call.this();
    let (numbers, back) = match &value.dtype {
        d if is_number(d) => (value.f64(), float_of(d)),
        DataType::Boolean => (value.to(&DataType::Int64).f64(), DataType::Float64),
        DataType::Null => (value.f64(), DataType::Float64),
        d if type_coercion::is_temporal(d) => {
            let whole =
                if matches!(d, DataType::Date32 | DataType::Time32(_)) { DataType::Int32 } else { DataType::Int64 };
            (value.to(&whole).f64(), d.clone())
        }
        _ => return Err(unsupported(lower, call, &value)),
    };
    let expr = aggregate(lower, numbers)?;
    let expr = match type_coercion::is_temporal(&back) {
        true if matches!(back, DataType::Date32 | DataType::Time32(_)) => {
            cast(cast(expr, DataType::Int32), back.clone())
        }
        true => cast(cast(expr, DataType::Int64), back.clone()),
        false => cast(expr, back.clone()),
    };
    Ok(value.with(expr, back))
}

fn extreme(lower: &mut Lower, call: &Call, max: bool) -> Result<TypedExpr, Diagnostic> {
    let mut value = call.this();
    if matches!(value.dtype, DataType::Dictionary(..)) && value.is_text() {
        value = value.to(&type_coercion::TEXT);
    }
    if type_coercion::is_list(&value.dtype) || matches!(value.dtype, DataType::Struct(_)) {
        return Err(unsupported(lower, call, &value));
    }
    let function = || super::min_max::extreme(max);
    let plain = lower.aggregate(function(), vec![value.expr.clone()], Aggregation::default())?;
    if !value.dtype.is_floating() {
        return Ok(value.with(plain, value.dtype.clone()));
    }
    // DataFusion's order of NaN is not the same in groups and over all rows. Polars leaves NaN out unless there is
    // nothing else.
    let number = Expr::Not(Box::new(datafusion::functions::expr_fn::isnan(value.expr.clone())));
    let without = operators::only_if(number, &value)?;
    let expr = lower.aggregate(function(), vec![without], Aggregation::default())?;
    Ok(value.with(datafusion::functions::expr_fn::coalesce(vec![expr, plain]), value.dtype.clone()))
}

fn spread(lower: &mut Lower, call: &Call, root: bool) -> Result<TypedExpr, Diagnostic> {
    let value = call.this();
    let function = match (call.int(1).unwrap_or(1), root) {
        (1, true) => df::stddev::stddev_udaf(),
        (0, true) => df::stddev::stddev_pop_udaf(),
        (1, false) => df::variance::var_samp_udaf(),
        (0, false) => df::variance::var_pop_udaf(),
        (other, _) => return Err(call.wrong(lower, 1, format!("`ddof` is 0 or 1, this is {other}"))),
    };
    let output = float_of(&value.dtype);
    let numbers = match value.dtype {
        DataType::Boolean => value.to(&DataType::Int64).f64(),
        _ => value.f64(),
    };
    let expr = lower.aggregate(function, vec![numbers], Aggregation::default())?;
    Ok(value.with(cast(expr, output.clone()), output))
}

/// Null counts as a value, as in Polars.
fn n_unique(lower: &mut Lower, call: &Call) -> Result<TypedExpr, Diagnostic> {
    let value = call.this();
    // The ranks of structs and lists are not ordered.
    if lower.is_over_rows() && lower.filter.is_none() && !value.dtype.is_nested() {
        let count = super::window::distinct_in_partition(lower, &value)?;
        return Ok(counted(&value, count));
    }
    let how = Aggregation { distinct: true, ..Default::default() };
    let distinct = lower.aggregate(
        df::count::count_udaf(),
        vec![type_coercion::one_zero(value.expr.clone(), &value.dtype)],
        how,
    )?;
    let missing = when(Expr::IsNull(Box::new(value.expr.clone())), lit(1i64)).otherwise(lit(0i64)).map_err(diagnose)?;
    let missing = lower.aggregate(df::min_max::max_udaf(), vec![missing], Aggregation::default())?;
    let missing = datafusion::functions::expr_fn::coalesce(vec![missing, lit(0i64)]);
    Ok(counted(&value, binary_expr(distinct, datafusion::logical_expr::Operator::Plus, missing)))
}

fn end(lower: &mut Lower, call: &Call, first: bool) -> Result<TypedExpr, Diagnostic> {
    let value = call.this();
    let function = if first { df::first_last::first_value_udaf() } else { df::first_last::last_value_udaf() };
    let how = Aggregation { ordered: true, ..Default::default() };
    let expr = lower.aggregate(function, vec![value.expr.clone()], how)?;
    Ok(value.with(expr, value.dtype.clone()))
}

fn all_or_any(lower: &mut Lower, call: &Call, all: bool) -> Result<TypedExpr, Diagnostic> {
    let value = call.this();
    let function = if all { df::bool_and_or::bool_and_udaf() } else { df::bool_and_or::bool_or_udaf() };
    let expr = lower.aggregate(function, vec![value.to(&DataType::Boolean).expr], Aggregation::default())?;
    Ok(value.with(datafusion::functions::expr_fn::coalesce(vec![expr, lit(all)]), DataType::Boolean))
}

/// The values of a group as a list, in the frame's order.
pub fn implode(lower: &mut Lower, value: &TypedExpr) -> Result<TypedExpr, Diagnostic> {
    let how = Aggregation { ordered: true, ..Default::default() };
    let expr = lower.aggregate(df::array_agg::array_agg_udaf(), vec![value.expr.clone()], how)?;
    let dtype = lower.type_of(&expr)?;
    let empty = ScalarValue::List(ScalarValue::new_list(&[], &value.dtype, true));
    match empty.data_type() == dtype {
        true => {
            let expr = datafusion::functions::expr_fn::coalesce(vec![expr, Expr::Literal(empty, None)]);
            Ok(value.with(expr, dtype))
        }
        false => Ok(value.with(expr, dtype)),
    }
}
