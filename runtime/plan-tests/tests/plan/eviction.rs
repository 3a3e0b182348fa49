//! Columns that are evicted from the device and restored. The rows are the same, whatever form the evicted column had.
//! Expected values are the CPU's.

use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Decimal128Array, Float64Array, Int64Array, ListArray, StringArray};
use arrow::datatypes::Int32Type;
use onrush_engine::{EngineConfig, Policy};
use onrush_ops::residency::Residency;
use onrush_wire::FrameId;

use super::support::*;

/// Enough for one frame: on a GPU a column of less than a megabyte is not worth keeping.
fn sizes() -> (i64, u64) {
    if is_cuda() { (400_000, 48 << 20) } else { (30_000, 3600 << 10) }
}

fn bench(memory_limit: u64) -> TestEngine {
    let device_memory = Some(sizes().1);
    TestEngine::of(EngineConfig { device_memory, memory_limit, policy: Some(Policy::Only), ..on_device() })
}

/// Each form that a column has on the device, in two batches, with nulls in all but the first.
fn frame(bench: &TestEngine, from: i64) -> FrameId {
    let rows = || from..from + sizes().0;
    let there = |n: i64| n % 11 != 3;
    let some = |n: i64| there(n).then_some(n);
    let decimals = |digits| {
        let values = Decimal128Array::from_iter(rows().map(|n| some(n).map(|n| i128::from(n) * 101)));
        Arc::new(values.with_precision_and_scale(digits, 2).unwrap())
    };
    let word = |n: i64| there(n).then(|| ["ash", "oak", "elm", ""][(n % 4) as usize]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("n", Arc::new(Int64Array::from_iter_values(rows()))),
        ("v", Arc::new(Float64Array::from_iter(rows().map(|n| some(n).map(|n| n as f64 / 8.0))))),
        ("day", Arc::new(Date32Array::from_iter(rows().map(|n| some(n).map(|n| n as i32 % 9_000))))),
        ("b", bools(&rows().map(|n| there(n).then_some(n % 3 == 0)).collect::<Vec<_>>())),
        ("few", Arc::new(StringArray::from_iter(rows().map(word)))),
        ("many", Arc::new(StringArray::from_iter(rows().map(|n| there(n).then(|| format!("number {n}")))))),
        ("d", decimals(15)),
        ("wide", decimals(30)),
        (
            "l",
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(rows().map(|n| Some(vec![Some(n as i32 % 5)])))),
        ),
    ];
    let batch = arrow::array::RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true)));
    let (batch, cut) = (batch.unwrap(), sizes().0 as usize / 3);
    bench.batches(vec![batch.slice(0, cut), batch.slice(cut, batch.num_rows() - cut)])
}

/// Few rows each, of all columns together or of some.
const QUERIES: &[&str] = &[
    "select count(*) c, sum(n) s, sum(v) v, count(v) cv, max(day) m, count(*) filter (where b) b, sum(d) d, sum(wide) w from t",
    "select few, count(*) c, min(n) a, max(day) m, sum(d) d from t group by few order by few",
    "select count(*) c, min(many) a, max(many) z from t where many like '%7' and few <> 'oak'",
    "select count(*) c, sum(l[1]) s, count(*) filter (where many like 'number 1%') k from t where b or few = 'elm'",
    "select n, few, many, d, wide, day from t where v is not null order by d desc, n limit 3",
];

fn residency(bench: &TestEngine) -> Arc<Residency> {
    Arc::clone(&bench.engine.accelerator().expect("it has a device").gpu.residency)
}

/// Three frames in turn, which the device has room for one of.
fn ask_in_turn(bench: &TestEngine, rounds: usize) {
    let cpu = TestEngine::on_cpu();
    let frames = [0, 7, 5_000_000].map(|from| (frame(bench, from), frame(&cpu, from)));
    for _ in 0..rounds {
        for (here, there) in frames {
            for query in QUERIES {
                bench.engine.forget_results();
                assert_eq!(bench.sql(query, &[("t", here)]), cpu.sql(query, &[("t", there)]), "{query}");
            }
        }
    }
}

#[test]
fn columns_that_made_room_come_back_as_they_were() {
    let bench = bench(1 << 30);
    let residency = residency(&bench);
    ask_in_turn(&bench, 1);
    assert!(residency.pinned_bytes() > 0);
    ask_in_turn(&bench, 3);
    assert!(residency.restored() > 8, "{}", residency.restored());
    // Nobody holds the rows any more: what was kept goes with them.
    drop(bench);
    residency.sweep();
    assert_eq!(residency.pinned_bytes(), 0);
}

#[test]
fn little_memory_keeps_little() {
    let limit = if is_cuda() { 64 << 20 } else { 4 << 20 };
    let bench = bench(8 * limit);
    let residency = residency(&bench);
    ask_in_turn(&bench, 2);
    assert!((1..=limit).contains(&residency.pinned_bytes()), "{}", residency.pinned_bytes());
    // None at all: everything is uploaded as before.
    let bench = self::bench(32 << 20);
    let residency = self::residency(&bench);
    residency.set_pinned_limit(0);
    ask_in_turn(&bench, 2);
    assert_eq!((residency.pinned_bytes(), residency.restored()), (0, 0));
}
