//! Orders that nothing names: windows without ORDER BY, lists and limits see the rows in the order of the table, or of
//! the ORDER BY of the subquery below, whatever else a query selects. Values from DuckDB 2.0; those of frames by hand.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use onrush_wire::plan::{Format, Op, ParquetOptions, Source};
use onrush_wire::{BinaryOp, FrameId};

use super::support::*;

fn table(bench: &TestEngine) -> FrameId {
    bench.frame(vec![
        ("r", ints(&[Some(1), Some(2), Some(3), Some(4)])),
        ("g", string_array(&[Some("b"), Some("a"), Some("b"), Some("a")])),
        ("j", Arc::new(Int64Array::from(vec![10, 20, 30, 40])) as ArrayRef),
    ])
}

#[test]
fn windows_without_an_order_keep_that_of_the_table() {
    let bench = TestEngine::default();
    let t = table(&bench);
    let sql =
        |query: &str| bench.sql(&format!("select * exclude (b) from (select {query} from f) order by r"), &[("f", t)]);
    let other = "rank() over (partition by g order by r desc) b";
    let running = "sum(j) over (rows between 1 preceding and current row) a";
    assert_eq!(sql(&format!("r, {running}, {other}")), "r a|1 10|2 30|3 50|4 70");
    assert_eq!(sql(&format!("r, {other}, {running}")), "r a|1 10|2 30|3 50|4 70");
    assert_eq!(sql(&format!("r, row_number() over () a, {other}")), "r a|1 1|2 2|3 3|4 4");
    assert_eq!(sql(&format!("r, lag(j) over () a, {other}")), "r a|1 null|2 10|3 20|4 30");
    assert_eq!(sql(&format!("r, first_value(j) over () a, {other}")), "r a|1 10|2 10|3 10|4 10");
    assert_eq!(sql("r, row_number() over (partition by g) a, sum(j) over (order by r desc) b"), "r a|1 1|2 1|3 2|4 2");
    assert_eq!(sql(&format!("r, rank() over () a, {other}")), "r a|1 1|2 1|3 1|4 1");
    assert_eq!(sql(&format!("r, sum(j) over () a, {other}")), "r a|1 100|2 100|3 100|4 100");
    assert_eq!(
        sql("r, sum(j) over (rows unbounded preceding) a, ntile(2) over () n, min(j) over (partition by g) b"),
        "r a n|1 10 1|2 30 1|3 60 2|4 100 2"
    );
}

#[test]
fn the_order_of_a_subquery_reaches_what_is_above_it() {
    let bench = TestEngine::default();
    let t = table(&bench);
    let sql = |query: &str| bench.sql(query, &[("f", t)]);
    let down = "(select * from f order by j desc)";
    assert_eq!(sql(&format!("select row_number() over () n, j from {down} order by n")), "n j|1 40|2 30|3 20|4 10");
    assert_eq!(
        sql(&format!("select row_number() over () n, j from {down} where r > 1 order by j")),
        "n j|3 20|2 30|1 40"
    );
    assert_eq!(sql(&format!("select lag(j) over () l, j from {down} order by j")), "l j|20 10|30 20|40 30|null 40");
    assert_eq!(
        sql(&format!("select row_number() over (partition by g) n, j from {down} order by j")),
        "n j|2 10|2 20|1 30|1 40"
    );
    let with = format!("with t as {down} select row_number() over () n, rank() over (order by j) k from t order by k");
    assert_eq!(sql(&with), "n k|4 1|3 2|2 3|1 4");
    assert_eq!(
        sql(&format!("select list(j) l, first(j) f, string_agg(g, '') s from {down}")),
        "l f s|[40,30,20,10] 40 abab"
    );
    assert_eq!(sql(&format!("select sum(j) s from (select * from {down} limit 2)")), "s|70");
    assert_eq!(
        sql(&format!("select max(n) m from (select row_number() over () n, * from {down}) where j = 10")),
        "m|4"
    );
    assert_eq!(sql(&format!("select j from {down} where r <> 2")), "j|40|30|10");
    // An order below another one is not needed.
    assert_eq!(sql(&format!("select sum(j) over () s, j from {down} order by j limit 1")), "s j|100 10");
}

/// Running sums, row numbers and shifts of frames go along the rows, with any other window, and after a sort.
#[test]
fn frames_keep_their_order() {
    let bench = TestEngine::default();
    let sorted = bench.step(Op::Sort { input: table(&bench), keys: vec![desc("j")] });
    let exprs = vec![
        over(call("sum", [col("j")]), &["g"]).alias("s"),
        call("cum_sum", [col("j")]).alias("c"),
        over(call("shift", [col("j")]), &["g"]).alias("l"),
        call("shift", [col("j")]).alias("p"),
        call("row_number", []).alias("n"),
    ];
    let id = bench.step(Op::WithColumns { input: sorted, exprs });
    let expected =
        "r g j s c l p n|4 a 40 60 40 null null 1|3 b 30 40 70 null 40 2|2 a 20 60 90 40 30 3|1 b 10 40 100 30 20 4";
    assert_eq!(bench.rows(id), expected);
}

/// As Polars sorts them: `pl.read_parquet("enum.parquet").sort("c", "n")`.
#[test]
fn categories_sort_by_their_order() {
    let bench = TestEngine::default();
    for file in ["enum.parquet", "ordered.parquet"] {
        let path = format!("{}/../io/tests/files/{file}", env!("CARGO_MANIFEST_DIR"));
        let format = Format::Parquet(ParquetOptions::default());
        let source = Source { path, folder: String::new(), format, cluster: None };
        let read = bench.step(Op::Read(source));
        let expected = "c n|null 5|lo 2|lo 4|mid 3|hi 1";
        let sorted = bench.step(Op::Sort { input: read, keys: vec![asc("c"), asc("n")] });
        assert_eq!(bench.rows(sorted), expected, "{file}");
        let filtered = bench.step(Op::Filter { input: read, predicate: op(col("n"), BinaryOp::Greater, lit(1i64)) });
        let sorted = bench.step(Op::Sort { input: filtered, keys: vec![desc("c"), asc("n")] });
        assert_eq!(bench.rows(sorted), "c n|null 5|mid 3|lo 2|lo 4", "{file}");
        let sql = |query: &str| bench.sql(query, &[("t", read)]);
        assert_eq!(sql("select c, n from t order by c desc, n limit 2"), "c n|hi 1|mid 3", "{file}");
        assert_eq!(sql("select n, rank() over (order by c) r from t order by n"), "n r|1 4|2 1|3 3|4 1|5 5", "{file}");
        assert_eq!(sql("select c, count(*) k from t group by c order by c"), "c k|lo 2|mid 1|hi 1|null 1", "{file}");
        // Strings sort as strings.
        assert_eq!(sql("select c::varchar s from t where n < 4 order by s"), "s|hi|lo|mid", "{file}");
    }
}
