//! Triangles, clustering and squares against NetworkX 3.6.1 (`tests/graph/expect_cluster.py`).

use onrush_graph::cluster::{average_clustering, clustering, square_clustering, transitivity, triangles};
use onrush_graph::{Graph, Run, generate};

use crate::support::{assert_close, bits, edges, expected, graphs, integers, numbers, on_threads};

#[test]
fn clustering_is_that_of_networkx() {
    let (expected, run) = (expected("cluster.json"), Run::silent());
    for edges in graphs() {
        let (g, name) = (edges.graph(), &edges.name);
        let case = &expected[name];
        assert_close(&clustering(&g, false, &run).unwrap(), &numbers(&case["clustering"]), 1e-12, name);
        if let Some(weighted) = case.get("weighted") {
            assert_close(&clustering(&g, true, &run).unwrap(), &numbers(weighted), 1e-12, name);
        }
        for (key, zeros) in [("average_clustering", true), ("without_zeros", false)] {
            match case.get(key) {
                Some(mean) => {
                    let found = average_clustering(&g, false, zeros, &run).unwrap();
                    assert_close(&[found], &numbers(mean)[..], 1e-12, name);
                }
                None => assert_eq!(average_clustering(&g, false, zeros, &run).unwrap_err().code(), "empty", "{name}"),
            }
        }
        match g.is_directed() {
            true => assert_eq!(triangles(&g, &run).unwrap_err().code(), "directed", "{name}"),
            false => assert_eq!(triangles(&g, &run).unwrap(), integers(&case["triangles"]), "{name}"),
        }
        assert_close(&[transitivity(&g, &run).unwrap()], &numbers(&case["transitivity"]), 1e-12, name);
        assert_close(&square_clustering(&g, &run).unwrap(), &numbers(&case["square_clustering"]), 1e-12, name);
    }
    let sum: u64 = triangles(&edges("les_miserables").graph(), &run).unwrap().iter().sum();
    assert_eq!(sum / 3, 467);
}

#[test]
fn triangles_are_those_of_intersections_on_any_number_of_threads() {
    let run = Run::silent();
    let (s, t) = generate::rmat(12, 16, 6);
    let weights: Vec<f64> = (0..s.len()).map(|e| generate::uniform(4, e as u64)).collect();
    let g = Graph::new(false, 1 << 12, &s, &t, Some(weights.clone())).unwrap();
    let found = on_threads("triangles", || triangles(&g, &run).unwrap());
    let simple = g.simple();
    let rows = simple.out_rows();
    let common = |u: u32, v: u32| rows.row(u).iter().filter(|w| rows.row(v).binary_search(w).is_ok()).count() as u64;
    for u in 0..1 << 12 {
        assert_eq!(found[u as usize], rows.row(u).iter().map(|v| common(u, *v)).sum::<u64>() / 2, "node {u}");
    }
    on_threads("clustering", || bits(&clustering(&g, true, &run).unwrap()));
    let directed = Graph::new(true, 1 << 12, &s, &t, Some(weights)).unwrap();
    on_threads("clustering", || bits(&clustering(&directed, true, &run).unwrap()));
    on_threads("clustering", || bits(&clustering(&directed, false, &run).unwrap()));
    on_threads("square_clustering", || bits(&square_clustering(&g, &run).unwrap()));
    on_threads("square_clustering", || bits(&square_clustering(&directed, &run).unwrap()));
    on_threads("transitivity", || transitivity(&directed, &run).unwrap().to_bits());
}

#[test]
fn permuted_edges_have_the_same_clustering() {
    let run = Run::silent();
    for name in ["multi_weighted", "weighted", "weighted_digraph"] {
        let edges = edges(name);
        let weighted = |g: &Graph| clustering(g, true, &run).unwrap();
        assert_close(&weighted(&edges.permuted().graph()), &weighted(&edges.graph()), 1e-14, name);
    }
}

#[test]
fn degenerate_graphs_have_results() {
    let run = Run::silent();
    let isolated = Graph::new(false, 2_000_000, &[], &[], None).unwrap();
    assert!(triangles(&isolated, &run).unwrap().iter().all(|t| *t == 0));
    assert!(clustering(&isolated, true, &run).unwrap().iter().all(|t| *t == 0.0));
    assert_eq!(transitivity(&isolated, &run).unwrap(), 0.0);
    assert!(square_clustering(&isolated, &run).unwrap().iter().all(|t| *t == 0.0));
    let zeros = Graph::new(false, 3, &[0, 1, 2], &[1, 2, 0], Some(vec![0.0; 3])).unwrap();
    assert_eq!(clustering(&zeros, true, &run).unwrap_err().message, "the largest weight is 0, expected one above 0");
    let stopped = Run { is_stopped: &|| true, ..Run::silent() };
    assert!(triangles(&zeros, &stopped).unwrap_err().is_stopped());
}
