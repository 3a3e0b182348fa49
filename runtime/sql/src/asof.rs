//! `ASOF JOIN`: a join by `__onrush_asof(a.k = b.k and a.t >= b.t)`, which `desugar.rs` writes, as an as-of join of
//! frames.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, JoinSide, JoinType};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::utils::{conjunction, split_conjunction};
use datafusion::logical_expr::{
    BinaryExpr, Expr, Join, LogicalPlan, LogicalPlanBuilder, Operator, ScalarUDF, lit, when,
};
use onrush_expr::diagnostics::plan_error;
use onrush_expr::error::{diagnose, external};
use onrush_expr::scalar_udf::{error, kernel_by_types};
use onrush_logical::ops::{asof, project_exprs};
use onrush_wire::plan::{Asof, AsofStrategy};
use onrush_wire::{Diagnostic, Expr as WireExpr};

use super::desugar::ASOF;

/// The function around a condition. It is never called.
pub fn function() -> ScalarUDF {
    kernel_by_types(ASOF, |_| Ok(DataType::Boolean), |_| Err(error("the condition of an ASOF JOIN stands alone")))
}

/// The plan with its as-of joins.
///
/// # Errors
/// A condition that is not one of an as-of join.
pub fn joined(plan: LogicalPlan) -> Result<LogicalPlan, Diagnostic> {
    let new = plan.transform_up(|node| match &node {
        LogicalPlan::Join(join) => match condition(join) {
            Some(of) => Ok(Transformed::yes(planned(join, of).map_err(external)?)),
            None => Ok(Transformed::no(node)),
        },
        _ => Ok(Transformed::no(node)),
    });
    new.map(|new| new.data).map_err(diagnose)
}

fn condition(join: &Join) -> Option<&Expr> {
    match join.filter.as_ref()? {
        Expr::ScalarFunction(ScalarFunction { func, args }) if func.name() == ASOF => args.first(),
        _ => None,
    }
}

/// The table whose columns alone a condition has.
fn only_of(join: &Join, condition: &Expr) -> Option<JoinSide> {
    let columns = condition.column_refs();
    let is_of =
        |plan: &LogicalPlan| !columns.is_empty() && columns.iter().all(|column| plan.schema().has_column(column));
    match (is_of(&join.left), is_of(&join.right)) {
        (true, false) => Some(JoinSide::Left),
        (false, true) => Some(JoinSide::Right),
        _ => None,
    }
}

/// A comparison with the left table on its left.
fn sided<'a>(join: &Join, comparison: &'a BinaryExpr) -> Result<(&'a Expr, Operator, &'a Expr), Diagnostic> {
    let is_of = |expr: &Expr, plan: &LogicalPlan| {
        let columns = expr.column_refs();
        !columns.is_empty() && columns.iter().all(|column| plan.schema().has_column(column))
    };
    let (left, right) = (comparison.left.as_ref(), comparison.right.as_ref());
    if is_of(left, &join.left) && is_of(right, &join.right) {
        return Ok((left, comparison.op, right));
    }
    match comparison.op.swap() {
        Some(op) if is_of(right, &join.left) && is_of(left, &join.right) => Ok((right, op, left)),
        _ => Err(plan_error("argument", format!("`{comparison}` does not compare the two tables of the ASOF JOIN"))),
    }
}

fn planned(join: &Join, of: &Expr) -> Result<LogicalPlan, Diagnostic> {
    if !matches!(join.join_type, JoinType::Inner | JoinType::Left) {
        let message = format!("an ASOF JOIN is inner or left, not {}", join.join_type);
        return Err(plan_error("not-supported", message).help("exchange the two tables"));
    }
    let (mut near, mut equal) = (Vec::new(), Vec::new());
    // Conditions on one side alone.
    let (mut of_left, mut of_right) = (Vec::new(), Vec::new());
    for part in split_conjunction(of) {
        if let Some(side) = only_of(join, part) {
            if side == JoinSide::Left { &mut of_left } else { &mut of_right }.push(part.clone());
            continue;
        }
        let Expr::BinaryExpr(comparison) = part else {
            return Err(plan_error("argument", format!("`{part}` is not a comparison of an ASOF JOIN")));
        };
        let (left, op, right) = sided(join, comparison)?;
        match op {
            Operator::Eq => equal.push((left.clone(), right.clone())),
            Operator::Gt | Operator::GtEq | Operator::Lt | Operator::LtEq => {
                near.push((left.clone(), op, right.clone()))
            }
            _ => return Err(plan_error("argument", format!("`{part}` is not a comparison of an ASOF JOIN"))),
        }
    }
    let [(left_on, op, right_on)] = near.as_slice() else {
        let message = format!("an ASOF JOIN has one condition with <, <=, > or >=, not {}", near.len());
        return Err(plan_error("argument", message).help("such as `ON a.key = b.key AND a.time >= b.time`"));
    };
    // All columns get names of ours here, and their own ones in the end.
    let name = |side: &str, index: usize| format!("{side}_{index}");
    let side = |plan: &Arc<LogicalPlan>, side: &str, keys: Vec<&Expr>| {
        let columns = plan.schema().columns().into_iter().enumerate();
        let mut exprs: Vec<Expr> = columns.map(|(i, column)| Expr::Column(column).alias(name(side, i))).collect();
        let keys = keys.into_iter().enumerate();
        exprs.extend(keys.map(|(i, key)| key.clone().alias(name(&format!("{side}key"), i))));
        if side == "right" {
            exprs.push(lit(true).alias("matched"));
        }
        project_exprs(plan.as_ref().clone(), exprs)
    };
    // A row of the left table that does not fulfil its conditions has no time, and no match.
    let left_on = match conjunction(of_left) {
        Some(condition) => when(condition, left_on.clone()).end().map_err(diagnose)?,
        None => left_on.clone(),
    };
    let rows_right = match conjunction(of_right) {
        Some(condition) => {
            let filtered = LogicalPlanBuilder::new_from_arc(Arc::clone(&join.right)).filter(condition);
            Arc::new(filtered.and_then(LogicalPlanBuilder::build).map_err(diagnose)?)
        }
        None => Arc::clone(&join.right),
    };
    let left = side(&join.left, "left", std::iter::once(&left_on).chain(equal.iter().map(|(l, _)| l)).collect())?;
    let right = side(&rows_right, "right", std::iter::once(right_on).chain(equal.iter().map(|(_, r)| r)).collect())?;
    let key = |side: &str, index: usize| WireExpr::column(name(&format!("{side}key"), index));
    let with = Asof {
        left_on: key("left", 0),
        right_on: key("right", 0),
        left_by: (1..=equal.len()).map(|i| key("left", i)).collect(),
        right_by: (1..=equal.len()).map(|i| key("right", i)).collect(),
        strategy: if matches!(op, Operator::Gt | Operator::GtEq) {
            AsofStrategy::Backward
        } else {
            AsofStrategy::Forward
        },
        tolerance: None,
        exact: matches!(op, Operator::GtEq | Operator::LtEq),
        suffix: "_right".to_string(),
    };
    let mut plan = asof::join(left, right, &with, None)?;
    if join.join_type == JoinType::Inner {
        let matched = Expr::Column(Column::from_name("matched")).is_not_null();
        plan = LogicalPlanBuilder::new(plan).filter(matched).and_then(|b| b.build()).map_err(diagnose)?;
    }
    let columns = |plan: &LogicalPlan, side: &str| -> Vec<Expr> {
        let fields = plan.schema().iter().enumerate();
        let named = fields.map(|(index, (qualifier, field))| {
            Expr::Column(Column::from_name(name(side, index))).alias_qualified(qualifier.cloned(), field.name())
        });
        named.collect()
    };
    let all = [columns(&join.left, "left"), columns(&join.right, "right")].concat();
    let built = LogicalPlanBuilder::new(plan).project(all).and_then(|builder| builder.build());
    built.map_err(|e: DataFusionError| diagnose(e))
}
