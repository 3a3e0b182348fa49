//! Joins, with Polars' columns and order.
//!
//! The rows of the left frame keep their order (those of the right one in a right join). DataFusion's hash join keeps
//! the order of the probe side, so that side is the second input here, and no rule swaps the sides. Outer joins are
//! sorted by row numbers on top.

use datafusion::common::JoinType;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, lit};
use onrush_expr::diagnostics::{self, HIDDEN, type_name};
use onrush_expr::type_coercion;
use onrush_expr::{Lower, TypedExpr, column};
use onrush_wire::plan::JoinKind;
use onrush_wire::{Diagnostic, ExprKind, Span};

use super::project::expanded;
use super::{build, distinct_names, names, project_exprs};

#[allow(clippy::too_many_arguments)]
pub fn join(
    left: LogicalPlan,
    right: LogicalPlan,
    how: JoinKind,
    left_on: &[onrush_wire::Expr],
    right_on: &[onrush_wire::Expr],
    suffix: &str,
    at: Option<&Span>,
) -> Result<LogicalPlan, Diagnostic> {
    let (left_names, right_names) = (names(&left), names(&right));
    if how == JoinKind::Cross {
        return cross(left, right, suffix, at);
    }
    if left_on.is_empty() || left_on.len() != right_on.len() {
        let message = match left_on.len() + right_on.len() {
            0 => "a join needs at least one key".to_string(),
            _ => format!("{} keys on the left and {} on the right", left_on.len(), right_on.len()),
        };
        return Err(
            diagnostics::plan_error("argument", message).help("name the columns that must be equal: `on(\"key\")`")
        );
    }
    let mut lower_left = Lower::new(left, at)?;
    let mut lower_right = Lower::new(right, at)?;
    let (left_on, right_on) =
        (&expanded(left_on, &left_names, &lower_left)?[..], &expanded(right_on, &right_names, &lower_right)?[..]);
    if left_on.len() != right_on.len() {
        let message = format!("{} keys on the left and {} on the right", left_on.len(), right_on.len());
        return Err(diagnostics::place(diagnostics::plan_error("argument", message), None, at, ""));
    }
    let (left_keys, right_keys) = keys(&mut lower_left, &mut lower_right, left_on, right_on, at)?;
    let left = sided(&mut lower_left, &left_names, &left_keys, "l")?;
    let right = sided(&mut lower_right, &right_names, &right_keys, "r")?;
    let key = |side: &str| (0..left_keys.len()).map(|i| column(&hidden_key(side, i))).collect::<Vec<_>>();
    // The build side comes first.
    let (build_side, probe_side, build_keys, probe_keys, kind) = match how {
        JoinKind::Inner => (right, left, key("r"), key("l"), JoinType::Inner),
        JoinKind::Left => (right, left, key("r"), key("l"), JoinType::Right),
        JoinKind::Full => (right, left, key("r"), key("l"), JoinType::Full),
        JoinKind::Semi => (right, left, key("r"), key("l"), JoinType::RightSemi),
        JoinKind::Anti => (right, left, key("r"), key("l"), JoinType::RightAnti),
        _ => (left, right, key("l"), key("r"), JoinType::Right),
    };
    let joined = build(LogicalPlanBuilder::new(build_side).join_with_expr_keys(
        probe_side,
        kind,
        (build_keys, probe_keys),
        None,
    ))?;
    // Rows without a partner come out last otherwise. The sort costs nothing if the join keeps the order by itself.
    let by = |side: &str| column(&hidden_row(side)).sort(true, false);
    let joined = match how {
        JoinKind::Left => build(LogicalPlanBuilder::new(joined).sort(vec![by("l"), by("r")]))?,
        JoinKind::Right => build(LogicalPlanBuilder::new(joined).sort(vec![by("r"), by("l")]))?,
        JoinKind::Full => build(LogicalPlanBuilder::new(joined).sort(vec![by("l"), by("r")]))?,
        _ => joined,
    };
    // The keys of the side that gives way are the other side's.
    let dropped_left = if how == JoinKind::Right { plain(left_on) } else { Vec::new() };
    let dropped_right = if matches!(how, JoinKind::Inner | JoinKind::Left) { plain(right_on) } else { Vec::new() };
    let with_right = !matches!(how, JoinKind::Semi | JoinKind::Anti);
    let left_kept: Vec<&String> = left_names.iter().filter(|n| !dropped_left.contains(n)).collect();
    let right_kept: Vec<&String> = right_names.iter().filter(|n| with_right && !dropped_right.contains(n)).collect();
    output(joined, &left_kept, &right_kept, suffix, at)
}

/// The keys of both sides, in the types that they share.
pub fn keys(
    left: &mut Lower,
    right: &mut Lower,
    left_on: &[onrush_wire::Expr],
    right_on: &[onrush_wire::Expr],
    at: Option<&Span>,
) -> Result<(Vec<TypedExpr>, Vec<TypedExpr>), Diagnostic> {
    let mut left_keys: Vec<TypedExpr> = Vec::new();
    let mut right_keys: Vec<TypedExpr> = Vec::new();
    for (l, r) in left_on.iter().zip(right_on) {
        let l_typed = left.expr(l)?;
        let r_typed = right.expr(r).map_err(|d| side_note(d, "right"))?;
        let dtype = type_coercion::supertype(&l_typed.dtype, &r_typed.dtype);
        let Some(dtype) =
            dtype.filter(|_| type_coercion::is_number(&l_typed.dtype) == type_coercion::is_number(&r_typed.dtype))
        else {
            let (a, b) = (type_name(&l_typed.dtype), type_name(&r_typed.dtype));
            let message = format!(
                "the keys `{}` ({a}) and `{}` ({b}) have types that cannot be equal",
                l_typed.name, r_typed.name
            );
            let diagnostic = diagnostics::plan_error("type-mismatch", message).help(format!(
                "cast one of them first: `.cast(\"{a}\")` on the right, or `.cast(\"{b}\")` on the left"
            ));
            return Err(diagnostics::place(diagnostic, l.span.as_ref().or(r.span.as_ref()), at, ""));
        };
        left_keys.push(l_typed.to(&dtype));
        right_keys.push(r_typed.to(&dtype));
    }
    Ok((left_keys, right_keys))
}

/// The names of those that are columns as they are.
pub fn plain(on: &[onrush_wire::Expr]) -> Vec<String> {
    let name = |e: &onrush_wire::Expr| match &e.kind {
        ExprKind::Column(name) => Some(name.clone()),
        _ => None,
    };
    on.iter().filter_map(name).collect()
}

fn side_note(diagnostic: Diagnostic, side: &str) -> Diagnostic {
    diagnostic.note(format!("in the {side} frame of the join"))
}

fn hidden(side: &str, name: &str) -> String {
    format!("{HIDDEN}{side}_{name}")
}

pub fn hidden_key(side: &str, index: usize) -> String {
    format!("{HIDDEN}{side}key_{index}")
}

pub fn hidden_row(side: &str) -> String {
    format!("{HIDDEN}{side}row")
}

/// Projects one side to names that cannot clash with the other's, and appends its keys and its row number.
pub fn sided(lower: &mut Lower, names: &[String], keys: &[TypedExpr], side: &str) -> Result<LogicalPlan, Diagnostic> {
    let row = lower.row()?;
    let mut exprs: Vec<Expr> = names.iter().map(|n| column(n).alias(hidden(side, n))).collect();
    exprs.extend(keys.iter().enumerate().map(|(i, k)| k.expr.clone().alias(hidden_key(side, i))));
    exprs.push(row.alias(hidden_row(side)));
    project_exprs(lower.ordered_plan()?, exprs)
}

/// The result's columns under the user's names; a right column whose name is taken gets the suffix.
pub fn output(
    joined: LogicalPlan,
    left: &[&String],
    right: &[&String],
    suffix: &str,
    at: Option<&Span>,
) -> Result<LogicalPlan, Diagnostic> {
    let mut result: Vec<(String, Expr)> = left.iter().map(|n| ((*n).clone(), column(&hidden("l", n)))).collect();
    for name in right {
        let taken = left.contains(name);
        let shown = if taken { format!("{name}{suffix}") } else { (*name).clone() };
        result.push((shown, column(&hidden("r", name))));
    }
    distinct_names(result.iter().map(|(n, _)| (n.as_str(), None)), at)
        .map_err(|d| d.help("choose another suffix: `on(...).suffix(\"_other\")`"))?;
    project_exprs(joined, result.into_iter().map(|(name, expr)| expr.alias(name)).collect())
}

/// Each left row with each right row, the left ones slowest.
///
/// A hash join whose keys are all equal: it streams the left side in order and gives whole batches. DataFusion's own
/// cross join collects the left side and gives one batch for each row of the right one, in the other order.
fn cross(left: LogicalPlan, right: LogicalPlan, suffix: &str, at: Option<&Span>) -> Result<LogicalPlan, Diagnostic> {
    let (left_names, right_names) = (names(&left), names(&right));
    let side = |plan: LogicalPlan, names: &[String], side: &str| {
        let mut exprs: Vec<Expr> = names.iter().map(|n| column(n).alias(hidden(side, n))).collect();
        exprs.push(lit(0i32).alias(hidden_key(side, 0)));
        project_exprs(plan, exprs)
    };
    let (probe, build_side) = (side(left, &left_names, "l")?, side(right, &right_names, "r")?);
    let keys = |side: &str| vec![column(&hidden_key(side, 0))];
    let joined = build(LogicalPlanBuilder::new(build_side).join_with_expr_keys(
        probe,
        JoinType::Inner,
        (keys("r"), keys("l")),
        None,
    ))?;
    output(joined, &left_names.iter().collect::<Vec<_>>(), &right_names.iter().collect::<Vec<_>>(), suffix, at)
}
