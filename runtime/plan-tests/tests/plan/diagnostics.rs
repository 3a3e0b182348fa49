//! What a wrong step says: code, message, help, and the token under which it stands.

use onrush_wire::plan::{JoinKind, Op};
use onrush_wire::{BinaryOp::*, Class, Diagnostic, FrameId};

use super::support::*;

fn frame(bench: &TestEngine) -> FrameId {
    bench.frame(vec![
        ("dep_delay", ints(&[Some(1), None])),
        ("carrier", string_array(&[Some("UA"), Some("x")])),
        ("ok", bools(&[Some(true), None])),
    ])
}

fn check(d: Diagnostic, code: &str, message: &str, help: &str, column: u32) {
    assert_eq!(d.code, code, "{d}");
    assert_eq!(d.class, Class::Plan, "{d}");
    assert!(d.message.contains(message), "message: {d}");
    assert!(help.is_empty() || d.help.iter().any(|h| h.contains(help)), "help: {d}");
    assert_eq!(d.labels.first().map(|l| l.span.column), Some(column), "{d:?}");
}

#[test]
fn mistakes_are_found_at_the_token() {
    let bench = TestEngine::default();
    let f = frame(&bench);
    let wrong = |expr| bench.try_select(f, expr).unwrap_err();
    check(
        wrong(col("dep_dely").at(span(5))),
        "unknown-column",
        "there is no column `dep_dely`",
        "did you mean `dep_delay`?",
        5,
    );
    check(
        wrong(col("Carrier").at(span(5))),
        "unknown-column",
        "`Carrier`",
        "column names are case-sensitive: `Carrier` is `carrier`",
        5,
    );
    check(
        wrong(op(col("carrier").at(span(4)), Greater, lit(5)).at(span(7))),
        "type-mismatch",
        "`str`",
        "compare with \"5\"",
        7,
    );
    check(wrong(call("meen", [col("dep_delay")]).at(span(3))), "unknown-function", "`meen`", "did you mean `mean`?", 3);
    check(
        wrong(call("mean", [col("carrier").at(span(2))]).at(span(3))),
        "type-mismatch",
        "`mean` needs numbers",
        "cast",
        2,
    );
    check(wrong(call("dt.month", [col("carrier").at(span(2))])), "type-mismatch", "a date or a time", "str.to_date", 2);
    check(
        wrong(call("shift", [col("dep_delay"), lit(1), lit(0), lit(3).at(span(8))])),
        "argument",
        "at most 2 arguments",
        ".shift(n?, fill_value?)",
        8,
    );
    check(wrong(call("quantile", [col("dep_delay"), lit(90).at(span(8))])), "argument", "between 0 and 1", "", 8);
    check(
        wrong(call("str.contains", [col("carrier"), lit("(").at(span(8))])),
        "argument",
        "not a regular expression",
        "literal",
        8,
    );
    check(
        wrong(named(call("rolling_mean", [col("dep_delay")]), "window", lit(3).at(span(8)))),
        "argument",
        "no option `window`",
        "window_size",
        8,
    );
    check(wrong(op(col("carrier"), Add, col("dep_delay")).at(span(6))), "type-mismatch", "`+`", "cast(\"str\")", 6);
    let two = Op::Select { input: f, exprs: vec![col("ok"), col("carrier").alias("ok").at(span(11))] };
    check(bench.try_step(two).unwrap_err(), "duplicate-column", "two columns named `ok`", "another name", 11);
    let filter = Op::Filter { input: f, predicate: col("dep_delay").at(span(12)) };
    check(bench.try_step(filter).unwrap_err(), "type-mismatch", "`filter` needs a condition", "dep_delay ==", 12);
    let join = Op::Join {
        left: f,
        right: f,
        how: JoinKind::Inner,
        left_on: vec![col("carrier").at(span(13))],
        right_on: vec![col("dep_delay")],
        suffix: "_r".into(),
    };
    check(bench.try_step(join).unwrap_err(), "type-mismatch", "cannot be equal", "cast", 13);
    // Without a token: the call.
    let drop = Op::Drop { input: f, columns: vec!["nope".into()] };
    check(bench.try_step(drop).unwrap_err(), "unknown-column", "`nope`", "", 99);
}

#[test]
fn data_errors_speak_of_the_data() {
    let bench = TestEngine::default();
    let f = frame(&bench);
    let id = bench.try_select(f, call("cast", [col("carrier"), lit("i64")])).unwrap();
    let d = bench.try_rows(id).unwrap_err();
    assert_eq!((d.class, d.code.as_str()), (Class::Data, "cast"), "{d}");
    assert_eq!(d.message, "the text `UA` cannot be cast to `i64`");
    assert_eq!(bench.select(f, call("try_cast", [col("carrier"), lit("i64")])), "i64: null null");
    let id = bench.try_select(f, call("str.to_date", [col("carrier"), lit("%d/%m/%Y")])).unwrap();
    let d = bench.try_rows(id).unwrap_err();
    assert!(d.message.starts_with("the text `UA` is not a date of the form `%d/%m/%Y`"), "{d}");
}

/// The place of the expression, though it is a later step's rows that are asked for.
#[test]
fn a_value_that_does_not_fit_is_shown_at_its_cast() {
    let bench = TestEngine::default();
    let f = bench.frame(vec![("s", string_array(&[Some("1"), Some("x")])), ("n", ints(&[Some(1), Some(300)]))]);
    let fails = |expr: onrush_wire::Expr| {
        let input = bench.step(Op::WithColumns { input: f, exprs: vec![expr.alias("y")] });
        let id = bench.step(Op::GroupBy { input, keys: vec![col("n")], aggs: vec![call("max", [col("y")])] });
        let d = bench.try_rows(id).unwrap_err();
        assert_eq!((d.class, d.code.as_str()), (Class::Data, "cast"), "{d}");
        (d.message.clone(), d.labels.iter().map(|l| l.span.column).collect::<Vec<_>>())
    };
    let cast = |name: &str, to: &str| call("cast", [col(name), lit(to)]).at(span(7));
    assert_eq!(fails(cast("s", "i64")), ("the text `x` cannot be cast to `i64`".to_string(), vec![7]));
    assert_eq!(fails(op(cast("s", "f64"), Add, lit(1))).1, [7]);
    assert_eq!(fails(cast("n", "i8")).1, [7]);
    assert_eq!(fails(call("str.to_date", [col("s"), lit("%Y")]).at(span(8))).1, [8]);
    assert_eq!(fails(call("str.to_datetime", [col("s")]).at(span(8))).1, [8]);
    // Without a token: the step.
    assert_eq!(fails(call("cast", [col("s"), lit("i64")])).1, [99]);
}
