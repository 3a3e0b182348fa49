//! The conformance suite of the library: each algorithm against a host reference at awkward sizes, and its speed. Used
//! by the tests and by `onrush-kernels-bench`, so that a GPU machine runs the same cases as CI.
//!
//! A reference shares nothing with what it checks: plain loops over slices.

mod crossfilter;
mod dates;
mod decimal;
mod dictionary;
mod gather;
mod graph;
mod matrix;
pub mod peers;
mod raster;
mod reduce;
mod scan;
mod sort;
mod top_k;
pub mod values;

use std::time::{Duration, Instant};

use crate::error::Result;
use crate::library::Context;

/// The coverage of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coverage {
    /// Sizes up to several blocks: for the checked emulated device and for sanitizers.
    Small,
    /// Sizes up to a million as well.
    Full,
}

impl Coverage {
    /// The sizes that STYLE.md asks for: around warps, blocks and tiles, and several blocks.
    pub fn sizes(self) -> Vec<usize> {
        let mut sizes = vec![0, 1, 31, 32, 33, 63, 64, 65, 1023, 1024, 1025, 5000];
        match self {
            Coverage::Small => sizes.push(20_011),
            Coverage::Full => sizes.extend([100_003, 1_000_000]),
        }
        sizes
    }

    /// The largest and the smallest sizes, for variants of a case.
    pub fn few_sizes(self) -> Vec<usize> {
        match self {
            Coverage::Small => vec![0, 1, 33, 1025, 9001],
            Coverage::Full => vec![0, 1, 33, 1025, 300_007],
        }
    }
}

/// Cases of one algorithm.
pub struct Cases<'a> {
    pub context: &'a Context,
    pub depth: Coverage,
    passed: u64,
    failures: Vec<String>,
}

impl Cases<'_> {
    /// Checks one case: its name, and whether the result is the expected one.
    pub fn case(
        &mut self,
        name: impl FnOnce() -> String,
        run: impl FnOnce(&Context) -> Result<std::result::Result<(), String>>,
    ) {
        match run(self.context) {
            Ok(Ok(())) => self.passed += 1,
            Ok(Err(difference)) => self.failures.push(format!("{}: {difference}", name())),
            Err(error) => self.failures.push(format!("{}: {error}", name())),
        }
    }
}

/// Reports the first difference of two slices.
pub fn same<T: PartialEq + std::fmt::Debug>(found: &[T], expected: &[T]) -> std::result::Result<(), String> {
    if found.len() != expected.len() {
        return Err(format!("{} values, expected {}", found.len(), expected.len()));
    }
    match found.iter().zip(expected).position(|(found, expected)| found != expected) {
        Some(at) => Err(format!("value {at} is {:?}, expected {:?}", found[at], expected[at])),
        None => Ok(()),
    }
}

/// The results of the cases of one algorithm.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub algorithm: &'static str,
    pub passed: u64,
    pub failures: Vec<String>,
    pub took: Duration,
}

/// One measured operation. Times are device times, by events.
#[derive(Clone, Debug)]
pub struct Measurement {
    pub name: String,
    pub rows: u64,
    pub median: Duration,
    pub fastest: Duration,
    /// Time on the host, from the call until the stream is done.
    pub wall: Duration,
    /// Bytes that must cross device memory at least once.
    pub floor_bytes: u64,
}

/// Runs operations and measures them.
pub struct Bench<'a> {
    pub context: &'a Context,
    /// Rows of the large columns.
    pub rows: u64,
    pub repetitions: usize,
    pub measurements: Vec<Measurement>,
}

impl Bench<'_> {
    /// Measures after two warm-up executions.
    pub fn measure(
        &mut self,
        name: impl Into<String>,
        rows: u64,
        floor_bytes: u64,
        mut run: impl FnMut(&Context) -> Result<()>,
    ) -> Result<()> {
        let stream = &self.context.stream;
        for _ in 0..2 {
            run(self.context)?;
        }
        stream.synchronize()?;
        let mut times = Vec::new();
        for _ in 0..self.repetitions {
            let begin = stream.record()?;
            run(self.context)?;
            let end = stream.record()?;
            times.push(begin.elapsed(&end)?);
        }
        times.sort();
        let mut walls = Vec::new();
        for _ in 0..self.repetitions {
            let begun = Instant::now();
            run(self.context)?;
            stream.synchronize()?;
            walls.push(begun.elapsed());
        }
        walls.sort();
        let measurement = Measurement {
            name: name.into(),
            rows,
            median: times[times.len() / 2],
            fastest: times[0],
            wall: walls[walls.len() / 2],
            floor_bytes,
        };
        self.measurements.push(measurement);
        Ok(())
    }
}

type Check = fn(&mut Cases);
type Measure = fn(&mut Bench) -> Result<()>;

const ALGORITHMS: &[(&str, Check, Measure)] = &[
    ("reduce", reduce::check, reduce::measure),
    ("scan", scan::check, scan::measure),
    ("gather", gather::check, gather::measure),
    ("sort", sort::check, sort::measure),
    ("dates", dates::check, dates::measure),
    ("decimal", decimal::check, decimal::measure),
    ("top_k", top_k::check, top_k::measure),
    ("dictionary", dictionary::check, dictionary::measure),
    ("matrix", matrix::check, matrix::measure),
    ("crossfilter", crossfilter::check, crossfilter::measure),
    ("raster", raster::check, raster::measure),
    ("graph", graph::check, graph::measure),
    ("structure", graph::structure::check, graph::structure::measure),
];

pub fn algorithms() -> impl Iterator<Item = &'static str> {
    ALGORITHMS.iter().map(|(name, ..)| *name)
}

/// Runs the cases of the algorithms whose name contains `filter`.
pub fn run(context: &Context, depth: Coverage, filter: &str) -> Vec<Outcome> {
    let chosen = ALGORITHMS.iter().filter(|(name, ..)| name.contains(filter));
    chosen
        .map(|(algorithm, check, _)| {
            let begun = Instant::now();
            let mut cases = Cases { context, depth, passed: 0, failures: Vec::new() };
            check(&mut cases);
            Outcome { algorithm, passed: cases.passed, failures: cases.failures, took: begun.elapsed() }
        })
        .collect()
}

/// Measures the algorithms whose name contains `filter`, each over `rows` rows.
pub fn benchmark(context: &Context, rows: u64, filter: &str) -> Vec<(&'static str, Result<Vec<Measurement>>)> {
    let chosen = ALGORITHMS.iter().filter(|(name, ..)| name.contains(filter));
    chosen
        .map(|(algorithm, _, measure)| {
            let mut bench = Bench { context, rows, repetitions: 7, measurements: Vec::new() };
            let done = measure(&mut bench);
            (*algorithm, done.map(|()| bench.measurements))
        })
        .collect()
}
