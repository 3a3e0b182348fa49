//! Rewrites plans to one partition. DataFusion gives each input of a union a separate partition, sorts and aggregates
//! each partition, and merges the results on the host. A device has all rows in one place.

use std::any::Any;
use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::physical_expr::equivalence::AcrossPartitions;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::combine_partial_final_agg::CombinePartialFinalAggregate;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::scalar_subquery::ScalarSubqueryExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use super::accelerator::Accelerator;
use super::classify::can_be_read_again;
use super::concat_exec::ConcatExec;
use super::plan_node::with_inputs;
use super::{aggregates, computed_join_keys, describe, scalar_subquery};

/// The plan with one partition throughout.
pub fn in_one_partition(plan: Arc<dyn ExecutionPlan>, accelerator: &Accelerator) -> Result<Arc<dyn ExecutionPlan>> {
    let mut changed = false;
    let plan = plan.transform_up(|plan| {
        let one = one_partition(&plan, accelerator)?;
        changed |= one.is_some();
        let one = match one {
            None => computed_join_keys::project_join_keys(&plan)?,
            one => one,
        };
        Ok(one.map_or_else(|| Transformed::no(plan), Transformed::yes))
    })?;
    let plan = match changed {
        // Aggregates in two steps, which several partitions needed.
        true => CombinePartialFinalAggregate::new().optimize(plan.data, &ConfigOptions::default())?,
        false => plan.data,
    };
    // A description is the last step, or one of the last.
    let described = plan.transform_down(|plan| {
        let described = describe::with_quantiles(&plan, accelerator)?;
        Ok(described.map_or_else(|| Transformed::no(plan), Transformed::yes))
    })?;
    Ok(described.data)
}

/// Rewrites grouping sets to the concatenation of one aggregate for each set. Keys outside of a set are null in its
/// rows.
///
/// Each set reads the input again. Therefore the input must be the same each time, and on the device.
fn grouping_sets(plan: &Arc<dyn ExecutionPlan>, accelerator: &Accelerator) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let any: &dyn Any = plan.as_ref();
    let Some(last) = any.downcast_ref::<AggregateExec>() else { return Ok(None) };
    let below: &dyn Any = last.input().as_ref();
    let Some(first) = below.downcast_ref::<AggregateExec>() else { return Ok(None) };
    let keys = first.group_expr();
    let is_pair = *last.mode() == AggregateMode::Final && *first.mode() == AggregateMode::Partial;
    let is_known = last.aggr_expr().iter().all(|function| aggregates::merges(function));
    if !is_pair || !keys.has_grouping_set() || !is_known {
        return Ok(None);
    }
    if !can_be_read_again(first.input(), accelerator)? {
        return Ok(None);
    }
    let schema = last.schema();
    let number = keys.expr().len();
    let mut sets: Vec<Arc<dyn ExecutionPlan>> = Vec::new();
    for (at, absent) in keys.groups().iter().enumerate() {
        let of_set = keys.expr().iter().zip(absent).filter(|(_, absent)| !**absent).map(|(key, _)| key.clone());
        let set: Arc<dyn ExecutionPlan> = Arc::new(AggregateExec::try_new(
            AggregateMode::Single,
            PhysicalGroupBy::new_single(of_set.collect()),
            first.aggr_expr().to_vec(),
            first.filter_expr().to_vec(),
            Arc::clone(first.input()),
            first.input_schema(),
        )?);
        // As DataFusion numbers them: a bit for each key that is absent, the first the highest; before these, how often
        // there was such a set.
        let bits = absent.iter().fold(0_u64, |bits, absent| bits << 1 | u64::from(*absent));
        let before = keys.groups()[..at].iter().filter(|other| *other == absent).count() as u64;
        let id = ScalarValue::UInt64(Some(bits | before << number)).cast_to(schema.field(number).data_type())?;
        let mut exprs: Vec<ProjectionExpr> = Vec::new();
        let mut place = 0;
        let mut next = |name: &str| -> Arc<dyn PhysicalExpr> {
            place += 1;
            Arc::new(Column::new(name, place - 1))
        };
        for (index, absent) in absent.iter().enumerate() {
            let name = schema.field(index).name().clone();
            let expr = match absent {
                true => Arc::clone(&keys.null_expr()[index].0),
                false => next(&keys.expr()[index].1),
            };
            exprs.push(ProjectionExpr { expr, alias: name });
        }
        exprs.push(ProjectionExpr { expr: Arc::new(Literal::new(id)), alias: schema.field(number).name().clone() });
        for (function, field) in first.aggr_expr().iter().zip(&schema.fields()[number + 1..]) {
            exprs.push(ProjectionExpr { expr: next(function.name()), alias: field.name().clone() });
        }
        sets.push(Arc::new(ProjectionExec::try_new(exprs, set)?));
    }
    let union = match sets.len() {
        1 => return Ok(sets.pop()),
        _ => UnionExec::try_new(sets)?,
    };
    Ok(Some(Arc::new(ConcatExec::new(union, None))))
}

fn one_partition(plan: &Arc<dyn ExecutionPlan>, accelerator: &Accelerator) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let any: &dyn Any = plan.as_ref();
    if any.is::<AggregateExec>() {
        return grouping_sets(plan, accelerator);
    }
    if any.is::<ScalarSubqueryExec>() {
        return scalar_subquery::as_joins(plan);
    }
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
    // A limit of each partition is none of all rows, which are not in order here.
    let mut below = match merge.fetch() {
        Some(_) => without_fetches(below)?,
        None => Arc::clone(below),
    };
    let any: &dyn Any = merge.input().as_ref();
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
        below = with_inputs(&below, inputs.collect())?;
    }
    Ok(Some(Arc::new(SortExec::new(merge.expr().clone(), below).with_fetch(merge.fetch()))))
}

/// The nodes above a concatenation without the limits that were of each partition.
fn without_fetches(plan: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let any: &dyn Any = plan.as_ref();
    if any.is::<ConcatExec>() {
        return Ok(Arc::clone(plan));
    }
    let mut inputs: Vec<Arc<dyn ExecutionPlan>> = plan.children().into_iter().map(Arc::clone).collect();
    // The right side of a join is the one with several partitions.
    let Some(last) = inputs.pop() else { return Ok(Arc::clone(plan)) };
    let last = without_fetches(&last)?;
    if any.is::<LocalLimitExec>() {
        return Ok(last);
    }
    inputs.push(last);
    let plan = with_inputs(plan, inputs)?;
    Ok(plan.fetch().and_then(|_| plan.with_fetch(None)).unwrap_or(plan))
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
