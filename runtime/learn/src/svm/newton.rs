//! The finite Newton method for squared losses (Keerthi and DeCoste, A modified finite Newton method for fast solution
//! of large scale linear SVMs, 2005). It has the optimum of LIBLINEAR's trust region method.
//!
//! The objective is `w w / 2 + sum c e(f)^2` with scores `f = x w`. It is piecewise quadratic: the Newton direction is
//! that of the rows with a loss, and the step is the exact minimum on the line.

use onrush_dense as dense;
use onrush_dense::Matrix;
use rayon::prelude::*;

use super::design::{MachineDesign, norm};
use crate::error::Error;
use crate::run::Run;
use crate::sums::{CHUNK, dot};

/// Features up to which the second derivatives are stored. More of them are solved by conjugate gradients.
const MOST_STORED: usize = 512;

/// A squared loss of scores.
#[derive(Clone, Copy)]
pub enum MachineLoss<'a> {
    /// Targets are 1 and -1.
    Hinge(&'a [f64]),
    /// Targets are numbers, and errors up to this one cost nothing.
    Insensitive(&'a [f64], f64),
}

impl MachineLoss<'_> {
    /// The root of the loss of a row with the sign of its slope: 0 for rows without a loss.
    #[inline(always)]
    fn error(&self, row: usize, score: f64) -> f64 {
        match self {
            MachineLoss::Hinge(y) if y[row] > 0.0 => (score - 1.0).min(0.0),
            MachineLoss::Hinge(_) => (score + 1.0).max(0.0),
            MachineLoss::Insensitive(y, epsilon) => {
                let error = score - y[row];
                error - error.clamp(-epsilon, *epsilon)
            }
        }
    }
}

/// The coefficients at the optimum.
pub struct NewtonEnd {
    pub w: Vec<f64>,
    pub n_iter: usize,
    pub converged: bool,
}

/// Minimises. It stops once the norm of the gradient is at most `tol` times that at 0.
pub fn solve(
    design: &MachineDesign<'_>,
    loss: MachineLoss<'_>,
    c: &[f64],
    tol: f64,
    max_iter: usize,
    run: &Run<'_>,
) -> Result<NewtonEnd, Error> {
    let mut w = vec![0.0; design.width()];
    let mut scores = vec![0.0; design.rows];
    let mut first = None;
    for n_iter in 0.. {
        run.check(|| format!("{n_iter} Newton steps"))?;
        let errors = by_row(design.rows, |row| loss.error(row, scores[row]));
        let losses = by_row(design.rows, |row| 2.0 * c[row] * errors[row]);
        let mut gradient = design.transposed_times(&losses);
        gradient.iter_mut().zip(&w).for_each(|(g, w)| *g += w);
        let size = norm(&gradient);
        let start = *first.get_or_insert(size);
        let converged = size <= tol * start || size == 0.0;
        if converged || n_iter >= max_iter {
            return Ok(NewtonEnd { w, n_iter, converged });
        }
        run.stage(format!("Newton step {}, gradient {size:.2e}", n_iter + 1));
        let d = by_row(design.rows, |row| if errors[row] == 0.0 { 0.0 } else { 2.0 * c[row] });
        let step = direction(design, &d, &gradient, 0.1f64.min(size / start));
        let moved = design.times(&step);
        let t = along(&loss, c, &scores, &moved, (dot(&w, &step), dot(&step, &step)));
        let next: Vec<f64> = w.iter().zip(&step).map(|(w, s)| w + t * s).collect();
        // Rounding: no step changes a coefficient any more.
        if t <= 0.0 || next == w {
            return Ok(NewtonEnd { w, n_iter, converged: true });
        }
        w = next;
        scores = design.times(&w);
    }
    Ok(NewtonEnd { w, n_iter: max_iter, converged: false })
}

/// A number for each row, on all threads.
fn by_row(rows: usize, value: impl Fn(usize) -> f64 + Send + Sync) -> Vec<f64> {
    (0..rows).into_par_iter().with_min_len(CHUNK).map(value).collect()
}

/// Solves `(1 + x' d x) s = -gradient`.
fn direction(design: &MachineDesign<'_>, d: &[f64], gradient: &[f64], tolerance: f64) -> Vec<f64> {
    let width = design.width();
    if !design.is_sparse() && width <= MOST_STORED {
        let mut hessian = design.gram(d);
        (0..width).for_each(|j| hessian.set(j, j, hessian.at(j, j) + 1.0));
        let right = Matrix::new(width, 1, gradient.iter().map(|g| -g).collect());
        if let Some(step) = dense::solve_positive(&hessian, &right)
            && step.data.iter().all(|s| s.is_finite())
        {
            return step.data;
        }
    }
    conjugate_gradients(design, d, gradient, tolerance)
}

/// [`direction`] by conjugate gradients with a diagonal preconditioner, up to a residual of `tolerance` times the norm
/// of the gradient.
fn conjugate_gradients(design: &MachineDesign<'_>, d: &[f64], gradient: &[f64], tolerance: f64) -> Vec<f64> {
    let width = design.width();
    let diagonal: Vec<f64> = design.squares(d).iter().map(|s| 1.0 + s).collect();
    let mut step = vec![0.0; width];
    let mut residual: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let scaled = |residual: &[f64]| residual.iter().zip(&diagonal).map(|(r, d)| r / d).collect::<Vec<f64>>();
    let mut solved = scaled(&residual);
    let mut p = solved.clone();
    let mut product = dot(&residual, &solved);
    let enough = tolerance * norm(gradient);
    for _ in 0..width.min(1000) + 20 {
        if norm(&residual) <= enough || product <= 0.0 {
            break;
        }
        let mut moved = design.times(&p);
        moved.iter_mut().zip(d).for_each(|(m, d)| *m *= d);
        let mut curved = design.transposed_times(&moved);
        curved.iter_mut().zip(&p).for_each(|(h, p)| *h += p);
        let length = product / dot(&p, &curved);
        if !length.is_finite() {
            break;
        }
        step.iter_mut().zip(&p).for_each(|(s, p)| *s += length * p);
        residual.iter_mut().zip(&curved).for_each(|(r, h)| *r -= length * h);
        solved = scaled(&residual);
        let next = dot(&residual, &solved);
        p.iter_mut().zip(&solved).for_each(|(p, s)| *p = s + next / product * *p);
        product = next;
    }
    step
}

/// The minimum on the line `scores + t moved`, by Newton's method inside of brackets: the slope is piecewise linear and
/// grows. `(w s, s s)` are the products of coefficients and step.
fn along(loss: &MachineLoss<'_>, c: &[f64], scores: &[f64], moved: &[f64], (cross, square): (f64, f64)) -> f64 {
    let derivatives = |t: f64| {
        let sums = crate::sums::over_rows(
            scores.len(),
            |rows| {
                let (mut slope, mut curve) = (0.0, 0.0);
                for row in rows {
                    let error = loss.error(row, scores[row] + t * moved[row]);
                    if error != 0.0 {
                        slope += 2.0 * c[row] * error * moved[row];
                        curve += 2.0 * c[row] * moved[row] * moved[row];
                    }
                }
                (slope, curve)
            },
            |a, b| (a.0 + b.0, a.1 + b.1),
        );
        let (slope, curve) = sums.unwrap_or_default();
        (cross + t * square + slope, square + curve)
    };
    let (at_zero, _) = derivatives(0.0);
    if at_zero.is_nan() || at_zero >= 0.0 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mut t = 1.0;
    for _ in 0..60 {
        let (slope, curve) = derivatives(t);
        if slope.abs() <= 1e-12 * at_zero.abs() {
            break;
        }
        if slope < 0.0 {
            low = t
        } else {
            high = t
        };
        let next = t - slope / curve;
        t = match next > low && next < high {
            true => next,
            false if high.is_finite() => 0.5 * (low + high),
            false => 2.0 * low.max(0.5),
        };
    }
    t
}
