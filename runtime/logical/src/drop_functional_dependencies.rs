//! A plan node that drops functional dependencies below `Unnest` (works around DataFusion 55).
//!
//! `unnest_with_options` copies the functional dependencies of its input, although a group key is not unique after it.
//! Columns then vanish from ORDER BY and GROUP BY, or are added to GROUP BY. The node also wraps the inputs of a query.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering as AtomicOrdering};

use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{DFSchema, DFSchemaRef, FunctionalDependencies};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, SubqueryAlias, UserDefinedLogicalNodeCore};
use datafusion::sql::sqlparser::ast::TableFactor;

/// The rows of its input, of which no columns are known to be a key. Nothing of it is left in a physical plan.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Keyless {
    input: LogicalPlan,
    schema: DFSchemaRef,
}

impl Keyless {
    fn over(input: LogicalPlan) -> Result<Self> {
        let schema = DFSchema::clone(input.schema()).with_functional_dependencies(FunctionalDependencies::empty())?;
        Ok(Keyless { input, schema: Arc::new(schema) })
    }
}

impl PartialOrd for Keyless {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for Keyless {
    fn name(&self) -> &str {
        "Keyless"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        HashSet::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Keyless")
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let [input] = <[LogicalPlan; 1]>::try_from(inputs)
            .map_err(|_| DataFusionError::Internal("rows without keys have one input".to_string()))?;
        Keyless::over(input)
    }

    fn necessary_children_exprs(&self, columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(vec![columns.to_vec()])
    }

    fn supports_limit_pushdown(&self) -> bool {
        true
    }
}

/// Whatever is known of its keys now: DISTINCT becomes a group later.
fn without_keys(plan: LogicalPlan) -> Result<LogicalPlan> {
    // DataFusion looks for references to an outer query through its own nodes alone.
    if !plan.all_out_ref_exprs().is_empty() {
        return Ok(plan);
    }
    if let LogicalPlan::SubqueryAlias(alias) = plan {
        let input = without_keys(Arc::unwrap_or_clone(alias.input))?;
        return SubqueryAlias::try_new(Arc::new(input), alias.alias).map(LogicalPlan::SubqueryAlias);
    }
    Ok(LogicalPlan::Extension(Extension { node: Arc::new(Keyless::over(plan)?) }))
}

/// The plan with every `Unnest` over rows without keys.
pub fn mend(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut unnests = false;
    plan.apply_with_subqueries(|node| {
        unnests |= matches!(node, LogicalPlan::Unnest(_));
        Ok(if unnests { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    if !unnests {
        return Ok(plan);
    }
    plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Unnest(mut unnest) => {
            unnest.input = Arc::new(without_keys(Arc::unwrap_or_clone(unnest.input))?);
            let schema =
                DFSchema::clone(&unnest.schema).with_functional_dependencies(FunctionalDependencies::empty())?;
            unnest.schema = Arc::new(schema);
            Ok(Transformed::yes(LogicalPlan::Unnest(unnest)))
        }
        // Nodes that were made when the keys were believed know them still.
        node => Ok(Transformed::yes(node.recompute_schema()?)),
    })
    .map(|plan| plan.data)
}

/// Plans what a query reads from as DataFusion does, and forgets its keys. For queries that unnest.
#[derive(Debug, Default)]
pub struct Relations {
    /// The next question is our own, and is DataFusion's to answer.
    own: AtomicBool,
}

impl RelationPlanner for Relations {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        if self.own.swap(false, AtomicOrdering::Relaxed) {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        }
        self.own.store(true, AtomicOrdering::Relaxed);
        let plan = without_keys(context.plan(relation)?)?;
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, None))))
    }
}
