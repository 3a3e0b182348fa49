//! Degrees, searches, components, cores, orders and distances against NetworkX 3.6.1
//! (`tests/graph/expect_structure.py`).

use onrush_graph::components::{
    Components, connected_components, is_connected, is_strongly_connected, is_weakly_connected,
    strongly_connected_components, weakly_connected_components,
};
use onrush_graph::cores::{core_number, k_core, k_shell};
use onrush_graph::dag::{is_directed_acyclic_graph, topological_generations, topological_sort};
use onrush_graph::distance_measures::{center, diameter, eccentricity, periphery, radius};
use onrush_graph::traversal::{Bfs, NONE, bfs, bfs_layers, descendants_at_distance, distances_to};
use onrush_graph::{Graph, Run, degree, generate};
use serde_json::Value;

use crate::support::{assert_close, edges, expected, graphs, integers, numbers, on_threads};

/// Distances and nodes as in the file: -1 is none.
fn signed(values: &[u32]) -> Vec<f64> {
    values.iter().map(|v| if *v == NONE { -1.0 } else { f64::from(*v) }).collect()
}

fn nodes(value: &Value) -> Vec<u32> {
    integers(value).into_iter().map(|v| v as u32).collect()
}

fn lists(value: &Value) -> Vec<Vec<u32>> {
    value.as_array().unwrap().iter().map(nodes).collect()
}

#[test]
fn degrees_are_those_of_networkx() {
    let expected = expected("structure.json");
    for edges in graphs() {
        let (g, name) = (edges.graph(), &edges.name);
        let case = &expected[name]["degrees"];
        assert_eq!(degree::degree(&g), integers(&case["degree"]), "{name}");
        assert_close(&degree::degree_centrality(&g), &numbers(&case["degree_centrality"]), 1e-15, name);
        assert_close(&[degree::density(&g)], &[case["density"].as_f64().unwrap()], 1e-15, name);
        if g.is_directed() {
            assert_eq!(degree::in_degree(&g), integers(&case["in_degree"]), "{name}");
            assert_eq!(degree::out_degree(&g), integers(&case["out_degree"]), "{name}");
            assert_close(&degree::in_degree_centrality(&g), &numbers(&case["in_degree_centrality"]), 1e-15, name);
        }
    }
}

#[test]
fn searches_are_those_of_networkx() {
    let (expected, run) = (expected("structure.json"), Run::silent());
    for edges in graphs() {
        let (g, made, name) = (edges.graph(), edges.graph(), &edges.name);
        made.in_rows();
        for case in expected[name]["searches"].as_array().unwrap() {
            let source = case["source"].as_u64().unwrap() as u32;
            let search = bfs(&g, source, None, &run).unwrap();
            assert_eq!(signed(&search.distance), numbers(&case["distance"]), "{name} from {source}");
            assert_eq!(signed(&search.predecessor), numbers(&case["predecessor"]), "{name} from {source}");
            assert_eq!(bfs(&made, source, None, &run).unwrap(), search, "{name}: with rows by target");
            assert_eq!(bfs(&edges.permuted().graph(), source, None, &run).unwrap(), search, "{name}: permuted");
            assert_eq!(distances_to(&g.reverse(), &[source], None, &run).unwrap(), search.distance, "{name}: reversed");
            let limited = bfs(&g, source, Some(2), &run).unwrap();
            assert_eq!(signed(&limited.distance), numbers(&case["limited"]), "{name} from {source}, two hops");
            assert_eq!(bfs_layers(&g, &[source], &run).unwrap(), lists(&case["layers"]), "{name} from {source}");
            assert_eq!(descendants_at_distance(&g, source, 2, &run).unwrap(), nodes(&case["two_away"]), "{name}");
        }
    }
}

fn check_components(found: &Components, expected: &Value, name: &str) {
    let expected = lists(expected);
    assert_eq!(found.count(), expected.len(), "{name}: components");
    for (c, members) in expected.iter().enumerate() {
        assert_eq!(&found.nodes(c as u32), members, "{name}: component {c}");
        assert_eq!(found.sizes[c] as usize, members.len(), "{name}: component {c}");
    }
}

#[test]
fn components_are_those_of_networkx() {
    let (expected, run) = (expected("structure.json"), Run::silent());
    for edges in graphs() {
        let (g, name) = (edges.graph(), &edges.name);
        let case = &expected[name]["components"];
        if !g.is_directed() {
            check_components(&connected_components(&g, &run).unwrap(), &case["connected"], name);
            assert!(weakly_connected_components(&g, &run).is_err());
            if g.nodes() > 0 {
                let count = case["connected"].as_array().unwrap().len();
                assert_eq!(is_connected(&g, &run).unwrap(), count == 1, "{name}");
            }
            continue;
        }
        check_components(&weakly_connected_components(&g, &run).unwrap(), &case["weak"], name);
        check_components(&strongly_connected_components(&g, &run).unwrap(), &case["strong"], name);
        g.in_rows();
        check_components(&weakly_connected_components(&g, &run).unwrap(), &case["weak"], name);
        let count = |kind: &str| case[kind].as_array().unwrap().len();
        assert_eq!(is_weakly_connected(&g, &run).unwrap(), count("weak") == 1, "{name}");
        assert_eq!(is_strongly_connected(&g, &run).unwrap(), count("strong") == 1, "{name}");
        assert!(connected_components(&g, &run).is_err());
    }
}

#[test]
fn cores_are_those_of_networkx() {
    let (expected, run) = (expected("structure.json"), Run::silent());
    for edges in graphs() {
        let (g, name) = (edges.graph(), &edges.name);
        let case = &expected[name]["cores"];
        if case.is_null() {
            assert_eq!(core_number(&g, &run).unwrap_err().code(), "loops", "{name}");
            continue;
        }
        assert_eq!(core_number(&g, &run).unwrap(), nodes(&case["core_number"]), "{name}");
        if g.nodes() > 0 {
            assert_eq!(k_core(&g, None, &run).unwrap(), nodes(&case["k_core"]), "{name}");
            assert_eq!(k_core(&g, Some(2), &run).unwrap(), nodes(&case["two_core"]), "{name}");
            assert_eq!(k_shell(&g, None, &run).unwrap(), nodes(&case["k_shell"]), "{name}");
            assert_eq!(k_shell(&g, Some(1), &run).unwrap(), nodes(&case["one_shell"]), "{name}");
        }
    }
    let karate = edges("les_miserables").graph();
    assert_eq!(core_number(&karate, &run).unwrap().into_iter().max(), Some(9));
}

#[test]
fn orders_are_those_of_networkx() {
    let (expected, run) = (expected("structure.json"), Run::silent());
    for edges in graphs() {
        let (g, name) = (edges.graph(), &edges.name);
        let case = &expected[name]["orders"];
        if case.is_null() {
            assert!(!is_directed_acyclic_graph(&g, &run).unwrap(), "{name}");
            assert_eq!(topological_sort(&g, &run).unwrap_err().code(), "undirected");
            continue;
        }
        assert_eq!(is_directed_acyclic_graph(&g, &run).unwrap(), case["acyclic"].as_bool().unwrap(), "{name}");
        match topological_generations(&g, &run) {
            Ok(generations) => assert_eq!(generations, lists(&case["generations"]), "{name}"),
            Err(error) => assert_eq!((error.code(), case["acyclic"].as_bool()), ("cycle", Some(false)), "{name}"),
        }
    }
}

#[test]
fn eccentricities_are_those_of_networkx() {
    let (expected, run) = (expected("structure.json"), Run::silent());
    for edges in graphs() {
        let (g, name) = (edges.graph(), &edges.name);
        let case = &expected[name]["eccentricities"];
        if case.is_null() {
            assert!(diameter(&g, &run).is_err(), "{name}");
            assert!(g.nodes() == 0 || eccentricity(&g, &run).unwrap_err().code() == "not_connected", "{name}");
            continue;
        }
        assert_eq!(eccentricity(&g, &run).unwrap(), nodes(&case["eccentricity"]), "{name}");
        assert_eq!(u64::from(diameter(&g, &run).unwrap()), case["diameter"].as_u64().unwrap(), "{name}");
        assert_eq!(u64::from(radius(&g, &run).unwrap()), case["radius"].as_u64().unwrap(), "{name}");
        assert_eq!(center(&g, &run).unwrap(), nodes(&case["center"]), "{name}");
        assert_eq!(periphery(&g, &run).unwrap(), nodes(&case["periphery"]), "{name}");
    }
}

/// A plain search with a queue.
fn serial_distances(g: &Graph, source: u32) -> Vec<u32> {
    let mut distance = vec![NONE; g.nodes()];
    distance[source as usize] = 0;
    let mut queue = std::collections::VecDeque::from([source]);
    while let Some(u) = queue.pop_front() {
        for v in g.out_rows().row(u) {
            if distance[*v as usize] == NONE {
                distance[*v as usize] = distance[u as usize] + 1;
                queue.push_back(*v);
            }
        }
    }
    distance
}

/// The rules of the GAP benchmark for the tree of a search.
fn check_tree(g: &Graph, source: u32, search: &Bfs) {
    assert_eq!(search.distance, serial_distances(g, source));
    for v in 0..g.nodes() as u32 {
        let before = search.predecessor[v as usize];
        if v == source || search.distance[v as usize] == NONE {
            assert_eq!(before, NONE);
            continue;
        }
        assert!(g.out_rows().row(before).binary_search(&v).is_ok());
        assert_eq!(search.distance[before as usize] + 1, search.distance[v as usize]);
    }
}

#[test]
fn large_graphs_have_the_results_of_small_ones_on_any_number_of_threads() {
    let run = Run::silent();
    let (s, t) = generate::rmat(14, 16, 3);
    for directed in [false, true] {
        let g = Graph::new(directed, 1 << 14, &s, &t, None).unwrap();
        if !directed {
            check_tree(&g, 5, &on_threads("bfs", || bfs(&g, 5, None, &run).unwrap()));
            let found = on_threads("components", || connected_components(&g, &run).unwrap());
            let reached = serial_distances(&g, found.nodes(0)[0]);
            assert_eq!(reached.iter().filter(|d| **d != NONE).count(), found.sizes[0] as usize);
            continue;
        }
        let before = on_threads("bfs", || bfs(&g, 5, None, &run).unwrap());
        let weak = on_threads("components", || weakly_connected_components(&g, &run).unwrap());
        let strong = on_threads("components", || strongly_connected_components(&g, &run).unwrap());
        assert!(g.made_in_rows().is_some());
        assert_eq!(on_threads("bfs", || bfs(&g, 5, None, &run).unwrap()), before);
        assert_eq!(weakly_connected_components(&g, &run).unwrap(), weak);
        check_tree(&g, 5, &before);
        let pivot = strong.nodes(0)[0];
        let (to, from) = (distances_to(&g, &[pivot], None, &run).unwrap(), serial_distances(&g, pivot));
        let members: Vec<u32> = (0..1 << 14).filter(|v| to[*v as usize] != NONE && from[*v as usize] != NONE).collect();
        assert_eq!(strong.nodes(0), members);
    }
}

#[test]
fn core_numbers_in_rounds_are_those_by_buckets() {
    let (run, n) = (Run::silent(), 1 << 15);
    let (s, t) = generate::rmat(15, 100, 4);
    let (s, t): (Vec<u32>, Vec<u32>) = s.into_iter().zip(t).filter(|(u, v)| u != v).unzip();
    let g = Graph::new(true, n, &s, &t, None).unwrap();
    assert!(2 * g.simple().edges() >= 1 << 22, "the graph is too small for rounds");
    on_threads("core_number", || core_number(&g, &run).unwrap());
}

#[test]
fn degenerate_graphs_have_results() {
    let run = Run::silent();
    let isolated = Graph::new(false, 2_000_000, &[], &[], None).unwrap();
    assert_eq!(connected_components(&isolated, &run).unwrap().count(), 2_000_000);
    assert_eq!(core_number(&isolated, &run).unwrap().len(), 2_000_000);
    assert_eq!(bfs(&isolated, 7, None, &run).unwrap().distance[7], 0);
    assert!(diameter(&isolated, &run).is_err() && eccentricity(&isolated, &run).is_err());
    let (s, t) = generate::path(100_000);
    let path = Graph::new(false, 100_000, &s, &t, None).unwrap();
    assert_eq!(diameter(&path, &run).unwrap(), 99_999);
    let (s, t) = generate::star(300_000);
    let star = Graph::new(false, 300_001, &s, &t, None).unwrap();
    assert_eq!((diameter(&star, &run).unwrap(), bfs(&star, 9, None, &run).unwrap().distance[10]), (2, 2));
}

#[test]
fn stopped_work_is_an_error() {
    let run = Run { is_stopped: &|| true, ..Run::silent() };
    let (s, t) = generate::complete(20);
    let g = Graph::new(false, 20, &s, &t, None).unwrap();
    assert!(bfs(&g, 0, None, &run).unwrap_err().is_stopped());
    assert!(connected_components(&g, &run).unwrap_err().is_stopped());
    assert!(core_number(&g, &run).unwrap_err().is_stopped());
    assert!(eccentricity(&g, &run).unwrap_err().is_stopped());
    assert!(bfs(&g, 20, None, &Run::silent()).unwrap_err().message.starts_with("no node 20"));
}
