//! Formats physical expressions in the syntax of a cell.
//!
//! Positions and casts between string layouts are left out, and hidden columns are replaced by the expressions that
//! they hold.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal, NegativeExpr,
    NotExpr, TryCastExpr,
};
use datafusion::physical_expr::window::{
    PlainAggregateWindowExpr, SlidingAggregateWindowExpr, StandardWindowExpr, WindowExpr,
};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr, ScalarFunctionExpr};
use datafusion::physical_plan::windows::WindowUDFExpr;
use onrush_expr::diagnostics::{HIDDEN, type_name};
use onrush_expr::nan::is_one_nan;
use onrush_expr::scalar_udf::CAST;
use onrush_expr::type_coercion;

/// What columns with hidden names stand for.
pub type Names = HashMap<String, String>;

/// A name that the user has not given.
pub fn is_hidden(name: &str) -> bool {
    name.starts_with(HIDDEN) || name.starts_with("__common_expr")
}

/// The number of the row, by which the engine keeps the frame's order.
pub fn is_row(name: &str) -> bool {
    name.strip_prefix(HIDDEN) == Some("row")
}

/// A name that says what it is: that number, and what as-of joins look for.
pub fn is_telling(name: &str) -> bool {
    is_row(name) || name.strip_prefix(HIDDEN).is_some_and(|name| name.starts_with("asof_"))
}

pub fn expr(expr: &Arc<dyn PhysicalExpr>, names: &Names) -> String {
    text(expr, names, 0)
}

fn list<'e>(exprs: impl IntoIterator<Item = &'e Arc<dyn PhysicalExpr>>, names: &Names) -> String {
    let mut all: Vec<String> = exprs.into_iter().map(|e| expr(e, names)).collect();
    let count = all.len();
    if count > 8 {
        all.truncate(4);
        all.push(format!("… ({count} in all)"));
    }
    all.join(", ")
}

/// `level`: how tightly what stands around it binds.
fn text(this: &Arc<dyn PhysicalExpr>, names: &Names, level: u8) -> String {
    let any: &dyn Any = this.as_ref();
    if let Some(column) = any.downcast_ref::<Column>() {
        return name(column.name(), names);
    }
    if let Some(value) = any.downcast_ref::<Literal>() {
        return literal(value.value());
    }
    if let Some(e) = any.downcast_ref::<BinaryExpr>() {
        let (symbol, binds) = operator(e.op());
        // `x + 0.0` gives the two zeros one sign.
        if *e.op() == Operator::Plus && is_zero(e.right()) {
            return text(e.left(), names, level);
        }
        let inner = format!("{} {symbol} {}", text(e.left(), names, binds), text(e.right(), names, binds + 1));
        return if binds < level { format!("({inner})") } else { inner };
    }
    if let Some(e) = any.downcast_ref::<CastExpr>() {
        return cast(e.expr(), e.target_field().data_type(), names);
    }
    if let Some(e) = any.downcast_ref::<TryCastExpr>() {
        return cast(e.expr(), e.target_field().data_type(), names);
    }
    if let Some(e) = any.downcast_ref::<NotExpr>() {
        return format!("!{}", text(e.arg(), names, 9));
    }
    if let Some(e) = any.downcast_ref::<NegativeExpr>() {
        return format!("-{}", text(e.arg(), names, 9));
    }
    if let Some(e) = any.downcast_ref::<IsNullExpr>() {
        return format!("{}.is_null()", text(e.arg(), names, 9));
    }
    if let Some(e) = any.downcast_ref::<IsNotNullExpr>() {
        return format!("{}.is_not_null()", text(e.arg(), names, 9));
    }
    if let Some(e) = any.downcast_ref::<InListExpr>() {
        let not = if e.negated() { "not in" } else { "in" };
        return format!("{} {not} [{}]", text(e.expr(), names, 9), list(e.list(), names));
    }
    if let Some(e) = any.downcast_ref::<LikeExpr>() {
        let like = match (e.negated(), e.case_insensitive()) {
            (false, false) => "like",
            (false, true) => "ilike",
            (true, false) => "not like",
            (true, true) => "not ilike",
        };
        return format!("{} {like} {}", text(e.expr(), names, 9), text(e.pattern(), names, 9));
    }
    if let Some(e) = any.downcast_ref::<CaseExpr>() {
        let mut out = String::new();
        for (condition, value) in e.when_then_expr() {
            let condition = match e.expr() {
                Some(value) => format!("{} == {}", expr(value, names), expr(condition, names)),
                None => expr(condition, names),
            };
            out += &format!("if {condition} {{ {} }} else ", expr(value, names));
        }
        let otherwise = e.else_expr().map_or_else(|| "null".to_string(), |e| expr(e, names));
        return format!("{out}{{ {otherwise} }}");
    }
    if let Some(e) = any.downcast_ref::<ScalarFunctionExpr>() {
        if let (Some(to), [value]) = (e.name().strip_prefix(CAST), e.args()) {
            return format!("{} as {to}", text(value, names, 9));
        }
        if let (true, [value]) = (is_one_nan(e.fun()), e.args()) {
            return text(value, names, level);
        }
        return format!("{}({})", function(e.name()), list(e.args(), names));
    }
    this.to_string()
}

fn is_zero(this: &Arc<dyn PhysicalExpr>) -> bool {
    let any: &dyn Any = this.as_ref();
    let value = any.downcast_ref::<Literal>().map(Literal::value);
    matches!(value, Some(ScalarValue::Float64(Some(v))) if *v == 0.0)
        || matches!(value, Some(ScalarValue::Float32(Some(v))) if *v == 0.0)
}

fn cast(inner: &Arc<dyn PhysicalExpr>, to: &arrow::datatypes::DataType, names: &Names) -> String {
    let any: &dyn Any = inner.as_ref();
    // Layouts of text, and literals, are no conversions of the user's.
    if type_coercion::is_text(to) && any.downcast_ref::<CastExpr>().is_none() || any.downcast_ref::<Literal>().is_some()
    {
        return text(inner, names, 9);
    }
    format!("{} as {}", text(inner, names, 9), type_name(to))
}

/// A column's name, or what it stands for.
pub fn name(column: &str, names: &Names) -> String {
    match names.get(column) {
        Some(known) => known.clone(),
        None if is_row(column) => "row".to_string(),
        None => column.strip_prefix(HIDDEN).unwrap_or(column).to_string(),
    }
}

fn literal(value: &ScalarValue) -> String {
    match value {
        ScalarValue::Utf8(Some(t)) | ScalarValue::Utf8View(Some(t)) | ScalarValue::LargeUtf8(Some(t)) => {
            format!("\"{t}\"")
        }
        value if value.is_null() => "null".to_string(),
        value => value.to_string(),
    }
}

fn operator(op: &Operator) -> (&'static str, u8) {
    match op {
        Operator::Or => ("||", 1),
        Operator::And => ("&&", 2),
        Operator::Eq => ("==", 3),
        Operator::NotEq => ("!=", 3),
        Operator::Lt => ("<", 3),
        Operator::LtEq => ("<=", 3),
        Operator::Gt => (">", 3),
        Operator::GtEq => (">=", 3),
        Operator::IsDistinctFrom => ("is distinct from", 3),
        Operator::IsNotDistinctFrom => ("is not distinct from", 3),
        Operator::BitwiseOr => ("|", 4),
        Operator::BitwiseXor => ("^", 4),
        Operator::BitwiseAnd => ("&", 4),
        Operator::BitwiseShiftLeft => ("<<", 5),
        Operator::BitwiseShiftRight => (">>", 5),
        Operator::Plus | Operator::StringConcat => ("+", 6),
        Operator::Minus => ("-", 6),
        Operator::Multiply => ("*", 7),
        Operator::Divide => ("/", 7),
        Operator::Modulo => ("%", 7),
        Operator::RegexMatch => ("~", 3),
        _ => ("?", 3),
    }
}

/// A function's name in the words of the API.
fn function(name: &str) -> &str {
    match name {
        "avg" => "mean",
        "stddev" => "std",
        "var_samp" => "var",
        "first_value" => "first",
        "last_value" => "last",
        "array_agg" => "implode",
        "string_agg" => "str.join",
        "lag" => "shift",
        "isnan" => "is_nan",
        "reverse_graphemes" => "reverse",
        other => other,
    }
}

fn called(name: &str, args: &[Arc<dyn PhysicalExpr>], names: &Names) -> String {
    let any = args.first().map(|a| a.as_ref() as &dyn Any);
    match (name, any.and_then(|a| a.downcast_ref::<Literal>())) {
        ("count", Some(_)) => "len()".to_string(),
        _ => format!("{}({})", function(name), list(args, names)),
    }
}

/// An aggregate: `mean(dep_delay)`.
pub fn aggregate(this: &AggregateFunctionExpr, names: &Names) -> String {
    called(this.fun().name(), &this.expressions(), names)
}

/// Sort keys: `n descending, name`.
pub fn keys<'k>(keys: impl IntoIterator<Item = &'k PhysicalSortExpr>, names: &Names) -> String {
    let shown: Vec<String> = keys
        .into_iter()
        .filter(|key| {
            let any: &dyn Any = key.expr.as_ref();
            !any.downcast_ref::<Column>().is_some_and(|c| is_row(c.name()))
        })
        .map(|key| match key.options.descending {
            true => format!("{} descending", expr(&key.expr, names)),
            false => expr(&key.expr, names),
        })
        .collect();
    shown.join(", ")
}

/// A window: `mean(dep_delay) over carrier order by day`.
pub fn window(this: &Arc<dyn WindowExpr>, names: &Names) -> String {
    let any = this.as_any();
    let mut partition: Vec<Arc<dyn PhysicalExpr>> = this.partition_by().to_vec();
    let mut args = this.expressions();
    let name = if let Some(window) = any.downcast_ref::<StandardWindowExpr>() {
        let function: &dyn Any = window.get_standard_func_expr().as_any();
        let name = window.get_standard_func_expr().name().to_string();
        match function.downcast_ref::<WindowUDFExpr>() {
            Some(udf) => {
                let inner: &dyn Any = udf.fun().inner().as_ref();
                if let Some(values) = onrush_expr::first_last::own_args(inner) {
                    partition = args.split_off(values.min(args.len()));
                }
                udf.fun().name().to_string()
            }
            None => name,
        }
    } else if let Some(window) = any.downcast_ref::<PlainAggregateWindowExpr>() {
        window.get_aggregate_expr().fun().name().to_string()
    } else if let Some(window) = any.downcast_ref::<SlidingAggregateWindowExpr>() {
        window.get_aggregate_expr().fun().name().to_string()
    } else {
        this.name().to_string()
    };
    args.retain(|a| {
        let any: &dyn Any = a.as_ref();
        !any.downcast_ref::<Column>().is_some_and(|c| is_row(c.name()))
    });
    let mut out = called(&name, &args, names);
    if !partition.is_empty() {
        out += &format!(" over {}", list(&partition, names));
    }
    let order = keys(this.order_by(), names);
    if !order.is_empty() {
        out += &format!(" order by {order}");
    }
    out
}
