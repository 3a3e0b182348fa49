//! What a fitted model can do, whatever it is.

use std::collections::HashMap;

use onrush_wire::learn::Spec;
use serde::{Deserialize, Serialize};

use crate::data::{Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::estimators::Any;

/// What a column that a model makes is.
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
    /// The outputs are the class (that of the highest score, the first one on ties) and the probabilities of all classes: softmax.
    Softmax,
}

/// A model whose outputs follow from linear scores of its features.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearScores {
    /// scores x features.
    pub coef: Vec<Vec<f64>>,
    /// For each score.
    pub intercept: Vec<f64>,
    /// What is subtracted from each feature.
    pub shift: Vec<f64>,
    pub link: Link,
}

/// What a model is.
pub trait Model: Send + Sync {
    /// The columns that it makes, in order. `data` stands for its features: only their names and kinds are looked at.
    fn outputs(&self, features: &[Field]) -> Vec<Role>;

    /// The columns at the positions `wanted` of [`Model::outputs`], for rows of the same features in the same order.
    ///
    /// # Errors
    /// If a value cannot be used, such as a category that was not seen in training.
    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error>;

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

    /// What the user should know of the training, such as an iteration that did not converge.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Results of single rows of the training data: labels of DBSCAN.
    fn rows(&self) -> Option<Vec<f64>> {
        None
    }

    /// The outputs as linear scores, if that is what they are: queries then compute them without a call of the model.
    fn linear(&self) -> Option<LinearScores> {
        None
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
}

impl Attribute {
    /// Numbers under the names of the features: columns `feature` and `value`.
    pub fn by_feature(features: &[Field], value: &str, values: &[f64]) -> Attribute {
        Attribute::Frame(vec![
            ("feature".to_string(), Values::Strs(features.iter().map(|f| f.name.clone()).collect())),
            (value.to_string(), Values::Floats(values.to_vec())),
        ])
    }
}

/// A column that a model makes for the outside: its name, what it is, and the values.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    pub name: String,
    pub role: Role,
    pub values: Vec<f64>,
}

/// A trained model with everything that is needed to use it.
#[derive(Serialize, Deserialize)]
pub struct FittedModel {
    pub spec: Spec,
    pub features: Vec<Field>,
    /// The name of the target. Empty if there is none.
    pub target: String,
    /// See [`Data::classes`].
    pub classes: Vec<String>,
    /// How many rows it was trained on.
    pub rows: u64,
    /// What the session keeps with the model, as JSON. Nothing here looks at it.
    #[serde(default)]
    pub session: String,
    pub(crate) model: Any,
}

impl FittedModel {
    pub(crate) fn new(spec: &Spec, data: &Data, model: Any) -> Self {
        let features = data.features.iter().map(|c| Field { name: c.name.clone(), kind: c.kind.clone() });
        FittedModel {
            spec: spec.clone(),
            features: features.collect(),
            target: data.target.clone(),
            classes: data.classes.clone(),
            rows: data.rows as u64,
            session: String::new(),
            model,
        }
    }

    /// The factor and the shift of each feature, if the model is a scaler that does not clip: results are `(x - shift) * factor`.
    pub(crate) fn affine(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        match &self.model {
            Any::Scaler(scaler) => scaler.affine(self.features.len()),
            _ => None,
        }
    }

    pub fn model(&self) -> &dyn Model {
        self.model.get()
    }

    /// Names and roles of the columns that it makes.
    pub fn outputs(&self) -> Vec<(String, Role)> {
        let name = |role: &Role| match role {
            Role::Prediction => "prediction".to_string(),
            Role::Proba(class) => format!("proba_{}", self.classes.get(*class).map_or("", String::as_str)),
            Role::Label => "label".to_string(),
            Role::Feature(name, _) => name.clone(),
        };
        self.model().outputs(&self.features).into_iter().map(|role| (name(&role), role)).collect()
    }

    /// The columns of these positions. `data` holds the features by name, in any order; categories may have other
    /// codes.
    ///
    /// # Errors
    /// If a feature is missing, or a value cannot be used.
    pub fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let data = self.aligned(data)?;
        crate::check::features(&self.spec, &data)?;
        self.model().apply(&data, wanted)
    }

    /// The features in the order of the training, with its codes of categories. A category that the training did not
    /// see becomes the position after the last one, which estimators treat as unknown.
    ///
    /// # Errors
    /// If a feature is missing or of another kind.
    pub fn aligned(&self, data: &Data) -> Result<Data, Error> {
        let mut columns = Vec::new();
        for field in &self.features {
            let column = data.feature(&field.name).ok_or_else(|| missing(&field.name, &self.features))?;
            columns.push(match (&field.kind, &column.kind) {
                (Kind::Category(known), Kind::Category(names)) if known != names => {
                    let codes = codes(known, names);
                    let code = |v: &f64| codes.get(*v as usize).copied().unwrap_or(known.len() as f64);
                    let values: Vec<f64> =
                        column.values.iter().map(|v| if v.is_nan() { *v } else { code(v) }).collect();
                    // The first unseen category stands after the known ones, so that messages can name it.
                    let first = values.iter().position(|code| *code == known.len() as f64);
                    let first = first.and_then(|row| names.get(column.values[row] as usize));
                    let kind = Kind::Category(known.iter().chain(first).cloned().collect());
                    crate::Column { name: field.name.clone(), kind, values }
                }
                (Kind::Number, Kind::Number) | (Kind::Category(_), Kind::Category(_)) => column.clone(),
                (wanted, _) => {
                    let (was, is) = match wanted {
                        Kind::Number => ("numbers", "strings"),
                        Kind::Category(_) => ("strings", "numbers"),
                    };
                    let message = format!("`{}` holds {is}, but the model was trained on {was}", field.name);
                    return Err(Error::new(ErrorKind::TypeMismatch, message));
                }
            });
        }
        Ok(data.with_features(columns))
    }

    /// Coefficients or importances by the names of the features: what they are, and the values.
    pub fn bars(&self) -> Option<(&'static str, Vec<(String, f64)>)> {
        let (title, values) = self.model().bars()?;
        let names = self.model().bar_names().unwrap_or_else(|| self.features.iter().map(|f| f.name.clone()).collect());
        Some((title, names.into_iter().zip(values).collect()))
    }

    pub fn attribute(&self, name: &str) -> Option<Attribute> {
        self.model().attribute(name, &self.features, &self.classes)
    }
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
