//! Places nodes of a physical plan on the device. Plans are walked from their inputs up; a node joins the fragment
//! below it, or starts one, or stays on the CPU with a reason.

use std::any::Any;
use std::sync::Arc;

use datafusion::common::JoinType;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::memory::DataSourceExec;
use datafusion::error::Result;
use datafusion::physical_expr::{LexOrdering, OrderingRequirements};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use super::accelerator::{Accelerator, Policy};
use super::classify::{display_name, is_known, is_larger};
use super::concat_exec::ConcatExec;
use super::cpu_reason::CpuReason;
use super::describe;
use super::fragment::OutOfCore;
use super::fragment_builder::FragmentBuilder;
use super::gpu_exec::GpuExec;
use super::join_node::JoinNode;
use super::lower::StringRepresentation;
use super::memory_input::{memory_as_bytes, memory_column, memory_rows};
use super::placements::Placements;
use super::plan_node::{with_input, with_inputs};
use super::single_partition::in_one_partition;

fn plan_is<T: ExecutionPlan>(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let any: &dyn Any = plan.as_ref();
    any.is::<T>()
}

enum PlacedNode {
    Cpu(Arc<dyn ExecutionPlan>),
    Gpu(Box<FragmentBuilder>),
}

struct Placer<'a> {
    accelerator: &'a Arc<Accelerator>,
    out_of_core: OutOfCore,
    placements: Placements,
}

impl Accelerator {
    /// Whether a plan has rows for the device, by itself or with others.
    pub fn may_run(&self, plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
        let Policy::FromRows(least) = self.policy else { return Ok(true) };
        let mut most = 0;
        plan.apply(|node| {
            most = most.max(rows_there(node).unwrap_or(0));
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(most >= least)
    }
}

/// How many rows an input has in memory or on the device, without limit where they were made there; none where another
/// node gives them.
pub fn rows_there(input: &Arc<dyn ExecutionPlan>) -> Option<u64> {
    if let Some(rows) = memory_rows(input) {
        return Some(rows);
    }
    let any: &dyn Any = input.as_ref();
    if any.is::<ConcatExec>() {
        return input.children().into_iter().try_fold(0_u64, |all, child| Some(all.saturating_add(rows_there(child)?)));
    }
    any.downcast_ref::<GpuExec>().filter(|below| below.output_on_device()).map(|_| u64::MAX)
}

/// The plan with fragments for the device, and why other nodes are not in them. `out_of_core` runs those that do not
/// fit.
pub fn place(
    plan: Arc<dyn ExecutionPlan>,
    accelerator: &Arc<Accelerator>,
    out_of_core: OutOfCore,
) -> Result<(Arc<dyn ExecutionPlan>, Placements)> {
    let plan = in_one_partition(plan, accelerator)?;
    let mut walk = Placer { accelerator, out_of_core, placements: Placements::default() };
    let placed = walk.node(plan)?;
    let plan = walk.close(placed)?;
    Ok((in_order(plan)?, walk.placements))
}

/// The plan with sorts below nodes on the CPU that relied on an order which fragments do not promise.
fn in_order(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let sorted = |node: Arc<dyn ExecutionPlan>| {
        let mut inputs: Vec<Arc<dyn ExecutionPlan>> = Vec::new();
        let mut changed = false;
        for (input, required) in node.children().into_iter().zip(node.required_input_ordering()) {
            let mut input = Arc::clone(input);
            if let Some(OrderingRequirements::Hard(ways)) = required
                && !plan_is::<DataSourceExec>(&input)
            {
                let known = input.equivalence_properties();
                let mut is_met = false;
                for way in &ways {
                    is_met |= known.ordering_satisfy_requirement(way.clone())?;
                }
                if let (false, Some(way)) = (is_met, ways.into_iter().next()) {
                    input = Arc::new(SortExec::new(LexOrdering::from(way), input));
                    changed = true;
                }
            }
            inputs.push(input);
        }
        Ok(match changed {
            true => Transformed::yes(with_inputs(&node, inputs)?),
            false => Transformed::no(node),
        })
    };
    Ok(plan.transform_up(sorted)?.data)
}

impl Placer<'_> {
    fn node(&mut self, plan: Arc<dyn ExecutionPlan>) -> Result<PlacedNode> {
        if let Some(join) = JoinNode::of(&plan) {
            return self.join(&plan, &join);
        }
        let below: Vec<Arc<dyn ExecutionPlan>> = plan.children().into_iter().map(Arc::clone).collect();
        if describe::is_description(&plan) {
            let rows = below.iter().map(|row| self.described(row)).collect::<Result<Vec<_>>>()?;
            return Ok(PlacedNode::Cpu(with_inputs(&plan, rows)?));
        }
        let [child] = &below[..] else {
            if below.is_empty() {
                return Ok(PlacedNode::Cpu(plan));
            }
            let mut inputs = Vec::new();
            for child in below {
                let placed = self.node(child)?;
                inputs.push(self.close(placed)?);
            }
            let plan = with_inputs(&plan, inputs)?;
            // Concatenation costs nothing: the reader takes the rows of each input. Therefore it gets no reason.
            if !plan_is::<ConcatExec>(&plan) {
                self.note(&plan, CpuReason::feature(display_name(&plan)));
            }
            return Ok(PlacedNode::Cpu(plan));
        };
        let below = self.node(Arc::clone(child))?;
        let open = match below {
            PlacedNode::Gpu(open) => Ok(open),
            PlacedNode::Cpu(input) => match self.start(&input, &plan) {
                Ok(open) => Ok(Box::new(open)),
                Err(reason) => Err((input, reason)),
            },
        };
        match open {
            Ok(mut open) => match open.add(&plan) {
                Ok(()) => Ok(PlacedNode::Gpu(open)),
                Err(reason) => {
                    let below = self.close(PlacedNode::Gpu(open))?;
                    let plan = with_input(&plan, below)?;
                    self.note(&plan, reason);
                    Ok(PlacedNode::Cpu(plan))
                }
            },
            Err((input, reason)) => {
                let any: &dyn Any = plan.as_ref();
                let plan_is_limit = any.is::<GlobalLimitExec>() || any.is::<LocalLimitExec>();
                let plan = with_input(&plan, input)?;
                // A limit over host rows copies nothing, so it needs no reason.
                if !plan_is_limit {
                    self.note(&plan, reason);
                }
                Ok(PlacedNode::Cpu(plan))
            }
        }
    }

    /// A row of aggregates that a description shows. Strings of high cardinality stay where they are: numbering all of
    /// them takes longer than to look for the least and the greatest.
    fn described(&mut self, row: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        if let Some((columns, input)) = describe::only_strings(row) {
            let input = self.node(Arc::clone(input))?;
            let input = self.close(input)?;
            let preference = self.preference(&input);
            if columns.iter().any(|column| preference.is_bytes(*column)) {
                return with_input(row, input);
            }
        }
        let row = self.node(Arc::clone(row))?;
        self.close(row)
    }

    /// The side whose rows are kept, or are many, goes on as a pipeline; in the other one they find theirs.
    fn join(&mut self, plan: &Arc<dyn ExecutionPlan>, join: &JoinNode) -> Result<PlacedNode> {
        let (left, right) = (self.node(Arc::clone(join.left))?, self.node(Arc::clone(join.right))?);
        let left_goes_on = match join.kind {
            JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => true,
            // An order of the right side is the join's on the CPU, and may be relied upon.
            JoinType::Inner => {
                let is_ordered = join.keeps_order || join.right.properties().output_ordering().is_some();
                !is_ordered && is_larger(join.left, join.right)
            }
            _ => false,
        };
        let (below, other) = if left_goes_on { (left, right) } else { (right, left) };
        let other = self.end(other, true)?;
        let (below, reason) = match below {
            PlacedNode::Gpu(open) => (Ok(open), None),
            PlacedNode::Cpu(input) => match self.start(&input, plan) {
                Ok(open) => (Ok(Box::new(open)), None),
                Err(reason) => (Err(input), Some(reason)),
            },
        };
        let (below, reason) = match below {
            Ok(mut open) => match open.add_join(plan, join, (&other, self.preference(&other)), left_goes_on) {
                Ok(()) => return Ok(PlacedNode::Gpu(open)),
                Err(reason) => (self.close(PlacedNode::Gpu(open))?, Some(reason)),
            },
            Err(input) => (input, reason),
        };
        let inputs = if left_goes_on { vec![below, other] } else { vec![other, below] };
        let plan = with_inputs(plan, inputs)?;
        if let Some(reason) = reason {
            self.note(&plan, reason);
        }
        Ok(PlacedNode::Cpu(plan))
    }

    fn note(&mut self, plan: &Arc<dyn ExecutionPlan>, reason: CpuReason) {
        self.placements.note(plan, reason);
    }

    /// A fragment over an input on the CPU, if it is worth one.
    fn start(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        plan: &Arc<dyn ExecutionPlan>,
    ) -> std::result::Result<FragmentBuilder, CpuReason> {
        if !is_known(plan) {
            return Err(CpuReason::feature(display_name(plan)));
        }
        let rows = rows_there(input);
        match (self.accelerator.policy, rows) {
            (Policy::FromRows(least), Some(rows)) if rows < least => {
                return Err(CpuReason::TooFewRows { rows, least });
            }
            // Rows of a node on the CPU are worth an upload only if an aggregate reduces them.
            (Policy::FromRows(_), None) => {
                let any: &dyn Any = plan.as_ref();
                if !any.is::<AggregateExec>() {
                    return Err(CpuReason::InputOnCpu);
                }
            }
            _ => {}
        }
        Ok(FragmentBuilder::new(input, self.preference(input)))
    }

    /// The preferred representation of the string columns of an input.
    fn preference(&self, input: &Arc<dyn ExecutionPlan>) -> StringRepresentation {
        let any: &dyn Any = input.as_ref();
        if let (true, Some(first)) = (any.is::<ConcatExec>(), input.children().first()) {
            return self.preference(first);
        }
        if let Some(below) = any.downcast_ref::<GpuExec>() {
            return StringRepresentation::Fixed(below.as_bytes());
        }
        if memory_rows(input).is_none() {
            return StringRepresentation::Indices;
        }
        let (input, accelerator) = (Arc::clone(input), Arc::clone(self.accelerator));
        StringRepresentation::Lazy(Arc::new(move |index| {
            memory_as_bytes(&input, index).unwrap_or_else(|| {
                memory_column(&input, index).is_some_and(|parts| accelerator.gpu.residency.has_many_strings(&parts))
            })
        }))
    }

    fn close(&mut self, placed: PlacedNode) -> Result<Arc<dyn ExecutionPlan>> {
        self.end(placed, false)
    }

    /// `is_joined`: its rows stay on the device.
    fn end(&mut self, placed: PlacedNode, is_joined: bool) -> Result<Arc<dyn ExecutionPlan>> {
        let mut open = match placed {
            PlacedNode::Cpu(plan) => return Ok(plan),
            PlacedNode::Gpu(open) => open,
        };
        let finished = if open.works { open.finish(is_joined) } else { Err(CpuReason::Requested) };
        match finished {
            Ok((stages, used)) => {
                let FragmentBuilder { input, others, mut chain, finish, .. } = *open;
                chain.reverse();
                let inputs = [(input, used)].into_iter().chain(others).collect();
                Ok(Arc::new(GpuExec::new(self.accelerator, chain, finish, inputs, stages, self.out_of_core)))
            }
            Err(reason) => {
                let others: Vec<Arc<dyn ExecutionPlan>> =
                    open.others.iter().map(|(plan, _)| Arc::clone(plan)).collect();
                let mut plan = Arc::clone(&open.input);
                for link in &open.chain {
                    plan = link.fresh(plan, &others)?;
                    if reason != CpuReason::Requested {
                        self.note(&plan, reason.clone());
                    }
                }
                Ok(plan)
            }
        }
    }
}
