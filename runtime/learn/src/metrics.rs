//! Scores of predictions: the functions of `sklearn.metrics` over slices, with weights of rows.
//!
//! A score that is not defined for the rows is NaN, such as the precision of a class that was never predicted. For them
//! scikit-learn warns and returns 0 (`zero_division`). Sums are in a fixed order on any number of threads. A weight of
//! `None` means that each row weighs 1.

pub mod classification;
pub mod clusters;
pub mod probability;
pub mod ranking;
pub mod regression;

use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::run::Run;
use crate::sums::over_rows;

/// The sum of a value of each row times the weight of the row, and the sum of the weights.
pub(crate) fn sums(rows: usize, weight: Option<&[f64]>, value: impl Fn(usize) -> f64 + Sync) -> (f64, f64) {
    let part = |chunk: std::ops::Range<usize>| match weight {
        Some(weight) => {
            chunk.fold((0.0, 0.0), |(sum, total), row| (sum + weight[row] * value(row), total + weight[row]))
        }
        None => {
            let total = chunk.len() as f64;
            (chunk.map(&value).sum(), total)
        }
    };
    over_rows(rows, part, |a, b| (a.0 + b.0, a.1 + b.1)).unwrap_or((0.0, 0.0))
}

/// The weighted mean of a value of each row. NaN if the weights sum to 0.
pub(crate) fn average(rows: usize, weight: Option<&[f64]>, value: impl Fn(usize) -> f64 + Sync) -> f64 {
    let (sum, total) = sums(rows, weight, value);
    if total == 0.0 { f64::NAN } else { sum / total }
}

/// The weighted mean of the values that are not NaN. NaN if there are none.
pub(crate) fn average_of_defined(values: &[f64], weight: Option<&[f64]>) -> f64 {
    let defined = values.iter().enumerate().filter(|(_, v)| !v.is_nan());
    let add = |(sum, total): (f64, f64), (i, v): (usize, &f64)| {
        let weight = weight.map_or(1.0, |w| w[i]);
        (sum + weight * v, total + weight)
    };
    let (sum, total) = defined.fold((0.0, 0.0), add);
    if total == 0.0 { f64::NAN } else { sum / total }
}

/// `a / b`, or NaN if `b` is 0.
pub(crate) fn ratio(a: f64, b: f64) -> f64 {
    if b == 0.0 { f64::NAN } else { a / b }
}

/// How well clusters are apart: `silhouette`, `calinski_harabasz` or `davies_bouldin`.
///
/// # Errors
/// If there is no such score, or a feature is missing. If there are fewer than two clusters, or as many as rows. If the
/// user stops the work.
pub fn cluster_score(score: &str, data: &Data, labels: &[f64], run: &Run<'_>) -> Result<f64, Error> {
    let (_, clusters) = clusters::encode(labels);
    if clusters < 2 || clusters >= data.rows {
        let message =
            format!("{clusters} clusters in {} rows: a score needs at least 2, and fewer than rows", data.rows);
        return Err(Error::new(ErrorKind::Clusters, message));
    }
    if let Some(column) = data.features.iter().find(|c| c.missing() > 0) {
        let message = format!("`{}` has {}", column.name, crate::check::nulls(column.missing(), data.rows));
        return Err(Error::new(ErrorKind::Nulls, message));
    }
    let (points, width) = (data.row_major(), data.width());
    match score {
        "silhouette" => {
            let samples = clusters::silhouette_samples_with(&points, width, labels, run)?;
            Ok(crate::sums::mean(&samples, None))
        }
        "calinski_harabasz" => Ok(clusters::calinski_harabasz_score(&points, width, labels)),
        "davies_bouldin" => Ok(clusters::davies_bouldin_score(&points, width, labels)),
        other => Err(Error::new(ErrorKind::Score, format!("there is no score of clusters `{other}`"))),
    }
}
