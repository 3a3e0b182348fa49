//! TPC-H: its tables, as far as the queries here read them, and queries with their answers.
//!
//! Rows are those of TPC's own generator. The answers are DuckDB's, over the same rows (`tests/tpch`).

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use onrush_frame::{Table, TaskHandle};
use parking_lot::Mutex;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow, SupplierArrow,
};

use crate::engines::{Answers, Subject};
use crate::{answer, slt};

/// Scale, and queries with answers.
pub const ANSWERS: &[(&str, &str)] = &[
    ("0.01", include_str!("../../../tests/tpch/scale-0.01.slt")),
    ("1", include_str!("../../../tests/tpch/scale-1.slt")),
];

/// The tables, with columns that no query here reads and that take much memory.
pub const TABLES: [(&str, &[&str]); 8] = [
    ("region", &["r_comment"]),
    ("nation", &["n_comment"]),
    ("supplier", &["s_comment", "s_address", "s_phone"]),
    ("customer", &["c_comment", "c_address", "c_phone"]),
    ("part", &["p_comment", "p_mfgr", "p_container"]),
    ("partsupp", &["ps_comment"]),
    ("orders", &["o_clerk"]),
    ("lineitem", &["l_comment", "l_shipinstruct", "l_shipmode"]),
];

/// Rows of a part of a table's parts, with all columns.
///
/// # Errors
/// If the generator's rows are no record batch.
pub fn rows(name: &str, scale: f64, part: i32, parts: i32) -> Result<Vec<RecordBatch>, ArrowError> {
    const BATCH: usize = 1 << 16;
    match name {
        "region" => RegionArrow::new(RegionGenerator::new(scale, part, parts)).with_batch_size(BATCH).collect(),
        "nation" => NationArrow::new(NationGenerator::new(scale, part, parts)).with_batch_size(BATCH).collect(),
        "supplier" => SupplierArrow::new(SupplierGenerator::new(scale, part, parts)).with_batch_size(BATCH).collect(),
        "customer" => CustomerArrow::new(CustomerGenerator::new(scale, part, parts)).with_batch_size(BATCH).collect(),
        "part" => PartArrow::new(PartGenerator::new(scale, part, parts)).with_batch_size(BATCH).collect(),
        "partsupp" => PartSuppArrow::new(PartSuppGenerator::new(scale, part, parts)).with_batch_size(BATCH).collect(),
        "orders" => OrderArrow::new(OrderGenerator::new(scale, part, parts)).with_batch_size(BATCH).collect(),
        _ => LineItemArrow::new(LineItemGenerator::new(scale, part, parts)).with_batch_size(BATCH).collect(),
    }
}

/// A table in the order of its rows, made by all threads.
///
/// # Errors
/// If the generator's rows are no table.
pub fn table(name: &str, scale: f64) -> Result<Table, String> {
    let dropped = TABLES.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, dropped)| dropped);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let parts = if matches!(name, "region" | "nation") { 1 } else { ((scale * 10.0).ceil() as i32).max(1) };
    let made: Mutex<Vec<Vec<RecordBatch>>> = Mutex::new(vec![Vec::new(); parts as usize]);
    let next = Mutex::new(0);
    let failed: Mutex<Option<String>> = Mutex::new(None);
    let make = |part: i32| -> Result<Vec<RecordBatch>, ArrowError> {
        let batches = rows(name, scale, part, parts)?;
        let kept = |batch: &RecordBatch| -> Vec<usize> {
            let fields = batch.schema_ref().fields().iter().enumerate();
            fields.filter(|(_, field)| !dropped.contains(&field.name().as_str())).map(|(at, _)| at).collect()
        };
        batches.iter().map(|batch| batch.project(&kept(batch))).collect()
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let part = {
                        let mut next = next.lock();
                        *next += 1;
                        *next
                    };
                    if part > parts {
                        return;
                    }
                    match make(part) {
                        Ok(batches) => {
                            made.lock()[part as usize - 1] = batches;
                        }
                        Err(error) => {
                            *failed.lock() = Some(error.to_string());
                        }
                    }
                }
            });
        }
    });
    if let Some(error) = failed.into_inner() {
        return Err(error);
    }
    let batches: Vec<RecordBatch> = made.into_inner().into_iter().flatten().collect();
    let schema = batches.first().ok_or_else(|| format!("no rows of {name}"))?.schema();
    Ok(Table::new(schema, batches))
}

#[derive(Debug, Default)]
pub struct Outcome {
    pub rows: usize,
    pub passed: usize,
    pub failures: Vec<String>,
    pub took: Duration,
}

/// The queries of a scale, whose answers are known.
///
/// # Errors
/// If there are no answers for this scale, or the engine does not take the table.
pub fn run(engine: &mut dyn Answers, scale: &str) -> Result<Outcome, String> {
    let known: Vec<&str> = ANSWERS.iter().map(|(scale, _)| *scale).collect();
    let (_, text) = ANSWERS
        .iter()
        .find(|(known, _)| *known == scale)
        .ok_or_else(|| format!("there are no answers for scale {scale}, but for {}", known.join(" and ")))?;
    let number: f64 = scale.parse().map_err(|_| format!("{scale} is not a number"))?;
    let mut outcome = Outcome::default();
    for (name, _) in TABLES {
        let table = table(name, number)?;
        outcome.rows += table.rows();
        engine.load(name, &table).map_err(|d| d.to_string())?;
    }
    let begun = Instant::now();
    for case in slt::read(text)? {
        match case.run(engine) {
            Ok(()) => outcome.passed += 1,
            Err(error) => outcome.failures.push(format!("scale {scale}, line {}\n{}\n{error}", case.line, case.sql)),
        }
    }
    outcome.took = begun.elapsed();
    Ok(outcome)
}

/// Bytes of a row that a query must read on a device. Keys and decimals of 15 digits have 8 bytes, strings, dates and
/// short numbers 4.
const BYTES: [(&str, &[(&str, u64)]); 8] = [
    ("query 1", &[("lineitem", 44)]),
    ("query 3", &[("customer", 12), ("orders", 24), ("lineitem", 28)]),
    ("query 5", &[("customer", 16), ("orders", 20), ("lineitem", 32), ("supplier", 16)]),
    ("query 6", &[("lineitem", 28)]),
    ("query 9", &[("part", 12), ("supplier", 16), ("lineitem", 48), ("partsupp", 24), ("orders", 12)]),
    ("query 13", &[("customer", 8), ("orders", 20)]),
    ("query 18", &[("customer", 12), ("orders", 28), ("lineitem", 32)]),
    ("query 21", &[("supplier", 20), ("lineitem", 24 + 24 + 16), ("orders", 12)]),
];

/// Runs of a query, the first one not counted, and then those with a new plan.
const RUNS_OF_ONE_PLAN: usize = 11;
const RUNS_WITH_NEW_PLANS: usize = 15;

/// Times of the queries over rows in memory, a line for each. The answers are compared with those of `other`. The
/// folder `answers` gets them as lines of values with tabs, for `tests/tpch/beside_duckdb.py`.
///
/// # Errors
/// If a query fails, the engines' answers differ, or they cannot be written.
pub fn time(
    subject: &mut Subject,
    mut other: Option<&mut Subject>,
    scale: &str,
    answers: Option<&Path>,
) -> Result<Vec<String>, String> {
    let number: f64 = scale.parse().map_err(|_| format!("{scale} is not a number"))?;
    let mut counts = HashMap::new();
    for (name, _) in TABLES {
        let table = table(name, number)?;
        counts.insert(name, table.rows() as u64);
        subject.load(name, &table).map_err(|d| d.to_string())?;
        if let Some(other) = other.as_deref_mut() {
            other.load(name, &table).map_err(|d| d.to_string())?;
        }
    }
    let mut lines = Vec::new();
    for (case, (name, read)) in slt::read(ANSWERS[0].1)?.iter().zip(BYTES) {
        let (mut device, mut whole, mut first) = (Vec::new(), Vec::new(), 0.0);
        // Time of a call beyond its runs, with a cached plan and with a new one.
        let (mut seen, mut new, mut steps) = (Vec::new(), Vec::new(), Vec::new());
        let mut answer = Vec::new();
        let mut runs = 0;
        for run in 0..RUNS_OF_ONE_PLAN + RUNS_WITH_NEW_PLANS {
            subject.engine().forget_results();
            if run > RUNS_OF_ONE_PLAN {
                subject.engine().forget_plans();
            }
            let id = subject.id();
            let (op, task) = (subject.query(&case.sql), TaskHandle::new());
            let begun = Instant::now();
            subject.engine().step(id, &op, None, None, &task).map_err(|d| d.to_string())?;
            let step = begun.elapsed().as_secs_f64() * 1e3;
            let spent = || subject.engine().accelerator().map(|a| a.gpu.spent());
            let before = spent();
            let begun = Instant::now();
            let table = subject.engine().table(id, &[], &task).map_err(|d| d.to_string())?;
            let time = begun.elapsed().as_secs_f64() * 1e3;
            answer = answer::rows(&table);
            if run == 0 {
                first = time;
                continue;
            }
            let ran = spent().zip(before).map(|(now, before)| (now.0 - before.0, now.1 - before.1));
            runs = ran.map_or(0, |(runs, _)| runs);
            let on_device = ran.map_or(time, |(_, time)| time.as_secs_f64() * 1e3);
            if run > RUNS_OF_ONE_PLAN {
                new.push(time - on_device);
                steps.push(step);
                continue;
            }
            whole.push(time);
            device.push(on_device);
            seen.push(time - on_device);
        }
        if let Some(folder) = answers {
            let file = folder.join(format!("{}.tsv", name.replace(' ', "-")));
            let lines: String = answer.iter().map(|row| answer::line(row) + "\n").collect();
            std::fs::write(&file, lines).map_err(|e| format!("{}: {e}", file.display()))?;
        }
        let mut beside = String::new();
        if let Some(other) = other.as_deref_mut() {
            let begun = Instant::now();
            let expected = answer::rows(&*other.sql(&case.sql).map_err(|d| d.to_string())?);
            beside = format!("; the other engine {:.0}", begun.elapsed().as_secs_f64() * 1e3);
            if answer.len() != expected.len()
                || !answer.iter().zip(&expected).all(|(a, b)| close(&answer::line(a), &answer::line(b)))
            {
                return Err(format!("{name}: the answers differ\n{answer:?}\n{expected:?}"));
            }
        }
        let [device, whole, seen, new, steps] = [device, whole, seen, new, steps].map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        // A copy on an H200 moves 4.28 TB a second.
        let bytes: u64 = read.iter().map(|(table, bytes)| counts.get(table).unwrap_or(&0) * bytes).sum();
        let floor = bytes as f64 / 4.28e9;
        lines.push(format!(
            "{name:<8} {device:>9.3} ms in {runs} runs, whole {whole:>8.3}, adds {seen:.3} and to a new plan {new:.3}, its step {steps:.3}, first {first:>8.1}, floor {floor:.3}, {:.2} x{beside}",
            device / floor
        ));
    }
    Ok(lines)
}

/// Lines whose numbers agree to eight digits: the CPU engine's averages of a hundred million values are off in the
/// tenth.
fn close(a: &str, b: &str) -> bool {
    let same = |(x, y): (&str, &str)| match (x.parse::<f64>(), y.parse::<f64>()) {
        (Ok(x), Ok(y)) => (x - y).abs() <= 1e-8 * x.abs().max(y.abs()),
        _ => x == y,
    };
    a.split('\t').count() == b.split('\t').count() && a.split('\t').zip(b.split('\t')).all(same)
}
