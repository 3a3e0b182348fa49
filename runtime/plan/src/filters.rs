//! Filters before what they filter is calculated.
//!
//! DataFusion moves a projection that makes rows narrower below a filter, whatever it calculates: `select id, a + b from t where
//! id < 9` would add all rows, and fail for an overflow in a row that the query leaves out.
//!
//! And conditions before the functions of `%%cuda` cells that they keep rows from: DataFusion makes one `and` of filters that follow each other, and
//! computes both its sides for all rows. Such a function may not come to an end for some.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::conjunction;
use datafusion::physical_expr::expressions::{BinaryExpr, CaseExpr, Column, NotExpr, lit};
use datafusion::physical_expr::utils::{collect_columns, split_conjunction};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::{ProjectionExec, update_expr};
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};

use crate::gpu::native;

/// Swaps a filter with a projection below it that calculates anything, and orders what stands in an `and` or `or`.
#[derive(Debug)]
pub struct FilterFirst;

impl PhysicalOptimizerRule for FilterFirst {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let swap = |node: Arc<dyn ExecutionPlan>| {
            Ok(match swapped(&node)? {
                Some(new) => Transformed::yes(new),
                None => Transformed::no(node),
            })
        };
        // From the top: the filter that went down may find another projection there.
        let plan = plan.transform_down(swap)?.data;
        let order = |node: Arc<dyn ExecutionPlan>| {
            Ok(match ordered(&node)? {
                Some(new) => Transformed::yes(new),
                None => Transformed::no(node),
            })
        };
        plan.transform_up(order).map(|plan| plan.data)
    }

    fn name(&self) -> &str {
        "filter_first"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn swapped(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(filter) = node.downcast_ref::<FilterExec>() else { return Ok(None) };
    let Some(projection) = filter.input().downcast_ref::<ProjectionExec>() else { return Ok(None) };
    let is_column = |expr: &Arc<dyn PhysicalExpr>| expr.downcast_ref::<Column>().is_some();
    if projection.expr().iter().all(|e| is_column(&e.expr)) {
        return Ok(None);
    }
    let is_known = |expr: &Arc<dyn PhysicalExpr>| {
        collect_columns(expr).iter().all(|c| is_column(&projection.expr()[c.index()].expr))
    };
    let parts = split_conjunction(filter.predicate()).into_iter().map(Arc::clone);
    let (known, others): (Vec<_>, Vec<_>) = parts.partition(is_known);
    // DataFusion computes what occurs twice in a filter below it, once for all rows.
    let splits = !known.is_empty() && projection.expr().iter().any(|e| native::is_in(&e.expr));
    if !others.is_empty() && !splits {
        return Ok(None);
    }
    let down = if others.is_empty() { Arc::clone(filter.predicate()) } else { conjunction(known) };
    let Some(predicate) = update_expr(&down, projection.expr(), true)? else { return Ok(None) };
    let below = FilterExecBuilder::new(predicate, Arc::clone(projection.input()))
        .with_default_selectivity(filter.default_selectivity())
        .with_batch_size(filter.batch_size());
    if !others.is_empty() {
        let projection = ProjectionExec::try_new(projection.expr().to_vec(), Arc::new(below.build()?))?;
        let above =
            FilterExecBuilder::from(filter).with_predicate(conjunction(others)).with_input(Arc::new(projection));
        return Ok(Some(Arc::new(above.build()?)));
    }
    let below = below.with_fetch(filter.fetch()).build()?;
    let kept = match filter.projection() {
        Some(columns) => columns.iter().map(|i| projection.expr()[*i].clone()).collect(),
        None => projection.expr().to_vec(),
    };
    Ok(Some(Arc::new(ProjectionExec::try_new(kept, Arc::new(below))?)))
}

fn ordered(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(filter) = node.downcast_ref::<FilterExec>().filter(|filter| native::is_in(filter.predicate())) {
        let new = FilterExecBuilder::from(filter).with_predicate(kept(filter.predicate())?);
        return Ok(Some(Arc::new(new.build()?)));
    }
    let Some(projection) = node.downcast_ref::<ProjectionExec>() else { return Ok(None) };
    if !projection.expr().iter().any(|e| native::is_in(&e.expr)) {
        return Ok(None);
    }
    let mut exprs = projection.expr().to_vec();
    for one in &mut exprs {
        one.expr = guarded(&one.expr)?;
    }
    Ok(Some(Arc::new(ProjectionExec::try_new(exprs, Arc::clone(projection.input()))?)))
}

/// A filter's predicate, for which null is false.
fn kept(predicate: &Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
    let parts = split_conjunction(predicate).into_iter().map(Arc::clone);
    in_order(parts.collect(), Operator::And, |first, rest| choice(first, rest, lit(false)))
}

/// An expression in which functions are called where the other conditions of an `and` or `or` do not decide, these first.
fn guarded(expr: &Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
    if !native::is_in(expr) {
        return Ok(Arc::clone(expr));
    }
    if let Some(op) = connective(expr) {
        let mut parts = Vec::new();
        split(expr, op, &mut parts);
        return in_order(parts, op, |first, rest| {
            let (decided, result) = match op {
                Operator::And => (Arc::new(NotExpr::new(Arc::clone(&first))) as Arc<dyn PhysicalExpr>, lit(false)),
                _ => (Arc::clone(&first), lit(true)),
            };
            choice(decided, result, Arc::new(BinaryExpr::new(first, op, rest)))
        });
    }
    let children = expr.children().into_iter().map(guarded).collect::<Result<Vec<_>>>()?;
    Arc::clone(expr).with_new_children(children)
}

fn connective(expr: &Arc<dyn PhysicalExpr>) -> Option<Operator> {
    let op = *expr.downcast_ref::<BinaryExpr>()?.op();
    matches!(op, Operator::And | Operator::Or).then_some(op)
}

fn split(expr: &Arc<dyn PhysicalExpr>, op: Operator, parts: &mut Vec<Arc<dyn PhysicalExpr>>) {
    match expr.downcast_ref::<BinaryExpr>().filter(|binary| *binary.op() == op) {
        Some(binary) => {
            split(binary.left(), op, parts);
            split(binary.right(), op, parts);
        }
        None => parts.push(Arc::clone(expr)),
    }
}

/// Conditions without functions as one, then the others, each `joined` with those behind it.
fn in_order(
    parts: Vec<Arc<dyn PhysicalExpr>>,
    op: Operator,
    joined: impl Fn(Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>>,
) -> Result<Arc<dyn PhysicalExpr>> {
    let (natives, plain): (Vec<_>, Vec<_>) = parts.into_iter().partition(native::is_in);
    let plain = plain.into_iter().reduce(|a, b| Arc::new(BinaryExpr::new(a, op, b)));
    let natives = natives.iter().map(guarded).collect::<Result<Vec<_>>>()?;
    let last_first = plain.into_iter().chain(natives).rev();
    let whole = last_first.map(Ok).reduce(|rest, first| joined(first?, rest?));
    whole.unwrap_or_else(|| Ok(lit(true)))
}

fn choice(
    when: Arc<dyn PhysicalExpr>,
    then: Arc<dyn PhysicalExpr>,
    otherwise: Arc<dyn PhysicalExpr>,
) -> Result<Arc<dyn PhysicalExpr>> {
    Ok(Arc::new(CaseExpr::try_new(None, vec![(when, then)], Some(otherwise))?))
}
