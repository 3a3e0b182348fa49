//! Closeness: how near all others are to a node.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use crate::betweenness::lightest;
use crate::error::Error;
use crate::graph::{Graph, Rows};
use crate::parallel;
use crate::run::Run;

/// The most numbers that groups of sources add up to, before groups become larger.
const MOST_SUMS: usize = 1 << 25;

/// Nodes between checks for cancellation.
const NODES_BETWEEN_CHECKS: usize = 1 << 12;

/// The number of nodes that reach a node, over the sum of their distances to it. NetworkX: `closeness_centrality`;
/// `wf_improved` multiplies by the share of nodes that reach it (Wasserman and Faust 1994). 0 where no other node does.
///
/// Distances are numbers of edges, or sums of weights if `weighted`. Without weights, 64 sources are searched at once
/// (Then et al. 2014), which takes O(nodes * edges / 64) time at best. With weights, it takes O(nodes * edges log
/// nodes).
///
/// # Errors
/// If a weight is negative where weights count, or the user stops it.
pub fn closeness_centrality(graph: &Graph, weighted: bool, wf_improved: bool, run: &Run) -> Result<Vec<f64>, Error> {
    let n = graph.nodes();
    let sums = distance_sums(graph, weighted, "closeness_centrality", run)?;
    let closeness = |v: usize| {
        let (count, sum) = sums[v];
        match sum > 0.0 {
            true if wf_improved => count / sum * (count / (n as f64 - 1.0)),
            true => count / sum,
            false => 0.0,
        }
    };
    Ok(parallel::fill(n, closeness))
}

/// How many other nodes reach each node, and the sum of their distances to it.
pub(crate) fn distance_sums(graph: &Graph, weighted: bool, name: &str, run: &Run) -> Result<Vec<(f64, f64)>, Error> {
    if weighted && graph.is_weighted() {
        let add = |sum: &mut (f64, f64), distance: f64| (sum.0, sum.1) = (sum.0 + 1.0, sum.1 + distance);
        return by_weight(graph, name, add, run);
    }
    let add = |sum: &mut (u64, u64), level: u64, count: u64| (sum.0, sum.1) = (sum.0 + count, sum.1 + level * count);
    let sums = by_edges(graph, name, add, |a, b| (a.0, a.1) = (a.0 + b.0, a.1 + b.1), run)?;
    Ok(sums.into_iter().map(|(count, sum)| (count as f64, sum as f64)).collect())
}

/// The sum of 1 / distance from all nodes that reach a node (Boldi and Vigna 2014). NetworkX: `harmonic_centrality`.
/// Distances of 0 add nothing.
///
/// Distances and time are those of [`closeness_centrality`].
///
/// # Errors
/// If a weight is negative where weights count, or the user stops it.
pub fn harmonic_centrality(graph: &Graph, weighted: bool, run: &Run) -> Result<Vec<f64>, Error> {
    let name = "harmonic_centrality";
    if weighted && graph.is_weighted() {
        let add = |sum: &mut f64, distance: f64| *sum += if distance > 0.0 { 1.0 / distance } else { 0.0 };
        return by_weight(graph, name, add, run);
    }
    let add = |sum: &mut f64, level: u64, count: u64| *sum += count as f64 / level as f64;
    by_edges(graph, name, add, |a, b| *a += b, run)
}

/// Sums of distances in edges to each node: `add` takes the level, and how many of 64 sources are so far.
fn by_edges<T: Copy + Default + Send>(
    graph: &Graph,
    name: &str,
    add: impl Fn(&mut T, u64, u64) + Sync,
    merge: impl Fn(&mut T, T),
    run: &Run,
) -> Result<Vec<T>, Error> {
    let n = graph.nodes();
    let rows = graph.out_rows();
    run.stage(format!("{name}: {n} sources"));
    let sources: Vec<u32> = (0..n as u32).filter(|v| rows.len(*v) > 0).collect();
    let groups = (MOST_SUMS / (n + 1)).clamp(8, 64);
    let batches = sources.len().div_ceil(64).div_ceil(groups).max(1);
    let group = |sources: &[u32]| {
        let mut search = Lanes::new(rows);
        let mut sums = vec![T::default(); n];
        for batch in sources.chunks(64) {
            search.run(batch, |v, level, count| add(&mut sums[v], level, count), &|| {
                run.check(|| format!("some of {name}"))
            })?;
        }
        Ok(sums)
    };
    let parts = sources.par_chunks(64 * batches).map(group).collect::<Result<Vec<Vec<T>>, Error>>()?;
    let mut parts = parts.into_iter();
    let mut sums = parts.next().unwrap_or_else(|| vec![T::default(); n]);
    parts.for_each(|part| sums.iter_mut().zip(part).for_each(|(sum, part)| merge(sum, part)));
    Ok(sums)
}

/// Breadth-first searches from up to 64 nodes: a bit for each.
struct Lanes<'a> {
    rows: &'a Rows,
    seen: Vec<u64>,
    front: Vec<u64>,
    next: Vec<u64>,
}

impl<'a> Lanes<'a> {
    fn new(rows: &'a Rows) -> Self {
        let zeros = || vec![0; rows.nodes()];
        Lanes { rows, seen: zeros(), front: zeros(), next: zeros() }
    }

    /// Calls `found` with a node, a level and the number of sources that are so far from it.
    fn run(
        &mut self,
        sources: &[u32],
        mut found: impl FnMut(usize, u64, u64),
        check: &dyn Fn() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut active: Vec<u32> = sources.to_vec();
        let mut reached = active.clone();
        for (lane, v) in sources.iter().enumerate() {
            self.seen[*v as usize] |= 1 << lane;
            self.front[*v as usize] |= 1 << lane;
        }
        let mut level = 0;
        let mut touched = Vec::new();
        while !active.is_empty() {
            level += 1;
            for (i, v) in active.drain(..).enumerate() {
                if i % NODES_BETWEEN_CHECKS == 0 {
                    check()?;
                }
                let lanes = std::mem::take(&mut self.front[v as usize]);
                for target in self.rows.row(v) {
                    let next = &mut self.next[*target as usize];
                    if *next == 0 {
                        touched.push(*target);
                    }
                    *next |= lanes;
                }
            }
            for v in touched.drain(..) {
                let seen = &mut self.seen[v as usize];
                let new = std::mem::take(&mut self.next[v as usize]) & !*seen;
                if new != 0 {
                    if *seen == 0 {
                        reached.push(v);
                    }
                    *seen |= new;
                    self.front[v as usize] = new;
                    active.push(v);
                    found(v as usize, level, u64::from(new.count_ones()));
                }
            }
        }
        reached.into_iter().for_each(|v| self.seen[v as usize] = 0);
        Ok(())
    }
}

/// Sums of weighted distances to each node, by Dijkstra's algorithm against the direction of edges.
fn by_weight<T: Copy + Default + Send>(
    graph: &Graph,
    name: &str,
    add: impl Fn(&mut T, f64) + Sync,
    run: &Run,
) -> Result<Vec<T>, Error> {
    graph.check_positive(name)?;
    let n = graph.nodes();
    let simple = graph.simple();
    let rows = simple.in_rows();
    let weights = lightest(graph.in_weights(), graph.in_rows(), rows).unwrap_or_default();
    run.stage(format!("{name}: {n} sources"));
    let sum = |state: &mut Dijkstra, v: u32| {
        let mut sum = T::default();
        if rows.len(v) > 0 {
            state.run(rows, &weights, v, |distance| add(&mut sum, distance), &|| {
                run.check(|| format!("some of {name}"))
            })?;
        }
        Ok(sum)
    };
    let sources = (0..n as u32).into_par_iter().with_min_len(64);
    sources.map_init(|| Dijkstra::new(n), sum).collect()
}

struct Dijkstra {
    distance: Vec<f64>,
    settled: Vec<bool>,
    reached: Vec<u32>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Dijkstra {
    fn new(n: usize) -> Self {
        let (distance, settled) = (vec![f64::INFINITY; n], vec![false; n]);
        Dijkstra { distance, settled, reached: Vec::new(), heap: BinaryHeap::new() }
    }

    /// Calls `found` with the distance of each other node that is reached, ascending.
    fn run(
        &mut self,
        rows: &Rows,
        weights: &[f64],
        source: u32,
        mut found: impl FnMut(f64),
        check: &dyn Fn() -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.distance[source as usize] = 0.0;
        self.reached.push(source);
        self.heap.push(Reverse((0, source)));
        let mut steps = 0;
        while let Some(Reverse((bits, v))) = self.heap.pop() {
            if std::mem::replace(&mut self.settled[v as usize], true) {
                continue;
            }
            if steps % NODES_BETWEEN_CHECKS == 0 {
                check()?;
            }
            steps += 1;
            let length = f64::from_bits(bits);
            if v != source {
                found(length);
            }
            for arc in rows.arcs(v) {
                let target = rows.targets[arc];
                // Adding 0 makes a weight of -0 one of 0, whose bits are in order.
                let reached = length + weights[arc] + 0.0;
                let distance = &mut self.distance[target as usize];
                if reached < *distance {
                    if distance.is_infinite() {
                        self.reached.push(target);
                    }
                    *distance = reached;
                    self.heap.push(Reverse((reached.to_bits(), target)));
                }
            }
        }
        for v in self.reached.drain(..) {
            (self.distance[v as usize], self.settled[v as usize]) = (f64::INFINITY, false);
        }
        Ok(())
    }
}
