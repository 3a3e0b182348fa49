//! Factor analysis by expectation maximisation on singular values (Barber 2012, algorithm 21.1), as in
//! `sklearn/decomposition/_factor_analysis.py`.

use onrush_dense::{self as dense, Matrix};

use super::linear_map::{LinearMap, row_major};
use super::randomized::randomized_svd;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::params;
use crate::random::Mt19937;
use crate::run::Run;
use crate::stored::StoredAttributes;
use crate::tensor::Tensor;

/// The least noise variance, and what is added to standard deviations.
const SMALL: f64 = 1e-12;

/// Trains `FactorAnalysis`.
///
/// # Errors
/// If `n_components` or `noise_variance_init` do not fit the features. If the user stops the work.
pub fn fit(params: &params::FactorAnalysis, data: &Data, run: &Run<'_>) -> Result<LinearMap, Error> {
    let (n, d) = (data.rows, data.width());
    let count = params.n_components.unwrap_or(d);
    super::pca::check_count(count, n, d)?;
    let mean = data.means();
    let centred = super::pca::centred(data, 0..n, &mean);
    let var: Vec<f64> = (0..d).map(|j| centred.column(j).iter().map(|v| v * v).sum::<f64>() / n as f64).collect();
    let mut psi = match &params.noise_variance_init {
        Some(given) if given.len() != d || given.iter().any(|v| !(v.is_finite() && *v > 0.0)) => {
            let message =
                format!("`noise_variance_init` is {given}: expected {d} numbers above 0, one for each feature");
            return Err(Error::new(ErrorKind::Parameter, message));
        }
        Some(given) => given.to_vec(),
        None => vec![1.0; d],
    };
    let mut random = Mt19937::new(params.random_state as u32);
    let root = (n as f64).sqrt();
    let constant = d as f64 * (2.0 * std::f64::consts::PI).ln() + count as f64;
    let mut likelihoods: Vec<f64> = Vec::new();
    let mut converged = false;
    let mut components = Matrix::zeros(count, d);
    while likelihoods.len() < params.max_iter {
        run.check(|| format!("{} of at most {} iterations", likelihoods.len(), params.max_iter))?;
        let deviations: Vec<f64> = psi.iter().map(|v| v.sqrt() + SMALL).collect();
        let mut scaled = centred.clone();
        for (j, deviation) in deviations.iter().enumerate() {
            scaled.column_mut(j).iter_mut().for_each(|v| *v /= deviation * root);
        }
        let (values, v, unexplained) = directions(params, &scaled, count, &mut random, run)?;
        let squares: Vec<f64> = values.iter().map(|s| s * s).collect();
        for (k, square) in squares.iter().enumerate() {
            let factor = (square - 1.0).max(0.0).sqrt();
            for (j, deviation) in deviations.iter().enumerate() {
                components.set(k, j, factor * v.at(j, k) * deviation);
            }
        }
        let logs = squares.iter().chain(&psi).map(|v| v.ln()).sum::<f64>();
        let likelihood = (constant + logs + unexplained) * (n as f64 / -2.0);
        let before = likelihoods.last().copied().unwrap_or(f64::NEG_INFINITY);
        likelihoods.push(likelihood);
        run.stage(format!("iteration {}, log-likelihood {likelihood:.6}", likelihoods.len()));
        if likelihood - before < params.tol {
            converged = true;
            break;
        }
        for (j, psi) in psi.iter_mut().enumerate() {
            *psi = (var[j] - components.column(j).iter().map(|w| w * w).sum::<f64>()).max(SMALL);
        }
    }
    if let Some(method) = &params.rotation {
        components = rotated(&components, method)?;
    }
    finished(components, mean, psi, likelihoods, converged)
}

/// Singular values, right vectors, and the sum of squares that they do not explain.
fn directions(
    params: &params::FactorAnalysis,
    scaled: &Matrix,
    count: usize,
    random: &mut Mt19937,
    run: &Run<'_>,
) -> Result<(Vec<f64>, Matrix, f64), Error> {
    if params.svd_method != "lapack" {
        let found = randomized_svd(scaled, count, Some(params.iterated_power), random, run)?;
        let all: f64 = scaled.data.iter().map(|v| v * v).sum();
        let unexplained = all - found.values.iter().map(|s| s * s).sum::<f64>();
        return Ok((found.values, found.v, unexplained));
    }
    let (_, mut values, v) = dense::svd(scaled).ok_or_else(broken)?;
    let rest = values.split_off(count);
    Ok((values, v, rest.iter().map(|s| s * s).sum()))
}

fn broken() -> Error {
    Error::new(ErrorKind::NoConvergence, "the singular value decomposition does not converge")
        .help("scale the features first, for example with StandardScaler")
}

/// Components after an orthogonal rotation: varimax (Kaiser 1958) or quartimax.
fn rotated(components: &Matrix, method: &str) -> Result<Matrix, Error> {
    const TOL: f64 = 1e-6;
    const MAX_ITER: usize = 100;
    let loadings = components.transposed();
    let (rows, count) = (loadings.rows, loadings.columns);
    let mut rotation = Matrix::zeros(count, count);
    (0..count).for_each(|k| rotation.set(k, k, 1.0));
    let mut before = 0.0;
    for _ in 0..MAX_ITER {
        let turned = dense::multiply(&loadings, &rotation);
        let mut target = turned.clone();
        for k in 0..count {
            let mean = match method {
                "varimax" => turned.column(k).iter().map(|v| v * v).sum::<f64>() / rows as f64,
                _ => 0.0,
            };
            target.column_mut(k).iter_mut().for_each(|v| *v = *v * *v * *v - mean * *v);
        }
        let (u, values, v) = dense::svd(&dense::transpose_multiply(&loadings, &target)).ok_or_else(broken)?;
        rotation = dense::multiply(&u, &v.transposed());
        let sum: f64 = values.iter().sum();
        if before != 0.0 && sum < before * (1.0 + TOL) {
            break;
        }
        before = sum;
    }
    Ok(dense::multiply(&loadings, &rotation).transposed())
}

/// The posterior means of the factors as a linear map: `(x - mean) psi^-1 W' (1 + W psi^-1 W')^-1`.
fn finished(
    components: Matrix,
    mean: Vec<f64>,
    psi: Vec<f64>,
    likelihoods: Vec<f64>,
    converged: bool,
) -> Result<LinearMap, Error> {
    let count = components.rows;
    let mut weighted = components.clone();
    for (j, psi) in psi.iter().enumerate() {
        weighted.column_mut(j).iter_mut().for_each(|w| *w /= psi);
    }
    let mut precision = dense::multiply(&weighted, &components.transposed());
    for k in 0..count {
        precision.set(k, k, precision.at(k, k) + 1.0);
    }
    let map = dense::solve_positive(&precision, &weighted).ok_or_else(|| {
        Error::new(ErrorKind::Numeric, "the covariance of the factors is not positive definite")
            .help("scale the features first, for example with StandardScaler")
    })?;
    let n_iter = likelihoods.len();
    let Tensor { data: loadings, .. } = row_major(&components);
    let attributes = StoredAttributes::default()
        .by_row("components", "component", loadings)
        .by_feature("mean", "mean", mean.clone())
        .by_feature("noise_variance", "noise_variance", psi)
        .numbered("loglike", "iteration", "loglike", likelihoods)
        .int("n_iter", n_iter);
    let mut model = LinearMap::new("factoranalysis", row_major(&map), mean, attributes);
    if !converged {
        model.notes.push(format!("stopped after `max_iter` = {n_iter} iterations: raise `max_iter`"));
    }
    Ok(model)
}
