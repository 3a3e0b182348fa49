//! Files that NetworkX, SciPy and Onrush wrote, against what NetworkX 3.6.1 reads from them
//! (`tests/graph/expect_files.py`).

use std::path::{Path, PathBuf};

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int32Type, Int64Type, UInt8Type};
use arrow::record_batch::RecordBatch;
use onrush_graph_io::{Format, GraphTables, read, write};
use serde_json::{Map, Value, json};

use crate::support;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/graph")
}

fn cell(column: &dyn Array, row: usize) -> Value {
    let float = |value: f64| match value.is_infinite() {
        true => json!(if value > 0.0 { "INF" } else { "-INF" }),
        false => json!(value),
    };
    match column.data_type() {
        _ if column.is_null(row) => Value::Null,
        DataType::Boolean => json!(column.as_boolean().value(row)),
        DataType::Int64 => json!(column.as_primitive::<Int64Type>().value(row)),
        DataType::Int32 => json!(column.as_primitive::<Int32Type>().value(row)),
        DataType::UInt8 => json!(column.as_primitive::<UInt8Type>().value(row)),
        DataType::Float64 => float(column.as_primitive::<Float64Type>().value(row)),
        DataType::Float32 => float(f64::from(column.as_primitive::<Float32Type>().value(row))),
        DataType::Utf8 => json!(column.as_string::<i32>().value(row)),
        other => panic!("a column of type {other}"),
    }
}

/// A number in one form: 1 and 1.0 are equal in Python.
fn plain(value: &Value) -> String {
    match value.as_f64() {
        Some(number) if value.is_f64() => format!("number {number:?}"),
        Some(_) => match value.as_i64() {
            // Exact beyond 2^53.
            Some(integer) if integer.unsigned_abs() >= 1 << 53 => format!("number {integer}"),
            _ => format!("number {:?}", value.as_f64().unwrap()),
        },
        None => value.to_string(),
    }
}

fn attributes(values: &Map<String, Value>, left_out: &[&str]) -> Vec<String> {
    let kept = values.iter().filter(|(name, value)| !value.is_null() && !left_out.contains(&name.as_str()));
    let mut all: Vec<String> = kept.map(|(name, value)| format!("{name}={}", plain(value))).collect();
    all.sort();
    all
}

fn id(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// Lines for nodes and edges, sorted: NetworkX has another order of edges.
fn sorted(
    directed: bool,
    nodes: Vec<(Value, Map<String, Value>)>,
    edges: Vec<(Value, Value, Map<String, Value>)>,
    left_out: &[&str],
) -> Vec<String> {
    let mut lines: Vec<String> =
        nodes.iter().map(|(node, values)| format!("node {} {:?}", id(node), attributes(values, left_out))).collect();
    for (source, target, values) in &edges {
        let (mut source, mut target) = (id(source), id(target));
        if !directed && target < source {
            (source, target) = (target, source);
        }
        lines.push(format!("edge {source} - {target} {:?}", attributes(values, left_out)));
    }
    lines.sort();
    lines.push(format!("directed {directed}"));
    lines
}

fn of_tables(graph: &GraphTables, left_out: &[&str]) -> Vec<String> {
    let row = |table: &RecordBatch, row: usize, ids: &[&str]| {
        let schema = table.schema();
        let mut values = Map::new();
        for (field, column) in schema.fields().iter().zip(table.columns()) {
            if !ids.contains(&field.name().as_str()) {
                values.insert(field.name().clone(), cell(column, row));
            }
        }
        values
    };
    let get = |table: &RecordBatch, name: &str, row: usize| cell(table.column_by_name(name).unwrap(), row);
    let (nodes, edges) = (&graph.nodes, &graph.edges);
    sorted(
        graph.directed,
        (0..nodes.num_rows()).map(|i| (get(nodes, "node", i), row(nodes, i, &["node"]))).collect(),
        (0..edges.num_rows())
            .map(|i| (get(edges, "source", i), get(edges, "target", i), row(edges, i, &["source", "target"])))
            .collect(),
        left_out,
    )
}

fn of_networkx(expected: &Value, left_out: &[&str]) -> Vec<String> {
    let object = |value: &Value| value.as_object().unwrap().clone();
    sorted(
        expected["directed"].as_bool().unwrap(),
        expected["nodes"].as_array().unwrap().iter().map(|node| (node[0].clone(), object(&node[1]))).collect(),
        expected["edges"]
            .as_array()
            .unwrap()
            .iter()
            .map(|edge| (edge[0].clone(), edge[1].clone(), object(&edge[2])))
            .collect(),
        left_out,
    )
}

/// Attributes in which NetworkX and the tables differ, by file.
fn left_out(name: &str) -> &'static [&'static str] {
    match Format::of(Path::new(name)) {
        // NetworkX gives vertices their numbers.
        Some(Format::Pajek) => &["id"],
        // NetworkX makes keys of a multigraph of the ids of edges, and writes them as `networkx_key`.
        Some(Format::GraphMl | Format::Gexf) if name.contains("parallel") || name.contains("weighted") => {
            &["id", "networkx_key"]
        }
        Some(Format::NodeLink) if name.contains("parallel") => &["key"],
        _ => &[],
    }
}

#[test]
fn files_are_read_as_by_networkx() {
    let expected: Value = serde_json::from_str(&std::fs::read_to_string(folder().join("files.json")).unwrap()).unwrap();
    let expected = expected.as_object().unwrap();
    assert!(expected.len() > 50, "{} files", expected.len());
    for (name, expected) in expected {
        let graph = read(folder().join("files").join(name), None).unwrap_or_else(|error| panic!("{error}"));
        let left_out = left_out(name);
        assert_eq!(of_tables(&graph, left_out), of_networkx(expected, left_out), "{name}");
    }
}

#[test]
fn written_files_are_those_that_networkx_has_read() {
    let temporary = tempfile::tempdir().unwrap();
    for (name, graph) in support::files() {
        let path = temporary.path().join(name);
        write(&path, None, &graph).unwrap();
        let known = std::fs::read_to_string(folder().join("files").join(name)).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), known, "{name}: see tests/graph/expect_files.py");
    }
}

/// Columns that the writers add by the rules of their formats.
fn added(name: &str) -> &'static [&'static str] {
    match Format::of(Path::new(name)) {
        Some(Format::Gexf) => &["label", "id"],
        _ => &[],
    }
}

#[test]
fn written_files_are_read_back() {
    let temporary = tempfile::tempdir().unwrap();
    for (name, graph) in support::files() {
        for name in [name.to_string(), format!("{name}.gz")] {
            let path = temporary.path().join(&name);
            write(&path, None, &graph).unwrap();
            let back = read(&path, None).unwrap_or_else(|error| panic!("{error}"));
            let left_out = added(name.trim_end_matches(".gz"));
            assert_eq!(of_tables(&back, left_out), of_tables(&graph, left_out), "{name}");
        }
    }
}
