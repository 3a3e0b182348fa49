//! Questions about plans and their expressions that SQL and the optimizer both ask.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan};

/// Whether an expression is a column, under whatever name.
pub fn is_column(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => is_column(&alias.expr),
        expr => matches!(expr, Expr::Column(_)),
    }
}

/// Whether expressions of a plan hold other plans.
pub fn has_subqueries(plan: &LogicalPlan) -> bool {
    let is_one = |expr: &Expr| {
        Ok(matches!(expr, Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_) | Expr::ScalarSubquery(_)))
    };
    let has = |node: &LogicalPlan| {
        let mut found = false;
        node.apply_expressions(|expr| {
            found = expr.exists(is_one)?;
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        Ok(found)
    };
    // Nothing here can fail.
    plan.exists(has).unwrap_or(true)
}
