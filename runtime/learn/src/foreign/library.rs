//! Models that LightGBM and CatBoost train in a process of Python, and that predict here by their files.

use std::borrow::Cow;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use onrush_wire::learn::{Detail, Param, Spec, info};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::catboost::CatboostForest;
use super::lightgbm::LightgbmForest;
use super::packed;
use super::scores::{self, Scores, largest};
use super::worker::{self, Library, Message, Request};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::eval_set;
use crate::explain::shape::Shapes;
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::run::Run;
use crate::tensor::Tensor;

/// A model of LightGBM or CatBoost.
#[derive(Serialize, Deserialize)]
pub struct LibraryModel {
    pub(super) library: Library,
    /// The bytes of the model's file: LightGBM's text, or CatBoost's JSON.
    pub(super) file: Tensor,
    pub(super) file_len: usize,
    /// Classes that it predicts. 0: a number.
    pub(super) classes: usize,
    /// Rounds of the training, also those after the best one.
    pub(super) rounds: usize,
    /// The best round, as the library counts it. Empty without early stopping.
    pub(super) best: Tensor,
    /// The sets, metrics and values of the best round.
    pub(super) best_sets: Vec<String>,
    pub(super) best_metrics: Vec<String>,
    pub(super) best_scores: Tensor,
    /// A line of scores for each pair of a set and a metric.
    pub(super) sets: Vec<String>,
    pub(super) metrics: Vec<String>,
    pub(super) scores: Tensor,
    /// One for each feature.
    pub(super) importances: Tensor,
    pub(super) notes: Vec<String>,
    #[serde(skip)]
    pub(super) forest: OnceLock<LibraryForest>,
}

/// A model's file as it predicts.
pub enum LibraryForest {
    Lightgbm(LightgbmForest),
    Catboost(CatboostForest),
}

impl LibraryForest {
    fn read(library: Library, bytes: &[u8]) -> Result<LibraryForest, Error> {
        let read = match library {
            Library::Lightgbm => LightgbmForest::read(bytes).map(LibraryForest::Lightgbm),
            Library::Catboost => CatboostForest::read(bytes).map(LibraryForest::Catboost),
        };
        let name = library.name();
        read.map_err(|why| Error::new(ErrorKind::ModelFile, format!("this is not a model of {name}: {why}")))
    }

    fn features(&self) -> usize {
        match self {
            LibraryForest::Lightgbm(forest) => forest.features(),
            LibraryForest::Catboost(forest) => forest.features(),
        }
    }

    /// Values of a row.
    fn outputs(&self) -> usize {
        match self {
            LibraryForest::Lightgbm(forest) => forest.outputs,
            LibraryForest::Catboost(forest) => forest.outputs,
        }
    }

    /// Rows x outputs on the target's scale.
    fn predict(&self, data: &Data, is_classifier: bool) -> Vec<f64> {
        match self {
            LibraryForest::Lightgbm(forest) => {
                // An unseen category stands after the known ones, and no node asks for its number.
                let columns: Vec<&[f64]> = data.features.iter().map(|c| &c.values[..]).collect();
                forest.predict(&columns, data.rows)
            }
            LibraryForest::Catboost(forest) => forest.predict(data, is_classifier),
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            LibraryForest::Lightgbm(forest) => forest.bytes(),
            LibraryForest::Catboost(forest) => forest.bytes(),
        }
    }
}

/// A training of a library: what of a specification is not the same for all.
pub struct LibraryTraining<'a> {
    pub library: Library,
    /// `classifier`, `regressor` or `ranker`.
    pub kind: &'a str,
    /// Parameters in the head of the request.
    pub params: Map<String, Value>,
    /// Rounds at most.
    pub rounds: usize,
    /// The kind of the importances.
    pub importance: &'a str,
    /// Names of the features as the library takes them.
    pub names: Vec<String>,
    /// Whether the process gets the names of categories, else their positions.
    pub named_categories: bool,
}

impl LibraryTraining<'_> {
    /// Trains on rows, with the evaluation sets in `data.eval`.
    ///
    /// # Errors
    /// If the data are not what the library takes, and those of [`worker::train`].
    pub fn run(&self, spec: &Spec, data: &Data, run: &Run<'_>) -> Result<LibraryModel, Error> {
        if spec.param("early_stopping_rounds") != Param::None && data.eval.is_empty() {
            return Err(Error::new(
                ErrorKind::NoEvaluation,
                "`early_stopping_rounds` is set, and there are no rows to score",
            )
            .help("`.eval_set(&valid)` names a frame that is scored after each round"));
        }
        let mut sets = vec![Cow::Borrowed(data)];
        for eval in &data.eval {
            sets.push(Cow::Owned(eval_set::aligned(spec, data, eval)?));
        }
        let mut groups: Vec<Vec<f64>> = vec![Vec::new(); sets.len()];
        if self.kind == "ranker" {
            for (set, sizes) in sets.iter_mut().zip(&mut groups) {
                let (sorted, found) = by_group(&spec.estimator, set)?;
                (*set, *sizes) = (Cow::Owned(sorted), found);
            }
        }
        let mut heard = Heard::new(self.rounds, run);
        let request = self.request(&sets, &groups);
        let done = std::cell::Cell::new(0);
        let file = worker::train(
            self.library,
            &request,
            run,
            &mut |message| {
                heard.message(message);
                done.set(heard.rounds);
            },
            &|| format!("{} of {} rounds", done.get(), self.rounds),
        )?;
        heard.show_curves();
        self.model(data, heard, file)
    }

    fn request<'a>(&self, sets: &'a [Cow<'_, Data>], groups: &'a [Vec<f64>]) -> Request<'a> {
        let mut blocks: Vec<&[f64]> = Vec::new();
        let mut described = Vec::new();
        for (set, groups) in sets.iter().zip(groups) {
            blocks.extend(set.features.iter().map(|c| &c.values[..]));
            blocks.push(&set.y);
            blocks.extend(set.weight.as_deref());
            blocks.push(groups);
            described.push(json!({"rows": set.rows, "weight": set.weight.is_some(), "groups": groups.len()}));
        }
        let levels = sets[0].features.iter().map(|c| match c.categories() {
            Some(names) if self.named_categories => json!(names),
            Some(_) => json!([]),
            None => Value::Null,
        });
        let levels: Vec<Value> = levels.collect();
        let head = json!({
            "library": self.library.package(), "kind": self.kind, "params": self.params, "rounds": self.rounds,
            "importance": self.importance, "names": self.names, "levels": levels, "sets": described,
        });
        Request { head, blocks }
    }

    fn model(&self, data: &Data, heard: Heard<'_, '_>, file: worker::File) -> Result<LibraryModel, Error> {
        let bytes = match self.library {
            Library::Lightgbm => super::lightgbm::with_categories(file.bytes, &data.features),
            Library::Catboost => file.bytes,
        };
        let (best_sets, (best_metrics, best_scores)) =
            heard.best.into_iter().map(|(set, metric, value)| (set, (metric, value))).unzip();
        // CatBoost counts rounds from 0.
        let from = usize::from(self.library == Library::Catboost);
        let model = LibraryModel {
            library: self.library,
            file: packed::numbers(&bytes),
            file_len: bytes.len(),
            classes: data.classes.len(),
            rounds: heard.rounds,
            best: Tensor::vector(if file.best == 0 { Vec::new() } else { vec![(file.best - from) as f64] }),
            best_sets,
            best_metrics,
            best_scores: Tensor::vector(best_scores),
            sets: heard.scores.iter().map(|s| s.set.clone()).collect(),
            metrics: heard.scores.iter().map(|s| s.metric.clone()).collect(),
            scores: Tensor::vector(heard.scores.iter().flat_map(|s| s.values.clone()).collect()),
            importances: Tensor::vector(heard.importances),
            notes: heard.notes,
            forest: OnceLock::new(),
        };
        model.check(data.width(), data.classes.len())?;
        Ok(model)
    }
}

/// The messages of a training.
struct Heard<'a, 'b> {
    run: &'a Run<'b>,
    most: usize,
    rounds: usize,
    scores: Vec<Scores>,
    best: Vec<(String, String, f64)>,
    importances: Vec<f64>,
    notes: Vec<String>,
    shown: Instant,
}

impl<'a, 'b> Heard<'a, 'b> {
    fn new(most: usize, run: &'a Run<'b>) -> Self {
        Heard {
            run,
            most,
            rounds: 0,
            scores: Vec::new(),
            best: Vec::new(),
            importances: Vec::new(),
            notes: Vec::new(),
            shown: Instant::now(),
        }
    }

    fn message(&mut self, message: Message) {
        match message {
            Message::Warning(text) => self.notes.push(text),
            Message::Names(names) => {
                self.scores =
                    names.into_iter().map(|(set, metric)| Scores { set, metric, values: Vec::new() }).collect();
            }
            Message::Round(round, values) => {
                self.rounds = round + 1;
                for (line, value) in self.scores.iter_mut().zip(values) {
                    line.values.push(value);
                }
                self.show();
            }
            Message::Best(set, metric, value) => self.best.push((set, metric, value)),
            Message::Importances(values) => self.importances = values,
        }
    }

    fn show(&mut self) {
        let (done, most) = (self.rounds, self.most);
        (self.run.steps)(done as u64, most as u64);
        let last = self.scores.last().and_then(|s| Some((s, s.values.last()?)));
        self.run.stage(match last {
            Some((scores, value)) => format!("round {done} of {most}, {} {} {value:.5}", scores.set, scores.metric),
            None => format!("round {done} of {most}"),
        });
        if self.shown.elapsed() >= Duration::from_millis(100) {
            self.show_curves();
            self.shown = Instant::now();
        }
    }

    fn show_curves(&self) {
        if !self.scores.is_empty() {
            (self.run.detail)(Detail::Curves(scores::curves(&self.scores)));
        }
    }
}

/// Rows sorted by group, and the sizes of the groups.
fn by_group(estimator: &str, data: &Data) -> Result<(Data, Vec<f64>), Error> {
    let groups = data.groups.as_deref().ok_or_else(|| {
        let message = format!("{estimator} got no groups: it ranks the rows of a group among each other");
        Error::new(ErrorKind::NoGroups, message).help("`.groups(\"query\")` names the column of groups")
    })?;
    if let Some(row) = groups.iter().position(|g| g.is_nan()) {
        return Err(Error::new(ErrorKind::Nulls, format!("the group of row {row} is null"))
            .help("`drop_nulls()` leaves these rows out"));
    }
    let mut order: Vec<usize> = (0..data.rows).collect();
    // Stable: rows of a group stay in their order.
    order.sort_by(|a, b| groups[*a].total_cmp(&groups[*b]));
    let sizes = order.chunk_by(|a, b| groups[*a].total_cmp(&groups[*b]).is_eq()).map(|group| group.len() as f64);
    Ok((data.take(&order), sizes.collect()))
}

/// The parameters of a specification that are set, without those named in `handled` and with those in `extra`.
///
/// # Errors
/// If an entry of `extra` is not a pair of a name and a value, or names a parameter that has a method.
pub fn params(spec: &Spec, handled: &[&str], aliases: &[(&str, &str)]) -> Result<Map<String, Value>, Error> {
    let mut params = Map::new();
    for param in info(&spec.estimator).into_iter().flat_map(|e| &e.params) {
        let value = spec.param(param.name);
        if value != Param::None && param.name != "extra" && !handled.contains(&param.name) {
            params.insert(param.name.to_string(), value_of(&value));
        }
    }
    for (name, value) in extra_pairs(spec, aliases)? {
        params.insert(name, value);
    }
    Ok(params)
}

fn extra_pairs(spec: &Spec, aliases: &[(&str, &str)]) -> Result<Vec<(String, Value)>, Error> {
    let given = spec.param("extra");
    let wrong = |value: &Param| {
        Error::new(ErrorKind::Parameter, format!("`extra` is {value}: expected pairs of a name and a value"))
            .help("such as `.extra([[\"max_bin\", \"64\"]])`")
    };
    let entries = match &given {
        Param::None => return Ok(Vec::new()),
        Param::List(entries) => entries,
        other => return Err(wrong(other)),
    };
    let mut pairs = Vec::new();
    for entry in entries {
        let Param::List(pair) = entry else { return Err(wrong(entry)) };
        let [Param::Str(name), value] = &pair[..] else { return Err(wrong(entry)) };
        let method = aliases.iter().find(|(alias, _)| alias == name).map(|(_, method)| *method);
        let known = info(&spec.estimator).is_some_and(|e| e.param(name).is_some());
        match method.or(known.then_some(name.as_str())) {
            Some("") => {
                let message = format!("`extra` sets `{name}`, which cannot be chosen here");
                return Err(Error::new(ErrorKind::Parameter, message)
                    .help("classes, categories and threads come from the data and the session"));
            }
            Some(method) => {
                let message = format!("`extra` sets `{name}`, which is a parameter of {}", spec.estimator);
                return Err(Error::new(ErrorKind::Parameter, message).help(format!("`.{method}(..)` sets it")));
            }
            None => pairs.push((name.clone(), written(value))),
        }
    }
    Ok(pairs)
}

/// A value of `extra`: a string that is a number, a truth value or a list of JSON stands for that.
fn written(value: &Param) -> Value {
    let parsed = match value {
        Param::Str(text) => serde_json::from_str(text).ok(),
        _ => None,
    };
    parsed
        .filter(|parsed: &Value| parsed.is_number() || parsed.is_boolean() || parsed.is_array())
        .unwrap_or_else(|| value_of(value))
}

/// A parameter as JSON.
pub fn value_of(param: &Param) -> Value {
    match param {
        Param::None => Value::Null,
        Param::Bool(value) => json!(value),
        Param::Int(value) => json!(value),
        Param::Float(value) => json!(value),
        Param::Str(value) => json!(value),
        Param::List(values) => Value::Array(values.iter().map(value_of).collect()),
    }
}

impl LibraryModel {
    /// The bytes of the model's file.
    fn bytes_of_file(&self) -> Vec<u8> {
        packed::bytes(&self.file, self.file_len)
    }

    /// Whether LightGBM trained it.
    pub fn is_lightgbm(&self) -> bool {
        self.library == Library::Lightgbm
    }

    /// The bytes of the library's file. `None`: the model is one of another library.
    pub fn file_of(&self, library: Library) -> Option<Vec<u8>> {
        (self.library == library).then(|| self.bytes_of_file())
    }

    /// The model as it predicts, read once.
    fn forest(&self) -> Result<&LibraryForest, Error> {
        if let Some(forest) = self.forest.get() {
            return Ok(forest);
        }
        let forest = LibraryForest::read(self.library, &self.bytes_of_file())?;
        Ok(self.forest.get_or_init(|| forest))
    }

    fn lines(&self) -> Vec<Scores> {
        scores::lines(&self.sets, &self.metrics, &self.scores, self.rounds)
    }

    fn best_score(&self) -> Option<Attribute> {
        (!self.best_sets.is_empty()).then(|| {
            Attribute::Frame(vec![
                ("set".to_string(), Values::Strs(self.best_sets.clone())),
                ("metric".to_string(), Values::Strs(self.best_metrics.clone())),
                ("value".to_string(), Values::Floats(self.best_scores.data.clone())),
            ])
        })
    }
}

impl Model for LibraryModel {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        std::iter::once(Role::Prediction).chain((0..self.classes).map(Role::Proba)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        if data.rows == 0 {
            return Ok(wanted.iter().map(|_| Vec::new()).collect());
        }
        let values = self.forest()?.predict(data, self.classes > 0);
        let outputs = values.len() / data.rows;
        let column = |output: usize| match (self.classes, output) {
            (0, _) => values.clone(),
            (2, 0) => values.iter().map(|p| if *p > 0.5 { 1.0 } else { 0.0 }).collect(),
            (2, 1) => values.iter().map(|p| 1.0 - p).collect(),
            (2, _) => values.clone(),
            (_, 0) => values.chunks(outputs).map(largest).collect(),
            (_, class) => values.chunks(outputs).map(|row| row[class - 1]).collect(),
        };
        Ok(wanted.iter().map(|output| column(*output)).collect())
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        match name {
            "best_iteration" => self.best.data.first().map(|round| Attribute::Int(*round as i64)),
            "best_score" => self.best_score(),
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

    /// Margins of LightGBM. Trees of CatBoost ask for statistics of several features.
    fn shapes(&self, _: &Data) -> Result<Option<Shapes<'_>>, Error> {
        match self.forest()? {
            LibraryForest::Lightgbm(forest) => Ok(forest.shapes()),
            LibraryForest::Catboost(_) => Ok(None),
        }
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        let wrong = |why: String| Err(Error::new(ErrorKind::ModelFile, why));
        let name = self.library.name();
        if self.file_len.div_ceil(8) != self.file.data.len() {
            return wrong(format!("{name}'s file has {} bytes in {} numbers", self.file_len, self.file.data.len()));
        }
        let forest = self.forest()?;
        if forest.features() != features {
            return wrong(format!("{name}'s file has {} features, and the model has {features}", forest.features()));
        }
        let expected = if self.classes > 2 { self.classes } else { 1 };
        if self.classes != classes || forest.outputs() != expected || classes == 1 {
            return wrong(format!("{name}'s file has {} outputs for {classes} classes", forest.outputs()));
        }
        let lines = self.sets.len().checked_mul(self.rounds);
        let best = [self.best_metrics.len(), self.best_scores.data.len()];
        if self.metrics.len() != self.sets.len()
            || lines != Some(self.scores.data.len())
            || best != [self.best_sets.len(); 2]
        {
            return wrong(format!("the scores are not those of {} rounds", self.rounds));
        }
        if !self.importances.data.is_empty() && self.importances.data.len() != features {
            return wrong(format!("{} importances for {features} features", self.importances.data.len()));
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.file.bytes() + self.forest.get().map_or(0, LibraryForest::bytes)
    }
}
