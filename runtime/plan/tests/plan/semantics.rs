//! One check for each row of `docs/semantics.md`, in its order. Frames: values of Polars 2.1. SQL: values of DuckDB 2.0.

use std::sync::Arc;

use arrow::array::{ArrayRef, Decimal128Array, Int32Array};
use onrush_wire::BinaryOp::*;
use onrush_wire::plan::{JoinKind, Op};
use onrush_wire::{DataType, Expr, ExprKind, FrameId, TimeUnit};

use super::support::*;

struct Both {
    bench: Bench,
    frame: FrameId,
}

impl Both {
    fn new() -> Self {
        let bench = Bench::default();
        let frame = sample(&bench);
        Both { bench, frame }
    }

    fn frame(&self, expr: Expr, expect: &str) {
        let text = format!("{:?}", expr.kind);
        assert_eq!(self.bench.select(self.frame, expr), expect, "{text}");
    }

    fn sql(&self, expr: &str, expect: &str) {
        let got = self.bench.sql(&format!("select {expr} as x from t"), &[("t", self.frame)]);
        assert_eq!(got.replacen("x|", "", 1), expect, "{expr}");
    }

    fn fails(&self, expr: &str, code: &str) {
        let id = self.bench.try_sql(&format!("select {expr} as x from t"), &[("t", self.frame)]);
        let error = id.and_then(|id| self.bench.try_rows(id)).unwrap_err();
        assert_eq!(error.code, code, "{expr}: {error}");
    }
}

#[test]
fn division_and_remainder() {
    let b = Both::new();
    b.frame(op(col("i"), Divide, col("j")), "f64: 3.5 -3.5 -3.5 3.5 null");
    b.sql("i / j", "3.5|-3.5|-3.5|3.5|null");
    b.frame(op(col("i"), Divide, col("z")), "f64: inf -inf inf -inf null");
    b.sql("i / z", "inf|-inf|inf|-inf|null");
    b.frame(call("floor_div", [col("i"), col("j")]), "i64: 3 -4 -4 3 null");
    b.sql("i // j", "3|-3|-3|3|null");
    b.frame(op(col("i"), Remainder, col("j")), "i64: 1 1 -1 -1 null");
    b.sql("i % j", "1|-1|1|-1|null");
    b.frame(op(col("i"), Remainder, col("z")), "i64: null null null null null");
    b.fails("i % z", "division-by-zero");
    b.frame(op(col("f"), Remainder, lit(-2.0)), "f64: -0.5 NaN -0.5 null 0.0");
}

#[test]
fn overflow_and_literals() {
    let b = Both::new();
    b.frame(op(col("t"), Add, lit(100)), "i8: -56 -56 -56 97 null");
    b.fails("t + t", "overflow");
    b.frame(op(col("t"), Add, lit(1000)), "i16: 1100 1100 1100 997 null");
    b.frame(op(col("t"), Multiply, lit(1.5)), "f64: 150.0 150.0 150.0 -4.5 null");
    b.fails("t + cast(100 as tinyint)", "overflow");
    b.sql("t - 1", "99|99|99|-4|null");
}

#[test]
fn sums_and_counts() {
    let b = Both::new();
    b.frame(call("sum", [col("t")]), "i64: 297");
    b.sql("sum(t)", "297");
    let wide = b.bench.frame(vec![("x", Arc::new(Int32Array::from(vec![i32::MAX, 1])) as ArrayRef)]);
    assert_eq!(b.bench.select(wide, call("sum", [col("x")])), "i64: 2147483648");
    let none = b.bench.step(Op::Filter { input: b.frame, predicate: op(col("i"), Greater, lit(100)) });
    assert_eq!(b.bench.select(none, call("sum", [col("i")])), "i64: 0");
    assert_eq!(b.bench.select(none, call("mean", [col("i")])), "f64: null");
    assert_eq!(b.bench.select(none, call("max", [col("i")])), "i64: null");
    assert_eq!(b.bench.sql("select sum(i) as x, avg(i) as y from t", &[("t", none)]), "x y|null null");
    b.frame(call("len", []), "u32: 5");
    b.frame(call("n_unique", [col("s")]), "u32: 5");
    b.sql("count(distinct s)", "4");
    let big = b.bench.frame(vec![("x", ints(&[Some(i64::MAX), Some(1)]))]);
    let id = b.bench.try_sql("select sum(x) as s from t", &[("t", big)]).unwrap();
    assert_eq!(b.bench.try_rows(id).unwrap_err().code, "overflow");
}

#[test]
fn decimals_and_quantiles() {
    let b = Both::new();
    let decimals = Decimal128Array::from(vec![Some(110), Some(225), None]).with_precision_and_scale(10, 2).unwrap();
    let d = b.bench.frame(vec![("d", Arc::new(decimals) as ArrayRef)]);
    assert_eq!(b.bench.select(d, call("mean", [col("d")])), "f64: 1.675");
    assert_eq!(b.bench.sql("select avg(d) as x from t", &[("t", d)]), "x|1.675");
    assert_eq!(b.bench.select(d, call("sum", [col("d")])), "decimal[38,2]: 3.35");
    assert_eq!(b.bench.sql("select d / 3 as x from t", &[("t", d)]), "x|0.366666667|0.75|null");
    assert_eq!(b.bench.select(d, op(col("d"), Divide, col("d"))), "decimal[38,2]: 1.00 1.00 null");
    b.frame(call("median", [col("i")]), "f64: 0.0");
    b.sql("median(i)", "0.0");
    b.frame(call("quantile", [col("j"), lit(0.6)]), "f64: 1.0");
    b.frame(call("quantile", [col("j"), lit(0.6), lit("linear")]), "f64: 1.4");
    b.sql("quantile_cont(j, 0.6)", "1.4");
}

#[test]
fn rounding_and_nan() {
    let b = Both::new();
    let halves = b.bench.frame(vec![("h", floats(&[Some(0.5), Some(1.5), Some(2.5), Some(-0.5), Some(-1.5)]))]);
    assert_eq!(b.bench.select(halves, call("round", [col("h")])), "f64: 0.0 2.0 2.0 -0.0 -2.0");
    assert_eq!(b.bench.sql("select round(h) as x from t limit 3", &[("t", halves)]), "x|1.0|2.0|3.0");
    assert_eq!(b.bench.select(halves, call("cast", [col("h"), lit("i64")])), "i64: 0 1 2 0 -1");
    assert_eq!(b.bench.sql("select cast(h as int) as x from t limit 3", &[("t", halves)]), "x|0|2|2");
    b.frame(op(col("f"), Equal, lit(f64::NAN)), "bool: false true false null false");
    b.frame(op(col("f"), Greater, lit(1)), "bool: true true false null true");
    b.sql("f > 1", "true|true|false|null|true");
    b.frame(call("max", [col("f")]), "f64: 2.0");
    b.sql("max(f)", "NaN");
}

#[test]
fn nulls_in_sorts_joins_and_groups() {
    let b = Both::new();
    let sort = |key| b.bench.column(b.bench.step(Op::Sort { input: b.frame, keys: vec![key] }), 0);
    assert_eq!(sort(asc("i")), ["null", "-7", "-7", "7", "7"]);
    assert_eq!(sort(desc("i")), ["null", "7", "7", "-7", "-7"]);
    let sql = |q: &str| b.bench.sql(q, &[("t", b.frame)]);
    assert_eq!(sql("select i from t order by i"), "i|-7|-7|7|7|null");
    assert_eq!(sql("select i from t order by i desc"), "i|7|7|-7|-7|null");
    // NaN is equal to NaN and null to nothing, in keys, too.
    let keyed = b.bench.frame(vec![("f", floats(&[Some(f64::NAN), Some(1.0), None, Some(f64::NAN), Some(-0.0)]))]);
    let (left_on, right_on) = (vec![col("f")], vec![col("f")]);
    let join = Op::Join { left: keyed, right: keyed, how: JoinKind::Inner, left_on, right_on, suffix: "_r".into() };
    assert_eq!(b.bench.column(b.bench.step(join), 0).len(), 6);
    let group = Op::GroupBy { input: keyed, keys: vec![col("f")], aggs: vec![call("len", []).alias("n")] };
    assert_eq!(b.bench.rows(b.bench.step(group)), "f n|null 1|0.0 1|1.0 1|NaN 2");
    b.frame(
        call("is_in", [col("s"), lit("a"), Expr::literal(onrush_wire::Value::Null)]),
        "bool: true false null false false",
    );
    b.frame(call("rank", [col("i"), lit("min")]), "u32: 3 1 3 1 null");
    b.frame(call("cum_sum", [col("i")]), "i64: 7 0 7 0 null");
    let rolling = call("rolling_sum", [col("i"), lit(2)]);
    b.frame(rolling.clone(), "i64: null 0 0 0 null");
    b.frame(named(rolling, "min_samples", lit(1)), "i64: 7 0 0 0 -7");
}

#[test]
fn text_numbers_and_dates() {
    let b = Both::new();
    assert_eq!(b.bench.try_select(b.frame, op(col("i"), Greater, lit("a"))).unwrap_err().code, "type-mismatch");
    b.fails("s > 5", "type-mismatch");
    b.sql("i > '5'", "true|false|true|false|null");
    b.frame(op(col("s"), Add, lit("x")), "str: ax Bx null héllox ab1cx");
    b.sql("s || 'x'", "ax|Bx|null|héllox|ab1cx");
    b.frame(call("str.len_bytes", [col("s")]), "u32: 1 1 null 6 4");
    b.sql("length('héllo')", "5|5|5|5|5");
    let day = |text: &str| Expr::new(ExprKind::Cast { value: Box::new(lit(text)), to: DataType::Date, strict: true });
    let difference = op(day("2013-02-01"), Subtract, day("2013-01-31"));
    let id = b.bench.step(Op::WithColumns { input: b.frame, exprs: vec![difference.alias("d")] });
    let schema = b.bench.engine.schema(id).unwrap();
    assert_eq!(schema.field("d").unwrap().dtype, DataType::Duration(TimeUnit::Microsecond));
}
