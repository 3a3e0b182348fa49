//! Random plans: engines that must agree, and engines that are wrong on purpose, which must be found out.

use std::sync::Arc;

use arrow::array::{AsArray, Float64Array, RecordBatch};
use arrow::datatypes::{DataType, Float64Type};
use onrush_frame::Table;
use onrush_oracle::engines::{Answers, Subject};
use onrush_oracle::random::{self, Verdict};
use onrush_wire::Diagnostic;

/// Another seed for each `part`. It stands in what a failure prints.
fn agree(engine: &str, plans: u64, part: u64) -> usize {
    compared(engine, plans, part).on_device()
}

fn compared(engine: &str, plans: u64, part: u64) -> Subject {
    let (mut a, mut b) = (Subject::open("cpu", None).unwrap(), Subject::open(engine, None).unwrap());
    let seed = random::seed().unwrap() + part * 100_000;
    println!("{engine}: {plans} plans from seed {seed}");
    let report = random::run(&mut a, &mut b, seed, plans);
    println!("{}", report.line());
    assert!(report.differences.is_empty(), "{}", report.differences.join("\n\n"));
    assert!(report.same as u64 * 3 > plans, "most plans must have rows to compare: {}", report.line());
    assert!(report.either as u64 * 10 < plans, "too many plans prove nothing: {}", report.line());
    b
}

#[test]
fn cpu_split() {
    agree("cpu-split", 200, 0);
}

/// Most tables are too small to be cut.
#[test]
fn cluster() {
    let on_workers = compared("cluster", 300, 0).on_workers();
    assert!(on_workers >= 30, "only {on_workers} of 300 plans ran on the workers");
}

/// Two hundred plans in four tests, which run concurrently: each compiles kernels for minutes.
mod emulated {
    fn agree(part: u64) {
        let on_device = super::agree("emulated", 50, part);
        assert!(on_device >= 12, "only {on_device} of 50 plans ran on the device");
    }

    #[test]
    fn first() {
        agree(0);
    }

    #[test]
    fn second() {
        agree(1);
    }

    #[test]
    fn third() {
        agree(2);
    }

    #[test]
    fn fourth() {
        agree(3);
    }
}

/// The processor, with a mistake in what goes in or what comes out.
struct Wrong {
    subject: Subject,
    query: fn(&str) -> String,
    answer: fn(&Table) -> Table,
}

impl Answers for Wrong {
    fn name(&self) -> &str {
        "wrong"
    }

    fn load(&mut self, name: &str, table: &Table) -> Result<(), Diagnostic> {
        self.subject.load(name, table)
    }

    fn sql(&mut self, query: &str) -> Result<Arc<Table>, Diagnostic> {
        let table = self.subject.sql(&(self.query)(query))?;
        Ok(Arc::new((self.answer)(&table)))
    }
}

/// The seed of the first of 300 plans that finds the difference. The plan is made smaller, and still finds it.
fn found(query: fn(&str) -> String, answer: fn(&Table) -> Table) -> Option<u64> {
    let mut right = Subject::open("cpu", None).unwrap();
    let mut wrong = Wrong { subject: Subject::open("cpu", None).unwrap(), query, answer };
    let different =
        |case: &random::Case, a: &mut Subject, b: &mut Wrong| matches!(case.check(a, b), Verdict::Different(_));
    let seed = (1..=300).find(|seed| different(&random::case(*seed, true), &mut right, &mut wrong))?;
    let case = random::case(seed, true);
    let small = case.shrunk(&mut right, &mut wrong, 60);
    assert!(different(&small, &mut right, &mut wrong), "{}", small.show());
    assert!(small.show().len() <= case.show().len());
    Some(seed)
}

fn as_it_is(query: &str) -> String {
    query.to_string()
}

fn unchanged(table: &Table) -> Table {
    table.head(table.rows())
}

#[test]
fn engines_that_are_wrong_are_found() {
    // Comparisons, nulls, zeros of a group, distinct, top-k, dates.
    for (mistake, query) in [
        ("less is less or equal", (|q| q.replace(" < ", " <= ")) as fn(&str) -> String),
        ("nulls are equal to nothing else", |q| q.replace("is not null)", "is null)")),
        ("null is a value", |q| q.replace("is null)", "is not null)")),
        ("distinct values are not", |q| q.replace("distinct ", "")),
        ("nulls come first", |q| {
            q.replace(" desc limit", " desc nulls first limit").replace(" desc,", " desc nulls first,")
        }),
        ("months are quarters", |q| q.replace("month(", "quarter(")),
        ("the smallest is the largest", |q| q.replace("min(", "max(")),
    ] {
        let seed = found(query, unchanged);
        println!("{mistake}: {seed:?}");
        assert!(seed.is_some(), "{mistake}");
    }
    let last_row_is_lost: fn(&Table) -> Table = |t| t.head(t.rows().saturating_sub(1));
    assert!(found(as_it_is, last_row_is_lost).is_some());
    // One part in a million is more than any order of adding.
    let a_little_more: fn(&Table) -> Table = |t| {
        let more = |batch: &RecordBatch| {
            let columns = batch.columns().iter().map(|c| match c.data_type() {
                DataType::Float64 => {
                    Arc::new(c.as_primitive::<Float64Type>().unary::<_, Float64Type>(|v| v * 1.000_001)) as _
                }
                _ => Arc::clone(c),
            });
            RecordBatch::try_new(batch.schema(), columns.collect()).unwrap()
        };
        Table::new(Arc::clone(t.schema()), t.batches().iter().map(more).collect())
    };
    assert!(found(as_it_is, a_little_more).is_some());
    let null_is_zero: fn(&Table) -> Table = |t| {
        let zero = |batch: &RecordBatch| {
            let columns = batch.columns().iter().map(|c| match c.data_type() {
                DataType::Float64 => {
                    Arc::new(c.as_primitive::<Float64Type>().iter().map(|v| v.or(Some(0.0))).collect::<Float64Array>())
                        as _
                }
                _ => Arc::clone(c),
            });
            RecordBatch::try_new(batch.schema(), columns.collect()).unwrap()
        };
        Table::new(Arc::clone(t.schema()), t.batches().iter().map(zero).collect())
    };
    assert!(found(as_it_is, null_is_zero).is_some());
}
