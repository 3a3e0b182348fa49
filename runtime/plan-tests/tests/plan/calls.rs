//! Calls of functions with options and selectors, and the correlation of groups. Values from Polars 2.1 unless a test
//! says otherwise.

use onrush_wire::plan::{JoinKind, Op};
use onrush_wire::{BinaryOp, Expr};

use super::support::*;

fn mixed(bench: &TestEngine) -> onrush_wire::FrameId {
    bench.frame(vec![
        ("a", ints(&[Some(1), None, Some(3)])),
        ("b", floats(&[Some(0.5), Some(2.0), Some(-1.0)])),
        ("s", string_array(&[Some("x"), Some("y"), None])),
    ])
}

/// From `numpy.corrcoef` and Polars: `u` is a time in seconds, so that sums of squares have no digits left.
#[test]
fn correlations_of_groups_keep_their_digits() {
    for choice in choices() {
        let cache = Some(onrush_wire::paths::cache_dir());
        let policy = Some(onrush_engine::Policy::Always);
        let bench = TestEngine::of(onrush_engine::EngineConfig { choice, cache, policy, ..on_device() });
        let y = [1.0, 2.0, 4.0, 3.0, 5.0, 7.0, 6.0, 8.0, 1.0, 2.0, 3.0];
        let f = bench.frame(vec![
            ("g", ints(&[1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2].map(Some))),
            ("y", floats(&y.map(Some))),
            ("u", floats(&std::array::from_fn::<_, 11, _>(|i| Some(1.7e9 + i as f64)))),
        ]);
        let rounded = |expr: Expr| call("round", [expr, lit(6)]);
        let of = |function: &str| rounded(call(function, [col("y"), col("u")])).alias(function);
        let aggs = vec![
            of("corr"),
            of("cov"),
            rounded(call("var", [col("u")])).alias("var"),
            rounded(call("skew", [col("u")])).alias("skew"),
            rounded(call("kurtosis", [col("u")])).alias("kurtosis"),
        ];
        let groups = bench.step(Op::GroupBy { input: f, keys: vec![col("g")], aggs });
        let expected = "g corr cov var skew kurtosis|1 0.952381 5.714286 6.0 0.0 -1.238095|2 1.0 1.0 1.0 0.0 -1.5";
        assert_eq!(bench.rows(groups), expected);
        let window = rounded(over(call("corr", [col("y"), col("u")]), &["g"]));
        let (one, two) = ("0.952381 ".repeat(8), "1.0 1.0 1.0");
        assert_eq!(bench.select(f, window), format!("f64: {one}{two}"));
        // DuckDB 2.0.
        let query = "select g, round(corr(y, u), 6) c, round(regr_r2(y, u), 6) r, round(regr_slope(y, u), 6) s, \
                     round(covar_pop(y, u), 6) v from f group by g order by g";
        assert_eq!(bench.sql(query, &[("f", f)]), "g c r s v|1 0.952381 0.907029 0.952381 5.0|2 1.0 1.0 1.0 0.666667");
    }
}

#[test]
fn functions_of_several_columns_take_all_of_a_selector() {
    let bench = TestEngine::default();
    let f = mixed(&bench);
    let numeric = || call("numeric", []);
    let all = || Expr::new(onrush_wire::ExprKind::All { except: Vec::new() });
    assert_eq!(bench.select(f, call("sum_horizontal", [numeric()])), "f64: 1.5 2.0 2.0");
    assert_eq!(bench.select(f, call("max_horizontal", [numeric()])), "f64: 1.0 2.0 3.0");
    assert_eq!(bench.select(f, call("coalesce", [numeric()])), "f64: 1.0 2.0 3.0");
    assert_eq!(bench.select(f, call("sum_horizontal", [call("null_count", [all()])])), "u32: 2");
    let positive = || op(numeric(), BinaryOp::Greater, lit(0));
    assert_eq!(bench.select(f, call("all_horizontal", [positive()])), "bool: true null false");
    let kept = bench.step(Op::Filter { input: f, predicate: call("any_horizontal", [positive()]) });
    assert_eq!(bench.column(kept, 2), ["x", "y", "null"]);
    // With other arguments, and in an aggregation.
    assert_eq!(bench.select(f, call("sum_horizontal", [numeric(), lit(10)])), "f64: 11.5 12.0 12.0");
    let aggs = vec![call("sum_horizontal", [call("sum", [numeric()])]).alias("n")];
    let grouped = bench.step(Op::GroupBy { input: f, keys: vec![col("s")], aggs });
    assert_eq!(bench.rows(grouped), "s n|null 2.0|x 1.5|y 2.0");
    // As keys of orders, joins and windows.
    let keys = vec![onrush_wire::expr::SortKey { expr: call("strings", []), descending: true, nulls_last: Some(true) }];
    assert_eq!(bench.column(bench.step(Op::Sort { input: f, keys }), 2), ["y", "x", "null"]);
    let on = || vec![call("strings", [])];
    let (how, suffix) = (JoinKind::Semi, "_right".to_string());
    let semi = Op::Join { left: f, right: f, how, left_on: on(), right_on: on(), suffix };
    assert_eq!(bench.column(bench.step(semi), 2), ["x", "y"]);
    let window =
        onrush_wire::ExprKind::Over { value: Box::new(call("len", [])), partition: vec![all()], order: Vec::new() };
    assert_eq!(bench.select(f, Expr::new(window)), "u32: 1 1 1");
}

#[test]
fn the_ends_of_a_range_are_in_it_or_not() {
    let bench = TestEngine::default();
    let f = mixed(&bench);
    for (closed, expected) in [
        ("both", "true false true"),
        ("left", "false false true"),
        ("right", "true false false"),
        ("none", "false false false"),
    ] {
        let between = named(call("is_between", [col("b"), lit(-1), lit(0.5)]), "closed", lit(closed));
        assert_eq!(bench.select(f, between), format!("bool: {expected}"), "{closed}");
    }
}

#[test]
fn nulls_and_nans_are_dropped_before_an_aggregate() {
    let bench = TestEngine::default();
    let f = bench.frame(vec![
        ("g", ints(&[Some(1), Some(1), Some(1), Some(2)])),
        ("u", ints(&[Some(1), None, Some(1), None])),
        ("x", floats(&[Some(1.0), Some(f64::NAN), Some(3.0), Some(f64::NAN)])),
    ]);
    let dropped = |function: &str| call(function, [call("drop_nulls", [col("u")])]);
    assert_eq!(bench.select(f, dropped("n_unique")), "u32: 1");
    assert_eq!(bench.select(f, dropped("len")), "u32: 2");
    assert_eq!(bench.select(f, call("mean", [call("drop_nans", [col("x")])])), "f64: 2.0");
    let aggs =
        vec![dropped("n_unique").alias("n"), dropped("last").alias("l"), call("drop_nulls", [col("u")]).alias("v")];
    let groups = bench.step(Op::GroupBy { input: f, keys: vec![col("g")], aggs });
    assert_eq!(bench.rows(groups), "g n l v|1 1 1 [1,1]|2 0 null []");
    let error = bench.try_select(f, call("drop_nulls", [col("u")])).unwrap_err();
    assert!(error.help.iter().any(|help| help.contains("frame.drop_nulls_in")), "{error:?}");
}

#[test]
fn an_accent_stays_with_its_letter() {
    let bench = TestEngine::default();
    let f = bench.frame(vec![("s", string_array(&[Some("ae\u{301}"), Some("🇫🇷x"), Some("abc"), None]))]);
    assert_eq!(bench.select(f, call("str.reverse", [col("s")])), "str: e\u{301}a x🇫🇷 cba null");
}

/// What a column's name in quotes is, is said with the column.
#[test]
fn a_name_in_quotes_is_answered_with_the_column() {
    let bench = TestEngine::default();
    let f = mixed(&bench);
    let help = |expr: Expr| bench.try_select(f, expr).unwrap_err().help.join(" ");
    assert!(help(op(lit("a"), BinaryOp::Greater, col("b"))).contains("`a` or `col(\"a\")`"));
    assert!(help(op(lit("a"), BinaryOp::Greater, lit(1))).contains("`a` or `col(\"a\")`"));
    assert!(help(op(lit("q r"), BinaryOp::Greater, lit(1))).contains("col(\"q r\")"));
    assert!(help(call("mean", [call("sqrt", [lit("b")])])).contains("`b` or `col(\"b\")`"));
}
