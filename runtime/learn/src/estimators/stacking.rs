//! Trained estimators and a final one that sees their answers (scikit-learn's `StackingClassifier` and
//! `StackingRegressor`).

use serde::{Deserialize, Serialize};

pub(crate) use super::inside::Response;

use super::FittedModel;
use super::inside::{check_estimator, check_inside, expected_response, named_bars, named_notes};
use crate::check;
use crate::data::{Column, Data};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role};

/// Trained estimators, how they answer, and the final estimator of the answers.
#[derive(Serialize, Deserialize)]
pub struct Stacking {
    pub(crate) parts: Vec<(String, FittedModel)>,
    /// One for each estimator.
    pub(crate) responses: Vec<Response>,
    pub(crate) last: Box<FittedModel>,
    /// The final estimator also sees the features.
    pub(crate) passthrough: bool,
    /// Classes. 0 for a regressor.
    pub(crate) classes: usize,
}

/// The answer of an estimator as features of the final one. The first of two probabilities follows from the other one
/// and is left out.
pub(crate) fn answer_columns(name: &str, kind: Response, mut answer: Vec<Vec<f64>>, classes: &[String]) -> Vec<Column> {
    if kind == Response::Proba && answer.len() == 2 {
        answer.remove(0);
    }
    let is_one = answer.len() == 1;
    let title = |k: usize| match (is_one, classes.get(k)) {
        (false, Some(class)) => format!("{name}_{class}"),
        _ => name.to_string(),
    };
    answer.into_iter().enumerate().map(|(k, values)| Column::number(title(k), values)).collect()
}

impl Stacking {
    /// The rows that the final estimator sees.
    fn answers(&self, data: &Data) -> Result<Data, Error> {
        let mut columns = Vec::new();
        for ((name, fitted), kind) in self.parts.iter().zip(&self.responses) {
            let answer = expected_response(name, fitted, data, *kind)?;
            columns.extend(answer_columns(name, *kind, answer, &fitted.classes));
        }
        if self.passthrough {
            columns.extend(data.features.iter().cloned());
        }
        if columns.len() != self.last.features.len() {
            return Err(Error::new(
                ErrorKind::ModelFile,
                format!("the final estimator has {} features, and gets {}", self.last.features.len(), columns.len()),
            ));
        }
        let data = data.with_features(columns);
        check::features(&self.last.spec, &data)?;
        Ok(data)
    }
}

impl Model for Stacking {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        self.last.model().outputs(&self.last.features)
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        self.last.model().apply(&self.answers(data)?, wanted)
    }

    fn decision(&self, data: &Data) -> Result<Option<Vec<Vec<f64>>>, Error> {
        self.last.model().decision(&self.answers(data)?)
    }

    fn attribute(&self, name: &str, _: &[Field], _: &[String]) -> Option<Attribute> {
        self.last.attribute(name)
    }

    fn bars(&self) -> Option<(&'static str, Vec<f64>)> {
        self.last.model().bars()
    }

    fn bar_names(&self) -> Option<Vec<String>> {
        Some(named_bars(self.last.model(), &self.last.features))
    }

    fn notes(&self) -> Vec<String> {
        let parts = self.parts.iter().map(|(name, fitted)| (name.as_str(), fitted));
        named_notes(parts.chain(std::iter::once(("final_estimator", &*self.last))))
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        let wrong = |what: &str| Err(Error::new(ErrorKind::ModelFile, what.to_string()));
        if self.classes != classes || self.last.classes.len() != classes {
            return wrong("the number of classes is not that of the target");
        }
        if self.parts.is_empty() || self.responses.len() != self.parts.len() {
            return wrong("there is not one kind of answers for each estimator");
        }
        self.parts.iter().try_for_each(|(_, fitted)| check_estimator(fitted, features, classes))?;
        match self.outputs(&[]).contains(&Role::Prediction) {
            true => check_inside(&self.last),
            false => wrong("the final estimator does not predict"),
        }
    }

    fn bytes(&self) -> u64 {
        let parts: u64 = self.parts.iter().map(|(_, fitted)| fitted.model().bytes()).sum();
        parts + self.last.model().bytes()
    }
}
