//! Calls over ids that are strings, several columns, or missing in a row. Expected values are by hand.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, StringArray, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type, Schema};
use onrush_graph::Run;
use onrush_graph_calls::{EdgeColumns, Index, WeightColumn, call};
use onrush_wire::graph::GraphCall;
use onrush_wire::{Diagnostic, Value};

fn strings(values: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn index(edges: &[(Option<&str>, Option<&str>, f64)], directed: bool) -> Index {
    let columns = EdgeColumns {
        source: vec![strings(&edges.iter().map(|edge| edge.0).collect::<Vec<_>>())],
        target: vec![strings(&edges.iter().map(|edge| edge.1).collect::<Vec<_>>())],
        names: [vec!["from".to_string()], vec!["to".to_string()]],
        weight: Some(WeightColumn {
            name: "miles".to_string(),
            values: Arc::new(edges.iter().map(|edge| Some(edge.2)).collect::<Float64Array>()),
        }),
        directed,
        nodes: vec![],
    };
    Index::of(columns).unwrap()
}

/// A triangle with a tail. Row 1 has no target, so that edges and rows differ.
fn routes(directed: bool) -> Index {
    let edges = [
        (Some("JFK"), Some("LGA"), 2.0),
        (Some("JFK"), None, 1.0),
        (Some("LGA"), Some("EWR"), 3.0),
        (Some("EWR"), Some("JFK"), 9.0),
        (Some("EWR"), Some("HNL"), 40.0),
    ];
    index(&edges, directed)
}

fn text(value: &str) -> Value {
    Value::Text(value.to_string())
}

fn run(
    index: &Index,
    name: &str,
    params: &[(&str, Value)],
    frames: &[(&str, RecordBatch)],
) -> Result<RecordBatch, Diagnostic> {
    let params = params.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    let request = GraphCall { algorithm: name.to_string(), params, frames: Vec::new() };
    let frames: Vec<(String, RecordBatch)> =
        frames.iter().map(|(name, batch)| (name.to_string(), batch.clone())).collect();
    call(index, &request, &frames, &Run::silent())
}

fn frame(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields: Vec<Field> = columns.iter().map(|(n, a)| Field::new(*n, a.data_type().clone(), true)).collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

fn names(batch: &RecordBatch, column: &str) -> Vec<String> {
    let column = cast(batch.column_by_name(column).unwrap(), &DataType::Utf8View).unwrap();
    let column: &StringViewArray = column.as_string_view();
    column.iter().map(|value| value.unwrap_or("-").to_string()).collect()
}

fn integers(batch: &RecordBatch, column: &str) -> Vec<Option<i64>> {
    batch.column_by_name(column).unwrap().as_primitive::<Int64Type>().iter().collect()
}

fn floats(batch: &RecordBatch, column: &str) -> Vec<f64> {
    batch.column_by_name(column).unwrap().as_primitive::<Float64Type>().values().to_vec()
}

#[test]
fn a_path_has_the_rows_of_its_edges() {
    let routes = routes(false);
    let ends = [("source", text("JFK")), ("target", text("HNL"))];
    let path = run(&routes, "shortest_path", &ends, &[]).unwrap();
    assert_eq!(names(&path, "node"), ["JFK", "EWR", "HNL"]);
    assert_eq!(integers(&path, "step"), [Some(0), Some(1), Some(2)]);
    assert_eq!(integers(&path, "edge"), [None, Some(3), Some(4)]);
    let path = run(&routes, "dijkstra_path", &ends, &[]).unwrap();
    assert_eq!(names(&path, "node"), ["JFK", "LGA", "EWR", "HNL"]);
    assert_eq!(floats(&path, "distance"), [0.0, 2.0, 5.0, 45.0]);
    assert_eq!(integers(&path, "edge"), [None, Some(0), Some(2), Some(4)]);
}

#[test]
fn edges_have_their_rows() {
    let routes = routes(false);
    let bridges = run(&routes, "bridges", &[], &[]).unwrap();
    assert_eq!((names(&bridges, "source"), names(&bridges, "target")), (vec!["EWR".into()], vec!["HNL".into()]));
    assert_eq!(integers(&bridges, "edge"), [Some(4)]);
    let tree = run(&routes, "minimum_spanning_edges", &[], &[]).unwrap();
    assert_eq!(integers(&tree, "edge"), [Some(0), Some(2), Some(4)]);
    assert_eq!(floats(&tree, "weight"), [2.0, 3.0, 40.0]);
    let truss = run(&routes, "k_truss", &[("k", Value::Int(3))], &[]).unwrap();
    assert_eq!(integers(&truss, "edge"), [Some(0), Some(2), Some(3)]);
    let shares = run(&routes, "edge_betweenness_centrality", &[("normalized", Value::Boolean(false))], &[]).unwrap();
    assert_eq!(integers(&shares, "edge"), [Some(0), Some(2), Some(3), Some(4)]);
    assert_eq!(floats(&shares, "edge_betweenness_centrality"), [1.0, 2.0, 2.0, 3.0]);
}

#[test]
fn pairs_are_chosen_by_score() {
    let routes = routes(false);
    let pairs = frame(vec![
        ("a", strings(&[Some("JFK"), Some("JFK"), Some("EWR")])),
        ("b", strings(&[Some("HNL"), Some("LGA"), Some("LGA")])),
    ]);
    let scores = run(&routes, "preferential_attachment", &[("top", Value::Int(2))], &[("pairs", pairs)]).unwrap();
    assert_eq!(names(&scores, "u"), ["EWR", "JFK"]);
    assert_eq!(names(&scores, "v"), ["LGA", "LGA"]);
    assert_eq!(floats(&scores, "preferential_attachment"), [6.0, 4.0]);
    let near = run(&routes, "common_neighbors", &[], &[]).unwrap();
    assert_eq!((names(&near, "u"), names(&near, "v")), (vec!["HNL".into(); 2], vec!["JFK".into(), "LGA".into()]));
}

#[test]
fn walks_are_rows_of_steps() {
    let routes = routes(true);
    let starts = frame(vec![("node", strings(&[Some("LGA")]))]);
    let options = [("length", Value::Int(1)), ("per_node", Value::Int(2))];
    let walks = run(&routes, "random_walks", &options, &[("starts", starts)]).unwrap();
    assert_eq!(integers(&walks, "walk"), [Some(0), Some(0), Some(1), Some(1)]);
    assert_eq!(integers(&walks, "step"), [Some(0), Some(1), Some(0), Some(1)]);
    assert_eq!(names(&walks, "node"), ["LGA", "EWR", "LGA", "EWR"]);
}

#[test]
fn communities_keep_their_labels() {
    let communities = frame(vec![
        ("node", strings(&[Some("HNL"), Some("EWR"), Some("JFK"), Some("LGA")])),
        ("community", strings(&[Some("far"), Some("near"), Some("near"), Some("near")])),
    ]);
    let found = run(&routes(false), "conductance", &[], &[("communities", communities)]).unwrap();
    assert_eq!(names(&found, "community"), ["far", "near"]);
    // One edge is cut, and the degrees of `far` add up to 1.
    assert_eq!(floats(&found, "conductance"), [1.0, 1.0]);
}

#[test]
fn ids_may_have_several_columns() {
    let numbers = |values: [i64; 2]| Arc::new(Int64Array::from(values.to_vec())) as ArrayRef;
    let columns = EdgeColumns {
        source: vec![strings(&[Some("Boston"), Some("Boston")]), numbers([1, 2])],
        target: vec![strings(&[Some("Boston"), Some("Austin")]), numbers([2, 7])],
        names: [vec!["a".to_string(), "b".to_string()], vec!["c".to_string(), "d".to_string()]],
        weight: None,
        directed: false,
        nodes: vec![],
    };
    let index = Index::of(columns).unwrap();
    let source = [("source", text("Boston")), ("source", Value::Int(1))];
    let found = run(&index, "bfs", &source, &[]).unwrap();
    assert_eq!(names(&found, "node_1"), ["Austin", "Boston", "Boston"]);
    assert_eq!(integers(&found, "node_2"), [Some(7), Some(1), Some(2)]);
    assert_eq!(integers(&found, "predecessor_2"), [Some(2), None, Some(1)]);
    let error = run(&index, "bfs", &[("source", text("Boston")), ("source", Value::Int(3))], &[]).unwrap_err();
    assert_eq!(error.message, "no node `(Boston, 3)`");
}

#[track_caller]
fn refused(index: &Index, name: &str, params: &[(&str, Value)], frames: &[(&str, RecordBatch)], message: &str) {
    let error = run(index, name, params, frames).unwrap_err();
    assert_eq!(error.message, message, "{name}");
}

#[test]
fn errors_name_ids_and_rows() {
    let routes = routes(true);
    let ends = [("source", text("HNL")), ("target", text("JFK"))];
    for name in ["shortest_path", "dijkstra_path", "bellman_ford_path"] {
        refused(&routes, name, &ends, &[], "no path leads from `HNL` to `JFK`");
    }
    refused(&routes, "ancestors", &[("source", text("JFX"))], &[], "no node `JFX`");
    let kind = [("source", text("up"))];
    let message = "`source` is `up`, expected one of `in`, `out`, `in+out`";
    refused(&routes, "average_neighbor_degree", &kind, &[], message);
    let fixed = frame(vec![("node", strings(&[Some("JFK")]))]);
    let message = "`fixed` needs positions";
    refused(&routes, "spring_layout", &[], &[("fixed", fixed.clone())], message);
    let message = "`pos` has no column `x` of numbers";
    refused(&routes, "spring_layout", &[], &[("pos", fixed)], message);
    let one = || Arc::new(Float64Array::from(vec![1.0])) as ArrayRef;
    let pos = frame(vec![("node", strings(&[Some("JFK")])), ("x", one()), ("y", one())]);
    refused(&routes, "spring_layout", &[], &[("pos", pos)], "the node `EWR` has no position in `pos`");
    let none = frame(vec![("node", strings(&[]))]);
    let message = "`sources` has no rows, expected the ids of nodes in `node`";
    refused(&routes, "multi_source_dijkstra", &[], &[("sources", none)], message);

    let edges = [(Some("a"), None, 1.0), (Some("a"), Some("b"), 1.0), (Some("b"), Some("a"), -2.0)];
    let negative = index(&edges, true);
    let source = [("source", text("a"))];
    let message = "there is a cycle of negative weight: `a`, `b`";
    refused(&negative, "single_source_bellman_ford", &source, &[], message);
    let message = "the weight of the edge in row 2 (`b` to `a`) is -2: Dijkstra's algorithm takes none below 0";
    refused(&negative, "single_source_dijkstra", &source, &[], message);

    let flat = index(&[(Some("a"), None, 1.0), (Some("a"), Some("b"), 0.0)], false);
    let message = "the weight of the edge in row 1 (`a` to `b`) is 0: betweenness_centrality needs weights above 0";
    refused(&flat, "betweenness_centrality", &[("weighted", Value::Boolean(true))], &[], message);
}
