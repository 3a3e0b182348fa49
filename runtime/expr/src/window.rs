//! Functions over neighbouring rows: shifts, running and rolling values, ranks, `over`.
//!
//! All of them work in the order of the frame's rows, or in that of `.over(..).order_by(..)`.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::functions_aggregate as df;
use datafusion::functions_window as dfw;
use datafusion::logical_expr::expr::{NullTreatment, Sort, WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::{
    AggregateUDF, Expr, ExprSchemable, Operator, WindowFrame, WindowFrameBound, WindowFrameUnits,
    WindowFunctionDefinition, binary_expr, cast,
};
use onrush_wire::expr::SortKey;
use onrush_wire::plan::Keep;
use onrush_wire::{BinaryOp, Diagnostic};

use super::function::{Call, Function, Kind, function};
use super::quantile::{Interpolation, product, quantile};
use super::{Aggregation, Lower, Scope, TypedExpr, categories, lit, operators};
use crate::diagnostics;
use crate::type_coercion::{self, float_of};

const W: Kind = Kind::Window;

pub const FUNCTIONS: &[Function] = &[
    function("shift", &["lag"], W, "self:any n:#int? fill_value:any?", |l, c| {
        let n = c.int(1).unwrap_or(1);
        shift(l, &c.this(), n, c.opt(2))
    }),
    function("lead", &[], W, "self:any n:#int? fill_value:any?", |l, c| {
        let n = c.int(1).unwrap_or(1);
        shift(l, &c.this(), -n, c.opt(2))
    }),
    function("diff", &[], W, "self:any n:#int?", |l, c| {
        let value = c.this();
        let before = shift(l, &value, c.int(1).unwrap_or(1), None)?;
        // Polars takes differences of small unsigned numbers in the next signed type.
        let wide = match value.dtype {
            DataType::UInt8 => Some(DataType::Int16),
            DataType::UInt16 => Some(DataType::Int32),
            DataType::UInt32 | DataType::UInt64 => Some(DataType::Int64),
            _ => None,
        };
        match wide {
            Some(wide) => operators::binary(l, BinaryOp::Subtract, value.to(&wide), before.to(&wide), c.span),
            None => operators::binary(l, BinaryOp::Subtract, value, before, c.span),
        }
    }),
    function("pct_change", &[], W, "self:num n:#int?", |l, c| {
        let value = c.this();
        let before = shift(l, &value, c.int(1).unwrap_or(1), None)?;
        let change = binary_expr(value.f64(), Operator::Minus, before.f64());
        Ok(value.with(binary_expr(change, Operator::Divide, before.f64()), DataType::Float64))
    }),
    function("rank", &[], W, "self:any? method:#str? descending:#bool?", |l, c| match c.opt(0) {
        Some(_) => rank(l, c),
        None => ordered_rank(l, c, dfw::rank::rank_udwf()),
    }),
    function("dense_rank", &[], W, "", |l, c| ordered_rank(l, c, dfw::rank::dense_rank_udwf())),
    function("cum_sum", &["cumsum"], W, "self:num reverse:#bool?", |l, c| {
        let value = c.this();
        let dtype = match &value.dtype {
            DataType::Boolean => DataType::UInt32,
            d if d.is_floating() => DataType::Float64,
            DataType::UInt32 | DataType::UInt64 => DataType::UInt64,
            d if type_coercion::is_decimal(d) => DataType::Decimal128(38, type_coercion::scale_of(d)),
            _ => DataType::Int64,
        };
        let wide = if dtype == DataType::UInt32 { DataType::UInt64 } else { dtype.clone() };
        let output = if value.dtype == DataType::Float32 { DataType::Float32 } else { dtype };
        running(l, c, df::sum::sum_udaf(), value.to(&wide), output)
    }),
    function("cum_min", &["cummin"], W, "self:any reverse:#bool?", |l, c| {
        let value = c.this();
        let dtype = value.dtype.clone();
        running(l, c, df::min_max::min_udaf(), value, dtype)
    }),
    function("cum_max", &["cummax"], W, "self:any reverse:#bool?", |l, c| {
        let value = c.this();
        let dtype = value.dtype.clone();
        if !dtype.is_floating() {
            return running(l, c, df::min_max::max_udaf(), value, dtype);
        }
        // NaN is left out until there is nothing else, as in `max`.
        let nan = datafusion::functions::expr_fn::isnan(value.expr.clone());
        let numbers = value.with(operators::only_if(Expr::Not(Box::new(nan)), &value)?, dtype.clone());
        let best = over_frame(l, df::min_max::max_udaf(), numbers.expr, expanding(c.flag(1)))?;
        let all = running(l, c, df::min_max::max_udaf(), value.clone(), dtype.clone())?;
        let best = value.with(datafusion::functions::expr_fn::coalesce(vec![best, all.expr]), dtype.clone());
        Ok(value.with(operators::only_if(Expr::IsNotNull(Box::new(value.expr.clone())), &best)?, dtype))
    }),
    function("cum_prod", &["cumprod"], W, "self:num reverse:#bool?", |l, c| {
        let value = c.this();
        let dtype = if value.dtype.is_floating() { DataType::Float64 } else { DataType::Int64 };
        running(l, c, product(), value.to(&dtype), dtype)
    }),
    function("cum_count", &["cumcount"], W, "self:any reverse:#bool?", |l, c| {
        let value = c.this();
        let expr = over_frame(l, df::count::count_udaf(), value.expr.clone(), expanding(c.flag(1)))?;
        Ok(value.with(cast(expr, DataType::UInt32), DataType::UInt32))
    }),
    function("rolling_mean", &[], W, ROLLING, |l, c| rolling(l, c, df::average::avg_udaf(), Output::Float)),
    function("rolling_sum", &[], W, ROLLING, |l, c| rolling(l, c, df::sum::sum_udaf(), Output::Sum)),
    function("rolling_min", &[], W, ROLLING, |l, c| rolling(l, c, df::min_max::min_udaf(), Output::Same)),
    function("rolling_max", &[], W, ROLLING, |l, c| rolling(l, c, df::min_max::max_udaf(), Output::Same)),
    function("rolling_std", &[], W, ROLLING, |l, c| rolling(l, c, df::stddev::stddev_udaf(), Output::Float)),
    function("rolling_var", &[], W, ROLLING, |l, c| rolling(l, c, df::variance::var_samp_udaf(), Output::Float)),
    function("rolling_median", &[], W, ROLLING, |l, c| {
        rolling(l, c, quantile(0.5, Interpolation::Linear), Output::Float)
    }),
    function("forward_fill", &["ffill", "fill_forward"], W, "self:any", |l, c| fill(l, c, true)),
    function("backward_fill", &["bfill", "fill_backward"], W, "self:any", |l, c| fill(l, c, false)),
    function("is_unique", &[], W, "self:any", |l, c| {
        let n = doubles(l, &c.this())?;
        Ok(c.this().with(n.eq(lit(1i64)), DataType::Boolean))
    }),
    function("is_duplicated", &[], W, "self:any", |l, c| {
        let n = doubles(l, &c.this())?;
        Ok(c.this().with(n.gt(lit(1i64)), DataType::Boolean))
    }),
    function("is_first_distinct", &[], W, "self:any", |l, c| nth_distinct(l, c, true)),
    function("is_last_distinct", &[], W, "self:any", |l, c| nth_distinct(l, c, false)),
    function("row_number", &["row_index"], W, "", |l, _| {
        let order = l.order()?;
        let expr = window(l, dfw::row_number::row_number_udwf(), Vec::new(), Vec::new(), order)?;
        let name = "row_number".to_string();
        Ok(TypedExpr { expr: cast(expr, DataType::Int64), dtype: DataType::Int64, name, span: None, literal: None })
    }),
];

const ROLLING: &str = "self:num window_size:#int min_samples:#int? center:#bool?";

/// `value.over(partition).order_by(order)`.
pub fn over(
    lower: &mut Lower,
    value: &onrush_wire::Expr,
    partition: &[onrush_wire::Expr],
    order: &[SortKey],
) -> Result<TypedExpr, Diagnostic> {
    let mut keys = Vec::new();
    for key in partition {
        let key = lower.expr(key)?;
        keys.push(type_coercion::one_zero(key.expr, &key.dtype));
    }
    let mut sorts = Vec::new();
    for key in order {
        sorts.push(sort_key(lower, key)?);
    }
    let outer = std::mem::replace(&mut lower.scope, Scope::Rows { partition: keys, order: sorts });
    let result = lower.expr(value);
    lower.scope = outer;
    result
}

/// A sort key with Polars' default: nulls first, in either direction. Categories with an order sort by it.
pub fn sort_key(lower: &mut Lower, key: &SortKey) -> Result<Sort, Diagnostic> {
    let value = lower.expr(&key.expr)?;
    if type_coercion::is_list(&value.dtype) || matches!(value.dtype, DataType::Struct(_) | DataType::Map(..)) {
        let message = format!("rows cannot be sorted by `{}`", diagnostics::type_name(&value.dtype));
        return Err(lower.fail(diagnostics::plan_error("type-mismatch", message), value.span.as_ref(), "has no order"));
    }
    let place = value.expr.to_field(&lower.types).ok().and_then(|(_, field)| categories::place(&value.expr, &field));
    let by = place.unwrap_or_else(|| type_coercion::one_zero(value.expr, &value.dtype));
    Ok(Sort::new(by, !key.descending, !key.nulls_last.unwrap_or(false)))
}

/// A window function over the present partition, in this order of its rows.
pub fn window(
    lower: &mut Lower,
    function: Arc<datafusion::logical_expr::WindowUDF>,
    args: Vec<Expr>,
    more_partition: Vec<Expr>,
    order_by: Vec<Sort>,
) -> Result<Expr, Diagnostic> {
    let mut partition_by = lower.partition();
    partition_by.extend(more_partition);
    let window_frame = WindowFrame::new(Some(false));
    make(lower, WindowFunctionDefinition::WindowUDF(function), args, partition_by, order_by, window_frame, None)
}

/// `row_number()` over the present partition.
pub fn row_number(lower: &mut Lower, order: Vec<Sort>) -> Result<Expr, Diagnostic> {
    window(lower, dfw::row_number::row_number_udwf(), Vec::new(), Vec::new(), order)
}

fn make(
    lower: &mut Lower,
    fun: WindowFunctionDefinition,
    args: Vec<Expr>,
    partition_by: Vec<Expr>,
    order_by: Vec<Sort>,
    window_frame: WindowFrame,
    null_treatment: Option<NullTreatment>,
) -> Result<Expr, Diagnostic> {
    let params = WindowFunctionParams {
        args,
        partition_by,
        order_by,
        window_frame,
        filter: None,
        null_treatment,
        distinct: false,
    };
    lower.window(Expr::WindowFunction(Box::new(WindowFunction { fun, params })))
}

/// An aggregate over a frame of rows around the present one.
fn over_frame(
    lower: &mut Lower,
    function: Arc<AggregateUDF>,
    arg: Expr,
    frame: WindowFrame,
) -> Result<Expr, Diagnostic> {
    let (partition, order) = (lower.partition(), lower.order()?);
    make(lower, WindowFunctionDefinition::AggregateUDF(function), vec![arg], partition, order, frame, None)
}

fn preceding(rows: Option<u64>) -> WindowFrameBound {
    WindowFrameBound::Preceding(ScalarValue::UInt64(rows))
}

fn following(rows: Option<u64>) -> WindowFrameBound {
    WindowFrameBound::Following(ScalarValue::UInt64(rows))
}

fn expanding(reverse: bool) -> WindowFrame {
    let (from, to) = match reverse {
        false => (preceding(None), WindowFrameBound::CurrentRow),
        true => (WindowFrameBound::CurrentRow, following(None)),
    };
    WindowFrame::new_bounds(WindowFrameUnits::Rows, from, to)
}

/// The present order from its other end.
fn backwards(lower: &mut Lower) -> Result<Vec<Sort>, Diagnostic> {
    let mut order = lower.order()?;
    order.iter_mut().for_each(|key| (key.asc, key.nulls_first) = (!key.asc, !key.nulls_first));
    // DataFusion would turn the window around again, and some functions cannot go that way: hide that this is the row
    // number.
    order.pop();
    let ones = Expr::Literal(ScalarValue::UInt64(Some(u64::MAX)), None);
    order.push(binary_expr(lower.row()?, Operator::BitwiseXor, ones).sort(true, true));
    Ok(order)
}

fn shift(lower: &mut Lower, value: &TypedExpr, n: i64, fill: Option<TypedExpr>) -> Result<TypedExpr, Diagnostic> {
    let order = lower.order()?;
    let mut args = vec![value.expr.clone(), lit(n)];
    let mut dtype = value.dtype.clone();
    if let Some(fill) = fill {
        let (_, fill) = operators::unify(lower, value.clone(), fill, "`fill_value`:", None)?;
        dtype = fill.dtype.clone();
        args[0] = value.to(&dtype).expr;
        args.push(fill.expr);
    }
    let expr = window(lower, dfw::lead_lag::lag_udwf(), args, Vec::new(), order)?;
    Ok(value.with(expr, dtype))
}

/// Running values; null where the row itself is null, as in Polars.
fn running(
    lower: &mut Lower,
    call: &Call,
    function: Arc<AggregateUDF>,
    value: TypedExpr,
    output: DataType,
) -> Result<TypedExpr, Diagnostic> {
    let expr = match call.flag(1) {
        false => over_frame(lower, function, value.expr.clone(), expanding(false))?,
        true => {
            let (partition, order) = (lower.partition(), backwards(lower)?);
            let fun = WindowFunctionDefinition::AggregateUDF(function);
            make(lower, fun, vec![value.expr.clone()], partition, order, expanding(false), None)?
        }
    };
    let result = value.with(cast(expr, output.clone()), output.clone());
    let present = Expr::IsNotNull(Box::new(value.expr.clone()));
    Ok(value.with(operators::only_if(present, &result)?, output))
}

#[derive(Clone, Copy, PartialEq)]
pub enum Output {
    Float,
    Sum,
    Same,
}

/// Null until `min_samples` (default: all) values of the window are there.
fn rolling(
    lower: &mut Lower,
    call: &Call,
    function: Arc<AggregateUDF>,
    output: Output,
) -> Result<TypedExpr, Diagnostic> {
    let (size, needed) = sizes(lower, call, 1)?;
    rolled(lower, call, function, output, (size, needed, call.flag(3)))
}

/// The rows of a window, and how many values it needs: parameters from `slot` on.
pub fn sizes(lower: &Lower, call: &Call, slot: usize) -> Result<(i64, i64), Diagnostic> {
    let size = call.int(slot).unwrap_or(0);
    if size < 1 {
        return Err(call.wrong(lower, slot, format!("a window has at least one row, this is {size}")));
    }
    let needed = call.int(slot + 1).unwrap_or(size);
    if needed < 0 || needed > size {
        return Err(call.wrong(lower, slot + 1, format!("`min_samples` lies between 0 and the window's {size} rows")));
    }
    Ok((size, needed))
}

/// An aggregate of windows of so many rows, of which so many have a value, before a row or around it.
pub fn rolled(
    lower: &mut Lower,
    call: &Call,
    function: Arc<AggregateUDF>,
    output: Output,
    (size, needed, is_centered): (i64, i64, bool),
) -> Result<TypedExpr, Diagnostic> {
    let value = call.this();
    let (back, forth) = match is_centered {
        true => (size / 2, (size - 1) / 2),
        false => (size - 1, 0),
    };
    let end = if forth == 0 { WindowFrameBound::CurrentRow } else { following(Some(forth as u64)) };
    let frame = WindowFrame::new_bounds(WindowFrameUnits::Rows, preceding(Some(back as u64)), end);
    let dtype = match (output, &value.dtype) {
        (Output::Float, _) => DataType::Float64,
        (_, DataType::Boolean) => DataType::Int64,
        (Output::Sum, d) if d.is_floating() => DataType::Float64,
        (Output::Sum, d) if d.is_signed_integer() => DataType::Int64,
        (Output::Sum, d) if d.is_unsigned_integer() => DataType::UInt64,
        (_, d) => d.clone(),
    };
    let value = value.to(&dtype);
    let result = match output {
        Output::Float => float_of(&call.this().dtype),
        Output::Sum | Output::Same if call.this().dtype == DataType::Float32 => DataType::Float32,
        _ => dtype,
    };
    let is_least = function.name() == "min" && value.dtype.is_floating();
    let mut expr = over_frame(lower, function, value.expr.clone(), frame.clone())?;
    if is_least {
        // NaN is the least and the greatest of a window, as in Polars.
        let nan = datafusion::functions::expr_fn::isnan(value.expr.clone());
        let nans = over_frame(lower, df::min_max::max_udaf(), cast(nan, DataType::Int32), frame.clone())?;
        let none = value.with(lit(f64::NAN), DataType::Float64).to(&value.dtype);
        expr = datafusion::logical_expr::when(nans.eq(lit(1i32)), none.expr)
            .otherwise(expr)
            .map_err(crate::error::diagnose)?;
    }
    let samples = over_frame(lower, df::count::count_udaf(), value.expr.clone(), frame)?;
    let rolled = value.with(cast(expr, result.clone()), result.clone());
    Ok(value.with(operators::only_if(samples.gt_eq(lit(needed)), &rolled)?, result))
}

/// `rank().over(keys).order_by(order)`: as in SQL, by the order of the window.
fn ordered_rank(
    lower: &mut Lower,
    call: &Call,
    function: Arc<datafusion::logical_expr::WindowUDF>,
) -> Result<TypedExpr, Diagnostic> {
    let order = match &lower.scope {
        Scope::Rows { order, .. } if !order.is_empty() => order.clone(),
        _ => {
            let message = format!("`{}` without a column needs an order", call.function.name);
            return Err(diagnostics::plan_error("argument", message)
                .help("rank a column: `column.rank()`, or give an order: `.over(key).order_by(column)`"));
        }
    };
    let expr = window(lower, function, Vec::new(), Vec::new(), order)?;
    let name = call.function.name.to_string();
    Ok(TypedExpr { expr: cast(expr, DataType::UInt32), dtype: DataType::UInt32, name, span: None, literal: None })
}

fn rank(lower: &mut Lower, call: &Call) -> Result<TypedExpr, Diagnostic> {
    let method = call.choice(lower, 1, &["average", "min", "max", "dense", "ordinal"])?;
    rank_of(lower, &call.this(), method, call.flag(2))
}

/// Nulls get no rank.
pub fn rank_of(lower: &mut Lower, value: &TypedExpr, method: &str, descending: bool) -> Result<TypedExpr, Diagnostic> {
    let mut order = vec![type_coercion::one_zero(value.expr.clone(), &value.dtype).sort(!descending, false)];
    let mut dtype = DataType::UInt32;
    let expr = match method {
        "dense" => window(lower, dfw::rank::dense_rank_udwf(), Vec::new(), Vec::new(), order)?,
        "ordinal" => {
            order.push(lower.row()?.sort(true, true));
            window(lower, dfw::row_number::row_number_udwf(), Vec::new(), Vec::new(), order)?
        }
        _ => {
            let lowest = window(lower, dfw::rank::rank_udwf(), Vec::new(), Vec::new(), order.clone())?;
            let lowest = cast(lowest, DataType::Int64);
            let highest = |lower: &mut Lower| up_to_peers(lower, order).map(|count| cast(count, DataType::Int64));
            match method {
                "min" => lowest,
                "max" => highest(lower)?,
                _ => {
                    dtype = DataType::Float64;
                    let both = lowest + highest(lower)?;
                    cast(both, DataType::Float64) / lit(2.0)
                }
            }
        }
    };
    let ranked = value.with(cast(expr, dtype.clone()), dtype.clone());
    Ok(value.with(operators::only_if(Expr::IsNotNull(Box::new(value.expr.clone())), &ranked)?, dtype))
}

/// How many rows of the partition lie before a row or are equal to it in an order.
fn up_to_peers(lower: &mut Lower, order: Vec<Sort>) -> Result<Expr, Diagnostic> {
    let frame = WindowFrame::new_bounds(WindowFrameUnits::Range, preceding(None), WindowFrameBound::CurrentRow);
    let count = WindowFunctionDefinition::AggregateUDF(df::count::count_udaf());
    let partition = lower.partition();
    make(lower, count, vec![lit(1i64)], partition, order, frame, None)
}

/// How many different values there are in the partition, with null as one: their number in one order and in the other,
/// less one.
pub fn distinct_in_partition(lower: &mut Lower, value: &TypedExpr) -> Result<Expr, Diagnostic> {
    let key = type_coercion::one_zero(value.expr.clone(), &value.dtype);
    let mut rank = |ascending| {
        let order = vec![key.clone().sort(ascending, ascending)];
        window(lower, dfw::rank::dense_rank_udwf(), Vec::new(), Vec::new(), order)
    };
    let (from_below, from_above) = (cast(rank(true)?, DataType::Int64), cast(rank(false)?, DataType::Int64));
    Ok(from_below + from_above - lit(1i64))
}

/// How many rows have the same value.
fn doubles(lower: &mut Lower, value: &TypedExpr) -> Result<Expr, Diagnostic> {
    let mut partition = lower.partition();
    partition.push(type_coercion::one_zero(value.expr.clone(), &value.dtype));
    let outer = std::mem::replace(&mut lower.scope, Scope::Rows { partition, order: Vec::new() });
    let count = lower.aggregate(df::count::count_udaf(), vec![lit(1i64)], Aggregation::default());
    lower.scope = outer;
    count
}

fn nth_distinct(lower: &mut Lower, call: &Call, first: bool) -> Result<TypedExpr, Diagnostic> {
    let value = call.this();
    let mut keys = lower.partition();
    keys.push(type_coercion::one_zero(value.expr.clone(), &value.dtype));
    Ok(value.with(distinct_rows(lower, keys, if first { Keep::First } else { Keep::Last })?, DataType::Boolean))
}

/// Whether a row is one that `keep` keeps of those with equal keys, over the whole frame.
pub fn distinct_rows(lower: &mut Lower, keys: Vec<Expr>, keep: Keep) -> Result<Expr, Diagnostic> {
    let mut args = keys;
    args.push(lower.row()?);
    over_all(lower, super::first_last::distinct(keep), args)
}

/// A window function that sees all rows at once, in any order.
pub fn over_all(
    lower: &mut Lower,
    function: Arc<datafusion::logical_expr::WindowUDF>,
    args: Vec<Expr>,
) -> Result<Expr, Diagnostic> {
    let fun = WindowFunctionDefinition::WindowUDF(function);
    make(lower, fun, args, Vec::new(), Vec::new(), WindowFrame::new(None), None)
}

fn fill(lower: &mut Lower, call: &Call, forward: bool) -> Result<TypedExpr, Diagnostic> {
    let value = call.this();
    let (partition, order) = (lower.partition(), if forward { lower.order()? } else { backwards(lower)? });
    let fun = WindowFunctionDefinition::AggregateUDF(df::first_last::last_value_udaf());
    let ignore = Some(NullTreatment::IgnoreNulls);
    let expr = make(lower, fun, vec![value.expr.clone()], partition, order, expanding(false), ignore)?;
    Ok(value.with(expr, value.dtype.clone()))
}
