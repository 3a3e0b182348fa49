//! Lists of columns that the planner does not know: `columns('regex')`, `group by all`, `order by all`, and names of
//! the list of results used in other parts of it.
//!
//! The columns of tables are those that `name_resolution.rs` finds in the parsed query. A form stays as it is if they
//! are not known, and the planner refuses it.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Ident, OrderBy,
    OrderByExpr, OrderByKind, Query, Select, SelectFlavor, SelectItem, SetExpr, Statement, Value,
    WildcardAdditionalOptions,
};
use onrush_expr::diagnostics::plan_error;
use onrush_wire::Diagnostic;
use regex::Regex;

use super::name_resolution::{Scope, Tables, quoted};
use super::walk::{Rewriter, Walk, each, replace_names, walk};

/// # Errors
/// A regular expression that is not one, or that no column matches.
pub fn expand(statement: &mut Statement, tables: Tables) -> Result<(), Diagnostic> {
    let mut visitor = Stars { scope: Scope::new(tables) };
    match walk(statement, &mut visitor) {
        ControlFlow::Break(diagnostic) => Err(diagnostic),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Stars {
    scope: Scope,
}

impl Rewriter for Stars {
    fn pre_visit_query(&mut self, query: &mut Query) -> Walk {
        self.scope.enter(query);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> Walk {
        if let SetExpr::Select(select) = query.body.as_ref()
            && let Some(order) = &mut query.order_by
        {
            order_by_all(order, select);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> Walk {
        if select.flavor == SelectFlavor::FromFirstNoSelect && select.projection.is_empty() {
            select.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
        }
        if select.flavor != SelectFlavor::Standard {
            select.flavor = SelectFlavor::Standard;
        }
        let columns = self.scope.columns(select);
        if let Err(diagnostic) = several(select, columns.as_deref()) {
            return ControlFlow::Break(diagnostic);
        }
        group_by_all(select, columns.as_deref());
        if let Some(columns) = columns {
            reuse(select, &columns);
        }
        ControlFlow::Continue(())
    }
}

/// `order by all` as an order by each result.
fn order_by_all(order: &mut OrderBy, select: &Select) {
    let OrderByKind::All(options) = &order.kind else { return };
    let listed = |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. });
    if !select.projection.iter().all(listed) {
        return;
    }
    let options = *options;
    let place = |index: usize| OrderByExpr {
        expr: Expr::Value(Value::Number((index + 1).to_string(), false).into()),
        options,
        with_fill: None,
    };
    order.kind = OrderByKind::Expressions((0..select.projection.len()).map(place).collect());
}

/// Whether an expression has an aggregate outside of subqueries.
fn is_aggregate(expr: &Expr) -> bool {
    let mut search = Search { depth: 0, found: false };
    let _ = walk(&mut expr.clone(), &mut search);
    search.found
}

struct Search {
    depth: usize,
    found: bool,
}

impl Rewriter for Search {
    fn pre_visit_query(&mut self, _: &mut Query) -> Walk {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> Walk {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> Walk {
        let is = |function: &Function| function.over.is_none() && aggregates(function);
        self.found |= self.depth == 0 && matches!(expr, Expr::Function(function) if is(function));
        ControlFlow::Continue(())
    }
}

fn aggregates(function: &Function) -> bool {
    is_aggregate_name(&function.name.to_string().to_lowercase())
}

/// Whether a function in small letters is an aggregate.
pub fn is_aggregate_name(name: &str) -> bool {
    const NAMES: [&str; 74] = [
        "any_value",
        "approx_count_distinct",
        "approx_distinct",
        "approx_quantile",
        "arbitrary",
        "arg_max",
        "arg_min",
        "argmax",
        "argmin",
        "array_agg",
        "avg",
        "bit_and",
        "bit_or",
        "bit_xor",
        "bool_and",
        "bool_or",
        "corr",
        "count",
        "count_if",
        "count_star",
        "countif",
        "covar_pop",
        "covar_samp",
        "entropy",
        "favg",
        "first",
        "first_value",
        "fsum",
        "geomean",
        "geometric_mean",
        "group_concat",
        "histogram",
        "json_group_array",
        "kahan_sum",
        "kurtosis",
        "kurtosis_pop",
        "last",
        "last_value",
        "list",
        "listagg",
        "mad",
        "max",
        "max_by",
        "mean",
        "median",
        "min",
        "min_by",
        "mode",
        "percentile_cont",
        "percentile_disc",
        "product",
        "quantile",
        "quantile_cont",
        "quantile_disc",
        "regr_avgx",
        "regr_avgy",
        "regr_count",
        "regr_intercept",
        "regr_r2",
        "regr_slope",
        "regr_sxx",
        "regr_sxy",
        "regr_syy",
        "sem",
        "skewness",
        "stddev",
        "stddev_pop",
        "stddev_samp",
        "string_agg",
        "sum",
        "sumkahan",
        "var_pop",
        "var_samp",
        "variance",
    ];
    NAMES.contains(&name)
}

/// `group by all` as a grouping by each result without an aggregate.
fn group_by_all(select: &mut Select, columns: Option<&[String]>) {
    if !matches!(select.group_by, GroupByExpr::All(_)) {
        return;
    }
    let mut keys = Vec::new();
    for item in &select.projection {
        match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                if !is_aggregate(expr) && !matches!(expr, Expr::Value(_)) {
                    keys.push(expr.clone());
                }
            }
            SelectItem::Wildcard(options) => {
                let Some(columns) = columns else { return };
                let left_out = excluded(options);
                let kept = columns.iter().filter(|name| !left_out.iter().any(|out| out.eq_ignore_ascii_case(name)));
                keys.extend(kept.map(|name| Expr::Identifier(quoted(name))));
            }
            _ => return,
        }
    }
    select.group_by = GroupByExpr::Expressions(keys, Vec::new());
}

fn excluded(options: &WildcardAdditionalOptions) -> Vec<String> {
    use datafusion::sql::sqlparser::ast::ExcludeSelectItem::{Multiple, Single};
    let name = |name: &datafusion::sql::sqlparser::ast::ObjectName| {
        super::name_resolution::last(name).map(|i| i.value.clone())
    };
    match &options.opt_exclude {
        Some(Single(one)) => name(one).into_iter().collect(),
        Some(Multiple(names)) => names.iter().filter_map(name).collect(),
        None => Vec::new(),
    }
}

/// The columns that a `columns(...)` names.
fn named(function: &Function, columns: &[String]) -> Result<Option<Vec<String>>, Diagnostic> {
    if !function.name.to_string().eq_ignore_ascii_case("columns") || function.over.is_some() {
        return Ok(None);
    }
    let FunctionArguments::List(list) = &function.args else { return Ok(None) };
    let [FunctionArg::Unnamed(arg)] = list.args.as_slice() else { return Ok(None) };
    let found: Vec<String> = match arg {
        FunctionArgExpr::Wildcard => columns.to_vec(),
        FunctionArgExpr::WildcardWithOptions(options) => {
            if options.opt_replace.is_some() || options.opt_rename.is_some() {
                let message = "`columns(* replace ...)` is not supported";
                return Err(plan_error("not-supported", message).help("write `* replace (...)` alone, or the columns"));
            }
            let left_out = excluded(options);
            columns.iter().filter(|name| !left_out.iter().any(|out| out.eq_ignore_ascii_case(name))).cloned().collect()
        }
        FunctionArgExpr::Expr(Expr::Value(value)) => {
            let Value::SingleQuotedString(pattern) = &value.value else { return Ok(None) };
            let regex = Regex::new(pattern)
                .map_err(|e| plan_error("argument", format!("`{pattern}` is not a regular expression: {e}")))?;
            columns.iter().filter(|name| regex.is_match(name)).cloned().collect()
        }
        FunctionArgExpr::Expr(Expr::Array(array)) => {
            let text = |e: &Expr| match e {
                Expr::Value(v) => match &v.value {
                    Value::SingleQuotedString(name) => Some(name.clone()),
                    _ => None,
                },
                _ => None,
            };
            // A name that comes twice is one column.
            let mut names: Vec<String> = Vec::new();
            for name in array.elem.iter().filter_map(text) {
                if !names.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
                    names.push(name);
                }
            }
            names
        }
        FunctionArgExpr::Expr(Expr::Lambda(lambda)) => {
            let mut kept = Vec::new();
            let params = lambda.params.to_string();
            let parameter = params.trim_matches(['(', ')']).trim().trim_matches('"').to_string();
            for name in columns {
                if holds(&lambda.body, &parameter, name) {
                    kept.push(name.clone());
                }
            }
            kept
        }
        _ => return Ok(None),
    };
    if found.is_empty() {
        let message = format!("`{function}` names no column");
        return Err(plan_error("unknown-column", message).help(format!("the columns are {}", columns.join(", "))));
    }
    Ok(Some(found))
}

/// Whether a condition on a name holds: `c like 'x%'`, `starts_with(c, 'x')`, and these with `and`, `or` and `not`.
fn holds(condition: &Expr, parameter: &str, name: &str) -> bool {
    use datafusion::sql::sqlparser::ast::UnaryOperator;
    let text = |expr: &Expr| -> Option<String> {
        match expr {
            Expr::Identifier(i) if i.value.eq_ignore_ascii_case(parameter) => Some(name.to_string()),
            Expr::Value(v) => match &v.value {
                Value::SingleQuotedString(text) => Some(text.clone()),
                _ => None,
            },
            _ => None,
        }
    };
    let like = |pattern: &str, any_case: bool| {
        let mut expression = String::from(if any_case { "(?is)^" } else { "(?s)^" });
        for c in pattern.chars() {
            match c {
                '%' => expression.push_str(".*"),
                '_' => expression.push('.'),
                other => expression.push_str(&regex::escape(&other.to_string())),
            }
        }
        Regex::new(&(expression + "$")).is_ok_and(|regex| regex.is_match(name))
    };
    match condition {
        Expr::Nested(inner) => holds(inner, parameter, name),
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => !holds(expr, parameter, name),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            holds(left, parameter, name) && holds(right, parameter, name)
        }
        Expr::BinaryOp { left, op: BinaryOperator::Or, right } => {
            holds(left, parameter, name) || holds(right, parameter, name)
        }
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => text(left).is_some() && text(left) == text(right),
        Expr::BinaryOp { left, op: BinaryOperator::NotEq, right } => text(left) != text(right),
        Expr::Like { pattern, negated, .. } => text(pattern).is_some_and(|p| like(&p, false) != *negated),
        Expr::ILike { pattern, negated, .. } => text(pattern).is_some_and(|p| like(&p, true) != *negated),
        Expr::InList { list, negated, .. } => list.iter().any(|e| text(e).as_deref() == Some(name)) != *negated,
        Expr::Function(function) => {
            let FunctionArguments::List(list) = &function.args else { return false };
            let args: Vec<String> = list
                .args
                .iter()
                .filter_map(|arg| match arg {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => text(expr),
                    _ => None,
                })
                .collect();
            let [_, other] = args.as_slice() else { return false };
            match function.name.to_string().to_lowercase().as_str() {
                "starts_with" | "prefix" => name.starts_with(other.as_str()),
                "ends_with" | "suffix" => name.ends_with(other.as_str()),
                "contains" => name.contains(other.as_str()),
                "regexp_matches" => Regex::new(other).is_ok_and(|regex| regex.is_match(name)),
                _ => false,
            }
        }
        _ => false,
    }
}

/// Each item of the list with `columns(...)` as one for each column, and conditions as all of them.
fn several(select: &mut Select, columns: Option<&[String]>) -> Result<(), Diagnostic> {
    let mut out = Vec::with_capacity(select.projection.len());
    for item in std::mem::take(&mut select.projection) {
        let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = &item else {
            out.push(item);
            continue;
        };
        let Some(names) = columns_of(expr, columns)? else {
            out.push(item);
            continue;
        };
        if matches!(expr, Expr::Function(f) if f.name.to_string().eq_ignore_ascii_case(WITHOUT)) {
            let others = columns.unwrap_or_default().iter().filter(|name| !names.contains(name));
            out.extend(others.map(|name| SelectItem::UnnamedExpr(Expr::Identifier(quoted(name)))));
            continue;
        }
        let mut listed = expr.clone();
        if in_lists(&mut listed, &names) {
            out.push(match &item {
                SelectItem::ExprWithAlias { alias, .. } => {
                    SelectItem::ExprWithAlias { expr: listed, alias: alias.clone() }
                }
                _ => SelectItem::UnnamedExpr(listed),
            });
            continue;
        }
        for name in &names {
            let (one, alias) = (with_column(expr, name), alias_of(&item, name, matches!(expr, Expr::Function(_))));
            out.push(match alias {
                Some(alias) => SelectItem::ExprWithAlias { expr: one, alias },
                None => SelectItem::UnnamedExpr(one),
            });
        }
    }
    select.projection = out;
    if let Some(filter) = &mut select.selection {
        of_all_columns(filter, columns)?;
    }
    if let Some(columns) = columns {
        select.projection.iter_mut().for_each(|item| spell_replaced(item, columns));
    }
    Ok(())
}

/// Each condition of a filter with `columns(...)` as one for every column. Conditions joined by AND have their own
/// columns.
fn of_all_columns(filter: &mut Expr, columns: Option<&[String]>) -> Result<(), Diagnostic> {
    if let Expr::BinaryOp { left, op: BinaryOperator::And, right } = filter {
        of_all_columns(left, columns)?;
        return of_all_columns(right, columns);
    }
    let Some(names) = columns_of(filter, columns)? else { return Ok(()) };
    let all = names.iter().map(|name| Expr::Nested(Box::new(with_column(filter, name))));
    let joined = all.reduce(|left, right| Expr::BinaryOp {
        left: Box::new(left),
        op: BinaryOperator::And,
        right: Box::new(right),
    });
    if let Some(joined) = joined {
        *filter = Expr::Nested(Box::new(joined));
    }
    Ok(())
}

/// The names of `* replace (...)` as the columns have them: the planner looks for them with their case.
fn spell_replaced(item: &mut SelectItem, columns: &[String]) {
    let (SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options)) = item else { return };
    for replaced in options.opt_replace.iter_mut().flat_map(|replace| &mut replace.items) {
        let name = &replaced.column_name.value;
        if let Some(column) = columns.iter().find(|column| column.eq_ignore_ascii_case(name)) {
            replaced.column_name = quoted(column);
        }
    }
}

/// The name of one of several results: an alias with `\0` for the column, or the column itself.
fn alias_of(item: &SelectItem, name: &str, is_call: bool) -> Option<Ident> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(quoted(&alias.value.replace("\\0", name))),
        SelectItem::UnnamedExpr(Expr::Function(f)) if f.name.to_string().eq_ignore_ascii_case("columns") => {
            Some(quoted(name))
        }
        SelectItem::UnnamedExpr(expr) if is_call => {
            let text = with_column(expr, name).to_string().replace('"', "");
            Some(quoted(&text))
        }
        _ => None,
    }
}

fn columns_of(expr: &Expr, columns: Option<&[String]>) -> Result<Option<Vec<String>>, Diagnostic> {
    let Some(columns) = columns else { return Ok(None) };
    let mut found = None;
    let walked = each(&mut expr.clone(), &mut |expr| match &*expr {
        Expr::Function(function) => match named(function, columns) {
            Ok(Some(names)) => {
                found.get_or_insert(names);
                ControlFlow::Continue(())
            }
            Ok(None) => ControlFlow::Continue(()),
            Err(diagnostic) => ControlFlow::Break(diagnostic),
        },
        _ => ControlFlow::Continue(()),
    });
    match walked {
        ControlFlow::Break(diagnostic) => Err(diagnostic),
        ControlFlow::Continue(()) => Ok(found),
    }
}

fn is_columns(expr: &Expr) -> bool {
    matches!(expr, Expr::Function(function) if function.name.to_string().eq_ignore_ascii_case("columns"))
}

/// Whether an expression is of `columns(...)`.
fn has_columns(expr: &Expr) -> bool {
    let mut found = false;
    let walked = each(&mut expr.clone(), &mut |e| {
        found |= is_columns(e);
        ControlFlow::Continue(())
    });
    found || walked.is_break()
}

fn with_column(expr: &Expr, name: &str) -> Expr {
    let mut one = expr.clone();
    let _ = each(&mut one, &mut |e| {
        if is_columns(e) {
            *e = Expr::Identifier(quoted(name));
        }
        ControlFlow::Continue(())
    });
    one
}

/// The function that stands for all other columns.
const WITHOUT: &str = "__onrush_without";

/// The function whose lists of columns are their names.
pub const NAMES: &str = "__onrush_names";

/// `[columns(...)]` as a list of all of them, and the names of all as a list of strings.
fn in_lists(expr: &mut Expr, names: &[String]) -> bool {
    let mut changed = false;
    let _ = each(expr, &mut |e| {
        match e {
            Expr::Function(function) if function.name.to_string().eq_ignore_ascii_case(NAMES) => {
                let texts = names.iter().map(|name| format!("'{}'", name.replace('\'', "''")));
                if let Some(list) =
                    super::name_resolution::parsed(&format!("[{}]", texts.collect::<Vec<_>>().join(", ")))
                {
                    *e = list;
                    changed = true;
                }
            }
            Expr::Array(array) if array.elem.iter().any(has_columns) => {
                let mut all = Vec::new();
                for element in std::mem::take(&mut array.elem) {
                    match has_columns(&element) {
                        true => all.extend(names.iter().map(|name| with_column(&element, name))),
                        false => all.push(element),
                    }
                }
                array.elem = all;
                changed = true;
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    changed
}

/// `select a + 1 as b, b * 2 as c from t where b > 3`: a name of the list in other items, in WHERE, GROUP BY, HAVING
/// and QUALIFY, if no column has it.
fn reuse(select: &mut Select, columns: &[String]) {
    let mut known: Vec<(String, Expr)> = Vec::new();
    let is_column = |name: &str| columns.iter().any(|column| column.eq_ignore_ascii_case(name));
    for item in &mut select.projection {
        let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else { continue };
        replaced(expr, &known);
        if let SelectItem::ExprWithAlias { expr, alias } = item
            && !is_column(&alias.value)
        {
            known.push((alias.value.clone(), expr.clone()));
        }
    }
    if known.is_empty() {
        return;
    }
    select.selection.iter_mut().for_each(|filter| replaced(filter, &known));
    select.having.iter_mut().chain(&mut select.qualify).for_each(|filter| replaced(filter, &known));
}

fn replaced(part: &mut Expr, known: &[(String, Expr)]) {
    let of = |name: &str| known.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    replace_names(part, &|name| of(name).map(|(_, value)| Expr::Nested(Box::new(value.clone()))));
}
