//! Classifies subqueries: those of which DataFusion's rules make correct and fast joins. Also finds the columns that
//! subqueries take from the query around them.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, TableReference};
use datafusion::error::Result;
use datafusion::logical_expr::expr::InSubquery;
use datafusion::logical_expr::utils::{conjunction, split_conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, Join, JoinType, LogicalPlan, LogicalPlanBuilder, Operator, SubqueryAlias,
};

use super::domain::bounds;
use super::{fail, plan_error};

/// A subquery that stands where a table stands, with its name.
pub fn lateral(plan: &LogicalPlan) -> Option<(LogicalPlan, Option<TableReference>)> {
    match plan {
        LogicalPlan::Subquery(subquery) => Some((subquery.subquery.as_ref().clone(), None)),
        LogicalPlan::SubqueryAlias(alias) => match alias.input.as_ref() {
            LogicalPlan::Subquery(subquery) => Some((subquery.subquery.as_ref().clone(), Some(alias.alias.clone()))),
            _ => None,
        },
        _ => None,
    }
}

/// Whether the right side of a join is computed for each row of the left side. The planner marks it where its own nodes
/// take columns, and not where only subqueries in it do.
pub fn is_lateral(join: &Join) -> Result<bool> {
    if lateral(&join.right).is_some() {
        return Ok(true);
    }
    Ok(may_be_lateral(join) && outer_columns(&join.right)?.iter().any(|column| join.left.schema().has_column(column)))
}

pub fn may_be_lateral(join: &Join) -> bool {
    matches!(join.join_type, JoinType::Inner | JoinType::Left)
}

fn subquery_of(expr: &Expr) -> Option<&LogicalPlan> {
    match expr {
        Expr::Exists(it) => Some(&it.subquery.subquery),
        Expr::InSubquery(it) => Some(&it.subquery.subquery),
        Expr::SetComparison(it) => Some(&it.subquery.subquery),
        Expr::ScalarSubquery(it) => Some(&it.subquery),
        _ => None,
    }
}

pub fn has_subquery(expr: &Expr) -> bool {
    // Nothing here can fail.
    expr.exists(|expr| Ok(subquery_of(expr).is_some())).unwrap_or(true)
}

/// The outer references of a plan. References of the subqueries of the plan to its rows are not among them.
pub fn outer_columns(plan: &LogicalPlan) -> Result<Vec<Column>> {
    let mut found: Vec<Column> = Vec::new();
    let mut add = |column: Column| {
        if !found.contains(&column) {
            found.push(column);
        }
    };
    let inputs = plan.inputs();
    plan.apply_expressions(|expr| {
        expr.apply(|expr| {
            if let Expr::OuterReferenceColumn(_, column) = expr {
                add(column.clone());
            } else if let Some(subquery) = subquery_of(expr) {
                let own = |column: &Column| inputs.iter().any(|input| input.schema().has_column(column));
                outer_columns(subquery)?.into_iter().filter(|column| !own(column)).for_each(&mut add);
            }
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    for (index, input) in inputs.iter().enumerate() {
        // The right side of such joins may be lateral.
        let left = match plan {
            LogicalPlan::Join(join) if index == 1 && may_be_lateral(join) => Some(join.left.schema()),
            _ => None,
        };
        let own = |column: &Column| left.is_some_and(|schema| schema.has_column(column));
        outer_columns(input)?.into_iter().filter(|column| !own(column)).for_each(&mut add);
    }
    Ok(found)
}

/// An error if an aggregate of a subquery reads columns of the query around it alone. In SQL it is an aggregate of that
/// query, over its rows; the planner takes it for one of the subquery.
pub fn refuse_outer_aggregates(plan: &LogicalPlan) -> Result<()> {
    let is_outer = |expr: &Expr| -> Result<bool> {
        let Expr::AggregateFunction(function) = expr else { return Ok(false) };
        let (mut outer, mut own) = (false, false);
        for argument in &function.params.args {
            argument.apply(|part| {
                outer |= matches!(part, Expr::OuterReferenceColumn(..));
                own |= matches!(part, Expr::Column(_));
                Ok(TreeNodeRecursion::Continue)
            })?;
        }
        Ok(outer && !own)
    };
    plan.apply(|node| {
        let LogicalPlan::Aggregate(aggregate) = node else { return Ok(TreeNodeRecursion::Continue) };
        for expr in &aggregate.aggr_expr {
            if expr.exists(is_outer)? {
                return fail(
                    plan_error("not-supported", "an aggregate in a subquery has columns of the query around it alone")
                        .note(format!("the aggregate is `{expr}`, which SQL computes over the rows of the outer query"))
                        .help(
                            "compute the aggregate in the query around the subquery: `with t as (select sum(x) ...)`",
                        ),
                );
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// The columns that an expression reads, and those that its subqueries take from the same query.
pub fn columns(expr: &Expr, found: &mut Vec<Column>) -> Result<()> {
    expr.apply(|expr| {
        match (expr, subquery_of(expr)) {
            (Expr::Column(column), _) => found.push(column.clone()),
            (_, Some(subquery)) => found.extend(outer_columns(subquery)?),
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// Whether DataFusion makes a join of each subquery of a filter's condition that gives what the condition means.
/// Subqueries with others in an `or` are marks for it, whose columns may have one name.
pub fn is_left_to_rules(condition: &Expr, schema: &DFSchema) -> bool {
    match condition {
        Expr::Not(inner) => match inner.as_ref() {
            Expr::InSubquery(it) => is_plain_in(it, schema, it.negated),
            Expr::Exists(_) => is_left_to_rules(inner, schema),
            other => has_only_single_values(other, schema),
        },
        Expr::InSubquery(it) => is_plain_in(it, schema, !it.negated),
        Expr::Exists(it) => is_plain(&it.subquery.subquery, schema),
        other => has_only_single_values(other, schema),
    }
}

/// `x in` for every subquery whose conditions come up, `x not in` for those without conditions.
fn is_plain_in(it: &InSubquery, schema: &DFSchema, positive: bool) -> bool {
    let plan = &it.subquery.subquery;
    let alone = outer_columns(plan).is_ok_and(|refs| refs.is_empty());
    // A cast column would have the name of the one that conditions read.
    let of_one_type = || it.expr.get_type(schema).is_ok_and(|dtype| dtype == *plan.schema().field(0).data_type());
    !has_subquery(&it.expr)
        && !it.expr.contains_outer()
        && (alone || (positive && is_plain(plan, schema) && have_names(plan, true) && of_one_type()))
}

fn has_only_single_values(expr: &Expr, schema: &DFSchema) -> bool {
    let other = |expr: &Expr| {
        Ok(match expr {
            Expr::ScalarSubquery(it) => !is_single_of_rules(&it.subquery, schema)?,
            expr => subquery_of(expr).is_some(),
        })
    };
    !expr.exists(other).unwrap_or(true)
}

/// Whether all that a subquery takes from around it stands in filters that can come up, and comes from the query right
/// around it.
fn is_plain(plan: &LogicalPlan, schema: &DFSchema) -> bool {
    is_from(plan, schema)
        && comes_up(plan, &|condition| !has_subquery(condition))
        && !is_renamed(plan)
        && have_names(plan, false)
}

/// Whether the pulled-up columns have different names, also from those of the subquery. The rules put them all below
/// one table's name, and take the first of two.
fn have_names(plan: &LogicalPlan, gives: bool) -> bool {
    let mut columns: Vec<Column> = if gives { plan.schema().columns() } else { Vec::new() };
    let done = plan.apply(|node| {
        let LogicalPlan::Filter(filter) = node else { return Ok(TreeNodeRecursion::Continue) };
        let conditions = split_conjunction(&filter.predicate);
        columns
            .extend(conditions.into_iter().filter(|condition| takes(condition)).flat_map(Expr::column_refs).cloned());
        Ok(TreeNodeRecursion::Continue)
    });
    let differ = |at: usize| columns[..at].iter().all(|other| *other == columns[at] || other.name != columns[at].name);
    done.is_ok() && (0..columns.len()).all(differ)
}

fn is_from(plan: &LogicalPlan, schema: &DFSchema) -> bool {
    outer_columns(plan).is_ok_and(|refs| refs.iter().all(|column| schema.has_column(column)))
}

/// Whether what comes up passes a projection, and above it a name: DataFusion does not give the name the columns that
/// it adds below.
fn is_renamed(plan: &LogicalPlan) -> bool {
    let named = plan.exists(|node| {
        let LogicalPlan::SubqueryAlias(alias) = node else { return Ok(false) };
        let projects = |node: &LogicalPlan| Ok(!matches!(node, LogicalPlan::Filter(_) | LogicalPlan::TableScan(_)));
        Ok(!outer_columns(&alias.input)?.is_empty() && alias.input.exists(projects)?)
    });
    named.unwrap_or(true)
}

fn comes_up(plan: &LogicalPlan, may: &dyn Fn(&Expr) -> bool) -> bool {
    if outer_columns(plan).is_ok_and(|refs| refs.is_empty()) {
        return true;
    }
    match plan {
        LogicalPlan::Filter(filter) => {
            let conditions = split_conjunction(&filter.predicate);
            conditions.into_iter().all(|condition| !takes(condition) || may(condition)) && comes_up(&filter.input, may)
        }
        LogicalPlan::Projection(projection) => !projection.expr.iter().any(takes) && comes_up(&projection.input, may),
        LogicalPlan::SubqueryAlias(alias) => comes_up(&alias.input, may),
        LogicalPlan::Join(join) if join.join_type == JoinType::Inner && lateral(&join.right).is_none() => {
            let on = join.on.iter().any(|(left, right)| takes(left) || takes(right));
            !on && !join.filter.as_ref().is_some_and(takes) && comes_up(&join.left, may) && comes_up(&join.right, may)
        }
        _ => false,
    }
}

/// Whether an expression, or a subquery in it, takes something from around its plan. A subquery's own rows are not
/// looked at: it counts.
fn takes(expr: &Expr) -> bool {
    let other = |expr: &Expr| match subquery_of(expr) {
        Some(plan) => Ok(!outer_columns(plan)?.is_empty()),
        None => Ok(false),
    };
    expr.contains_outer() || expr.exists(other).unwrap_or(true)
}

/// One aggregate of rows that are found by equality, or a subquery that takes nothing and is null where its column may
/// be.
pub fn is_single_of_rules(plan: &LogicalPlan, schema: &DFSchema) -> Result<bool> {
    let refs = outer_columns(plan)?;
    if refs.is_empty() {
        // Without a row it is null, which DataFusion does not say of it.
        return Ok(plan.schema().fields().len() != 1 || plan.schema().field(0).is_nullable() || is_one_row(plan));
    }
    if plan.schema().fields().len() != 1 || !refs.iter().all(|column| schema.has_column(column)) {
        return Ok(false);
    }
    // The rule's join would have two columns of one name, of which one has no table.
    let name = plan.schema().field(0).name();
    if schema.iter().any(|(table, field)| table.is_none() && field.name() == name) || !have_names(plan, true) {
        return Ok(false);
    }
    let mut top = plan;
    loop {
        match top {
            LogicalPlan::Projection(projection) if !projection.expr.iter().any(takes) => top = &projection.input,
            LogicalPlan::Aggregate(group) => {
                let takes = group.aggr_expr.iter().any(takes);
                return Ok(group.group_expr.is_empty() && !takes && comes_up(&group.input, &is_equality));
            }
            _ => return Ok(false),
        }
    }
}

/// Whether it always has one.
fn is_one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => is_one_row(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => is_one_row(&alias.input),
        LogicalPlan::Aggregate(group) => group.group_expr.is_empty(),
        LogicalPlan::EmptyRelation(rows) => rows.produce_one_row,
        _ => false,
    }
}

/// Whether it never has two. DataFusion's own count (`max_rows`) takes rows without columns for none.
pub fn has_one_row_at_most(plan: &LogicalPlan) -> Result<bool> {
    Ok(match plan {
        LogicalPlan::Projection(projection) => has_one_row_at_most(&projection.input)?,
        LogicalPlan::SubqueryAlias(alias) => has_one_row_at_most(&alias.input)?,
        LogicalPlan::Filter(filter) => has_one_row_at_most(&filter.input)?,
        LogicalPlan::Sort(sort) => sort.fetch.is_some_and(|rows| rows <= 1) || has_one_row_at_most(&sort.input)?,
        LogicalPlan::Limit(limit) => {
            let few = bounds(limit)?.is_some_and(|(_, rows)| rows.is_some_and(|rows| rows <= 1));
            few || has_one_row_at_most(&limit.input)?
        }
        LogicalPlan::Aggregate(group) => group.group_expr.is_empty(),
        LogicalPlan::EmptyRelation(_) => true,
        _ => false,
    })
}

fn is_equality(condition: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = condition else { return false };
    let sides = |outer: &Expr, inner: &Expr| {
        outer.contains_outer() && outer.column_refs().is_empty() && !inner.contains_outer() && !has_subquery(outer)
    };
    !has_subquery(condition) && (sides(left, right) || sides(right, left))
}

/// Tables that are computed by rules for each row: aggregates, or rows that are found by conditions that come up.
pub fn is_lateral_of_rules(plan: &LogicalPlan) -> bool {
    have_names(plan, true) && is_aggregate_or_rows(plan)
}

fn is_aggregate_or_rows(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) if !projection.expr.iter().any(takes) => {
            is_aggregate_or_rows(&projection.input)
        }
        LogicalPlan::Aggregate(group) => {
            group.group_expr.is_empty() && !group.aggr_expr.iter().any(takes) && comes_up(&group.input, &is_equality)
        }
        other => comes_up(other, &|condition| !has_subquery(condition)),
    }
}

/// A subquery without the conditions that take something, and these: over the columns of what is left.
pub fn pulled_up(plan: &LogicalPlan, schema: &DFSchema) -> Result<Option<(LogicalPlan, Vec<Expr>)>> {
    if !is_from(plan, schema) || !comes_up(plan, &|condition| !has_subquery(condition)) {
        return Ok(None);
    }
    // Its rows do not matter, only whether there are any.
    let plan = match plan {
        LogicalPlan::Projection(projection) => projection.input.as_ref(),
        plan => plan,
    };
    // Two columns may come to have one name on the way.
    Ok(pull(plan).ok())
}

fn pull(plan: &LogicalPlan) -> Result<(LogicalPlan, Vec<Expr>)> {
    if outer_columns(plan)?.is_empty() {
        return Ok((plan.clone(), Vec::new()));
    }
    match plan {
        LogicalPlan::Filter(filter) => {
            let (input, mut conditions) = pull(&filter.input)?;
            let (up, stay): (Vec<Expr>, Vec<Expr>) =
                split_conjunction_owned(filter.predicate.clone()).into_iter().partition(takes);
            conditions.extend(up);
            let plan = LogicalPlanBuilder::from(input);
            Ok((conjunction(stay).into_iter().try_fold(plan, LogicalPlanBuilder::filter)?.build()?, conditions))
        }
        LogicalPlan::Projection(projection) => {
            let (input, conditions) = pull(&projection.input)?;
            let mut exprs = projection.expr.clone();
            for column in inner_columns(&conditions, input.schema()) {
                let column = Expr::Column(column);
                if !exprs.contains(&column) {
                    exprs.push(column);
                }
            }
            Ok((LogicalPlanBuilder::from(input).project(exprs)?.build()?, conditions))
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let (input, conditions) = pull(&alias.input)?;
            let schema = Arc::clone(input.schema());
            let plan = SubqueryAlias::try_new(Arc::new(input), alias.alias.clone()).map(LogicalPlan::SubqueryAlias)?;
            let renamed = conditions.into_iter().map(|condition| {
                condition.transform_up(|expr| match expr {
                    Expr::Column(column) => {
                        let at = schema.index_of_column(&column)?;
                        Ok(Transformed::yes(Expr::Column(Column::from(plan.schema().qualified_field(at)))))
                    }
                    other => Ok(Transformed::no(other)),
                })
            });
            let renamed = renamed.map(|done| done.map(|done| done.data)).collect::<Result<Vec<Expr>>>()?;
            Ok((plan, renamed))
        }
        LogicalPlan::Join(join) => {
            let ((left, mut conditions), (right, more)) = (pull(&join.left)?, pull(&join.right)?);
            conditions.extend(more);
            let mut join = join.clone();
            (join.left, join.right) = (Arc::new(left), Arc::new(right));
            Ok((LogicalPlan::Join(join).recompute_schema()?, conditions))
        }
        other => Ok((other.clone(), Vec::new())),
    }
}

/// The columns that conditions read of a plan.
pub fn inner_columns(conditions: &[Expr], schema: &DFSchema) -> Vec<Column> {
    let mut found: Vec<Column> = Vec::new();
    for column in conditions.iter().flat_map(|condition| condition.column_refs()) {
        if schema.has_column(column) && !found.contains(column) {
            found.push(column.clone());
        }
    }
    found.sort();
    found
}

/// A condition of a subquery as one of a join: its own columns by their new names, and those from around it as columns.
pub fn as_joined(condition: Expr, name: impl Fn(&Column) -> Option<Column>) -> Result<Expr> {
    let done = condition.transform_up(|expr| {
        Ok(match expr {
            Expr::Column(column) => Transformed::yes(Expr::Column(name(&column).unwrap_or(column))),
            Expr::OuterReferenceColumn(_, column) => Transformed::yes(Expr::Column(column)),
            other => Transformed::no(other),
        })
    })?;
    Ok(done.data)
}

/// An expression as a subquery of the same query reads it.
pub fn as_outer(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let done = expr.transform_up(|expr| match expr {
        Expr::Column(column) => {
            let (_, field) = schema.qualified_field_from_column(&column)?;
            Ok(Transformed::yes(Expr::OuterReferenceColumn(Arc::clone(field), column)))
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(done.data)
}
