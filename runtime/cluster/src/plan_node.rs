//! Methods that nodes of plans share.

/// The name, the properties, and no expressions.
macro_rules! common_methods {
    ($name:literal, $self:ident => $properties:expr) => {
        fn name(&self) -> &str {
            $name
        }

        fn properties(&$self) -> &std::sync::Arc<datafusion::physical_plan::PlanProperties> {
            $properties
        }

        fn apply_expressions(
            &self,
            _: &mut dyn FnMut(
                &std::sync::Arc<dyn datafusion::physical_expr::PhysicalExpr>,
            ) -> datafusion::error::Result<datafusion::common::tree_node::TreeNodeRecursion>,
        ) -> datafusion::error::Result<datafusion::common::tree_node::TreeNodeRecursion> {
            Ok(datafusion::common::tree_node::TreeNodeRecursion::Continue)
        }
    };
}
pub(crate) use common_methods;

/// [`common_methods`] and no inputs. The plan that a node holds is not visible to rules of the optimizer.
macro_rules! leaf_methods {
    ($name:literal, $self:ident => $properties:expr) => {
        crate::plan_node::common_methods!($name, $self => $properties);

        fn children(&self) -> Vec<&std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>> {
            Vec::new()
        }

        fn with_new_children(
            self: std::sync::Arc<Self>,
            _: Vec<std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>>,
        ) -> datafusion::error::Result<std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>> {
            Ok(self)
        }
    };
}
pub(crate) use leaf_methods;
