//! Orders that a query relies on without naming them, as in DuckDB. Windows without ORDER BY, lists and first values of
//! groups, and limits see the rows in their order. That is the order of the table, or of the ORDER BY of the subquery
//! below.
//!
//! Sorts of subqueries on whose order nothing relies are taken out.

use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunction};
use datafusion::logical_expr::{
    Distinct, Expr, LogicalPlan, LogicalPlanBuilder, Window, WindowFrame, WindowFrameBound, WindowFrameUnits,
    WindowFunctionDefinition,
};
use onrush_expr::diagnostics::HIDDEN;
use onrush_expr::error::external;
use onrush_expr::{column, number_rows};

use super::aggregates::{bare, unnamed};

/// The plan with the orders that it relies on.
pub fn kept(plan: LogicalPlan) -> Result<LogicalPlan> {
    let (mut sorts, mut windows) = (false, false);
    plan.apply_with_subqueries(|node| {
        sorts |= matches!(node, LogicalPlan::Sort(_));
        windows |= matches!(node, LogicalPlan::Window(_));
        Ok(TreeNodeRecursion::Continue)
    })?;
    let plan = if sorts { needed(plan, true)? } else { plan };
    if windows { numbered(plan) } else { Ok(plan) }
}

/// Takes out sorts. `matters`: whether a node above relies on the order of these rows.
fn needed(plan: LogicalPlan, matters: bool) -> Result<LogicalPlan> {
    let plan = match plan {
        LogicalPlan::Sort(sort) if !matters && sort.fetch.is_none() => {
            return needed(Arc::unwrap_or_clone(sort.input), false);
        }
        plan => plan,
    };
    let below = match &plan {
        LogicalPlan::Limit(_) | LogicalPlan::Distinct(Distinct::On(_)) => true,
        LogicalPlan::Window(window) => matters || window.window_expr.iter().any(runs_in_order),
        LogicalPlan::Aggregate(group) => group.aggr_expr.iter().any(collects_in_order),
        LogicalPlan::Projection(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Union(_)
        | LogicalPlan::Unnest(_)
        | LogicalPlan::Extension(_) => matters,
        _ => false,
    };
    let plan = plan.map_children(|input| needed(input, below).map(Transformed::yes))?.data;
    plan.map_subqueries(|subquery| subquery.map_children(|rows| own(rows).map(Transformed::yes))).map(|plan| plan.data)
}

/// A subquery of an expression, whose own ORDER BY stays.
fn own(plan: LogicalPlan) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Projection(_) => plan.map_children(|input| own(input).map(Transformed::yes)).map(|plan| plan.data),
        LogicalPlan::Sort(_) => needed(plan, true),
        plan => needed(plan, false),
    }
}

/// Lists, and single values by their place.
fn takes_in_order(name: &str) -> bool {
    matches!(name, "array_agg" | "string_agg" | "first_value" | "last_value" | "nth_value")
}

fn collects_in_order(expr: &Expr) -> bool {
    match bare(expr) {
        Expr::AggregateFunction(AggregateFunction { func, params }) => {
            params.order_by.is_empty() && takes_in_order(func.name())
        }
        _ => false,
    }
}

/// Whether a window without ORDER BY has other values in another order of the rows.
fn runs_in_order(expr: &Expr) -> bool {
    let Expr::WindowFunction(call) = bare(expr) else { return false };
    let frame = &call.params.window_frame;
    call.params.order_by.is_empty()
        && match &call.fun {
            // Without an order all rows have one rank.
            WindowFunctionDefinition::WindowUDF(function) => {
                !matches!(function.name(), "rank" | "dense_rank" | "percent_rank" | "cume_dist")
            }
            WindowFunctionDefinition::AggregateUDF(function) => {
                takes_in_order(function.name()) || frame.units == WindowFrameUnits::Rows && !is_whole(frame)
            }
        }
}

fn is_whole(frame: &WindowFrame) -> bool {
    let is_open = |bound: &WindowFrameBound| match bound {
        WindowFrameBound::Preceding(rows) | WindowFrameBound::Following(rows) => rows.is_null(),
        WindowFrameBound::CurrentRow => false,
    };
    is_open(&frame.start_bound) && is_open(&frame.end_bound)
}

/// Names the order of the rows in windows without ORDER BY, if other windows of the query sort the rows.
fn numbered(plan: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Window(top) = plan else {
        let plan = plan.map_children(|input| numbered(input).map(Transformed::yes))?.data;
        let inside = |subquery: LogicalPlan| subquery.map_children(|rows| numbered(rows).map(Transformed::yes));
        return plan.map_subqueries(inside).map(|plan| plan.data);
    };
    let schema = Arc::clone(&top.schema);
    let (mut nodes, mut input) = (vec![top.window_expr], Arc::unwrap_or_clone(top.input));
    while let LogicalPlan::Window(window) = input {
        nodes.push(window.window_expr);
        input = Arc::unwrap_or_clone(window.input);
    }
    let mut plan = numbered(input)?;
    let row = format!("{HIDDEN}row_order");
    let is_numbered = are_disordered(&nodes);
    if is_numbered {
        plan = number_rows(plan, &row).map_err(external)?;
    }
    for exprs in nodes.into_iter().rev() {
        let exprs = match is_numbered {
            true => {
                exprs.into_iter().map(|expr| if runs_in_order(&expr) { by_row(expr, &row) } else { expr }).collect()
            }
            false => exprs,
        };
        plan = LogicalPlan::Window(Window::try_new(exprs, Arc::new(plan))?);
    }
    match is_numbered {
        true => LogicalPlanBuilder::from(plan).project(schema.columns().into_iter().map(Expr::Column))?.build(),
        false => Ok(plan),
    }
}

/// Whether one window relies on the order of the rows, and another sorts them by something else.
fn are_disordered(nodes: &[Vec<Expr>]) -> bool {
    let calls = || {
        nodes.iter().flatten().filter_map(|expr| match bare(expr) {
            Expr::WindowFunction(call) => Some((expr, call)),
            _ => None,
        })
    };
    let sorts = |call: &WindowFunction| !(call.params.partition_by.is_empty() && call.params.order_by.is_empty());
    let differ = |a: &WindowFunction, b: &WindowFunction| {
        (&a.params.partition_by, &a.params.order_by) != (&b.params.partition_by, &b.params.order_by)
    };
    calls().any(|(expr, call)| runs_in_order(expr) && calls().any(|(_, other)| sorts(other) && differ(call, other)))
}

/// The window under the same name, in the order of the numbers of the rows.
fn by_row(expr: Expr, row: &str) -> Expr {
    let name = expr.schema_name().to_string();
    let Expr::WindowFunction(mut call) = unnamed(expr) else { unreachable!("it was one") };
    call.params.order_by = vec![column(row).sort(true, true)];
    if call.params.window_frame.units != WindowFrameUnits::Rows {
        // Without an order all rows of the partition are peers.
        let open = ScalarValue::UInt64(None);
        let (from, to) = (WindowFrameBound::Preceding(open.clone()), WindowFrameBound::Following(open));
        call.params.window_frame = WindowFrame::new_bounds(WindowFrameUnits::Rows, from, to);
    }
    Expr::WindowFunction(call).alias(name)
}
