//! Similarities, spanning trees and trusses against NetworkX (`tests/graph/expect_similarity.py`).

use onrush_graph::similarity::{
    self, Scores, adamic_adar_index, common_neighbors, jaccard_coefficient, preferential_attachment,
    resource_allocation_index, top_pairs,
};
use onrush_graph::tree::{maximum_spanning_edges, minimum_spanning_edges};
use onrush_graph::truss::k_truss;
use onrush_graph::{Error, Graph, Run, generate};
use serde_json::Value;

use crate::support::{assert_close, bits, edges, expected, graphs, integers, numbers, on_threads};

type Measure = fn(&Graph, Option<&[(u32, u32)]>, &Run) -> Result<Scores, Error>;

const MEASURES: [(&str, Measure); 5] = [
    ("common_neighbors", common_neighbors),
    ("jaccard_coefficient", jaccard_coefficient),
    ("adamic_adar_index", adamic_adar_index),
    ("resource_allocation_index", resource_allocation_index),
    ("preferential_attachment", preferential_attachment),
];

fn pairs(value: &Value) -> Vec<(u32, u32)> {
    let ends = integers_of(value);
    ends.chunks(2).map(|pair| (pair[0], pair[1])).collect()
}

fn integers_of(value: &Value) -> Vec<u32> {
    numbers(value).into_iter().map(|v| v as u32).collect()
}

#[test]
fn similarities_are_those_of_networkx() {
    let all = expected("similarity.json");
    for edges in graphs().into_iter().filter(|edges| !edges.directed) {
        let wanted = &all[&edges.name]["scores"];
        let (some, far) = (pairs(&wanted["some"]), pairs(&wanted["far"]));
        for edges in [edges.clone(), edges.permuted()] {
            for (name, measure) in MEASURES {
                let what = format!("{} {name}", edges.name);
                let graph = edges.graph();
                let found = on_threads(&what, || measure(&graph, Some(&some), &Run::silent())).unwrap();
                assert_close(&found.values, &numbers(&wanted["scores"][name]), 1e-12, &what);
                let found = on_threads(&what, || measure(&graph, None, &Run::silent())).unwrap();
                // Long lists are left out of the expectations.
                if found.pairs.len() < 200 {
                    assert_eq!(found.pairs, far, "{what}");
                    assert_close(&found.values, &numbers(&wanted["far_scores"][name]), 1e-12, &what);
                }
                let again = measure(&graph, Some(&found.pairs), &Run::silent()).unwrap();
                assert_eq!(bits(&again.values), bits(&found.values), "{what}: given pairs");
            }
        }
    }
}

#[test]
fn long_and_short_rows_are_compared_alike() {
    let (s, t) = generate::rmat(10, 16, 1);
    let graph = Graph::new(false, 1 << 10, &s, &t, None).unwrap();
    let run = Run::silent();
    let simple = graph.simple();
    let found = on_threads("rmat", || common_neighbors(&graph, None, &run)).unwrap();
    assert!(found.pairs.windows(2).all(|pair| pair[0] < pair[1]));
    for ((u, v), value) in found.pairs.iter().zip(&found.values).step_by(97) {
        let row = simple.out_rows().row(*v);
        let both = simple.out_rows().row(*u).iter().filter(|w| row.contains(w)).count();
        assert_eq!(both as f64, *value);
        assert_eq!(common_neighbors(&graph, Some(&[(*u, *v), (*v, *u)]), &run).unwrap().values, [*value; 2]);
    }
}

#[test]
fn spanning_trees_weigh_what_those_of_networkx_do() {
    let all = expected("similarity.json");
    for edges in graphs().into_iter().filter(|edges| !edges.directed) {
        let (graph, run) = (edges.graph(), Run::silent());
        let weights = |tree: Vec<u32>| -> Vec<f64> {
            tree.into_iter().map(|e| edges.weights.as_ref().map_or(1.0, |w| w[e as usize])).collect()
        };
        // All trees of the lowest sum have the same weights.
        let least = on_threads(&edges.name, || minimum_spanning_edges(&graph, &run)).unwrap();
        let wanted = &all[&edges.name]["spanning"];
        assert_close(&weights(least), &numbers(&wanted["minimum"]), 0.0, &edges.name);
        let most = on_threads(&edges.name, || maximum_spanning_edges(&graph, &run)).unwrap();
        assert_close(&weights(most), &numbers(&wanted["maximum"]), 0.0, &edges.name);
    }
}

#[test]
fn edges_of_one_weight_are_taken_in_their_order() {
    let graph = Graph::new(false, 3, &[0, 1, 0, 2], &[0, 2, 1, 0], Some(vec![0.0, 1.0, -0.0, 0.0])).unwrap();
    assert_eq!(minimum_spanning_edges(&graph, &Run::silent()).unwrap(), [2, 3]);
    assert_eq!(minimum_spanning_edges(&graph.unweighted(), &Run::silent()).unwrap(), [1, 2]);
    assert_eq!(maximum_spanning_edges(&graph, &Run::silent()).unwrap(), [1, 2]);
}

#[test]
fn trusses_are_those_of_networkx() {
    let all = expected("similarity.json");
    for edges in graphs().into_iter().filter(|edges| !edges.directed) {
        for k in 0..6 {
            let wanted = integers(&all[&edges.name]["trusses"][k.to_string()]);
            let wanted: Vec<u32> = wanted.into_iter().map(|e| e as u32).collect();
            let found = on_threads(&edges.name, || k_truss(&edges.graph(), k, &Run::silent())).unwrap();
            assert_eq!(found, wanted, "{}: {k}", edges.name);
        }
    }
}

#[test]
fn each_edge_of_a_truss_is_in_enough_triangles_of_it() {
    let (s, t) = generate::rmat(10, 8, 6);
    let graph = Graph::new(false, 1 << 10, &s, &t, None).unwrap();
    let mut before = usize::MAX;
    for k in [3, 5, 8, 12] {
        let kept = on_threads("rmat", || k_truss(&graph, k, &Run::silent())).unwrap();
        assert!(!kept.is_empty() && kept.len() < before);
        before = kept.len();
        let ends = |ends: &[u32]| kept.iter().map(|e| ends[*e as usize]).collect::<Vec<u32>>();
        let (s, t) = (ends(&s), ends(&t));
        let truss = Graph::new(false, 1 << 10, &s, &t, None).unwrap();
        let pairs: Vec<(u32, u32)> = s.into_iter().zip(t).collect();
        let triangles = common_neighbors(&truss, Some(&pairs), &Run::silent()).unwrap().values;
        assert!(triangles.iter().all(|count| *count >= f64::from(k - 2)));
    }
}

/// The best pairs are those of the sorted list of all pairs.
#[test]
fn the_best_pairs_are_found_without_all_others() {
    let run = Run::silent();
    let (s, t) = generate::rmat(9, 8, 5);
    let rmat = Graph::new(false, 1 << 9, &s, &t, None).unwrap();
    for graph in [rmat, edges("karate").graph(), edges("multi").graph()] {
        for name in ["overlap", "sorensen", "cosine"].into_iter().chain(MEASURES.map(|(name, _)| name)) {
            let measure = similarity::Measure::named(name).unwrap();
            let all = similarity::scores(&graph, None, measure, &run).unwrap();
            let mut order: Vec<usize> = (0..all.pairs.len()).collect();
            order.sort_by(|a, b| all.values[*b].total_cmp(&all.values[*a]));
            for top in [0, 1, 7, 100, 10_000_000] {
                let found = on_threads(name, || top_pairs(&graph, measure, top, &run).unwrap());
                let best = order.iter().take(top);
                let (pairs, values) = best.map(|at| (all.pairs[*at], all.values[*at])).unzip();
                assert_eq!(found, Scores { pairs, values }, "{name}: {top}");
            }
        }
    }
}

/// All 5e9 pairs of leaves have the score 1: by hand.
#[test]
fn the_best_pairs_of_a_star_need_not_all_pairs() {
    let (s, t) = generate::star(100_000);
    let star = Graph::new(false, 100_001, &s, &t, None).unwrap();
    let found = top_pairs(&star, similarity::Measure::Jaccard, 3, &Run::silent()).unwrap();
    assert_eq!(found, Scores { pairs: vec![(1, 2), (1, 3), (1, 4)], values: vec![1.0; 3] });
}

#[test]
fn mistakes_are_named() {
    let directed = edges("digraph").graph();
    let run = Run::silent();
    let error = jaccard_coefficient(&directed, None, &run).unwrap_err();
    assert_eq!(error.message, "jaccard_coefficient is for undirected graphs, this one is directed");
    assert_eq!(minimum_spanning_edges(&directed, &run).unwrap_err().code(), "directed");
    assert_eq!(k_truss(&directed, 3, &run).unwrap_err().code(), "directed");
    let graph = edges("karate").graph();
    assert_eq!(common_neighbors(&graph, Some(&[(0, 34)]), &run).unwrap_err().code(), "node");
    let stopped = Run { is_stopped: &|| true, ..Run::silent() };
    assert!(common_neighbors(&graph, None, &stopped).unwrap_err().is_stopped());
    assert!(minimum_spanning_edges(&graph, &stopped).unwrap_err().is_stopped());
    assert!(k_truss(&graph, 3, &stopped).unwrap_err().is_stopped());
}

#[test]
fn two_million_isolated_nodes_have_none() {
    let graph = Graph::new(false, 2_000_000, &[], &[], None).unwrap();
    let run = Run::silent();
    assert_eq!(jaccard_coefficient(&graph, None, &run).unwrap(), Scores::default());
    assert_eq!(jaccard_coefficient(&graph, Some(&[(0, 1)]), &run).unwrap().values, [0.0]);
    assert!(minimum_spanning_edges(&graph, &run).unwrap().is_empty());
    assert!(k_truss(&graph, 4, &run).unwrap().is_empty());
}
