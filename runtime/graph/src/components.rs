//! Connected, weakly and strongly connected components.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use crate::error::{Error, ErrorKind};
use crate::generate::hash;
use crate::graph::{Graph, Rows};
use crate::parallel::{self, CHUNK};
use crate::run::Run;
use crate::traversal::{self, NONE};

/// The component of each node. Components are numbered from 0, by size, then by their smallest node.
#[derive(Clone, Debug, PartialEq)]
pub struct Components {
    pub component: Vec<u32>,
    /// Nodes of each component, largest first.
    pub sizes: Vec<u32>,
}

impl Components {
    /// Numbers components that are known by one node each.
    fn of(labels: &[u32]) -> Components {
        let n = labels.len();
        let mut number = vec![NONE; n];
        let mut sizes: Vec<(u32, u32)> = Vec::new();
        // Components in the order of their smallest node.
        for label in labels {
            let number = &mut number[*label as usize];
            if *number == NONE {
                *number = sizes.len() as u32;
                sizes.push((0, *number));
            }
            sizes[*number as usize].0 += 1;
        }
        sizes.sort_by_key(|(size, first)| (u32::MAX - size, *first));
        let mut place = vec![0; sizes.len()];
        (0..).zip(&sizes).for_each(|(p, (_, first))| place[*first as usize] = p);
        let component = parallel::fill(n, |v| place[number[labels[v] as usize] as usize]);
        Components { component, sizes: sizes.into_iter().map(|(size, _)| size).collect() }
    }

    /// Number of components.
    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    /// The nodes of a component, ascending.
    pub fn nodes(&self, component: u32) -> Vec<u32> {
        (0..self.component.len() as u32).filter(|v| self.component[*v as usize] == component).collect()
    }
}

/// The components of an undirected graph. NetworkX: `connected_components`, by Afforest (Sutton, Ben-Nun and Barak
/// 2018). O(nodes + edges).
///
/// # Errors
/// If the graph is directed, or the user stops it.
pub fn connected_components(graph: &Graph, run: &Run) -> Result<Components, Error> {
    graph
        .check_undirected("connected_components")
        .map_err(|e| e.help("weakly_connected_components ignores directions"))?;
    Ok(Components::of(&labels(graph, run)?))
}

/// The components of a directed graph without regard to directions. NetworkX: `weakly_connected_components`, by
/// Afforest. O(nodes + edges).
///
/// # Errors
/// If the graph is undirected, or the user stops it.
pub fn weakly_connected_components(graph: &Graph, run: &Run) -> Result<Components, Error> {
    graph.check_directed("weakly_connected_components").map_err(|e| e.help("connected_components is for them"))?;
    Ok(Components::of(&labels(graph, run)?))
}

/// Whether every node reaches every other. NetworkX: `is_connected`.
///
/// # Errors
/// If the graph is directed or has no nodes, or the user stops it.
pub fn is_connected(graph: &Graph, run: &Run) -> Result<bool, Error> {
    check_nodes(graph)?;
    Ok(connected_components(graph, run)?.count() == 1)
}

/// Whether every node reaches every other without regard to directions. NetworkX: `is_weakly_connected`.
///
/// # Errors
/// If the graph is undirected or has no nodes, or the user stops it.
pub fn is_weakly_connected(graph: &Graph, run: &Run) -> Result<bool, Error> {
    check_nodes(graph)?;
    Ok(weakly_connected_components(graph, run)?.count() == 1)
}

/// Whether every node reaches every other along directions. NetworkX: `is_strongly_connected`.
///
/// # Errors
/// If the graph is undirected or has no nodes, or the user stops it.
pub fn is_strongly_connected(graph: &Graph, run: &Run) -> Result<bool, Error> {
    check_nodes(graph)?;
    Ok(strongly_connected_components(graph, run)?.count() == 1)
}

fn check_nodes(graph: &Graph) -> Result<(), Error> {
    match graph.nodes() {
        0 => Err(Error::new(ErrorKind::Empty, "connectivity is not defined for a graph without nodes")),
        _ => Ok(()),
    }
}

/// The smallest node of the component of each node, without regard to directions.
pub(crate) fn labels(graph: &Graph, run: &Run) -> Result<Vec<u32>, Error> {
    let out = graph.out_rows();
    let n = out.nodes();
    let labels: Vec<AtomicU32> = (0..n as u32).map(AtomicU32::new).collect();
    // Arcs into a node are those out of another: if there are no rows by target, all arcs are linked.
    let into = match graph.is_directed() {
        true => graph.made_in_rows(),
        false => Some(out),
    };
    let Some(into) = into else {
        link_all(out, &labels, run);
        compress(&labels);
        return finished(labels, run);
    };
    for neighbour in 0..2 {
        (0..n as u32).into_par_iter().with_min_len(CHUNK).for_each(|v| {
            if let Some(u) = out.row(v).get(neighbour) {
                link(&labels, v, *u);
            }
        });
        compress(&labels);
    }
    let largest = sampled(&labels);
    // The arcs within the largest component are most of all and are not read: those to other nodes stand in their rows
    // too.
    out.ranges().into_par_iter().for_each(|range| {
        if (run.is_stopped)() {
            return;
        }
        for v in range.map(|v| v as u32).filter(|v| Some(labels[*v as usize].load(Relaxed)) != largest) {
            out.row(v).iter().skip(2).for_each(|u| link(&labels, v, *u));
            if graph.is_directed() {
                into.row(v).iter().for_each(|u| link(&labels, v, *u));
            }
        }
    });
    compress(&labels);
    finished(labels, run)
}

fn finished(labels: Vec<AtomicU32>, run: &Run) -> Result<Vec<u32>, Error> {
    run.check(|| "part of the arcs of connected components".to_string())?;
    Ok(labels.into_iter().map(AtomicU32::into_inner).collect())
}

fn link_all(rows: &Rows, labels: &[AtomicU32], run: &Run) {
    rows.ranges().into_par_iter().for_each(|range| {
        if !(run.is_stopped)() {
            range.for_each(|v| rows.row(v as u32).iter().for_each(|u| link(labels, v as u32, *u)));
        }
    });
}

/// Puts the higher of two roots under the lower one.
fn link(labels: &[AtomicU32], u: u32, v: u32) {
    let get = |v: u32| labels[v as usize].load(Relaxed);
    let (mut a, mut b) = (get(u), get(v));
    while a != b {
        let (high, low) = (a.max(b), a.min(b));
        let above = get(high);
        let is_linked = above == low
            || (above == high && labels[high as usize].compare_exchange(high, low, Relaxed, Relaxed).is_ok());
        if is_linked {
            return;
        }
        a = get(get(high));
        b = get(low);
    }
}

/// Points each node at its root.
fn compress(labels: &[AtomicU32]) {
    (0..labels.len()).into_par_iter().with_min_len(CHUNK).for_each(|v| {
        loop {
            let above = labels[v].load(Relaxed);
            let root = labels[above as usize].load(Relaxed);
            if root == above {
                return;
            }
            labels[v].store(root, Relaxed);
        }
    });
}

/// The most frequent label among 1,024 nodes.
fn sampled(labels: &[AtomicU32]) -> Option<u32> {
    if labels.is_empty() {
        return None;
    }
    let at = |i: u64| labels[(hash(0, i) % labels.len() as u64) as usize].load(Relaxed);
    let mut sample: Vec<u32> = (0..1024).map(at).collect();
    sample.sort_unstable();
    sample.chunk_by(|a, b| a == b).max_by_key(|same| same.len()).map(|same| same[0])
}

/// The components of a directed graph in which every node reaches every other. NetworkX:
/// `strongly_connected_components`.
///
/// O(nodes + edges). Two breadth-first searches on all threads find the component of the node with most arcs, Tarjan's
/// algorithm (1972) on one thread the rest.
///
/// # Errors
/// If the graph is undirected, or the user stops it.
pub fn strongly_connected_components(graph: &Graph, run: &Run) -> Result<Components, Error> {
    graph
        .check_directed("strongly_connected_components")
        .map_err(|e| e.help("connected_components is for undirected graphs"))?;
    let n = graph.nodes();
    let mut labels = vec![NONE; n];
    let out = graph.out_rows();
    if out.targets.len() >= TWO_SEARCHES_ARCS {
        let into = graph.in_rows();
        // Ties go to the lowest node.
        let product = |v: u32| (out.len(v) as u64 + 1) * (into.len(v) as u64 + 1);
        let pivot = parallel::max(n, |v| (product(v as u32), n - v)).map_or(0, |(_, v)| (n - v) as u32);
        let after = traversal::search(out, Some(into), &[pivot], None, run)?;
        let before = traversal::search(into, Some(out), &[pivot], None, run)?;
        labels = parallel::fill(n, |v| if after[v] != NONE && before[v] != NONE { pivot } else { NONE });
    }
    tarjan(out, &mut labels, run)?;
    Ok(Components::of(&labels))
}

/// Arcs from which on the two searches are worth the rows by target.
const TWO_SEARCHES_ARCS: usize = 1 << 17;

/// Labels the nodes without one by Tarjan's algorithm, without recursion: the label is a node of the component.
fn tarjan(rows: &Rows, labels: &mut [u32], run: &Run) -> Result<(), Error> {
    let n = rows.nodes();
    // The lowest number of a node that is known to be reached; 0 is not visited.
    let mut low = vec![0u32; n];
    let mut next = 1u32;
    let mut open: Vec<u32> = Vec::new();
    // Nodes on the way, the number of each, and the next of its arcs.
    let mut path: Vec<(u32, u32, usize)> = Vec::new();
    let mut steps = 0usize;
    for start in 0..n as u32 {
        if labels[start as usize] != NONE || low[start as usize] != 0 {
            continue;
        }
        path.push((start, next, rows.offsets[start as usize]));
        low[start as usize] = next;
        next += 1;
        open.push(start);
        while let Some((node, number, arc)) = path.last_mut() {
            steps += 1;
            if steps & 0xf_ffff == 0 {
                run.check(|| format!("{next} of {n} nodes in strongly connected components"))?;
            }
            let (node, number) = (*node, *number);
            if *arc < rows.offsets[node as usize + 1] {
                let target = rows.targets[*arc];
                *arc += 1;
                if labels[target as usize] != NONE {
                    continue;
                }
                if low[target as usize] == 0 {
                    low[target as usize] = next;
                    path.push((target, next, rows.offsets[target as usize]));
                    next += 1;
                    open.push(target);
                } else {
                    low[node as usize] = low[node as usize].min(low[target as usize]);
                }
                continue;
            }
            path.pop();
            if low[node as usize] == number {
                while let Some(member) = open.pop() {
                    labels[member as usize] = node;
                    if member == node {
                        break;
                    }
                }
            }
            if let Some((above, ..)) = path.last() {
                low[*above as usize] = low[*above as usize].min(low[node as usize]);
            }
        }
    }
    Ok(())
}
