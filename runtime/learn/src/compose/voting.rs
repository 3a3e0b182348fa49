//! Votes of several estimators (scikit-learn's `VotingClassifier` and `VotingRegressor`).

use onrush_wire::learn::Spec;

use super::members::{members, train};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::estimators::inside::has_proba;
use crate::estimators::{Trainer, Voting};
use crate::params::{self, Floats};
use crate::run::Run;
use crate::tensor::Tensor;

/// Trains the estimators one after the other.
pub fn fit(spec: &Spec, data: &Data, run: &Run<'_>, fit: Trainer<'_>) -> Result<Voting, Error> {
    let members = members(spec)?;
    let (is_soft, weights) = match spec.is_classifier() {
        true => {
            let params = params::VotingClassifier::of(spec);
            (params.voting == "soft", params.weights)
        }
        false => (false, params::VotingRegressor::of(spec).weights),
    };
    let count = spec.parts.len();
    let weights = checked(weights.as_ref(), count)?;
    let weights: Vec<f64> = members.iter().map(|(position, _)| weights[*position]).collect();
    if weights.iter().sum::<f64>() <= 0.0 {
        return Err(Error::new(ErrorKind::Parameter, "`weights` are all 0: expected at least one above 0"));
    }
    let mut parts = Vec::new();
    for (number, (_, part)) in members.iter().enumerate() {
        let fitted = train((number, members.len()), &part.name, &part.spec, data, run, fit)?;
        if is_soft && !has_proba(&fitted) {
            let message =
                format!("estimator `{}` is {}, which predicts no probabilities", part.name, part.spec.estimator);
            return Err(Error::new(ErrorKind::Estimator, message)
                .help("set `voting` to \"hard\", or calibrate it with `CalibratedClassifierCV`"));
        }
        parts.push((part.name.clone(), fitted));
    }
    Ok(Voting { parts, weights: Tensor::vector(weights), is_soft, classes: data.classes.len() })
}

/// The weight of each estimator, also of dropped ones.
fn checked(weights: Option<&Floats>, count: usize) -> Result<Vec<f64>, Error> {
    match weights {
        None => Ok(vec![1.0; count]),
        Some(weights) if weights.len() == count && weights.iter().all(|w| w.is_finite()) => Ok(weights.to_vec()),
        Some(weights) => {
            let message = format!("`weights` is {weights}: one finite number for each of {count} estimators");
            Err(Error::new(ErrorKind::Parameter, message))
        }
    }
}
