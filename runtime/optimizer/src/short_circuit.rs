//! Enforces left-to-right short-circuit evaluation of AND and OR if an operand can fail.
//!
//! DataFusion merges consecutive filters into one AND and evaluates both operands for all rows. An operand fails if an
//! integer is divided by zero or a string is not a number, and a `%%cuda` function may not return.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, CaseExpr, CastExpr, Literal, NotExpr, lit};
use datafusion::physical_expr::utils::split_conjunction;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use onrush_expr::device_udf;
use onrush_expr::type_coercion;

/// A node with what stands in its `and` and `or` in order, where something in one of them is not for all rows.
pub fn ordered(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(filter) = node.downcast_ref::<FilterExec>() {
        let over = InputSchema(&filter.input().schema());
        if !over.has_order(filter.predicate()) {
            return Ok(None);
        }
        let new = FilterExecBuilder::from(filter).with_predicate(over.kept(filter.predicate())?);
        return Ok(Some(Arc::new(new.build()?)));
    }
    let Some(projection) = node.downcast_ref::<ProjectionExec>() else { return Ok(None) };
    let over = InputSchema(&projection.input().schema());
    if !projection.expr().iter().any(|e| over.has_order(&e.expr)) {
        return Ok(None);
    }
    let mut exprs = projection.expr().to_vec();
    for one in &mut exprs {
        one.expr = over.guarded(&one.expr)?;
    }
    Ok(Some(Arc::new(ProjectionExec::try_new(exprs, Arc::clone(projection.input()))?)))
}

/// Whether an expression over these columns has something in it that is not for all rows.
pub fn may_fail(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    device_udf::is_in(expr) || has(expr, |node| fails(node, schema))
}

fn has(expr: &Arc<dyn PhysicalExpr>, is: impl Fn(&Arc<dyn PhysicalExpr>) -> bool) -> bool {
    let mut found = false;
    let walked = expr.apply(|node| {
        found |= is(node);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    walked.is_err() || found
}

/// Integer division by a possible zero, or a cast from string. Overflow is not guarded: it is rare, and arithmetic is
/// frequent.
fn fails(node: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    if let Some(binary) = node.downcast_ref::<BinaryExpr>() {
        let is_whole = || binary.right().data_type(schema).is_ok_and(|dtype| dtype.is_integer());
        let divides = matches!(binary.op(), Operator::Divide | Operator::Modulo);
        return divides && !is_number(binary.right()) && is_whole();
    }
    let Some(cast) = node.downcast_ref::<CastExpr>() else { return false };
    let is_literal = cast.expr().downcast_ref::<Literal>().is_some();
    !is_literal
        && !type_coercion::is_text(cast.cast_type())
        && cast.expr().data_type(schema).is_ok_and(|t| type_coercion::is_text(&t))
}

/// A literal other than 0 and -1.
fn is_number(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let value =
        expr.downcast_ref::<Literal>().map(|literal| literal.value().cast_to(&arrow::datatypes::DataType::Int64));
    matches!(value, Some(Ok(ScalarValue::Int64(Some(number)))) if number != 0 && number != -1)
}

/// The columns that expressions are over.
struct InputSchema<'a>(&'a Schema);

impl InputSchema<'_> {
    fn may_fail(&self, expr: &Arc<dyn PhysicalExpr>) -> bool {
        may_fail(expr, self.0)
    }

    /// Whether such a thing stands in an `and` or `or`.
    fn has_order(&self, expr: &Arc<dyn PhysicalExpr>) -> bool {
        has(expr, |node| connective(node).is_some() && self.may_fail(node))
    }

    /// A filter's predicate, for which null is false.
    fn kept(&self, predicate: &Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        let parts = split_conjunction(predicate).into_iter().map(Arc::clone);
        self.in_order(parts.collect(), Operator::And, |first, rest| choice(first, rest, lit(false)))
    }

    /// An expression in which such things are computed where the other conditions of an `and` or `or` do not decide,
    /// these first.
    fn guarded(&self, expr: &Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        if !self.may_fail(expr) {
            return Ok(Arc::clone(expr));
        }
        if let Some(op) = connective(expr) {
            let mut parts = Vec::new();
            split(expr, op, &mut parts);
            return self.in_order(parts, op, |first, rest| {
                let (decided, result) = match op {
                    Operator::And => (Arc::new(NotExpr::new(Arc::clone(&first))) as Arc<dyn PhysicalExpr>, lit(false)),
                    _ => (Arc::clone(&first), lit(true)),
                };
                choice(decided, result, Arc::new(BinaryExpr::new(first, op, rest)))
            });
        }
        let children = expr.children().into_iter().map(|child| self.guarded(child)).collect::<Result<Vec<_>>>()?;
        Arc::clone(expr).with_new_children(children)
    }

    /// Conditions that hold or do not for any row as one, then the others, each `joined` with those behind it.
    fn in_order(
        &self,
        parts: Vec<Arc<dyn PhysicalExpr>>,
        op: Operator,
        joined: impl Fn(Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let (others, plain): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| self.may_fail(part));
        let plain = plain.into_iter().reduce(|a, b| Arc::new(BinaryExpr::new(a, op, b)));
        let others = others.iter().map(|one| self.guarded(one)).collect::<Result<Vec<_>>>()?;
        let last_first = plain.into_iter().chain(others).rev();
        let whole = last_first.map(Ok).reduce(|rest, first| joined(first?, rest?));
        whole.unwrap_or_else(|| Ok(lit(true)))
    }
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

fn choice(
    when: Arc<dyn PhysicalExpr>,
    then: Arc<dyn PhysicalExpr>,
    otherwise: Arc<dyn PhysicalExpr>,
) -> Result<Arc<dyn PhysicalExpr>> {
    Ok(Arc::new(CaseExpr::try_new(None, vec![(when, then)], Some(otherwise))?))
}
