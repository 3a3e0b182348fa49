//! Shortest paths by weights: Dijkstra's algorithm, delta-stepping, and Bellman-Ford for negative weights.
//!
//! A distance is the least over all paths of the sum of weights, added from the source on. It does not depend on the
//! order of the work. Predecessors are chosen afterwards.

mod negative;
mod predecessors;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use crate::error::{Error, ErrorKind};
use crate::graph::{Graph, Rows};
use crate::parallel;
use crate::run::Run;
use crate::traversal::{self, NONE};

pub use negative::{bellman_ford, negative_edge_cycle};

/// Arcs from which on delta-stepping is quicker than a heap.
const DELTA_STEPPING_ARCS: usize = 1 << 17;

/// Paths from one source, or from the nearest of several.
#[derive(Clone, Debug, PartialEq)]
pub struct Paths {
    /// The sum of weights; infinite if the node is not reached.
    pub distance: Vec<f64>,
    /// The node before: the lowest of those that are nearer and on a shortest path. If all of them are as near (edges
    /// of weight 0), the lowest that is the fewest such edges away. [`NONE`] of a source and if the node is not
    /// reached.
    pub predecessor: Vec<u32>,
}

impl Paths {
    /// The source that each node is reached from, along the predecessors. [`NONE`] if it is not reached.
    pub fn sources(&self) -> Vec<u32> {
        let mut found = vec![NONE; self.distance.len()];
        let mut way = Vec::new();
        for node in (0..self.distance.len() as u32).filter(|v| self.distance[*v as usize] != f64::INFINITY) {
            let mut at = node;
            while found[at as usize] == NONE && self.predecessor[at as usize] != NONE {
                way.push(at);
                at = self.predecessor[at as usize];
            }
            // A source is its own.
            let source = if found[at as usize] == NONE { at } else { found[at as usize] };
            found[at as usize] = source;
            way.drain(..).for_each(|v| found[v as usize] = source);
        }
        found
    }
}

/// A path, step by step.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// From the source to the target.
    pub nodes: Vec<u32>,
    /// The edge from each node to the next: the lowest of the lightest ones. One less than nodes.
    pub edges: Vec<u32>,
    /// The distance of each node from the source.
    pub distance: Vec<f64>,
}

/// Distances by weights, and predecessors. A graph without weights has 1 at each edge. NetworkX:
/// `single_source_dijkstra`, whose ties go to the first found.
///
/// Up to some 100,000 arcs by Dijkstra's algorithm with a binary heap, O((nodes + edges) log(nodes)). Larger graphs go
/// by delta-stepping (Meyer and Sanders 2003) on all threads.
///
/// # Errors
/// If there is no such node, a weight is negative, the cutoff is not a number, or the user stops it.
pub fn single_source_dijkstra(graph: &Graph, source: u32, cutoff: Option<f64>, run: &Run) -> Result<Paths, Error> {
    multi_source_dijkstra(graph, &[source], cutoff, run)
}

/// [`single_source_dijkstra`] from the nearest of `sources`. NetworkX: `multi_source_dijkstra`.
///
/// # Errors
/// If there is no source, and as [`single_source_dijkstra`].
pub fn multi_source_dijkstra(graph: &Graph, sources: &[u32], cutoff: Option<f64>, run: &Run) -> Result<Paths, Error> {
    let distance = dijkstra_distances(graph, sources, cutoff, None, run)?;
    let predecessor = predecessors::of(graph, &distance, sources, run)?;
    Ok(Paths { distance, predecessor })
}

/// The distances of [`multi_source_dijkstra`] alone. With a `target`, nodes farther than that may be infinite.
///
/// # Errors
/// As [`multi_source_dijkstra`].
pub fn dijkstra_distances(
    graph: &Graph,
    sources: &[u32],
    cutoff: Option<f64>,
    target: Option<u32>,
    run: &Run,
) -> Result<Vec<f64>, Error> {
    sources.iter().chain(&target).try_for_each(|s| graph.check_node(*s))?;
    if sources.is_empty() {
        return Err(Error::parameter("there is no source: expected at least one"));
    }
    if cutoff.is_some_and(f64::is_nan) {
        return Err(Error::parameter("`cutoff` is NaN, expected a number"));
    }
    let limit = cutoff.unwrap_or(f64::INFINITY);
    let Some(weights) = graph.out_weights() else {
        let hops = traversal::distances(graph, sources, Some(limit.clamp(0.0, f64::from(NONE)) as u32), run)?;
        let length = |v: usize| if hops[v] == NONE { f64::INFINITY } else { f64::from(hops[v]) };
        return Ok(parallel::fill(hops.len(), length));
    };
    graph.check_positive("Dijkstra's algorithm")?;
    match weights.len() < DELTA_STEPPING_ARCS {
        true => heap(graph, weights, sources, limit, target, run),
        false => delta_stepping(graph, weights, sources, limit, target, run),
    }
}

/// The bits of a number that is not negative, in the order of numbers.
#[inline]
fn ordered(distance: f64) -> u64 {
    // Adding 0 makes -0 to 0.
    (distance + 0.0).to_bits()
}

fn heap(
    graph: &Graph,
    weights: &[f64],
    sources: &[u32],
    limit: f64,
    target: Option<u32>,
    run: &Run,
) -> Result<Vec<f64>, Error> {
    let rows = graph.out_rows();
    let mut distance = vec![f64::INFINITY; rows.nodes()];
    let mut queue = BinaryHeap::new();
    for source in sources {
        distance[*source as usize] = 0.0;
        queue.push(Reverse((0u64, *source)));
    }
    let mut steps = 0usize;
    while let Some(Reverse((bits, node))) = queue.pop() {
        let here = distance[node as usize];
        if bits != ordered(here) {
            continue;
        }
        if target.is_some_and(|t| distance[t as usize] < here) {
            break;
        }
        steps += 1;
        if steps & 0xfff == 0 {
            run.check(|| format!("{steps} nodes of Dijkstra's algorithm"))?;
        }
        for arc in rows.arcs(node) {
            let (next, there) = (rows.targets[arc] as usize, here + weights[arc]);
            if there < distance[next] && there <= limit {
                distance[next] = there;
                queue.push(Reverse((ordered(there), next as u32)));
            }
        }
    }
    if let Some(target) = target {
        let far = distance[target as usize];
        distance.iter_mut().filter(|d| **d > far).for_each(|d| *d = f64::INFINITY);
    }
    Ok(distance)
}

/// Bins after the current one that a round tells apart: nodes beyond are sorted when their bin comes.
const BINS: usize = 16;

/// Nodes from which on a round is for all threads.
const PARALLEL_NODES: usize = 256;

/// Nodes that a round of delta-stepping has found.
#[derive(Default)]
struct Round {
    /// Nodes of the current bin, brought nearer.
    near: Vec<u32>,
    /// Nodes of the bins after the current one; the last list has all beyond.
    later: Vec<Vec<u32>>,
    /// Nodes whose light arcs were followed.
    settled: Vec<u32>,
}

/// The state of delta-stepping.
struct Delta<'a> {
    rows: &'a Rows,
    weights: &'a [f64],
    /// Distances from the source as ordered bits.
    distance: Vec<AtomicU64>,
    /// The distances from which the light and the heavy arcs of a node were last followed. A node may stand in several
    /// bins, or twice in one.
    followed: [Vec<AtomicU64>; 2],
    limit: f64,
    /// The width of a bin. Heavier arcs lead to later bins.
    width: f64,
}

/// Arcs lighter than a bin, which are followed whenever a node comes nearer, or the others, followed when the bin is
/// empty.
#[derive(Clone, Copy, PartialEq)]
enum Arcs {
    Light,
    Heavy,
}

impl Delta<'_> {
    fn bin(&self, distance: f64) -> u64 {
        (distance / self.width) as u64
    }

    fn distance(&self, node: u32) -> f64 {
        f64::from_bits(self.distance[node as usize].load(Relaxed))
    }

    /// Follows the arcs of nodes on all threads.
    fn round(&self, nodes: &[u32], current: u64, arcs: Arcs) -> Vec<Round> {
        let follow = |nodes: &[u32]| {
            let mut round = Round::default();
            self.follow(nodes, current, arcs, &mut round);
            round
        };
        let chunk = nodes.len().div_ceil(4 * rayon::current_num_threads()).max(PARALLEL_NODES);
        nodes.par_chunks(chunk).map(follow).collect()
    }

    fn follow(&self, nodes: &[u32], current: u64, arcs: Arcs, round: &mut Round) {
        round.later.resize_with(BINS, Vec::new);
        for node in nodes {
            let bits = self.distance[*node as usize].load(Relaxed);
            let here = f64::from_bits(bits);
            let bin = self.bin(here);
            if bin > current {
                round.later[(bin - current - 1).min(BINS as u64 - 1) as usize].push(*node);
                continue;
            }
            if self.followed[arcs as usize][*node as usize].swap(bits, Relaxed) == bits {
                continue;
            }
            if arcs == Arcs::Light {
                round.settled.push(*node);
            }
            let row = self.rows.arcs(*node);
            for (next, weight) in self.rows.targets[row.clone()].iter().zip(&self.weights[row]) {
                if (*weight < self.width) != (arcs == Arcs::Light) {
                    continue;
                }
                let there = here + weight;
                let (bits, to) = (ordered(there), &self.distance[*next as usize]);
                if bits < to.load(Relaxed) && there <= self.limit && to.fetch_min(bits, Relaxed) > bits {
                    match self.bin(there) {
                        bin if bin <= current => round.near.push(*next),
                        bin => round.later[(bin - current - 1).min(BINS as u64 - 1) as usize].push(*next),
                    }
                }
            }
        }
    }
}

fn delta_stepping(
    graph: &Graph,
    weights: &[f64],
    sources: &[u32],
    limit: f64,
    target: Option<u32>,
    run: &Run,
) -> Result<Vec<f64>, Error> {
    let rows = graph.out_rows();
    let n = rows.nodes();
    let mean = parallel::sum(weights.len(), |a| weights[a]) / weights.len() as f64;
    let width = match DELTA * mean * n as f64 / weights.len() as f64 {
        width if width > 0.0 && width.is_finite() => width,
        _ => 1.0,
    };
    let filled = |value: f64| (0..n).map(|_| AtomicU64::new(value.to_bits())).collect::<Vec<AtomicU64>>();
    let followed = [filled(f64::NAN), filled(f64::NAN)];
    let state = Delta { rows, weights, distance: filled(f64::INFINITY), followed, limit, width };
    sources.iter().for_each(|s| state.distance[*s as usize].store(0, Relaxed));
    let mut bins: BTreeMap<u64, Vec<Vec<u32>>> = BTreeMap::from([(0, vec![sources.to_vec()])]);
    let far = || target.map_or(f64::INFINITY, |t| state.distance(t));
    // A round of few nodes is used again: there may be as many rounds as nodes.
    let mut small = Round::default();
    let mut rounds = 0;
    while let Some((current, lists)) = bins.pop_first() {
        if current > state.bin(far()) {
            break;
        }
        let mut level: Vec<u32> = lists.into_iter().flatten().collect();
        let mut settled = Vec::new();
        let mut arcs = Arcs::Light;
        while !level.is_empty() {
            rounds += 1;
            run.check(|| format!("{rounds} rounds of delta-stepping"))?;
            if level.len() < PARALLEL_NODES {
                state.follow(&level, current, arcs, &mut small);
            }
            let mut found = if level.len() < PARALLEL_NODES { Vec::new() } else { state.round(&level, current, arcs) };
            level.clear();
            for round in found.iter_mut().chain([&mut small]) {
                level.append(&mut round.near);
                settled.append(&mut round.settled);
                for (bin, list) in round.later.iter_mut().enumerate().filter(|(_, list)| !list.is_empty()) {
                    let bin = current.saturating_add(bin as u64 + 1);
                    bins.entry(bin).or_default().push(std::mem::take(list));
                }
            }
            // Heavy arcs lead to later bins but for rounding: then light arcs are followed once more.
            arcs = Arcs::Light;
            if level.is_empty() {
                level = std::mem::take(&mut settled);
                arcs = Arcs::Heavy;
            }
        }
    }
    let far = far();
    let final_or_far = |d: AtomicU64| match f64::from_bits(d.into_inner()) {
        d if d > far => f64::INFINITY,
        d => d,
    };
    Ok(state.distance.into_iter().map(final_or_far).collect())
}

/// The width of a bin, in mean weights / mean arcs of a node. It is the best of 0.5 to 4 on R-MAT 17 with uniform
/// weights.
const DELTA: f64 = 2.0;

/// A shortest path by weights, or by hops. Ties go to the lowest node before, from the target on. NetworkX:
/// `shortest_path`, `dijkstra_path`.
///
/// # Errors
/// If there is no such node or no path, a weight is negative, or the user stops it.
pub fn shortest_path(graph: &Graph, source: u32, target: u32, weighted: bool, run: &Run) -> Result<Path, Error> {
    let graph = if weighted { graph.clone() } else { graph.unweighted() };
    let distance = dijkstra_distances(&graph, &[source], None, Some(target), run)?;
    if distance[target as usize] == f64::INFINITY {
        return Err(no_path(source, target));
    }
    let predecessor = predecessors::of(&graph, &distance, &[source], run)?;
    Ok(path_to(&graph, &Paths { distance, predecessor }, target))
}

/// As [`shortest_path`] by weights of any sign, by [`bellman_ford`]. NetworkX: `bellman_ford_path`.
///
/// # Errors
/// If there is no such node or no path, a cycle of negative weight is reached, or the user stops it.
pub fn bellman_ford_path(graph: &Graph, source: u32, target: u32, run: &Run) -> Result<Path, Error> {
    graph.check_node(target)?;
    let paths = bellman_ford(graph, source, run)?;
    match paths.distance[target as usize] == f64::INFINITY {
        true => Err(no_path(source, target)),
        false => Ok(path_to(graph, &paths, target)),
    }
}

fn no_path(source: u32, target: u32) -> Error {
    let message = format!("there is no path from node {source} to node {target}");
    Error::new(ErrorKind::NoPath, message).nodes([source, target]).help("has_path says whether there is one")
}

/// The path of a search to a node that it reached.
pub fn path_to(graph: &Graph, paths: &Paths, target: u32) -> Path {
    let mut nodes = vec![target];
    let mut last = target;
    while paths.predecessor[last as usize] != NONE {
        last = paths.predecessor[last as usize];
        nodes.push(last);
    }
    nodes.reverse();
    let distance: Vec<f64> = nodes.iter().map(|v| paths.distance[*v as usize]).collect();
    let (rows, weights) = (graph.out_rows(), graph.out_weights());
    let edges = nodes.windows(2).zip(distance.windows(2)).filter_map(|(step, distance)| {
        let row = rows.arcs(step[0]);
        let first = row.start + rows.targets[row.clone()].partition_point(|v| *v < step[1]);
        (first..row.end)
            .take_while(|a| rows.targets[*a] == step[1])
            .find(|a| distance[0] + weights.map_or(1.0, |w| w[*a]) == distance[1])
            .map(|a| rows.edges[a])
    });
    let edges = edges.collect();
    Path { nodes, edges, distance }
}

/// Whether edges lead from one node to another. NetworkX: `has_path`.
///
/// # Errors
/// If there is no such node, or the user stops it.
pub fn has_path(graph: &Graph, source: u32, target: u32, run: &Run) -> Result<bool, Error> {
    graph.check_node(target)?;
    Ok(traversal::distances(graph, &[source], None, run)?[target as usize] != NONE)
}
