//! Naive Bayes for counts, as in scikit-learn's `sklearn/naive_bayes.py` (Manning, Raghavan and Schütze, Introduction
//! to Information Retrieval, 2008, chapter 13).

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::bayes::{by_class, posteriors, priors};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::params;
use crate::run::Run;
use crate::tensor::Tensor;

/// Shares of the features in each class, as logarithms.
#[derive(Serialize, Deserialize)]
pub struct MultinomialNb {
    /// classes x features: the weighted sums of the values.
    pub feature_count: Tensor,
    /// classes x features.
    pub feature_log_prob: Tensor,
    /// For each class the weight of its rows.
    pub class_count: Tensor,
    pub class_log_prior: Tensor,
}

/// The least `alpha` without `force_alpha`.
const LEAST_ALPHA: f64 = 1e-10;

/// Trains `MultinomialNB`.
///
/// # Errors
/// If a value is negative, or the priors do not fit the classes. If all weights are 0, or a feature would have the
/// probability 0.
pub fn fit(params: &params::MultinomialNB, data: &Data, run: &Run<'_>) -> Result<MultinomialNb, Error> {
    let (classes, width) = (data.classes.len(), data.total_width());
    let negative = |values: &[f64]| values.iter().position(|v| *v < 0.0);
    if let Some((column, row)) = data.features.iter().find_map(|c| Some((c, negative(&c.values)?))) {
        let (name, value) = (&column.name, column.values[row]);
        let message = format!("`{name}` is {value} in row {row}, and MultinomialNB takes counts of at least 0");
        return Err(Error::new(ErrorKind::Range, message).help("`GaussianNB` takes negative numbers"));
    }
    if let Some(value) = data.sparse.iter().flat_map(|sparse| &sparse.values).find(|v| **v < 0.0) {
        let message = format!("a sparse feature is {value}, and MultinomialNB takes counts of at least 0");
        return Err(Error::new(ErrorKind::Range, message)
            .help("`alternate_sign(false)` of HashingVectorizer makes no negative counts"));
    }
    let given = params.class_prior.as_ref().map(|given| priors("class_prior", given, data)).transpose()?;
    let codes: Vec<u32> = data.y.iter().map(|class| *class as u32).collect();
    let weight = data.weight.as_deref();
    let class_count = by_class(classes, &codes, weight, |_, _| 1.0);
    let total: f64 = class_count.iter().sum();
    if total <= 0.0 {
        return Err(Error::new(ErrorKind::Weight, "all sample weights are 0: at least one must be above 0"));
    }
    run.check(|| "the weights of the classes".to_string())?;
    let columns = data.features.par_iter().map(|c| by_class(classes, &codes, weight, |row, _| c.values[row]));
    let mut columns: Vec<Vec<f64>> = columns.collect();
    if let Some(sparse) = &data.sparse {
        let width = data.width();
        columns.resize(data.total_width(), vec![0.0; classes]);
        for (row, class) in codes.iter().enumerate() {
            let (places, values) = sparse.row(row);
            let (class, weight) = (*class as usize, data.weight_of(row));
            places.iter().zip(values).for_each(|(j, value)| columns[width + *j as usize][class] += weight * value);
        }
    }
    run.check(|| "the counts of the features".to_string())?;
    let alpha = if params.force_alpha { params.alpha } else { params.alpha.max(LEAST_ALPHA) };
    let sums: Vec<f64> = (0..classes).map(|c| columns.iter().map(|column| column[c] + alpha).sum()).collect();
    let cells = || (0..classes).flat_map(|c| (0..width).map(move |j| (c, j)));
    let log_prob: Vec<f64> = cells().map(|(c, j)| (columns[j][c] + alpha).ln() - sums[c].ln()).collect();
    if let Some(at) = log_prob.iter().position(|log| !log.is_finite()) {
        let (feature, class) = (data.name_of(at % width), &data.classes[at / width]);
        let message = format!("`{feature}` is 0 in all rows of the class `{class}`, and `alpha` is {alpha}");
        return Err(Error::new(ErrorKind::Constant, message).help("set `alpha` above 0"));
    }
    let log_prior = |class: usize| match &given {
        Some(given) => given[class].ln(),
        None if params.fit_prior => class_count[class].ln() - total.ln(),
        None => -(classes as f64).ln(),
    };
    Ok(MultinomialNb {
        feature_count: Tensor::new(vec![classes, width], cells().map(|(c, j)| columns[j][c]).collect()),
        feature_log_prob: Tensor::new(vec![classes, width], log_prob),
        class_log_prior: Tensor::vector((0..classes).map(log_prior).collect()),
        class_count: Tensor::vector(class_count),
    })
}

impl MultinomialNb {
    /// For each row and class the logarithm of the joint probability, row after row, for some rows.
    fn joint(&self, data: &Data, rows: Range<usize>) -> Vec<f64> {
        let classes = self.class_log_prior.data.len();
        let mut out = vec![0.0; rows.len() * classes];
        for class in 0..classes {
            let mut sums = vec![self.class_log_prior.data[class]; rows.len()];
            for (column, log) in data.features.iter().zip(self.feature_log_prob.row(class)) {
                sums.iter_mut().zip(&column.values[rows.clone()]).for_each(|(s, v)| *s += v * log);
            }
            if let Some(sparse) = &data.sparse {
                let logs = &self.feature_log_prob.row(class)[data.width()..];
                sums.iter_mut().zip(rows.clone()).for_each(|(s, row)| *s += sparse.dot(row, logs));
            }
            sums.iter().enumerate().for_each(|(i, s)| out[i * classes + class] = *s);
        }
        out
    }
}

impl Model for MultinomialNb {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        std::iter::once(Role::Prediction).chain((0..self.class_count.data.len()).map(Role::Proba)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        Ok(posteriors(data.rows, self.class_count.data.len(), wanted, |rows| self.joint(data, rows)))
    }

    fn attribute(&self, name: &str, features: &[Field], classes: &[String]) -> Option<Attribute> {
        let class = || Values::Strs(classes.to_vec());
        let matrix = |values: &Tensor| Some(Attribute::by_row(Some(("class", class())), features, &values.data));
        let vector = |values: &Tensor| {
            let column = (name.to_string(), Values::Floats(values.data.clone()));
            Some(Attribute::Frame(vec![("class".to_string(), class()), column]))
        };
        match name {
            "feature_count" => matrix(&self.feature_count),
            "feature_log_prob" => matrix(&self.feature_log_prob),
            "class_count" => vector(&self.class_count),
            "class_log_prior" => vector(&self.class_log_prior),
            _ => None,
        }
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        let wanted = vec![classes, features];
        if classes == 0 || self.feature_count.shape != wanted || self.feature_log_prob.shape != wanted {
            let shape = &self.feature_log_prob.shape;
            let message = format!("shares of the shape {shape:?} for {classes} classes and {features} features");
            return Err(Error::new(ErrorKind::ModelFile, message));
        }
        match [&self.class_count, &self.class_log_prior].iter().find(|list| list.data.len() != classes) {
            Some(list) => {
                let message = format!("{} numbers for {classes} classes", list.data.len());
                Err(Error::new(ErrorKind::ModelFile, message))
            }
            None => Ok(()),
        }
    }

    fn bytes(&self) -> u64 {
        self.feature_count.bytes() + self.feature_log_prob.bytes()
    }
}
