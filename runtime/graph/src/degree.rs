//! Degrees and density.

use crate::graph::{Graph, loops_of};
use crate::parallel;

/// Number of edges at each node. A self-loop counts 2; of a directed graph, edges out and in. NetworkX: `Graph.degree`.
/// O(nodes).
pub fn degree(graph: &Graph) -> Vec<u64> {
    let out = graph.out_rows();
    if graph.is_directed() {
        let into = graph.in_rows();
        return parallel::fill(graph.nodes(), |v| (out.len(v as u32) + into.len(v as u32)) as u64);
    }
    if graph.number_of_selfloops() == 0 {
        return parallel::fill(graph.nodes(), |v| out.len(v as u32) as u64);
    }
    out.each(|v| (out.len(v) + loops_of(out, v)) as u64)
}

/// Number of edges into each node of a directed graph; the degree of an undirected one. NetworkX: `DiGraph.in_degree`.
pub fn in_degree(graph: &Graph) -> Vec<u64> {
    match graph.is_directed() {
        true => parallel::fill(graph.nodes(), |v| graph.in_rows().len(v as u32) as u64),
        false => degree(graph),
    }
}

/// Number of edges out of each node of a directed graph; the degree of an undirected one. NetworkX:
/// `DiGraph.out_degree`.
pub fn out_degree(graph: &Graph) -> Vec<u64> {
    match graph.is_directed() {
        true => parallel::fill(graph.nodes(), |v| graph.out_rows().len(v as u32) as u64),
        false => degree(graph),
    }
}

/// Degree / (n - 1): above 1 where there are loops or parallel edges, and 1 if there is one node. NetworkX:
/// `degree_centrality`.
pub fn degree_centrality(graph: &Graph) -> Vec<f64> {
    centrality(&degree(graph))
}

/// In-degree / (n - 1). NetworkX: `in_degree_centrality`.
pub fn in_degree_centrality(graph: &Graph) -> Vec<f64> {
    centrality(&in_degree(graph))
}

/// Out-degree / (n - 1). NetworkX: `out_degree_centrality`.
pub fn out_degree_centrality(graph: &Graph) -> Vec<f64> {
    centrality(&out_degree(graph))
}

fn centrality(degrees: &[u64]) -> Vec<f64> {
    if degrees.len() <= 1 {
        return vec![1.0; degrees.len()];
    }
    let scale = 1.0 / (degrees.len() as f64 - 1.0);
    parallel::fill(degrees.len(), |v| degrees[v] as f64 * scale)
}

/// Edges / possible edges without loops: above 1 where there are loops or parallel edges, and 0 of less than two nodes.
/// NetworkX: `density`.
pub fn density(graph: &Graph) -> f64 {
    let (n, m) = (graph.nodes() as f64, graph.edges() as f64);
    if m == 0.0 || n <= 1.0 {
        return 0.0;
    }
    let density = m / (n * (n - 1.0));
    if graph.is_directed() { density } else { density * 2.0 }
}

/// The nodes without edges, ascending. A self-loop is an edge. NetworkX: `isolates`.
pub fn isolates(graph: &Graph) -> Vec<u32> {
    let (out, into) = (graph.out_rows(), graph.in_rows());
    (0..graph.nodes() as u32).filter(|v| out.len(*v) == 0 && into.len(*v) == 0).collect()
}
