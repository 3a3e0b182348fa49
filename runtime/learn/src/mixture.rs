//! Mixtures of normal distributions, and discriminant analysis.

pub mod bayesian;
mod covariance;
pub mod gaussian;
pub mod linear;
pub mod quadratic;

pub use bayesian::BayesianMixture;
pub use gaussian::GaussianMixture;
pub use linear::LinearDiscriminant;
pub use quadratic::QuadraticDiscriminant;

use onrush_dense::Matrix;

/// The inverse of a lower triangle whose diagonal is not 0.
fn inverse_lower(lower: &Matrix) -> Matrix {
    let size = lower.rows;
    let mut out = Matrix::zeros(size, size);
    for column in 0..size {
        out.set(column, column, 1.0 / lower.at(column, column));
        for row in column + 1..size {
            let sum: f64 = (column..row).map(|k| lower.at(row, k) * out.at(k, column)).sum();
            out.set(row, column, -sum / lower.at(row, row));
        }
    }
    out
}
