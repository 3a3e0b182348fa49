//! Functions of numbers.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array, Int64Array};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::functions::expr_fn as df;
use datafusion::logical_expr::{Expr, Operator, binary_expr, cast};
use onrush_wire::{BinaryOp, Diagnostic, Value};

use super::function::{Call, Function, Kind, function};
use super::scalar_udf::{Body, kernel};
use super::{Lower, TypedExpr, lit, operators};
use crate::type_coercion::{self, float_of, is_decimal};

const R: Kind = Kind::Row;

/// A function of one float that is the same for all of them.
macro_rules! float {
    ($name:literal, $aliases:expr, $f:expr) => {
        function($name, $aliases, R, "self:num", |_, c| {
            Ok(float_kernel(&c.this(), $name, |args| {
                let f: fn(f64) -> f64 = $f;
                by_number(args, f)
            }))
        })
    };
}

/// A function of floats with one NaN. The processor's own NaN has a sign, and is less than all numbers in an order.
pub fn by_number(args: &[ArrayRef], of: fn(f64) -> f64) -> datafusion::error::Result<ArrayRef> {
    let value = |x| match of(x) {
        y if y.is_nan() => f64::NAN,
        y => y,
    };
    Ok(Arc::new(args[0].as_primitive::<Float64Type>().unary::<_, Float64Type>(value)))
}

pub const FUNCTIONS: &[Function] = &[
    float!("sqrt", &[], f64::sqrt),
    float!("cbrt", &[], f64::cbrt),
    float!("exp", &[], f64::exp),
    float!("ln", &[], f64::ln),
    float!("log10", &[], f64::log10),
    float!("log2", &[], f64::log2),
    float!("log1p", &["ln_1p"], f64::ln_1p),
    float!("expm1", &["exp_m1"], f64::exp_m1),
    float!("sin", &[], f64::sin),
    float!("cos", &[], f64::cos),
    float!("tan", &[], f64::tan),
    float!("asin", &["arcsin"], f64::asin),
    float!("acos", &["arccos"], f64::acos),
    float!("atan", &["arctan"], f64::atan),
    float!("sinh", &[], f64::sinh),
    float!("cosh", &[], f64::cosh),
    float!("tanh", &[], f64::tanh),
    float!("degrees", &["to_degrees"], f64::to_degrees),
    float!("radians", &["to_radians"], f64::to_radians),
    function("log", &[], R, "self:num base:#num?", |l, c| {
        let value = c.this();
        match c.number(1) {
            None => Ok(float_kernel(&value, "ln", |args| {
                Ok(Arc::new(args[0].as_primitive::<Float64Type>().unary::<_, Float64Type>(f64::ln)))
            })),
            Some(base) if base > 0.0 && base != 1.0 => Ok(two_floats(&value, lit(base), "log")),
            Some(base) => Err(c.wrong(l, 1, format!("there is no logarithm to the base {base}"))),
        }
    }),
    function("atan2", &["arctan2"], R, "self:num x:num", |_, c| Ok(two_floats(&c.this(), c.arg(1).f64(), "atan2"))),
    function("hypot", &[], R, "self:num y:num", |_, c| Ok(two_floats(&c.this(), c.arg(1).f64(), "hypot"))),
    function("pow", &["powi", "powf"], R, "self:num exponent:num", pow),
    function("abs", &[], R, "self:any", |l, c| {
        let value = c.this();
        match &value.dtype {
            d if d.is_unsigned_integer() || d == &DataType::Boolean => Ok(value),
            DataType::Duration(_) => {
                let ticks = value.to(&DataType::Int64);
                Ok(value.with(cast(df::abs(ticks.expr), value.dtype.clone()), value.dtype.clone()))
            }
            // The smallest number has no positive one: it stays, where Arrow's `abs` is an error.
            d if d.is_signed_integer() => {
                let negative = binary_expr(value.expr.clone(), Operator::Lt, operators::number(0, d));
                let turned = Expr::Negative(Box::new(value.expr.clone()));
                let expr = datafusion::logical_expr::when(negative, turned).otherwise(value.expr.clone());
                Ok(value.with(expr.map_err(crate::error::diagnose)?, value.dtype.clone()))
            }
            d if type_coercion::is_number(d) => Ok(value.with(df::abs(value.expr.clone()), value.dtype.clone())),
            d => {
                Err(c.wrong(l, 0, format!("`abs` needs a number, but this is `{}`", crate::diagnostics::type_name(d))))
            }
        }
    }),
    function("floor", &[], R, "self:num", |_, c| {
        Ok(round_with(c, "floor", |args| {
            Ok(Arc::new(args[0].as_primitive::<Float64Type>().unary::<_, Float64Type>(f64::floor)))
        }))
    }),
    function("ceil", &[], R, "self:num", |_, c| {
        Ok(round_with(c, "ceil", |args| {
            Ok(Arc::new(args[0].as_primitive::<Float64Type>().unary::<_, Float64Type>(f64::ceil)))
        }))
    }),
    function("trunc", &["truncate"], R, "self:num", |_, c| {
        Ok(round_with(c, "trunc", |args| {
            Ok(Arc::new(args[0].as_primitive::<Float64Type>().unary::<_, Float64Type>(f64::trunc)))
        }))
    }),
    function("round", &[], R, "self:num decimals:#int?", round),
    function("sign", &["signum"], R, "self:num", |_, c| {
        let value = c.this();
        if !value.dtype.is_floating() {
            let float = float_kernel(&value, "sign", sign);
            return Ok(value.with(cast(float.expr, value.dtype.clone()), value.dtype.clone()));
        }
        Ok(float_kernel(&value, "sign", sign))
    }),
    function("clip", &["clamp"], R, "self:any lower:any? upper:any?", |l, c| {
        let mut value = c.this();
        for (slot, above) in [(1, false), (2, true)] {
            let Some(bound) = c.opt(slot).filter(|b| b.literal != Some(Value::Null)) else { continue };
            let (v, bound) = operators::unify(l, value, bound, "`clip`:", c.span)?;
            let op = if above { Operator::Gt } else { Operator::Lt };
            let mut outside = binary_expr(v.expr.clone(), op, bound.expr.clone());
            if v.dtype.is_floating() {
                // NaN, which compares as the largest number, stays.
                outside = outside.and(Expr::Not(Box::new(df::isnan(v.expr.clone()))));
            }
            let expr = datafusion::logical_expr::when(outside, bound.expr).otherwise(v.expr.clone());
            value = v.with(expr.map_err(crate::error::diagnose)?, v.dtype.clone());
        }
        Ok(value)
    }),
    function("floor_div", &["floordiv"], R, "self:num other:num", |l, c| {
        let (a, b) = operators::unify(l, c.this(), c.arg(1), "`floor_div`:", c.span)?;
        let (a, b) = if is_decimal(&a.dtype) { (a.to(&DataType::Float64), b.to(&DataType::Float64)) } else { (a, b) };
        Ok(a.with(super::scalar_udf::floor_div(&a.dtype).call(vec![a.expr.clone(), b.expr]), a.dtype.clone()))
    }),
    function("rem_euclid", &["mod"], R, "self:num other:num", |l, c| {
        operators::binary(l, BinaryOp::Remainder, c.this(), c.arg(1), c.span)
    }),
];

fn sign(args: &[ArrayRef]) -> datafusion::error::Result<ArrayRef> {
    let f = |v: f64| if v == 0.0 || v.is_nan() { v } else { v.signum() };
    Ok(Arc::new(args[0].as_primitive::<Float64Type>().unary::<_, Float64Type>(f)))
}

/// Runs in `f64`; `f32` columns stay `f32`.
fn float_kernel(value: &TypedExpr, name: &'static str, body: Body) -> TypedExpr {
    let output = float_of(&value.dtype);
    let numbers = if value.dtype == DataType::Boolean { value.to(&DataType::Int64).f64() } else { value.f64() };
    let expr = kernel(name, DataType::Float64, body).call(vec![numbers]);
    let expr = if output == DataType::Float64 { expr } else { cast(expr, output.clone()) };
    value.with(expr, output)
}

fn two_floats(value: &TypedExpr, other: Expr, name: &'static str) -> TypedExpr {
    // A kernel's body holds no state, hence one for each name.
    let body: Body = match name {
        "log" => |args| binary(args, |x, base| x.ln() / base.ln()),
        "atan2" => |args| binary(args, f64::atan2),
        "hypot" => |args| binary(args, f64::hypot),
        _ => |args| binary(args, f64::powf),
    };
    value.with(kernel(name, DataType::Float64, body).call(vec![value.f64(), other]), DataType::Float64)
}

fn binary(args: &[ArrayRef], f: impl Fn(f64, f64) -> f64) -> datafusion::error::Result<ArrayRef> {
    let (a, b) = (args[0].as_primitive::<Float64Type>(), args[1].as_primitive::<Float64Type>());
    Ok(Arc::new(a.iter().zip(b.iter()).map(|(a, b)| Some(f(a?, b?))).collect::<Float64Array>()))
}

/// Rounds by the function. Integers and booleans stay as they are.
fn round_with(call: &Call, name: &'static str, body: Body) -> TypedExpr {
    let value = call.this();
    if value.dtype.is_integer() || value.dtype == DataType::Boolean {
        return value;
    }
    if is_decimal(&value.dtype) {
        let float = float_kernel(&value.to(&DataType::Float64), name, body);
        return value.with(cast(float.expr, value.dtype.clone()), value.dtype.clone());
    }
    float_kernel(&value, name, body)
}

/// Halves go to the even neighbour, as in Polars 2.
fn round(lower: &mut Lower, call: &Call) -> Result<TypedExpr, Diagnostic> {
    let value = call.this();
    let decimals = call.int(1).unwrap_or(0);
    if !(0..=15).contains(&decimals) {
        return Err(call.wrong(lower, 1, format!("`decimals` lies between 0 and 15, this is {decimals}")));
    }
    if value.dtype.is_integer() || value.dtype == DataType::Boolean {
        return Ok(value);
    }
    let body: Body = |args| {
        let decimals = args[1].as_primitive::<Int64Type>();
        let scale = 10f64.powi(if decimals.is_empty() { 0 } else { decimals.value(0) as i32 });
        let f = |v: f64| if (v * scale).is_finite() { (v * scale).round_ties_even() / scale } else { v };
        Ok(Arc::new(args[0].as_primitive::<Float64Type>().unary::<_, Float64Type>(f)))
    };
    let expr = kernel("round", DataType::Float64, body).call(vec![value.f64(), lit(decimals)]);
    let output = if is_decimal(&value.dtype) { value.dtype.clone() } else { float_of(&value.dtype) };
    let expr = if output == DataType::Float64 { expr } else { cast(expr, output.clone()) };
    Ok(value.with(expr, output))
}

/// An integer to the power of an integer is an integer (wrapping, as in Polars). Everything else is a float.
fn pow(lower: &mut Lower, call: &Call) -> Result<TypedExpr, Diagnostic> {
    let (value, exponent) = (call.this(), call.arg(1));
    if value.dtype.is_integer() && exponent.dtype.is_integer() {
        if call.int(1).is_some_and(|n| n < 0) {
            return Err(call
                .wrong(lower, 1, "an integer to a negative power is not an integer")
                .help("write the exponent as a float, such as `-1.0`"));
        }
        let body: Body = |args| {
            let (a, b) = (args[0].as_primitive::<Int64Type>(), args[1].as_primitive::<Int64Type>());
            let power = |(a, b): (Option<i64>, Option<i64>)| Some(a?.wrapping_pow(u32::try_from(b?).ok()?));
            Ok(Arc::new(a.iter().zip(b.iter()).map(power).collect::<Int64Array>()))
        };
        let expr = kernel("pow", DataType::Int64, body).call(vec![value.i64(), exponent.i64()]);
        return Ok(value.with(expr, DataType::Int64));
    }
    let float = two_floats(&value, exponent.f64(), "powf");
    let output = match exponent.literal {
        Some(_) => float_of(&value.dtype),
        None => DataType::Float64,
    };
    Ok(value.with(cast(float.expr, output.clone()), output))
}
