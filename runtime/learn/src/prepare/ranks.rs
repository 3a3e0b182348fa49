//! Maps features to a uniform or normal distribution by their quantiles (scikit-learn's `QuantileTransformer`).

use serde::{Deserialize, Serialize};

use super::{each, lying, numbers, outputs};
use crate::data::{Column, Data};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::params;
use crate::quantile::{self, Method};
use crate::random::Mt19937;
use crate::run::Run;
use crate::tensor::Tensor;

/// `QuantileTransformer`. Missing values are skipped in training and stay missing.
#[derive(Serialize, Deserialize)]
pub struct QuantileMap {
    /// The quantiles of each feature, in ascending order. NaN if all values are missing.
    quantiles: Vec<Tensor>,
    /// Normal if true, uniform otherwise.
    is_normal: bool,
    notes: Vec<String>,
}

/// Values within this distance from the ends get the ends of the distribution.
const BOUNDS: f64 = 1e-7;

/// Finds the quantiles. More rows than `subsample` are sampled without replacement.
pub fn fit(params: &params::QuantileTransformer, data: &Data, run: &Run<'_>) -> Result<QuantileMap, Error> {
    let (wanted, most) = (params.n_quantiles, params.subsample);
    if wanted > most {
        let message =
            format!("`n_quantiles` is {wanted}, but `subsample` is {most}: at most one quantile for each row");
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    let mut notes = Vec::new();
    if wanted > data.rows {
        notes.push(format!("{} quantiles instead of {wanted}: one for each row", data.rows));
    }
    let count = wanted.min(data.rows);
    // The sample is that of scikit-learn's `resample`.
    let sample = (data.rows > most).then(|| {
        let mut rows = Mt19937::new(params::seed(params.random_state)).permutation(data.rows);
        rows.truncate(most);
        rows
    });
    let percents: Vec<f64> = (0..count).map(|k| reference(k, count) * 100.0).collect();
    let quantiles = each(data, run, |_, column| {
        let mut values: Vec<f64> = match &sample {
            Some(rows) => rows.iter().map(|row| column.values[*row]).collect(),
            None => column.values.clone(),
        };
        values.retain(|v| !v.is_nan());
        Ok(Tensor::vector(quantile::percentiles(&mut values, &percents, Method::Linear)))
    })?;
    Ok(QuantileMap { quantiles, is_normal: params.output_distribution == "normal", notes })
}

/// `numpy.linspace(0, 1, count)[k]`.
fn reference(k: usize, count: usize) -> f64 {
    match count {
        0 | 1 => 0.0,
        _ if k + 1 == count => 1.0,
        _ => k as f64 * (1.0 / (count - 1) as f64),
    }
}

/// `numpy.interp` of one value: `x` ascends over the positions.
fn interpolate(value: f64, count: usize, x: impl Fn(usize) -> f64, y: impl Fn(usize) -> f64) -> f64 {
    if value > x(count - 1) {
        return y(count - 1);
    }
    // The number of positions that are not above the value.
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = usize::midpoint(low, high);
        if x(middle) <= value { low = middle + 1 } else { high = middle }
    }
    match low {
        0 => y(0),
        k if k == count || x(k - 1) == value => y(k - 1),
        k => (y(k) - y(k - 1)) / (x(k) - x(k - 1)) * (value - x(k - 1)) + y(k - 1),
    }
}

impl QuantileMap {
    fn value(&self, value: f64, quantiles: &[f64]) -> f64 {
        let count = quantiles.len();
        let (first, last) = (quantiles[0], quantiles[count - 1]);
        if value.is_nan() || first.is_nan() {
            return f64::NAN;
        }
        let (is_first, is_last) = match self.is_normal {
            true => (value - BOUNDS < first, value + BOUNDS > last),
            false => (value == first, value == last),
        };
        let share = if is_first {
            0.0
        } else if is_last {
            1.0
        } else {
            // The middle of the two ends of equal quantiles.
            let up = interpolate(value, count, |k| quantiles[k], |k| reference(k, count));
            let down = |k: usize| count - 1 - k;
            let back = interpolate(-value, count, |k| -quantiles[down(k)], |k| -reference(down(k), count));
            0.5 * (up - back)
        };
        if !self.is_normal {
            return share;
        }
        let end = BOUNDS - f64::EPSILON;
        quantile::normal(share).clamp(quantile::normal(end), quantile::normal(1.0 - end))
    }
}

impl QuantileMap {
    /// The value at a place of the distribution.
    fn back(&self, place: f64, quantiles: &[f64]) -> f64 {
        let count = quantiles.len();
        if place.is_nan() || quantiles[0].is_nan() {
            return f64::NAN;
        }
        let (share, near) = match self.is_normal {
            true => (0.5 * libm::erfc(-place * std::f64::consts::FRAC_1_SQRT_2), BOUNDS),
            false => (place, 0.0),
        };
        if share <= near {
            return quantiles[0];
        }
        if share >= 1.0 - near {
            return quantiles[count - 1];
        }
        interpolate(share, count, |k| reference(k, count), |k| quantiles[k])
    }
}

impl Model for QuantileMap {
    fn outputs(&self, features: &[Field]) -> Vec<Role> {
        features.iter().map(|f| Role::Feature(f.name.clone(), f.kind.clone())).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        Ok(outputs(wanted, |j| {
            let quantiles = &self.quantiles[j].data;
            data.features[j].values.iter().map(|v| self.value(*v, quantiles)).collect()
        }))
    }

    fn inverse(&self, data: &Data, features: &[Field]) -> Result<Option<Vec<Column>>, Error> {
        Ok(Some(numbers(features, |j| {
            let quantiles = &self.quantiles[j].data;
            data.features[j].values.iter().map(|v| self.back(*v, quantiles)).collect()
        })))
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        let lists: Vec<Vec<f64>> = self.quantiles.iter().map(|q| q.data.clone()).collect();
        let values = |all: Vec<&f64>| Values::Floats(all.into_iter().copied().collect());
        (name == "quantiles").then(|| super::long(features, &lists, "quantile", values))
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        match self.quantiles.len() == features && self.quantiles.iter().all(|q| !q.data.is_empty()) {
            true => Ok(()),
            false => Err(lying(format!("the quantiles do not fit {features} features"))),
        }
    }

    fn bytes(&self) -> u64 {
        self.quantiles.iter().map(Tensor::bytes).sum()
    }
}
