//! Conditions before the functions of `%%cuda` cells that they keep rows from: DataFusion makes one `and` of filters that follow each other, and
//! computes both its sides for all rows. Such a function may not come to an end for some.

use std::sync::Arc;

use datafusion::error::Result;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, CaseExpr, NotExpr, lit};
use datafusion::physical_expr::utils::split_conjunction;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};

use crate::gpu::native;

/// A node with what stands in its `and` and `or` in order, where it calls such a function.
pub fn ordered(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
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
