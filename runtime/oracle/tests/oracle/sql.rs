//! The files of `tests/sql` on every engine that needs no GPU. Values from DuckDB 2.0; what departs from it says so there.

use onrush_oracle::corpus;
use onrush_oracle::engines::Subject;

fn check(engine: &str, chunk: Option<usize>) {
    let mut subject = Subject::open(engine).unwrap();
    corpus::load(&mut subject, chunk).unwrap();
    let outcome = corpus::run(&mut subject, "").unwrap();
    assert!(
        outcome.failures.is_empty(),
        "{} of the queries differ:\n{}",
        outcome.failures.len(),
        outcome.failures.join("\n\n")
    );
    assert!(outcome.passed >= 600, "only {} queries ran", outcome.passed);
}

#[test]
fn cpu() {
    check("cpu", None);
}

/// Batches of the tables end within groups, and every aggregate is made of partial ones.
#[test]
fn cpu_split() {
    check("cpu-split", Some(11));
}

#[test]
fn every_file_is_in_the_binary() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sql");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".slt"))
        .collect();
    files.sort();
    let inside: Vec<&str> = corpus::FILES.iter().map(|(name, _)| *name).collect();
    assert_eq!(files, inside);
}
