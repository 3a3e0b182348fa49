//! The build side of a hash join is the one with fewer rows, as far as these can be estimated. DataFusion hashes the
//! left side.
//!
//! Joins of frames are left alone: their rows come in the order of the side that is probed, which
//! `runtime/logical/src/ops/join.rs` chooses.

use std::any::Any;

use datafusion::common::Column;
use datafusion::common::tree_node::Transformed;
use datafusion::datasource::source_as_provider;
use datafusion::error::Result;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, FetchType, Join, JoinType, LogicalPlan, Operator, Projection, SkipType};
use onrush_expr::diagnostics::HIDDEN;
use onrush_logical::mem_table::HeldTable;

/// How many times more rows the hashed side must have before sides are exchanged: estimates are rough.
const LEAST_RATIO_TO_SWAP: f64 = 1.5;

/// A plan whose joins hash their smaller sides.
pub fn chosen(plan: LogicalPlan) -> Result<LogicalPlan> {
    let swapped = plan.transform_up_with_subqueries(|node| {
        let LogicalPlan::Join(join) = &node else { return Ok(Transformed::no(node)) };
        if !may_swap(join) {
            return Ok(Transformed::no(node));
        }
        let (Some(left), Some(right)) = (rows(&join.left), rows(&join.right)) else { return Ok(Transformed::no(node)) };
        if left <= LEAST_RATIO_TO_SWAP * right {
            return Ok(Transformed::no(node));
        }
        let LogicalPlan::Join(join) = node else { return Ok(Transformed::no(node)) };
        let columns: Vec<Expr> = join.schema.columns().into_iter().map(Expr::Column).collect();
        let on = join.on.into_iter().map(|(left, right)| (right, left)).collect();
        let kind = join.join_type.swap();
        let new = Join::try_new(
            join.right,
            join.left,
            on,
            join.filter,
            kind,
            join.join_constraint,
            join.null_equality,
            join.null_aware,
        )?;
        let new = LogicalPlan::Join(new);
        // The columns of pairs come in another order.
        let pairs = matches!(kind, JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full);
        Ok(Transformed::yes(match pairs {
            true => LogicalPlan::Projection(Projection::try_new(columns, new.into())?),
            false => new,
        }))
    })?;
    Ok(swapped.data)
}

/// Whether no frame relies on the order of a join's rows.
pub fn may_swap(join: &Join) -> bool {
    let kinds = [
        JoinType::Inner,
        JoinType::Left,
        JoinType::Right,
        JoinType::Full,
        JoinType::LeftSemi,
        JoinType::RightSemi,
        JoinType::LeftAnti,
        JoinType::RightAnti,
    ];
    let hidden = |column: &&Column| column.name.starts_with(HIDDEN);
    let of_frames = |expr: &Expr| expr.column_refs().iter().any(hidden);
    kinds.contains(&join.join_type)
        && !join.on.is_empty()
        && !join.null_aware
        && !join.on.iter().any(|(left, right)| of_frames(left) || of_frames(right))
}

/// The rows of a plan, about. `None` if nothing is known of its sources.
pub fn rows(plan: &LogicalPlan) -> Option<f64> {
    Some(match plan {
        LogicalPlan::TableScan(scan) => {
            let provider = source_as_provider(&scan.source).ok()?;
            let any: &dyn Any = provider.as_ref();
            let rows = any.downcast_ref::<HeldTable>()?.0.rows() as f64;
            let kept = scan.filters.iter().fold(rows, |rows, filter| rows * share(filter));
            scan.fetch.map_or(kept, |fetch| kept.min(fetch as f64))
        }
        LogicalPlan::Filter(filter) => {
            let below = rows(&filter.input)?;
            split_conjunction(&filter.predicate).into_iter().fold(below, |rows, part| rows * share(part))
        }
        LogicalPlan::Projection(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Window(_)
        | LogicalPlan::Repartition(_) => rows(plan.inputs().first()?)?,
        LogicalPlan::Sort(sort) => {
            let below = rows(&sort.input)?;
            sort.fetch.map_or(below, |fetch| below.min(fetch as f64))
        }
        LogicalPlan::Limit(limit) => {
            let below = rows(&limit.input)?;
            match (limit.get_fetch_type().ok()?, limit.get_skip_type().ok()?) {
                (FetchType::Literal(Some(fetch)), SkipType::Literal(_)) => below.min(fetch as f64),
                _ => below,
            }
        }
        LogicalPlan::Aggregate(group) if group.group_expr.is_empty() => 1.0,
        // As many groups as rows have been seen more than once.
        LogicalPlan::Aggregate(group) => rows(&group.input)?.powf(0.8),
        LogicalPlan::Distinct(_) => rows(plan.inputs().first()?)?.powf(0.9),
        LogicalPlan::Union(union) => union.inputs.iter().map(|input| rows(input)).sum::<Option<f64>>()?,
        LogicalPlan::Values(values) => values.values.len() as f64,
        LogicalPlan::EmptyRelation(empty) => f64::from(u8::from(empty.produce_one_row)),
        LogicalPlan::Join(join) => {
            let (left, right) = (rows(&join.left)?, rows(&join.right)?);
            match join.join_type {
                // A key of the other side has a few rows of this one.
                JoinType::LeftSemi => (left * 0.5).min(right * 2.0),
                JoinType::RightSemi => (right * 0.5).min(left * 2.0),
                JoinType::LeftAnti => left * 0.5,
                JoinType::RightAnti => right * 0.5,
                JoinType::LeftMark => left,
                JoinType::RightMark => right,
                _ if join.on.is_empty() => left * right,
                // A key of one side, mostly: the rows of a filtered side leave as many out of the other.
                _ => left.max(right) * kept(&join.left).min(kept(&join.right)).max(0.01),
            }
        }
        _ => return None,
    })
}

/// The share of its sources' rows that a side of a join has left: what joins with it loses as much.
pub fn kept(plan: &LogicalPlan) -> f64 {
    match plan {
        LogicalPlan::TableScan(scan) => scan.filters.iter().map(share).product(),
        LogicalPlan::Filter(filter) => {
            kept(&filter.input) * split_conjunction(&filter.predicate).into_iter().map(share).product::<f64>()
        }
        LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) | LogicalPlan::Sort(_) => {
            plan.inputs().first().map_or(1.0, |input| kept(input))
        }
        _ => 1.0,
    }
}

/// The share of rows that a condition leaves, about.
fn share(condition: &Expr) -> f64 {
    match condition {
        Expr::BinaryExpr(binary) => match binary.op {
            Operator::Eq => 0.05,
            Operator::Or => (share(&binary.left) + share(&binary.right)).min(1.0),
            Operator::And => share(&binary.left) * share(&binary.right),
            Operator::NotEq => 0.9,
            _ => 0.35,
        },
        Expr::InList(list) if !list.negated => (0.05 * list.list.len() as f64).min(0.5),
        Expr::Like(like) if !like.negated => 0.1,
        Expr::Between(_) => 0.2,
        Expr::IsNotNull(_) => 1.0,
        Expr::IsNull(_) => 0.1,
        _ => 0.5,
    }
}
