//! The physical plan of a logical one: the rules, and what of it runs on the device.

use std::sync::{Arc, LazyLock};

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::InvariantLevel;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{HashJoinExec, HashJoinExecBuilder, PartitionMode};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, StatisticsArgs, StatisticsContext};
use onrush_gpu::{Accelerator, Placements};
use onrush_logical::cooperative::cooperative;
use onrush_logical::ops::describe::Planner;
use onrush_optimizer::Physical;
use onrush_parallel::Cores;

static RULES: LazyLock<Physical> = LazyLock::new(Physical::new);

/// The plan as it will run, of one that is analysed, and why nodes of it are on the CPU.
pub async fn of(
    plan: LogicalPlan,
    state: &SessionState,
    accelerator: Option<&Arc<Accelerator>>,
    cores: Cores,
) -> Result<(Arc<dyn ExecutionPlan>, Placements)> {
    // Ours, which makes all passes.
    let plan =
        state.optimizers().iter().try_fold(plan, |plan, rule| rule.rewrite(plan, state).map(|plan| plan.data))?;
    let sorted = plan.exists(|node| Ok(matches!(node, LogicalPlan::Sort(_))))?;
    let first = state.query_planner().create_physical_plan(&plan, state).await?;
    let config = state.config_options();
    let Some(accelerator) = accelerator else {
        let mut plan = RULES.for_cpu(first, config)?;
        // Tests of other configurations have DataFusion's own partitions.
        if config.execution.target_partitions == 1 {
            plan = onrush_parallel::parallel(plan, cores, sorted)?;
        }
        return Ok((stoppable(plan)?, Placements::default()));
    };
    if accelerator.may_run(&first)? {
        let (placed, placements) = onrush_gpu::place(RULES.for_device(Arc::clone(&first), config)?, accelerator)?;
        if placements.is_empty() {
            return Ok((placed, placements));
        }
    }
    onrush_gpu::place(stoppable(RULES.for_cpu(first, config)?)?, accelerator)
}

/// Plans for the workers of a cluster: with DataFusion's own partitions, at whose exchanges a plan is cut.
#[derive(Debug)]
pub struct ClusterPlanner;

#[async_trait::async_trait]
impl QueryPlanner for ClusterPlanner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn datafusion::catalog::Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let first = Planner.create_physical_plan(plan, session).await?;
        // A projection that was pushed into a scan would compute in rows that a filter drops, and fail for them.
        RULES.for_device(joins_in_partitions(first)?, session.config_options())
    }
}

/// Rows of a table that may go to each worker whole.
const BROADCAST_ROWS: usize = 1 << 17;

/// The plan, in which joins of large or unknown sides spread both of them by key. Without statistics of columns
/// DataFusion takes a join of tables for small, and would send millions of rows to each worker.
fn joins_in_partitions(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| {
        let Some(join) = node.downcast_ref::<HashJoinExec>() else { return Ok(Transformed::no(node)) };
        let is_small = |side| table_rows(side).is_some_and(|rows| rows <= BROADCAST_ROWS);
        let is_free = *join.partition_mode() == PartitionMode::Auto && !join.null_aware;
        if !is_free || is_small(join.left()) || is_small(join.right()) {
            return Ok(Transformed::no(node));
        }
        let join = HashJoinExecBuilder::from(join).with_partition_mode(PartitionMode::Partitioned).build()?;
        Ok(Transformed::yes(Arc::new(join) as Arc<dyn ExecutionPlan>))
    })
    .map(|plan| plan.data)
}

/// The rows of the table below filters and projections. `None` for everything else.
fn table_rows(plan: &Arc<dyn ExecutionPlan>) -> Option<usize> {
    match plan.children()[..] {
        [] => {
            let statistics = StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new()).ok()?;
            statistics.num_rows.get_value().copied()
        }
        [input] if plan.is::<FilterExec>() || plan.is::<ProjectionExec>() => table_rows(input),
        _ => None,
    }
}

/// The rule of a state. DataFusion looks at what its planner makes once these have run, before it is known which of
/// ours are needed: a plan of which nodes do not have what they ask for yet, as joins of several partitions, goes
/// through them here, too.
#[derive(Debug)]
pub struct PlannerGuard;

impl PhysicalOptimizerRule for PlannerGuard {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let lacks = |node: &Arc<dyn ExecutionPlan>| Ok(node.check_invariants(InvariantLevel::Executable).is_err());
        if plan.exists(lacks)? { RULES.for_cpu(plan, config) } else { Ok(plan) }
    }

    fn name(&self) -> &str {
        "whole"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Operators that give many batches for one of their input let others run now and then.
fn stoppable(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| Ok(cooperative(node))).map(|plan: Transformed<_>| plan.data)
}
