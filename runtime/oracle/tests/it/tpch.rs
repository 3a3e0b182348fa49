//! Queries of TPC-H. Answers from DuckDB 2.0 over the same rows; at scale 1 they are TPC's own.

use onrush_frame::Table;
use onrush_oracle::answer::{line, rows};
use onrush_oracle::engines::Subject;
use onrush_oracle::tpch;

fn check(engine: &str) -> usize {
    let subject = checked(engine);
    subject.on_device()
}

fn checked(engine: &str) -> Subject {
    let mut subject = Subject::open(engine, None).unwrap();
    let outcome = tpch::run(&mut subject, "0.01").unwrap();
    assert!(outcome.failures.is_empty(), "{}", outcome.failures.join("\n\n"));
    assert_eq!((outcome.passed, outcome.rows), (8, 86_805));
    subject
}

#[test]
fn cpu() {
    check("cpu");
    check("cpu-split");
}

#[test]
fn cluster() {
    assert!(checked("cluster").on_workers() >= 4);
}

#[test]
fn emulated() {
    assert_eq!(check("emulated"), 8);
}

/// From the description of `tpchgen`, whose rows are those of TPC's own generator.
#[test]
fn rows_are_those_of_tpc() {
    let batch = tpch::rows("lineitem", 1.0, 1, 2000).unwrap().swap_remove(0).slice(0, 2);
    let batch = batch.project(&[4, 5, 6, 7, 8, 9, 10]).unwrap();
    let first = rows(&Table::new(batch.schema(), vec![batch]));
    assert_eq!(line(&first[0]), "17\t21168.23\t0.04\t0.02\tN\tO\t1996-03-13");
    assert_eq!(line(&first[1]), "36\t45983.16\t0.09\t0.06\tN\tO\t1996-04-12");
}
