//! Triangles, clustering coefficients and squares.
//!
//! All of them are on distinct pairs: parallel edges count once (their weights add up), self-loops do not count.

mod oriented;
mod squares;

use crate::error::{Error, ErrorKind};
use crate::graph::Graph;
use crate::parallel;
use crate::run::Run;
use crate::similarity::common;
use oriented::OrientedGraph;

pub use squares::square_clustering;

/// The triangles that each node is a corner of. NetworkX: `triangles`.
///
/// Each edge leads from the end of lower degree to the other (Chiba and Nishizeki 1985): O(edges^1.5).
///
/// # Errors
/// If the graph is directed, or the user stops it.
pub fn triangles(graph: &Graph, run: &Run) -> Result<Vec<u64>, Error> {
    graph.check_undirected("triangles")?;
    OrientedGraph::of(&graph.simple()).triangles(run)
}

/// The part of the pairs of neighbours that are neighbours of each other. NetworkX: `clustering`.
///
/// Weighted, each triangle counts by the geometric mean of its weights, divided by the largest weight. In a directed
/// graph, all eight kinds of triangles count (Fagiolo 2007). 0 if a node is in no triangle. O(edges^1.5).
///
/// # Errors
/// If all weights are 0 or the largest is negative, or the user stops it.
pub fn clustering(graph: &Graph, weighted: bool, run: &Run) -> Result<Vec<f64>, Error> {
    let simple = graph.simple();
    let n = simple.nodes();
    let is_weighted = weighted && graph.is_weighted() && graph.edges() > 0;
    let (out, into) = (simple.out_rows(), graph.is_directed().then(|| simple.in_rows()));
    if !is_weighted && into.is_none() {
        let triangles = OrientedGraph::of(&simple).triangles(run)?;
        return Ok(parallel::fill(n, |v| {
            let d = out.len(v as u32) as f64;
            if triangles[v] == 0 { 0.0 } else { 2.0 * triangles[v] as f64 / (d * (d - 1.0)) }
        }));
    }
    let values = if is_weighted { Some(roots(graph, &simple)?) } else { None };
    let Some(into) = into else {
        let sums = OrientedGraph::of(&simple).sums(values.as_deref().unwrap_or_default(), run)?;
        return Ok(parallel::fill(n, |v| {
            let d = out.len(v as u32) as f64;
            if sums[v] == 0.0 { 0.0 } else { 2.0 * sums[v] / (d * (d - 1.0)) }
        }));
    };
    let both = symmetric(&simple, values)?;
    let sums = OrientedGraph::of(&both).sums(both.edge_weights().unwrap_or_default(), run)?;
    Ok(parallel::fill(n, |v| {
        let v = v as u32;
        let total = (out.len(v) + into.len(v)) as f64;
        let mutual = total - both.out_rows().len(v) as f64;
        let sum = sums[v as usize];
        if sum == 0.0 { 0.0 } else { 2.0 * sum / ((total * (total - 1.0) - 2.0 * mutual) * 2.0) }
    }))
}

/// The part of the ordered pairs of neighbours that are joined by an edge from the first to the second. LCC of LDBC
/// Graphalytics.
///
/// A neighbour is a node at the other end of an edge of any direction. In an undirected graph, this is [`clustering`]
/// without weights. In a directed one, NetworkX counts other triangles. 0 if a node has fewer than two neighbours.
/// O(edges^1.5).
///
/// # Errors
/// If the user stops it.
pub fn local_clustering_coefficient(graph: &Graph, run: &Run) -> Result<Vec<f64>, Error> {
    if !graph.is_directed() {
        return clustering(graph, false, run);
    }
    let both = symmetric(&graph.simple(), None)?;
    let arcs = OrientedGraph::of(&both).opposite_arcs(both.edge_weights().unwrap_or_default(), run)?;
    Ok(parallel::fill(both.nodes(), |v| {
        let d = both.out_rows().len(v as u32) as f64;
        if arcs[v] == 0 { 0.0 } else { arcs[v] as f64 / (d * (d - 1.0)) }
    }))
}

/// The cube roots of weight / largest weight, by edge of `simple`.
fn roots(graph: &Graph, simple: &Graph) -> Result<Vec<f64>, Error> {
    let weights = simple.out_weights().unwrap_or_default();
    let mut largest = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if graph.number_of_selfloops() > 0 {
        // NetworkX looks at the weights of self-loops here.
        let rows = graph.out_rows();
        let all = graph.out_weights().unwrap_or_default();
        let loops = (0..rows.nodes() as u32).flat_map(|v| rows.arcs(v).filter(move |a| rows.targets[*a] == v));
        largest = loops.map(|a| all[a]).fold(largest, f64::max);
    }
    if largest == 0.0 || largest.is_nan() {
        return Err(
            Error::new(ErrorKind::Weight, "the largest weight is 0, expected one above 0").help("leave the weight out")
        );
    }
    let weights = simple.edge_weights().unwrap_or_default();
    Ok(parallel::fill(weights.len(), |e| (weights[e] / largest).cbrt()))
}

/// The undirected graph of a simple directed one: values of both directions added, 1 for each without values.
fn symmetric(simple: &Graph, values: Option<Vec<f64>>) -> Result<Graph, Error> {
    let out = simple.out_rows();
    let mut sources = Vec::with_capacity(out.targets.len());
    (0..out.nodes() as u32).for_each(|v| sources.extend(std::iter::repeat_n(v, out.len(v))));
    let values = match values {
        Some(values) => out.edges.iter().map(|e| values[*e as usize]).collect(),
        None => vec![1.0; sources.len()],
    };
    Ok(Graph::new(false, out.nodes() as u32, &sources, &out.targets, Some(values))?.simple())
}

/// The mean of [`clustering`] over the nodes, or over those where it is not 0. NetworkX: `average_clustering`.
///
/// # Errors
/// If there are no such nodes, and as [`clustering`].
pub fn average_clustering(graph: &Graph, weighted: bool, count_zeros: bool, run: &Run) -> Result<f64, Error> {
    average(&clustering(graph, weighted, run)?, count_zeros)
}

/// The mean of coefficients, or of those that are not 0.
pub(crate) fn average(values: &[f64], count_zeros: bool) -> Result<f64, Error> {
    let count = if count_zeros { values.len() } else { values.iter().filter(|c| **c != 0.0).count() };
    match count {
        0 => Err(Error::new(ErrorKind::Empty, "average_clustering has no node to take the mean of")),
        count => Ok(parallel::sum(values.len(), |v| values[v]) / count as f64),
    }
}

/// 3 x triangles / pairs of edges with a common end; 0 if there is no triangle. NetworkX: `transitivity`.
///
/// In a directed graph, it is a share of the ordered pairs of edges out of a node. An edge leads from the other end of
/// the first to that of the second.
///
/// # Errors
/// If the user stops it.
pub fn transitivity(graph: &Graph, run: &Run) -> Result<f64, Error> {
    let simple = graph.simple();
    let rows = simple.out_rows();
    let pairs: u128 = rows.each(|v| rows.len(v) as u128 * (rows.len(v) as u128).saturating_sub(1)).into_iter().sum();
    if graph.is_directed() {
        let closed = |v: u32| {
            let mut closed = 0u64;
            rows.row(v).iter().for_each(|u| common(rows.row(v), rows.row(*u), |_, _| closed += 1));
            closed
        };
        let closed: u64 = rows.try_each("transitivity", run, closed)?.into_iter().sum();
        return Ok(if closed == 0 { 0.0 } else { closed as f64 / pairs as f64 });
    }
    let corners: u64 = OrientedGraph::of(&simple).triangles(run)?.iter().sum();
    Ok(share_of_pairs(corners, pairs))
}

/// The share of ordered pairs of edges with a common end that are in a triangle, of the corners of all triangles.
pub(crate) fn share_of_pairs(corners: u64, pairs: u128) -> f64 {
    if corners == 0 { 0.0 } else { 2.0 * corners as f64 / pairs as f64 }
}
