//! Rewrites FILTER of window aggregates to a CASE that is null elsewhere, because the physical node does not expose its
//! filter.

use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::{Expr, LogicalPlan, Window, WindowFunctionDefinition, when};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// Aggregates that leave out nulls, and pairs with a null.
const NULL_SKIPPING_AGGREGATES: &[&str] = &[
    "count",
    "sum",
    "avg",
    "min",
    "max",
    "bool_and",
    "bool_or",
    "var",
    "var_samp",
    "var_pop",
    "stddev",
    "stddev_samp",
    "stddev_pop",
    "corr",
    "covar_samp",
    "covar_pop",
];

#[derive(Debug)]
pub struct WindowFilters;

impl OptimizerRule for WindowFilters {
    fn name(&self) -> &'static str {
        "window_filters"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Window(window) = &plan else { return Ok(Transformed::no(plan)) };
        let mut changed = false;
        let mut exprs = Vec::new();
        for expr in &window.window_expr {
            let without = without_filter(expr)?;
            changed |= without.is_some();
            exprs.push(without.unwrap_or_else(|| expr.clone()));
        }
        if !changed {
            return Ok(Transformed::no(plan));
        }
        let input = Arc::clone(&window.input);
        Ok(Transformed::yes(LogicalPlan::Window(Window::try_new(exprs, input)?)))
    }
}

/// Under the same name; none where it has no filter, or nulls count.
fn without_filter(expr: &Expr) -> Result<Option<Expr>> {
    let inner = match expr {
        Expr::Alias(alias) => alias.expr.as_ref(),
        other => other,
    };
    let Expr::WindowFunction(function) = inner else { return Ok(None) };
    let WindowFunctionDefinition::AggregateUDF(aggregate) = &function.fun else { return Ok(None) };
    let mut params = function.params.clone();
    let (Some(filter), Some(arg)) = (params.filter.take(), params.args.first_mut()) else { return Ok(None) };
    if !NULL_SKIPPING_AGGREGATES.contains(&aggregate.name()) {
        return Ok(None);
    }
    let value = std::mem::replace(arg, Expr::Literal(ScalarValue::Null, None));
    *arg = when(*filter, value).end()?;
    let name = expr.schema_name().to_string();
    let function = WindowFunction { fun: function.fun.clone(), params };
    Ok(Some(Expr::from(function).alias(name)))
}
