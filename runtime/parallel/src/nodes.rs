//! Nodes of physical plans.

use std::any::Any;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};

pub type Plan = Arc<dyn ExecutionPlan>;

/// A node as its type.
pub fn cast<T: 'static>(plan: &Plan) -> Option<&T> {
    let any: &dyn Any = plan.as_ref();
    any.downcast_ref::<T>()
}

/// The same node over new inputs.
pub fn with_inputs(node: &Plan, inputs: Vec<Plan>) -> Result<Plan> {
    Arc::clone(node).replace_children(inputs, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
}

/// Visits an expression of a node.
pub type Visit<'a> = dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion> + 'a;

/// Visits several expressions of a node.
pub fn visit_all<'a>(
    exprs: impl IntoIterator<Item = &'a Arc<dyn PhysicalExpr>>,
    visit: &mut Visit<'_>,
) -> Result<TreeNodeRecursion> {
    exprs.into_iter().try_fold(TreeNodeRecursion::Continue, |so_far, expr| so_far.visit_sibling(|| visit(expr)))
}

/// The methods of an [`ExecutionPlan`] that name its parts.
macro_rules! node_parts {
    (
        $type:ident of $self:ident,
        properties: $properties:expr,
        children: $children:expr,
        expressions: |$visit:ident| $visited:expr,
    ) => {
        fn name(&self) -> &str {
            stringify!($type)
        }

        fn properties(&$self) -> &::std::sync::Arc<::datafusion::physical_plan::PlanProperties> {
            $properties
        }

        fn children(&$self) -> Vec<&$crate::nodes::Plan> {
            $children
        }

        fn apply_expressions(
            &$self,
            $visit: &mut $crate::nodes::Visit<'_>,
        ) -> ::datafusion::error::Result<::datafusion::common::tree_node::TreeNodeRecursion> {
            $visited
        }
    };
}
pub(crate) use node_parts;
