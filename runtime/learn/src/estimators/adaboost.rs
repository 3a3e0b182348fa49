//! Trained estimators that were boosted by weights of rows (scikit-learn's `AdaBoostClassifier` and
//! `AdaBoostRegressor`).

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::FittedModel;
use super::inside::{Response, check_estimator, expected_response};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::tensor::Tensor;
use crate::trees::forest::{columns, highest, outputs};

/// Estimators with weights.
#[derive(Serialize, Deserialize)]
pub struct AdaBoost {
    pub(crate) parts: Vec<FittedModel>,
    /// For each estimator.
    pub(crate) weights: Tensor,
    /// The weighted share of wrong rows, or the weighted mean loss, for each estimator.
    pub(crate) errors: Tensor,
    /// The weighted mean of the importances of the estimators. `None` if they have none.
    pub(crate) importances: Option<Tensor>,
    /// Classes. 0 for a regressor.
    pub(crate) classes: usize,
}

/// The name of the estimator in errors.
const NAME: &str = "estimator";

impl AdaBoost {
    /// The predictions of each estimator.
    fn predictions(&self, data: &Data) -> Result<Vec<Vec<f64>>, Error> {
        let one = |fitted: &FittedModel| {
            let answer = expected_response(NAME, fitted, data, Response::Predict)?;
            Ok(answer.into_iter().next().unwrap_or_default())
        };
        self.parts.iter().map(one).collect()
    }

    /// The scores of all classes, row after row: each estimator adds its weight to its class, and takes a share from
    /// the others.
    fn scores(&self, data: &Data) -> Result<Vec<f64>, Error> {
        let classes = self.classes;
        let mut scores = vec![0.0; data.rows * classes];
        for (predicted, weight) in self.predictions(data)?.iter().zip(&self.weights.data) {
            let other = -1.0 / (classes as f64 - 1.0) * weight;
            for (scores, class) in scores.chunks_mut(classes).zip(predicted) {
                let add = |k: usize| if k == *class as usize { *weight } else { other };
                scores.iter_mut().enumerate().for_each(|(k, score)| *score += add(k));
            }
        }
        let total: f64 = self.weights.data.iter().sum();
        scores.iter_mut().for_each(|score| *score /= total);
        Ok(scores)
    }

    /// The weighted medians of the predictions.
    fn medians(&self, data: &Data) -> Result<Vec<f64>, Error> {
        let predictions = self.predictions(data)?;
        let weights = &self.weights.data;
        let median = |row: usize| {
            let mut order: Vec<usize> = (0..predictions.len()).collect();
            order.sort_by(|a, b| predictions[*a][row].total_cmp(&predictions[*b][row]));
            let mut sum = 0.0;
            let mut cumulated = Vec::with_capacity(order.len());
            for k in &order {
                sum += weights[*k];
                cumulated.push(sum);
            }
            let at = cumulated.iter().position(|c| *c >= 0.5 * sum).unwrap_or(0);
            predictions[order[at]][row]
        };
        Ok((0..data.rows).into_par_iter().map(median).collect())
    }
}

impl Model for AdaBoost {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        outputs(self.classes)
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        if self.classes == 0 {
            return Ok(columns(&self.medians(data)?, 0, wanted));
        }
        let scores = self.scores(data)?;
        let factor = 1.0 / (self.classes as f64 - 1.0);
        let mut proba = Vec::with_capacity(scores.len());
        for scores in scores.chunks(self.classes) {
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let start = proba.len();
            proba.extend(scores.iter().map(|score| (factor * (score - most)).exp()));
            let sum: f64 = proba[start..].iter().sum();
            proba[start..].iter_mut().for_each(|p| *p /= sum);
        }
        let mut out = columns(&proba, self.classes, wanted);
        // Scores decide: different scores may have equal probabilities.
        for (column, _) in out.iter_mut().zip(wanted).filter(|(_, k)| **k == 0) {
            *column = scores.chunks(self.classes).map(|scores| highest(scores) as f64).collect();
        }
        Ok(out)
    }

    fn decision(&self, data: &Data) -> Result<Option<Vec<Vec<f64>>>, Error> {
        let scores = match self.classes {
            0 => return Ok(None),
            _ => self.scores(data)?,
        };
        if self.classes == 2 {
            return Ok(Some(vec![scores.chunks(2).map(|pair| pair[1] - pair[0]).collect()]));
        }
        let column = |k: usize| scores.iter().skip(k).step_by(self.classes).copied().collect();
        Ok(Some((0..self.classes).map(column).collect()))
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        let frame = |title: &str, values: &Tensor| {
            let numbers = (0..values.data.len() as i64).collect();
            Some(Attribute::Frame(vec![
                ("estimator".to_string(), Values::Ints(numbers)),
                (title.to_string(), Values::Floats(values.data.clone())),
            ]))
        };
        match name {
            "estimator_weights" => frame("weight", &self.weights),
            "estimator_errors" => frame("error", &self.errors),
            "feature_importances" => {
                Some(Attribute::by_feature(features, "importance", &self.importances.as_ref()?.data))
            }
            _ => None,
        }
    }

    fn bars(&self) -> Option<(&'static str, Vec<f64>)> {
        Some(("importance", self.importances.as_ref()?.data.clone()))
    }

    fn curves(&self) -> Vec<(String, Vec<(f64, f64)>)> {
        let points = self.errors.data.iter().enumerate().map(|(k, error)| ((k + 1) as f64, *error));
        vec![("error".to_string(), points.collect())]
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        let wrong = |what: &str| Err(Error::new(ErrorKind::ModelFile, what.to_string()));
        if self.classes != classes || classes == 1 {
            return wrong("the number of classes is not that of the target");
        }
        let count = self.parts.len();
        if count == 0 || self.weights.data.len() != count || self.errors.data.len() != count {
            return wrong("there is not one weight for each estimator");
        }
        if self.importances.as_ref().is_some_and(|i| i.data.len() != features) {
            return wrong("there is not one importance for each feature");
        }
        self.parts.iter().try_for_each(|fitted| check_estimator(fitted, features, classes))
    }

    fn bytes(&self) -> u64 {
        self.parts.iter().map(|fitted| fitted.model().bytes()).sum()
    }
}
