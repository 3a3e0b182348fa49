//! Concurrent queries on a device, and queries that ran before over other rows. An execution never uses cached state of
//! other rows.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use onrush_wire::FrameId;
use onrush_wire::plan::Op;

use super::support::*;

fn rows(bench: &TestEngine, query: &str, of: FrameId) -> Vec<Vec<String>> {
    let id = bench.step(Op::Sql { query: query.to_string(), tables: vec![("t".to_string(), of)] });
    let rows = bench.try_rows(id).unwrap_or_else(|d| panic!("{query}: {d}"));
    bench.engine.release(&[id]);
    bench.engine.forget_results();
    rows
}

const QUERIES: [&str; 12] = [
    "select n from t where n in (select n from t where v > 240) order by n limit 9",
    "select count(*) as c from t where n not in (select n * 2 from t where v > 100)",
    "select count(*) as c from t where exists (select 1 from t u where u.n = t.n * 2 and u.s <> t.s)",
    "select avg(v) as m, min(s) as a, max(n) as b from t",
    "select count(*) as c from t where s like '%e%' and v > 100",
    "select s, count(*) as c, sum(n) as x from t group by s order by s",
    "select n % 700 as k, max(v) as m from t group by 1 order by 1",
    "select n, v from t order by v desc, n limit 7",
    "select upper(s) as u, n from t order by n limit 5",
    "select t.n, u.v from t join t u on t.n = u.n + 1 order by t.n limit 6",
    "select n, sum(v) over (partition by s order by n) as r from t order by n limit 9",
    "select count(*) as c from t join (select n as m from t where n < 40) u on t.n * 31 < u.m * 3 and t.v > u.m",
];

/// Rows that are others for each seed; sums of `v` are the same in any order.
fn table(bench: &TestEngine, seed: i64) -> FrameId {
    let texts = ["amber", "blue", "", "Ünïcode", "later"];
    let n = Int64Array::from_iter((0..3_000).map(|row| (row % 41 != 0).then_some(row * (seed + 1))));
    let v = Float64Array::from_iter(
        (0..3_000).map(|row| (row % 13 != seed).then_some(((row * 37 + seed) % 997) as f64 / 4.0)),
    );
    let s = StringArray::from_iter((0..3_000).map(|row| (row % 17 != 0).then(|| texts[((row + seed) % 5) as usize])));
    bench.frame(vec![("n", Arc::new(n) as ArrayRef), ("v", Arc::new(v)), ("s", Arc::new(s))])
}

/// The answers are DataFusion's on the processor.
#[test]
fn queries_of_several_threads_give_what_each_gives_alone() {
    let (device, cpu) = (only_device(), TestEngine::on_cpu());
    let expected = |seed: i64| {
        let of = table(&cpu, seed);
        QUERIES.map(|query| rows(&cpu, query, of))
    };
    let all = table(&device, 0);
    let of_all = expected(0);
    std::thread::scope(|scope| {
        for seed in 1..4 {
            let (device, all, of_all, expected) = (&device, all, &of_all, expected(seed));
            scope.spawn(move || {
                for round in 0..4 {
                    // Uploaded again while the queries of other threads run.
                    let own = table(device, seed);
                    for (number, query) in QUERIES.iter().enumerate() {
                        let number = (number + seed as usize) % QUERIES.len();
                        assert_eq!(
                            rows(device, query, own),
                            expected[QUERIES.iter().position(|q| q == query).unwrap()],
                            "{query}"
                        );
                        assert_eq!(
                            rows(device, QUERIES[number], all),
                            of_all[number],
                            "round {round}: {}",
                            QUERIES[number]
                        );
                    }
                    device.engine.release(&[own]);
                }
            });
        }
    });
}

/// Sums of 0..n by Gauss.
#[test]
fn a_query_that_ran_before_sees_the_rows_that_there_are_now() {
    let device = only_device();
    let count = 1_000;
    for round in 1..20 {
        let numbers = Int64Array::from_iter_values((0..count).map(|row| row * round));
        let texts = StringArray::from_iter_values((0..count).map(|row| format!("round {} {}", round % 3, row % 2)));
        let of = device.frame(vec![("n", Arc::new(numbers) as ArrayRef), ("s", Arc::new(texts))]);
        // The second time without a look at what they are made of.
        for _ in 0..2 {
            let sum = round * count * (count - 1) / 2;
            assert_eq!(
                rows(&device, "select sum(n) as s, count(*) as c from t", of),
                [[sum.to_string(), "1000".into()]]
            );
            let first = rows(&device, "select n + 1 as m, upper(s) as u from t", of);
            assert_eq!(first[0], ["1".to_string(), format!("ROUND {} 0", round % 3)]);
            assert_eq!(first[999], [(999 * round + 1).to_string(), format!("ROUND {} 1", round % 3)]);
        }
        device.engine.release(&[of]);
    }
}

/// By hand: `upper` keeps the order of the strings of the first table, and changes that of the second; `nullif` makes a
/// string null.
#[test]
fn columns_of_the_same_numbers_have_their_own_texts() {
    let device = only_device();
    let of = |texts: [Option<&str>; 5]| {
        let texts: Vec<Option<&str>> = texts.iter().cycle().take(100).copied().collect();
        device.frame(vec![("s", Arc::new(StringArray::from(texts)) as ArrayRef)])
    };
    let firsts = |query: &str, of: FrameId| {
        rows(&device, query, of)[..5].iter().map(|row| row.join(" ")).collect::<Vec<_>>().join(", ")
    };
    let (same, other) =
        (of([Some("b"), None, Some("a"), Some(""), Some("c")]), of([Some("b"), Some("A"), None, Some("C"), Some("a")]));
    assert_eq!(firsts("select s, upper(s) as u from t", same), "b B, null null, a A,  , c C");
    assert_eq!(firsts("select s, upper(s) as u from t", other), "b B, A A, null null, C C, a A");
    assert_eq!(firsts("select nullif(s, 'b') as u, upper(s) as v from t", same), "null B, null null, a A,  , c C");
    let id = device
        .step(Op::Sql { query: "select upper(s) as u from t".to_string(), tables: vec![("t".to_string(), same)] });
    let groups = rows(&device, "select u, count(*) as c from t group by u order by u desc", id);
    assert_eq!(groups, [["C", "20"], ["B", "20"], ["A", "20"], ["", "20"], ["null", "20"]]);
}
