//! Newton's method for logistic regression, and the proximal Newton method for l1 penalties. The latter is coordinate
//! descent on the quadratic model, as in glmnet (Friedman, Hastie and Tibshirani 2010). The line search is that of
//! newGLMNET (Yuan, Ho and Lin 2012).

use onrush_dense as dense;
use onrush_dense::Matrix;

use super::descent::shrunk;
use super::design::divide_by_norms;
use super::logistic::{Derivatives, Hessian, LogisticEnd, Problem, Settings, Sums, show};
use crate::error::Error;
use crate::run::Run;
use crate::sums::dot;

/// The relative decrease of the objective at which scikit-learn's L-BFGS stops.
pub const DECREASE: f64 = 64.0 * f64::EPSILON;

/// The share of the expected decrease that a step must bring (Armijo).
const ENOUGH: f64 = 1e-4;

/// Halvings of a step before it counts as rounding.
const HALVINGS: usize = 40;

/// Minimises an objective without l1 penalty from `params`.
pub fn newton(
    problem: &Problem<'_>,
    mut params: Vec<f64>,
    settings: &Settings,
    run: &Run<'_>,
) -> Result<LogisticEnd, Error> {
    let mut sums = problem.smooth(&params, Derivatives::FullHessian, run)?;
    let mut losses = Vec::new();
    let mut converged = problem.slope(&params, &sums.gradient) <= settings.tol;
    while !converged && losses.len() < settings.max_iter {
        let step = direction(problem, &mut sums);
        let along = dot(&step, &sums.gradient);
        let mut size = 1.0;
        let mut next = None;
        for _ in 0..HALVINGS {
            let trial: Vec<f64> = params.iter().zip(&step).map(|(w, s)| w + size * s).collect();
            let found = problem.smooth(&trial, Derivatives::FullHessian, run)?;
            // Rounding of the sum must not refuse the last steps.
            if found.loss <= sums.loss + ENOUGH * size * along + 4.0 * f64::EPSILON * sums.loss.abs() {
                next = Some((trial, found));
                break;
            }
            size *= 0.5;
        }
        let Some((trial, found)) = next else {
            let gradient = problem.slope(&params, &sums.gradient);
            return Ok(problem.stalled(params, losses, gradient, settings.tol));
        };
        let decrease = (sums.loss - found.loss) / sums.loss.abs().max(found.loss.abs()).max(1.0);
        (params, sums) = (trial, found);
        losses.push(sums.loss);
        show(run, &losses, settings)?;
        converged = problem.slope(&params, &sums.gradient) <= settings.tol || decrease <= DECREASE;
    }
    let gradient = problem.slope(&params, &sums.gradient);
    Ok(LogisticEnd { coef: params, losses, gradient, converged, is_stuck: false })
}

/// Newton's direction by Cholesky's decomposition. A singular matrix gets a growing diagonal.
fn direction(problem: &Problem<'_>, sums: &mut Sums) -> Vec<f64> {
    let size = sums.gradient.len();
    let Hessian::Full(h) = &mut sums.hessian else { return sums.gradient.iter().map(|g| -g).collect() };
    pin(problem, h);
    let norm: Vec<f64> = (0..size).map(|i| h.at(i, i).max(0.0).sqrt()).map(|n| if n > 0.0 { n } else { 1.0 }).collect();
    divide_by_norms(h, &norm);
    let right: Vec<f64> = sums.gradient.iter().zip(&norm).map(|(g, n)| -g / n).collect();
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

/// Removes the null space of softmax: adds a rank-one term where no penalty applies.
fn pin(problem: &Problem<'_>, h: &mut Matrix) {
    let (k, stride) = (problem.outputs, problem.stride());
    if k == 1 {
        return;
    }
    for j in 0..stride {
        let (l1, l2) = problem.penalty(j);
        let own = (0..k).map(|c| h.at(c * stride + j, c * stride + j)).sum::<f64>() / k as f64;
        if l1 > 0.0 || l2 > 1e-8 * own {
            continue;
        }
        let own = if own > 0.0 { own } else { 1.0 };
        for a in 0..k {
            for b in 0..k {
                let (r, c) = (a * stride + j, b * stride + j);
                h.set(r, c, h.at(r, c) + own / k as f64);
            }
        }
    }
}

/// Minimises an objective with an l1 penalty from `params`. `full`: second derivatives between outputs count, too.
pub fn proximal(
    problem: &Problem<'_>,
    mut params: Vec<f64>,
    full: bool,
    settings: &Settings,
    run: &Run<'_>,
) -> Result<LogisticEnd, Error> {
    let order = if full { Derivatives::FullHessian } else { Derivatives::BlockHessian };
    let l1: Vec<f64> = (0..params.len()).map(|i| problem.penalty(i).0).collect();
    let mut sums = problem.smooth(&params, order, run)?;
    let mut objective = sums.loss + problem.rough(&params);
    let mut losses = Vec::new();
    let mut converged = problem.slope(&params, &sums.gradient) <= settings.tol;
    while !converged && losses.len() < settings.max_iter {
        let step = quadratic(problem, &sums, &params, &l1, run)?;
        let rough: f64 = (0..step.len()).map(|i| l1[i] * ((params[i] + step[i]).abs() - params[i].abs())).sum();
        let along = dot(&step, &sums.gradient) + rough;
        let mut size = 1.0;
        let mut next = None;
        for _ in 0..HALVINGS {
            let trial: Vec<f64> = params.iter().zip(&step).map(|(w, s)| w + size * s).collect();
            let found = problem.smooth(&trial, order, run)?;
            let value = found.loss + problem.rough(&trial);
            if value <= objective + ENOUGH * size * along + 4.0 * f64::EPSILON * objective.abs() {
                next = Some((trial, found, value));
                break;
            }
            size *= 0.5;
        }
        let Some((trial, found, value)) = next else {
            let gradient = problem.slope(&params, &sums.gradient);
            return Ok(problem.stalled(params, losses, gradient, settings.tol));
        };
        let decrease = (objective - value) / objective.abs().max(value.abs()).max(1.0);
        (params, sums, objective) = (trial, found, value);
        losses.push(objective);
        show(run, &losses, settings)?;
        converged = problem.slope(&params, &sums.gradient) <= settings.tol || decrease <= DECREASE;
    }
    let gradient = problem.slope(&params, &sums.gradient);
    Ok(LogisticEnd { coef: params, losses, gradient, converged, is_stuck: false })
}

/// The step to the minimum of the quadratic model with the l1 penalty, by coordinate descent.
fn quadratic(problem: &Problem<'_>, sums: &Sums, params: &[f64], l1: &[f64], run: &Run<'_>) -> Result<Vec<f64>, Error> {
    let (size, stride) = (params.len(), problem.stride());
    let (blocks, width): (Vec<&Matrix>, usize) = match &sums.hessian {
        Hessian::Full(h) => (vec![h], size),
        Hessian::Blocks(h) => (h.iter().collect(), stride),
        Hessian::None => (Vec::new(), size),
    };
    let mut step = vec![0.0; size];
    for (b, h) in blocks.iter().enumerate() {
        let start = b * width;
        // The second derivatives times the step.
        let mut at = vec![0.0; width];
        let mut first = 0.0f64;
        for sweep in 0..1000 {
            run.check(|| format!("{sweep} sweeps of an iteration"))?;
            let mut change = 0.0f64;
            for j in 0..width {
                let (i, own) = (start + j, h.at(j, j));
                if own.is_nan() || own <= 0.0 {
                    continue;
                }
                let now = params[i] + step[i];
                let next = shrunk(own * now - sums.gradient[i] - at[j], l1[i]) / own;
                if next != now {
                    let by = next - now;
                    step[i] = next - params[i];
                    at.iter_mut().zip(h.column(j)).for_each(|(a, h)| *a += h * by);
                    change = change.max(by * by * own);
                }
            }
            if sweep == 0 {
                first = change;
            }
            if change <= 1e-10 * first || change == 0.0 {
                break;
            }
        }
    }
    // A coefficient that the model sets to 0 is 0, not a rounding error.
    for (s, w) in step.iter_mut().zip(params) {
        if (w + *s).abs() <= 4.0 * f64::EPSILON * w.abs() {
            *s = -w;
        }
    }
    Ok(step)
}
