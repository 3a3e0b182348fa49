//! The training loop: matrices, rounds, scores, early stopping. The order of calls is that of the Python package
//! (`sklearn.py`, `training.py` and `callback.py`), so that the same data give the same model.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use onrush_wire::learn::{Detail, Param, Spec};
use parking_lot::{Mutex, MutexGuard};

use super::ffi::{self, Api, Booster, Feature, Matrix, MatrixRows};
use super::params::{extra, list as list_of};
use crate::data::{Column, Data};
use crate::error::{Error, ErrorKind};
use crate::eval_set;
use crate::foreign::scores::{Scores, curves};
use crate::params::XgbParams;
use crate::run::Run;

/// The library shares its threads between trainings: two at once would only disturb each other.
static TRAINING: Mutex<()> = Mutex::new(());

/// The result of a training.
pub struct TrainedBooster {
    pub booster: Booster,
    /// The model with the notes that the Python package writes: `best_iteration`, `best_score`, and whether it is a
    /// classifier.
    pub ubj: Vec<u8>,
    pub rounds: usize,
    /// The best round and its score, if the training stopped early or could have.
    pub best: Option<(usize, f64)>,
    pub scores: Vec<Scores>,
    /// `gain` of each feature as a share; for a linear model `weight`.
    pub importances: Vec<f64>,
    pub notes: Vec<String>,
}

/// Trains on rows.
///
/// # Errors
/// If the library is missing, if a parameter or the data are not what it takes, and if the user stops the training.
pub fn train(
    spec: &Spec,
    objective: &str,
    params: &XgbParams,
    data: &Data,
    run: &Run<'_>,
) -> Result<TrainedBooster, Error> {
    let threads = rayon::current_num_threads();
    let list = list_of(spec, objective, params, data, threads)?;
    if params.early_stopping_rounds.is_some() && data.eval.is_empty() {
        return Err(Error::new(
            ErrorKind::NoEvaluation,
            "`early_stopping_rounds` is set, and there are no rows to score",
        )
        .help("`.eval_set(&valid)` names a frame that is scored after each round"));
    }
    let sets = data.eval.iter().map(|eval| aligned(spec, data, eval)).collect::<Result<Vec<Data>, Error>>()?;
    let (data, sets) = match spec.estimator.as_str() {
        "XGBRanker" => (by_group(data)?, sets.iter().map(by_group).collect::<Result<Vec<_>, Error>>()?),
        _ => (GroupedRows::plain(data), sets.iter().map(GroupedRows::plain).collect()),
    };
    let api = ffi::api()?;
    let _turn = turn(run)?;
    let (trained, warnings) = api.with_warnings(|| rounds(api, spec, params, &list, &data, &sets, run));
    let mut trained = trained?;
    trained.notes = warnings;
    Ok(trained)
}

/// Waits until no other training runs.
fn turn(run: &Run<'_>) -> Result<MutexGuard<'static, ()>, Error> {
    loop {
        if let Some(turn) = TRAINING.try_lock() {
            return Ok(turn);
        }
        run.stage("waiting for another training of XGBoost");
        run.check(|| "0 rounds".to_string())?;
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn rounds(
    api: &'static Api,
    spec: &Spec,
    params: &XgbParams,
    list: &[(String, String)],
    data: &GroupedRows,
    sets: &[GroupedRows],
    run: &Run<'_>,
) -> Result<TrainedBooster, Error> {
    let value = |name: &str| list.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let threads = value("nthread").and_then(|n| n.parse().ok()).unwrap_or(1);
    let linear = value("booster") == Some("gblinear");
    let quantised = !linear && matches!(value("tree_method"), None | Some("auto" | "hist" | ""));
    let max_bin = value("max_bin").and_then(|bins| bins.parse().ok());
    let named = api.has_names();
    run.stage("copying rows to XGBoost");
    let matrix = |rows: &GroupedRows, like: Option<&Matrix>| match quantised {
        true => Matrix::quantile(api, &rows.rows(named), like, max_bin, threads),
        false => Matrix::plain(api, &rows.rows(named), threads),
    };
    let training = matrix(data, None)?;
    let mut evaluated = Vec::new();
    for (number, set) in sets.iter().enumerate() {
        run.check(|| "0 rounds".to_string())?;
        evaluated.push((format!("validation_{number}"), matrix(set, Some(&training))?));
    }
    let all: Vec<&Matrix> = std::iter::once(&training).chain(evaluated.iter().map(|(_, matrix)| matrix)).collect();
    let evaluated: Vec<(String, &Matrix)> = evaluated.iter().map(|(name, matrix)| (name.clone(), matrix)).collect();
    let mut booster = Booster::new(api, &all)?;
    booster.set_features(&data.rows(named))?;
    for (name, value) in list {
        booster.set_param(name, value)?;
    }
    let most = params.n_estimators;
    let mut watch = Watch::new(params.early_stopping_rounds);
    let mut scores: Vec<Scores> = Vec::new();
    let mut shown = Instant::now();
    let mut done = 0;
    while done < most {
        run.check(|| format!("{done} of {most} rounds"))?;
        booster.update(done, &training)?;
        if done == 0 {
            refuse_unknown(spec, &params.extra)?;
        }
        let mut stop = false;
        if !evaluated.is_empty() {
            record(&mut scores, &booster.evaluate(done, &evaluated)?, evaluated.len());
            stop = watch.is_over(done, &scores);
        }
        done += 1;
        run_shows(run, done, most, &scores);
        if shown.elapsed() >= Duration::from_millis(100) && !scores.is_empty() {
            (run.detail)(Detail::Curves(curves(&scores)));
            shown = Instant::now();
        }
        if stop {
            break;
        }
    }
    if !scores.is_empty() {
        (run.detail)(Detail::Curves(curves(&scores)));
    }
    if let Some((round, score)) = watch.best {
        booster.set_attribute("best_iteration", &round.to_string())?;
        booster.set_attribute("best_score", &score.to_string())?;
    }
    let kind = match spec.estimator.as_str() {
        "XGBClassifier" => "classifier",
        "XGBRanker" => "ranker",
        _ => "regressor",
    };
    booster.set_attribute("scikit_learn", &format!("{{\"_estimator_type\": \"{kind}\"}}"))?;
    let importances = importances(&booster, &data.data, if linear { "weight" } else { "gain" })?;
    let ubj = booster.to_ubj()?;
    booster.forget_rows()?;
    Ok(TrainedBooster { booster, ubj, rounds: done, best: watch.best, scores, importances, notes: Vec::new() })
}

/// Refuses parameters under `extra` that the library does not know. Others may be of no use with a booster, which is a
/// note.
fn refuse_unknown(spec: &Spec, given: &Param) -> Result<(), Error> {
    let unused = ffi::unused_parameters();
    match extra(spec, given)?.into_iter().find(|(name, _)| unused.contains(name)) {
        Some((name, _)) => {
            Err(Error::new(ErrorKind::Parameter, format!("`extra` sets `{name}`, which XGBoost does not use"))
                .help("https://xgboost.readthedocs.io/en/stable/parameter.html has the parameters of each booster"))
        }
        None => Ok(()),
    }
}

fn run_shows(run: &Run<'_>, done: usize, most: usize, scores: &[Scores]) {
    (run.steps)(done as u64, most as u64);
    let last = scores.last().and_then(|s| Some((s, s.values.last()?)));
    run.stage(match last {
        Some((scores, value)) => format!("round {done} of {most}, {} {} {value:.5}", scores.set, scores.metric),
        None => format!("round {done} of {most}"),
    });
}

/// Adds the scores of `[0]\tvalidation_0-rmse:0.5\tvalidation_0-mae:0.4` to those of the rounds before.
fn record(scores: &mut Vec<Scores>, text: &str, sets: usize) {
    for item in text.split_ascii_whitespace().skip(1) {
        let Some((name, value)) = item.rsplit_once(':') else { continue };
        let value: f64 = value.parse().unwrap_or(f64::NAN);
        // Names of metrics may have a `-`, those of sets have none.
        let Some((set, metric)) = name.split_once('-') else { continue };
        match scores.iter_mut().find(|s| s.set == set && s.metric == metric) {
            Some(known) => known.values.push(value),
            None => scores.push(Scores { set: set.to_string(), metric: metric.to_string(), values: vec![value] }),
        }
    }
    debug_assert!(scores.len() >= sets);
}

/// Early stopping on the last set and its last metric: `EarlyStopping` of `callback.py`.
struct Watch {
    patience: Option<usize>,
    waited: usize,
    best: Option<(usize, f64)>,
}

impl Watch {
    fn new(patience: Option<usize>) -> Self {
        Watch { patience, waited: 0, best: None }
    }

    fn is_over(&mut self, round: usize, scores: &[Scores]) -> bool {
        let (Some(patience), Some(last)) = (self.patience, scores.last()) else { return false };
        let Some(score) = last.values.last().copied() else { return false };
        match self.best {
            None => self.best = Some((round, score)),
            Some((_, best)) if improves(&last.metric, score, best) => {
                self.best = Some((round, score));
                self.waited = 0;
            }
            Some(_) => self.waited += 1,
        }
        self.waited >= patience
    }
}

/// Whether a score is better than another one. Not a number never is.
fn improves(metric: &str, score: f64, best: f64) -> bool {
    let rises = ["auc", "pre", "map", "ndcg"].iter().any(|start| metric.starts_with(start)) && metric != "mape";
    if rises { score > best } else { score < best }
}

/// `feature_importances_` of the Python package: single precision, and a sum of 1.
fn importances(booster: &Booster, data: &Data, kind: &str) -> Result<Vec<f64>, Error> {
    let mut values = vec![0.0f32; data.width()];
    for (name, found) in booster.importances(kind)? {
        if let Some(at) = data.features.iter().position(|column| column.name == name) {
            // A linear model of several classes has a value for each.
            values[at] = if found.len() == 1 { found[0] } else { found.iter().map(|v| v.abs()).sum() };
        }
    }
    let sum: f32 = values.iter().sum();
    Ok(values.iter().map(|v| f64::from(if sum == 0.0 { *v } else { v / sum })).collect())
}

/// Rows in the order in which the library gets them.
struct GroupedRows<'a> {
    data: Cow<'a, Data>,
    qid: Option<Vec<u32>>,
    /// For each row, or for a ranker for each group.
    weight: Option<Vec<f64>>,
}

impl<'a> GroupedRows<'a> {
    fn plain(data: &'a Data) -> Self {
        GroupedRows { weight: data.weight.clone(), data: Cow::Borrowed(data), qid: None }
    }

    /// With names of categories if `named`, else with their positions only.
    fn rows(&self, named: bool) -> MatrixRows<'_> {
        MatrixRows {
            features: features(&self.data.features, named),
            label: Some(&self.data.y),
            weight: self.weight.as_deref(),
            qid: self.qid.as_deref(),
        }
    }
}

/// Columns as the library takes them.
pub fn features(columns: &[Column], named: bool) -> Vec<Feature<'_>> {
    let feature = |column: &'_ Column| {
        // A column of nothing but missing values has no categories, which the library would refuse.
        let names = column.categories().filter(|names| !names.is_empty());
        (names.is_some(), names.filter(|_| named).map(joined))
    };
    columns
        .iter()
        .map(|column| {
            let (category, names) = feature(column);
            Feature { name: &column.name, values: &column.values, category, names }
        })
        .collect()
}

/// The concatenation of strings, and where each begins.
fn joined(names: &[String]) -> (Vec<u8>, Vec<i32>) {
    let mut bytes = Vec::new();
    let mut offsets = vec![0];
    for name in names {
        bytes.extend_from_slice(name.as_bytes());
        offsets.push(i32::try_from(bytes.len()).unwrap_or(i32::MAX));
    }
    (bytes, offsets)
}

/// Rows sorted by group, as the library needs them, and one weight for each group.
fn by_group(data: &Data) -> Result<GroupedRows<'_>, Error> {
    let groups = data.groups.as_deref().ok_or_else(|| {
        Error::new(ErrorKind::NoGroups, "XGBRanker got no groups: it ranks the rows of a group among each other")
            .help("`.groups(\"query\")` names the column of groups")
    })?;
    if let Some(row) = groups.iter().position(|g| g.is_nan()) {
        return Err(Error::new(ErrorKind::Nulls, format!("the group of row {row} is null"))
            .help("`drop_nulls()` leaves these rows out"));
    }
    let mut order: Vec<usize> = (0..data.rows).collect();
    // Stable: rows of a group stay in their order.
    order.sort_by(|a, b| groups[*a].total_cmp(&groups[*b]));
    let is_sorted = order.iter().enumerate().all(|(at, row)| at == *row);
    let mut qid = Vec::with_capacity(data.rows);
    let mut weight = Vec::new();
    let mut last = None;
    for row in &order {
        let row_weight = data.weight_of(*row);
        if last != Some(groups[*row]) {
            last = Some(groups[*row]);
            weight.push(row_weight);
        } else if weight.last() != Some(&row_weight) {
            let message =
                format!("rows of group {} have different weights, and XGBRanker takes one for a group", groups[*row]);
            return Err(Error::new(ErrorKind::Weight, message));
        }
        qid.push(weight.len() as u32 - 1);
    }
    let sorted = if is_sorted { Cow::Borrowed(data) } else { Cow::Owned(data.take(&order)) };
    Ok(GroupedRows { data: sorted, qid: Some(qid), weight: data.weight.is_some().then_some(weight) })
}

/// An evaluation set that fits the training rows.
fn aligned(spec: &Spec, data: &Data, eval: &Data) -> Result<Data, Error> {
    let aligned = eval_set::aligned(spec, data, eval)?;
    in_single_precision(&aligned)?;
    Ok(aligned)
}

/// Checks that no value becomes infinite in the library, which computes in single precision.
///
/// # Errors
/// Names the column and the row.
pub fn in_single_precision(data: &Data) -> Result<(), Error> {
    for column in &data.features {
        if let Some(row) = column.values.iter().position(|v| (*v as f32).is_infinite()) {
            let message =
                format!("`{}` is {:e} in row {row}, and XGBoost takes up to 3.4e38", column.name, column.values[row]);
            return Err(Error::new(ErrorKind::Infinite, message).help("scale the column first"));
        }
    }
    match data.y.iter().position(|v| (*v as f32).is_infinite()) {
        Some(row) => {
            let message = format!(
                "the target `{}` is {:e} in row {row}, and XGBoost takes up to 3.4e38",
                data.target, data.y[row]
            );
            Err(Error::new(ErrorKind::Infinite, message).help("scale the target first"))
        }
        None => Ok(()),
    }
}
