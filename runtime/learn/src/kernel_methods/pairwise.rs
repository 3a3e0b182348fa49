//! Kernels of two rows, as in `sklearn/metrics/pairwise.py`.

use onrush_dense::{self as dense, Matrix};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::data::Data;
use crate::elementary::tanh;
use crate::error::{Error, ErrorKind};
use crate::sums::dot;
use crate::tensor::Tensor;

/// The formula of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum PairwiseForm {
    /// `a b`.
    Linear,
    /// `(gamma a b + coef0)^degree`.
    Poly,
    /// `exp(-gamma |a - b|^2)`.
    Rbf,
    /// `exp(-gamma |a - b|)` with the sum of absolute differences.
    Laplacian,
    /// `tanh(gamma a b + coef0)`.
    Sigmoid,
    /// The product of rows of length 1.
    Cosine,
    /// `-sum (a - b)^2 / (a + b)`.
    AdditiveChi2,
    /// `exp(gamma x)` of the additive chi-squared kernel.
    Chi2,
}

/// A kernel with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairwiseKernel {
    pub form: PairwiseForm,
    #[serde(with = "crate::tensor::scalar")]
    pub gamma: f64,
    #[serde(with = "crate::tensor::scalar")]
    pub coef0: f64,
    #[serde(with = "crate::tensor::scalar")]
    pub degree: f64,
}

impl PairwiseKernel {
    /// A kernel of a word that the table allows. `gamma` of `None` is 1 / features, and 1 for `chi2`.
    pub fn new(word: &str, gamma: Option<f64>, coef0: f64, degree: f64, width: usize) -> Self {
        let form = match word {
            "linear" => PairwiseForm::Linear,
            "poly" | "polynomial" => PairwiseForm::Poly,
            "laplacian" => PairwiseForm::Laplacian,
            "sigmoid" => PairwiseForm::Sigmoid,
            "cosine" => PairwiseForm::Cosine,
            "additive_chi2" => PairwiseForm::AdditiveChi2,
            "chi2" => PairwiseForm::Chi2,
            _ => PairwiseForm::Rbf,
        };
        let default = if form == PairwiseForm::Chi2 { 1.0 } else { 1.0 / width as f64 };
        PairwiseKernel { form, gamma: gamma.unwrap_or(default), coef0, degree }
    }

    /// Checks that the kernel takes the values of the rows.
    ///
    /// # Errors
    /// If a value is negative, and the kernel is a chi-squared one.
    pub fn check(&self, data: &Data) -> Result<(), Error> {
        if !matches!(self.form, PairwiseForm::Chi2 | PairwiseForm::AdditiveChi2) {
            return Ok(());
        }
        match data.features.iter().find(|column| column.values.iter().any(|v| *v < 0.0)) {
            Some(column) => {
                let message =
                    format!("`{}` has values below 0, and the kernel `chi2` takes values from 0", column.name);
                Err(Error::new(ErrorKind::Range, message).help("take the kernel `rbf`, or scale with MinMaxScaler"))
            }
            None => Ok(()),
        }
    }

    /// The values for all pairs of row-major rows: rows of `a` x rows of `b`.
    pub fn matrix(&self, a: &[f64], b: &[f64], width: usize) -> Matrix {
        let (n, m) = (a.len() / width, b.len() / width);
        let squares = |x: &[f64]| x.par_chunks(width).map(|row| dot(row, row)).collect::<Vec<f64>>();
        let has_products = matches!(
            self.form,
            PairwiseForm::Linear | PairwiseForm::Poly | PairwiseForm::Sigmoid | PairwiseForm::Cosine
        );
        let mut out = match has_products {
            true => dense::transpose_multiply(&Matrix::new(width, n, a.to_vec()), &Matrix::new(width, m, b.to_vec())),
            false => Matrix::zeros(n, m),
        };
        let (lengths_a, lengths_b) = match self.form {
            PairwiseForm::Cosine => (squares(a), squares(b)),
            _ => (Vec::new(), Vec::new()),
        };
        out.data.par_chunks_mut(n.max(1)).enumerate().for_each(|(j, column)| {
            let other = &b[j * width..(j + 1) * width];
            for (i, value) in column.iter_mut().enumerate() {
                let row = || &a[i * width..(i + 1) * width];
                let pairs = || row().iter().zip(other);
                *value = match self.form {
                    PairwiseForm::Linear => *value,
                    PairwiseForm::Poly => self.gamma.mul_add(*value, self.coef0).powf(self.degree),
                    PairwiseForm::Sigmoid => tanh(self.gamma.mul_add(*value, self.coef0)),
                    PairwiseForm::Cosine => {
                        let length = (lengths_a[i] * lengths_b[j]).sqrt();
                        if length > 0.0 { *value / length } else { 0.0 }
                    }
                    PairwiseForm::Rbf => (-self.gamma * pairs().map(|(x, y)| (x - y) * (x - y)).sum::<f64>()).exp(),
                    PairwiseForm::Laplacian => (-self.gamma * pairs().map(|(x, y)| (x - y).abs()).sum::<f64>()).exp(),
                    PairwiseForm::AdditiveChi2 => -chi2(pairs()),
                    PairwiseForm::Chi2 => (-self.gamma * chi2(pairs())).exp(),
                };
            }
        });
        out
    }

    /// The values of some rows with stored points, times a matrix (points x columns): a column for each column.
    pub fn times(&self, data: &Data, points: &Tensor, factors: &Matrix) -> Vec<Vec<f64>> {
        const ROWS: usize = 1024;
        let width = data.width();
        let mut out = vec![Vec::with_capacity(data.rows); factors.columns];
        for block in data.row_major().chunks(ROWS * width) {
            let product = dense::multiply(&self.matrix(block, &points.data, width), factors);
            out.iter_mut().enumerate().for_each(|(k, out)| out.extend_from_slice(product.column(k)));
        }
        out
    }
}

fn chi2<'a>(pairs: impl Iterator<Item = (&'a f64, &'a f64)>) -> f64 {
    pairs.filter(|(x, y)| *x + *y != 0.0).map(|(x, y)| (x - y) * (x - y) / (x + y)).sum()
}

/// Rows at most of a kernel matrix of all pairs, 8 bytes each.
pub const MOST_ROWS: usize = 20_000;

/// Checks the number of rows of a kernel matrix.
///
/// # Errors
/// If there are too many.
pub fn check_rows(estimator: &str, rows: usize) -> Result<(), Error> {
    if rows <= MOST_ROWS {
        return Ok(());
    }
    let message = format!("{rows} rows: {estimator} compares all pairs, and takes at most {MOST_ROWS}");
    Err(Error::new(ErrorKind::Size, message).help("take a sample of the rows, or `Nystroem` before a linear model"))
}
