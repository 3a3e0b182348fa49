//! The files of `tests/sql` on every engine that needs no GPU. Values from DuckDB 2.0; what departs from it says so
//! there.

use std::path::PathBuf;

use onrush_oracle::corpus;
use onrush_oracle::engines::Subject;

/// The kernels of these queries stay the same from run to run.
fn cache() -> Option<PathBuf> {
    Some(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("oracle"))
}

/// Runs the files whose name contains `file`, and returns how many queries a device took part in.
fn check(engine: &str, chunk: Option<usize>, file: &str, least: usize) -> usize {
    let mut subject = Subject::open(engine, cache()).unwrap();
    corpus::load(&mut subject, chunk).unwrap();
    let outcome = corpus::run(&mut subject, file).unwrap();
    let failures = &outcome.failures;
    assert!(failures.is_empty(), "{} of the queries differ:\n{}", failures.len(), failures.join("\n\n"));
    assert!(outcome.passed >= least, "only {} queries ran", outcome.passed);
    subject.on_device()
}

#[test]
fn cpu() {
    check("cpu", None, "", 600);
}

/// Batches of the tables end within groups, and every aggregate is made of partial ones.
#[test]
fn cpu_split() {
    check("cpu-split", Some(11), "", 600);
}

/// Two workers read most of the tables as files; the others go to them with the query.
#[test]
fn cluster() {
    let mut subject = Subject::open("cluster", None).unwrap();
    corpus::load(&mut subject, None).unwrap();
    let outcome = corpus::run(&mut subject, "").unwrap();
    let failures = &outcome.failures;
    assert!(failures.is_empty(), "{} of the queries differ:\n{}", failures.len(), failures.join("\n\n"));
    assert!(outcome.passed >= 2_200, "only {} queries ran", outcome.passed);
    assert!(subject.on_workers() >= 100, "only {} queries ran on the workers", subject.on_workers());
}

/// As if no more than 33 rows fit into a device's memory. All files pass (docs/measurements/builds-and-tests.md); most
/// would take long here.
#[test]
fn in_parts() {
    for (file, least) in [("groups.slt", 25), ("order.slt", 50)] {
        let mut subject = Subject::open("emulated-parts", cache()).unwrap();
        corpus::load(&mut subject, None).unwrap();
        let outcome = corpus::run(&mut subject, file).unwrap();
        assert!(outcome.failures.is_empty(), "{file}:\n{}", outcome.failures.join("\n\n"));
        assert!(
            outcome.passed >= least && subject.parts() > 100,
            "{} passed, {} parts",
            outcome.passed,
            subject.parts()
        );
        assert_eq!(subject.cpu_fallbacks(), 0);
    }
}

/// Defines a test for each file. The tests run concurrently, and most of the time goes into the compiler.
macro_rules! emulated {
    ($($name:ident at least $queries:literal, on the device $device:literal;)*) => {
        mod emulated {
            $(
                #[test]
                fn $name() {
                    let file = concat!(stringify!($name), ".slt");
                    let on_device = super::check("emulated", Some(37), file, $queries);
                    assert!(on_device >= $device, "only {on_device} queries of {file} ran on the device");
                }
            )*

            #[test]
            fn every_file_has_a_test() {
                let tested = [$(concat!(stringify!($name), ".slt")),*];
                let all: Vec<&str> = super::corpus::FILES.iter().map(|(name, _)| *name).collect();
                assert_eq!(all, tested);
            }
        }
    };
}

emulated! {
    aggregates at least 222, on the device 217;
    arithmetic at least 70, on the device 30;
    casts at least 100, on the device 20;
    dates at least 50, on the device 40;
    distinct_strings at least 93, on the device 90;
    duckdb at least 63, on the device 20;
    functions at least 32, on the device 15;
    groups at least 36, on the device 31;
    joins at least 148, on the device 142;
    json at least 26, on the device 15;
    lists at least 108, on the device 105;
    logic at least 70, on the device 20;
    mixed at least 40, on the device 20;
    order at least 60, on the device 55;
    scan at least 50, on the device 20;
    sets at least 37, on the device 32;
    strings at least 25, on the device 10;
    structs at least 35, on the device 35;
    subqueries at least 380, on the device 370;
    windows at least 133, on the device 131;
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
