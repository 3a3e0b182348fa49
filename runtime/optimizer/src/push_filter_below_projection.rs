//! Keeps filters below projections that compute.
//!
//! DataFusion pushes a projection that narrows rows below a filter, even if it computes: `select id, a + b from t where
//! id < 9` would add in all rows, and fail for an overflow in a row that the filter drops.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::physical_expr::conjunction;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::{collect_columns, split_conjunction};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::{ProjectionExec, update_expr};
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};

use crate::short_circuit;

/// Swaps a filter with a projection below it that calculates anything, and orders what stands in an `and` or `or`.
#[derive(Debug)]
pub struct FilterFirst;

impl PhysicalOptimizerRule for FilterFirst {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let swap = |node: Arc<dyn ExecutionPlan>| {
            Ok(match swapped(&node)? {
                Some(new) => Transformed::yes(new),
                None => Transformed::no(node),
            })
        };
        // From the top: the filter that went down may find another projection there.
        let plan = plan.transform_down(swap)?.data;
        let order = |node: Arc<dyn ExecutionPlan>| {
            Ok(match short_circuit::ordered(&node)? {
                Some(new) => Transformed::yes(new),
                None => Transformed::no(node),
            })
        };
        plan.transform_up(order).map(|plan| plan.data)
    }

    fn name(&self) -> &str {
        "filter_first"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn swapped(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(filter) = node.downcast_ref::<FilterExec>() else { return Ok(None) };
    let Some(projection) = filter.input().downcast_ref::<ProjectionExec>() else { return Ok(None) };
    let is_column = |expr: &Arc<dyn PhysicalExpr>| expr.downcast_ref::<Column>().is_some();
    if projection.expr().iter().all(|e| is_column(&e.expr)) {
        return Ok(None);
    }
    let is_known = |expr: &Arc<dyn PhysicalExpr>| {
        collect_columns(expr).iter().all(|c| is_column(&projection.expr()[c.index()].expr))
    };
    let parts = split_conjunction(filter.predicate()).into_iter().map(Arc::clone);
    let (known, others): (Vec<_>, Vec<_>) = parts.partition(is_known);
    // DataFusion computes what occurs twice in a filter below it, once for all rows.
    let below = projection.input().schema();
    let splits = !known.is_empty() && projection.expr().iter().any(|e| short_circuit::may_fail(&e.expr, &below));
    if !others.is_empty() && !splits {
        return Ok(None);
    }
    let down = if others.is_empty() { Arc::clone(filter.predicate()) } else { conjunction(known) };
    let Some(predicate) = update_expr(&down, projection.expr(), true)? else { return Ok(None) };
    let below = FilterExecBuilder::new(predicate, Arc::clone(projection.input()))
        .with_default_selectivity(filter.default_selectivity())
        .with_batch_size(filter.batch_size());
    if !others.is_empty() {
        let projection = ProjectionExec::try_new(projection.expr().to_vec(), Arc::new(below.build()?))?;
        let above =
            FilterExecBuilder::from(filter).with_predicate(conjunction(others)).with_input(Arc::new(projection));
        return Ok(Some(Arc::new(above.build()?)));
    }
    let below = below.with_fetch(filter.fetch()).build()?;
    let kept = match filter.projection() {
        Some(columns) => columns.iter().map(|i| projection.expr()[*i].clone()).collect(),
        None => projection.expr().to_vec(),
    };
    Ok(Some(Arc::new(ProjectionExec::try_new(kept, Arc::new(below))?)))
}
