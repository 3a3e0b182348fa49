//! Mutual information of a feature and the target by nearest neighbours, as in scikit-learn's
//! `feature_selection/_mutual_info.py` (Kraskov, Stögbauer and Grassberger 2004, "Estimating mutual information"; Ross
//! 2014, "Mutual information between discrete and continuous data sets").
//!
//! Dense features are continuous, sparse ones are discrete, and the neighbours are 3: scikit-learn's defaults. The
//! noise that separates equal values is that of `random_state=0`.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::distribution::digamma;
use super::scores::Classes;
use crate::data::Data;
use crate::data::sparse::Sparse;
use crate::error::Error;
use crate::neighbors::search::{Index, Metric, NeighborSearch};
use crate::random::Mt19937;
use crate::run::Run;
use crate::sums;

/// How many neighbours are looked at.
const NEIGHBORS: usize = 3;

/// The information of each feature about the class.
pub fn with_classes(data: &Data, classes: &Classes, run: &Run<'_>) -> Result<Vec<f64>, Error> {
    let (columns, _) = noisy(data, None);
    let mut scores = par(&columns, run, |x| Ok(of_classes(x, &classes.codes, classes.counts.len())))?;
    if let Some(sparse) = &data.sparse {
        scores.extend(sparse_columns(sparse).into_iter().map(|column| {
            let mut pairs: BTreeMap<(u64, u32), f64> = BTreeMap::new();
            let mut zeros = classes.counts.clone();
            for (row, value) in column {
                *pairs.entry((value.to_bits(), classes.codes[row])).or_insert(0.0) += 1.0;
                zeros[classes.codes[row] as usize] -= 1.0;
            }
            for (class, count) in zeros.into_iter().enumerate().filter(|(_, count)| *count > 0.0) {
                *pairs.entry((0, class as u32)).or_insert(0.0) += count;
            }
            of_counts(&pairs, &classes.counts, data.rows as f64)
        }));
    }
    Ok(scores)
}

/// The information of each feature about the number.
pub fn with_numbers(data: &Data, y: &[f64], run: &Run<'_>) -> Result<Vec<f64>, Error> {
    let (columns, y) = noisy(data, Some(y));
    let mut scores = par(&columns, run, |x| of_numbers(x, &y, run))?;
    if let Some(sparse) = &data.sparse {
        for column in sparse_columns(sparse) {
            run.check(|| "the dense features".to_string())?;
            let mut known: Vec<u64> = column.iter().map(|(_, value)| value.to_bits()).collect();
            known.push(0);
            known.sort_unstable();
            known.dedup();
            let code = |value: f64| known.partition_point(|bits| *bits < value.to_bits()) as u32;
            let mut codes = vec![code(0.0); data.rows];
            column.iter().for_each(|(row, value)| codes[*row] = code(*value));
            scores.push(of_classes(&y, &codes, known.len()));
        }
    }
    Ok(scores)
}

fn par(
    columns: &[Vec<f64>],
    run: &Run<'_>,
    work: impl Fn(&[f64]) -> Result<f64, Error> + Sync,
) -> Result<Vec<f64>, Error> {
    let results: Vec<Result<f64, Error>> = columns
        .par_iter()
        .map(|column| {
            run.check(|| format!("scores of some of {} features", columns.len()))?;
            work(column)
        })
        .collect();
    results.into_iter().collect()
}

/// For each column its rows and values other than 0.
fn sparse_columns(sparse: &Sparse) -> Vec<Vec<(usize, f64)>> {
    let mut columns = vec![Vec::new(); sparse.width()];
    for row in 0..sparse.rows() {
        let (positions, values) = sparse.row(row);
        for (column, value) in positions.iter().zip(values).filter(|(_, value)| **value != 0.0) {
            columns[*column as usize].push((row, *value));
        }
    }
    columns
}

/// Features and target with the variance 1 and a little noise.
fn noisy(data: &Data, y: Option<&[f64]>) -> (Vec<Vec<f64>>, Vec<f64>) {
    const NOISE: f64 = 1e-10;
    let scaled = |values: &[f64]| {
        let mean = sums::mean(values, None);
        let squares: Vec<f64> = values.iter().map(|v| (v - mean) * (v - mean)).collect();
        let deviation = sums::mean(&squares, None).sqrt();
        // scikit-learn takes less than this for 0.
        let deviation = if deviation < 10.0 * f64::EPSILON { 1.0 } else { deviation };
        values.iter().map(|v| v / deviation).collect::<Vec<f64>>()
    };
    let size = |values: &[f64]| {
        let sizes: Vec<f64> = values.iter().map(|v| v.abs()).collect();
        NOISE * sums::mean(&sizes, None).max(1.0)
    };
    let mut columns: Vec<Vec<f64>> = data.features.par_iter().map(|c| scaled(&c.values)).collect();
    let sizes: Vec<f64> = columns.par_iter().map(|c| size(c)).collect();
    let mut random = Mt19937::new(0);
    for row in 0..data.rows {
        columns.iter_mut().zip(&sizes).for_each(|(column, size)| column[row] += size * random.normal());
    }
    let mut y = y.map(scaled).unwrap_or_default();
    let of_y = size(&y);
    y.iter_mut().for_each(|v| *v += of_y * random.normal());
    (columns, y)
}

/// How many sorted values are nearer than `radius`.
fn nearer(sorted: &[f64], value: f64, radius: f64) -> usize {
    let low = sorted.partition_point(|v| value - v >= radius);
    let high = sorted.partition_point(|v| v - value < radius);
    high.saturating_sub(low)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// The distance of the `k`th neighbour in a sorted list without the value itself, which is at `at`.
fn kth_distance(sorted: &[f64], at: usize, k: usize) -> f64 {
    let (mut low, mut high, mut distance) = (at, at, 0.0);
    for _ in 0..k {
        let left = low.checked_sub(1).map(|i| sorted[at] - sorted[i]);
        let right = sorted.get(high + 1).map(|v| v - sorted[at]);
        distance = match (left, right) {
            (Some(left), Some(right)) if left <= right => {
                low -= 1;
                left
            }
            (Some(left), None) => {
                low -= 1;
                left
            }
            (_, Some(right)) => {
                high += 1;
                right
            }
            (None, None) => distance,
        };
    }
    distance
}

/// The information of a continuous and a discrete variable.
fn of_classes(x: &[f64], codes: &[u32], classes: usize) -> f64 {
    let mut groups = vec![Vec::new(); classes];
    x.iter().zip(codes).for_each(|(x, code)| groups[*code as usize].push(*x));
    // Values that are the only one of their class do not count.
    groups.retain(|group| group.len() > 1);
    let all = sorted(&groups.concat());
    let (mut neighbors, mut counts, mut around) = (0.0, 0.0, 0.0);
    for group in &groups {
        let group = sorted(group);
        let k = NEIGHBORS.min(group.len() - 1);
        neighbors += group.len() as f64 * digamma(k as f64);
        counts += group.len() as f64 * digamma(group.len() as f64);
        for (at, value) in group.iter().enumerate() {
            around += digamma(nearer(&all, *value, kth_distance(&group, at, k)).max(1) as f64);
        }
    }
    let rows = all.len() as f64;
    if rows == 0.0 {
        return 0.0;
    }
    (digamma(rows) + neighbors / rows - counts / rows - around / rows).max(0.0)
}

/// The information of two continuous variables.
fn of_numbers(x: &[f64], y: &[f64], run: &Run<'_>) -> Result<f64, Error> {
    let rows = x.len();
    let k = NEIGHBORS.min(rows.saturating_sub(1));
    if k == 0 {
        return Ok(0.0);
    }
    let points: Vec<f64> = x.iter().zip(y).flat_map(|(x, y)| [*x, *y]).collect();
    let index = Index::new(Metric::Chebyshev, &points, 2);
    // The row itself is the first one.
    let farthest = |found: Vec<(f64, u32)>| Ok(found.last().map_or(0.0, |(distance, _)| *distance));
    let radius = index.search(&points, NeighborSearch::Count(k + 1), run, farthest)?;
    let mean = |values: &[f64]| {
        let all = sorted(values);
        let sum: f64 = values.iter().zip(&radius).map(|(v, r)| digamma(nearer(&all, *v, *r).max(1) as f64)).sum();
        sum / rows as f64
    };
    Ok((digamma(rows as f64) + digamma(k as f64) - mean(x) - mean(y)).max(0.0))
}

/// The information of two discrete variables by the counts of their pairs.
fn of_counts(pairs: &BTreeMap<(u64, u32), f64>, classes: &[f64], rows: f64) -> f64 {
    let mut values: BTreeMap<u64, f64> = BTreeMap::new();
    pairs.iter().for_each(|((value, _), count)| *values.entry(*value).or_insert(0.0) += count);
    let term = |((value, class), count): (&(u64, u32), &f64)| {
        let (of_value, of_class) = (values.get(value).copied().unwrap_or(1.0), classes[*class as usize]);
        count / rows * ((count / rows).ln() - (of_value / rows).ln() - (of_class / rows).ln())
    };
    pairs.iter().map(term).sum::<f64>().max(0.0)
}
