//! Mean shift with a flat kernel (Comaniciu and Meer, PAMI 2002), as in `sklearn/cluster/_mean_shift.py`.

use std::collections::HashMap;

use super::kmeans::KMeans;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::Model;
use crate::neighbors::search::{Index, Metric, NeighborSearch};
use crate::neighbors::tile;
use crate::params;
use crate::run::Run;
use crate::tensor::Tensor;

/// The share of the rows whose distance is the bandwidth, if none is given.
const QUANTILE: f64 = 0.3;

/// Movement at which a seed stands still, relative to the bandwidth.
const STILL: f64 = 1e-3;

/// A point that moves to the mean of the rows near it.
struct Seed {
    place: Vec<f64>,
    /// Rows within the bandwidth.
    count: usize,
    moves: usize,
    rests: bool,
}

/// Trains `MeanShift`.
///
/// # Errors
/// If the bandwidth is 0, or no row lies near a seed. If the user stops the work.
pub fn fit(params: &params::MeanShift, data: &Data, run: &Run<'_>) -> Result<KMeans, Error> {
    let width = data.width();
    if data.rows >= u32::MAX as usize {
        let message = format!("{} rows: MeanShift takes at most {}", data.rows, u32::MAX - 1);
        return Err(Error::new(ErrorKind::Size, message));
    }
    let points = data.row_major();
    let index = Index::new(Metric::Euclidean, &points, width);
    run.stage("bandwidth");
    let bandwidth = match params.bandwidth {
        Some(bandwidth) => bandwidth,
        None => {
            let count = ((data.rows as f64 * QUANTILE) as usize).max(1);
            let last = |list: Vec<(f64, u32)>| Ok(list.last().map_or(0.0, |(distance, _)| *distance));
            let queries = index.prepared(points.clone());
            let reaches = index.search(&queries, NeighborSearch::Count(count), run, last)?;
            reaches.iter().sum::<f64>() / data.rows as f64
        }
    };
    if bandwidth.is_nan() || bandwidth <= 0.0 {
        let message = "the bandwidth is 0: most rows are equal to each other";
        return Err(Error::new(ErrorKind::Constant, message).help("set `bandwidth` to a number above 0"));
    }
    let places = match params.bin_seeding {
        true => binned(&points, width, bandwidth, params.min_bin_freq),
        false => points.clone(),
    };
    let seed = |place: &[f64]| Seed { place: place.to_vec(), count: 0, moves: 0, rests: false };
    let mut seeds: Vec<Seed> = places.chunks_exact(width).map(seed).collect();
    shift(&mut seeds, &index, &points, bandwidth, params.max_iter, run)?;
    let n_iter = seeds.iter().map(|seed| seed.moves).max().unwrap_or(0);
    let centers = distinct(seeds, bandwidth);
    if centers.is_empty() {
        let message = format!("no row is within the bandwidth {bandwidth} of a seed");
        return Err(Error::new(ErrorKind::Parameter, message).help("set `bandwidth` to a larger number"));
    }
    let mut model = KMeans {
        notes: vec![format!("{} clusters with the bandwidth {bandwidth}", centers.len())],
        centers: Tensor::new(vec![centers.len(), width], centers.concat()),
        labels: Tensor::default(),
        inertia: 0.0,
        n_iter: n_iter as u64,
    };
    let mut labels = model.apply(data, &[0])?.remove(0);
    if !params.cluster_all {
        for (label, point) in labels.iter_mut().zip(points.chunks_exact(width)) {
            let distance = tile::distance(point, model.centers.row(*label as usize)).sqrt();
            *label = if distance <= bandwidth { *label } else { -1.0 };
        }
    }
    model.labels = Tensor::vector(labels);
    Ok(model)
}

/// The centres of the cells of a grid that hold enough rows. All rows if each is alone.
fn binned(points: &[f64], width: usize, bandwidth: f64, least: usize) -> Vec<f64> {
    let mut cells: HashMap<Vec<i64>, usize> = HashMap::new();
    let mut order = Vec::new();
    for point in points.chunks_exact(width) {
        let cell: Vec<i64> = point.iter().map(|v| (v / bandwidth).round_ties_even() as i64).collect();
        let count = cells.entry(cell.clone()).or_insert(0);
        if *count == 0 {
            order.push(cell);
        }
        *count += 1;
    }
    order.retain(|cell| cells[cell] >= least);
    if order.len() == points.len() / width {
        return points.to_vec();
    }
    order.iter().flatten().map(|place| *place as f64 * bandwidth).collect()
}

/// Moves all seeds until they stand still.
fn shift(
    seeds: &mut [Seed],
    index: &Index,
    points: &[f64],
    bandwidth: f64,
    max_iter: usize,
    run: &Run<'_>,
) -> Result<(), Error> {
    let width = points.len() / index.rows();
    loop {
        let moving: Vec<usize> = (0..seeds.len()).filter(|seed| !seeds[*seed].rests).collect();
        if moving.is_empty() {
            return Ok(());
        }
        run.stage(format!("{} of {} seeds move", moving.len(), seeds.len()));
        (run.steps)((seeds.len() - moving.len()) as u64, seeds.len() as u64);
        let queries = index.prepared(moving.iter().flat_map(|seed| seeds[*seed].place.clone()).collect());
        let mean = |list: Vec<(f64, u32)>| {
            let mut mean = vec![0.0; width];
            for (_, row) in &list {
                let point = &points[*row as usize * width..(*row as usize + 1) * width];
                mean.iter_mut().zip(point).for_each(|(sum, v)| *sum += v);
            }
            mean.iter_mut().for_each(|sum| *sum /= list.len() as f64);
            Ok((mean, list.len()))
        };
        let means = index.search(&queries, NeighborSearch::Radius(bandwidth), run, mean)?;
        for (number, (mean, count)) in moving.into_iter().zip(means) {
            let seed = &mut seeds[number];
            seed.count = count;
            if count == 0 {
                seed.rests = true;
                continue;
            }
            let moved = tile::distance(&mean, &seed.place).sqrt();
            seed.place = mean;
            seed.rests = moved <= STILL * bandwidth || seed.moves == max_iter;
            seed.moves += usize::from(!seed.rests);
        }
    }
}

/// The places of the seeds, without those that lie near one with more rows.
fn distinct(mut seeds: Vec<Seed>, bandwidth: f64) -> Vec<Vec<f64>> {
    seeds.retain(|seed| seed.count > 0);
    let before = |a: &[f64], b: &[f64]| {
        let different = a.iter().zip(b).map(|(a, b)| b.total_cmp(a)).find(|order| order.is_ne());
        different.unwrap_or(std::cmp::Ordering::Equal)
    };
    seeds.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| before(&a.place, &b.place)));
    let mut centers: Vec<Vec<f64>> = Vec::new();
    for seed in seeds {
        let is_near = |center: &Vec<f64>| tile::distance(center, &seed.place).sqrt() <= bandwidth;
        if !centers.iter().any(is_near) {
            centers.push(seed.place);
        }
    }
    centers
}
