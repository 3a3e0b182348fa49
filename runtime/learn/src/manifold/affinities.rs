//! The joint probabilities of t-SNE: for each row a normal distribution over its nearest rows, whose width follows
//! from the perplexity (`sklearn/manifold/_t_sne.py`, `_joint_probabilities_nn`).

use rayon::prelude::*;

use crate::data::Data;
use crate::error::Error;
use crate::neighbors::search::{Index, Metric, NeighborSearch};
use crate::run::Run;

/// Steps of the search for the width of a distribution.
const STEPS: usize = 100;

/// The difference of an entropy at which the search ends.
const TOLERANCE: f64 = 1e-5;

/// Rows of a chunk of one thread.
const CHUNK: usize = 256;

/// A symmetric sparse matrix whose values sum to 1, row after row.
pub(super) struct Affinities {
    /// The start of each row in the other arrays, and their length.
    pub starts: Vec<usize>,
    pub neighbors: Vec<u32>,
    pub values: Vec<f64>,
}

impl Affinities {
    /// The affinities to the `count` nearest other rows of each row.
    ///
    /// # Errors
    /// If the user stops the work.
    pub fn new(data: &Data, metric: Metric, perplexity: f64, count: usize, run: &Run<'_>) -> Result<Self, Error> {
        run.stage("neighbours");
        let points = data.row_major();
        let index = Index::new(metric, &points, data.width());
        let queries = index.prepared(points);
        let mut nearest = index.search(&queries, NeighborSearch::Count(count + 1), run, Ok)?;
        run.stage("probabilities of the neighbours");
        nearest.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, lists)| {
            for (row, list) in (chunk * CHUNK..).zip(lists) {
                // The row itself may be missing among many equal rows.
                let own = list.iter().position(|(_, other)| *other as usize == row);
                list.remove(own.unwrap_or(list.len() - 1));
                conditional(list, perplexity.ln());
                list.sort_unstable_by_key(|(_, other)| *other);
            }
        });
        run.check(|| "the probabilities of the neighbours".to_string())?;
        Ok(symmetric(&nearest))
    }

    /// The neighbours of a row and their values.
    #[inline]
    pub fn row(&self, row: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.starts[row]..self.starts[row + 1];
        self.neighbors[range.clone()].iter().zip(&self.values[range]).map(|(other, value)| (*other as usize, *value))
    }
}

/// Turns distances into probabilities whose entropy is the wanted one, by bisection of the precision.
fn conditional(list: &mut [(f64, u32)], wanted: f64) {
    let squares: Vec<f64> = list.iter().map(|(distance, _)| distance * distance).collect();
    let (mut low, mut high, mut beta) = (f64::NEG_INFINITY, f64::INFINITY, 1.0);
    let mut shares = vec![0.0; squares.len()];
    for _ in 0..STEPS {
        shares.iter_mut().zip(&squares).for_each(|(share, square)| *share = (-square * beta).exp());
        let sum: f64 = shares.iter().sum();
        let sum = if sum == 0.0 { f64::EPSILON } else { sum };
        shares.iter_mut().for_each(|share| *share /= sum);
        let mean: f64 = shares.iter().zip(&squares).map(|(share, square)| share * square).sum();
        let difference = sum.ln() + beta * mean - wanted;
        if difference.abs() <= TOLERANCE {
            break;
        }
        if difference > 0.0 {
            low = beta;
            beta = if high == f64::INFINITY { beta * 2.0 } else { f64::midpoint(beta, high) };
        } else {
            high = beta;
            beta = if low == f64::NEG_INFINITY { beta / 2.0 } else { f64::midpoint(beta, low) };
        }
    }
    list.iter_mut().zip(&shares).for_each(|(entry, share)| entry.0 = *share);
}

/// The sum of a matrix and its transpose, divided by its total. Each row is sorted by its neighbours.
fn symmetric(rows: &[Vec<(f64, u32)>]) -> Affinities {
    let mut starts = vec![0usize; rows.len() + 1];
    rows.iter().flatten().for_each(|(_, other)| starts[*other as usize + 1] += 1);
    for row in 0..rows.len() {
        starts[row + 1] += starts[row];
    }
    let mut next = starts.clone();
    let mut incoming = vec![(0.0, 0u32); starts[rows.len()]];
    for (row, list) in rows.iter().enumerate() {
        for (value, other) in list {
            let place = &mut next[*other as usize];
            incoming[*place] = (*value, row as u32);
            *place += 1;
        }
    }
    let total: f64 = 2.0 * rows.iter().map(|list| list.iter().map(|(value, _)| value).sum::<f64>()).sum::<f64>();
    let total = total.max(f64::EPSILON);
    let merged: Vec<Vec<(f64, u32)>> = rows
        .par_iter()
        .enumerate()
        .map(|(row, own)| merge(own, &incoming[starts[row]..starts[row + 1]], total))
        .collect();
    let mut out = Affinities { starts: vec![0], neighbors: Vec::new(), values: Vec::new() };
    for list in merged {
        out.neighbors.extend(list.iter().map(|(_, other)| *other));
        out.values.extend(list.iter().map(|(value, _)| *value));
        out.starts.push(out.neighbors.len());
    }
    out
}

/// The sums of two sorted lists, divided by `total`.
fn merge(a: &[(f64, u32)], b: &[(f64, u32)], total: f64) -> Vec<(f64, u32)> {
    let mut out = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let left = a.get(i).map_or(u32::MAX, |(_, other)| *other);
        let right = b.get(j).map_or(u32::MAX, |(_, other)| *other);
        let other = left.min(right);
        let mut value = 0.0;
        if left == other {
            value += a[i].0;
            i += 1;
        }
        if right == other {
            value += b[j].0;
            j += 1;
        }
        out.push((value / total, other));
    }
    out
}
