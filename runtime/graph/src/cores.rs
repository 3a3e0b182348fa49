//! Core numbers, k-cores and k-shells.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use crate::error::{Error, ErrorKind};
use crate::graph::{Graph, Rows};
use crate::parallel::{self, CHUNK};
use crate::run::Run;

/// Arcs from which on nodes are taken away in rounds on all threads.
const PARALLEL_ARCS: usize = 1 << 22;

/// The largest k for which each node is in a part of the graph where all have k neighbours. NetworkX: `core_number`.
///
/// Parallel edges count once. In a directed graph, neighbours in and out count, both if an edge goes each way.
/// O(nodes + edges): by buckets of degrees (Batagelj and Zaversnik 2003) on one thread, for large graphs in rounds on
/// all.
///
/// # Errors
/// If the graph has self-loops, or the user stops it.
pub fn core_number(graph: &Graph, run: &Run) -> Result<Vec<u32>, Error> {
    let loops = graph.number_of_selfloops();
    if loops > 0 {
        let message = format!("core_number takes no self-loops, the graph has {loops}");
        return Err(Error::new(ErrorKind::Loops, message).help("leave the self-loops out"));
    }
    let simple = graph.simple();
    let rows: Vec<&Rows> = match graph.is_directed() {
        true => vec![simple.out_rows(), simple.in_rows()],
        false => vec![simple.out_rows()],
    };
    match rows.iter().map(|r| r.targets.len()).sum::<usize>() < PARALLEL_ARCS || rayon::current_num_threads() == 1 {
        true => by_buckets(&rows, run),
        false => in_rounds(&rows, run),
    }
}

fn degree(rows: &[&Rows], node: u32) -> u32 {
    rows.iter().map(|r| r.len(node) as u32).sum()
}

fn by_buckets(rows: &[&Rows], run: &Run) -> Result<Vec<u32>, Error> {
    let n = rows[0].nodes();
    let mut core = parallel::fill(n, |v| degree(rows, v as u32));
    let largest = core.iter().copied().max().unwrap_or(0) as usize;
    // Nodes by what is left of their degree, and where each degree begins.
    let mut begins = vec![0u32; largest + 2];
    core.iter().for_each(|d| begins[*d as usize + 1] += 1);
    (0..=largest).for_each(|d| begins[d + 1] += begins[d]);
    let mut next = begins.clone();
    let (mut order, mut place) = (vec![0u32; n], vec![0u32; n]);
    for v in 0..n {
        let next = &mut next[core[v] as usize];
        (order[*next as usize], place[v]) = (v as u32, *next);
        *next += 1;
    }
    for i in 0..n {
        if i & 0xffff == 0 {
            run.check(|| format!("{i} of {n} nodes in core_number"))?;
        }
        let v = order[i];
        let k = core[v as usize];
        for u in rows.iter().flat_map(|r| r.row(v)) {
            let degree = core[*u as usize];
            if degree <= k {
                continue;
            }
            // Change places with the first node of its degree, and move the bound behind it.
            let first = begins[degree as usize];
            let (from, other) = (place[*u as usize], order[first as usize]);
            (order[first as usize], order[from as usize]) = (*u, other);
            (place[*u as usize], place[other as usize]) = (first, from);
            begins[degree as usize] += 1;
            core[*u as usize] -= 1;
        }
    }
    Ok(core)
}

fn in_rounds(rows: &[&Rows], run: &Run) -> Result<Vec<u32>, Error> {
    let n = rows[0].nodes();
    let left: Vec<AtomicU32> = (0..n).map(|v| AtomicU32::new(degree(rows, v as u32))).collect();
    let at = |v: u32| left[v as usize].load(Relaxed);
    let mut core = vec![0u32; n];
    let mut nodes: Vec<u32> = (0..n as u32).collect();
    while let Some(k) = nodes.par_iter().with_min_len(CHUNK).map(|v| at(*v)).min() {
        run.check(|| format!("the {k}-cores of core_number"))?;
        run.stage(format!("core_number: k = {k}, {} nodes left", nodes.len()));
        let (mut taken, rest): (Vec<u32>, Vec<u32>) = nodes.par_iter().with_min_len(CHUNK).partition(|v| at(**v) <= k);
        while !taken.is_empty() {
            taken.iter().for_each(|v| core[*v as usize] = k);
            let take = |nodes: &[u32]| {
                let mut fallen = Vec::new();
                for v in nodes {
                    for u in rows.iter().flat_map(|r| r.row(*v)) {
                        if at(*u) <= k {
                            continue;
                        }
                        match left[*u as usize].fetch_sub(1, Relaxed) {
                            before if before == k + 1 => fallen.push(*u),
                            // Another thread was quicker.
                            before if before <= k => _ = left[*u as usize].fetch_add(1, Relaxed),
                            _ => {}
                        }
                    }
                }
                fallen
            };
            taken = taken.par_chunks(256).map(take).flatten_iter().collect();
            run.check(|| format!("part of the {k}-core of core_number"))?;
        }
        nodes = rest.into_par_iter().with_min_len(CHUNK).filter(|v| at(*v) > k).collect();
    }
    Ok(core)
}

/// The nodes whose core number is at least `k`, ascending: the largest part of the graph where all have `k` neighbours.
/// `k` is the largest core number if `None`. NetworkX: `k_core`.
///
/// # Errors
/// As [`core_number`].
pub fn k_core(graph: &Graph, k: Option<u32>, run: &Run) -> Result<Vec<u32>, Error> {
    let core = core_number(graph, run)?;
    let k = k.or(core.iter().copied().max()).unwrap_or(0);
    Ok((0..core.len() as u32).filter(|v| core[*v as usize] >= k).collect())
}

/// The nodes whose core number is `k`, ascending. `k` is the largest core number if `None`. NetworkX: `k_shell`.
///
/// # Errors
/// As [`core_number`].
pub fn k_shell(graph: &Graph, k: Option<u32>, run: &Run) -> Result<Vec<u32>, Error> {
    let core = core_number(graph, run)?;
    let k = k.or(core.iter().copied().max()).unwrap_or(0);
    Ok((0..core.len() as u32).filter(|v| core[*v as usize] == k).collect())
}
