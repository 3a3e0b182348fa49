//! As-of joins: each left row with the right row nearest before or behind it, as in pandas' `merge_asof` and Polars'
//! `join_asof`.
//!
//! Both sides' keys go into one table, in which each left row looks for the last right row before it: a sort and a
//! window. So any plan runs wherever sorts and windows run, neither side needs to be sorted, and nothing grows with the
//! number of pairs.

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{JoinType, ScalarValue};
use datafusion::functions_aggregate::first_last::last_value_udaf;
use datafusion::logical_expr::expr::{NullTreatment, Sort, WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::{
    Expr, LogicalPlan, LogicalPlanBuilder, Operator, WindowFrame, WindowFrameBound, WindowFrameUnits,
    WindowFunctionDefinition, binary_expr, cast, lit, when,
};
use onrush_expr::calendar_interval::TimeSpan;
use onrush_expr::diagnostics::{self, HIDDEN, type_name};
use onrush_expr::error::diagnose;
use onrush_expr::type_coercion;
use onrush_expr::{Lower, TypedExpr, column};
use onrush_wire::plan::{Asof, AsofStrategy};
use onrush_wire::{Diagnostic, Span, Value};

use super::join::{hidden_key, hidden_row, keys, output, plain, sided};
use super::{build, names, project_exprs};

fn name(what: &str) -> String {
    format!("{HIDDEN}asof_{what}")
}

pub fn join(left: LogicalPlan, right: LogicalPlan, with: &Asof, at: Option<&Span>) -> Result<LogicalPlan, Diagnostic> {
    let (left_names, right_names) = (names(&left), names(&right));
    if with.left_by.len() != with.right_by.len() {
        let message = format!("{} columns on the left and {} on the right", with.left_by.len(), with.right_by.len());
        return Err(
            diagnostics::plan_error("argument", message).help("name as many on both sides: `.by(on(\"a\", \"b\"))`")
        );
    }
    // The key that is near comes first.
    let all = |on: &onrush_wire::Expr, by: &[onrush_wire::Expr]| [std::slice::from_ref(on), by].concat();
    let (left_on, right_on) = (all(&with.left_on, &with.left_by), all(&with.right_on, &with.right_by));
    let (mut lower_left, mut lower_right) = (Lower::new(left, at)?, Lower::new(right, at)?);
    let (left_keys, right_keys) = keys(&mut lower_left, &mut lower_right, &left_on, &right_on, at)?;
    let dtype = left_keys[0].dtype.clone();
    if !type_coercion::is_number(&dtype) && !type_coercion::is_temporal(&dtype) {
        let message = format!("the key `{}` is {}, which has no distances", left_keys[0].name, type_name(&dtype));
        let diagnostic = diagnostics::plan_error("type-mismatch", message)
            .help("an as-of join goes by numbers or times; columns that must be equal are named with `.by(..)`");
        return Err(diagnostics::place(diagnostic, with.left_on.span.as_ref(), at, ""));
    }
    let within = with.tolerance.as_ref().map(|value| tolerance(value, &dtype)).transpose().map_err(|diagnostic| {
        let place = with.left_on.span.as_ref();
        diagnostics::place(diagnostic, place, at, "")
    })?;
    // Minus zero is zero, as in `==`.
    let zeros = |keys: Vec<TypedExpr>| -> Vec<TypedExpr> {
        keys.into_iter()
            .map(|key| key.with(type_coercion::one_zero(key.expr.clone(), &key.dtype), key.dtype.clone()))
            .collect()
    };
    let left = sided(&mut lower_left, &left_names, &zeros(left_keys), "l")?;
    let right = sided(&mut lower_right, &right_names, &zeros(right_keys), "r")?;
    let count = left_on.len();

    // Rows whose keys are null or NaN match nothing.
    let there = |side: &str| {
        let on = column(&hidden_key(side, 0));
        let number = dtype.is_floating().then(|| Expr::Not(Box::new(datafusion::functions::expr_fn::isnan(on))));
        let present = (0..count).map(|key| column(&hidden_key(side, key)).is_not_null());
        present.chain(number).reduce(Expr::and).unwrap_or_else(|| lit(true))
    };
    let found = build(LogicalPlanBuilder::new(right.clone()).filter(there("r")))?;
    // Whether distances count.
    let far = within.is_some() || with.strategy == AsofStrategy::Nearest;
    // Between equal keys: first what is found, then what looks for it, or the other way round.
    let narrow = |plan: LogicalPlan, side: &str, is_right: bool| {
        let row = column(&hidden_row(side));
        let none = Expr::Literal(ScalarValue::UInt64(None), None);
        let mut exprs: Vec<Expr> =
            (0..count).map(|key| column(&hidden_key(side, key)).alias(name(&format!("key_{key}")))).collect();
        exprs.push(lit(i8::from(is_right)).alias(name("side")));
        exprs.push(row.clone().alias(name("row")));
        exprs.push(if is_right { row } else { none }.alias(name("found")));
        if far {
            let none = Expr::Literal(ScalarValue::try_from(&dtype).map_err(diagnose)?, None);
            exprs.push(if is_right { column(&hidden_key(side, 0)) } else { none }.alias(name("found_key")));
        }
        project_exprs(plan, exprs)
    };
    let (looking, found) = (narrow(left.clone(), "l", false)?, narrow(found, "r", true)?);
    let both = build(LogicalPlanBuilder::new(found).union(looking))?;

    let on = || column(&name("key_0"));
    let (before, behind) = match with.strategy {
        AsofStrategy::Backward => (true, false),
        AsofStrategy::Forward => (false, true),
        AsofStrategy::Nearest => (true, true),
    };
    let mut plan = both;
    // The row that is found, and its key where the distance counts.
    for (is_wanted, forward, side) in [(before, false, "before"), (behind, true, "behind")] {
        if !is_wanted {
            continue;
        }
        let order = vec![
            Sort::new(on(), !forward, false),
            // Right rows, which are 1, first where equal keys match. The nearer side has them already.
            Sort::new(column(&name("side")), !with.exact, false),
            Sort::new(column(&name("row")), !forward, false),
        ];
        let partition: Vec<Expr> = (1..count).map(|key| column(&name(&format!("key_{key}")))).collect();
        let last = |of: Expr, called: String| {
            Expr::WindowFunction(Box::new(WindowFunction {
                fun: WindowFunctionDefinition::AggregateUDF(last_value_udaf()),
                params: WindowFunctionParams {
                    args: vec![of],
                    partition_by: partition.clone(),
                    order_by: order.clone(),
                    window_frame: WindowFrame::new_bounds(
                        WindowFrameUnits::Rows,
                        WindowFrameBound::Preceding(ScalarValue::UInt64(None)),
                        WindowFrameBound::CurrentRow,
                    ),
                    filter: None,
                    null_treatment: Some(NullTreatment::IgnoreNulls),
                    distinct: false,
                },
            }))
            .alias(called)
        };
        let mut windows = vec![last(column(&name("found")), name(side))];
        if far {
            windows.push(last(column(&name("found_key")), name(&format!("{side}_key"))));
        }
        plan = build(LogicalPlanBuilder::new(plan).window(windows))?;
    }
    let plan = build(LogicalPlanBuilder::new(plan).filter(column(&name("side")).eq(lit(0i8))))?;

    let of = |side: &str| column(&name(side));
    let distance = |side: &str| {
        let other = column(&name(&format!("{side}_key")));
        match side {
            "before" => apart(on(), other, &dtype),
            _ => apart(other, on(), &dtype),
        }
    };
    let near = |side: &str| match &within {
        None => Ok(of(side)),
        Some(most) => when(distance(side)?.lt_eq(most.clone()), of(side)).end().map_err(diagnose),
    };
    let found = match with.strategy {
        AsofStrategy::Backward => near("before")?,
        AsofStrategy::Forward => near("behind")?,
        AsofStrategy::Nearest => when(of("before").is_null(), near("behind")?)
            .when(of("behind").is_null(), near("before")?)
            .when(distance("before")?.lt_eq(distance("behind")?), near("before")?)
            .otherwise(near("behind")?)
            .map_err(diagnose)?,
    };
    // NaN is above all numbers in an order.
    let found = match dtype.is_floating() {
        true => {
            when(Expr::Not(Box::new(datafusion::functions::expr_fn::isnan(on()))), found).end().map_err(diagnose)?
        }
        false => when(on().is_not_null(), found).end().map_err(diagnose)?,
    };
    let matches = project_exprs(plan, vec![column(&name("row")).alias(name("left")), found.alias(name("right"))])?;

    // Build sides come first; the left frame's rows keep their order.
    let rows = |side: &str| vec![column(&hidden_row(side))];
    let numbered = build(LogicalPlanBuilder::new(matches).join_with_expr_keys(
        left,
        JoinType::Inner,
        (vec![column(&name("left"))], rows("l")),
        None,
    ))?;
    let joined = build(LogicalPlanBuilder::new(right).join_with_expr_keys(
        numbered,
        JoinType::Right,
        (rows("r"), vec![column(&name("right"))]),
        None,
    ))?;
    let joined = build(LogicalPlanBuilder::new(joined).sort(vec![column(&hidden_row("l")).sort(true, false)]))?;
    let dropped = plain(&right_on);
    let kept: Vec<&String> = right_names.iter().filter(|n| !dropped.contains(n)).collect();
    output(joined, &left_names.iter().collect::<Vec<_>>(), &kept, &with.suffix, at)
}

/// The type of distances of keys.
fn distance_type(dtype: &DataType) -> DataType {
    match dtype {
        dtype if dtype.is_floating() => DataType::Float64,
        dtype if type_coercion::is_decimal(dtype) => dtype.clone(),
        DataType::Int8 | DataType::Int16 | DataType::Int32 => DataType::Int64,
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::Date32 | DataType::Time32(_) => {
            DataType::Int64
        }
        // Two of 64 bits can be further apart than a number of 64 bits tells.
        _ => DataType::Decimal128(20, 0),
    }
}

/// How far `a` is above `b`.
fn apart(a: Expr, b: Expr, dtype: &DataType) -> Result<Expr, Diagnostic> {
    let to = distance_type(dtype);
    let number = |expr: Expr| {
        let expr = match dtype {
            DataType::Date32 | DataType::Time32(_) => cast(expr, DataType::Int32),
            dtype if type_coercion::is_temporal(dtype) => cast(expr, DataType::Int64),
            _ => expr,
        };
        if *dtype == to { expr } else { cast(expr, to.clone()) }
    };
    let distance = binary_expr(number(a.clone()), Operator::Minus, number(b.clone()));
    match dtype.is_floating() {
        // The distance of infinity from itself is 0, not NaN.
        true => when(a.eq(b), lit(0.0)).otherwise(distance).map_err(diagnose),
        false => Ok(distance),
    }
}

/// The largest distance, as distances of such keys are.
fn tolerance(value: &Value, dtype: &DataType) -> Result<Expr, Diagnostic> {
    let refused = |what: &str, help: &str| Err(diagnostics::plan_error("argument", what.to_string()).help(help));
    const SPAN: &str = "the tolerance of times is a fixed span: `\"30s\"`, `\"5m\"`, `\"2h\"`, `\"1d\"`";
    let to = distance_type(dtype);
    let scalar = if type_coercion::is_temporal(dtype) {
        let nanos = match value {
            Value::Duration { value, unit } => i128::from(*value) * i128::from(nanos_of(unit_of(*unit))),
            Value::Text(text) => match TimeSpan::parse(text) {
                Some(span) if span.months != 0 => {
                    return refused(&format!("`{text}` is not a fixed time span: months differ"), SPAN);
                }
                Some(span) if span.fixed_nanos() >= 0 => span.fixed_nanos(),
                _ => return refused(&format!("`{text}` is not a time span"), SPAN),
            },
            _ => {
                return refused(
                    &format!("a tolerance for keys of type {} must be a time span", type_name(dtype)),
                    SPAN,
                );
            }
        };
        let unit = match dtype {
            DataType::Timestamp(unit, _)
            | DataType::Time32(unit)
            | DataType::Time64(unit)
            | DataType::Duration(unit) => nanos_of(*unit),
            DataType::Date64 => 1_000_000,
            _ => 86_400 * 1_000_000_000,
        };
        ScalarValue::Decimal128(Some(nanos.div_euclid(i128::from(unit))), 38, 0)
    } else {
        const NUMBER: &str = "keys that are numbers take a number: `.tolerance(5)`";
        match value {
            Value::Int(_) | Value::UInt(_) => type_coercion::scalar(value)?,
            // Distances are multiples of the keys' last digit: what is between two of them is the lower one.
            Value::Decimal { value, scale, .. } if !dtype.is_floating() => {
                let (wanted, digits) =
                    (type_coercion::scale_of(&to), i32::from(*scale) - i32::from(type_coercion::scale_of(&to)));
                let power = 10_i128.checked_pow(digits.unsigned_abs());
                let scaled = power.and_then(|power| match digits {
                    0.. => Some(value.div_euclid(power)),
                    _ => value.checked_mul(power),
                });
                ScalarValue::Decimal128(Some(scaled.unwrap_or(i128::MAX)), 38, wanted)
            }
            Value::Decimal { .. } => type_coercion::scalar(value)?,
            Value::Float(_) | Value::Float32(_) => {
                let number = type_coercion::scalar(value)?.cast_to(&DataType::Float64).map_err(diagnose)?;
                let ScalarValue::Float64(Some(number)) = number else { return refused("no tolerance", NUMBER) };
                if number.is_nan() {
                    return refused("a tolerance of NaN has nothing within it", NUMBER);
                }
                // Distances of integers are integers, so a fraction of the tolerance is dropped.
                match dtype {
                    dtype if dtype.is_floating() => ScalarValue::Float64(Some(number)),
                    dtype if type_coercion::is_decimal(dtype) => {
                        let scale = type_coercion::scale_of(dtype);
                        let power = 10_f64.powi(scale.into());
                        // 0.29 is 29 hundredths, though a hundred times as much is below 29 by a bit.
                        let nearest = (number * power).round();
                        let below = if nearest / power <= number { nearest } else { nearest - 1.0 };
                        ScalarValue::Decimal128(Some(below as i128), 38, scale)
                    }
                    _ => ScalarValue::Int64(Some(number.floor() as i64)),
                }
            }
            _ => {
                return refused(&format!("a tolerance for keys of type {} must be a number", type_name(dtype)), NUMBER);
            }
        }
    };
    let is_negative = ScalarValue::new_zero(&scalar.data_type()).map_err(diagnose)?.partial_cmp(&scalar)
        == Some(std::cmp::Ordering::Greater);
    if is_negative {
        return refused("a tolerance below zero has nothing within it", "leave it out for no limit");
    }
    // A tolerance above all distances of the type does not fit into it, and stays a float.
    let literal = scalar.cast_to(&to).or_else(|_| scalar.cast_to(&DataType::Float64)).map_err(diagnose)?;
    Ok(Expr::Literal(literal, None))
}

fn unit_of(unit: onrush_wire::schema::TimeUnit) -> TimeUnit {
    use onrush_wire::schema::TimeUnit as Wire;
    match unit {
        Wire::Second => TimeUnit::Second,
        Wire::Millisecond => TimeUnit::Millisecond,
        Wire::Microsecond => TimeUnit::Microsecond,
        Wire::Nanosecond => TimeUnit::Nanosecond,
    }
}

fn nanos_of(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1000,
        TimeUnit::Nanosecond => 1,
    }
}
