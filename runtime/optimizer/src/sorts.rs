//! Sorts below other nodes: a sort stays if its order decides a result, and all others go.
//!
//! DataFusion removes a sort below a node that asks for no order. Row numbers, the first row of a group or the order of
//! the result may depend on it. Here the demand for an order is found on the logical plan, from the root down
//! ([`needed`]). On the physical plan every sort that is left is then a requirement ([`required`]).

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::memory::DataSourceExec;
use datafusion::error::Result;
use datafusion::logical_expr::expr::{AggregateFunction, Sort as SortKey, WindowFunction};
use datafusion::logical_expr::logical_plan::Sort;
use datafusion::logical_expr::{
    Distinct, Expr, LogicalPlan, LogicalPlanBuilder, WindowFrame, WindowFrameBound, WindowFunctionDefinition,
};
use datafusion::physical_expr_common::sort_expr::OrderingRequirements;
use datafusion::physical_optimizer::output_requirements::OutputRequirementExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{Distribution, ExecutionPlan};
use onrush_expr::diagnostics::HIDDEN;

/// Aggregates whose result does not depend on the order of the rows, but for the last bits of sums of floats.
const ORDERLESS_AGGREGATES: &[&str] = &[
    "sum",
    "count",
    "min",
    "max",
    "avg",
    "mean",
    "var",
    "var_samp",
    "var_pop",
    "stddev",
    "stddev_samp",
    "stddev_pop",
    "bool_and",
    "bool_or",
    "bit_and",
    "bit_or",
    "bit_xor",
    "corr",
    "covar_samp",
    "covar_pop",
    "median",
    "quartiles",
];

/// The plan without the sorts whose order no node needs. `one`: unions are read one input after the other.
pub fn needed(plan: LogicalPlan, one: bool) -> Result<Transformed<LogicalPlan>> {
    below(plan, true, one)
}

/// `ordered`: the order of this node's rows decides a result.
fn below(plan: LogicalPlan, ordered: bool, one: bool) -> Result<Transformed<LogicalPlan>> {
    if let LogicalPlan::Sort(sort) = &plan {
        let stacked = one && is_stack(sort);
        if stacked || (!ordered && sort.fetch.is_none()) {
            let LogicalPlan::Sort(sort) = plan else { return Ok(Transformed::no(plan)) };
            let fetch = sort.fetch;
            let input = below(Arc::unwrap_or_clone(sort.input), ordered || fetch.is_some(), one)?.data;
            let input = match fetch {
                Some(_) => LogicalPlanBuilder::new(input).limit(0, fetch)?.build()?,
                None => input,
            };
            return Ok(Transformed::yes(input));
        }
    }
    let ordered = orders_input(&plan, ordered)?;
    plan.map_children(|input| below(input, ordered, one))
}

/// Whether the order of the rows that a node reads decides a result.
fn orders_input(plan: &LogicalPlan, ordered: bool) -> Result<bool> {
    let mut volatile = false;
    plan.apply_expressions(|expr| {
        volatile |= expr.is_volatile();
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(volatile
        || match plan {
            LogicalPlan::Projection(_)
            | LogicalPlan::SubqueryAlias(_)
            | LogicalPlan::Filter(_)
            | LogicalPlan::Union(_)
            | LogicalPlan::Unnest(_)
            | LogicalPlan::Join(_)
            | LogicalPlan::Distinct(Distinct::All(_)) => ordered,
            // Rows with equal keys keep the order that they have.
            LogicalPlan::Sort(sort) => !is_total(sort),
            // Groups come in the order of their first rows.
            LogicalPlan::Aggregate(group) => {
                (ordered && !group.group_expr.is_empty()) || group.aggr_expr.iter().any(reads_order)
            }
            LogicalPlan::Window(window) => ordered || window.window_expr.iter().any(reads_order),
            _ => true,
        })
}

/// Whether the result of an aggregate or a window depends on the order of its rows.
/// Whether the rows of a node depend on the order of its input: a limit, a row number, a first value.
pub fn depends_on_order(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Limit(_) | LogicalPlan::Distinct(Distinct::On(_)) => true,
        LogicalPlan::Sort(sort) => sort.fetch.is_some(),
        LogicalPlan::Window(window) => window.window_expr.iter().any(reads_order),
        LogicalPlan::Aggregate(group) => group.aggr_expr.iter().any(reads_order),
        _ => false,
    }
}

fn reads_order(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => reads_order(&alias.expr),
        Expr::AggregateFunction(AggregateFunction { func, params }) => {
            !is_orderless(func.name()) && !params.order_by.iter().any(is_row)
        }
        Expr::WindowFunction(window) => window_reads_order(window),
        _ => true,
    }
}

fn window_reads_order(window: &WindowFunction) -> bool {
    let params = &window.params;
    if params.order_by.iter().any(is_row) {
        return false;
    }
    match &window.fun {
        WindowFunctionDefinition::AggregateUDF(function) => {
            !is_orderless(function.name()) || !is_whole(&params.window_frame)
        }
        WindowFunctionDefinition::WindowUDF(_) => true,
    }
}

fn is_orderless(name: &str) -> bool {
    ORDERLESS_AGGREGATES.contains(&name) || name.starts_with("quantile_")
}

/// A frame of all rows of its partition.
fn is_whole(frame: &WindowFrame) -> bool {
    let unbounded = |bound: &WindowFrameBound| match bound {
        WindowFrameBound::Preceding(rows) | WindowFrameBound::Following(rows) => rows.is_null(),
        WindowFrameBound::CurrentRow => false,
    };
    unbounded(&frame.start_bound) && unbounded(&frame.end_bound)
}

/// A number of rows that the steps of frames add (`Lower::row`): no two rows have the same.
fn is_row(key: &SortKey) -> bool {
    let Expr::Column(column) = &key.expr else { return false };
    column.name.strip_prefix(HIDDEN).is_some_and(|name| name.contains("row"))
}

/// Whether no two rows are equal by the keys of a sort: it numbers rows, or has all keys of a group.
fn is_total(sort: &Sort) -> bool {
    let columns: Option<HashSet<usize>> = sort
        .expr
        .iter()
        .filter(|key| matches!(key.expr, Expr::Column(_)))
        .map(|key| sort.input.schema().maybe_index_of_column(key.expr.try_as_col()?))
        .collect();
    sort.expr.iter().any(is_row) || columns.is_some_and(|columns| names_groups(&sort.input, &columns))
}

/// Whether these columns, by their places, are all keys of a group.
fn names_groups(plan: &LogicalPlan, columns: &HashSet<usize>) -> bool {
    match plan {
        LogicalPlan::SubqueryAlias(alias) => names_groups(&alias.input, columns),
        LogicalPlan::Filter(filter) => names_groups(&filter.input, columns),
        LogicalPlan::Projection(projection) => {
            let place = |at: &usize| {
                let column = projection.expr.get(*at)?.clone().unalias();
                projection.input.schema().maybe_index_of_column(column.try_as_col()?)
            };
            names_groups(&projection.input, &columns.iter().filter_map(place).collect())
        }
        LogicalPlan::Aggregate(group) => (0..group.group_expr.len()).all(|key| columns.contains(&key)),
        LogicalPlan::Distinct(Distinct::All(input)) => {
            (0..input.schema().fields().len()).all(|at| columns.contains(&at))
        }
        _ => false,
    }
}

/// The sort of a concatenation by its inputs and their rows, over the union of them: the inputs come in this order.
fn is_stack(sort: &Sort) -> bool {
    let hidden = |key: &SortKey, name: &str| {
        key.asc && matches!(&key.expr, Expr::Column(column) if column.name.strip_prefix(HIDDEN) == Some(name))
    };
    let [source, row] = sort.expr.as_slice() else { return false };
    hidden(source, "source") && hidden(row, "stackrow") && is_union(&sort.input)
}

fn is_union(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Union(_) => true,
        LogicalPlan::Projection(projection) => is_union(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => is_union(&alias.input),
        _ => false,
    }
}

/// The physical plan with a requirement above each sort that is not the last step. DataFusion's rule removes the
/// requirements again.
pub fn required(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let sorts = plan.exists(|node| Ok(node.is::<SortExec>()))?;
    if sorts { requiring(plan, true) } else { Ok(plan) }
}

/// `last`: only limits and projections are above the node.
fn requiring(node: Arc<dyn ExecutionPlan>, last: bool) -> Result<Arc<dyn ExecutionPlan>> {
    if node.is::<DataSourceExec>() {
        return Ok(node);
    }
    let passes = node.is::<ProjectionExec>()
        || node.is::<GlobalLimitExec>()
        || node.is::<LocalLimitExec>()
        || node.is::<CooperativeExec>();
    let within = last && passes;
    let node = node.map_children(|input| requiring(input, within).map(Transformed::yes))?.data;
    let Some(sort) = node.downcast_ref::<SortExec>().filter(|sort| !last && !sort.preserve_partitioning()) else {
        return Ok(node);
    };
    let order = OrderingRequirements::from(sort.expr().clone());
    let one = Distribution::SinglePartition;
    Ok(Arc::new(OutputRequirementExec::new(Arc::clone(&node), Some(order), one, None)))
}
