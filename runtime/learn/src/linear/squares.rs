//! Ordinary least squares and ridge regression.

use onrush_dense as dense;
use onrush_wire::learn::Spec;

use super::Linear;
use crate::data::Data;
use crate::error::Error;
use crate::run::Run;
use crate::tensor::Tensor;

/// Trains `LinearRegression` or `Ridge`.
pub fn fit(spec: &Spec, data: &Data, run: &Run<'_>) -> Result<Linear, Error> {
    run.stage("solve");
    let _ = (dense::Matrix::zeros(1, 1), Tensor::default(), data);
    Err(Error::new("estimator", format!("{} is not ready", spec.estimator)))
}
