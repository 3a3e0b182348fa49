//! The estimators of an ensemble: which ones a specification has, and their training.

use std::borrow::Cow;

use onrush_wire::learn::{EstimatorKind, Part, Spec, info};

use super::kind;
use crate::check;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::estimators::inside::in_estimator;
use crate::estimators::{FittedModel, Trainer};
use crate::path;
use crate::random::Mt19937;
use crate::run::Run;

/// The name of the final estimator of a stack.
pub(crate) const FINAL: &str = "final_estimator";

/// The estimators of an ensemble with their positions, without those that are dropped.
///
/// # Errors
/// If there are none, or one has another kind than the ensemble. If a name occurs twice or is not allowed.
pub(crate) fn members(spec: &Spec) -> Result<Vec<(usize, &Part)>, Error> {
    let wrong = |message: String| Err(Error::new(ErrorKind::Parameter, message));
    super::distinct_names(spec)?;
    let parts: Vec<&Part> = spec.parts.iter().filter(|part| part.name != FINAL).collect();
    for part in &parts {
        let name = &part.name;
        let is_parameter = info(&spec.estimator).is_some_and(|e| e.param(name).is_some());
        if name.is_empty() || name.contains("__") || is_parameter {
            let message = format!("{} has an estimator named `{name}`", spec.estimator);
            let help = "a name is not empty, has no `__`, and is not that of a parameter";
            return Err(Error::new(ErrorKind::Parameter, message).help(help));
        }
    }
    let members: Vec<(usize, &Part)> =
        parts.into_iter().enumerate().filter(|(_, part)| part.spec.estimator != "drop").collect();
    if members.is_empty() {
        return wrong(format!("{} has no estimators: expected at least one", spec.estimator));
    }
    members.iter().try_for_each(|(_, part)| expect_kind(spec, part))?;
    Ok(members)
}

/// Checks that an estimator inside predicts what the ensemble does.
fn expect_kind(spec: &Spec, part: &Part) -> Result<(), Error> {
    let (wanted, word) = match spec.is_classifier() {
        true => (EstimatorKind::Classifier, "classifiers"),
        false => (EstimatorKind::Regressor, "regressors"),
    };
    if kind(&part.spec) == wanted {
        return Ok(());
    }
    let message = format!("estimator `{}` is {}, and {} takes {word}", part.name, part.spec.estimator, spec.estimator);
    Err(Error::new(ErrorKind::Parameter, message))
}

/// The only estimator of an ensemble, or its default.
///
/// # Errors
/// If there are several, or if it has another kind than the ensemble.
pub(crate) fn only<'a>(spec: &'a Spec, default: &dyn Fn() -> Spec) -> Result<Cow<'a, Spec>, Error> {
    match &spec.parts[..] {
        [] => Ok(Cow::Owned(default())),
        [part] => {
            expect_kind(spec, part)?;
            Ok(Cow::Borrowed(&part.spec))
        }
        several => {
            let message = format!("{} has {} estimators: expected one", spec.estimator, several.len());
            Err(Error::new(ErrorKind::Parameter, message))
        }
    }
}

/// Trains an estimator inside. `number` of `all` and `name` are in the stages and in errors.
pub(crate) fn train(
    (number, all): (usize, usize),
    name: &str,
    spec: &Spec,
    data: &Data,
    run: &Run<'_>,
    fit: Trainer<'_>,
) -> Result<FittedModel, Error> {
    run.check(|| format!("{number} of {all} estimators"))?;
    let title = format!("{} of {all}: {name}", number + 1);
    (run.steps)(number as u64, all as u64);
    run.stage(title.clone());
    let stage = |inner: String| run.stage(format!("{title}, {inner}"));
    let inner = Run { is_stopped: run.is_stopped, stage: &stage, ..Run::silent() };
    let fitted = fit(spec, data, &inner).map_err(|error| in_estimator(name, error))?;
    (run.steps)(number as u64 + 1, all as u64);
    Ok(fitted)
}

/// Whether the training of an estimator counts rows with weights, by scikit-learn's signatures.
pub(crate) fn takes_weights(spec: &Spec) -> bool {
    const WITHOUT: [&str; 12] = [
        "Pipeline",
        "TransformedTargetRegressor",
        "KNeighborsClassifier",
        "KNeighborsRegressor",
        "RadiusNeighborsClassifier",
        "RadiusNeighborsRegressor",
        "VotingClassifier",
        "VotingRegressor",
        "StackingClassifier",
        "StackingRegressor",
        "OneVsRestClassifier",
        "OneVsOneClassifier",
    ];
    !spec.is_search() && !WITHOUT.contains(&spec.estimator.as_str())
}

/// The exclusive upper end of the seeds that scikit-learn draws for estimators.
pub(crate) const SEEDS: u64 = 0x7fff_ffff;

/// An estimator whose seeds, also inside of it, are drawn in scikit-learn's order.
///
/// # Errors
/// If a seed cannot be set; this is a bug.
pub(crate) fn with_seeds(spec: &Spec, random: &mut Mt19937) -> Result<Spec, Error> {
    let is_seed = |path: &String| path == "random_state" || path.ends_with("__random_state");
    let mut paths: Vec<String> = path::all(spec).into_iter().filter(is_seed).collect();
    paths.sort();
    let mut seeded = spec.clone();
    for path in paths {
        path::set(&mut seeded, &path, (random.randint(0, SEEDS) as i64).into())?;
    }
    check::spec(&seeded)?;
    Ok(seeded)
}

/// `choice(n, size, replace=True, p=weight)`: positions drawn by weights, of which one is above 0.
pub(crate) fn drawn_by_weight(weight: &[f64], size: usize, random: &mut Mt19937) -> Vec<usize> {
    let cumulated = cumulated(weight);
    (0..size).map(|_| at(&cumulated, random.uniform())).collect()
}

/// `choice(n, size, replace=False, p=weight)`: different positions drawn by weights. `size` of them are above 0.
pub(crate) fn drawn_once_by_weight(weight: &[f64], size: usize, random: &mut Mt19937) -> Vec<usize> {
    let mut weight = weight.to_vec();
    let mut is_drawn = vec![false; weight.len()];
    let mut drawn = Vec::with_capacity(size);
    while drawn.len() < size {
        let numbers: Vec<f64> = (drawn.len()..size).map(|_| random.uniform()).collect();
        drawn.iter().for_each(|position: &usize| weight[*position] = 0.0);
        let cumulated = cumulated(&weight);
        for number in numbers {
            let position = at(&cumulated, number);
            if !std::mem::replace(&mut is_drawn[position], true) {
                drawn.push(position);
            }
        }
    }
    drawn
}

/// Cumulated shares, the last of which is 1.
fn cumulated(weight: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let mut out: Vec<f64> = weight
        .iter()
        .map(|w| {
            sum += w;
            sum
        })
        .collect();
    out.iter_mut().for_each(|c| *c /= sum);
    out
}

fn at(cumulated: &[f64], number: f64) -> usize {
    cumulated.partition_point(|c| *c <= number).min(cumulated.len().saturating_sub(1))
}
