//! A trained model with everything that is needed to use it.

use std::borrow::Cow;

use onrush_wire::learn::Spec;
use serde::{Deserialize, Serialize};

use super::Any;
use super::inside::fields;
use crate::categories;
use crate::check;
use crate::data::sparse::Sparse;
use crate::data::{Column, Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, codes, missing};
use crate::neighbors::{self, Neighbors};
use crate::run::Run;
use crate::text;

/// A trained model: what it learnt, and what it was trained on.
#[derive(Serialize, Deserialize)]
pub struct FittedModel {
    pub spec: Spec,
    /// The dense features, then the sparse ones.
    #[serde(with = "super::field_list")]
    pub features: Vec<Field>,
    /// How many of the features, the last ones, were sparse.
    #[serde(default)]
    pub(crate) sparse: usize,
    /// The positions of the features that are categories in training, and numbers in frames.
    #[serde(default)]
    pub(crate) declared: Vec<usize>,
    /// The name of the target. Empty if there is none.
    pub target: String,
    /// See [`Data::classes`].
    pub classes: Vec<String>,
    /// How many rows it was trained on.
    pub rows: u64,
    /// Data of the session about the model, as JSON. No code of this crate reads it.
    #[serde(default)]
    pub session: String,
    pub(crate) model: Any,
}

impl FittedModel {
    pub(crate) fn new(spec: &Spec, data: &Data, model: Any) -> Self {
        let mut features = fields(data);
        let documents = text::documents(spec, &data.names());
        for (position, (field, is_text)) in features.iter_mut().zip(documents).enumerate() {
            // The model of a search may take columns in another way than the specification.
            let best = match &model {
                Any::Search(search) => search.best.as_ref().and_then(|best| best.features.get(position)),
                _ => None,
            };
            let is_text = best.map_or(is_text, |best| best.kind == Kind::Text);
            if is_text && matches!(field.kind, Kind::Category(_)) {
                field.kind = Kind::Text;
            }
        }
        FittedModel {
            spec: spec.clone(),
            features,
            sparse: data.sparse.as_ref().map_or(0, Sparse::width),
            declared: Vec::new(),
            target: data.target.clone(),
            classes: data.classes.clone(),
            rows: data.rows as u64,
            session: String::new(),
            model,
        }
    }

    /// The factor and the shift of each feature, if the model is a scaler that does not clip. Results are
    /// `(x - shift) * factor`.
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
        self.model().apply(&*self.ready(&data)?, wanted)
    }

    /// Checked rows as the model takes them inside of another one. The features are in the order of the training, and
    /// dense if it does not take sparse ones.
    ///
    /// # Errors
    /// If a value cannot be used, or there are too many dense columns.
    pub(crate) fn ready<'a>(&self, data: &'a Data) -> Result<Cow<'a, Data>, Error> {
        if data.total_width() != self.features.len() {
            let (found, wanted) = (data.total_width(), self.features.len());
            let message = format!("{} got {found} features, and was trained on {wanted}", self.spec.estimator);
            return Err(Error::new(ErrorKind::TypeMismatch, message));
        }
        let mut data = check::ready(&self.spec, data)?;
        for position in &self.declared {
            if let (Kind::Category(names), Kind::Number) =
                (&self.features[*position].kind, &data.features[*position].kind)
            {
                let column = &mut data.to_mut().features[*position];
                column.values = categories::codes(names, column);
                column.kind = Kind::Category(names.clone());
            }
        }
        Ok(data)
    }

    /// Whether the feature at `position` is a column of strings.
    pub fn takes_strings(&self, position: usize) -> bool {
        let kind = self.features.get(position).map(|field| &field.kind);
        matches!(kind, Some(Kind::Category(_) | Kind::Text)) && !self.declared.contains(&position)
    }

    /// How many of its outputs, the last ones, are sparse.
    pub(crate) fn sparse_outputs(&self) -> usize {
        self.model().sparse_outputs(self.sparse)
    }

    /// The features from the outputs of a transformer, which `data` holds by name.
    ///
    /// # Errors
    /// If the estimator cannot be undone, an output is missing, or a value is not one that it makes.
    pub fn inverse(&self, data: &Data) -> Result<Vec<Column>, Error> {
        let mut columns = Vec::new();
        let outputs = self.outputs();
        for (name, role) in &outputs {
            if !matches!(role, Role::Feature(..)) {
                return Err(self.cannot_be_undone());
            }
            let Some(column) = data.feature(name) else {
                let list: Vec<&str> = outputs.iter().map(|(name, _)| name.as_str()).collect();
                let message = format!("`{name}` is missing: {} makes {}", self.spec.estimator, list.join(", "));
                return Err(Error::new(ErrorKind::UnknownColumn, message));
            };
            columns.push(column.clone());
        }
        let undone = self.model().inverse(&data.with_features(columns), &self.features)?;
        undone.ok_or_else(|| self.cannot_be_undone())
    }

    fn cannot_be_undone(&self) -> Error {
        let message = format!("{} has no `inverse_transform`", self.spec.estimator);
        Error::new(ErrorKind::Evaluation, message)
            .help("scalers, encoders, PCA, TruncatedSVD, and pipelines of these have one")
    }

    /// The scores that a classifier decides by: see [`Model::decision`].
    ///
    /// # Errors
    /// If the estimator has none, or a feature is missing.
    pub fn decision_function(&self, data: &Data) -> Result<Vec<Vec<f64>>, Error> {
        self.decision(data)?.ok_or_else(|| {
            let message = format!("{} has no `decision_function`", self.spec.estimator);
            let proba = self.outputs().iter().any(|(_, role)| matches!(role, Role::Proba(_)));
            let error = Error::new(ErrorKind::Evaluation, message);
            if proba { error.help("`predict_proba` gives its probabilities") } else { error }
        })
    }

    /// The scores that a classifier decides by, as [`Model::decision`]. `data` is as in [`FittedModel::apply`].
    ///
    /// # Errors
    /// As [`FittedModel::apply`].
    pub fn decision(&self, data: &Data) -> Result<Option<Vec<Vec<f64>>>, Error> {
        let data = self.aligned(data)?;
        self.model().decision(&*self.ready(&data)?)
    }

    /// The features in the order of the training, with its codes of categories. A category that the training did not
    /// see becomes the position after the last one, which estimators treat as unknown.
    ///
    /// # Errors
    /// If a feature is missing or of another kind.
    pub fn aligned(&self, data: &Data) -> Result<Data, Error> {
        let mut columns = Vec::new();
        let sparse = data.sparse.as_ref().filter(|sparse| self.ends_with(&sparse.names));
        let dense = self.features.len() - sparse.map_or(0, Sparse::width);
        for (position, field) in self.features[..dense].iter().enumerate() {
            let column = data.feature(&field.name).ok_or_else(|| missing(&field.name, &self.features))?;
            columns.push(match (&field.kind, &column.kind) {
                (Kind::Category(known), Kind::Category(names)) if self.takes_strings(position) && known != names => {
                    let codes = codes(known, names);
                    let code = |v: &f64| codes.get(*v as usize).copied().unwrap_or(known.len() as f64);
                    let values: Vec<f64> =
                        column.values.iter().map(|v| if v.is_nan() { *v } else { code(v) }).collect();
                    // The first unseen category stands after the known ones, so that messages can name it.
                    let first = values.iter().position(|code| *code == known.len() as f64);
                    let first = first.and_then(|row| names.get(column.values[row] as usize));
                    let kind = Kind::Category(known.iter().chain(first).cloned().collect());
                    Column { name: field.name.clone(), kind, values }
                }
                (Kind::Number, Kind::Number) => column.clone(),
                (Kind::Category(_), Kind::Number) if self.declared.contains(&position) => column.clone(),
                (Kind::Category(_) | Kind::Text, Kind::Category(_)) if self.takes_strings(position) => column.clone(),
                _ => {
                    let (was, is) =
                        if self.takes_strings(position) { ("strings", "numbers") } else { ("numbers", "strings") };
                    let message = format!("`{}` holds {is}, but the model was trained on {was}", field.name);
                    return Err(Error::new(ErrorKind::TypeMismatch, message));
                }
            });
        }
        Ok(Data { sparse: sparse.cloned(), ..data.with_features(columns) })
    }

    /// Whether the last features have these names.
    fn ends_with(&self, names: &[String]) -> bool {
        let first = self.features.len().checked_sub(names.len());
        first.is_some_and(|first| self.features[first..].iter().zip(names).all(|(field, name)| field.name == *name))
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

    /// The nearest rows of the training for each row of `data`: `n_neighbors` of them, or all within `radius`. If both
    /// are `None`, the number is that of the training. The lower row comes first on ties. A row of the training that
    /// is asked for finds itself.
    ///
    /// # Errors
    /// If the model does not store its rows, or a feature is missing. If there are fewer rows than neighbours, or more
    /// than 2^27 pairs. If the user stops the search.
    pub fn kneighbors(
        &self,
        data: &Data,
        n_neighbors: Option<usize>,
        radius: Option<f64>,
        run: &Run<'_>,
    ) -> Result<Neighbors, Error> {
        let (points, default) = match &self.model {
            Any::Nearest(model) => (&model.points, model.n_neighbors),
            Any::Vote(model) => (&model.points, model.n_neighbors),
            _ => {
                let message =
                    format!("{} does not store its training rows, so it has no `kneighbors`", self.spec.estimator);
                let error = Error::new(ErrorKind::NoNeighbors, message);
                return Err(error.help("train NearestNeighbors, KNeighborsClassifier or KNeighborsRegressor"));
            }
        };
        let data = self.aligned(data)?;
        let data = self.ready(&data)?;
        neighbors::vote::neighbors(points, default, &data, n_neighbors, radius, run)
    }

    /// All rows of the training within the radius that the index was trained with.
    ///
    /// # Errors
    /// As [`FittedModel::kneighbors`], and if the model is not a `NearestNeighbors`.
    pub fn radius_neighbors(&self, data: &Data, run: &Run<'_>) -> Result<Neighbors, Error> {
        match &self.model {
            Any::Nearest(model) => self.kneighbors(data, None, Some(model.radius), run),
            _ => Err(Error::new(ErrorKind::NoNeighbors, format!("{} has no radius", self.spec.estimator))
                .help("train NearestNeighbors, or say the radius")),
        }
    }
}

/// A function that trains any estimator.
pub(crate) type Trainer<'a> = &'a (dyn Fn(&Spec, &Data, &Run<'_>) -> Result<FittedModel, Error> + Sync);
