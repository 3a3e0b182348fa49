//! DuckDB's intervals: integer months, days and microseconds, compared as if a month had 30 days and a day 24 hours.

mod parse;

use std::sync::Arc;

use arrow::array::types::{IntervalMonthDayNano, IntervalMonthDayNanoType};
use arrow::array::{Array, ArrayRef, AsArray, Int64Array, PrimitiveArray};
use arrow::datatypes::{DataType, Float64Type, Int64Type, IntervalUnit, TimeUnit};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    Distinct, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, ScalarUDF, WindowFrameBound,
    WindowFrameUnits, binary_expr, cast,
};
use datafusion::prelude::SessionContext;
use onrush_expr::diagnostics::plan_error;
use onrush_expr::error::external;
use onrush_expr::scalar_udf::{Body, error, kernel, kernel_by_types, strict};
use onrush_expr::type_coercion;

use super::aggregates::{bare, unnamed};

pub use parse::spelt;

const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);
const DAY: i128 = 86_400_000_000_000;
const MONTH: i128 = 30 * DAY;

pub fn is_interval(dtype: &DataType) -> bool {
    matches!(dtype, DataType::Interval(_))
}

/// Intervals, and what frames have in their place.
pub fn is_span(dtype: &DataType) -> bool {
    is_interval(dtype) || matches!(dtype, DataType::Duration(_))
}

pub fn register(context: &SessionContext) -> Result<()> {
    let state = context.state_ref();
    let mut state = state.write();
    let bodies: [(&'static str, Body); 10] = [
        ("to_millennia", |args| of_months(args, 12_000)),
        ("to_centuries", |args| of_months(args, 1_200)),
        ("to_decades", |args| of_months(args, 120)),
        ("to_years", |args| of_months(args, 12)),
        ("to_quarters", |args| of_months(args, 3)),
        ("to_months", |args| of_months(args, 1)),
        ("to_weeks", |args| of_days(args, 7)),
        ("to_days", |args| of_days(args, 1)),
        ("to_hours", |args| of_time(args, 3_600_000_000)),
        ("to_minutes", |args| of_time(args, 60_000_000)),
    ];
    for (name, body) in bodies {
        state.register_udf(kernel(name, INTERVAL, body))?;
    }
    state.register_udf(kernel("to_seconds", INTERVAL, |args| of_time(args, 1_000_000)))?;
    state.register_udf(kernel("to_milliseconds", INTERVAL, |args| of_time(args, 1_000)))?;
    state.register_udf(kernel("to_microseconds", INTERVAL, |args| of_time(args, 1)))?;
    state.register_udf(kernel("to_interval", INTERVAL, |args| parse::cast_to_interval(args, true)))?;
    state.register_udf(kernel("try_to_interval", INTERVAL, |args| parse::cast_to_interval(args, false)))?;
    state.register_udf(negate())?;
    Ok(())
}

fn too_long() -> DataFusionError {
    error("an interval is too long")
}

fn of_whole(args: &[ArrayRef], f: impl Fn(i64) -> Option<IntervalMonthDayNano>) -> Result<ArrayRef> {
    let numbers = strict(&args[0], &DataType::Int64)?;
    let spans: PrimitiveArray<IntervalMonthDayNanoType> =
        numbers.as_primitive::<Int64Type>().try_unary(|n| f(n).ok_or_else(too_long))?;
    Ok(Arc::new(spans))
}

fn of_months(args: &[ArrayRef], per: i64) -> Result<ArrayRef> {
    of_whole(args, |n| Some(IntervalMonthDayNano::new(i32::try_from(n.checked_mul(per)?).ok()?, 0, 0)))
}

fn of_days(args: &[ArrayRef], per: i64) -> Result<ArrayRef> {
    of_whole(args, |n| Some(IntervalMonthDayNano::new(0, i32::try_from(n.checked_mul(per)?).ok()?, 0)))
}

/// Intervals of fractions work, too.
fn of_time(args: &[ArrayRef], micros: i64) -> Result<ArrayRef> {
    if args[0].data_type().is_integer() {
        return of_whole(args, |n| Some(IntervalMonthDayNano::new(0, 0, n.checked_mul(micros)?.checked_mul(1000)?)));
    }
    let numbers = strict(&args[0], &DataType::Float64)?;
    let span = |n: f64| {
        let micros = (n * micros as f64).round();
        let nanos = (micros.abs() < 9.2e15).then(|| micros as i64 * 1000).ok_or_else(too_long)?;
        Ok::<_, DataFusionError>(IntervalMonthDayNano::new(0, 0, nanos))
    };
    let spans: PrimitiveArray<IntervalMonthDayNanoType> = numbers.as_primitive::<Float64Type>().try_unary(span)?;
    Ok(Arc::new(spans))
}

fn nanos(of: IntervalMonthDayNano) -> i128 {
    i128::from(of.months) * MONTH + i128::from(of.days) * DAY + i128::from(of.nanoseconds)
}

/// The interval that stands for all that equal it. By their parts these are in DuckDB's order, so that sorts, groups
/// and joins need nothing else.
fn normal() -> Arc<ScalarUDF> {
    kernel("normal_interval", INTERVAL, |args| {
        let spans = strict(&args[0], &INTERVAL)?;
        let normal = |of: IntervalMonthDayNano| {
            let all = nanos(of);
            let months = i32::try_from(all / MONTH).map_err(|_| too_long())?;
            let rest = all % MONTH;
            let (days, nanos) = ((rest / DAY) as i32, (rest % DAY) as i64);
            Ok::<_, DataFusionError>(IntervalMonthDayNano::new(months, days, nanos))
        };
        let spans: PrimitiveArray<IntervalMonthDayNanoType> =
            spans.as_primitive::<IntervalMonthDayNanoType>().try_unary(normal)?;
        Ok(Arc::new(spans))
    })
}

/// The unit of a window's `range`: microseconds.
fn micros() -> Arc<ScalarUDF> {
    kernel("interval_us", DataType::Int64, |args| {
        let spans = strict(&args[0], &INTERVAL)?;
        let whole = |of| i64::try_from(nanos(of) / 1000).map_err(|_| too_long());
        let numbers: Int64Array =
            spans.as_primitive::<IntervalMonthDayNanoType>().try_unary::<_, Int64Type, _>(whole)?;
        Ok(Arc::new(numbers))
    })
}

/// Seconds of an interval, with years of 365.25 days and months of 30.
pub fn epoch(of: Expr) -> Expr {
    let body: Body = |args| {
        let spans = strict(&args[0], &INTERVAL)?;
        let seconds = |of: IntervalMonthDayNano| {
            let years = f64::from(of.months / 12) * 365.25;
            let days = years + f64::from(of.months % 12) * 30.0 + f64::from(of.days);
            days * 86_400.0 + (of.nanoseconds / 1000) as f64 / 1e6
        };
        let seconds: PrimitiveArray<Float64Type> = spans.as_primitive::<IntervalMonthDayNanoType>().unary(seconds);
        Ok(Arc::new(seconds))
    };
    kernel("interval_epoch", DataType::Float64, body).call(vec![of])
}

/// The function takes a number, a span of time or an interval. The one for numbers is chosen after types are known.
fn negate() -> Arc<ScalarUDF> {
    let output = |types: &[DataType]| match types {
        [DataType::Null] => Ok(DataType::Int64),
        [dtype] if type_coercion::is_number(dtype) || is_span(dtype) => Ok(dtype.clone()),
        [dtype, ..] => {
            let message = format!("there is no `-` of a `{}`", onrush_expr::diagnostics::type_name(dtype));
            let diagnostic = plan_error("type-mismatch", message).help("it takes numbers and intervals");
            Err(external(diagnostic))
        }
        [] => Err(error("`-` of nothing")),
    };
    let body: Body = |args| match args[0].data_type() {
        DataType::Interval(_) => {
            let spans = strict(&args[0], &INTERVAL)?;
            times(&spans, |_| Some((-1, 1)))
        }
        dtype @ DataType::Duration(_) => {
            let ticks = strict(&args[0], &DataType::Int64)?;
            let ticks: Int64Array = ticks
                .as_primitive::<Int64Type>()
                .try_unary::<_, Int64Type, _>(|t| t.checked_neg().ok_or_else(too_long))?;
            strict(&(Arc::new(ticks) as ArrayRef), dtype)
        }
        _ => Ok(arrow::compute::kernels::numeric::neg(&args[0])?),
    };
    Arc::new(kernel_by_types("negate", output, body))
}

/// `-x` of a number: one that there is not is an error.
pub fn negated(of: &Expr, dtype: &DataType) -> Option<Expr> {
    if dtype.is_integer() {
        let zero = ScalarValue::new_zero(dtype).ok()?;
        let body: Body = |args| Ok(arrow::compute::kernels::numeric::sub(&args[0], &args[1])?);
        return Some(kernel("subtract", dtype.clone(), body).call(vec![Expr::Literal(zero, None), of.clone()]));
    }
    type_coercion::is_number(dtype).then(|| Expr::Negative(Box::new(of.clone())))
}

/// Each part times a fraction, whose rest goes to the next smaller part.
fn times(spans: &ArrayRef, by: impl Fn(usize) -> Option<(i64, i64)>) -> Result<ArrayRef> {
    let spans = spans.as_primitive::<IntervalMonthDayNanoType>();
    let out = (0..spans.len()).map(|row| {
        let (Some((by, per)), true) = (by(row), spans.is_valid(row)) else { return Ok(None) };
        if per == 0 {
            return Err(arrow::error::ArrowError::DivideByZero.into());
        }
        let span = spans.value(row);
        let (by, per) = (i128::from(by), i128::from(per));
        let months = i128::from(span.months) * by;
        let days = i128::from(span.days) * by + months % per * 30;
        let micros = i128::from(span.nanoseconds / 1000) * by + days % per * (DAY / 1000);
        let whole = || {
            let nanos = i64::try_from(micros / per).ok()?.checked_mul(1000)?;
            let (months, days) = (i32::try_from(months / per).ok()?, i32::try_from(days / per).ok()?);
            Some(IntervalMonthDayNano::new(months, days, nanos))
        };
        whole().map(Some).ok_or_else(too_long)
    });
    Ok(Arc::new(out.collect::<Result<PrimitiveArray<IntervalMonthDayNanoType>>>()?))
}

/// `3 * interval`, `interval / 2`, `interval * 1.5`: fractions to the millionth.
pub fn scaled(op: Operator, left: (&Expr, &DataType), right: (&Expr, &DataType)) -> Option<Expr> {
    let whole = |e: &Expr| cast(e.clone(), DataType::Int64);
    let multiply: Body = |args| {
        let by = args[1].as_primitive::<Int64Type>();
        times(&strict(&args[0], &INTERVAL)?, |row| by.is_valid(row).then(|| (by.value(row), 1)))
    };
    let divide: Body = |args| {
        let by = args[1].as_primitive::<Int64Type>();
        times(&strict(&args[0], &INTERVAL)?, |row| by.is_valid(row).then(|| (1, by.value(row))))
    };
    // Spans of time stay what they are.
    let span = |call: Expr, of: &DataType| if is_interval(of) { call } else { cast(call, of.clone()) };
    let by_float: Body = |args| {
        let by = args[1].as_primitive::<Float64Type>();
        let is_small = |by: f64| (by * 1e6).abs() < 9e18;
        if !by.iter().flatten().all(is_small) {
            return Err(too_long());
        }
        let part = |row: usize| ((by.value(row) * 1e6).round() as i64, 1_000_000);
        times(&strict(&args[0], &INTERVAL)?, |row| by.is_valid(row).then(|| part(row)))
    };
    let is_part = |dtype: &DataType| dtype.is_floating() || type_coercion::is_decimal(dtype);
    let float = |e: &Expr| cast(e.clone(), DataType::Float64);
    match op {
        Operator::Multiply if is_span(left.1) && is_part(right.1) => Some(span(
            kernel("interval_times_part", INTERVAL, by_float).call(vec![left.0.clone(), float(right.0)]),
            left.1,
        )),
        Operator::Multiply if is_span(right.1) && is_part(left.1) => Some(span(
            kernel("interval_times_part", INTERVAL, by_float).call(vec![right.0.clone(), float(left.0)]),
            right.1,
        )),
        Operator::Multiply if is_span(left.1) && right.1.is_integer() => {
            Some(span(kernel("interval_times", INTERVAL, multiply).call(vec![left.0.clone(), whole(right.0)]), left.1))
        }
        Operator::Multiply if is_span(right.1) && left.1.is_integer() => {
            Some(span(kernel("interval_times", INTERVAL, multiply).call(vec![right.0.clone(), whole(left.0)]), right.1))
        }
        Operator::Divide if is_span(left.1) && right.1.is_integer() => {
            Some(span(kernel("interval_part", INTERVAL, divide).call(vec![left.0.clone(), whole(right.0)]), left.1))
        }
        _ => None,
    }
}

/// Whether an interval may have hours and what is below them.
pub fn may_have_time(by: &Expr) -> bool {
    match by {
        Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(by)), _) => by.nanoseconds != 0,
        Expr::Literal(ScalarValue::IntervalYearMonth(_), _) => false,
        Expr::Literal(value, _) => !value.is_null(),
        _ => true,
    }
}

fn normalised(expr: &mut Expr) {
    let taken = std::mem::take(expr);
    *expr = normal().call(vec![taken]);
}

/// Intervals that are compared with each other, and with spans of time.
pub fn compared(exprs: &mut [&mut Expr], dtypes: &[DataType]) -> bool {
    if !dtypes.iter().any(is_interval) {
        return false;
    }
    for (expr, dtype) in exprs.iter_mut().zip(dtypes) {
        if is_span(dtype) {
            normalised(expr);
        }
    }
    true
}

/// Whether a plan has intervals as columns, for which the rest of this is.
fn has_intervals(schema: &DFSchema) -> bool {
    schema.fields().iter().any(|field| is_interval(field.data_type()))
}

fn wrapped(expr: &mut Expr, schema: &DFSchema) -> bool {
    let found = expr.get_type(schema).is_ok_and(|dtype| is_interval(&dtype));
    if found {
        normalised(expr);
    }
    found
}

/// Sorts, groups, joins, distinct rows and extremes of intervals; the order of windows by spans of time.
pub fn ordered(node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    if let LogicalPlan::Window(window) = node {
        return along_spans(LogicalPlan::Window(window));
    }
    if !node.inputs().iter().any(|input| has_intervals(input.schema())) && !has_intervals(node.schema()) {
        return Ok(Transformed::no(node));
    }
    let names = NamePreserver::new_for_projection();
    match node {
        LogicalPlan::Sort(mut sort) => {
            let schema = Arc::clone(sort.input.schema());
            sort.expr.iter_mut().for_each(|key| _ = wrapped(&mut key.expr, &schema));
            Ok(Transformed::yes(LogicalPlan::Sort(sort)))
        }
        LogicalPlan::Aggregate(aggregate) => {
            let schema = Arc::clone(aggregate.input.schema());
            LogicalPlan::Aggregate(aggregate).map_expressions(|expr| {
                let saved = names.save(&expr);
                let mut expr = if matches!(bare(&expr), Expr::AggregateFunction(_)) { unnamed(expr) } else { expr };
                let changed = match &mut expr {
                    Expr::AggregateFunction(f) if ["min", "max", "count"].contains(&f.func.name()) => {
                        f.params.args.first_mut().is_some_and(|arg| wrapped(arg, &schema))
                    }
                    Expr::AggregateFunction(_) => false,
                    key => wrapped(key, &schema),
                };
                Ok(Transformed::new_transformed(saved.restore(expr), changed))
            })
        }
        LogicalPlan::Join(mut join) => {
            let (left, right) = (Arc::clone(join.left.schema()), Arc::clone(join.right.schema()));
            for (a, b) in &mut join.on {
                wrapped(a, &left);
                wrapped(b, &right);
            }
            Ok(Transformed::yes(LogicalPlan::Join(join)))
        }
        LogicalPlan::Distinct(Distinct::All(input)) => {
            let columns = input.schema().iter().map(|(qualifier, field)| {
                let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
                match is_interval(field.data_type()) {
                    true => normal().call(vec![column]).alias_qualified(qualifier.cloned(), field.name()),
                    false => column,
                }
            });
            let columns: Vec<Expr> = columns.collect();
            let input = LogicalPlanBuilder::new_from_arc(input).project(columns)?.build()?;
            Ok(Transformed::yes(LogicalPlan::Distinct(Distinct::All(Arc::new(input)))))
        }
        node => Ok(Transformed::no(node)),
    }
}

/// DataFusion has no range of spans of time or of times of day, which all functions along an order need. They are
/// ordered as integers.
fn along_spans(node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Window(window) = &node else { return Ok(Transformed::no(node)) };
    let schema = Arc::clone(window.input.schema());
    let spans = |expr: &Expr| expr.get_type(&schema).ok().filter(|dtype| is_span(dtype) || is_time(dtype));
    let any = window.window_expr.iter().any(|expr| match bare(expr) {
        Expr::WindowFunction(call) => {
            let params = &call.params;
            let keys = params.order_by.iter().map(|key| &key.expr);
            keys.chain(&params.partition_by).chain(&params.args).any(|key| spans(key).is_some())
        }
        _ => false,
    });
    if !any {
        return Ok(Transformed::no(node));
    }
    let names = NamePreserver::new_for_projection();
    node.map_expressions(|expr| {
        let saved = names.save(&expr);
        let Expr::WindowFunction(mut call) = unnamed(expr) else {
            unreachable!("a window has nothing but calls along windows")
        };
        let extreme = ["min", "max"].contains(&call.fun.name());
        let params = &mut call.params;
        if extreme && let [arg] = params.args.as_mut_slice() {
            wrapped(arg, &schema);
        }
        for key in &mut params.partition_by {
            wrapped(key, &schema);
        }
        let mut units = None;
        for key in &mut params.order_by {
            let Some(dtype) = spans(&key.expr) else { continue };
            let (counted, unit) = counted(key.expr.clone(), &dtype);
            (key.expr, units) = (counted, Some(unit));
        }
        if let Some(unit) = units.filter(|_| params.window_frame.units == WindowFrameUnits::Range) {
            for bound in [&mut params.window_frame.start_bound, &mut params.window_frame.end_bound] {
                if let WindowFrameBound::Preceding(by) | WindowFrameBound::Following(by) = bound
                    && !by.is_null()
                {
                    *by = ticks(by, unit)?;
                }
            }
        }
        Ok(Transformed::yes(saved.restore(Expr::WindowFunction(call))))
    })
}

fn is_time(dtype: &DataType) -> bool {
    matches!(dtype, DataType::Time32(_) | DataType::Time64(_))
}

/// A span or a time of day as an integer, and the unit in which it counts.
fn counted(key: Expr, dtype: &DataType) -> (Expr, TimeUnit) {
    match dtype {
        DataType::Duration(unit) => (cast(key, DataType::Int64), *unit),
        time if is_time(time) => {
            (cast(cast(key, DataType::Time64(TimeUnit::Microsecond)), DataType::Int64), TimeUnit::Microsecond)
        }
        _ => (micros().call(vec![key]), TimeUnit::Microsecond),
    }
}

/// The interval of a frame as a number of ticks.
fn ticks(by: &ScalarValue, unit: TimeUnit) -> Result<ScalarValue> {
    let ScalarValue::IntervalMonthDayNano(Some(by)) = by.cast_to(&INTERVAL)? else { return Err(too_long()) };
    let per = match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    };
    Ok(ScalarValue::Int64(Some(i64::try_from(nanos(by) / per).map_err(|_| too_long())?)))
}

/// `date + interval`, whose hours would be lost: a time, unless the interval is one of days.
pub fn shifted_date(op: Operator, left: (&Expr, &DataType), right: (&Expr, &DataType)) -> Option<Expr> {
    let time = |date: &Expr| cast(date.clone(), DataType::Timestamp(TimeUnit::Microsecond, None));
    if *left.1 == DataType::Date32 && is_span(right.1) && may_have_time(right.0) {
        return Some(binary_expr(time(left.0), op, right.0.clone()));
    }
    if *right.1 == DataType::Date32 && is_span(left.1) && may_have_time(left.0) && op == Operator::Plus {
        return Some(binary_expr(left.0.clone(), op, time(right.0)));
    }
    None
}

/// A part of a date under one of its names.
pub fn singular(part: &str) -> String {
    let part = part.trim_matches('\'').to_lowercase();
    match part.as_str() {
        "y" | "yr" | "yrs" => "year",
        "mon" | "mons" => "month",
        "d" | "dayofmonth" => "day",
        "h" | "hr" | "hrs" => "hour",
        "m" | "min" | "mins" => "minute",
        "s" | "sec" | "secs" => "second",
        "w" | "weekofyear" => "week",
        "ms" | "msec" | "msecs" => "millisecond",
        "us" | "usec" | "usecs" => "microsecond",
        "ns" | "nsec" | "nsecs" => "nanosecond",
        "dec" | "decs" => "decade",
        "c" | "cent" | "centuries" => "century",
        "mil" | "millennia" => "millennium",
        "dayofweek" | "weekday" => "dow",
        "dayofyear" => "doy",
        other => other.trim_end_matches('s'),
    }
    .to_string()
}
