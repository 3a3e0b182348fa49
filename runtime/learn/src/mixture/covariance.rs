//! Covariance matrices: the empirical one, and that of Ledoit and Wolf (Journal of Multivariate Analysis, 2004), as in
//! `sklearn/covariance`.

use std::ops::Range;

use onrush_dense::{self as dense, Matrix};
use onrush_wire::learn::Param;
use rayon::prelude::*;

use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::neighbors::tile;
use crate::sums;

/// Rows of a chunk of one thread.
pub(super) const CHUNK: usize = 1024;

/// The features of some rows minus `shift`.
pub(super) fn block(data: &Data, rows: Range<usize>, shift: &[f64]) -> Matrix {
    let mut out = Vec::with_capacity(rows.len() * data.width());
    for (column, shift) in data.features.iter().zip(shift) {
        out.extend(column.values[rows.clone()].iter().map(|v| v - shift));
    }
    Matrix::new(rows.len(), data.width(), out)
}

/// `(x - shift)' (x - shift)` over all rows.
pub(super) fn scatter(data: &Data, shift: &[f64]) -> Matrix {
    let width = data.width();
    let starts: Vec<usize> = (0..data.rows).step_by(CHUNK).collect();
    let parts: Vec<Vec<f64>> = starts
        .into_par_iter()
        .map(|start| {
            let rows = start..data.rows.min(start + CHUNK);
            let columns: Vec<&[f64]> = data.features.iter().map(|c| &c.values[rows.clone()]).collect();
            tile::gram(&columns, shift)
        })
        .collect();
    let mut total = vec![0.0; width * width];
    parts.iter().for_each(|part| total.iter_mut().zip(part).for_each(|(t, p)| *t += p));
    Matrix::new(width, width, total)
}

/// The singular values and right singular vectors of `(x - shift) * factor`, by a QR decomposition of each chunk of
/// rows. `shift` is a function of the row. `None` if the decomposition does not converge.
pub(super) fn singular<'a>(
    data: &Data,
    shift: impl Fn(usize) -> &'a [f64] + Sync,
    factor: &[f64],
) -> Option<(Vec<f64>, Matrix)> {
    let width = data.width();
    let chunk = sums::CHUNK.max(2 * width);
    let starts: Vec<usize> = (0..data.rows).step_by(chunk).collect();
    let triangles: Vec<Matrix> = starts
        .into_par_iter()
        .map(|start| {
            let rows = start..data.rows.min(start + chunk);
            let mut out = Vec::with_capacity(rows.len() * width);
            for (j, column) in data.features.iter().enumerate() {
                out.extend(rows.clone().map(|row| (column.values[row] - shift(row)[j]) * factor[j]));
            }
            dense::triangle(&Matrix::new(rows.len(), width, out))
        })
        .collect();
    let rows: usize = triangles.iter().map(|t| t.rows).sum();
    let mut stacked = Matrix::zeros(rows, width);
    for column in 0..width {
        let mut at = 0;
        for triangle in &triangles {
            stacked.column_mut(column)[at..at + triangle.rows].copy_from_slice(triangle.column(column));
            at += triangle.rows;
        }
    }
    let triangle = if triangles.len() > 1 { dense::triangle(&stacked) } else { stacked };
    let (_, values, vectors) = dense::svd(&triangle)?;
    values.iter().chain(&vectors.data).all(|v| v.is_finite()).then_some((values, vectors))
}

/// How far a covariance matrix is drawn to a multiple of the identity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shrinkage {
    /// By Ledoit and Wolf, after the features are scaled to variance 1.
    Auto,
    Share(f64),
}

impl Shrinkage {
    /// The parameter `shrinkage`.
    ///
    /// # Errors
    /// If it is neither `auto` nor a share.
    pub fn of(param: &Param) -> Result<Self, Error> {
        match (param, param.as_f64()) {
            (Param::None, _) => Ok(Shrinkage::Share(0.0)),
            (Param::Str(word), _) if word == "auto" => Ok(Shrinkage::Auto),
            (_, Some(share)) if (0.0..=1.0).contains(&share) => Ok(Shrinkage::Share(share)),
            (other, _) => {
                let message = format!("`shrinkage` is {other}: None, \"auto\" or a number between 0 and 1");
                Err(Error::new(ErrorKind::Parameter, message))
            }
        }
    }

    /// The covariance matrix of all rows.
    pub fn covariance(self, data: &Data) -> Matrix {
        let (rows, width) = (data.rows as f64, data.width());
        let mean = data.means();
        let mut covariance = scatter(data, &mean);
        covariance.data.iter_mut().for_each(|v| *v /= rows);
        match self {
            Shrinkage::Share(share) => {
                if share > 0.0 {
                    shrink(&mut covariance, share);
                }
                covariance
            }
            Shrinkage::Auto => {
                let deviation = |j: usize| Some(covariance.at(j, j).sqrt()).filter(|s| *s > 0.0).unwrap_or(1.0);
                let scale: Vec<f64> = (0..width).map(deviation).collect();
                for column in 0..width {
                    for row in 0..width {
                        let value = covariance.at(row, column) / (scale[row] * scale[column]);
                        covariance.set(row, column, value);
                    }
                }
                let share = ledoit_wolf(data, &mean, &scale, &covariance);
                shrink(&mut covariance, share);
                for column in 0..width {
                    for row in 0..width {
                        let value = covariance.at(row, column) * scale[row] * scale[column];
                        covariance.set(row, column, value);
                    }
                }
                covariance
            }
        }
    }
}

fn shrink(covariance: &mut Matrix, share: f64) {
    let width = covariance.rows;
    let mean = (0..width).map(|j| covariance.at(j, j)).sum::<f64>() / width as f64;
    covariance.data.iter_mut().for_each(|v| *v *= 1.0 - share);
    for j in 0..width {
        let value = covariance.at(j, j) + share * mean;
        covariance.set(j, j, value);
    }
}

/// The share of `ledoit_wolf_shrinkage` for the features `(x - mean) / scale`, whose covariance is given.
fn ledoit_wolf(data: &Data, mean: &[f64], scale: &[f64], covariance: &Matrix) -> f64 {
    let (rows, width) = (data.rows as f64, data.width());
    if width == 1 {
        return 0.0;
    }
    let trace: f64 = (0..width).map(|j| covariance.at(j, j)).sum();
    let mu = trace / width as f64;
    // The sum of all products of squares is the sum of the squared lengths of the rows.
    let fourth = sums::over_rows(
        data.rows,
        |range| {
            let mut lengths = vec![0.0; range.len()];
            for (j, column) in data.features.iter().enumerate() {
                let values = lengths.iter_mut().zip(&column.values[range.clone()]);
                values.for_each(|(length, v)| *length += ((v - mean[j]) / scale[j]).powi(2));
            }
            lengths.iter().map(|length| length * length).sum::<f64>()
        },
        |a, b| a + b,
    );
    let squares: f64 = covariance.data.iter().map(|v| v * v).sum();
    let beta = (fourth.unwrap_or(0.0) / rows - squares) / (width as f64 * rows);
    let delta = (squares - 2.0 * mu * trace + width as f64 * mu * mu) / width as f64;
    let beta = beta.min(delta);
    if beta == 0.0 { 0.0 } else { beta / delta }
}
