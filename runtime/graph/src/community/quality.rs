//! How good a partition is.

use crate::error::{Error, ErrorKind};
use crate::graph::Graph;
use crate::parallel;
use crate::run::Run;

use rayon::prelude::*;

/// The share of the edges' weight inside of communities, less what is expected of random edges between nodes of the
/// same degrees (Newman 2004). NetworkX: `modularity`. Weights may be negative.
///
/// `communities` has a number below that of the nodes for each node. Takes O(nodes + edges) time.
///
/// # Errors
/// If the graph has no edges, their weights add up to 0, or the resolution is not finite. Also if there is not one
/// number for each node, or a number is too large.
pub fn modularity(graph: &Graph, communities: &[u32], resolution: f64) -> Result<f64, Error> {
    let n = graph.nodes();
    check(graph, communities)?;
    if !resolution.is_finite() {
        return Err(Error::parameter(format!("the resolution is {resolution}, expected a finite number")));
    }
    let rows = graph.out_rows();
    let weights = graph.out_weights();
    let weight = |arc: usize| weights.map_or(1.0, |w| w[arc]);
    let directed = graph.is_directed();
    // Weight of all arcs and of those inside. An undirected self-loop is one arc, and counts twice.
    let sides = |v: u32, target: u32| if !directed && v == target { 2.0 } else { 1.0 };
    let inside = rows.ranges().into_par_iter().map(|range| {
        let arcs = range.flat_map(|v| rows.arcs(v as u32).map(move |arc| (v as u32, arc)));
        let within = arcs.filter(|(v, arc)| communities[*v as usize] == communities[rows.targets[*arc] as usize]);
        within.map(|(v, arc)| weight(arc) * sides(v, rows.targets[arc])).sum::<f64>()
    });
    let inside: f64 = inside.collect::<Vec<f64>>().into_iter().sum();
    let out = rows.each(|v| rows.arcs(v).map(|arc| weight(arc) * sides(v, rows.targets[arc])).sum::<f64>());
    let total = parallel::sum(n, |v| out[v]);
    if total == 0.0 {
        return Err(match graph.edges() {
            0 => no_edges("modularity"),
            _ => Error::new(ErrorKind::Weight, "the weights add up to 0: modularity is a share of their sum"),
        });
    }
    let sums = |strength: &[f64]| {
        let mut sums = vec![0.0; n];
        communities.iter().zip(strength).for_each(|(c, strength)| sums[*c as usize] += strength);
        sums
    };
    let leaving = sums(&out);
    let expected = if directed {
        let rows = graph.in_rows();
        let weights = graph.in_weights();
        let entering = sums(&rows.each(|v| rows.arcs(v).map(|arc| weights.map_or(1.0, |w| w[arc])).sum::<f64>()));
        parallel::sum(n, |c| leaving[c] * entering[c])
    } else {
        parallel::sum(n, |c| leaving[c] * leaving[c])
    };
    Ok(inside / total - resolution * expected / (total * total))
}

/// The error of a measure that is a share of the edges.
fn no_edges(name: &str) -> Error {
    Error::new(ErrorKind::Empty, format!("{name} is not defined for a graph without edges"))
}

fn check(graph: &Graph, communities: &[u32]) -> Result<(), Error> {
    let n = graph.nodes();
    if communities.len() != n {
        let message = format!("{} communities for {n} nodes: a node has one", communities.len());
        return Err(Error::parameter(message));
    }
    match communities.iter().position(|c| *c as usize >= n) {
        Some(node) => {
            let message = format!("node {node} has the community {}, expected a number below {n}", communities[node]);
            Err(Error::parameter(message).help("number the communities from 0"))
        }
        None => Ok(()),
    }
}

/// Arcs with both ends in one community, and other arcs. An undirected edge is two arcs, and a self-loop counts as
/// much.
fn arcs_within(graph: &Graph, communities: &[u32], run: &Run) -> Result<(u64, u64), Error> {
    let rows = graph.out_rows();
    let sides = if graph.is_directed() { 1 } else { 2 };
    let counts = rows.try_each("the quality of communities", run, |v| {
        let within = rows.row(v).iter().filter(|u| communities[**u as usize] == communities[v as usize]);
        let within: u64 = within.map(|u| if *u == v { sides } else { 1 }).sum();
        let across = rows.row(v).iter().filter(|u| communities[**u as usize] != communities[v as usize]).count();
        (within, across as u64)
    })?;
    Ok(counts.into_iter().fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1)))
}

/// The share of the edges that lie within communities (Fortunato 2010). NetworkX: the first value of
/// `partition_quality`. Weights do not count. O(nodes + edges).
///
/// # Errors
/// If the graph has no edges, or the user stops it. Also if there is not one number for each node, or a number is too
/// large.
pub fn coverage(graph: &Graph, communities: &[u32], run: &Run) -> Result<f64, Error> {
    check(graph, communities)?;
    if graph.edges() == 0 {
        return Err(no_edges("coverage"));
    }
    let (within, across) = arcs_within(graph, communities, run)?;
    Ok(within as f64 / (within + across) as f64)
}

/// The share of pairs of nodes that are rightly placed: neighbours in one community, or others in two (Fortunato 2010).
/// NetworkX: the second value of `partition_quality`, which needs an edge and two nodes. Parallel edges count once, and
/// self-loops do not count. O(nodes + edges).
///
/// # Errors
/// If the graph has no edges or one node, or the user stops it. Also if there is not one number for each node, or a
/// number is too large.
pub fn performance(graph: &Graph, communities: &[u32], run: &Run) -> Result<f64, Error> {
    check(graph, communities)?;
    if graph.edges() == 0 {
        return Err(no_edges("performance"));
    }
    if graph.nodes() < 2 {
        return Err(Error::new(
            ErrorKind::Empty,
            "performance is not defined for a graph of one node: it has no pairs",
        ));
    }
    let (within, across) = arcs_within(&graph.simple(), communities, run)?;
    let n = graph.nodes() as u64;
    let mut sizes = vec![0u64; graph.nodes()];
    communities.iter().for_each(|c| sizes[*c as usize] += 1);
    // Ordered pairs: an undirected edge is two arcs.
    let apart = n * n - sizes.iter().map(|size| size * size).sum::<u64>();
    Ok((within + apart - across) as f64 / (n * n.saturating_sub(1)) as f64)
}

/// The weight of the edges out of each community, over the smaller sum of degrees inside and outside (Kannan, Vempala
/// and Vetta 2004). NetworkX: `conductance` of a community and the other nodes. NaN if a side has no edges.
///
/// In directed graphs, degrees are out-degrees, and edges in both directions are cut. With `weighted`, weights are
/// counted in place of edges. The result has the communities in the order of their numbers. O(nodes + edges).
///
/// # Errors
/// If there is not one number for each node, a number is too large, or the user stops it.
pub fn conductance(graph: &Graph, communities: &[u32], weighted: bool, run: &Run) -> Result<Vec<f64>, Error> {
    check(graph, communities)?;
    let rows = graph.out_rows();
    let weights = graph.out_weights().filter(|_| weighted);
    let weight = |arc: usize| weights.map_or(1.0, |w| w[arc]);
    let count = communities.iter().max().map_or(0, |c| *c as usize + 1);
    let directed = graph.is_directed();
    let of_node = rows.try_each("conductance", run, |v| {
        let (mut volume, mut cut) = (0.0, 0.0);
        for arc in rows.arcs(v) {
            let target = rows.targets[arc];
            volume += if !directed && target == v { 2.0 * weight(arc) } else { weight(arc) };
            cut += if communities[target as usize] == communities[v as usize] { 0.0 } else { weight(arc) };
        }
        (volume, cut)
    })?;
    let (mut volumes, mut cuts) = (vec![0.0; count], vec![0.0; count]);
    for (v, (volume, cut)) in of_node.into_iter().enumerate() {
        volumes[communities[v] as usize] += volume;
        cuts[communities[v] as usize] += cut;
    }
    if directed {
        for v in 0..graph.nodes() as u32 {
            let arcs = rows.arcs(v).filter(|arc| communities[rows.targets[*arc] as usize] != communities[v as usize]);
            arcs.for_each(|arc| cuts[communities[rows.targets[arc] as usize] as usize] += weight(arc));
        }
    }
    let total: f64 = volumes.iter().sum();
    Ok(volumes.iter().zip(cuts).map(|(volume, cut)| cut / volume.min(total - volume)).collect())
}
