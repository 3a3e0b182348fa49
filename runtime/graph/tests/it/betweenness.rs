//! Betweenness and closeness against NetworkX (`tests/graph/expect_betweenness.py`).

use onrush_graph::betweenness::{BetweennessOptions, Sources, betweenness_centrality, edge_betweenness_centrality};
use onrush_graph::closeness::{closeness_centrality, harmonic_centrality};
use onrush_graph::{Graph, Run, generate};
use serde_json::Value;

use crate::support::{Edges, assert_close, bits, edges, expected, graphs, numbers, on_threads};

/// The options of the expectations, in their order. NetworkX's last three take every third node as source.
fn options(n: u32, i: usize) -> BetweennessOptions {
    let sources = if i < 3 { Sources::All } else { Sources::Nodes((0..n / 3).map(|v| 3 * v).collect()) };
    BetweennessOptions { sources, normalized: i % 3 != 1, endpoints: i % 3 == 2, weighted: false }
}

/// The same graph with 0.25 added to weights.
fn positive(edges: &Edges) -> Graph {
    edges.graph().with_weights(edges.weights.as_ref().unwrap().iter().map(|w| w + 0.25).collect()).unwrap()
}

fn check(what: &str, wanted: &Value, found: impl Fn() -> Vec<f64> + Sync) {
    let found = on_threads(what, || bits(&found()));
    let found: Vec<f64> = found.into_iter().map(f64::from_bits).collect();
    assert_close(&found, &numbers(wanted), 1e-9, what);
}

#[test]
fn betweenness_is_that_of_networkx() {
    let all = expected("betweenness.json");
    for g in graphs() {
        let (wanted, graph, run) = (&all[&g.name], g.graph(), Run::silent());
        for (i, wanted) in wanted["node"].as_array().unwrap().iter().enumerate() {
            let options = options(g.n, i);
            check(&format!("{} nodes {i}", g.name), wanted, || betweenness_centrality(&graph, &options, &run).unwrap());
        }
        for (i, wanted) in wanted["edge"].as_array().unwrap().iter().enumerate() {
            let options = options(g.n, [0, 1, 3, 4][i]);
            let found = || edge_betweenness_centrality(&graph, &options, &run).unwrap();
            check(&format!("{} edges {i}", g.name), wanted, found);
        }
        if g.weights.is_some() {
            let graph = positive(&g);
            let options = BetweennessOptions { weighted: true, ..BetweennessOptions::default() };
            let found = || betweenness_centrality(&graph, &options, &run).unwrap();
            check(&format!("{} weighted nodes", g.name), &wanted["weighted_node"], found);
            let found = || edge_betweenness_centrality(&graph, &options, &run).unwrap();
            check(&format!("{} weighted edges", g.name), &wanted["weighted_edge"], found);
        }
    }
}

#[test]
fn closeness_is_that_of_networkx() {
    let all = expected("betweenness.json");
    for g in graphs() {
        let (wanted, graph, run) = (&all[&g.name], g.graph(), Run::silent());
        for (i, improved) in [true, false].into_iter().enumerate() {
            let found = || closeness_centrality(&graph, false, improved, &run).unwrap();
            check(&format!("{} closeness", g.name), &wanted["closeness"][i], found);
        }
        let found = || harmonic_centrality(&graph, false, &run).unwrap();
        check(&format!("{} harmonic", g.name), &wanted["harmonic"], found);
        if g.weights.is_some() {
            let found = || closeness_centrality(&graph, true, true, &run).unwrap();
            check(&format!("{} weighted closeness", g.name), &wanted["weighted_closeness"], found);
            let found = || harmonic_centrality(&graph, true, &run).unwrap();
            check(&format!("{} weighted harmonic", g.name), &wanted["weighted_harmonic"], found);
        }
    }
}

#[test]
fn values_do_not_depend_on_threads_or_the_order_of_edges() {
    let (s, t) = generate::rmat(9, 8, 2);
    let weights = Some((0..s.len()).map(|e| 1.0 + (generate::hash(1, e as u64) % 5) as f64).collect());
    let all = |edges: &Edges| {
        on_threads("rmat", || {
            let (graph, run) = (edges.graph(), Run::silent());
            let weighted = BetweennessOptions {
                weighted: true,
                sources: Sources::Sample { k: 100, seed: 4 },
                ..BetweennessOptions::default()
            };
            [
                bits(&betweenness_centrality(&graph, &BetweennessOptions::default(), &run).unwrap()),
                bits(&betweenness_centrality(&graph, &weighted, &run).unwrap()),
                bits(&closeness_centrality(&graph, true, true, &run).unwrap()),
                bits(&harmonic_centrality(&graph, false, &run).unwrap()),
            ]
        })
    };
    for directed in [false, true] {
        let edges = Edges {
            name: "rmat".into(),
            directed,
            n: 1 << 9,
            sources: s.clone(),
            targets: t.clone(),
            weights: weights.clone(),
        };
        assert!(all(&edges) == all(&edges.permuted()));
    }
}

#[test]
fn nodes_of_paths_are_one_more_than_their_edges() {
    // Large enough for levels that are searched from the unseen nodes. Nothing is scaled in a digraph that is not
    // normalised.
    let (s, t) = generate::rmat(10, 8, 3);
    let graph = Graph::new(true, 1 << 10, &s, &t, None).unwrap().simple();
    let run = Run::silent();
    let sum = |values: Vec<f64>| values.into_iter().sum::<f64>();
    let with = |endpoints: bool| BetweennessOptions { normalized: false, endpoints, ..BetweennessOptions::default() };
    let inner = sum(betweenness_centrality(&graph, &with(false), &run).unwrap());
    let nodes = sum(betweenness_centrality(&graph, &with(true), &run).unwrap());
    let edges = sum(edge_betweenness_centrality(&graph, &with(true), &run).unwrap());
    let (paths, rest) = (edges - inner, nodes - edges);
    assert!(paths > 1e4 && (paths - rest).abs() < 1e-6 * paths, "{inner} {edges} {nodes}");
}

#[test]
fn mistakes_are_named() {
    let graph = edges("weighted").graph();
    let run = Run::silent();
    let weighted = BetweennessOptions { weighted: true, ..BetweennessOptions::default() };
    let error = betweenness_centrality(&graph, &weighted, &run).unwrap_err();
    assert!(error.message.ends_with("is 0: betweenness_centrality needs weights above 0"), "{}", error.message);
    let many = BetweennessOptions { sources: Sources::Sample { k: 51, seed: 0 }, ..BetweennessOptions::default() };
    let error = betweenness_centrality(&graph, &many, &run).unwrap_err();
    assert_eq!(error.message, "k is 51, expected at most the 50 nodes of the graph");
    let missing = BetweennessOptions { sources: Sources::Nodes(vec![50]), ..BetweennessOptions::default() };
    assert_eq!(edge_betweenness_centrality(&graph, &missing, &run).unwrap_err().code(), "node");
    let stopped = Run { is_stopped: &|| true, ..Run::silent() };
    assert!(betweenness_centrality(&graph, &BetweennessOptions::default(), &stopped).unwrap_err().is_stopped());
    assert!(closeness_centrality(&graph, false, true, &stopped).unwrap_err().is_stopped());
    assert!(harmonic_centrality(&graph, true, &stopped).unwrap_err().is_stopped());
}

#[test]
fn two_million_isolated_nodes_have_none() {
    let graph = Graph::new(false, 2_000_000, &[], &[], None).unwrap();
    let run = Run::silent();
    assert!(betweenness_centrality(&graph, &BetweennessOptions::default(), &run).unwrap().iter().all(|b| *b == 0.0));
    assert!(closeness_centrality(&graph, false, true, &run).unwrap().iter().all(|b| *b == 0.0));
    assert!(harmonic_centrality(&graph, false, &run).unwrap().iter().all(|b| *b == 0.0));
}
