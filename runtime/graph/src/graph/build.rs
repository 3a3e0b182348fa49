//! Rows from edges: a counting sort in two levels, and a sort within rows.
//!
//! Arcs are first sorted by ranges of rows, chunk by chunk of edges, then each range is sorted by row. Bounds of chunks
//! and ranges depend on the sizes alone, and equal arcs stand in the order of edges. The rows are then the same on any
//! number of threads.

use std::ops::Range;
use std::sync::OnceLock;

use rayon::prelude::*;

use super::{Rows, Shape, loops_of};
use crate::parallel;

/// Edges of a chunk: its arcs fit the second-level cache.
const CHUNK: usize = 1 << 16;

/// Ranges of rows at most.
const MOST_RANGES: usize = 1 << 10;

/// An arc that is on its way to its row.
#[derive(Clone, Copy, Default)]
struct Arc {
    row: u32,
    target: u32,
    edge: u32,
}

/// The arcs of a chunk, sorted by ranges of rows.
struct Part {
    arcs: Vec<Arc>,
    /// The start of each range, and the number of arcs at the end.
    begins: Vec<usize>,
}

/// The rows of the sources.
pub fn directed(nodes: usize, sources: &[u32], targets: &[u32]) -> Rows {
    let arcs = |range: Range<usize>, put: &mut dyn FnMut(Arc)| {
        range.for_each(|e| put(Arc { row: sources[e], target: targets[e], edge: e as u32 }));
    };
    rows(nodes, sources.len(), arcs, Order::Unsorted)
}

/// Each edge in the rows of both ends, a self-loop once.
pub fn undirected(nodes: usize, sources: &[u32], targets: &[u32]) -> Rows {
    let arcs = |range: Range<usize>, put: &mut dyn FnMut(Arc)| {
        for e in range {
            put(Arc { row: sources[e], target: targets[e], edge: e as u32 });
            if sources[e] != targets[e] {
                put(Arc { row: targets[e], target: sources[e], edge: e as u32 });
            }
        }
    };
    rows(nodes, sources.len(), arcs, Order::Unsorted)
}

/// The rows of the targets.
pub fn transposed(rows: &Rows) -> Rows {
    let arcs = |range: Range<usize>, put: &mut dyn FnMut(Arc)| {
        if range.is_empty() {
            return;
        }
        let mut source = rows.offsets.partition_point(|begin| *begin <= range.start) - 1;
        for arc in range {
            while rows.offsets[source + 1] <= arc {
                source += 1;
            }
            put(Arc { row: rows.targets[arc], target: source as u32, edge: rows.edges[arc] });
        }
    };
    self::rows(rows.nodes(), rows.targets.len(), arcs, Order::Sorted)
}

/// Whether the arcs of a row come in the order of their targets and edges.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    Sorted,
    Unsorted,
}

/// Rows of what `arcs` puts out for ranges of `0..count`.
fn rows(nodes: usize, count: usize, arcs: impl Fn(Range<usize>, &mut dyn FnMut(Arc)) + Sync, order: Order) -> Rows {
    let shift = shift_of(nodes);
    let ranges: Vec<Range<usize>> =
        (0..nodes.div_ceil(1 << shift)).map(|r| r << shift..nodes.min((r + 1) << shift)).collect();
    let parts: Vec<Part> = (0..count.div_ceil(CHUNK))
        .into_par_iter()
        .map(|c| part(ranges.len(), shift, |put| arcs(c * CHUNK..count.min((c + 1) * CHUNK), put)))
        .collect();
    let sizes: Vec<usize> =
        (0..ranges.len()).map(|r| parts.iter().map(|p| p.begins[r + 1] - p.begins[r]).sum()).collect();
    let total: usize = sizes.iter().sum();
    let mut spans = Vec::with_capacity(ranges.len());
    let mut begin = 0;
    for size in &sizes {
        spans.push(begin..begin + size);
        begin += size;
    }
    let mut made = Rows { offsets: vec![0; nodes + 1], targets: vec![0; total], edges: vec![0; total] };
    let offsets = parallel::split(&mut made.offsets[..nodes], &ranges);
    let targets = parallel::split(&mut made.targets, &spans);
    let edges = parallel::split(&mut made.edges, &spans);
    let outputs: Vec<_> = offsets.into_iter().zip(targets).zip(edges).enumerate().collect();
    outputs.into_par_iter().for_each(|(r, ((offsets, targets), edges))| {
        let pieces = || parts.iter().map(|p| &p.arcs[p.begins[r]..p.begins[r + 1]]);
        fill(ranges[r].start, pieces, (offsets, targets, edges), order);
        offsets.iter_mut().for_each(|o| *o += spans[r].start);
    });
    made.offsets[nodes] = total;
    made
}

/// The bits of a row that are its place in a range.
fn shift_of(nodes: usize) -> u32 {
    nodes.div_ceil(MOST_RANGES).next_power_of_two().trailing_zeros()
}

/// Sorts the arcs of a chunk by ranges of rows: a stable counting sort.
fn part(ranges: usize, shift: u32, arcs: impl Fn(&mut dyn FnMut(Arc))) -> Part {
    let mut all = Vec::with_capacity(2 * CHUNK);
    arcs(&mut |arc| all.push(arc));
    let mut begins = vec![0; ranges + 1];
    all.iter().for_each(|a: &Arc| begins[(a.row >> shift) as usize + 1] += 1);
    (0..ranges).for_each(|r| begins[r + 1] += begins[r]);
    let mut next = begins.clone();
    let mut sorted = vec![Arc::default(); all.len()];
    for arc in all {
        let place = &mut next[(arc.row >> shift) as usize];
        sorted[*place] = arc;
        *place += 1;
    }
    Part { arcs: sorted, begins }
}

/// Writes the rows of one range: offsets from 0, targets and edges.
fn fill<'a, P: Iterator<Item = &'a [Arc]>>(
    first: usize,
    pieces: impl Fn() -> P,
    (offsets, targets, edges): (&mut [usize], &mut [u32], &mut [u32]),
    order: Order,
) {
    let mut next = vec![0usize; offsets.len()];
    pieces().flatten().for_each(|a| next[a.row as usize - first] += 1);
    let mut begin = 0;
    for (offset, next) in offsets.iter_mut().zip(&mut next) {
        *offset = begin;
        begin += std::mem::replace(next, begin);
    }
    if order == Order::Sorted {
        for arc in pieces().flatten() {
            let place = &mut next[arc.row as usize - first];
            (targets[*place], edges[*place]) = (arc.target, arc.edge);
            *place += 1;
        }
        return;
    }
    // One number for target and edge: rows are sorted by both at once.
    let mut keys = vec![0u64; begin];
    for arc in pieces().flatten() {
        let place = &mut next[arc.row as usize - first];
        keys[*place] = u64::from(arc.target) << 32 | u64::from(arc.edge);
        *place += 1;
    }
    for (row, begin) in offsets.iter().enumerate() {
        // `next` has moved to the end of the row.
        keys[*begin..next[row]].sort_unstable();
    }
    for (place, key) in keys.into_iter().enumerate() {
        (targets[place], edges[place]) = ((key >> 32) as u32, key as u32);
    }
}

/// Distinct pairs without loops. `None` if the shape has no others.
pub fn simple(shape: &Shape) -> Option<Shape> {
    let out = &shape.out;
    let counts: Vec<usize> = out.each(|v| {
        let row = out.row(v);
        let distinct = row.chunk_by(|a, b| a == b).count();
        distinct - usize::from(loops_of(out, v) > 0)
    });
    let arcs: usize = counts.par_iter().sum();
    if arcs == out.targets.len() {
        return None;
    }
    let mut offsets = Vec::with_capacity(counts.len() + 1);
    offsets.push(0);
    counts.iter().for_each(|c| offsets.push(offsets[offsets.len() - 1] + c));
    let ranges = out.ranges();
    let spans: Vec<Range<usize>> = ranges.iter().map(|r| offsets[r.start]..offsets[r.end]).collect();
    let mut made = Rows { offsets, targets: vec![0; arcs], edges: vec![0; arcs] };
    let targets = parallel::split(&mut made.targets, &spans);
    let edges = parallel::split(&mut made.edges, &spans);
    let outputs: Vec<_> = ranges.into_iter().zip(targets).zip(edges).collect();
    outputs.into_par_iter().for_each(|((range, targets), edges)| {
        let mut place = 0;
        for node in range {
            let mut before = None;
            for arc in out.arcs(node as u32) {
                let target = out.targets[arc];
                if before.replace(target) != Some(target) && target as usize != node {
                    (targets[place], edges[place]) = (target, out.edges[arc]);
                    place += 1;
                }
            }
        }
    });
    Some(Shape {
        directed: shape.directed,
        edges: if shape.directed { arcs } else { arcs / 2 },
        out: made,
        into: OnceLock::new(),
        loops: OnceLock::from(0),
        simple: OnceLock::from(None),
    })
}

/// Weights by edge in which the first of parallel edges has the sum of all.
pub fn added_weights(out: &Rows, weights: &[f64]) -> Vec<f64> {
    let mut added = weights.to_vec();
    let sums: Vec<Vec<(u32, f64)>> = out
        .ranges()
        .into_par_iter()
        .map(|range| {
            let mut sums = Vec::new();
            for node in range {
                let arcs = out.arcs(node as u32);
                let mut arc = arcs.start;
                while arc < arcs.end {
                    let end = arc + out.targets[arc..arcs.end].iter().take_while(|t| **t == out.targets[arc]).count();
                    if end - arc > 1 {
                        let sum = out.edges[arc..end].iter().map(|e| weights[*e as usize]).sum();
                        sums.push((out.edges[arc], sum));
                    }
                    arc = end;
                }
            }
            sums
        })
        .collect();
    sums.into_iter().flatten().for_each(|(edge, sum)| added[edge as usize] = sum);
    added
}
