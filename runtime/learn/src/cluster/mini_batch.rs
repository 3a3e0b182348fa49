//! k-means on small batches of rows (Sculley, WWW 2010), with the rules of scikit-learn's `MiniBatchKMeans` for its end
//! and for clusters that few rows reach. The random numbers are others.

use onrush_wire::learn::Param;
use rayon::prelude::*;

use super::kmeans::{self, KMeans};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::Model;
use crate::neighbors::tile;
use crate::params;
use crate::random::Mt19937;
use crate::run::Run;
use crate::sums;
use crate::tensor::Tensor;

/// Rows of a chunk of one thread.
const CHUNK: usize = 256;

/// Trains `MiniBatchKMeans`.
///
/// # Errors
/// If there are fewer rows than clusters, or the first centres do not fit. If the user stops the work.
pub fn fit(params: &params::MiniBatchKMeans, data: &Data, run: &Run<'_>) -> Result<KMeans, Error> {
    let (clusters, rows, width) = (params.n_clusters, data.rows, data.width());
    if rows < clusters {
        let message =
            format!("`n_clusters` is {clusters}, and there are {rows} rows: at least as many rows as clusters");
        return Err(Error::new(ErrorKind::Parameter, message).help(format!("set `n_clusters` to at most {rows}")));
    }
    if data.weight.as_ref().is_some_and(|w| w.iter().sum::<f64>() <= 0.0) {
        return Err(Error::new(ErrorKind::Weight, "all sample weights are 0: at least one must be above 0"));
    }
    let mut random = Mt19937::new(params::seed(params.random_state));
    let mut batches = Batches {
        points: data.row_major(),
        width,
        weight: data.weight.clone(),
        centers: Vec::new(),
        weights: vec![0.0; clusters],
        since: 0,
    };
    let batch = params.batch_size.min(rows);
    let sample = params.init_size.unwrap_or(3 * batch).max(3 * clusters).min(rows);
    run.stage("first centres");
    batches.centers = batches.first(params, data, sample, &mut random, run)?;
    let steps = (params.max_iter * rows / batch).max(1);
    let variance = data.features.par_iter().map(|c| variance(&c.values)).collect::<Vec<f64>>();
    let tol = params.tol * variance.iter().sum::<f64>() / width as f64;
    let mut end = End { tol, patience: params.max_no_improvement, mean: None, least: f64::INFINITY, without: 0 };
    let mut done = 0;
    while done < steps {
        run.check(|| format!("{done} of at most {steps} batches"))?;
        (run.steps)(done as u64, steps as u64);
        let chosen: Vec<usize> = (0..batch).map(|_| random.randint(0, rows as u64) as usize).collect();
        let ratio = params.reassignment_ratio;
        let (inertia, moved) = batches.step(&chosen, ratio, &mut random);
        done += 1;
        if done > 1 && end.is_reached(inertia / batch as f64, moved, 2.0 * batch as f64 / (rows as f64 + 1.0)) {
            break;
        }
    }
    run.stage("labels");
    let centers = batches.centers;
    if centers.iter().any(|c| !c.is_finite()) {
        let message = "the centres are not finite numbers: the values are too large";
        return Err(
            Error::new(ErrorKind::Overflow, message).help("scale the features, for example with `StandardScaler`")
        );
    }
    let mut model = KMeans {
        centers: Tensor::new(vec![clusters, width], centers),
        labels: Tensor::default(),
        inertia: 0.0,
        n_iter: (done * batch).div_ceil(rows) as u64,
        notes: vec![format!("{done} batches of {batch} rows")],
    };
    let labels = model.apply(data, &[0])?.remove(0);
    let distance = |row: usize| {
        let center = model.centers.row(labels[row] as usize);
        tile::distance(&batches.points[row * width..(row + 1) * width], center) * data.weight_of(row)
    };
    let inertia = sums::over_rows(rows, |range| range.map(distance).sum::<f64>(), |a, b| a + b).unwrap_or(0.0);
    model.inertia = inertia;
    model.labels = Tensor::vector(labels);
    Ok(model)
}

fn variance(values: &[f64]) -> f64 {
    let mean = sums::mean(values, None);
    values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / values.len() as f64
}

/// The rule for the end of a training.
struct End {
    tol: f64,
    /// Batches without a smaller inertia.
    patience: usize,
    /// The exponentially weighted mean of the inertia.
    mean: Option<f64>,
    least: f64,
    without: usize,
}

impl End {
    fn is_reached(&mut self, inertia: f64, moved: f64, alpha: f64) -> bool {
        let alpha = alpha.min(1.0);
        let mean = self.mean.map_or(inertia, |mean| mean * (1.0 - alpha) + inertia * alpha);
        self.mean = Some(mean);
        if self.tol > 0.0 && moved <= self.tol {
            return true;
        }
        if mean < self.least {
            (self.least, self.without) = (mean, 0);
        } else {
            self.without += 1;
        }
        self.without >= self.patience
    }
}

struct Batches {
    /// Row after row.
    points: Vec<f64>,
    width: usize,
    weight: Option<Vec<f64>>,
    /// clusters x features.
    centers: Vec<f64>,
    /// The weight of the rows that each centre has seen.
    weights: Vec<f64>,
    /// Rows since the last look at clusters that few rows reach.
    since: usize,
}

impl Batches {
    fn row(&self, row: usize) -> &[f64] {
        &self.points[row * self.width..(row + 1) * self.width]
    }

    fn weight(&self, row: usize) -> f64 {
        self.weight.as_ref().map_or(1.0, |w| w[row])
    }

    /// The nearest centre of each row and the squared distance.
    fn nearest(&self, rows: &[usize], centers: &[f64]) -> Vec<(usize, f64)> {
        let of = |row: &usize| {
            let distances = centers.chunks_exact(self.width).map(|center| tile::distance(self.row(*row), center));
            let less = |a: (usize, f64), b: (usize, f64)| if b.1 < a.1 { b } else { a };
            distances.enumerate().reduce(less).unwrap_or((0, 0.0))
        };
        rows.par_chunks(CHUNK).flat_map_iter(|chunk| chunk.iter().map(of)).collect()
    }

    /// The first centres: the best ones of several samples.
    fn first(
        &self,
        params: &params::MiniBatchKMeans,
        data: &Data,
        sample: usize,
        random: &mut Mt19937,
        run: &Run<'_>,
    ) -> Result<Vec<f64>, Error> {
        let clusters = params.n_clusters;
        let by_rows = match &params.init {
            Param::Str(word) if word == "k-means++" => false,
            Param::Str(word) if word == "random" => true,
            Param::List(_) => {
                let values = params::floats(&params.init).unwrap_or_default();
                let wanted = clusters * self.width;
                if values.len() == wanted && values.iter().all(|v| v.is_finite()) {
                    return Ok(values);
                }
                let message = format!("`init` has {} numbers: expected {wanted} finite ones", values.len());
                return Err(Error::new(ErrorKind::Parameter, message));
            }
            other => {
                let message = format!("`init` is {other}: \"k-means++\", \"random\" or a list of centres");
                return Err(Error::new(ErrorKind::Parameter, message));
            }
        };
        let trials = match (&params.n_init, params::count(&params.n_init)) {
            (Param::Str(word), _) if word == "auto" => {
                if by_rows {
                    3
                } else {
                    1
                }
            }
            (_, Some(count)) if count > 0 => count,
            (other, _) => {
                let message = format!("`n_init` is {other}: \"auto\" or an integer from 1");
                return Err(Error::new(ErrorKind::Parameter, message));
            }
        };
        let check: Vec<usize> = (0..sample).map(|_| random.randint(0, data.rows as u64) as usize).collect();
        let mut best: Option<(f64, Vec<f64>)> = None;
        for _ in 0..trials {
            run.check(|| "the first centres".to_string())?;
            let rows = random.choice(data.rows, sample);
            let picked = match by_rows {
                true => rows[..clusters].to_vec(),
                false => {
                    let found = kmeans::first_rows(&data.take(&rows), clusters, random, run)?;
                    found.into_iter().map(|row| rows[row]).collect()
                }
            };
            let centers: Vec<f64> = picked.iter().flat_map(|row| self.row(*row).iter().copied()).collect();
            let near = self.nearest(&check, &centers);
            let inertia = near.iter().zip(&check).map(|((_, d), row)| d * self.weight(*row)).sum::<f64>();
            if best.as_ref().is_none_or(|best| inertia < best.0) {
                best = Some((inertia, centers));
            }
        }
        Ok(best.map(|(_, centers)| centers).unwrap_or_default())
    }

    /// Moves the centres to the rows of a batch: the inertia of the batch, and the squared movement.
    fn step(&mut self, rows: &[usize], ratio: f64, random: &mut Mt19937) -> (f64, f64) {
        let near = self.nearest(rows, &self.centers);
        let before = self.centers.clone();
        let (clusters, width) = (self.weights.len(), self.width);
        let mut sums = vec![0.0; self.centers.len()];
        let mut weights = vec![0.0; clusters];
        let mut inertia = 0.0;
        for (row, (cluster, distance)) in rows.iter().zip(&near) {
            let weight = self.weight(*row);
            inertia += weight * distance;
            weights[*cluster] += weight;
            let sums = &mut sums[cluster * width..(cluster + 1) * width];
            sums.iter_mut().zip(self.row(*row)).for_each(|(sum, v)| *sum += weight * v);
        }
        for cluster in (0..clusters).filter(|cluster| weights[*cluster] > 0.0) {
            let total = self.weights[cluster] + weights[cluster];
            let range = cluster * width..(cluster + 1) * width;
            let values = self.centers[range.clone()].iter_mut().zip(&sums[range]);
            values.for_each(|(center, sum)| *center = (*center * self.weights[cluster] + sum) / total);
            self.weights[cluster] = total;
        }
        self.since += rows.len();
        if self.weights.contains(&0.0) || self.since >= 10 * clusters {
            self.since = 0;
            self.reassign(rows, ratio, random);
        }
        (inertia, tile::distance(&before, &self.centers))
    }

    /// Moves centres that few rows reach to random rows of the batch.
    fn reassign(&mut self, rows: &[usize], ratio: f64, random: &mut Mt19937) {
        let largest = self.weights.iter().copied().fold(0.0, f64::max);
        let mut few: Vec<usize> =
            (0..self.weights.len()).filter(|cluster| self.weights[*cluster] < ratio * largest).collect();
        few.sort_by(|a, b| self.weights[*a].total_cmp(&self.weights[*b]));
        few.truncate(rows.len() / 2);
        let others = (0..self.weights.len()).filter(|cluster| !few.contains(cluster));
        let least = others.map(|cluster| self.weights[cluster]).fold(f64::INFINITY, f64::min);
        for (cluster, row) in few.iter().zip(random.choice(rows.len(), few.len())) {
            let point = self.row(rows[row]).to_vec();
            self.centers[cluster * self.width..(cluster + 1) * self.width].copy_from_slice(&point);
            self.weights[*cluster] = least;
        }
    }
}
