//! Features chosen by what an estimator learns from them (scikit-learn's `feature_selection/_from_model.py`, `_rfe.py`
//! and `_sequential.py`).

use std::borrow::Cow;

use onrush_wire::learn::{EstimatorKind, Param, Part, Spec, Splitter};

use super::importance;
use super::score::{self, Answers};
use super::validate;
use crate::compose::kind;
use crate::data::{Data, values};
use crate::error::{Error, ErrorKind};
use crate::estimators::inside::inside;
use crate::estimators::{FittedModel, Trainer};
use crate::feature_selection::{CvScores, Selection, scores};
use crate::params;
use crate::run::Run;
use crate::tensor::Tensor;

/// A selector with the estimator that it asks.
struct Selector<'a> {
    part: &'a Part,
    data: &'a Data,
    run: &'a Run<'a>,
    trainer: Trainer<'a>,
}

/// Trains `SelectFromModel`, `RFE`, `RFECV` or `SequentialFeatureSelector`.
///
/// # Errors
/// If the estimator inside does not predict, has no importances, or fails. If a parameter does not fit the number of
/// features.
pub(crate) fn fit(spec: &Spec, data: &Data, run: &Run<'_>, trainer: Trainer<'_>) -> Result<Selection, Error> {
    let [part] = &spec.parts[..] else {
        let message = format!("{} has {} estimators inside: expected one", spec.estimator, spec.parts.len());
        return Err(Error::new(ErrorKind::Parts, message));
    };
    let data = with_target(spec, part, data)?;
    let selector = Selector { part, data: &data, run, trainer };
    let width = data.width();
    if spec.estimator == "SelectFromModel" {
        return selector.by_importance(&params::SelectFromModel::of(spec));
    }
    if width < 2 {
        let message = format!("{} chooses among features, and there is one", spec.estimator);
        return Err(Error::new(ErrorKind::NoFeatures, message));
    }
    let splitter = spec.cv.clone().unwrap_or(Splitter::Auto { n_splits: 5 });
    match spec.estimator.as_str() {
        "RFE" => {
            let params = params::RFE::of(spec);
            let wanted = wanted(&params.n_features_to_select, width, width / 2)?;
            let step = step(&params.step, width)?;
            let done = selector.eliminate(selector.data, wanted, step, run, None)?;
            let mut selection = done.into_selection();
            selection.notes.extend(more(wanted, width, "n_features_to_select"));
            Ok(selection)
        }
        "RFECV" => selector.eliminate_cv(&params::RFECV::of(spec), &splitter),
        _ => selector.sequential(&params::SequentialFeatureSelector::of(spec), &splitter),
    }
}

/// A note about a number of features that is larger than the number of all features.
fn more(wanted: usize, width: usize, name: &str) -> Option<String> {
    (wanted > width).then(|| format!("`{name}` is {wanted}, and there are {width} features: all are kept"))
}

/// The rows with a target as the estimator inside takes it: numbers of a target of classes, or classes of one of
/// numbers.
fn with_target<'a>(spec: &Spec, part: &Part, data: &'a Data) -> Result<Cow<'a, Data>, Error> {
    if data.y.len() != data.rows {
        let error = Error::new(ErrorKind::NoTarget, format!("{} needs a target", spec.estimator));
        return Err(error.help("name it: `.fit(&frame, \"target\")`"));
    }
    match kind(&part.spec) {
        EstimatorKind::Classifier if data.classes.is_empty() => {
            if data.y.iter().any(|y| y.fract() != 0.0) {
                let (target, name) = (&data.target, &part.spec.estimator);
                let message = format!("the target `{target}` holds numbers with decimals, and {name} predicts classes");
                return Err(Error::new(ErrorKind::Target, message));
            }
            let (known, y, _) = values::classes(&data.y);
            let classes = known.iter().map(ToString::to_string).collect();
            Ok(Cow::Owned(Data { y, classes, ..data.clone() }))
        }
        EstimatorKind::Regressor if !data.classes.is_empty() => {
            let y = scores::numbers(data)?;
            Ok(Cow::Owned(Data { y, classes: Vec::new(), ..data.clone() }))
        }
        EstimatorKind::Classifier | EstimatorKind::Regressor => Ok(Cow::Borrowed(data)),
        _ => {
            let message =
                format!("{} has {}: expected a regressor or a classifier", spec.estimator, part.spec.estimator);
            Err(Error::new(ErrorKind::Parts, message))
        }
    }
}

/// A number of features: a count, a share of all, or the default for none.
fn wanted(value: &Param, width: usize, default: usize) -> Result<usize, Error> {
    let found = match value {
        Param::None => Some(default),
        Param::Float(share) if *share > 0.0 && *share <= 1.0 => Some((width as f64 * share) as usize),
        Param::Int(_) => params::count(value),
        _ => None,
    };
    found.filter(|n| *n > 0).ok_or_else(|| {
        let message = format!(
            "`n_features_to_select` is {value}: expected a number of features above 0, or a share of {width} features"
        );
        Error::new(ErrorKind::Parameter, message)
    })
}

/// How many features leave in a round.
fn step(value: &Param, width: usize) -> Result<usize, Error> {
    let found = match value {
        Param::Float(share) if *share > 0.0 && *share < 1.0 => Some(((width as f64 * share) as usize).max(1)),
        Param::Int(_) => params::count(value).filter(|n| *n > 0),
        _ => None,
    };
    found.ok_or_else(|| {
        let message = format!("`step` is {value}: expected a number of features above 0, or a share below 1");
        Error::new(ErrorKind::Parameter, message)
    })
}

/// The same rows with some of the features, without evaluation sets.
fn subset(data: &Data, columns: &[usize]) -> Data {
    data.with_features(columns.iter().map(|j| data.features[*j].clone()).collect())
}

/// The positions of a mask.
fn positions(mask: &[bool]) -> Vec<usize> {
    (0..mask.len()).filter(|j| mask[*j]).collect()
}

/// The rounds of an elimination.
struct Elimination {
    support: Vec<bool>,
    /// See [`Selection::ranking`].
    ranking: Vec<f64>,
    /// For each number of features, descending, the score of the model.
    scores: Vec<(usize, f64)>,
}

impl Elimination {
    fn into_selection(self) -> Selection {
        Selection { ranking: Some(Tensor::vector(self.ranking)), ..Selection::of(&self.support) }
    }
}

/// Scores a model of the features at these positions.
type ScoreStep<'a> = &'a dyn Fn(&FittedModel, &[usize]) -> Result<f64, Error>;

impl Selector<'_> {
    /// Trains the estimator on some of the features.
    fn train(&self, data: &Data, columns: &[usize], run: &Run<'_>) -> Result<FittedModel, Error> {
        (self.trainer)(&self.part.spec, &subset(data, columns), run).map_err(|e| inside(&self.part.name, e))
    }

    fn by_importance(&self, params: &params::SelectFromModel) -> Result<Selection, Error> {
        let fitted = self.train(self.data, &(0..self.data.width()).collect::<Vec<usize>>(), self.run)?;
        let order = importance::norm_order(&params.norm_order)?;
        let scores = importance::norms(&importance::rows(&fitted)?, order);
        let threshold = importance::threshold(&params.threshold, &fitted, &scores)?;
        let mut mask = vec![params.max_features.is_none(); scores.len()];
        if let Some(most) = params.max_features {
            let mut by_score: Vec<usize> = (0..scores.len()).collect();
            by_score.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
            by_score.iter().take(most).for_each(|j| mask[*j] = true);
        }
        mask.iter_mut().zip(&scores).for_each(|(kept, score)| *kept &= *score >= threshold);
        if !mask.contains(&true) {
            let largest = scores.iter().copied().fold(f64::NAN, f64::max);
            let message = format!("no feature has an importance of at least {threshold}: the largest is {largest}");
            return Err(Error::new(ErrorKind::NoFeatures, message).help("take a lower `threshold`"));
        }
        let importances = Some((Tensor::vector(scores), Tensor::vector(vec![threshold])));
        Ok(Selection { importances, notes: fitted.model().notes(), ..Selection::of(&mask) })
    }

    /// Leaves out the features with the least squared importances, `step` of them in a round, until `wanted` are left.
    fn eliminate(
        &self,
        data: &Data,
        wanted: usize,
        step: usize,
        run: &Run<'_>,
        score: Option<ScoreStep<'_>>,
    ) -> Result<Elimination, Error> {
        let width = data.width();
        let mut done = Elimination { support: vec![true; width], ranking: vec![1.0; width], scores: Vec::new() };
        loop {
            let features = positions(&done.support);
            let left = features.len();
            if left <= wanted && score.is_none() {
                return Ok(done);
            }
            run.check(|| format!("{} of {width} features left out", width - left))?;
            run.stage(format!("train on {left} of {width} features"));
            (run.steps)((width - left) as u64, width.saturating_sub(wanted) as u64);
            let fitted = self.train(data, &features, run)?;
            if let Some(score) = score {
                done.scores.push((left, score(&fitted, &features)?));
            }
            if left <= wanted {
                return Ok(done);
            }
            let importances = importance::squares(&importance::rows(&fitted)?);
            let mut order: Vec<usize> = (0..left).collect();
            order.sort_by(|a, b| importances[*a].total_cmp(&importances[*b]));
            order.iter().take(step.min(left - wanted)).for_each(|k| done.support[features[*k]] = false);
            let out = done.ranking.iter_mut().zip(&done.support).filter(|(_, stays)| !**stays);
            out.for_each(|(rank, _)| *rank += 1.0);
        }
    }

    fn eliminate_cv(&self, params: &params::RFECV, splitter: &Splitter) -> Result<Selection, Error> {
        let (data, width) = (self.data, self.data.width());
        let least = params.min_features_to_select.min(width);
        let step = step(&params.step, width)?;
        let scorer = self.scorer(params.scoring.as_deref())?;
        let splits = validate::splits_of(data, splitter)?;
        self.run.stage(format!("eliminate features on {} folds", splits.len()));
        let folds = validate::in_waves(data.rows, (0..splits.len()).collect(), |fold| {
            self.run.check(|| format!("some of {} folds", splits.len()))?;
            let inner = Run { is_stopped: self.run.is_stopped, ..Run::silent() };
            let train = validate::training_rows(data, &splits[fold].0);
            let test = data.take(&splits[fold].1);
            let score = |fitted: &FittedModel, features: &[usize]| {
                Answers::new(fitted, &subset(&test, features), &[&scorer])?.score(&scorer)
            };
            Ok(self.eliminate(&train, least, step, &inner, Some(&score))?.scores)
        });
        let folds: Vec<Vec<(usize, f64)>> = folds.into_iter().collect::<Result<_, Error>>()?;
        let n_features: Vec<usize> = folds[0].iter().rev().map(|(n, _)| *n).collect();
        let steps = n_features.len();
        let table: Vec<f64> = (0..steps).rev().flat_map(|k| folds.iter().map(move |fold| fold[k].1)).collect();
        let sums: Vec<f64> = table.chunks_exact(folds.len()).map(|row| row.iter().sum()).collect();
        // The fewest features of equal scores.
        let best = first_best(&sums);
        let done = self.eliminate(data, n_features[best], step, self.run, None)?;
        let mut selection = done.into_selection();
        selection.notes.extend(more(params.min_features_to_select, width, "min_features_to_select"));
        selection.cv = Some(CvScores { n_features, scores: Tensor::new(vec![steps, folds.len()], table) });
        Ok(selection)
    }

    /// The scorer, checked against the target.
    fn scorer(&self, given: Option<&str>) -> Result<String, Error> {
        let is_classifier = !self.data.classes.is_empty();
        let scorer = given.unwrap_or(score::default_scorer(is_classifier));
        score::check(scorer, is_classifier)?;
        Ok(scorer.to_string())
    }

    /// Adds the feature that raises the score of a cross-validation most, or leaves out the one that lowers it least.
    fn sequential(&self, params: &params::SequentialFeatureSelector, splitter: &Splitter) -> Result<Selection, Error> {
        let width = self.data.width();
        let is_forward = params.direction == "forward";
        let is_auto = params::word(&params.n_features_to_select) == Some("auto");
        let count = match (is_auto, params.tol) {
            (true, Some(_)) => width - 1,
            (true, None) => width / 2,
            (false, _) => wanted(&params.n_features_to_select, width, width / 2)?,
        };
        if matches!(params.n_features_to_select, Param::Int(_)) && count >= width {
            let message = format!("`n_features_to_select` is {count}: below {width}, the number of features");
            return Err(Error::new(ErrorKind::Parameter, message));
        }
        if let (Some(tol), true) = (params.tol.filter(|tol| *tol < 0.0), is_forward) {
            let message = format!("`tol` is {tol}: at least 0 for the direction \"forward\"");
            return Err(Error::new(ErrorKind::Parameter, message));
        }
        let scorer = self.scorer(params.scoring.as_deref())?;
        let rounds = if is_auto || is_forward { count } else { width - count };
        // Features that were added, or left out.
        let mut mask = vec![false; width];
        let mut last = f64::NEG_INFINITY;
        for round in 0..rounds {
            self.run.stage(format!("feature {} of {rounds}", round + 1));
            (self.run.steps)(round as u64, rounds as u64);
            let (feature, score) = self.best_next(&mask, is_forward, splitter, &scorer)?;
            if is_auto && params.tol.is_some_and(|tol| score - last < tol) {
                break;
            }
            last = score;
            mask[feature] = true;
        }
        if !is_forward {
            mask.iter_mut().for_each(|taken| *taken = !*taken);
        }
        if !mask.contains(&true) {
            let message = "no feature raises the score by `tol`";
            return Err(Error::new(ErrorKind::NoFeatures, message).help("take a lower `tol`"));
        }
        Ok(Selection::of(&mask))
    }

    /// The feature with the best score of a cross-validation, and that score.
    fn best_next(
        &self,
        mask: &[bool],
        is_forward: bool,
        splitter: &Splitter,
        scorer: &str,
    ) -> Result<(usize, f64), Error> {
        let candidates: Vec<usize> = (0..mask.len()).filter(|j| !mask[*j]).collect();
        let scorers = [scorer.to_string()];
        let inner = Run { is_stopped: self.run.is_stopped, ..Run::silent() };
        let score = |k: usize| -> Result<f64, Error> {
            self.run.check(|| format!("{} features", mask.iter().filter(|taken| **taken).count()))?;
            let mut tried = mask.to_vec();
            tried[candidates[k]] = true;
            tried.iter_mut().for_each(|taken| *taken = *taken == is_forward);
            let data = subset(self.data, &positions(&tried));
            let folds =
                validate::cross_validate(&self.part.spec, &data, splitter, &scorers, false, &inner, self.trainer)
                    .map_err(|e| inside(&self.part.name, e))?;
            let sum: f64 = folds.iter().filter_map(|fold| fold.test.first()).map(|(_, score)| score).sum();
            Ok(sum / folds.len() as f64)
        };
        let scores = validate::in_waves(self.data.rows, (0..candidates.len()).collect(), score);
        let scores: Vec<f64> = scores.into_iter().collect::<Result<_, Error>>()?;
        let best = first_best(&scores);
        Ok((candidates[best], scores[best]))
    }
}

/// The position of the highest score, the first one of equal ones. NaN is the lowest.
fn first_best(scores: &[f64]) -> usize {
    (0..scores.len()).fold(0, |best, k| if scores[k] > scores[best] || scores[best].is_nan() { k } else { best })
}
