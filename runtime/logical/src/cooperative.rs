//! Operators that yield, so that a query can be cancelled.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;

/// Makes operators that give many batches for one of their input yield now and then. DataFusion yields only where
/// batches enter a plan. An aggregate over a cross join would run for minutes without a look at its cancellation.
pub fn cooperative(node: Arc<dyn ExecutionPlan>) -> Transformed<Arc<dyn ExecutionPlan>> {
    const MULTIPLY: [&str; 5] =
        ["CrossJoinExec", "NestedLoopJoinExec", "HashJoinExec", "SortMergeJoinExec", "UnnestExec"];
    match MULTIPLY.contains(&node.name()) {
        true => Transformed::yes(Arc::new(CooperativeExec::new(node))),
        false => Transformed::no(node),
    }
}
