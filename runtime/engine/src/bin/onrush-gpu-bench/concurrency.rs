//! Times queries and loads that run at the same time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use onrush_engine::Engine;
use onrush_frame::TaskHandle;
use onrush_wire::FrameId;

use crate::{Columns, floats, frame, keys, median, query};

const SMALL: &str = "select k, avg(y) as m from t group by k";
/// Seconds of work in few kernels: all pairs of rows are looked at.
const PAIRS: &str = "select count(*) as n from t join u on t.y * 1000000 < u.y and t.k + u.k > 90";
/// Tens of milliseconds in many kernels.
const SORT: &str = "select k, y from t order by y";
const MEAN: &str = "select avg(y) as m from t";

fn table(rows: usize) -> Columns {
    vec![("k", keys(rows, 100, false)), ("y", floats(rows, 1))]
}

/// How long a query takes that nobody asked for before.
fn ask(engine: &Engine, sql: &str, of: &[FrameId]) -> Result<Duration, String> {
    let id = query(engine, sql, of)?;
    let begun = Instant::now();
    engine.table(id, &[], &TaskHandle::new()).map_err(|e| e.message)?;
    let time = begun.elapsed();
    engine.release(&[id]);
    engine.forget_results();
    Ok(time)
}

/// Columns that the device has not seen.
fn columns(engine: &Engine, rows: usize, count: u64) -> Result<Vec<FrameId>, String> {
    (0..count).map(|number| frame(engine, &vec![("y", floats(rows, 1000 + number))])).collect()
}

/// Uploads each of them, and adds it up.
fn load(engine: &Engine, columns: &[FrameId]) -> Result<Duration, String> {
    let time = columns.iter().map(|of| ask(engine, MEAN, &[*of])).sum::<Result<Duration, String>>()?;
    engine.release(columns);
    Ok(time)
}

/// Latencies of small queries while `other` runs, which gives how long it took.
fn beside(
    engine: &Engine,
    small: FrameId,
    other: &(dyn Fn() -> Result<Duration, String> + Sync),
) -> Result<(Vec<Duration>, Duration), String> {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let work = scope.spawn(|| {
            let time = other();
            done.store(true, Ordering::Relaxed);
            time
        });
        let mut times = Vec::new();
        while !done.load(Ordering::Relaxed) {
            times.push(ask(engine, SMALL, &[small])?);
            std::thread::sleep(Duration::from_millis(1));
        }
        let other = work.join().map_err(|_| "the other query panicked".to_string())??;
        Ok((times, other))
    })
}

pub fn measure(engine: &Engine, rows: usize) -> Result<(), String> {
    let say = |name: &str, times: Vec<Duration>, other: Option<(Duration, Duration)>| {
        let most = times.iter().max().copied().unwrap_or_default().as_secs_f64() * 1e3;
        let count = times.len();
        let of = other.map_or(String::new(), |(alone, beside)| {
            format!(
                "; the other one {:.1} ms alone, {:.1} together",
                alone.as_secs_f64() * 1e3,
                beside.as_secs_f64() * 1e3
            )
        });
        println!("{name:<44} {:>7.2} ms median, {most:>7.2} most of {count:>5}{of}", median(times));
    };
    let small = frame(engine, &table(100_000))?;
    let large = frame(engine, &table(rows))?;
    let (left, right) = (frame(engine, &table(rows / 50))?, frame(engine, &table(rows / 2000))?);
    for _ in 0..3 {
        ask(engine, SMALL, &[small])?;
        ask(engine, SORT, &[large])?;
    }
    let pairs = || ask(engine, PAIRS, &[left, right]);
    pairs()?;
    load(engine, &columns(engine, rows, 1)?)?;

    let alone = (0..200).map(|_| ask(engine, SMALL, &[small])).collect::<Result<Vec<_>, _>>()?;
    say("a mean by 100 keys of 1e5 rows, alone", alone, None);
    let alone = pairs()?;
    let (times, other) = beside(engine, small, &pairs)?;
    say(
        &format!("with a join of {:.0e} pairs", (rows / 50) as f64 * (rows / 2000) as f64),
        times,
        Some((alone, other)),
    );
    let sorts = || (0..10).map(|_| ask(engine, SORT, &[large])).sum::<Result<Duration, String>>();
    let alone = sorts()?;
    let (times, other) = beside(engine, small, &sorts)?;
    say(&format!("with ten sorts of {rows:.0e} rows"), times, Some((alone, other)));
    let alone = load(engine, &columns(engine, rows, 5)?)?;
    let five = columns(engine, rows, 5)?;
    let (times, other) = beside(engine, small, &|| load(engine, &five))?;
    say(&format!("with five loads of {rows:.0e} floats"), times, Some((alone, other)));

    // Both are as long: in one order of work they would take twice as long.
    let sorting = || (0..30).map(|_| ask(engine, SORT, &[large])).sum::<Result<Duration, String>>();
    let sorts_alone = sorting()?;
    let loads_alone = load(engine, &columns(engine, rows, 5)?)?;
    let five = columns(engine, rows, 5)?;
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| load(engine, &five));
        sorting()?;
        other.join().map_err(|_| "the load panicked".to_string())?
    })?;
    println!(
        "thirty sorts {:.1} ms alone, five loads {:.1} ms alone, both at once {:.1} ms",
        sorts_alone.as_secs_f64() * 1e3,
        loads_alone.as_secs_f64() * 1e3,
        begun.elapsed().as_secs_f64() * 1e3
    );
    Ok(())
}
