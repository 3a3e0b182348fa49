//! The node before each node on a shortest path, from distances.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use crate::error::Error;
use crate::graph::Graph;
use crate::parallel;
use crate::run::Run;
use crate::traversal::NONE;

/// The lowest nearer node on a shortest path, for each node. Along edges of weight 0, it is the lowest that is the
/// fewest such edges away.
pub fn of(graph: &Graph, distance: &[f64], sources: &[u32], run: &Run) -> Result<Vec<u32>, Error> {
    run.check(|| "the distances of shortest paths".to_string())?;
    let mut found = match graph.made_in_rows() {
        Some(_) => pulled(graph, distance, run)?,
        None => pushed(graph, distance, run),
    };
    run.check(|| "the predecessors of shortest paths".to_string())?;
    sources.iter().for_each(|s| found[*s as usize] = NONE);
    let mut is_source = vec![false; distance.len()];
    sources.iter().for_each(|s| is_source[*s as usize] = true);
    let is_open = |v: &u32| {
        let v = *v as usize;
        found[v] == NONE && distance[v] != f64::INFINITY && !is_source[v]
    };
    let open: Vec<u32> = (0..distance.len() as u32).filter(is_open).collect();
    if !open.is_empty() {
        over_plateaus(graph, distance, &is_source, &open, &mut found);
    }
    Ok(found)
}

/// The lowest nearer node of each row by target.
fn pulled(graph: &Graph, distance: &[f64], run: &Run) -> Result<Vec<u32>, Error> {
    let (rows, weights) = (graph.in_rows(), graph.in_weights());
    rows.try_each("predecessors", run, |v| {
        let there = distance[v as usize];
        if there == f64::INFINITY {
            return NONE;
        }
        let is_before = |arc: &usize| {
            let here = distance[rows.targets[*arc] as usize];
            here < there && here + weights.map_or(1.0, |w| w[*arc]) == there
        };
        rows.arcs(v).find(is_before).map_or(NONE, |arc| rows.targets[arc])
    })
}

/// The same from rows by source.
fn pushed(graph: &Graph, distance: &[f64], run: &Run) -> Vec<u32> {
    let (rows, weights) = (graph.out_rows(), graph.out_weights());
    let lowest: Vec<AtomicU32> = (0..rows.nodes()).map(|_| AtomicU32::new(NONE)).collect();
    rows.ranges().into_par_iter().filter(|_| !(run.is_stopped)()).for_each(|range| {
        for u in range.map(|u| u as u32).filter(|u| distance[*u as usize] != f64::INFINITY) {
            let here = distance[u as usize];
            for arc in rows.arcs(u) {
                let v = rows.targets[arc] as usize;
                let is_before = here < distance[v] && here + weights.map_or(1.0, |w| w[arc]) == distance[v];
                if is_before && lowest[v].load(Relaxed) > u {
                    lowest[v].fetch_min(u, Relaxed);
                }
            }
        }
    });
    lowest.into_iter().map(AtomicU32::into_inner).collect()
}

/// Predecessors of nodes whose neighbours on shortest paths are all as near: a breadth-first search, since any of these
/// neighbours might close a cycle.
fn over_plateaus(graph: &Graph, distance: &[f64], is_source: &[bool], open: &[u32], found: &mut [u32]) {
    let (into, in_weights) = (graph.in_rows(), graph.in_weights());
    let is_tight = |u: u32, v: u32, weight: f64| distance[u as usize] + weight == distance[v as usize];
    let first: Vec<u32> = parallel::fill(open.len(), |i| {
        let v = open[i];
        let is_before = |arc: &usize| {
            let u = into.targets[*arc];
            let is_closed = is_source[u as usize] || found[u as usize] != NONE;
            is_closed && is_tight(u, v, in_weights.map_or(1.0, |w| w[*arc]))
        };
        into.arcs(v).find(is_before).map_or(NONE, |arc| into.targets[arc])
    });
    let mut level = Vec::new();
    for (v, before) in open.iter().zip(first).filter(|(_, before)| *before != NONE) {
        found[*v as usize] = before;
        level.push(*v);
    }
    tight_levels(graph, distance, level, |v, before| {
        let is_open = found[v as usize] == NONE && !is_source[v as usize];
        if is_open {
            found[v as usize] = before;
        }
        is_open
    });
}

/// A breadth-first search along arcs of shortest paths, each level in ascending order. `visit` is told a node and the
/// one before, and says whether to go on from it.
pub fn tight_levels(graph: &Graph, distance: &[f64], mut level: Vec<u32>, mut visit: impl FnMut(u32, u32) -> bool) {
    let (rows, weights) = (graph.out_rows(), graph.out_weights());
    while !level.is_empty() {
        let mut next = Vec::new();
        for u in level {
            for arc in rows.arcs(u) {
                let v = rows.targets[arc];
                let is_tight = distance[u as usize] + weights.map_or(1.0, |w| w[arc]) == distance[v as usize];
                if is_tight && visit(v, u) {
                    next.push(v);
                }
            }
        }
        next.sort_unstable();
        level = next;
    }
}
