//! XGBoost's models: trained by its own library, and used through it or, if they come from a file, by [`XgbForest`].
//!
//! Chen and Guestrin 2016, "XGBoost: A Scalable Tree Boosting System". A file is never handed to the library, whose
//! readers trust their input.

mod ffi;
pub mod file;
mod params;
mod train;

use std::sync::OnceLock;

use onrush_wire::learn::Spec;
use serde::{Deserialize, Serialize};

use super::document::Document;
use super::forest::{XgbForest, sigmoid, softmax};
use super::packed;
use super::scores::{self, Scores, largest};
use crate::data::{Column, Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::explain::shape::Shapes;
use crate::model::{Attribute, Field, Model, Role};
use crate::params::XgbParams;
use crate::run::Run;
use crate::tensor::Tensor;

/// The kind of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Task {
    /// A number, or a score to rank rows by.
    Value,
    /// The probability of the second class.
    Binary,
    /// A probability for each class.
    Classes,
}

/// A model of XGBoost.
#[derive(Serialize, Deserialize)]
pub struct XgbModel {
    /// The bytes of the model's file, UBJSON or JSON, eight in a number.
    file: Tensor,
    file_len: usize,
    task: Task,
    /// Values of a row: one, or one for each class of [`Task::Classes`].
    outputs: usize,
    /// Rounds of the training, also those after the best one.
    rounds: usize,
    /// The best round and its score. Empty without early stopping.
    best: Tensor,
    /// A line of scores for each pair of a set and a metric.
    sets: Vec<String>,
    metrics: Vec<String>,
    scores: Tensor,
    /// A share for each feature. Empty if the file does not say it.
    importances: Tensor,
    /// Features whose values are categories that are numbers, and these numbers.
    numeric_categories: Vec<(usize, Tensor)>,
    /// How many categories the training knew of each feature. Empty for a model of a file.
    known: Tensor,
    notes: Vec<String>,
    /// The library's model. `None` if the model comes from a file.
    #[serde(skip)]
    booster: Option<ffi::Booster>,
    #[serde(skip)]
    forest: OnceLock<XgbForest>,
}

/// Trains `XGBClassifier`, `XGBRegressor` or `XGBRanker` with XGBoost's library. NaN is missing, and goes the way that
/// training finds best. Categories are split as sets.
///
/// # Errors
/// If the library is missing, if a parameter or the data are not what it takes, and if the user stops the training.
pub fn fit(spec: &Spec, objective: &str, params: &XgbParams, data: &Data, run: &Run<'_>) -> Result<XgbModel, Error> {
    categories(&spec.estimator, params, data)?;
    train::in_single_precision(data)?;
    let trained = train::train(spec, objective, params, data, run)?;
    let task = match data.classes.len() {
        0 => Task::Value,
        1 | 2 => Task::Binary,
        _ => Task::Classes,
    };
    let linear = params.booster.as_deref() == Some("gblinear");
    Ok(XgbModel {
        file: packed::numbers(&trained.ubj),
        file_len: trained.ubj.len(),
        task,
        outputs: if task == Task::Classes { data.classes.len() } else { 1 },
        rounds: trained.rounds,
        best: Tensor::vector(trained.best.map_or(Vec::new(), |(round, score)| vec![round as f64, score])),
        sets: trained.scores.iter().map(|s| s.set.clone()).collect(),
        metrics: trained.scores.iter().map(|s| s.metric.clone()).collect(),
        scores: Tensor::vector(trained.scores.iter().flat_map(|s| s.values.clone()).collect()),
        importances: Tensor::vector(trained.importances),
        numeric_categories: Vec::new(),
        known: Tensor::vector(
            data.features.iter().map(|c| c.categories().map_or(0.0, |names| names.len() as f64)).collect(),
        ),
        notes: trained.notes,
        // Linear models do not predict in place, which is all that the library does on several threads.
        booster: (!linear).then_some(trained.booster),
        forest: OnceLock::new(),
    })
}

/// Checks that the parameters allow the columns of categories.
fn categories(estimator: &str, params: &XgbParams, data: &Data) -> Result<(), Error> {
    let Some(column) = data.features.iter().find(|c| c.categories().is_some()) else { return Ok(()) };
    let name = &column.name;
    let error = if !params.enable_categorical {
        Error::new(
            ErrorKind::Strings,
            format!("`{name}` holds strings, and `enable_categorical` of {estimator} is false"),
        )
    } else if params.tree_method.as_deref() == Some("exact") {
        Error::new(ErrorKind::Strings, format!("`{name}` holds strings, and `tree_method` \"exact\" takes numbers"))
            .help("`.tree_method(\"hist\")` splits by categories")
    } else if params.booster.as_deref() == Some("gblinear") {
        Error::new(ErrorKind::Strings, format!("`{name}` holds strings, and `booster` \"gblinear\" takes numbers"))
    } else {
        return Ok(());
    };
    Err(error.help("or encode it with `OneHotEncoder` or `OrdinalEncoder` in a pipeline"))
}

impl XgbModel {
    /// The bytes of the model's file.
    fn bytes_of_file(&self) -> Vec<u8> {
        packed::bytes(&self.file, self.file_len)
    }

    /// The model as it is read without the library, once.
    fn forest(&self) -> Result<&XgbForest, Error> {
        if let Some(forest) = self.forest.get() {
            return Ok(forest);
        }
        let forest = Document::read(&self.bytes_of_file()).and_then(|document| XgbForest::read(&document));
        let forest =
            forest.map_err(|why| Error::new(ErrorKind::ModelFile, format!("this is not a model of XGBoost: {why}")))?;
        Ok(self.forest.get_or_init(|| forest))
    }

    /// The rounds that predict: up to the best one, or all, which is 0.
    fn rounds_used(&self) -> usize {
        self.best.data.first().map_or(0, |round| *round as usize + 1)
    }

    /// Rows x outputs on the target's scale: values, the probability of the second class, or one for each class.
    fn values(&self, data: &Data) -> Result<Vec<f32>, Error> {
        let columns = self.columns(data);
        if let Some(booster) = &self.booster {
            let features = train::features(&columns, booster.has_names());
            let rows = ffi::MatrixRows { features, ..ffi::MatrixRows::default() };
            // Probabilities come from margins, because `multi:softmax` would give the class only.
            let margins = self.task == Task::Classes;
            let mut values = booster.predict(&rows, self.rounds_used(), margins)?;
            if margins {
                let classes = (values.len() / data.rows).max(1);
                values.chunks_mut(classes).for_each(softmax);
            }
            return Ok(values);
        }
        let forest = self.forest()?;
        let columns: Vec<&[f64]> = columns.iter().map(|c| &c.values[..]).collect();
        let mut values = forest.margins(&columns, data.rows, self.rounds_used());
        forest.link(&mut values);
        // A file of another program: XGBClassifier takes no such objective here.
        if self.task == Task::Binary && forest.objective == "binary:logitraw" {
            values.iter_mut().for_each(|v| *v = sigmoid(*v));
        }
        Ok(values)
    }

    /// The features with positions of known categories; unknown ones are missing.
    fn columns<'a>(&self, data: &'a Data) -> std::borrow::Cow<'a, [Column]> {
        // An unseen category stands after the known ones.
        let count = |at: usize, column: &Column| {
            let names = column.categories()?.len();
            Some(self.known.data.get(at).map_or(names, |known| (*known as usize).min(names)))
        };
        let unknown = |(at, c): (usize, &Column)| {
            count(at, c).is_some_and(|known| {
                known < c.categories().map_or(0, <[String]>::len) || c.values.iter().any(|v| *v >= known as f64)
            })
        };
        if self.numeric_categories.is_empty() && !data.features.iter().enumerate().any(unknown) {
            return std::borrow::Cow::Borrowed(&data.features);
        }
        let mut columns = data.features.clone();
        for (at, column) in columns.iter_mut().enumerate() {
            if let Some(known) = count(at, column) {
                column.values.iter_mut().filter(|v| **v >= known as f64).for_each(|v| *v = f64::NAN);
                if let Kind::Category(names) = &mut column.kind {
                    names.truncate(known);
                }
            }
        }
        for (at, known) in &self.numeric_categories {
            let code = |v: f64| known.data.iter().position(|known| *known == v).map_or(f64::NAN, |code| code as f64);
            columns[*at].values.iter_mut().for_each(|v| *v = code(*v));
        }
        std::borrow::Cow::Owned(columns)
    }

    fn lines(&self) -> Vec<Scores> {
        scores::lines(&self.sets, &self.metrics, &self.scores, self.rounds)
    }
}

impl Model for XgbModel {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        let classes = match self.task {
            Task::Value => 0,
            Task::Binary => 2,
            Task::Classes => self.outputs,
        };
        std::iter::once(Role::Prediction).chain((0..classes).map(Role::Proba)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        if data.rows == 0 {
            return Ok(wanted.iter().map(|_| Vec::new()).collect());
        }
        let values = self.values(data)?;
        let outputs = values.len() / data.rows;
        let column = |output: usize| match (self.task, output) {
            (Task::Value, _) => values.iter().map(|v| f64::from(*v)).collect(),
            (Task::Binary, 0) => values.iter().map(|p| if *p > 0.5 { 1.0 } else { 0.0 }).collect(),
            (Task::Binary, 1) => values.iter().map(|p| f64::from(1.0 - p)).collect(),
            (Task::Binary, _) => values.iter().map(|p| f64::from(*p)).collect(),
            (Task::Classes, 0) => values.chunks(outputs).map(largest).collect(),
            (Task::Classes, class) => values.chunks(outputs).map(|row| f64::from(row[class - 1])).collect(),
        };
        Ok(wanted.iter().map(|output| column(*output)).collect())
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        match name {
            "best_iteration" => self.best.data.first().map(|round| Attribute::Int(*round as i64)),
            "best_score" => self.best.data.get(1).map(|score| Attribute::Float(*score)),
            "n_iter" => Some(Attribute::Int(self.rounds as i64)),
            "feature_importances" if !self.importances.data.is_empty() => {
                Some(Attribute::by_feature(features, "importance", &self.importances.data))
            }
            "evals_result" => Some(scores::frame(&self.lines())),
            _ => None,
        }
    }

    fn bars(&self) -> Option<(&'static str, Vec<f64>)> {
        (!self.importances.data.is_empty()).then(|| ("importance", self.importances.data.clone()))
    }

    fn curves(&self) -> Vec<(String, Vec<(f64, f64)>)> {
        scores::curves(&self.lines())
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// Margins.
    fn shapes(&self, data: &Data) -> Result<Option<Shapes<'_>>, Error> {
        let Some(mut shapes) = self.forest()?.shapes(self.rounds_used()) else { return Ok(None) };
        shapes.rows = Some(data.with_features(self.columns(data).into_owned()));
        Ok(Some(shapes))
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        let wrong = |why: String| Err(Error::new(ErrorKind::ModelFile, why));
        if self.file_len.div_ceil(8) != self.file.data.len() {
            return wrong(format!("XGBoost's file has {} bytes in {} numbers", self.file_len, self.file.data.len()));
        }
        let forest = self.forest()?;
        if forest.features != features {
            return wrong(format!("XGBoost's file has {} features, and the model has {features}", forest.features));
        }
        let expected = match self.task {
            Task::Value => (1, 0),
            Task::Binary => (1, 2),
            Task::Classes => (classes.max(2), classes.max(2)),
        };
        if (forest.outputs, classes) != expected || self.outputs != forest.outputs {
            return wrong(format!("XGBoost's file has {} outputs for {classes} classes", forest.outputs));
        }
        let best_fits = match self.best.data[..] {
            [] => true,
            [round, _] => round >= 0.0 && round.fract() == 0.0 && round < self.rounds.max(1) as f64,
            _ => false,
        };
        let lines = self.sets.len().checked_mul(self.rounds);
        if !best_fits || self.metrics.len() != self.sets.len() || lines != Some(self.scores.data.len()) {
            return wrong(format!("the scores are not those of {} rounds", self.rounds));
        }
        if !self.importances.data.is_empty() && self.importances.data.len() != features {
            return wrong(format!("{} importances for {features} features", self.importances.data.len()));
        }
        match self.numeric_categories.iter().find(|(at, _)| *at >= features) {
            Some((at, _)) => wrong(format!("feature {at} of {features} has categories")),
            None => Ok(()),
        }
    }

    fn bytes(&self) -> u64 {
        self.file.bytes() + self.forest.get().map_or(0, XgbForest::bytes)
    }
}
