//! NaN is one value, above all numbers, wherever it came from: a processor gives `0.0 / 0.0` a minus sign, and files
//! have any. Values from Polars 2.1: the same expressions on the same frames. The processor and the device agree.

use onrush_wire::expr::SortKey;
use onrush_wire::plan::{JoinKind, Keep, Op};
use onrush_wire::{BinaryOp, Expr, FrameId};

use super::support::*;

const INF: f64 = f64::INFINITY;

fn benches() -> Vec<TestEngine> {
    let engine = |choice| {
        let cache = Some(onrush_wire::paths::cache_dir());
        let policy = Some(onrush_engine::Policy::Always);
        TestEngine::of(onrush_engine::EngineConfig { choice, cache, policy, ..on_device() })
    };
    choices().into_iter().map(engine).collect()
}

/// `a / b` has NaN of zeros, 0, NaN of infinities, 0.25 and null.
fn ratios(bench: &TestEngine) -> FrameId {
    bench.frame(vec![
        ("r", ints(&[Some(1), Some(2), Some(3), Some(4), Some(5)])),
        ("a", floats(&[Some(0.0), Some(0.0), Some(INF), Some(1.0), None])),
        ("b", floats(&[Some(0.0), Some(5.0), Some(INF), Some(4.0), Some(2.0)])),
        ("i", ints(&[Some(0), Some(0), Some(0), Some(1), None])),
        ("j", ints(&[Some(0), Some(5), Some(0), Some(4), Some(2)])),
    ])
}

fn ratio() -> Expr {
    op(col("a"), BinaryOp::Divide, col("b"))
}

fn rows_of(bench: &TestEngine, op: Op) -> Vec<String> {
    bench.column(bench.step(op), 0)
}

#[test]
fn comparisons_and_filters_take_nan_as_the_largest() {
    for bench in benches() {
        let f = ratios(&bench);
        let kept = |predicate| rows_of(&bench, Op::Filter { input: f, predicate });
        for ratio in [ratio(), op(col("i"), BinaryOp::Divide, col("j"))] {
            assert_eq!(kept(op(ratio.clone(), BinaryOp::LessEqual, lit(0.2))), ["2"]);
            assert_eq!(kept(op(ratio.clone(), BinaryOp::Greater, lit(1.0))), ["1", "3"]);
            assert_eq!(kept(op(ratio.clone(), BinaryOp::Equal, lit(f64::NAN))), ["1", "3"]);
            assert_eq!(kept(op(ratio, BinaryOp::NotEqual, lit(f64::NAN))), ["2", "4"]);
        }
        let member = Expr::new(onrush_wire::ExprKind::In { value: Box::new(ratio()), list: vec![lit(f64::NAN)] });
        assert_eq!(kept(member), ["1", "3"]);
        let sql = |condition: &str| bench.sql(&format!("select r from f where {condition} order by r"), &[("f", f)]);
        assert_eq!(sql("a / b <= 0.2"), "r|2");
        assert_eq!(sql("i / j <= 0.2"), "r|2");
        assert_eq!(sql("a / b > 1 and a / b = 'nan'::double"), "r|1|3");
    }
}

#[test]
fn orders_and_ranks_put_nan_last() {
    for bench in benches() {
        let f = ratios(&bench);
        let sorted = |descending| {
            let keys = vec![SortKey { expr: ratio(), descending, nulls_last: None }];
            rows_of(&bench, Op::Sort { input: f, keys })
        };
        assert_eq!(sorted(false), ["5", "2", "4", "1", "3"]);
        assert_eq!(sorted(true), ["5", "1", "3", "4", "2"]);
        let rank = |of: Expr, method: &str| bench.select(f, named(call("rank", [of]), "method", lit(method)));
        assert_eq!(rank(ratio(), "min"), "u32: 3 1 3 2 null");
        // A key of several steps.
        let negative = Expr::new(onrush_wire::ExprKind::Unary(onrush_wire::UnaryOp::Negate, Box::new(ratio())));
        assert_eq!(rank(negative, "dense"), "u32: 3 2 3 1 null");
        // DuckDB 2.0: nulls last.
        let sql = |order: &str| bench.sql(&format!("select r from f order by {order}, r"), &[("f", f)]);
        assert_eq!(sql("a / b desc"), "r|1|3|4|2|5");
        assert_eq!(sql("i / j"), "r|2|4|1|3|5");
    }
}

#[test]
fn groups_joins_and_unique_have_one_nan() {
    for bench in benches() {
        let f = ratios(&bench);
        let key = vec![ratio().alias("k")];
        let grouped = Op::GroupBy { input: f, keys: key.clone(), aggs: vec![call("len", []).alias("n")] };
        assert_eq!(bench.rows(bench.step(grouped)), "k n|null 1|0.0 1|0.25 1|NaN 2");
        assert_eq!(
            rows_of(&bench, Op::Unique { input: f, subset: key.clone(), keep: Keep::First }),
            ["1", "2", "4", "5"]
        );
        assert_eq!(bench.select(f, call("n_unique", [ratio()])), "u32: 4");
        let sizes = Expr::new(onrush_wire::ExprKind::Over {
            value: Box::new(call("len", [])),
            partition: vec![ratio()],
            order: Vec::new(),
        });
        assert_eq!(bench.select(f, sizes), "u32: 2 1 2 1 1");
        // NaN of the frame itself is the same.
        let right =
            bench.frame(vec![("k", floats(&[Some(-f64::NAN), Some(0.25)])), ("w", ints(&[Some(10), Some(20)]))]);
        let join = Op::Join {
            left: f,
            right,
            how: JoinKind::Left,
            left_on: vec![ratio()],
            right_on: vec![col("k")],
            suffix: "_right".to_string(),
        };
        let joined = bench.step(join);
        let place = bench.engine.schema(joined).unwrap().names().position(|name| name == "w").unwrap();
        assert_eq!(bench.column(joined, place), ["10", "null", "10", "20", "null"]);
        assert_eq!(bench.select(right, op(col("k"), BinaryOp::Greater, lit(5.0))), "bool: true false");
        let distinct = "select count(distinct a / b) n, max(a / b) x, min(a / b) m from f";
        assert_eq!(bench.sql(distinct, &[("f", f)]), "n x m|3 NaN 0.0");
        let groups = "select a / b k, count(*) n from f group by 1 order by 1 nulls first";
        assert_eq!(bench.sql(groups, &[("f", f)]), "k n|null 1|0.0 1|0.25 1|NaN 2");
        // What another step made.
        let made = bench.step(Op::Select { input: f, exprs: vec![col("r"), ratio().alias("k")] });
        let predicate = op(col("k"), BinaryOp::Greater, lit(1.0));
        assert_eq!(rows_of(&bench, Op::Filter { input: made, predicate }), ["1", "3"]);
    }
}

#[test]
fn extremes_leave_nan_out() {
    for bench in benches() {
        let f = ratios(&bench);
        assert_eq!(bench.select(f, call("min", [ratio()])), "f64: 0.0");
        assert_eq!(bench.select(f, call("max", [ratio()])), "f64: 0.25");
        // A group of infinities alone.
        let g = bench.frame(vec![
            ("g", ints(&[Some(1), Some(2), Some(2)])),
            ("x", floats(&[Some(INF), Some(-INF), Some(-INF)])),
        ]);
        let aggs = ["min", "max"].map(|function| call(function, [col("x")]).alias(function)).to_vec();
        let groups = bench.step(Op::GroupBy { input: g, keys: vec![col("g")], aggs });
        assert_eq!(bench.rows(groups), "g min max|1 inf inf|2 -inf -inf");
        let sql = "select g, min(x) a, max(x) b from f group by g order by g";
        assert_eq!(bench.sql(sql, &[("f", g)]), "g a b|1 inf inf|2 -inf -inf");
        assert_eq!(bench.select(g, over(call("min", [col("x")]), &["g"])), "f64: inf -inf -inf");
        let only = bench.step(Op::Filter { input: f, predicate: op(col("r"), BinaryOp::Equal, lit(1)) });
        assert_eq!(bench.select(only, call("max", [ratio()])), "f64: NaN");
    }
}

/// All that makes a NaN of other values is above 5; the last value is infinite or NaN.
#[test]
fn functions_and_operators_make_the_same_nan() {
    for bench in benches() {
        let f = bench.frame(vec![
            ("a", floats(&[Some(-1.0), Some(-4.0), Some(0.0), Some(INF)])),
            ("b", floats(&[Some(0.0), Some(1.0), Some(-INF), Some(INF)])),
            ("s", string_array(&[Some("-nan"), Some("nan"), Some("1"), Some("9")])),
        ]);
        let (a, b) = (|| col("a"), || col("b"));
        let negative = |inner| Expr::new(onrush_wire::ExprKind::Unary(onrush_wire::UnaryOp::Negate, Box::new(inner)));
        for (value, above) in [
            (call("sqrt", [a()]), "true true false true"),
            (call("log", [a()]), "true true false true"),
            (call("ln", [a()]), "true true false true"),
            (call("pow", [a(), lit(0.5)]), "true true false true"),
            (op(a(), BinaryOp::Remainder, b()), "true false true true"),
            (op(a(), BinaryOp::Subtract, b()), "false false true true"),
            (op(op(a(), BinaryOp::Multiply, b()), BinaryOp::Add, lit(1.0)), "false false true true"),
            (negative(op(a(), BinaryOp::Divide, b())), "true false false true"),
            (call("sin", [a()]), "false false false true"),
            (call("cast", [col("s"), lit("f64")]), "true true false true"),
            (call("cum_sum", [op(a(), BinaryOp::Subtract, b())]), "false false true true"),
        ] {
            let shown = format!("{value:?}");
            assert_eq!(bench.select(f, op(value, BinaryOp::Greater, lit(5.0))), format!("bool: {above}"), "{shown}");
        }
        // Sums, means and spreads of infinities, and windows of them.
        let g = bench.frame(vec![
            ("g", ints(&[Some(1), Some(1), Some(2), Some(2)])),
            ("x", floats(&[Some(INF), Some(-INF), Some(1.0), Some(2.0)])),
        ]);
        for function in ["sum", "mean", "std", "var"] {
            let aggs = vec![call(function, [col("x")]).alias("s")];
            let groups = bench.step(Op::GroupBy { input: g, keys: vec![col("g")], aggs });
            let predicate = op(col("s"), BinaryOp::Greater, lit(100.0));
            assert_eq!(rows_of(&bench, Op::Filter { input: groups, predicate }), ["1"], "{function}");
            let window = op(over(call(function, [col("x")]), &["g"]), BinaryOp::Greater, lit(100.0));
            assert_eq!(bench.select(g, window), "bool: true true false false", "{function}");
        }
        let having = "select g from f group by g having sum(x) > 100 or stddev(x) > 100";
        assert_eq!(bench.sql(having, &[("f", g)]), "g|1");
        let ordered = "select g from f group by g order by avg(x) desc";
        assert_eq!(bench.sql(ordered, &[("f", g)]), "g|1|2");
    }
}
