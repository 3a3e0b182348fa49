//! PageRank, HITS, eigenvector and Katz centrality against NetworkX 3.6.1 (`tests/graph/expect_rank.py`).

use onrush_graph::eigenvector::{Eigenvector, Katz, eigenvector_centrality, katz_centrality};
use onrush_graph::link_analysis::{Hits, PageRank, hits, pagerank};
use onrush_graph::{Graph, Run, generate};

use crate::support::{assert_close, bits, edges, expected, graphs, numbers, on_threads};

#[test]
fn ranks_are_those_of_networkx() {
    let (expected, run) = (expected("rank.json"), Run::silent());
    for edges in graphs() {
        let (g, name) = (edges.graph(), &edges.name);
        for case in expected[name]["pagerank"].as_array().unwrap() {
            let params = &case["params"];
            let vector = |name: &str| params.get(name).map(numbers);
            let vectors = (vector("personalization"), vector("nstart"), vector("dangling"));
            let options = PageRank {
                alpha: params.get("alpha").map_or(0.85, |a| a.as_f64().unwrap()),
                tol: params.get("tol").map_or(1e-6, |a| a.as_f64().unwrap()),
                max_iter: params.get("max_iter").map_or(100, |a| a.as_u64().unwrap() as usize),
                personalization: vectors.0.as_deref(),
                nstart: vectors.1.as_deref(),
                dangling: vectors.2.as_deref(),
                fail_on_nonconvergence: true,
            };
            let g = if case["unweighted"].as_bool().unwrap() { g.unweighted() } else { g.clone() };
            match pagerank(&g, &options, &run) {
                Ok(ranks) => assert_close(&ranks, &numbers(&case["ranks"]), 1e-12, &format!("{name} {params}")),
                Err(error) => {
                    assert!(case["ranks"].is_null(), "{name} {params}: {error}");
                    assert_eq!(error.code(), "convergence");
                }
            }
        }
    }
}

#[test]
fn hubs_and_authorities_are_those_of_networkx() {
    let (expected, run) = (expected("rank.json"), Run::silent());
    let mut compared = 0;
    for edges in graphs() {
        let (g, name) = (edges.graph(), &edges.name);
        let (hubs, authorities) = hits(&g, &Hits::default(), &run).unwrap_or_else(|e| panic!("{name}: {e}"));
        let case = &expected[name]["hits"];
        if !case.is_null() {
            compared += 1;
            assert_close(&hubs, &numbers(&case["hubs"]), 1e-6, name);
            assert_close(&authorities, &numbers(&case["authorities"]), 1e-6, name);
        }
    }
    assert!(compared > 8, "{compared} graphs were compared");
}

#[test]
fn centralities_are_those_of_networkx() {
    let (expected, run) = (expected("rank.json"), Run::silent());
    for edges in graphs() {
        let (g, name) = (edges.graph(), &edges.name);
        let case = &expected[name];
        let options = Eigenvector { max_iter: 1000, ..Eigenvector::default() };
        match eigenvector_centrality(&g, &options, &run) {
            Ok(found) => assert_close(&found, &numbers(&case["eigenvector"]), 1e-9, name),
            Err(error) => assert!(case["eigenvector"].is_null(), "{name}: {error}"),
        }
        match katz_centrality(&g, &Katz { alpha: 0.01, beta: 0.5, ..Katz::default() }, &run) {
            Ok(found) if g.nodes() > 0 => assert_close(&found, &numbers(&case["katz"]), 1e-12, name),
            Ok(found) => assert!(found.is_empty()),
            Err(error) => assert!(case["katz"].is_null(), "{name}: {error}"),
        }
    }
}

#[test]
fn ranks_are_the_same_on_any_number_of_threads() {
    let run = Run::silent();
    let (s, t) = generate::rmat(13, 20, 9);
    let weights: Vec<f64> = (0..s.len()).map(|e| generate::uniform(2, e as u64)).collect();
    for weights in [None, Some(weights)] {
        let g = Graph::new(true, 1 << 13, &s, &t, weights).unwrap();
        let ranks = on_threads("pagerank", || bits(&pagerank(&g, &PageRank::default(), &run).unwrap()));
        let sum: f64 = ranks.iter().map(|r| f64::from_bits(*r)).sum();
        assert!((sum - 1.0).abs() < 1e-9);
        on_threads("hits", || {
            let (hubs, authorities) = hits(&g, &Hits::default(), &run).unwrap();
            (bits(&hubs), bits(&authorities))
        });
        on_threads("eigenvector", || bits(&eigenvector_centrality(&g, &Eigenvector::default(), &run).unwrap()));
        let katz = Katz { alpha: 1e-4, ..Katz::default() };
        on_threads("katz", || bits(&katz_centrality(&g, &katz, &run).unwrap()));
    }
}

#[test]
fn permuted_edges_have_the_same_ranks() {
    let run = Run::silent();
    for name in ["digraph", "multi_weighted_digraph", "karate"] {
        let edges = edges(name);
        let rank = |g: &Graph| pagerank(g, &PageRank::default(), &run).unwrap();
        assert_close(&rank(&edges.permuted().graph()), &rank(&edges.graph()), 1e-14, name);
    }
}

#[test]
fn wrong_parameters_are_named() {
    let run = Run::silent();
    let g = edges("digraph").graph();
    let error = |options: PageRank| pagerank(&g, &options, &run).unwrap_err().message;
    let alpha = error(PageRank { alpha: 2.0, ..PageRank::default() });
    assert_eq!(alpha, "`alpha` is 2, expected a probability from 0 to 1");
    let zeros = error(PageRank { personalization: Some(&[0.0; 50]), ..PageRank::default() });
    assert_eq!(zeros, "`personalization` is 0 at every node, expected a number above 0 at one");
    let short = error(PageRank { dangling: Some(&[1.0]), ..PageRank::default() });
    assert_eq!(short, "`dangling` has 1 values for 50 nodes, expected one each");
    let negative = Graph::new(true, 2, &[0, 1], &[1, 0], Some(vec![1.0, -1.0])).unwrap();
    assert_eq!(pagerank(&negative, &PageRank::default(), &run).unwrap_err().code(), "weight");
    let isolated = Graph::new(true, 2_000_000, &[], &[], None).unwrap();
    assert!((pagerank(&isolated, &PageRank::default(), &run).unwrap()[0] * 2e6 - 1.0).abs() < 1e-9);
}
