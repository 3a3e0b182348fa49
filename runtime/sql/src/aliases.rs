//! Unique names of computed columns.
//!
//! DataFusion names an expression by its source without casts: `select a, a::int` would have two columns `a`, and
//! `select sum(a), sum(a::double)` two columns of one name, which is an error.

use std::any::Any;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::internal_err;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr as PlanExpr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, GroupByExpr, Ident, Select, SelectItem, Statement};

use super::syntax;
use super::walk::{Rewriter, Walk, each, walk};

/// Stands around an expression while a query is planned, with the text that tells it from others.
pub const APART: &str = "__onrush_apart";

/// Gives columns that are calculated and have no name their text as one.
pub fn title(statement: &mut Statement) {
    let _ = walk(statement, &mut Titles);
}

struct Titles;

impl Rewriter for Titles {
    fn pre_visit_select(&mut self, select: &mut Select) -> Walk {
        let mut taken: Vec<String> = Vec::new();
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) = item
                && !matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
            {
                let text = expr.to_string().replace('"', "");
                if !taken.contains(&text) {
                    let alias = Ident::with_quote('"', text.clone());
                    *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
                    taken.push(text);
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Casts get names if two expressions of a query would have one name. [`without`] takes them off again.
pub fn tell_apart(statement: &mut Statement) {
    let _ = walk(statement, &mut Apart);
}

struct Apart;

impl Rewriter for Apart {
    fn post_visit_select(&mut self, select: &mut Select) -> Walk {
        let mut names: HashMap<String, String> = HashMap::new();
        let mut collide = false;
        let mut see = |expr: &Expr| {
            let full = expr.to_string();
            let mut short = expr.clone();
            let _ = each(&mut short, &mut |e| {
                match e {
                    Expr::Cast { expr, .. } => *e = expr.as_ref().clone(),
                    Expr::BinaryOp { op: op @ BinaryOperator::DuckIntegerDivide, .. } => *op = BinaryOperator::Divide,
                    _ => {}
                }
                ControlFlow::Continue(())
            });
            collide |= names.entry(short.to_string()).or_insert_with(|| full.clone()) != &full;
        };
        let mut parts: Vec<Expr> = Vec::new();
        for item in &select.projection {
            if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
                parts.push(expr.clone());
            }
        }
        if let GroupByExpr::Expressions(keys, _) = &select.group_by {
            parts.extend(keys.iter().cloned());
        }
        parts.extend(select.having.iter().cloned());
        for part in &mut parts {
            see(part);
            let _ = each(part, &mut |e| {
                if let Expr::Function(_) = e {
                    see(e);
                }
                ControlFlow::Continue(())
            });
        }
        if collide {
            let items = select.projection.iter_mut().filter_map(|item| match item {
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
                _ => None,
            });
            let keys: Vec<&mut Expr> = match &mut select.group_by {
                GroupByExpr::Expressions(keys, _) => keys.iter_mut().collect(),
                _ => Vec::new(),
            };
            items.chain(keys).chain(&mut select.having).for_each(name_casts);
        }
        ControlFlow::Continue(())
    }
}

fn name_casts(expr: &mut Expr) {
    let _ = each(expr, &mut |e| {
        if matches!(e, Expr::Cast { .. } | Expr::BinaryOp { op: BinaryOperator::DuckIntegerDivide, .. }) {
            let text = e.to_string();
            let call = format!("{APART}({text}, '{}')", text.replace('\'', "''"));
            // A name that cannot be parsed stays as it is.
            if let Ok(call) = syntax::expression(&call) {
                *e = call;
            }
        }
        ControlFlow::Continue(())
    });
}

pub fn function() -> Arc<ScalarUDF> {
    static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        let signature = Signature::any(2, Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(AsItIs { signature }))
    });
    Arc::clone(&FUNCTION)
}

/// Whether a function is [`function`].
pub fn is_apart(function: &ScalarUDF) -> bool {
    let inner: &dyn Any = function.inner().as_ref();
    inner.is::<AsItIs>()
}

/// The expression in the call of [`function`].
pub fn without(expr: &PlanExpr) -> Option<&PlanExpr> {
    match expr {
        PlanExpr::ScalarFunction(f) if f.func.name() == APART => f.args.first(),
        _ => None,
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct AsItIs {
    signature: Signature,
}

impl ScalarUDFImpl for AsItIs {
    fn name(&self) -> &str {
        APART
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        types.first().map_or_else(|| internal_err!("{APART} without an argument"), |t| Ok(t.clone()))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        args.arg_fields.first().map_or_else(|| internal_err!("{APART} without an argument"), |f| Ok(Arc::clone(f)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        args.args.into_iter().next().map_or_else(|| internal_err!("{APART} without an argument"), Ok)
    }
}
