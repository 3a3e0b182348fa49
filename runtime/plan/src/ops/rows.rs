//! Steps that keep the columns and choose or order the rows.

use arrow::datatypes::DataType;
use datafusion::functions_aggregate as df;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, cast};
use onrush_wire::expr::SortKey;
use onrush_wire::plan::{Keep, SampleSize};
use onrush_wire::{Diagnostic, ExprKind, Span};

use super::{build, keep, names};
use crate::check::{self, HIDDEN, type_name};
use crate::expr::kernels::kernel;
use crate::expr::{Aggregation, Lower, Scope, column, lit, window};

pub fn filter(plan: LogicalPlan, predicate: &onrush_wire::Expr, at: Option<&Span>) -> Result<LogicalPlan, Diagnostic> {
    let available = names(&plan);
    let mut lower = Lower::new(plan, at)?;
    let condition = lower.expr(predicate)?;
    match condition.dtype {
        DataType::Boolean | DataType::Null => {}
        ref dtype => {
            let mut diagnostic = check::plan_error(
                "type-mismatch",
                format!("`filter` needs a condition, but this is `{}`", type_name(dtype)),
            );
            if let ExprKind::Column(name) = &predicate.kind {
                diagnostic = diagnostic.help(format!("compare it: `{name} == ...`, or `{name}.is_not_null()`"));
            }
            return Err(lower.fail(diagnostic, condition.span.as_ref(), "not a condition"));
        }
    }
    let condition = condition.to(&DataType::Boolean);
    let plan = lower.ordered_plan()?;
    let plan = build(LogicalPlanBuilder::new(plan).filter(condition.expr))?;
    keep(plan, &available)
}

/// Stable: rows with equal keys stay in order.
pub fn sort(plan: LogicalPlan, keys: &[SortKey], at: Option<&Span>) -> Result<LogicalPlan, Diagnostic> {
    let available = names(&plan);
    if keys.is_empty() {
        return Err(check::plan_error("argument", "`sort` needs at least one column"));
    }
    let mut lower = Lower::new(plan, at)?;
    let mut sorts = Vec::new();
    for key in keys {
        sorts.push(window::sort_key(&mut lower, key)?);
    }
    sorts.push(lower.row()?.sort(true, true));
    let plan = build(LogicalPlanBuilder::new(lower.plan).sort(sorts))?;
    keep(plan, &available)
}

pub fn slice(plan: LogicalPlan, offset: i64, length: Option<u64>) -> Result<LogicalPlan, Diagnostic> {
    let fetch = length.map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    if offset >= 0 {
        return build(LogicalPlanBuilder::new(plan).limit(offset as usize, fetch));
    }
    let available = names(&plan);
    let mut lower = Lower::new(plan, None)?;
    let row = cast(lower.row()?, DataType::Int64);
    let total = lower.aggregate(df::count::count_udaf(), vec![lit(1i64)], Aggregation::default())?;
    // An offset before the first row uses up some of the length, as in Polars.
    let start = total + lit(offset);
    let mut condition = row.clone().gt(start.clone());
    if let Some(length) = length {
        condition = condition.and(row.lt_eq(start + lit(i64::try_from(length).unwrap_or(i64::MAX / 2))));
    }
    let plan = build(LogicalPlanBuilder::new(lower.ordered_plan()?).filter(condition))?;
    keep(plan, &available)
}

/// Rows in a random order that `seed` fixes; each row's place comes from a hash of its number and the seed.
pub fn sample(
    plan: LogicalPlan,
    amount: SampleSize,
    seed: u64,
    with_replacement: bool,
    at: Option<&Span>,
) -> Result<LogicalPlan, Diagnostic> {
    if with_replacement {
        return Err(check::plan_error("argument", "sampling with replacement is not possible yet")
            .help("sample without replacement"));
    }
    let available = names(&plan);
    let mut lower = Lower::new(plan, at)?;
    let row = lower.row()?;
    let place = kernel("shuffle", DataType::UInt64, |args| {
        use arrow::array::AsArray;
        use arrow::datatypes::UInt64Type;
        let (rows, seed) = (args[0].as_primitive::<UInt64Type>(), args[1].as_primitive::<UInt64Type>());
        let seed = if seed.is_empty() { 0 } else { seed.value(0) };
        let hashed: arrow::array::PrimitiveArray<UInt64Type> = rows.unary(|row| mix(row ^ mix(seed)));
        Ok(std::sync::Arc::new(hashed))
    })
    .call(vec![row.clone(), lit(seed)]);
    let by_place = vec![place.sort(true, true), row.clone().sort(true, true)];
    let picked = match amount {
        SampleSize::Rows(n) => {
            let plan = build(LogicalPlanBuilder::new(lower.plan).sort(by_place))?;
            build(LogicalPlanBuilder::new(plan).limit(0, Some(n as usize)))?
        }
        SampleSize::Fraction(f) if (0.0..=1.0).contains(&f) => {
            let total = lower.aggregate(df::count::count_udaf(), vec![lit(1i64)], Aggregation::default())?;
            lower.scope = Scope::Rows { partition: Vec::new(), order: by_place };
            let rank = lower.aggregate_rank()?;
            let limit = cast(cast(total, DataType::Float64) * lit(f), DataType::Int64);
            build(LogicalPlanBuilder::new(lower.plan).filter(rank.lt_eq(limit)))?
        }
        SampleSize::Fraction(f) => {
            return Err(check::plan_error("argument", format!("a fraction lies between 0 and 1, this is {f}")));
        }
    };
    // In the frame's own order: a sample of a sorted frame is sorted.
    let plan = build(LogicalPlanBuilder::new(picked).sort(vec![column(&format!("{HIDDEN}row")).sort(true, true)]))?;
    keep(plan, &available)
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Keeps the order of the rows.
pub fn unique(
    plan: LogicalPlan,
    subset: &[onrush_wire::Expr],
    which: Keep,
    at: Option<&Span>,
) -> Result<LogicalPlan, Diagnostic> {
    let available = names(&plan);
    let mut lower = Lower::new(plan, at)?;
    let mut keys: Vec<Expr> = Vec::new();
    for expr in subset {
        keys.push(lower.expr(expr)?.expr);
    }
    if keys.is_empty() {
        keys = available.iter().map(|n| column(n)).collect();
    }
    let row = lower.row()?;
    let order = match which {
        Keep::Last => row.sort(false, false),
        _ => row.sort(true, true),
    };
    lower.scope = Scope::Rows { partition: keys, order: vec![order] };
    let number = match which {
        Keep::None => lower.aggregate(df::count::count_udaf(), vec![lit(1i64)], Aggregation::default())?,
        _ => lower.aggregate_rank()?,
    };
    let plan = build(LogicalPlanBuilder::new(lower.ordered_plan()?).filter(number.eq(lit(1i64))))?;
    keep(plan, &available)
}

pub fn drop_nulls(
    plan: LogicalPlan,
    subset: &[onrush_wire::Expr],
    at: Option<&Span>,
) -> Result<LogicalPlan, Diagnostic> {
    let available = names(&plan);
    let mut lower = Lower::new(plan, at)?;
    let mut exprs = Vec::new();
    for expr in subset {
        match super::project::expand(expr, &available, at)? {
            Some(columns) => exprs.extend(columns),
            None => exprs.push(expr.clone()),
        }
    }
    let values: Vec<Expr> = match exprs.is_empty() {
        true => available.iter().map(|n| column(n)).collect(),
        false => exprs.iter().map(|e| lower.expr(e).map(|t| t.expr)).collect::<Result<_, _>>()?,
    };
    let all = values.into_iter().map(|v| Expr::IsNotNull(Box::new(v))).reduce(Expr::and);
    let Some(all) = all else { return Ok(lower.plan) };
    let plan = build(LogicalPlanBuilder::new(lower.ordered_plan()?).filter(all))?;
    keep(plan, &available)
}
