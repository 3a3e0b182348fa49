//! Filters before what they filter is calculated.
//!
//! DataFusion moves a projection that makes rows narrower below a filter, whatever it calculates: `select id, a + b from t where
//! id < 9` would add all rows, and fail for an overflow in a row that the query leaves out.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::{ProjectionExec, update_expr};
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};

/// Swaps a filter with a projection below it that calculates anything.
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
        plan.transform_down(swap).map(|plan| plan.data)
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
    let calculates = !projection.expr().iter().all(|e| is_column(&e.expr));
    let known = collect_columns(filter.predicate()).iter().all(|c| is_column(&projection.expr()[c.index()].expr));
    if !calculates || !known {
        return Ok(None);
    }
    let Some(predicate) = update_expr(filter.predicate(), projection.expr(), true)? else { return Ok(None) };
    let below = FilterExecBuilder::new(predicate, Arc::clone(projection.input()))
        .with_default_selectivity(filter.default_selectivity())
        .with_batch_size(filter.batch_size())
        .with_fetch(filter.fetch())
        .build()?;
    let kept = match filter.projection() {
        Some(columns) => columns.iter().map(|i| projection.expr()[*i].clone()).collect(),
        None => projection.expr().to_vec(),
    };
    Ok(Some(Arc::new(ProjectionExec::try_new(kept, Arc::new(below))?)))
}
