//! Trainings on several sets of rows, at the same time if there are few rows. Predictions of rows that a model was not
//! trained on (`sklearn.model_selection.cross_val_predict`).

use std::sync::atomic::{AtomicU64, Ordering};

use onrush_wire::learn::Spec;
use rayon::prelude::*;

use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::estimators::inside::{Response, expected_response, in_estimator};
use crate::estimators::{FittedModel, Trainer};
use crate::run::Run;
use crate::split::RowSplit;

/// Rows up to which several models are trained at the same time. Larger ones are trained one after another, because a
/// training uses all threads.
const SMALL: usize = 20_000;

/// Whether models are trained one after another on so many rows.
pub(crate) fn is_sequential(rows: usize) -> bool {
    rows > SMALL
}

/// Calls `work` for each task, in waves: at most a few trainings hold their rows at the same time. The results are in
/// the order of the tasks.
pub(crate) fn in_waves<T: Send>(rows: usize, tasks: Vec<usize>, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    if is_sequential(rows) {
        return tasks.into_iter().map(work).collect();
    }
    let wave = 4 * rayon::current_num_threads();
    tasks.chunks(wave).flat_map(|wave| wave.par_iter().map(|task| work(*task)).collect::<Vec<T>>()).collect()
}

/// The rows at these positions, with only the classes that they have.
pub(crate) fn training_rows(data: &Data, rows: &[usize]) -> Data {
    let mut taken = data.take(rows);
    let mut there = vec![false; taken.classes.len()];
    if taken.y.is_empty() || there.is_empty() {
        return taken;
    }
    taken.y.iter().for_each(|class| there[*class as usize] = true);
    if there.iter().any(|there| !there) {
        let kept = |class: usize| there[..class].iter().filter(|t| **t).count() as f64;
        let position: Vec<f64> = (0..there.len()).map(kept).collect();
        taken.y.iter_mut().for_each(|class| *class = position[*class as usize]);
        let names = std::mem::take(&mut taken.classes).into_iter().zip(&there);
        taken.classes = names.filter(|(_, there)| **there).map(|(name, _)| name).collect();
        // Evaluation sets may have rows of other classes, whose positions no longer fit.
        taken.eval.clear();
    }
    taken
}

/// The answers for all rows, each by the model of the fold that tests it. `spec` is trained for each fold. A class that
/// a fold does not train has the probability 0.
pub(crate) fn cross_predict(
    (name, spec): (&str, &Spec),
    data: &Data,
    splits: &[RowSplit],
    kind: Response,
    run: &Run<'_>,
    fit: Trainer<'_>,
) -> Result<Vec<Vec<f64>>, Error> {
    covers(splits, data.rows)?;
    let (done, all) = (AtomicU64::new(0), splits.len());
    run.stage(format!("{name}: {all} folds"));
    let answers: Vec<Vec<Vec<f64>>> = in_waves(data.rows, (0..all).collect(), |fold| {
        run.check(|| format!("{} of {all} folds of {name}", done.load(Ordering::Relaxed)))?;
        let inner = Run { is_stopped: run.is_stopped, ..Run::silent() };
        let (train, test) = &splits[fold];
        let fitted = fit(spec, &training_rows(data, train), &inner).map_err(|e| in_estimator(name, e))?;
        let answer = expected_response(name, &fitted, &data.take(test), kind)?;
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        run.stage(format!("{name}: fold {done} of {all}"));
        of_all_classes(answer, &fitted, data, kind)
    })
    .into_iter()
    .collect::<Result<_, Error>>()?;
    let width = answers.first().map_or(0, Vec::len);
    let mut columns = vec![vec![0.0; data.rows]; width];
    for (answer, (_, test)) in answers.iter().zip(splits) {
        for (column, values) in columns.iter_mut().zip(answer) {
            test.iter().zip(values).for_each(|(row, value)| column[*row] = *value);
        }
    }
    Ok(columns)
}

/// Checks that each row is tested once.
fn covers(splits: &[RowSplit], rows: usize) -> Result<(), Error> {
    let mut tested = vec![0usize; rows];
    splits.iter().flat_map(|(_, test)| test).for_each(|row| tested[*row] += 1);
    match tested.iter().all(|count| *count == 1) {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::CrossValidation, "`cv` does not test each row once, which is needed here")
            .help("take a number of folds, `KFold` or `StratifiedKFold`")),
    }
}

/// The answers of a model in terms of the classes of `data`, of which the model may have some.
fn of_all_classes(
    answer: Vec<Vec<f64>>,
    fitted: &FittedModel,
    data: &Data,
    kind: Response,
) -> Result<Vec<Vec<f64>>, Error> {
    if fitted.classes == data.classes {
        return Ok(answer);
    }
    let positions = positions(&fitted.classes, &data.classes);
    match kind {
        Response::Predict => {
            let class = |value: f64| positions.get(value as usize).map_or(f64::NAN, |position| *position as f64);
            Ok(answer.into_iter().map(|column| column.into_iter().map(class).collect()).collect())
        }
        Response::Proba => {
            let rows = answer.first().map_or(0, Vec::len);
            let mut all = vec![vec![0.0; rows]; data.classes.len()];
            positions.iter().zip(answer).for_each(|(position, column)| all[*position] = column);
            Ok(all)
        }
        Response::Decision => {
            let missing = data.classes.iter().find(|class| !fitted.classes.contains(class));
            let message = format!("a fold trains on no row of the class `{}`", missing.map_or("", String::as_str));
            Err(Error::new(ErrorKind::CrossValidation, message).help("take fewer folds, or `StratifiedKFold`"))
        }
    }
}

/// The positions of some classes among all of them.
pub(crate) fn positions(some: &[String], all: &[String]) -> Vec<usize> {
    some.iter().filter_map(|class| all.iter().position(|other| other == class)).collect()
}
