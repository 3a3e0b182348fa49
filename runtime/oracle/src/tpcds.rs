//! TPC-DS: small tables that SQL makes, and all 99 queries with DuckDB's answers over the same rows (`tests/tpcds`).

use std::time::Instant;

use crate::corpus::Outcome;
use crate::engines::{Answers, Subject};
use crate::slt;

const TABLES: &str = include_str!("../../../tests/tpcds/tables.sql");
const QUERIES: &str = include_str!("../../../tests/tpcds/queries.slt");

/// Names of the tables, and the queries that make them.
fn tables() -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLES.split(";\n").filter_map(|statement| {
        let (_, table) = statement.split_once("create table ")?;
        table.split_once(" as\n")
    })
}

/// Makes the tables and runs the queries.
///
/// # Errors
/// If the engine cannot make a table, or the file of queries is not understood.
pub fn run(engine: &mut dyn Answers) -> Result<Outcome, String> {
    // Rows are numbered: only an engine that keeps their order makes the tables of the answers.
    let mut maker = Subject::open("cpu", None)?;
    for (name, query) in tables() {
        let table = maker.sql(query).map_err(|d| format!("tables.sql: {name}: {d}"))?;
        maker.load(name, &table).map_err(|d| format!("tables.sql: {name}: {d}"))?;
        engine.load(name, &table).map_err(|d| format!("tables.sql: {name}: {d}"))?;
    }
    let begun = Instant::now();
    let mut outcome = Outcome::default();
    for case in slt::read(QUERIES).map_err(|e| format!("queries.slt: {e}"))? {
        match case.run(engine) {
            Ok(()) => outcome.passed += 1,
            Err(error) => outcome.failures.push(format!("queries.slt:{}\n{}\n{error}", case.line, case.sql)),
        }
    }
    outcome.took = begun.elapsed();
    Ok(outcome)
}
