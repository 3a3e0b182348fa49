//! Bins of features: one byte for each value. Thresholds are those of scikit-learn's `_BinMapper`
//! (`sklearn/ensemble/_hist_gradient_boosting/binning.py`).

use rayon::prelude::*;

use crate::data::{Column, Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::quantile;
use crate::random::Mt19937;

/// The bin of missing values, and of categories that the training did not see.
pub const MISSING: u8 = 255;

/// Rows from which quantiles are found; above, that many rows are drawn with replacement.
const SUBSAMPLE: usize = 200_000;

/// How a feature is binned.
pub struct Bins {
    pub category: bool,
    /// The upper bounds of all bins but the last, rising. Empty for a category, whose codes are its bins.
    pub edges: Vec<f64>,
    /// Number of bins without that of missing values.
    pub count: usize,
    pub has_missing: bool,
    /// The lowest and the highest value of each bin in training. NaN for an empty bin.
    pub low: Vec<f64>,
    pub high: Vec<f64>,
}

impl Bins {
    /// The bin of a value: the first one whose upper bound is not below it.
    pub fn of(&self, value: f64) -> u8 {
        if value.is_nan() {
            return MISSING;
        }
        if self.category {
            return if value < self.count as f64 { value as u8 } else { MISSING };
        }
        self.edges.partition_point(|edge| *edge < value) as u8
    }
}

/// All values of a feature as bins.
pub struct BinnedData {
    pub bins: Bins,
    pub codes: Vec<u8>,
}

/// Bins the features of `data` to at most `max_bins` bins each, and one for missing values. Values are binned exactly
/// if a feature has no more different values than that, else by quantiles. `weight` weighs the quantiles.
///
/// # Errors
/// If a category has more than `max_bins` values.
pub fn bin(data: &Data, max_bins: usize, weight: Option<&[f64]>, seed: u32) -> Result<Vec<BinnedData>, Error> {
    for column in &data.features {
        let count = column.categories().map_or(0, <[String]>::len);
        if count > max_bins {
            let message =
                format!("`{}` has {count} different values: at most {max_bins} are taken as categories", column.name);
            return Err(Error::new(ErrorKind::Categories, message)
                .help(format!(
                    "leave `{}` out with `.features(..)`, or encode it with `TargetEncoder` in a pipeline",
                    column.name
                ))
                .help("XGB*, LGBM* and CatBoost* take more"));
        }
    }
    let sample = (data.rows > SUBSAMPLE).then(|| subsample(data.rows, weight, seed));
    // The rows of a weighted subsample were drawn by weight.
    let weight = if sample.is_some() { None } else { weight };
    Ok(data.features.par_iter().map(|column| binned(column, max_bins, sample.as_deref(), weight)).collect())
}

/// `RandomState(seed).choice(rows, 200_000, p=weight)`.
fn subsample(rows: usize, weight: Option<&[f64]>, seed: u32) -> Vec<u32> {
    let mut random = Mt19937::new(seed);
    match weight {
        None => (0..SUBSAMPLE).map(|_| random.randint(0, rows as u64) as u32).collect(),
        Some(weight) => {
            let total: f64 = weight.iter().sum();
            let mut sum = 0.0;
            let mut cdf: Vec<f64> = Vec::with_capacity(rows);
            for w in weight {
                sum += w / total;
                cdf.push(sum);
            }
            cdf.iter_mut().for_each(|c| *c /= sum);
            let draw = |u: f64| cdf.partition_point(|c| *c <= u).min(rows - 1) as u32;
            (0..SUBSAMPLE).map(|_| draw(random.uniform())).collect()
        }
    }
}

fn binned(column: &Column, max_bins: usize, sample: Option<&[u32]>, weight: Option<&[f64]>) -> BinnedData {
    let mut bins = match &column.kind {
        Kind::Category(names) => Bins {
            category: true,
            edges: Vec::new(),
            count: names.len(),
            has_missing: false,
            low: Vec::new(),
            high: Vec::new(),
        },
        Kind::Number | Kind::Text => {
            let edges = edges(&column.values, max_bins, sample, weight);
            Bins {
                category: false,
                count: edges.len() + 1,
                edges,
                has_missing: false,
                low: Vec::new(),
                high: Vec::new(),
            }
        }
    };
    let codes = codes(&bins, &column.values);
    bins.has_missing = codes.contains(&MISSING);
    let (mut low, mut high) = (vec![f64::NAN; 256], vec![f64::NAN; 256]);
    for (code, value) in codes.iter().zip(&column.values) {
        let (low, high) = (&mut low[usize::from(*code)], &mut high[usize::from(*code)]);
        *low = low.min(*value);
        *high = high.max(*value);
    }
    (bins.low, bins.high) = (low, high);
    BinnedData { bins, codes }
}

/// The bins of values by a binary search without branches.
pub fn codes(bins: &Bins, values: &[f64]) -> Vec<u8> {
    if bins.category {
        return values.iter().map(|v| bins.of(*v)).collect();
    }
    let mut edges = [f64::INFINITY; 256];
    edges[..bins.edges.len()].copy_from_slice(&bins.edges);
    let code = |value: &f64| {
        let mut at = 0usize;
        for step in [128, 64, 32, 16, 8, 4, 2, 1] {
            at += if edges[(at + step - 1) & 255] < *value { step } else { 0 };
        }
        if value.is_nan() { MISSING } else { at as u8 }
    };
    values.iter().map(code).collect()
}

/// The upper bounds of all bins but the last.
fn edges(values: &[f64], max_bins: usize, sample: Option<&[u32]>, weight: Option<&[f64]>) -> Vec<f64> {
    let value = |i: usize| sample.map_or(i, |rows| rows[i] as usize);
    let rows = sample.map_or(values.len(), <[u32]>::len);
    let weighs = |i: usize| weight.is_none_or(|w| w[i] != 0.0);
    let mut sorted: Vec<(f64, f64)> = Vec::new();
    let mut plain: Vec<f64> = Vec::new();
    match weight {
        None => plain.extend((0..rows).map(|i| values[value(i)]).filter(|v| !v.is_nan())),
        Some(w) => {
            sorted.extend((0..rows).filter(|i| weighs(*i)).map(|i| (values[i], w[i])).filter(|(v, _)| !v.is_nan()));
            sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
            plain.extend(sorted.iter().map(|(v, _)| *v));
        }
    }
    plain.sort_unstable_by(f64::total_cmp);
    let mut distinct = Vec::with_capacity(max_bins + 1);
    for v in &plain {
        if distinct.last() != Some(v) {
            distinct.push(*v);
            if distinct.len() > max_bins {
                break;
            }
        }
    }
    if distinct.len() < 2 {
        return Vec::new();
    }
    let mut edges: Vec<f64> = if distinct.len() <= max_bins {
        distinct.windows(2).map(|pair| middle(pair[0], pair[1])).collect()
    } else {
        let step = 100.0 / max_bins as f64;
        let ranks = (1..max_bins).map(|k| k as f64 * step);
        match weight {
            None => {
                quantile::percentiles(&mut plain, &ranks.collect::<Vec<f64>>(), quantile::Method::AveragedInvertedCdf)
            }
            // Their weights are above 0.
            Some(_) => quantile::weighted(&sorted, ranks.map(|rank| rank / 100.0), true),
        }
    };
    edges.dedup();
    edges
}

/// The middle of two values, and neither infinite nor above the higher one.
pub fn middle(low: f64, high: f64) -> f64 {
    let middle = (low + high) / 2.0;
    let middle = if middle.is_finite() { middle } else { low / 2.0 + high / 2.0 };
    // The middle of neighbouring numbers may be rounded to the higher one.
    if middle < high { middle } else { low }
}
