//! The Theil-Sen estimator of several features: the spatial median of least squares on subsets (Dang, Peng, Wang and
//! Zhang 2008), as in `sklearn/linear_model/_theil_sen.py`.

use onrush_dense::{self as dense, Matrix};
use rayon::prelude::*;

use super::Linear;
use super::robust::RobustLinear;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::params;
use crate::quantile;
use crate::random::Mt19937;
use crate::run::Run;
use crate::stored::StoredAttributes;
use crate::tensor::Tensor;

/// Trains `TheilSenRegressor`.
///
/// # Errors
/// If `n_subsamples` does not fit the data, or a decomposition fails. If the user stops the work.
pub fn fit(params: &params::TheilSenRegressor, data: &Data, run: &Run<'_>) -> Result<RobustLinear, Error> {
    let (n, width) = (data.rows, data.width());
    let dimensions = width + usize::from(params.fit_intercept);
    let size = subset_size(params.n_subsamples, n, width, dimensions)?;
    let all = binomial(n, size).round();
    let count = params.max_subpopulation.min(all.max(1.0)) as usize;
    let subsets: Vec<Vec<usize>> = match all <= params.max_subpopulation {
        true => combinations(n, size),
        false => {
            let mut random = Mt19937::new(params::seed(params.random_state));
            (0..count).map(|_| random.choice(n, size)).collect()
        }
    };
    run.stage(format!("least squares of {} subsets", subsets.len()));
    let weights: Vec<Vec<f64>> = subsets
        .par_iter()
        .map(|rows| {
            run.check(|| "some subsets".to_string())?;
            solution(data, rows, params.fit_intercept)
        })
        .collect::<Result<_, Error>>()?;
    run.stage("spatial median");
    let (n_iter, median, converged) = spatial_median(&weights, params.max_iter, params.tol, run)?;
    let (intercept, coef) = match params.fit_intercept {
        true => (median[0], median[1..].to_vec()),
        false => (0.0, median),
    };
    let k = size as f64;
    let breakdown = 1.0 - (0.5f64.powf(1.0 / k) * (n as f64 - k + 1.0) + k - 1.0) / n as f64;
    let notes = match converged {
        true => Vec::new(),
        false => vec![format!("stopped after `max_iter` = {} iterations: raise `max_iter`", params.max_iter)],
    };
    let attributes =
        StoredAttributes::default().float("breakdown", breakdown).int("n_subpopulation", count).int("n_iter", n_iter);
    let linear = Linear { coef: Tensor::vector(coef), intercept, notes, ..Linear::default() };
    Ok(RobustLinear { linear, attributes })
}

fn subset_size(given: Option<usize>, rows: usize, width: usize, dimensions: usize) -> Result<usize, Error> {
    let Some(size) = given else { return Ok(dimensions.min(rows)) };
    let range = if rows >= width { dimensions..=rows } else { rows..=rows };
    match range.contains(&size) {
        true => Ok(size),
        false => {
            let message = format!("`n_subsamples` is {size}: from {} to {rows}, the number of rows", range.start());
            Err(Error::new(ErrorKind::Parameter, message))
        }
    }
}

/// The number of subsets.
fn binomial(n: usize, k: usize) -> f64 {
    (0..k).fold(1.0, |product, i| product * (n - i) as f64 / (i + 1) as f64)
}

/// All subsets in lexical order.
fn combinations(n: usize, k: usize) -> Vec<Vec<usize>> {
    let mut out = Vec::new();
    let mut now: Vec<usize> = (0..k).collect();
    loop {
        out.push(now.clone());
        let Some(at) = (0..k).rev().find(|at| now[*at] < n - k + at) else { return out };
        now[at] += 1;
        for later in at + 1..k {
            now[later] = now[later - 1] + 1;
        }
    }
}

/// The shortest least-squares solution of some rows, the intercept first.
fn solution(data: &Data, rows: &[usize], fit_intercept: bool) -> Result<Vec<f64>, Error> {
    let mut values = Vec::with_capacity(rows.len() * (data.width() + 1));
    if fit_intercept {
        values.resize(rows.len(), 1.0);
    }
    data.features.iter().for_each(|column| values.extend(rows.iter().map(|row| column.values[*row])));
    let matrix = Matrix::new(rows.len(), values.len() / rows.len(), values);
    let (u, singular, v) = dense::svd(&matrix).ok_or_else(|| {
        Error::new(ErrorKind::NoConvergence, "the least squares of a subset do not converge")
            .help("scale the features first, for example with StandardScaler")
    })?;
    let limit = f64::EPSILON * singular.first().copied().unwrap_or(0.0);
    let mut out = vec![0.0; matrix.columns];
    for (k, s) in singular.iter().enumerate().filter(|(_, s)| **s > limit) {
        let along: f64 = u.column(k).iter().zip(rows).map(|(u, row)| u * data.y[*row]).sum();
        out.iter_mut().zip(v.column(k)).for_each(|(w, v)| *w += along / s * v);
    }
    Ok(out)
}

/// The point with the least sum of distances, by the modified Weiszfeld iteration (Vardi and Zhang 2000).
fn spatial_median(
    points: &[Vec<f64>],
    max_iter: usize,
    tol: f64,
    run: &Run<'_>,
) -> Result<(usize, Vec<f64>, bool), Error> {
    let width = points[0].len();
    if width == 1 {
        let mut values: Vec<f64> = points.iter().map(|point| point[0]).collect();
        return Ok((1, vec![quantile::median(&mut values)], true));
    }
    let mut place: Vec<f64> =
        (0..width).map(|j| points.iter().map(|point| point[j]).sum::<f64>() / points.len() as f64).collect();
    for iteration in 0..max_iter {
        run.check(|| format!("{iteration} of at most {max_iter} iterations"))?;
        let next = moved(points, &place);
        let change: f64 = next.iter().zip(&place).map(|(a, b)| (a - b) * (a - b)).sum();
        if change < tol * tol {
            return Ok((iteration, next, true));
        }
        place = next;
    }
    Ok((max_iter.saturating_sub(1), place, false))
}

fn moved(points: &[Vec<f64>], place: &[f64]) -> Vec<f64> {
    let width = place.len();
    let (mut pull, mut mean, mut weight) = (vec![0.0; width], vec![0.0; width], 0.0);
    let mut is_a_point = 0.0;
    for point in points {
        let length = point.iter().zip(place).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
        if length < f64::EPSILON {
            is_a_point = 1.0;
            continue;
        }
        for j in 0..width {
            pull[j] += (point[j] - place[j]) / length;
            mean[j] += point[j] / length;
        }
        weight += 1.0 / length;
    }
    let mut force = pull.iter().map(|v| v * v).sum::<f64>().sqrt();
    let direction: Vec<f64> = match force > f64::EPSILON {
        true => mean.iter().map(|v| v / weight).collect(),
        false => {
            force = 1.0;
            vec![1.0; width]
        }
    };
    let (far, near) = (f64::max(0.0, 1.0 - is_a_point / force), f64::min(1.0, is_a_point / force));
    direction.iter().zip(place).map(|(d, p)| far * d + near * p).collect()
}
