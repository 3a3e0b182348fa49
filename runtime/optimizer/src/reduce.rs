//! Magic sets (Mumick, Finkelstein, Pirahesh and Ramakrishnan, SIGMOD 1990): groups that a join drops again are not
//! computed. A semi-join reduces the rows of a `GROUP BY` to the keys that the other side of the join can have.
//!
//! `select ... from lineitem join part ... where l_quantity < (select avg(l_quantity) ... where l_partkey = p_partkey)`
//! groups the rows of the parts that are left, not those of all parts.
//!
//! Semi-joins with few keys run before inner joins: `(a join b) semi c on a.x = c.y` is `(a semi c) join b`.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, JoinConstraint, NullEquality};
use datafusion::error::Result;
use datafusion::logical_expr::{Aggregate, Expr, Join, JoinType, LogicalPlan, LogicalPlanBuilder, Volatility};

use crate::sides::{kept, may_swap, rows};

/// Rows for each key from which on the keys are worth a second look at their table.
const ROWS_PER_KEY_TO_REDUCE: f64 = 20.0;
/// The part of its table's rows that an input has left, at most, to be such a list of keys.
const MOST_KEPT_SHARE: f64 = 0.2;
/// Rows for each key from which on a semi-join comes before the joins below it.
const ROWS_PER_KEY_TO_SEMI_JOIN: f64 = 5.0;

/// A plan whose groups are those that joins above them can take.
pub fn chosen(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let mut count = 0;
    plan.transform_down_with_subqueries(|node| {
        let LogicalPlan::Join(join) = &node else { return Ok(Transformed::no(node)) };
        if join.null_equality != NullEquality::NullEqualsNothing || !may_swap(join) {
            return Ok(Transformed::no(node));
        }
        let (from_left, from_right) = match join.join_type {
            JoinType::Inner => (true, true),
            JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti => (true, false),
            JoinType::Right | JoinType::RightSemi | JoinType::RightAnti => (false, true),
            _ => (false, false),
        };
        let mut new = join.clone();
        for (left, right) in &join.on {
            let (Expr::Column(left), Expr::Column(right)) = (left, right) else { continue };
            if from_left && let Some(plan) = reduced(&new.right, right, &join.left, left, &mut count)? {
                new.right = Arc::new(plan);
            }
            if from_right && let Some(plan) = reduced(&new.left, left, &join.right, right, &mut count)? {
                new.left = Arc::new(plan);
            }
        }
        match Arc::ptr_eq(&new.left, &join.left) && Arc::ptr_eq(&new.right, &join.right) {
            true => Ok(Transformed::no(node)),
            false => Ok(Transformed::yes(LogicalPlan::Join(new))),
        }
    })
}

/// A plan whose semi-joins with few keys stand below inner joins.
pub fn semi_joins_first(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    plan.transform_up_with_subqueries(|node| {
        let LogicalPlan::Join(join) = &node else { return Ok(Transformed::no(node)) };
        let plain = join.join_type == JoinType::LeftSemi && join.filter.is_none();
        if !plain || !may_swap(join) || join.null_equality != NullEquality::NullEqualsNothing {
            return Ok(Transformed::no(node));
        }
        match lowered(&join.left, join)? {
            Some(new) => Ok(Transformed::yes(new)),
            None => Ok(Transformed::no(node)),
        }
    })
}

/// A tree of inner joins with the semi-join around one of its inputs.
fn lowered(plan: &LogicalPlan, semi: &Join) -> Result<Option<LogicalPlan>> {
    match plan {
        LogicalPlan::Projection(projection) if projection.expr.iter().all(|expr| matches!(expr, Expr::Column(_))) => {
            let new = lowered(&projection.input, semi)?;
            new.map(|input| plan.with_new_exprs(projection.expr.clone(), vec![input])).transpose()
        }
        LogicalPlan::Join(join) if join.join_type == JoinType::Inner && may_swap(join) => {
            let mut new = join.clone();
            for left in [true, false] {
                let side = if left { &mut new.left } else { &mut new.right };
                let all = |(key, _): &(Expr, Expr)| key.column_refs().iter().all(|c| side.schema().has_column(c));
                if semi.on.iter().all(all) {
                    let input = match lowered(side, semi)? {
                        Some(input) => input,
                        None if is_few(semi, side) => {
                            let mut around = semi.clone();
                            around.left = Arc::clone(side);
                            around.schema = Arc::clone(side.schema());
                            LogicalPlan::Join(around)
                        }
                        None => return Ok(None),
                    };
                    *side = Arc::new(input);
                    return Ok(Some(LogicalPlan::Join(new)));
                }
            }
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// Whether a semi-join leaves few rows of an input.
fn is_few(semi: &Join, input: &LogicalPlan) -> bool {
    rows(&semi.right).zip(rows(input)).is_some_and(|(keys, rows)| keys * ROWS_PER_KEY_TO_SEMI_JOIN < rows)
}

/// A plan with groups by `key`, over the rows whose key `other` has in its column. `None` if that gains nothing.
fn reduced(
    plan: &LogicalPlan,
    key: &Column,
    other: &LogicalPlan,
    column: &Column,
    count: &mut usize,
) -> Result<Option<LogicalPlan>> {
    match plan {
        LogicalPlan::Projection(projection) => {
            let Some(place) = projection.schema.maybe_index_of_column(key) else { return Ok(None) };
            let below = match &projection.expr[place] {
                Expr::Column(column) => column.clone(),
                Expr::Alias(alias) => match alias.expr.as_ref() {
                    Expr::Column(column) => column.clone(),
                    _ => return Ok(None),
                },
                _ => return Ok(None),
            };
            let new = reduced(&projection.input, &below, other, column, count)?;
            new.map(|input| plan.with_new_exprs(projection.expr.clone(), vec![input])).transpose()
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let Some(place) = alias.schema.maybe_index_of_column(key) else { return Ok(None) };
            let Some(below) = alias.input.schema().columns().get(place).cloned() else { return Ok(None) };
            let new = reduced(&alias.input, &below, other, column, count)?;
            new.map(|input| plan.with_new_exprs(Vec::new(), vec![input])).transpose()
        }
        LogicalPlan::Filter(filter) => {
            let new = reduced(&filter.input, key, other, column, count)?;
            new.map(|input| plan.with_new_exprs(vec![filter.predicate.clone()], vec![input])).transpose()
        }
        LogicalPlan::Aggregate(group) => reduced_groups(group, key, other, column, count),
        _ => Ok(None),
    }
}

fn reduced_groups(
    group: &Aggregate,
    key: &Column,
    other: &LogicalPlan,
    column: &Column,
    count: &mut usize,
) -> Result<Option<LogicalPlan>> {
    let is_key = |expr: &&Expr| matches!(expr, Expr::Column(column) if column == key);
    let Some(of_input) = group.group_expr.iter().find(is_key).cloned() else { return Ok(None) };
    // Groups of several sets have keys that are null.
    if group.group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_))) {
        return Ok(None);
    }
    let mut best = None;
    keys(other, column, &mut best);
    let (Some((keys_rows, table, of)), Some(many)) = (best, rows(&group.input)) else { return Ok(None) };
    if many < ROWS_PER_KEY_TO_REDUCE * keys_rows {
        return Ok(None);
    }
    *count += 1;
    let name = format!("keys_{count}");
    let list = LogicalPlanBuilder::new(table).project(vec![Expr::Column(of).alias("key")])?.alias(&name)?.build()?;
    let wanted = Expr::Column(Column::new(Some(name), "key"));
    let semi = Join::try_new(
        Arc::clone(&group.input),
        Arc::new(list),
        vec![(of_input, wanted)],
        None,
        JoinType::LeftSemi,
        JoinConstraint::On,
        NullEquality::NullEqualsNothing,
        false,
    )?;
    let input = Arc::new(LogicalPlan::Join(semi));
    let new = Aggregate::try_new_with_schema(
        input,
        group.group_expr.clone(),
        group.aggr_expr.clone(),
        Arc::clone(&group.schema),
    )?;
    Ok(Some(LogicalPlan::Aggregate(new)))
}

/// The input of a join tree with the fewest rows among those that have all values of a column, with its own column for
/// it.
fn keys(plan: &LogicalPlan, column: &Column, best: &mut Option<(f64, LogicalPlan, Column)>) {
    match plan {
        LogicalPlan::Join(join) => {
            let (left, right) = match join.join_type {
                JoinType::Inner | JoinType::LeftSemi | JoinType::RightSemi => (true, true),
                JoinType::Left | JoinType::LeftAnti => (true, false),
                JoinType::Right | JoinType::RightAnti => (false, true),
                _ => return,
            };
            let mut of_left = join.left.schema().has_column(column).then(|| column.clone());
            let mut of_right = join.right.schema().has_column(column).then(|| column.clone());
            for (l, r) in &join.on {
                if let (Expr::Column(l), Expr::Column(r)) = (l, r) {
                    if left && right && of_left.as_ref() == Some(l) {
                        of_right.get_or_insert_with(|| r.clone());
                    }
                    if left && right && of_right.as_ref() == Some(r) {
                        of_left.get_or_insert_with(|| l.clone());
                    }
                }
            }
            if let (true, Some(column)) = (left, of_left) {
                keys(&join.left, &column, best);
            }
            if let (true, Some(column)) = (right, of_right) {
                keys(&join.right, &column, best);
            }
        }
        LogicalPlan::Projection(projection) => {
            let place = projection.schema.maybe_index_of_column(column);
            if let Some(Expr::Column(column)) = place.and_then(|place| projection.expr.get(place)) {
                keys(&projection.input, column, best);
            }
        }
        LogicalPlan::Filter(filter) if !is_table(&filter.input) => keys(&filter.input, column, best),
        plan if is_table(plan) && kept(plan) <= MOST_KEPT_SHARE => {
            if let Some(rows) = rows(plan).filter(|rows| best.as_ref().is_none_or(|(least, ..)| rows < least)) {
                *best = Some((rows.max(1.0), plan.clone(), column.clone()));
            }
        }
        _ => {}
    }
}

/// Whether a plan only reads and filters a table, so that a second reading costs little and gives the same rows.
fn is_table(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::TableScan(scan) => scan.fetch.is_none() && scan.filters.iter().all(is_stable),
        LogicalPlan::Filter(filter) => is_stable(&filter.predicate) && is_table(&filter.input),
        LogicalPlan::Projection(projection) => {
            projection.expr.iter().all(|expr| matches!(expr, Expr::Column(_))) && is_table(&projection.input)
        }
        LogicalPlan::SubqueryAlias(alias) => is_table(&alias.input),
        _ => false,
    }
}

fn is_stable(expr: &Expr) -> bool {
    use datafusion::common::tree_node::TreeNode;
    let unstable = |expr: &Expr| {
        Ok(match expr {
            Expr::ScalarFunction(call) => call.func.signature().volatility == Volatility::Volatile,
            Expr::ScalarSubquery(_) | Expr::InSubquery(_) | Expr::Exists(_) | Expr::OuterReferenceColumn(..) => true,
            _ => false,
        })
    };
    expr.exists(unstable).is_ok_and(|found| !found)
}
