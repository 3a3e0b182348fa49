//! Kinds of nodes of a physical plan, as the device sees them.

use std::any::Any;
use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::physical_expr::expressions::DynamicFilterPhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{StatisticsArgs, StatisticsContext, WindowExpr};

use super::accelerator::{Accelerator, Policy};
use super::concat_exec::ConcatExec;
use super::join_node::JoinNode;
use super::memory_input::memory_rows;

/// Whether one plan gives more rows than another one, as far as can be told.
pub fn is_larger(plan: &Arc<dyn ExecutionPlan>, other: &Arc<dyn ExecutionPlan>) -> bool {
    let rows = |plan: &Arc<dyn ExecutionPlan>| {
        let statistics = StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new()).ok()?;
        statistics.num_rows.get_value().copied()
    };
    rows(plan).zip(rows(other)).is_some_and(|(a, b)| a > b)
}

pub fn is_known(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let any: &dyn Any = plan.as_ref();
    any.is::<FilterExec>()
        || any.is::<ProjectionExec>()
        || any.is::<AggregateExec>()
        || JoinNode::of(plan).is_some()
        || any.is::<GlobalLimitExec>()
        || any.is::<LocalLimitExec>()
        || any.is::<SortExec>()
        || any.is::<BoundedWindowAggExec>()
        || any.is::<WindowAggExec>()
        || any.is::<UnnestExec>()
        || is_transparent(plan)
}

/// Whether a plan goes over rows in memory that are worth the device, by nodes that it knows and that give the same
/// each time.
pub fn can_be_read_again(plan: &Arc<dyn ExecutionPlan>, accelerator: &Accelerator) -> Result<bool> {
    let mut most = 0;
    let mut is_fit = true;
    plan.apply(|node| {
        if let Some(rows) = memory_rows(node) {
            most = most.max(rows);
            return Ok(TreeNodeRecursion::Jump);
        }
        let any: &dyn Any = node.as_ref();
        is_fit &= is_known(node) || any.is::<ConcatExec>();
        node.apply_expressions(&mut |expr| {
            is_fit &= !expr.exists(|expr| Ok(expr.is_volatile_node()))?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(if is_fit { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    let least = match accelerator.policy {
        Policy::FromRows(least) => least,
        Policy::Always | Policy::Only => 0,
    };
    Ok(is_fit && most >= least)
}

/// The windows of a window node.
pub fn windows(plan: &Arc<dyn ExecutionPlan>) -> Option<&[Arc<dyn WindowExpr>]> {
    let any: &dyn Any = plan.as_ref();
    let bounded = any.downcast_ref::<BoundedWindowAggExec>().map(BoundedWindowAggExec::window_expr);
    bounded.or_else(|| any.downcast_ref::<WindowAggExec>().map(WindowAggExec::window_expr))
}

/// Whether a node looks at one row at a time.
pub fn is_light(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let any: &dyn Any = plan.as_ref();
    let is_filter = any.is::<FilterExec>() && plan.fetch().is_none();
    is_filter || any.is::<ProjectionExec>() || any.is::<UnnestExec>() || is_transparent(plan)
}

pub fn is_transparent(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let any: &dyn Any = plan.as_ref();
    // A dynamic filter, by which a join on the CPU drops rows without a match early. Without the filter the join drops
    // them.
    let is_told = any.downcast_ref::<FilterExec>().is_some_and(|filter| {
        let predicate: &dyn Any = filter.predicate().as_ref();
        predicate.is::<DynamicFilterPhysicalExpr>() && filter.projection().is_none() && plan.fetch().is_none()
    });
    is_told || matches!(plan.name(), "CoalesceBatchesExec" | "CooperativeExec")
}

/// The name of a node for users.
pub fn display_name(plan: &Arc<dyn ExecutionPlan>) -> String {
    match plan.name() {
        "SortExec" | "SortPreservingMergeExec" => "sorting".to_string(),
        "HashJoinExec" | "NestedLoopJoinExec" | "CrossJoinExec" | "SortMergeJoinExec" => "joining".to_string(),
        "WindowAggExec" | "BoundedWindowAggExec" => "a window".to_string(),
        "UnionExec" | "InterleaveExec" | "ConcatExec" => "concatenation".to_string(),
        "UnnestExec" => "explode".to_string(),
        other => other.trim_end_matches("Exec").to_lowercase(),
    }
}
