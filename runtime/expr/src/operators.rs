//! Operators between expressions, with Polars' types: `/` is true division, `%` has the divisor's sign, a bare literal
//! takes the type of the other operand, strings and numbers do not mix.

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, Operator, binary_expr, when};
use onrush_wire::{BinaryOp, Diagnostic, Span, Value};

use super::function::Call;
use super::{Lower, TypedExpr, lit, null};
use crate::diagnostics::{self, type_name};
use crate::type_coercion::{self, is_decimal, is_number, is_temporal, is_text};

pub fn not(lower: &Lower, value: TypedExpr) -> Result<TypedExpr, Diagnostic> {
    match &value.dtype {
        DataType::Boolean => Ok(value.with(Expr::Not(Box::new(value.expr.clone())), DataType::Boolean)),
        DataType::Null => Ok(value.with(null(&DataType::Boolean), DataType::Boolean)),
        // As in Rust and Polars: all bits the other way round.
        dtype if dtype.is_integer() => {
            let ones = Expr::Literal(all_ones(dtype), None);
            Ok(value.with(binary_expr(value.expr.clone(), Operator::BitwiseXor, ones), dtype.clone()))
        }
        dtype => Err(lower.fail(
            diagnostics::plan_error(
                "type-mismatch",
                format!("`!` needs a boolean, but this is `{}`", type_name(dtype)),
            ),
            value.span.as_ref(),
            "not a boolean",
        )),
    }
}

fn all_ones(dtype: &DataType) -> ScalarValue {
    match dtype {
        DataType::Int8 => ScalarValue::Int8(Some(-1)),
        DataType::Int16 => ScalarValue::Int16(Some(-1)),
        DataType::Int32 => ScalarValue::Int32(Some(-1)),
        DataType::UInt8 => ScalarValue::UInt8(Some(u8::MAX)),
        DataType::UInt16 => ScalarValue::UInt16(Some(u16::MAX)),
        DataType::UInt32 => ScalarValue::UInt32(Some(u32::MAX)),
        DataType::UInt64 => ScalarValue::UInt64(Some(u64::MAX)),
        _ => ScalarValue::Int64(Some(-1)),
    }
}

pub fn negate(lower: &Lower, value: TypedExpr) -> Result<TypedExpr, Diagnostic> {
    if let Some(literal) = &value.literal {
        let negated = match literal {
            Value::Int(v) => v.checked_neg().map(Value::Int),
            Value::UInt(v) => 0i64.checked_sub_unsigned(*v).map(Value::Int),
            Value::Float(v) => Some(Value::Float(-v)),
            Value::Float32(v) => Some(Value::Float32(-v)),
            _ => None,
        };
        if let Some(negated) = negated {
            let scalar = type_coercion::scalar(&negated)?;
            let dtype = scalar.data_type();
            return Ok(TypedExpr { literal: Some(negated), ..value.with(Expr::Literal(scalar, None), dtype) });
        }
    }
    if matches!(value.dtype, DataType::Duration(_)) {
        let ticks = Expr::Negative(Box::new(value.i64()));
        return Ok(value.with(datafusion::logical_expr::cast(ticks, value.dtype.clone()), value.dtype.clone()));
    }
    let dtype = match &value.dtype {
        d if d.is_signed_integer() || d.is_floating() || is_decimal(d) => d.clone(),
        // Unsigned numbers have no negative ones: the next wider signed type holds them.
        DataType::UInt8 => DataType::Int16,
        DataType::UInt16 => DataType::Int32,
        DataType::UInt32 | DataType::UInt64 => DataType::Int64,
        d => {
            return Err(lower.fail(
                diagnostics::plan_error("type-mismatch", format!("`-` needs a number, but this is `{}`", type_name(d))),
                value.span.as_ref(),
                "not a number",
            ));
        }
    };
    let value = value.to(&dtype);
    Ok(value.with(Expr::Negative(Box::new(value.expr.clone())), dtype))
}

/// Both sides in one type, for comparisons, `if` branches, lists, `fill_null` and the like.
pub fn unify(
    lower: &Lower,
    left: TypedExpr,
    right: TypedExpr,
    what: &str,
    span: Option<&Span>,
) -> Result<(TypedExpr, TypedExpr), Diagnostic> {
    let (left, right) = (beside(lower, left, &right)?, right);
    let right = beside(lower, right, &left)?;
    match type_coercion::supertype(&left.dtype, &right.dtype) {
        Some(dtype) => Ok((left.into(&dtype), right.into(&dtype))),
        None => Err(mismatch(lower, &left, &right, what, span)),
    }
}

/// Casts a bare literal to the type of the other side. A string is parsed if the other side is a date or a time.
pub fn beside(lower: &Lower, value: TypedExpr, other: &TypedExpr) -> Result<TypedExpr, Diagnostic> {
    let Some(literal) = value.literal.clone() else { return Ok(value) };
    if other.literal.is_some() {
        return Ok(value);
    }
    if let Value::Text(text) = &literal
        && is_temporal(&other.dtype)
        && !matches!(other.dtype, DataType::Duration(_))
    {
        let parsed = ScalarValue::Utf8(Some(text.clone())).cast_to(&other.dtype);
        return match parsed {
            Ok(scalar) if !scalar.is_null() => Ok(value.with(Expr::Literal(scalar, None), other.dtype.clone())),
            _ => Err(lower.fail(
                diagnostics::plan_error(
                    "type-mismatch",
                    format!("the text \"{text}\" is not a `{}`", type_name(&other.dtype)),
                )
                .help("write dates as \"2013-01-31\" and times as \"2013-01-31 12:30:00\""),
                value.span.as_ref(),
                "cannot be read as a date or time",
            )),
        };
    }
    // If only the other side has a time zone, the literal is local time in that zone.
    if let (DataType::Timestamp(_, None), DataType::Timestamp(_, Some(_)), Expr::Literal(scalar, _)) =
        (&value.dtype, &other.dtype, &value.expr)
    {
        let there = scalar.cast_to(&DataType::Utf8).and_then(|text| text.cast_to(&other.dtype));
        return match there {
            Ok(there) if !there.is_null() => Ok(value.with(Expr::Literal(there, None), other.dtype.clone())),
            _ => Err(lower.fail(
                diagnostics::plan_error(
                    "type-mismatch",
                    format!("{scalar} is not a time in `{}`", type_name(&other.dtype)),
                ),
                value.span.as_ref(),
                "skipped by the clocks of that zone",
            )),
        };
    }
    match type_coercion::literal_beside(&literal, &other.dtype) {
        Some(dtype) => Ok(TypedExpr { literal: Some(literal), ..value.to(&dtype) }),
        None => Ok(value),
    }
}

fn mismatch(lower: &Lower, left: &TypedExpr, right: &TypedExpr, what: &str, span: Option<&Span>) -> Diagnostic {
    let (a, b) = (type_name(&left.dtype), type_name(&right.dtype));
    let mut diagnostic = diagnostics::plan_error("type-mismatch", format!("{what} `{a}` and `{b}` do not go together"));
    let (text, number) = match (is_text(&left.dtype), is_text(&right.dtype)) {
        (true, false) => (left, right),
        (false, true) => (right, left),
        _ => {
            if let (DataType::Timestamp(_, a), DataType::Timestamp(_, b)) = (&left.dtype, &right.dtype)
                && a.is_some() != b.is_some()
            {
                let (bare, zone) = if a.is_none() { (left, b) } else { (right, a) };
                let zone = zone.as_deref().unwrap_or("UTC");
                diagnostic = diagnostic.help(format!(
                    "one has a time zone and the other has none: `{}.dt.replace_time_zone(\"{zone}\")`",
                    bare.name
                ));
            }
            return lower.fail(diagnostic, span.or(left.span.as_ref()), "");
        }
    };
    let number_type = type_name(&number.dtype);
    diagnostic = match (&text.literal, &number.literal) {
        (Some(Value::Text(name)), _) if lower.schema.field_with_name(name).is_ok() => {
            diagnostic.help(diagnostics::quoted_column(name))
        }
        (Some(Value::Text(name)), Some(_)) => {
            diagnostic.help(format!("\"{name}\" is a string: a column is written without quotes, or `col(\"{name}\")`"))
        }
        (Some(Value::Text(t)), _) if is_number(&number.dtype) && t.trim().parse::<f64>().is_ok() => {
            diagnostic.help(format!("`{}` is a number: write {} without quotes", number.name, t.trim()))
        }
        (Some(_), _) => diagnostic.help(format!("`{}` is `{number_type}`: use a value of that type", number.name)),
        (_, Some(Value::Int(v))) => diagnostic
            .help(format!("`{}` is text: compare with \"{v}\", or make it a number with `.cast(\"i64\")`", text.name)),
        _ => diagnostic.help(format!("make the text a number first: `{}.cast(\"{number_type}\")`", text.name)),
    };
    lower.fail(diagnostic, span.or(text.span.as_ref()), "")
}

pub fn binary(
    lower: &mut Lower,
    op: BinaryOp,
    left: TypedExpr,
    right: TypedExpr,
    span: Option<&Span>,
) -> Result<TypedExpr, Diagnostic> {
    use BinaryOp::*;
    let name = left.name.clone();
    let mut result = match op {
        Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual => compare(lower, op, left, right, span)?,
        And | Or => logic(lower, op, left, right, span)?,
        Xor | BitAnd | BitOr | ShiftLeft | ShiftRight => bits(lower, op, left, right, span)?,
        Add | Subtract | Multiply | Divide | Remainder => arithmetic(lower, op, left, right, span)?,
    };
    result.name = name;
    result.span = span.cloned().or(result.span);
    Ok(result)
}

pub fn compare(
    lower: &Lower,
    op: BinaryOp,
    left: TypedExpr,
    right: TypedExpr,
    span: Option<&Span>,
) -> Result<TypedExpr, Diagnostic> {
    let operator = match op {
        BinaryOp::Equal => Operator::Eq,
        BinaryOp::NotEqual => Operator::NotEq,
        BinaryOp::Less => Operator::Lt,
        BinaryOp::LessEqual => Operator::LtEq,
        BinaryOp::Greater => Operator::Gt,
        _ => Operator::GtEq,
    };
    let what = format!("`{}`:", op.symbol());
    // A literal outside the column's range decides the comparison by itself: widen.
    let (left, right) = unify(lower, left, right, &what, span)?;
    Ok(left.beside(operator, right, DataType::Boolean))
}

fn logic(
    lower: &Lower,
    op: BinaryOp,
    left: TypedExpr,
    right: TypedExpr,
    span: Option<&Span>,
) -> Result<TypedExpr, Diagnostic> {
    let operator = if op == BinaryOp::And { Operator::And } else { Operator::Or };
    let (left, right) = (boolean(lower, left, op.symbol(), span)?, boolean(lower, right, op.symbol(), span)?);
    Ok(left.beside(operator, right, DataType::Boolean))
}

/// A condition; null is allowed.
pub fn boolean(lower: &Lower, value: TypedExpr, what: &str, span: Option<&Span>) -> Result<TypedExpr, Diagnostic> {
    match &value.dtype {
        DataType::Boolean => Ok(value),
        DataType::Null => Ok(value.into(&DataType::Boolean)),
        dtype => Err(lower.fail(
            diagnostics::plan_error(
                "type-mismatch",
                format!("`{what}` needs a condition, but this is `{}`", type_name(dtype)),
            )
            .help(match is_number(dtype) {
                true => "compare it: `!= 0`".to_string(),
                false => "compare it with a value: `==`".to_string(),
            }),
            value.span.as_ref().or(span),
            "not a condition",
        )),
    }
}

fn bits(
    lower: &Lower,
    op: BinaryOp,
    left: TypedExpr,
    right: TypedExpr,
    span: Option<&Span>,
) -> Result<TypedExpr, Diagnostic> {
    let what = format!("`{}`:", op.symbol());
    let (left, right) = unify(lower, left, right, &what, span)?;
    match (&left.dtype, op) {
        (DataType::Boolean, BinaryOp::BitAnd) => Ok(left.beside(Operator::And, right, DataType::Boolean)),
        (DataType::Boolean, BinaryOp::BitOr) => Ok(left.beside(Operator::Or, right, DataType::Boolean)),
        (DataType::Boolean, BinaryOp::Xor) => Ok(left.beside(Operator::NotEq, right, DataType::Boolean)),
        (dtype, op) if dtype.is_integer() => {
            let operator = match op {
                BinaryOp::BitAnd => Operator::BitwiseAnd,
                BinaryOp::BitOr => Operator::BitwiseOr,
                BinaryOp::Xor => Operator::BitwiseXor,
                BinaryOp::ShiftLeft => Operator::BitwiseShiftLeft,
                _ => Operator::BitwiseShiftRight,
            };
            let dtype = dtype.clone();
            Ok(left.beside(operator, right, dtype))
        }
        (dtype, op) => Err(lower.fail(
            diagnostics::plan_error(
                "type-mismatch",
                format!("`{}` needs integers or booleans, but this is `{}`", op.symbol(), type_name(dtype)),
            ),
            left.span.as_ref().or(span),
            "",
        )),
    }
}

pub fn between(
    lower: &mut Lower,
    value: TypedExpr,
    low: TypedExpr,
    high: TypedExpr,
    high_inclusive: bool,
    span: Option<&Span>,
) -> Result<TypedExpr, Diagnostic> {
    let upper = if high_inclusive { BinaryOp::LessEqual } else { BinaryOp::Less };
    let from = compare(lower, BinaryOp::GreaterEqual, value.clone(), low, span)?;
    let to = compare(lower, upper, value.clone(), high, span)?;
    Ok(value.with(from.expr.and(to.expr), DataType::Boolean))
}

fn arithmetic(
    lower: &mut Lower,
    op: BinaryOp,
    left: TypedExpr,
    right: TypedExpr,
    span: Option<&Span>,
) -> Result<TypedExpr, Diagnostic> {
    use BinaryOp::*;
    if is_text(&left.dtype) && is_text(&right.dtype) && op == Add {
        return Ok(left.into(&type_coercion::TEXT).beside(
            Operator::StringConcat,
            right.into(&type_coercion::TEXT),
            type_coercion::TEXT,
        ));
    }
    if is_temporal(&left.dtype) || is_temporal(&right.dtype) {
        return temporal(lower, op, left, right, span);
    }
    let countable = |t: &TypedExpr| is_number(&t.dtype) || matches!(t.dtype, DataType::Boolean | DataType::Null);
    if !countable(&left) || !countable(&right) {
        let what = format!("`{}`:", op.symbol());
        if is_text(&left.dtype) != is_text(&right.dtype) && (countable(&left) || countable(&right)) {
            let mut diagnostic = mismatch(lower, &left, &right, &what, span);
            if op == Add {
                diagnostic.help = vec!["to concatenate strings, cast the number first: `.cast(\"str\")`".to_string()];
            }
            return Err(diagnostic);
        }
        let wrong = if countable(&left) { &right } else { &left };
        return Err(lower.fail(
            diagnostics::plan_error(
                "type-mismatch",
                format!("`{}` needs numbers, but this is `{}`", op.symbol(), type_name(&wrong.dtype)),
            ),
            wrong.span.as_ref().or(span),
            "not a number",
        ));
    }
    // Two literals: calculated by the optimiser, in the types they have.
    let left = beside(lower, left, &right)?;
    let right = beside(lower, right, &left)?;
    let Some(mut dtype) = type_coercion::supertype(&left.dtype, &right.dtype) else {
        return Err(mismatch(lower, &left, &right, "arithmetic:", span));
    };
    match dtype {
        DataType::Null => return Ok(left.with(null(&DataType::Int64), DataType::Int64)),
        // Polars counts in i32 here, in u32 for two booleans.
        DataType::Boolean => dtype = DataType::UInt32,
        _ => {}
    }
    if op == Divide && !is_decimal(&dtype) {
        dtype = type_coercion::float_of(&dtype);
    }
    let wide = is_decimal(&left.dtype) || is_decimal(&right.dtype);
    if wide && is_decimal(&dtype) {
        return decimal(op, left, right, dtype);
    }
    let (a, b) = (left.into(&dtype), right.into(&dtype));
    let operator = match op {
        Add => Operator::Plus,
        Subtract => Operator::Minus,
        Multiply => Operator::Multiply,
        Divide => Operator::Divide,
        _ => return Ok(remainder(&a, &b)),
    };
    Ok(a.beside(operator, b, dtype))
}

/// The remainder with the sign of the divisor; null if an integer is divided by zero (Polars).
pub fn remainder(a: &TypedExpr, b: &TypedExpr) -> TypedExpr {
    a.with(super::scalar_udf::floor_mod(&a.dtype).call(vec![a.expr.clone(), b.expr.clone()]), a.dtype.clone())
}

/// Decimals: results keep the larger scale and 38 digits, as in Polars.
fn decimal(op: BinaryOp, left: TypedExpr, right: TypedExpr, dtype: DataType) -> Result<TypedExpr, Diagnostic> {
    let scale = type_coercion::scale_of(&dtype);
    // Arrow's own result types grow; half of the digits for each side leave room, and the cast back checks the range.
    let side = |t: TypedExpr| match &t.dtype {
        d if is_decimal(d) => t,
        d if d.is_integer() || matches!(d, DataType::Boolean) => t.into(&DataType::Decimal128(20, 0)),
        _ => t.into(&dtype),
    };
    let operator = match op {
        BinaryOp::Add => Operator::Plus,
        BinaryOp::Subtract => Operator::Minus,
        BinaryOp::Multiply => Operator::Multiply,
        BinaryOp::Divide => Operator::Divide,
        _ => Operator::Modulo,
    };
    let out = DataType::Decimal128(38, scale);
    let result = side(left).beside(operator, side(right), out.clone());
    Ok(TypedExpr { expr: datafusion::logical_expr::cast(result.expr, out), ..result })
}

fn temporal(
    lower: &mut Lower,
    op: BinaryOp,
    left: TypedExpr,
    right: TypedExpr,
    span: Option<&Span>,
) -> Result<TypedExpr, Diagnostic> {
    use BinaryOp::*;
    use DataType::{Duration, Timestamp};
    let left = beside(lower, left, &right)?;
    let right = beside(lower, right, &left)?;
    let micro = TimeUnit::Microsecond;
    let unit = |t: &DataType| match t {
        Timestamp(u, _) | Duration(u) => *u,
        _ => micro,
    };
    let is_date = |t: &TypedExpr| matches!(t.dtype, DataType::Date32 | DataType::Date64);
    let plain = |a: Expr, operator, b: Expr| binary_expr(a, operator, b);
    let fail = |lower: &Lower| {
        lower.fail(
            diagnostics::plan_error(
                "type-mismatch",
                format!(
                    "`{}` is not possible between `{}` and `{}`",
                    op.symbol(),
                    type_name(&left.dtype),
                    type_name(&right.dtype)
                ),
            )
            .help("dates and times can be subtracted, and durations added to them or subtracted from them"),
            span.or(left.span.as_ref()),
            "",
        )
    };
    match (op, &left.dtype, &right.dtype) {
        // Polars gives the difference of two dates as a duration.
        (Subtract, _, _) if is_date(&left) && is_date(&right) => {
            let t = Timestamp(micro, None);
            let expr = plain(left.to(&t).expr, Operator::Minus, right.to(&t).expr);
            Ok(left.with(expr, Duration(micro)))
        }
        (Subtract, a, b) if type_coercion::is_date_or_time(a) && type_coercion::is_date_or_time(b) => {
            let Some(common) = type_coercion::supertype(a, b) else { return Err(fail(lower)) };
            let expr = plain(left.to(&common).expr, Operator::Minus, right.to(&common).expr);
            Ok(left.with(expr, Duration(unit(&common))))
        }
        (Add | Subtract, a, Duration(u)) if type_coercion::is_date_or_time(a) => {
            let operator = if op == Add { Operator::Plus } else { Operator::Minus };
            if is_date(&left) {
                // Whole days stay a date, as in Polars; the time of day is cut off.
                let t = Timestamp(*u, None);
                let moment = plain(left.to(&t).expr, operator, right.expr.clone());
                return Ok(left.with(datafusion::logical_expr::cast(moment, DataType::Date32), DataType::Date32));
            }
            let duration = right.to(&Duration(unit(a)));
            Ok(left.with(plain(left.expr.clone(), operator, duration.expr), a.clone()))
        }
        (Add, Duration(_), b) if type_coercion::is_date_or_time(b) => temporal(lower, op, right, left, span),
        (Add | Subtract, Duration(_), Duration(_)) => {
            let common = type_coercion::supertype(&left.dtype, &right.dtype).unwrap_or(Duration(micro));
            let operator = if op == Add { Operator::Plus } else { Operator::Minus };
            Ok(left.with(plain(left.to(&common).expr, operator, right.to(&common).expr), common))
        }
        (Divide, Duration(_), Duration(_)) => {
            let common = type_coercion::supertype(&left.dtype, &right.dtype).unwrap_or(Duration(micro));
            let number = |t: &TypedExpr| t.to(&common).to(&DataType::Int64).to(&DataType::Float64).expr;
            Ok(left.with(plain(number(&left), Operator::Divide, number(&right)), DataType::Float64))
        }
        (Multiply | Divide, Duration(_), n) if is_number(n) => {
            let ticks = left.to(&DataType::Int64).to(&DataType::Float64).expr;
            let operator = if op == Multiply { Operator::Multiply } else { Operator::Divide };
            let value = plain(ticks, operator, right.f64());
            let whole = datafusion::logical_expr::cast(value, DataType::Int64);
            Ok(left.with(datafusion::logical_expr::cast(whole, left.dtype.clone()), left.dtype.clone()))
        }
        (Multiply, n, Duration(_)) if is_number(n) => temporal(lower, op, right, left, span),
        _ => Err(fail(lower)),
    }
}

/// `condition ? value : null`.
pub fn only_if(condition: Expr, value: &TypedExpr) -> Result<Expr, Diagnostic> {
    when(condition, value.expr.clone()).otherwise(null(&value.dtype)).map_err(crate::error::diagnose)
}

/// A whole-number literal of a type.
pub fn number(value: i64, dtype: &DataType) -> Expr {
    TypedExpr { expr: lit(value), dtype: DataType::Int64, name: String::new(), span: None, literal: None }
        .to(dtype)
        .expr
}

/// The arguments of a function that takes any number of columns: those of slot 0 and the rest, cast to one type.
pub fn common(lower: &Lower, call: &Call, values: Vec<TypedExpr>) -> Result<(Vec<Expr>, DataType), Diagnostic> {
    let mut dtype = DataType::Null;
    let columns: Vec<&TypedExpr> = values.iter().filter(|v| v.literal.is_none()).collect();
    let guide = columns.first().map(|t| (*t).clone());
    let mut settled = Vec::new();
    for value in values {
        let value = match &guide {
            Some(guide) => beside(lower, value, guide)?,
            None => value,
        };
        dtype = type_coercion::supertype(&dtype, &value.dtype).ok_or_else(|| {
            let message = format!(
                "`{}`: `{}` and `{}` do not go together",
                call.function.name,
                type_name(&dtype),
                type_name(&value.dtype)
            );
            lower.fail(diagnostics::plan_error("type-mismatch", message), value.span.as_ref().or(call.span), "")
        })?;
        settled.push(value);
    }
    Ok((settled.iter().map(|v| v.to(&dtype).expr).collect(), dtype))
}
