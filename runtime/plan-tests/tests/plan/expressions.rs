//! The catalogue, function by function. Values from Polars 2.1 (`select` of the same expression on the same frame).

use onrush_wire::{BinaryOp::*, ExprKind, Value};

use super::support::*;

#[test]
fn expressions_give_polars_values() {
    let bench = TestEngine::default();
    let f = sample(&bench);
    let many = |v: Vec<Value>| lit(Value::List(v));
    let case = onrush_wire::Expr::new(ExprKind::Case {
        branches: vec![(col("b"), col("i"))],
        otherwise: Some(Box::new(col("f"))),
    });
    let cases = [
        (op(col("s"), Add, lit("x")), "str: ax Bx null héllox ab1cx"),
        (op(col("t"), Subtract, call("mean", [col("t")])), "f64: 25.75 25.75 25.75 -77.25 null"),
        (op(lit(1), Add, col("i")), "i64: 8 -6 8 -6 null"),
        (call("is_in", [col("s"), lit("a"), lit("B")]), "bool: true true null false false"),
        (case, "f64: 7.0 NaN -0.5 -7.0 null"),
        (call("fill_null", [col("i"), lit(1.5)]), "f64: 7.0 -7.0 7.0 -7.0 1.5"),
        (call("coalesce", [col("i"), col("f")]), "f64: 7.0 -7.0 7.0 -7.0 2.0"),
        (call("min_horizontal", [col("i"), col("f")]), "f64: 1.5 -7.0 -0.5 -7.0 2.0"),
        (call("sum_horizontal", [col("i"), col("f")]), "f64: 8.5 NaN 6.5 -7.0 2.0"),
        (call("mean_horizontal", [col("i"), col("f")]), "f64: 4.25 NaN 3.25 -7.0 2.0"),
        (named(call("concat_str", [col("s"), col("i")]), "separator", lit("-")), "str: a-7 B--7 null héllo--7 null"),
        (call("clip", [col("i"), lit(-1), lit(3)]), "i64: 3 -1 3 -1 null"),
        (call("floor_div", [col("i"), col("j")]), "i64: 3 -4 -4 3 null"),
        (call("floor", [col("f")]), "f64: 1.0 NaN -1.0 null 2.0"),
        (call("sign", [col("f")]), "f64: 1.0 NaN -1.0 null 1.0"),
        (call("pow", [col("i"), lit(2)]), "i64: 49 49 49 49 null"),
        (call("sqrt", [col("i")]), "f64: 2.645751311 NaN 2.645751311 NaN null"),
        (call("log10", [col("j")]), "f64: 0.301029996 0.301029996 NaN NaN 0.0"),
        (call("exp", [col("j")]), "f64: 7.389056099 7.389056099 0.135335283 0.135335283 2.718281828"),
        (call("ln", [col("z")]), "f64: -inf -inf -inf -inf -inf"),
        (
            call("cut", [col("i"), many(vec![Value::Int(-1), Value::Int(3)])]),
            "str: (3, inf] (-inf, -1] (3, inf] (-inf, -1] null",
        ),
        (call("is_nan", [col("f")]), "bool: false true false null false"),
        // Text.
        (call("str.len_chars", [col("s")]), "u32: 1 1 null 5 4"),
        (call("str.len_bytes", [col("s")]), "u32: 1 1 null 6 4"),
        (call("str.extract", [col("s"), lit(r"(\d)"), lit(1)]), "str: null null null null 1"),
        (call("str.slice", [col("s"), lit(1), lit(2)]), "str:   null él b1"),
        (call("str.slice", [col("s"), lit(-2)]), "str: a B null lo 1c"),
        (call("str.split", [col("s"), lit("")]), "list[str]: [a] [B] null [h,é,l,l,o] [a,b,1,c]"),
        (call("str.zfill", [call("cast", [col("i"), lit("str")]), lit(4)]), "str: 0007 -007 0007 -007 null"),
        (call("str.to_titlecase", [col("s")]), "str: A B null Héllo Ab1C"),
        (call("str.upper", [col("s")]), "str: A B null HÉLLO AB1C"),
        (call("str.contains", [col("s"), lit("[ab]")]), "bool: true false null false true"),
        (call("str.contains", [col("s"), lit("b")]), "bool: false false null false true"),
        (call("str.replace_all", [col("s"), lit("l"), lit("L")]), "str: a B null héLLo ab1c"),
        (call("str.pad_start", [col("s"), lit(3), lit("*")]), "str: **a **B null héllo ab1c"),
        (call("str.head", [col("s"), lit(2)]), "str: a B null hé ab"),
        // Windows.
        (call("rank", [col("j")]), "f64: 4.5 4.5 1.5 1.5 3.0"),
        (call("rank", [col("j"), lit("max")]), "u32: 5 5 2 2 3"),
        (call("rank", [col("j"), lit("dense")]), "u32: 3 3 1 1 2"),
        (call("rank", [col("j"), lit("ordinal")]), "u32: 4 5 1 2 3"),
        (call("cum_sum", [col("i")]), "i64: 7 0 7 0 null"),
        (call("cum_sum", [col("t")]), "i64: 100 200 300 297 null"),
        (call("cum_count", [col("i")]), "u32: 1 2 3 4 4"),
        (call("cum_max", [col("i")]), "i64: 7 7 7 7 null"),
        (call("cum_prod", [col("t")]), "i64: 100 10000 1000000 -3000000 null"),
        (call("rolling_mean", [col("j"), lit(2)]), "f64: null 2.0 0.0 -2.0 -0.5"),
        (call("rolling_sum", [col("i"), lit(2)]), "i64: null 0 0 0 null"),
        (call("rolling_std", [col("j"), lit(3)]), "f64: null null 2.309401077 2.309401077 1.732050808"),
        (call("rolling_median", [col("j"), lit(3)]), "f64: null null 2.0 -2.0 -2.0"),
        (call("shift", [col("i"), lit(1)]), "i64: null 7 -7 7 -7"),
        (call("shift", [col("i"), lit(-1)]), "i64: -7 7 -7 null null"),
        (call("diff", [col("i")]), "i64: null -14 14 -14 null"),
        (call("pct_change", [col("j")]), "f64: null 0.0 -2.0 -0.0 -1.5"),
        (call("forward_fill", [col("i")]), "i64: 7 -7 7 -7 -7"),
        (call("is_unique", [col("j")]), "bool: false false false false true"),
        (call("is_first_distinct", [col("j")]), "bool: true false true false true"),
        (over(call("sum", [col("i")]), &["j"]), "i64: 0 0 0 0 0"),
        (over(call("shift", [col("i")]), &["j"]), "i64: null 7 null 7 null"),
        (over(call("rank", [col("i")]), &["j"]), "f64: 2.0 1.0 2.0 1.0 null"),
        (call("mean", [call("shift", [col("j"), lit(1)])]), "f64: 0.0"),
        (call("sum", [call("pow", [op(col("j"), Subtract, call("mean", [col("j")])), lit(2.0)])]), "f64: 16.8"),
    ];
    let mut wrong = Vec::new();
    for (expr, expect) in cases {
        let text = format!("{:?}", expr.kind);
        match bench.try_select(f, expr.clone()) {
            Err(d) => wrong.push(format!("{text}\n  {d}")),
            Ok(id) => match bench.try_rows(id) {
                Err(d) => wrong.push(format!("{text}\n  {d} {:?}", d.notes)),
                Ok(_) => {
                    let got = bench.select(f, expr);
                    if got != expect {
                        wrong.push(format!("{text}\n  got    {got}\n  expect {expect}"));
                    }
                }
            },
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn dates_give_polars_values() {
    let bench = TestEngine::default();
    let f = bench.frame(vec![("s", string_array(&[Some("2013-01-31 12:34:56"), None, Some("2012-02-29 00:00:00")]))]);
    let t = || call("str.to_datetime", [col("s")]);
    let part = |name: &str| bench.select(f, call(name, [t()]));
    assert_eq!(bench.select(f, t()), "datetime[μs]: 2013-01-31T12:34:56 null 2012-02-29T00:00:00");
    assert_eq!(part("dt.year"), "i32: 2013 null 2012");
    assert_eq!(part("dt.month"), "i32: 1 null 2");
    assert_eq!(part("dt.day"), "i32: 31 null 29");
    assert_eq!(part("dt.hour"), "i32: 12 null 0");
    assert_eq!(part("dt.weekday"), "i32: 4 null 3");
    assert_eq!(part("dt.ordinal_day"), "i32: 31 null 60");
    assert_eq!(part("dt.week"), "i32: 5 null 9");
    assert_eq!(part("dt.quarter"), "i32: 1 null 1");
    assert_eq!(part("dt.date"), "date: 2013-01-31 null 2012-02-29");
    assert_eq!(part("dt.is_leap_year"), "bool: false null true");
    let with = |name: &str, text: &str| bench.select(f, call(name, [t(), lit(text)]));
    assert_eq!(with("dt.truncate", "1h"), "datetime[μs]: 2013-01-31T12:00:00 null 2012-02-29T00:00:00");
    assert_eq!(with("dt.truncate", "1w"), "datetime[μs]: 2013-01-28T00:00:00 null 2012-02-27T00:00:00");
    assert_eq!(with("dt.truncate", "1q"), "datetime[μs]: 2013-01-01T00:00:00 null 2012-01-01T00:00:00");
    assert_eq!(with("dt.offset_by", "1mo"), "datetime[μs]: 2013-02-28T12:34:56 null 2012-03-29T00:00:00");
    assert_eq!(with("dt.strftime", "%Y/%m"), "str: 2013/01 null 2012/02");
    let age = op(t(), Subtract, lit("2012-01-01"));
    assert_eq!(bench.select(f, call("dt.total_days", [age.clone()])), "i64: 396 null 59");
    assert_eq!(bench.select(f, call("dt.total_hours", [age])), "i64: 9516 null 1416");
    assert_eq!(bench.select(f, op(t(), Greater, lit("2013-01-01"))), "bool: true null false");
}

#[test]
fn aggregates_give_polars_values() {
    let bench = TestEngine::default();
    let f = sample(&bench);
    let one = |name: &str, column: &str| bench.select(f, call(name, [col(column)]));
    assert_eq!(one("sum", "t"), "i64: 297");
    assert_eq!(one("sum", "b"), "u32: 3");
    assert_eq!(one("mean", "b"), "f64: 0.75");
    assert_eq!(one("max", "f"), "f64: 2.0");
    assert_eq!(one("min", "f"), "f64: -0.5");
    assert_eq!(one("mean", "f"), "f64: NaN");
    assert_eq!(one("count", "f"), "u32: 4");
    assert_eq!(one("null_count", "i"), "u32: 1");
    assert_eq!(one("n_unique", "f"), "u32: 5");
    assert_eq!(one("median", "i"), "f64: 0.0");
    assert_eq!(one("std", "b"), "f64: 0.5");
    assert_eq!(one("max", "s"), "str: héllo");
    assert_eq!(one("max", "b"), "bool: true");
    assert_eq!(one("first", "i"), "i64: 7");
    assert_eq!(one("last", "s"), "str: ab1c");
    assert_eq!(one("product", "j"), "i64: 16");
    assert_eq!(one("any", "b"), "bool: true");
    assert_eq!(one("all", "b"), "bool: false");
    assert_eq!(one("implode", "i"), "list[i64]: [7,-7,7,-7,null]");
    assert_eq!(bench.select(f, call("len", [])), "u32: 5");
    assert_eq!(bench.select(f, call("corr", [col("i"), col("j")])), "f64: 0.0");
    assert_eq!(bench.select(f, call("quantile", [col("i"), lit(0.9)])), "f64: 7.0");
}

/// From Polars 2.1 on the same frame: `col.filter(..).agg()`, fills from the other end, one zero.
#[test]
fn filtered_aggregates_and_the_rare_cases() {
    let bench = TestEngine::default();
    let f = sample(&bench);
    let positive = || op(col("j"), Greater, lit(0));
    let filtered = |name| call("filter", [col(name), positive()]);
    assert_eq!(bench.select(f, call("sum", [filtered("i")])), "i64: 0");
    assert_eq!(bench.select(f, call("len", [filtered("i")])), "u32: 3");
    assert_eq!(bench.select(f, call("last", [filtered("s")])), "str: ab1c");
    assert_eq!(bench.select(f, call("null_count", [filtered("i")])), "u32: 1");
    assert_eq!(bench.select(f, over(call("sum", [filtered("i")]), &["s"])), "i64: 7 -7 0 0 0");
    let d = bench.try_select(f, filtered("i")).unwrap_err();
    assert_eq!(d.message, "`filter` of a column stands before an aggregate");
    let keys = vec![col("b")];
    let id = bench.step(onrush_wire::plan::Op::GroupBy {
        input: f,
        keys,
        aggs: vec![call("max", [filtered("j")]), call("len", [call("filter", [col("t"), positive()])])],
    });
    assert_eq!(bench.rows(id), "b j t|null null 0|false 2 1|true 2 2");
    // Backwards, and running values from the other end.
    assert_eq!(bench.select(f, call("backward_fill", [col("b")])), "bool: true false true true true");
    let reverse = |name, column| named(call(name, [col(column)]), "reverse", lit(true));
    assert_eq!(bench.select(f, reverse("cum_prod", "j")), "i64: 16 8 4 -2 1");
    assert_eq!(bench.select(f, reverse("cum_sum", "i")), "i64: 0 -7 0 -7 null");
    // NaN is left out of a running maximum, and stays in `clip`.
    assert_eq!(bench.select(f, call("cum_max", [col("f")])), "f64: 1.5 1.5 1.5 null 2.0");
    assert_eq!(bench.select(f, call("clip", [col("f"), lit(0.0), lit(1.0)])), "f64: 1.0 NaN 0.0 null 1.0");
    // The two zeros are one value.
    let zeros = bench.frame(vec![("z", floats(&[Some(0.0), Some(-0.0), Some(1.0)]))]);
    assert_eq!(bench.select(zeros, call("n_unique", [col("z")])), "u32: 2");
    assert_eq!(bench.select(zeros, call("is_first_distinct", [col("z")])), "bool: true false true");
    assert_eq!(bench.select(zeros, call("rank", [col("z")])), "f64: 1.5 1.5 3.0");
    // The most frequent value, the smallest of equals (Polars lists them all); the value where another is largest.
    assert_eq!(bench.select(f, call("mode", [col("i")])), "i64: -7");
    assert_eq!(bench.select(f, call("max_by", [col("s"), col("t")])), "str: a");
    assert_eq!(bench.select(f, call("eq_missing", [col("i"), lit(7)])), "bool: true false true false false");
    let smallest = bench.frame(vec![("t", std::sync::Arc::new(arrow::array::Int8Array::from(vec![-128, -3])) as _)]);
    assert_eq!(bench.select(smallest, call("abs", [col("t")])), "i8: -128 3");
}

/// By hand: noon in New York in winter is 17:00 UTC.
#[test]
fn times_without_a_zone_are_those_of_the_column() {
    let bench = TestEngine::default();
    let noon = 1_357_041_600_000_000; // 2013-01-01 12:00
    let zoned = |zone: &str, hours: i64| {
        let values = vec![noon + hours * 3_600_000_000, noon + (hours + 1) * 3_600_000_000];
        std::sync::Arc::new(arrow::array::TimestampMicrosecondArray::from(values).with_timezone(zone)) as _
    };
    let f = bench.frame(vec![
        ("utc", zoned("UTC", 0)),
        ("ny", zoned("America/New_York", 5)),
        ("bare", std::sync::Arc::new(arrow::array::TimestampMicrosecondArray::from(vec![noon, noon])) as _),
    ]);
    let literal = Value::Timestamp { value: noon, unit: onrush_wire::TimeUnit::Microsecond, zone: None };
    for name in ["utc", "ny"] {
        assert_eq!(bench.select(f, op(col(name), Equal, lit(literal.clone()))), "bool: true false", "{name}");
        assert_eq!(bench.select(f, op(col(name), Equal, lit("2013-01-01 12:00:00"))), "bool: true false", "{name}");
    }
    let d = bench.try_select(f, op(col("utc"), Greater, col("bare"))).unwrap_err();
    assert!(d.help[0].contains("bare.dt.replace_time_zone(\"UTC\")"), "{d:?}");
}
