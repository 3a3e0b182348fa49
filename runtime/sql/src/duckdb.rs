//! Operators, calls and types of DuckDB in the words of the planner and of `library.rs`.
//!
//! Each is one expression in the place of another, whatever the types of its arguments are.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, CastKind, DataType, ExactNumberInfo, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentClause, FunctionArguments, Ident, LambdaSyntax, LimitClause, ObjectName, OrderByExpr, OrderByKind,
    Query, Select, Statement, Subscript, UnaryOperator, Value,
};
use onrush_expr::diagnostics::plan_error;
use onrush_wire::Diagnostic;

use super::ast::{call, take};
use super::collations;
mod json;

use super::library;
use super::name_resolution::parsed;
use super::walk::{Rewriter, Walk, walk};

/// Calls in other words, before their arguments are looked at. Marks the lambdas that functions of lists take: other
/// arrows are parts of JSON.
///
/// # Errors
/// A FETCH FIRST that is not a number of rows.
pub fn calls(statement: &mut Statement) -> Result<(), Diagnostic> {
    match walk(statement, &mut Calls) {
        ControlFlow::Break(diagnostic) => Err(diagnostic),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Calls;

impl Rewriter for Calls {
    fn pre_visit_query(&mut self, query: &mut Query) -> Walk {
        if let Err(diagnostic) = limited(query) {
            return ControlFlow::Break(diagnostic);
        }
        if let Some(order) = &mut query.order_by
            && let OrderByKind::Expressions(keys) = &mut order.kind
        {
            keys.iter_mut().for_each(|key| collations::sorted(&mut key.expr));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> Walk {
        collations::grouped(select);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> Walk {
        collations::applied(expr);
        if let Expr::Function(function) = expr
            && let Some(new) = of_function(function)
        {
            *expr = new;
        }
        if let Expr::Function(function) = expr {
            mark_lambdas(function);
        }
        ControlFlow::Continue(())
    }
}

/// `fetch first 3 rows only` as `limit 3`.
fn limited(query: &mut Query) -> Result<(), Diagnostic> {
    let Some(fetch) = query.fetch.take() else { return Ok(()) };
    if fetch.with_ties || fetch.percent {
        let message = "FETCH FIRST takes a number of rows: neither PERCENT nor WITH TIES is supported";
        return Err(plan_error("not-supported", message)
            .help("write `limit 3`, or choose rows by `qualify rank() over (...) <= 3`"));
    }
    let one = || Expr::Value(Value::Number("1".to_string(), false).into());
    let rows = Some(fetch.quantity.unwrap_or_else(one));
    let none = LimitClause::LimitOffset { limit: None, offset: None, limit_by: Vec::new() };
    match query.limit_clause.get_or_insert(none) {
        LimitClause::LimitOffset { limit: limit @ None, .. } => *limit = rows,
        _ => return Err(plan_error("sql-syntax", "a query has both LIMIT and FETCH FIRST").help("keep one of them")),
    }
    Ok(())
}

fn mark_lambdas(function: &mut Function) {
    let new = match function.name.to_string().to_lowercase().as_str() {
        "list_transform" | "list_apply" | "array_apply" | "apply" | "array_transform" => "array_transform",
        "list_filter" | "array_filter" | "filter" => "array_filter",
        "list_any_match" | "array_any_match" => "array_any_match",
        _ => return,
    };
    rename(function, new);
    if let FunctionArguments::List(list) = &mut function.args {
        for arg in &mut list.args {
            if let FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Lambda(lambda))) = arg {
                lambda.syntax = LambdaSyntax::LambdaKeyword;
            }
        }
    }
}

fn not(expr: Expr) -> Expr {
    Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(Expr::Nested(Box::new(expr))) }
}

/// An integer that is written, with a sign, in brackets or as a cast.
fn integer(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Value(v) => match &v.value {
            Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => integer(expr)?.checked_neg(),
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } | Expr::Nested(expr) | Expr::Cast { expr, .. } => integer(expr),
        _ => None,
    }
}

/// A positive number that is written.
fn is_positive(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(v) if matches!(&v.value, Value::Number(n, _) if n.parse::<u64>().is_ok_and(|n| n > 0)))
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(v) if v.value == Value::Null)
}

/// `null`, or a cast of it.
fn is_null_of_any_type(expr: &Expr) -> bool {
    match expr {
        Expr::Cast { expr, .. } => is_null_of_any_type(expr),
        other => is_null(other),
    }
}

fn is_text(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(v) if matches!(&v.value, Value::SingleQuotedString(text) if !text.is_empty()))
}

/// Whether a part of a string matches a regular expression. DataFusion simplifies a match of `.*` to `is not null`,
/// which is false for null.
pub fn matched(x: Expr, pattern: Expr) -> Expr {
    let is_any =
        matches!(&pattern, Expr::Value(v) if matches!(&v.value, Value::SingleQuotedString(text) if text == ".*"));
    let any = if is_any { parsed(&format!("case when {x} is not null then true end")) } else { None };
    any.unwrap_or_else(|| call("regexp_like", vec![x, pattern]))
}

fn is_backslash(value: &Value) -> bool {
    matches!(value, Value::SingleQuotedString(text) if text == "\\")
}

/// The expression in the place of another, if there is one.
pub fn rewritten(expr: &mut Expr) -> Option<Expr> {
    match expr {
        Expr::Lambda(lambda) if lambda.syntax == LambdaSyntax::Arrow => {
            let params = lambda.params.to_string();
            let left = parsed(params.trim_matches(['(', ')']))?;
            Some(along(left, take(&mut lambda.body)))
        }
        Expr::BinaryOp { left, op, right } => {
            let mut both = |name: &str| Some(call(name, vec![take(left), take(right)]));
            match op {
                BinaryOperator::Arrow => Some(json::extracted("json_extract", take(left), take(right))),
                BinaryOperator::LongArrow => Some(json::extracted("json_extract_string", take(left), take(right))),
                BinaryOperator::PGRegexMatch => Some(matched(take(left), take(right))),
                BinaryOperator::PGRegexNotMatch => Some(not(matched(take(left), take(right)))),
                BinaryOperator::PGStartsWith => both("starts_with"),
                BinaryOperator::AtArrow => both("list_has_all"),
                BinaryOperator::ArrowAt => Some(call("list_has_all", vec![take(right), take(left)])),
                BinaryOperator::PGOverlap => both("list_has_any"),
                _ => None,
            }
        }
        // DataFusion's own takes no escape character but the backslash.
        Expr::Like { negated, any: false, expr, pattern, escape_char: Some(escape) }
            if !is_backslash(&escape.value) =>
        {
            let found = call("like_escape", vec![take(expr), take(pattern), Expr::Value(escape.clone())]);
            Some(if *negated { not(found) } else { found })
        }
        Expr::ILike { negated, any: false, expr, pattern, escape_char: Some(escape) }
            if !is_backslash(&escape.value) =>
        {
            let found = call("ilike_escape", vec![take(expr), take(pattern), Expr::Value(escape.clone())]);
            Some(if *negated { not(found) } else { found })
        }
        // The whole string, as in DuckDB; DataFusion's own finds a part.
        Expr::SimilarTo { negated, expr, pattern, escape_char: None } => {
            let found = call("regexp_full_match", vec![take(expr), take(pattern)]);
            Some(if *negated { not(found) } else { found })
        }
        Expr::AnyOp { left, compare_op, right, .. } if !matches!(right.as_ref(), Expr::Subquery(_)) => {
            let (left, right) = (take(left), unnested(take(right)));
            match compare_op {
                BinaryOperator::Eq => Some(call("list_equals_any", vec![right, left])),
                BinaryOperator::Lt | BinaryOperator::LtEq => of_some(&left, compare_op, "array_max", &right),
                BinaryOperator::Gt | BinaryOperator::GtEq => of_some(&left, compare_op, "array_min", &right),
                _ => None,
            }
        }
        Expr::AllOp { left, compare_op, right } if !matches!(right.as_ref(), Expr::Subquery(_)) => {
            let (left, right) = (take(left), unnested(take(right)));
            match compare_op {
                BinaryOperator::NotEq => Some(not(call("list_equals_any", vec![right, left]))),
                BinaryOperator::Lt | BinaryOperator::LtEq => of_each(&left, compare_op, "array_min", &right),
                BinaryOperator::Gt | BinaryOperator::GtEq => of_each(&left, compare_op, "array_max", &right),
                _ => None,
            }
        }
        Expr::CompoundFieldAccess { root, access_chain } => {
            if json::is_json(root)
                && let Some(found) = json::accessed(root, access_chain)
            {
                return Some(found);
            }
            // After a name, `.b` is a column of a table, which the planner looks for.
            let is_name = matches!(**root, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
            access_chain.iter_mut().for_each(|access| completed(access, is_name));
            None
        }
        Expr::UnaryOp { op: UnaryOperator::BitwiseNot, expr } => Some(call("bit_not", vec![take(expr)])),
        Expr::UnaryOp { op: UnaryOperator::PGPostfixFactorial, expr } => Some(call("factorial", vec![take(expr)])),
        Expr::UnaryOp { op: UnaryOperator::PGAbs, expr } => Some(call("abs", vec![take(expr)])),
        Expr::Collate { expr, .. } => Some(take(expr)),
        // DataFusion's own takes a length below zero for zero, and no place below one.
        Expr::Overlay { expr, overlay_what, overlay_from, overlay_for }
            if !is_positive(overlay_from) || overlay_for.as_deref().is_some_and(|length| !is_positive(length)) =>
        {
            // A length below zero is that of the new piece, as without a length.
            let length = overlay_for.as_deref_mut().map_or_else(|| parsed("-1"), |length| Some(take(length)))?;
            Some(call("overlay_of", vec![take(expr), take(overlay_what), take(overlay_from), length]))
        }
        Expr::Substring { expr, substring_from, substring_for, .. } => {
            let from = substring_from.as_deref_mut();
            let is_plain = from.as_deref().is_none_or(is_positive) && substring_for.as_deref().is_none_or(is_positive);
            if is_plain {
                return None;
            }
            let from = from.map_or_else(|| Expr::Value(Value::Number("1".to_string(), false).into()), take);
            let args = [take(expr), from].into_iter().chain(substring_for.as_deref_mut().map(take));
            Some(call("substring_from", args.collect()))
        }
        Expr::Cast { data_type, expr, kind, .. } => cast(data_type, expr, kind),
        Expr::TypedString(typed) => {
            let mut value = Expr::Value(typed.value.clone());
            cast(&mut typed.data_type, &mut value, &CastKind::Cast)
        }
        _ => None,
    }
}

/// `l[2:]` with both bounds, and the name of a field as the planner takes it.
fn completed(access: &mut AccessExpr, is_after_name: bool) {
    let number = |digits: &str| Expr::Value(Value::Number(digits.to_string(), false).into());
    match access {
        // Backwards from the last element to the first one.
        AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, stride: Some(stride) }) => {
            let end = |of: (i8, i8)| parsed(&format!("(case when ({stride}) < 0 then {} else {} end)", of.0, of.1));
            *lower_bound = lower_bound.take().or_else(|| end((-1, 1)));
            *upper_bound = upper_bound.take().or_else(|| end((1, -1)));
        }
        AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, .. }) => {
            lower_bound.get_or_insert_with(|| number("1"));
            // The last one.
            upper_bound.get_or_insert_with(|| number("-1"));
        }
        AccessExpr::Dot(field) => {
            if let (Expr::Identifier(name), false) = (&*field, is_after_name) {
                *field = Expr::Value(Value::SingleQuotedString(name.value.clone()).into());
            }
        }
        AccessExpr::Subscript(_) => {}
    }
}

/// `j -> 'a' = 3` is parsed as a lambda: the arrow belongs to the first operand of its body.
fn along(left: Expr, body: Expr) -> Expr {
    match body {
        Expr::BinaryOp { left: first, op, right } => Expr::BinaryOp { left: Box::new(along(left, *first)), op, right },
        Expr::IsNull(inner) => Expr::IsNull(Box::new(along(left, *inner))),
        Expr::IsNotNull(inner) => Expr::IsNotNull(Box::new(along(left, *inner))),
        Expr::Cast { kind: CastKind::DoubleColon, expr, data_type, array, format } => {
            Expr::Cast { kind: CastKind::DoubleColon, expr: Box::new(along(left, *expr)), data_type, array, format }
        }
        // The rest of a chain: `j -> 'a' -> 'b'`.
        Expr::Function(mut function)
            if matches!(function.name.to_string().as_str(), "json_extract" | "json_extract_string") =>
        {
            if let FunctionArguments::List(list) = &mut function.args
                && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(first))) = list.args.first_mut()
            {
                let inner = take(first);
                *first = along(left, inner);
            }
            Expr::Function(function)
        }
        path => json::extracted("json_extract", left, path),
    }
}

fn unnested(expr: Expr) -> Expr {
    match expr {
        Expr::Nested(inner) => unnested(*inner),
        other => other,
    }
}

/// `x < any(list)`: whether it holds for the `furthest` element. Null elements make it null unless it holds.
fn of_some(x: &Expr, op: &BinaryOperator, furthest: &str, list: &Expr) -> Option<Expr> {
    let found = format!("(len({list}) > 0 and ({x}) {op} {furthest}({list}))");
    parsed(&format!("({found} or (list_count({list}) < len({list}) and cast(null as boolean)))"))
}

/// `x < all(list)`: whether it holds for the `furthest` element. Null elements make it null unless it fails.
fn of_each(x: &Expr, op: &BinaryOperator, furthest: &str, list: &Expr) -> Option<Expr> {
    let holds = format!("(len({list}) = 0 or ({x}) {op} {furthest}({list}))");
    parsed(&format!("({holds} and (list_count({list}) = len({list}) or cast(null as boolean)))"))
}

fn cast(data_type: &mut DataType, of: &mut Expr, kind: &CastKind) -> Option<Expr> {
    let fails = !matches!(kind, CastKind::TryCast | CastKind::SafeCast);
    match data_type {
        // No number of this type is below zero.
        DataType::UHugeInt if !fails => parsed(&format!(
            "(case when try_cast({of} as decimal(38, 0)) >= 0 then try_cast({of} as decimal(38, 0)) end)"
        )),
        DataType::HugeInt | DataType::UHugeInt | DataType::Int128 => {
            *data_type = DataType::Decimal(ExactNumberInfo::PrecisionAndScale(38, 0));
            None
        }
        DataType::Decimal(info @ ExactNumberInfo::None) | DataType::Numeric(info @ ExactNumberInfo::None) => {
            *info = ExactNumberInfo::PrecisionAndScale(18, 3);
            None
        }
        DataType::Blob(_) | DataType::Bytea => {
            Some(call(if fails { "to_blob" } else { "try_to_blob" }, vec![take(of)]))
        }
        DataType::Interval { .. } => Some(call(if fails { "to_interval" } else { "try_to_interval" }, vec![take(of)])),
        DataType::JSON => Some(call(if fails { "json" } else { "try_json" }, vec![take(of)])),
        DataType::Uuid => Some(call(if fails { "to_uuid" } else { "try_to_uuid" }, vec![take(of)])),
        // A NaN has no sign.
        DataType::Double(_) | DataType::DoublePrecision | DataType::Float(_) | DataType::Real => {
            if let Expr::Value(v) = of
                && let Value::SingleQuotedString(text) = &mut v.value
                && text.trim().eq_ignore_ascii_case("-nan")
            {
                *text = "nan".to_string();
            }
            None
        }
        _ => None,
    }
}

/// The most frequent value: the smallest of several, or the largest in descending order.
fn ordered_mode(key: &OrderByExpr) -> &'static str {
    if key.options.asc == Some(false) { "mode_desc" } else { "mode" }
}

fn arguments(function: &mut Function) -> Option<Vec<Expr>> {
    let FunctionArguments::List(list) = &mut function.args else { return None };
    list.args
        .iter()
        .map(|arg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
            _ => None,
        })
        .collect()
}

fn set_arguments(function: &mut Function, args: Vec<Expr>) {
    if let FunctionArguments::List(list) = &mut function.args {
        list.args = args.into_iter().map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg))).collect();
    }
}

/// Takes ORDER BY away from the arguments of a function whose value does not depend on it.
fn unordered(function: &mut Function) {
    if let FunctionArguments::List(list) = &mut function.args {
        list.clauses.retain(|clause| !matches!(clause, FunctionArgumentClause::OrderBy(_)));
    }
}

/// Several quantiles of `x` as a list, null if there are no values.
fn quantiles(function: &Function, x: &Expr, of: &[Expr], args: impl Fn(&Expr) -> Vec<Expr>) -> Option<Expr> {
    let calls = of.iter().map(|q| {
        let mut one = function.clone();
        set_arguments(&mut one, args(q));
        one.to_string()
    });
    let mut count = function.clone();
    rename(&mut count, "count");
    count.within_group.clear();
    unordered(&mut count);
    set_arguments(&mut count, vec![x.clone()]);
    parsed(&format!("(case when {count} > 0 then [{}] end)", calls.collect::<Vec<_>>().join(", ")))
}

fn rename(function: &mut Function, name: &str) {
    function.name = ObjectName::from(vec![Ident::new(name)]);
}

/// `struct_pack(a := 1)` as a struct of names and values.
fn packed(function: &mut Function) -> Option<Expr> {
    let FunctionArguments::List(list) = &mut function.args else { return None };
    let mut args = Vec::new();
    for arg in &list.args {
        let (name, value) = match arg {
            FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => (name.value.clone(), value.clone()),
            FunctionArg::ExprNamed { name, arg: FunctionArgExpr::Expr(value), .. } => {
                (name.to_string().trim_matches('"').to_string(), value.clone())
            }
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(name))) => {
                (name.value.clone(), Expr::Identifier(name.clone()))
            }
            _ => return None,
        };
        args.push(Expr::Value(Value::SingleQuotedString(name).into()));
        args.push(value);
    }
    Some(call("named_struct", args))
}

/// Aggregates that are functions of the list of the values of a group.
fn of_list(name: &str) -> Option<&'static str> {
    Some(match name {
        "histogram" => "list_histogram",
        "mad" => "list_mad",
        "entropy" => "list_entropy",
        "skewness" => "list_skewness",
        "kurtosis" => "list_kurtosis",
        "kurtosis_pop" => "list_kurtosis_pop",
        "geomean" | "geometric_mean" => "list_geomean",
        "sem" => "list_sem",
        "favg" => "list_favg",
        "fsum" | "sumkahan" | "kahan_sum" => "list_fsum",
        _ => return None,
    })
}

fn of_function(function: &mut Function) -> Option<Expr> {
    let name = function.name.to_string().to_lowercase().replace('"', "");
    if name == "struct_pack" {
        return packed(function);
    }
    json::marked(&name, function);
    if let Some(list) = of_list(&name) {
        let mut inner = function.clone();
        rename(&mut inner, "array_agg");
        let value = call(list, vec![Expr::Function(inner)]);
        // There is no surprise in no values.
        return if name == "entropy" { parsed(&format!("coalesce({value}, 0.0::double)")) } else { Some(value) };
    }
    let args = arguments(function)?;
    let replace = |name: &str, args: Vec<Expr>| Some(call(name, args));
    match (name.as_str(), args.as_slice()) {
        // `percentile_cont([0.25, 0.5]) within group (order by x)`
        ("percentile_cont" | "percentile_disc", [Expr::Array(of)]) if !function.within_group.is_empty() => {
            let x = function.within_group[0].expr.clone();
            quantiles(function, &x, &of.elem, |q| vec![q.clone()])
        }
        // With FILTER and OVER as they are; null for no rows.
        ("count_if" | "countif", [x]) => {
            let counted = parsed(&format!("cast({x} as integer)"))?;
            rename(function, "sum");
            if let FunctionArguments::List(list) = &mut function.args {
                list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(counted))];
            }
            None
        }
        // The first one in the order wins among equally frequent values.
        ("mode", []) if let [key] = function.within_group.as_slice() => {
            let (x, name) = (key.expr.clone(), ordered_mode(key));
            function.within_group.clear();
            rename(function, name);
            if let FunctionArguments::List(list) = &mut function.args {
                list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(x))];
            }
            None
        }
        ("mode", [x]) => {
            let FunctionArguments::List(list) = &mut function.args else { return None };
            let of = |clause: &FunctionArgumentClause| match clause {
                FunctionArgumentClause::OrderBy(keys) => keys.first().filter(|key| key.expr == *x).map(ordered_mode),
                _ => None,
            };
            if let Some(name) = list.clauses.iter().find_map(of) {
                list.clauses.retain(|clause| !matches!(clause, FunctionArgumentClause::OrderBy(_)));
                rename(function, name);
            }
            None
        }
        (
            "list_aggregate" | "list_aggr" | "array_aggregate" | "array_aggr" | "aggregate",
            [list, Expr::Value(v), rest @ ..],
        ) => {
            let Value::SingleQuotedString(name) = &v.value else { return None };
            let name = name.to_lowercase();
            let function = library::aggregate_of_a_list(&name).or_else(|| of_list(&name))?;
            replace(function, std::iter::once(list.clone()).chain(rest.iter().cloned()).collect())
        }
        // `quantile_cont(x, [0.25, 0.5])`
        ("quantile_cont" | "quantile" | "quantile_disc", [x, Expr::Array(of)]) => {
            quantiles(function, x, &of.elem, |q| vec![x.clone(), q.clone()])
        }
        ("string_agg" | "group_concat" | "listagg", [_, separator]) if is_null_of_any_type(separator) => {
            set_arguments(function, vec![parsed("cast(null as varchar)")?]);
            unordered(function);
            rename(function, "max");
            None
        }
        ("max" | "min" | "arg_max" | "arg_min" | "max_by" | "min_by", [.., n])
            if is_positive(n) && args.len() == if name.contains("arg") || name.contains("by") { 3 } else { 2 } =>
        {
            let order = if name.contains("max") { "desc" } else { "asc" };
            let (x, by) = (&args[0], if args.len() == 3 { &args[1] } else { &args[0] });
            let filter = match &function.filter {
                Some(filter) => format!("({filter}) and {by} is not null"),
                None => format!("{by} is not null"),
            };
            let over = function.over.as_ref().map_or(String::new(), |over| format!(" over {over}"));
            parsed(&format!("list_piece(array_agg({x} order by {by} {order}) filter (where {filter}){over}, 1, {n})"))
        }
        ("reverse", [_]) => replace("reverse_graphemes", args),
        ("substr" | "substring", [_, from, rest @ ..]) if !(is_positive(from) && rest.iter().all(is_positive)) => {
            replace("substring_from", args)
        }
        ("split_part" | "split", [_, by, index]) if !(is_text(by) && is_positive(index)) => {
            replace("split_part_of", args)
        }
        // An empty list is an empty string; a list of nulls alone is null.
        ("array_to_string" | "list_to_string", [list, separator]) => {
            parsed(&format!("(case when len({list}) = 0 then '' else list_string_agg({list}, {separator}) end)"))
        }
        ("map", [_, _]) if args.iter().any(is_null_of_any_type) => Some(Expr::Value(Value::Null.into())),
        ("mean", [_]) => {
            rename(function, "avg");
            None
        }
        ("regexp_split_to_array" | "string_split_regex" | "str_split_regex", _) => {
            replace("regexp_split_to_array", args)
        }
        ("to_hex", [_]) => replace("hex", args),
        ("editdist3", [_, _]) => replace("levenshtein", args),
        ("mismatches", [_, _]) => replace("hamming", args),
        ("unicode", [_]) => replace("ord", args),
        ("struct_extract", [_, _]) => replace("get_field", args),
        ("formatreadablesize" | "pg_size_pretty", [_]) => replace("format_bytes", args),
        ("formatreadabledecimalsize", [_]) => replace("format_bytes_decimal", args),
        ("json_extract_path", [_, _]) => replace("json_extract", args),
        ("json_extract_path_text", [_, _]) => replace("json_extract_string", args),
        ("json_quote" | "row_to_json" | "array_to_json", [_]) => replace("to_json", args),
        ("json_group_array", [_]) => {
            let mut inner = function.clone();
            rename(&mut inner, "array_agg");
            replace("to_json", vec![Expr::Function(inner)])
        }
        ("add", [a, b]) => parsed(&format!("(({a}) + ({b}))")),
        ("subtract", [a, b]) => parsed(&format!("(({a}) - ({b}))")),
        ("multiply", [a, b]) => parsed(&format!("(({a}) * ({b}))")),
        ("divide", [a, b]) => parsed(&format!("(({a}) // ({b}))")),
        // DataFusion's own is NaN where ten to the power of the digits is no float. No decimal has more than 38 digits.
        ("round", [_, digits]) if integer(digits).is_some_and(|digits| digits.abs() > 38) => replace("round_to", args),
        ("mod", [a, b]) => parsed(&format!("(({a}) % ({b}))")),
        ("constant_or_null", [x, rest @ ..]) => {
            let null: Vec<String> = rest.iter().map(|e| format!("({e}) is null")).collect();
            parsed(&format!("(case when {} then null else {x} end)", null.join(" or ")))
        }
        (other, _) => {
            if let Some(own) = own_list_function(other) {
                rename(function, own);
            }
            None
        }
    }
}

/// Functions of lists that `library/lists.rs` has, under their other names.
fn own_list_function(name: &str) -> Option<&'static str> {
    Some(match name {
        "list_sort" | "array_sort" => "list_sort",
        "list_reverse_sort" | "array_reverse_sort" => "list_reverse_sort",
        "list_distinct" | "array_distinct" => "list_distinct",
        "array_unique" | "list_unique" => "list_unique",
        "list_position" | "array_position" | "list_indexof" | "array_indexof" => "list_position",
        "list_has_any" | "array_has_any" => "list_has_any",
        "list_has_all" | "array_has_all" => "list_has_all",
        "list_intersect" | "array_intersect" => "list_intersect",
        "list_except" | "array_except" => "list_except",
        "list_select" | "array_select" => "list_select",
        "list_where" | "array_where" => "list_where",
        "list_zip" | "array_zip" => "list_zip",
        "list_grade_up" | "array_grade_up" | "grade_up" => "list_grade_up",
        "list_inner_product" | "array_inner_product" | "list_dot_product" | "array_dot_product" => "list_inner_product",
        "list_distance" | "array_distance" => "list_distance",
        "list_cosine_similarity" | "array_cosine_similarity" => "list_cosine_similarity",
        "array_resize" => "list_resize",
        _ => return None,
    })
}
