//! Affinity propagation (Frey and Dueck, Science 2007), with the random numbers of
//! `sklearn/cluster/_affinity_propagation.py`.

use rayon::prelude::*;

use super::kmeans::KMeans;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::neighbors::tile;
use crate::params;
use crate::quantile;
use crate::random::Mt19937;
use crate::run::Run;
use crate::tensor::Tensor;

/// Rows at most: four matrices of all pairs are held, 8 bytes each.
const MOST_ROWS: usize = 10_000;

/// Trains `AffinityPropagation`: a model of the exemplars as centres.
///
/// # Errors
/// If there are too many rows, or no row becomes an exemplar. If the user stops the work.
pub fn fit(params: &params::AffinityPropagation, data: &Data, run: &Run<'_>) -> Result<KMeans, Error> {
    let (n, width) = (data.rows, data.width());
    if n > MOST_ROWS {
        let message = format!("{n} rows: AffinityPropagation compares all pairs, and takes at most {MOST_ROWS}");
        return Err(Error::new(ErrorKind::Size, message).help("take a sample, or another clustering, such as KMeans"));
    }
    run.stage("similarities");
    let points = data.row_major();
    let row = |i: usize| &points[i * width..(i + 1) * width];
    let mut similarity = vec![0.0; n * n];
    similarity.par_chunks_mut(n).enumerate().for_each(|(i, out)| {
        out.iter_mut()
            .enumerate()
            .for_each(|(j, out)| *out = if i == j { 0.0 } else { -tile::distance(row(i), row(j)) });
    });
    let preference = match params.preference {
        Some(preference) => preference,
        None => quantile::median(&mut similarity.clone()),
    };
    let first = if n > 1 { similarity[1] } else { 0.0 };
    let is_equal = (0..n * n).all(|at| at / n == at % n || similarity[at] == first);
    let (exemplars, n_iter, converged) = if n == 1 || is_equal {
        // Equal similarities leave the choice open.
        let all = preference > if n > 1 { similarity[n - 1] } else { 0.0 };
        (if all { (0..n).collect() } else { vec![0] }, 0, true)
    } else {
        (0..n).for_each(|i| similarity[i * n + i] = preference);
        let mut random = Mt19937::new(params::seed(params.random_state));
        let noise = |s: f64, random: &mut Mt19937| (f64::EPSILON * s + f64::MIN_POSITIVE * 100.0) * random.normal();
        similarity.iter_mut().for_each(|s| *s += noise(*s, &mut random));
        exemplars(&similarity, n, params, run)?
    };
    if exemplars.is_empty() {
        let message = format!("no row is an exemplar after {n_iter} iterations");
        return Err(
            Error::new(ErrorKind::NoConvergence, message).help("set `damping` to a number near 1, or raise `max_iter`")
        );
    }
    let labels = nearest(&similarity, n, &exemplars);
    let centers = exemplars.iter().flat_map(|i| row(*i).to_vec()).collect();
    let mut notes = vec![format!("{} clusters", exemplars.len())];
    if !converged {
        notes.push(format!("stopped after `max_iter` = {n_iter} iterations: raise `max_iter` or `damping`"));
    }
    let inertia = labels.iter().enumerate().map(|(i, k)| tile::distance(row(i), row(exemplars[*k]))).sum();
    Ok(KMeans {
        centers: Tensor::new(vec![exemplars.len(), width], centers),
        labels: Tensor::vector(labels.iter().map(|k| *k as f64).collect()),
        inertia,
        n_iter: n_iter as u64,
        notes,
    })
}

/// The exemplar of each row: the most similar one, and itself for an exemplar.
fn nearest(similarity: &[f64], n: usize, exemplars: &[usize]) -> Vec<usize> {
    let most = |i: usize| {
        let of = |k: usize| similarity[i * n + exemplars[k]];
        (0..exemplars.len()).fold(0, |a, b| if of(b) > of(a) { b } else { a })
    };
    let mut labels: Vec<usize> = (0..n).map(most).collect();
    exemplars.iter().enumerate().for_each(|(k, i)| labels[*i] = k);
    labels
}

/// Sends messages until the exemplars rest. Gives them in order, the iterations, and whether they rest.
fn exemplars(
    similarity: &[f64],
    n: usize,
    params: &params::AffinityPropagation,
    run: &Run<'_>,
) -> Result<(Vec<usize>, usize, bool), Error> {
    let damping = params.damping;
    let (mut available, mut responsible) = (vec![0.0; n * n], vec![0.0; n * n]);
    let mut history: Vec<Vec<bool>> = Vec::new();
    let (mut n_iter, mut converged) = (0, false);
    while n_iter < params.max_iter && !converged {
        run.check(|| format!("{n_iter} of at most {} iterations", params.max_iter))?;
        (run.steps)(n_iter as u64, params.max_iter as u64);
        let rows = responsible.par_chunks_mut(n).zip(available.par_chunks(n)).zip(similarity.par_chunks(n));
        rows.for_each(|((out, available), similarity)| {
            let sum = |j: usize| available[j] + similarity[j];
            let best = (0..n).fold(0, |a, b| if sum(b) > sum(a) { b } else { a });
            let second = (0..n).filter(|j| *j != best).map(sum).fold(f64::NEG_INFINITY, f64::max);
            for (j, out) in out.iter_mut().enumerate() {
                let other = if j == best { second } else { sum(best) };
                *out = *out * damping + (similarity[j] - other) * (1.0 - damping);
            }
        });
        // Columns: the sum of the positive responsibilities of the other rows.
        let mut sums = vec![0.0; n];
        for (i, row) in responsible.chunks_exact(n).enumerate() {
            for (j, (sum, value)) in sums.iter_mut().zip(row).enumerate() {
                *sum += if i == j { *value } else { value.max(0.0) };
            }
        }
        available.par_chunks_mut(n).zip(responsible.par_chunks(n)).enumerate().for_each(|(i, (out, row))| {
            for (j, out) in out.iter_mut().enumerate() {
                let less = match i == j {
                    true => row[j] - sums[j],
                    false => (row[j].max(0.0) - sums[j]).max(0.0),
                };
                *out = *out * damping - less * (1.0 - damping);
            }
        });
        let now: Vec<bool> = (0..n).map(|i| available[i * n + i] + responsible[i * n + i] > 0.0).collect();
        let count = now.iter().filter(|is| **is).count();
        history.push(now);
        if history.len() > params.convergence_iter {
            history.remove(0);
        }
        run.stage(format!("iteration {}, {count} exemplars", n_iter + 1));
        if n_iter >= params.convergence_iter {
            converged = count > 0 && history.windows(2).all(|pair| pair[0] == pair[1]);
        }
        n_iter += 1;
    }
    let is_exemplar = history.pop().unwrap_or_default();
    let mut found: Vec<usize> = (0..n).filter(|i| is_exemplar[*i]).collect();
    if !found.is_empty() {
        // The row of each cluster that is most similar to all of its rows takes the place of the exemplar.
        let labels = nearest(similarity, n, &found);
        for (k, exemplar) in found.iter_mut().enumerate() {
            let own: Vec<usize> = (0..n).filter(|i| labels[*i] == k).collect();
            let total = |j: usize| own.iter().map(|i| similarity[i * n + j]).sum::<f64>();
            *exemplar = own.iter().copied().reduce(|a, b| if total(b) > total(a) { b } else { a }).unwrap_or(*exemplar);
        }
        let mut used: Vec<usize> = nearest(similarity, n, &found).into_iter().map(|k| found[k]).collect();
        used.sort_unstable();
        used.dedup();
        found = used;
    }
    Ok((found, n_iter, converged))
}
