//! DuckDB's functions and types under the names that DataFusion has for them, and what is written in the form that it reads.
//!
//! A call is respelt in the parsed query; what DataFusion knows by the same name and meaning passes through.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType, ExactNumberInfo, Expr, Function, FunctionArguments, Ident, ObjectName,
    Statement, TimezoneInfo, UnaryOperator, Value, visit_expressions_mut,
};
use datafusion::sql::sqlparser::dialect::DuckDbDialect;
use datafusion::sql::sqlparser::parser::Parser;
use onrush_wire::Diagnostic;

use super::{names, windows};
use crate::check::plan_error;

/// Binds `a is distinct from b and c` as it should: the parser takes all that follows for a part of `b`.
pub fn bound(statement: &mut Statement) {
    // From within: what a part has on its right is right already.
    let _ = visit_expressions_mut(statement, |expr| {
        match expr {
            Expr::IsDistinctFrom(..) | Expr::IsNotDistinctFrom(..) => apart(expr),
            Expr::BinaryOp { .. } | Expr::UnaryOp { .. } => rotate(expr),
            _ => {}
        }
        ControlFlow::<()>::Continue(())
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

/// `l and (x or c)`, not written so, as `(l and x) or c`: what is left when the right side of `and` began with such a comparison.
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

/// What stands in front of a connective, or of another `is`.
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
    names::title(statement);
    windows::extend(statement)?;
    let result = visit_expressions_mut(statement, |expr| {
        match expr {
            Expr::Function(function) => match respelt(function) {
                Ok(Some(new)) => *expr = new,
                Ok(None) => {}
                Err(diagnostic) => return ControlFlow::Break(diagnostic),
            },
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
            // What is written with an exponent is a float, and what is written with a point alone a decimal.
            Expr::Value(value) if is_scientific(&value.value) => {
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
            names::tell_apart(statement);
            Ok(())
        }
    }
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

/// A time that is written to the minute, to the second. What stands behind it, a zone, stays.
pub fn with_seconds(text: &str) -> Option<String> {
    let day = b"dddd-dd-dd";
    let fits = |byte: u8, form: u8| match form {
        b'd' => byte.is_ascii_digit(),
        form => byte == form,
    };
    let (head, tail) = text.split_at_checked(16)?;
    let is_day = head.bytes().zip(day).all(|(byte, form)| fits(byte, *form));
    let is_time = head.bytes().skip(11).zip(b"dd:dd").all(|(byte, form)| fits(byte, *form));
    let is_between = matches!(head.as_bytes()[10], b' ' | b'T' | b't');
    let is_minute = !tail.starts_with([':', '.']) && !tail.starts_with(|c: char| c.is_ascii_digit());
    (is_day && is_time && is_between && is_minute).then(|| format!("{head}:00{tail}"))
}

/// DuckDB's types in the words that DataFusion has for them. A plain timestamp counts microseconds.
fn respell_type(dtype: &mut DataType) {
    let new = match dtype {
        DataType::UTinyInt => DataType::TinyIntUnsigned(None),
        DataType::USmallInt => DataType::SmallIntUnsigned(None),
        DataType::UBigInt => DataType::BigIntUnsigned(None),
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

fn respelt(function: &mut Function) -> Result<Option<Expr>, Diagnostic> {
    let name = function.name.to_string().to_lowercase().replace('"', "");
    let rename = match name.as_str() {
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
        "list_sort" => Some("array_sort"),
        "list_distinct" => Some("array_distinct"),
        "list_extract" | "list_element" => Some("array_element"),
        "list_concat" | "list_cat" => Some("array_concat"),
        "list_slice" => Some("array_slice"),
        "list_min" => Some("array_min"),
        "list_reverse" => Some("array_reverse"),
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
        ("count_if" | "countif", [x]) => format!("sum(cast({x} as integer))"),
        // DataFusion's own takes the two zeros for two values.
        ("nullif", [x, y]) => format!("case when {x} = {y} then null else {x} end"),
        ("isinf", [x]) => format!("(abs(cast({x} as double)) = cast('inf' as double))"),
        ("isfinite", [x]) => format!("(abs(cast({x} as double)) < cast('inf' as double))"),
        ("product", [x]) if !x.starts_with("CAST(") => format!("product(cast({x} as double))"),
        ("quantile_disc" | "quantile", [x, q]) if q.parse::<f64>().is_ok_and(|q| (0.0..=1.0).contains(&q)) => format!(
            "array_element(array_sort(array_agg({x}) filter (where {x} is not null)), \
             greatest(cast(ceil({q} * count({x})) as bigint), 1))"
        ),
        ("arg_max" | "argmax" | "max_by", [x, by]) => {
            format!("first_value({x} order by {by} desc) filter (where {by} is not null and {x} is not null)")
        }
        ("arg_min" | "argmin" | "min_by", [x, by]) => {
            format!("first_value({x} order by {by}) filter (where {by} is not null and {x} is not null)")
        }
        ("date_diff" | "datediff", [part, from, to]) => difference(part, from, to)?,
        ("date_add", [x, by]) => format!("({x} + {by})"),
        ("last_day", [x]) => format!("cast(date_trunc('month', {x}) + interval '1 month' - interval '1 day' as date)"),
        ("monthname", [x]) => format!("to_char({x}, '%B')"),
        ("dayname", [x]) => format!("to_char({x}, '%A')"),
        ("epoch_ms", [x]) => format!("cast(round(date_part('epoch', {x}) * 1000) as bigint)"),
        // Mondays, and whole hours and days: DuckDB's origin.
        ("time_bucket", [width, x]) => format!("date_bin({width}, {x}, timestamp '2000-01-03 00:00:00')"),
        ("strptime", [x, format]) => format!("cast(to_timestamp_micros({x}, {format}) as timestamp)"),
        ("regexp_extract", [x, pattern]) => extracted(x, &format!("'(' || {pattern} || ')'"), "1"),
        ("regexp_extract", [x, pattern, group]) if group == "0" => {
            extracted(x, &format!("'(' || {pattern} || ')'"), "1")
        }
        ("regexp_extract", [x, pattern, group]) => extracted(x, pattern, group),
        // DataFusion's own fails below zero, or gives a NaN that is less than numbers.
        ("sqrt" | "ln" | "log2" | "log10", [x]) if !x.starts_with("CAST(") => format!("{name}(cast({x} as double))"),
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

/// The text of a group, empty where nothing matches.
fn extracted(text: &str, pattern: &str, group: &str) -> String {
    let found = format!("array_element(regexp_match({text}, {pattern}), {group})");
    format!("case when {text} is null then null else coalesce({found}, '') end")
}

/// How many borders of a part of a date lie between two times.
fn difference(part: &str, from: &str, to: &str) -> Result<String, Diagnostic> {
    let part = part.trim_matches('\'').to_lowercase();
    let months = |x: &str| format!("(date_part('year', {x}) * 12 + date_part('month', {x}))");
    let seconds = |unit: &str, n: u32| {
        let ticks = |x: &str| format!("date_part('epoch', date_trunc('{unit}', cast({x} as timestamp)))");
        format!("cast(({} - {}) / {n} as bigint)", ticks(to), ticks(from))
    };
    Ok(match part.trim_end_matches('s') {
        "day" => format!("cast(cast({to} as date) - cast({from} as date) as bigint)"),
        "month" => format!("cast({} - {} as bigint)", months(to), months(from)),
        "quarter" => {
            let quarters = |x: &str| format!("(date_part('year', {x}) * 4 + date_part('quarter', {x}))");
            format!("cast({} - {} as bigint)", quarters(to), quarters(from))
        }
        "year" => format!("cast(date_part('year', {to}) - date_part('year', {from}) as bigint)"),
        // Whole weeks between the days, wherever a week begins.
        "week" => format!("cast(cast({to} as date) - cast({from} as date) as bigint) // 7"),
        "hour" => seconds("hour", 3_600),
        "minute" => seconds("minute", 60),
        "second" => seconds("second", 1),
        other => {
            return Err(plan_error("argument", format!("`date_diff` knows no part `{other}`"))
                .help("one of year, quarter, month, week, day, hour, minute, second"));
        }
    })
}
