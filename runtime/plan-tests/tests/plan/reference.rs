//! What the engine knows of the functions in the reference of cells: `kernel/cell/data/reference/functions.txt` has the
//! functions of `x!`, and the placements of functions and steps. The test of placements writes it, with the same
//! command.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::compute::concat_batches;
use arrow::record_batch::RecordBatch;
use onrush_expr::catalogue;
use onrush_expr::function::Kind;
use onrush_frame::TaskHandle;
use onrush_wire::FrameId;

use super::coverage::reasons;
use super::support::*;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../kernel/cell/data/reference")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

/// Placements of the forms of something: on the device or not.
pub type Forms = BTreeMap<String, Vec<bool>>;

fn place(forms: Option<&Vec<bool>>) -> &'static str {
    match forms.map(|forms| (forms.iter().all(|on| *on), forms.iter().any(|on| *on))) {
        None => "unknown",
        Some((true, _)) => "gpu",
        Some((_, true)) => "partly",
        Some(_) => "cpu",
    }
}

/// The examples of SQL: the first name and the expression.
fn examples() -> Vec<(String, String)> {
    let text = read("sql.txt");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', '[']));
    let example = |line: &str| {
        let mut fields = line.splitn(3, " | ");
        let names = fields.next().unwrap_or_default();
        let name = names.split(", ").next().unwrap_or_default();
        (name.to_string(), fields.next().unwrap_or_default().to_string())
    };
    lines.map(example).collect()
}

/// The frame of the examples, as rows in memory: the query that makes it has another placement.
fn frame(bench: &TestEngine) -> FrameId {
    let id = bench.try_sql(&read("frames.sql"), &[]).unwrap_or_else(|d| panic!("frames.sql: {d}"));
    let table = bench.engine.table(id, &[], &TaskHandle::new()).unwrap();
    let batches: Vec<RecordBatch> = table.batches().iter().map(RecordBatch::clone).collect();
    let rows = concat_batches(&batches[0].schema(), &batches).unwrap();
    let schema = rows.schema();
    let columns = schema.fields().iter().zip(rows.columns());
    bench.frame(columns.map(|(field, column)| (field.name().as_str(), Arc::clone(column))).collect())
}

fn query(example: &str) -> String {
    format!("select {example} as r from f")
}

/// Writes the list with `ONRUSH_WRITE`, and compares it.
pub fn check(bench: &TestEngine, functions: &Forms, steps: &Forms) {
    let mut out = String::new();
    for (name, usage) in catalogue::functions() {
        let function = catalogue::find(name).unwrap();
        let kind = match function.kind {
            Kind::Row => "row",
            Kind::Aggregate => "aggregate",
            Kind::Window => "window",
        };
        let place = place(functions.get(name));
        let _ = writeln!(out, "x\t{name}\t{kind}\t{place}\t{usage}\t{}", function.aliases.join(","));
    }
    for (name, forms) in steps {
        let _ = writeln!(out, "step\t{name}\t{}", place(Some(forms)));
    }
    let f = frame(bench);
    for (name, example) in examples() {
        let id = bench.try_sql(&query(&example), &[("f", f)]).unwrap_or_else(|d| panic!("{name}: {d}"));
        let on_device = reasons(bench, id).is_empty();
        bench.engine.release(&[id]);
        let _ = writeln!(out, "sql\t{name}\t{}", place(Some(&vec![on_device])));
    }
    if std::env::var_os("ONRUSH_WRITE").is_some() {
        std::fs::write(folder().join("functions.txt"), &out).unwrap();
    }
    assert!(read("functions.txt") == out, "kernel/cell/data/reference/functions.txt differs: ONRUSH_WRITE=1 writes it");
}

/// The examples are written with DuckDB's functions; their values are compared with DuckDB's in `tests/sql`.
#[test]
fn every_example_of_sql_runs() {
    let bench = TestEngine::on_cpu();
    let f = frame(&bench);
    let mut wrong = Vec::new();
    for (name, example) in examples() {
        let made = bench.try_sql(&query(&example), &[("f", f)]);
        match made.and_then(|id| bench.try_rows(id)) {
            Ok(rows) if rows.is_empty() => wrong.push(format!("{name}: no rows")),
            Ok(_) => {}
            Err(d) => wrong.push(format!("{name}: {d}")),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
