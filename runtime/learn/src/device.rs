//! Trainings whose passes over the rows run on a device.
//!
//! The columns stay there: [`Data`](crate::Data) has their names and no values. An estimator asks for sums, of a size
//! that does not depend on the number of rows, and does the rest on the host. If a device cannot do a step, the
//! training ends with [`Error::host_needed`], and the caller trains again on the host.

use std::fmt;
use std::sync::Arc;

use onrush_dense::Matrix;

use crate::error::Error;

/// Statistics of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColumnStatistics {
    /// The smallest of the finite values.
    pub low: f64,
    pub high: f64,
    pub sum: f64,
    /// Values that are infinite or NaN.
    pub not_finite: u64,
}

/// Sums of one pass of a linear model, over the features and a column of ones.
#[derive(Clone, Debug, PartialEq)]
pub struct PassSums {
    /// The columns times the residuals; of a logistic regression the derivatives of the loss.
    pub gradient: Vec<f64>,
    /// The sums of the columns.
    pub sums: Vec<f64>,
    /// The sum of squares of the residuals; of a logistic regression the loss.
    pub squares: f64,
    /// The sum of the residuals.
    pub total: f64,
    /// Second derivatives of a logistic regression, (features + 1) squared.
    pub hessian: Vec<f64>,
}

/// The result of a pass of k-means.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterSums {
    /// clusters x features: sums of the shifted features.
    pub sums: Vec<f64>,
    pub counts: Vec<u64>,
    /// Rows whose cluster is another one than before.
    pub changed: u64,
    /// The sum of the squared distances to the centres.
    pub inertia: f64,
}

/// Passes over the rows of a training: features, and a target if there is one. `shift` and `scale` have an entry for
/// each feature and then for the target. A pass sees `(value - shift) * scale`.
///
/// # Errors
/// All: if the device fails or has too little memory ([`Error::host_needed`]).
pub trait DevicePasses: Send + Sync {
    /// Statistics of the features, then of the target.
    fn statistics(&self) -> Result<Vec<ColumnStatistics>, Error>;

    /// Sums of products of the features, a column of ones, and the target: a symmetric matrix.
    fn products(&self, shift: &[f64], scale: &[f64]) -> Result<Vec<f64>, Error>;

    /// The residuals of the target for these coefficients and an intercept of 0.
    fn residuals(&self, shift: &[f64], scale: &[f64], coef: &[f64]) -> Result<PassSums, Error>;

    /// The logistic loss of a target of 0 and 1, each row with the weight `share`. The last parameter is the intercept.
    fn logistic(&self, shift: &[f64], scale: &[f64], params: &[f64], share: f64) -> Result<PassSums, Error>;

    /// Starts a k-means: no row has a centre.
    fn begin_clusters(&self, shift: &[f64]) -> Result<(), Error>;

    /// The shifted features of some rows, row after row.
    fn rows_at(&self, rows: &[usize]) -> Result<Vec<f64>, Error>;

    /// Squared distances to some points, or to the nearest kept point if that is nearer. The result has a sum for each
    /// chunk of rows and each point, chunk after chunk. `keep`: adds the single point to the kept points.
    fn nearer(&self, points: &[f64], keep: bool) -> Result<Vec<f64>, Error>;

    /// Rows of a chunk of [`DevicePasses::nearer`].
    fn chunk_rows(&self) -> usize;

    /// Squared distances of a chunk of rows to the nearest point that was kept.
    fn closest(&self, chunk: usize) -> Result<Vec<f64>, Error>;

    /// Finds the nearest centre of each row, the lower one on ties.
    fn assign(&self, centers: &[f64]) -> Result<ClusterSums, Error>;

    /// The centre of each row after [`DevicePasses::assign`].
    fn labels(&self) -> Result<Vec<u32>, Error>;
}

/// The largest trainings that the kernels of a device take.
#[derive(Clone, Copy, Debug)]
pub struct DeviceLimits {
    /// Features.
    pub features: usize,
    /// `n_clusters` times features.
    pub centers: usize,
}

/// The columns of a training on a device.
#[derive(Clone)]
pub struct DeviceRows(pub Arc<dyn DevicePasses>);

impl fmt::Debug for DeviceRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeviceRows")
    }
}

impl PartialEq for DeviceRows {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Statistics of all columns, if every value is a finite number.
pub(crate) fn statistics(device: &DeviceRows) -> Result<Vec<ColumnStatistics>, Error> {
    let found = device.0.statistics()?;
    match found.iter().all(|column| column.not_finite == 0 && column.sum.is_finite()) {
        true => Ok(found),
        false => Err(Error::host_needed("a value is not a finite number")),
    }
}

/// The mean of a column of `rows` rows.
pub(crate) fn mean(column: &ColumnStatistics, rows: usize) -> f64 {
    match column.low == column.high {
        true => column.low,
        false => (column.sum / rows as f64).clamp(column.low, column.high),
    }
}

/// Sums of products of some columns of a device, and of a column of ones as the last one. `places` are positions among
/// the features and then the target.
pub(crate) fn products(
    device: &DeviceRows,
    features: usize,
    places: &[usize],
    shift: &[f64],
    scale: &[f64],
) -> Result<Matrix, Error> {
    let (shift, scale) = (spread(shift, places, features), spread(scale, places, features));
    let all = device.0.products(&shift, &scale)?;
    let width = all.len().isqrt();
    // On the device the column of ones stands between the features and the target.
    let place = |j: usize| places.get(j).map_or(features, |p| p + usize::from(*p >= features));
    let size = places.len() + 1;
    let mut out = Matrix::zeros(size, size);
    for j in 0..size {
        (0..size).for_each(|i| out.set(i, j, all[place(j) * width + place(i)]));
    }
    Ok(out)
}

/// Scatters values of some columns into a vector for all columns, filled with 0.
pub(crate) fn spread(values: &[f64], places: &[usize], features: usize) -> Vec<f64> {
    let mut all = vec![0.0; features + 1];
    places.iter().zip(values).for_each(|(place, value)| all[*place] = *value);
    all
}
