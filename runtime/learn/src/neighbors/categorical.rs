//! Naive Bayes for categories, as in scikit-learn's `sklearn/naive_bayes.py`.

use std::ops::Range;

use onrush_wire::learn::Param;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::bayes::posteriors;
use super::discrete::{LEAST_ALPHA, class_counts, log_priors};
use crate::data::{Column, Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::params;
use crate::run::Run;
use crate::tensor::Tensor;

/// Shares of the categories of each feature in each class, as logarithms.
#[derive(Serialize, Deserialize)]
pub struct CategoricalNb {
    /// For each feature classes x categories: the weights of the rows.
    pub counts: Vec<Tensor>,
    /// For each feature classes x categories.
    pub log_prob: Vec<Tensor>,
    /// For each class the weight of its rows.
    pub class_count: Tensor,
    pub class_log_prior: Tensor,
}

/// Categories of a feature at most.
const MOST_CATEGORIES: f64 = 1_048_576.0;

/// Trains `CategoricalNB`.
///
/// # Errors
/// If a number is not the number of a category, or the priors do not fit the classes. If all weights are 0, or a
/// category would have the probability 0.
pub fn fit(params: &params::CategoricalNB, data: &Data, run: &Run<'_>) -> Result<CategoricalNb, Error> {
    let classes = data.classes.len();
    let codes: Vec<u32> = data.y.iter().map(|class| *class as u32).collect();
    let class_count = class_counts(data, &codes)?;
    let class_log_prior = log_priors(params.class_prior.as_ref(), params.fit_prior, &class_count, data)?;
    let least = least_categories(&params.min_categories, data)?;
    let alpha = if params.force_alpha { params.alpha } else { params.alpha.max(LEAST_ALPHA) };
    let of_feature = |(j, column): (usize, &Column)| -> Result<(Tensor, Tensor), Error> {
        run.check(|| format!("some of {} features", data.width()))?;
        let categories = least[j].max(categories(column)?);
        let mut counts = vec![0.0; classes * categories];
        for (row, value) in column.values.iter().enumerate() {
            counts[codes[row] as usize * categories + *value as usize] += data.weight_of(row);
        }
        let mut log_prob = Vec::with_capacity(counts.len());
        for (class, counts) in counts.chunks_exact(categories).enumerate() {
            let total: f64 = counts.iter().map(|n| n + alpha).sum();
            log_prob.extend(counts.iter().map(|n| (n + alpha).ln() - total.ln()));
            if let Some(at) = log_prob[class * categories..].iter().position(|log| !log.is_finite()) {
                let (name, class, shown) = (&column.name, &data.classes[class], category(&column.kind, at));
                let message =
                    format!("`{name}` is nowhere {shown} in rows of the class `{class}`, and `alpha` is {alpha}");
                return Err(Error::new(ErrorKind::Constant, message).help("set `alpha` above 0"));
            }
        }
        let shape = vec![classes, categories];
        Ok((Tensor::new(shape.clone(), counts), Tensor::new(shape, log_prob)))
    };
    let made: Vec<Result<(Tensor, Tensor), Error>> = data.features.par_iter().enumerate().map(of_feature).collect();
    let (counts, log_prob) = made.into_iter().collect::<Result<Vec<_>, Error>>()?.into_iter().unzip();
    let (class_count, class_log_prior) = (Tensor::vector(class_count), Tensor::vector(class_log_prior));
    Ok(CategoricalNb { counts, log_prob, class_count, class_log_prior })
}

/// How a category is shown: its name, or its number.
fn category(kind: &Kind, at: usize) -> String {
    match kind {
        Kind::Category(names) => names.get(at).cloned().unwrap_or_else(|| at.to_string()),
        Kind::Number | Kind::Text => at.to_string(),
    }
}

/// How many categories a feature has: that of its names, or the largest number plus 1.
fn categories(column: &Column) -> Result<usize, Error> {
    if let Kind::Category(names) = &column.kind {
        return Ok(names.len());
    }
    let is_number = |v: f64| v >= 0.0 && v.fract() == 0.0 && v < MOST_CATEGORIES;
    if let Some(row) = column.values.iter().position(|v| !is_number(*v)) {
        let (name, value) = (&column.name, column.values[row]);
        let message =
            format!("`{name}` is {value} in row {row}: expected the number of a category, from 0 to {MOST_CATEGORIES}");
        return Err(Error::new(ErrorKind::Range, message)
            .help("`OrdinalEncoder` and `KBinsDiscretizer` with `encode` = \"ordinal\" make such numbers"));
    }
    Ok(column.values.iter().fold(0.0f64, |a, b| a.max(*b)) as usize + 1)
}

/// The least number of categories of each feature.
fn least_categories(given: &Param, data: &Data) -> Result<Vec<usize>, Error> {
    let width = data.width();
    let wrong = || {
        let message =
            format!("`min_categories` is {given}: expected a number, or a list with one for each of {width} features");
        Error::new(ErrorKind::Parameter, message)
    };
    let count = |value: &Param| match value {
        Param::Int(_) => params::count(value).filter(|n| *n as f64 <= MOST_CATEGORIES).ok_or_else(wrong),
        _ => Err(wrong()),
    };
    match given {
        Param::None => Ok(vec![0; width]),
        Param::List(list) if list.len() == width => list.iter().map(count).collect(),
        value => Ok(vec![count(value)?; width]),
    }
}

impl CategoricalNb {
    /// The position of the category of each value of a feature.
    fn positions(&self, column: &Column, feature: usize) -> Result<Vec<u32>, Error> {
        let known = self.log_prob[feature].shape[1];
        let position = |value: &f64| match *value >= 0.0 && value.fract() == 0.0 && *value < known as f64 {
            true => Ok(*value as u32),
            false => {
                let (name, shown) = (&column.name, category(&column.kind, *value as usize));
                let shown = if column.kind == Kind::Number { value.to_string() } else { shown };
                let message = format!("`{name}` has the category {shown}, which CategoricalNB did not see in training");
                Err(Error::new(ErrorKind::UnknownCategory, message)
                    .help("set `min_categories`, if numbers up to a known one can come"))
            }
        };
        column.values.iter().map(position).collect()
    }

    /// For each row and class the logarithm of the joint probability, row after row, for some rows.
    fn joint(&self, positions: &[Vec<u32>], rows: Range<usize>) -> Vec<f64> {
        let classes = self.class_log_prior.data.len();
        let mut out = vec![0.0; rows.len() * classes];
        for (class, prior) in self.class_log_prior.data.iter().enumerate() {
            let mut sums = vec![0.0; rows.len()];
            for (positions, logs) in positions.iter().zip(&self.log_prob) {
                let logs = logs.row(class);
                sums.iter_mut().zip(&positions[rows.clone()]).for_each(|(s, p)| *s += logs[*p as usize]);
            }
            sums.iter().enumerate().for_each(|(i, s)| out[i * classes + class] = s + prior);
        }
        out
    }

    /// A row for each feature, class and category.
    fn long(&self, name: &str, tensors: &[Tensor], features: &[Field], classes: &[String]) -> Attribute {
        let (mut of_feature, mut of_class, mut of_category, mut values) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (field, tensor) in features.iter().zip(tensors) {
            for (class, row) in classes.iter().zip(tensor.data.chunks(tensor.shape[1].max(1))) {
                for (at, value) in row.iter().enumerate() {
                    of_feature.push(field.name.clone());
                    of_class.push(class.clone());
                    of_category.push(category(&field.kind, at));
                    values.push(*value);
                }
            }
        }
        Attribute::Frame(vec![
            ("feature".to_string(), Values::Strs(of_feature)),
            ("class".to_string(), Values::Strs(of_class)),
            ("category".to_string(), Values::Strs(of_category)),
            (name.to_string(), Values::Floats(values)),
        ])
    }
}

impl Model for CategoricalNb {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        std::iter::once(Role::Prediction).chain((0..self.class_count.data.len()).map(Role::Proba)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let positions: Vec<Result<Vec<u32>, Error>> =
            data.features.par_iter().enumerate().map(|(j, column)| self.positions(column, j)).collect();
        let positions: Vec<Vec<u32>> = positions.into_iter().collect::<Result<_, Error>>()?;
        Ok(posteriors(data.rows, self.class_count.data.len(), wanted, |rows| self.joint(&positions, rows)))
    }

    fn attribute(&self, name: &str, features: &[Field], classes: &[String]) -> Option<Attribute> {
        let vector = |values: &Tensor| {
            let class = ("class".to_string(), Values::Strs(classes.to_vec()));
            Some(Attribute::Frame(vec![class, (name.to_string(), Values::Floats(values.data.clone()))]))
        };
        match name {
            "category_count" => Some(self.long("count", &self.counts, features, classes)),
            "feature_log_prob" => Some(self.long("log_prob", &self.log_prob, features, classes)),
            "class_count" => vector(&self.class_count),
            "class_log_prior" => vector(&self.class_log_prior),
            "n_categories" => {
                let counts: Vec<f64> = self.log_prob.iter().map(|tensor| tensor.shape[1] as f64).collect();
                Some(Attribute::by_feature(features, "n_categories", &counts))
            }
            _ => None,
        }
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        let fits = |tensor: &Tensor| tensor.shape.len() == 2 && tensor.shape[0] == classes;
        let lengths = [self.class_count.data.len(), self.class_log_prior.data.len()];
        let all = self.counts.iter().chain(&self.log_prob).all(fits);
        let same = self.counts.len() == features && self.log_prob.len() == features;
        match classes > 0 && all && same && lengths.iter().all(|n| *n == classes) {
            true => Ok(()),
            false => {
                let message = format!("shares of categories that do not fit {features} features, {classes} classes");
                Err(Error::new(ErrorKind::ModelFile, message))
            }
        }
    }

    fn bytes(&self) -> u64 {
        2 * self.log_prob.iter().map(Tensor::bytes).sum::<u64>()
    }
}
