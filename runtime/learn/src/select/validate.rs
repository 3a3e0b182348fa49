//! Cross-validation: a model for each split, scored on the rows that it was not trained on
//! (`sklearn.model_selection.cross_validate`).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use onrush_wire::learn::{Spec, Splitter};

use super::score::{self, Answers};
use crate::check;
pub(crate) use crate::compose::folds::{in_waves, is_sequential, training_rows};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::estimators::Trainer;
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
    let is_classifier = !data.classes.is_empty();
    let scorers = named(scorers, is_classifier)?;
    let splits = splits_of(data, splitter)?;
    let done = AtomicU64::new(0);
    let all = splits.len() as u64;
    run.stage(format!("cross-validate {}", spec.estimator));
    (run.steps)(0, all);
    let failed = AtomicBool::new(false);
    let folds = in_waves(data.rows, (0..splits.len()).collect(), |fold| {
        // After a failure the next folds are of no use. In a wave all run, so that the error is that of the first fold.
        if is_sequential(data.rows) && failed.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::CrossValidation, "a fold before this one failed"));
        }
        run.check(|| format!("{} of {all} folds", done.load(Ordering::Relaxed)))?;
        let inner = Run { is_stopped: run.is_stopped, ..Run::silent() };
        let made = train_and_score(spec, data, &splits[fold], &scorers, return_train_score, &inner, trainer);
        (run.steps)(done.fetch_add(1, Ordering::Relaxed) + 1, all);
        failed.fetch_or(made.is_err(), Ordering::Relaxed);
        made.map(|made| Fold { fold, ..made })
    });
    folds.into_iter().collect()
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

/// Trains on the first rows of a split and scores on the second ones. The number of the fold is 0.
pub(crate) fn train_and_score(
    spec: &Spec,
    data: &Data,
    (train, test): &RowSplit,
    scorers: &[String],
    return_train_score: bool,
    run: &Run<'_>,
    trainer: Trainer<'_>,
) -> Result<Fold, Error> {
    let start = Instant::now();
    let train = training_rows(data, train);
    let fitted = trainer(spec, &train, run)?;
    let fit_time = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let mut test = data.take(test);
    test.eval.clear();
    let names: Vec<&str> = scorers.iter().map(String::as_str).collect();
    let scores = |data: &Data| -> Result<Vec<(String, f64)>, Error> {
        let answers = Answers::new(&fitted, data, &names)?;
        scorers.iter().map(|name| answers.score(name).map(|score| (name.clone(), score))).collect()
    };
    let test = scores(&test)?;
    let score_time = start.elapsed().as_secs_f64();
    let train = if return_train_score { scores(&train)? } else { Vec::new() };
    Ok(Fold { model: spec.estimator.clone(), fold: 0, fit_time, score_time, test, train })
}
