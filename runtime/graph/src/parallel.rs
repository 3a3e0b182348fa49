//! Work on chunks whose bounds do not depend on the number of threads: float sums have the same bits on any number.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

/// Nodes of a chunk of work that is the same for each node.
pub const CHUNK: usize = 4096;

/// Arcs, and nodes, of a chunk of work on rows.
pub const ARCS: usize = 1 << 15;

/// The sum of `value` over `0..n`: sums of chunks, added in the order of the chunks.
pub fn sum(n: usize, value: impl Fn(usize) -> f64 + Sync) -> f64 {
    let chunk = |c: usize| (c * CHUNK..n.min((c + 1) * CHUNK)).map(&value).sum::<f64>();
    (0..n.div_ceil(CHUNK)).into_par_iter().map(chunk).collect::<Vec<f64>>().into_iter().sum()
}

/// The largest `value` over `0..n`. `None` if `n` is 0.
pub fn max<T: Ord + Send>(n: usize, value: impl Fn(usize) -> T + Sync + Send) -> Option<T> {
    (0..n).into_par_iter().with_min_len(CHUNK).map(value).max()
}

/// `value` of each of `0..n`.
pub fn fill<T: Send>(n: usize, value: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    (0..n).into_par_iter().with_min_len(CHUNK).map(value).collect()
}

/// Cuts `values` at the ends of `ranges`, which follow one another from 0.
pub fn split<'a, T>(mut values: &'a mut [T], ranges: &[Range<usize>]) -> Vec<&'a mut [T]> {
    let mut parts = Vec::with_capacity(ranges.len());
    for range in ranges {
        let (part, rest) = std::mem::take(&mut values).split_at_mut(range.len());
        parts.push(part);
        values = rest;
    }
    parts
}

/// Calls `work` for each of `0..tasks` with a scratch that only one thread has. Returns the results in order, and the
/// scratches in no order.
///
/// For scratches as large as the graph: there are at most `workers` of them.
pub fn with_scratch<S: Send, T: Send>(
    tasks: usize,
    workers: usize,
    make: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> T + Sync,
) -> (Vec<T>, Vec<S>) {
    let next = AtomicUsize::new(0);
    let workers = workers.clamp(1, rayon::current_num_threads());
    let parts: Vec<(Vec<(usize, T)>, Option<S>)> = (0..workers)
        .into_par_iter()
        .with_max_len(1)
        .map(|_| {
            let mut scratch = None;
            let mut results = Vec::new();
            loop {
                let task = next.fetch_add(1, Ordering::Relaxed);
                if task >= tasks {
                    return (results, scratch);
                }
                results.push((task, work(scratch.get_or_insert_with(&make), task)));
            }
        })
        .collect();
    let mut all: Vec<Option<T>> = (0..tasks).map(|_| None).collect();
    let mut scratches = Vec::new();
    for (results, scratch) in parts {
        results.into_iter().for_each(|(task, result)| all[task] = Some(result));
        scratches.extend(scratch);
    }
    (all.into_iter().flatten().collect(), scratches)
}
