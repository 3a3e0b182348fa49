//! How good a partition is.

use crate::error::Error;
use crate::graph::Graph;
use crate::parallel;

use rayon::prelude::*;

/// The share of the edges' weight inside of communities, less what is expected of random edges between nodes of the
/// same degrees (Newman 2004). NetworkX: `modularity`. Weights may be negative. NaN if the weights add up to 0.
///
/// `communities` has a number below that of the nodes for each node. Takes O(nodes + edges) time.
///
/// # Errors
/// If there is not one number for each node, a number is too large, or the resolution is not finite.
pub fn modularity(graph: &Graph, communities: &[u32], resolution: f64) -> Result<f64, Error> {
    let n = graph.nodes();
    if communities.len() != n {
        let message = format!("{} communities for {n} nodes: a node has one", communities.len());
        return Err(Error::parameter(message));
    }
    if let Some(node) = communities.iter().position(|c| *c as usize >= n) {
        let message = format!("node {node} has the community {}, expected a number below {n}", communities[node]);
        return Err(Error::parameter(message).help("number the communities from 0"));
    }
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
