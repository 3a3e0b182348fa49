//! Linear models.

mod squares;

pub use squares::fit;

use serde::{Deserialize, Serialize};

use crate::data::Data;
use crate::error::Error;
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::tensor::Tensor;

/// A linear regressor: `x coef + intercept`.
#[derive(Serialize, Deserialize)]
pub struct Linear {
    pub coef: Tensor,
    pub intercept: f64,
    /// Of least squares: the rank, the singular values of the centred features.
    pub rank: Option<usize>,
    pub singular: Option<Tensor>,
    /// Standard error, t, p, and the 95 % interval of each coefficient, the intercept first.
    pub summary: Option<Tensor>,
    pub notes: Vec<String>,
}

impl Model for Linear {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        vec![Role::Prediction]
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        Ok(wanted.iter().map(|_| scores(data, &self.coef.data, self.intercept)).collect())
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        match name {
            "coef" => Some(Attribute::by_feature(features, "coef", &self.coef.data)),
            "intercept" => Some(Attribute::Float(self.intercept)),
            "rank" => self.rank.map(|r| Attribute::Int(r as i64)),
            "singular" => {
                let values = self.singular.as_ref()?.data.clone();
                Some(Attribute::Frame(vec![("singular".to_string(), Values::Floats(values))]))
            }
            _ => None,
        }
    }

    fn bars(&self) -> Option<(&'static str, Vec<f64>)> {
        Some(("coefficient", self.coef.data.clone()))
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        match self.coef.data.len() == features {
            true => Ok(()),
            false => Err(Error::new("model-file", format!("{} coefficients for {features} features", self.coef.data.len()))),
        }
    }

    fn bytes(&self) -> u64 {
        self.coef.bytes()
    }
}

/// `x coef + intercept` for each row.
pub fn scores(data: &Data, coef: &[f64], intercept: f64) -> Vec<f64> {
    let mut out = vec![intercept; data.rows];
    for (column, weight) in data.features.iter().zip(coef) {
        out.iter_mut().zip(&column.values).for_each(|(o, x)| *o += x * weight);
    }
    out
}
