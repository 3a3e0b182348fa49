//! Cross-validation: a model for each split, scored on the rows that it was not trained on
//! (`sklearn.model_selection.cross_validate`).

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use onrush_wire::learn::{Spec, Splitter};

use super::score::{self, Answers};
use crate::check;
pub(crate) use crate::compose::folds::{in_waves, is_sequential, training_rows};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::estimators::{FittedModel, Trainer};
use crate::model::{Attribute, codes};
use crate::run::Run;
use crate::split::{self, RowSplit, splits};

/// A model of a cross-validation: its times in seconds and its scores.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// The name of the estimator.
    pub model: String,
    pub fold: usize,
    pub fit_time: f64,
    pub score_time: f64,
    /// For each scorer its name and the score on the test rows.
    pub test: Vec<(String, f64)>,
    /// The same on the training rows. Empty unless asked for.
    pub train: Vec<(String, f64)>,
    /// The best round of a boosted model that was scored after each round.
    pub best_iteration: Option<i64>,
}

/// The work of [`crate::cross_validate`] with any trainer.
///
/// # Errors
/// If a split, a training or a score fails, and if the user stops the work.
pub(crate) fn cross_validate(
    spec: &Spec,
    data: &Data,
    splitter: &Splitter,
    scorers: &[String],
    return_train_score: bool,
    run: &Run<'_>,
    trainer: Trainer<'_>,
) -> Result<Vec<Fold>, Error> {
    check::spec(spec)?;
    let scorers = named(scorers, !data.classes.is_empty())?;
    let splits = splits_of(data, splitter)?;
    score_folds(spec, data, &splits, &scorers, return_train_score, run, trainer)
}

/// Trains and scores on each split.
pub(crate) fn score_folds(
    spec: &Spec,
    data: &Data,
    splits: &[RowSplit],
    scorers: &[String],
    return_train_score: bool,
    run: &Run<'_>,
    trainer: Trainer<'_>,
) -> Result<Vec<Fold>, Error> {
    let done = AtomicU64::new(0);
    let all = splits.len() as u64;
    run.stage(format!("cross-validate {}", spec.estimator));
    (run.steps)(0, all);
    let failed = FirstFailure::default();
    let folds = in_waves(data.rows, (0..splits.len()).collect(), |fold| {
        failed.check(fold)?;
        run.check(|| format!("{} of {all} folds", done.load(Ordering::Relaxed)))?;
        let inner = Run { is_stopped: run.is_stopped, ..Run::silent() };
        let made = train_and_score(spec, data, &splits[fold], scorers, return_train_score, &inner, trainer);
        (run.steps)(done.fetch_add(1, Ordering::Relaxed) + 1, all);
        failed.record(fold, &made);
        made.map(|made| Fold { fold, ..made })
    });
    folds.into_iter().collect()
}

/// The lowest number of a task that failed. Tasks after it are of no use; those before it run, so that the error does
/// not depend on threads.
pub(crate) struct FirstFailure(AtomicUsize);

impl Default for FirstFailure {
    fn default() -> Self {
        FirstFailure(AtomicUsize::new(usize::MAX))
    }
}

impl FirstFailure {
    pub fn record<T>(&self, task: usize, result: &Result<T, Error>) {
        if result.is_err() {
            self.0.fetch_min(task, Ordering::Relaxed);
        }
    }

    /// # Errors
    /// If a task before this one failed. Its error comes first.
    pub fn check(&self, task: usize) -> Result<(), Error> {
        match self.0.load(Ordering::Relaxed) < task {
            true => Err(Error::new(ErrorKind::CrossValidation, "a fold before this one failed")),
            false => Ok(()),
        }
    }
}

/// The names of scorers: the given ones, or the default.
pub(crate) fn named(scorers: &[String], is_classifier: bool) -> Result<Vec<String>, Error> {
    scorers.iter().try_for_each(|scorer| score::check(scorer, is_classifier))?;
    Ok(match scorers.is_empty() {
        true => vec![score::default_scorer(is_classifier).to_string()],
        false => scorers.to_vec(),
    })
}

pub(crate) fn splits_of(data: &Data, splitter: &Splitter) -> Result<Vec<RowSplit>, Error> {
    let y = (!data.y.is_empty()).then_some(data.y.as_slice());
    if let Splitter::StratifiedShuffleSplit { .. } = splitter {
        split::all_have_two(&data.y, &data.classes)?;
    }
    splits(splitter, data.rows, y, !data.classes.is_empty(), data.groups.as_deref())
}

/// The rows of these classes, as positions in them. All rows of data without classes.
fn with_classes(data: &Data, classes: &[String]) -> Data {
    if data.classes.is_empty() || data.classes == classes {
        return data.clone();
    }
    let positions = codes(classes, &data.classes);
    let is_known = |row: &usize| positions[data.y[*row] as usize] < classes.len() as f64;
    let mut taken = data.take(&(0..data.rows).filter(is_known).collect::<Vec<usize>>());
    taken.y.iter_mut().for_each(|class| *class = positions[*class as usize]);
    taken.classes = classes.to_vec();
    taken
}

/// The model of a fold, with its training rows and its test rows.
pub(crate) struct FoldModel {
    pub fitted: FittedModel,
    pub train: Data,
    pub test: Data,
    /// Seconds.
    pub fit_time: f64,
}

/// Trains on the first rows of a split. An estimator that stops early, and was given no evaluation set, is scored
/// after each round on the test rows.
///
/// # Errors
/// If the training fails. If the user stops the work: a search inside has then seen only some of its trials.
pub(crate) fn train_fold(
    spec: &Spec,
    data: &Data,
    (train, test): &RowSplit,
    run: &Run<'_>,
    trainer: Trainer<'_>,
) -> Result<FoldModel, Error> {
    let start = Instant::now();
    let mut train = training_rows(data, train);
    let mut test = data.take(test);
    test.eval.clear();
    let own = std::slice::from_ref(&test);
    let sets = if data.eval.is_empty() && spec.stops_on_eval() { own } else { data.eval.as_slice() };
    let sets = sets.iter().map(|set| with_classes(set, &train.classes));
    train.eval = sets.filter(|set| set.rows > 0).collect();
    let fitted = trainer(spec, &train, run)?;
    if spec.ends_with_search() {
        run.check(|| "a search of a fold".to_string())?;
    }
    Ok(FoldModel { fitted, train, test, fit_time: start.elapsed().as_secs_f64() })
}

/// Trains on the first rows of a split and scores on the second ones. The number of the fold is 0.
pub(crate) fn train_and_score(
    spec: &Spec,
    data: &Data,
    split: &RowSplit,
    scorers: &[String],
    return_train_score: bool,
    run: &Run<'_>,
    trainer: Trainer<'_>,
) -> Result<Fold, Error> {
    let FoldModel { fitted, train, test, fit_time } = train_fold(spec, data, split, run, trainer)?;
    let start = Instant::now();
    let names: Vec<&str> = scorers.iter().map(String::as_str).collect();
    let scores = |data: &Data| -> Result<Vec<(String, f64)>, Error> {
        let answers = Answers::new(&fitted, data, &names)?;
        scorers.iter().map(|name| answers.score(name).map(|score| (name.clone(), score))).collect()
    };
    let test = scores(&test)?;
    let score_time = start.elapsed().as_secs_f64();
    let train = if return_train_score { scores(&train)? } else { Vec::new() };
    let best_iteration = match fitted.attribute("best_iteration") {
        Some(Attribute::Int(round)) => Some(round),
        _ => None,
    };
    Ok(Fold { model: spec.estimator.clone(), fold: 0, fit_time, score_time, test, train, best_iteration })
}
