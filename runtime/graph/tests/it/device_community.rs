//! Communities on the emulated device: the labels of the host, which are checked against NetworkX and igraph in
//! `community.rs`.

use onrush_graph::community::{self, CommunityOptions};
use onrush_graph::device::{self, DeviceGraph};
use onrush_graph::{Graph, Run, generate};

use crate::support::device::{Emulated, cases};

/// Graphs with enough arcs for moves by classes: R-MAT, planted communities, a star in it, and isolated nodes.
fn large() -> Vec<(String, Graph)> {
    let mut all = Vec::new();
    for (directed, weighted) in [(false, false), (false, true), (true, false), (true, true)] {
        let (mut s, mut t) = generate::rmat(11, 17, 5);
        // A hub of several chunks, and loops.
        s.extend(std::iter::repeat_n(2048, 6000).chain(0..50));
        t.extend((0..6000).map(|v| v % 2000).chain(0..50));
        let weights: Vec<f64> = (0..s.len()).map(|e| generate::uniform(9, e as u64) * 3.0).collect();
        let graph = Graph::new(directed, 2100, &s, &t, weighted.then_some(weights)).unwrap();
        all.push((format!("rmat, directed {directed}, weighted {weighted}"), graph));
    }
    // Communities of 50 nodes, a fifth of the edges between them.
    let n = 3000u32;
    let end = |e: u64, i: u64, bound: u32| (generate::uniform(i, e) * f64::from(bound)) as u32;
    let edge = |e: u64| {
        let u = end(e, 1, n);
        let near = u / 50 * 50 + end(e, 2, 50);
        (u, if generate::uniform(3, e) < 0.8 { near } else { end(e, 4, n) })
    };
    let (s, t): (Vec<u32>, Vec<u32>) = (0..34_000).map(edge).unzip();
    all.push(("planted".into(), Graph::new(false, n, &s, &t, None).unwrap()));
    all
}

fn check(
    graphs: Vec<(String, Graph)>,
    options: &CommunityOptions,
    host: fn(&Graph, &CommunityOptions, &Run) -> Result<Vec<u32>, onrush_graph::Error>,
    on_device: fn(
        &DeviceGraph,
        &CommunityOptions,
        &onrush_kernels::Context,
        &Run,
    ) -> device::Result<device::DeviceValues<u32>>,
) {
    let device = Emulated::new();
    for (name, graph) in graphs {
        let expected = host(&graph, options, &Run::silent()).unwrap();
        let there = DeviceGraph::upload(&device.context, &graph, true).unwrap();
        let found = on_device(&there, options, &device.context, &Run::silent()).unwrap();
        let quality = device::community::modularity(&there, &found, 1.5, &device.context);
        match (quality, community::modularity(&graph, &expected, 1.5)) {
            (Ok(quality), Ok(exact)) => assert!(
                quality == exact || (quality - exact).abs() < 1e-12 || exact.is_nan(),
                "{name}: {quality}, not {exact}"
            ),
            // The graph has no edges.
            (Err(_), Err(_)) => {}
            (quality, exact) => panic!("{name}: {quality:?}, not {exact:?}"),
        }
        let found = found.download(&device.context).unwrap();
        let differ = found.iter().zip(&expected).filter(|(a, b)| a != b).count();
        assert_eq!(differ, 0, "{name}: labels that differ, of {}", expected.len());
        assert_eq!(found.len(), expected.len());
    }
    device.assert_freed();
}

#[test]
fn louvain_has_the_labels_of_the_host() {
    check(
        large(),
        &CommunityOptions::default(),
        community::louvain_communities,
        device::community::louvain_communities,
    );
    let options = CommunityOptions { resolution: 2.5, seed: 7, max_level: Some(2), ..CommunityOptions::default() };
    check(large().split_off(3), &options, community::louvain_communities, device::community::louvain_communities);
}

#[test]
fn leiden_has_the_labels_of_the_host() {
    check(large(), &CommunityOptions::default(), community::leiden_communities, device::community::leiden_communities);
    let options = CommunityOptions { resolution: 0.5, seed: 8, max_level: Some(2), ..CommunityOptions::default() };
    check(large().split_off(3), &options, community::leiden_communities, device::community::leiden_communities);
}

#[test]
fn small_graphs_have_the_labels_of_the_host() {
    let options = CommunityOptions::default();
    check(cases(), &options, community::louvain_communities, device::community::louvain_communities);
    check(cases(), &options, community::leiden_communities, device::community::leiden_communities);
}

#[test]
fn negative_weights_are_refused_with_their_edge() {
    let device = Emulated::new();
    let graph = Graph::new(false, 3, &[0, 1], &[1, 2], Some(vec![1.0, -2.0])).unwrap();
    let there = DeviceGraph::upload(&device.context, &graph, true).unwrap();
    let options = CommunityOptions::default();
    let expected = community::louvain_communities(&graph, &options, &Run::silent()).unwrap_err();
    let found = device::community::louvain_communities(&there, &options, &device.context, &Run::silent());
    assert_eq!(found.err().map(|e| e.to_string()), Some(expected.message));
}
