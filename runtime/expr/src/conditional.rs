//! Conditions, nulls, membership, and choices between columns.

use arrow::datatypes::DataType;
use datafusion::functions::expr_fn as df;
use datafusion::logical_expr::{Expr, Operator, binary_expr, expr::Case};
use onrush_wire::{BinaryOp, Diagnostic, Span, Value};

use super::function::{Call, Function, Kind, function};
use super::operators::common;
use super::{Lower, TypedExpr, lit, null, operators};
use crate::diagnostics::{self, type_name};
use crate::type_coercion;

const R: Kind = Kind::Row;

pub const FUNCTIONS: &[Function] = &[
    // Before an aggregate `catalogue::call` has taken it away.
    function("filter", &[], R, "self:any conditions:bool*", |l, c| {
        let diagnostic = diagnostics::plan_error("argument", "`filter` of a column stands before an aggregate")
            .help("`.filter(condition).mean()`; for fewer rows filter the frame: `frame.filter(...)`");
        Err(l.fail(diagnostic, c.span, "no aggregate follows"))
    }),
    function("drop_nulls", &["dropna"], R, "self:any", |l, c| {
        Err(only_before_aggregates(l, c, "drop_nulls_in(\"column\")"))
    }),
    function("drop_nans", &[], R, "self:num", |l, c| Err(only_before_aggregates(l, c, "filter(x!(!column.is_nan()))"))),
    function("not", &[], R, "self:bool", |l, c| operators::not(l, c.this())),
    function("xor", &[], R, "self:bool other:bool", |l, c| {
        operators::binary(l, BinaryOp::Xor, c.this(), c.arg(1), c.span)
    }),
    function("eq_missing", &[], R, "self:any other:any", |l, c| missing(l, c, Operator::IsNotDistinctFrom)),
    function("ne_missing", &[], R, "self:any other:any", |l, c| missing(l, c, Operator::IsDistinctFrom)),
    function("is_null", &["is_none"], R, "self:any", |_, c| Ok(test(c, Expr::IsNull(Box::new(c.this().expr))))),
    function("is_not_null", &["is_some"], R, "self:any", |_, c| Ok(test(c, Expr::IsNotNull(Box::new(c.this().expr))))),
    function("is_nan", &[], R, "self:num", |_, c| {
        let value = c.this();
        match value.dtype.is_floating() {
            true => Ok(test(c, df::isnan(value.expr))),
            false => never(&value, false),
        }
    }),
    function("is_not_nan", &[], R, "self:num", |_, c| {
        let value = c.this();
        match value.dtype.is_floating() {
            true => Ok(test(c, Expr::Not(Box::new(df::isnan(value.expr))))),
            false => never(&value, true),
        }
    }),
    function("is_finite", &[], R, "self:num", |_, c| {
        let value = c.this();
        match value.dtype.is_floating() {
            true => Ok(test(c, finite(&value))),
            false => never(&value, true),
        }
    }),
    function("is_infinite", &[], R, "self:num", |_, c| {
        let value = c.this();
        match value.dtype.is_floating() {
            true => {
                let number = Expr::Not(Box::new(df::isnan(value.expr.clone())));
                Ok(test(c, number.and(Expr::Not(Box::new(finite(&value))))))
            }
            false => never(&value, false),
        }
    }),
    function("fill_null", &["fillna"], R, "self:any value:any", |l, c| {
        let (value, other) = operators::unify(l, c.this(), c.arg(1), "`fill_null`:", c.span)?;
        let dtype = value.dtype.clone();
        Ok(value.with(df::coalesce(vec![value.expr.clone(), other.expr]), dtype))
    }),
    function("fill_nan", &[], R, "self:num value:any", |l, c| {
        let (value, other) = operators::unify(l, c.this(), c.arg(1), "`fill_nan`:", c.span)?;
        if !value.dtype.is_floating() {
            return Ok(c.this());
        }
        choose(&value, df::isnan(value.expr.clone()), other.expr, value.expr.clone(), value.dtype.clone())
    }),
    function("null_if", &["nullif"], R, "self:any value:any", |l, c| {
        let (value, other) = operators::unify(l, c.this(), c.arg(1), "`null_if`:", c.span)?;
        let dtype = value.dtype.clone();
        Ok(value.with(df::nullif(value.expr.clone(), other.expr), dtype))
    }),
    function("coalesce", &[], R, "exprs:any*", |l, c| {
        let Some(first) = c.rest.first().cloned() else {
            return Err(c.wrong(l, 0, "`coalesce` needs at least one column"));
        };
        let (args, dtype) = common(l, c, c.rest.clone())?;
        Ok(first.with(df::coalesce(args), dtype))
    }),
    function("is_in", &[], R, "self:any values:any*", |l, c| {
        let mut list = Vec::new();
        for value in &c.rest {
            match &value.literal {
                Some(Value::List(values)) => {
                    for item in values {
                        list.push(l.expr(&onrush_wire::Expr {
                            kind: onrush_wire::ExprKind::Literal(item.clone()),
                            span: value.span.clone(),
                        })?);
                    }
                }
                _ => list.push(value.clone()),
            }
        }
        member(l, c.this(), list, c.span)
    }),
    function("is_between", &["between"], R, "self:any low:any high:any closed:#str?", |l, c| {
        let closed = c.choice(l, 3, &["both", "left", "right", "none"])?;
        let (value, low, high) = (c.this(), c.arg(1), c.arg(2));
        let (from, to) = match closed {
            "both" => (BinaryOp::GreaterEqual, BinaryOp::LessEqual),
            "left" => (BinaryOp::GreaterEqual, BinaryOp::Less),
            "right" => (BinaryOp::Greater, BinaryOp::LessEqual),
            _ => (BinaryOp::Greater, BinaryOp::Less),
        };
        let above = operators::compare(l, from, value.clone(), low, c.span)?;
        let below = operators::compare(l, to, value.clone(), high, c.span)?;
        Ok(value.with(above.expr.and(below.expr), DataType::Boolean))
    }),
    function("lit", &[], R, "value:any", |_, c| Ok(c.arg(0))),
    function("cast", &[], R, "self:any dtype:#str strict:#bool?", |l, c| {
        let strict = c.opt(2).is_none() || c.flag(2);
        let dtype = parse_type(l, c)?;
        l.cast(&c.this(), &dtype, strict, c.span)
    }),
    function("try_cast", &[], R, "self:any dtype:#str", |l, c| {
        let dtype = parse_type(l, c)?;
        l.cast(&c.this(), &dtype, false, c.span)
    }),
    function("cut", &[], R, "self:num breaks:#list labels:#list? left_closed:#bool?", cut),
    function("min_horizontal", &["least"], R, "exprs:any*", |l, c| horizontal(l, c, "min_horizontal", df::least)),
    function("max_horizontal", &["greatest"], R, "exprs:any*", |l, c| horizontal(l, c, "max_horizontal", df::greatest)),
    function("sum_horizontal", &[], R, "exprs:num*", |l, c| {
        let (args, dtype) = numbers(l, c)?;
        let zero = operators::number(0, &dtype);
        let sum = args.into_iter().map(|a| df::coalesce(vec![a, zero.clone()])).reduce(|a, b| a + b);
        Ok(c.rest[0].with(sum.unwrap_or(zero), dtype))
    }),
    function("mean_horizontal", &[], R, "exprs:num*", |l, c| {
        let (args, _) = numbers(l, c)?;
        let float = |e: Expr| datafusion::logical_expr::cast(e, DataType::Float64);
        let mut sum = lit(0.0);
        let mut count = lit(0.0);
        for arg in args {
            sum = sum + df::coalesce(vec![float(arg.clone()), lit(0.0)]);
            let present = datafusion::logical_expr::when(Expr::IsNotNull(Box::new(arg)), lit(1.0)).otherwise(lit(0.0));
            count = count + present.map_err(crate::error::diagnose)?;
        }
        Ok(c.rest[0].with(sum / df::nullif(count, lit(0.0)), DataType::Float64))
    }),
    function("all_horizontal", &[], R, "exprs:bool*", |l, c| fold(l, c, Operator::And)),
    function("any_horizontal", &[], R, "exprs:bool*", |l, c| fold(l, c, Operator::Or)),
];

fn only_before_aggregates(lower: &Lower, call: &Call, step: &str) -> Diagnostic {
    let name = call.function.name;
    let message = format!("`{name}` of a column stands before an aggregate: the other columns would have more rows");
    let help = format!("`.{name}().mean()`; for fewer rows of the frame: `frame.{step}`");
    lower.fail(diagnostics::plan_error("argument", message).help(help), call.span, "no aggregate follows")
}

fn test(call: &Call, expr: Expr) -> TypedExpr {
    call.this().with(expr, DataType::Boolean)
}

/// The answer for types that have no NaN and no infinity; null stays null.
fn never(value: &TypedExpr, answer: bool) -> Result<TypedExpr, Diagnostic> {
    let result = value.with(lit(answer), DataType::Boolean);
    Ok(value.with(operators::only_if(Expr::IsNotNull(Box::new(value.expr.clone())), &result)?, DataType::Boolean))
}

fn finite(value: &TypedExpr) -> Expr {
    let bound = |v: f64| {
        TypedExpr { expr: lit(v), dtype: DataType::Float64, literal: None, ..value.clone() }.to(&value.dtype).expr
    };
    value.expr.clone().gt(bound(f64::NEG_INFINITY)).and(value.expr.clone().lt(bound(f64::INFINITY)))
}

fn choose(like: &TypedExpr, condition: Expr, yes: Expr, no: Expr, dtype: DataType) -> Result<TypedExpr, Diagnostic> {
    let expr = datafusion::logical_expr::when(condition, yes).otherwise(no).map_err(crate::error::diagnose)?;
    Ok(like.with(expr, dtype))
}

fn numbers(lower: &Lower, call: &Call) -> Result<(Vec<Expr>, DataType), Diagnostic> {
    if call.rest.is_empty() {
        return Err(call.wrong(lower, 0, format!("`{}` needs at least one column", call.function.name)));
    }
    let (args, dtype) = common(lower, call, call.rest.clone())?;
    Ok(match dtype {
        DataType::Boolean => {
            (args.into_iter().map(|a| datafusion::logical_expr::cast(a, DataType::UInt32)).collect(), DataType::UInt32)
        }
        _ => (args, dtype),
    })
}

fn horizontal(lower: &Lower, call: &Call, name: &str, f: fn(Vec<Expr>) -> Expr) -> Result<TypedExpr, Diagnostic> {
    if call.rest.is_empty() {
        return Err(call.wrong(lower, 0, format!("`{name}` needs at least one column")));
    }
    let (args, dtype) = common(lower, call, call.rest.clone())?;
    if !dtype.is_floating() {
        return Ok(call.rest[0].with(f(args), dtype));
    }
    // NaN is left out unless there is nothing else, as in Polars.
    let like = &call.rest[0];
    let without = |arg: &Expr| {
        let number = Expr::Not(Box::new(df::isnan(arg.clone())));
        operators::only_if(number, &like.with(arg.clone(), dtype.clone()))
    };
    let numbers = args.iter().map(without).collect::<Result<Vec<_>, _>>()?;
    Ok(like.with(df::coalesce(vec![f(numbers), f(args)]), dtype))
}

fn fold(lower: &Lower, call: &Call, operator: Operator) -> Result<TypedExpr, Diagnostic> {
    let all = call.rest.iter().map(|t| t.to(&DataType::Boolean).expr).reduce(|a, b| binary_expr(a, operator, b));
    match all {
        Some(expr) => Ok(call.rest[0].with(expr, DataType::Boolean)),
        None => Err(call.wrong(lower, 0, format!("`{}` needs at least one column", call.function.name))),
    }
}

pub fn case(
    lower: &mut Lower,
    branches: &[(onrush_wire::Expr, onrush_wire::Expr)],
    otherwise: Option<&onrush_wire::Expr>,
    span: Option<&Span>,
) -> Result<TypedExpr, Diagnostic> {
    let mut conditions = Vec::new();
    let mut values = Vec::new();
    for (condition, value) in branches {
        let condition = lower.expr(condition)?;
        conditions.push(operators::boolean(lower, condition, "if", span)?.expr);
        values.push(lower.expr(value)?);
    }
    if let Some(otherwise) = otherwise {
        values.push(lower.expr(otherwise)?);
    }
    let Some(first) = values.first().cloned() else {
        return Err(lower.fail(diagnostics::plan_error("argument", "an `if` without branches"), span, ""));
    };
    // The branches' common type; columns say it, literals follow.
    let mut dtype = DataType::Null;
    let guide = values.iter().find(|v| v.literal.is_none()).cloned();
    let mut settled = Vec::new();
    for value in values {
        let value = match &guide {
            Some(guide) => operators::beside(lower, value, guide)?,
            None => value,
        };
        dtype = type_coercion::supertype(&dtype, &value.dtype).ok_or_else(|| {
            let message = format!("the branches give `{}` and `{}`", type_name(&dtype), type_name(&value.dtype));
            let diagnostic =
                diagnostics::plan_error("type-mismatch", message).help("cast one of them to the other's type");
            lower.fail(diagnostic, value.span.as_ref().or(span), &format!("this is `{}`", type_name(&value.dtype)))
        })?;
        settled.push(value);
    }
    let mut values: Vec<Expr> = settled.iter().map(|v| v.to(&dtype).expr).collect();
    let otherwise = match otherwise {
        Some(_) => values.pop(),
        None => Some(null(&dtype)),
    };
    let when_then = conditions.into_iter().map(Box::new).zip(values.into_iter().map(Box::new)).collect();
    Ok(first.with(Expr::Case(Case::new(None, when_then, otherwise.map(Box::new))), dtype))
}

pub fn is_in(
    lower: &mut Lower,
    value: &onrush_wire::Expr,
    list: &[onrush_wire::Expr],
    span: Option<&Span>,
) -> Result<TypedExpr, Diagnostic> {
    let value = lower.expr(value)?;
    let list = list.iter().map(|e| lower.expr(e)).collect::<Result<Vec<_>, _>>()?;
    member(lower, value, list, span)
}

/// Nulls in the list match nothing.
fn member(lower: &Lower, value: TypedExpr, list: Vec<TypedExpr>, span: Option<&Span>) -> Result<TypedExpr, Diagnostic> {
    let mut subject = value.clone();
    let mut items = Vec::new();
    for item in list {
        if item.dtype == DataType::Null {
            continue;
        }
        let (unified, item) = operators::unify(lower, subject, item, "`in`:", span)?;
        subject = unified;
        items.push(item);
    }
    let items: Vec<Expr> = items.iter().map(|i| i.to(&subject.dtype).expr).collect();
    if items.is_empty() {
        return never(&value, false);
    }
    Ok(value.with(subject.expr.clone().in_list(items, false), DataType::Boolean))
}

/// Intervals as text, `(1, 2]`, or labels; closed on the right unless `left_closed`.
fn cut(lower: &mut Lower, call: &Call) -> Result<TypedExpr, Diagnostic> {
    let value = call.this();
    let number = |v: &Value| match v {
        Value::Int(v) => Some(*v as f64),
        Value::UInt(v) => Some(*v as f64),
        Value::Float(v) => Some(*v),
        Value::Float32(v) => Some(f64::from(*v)),
        _ => None,
    };
    let breaks: Vec<f64> = match call.arg(1).literal {
        Some(Value::List(values)) => values.iter().filter_map(number).collect(),
        _ => Vec::new(),
    };
    if breaks.is_empty() || breaks.windows(2).any(|w| w[0].partial_cmp(&w[1]) != Some(std::cmp::Ordering::Less)) {
        return Err(call.wrong(lower, 1, "`breaks` must be numbers in ascending order"));
    }
    let left = call.flag(3);
    let mut edges = vec!["-inf".to_string()];
    edges.extend(breaks.iter().map(f64::to_string));
    edges.push("inf".to_string());
    let labels: Vec<String> = match call.opt(2).and_then(|l| l.literal) {
        Some(Value::List(values)) => {
            let texts: Vec<String> = values
                .iter()
                .map(|v| match v {
                    Value::Text(t) => t.clone(),
                    Value::Int(v) => v.to_string(),
                    Value::Float(v) => v.to_string(),
                    other => format!("{other:?}"),
                })
                .collect();
            if texts.len() != breaks.len() + 1 {
                let message = format!(
                    "{} breaks make {} intervals, {} labels are given",
                    breaks.len(),
                    breaks.len() + 1,
                    texts.len()
                );
                return Err(call.wrong(lower, 2, message));
            }
            texts
        }
        _ => edges
            .windows(2)
            .map(|w| if left { format!("[{}, {})", w[0], w[1]) } else { format!("({}, {}]", w[0], w[1]) })
            .collect(),
    };
    let x = value.f64();
    let text =
        |s: &String| TypedExpr { expr: lit(s.clone()), dtype: DataType::Utf8, literal: None, ..value.clone() }.text();
    let mut branches = vec![(Box::new(Expr::IsNull(Box::new(x.clone()))), Box::new(null(&type_coercion::TEXT)))];
    // NaN lies in no interval.
    if value.dtype.is_floating() {
        branches.push((Box::new(df::isnan(x.clone())), Box::new(null(&type_coercion::TEXT))));
    }
    for (limit, label) in breaks.iter().zip(&labels) {
        let below = if left { x.clone().lt(lit(*limit)) } else { x.clone().lt_eq(lit(*limit)) };
        branches.push((Box::new(below), Box::new(text(label))));
    }
    let last = labels.last().map(text).map(Box::new);
    Ok(value.with(Expr::Case(Case::new(None, branches, last)), type_coercion::TEXT))
}

/// A type by its short name, with the nearest one if there is none of that name.
fn parse_type(lower: &Lower, call: &Call) -> Result<onrush_wire::DataType, Diagnostic> {
    let text = call.text(1).unwrap_or_default();
    type_coercion::parse_dtype(text).ok_or_else(|| call.wrong(lower, 1, format!("there is no type `{text}`")))
}

/// A comparison in which null equals null and nothing else.
fn missing(lower: &mut Lower, call: &Call, operator: Operator) -> Result<TypedExpr, Diagnostic> {
    let (a, b) = operators::unify(lower, call.this(), call.arg(1), "comparison:", call.span)?;
    Ok(a.with(binary_expr(a.expr.clone(), operator, b.expr), DataType::Boolean))
}
