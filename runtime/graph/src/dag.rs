//! Directed graphs without cycles: topological orders.

use crate::error::{Error, ErrorKind};
use crate::graph::Graph;
use crate::run::Run;
use crate::traversal::{self, NONE};

/// The nodes in generations: every edge goes to a later generation, and every node is in the earliest possible one.
/// Ascending within a generation. NetworkX: `topological_generations`, by Kahn's algorithm (1962). O(nodes log(nodes) +
/// edges).
///
/// # Errors
/// If the graph is undirected or has a cycle, or the user stops it.
pub fn topological_generations(graph: &Graph, run: &Run) -> Result<Vec<Vec<u32>>, Error> {
    graph.check_directed("topological_generations")?;
    let (generations, placed) = generations(graph, run)?;
    match placed == graph.nodes() {
        true => Ok(generations),
        false => {
            let message =
                format!("the graph has a cycle: {} of {} nodes have no order", graph.nodes() - placed, graph.nodes());
            Err(Error::new(ErrorKind::Cycle, message).help("strongly_connected_components shows the nodes of cycles"))
        }
    }
}

/// The nodes in an order in which each edge leads to a later one: by generation, then by number. NetworkX:
/// `topological_sort`, whose nodes of one generation come in the order of its edges.
///
/// # Errors
/// If the graph is undirected or has a cycle, or the user stops it.
pub fn topological_sort(graph: &Graph, run: &Run) -> Result<Vec<u32>, Error> {
    Ok(topological_generations(graph, run)?.into_iter().flatten().collect())
}

/// Whether the graph is directed and has no cycle. NetworkX: `is_directed_acyclic_graph`.
///
/// # Errors
/// If the user stops it.
pub fn is_directed_acyclic_graph(graph: &Graph, run: &Run) -> Result<bool, Error> {
    Ok(graph.is_directed() && generations(graph, run)?.1 == graph.nodes())
}

/// The other nodes from which edges lead to `node`, ascending. NetworkX: `ancestors`. O(nodes + edges).
///
/// # Errors
/// If there is no such node, or the user stops it.
pub fn ancestors(graph: &Graph, node: u32, run: &Run) -> Result<Vec<u32>, Error> {
    Ok(others(&traversal::distances_to(graph, &[node], None, run)?, node))
}

/// The other nodes that edges lead to from `node`, ascending. NetworkX: `descendants`. O(nodes + edges).
///
/// # Errors
/// If there is no such node, or the user stops it.
pub fn descendants(graph: &Graph, node: u32, run: &Run) -> Result<Vec<u32>, Error> {
    Ok(others(&traversal::distances(graph, &[node], None, run)?, node))
}

/// The nodes that a search has reached, without its start.
fn others(distance: &[u32], start: u32) -> Vec<u32> {
    (0..distance.len() as u32).filter(|v| *v != start && distance[*v as usize] != NONE).collect()
}

/// The generations, and the number of nodes in them: less than all if there is a cycle.
fn generations(graph: &Graph, run: &Run) -> Result<(Vec<Vec<u32>>, usize), Error> {
    let rows = graph.out_rows();
    let n = graph.nodes();
    let mut left = vec![0u32; n];
    rows.targets.iter().for_each(|v| left[*v as usize] += 1);
    let mut level: Vec<u32> = (0..n as u32).filter(|v| left[*v as usize] == 0).collect();
    let (mut generations, mut placed) = (Vec::new(), 0);
    let mut arcs = 0;
    while !level.is_empty() {
        let mut next = Vec::new();
        for v in &level {
            for u in rows.row(*v) {
                left[*u as usize] -= 1;
                if left[*u as usize] == 0 {
                    next.push(*u);
                }
            }
            arcs += rows.len(*v) + 1;
            if arcs > 1 << 20 {
                arcs = 0;
                run.check(|| format!("{placed} of {n} nodes in topological order"))?;
            }
        }
        next.sort_unstable();
        placed += level.len();
        generations.push(std::mem::replace(&mut level, next));
    }
    Ok((generations, placed))
}
