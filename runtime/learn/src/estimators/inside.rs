//! Trained estimators inside of other ones: their outputs, errors and names.

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
