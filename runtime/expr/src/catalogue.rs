//! The functions of frames as data: one entry for each name, with the types of its arguments, and the checks that all
//! entries share. The implementations are grouped by subject (`math.rs`, `string.rs`, ...).

use std::collections::HashMap;
use std::sync::LazyLock;

use arrow::datatypes::DataType;
use datafusion::logical_expr::Expr;
use onrush_wire::{Arg, Diagnostic, ExprKind, Span, Value};

use super::{
    Lower, TypedExpr, aggregate, conditional, lists, mapping, math, metrics, rolling, statistics, string, temporal,
    window,
};
use crate::diagnostics::{self, quoted_column, type_name};
use crate::function::{Call, Function, Kind, Param, fold};
use crate::type_coercion;

static CATALOGUE: LazyLock<HashMap<&'static str, &'static Function>> = LazyLock::new(|| {
    let mut all = HashMap::new();
    for part in parts() {
        for function in part {
            all.insert(function.name, function);
            for alias in function.aliases {
                all.insert(alias, function);
            }
        }
    }
    all
});

fn parts() -> [&'static [Function]; 11] {
    [
        aggregate::FUNCTIONS,
        conditional::FUNCTIONS,
        lists::FUNCTIONS,
        mapping::FUNCTIONS,
        math::FUNCTIONS,
        metrics::FUNCTIONS,
        rolling::FUNCTIONS,
        statistics::FUNCTIONS,
        string::FUNCTIONS,
        temporal::FUNCTIONS,
        window::FUNCTIONS,
    ]
}

/// All functions with how they are called, for completion and help. Names only, aliases left out.
pub fn functions() -> impl Iterator<Item = (&'static str, String)> {
    let internal = ["first_where", "first_row", "quartile"];
    parts().into_iter().flatten().filter(move |f| !internal.contains(&f.name)).map(|f| (f.name, f.usage()))
}

pub fn find(name: &str) -> Option<&'static Function> {
    CATALOGUE.get(name).copied()
}

/// `true` if the expression gives one value for a whole group, so that it may stand in an aggregation as it is.
pub fn is_aggregated(expr: &onrush_wire::Expr) -> bool {
    let mut next = vec![expr];
    while let Some(expr) = next.pop() {
        let kind = match &expr.kind {
            ExprKind::Call { function, .. } => find(function).map(|f| f.kind),
            _ => None,
        };
        match (&expr.kind, kind) {
            (ExprKind::Column(_) | ExprKind::All { .. } | ExprKind::Over { .. } | ExprKind::Model(_), _)
            | (_, Some(Kind::Window)) => {
                return false;
            }
            (_, Some(Kind::Aggregate)) => {}
            _ => expr.children_into(&mut next),
        }
    }
    true
}

/// `true` if an aggregate occurs outside of `over`: then a `select` of such expressions gives one row.
pub fn has_aggregate(expr: &onrush_wire::Expr) -> bool {
    let mut next = vec![expr];
    while let Some(expr) = next.pop() {
        match &expr.kind {
            ExprKind::Call { function, .. } if find(function).is_some_and(|f| f.kind == Kind::Aggregate) => {
                return true;
            }
            ExprKind::Over { .. } => {}
            _ => expr.children_into(&mut next),
        }
    }
    false
}

/// Finds the function, lowers and checks the arguments, and builds the expression.
pub fn call(lower: &mut Lower, name: &str, args: &[Arg], span: Option<&Span>) -> Result<TypedExpr, Diagnostic> {
    let Some(function) = find(name) else { return Err(unknown(lower, name, span)) };
    if function.name == "struct.field" {
        names_with_dots(lower, args, span)?;
    }
    let named;
    let args = match function.name {
        // Names are those of the fields.
        "struct" => {
            named = args.iter().cloned().map(as_field).collect::<Vec<_>>();
            &named[..]
        }
        _ => args,
    };
    let (args, conditions) = match function.kind {
        Kind::Aggregate => unfiltered(args),
        _ => (args.to_vec(), Vec::new()),
    };
    let build = |lower: &mut Lower| -> Result<Call, Diagnostic> { arguments(lower, function, &args, span) };
    let (call, filter) = match function.kind {
        Kind::Aggregate => (lower.inside(build)?, lower.inside(|lower| filter_of(lower, &conditions))?),
        _ => (build(lower)?, None),
    };
    let outer = std::mem::replace(&mut lower.filter, filter);
    let result = (function.build)(lower, &call);
    lower.filter = outer;
    let mut result = result.map_err(|mut e| {
        if e.labels.is_empty() {
            e = lower.fail(e, span, "");
        }
        e
    })?;
    result.span = span.cloned().or(result.span);
    result.literal = None;
    Ok(result)
}

/// A function that is none: the nearest one, or what another library's word is called here.
fn unknown(lower: &Lower, name: &str, span: Option<&Span>) -> Diagnostic {
    let mut diagnostic = diagnostics::plan_error("unknown-function", format!("there is no function `{name}`"));
    let short = name.rsplit('.').next().unwrap_or(name);
    let near = || {
        let near = diagnostics::nearest(name, CATALOGUE.keys().copied()).map(str::to_string).or_else(|| {
            let mut full = ["str", "dt", "list"].into_iter().map(|p| format!("{p}.{short}"));
            full.find(|full| CATALOGUE.contains_key(full.as_str()))
        });
        near.or_else(|| CATALOGUE.contains_key(short).then(|| short.to_string()))
    };
    match elsewhere(short) {
        Some(help) => diagnostic = diagnostic.help(help),
        None => {
            if let Some(near) = near() {
                diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
            }
        }
    }
    lower.fail(diagnostic, span, "not a function that frames know")
}

/// Words of pandas and SQL that are written in another way here.
fn elsewhere(name: &str) -> Option<&'static str> {
    Some(match name {
        "apply" | "map" | "map_elements" | "applymap" | "transform" => {
            "expressions work on whole columns: arithmetic, `if`, `match`, `.replace({map})`; for Rust code by group: `frame.map_groups`"
        }
        "astype" => "a type is changed with `.cast(\"f64\")` or `as f64`",
        "isna" | "isnull" => "`.is_null()`",
        "notna" | "notnull" => "`.is_not_null()`",
        "groupby" => "within groups: `.over(\"key\")`, or `frame.group_by(\"key\").agg(..)`",
        "value_counts" => "`frame.value_counts(\"column\")`",
        "sort_values" | "sort" => "rows are sorted by the frame: `frame.sort(\"column\")`",
        "unique" | "drop_duplicates" => "`frame.select(\"column\").unique()`, or `.n_unique()` for their number",
        "where" => "`if condition { value } else { other }`",
        "rolling" => "`.rolling_mean(7)`, `.rolling_sum(7)`, `.rolling_mean_by(time, \"2h\")`",
        "expanding" => "`.cum_sum()`, `.cum_max()`, `.cum_count()`",
        "nlargest" => "`frame.top_k(5, \"column\")`",
        "nsmallest" => "`frame.bottom_k(5, \"column\")`",
        "to_numpy" | "tolist" | "to_list" | "to_vec" => "values come to Rust with `frame.column::<f64>(\"name\")`",
        _ => return None,
    })
}

/// `x = a` in `struct(x = a)`.
fn as_field(arg: Arg) -> Arg {
    match arg.name {
        Some(name) => {
            let span = arg.value.span.clone();
            let value = onrush_wire::Expr { kind: ExprKind::Alias(Box::new(arg.value), name), span };
            Arg { name: None, value }
        }
        None => arg,
    }
}

/// `Lot.Area`, where there is no column `Lot` but one `Lot.Area`.
fn names_with_dots(lower: &Lower, args: &[Arg], span: Option<&Span>) -> Result<(), Diagnostic> {
    let (Some(first), Some(second)) = (args.first(), args.get(1)) else { return Ok(()) };
    let (ExprKind::Column(column), ExprKind::Literal(Value::Text(field))) = (&first.value.kind, &second.value.kind)
    else {
        return Ok(());
    };
    let full = format!("{column}.{field}");
    if lower.schema.field_with_name(column).is_err() && lower.schema.field_with_name(&full).is_ok() {
        let diagnostic = diagnostics::plan_error("unknown-column", format!("there is no column `{column}`"));
        let diagnostic = diagnostic.help(format!("the name has a dot in it: write `col(\"{full}\")`"));
        return Err(lower.fail(diagnostic, first.value.span.as_ref().or(span), "not a column of this frame"));
    }
    Ok(())
}

/// Functions of a column before an aggregate that take some of its values.
pub const FILTERS: [&str; 4] = ["filter", "drop_nulls", "dropna", "drop_nans"];

/// The arguments of an aggregate over `value.filter(condition)` or `value.drop_nulls()`, with `value` in its place, and
/// the conditions.
fn unfiltered(args: &[Arg]) -> (Vec<Arg>, Vec<Arg>) {
    let (mut args, mut conditions) = (args.to_vec(), Vec::new());
    while let Some(first) = args.first_mut()
        && let ExprKind::Call { function, args: inner } = &first.value.kind
        && FILTERS.contains(&function.as_str())
        && !inner.is_empty()
    {
        let test = match function.as_str() {
            "drop_nulls" | "dropna" => Some("is_not_null"),
            "drop_nans" => Some("is_not_nan"),
            _ => None,
        };
        conditions.extend_from_slice(&inner[1..]);
        conditions.extend(test.map(|test| {
            let kind = ExprKind::Call { function: test.to_string(), args: vec![inner[0].clone()] };
            Arg { name: None, value: onrush_wire::Expr { kind, span: first.value.span.clone() } }
        }));
        first.value = inner[0].value.clone();
    }
    (args, conditions)
}

fn filter_of(lower: &mut Lower, conditions: &[Arg]) -> Result<Option<Expr>, Diagnostic> {
    let mut all: Option<Expr> = None;
    for condition in conditions {
        let typed = lower.expr(&condition.value)?;
        let typed = super::operators::boolean(lower, typed, "filter", condition.value.span.as_ref())?;
        all = Some(match all {
            Some(all) => all.and(typed.expr),
            None => typed.expr,
        });
    }
    Ok(all)
}

fn arguments<'c>(
    lower: &mut Lower,
    function: &'static Function,
    args: &[Arg],
    span: Option<&'c Span>,
) -> Result<Call<'c>, Diagnostic> {
    let params = function.params();
    let mut call = Call { function, args: vec![None; params.len()], rest: Vec::new(), span };
    let usage = |diagnostic: Diagnostic| diagnostic.help(format!("it is called as `{}`", function.usage()));
    let mut next = 0;
    for arg in args {
        let index = match &arg.name {
            Some(name) => match params.iter().position(|p| p.name == name && !p.many) {
                Some(index) => index,
                None => {
                    let known = params.iter().filter(|p| p.name != "self").map(|p| p.name);
                    let mut diagnostic =
                        diagnostics::plan_error("argument", format!("`{}` has no option `{name}`", function.name));
                    if let Some(near) = diagnostics::nearest(name, known) {
                        diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
                    }
                    return Err(lower.fail(usage(diagnostic), arg.value.span.as_ref().or(span), ""));
                }
            },
            None => {
                let index = next;
                if params.get(index).is_none_or(|p| !p.many) {
                    next += 1;
                }
                index
            }
        };
        let Some(param) = params.get(index) else {
            let most = params.iter().filter(|p| p.name != "self").count();
            let given = args.len() - (params.len() - most);
            let message = format!("`{}` takes at most {most} arguments, {given} are given", function.name);
            return Err(lower.fail(
                usage(diagnostics::plan_error("argument", message)),
                arg.value.span.as_ref().or(span),
                "",
            ));
        };
        let value = lower.expr(&fold(&arg.value))?;
        check_argument(lower, function, param, &value, span)?;
        match param.many {
            true => call.rest.push(value),
            false if call.args[index].is_some() => {
                let diagnostic = diagnostics::plan_error("argument", format!("`{}` is given twice", param.name));
                return Err(lower.fail(diagnostic, arg.value.span.as_ref().or(span), ""));
            }
            false => call.args[index] = Some(value),
        }
    }
    if let Some((_, missing)) = params.iter().enumerate().find(|(i, p)| !p.optional && call.args[*i].is_none()) {
        let what =
            if missing.name == "self" { "a column to work on".to_string() } else { format!("`{}`", missing.name) };
        let diagnostic = diagnostics::plan_error("argument", format!("`{}` needs {what}", function.name));
        return Err(lower.fail(usage(diagnostic), span, ""));
    }
    Ok(call)
}

fn check_argument(
    lower: &Lower,
    function: &Function,
    param: &Param,
    value: &TypedExpr,
    span: Option<&Span>,
) -> Result<(), Diagnostic> {
    let dtype = &value.dtype;
    let null = dtype == &DataType::Null;
    let (fits, wanted) = match param.dtype {
        "num" => (type_coercion::is_number(dtype) || dtype == &DataType::Boolean, "a number"),
        "int" => (dtype.is_integer() || (param.literal && integral(value)), "an integer"),
        "str" => (type_coercion::is_text(dtype), "text"),
        "bool" => (dtype == &DataType::Boolean, "a boolean"),
        "date" => (type_coercion::is_date_or_time(dtype), "a date or a time"),
        "time" => (type_coercion::is_temporal(dtype), "a date, a time or a duration"),
        "dur" => (matches!(dtype, DataType::Duration(_)), "a duration"),
        "list" => (type_coercion::is_list(dtype), "a list"),
        _ => (true, ""),
    };
    let receiver = param.name == "self";
    if param.literal && value.literal.is_none() {
        let diagnostic = diagnostics::plan_error(
            "argument",
            format!("`{}` of `{}` must be a fixed value, not a column", param.name, function.name),
        );
        return Err(lower.fail(diagnostic, value.span.as_ref().or(span), "not a fixed value"));
    }
    if fits || (null && !param.literal) {
        return Ok(());
    }
    if let (true, Some(Value::Text(name))) = (receiver, &value.literal)
        && lower.schema.field_with_name(name).is_ok()
    {
        let message = format!("`{}` needs {wanted}, and \"{name}\" in quotes is a string", function.name);
        let diagnostic = diagnostics::plan_error("type-mismatch", message).help(quoted_column(name));
        return Err(lower.fail(diagnostic, value.span.as_ref().or(span), "not a column"));
    }
    let what = if receiver { String::new() } else { format!(" as `{}`", param.name) };
    let mut diagnostic = diagnostics::plan_error(
        "type-mismatch",
        format!("`{}` needs {wanted}{what}, but this is `{}`", function.name, type_name(dtype)),
    );
    diagnostic = match (param.dtype, type_coercion::is_text(dtype)) {
        ("num", true) => diagnostic.help("make the text a number first: `.cast(\"f64\")`"),
        ("date" | "time", true) => {
            diagnostic.help("read the text as a date first: `.str.to_date()` or `.str.to_datetime()`")
        }
        ("str", false) if receiver => diagnostic.help("make it text first: `.cast(\"str\")`"),
        _ => diagnostic,
    };
    Err(lower.fail(diagnostic, value.span.as_ref().or(span), &format!("this is `{}`", type_name(dtype))))
}

fn integral(value: &TypedExpr) -> bool {
    matches!(value.literal, Some(Value::Float(v)) if v.fract() == 0.0)
}
