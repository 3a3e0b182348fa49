//! TPC-H's table `lineitem`, as far as queries 1 and 6 read it, and these queries with their answers.
//!
//! Rows are those of TPC's own generator. The answers are DuckDB's, over the same rows (`tests/tpch`).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, Date32Builder, Decimal128Builder, RecordBatch, StringViewBuilder};
use arrow::datatypes::{DataType, Field, Schema};
use onrush_frame::{Table, TaskHandle};
use tpchgen::generators::LineItemGenerator;

use crate::engines::{Answers, Subject};
use crate::{answer, slt};

/// Scale, and queries with answers.
pub const ANSWERS: &[(&str, &str)] = &[
    ("0.01", include_str!("../../../tests/tpch/scale-0.01.slt")),
    ("1", include_str!("../../../tests/tpch/scale-1.slt")),
];

const MONEY: DataType = DataType::Decimal128(15, 2);

fn schema() -> Schema {
    let field = |name: &str, dtype: DataType| Field::new(name, dtype, false);
    Schema::new(vec![
        field("l_quantity", MONEY),
        field("l_extendedprice", MONEY),
        field("l_discount", MONEY),
        field("l_tax", MONEY),
        field("l_returnflag", DataType::Utf8View),
        field("l_linestatus", DataType::Utf8View),
        field("l_shipdate", DataType::Date32),
    ])
}

/// About 6 million rows for each unit of scale, in their order, made by all threads.
pub fn lineitem(scale: f64) -> Table {
    let schema = Arc::new(schema());
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let parts = ((scale * 10.0).ceil() as i32).max(1);
    let made: Mutex<Vec<Option<RecordBatch>>> = Mutex::new(vec![None; parts as usize]);
    let next = Mutex::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let part = {
                        let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
                        *next += 1;
                        *next
                    };
                    if part > parts {
                        return;
                    }
                    let batch = rows(scale, part, parts, &schema);
                    made.lock().unwrap_or_else(PoisonError::into_inner)[part as usize - 1] = Some(batch);
                }
            });
        }
    });
    let batches = made.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect();
    Table::new(schema, batches)
}

fn rows(scale: f64, part: i32, parts: i32, schema: &Arc<Schema>) -> RecordBatch {
    let mut money: [Decimal128Builder; 4] = std::array::from_fn(|_| Decimal128Builder::new().with_data_type(MONEY));
    let (mut flag, mut status, mut shipped) =
        (StringViewBuilder::new(), StringViewBuilder::new(), Date32Builder::new());
    for row in LineItemGenerator::new(scale, part, parts).iter() {
        let cents = [
            row.l_quantity * 100,
            row.l_extendedprice.into_inner(),
            row.l_discount.into_inner(),
            row.l_tax.into_inner(),
        ];
        money.iter_mut().zip(cents).for_each(|(column, cents)| column.append_value(cents.into()));
        flag.append_value(row.l_returnflag);
        status.append_value(row.l_linestatus);
        shipped.append_value(row.l_shipdate.to_unix_epoch());
    }
    let mut columns: Vec<ArrayRef> = money.iter_mut().map(|m| Arc::new(m.finish()) as ArrayRef).collect();
    columns.extend([Arc::new(flag.finish()) as ArrayRef, Arc::new(status.finish()), Arc::new(shipped.finish())]);
    // The builders above make these types and equal lengths.
    RecordBatch::try_new(Arc::clone(schema), columns).unwrap_or_else(|_| RecordBatch::new_empty(Arc::clone(schema)))
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
    let table = lineitem(number);
    engine.load("lineitem", &table).map_err(|d| d.to_string())?;
    let begun = Instant::now();
    let mut outcome = Outcome { rows: table.rows(), ..Outcome::default() };
    for case in slt::read(text)? {
        match case.run(engine) {
            Ok(()) => outcome.passed += 1,
            Err(error) => outcome.failures.push(format!("scale {scale}, line {}\n{}\n{error}", case.line, case.sql)),
        }
    }
    outcome.took = begun.elapsed();
    Ok(outcome)
}

/// Bytes of a row that queries 1 and 6 must read on a device: decimals of 15 digits and texts as 8 and 4 bytes.
const BYTES: [(&str, u64); 2] = [("query 1", 4 * 8 + 3 * 4), ("query 6", 3 * 8 + 4)];

/// How long the queries take over rows that are there: a line for each, with the answers compared with another engine's.
///
/// # Errors
/// If a query fails, or the engines' answers differ.
pub fn time(subject: &mut Subject, other: &mut Subject, scale: &str) -> Result<Vec<String>, String> {
    let number: f64 = scale.parse().map_err(|_| format!("{scale} is not a number"))?;
    let table = lineitem(number);
    let rows = table.rows();
    for engine in [&mut *subject, &mut *other] {
        engine.load("lineitem", &table).map_err(|d| d.to_string())?;
    }
    let mut lines = Vec::new();
    for (case, (name, bytes)) in slt::read(ANSWERS[0].1)?.iter().zip(BYTES) {
        let (mut device, mut whole, mut first) = (Vec::new(), Vec::new(), 0.0);
        let mut answer = Vec::new();
        for run in 0..12 {
            subject.engine().forget_results();
            let id = subject.id();
            let (op, task) = (subject.query(&case.sql), TaskHandle::new());
            subject.engine().step(id, &op, None, None, &task).map_err(|d| d.to_string())?;
            let begun = Instant::now();
            let table = subject.engine().table(id, &[], &task).map_err(|d| d.to_string())?;
            let time = begun.elapsed().as_secs_f64() * 1e3;
            answer = answer::rows(&table);
            if run == 0 {
                first = time;
                continue;
            }
            whole.push(time);
            let gpu = subject.engine().accelerator().map(|a| a.gpu.last_run());
            device.push(gpu.map_or(time, |time| time.as_secs_f64() * 1e3));
        }
        let begun = Instant::now();
        let expected = answer::rows(&*other.sql(&case.sql).map_err(|d| d.to_string())?);
        let cpu = begun.elapsed().as_secs_f64() * 1e3;
        if answer.len() != expected.len()
            || !answer.iter().zip(&expected).all(|(a, b)| close(&answer::line(a), &answer::line(b)))
        {
            return Err(format!("{name}: the answers differ\n{answer:?}\n{expected:?}"));
        }
        device.sort_by(f64::total_cmp);
        whole.sort_by(f64::total_cmp);
        // A copy on an H200 moves 4.28 TB a second.
        let floor = (rows as u64 * bytes) as f64 / 4.28e9;
        let device = device[device.len() / 2];
        lines.push(format!(
            "{name} {rows:>10} rows {device:>9.3} ms, whole {:>8.3}, first {first:>8.1}, floor {floor:.3}, {:.2} x; the CPU engine {cpu:.0}",
            whole[whole.len() / 2],
            device / floor
        ));
    }
    Ok(lines)
}

/// Lines whose numbers agree to eight digits: the CPU engine's averages of a hundred million values are off in the tenth.
fn close(a: &str, b: &str) -> bool {
    let same = |(x, y): (&str, &str)| match (x.parse::<f64>(), y.parse::<f64>()) {
        (Ok(x), Ok(y)) => (x - y).abs() <= 1e-8 * x.abs().max(y.abs()),
        _ => x == y,
    };
    a.split('\t').count() == b.split('\t').count() && a.split('\t').zip(b.split('\t')).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{line, rows};

    /// From the description of `tpchgen`, whose rows are those of TPC's own generator.
    #[test]
    fn rows_are_those_of_tpc() {
        let schema = Arc::new(schema());
        let batch = super::rows(1.0, 1, 2000, &schema);
        let first = rows(&Table::new(schema, vec![batch.slice(0, 2)]));
        assert_eq!(line(&first[0]), "17\t21168.23\t0.04\t0.02\tN\tO\t1996-03-13");
        assert_eq!(line(&first[1]), "36\t45983.16\t0.09\t0.06\tN\tO\t1996-04-12");
    }
}
