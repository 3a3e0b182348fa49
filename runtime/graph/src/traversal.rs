//! Breadth-first search: distances in hops, predecessors and layers.
//!
//! Direction-optimising (Beamer, Asanovic and Patterson 2012): a level is searched from its nodes outwards, or from the
//! nodes that are left inwards. Distances do not depend on the direction; predecessors are chosen after the search.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use crate::error::Error;
use crate::graph::{Graph, Rows};
use crate::parallel::CHUNK;
use crate::run::Run;

/// In place of a node or a distance: there is none.
pub const NONE: u32 = u32::MAX;

/// Inwards if the level has more arcs than the rest of the graph divided by this: alpha of the GAP benchmark.
const INWARDS_DIVISOR: usize = 15;

/// Outwards again if the level has less than this part of the nodes: beta of the GAP benchmark.
const OUTWARDS_DIVISOR: usize = 18;

/// Levels with less arcs are searched by one thread.
const FEW_ARCS: usize = 1 << 13;

/// A search from one node.
#[derive(Clone, Debug, PartialEq)]
pub struct Bfs {
    /// Hops from the source. [`NONE`] if the node is not reached.
    pub distance: Vec<u32>,
    /// The lowest node one hop nearer that has an edge to the node. [`NONE`] of the source and if the node is not
    /// reached.
    pub predecessor: Vec<u32>,
}

/// Distances and predecessors of the nodes within `depth_limit` hops of `source`. NetworkX:
/// `single_source_shortest_path_length`, `bfs_predecessors`, with the lowest predecessor instead of the first found.
/// O(nodes + edges).
///
/// # Errors
/// If there is no such node, or the user stops it.
pub fn bfs(graph: &Graph, source: u32, depth_limit: Option<u32>, run: &Run) -> Result<Bfs, Error> {
    let distance = distances(graph, &[source], depth_limit, run)?;
    let predecessor = predecessors(graph, &distance, run)?;
    Ok(Bfs { distance, predecessor })
}

/// Hops from the nearest of `sources` along the edges; [`NONE`] if a node is farther than `depth_limit` or not reached.
///
/// # Errors
/// If there is no such node, or the user stops it.
pub fn distances(graph: &Graph, sources: &[u32], depth_limit: Option<u32>, run: &Run) -> Result<Vec<u32>, Error> {
    sources.iter().try_for_each(|s| graph.check_node(*s))?;
    // Rows by target are worth making for other reasons only: a search outwards is quicker than they are made.
    let inwards = if graph.is_directed() { graph.made_in_rows() } else { Some(graph.out_rows()) };
    search(graph.out_rows(), inwards, sources, depth_limit, run)
}

/// Hops to the nearest of `targets` along the edges: the search goes against them.
///
/// # Errors
/// If there is no such node, or the user stops it.
pub fn distances_to(graph: &Graph, targets: &[u32], depth_limit: Option<u32>, run: &Run) -> Result<Vec<u32>, Error> {
    targets.iter().try_for_each(|s| graph.check_node(*s))?;
    search(graph.in_rows(), Some(graph.out_rows()), targets, depth_limit, run)
}

/// The nodes of each distance from the nearest of `sources`, each layer ascending. NetworkX: `bfs_layers`.
///
/// # Errors
/// If there is no such node, or the user stops it.
pub fn bfs_layers(graph: &Graph, sources: &[u32], run: &Run) -> Result<Vec<Vec<u32>>, Error> {
    let distance = distances(graph, sources, None, run)?;
    let mut layers: Vec<Vec<u32>> = Vec::new();
    for (node, d) in distance.iter().enumerate().filter(|(_, d)| **d != NONE) {
        let d = *d as usize;
        if layers.len() <= d {
            layers.resize_with(d + 1, Vec::new);
        }
        layers[d].push(node as u32);
    }
    Ok(layers)
}

/// The nodes at exactly `distance` hops from `source`, ascending. NetworkX: `descendants_at_distance`.
///
/// # Errors
/// If there is no such node, or the user stops it.
pub fn descendants_at_distance(graph: &Graph, source: u32, distance: u32, run: &Run) -> Result<Vec<u32>, Error> {
    let distances = distances(graph, &[source], Some(distance), run)?;
    Ok((0..distances.len() as u32).filter(|v| distances[*v as usize] == distance && distance != NONE).collect())
}

/// The state of a search.
struct SearchState {
    /// A bit for each node that is reached.
    words: Vec<AtomicU64>,
    distance: Vec<AtomicU32>,
}

impl SearchState {
    /// True for the one caller that reaches a node first.
    #[inline]
    fn reach(&self, node: u32, distance: u32) -> bool {
        let (word, bit) = (&self.words[node as usize >> 6], 1u64 << (node & 63));
        let is_first = word.load(Relaxed) & bit == 0 && word.fetch_or(bit, Relaxed) & bit == 0;
        if is_first {
            self.distance[node as usize].store(distance, Relaxed);
        }
        is_first
    }
}

/// Hops from the nearest source along `rows`. `inwards` are the rows of the reversed graph, if there are any.
pub(crate) fn search(
    rows: &Rows,
    inwards: Option<&Rows>,
    sources: &[u32],
    depth_limit: Option<u32>,
    run: &Run,
) -> Result<Vec<u32>, Error> {
    let n = rows.nodes();
    let mut seen = SearchState {
        words: (0..n.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
        distance: (0..n).map(|_| AtomicU32::new(NONE)).collect(),
    };
    let mut level: Vec<u32> = sources.iter().copied().filter(|s| seen.reach(*s, 0)).collect();
    let mut depth = 0;
    let mut left = rows.targets.len();
    while !level.is_empty() && depth_limit.is_none_or(|limit| depth < limit) {
        run.check(|| format!("{depth} levels of a breadth-first search"))?;
        let arcs: usize = level.iter().map(|v| rows.len(*v)).sum();
        if let (Some(inwards), true) = (inwards, arcs > left / INWARDS_DIVISOR && arcs >= FEW_ARCS) {
            let (mut size, mut before) = (level.len(), 0);
            // While the level grows or is large.
            while size > 0
                && (size >= before || size > n / OUTWARDS_DIVISOR)
                && depth_limit.is_none_or(|limit| depth < limit)
            {
                run.check(|| format!("{depth} levels of a breadth-first search"))?;
                before = size;
                depth += 1;
                size = search_inwards(inwards, &mut seen, depth, run);
            }
            level = (0..n)
                .into_par_iter()
                .with_min_len(CHUNK)
                .filter(|v| seen.distance[*v].load(Relaxed) == depth)
                .map(|v| v as u32)
                .collect();
        } else {
            depth += 1;
            left = left.saturating_sub(arcs);
            level = search_outwards(rows, &seen, &level, arcs, depth, run);
        }
    }
    run.check(|| format!("{depth} levels of a breadth-first search"))?;
    Ok(seen.distance.into_iter().map(AtomicU32::into_inner).collect())
}

/// The nodes of the next level, in no order.
fn search_outwards(rows: &Rows, seen: &SearchState, level: &[u32], arcs: usize, depth: u32, run: &Run) -> Vec<u32> {
    let reached = |nodes: &[u32]| {
        let mut reached = Vec::new();
        if (run.is_stopped)() {
            return reached;
        }
        for node in nodes {
            reached.extend(rows.row(*node).iter().copied().filter(|v| seen.reach(*v, depth)));
        }
        reached
    };
    match arcs < FEW_ARCS {
        true => reached(level),
        false => level.par_chunks(64).map(reached).flatten_iter().collect(),
    }
}

/// Looks for a reached neighbour of each node that is not reached. Gives the size of the next level.
fn search_inwards(inwards: &Rows, seen: &mut SearchState, depth: u32, run: &Run) -> usize {
    let n = inwards.nodes();
    let before = &seen.words;
    let words = |word: usize| {
        let reached = before[word].load(Relaxed);
        let mut found = 0u64;
        let mut unseen = !reached;
        while unseen != 0 {
            let bit = unseen.trailing_zeros();
            unseen &= unseen - 1;
            let node = word << 6 | bit as usize;
            if node >= n {
                break;
            }
            // All neighbours of nodes of earlier levels are reached: a reached neighbour of an unreached node is of the
            // last level.
            let is_reached = |v: &u32| before[*v as usize >> 6].load(Relaxed) >> (v & 63) & 1 == 1;
            if inwards.row(node as u32).iter().any(is_reached) {
                found |= 1 << bit;
                seen.distance[node].store(depth, Relaxed);
            }
        }
        (reached | found, found.count_ones() as usize)
    };
    let chunk = |c: usize| -> Vec<(u64, usize)> {
        let range = c * 16..before.len().min((c + 1) * 16);
        if (run.is_stopped)() {
            return range.map(|w| (before[w].load(Relaxed), 0)).collect();
        }
        range.map(words).collect()
    };
    let parts: Vec<Vec<(u64, usize)>> = (0..before.len().div_ceil(16)).into_par_iter().map(chunk).collect();
    let mut size = 0;
    for (word, (bits, found)) in seen.words.iter_mut().zip(parts.into_iter().flatten()) {
        *word.get_mut() = bits;
        size += found;
    }
    size
}

/// The lowest node one hop nearer, for each node that is reached.
///
/// # Errors
/// If the user stops it.
pub fn predecessors(graph: &Graph, distance: &[u32], run: &Run) -> Result<Vec<u32>, Error> {
    let inwards = if graph.is_directed() { graph.made_in_rows() } else { Some(graph.out_rows()) };
    let found = match inwards {
        Some(rows) => rows.try_each("predecessors", run, |v| match distance[v as usize] {
            NONE | 0 => NONE,
            d => rows.row(v).iter().copied().find(|u| distance[*u as usize] == d - 1).unwrap_or(NONE),
        })?,
        None => {
            let rows = graph.out_rows();
            let lowest: Vec<AtomicU32> = (0..rows.nodes()).map(|_| AtomicU32::new(NONE)).collect();
            rows.ranges().into_par_iter().filter(|_| !(run.is_stopped)()).for_each(|range| {
                for u in range.map(|u| u as u32).filter(|u| distance[*u as usize] != NONE) {
                    let next = distance[u as usize] + 1;
                    for v in rows.row(u).iter().filter(|v| distance[**v as usize] == next) {
                        if lowest[*v as usize].load(Relaxed) > u {
                            lowest[*v as usize].fetch_min(u, Relaxed);
                        }
                    }
                }
            });
            lowest.into_iter().map(AtomicU32::into_inner).collect()
        }
    };
    run.check(|| "the predecessors of a breadth-first search".to_string())?;
    Ok(found)
}
