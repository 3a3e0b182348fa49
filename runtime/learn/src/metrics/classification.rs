//! Scores of predicted classes. Classes are positions as `f64`: 0, 1, ... The source is scikit-learn's
//! `metrics/_classification.py`.

use super::{average, average_of_defined, ratio};
use crate::sums::over_rows;

/// The weight of rows by true and by predicted class.
#[derive(Clone, Debug, PartialEq)]
pub struct Confusion {
    pub classes: usize,
    /// `classes x classes` weights, row-major: true class, then predicted class.
    pub counts: Vec<f64>,
}

/// How scores of classes become one score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Average {
    /// The score of the class at position 1.
    Binary,
    /// The mean over the classes.
    Macro,
    /// The score of the sums over the classes.
    Micro,
    /// The mean over the classes, weighted with the rows of each class.
    Weighted,
}

impl Confusion {
    /// Counts rows. `y` and `predicted` hold positions below `classes`; rows with another position are left out.
    pub fn new(y: &[f64], predicted: &[f64], weight: Option<&[f64]>, classes: usize) -> Self {
        let count = |rows: std::ops::Range<usize>| {
            let mut counts = vec![0.0; classes * classes];
            for row in rows {
                let (a, b) = (y[row] as usize, predicted[row] as usize);
                let known = y[row] >= 0.0 && predicted[row] >= 0.0 && a < classes && b < classes;
                if known {
                    counts[a * classes + b] += weight.map_or(1.0, |w| w[row]);
                }
            }
            counts
        };
        let add = |mut a: Vec<f64>, b: Vec<f64>| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            a
        };
        // One vector for each chunk: many classes are counted in one piece, which takes less memory.
        let counts = match classes * classes <= crate::sums::CHUNK {
            true => over_rows(y.len(), count, add).unwrap_or_else(|| vec![0.0; classes * classes]),
            false => count(0..y.len()),
        };
        Confusion { classes, counts }
    }

    /// The weight of rows of a class.
    pub fn of_class(&self, class: usize) -> f64 {
        self.counts[class * self.classes..(class + 1) * self.classes].iter().sum()
    }

    /// The weight of rows that were predicted as a class.
    pub fn predicted(&self, class: usize) -> f64 {
        (0..self.classes).map(|row| self.counts[row * self.classes + class]).sum()
    }

    /// The weight of rows of a class that were predicted as that class.
    pub fn right(&self, class: usize) -> f64 {
        self.counts[class * self.classes + class]
    }

    pub fn total(&self) -> f64 {
        self.counts.iter().sum()
    }

    fn each(&self, score: impl Fn(f64, f64, f64) -> f64) -> Vec<f64> {
        (0..self.classes).map(|k| score(self.right(k), self.predicted(k), self.of_class(k))).collect()
    }

    /// A score of true positives, predicted and actual weight, averaged.
    fn averaged(&self, average: Average, score: impl Fn(f64, f64, f64) -> f64) -> f64 {
        let sum = |of: &dyn Fn(usize) -> f64| (0..self.classes).map(of).sum::<f64>();
        match average {
            Average::Binary if self.classes < 2 => f64::NAN,
            Average::Binary => score(self.right(1), self.predicted(1), self.of_class(1)),
            Average::Macro => average_of_defined(&self.each(score), None),
            Average::Micro => score(sum(&|k| self.right(k)), sum(&|k| self.predicted(k)), sum(&|k| self.of_class(k))),
            Average::Weighted => {
                let support: Vec<f64> = (0..self.classes).map(|k| self.of_class(k)).collect();
                average_of_defined(&self.each(score), Some(&support))
            }
        }
    }

    /// The share of right rows among those that were predicted as a class. NaN if no row was.
    pub fn precision(&self, average: Average) -> f64 {
        self.averaged(average, precision)
    }

    /// The share of right rows among those of a class. NaN if there are none.
    pub fn recall(&self, average: Average) -> f64 {
        self.averaged(average, recall)
    }

    /// The weighted harmonic mean of precision and recall; `beta` is the weight of the recall. NaN if the class is
    /// neither there nor predicted.
    pub fn fbeta(&self, beta: f64, average: Average) -> f64 {
        self.averaged(average, |right, predicted, actual| fbeta(beta, right, predicted, actual))
    }

    /// Intersection over union of the rows of a class and those predicted as the class.
    pub fn jaccard(&self, average: Average) -> f64 {
        self.averaged(average, |right, predicted, actual| ratio(right, predicted + actual - right))
    }

    /// Precision of each class.
    pub fn precisions(&self) -> Vec<f64> {
        self.each(precision)
    }

    /// Recall of each class.
    pub fn recalls(&self) -> Vec<f64> {
        self.each(recall)
    }

    /// F-beta score of each class.
    pub fn fbetas(&self, beta: f64) -> Vec<f64> {
        self.each(|right, predicted, actual| fbeta(beta, right, predicted, actual))
    }

    /// Jaccard index of each class.
    pub fn jaccards(&self) -> Vec<f64> {
        self.each(|right, predicted, actual| ratio(right, predicted + actual - right))
    }

    /// The share of rows on the diagonal.
    pub fn accuracy(&self) -> f64 {
        ratio((0..self.classes).map(|k| self.right(k)).sum(), self.total())
    }

    /// The mean recall of the classes that are there.
    pub fn balanced_accuracy(&self) -> f64 {
        average_of_defined(&self.recalls(), None)
    }

    /// Matthews' correlation coefficient. 0 if all rows are of one class or predicted as one class, as in scikit-learn.
    pub fn matthews_corrcoef(&self) -> f64 {
        let actual: Vec<f64> = (0..self.classes).map(|k| self.of_class(k)).collect();
        let predicted: Vec<f64> = (0..self.classes).map(|k| self.predicted(k)).collect();
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let right: f64 = (0..self.classes).map(|k| self.right(k)).sum();
        let total: f64 = predicted.iter().sum();
        let both = right * total - product(&actual, &predicted);
        let of_predicted = total * total - product(&predicted, &predicted);
        let of_actual = total * total - product(&actual, &actual);
        let scale = of_predicted * of_actual;
        if scale == 0.0 { 0.0 } else { both / scale.sqrt() }
    }

    /// Cohen's kappa. `power` weighs a confusion by the distance of the positions: `None` counts all alike, 1 is
    /// linear, 2 is quadratic. NaN if chance alone agrees on all rows.
    pub fn cohen_kappa(&self, power: Option<i32>) -> f64 {
        let n = self.classes;
        let actual: Vec<f64> = (0..n).map(|k| self.of_class(k)).collect();
        let predicted: Vec<f64> = (0..n).map(|k| self.predicted(k)).collect();
        let total: f64 = predicted.iter().sum();
        let (mut seen, mut expected) = (0.0, 0.0);
        for (cell, count) in self.counts.iter().enumerate() {
            let (i, j) = (cell / n, cell % n);
            let weight = match power {
                _ if i == j => 0.0,
                None => 1.0,
                Some(power) => (i as f64 - j as f64).abs().powi(power),
            };
            seen += weight * count;
            expected += weight * (actual[i] * predicted[j] / total);
        }
        1.0 - ratio(seen, expected)
    }

    /// Positive and negative likelihood ratio of two classes; 1 where a ratio is undefined, as in scikit-learn's
    /// scorers. NaN if there is no row of class 1.
    pub fn likelihood_ratios(&self) -> (f64, f64) {
        if self.classes != 2 || self.of_class(1) == 0.0 {
            return (f64::NAN, f64::NAN);
        }
        let (tn, fp, fn_, tp) = (self.counts[0], self.counts[1], self.counts[2], self.counts[3]);
        let positive = if fp == 0.0 { 1.0 } else { tp * (tn + fp) / (fp * (tp + fn_)) };
        let negative = if tn == 0.0 { 1.0 } else { fn_ * (tn + fp) / (tn * (tp + fn_)) };
        (positive, negative)
    }
}

fn precision(right: f64, predicted: f64, _: f64) -> f64 {
    ratio(right, predicted)
}

fn recall(right: f64, _: f64, actual: f64) -> f64 {
    ratio(right, actual)
}

fn fbeta(beta: f64, right: f64, predicted: f64, actual: f64) -> f64 {
    if beta.is_infinite() {
        return ratio(right, actual);
    }
    let b = beta * beta;
    ratio((1.0 + b) * right, b * actual + predicted)
}

/// The share of rows that were predicted right.
pub fn accuracy(y: &[f64], predicted: &[f64], weight: Option<&[f64]>) -> f64 {
    average(y.len(), weight, |row| f64::from(y[row] == predicted[row]))
}

/// The share of rows that were predicted wrong: `hamming_loss` and `zero_one_loss` of one target.
pub fn zero_one_loss(y: &[f64], predicted: &[f64], weight: Option<&[f64]>) -> f64 {
    average(y.len(), weight, |row| f64::from(y[row] != predicted[row]))
}
