//! A final estimator of the answers of others (scikit-learn's `StackingClassifier` and `StackingRegressor`; Wolpert
//! 1992).

use std::borrow::Cow;

use onrush_wire::learn::{Spec, Splitter};

use super::folds::cross_predict;
use super::members::{FINAL, members, train};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::estimators::inside::{has_proba, response};
use crate::estimators::{FittedModel, Response, Stacking, Trainer, answer_columns};
use crate::params;
use crate::run::Run;
use crate::split::splits;

/// Trains the estimators on all rows, then on the rows of each fold. The final one learns from the answers for the rows
/// that they were not trained on.
pub fn fit(spec: &Spec, data: &Data, run: &Run<'_>, fit: Trainer<'_>) -> Result<Stacking, Error> {
    let members = members(spec)?;
    let is_classifier = spec.is_classifier();
    let (method, passthrough) = match is_classifier {
        true => {
            let params = params::StackingClassifier::of(spec);
            (params.stack_method, params.passthrough)
        }
        false => ("predict".to_string(), params::StackingRegressor::of(spec).passthrough),
    };
    let last = match spec.parts.iter().find(|part| part.name == FINAL) {
        Some(part) => Cow::Borrowed(&part.spec),
        None => Cow::Owned(Spec::new(if is_classifier { "LogisticRegression" } else { "RidgeCV" })),
    };
    if super::kind(&last) != super::kind(spec) {
        let wanted = if is_classifier { "a classifier" } else { "a regressor" };
        let message = format!("`{FINAL}` of {} is {}: expected {wanted}", spec.estimator, last.estimator);
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    let splitter = spec.cv.clone().unwrap_or(Splitter::Auto { n_splits: 5 });
    let splits = splits(&splitter, data.rows, Some(&data.y), is_classifier, data.groups.as_deref())?;
    // All of them, their folds, and the final estimator.
    let all = 2 * members.len() + 1;
    let (mut parts, mut responses) = (Vec::new(), Vec::new());
    for (number, (_, part)) in members.iter().enumerate() {
        let fitted = train((number, all), &part.name, &part.spec, data, run, fit)?;
        responses.push(chosen(&method, &part.name, &fitted, data)?);
        parts.push((part.name.clone(), fitted));
    }
    let mut columns = Vec::new();
    for (number, ((_, part), kind)) in members.iter().zip(&responses).enumerate() {
        let number = members.len() + number;
        run.check(|| format!("{number} of {all} estimators"))?;
        let title = format!("{} of {all}", number + 1);
        let stage = |inner: String| run.stage(format!("{title}: {inner}"));
        let inner = Run { is_stopped: run.is_stopped, stage: &stage, ..Run::silent() };
        let answer = cross_predict((&part.name, &part.spec), data, &splits, *kind, &inner, fit)?;
        columns.extend(answer_columns(&part.name, *kind, answer, &data.classes));
        (run.steps)(number as u64 + 1, all as u64);
    }
    if passthrough {
        columns.extend(data.features.iter().cloned());
    }
    let answers = data.with_features(columns);
    let last = train((all - 1, all), FINAL, &last, &answers, run, fit)?;
    Ok(Stacking { parts, responses, last: Box::new(last), passthrough, classes: data.classes.len() })
}

/// How an estimator answers.
fn chosen(method: &str, name: &str, fitted: &FittedModel, data: &Data) -> Result<Response, Error> {
    let has_decision = || Ok::<bool, Error>(response(name, fitted, &data.take(&[0]), Response::Decision)?.is_some());
    let missing = |what: &str| {
        let message = format!("estimator `{name}` is {}, which predicts no {what}", fitted.spec.estimator);
        Err(Error::new(ErrorKind::Estimator, message).help("set `stack_method` to \"auto\""))
    };
    match method {
        "predict" => Ok(Response::Predict),
        "predict_proba" if has_proba(fitted) => Ok(Response::Proba),
        "predict_proba" => missing("probabilities"),
        "decision_function" if has_decision()? => Ok(Response::Decision),
        "decision_function" => missing("scores of classes"),
        _ if has_proba(fitted) => Ok(Response::Proba),
        _ if has_decision()? => Ok(Response::Decision),
        _ => Ok(Response::Predict),
    }
}
