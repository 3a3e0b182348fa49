//! Collations: each is a key function that is applied to all operands of a comparison, a pattern, a search or an order.
//!
//! An operand has a collation if COLLATE stands at it. Collations of columns and of results of functions are not passed
//! on.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments,
    GroupByExpr, Ident, Query, Select, SelectItem, SetExpr, Value, WindowType,
};

use super::ast::{call, take};
use super::name_resolution::parsed;
use super::walk::each;

/// The use of a key: a comparison of whole strings, or a search of letters, for which languages have no key.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    Comparison,
    Search,
}

fn collation_of(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Collate { collation, .. } => Some(collation.to_string()),
        Expr::Nested(inner) => collation_of(inner),
        _ => None,
    }
}

/// An operand without its COLLATE.
fn bare(expr: Expr) -> Expr {
    match expr {
        Expr::Collate { expr, .. } => *expr,
        Expr::Nested(inner) if collation_of(&inner).is_some() => bare(*inner),
        other => other,
    }
}

/// A name of a language of ICU, such as `de` or `en_us`.
fn is_language(part: &str) -> bool {
    let mut words = part.split('_');
    let is_word = |word: &str, least: usize| {
        (least..=3).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_alphabetic())
    };
    !matches!(part, "nfc") && words.next().is_some_and(|word| is_word(word, 2)) && words.all(|word| is_word(word, 2))
}

/// The calls that make the key of a collation, the innermost first.
fn functions(collation: &str, purpose: Use) -> Vec<&'static str> {
    let part = |part: &str| match part {
        "nocase" => Some("lower"),
        "noaccent" | "icu_noaccent" => Some("strip_accents"),
        "nfc" => Some("composed_letters"),
        language if is_language(language) && purpose == Use::Comparison => Some("collation_key"),
        _ => None,
    };
    let name = collation.replace('"', "").to_lowercase();
    let mut functions: Vec<&str> = name.split('.').filter_map(part).collect();
    // The levels of a language's key stay as they are.
    functions.sort_by_key(|function| *function == "collation_key");
    functions
}

fn key(expr: &mut Expr, functions: &[&str]) {
    let operand = bare(take(expr));
    *expr = functions.iter().fold(operand, |of, function| call(function, vec![of]));
}

/// Operands of which one has a collation, with the keys of the first one.
fn meet(operands: &mut [&mut Expr], purpose: Use) {
    let Some(collation) = operands.iter().find_map(|expr| collation_of(expr)) else { return };
    let functions = functions(&collation, purpose);
    operands.iter_mut().for_each(|expr| key(expr, &functions));
}

/// One key of an order, a partition or a group.
pub fn sorted(expr: &mut Expr) {
    meet(&mut [expr], Use::Comparison);
}

/// Puts keys at the operands of an expression that compares, searches or orders strings.
pub fn applied(expr: &mut Expr) {
    match expr {
        Expr::BinaryOp { left, op, right } if compares(op) => meet(&mut [left, right], Use::Comparison),
        Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
            meet(&mut [left, right], Use::Comparison);
        }
        Expr::Between { expr, low, high, .. } => meet(&mut [expr, low, high], Use::Comparison),
        Expr::InList { expr, list, .. } => {
            let operands = std::iter::once(expr.as_mut()).chain(list);
            meet(&mut operands.collect::<Vec<_>>(), Use::Comparison);
        }
        Expr::InSubquery { expr, subquery, .. } => {
            if let Some(item) = only_item(subquery) {
                meet(&mut [expr, item], Use::Comparison);
            }
        }
        Expr::Like { expr, pattern, escape_char, .. } | Expr::ILike { expr, pattern, escape_char, .. } => {
            if collation_of(expr).or_else(|| collation_of(pattern)).is_some() && escape_char.is_none() {
                escaped(pattern);
            }
            meet(&mut [expr, pattern], Use::Search);
        }
        Expr::Position { expr, r#in } => meet(&mut [expr, r#in], Use::Search),
        Expr::Function(function) => of_function(function),
        _ => {}
    }
}

/// Escapes the backslashes of a pattern: `functions.rs` does so for literals alone, and a key is not a literal.
fn escaped(pattern: &mut Expr) {
    match pattern {
        Expr::Collate { expr, .. } | Expr::Nested(expr) => escaped(expr),
        Expr::Value(value) => {
            if let Value::SingleQuotedString(text) = &mut value.value {
                *text = text.replace('\\', "\\\\");
            }
        }
        _ => {}
    }
}

fn compares(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

/// The only column of a subquery that is one SELECT.
fn only_item(query: &mut Query) -> Option<&mut Expr> {
    let SetExpr::Select(select) = query.body.as_mut() else { return None };
    match select.projection.as_mut_slice() {
        [SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }] => Some(expr),
        _ => None,
    }
}

fn of_function(function: &mut Function) {
    if let Some(WindowType::WindowSpec(window)) = &mut function.over {
        window.partition_by.iter_mut().for_each(sorted);
        window.order_by.iter_mut().for_each(|key| sorted(&mut key.expr));
    }
    function.within_group.iter_mut().for_each(|key| sorted(&mut key.expr));
    let name = function.name.to_string().to_lowercase();
    let FunctionArguments::List(list) = &mut function.args else { return };
    for clause in &mut list.clauses {
        if let FunctionArgumentClause::OrderBy(keys) = clause {
            keys.iter_mut().for_each(|key| sorted(&mut key.expr));
            // A key that comes again orders nothing, and DataFusion loses count of it.
            let mut seen: Vec<Expr> = Vec::new();
            keys.retain(|key| {
                let is_new = !seen.contains(&key.expr);
                seen.push(key.expr.clone());
                is_new
            });
        }
    }
    let args = list.args.iter_mut().filter_map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    });
    let mut args: Vec<&mut Expr> = args.collect();
    let [first, second] = args.as_mut_slice() else { return };
    match name.as_str() {
        "contains" | "list_contains" | "array_contains" | "list_has" | "array_has" | "list_position"
        | "array_position" | "list_indexof" | "array_indexof"
            if name != "contains" || matches!(first, Expr::Array(_)) =>
        {
            in_list(first, second);
        }
        "contains" | "starts_with" | "strpos" | "instr" => meet(&mut [first, second], Use::Search),
        _ => {}
    }
}

/// A search in a list, by the keys of its elements.
fn in_list(list: &mut Expr, element: &mut Expr) {
    let Some(collation) = collation_of(element) else { return };
    let functions = functions(&collation, Use::Comparison);
    key(element, &functions);
    let mut item = Expr::Identifier(Ident::new("collated_item"));
    key(&mut item, &functions);
    if let Some(keys) = parsed(&format!("list_transform({list}, lambda collated_item: {item})")) {
        *list = keys;
    }
}

/// The groups of a SELECT by their keys. An item that is the expression of a group shows one of its strings.
pub fn grouped(select: &mut Select) {
    let GroupByExpr::Expressions(keys, _) = &mut select.group_by else { return };
    let collated: Vec<Expr> = keys.iter().filter(|key| collation_of(key).is_some()).cloned().collect();
    if collated.is_empty() {
        return;
    }
    keys.iter_mut().for_each(sorted);
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) = item
            && collated.contains(expr)
        {
            let column = bare(expr.clone());
            if let Expr::Identifier(name) = &column {
                let (alias, expr) = (name.clone(), expr.clone());
                *item = SelectItem::ExprWithAlias { expr, alias };
            }
        }
        let shown = each(item, &mut |expr| {
            if collated.contains(expr) {
                *expr = call("first", vec![bare(expr.clone())]);
            }
            std::ops::ControlFlow::Continue(())
        });
        debug_assert!(shown.is_continue());
    }
}
