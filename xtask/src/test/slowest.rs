//! The slowest tests of a run: read from the reports that nextest and pytest write in JUnit's format.

use std::fs;
use std::path::PathBuf;

const SHOWN: usize = 20;

/// Prints the slowest tests of all reports that exist.
pub fn print(reports: &[PathBuf]) {
    let mut tests: Vec<(f64, String)> =
        reports.iter().filter_map(|path| fs::read_to_string(path).ok()).flat_map(|report| cases(&report)).collect();
    if tests.is_empty() {
        return;
    }
    tests.sort_by(|a, b| b.0.total_cmp(&a.0));
    let sum: f64 = tests.iter().map(|(seconds, _)| seconds).sum();
    println!("\nthe slowest of {} tests, {sum:.0} s in all:", tests.len());
    for (seconds, name) in tests.iter().take(SHOWN) {
        println!("{seconds:>8.1} s  {name}");
    }
}

/// Seconds and name of each `<testcase>`.
fn cases(report: &str) -> Vec<(f64, String)> {
    let case = |element: &str| {
        let element = element.split('>').next()?;
        let seconds = attribute(element, "time")?.parse().ok()?;
        Some((seconds, format!("{} {}", attribute(element, "classname")?, attribute(element, "name")?)))
    };
    report.split("<testcase").skip(1).filter_map(case).collect()
}

fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let start = element.find(&format!(" {name}=\""))? + name.len() + 3;
    element[start..].split('"').next()
}

#[cfg(test)]
mod tests {
    use super::cases;

    #[test]
    fn names_and_times_of_both_tools() {
        let nextest = "<testsuite name=\"onrush-io::it\"><testcase name=\"csv::quotes\" classname=\"onrush-io::it\" \
                       timestamp=\"2026-11-28T20:00:00\" time=\"1.250\"></testcase></testsuite>";
        let pytest = "<testcase classname=\"tests.jupyter.test_top\" name=\"test_top\" time=\"0.5\" />";
        assert_eq!(cases(nextest), [(1.25, "onrush-io::it csv::quotes".to_string())]);
        assert_eq!(cases(pytest), [(0.5, "tests.jupyter.test_top test_top".to_string())]);
    }
}
