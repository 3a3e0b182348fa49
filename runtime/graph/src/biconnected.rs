//! Bridges and articulation points: edges and nodes that hold a component together.

use crate::error::Error;
use crate::graph::Graph;
use crate::run::Run;
use crate::traversal::NONE;

/// Steps of the search between checks for cancellation.
const STEPS_BETWEEN_CHECKS: usize = 1 << 20;

/// Edges and nodes without which a component falls apart.
#[derive(Clone, Debug, Default, PartialEq)]
struct Cuts {
    bridges: Vec<u32>,
    points: Vec<u32>,
}

/// The edges without which a component falls apart, ascending. NetworkX: `bridges`.
///
/// By depth-first search with the lowest position that a subtree reaches (Hopcroft and Tarjan 1973), on one thread.
/// Parallel edges are no bridges. O(nodes + edges).
///
/// # Errors
/// If the graph is directed, or the user stops it.
pub fn bridges(graph: &Graph, run: &Run) -> Result<Vec<u32>, Error> {
    Ok(cuts(graph, "bridges", run)?.bridges)
}

/// The nodes without which a component falls apart, ascending. NetworkX: `articulation_points`. By the search of
/// [`bridges`].
///
/// # Errors
/// If the graph is directed, or the user stops it.
pub fn articulation_points(graph: &Graph, run: &Run) -> Result<Vec<u32>, Error> {
    Ok(cuts(graph, "articulation_points", run)?.points)
}

fn cuts(graph: &Graph, name: &str, run: &Run) -> Result<Cuts, Error> {
    graph.check_undirected(name)?;
    let rows = graph.out_rows();
    let n = graph.nodes();
    // The position of each node in the search, and the lowest position that its subtree has an edge to.
    let (mut position, mut low) = (vec![NONE; n], vec![NONE; n]);
    let mut next: Vec<usize> = rows.offsets[..n].to_vec();
    let mut is_point = vec![false; n];
    let mut bridges = Vec::new();
    let (mut found, mut steps) = (0, 0);
    for root in 0..n as u32 {
        if position[root as usize] != NONE {
            continue;
        }
        let mut children = 0;
        // The nodes from the root to the current one, each with the edge that leads to it.
        let mut path = vec![(root, NONE)];
        while let Some((v, edge)) = path.last().copied() {
            steps += 1;
            if steps % STEPS_BETWEEN_CHECKS == 0 {
                run.check(|| format!("{found} of {n} nodes of {name}"))?;
            }
            let at = v as usize;
            if position[at] == NONE {
                (position[at], low[at]) = (found, found);
                found += 1;
            }
            if next[at] < rows.offsets[at + 1] {
                let arc = next[at];
                next[at] += 1;
                let (target, by) = (rows.targets[arc], rows.edges[arc]);
                match position[target as usize] {
                    NONE => path.push((target, by)),
                    _ if by == edge => {}
                    seen => low[at] = low[at].min(seen),
                }
                continue;
            }
            path.pop();
            let Some((parent, _)) = path.last().copied() else { break };
            let above = parent as usize;
            low[above] = low[above].min(low[at]);
            if low[at] > position[above] {
                bridges.push(edge);
            }
            if parent == root {
                children += 1;
            } else if low[at] >= position[above] {
                is_point[above] = true;
            }
        }
        is_point[root as usize] = children > 1;
    }
    bridges.sort_unstable();
    let points = (0..n as u32).filter(|v| is_point[*v as usize]).collect();
    Ok(Cuts { bridges, points })
}
