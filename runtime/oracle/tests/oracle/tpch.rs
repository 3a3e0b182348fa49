//! Queries of TPC-H. Answers from DuckDB 2.0 over the same rows; at scale 1 they are TPC's own.

use onrush_oracle::engines::Subject;
use onrush_oracle::tpch;

fn check(engine: &str) -> usize {
    let mut subject = Subject::open(engine, None).unwrap();
    let outcome = tpch::run(&mut subject, "0.01").unwrap();
    assert!(outcome.failures.is_empty(), "{}", outcome.failures.join("\n\n"));
    assert_eq!((outcome.passed, outcome.rows), (8, 86_805));
    subject.on_device()
}

#[test]
fn cpu() {
    check("cpu");
    check("cpu-split");
}

#[test]
fn emulated() {
    assert_eq!(check("emulated"), 8);
}
