//! Triangles, clustering and core numbers on the emulated device: those of the host, which are checked against
//! NetworkX.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use onrush_graph::betweenness::{BetweennessOptions, Sources, betweenness_centrality};
use onrush_graph::device::{self, DeviceGraph, cluster as device_cluster, cores as device_cores};
use onrush_graph::{Graph, Run, cluster, cores, generate, similarity};

use crate::support::device::{Emulated, cases};

/// All cases, and a graph with rows of more than a thousand neighbours that are neighbours.
fn graphs() -> Vec<(String, Graph)> {
    let mut all = cases();
    let (s, t) = generate::complete(300);
    all.push(("complete".into(), Graph::new(false, 301, &s, &t, None).unwrap()));
    let (s, t) = generate::rmat(11, 24, 8);
    all.push(("dense rmat".into(), Graph::new(false, 1 << 11, &s, &t, None).unwrap()));
    all
}

#[test]
fn triangles_and_clustering_are_those_of_the_host() {
    let device = Emulated::new();
    let (context, run) = (&device.context, Run::silent());
    for (name, graph) in graphs() {
        let there = DeviceGraph::upload(context, &graph, false).unwrap();
        let values = device_cluster::clustering(&there, false, context, &run).unwrap().download(context).unwrap();
        assert_eq!(values, cluster::clustering(&graph, false, &run).unwrap(), "{name}");
        let average = device_cluster::average_clustering(&there, false, true, context, &run).ok();
        assert_eq!(average, cluster::average_clustering(&graph, false, true, &run).ok(), "{name}");
        let share = device_cluster::transitivity(&there, context, &run).unwrap();
        assert_eq!(share, cluster::transitivity(&graph, &run).unwrap(), "{name}");
        if graph.is_directed() {
            assert!(device_cluster::triangles(&there, context, &run).is_err());
            continue;
        }
        let found = device_cluster::triangles(&there, context, &run).unwrap().download(context).unwrap();
        assert_eq!(found, cluster::triangles(&graph, &run).unwrap(), "{name}");
    }
    device.assert_freed();
}

#[test]
fn core_numbers_are_those_of_the_host() {
    let device = Emulated::new();
    let (context, run) = (&device.context, Run::silent());
    for (name, graph) in graphs() {
        let there = DeviceGraph::upload(context, &graph, false).unwrap();
        let found = device_cores::core_number(&there, context, &run);
        let found = found.map(|core| core.download(context).unwrap()).map_err(|e| e.to_string());
        assert_eq!(found, cores::core_number(&graph, &run).map_err(|e| e.to_string()), "{name}");
        // Most of the cases have loops.
        let simple = graph.simple();
        let there = DeviceGraph::upload(context, &simple, false).unwrap();
        let found = device_cores::core_number(&there, context, &run).unwrap().download(context).unwrap();
        assert_eq!(found, cores::core_number(&simple, &run).unwrap(), "{name}");
    }
    device.assert_freed();
}

#[test]
fn betweenness_is_that_of_the_host() {
    let device = Emulated::new();
    let (context, run) = (&device.context, Run::silent());
    let options =
        |sources, normalized, endpoints, weighted| BetweennessOptions { sources, normalized, endpoints, weighted };
    for (name, graph) in cases() {
        let there = DeviceGraph::upload(context, &graph, true).unwrap();
        let n = graph.nodes();
        let mut all = vec![options(Sources::Sample { k: n.min(11), seed: 3 }, true, true, false)];
        if n < 100 {
            all.push(options(Sources::All, false, false, false));
            all.push(options(Sources::All, true, true, true));
        }
        for options in all {
            let expected = betweenness_centrality(&graph, &options, &run);
            let found = device::betweenness::betweenness_centrality(&there, &options, context, &run);
            let (found, expected) = match (found, expected) {
                (Ok(found), Ok(expected)) => (found.download(context).unwrap(), expected),
                (found, expected) => {
                    assert_eq!(found.err().map(|e| e.to_string()), expected.err().map(|e| e.message), "{name}");
                    continue;
                }
            };
            assert_eq!(found.len(), n, "{name}");
            for (v, (f, e)) in found.iter().zip(&expected).enumerate() {
                let near = (f - e).abs() <= 1e-9 * e.abs() || (f.is_nan() && e.is_nan());
                assert!(near, "{name}: node {v} has {f}, not {e}");
            }
        }
    }
    device.assert_freed();
}

/// The last looks at whether the user stops it are those of the pass back.
#[test]
fn betweenness_may_be_stopped_on_the_way_back() {
    let device = Emulated::new();
    let context = &device.context;
    let (s, t) = generate::path(200);
    let graph = Graph::new(true, 200, &s, &t, None).unwrap();
    let there = DeviceGraph::upload(context, &graph, false).unwrap();
    let options = BetweennessOptions { sources: Sources::Nodes(vec![0]), ..BetweennessOptions::default() };
    let looks = AtomicUsize::new(0);
    let most = AtomicUsize::new(usize::MAX);
    let is_stopped = || looks.fetch_add(1, Relaxed) >= most.load(Relaxed);
    let run = Run { is_stopped: &is_stopped, ..Run::silent() };
    device::betweenness::betweenness_centrality(&there, &options, context, &run).unwrap();
    // The number of looks depends on the speed of the machine. The last looks of a run are on the way back. A run that
    // ends has had fewer than allowed. A run that stops on the way out has had more than the one before.
    let mut message = String::new();
    let mut allowed = looks.swap(0, Relaxed) - 1;
    for _ in 0..200 {
        most.store(allowed, Relaxed);
        message = match device::betweenness::betweenness_centrality(&there, &options, context, &run) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        };
        if message.contains("levels back of betweenness_centrality") {
            break;
        }
        let seen = looks.swap(0, Relaxed);
        allowed = if message.is_empty() { seen - 1 } else { allowed + allowed / 8 + 1 };
    }
    assert!(message.contains("levels back of betweenness_centrality"), "{message}");
    drop(there);
    device.assert_freed();
}

#[test]
fn similarities_are_those_of_the_host() {
    type Host = fn(&Graph, Option<&[(u32, u32)]>, &Run) -> Result<similarity::Scores, onrush_graph::Error>;
    type There =
        fn(&DeviceGraph, &[(u32, u32)], &onrush_kernels::Context, &Run) -> device::Result<device::DeviceValues<f64>>;
    let measures: [(Host, There); 8] = [
        (similarity::common_neighbors, device::similarity::common_neighbors),
        (similarity::jaccard_coefficient, device::similarity::jaccard_coefficient),
        (similarity::adamic_adar_index, device::similarity::adamic_adar_index),
        (similarity::resource_allocation_index, device::similarity::resource_allocation_index),
        (similarity::preferential_attachment, device::similarity::preferential_attachment),
        (similarity::overlap, device::similarity::overlap),
        (similarity::sorensen, device::similarity::sorensen),
        (similarity::cosine, device::similarity::cosine),
    ];
    let device = Emulated::new();
    let (context, run) = (&device.context, Run::silent());
    for (name, graph) in cases().into_iter().filter(|(_, g)| !g.is_directed() && g.nodes() > 0) {
        let there = DeviceGraph::upload(context, &graph, false).unwrap();
        let n = graph.nodes() as u64;
        let node = |i: u64| (generate::hash(4, i) % n) as u32;
        let pairs: Vec<(u32, u32)> = (0..500).map(|i| (node(2 * i), node(2 * i + 1))).collect();
        for (m, (on_host, on_device)) in measures.iter().enumerate() {
            let expected = on_host(&graph, Some(&pairs), &run).unwrap().values;
            let found = on_device(&there, &pairs, context, &run).unwrap().download(context).unwrap();
            for (i, (f, e)) in found.iter().zip(&expected).enumerate() {
                let near = f == e || (f - e).abs() <= 1e-12 * e.abs();
                assert!(near, "{name}, measure {m}: pair {i} has {f}, not {e}");
            }
        }
        assert!(device::similarity::jaccard_coefficient(&there, &[(0, n as u32)], context, &run).is_err());
    }
    device.assert_freed();
}
