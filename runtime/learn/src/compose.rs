//! Estimators made of estimators: pipelines, transformers by column, and regressors of a transformed target.

pub mod columns;
pub mod path;
pub mod pipeline;
pub mod target;

pub use columns::ColumnModels;
pub use pipeline::Pipeline;
pub use target::TransformedTarget;

use onrush_wire::learn::{EstimatorKind, Spec, info};

use crate::check;
use crate::data::{Column, Data};
use crate::error::{Error, ErrorKind};
use crate::estimators::{Any, fit as fit_one};
use crate::model::{Field, FittedModel, Model, Role};
use crate::params;
use crate::prepare;
use crate::run::Run;

/// Trains a transformer and transforms its training rows: the model, and the columns of [`FittedModel::outputs`].
///
/// The result is that of `fit` and `apply`, except for a `TargetEncoder`, also inside of other estimators: its training
/// rows get values by cross fitting, as in scikit-learn.
///
/// # Errors
/// Those of the training, and of values that cannot be transformed.
pub fn fit_transform(spec: &Spec, data: &Data, run: &Run<'_>) -> Result<(FittedModel, Vec<Vec<f64>>), Error> {
    check::spec(spec)?;
    check::data(spec, data)?;
    let (model, values) = match spec.estimator.as_str() {
        "TargetEncoder" => {
            let (model, values) = prepare::target::fit_transform(&params::TargetEncoder::of(spec), data, run)?;
            (Any::from(model), values)
        }
        "Pipeline" => {
            let (model, values) = pipeline::fit_transform(spec, data, run)?;
            (Any::from(model), values)
        }
        "ColumnTransformer" | "FeatureUnion" => {
            let (model, values) = columns::fit_transform(spec, data, run)?;
            (Any::from(model), values)
        }
        _ => {
            let fitted = fit_one(spec, data, run)?;
            let all: Vec<usize> = (0..fitted.outputs().len()).collect();
            let values = fitted.model().apply(data, &all)?;
            return Ok((fitted, values));
        }
    };
    Ok((FittedModel::new(spec, data, model), values))
}

/// What an estimator is: that of the estimators inside, if it is what they are.
pub fn kind(spec: &Spec) -> EstimatorKind {
    let kinds = || spec.parts.iter().filter(|part| !is_passthrough_or_drop(&part.spec)).map(|part| kind(&part.spec));
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

/// Whether the estimator is one of the words `passthrough` and `drop`.
pub(crate) fn is_passthrough_or_drop(spec: &Spec) -> bool {
    matches!(spec.estimator.as_str(), "passthrough" | "drop")
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

/// The outputs of a transformer that are features: their positions and what they are.
fn features_of(name: &str, fitted: &FittedModel) -> Result<Vec<(usize, Field)>, Error> {
    let outputs = fitted.model().outputs(&fitted.features).into_iter().enumerate();
    let field = |(k, role): (usize, Role)| match role {
        Role::Feature(name, kind) => Some((k, Field { name, kind })),
        _ => None,
    };
    let found: Vec<(usize, Field)> = outputs.filter_map(field).collect();
    if found.is_empty() {
        let message = format!("`{name}` is {}, which does not transform", fitted.spec.estimator);
        return Err(Error::new(ErrorKind::Estimator, message).help("only the last step of a pipeline may predict"));
    }
    Ok(found)
}

/// Trains a transformer: the model, and the training rows with its outputs as features.
fn transformer(name: &str, spec: &Spec, data: &Data, run: &Run<'_>) -> Result<(FittedModel, Data), Error> {
    let kind = kind(spec);
    if matches!(kind, EstimatorKind::Regressor | EstimatorKind::Classifier | EstimatorKind::Index) {
        let message = format!("`{name}` is {}, which does not transform", spec.estimator);
        return Err(Error::new(ErrorKind::Estimator, message).help("only the last step of a pipeline may predict"));
    }
    let (fitted, values) = fit_transform(spec, data, run).map_err(|e| inside(name, e))?;
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

/// The rows with the outputs of a transformer as features. The rows have the transformer's features in its order.
fn transformed(name: &str, fitted: &FittedModel, data: &Data) -> Result<Data, Error> {
    check::features(&fitted.spec, data).map_err(|e| inside(name, e))?;
    let features = features_of(name, fitted)?;
    let wanted: Vec<usize> = features.iter().map(|(k, _)| *k).collect();
    let values = fitted.model().apply(data, &wanted).map_err(|e| inside(name, e))?;
    let columns = features.into_iter().zip(values);
    let columns = columns.map(|((_, field), values)| Column { name: field.name, kind: field.kind, values });
    Ok(data.with_features(columns.collect()))
}

/// An error of an estimator inside, with its name.
fn inside(name: &str, error: Error) -> Error {
    match error.is_stopped() {
        true => error,
        false => Error { message: format!("step `{name}`: {}", error.message), ..error },
    }
}

/// The features of rows.
fn fields(data: &Data) -> Vec<Field> {
    data.features.iter().map(|c| Field { name: c.name.clone(), kind: c.kind.clone() }).collect()
}

/// Checks an estimator inside that was read from a file.
fn check_inside(fitted: &FittedModel) -> Result<(), Error> {
    fitted.model().check(fitted.features.len(), fitted.classes.len())
}

/// The names of the bars of an estimator inside: its own, or those of its features.
fn named_bars(model: &dyn Model, features: &[Field]) -> Vec<String> {
    model.bar_names().unwrap_or_else(|| features.iter().map(|f| f.name.clone()).collect())
}
