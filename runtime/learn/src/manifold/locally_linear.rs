//! Locally linear embedding (Roweis and Saul, Science 2000), as in `sklearn/manifold/_locally_linear.py`.

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

/// The places of the training rows, from which those of other rows follow.
#[derive(Serialize, Deserialize)]
pub struct LocallyLinear {
    pub n_neighbors: usize,
    #[serde(with = "crate::tensor::scalar")]
    pub reg: f64,
    /// rows x features.
    pub points: Tensor,
    /// rows x components.
    pub embedding: Tensor,
    #[serde(with = "crate::tensor::scalar")]
    pub reconstruction_error: f64,
}

/// Trains `LocallyLinearEmbedding`.
///
/// # Errors
/// If there are too many rows, or too few for the components and neighbours. If the user stops the work.
pub fn fit(params: &params::LocallyLinearEmbedding, data: &Data, run: &Run<'_>) -> Result<LocallyLinear, Error> {
    let (n, width, count) = (data.rows, data.width(), params.n_components);
    check_rows("LocallyLinearEmbedding", n)?;
    let wrong = |message: String| Err(Error::new(ErrorKind::Parameter, message));
    if count > width || count >= n {
        return wrong(format!(
            "`n_components` is {count}: at most {width}, the number of features, and below {n} rows"
        ));
    }
    if params.n_neighbors >= n {
        return wrong(format!("`n_neighbors` is {}: below {n}, the number of rows", params.n_neighbors));
    }
    let mut model = LocallyLinear {
        n_neighbors: params.n_neighbors,
        reg: params.reg,
        points: Tensor::new(vec![n, width], data.row_major()),
        embedding: Tensor::default(),
        reconstruction_error: 0.0,
    };
    // The differences of the rows from the sums of their neighbours.
    let mut rest = Matrix::zeros(n, n);
    for (row, list) in model.weights(data, 1, run)?.into_iter().enumerate() {
        list.into_iter().for_each(|(other, weight)| rest.set(row, other, -weight));
        rest.set(row, row, rest.at(row, row) + 1.0);
    }
    run.stage("eigenvectors");
    let (values, vectors) = dense::eigh(&dense::transpose_multiply(&rest, &rest))
        .filter(|(values, _)| values.iter().all(|v| v.is_finite()))
        .ok_or_else(|| Error::new(ErrorKind::NoConvergence, "the eigenvectors of the weights do not converge"))?;
    // The first eigenvector is constant.
    let mut places = Matrix::new(n, count, vectors.data[n..n * (count + 1)].to_vec());
    flipped(&mut places);
    model.embedding = row_major(&places);
    model.reconstruction_error = values[1..=count].iter().sum();
    Ok(model)
}

impl LocallyLinear {
    /// For each row its near training rows with weights whose sum is nearest to it. The `skipped` nearest are left out.
    fn weights(&self, data: &Data, skipped: usize, run: &Run<'_>) -> Result<Vec<Vec<(usize, f64)>>, Error> {
        let index = Index::new(Metric::Euclidean, &self.points.data, self.points.shape[1]);
        let rows = data.row_major();
        let queries = index.prepared(rows.clone());
        let near = |list: Vec<(f64, u32)>| {
            Ok(list.into_iter().skip(skipped).map(|(_, row)| row as usize).collect::<Vec<usize>>())
        };
        let lists = index.search(&queries, NeighborSearch::Count(self.n_neighbors + skipped), run, near)?;
        lists.into_par_iter().zip(rows.par_chunks(data.width())).map(|(list, row)| self.barycenter(list, row)).collect()
    }

    fn barycenter(&self, list: Vec<usize>, row: &[f64]) -> Result<Vec<(usize, f64)>, Error> {
        let off = |other: usize| self.points.row(other).iter().zip(row).map(|(a, b)| a - b).collect::<Vec<f64>>();
        let differences: Vec<Vec<f64>> = list.iter().map(|other| off(*other)).collect();
        let k = list.len();
        let mut gram = Matrix::zeros(k, k);
        for (i, a) in differences.iter().enumerate() {
            for (j, b) in differences.iter().enumerate() {
                gram.set(i, j, a.iter().zip(b).map(|(a, b)| a * b).sum());
            }
        }
        let trace: f64 = (0..k).map(|i| gram.at(i, i)).sum();
        let added = if trace > 0.0 { self.reg * trace } else { self.reg };
        (0..k).for_each(|i| gram.set(i, i, gram.at(i, i) + added));
        let found = dense::solve_positive(&gram, &Matrix::new(k, 1, vec![1.0; k])).ok_or_else(|| {
            Error::new(ErrorKind::Numeric, "the weights of near rows are not determined")
                .help("set `reg` to a larger number")
        })?;
        let total: f64 = found.data.iter().sum();
        Ok(list.into_iter().zip(found.data.iter().map(|w| w / total)).collect())
    }
}

impl Model for LocallyLinear {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        let count = self.embedding.shape[1];
        (0..count).map(|k| Role::Feature(format!("locallylinearembedding{k}"), Kind::Number)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let lists = self.weights(data, 0, &Run::silent())?;
        let column = |k: &usize| {
            let place = |list: &Vec<(usize, f64)>| list.iter().map(|(row, w)| w * self.embedding.row(*row)[*k]).sum();
            lists.iter().map(place).collect()
        };
        Ok(wanted.iter().map(column).collect())
    }

    fn attribute(&self, name: &str, _: &[Field], _: &[String]) -> Option<Attribute> {
        match name {
            "embedding" => {
                let columns = self.embedding()?.into_iter();
                Some(Attribute::Frame(columns.map(|(name, values)| (name, Values::Floats(values))).collect()))
            }
            "reconstruction_error" => Some(Attribute::Float(self.reconstruction_error)),
            _ => None,
        }
    }

    fn embedding(&self) -> Option<Vec<(String, Vec<f64>)>> {
        frame("locallylinearembedding", &self.embedding)
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let (points, places) = (&self.points.shape, &self.embedding.shape);
        let fits = features > 0 && points.len() == 2 && points[1] == features && self.n_neighbors <= points[0];
        match fits && self.n_neighbors > 0 && places.len() == 2 && places[0] == points[0] {
            true => Ok(()),
            false => {
                let message = format!("rows of the shape {points:?} for {features} features");
                Err(Error::new(ErrorKind::ModelFile, message))
            }
        }
    }

    fn bytes(&self) -> u64 {
        self.points.bytes() + self.embedding.bytes()
    }
}
