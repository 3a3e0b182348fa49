//! Nodes of physical plans.

use std::any::Any;
use std::sync::Arc;

use datafusion::error::Result;
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
