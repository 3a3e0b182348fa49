//! Scores of the order of rows by a score or a probability. The source is scikit-learn's `metrics/_ranking.py` and
//! `calibration.py`.

use rayon::prelude::*;

use super::{average, average_of_defined, ratio};

/// The curve of rates over thresholds, from the highest threshold down.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RocCurve {
    pub fpr: Vec<f64>,
    pub tpr: Vec<f64>,
    /// The first one is infinite: no row is positive.
    pub thresholds: Vec<f64>,
}

/// Precision and recall over thresholds, from the lowest threshold up. The last point is precision 1 and recall 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PrecisionRecallCurve {
    pub precision: Vec<f64>,
    pub recall: Vec<f64>,
    /// One fewer than points.
    pub thresholds: Vec<f64>,
}

/// Weights of false and true positives at each distinct score, from the highest down. Rows without weight are left out.
struct Counts {
    fps: Vec<f64>,
    tps: Vec<f64>,
    thresholds: Vec<f64>,
}

fn counts(positive: &[bool], score: &[f64], weight: Option<&[f64]>) -> Counts {
    let kept = (0..positive.len()).filter(|row| weight.is_none_or(|w| w[*row] != 0.0));
    let mut order: Vec<(f64, usize)> = kept.map(|row| (score[row], row)).collect();
    // Rows break ties, so that the order does not depend on threads.
    order.par_sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut out = Counts { fps: Vec::new(), tps: Vec::new(), thresholds: Vec::new() };
    let (mut fp, mut tp) = (0.0, 0.0);
    for (i, (at, row)) in order.iter().enumerate() {
        let weight = weight.map_or(1.0, |w| w[*row]);
        if positive[*row] {
            tp += weight;
        } else {
            fp += weight;
        }
        if order.get(i + 1).is_none_or(|next| next.0 != *at) {
            out.fps.push(fp);
            out.tps.push(tp);
            out.thresholds.push(*at);
        }
    }
    out
}

impl RocCurve {
    /// The curve of a score for rows that are positive or not. `drop_intermediate` leaves out points on a straight
    /// line between others. Rates are NaN if no row is negative, or none is positive.
    pub fn new(positive: &[bool], score: &[f64], weight: Option<&[f64]>, drop_intermediate: bool) -> Self {
        let c = counts(positive, score, weight);
        let n = c.fps.len();
        let bend = |v: &[f64], i: usize| (v[i + 1] - v[i]) - (v[i] - v[i - 1]) != 0.0;
        let keep = |i: &usize| !drop_intermediate || *i == 0 || *i + 1 >= n || bend(&c.fps, *i) || bend(&c.tps, *i);
        let points: Vec<usize> = (0..n).filter(keep).collect();
        let with_first = |first: f64, of: &dyn Fn(usize) -> f64| {
            std::iter::once(first).chain(points.iter().map(|i| of(*i))).collect::<Vec<f64>>()
        };
        let rate = |v: &[f64]| {
            let last = v.last().copied().unwrap_or(0.0);
            with_first(ratio(0.0, last), &|i| ratio(v[i], last))
        };
        let thresholds = with_first(f64::INFINITY, &|i| c.thresholds[i]);
        RocCurve { fpr: rate(&c.fps), tpr: rate(&c.tps), thresholds }
    }

    /// The area under the curve by the trapezoidal rule.
    pub fn area(&self) -> f64 {
        let x = self.fpr.windows(2).map(|w| w[1] - w[0]);
        x.zip(self.tpr.windows(2)).map(|(dx, y)| dx * (y[0] + y[1]) / 2.0).sum()
    }
}

impl PrecisionRecallCurve {
    /// The curve of a score for rows that are positive or not. Recall is 1 everywhere if no row is positive, as in
    /// scikit-learn.
    pub fn new(positive: &[bool], score: &[f64], weight: Option<&[f64]>) -> Self {
        let c = counts(positive, score, weight);
        let all = c.tps.last().copied().unwrap_or(0.0);
        let mut out = PrecisionRecallCurve::default();
        for i in (0..c.fps.len()).rev() {
            let predicted = c.tps[i] + c.fps[i];
            out.precision.push(if predicted == 0.0 { 0.0 } else { c.tps[i] / predicted });
            out.recall.push(if all == 0.0 { 1.0 } else { c.tps[i] / all });
            out.thresholds.push(c.thresholds[i]);
        }
        out.precision.push(1.0);
        out.recall.push(0.0);
        out
    }

    /// Average precision: the sum of precision times the step of recall.
    pub fn area(&self) -> f64 {
        let steps = self.recall.windows(2).map(|w| w[0] - w[1]);
        steps.zip(&self.precision).map(|(step, precision)| step * precision).sum::<f64>().max(0.0)
    }
}

/// The area under the ROC curve. NaN if all rows are positive or none is.
pub fn roc_auc(positive: &[bool], score: &[f64], weight: Option<&[f64]>) -> f64 {
    if positive.iter().all(|p| *p) || !positive.iter().any(|p| *p) {
        return f64::NAN;
    }
    RocCurve::new(positive, score, weight, true).area()
}

/// The average precision. NaN if no row is positive.
pub fn average_precision(positive: &[bool], score: &[f64], weight: Option<&[f64]>) -> f64 {
    match positive.iter().any(|p| *p) {
        true => PrecisionRecallCurve::new(positive, score, weight).area(),
        false => f64::NAN,
    }
}

fn is_class(y: &[f64], class: usize) -> Vec<bool> {
    y.iter().map(|v| *v as usize == class).collect()
}

/// The mean of a score of each class against all others, `weighted` by the rows of the class. NaN if a class has no
/// score.
pub fn one_versus_rest(
    y: &[f64],
    proba: &[&[f64]],
    weight: Option<&[f64]>,
    weighted: bool,
    score: impl Fn(&[bool], &[f64], Option<&[f64]>) -> f64,
) -> f64 {
    let of = |k: usize| score(&is_class(y, k), proba[k], weight);
    let rows = |k: usize| super::sums(y.len(), weight, |row| f64::from(y[row] as usize == k)).0;
    let (mut sum, mut total) = (0.0, 0.0);
    for k in 0..proba.len() {
        let share = if weighted { rows(k) } else { 1.0 };
        if share > 0.0 {
            sum += share * of(k);
            total += share;
        }
    }
    ratio(sum, total)
}

/// The mean area under the ROC curve of all pairs of classes (Hand and Till 2001), `weighted` by the rows of the pair.
pub fn roc_auc_one_versus_one(y: &[f64], proba: &[&[f64]], weight: Option<&[f64]>, weighted: bool) -> f64 {
    let (mut sum, mut total) = (0.0, 0.0);
    for a in 0..proba.len() {
        for b in a + 1..proba.len() {
            let rows: Vec<usize> = (0..y.len()).filter(|r| y[*r] as usize == a || y[*r] as usize == b).collect();
            let pick = |values: &[f64]| rows.iter().map(|r| values[*r]).collect::<Vec<f64>>();
            let (y, w) = (pick(y), weight.map(pick));
            let area = |class: usize| roc_auc(&is_class(&y, class), &pick(proba[class]), w.as_deref());
            let share = match (weighted, &w) {
                (false, _) => 1.0,
                (true, Some(w)) => w.iter().sum(),
                (true, None) => rows.len() as f64,
            };
            sum += share * (area(a) + area(b)) / 2.0;
            total += share;
        }
    }
    ratio(sum, total)
}

/// The share of rows whose class is among the `k` most probable ones. The later class of equal probabilities counts as
/// more probable.
pub fn top_k_accuracy(y: &[f64], proba: &[&[f64]], weight: Option<&[f64]>, k: usize) -> f64 {
    average(y.len(), weight, |row| {
        let class = y[row] as usize;
        let Some(own) = proba.get(class).map(|p| p[row]) else { return 0.0 };
        let before = |other: usize| proba[other][row] > own || (proba[other][row] == own && other > class);
        f64::from((0..proba.len()).filter(|other| before(*other)).count() < k)
    })
}

/// A bin of a calibration curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CalibrationBin {
    /// The share of positive rows.
    pub prob_true: f64,
    /// The mean probability.
    pub prob_pred: f64,
    /// The weight of the rows.
    pub count: f64,
}

/// Mean probabilities and shares of positives in bins of equal width. Bins without rows are left out.
pub fn calibration_curve(positive: &[bool], proba: &[f64], weight: Option<&[f64]>, bins: usize) -> Vec<CalibrationBin> {
    let edges: Vec<f64> = (1..bins).map(|i| i as f64 * (1.0 / bins as f64)).collect();
    let mut sums = vec![(0.0, 0.0, 0.0); bins];
    for (row, p) in proba.iter().enumerate() {
        let weight = weight.map_or(1.0, |w| w[row]);
        let Some(bin) = sums.get_mut(edges.partition_point(|e| e < p)) else { continue };
        bin.0 += weight * f64::from(positive[row]);
        bin.1 += weight * p;
        bin.2 += weight;
    }
    let filled = sums.into_iter().filter(|bin| bin.2 > 0.0);
    filled.map(|(a, b, n)| CalibrationBin { prob_true: a / n, prob_pred: b / n, count: n }).collect()
}

/// The mean of average precisions of all classes that have rows.
pub fn average_precision_macro(y: &[f64], proba: &[&[f64]], weight: Option<&[f64]>) -> f64 {
    let scores: Vec<f64> = (0..proba.len()).map(|k| average_precision(&is_class(y, k), proba[k], weight)).collect();
    average_of_defined(&scores, None)
}
