//! DuckDB's functions and types under the names that DataFusion has for them, and what is written in the form that it
//! reads.
//!
//! A call is respelt in the parsed query; what DataFusion knows by the same name and meaning passes through.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType, DateTimeField, ExactNumberInfo, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentClause, FunctionArguments, Ident, Interval, NullTreatment, ObjectName, ObjectNamePart, OrderByExpr,
    Statement, TimezoneInfo, UnaryOperator, Value,
};
use onrush_expr::diagnostics::plan_error;
use onrush_wire::Diagnostic;

use super::ast::call;
use super::datetime::with_seconds;
use super::walk::each;
use super::{aliases, datetime, duckdb, intervals, named_windows, syntax};

/// Binds `a is distinct from b and c` as it should: the parser takes all that follows for a part of `b`.
pub fn bound(statement: &mut Statement) {
    // From within: what a part has on its right is right already.
    let _ = each(statement, &mut |expr| {
        match expr {
            Expr::IsDistinctFrom(..) | Expr::IsNotDistinctFrom(..) => apart(expr),
            Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, .. } => sign_first(expr),
            Expr::BinaryOp { .. } | Expr::UnaryOp { .. } => rotate(expr),
            _ => {}
        }
        ControlFlow::Continue(())
    });
}

fn null() -> Expr {
    Expr::Value(Value::Null.into())
}

/// `a is distinct from (b and c)`, not written so, as `(a is distinct from b) and c`.
fn apart(expr: &mut Expr) {
    let is_not = matches!(expr, Expr::IsNotDistinctFrom(..));
    let (Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right)) = expr else { return };
    if first(right).is_none() {
        return;
    }
    let left = std::mem::replace(left, Box::new(null()));
    let mut all = std::mem::replace(right.as_mut(), null());
    let mut place = &mut all;
    while first(place).is_some() {
        place = first(place).expect("it was there");
    }
    let right = Box::new(std::mem::replace(place, null()));
    *place = match is_not {
        true => Expr::IsNotDistinctFrom(left, right),
        false => Expr::IsDistinctFrom(left, right),
    };
    *expr = all;
}

/// `-2 ^ 2` as `(-2) ^ 2`: a sign binds more than a power.
fn sign_first(expr: &mut Expr) {
    let Expr::UnaryOp { op, expr: of } = expr else { return };
    if !matches!(of.as_ref(), Expr::BinaryOp { op: BinaryOperator::BitwiseXor, .. }) {
        return;
    }
    let op = *op;
    let mut all = std::mem::replace(of.as_mut(), null());
    let mut place = &mut all;
    while let Expr::BinaryOp { left, op: BinaryOperator::BitwiseXor, .. } = place {
        place = left;
    }
    let base = std::mem::replace(place, null());
    *place = Expr::UnaryOp { op, expr: Box::new(base) };
    *expr = all;
}

/// `l and (x or c)`, not written so, as `(l and x) or c`: what is left when the right side of `and` began with such a
/// comparison.
fn rotate(expr: &mut Expr) {
    let (strength, right) = match expr {
        Expr::BinaryOp { op, right, .. } => (strength(op), right),
        Expr::UnaryOp { op: UnaryOperator::Not, expr: right } => (Some(3), right),
        _ => return,
    };
    let Some(strength) = strength.filter(|strength| looser(right, *strength).is_some()) else { return };
    let mut all = std::mem::replace(right.as_mut(), null());
    let mut place = &mut all;
    while looser(place, strength).is_some() {
        place = looser(place, strength).expect("it was there");
    }
    **right = std::mem::replace(place, null());
    *place = std::mem::replace(expr, null());
    *expr = all;
}

/// `not` is 3.
fn strength(op: &BinaryOperator) -> Option<u8> {
    match op {
        BinaryOperator::And => Some(2),
        BinaryOperator::Or => Some(1),
        _ => None,
    }
}

/// The left side of a connective that binds less than another.
fn looser(expr: &mut Expr, than: u8) -> Option<&mut Expr> {
    match expr {
        Expr::BinaryOp { left, op, .. } if strength(op).is_some_and(|own| own < than) => Some(left),
        _ => None,
    }
}

/// The operand in front of a connective, or of another `is`.
fn first(expr: &mut Expr) -> Option<&mut Expr> {
    match expr {
        Expr::BinaryOp { left, op, .. } if strength(op).is_some() => Some(left),
        Expr::IsNull(of) | Expr::IsNotNull(of) | Expr::IsTrue(of) | Expr::IsFalse(of) => Some(of),
        Expr::IsNotTrue(of) | Expr::IsNotFalse(of) | Expr::IsUnknown(of) | Expr::IsNotUnknown(of) => Some(of),
        _ => None,
    }
}

pub fn rewrite(statement: &mut Statement) -> Result<(), Diagnostic> {
    // Before anything else: the names are those of the text as it was written.
    aliases::title(statement);
    named_windows::extend(statement)?;
    duckdb::calls(statement)?;
    let result = each(statement, &mut |expr| {
        if let Some(new) = duckdb::rewritten(expr) {
            *expr = new;
        }
        match expr {
            Expr::Function(function) => match rewrite_function(function) {
                Ok(Some(new)) => *expr = new,
                Ok(None) => {}
                Err(diagnostic) => return ControlFlow::Break(diagnostic),
            },
            Expr::Cast { data_type: DataType::Timestamp(_, zone), expr: of, kind, .. } if has_zone(*zone) => {
                let function = match kind {
                    CastKind::TryCast | CastKind::SafeCast => "try_to_timestamptz",
                    CastKind::Cast | CastKind::DoubleColon => "to_timestamptz",
                };
                *expr = call(function, vec![std::mem::replace(of.as_mut(), null())]);
            }
            Expr::TypedString(typed) if matches!(typed.data_type, DataType::Timestamp(_, zone) if has_zone(zone)) => {
                *expr = call("to_timestamptz", vec![Expr::Value(typed.value.clone())]);
            }
            Expr::AtTimeZone { timestamp, time_zone } => {
                let take = |expr: &mut Expr| std::mem::replace(expr, null());
                *expr = call("timezone", vec![take(time_zone), take(timestamp)]);
            }
            Expr::Extract { field, expr: of, .. } => {
                if let Some(part) = datetime::own_part(&field.to_string()) {
                    *expr = call("calendar_part", vec![text(&part), std::mem::replace(of.as_mut(), null())]);
                }
            }
            // An error where there is no such number, and of spans of time, too.
            Expr::UnaryOp { op: UnaryOperator::Minus, expr: of } if !matches!(of.as_ref(), Expr::Value(_)) => {
                *expr = call("negate", vec![std::mem::replace(of.as_mut(), null())]);
            }
            Expr::Interval(interval) => {
                if let Some(new) = spelt_interval(interval) {
                    *expr = new;
                }
            }
            Expr::Cast { data_type, expr: of, .. } => {
                respell_type(data_type);
                if let (DataType::Timestamp(..), Expr::Value(value)) = (data_type, of.as_mut()) {
                    to_the_second(&mut value.value);
                }
            }
            Expr::TypedString(typed) => {
                respell_type(&mut typed.data_type);
                if matches!(typed.data_type, DataType::Timestamp(..)) {
                    to_the_second(&mut typed.value.value);
                }
            }
            // A number with an exponent or with too many digits is a float, and one with a point alone a decimal.
            Expr::Value(value) if is_scientific(&value.value) || is_too_long(&value.value) => {
                let text = Value::SingleQuotedString(value.value.to_string());
                *expr = Expr::Cast {
                    kind: CastKind::Cast,
                    expr: Box::new(Expr::Value(text.into())),
                    data_type: DataType::Double(ExactNumberInfo::None),
                    array: false,
                    format: None,
                };
            }
            // DuckDB has no escape in a pattern unless one is named.
            Expr::Like { pattern, escape_char: None, .. } | Expr::ILike { pattern, escape_char: None, .. } => {
                if let Expr::Value(value) = pattern.as_mut()
                    && let Value::SingleQuotedString(text) = &mut value.value
                {
                    *text = text.replace('\\', "\\\\");
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    match result {
        ControlFlow::Break(diagnostic) => Err(diagnostic),
        ControlFlow::Continue(()) => {
            aliases::tell_apart(statement);
            Ok(())
        }
    }
}

fn has_zone(zone: TimezoneInfo) -> bool {
    matches!(zone, TimezoneInfo::Tz | TimezoneInfo::WithTimeZone)
}

fn text(text: &str) -> Expr {
    Expr::Value(Value::SingleQuotedString(text.to_string()).into())
}

/// `interval 1 month` as `interval '1' month`, which frames of windows take, too, and `interval (a) month` as a
/// function of `a`. Units that the parser does not know become others.
fn spelt_interval(interval: &mut Interval) -> Option<Expr> {
    let Some(field) = &interval.leading_field else {
        if let Expr::Value(value) = interval.value.as_mut()
            && let Value::SingleQuotedString(text) = &mut value.value
            && let Some(spelt) = intervals::spelt(text)
        {
            *text = spelt;
        }
        return None;
    };
    let unit = field.to_string().to_lowercase();
    let unit = unit.trim_end_matches('s');
    let number = match interval.value.as_ref() {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => Some(digits.clone()),
            Value::SingleQuotedString(text) => Some(text.trim().to_string()),
            _ => None,
        },
        _ => None,
    };
    let Some(number) = number else {
        let function = match unit {
            "century" | "centurie" => "to_centuries".to_string(),
            "millennium" => "to_millennia".to_string(),
            unit => format!("to_{unit}s"),
        };
        return Some(call(&function, vec![std::mem::replace(interval.value.as_mut(), null())]));
    };
    // Seconds and milliseconds alone have fractions.
    let is_fine = matches!(unit, "second" | "millisecond");
    let number = match number.split_once('.') {
        Some((whole, _)) if !is_fine && number.parse::<f64>().is_ok() => {
            if matches!(whole, "" | "-") {
                "0".to_string()
            } else {
                whole.to_string()
            }
        }
        _ => number,
    };
    let larger = |per: i64| number.parse::<i64>().ok().and_then(|n| n.checked_mul(per)).map(|n| n.to_string());
    let (number, field) = match unit {
        "quarter" => (larger(3)?, DateTimeField::Month),
        "decade" => (larger(10)?, DateTimeField::Year),
        "century" | "centurie" => (larger(100)?, DateTimeField::Year),
        "millennium" | "millennia" => (larger(1000)?, DateTimeField::Year),
        _ => (number, interval.leading_field.clone()?),
    };
    *interval.value = Expr::Value(Value::SingleQuotedString(number).into());
    interval.leading_field = Some(field);
    None
}

/// A decimal literal with more digits than a decimal has.
fn is_too_long(value: &Value) -> bool {
    matches!(value, Value::Number(digits, _) if digits.contains('.') && digits.bytes().filter(u8::is_ascii_digit).count() > 38)
}

fn is_scientific(value: &Value) -> bool {
    matches!(value, Value::Number(digits, _) if digits.contains(['e', 'E']) && !digits.starts_with("0x"))
}

/// `2024-01-31 10:00` with seconds, as Arrow wants it.
fn to_the_second(value: &mut Value) {
    if let Value::SingleQuotedString(text) = value
        && let Some(whole) = with_seconds(text)
    {
        *text = whole;
    }
}

/// DuckDB's types in the words that DataFusion has for them. A plain timestamp counts microseconds.
fn respell_type(dtype: &mut DataType) {
    let new = match dtype {
        DataType::UTinyInt => DataType::TinyIntUnsigned(None),
        DataType::USmallInt => DataType::SmallIntUnsigned(None),
        DataType::UBigInt | DataType::UInt64 => DataType::BigIntUnsigned(None),
        DataType::UInt8 => DataType::TinyIntUnsigned(None),
        DataType::UInt16 => DataType::SmallIntUnsigned(None),
        DataType::UInt32 => DataType::IntegerUnsigned(None),
        DataType::Timestamp(None, zone @ (TimezoneInfo::None | TimezoneInfo::WithoutTimeZone)) => {
            DataType::Timestamp(Some(6), *zone)
        }
        DataType::Custom(name, _) => match name.to_string().to_lowercase().trim_matches('"') {
            "uinteger" => DataType::IntegerUnsigned(None),
            "usmallint" => DataType::SmallIntUnsigned(None),
            _ => return,
        },
        _ => return,
    };
    *dtype = new;
}

/// DataFusion's name of a function.
fn renamed(name: &str) -> Option<&'static str> {
    match name {
        "list" => Some("array_agg"),
        "first" | "arbitrary" => Some("first_value"),
        "last" => Some("last_value"),
        "strlen" => Some("octet_length"),
        "length" | "char_length" => Some("len"),
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
        "string_split" | "str_split" | "split" | "string_to_list" => Some("string_to_array"),
        "list_value" | "list_pack" => Some("make_array"),
        "list_contains" | "list_has" | "array_contains" => Some("array_has"),
        "list_extract" | "list_element" => Some("array_element"),
        "list_concat" | "list_cat" => Some("array_concat"),
        "list_slice" => Some("array_slice"),
        "list_min" => Some("array_min"),
        "list_max" => Some("array_max"),
        "list_reverse" => Some("array_reverse"),
        _ => None,
    }
}

fn rewrite_function(function: &mut Function) -> Result<Option<Expr>, Diagnostic> {
    // A word that comes twice is quoted as it came first. Names of functions have no case, quoted or not.
    if let [ObjectNamePart::Identifier(name)] = function.name.0.as_mut_slice() {
        name.quote_style = None;
    }
    let name = function.name.to_string().to_lowercase().replace('"', "");
    let rename = renamed(&name);
    if matches!(name.as_str(), "lag" | "lead") {
        return shifted(function, &name);
    }
    if let ("string_agg" | "group_concat" | "listagg", FunctionArguments::List(list)) =
        (name.as_str(), &mut function.args)
        && list.args.len() == 1
    {
        list.args.push(FunctionArg::Unnamed(FunctionArgExpr::Expr(text(","))));
    }
    if let ("regexp_matches", FunctionArguments::List(list)) = (name.as_str(), &function.args)
        && let [FunctionArg::Unnamed(FunctionArgExpr::Expr(x)), FunctionArg::Unnamed(FunctionArgExpr::Expr(pattern))] =
            list.args.as_slice()
    {
        return Ok(Some(duckdb::matched(x.clone(), pattern.clone())));
    }
    // An empty separator splits into characters, and a null does not split. DataFusion has them the other way round.
    if let (
        "string_split" | "str_split" | "split" | "string_to_list" | "string_to_array",
        FunctionArguments::List(list),
    ) = (name.as_str(), &mut function.args)
        && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(separator))) = list.args.get_mut(1)
    {
        let is_empty = |value: &Value| matches!(value, Value::SingleQuotedString(text) if text.is_empty());
        match separator {
            Expr::Value(v) if is_empty(&v.value) => *separator = null(),
            Expr::Value(v) if v.value == Value::Null => *separator = text(""),
            _ => {}
        }
    }
    // Fractions of seconds have six digits in C's `%f`, and nine here.
    if let ("strftime", FunctionArguments::List(list)) = (name.as_str(), &mut function.args)
        && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))) = list.args.get_mut(1)
        && let Value::SingleQuotedString(format) = &mut value.value
    {
        *format = format.replace("%f", "%6f").replace("%g", "%3f").replace("%n", "%9f");
        *format = format.replace("%c", "%Y-%m-%d %H:%M:%S").replace("%x", "%Y-%m-%d");
    }
    if let Some(new) = rename {
        function.name = ObjectName::from(vec![Ident::new(new)]);
        return Ok(None);
    }
    let FunctionArguments::List(list) = &function.args else { return Ok(None) };
    let args: Vec<String> = list.args.iter().map(|a| a.to_string()).collect();
    let order = list.clauses.iter().find_map(|clause| match clause {
        FunctionArgumentClause::OrderBy(order) => Some(order.as_slice()),
        _ => None,
    });
    if let Some(new) = missing_group(&name, &list.args) {
        return read(&name, &new);
    }
    let text = match (name.as_str(), args.as_slice()) {
        ("year" | "month" | "day" | "hour" | "minute" | "quarter" | "week", [x]) => {
            format!("cast(date_part('{name}', {x}) as bigint)")
        }
        ("second", [x]) => format!("cast(floor(date_part('second', {x})) as bigint)"),
        ("dayofmonth", [x]) => format!("cast(date_part('day', {x}) as bigint)"),
        ("dayofweek" | "weekday", [x]) => format!("cast(date_part('dow', {x}) as bigint)"),
        ("dayofyear", [x]) => format!("cast(date_part('doy', {x}) as bigint)"),
        ("isodow", [x]) => format!("cast((date_part('dow', {x}) + 6) % 7 + 1 as bigint)"),
        ("weekofyear", [x]) => format!("cast(date_part('week', {x}) as bigint)"),
        ("epoch", [x]) => format!("date_part('epoch', {x})"),
        ("if", [condition, yes, no]) => format!("case when {condition} then {yes} else {no} end"),
        ("quantile_cont", [x, q]) if order.is_some_and(is_descending) => {
            format!("percentile_cont({x}, {})", from_above(q))
        }
        ("quantile_cont", [x, q]) => format!("percentile_cont({x}, {q})"),
        // DataFusion's own counts from below in any order.
        ("percentile_cont", [q])
            if let [first] = function.within_group.as_slice()
                && is_descending(&function.within_group) =>
        {
            format!("percentile_cont({}, {})", first.expr, from_above(q))
        }
        ("percentile_disc", [q]) if let [first] = function.within_group.as_slice() => {
            quantile_disc(&first.expr.to_string(), q, is_descending(&function.within_group))
        }
        // DataFusion's own takes the first value in any order.
        ("any_value", [x]) if let Some(order) = order => {
            let order: Vec<String> = order.iter().map(OrderByExpr::to_string).collect();
            let filter = function.filter.as_ref().map_or(String::new(), |filter| format!("({filter}) and "));
            let over = function.over.as_ref().map_or(String::new(), |over| format!(" over {over}"));
            let order = order.join(", ");
            return read(
                &name,
                &format!("first_value({x} order by {order}) filter (where {filter}{x} is not null){over}"),
            );
        }
        ("mode", [_]) if order.is_some() => {
            let error = plan_error("not-supported", "`mode` takes values in any order: it has no ORDER BY");
            return Err(error.help("without ORDER BY it is the smallest of the most frequent values"));
        }
        // DataFusion's own takes the two zeros for two values.
        ("nullif", [x, y]) => format!("case when {x} = {y} then null else {x} end"),
        ("isinf", [x]) => format!("(abs(cast({x} as double)) = cast('inf' as double))"),
        ("isfinite", [x]) => format!("(abs(cast({x} as double)) < cast('inf' as double))"),
        ("product", [x]) if !x.starts_with("CAST(") => {
            let filter = function.filter.as_ref().map_or(String::new(), |filter| format!(" filter (where {filter})"));
            let over = function.over.as_ref().map_or(String::new(), |over| format!(" over {over}"));
            let product = format!("product(cast({x} as double)){filter}{over}");
            return read(&name, &format!("case when count({x}){filter}{over} > 0 then {product} end"));
        }
        ("quantile_disc" | "quantile", [x, q]) if q.parse::<f64>().is_ok_and(|q| (0.0..=1.0).contains(&q)) => {
            quantile_disc(x, q, order.is_some_and(is_descending))
        }
        ("arg_max" | "argmax" | "max_by", [x, by]) => {
            format!("first_value({x} order by {by} desc) filter (where {by} is not null and {x} is not null)")
        }
        ("arg_min" | "argmin" | "min_by", [x, by]) => {
            format!("first_value({x} order by {by}) filter (where {by} is not null and {x} is not null)")
        }
        ("datediff", [part, from, to]) => format!("date_diff({part}, {from}, {to})"),
        ("datesub", [part, from, to]) => format!("date_sub({part}, {from}, {to})"),
        ("datetrunc", [part, x]) => format!("date_trunc({part}, {x})"),
        ("date_part" | "datepart", [part, x]) => {
            match (datetime::own_part(part), part.to_lowercase().trim_matches('\'')) {
                (Some(part), _) => format!("calendar_part('{part}', {x})"),
                (None, "weekday" | "dayofweek") => format!("date_part('dow', {x})"),
                (None, "dayofyear") => format!("date_part('doy', {x})"),
                (None, "weekofyear") => format!("date_part('week', {x})"),
                (None, part) if name == "datepart" => format!("date_part('{part}', {x})"),
                _ => return Ok(None),
            }
        }
        (part, [x]) if datetime::PARTS.contains(&part) => format!("calendar_part('{part}', {x})"),
        ("date_add", [x, by]) => format!("({x} + {by})"),
        ("last_day", [x]) => format!("cast(date_trunc('month', {x}) + interval '1 month' - interval '1 day' as date)"),
        ("monthname", [x]) => format!("to_char({x}, '%B')"),
        ("dayname", [x]) => format!("to_char({x}, '%A')"),
        ("regexp_extract", [x, pattern]) => extracted(x, &format!("'(' || {pattern} || ')'"), "1"),
        ("regexp_extract", [x, pattern, group]) if group == "0" => {
            extracted(x, &format!("'(' || {pattern} || ')'"), "1")
        }
        ("regexp_extract", [x, pattern, group]) => extracted(x, pattern, group),
        // DataFusion's own fails below zero, or gives a NaN that is less than numbers.
        ("sqrt" | "ln" | "log2" | "log10", [x]) if !x.starts_with("CAST(") => format!("{name}(cast({x} as double))"),
        ("log", [x]) => format!("log10(cast({x} as double))"),
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
    read(&name, &text)
}

/// Whether the first key of an order is descending.
fn is_descending(order: &[OrderByExpr]) -> bool {
    order.first().is_some_and(|first| first.options.asc == Some(false))
}

/// The quantile of values in descending order as a quantile of values in ascending order.
fn from_above(q: &str) -> String {
    q.parse::<f64>().map_or_else(|_| format!("1 - ({q})"), |q| (1.0 - q).to_string())
}

/// One of the values, at the quantile `q`.
fn quantile_disc(x: &str, q: &str, descending: bool) -> String {
    let order = if descending { ", 'DESC', 'NULLS LAST'" } else { "" };
    format!(
        "array_element(array_sort(array_agg({x}) filter (where {x} is not null){order}), \
         greatest(cast(ceil({q} * count({x})) as bigint), 1))"
    )
}

/// The replacement of a call.
fn read(name: &str, text: &str) -> Result<Option<Expr>, Diagnostic> {
    syntax::expression(text)
        .map(Some)
        .map_err(|e| plan_error("sql-syntax", format!("`{name}(...)` could not be read: {e}")))
}

/// `lag(x, n, y)` whose default is computed: where no row is so far away it is `y`.
fn shifted(function: &mut Function, name: &str) -> Result<Option<Expr>, Diagnostic> {
    let FunctionArguments::List(list) = &mut function.args else { return Ok(None) };
    if matches!(list.args.get(1), Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(v)))) if v.value == Value::Null)
    {
        list.args.truncate(1);
        return read(name, &format!("case when false then {function} end"));
    }
    let is_plain = |arg: &FunctionArg| {
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)) = arg else { return true };
        let of = match arg {
            Expr::UnaryOp { expr, .. } | Expr::Cast { expr, .. } => expr.as_ref(),
            other => other,
        };
        matches!(of, Expr::Value(_) | Expr::TypedString(_))
    };
    if let Some(by) = list.args.get(1).filter(|by| !is_plain(by)) {
        let message = format!("`{name}` goes as far as a number says that is written, not as far as `{by}`");
        return Err(plan_error("not-supported", message).help(format!("write a number: `{name}({}, 2)`", list.args[0])));
    }
    let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(default))) = list.args.get(2).filter(|d| !is_plain(d)) else {
        return Ok(None);
    };
    let (default, ignores) = (default.clone(), list.clauses.iter().any(is_ignore_nulls));
    if ignores || function.null_treatment == Some(NullTreatment::IgnoreNulls) {
        let message = format!("`{name}` that ignores nulls takes a default that is written, not `{default}`");
        return Err(plan_error("not-supported", message).help(format!("use `coalesce({name}(...), {default})`")));
    }
    list.args.truncate(2);
    let values = Expr::Function(function.clone());
    let mut there = function.clone();
    if let FunctionArguments::List(list) = &mut there.args {
        let one = Expr::Value(Value::Number("1".to_string(), false).into());
        list.args[0] = FunctionArg::Unnamed(FunctionArgExpr::Expr(one));
    }
    read(name, &format!("case when {} is null then {default} else {values} end", Expr::Function(there)))
}

fn is_ignore_nulls(clause: &FunctionArgumentClause) -> bool {
    matches!(clause, FunctionArgumentClause::IgnoreOrRespectNulls(NullTreatment::IgnoreNulls))
}

/// `regexp_extract` of a null, or of a group that the pattern does not have: an empty string.
fn missing_group(name: &str, args: &[FunctionArg]) -> Option<String> {
    let literal = |arg: &FunctionArg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(v))) => Some(v.value.clone()),
        _ => None,
    };
    let [x, pattern, rest @ ..] = args else { return None };
    match (name, literal(pattern)?, rest.first().and_then(literal)) {
        ("regexp_extract", Value::Null, _) => Some("cast(null as varchar)".to_string()),
        ("regexp_extract", Value::SingleQuotedString(pattern), Some(Value::Number(group, _))) => {
            let groups = regex::Regex::new(&pattern).ok()?.captures_len();
            let is_missing = group.parse::<usize>().ok()? >= groups;
            is_missing.then(|| format!("case when {x} is null then null else '' end"))
        }
        _ => None,
    }
}

/// The text of a group, empty where nothing matches.
fn extracted(text: &str, pattern: &str, group: &str) -> String {
    let found = format!("array_element(regexp_match({text}, {pattern}), {group})");
    format!("case when {text} is null then null else coalesce({found}, '') end")
}
