//! Steps that keep the columns and choose or order the rows.

use arrow::datatypes::DataType;
use datafusion::functions_aggregate as df;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, cast};
use onrush_expr::diagnostics::{self, type_name};
use onrush_expr::type_coercion;
use onrush_expr::{Aggregation, Lower, column, lit, window};
use onrush_wire::expr::SortKey;
use onrush_wire::plan::Keep;
use onrush_wire::{BinaryOp, Diagnostic, ExprKind, Span};

use super::project::expanded;
use super::{build, keep, names};

pub fn filter(plan: LogicalPlan, predicate: &onrush_wire::Expr, at: Option<&Span>) -> Result<LogicalPlan, Diagnostic> {
    let available = names(&plan);
    let mut lower = Lower::new(plan, at)?;
    // `all().is_not_null()` holds where it does for every column.
    let all = expanded(std::slice::from_ref(predicate), &available, &lower)?;
    let every = all.into_iter().reduce(|a, b| {
        let span = a.span.clone();
        onrush_wire::Expr { kind: ExprKind::Binary(BinaryOp::And, Box::new(a), Box::new(b)), span }
    });
    let condition = lower.expr(&every.unwrap_or_else(|| onrush_wire::Expr::literal(true)))?;
    match condition.dtype {
        DataType::Boolean | DataType::Null => {}
        ref dtype => {
            let mut diagnostic = diagnostics::plan_error(
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
        return Err(diagnostics::plan_error("argument", "`sort` needs at least one column"));
    }
    let mut lower = Lower::new(plan, at)?;
    let mut sorts = Vec::new();
    for key in keys {
        for expr in expanded(std::slice::from_ref(&key.expr), &available, &lower)? {
            sorts.push(window::sort_key(&mut lower, &SortKey { expr, ..key.clone() })?);
        }
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
    for expr in &expanded(subset, &available, &lower)? {
        let key = lower.expr(expr)?;
        keys.push(type_coercion::one_zero(key.expr, &key.dtype));
    }
    if keys.is_empty() {
        for name in &available {
            let key = lower.column(name, None)?;
            keys.push(type_coercion::one_zero(key.expr, &key.dtype));
        }
    }
    if keys.is_empty() {
        return Ok(lower.plan);
    }
    let kept = window::distinct_rows(&mut lower, keys, which)?;
    let plan = build(LogicalPlanBuilder::new(lower.ordered_plan()?).filter(kept))?;
    keep(plan, &available)
}

pub fn drop_nulls(
    plan: LogicalPlan,
    subset: &[onrush_wire::Expr],
    at: Option<&Span>,
) -> Result<LogicalPlan, Diagnostic> {
    let available = names(&plan);
    let mut lower = Lower::new(plan, at)?;
    let exprs = expanded(subset, &available, &lower)?;
    let values: Vec<Expr> = match exprs.is_empty() {
        true => available.iter().map(|n| column(n)).collect(),
        false => exprs.iter().map(|e| lower.expr(e).map(|t| t.expr)).collect::<Result<_, _>>()?,
    };
    let all = values.into_iter().map(|v| Expr::IsNotNull(Box::new(v))).reduce(Expr::and);
    let Some(all) = all else { return Ok(lower.plan) };
    let plan = build(LogicalPlanBuilder::new(lower.ordered_plan()?).filter(all))?;
    keep(plan, &available)
}
