//! Models: from a frame's columns to a training, and from a trained model to columns.
//!
//! The estimators are in `runtime/learn`. Here their data come from frames (`models/data.rs`), their results become
//! frames and expressions (`models/results.rs`), and trained models are found again by their keys.

mod data;
mod device;
mod results;

use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Instant;

use onrush_expr::diagnostics;
use onrush_expr::model::{self, Predictor};
use onrush_frame::{Table, TaskHandle};
use onrush_learn::{Error, ErrorKind, FittedModel, Run};
use onrush_logical::fingerprint;
use onrush_wire::learn::{
    EstimatorKind, Evaluation, Fit, Grid, ModelAsk, ModelId, ModelInfo, ShapRequest, Spec, Splitter, TrainSizes,
    info as estimator,
};
use onrush_wire::plan::{Split, SplitPart};
use onrush_wire::session::{Reply, Request};
use onrush_wire::{Class, DataType, Diagnostic, FrameId, ObjectId, Span, Value, codec};

use super::frames::resident;
use super::objects::Object;
use super::service::{Answer, Job, misrouted};
use super::{Engine, Frame, placed};
use data::Training;
use onrush_logical::ops::Inputs;
pub(crate) use results::TrainedModel;

/// Whether a specification predicts numbers or classes, or has no target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Regression,
    Classification,
    /// A target of either kind, which is looked at: `TargetEncoder`.
    Either,
    None,
}

/// What a specification predicts: that of the estimator inside, for those that are made of others.
fn task_of(spec: &Spec) -> Task {
    match estimator(&spec.estimator).map(|e| e.kind) {
        Some(EstimatorKind::Regressor) => Task::Regression,
        Some(EstimatorKind::Classifier) => Task::Classification,
        Some(EstimatorKind::SupervisedTransformer) if spec.parts.is_empty() => Task::Either,
        Some(EstimatorKind::Meta | EstimatorKind::SupervisedTransformer) => {
            let inner = spec.parts.iter().map(|part| task_of(&part.spec));
            match spec.estimator.as_str() {
                "Pipeline" => {
                    let all: Vec<Task> = inner.collect();
                    match all.last() {
                        // A step before the last one may look at the target.
                        Some(Task::None) => all.iter().copied().find(|task| *task != Task::None).unwrap_or(Task::None),
                        Some(last) => *last,
                        None => Task::None,
                    }
                }
                _ => inner.fold(Task::None, |a, b| if a == Task::None { b } else { a }),
            }
        }
        _ => Task::None,
    }
}

impl Engine {
    /// Answers a call of the family of models.
    pub(super) fn answer_models(&self, job: Job, task: &TaskHandle) -> Result<Answer, Diagnostic> {
        let made = job.made_model();
        let with_file = |id, (info, file)| Ok(Answer::Model { id, info: Box::new(info), file });
        match job.request {
            Request::Fit { fit, at } => {
                let id = made?;
                with_file(id, self.fit(id, &fit, at.as_ref(), task)?)
            }
            Request::LoadModel { path, folder } => {
                let id = made?;
                with_file(id, self.load_model(id, &path, &folder)?)
            }
            Request::Model { model, what } => self.model_ask(model, &what, task),
            Request::CrossValidate { fit, cv, scoring, train_score, at } => {
                let table = self.cross_validate(&fit, &cv, &scoring, train_score, task);
                Ok(Answer::Rows(Arc::new(table.map_err(|d| placed(d, at.as_ref()))?)))
            }
            Request::ValidationCurve { fit, cv, scoring, param, values, at } => {
                let table = self.validation_curve(&fit, &cv, &scoring, (&param, values), task);
                Ok(Answer::Rows(Arc::new(table.map_err(|d| placed(d, at.as_ref()))?)))
            }
            Request::CrossValPredict { fit, cv, method, at } => {
                let table = self.cross_val_predict(&fit, &cv, &method, task);
                Ok(Answer::Rows(Arc::new(table.map_err(|d| placed(d, at.as_ref()))?)))
            }
            Request::LearningCurve { fit, cv, scoring, sizes, at } => {
                let table = self.learning_curve(&fit, &cv, &scoring, &sizes, task);
                Ok(Answer::Rows(Arc::new(table.map_err(|d| placed(d, at.as_ref()))?)))
            }
            Request::ClusterScore { frame, label, score } => {
                let value = Value::Float(self.cluster_score(frame, &label, &score, task)?);
                Ok(Answer::reply(Reply::Value { value, dtype: DataType::Float64 }))
            }
            other => Err(misrouted(&other)),
        }
    }

    /// Trains a model under `id`, or finds one that was trained in the same way on the same rows. Gives what is known
    /// of it, and its file.
    ///
    /// # Errors
    /// If a parameter, a column or a value is not what the estimator takes; if the rows do not fit into memory; if the
    /// user stops it.
    pub fn fit(
        &self,
        id: ModelId,
        fit: &Fit,
        at: Option<&Span>,
        task: &TaskHandle,
    ) -> Result<(ModelInfo, Vec<u8>), Diagnostic> {
        let work = || {
            let key = self.key_of_fit(fit)?;
            if let Some(known) = self.known_model(key) {
                return self.keep(id, known, None);
            }
            let begun = Instant::now();
            onrush_learn::check::spec(&fit.spec).map_err(diagnose)?;
            let (training, fitted) = match self.fit_on_device(fit, task)? {
                Some(done) => done,
                None => {
                    let training = self.training(fit, task)?;
                    let fitted = self.with_threads(task, |run| onrush_learn::fit(&fit.spec, &training.data, run))?;
                    (training, fitted)
                }
            };
            let seconds = begun.elapsed().as_secs_f64();
            // A search that was stopped has tried less than its key says.
            let key = match task.cancelled() {
                true if fit.spec.ends_with_search() => fingerprint::hash(|h| std::hash::Hash::hash(&(key, id.0), h)),
                // Nobody waits for it.
                true => return Err(onrush_frame::CancelError.into()),
                false => key,
            };
            let trained = self.on_learners(|| TrainedModel::new(key, fit, fitted, &training, seconds));
            self.keep(id, Arc::new(trained), None)
        };
        work().map_err(|d| placed(d, at))
    }

    /// Trains on the device. `None` if the host must do it.
    fn fit_on_device(&self, fit: &Fit, task: &TaskHandle) -> Result<Option<(Training, FittedModel)>, Diagnostic> {
        let Some((training, passes)) = self.device_training(fit, task)? else { return Ok(None) };
        let mut needs_host = false;
        let work = |run: &Run<'_>| {
            let fitted = onrush_learn::fit(&fit.spec, &training.data, run);
            needs_host = fitted.as_ref().is_err_and(Error::needs_host);
            fitted
        };
        match (self.with_threads(task, work), passes.failure()) {
            (_, Some(failure)) => Err(failure),
            (Err(_), None) if needs_host => Ok(None),
            (fitted, None) => fitted.map(|fitted| Some((training, fitted))),
        }
    }

    /// A model of a file.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a model.
    pub fn load_model(&self, id: ModelId, path: &str, folder: &str) -> Result<(ModelInfo, Vec<u8>), Diagnostic> {
        let path = Path::new(folder).join(path);
        let failed = |why: &dyn std::fmt::Display| {
            Diagnostic::error(Class::Run, "file", format!("the model {} cannot be read: {why}", path.display()))
        };
        let metadata = std::fs::metadata(&path).map_err(|e| failed(&e))?;
        if !metadata.is_file() {
            return Err(failed(&"it is not a regular file"));
        }
        if metadata.len() > self.memory_limit() / 4 {
            let (has, may) = (metadata.len() >> 20, self.memory_limit() >> 22);
            return Err(failed(&format!("it has {has} MB, and a model may take {may} MB")).help("ONRUSH_MEMORY=16G"));
        }
        let mut memory = self.account("models");
        memory.grow(metadata.len())?;
        let bytes = std::fs::read(&path).map_err(|e| failed(&e))?;
        let name = path.display().to_string();
        let fitted = onrush_learn::save::load(&name, &bytes).map_err(diagnose)?;
        if fitted.session.is_empty() {
            return self.restore_model(id, &name, bytes);
        }
        // The key in a file is that of the training: the file may come from another version, or was changed since.
        let trained = TrainedModel::of_file(fitted, content_key(&bytes))?;
        self.keep(id, Arc::new(trained), None)
    }

    /// The model of the bytes that came with it, under its key. `name` is for messages.
    ///
    /// # Errors
    /// If the bytes are not those of a model.
    pub fn restore_model(&self, id: ModelId, name: &str, bytes: Vec<u8>) -> Result<(ModelInfo, Vec<u8>), Diagnostic> {
        let fitted = onrush_learn::save::load(name, &bytes).map_err(diagnose)?;
        let trained = TrainedModel::restored(fitted, || content_key(&bytes))?;
        self.keep(id, Arc::new(trained), Some(bytes))
    }

    fn known_model(&self, key: u128) -> Option<Arc<TrainedModel>> {
        self.trained.lock().unwrap_or_else(|e| e.into_inner()).get(&key)?.upgrade()
    }

    /// Puts a model into the catalog. Gives what is known of it, and its file: `bytes`, if it comes from one.
    fn keep(
        &self,
        id: ModelId,
        trained: Arc<TrainedModel>,
        bytes: Option<Vec<u8>>,
    ) -> Result<(ModelInfo, Vec<u8>), Diagnostic> {
        let mut known = self.trained.lock().unwrap_or_else(|e| e.into_inner());
        known.retain(|_, other| other.strong_count() > 0);
        let trained = match known.get(&trained.key()).and_then(Weak::upgrade) {
            Some(other) => other,
            None => {
                known.insert(trained.key(), Arc::downgrade(&trained));
                trained
            }
        };
        drop(known);
        if trained.memory.get().is_none() {
            let mut memory = self.account("models");
            memory.grow(trained.bytes())?;
            // Another request may have counted the same model.
            let _ = trained.memory.set(memory);
        }
        let predictor: Arc<dyn Predictor> = Arc::<TrainedModel>::clone(&trained);
        model::register(&predictor);
        // The copy for the supervisor.
        let mut copy = self.account("models");
        copy.grow(if bytes.is_some() { 0 } else { trained.bytes() })?;
        let bytes = match bytes {
            Some(bytes) => bytes,
            None => onrush_learn::save::to_bytes(&trained.fitted).map_err(diagnose)?,
        };
        let info = trained.info.clone();
        self.catalog.insert(id, Object::Model(trained));
        Ok((info, bytes))
    }

    /// Bytes of the arrays of each model, in the order of ids.
    pub fn models(&self) -> Vec<(ObjectId, u64)> {
        let mut models = self.catalog.of_models(|id, model| (id, model.bytes()));
        models.sort_unstable();
        models
    }

    /// Answers what is asked of a model.
    ///
    /// # Errors
    /// If the model does not have the attribute, or if the evaluated frame lacks a feature.
    pub fn model_ask(&self, id: ModelId, what: &ModelAsk, task: &TaskHandle) -> Result<Answer, Diagnostic> {
        let model = self.catalog.model(id).ok_or_else(|| {
            Diagnostic::error(Class::Internal, "unknown-model", format!("the session has no model {}", id.0))
                .help("run the cell again that trains the model")
        })?;
        Ok(Answer::Rows(Arc::new(match what {
            ModelAsk::Attribute(name) => model.attribute(name)?,
            ModelAsk::Rows => model.rows()?,
            ModelAsk::Save { path, folder } => return save(&model.fitted, path, folder),
            ModelAsk::Evaluate { frame, what } => {
                let needs_target = !matches!(
                    what,
                    Evaluation::Kneighbors { .. } | Evaluation::PartialDependence { .. } | Evaluation::Decision
                );
                let (data, _memory) = match what {
                    Evaluation::Inverse => self.outputs_of(&model, *frame, task)?,
                    _ => self.evaluation(&model, *frame, needs_target, task)?,
                };
                let evaluate = |run: &Run<'_>| onrush_learn::select::evaluate(&model.fitted, &data, what, run);
                results::table(self.with_threads(task, evaluate)?)?
            }
            ModelAsk::Shap { frame, options } => self.shap(&model, *frame, options, task)?,
        })))
    }

    /// The SHAP values of the rows of a frame: see [`onrush_learn::select::Explanation::frame`].
    fn shap(
        &self,
        model: &TrainedModel,
        frame: FrameId,
        options: &ShapRequest,
        task: &TaskHandle,
    ) -> Result<Table, Diagnostic> {
        let needs_target = false;
        let (data, _memory) = self.evaluation(model, frame, needs_target, task)?;
        let background = match options.background {
            Some(background) => Some(self.evaluation(model, background, needs_target, task)?),
            None => None,
        };
        let background = background.as_ref().map(|(data, _memory)| data);
        let options = onrush_learn::select::ShapOptions {
            class: options.class.clone(),
            evaluations: options.max_evals,
            random_state: options.random_state,
        };
        let explain = |run: &Run<'_>| onrush_learn::select::shap(&model.fitted, &data, background, &options, run);
        results::table(self.with_threads(task, explain)?.frame())
    }

    /// Trains and scores on folds: a row for each.
    ///
    /// # Errors
    /// As [`Engine::fit`], and if there are fewer rows than folds.
    pub fn cross_validate(
        &self,
        fit: &Fit,
        cv: &Splitter,
        scoring: &[String],
        train_score: bool,
        task: &TaskHandle,
    ) -> Result<Table, Diagnostic> {
        onrush_learn::check::spec(&fit.spec).map_err(diagnose)?;
        let training = self.training(fit, task)?;
        let work =
            |run: &Run<'_>| onrush_learn::cross_validate(&fit.spec, &training.data, cv, scoring, train_score, run);
        let folds = self.with_threads(task, work)?;
        let models = onrush_learn::Values::Strs(folds.iter().map(|fold| fold.model.clone()).collect());
        results::folds(("model".to_string(), models), folds)
    }

    /// Trains and scores on folds for each value of a parameter: a row for each value and fold, with the value in the
    /// first column. The training data are made once.
    ///
    /// # Errors
    /// As [`Engine::cross_validate`], and if the estimator does not have the parameter or does not take a value.
    pub fn validation_curve(
        &self,
        fit: &Fit,
        cv: &Splitter,
        scoring: &[String],
        (param, values): (&str, Grid),
        task: &TaskHandle,
    ) -> Result<Table, Diagnostic> {
        let curve = onrush_learn::ValidationCurve::new(&fit.spec, param, values).map_err(diagnose)?;
        let training = self.training(fit, task)?;
        let folds = self.with_threads(task, |run| curve.score(&training.data, cv, scoring, run))?;
        let first = (param.to_string(), curve.column(&folds));
        results::folds(first, folds.into_iter().map(|(_, fold)| fold).collect())
    }

    /// Predicts each row by a model that was not trained on it: the columns, in the order of the rows.
    ///
    /// # Errors
    /// As [`Engine::cross_validate`], and if the folds do not test each row once.
    pub fn cross_val_predict(
        &self,
        fit: &Fit,
        cv: &Splitter,
        method: &str,
        task: &TaskHandle,
    ) -> Result<Table, Diagnostic> {
        onrush_learn::check::spec(&fit.spec).map_err(diagnose)?;
        let training = self.training(fit, task)?;
        let work = |run: &Run<'_>| onrush_learn::cross_val_predict(&fit.spec, &training.data, cv, method, run);
        results::predictions(self.with_threads(task, work)?, training.classes.as_ref())
    }

    /// Trains on the first rows of each training set and scores. The table has a row for each number of rows and fold,
    /// with the number in the first column.
    ///
    /// # Errors
    /// As [`Engine::cross_validate`], and if a number does not fit the rows.
    pub fn learning_curve(
        &self,
        fit: &Fit,
        cv: &Splitter,
        scoring: &[String],
        sizes: &TrainSizes,
        task: &TaskHandle,
    ) -> Result<Table, Diagnostic> {
        onrush_learn::check::spec(&fit.spec).map_err(diagnose)?;
        let training = self.training(fit, task)?;
        let work = |run: &Run<'_>| onrush_learn::learning_curve(&fit.spec, &training.data, cv, sizes, scoring, run);
        let folds = self.with_threads(task, work)?;
        let numbers = onrush_learn::Values::Ints(folds.iter().map(|(rows, _)| *rows as i64).collect());
        results::folds(("train_size".to_string(), numbers), folds.into_iter().map(|(_, fold)| fold).collect())
    }

    /// How well the clusters of a frame are apart. All columns of numbers but `label` are features.
    ///
    /// # Errors
    /// If the column or the score is unknown, or if the frame has fewer than two clusters.
    pub fn cluster_score(
        &self,
        frame: FrameId,
        label: &str,
        score: &str,
        task: &TaskHandle,
    ) -> Result<f64, Diagnostic> {
        let frame = self.frame(frame)?;
        let table = self.run(&frame, task)?;
        let (labels, _) = data::codes(&table, label, &frame.schema)?;
        let features = data::numeric_columns(&table, label)?;
        let work = |run: &Run<'_>| {
            onrush_learn::metrics::cluster_score(score, &onrush_learn::Data::new(features), &labels, run)
        };
        self.with_threads(task, work)
    }

    /// The rows of a split, computed at once.
    pub(super) fn split(
        &self,
        input: FrameId,
        split: &Split,
        part: SplitPart,
        key: u128,
        task: &TaskHandle,
    ) -> Result<Frame, Diagnostic> {
        let frame = self.frame(input)?;
        // Both parts are taken from the rows by number.
        if frame.cluster.is_some() && frame.resident.is_none() {
            let message = "a split needs rows that stay in their order, and those of a cluster do not";
            return Err(diagnostics::plan_error("cluster-order", message)
                .help("`persist()` the frame first: its rows are then in the session"));
        }
        let table = self.run(&frame, task)?;
        let codes =
            |name: &Option<String>| name.as_ref().map(|name| data::codes(&table, name, &frame.schema)).transpose();
        let (train, test) = match split {
            Split::TrainTest { test_size, train_size, shuffle, stratify, random_state } => {
                let stratify = codes(stratify)?;
                let rows = table.rows();
                onrush_learn::select::train_test_split(
                    rows,
                    *test_size,
                    *train_size,
                    *shuffle,
                    stratify.as_ref().map(|(codes, _)| codes.as_slice()),
                    *random_state,
                )
            }
            Split::Fold { splitter, fold, target, groups } => {
                let (target, groups) = (codes(target)?, codes(groups)?);
                let y = target.as_ref().map(|(codes, _)| codes.as_slice());
                let is_classifier = target.as_ref().is_some_and(|(_, is_class)| *is_class);
                let groups = groups.as_ref().map(|(codes, _)| codes.as_slice());
                onrush_learn::select::splits(splitter, table.rows(), y, is_classifier, groups).and_then(|mut all| {
                    let folds = all.len();
                    match *fold < folds {
                        true => Ok(all.swap_remove(*fold)),
                        false => Err(Error::new(
                            ErrorKind::Fold,
                            format!("there is no fold {fold}: the splitter makes {folds}"),
                        )),
                    }
                })
            }
        }
        .map_err(diagnose)?;
        let rows = if part == SplitPart::Train { train } else { test };
        let taken = data::take(&table, &rows)?;
        resident(key, "split".to_string(), Arc::new(taken))
    }

    /// Runs work of an estimator on the threads that train models, with the progress of the task.
    fn with_threads<T: Send>(
        &self,
        task: &TaskHandle,
        work: impl FnOnce(&Run<'_>) -> Result<T, Error> + Send,
    ) -> Result<T, Diagnostic> {
        let stopped = || task.cancelled();
        let stage = |text: String| task.stage(text);
        let steps = |done: u64, of: u64| task.set_steps(done, of);
        let detail = |detail| task.set_detail(detail);
        let run = Run { is_stopped: &stopped, stage: &stage, steps: &steps, detail: &detail };
        self.on_learners(|| work(&run)).map_err(diagnose)
    }

    /// Runs work on the threads that train models.
    pub fn on_learners<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let pool = self.learners.get_or_init(|| {
            let threads = self.config.threads;
            rayon::ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("learn {i}")).build().ok()
        });
        match pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    /// Equal for trainings that give the same model.
    fn key_of_fit(&self, fit: &Fit) -> Result<u128, Diagnostic> {
        let mut plain = fit.clone();
        let keys =
            fit.frames().into_iter().map(|id| self.frame(id).map(|f| f.key)).collect::<Result<Vec<u128>, _>>()?;
        plain.frames_mut().into_iter().for_each(|id| *id = FrameId(0));
        plain.target.iter_mut().for_each(fingerprint::without_places);
        without_places(&mut plain.spec);
        let bytes = codec::content(&plain);
        Ok(fingerprint::hash(|h| {
            use std::hash::Hash;
            ("fit", &bytes, &keys).hash(h);
        }))
    }
}

/// A model of the bytes of its file, for predictions in plans that come from another process.
pub(super) fn from_file(bytes: &[u8]) -> Result<Arc<dyn Predictor>, Diagnostic> {
    let fitted = onrush_learn::save::from_bytes(bytes).map_err(diagnose)?;
    Ok(Arc::new(TrainedModel::restored(fitted, || content_key(bytes))?))
}

fn content_key(bytes: &[u8]) -> u128 {
    fingerprint::hash(|h| std::hash::Hash::hash(bytes, h))
}

fn without_places(spec: &mut Spec) {
    spec.features.iter_mut().flatten().for_each(fingerprint::without_places);
    spec.parts.iter_mut().for_each(|part| without_places(&mut part.spec));
}

/// Writes a model's file.
fn save(fitted: &FittedModel, path: &str, folder: &str) -> Result<Answer, Diagnostic> {
    let bytes = onrush_learn::save::save(fitted, path).map_err(diagnose)?;
    let written = onrush_io::write_bytes(path, folder, &bytes)?;
    let path = written.path.display().to_string();
    Ok(Answer::reply(Reply::Written { path, rows: 0, bytes: written.bytes }))
}

/// An error of an estimator for the user.
fn diagnose(error: Error) -> Diagnostic {
    let class = if error.is_stopped() { Class::Interrupted } else { Class::Run };
    let diagnostic = Diagnostic::error(class, error.kind.code(), error.message);
    error.help.into_iter().fold(diagnostic, Diagnostic::help)
}
