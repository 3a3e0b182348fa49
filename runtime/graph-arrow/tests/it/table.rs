//! The table of algorithms against what calls do: each is known, omitted options have the documented defaults, and each
//! option has an effect. Graphs are those of `tests/graph/graphs.json`.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{Field, Schema};
use onrush_graph::Run;
use onrush_graph::betweenness::BetweennessOptions;
use onrush_graph::community::CommunityOptions;
use onrush_graph::eigenvector::{Eigenvector, Katz};
use onrush_graph::layout::{ForceAtlas2, Spectral, Spring};
use onrush_graph::link_analysis::{Hits, PageRank};
use onrush_graph::walks::WalkOptions;
use onrush_graph_arrow::{EdgeColumns, Index, WeightColumn, call};
use onrush_wire::graph::{GraphAlgorithm, GraphCall, GraphDefault, GraphParam, table};
use onrush_wire::{Diagnostic, Value};
use serde_json::Value as Json;

/// The id of a node.
fn id(node: u64) -> String {
    format!("n{node:02}")
}

fn frame(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields: Vec<Field> = columns.iter().map(|(n, a)| Field::new(*n, a.data_type().clone(), true)).collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

fn ids(nodes: impl IntoIterator<Item = u64>) -> ArrayRef {
    Arc::new(nodes.into_iter().map(|node| Some(id(node))).collect::<StringArray>())
}

struct Sample {
    name: String,
    index: Index,
}

/// Graphs with weights, some of them without cycles, negative cycles or gaps.
fn samples() -> Vec<Sample> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/graph/graphs.json");
    let all: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    ["les_miserables", "karate", "dense_digraph", "acyclic", "weighted_digraph", "multi_weighted"]
        .into_iter()
        .map(|name| {
            let edges = all[name]["edges"].as_array().unwrap();
            let end = |end: usize| ids(edges.iter().map(|edge| edge[end].as_u64().unwrap()));
            let weights = all[name]["weights"].as_array().unwrap();
            // Betweenness needs weights above 0.
            let weights = weights.iter().map(|w| w.as_f64().unwrap() + 0.125).collect::<Float64Array>();
            let columns = EdgeColumns {
                source: vec![end(0)],
                target: vec![end(1)],
                names: [vec!["a".to_string()], vec!["b".to_string()]],
                weight: Some(WeightColumn { name: "weight".to_string(), values: Arc::new(weights) }),
                directed: all[name]["directed"].as_bool().unwrap(),
                nodes: vec![],
            };
            Sample { name: name.to_string(), index: Index::of(columns).unwrap() }
        })
        .collect()
}

type Frames = Vec<(String, RecordBatch)>;

/// A frame for a parameter: other values for every other node.
fn frame_of(param: &GraphParam, nodes: u64) -> RecordBatch {
    let all = || ids(0..nodes);
    let numbers = |f: fn(u64) -> f64| Arc::new((0..nodes).map(|v| Some(f(v))).collect::<Float64Array>()) as ArrayRef;
    match param.name {
        "communities" => frame(vec![
            ("node", all()),
            ("community", Arc::new((0..nodes).map(|v| Some(v as i64 % 3)).collect::<Int64Array>())),
        ]),
        "pos" => {
            frame(vec![("node", all()), ("x", numbers(|v| (v * v % 17) as f64)), ("y", numbers(|v| (v % 5) as f64))])
        }
        "pairs" => frame(vec![("a", ids([1, 2])), ("b", ids([3, 4]))]),
        "sources" | "starts" | "fixed" => frame(vec![("node", ids([1, 2]))]),
        _ => frame(vec![("node", all()), ("value", numbers(|v| (v % 4 + 1) as f64))]),
    }
}

/// A call with its arguments.
fn plain(algorithm: &GraphAlgorithm, nodes: u64) -> (GraphCall, Frames) {
    let mut call = GraphCall { algorithm: algorithm.name.to_string(), params: Vec::new(), frames: Vec::new() };
    let mut frames = Frames::new();
    for param in algorithm.params.iter().filter(|param| param.is_argument()) {
        match param.kind {
            "node" => {
                let node = if param.name == "target" { 5 } else { 0 };
                call.params.push((param.name.to_string(), Value::Text(id(node))));
            }
            "int" => call.params.push((param.name.to_string(), Value::Int(2))),
            "frame" => frames.push((param.name.to_string(), frame_of(param, nodes))),
            kind => panic!("`{kind}` of `{}` is not a kind of argument", algorithm.name),
        }
    }
    (call, frames)
}

/// The default of an option. `None` if it has none.
fn default_of(param: &GraphParam) -> Option<Value> {
    match param.default {
        GraphDefault::Required | GraphDefault::None => None,
        GraphDefault::Float(value) => Some(Value::Float(value)),
        GraphDefault::Int(value) => Some(Value::Int(value)),
        GraphDefault::Bool(value) => Some(Value::Boolean(value)),
        GraphDefault::Text(value) => Some(Value::Text(value.to_string())),
    }
}

/// Values that are not the default.
fn others_of(param: &GraphParam) -> Vec<Value> {
    match (param.kind, param.default) {
        ("Float", GraphDefault::None) => vec![Value::Float(0.5)],
        (_, GraphDefault::Float(value)) => [0.5, 1e7].map(|factor| Value::Float(value * factor)).to_vec(),
        ("Int", default) => [1, 3].into_iter().filter(|n| default != GraphDefault::Int(*n)).map(Value::Int).collect(),
        (_, GraphDefault::Bool(value)) => vec![Value::Boolean(!value)],
        (_, GraphDefault::Text(text)) => {
            ["in", "out"].into_iter().filter(|w| *w != text).map(|w| Value::Text(w.to_string())).collect()
        }
        _ => Vec::new(),
    }
}

fn run(index: &Index, call: &GraphCall, frames: &Frames) -> Result<RecordBatch, Diagnostic> {
    self::call(index, call, frames, &Run::silent())
}

fn same(a: &Result<RecordBatch, Diagnostic>, b: &Result<RecordBatch, Diagnostic>) -> bool {
    match (a, b) {
        (Ok(a), Ok(b)) => a == b,
        (Err(a), Err(b)) => a.message == b.message,
        _ => false,
    }
}

#[test]
fn every_algorithm_has_a_result() {
    let samples = samples();
    for algorithm in table() {
        let mut found = 0;
        for Sample { name, index } in &samples {
            let (call, frames) = plain(algorithm, index.nodes() as u64);
            match run(index, &call, &frames) {
                Ok(batch) => {
                    found += 1;
                    assert!(batch.num_columns() > 0, "{}", algorithm.name);
                }
                Err(error) => assert_ne!(error.code, "internal", "{} of {name}: {}", algorithm.name, error.message),
            }
        }
        assert!(found > 0, "{} has no result for any graph", algorithm.name);
    }
}

#[test]
fn scalars_are_one_value_under_the_name_of_the_algorithm() {
    use onrush_wire::graph::GraphResult;
    let samples = samples();
    for algorithm in table().iter().filter(|algorithm| algorithm.result != GraphResult::Frame) {
        let results = samples.iter().filter_map(|Sample { index, .. }| {
            let (call, frames) = plain(algorithm, index.nodes() as u64);
            run(index, &call, &frames).ok()
        });
        for batch in results {
            assert_eq!((batch.num_rows(), batch.num_columns()), (1, 1), "{}", algorithm.name);
            let schema = batch.schema();
            let wanted = match algorithm.result {
                GraphResult::Float => "Float64",
                GraphResult::Int => "Int64",
                GraphResult::Bool | GraphResult::Frame => "Boolean",
            };
            let field = schema.field(0);
            assert_eq!((field.name().as_str(), field.data_type().to_string().as_str()), (algorithm.name, wanted));
        }
    }
}

#[test]
fn omitted_options_have_the_documented_defaults() {
    let samples = samples();
    let mut compared = 0;
    for algorithm in table() {
        for param in algorithm.params.iter().filter(|param| !param.is_argument()) {
            let Some(default) = default_of(param) else { continue };
            for Sample { name, index } in &samples {
                let (mut call, frames) = plain(algorithm, index.nodes() as u64);
                let omitted = run(index, &call, &frames);
                call.params.push((param.name.to_string(), default.clone()));
                let given = run(index, &call, &frames);
                assert!(same(&omitted, &given), "{} of {name}: {} = {}", algorithm.name, param.name, param.default);
                compared += 1;
            }
        }
    }
    assert!(compared > 300, "{compared} results were compared");
}

/// Asserts that fields of an options struct of `runtime/graph` have the defaults of an algorithm of the table.
macro_rules! same_defaults {
    ($algorithm:ident, $options:ident { $($name:ident),* }) => {
        let options = $options::default();
        let algorithm = GraphAlgorithm::named(stringify!($algorithm)).unwrap();
        $(
            let documented = algorithm.param(stringify!($name)).unwrap().default;
            assert_eq!(documented, options.$name.default_value(), "{} of {}", stringify!($name), algorithm.name);
        )*
    };
}

/// A field of an options struct of `runtime/graph`.
trait OptionValue {
    fn default_value(&self) -> GraphDefault;
}

impl OptionValue for f64 {
    fn default_value(&self) -> GraphDefault {
        GraphDefault::Float(*self)
    }
}

impl OptionValue for usize {
    fn default_value(&self) -> GraphDefault {
        GraphDefault::Int(*self as i64)
    }
}

impl OptionValue for u64 {
    fn default_value(&self) -> GraphDefault {
        GraphDefault::Int(*self as i64)
    }
}

impl OptionValue for bool {
    fn default_value(&self) -> GraphDefault {
        GraphDefault::Bool(*self)
    }
}

impl<T: OptionValue> OptionValue for Option<T> {
    fn default_value(&self) -> GraphDefault {
        self.as_ref().map_or(GraphDefault::None, T::default_value)
    }
}

/// Benchmarks and tests of the library start from its own defaults.
#[test]
fn the_options_of_the_library_have_the_documented_defaults() {
    same_defaults!(pagerank, PageRank { alpha, max_iter, tol });
    same_defaults!(hits, Hits { max_iter, tol, normalized });
    same_defaults!(eigenvector_centrality, Eigenvector { max_iter, tol });
    same_defaults!(katz_centrality, Katz { alpha, beta, max_iter, tol, normalized });
    same_defaults!(betweenness_centrality, BetweennessOptions { normalized, weighted, endpoints });
    same_defaults!(edge_betweenness_centrality, BetweennessOptions { normalized, weighted });
    same_defaults!(louvain_communities, CommunityOptions { resolution, threshold, max_level, seed });
    same_defaults!(leiden_communities, CommunityOptions { resolution, max_level, seed });
    same_defaults!(random_walks, WalkOptions { length, per_node, p, q, weighted, seed });
    same_defaults!(spectral_layout, Spectral { scale, weighted });
    same_defaults!(spring_layout, Spring { k, iterations, threshold, weighted, scale, seed });
    same_defaults!(forceatlas2_layout, ForceAtlas2 { max_iter, jitter_tolerance, scaling_ratio, gravity });
    same_defaults!(forceatlas2_layout, ForceAtlas2 { distributed_action, strong_gravity, linlog, weighted, seed });
}

#[test]
fn every_option_has_an_effect() {
    let samples = samples();
    let mut idle = Vec::new();
    for algorithm in table() {
        for param in algorithm.params.iter().filter(|param| !param.is_argument()) {
            let changes = samples.iter().any(|Sample { index, .. }| {
                let nodes = index.nodes() as u64;
                let (mut call, mut frames) = plain(algorithm, nodes);
                // Options that have an effect together with another one only.
                match (algorithm.name, param.name) {
                    ("hits", "max_iter") => call.params.push(("tol".to_string(), Value::Float(0.0))),
                    ("betweenness_centrality" | "edge_betweenness_centrality", "seed") => {
                        call.params.push(("k".to_string(), Value::Int(3)));
                    }
                    (_, "fixed") => {
                        let pos = algorithm.params.iter().find(|param| param.name == "pos").unwrap();
                        frames.push(("pos".to_string(), frame_of(pos, nodes)));
                    }
                    _ => {}
                }
                let before = run(index, &call, &frames);
                if param.kind == "Frame" {
                    frames.push((param.name.to_string(), frame_of(param, nodes)));
                    return !same(&before, &run(index, &call, &frames));
                }
                others_of(param).into_iter().any(|value| {
                    let mut call = call.clone();
                    call.params.push((param.name.to_string(), value));
                    !same(&before, &run(index, &call, &frames))
                })
            });
            if !changes {
                idle.push(format!("`{}` of `{}`", param.name, algorithm.name));
            }
        }
    }
    assert!(idle.is_empty(), "without an effect: {}", idle.join(", "));
}
