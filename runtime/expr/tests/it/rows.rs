//! The catalogue where a value comes from one row. Values are those of Polars 2.1 (`select` of the same expression on
//! the same columns) unless a test says otherwise.

use onrush_wire::BinaryOp::{Add, And, Divide, Equal, Greater, Multiply, Or, Subtract};
use onrush_wire::{DataType, Expr, ExprKind, UnaryOp};

use crate::support::{call, check, col, lit, op, refused};

fn unary(operator: UnaryOp, of: Expr) -> Expr {
    Expr::new(ExprKind::Unary(operator, Box::new(of)))
}

#[test]
fn arithmetic_widens_and_keeps_nulls() {
    check(op(lit(1), Add, col("i")), "i64: 8 -6 8 -6 null");
    check(op(col("i"), Multiply, col("j")), "i64: 14 -14 -14 14 null");
    check(op(col("f"), Subtract, col("i")), "f64: -5.5 NaN -7.5 null null");
    check(call("floor_div", [col("i"), col("j")]), "i64: 3 -4 -4 3 null");
    check(call("pow", [col("i"), lit(2)]), "i64: 49 49 49 49 null");
    check(unary(UnaryOp::Negate, col("j")), "i64: -2 -2 2 2 -1");
}

/// By hand: a division is one of floats, whatever its operands are.
#[test]
fn a_division_is_of_floats() {
    check(op(col("i"), Divide, col("j")), "f64: 3.5 -3.5 -3.5 3.5 null");
    check(op(col("j"), Divide, lit(0)), "f64: inf inf -inf -inf inf");
}

#[test]
fn functions_of_numbers() {
    check(call("floor", [col("f")]), "f64: 1.0 NaN -1.0 null 2.0");
    check(call("sign", [col("f")]), "f64: 1.0 NaN -1.0 null 1.0");
    check(call("sqrt", [col("i")]), "f64: 2.645751311 NaN 2.645751311 NaN null");
    check(call("log10", [col("j")]), "f64: 0.301029996 0.301029996 NaN NaN 0.0");
    check(call("exp", [col("j")]), "f64: 7.389056099 7.389056099 0.135335283 0.135335283 2.718281828");
    check(call("clip", [col("i"), lit(-1), lit(3)]), "i64: 3 -1 3 -1 null");
    check(call("is_nan", [col("f")]), "bool: false true false null false");
}

/// By hand, after SQL's logic of three values.
#[test]
fn comparisons_and_connectives_know_nulls() {
    let positive = || op(col("i"), Greater, lit(0));
    check(positive(), "bool: true false true false null");
    check(op(positive(), And, col("b")), "bool: true false null false null");
    check(op(positive(), Or, col("b")), "bool: true false true true true");
    check(unary(UnaryOp::Not, col("b")), "bool: false true null false false");
    check(call("is_null", [col("f")]), "bool: false false false true false");
    check(op(col("s"), Equal, lit("B")), "bool: false true null false false");
}

#[test]
fn values_are_chosen() {
    let case = ExprKind::Case { branches: vec![(col("b"), col("i"))], otherwise: Some(Box::new(col("f"))) };
    check(Expr::new(case), "f64: 7.0 NaN -0.5 -7.0 null");
    check(call("is_in", [col("s"), lit("a"), lit("B")]), "bool: true true null false false");
    check(call("fill_null", [col("i"), lit(1.5)]), "f64: 7.0 -7.0 7.0 -7.0 1.5");
    check(call("coalesce", [col("i"), col("f")]), "f64: 7.0 -7.0 7.0 -7.0 2.0");
}

#[test]
fn columns_of_a_row_are_folded() {
    check(call("min_horizontal", [col("i"), col("f")]), "f64: 1.5 -7.0 -0.5 -7.0 2.0");
    check(call("sum_horizontal", [col("i"), col("f")]), "f64: 8.5 NaN 6.5 -7.0 2.0");
    check(call("mean_horizontal", [col("i"), col("f")]), "f64: 4.25 NaN 3.25 -7.0 2.0");
}

#[test]
fn strings_are_of_characters() {
    check(op(col("s"), Add, lit("x")), "str: ax Bx null héllox ab1cx");
    check(call("str.len_chars", [col("s")]), "u32: 1 1 null 5 4");
    check(call("str.len_bytes", [col("s")]), "u32: 1 1 null 6 4");
    check(call("str.slice", [col("s"), lit(-2)]), "str: a B null lo 1c");
    check(call("str.upper", [col("s")]), "str: A B null HÉLLO AB1C");
    check(call("str.to_titlecase", [col("s")]), "str: A B null Héllo Ab1C");
    check(call("str.pad_start", [col("s"), lit(3), lit("*")]), "str: **a **B null héllo ab1c");
    check(call("str.split", [col("s"), lit("")]), "list[str]: [a] [B] null [h,é,l,l,o] [a,b,1,c]");
}

#[test]
fn strings_are_searched() {
    check(call("str.contains", [col("s"), lit("[ab]")]), "bool: true false null false true");
    check(call("str.extract", [col("s"), lit(r"(\d)"), lit(1)]), "str: null null null null 1");
    check(call("str.replace_all", [col("s"), lit("l"), lit("L")]), "str: a B null héLLo ab1c");
}

/// The last row is by hand: a second before 1970 is a Wednesday, the 365th day of 1969.
#[test]
fn dates_have_parts() {
    let time = || call("str.to_datetime", [col("d")]);
    check(time(), "datetime[μs]: 2013-01-31T12:34:56 null 2012-02-29T00:00:00 null 1969-12-31T23:59:59");
    check(call("dt.year", [time()]), "i32: 2013 null 2012 null 1969");
    check(call("dt.hour", [time()]), "i32: 12 null 0 null 23");
    check(call("dt.weekday", [time()]), "i32: 4 null 3 null 3");
    check(call("dt.ordinal_day", [time()]), "i32: 31 null 60 null 365");
    check(
        call("dt.truncate", [time(), lit("1h")]),
        "datetime[μs]: 2013-01-31T12:00:00 null 2012-02-29T00:00:00 null 1969-12-31T23:00:00",
    );
    check(call("dt.strftime", [time(), lit("%Y/%m")]), "str: 2013/01 null 2012/02 null 1969/12");
}

/// By hand: the range of an 8-bit integer ends at 127.
#[test]
fn casts_are_strict_unless_they_say_otherwise() {
    let cast = |strict| {
        let value = Box::new(op(call("cast", [col("t"), lit("i64")]), Multiply, lit(2)));
        Expr::new(ExprKind::Cast { value, to: DataType::Int8, strict })
    };
    check(cast(false), "i8: null null null -6 null");
    let error = refused(cast(true));
    assert!(error.message.contains("200"), "{error}");
    check(call("cast", [col("i"), lit("str")]), "str: 7 -7 7 -7 null");
}

#[test]
fn mistakes_are_found_before_a_row_is_read() {
    let unknown = refused(op(col("ii"), Add, lit(1)));
    assert_eq!((unknown.code.as_str(), unknown.message.as_str()), ("unknown-column", "there is no column `ii`"));
    assert_eq!(unknown.help, ["did you mean `i`?"]);
    let mixed = refused(op(col("s"), Multiply, col("i")));
    assert_eq!(mixed.code, "type-mismatch");
    assert!(mixed.message.contains("`str`") && mixed.message.contains("`i64`"), "{mixed}");
    assert_eq!(refused(unary(UnaryOp::Not, col("s"))).code, "type-mismatch");
}
