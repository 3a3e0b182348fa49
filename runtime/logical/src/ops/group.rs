//! `group_by().agg()`: one row for each group, in the order of the keys, nulls first.

use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use onrush_expr::aggregate::implode;
use onrush_expr::catalogue::{FILTERS, is_aggregated};
use onrush_expr::{Lower, Scope, TypedExpr, column};
use onrush_expr::{diagnostics, type_coercion};
use onrush_wire::{Diagnostic, ExprKind, Span};

use super::project::expanded;
use super::{build, distinct_names, names, project_exprs};

pub fn group_by(
    plan: LogicalPlan,
    keys: &[onrush_wire::Expr],
    aggs: &[onrush_wire::Expr],
    at: Option<&Span>,
) -> Result<LogicalPlan, Diagnostic> {
    let (plan, sorts) = grouped(plan, keys, aggs, at)?;
    let plan = build(LogicalPlanBuilder::new(plan).sort(sorts.iter().map(|n| column(n).sort(true, true))))?;
    Ok(plan)
}

/// The groups in no particular order, and the names of the key columns.
pub fn grouped(
    plan: LogicalPlan,
    keys: &[onrush_wire::Expr],
    aggs: &[onrush_wire::Expr],
    at: Option<&Span>,
) -> Result<(LogicalPlan, Vec<String>), Diagnostic> {
    let available = names(&plan);
    let mut lower = Lower::new(plan, at)?;
    let mut typed_keys: Vec<TypedExpr> = Vec::new();
    for key in &expanded(keys, &available, &lower)? {
        typed_keys.push(lower.expr(key)?);
    }
    if typed_keys.is_empty() {
        return Err(diagnostics::plan_error("argument", "`group_by` needs at least one key")
            .help("for one row over the whole frame use `select` with aggregates"));
    }
    // As partitions of windows: 0.0 and -0.0 are one group.
    lower.keys = typed_keys.iter().map(|k| type_coercion::one_zero(k.expr.clone(), &k.dtype)).collect();
    let key_names: Vec<String> = typed_keys.iter().map(|k| k.name.clone()).collect();
    lower.scope = Scope::Groups;
    let mut results: Vec<TypedExpr> = Vec::new();
    let others: Vec<String> = available.iter().filter(|n| !key_names.contains(n)).cloned().collect();
    for agg in &expanded(aggs, &others, &lower)? {
        results.push(one(&mut lower, agg)?);
    }
    let keys = typed_keys.iter().chain(&results).map(|t| (t.name.as_str(), t.span.as_ref()));
    distinct_names(keys, at)?;
    let groups = typed_keys.iter().map(|k| k.expr.clone().alias(&k.name));
    let aggregates = std::mem::take(&mut lower.aggregates);
    let plan = match aggregates.is_empty() {
        // Without aggregates DataFusion wants a projection with `distinct`.
        true => build(
            LogicalPlanBuilder::new(lower.plan)
                .project(groups.collect::<Vec<_>>())
                .and_then(LogicalPlanBuilder::distinct),
        )?,
        false => build(LogicalPlanBuilder::new(lower.plan).aggregate(groups.collect::<Vec<_>>(), aggregates))?,
    };
    let mut exprs: Vec<_> = key_names.iter().map(|n| column(n)).collect();
    exprs.extend(results.into_iter().map(|t| t.expr.alias(t.name)));
    Ok((project_exprs(plan, exprs)?, key_names))
}

/// Lowers one output column. An expression that is not an aggregate becomes a list, as in Polars.
fn one(lower: &mut Lower, expr: &onrush_wire::Expr) -> Result<TypedExpr, Diagnostic> {
    if is_aggregated(expr) {
        return lower.expr(expr);
    }
    let (inner, name) = match &expr.kind {
        ExprKind::Alias(inner, name) => (inner.as_ref(), Some(name)),
        _ => (expr, None),
    };
    let is_filtered = matches!(&inner.kind, ExprKind::Call { function, .. } if FILTERS.contains(&function.as_str()));
    let mut list = match is_filtered {
        // The aggregate takes some of the values.
        true => lower.expr(&onrush_wire::Expr::call("implode", [inner.clone()]))?,
        false => {
            let value = lower.inside(|lower| lower.expr(inner))?;
            implode(lower, &value)?
        }
    };
    if let Some(name) = name {
        list.name = name.clone();
    }
    list.span = expr.span.clone();
    Ok(list)
}
