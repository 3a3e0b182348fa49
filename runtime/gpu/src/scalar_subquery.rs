//! Queries that stand for one value, such as `x > (select avg(x) from t)`, as joins with their one row. DataFusion runs
//! them first and gives the rest of the plan a value, which a fragment could not read. On the device the value stays a
//! column.

use std::any::Any;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, NullEquality, ScalarValue};
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_expr::scalar_subquery::ScalarSubqueryExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::scalar_subquery::ScalarSubqueryExec;

use super::classify::is_transparent;

/// A query, and what stands for its value.
struct Query {
    plan: Arc<dyn ExecutionPlan>,
    value: Arc<dyn PhysicalExpr>,
}

/// The plan without such queries; nothing where there are none, or they could have several rows, which is an error.
pub fn as_joins(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let any: &dyn Any = plan.as_ref();
    let Some(node) = any.downcast_ref::<ScalarSubqueryExec>() else { return Ok(None) };
    let mut queries = Vec::new();
    for link in node.subqueries() {
        if !has_one_row(&link.plan) {
            return Ok(None);
        }
        let dtype = link.plan.schema().field(0).data_type().clone();
        let value = Arc::new(ScalarSubqueryExpr::new(dtype, true, link.index, node.results().clone()));
        queries.push(Query { plan: Arc::clone(&link.plan), value });
    }
    let joined = Arc::clone(node.input()).transform_up(|plan| {
        let with = with_rows(&plan, &queries)?;
        Ok(with.map_or_else(|| Transformed::no(plan), Transformed::yes))
    })?;
    // Nodes of other kinds read values, too.
    Ok(if has_values(&joined.data)? { None } else { Some(joined.data) })
}

fn has_one_row(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let any: &dyn Any = plan.as_ref();
    if let Some(aggregate) = any.downcast_ref::<AggregateExec>() {
        return aggregate.group_expr().expr().is_empty() && *aggregate.mode() != AggregateMode::Partial;
    }
    match plan.children()[..] {
        [below] if any.is::<ProjectionExec>() || is_transparent(plan) => has_one_row(below),
        _ => false,
    }
}

fn has_values(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let mut found = false;
    plan.apply(|node| {
        node.apply_expressions(&mut |expr| {
            found |= expr.exists(|expr| {
                let any: &dyn Any = expr.as_ref();
                Ok(any.is::<ScalarSubqueryExpr>())
            })?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

/// A filter or projection that reads values, over its input joined with the rows of these.
fn with_rows(plan: &Arc<dyn ExecutionPlan>, queries: &[Query]) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let any: &dyn Any = plan.as_ref();
    if let Some(filter) = any.downcast_ref::<FilterExec>().filter(|_| plan.fetch().is_none()) {
        let Some((below, exprs)) = joined(filter.input(), &[Arc::clone(filter.predicate())], queries)? else {
            return Ok(None);
        };
        let schema = filter.input().schema();
        let filtered = Arc::new(FilterExec::try_new(Arc::clone(&exprs[0]), below)?);
        let kept: Vec<usize> = match filter.projection() {
            Some(kept) => kept.to_vec(),
            None => (0..schema.fields().len()).collect(),
        };
        let columns = kept.into_iter().map(|index| {
            let name = schema.field(index).name();
            ProjectionExpr { expr: Arc::new(Column::new(name, index)), alias: name.clone() }
        });
        return Ok(Some(Arc::new(ProjectionExec::try_new(columns.collect::<Vec<_>>(), filtered)?)));
    }
    let Some(projection) = any.downcast_ref::<ProjectionExec>() else { return Ok(None) };
    let exprs: Vec<_> = projection.expr().iter().map(|item| Arc::clone(&item.expr)).collect();
    let Some((below, exprs)) = joined(projection.input(), &exprs, queries)? else { return Ok(None) };
    let named = exprs.into_iter().zip(projection.expr());
    let exprs: Vec<_> = named.map(|(expr, item)| ProjectionExpr { expr, alias: item.alias.clone() }).collect();
    Ok(Some(Arc::new(ProjectionExec::try_new(exprs, below)?)))
}

type JoinedInput = (Arc<dyn ExecutionPlan>, Vec<Arc<dyn PhysicalExpr>>);

/// An input with the values that expressions read as its last columns, and the expressions with these; nothing if they
/// read none.
fn joined(
    input: &Arc<dyn ExecutionPlan>,
    exprs: &[Arc<dyn PhysicalExpr>],
    queries: &[Query],
) -> Result<Option<JoinedInput>> {
    let mut below = Arc::clone(input);
    let mut exprs = exprs.to_vec();
    let mut changed = false;
    for query in queries {
        let column: Arc<dyn PhysicalExpr> =
            Arc::new(Column::new(query.plan.schema().field(0).name(), below.schema().fields().len()));
        let mut read = false;
        for expr in &mut exprs {
            let new = Arc::clone(expr).transform_up(|expr| {
                Ok(if expr.as_ref().eq(query.value.as_ref()) {
                    Transformed::yes(Arc::clone(&column))
                } else {
                    Transformed::no(expr)
                })
            })?;
            read |= new.transformed;
            *expr = new.data;
        }
        if !read {
            continue;
        }
        changed = true;
        // All rows find the one row, and keep their order.
        let same = || -> Arc<dyn PhysicalExpr> { Arc::new(Literal::new(ScalarValue::Int32(Some(0)))) };
        let columns = 1..=below.schema().fields().len();
        below = Arc::new(HashJoinExec::try_new(
            Arc::clone(&query.plan),
            below,
            vec![(same(), same())],
            None,
            &JoinType::Right,
            Some(columns.chain([0]).collect()),
            PartitionMode::CollectLeft,
            NullEquality::NullEqualsNothing,
            false,
        )?);
    }
    Ok(changed.then_some((below, exprs)))
}
