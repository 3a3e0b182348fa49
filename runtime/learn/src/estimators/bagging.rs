//! Trained estimators on samples of rows and features (scikit-learn's `BaggingClassifier` and `BaggingRegressor`).

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::FittedModel;
use super::inside::{Response, check_inside, expected_response, has_proba, response};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::tensor::Tensor;
use crate::trees::forest::{columns, outputs};

/// The mean of trained estimators.
#[derive(Serialize, Deserialize)]
pub struct Bagging {
    pub(crate) bags: Vec<Bag>,
    /// Classes. 0 for a regressor.
    pub(crate) classes: usize,
    /// Accuracy or R² of the rows by the estimators that did not see them.
    #[serde(with = "crate::tensor::scalar")]
    pub(crate) oob_score: Option<f64>,
    /// rows x classes, or rows x 1. NaN for a row that each estimator saw.
    pub(crate) oob: Option<Tensor>,
    pub(crate) notes: Vec<String>,
}

/// An estimator of a sample.
#[derive(Serialize, Deserialize)]
pub struct Bag {
    pub(crate) model: FittedModel,
    /// The positions of its features. `None`: all of them.
    pub(crate) features: Option<Vec<usize>>,
    /// The positions of its classes.
    pub(crate) classes: Vec<usize>,
}

/// The name of the estimator in errors.
const NAME: &str = "estimator";

impl Bag {
    /// The features of this estimator.
    pub(crate) fn features_of<'a>(&self, data: &'a Data) -> Cow<'a, Data> {
        match &self.features {
            None => Cow::Borrowed(data),
            Some(features) => {
                Cow::Owned(data.with_features(features.iter().map(|j| data.features[*j].clone()).collect()))
            }
        }
    }

    /// Adds the answers for all rows to `sums`, row after row: probabilities, votes, or values.
    pub(crate) fn add(&self, data: &Data, classes: usize, sums: &mut [f64]) -> Result<(), Error> {
        let data = self.features_of(data);
        if has_proba(&self.model) {
            let answer = expected_response(NAME, &self.model, &data, Response::Proba)?;
            for (class, column) in self.classes.iter().zip(&answer) {
                let sums = sums.iter_mut().skip(*class).step_by(classes);
                sums.zip(column).for_each(|(sum, value)| *sum += value);
            }
            return Ok(());
        }
        let answer = expected_response(NAME, &self.model, &data, Response::Predict)?;
        let values = answer.first().map_or(&[][..], Vec::as_slice);
        if classes == 0 {
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            return Ok(());
        }
        for (sums, value) in sums.chunks_mut(classes).zip(values) {
            let class = self.classes.get(*value as usize);
            if let Some(sum) = class.and_then(|class| sums.get_mut(*class)) {
                *sum += 1.0;
            }
        }
        Ok(())
    }
}

impl Model for Bagging {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        outputs(self.classes)
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let mut sums = vec![0.0; data.rows * self.classes.max(1)];
        self.bags.iter().try_for_each(|bag| bag.add(data, self.classes, &mut sums))?;
        sums.iter_mut().for_each(|sum| *sum /= self.bags.len() as f64);
        Ok(columns(&sums, self.classes, wanted))
    }

    fn decision(&self, data: &Data) -> Result<Option<Vec<Vec<f64>>>, Error> {
        let mut sums: Option<Vec<Vec<f64>>> = None;
        for bag in &self.bags {
            if self.classes == 0 || bag.classes.len() != self.classes {
                return Ok(None);
            }
            let Some(answer) = response(NAME, &bag.model, &bag.features_of(data), Response::Decision)? else {
                return Ok(None);
            };
            match &mut sums {
                None => sums = Some(answer),
                Some(sums) => sums.iter_mut().flatten().zip(answer.iter().flatten()).for_each(|(s, v)| *s += v),
            }
        }
        if let Some(sums) = &mut sums {
            sums.iter_mut().flatten().for_each(|sum| *sum /= self.bags.len() as f64);
        }
        Ok(sums)
    }

    fn attribute(&self, name: &str, features: &[Field], classes: &[String]) -> Option<Attribute> {
        let width = self.classes.max(1);
        let column = |k: usize, of: &Tensor| Values::Floats(of.data.iter().skip(k).step_by(width).copied().collect());
        match name {
            "oob_score" => self.oob_score.map(Attribute::Float),
            "oob_prediction" => Some(Attribute::Frame(vec![("prediction".to_string(), column(0, self.oob.as_ref()?))])),
            "oob_decision_function" => {
                let oob = self.oob.as_ref()?;
                let named = classes.iter().enumerate().map(|(k, class)| (format!("proba_{class}"), column(k, oob)));
                Some(Attribute::Frame(named.collect()))
            }
            "estimators_features" => {
                let (mut numbers, mut names) = (Vec::new(), Vec::new());
                for (number, bag) in self.bags.iter().enumerate() {
                    let all: Vec<usize> = (0..features.len()).collect();
                    for j in bag.features.as_ref().unwrap_or(&all) {
                        numbers.push(number as i64);
                        names.push(features.get(*j)?.name.clone());
                    }
                }
                Some(Attribute::Frame(vec![
                    ("estimator".to_string(), Values::Ints(numbers)),
                    ("feature".to_string(), Values::Strs(names)),
                ]))
            }
            _ => None,
        }
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        let wrong = |what: &str| Err(Error::new(ErrorKind::ModelFile, what.to_string()));
        if self.classes != classes {
            return wrong("the number of classes is not that of the target");
        }
        if self.bags.is_empty() {
            return wrong("the ensemble has 0 estimators, and needs at least one");
        }
        for bag in &self.bags {
            check_inside(&bag.model)?;
            let count = bag.features.as_ref().map_or(features, Vec::len);
            let is_inside = bag.features.iter().flatten().all(|j| *j < features);
            let fits = bag.model.classes.len() == bag.classes.len() && bag.classes.iter().all(|class| *class < classes);
            let is_kind = bag.classes.is_empty() == (classes == 0);
            if bag.model.features.len() != count || !is_inside || !fits || !is_kind {
                return wrong("an estimator inside has other features or classes");
            }
            if !bag.model.model().outputs(&bag.model.features).contains(&Role::Prediction) {
                return wrong("an estimator inside does not predict");
            }
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        let bags: u64 = self.bags.iter().map(|bag| bag.model.model().bytes()).sum();
        bags + self.oob.as_ref().map_or(0, Tensor::bytes)
    }
}
