//! Pairs at distance 2.

use onrush_graph::similarity::{Measure, two_hops};
use onrush_graph::{Graph, Run, generate};

// The five leaves of a star are ten pairs.
#[test]
fn too_many_pairs_are_an_error() {
    let (sources, targets) = generate::star(5);
    let graph = Graph::new(false, 6, &sources, &targets, None).unwrap();
    let found = |most| two_hops(&graph, Measure::CommonNeighbors, most, &Run::silent());
    assert_eq!(found(10).unwrap().pairs.len(), 10);
    assert_eq!(found(9).unwrap_err().code(), "size");
}

// No pair of a complete graph is at distance 2.
#[test]
fn neighbors_do_not_count_as_pairs() {
    let ends = (0..6).flat_map(|u| (0..u).map(move |v| (u, v)));
    let (sources, targets): (Vec<u32>, Vec<u32>) = ends.unzip();
    let graph = Graph::new(false, 6, &sources, &targets, None).unwrap();
    let found = two_hops(&graph, Measure::CommonNeighbors, 0, &Run::silent());
    assert!(found.unwrap().pairs.is_empty());
}
