//! Keys of exchanges. The boundary between two stages writes its keys without the codec of this crate, and knows
//! functions by name alone. Therefore keys with functions become columns below it.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{Partitioning, PhysicalExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;

/// The plan, in which each exchange by hash has columns for keys. Values and order of columns stay as they are.
pub(crate) fn as_columns(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| {
        let Some(exchange) = node.downcast_ref::<RepartitionExec>() else { return Ok(Transformed::no(node)) };
        let Partitioning::Hash(keys, count) = exchange.partitioning() else { return Ok(Transformed::no(node)) };
        if keys.iter().all(|key| key.downcast_ref::<Column>().is_some()) {
            return Ok(Transformed::no(node));
        }
        let input = exchange.input();
        let schema = input.schema();
        let column = |at: usize| {
            let name = schema.field(at).name();
            (Arc::new(Column::new(name, at)) as Arc<dyn PhysicalExpr>, name.clone())
        };
        let own: Vec<_> = (0..schema.fields().len()).map(column).collect();
        let (mut exprs, mut columns) = (own.clone(), Vec::new());
        for key in keys {
            let is_column = key.downcast_ref::<Column>().is_some();
            columns.push(if is_column {
                Arc::clone(key)
            } else {
                let name = format!("{}exchange_{}", onrush_expr::diagnostics::HIDDEN, columns.len());
                exprs.push((Arc::clone(key), name.clone()));
                Arc::new(Column::new(&name, exprs.len() - 1)) as Arc<dyn PhysicalExpr>
            });
        }
        let below = Arc::new(ProjectionExec::try_new(exprs, Arc::clone(input))?);
        let exchange = Arc::new(RepartitionExec::try_new(below, Partitioning::Hash(columns, *count))?);
        Ok(Transformed::yes(Arc::new(ProjectionExec::try_new(own, exchange)?)))
    })
    .map(|plan| plan.data)
}
