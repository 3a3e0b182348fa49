//! Trained classifiers of two classes that decide among several (scikit-learn's `OneVsRestClassifier` and
//! `OneVsOneClassifier`).

use serde::{Deserialize, Serialize};

use super::FittedModel;
use super::inside::{Response, check_inside, expected_response, has_proba};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role};
use crate::trees::forest::{columns, highest, outputs};

/// Classifiers of each class and the other ones: one for two classes.
#[derive(Serialize, Deserialize)]
pub struct OneVsRest {
    pub(crate) parts: Vec<FittedModel>,
    /// The scores that decide.
    pub(crate) response: Response,
    pub(crate) has_proba: bool,
    pub(crate) classes: usize,
}

/// Classifiers of each pair of classes: 0 and 1, 0 and 2, and so on.
#[derive(Serialize, Deserialize)]
pub struct OneVsOne {
    pub(crate) parts: Vec<FittedModel>,
    /// The scores that break ties.
    pub(crate) response: Response,
    pub(crate) classes: usize,
}

/// The name of the classifier in errors.
const NAME: &str = "estimator";

/// The score of the second class from which it is predicted.
fn threshold(response: Response) -> f64 {
    if response == Response::Proba { 0.5 } else { 0.0 }
}

/// The score of the second class.
fn second(fitted: &FittedModel, data: &Data, response: Response) -> Result<Vec<f64>, Error> {
    Ok(expected_response(NAME, fitted, data, response)?.pop().unwrap_or_default())
}

fn check_parts(parts: &[FittedModel], count: usize, features: usize, needs_proba: bool) -> Result<(), Error> {
    let wrong = |what: &str| Err(Error::new(ErrorKind::ModelFile, what.to_string()));
    if parts.len() != count {
        return wrong("the number of classifiers does not fit the classes");
    }
    for fitted in parts {
        check_inside(fitted)?;
        let predicts = fitted.model().outputs(&fitted.features).contains(&Role::Prediction);
        if fitted.features.len() != features || fitted.classes.len() != 2 || !predicts {
            return wrong("a classifier inside has other features or classes");
        }
        if needs_proba && !has_proba(fitted) {
            return wrong("a classifier inside has no probabilities");
        }
    }
    Ok(())
}

impl OneVsRest {
    /// For each classifier the score of its class.
    fn scores(&self, data: &Data, response: Response) -> Result<Vec<Vec<f64>>, Error> {
        self.parts.iter().map(|fitted| second(fitted, data, response)).collect()
    }

    /// The class of each row. The first of equal scores wins.
    fn predicted(&self, data: &Data) -> Result<Vec<f64>, Error> {
        let scores = self.scores(data, self.response)?;
        if let [only] = &scores[..] {
            let threshold = threshold(self.response);
            return Ok(only.iter().map(|score| f64::from(u8::from(*score > threshold))).collect());
        }
        let first_highest = |row: usize| {
            (1..scores.len()).fold(0, |best, k| if scores[k][row] > scores[best][row] { k } else { best }) as f64
        };
        Ok((0..data.rows).map(first_highest).collect())
    }

    /// The probabilities, row after row.
    fn probabilities(&self, data: &Data) -> Result<Vec<f64>, Error> {
        let scores = self.scores(data, Response::Proba)?;
        let mut out = Vec::with_capacity(data.rows * self.classes);
        for row in 0..data.rows {
            let start = out.len();
            match &scores[..] {
                [only] => out.extend([1.0 - only[row], only[row]]),
                several => out.extend(several.iter().map(|column| column[row])),
            }
            let total: f64 = out[start..].iter().sum();
            if total != 0.0 {
                out[start..].iter_mut().for_each(|p| *p /= total);
            }
        }
        Ok(out)
    }
}

impl Model for OneVsRest {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        outputs(if self.has_proba { self.classes } else { 0 })
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let proba = match wanted.iter().any(|k| *k > 0) {
            true => self.probabilities(data)?,
            false => Vec::new(),
        };
        let predicted = if wanted.contains(&0) { self.predicted(data)? } else { Vec::new() };
        let one = |k: &usize| match *k {
            0 => predicted.clone(),
            _ => columns(&proba, self.classes, &[*k]).pop().unwrap_or_default(),
        };
        Ok(wanted.iter().map(one).collect())
    }

    fn decision(&self, data: &Data) -> Result<Option<Vec<Vec<f64>>>, Error> {
        match self.response {
            Response::Decision => self.scores(data, Response::Decision).map(Some),
            _ => Ok(None),
        }
    }

    fn attribute(&self, _: &str, _: &[Field], _: &[String]) -> Option<Attribute> {
        None
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        if self.classes != classes || classes < 2 || self.response == Response::Predict {
            return Err(Error::new(ErrorKind::ModelFile, "the number of classes is not that of the target"));
        }
        let needs_proba = self.has_proba || self.response == Response::Proba;
        check_parts(&self.parts, if classes == 2 { 1 } else { classes }, features, needs_proba)
    }

    fn bytes(&self) -> u64 {
        self.parts.iter().map(|fitted| fitted.model().bytes()).sum()
    }
}

impl OneVsOne {
    /// The votes of each class, row after row. Confidences break ties.
    fn votes(&self, data: &Data) -> Result<Vec<f64>, Error> {
        let classes = self.classes;
        let mut votes = vec![0.0f64; data.rows * classes];
        let mut sums = vec![0.0f64; data.rows * classes];
        let pairs = (0..classes).flat_map(|i| (i + 1..classes).map(move |j| (i, j)));
        for ((i, j), fitted) in pairs.zip(&self.parts) {
            let confidence = second(fitted, data, self.response)?;
            let predicted = second(fitted, data, Response::Predict)?;
            for row in 0..data.rows {
                let at = row * classes;
                sums[at + i] -= confidence[row];
                sums[at + j] += confidence[row];
                votes[at + if predicted[row] == 0.0 { i } else { j }] += 1.0;
            }
        }
        votes.iter_mut().zip(sums).for_each(|(vote, sum)| *vote += sum / (3.0 * (sum.abs() + 1.0)));
        Ok(votes)
    }
}

impl Model for OneVsOne {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        outputs(0)
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let votes = self.votes(data)?;
        let threshold = threshold(self.response);
        let class = |votes: &[f64]| match votes {
            [_, second] => f64::from(u8::from(*second > threshold)),
            several => highest(several) as f64,
        };
        let predicted: Vec<f64> = votes.chunks(self.classes).map(class).collect();
        Ok(wanted.iter().map(|_| predicted.clone()).collect())
    }

    fn decision(&self, data: &Data) -> Result<Option<Vec<Vec<f64>>>, Error> {
        let votes = self.votes(data)?;
        let column = |k: usize| votes.iter().skip(k).step_by(self.classes).copied().collect();
        let from = usize::from(self.classes == 2);
        Ok(Some((from..self.classes).map(column).collect()))
    }

    fn attribute(&self, _: &str, _: &[Field], _: &[String]) -> Option<Attribute> {
        None
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        if self.classes != classes || classes < 2 || self.response == Response::Predict {
            return Err(Error::new(ErrorKind::ModelFile, "the number of classes is not that of the target"));
        }
        let pairs = classes * (classes - 1) / 2;
        check_parts(&self.parts, pairs, features, self.response == Response::Proba)
    }

    fn bytes(&self) -> u64 {
        self.parts.iter().map(|fitted| fitted.model().bytes()).sum()
    }
}
