//! Clustering.

pub mod dbscan;
pub mod kmeans;
mod kmeans_device;

pub use dbscan::Dbscan;
pub use kmeans::KMeans;

use crate::model::{Attribute, Values};

/// A frame with one column of labels.
pub(crate) fn labels(values: &[f64]) -> Attribute {
    Attribute::Frame(vec![("label".to_string(), Values::Ints(values.iter().map(|v| *v as i64).collect()))])
}
