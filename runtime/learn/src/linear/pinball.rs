//! Quantile regression with an l1 penalty (Koenker and Bassett 1978): `QuantileRegressor` of scikit-learn
//! (`sklearn/linear_model/_quantile.py`), by the simplex method on the dual program.

use super::robust::RobustLinear;
use super::{Linear, finite, simplex};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::params;
use crate::run::Run;
use crate::stored::StoredAttributes;
use crate::tensor::Tensor;

/// Reduced costs that count as 0, relative to the spread of the target.
const TOL: f64 = 1e-10;

/// Trains `QuantileRegressor`.
///
/// # Errors
/// If the quantile is 0 or 1, or all weights are 0. If the simplex method does not end, or the user stops the work.
pub fn fit(params: &params::QuantileRegressor, data: &Data, run: &Run<'_>) -> Result<RobustLinear, Error> {
    let quantile = params.quantile;
    if quantile <= 0.0 || quantile >= 1.0 {
        let message = format!("`quantile` is {quantile}: above 0 and below 1");
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    let alpha = finite("alpha", params.alpha)?;
    let weights: Vec<f64> = (0..data.rows).map(|row| data.weight_of(row)).collect();
    let total: f64 = weights.iter().sum();
    if total <= 0.0 {
        return Err(Error::new(ErrorKind::Weight, "all sample weights are 0: at least one must be above 0"));
    }
    let n = data.rows as f64;
    let centre = params.fit_intercept;
    // Columns of about one size keep the digits of the steps. With an intercept their shift changes nothing else.
    let scaled = |values: &[f64]| {
        let mean = if centre { values.iter().sum::<f64>() / n } else { 0.0 };
        let spread = (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n).sqrt();
        let spread = if spread > 0.0 { spread } else { 1.0 };
        (mean, spread, values.iter().map(|v| (v - mean) / spread).collect::<Vec<f64>>())
    };
    let columns: Vec<(f64, f64, Vec<f64>)> = data.features.iter().map(|column| scaled(&column.values)).collect();
    let (middle, unit, target) = scaled(&data.y);
    let ones = vec![1.0; data.rows];
    let mut rows: Vec<&[f64]> = columns.iter().map(|(_, _, values)| values.as_slice()).collect();
    // The penalty bounds the product of each column with the duals of the rows.
    let mut limits: Vec<f64> = columns.iter().map(|(_, spread, _)| alpha * total / spread).collect();
    if centre {
        rows.push(&ones);
        limits.push(0.0);
    }
    let lower = weights.iter().map(|w| (quantile - 1.0) * w).chain(limits.iter().map(|limit| -limit)).collect();
    let upper = weights.iter().map(|w| quantile * w).chain(limits.iter().copied()).collect();
    run.stage("simplex method");
    let program = simplex::Program { rows, cost: &target, lower, upper, tol: TOL };
    let found = simplex::solve(&program, run)?;
    let coef: Vec<f64> =
        found.prices.iter().zip(&columns).map(|(price, (_, spread, _))| price * unit / spread).collect();
    let shift: f64 = coef.iter().zip(&columns).map(|(w, (mean, _, _))| w * mean).sum();
    let intercept = if centre { middle + unit * found.prices[columns.len()] - shift } else { 0.0 };
    let attributes = StoredAttributes::default().int("n_iter", found.steps);
    let linear = Linear { coef: Tensor::vector(coef), intercept, ..Linear::default() };
    Ok(RobustLinear { linear, attributes })
}
