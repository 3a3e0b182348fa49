//! Steps that keep the rows and change the columns.

use std::collections::HashMap;

use arrow::datatypes::{Field, Schema};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, binary_expr};
use onrush_expr::catalogue::{has_aggregate, is_aggregated};
use onrush_expr::diagnostics::{self, HIDDEN};
use onrush_expr::type_coercion;
use onrush_expr::{Lower, Scope, TypedExpr, column, lit, number_rows, operators, selectors};
use onrush_wire::{DataType, Diagnostic, ExprKind, Span, Value};

use super::describe::Describe;
use super::{build, distinct_names, keep, names, project_exprs};

/// The expressions, with one for each column where a selector such as `all()` stands for several.
pub fn expanded(
    exprs: &[onrush_wire::Expr],
    available: &[String],
    lower: &Lower,
) -> Result<Vec<onrush_wire::Expr>, Diagnostic> {
    let mut all = Vec::with_capacity(exprs.len());
    for expr in exprs {
        match selectors::expand(expr, available, &lower.schema, lower.at)? {
            Some(columns) => all.extend(columns),
            None => all.push(expr.clone()),
        }
    }
    Ok(all)
}

pub fn select(plan: LogicalPlan, exprs: &[onrush_wire::Expr], at: Option<&Span>) -> Result<LogicalPlan, Diagnostic> {
    let available = names(&plan);
    let mut lower = Lower::new(plan, at)?;
    let all = expanded(exprs, &available, &lower)?;
    if all.is_empty() {
        return Err(diagnostics::plan_error("argument", "nothing is selected").help("name at least one column"));
    }
    let one_row = all.iter().all(is_aggregated);
    if one_row && all.iter().any(has_aggregate) {
        return aggregate_all(lower, &all);
    }
    let typed = all.iter().map(|e| lower.expr(e)).collect::<Result<Vec<_>, _>>()?;
    distinct_names(typed.iter().map(|t| (t.name.as_str(), t.span.as_ref())), at)?;
    let plan = lower.ordered_plan()?;
    let plan = if one_row { build(Ok(LogicalPlanBuilder::empty(true)))? } else { plan };
    project_exprs(plan, typed.into_iter().map(|t| t.expr.alias(t.name)).collect())
}

/// One row with aggregates of the whole frame.
pub fn aggregate_all(mut lower: Lower, exprs: &[onrush_wire::Expr]) -> Result<LogicalPlan, Diagnostic> {
    lower.scope = Scope::Groups;
    let typed = exprs.iter().map(|e| lower.expr(e)).collect::<Result<Vec<_>, _>>()?;
    distinct_names(typed.iter().map(|t| (t.name.as_str(), t.span.as_ref())), lower.at)?;
    let aggregates = std::mem::take(&mut lower.aggregates);
    let plan = build(LogicalPlanBuilder::new(lower.plan).aggregate(Vec::<Expr>::new(), aggregates))?;
    if typed.len() <= MANY_AGGREGATES {
        return project_exprs(plan, typed.into_iter().map(|t| t.expr.alias(t.name)).collect());
    }
    let fields: Vec<Field> = typed.iter().map(|t| Field::new(&t.name, t.dtype.clone(), true)).collect();
    Describe::row(plan, typed.into_iter().map(|t| t.expr).collect(), Schema::new(fields))
}

/// Aggregates of all rows from which on their values are taken by a node of ours. DataFusion's projection looks through
/// all columns for each of them, which takes a time of the cube of their number.
const MANY_AGGREGATES: usize = 256;

pub fn with_columns(
    plan: LogicalPlan,
    exprs: &[onrush_wire::Expr],
    at: Option<&Span>,
) -> Result<LogicalPlan, Diagnostic> {
    let available = names(&plan);
    let mut lower = Lower::new(plan, at)?;
    let mut typed: Vec<TypedExpr> = Vec::new();
    for expr in &expanded(exprs, &available, &lower)? {
        typed.push(lower.expr(expr)?);
    }
    distinct_names(typed.iter().map(|t| (t.name.as_str(), t.span.as_ref())), at)?;
    for t in &typed {
        if t.name.starts_with(HIDDEN) {
            let message = format!("names that start with `{HIDDEN}` are Onrush's own");
            return Err(diagnostics::place(diagnostics::plan_error("argument", message), t.span.as_ref(), at, ""));
        }
    }
    let plan = lower.ordered_plan()?;
    replace(plan, &available, typed)
}

/// The frame's columns with some replaced and new ones at the end.
fn replace(plan: LogicalPlan, available: &[String], new: Vec<TypedExpr>) -> Result<LogicalPlan, Diagnostic> {
    let order: HashMap<String, usize> = new.iter().enumerate().map(|(at, t)| (t.name.clone(), at)).collect();
    let mut new: Vec<Option<Expr>> = new.into_iter().map(|t| Some(t.expr.alias(t.name))).collect();
    let mut exprs = Vec::new();
    for name in available {
        let replaced = order.get(name).and_then(|at| new[*at].take());
        exprs.push(replaced.unwrap_or_else(|| column(name)));
    }
    exprs.extend(new.into_iter().flatten());
    project_exprs(plan, exprs)
}

/// Columns of the value's kind get it; Polars' `DataFrame.fill_null` leaves the others alone, too.
pub fn fill_null(plan: LogicalPlan, value: &Value, at: Option<&Span>) -> Result<LogicalPlan, Diagnostic> {
    let available = names(&plan);
    let mut lower = Lower::new(plan, at)?;
    let literal = onrush_wire::Expr::new(ExprKind::Literal(value.clone()));
    let mut new = Vec::new();
    for name in &available {
        let this = lower.column(name, None)?;
        let value = lower.expr(&literal)?;
        let kin = match (&value.dtype, &this.dtype) {
            (a, b) if type_coercion::is_number(a) => type_coercion::is_number(b),
            (a, b) if type_coercion::is_text(a) => type_coercion::is_text(b),
            (a, b) => a == b || type_coercion::is_date_or_time(a) && type_coercion::is_date_or_time(b),
        };
        if !kin {
            continue;
        }
        let (this, value) = operators::unify(&lower, this, value, "`fill_null`:", at)?;
        let expr = datafusion::functions::expr_fn::coalesce(vec![this.expr.clone(), value.expr]);
        new.push(this.with(expr, this.dtype.clone()));
    }
    if new.is_empty() && value != &Value::Null {
        return Err(diagnostics::plan_error("type-mismatch", "no column can hold this value")
            .help("fill one column: `with_columns(x!(column.fill_null(value)))`"));
    }
    replace(lower.plan, &available, new)
}

pub fn rename(plan: LogicalPlan, pairs: &[(String, String)], at: Option<&Span>) -> Result<LogicalPlan, Diagnostic> {
    let available = names(&plan);
    let schema = plan.schema().as_arrow().clone();
    let mut map: HashMap<&str, &str> = HashMap::new();
    for (old, new) in pairs {
        if !available.contains(old) {
            return Err(diagnostics::place(diagnostics::unknown_column(old, &schema), None, at, ""));
        }
        map.insert(old, new);
    }
    let renamed: Vec<(&str, &str)> =
        available.iter().map(|n| (n.as_str(), map.get(n.as_str()).copied().unwrap_or(n))).collect();
    distinct_names(renamed.iter().map(|(_, new)| (*new, None)), at)?;
    project_exprs(plan, renamed.into_iter().map(|(old, new)| column(old).alias(new)).collect())
}

pub fn drop(plan: LogicalPlan, columns: &[String], at: Option<&Span>) -> Result<LogicalPlan, Diagnostic> {
    let available = names(&plan);
    if let Some(missing) = columns.iter().find(|c| !available.contains(c)) {
        return Err(diagnostics::place(diagnostics::unknown_column(missing, plan.schema().as_arrow()), None, at, ""));
    }
    let kept: Vec<String> = available.into_iter().filter(|n| !columns.contains(n)).collect();
    if kept.is_empty() {
        return Err(diagnostics::plan_error("argument", "no column would be left"));
    }
    keep(plan, &kept)
}

pub fn cast(
    plan: LogicalPlan,
    columns: &[(String, DataType)],
    strict: bool,
    at: Option<&Span>,
) -> Result<LogicalPlan, Diagnostic> {
    let available = names(&plan);
    let mut lower = Lower::new(plan, at)?;
    let mut new = Vec::new();
    for (name, dtype) in columns {
        let value = lower.column(name, None)?;
        new.push(lower.cast(&value, dtype, strict, None)?);
    }
    distinct_names(new.iter().map(|t| (t.name.as_str(), None)), at)?;
    replace(lower.plan, &available, new)
}

/// The number of each row, from `offset`, as the first column (`u32`, as in Polars).
pub fn with_row_index(
    plan: LogicalPlan,
    name: &str,
    offset: u64,
    at: Option<&Span>,
) -> Result<LogicalPlan, Diagnostic> {
    let available = names(&plan);
    if available.iter().any(|n| n == name) {
        return Err(diagnostics::place(diagnostics::duplicate_column(name), None, at, ""));
    }
    let row = format!("{HIDDEN}row");
    let plan = number_rows(plan, &row)?;
    let from = lit(offset as i64 - 1);
    let number = datafusion::logical_expr::cast(column(&row), arrow::datatypes::DataType::Int64);
    let number = binary_expr(number, datafusion::logical_expr::Operator::Plus, from);
    let mut exprs = vec![datafusion::logical_expr::cast(number, arrow::datatypes::DataType::UInt32).alias(name)];
    exprs.extend(available.iter().map(|n| column(n)));
    project_exprs(plan, exprs)
}
