//! Statistics, windows by time and by quantiles, weighted means. Values from Polars 2.1: the same expression on the
//! same frame.

use std::sync::Arc;

use arrow::array::{ArrayRef, TimestampMicrosecondArray};
use onrush_wire::plan::Op;
use onrush_wire::{Expr, FrameId, Value};

use super::support::*;

const NAN: f64 = f64::NAN;

fn of(bench: &TestEngine, values: &[Option<f64>]) -> FrameId {
    bench.frame(vec![("x", floats(values))])
}

fn list(values: &[f64]) -> Expr {
    Expr::literal(Value::List(values.iter().map(|v| Value::Float(*v)).collect()))
}

fn words(values: &[&str]) -> Expr {
    Expr::literal(Value::List(values.iter().map(|v| Value::Text(v.to_string())).collect()))
}

#[test]
fn moments_are_those_of_polars() {
    let bench = TestEngine::default();
    let values = [1.0, 2.0, 4.0, 8.0].map(Some);
    let f = of(&bench, &[&values[..], &[None]].concat());
    let one = |f, expr: Expr| bench.select(f, expr);
    assert_eq!(one(f, call("skew", [col("x")])), "f64: 0.656807734");
    assert_eq!(one(f, named(call("skew", [col("x")]), "bias", lit(false))), "f64: 1.137624367");
    assert_eq!(one(f, call("kurtosis", [col("x")])), "f64: -1.098979206");
    assert_eq!(one(f, named(call("kurtosis", [col("x")]), "fisher", lit(false))), "f64: 1.901020794");
    let five = of(&bench, &[1.0, 2.0, 4.0, 8.0, 3.0].map(Some));
    assert_eq!(one(five, named(call("kurtosis", [col("x")]), "bias", lit(false))), "f64: 2.021017076");
    let flat = of(&bench, &[Some(2.0), Some(2.0)]);
    assert_eq!(one(flat, call("skew", [col("x")])), "f64: NaN");
    assert_eq!(one(of(&bench, &[]), call("skew", [col("x")])), "f64: null");
    // In groups as over all rows.
    let groups = bench.frame(vec![
        ("g", ints(&[Some(1), Some(2), Some(1), Some(1), Some(1), Some(2)])),
        ("x", floats(&[Some(1.0), Some(5.0), Some(2.0), Some(4.0), Some(8.0), Some(5.0)])),
    ]);
    let aggs = vec![call("skew", [col("x")]).alias("s"), call("arg_max", [col("x")]).alias("m")];
    let id = bench.step(Op::GroupBy { input: groups, keys: vec![col("g")], aggs });
    assert_eq!(bench.rows(id), "g s m|1 0.656807734 3|2 NaN 0");
    assert_eq!(
        bench.select(groups, over(call("skew", [col("x")]), &["g"])),
        "f64: 0.656807734 NaN 0.656807734 0.656807734 0.656807734 NaN"
    );
}

#[test]
fn places_of_extremes_are_those_of_polars() {
    let bench = TestEngine::default();
    let f = bench.frame(vec![("x", ints(&[Some(3), None, Some(9), Some(9), Some(1)]))]);
    assert_eq!(bench.select(f, call("arg_max", [col("x")])), "u32: 2");
    assert_eq!(bench.select(f, call("arg_min", [col("x")])), "u32: 4");
    let f = of(&bench, &[Some(1.0), Some(NAN), Some(3.0)]);
    assert_eq!(bench.select(f, call("arg_max", [col("x")])), "u32: 2");
    let f = of(&bench, &[Some(NAN), Some(1.0)]);
    assert_eq!(bench.select(f, call("arg_min", [col("x")])), "u32: 1");
    assert_eq!(bench.select(of(&bench, &[None, None]), call("arg_max", [col("x")])), "u32: null");
}

#[test]
fn rows_are_interpolated_and_weighted_as_in_polars() {
    let bench = TestEngine::default();
    let f = bench.frame(vec![("x", ints(&[None, Some(1), None, None, Some(4), None]))]);
    assert_eq!(bench.select(f, call("interpolate", [col("x")])), "f64: null 1.0 2.0 3.0 4.0 null");
    let f = of(&bench, &[Some(1.0), Some(2.0), None, Some(4.0)]);
    let ewm = |options: &[(&str, Expr)]| {
        let call = options.iter().fold(call("ewm_mean", [col("x")]), |c, (name, v)| named(c, name, v.clone()));
        bench.select(f, call)
    };
    assert_eq!(ewm(&[("alpha", lit(0.5))]), "f64: 1.0 1.666666667 null 3.363636364");
    assert_eq!(ewm(&[("com", lit(1))]), "f64: 1.0 1.666666667 null 3.363636364");
    assert_eq!(ewm(&[("span", lit(3))]), "f64: 1.0 1.666666667 null 3.363636364");
    assert_eq!(ewm(&[("half_life", lit(1))]), "f64: 1.0 1.666666667 null 3.363636364");
    assert_eq!(ewm(&[("alpha", lit(0.5)), ("adjust", lit(false))]), "f64: 1.0 1.5 null 3.166666667");
    assert_eq!(ewm(&[("alpha", lit(0.5)), ("ignore_nulls", lit(true))]), "f64: 1.0 1.666666667 null 3.0");
    let error = bench.try_select(f, call("ewm_mean", [col("x")])).unwrap_err();
    assert!(error.message.contains("one of `alpha`, `span`, `com` and `half_life`"), "{error}");
}

#[test]
fn windows_of_rows_are_those_of_polars() {
    let bench = TestEngine::default();
    let f = of(&bench, &[1.0, 5.0, 2.0, 8.0].map(Some));
    let rolling = |q: f64| call("rolling_quantile", [col("x"), lit(q), lit(3)]);
    assert_eq!(bench.select(f, rolling(0.5)), "f64: null null 2.0 5.0");
    let linear = named(rolling(0.3), "interpolation", lit("linear"));
    assert_eq!(bench.select(f, linear), "f64: null null 1.6 3.8");
    let f = bench.frame(vec![
        ("a", floats(&[Some(1.0), Some(2.0), Some(4.0), Some(3.0), None, Some(7.0), Some(1.0)])),
        ("b", floats(&[2.0, 1.0, 5.0, 4.0, 1.0, 2.0, 3.0].map(Some))),
    ]);
    let together = |name| call(name, [col("a"), col("b"), lit(3)]);
    assert_eq!(bench.select(f, together("rolling_corr")), "f64: null null 0.838627869 0.960768923 null null null");
    assert_eq!(bench.select(f, together("rolling_cov")), "f64: null null 2.666666667 2.0 null null null");
    assert_eq!(
        bench.select(f, named(together("rolling_corr"), "min_samples", lit(2))),
        "f64: null -1.0 0.838627869 0.960768923 1.0 -1.0 -1.0"
    );
    assert_eq!(bench.select(f, call("corr", [col("a"), col("b"), lit("spearman")])), "f64: 0.25");
    // A window of equal values has no spread, and a large value leaves nothing behind.
    let f = of(&bench, &[215000.0, 105000.0, 172000.0, 172000.0, 172000.0, 172000.0].map(Some));
    assert_eq!(
        bench.column(bench.try_select(f, call("rolling_std", [col("x"), lit(3)])).unwrap(), 0)[4..],
        ["0.0", "0.0"]
    );
    let f = of(&bench, &[1.0, 2.0, 1e17, 4.0, 5.0, 6.0, 7.0, 8.0].map(Some));
    assert_eq!(
        bench.column(bench.try_select(f, call("rolling_mean", [col("x"), lit(3)])).unwrap(), 0)[5..],
        ["5.0", "6.0", "7.0"]
    );
}

#[test]
fn windows_of_time_are_those_of_polars() {
    let bench = TestEngine::default();
    let hours = |all: [i64; 5]| -> ArrayRef {
        Arc::new(TimestampMicrosecondArray::from_iter_values(all.map(|h| 1_704_067_200_000_000 + h * 3_600_000_000)))
    };
    let x = floats(&[Some(1.0), Some(2.0), Some(3.0), Some(4.0), None]);
    let f = bench.frame(vec![("t", hours([0, 1, 1, 4, 5])), ("x", x)]);
    let by = |name: &str| bench.select(f, call(name, [col("x"), col("t"), lit("2h")]));
    assert_eq!(by("rolling_mean_by"), "f64: 1.0 2.0 2.0 4.0 4.0");
    assert_eq!(by("rolling_sum_by"), "f64: 1.0 6.0 6.0 4.0 4.0");
    assert_eq!(by("rolling_min_by"), "f64: 1.0 1.0 1.0 4.0 4.0");
    assert_eq!(by("rolling_max_by"), "f64: 1.0 3.0 3.0 4.0 4.0");
    assert_eq!(by("rolling_std_by"), "f64: null 1.0 1.0 null null");
    assert_eq!(by("rolling_median_by"), "f64: 1.0 2.0 2.0 4.0 4.0");
    let closed = |word: &str| {
        bench.select(f, named(call("rolling_sum_by", [col("x"), lit("t"), lit("2h")]), "closed", lit(word)))
    };
    assert_eq!(closed("both"), "f64: 1.0 6.0 6.0 4.0 4.0");
    assert_eq!(closed("left"), "f64: 0.0 1.0 1.0 0.0 4.0");
    // The rows need no order.
    let x = floats(&[None, Some(4.0), Some(3.0), Some(2.0), Some(1.0)]);
    let back = bench.frame(vec![("t", hours([5, 4, 1, 1, 0])), ("x", x)]);
    let sum = call("rolling_sum_by", [col("x"), col("t"), lit("2h")]);
    assert_eq!(bench.select(back, sum), "f64: 4.0 4.0 6.0 6.0 1.0");
    let error = bench.try_select(f, call("rolling_sum_by", [col("x"), col("t"), lit("2 hours")])).unwrap_err();
    assert!(error.message.contains("`2 hours` is not a time span"), "{error}");
}

#[test]
fn quantiles_cut_as_in_polars() {
    let bench = TestEngine::default();
    let qcut = |values: &[Option<f64>], quantiles: Expr, options: &[(&str, Expr)]| {
        let call = call("qcut", [col("x"), quantiles]);
        let call = options.iter().fold(call, |c, (name, v)| named(c, name, v.clone()));
        let id = bench.try_select(of(&bench, values), call).unwrap();
        bench.try_rows(id).map(|rows| rows.concat().join(" ")).unwrap_or_else(|e| e.message)
    };
    let five = [Some(1.0), Some(2.0), Some(3.0), Some(4.0), Some(5.0), None];
    assert_eq!(qcut(&five, lit(4), &[]), "(-inf, 2] (-inf, 2] (2, 3] (3, 4] (4, inf] null");
    let odd = [Some(1.0), Some(2.5), Some(3.0), Some(4.0), Some(NAN)];
    let expected = "(-inf, 2.125] (2.125, 3.25] (2.125, 3.25] (3.25, inf] null";
    assert_eq!(qcut(&odd, list(&[0.25, 0.75]), &[]), expected);
    let four = [1.0, 2.0, 3.0, 4.0].map(Some);
    assert_eq!(qcut(&four, lit(2), &[("labels", words(&["lo", "hi"]))]), "lo lo hi hi");
    assert_eq!(qcut(&four, lit(2), &[("left_closed", lit(true))]), "[-inf, 2.5) [-inf, 2.5) [2.5, inf) [2.5, inf)");
    let same = [1.0, 1.0, 1.0, 2.0].map(Some);
    assert!(qcut(&same, lit(4), &[]).contains("two quantiles of `qcut` are equal"));
    let expected = "(-inf, 1] (-inf, 1] (-inf, 1] (1.25, inf]";
    assert_eq!(qcut(&same, lit(4), &[("allow_duplicates", lit(true))]), expected);
}

#[test]
fn nan_is_where_polars_has_it() {
    let bench = TestEngine::default();
    let f = bench.frame(vec![
        ("g", ints(&[Some(1), Some(1), Some(1), Some(2)])),
        ("x", floats(&[Some(1.0), Some(NAN), Some(2.0), Some(NAN)])),
    ]);
    let aggs = vec![call("min", [col("x")]).alias("lo"), call("max", [col("x")]).alias("hi")];
    let id = bench.step(Op::GroupBy { input: f, keys: vec![col("g")], aggs });
    assert_eq!(bench.rows(id), "g lo hi|1 1.0 2.0|2 NaN NaN");
    assert_eq!(bench.select(f, over(call("min", [col("x")]), &["g"])), "f64: 1.0 1.0 1.0 NaN");
    let breaks = list(&[1.0, 2.0]);
    assert_eq!(bench.select(f, call("cut", [col("x"), breaks])), "str: (-inf, 1] null (1, 2] null");
    let h = bench
        .frame(vec![("a", floats(&[Some(NAN), Some(NAN), None])), ("b", floats(&[Some(2.0), Some(NAN), Some(1.0)]))]);
    let both = |name| bench.select(h, call(name, [col("a"), col("b")]));
    assert_eq!(both("max_horizontal"), "f64: 2.0 NaN 1.0");
    assert_eq!(both("min_horizontal"), "f64: 2.0 NaN 1.0");
    let r = of(&bench, &[Some(3.0), Some(NAN), Some(1.0), Some(2.0)]);
    assert_eq!(bench.select(r, call("rolling_min", [col("x"), lit(2)])), "f64: null NaN NaN 1.0");
    assert_eq!(bench.select(r, call("rolling_max", [col("x"), lit(2)])), "f64: null NaN NaN 2.0");
}

/// From pandas 3.1: `Series(["b", "a", None, "b"]).astype("category").cat.codes`, but null where it has -1.
#[test]
fn codes_are_the_places_of_values() {
    let bench = TestEngine::default();
    let f = bench.frame(vec![("s", string_array(&[Some("b"), Some("a"), None, Some("b")]))]);
    assert_eq!(bench.select(f, call("cat.codes", [col("s")])), "u32: 1 0 null 1");
}

/// By the definition: numbers from 0 to 1 that the seed fixes.
#[test]
fn random_numbers_are_fixed_by_the_seed() {
    let bench = TestEngine::default();
    let f = bench.frame(vec![("x", ints(&[Some(1); 1000]))]);
    let draw = |seed: i64| {
        let id = bench.try_select(f, call("random", [lit(seed)])).unwrap();
        bench.column(id, 0).iter().map(|v| v.parse::<f64>().unwrap()).collect::<Vec<_>>()
    };
    let (a, b) = (draw(1), draw(2));
    assert_eq!(a, draw(1));
    assert_ne!(a, b);
    let mean = a.iter().sum::<f64>() / 1000.0;
    assert!((mean - 0.5).abs() < 0.05 && a.iter().all(|v| (0.0..1.0).contains(v)), "{mean}");
}
