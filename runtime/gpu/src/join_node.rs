//! A join of the plan, whichever of DataFusion's nodes it is.

use std::any::Any;
use std::sync::Arc;

use datafusion::common::{JoinType, NullEquality};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec};
use onrush_expr::diagnostics::HIDDEN;

/// A join, whichever of DataFusion's nodes it is.
pub struct JoinNode<'a> {
    pub kind: JoinType,
    pub left: &'a Arc<dyn ExecutionPlan>,
    pub right: &'a Arc<dyn ExecutionPlan>,
    /// Values that must be equal; without any, all pairs of rows are looked at.
    pub on: &'a [(Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>)],
    pub filter: Option<&'a JoinFilter>,
    pub projection: Option<&'a [usize]>,
    pub nulls_equal: bool,
    /// As NOT IN has it.
    pub null_aware: bool,
    /// Whether its rows are to be in the order of its right input: frames say so by the names of their columns
    /// (`runtime/logical`).
    pub keeps_order: bool,
}

impl<'a> JoinNode<'a> {
    pub fn of(plan: &'a Arc<dyn ExecutionPlan>) -> Option<JoinNode<'a>> {
        let any: &dyn Any = plan.as_ref();
        let plain = |left, right| JoinNode {
            kind: JoinType::Inner,
            left,
            right,
            on: &[],
            filter: None,
            projection: None,
            nulls_equal: false,
            null_aware: false,
            keeps_order: false,
        };
        if let Some(join) = any.downcast_ref::<HashJoinExec>() {
            return Some(JoinNode {
                kind: *join.join_type(),
                on: join.on(),
                filter: join.filter(),
                projection: join.projection.as_deref(),
                nulls_equal: join.null_equality() == NullEquality::NullEqualsNull,
                null_aware: join.null_aware,
                keeps_order: join.join_schema().fields().iter().any(|field| field.name().starts_with(HIDDEN)),
                ..plain(join.left(), join.right())
            });
        }
        if let Some(join) = any.downcast_ref::<NestedLoopJoinExec>() {
            return Some(JoinNode {
                kind: *join.join_type(),
                filter: join.filter(),
                projection: join.projection().as_deref(),
                ..plain(join.left(), join.right())
            });
        }
        any.downcast_ref::<CrossJoinExec>().map(|join| plain(join.left(), join.right()))
    }
}

/// Whether a join's rows are to be in the order of its right input.
pub fn keeps_order(plan: &Arc<dyn ExecutionPlan>) -> bool {
    JoinNode::of(plan).is_some_and(|join| join.keeps_order)
}
