//! Windows on a device over more rows than the tables of `tests/sql` have. Expected values are the CPU engine's, which
//! are DataFusion's.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array};
use onrush_frame::TaskHandle;

use super::support::{TestEngine, device};

const ROWS: i64 = 20_000;

/// Rows in no order, a third of them in the first of four partitions, with nulls among the values.
fn table(bench: &TestEngine) -> onrush_wire::FrameId {
    let at = |row: i64| row * 48_271 % ROWS;
    let partition = |row: i64| if row % 3 == 0 { 0 } else { row % 4 };
    let value = |row: i64| (row % 11 != 3).then(|| f64::from((row * 7_919 % 20_011) as i32) / 8.0 - 900.0);
    bench.frame(vec![
        ("n", Arc::new(Int64Array::from_iter_values((0..ROWS).map(at))) as ArrayRef),
        ("k", Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| partition(at(row)))))),
        ("v", Arc::new((0..ROWS).map(|row| value(at(row))).collect::<Float64Array>())),
    ])
}

/// Values are multiples of an eighth, so that sums are exact in any order.
#[test]
fn long_frames_have_the_answers_of_the_processor() {
    let frames = [
        "order by n rows between 63 preceding and 1 following",
        "order by n rows between 64 preceding and current row",
        "order by n rows between 5000 preceding and 300 following",
        "order by n rows between 12000 preceding and 39 preceding",
        "order by n rows between 17 following and 9999 following",
        "partition by k order by n rows between 700 preceding and 4096 following",
        "partition by k order by n range between 15000 preceding and current row",
        "partition by k order by n desc range between 40 following and 9000 following",
    ];
    let (device, cpu) = (device(), TestEngine::on_cpu());
    let tables = (table(&device), table(&cpu));
    for frame in frames {
        let query = format!(
            "select n, sum(v) over w as s, min(v) over w as l, max(v) over w as h, count(v) over w as c, sum(n) over w as t \
             from t window w as ({frame}) order by n"
        );
        let before = device.engine.accelerator().unwrap().gpu.spent().1;
        let sums = format!(
            "select sum(s * (n % 97 + 1)) as a, sum(l * (n % 89 + 1)) as b, sum(h * (n % 83 + 1)) as c, sum(c * (n % 79 + 1)) as d, sum(t % 71) as e from ({query})"
        );
        assert_eq!(device.sql(&sums, &[("t", tables.0)]), cpu.sql(&sums, &[("t", tables.1)]), "{frame}");
        let some = format!("select * from ({query}) where n % 1013 = 7 or n > 19990 or n < 5 order by n");
        assert_eq!(device.sql(&some, &[("t", tables.0)]), cpu.sql(&some, &[("t", tables.1)]), "{frame}");
        assert!(device.engine.accelerator().unwrap().gpu.spent().1 > before, "it ran on the CPU: {frame}");
    }
}

/// Variances of what is nearly constant far from zero: by hand, of 0, 1, …, 999 it is (1000² - 1) / 12.
#[test]
fn variances_of_long_frames_do_not_cancel() {
    let bench = device();
    let id = bench.frame(vec![
        ("n", Arc::new(Int64Array::from_iter_values(0..60_000)) as ArrayRef),
        ("v", Arc::new(Float64Array::from_iter_values((0..60_000).map(|row| 1e9 + (row % 1000) as f64)))),
    ]);
    let query = "select n, var_pop(v) over (order by n rows between 999 preceding and current row) as v from t";
    let id = bench.try_sql(&format!("select v from ({query}) where n >= 999"), &[("t", id)]).unwrap();
    let table = bench.engine.table(id, &[], &TaskHandle::new()).unwrap();
    assert_eq!(table.rows(), 59_001);
    for batch in table.batches() {
        let values = arrow::array::AsArray::as_primitive::<arrow::datatypes::Float64Type>(batch.column(0));
        let expected = (1e6 - 1.0) / 12.0;
        let furthest = values.values().iter().map(|v| (v - expected).abs()).fold(0.0, f64::max);
        assert!(furthest < 1e-4, "{furthest}");
    }
}

/// Sums that are known to have 64 bits are added up in these, others in 128: both give what the numbers give by hand.
#[test]
fn running_sums_are_right_at_the_edge_of_64_bits() {
    let (near, far) = (1_i64 << 60, 1_i64 << 62);
    for values in [[near; 6], [-near; 6], [far, -far, far, -far, far, -far], [i64::MIN, i64::MAX, 0, 1, 0, -1]] {
        let bench = device();
        let id = bench.frame(vec![
            ("n", Arc::new(Int64Array::from_iter_values(0..6)) as ArrayRef),
            ("x", Arc::new(Int64Array::from_iter_values(values))),
        ]);
        let query = "select n, sum(x) over (order by n) as s, sum(x) over (order by n) % 7 as m, \
                     sum(x) over (order by n rows between 1 preceding and current row) as f, \
                     sum(x) over (order by n rows between current row and unbounded following) as b from t order by n";
        let sum = |rows: std::ops::Range<usize>| values[rows].iter().map(|x| i128::from(*x)).sum::<i128>();
        let row = |n: usize| {
            let running = sum(0..n + 1);
            let (two, rest) = (sum(n.saturating_sub(1)..n + 1), sum(n..6));
            format!("|{n} {running} {} {two} {rest}", running % 7)
        };
        let expected = format!("n s m f b{}", (0..6).map(row).collect::<String>());
        assert_eq!(bench.sql(query, &[("t", id)]), expected);
    }
}

/// The input of a window is written by an earlier stage and freed after the run. A plan that runs again must compute it
/// again. Ranks are counted by hand: each partition has as many rows as its key says.
#[test]
fn a_kept_plan_with_a_window_below_an_aggregate_runs_again() {
    let bench = device();
    let keys = || (1..=150_i64).flat_map(|key| (0..key).map(move |row| (key, row)));
    let id = bench.frame(vec![
        ("k", Arc::new(Int64Array::from_iter_values(keys().map(|(key, _)| key))) as ArrayRef),
        ("v", Arc::new(Int64Array::from_iter_values(keys().map(|(_, row)| row)))),
    ]);
    let ranks = |least: i64| {
        let query = format!(
            "select max(r) as m, sum(r) as s from \
             (select rank() over (partition by k order by v) + {least} as r from t)"
        );
        bench.engine.forget_results();
        bench.sql(&query, &[("t", id)])
    };
    let rows: i64 = (1..=150).sum();
    let sum: i64 = (1..=150).map(|key: i64| key * (key + 1) / 2).sum();
    for least in [1, 2, 3, 1, 1, 2, 1] {
        assert_eq!(ranks(least), format!("m s|{} {}", 150 + least, sum + least * rows));
    }
}
