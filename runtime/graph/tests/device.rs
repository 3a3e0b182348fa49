//! Algorithms on the emulated device against those of the host, which are checked against NetworkX in the other tests.

#[path = "support/device.rs"]
mod device_support;
#[path = "support/expectations.rs"]
mod support;

use device_support::{Emulated, cases};
use onrush_graph::device::DeviceGraph;
use onrush_graph::{Graph, Rows};
use onrush_kernels::Context;
use onrush_kernels::graph::Csr;

/// Rows of a device are those of the host bit for bit.
fn assert_same_rows(context: &Context, found: &Csr, expected: &Rows, weights: Option<&[f64]>, what: &str) {
    let stream = &context.stream;
    let offsets = found.offsets.read::<u32>(0..expected.nodes() + 1, stream).unwrap();
    let wanted: Vec<u32> = expected.offsets.iter().map(|o| *o as u32).collect();
    assert_eq!(offsets, if wanted.is_empty() { vec![0] } else { wanted }, "{what}: offsets");
    let arcs = 0..expected.targets.len();
    assert_eq!(found.targets.read::<u32>(arcs.clone(), stream).unwrap(), expected.targets, "{what}: targets");
    let edges = found.edges.as_ref().unwrap().read::<u32>(arcs.clone(), stream).unwrap();
    assert_eq!(edges, expected.edges, "{what}: edges");
    let found = found.weights.as_ref().map(|w| w.read::<f64>(arcs, stream).unwrap());
    assert_eq!(found.as_deref(), weights, "{what}: weights");
}

fn assert_same_graph(context: &Context, found: &DeviceGraph, expected: &Graph, what: &str) {
    assert_eq!((found.nodes(), found.edges() as usize), (expected.nodes(), expected.edges()), "{what}");
    assert_same_rows(context, found.out_rows(), expected.out_rows(), expected.out_weights(), what);
    let into = found.in_rows(context).unwrap();
    assert_same_rows(context, into, expected.in_rows(), expected.in_weights(), &format!("{what}, by target"));
}

#[test]
fn uploaded_rows_and_their_transposition_are_those_of_the_host() {
    let device = Emulated::new();
    for (name, graph) in cases() {
        let found = DeviceGraph::upload(&device.context, &graph, true).unwrap();
        assert_same_graph(&device.context, &found, &graph, &name);
        assert_eq!(found.is_weighted(), graph.is_weighted());
        let plain = found.unweighted();
        assert!(!plain.is_weighted() && plain.in_rows(&device.context).unwrap().weights.is_none());
    }
    device.assert_freed();
}
