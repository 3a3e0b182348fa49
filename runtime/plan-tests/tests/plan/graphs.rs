//! Algorithms on graphs: on a device (the emulated one, or a GPU with `ONRUSH_TEST_ENGINE=cuda`) they give what the
//! host gives. That the host is right is shown against NetworkX in `runtime/graph/tests` and `tests/graph`.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use onrush_engine::EngineConfig;
use onrush_frame::TaskHandle;
use onrush_wire::graph::{GraphCall, GraphSpec};
use onrush_wire::plan::Op;
use onrush_wire::visual::{Drawing, GraphCardRequest, GraphPlotRequest, Positions};
use onrush_wire::{FrameId, Value};

use super::support::*;

/// The type of the ids of a graph.
#[derive(Clone, Copy, PartialEq)]
enum Ids {
    Strings,
    Integers,
}

/// Edges of a graph with hubs: both ends by the minimum of two draws.
fn edges(b: &TestEngine, nodes: u64, count: u64) -> FrameId {
    edges_of(b, Ids::Strings, nodes, count)
}

fn edges_of(b: &TestEngine, ids: Ids, nodes: u64, count: u64) -> FrameId {
    let hash = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) % nodes;
    let end = |i: u64| hash(2 * i).min(hash(7 * i + 3));
    let column = |ends: Vec<u64>| -> ArrayRef {
        match ids {
            Ids::Strings => Arc::new(StringArray::from_iter_values(ends.iter().map(|end| format!("n{end:04}")))),
            // Negative, and far apart.
            Ids::Integers => Arc::new(Int64Array::from_iter_values(ends.iter().map(|end| *end as i64 * 1000 - 5000))),
        }
    };
    let source = column((0..count).map(|i| end(2 * i)).collect());
    let target = column((0..count).map(|i| end(2 * i + 1)).collect());
    let weight = Float64Array::from_iter_values((0..count).map(|i| 1.0 + (hash(i) % 8) as f64 / 4.0));
    let columns: Vec<(&str, ArrayRef)> = vec![("a", source), ("b", target), ("w", Arc::new(weight))];
    b.frame(columns)
}

fn spec(directed: bool, weighted: bool) -> GraphSpec {
    let name = |name: &str| vec![name.to_string()];
    let weight = weighted.then(|| "w".to_string());
    GraphSpec { source: name("a"), target: name("b"), directed, weight, nodes: Vec::new() }
}

fn algorithm(name: &str, params: &[(&str, Value)]) -> GraphCall {
    let params = params.iter().map(|(name, value)| ((*name).to_string(), value.clone())).collect();
    GraphCall { algorithm: name.to_string(), params, frames: Vec::new() }
}

/// Rows of two engines: floats may differ by 1e-9 of their size.
fn assert_same(name: &str, one: &[Vec<String>], other: &[Vec<String>]) {
    assert_eq!(one.len(), other.len(), "{name}");
    for (one, other) in one.iter().zip(other) {
        for (a, b) in one.iter().zip(other) {
            let is_close = match (a.parse::<f64>(), b.parse::<f64>()) {
                (Ok(x), Ok(y)) if a.contains(['.', 'e']) || b.contains(['.', 'e']) => {
                    (x - y).abs() <= 1e-9 * x.abs().max(y.abs()).max(1e-9)
                }
                _ => false,
            };
            assert!(a == b || is_close, "{name}: {one:?} and {other:?}");
        }
    }
}

#[test]
fn a_device_gives_what_the_host_gives() {
    a_device_gives_what_the_host_gives_for(Ids::Strings);
}

/// The device numbers the ids.
#[test]
fn a_device_gives_what_the_host_gives_for_integers() {
    a_device_gives_what_the_host_gives_for(Ids::Integers);
}

fn a_device_gives_what_the_host_gives_for(ids: Ids) {
    let (host, device) = (TestEngine::on_cpu(), only_device());
    let (on_host, on_device) = (edges_of(&host, ids, 700, 5000), edges_of(&device, ids, 700, 5000));
    let first = if ids == Ids::Strings { Value::Text("n0003".to_string()) } else { Value::Int(-2000) };
    let source = |name: &str| (name.to_string(), vec![("source", first.clone())]);
    let plain = |name: &str| (name.to_string(), Vec::new());
    let seeded = |name: &str| (name.to_string(), vec![("seed", Value::Int(7))]);
    let both = [plain("pagerank"), plain("hits"), source("bfs"), source("single_source_dijkstra")];
    let undirected = ["connected_components", "triangles", "clustering", "transitivity"].map(plain);
    let communities = ["louvain_communities", "leiden_communities"].map(seeded);
    let sampled = |name: &str| (name.to_string(), vec![("k", Value::Int(40)), ("seed", Value::Int(3))]);
    let loop_free = |call: &str| call == "core_number";
    let mut calls: Vec<(bool, (String, Vec<(&str, Value)>))> = Vec::new();
    for directed in [false, true] {
        calls.extend(both.iter().map(|call| (directed, call.clone())));
    }
    calls.extend([(true, sampled("betweenness_centrality")), (false, sampled("betweenness_centrality"))]);
    calls.push((true, plain("weakly_connected_components")));
    calls.extend(undirected.into_iter().chain(communities).chain([plain("core_number")]).map(|call| (false, call)));
    for (directed, (name, params)) in calls {
        let run = |b: &TestEngine, edges: FrameId| {
            let input = match loop_free(&name) {
                true => b.step(Op::Filter {
                    input: edges,
                    predicate: op(col("a"), onrush_wire::BinaryOp::NotEqual, col("b")),
                }),
                false => edges,
            };
            let call = algorithm(&name, &params);
            let frame = b.step(Op::Graph { input, graph: spec(directed, true), call });
            let place = b.engine.explain(frame, false, &TaskHandle::new()).unwrap();
            (b.try_rows(frame).unwrap(), place)
        };
        let ((one, at_host), (other, at_device)) = (run(&host, on_host), run(&device, on_device));
        assert!(at_host.contains(&format!("{name}, cpu")), "{at_host}");
        let place = if is_cuda() { "cuda" } else { "emulated" };
        assert!(at_device.contains(&format!("{name}, {place}")), "{at_device}");
        assert!(!one.is_empty(), "{name}");
        assert_same(&name, &one, &other);
    }
}

#[test]
fn results_stay_on_the_device() {
    let b = only_device();
    let edges = edges_of(&b, Ids::Integers, 700, 5000);
    for name in ["pagerank", "hits", "triangles", "connected_components", "louvain_communities"] {
        let call = algorithm(name, &[]);
        let frame = b.step(Op::Graph { input: edges, graph: spec(false, true), call });
        let table = b.engine.table(frame, &[], &TaskHandle::new()).unwrap();
        assert_eq!(b.engine.place(&table), if is_cuda() { "cuda" } else { "emulated" }, "{name}");
    }
}

#[test]
fn weights_that_a_device_refuses_are_named_as_on_the_host() {
    for (weight, said) in [(f64::NAN, "the weight `w` is NaN in row 1"), (-1.0, "the edge in row 1 (`2` to `3`)")] {
        for bench in [TestEngine::on_cpu(), only_device()] {
            let ids = |values: &[i64]| Arc::new(Int64Array::from(values.to_vec())) as ArrayRef;
            let weights = Arc::new(Float64Array::from(vec![1.0, weight, 2.0])) as ArrayRef;
            let edges = bench.frame(vec![("a", ids(&[1, 2, 3])), ("b", ids(&[2, 3, 4])), ("w", weights)]);
            let call = algorithm("pagerank", &[]);
            let error = bench.try_step(Op::Graph { input: edges, graph: spec(false, true), call }).unwrap_err();
            assert!(error.message.contains(said), "{error}");
        }
    }
}

#[test]
fn two_million_isolated_nodes_are_a_graph() {
    let b = TestEngine::default();
    let ids = Arc::new(arrow::array::Int64Array::from_iter_values(0..2_000_000)) as ArrayRef;
    let nodes = b.frame(vec![("id", ids)]);
    let edges = b.frame(vec![("a", ints(&[Some(5)])), ("b", ints(&[Some(9)]))]);
    let nodes = vec![onrush_wire::graph::NodeIds { frame: nodes, columns: vec!["id".to_string()] }];
    let graph = GraphSpec { nodes, ..spec(false, false) };
    let count = |name: &str| {
        let call = algorithm(name, &[]);
        b.column(b.step(Op::Graph { input: edges, graph: graph.clone(), call }), 0)
    };
    assert_eq!(count("number_connected_components"), ["1999999"]);
    assert_eq!(count("louvain_communities").len(), 2_000_000);
    let card = onrush_explore::graph_card(&b.engine, &GraphCardRequest { edges, graph }, &TaskHandle::new()).unwrap();
    assert_eq!((card.nodes, card.edges, card.components, card.largest_component), (2_000_000, 1, 1_999_999, 2));
    assert_eq!(card.degrees, [1_999_998, 2]);
}

#[test]
fn a_graph_without_edges_has_results_without_rows() {
    for choice in choices() {
        let b = TestEngine::of(EngineConfig { choice, ..on_device() });
        let edges = edges(&b, 10, 0);
        for name in
            ["pagerank", "connected_components", "louvain_communities", "betweenness_centrality", "spring_layout"]
        {
            let call = algorithm(name, &[]);
            let frame = b.step(Op::Graph { input: edges, graph: spec(false, false), call });
            assert!(b.try_rows(frame).unwrap().is_empty(), "{name}");
        }
        let request = GraphCardRequest { edges, graph: spec(true, true) };
        let card = onrush_explore::graph_card(&b.engine, &request, &TaskHandle::new()).unwrap();
        assert_eq!((card.nodes, card.edges, card.components), (0, 0, 0));
    }
}

#[test]
fn a_picture_has_nodes_and_links_and_a_large_one_is_a_raster() {
    let b = TestEngine::default();
    let edges = edges(&b, 50, 400);
    let pictures = onrush_explore::Pictures::default();
    let request = |max_nodes: u32| GraphPlotRequest {
        edges,
        graph: spec(false, true),
        nodes: None,
        positions: Positions::Layout(algorithm("circular_layout", &[])),
        color: None,
        size: None,
        label: None,
        max_nodes,
        style: onrush_wire::plot::PlotStyle::default(),
    };
    let plot = |max_nodes: u32| pictures.plot(&b.engine, &request(max_nodes), &TaskHandle::new()).unwrap();
    let Drawing::Points(points) = plot(5000).drawing else { panic!("a raster") };
    let total: f32 = points.widths.iter().sum();
    // The weights are multiples of 1/4: exact sums.
    let weights = b.column(b.step(Op::Select { input: edges, exprs: vec![call("sum", [col("w")])] }), 0);
    assert_eq!(total, weights[0].parse::<f32>().unwrap());
    assert!(points.links.windows(2).all(|pair| pair[0] < pair[1]) && points.links.iter().all(|(a, b)| a <= b));
    assert!(points.x.iter().chain(&points.y).all(|value| (0.0..=1.0).contains(value)));
    let small = plot(10);
    let Drawing::Raster(raster) = &small.drawing else { panic!("points") };
    assert_eq!(raster.node_counts.iter().map(|n| u64::from(*n)).sum::<u64>(), small.nodes);
    assert!(small.notes.iter().any(|note| note.contains("raster")), "{:?}", small.notes);
}
