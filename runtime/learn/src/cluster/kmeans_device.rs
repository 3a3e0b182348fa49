//! k-means whose rows are on a device: the same iterations and first centres, with sums that the device adds up.

use super::kmeans::{Init, Training, distinct_rows};
use crate::device::{DevicePasses, DeviceRows};
use crate::error::Error;
use crate::random::Mt19937;
use crate::run::Run;

/// Rows on a device, minus the mean of each feature.
pub struct ClusterRows<'a> {
    device: &'a dyn DevicePasses,
    rows: usize,
    mean: &'a [f64],
}

impl<'a> ClusterRows<'a> {
    /// # Errors
    /// If the device fails.
    pub fn new(device: &'a DeviceRows, rows: usize, mean: &'a [f64]) -> Result<Self, Error> {
        device.0.begin_clusters(mean)?;
        Ok(ClusterRows { device: device.0.as_ref(), rows, mean })
    }

    /// The mean of the squared values: the mean variance of the features, because their means are 0.
    ///
    /// # Errors
    /// If the device fails.
    pub fn mean_square(&self) -> Result<f64, Error> {
        let width = self.mean.len();
        Ok(self.device.assign(&vec![0.0; width])?.inertia / (self.rows * width) as f64)
    }

    /// # Errors
    /// If the device fails, or the user stops the work.
    pub fn centers(
        &self,
        init: &Init,
        clusters: usize,
        random: &mut Mt19937,
        run: &Run<'_>,
    ) -> Result<Vec<f64>, Error> {
        // Distances of an earlier training are forgotten.
        self.device.begin_clusters(self.mean)?;
        let picked = match init {
            Init::Centers(values) => return Ok(init_minus(values, self.mean)),
            Init::PlusPlus => self.plus_plus(clusters, random, run)?,
            Init::Random => distinct_rows(vec![1.0; self.rows], clusters, random)?,
        };
        self.device.rows_at(&picked)
    }

    /// Greedy k-means++, as on the host. The device gives sums over chunks of rows, and the distances of the chunks in
    /// which a draw falls.
    fn plus_plus(&self, clusters: usize, random: &mut Mt19937, run: &Run<'_>) -> Result<Vec<usize>, Error> {
        let trials = 2 + (clusters as f64).ln() as usize;
        let mut picked = vec![first_row(random.uniform(), self.rows)];
        let point = |row: usize| self.device.rows_at(&[row]);
        let mut chunks = self.device.nearer(&point(picked[0])?, true)?;
        while picked.len() < clusters {
            run.check(|| format!("{} of {clusters} first centres", picked.len()))?;
            let mut total = 0.0;
            let before: Vec<f64> = chunks
                .iter()
                .map(|chunk| {
                    total += chunk;
                    total
                })
                .collect();
            let draws = (0..trials).map(|_| random.uniform() * total).collect::<Vec<f64>>();
            let candidates = draws.iter().map(|draw| self.row_of(&before, *draw)).collect::<Result<Vec<_>, _>>()?;
            let points = self.device.rows_at(&candidates)?;
            let found = self.device.nearer(&points, false)?;
            let mut potential = vec![0.0; trials];
            found.chunks_exact(trials).for_each(|chunk| potential.iter_mut().zip(chunk).for_each(|(p, v)| *p += v));
            let winner = (0..trials).fold(0, |a, b| if potential[b] < potential[a] { b } else { a });
            picked.push(candidates[winner]);
            let width = self.mean.len();
            chunks = self.device.nearer(&points[winner * width..(winner + 1) * width], true)?;
        }
        Ok(picked)
    }

    /// The first row up to which the distances sum to `draw`. `before`: the sums up to the end of each chunk.
    fn row_of(&self, before: &[f64], draw: f64) -> Result<usize, Error> {
        let chunk = before.partition_point(|sum| *sum < draw).min(before.len() - 1);
        let distances = self.device.closest(chunk)?;
        let mut sum = if chunk == 0 { 0.0 } else { before[chunk - 1] };
        let within = distances.iter().position(|distance| {
            sum += distance;
            sum >= draw
        });
        Ok(chunk * self.device.chunk_rows() + within.unwrap_or(distances.len() - 1))
    }

    /// # Errors
    /// If a cluster loses all its rows, which the host relocates; if the device fails, or the user stops the work.
    pub fn training(&self, first: Vec<f64>, max_iter: u64, tol: f64, run: &Run<'_>) -> Result<Training, Error> {
        let width = self.mean.len();
        let mut centers = first;
        let (mut n_iter, mut converged) = (0, false);
        while n_iter < max_iter && !converged {
            run.check(|| format!("{n_iter} of at most {max_iter} iterations"))?;
            n_iter += 1;
            let found = self.device.assign(&centers)?;
            run.stage(format!("iteration {n_iter}, {} rows changed their cluster", found.changed));
            if found.counts.contains(&0) {
                return Err(Error::host_needed("a cluster has no rows"));
            }
            let mut new = found.sums;
            for (center, count) in new.chunks_exact_mut(width).zip(&found.counts) {
                center.iter_mut().for_each(|c| *c *= 1.0 / *count as f64);
            }
            let moved: f64 = centers.iter().zip(&new).map(|(a, b)| (a - b) * (a - b)).sum();
            centers = new;
            converged = found.changed == 0 || moved <= tol;
        }
        let inertia = self.device.assign(&centers)?.inertia;
        Ok(Training { centers, labels: self.device.labels()?, inertia, n_iter, converged })
    }
}

/// The first row up to which a share of all rows above `draw` lies: what a search in the shares finds.
fn first_row(draw: f64, rows: usize) -> usize {
    let share = |row: usize| (row + 1) as f64 / rows as f64;
    let mut row = ((draw * rows as f64) as usize).min(rows - 1);
    while row > 0 && share(row - 1) > draw {
        row -= 1;
    }
    while row + 1 < rows && share(row) <= draw {
        row += 1;
    }
    row
}

fn init_minus(values: &[f64], mean: &[f64]) -> Vec<f64> {
    values.iter().enumerate().map(|(i, v)| v - mean[i % mean.len()]).collect()
}
