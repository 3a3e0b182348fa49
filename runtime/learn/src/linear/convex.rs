//! Newton's method with a line search for smooth convex functions of few parameters. Logistic regression has its own,
//! with softmax.

use onrush_dense as dense;
use onrush_dense::Matrix;

use super::design::divide_by_norms;
use super::newton::DECREASE;
use crate::error::Error;
use crate::sums::dot;

/// The share of the expected decrease that a step must bring (Armijo).
const ENOUGH: f64 = 1e-4;

/// Halvings of a step before it counts as rounding.
const HALVINGS: usize = 60;

/// A value with its derivatives.
pub struct Value {
    pub value: f64,
    pub gradient: Vec<f64>,
    pub hessian: Matrix,
}

/// The place where an iteration ended.
pub struct Optimum {
    pub x: Vec<f64>,
    /// The value after each iteration.
    pub values: Vec<f64>,
    pub gradient: f64,
    pub converged: bool,
}

/// Minimises from `start`. `at` gives the value and its derivatives; a value that is not finite is too far. `slope`
/// gives the largest component of the gradient in units of the data: at most `tol`, the iteration stops. `shown` is
/// called after each iteration with the values so far.
///
/// # Errors
/// Errors of `at` and `shown`.
pub fn newton(
    start: Vec<f64>,
    (max_iter, tol): (usize, f64),
    mut at: impl FnMut(&[f64]) -> Result<Value, Error>,
    slope: impl Fn(&[f64]) -> f64,
    mut shown: impl FnMut(&[f64]) -> Result<(), Error>,
) -> Result<Optimum, Error> {
    let mut x = start;
    let mut here = at(&x)?;
    let mut values = Vec::new();
    let mut converged = slope(&here.gradient) <= tol;
    while !converged && values.len() < max_iter && here.value.is_finite() {
        let step = direction(&mut here);
        let along = dot(&step, &here.gradient);
        let (mut size, mut next) = (1.0, None);
        for _ in 0..HALVINGS {
            let trial: Vec<f64> = x.iter().zip(&step).map(|(x, s)| x + size * s).collect();
            let found = at(&trial)?;
            // Rounding of the sum must not refuse the last steps.
            if found.value <= here.value + ENOUGH * size * along + 4.0 * f64::EPSILON * here.value.abs() {
                next = Some((trial, found));
                break;
            }
            size *= 0.5;
        }
        // No step goes further down: the optimum up to rounding.
        let Some((trial, found)) = next else {
            converged = along.abs() <= 1e-10 * here.value.abs().max(1.0);
            break;
        };
        let decrease = (here.value - found.value) / here.value.abs().max(found.value.abs()).max(1.0);
        (x, here) = (trial, found);
        values.push(here.value);
        shown(&values)?;
        converged = slope(&here.gradient) <= tol || decrease <= DECREASE;
    }
    let gradient = slope(&here.gradient);
    Ok(Optimum { x, values, gradient, converged })
}

/// Newton's direction by Cholesky's decomposition. A singular matrix gets a growing diagonal.
fn direction(here: &mut Value) -> Vec<f64> {
    let (h, size) = (&mut here.hessian, here.gradient.len());
    let norm: Vec<f64> = (0..size).map(|i| h.at(i, i).max(0.0).sqrt()).map(|n| if n > 0.0 { n } else { 1.0 }).collect();
    divide_by_norms(h, &norm);
    let right: Vec<f64> = here.gradient.iter().zip(&norm).map(|(g, n)| -g / n).collect();
    let right = Matrix::new(size, 1, right);
    let mut ridge = 1e-14;
    while ridge < 1e6 {
        (0..size).for_each(|i| h.set(i, i, 1.0 + ridge));
        if let Some(step) = dense::solve_positive(h, &right)
            && step.data.iter().all(|s| s.is_finite())
        {
            return step.data.iter().zip(&norm).map(|(s, n)| s / n).collect();
        }
        ridge *= 100.0;
    }
    right.data.iter().zip(&norm).map(|(g, n)| g / n).collect()
}
