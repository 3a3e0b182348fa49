//! DuckDB's functions under the names that DataFusion has for them.
//!
//! A call is respelt in the parsed query; what DataFusion knows by the same name and meaning passes through.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArguments, Ident, ObjectName, Statement, visit_expressions_mut,
};
use datafusion::sql::sqlparser::dialect::DuckDbDialect;
use datafusion::sql::sqlparser::parser::Parser;
use onrush_wire::Diagnostic;

use crate::check::plan_error;

pub fn rewrite(statement: &mut Statement) -> Result<(), Diagnostic> {
    let result = visit_expressions_mut(statement, |expr| {
        if let Expr::Function(function) = expr {
            match respelt(function) {
                Ok(Some(new)) => *expr = new,
                Ok(None) => {}
                Err(diagnostic) => return ControlFlow::Break(diagnostic),
            }
        }
        ControlFlow::Continue(())
    });
    match result {
        ControlFlow::Break(diagnostic) => Err(diagnostic),
        ControlFlow::Continue(()) => Ok(()),
    }
}

fn respelt(function: &mut Function) -> Result<Option<Expr>, Diagnostic> {
    let name = function.name.to_string().to_lowercase().replace('"', "");
    let rename = match name.as_str() {
        "list" => Some("array_agg"),
        "first" | "arbitrary" => Some("first_value"),
        "last" => Some("last_value"),
        "strlen" => Some("octet_length"),
        "len" => Some("length"),
        "ifnull" => Some("coalesce"),
        "regexp_matches" => Some("regexp_like"),
        "strftime" => Some("to_char"),
        "group_concat" | "listagg" => Some("string_agg"),
        "approx_count_distinct" => Some("approx_distinct"),
        "variance" => Some("var_samp"),
        "prefix" => Some("starts_with"),
        "suffix" => Some("ends_with"),
        "ucase" => Some("upper"),
        "lcase" => Some("lower"),
        "sign" => Some("signum"),
        "list_aggr" => None,
        _ => None,
    };
    if let Some(new) = rename {
        function.name = ObjectName::from(vec![Ident::new(new)]);
        return Ok(None);
    }
    let args: Vec<String> = match &function.args {
        FunctionArguments::List(list) => list.args.iter().map(|a| a.to_string()).collect(),
        _ => return Ok(None),
    };
    let text = match (name.as_str(), args.as_slice()) {
        ("year" | "month" | "day" | "hour" | "minute" | "quarter" | "week", [x]) => {
            format!("cast(date_part('{name}', {x}) as bigint)")
        }
        ("second", [x]) => format!("cast(floor(date_part('second', {x})) as bigint)"),
        ("dayofmonth", [x]) => format!("cast(date_part('day', {x}) as bigint)"),
        ("dayofweek" | "weekday", [x]) => format!("cast(date_part('dow', {x}) as bigint)"),
        ("dayofyear", [x]) => format!("cast(date_part('doy', {x}) as bigint)"),
        ("isodow", [x]) => format!("cast((date_part('dow', {x}) + 6) % 7 + 1 as bigint)"),
        ("epoch", [x]) => format!("date_part('epoch', {x})"),
        ("if", [condition, yes, no]) => format!("case when {condition} then {yes} else {no} end"),
        ("quantile_cont", [x, q]) => format!("percentile_cont(cast({x} as double), {q})"),
        ("count_if" | "countif", [x]) => format!("coalesce(sum(case when {x} then 1 else 0 end), 0)"),
        ("count_star", []) => "count(*)".to_string(),
        _ => return Ok(None),
    };
    // FILTER and OVER belong to the call, which these replace by more than one.
    if function.over.is_some() || (function.filter.is_some() && name != "quantile_cont") {
        return Ok(None);
    }
    let text = match &function.filter {
        Some(filter) => format!("{text} filter (where {filter})"),
        None => text,
    };
    let parsed = Parser::new(&DuckDbDialect {}).try_with_sql(&text).and_then(|mut p| p.parse_expr());
    parsed.map(Some).map_err(|e| plan_error("sql-syntax", format!("`{name}(...)` could not be read: {e}")))
}
