//! Features without variance left out (scikit-learn's `VarianceThreshold`).

use serde::{Deserialize, Serialize};

use super::{each, lying, outputs, scale};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role};
use crate::params;
use crate::run::Run;
use crate::tensor::Tensor;

/// `VarianceThreshold`. Missing values are skipped in training and stay missing.
#[derive(Serialize, Deserialize)]
pub struct Variance {
    variances: Tensor,
    /// The positions of the features that stay.
    kept: Vec<usize>,
}

/// Finds the variances.
pub fn fit(params: &params::VarianceThreshold, data: &Data, run: &Run<'_>) -> Result<Variance, Error> {
    let threshold = params.threshold;
    let variances = each(data, run, |_, column| {
        let variance = scale::variance(&column.values);
        // The range of a constant is exactly 0, its variance may not be. scikit-learn's range of a feature with missing
        // values is missing.
        let [low, high] = scale::ends(&column.values);
        let exact = threshold == 0.0 && column.missing() == 0;
        Ok(if exact { variance.min(high - low) } else { variance })
    })?;
    let kept: Vec<usize> = (0..data.width()).filter(|j| variances[*j] > threshold).collect();
    if kept.is_empty() {
        let largest = variances.iter().fold(f64::NAN, |a, b| a.max(*b));
        let message = format!("no feature has a variance above {threshold}: the largest is {largest}");
        return Err(Error::new(ErrorKind::NoFeatures, message).help("take a lower `threshold`"));
    }
    Ok(Variance { variances: Tensor::vector(variances), kept })
}

impl Model for Variance {
    fn outputs(&self, features: &[Field]) -> Vec<Role> {
        let role = |j: &usize| Role::Feature(features[*j].name.clone(), features[*j].kind.clone());
        self.kept.iter().map(role).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        Ok(outputs(wanted, |k| data.features[self.kept[k]].values.clone()))
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        (name == "variances").then(|| Attribute::by_feature(features, "variance", &self.variances.data))
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        match self.variances.data.len() == features && self.kept.iter().all(|j| *j < features) {
            true => Ok(()),
            false => Err(lying(format!("the variances do not fit {features} features"))),
        }
    }

    fn bytes(&self) -> u64 {
        self.variances.bytes()
    }
}
