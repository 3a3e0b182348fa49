//! Boosting by weights of rows (scikit-learn's `AdaBoostClassifier` and `AdaBoostRegressor`; Freund and Schapire 1997;
//! Zhu, Zou, Rosset and Hastie 2009; Drucker 1997). Samples are scikit-learn's for the same seed.

use onrush_wire::learn::Spec;

use super::members::{drawn_by_weight, only, takes_weights, train, with_seeds};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::estimators::inside::{Response, expected_response};
use crate::estimators::{AdaBoost, FittedModel, Trainer};
use crate::model::{Attribute, Values};
use crate::params;
use crate::random::Mt19937;
use crate::run::Run;
use crate::tensor::Tensor;

/// A boosted ensemble while it grows.
#[derive(Default)]
struct Rounds {
    parts: Vec<FittedModel>,
    weights: Vec<f64>,
    errors: Vec<f64>,
}

/// Trains the classifiers.
///
/// # Errors
/// If a training fails, the first classifier predicts as badly as chance, or the user stops the training.
pub fn classifier(spec: &Spec, data: &Data, run: &Run<'_>, fit: Trainer<'_>) -> Result<AdaBoost, Error> {
    let params = params::AdaBoostClassifier::of(spec);
    let inner = only(spec, &|| Spec::new("DecisionTreeClassifier").with("max_depth", 1usize))?;
    if !takes_weights(&inner) {
        let message = format!("{} takes no sample weights, by which AdaBoostClassifier trains", inner.estimator);
        return Err(Error::new(ErrorKind::Estimator, message).help("take BaggingClassifier, or another estimator"));
    }
    let mut random = Mt19937::new(params::seed(params.random_state));
    let mut rounds = Rounds::default();
    let mut weights = start(data)?;
    let is_zero: Vec<bool> = weights.iter().map(|w| *w == 0.0).collect();
    let classes = data.classes.len() as f64;
    let mut weighted = data.clone();
    for number in 0..params.n_estimators {
        clip(&mut weights, &is_zero);
        weighted.weight = Some(weights.clone());
        let seeded = with_seeds(&inner, &mut random)?;
        let fitted = train((number, params.n_estimators), &inner.estimator, &seeded, &weighted, run, fit)?;
        let predicted = predicted(&fitted, data)?;
        let is_wrong: Vec<bool> = predicted.iter().zip(&data.y).map(|(p, y)| p != y).collect();
        let of_wrong = weights.iter().zip(&is_wrong).filter(|(_, wrong)| **wrong).map(|(w, _)| w).sum::<f64>();
        let error = of_wrong / weights.iter().sum::<f64>();
        if error <= 0.0 {
            rounds.push(fitted, 1.0, 0.0);
            break;
        }
        if error >= 1.0 - 1.0 / classes {
            if rounds.parts.is_empty() {
                let message = format!("{} predicts as badly as chance, and cannot be boosted", inner.estimator);
                return Err(Error::new(ErrorKind::Fit, message).help("take another estimator"));
            }
            break;
        }
        let weight = params.learning_rate * (((1.0 - error) / error).ln() + (classes - 1.0).ln());
        let factors: Vec<f64> = is_wrong.iter().map(|wrong| if *wrong { weight.exp() } else { 1.0 }).collect();
        rounds.push(fitted, weight, error);
        if number + 1 < params.n_estimators && !reweigh(&mut weights, &factors) {
            break;
        }
    }
    Ok(rounds.into_model(data))
}

/// Trains the regressors.
///
/// # Errors
/// If a training fails, or the user stops it.
pub fn regressor(spec: &Spec, data: &Data, run: &Run<'_>, fit: Trainer<'_>) -> Result<AdaBoost, Error> {
    let params = params::AdaBoostRegressor::of(spec);
    let inner = only(spec, &|| Spec::new("DecisionTreeRegressor").with("max_depth", 3usize))?;
    let mut random = Mt19937::new(params::seed(params.random_state));
    let mut rounds = Rounds::default();
    let mut weights = start(data)?;
    let is_zero: Vec<bool> = weights.iter().map(|w| *w == 0.0).collect();
    for number in 0..params.n_estimators {
        clip(&mut weights, &is_zero);
        let seeded = with_seeds(&inner, &mut random)?;
        let rows = drawn_by_weight(&weights, data.rows, &mut random);
        let sample = Data { weight: None, ..data.take(&rows) };
        let fitted = train((number, params.n_estimators), &inner.estimator, &seeded, &sample, run, fit)?;
        let losses = losses(&params.loss, &predicted(&fitted, data)?, data, &weights);
        let error: f64 = losses.iter().zip(&weights).map(|(loss, w)| loss * w).sum();
        if error <= 0.0 {
            rounds.push(fitted, 1.0, 0.0);
            break;
        }
        if error >= 0.5 {
            // A single regressor stays, whatever its error is.
            if rounds.parts.is_empty() {
                rounds.push(fitted, 0.0, 1.0);
            }
            break;
        }
        let beta = error / (1.0 - error);
        let weight = params.learning_rate * (1.0 / beta).ln();
        let factors: Vec<f64> = losses.iter().map(|loss| beta.powf((1.0 - loss) * params.learning_rate)).collect();
        rounds.push(fitted, weight, error);
        if number + 1 < params.n_estimators && !reweigh(&mut weights, &factors) {
            break;
        }
    }
    Ok(rounds.into_model(data))
}

impl Rounds {
    fn push(&mut self, fitted: FittedModel, weight: f64, error: f64) {
        self.parts.push(fitted);
        self.weights.push(weight);
        self.errors.push(error);
    }

    fn into_model(self, data: &Data) -> AdaBoost {
        let importances = self.importances(data.width()).map(Tensor::vector);
        AdaBoost {
            parts: self.parts,
            weights: Tensor::vector(self.weights),
            errors: Tensor::vector(self.errors),
            importances,
            classes: data.classes.len(),
        }
    }

    /// The weighted mean of the importances. `None` if an estimator has none.
    fn importances(&self, width: usize) -> Option<Vec<f64>> {
        let total: f64 = self.weights.iter().sum();
        let mut sums = vec![0.0; width];
        for (fitted, weight) in self.parts.iter().zip(&self.weights) {
            let Some(Attribute::Frame(columns)) = fitted.attribute("feature_importances") else { return None };
            let floats = columns.iter().find_map(|(_, values)| match values {
                Values::Floats(values) if values.len() == width => Some(values),
                _ => None,
            })?;
            sums.iter_mut().zip(floats).for_each(|(sum, value)| *sum += weight * value);
        }
        (total > 0.0).then(|| sums.into_iter().map(|sum| sum / total).collect())
    }
}

/// The weights of rows before the first round, with the sum 1.
fn start(data: &Data) -> Result<Vec<f64>, Error> {
    let weights: Vec<f64> = (0..data.rows).map(|row| data.weight_of(row)).collect();
    let total: f64 = weights.iter().sum();
    if total <= 0.0 {
        return Err(Error::new(ErrorKind::Weight, "all sample weights are 0: expected at least one above 0"));
    }
    Ok(weights.into_iter().map(|w| w / total).collect())
}

/// Keeps weights above 0 away from 0.
fn clip(weights: &mut [f64], is_zero: &[bool]) {
    let kept = weights.iter_mut().zip(is_zero).filter(|(_, is_zero)| !**is_zero);
    kept.for_each(|(w, _)| *w = w.max(f64::EPSILON));
}

/// Changes the weights of rows to the sum 1. False if that is not possible.
fn reweigh(weights: &mut [f64], factors: &[f64]) -> bool {
    weights.iter_mut().zip(factors).for_each(|(w, factor)| *w *= factor);
    let total: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|w| *w /= total);
    total.is_finite() && total > 0.0
}

fn predicted(fitted: &FittedModel, data: &Data) -> Result<Vec<f64>, Error> {
    Ok(expected_response("estimator", fitted, data, Response::Predict)?.into_iter().next().unwrap_or_default())
}

/// The losses of rows, from 0 to 1. Rows without weight have the loss 0 and do not set the scale.
fn losses(loss: &str, predicted: &[f64], data: &Data, weights: &[f64]) -> Vec<f64> {
    let errors = predicted.iter().zip(&data.y).zip(weights);
    let mut errors: Vec<f64> = errors.map(|((p, y), w)| if *w > 0.0 { (p - y).abs() } else { 0.0 }).collect();
    let most = errors.iter().copied().fold(0.0, f64::max);
    if most > 0.0 {
        errors.iter_mut().for_each(|error| *error /= most);
    }
    match loss {
        "square" => errors.iter_mut().for_each(|error| *error *= *error),
        "exponential" => errors.iter_mut().for_each(|error| *error = 1.0 - (-*error).exp()),
        _ => {}
    }
    errors
}
