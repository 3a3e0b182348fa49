//! Estimators made of estimators: pipelines, transformers by column, regressors of a transformed target, and ensembles.

pub(crate) mod adaboost;
pub(crate) mod bagging;
pub(crate) mod calibrated;
pub(crate) mod columns;
pub(crate) mod folds;
mod members;
pub(crate) mod one_vs;
pub(crate) mod pipeline;
pub(crate) mod samplers;
pub(crate) mod stacking;
pub(crate) mod target;
pub(crate) mod voting;

use onrush_wire::learn::{EstimatorKind, Spec, info};

use crate::check;
use crate::data::sparse::Sparse;
use crate::data::{Column, Data};
use crate::decomposition;
use crate::error::{Error, ErrorKind};
use crate::estimators::inside::{dense_features_of, inside, transformed};
use crate::estimators::{Any, FittedModel, Trainer};
use crate::model::Field;
use crate::params;
use crate::prepare;
use crate::run::Run;
use crate::text;

/// The outputs of a transformer for its training rows: the dense ones, then the sparse ones.
pub(crate) struct TransformedRows {
    pub dense: Vec<Vec<f64>>,
    pub sparse: Option<Sparse>,
}

/// The work of [`crate::fit_transform`]. `fit` trains an estimator that is not one of this family.
pub(crate) fn fit_transform(
    spec: &Spec,
    data: &Data,
    run: &Run<'_>,
    fit: Trainer<'_>,
) -> Result<(FittedModel, Vec<Vec<f64>>), Error> {
    let (fitted, TransformedRows { mut dense, sparse }) = transform_training(spec, data, run, fit)?;
    if let Some(sparse) = sparse {
        text::few_columns(&spec.estimator, sparse.width())?;
        dense.extend(sparse.dense(&(0..sparse.width()).collect::<Vec<usize>>()));
    }
    Ok((fitted, dense))
}

/// Trains a transformer and transforms its training rows.
fn transform_training(
    spec: &Spec,
    data: &Data,
    run: &Run<'_>,
    fit: Trainer<'_>,
) -> Result<(FittedModel, TransformedRows), Error> {
    check::spec(spec)?;
    let data = &*check::densified(spec, data)?;
    check::data(spec, data)?;
    text::check_columns(spec, data)?;
    let only = |sparse: Sparse| TransformedRows { dense: Vec::new(), sparse: Some(sparse) };
    let (model, values) = match spec.estimator.as_str() {
        "TargetEncoder" => {
            let (model, values) = prepare::target::fit_transform(&params::TargetEncoder::of(spec), data, run)?;
            (Any::from(model), TransformedRows { dense: values, sparse: None })
        }
        "NMF" => {
            let (model, values) = decomposition::nmf::fit_transform(&params::NMF::of(spec), data, run)?;
            (Any::from(model), TransformedRows { dense: values, sparse: None })
        }
        "CountVectorizer" => {
            let (model, sparse) = text::vectorizer::count(&params::CountVectorizer::of(spec), data, run)?;
            (Any::from(model), only(sparse))
        }
        "TfidfVectorizer" => {
            let (model, sparse) = text::vectorizer::tfidf(&params::TfidfVectorizer::of(spec), data, run)?;
            (Any::from(model), only(sparse))
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
            let dense = fitted.model().dense_outputs(&fitted.features, fitted.sparse).len();
            let dense = match fitted.model().embedding() {
                Some(columns) => columns.into_iter().map(|(_, values)| values).collect(),
                None if dense == 0 && fitted.sparse_outputs() > 0 => Vec::new(),
                None => fitted.model().apply(data, &(0..dense).collect::<Vec<usize>>())?,
            };
            let sparse = fitted.model().apply_sparse(data)?;
            return Ok((fitted, TransformedRows { dense, sparse }));
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
    let (fitted, made) = transform_training(spec, data, run, fit).map_err(|e| inside(name, e))?;
    let features = dense_features_of(name, &fitted)?;
    let mut values: Vec<Option<Vec<f64>>> = made.dense.into_iter().map(Some).collect();
    let column = |(k, field): (usize, Field)| Column {
        name: field.name,
        kind: field.kind,
        values: values[k].take().unwrap_or_default(),
    };
    let features = features.into_iter().map(column).collect();
    let mut next = Data { sparse: made.sparse, ..data.with_features(features) };
    next.eval = data.eval.iter().map(|eval| transformed(name, &fitted, eval)).collect::<Result<_, Error>>()?;
    Ok((fitted, next))
}
