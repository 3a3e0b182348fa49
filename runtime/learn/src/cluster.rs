//! Clustering, and the search for outliers.

pub mod affinity;
pub mod agglomerative;
pub mod birch;
pub mod bisecting;
mod clustered_rows;
pub mod dbscan;
pub mod hdbscan;
pub mod isolation;
pub mod kmeans;
mod kmeans_device;
pub mod local_outliers;
pub mod mean_shift;
pub mod mini_batch;
pub mod optics;
mod outliers;

pub use agglomerative::Agglomerative;
pub use birch::Birch;
pub use bisecting::BisectingTree;
pub use clustered_rows::ClusteredRows;
pub use dbscan::Dbscan;
pub use hdbscan::Hdbscan;
pub use isolation::IsolationForest;
pub use kmeans::KMeans;
pub use local_outliers::LocalOutlierFactor;

use crate::model::{Attribute, Values};

/// A frame with one column of labels.
pub(crate) fn labels(values: &[f64]) -> Attribute {
    Attribute::Frame(vec![("label".to_string(), Values::Ints(values.iter().map(|v| *v as i64).collect()))])
}
