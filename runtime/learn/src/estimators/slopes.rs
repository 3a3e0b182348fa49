//! A small model for tests of searches and scores.

use serde::{Deserialize, Serialize};

use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role};
use crate::tensor::Tensor;

/// Ridge regression without an intercept: scikit-learn's `Ridge(fit_intercept=False)`. For classes `RidgeClassifier`,
/// with probabilities by logistic function or softmax.
#[derive(Serialize, Deserialize)]
pub(crate) struct Slopes {
    /// A row for each class, one row for numbers and for two classes.
    pub coef: Tensor,
    pub classes: usize,
}

impl Model for Slopes {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        std::iter::once(Role::Prediction).chain((0..self.classes).map(Role::Proba)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let values = |k: usize| -> Vec<f64> {
            let line = self.coef.row(k);
            (0..data.rows).map(|row| data.features.iter().zip(line).map(|(c, w)| c.values[row] * w).sum()).collect()
        };
        let lines: Vec<Vec<f64>> = (0..self.coef.shape[0]).map(values).collect();
        if self.classes == 0 {
            return Ok(wanted.iter().map(|_| lines[0].clone()).collect());
        }
        let proba = |row: usize| -> Vec<f64> {
            if self.classes == 2 {
                return [-1.0f64, 1.0].iter().map(|sign| 1.0 / (1.0 + (-sign * lines[0][row]).exp())).collect();
            }
            let most = lines.iter().map(|l| l[row]).fold(f64::MIN, f64::max);
            let powers: Vec<f64> = lines.iter().map(|l| (l[row] - most).exp()).collect();
            let sum: f64 = powers.iter().sum();
            powers.iter().map(|p| p / sum).collect()
        };
        let rows: Vec<Vec<f64>> = (0..data.rows).map(proba).collect();
        let best = |p: &Vec<f64>| (0..p.len()).rev().max_by(|a, b| p[*a].total_cmp(&p[*b])).unwrap() as f64;
        let column = |i: &usize| match i {
            0 => rows.iter().map(best).collect(),
            k => rows.iter().map(|p| p[k - 1]).collect(),
        };
        Ok(wanted.iter().map(column).collect())
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        (name == "coef").then(|| Attribute::by_feature(features, "coef", self.coef.row(0)))
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        match self.coef.shape.get(1) == Some(&features) && self.classes == classes {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::ModelFile, "the slopes do not fit the features")),
        }
    }
}
