//! Linear models with separate attributes, and RANSAC (Fischler and Bolles 1981), with the random numbers of
//! `sklearn/linear_model/_ransac.py`.

use onrush_wire::learn::Param;
use serde::{Deserialize, Serialize};

use super::{Linear, least_squares, scores};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, LinearScores, Model, Role};
use crate::params;
use crate::quantile;
use crate::random::Mt19937;
use crate::run::Run;
use crate::stored::StoredAttributes;

/// A linear model with attributes beyond its coefficients.
#[derive(Serialize, Deserialize)]
pub struct RobustLinear {
    pub linear: Linear,
    pub attributes: StoredAttributes,
}

impl Model for RobustLinear {
    fn outputs(&self, features: &[Field]) -> Vec<Role> {
        self.linear.outputs(features)
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        self.linear.apply(data, wanted)
    }

    fn attribute(&self, name: &str, features: &[Field], classes: &[String]) -> Option<Attribute> {
        self.attributes.get(name, features).or_else(|| self.linear.attribute(name, features, classes))
    }

    fn bars(&self) -> Option<(&'static str, Vec<f64>)> {
        self.linear.bars()
    }

    fn linear(&self) -> Option<LinearScores> {
        self.linear.linear()
    }

    fn notes(&self) -> Vec<String> {
        self.linear.notes()
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        self.linear.check(features, classes)?;
        self.attributes.check(features)
    }

    fn bytes(&self) -> u64 {
        self.linear.bytes() + self.attributes.bytes()
    }
}

/// The model of a sample with the most rows near it.
struct Consensus {
    mask: Vec<bool>,
    rows: usize,
    score: f64,
}

/// Trains `RANSACRegressor` around least squares.
///
/// # Errors
/// If `min_samples` does not fit the rows, or no sample has rows near its model. If the user stops the work.
pub fn ransac(params: &params::RANSACRegressor, data: &Data, run: &Run<'_>) -> Result<RobustLinear, Error> {
    let n = data.rows;
    let size = sample_size(&params.min_samples, n, data.width())?;
    let threshold = params.residual_threshold.unwrap_or_else(|| {
        let middle = quantile::median(&mut data.y.clone());
        quantile::median(&mut data.y.iter().map(|y| (y - middle).abs()).collect::<Vec<f64>>())
    });
    let settings = params::LinearRegression::default();
    let mut random = Mt19937::new(params::seed(params.random_state));
    let (mut best, mut trials, mut skips): (Option<Consensus>, usize, usize) = (None, 0, 0);
    let mut most = params.max_trials as f64;
    while (trials as f64) < most && params.max_skips.is_none_or(|limit| skips <= limit) {
        run.check(|| format!("{trials} of at most {} samples", params.max_trials))?;
        (run.steps)(trials as u64, params.max_trials as u64);
        trials += 1;
        let rows = random.sample_without_replacement(n as u64, size);
        let rows: Vec<usize> = rows.into_iter().map(|row| row as usize).collect();
        let model = least_squares::fit(&settings, &data.take(&rows), &silent(run))?;
        let predicted = scores(data, &model.coef.data, model.intercept);
        let is_near = |(y, p): (&f64, &f64)| match params.loss.as_str() {
            "squared_error" => (y - p) * (y - p) <= threshold,
            _ => (y - p).abs() <= threshold,
        };
        let mask: Vec<bool> = data.y.iter().zip(&predicted).map(is_near).collect();
        let count = mask.iter().filter(|near| **near).count();
        let least = best.as_ref().map_or(1, |best| best.rows);
        if count < least {
            skips += 1;
            continue;
        }
        let score = r2(data, &predicted, &mask);
        if best.as_ref().is_some_and(|best| count == best.rows && score < best.score) {
            continue;
        }
        most = most.min(trials_needed(count, n, size, params.stop_probability));
        best = Some(Consensus { mask, rows: count, score });
        let is_enough = params.stop_n_inliers.is_some_and(|enough| count >= enough)
            || params.stop_score.is_some_and(|enough| score >= enough);
        if is_enough {
            break;
        }
    }
    let Some(best) = best else {
        let message = format!("no row is within {threshold} of the model of one of {trials} samples");
        return Err(Error::new(ErrorKind::Fit, message).help("set `residual_threshold` to a larger number"));
    };
    let rows: Vec<usize> = (0..n).filter(|row| best.mask[*row]).collect();
    let mut linear = least_squares::fit(&settings, &data.take(&rows), run)?;
    linear.notes.push(format!("{} of {n} rows are within {threshold} of the model", best.rows));
    let attributes = StoredAttributes::default()
        .flags("inlier_mask", "inlier", &best.mask)
        .int("n_trials", trials)
        .int("n_skips_no_inliers", skips);
    Ok(RobustLinear { linear, attributes })
}

/// The surroundings of a training inside of another one: it shows nothing, and can be stopped.
fn silent<'a>(run: &'a Run<'_>) -> Run<'a> {
    Run { is_stopped: run.is_stopped, ..Run::silent() }
}

/// Rows of a sample: a number, or a share of the rows.
fn sample_size(given: &Param, rows: usize, width: usize) -> Result<usize, Error> {
    let size = match (given, given.as_f64()) {
        (Param::None, _) => width + 1,
        (_, Some(share)) if share > 0.0 && share < 1.0 => (share * rows as f64).ceil() as usize,
        (_, Some(count)) if count >= 1.0 && count.fract() == 0.0 => count as usize,
        (other, _) => {
            let message = format!("`min_samples` is {other}: an integer from 1, or a share between 0 and 1");
            return Err(Error::new(ErrorKind::Parameter, message));
        }
    };
    match size <= rows {
        true => Ok(size),
        false => {
            let message = format!("`min_samples` is {size}, and there are {rows} rows: at most as many as rows");
            Err(Error::new(ErrorKind::Parameter, message))
        }
    }
}

/// R2 of the rows of a mask. NaN for a single row.
fn r2(data: &Data, predicted: &[f64], mask: &[bool]) -> f64 {
    let rows: Vec<usize> = (0..data.rows).filter(|row| mask[*row]).collect();
    if rows.len() < 2 {
        return f64::NAN;
    }
    let total: f64 = rows.iter().map(|row| data.weight_of(*row)).sum();
    let mean = rows.iter().map(|row| data.weight_of(*row) * data.y[*row]).sum::<f64>() / total;
    let sum = |of: &dyn Fn(usize) -> f64| rows.iter().map(|row| data.weight_of(*row) * of(*row)).sum::<f64>();
    let rest = sum(&|row| (data.y[row] - predicted[row]).powi(2));
    let spread = sum(&|row| (data.y[row] - mean).powi(2));
    match spread == 0.0 {
        true if rest == 0.0 => 1.0,
        true => 0.0,
        false => 1.0 - rest / spread,
    }
}

/// Samples after which one without outliers is found with the probability.
fn trials_needed(inliers: usize, rows: usize, size: usize, probability: f64) -> f64 {
    let ratio = inliers as f64 / rows as f64;
    let miss = (1.0 - probability).max(f64::EPSILON);
    let outlier = (1.0 - ratio.powf(size as f64)).max(f64::EPSILON);
    match (miss == 1.0, outlier == 1.0) {
        (true, _) => 0.0,
        (_, true) => f64::INFINITY,
        _ => (miss.ln() / outlier.ln()).ceil().abs(),
    }
}
