//! One test for each row of `docs/semantics.md`, in its order.

use onrush_wire::BinaryOp::*;
use onrush_wire::plan::Op;

use super::support::*;

/// Polars 2.1.
#[test]
fn frames_follow_polars() {
    let bench = Bench::default();
    let f = sample(&bench);
    let is = |expr, expect: &str| assert_eq!(bench.select(f, expr), expect);
    is(op(col("i"), Divide, col("j")), "f64: 3.5 -3.5 -3.5 3.5 null");
    is(op(col("i"), Divide, col("z")), "f64: inf -inf inf -inf null");
    is(op(col("i"), Remainder, col("j")), "i64: 1 1 -1 -1 null");
    is(op(col("i"), Remainder, col("z")), "i64: null null null null null");
    is(op(col("t"), Add, lit(100)), "i8: -56 -56 -56 97 null");
    is(op(col("t"), Add, lit(1000)), "i16: 1100 1100 1100 997 null");
    is(op(col("t"), Multiply, lit(1.5)), "f64: 150.0 150.0 150.0 -4.5 null");
    is(call("sum", [col("t")]), "i64: 297");
    is(op(col("f"), Equal, lit(f64::NAN)), "bool: false true false null false");
    is(op(col("f"), Greater, lit(1)), "bool: true true false null true");
    is(call("round", [lit_column(&bench)]), "f64: 0.0 2.0 2.0 -0.0 -2.0");
}

fn lit_column(_: &Bench) -> onrush_wire::Expr {
    // 0.5 1.5 2.5 -0.5 -1.5 from columns of the sample: j is 2 2 -2 -2 1.
    use onrush_wire::{Expr, ExprKind};
    let row = call("row_number", []);
    let value = |n: i64, v: f64| (op(row.clone(), Equal, lit(n)), lit(v));
    Expr::new(ExprKind::Case {
        branches: vec![value(1, 0.5), value(2, 1.5), value(3, 2.5), value(4, -0.5), value(5, -1.5)],
        otherwise: None,
    })
}

/// Polars 2.1: the sum of nothing is 0, the mean is null.
#[test]
fn nothing_adds_up_to_zero_in_frames_and_to_null_in_sql() {
    let bench = Bench::default();
    let f = sample(&bench);
    let none = bench.step(Op::Filter { input: f, predicate: op(col("i"), Greater, lit(100)) });
    assert_eq!(bench.select(none, call("sum", [col("i")])), "i64: 0");
    assert_eq!(bench.select(none, call("mean", [col("i")])), "f64: null");
    assert_eq!(bench.select(none, call("max", [col("i")])), "i64: null");
    // DuckDB 2.0.
    assert_eq!(bench.sql("select sum(i) as x from t", &[("t", none)]), "x|null");
}
