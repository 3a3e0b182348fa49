//! Regression with Huber's loss and a scale that is estimated with the coefficients (Owen 2007): `HuberRegressor` of
//! scikit-learn (`sklearn/linear_model/_huber.py`). The objective is convex, the solver Newton's method.

use std::ops::Range;

use onrush_dense as dense;
use onrush_dense::Matrix;

use super::convex::{self, Value};
use super::design::{Design, add, blocks, intercept, mirror, shape, sum_chunks};
use super::{Linear, finite};
use crate::data::Data;
use crate::error::Error;
use crate::params;
use crate::run::Run;
use crate::sums::dot;
use crate::tensor::Tensor;

/// Rows, the threshold and the penalty. Parameters are in units of centred and scaled columns and of the scaled target:
/// coefficients, the intercept if there is one, and the scale.
struct Problem<'a> {
    /// Features, then the target.
    design: Design<'a>,
    epsilon: f64,
    /// The penalty in units of the scaled target.
    alpha: f64,
    centre: bool,
}

/// Trains `HuberRegressor`.
///
/// # Errors
/// If the weights are all 0, and if the user stops the work.
pub fn fit(params: &params::HuberRegressor, data: &Data, run: &Run<'_>) -> Result<Linear, Error> {
    let (width, centre) = (data.width(), params.fit_intercept);
    let design = Design::of(data, centre)?;
    let unit = design.scale[width];
    let (epsilon, alpha) = (finite("epsilon", params.epsilon)?, finite("alpha", params.alpha)? / unit);
    let problem = Problem { design, epsilon, alpha, centre };
    let mut start = vec![0.0; width + usize::from(centre)];
    start.push(problem.spread());
    let most = params.max_iter;
    let shown = |values: &[f64]| {
        let (done, loss) = (values.len(), values.last().copied().unwrap_or(f64::NAN));
        run.stage(format!("iteration {done}, loss {:.6}", loss / unit));
        (run.steps)(done as u64, most as u64);
        run.check(|| format!("{done} of {most} iterations"))
    };
    let tol = finite("tol", params.tol)?;
    let end = convex::newton(start, (most, tol), |p| problem.at(p, run), |g| problem.slope(g), shown)?;
    let scales = problem.design.scale.iter();
    let coef: Vec<f64> = end.x.iter().zip(scales).take(width).map(|(w, s)| w * (s / unit)).collect();
    let mut shift = problem.design.mean.clone();
    if centre {
        shift[width] += end.x[width] / unit;
    }
    let notes = match end.converged {
        true => Vec::new(),
        false => vec![format!(
            "stopped after {} of {most} iterations; the gradient is {:.0e}, `tol` asks for {tol:e}; raise \
             `max_iter` or scale the features",
            end.values.len(),
            end.gradient
        )],
    };
    Ok(Linear {
        intercept: if centre { intercept(&shift, &coef) } else { 0.0 },
        coef: Tensor::vector(coef),
        scale: end.x.last().map(|scale| scale / unit),
        n_iter: Some(end.values.len() as u64),
        notes,
        ..Linear::default()
    })
}

impl Problem<'_> {
    fn width(&self) -> usize {
        self.design.columns.len() - 1
    }

    /// The root of the mean square of the scaled target: a first scale.
    fn spread(&self) -> f64 {
        let design = &self.design;
        let (y, mean, scale) = (design.columns[self.width()], design.mean[self.width()], design.scale[self.width()]);
        let square = |i: usize| design.weight_at(i) * ((y[i] - mean) * scale).powi(2);
        let root = ((0..design.rows).map(square).sum::<f64>() / design.total).sqrt();
        if root > 0.0 { root } else { 1.0 }
    }

    /// The largest component of the gradient, in units of the data and of a sum over the rows.
    fn slope(&self, gradient: &[f64]) -> f64 {
        let width = self.width();
        let own = if self.centre { gradient[width] } else { 0.0 };
        let Design { mean, scale, total, .. } = &self.design;
        let slopes = (0..width).map(|j| (gradient[j] / scale[j] + mean[j] * own).abs());
        let all = slopes.chain([own.abs(), gradient[gradient.len() - 1].abs()]);
        total * all.fold(0.0, |a: f64, b| if b > a || b.is_nan() { b } else { a })
    }

    /// The objective as a mean over the rows, and its derivatives.
    fn at(&self, params: &[f64], run: &Run<'_>) -> Result<Value, Error> {
        let size = params.len();
        let empty = || Value { value: 0.0, gradient: vec![0.0; size], hessian: Matrix::zeros(size, size) };
        if params[size - 1] <= 0.0 {
            return Ok(Value { value: f64::INFINITY, ..empty() });
        }
        let work = |rows: Range<usize>| {
            let (mut sum, mut x) = (empty(), Matrix::zeros(0, 0));
            blocks(rows).for_each(|block| self.block(block, params, &mut x, &mut sum));
            sum
        };
        let mut sum = sum_chunks(run, self.design.rows, size * size + size, work, |sum, other| {
            sum.value += other.value;
            add(&mut sum.gradient, &other.gradient);
            add(&mut sum.hessian.data, &other.hessian.data);
        })?;
        mirror(&mut sum.hessian);
        for (j, param) in params.iter().enumerate().take(self.width()) {
            let l2 = 2.0 * self.alpha * self.design.scale[j] * self.design.scale[j] / self.design.total;
            sum.value += 0.5 * l2 * param * param;
            sum.gradient[j] += l2 * param;
            sum.hessian.set(j, j, sum.hessian.at(j, j) + l2);
        }
        Ok(sum)
    }

    /// Adds a block of rows: features, ones if there is an intercept, and residuals in units of the scale.
    fn block(&self, rows: Range<usize>, params: &[f64], x: &mut Matrix, sum: &mut Value) {
        let (len, size, width) = (rows.len(), params.len(), self.width());
        let scale = params[size - 1];
        // With an intercept the target's column becomes the ones, else it becomes the residuals.
        shape(x, len, size.max(width + 1));
        self.design.fill(rows.clone(), &mut x.data);
        let mut rest = x.column(width).to_vec();
        for (j, w) in params[..width].iter().enumerate() {
            rest.iter_mut().zip(x.column(j)).for_each(|(r, x)| *r -= x * w);
        }
        if self.centre {
            rest.iter_mut().for_each(|r| *r -= params[width]);
            x.column_mut(width).fill(1.0);
        }
        rest.iter_mut().for_each(|r| *r /= scale);
        let (mut slopes, mut roots) = (vec![0.0; len], vec![0.0; len]);
        for (i, row) in rows.enumerate() {
            let share = self.design.weight_at(row) / self.design.total;
            let r = if share > 0.0 { rest[i] } else { 0.0 };
            if r.abs() <= self.epsilon {
                sum.value += share * scale * (1.0 + r * r);
                sum.gradient[size - 1] += share * (1.0 - r * r);
                slopes[i] = -2.0 * share * r;
                roots[i] = (2.0 * share / scale).sqrt();
            } else {
                let square = self.epsilon * self.epsilon;
                sum.value += share * scale * (1.0 + 2.0 * self.epsilon * r.abs() - square);
                sum.gradient[size - 1] += share * (1.0 - square);
                slopes[i] = -2.0 * share * self.epsilon * r.signum();
            }
            rest[i] = r;
        }
        x.column_mut(size - 1).copy_from_slice(&rest);
        for j in 0..size - 1 {
            sum.gradient[j] += dot(x.column(j), &slopes);
        }
        for column in x.data.chunks_exact_mut(len) {
            column.iter_mut().zip(&roots).for_each(|(x, r)| *x *= r);
        }
        dense::add_gram(&mut sum.hessian, x);
    }
}
