//! Bayesian ridge regression: the precisions of noise and coefficients maximise the marginal likelihood (MacKay 1992).
//! `BayesianRidge` of scikit-learn (`sklearn/linear_model/_bayes.py`).

use onrush_dense::Matrix;
use serde::{Deserialize, Serialize};

use super::design::{Design, intercept};
use super::least_squares::{decomposed, triangle};
use super::{finite, scores};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, LinearScores, Link, Model, Role, Values};
use crate::params;
use crate::run::Run;
use crate::sums::dot;
use crate::tensor::Tensor;

/// A Bayesian linear model.
#[derive(Serialize, Deserialize)]
pub struct Bayesian {
    pub coef: Tensor,
    #[serde(with = "crate::tensor::scalar")]
    pub intercept: f64,
    /// The precision of the noise.
    #[serde(with = "crate::tensor::scalar")]
    pub alpha: f64,
    /// The precision of the coefficients.
    #[serde(with = "crate::tensor::scalar")]
    pub lambda: f64,
    /// The covariance of the coefficients: features x features.
    pub sigma: Tensor,
    /// The log marginal likelihood before each iteration and at the end, if it was asked for.
    pub likelihoods: Tensor,
    pub n_iter: u64,
    pub notes: Vec<String>,
}

/// The singular values of the centred features, and the target in their directions.
struct Directions {
    v: Matrix,
    s: Vec<f64>,
    /// The target along each direction.
    c: Vec<f64>,
    /// The squares of the target along no direction.
    rest: f64,
}

/// Trains `BayesianRidge`.
///
/// # Errors
/// If the weights are all 0, a decomposition fails, or the user stops the work.
pub fn fit(params: &params::BayesianRidge, data: &Data, run: &Run<'_>) -> Result<Bayesian, Error> {
    let (width, centre) = (data.width(), params.fit_intercept);
    let design = Design::of(data, centre)?;
    let directions = Directions::of(&design, run)?;
    let total = design.total;
    let (a1, a2) = (params.alpha_1, params.alpha_2);
    let (l1, l2) = (params.lambda_1, params.lambda_2);
    let mut alpha = match params.alpha_init {
        Some(alpha) => finite("alpha_init", alpha)?,
        None => 1.0 / (variance(&design) + f64::EPSILON),
    };
    let mut lambda = finite("lambda_init", params.lambda_init.unwrap_or(1.0))?;
    let likelihood = |alpha: f64, lambda: f64, coef: &[f64], error: f64| {
        let found: f64 = directions.s.iter().map(|s| (lambda + alpha * s * s).ln()).sum();
        let determinant = found + (width - directions.s.len()) as f64 * lambda.ln();
        let prior = l1 * lambda.ln() - l2 * lambda + a1 * alpha.ln() - a2 * alpha;
        let fit = width as f64 * lambda.ln() + total * alpha.ln() - alpha * error - lambda * dot(coef, coef);
        prior + 0.5 * (fit - determinant - total * (2.0 * std::f64::consts::PI).ln())
    };
    let mut likelihoods = Vec::new();
    let (mut before, mut n_iter, mut converged): (Option<Vec<f64>>, _, _) = (None, 0, false);
    while n_iter < params.max_iter && !converged {
        run.check(|| format!("{n_iter} of {} iterations", params.max_iter))?;
        let (coef, error) = directions.coef(lambda / alpha);
        if params.compute_score {
            likelihoods.push(likelihood(alpha, lambda, &coef, error));
        }
        let gamma: f64 = directions.s.iter().map(|s| alpha * s * s / (lambda + alpha * s * s)).sum();
        lambda = (gamma + 2.0 * l1) / (dot(&coef, &coef) + 2.0 * l2);
        alpha = (total - gamma + 2.0 * a1) / (error + 2.0 * a2);
        n_iter += 1;
        let change = |old: &Vec<f64>| old.iter().zip(&coef).map(|(a, b)| (a - b).abs()).sum::<f64>();
        converged = before.as_ref().is_some_and(|old| change(old) < params.tol);
        before = Some(coef);
    }
    let (coef, error) = directions.coef(lambda / alpha);
    if params.compute_score {
        likelihoods.push(likelihood(alpha, lambda, &coef, error));
    }
    if !(alpha.is_finite() && lambda.is_finite() && coef.iter().all(|w| w.is_finite())) {
        let message = "the precisions are not finite numbers: the target has no noise, or its values are too large";
        return Err(Error::new(ErrorKind::Overflow, message).help("scale the features and the target"));
    }
    Ok(Bayesian {
        intercept: if centre { intercept(&design.mean, &coef) } else { 0.0 },
        sigma: Tensor::new(vec![width, width], directions.covariance(width, alpha, lambda)),
        coef: Tensor::vector(coef),
        alpha,
        lambda,
        likelihoods: Tensor::vector(likelihoods),
        n_iter: n_iter as u64,
        notes: match converged {
            true => Vec::new(),
            false => vec![format!("stopped after {n_iter} of {n_iter} iterations; raise `max_iter`")],
        },
    })
}

/// The weighted variance of the target.
fn variance(design: &Design<'_>) -> f64 {
    let y = design.columns[design.columns.len() - 1];
    let weighted = |value: &dyn Fn(usize) -> f64| {
        (0..design.rows).map(|i| design.weight_at(i) * value(i)).sum::<f64>() / design.total
    };
    let mean = weighted(&|i| y[i]);
    weighted(&|i| (y[i] - mean) * (y[i] - mean))
}

impl Directions {
    fn of(design: &Design<'_>, run: &Run<'_>) -> Result<Self, Error> {
        let width = design.columns.len() - 1;
        let mut r = triangle(design, run)?;
        for (j, scale) in design.scale.iter().enumerate() {
            r.column_mut(j).iter_mut().for_each(|v| *v /= scale);
        }
        run.check(|| "the QR decomposition".to_string())?;
        let y = r.column(width).to_vec();
        let (u, s, v) = decomposed(&Matrix::new(r.rows, width, r.data[..r.rows * width].to_vec()))?;
        let c: Vec<f64> = (0..s.len()).map(|k| dot(u.column(k), &y)).collect();
        let mut rest = y;
        for (k, c) in c.iter().enumerate() {
            rest.iter_mut().zip(u.column(k)).for_each(|(r, u)| *r -= c * u);
        }
        Ok(Directions { v, s, c, rest: dot(&rest, &rest) })
    }

    /// The coefficients with a ridge penalty, and the sum of their squared errors.
    fn coef(&self, penalty: f64) -> (Vec<f64>, f64) {
        let mut coef = vec![0.0; self.v.rows];
        let mut error = self.rest;
        for (k, (s, c)) in self.s.iter().zip(&self.c).enumerate() {
            let size = s * s + penalty;
            if size > 0.0 {
                coef.iter_mut().zip(self.v.column(k)).for_each(|(w, v)| *w += v * (s * c / size));
                error += (c * penalty / size).powi(2);
            }
        }
        (coef, error)
    }

    /// The covariance of the coefficients, row after row.
    fn covariance(&self, width: usize, alpha: f64, lambda: f64) -> Vec<f64> {
        // Directions without data have the variance of the prior. If there are none, the prior is not added and then
        // subtracted: it can be larger by many orders of magnitude.
        let prior = if self.s.len() < width { 1.0 / lambda } else { 0.0 };
        let mut out = vec![0.0; width * width];
        (0..width).for_each(|j| out[j * width + j] = prior);
        for (k, s) in self.s.iter().enumerate() {
            let less = 1.0 / (alpha * s * s + lambda) - prior;
            let v = self.v.column(k);
            for (row, a) in out.chunks_exact_mut(width).zip(v) {
                row.iter_mut().zip(v).for_each(|(o, b)| *o += less * a * b);
            }
        }
        out
    }
}

impl Model for Bayesian {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        vec![Role::Prediction]
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        Ok(wanted.iter().map(|_| scores(data, &self.coef.data, self.intercept)).collect())
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        match name {
            "coef" => Some(Attribute::by_feature(features, "coef", &self.coef.data)),
            "intercept" => Some(Attribute::Float(self.intercept)),
            "alpha" => Some(Attribute::Float(self.alpha)),
            "lambda" => Some(Attribute::Float(self.lambda)),
            "sigma" => {
                let names = Values::Strs(features.iter().map(|f| f.name.clone()).collect());
                Some(Attribute::by_row(Some(("feature", names)), features, &self.sigma.data))
            }
            "scores" => {
                let values = Values::Floats(self.likelihoods.data.clone());
                Some(Attribute::Frame(vec![("score".to_string(), values)]))
            }
            "n_iter" => Some(Attribute::Int(self.n_iter as i64)),
            _ => None,
        }
    }

    fn bars(&self) -> Option<(&'static str, Vec<f64>)> {
        Some(("coefficient", self.coef.data.clone()))
    }

    fn linear(&self) -> Option<LinearScores> {
        let (coef, intercept) = (vec![self.coef.data.clone()], vec![self.intercept]);
        Some(LinearScores { coef, intercept, shift: vec![0.0; self.coef.data.len()], link: Link::Identity })
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        let fits = self.coef.data.len() == features && self.sigma.shape == [features, features] && classes == 0;
        match fits {
            true => Ok(()),
            false => {
                let message = format!("{} coefficients for {features} features", self.coef.data.len());
                Err(Error::new(ErrorKind::ModelFile, message))
            }
        }
    }

    fn bytes(&self) -> u64 {
        self.coef.bytes() + self.sigma.bytes() + self.likelihoods.bytes()
    }
}
