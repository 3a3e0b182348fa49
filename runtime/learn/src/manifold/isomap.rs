//! Isomap (Tenenbaum, de Silva and Langford, Science 2000): eigenvectors of the shortest paths along near rows, as in
//! `sklearn/manifold/_isomap.py`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use onrush_dense::{self as dense, Matrix};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::embedded::{check_rows, flipped, frame};
use crate::data::{Data, Kind};
use crate::decomposition::linear_map::row_major;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::neighbors::search::{Index, Metric, NeighborSearch};
use crate::params;
use crate::run::Run;
use crate::tensor::Tensor;

/// The places of the training rows, and their paths for other rows.
#[derive(Serialize, Deserialize)]
pub struct Isomap {
    pub metric: Metric,
    /// Number of near rows, or none for a radius.
    pub n_neighbors: Option<usize>,
    #[serde(with = "crate::tensor::scalar")]
    pub radius: Option<f64>,
    /// rows x features.
    pub points: Tensor,
    /// rows x rows: the lengths of the shortest paths.
    pub paths: Tensor,
    /// rows x components.
    pub embedding: Tensor,
    pub eigenvalues: Tensor,
    #[serde(with = "crate::tensor::scalar")]
    pub reconstruction_error: f64,
    pub notes: Vec<String>,
}

/// For each row its near rows with their distances.
type Graph = Vec<Vec<(usize, f64)>>;

/// Trains `Isomap`.
///
/// # Errors
/// If there are too many rows, or too few for the components and neighbours. If the user stops the work.
pub fn fit(params: &params::Isomap, data: &Data, run: &Run<'_>) -> Result<Isomap, Error> {
    let (n, width) = (data.rows, data.width());
    check_rows("Isomap", n)?;
    let wrong = |message: String| Err(Error::new(ErrorKind::Parameter, message));
    let n_neighbors = match (params::count(&params.n_neighbors), params.radius) {
        (Some(_), Some(_)) if params.n_neighbors != 5i64.into() => {
            return wrong("`n_neighbors` and `radius` are set: one of them".to_string());
        }
        (_, Some(_)) => None,
        (Some(count), None) if count > 0 && count < n => Some(count),
        (found, None) => {
            let found = found.map_or_else(|| params.n_neighbors.to_string(), |count| count.to_string());
            return wrong(format!("`n_neighbors` is {found}: from 1 to {}, the number of rows minus 1", n - 1));
        }
    };
    if params.n_components > n {
        return wrong(format!("`n_components` is {}, and there are {n} rows", params.n_components));
    }
    let metric = Metric::of(&params.metric, params.p);
    let points = Tensor::new(vec![n, width], data.row_major());
    let mut model = Isomap {
        metric,
        n_neighbors,
        radius: params.radius,
        points,
        paths: Tensor::default(),
        embedding: Tensor::default(),
        eigenvalues: Tensor::default(),
        reconstruction_error: 0.0,
        notes: Vec::new(),
    };
    let mut graph = model.graph(run)?;
    let parts = model.connect(&mut graph);
    if parts > 1 {
        model.notes.push(format!("the graph of near rows has {parts} parts, which are joined: raise `n_neighbors`"));
    }
    run.stage("shortest paths");
    let rows: Vec<Vec<f64>> = (0..n)
        .into_par_iter()
        .map(|row| {
            run.check(|| "some shortest paths".to_string())?;
            Ok(shortest(&graph, row))
        })
        .collect::<Result<_, Error>>()?;
    model.paths = Tensor::new(vec![n, n], rows.concat());
    run.stage("eigenvectors");
    model.embed(params.n_components)?;
    Ok(model)
}

impl Isomap {
    fn search(&self) -> (NeighborSearch, usize) {
        match (self.n_neighbors, self.radius) {
            (Some(count), _) => (NeighborSearch::Count(count), count),
            (None, radius) => (NeighborSearch::Radius(radius.unwrap_or(0.0)), usize::MAX),
        }
    }

    /// The near rows of the training rows, in both directions.
    fn graph(&self, run: &Run<'_>) -> Result<Graph, Error> {
        let index = Index::new(self.metric, &self.points.data, self.points.shape[1]);
        let queries = index.prepared(self.points.data.clone());
        let (search, count) = self.search();
        // A row finds itself, too.
        let search = match search {
            NeighborSearch::Count(count) => NeighborSearch::Count(count + 1),
            radius => radius,
        };
        let lists = index.search(&queries, search, run, Ok)?;
        let mut graph: Graph = vec![Vec::new(); lists.len()];
        for (row, list) in lists.into_iter().enumerate() {
            for (distance, other) in list.into_iter().filter(|(_, other)| *other as usize != row).take(count) {
                graph[row].push((other as usize, distance));
                graph[other as usize].push((row, distance));
            }
        }
        Ok(graph)
    }

    /// Joins the parts of a graph by their nearest rows. Gives the number of parts.
    fn connect(&self, graph: &mut Graph) -> usize {
        let n = graph.len();
        let mut part = vec![usize::MAX; n];
        let mut parts: Vec<Vec<usize>> = Vec::new();
        for start in 0..n {
            if part[start] != usize::MAX {
                continue;
            }
            let mut own = vec![start];
            part[start] = parts.len();
            let mut at = 0;
            while at < own.len() {
                for (other, _) in &graph[own[at]] {
                    if part[*other] == usize::MAX {
                        part[*other] = parts.len();
                        own.push(*other);
                    }
                }
                at += 1;
            }
            own.sort_unstable();
            parts.push(own);
        }
        let distance =
            |a: usize, b: usize| self.metric.finished(self.metric.reduced(self.points.row(a), self.points.row(b)));
        for second in 1..parts.len() {
            for first in 0..second {
                let pairs = parts[second].iter().flat_map(|a| parts[first].iter().map(move |b| (*a, *b)));
                let nearest = pairs.map(|(a, b)| (distance(a, b), a, b)).reduce(|x, y| if y.0 < x.0 { y } else { x });
                if let Some((length, a, b)) = nearest {
                    graph[a].push((b, length));
                    graph[b].push((a, length));
                }
            }
        }
        parts.len()
    }

    /// The eigenvectors of the centred squares of the paths.
    fn embed(&mut self, count: usize) -> Result<(), Error> {
        let n = self.paths.shape[0];
        let mut kernel = Matrix::new(n, n, self.paths.data.iter().map(|d| -0.5 * d * d).collect());
        let means: Vec<f64> = (0..n).map(|j| kernel.column(j).iter().sum::<f64>() / n as f64).collect();
        let all = means.iter().sum::<f64>() / n as f64;
        for j in 0..n {
            kernel.column_mut(j).iter_mut().zip(&means).for_each(|(v, mean)| *v += all - means[j] - mean);
        }
        let (values, vectors) = dense::eigh(&kernel)
            .filter(|(values, _)| values.iter().all(|v| v.is_finite()))
            .ok_or_else(|| Error::new(ErrorKind::NoConvergence, "the eigenvectors of the paths do not converge"))?;
        let chosen: Vec<f64> = values.iter().rev().take(count).map(|v| v.max(0.0)).collect();
        let columns: Vec<f64> = (0..count).flat_map(|k| vectors.column(n - 1 - k).to_vec()).collect();
        let mut places = Matrix::new(n, count, columns);
        flipped(&mut places);
        for (k, value) in chosen.iter().enumerate() {
            places.column_mut(k).iter_mut().for_each(|v| *v *= value.sqrt());
        }
        let total: f64 = kernel.data.iter().map(|v| v * v).sum();
        let kept: f64 = chosen.iter().map(|v| v * v).sum();
        self.reconstruction_error = (total - kept).max(0.0).sqrt() / n as f64;
        self.embedding = row_major(&places);
        self.eigenvalues = Tensor::vector(chosen);
        Ok(())
    }
}

/// A row and the length of its path, ordered by the length. Lengths are not NaN.
#[derive(PartialEq)]
struct PathEnd(f64, usize);

impl Eq for PathEnd {}

impl PartialOrd for PathEnd {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PathEnd {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}

/// The lengths of the shortest paths from a row (Dijkstra).
fn shortest(graph: &Graph, from: usize) -> Vec<f64> {
    let mut lengths = vec![f64::INFINITY; graph.len()];
    lengths[from] = 0.0;
    let mut open = BinaryHeap::from([Reverse(PathEnd(0.0, from))]);
    while let Some(Reverse(PathEnd(length, row))) = open.pop() {
        if length > lengths[row] {
            continue;
        }
        for (other, step) in &graph[row] {
            let next = length + step;
            if next < lengths[*other] {
                lengths[*other] = next;
                open.push(Reverse(PathEnd(next, *other)));
            }
        }
    }
    lengths
}

impl Model for Isomap {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        (0..self.eigenvalues.data.len()).map(|k| Role::Feature(format!("isomap{k}"), Kind::Number)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let n = self.paths.shape[0];
        let square = |d: f64| -0.5 * d * d;
        let means: Vec<f64> =
            (0..n).map(|i| self.paths.row(i).iter().map(|d| square(*d)).sum::<f64>() / n as f64).collect();
        let all = means.iter().sum::<f64>() / n as f64;
        let index = Index::new(self.metric, &self.points.data, self.points.shape[1]);
        let queries = index.prepared(data.row_major());
        let place = |list: Vec<(f64, u32)>| {
            if list.is_empty() {
                return Ok(vec![f64::NAN; wanted.len()]);
            }
            let mut kernel = vec![f64::INFINITY; n];
            for (distance, row) in list {
                let paths = self.paths.row(row as usize).iter();
                kernel.iter_mut().zip(paths).for_each(|(best, path)| *best = f64::min(*best, path + distance));
            }
            kernel.iter_mut().for_each(|v| *v = square(*v));
            let own = kernel.iter().sum::<f64>() / n as f64;
            kernel.iter_mut().zip(&means).for_each(|(v, mean)| *v += all - mean - own);
            let count = self.eigenvalues.data.len();
            let along = |k: &usize| {
                let value = self.eigenvalues.data[*k];
                let products = kernel.iter().enumerate().map(|(i, v)| v * self.embedding.data[i * count + k]);
                if value > 0.0 { products.sum::<f64>() / value } else { 0.0 }
            };
            Ok(wanted.iter().map(along).collect())
        };
        let rows: Vec<Vec<f64>> = index.search(&queries, self.search().0, &Run::silent(), place)?;
        Ok((0..wanted.len()).map(|k| rows.iter().map(|row| row[k]).collect()).collect())
    }

    fn attribute(&self, name: &str, _: &[Field], _: &[String]) -> Option<Attribute> {
        match name {
            "embedding" => {
                let columns = self.embedding()?.into_iter();
                Some(Attribute::Frame(columns.map(|(name, values)| (name, Values::Floats(values))).collect()))
            }
            "reconstruction_error" => Some(Attribute::Float(self.reconstruction_error)),
            "eigenvalues" => {
                let values = Values::Floats(self.eigenvalues.data.clone());
                Some(Attribute::Frame(vec![("eigenvalue".to_string(), values)]))
            }
            _ => None,
        }
    }

    fn embedding(&self) -> Option<Vec<(String, Vec<f64>)>> {
        frame("isomap", &self.embedding)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let shape = &self.points.shape;
        let points = features > 0 && shape.len() == 2 && shape[0] > 0 && shape[1] == features;
        let fits = points
            && self.paths.shape == [shape[0], shape[0]]
            && self.embedding.shape == [shape[0], self.eigenvalues.data.len()]
            && self.n_neighbors.is_none_or(|count| count > 0 && count <= shape[0]);
        match fits {
            true => Ok(()),
            false => {
                Err(Error::new(ErrorKind::ModelFile, format!("rows of the shape {shape:?} for {features} features")))
            }
        }
    }

    fn bytes(&self) -> u64 {
        self.points.bytes() + self.paths.bytes() + self.embedding.bytes()
    }
}
