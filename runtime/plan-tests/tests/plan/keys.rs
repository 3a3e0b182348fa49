//! Keys of kept results: whatever was asked before, a second frame, parameter or file has its own answer.
//!
//! Values are those of NetworkX 3.6.1 where a test says so. Elsewhere two engines are asked for the same things in the
//! opposite order.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array};
use onrush_explore::Rasters;
use onrush_frame::TaskHandle;
use onrush_wire::graph::{GraphAlgorithm, GraphCall, GraphParam, GraphSpec, NodeIds, table};
use onrush_wire::learn::{Evaluation, Fit, ModelAsk, ModelId, Spec};
use onrush_wire::plan::Op;
use onrush_wire::plot::{LayerRequest, Mark, PlotRequest, PlotStyle};
use onrush_wire::visual::{VisualAsk, Window};
use onrush_wire::{Expr, FrameId, Value};

use super::support::*;

fn integers(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

fn numbers(values: impl IntoIterator<Item = f64>) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values(values))
}

/// Two triangles and a bridge between them.
fn triangles(b: &TestEngine) -> FrameId {
    b.frame(vec![
        ("a", integers([0, 1, 2, 3, 4, 5, 2])),
        ("b", integers([1, 2, 0, 4, 5, 3, 3])),
        ("w", numbers([1.0, 2.0, 1.5, 1.0, 0.5, 2.5, 3.0])),
    ])
}

fn spec(directed: bool, weighted: bool) -> GraphSpec {
    let name = |name: &str| vec![name.to_string()];
    let weight = weighted.then(|| "w".to_string());
    GraphSpec { source: name("a"), target: name("b"), directed, weight, nodes: Vec::new() }
}

/// Two frames for a parameter.
fn both(b: &TestEngine, param: &str) -> [FrameId; 2] {
    let nodes = || integers(0..6);
    let of_node = |name: &'static str, node: i64| b.frame(vec![("node", integers([node])), (name, numbers([1.0]))]);
    match param {
        "communities" => [[0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1]]
            .map(|parts| b.frame(vec![("node", nodes()), ("community", integers(parts))])),
        "pairs" => [3, 1].map(|v| b.frame(vec![("u", integers([0])), ("v", integers([v]))])),
        "sources" | "starts" | "fixed" => [0, 5].map(|node| b.frame(vec![("node", integers([node]))])),
        "pos" => [1.0, -3.0].map(|factor| {
            let x = numbers((0..6).map(|v| factor * f64::from(v)));
            b.frame(vec![("node", nodes()), ("x", x), ("y", numbers((0..6).map(|v| f64::from(v * v % 5))))])
        }),
        _ => [0, 5].map(|node| of_node("value", node)),
    }
}

/// A call with its arguments but for frames.
fn plain(algorithm: &GraphAlgorithm) -> GraphCall {
    let arguments = algorithm.params.iter().filter(|param| param.is_argument());
    let params = arguments.filter_map(|param| match param.kind {
        "node" => Some((param.name.to_string(), Value::Int(if param.name == "target" { 5 } else { 0 }))),
        "int" => Some((param.name.to_string(), Value::Int(2))),
        _ => None,
    });
    GraphCall { algorithm: algorithm.name.to_string(), params: params.collect(), frames: Vec::new() }
}

/// The rows of a call, through a step over its result, which is kept by key.
fn answer(b: &TestEngine, edges: FrameId, graph: &GraphSpec, call: &GraphCall) -> Result<Vec<Vec<String>>, String> {
    let step = Op::Graph { input: edges, graph: graph.clone(), call: call.clone() };
    let found = b.try_step(step).map_err(|error| error.message)?;
    b.try_rows(b.step(Op::Slice { input: found, offset: 0, length: Some(1000) })).map_err(|error| error.message)
}

fn is_frame(param: &&GraphParam) -> bool {
    param.kind.eq_ignore_ascii_case("frame")
}

#[test]
fn every_frame_of_a_graph_call_has_its_own_answer() {
    let (one, other) = (TestEngine::default(), TestEngine::default());
    let edges = [triangles(&one), triangles(&other)];
    let mut compared = 0;
    for algorithm in table() {
        for param in algorithm.params.iter().filter(is_frame) {
            let ask = |b: &TestEngine, edges: FrameId, which: usize| {
                let mut call = plain(algorithm);
                if param.name == "fixed" {
                    call.frames.push(("pos".to_string(), both(b, "pos")[0]));
                }
                call.frames.push((param.name.to_string(), both(b, param.name)[which]));
                answer(b, edges, &spec(false, true), &call).unwrap_or_else(|e| panic!("{}: {e}", algorithm.name))
            };
            let name = format!("`{}` of `{}`", param.name, algorithm.name);
            let (first, second) = (ask(&one, edges[0], 0), ask(&one, edges[0], 1));
            assert_eq!((ask(&other, edges[1], 1), ask(&other, edges[1], 0)), (second.clone(), first.clone()), "{name}");
            // A search need not end at other values because it begins there, and no node of the graph is dangling.
            assert!(first != second || ["nstart", "dangling"].contains(&param.name), "{name}");
            compared += 1;
        }
    }
    assert!(compared >= 20, "{compared} parameters were compared");
}

#[test]
fn every_graph_call_has_its_own_answer_for_other_nodes() {
    let (one, other) = (TestEngine::default(), TestEngine::default());
    let edges = [triangles(&one), triangles(&other)];
    let mut different = 0;
    for algorithm in table() {
        let has_frame = algorithm.params.iter().any(|param| param.is_argument() && is_frame(&param));
        for directed in [false, true] {
            let ask = |b: &TestEngine, edges: FrameId, last: i64| {
                let nodes = b.frame(vec![("id", integers(10..last))]);
                let nodes = vec![NodeIds { frame: nodes, columns: vec!["id".to_string()] }];
                let mut call = plain(algorithm);
                let parts: Vec<i64> = (0..6).chain(10..last).collect();
                if has_frame {
                    let columns = vec![("node", integers(parts.clone())), ("community", integers(parts))];
                    call.frames = algorithm
                        .params
                        .iter()
                        .filter(is_frame)
                        .take(1)
                        .map(|param| (param.name.to_string(), b.frame(columns.clone())))
                        .collect();
                }
                answer(b, edges, &GraphSpec { nodes, ..spec(directed, true) }, &call)
            };
            let (first, second) = (ask(&one, edges[0], 12), ask(&one, edges[0], 14));
            let again = (ask(&other, edges[1], 14), ask(&other, edges[1], 12));
            assert_eq!(again, (second.clone(), first.clone()), "{}", algorithm.name);
            different += usize::from(first != second);
        }
    }
    assert!(different > 40, "{different} calls see isolated nodes");
}

/// NetworkX: `modularity`, `partition_quality`, `jaccard_coefficient`, `multi_source_dijkstra`, `pagerank`, `density`.
#[test]
fn second_answers_are_those_of_networkx() {
    let b = TestEngine::default();
    let edges = triangles(&b);
    let ask = |directed: bool, name: &str, param: &str, which: usize, column: &str| {
        let frames = vec![(param.to_string(), both(&b, param)[which])];
        let call = GraphCall { algorithm: name.to_string(), params: Vec::new(), frames };
        let found = b.step(Op::Graph { input: edges, graph: spec(directed, false), call });
        let (value, _) = b.engine.value(found, &Expr::call("sum", [col(column)]), &TaskHandle::new()).unwrap();
        match value {
            Value::Float(value) => format!("{value:.4}"),
            value => panic!("{name} is {value:?}"),
        }
    };
    let two = |name: &str, param: &str, column: &str| [0, 1].map(|which| ask(false, name, param, which, column));
    assert_eq!(two("modularity", "communities", "modularity"), ["0.3571", "-0.2143"]);
    assert_eq!(two("coverage", "communities", "coverage"), ["0.8571", "0.2857"]);
    assert_eq!(two("performance", "communities", "performance"), ["0.9333", "0.4000"]);
    assert_eq!(two("jaccard_coefficient", "pairs", "jaccard_coefficient"), ["0.2500", "0.3333"]);
    let distance = [vec![0], vec![0, 5]].map(|sources| {
        let frames = vec![("sources".to_string(), b.frame(vec![("node", integers(sources))]))];
        let call = GraphCall { algorithm: "multi_source_dijkstra".to_string(), params: Vec::new(), frames };
        let found = b.step(Op::Graph { input: edges, graph: spec(false, false), call });
        b.select(found, Expr::call("sum", [col("distance")]))
    });
    assert_eq!(distance, ["f64: 10.0", "f64: 4.0"]);
    let top = [0, 1].map(|which| {
        let frames = vec![("personalization".to_string(), both(&b, "personalization")[which])];
        let call = GraphCall { algorithm: "pagerank".to_string(), params: Vec::new(), frames };
        let ranks = b.step(Op::Graph { input: edges, graph: spec(true, false), call });
        b.column(b.step(Op::Sort { input: ranks, keys: vec![desc("pagerank")] }), 0)[0].clone()
    });
    assert_eq!(top, ["0", "5"]);
    let density = [2, 4].map(|count| {
        let nodes = b.frame(vec![("id", integers(10..10 + count))]);
        let nodes = vec![NodeIds { frame: nodes, columns: vec!["id".to_string()] }];
        let call = GraphCall { algorithm: "density".to_string(), params: Vec::new(), frames: Vec::new() };
        let graph = GraphSpec { nodes, ..spec(false, false) };
        let found = b.step(Op::Graph { input: edges, graph, call });
        let density = b.column(b.step(Op::Slice { input: found, offset: 0, length: None }), 0);
        format!("{:.4}", density[0].parse::<f64>().unwrap())
    });
    assert_eq!(density, ["0.2500", "0.1556"]);
}

/// By hand: the first line connects rows of one group, the second all rows.
#[test]
fn live_rasters_of_other_groups_are_others() {
    let b = TestEngine::default();
    let frame = b.frame(vec![
        ("x", numbers([0.0, 1.0, 2.0, 3.0])),
        ("y", numbers([0.0, 3.0, 0.0, 3.0])),
        ("g", integers([0, 0, 1, 1])),
        ("h", integers([0, 1, 0, 1])),
    ]);
    let rasters = Rasters::default();
    let ask = |rasters: &Rasters, mark: Mark, by: Option<&str>| {
        let (x, y) = (Some(col("x")), Some(col("y")));
        let layer = LayerRequest { mark, x, y, by: by.map(Expr::column), ..LayerRequest::default() };
        let request = PlotRequest { frame, layers: vec![layer], style: PlotStyle::default(), facet: None };
        let window = Window { x0: 0.0, y0: 0.0, x1: 3.0, y1: 3.0 };
        let ask = VisualAsk::Raster { window, width: 9, height: 9 };
        rasters.answer(&b.engine, &request, &ask, &TaskHandle::new()).unwrap()
    };
    let kinds = [
        (Mark::Raster, None),
        (Mark::RasterLines, None),
        (Mark::RasterLines, Some("g")),
        (Mark::RasterLines, Some("h")),
    ];
    let mut found = Vec::new();
    for (mark, by) in kinds {
        let live = ask(&rasters, mark, by);
        assert_eq!(live, ask(&Rasters::default(), mark, by), "{mark:?} by {by:?}");
        assert!(!found.contains(&live), "{mark:?} by {by:?}");
        found.push(live);
    }
}

/// By hand: y = a x.
#[test]
fn models_and_their_answers_are_those_of_their_frames() {
    let b = TestEngine::default();
    let frame = |factor: f64| {
        let x = [1.0, 2.0, 3.0, 4.0];
        b.frame(vec![("x", numbers(x)), ("y", numbers(x.map(|x| factor * x)))])
    };
    let (single, double) = (frame(1.0), frame(2.0));
    let train = |frame: FrameId, eval: Vec<FrameId>, seed: usize| {
        let spec = Spec::new("Ridge").with("alpha", 0.0).with("random_state", seed);
        let fit = Fit { spec, frame, target: Some(col("y")), eval };
        let id = ModelId(b.id().0);
        let (info, file) = b.engine.fit(id, &fit, None, &TaskHandle::new()).unwrap();
        (id, info.key, file)
    };
    let (of_single, key, file) = train(single, Vec::new(), 0);
    let others = [
        train(double, Vec::new(), 0).1,
        train(single, vec![single], 0).1,
        train(single, vec![double], 0).1,
        train(single, vec![single, double], 0).1,
        train(single, Vec::new(), 1).1,
    ];
    assert!(others.iter().enumerate().all(|(at, other)| *other != key && !others[..at].contains(other)));
    let score = |frame: FrameId| {
        let ask = ModelAsk::Evaluate { frame, what: Evaluation::Score(None) };
        match b.engine.model_ask(of_single, &ask, &TaskHandle::new()).unwrap() {
            onrush_engine::Answer::Rows(table) => format!("{:?}", table.batches()[0].column(0)),
            _ => panic!("a score is a row"),
        }
    };
    assert_ne!(score(single), score(double));
    // A file is known by its content: its key may be that of another version's training.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.safetensors");
    std::fs::write(&path, &file).unwrap();
    let load = |bench: &TestEngine| {
        let (info, copy) = bench.engine.load_model(ModelId(bench.id().0), &path.display().to_string(), "").unwrap();
        (info.key, copy)
    };
    let (loaded, copy) = load(&b);
    assert_ne!(loaded, key);
    assert_eq!(loaded, load(&b).0);
    let (restored, _) = TestEngine::default().engine.restore_model(ModelId(1), "the copy", copy).unwrap();
    assert_eq!(restored.key, loaded);
}

/// Two frames of one query have other random numbers; each keeps its own, and so do steps on them.
#[test]
fn queries_for_random_numbers_are_asked_anew() {
    let b = TestEngine::default();
    let query = "select random() as r from range(5) as s(n)";
    let [one, two] = [(), ()].map(|()| b.try_sql(query, &[]).unwrap());
    let rows = |id: FrameId| b.try_rows(id).unwrap();
    assert_ne!(rows(one), rows(two));
    assert_eq!((rows(one), rows(two)), (rows(one), rows(two)));
    let sums = [one, two, one].map(|id| b.select(id, Expr::call("sum", [col("r")])));
    assert!(sums[0] != sums[1] && sums[0] == sums[2]);
    let [one, two] = [(), ()].map(|()| b.try_sql("select 1 as n", &[]).unwrap());
    assert_eq!(rows(one), rows(two));
}
