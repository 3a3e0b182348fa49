//! Trained classifiers whose scores are calibrated (scikit-learn's `CalibratedClassifierCV`).

use serde::{Deserialize, Serialize};

use super::FittedModel;
use super::inside::{Response, check_estimator, expected_response};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::tensor::Tensor;
use crate::trees::forest::{columns, outputs};

/// The mean of calibrated classifiers.
#[derive(Serialize, Deserialize)]
pub struct CalibratedClassifier {
    pub(crate) parts: Vec<CalibratedPart>,
    pub(crate) classes: usize,
}

/// A classifier and its calibrators: one for two classes, else one for each class.
#[derive(Serialize, Deserialize)]
pub struct CalibratedPart {
    pub(crate) model: FittedModel,
    pub(crate) response: Response,
    pub(crate) calibrators: Vec<Calibrator>,
}

/// A rising or falling function of a score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Calibrator {
    /// 1 / (1 + exp(a score + b)).
    Sigmoid {
        #[serde(with = "crate::tensor::scalar")]
        a: f64,
        #[serde(with = "crate::tensor::scalar")]
        b: f64,
    },
    /// Lines between points with rising scores, constant outside of them.
    Isotonic { x: Tensor, y: Tensor },
}

/// The name of the classifier in errors.
const NAME: &str = "estimator";

/// The scores that are calibrated: those of the second of two classes, else of each class.
pub(crate) fn scores(fitted: &FittedModel, data: &Data, kind: Response) -> Result<Vec<Vec<f64>>, Error> {
    Ok(one_of_two(expected_response(NAME, fitted, data, kind)?, kind))
}

/// Leaves the probability of the first of two classes out.
pub(crate) fn one_of_two(mut answer: Vec<Vec<f64>>, kind: Response) -> Vec<Vec<f64>> {
    if kind == Response::Proba && answer.len() == 2 {
        answer.remove(0);
    }
    answer
}

impl Calibrator {
    pub(crate) fn value(&self, score: f64) -> f64 {
        match self {
            Calibrator::Sigmoid { a, b } => {
                let z = -(a * score + b);
                let small = (-z.abs()).exp();
                if z >= 0.0 { 1.0 / (1.0 + small) } else { small / (1.0 + small) }
            }
            Calibrator::Isotonic { x, y } => {
                let (x, y) = (&x.data, &y.data);
                match x.partition_point(|x| *x < score) {
                    0 => y[0],
                    at if at == x.len() => y[at - 1],
                    at => {
                        let slope = (y[at] - y[at - 1]) / (x[at] - x[at - 1]);
                        slope * (score - x[at - 1]) + y[at - 1]
                    }
                }
            }
        }
    }

    fn is_sound(&self) -> bool {
        match self {
            Calibrator::Sigmoid { .. } => true,
            Calibrator::Isotonic { x, y } => !x.data.is_empty() && x.data.len() == y.data.len(),
        }
    }
}

impl CalibratedPart {
    /// Adds the probabilities of all rows to `sums`, row after row.
    fn add(&self, data: &Data, classes: usize, sums: &mut [f64]) -> Result<(), Error> {
        let scores = scores(&self.model, data, self.response)?;
        if scores.len() != self.calibrators.len() {
            let message = format!("{} scores for {} calibrators", scores.len(), self.calibrators.len());
            return Err(Error::new(ErrorKind::ModelFile, message));
        }
        let mut proba = vec![0.0; classes];
        for (row, sums) in sums.chunks_mut(classes).enumerate() {
            let values = self.calibrators.iter().zip(&scores).map(|(calibrator, column)| calibrator.value(column[row]));
            if classes == 2 {
                let second = values.sum::<f64>();
                (proba[0], proba[1]) = (1.0 - second, second);
            } else {
                proba.iter_mut().zip(values).for_each(|(p, value)| *p = value);
                let total: f64 = proba.iter().sum();
                // A row that no class gets is shared.
                proba.iter_mut().for_each(|p| *p = if total == 0.0 { 1.0 / classes as f64 } else { *p / total });
            }
            sums.iter_mut().zip(&proba).for_each(|(sum, p)| *sum += p);
        }
        Ok(())
    }
}

impl CalibratedClassifier {
    /// Parameters of the calibrators as a frame: slopes and intercepts, or the points of lines.
    fn frame(&self, classes: &[String]) -> Attribute {
        let (mut folds, mut names) = (Vec::new(), Vec::new());
        let (mut first, mut second) = (Vec::new(), Vec::new());
        let mut titles = ("a", "b");
        for (fold, part) in self.parts.iter().enumerate() {
            let classes = if part.calibrators.len() == 1 { classes.get(1..) } else { Some(classes) };
            for (calibrator, class) in part.calibrators.iter().zip(classes.unwrap_or_default()) {
                let points: Vec<(f64, f64)> = match calibrator {
                    Calibrator::Sigmoid { a, b } => vec![(*a, *b)],
                    Calibrator::Isotonic { x, y } => {
                        titles = ("x", "y");
                        x.data.iter().copied().zip(y.data.iter().copied()).collect()
                    }
                };
                for (a, b) in points {
                    folds.push(fold as i64);
                    names.push(class.clone());
                    first.push(a);
                    second.push(b);
                }
            }
        }
        Attribute::Frame(vec![
            ("fold".to_string(), Values::Ints(folds)),
            ("class".to_string(), Values::Strs(names)),
            (titles.0.to_string(), Values::Floats(first)),
            (titles.1.to_string(), Values::Floats(second)),
        ])
    }
}

impl Model for CalibratedClassifier {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        outputs(self.classes)
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let mut sums = vec![0.0; data.rows * self.classes];
        self.parts.iter().try_for_each(|part| part.add(data, self.classes, &mut sums))?;
        sums.iter_mut().for_each(|sum| *sum /= self.parts.len() as f64);
        Ok(columns(&sums, self.classes, wanted))
    }

    fn attribute(&self, name: &str, _: &[Field], classes: &[String]) -> Option<Attribute> {
        (name == "calibrators").then(|| self.frame(classes))
    }

    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.parts.iter().flat_map(|part| part.model.model().notes()).collect();
        notes.sort();
        notes.dedup();
        notes
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        let wrong = |what: &str| Err(Error::new(ErrorKind::ModelFile, what.to_string()));
        if self.classes != classes || classes < 2 {
            return wrong("the number of classes is not that of the target");
        }
        if self.parts.is_empty() {
            return wrong("the ensemble has 0 estimators, and needs at least one");
        }
        for part in &self.parts {
            check_estimator(&part.model, features, classes)?;
            let count = if classes == 2 { 1 } else { classes };
            if part.calibrators.len() != count || !part.calibrators.iter().all(Calibrator::is_sound) {
                return wrong("the calibrators do not fit the classes");
            }
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.model.model().bytes()).sum()
    }
}
