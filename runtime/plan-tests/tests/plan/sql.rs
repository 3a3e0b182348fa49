//! SQL over frames. Values from DuckDB 2.0.

use onrush_wire::{Class, FrameId};

use super::support::*;

fn table(bench: &TestEngine) -> FrameId {
    bench.frame(vec![
        ("Origin", string_array(&[Some("JFK"), Some("LGA"), Some("JFK"), None])),
        ("delay", ints(&[Some(7), Some(-7), None, Some(3)])),
    ])
}

#[test]
fn queries_run_and_names_have_no_case() {
    let bench = TestEngine::default();
    let t = table(&bench);
    let sql = |q: &str| bench.sql(q, &[("flights", t)]);
    assert_eq!(
        sql("select origin, count(*) n from Flights group by origin order by n desc, ORIGIN"),
        "Origin n|JFK 2|LGA 1|null 1"
    );
    assert_eq!(sql("select sum(delay) from flights f where f.DELAY > 0"), "sum(delay)|10");
    assert_eq!(sql("select delay from flights order by delay"), "delay|-7|3|7|null");
    assert_eq!(sql("select delay from flights order by delay desc"), "delay|7|3|-7|null");
    assert_eq!(sql("with a as (select delay * 2 as Twice from flights) select max(twice) as m from A"), "m|14");
    assert_eq!(
        sql("select a.delay, b.delay from flights a join flights b on a.delay = b.delay order by 1 limit 1"),
        "delay delay_1|-7 -7"
    );
}

#[test]
fn columns_named_by_keywords_have_no_case() {
    let bench = TestEngine::default();
    let t = bench.frame(vec![
        ("Year", ints(&[Some(2023), Some(2024), Some(2024)])),
        ("Date", string_array(&[Some("a"), Some("b"), Some("c")])),
        ("Value", ints(&[Some(1), Some(2), Some(3)])),
    ]);
    let sql = |q: &str| bench.sql(q, &[("t", t)]);
    assert_eq!(sql("select year, sum(value) as s from t group by year order by YEAR desc"), "Year s|2024 5|2023 1");
    assert_eq!(sql("select date as d from t where date = 'b' and value > 1"), "d|b");
    // The keywords themselves.
    let dates =
        "select year(date '2020-05-06') as y, extract(year from date '2021-01-01' + interval 1 year) as z from t";
    assert_eq!(sql(&format!("{dates} limit 1")), "y z|2020 2022");
}

#[test]
fn numbers_are_duckdbs() {
    let bench = TestEngine::default();
    let t = table(&bench);
    let sql = |q: &str| bench.sql(&format!("select {q} as x from t"), &[("t", t)]);
    assert_eq!(sql("delay / 2"), "x|3.5|-3.5|null|1.5");
    assert_eq!(sql("delay // 2"), "x|3|-3|null|1");
    assert_eq!(sql("delay % 2"), "x|1|-1|null|1");
    assert_eq!(sql("sum(delay) filter (where delay > 100)"), "x|null");
    assert_eq!(sql("median(delay)"), "x|3.0");
    assert_eq!(sql("2 ^ 3"), "x|8.0|8.0|8.0|8.0");
    assert_eq!(sql("delay > '5'"), "x|true|false|null|false");
}

#[test]
fn mistakes_name_what_is_known() {
    let bench = TestEngine::default();
    let t = table(&bench);
    let fail = |q: &str| bench.try_sql(q, &[("flights", t)]).unwrap_err();
    let d = fail("select * from fligths");
    assert_eq!((d.code.as_str(), d.help[0].as_str()), ("unknown-table", "did you mean `flights`?"), "{d}");
    let d = fail("select dealy from flights");
    assert_eq!((d.code.as_str(), d.help[0].as_str()), ("unknown-column", "did you mean `delay`?"), "{d}");
    let d = fail("select cuont(delay) from flights");
    assert_eq!((d.code.as_str(), d.help[0].as_str()), ("unknown-function", "did you mean `count`?"), "{d}");
    assert_eq!(fail("select from where").code, "sql-syntax");
    assert_eq!(fail("select 1; select 2").code, "sql-syntax");
    for q in [
        "drop table flights",
        "insert into flights values (1)",
        "create table a as select 1",
        "update flights set delay = 1",
        "copy flights to 'a'",
    ] {
        let d = fail(q);
        assert_eq!((d.code.as_str(), d.class), ("sql-not-a-query", Class::Plan), "{q}: {d}");
    }
    assert_eq!(fail("select * from flights where origin > 5").code, "type-mismatch");
}

#[test]
fn overflow_is_an_error() {
    let bench = TestEngine::default();
    let t = bench.frame(vec![("big", ints(&[Some(i64::MAX), Some(1)]))]);
    let id = bench.try_sql("select big + 1 from t", &[("t", t)]).unwrap();
    let d = bench.try_rows(id).unwrap_err();
    assert_eq!((d.class, d.code.as_str()), (Class::Data, "overflow"), "{d}");
    let id = bench.try_sql("select big % 0 from t", &[("t", t)]).unwrap();
    assert_eq!(bench.try_rows(id).unwrap_err().code, "division-by-zero");
}

#[test]
fn duckdbs_functions_and_casts() {
    let bench = TestEngine::default();
    let t = bench.frame(vec![
        ("s", string_array(&[Some("2013-01-31 12:30:00"), None])),
        ("f", floats(&[Some(1.5), Some(-1.7)])),
    ]);
    let sql = |q: &str| bench.sql(&format!("select {q} as x from t"), &[("t", t)]);
    assert_eq!(sql("year(cast(s as timestamp))"), "x|2013|null");
    assert_eq!(sql("dayofweek(cast(s as date))"), "x|4|null");
    assert_eq!(sql("strftime(cast(s as timestamp), '%Y/%m')"), "x|2013/01|null");
    assert_eq!(sql("cast(f as int)"), "x|2|-2");
    assert_eq!(sql("if(f > 0, 'a', 'b')"), "x|a|b");
    assert_eq!(sql("ifnull(s, 'none')"), "x|2013-01-31 12:30:00|none");
    assert_eq!(sql("quantile_cont(f, 0.5)"), "x|-0.1");
    assert_eq!(sql("list(f)"), "x|[1.5,-1.7]");
    assert_eq!(sql("first(f)"), "x|1.5");
    assert_eq!(sql("length('héllo')"), "x|5|5");
    assert_eq!(sql("strlen('héllo')"), "x|6|6");
    assert_eq!(sql("'abc' ilike 'A%'"), "x|true|true");
    assert_eq!(sql("greatest(1, null)"), "x|1|1");
}

/// Each from DuckDB 2.0.
#[test]
fn more_of_duckdbs_functions() {
    let bench = TestEngine::default();
    let f = table(&bench);
    for (query, expect) in [
        ("select date_diff('month', date '2013-01-31', date '2013-03-01') a", "a|2"),
        ("select datediff('hour', timestamp '2013-01-01 23:59:00', timestamp '2013-01-02 00:01:00') a", "a|1"),
        ("select last_day(date '2012-02-01') a, monthname(date '2013-01-31') m", "a m|2012-02-29 January"),
        ("select regexp_extract('ab1', '([a-z])([0-9])', 2) a, regexp_extract('ab', '[0-9]') b", "a b|1 "),
        ("select quantile_disc(delay, 0.5) a, mode(origin) m from f", "a m|3 JFK"),
        ("select arg_max(origin, delay) a, min_by(origin, delay) b from f", "a b|JFK LGA"),
        ("select 2 ** 3 a, list_contains([1, 2], 2) b, string_split('a,b', ',') c", "a b c|8.0 true [a,b]"),
        (
            "select cast(0.5::double as integer) a, cast(1.5::double as integer) b, cast(-2.5::double as int) c",
            "a b c|0 2 -2",
        ),
        ("select product(delay) p from f", "p|-147.0"),
        ("select cast(2.5 as integer) a, cast(2.5::double as integer) b", "a b|3 2"),
        ("select 'it''s' a, len([1, 2]) b, length('hé') c from f where origin <> 'O''Hare' limit 1", "a b c|it's 2 2"),
        ("select strptime('2013-02-03 04:05', '%Y-%m-%d %H:%M') a", "a|2013-02-03T04:05:00"),
    ] {
        assert_eq!(bench.sql(query, &[("f", f)]), expect, "{query}");
    }
}

/// Each from DuckDB 2.0.
#[test]
fn numbers_with_a_point_are_decimals_unless_a_float_is_beside_them() {
    let bench = TestEngine::default();
    let t = bench
        .frame(vec![("f", floats(&[Some(1.5), Some(f64::NAN), Some(-0.0)])), ("i", ints(&[Some(1), Some(2), None]))]);
    let sql = |q: &str| bench.sql(&format!("select {q} as x from t"), &[("t", t)]);
    assert_eq!(sql("0.06 + 0.01 = 0.07"), "x|true|true|true");
    assert_eq!(sql("f > 0.5"), "x|true|true|false");
    assert_eq!(sql("f between 0.0 and 2.5"), "x|true|false|true");
    assert_eq!(sql("f in (1.5)"), "x|true|false|false");
    assert_eq!(sql("case when i = 1 then 0.5 else f end"), "x|0.5|NaN|-0.0");
    assert_eq!(sql("coalesce(f, 0.5)"), "x|1.5|NaN|-0.0");
    assert_eq!(sql("i + 0.5"), "x|1.5|2.5|null");
    assert_eq!(sql("nullif(f, 0)"), "x|1.5|NaN|null");
    assert_eq!(sql("try_cast(f as int)"), "x|2|null|0");
    assert_eq!(sql("count(distinct f)"), "x|3");
    assert_eq!(sql("cast(i as utinyint)"), "x|1|2|null");
}

#[test]
fn a_column_and_its_casts_stand_beside_each_other() {
    let bench = TestEngine::default();
    let t = table(&bench);
    let sql = |q: &str| bench.sql(q, &[("f", t)]);
    assert_eq!(sql("select delay, cast(delay as double) from f limit 1"), "delay CAST(delay AS DOUBLE)|7 7.0");
    assert_eq!(sql("select delay / 2, delay // 2 from f limit 1"), "delay / 2 delay // 2|3.5 3");
    assert_eq!(
        sql("select sum(delay), sum(delay::double), max(delay / 2), max(delay // 2) from f").split('|').nth(1),
        Some("3 3.0 3.5 3")
    );
    assert_eq!(
        sql("select delay::double d, delay from f group by delay, delay::double order by 2 limit 1"),
        "d delay|-7.0 -7"
    );
    assert_eq!(sql("select * from (select delay, delay::double from f limit 1)").split('|').nth(1), Some("7 7.0"));
}

/// DataFusion would calculate narrow rows first.
#[test]
fn rows_that_a_filter_leaves_out_cannot_fail() {
    let bench = TestEngine::default();
    let t = bench.frame(vec![
        ("a", ints(&[Some(1), Some(i64::MAX)])),
        ("b", ints(&[Some(2), Some(1)])),
        ("c", ints(&[Some(3), Some(3)])),
    ]);
    assert_eq!(bench.sql("select a, a + c as s from t where a < 9", &[("t", t)]), "a s|1 4");
    assert_eq!(bench.sql("select s from (select a, a + c as s from t) where a < 9", &[("t", t)]), "s|4");
}

/// Expected: what the same text is without the dictionary.
#[test]
fn functions_of_texts_take_categories() {
    let bench = TestEngine::default();
    let plain = string_array(&[Some("Ünder-ground"), None, Some(""), Some("a b")]);
    let category = arrow::datatypes::DataType::Dictionary(
        Box::new(arrow::datatypes::DataType::Int32),
        Box::new(arrow::datatypes::DataType::Utf8),
    );
    let coded = arrow::compute::cast(&plain, &category).unwrap();
    let t = bench.frame(vec![("plain", plain), ("coded", coded)]);
    let mut failed = Vec::new();
    for call in [
        "reverse(C)",
        "upper(C)",
        "lower(C)",
        "length(C)",
        "trim(C)",
        "ltrim(C)",
        "rtrim(C)",
        "substr(C, 2)",
        "left(C, 2)",
        "right(C, 2)",
        "replace(C, 'n', 'm')",
        "repeat(C, 2)",
        "lpad(C, 14, '*')",
        "rpad(C, 14, '*')",
        "split_part(C, '-', 1)",
        "starts_with(C, 'a')",
        "ends_with(C, 'b')",
        "contains(C, 'n')",
        "strpos(C, 'n')",
        "ascii(C)",
        "initcap(C)",
        "translate(C, 'n', 'm')",
        "concat(C, 'x')",
        "C || 'x'",
        "md5(C)",
        "regexp_replace(C, 'n', 'm')",
        "regexp_like(C, 'n')",
        "regexp_count(C, 'n')",
        "octet_length(C)",
        "bit_length(C)",
        "levenshtein(C, 'ab')",
        "string_to_array(C, '-')",
        "substring(C from 2 for 3)",
        "C like '%n%'",
        "C ilike 'A%'",
        "coalesce(C, 'x')",
        "nullif(C, '')",
        "greatest(C, 'b')",
        "btrim(C)",
        "chr(ascii(C))",
        "overlay(C placing 'x' from 1)",
        "C = 'a b'",
        "C in ('a b', 'c')",
        "min(C)",
        "max(C)",
        "count(distinct C)",
        "string_agg(C, ',')",
        "encode(C, 'hex')",
        "find_in_set(C, 'a b,c')",
        "substr_index(C, '-', 1)",
        "len(C)",
        "sha256(C)",
    ] {
        let answer = |column: &str| {
            let query = format!("select {} as x from t", call.replace('C', column));
            match bench.try_sql(&query, &[("t", t)]) {
                Ok(id) => bench.try_rows(id).map(|rows| format!("{rows:?}")),
                Err(error) => Err(error),
            }
        };
        match (answer("plain"), answer("coded")) {
            (Ok(plain), Ok(coded)) if plain == coded => {}
            (Err(plain), Err(coded)) if plain.code == coded.code => {}
            (plain, coded) => failed.push(format!("{call}: {plain:?}, {coded:?}")),
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
