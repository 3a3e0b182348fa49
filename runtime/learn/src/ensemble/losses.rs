//! Losses of gradient boosting: constant predictions, gradients, values of leaves (`sklearn/_loss/loss.py` and
//! `_update_terminal_regions` of `sklearn/ensemble/_gb.py`).
//!
//! The losses of `trees/loss.rs` differ: they have second derivatives for binned gradients, and other quantiles.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::quantile;
use crate::sums;

/// A loss as a function of the target and of raw predictions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum BoostingLoss {
    SquaredError,
    AbsoluteError,
    /// The share of the residuals that are squared.
    Huber(f64),
    Quantile(f64),
    /// Two classes: the logistic of the raw prediction is the probability of the second class.
    Binary,
    /// Several classes, each with a raw prediction.
    Classes(usize),
    /// Two classes: the logistic of twice the raw prediction is the probability of the second class.
    Exponential,
}

/// Rows that a thread takes at a time.
const CHUNK: usize = 4096;

/// The targets of rows and their weights.
#[derive(Clone, Copy)]
pub struct Targets<'a> {
    pub y: &'a [f64],
    /// `None`: all rows weigh 1.
    pub weight: Option<&'a [f64]>,
}

impl Targets<'_> {
    pub fn weight_of(&self, row: usize) -> f64 {
        self.weight.map_or(1.0, |w| w[row])
    }
}

fn logistic(raw: f64) -> f64 {
    1.0 / (1.0 + (-raw).exp())
}

/// The median or another quantile of values with weights, which are reordered.
fn weighted_quantile(pairs: &mut [(f64, f64)], share: f64) -> f64 {
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    quantile::weighted(pairs, std::iter::once(share), false)[0]
}

impl BoostingLoss {
    /// Raw predictions of a row.
    pub fn outputs(self) -> usize {
        match self {
            BoostingLoss::Classes(count) => count,
            _ => 1,
        }
    }

    /// Classes. 0 for a regressor.
    pub fn classes(self) -> usize {
        match self {
            BoostingLoss::Classes(count) => count,
            BoostingLoss::Binary | BoostingLoss::Exponential => 2,
            _ => 0,
        }
    }

    /// The factor of the losses that scikit-learn reports: two of them are halved inside.
    fn factor(self) -> f64 {
        if matches!(self, BoostingLoss::SquaredError | BoostingLoss::Binary) { 2.0 } else { 1.0 }
    }

    /// The constant raw predictions before the first round: those of scikit-learn's dummy estimators.
    pub fn constant(self, rows: Targets<'_>) -> Vec<f64> {
        let share = if let BoostingLoss::Quantile(share) = self { share } else { 0.5 };
        match self {
            BoostingLoss::SquaredError => vec![sums::mean(rows.y, rows.weight)],
            BoostingLoss::AbsoluteError | BoostingLoss::Huber(_) | BoostingLoss::Quantile(_) => match rows.weight {
                None => quantile::percentiles(&mut rows.y.to_vec(), &[100.0 * share], quantile::Method::Linear),
                Some(weight) => {
                    let mut pairs: Vec<(f64, f64)> = rows.y.iter().copied().zip(weight.iter().copied()).collect();
                    vec![weighted_quantile(&mut pairs, share)]
                }
            },
            BoostingLoss::Binary | BoostingLoss::Exponential => {
                let p = sums::mean(rows.y, rows.weight).clamp(f64::EPSILON, 1.0 - f64::EPSILON);
                let logit = (p / (1.0 - p)).ln();
                vec![if self == BoostingLoss::Binary { logit } else { 0.5 * logit }]
            }
            BoostingLoss::Classes(count) => {
                let log_share = |class: usize| {
                    let is: Vec<f64> = rows.y.iter().map(|y| f64::from(u8::from(*y as usize == class))).collect();
                    sums::mean(&is, rows.weight).clamp(f64::EPSILON, 1.0 - f64::EPSILON).ln()
                };
                let logs: Vec<f64> = (0..count).map(log_share).collect();
                let mean = logs.iter().sum::<f64>() / count as f64;
                logs.iter().map(|log| log - mean).collect()
            }
        }
    }

    /// The residual from which a Huber loss grows linearly. 0 for other losses.
    pub fn delta(self, rows: Targets<'_>, raw: &[Vec<f64>]) -> f64 {
        let BoostingLoss::Huber(share) = self else { return 0.0 };
        let pair = |row: usize| ((rows.y[row] - raw[0][row]).abs(), rows.weight_of(row));
        let mut pairs: Vec<(f64, f64)> = (0..rows.y.len()).map(pair).collect();
        weighted_quantile(&mut pairs, share)
    }

    /// Writes the negative gradients of all rows, output after output.
    pub fn gradients(self, y: &[f64], raw: &[Vec<f64>], delta: f64, gradient: &mut [Vec<f64>]) {
        if let BoostingLoss::Classes(_) = self {
            let totals = log_sums(raw, y.len());
            gradient.par_iter_mut().zip(raw).enumerate().for_each(|(class, (gradient, raw))| {
                for (row, g) in gradient.iter_mut().enumerate() {
                    let is = f64::from(u8::from(y[row] as usize == class));
                    *g = is - (raw[row] - totals[row]).exp();
                }
            });
            return;
        }
        let raw = &raw[0];
        gradient[0].par_chunks_mut(CHUNK).enumerate().for_each(|(c, gradient)| {
            for (i, g) in gradient.iter_mut().enumerate() {
                let row = c * CHUNK + i;
                *g = self.negative_gradient(y[row], raw[row], delta);
            }
        });
    }

    fn negative_gradient(self, y: f64, raw: f64, delta: f64) -> f64 {
        match self {
            BoostingLoss::SquaredError => y - raw,
            BoostingLoss::AbsoluteError => {
                if raw > y {
                    -1.0
                } else {
                    1.0
                }
            }
            BoostingLoss::Quantile(share) => {
                if y >= raw {
                    share
                } else {
                    share - 1.0
                }
            }
            BoostingLoss::Huber(_) => (y - raw).clamp(-delta, delta),
            BoostingLoss::Binary => y - logistic(raw),
            BoostingLoss::Exponential => y * (-raw).exp() - (1.0 - y) * raw.exp(),
            BoostingLoss::Classes(_) => 0.0,
        }
    }

    /// The values of the leaves of a tree. `leaf_of` has the leaf of each row, or a number above all leaves for rows
    /// that the tree was not grown on. `None` if the values are those of the tree.
    pub fn leaf_values(
        self,
        rows: Targets<'_>,
        (output, raw): (usize, &[f64]),
        gradient: &[f64],
        delta: f64,
        (leaf_of, leaves): (&[u32], usize),
    ) -> Option<Vec<f64>> {
        match self {
            BoostingLoss::SquaredError => None,
            BoostingLoss::Binary | BoostingLoss::Classes(_) | BoostingLoss::Exponential => {
                Some(self.newton_steps(rows, output, gradient, (leaf_of, leaves)))
            }
            BoostingLoss::AbsoluteError | BoostingLoss::Quantile(_) | BoostingLoss::Huber(_) => {
                let mut of_leaf: Vec<Vec<(f64, f64)>> = vec![Vec::new(); leaves];
                for (row, leaf) in leaf_of.iter().enumerate() {
                    if let Some(pairs) = of_leaf.get_mut(*leaf as usize) {
                        pairs.push((rows.y[row] - raw[row], rows.weight_of(row)));
                    }
                }
                Some(of_leaf.into_par_iter().map(|mut pairs| self.line_search(&mut pairs, delta)).collect())
            }
        }
    }

    /// A step of Newton's method for each leaf.
    fn newton_steps(
        self,
        rows: Targets<'_>,
        output: usize,
        gradient: &[f64],
        (leaf_of, leaves): (&[u32], usize),
    ) -> Vec<f64> {
        let sums = sums::over_rows(
            rows.y.len(),
            |chunk| {
                let mut sums = vec![[0.0f64; 3]; leaves];
                for row in chunk {
                    let Some([first, second, total]) = sums.get_mut(leaf_of[row] as usize) else { continue };
                    let (g, w, y) = (gradient[row], rows.weight_of(row), rows.y[row]);
                    let hessian = match self {
                        BoostingLoss::Exponential => {
                            if y == 0.0 {
                                -g
                            } else {
                                g
                            }
                        }
                        BoostingLoss::Classes(_) => {
                            let p = f64::from(u8::from(y as usize == output)) - g;
                            p * (1.0 - p)
                        }
                        _ => (y - g) * (1.0 - (y - g)),
                    };
                    *first += w * g;
                    *second += w * hessian;
                    *total += w;
                }
                sums
            },
            |mut a, b| {
                a.iter_mut().flatten().zip(b.iter().flatten()).for_each(|(a, b)| *a += b);
                a
            },
        );
        let factor = if let BoostingLoss::Classes(count) = self { (count as f64 - 1.0) / count as f64 } else { 1.0 };
        let step = |[first, second, total]: [f64; 3]| {
            let (first, second) = (factor * (first / total), second / total);
            // A leaf whose probabilities are 0 or 1 does not move.
            if second.abs() < 1e-150 || second.is_nan() { 0.0 } else { first / second }
        };
        sums.unwrap_or_default().into_iter().map(step).collect()
    }

    /// The constant with the least loss of residuals with weights; for a Huber loss an approximation.
    fn line_search(self, pairs: &mut [(f64, f64)], delta: f64) -> f64 {
        if pairs.iter().all(|(_, weight)| *weight == 0.0) {
            return 0.0;
        }
        match self {
            BoostingLoss::Quantile(share) => weighted_quantile(pairs, share),
            BoostingLoss::Huber(_) => {
                let median = weighted_quantile(pairs, 0.5);
                let term = |(r, w): &(f64, f64)| w * (r - median).signum() * (r - median).abs().min(delta);
                let total: f64 = pairs.iter().map(|(_, w)| w).sum();
                median + pairs.iter().map(term).sum::<f64>() / total
            }
            _ => weighted_quantile(pairs, 0.5),
        }
    }

    /// The mean loss of rows for which `is_in` holds, as scikit-learn reports it. NaN if they have no weight.
    pub fn mean(self, rows: Targets<'_>, raw: &[Vec<f64>], delta: f64, is_in: impl Fn(usize) -> bool + Sync) -> f64 {
        let sum = sums::over_rows(
            rows.y.len(),
            |chunk| {
                chunk.filter(|row| is_in(*row)).fold((0.0, 0.0), |(loss, total), row| {
                    let w = rows.weight_of(row);
                    (loss + w * self.loss(rows.y[row], raw, row, delta), total + w)
                })
            },
            |a, b| (a.0 + b.0, a.1 + b.1),
        );
        sum.map_or(f64::NAN, |(loss, weight)| self.factor() * loss / weight)
    }

    fn loss(self, y: f64, raw: &[Vec<f64>], row: usize, delta: f64) -> f64 {
        let r = raw[0][row];
        let residual = (y - r).abs();
        match self {
            BoostingLoss::SquaredError => 0.5 * residual * residual,
            BoostingLoss::AbsoluteError => residual,
            BoostingLoss::Quantile(share) => {
                if y >= r {
                    share * residual
                } else {
                    (1.0 - share) * residual
                }
            }
            BoostingLoss::Huber(_) if residual <= delta => 0.5 * residual * residual,
            BoostingLoss::Huber(_) => delta * (residual - 0.5 * delta),
            // log(1 + exp(r)) without overflow.
            BoostingLoss::Binary => r.max(0.0) + (-r.abs()).exp().ln_1p() - y * r,
            BoostingLoss::Exponential => y * (-r).exp() + (1.0 - y) * r.exp(),
            BoostingLoss::Classes(_) => log_sum(raw, row) - raw[y as usize][row],
        }
    }

    /// Appends the predictions of a row: the value, or the probability of each class.
    pub fn predict(self, raw: &[f64], out: &mut Vec<f64>) {
        match self {
            BoostingLoss::Binary | BoostingLoss::Exponential => {
                let p = logistic(if self == BoostingLoss::Binary { raw[0] } else { 2.0 * raw[0] });
                out.extend([1.0 - p, p]);
            }
            BoostingLoss::Classes(_) => {
                let most = raw.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = raw.iter().map(|r| (r - most).exp()).sum();
                out.extend(raw.iter().map(|r| (r - most).exp() / sum));
            }
            _ => out.push(raw[0]),
        }
    }
}

/// The logarithm of the sum of exponentials of a row.
fn log_sum(raw: &[Vec<f64>], row: usize) -> f64 {
    let most = raw.iter().map(|r| r[row]).fold(f64::NEG_INFINITY, f64::max);
    most + raw.iter().map(|r| (r[row] - most).exp()).sum::<f64>().ln()
}

fn log_sums(raw: &[Vec<f64>], rows: usize) -> Vec<f64> {
    let mut out = vec![0.0; rows];
    out.par_chunks_mut(CHUNK).enumerate().for_each(|(c, out)| {
        out.iter_mut().enumerate().for_each(|(i, sum)| *sum = log_sum(raw, c * CHUNK + i));
    });
    out
}
