//! Kernel density estimation (Parzen 1962), as in `sklearn/neighbors/_kde.py`. All pairs of rows are compared: the
//! result is exact.

use std::f64::consts::PI;

use onrush_wire::learn::Param;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::data::{Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role};
use crate::neighbors::search::{Index, Metric};
use crate::params;
use crate::tensor::Tensor;

/// The form of the density around a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum DensityForm {
    Gaussian,
    Tophat,
    Epanechnikov,
    Exponential,
    Linear,
    Cosine,
}

/// The rows of a training, each with a density around it.
#[derive(Serialize, Deserialize)]
pub struct KernelDensity {
    pub form: DensityForm,
    pub metric: Metric,
    #[serde(with = "crate::tensor::scalar")]
    pub bandwidth: f64,
    /// rows x features.
    pub points: Tensor,
    /// The logarithm of the share of each row.
    pub log_weights: Option<Tensor>,
}

/// Trains `KernelDensity`.
///
/// # Errors
/// If `bandwidth` is neither a rule nor a number above 0, or the weights sum to 0.
pub fn fit(params: &params::KernelDensity, data: &Data) -> Result<KernelDensity, Error> {
    let (n, d) = (data.rows as f64, data.width() as f64);
    let bandwidth = match (&params.bandwidth, params.bandwidth.as_f64()) {
        (Param::Str(word), _) if word == "scott" => n.powf(-1.0 / (d + 4.0)),
        (Param::Str(word), _) if word == "silverman" => (n * (d + 2.0) / 4.0).powf(-1.0 / (d + 4.0)),
        (_, Some(width)) if width > 0.0 && width.is_finite() => width,
        (other, _) => {
            let message = format!("`bandwidth` is {other}: \"scott\", \"silverman\" or a number above 0");
            return Err(Error::new(ErrorKind::Parameter, message));
        }
    };
    let form = match params.kernel.as_str() {
        "tophat" => DensityForm::Tophat,
        "epanechnikov" => DensityForm::Epanechnikov,
        "exponential" => DensityForm::Exponential,
        "linear" => DensityForm::Linear,
        "cosine" => DensityForm::Cosine,
        _ => DensityForm::Gaussian,
    };
    let log_weights = match &data.weight {
        Some(weight) => {
            let total: f64 = weight.iter().sum();
            if total <= 0.0 {
                return Err(Error::new(ErrorKind::Weight, "all sample weights are 0: at least one must be above 0"));
            }
            Some(Tensor::vector(weight.iter().map(|w| (w / total).ln()).collect()))
        }
        None => None,
    };
    let metric = Metric::of(&params.metric, 2.0);
    let points = Tensor::new(vec![data.rows, data.width()], data.row_major());
    Ok(KernelDensity { form, metric, bandwidth, points, log_weights })
}

/// The logarithm of the volume of the ball of radius 1.
fn log_volume(dimensions: f64) -> f64 {
    0.5 * dimensions * PI.ln() - libm::lgamma(0.5 * dimensions + 1.0)
}

/// The logarithm of the surface of the ball of radius 1 in one dimension more.
fn log_surface(dimensions: f64) -> f64 {
    (2.0 * PI).ln() + log_volume(dimensions - 1.0)
}

/// The logarithm of the integral of `r^power cos(pi r / 2)` from 0 to 1. scikit-learn's value is another one for odd
/// powers.
fn log_cosine(power: usize) -> f64 {
    /// Steps of the recurrence, which takes away the error of its start.
    const STEPS: usize = 30;
    const A: f64 = PI / 2.0;
    // Integration by parts, from high powers down, where it is stable.
    let mut integral = 0.0;
    for step in (1..=STEPS).rev() {
        let m = (power + 2 * step) as f64;
        integral = (1.0 / A - integral) * A * A / (m * (m - 1.0));
    }
    integral.ln()
}

impl KernelDensity {
    /// The logarithm of the factor that makes the density of a row integrate to 1.
    fn log_norm(&self) -> f64 {
        let count = self.points.shape[1];
        let d = count as f64;
        let factor = match self.form {
            DensityForm::Gaussian => 0.5 * d * (2.0 * PI).ln(),
            DensityForm::Tophat => log_volume(d),
            DensityForm::Epanechnikov => log_volume(d) + (2.0 / (d + 2.0)).ln(),
            DensityForm::Exponential => log_surface(d - 1.0) + libm::lgamma(d),
            DensityForm::Linear => log_volume(d) - (d + 1.0).ln(),
            DensityForm::Cosine => log_cosine(count - 1) + log_surface(d - 1.0),
        };
        -factor - d * self.bandwidth.ln()
    }

    /// The logarithm of the kernel at a distance.
    fn log_kernel(&self, distance: f64) -> f64 {
        let x = distance / self.bandwidth;
        match self.form {
            DensityForm::Gaussian => -0.5 * x * x,
            DensityForm::Exponential => -x,
            _ if x >= 1.0 => f64::NEG_INFINITY,
            DensityForm::Tophat => 0.0,
            DensityForm::Epanechnikov => (1.0 - x * x).ln(),
            DensityForm::Linear => (1.0 - x).ln(),
            DensityForm::Cosine => (0.5 * PI * x).cos().ln(),
        }
    }
}

impl Model for KernelDensity {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        vec![Role::Feature("log_density".to_string(), Kind::Number)]
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let (count, width) = (self.points.shape[0], self.points.shape[1]);
        let index = Index::new(self.metric, &self.points.data, width);
        let queries = index.prepared(data.row_major());
        let points = index.points(0..count);
        let (norm, own) = (self.log_norm(), points.len() / count);
        let density = |query: &[f64]| {
            let distances = points.chunks_exact(own).map(|p| self.metric.finished(self.metric.reduced(query, p)));
            let logs: Vec<f64> = match &self.log_weights {
                Some(weights) => distances.zip(&weights.data).map(|(x, w)| self.log_kernel(x) + w).collect(),
                None => distances.map(|x| self.log_kernel(x)).collect(),
            };
            let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if largest == f64::NEG_INFINITY {
                return largest;
            }
            let sum: f64 = logs.iter().map(|v| (v - largest).exp()).sum();
            let share = if self.log_weights.is_some() { 0.0 } else { (count as f64).ln() };
            largest + sum.ln() + norm - share
        };
        let values: Vec<f64> = queries.par_chunks(own).map(density).collect();
        Ok(wanted.iter().map(|_| values.clone()).collect())
    }

    fn attribute(&self, name: &str, _: &[Field], _: &[String]) -> Option<Attribute> {
        (name == "bandwidth").then_some(Attribute::Float(self.bandwidth))
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let shape = &self.points.shape;
        let fits = features > 0 && shape.len() == 2 && shape[0] > 0 && shape[1] == features;
        let weights = self.log_weights.as_ref().is_none_or(|weights| weights.data.len() == shape[0]);
        match fits && weights {
            true => Ok(()),
            false => {
                Err(Error::new(ErrorKind::ModelFile, format!("rows of the shape {shape:?} for {features} features")))
            }
        }
    }

    fn bytes(&self) -> u64 {
        self.points.bytes()
    }
}
