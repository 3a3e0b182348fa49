//! Several classes by classifiers of two classes (scikit-learn's `OneVsRestClassifier` and `OneVsOneClassifier`).

use std::sync::atomic::{AtomicU64, Ordering};

use onrush_wire::learn::Spec;

use super::folds::in_waves;
use super::members::only;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::estimators::inside::{has_proba, in_estimator, response};
use crate::estimators::{FittedModel, OneVsOne, OneVsRest, Response, Trainer};
use crate::run::Run;

/// Trains a classifier of each class and the other ones.
pub fn rest(spec: &Spec, data: &Data, run: &Run<'_>, fit: Trainer<'_>) -> Result<OneVsRest, Error> {
    let classes = data.classes.len();
    let tasks: Vec<usize> = if classes == 2 { vec![1] } else { (0..classes).collect() };
    let rows = |task: usize| {
        let y = data.y.iter().map(|y| f64::from(u8::from(*y as usize == task))).collect();
        let class = data.classes[task].clone();
        (class.clone(), Data { y, classes: vec![format!("not {class}"), class], eval: Vec::new(), ..data.clone() })
    };
    let parts = trained(spec, data, &tasks, rows, run, fit)?;
    let has_proba = parts.iter().all(has_proba);
    Ok(OneVsRest { response: chosen(&parts, data)?, parts, has_proba, classes })
}

/// Trains a classifier of each pair of classes on their rows.
pub fn one(spec: &Spec, data: &Data, run: &Run<'_>, fit: Trainer<'_>) -> Result<OneVsOne, Error> {
    let classes = data.classes.len();
    let pairs: Vec<(usize, usize)> = (0..classes).flat_map(|i| (i + 1..classes).map(move |j| (i, j))).collect();
    let rows = |task: usize| {
        let (i, j) = pairs[task];
        let of_pair: Vec<usize> = (0..data.rows).filter(|row| [i, j].contains(&(data.y[*row] as usize))).collect();
        let taken = data.take(&of_pair);
        let y = taken.y.iter().map(|y| f64::from(u8::from(*y as usize == j))).collect();
        let names = vec![data.classes[i].clone(), data.classes[j].clone()];
        (names.join(" or "), Data { y, classes: names, eval: Vec::new(), ..taken })
    };
    let tasks: Vec<usize> = (0..pairs.len()).collect();
    let parts = trained(spec, data, &tasks, rows, run, fit)?;
    Ok(OneVsOne { response: chosen(&parts, data)?, parts, classes })
}

/// Trains a classifier for each task, several at the same time if there are few rows. `rows` gives a name and the rows.
fn trained(
    spec: &Spec,
    data: &Data,
    tasks: &[usize],
    rows: impl Fn(usize) -> (String, Data) + Sync,
    run: &Run<'_>,
    fit: Trainer<'_>,
) -> Result<Vec<FittedModel>, Error> {
    if spec.parts.is_empty() {
        let message = format!("{} has no estimator: expected a classifier", spec.estimator);
        return Err(Error::new(ErrorKind::Parts, message));
    }
    let inner = only(spec, &Spec::default)?;
    let (done, all) = (AtomicU64::new(0), tasks.len());
    let parts = in_waves(data.rows, tasks.to_vec(), |task| {
        run.check(|| format!("{} of {all} classifiers", done.load(Ordering::Relaxed)))?;
        let quiet = Run { is_stopped: run.is_stopped, ..Run::silent() };
        let (name, rows) = rows(task);
        let fitted = fit(&inner, &rows, &quiet).map_err(|error| in_estimator(&name, error))?;
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        (run.steps)(done, all as u64);
        run.stage(format!("{done} of {all}: {name}"));
        Ok(fitted)
    });
    parts.into_iter().collect()
}

/// Scores if the classifiers have some, else probabilities.
fn chosen(parts: &[FittedModel], data: &Data) -> Result<Response, Error> {
    let Some(first) = parts.first() else {
        return Err(Error::new(ErrorKind::OneClass, "there is one class: expected several"));
    };
    if response("estimator", first, &data.take(&[0]), Response::Decision)?.is_some() {
        return Ok(Response::Decision);
    }
    match has_proba(first) {
        true => Ok(Response::Proba),
        false => Err(Error::new(
            ErrorKind::Estimator,
            format!("{} has neither scores of classes nor probabilities", first.spec.estimator),
        )),
    }
}
