//! Queries over ten times the memory of the emulated device, which runs them out of core. The answers are DataFusion's
//! on the CPU.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::{ArrayRef, Float64Array, Int32Array, Int64Array, StringArray};
use onrush_engine::{EngineChoice, EngineConfig, Policy};
use onrush_wire::FrameId;
use onrush_wire::plan::Op;

use super::support::*;

const LIMIT: u64 = 3 << 19;
const ROWS: i64 = 330_000;
const SIDE: i64 = 180_000;

fn small() -> EngineConfig {
    EngineConfig {
        choice: EngineChoice::Emulated,
        cache: Some(onrush_wire::paths::cache_dir()),
        device_memory: Some(LIMIT),
        ..EngineConfig::default()
    }
}

/// A row's number as one that looks like chance (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014).
fn mixed(row: i64, seed: u64) -> u64 {
    let mut z = (row as u64).wrapping_add(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Rows of 32 bytes and more, with nulls in each column but the first.
fn tables(bench: &TestEngine) -> [(&'static str, FrameId); 2] {
    let there = |row: i64, seed: u64| !mixed(row, seed).is_multiple_of(17);
    let k = Int64Array::from_iter((0..ROWS).map(|row| there(row, 1).then(|| (mixed(row, 2) % 200_000) as i64)));
    let g = Int32Array::from_iter((0..ROWS).map(|row| there(row, 3).then(|| (mixed(row, 4) % 9) as i32 - 4)));
    let v =
        Float64Array::from_iter((0..ROWS).map(|row| there(row, 5).then(|| (mixed(row, 6) % 4_001) as f64 / 8.0 + 1e6)));
    let s = StringArray::from_iter((0..ROWS).map(|row| {
        there(row, 7).then(|| ["amber", "blue", "", "ünïcode", "longer than twelve"][(mixed(row, 8) % 5) as usize])
    }));
    let t = bench.frame(vec![
        ("n", Arc::new(Int64Array::from_iter_values(0..ROWS)) as ArrayRef),
        ("k", Arc::new(k)),
        ("g", Arc::new(g)),
        ("v", Arc::new(v)),
        ("s", Arc::new(s)),
    ]);
    let k = Int64Array::from_iter((0..SIDE).map(|row| there(row, 9).then(|| (mixed(row, 10) % 260_000) as i64)));
    let w = Int64Array::from_iter((0..SIDE).map(|row| there(row, 11).then(|| (mixed(row, 12) % 1_000) as i64)));
    let u = bench.frame(vec![
        ("m", Arc::new(Int64Array::from_iter_values(0..SIDE)) as ArrayRef),
        ("k", Arc::new(k)),
        ("w", Arc::new(w)),
    ]);
    [("t", t), ("u", u)]
}

/// Queries with few output rows in a fixed order, over intermediate results with many rows.
const QUERIES: &[&str] = &[
    // Filters and projections.
    "select count(*), sum(x), min(n), max(n) from (select n, k * 2 + g as x from t where v > 1000100 and s <> 'blue')",
    // Few groups: states are merged.
    "select g, count(*), count(v), sum(k), avg(v), min(v), max(k), min(s), max(s) from t group by g order by g",
    "select s, round(stddev_samp(v), 6), round(var_pop(v), 6), round(stddev_pop(k), 6), bool_and(v > 0), bool_or(v > 1000499) from t group by s order by s",
    "select count(*), sum(k), avg(v), round(var_samp(v), 6), min(s) from t",
    // Many groups, and functions without states.
    "select count(*), sum(c), max(c), sum(a), sum(b) from (select k, count(*) c, sum(n) a, min(v) b from t group by k)",
    "select count(*), sum(d), max(d) from (select k, count(distinct g) d from t group by k)",
    "select count(*), sum(q) from (select k, median(v) q from t where k is not null group by k)",
    "select count(*) from (select distinct k, g, s from t)",
    // Orders: stable ones, with several keys, with limits.
    "select sum(n * p % 1000003) from (select n, row_number() over () p from (select n from t order by s desc nulls first, v, n))",
    "select n, v, s from t order by v desc nulls last, s, n limit 12 offset 200000",
    "select n, k from t where g > 0 order by k, n desc limit 5",
    // Windows.
    "select sum(r), max(r), sum(l), count(l) from (select rank() over (partition by k order by v, n) r,
     lag(n) over (partition by k order by v, n) l from t where k is not null)",
    "select n, a from (select n, sum(n) over (partition by g, s order by n) a from t) order by n limit 7 offset 150000",
    // Joins: a table that fits, tables that do not, what else must hold, rows without a partner.
    "select count(*), sum(t.n), sum(e.x) from t join (select g, count(*) x from t group by g) e on t.g = e.g",
    "select count(*), sum(n), sum(m), sum(w) from t join u on t.k = u.k",
    "select count(*), sum(n), sum(m), sum(w) from t join u on t.k = u.k and t.n < u.m * 2",
    "select count(*), sum(n), sum(m), count(m) from t left join u on t.k = u.k and u.w > 500",
    "select count(*), sum(n), sum(m), count(m), count(n) from t full join u on t.k = u.k",
    "select count(*), sum(n) from t where exists (select 1 from u where u.k = t.k and u.w < 100)",
    "select count(*), sum(n) from t where not exists (select 1 from u where u.k = t.k)",
    "select count(*), sum(a.n), sum(b.n) from (select n, 1 as one from t where n < 20000) a join
     (select n, 1 as one from t where n > 329900) b on a.one = b.one and a.n < b.n - 1000",
    "select a.g, count(*), sum(b.n) from t a join t b on a.n = b.k group by a.g order by a.g",
    "select s, count(*) from t join u on t.k = u.k where u.w > 10 group by s having count(*) > 5 order by s",
    // Limits over joins and below windows.
    "select count(*), count(n), min(w) >= 0 from (select t.n, u.w from t join u on t.k = u.k limit 50000)",
    "select count(*), count(n) from (select t.n, e.x from t join (select g, count(*) x from t group by g) e on t.g = e.g limit 40000)",
    "select count(*), sum(n), sum(r), max(r) from (select n, rank() over (partition by k order by v, n) r
     from (select * from t where k is not null order by k, v, n limit 20000))",
    "select count(*), sum(c), max(c) from (select k, count(*) c from (select k, g, count(*) from (select k, g, row_number() over
     (partition by k order by v, n) r from t where k is not null) where r < 5 group by k, g) group by k)",
    // Lists of groups, and rows of lists.
    "select count(*), sum(c), max(c), sum(a) from (select k, len(l) as c, l[1] as a from (select k, list(n order by n) as l from t group by k))",
    "select count(*), sum(x), sum(k), max(x) from (select k, unnest(l) as x from (select k, list(n order by n) as l from t group by k))",
    "select x, count(*), sum(n) from (select n, unnest(string_split(s, ' ')) as x from t where s <> '') group by x order by x",
    // Everything.
    "select s, g, c, rank() over (partition by s order by c desc, g) r from (select s, g, count(*) c, sum(w) from t
     left join u on t.k = u.k group by s, g) order by s, r limit 20",
];

#[test]
fn what_does_not_fit_runs_in_parts() {
    let (cpu, small) = (TestEngine::on_cpu(), TestEngine::of(small()));
    let (there, here) = (tables(&cpu), tables(&small));
    let accelerator = small.engine.accelerator().unwrap();
    for query in QUERIES {
        let before = accelerator.partitions_run.load(Ordering::Relaxed);
        assert_eq!(small.sql(query, &here), cpu.sql(query, &there), "{query}");
        let parts = accelerator.partitions_run.load(Ordering::Relaxed) - before;
        assert!(parts > 1, "{parts} parts: {query}");
        assert_eq!(accelerator.cpu_fallbacks.load(Ordering::Relaxed), 0, "{query}");
        small.engine.forget_results();
    }
    // What ran says in how many parts.
    let id = small.try_sql(QUERIES[1], &here).unwrap();
    let text = small.engine.explain(id, true, &onrush_frame::TaskHandle::new()).unwrap();
    let said = text.split("parts=").nth(1).and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    assert!(said.is_some_and(|parts| parts > 50), "{text}");
    // What another fragment reads has the rows of all of its parts.
    let count = cpu.sql("select count(*) c from u where w < 900", &there);
    let count = count.split('|').next_back().unwrap();
    let query = "select count(*) c, sum(n) s from t join u on t.k = u.k where u.w < 900";
    let id = small.try_sql(query, &here).unwrap();
    let text = small.engine.explain(id, true, &onrush_frame::TaskHandle::new()).unwrap();
    let filter = text.lines().find(|line| line.contains("filter w < 900"));
    assert!(filter.is_some_and(|line| line.contains(&format!("rows={count}  parts="))), "{count}: {text}");
    // Nothing is left behind, but for columns of frames.
    accelerator.gpu.residency.sweep();
    let held = accelerator.gpu.context().device().ledger().total();
    assert!(held.used < LIMIT && held.reserved == 0, "{held:?}");
}

/// The processor's joins and windows hold their rows: who asks for more than there is learns what for, and what is
/// free.
#[test]
fn what_the_processor_has_no_memory_for_says_so() {
    let bench = TestEngine::of(EngineConfig { memory_limit: 8 << 20, ..EngineConfig::default() });
    let tables = tables(&bench);
    let query = "select count(*) c from (select row_number() over (order by v, n) r, s from t) a join t b on a.r = b.n";
    let error =
        bench.try_sql(query, &tables).and_then(|id| bench.engine.table(id, &[], &onrush_frame::TaskHandle::new()));
    let error = error.unwrap_err();
    assert_eq!(error.code, "out-of-memory", "{error}");
    let said = [
        "the memory limit is reached: ",
        " or more are needed for ",
        "of the 4 MB for running queries, half of ONRUSH_MEMORY, ",
    ];
    assert!(said.iter().all(|part| error.message.contains(part)), "{}", error.message);
    assert!(!error.message.contains('[') && !error.message.contains("fair"), "{}", error.message);
}

/// The joins of frames keep the left side's order, which the parts of a join do not have by themselves.
#[test]
fn joined_parts_are_in_the_order_of_the_left_side() {
    use onrush_wire::plan::JoinKind;
    // As with `--engine cuda`, nothing is left to the processor.
    let small = TestEngine::of(EngineConfig { policy: Some(Policy::Only), ..small() });
    let cpu = TestEngine::on_cpu();
    let joined = |bench: &TestEngine, how: JoinKind| {
        let [(_, t), (_, u)] = tables(bench);
        let on = vec![col("k")];
        let op = Op::Join { left: t, right: u, how, left_on: on.clone(), right_on: on, suffix: "_r".to_string() };
        bench.rows(bench.step(op))
    };
    for how in [JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti, JoinKind::Full] {
        let (found, expected) = (joined(&small, how), joined(&cpu, how));
        let differ = found.split('|').zip(expected.split('|')).position(|(a, b)| a != b);
        assert_eq!((differ, found.len()), (None, expected.len()), "{how:?}");
    }
    assert!(small.engine.accelerator().unwrap().partitions_run.load(Ordering::Relaxed) > 5);
}

/// Joins with more pairs than one execution can have: 2^32 on a GPU. On the emulated device joins without keys have a
/// limit of 2^26, because pairs are slow there. Aggregates of the pairs run in partitions. If a query takes a few rows
/// or a top-k of the pairs, the CPU takes over, which holds one batch of pairs at a time. By hand: the sum of products
/// is the product of sums.
#[test]
fn a_join_of_more_pairs_than_a_run_can_have_runs_in_parts() {
    let bench = TestEngine::of(EngineConfig { policy: Some(Policy::Always), ..on_device() });
    let rows: i64 = if is_cuda() { 150_000 } else { 8_200 };
    let column = |first: i64| Arc::new(Int64Array::from_iter_values(first..first + rows)) as ArrayRef;
    let (a, b) = (bench.frame(vec![("n", column(0))]), bench.frame(vec![("m", column(7))]));
    let tables = [("a", a), ("b", b)];
    let parts = || bench.engine.accelerator().unwrap().partitions_run.load(Ordering::Relaxed);
    let query = "select count(*) as c, sum(n % 1000 * (m % 7)) as s, max(n + m) as x from a, b";
    let sum = |first: i64, by: i64| (first..first + rows).map(|n| n % by).sum::<i64>();
    let expected = format!("c s x|{} {} {}", rows * rows, sum(0, 1000) * sum(7, 7), 2 * rows + 5);
    assert_eq!(bench.sql(query, &tables), expected);
    let first = parts();
    assert!(first >= 2, "{first} parts");
    // As many groups as rows: their states, and never the pairs.
    let query = "select count(*) as c, min(x) as l, max(x) as h, sum(s) as s from (select n, count(*) as x, sum(m % 7) as s from a, b group by n)";
    let expected = format!("c l h s|{rows} {rows} {rows} {}", rows * sum(7, 7));
    assert_eq!(bench.sql(query, &tables), expected);
    let second = parts();
    assert!(second >= first + 2, "{second} parts");
    assert_eq!(bench.sql("select count(*) as c from (select n, m from a, b limit 10)", &tables), "c|10");
    assert_eq!(parts(), second);
}
