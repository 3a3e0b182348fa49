//! Concatenations in one partition. DataFusion gives each input of a union a partition of its own, sorts and aggregates these apart, and
//! merges what comes of them on the host; a device has all rows in one place.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::equivalence::AcrossPartitions;
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::combine_partial_final_agg::CombinePartialFinalAggregate;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties, execute_stream,
};
use futures::TryStreamExt;

use super::read::known_of;

/// The rows of its inputs, one input after the other.
#[derive(Debug)]
pub struct ConcatExec {
    /// As DataFusion has it: what is known of its columns.
    union: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl ConcatExec {
    fn new(union: Arc<dyn ExecutionPlan>, ordering: Option<&LexOrdering>) -> ConcatExec {
        let mut known: EquivalenceProperties = known_of(union.properties());
        known.clear_orderings();
        if let Some(ordering) = ordering {
            known.add_ordering(ordering.clone());
        }
        let one = Partitioning::UnknownPartitioning(1);
        let properties = PlanProperties::new(known, one, EmissionType::Incremental, Boundedness::Bounded);
        ConcatExec { union, properties: Arc::new(properties) }
    }
}

impl DisplayAs for ConcatExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConcatExec")
    }
}

impl ExecutionPlan for ConcatExec {
    fn name(&self) -> &str {
        "ConcatExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.union.children()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let ordering = self.properties.output_ordering().cloned();
        let union = super::exec::with_inputs(&self.union, inputs)?;
        Ok(Arc::new(ConcatExec::new(union, ordering.as_ref())))
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let schema = self.schema();
        let inputs: Vec<_> = self.children().into_iter().map(Arc::clone).collect();
        let of = Arc::clone(&schema);
        let rows = futures::stream::iter(inputs.into_iter().map(Ok::<_, DataFusionError>))
            .and_then(move |input| {
                let opened = execute_stream(input, Arc::clone(&context));
                async move { opened }
            })
            .try_flatten()
            // The same types, maybe under other names.
            .and_then(move |batch| {
                let batch = batch.with_schema(Arc::clone(&of)).map_err(DataFusionError::from);
                async move { batch }
            });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}

/// The plan with one partition throughout.
pub fn in_one_partition(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let mut changed = false;
    let plan = plan.transform_up(|plan| {
        let one = one_partition(&plan)?;
        changed |= one.is_some();
        Ok(one.map_or_else(|| Transformed::no(plan), Transformed::yes))
    })?;
    match changed {
        // What was aggregated in two steps because of several partitions.
        true => CombinePartialFinalAggregate::new().optimize(plan.data, &ConfigOptions::default()),
        false => Ok(plan.data),
    }
}

fn one_partition(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let any: &dyn Any = plan.as_ref();
    if any.is::<UnionExec>() {
        return Ok(Some(Arc::new(ConcatExec::new(Arc::clone(plan), None))));
    }
    if let Some(node) = any.downcast_ref::<CoalescePartitionsExec>() {
        return Ok(is_one(node.input()).then(|| limited(Arc::clone(node.input()), plan.fetch())));
    }
    let Some(merge) = any.downcast_ref::<SortPreservingMergeExec>() else { return Ok(None) };
    let below = merge.input();
    if !is_one(below) {
        return Ok(None);
    }
    if below.equivalence_properties().ordering_satisfy(merge.expr().clone())? {
        return Ok(Some(limited(Arc::clone(below), merge.fetch())));
    }
    let any: &dyn Any = below.as_ref();
    let mut below = Arc::clone(below);
    if let Some(concat) = any.downcast_ref::<ConcatExec>() {
        if is_in_order(concat, merge.expr())? {
            let union = Arc::clone(&concat.union);
            return Ok(Some(limited(Arc::new(ConcatExec::new(union, Some(merge.expr()))), merge.fetch())));
        }
        // All are sorted together.
        let inputs = concat.children().into_iter().map(|input| {
            let any: &dyn Any = input.as_ref();
            match any.downcast_ref::<SortExec>() {
                Some(sort) if sort.fetch().is_none() => Arc::clone(sort.input()),
                _ => Arc::clone(input),
            }
        });
        below = super::exec::with_inputs(&below, inputs.collect())?;
    }
    Ok(Some(Arc::new(SortExec::new(merge.expr().clone(), below).with_fetch(merge.fetch()))))
}

fn is_one(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.output_partitioning().partition_count() == 1
}

fn limited(plan: Arc<dyn ExecutionPlan>, fetch: Option<usize>) -> Arc<dyn ExecutionPlan> {
    match fetch {
        Some(_) => Arc::new(GlobalLimitExec::new(plan, 0, fetch)),
        None => plan,
    }
}

/// Whether inputs one after the other are in an order: its first key is a constant of each, and these rise.
fn is_in_order(concat: &ConcatExec, order: &LexOrdering) -> Result<bool> {
    let first = order.first();
    let mut last: Option<ScalarValue> = None;
    for input in concat.children() {
        let known = input.equivalence_properties();
        let Some(AcrossPartitions::Uniform(Some(value))) = known.is_expr_constant(&first.expr) else {
            return Ok(false);
        };
        let rises = |last: &ScalarValue| match last.partial_cmp(&value) {
            Some(std::cmp::Ordering::Less) => !first.options.descending,
            Some(std::cmp::Ordering::Greater) => first.options.descending,
            _ => false,
        };
        if value.is_null()
            || last.as_ref().is_some_and(|last| !rises(last))
            || !known.ordering_satisfy(order.clone())?
        {
            return Ok(false);
        }
        last = Some(value);
    }
    Ok(true)
}
