//! The queries of TPC-DS. Answers from DuckDB 2.0 over the same rows.

use onrush_oracle::engines::Subject;
use onrush_oracle::tpcds;

fn check(engine: &str) {
    let mut subject = Subject::open(engine, None).unwrap();
    let outcome = tpcds::run(&mut subject).unwrap();
    assert!(outcome.failures.is_empty(), "{}", outcome.failures.join("\n\n"));
    assert_eq!(outcome.passed, 99);
}

#[test]
fn cpu() {
    check("cpu");
    // Small partitions, which end at random times.
    check("cpu-chunks-16");
}
