//! Groups of which more are than fit into shared memory, on the emulated device: rows are moved to their part of the
//! groups first.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int32Array, Int64Array, StringArray};
use onrush_wire::FrameId;

use super::support::{TestEngine, only_device};

const ROWS: i64 = 60_000;

/// A row's number as one that looks like chance (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014).
fn mixed(row: i64, seed: u64) -> u64 {
    let mut z = (row as u64).wrapping_add(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// `k` has 3,001 values, `h` one for half of the rows; `o` is in order, `w` has 300 that lie anywhere. All but `o` have
/// nulls.
fn table(bench: &TestEngine) -> FrameId {
    let there = |row: i64, seed: u64| !mixed(row, seed).is_multiple_of(13);
    let ints = |seed: u64, of: &dyn Fn(u64) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter((0..ROWS).map(|row| there(row, seed).then(|| of(mixed(row, seed + 1))))))
    };
    let f = (0..ROWS).map(|row| there(row, 20).then(|| (mixed(row, 21) % 4_001) as f64 / 8.0 - 200.0));
    let d = (0..ROWS).map(|row| there(row, 22).then(|| i128::from(mixed(row, 23)) << (mixed(row, 24) % 20)));
    let s =
        (0..ROWS).map(|row| there(row, 25).then(|| ["amber", "blue", "", "ünïcode"][(mixed(row, 26) % 4) as usize]));
    let i = (0..ROWS).map(|row| there(row, 27).then(|| (mixed(row, 28) % 5_000) as i32 - 2_500));
    let b = (0..ROWS).map(|row| there(row, 29).then(|| mixed(row, 30).is_multiple_of(3)));
    let decimals = Decimal128Array::from_iter(d).with_precision_and_scale(38, 2).unwrap();
    bench.frame(vec![
        ("k", ints(1, &|x| (x % 3_001) as i64 - 1_500)),
        ("h", ints(3, &|x| if x.is_multiple_of(2) { 7 } else { (x % 900) as i64 })),
        ("w", ints(5, &|x| mixed((x % 300) as i64, 6) as i64)),
        ("o", Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| row / 40)))),
        ("f", Arc::new(Float64Array::from_iter(f))),
        ("d", Arc::new(decimals)),
        ("s", Arc::new(StringArray::from_iter(s))),
        ("i", Arc::new(Int32Array::from_iter(i))),
        ("b", Arc::new(BooleanArray::from_iter(b))),
    ])
}

/// The same queries on the processor, by DataFusion.
#[test]
fn many_groups_are_those_of_the_processor() {
    let (cpu, device) = (TestEngine::on_cpu(), only_device());
    let (on_cpu, on_device) = (table(&cpu), table(&device));
    for query in [
        "select k, count(*), count(f), sum(f), avg(f), min(f), max(f) from t group by k order by k",
        "select k, sum(i), min(i), max(i), min(s), max(s), bool_or(b), bool_and(b) from t group by k order by k",
        "select k, sum(d), min(d), max(d), avg(i) from t group by k order by k",
        "select k, cast(var_samp(f) * 1e3 + 0.377 as bigint), cast(stddev_pop(i) * 1e3 + 0.377 as bigint), sum(f) from t group by k order by k",
        "select k, count(distinct i), count(distinct s), sum(f) from t group by k order by k",
        "select h, sum(f), count(b), max(i) from t group by h order by h",
        "select h, k, count(*) from t where i > 0 group by h, k order by h, k",
        "select k, sum(f * 2 + i) from t where f is not null and i % 7 <> 0 group by k order by k",
        "select o, sum(f), min(i) from t group by o order by o",
        "select k % 50, o, avg(f) from t where b group by k % 50, o order by 1, 2",
        "select k from t group by k order by k",
        "select count(*) from (select distinct h, i from t where i < -2000)",
        "select k, i, s, count(*), sum(f), min(d) from t group by k, i, s order by k, i, s",
        "select w, k, sum(f), count(distinct i) from t group by w, k order by w, k",
        "select k, w, sum(f), max(s) from t where i > 0 group by k, w order by k, w",
        "select w, o, b, count(*) from t group by w, o, b order by w, o, b",
        "select k, w, first(s), first(d), last(i) from t group by k, w order by k, w",
        "select w, k, i, max(f) from t where f > 100 group by w, k, i order by w, k, i",
        // Computed keys: one word, floats, several digits, several words.
        "select w | 1, sum(f), count(distinct i), max(s), min(d) from t where i > -2000 group by w | 1 order by 1",
        "select w | 1, cast(var_samp(f) * 1e3 + 0.377 as bigint), first(d), last(i) from t group by w | 1 order by 1",
        "select f / 3, count(*), bool_or(b), count(i) from t group by f / 3 order by 1",
        "select k * 1000000 + i, h * 3, count(*), sum(f) from t group by k * 1000000 + i, h * 3 order by 1, 2",
        "select k * 1000000, count(*), count(distinct s) from t group by k * 1000000 order by 1",
        "select w | 1, d * 2, b, sum(i), max(f) from t group by w | 1, d * 2, b order by 1, 2, 3",
        "select w | 1, i % 50, sum(d), count(distinct k) from t where b group by w | 1, i % 50 order by 1, 2",
        "select count(*), sum(n) from (select k | 7, i, f, count(*) as n from t group by k | 7, i, f)",
        "select o * 1000000007, sum(f), count(*) from t group by o * 1000000007 order by 1",
        // Of values that are never null, too.
        "select w | 1, max(o), count(o), avg(o), min(case when o > 99 then 'yes' else 'no' end) from t group by 1 order by 1",
        "select w | 1, k % 5, max(o), count(o), corr(o, o + i) > 0.5 from t group by 1, 2 order by 1, 2",
    ] {
        // Twice: the second time it is known how the rows lie.
        for _ in 0..2 {
            let (found, expected) = (device.sql(query, &[("t", on_device)]), cpu.sql(query, &[("t", on_cpu)]));
            let differ = found.split('|').zip(expected.split('|')).find(|(a, b)| a != b);
            assert_eq!((differ, found.len()), (None, expected.len()), "{query}");
            device.engine.forget_results();
        }
    }
    let programs = device.engine.accelerator().unwrap().gpu.context().library.programs();
    assert!(programs.iter().filter(|program| program.body.contains("group_parted")).count() > 5);
    // Of `h, k`, `k, i, s`, `w, k`, `k, w` and `w, o, b`.
    assert!(programs.iter().filter(|program| program.body.contains("group_numbers")).count() > 3);
    // Of keys that are hashed: words of one and of several.
    let moves = |of: &str| programs.iter().filter(|p| p.body.contains("part_move") && p.body.contains(of)).count();
    assert!(moves("__umul64hi(mix(key), parts)") > 4 && moves("__umul64hi(hash_of(key), parts)") > 2);
}
