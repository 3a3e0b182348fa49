//! Shortest paths against NetworkX 3.6.1 (`tests/graph/expect_paths.py`).

use onrush_graph::shortest_paths::{
    Paths, bellman_ford, has_path, multi_source_dijkstra, negative_edge_cycle, path_to, shortest_path,
    single_source_dijkstra,
};
use onrush_graph::traversal::NONE;
use onrush_graph::{Graph, Run, generate};

use crate::support::{assert_close, bits, edges, expected, graphs, integers, numbers, on_threads};

/// Distances as in the file: -1 if a node is not reached.
fn signed(distance: &[f64]) -> Vec<f64> {
    distance.iter().map(|d| if *d == f64::INFINITY { -1.0 } else { *d }).collect()
}

/// Each path leads from a source to its node, along edges whose weights add up to the distance.
fn check_paths(g: &Graph, sources: &[u32], paths: &Paths, name: &str) {
    let nearest = paths.sources();
    for v in (0..g.nodes() as u32).filter(|v| paths.distance[*v as usize] < f64::INFINITY) {
        let path = path_to(g, paths, v);
        assert!(sources.contains(&path.nodes[0]), "{name}: the path to {v}");
        assert_eq!(nearest[v as usize], path.nodes[0], "{name}: the source of {v}");
        assert_eq!(path.edges.len() + 1, path.nodes.len(), "{name}: the path to {v}");
        let weight = |e: &u32| g.edge_weights().map_or(1.0, |w| w[*e as usize]);
        let sum = path.edges.iter().map(weight).fold(0.0, |a, b| a + b);
        assert_eq!(sum, paths.distance[v as usize], "{name}: the path to {v}");
    }
}

#[test]
fn distances_are_those_of_networkx() {
    let (expected, run) = (expected("paths.json"), Run::silent());
    for edges in graphs() {
        let (g, name) = (edges.graph(), &edges.name);
        for case in expected["dijkstra"][name].as_array().unwrap() {
            let sources: Vec<u32> = match case.get("sources") {
                Some(sources) => integers(sources).into_iter().map(|v| v as u32).collect(),
                None => vec![case["source"].as_u64().unwrap() as u32],
            };
            let paths = multi_source_dijkstra(&g, &sources, None, &run).unwrap();
            assert_close(&signed(&paths.distance), &numbers(&case["distance"]), 1e-14, name);
            check_paths(&g, &sources, &paths, name);
            assert_eq!(
                multi_source_dijkstra(&edges.permuted().graph(), &sources, None, &run).unwrap(),
                paths,
                "{name}"
            );
            g.in_rows();
            assert_eq!(multi_source_dijkstra(&g, &sources, None, &run).unwrap(), paths, "{name}: rows by target");
            if let Some(limited) = case.get("limited") {
                let found = single_source_dijkstra(&g, sources[0], case["cutoff"].as_f64(), &run).unwrap();
                assert_close(&signed(&found.distance), &numbers(limited), 1e-14, name);
            }
        }
    }
}

/// The nearest source is one whose own distance is the least. No source is near a node that is not reached.
#[test]
fn nodes_know_their_nearest_source() {
    let run = Run::silent();
    for edges in graphs().into_iter().filter(|edges| edges.n > 5) {
        let g = edges.graph();
        let sources = [0, 3, 5];
        let paths = multi_source_dijkstra(&g, &sources, None, &run).unwrap();
        let alone = sources.map(|source| single_source_dijkstra(&g, source, None, &run).unwrap().distance);
        for (v, source) in paths.sources().into_iter().enumerate() {
            let least = alone.iter().map(|distance| distance[v]).fold(f64::INFINITY, f64::min);
            match sources.iter().position(|known| *known == source) {
                Some(at) => assert_eq!(alone[at][v], least, "{}: node {v}", edges.name),
                None => assert_eq!((source, least), (NONE, f64::INFINITY), "{}: node {v}", edges.name),
            }
        }
    }
}

#[test]
fn negative_weights_are_those_of_networkx() {
    let (expected, run) = (expected("paths.json"), Run::silent());
    for (name, case) in expected["negative"].as_object().unwrap() {
        let edges = &case["graph"];
        let ends = |end: usize| -> Vec<u32> {
            edges["edges"].as_array().unwrap().iter().map(|e| e[end].as_u64().unwrap() as u32).collect()
        };
        let n = edges["n"].as_u64().unwrap() as u32;
        let directed = edges["directed"].as_bool().unwrap();
        let g = Graph::new(directed, n, &ends(0), &ends(1), Some(numbers(&edges["weights"]))).unwrap();
        assert_eq!(negative_edge_cycle(&g, &run).unwrap(), case["negative_edge_cycle"].as_bool().unwrap(), "{name}");
        match bellman_ford(&g, 0, &run) {
            Ok(paths) => {
                let finite = |d: &f64| if *d == f64::INFINITY { f64::NAN } else { *d };
                let found: Vec<f64> = paths.distance.iter().map(finite).collect();
                assert_close(&found, &numbers(&case["distance"]), 1e-14, name);
                check_paths(&g, &[0], &paths, name);
            }
            Err(error) => {
                assert_eq!(error.code(), "negative_cycle", "{name}: {error}");
                assert!(case["distance"].is_null(), "{name}: {error}");
            }
        }
        if name != "undirected" {
            assert_eq!(single_source_dijkstra(&g, 0, None, &run).unwrap_err().code(), "weight", "{name}");
        }
    }
    let weighted = edges("weighted_digraph").graph();
    let (a, b) = (bellman_ford(&weighted, 0, &run).unwrap(), single_source_dijkstra(&weighted, 0, None, &run).unwrap());
    assert_eq!(a.distance, b.distance);
}

#[test]
fn large_graphs_have_the_distances_of_a_heap_on_any_number_of_threads() {
    let run = Run::silent();
    let (s, t) = generate::rmat(14, 16, 3);
    let uniform: Vec<f64> = (0..s.len()).map(|e| generate::uniform(1, e as u64)).collect();
    let coarse: Vec<f64> = uniform.iter().map(|w| (w * 4.0).floor()).collect();
    let skewed: Vec<f64> = uniform.iter().map(|w| 10f64.powf(24.0 * w - 12.0)).collect();
    let rounded: Vec<f64> = uniform.iter().map(|w| (w * 100.0).round() / 10.0).collect();
    // Closed roads.
    let closed: Vec<f64> = uniform.iter().map(|w| if *w > 0.999 { 1e6 } else { *w }).collect();
    let cases = [(false, uniform), (true, coarse), (false, skewed), (true, rounded), (false, closed)];
    for (directed, weights) in cases {
        let g = Graph::new(directed, 1 << 14, &s, &t, Some(weights)).unwrap();
        let (distance, predecessor) = on_threads("dijkstra", || {
            let paths = single_source_dijkstra(&g, 3, None, &run).unwrap();
            (bits(&paths.distance), paths.predecessor)
        });
        let distance: Vec<f64> = distance.into_iter().map(f64::from_bits).collect();
        // Bellman-Ford is the serial reference.
        assert!(bellman_ford(&g, 3, &run).unwrap().distance == distance);
        check_paths(&g, &[3], &Paths { distance: distance.clone(), predecessor }, "rmat");
        let cutoff = 1.5;
        let limited = single_source_dijkstra(&g, 3, Some(cutoff), &run).unwrap();
        let expected: Vec<f64> = distance.iter().map(|d| if *d <= cutoff { *d } else { f64::INFINITY }).collect();
        assert!(limited.distance == expected);
        for target in (0..1 << 14).step_by(1500).filter(|v| distance[*v as usize] < f64::INFINITY) {
            let path = shortest_path(&g, 3, target, true, &run).unwrap();
            assert_eq!(path.distance.last(), Some(&distance[target as usize]));
        }
    }
}

#[test]
fn paths_have_steps_and_edges() {
    let run = Run::silent();
    // Two edges from 1 to 2: the lighter one is edge 3.
    let g = Graph::new(true, 5, &[0, 1, 0, 1, 2], &[1, 2, 2, 2, 3], Some(vec![1.0, 5.0, 4.0, 2.0, 0.0])).unwrap();
    let path = shortest_path(&g, 0, 3, true, &run).unwrap();
    assert_eq!((path.nodes, path.edges, path.distance), (vec![0, 1, 2, 3], vec![0, 3, 4], vec![0.0, 1.0, 3.0, 3.0]));
    let path = shortest_path(&g, 0, 3, false, &run).unwrap();
    assert_eq!((path.nodes, path.edges, path.distance), (vec![0, 2, 3], vec![2, 4], vec![0.0, 1.0, 2.0]));
    assert_eq!(shortest_path(&g, 2, 2, true, &run).unwrap().nodes, [2]);
    let error = shortest_path(&g, 3, 0, true, &run).unwrap_err();
    assert_eq!((error.code(), error.message.as_str()), ("no_path", "there is no path from node 3 to node 0"));
    assert!(has_path(&g, 0, 3, &run).unwrap() && !has_path(&g, 0, 4, &run).unwrap());
    assert!(has_path(&g, 0, 5, &run).is_err());
}

#[test]
fn plateaus_of_zero_weights_have_paths() {
    let run = Run::silent();
    let (s, t) = generate::path(200_000);
    let zeros = vec![0.0; s.len()];
    for directed in [false, true] {
        let g = Graph::new(directed, 200_000, &s, &t, Some(zeros.clone())).unwrap();
        let paths = single_source_dijkstra(&g, 100, None, &run).unwrap();
        assert_eq!((paths.predecessor[199_999], paths.predecessor[100]), (199_998, NONE));
        assert_eq!(paths.distance[0], if directed { f64::INFINITY } else { 0.0 });
    }
}

#[test]
fn cycles_of_negative_weight_are_named() {
    let run = Run::silent();
    let g = Graph::new(true, 5, &[0, 1, 3, 2], &[1, 3, 2, 1], Some(vec![1.0, 1.0, -3.0, 1.0])).unwrap();
    let error = bellman_ford(&g, 0, &run).unwrap_err();
    assert_eq!(error.message, "there is a cycle of negative weight: 1, 3, 2");
}
