//! Layouts on the emulated device against those of the host, which are checked against NetworkX in `layout.rs`.

use onrush_graph::device::{DeviceGraph, layout as device_layout};
use onrush_graph::layout::{ForceAtlas2, Point, forceatlas2_layout};
use onrush_graph::{Graph, Run, generate};

use crate::support::device::{Emulated, cases};

/// The mean distance of two layouts over the mean distance from their middle.
fn difference(found: &[Point], expected: &[Point]) -> f64 {
    let far = |a: &Point, b: &Point| (a[0] - b[0]).hypot(a[1] - b[1]);
    let n = expected.len().max(1) as f64;
    let middle = [0, 1].map(|axis| expected.iter().map(|p| p[axis]).sum::<f64>() / n);
    let size: f64 = expected.iter().map(|p| far(p, &middle)).sum();
    let moved: f64 = found.iter().zip(expected).map(|(f, e)| far(f, e)).sum();
    if moved == 0.0 { 0.0 } else { moved / size }
}

fn check(device: &Emulated, graph: &Graph, options: &ForceAtlas2, pos: Option<&[Point]>, what: &str) {
    let (context, run) = (&device.context, Run::silent());
    let there = DeviceGraph::upload(context, graph, false).unwrap();
    let expected = forceatlas2_layout(graph, options, pos, &run).unwrap();
    let found = device_layout::forceatlas2_layout(&there, options, pos, context, &run);
    let found = found.and_then(|points| points.download(context)).unwrap();
    assert_eq!(found.len(), expected.len(), "{what}");
    let difference = difference(&found, &expected);
    assert!(difference <= 1e-6, "{what}: {difference:.2e}");
}

#[test]
fn iterations_are_those_of_the_host() {
    let plain = ForceAtlas2 { max_iter: 2, ..ForceAtlas2::default() };
    let other = ForceAtlas2 {
        strong_gravity: true,
        distributed_action: true,
        linlog: true,
        weighted: true,
        gravity: 0.5,
        ..plain.clone()
    };
    let device = Emulated::new();
    for (name, graph) in cases().into_iter().rev().step_by(3) {
        check(&device, &graph, &plain, None, &name);
        check(&device, &graph, &other, None, &format!("{name}, other options"));
    }
    device.assert_freed();
}

#[test]
fn forces_of_many_nodes_are_those_of_the_tree_of_the_host() {
    let (s, t) = generate::rmat(13, 4, 2);
    let n = 9000;
    let graph = Graph::new(false, n, &s, &t, None).unwrap();
    let options = ForceAtlas2 { max_iter: 2, ..ForceAtlas2::default() };
    let device = Emulated::new();
    check(&device, &graph, &options, None, "random");
    // Clouds, and points at one place.
    let cloud = |v: u64| {
        let far = generate::uniform(3, v).powi(5);
        [(v % 7) as f64 + far, (v % 3) as f64 + far * generate::uniform(4, v)]
    };
    let pos: Vec<Point> = (0..u64::from(n)).map(|v| if v < 40 { [0.5, 0.25] } else { cloud(v) }).collect();
    check(&device, &graph, &options, Some(&pos), "clouds");
    device.assert_freed();
}
