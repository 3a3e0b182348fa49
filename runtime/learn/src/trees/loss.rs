//! Losses of boosting: gradients, constant predictions, links (`sklearn/_loss/loss.py`).

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::quantile;
use crate::sums;

/// A loss as a function of the target and of raw predictions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Loss {
    SquaredError,
    AbsoluteError,
    Poisson,
    Gamma,
    Quantile(f64),
    /// Two classes: one raw prediction, its logistic is the probability of the second class.
    Binary,
    /// Several classes, each with a raw prediction.
    Classes(usize),
}

/// Rows that a thread takes at a time.
const CHUNK: usize = 4096;

impl Loss {
    /// Raw predictions of a row.
    pub fn outputs(self) -> usize {
        match self {
            Loss::Classes(count) => count,
            _ => 1,
        }
    }

    /// Whether second derivatives are 1 if all rows weigh the same.
    pub fn is_constant(self) -> bool {
        matches!(self, Loss::SquaredError | Loss::AbsoluteError | Loss::Quantile(_))
    }

    /// Whether leaves are set by a line search, because gradients do not say how far the optimum is.
    pub fn has_line_search(self) -> bool {
        matches!(self, Loss::AbsoluteError | Loss::Quantile(_))
    }

    /// The constant raw predictions with the least loss.
    pub fn constant(self, y: &[f64], weight: Option<&[f64]>) -> Vec<f64> {
        let eps = 10.0 * f64::EPSILON;
        match self {
            Loss::SquaredError => vec![sums::mean(y, weight)],
            Loss::AbsoluteError | Loss::Quantile(_) => {
                let pairs = y.iter().enumerate().map(|(i, y)| (*y, weight.map_or(1.0, |w| w[i]))).collect();
                vec![self.quantile(pairs, weight.is_some())]
            }
            Loss::Poisson | Loss::Gamma => vec![sums::mean(y, weight).max(eps).ln()],
            Loss::Binary => {
                let p = sums::mean(y, weight).clamp(eps, 1.0 - eps);
                vec![(p / (1.0 - p)).ln()]
            }
            Loss::Classes(count) => {
                let share = |class: usize| {
                    let is: Vec<f64> = y.iter().map(|y| f64::from(u8::from(*y as usize == class))).collect();
                    sums::mean(&is, weight).clamp(f64::EPSILON, 1.0 - f64::EPSILON).ln()
                };
                let logs: Vec<f64> = (0..count).map(share).collect();
                let mean = logs.iter().sum::<f64>() / count as f64;
                logs.iter().map(|log| log - mean).collect()
            }
        }
    }

    /// The median or the quantile of values with weights: by weight the lowest value that has the share, else between
    /// neighbours.
    pub fn quantile(self, mut pairs: Vec<(f64, f64)>, weighted: bool) -> f64 {
        let share = if let Loss::Quantile(share) = self { share } else { 0.5 };
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let Some(last) = pairs.len().checked_sub(1) else { return 0.0 };
        if !weighted {
            let at = share * last as f64;
            let (low, high) = (pairs[at as usize].0, pairs[(at as usize + 1).min(last)].0);
            return low + (high - low) * at.fract();
        }
        let total: f64 = pairs.iter().map(|(_, w)| w).sum();
        // Rows of weight 0 have no say: their leaf does not move.
        if total > 0.0 { quantile::weighted(&pairs, std::iter::once(share), false)[0] } else { 0.0 }
    }

    /// Writes gradients and second derivatives of all rows, output after output. `hessian` is empty if it is constant.
    pub fn gradients(
        self,
        y: &[f64],
        raw: &[Vec<f64>],
        weight: Option<&[f64]>,
        gradient: &mut [Vec<f32>],
        hessian: &mut [Vec<f32>],
    ) {
        if let Loss::Classes(count) = self {
            self.class_gradients(y, raw, weight, gradient, hessian, count);
            return;
        }
        let (raw, gradient) = (&raw[0], &mut gradient[0]);
        let weigh = |row: usize| weight.map_or(1.0, |w| w[row]);
        if let Some(hessian) = hessian.first_mut() {
            let chunks = gradient.par_chunks_mut(CHUNK).zip(hessian.par_chunks_mut(CHUNK)).enumerate();
            chunks.for_each(|(c, (gradient, hessian))| {
                for (i, (g, h)) in gradient.iter_mut().zip(hessian).enumerate() {
                    let row = c * CHUNK + i;
                    let (first, second) = self.derivatives(y[row], raw[row]);
                    *g = (first * weigh(row)) as f32;
                    *h = (second * weigh(row)) as f32;
                }
            });
        } else {
            gradient.par_chunks_mut(CHUNK).enumerate().for_each(|(c, gradient)| {
                for (i, g) in gradient.iter_mut().enumerate() {
                    let row = c * CHUNK + i;
                    *g = self.derivatives(y[row], raw[row]).0 as f32;
                }
            });
        }
    }

    fn derivatives(self, y: f64, raw: f64) -> (f64, f64) {
        match self {
            Loss::SquaredError => (raw - y, 1.0),
            Loss::AbsoluteError => (if raw > y { 1.0 } else { -1.0 }, 1.0),
            Loss::Quantile(q) => (if y >= raw { -q } else { 1.0 - q }, 1.0),
            Loss::Poisson => (raw.exp() - y, raw.exp()),
            Loss::Gamma => {
                let ratio = y * (-raw).exp();
                (1.0 - ratio, ratio)
            }
            Loss::Binary if raw > -37.0 => {
                let e = (-raw).exp();
                (((1.0 - y) - y * e) / (1.0 + e), e / ((1.0 + e) * (1.0 + e)))
            }
            Loss::Binary => (raw.exp() - y, raw.exp()),
            Loss::Classes(_) => (0.0, 0.0),
        }
    }

    fn class_gradients(
        self,
        y: &[f64],
        raw: &[Vec<f64>],
        weight: Option<&[f64]>,
        gradient: &mut [Vec<f32>],
        hessian: &mut [Vec<f32>],
        count: usize,
    ) {
        let chunks: Vec<Vec<f64>> = (0..y.len().div_ceil(CHUNK))
            .into_par_iter()
            .map(|c| {
                let rows = c * CHUNK..y.len().min((c + 1) * CHUNK);
                let mut proba = Vec::with_capacity(rows.len() * count);
                for row in rows {
                    softmax(raw, row, &mut proba);
                }
                proba
            })
            .collect();
        let all = gradient.par_iter_mut().zip(hessian).enumerate();
        all.for_each(|(class, (gradient, hessian))| {
            for (c, proba) in chunks.iter().enumerate() {
                for (i, p) in proba.iter().skip(class).step_by(count).enumerate() {
                    let row = c * CHUNK + i;
                    let w = weight.map_or(1.0, |w| w[row]);
                    let is = f64::from(u8::from(y[row] as usize == class));
                    gradient[row] = ((p - is) * w) as f32;
                    hessian[row] = (p * (1.0 - p) * w) as f32;
                }
            }
        });
    }

    /// The mean loss of rows. NaN if there are none.
    pub fn mean(self, y: &[f64], raw: &[Vec<f64>], weight: Option<&[f64]>) -> f64 {
        let sum = sums::over_rows(
            y.len(),
            |rows| {
                rows.fold((0.0, 0.0), |(loss, total), row| {
                    let w = weight.map_or(1.0, |w| w[row]);
                    (loss + w * self.loss(y[row], raw, row), total + w)
                })
            },
            |a, b| (a.0 + b.0, a.1 + b.1),
        );
        sum.map_or(f64::NAN, |(loss, weight)| loss / weight)
    }

    fn loss(self, y: f64, raw: &[Vec<f64>], row: usize) -> f64 {
        let r = raw[0][row];
        match self {
            Loss::SquaredError => 0.5 * (r - y) * (r - y),
            Loss::AbsoluteError => (r - y).abs(),
            Loss::Quantile(q) => {
                if y >= r {
                    q * (y - r)
                } else {
                    (1.0 - q) * (r - y)
                }
            }
            Loss::Poisson => r.exp() - y * r,
            Loss::Gamma => r + y * (-r).exp(),
            // log(1 + exp(r)) without overflow.
            Loss::Binary => r.max(0.0) + (-r.abs()).exp().ln_1p() - y * r,
            Loss::Classes(_) => {
                let most = raw.iter().map(|r| r[row]).fold(f64::NEG_INFINITY, f64::max);
                most + raw.iter().map(|r| (r[row] - most).exp()).sum::<f64>().ln() - raw[y as usize][row]
            }
        }
    }

    /// The predictions of a row from its raw ones: the value, or the probability of each class.
    pub fn predict(self, raw: &[f64], out: &mut Vec<f64>) {
        match self {
            Loss::Poisson | Loss::Gamma => out.push(raw[0].exp()),
            Loss::Binary => {
                let p = 1.0 / (1.0 + (-raw[0]).exp());
                out.extend([1.0 - p, p]);
            }
            Loss::Classes(_) => {
                let most = raw.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = raw.iter().map(|r| (r - most).exp()).sum();
                out.extend(raw.iter().map(|r| (r - most).exp() / sum));
            }
            _ => out.push(raw[0]),
        }
    }
}

fn softmax(raw: &[Vec<f64>], row: usize, out: &mut Vec<f64>) {
    let most = raw.iter().map(|r| r[row]).fold(f64::NEG_INFINITY, f64::max);
    let start = out.len();
    out.extend(raw.iter().map(|r| (r[row] - most).exp()));
    let sum: f64 = out[start..].iter().sum();
    out[start..].iter_mut().for_each(|p| *p /= sum);
}
