//! Mixtures of normal distributions by variational inference (Bishop 2006, section 10.2; Blei and Jordan 2006), as in
//! `sklearn/mixture/_bayesian_mixture.py`.

use onrush_wire::learn::Param;
use serde::{Deserialize, Serialize};

use super::covariance::scatter;
use super::gaussian::{Components, Fitting, Form, GaussianMixture, GivenParameters};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role};
use crate::params;
use crate::random::Mt19937;
use crate::run::Run;
use crate::stored::StoredAttributes;
use crate::tensor::Tensor;

/// A trained mixture with the posterior of its parameters.
#[derive(Serialize, Deserialize)]
pub struct BayesianMixture {
    pub mixture: GaussianMixture,
    pub attributes: StoredAttributes,
}

/// The prior.
struct Prior {
    is_process: bool,
    concentration: f64,
    mean_precision: f64,
    mean: Vec<f64>,
    freedom: f64,
    /// By [`Form`]: features x features, features, or one value.
    covariance: Vec<f64>,
}

/// The posterior, for each component.
struct Posterior {
    /// The parameters of the weights. The second list is that of a Dirichlet process.
    concentration: (Vec<f64>, Vec<f64>),
    mean_precision: Vec<f64>,
    freedom: Vec<f64>,
    components: Components,
}

/// Trains `BayesianGaussianMixture`.
///
/// # Errors
/// If there are fewer rows than components or a prior does not fit. If a covariance is not positive definite, and if
/// the user stops the work.
pub fn fit(params: &params::BayesianGaussianMixture, data: &Data, run: &Run<'_>) -> Result<BayesianMixture, Error> {
    let count = params.n_components;
    if data.rows < count.max(2) {
        let message =
            format!("`n_components` is {count}, and there are {} rows: at least as many rows, and 2", data.rows);
        return Err(Error::new(ErrorKind::Parameter, message).help("set `n_components` to a smaller number"));
    }
    let form = Form::of(&params.covariance_type);
    let mean = data.means();
    let total = (form == Form::Tied).then(|| (scatter(data, &mean), mean.clone()));
    let prior = Prior::of(params, data, form, mean)?;
    let fitting = Fitting { data, form, count, reg_covar: params.reg_covar, total };
    let seed = params::seed(params.random_state);
    let mut random = Mt19937::new(seed);
    let mut best: Option<(Posterior, Vec<f64>, bool)> = None;
    for number in 0..params.n_init {
        let seed = if number == 0 { seed } else { random.next_u32() };
        let first = fitting.start(&params.init_params, seed, &GivenParameters::default(), run)?;
        let sizes = first.weights.data.iter().map(|w| w * data.rows as f64 + 10.0 * f64::EPSILON).collect();
        let mut posterior = prior.posterior(&fitting, sizes, first)?;
        let (mut bounds, mut converged): (Vec<f64>, bool) = (Vec::new(), false);
        while bounds.len() < params.max_iter && !converged {
            run.check(|| format!("{} of at most {} iterations", bounds.len(), params.max_iter))?;
            let moments = fitting.pass(&posterior.components, true);
            let sizes = moments.weights.iter().map(|w| w + 10.0 * f64::EPSILON).collect();
            let entropy = moments.entropy;
            let found = fitting.maximised(&moments, &posterior.components.means.data)?;
            posterior = prior.posterior(&fitting, sizes, found)?;
            let bound = posterior.lower_bound(entropy, &prior);
            run.stage(format!("iteration {}, lower bound {bound:.6}", bounds.len() + 1));
            converged = bounds.last().is_some_and(|before| (bound - before).abs() < params.tol);
            bounds.push(bound);
        }
        (run.steps)(number as u64 + 1, params.n_init as u64);
        if best.as_ref().is_none_or(|(_, best, _)| bounds.last() > best.last()) {
            best = Some((posterior, bounds, converged));
        }
    }
    let Some((posterior, bounds, converged)) = best else {
        return Err(Error::new(ErrorKind::Parameter, "`n_init` is 0: at least 1"));
    };
    Ok(posterior.finished(bounds, converged, &prior))
}

impl Prior {
    fn of(params: &params::BayesianGaussianMixture, data: &Data, form: Form, mean: Vec<f64>) -> Result<Self, Error> {
        let width = data.width();
        let wrong = |message: String| Err(Error::new(ErrorKind::Parameter, message));
        let freedom = params.degrees_of_freedom_prior.unwrap_or(width as f64);
        if freedom <= width as f64 - 1.0 {
            return wrong(format!("`degrees_of_freedom_prior` is {freedom}: above {}", width - 1));
        }
        let scatter = scatter(data, &mean);
        let divisor = (data.rows as f64 - 1.0).max(1.0);
        let variances = || (0..width).map(|j| scatter.at(j, j) / divisor).collect::<Vec<f64>>();
        let size = match form {
            Form::Full | Form::Tied => width * width,
            Form::Diag => width,
            Form::Spherical => 1,
        };
        let covariance = match (&params.covariance_prior, params::floats(&params.covariance_prior)) {
            (Param::None, _) => match form {
                Form::Full | Form::Tied => scatter.data.iter().map(|v| v / divisor).collect(),
                Form::Diag => variances(),
                Form::Spherical => vec![variances().iter().sum::<f64>() / width as f64],
            },
            (_, Some(values)) if values.len() == size && values.iter().all(|v| v.is_finite()) => values,
            (other, _) => {
                return wrong(format!("`covariance_prior` is {other}: expected {size} numbers"));
            }
        };
        let mean = match &params.mean_prior {
            Some(given) if given.len() != width || given.iter().any(|v| !v.is_finite()) => {
                return wrong(format!(
                    "`mean_prior` has {} numbers: expected {width}, one for each feature",
                    given.len()
                ));
            }
            Some(given) => given.to_vec(),
            None => mean,
        };
        Ok(Prior {
            is_process: params.weight_concentration_prior_type == "dirichlet_process",
            concentration: params.weight_concentration_prior.unwrap_or(1.0 / params.n_components as f64),
            mean_precision: params.mean_precision_prior.unwrap_or(1.0),
            mean,
            freedom,
            covariance,
        })
    }

    /// The posterior for sizes, means and covariances of the components.
    fn posterior(&self, fitting: &Fitting<'_>, sizes: Vec<f64>, found: Components) -> Result<Posterior, Error> {
        let (count, width) = (fitting.count, fitting.data.width());
        let precision: Vec<f64> = sizes.iter().map(|n| self.mean_precision + n).collect();
        let total: f64 = sizes.iter().sum();
        let freedom: Vec<f64> = match fitting.form {
            Form::Tied => vec![self.freedom + total / count as f64; count],
            _ => sizes.iter().map(|n| self.freedom + n).collect(),
        };
        let xk = |k: usize, j: usize| found.means.data[k * width + j];
        let off = |k: usize, j: usize| xk(k, j) - self.mean[j];
        let sk = &found.covariances.data;
        let covariances: Vec<f64> = match fitting.form {
            Form::Full => {
                let value = |at: usize| {
                    let (k, i, j) = (at / (width * width), at / width % width, at % width);
                    let between = sizes[k] * self.mean_precision / precision[k] * off(k, i) * off(k, j);
                    (self.covariance[i * width + j] + sizes[k] * sk[at] + between) / freedom[k]
                };
                (0..count * width * width).map(value).collect()
            }
            Form::Tied => {
                let value = |at: usize| {
                    let (i, j) = (at / width, at % width);
                    let between: f64 = (0..count).map(|k| sizes[k] / precision[k] * off(k, i) * off(k, j)).sum();
                    let own = self.covariance[at] + sk[at] * total / count as f64;
                    (own + self.mean_precision / count as f64 * between) / freedom[0]
                };
                (0..width * width).map(value).collect()
            }
            Form::Diag => {
                let value = |at: usize| {
                    let (k, j) = (at / width, at % width);
                    let between = self.mean_precision / precision[k] * off(k, j) * off(k, j);
                    (self.covariance[j] + sizes[k] * (sk[at] + between)) / freedom[k]
                };
                (0..count * width).map(value).collect()
            }
            Form::Spherical => {
                let value = |k: usize| {
                    let square = (0..width).map(|j| off(k, j) * off(k, j)).sum::<f64>() / width as f64;
                    let between = self.mean_precision / precision[k] * square;
                    (self.covariance[0] + sizes[k] * (sk[k] + between)) / freedom[k]
                };
                (0..count).map(value).collect()
            }
        };
        let mean = |at: usize| {
            let k = at / width;
            (self.mean_precision * self.mean[at % width] + sizes[k] * found.means.data[at]) / precision[k]
        };
        let means = Tensor::new(vec![count, width], (0..count * width).map(mean).collect());
        let later = |k: usize| sizes[k + 1..].iter().sum::<f64>();
        let concentration = match self.is_process {
            true => (
                sizes.iter().map(|n| 1.0 + n).collect(),
                (0..count).map(|k| self.concentration + later(k)).collect::<Vec<f64>>(),
            ),
            false => (sizes.iter().map(|n| self.concentration + n).collect(), Vec::new()),
        };
        let logs = log_weights(&concentration);
        let offset = |k: usize| {
            let spread: f64 = (0..width).map(|j| digamma(0.5 * (freedom[k] - j as f64))).sum();
            let lambda = width as f64 * std::f64::consts::LN_2 + spread;
            logs[k] - 0.5 * width as f64 * freedom[k].ln() + 0.5 * (lambda - width as f64 / precision[k])
        };
        let offsets = Some(Tensor::vector((0..count).map(offset).collect()));
        let shape = fitting.form.shape(count, width);
        let factors = Tensor::new(shape.clone(), fitting.factors(&covariances)?);
        let covariances = Tensor::new(shape, covariances);
        let components =
            Components { form: fitting.form, weights: found.weights, means, covariances, factors, offsets };
        Ok(Posterior { concentration, mean_precision: precision, freedom, components })
    }
}

/// The expected logarithms of the weights.
fn log_weights((a, b): &(Vec<f64>, Vec<f64>)) -> Vec<f64> {
    if b.is_empty() {
        let total = digamma(a.iter().sum());
        return a.iter().map(|a| digamma(*a) - total).collect();
    }
    let mut before = 0.0;
    let of = |(a, b): (&f64, &f64)| {
        let total = digamma(a + b);
        let own = digamma(*a) - total + before;
        before += digamma(*b) - total;
        own
    };
    a.iter().zip(b).map(of).collect()
}

/// The derivative of the logarithm of the gamma function of a number above 0, by recurrence and an asymptotic series
/// (Abramowitz and Stegun 6.3.18).
fn digamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 12.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32_760.0, 1.0 / 12.0];
    let rest = series.iter().rev().fold(0.0, |sum, factor| (sum + factor) * square);
    sum + x.ln() - 0.5 / x - rest
}

impl Posterior {
    /// The lower bound of the evidence, without constant terms.
    fn lower_bound(&self, entropy: f64, prior: &Prior) -> f64 {
        let count = self.freedom.len();
        let width = prior.mean.len();
        let d = width as f64;
        let Components { form, factors, .. } = &self.components;
        let determinant = |k: usize| -> f64 {
            match form {
                Form::Full => factors.row(k).iter().step_by(width + 1).map(|v| v.ln()).sum(),
                Form::Tied => factors.data.iter().step_by(width + 1).map(|v| v.ln()).sum(),
                Form::Diag => factors.row(k).iter().map(|v| v.ln()).sum(),
                Form::Spherical => d * factors.data[k].ln(),
            }
        };
        let wishart = |k: usize| {
            let freedom = self.freedom[k];
            let log = determinant(k) - 0.5 * d * freedom.ln();
            let gammas: f64 = (0..width).map(|j| libm::lgamma(0.5 * (freedom - j as f64))).sum();
            -(freedom * log + freedom * d * 0.5 * std::f64::consts::LN_2 + gammas)
        };
        let wisharts: f64 = (0..count).map(wishart).sum();
        let (a, b) = &self.concentration;
        let weights = match prior.is_process {
            true => {
                let beta = |(a, b): (&f64, &f64)| libm::lgamma(*a) + libm::lgamma(*b) - libm::lgamma(a + b);
                -a.iter().zip(b).map(beta).sum::<f64>()
            }
            false => libm::lgamma(a.iter().sum()) - a.iter().map(|a| libm::lgamma(*a)).sum::<f64>(),
        };
        let precisions: f64 = self.mean_precision.iter().map(|v| v.ln()).sum();
        -entropy - wisharts - weights - 0.5 * d * precisions
    }

    fn finished(mut self, bounds: Vec<f64>, converged: bool, prior: &Prior) -> BayesianMixture {
        let (a, b) = &self.concentration;
        let mut weights: Vec<f64> = match prior.is_process {
            true => {
                let mut rest = 1.0;
                let of = |(a, b): (&f64, &f64)| {
                    let own = a / (a + b) * rest;
                    rest *= b / (a + b);
                    own
                };
                a.iter().zip(b).map(of).collect()
            }
            false => a.clone(),
        };
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= total);
        self.components.weights = Tensor::vector(weights);
        let (names, values) = match prior.is_process {
            true => (vec!["a".to_string(), "b".to_string()], a.iter().zip(b).flat_map(|(a, b)| [*a, *b]).collect()),
            false => (vec!["concentration".to_string()], a.clone()),
        };
        let attributes = StoredAttributes::default()
            .numbered("mean_precision", "component", "mean_precision", self.mean_precision)
            .numbered("degrees_of_freedom", "component", "degrees_of_freedom", self.freedom)
            .columns("weight_concentration", names, values);
        let (n_iter, bound) = (bounds.len(), bounds.last().copied().unwrap_or(f64::NAN));
        let notes = vec![match converged {
            true => format!("converged after {n_iter} iterations with the lower bound {bound:.6}"),
            false => {
                format!("stopped after `max_iter` = {n_iter} iterations; the lower bound changed by more than `tol`")
            }
        }];
        let mixture = GaussianMixture {
            components: self.components,
            lower_bound: bound,
            n_iter: n_iter as u64,
            converged,
            aic: 0.0,
            bic: 0.0,
            lower_bounds: Tensor::vector(bounds),
            notes,
        };
        BayesianMixture { mixture, attributes }
    }
}

impl Model for BayesianMixture {
    fn outputs(&self, features: &[Field]) -> Vec<Role> {
        self.mixture.outputs(features)
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        self.mixture.apply(data, wanted)
    }

    fn attribute(&self, name: &str, features: &[Field], classes: &[String]) -> Option<Attribute> {
        match name {
            "aic" | "bic" => None,
            _ => self.attributes.get(name, features).or_else(|| self.mixture.attribute(name, features, classes)),
        }
    }

    fn curves(&self) -> Vec<(String, Vec<(f64, f64)>)> {
        let points = self.mixture.lower_bounds.data.iter().enumerate().map(|(i, v)| (i as f64 + 1.0, *v));
        vec![("lower bound".to_string(), points.collect())]
    }

    fn notes(&self) -> Vec<String> {
        self.mixture.notes()
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        self.mixture.check(features, classes)?;
        self.attributes.check(features)
    }

    fn bytes(&self) -> u64 {
        self.mixture.bytes() + self.attributes.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digamma_is_that_of_scipy() {
        // scipy.special.digamma.
        let known = [
            (0.1, -10.423_754_940_411_076),
            (1.0, -0.577_215_664_901_532_9),
            (3.7, 1.167_153_539_361_511_3),
            (150.5, 5.010_637_145_933_704),
        ];
        for (x, wanted) in known {
            assert!((digamma(x) - wanted).abs() <= 1e-13 * f64::abs(wanted), "{x}: {}, {wanted}", digamma(x));
        }
    }
}
