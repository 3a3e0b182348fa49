//! Linear models of sparse features: logistic regression by Newton's method with conjugate gradients (Nocedal and
//! Wright, Numerical Optimization, 7.1), and ridge regression by conjugate gradients.
//!
//! The optimum is that of the dense solvers. Second derivatives are only multiplied with vectors, which takes two
//! passes over the values other than 0. The diagonal of the second derivatives is the preconditioner.

use rayon::prelude::*;

use super::logistic::{LogisticEnd, Settings, show};
use super::newton::DECREASE;
use crate::data::Data;
use crate::data::products::FeatureProducts;
use crate::error::{Error, ErrorKind};
use crate::run::Run;
use crate::sums::dot;

/// Steps of conjugate gradients for a direction: scikit-learn's `maxinner`, and some more.
const MOST_STEPS: usize = 250;

/// Rows of a task.
const ROWS: usize = 512;

/// Rows, their classes and a penalty. Parameters lie feature by feature, with one for each output, the intercepts last.
struct Problem<'a> {
    x: FeatureProducts<'a>,
    y: &'a [f64],
    /// Weights of rows as shares of their sum.
    share: Vec<f64>,
    outputs: usize,
    centre: bool,
    l2: f64,
}

/// A point of the descent.
struct Point {
    params: Vec<f64>,
    loss: f64,
    gradient: Vec<f64>,
    /// The probabilities of the outputs, row after row.
    p: Vec<f64>,
}

/// Minimises the mean loss with an l2 penalty of `1 / (c x sum of the weights)`.
///
/// # Errors
/// If the user stops the work, or a number overflows.
pub fn logistic(
    data: &Data,
    weight: Option<&[f64]>,
    c: f64,
    settings: &Settings,
    run: &Run<'_>,
) -> Result<LogisticEnd, Error> {
    let total = weight.map_or(data.rows as f64, |w| w.iter().sum());
    if total <= 0.0 {
        return Err(Error::new(ErrorKind::Weight, "all sample weights are 0: at least one must be above 0"));
    }
    let problem = Problem {
        x: FeatureProducts::new(data),
        y: &data.y,
        share: (0..data.rows).map(|i| weight.map_or(1.0, |w| w[i]) / total).collect(),
        outputs: if data.classes.len() == 2 { 1 } else { data.classes.len() },
        centre: settings.centre,
        l2: 1.0 / (c * total),
    };
    let mut at = problem.point(vec![0.0; (problem.x.width() + 1) * problem.outputs]);
    let (mut losses, mut slope) = (Vec::new(), largest(&at.gradient));
    let first = slope;
    let mut converged = slope <= settings.tol;
    let mut is_stuck = false;
    while !converged && losses.len() < settings.max_iter {
        let step = problem.direction(&at, (slope / first).sqrt().min(0.1), run)?;
        let Some(next) = problem.search(&at, &step) else {
            (converged, is_stuck) = (slope <= settings.tol.max(1e-6), slope > settings.tol.max(1e-6));
            break;
        };
        let decrease = (at.loss - next.loss) / at.loss.abs().max(next.loss.abs()).max(1.0);
        let before = std::mem::replace(&mut slope, largest(&next.gradient));
        at = next;
        losses.push(at.loss);
        show(run, &losses, settings)?;
        converged = slope <= settings.tol || (decrease <= DECREASE && slope > 0.5 * before);
    }
    if !at.params.iter().all(|w| w.is_finite()) {
        let message = "the coefficients are not finite numbers: the values of the data are too large";
        return Err(Error::new(ErrorKind::Overflow, message).help("scale the features"));
    }
    Ok(LogisticEnd { coef: problem.outer(&at.params), losses, gradient: slope, converged, is_stuck })
}

/// The largest absolute value. NaN stays.
fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |a: f64, b| if b.abs() > a || b.is_nan() { b.abs() } else { a })
}

impl Problem<'_> {
    /// The products of the rows with parameters: for each row a score of each output.
    fn scores(&self, params: &[f64]) -> Vec<f64> {
        let k = self.outputs;
        let intercepts = &params[self.x.width() * k..];
        let mut out = vec![0.0; self.x.rows() * k];
        out.par_chunks_mut(ROWS * k).enumerate().for_each(|(chunk, out)| {
            for (i, out) in out.chunks_exact_mut(k).enumerate() {
                let (columns, values) = self.x.row(chunk * ROWS + i);
                out.copy_from_slice(intercepts);
                for (column, value) in columns.iter().zip(values) {
                    let weights = &params[*column as usize * k..][..k];
                    out.iter_mut().zip(weights).for_each(|(out, weight)| *out += value * weight);
                }
            }
        });
        out
    }

    /// The products of the columns with values of the rows: for each feature a number of each output, then their sums.
    fn back(&self, of_rows: &[f64], power: fn(f64) -> f64) -> Vec<f64> {
        let (k, width) = (self.outputs, self.x.width());
        let mut out = vec![0.0; (width + 1) * k];
        out[..width * k].par_chunks_mut(ROWS * k).enumerate().for_each(|(chunk, out)| {
            for (j, out) in out.chunks_exact_mut(k).enumerate() {
                let (rows, values) = self.x.column(chunk * ROWS + j);
                for (row, value) in rows.iter().zip(values) {
                    let value = power(*value);
                    let of_row = &of_rows[*row as usize * k..][..k];
                    out.iter_mut().zip(of_row).for_each(|(out, r)| *out += value * r);
                }
            }
        });
        if self.centre {
            of_rows.chunks_exact(k).for_each(|row| out[width * k..].iter_mut().zip(row).for_each(|(o, r)| *o += r));
        }
        out
    }

    /// Adds the multiple of the coefficients that the penalty brings.
    fn penalise(&self, params: &[f64], to: &mut [f64]) {
        let coef = self.x.width() * self.outputs;
        to[..coef].iter_mut().zip(params).for_each(|(to, w)| *to += self.l2 * w);
    }

    fn point(&self, params: Vec<f64>) -> Point {
        let k = self.outputs;
        let mut p = self.scores(&params);
        let mut rest = vec![0.0; p.len()];
        let mut losses = vec![0.0; self.x.rows()];
        let rows = p.par_chunks_mut(ROWS * k).zip(rest.par_chunks_mut(ROWS * k)).zip(losses.par_chunks_mut(ROWS));
        rows.enumerate().for_each(|(chunk, ((p, rest), losses))| {
            let rows = p.chunks_exact_mut(k).zip(rest.chunks_exact_mut(k)).zip(losses).enumerate();
            for (i, ((p, rest), loss)) in rows {
                let row = chunk * ROWS + i;
                *loss = softmax(p, self.y[row] as usize, rest);
                rest.iter_mut().for_each(|r| *r *= self.share[row]);
            }
        });
        let mut gradient = self.back(&rest, |value| value);
        self.penalise(&params, &mut gradient);
        let coef = &params[..self.x.width() * k];
        let loss = dot(&losses, &self.share) + 0.5 * self.l2 * dot(coef, coef);
        Point { params, loss, gradient, p }
    }

    /// The product of the second derivatives at a point with a vector.
    fn curved(&self, at: &Point, vector: &[f64]) -> Vec<f64> {
        let k = self.outputs;
        let mut u = self.scores(vector);
        u.par_chunks_mut(ROWS * k).zip(at.p.par_chunks(ROWS * k)).enumerate().for_each(|(chunk, (u, p))| {
            for (i, (u, p)) in u.chunks_exact_mut(k).zip(p.chunks_exact(k)).enumerate() {
                let share = self.share[chunk * ROWS + i];
                let mean: f64 = if k == 1 { p[0] * u[0] } else { p.iter().zip(&*u).map(|(p, u)| p * u).sum() };
                u.iter_mut().zip(p).for_each(|(u, p)| *u = share * p * (*u - mean));
            }
        });
        let mut out = self.back(&u, |value| value);
        self.penalise(vector, &mut out);
        out
    }

    /// The direction of a step: conjugate gradients until the residual is the share `enough` of the gradient.
    fn direction(&self, at: &Point, enough: f64, run: &Run<'_>) -> Result<Vec<f64>, Error> {
        let k = self.outputs;
        let spread = |(i, p): (usize, &f64)| self.share[i / k] * p * (1.0 - p);
        let mut diagonal = self.back(&at.p.iter().enumerate().map(spread).collect::<Vec<f64>>(), |value| value * value);
        let coef = self.x.width() * k;
        diagonal[..coef].iter_mut().for_each(|d| *d += self.l2);
        let descent: Vec<f64> = at.gradient.iter().map(|g| -g).collect();
        let stages = Stages { most: MOST_STEPS, enough };
        conjugate(&descent, &diagonal, |vector| self.curved(at, vector), &stages, run).map(|(step, _)| step)
    }

    /// The first of halved steps that brings enough decrease (Armijo). `None`: there is none.
    fn search(&self, at: &Point, step: &[f64]) -> Option<Point> {
        let along = dot(step, &at.gradient);
        let mut size = 1.0;
        for _ in 0..40 {
            let next = self.point(at.params.iter().zip(step).map(|(w, s)| w + size * s).collect());
            // Rounding of the sum must not refuse the last steps.
            if next.loss <= at.loss + 1e-4 * size * along + 4.0 * f64::EPSILON * at.loss.abs() {
                return Some(next);
            }
            size *= 0.5;
        }
        None
    }

    /// For each output its coefficients and its intercept. Intercepts of several classes sum to 0.
    fn outer(&self, params: &[f64]) -> Vec<f64> {
        let (k, stride) = (self.outputs, self.x.width() + 1);
        let mut outer: Vec<f64> = (0..k).flat_map(|c| params.iter().skip(c).step_by(k).copied()).collect();
        if k > 1 {
            let intercepts = || outer.iter().skip(stride - 1).step_by(stride);
            let mean = intercepts().sum::<f64>() / k as f64;
            outer.iter_mut().skip(stride - 1).step_by(stride).for_each(|b| *b -= mean);
        }
        outer
    }
}

/// Turns scores of a row into probabilities: the loss, and in `rest` the derivatives by the scores.
fn softmax(scores: &mut [f64], class: usize, rest: &mut [f64]) -> f64 {
    if let [z] = scores {
        let small = (-z.abs()).exp();
        let p = if *z >= 0.0 { 1.0 } else { small } / (1.0 + small);
        let loss = small.ln_1p() + z.max(0.0) - class as f64 * *z;
        (*z, rest[0]) = (p, p - class as f64);
        return loss;
    }
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let own = scores[class];
    scores.iter_mut().for_each(|z| *z = (*z - most).exp());
    let total: f64 = scores.iter().sum();
    scores.iter_mut().for_each(|p| *p /= total);
    rest.copy_from_slice(scores);
    rest[class] -= 1.0;
    total.ln() + most - own
}

/// The end of conjugate gradients: the most steps, and the residual as a share of the right side.
struct Stages {
    most: usize,
    enough: f64,
}

/// Solves a positive definite system by conjugate gradients: the solution, and the residual as a share of the right
/// side. Norms are those of the preconditioner, the inverse of `diagonal`.
fn conjugate(
    right: &[f64],
    diagonal: &[f64],
    times: impl Fn(&[f64]) -> Vec<f64>,
    stages: &Stages,
    run: &Run<'_>,
) -> Result<(Vec<f64>, f64), Error> {
    let inverse: Vec<f64> = diagonal.iter().map(|d| if *d > 0.0 { 1.0 / d } else { 1.0 }).collect();
    let scaled = |r: &[f64]| r.iter().zip(&inverse).map(|(r, i)| r * i).collect::<Vec<f64>>();
    let mut solution = vec![0.0; right.len()];
    let mut residual = right.to_vec();
    let mut along = scaled(&residual);
    let first = dot(&residual, &along);
    let mut norm = first;
    for step in 0..stages.most {
        if norm.is_nan() || norm <= stages.enough * stages.enough * first {
            break;
        }
        run.check(|| format!("{step} steps of conjugate gradients"))?;
        let turned = times(&along);
        let curvature = dot(&along, &turned);
        if curvature.is_nan() || curvature <= 0.0 {
            // Rounding, or a direction without curvature: the first step is the scaled gradient.
            if step == 0 {
                solution.copy_from_slice(&along);
            }
            break;
        }
        let size = norm / curvature;
        solution.iter_mut().zip(&along).for_each(|(s, a)| *s += size * a);
        residual.iter_mut().zip(&turned).for_each(|(r, t)| *r -= size * t);
        let steep = scaled(&residual);
        let next = dot(&residual, &steep);
        along.iter_mut().zip(&steep).for_each(|(a, s)| *a = s + next / norm * *a);
        norm = next;
    }
    Ok((solution, if first > 0.0 { (norm / first).sqrt() } else { 0.0 }))
}

/// Ridge regression with an `alpha` above 0: the coefficients, the intercept, and notes.
///
/// # Errors
/// If the user stops the work, or all weights are 0.
pub fn ridge(data: &Data, alpha: f64, centre: bool, run: &Run<'_>) -> Result<(Vec<f64>, f64, Vec<String>), Error> {
    let x = FeatureProducts::new(data);
    let weight: Vec<f64> = (0..data.rows).map(|i| data.weight_of(i)).collect();
    let total: f64 = weight.iter().sum();
    if total <= 0.0 {
        return Err(Error::new(ErrorKind::Weight, "all sample weights are 0: at least one must be above 0"));
    }
    let (mean, target) = match centre {
        true => {
            let mean: Vec<f64> = x.transposed_times(&weight).iter().map(|sum| sum / total).collect();
            (mean, dot(&data.y, &weight) / total)
        }
        false => (vec![0.0; x.width()], 0.0),
    };
    // The transpose of the centred rows times values under weights.
    let back = |values: Vec<f64>| {
        let weighted: Vec<f64> = values.iter().zip(&weight).map(|(v, w)| v * w).collect();
        let sum: f64 = weighted.iter().sum();
        let mut out = x.transposed_times(&weighted);
        out.iter_mut().zip(&mean).for_each(|(out, mean)| *out -= mean * sum);
        out
    };
    let times = |vector: &[f64]| {
        let shift = dot(vector, &mean);
        let mut scores = x.times(vector);
        scores.iter_mut().for_each(|s| *s -= shift);
        let mut out = back(scores);
        out.iter_mut().zip(vector).for_each(|(out, v)| *out += alpha * v);
        out
    };
    let squares = x.by_column(|rows, values| rows.iter().zip(values).map(|(i, v)| weight[*i as usize] * v * v).sum());
    let diagonal: Vec<f64> =
        squares.iter().zip(&mean).map(|(s, m)| (s - total * m * m).max(1e-3 * s) + alpha).collect();
    let right = back(data.y.iter().map(|y| y - target).collect());
    run.stage("conjugate gradients");
    let stages = Stages { most: 20 * x.width().min(data.rows).max(500), enough: 1e-14 };
    let (coef, residual) = conjugate(&right, &diagonal, times, &stages, run)?;
    let notes = match residual <= 1e-8 {
        true => Vec::new(),
        false => vec![format!("conjugate gradients ended with a residual of {residual:.0e}; scale the features")],
    };
    let intercept = if centre { target - dot(&coef, &mean) } else { 0.0 };
    Ok((coef, intercept, notes))
}
