//! L-BFGS: the two-loop recursion with a line search for the weak Wolfe conditions (Nocedal and Wright, Numerical Optimization, 7.2; Lewis and
//! Overton 2013).

use super::logistic::{End, Order, Problem, Settings, show};
use super::newton::DECREASE;
use crate::error::Error;
use crate::run::Run;
use crate::sums::dot;

/// Steps that are remembered: scipy's default.
const MEMORY: usize = 10;

/// Minimises an objective without l1 penalty from `params`.
pub fn lbfgs(problem: &Problem<'_>, mut params: Vec<f64>, settings: &Settings, run: &Run<'_>) -> Result<End, Error> {
    let mut sums = problem.smooth(&params, Order::First, run)?;
    let mut losses = Vec::new();
    let mut pairs: Vec<(Vec<f64>, Vec<f64>, f64)> = Vec::new();
    let mut converged = problem.slope(&params, &sums.gradient) <= settings.tol;
    while !converged && losses.len() < settings.max_iter {
        let mut step = direction(&sums.gradient, &pairs);
        let mut along = dot(&step, &sums.gradient);
        if !(along < 0.0) {
            pairs.clear();
            step = sums.gradient.iter().map(|g| -g).collect();
            along = -dot(&sums.gradient, &sums.gradient);
        }
        let mut size = match pairs.is_empty() {
            true => (1.0 / dot(&step, &step).sqrt()).min(1.0),
            false => 1.0,
        };
        let (mut low, mut high) = (0.0, f64::INFINITY);
        let mut next = None;
        for _ in 0..50 {
            let trial: Vec<f64> = params.iter().zip(&step).map(|(w, s)| w + size * s).collect();
            let found = problem.smooth(&trial, Order::First, run)?;
            let fits = found.loss <= sums.loss + 1e-4 * size * along + 4.0 * f64::EPSILON * sums.loss.abs();
            let steep = dot(&found.gradient, &step) < 0.9 * along;
            if fits {
                next = Some((trial, found));
            }
            match (fits, steep) {
                (false, _) => high = size,
                (true, true) => low = size,
                (true, false) => break,
            }
            size = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * low };
        }
        // No step goes further down: this is the optimum up to rounding.
        let Some((trial, found)) = next else {
            converged = true;
            break;
        };
        let moved: Vec<f64> = trial.iter().zip(&params).map(|(a, b)| a - b).collect();
        let turned: Vec<f64> = found.gradient.iter().zip(&sums.gradient).map(|(a, b)| a - b).collect();
        let curvature = dot(&moved, &turned);
        if curvature > f64::EPSILON * dot(&turned, &turned) {
            if pairs.len() == MEMORY {
                pairs.remove(0);
            }
            pairs.push((moved, turned, curvature));
        }
        let decrease = (sums.loss - found.loss) / sums.loss.abs().max(found.loss.abs()).max(1.0);
        (params, sums) = (trial, found);
        losses.push(sums.loss);
        show(run, &losses, settings)?;
        converged = problem.slope(&params, &sums.gradient) <= settings.tol || decrease <= DECREASE;
    }
    let gradient = problem.slope(&params, &sums.gradient);
    Ok(End { coef: params, losses, gradient, converged })
}

/// The two-loop recursion.
fn direction(gradient: &[f64], pairs: &[(Vec<f64>, Vec<f64>, f64)]) -> Vec<f64> {
    let mut step: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut shares = Vec::new();
    for (moved, turned, curvature) in pairs.iter().rev() {
        let share = dot(moved, &step) / curvature;
        step.iter_mut().zip(turned).for_each(|(s, t)| *s -= share * t);
        shares.push(share);
    }
    if let Some((_, turned, curvature)) = pairs.last() {
        let scale = curvature / dot(turned, turned);
        step.iter_mut().for_each(|s| *s *= scale);
    }
    for ((moved, turned, curvature), share) in pairs.iter().zip(shares.iter().rev()) {
        let back = dot(turned, &step) / curvature;
        step.iter_mut().zip(moved).for_each(|(s, m)| *s += (share - back) * m);
    }
    step
}
