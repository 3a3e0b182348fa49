//! Scores of clusterings, against true labels or against the points. Labels are any numbers; equal ones are of one
//! cluster.
//!
//! The source is scikit-learn's `metrics/cluster/_supervised.py`, `_unsupervised.py` and
//! `_expected_mutual_info_fast.pyx`.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::error::Error;
use crate::run::Run;

/// How many rows two labellings share.
struct Contingency {
    /// Rows of each label of the first and of the second labelling.
    a: Vec<u64>,
    b: Vec<u64>,
    /// Positions of both labels, and the rows.
    cells: Vec<(usize, usize, u64)>,
    rows: u64,
}

/// Positions of labels among the distinct ones in ascending order, and the number of distinct ones.
pub(crate) fn encode(labels: &[f64]) -> (Vec<usize>, usize) {
    // -0 becomes 0: the two are one label, and the total order tells them apart.
    let labels: Vec<f64> = labels.iter().map(|v| v + 0.0).collect();
    let mut distinct = labels.clone();
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    let position = |v: &f64| distinct.binary_search_by(|d| d.total_cmp(v)).unwrap_or(0);
    (labels.iter().map(position).collect(), distinct.len())
}

impl Contingency {
    fn new(truth: &[f64], labels: &[f64]) -> Self {
        let ((x, n), (y, m)) = (encode(truth), encode(labels));
        let (mut a, mut b, mut cells) = (vec![0; n], vec![0; m], BTreeMap::new());
        for (i, j) in x.iter().zip(&y) {
            a[*i] += 1;
            b[*j] += 1;
            *cells.entry((*i, *j)).or_insert(0u64) += 1;
        }
        let cells = cells.into_iter().map(|((i, j), n)| (i, j, n)).collect();
        Contingency { a, b, cells, rows: x.len() as u64 }
    }

    /// Ordered pairs of rows: apart in both, together in the second only, in the first only, in both.
    fn pairs(&self) -> [i128; 4] {
        let n = i128::from(self.rows);
        let squares: i128 = self.cells.iter().map(|c| i128::from(c.2).pow(2)).sum();
        let with = |of: &dyn Fn(&(usize, usize, u64)) -> u64| {
            self.cells.iter().map(|c| i128::from(c.2) * i128::from(of(c))).sum::<i128>()
        };
        let second = with(&|c| self.b[c.1]) - squares;
        let first = with(&|c| self.a[c.0]) - squares;
        [n * n - second - first - squares, second, first, squares - n]
    }

    fn mutual_information(&self) -> f64 {
        if self.a.len() <= 1 || self.b.len() <= 1 {
            return 0.0;
        }
        let n = self.rows as f64;
        let term = |(i, j, count): &(usize, usize, u64)| {
            let (share, count) = (*count as f64 / n, *count as f64);
            let outer = -(self.a[*i] as f64 * self.b[*j] as f64).ln() + n.ln() + n.ln();
            let value = share * (count.ln() - n.ln()) + share * outer;
            if value.abs() < f64::EPSILON { 0.0 } else { value }
        };
        self.cells.iter().map(term).sum::<f64>().max(0.0)
    }

    /// The mutual information that random labellings with the same sizes have on average (Vinh, Epps and Bailey 2010).
    fn expected_mutual_information(&self) -> f64 {
        if self.a.len() <= 1 || self.b.len() <= 1 {
            return 0.0;
        }
        let n = self.rows;
        let log_n = (n as f64).ln();
        let of_row = |a: &u64| {
            let a = *a;
            let mut sum = 0.0;
            for b in &self.b {
                let b = *b;
                let fixed =
                    ln_factorial(a) + ln_factorial(b) + ln_factorial(n - a) + ln_factorial(n - b) - ln_factorial(n);
                let logs = (a as f64).ln() + (b as f64).ln();
                for k in (a + b).saturating_sub(n).max(1)..=a.min(b) {
                    let log = fixed
                        - ln_factorial(k)
                        - ln_factorial(a - k)
                        - ln_factorial(b - k)
                        - ln_factorial(n + k - a - b);
                    sum += k as f64 / n as f64 * (log_n + (k as f64).ln() - logs) * log.exp();
                }
            }
            sum
        };
        self.a.par_iter().map(of_row).collect::<Vec<f64>>().into_iter().sum()
    }
}

/// The logarithm of a factorial: by a table, or by Stirling's series.
fn ln_factorial(n: u64) -> f64 {
    static TABLE: std::sync::OnceLock<Vec<f64>> = std::sync::OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut sum = 0.0;
        let next = |k: u32| {
            sum += f64::from(k.max(1)).ln();
            sum
        };
        (0..256).map(next).collect()
    });
    if let Some(value) = table.get(n as usize) {
        return *value;
    }
    let x = n as f64;
    let series = 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3)) + 1.0 / (1260.0 * x.powi(5));
    x * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI * x).ln() + series
}

fn entropy(counts: &[u64]) -> f64 {
    let n: u64 = counts.iter().sum();
    match counts.len() {
        0 => 1.0,
        1 => 0.0,
        _ => -counts.iter().map(|c| *c as f64 / n as f64 * ((*c as f64).ln() - (n as f64).ln())).sum::<f64>(),
    }
}

/// The share of pairs of rows on which two labellings agree.
pub fn rand_score(truth: &[f64], labels: &[f64]) -> f64 {
    let [apart, second, first, both] = Contingency::new(truth, labels).pairs();
    let (agree, all) = (apart + both, apart + both + second + first);
    if agree == all || all == 0 { 1.0 } else { agree as f64 / all as f64 }
}

/// The Rand index, 0 for random labels and 1 for equal ones.
pub fn adjusted_rand_score(truth: &[f64], labels: &[f64]) -> f64 {
    let [tn, fp, fn_, tp] = Contingency::new(truth, labels).pairs();
    if fn_ == 0 && fp == 0 {
        return 1.0;
    }
    // The products need more than 64 bits, and more than 128 beyond 1e9 rows.
    let [tn, fp, fn_, tp] = [tn as f64, fp as f64, fn_ as f64, tp as f64];
    2.0 * (tp * tn - fn_ * fp) / ((tp + fn_) * (fn_ + tn) + (tp + fp) * (fp + tn))
}

/// The mutual information of two labellings, in nats.
pub fn mutual_info_score(truth: &[f64], labels: &[f64]) -> f64 {
    Contingency::new(truth, labels).mutual_information()
}

/// Mutual information over the mean of both entropies.
pub fn normalized_mutual_info_score(truth: &[f64], labels: &[f64]) -> f64 {
    let c = Contingency::new(truth, labels);
    if c.a.len() == c.b.len() && c.a.len() <= 1 {
        return 1.0;
    }
    let mutual = c.mutual_information();
    if mutual == 0.0 { 0.0 } else { mutual / ((entropy(&c.a) + entropy(&c.b)) / 2.0) }
}

/// Mutual information above that of random labels, 0 for random labels and 1 for equal ones.
pub fn adjusted_mutual_info_score(truth: &[f64], labels: &[f64]) -> f64 {
    let c = Contingency::new(truth, labels);
    match (c.a.len(), c.b.len()) {
        (0, 0) | (1, 1) => return 1.0,
        (1, _) | (_, 1) => return 0.0,
        _ => {}
    }
    let expected = c.expected_mutual_information();
    // Neither may be 0 by rounding, where labels agree perfectly.
    let away = |v: f64| if v < 0.0 { v.min(-f64::EPSILON) } else { v.max(f64::EPSILON) };
    let most = (entropy(&c.a) + entropy(&c.b)) / 2.0;
    away(c.mutual_information() - expected) / away(most - expected)
}

/// Homogeneity (a cluster has rows of one class), completeness (a class is in one cluster) and their harmonic mean,
/// the V-measure.
pub fn homogeneity_completeness_v_measure(truth: &[f64], labels: &[f64]) -> (f64, f64, f64) {
    if truth.is_empty() {
        return (1.0, 1.0, 1.0);
    }
    let c = Contingency::new(truth, labels);
    let mutual = c.mutual_information();
    let share = |entropy: f64| if entropy == 0.0 { 1.0 } else { mutual / entropy };
    let (h, k) = (share(entropy(&c.a)), share(entropy(&c.b)));
    (h, k, if h + k == 0.0 { 0.0 } else { 2.0 * h * k / (h + k) })
}

/// The geometric mean of precision and recall of pairs of rows.
pub fn fowlkes_mallows_score(truth: &[f64], labels: &[f64]) -> f64 {
    let c = Contingency::new(truth, labels);
    let pairs =
        |counts: &mut dyn Iterator<Item = u64>| counts.map(|n| i128::from(n).pow(2)).sum::<i128>() - i128::from(c.rows);
    let both = pairs(&mut c.cells.iter().map(|cell| cell.2)) as f64;
    let (second, first) = (pairs(&mut c.b.iter().copied()) as f64, pairs(&mut c.a.iter().copied()) as f64);
    if both == 0.0 { 0.0 } else { (both / second).sqrt() * (both / first).sqrt() }
}

/// The silhouette of each row: how much nearer its own cluster is than the next one, from -1 to 1. The silhouette is 0
/// for a cluster of one row.
///
/// `points` are row-major, rows x `width`. All distances are computed: the time grows with the square of the rows.
/// NaN unless there are from 2 clusters to one fewer than rows.
pub fn silhouette_samples(points: &[f64], width: usize, labels: &[f64]) -> Vec<f64> {
    silhouette_samples_with(points, width, labels, &Run::silent()).unwrap_or_else(|_| vec![f64::NAN; labels.len()])
}

/// Rows between two looks at whether the user has stopped the work.
const BLOCK: usize = 1000;

/// [`silhouette_samples`] that can be stopped.
///
/// # Errors
/// If the user stops the work.
pub fn silhouette_samples_with(points: &[f64], width: usize, labels: &[f64], run: &Run<'_>) -> Result<Vec<f64>, Error> {
    let (labels, clusters) = encode(labels);
    let rows = labels.len();
    if clusters < 2 || clusters >= rows {
        return Ok(vec![f64::NAN; rows]);
    }
    let mut sizes = vec![0.0; clusters];
    labels.iter().for_each(|k| sizes[*k] += 1.0);
    let row = |i: usize| &points[i * width..(i + 1) * width];
    let of_row = |i: usize| {
        let mut sums = vec![0.0; clusters];
        for (j, label) in labels.iter().enumerate() {
            sums[*label] += distance(row(i), row(j));
        }
        let own = labels[i];
        let within = sums[own] / (sizes[own] - 1.0);
        let others = (0..clusters).filter(|k| *k != own).map(|k| sums[k] / sizes[k]);
        let next = others.fold(f64::INFINITY, f64::min);
        let value = (next - within) / within.max(next);
        if value.is_nan() { 0.0 } else { value }
    };
    let mut samples = Vec::with_capacity(rows);
    for start in (0..rows).step_by(BLOCK) {
        run.check(|| format!("{start} of {rows} rows"))?;
        samples.par_extend((start..rows.min(start + BLOCK)).into_par_iter().map(of_row));
    }
    Ok(samples)
}

/// The mean silhouette of all rows. See [`silhouette_samples`].
pub fn silhouette_score(points: &[f64], width: usize, labels: &[f64]) -> f64 {
    crate::sums::mean(&silhouette_samples(points, width, labels), None)
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// Centres of clusters, row-major, and their sizes.
fn centres(points: &[f64], width: usize, labels: &[usize], clusters: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut sums, mut sizes) = (vec![0.0; clusters * width], vec![0.0; clusters]);
    for (i, label) in labels.iter().enumerate() {
        sizes[*label] += 1.0;
        let sums = &mut sums[label * width..(label + 1) * width];
        sums.iter_mut().zip(&points[i * width..]).for_each(|(s, x)| *s += x);
    }
    for (k, size) in sizes.iter().enumerate() {
        sums[k * width..(k + 1) * width].iter_mut().for_each(|s| *s /= size);
    }
    (sums, sizes)
}

/// Variance between clusters over variance within (Calinski and Harabasz 1974). NaN unless there are from 2 clusters
/// to one fewer than rows.
pub fn calinski_harabasz_score(points: &[f64], width: usize, labels: &[f64]) -> f64 {
    let (labels, clusters) = encode(labels);
    let rows = labels.len();
    if clusters < 2 || clusters >= rows {
        return f64::NAN;
    }
    let (means, sizes) = centres(points, width, &labels, clusters);
    let (all, _) = centres(points, width, &vec![0; rows], 1);
    let square = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    let mean = |k: usize| &means[k * width..(k + 1) * width];
    let between: f64 = (0..clusters).map(|k| sizes[k] * square(mean(k), &all)).sum();
    let within: f64 = (0..rows).map(|i| square(&points[i * width..(i + 1) * width], mean(labels[i]))).sum();
    match within == 0.0 {
        true => 1.0,
        false => between * (rows - clusters) as f64 / (within * (clusters as f64 - 1.0)),
    }
}

/// The mean over clusters of the worst ratio of extents to distance of two clusters (Davies and Bouldin 1979): lower
/// is better. NaN unless there are from 2 clusters to one fewer than rows.
pub fn davies_bouldin_score(points: &[f64], width: usize, labels: &[f64]) -> f64 {
    let (labels, clusters) = encode(labels);
    let rows = labels.len();
    if clusters < 2 || clusters >= rows {
        return f64::NAN;
    }
    let (means, sizes) = centres(points, width, &labels, clusters);
    let mean = |k: usize| &means[k * width..(k + 1) * width];
    let mut extent = vec![0.0; clusters];
    for (i, label) in labels.iter().enumerate() {
        extent[*label] += distance(&points[i * width..(i + 1) * width], mean(*label));
    }
    extent.iter_mut().zip(&sizes).for_each(|(e, n)| *e /= n);
    let worst = |k: usize| {
        let ratio = |other: usize| match distance(mean(k), mean(other)) {
            0.0 => 0.0,
            apart => (extent[k] + extent[other]) / apart,
        };
        (0..clusters).filter(|other| *other != k).map(ratio).fold(0.0, f64::max)
    };
    // scikit-learn counts extents below 1e-8 as 0.
    match extent.iter().all(|e| *e <= 1e-8) {
        true => 0.0,
        false => (0..clusters).map(worst).sum::<f64>() / clusters as f64,
    }
}
