//! The interface of all fitted models.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::data::sparse::Sparse;
use crate::data::{Column, Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::explain::shape::Shapes;

/// The role of a column that a model makes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Role {
    /// A regressor's value, or a classifier's class as its position.
    Prediction,
    /// The probability of the class at this position.
    Proba(usize),
    /// The number of a cluster; -1 is noise.
    Label,
    /// A new feature under its own name.
    Feature(String, Kind),
}

/// How outputs follow from linear scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// The outputs are the scores.
    Identity,
    /// The outputs are the class (the second one if the score is above 0) and the probabilities of both classes.
    Logistic,
    /// The outputs are the class (that of the highest score, the first one on ties) and the probabilities of all
    /// classes: softmax.
    Softmax,
}

/// A model whose outputs follow from linear scores of its features.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearScores {
    /// scores x features.
    pub coef: Vec<Vec<f64>>,
    /// For each score.
    pub intercept: Vec<f64>,
    /// The shift of each feature.
    pub shift: Vec<f64>,
    pub link: Link,
}

/// The interface of fitted models.
pub trait Model: Send + Sync {
    /// The columns that it makes, in order. `data` stands for its features: only their names and kinds are looked at.
    fn outputs(&self, features: &[Field]) -> Vec<Role>;

    /// The columns at the positions `wanted` of [`Model::outputs`], for rows of the same features in the same order.
    ///
    /// # Errors
    /// If a value cannot be used, such as a category that was not seen in training.
    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error>;

    /// How many of its outputs, the last ones, are sparse, if the last `sparse` of its features are.
    fn sparse_outputs(&self, _sparse: usize) -> usize {
        0
    }

    /// The sparse outputs, with all of their columns. `None`: all of its outputs are dense.
    ///
    /// # Errors
    /// As [`Model::apply`].
    fn apply_sparse(&self, _data: &Data) -> Result<Option<Sparse>, Error> {
        Ok(None)
    }

    /// The first outputs: those that are not sparse, if the last `sparse` of its features are.
    fn dense_outputs(&self, features: &[Field], sparse: usize) -> Vec<Role> {
        let mut outputs = self.outputs(features);
        outputs.truncate(outputs.len().saturating_sub(self.sparse_outputs(sparse)));
        outputs
    }

    /// The scores that a classifier decides by, as in scikit-learn's `decision_function`. Two classes have one column,
    /// which is above 0 for the second class. Others have a column for each class, or for each pair if the user asks
    /// for that. `None`: it has no such scores.
    ///
    /// # Errors
    /// As [`Model::apply`].
    fn decision(&self, _data: &Data) -> Result<Option<Vec<Vec<f64>>>, Error> {
        Ok(None)
    }

    /// The features from the outputs of a transformer, as in scikit-learn's `inverse_transform`: a column for each of
    /// `features`. `data` has the outputs as features, in their order. `None`: it cannot be undone.
    ///
    /// # Errors
    /// If a value is not one that the transformer makes.
    fn inverse(&self, _data: &Data, _features: &[Field]) -> Result<Option<Vec<Column>>, Error> {
        Ok(None)
    }

    /// An attribute by its name in the table of estimators. `features` are those of the training.
    fn attribute(&self, name: &str, features: &[Field], classes: &[String]) -> Option<Attribute>;

    /// Coefficients or importances, one for each feature, for the card: what they are, and the values.
    fn bars(&self) -> Option<(&'static str, Vec<f64>)> {
        None
    }

    /// The names of [`Model::bars`]. `None`: the features of the model.
    fn bar_names(&self) -> Option<Vec<String>> {
        None
    }

    /// Losses or scores by iteration, for the card.
    fn curves(&self) -> Vec<(String, Vec<(f64, f64)>)> {
        Vec::new()
    }

    /// Notes for the user about the training, such as an iteration that did not converge.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Results of single rows of the training data: labels of DBSCAN.
    fn rows(&self) -> Option<Vec<f64>> {
        None
    }

    /// Columns of the rows of the training, of a transformer that transforms no other rows: the embedding of t-SNE.
    fn embedding(&self) -> Option<Vec<(String, Vec<f64>)>> {
        None
    }

    /// The outputs as linear scores, if that is what they are: queries then compute them without a call of the model.
    fn linear(&self) -> Option<LinearScores> {
        None
    }

    /// The model as sums of trees, whose SHAP values are exact. `data` are rows of its features. `None`: it is not made
    /// of trees.
    ///
    /// # Errors
    /// If its trees do not know how many training rows each leaf had.
    fn shapes(&self, _data: &Data) -> Result<Option<Shapes<'_>>, Error> {
        Ok(None)
    }

    /// Whether the arrays of a model that was read from a file fit together: nothing that [`Model::apply`] does may
    /// leave them.
    ///
    /// # Errors
    /// Says what does not fit.
    fn check(&self, features: usize, classes: usize) -> Result<(), Error>;

    /// Bytes of its arrays, about.
    fn bytes(&self) -> u64 {
        0
    }
}

/// A column that a model was trained on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Field {
    pub name: String,
    pub kind: Kind,
}

/// An attribute of a model.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    /// Columns of equal length.
    Frame(Vec<(String, Values)>),
    Float(f64),
    Int(i64),
    Strs(Vec<String>),
}

/// The values of a column of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    Floats(Vec<f64>),
    Ints(Vec<i64>),
    Strs(Vec<String>),
    Bools(Vec<bool>),
    /// Strings, of which some are missing.
    Nullable(Vec<Option<String>>),
}

impl Attribute {
    /// Numbers under the names of the features: columns `feature` and `value`.
    pub fn by_feature(features: &[Field], value: &str, values: &[f64]) -> Attribute {
        Attribute::Frame(vec![
            ("feature".to_string(), Values::Strs(features.iter().map(|f| f.name.clone()).collect())),
            (value.to_string(), Values::Floats(values.to_vec())),
        ])
    }

    /// A row-major matrix: a column for each feature, after the column `first`.
    pub fn by_row(first: Option<(&str, Values)>, features: &[Field], matrix: &[f64]) -> Attribute {
        let width = features.len();
        let mut columns: Vec<(String, Values)> =
            first.into_iter().map(|(name, values)| (name.to_string(), values)).collect();
        columns.extend(features.iter().enumerate().map(|(j, feature)| {
            let values = matrix.iter().skip(j).step_by(width).copied().collect();
            (feature.name.clone(), Values::Floats(values))
        }));
        Attribute::Frame(columns)
    }
}

/// A column that a model makes for the outside: its name, what it is, and the values.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    pub name: String,
    pub role: Role,
    pub values: Vec<f64>,
}

/// For each of `names` its position in `known`, or the position after the last one.
pub(crate) fn codes(known: &[String], names: &[String]) -> Vec<f64> {
    if known.len() <= FEW {
        return names.iter().map(|name| known.iter().position(|k| k == name).unwrap_or(known.len()) as f64).collect();
    }
    let positions: HashMap<&str, usize> = known.iter().map(String::as_str).zip(0..).collect();
    names.iter().map(|name| positions.get(name.as_str()).copied().unwrap_or(known.len()) as f64).collect()
}

/// Names up to which comparing is faster than hashing.
const FEW: usize = 16;

/// A feature that is not there.
pub fn missing(name: &str, features: &[Field]) -> Error {
    let list: Vec<&str> = features.iter().map(|f| f.name.as_str()).collect();
    Error::new(ErrorKind::UnknownColumn, format!("`{name}` is missing: the model was trained on {}", list.join(", ")))
}
