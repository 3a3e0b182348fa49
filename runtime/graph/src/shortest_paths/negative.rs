//! Bellman-Ford: shortest paths where weights may be negative.

use std::collections::VecDeque;

use super::Paths;
use super::predecessors::tight_levels;
use crate::error::{Error, ErrorKind};
use crate::graph::Graph;
use crate::run::Run;
use crate::traversal::NONE;

/// Distances by weights of any sign, and predecessors: on the path with the fewest edges, the lowest node. NetworkX:
/// `single_source_bellman_ford`, whose ties go to the first found.
///
/// With a queue (Moore 1959), and a look for cycles among predecessors after each O(nodes) steps (Cherkassky and
/// Goldberg 1999). O(nodes edges) at most, on one thread. An undirected edge of negative weight is a cycle.
///
/// # Errors
/// If there is no such node, a cycle of negative weight is reached (code `negative_cycle`), or the user stops it.
pub fn bellman_ford(graph: &Graph, source: u32, run: &Run) -> Result<Paths, Error> {
    graph.check_node(source)?;
    let distance = match relaxed(graph, &[source], run)? {
        Relaxation::Distances(distance) => distance,
        Relaxation::Cycle(cycle) => {
            let mut names: Vec<String> = cycle.iter().take(10).map(u32::to_string).collect();
            if cycle.len() > 10 {
                names.push("...".to_string());
            }
            let message = format!("there is a cycle of negative weight: {}", names.join(", "));
            let error = Error::new(ErrorKind::NegativeCycle, message)
                .nodes(cycle)
                .help("distances have no lower bound along the cycle");
            return Err(match graph.is_directed() {
                true => error,
                false => error.help("an undirected edge of negative weight is a cycle: use a directed graph"),
            });
        }
    };
    let mut predecessor = vec![NONE; distance.len()];
    tight_levels(graph, &distance, vec![source], |v, before| {
        let is_open = predecessor[v as usize] == NONE && v != source;
        if is_open {
            predecessor[v as usize] = before;
        }
        is_open
    });
    Ok(Paths { distance, predecessor })
}

/// Whether there is a cycle of negative weight. NetworkX: `negative_edge_cycle`. O(nodes edges) at most.
///
/// # Errors
/// If the user stops it.
pub fn negative_edge_cycle(graph: &Graph, run: &Run) -> Result<bool, Error> {
    let all: Vec<u32> = (0..graph.nodes() as u32).collect();
    Ok(matches!(relaxed(graph, &all, run)?, Relaxation::Cycle(_)))
}

enum Relaxation {
    Distances(Vec<f64>),
    /// The nodes of a cycle, in the order of its edges, the lowest first.
    Cycle(Vec<u32>),
}

fn relaxed(graph: &Graph, sources: &[u32], run: &Run) -> Result<Relaxation, Error> {
    let (rows, weights) = (graph.out_rows(), graph.out_weights());
    let n = rows.nodes();
    let mut distance = vec![f64::INFINITY; n];
    let mut before = vec![NONE; n];
    let mut is_queued = vec![false; n];
    let mut queue: VecDeque<u32> = sources.iter().copied().collect();
    for source in sources {
        distance[*source as usize] = 0.0;
        is_queued[*source as usize] = true;
    }
    let (mut changes, mut arcs) = (0usize, 0usize);
    while let Some(u) = queue.pop_front() {
        is_queued[u as usize] = false;
        let here = distance[u as usize];
        for arc in rows.arcs(u) {
            let v = rows.targets[arc];
            let there = here + weights.map_or(1.0, |w| w[arc]);
            if there < distance[v as usize] {
                distance[v as usize] = there;
                before[v as usize] = u;
                changes += 1;
                if !std::mem::replace(&mut is_queued[v as usize], true) {
                    queue.push_back(v);
                }
            }
        }
        arcs += rows.len(u) + 1;
        if arcs > 1 << 20 {
            arcs = 0;
            run.check(|| format!("part of Bellman-Ford, {} nodes to go on from", queue.len()))?;
        }
        if changes > n {
            changes = 0;
            if let Some(cycle) = cycle(&before) {
                return Ok(Relaxation::Cycle(cycle));
            }
        }
    }
    Ok(match cycle(&before) {
        Some(cycle) => Relaxation::Cycle(cycle),
        None => Relaxation::Distances(distance),
    })
}

/// A cycle among predecessors.
fn cycle(before: &[u32]) -> Option<Vec<u32>> {
    // The start of the walk that came by.
    let mut walk = vec![NONE; before.len()];
    for start in 0..before.len() as u32 {
        let mut v = start;
        while v != NONE && walk[v as usize] == NONE {
            walk[v as usize] = start;
            v = before[v as usize];
        }
        if v != NONE && walk[v as usize] == start {
            let mut cycle = vec![v];
            let mut u = before[v as usize];
            while u != v {
                cycle.push(u);
                u = before[u as usize];
            }
            cycle.reverse();
            let lowest = (0..cycle.len()).min_by_key(|i| cycle[*i]).unwrap_or(0);
            cycle.rotate_left(lowest);
            return Some(cycle);
        }
    }
    None
}
