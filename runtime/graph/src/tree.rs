//! Spanning trees.

use std::cmp::Ordering;

use rayon::prelude::*;

use crate::error::Error;
use crate::graph::Graph;
use crate::run::Run;

/// The edges of a spanning forest with the lowest sum of weights, ascending by weight: a tree for each component. Edges
/// are their positions, and those of one weight are taken in that order. Without weights, all weigh 1. NetworkX:
/// `minimum_spanning_edges`.
///
/// Kruskal's algorithm (1956), which takes O(edges log edges) time; edges are sorted on all threads.
///
/// # Errors
/// If the graph is directed, or the user stops it.
pub fn minimum_spanning_edges(graph: &Graph, run: &Run) -> Result<Vec<u32>, Error> {
    kruskal(graph, "minimum_spanning_edges", |a, b| a.total_cmp(&b), run)
}

/// As [`minimum_spanning_edges`], with the highest sum of weights, and descending by weight. NetworkX:
/// `maximum_spanning_edges`.
///
/// # Errors
/// If the graph is directed, or the user stops it.
pub fn maximum_spanning_edges(graph: &Graph, run: &Run) -> Result<Vec<u32>, Error> {
    kruskal(graph, "maximum_spanning_edges", |a, b| b.total_cmp(&a), run)
}

struct Edge {
    weight: f64,
    edge: u32,
    ends: (u32, u32),
}

fn kruskal(
    graph: &Graph,
    name: &str,
    order: impl Fn(f64, f64) -> Ordering + Sync,
    run: &Run,
) -> Result<Vec<u32>, Error> {
    graph.check_undirected(name)?;
    let (rows, weights) = (graph.out_rows(), graph.out_weights());
    run.stage(format!("{name}: sort {} edges", graph.edges()));
    run.check(|| format!("no edges of {name}"))?;
    let of_node = |v: u32| {
        let arcs = rows.arcs(v).filter(move |arc| rows.targets[*arc] > v);
        // Adding 0 makes -0 the same weight as 0.
        let weight = move |arc: usize| weights.map_or(1.0, |w| w[arc] + 0.0);
        arcs.map(move |arc| Edge { weight: weight(arc), edge: rows.edges[arc], ends: (v, rows.targets[arc]) })
    };
    let parts: Vec<Vec<Edge>> =
        rows.ranges().into_par_iter().map(|range| range.flat_map(|v| of_node(v as u32)).collect()).collect();
    let mut edges: Vec<Edge> = parts.into_iter().flatten().collect();
    edges.par_sort_unstable_by(|a, b| order(a.weight, b.weight).then(a.edge.cmp(&b.edge)));
    let mut parent: Vec<u32> = (0..graph.nodes() as u32).collect();
    let mut tree = Vec::new();
    for (i, edge) in edges.iter().enumerate() {
        if i % (1 << 16) == 0 {
            run.check(|| format!("{i} of {} edges of {name}", edges.len()))?;
            (run.steps)(i as u64, edges.len() as u64);
        }
        let (u, v) = (root(&mut parent, edge.ends.0), root(&mut parent, edge.ends.1));
        if u != v {
            parent[u.max(v) as usize] = u.min(v);
            tree.push(edge.edge);
            if tree.len() + 1 == graph.nodes() {
                break;
            }
        }
    }
    Ok(tree)
}

/// The root of a node's tree; halves the way there (van Leeuwen and van der Weide 1977).
fn root(parent: &mut [u32], mut node: u32) -> u32 {
    while parent[node as usize] != node {
        parent[node as usize] = parent[parent[node as usize] as usize];
        node = parent[node as usize];
    }
    node
}
