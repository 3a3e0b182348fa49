//! The files of `tests/sql`, inside the binary, and a run of them on one engine.

use std::time::{Duration, Instant};

use onrush_frame::Table;

use crate::engines::Answers;
use crate::slt;
use crate::tables::{self, NamedTable};

macro_rules! files {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../../tests/sql/", $name)))),*]
    };
}

/// Name and text.
pub const FILES: &[(&str, &str)] = files! {
    "aggregates.slt"
    "arithmetic.slt"
    "casts.slt"
    "dates.slt"
    "distinct_strings.slt"
    "duckdb.slt"
    "functions.slt"
    "groups.slt"
    "joins.slt"
    "json.slt"
    "lists.slt"
    "logic.slt"
    "mixed.slt"
    "order.slt"
    "scan.slt"
    "sets.slt"
    "strings.slt"
    "structs.slt"
    "subqueries.slt"
    "windows.slt"
};

const TABLES: &str = include_str!("../../../tests/sql/tables.txt");

/// # Errors
/// With the line that is not understood.
pub fn load(engine: &mut dyn Answers, chunk: Option<usize>) -> Result<(), String> {
    for NamedTable { name, table } in tables::read(TABLES).map_err(|e| format!("tables.txt: {e}"))? {
        let table: Table = match chunk {
            Some(rows) => tables::chunked(&table, rows),
            None => table,
        };
        engine.load(&name, &table).map_err(|d| format!("tables.txt: {name}: {d}"))?;
    }
    Ok(())
}

#[derive(Debug, Default)]
pub struct Outcome {
    pub passed: usize,
    pub skipped: usize,
    /// `FILE:LINE`, the query and what is different.
    pub failures: Vec<String>,
    pub took: Duration,
}

/// The queries of files whose name contains `only`.
///
/// # Errors
/// If a file is not understood.
pub fn run(engine: &mut dyn Answers, only: &str) -> Result<Outcome, String> {
    files(engine, FILES.iter().filter(|(name, _)| name.contains(only)).copied())
}

/// The queries of other files, by name and text.
///
/// # Errors
/// If a file is not understood.
pub fn files<'f>(
    engine: &mut dyn Answers,
    files: impl IntoIterator<Item = (&'f str, &'f str)>,
) -> Result<Outcome, String> {
    let begun = Instant::now();
    let mut outcome = Outcome::default();
    for (name, text) in files {
        for case in slt::read(text).map_err(|e| format!("{name}: {e}"))? {
            if !case.is_for(engine.name()) {
                outcome.skipped += 1;
                continue;
            }
            match case.run(engine) {
                Ok(()) => outcome.passed += 1,
                Err(error) => outcome.failures.push(format!("{name}:{}\n{}\n{error}", case.line, case.sql)),
            }
        }
    }
    outcome.took = begun.elapsed();
    Ok(outcome)
}
