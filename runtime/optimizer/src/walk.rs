//! Optimizer driver: applies rules one after another to a plan.
//!
//! DataFusion's driver hashes the whole plan before and after a round to detect a fixpoint. Here each rule reports
//! whether it changed the plan, and the caller chooses the rounds.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion, TreeNodeRewriter};
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::logical_plan::{Aggregate, Filter, Join, Limit, Projection, Sort, SubqueryAlias, Window};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use onrush_logical::predicates::has_subqueries;

pub type Rule = Arc<dyn OptimizerRule + Send + Sync>;

/// Neither takes another column from its inputs than before.
const KEEP_COLUMNS: [&str; 2] = ["push_down_limit", "extract_equijoin_predicate"];

/// The plan after the rules. `may_find` is asked before each rule, with its name, the plan, and whether other rules
/// have changed what its nodes read.
pub fn run<'r>(
    mut plan: LogicalPlan,
    rules: impl Iterator<Item = &'r Rule>,
    may_find: impl Fn(&str, &LogicalPlan, bool) -> bool,
    config: &dyn OptimizerConfig,
) -> Result<LogicalPlan> {
    let mut changed = false;
    let mut subqueries = has_subqueries(&plan);
    for rule in rules {
        if !may_find(rule.name(), &plan, changed) {
            continue;
        }
        let done = match rule.apply_order() {
            None => rule.rewrite(plan, config),
            // Plans of subqueries are found by a slower walk.
            Some(order) if subqueries => plan.rewrite_with_subqueries(&mut Walk { order, rule, config }),
            Some(order) => in_place(&mut plan, order, rule, config)
                .map(|changed| Transformed::new_transformed(std::mem::take(&mut plan), changed)),
        };
        let done = done.map_err(|e| e.context(format!("Optimizer rule '{}' failed", rule.name())))?;
        plan = done.data;
        if done.transformed {
            changed |= !KEEP_COLUMNS.contains(&rule.name());
            subqueries = has_subqueries(&plan);
        }
    }
    Ok(plan)
}

struct Walk<'a> {
    order: ApplyOrder,
    rule: &'a Rule,
    config: &'a dyn OptimizerConfig,
}

impl TreeNodeRewriter for Walk<'_> {
    type Node = LogicalPlan;

    fn f_down(&mut self, node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        match self.order {
            ApplyOrder::TopDown => self.rule.rewrite(node, self.config),
            ApplyOrder::BottomUp => Ok(Transformed::no(node)),
        }
    }

    fn f_up(&mut self, node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        match self.order {
            ApplyOrder::TopDown => Ok(Transformed::no(node)),
            ApplyOrder::BottomUp => self.rule.rewrite(node, self.config),
        }
    }
}

/// Without subqueries, and without taking nodes out of their places. After an error the plan is of no use.
fn in_place(plan: &mut LogicalPlan, order: ApplyOrder, rule: &Rule, config: &dyn OptimizerConfig) -> Result<bool> {
    let mut changed = false;
    let mut here = |plan: &mut LogicalPlan| {
        let done = rule.rewrite(std::mem::take(plan), config)?;
        *plan = done.data;
        changed |= done.transformed;
        Ok::<_, datafusion::error::DataFusionError>(done.tnr)
    };
    if order == ApplyOrder::TopDown && here(plan)? == TreeNodeRecursion::Stop {
        return Ok(changed);
    }
    let (mut below, mut other_columns) = (false, false);
    each_input(plan, &mut |input| {
        let columns = Arc::clone(input.schema());
        if in_place(input, order, rule, config)? {
            below = true;
            other_columns |= columns.as_ref() != input.schema().as_ref();
        }
        Ok(())
    })?;
    if other_columns {
        *plan = std::mem::take(plan).recompute_schema()?;
    }
    if order == ApplyOrder::BottomUp {
        here(plan)?;
    }
    Ok(changed || below)
}

fn each_input(plan: &mut LogicalPlan, work: &mut dyn FnMut(&mut LogicalPlan) -> Result<()>) -> Result<()> {
    match plan {
        LogicalPlan::Projection(Projection { input, .. })
        | LogicalPlan::Filter(Filter { input, .. })
        | LogicalPlan::Window(Window { input, .. })
        | LogicalPlan::Aggregate(Aggregate { input, .. })
        | LogicalPlan::Sort(Sort { input, .. })
        | LogicalPlan::Limit(Limit { input, .. })
        | LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. }) => work(Arc::make_mut(input)),
        LogicalPlan::Join(Join { left, right, .. }) => {
            work(Arc::make_mut(left))?;
            work(Arc::make_mut(right))
        }
        LogicalPlan::TableScan(_) | LogicalPlan::EmptyRelation(_) | LogicalPlan::Values(_) => Ok(()),
        // Seldom, or with inputs that cannot be reached in their places.
        other => {
            let new = std::mem::take(other).map_children(|mut input| {
                work(&mut input)?;
                Ok(Transformed::yes(input))
            });
            *other = new?.data;
            Ok(())
        }
    }
}
