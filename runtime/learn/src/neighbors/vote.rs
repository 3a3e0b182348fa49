//! Models that look at the nearest rows of their training: `NearestNeighbors`, `KNeighborsClassifier`,
//! `KNeighborsRegressor`.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use serde::{Deserialize, Serialize};

use super::search::{Metric, NeighborSearch, Neighbors, Points};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role};
use crate::params;
use crate::run::Run;
use crate::tensor::Tensor;

/// Pairs that a search returns at most: about 3 GB.
const PAIRS: usize = 1 << 27;

/// An index of rows.
#[derive(Serialize, Deserialize)]
pub struct Nearest {
    pub points: Points,
    pub n_neighbors: usize,
    #[serde(with = "crate::tensor::scalar")]
    pub radius: f64,
}

/// Votes or means of the nearest rows.
#[derive(Serialize, Deserialize)]
pub struct Vote {
    pub points: Points,
    pub n_neighbors: usize,
    /// Whether neighbours weigh 1 / distance.
    pub by_distance: bool,
    /// For each row of the training its class as a position, or its value.
    pub y: Tensor,
    /// The number of classes. 0 for a regressor.
    pub classes: usize,
}

/// Trains `NearestNeighbors`.
///
/// # Errors
/// If there are too many rows.
pub fn index(params: &params::NearestNeighbors, data: &Data) -> Result<Nearest, Error> {
    let metric = Metric::of(&params.metric, params.p);
    let points = Points::new(metric, "NearestNeighbors", data)?;
    Ok(Nearest { points, n_neighbors: params.n_neighbors, radius: params.radius })
}

params::shared! {
    /// Parameters of the votes.
    pub struct VoteParams of [KNeighborsClassifier KNeighborsRegressor] {
        n_neighbors: usize,
        weights: String,
        metric: String,
        p: f64,
    }
}

/// Trains `KNeighborsClassifier` or `KNeighborsRegressor`, which `estimator` names.
///
/// # Errors
/// If there are fewer rows than neighbours, or too many rows.
pub fn fit(params: &VoteParams, estimator: &str, data: &Data) -> Result<Vote, Error> {
    enough(params.n_neighbors, data.rows)?;
    Ok(Vote {
        points: Points::new(Metric::of(&params.metric, params.p), estimator, data)?,
        n_neighbors: params.n_neighbors,
        by_distance: params.weights == "distance",
        y: Tensor::vector(data.y.clone()),
        classes: data.classes.len(),
    })
}

fn enough(n_neighbors: usize, rows: usize) -> Result<(), Error> {
    if (1..=rows).contains(&n_neighbors) {
        return Ok(());
    }
    let message =
        format!("`n_neighbors` is {n_neighbors}: at least 1 and at most {rows}, the number of rows of the training");
    Err(Error::new(ErrorKind::Parameter, message))
}

/// The nearest rows of `points` for each row of `data`: `n_neighbors` of them, or all within `radius`. If both are
/// `None`, `default` of them.
///
/// # Errors
/// If there are fewer rows than neighbours or more than 2^27 pairs, or if the user stops the search.
pub fn neighbors(
    points: &Points,
    default: usize,
    data: &Data,
    n_neighbors: Option<usize>,
    radius: Option<f64>,
    run: &Run<'_>,
) -> Result<Neighbors, Error> {
    let search = match (n_neighbors, radius) {
        (Some(_), Some(_)) => {
            return Err(Error::new(ErrorKind::Parameter, "`n_neighbors` and `radius` are both set: one of them"));
        }
        (_, Some(radius)) if radius.is_nan() || radius < 0.0 => {
            return Err(Error::new(ErrorKind::Parameter, format!("`radius` is {radius}: at least 0")));
        }
        (_, Some(radius)) => NeighborSearch::Radius(radius),
        (count, None) => {
            let count = count.unwrap_or(default);
            enough(count, points.rows())?;
            NeighborSearch::Count(count)
        }
    };
    let too_many = || {
        let message = format!("the search finds more than {PAIRS} pairs of rows");
        Error::new(ErrorKind::Size, message)
            .help("take a smaller `radius` or `n_neighbors`, or search for fewer rows at once")
    };
    if matches!(search, NeighborSearch::Count(count) if count.saturating_mul(data.rows) > PAIRS) {
        return Err(too_many());
    }
    let total = AtomicUsize::new(0);
    let lists = points.search(data, search, run, |hits| {
        let before = total.fetch_add(hits.len(), Relaxed);
        if before + hits.len() > PAIRS { Err(too_many()) } else { Ok(hits) }
    })?;
    let mut found = Neighbors::default();
    for (row, hits) in lists.into_iter().enumerate() {
        for (distance, neighbor) in hits {
            found.rows.push(row);
            found.neighbors.push(neighbor as usize);
            found.distances.push(distance);
        }
    }
    Ok(found)
}

impl Model for Nearest {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        Vec::new()
    }

    fn apply(&self, _: &Data, _: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        Ok(Vec::new())
    }

    fn attribute(&self, _: &str, _: &[Field], _: &[String]) -> Option<Attribute> {
        None
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        self.points.check(features)
    }

    fn bytes(&self) -> u64 {
        self.points.points.bytes()
    }
}

impl Vote {
    /// The neighbours with their weights: 1, or 1 / distance. If some are at distance 0, only they count.
    fn weights(&self, hits: &[(f64, u32)]) -> Vec<f64> {
        if !self.by_distance {
            return vec![1.0; hits.len()];
        }
        let inverse: Vec<f64> = hits.iter().map(|hit| 1.0 / hit.0).collect();
        if inverse.iter().any(|w| w.is_infinite()) {
            return inverse.iter().map(|w| f64::from(u8::from(w.is_infinite()))).collect();
        }
        if inverse.iter().all(|w| *w == 0.0) {
            return vec![1.0; hits.len()];
        }
        inverse
    }

    /// The outputs of one row: the class and the probability of each class, or the value.
    fn outputs_of(&self, hits: &[(f64, u32)]) -> Vec<f64> {
        let weights = self.weights(hits);
        let y = |hit: &(f64, u32)| self.y.data[hit.1 as usize];
        let total: f64 = weights.iter().sum();
        if self.classes == 0 {
            return vec![hits.iter().zip(&weights).map(|(hit, w)| y(hit) * w).sum::<f64>() / total];
        }
        let mut votes = vec![0.0; self.classes + 1];
        hits.iter().zip(&weights).for_each(|(hit, w)| votes[1 + y(hit) as usize] += w);
        let best = (0..self.classes).fold(0, |a, b| if votes[1 + b] > votes[1 + a] { b } else { a });
        let total: f64 = votes.iter().sum();
        votes.iter_mut().for_each(|v| *v /= total);
        votes[0] = best as f64;
        votes
    }
}

impl Model for Vote {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        std::iter::once(Role::Prediction).chain((0..self.classes).map(Role::Proba)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let search = NeighborSearch::Count(self.n_neighbors);
        let outputs: Vec<Vec<f64>> = self.points.search(data, search, &Run::silent(), |hits| {
            let row = self.outputs_of(&hits);
            Ok(wanted.iter().map(|output| row[*output]).collect())
        })?;
        Ok((0..wanted.len()).map(|k| outputs.iter().map(|row| row[k]).collect()).collect())
    }

    fn attribute(&self, _: &str, _: &[Field], _: &[String]) -> Option<Attribute> {
        None
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        self.points.check(features)?;
        let rows = self.points.rows();
        let wrong = |what: String| Err(Error::new(ErrorKind::ModelFile, what));
        if self.n_neighbors == 0 || self.n_neighbors > rows {
            return wrong(format!("{} neighbours of {rows} rows", self.n_neighbors));
        }
        if self.y.data.len() != rows || self.classes != classes {
            return wrong(format!("{} targets of {} classes for {rows} rows", self.y.data.len(), self.classes));
        }
        match self.y.data.iter().find(|y| self.classes > 0 && !(**y >= 0.0 && **y < self.classes as f64)) {
            Some(y) => wrong(format!("the class {y} of {}", self.classes)),
            None => Ok(()),
        }
    }

    fn bytes(&self) -> u64 {
        self.points.points.bytes() + self.y.bytes()
    }
}
