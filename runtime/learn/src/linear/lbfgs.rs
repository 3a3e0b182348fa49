//! L-BFGS: the two-loop recursion with a line search for the weak Wolfe conditions (Nocedal and Wright, Numerical
//! Optimization, 7.2; Lewis and Overton 2013). The first matrix of the recursion is the inverse of the second
//! derivatives of a sample of rows (subsampled Newton, Byrd et al. 2011). A few iterations are then enough.

use onrush_dense as dense;
use onrush_dense::Matrix;

use super::design::{divide_by_norms, substitute};
use super::logistic::{Derivatives, LogisticEnd, Problem, Settings, show};
use super::newton::DECREASE;
use crate::error::Error;
use crate::run::Run;
use crate::sums::dot;

/// Steps that are remembered: scipy's default.
const MEMORY: usize = 10;

/// Minimises an objective without l1 penalty from `params`.
pub fn minimize(
    problem: &Problem<'_>,
    mut params: Vec<f64>,
    settings: &Settings,
    run: &Run<'_>,
) -> Result<LogisticEnd, Error> {
    let mut sums = problem.smooth(&params, Derivatives::Gradient, run)?;
    let mut losses = Vec::new();
    let mut pairs: Vec<(Vec<f64>, Vec<f64>, f64)> = Vec::new();
    let mut converged = problem.slope(&params, &sums.gradient) <= settings.tol;
    let mut curvature = Curvature { factors: Vec::new() };
    while !converged && losses.len() < settings.max_iter {
        if REFRESH.contains(&losses.len()) || losses.len() % 25 == 24 {
            curvature = Curvature::of(problem, &params, run)?;
        }
        let mut step = direction(&sums.gradient, &pairs, &curvature);
        let mut along = dot(&step, &sums.gradient);
        if along.is_nan() || along >= 0.0 {
            pairs.clear();
            step = sums.gradient.iter().map(|g| -g).collect();
            along = -dot(&sums.gradient, &sums.gradient);
        }
        let mut size = 1.0;
        let (mut low, mut high) = (0.0, f64::INFINITY);
        let mut next = None;
        for _ in 0..50 {
            let trial: Vec<f64> = params.iter().zip(&step).map(|(w, s)| w + size * s).collect();
            let found = problem.smooth(&trial, Derivatives::Gradient, run)?;
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
        let Some((trial, found)) = next else {
            let gradient = problem.slope(&params, &sums.gradient);
            return Ok(problem.stalled(params, losses, gradient, settings.tol));
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
    Ok(LogisticEnd { coef: params, losses, gradient, converged, is_stuck: false })
}

/// Iterations before which the second derivatives are computed anew.
const REFRESH: [usize; 3] = [0, 2, 6];

/// Cholesky factors of the second derivatives of each output, whose rows and columns are divided by norms.
struct Curvature {
    factors: Vec<(Matrix, Vec<f64>)>,
}

impl Curvature {
    fn of(problem: &Problem<'_>, params: &[f64], run: &Run<'_>) -> Result<Self, Error> {
        let mut factors = Vec::new();
        for mut h in problem.curvature(params, run)? {
            let size = h.rows;
            let norm: Vec<f64> = (0..size).map(|i| h.at(i, i).sqrt()).map(|n| if n > 0.0 { n } else { 1.0 }).collect();
            divide_by_norms(&mut h, &norm);
            let mut ridge = 1e-8;
            let factor = loop {
                (0..size).for_each(|i| h.set(i, i, 1.0 + ridge));
                match dense::cholesky(&h) {
                    Some(factor) => break factor,
                    None if ridge < 1e3 => ridge *= 100.0,
                    None => return Ok(Curvature { factors: Vec::new() }),
                }
            };
            factors.push((factor, norm));
        }
        Ok(Curvature { factors })
    }

    /// Multiplies by the inverse. Nothing changes if there are no factors.
    fn solve(&self, vector: &[f64]) -> Vec<f64> {
        if self.factors.is_empty() {
            return vector.to_vec();
        }
        let mut out = Vec::with_capacity(vector.len());
        for ((l, norm), part) in self.factors.iter().zip(vector.chunks(self.factors[0].1.len())) {
            let mut x: Vec<f64> = part.iter().zip(norm).map(|(v, n)| v / n).collect();
            substitute(l, &mut x);
            out.extend(x.iter().zip(norm).map(|(x, n)| x / n));
        }
        out
    }
}

/// The two-loop recursion.
fn direction(gradient: &[f64], pairs: &[(Vec<f64>, Vec<f64>, f64)], start: &Curvature) -> Vec<f64> {
    let mut step: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut shares = Vec::new();
    for (moved, turned, curvature) in pairs.iter().rev() {
        let share = dot(moved, &step) / curvature;
        step.iter_mut().zip(turned).for_each(|(s, t)| *s -= share * t);
        shares.push(share);
    }
    step = start.solve(&step);
    if let Some((_, turned, curvature)) = pairs.last() {
        let scale = curvature / dot(turned, &start.solve(turned));
        step.iter_mut().for_each(|s| *s *= scale);
    }
    for ((moved, turned, curvature), share) in pairs.iter().zip(shares.iter().rev()) {
        let back = dot(turned, &step) / curvature;
        step.iter_mut().zip(moved).for_each(|(s, m)| *s += (share - back) * m);
    }
    step
}
