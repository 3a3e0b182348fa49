//! Trained estimators that vote (scikit-learn's `VotingClassifier` and `VotingRegressor`).

use serde::{Deserialize, Serialize};

use super::FittedModel;
use super::inside::{Response, check_estimator, expected_response, has_proba, named_notes};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role};
use crate::tensor::Tensor;
use crate::trees::forest::{columns, highest, outputs};

/// Trained estimators of the same features, and their weights.
#[derive(Serialize, Deserialize)]
pub struct Voting {
    pub(crate) parts: Vec<(String, FittedModel)>,
    /// One for each estimator.
    pub(crate) weights: Tensor,
    /// Probabilities are averaged, else classes are counted. False for a regressor.
    pub(crate) is_soft: bool,
    /// Classes. 0 for a regressor.
    pub(crate) classes: usize,
}

impl Voting {
    /// The weighted mean of the answers, row after row.
    fn means(&self, data: &Data, kind: Response) -> Result<Vec<f64>, Error> {
        let width = if kind == Response::Proba { self.classes } else { 1 };
        let mut sums = vec![0.0; data.rows * width];
        for ((name, fitted), weight) in self.parts.iter().zip(&self.weights.data) {
            for (k, column) in expected_response(name, fitted, data, kind)?.iter().enumerate() {
                let sums = sums.iter_mut().skip(k).step_by(width);
                sums.zip(column).for_each(|(sum, value)| *sum += weight * value);
            }
        }
        let total: f64 = self.weights.data.iter().sum();
        sums.iter_mut().for_each(|sum| *sum /= total);
        Ok(sums)
    }

    /// The class with the most votes of each row, the first one on ties.
    fn counted(&self, data: &Data) -> Result<Vec<f64>, Error> {
        let mut votes = vec![0.0; data.rows * self.classes];
        for ((name, fitted), weight) in self.parts.iter().zip(&self.weights.data) {
            let answer = expected_response(name, fitted, data, Response::Predict)?;
            let classes = answer.first().map_or(&[][..], Vec::as_slice);
            for (votes, class) in votes.chunks_mut(self.classes).zip(classes) {
                if let Some(votes) = votes.get_mut(*class as usize) {
                    *votes += weight;
                }
            }
        }
        Ok(votes.chunks(self.classes).map(|votes| highest(votes) as f64).collect())
    }
}

impl Model for Voting {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        outputs(if self.is_soft { self.classes } else { 0 })
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        match (self.is_soft, self.classes) {
            (true, classes) => Ok(columns(&self.means(data, Response::Proba)?, classes, wanted)),
            (false, 0) => Ok(columns(&self.means(data, Response::Predict)?, 0, wanted)),
            (false, _) => {
                let counted = self.counted(data)?;
                Ok(wanted.iter().map(|_| counted.clone()).collect())
            }
        }
    }

    fn attribute(&self, _: &str, _: &[Field], _: &[String]) -> Option<Attribute> {
        None
    }

    fn notes(&self) -> Vec<String> {
        named_notes(self.parts.iter().map(|(name, fitted)| (name.as_str(), fitted)))
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        let wrong = |what: &str| Err(Error::new(ErrorKind::ModelFile, what.to_string()));
        if self.classes != classes || (self.is_soft && classes == 0) {
            return wrong("the number of classes is not that of the target");
        }
        if self.parts.is_empty() || self.weights.data.len() != self.parts.len() {
            return wrong("there is not one weight for each estimator");
        }
        for (_, fitted) in &self.parts {
            check_estimator(fitted, features, classes)?;
            if self.is_soft && !has_proba(fitted) {
                return wrong("an estimator inside has no probabilities");
            }
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.parts.iter().map(|(_, fitted)| fitted.model().bytes()).sum()
    }
}
