//! Calibration of classifiers on rows that they were not trained on (scikit-learn's `CalibratedClassifierCV`; Platt
//! 1999; Zadrozny and Elkan 2002).

use onrush_wire::learn::{Param, Spec, Splitter};

use super::folds::{cross_predict, training_rows};
use super::members::{only, train};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::estimators::inside::{has_proba, response};
use crate::estimators::{
    CalibratedClassifier, CalibratedPart, Calibrator, FittedModel, Response, Trainer, one_of_two, scores_of,
};
use crate::params::CalibratedClassifierCV;
use crate::run::Run;
use crate::split::{RowSplit, splits};
use crate::tensor::Tensor;

/// Trains a classifier for each fold and calibrates it on the other rows. Or it calibrates one classifier of all rows
/// on the scores of all folds.
pub fn fit(spec: &Spec, data: &Data, run: &Run<'_>, fit: Trainer<'_>) -> Result<CalibratedClassifier, Error> {
    if spec.parts.is_empty() {
        return Err(Error::new(ErrorKind::Parts, "CalibratedClassifierCV has no estimator: expected a classifier"));
    }
    let inner = only(spec, &Spec::default)?;
    let params = CalibratedClassifierCV::of(spec);
    let is_ensemble = match &params.ensemble {
        Param::Bool(is_ensemble) => *is_ensemble,
        Param::Str(word) if word == "auto" => true,
        other => {
            let message = format!("`ensemble` is {other}: true, false or \"auto\"");
            return Err(Error::new(ErrorKind::Parameter, message));
        }
    };
    let splitter = spec.cv.clone().unwrap_or(Splitter::Auto { n_splits: 5 });
    let splits = splits(&splitter, data.rows, Some(&data.y), true, data.groups.as_deref())?;
    all_classes(data, &splits)?;
    let parts = match is_ensemble {
        true => by_fold(&inner, &params.method, data, &splits, run, fit)?,
        false => vec![of_all_rows(&inner, &params.method, data, &splits, run, fit)?],
    };
    Ok(CalibratedClassifier { parts, classes: data.classes.len() })
}

fn by_fold(
    inner: &Spec,
    method: &str,
    data: &Data,
    splits: &[RowSplit],
    run: &Run<'_>,
    fit: Trainer<'_>,
) -> Result<Vec<CalibratedPart>, Error> {
    let mut parts = Vec::new();
    for (number, (rows, test)) in splits.iter().enumerate() {
        let title = (number, splits.len());
        let model = train(title, &inner.estimator, inner, &training_rows(data, rows), run, fit)?;
        let test = data.take(test);
        let kind = chosen(&model, data)?;
        let calibrators = calibrators(method, &scores_of(&model, &test, kind)?, &test);
        parts.push(CalibratedPart { model, response: kind, calibrators });
    }
    Ok(parts)
}

fn of_all_rows(
    inner: &Spec,
    method: &str,
    data: &Data,
    splits: &[RowSplit],
    run: &Run<'_>,
    fit: Trainer<'_>,
) -> Result<CalibratedPart, Error> {
    let model = train((0, 2), &inner.estimator, inner, data, run, fit)?;
    let kind = chosen(&model, data)?;
    let stage = |inner: String| run.stage(format!("2 of 2: {inner}"));
    let quiet = Run { is_stopped: run.is_stopped, stage: &stage, ..Run::silent() };
    let answer = cross_predict((&inner.estimator, inner), data, splits, kind, &quiet, fit)?;
    let calibrators = calibrators(method, &one_of_two(answer, kind), data);
    Ok(CalibratedPart { model, response: kind, calibrators })
}

/// Scores if the classifier has some, else probabilities.
fn chosen(model: &FittedModel, data: &Data) -> Result<Response, Error> {
    if response("estimator", model, &data.take(&[0]), Response::Decision)?.is_some() {
        return Ok(Response::Decision);
    }
    match has_proba(model) {
        true => Ok(Response::Proba),
        false => Err(Error::new(
            ErrorKind::Estimator,
            format!("{} has neither scores of classes nor probabilities to calibrate", model.spec.estimator),
        )),
    }
}

/// Checks that each fold trains and tests rows of all classes.
fn all_classes(data: &Data, splits: &[RowSplit]) -> Result<(), Error> {
    for (fold, (train, test)) in splits.iter().enumerate() {
        for (rows, verb) in [(train, "trains on"), (test, "tests")] {
            let mut counts = vec![0usize; data.classes.len()];
            rows.iter().for_each(|row| counts[data.y[*row] as usize] += 1);
            if let Some(class) = counts.iter().position(|count| *count == 0) {
                let message = format!("fold {fold} {verb} no row of the class `{}`", data.classes[class]);
                return Err(Error::new(ErrorKind::CrossValidation, message)
                    .help("take fewer folds, or `StratifiedKFold` with `shuffle(true)`"));
            }
        }
    }
    Ok(())
}

/// A calibrator for each column of scores: of the second of two classes, else of each class.
fn calibrators(method: &str, scores: &[Vec<f64>], data: &Data) -> Vec<Calibrator> {
    let weight = data.weight.as_deref();
    let one = |(k, scores): (usize, &Vec<f64>)| {
        let class = if scores.is_empty() || data.classes.len() == 2 { 1 } else { k };
        let is: Vec<bool> = data.y.iter().map(|y| *y as usize == class).collect();
        match method {
            "isotonic" => isotonic(scores, &is, weight),
            _ => sigmoid(scores, &is, weight),
        }
    };
    scores.iter().enumerate().map(one).collect()
}

/// Fits a logistic function of the scores to smoothed targets (Platt 1999) by Newton's method (Lin, Lin and Weng 2007).
pub(crate) fn sigmoid(scores: &[f64], is: &[bool], weight: Option<&[f64]>) -> Calibrator {
    let weight_of = |row: usize| weight.map_or(1.0, |w| w[row]);
    let total = |class: bool| (0..is.len()).filter(|row| is[*row] == class).map(weight_of).sum::<f64>();
    let (negative, positive) = (total(false), total(true));
    let target = |row: usize| if is[row] { (positive + 1.0) / (positive + 2.0) } else { 1.0 / (negative + 2.0) };
    // Scores of a size near 1 keep the matrix of second derivatives regular.
    let scale = scores.iter().fold(0.0f64, |most, score| most.max(score.abs()));
    let scale = if scale > 0.0 && scale.is_finite() { scale } else { 1.0 };
    // The loss with its first and second derivatives, by slope and intercept of the raw prediction.
    let at = |a: f64, b: f64| {
        let mut sums = [0.0; 6];
        for (row, score) in scores.iter().enumerate() {
            let (x, w, t) = (score / scale, weight_of(row), target(row));
            let z = -(a * x + b);
            let small = (-z.abs()).exp();
            let p = if z >= 0.0 { 1.0 / (1.0 + small) } else { small / (1.0 + small) };
            let (first, second) = (w * (t - p), w * p * (1.0 - p));
            let loss = w * (z.max(0.0) + small.ln_1p() - t * z);
            let terms = [loss, first * x, first, second * x * x, second * x, second];
            sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        }
        sums
    };
    let (mut a, mut b) = (0.0, ((negative + 1.0) / (positive + 1.0)).ln());
    let mut now = at(a, b);
    for _ in 0..100 {
        let [loss, g_a, g_b, h_aa, h_ab, h_bb] = now;
        // A little more than the matrix of second derivatives, for scores that are all equal.
        let (h_aa, h_bb) = (h_aa + 1e-12, h_bb + 1e-12);
        let determinant = h_aa * h_bb - h_ab * h_ab;
        let step = ((h_bb * g_a - h_ab * g_b) / determinant, (h_aa * g_b - h_ab * g_a) / determinant);
        let slope = g_a * step.0 + g_b * step.1;
        if !slope.is_finite() || slope <= 1e-16 * (1.0 + loss.abs()) {
            break;
        }
        let mut share = 1.0;
        let next = loop {
            let next = at(a - share * step.0, b - share * step.1);
            if next[0] <= loss - 1e-4 * share * slope || share < 1e-10 {
                break next;
            }
            share /= 2.0;
        };
        (a, b, now) = (a - share * step.0, b - share * step.1, next);
    }
    Calibrator::Sigmoid { a: a / scale, b }
}

/// Fits a rising function of the scores: isotonic regression by pooling adjacent violators (Ayer et al. 1955).
pub(crate) fn isotonic(scores: &[f64], is: &[bool], weight: Option<&[f64]>) -> Calibrator {
    const EPS: f64 = 1e-15;
    let y = |row: usize| f64::from(u8::from(is[row]));
    let weight_of = |row: usize| weight.map_or(1.0, |w| w[row]);
    let mut rows: Vec<usize> = (0..is.len()).filter(|row| weight_of(*row) > 0.0).collect();
    rows.sort_by(|a, b| scores[*a].total_cmp(&scores[*b]).then(y(*a).total_cmp(&y(*b))));
    // Score, sum of weights, and weighted sum of targets of equal scores.
    let mut points: Vec<(f64, f64, f64)> = Vec::new();
    for row in rows {
        let (score, w) = (scores[row], weight_of(row));
        match points.last_mut() {
            Some(last) if score - last.0 < EPS => (last.1, last.2) = (last.1 + w, last.2 + w * y(row)),
            _ => points.push((score, w, w * y(row))),
        }
    }
    // Sum of weights, weighted sum of targets, and points of each block.
    let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
    for (_, w, sum) in &points {
        let mut block = (*w, *sum, 1);
        while let Some(last) = blocks.last().filter(|last| last.1 / last.0 >= block.1 / block.0) {
            block = (last.0 + block.0, last.1 + block.1, last.2 + block.2);
            blocks.pop();
        }
        blocks.push(block);
    }
    let values: Vec<f64> = blocks.iter().flat_map(|(w, sum, count)| std::iter::repeat_n(sum / w, *count)).collect();
    let last = values.len().saturating_sub(1);
    let is_kept = |i: &usize| *i == 0 || *i == last || values[*i] != values[*i - 1] || values[*i] != values[*i + 1];
    let kept: Vec<usize> = (0..values.len()).filter(is_kept).collect();
    if kept.is_empty() {
        return Calibrator::Isotonic { x: Tensor::vector(vec![0.0]), y: Tensor::vector(vec![0.5]) };
    }
    Calibrator::Isotonic {
        x: Tensor::vector(kept.iter().map(|i| points[*i].0).collect()),
        y: Tensor::vector(kept.iter().map(|i| values[*i]).collect()),
    }
}
