//! Ordinary least squares and ridge regression.
use onrush_dense as dense;
use onrush_wire::learn::Spec;
use super::Linear;
use crate::data::Data;
use crate::error::Error;
use crate::run::Run;
use crate::tensor::Tensor;
pub fn fit(_spec: &Spec, data: &Data, run: &Run<'_>) -> Result<Linear, Error> {
    run.stage("solve");
    let mut x = data.matrix();
    x.data.extend(vec![1.0; data.rows]);
    x.columns += 1;
    let (b, rank, _) = dense::least_squares(&x, &data.y, 1e-12).ok_or_else(|| Error::new("svd", "no convergence"))?;
    let n = data.width();
    Ok(Linear { coef: Tensor::vector(b[..n].to_vec()), intercept: b[n], rank: Some(rank), singular: None, summary: None, notes: vec![] })
}
