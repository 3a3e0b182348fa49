//! `TruncatedSVD` of sparse features: the subspace iteration of Halko, Martinsson and Tropp (2011), as scikit-learn's
//! `randomized_svd`, with its random numbers. It works on the transpose if there are more features than rows.

use onrush_dense::{self as dense, Matrix};
use rayon::prelude::*;

use super::pca::{Projection, check_count, components};
use crate::data::Data;
use crate::data::products::FeatureProducts;
use crate::error::{Error, ErrorKind};
use crate::params;
use crate::random::Mt19937;
use crate::run::Run;
use crate::tensor::Tensor;

/// Power iterations for the solver `arpack`, whose result is nearly exact.
const ARPACK: usize = 50;

/// Trains `TruncatedSVD`.
///
/// # Errors
/// If there are fewer rows or features than components, the user stops the work, or the values are too large.
pub fn truncated(params: &params::TruncatedSVD, data: &Data, run: &Run<'_>) -> Result<Projection, Error> {
    let (n, d, k) = (data.rows, data.total_width(), params.n_components);
    check_count(k, n, d)?;
    let x = FeatureProducts::new(data);
    let is_wide = n < d;
    // `forth` multiplies with the rows, or with their transpose if there are fewer rows than features.
    let forth = |q: &Matrix| product(&x, q, is_wide);
    let back = |q: &Matrix| product(&x, q, !is_wide);
    let directions = (k + params.n_oversamples).min(n.min(d));
    let mut random = Mt19937::new(params::seed(params.random_state));
    let mut q = Matrix::zeros(n.min(d), directions);
    for row in 0..q.rows {
        // scikit-learn draws all directions, also those beyond the rank.
        let drawn: Vec<f64> = (0..k + params.n_oversamples).map(|_| random.normal()).collect();
        drawn.iter().take(directions).enumerate().for_each(|(column, value)| q.set(row, column, *value));
    }
    let iterations = if params.algorithm == "arpack" { params.n_iter.max(ARPACK) } else { params.n_iter };
    for iteration in 0..iterations {
        run.check(|| format!("{iteration} of {iterations} power iterations"))?;
        (run.steps)(iteration as u64, iterations as u64);
        q = dense::orthonormal(&back(&dense::orthonormal(&forth(&q))));
    }
    let basis = dense::orthonormal(&forth(&q));
    run.check(|| "the power iterations".to_string())?;
    let found = dense::svd(&back(&basis)).filter(|(_, singular, _)| singular.iter().all(|s| s.is_finite()));
    let Some((left, singular, right)) = found else {
        let message = "the singular value decomposition does not converge: the values are too large";
        return Err(Error::new(ErrorKind::NoConvergence, message).help("scale the features first"));
    };
    let vectors = if is_wide { dense::multiply(&basis, &right) } else { left };
    let components = components(&vectors, k);
    let variance: Vec<f64> = (0..k).into_par_iter().map(|c| spread(&x.times(components.row(c)))).collect();
    let total: f64 = x.by_column(|_, values| column_variance(values, n)).iter().sum();
    Ok(Projection {
        name: "truncatedsvd".to_string(),
        components,
        mean: Tensor::vector(vec![0.0; d]),
        scale: Tensor::vector(vec![1.0; k]),
        explained_variance_ratio: Tensor::vector(variance.iter().map(|v| v / total).collect()),
        explained_variance: Tensor::vector(variance),
        singular_values: Tensor::vector(singular[..k].to_vec()),
        noise_variance: 0.0,
    })
}

/// The rows, or their transpose, times a matrix.
fn product(x: &FeatureProducts<'_>, with: &Matrix, transposed: bool) -> Matrix {
    let columns: Vec<Vec<f64>> = (0..with.columns)
        .into_par_iter()
        .map(|c| if transposed { x.transposed_times(with.column(c)) } else { x.times(with.column(c)) })
        .collect();
    Matrix::new(if transposed { x.width() } else { x.rows() }, with.columns, columns.concat())
}

/// The variance of values.
fn spread(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / values.len() as f64
}

/// The variance of a column of `rows` values, of which those other than 0 are given.
fn column_variance(values: &[f64], rows: usize) -> f64 {
    let mean = values.iter().sum::<f64>() / rows as f64;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (squares + (rows - values.len()) as f64 * mean * mean) / rows as f64
}
