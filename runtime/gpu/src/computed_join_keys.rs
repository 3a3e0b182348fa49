//! Rewrites joins on computed string keys as joins on columns: a projection on each input appends the keys. A computed
//! string gets a dictionary index only after it is materialised, on both inputs.

use std::any::Any;
use std::sync::Arc;

use datafusion::common::JoinType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::{HashJoinExec, HashJoinExecBuilder};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};

use super::lower::strings::is_text;

type Key = Arc<dyn PhysicalExpr>;

/// The join by columns; none where all keys are columns, or of no text.
pub fn project_join_keys(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let any: &dyn Any = plan.as_ref();
    let Some(join) = any.downcast_ref::<HashJoinExec>().filter(|join| !join.null_aware) else { return Ok(None) };
    let (left, right) = (join.left(), join.right());
    let mut is_computed = Vec::new();
    for (here, there) in join.on() {
        is_computed.push(is_of_text(here, left)? || is_of_text(there, right)?);
    }
    if !is_computed.contains(&true) {
        return Ok(None);
    }
    let keys = |side: fn(&(Key, Key)) -> &Key| -> Vec<&Key> {
        join.on().iter().zip(&is_computed).filter(|(_, computed)| **computed).map(|(pair, _)| side(pair)).collect()
    };
    let (new_left, left_keys) = with_keys(left, &keys(|pair| &pair.0))?;
    let (new_right, right_keys) = with_keys(right, &keys(|pair| &pair.1))?;
    let mut columns = left_keys.into_iter().zip(right_keys);
    let on = join.on().iter().zip(&is_computed).map(|(pair, computed)| match computed {
        true => columns.next().unwrap_or_else(|| pair.clone()),
        false => pair.clone(),
    });
    let on = on.collect();

    // The columns that there were, among those that there are.
    let (kind, width, more) =
        (*join.join_type(), left.schema().fields().len(), is_computed.iter().filter(|c| **c).count());
    let both = matches!(kind, JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full);
    let own = match kind {
        JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => right.schema().fields().len(),
        _ => width,
    };
    let place = |index: usize| match both {
        true if index >= width => index + more,
        // Behind the columns of its side is a mark.
        false if index >= own => index + more,
        _ => index,
    };
    let all = join.join_schema().fields().len();
    let projection = match join.projection.as_deref() {
        Some(projection) => projection.iter().map(|index| place(*index)).collect(),
        None => (0..all).map(place).collect(),
    };
    let made = HashJoinExecBuilder::new(new_left, new_right, on, kind)
        .with_filter(join.filter().cloned())
        .with_projection(Some(projection))
        .with_partition_mode(*join.partition_mode())
        .with_null_equality(join.null_equality())
        .with_fetch(plan.fetch())
        .build()?;
    Ok(Some(Arc::new(made)))
}

/// Whether a key is a computed string, or computed from strings.
fn is_of_text(key: &Key, input: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let any: &dyn Any = key.as_ref();
    if any.is::<Column>() {
        return Ok(false);
    }
    let schema = input.schema();
    let mut reads = is_text(&key.data_type(&schema)?);
    key.apply(|node| {
        let any: &dyn Any = node.as_ref();
        if let Some(column) = any.downcast_ref::<Column>() {
            reads |= is_text(schema.field(column.index()).data_type());
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(reads)
}

/// An input with some keys behind its columns, and these as columns.
fn with_keys(input: &Arc<dyn ExecutionPlan>, keys: &[&Key]) -> Result<(Arc<dyn ExecutionPlan>, Vec<Key>)> {
    let schema = input.schema();
    let mut exprs: Vec<ProjectionExpr> = Vec::new();
    for (index, field) in schema.fields().iter().enumerate() {
        exprs.push(ProjectionExpr { expr: Arc::new(Column::new(field.name(), index)), alias: field.name().clone() });
    }
    let mut columns: Vec<Key> = Vec::new();
    for key in keys {
        let alias = format!("key {}", exprs.len());
        columns.push(Arc::new(Column::new(&alias, exprs.len())));
        exprs.push(ProjectionExpr { expr: Arc::clone(key), alias });
    }
    Ok((Arc::new(ProjectionExec::try_new(exprs, Arc::clone(input))?), columns))
}
