//! Scores of predicted probabilities. The source is scikit-learn's `metrics/_classification.py`.
//!
//! `proba` holds a slice for each class, each as long as there are rows. `y` holds positions of classes. A row of a
//! class without probability scores as if its probability were 0.

use super::{average, sums};

fn of_class(proba: &[&[f64]], class: usize, row: usize) -> f64 {
    proba.get(class).map_or(0.0, |p| p[row])
}

/// The mean negative logarithm of the probability of the true class. Probabilities are clipped to eps and 1 - eps.
pub fn log_loss(y: &[f64], proba: &[&[f64]], weight: Option<&[f64]>) -> f64 {
    average(y.len(), weight, |row| log_loss_of(of_class(proba, y[row] as usize, row)))
}

fn log_loss_of(probability: f64) -> f64 {
    -probability.clamp(f64::EPSILON, 1.0 - f64::EPSILON).ln()
}

fn square(y: f64, classes: usize, probability: impl Fn(usize) -> f64) -> f64 {
    (0..classes).map(|k| (f64::from(y as usize == k) - probability(k)).powi(2)).sum()
}

/// The mean squared distance between probabilities and true class; half of it for two classes, as in scikit-learn.
pub fn brier_score(y: &[f64], proba: &[&[f64]], weight: Option<&[f64]>) -> f64 {
    let mean = average(y.len(), weight, |row| square(y[row], proba.len(), |k| proba[k][row]));
    if proba.len() < 3 { 0.5 * mean } else { mean }
}

/// The share of each class among the rows.
fn shares(y: &[f64], classes: usize, weight: Option<&[f64]>) -> Vec<f64> {
    (0..classes).map(|k| average(y.len(), weight, |row| f64::from(y[row] as usize == k))).collect()
}

/// The share of the log loss that the probabilities save against the shares of the classes. NaN for fewer than two
/// rows or one class.
pub fn d2_log_loss(y: &[f64], proba: &[&[f64]], weight: Option<&[f64]>) -> f64 {
    if y.len() < 2 {
        return f64::NAN;
    }
    let shares = shares(y, proba.len(), weight);
    let loss = sums(y.len(), weight, |row| log_loss_of(of_class(proba, y[row] as usize, row))).0;
    let null = sums(y.len(), weight, |row| log_loss_of(shares.get(y[row] as usize).copied().unwrap_or(0.0))).0;
    1.0 - super::ratio(loss, null)
}

/// The share of the Brier score that the probabilities save against the shares of the classes. NaN for fewer than two
/// rows or one class.
pub fn d2_brier_score(y: &[f64], proba: &[&[f64]], weight: Option<&[f64]>) -> f64 {
    if y.len() < 2 {
        return f64::NAN;
    }
    let shares = shares(y, proba.len(), weight);
    let loss = average(y.len(), weight, |row| square(y[row], proba.len(), |k| proba[k][row]));
    let null = average(y.len(), weight, |row| square(y[row], proba.len(), |k| shares[k]));
    1.0 - super::ratio(loss, null)
}
