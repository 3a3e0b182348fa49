//! Bayesian regression with a precision for each coefficient (Tipping 2001; MacKay 1994): `ARDRegression` of
//! scikit-learn (`sklearn/linear_model/_bayes.py`).

use onrush_dense::{self as dense, Matrix};

use super::Linear;
use super::robust::RobustLinear;
use crate::data::Data;
use crate::decomposition::linear_map::row_major;
use crate::error::{Error, ErrorKind};
use crate::params;
use crate::run::Run;
use crate::stored::StoredAttributes;
use crate::sums::dot;
use crate::tensor::Tensor;

/// The centred data, and the state of the iteration.
struct Relevance {
    x: Matrix,
    y: Vec<f64>,
    gram: Matrix,
    products: Vec<f64>,
    coef: Vec<f64>,
    alpha: f64,
    lambda: Vec<f64>,
    /// The features whose precision is below the threshold.
    kept: Vec<usize>,
}

/// Trains `ARDRegression`.
///
/// # Errors
/// If the covariance of the coefficients is not positive definite. If the user stops the work.
pub fn fit(params: &params::ARDRegression, data: &Data, run: &Run<'_>) -> Result<RobustLinear, Error> {
    let (n, width) = (data.rows, data.width());
    if n < 2 {
        return Err(Error::new(ErrorKind::NoRows, "ARDRegression got 1 row: at least 2 rows have a variance"));
    }
    let centre = params.fit_intercept;
    let mean = if centre { data.means() } else { vec![0.0; width] };
    let middle = if centre { data.y.iter().sum::<f64>() / n as f64 } else { 0.0 };
    let x = Matrix::new(width, n, data.shifted(&mean)).transposed();
    let y: Vec<f64> = data.y.iter().map(|y| y - middle).collect();
    let gram = dense::transpose_multiply(&x, &x);
    let products: Vec<f64> = (0..width).map(|j| dot(x.column(j), &y)).collect();
    let average = y.iter().sum::<f64>() / n as f64;
    let variance = y.iter().map(|y| (y - average) * (y - average)).sum::<f64>() / n as f64;
    let alpha = 1.0 / (variance + f64::EPSILON);
    let (coef, lambda) = (vec![0.0; width], vec![1.0; width]);
    let mut state = Relevance { x, y, gram, products, coef, alpha, lambda, kept: (0..width).collect() };
    let mut likelihoods = Vec::new();
    let (mut before, mut n_iter, mut converged): (Option<Vec<f64>>, usize, bool) = (None, 0, false);
    while n_iter < params.max_iter && !converged && !state.kept.is_empty() {
        run.check(|| format!("{n_iter} of at most {} iterations", params.max_iter))?;
        run.stage(format!("iteration {}, {} of {width} features", n_iter + 1, state.kept.len()));
        let likelihood = state.step(params)?;
        if params.compute_score {
            likelihoods.push(likelihood);
        }
        n_iter += 1;
        let change = |old: &Vec<f64>| old.iter().zip(&state.coef).map(|(a, b)| (a - b).abs()).sum::<f64>();
        converged = before.as_ref().is_some_and(|old| change(old) < params.tol);
        before = Some(state.coef.clone());
    }
    let sigma = state.solve()?;
    if state.coef.iter().any(|w| !w.is_finite()) {
        let message = "the coefficients are not finite numbers: the target has no noise, or its values are too large";
        return Err(Error::new(ErrorKind::Overflow, message).help("scale the features and the target"));
    }
    let intercept = if centre { middle - dot(&mean, &state.coef) } else { 0.0 };
    let mut attributes = StoredAttributes::default()
        .float("alpha", state.alpha)
        .by_feature("lambda", "lambda", state.lambda)
        .numbered("scores", "iteration", "score", likelihoods)
        .int("n_iter", n_iter);
    if !state.kept.is_empty() {
        let names = state.kept.iter().map(|j| data.features[*j].name.clone()).collect();
        attributes = attributes.columns("sigma", names, row_major(&sigma).data);
    }
    let notes = match converged || state.kept.is_empty() {
        true => Vec::new(),
        false => vec![format!("stopped after `max_iter` = {n_iter} iterations: raise `max_iter`")],
    };
    let linear = Linear { coef: Tensor::vector(state.coef), intercept, notes, ..Linear::default() };
    Ok(RobustLinear { linear, attributes })
}

impl Relevance {
    /// The covariance of the kept coefficients. Sets these.
    fn solve(&mut self) -> Result<Matrix, Error> {
        let kept = &self.kept;
        let mut precision = Matrix::zeros(kept.len(), kept.len());
        for (a, i) in kept.iter().enumerate() {
            for (b, j) in kept.iter().enumerate() {
                precision.set(a, b, self.alpha * self.gram.at(*i, *j));
            }
            precision.set(a, a, precision.at(a, a) + self.lambda[*i]);
        }
        if kept.is_empty() {
            return Ok(precision);
        }
        let sigma = dense::inverse_positive(&precision).ok_or_else(|| {
            Error::new(ErrorKind::Numeric, "the covariance of the coefficients is not positive definite")
                .help("scale the features and the target, for example with StandardScaler")
        })?;
        let products: Vec<f64> = kept.iter().map(|j| self.products[*j]).collect();
        for (a, j) in kept.iter().enumerate() {
            self.coef[*j] = self.alpha * dot(sigma.column(a), &products);
        }
        Ok(sigma)
    }

    /// An iteration. Gives the log marginal likelihood after it.
    fn step(&mut self, params: &params::ARDRegression) -> Result<f64, Error> {
        let sigma = self.solve()?;
        let n = self.y.len() as f64;
        let mut rest = self.y.clone();
        for j in &self.kept {
            let coef = self.coef[*j];
            rest.iter_mut().zip(self.x.column(*j)).for_each(|(r, x)| *r -= coef * x);
        }
        let error = dot(&rest, &rest);
        let mut known = 0.0;
        for (a, j) in self.kept.iter().enumerate() {
            let gamma = 1.0 - self.lambda[*j] * sigma.at(a, a);
            known += gamma;
            self.lambda[*j] = (gamma + 2.0 * params.lambda_1) / (self.coef[*j].powi(2) + 2.0 * params.lambda_2);
        }
        self.alpha = (n - known + 2.0 * params.alpha_1) / (error + 2.0 * params.alpha_2);
        let mut likelihood = 0.0;
        self.kept = (0..self.lambda.len()).filter(|j| self.lambda[*j] < params.threshold_lambda).collect();
        for j in 0..self.coef.len() {
            if !self.kept.contains(&j) {
                self.coef[j] = 0.0;
            }
        }
        if params.compute_score {
            let logs: f64 = self.lambda.iter().map(|l| l.ln()).sum();
            let weighted: f64 = self.lambda.iter().zip(&self.coef).map(|(l, w)| l * w * w).sum();
            let determinant = dense::cholesky(&sigma)
                .map_or(f64::NEG_INFINITY, |l| (0..l.rows).map(|i| 2.0 * l.at(i, i).ln()).sum::<f64>());
            likelihood = params.lambda_1 * logs - params.lambda_2 * self.lambda.iter().sum::<f64>()
                + params.alpha_1 * self.alpha.ln()
                - params.alpha_2 * self.alpha
                + 0.5 * (determinant + n * self.alpha.ln() + logs)
                - 0.5 * (self.alpha * error + weighted);
        }
        Ok(likelihood)
    }
}
