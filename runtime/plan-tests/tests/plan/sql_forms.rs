//! Forms of DuckDB's SQL: conditions as arguments, numbers of several widths in CASE, `trim ... from`, FROM first,
//! ordered sets. Values from DuckDB 2.0.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int32Array, Int64Array, UInt32Array};
use onrush_wire::FrameId;

use super::support::*;

fn table(bench: &TestEngine) -> FrameId {
    bench.frame(vec![
        ("r", Arc::new(Int32Array::from(vec![1, 2, 3, 4])) as ArrayRef),
        ("g", string_array(&[Some("b"), Some("a"), Some("b"), Some("a")])),
        ("j", Arc::new(Int64Array::from(vec![10, 20, 30, 40]))),
        ("u", Arc::new(UInt32Array::from(vec![4, 5, 6, 7]))),
        ("i", Arc::new(Int32Array::from(vec![-1, 2, 3, 4]))),
        ("c", Arc::new(BooleanArray::from(vec![true, false, true, false]))),
        ("x", floats(&[Some(0.0), Some(0.5), Some(1.0), Some(2.0)])),
    ])
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    let bench = TestEngine::default();
    let t = table(&bench);
    for (query, expected) in cases {
        assert_eq!(bench.sql(query, &[("f", t)]), *expected, "{query}");
    }
}

#[test]
fn a_comparison_is_an_argument() {
    check(&[
        ("select bool_or(j = 30) a, count(j = 20) b, max(j = 20) c, sum(j = 20) d from f", "a b c d|true 4 true 1"),
        ("select count(distinct j = 20) a, list(j = 20 order by r) b from f", "a b|2 [false,true,false,false]"),
        ("select first_value(j = 10) over (order by r) a from f", "a|true|true|true|true"),
        ("select bool_and(j = 10 or x = 2) a, count(g = 'a' and c = false) b from f", "a b|false 4"),
        ("select g, bool_or(g = 'a') a from f group by g order by g", "g a|a true|b false"),
        ("select count_if(c = true) filter (where j > 10) a, count_if(c) b from f", "a b|1 2"),
        ("select r, count_if(c) over (partition by g) a from f order by r", "r a|1 2|2 0|3 2|4 0"),
        ("select coalesce(j = 10, c = true) a from f order by r limit 2", "a|true|false"),
        ("select struct_pack(a := 1, b := 'x').b a", "a|x"),
    ]);
}

#[test]
fn numbers_of_several_widths_meet_in_case() {
    check(&[
        ("select case when c then u else j end * 3 a from f order by r", "a|12|60|18|120"),
        ("select 3 * case when c then i else j end a from f order by r", "a|-3|60|9|120"),
        ("select case when c then u else i end - j a from f order by r", "a|-6|-18|-24|-36"),
        ("select case when c then i else 1.5 end * 2 a from f order by r", "a|-2.0|3.0|6.0|3.0"),
        ("select case when c then i else x end + 1 a from f order by r", "a|0.0|1.5|4.0|3.0"),
        (
            "select if(c, u, j) * 2 a, coalesce(case when c then u end, j) * 2 b from f order by r",
            "a b|8 8|40 40|12 12|80 80",
        ),
        ("select sum(case when c then u else -j end) a from f", "a|-50"),
        ("select case when c then u else 0 end * 2 a from f order by r", "a|8|0|12|0"),
        (
            "select case when c then u else j end * 3 a, count(*) n from f group by case when c then u else j end order by 1",
            "a n|12 1|18 1|60 1|120 1",
        ),
        (
            "select case when c then u else j end % 4 a, case when c then i else j end // 3 b from f order by r",
            "a b|0 0|0 6|2 1|0 13",
        ),
        ("select u - 3 a, 7 - u b, u - i c from f order by r", "a b c|1 3 5|2 2 3|3 1 3|4 0 3"),
    ]);
}

#[test]
fn trim_takes_its_string_behind_from() {
    check(&[
        (
            "select trim(both 'x' from 'xxaxx') a, trim(leading 'x' from 'xxaxx') b, trim(trailing 'x' from 'xxaxx') c",
            "a b c|a axx xxa",
        ),
        (
            "select trim(from '  a ') a, trim(both from ' a ') b, trim('xy' from 'xyaxy') c, trim(' a ') d",
            "a b c d|a a a a",
        ),
        ("select trim(both g from 'abab' || g) a from f order by r limit 2", "a|aba|bab"),
    ]);
}

#[test]
fn from_comes_first() {
    check(&[
        ("from f where j > 30 ", "r g j u i c x|4 a 40 7 4 false 2.0"),
        ("from f select j where j > 20 order by j desc", "j|40|30"),
        ("from (from f where j > 10) select j where j < 40", "j|20|30"),
        ("with t as (from f where j > 10) from t select max(j) m", "m|40"),
        ("with t as (select j from f where j > 10) from t where j < 40", "j|20|30"),
        ("(select j from f limit 1) union all from (select 7 as j)", "j|10|7"),
        ("select j from f where j in (from (select 20 as q))", "j|20"),
        (
            "select extract(year from date '2024-05-06') y, substring('abc' from 2) s, g is distinct from 'a' d from f limit 1",
            "y s d|2024 bc true",
        ),
        ("select j from f order by j desc fetch first 2 rows only", "j|40|30"),
        ("select j from f order by j desc offset 1 rows fetch next row only", "j|30"),
    ]);
}

#[test]
fn named_windows_are_known_in_qualify() {
    check(&[
        ("select g, min(j) over w m from f window w as (partition by g) qualify m = j order by g", "g m|a 20|b 10"),
        (
            "select g, j from f window w as (partition by g order by j desc) qualify row_number() over w = 1 order by g",
            "g j|a 40|b 30",
        ),
        ("select sum(j) over (w order by j) s from f window w as (partition by g) order by s", "s|10|20|40|60"),
    ]);
}

#[test]
fn aggregates_take_their_values_behind_within_group() {
    check(&[
        (
            "select mode() within group (order by g) a, mode() within group (order by g desc) b, mode(g order by g desc) c from f",
            "a b c|a b b",
        ),
        (
            "select percentile_cont(0.5) within group (order by j) a, percentile_disc(0.5) within group (order by j desc) b from f",
            "a b|25.0 30",
        ),
        ("select percentile_cont([0.25, 0.5]) within group (order by j) a from f", "a|[17.5,25.0]"),
        ("select g, mode() within group (order by j desc) a from f group by g order by g", "g a|a 40|b 30"),
    ]);
}

/// A literal is not the function of its name.
#[test]
fn words_in_literals_mean_nothing() {
    check(&[
        ("select g, 'unnest' || g a from f group by g order by g", "g a|a unnesta|b unnestb"),
        ("select unnest([1, 2]) a, 'range interval' b", "a b|1 range interval|2 range interval"),
    ]);
}

/// As `ASOF JOIN` of DuckDB: conditions on the right table leave out rows of it, those on the left one matches.
#[test]
fn asof_joins_have_further_conditions() {
    let bench = TestEngine::default();
    let numbers = |values: &[i64]| -> ArrayRef { Arc::new(Int64Array::from(values.to_vec())) };
    let a =
        bench.frame(vec![("k", numbers(&[1, 1, 1, 2])), ("t", numbers(&[1, 5, 9, 4])), ("y", numbers(&[0, 1, 0, 1]))]);
    let b = bench.frame(vec![
        ("k", numbers(&[1, 1, 1, 2])),
        ("t", numbers(&[0, 4, 8, 1])),
        ("x", numbers(&[10, 0, 20, 5])),
    ]);
    let sql = |how: &str, condition: &str| {
        let query =
            format!("select a.t, b.x from a asof {how} b on a.k = b.k and a.t >= b.t and {condition} order by a.t");
        bench.sql(&query, &[("a", a), ("b", b)])
    };
    assert_eq!(sql("join", "b.x > 0"), "t x|1 10|4 5|5 10|9 20");
    assert_eq!(sql("left join", "a.y = 1"), "t x|1 null|4 5|5 0|9 null");
    assert_eq!(sql("join", "a.y = 1"), "t x|4 5|5 0");
    assert_eq!(sql("join", "b.x between 1 and 15"), "t x|1 10|4 5|5 10|9 10");
}
