//! Triangles, clustering and core numbers on the emulated device: those of the host, which are checked against NetworkX.

#[path = "support/device.rs"]
mod device_support;
#[path = "support/expectations.rs"]
mod support;

use device_support::{Emulated, cases};
use onrush_graph::device::{DeviceGraph, cluster as device_cluster, cores as device_cores};
use onrush_graph::{Graph, Run, cluster, cores, generate};

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
        if graph.is_directed() {
            assert!(device_cluster::triangles(&there, context, &run).is_err());
            continue;
        }
        let found = device_cluster::triangles(&there, context, &run).unwrap().download(context).unwrap();
        assert_eq!(found, cluster::triangles(&graph, &run).unwrap(), "{name}");
        let share = device_cluster::transitivity(&there, context, &run).unwrap();
        assert_eq!(share, cluster::transitivity(&graph, &run).unwrap(), "{name}");
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
