//! Statistics that are computed from other aggregates: skewness, kurtosis, places of extremes, rank correlation.
//! DataFusion has none of them.

use arrow::datatypes::DataType;
use datafusion::functions_aggregate as df;
use datafusion::logical_expr::{Expr, cast, when};
use onrush_wire::Diagnostic;

use super::function::{Call, Function, Kind, function};
use super::{Aggregation, Lower, TypedExpr, lit, null, operators, window};
use crate::error::diagnose;

const A: Kind = Kind::Aggregate;

pub const FUNCTIONS: &[Function] = &[
    function("skew", &["skewness"], A, "self:num bias:#bool?", |l, c| moments(l, c, 3)),
    function("kurtosis", &["kurt"], A, "self:num fisher:#bool? bias:#bool?", |l, c| moments(l, c, 4)),
    function("arg_max", &["argmax", "idxmax"], A, "self:any", |l, c| place(l, c, false)),
    function("arg_min", &["argmin", "idxmin"], A, "self:any", |l, c| place(l, c, true)),
    function("corr", &[], A, "self:num other:num method:#str?", |l, c| {
        let (mut a, mut b) = (c.this(), c.arg(1));
        if c.choice(l, 2, &["pearson", "spearman"])? == "spearman" {
            (a, b) = ranks(l, &a, &b)?;
        }
        let expr = l.aggregate(super::correlation::corr(), vec![a.f64(), b.f64()], Aggregation::default())?;
        Ok(a.with(expr, DataType::Float64))
    }),
];

fn mean(lower: &mut Lower, value: Expr) -> Result<Expr, Diagnostic> {
    lower.aggregate(df::average::avg_udaf(), vec![value], Aggregation::default())
}

/// The third or fourth standardised moment, with the options and the defaults of Polars and SciPy.
fn moments(lower: &mut Lower, call: &Call, order: u8) -> Result<TypedExpr, Diagnostic> {
    let value = call.this();
    let flag = |slot: usize| call.opt(slot).is_none() || call.flag(slot);
    let (is_fisher, is_biased) = if order == 3 { (false, flag(1)) } else { (flag(1), flag(2)) };
    let numbers = match value.dtype {
        DataType::Boolean => value.to(&DataType::Int64).f64(),
        _ => value.f64(),
    };
    let center = lower.inside(|lower| mean(lower, numbers.clone()))?;
    let apart = numbers.clone() - center;
    let square = apart.clone() * apart.clone();
    let second = mean(lower, square.clone())?;
    let (power, scale) = match order {
        3 => {
            let root = datafusion::functions::expr_fn::sqrt(second.clone());
            (square * apart, second.clone() * root)
        }
        _ => (square.clone() * square, second.clone() * second.clone()),
    };
    let plain = mean(lower, power)? / scale;
    let n = lower.aggregate(df::count::count_udaf(), vec![numbers], Aggregation::default())?;
    let n = cast(n, DataType::Float64);
    let (one, two, three) = (lit(1.0), lit(2.0), lit(3.0));
    let moment = match (order, is_biased) {
        (3, true) => plain,
        (3, false) => {
            let factor = datafusion::functions::expr_fn::sqrt(n.clone() * (n.clone() - one)) / (n.clone() - two);
            when(n.clone().gt(lit(2.0)), factor * plain).otherwise(lit(f64::NAN)).map_err(diagnose)?
        }
        (_, true) => {
            if is_fisher {
                plain - three
            } else {
                plain
            }
        }
        (_, false) => {
            let (less, least) = ((n.clone() - one.clone()), (n.clone() - two) * (n.clone() - three.clone()));
            let unbiased = less.clone() / least * ((n.clone() + one) * plain - three.clone() * less);
            let unbiased = if is_fisher { unbiased } else { unbiased + three };
            when(n.clone().gt(lit(3.0)), unbiased).otherwise(lit(f64::NAN)).map_err(diagnose)?
        }
    };
    // A column of one value has neither.
    let flat = when(second.clone().eq(lit(0.0)), lit(f64::NAN)).otherwise(moment).map_err(diagnose)?;
    let result = when(n.gt(lit(0.0)), flat).otherwise(null(&DataType::Float64)).map_err(diagnose)?;
    Ok(value.with(result, DataType::Float64))
}

/// The number of the row, from 0 in each group, where the value is smallest or largest; the first of equal ones. NaN is
/// taken if there is nothing else.
fn place(lower: &mut Lower, call: &Call, least: bool) -> Result<TypedExpr, Diagnostic> {
    let value = call.this();
    let number = lower.inside(|lower| {
        let order = lower.order()?;
        window::row_number(lower, order)
    })?;
    let mut order = vec![value.expr.clone().sort(least, false), lower.row()?.sort(true, true)];
    if value.dtype.is_floating() {
        order.insert(0, datafusion::functions::expr_fn::isnan(value.expr.clone()).sort(true, false));
    }
    let present = Expr::IsNotNull(Box::new(value.expr.clone()));
    let outer = lower.filter.clone();
    lower.filter = Some(match &outer {
        Some(filter) => filter.clone().and(present),
        None => present,
    });
    let first = lower.aggregate_by(df::first_last::first_value_udaf(), vec![number], order);
    lower.filter = outer;
    let index = cast(first?, DataType::Int64) - lit(1i64);
    Ok(value.with(cast(index, DataType::UInt32), DataType::UInt32))
}

/// The ranks of two columns among the rows that have both.
fn ranks(lower: &mut Lower, a: &TypedExpr, b: &TypedExpr) -> Result<(TypedExpr, TypedExpr), Diagnostic> {
    let present = |value: &TypedExpr| Expr::IsNotNull(Box::new(value.expr.clone()));
    let mut both = present(a).and(present(b));
    if let Some(filter) = &lower.filter {
        both = both.and(filter.clone());
    }
    let outer = lower.filter.take();
    let mut rank = |value: &TypedExpr| -> Result<TypedExpr, Diagnostic> {
        let value = value.with(operators::only_if(both.clone(), value)?, value.dtype.clone());
        lower.inside(|lower| window::rank_of(lower, &value, "average", false))
    };
    let ranks = rank(a).and_then(|a| Ok((a, rank(b)?)));
    lower.filter = outer;
    ranks
}
