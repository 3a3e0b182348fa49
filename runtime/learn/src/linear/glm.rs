//! Generalized linear models with the deviance of Tweedie: Poisson, gamma and others.
//!
//! The objective is that of scikit-learn (`sklearn/linear_model/_glm/glm.py`): the weighted mean of half the deviance,
//! plus half of `alpha` times the squared coefficients. The solver is Newton's method, above [`NEWTON`] features
//! L-BFGS.

use std::ops::Range;

use onrush_dense as dense;
use onrush_dense::Matrix;
use onrush_wire::learn::Detail;
use serde::{Deserialize, Serialize};

use super::convex::{self, Value};
use super::design::{Design, add, blocks, intercept, mirror, shape, sum_chunks};
use super::{finite, scores};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::minimize::{End, MinimizeLimits, minimize};
use crate::model::{Attribute, Field, LinearScores, Link, Model, Role};
use crate::params;
use crate::run::Run;
use crate::sums::dot;
use crate::tensor::Tensor;

/// A generalized linear model.
#[derive(Serialize, Deserialize)]
pub struct Glm {
    pub coef: Tensor,
    #[serde(with = "crate::tensor::scalar")]
    pub intercept: f64,
    /// Whether the prediction is the exponential of the linear score, else the score.
    pub is_log: bool,
    pub n_iter: u64,
    /// The objective after each iteration.
    pub losses: Tensor,
    pub notes: Vec<String>,
}

/// Features up to which Newton's method is used.
const NEWTON: usize = 1024;

/// Half the deviance of Tweedie by its power, without terms of the target alone.
#[derive(Clone, Copy)]
struct Deviance {
    power: f64,
    is_log: bool,
}

/// Trains `PoissonRegressor`.
///
/// # Errors
/// As [`tweedie`].
pub fn poisson(params: &params::PoissonRegressor, data: &Data, run: &Run<'_>) -> Result<Glm, Error> {
    let deviance = Deviance { power: 1.0, is_log: true };
    fit(deviance, params.alpha, params.fit_intercept, (params.max_iter, params.tol), data, run)
}

/// Trains `GammaRegressor`.
///
/// # Errors
/// As [`tweedie`].
pub fn gamma(params: &params::GammaRegressor, data: &Data, run: &Run<'_>) -> Result<Glm, Error> {
    let deviance = Deviance { power: 2.0, is_log: true };
    fit(deviance, params.alpha, params.fit_intercept, (params.max_iter, params.tol), data, run)
}

/// Trains `TweedieRegressor`.
///
/// # Errors
/// If the target is outside of the domain of the deviance, or the weights are all 0. If the coefficients overflow, and
/// if the user stops the work.
pub fn tweedie(params: &params::TweedieRegressor, data: &Data, run: &Run<'_>) -> Result<Glm, Error> {
    let power = finite("power", params.power)?;
    if power > 0.0 && power < 1.0 {
        let message = format!("`power` is {power}: no distribution has a power between 0 and 1");
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    let is_log = match params.link.as_str() {
        "log" => true,
        "identity" => false,
        _ => power > 0.0,
    };
    let deviance = Deviance { power, is_log };
    fit(deviance, params.alpha, params.fit_intercept, (params.max_iter, params.tol), data, run)
}

impl Deviance {
    /// The loss at a score, and its first and second derivative. A score outside of the domain has an infinite loss.
    fn at(self, y: f64, z: f64) -> (f64, f64, f64) {
        let p = self.power;
        if !self.is_log {
            if p == 0.0 {
                return (0.5 * (z - y) * (z - y), z - y, 1.0);
            }
            if z <= 0.0 {
                return (f64::INFINITY, f64::NAN, f64::NAN);
            }
            let value = match p {
                1.0 => z - y * z.ln(),
                2.0 => z.ln() + y / z,
                _ => z.powf(2.0 - p) / (2.0 - p) - y * z.powf(1.0 - p) / (1.0 - p),
            };
            let slope = z.powf(-p);
            return (value, slope * (z - y), slope / z * ((1.0 - p) * z + p * y));
        }
        match p {
            0.0 => {
                let m = z.exp();
                (0.5 * (m - y) * (m - y), m * (m - y), m * (2.0 * m - y))
            }
            1.0 => {
                let m = z.exp();
                (m - y * z, m - y, m)
            }
            2.0 => {
                let rest = y * (-z).exp();
                (rest + z, 1.0 - rest, rest)
            }
            _ => {
                let (a, b) = (((2.0 - p) * z).exp(), y * ((1.0 - p) * z).exp());
                (a / (2.0 - p) - b / (1.0 - p), a - b, (2.0 - p) * a - (1.0 - p) * b)
            }
        }
    }

    /// The terms that depend on the target alone, so that a perfect fit has the loss 0.
    fn constant(self, y: f64) -> f64 {
        let p = self.power;
        match p {
            1.0 if y == 0.0 => 0.0,
            1.0 => y * y.ln() - y,
            2.0 => -y.ln() - 1.0,
            0.0 => 0.0,
            _ => y.max(0.0).powf(2.0 - p) / ((1.0 - p) * (2.0 - p)),
        }
    }

    /// Checks the target.
    fn check(self, data: &Data) -> Result<(), Error> {
        let least = match self.power {
            p if p >= 2.0 => Some("above 0"),
            p if p >= 1.0 => Some("of at least 0"),
            _ => None,
        };
        let Some(least) = least else { return Ok(()) };
        let is_outside = |y: &&f64| **y < 0.0 || (self.power >= 2.0 && **y == 0.0);
        match data.y.iter().find(is_outside) {
            Some(y) => {
                let (power, target) = (self.power, &data.target);
                let message =
                    format!("the target `{target}` has the value {y}, and the power {power} takes values {least}");
                Err(Error::new(ErrorKind::Target, message))
            }
            None => Ok(()),
        }
    }
}

/// Rows and a penalty. Parameters are in units of centred and scaled columns, the intercept last if there is one.
struct Problem<'a> {
    design: Design<'a>,
    y: &'a [f64],
    deviance: Deviance,
    alpha: f64,
    centre: bool,
}

fn fit(
    deviance: Deviance,
    alpha: f64,
    centre: bool,
    (max_iter, tol): (usize, f64),
    data: &Data,
    run: &Run<'_>,
) -> Result<Glm, Error> {
    deviance.check(data)?;
    let (alpha, tol) = (finite("alpha", alpha)?, finite("tol", tol)?);
    let columns = data.features.iter().map(|c| c.values.as_slice()).collect();
    let design = Design::new(columns, data.weight.as_deref(), None, centre)?;
    let weighted = |value: &dyn Fn(f64) -> f64| {
        (0..data.rows).map(|i| design.weight_at(i) * value(data.y[i])).sum::<f64>() / design.total
    };
    let mean = weighted(&|y| y);
    if deviance.is_log && centre && mean <= 0.0 {
        let message =
            format!("the mean of the target `{}` is {mean}: a logarithmic link needs one above 0", data.target);
        return Err(Error::new(ErrorKind::Target, message));
    }
    let constant = weighted(&|y| deviance.constant(y));
    let mut start = vec![0.0; data.width()];
    if centre {
        start.push(if deviance.is_log { mean.ln() } else { mean });
    }
    let problem = Problem { design, y: &data.y, deviance, alpha, centre };
    let mut losses = Vec::new();
    let mut show = |loss: f64| {
        losses.push(loss + constant);
        let done = losses.len();
        run.stage(format!("iteration {done}, loss {:.6}", loss + constant));
        (run.steps)(done as u64, max_iter as u64);
        (run.detail)(Detail::Curves(vec![("loss".to_string(), curve(&losses))]));
        run.check(|| format!("{done} of {max_iter} iterations"))
    };
    let (inner, gradient, converged) = if data.width() <= NEWTON {
        let at = |params: &[f64]| problem.at(params, true, run);
        let shown = |values: &[f64]| show(values.last().copied().unwrap_or(f64::NAN));
        let end = convex::newton(start, (max_iter, tol), at, |g| problem.slope(g), shown)?;
        (end.x, end.gradient, end.converged)
    } else {
        let at = |params: &[f64]| problem.at(params, false, run).map(|at| (at.value, at.gradient));
        let limits = MinimizeLimits { max_iter, max_fun: usize::MAX, gradient: tol, decrease: 64.0 * f64::EPSILON };
        let end = minimize(start, &limits, at, |_, loss| show(loss))?;
        (end.x, problem.slope(&end.gradient), matches!(end.end, End::Converged | End::Stuck))
    };
    let width = data.width();
    let coef: Vec<f64> = inner.iter().zip(&problem.design.scale).map(|(w, s)| w * s).collect();
    let shift: Vec<f64> = problem.design.mean.iter().copied().chain(inner.get(width).copied()).collect();
    let intercept = if centre { intercept(&shift, &coef) } else { 0.0 };
    if !(intercept.is_finite() && coef.iter().all(|w| w.is_finite()) && gradient.is_finite()) {
        let error = Error::new(ErrorKind::Overflow, "the loss is not a finite number: a step left its domain");
        return Err(error
            .help("scale the features, for example with `StandardScaler`")
            .help("or take the link \"log\""));
    }
    let done = losses.len();
    let notes = match converged {
        true => Vec::new(),
        false => vec![format!(
            "stopped after {done} of {max_iter} iterations; the gradient is {gradient:.0e}, `tol` asks for {tol:e}; \
             raise `max_iter` or scale the features"
        )],
    };
    Ok(Glm {
        coef: Tensor::vector(coef),
        intercept,
        is_log: deviance.is_log,
        n_iter: done as u64,
        losses: Tensor::vector(losses),
        notes,
    })
}

fn curve(losses: &[f64]) -> Vec<(f64, f64)> {
    losses.iter().enumerate().map(|(i, loss)| ((i + 1) as f64, *loss)).collect()
}

impl Problem<'_> {
    fn width(&self) -> usize {
        self.design.columns.len()
    }

    /// The largest component of the gradient, in units of the data.
    fn slope(&self, gradient: &[f64]) -> f64 {
        let own = if self.centre { gradient[self.width()] } else { 0.0 };
        let Design { mean, scale, .. } = &self.design;
        let slopes = gradient.iter().zip(mean).zip(scale).map(|((g, m), s)| (g / s + m * own).abs());
        slopes.chain([own.abs()]).fold(0.0, |a, b| if b > a || b.is_nan() { b } else { a })
    }

    /// The objective and its derivatives. Without `second` there are none of second order.
    fn at(&self, params: &[f64], second: bool, run: &Run<'_>) -> Result<Value, Error> {
        let size = params.len();
        let side = if second { size } else { 0 };
        let work = |rows: Range<usize>| {
            let mut sum = Value { value: 0.0, gradient: vec![0.0; size], hessian: Matrix::zeros(side, side) };
            let mut memory = (Matrix::zeros(0, 0), Matrix::zeros(0, 0));
            blocks(rows).for_each(|block| self.block(block, params, &mut memory, &mut sum));
            sum
        };
        let mut sum = sum_chunks(run, self.design.rows, side * side + size, work, |sum, other| {
            sum.value += other.value;
            add(&mut sum.gradient, &other.gradient);
            add(&mut sum.hessian.data, &other.hessian.data);
        })?;
        mirror(&mut sum.hessian);
        for (j, scale) in self.design.scale.iter().enumerate() {
            let l2 = self.alpha * scale * scale;
            sum.value += 0.5 * l2 * params[j] * params[j];
            sum.gradient[j] += l2 * params[j];
            if second {
                sum.hessian.set(j, j, sum.hessian.at(j, j) + l2);
            }
        }
        Ok(sum)
    }

    /// Adds a block of rows.
    fn block(&self, rows: Range<usize>, params: &[f64], (x, scaled): &mut (Matrix, Matrix), sum: &mut Value) {
        let len = rows.len();
        shape(x, len, params.len());
        self.design.fill(rows.clone(), &mut x.data);
        if self.centre {
            x.column_mut(self.width()).fill(1.0);
        }
        let mut z = vec![0.0; len];
        for (j, w) in params.iter().enumerate() {
            z.iter_mut().zip(x.column(j)).for_each(|(z, x)| *z += x * w);
        }
        let mut roots = vec![0.0; len];
        for (i, row) in rows.enumerate() {
            let share = self.design.weight_at(row) / self.design.total;
            if share == 0.0 {
                z[i] = 0.0;
                continue;
            }
            let (value, slope, curvature) = self.deviance.at(self.y[row], z[i]);
            sum.value += share * value;
            z[i] = share * slope;
            // A negative curvature counts as none: the step then goes down, too.
            roots[i] = (share * curvature).max(0.0).sqrt();
        }
        for j in 0..params.len() {
            sum.gradient[j] += dot(x.column(j), &z);
        }
        if !sum.hessian.data.is_empty() {
            shape(scaled, len, params.len());
            for (out, x) in scaled.data.chunks_exact_mut(len).zip(x.data.chunks_exact(len)) {
                out.iter_mut().zip(x).zip(&roots).for_each(|((o, x), r)| *o = x * r);
            }
            dense::add_gram(&mut sum.hessian, scaled);
        }
    }
}

impl Model for Glm {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        vec![Role::Prediction]
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let mut out = scores(data, &self.coef.data, self.intercept);
        if self.is_log {
            out.iter_mut().for_each(|z| *z = z.exp());
        }
        Ok(wanted.iter().map(|_| out.clone()).collect())
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        match name {
            "coef" => Some(Attribute::by_feature(features, "coef", &self.coef.data)),
            "intercept" => Some(Attribute::Float(self.intercept)),
            "n_iter" => Some(Attribute::Int(self.n_iter as i64)),
            _ => None,
        }
    }

    fn bars(&self) -> Option<(&'static str, Vec<f64>)> {
        Some(("coefficient", self.coef.data.clone()))
    }

    fn linear(&self) -> Option<LinearScores> {
        let (coef, intercept) = (vec![self.coef.data.clone()], vec![self.intercept]);
        let shift = vec![0.0; self.coef.data.len()];
        (!self.is_log).then_some(LinearScores { coef, intercept, shift, link: Link::Identity })
    }

    fn curves(&self) -> Vec<(String, Vec<(f64, f64)>)> {
        vec![("loss".to_string(), curve(&self.losses.data))]
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        match self.coef.data.len() == features && classes == 0 {
            true => Ok(()),
            false => {
                let message = format!("{} coefficients for {features} features", self.coef.data.len());
                Err(Error::new(ErrorKind::ModelFile, message))
            }
        }
    }

    fn bytes(&self) -> u64 {
        self.coef.bytes() + self.losses.bytes()
    }
}
