//! A trained model of gradient boosting.

use serde::{Deserialize, Serialize};

use super::losses::BoostingLoss;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::explain::Scale;
use crate::explain::shape::Shapes;
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::tensor::Tensor;
use crate::trees::forest::{columns, highest, outputs};
use crate::trees::tree::Trees;

/// A boosted model. The values of leaves contain the learning rate.
#[derive(Serialize, Deserialize)]
pub struct GradientBoosted {
    pub loss: BoostingLoss,
    /// Raw predictions before the first tree.
    pub baseline: Tensor,
    /// Trees of the first round, then of the second one: as many for each round as there are raw predictions.
    pub trees: Trees,
    pub importances: Tensor,
    /// Losses after each round, of the rows that it was trained on.
    pub train_score: Tensor,
    /// Losses of the rows that a round did not see: before the first one, and after each. Empty without `subsample`.
    pub oob: Tensor,
    /// Losses of the rows of early stopping after each round. Empty without it.
    pub validation: Tensor,
}

/// Losses by round, from round 1 on.
pub fn points(losses: &[f64]) -> Vec<(f64, f64)> {
    losses.iter().enumerate().map(|(round, loss)| ((round + 1) as f64, *loss)).collect()
}

impl GradientBoosted {
    /// Raw predictions, row after row.
    fn raw(&self, data: &Data) -> Vec<f64> {
        let count = self.loss.outputs();
        let mut sums = self.trees.sums(data, count, |tree, _, value, sums| sums[tree % count] += value[0]);
        for raw in sums.chunks_mut(count) {
            raw.iter_mut().zip(&self.baseline.data).for_each(|(raw, base)| *raw += base);
        }
        sums
    }
}

impl Model for GradientBoosted {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        outputs(self.loss.classes())
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let (raw, classes) = (self.raw(data), self.loss.classes());
        let mut predicted = Vec::with_capacity(data.rows * classes.max(1));
        raw.chunks(self.loss.outputs()).for_each(|raw| self.loss.predict(raw, &mut predicted));
        let mut out = columns(&predicted, classes, wanted);
        // Scores decide: a probability may be rounded to that of another class.
        let class = |raw: &[f64]| match raw {
            [one] => f64::from(u8::from(*one >= 0.0)),
            several => highest(several) as f64,
        };
        for (column, _) in out.iter_mut().zip(wanted).filter(|(_, k)| classes > 0 && **k == 0) {
            *column = raw.chunks(self.loss.outputs()).map(class).collect();
        }
        Ok(out)
    }

    fn decision(&self, data: &Data) -> Result<Option<Vec<Vec<f64>>>, Error> {
        if self.loss.classes() == 0 {
            return Ok(None);
        }
        let (raw, count) = (self.raw(data), self.loss.outputs());
        Ok(Some((0..count).map(|k| raw.iter().skip(k).step_by(count).copied().collect()).collect()))
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        let frame = |title: &str, values: Vec<f64>| {
            let rounds = (1..=values.len() as i64).collect();
            Attribute::Frame(vec![
                ("iteration".to_string(), Values::Ints(rounds)),
                (title.to_string(), Values::Floats(values)),
            ])
        };
        let oob = Some(&self.oob.data).filter(|oob| !oob.is_empty());
        match name {
            "feature_importances" => Some(Attribute::by_feature(features, "importance", &self.importances.data)),
            "train_score" => Some(frame("loss", self.train_score.data.clone())),
            "oob_improvement" => oob.map(|oob| frame("improvement", oob.windows(2).map(|w| w[0] - w[1]).collect())),
            "oob_score" => oob.and_then(|oob| oob.last()).map(|last| Attribute::Float(*last)),
            "n_estimators" => Some(Attribute::Int((self.trees.len() / self.loss.outputs()) as i64)),
            _ => None,
        }
    }

    fn bars(&self) -> Option<(&'static str, Vec<f64>)> {
        Some(("importance", self.importances.data.clone()))
    }

    fn curves(&self) -> Vec<(String, Vec<(f64, f64)>)> {
        let mut curves = vec![("training loss".to_string(), points(&self.train_score.data))];
        if self.oob.data.len() > 1 {
            curves.push(("out-of-bag loss".to_string(), points(&self.oob.data[1..])));
        }
        if !self.validation.data.is_empty() {
            curves.push(("validation loss".to_string(), points(&self.validation.data)));
        }
        curves
    }

    /// Raw predictions.
    fn shapes(&self, _: &Data) -> Result<Option<Shapes<'_>>, Error> {
        let count = self.loss.outputs();
        let scale = if self.loss.classes() > 0 { Scale::Margin } else { Scale::Value };
        self.trees.shapes((self.baseline.data.clone(), scale), 1.0, |tree| tree % count).map(Some)
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        let wrong = |what: &str| Err(Error::new(ErrorKind::ModelFile, what.to_string()));
        let count = self.loss.outputs();
        let is_known = match self.loss {
            BoostingLoss::Classes(count) => count > 2,
            _ => true,
        };
        if self.loss.classes() != classes || !is_known {
            return wrong("the number of classes is not that of the target and the loss");
        }
        if self.baseline.data.len() != count || self.trees.len() == 0 || !self.trees.len().is_multiple_of(count) {
            return wrong("the trees do not fit the number of raw predictions");
        }
        if self.importances.data.len() != features {
            return wrong("there is not one importance for each feature");
        }
        self.trees.check(features, 1)
    }

    fn bytes(&self) -> u64 {
        self.trees.bytes() + self.train_score.bytes() + self.oob.bytes() + self.validation.bytes()
    }
}
