//! Clustering.

pub mod dbscan;
pub mod kmeans;
mod kmeans_device;

pub use dbscan::Dbscan;
pub use kmeans::KMeans;

use crate::model::{Attribute, Field, Values};

/// A frame with a column for each feature, from a row-major matrix.
pub(crate) fn by_row(first: Option<(&str, Values)>, features: &[Field], matrix: &[f64]) -> Attribute {
    let width = features.len();
    let mut columns: Vec<(String, Values)> =
        first.into_iter().map(|(name, values)| (name.to_string(), values)).collect();
    columns.extend(features.iter().enumerate().map(|(j, feature)| {
        let values = matrix.iter().skip(j).step_by(width).copied().collect();
        (feature.name.clone(), Values::Floats(values))
    }));
    Attribute::Frame(columns)
}

/// A frame with one column of labels.
pub(crate) fn labels(values: &[f64]) -> Attribute {
    Attribute::Frame(vec![("label".to_string(), Values::Ints(values.iter().map(|v| *v as i64).collect()))])
}
