//! Estimators made of estimators: pipelines, transformers by column, and regressors of a transformed target.

pub(crate) mod columns;
pub(crate) mod pipeline;
pub(crate) mod target;

use onrush_wire::learn::{EstimatorKind, Spec, info};

use crate::check;
use crate::data::{Column, Data};
use crate::error::{Error, ErrorKind};
use crate::estimators::inside::{features_of, inside, transformed};
use crate::estimators::{Any, FittedModel, Trainer};
use crate::model::Field;
use crate::params;
use crate::prepare;
use crate::run::Run;

/// The work of [`crate::fit_transform`]. `fit` trains an estimator that is not one of this family.
pub(crate) fn fit_transform(
    spec: &Spec,
    data: &Data,
    run: &Run<'_>,
    fit: Trainer<'_>,
) -> Result<(FittedModel, Vec<Vec<f64>>), Error> {
    check::spec(spec)?;
    check::data(spec, data)?;
    let (model, values) = match spec.estimator.as_str() {
        "TargetEncoder" => {
            let (model, values) = prepare::target::fit_transform(&params::TargetEncoder::of(spec), data, run)?;
            (Any::from(model), values)
        }
        "Pipeline" => {
            let (model, values) = pipeline::fit_transform(spec, data, run, fit)?;
            (Any::from(model), values)
        }
        "ColumnTransformer" | "FeatureUnion" => {
            let (model, values) = columns::fit_transform(spec, data, run, fit)?;
            (Any::from(model), values)
        }
        _ => {
            let fitted = fit(spec, data, run)?;
            let all: Vec<usize> = (0..fitted.outputs().len()).collect();
            let values = fitted.model().apply(data, &all)?;
            return Ok((fitted, values));
        }
    };
    Ok((FittedModel::new(spec, data, model), values))
}

/// The kind of an estimator. Pipelines and searches have the kind of the estimators inside.
pub fn kind(spec: &Spec) -> EstimatorKind {
    let kinds =
        || spec.parts.iter().filter(|part| !check::is_passthrough_or_drop(&part.spec)).map(|part| kind(&part.spec));
    let is_supervised = |kind: EstimatorKind| kind == EstimatorKind::SupervisedTransformer;
    let of_transformers = match kinds().any(is_supervised) {
        true => EstimatorKind::SupervisedTransformer,
        false => EstimatorKind::Transformer,
    };
    match info(&spec.estimator).map(|e| e.kind) {
        Some(EstimatorKind::Meta) => match spec.estimator.as_str() {
            "ColumnTransformer" | "FeatureUnion" => of_transformers,
            "Pipeline" => match kinds().next_back() {
                None | Some(EstimatorKind::Transformer) => of_transformers,
                Some(last) => last,
            },
            _ => kinds().next_back().unwrap_or(EstimatorKind::Meta),
        },
        Some(kind) => kind,
        None => EstimatorKind::Meta,
    }
}

/// The names of steps in `make_pipeline`: the name of the estimator in lower case, with `-1`, `-2` and so on if it
/// occurs several times.
pub fn names(estimators: &[&str]) -> Vec<String> {
    let lower: Vec<String> = estimators.iter().map(|e| e.to_lowercase()).collect();
    let name = |(k, name): (usize, &String)| match lower.iter().filter(|n| *n == name).count() {
        1 => name.clone(),
        _ => format!("{name}-{}", lower[..=k].iter().filter(|n| *n == name).count()),
    };
    lower.iter().enumerate().map(name).collect()
}

/// Checks that the estimators inside have different names.
fn distinct_names(spec: &Spec) -> Result<(), Error> {
    let mut names: Vec<&str> = spec.parts.iter().map(|part| part.name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            let message = format!("{} has two estimators named `{}`", spec.estimator, pair[0]);
            Err(Error::new(ErrorKind::Parameter, message))
        }
        None => Ok(()),
    }
}

/// Trains a transformer: the model, and the training rows with its outputs as features.
fn transformer(
    name: &str,
    spec: &Spec,
    data: &Data,
    run: &Run<'_>,
    fit: Trainer<'_>,
) -> Result<(FittedModel, Data), Error> {
    let kind = kind(spec);
    if matches!(kind, EstimatorKind::Regressor | EstimatorKind::Classifier | EstimatorKind::Index) {
        let message = format!("`{name}` is {}, which does not transform", spec.estimator);
        return Err(Error::new(ErrorKind::Estimator, message).help("only the last step of a pipeline may predict"));
    }
    let (fitted, values) = fit_transform(spec, data, run, fit).map_err(|e| inside(name, e))?;
    let features = features_of(name, &fitted)?;
    let mut values: Vec<Option<Vec<f64>>> = values.into_iter().map(Some).collect();
    let column = |(k, field): (usize, Field)| Column {
        name: field.name,
        kind: field.kind,
        values: values[k].take().unwrap_or_default(),
    };
    let mut next = data.with_features(features.into_iter().map(column).collect());
    next.eval = data.eval.iter().map(|eval| transformed(name, &fitted, eval)).collect::<Result<_, Error>>()?;
    Ok((fitted, next))
}
