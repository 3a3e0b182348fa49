//! Calls over ids that are strings, several columns, or missing in a row. Expected values are by hand.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, StringArray, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type, Schema};
use onrush_graph::Run;
use onrush_graph_arrow::{EdgeColumns, Index, WeightColumn, call};
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

fn numbered(source: ArrayRef, target: ArrayRef, weight: Option<ArrayRef>) -> Index {
    let weight = weight.map(|values| WeightColumn { name: "km".to_string(), values });
    let names = [vec!["from".to_string()], vec!["to".to_string()]];
    let (source, target) = (vec![source], vec![target]);
    Index::of(EdgeColumns { source, target, names, weight, directed: false, nodes: vec![] }).unwrap()
}

/// As `group_by` has one group for them: 0.0 - 1.5, 0.0 alone with itself, and NaN - 1.5 twice.
#[test]
fn zero_and_minus_zero_are_one_node_and_all_nans_are_one() {
    let ends: [[f64; 4]; 2] = [[0.0, -0.0, f64::NAN, 1.5], [1.5, 0.0, 1.5, -f64::NAN]];
    let wide = ends.map(|ends| Arc::new(Float64Array::from(ends.to_vec())) as ArrayRef);
    let narrow = wide.each_ref().map(|ends| cast(ends, &DataType::Float32).unwrap());
    for [source, target] in [wide, narrow] {
        let index = numbered(source, target, None);
        let degree = run(&index, "degree", &[], &[]).unwrap();
        let ids = floats(&frame(vec![("node", cast(degree.column(0), &DataType::Float64).unwrap())]), "node");
        assert_eq!((ids[0].to_bits(), ids[1], ids[2].is_nan(), ids.len()), (0, 1.5, true, 3));
        assert_eq!(integers(&degree, "degree"), [Some(3), Some(3), Some(2)]);
        let found =
            run(&index, "shortest_path_length", &[("source", Value::Float(-0.0)), ("target", Value::Float(1.5))], &[]);
        assert_eq!(integers(&found.unwrap(), "shortest_path_length"), [Some(1)]);
    }
}

/// 2^53 + 1 and 2^53, which are one number as f64. NetworkX compares them as integers.
#[test]
fn large_integers_are_compared_exactly_or_refused() {
    let ids = |ids: &[i64]| Arc::new(Int64Array::from(ids.to_vec())) as ArrayRef;
    let large = 1_i64 << 53;
    let signed = ids(&[large + 1, large, 5]);
    let unsigned = cast(&signed, &DataType::UInt64).unwrap();
    for weights in [signed, unsigned] {
        let dtype = weights.data_type().clone();
        let index = numbered(ids(&[1, 1, 2]), ids(&[2, 2, 3]), Some(weights));
        for (name, edges) in [("minimum_spanning_edges", [2, 1]), ("maximum_spanning_edges", [0, 2])] {
            let trees = run(&index, name, &[], &[]).unwrap();
            assert_eq!(integers(&trees, "edge"), edges.map(Some), "{name}");
            assert_eq!(trees.column_by_name("weight").unwrap().data_type(), &dtype);
        }
        let ends = [("source", Value::Int(1)), ("target", Value::Int(3))];
        let message = "the weight is 9007199254740993 in row 0: dijkstra_path_length adds integers up to 9007199254740992 exactly";
        refused(&index, "dijkstra_path_length", &ends, &[], message);
        assert!(run(&index, "shortest_path_length", &ends, &[]).is_ok());
        let weighted = [("weighted", Value::Boolean(true))];
        assert!(run(&index, "closeness_centrality", &[], &[]).is_ok());
        assert_eq!(run(&index, "closeness_centrality", &weighted, &[]).unwrap_err().code, "weight");
    }
    // Each weight is exact, and their sum is not.
    let index = numbered(ids(&[1, 2]), ids(&[2, 3]), Some(ids(&[large - 1, 2])));
    let source = [("source", Value::Int(1))];
    let message = "a distance is about 9007199254740992: sums of integer weights are exact up to 9007199254740992";
    refused(&index, "single_source_dijkstra", &source, &[], message);
    refused(&index, "single_source_bellman_ford", &source, &[], message);
    let near = run(&index, "single_source_dijkstra", &[("source", Value::Int(1)), ("cutoff", Value::Float(9e15))], &[]);
    assert_eq!(floats(&near.unwrap(), "distance"), [0.0]);
    let floats_of = cast(&ids(&[large - 1, 2]), &DataType::Float64).unwrap();
    assert!(
        run(&numbered(ids(&[1, 2]), ids(&[2, 3]), Some(floats_of)), "single_source_dijkstra", &source, &[]).is_ok()
    );
}

/// NetworkX: `voronoi_cells` with the centres JFK and HNL, over weights.
#[test]
fn nodes_have_their_nearest_source() {
    let sources = frame(vec![("node", strings(&[Some("HNL"), Some("JFK")]))]);
    let found = run(&routes(false), "multi_source_dijkstra", &[], &[("sources", sources.clone())]).unwrap();
    assert_eq!(names(&found, "node"), ["EWR", "HNL", "JFK", "LGA"]);
    assert_eq!(names(&found, "source"), ["JFK", "HNL", "JFK", "JFK"]);
    let near = [("cutoff", Value::Float(2.0))];
    let found = run(&routes(true), "multi_source_dijkstra", &near, &[("sources", sources)]).unwrap();
    assert_eq!(
        (names(&found, "node"), names(&found, "source")),
        (vec!["HNL".into(), "JFK".into(), "LGA".into()], vec!["HNL".into(), "JFK".into(), "JFK".into()])
    );
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
