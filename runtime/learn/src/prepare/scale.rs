//! Scalers by feature (scikit-learn's `preprocessing/_data.py`). Missing values are skipped in training and stay
//! missing.

use serde::{Deserialize, Serialize};

use super::{each, lying, numbers, outputs};
use crate::data::products::FeatureProducts;
use crate::data::sparse::Sparse;
use crate::data::{Column, Data};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role};
use crate::params;
use crate::quantile::{self, Method};
use crate::run::Run;
use crate::sums::over_rows;
use crate::tensor::Tensor;

/// `StandardScaler`, `MinMaxScaler`, `MaxAbsScaler` and `RobustScaler`: for each feature a shift and a factor.
#[derive(Serialize, Deserialize)]
pub struct Scaler {
    /// `x * factor + shift` if true, `(x - shift) / factor` otherwise: the order of scikit-learn's operations.
    multiplies: bool,
    shift: Option<Tensor>,
    factor: Option<Tensor>,
    /// The smallest and the largest result.
    clip: Option<Tensor>,
    /// Attributes by name, with a value for each feature.
    attributes: Vec<(String, Tensor)>,
}

impl Model for Scaler {
    fn outputs(&self, features: &[Field]) -> Vec<Role> {
        features.iter().map(|f| Role::Feature(f.name.clone(), f.kind.clone())).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        Ok(outputs(wanted, |j| match (data.features.get(j), &data.sparse) {
            (Some(column), _) => self.column(&column.values, j),
            (None, Some(sparse)) => self.column(&sparse.dense(&[j - data.width()]).remove(0), j),
            (None, None) => Vec::new(),
        }))
    }

    fn sparse_outputs(&self, sparse: usize) -> usize {
        sparse
    }

    fn apply_sparse(&self, data: &Data) -> Result<Option<Sparse>, Error> {
        let Some(sparse) = &data.sparse else { return Ok(None) };
        let first = data.width();
        Ok(Some(sparse.clone().mapped(|column, value| self.column(&[value], first + column)[0])))
    }

    fn inverse(&self, data: &Data, features: &[Field]) -> Result<Option<Vec<Column>>, Error> {
        let of = |array: &Option<Tensor>, none: f64, j: usize| array.as_ref().map_or(none, |a| a.data[j]);
        Ok(Some(numbers(features, |j| {
            let (shift, factor) = (of(&self.shift, 0.0, j), of(&self.factor, 1.0, j));
            let values = data.features[j].values.iter();
            match self.multiplies {
                true => values.map(|x| (x - shift) / factor).collect(),
                false => values.map(|x| x * factor + shift).collect(),
            }
        })))
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        let (_, values) = self.attributes.iter().find(|(known, _)| known == name)?;
        Some(Attribute::by_feature(features, name, &values.data))
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let arrays = self.attributes.iter().map(|(_, a)| a).chain(&self.shift).chain(&self.factor);
        match arrays.map(|a| a.data.len()).find(|n| *n != features) {
            Some(found) => Err(lying(format!("{found} factors for {features} features"))),
            None if self.clip.as_ref().is_some_and(|c| c.data.len() != 2) => Err(lying("a range has two ends")),
            None => Ok(()),
        }
    }

    fn bytes(&self) -> u64 {
        self.attributes.iter().map(|(_, a)| a).chain(&self.shift).chain(&self.factor).map(Tensor::bytes).sum()
    }
}

impl Scaler {
    /// The factor and the shift of each of `width` features: results are `(x - shift) * factor`. `None` if results are
    /// clipped, or a factor is 0.
    pub fn affine(&self, width: usize) -> Option<(Vec<f64>, Vec<f64>)> {
        if self.clip.is_some() {
            return None;
        }
        let of = |array: &Option<Tensor>, none: f64| array.as_ref().map_or(vec![none; width], |a| a.data.clone());
        let (factor, shift) = (of(&self.factor, 1.0), of(&self.shift, 0.0));
        if factor.contains(&0.0) {
            return None;
        }
        if self.multiplies {
            let shift = shift.iter().zip(&factor).map(|(s, f)| -s / f).collect();
            return Some((factor, shift));
        }
        Some((factor.iter().map(|f| 1.0 / f).collect(), shift))
    }

    fn column(&self, values: &[f64], j: usize) -> Vec<f64> {
        let of = |array: &Option<Tensor>, none: f64| array.as_ref().map_or(none, |a| a.data[j]);
        let (shift, factor) = (of(&self.shift, 0.0), of(&self.factor, 1.0));
        let mut out: Vec<f64> = match self.multiplies {
            true => values.iter().map(|x| x * factor + shift).collect(),
            false => values.iter().map(|x| (x - shift) / factor).collect(),
        };
        if let Some(clip) = &self.clip {
            // NaN stays NaN: both comparisons fail.
            let (low, high) = (clip.data[0], clip.data[1]);
            let limited = |x: f64| {
                if x < low {
                    low
                } else if x > high {
                    high
                } else {
                    x
                }
            };
            out.iter_mut().for_each(|x| *x = limited(*x));
        }
        out
    }
}

/// The value for each feature of a list of rows.
fn tensor<const N: usize>(rows: &[[f64; N]], k: usize) -> Tensor {
    Tensor::vector(rows.iter().map(|r| r[k]).collect())
}

/// 1 for a factor that is nearly zero: `_handle_zeros_in_scale`.
fn not_zero(scale: f64) -> f64 {
    if scale < 10.0 * f64::EPSILON { 1.0 } else { scale }
}

/// Trains `StandardScaler`.
pub fn standard(params: &params::StandardScaler, data: &Data, run: &Run<'_>) -> Result<Scaler, Error> {
    let mut moments = each(data, run, |_, column| Ok(moments(&column.values, data.weight.as_deref())))?;
    if data.sparse.is_some() {
        if params.with_mean {
            let message = "StandardScaler cannot subtract the mean of sparse features: they would be dense";
            return Err(Error::new(ErrorKind::Parameter, message).help("set `.with_mean(false)`"));
        }
        moments.extend(sparse_moments(data));
    }
    let scale: Vec<f64> = moments.iter().map(|m| deviation(*m)).collect();
    let (with_mean, with_std) = (params.with_mean, params.with_std);
    let mut attributes = vec![("n_samples_seen".to_string(), tensor(&moments, 0))];
    if with_mean || with_std {
        attributes.push(("mean".to_string(), tensor(&moments, 1)));
    }
    if with_std {
        attributes.push(("var".to_string(), tensor(&moments, 2)));
        attributes.push(("scale".to_string(), Tensor::vector(scale.clone())));
    }
    Ok(Scaler {
        multiplies: false,
        shift: with_mean.then(|| tensor(&moments, 1)),
        factor: with_std.then(|| Tensor::vector(scale)),
        clip: None,
        attributes,
    })
}

/// Number or weight of the values, mean and variance of each sparse feature.
fn sparse_moments(data: &Data) -> Vec<[f64; 3]> {
    let products = FeatureProducts::new(data);
    let count: f64 = data.weight.as_ref().map_or(data.rows as f64, |weight| weight.iter().sum());
    let moments = |column: usize| {
        let (rows, values) = products.column(column);
        let sum = |of: &dyn Fn(f64) -> f64| {
            rows.iter().zip(values).map(|(row, v)| data.weight_of(*row as usize) * of(*v)).sum::<f64>()
        };
        let mean = sum(&|v| v) / count;
        let zeros = count - sum(&|_| 1.0);
        [count, mean, (sum(&|v| (v - mean) * (v - mean)) + zeros * mean * mean) / count]
    };
    (data.width()..products.width()).map(moments).collect()
}

/// The standard deviation. 1 for a variance within the rounding error of its computation: `_is_constant_feature`.
fn deviation([count, mean, var]: [f64; 3]) -> f64 {
    let bound = count * f64::EPSILON * var + (count * mean * f64::EPSILON).powi(2);
    if var <= bound { 1.0 } else { var.sqrt() }
}

/// Mean and standard deviation as `StandardScaler` uses them.
pub fn mean_and_scale(values: &[f64]) -> (f64, f64) {
    let moments = moments(values, None);
    (moments[1], deviation(moments))
}

/// The variance of the values that are not missing.
pub fn variance(values: &[f64]) -> f64 {
    moments(values, None)[2]
}

/// Whether the variance is within the rounding error of its computation.
pub fn is_constant(values: &[f64]) -> bool {
    let [count, mean, var] = moments(values, None);
    var <= count * f64::EPSILON * var + (count * mean * f64::EPSILON).powi(2)
}

/// Number or weight of the values, mean and variance. Two passes and a correction (Chan, Golub and LeVeque 1983), as
/// `_incremental_mean_and_var`.
fn moments(values: &[f64], weight: Option<&[f64]>) -> [f64; 3] {
    let add = |a: [f64; 2], b: [f64; 2]| [a[0] + b[0], a[1] + b[1]];
    let [count, sum] =
        over_rows(values.len(), |rows| sums(&values[rows.clone()], weight.map(|w| &w[rows]), first), add)
            .unwrap_or_default();
    let mean = sum / count;
    let centred = |x: f64, w: f64| [(x - mean) * w, (x - mean) * (x - mean) * w];
    let [error, squares] =
        over_rows(values.len(), |rows| sums(&values[rows.clone()], weight.map(|w| &w[rows]), centred), add)
            .unwrap_or_default();
    [count, mean, (squares - error * error / count) / count]
}

fn first(x: f64, w: f64) -> [f64; 2] {
    [w, x * w]
}

/// Two sums over values that are not missing. Four accumulators, so that the compiler can use wide registers.
#[inline]
fn sums(values: &[f64], weight: Option<&[f64]>, term: impl Fn(f64, f64) -> [f64; 2]) -> [f64; 2] {
    let mut sums = [[0.0f64; 2]; 4];
    let mut add = |lane: usize, x: f64, w: f64| {
        let [a, b] = if x.is_nan() { [0.0, 0.0] } else { term(x, w) };
        sums[lane][0] += a;
        sums[lane][1] += b;
    };
    let (fours, rest) = values.as_chunks::<4>();
    match weight {
        None => {
            fours.iter().for_each(|x| (0..4).for_each(|lane| add(lane, x[lane], 1.0)));
            rest.iter().for_each(|x| add(0, *x, 1.0));
        }
        Some(weight) => values.iter().zip(weight).enumerate().for_each(|(i, (x, w))| add(i % 4, *x, *w)),
    }
    let sum = |k: usize| (sums[0][k] + sums[1][k]) + (sums[2][k] + sums[3][k]);
    [sum(0), sum(1)]
}

/// The smallest and the largest value. NaN for both if all are missing.
pub fn ends(values: &[f64]) -> [f64; 2] {
    values.iter().fold([f64::NAN; 2], |[low, high], x| [low.min(*x), high.max(*x)])
}

/// Trains `MinMaxScaler`.
pub fn min_max(params: &params::MinMaxScaler, data: &Data, run: &Run<'_>) -> Result<Scaler, Error> {
    let range = &params.feature_range;
    let [low, high] = range[..] else {
        let message = format!("`feature_range` has {} numbers: expected the lower and the upper end", range.len());
        return Err(Error::new(ErrorKind::Parameter, message));
    };
    if !(low < high && low.is_finite() && high.is_finite()) {
        let message = format!("`feature_range` is [{low}, {high}]: the first number must be below the second");
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    let columns = each(data, run, |_, column| {
        let [smallest, largest] = ends(&column.values);
        let scale = (high - low) / not_zero(largest - smallest);
        Ok([smallest, largest, largest - smallest, scale, low - smallest * scale])
    })?;
    let names = ["data_min", "data_max", "data_range", "scale", "min"];
    let attributes = names.iter().enumerate().map(|(k, name)| (name.to_string(), tensor(&columns, k)));
    Ok(Scaler {
        multiplies: true,
        shift: Some(tensor(&columns, 4)),
        factor: Some(tensor(&columns, 3)),
        clip: params.clip.then(|| Tensor::vector(vec![low, high])),
        attributes: attributes.collect(),
    })
}

/// Trains `MaxAbsScaler`.
pub fn max_abs(params: &params::MaxAbsScaler, data: &Data, run: &Run<'_>) -> Result<Scaler, Error> {
    let mut columns = each(data, run, |_, column| {
        let largest = column.values.iter().fold(f64::NAN, |a, x| a.max(x.abs()));
        Ok([largest, not_zero(largest)])
    })?;
    if let Some(sparse) = &data.sparse {
        let mut largest = vec![0.0_f64; sparse.width()];
        sparse.columns.iter().zip(&sparse.values).for_each(|(j, v)| {
            largest[*j as usize] = largest[*j as usize].max(v.abs());
        });
        columns.extend(largest.into_iter().map(|largest| [largest, not_zero(largest)]));
    }
    Ok(Scaler {
        multiplies: false,
        shift: None,
        factor: Some(tensor(&columns, 1)),
        clip: params.clip.then(|| Tensor::vector(vec![-1.0, 1.0])),
        attributes: vec![("max_abs".to_string(), tensor(&columns, 0)), ("scale".to_string(), tensor(&columns, 1))],
    })
}

/// Trains `RobustScaler`.
pub fn robust(params: &params::RobustScaler, data: &Data, run: &Run<'_>) -> Result<Scaler, Error> {
    let range = &params.quantile_range;
    let [low, high] = range[..] else {
        let message =
            format!("`quantile_range` has {} numbers: expected the lower and the upper quantile", range.len());
        return Err(Error::new(ErrorKind::Parameter, message));
    };
    if low > high {
        let message = format!("`quantile_range` is [{low}, {high}]: the first number must not be above the second");
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    let mut adjust = 1.0;
    if params.unit_variance {
        if !(low > 0.0 && high < 100.0 && low < high) {
            let message =
                format!("`quantile_range` is [{low}, {high}]: `unit_variance` needs two quantiles inside of 0 and 100");
            return Err(Error::new(ErrorKind::Parameter, message));
        }
        adjust = quantile::normal(high / 100.0) - quantile::normal(low / 100.0);
    }
    let (centres, scales) = (params.with_centering, params.with_scaling);
    let columns = each(data, run, |_, column| {
        let mut values: Vec<f64> = column.values.iter().copied().filter(|v| !v.is_nan()).collect();
        let median = if centres { quantile::median(&mut values) } else { 0.0 };
        let ends =
            if scales { quantile::percentiles(&mut values, &[low, high], Method::Linear) } else { vec![0.0, 1.0] };
        Ok([median, not_zero(ends[1] - ends[0]) / adjust])
    })?;
    let (shift, factor) = (centres.then(|| tensor(&columns, 0)), scales.then(|| tensor(&columns, 1)));
    let center = shift.iter().map(|t| ("center".to_string(), t.clone()));
    let attributes = center.chain(factor.iter().map(|t| ("scale".to_string(), t.clone()))).collect();
    Ok(Scaler { multiplies: false, shift, factor, clip: None, attributes })
}
