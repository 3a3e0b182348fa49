//! Ridge regression in the space of a kernel (Murphy 2012, section 14.4.3), as in `sklearn/kernel_ridge.py`.

use onrush_dense::{self as dense, Matrix};
use serde::{Deserialize, Serialize};

use super::pairwise::{PairwiseKernel, check_rows};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::params;
use crate::run::Run;
use crate::tensor::Tensor;

/// The rows of a training with their factors.
#[derive(Serialize, Deserialize)]
pub struct KernelRidge {
    pub kernel: PairwiseKernel,
    /// rows x features.
    pub points: Tensor,
    /// The factor of each row.
    pub dual_coef: Tensor,
}

/// Trains `KernelRidge`.
///
/// # Errors
/// If there are too many rows, or the kernel does not take the values. If the user stops the work.
pub fn fit(params: &params::KernelRidge, data: &Data, run: &Run<'_>) -> Result<KernelRidge, Error> {
    let (rows, width) = (data.rows, data.width());
    check_rows("KernelRidge", rows)?;
    let kernel = PairwiseKernel::new(&params.kernel, params.gamma, params.coef0, params.degree, width);
    kernel.check(data)?;
    run.stage("kernel");
    let points = data.row_major();
    let mut matrix = kernel.matrix(&points, &points, width);
    run.check(|| "the kernel".to_string())?;
    let roots: Vec<f64> = (0..rows).map(|row| data.weight_of(row).sqrt()).collect();
    if data.weight.is_some() {
        for (j, root) in roots.iter().enumerate() {
            matrix.column_mut(j).iter_mut().zip(&roots).for_each(|(v, other)| *v *= root * other);
        }
    }
    for row in 0..rows {
        matrix.set(row, row, matrix.at(row, row) + params.alpha);
    }
    run.stage("factors of the rows");
    let target = Matrix::new(rows, 1, data.y.iter().zip(&roots).map(|(y, root)| y * root).collect());
    let solved = match dense::solve_positive(&matrix, &target) {
        Some(solved) => solved,
        // A kernel that is not positive definite, such as `sigmoid`: the least squares.
        None => dense::multiply(&pseudo_inverse(&matrix)?, &target),
    };
    let dual: Vec<f64> = solved.data.iter().zip(&roots).map(|(v, root)| v * root).collect();
    if dual.iter().any(|v| !v.is_finite()) {
        let message = "the factors of the rows are not finite numbers: the values of the data are too large";
        return Err(
            Error::new(ErrorKind::Overflow, message).help("scale the features, for example with StandardScaler")
        );
    }
    Ok(KernelRidge { kernel, points: Tensor::new(vec![rows, width], points), dual_coef: Tensor::vector(dual) })
}

/// The pseudo-inverse of a symmetric matrix.
fn pseudo_inverse(matrix: &Matrix) -> Result<Matrix, Error> {
    let (values, vectors) = dense::eigh(matrix)
        .ok_or_else(|| Error::new(ErrorKind::NoConvergence, "the eigenvalues of the kernel do not converge"))?;
    let largest = values.iter().fold(0.0f64, |a, v| a.max(v.abs()));
    let limit = largest * f64::EPSILON * values.len() as f64;
    let mut scaled = vectors.clone();
    for (k, value) in values.iter().enumerate() {
        let factor = if value.abs() > limit { 1.0 / value } else { 0.0 };
        scaled.column_mut(k).iter_mut().for_each(|v| *v *= factor);
    }
    Ok(dense::multiply(&scaled, &vectors.transposed()))
}

impl Model for KernelRidge {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        vec![Role::Prediction]
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        self.kernel.check(data)?;
        let factors = Matrix::new(self.dual_coef.data.len(), 1, self.dual_coef.data.clone());
        let mut values = self.kernel.times(data, &self.points, &factors);
        let values = values.pop().unwrap_or_default();
        Ok(wanted.iter().map(|_| values.clone()).collect())
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        let rows = || Values::Ints((0..self.dual_coef.data.len() as i64).collect());
        match name {
            "dual_coef" => Some(Attribute::Frame(vec![
                ("row".to_string(), rows()),
                ("dual_coef".to_string(), Values::Floats(self.dual_coef.data.clone())),
            ])),
            "X_fit" | "x_fit" => Some(Attribute::by_row(Some(("row", rows())), features, &self.points.data)),
            _ => None,
        }
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        match features > 0 && self.points.shape == [self.dual_coef.data.len(), features] {
            true => Ok(()),
            false => {
                let message = format!("rows of the shape {:?} for {features} features", self.points.shape);
                Err(Error::new(ErrorKind::ModelFile, message))
            }
        }
    }

    fn bytes(&self) -> u64 {
        self.points.bytes() + self.dual_coef.bytes()
    }
}
