//! Eccentricity, diameter, radius, center and periphery, in hops.

use crate::closeness;
use crate::error::{Error, ErrorKind};
use crate::graph::{Graph, Rows};
use crate::parallel;
use crate::run::Run;
use crate::traversal::{self, NONE};

/// Memory for the searches of all threads, in bytes.
const SEARCH_BYTES: usize = 4 << 30;

/// The hops from each node to the farthest. NetworkX: `eccentricity`.
///
/// 64 searches go side by side, a bit of a word each (Then and others 2014). O(nodes (nodes + edges)) at most.
///
/// # Errors
/// If a node does not reach all others, or the user stops it.
pub fn eccentricity(graph: &Graph, run: &Run) -> Result<Vec<u32>, Error> {
    let rows = graph.out_rows();
    let n = rows.nodes();
    let batches = n.div_ceil(64);
    // One search tells whether all of them reach all nodes, unless the graph is directed.
    if n > 0 {
        reach_all(graph, &traversal::distances(graph, &[0], None, run)?)?;
    }
    let work = |search: &mut Search, batch: usize| {
        let found = search.run(rows, batch as u32 * 64, run);
        (run.steps)(batch as u64, batches as u64);
        found
    };
    let (parts, _) = parallel::with_scratch(batches, (SEARCH_BYTES / (32 * n + 1)).max(1), || Search::new(n), work);
    run.check(|| "part of the searches of eccentricity".to_string())?;
    let mut all = Vec::with_capacity(n);
    for part in parts {
        all.extend(part.ok_or_else(|| infinite(graph))?);
    }
    Ok(all)
}

/// 64 breadth-first searches.
struct Search {
    /// A bit for each search that has reached the node.
    seen: Vec<u64>,
    /// A bit for each search that has reached it in the last level, and in this one.
    level: Vec<u64>,
    next: Vec<u64>,
}

impl Search {
    fn new(n: usize) -> Search {
        Search { seen: vec![0; n], level: vec![0; n], next: vec![0; n] }
    }

    /// The depth of the search from each of the nodes `first..first + 64`. `None` if one does not reach all nodes.
    fn run(&mut self, rows: &Rows, first: u32, run: &Run) -> Option<Vec<u32>> {
        let n = rows.nodes();
        let count = (n - first as usize).min(64);
        self.seen.fill(0);
        let mut active: Vec<u32> = (first..first + count as u32).collect();
        for (bit, v) in active.iter().enumerate() {
            self.seen[*v as usize] = 1 << bit;
            self.level[*v as usize] = 1 << bit;
        }
        let mut depths = vec![0u32; count];
        let mut depth = 0;
        while !active.is_empty() && !(run.is_stopped)() {
            depth += 1;
            let mut reached = Vec::new();
            for (i, v) in active.drain(..).enumerate() {
                if i & 0xfff == 0 && (run.is_stopped)() {
                    break;
                }
                let bits = std::mem::take(&mut self.level[v as usize]);
                for u in rows.row(v) {
                    let new = bits & !self.seen[*u as usize];
                    if new != 0 {
                        if self.next[*u as usize] == 0 {
                            reached.push(*u);
                        }
                        self.next[*u as usize] |= new;
                    }
                }
            }
            let mut searches = 0;
            for u in &reached {
                let new = self.next[*u as usize];
                self.seen[*u as usize] |= new;
                searches |= new;
            }
            while searches != 0 {
                depths[searches.trailing_zeros() as usize] = depth;
                searches &= searches - 1;
            }
            std::mem::swap(&mut self.level, &mut self.next);
            active = reached;
        }
        let all = u64::MAX >> (64 - count);
        self.seen.iter().all(|seen| *seen == all).then_some(depths)
    }
}

fn reach_all(graph: &Graph, distance: &[u32]) -> Result<(), Error> {
    match distance.contains(&NONE) {
        true => Err(infinite(graph)),
        false => Ok(()),
    }
}

/// NetworkX's error of infinite distances.
fn infinite(graph: &Graph) -> Error {
    let message = match graph.is_directed() {
        true => "there are infinite distances: the graph is not strongly connected",
        false => "there are infinite distances: the graph is not connected",
    };
    Error::new(ErrorKind::NotConnected, message).help("take the largest component, component 0")
}

fn check_nodes(graph: &Graph, name: &str) -> Result<(), Error> {
    match graph.nodes() {
        0 => Err(Error::new(ErrorKind::Empty, format!("{name} is not defined for a graph without nodes"))),
        _ => Ok(()),
    }
}

/// The largest eccentricity. NetworkX: `diameter`.
///
/// Undirected graphs are searched by bounds (Takes and Kosters 2011), which takes some tens of searches for most
/// graphs. Directed ones go by [`eccentricity`].
///
/// # Errors
/// If there are no nodes, a node does not reach all others, or the user stops it.
pub fn diameter(graph: &Graph, run: &Run) -> Result<u32, Error> {
    check_nodes(graph, "diameter")?;
    if graph.is_directed() {
        return Ok(eccentricity(graph, run)?.into_iter().max().unwrap_or(0));
    }
    let n = graph.nodes();
    let rows = graph.out_rows();
    let (mut low, mut high) = (vec![0u32; n], vec![u32::MAX; n]);
    let mut open: Vec<u32> = (0..n as u32).collect();
    let mut longest = 0;
    let mut searches = 0u64;
    while !open.is_empty() {
        // In turn the node that may be farthest out and the one that may be innermost. Ties go to the highest degree,
        // then to the lowest node.
        let degree = |v: u32| rows.len(v);
        let pick = match searches % 2 {
            0 => open.iter().max_by_key(|v| (high[**v as usize], degree(**v), u32::MAX - **v)),
            _ => open.iter().max_by_key(|v| (u32::MAX - low[**v as usize], degree(**v), u32::MAX - **v)),
        };
        let Some(pick) = pick.copied() else { break };
        let distance = traversal::distances(graph, &[pick], None, run)?;
        reach_all(graph, &distance)?;
        searches += 1;
        run.stage(format!("diameter: {searches} searches, {} nodes left", open.len()));
        let depth = distance.iter().copied().max().unwrap_or(0);
        longest = longest.max(depth);
        for v in &open {
            let (v, d) = (*v as usize, distance[*v as usize]);
            low[v] = low[v].max(d).max(depth - d);
            high[v] = high[v].min(depth + d);
        }
        // A node matters only if it may be farther out than what is known to be.
        longest = open.iter().map(|v| low[*v as usize]).max().unwrap_or(0).max(longest);
        open.retain(|v| *v != pick && high[*v as usize] > longest);
    }
    Ok(longest)
}

/// The mean distance over all ordered pairs of different nodes; 0 of a graph of one node. NetworkX:
/// `average_shortest_path_length`.
///
/// Distances are hops, or sums of weights if `weighted`. By the searches of
/// [`closeness_centrality`](crate::closeness::closeness_centrality).
///
/// # Errors
/// If there are no nodes, a node does not reach all others, or the user stops it. Also if a weight is negative and
/// weights count.
pub fn average_shortest_path_length(graph: &Graph, weighted: bool, run: &Run) -> Result<f64, Error> {
    check_nodes(graph, "average_shortest_path_length")?;
    let others = graph.nodes() as f64 - 1.0;
    if others == 0.0 {
        return Ok(0.0);
    }
    reach_all(graph, &traversal::distances(graph, &[0], None, run)?)?;
    let sums = closeness::distance_sums(graph, weighted, "average_shortest_path_length", run)?;
    if sums.iter().any(|(count, _)| *count < others) {
        return Err(infinite(graph));
    }
    Ok(parallel::sum(sums.len(), |v| sums[v].1) / ((others + 1.0) * others))
}

/// The smallest eccentricity. NetworkX: `radius`.
///
/// # Errors
/// As [`diameter`].
pub fn radius(graph: &Graph, run: &Run) -> Result<u32, Error> {
    check_nodes(graph, "radius")?;
    Ok(eccentricity(graph, run)?.into_iter().min().unwrap_or(0))
}

/// The nodes whose eccentricity is the radius, ascending. NetworkX: `center`.
///
/// # Errors
/// As [`diameter`].
pub fn center(graph: &Graph, run: &Run) -> Result<Vec<u32>, Error> {
    check_nodes(graph, "center")?;
    let all = eccentricity(graph, run)?;
    let radius = all.iter().copied().min();
    Ok((0..all.len() as u32).filter(|v| Some(all[*v as usize]) == radius).collect())
}

/// The nodes whose eccentricity is the diameter, ascending. NetworkX: `periphery`.
///
/// # Errors
/// As [`diameter`].
pub fn periphery(graph: &Graph, run: &Run) -> Result<Vec<u32>, Error> {
    check_nodes(graph, "periphery")?;
    let all = eccentricity(graph, run)?;
    let diameter = all.iter().copied().max();
    Ok((0..all.len() as u32).filter(|v| Some(all[*v as usize]) == diameter).collect())
}
