//! Work on chunks whose bounds do not depend on the number of threads: float sums have the same bits on any number.

use std::ops::Range;

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
