//! Trained estimators inside of other ones: their outputs, errors and names.

use serde::{Deserialize, Serialize};

use super::FittedModel;
use crate::data::sparse::Sparse;
use crate::data::{Column, Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::model::{Field, Model, Role};

/// The outputs of a transformer that are features: their positions and what they are.
pub(crate) fn features_of(name: &str, fitted: &FittedModel) -> Result<Vec<(usize, Field)>, Error> {
    features_among(name, fitted, fitted.model().outputs(&fitted.features))
}

/// [`features_of`] without the sparse ones.
pub(crate) fn dense_features_of(name: &str, fitted: &FittedModel) -> Result<Vec<(usize, Field)>, Error> {
    let outputs = fitted.model().dense_outputs(&fitted.features, fitted.sparse);
    match outputs.is_empty() && fitted.sparse_outputs() > 0 {
        true => Ok(Vec::new()),
        false => features_among(name, fitted, outputs),
    }
}

fn features_among(name: &str, fitted: &FittedModel, outputs: Vec<Role>) -> Result<Vec<(usize, Field)>, Error> {
    let outputs = outputs.into_iter().enumerate();
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

/// The rows with the outputs of a transformer as features. The rows have the transformer's features in its order.
pub(crate) fn transformed(name: &str, fitted: &FittedModel, data: &Data) -> Result<Data, Error> {
    let data = fitted.ready(data).map_err(|e| inside(name, e))?;
    let features = dense_features_of(name, fitted)?;
    let wanted: Vec<usize> = features.iter().map(|(k, _)| *k).collect();
    let sparse = match fitted.sparse_outputs() {
        0 => None,
        _ => fitted.model().apply_sparse(&data).map_err(|e| inside(name, e))?,
    };
    if sparse.as_ref().map_or(0, Sparse::width) != fitted.sparse_outputs() {
        let message = format!("step `{name}` has other sparse outputs than in training");
        return Err(Error::new(ErrorKind::TypeMismatch, message));
    }
    let values = match wanted.is_empty() {
        true => Vec::new(),
        false => fitted.model().apply(&data, &wanted).map_err(|e| inside(name, e))?,
    };
    let columns = features.into_iter().zip(values);
    let columns = columns.map(|((_, field), values)| Column { name: field.name, kind: field.kind, values });
    Ok(Data { sparse, ..data.with_features(columns.collect()) })
}

/// An error of an estimator inside, with its name.
pub(crate) fn inside(name: &str, error: Error) -> Error {
    match error.is_stopped() {
        true => error,
        false => Error { message: format!("step `{name}`: {}", error.message), ..error },
    }
}

/// An error of an estimator in an ensemble, with its name.
pub(crate) fn in_estimator(name: &str, error: Error) -> Error {
    match error.is_stopped() {
        true => error,
        false => Error { message: format!("estimator `{name}`: {}", error.message), ..error },
    }
}

/// How an estimator in an ensemble answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Response {
    /// The probability of each class.
    Proba,
    /// See [`Model::decision`].
    Decision,
    /// The value, or the position of the class.
    Predict,
}

/// Whether a trained estimator has probabilities.
pub(crate) fn has_proba(fitted: &FittedModel) -> bool {
    fitted.model().outputs(&fitted.features).iter().any(|role| matches!(role, Role::Proba(_)))
}

/// The answer of a trained estimator in an ensemble: columns. `None`: it has none of this kind. The rows have the
/// estimator's features in its order.
pub(crate) fn response(
    name: &str,
    fitted: &FittedModel,
    data: &Data,
    kind: Response,
) -> Result<Option<Vec<Vec<f64>>>, Error> {
    let data = &*fitted.ready(data).map_err(|e| in_estimator(name, e))?;
    let model = fitted.model();
    if kind == Response::Decision {
        return model.decision(data).map_err(|e| in_estimator(name, e));
    }
    let roles = model.outputs(&fitted.features);
    let wanted: Vec<usize> = match kind {
        Response::Proba => {
            let position = |class: usize| roles.iter().position(|role| *role == Role::Proba(class));
            (0..fitted.classes.len()).filter_map(position).collect()
        }
        _ => roles.iter().position(|role| *role == Role::Prediction).into_iter().collect(),
    };
    let is_there = !wanted.is_empty() && (kind == Response::Predict || wanted.len() == fitted.classes.len());
    match is_there {
        true => model.apply(data, &wanted).map(Some).map_err(|e| in_estimator(name, e)),
        false => Ok(None),
    }
}

/// The answer of a trained estimator that must have it.
pub(crate) fn expected_response(
    name: &str,
    fitted: &FittedModel,
    data: &Data,
    kind: Response,
) -> Result<Vec<Vec<f64>>, Error> {
    response(name, fitted, data, kind)?.ok_or_else(|| {
        let what = match kind {
            Response::Proba => "probabilities",
            Response::Decision => "scores of classes",
            Response::Predict => "values",
        };
        Error::new(
            ErrorKind::Estimator,
            format!("estimator `{name}` is {}, which predicts no {what}", fitted.spec.estimator),
        )
    })
}

/// The notes of trained estimators with their names.
pub(crate) fn named_notes<'a>(parts: impl Iterator<Item = (&'a str, &'a FittedModel)>) -> Vec<String> {
    let of = |(name, fitted): (&str, &FittedModel)| {
        let name = name.to_string();
        fitted.model().notes().into_iter().map(move |note| format!("{name}: {note}"))
    };
    parts.flat_map(of).collect()
}

/// Checks estimators in an ensemble that were read from a file: they have the features and the classes of the whole.
pub(crate) fn check_estimator(fitted: &FittedModel, features: usize, classes: usize) -> Result<(), Error> {
    check_inside(fitted)?;
    let predicts = fitted.model().outputs(&fitted.features).contains(&Role::Prediction);
    match fitted.features.len() == features && fitted.classes.len() == classes && predicts {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::ModelFile, "an estimator inside has other features or classes")),
    }
}

/// The features of rows, dense ones first.
pub(crate) fn fields(data: &Data) -> Vec<Field> {
    let dense = data.features.iter().map(|c| Field { name: c.name.clone(), kind: c.kind.clone() });
    let sparse = data.sparse.iter().flat_map(|sparse| sparse.names.iter());
    dense.chain(sparse.map(|name| Field { name: name.clone(), kind: Kind::Number })).collect()
}

/// Checks an estimator inside that was read from a file.
pub(crate) fn check_inside(fitted: &FittedModel) -> Result<(), Error> {
    fitted.model().check(fitted.features.len(), fitted.classes.len())
}

/// The names of the bars of an estimator inside: its own, or those of its features.
pub(crate) fn named_bars(model: &dyn Model, features: &[Field]) -> Vec<String> {
    model.bar_names().unwrap_or_else(|| features.iter().map(|f| f.name.clone()).collect())
}
