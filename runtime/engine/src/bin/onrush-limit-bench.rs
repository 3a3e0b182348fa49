//! Times queries over more data than a limit of device memory, next to the same queries without the limit and on the
//! CPU: `onrush-limit-bench --engine cuda --limit 160M --rows 1e8`. Each result must be the same on all three.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use arrow::array::{ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch};
use arrow::datatypes::{Float64Type, Int64Type};
use onrush_engine::{Engine, EngineChoice, EngineConfig, Policy};
use onrush_frame::{Table, TaskHandle};
use onrush_wire::plan::Op;
use onrush_wire::{Diagnostic, FrameId, limits};

/// Each reads `t` (`id`, `k` of a tenth of the rows, `g` of 100, `v`), some `u` as well (`k`, `w`, half as many rows).
const QUERIES: &[(&str, &str)] = &[
    ("filter and project", "select id, v * 2 as v from t where g < 50"),
    ("group by 100 keys", "select g, count(*) as n, sum(id) as s, min(v) as a, max(v) as b from t group by g"),
    ("group by many keys", "select k, count(*) as n, sum(id) as s, max(v) as b from t group by k"),
    ("sort", "select k, v from t order by k, v"),
    ("join, both sides large", "select count(*) as n, sum(id) as s, sum(w) as w from t join u on t.k = u.k"),
    ("join, all rows out", "select id, w from t join u on t.k = u.k where g < 5"),
];

fn mixed(row: u64, seed: u64) -> u64 {
    // SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
    let mut z = row.wrapping_add(seed << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn tables(rows: u64) -> Result<[RecordBatch; 2], String> {
    let ints = |rows: u64, of: &dyn Fn(u64) -> u64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values((0..rows).map(|row| of(row) as i64)))
    };
    let keys = rows / 10;
    let t: [(&str, ArrayRef); 4] = [
        ("id", ints(rows, &|row| row)),
        ("k", ints(rows, &|row| mixed(row, 1) % keys * 1_000_003)),
        ("g", ints(rows, &|row| mixed(row, 2) % 100)),
        ("v", Arc::new(Float64Array::from_iter_values((0..rows).map(|row| (mixed(row, 3) >> 40) as f64)))),
    ];
    let u: [(&str, ArrayRef); 2] = [
        ("k", ints(rows / 2, &|row| mixed(row, 4) % (2 * keys) * 1_000_003)),
        ("w", ints(rows / 2, &|row| mixed(row, 5) % 1000)),
    ];
    let batch = |columns: Vec<(&str, ArrayRef)>| RecordBatch::try_from_iter(columns).map_err(|e| e.to_string());
    Ok([batch(t.to_vec())?, batch(u.to_vec())?])
}

/// Rows, and a sum over them that does not depend on their order; of `sort` also whether they are in order.
fn summary(table: &Table, is_sorted: bool) -> String {
    let (mut sum, mut ordered) = (0_u64, true);
    let mut last = (i64::MIN, f64::MIN);
    for batch in table.batches() {
        let column = |index: usize, row: usize| match batch.column(index).as_primitive_opt::<Int64Type>() {
            Some(ints) => ints.value(row) as u64,
            None => batch.column(index).as_primitive::<Float64Type>().value(row).to_bits(),
        };
        for row in 0..batch.num_rows() {
            let words = (0..batch.num_columns()).map(|index| column(index, row));
            sum = sum.wrapping_add(words.fold(1, |hash, word| mixed(hash ^ word, 7)));
            if is_sorted {
                let now = (column(0, row) as i64, f64::from_bits(column(1, row)));
                ordered &= last <= now;
                last = now;
            }
        }
    }
    format!("{} rows {sum:016x}{}", table.rows(), if ordered { "" } else { " NOT IN ORDER" })
}

struct Subject {
    name: &'static str,
    engine: Engine,
    frames: Vec<FrameId>,
}

fn open(name: &'static str, config: EngineConfig, tables: &[RecordBatch; 2]) -> Result<Subject, Diagnostic> {
    let engine = Engine::new(EngineConfig { memory_limit: 100 << 30, ..config })?;
    let mut frames = Vec::new();
    for batch in tables {
        let op = Op::FromArrow { schema: onrush_frame::schema_to_wire(&batch.schema()), bytes: None };
        let id = FrameId(frames.len() as u64 + 1);
        engine.step(id, &op, None, Some(vec![batch.clone()]), &TaskHandle::new())?;
        frames.push(id);
    }
    Ok(Subject { name, engine, frames })
}

fn run(options: &BTreeMap<String, String>) -> Result<bool, String> {
    let option = |name: &str, default: &str| options.get(name).cloned().unwrap_or_else(|| default.to_string());
    let say = |d: Diagnostic| d.to_string();
    let rows = option("rows", "1e8").parse::<f64>().map_err(|e| format!("--rows: {e}"))? as u64;
    let limit = limits::parse_size(&option("limit", "160M")).ok_or("--limit wants bytes, such as 160M")?;
    let choice = EngineChoice::parse(&option("engine", "cuda")).map_err(say)?;
    let tables = tables(rows)?;
    let bytes: usize = tables.iter().map(RecordBatch::get_array_memory_size).sum();
    let config = EngineConfig { choice, policy: Some(Policy::Always), ..EngineConfig::default() };
    let mut subjects = vec![
        open("limited", EngineConfig { device_memory: Some(limit), ..config.clone() }, &tables).map_err(say)?,
        open("whole", config, &tables).map_err(say)?,
    ];
    if option("cpu", "yes") == "yes" {
        subjects.push(open("cpu", EngineConfig::default(), &tables).map_err(say)?);
    }
    println!("{bytes} bytes in tables of {rows:e} and {:e} rows; limit {limit} bytes", rows / 2);
    println!(
        "{:<24} {:<8} {:>10} {:>10} {:>6} {:>8} {:>12}",
        "query", "engine", "first, s", "again, s", "parts", "gave up", "high water"
    );
    let mut agree = true;
    for (title, query) in QUERIES.iter().filter(|(title, _)| title.contains(&option("only", ""))) {
        let mut first: Option<String> = None;
        for subject in &subjects {
            let counts = || {
                subject.engine.accelerator().map_or((0, 0), |a| {
                    (a.partitions_run.load(Ordering::Relaxed), a.cpu_fallbacks.load(Ordering::Relaxed))
                })
            };
            let (before, mut times) = (counts(), Vec::new());
            let mut found = String::new();
            let mut failed = None;
            for _ in 0..if subject.name == "cpu" { 1 } else { 2 } {
                subject.engine.forget_results();
                let named = ["t", "u"].iter().map(|name| name.to_string()).zip(subject.frames.iter().copied());
                let op = Op::Sql { query: query.to_string(), tables: named.collect() };
                let task = TaskHandle::new();
                subject.engine.step(FrameId(9), &op, None, None, &task).map_err(say)?;
                let begun = Instant::now();
                let table = subject.engine.table(FrameId(9), &[], &task);
                times.push(begun.elapsed().as_secs_f64());
                match table {
                    Ok(table) => found = summary(&table, *title == "sort"),
                    Err(error) => failed = Some(error.message),
                }
                subject.engine.release(&[FrameId(9)]);
            }
            let after = counts();
            let high = subject.engine.accelerator().map_or(0, |a| a.gpu.context().device().ledger().total().high_water);
            let again = times.get(1).map_or(String::new(), |time| format!("{time:.2}"));
            println!(
                "{title:<24} {:<8} {:>10.2} {again:>10} {:>6} {:>8} {high:>12}{}",
                subject.name,
                times[0],
                after.0 - before.0,
                after.1 - before.1,
                failed.as_ref().map(|text| format!("  FAILED: {text}")).unwrap_or_default(),
            );
            let same = first.as_ref().is_none_or(|first| *first == found) && failed.is_none() && !found.contains("NOT");
            if !same {
                agree = false;
                println!("DIFFERS: {found}, and {first:?}");
            }
            first.get_or_insert(found);
        }
    }
    Ok(agree)
}

fn main() -> Result<(), String> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let pairs = given.chunks(2).map(|pair| match pair {
        [name, value] if name.starts_with("--") => Ok((name[2..].to_string(), value.clone())),
        _ => Err("usage: onrush-limit-bench [--engine cuda] [--limit 160M] [--rows 1e8] [--only TEXT] [--cpu yes]"),
    });
    match run(&pairs.collect::<Result<_, _>>()?)? {
        true => Ok(()),
        false => Err("results differ".to_string()),
    }
}
