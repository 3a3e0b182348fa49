//! Random walks: by properties, and by probabilities that are worked out by hand.

use onrush_graph::walks::{WalkOptions, Walks, random_walks};
use onrush_graph::{Graph, Run};

use crate::support::{edges, graphs, on_threads};

fn walks(graph: &Graph, starts: &[u32], options: &WalkOptions) -> Walks {
    on_threads("walks", || random_walks(graph, starts, options, &Run::silent())).unwrap()
}

#[test]
fn walks_follow_edges_and_repeat() {
    for edges in graphs() {
        let graph = edges.graph();
        let starts: Vec<u32> = (0..edges.n).collect();
        for (p, q) in [(1.0, 1.0), (0.25, 4.0)] {
            let options = WalkOptions { length: 8, per_node: 3, p, q, ..WalkOptions::default() };
            let found = walks(&graph, &starts, &options);
            assert_eq!(found.offsets.len(), 3 * starts.len() + 1);
            for (i, pair) in found.offsets.windows(2).enumerate() {
                let walk = &found.nodes[pair[0]..pair[1]];
                assert_eq!(walk[0] as usize, i / 3);
                assert!(walk.windows(2).all(|step| graph.out_rows().row(step[0]).contains(&step[1])));
                let end = walk[walk.len() - 1];
                let dead = graph.out_rows().arcs(end).all(|arc| graph.out_weights().is_some_and(|w| w[arc] == 0.0));
                assert!(walk.len() == 9 || dead, "{}: {walk:?}", edges.name);
            }
            assert_eq!(walks(&edges.permuted().graph(), &starts, &options), found, "{}", edges.name);
            let other = walks(&graph, &starts, &WalkOptions { seed: 1 << 40, ..options.clone() });
            assert!(edges.n < 20 || graph.edges() < 60 || other != found, "{}: another seed", edges.name);
            // A walk does not depend on those after it.
            let first = walks(&graph, &starts[..starts.len().min(1)], &options);
            assert_eq!(found.nodes[..first.nodes.len()], first.nodes);
        }
    }
}

/// Shares of the nodes that `count` walks from node 0 visit at step `step`.
fn shares(graph: &Graph, options: &WalkOptions, step: usize) -> Vec<f64> {
    let count = 40_000;
    let found = walks(graph, &[0], &WalkOptions { per_node: count, length: step, ..options.clone() });
    let mut shares = vec![0.0; graph.nodes()];
    found.nodes.chunks(step + 1).for_each(|walk| shares[walk[step] as usize] += 1.0 / count as f64);
    shares
}

#[test]
fn neighbours_are_drawn_by_their_weights() {
    let graph = Graph::new(true, 4, &[0, 0, 0, 0], &[1, 2, 3, 3], Some(vec![1.0, 0.0, 2.0, 5.0])).unwrap();
    let found = shares(&graph, &WalkOptions::default(), 1);
    assert!((found[1] - 0.125).abs() < 0.01 && found[2] == 0.0 && (found[3] - 0.875).abs() < 0.01, "{found:?}");
    let found = shares(&graph, &WalkOptions { weighted: false, ..WalkOptions::default() }, 1);
    assert!((found[1] - 0.25).abs() < 0.01 && (found[3] - 0.5).abs() < 0.01, "{found:?}");
}

#[test]
fn p_and_q_weigh_the_way_back_and_the_way_out() {
    // 0 has one way, to 1. From there, ways lead back to 0 (1 / p), to its neighbour 2 (1), or to 3 (1 / q).
    let graph = Graph::new(true, 4, &[0, 1, 1, 1, 0], &[1, 0, 2, 3, 2], Some(vec![1.0, 1.0, 1.0, 1.0, 1e-12])).unwrap();
    for (p, q) in [(0.5, 4.0), (8.0, 0.25), (1e4, 1e4)] {
        let found = shares(&graph, &WalkOptions { p, q, ..WalkOptions::default() }, 2);
        let total = 1.0 / p + 1.0 + 1.0 / q;
        for (node, bias) in [(0, 1.0 / p), (2, 1.0), (3, 1.0 / q)] {
            assert!((found[node] - bias / total).abs() < 0.01, "p {p}, q {q}: {found:?}");
        }
    }
    // The only way is back, and hardly ever accepted.
    let pair = Graph::new(false, 2, &[0], &[1], None).unwrap();
    assert_eq!(
        shares(&pair, &WalkOptions { p: 1e9, ..WalkOptions::default() }, 2),
        [shares(&pair, &WalkOptions::default(), 2)[0], 0.0]
    );
}

#[test]
fn mistakes_are_named() {
    let graph = edges("karate").graph();
    let error =
        |starts: &[u32], options: &WalkOptions| random_walks(&graph, starts, options, &Run::silent()).unwrap_err();
    let found = error(&[0], &WalkOptions { p: 0.0, ..WalkOptions::default() });
    assert_eq!(found.message, "p is 0, expected a finite number above 0");
    assert_eq!(error(&[34], &WalkOptions::default()).code(), "node");
    let many = WalkOptions { per_node: usize::MAX, ..WalkOptions::default() };
    assert!(error(&[0], &many).message.ends_with("the result has at most 2147483648 nodes"));
    let stopped = Run { is_stopped: &|| true, ..Run::silent() };
    assert!(random_walks(&graph, &[0], &WalkOptions::default(), &stopped).unwrap_err().is_stopped());
    let none = WalkOptions { per_node: 0, ..WalkOptions::default() };
    assert_eq!(walks(&graph, &[0], &none), Walks { offsets: vec![0], nodes: Vec::new() });
}
