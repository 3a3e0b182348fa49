//! Two notebooks at a time: how long one waits while the other computes or loads.
//!
//! On a GPU: `ONRUSH_TEST_ENGINE=cuda session-test concurrency --nocapture` prints the times.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use onrush_wire::plan::Op;
use onrush_wire::session::{Reply, Request};

use super::support::{Client, Session, from_values, pairs_of};

/// How long a small query may take while a large one runs: on a GPU, whose streams run concurrently, and if both share
/// a few cores.
const ON_GPU: Duration = Duration::from_millis(200);
const ON_CORES: Duration = Duration::from_secs(5);

fn sql(client: &mut Client, query: &str, table: &str, frame: onrush_wire::FrameId) -> onrush_wire::FrameId {
    client.step(Op::Sql { query: query.to_string(), tables: vec![(table.to_string(), frame)] })
}

/// Groups of a small frame, each time by another number, for so long: how long each took, from the request on.
fn small(cell: &mut Client, length: Duration) -> Vec<Duration> {
    const ROWS: i64 = 100_000;
    let frame = from_values(cell, 0..ROWS);
    let begun = Instant::now();
    let mut times = Vec::new();
    while begun.elapsed() < length || times.len() < 5 {
        let by = 7 + times.len() as i64 % 50;
        let begun = Instant::now();
        let query = format!("select n % {by} as k, count(*) as c, sum(n) as s from t group by n % {by} order by k");
        let groups = sql(cell, &query, "t", frame);
        let preview = cell.preview(groups);
        times.push(begun.elapsed());
        assert_eq!(preview.total_rows, by as u64);
        // Numbers of one rest are those of the first one and each `by`-th.
        let count = (ROWS + by - 1) / by;
        assert_eq!(preview.head[0][1], onrush_wire::Value::Int(count));
        assert_eq!(preview.head[0][2], onrush_wire::Value::Int(by * count * (count - 1) / 2));
    }
    times
}

fn told(what: &str, times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    let (count, longest) = (times.len(), times[times.len() - 1]);
    println!(
        "{what:<34} median {:>10.2?}, 99 of 100 {:>10.2?}, longest {longest:>10.2?} of {count}",
        times[count / 2],
        times[count * 99 / 100]
    );
    longest
}

#[test]
fn a_small_query_does_not_wait_for_a_large_one_or_a_load() {
    let engine = std::env::var("ONRUSH_TEST_ENGINE").unwrap_or_else(|_| "cpu".to_string());
    let is_gpu = engine == "cuda";
    let session =
        Session::start_in(&[("ONRUSH_ENGINE", &engine), ("ONRUSH_MEMORY", if is_gpu { "32G" } else { "1G" })]);
    let length = Duration::from_secs(if is_gpu { 4 } else { 1 });
    let most = if is_gpu { ON_GPU } else { ON_CORES };
    let mut two = session.cell("two");
    // What is compiled once is not what is measured.
    small(&mut two, length);
    let alone = told("alone", &mut small(&mut two, length));

    let mut one = session.cell("one");
    let mut kernel = session.kernel("one");
    kernel.begin(1, 1);
    // Seconds on each: cancelled in the end.
    let frame = pairs_of(&mut one, if is_gpu { 1_500_000 } else { 200_000 });
    let waiting = std::thread::spawn(move || (one.try_ask(Request::RowCount { frame }), one));
    std::thread::sleep(Duration::from_millis(300));
    let beside = told("beside a large query", &mut small(&mut two, length));
    if waiting.is_finished() {
        panic!("the large query has ended: {:?}", waiting.join().unwrap().0);
    }
    assert_eq!(kernel.ask(Request::Cancel), Reply::Done);
    let (result, mut one) = waiting.join().unwrap();
    assert_eq!(result.unwrap_err().class, onrush_wire::Class::Interrupted);

    let ends = std::sync::Arc::new(AtomicBool::new(false));
    let stop = std::sync::Arc::clone(&ends);
    let rows = if is_gpu { 20_000_000 } else { 500_000 };
    let loading = std::thread::spawn(move || {
        let (mut loads, mut longest) = (0_u64, Duration::ZERO);
        while !stop.load(Ordering::Relaxed) {
            let frame = from_values(&mut one, loads as i64..loads as i64 + rows);
            let begun = Instant::now();
            let sum = sql(&mut one, "select sum(n) as s from t", "t", frame);
            let expected = rows * (rows - 1) / 2 + loads as i64 * rows;
            assert_eq!(one.preview(sum).head, [[onrush_wire::Value::Int(expected)]]);
            longest = longest.max(begun.elapsed());
            kernel.commit(1, &[], &[frame, sum], &[]);
            loads += 1;
        }
        (loads, longest)
    });
    let load = told("beside loads", &mut small(&mut two, length));
    ends.store(true, Ordering::Relaxed);
    let (loads, longest) = loading.join().unwrap();
    println!("{loads} loads of {rows} rows, the longest {longest:.2?}");
    assert!(loads > 0);
    assert!(beside < most && load < most, "alone {alone:?}, beside a large query {beside:?}, beside loads {load:?}");
}
