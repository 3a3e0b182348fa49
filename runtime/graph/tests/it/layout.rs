//! Layouts against NetworkX from the same positions (`tests/graph/expect_layout.py`), and of larger graphs by
//! properties.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use onrush_graph::layout::{
    ForceAtlas2, Point, Spectral, Spring, circular_layout, forceatlas2_layout, spectral_layout, spring_layout,
};
use onrush_graph::{Graph, Run, generate};
use serde_json::Value;

use crate::support::{assert_close, bits, edges, expected, numbers, on_threads};

fn points(value: &Value) -> Vec<Point> {
    numbers(value).chunks(2).map(|p| [p[0], p[1]]).collect()
}

fn check(what: &str, found: impl Fn() -> Vec<Point> + Sync, wanted: &Value) {
    let found = on_threads(what, || bits(found().as_flattened()));
    let found: Vec<f64> = found.into_iter().map(f64::from_bits).collect();
    assert_close(&found, &numbers(wanted), 1e-7, what);
}

#[test]
fn forceatlas2_is_that_of_networkx() {
    let plain = |max_iter: usize| ForceAtlas2 { max_iter, ..ForceAtlas2::default() };
    let options = [
        plain(1),
        plain(8),
        ForceAtlas2 { linlog: true, strong_gravity: true, ..plain(4) },
        ForceAtlas2 { distributed_action: true, scaling_ratio: 5.0, gravity: 0.3, jitter_tolerance: 2.0, ..plain(4) },
        ForceAtlas2 { weighted: true, ..plain(4) },
    ];
    for (name, wanted) in expected("layout.json")["graphs"].as_object().unwrap() {
        let (graph, start) = (edges(name).graph(), points(&wanted["start"]));
        for (i, options) in options.iter().enumerate() {
            let found = || forceatlas2_layout(&graph, options, Some(&start), &Run::silent()).unwrap();
            check(&format!("{name} {i}"), found, &wanted["forceatlas2"][i]);
        }
    }
}

#[test]
fn spring_is_that_of_networkx() {
    let plain = |iterations: usize| Spring { iterations, ..Spring::default() };
    let options = [
        plain(1),
        plain(10),
        Spring { k: Some(0.5), scale: Some(3.0), center: [2.0, -1.0], weighted: false, ..plain(5) },
        Spring { fixed: vec![0, 1], ..plain(5) },
    ];
    for (name, wanted) in expected("layout.json")["graphs"].as_object().unwrap() {
        let (graph, start) = (edges(name).graph(), points(&wanted["start"]));
        for (i, options) in options.iter().enumerate() {
            let found = || spring_layout(&graph, options, Some(&start), &Run::silent()).unwrap();
            check(&format!("{name} {i}"), found, &wanted["spring"][i]);
        }
    }
}

#[test]
fn spectral_is_that_of_networkx() {
    let all = expected("layout.json");
    let all = all["spectral"].as_object().unwrap();
    assert!(all.len() >= 8, "graphs with different eigenvalues: {}", all.len());
    for (name, wanted) in all {
        let graph = edges(name).graph();
        let options = Spectral { scale: 2.0, ..Spectral::default() };
        let found =
            on_threads(name, || bits(spectral_layout(&graph, &options, &Run::silent()).unwrap().as_flattened()));
        let found: Vec<f64> = found.into_iter().map(f64::from_bits).collect();
        let wanted = numbers(wanted);
        for axis in 0..2 {
            let of_axis = |values: &[f64]| values.iter().skip(axis).step_by(2).copied().collect::<Vec<f64>>();
            let (found, wanted) = (of_axis(&found), of_axis(&wanted));
            // An eigenvector has two signs.
            let sign = found.iter().zip(&wanted).map(|(a, b)| a * b).sum::<f64>().signum();
            let wanted: Vec<f64> = wanted.iter().map(|x| sign * x).collect();
            assert_close(&found, &wanted, 1e-6, &format!("{name}, axis {axis}"));
        }
    }
}

// By hand: the Laplacian of a cycle has the sines and cosines of one turn as eigenvectors.
#[test]
fn a_cycle_is_a_circle() {
    let n = 60u32;
    let targets: Vec<u32> = (1..=n).map(|v| v % n).collect();
    let cycle = Graph::new(false, n, &(0..n).collect::<Vec<u32>>(), &targets, None).unwrap();
    let found = spectral_layout(&cycle, &Spectral::default(), &Run::silent()).unwrap();
    let radii: Vec<f64> = found.iter().map(|[x, y]| x.hypot(*y)).collect();
    assert_close(&radii, &vec![radii[0]; n as usize], 1e-6, "distances from the middle");
    let steps: Vec<f64> = (0..n as usize)
        .map(|v| {
            let ([a, b], [c, d]) = (found[v], found[targets[v] as usize]);
            (a - c).hypot(b - d)
        })
        .collect();
    assert_close(&steps, &vec![steps[0]; n as usize], 1e-6, "steps of the circle");
}

#[test]
fn circles_are_those_of_networkx() {
    for (n, wanted) in [0, 1, 2, 3, 8, 31].into_iter().zip(expected("layout.json")["circular"].as_array().unwrap()) {
        // NetworkX computes with 32 bits.
        assert_close(circular_layout(n, 2.0, [1.0, 3.0]).as_flattened(), &numbers(wanted), 1e-6, "circle");
    }
}

/// Groups of 100 nodes.
fn groups(count: u32) -> Graph {
    let n = 100 * count;
    let below = |counter: u64, n: u32| (generate::hash(8, counter) % u64::from(n)) as u32;
    let ends = (0..10 * n).map(|e| {
        let v = e / 10;
        let inside = v / 100 * 100 + below(u64::from(e), 100);
        (v, if e % 10 == 9 { below(u64::from(e), n) } else { inside })
    });
    let (s, t): (Vec<u32>, Vec<u32>) = ends.unzip();
    Graph::new(false, n, &s, &t, None).unwrap()
}

#[test]
fn large_layouts_repeat_and_keep_groups_together() {
    let graph = groups(24);
    let n = graph.nodes();
    let force_atlas = |seed: u64| {
        let options = ForceAtlas2 { max_iter: 150, seed, ..ForceAtlas2::default() };
        move |graph: &Graph| forceatlas2_layout(graph, &options, None, &Run::silent()).unwrap()
    };
    let layouts: [(&str, Vec<Point>, Vec<Point>); 2] = [
        ("forceatlas2", on_threads("forceatlas2", || force_atlas(1)(&graph)), force_atlas(2)(&graph)),
        (
            "spring",
            on_threads("spring", || spring_layout(&graph, &Spring::default(), None, &Run::silent()).unwrap()),
            spring_layout(&graph, &Spring { seed: 2, ..Spring::default() }, None, &Run::silent()).unwrap(),
        ),
    ];
    for (name, found, other) in layouts {
        assert!(found != other && found.as_flattened().iter().all(|x| x.is_finite()), "{name}");
        // Mean distance within a group, and between random nodes.
        let distance = |u: usize, v: usize| (found[u][0] - found[v][0]).hypot(found[u][1] - found[v][1]);
        let within: f64 = (0..n).map(|v| distance(v, v / 100 * 100 + (v * 7 + 1) % 100)).sum();
        let between: f64 = (0..n).map(|v| distance(v, (v * 1013 + 1) % n)).sum();
        println!("{name}: {within} {between}");
        assert!(within < 0.9 * between, "{name}: {within} {between}");
    }
}

#[test]
fn mistakes_are_named() {
    let graph = edges("karate").graph();
    let run = Run::silent();
    let error = forceatlas2_layout(&graph, &ForceAtlas2::default(), Some(&[[0.0, 0.0]]), &run).unwrap_err();
    assert_eq!(error.message, "1 positions for 34 nodes: a node has one");
    let options = ForceAtlas2 { scaling_ratio: 0.0, ..ForceAtlas2::default() };
    let error = forceatlas2_layout(&graph, &options, None, &run).unwrap_err();
    assert_eq!(error.message, "scaling_ratio is 0, expected a finite number above 0");
    let error = spring_layout(&graph, &Spring { fixed: vec![3], ..Spring::default() }, None, &run).unwrap_err();
    assert_eq!(error.message, "1 nodes are fixed, and there are no positions");
    let nan = spring_layout(&graph, &Spring::default(), Some(&[[f64::NAN, 0.0]; 34]), &run).unwrap_err();
    assert_eq!(nan.message, "the position of node 0 is [NaN, 0.0], expected finite numbers");
    let stopped = Run { is_stopped: &|| true, ..Run::silent() };
    assert!(forceatlas2_layout(&graph, &ForceAtlas2::default(), None, &stopped).unwrap_err().is_stopped());
    assert!(spring_layout(&graph, &Spring::default(), None, &stopped).unwrap_err().is_stopped());
}

/// A path needs more than 16 steps of conjugate gradients: the second look is in the middle of the first vector.
#[test]
fn the_spectral_layout_may_be_stopped_within_a_round() {
    let (s, t) = generate::path(1000);
    let graph = Graph::new(false, 1000, &s, &t, None).unwrap();
    let looks = AtomicUsize::new(0);
    let run = Run { is_stopped: &|| looks.fetch_add(1, Relaxed) == 1, ..Run::silent() };
    let error = spectral_layout(&graph, &Spectral::default(), &run).unwrap_err();
    assert!(error.is_stopped());
    assert_eq!(error.message, "stopped after 0 rounds and 16 steps of the next of spectral_layout");
}

#[test]
fn graphs_without_edges_have_positions() {
    for n in [0, 1, 2, 200_000] {
        let graph = Graph::new(false, n, &[], &[], None).unwrap();
        let (atlas, spring) =
            (ForceAtlas2 { max_iter: 1, ..ForceAtlas2::default() }, Spring { iterations: 1, ..Spring::default() });
        let layouts = [
            forceatlas2_layout(&graph, &atlas, None, &Run::silent()).unwrap(),
            spring_layout(&graph, &spring, None, &Run::silent()).unwrap(),
        ];
        for found in layouts {
            assert_eq!(found.len(), n as usize);
            assert!(found.as_flattened().iter().all(|x| x.is_finite()));
        }
    }
}
