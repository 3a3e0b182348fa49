//! Naive Bayes whose logarithms of probabilities are linear in the features: `BernoulliNB` and `ComplementNB`, as in
//! scikit-learn's `sklearn/naive_bayes.py` (Rennie, Shih, Teevan and Karger 2003, "Tackling the poor assumptions of
//! naive Bayes text classifiers").

use std::ops::Range;

use onrush_wire::learn::Param;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::bayes::{by_class, posteriors, priors};
use crate::data::{Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::params::{self, Floats};
use crate::run::Run;
use crate::tensor::{self, Tensor};

/// Factors of the features in each class. Sparse features come after the dense ones.
#[derive(Serialize, Deserialize)]
pub struct DiscreteNb {
    /// Values above it count as 1, others as 0. `None`: values count as they are.
    #[serde(with = "tensor::scalar")]
    pub binarize: Option<f64>,
    /// classes x features: the weighted sums of the values.
    pub feature_count: Tensor,
    /// classes x features.
    pub feature_log_prob: Tensor,
    /// classes x features: what a feature of 1 adds to the logarithm of the joint probability.
    pub factors: Tensor,
    /// For each class the logarithm of the joint probability of a row of zeros.
    pub offset: Tensor,
    /// For each class the weight of its rows.
    pub class_count: Tensor,
    pub class_log_prior: Tensor,
    /// The names of the sparse features.
    pub terms: Vec<String>,
}

/// The least `alpha` without `force_alpha`.
pub(super) const LEAST_ALPHA: f64 = 1e-10;

/// Sums of the features in each class.
struct Counts {
    classes: usize,
    width: usize,
    /// classes x features.
    sums: Vec<f64>,
    class_count: Vec<f64>,
}

impl Counts {
    /// Sums of the values that `value` gives, which is 0 for 0.
    fn of(data: &Data, run: &Run<'_>, value: impl Fn(f64) -> f64 + Sync) -> Result<Self, Error> {
        let (classes, width) = (data.classes.len(), data.total_width());
        let codes: Vec<u32> = data.y.iter().map(|class| *class as u32).collect();
        let weight = data.weight.as_deref();
        let class_count = class_counts(data, &codes)?;
        run.check(|| "the weights of the classes".to_string())?;
        let columns =
            data.features.par_iter().map(|c| by_class(classes, &codes, weight, |row, _| value(c.values[row])));
        let columns: Vec<Vec<f64>> = columns.collect();
        let mut sums = vec![0.0; classes * width];
        for (j, column) in columns.iter().enumerate() {
            column.iter().enumerate().for_each(|(class, sum)| sums[class * width + j] = *sum);
        }
        if let Some(sparse) = &data.sparse {
            (0..sparse.rows()).for_each(|row| {
                let first = codes[row] as usize * width + data.width();
                let weight = data.weight_of(row);
                let (columns, values) = sparse.row(row);
                for (column, v) in columns.iter().zip(values) {
                    sums[first + *column as usize] += weight * value(*v);
                }
            });
        }
        run.check(|| "the counts of the features".to_string())?;
        Ok(Counts { classes, width, sums, class_count })
    }

    /// A matrix of classes x features.
    fn matrix(&self, value: impl Fn(usize, usize) -> f64) -> Tensor {
        let cells = (0..self.classes).flat_map(|class| (0..self.width).map(move |j| (class, j)));
        Tensor::new(vec![self.classes, self.width], cells.map(|(class, j)| value(class, j)).collect())
    }

    fn sum(&self, class: usize, feature: usize) -> f64 {
        self.sums[class * self.width + feature]
    }
}

/// For each class the weight of its rows.
///
/// # Errors
/// If all weights are 0.
pub(super) fn class_counts(data: &Data, codes: &[u32]) -> Result<Vec<f64>, Error> {
    let counts = by_class(data.classes.len(), codes, data.weight.as_deref(), |_, _| 1.0);
    match counts.iter().sum::<f64>() > 0.0 {
        true => Ok(counts),
        false => Err(Error::new(ErrorKind::Weight, "all sample weights are 0: at least one must be above 0")),
    }
}

/// For each class the logarithm of its probability: the given one, its share of the rows, or equal shares.
///
/// # Errors
/// If the given probabilities do not fit the classes.
pub(super) fn log_priors(
    given: Option<&Floats>,
    fit_prior: bool,
    class_count: &[f64],
    data: &Data,
) -> Result<Vec<f64>, Error> {
    let total: f64 = class_count.iter().sum();
    Ok(match given {
        Some(given) => priors("class_prior", given, data)?.iter().map(|p| p.ln()).collect(),
        None if fit_prior => class_count.iter().map(|n| n.ln() - total.ln()).collect(),
        None => vec![-(class_count.len() as f64).ln(); class_count.len()],
    })
}

/// The name of a feature, dense ones first.
fn name_of(data: &Data, feature: usize) -> &str {
    match data.features.get(feature) {
        Some(column) => &column.name,
        None => data.sparse.as_ref().map_or("", |sparse| &sparse.names[feature - data.width()]),
    }
}

fn terms(data: &Data) -> Vec<String> {
    data.sparse.as_ref().map_or_else(Vec::new, |sparse| sparse.names.to_vec())
}

/// Trains `BernoulliNB`.
///
/// # Errors
/// If the priors do not fit the classes, or all weights are 0. If a feature would have the probability 0 or 1.
pub fn bernoulli(params: &params::BernoulliNB, data: &Data, run: &Run<'_>) -> Result<DiscreteNb, Error> {
    let threshold = match &params.binarize {
        Param::None => None,
        value => Some(value.as_f64().ok_or_else(|| {
            Error::new(ErrorKind::Parameter, format!("`binarize` is {value}: expected a number of at least 0, or none"))
        })?),
    };
    let counts = Counts::of(data, run, |v| binarized(threshold, v))?;
    let class_log_prior = log_priors(params.class_prior.as_ref(), params.fit_prior, &counts.class_count, data)?;
    let alpha = if params.force_alpha { params.alpha } else { params.alpha.max(LEAST_ALPHA) };
    let log_prob =
        counts.matrix(|class, j| (counts.sum(class, j) + alpha).ln() - (counts.class_count[class] + alpha * 2.0).ln());
    let absent: Vec<f64> = log_prob.data.iter().map(|log| (1.0 - log.exp()).ln()).collect();
    let factors: Vec<f64> = log_prob.data.iter().zip(&absent).map(|(log, absent)| log - absent).collect();
    if let Some(at) = factors.iter().position(|factor| !factor.is_finite()) {
        let (feature, class) = (name_of(data, at % counts.width), &data.classes[at / counts.width]);
        let p = log_prob.data[at].exp();
        let message =
            format!("`{feature}` has the probability {p} in the class `{class}`: expected one between 0 and 1");
        return Err(Error::new(ErrorKind::Constant, message)
            .help("set `alpha` above 0")
            .help("set `binarize`, if values are not 0 and 1"));
    }
    let width = counts.width.max(1);
    let offset = absent.chunks(width).zip(&class_log_prior).map(|(absent, prior)| prior + absent.iter().sum::<f64>());
    Ok(DiscreteNb {
        binarize: threshold,
        feature_count: Tensor::new(vec![counts.classes, counts.width], counts.sums),
        factors: Tensor::new(log_prob.shape.clone(), factors),
        offset: Tensor::vector(offset.collect()),
        feature_log_prob: log_prob,
        class_count: Tensor::vector(counts.class_count),
        class_log_prior: Tensor::vector(class_log_prior),
        terms: terms(data),
    })
}

/// Trains `ComplementNB`.
///
/// # Errors
/// If a value is negative, or the priors do not fit the classes. If all weights are 0, or a feature would have the
/// probability 0.
pub fn complement(params: &params::ComplementNB, data: &Data, run: &Run<'_>) -> Result<DiscreteNb, Error> {
    negative("ComplementNB", data)?;
    let counts = Counts::of(data, run, |v| v)?;
    let class_log_prior = log_priors(params.class_prior.as_ref(), params.fit_prior, &counts.class_count, data)?;
    let alpha = if params.force_alpha { params.alpha } else { params.alpha.max(LEAST_ALPHA) };
    let all: Vec<f64> =
        (0..counts.width).map(|j| (0..counts.classes).map(|class| counts.sum(class, j)).sum()).collect();
    let outside = counts.matrix(|class, j| all[j] + alpha - counts.sum(class, j));
    let totals: Vec<f64> = (0..counts.classes).map(|class| outside.row(class).iter().sum()).collect();
    let logs = counts.matrix(|class, j| (outside.row(class)[j] / totals[class]).ln());
    if let Some(at) = logs.data.iter().position(|log| !log.is_finite()) {
        let (feature, class) = (name_of(data, at % counts.width), &data.classes[at / counts.width]);
        let message = format!("`{feature}` is 0 in all rows outside of the class `{class}`, and `alpha` is {alpha}");
        return Err(Error::new(ErrorKind::Constant, message).help("set `alpha` above 0"));
    }
    let lengths: Vec<f64> = (0..counts.classes).map(|class| logs.row(class).iter().sum()).collect();
    let log_prob = match params.norm {
        true => counts.matrix(|class, j| logs.row(class)[j] / lengths[class]),
        false => counts.matrix(|class, j| -logs.row(class)[j]),
    };
    Ok(DiscreteNb {
        binarize: None,
        feature_count: Tensor::new(vec![counts.classes, counts.width], counts.sums),
        factors: log_prob.clone(),
        feature_log_prob: log_prob,
        offset: Tensor::vector(vec![0.0; counts.classes]),
        class_count: Tensor::vector(counts.class_count),
        class_log_prior: Tensor::vector(class_log_prior),
        terms: terms(data),
    })
}

/// Checks that there are no negative values.
fn negative(estimator: &str, data: &Data) -> Result<(), Error> {
    let of_column = |values: &[f64]| values.iter().position(|v| *v < 0.0);
    let dense = data.features.iter().find_map(|c| Some((c.name.as_str(), c.values[of_column(&c.values)?])));
    let sparse = data.sparse.as_ref().and_then(|sparse| {
        let at = of_column(&sparse.values)?;
        Some((sparse.names[sparse.columns[at] as usize].as_str(), sparse.values[at]))
    });
    match dense.or(sparse) {
        None => Ok(()),
        Some((name, value)) => {
            let message = format!("`{name}` has the value {value}, and {estimator} takes counts of at least 0");
            Err(Error::new(ErrorKind::Range, message).help("`GaussianNB` takes negative numbers"))
        }
    }
}

fn binarized(threshold: Option<f64>, value: f64) -> f64 {
    threshold.map_or(value, |threshold| f64::from(u8::from(value > threshold)))
}

impl DiscreteNb {
    /// For each row and class the logarithm of the joint probability, row after row, for some rows.
    fn joint(&self, data: &Data, rows: Range<usize>) -> Vec<f64> {
        let classes = self.offset.data.len();
        let mut out = vec![0.0; rows.len() * classes];
        for class in 0..classes {
            let factors = self.factors.row(class);
            let mut sums = vec![self.offset.data[class]; rows.len()];
            for (column, factor) in data.features.iter().zip(factors) {
                let pairs = sums.iter_mut().zip(&column.values[rows.clone()]);
                match self.binarize {
                    Some(threshold) => pairs.for_each(|(s, v)| *s += if *v > threshold { *factor } else { 0.0 }),
                    None => pairs.for_each(|(s, v)| *s += v * factor),
                }
            }
            if let Some(sparse) = &data.sparse {
                let factors = &factors[data.width()..];
                for (sum, row) in sums.iter_mut().zip(rows.clone()) {
                    let (columns, values) = sparse.row(row);
                    let terms = columns.iter().zip(values);
                    let terms = terms.map(|(column, v)| binarized(self.binarize, *v) * factors[*column as usize]);
                    *sum += terms.sum::<f64>();
                }
            }
            sums.iter().enumerate().for_each(|(i, s)| out[i * classes + class] = *s);
        }
        out
    }
}

impl Model for DiscreteNb {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        std::iter::once(Role::Prediction).chain((0..self.offset.data.len()).map(Role::Proba)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let (width, own) = (data.total_width(), self.factors.shape[1]);
        if width != own || data.sparse.as_ref().map_or(0, |sparse| sparse.width()) != self.terms.len() {
            let message = format!("the rows have {width} features, and the model was trained on {own}");
            return Err(Error::new(ErrorKind::TypeMismatch, message));
        }
        Ok(posteriors(data.rows, self.offset.data.len(), wanted, |rows| self.joint(data, rows)))
    }

    fn attribute(&self, name: &str, features: &[Field], classes: &[String]) -> Option<Attribute> {
        let class = || Values::Strs(classes.to_vec());
        let terms = self.terms.iter().map(|name| Field { name: name.clone(), kind: Kind::Number });
        let features: Vec<Field> = features.iter().cloned().chain(terms).take(self.factors.shape[1]).collect();
        let matrix = |values: &Tensor| Some(Attribute::by_row(Some(("class", class())), &features, &values.data));
        let vector = |values: &Tensor| {
            let column = (name.to_string(), Values::Floats(values.data.clone()));
            Some(Attribute::Frame(vec![("class".to_string(), class()), column]))
        };
        match name {
            "feature_count" => matrix(&self.feature_count),
            "feature_log_prob" => matrix(&self.feature_log_prob),
            "class_count" => vector(&self.class_count),
            "class_log_prior" => vector(&self.class_log_prior),
            "feature_all" => {
                let width = features.len();
                let sum = |j: usize| self.feature_count.data.iter().skip(j).step_by(width).sum();
                Some(Attribute::by_feature(&features, "count", &(0..width).map(sum).collect::<Vec<f64>>()))
            }
            _ => None,
        }
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        let matrices = [&self.feature_count, &self.feature_log_prob, &self.factors];
        let wanted = |width: usize| matrices.iter().all(|matrix| matrix.shape == [classes, width]);
        if classes == 0 || !(wanted(features) || wanted(features + self.terms.len())) {
            let shape = &self.factors.shape;
            let message = format!("factors of the shape {shape:?} for {classes} classes and {features} features");
            return Err(Error::new(ErrorKind::ModelFile, message));
        }
        let vectors = [&self.offset, &self.class_count, &self.class_log_prior];
        match vectors.iter().find(|list| list.data.len() != classes) {
            Some(list) => {
                let message = format!("{} numbers for {classes} classes", list.data.len());
                Err(Error::new(ErrorKind::ModelFile, message))
            }
            None => Ok(()),
        }
    }

    fn bytes(&self) -> u64 {
        3 * self.factors.bytes()
    }
}
