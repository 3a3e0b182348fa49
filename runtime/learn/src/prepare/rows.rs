//! Rows of norm 1 (scikit-learn's `Normalizer`).

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::outputs;
use crate::data::Data;
use crate::data::sparse::Sparse;
use crate::error::Error;
use crate::model::{Attribute, Field, Model, Role};
use crate::params;
use crate::sums::CHUNK;

/// Divides each row by its norm.
#[derive(Serialize, Deserialize)]
pub struct Normalizer {
    norm: Norm,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum Norm {
    Sum,
    Euclidean,
    Largest,
}

/// Nothing is learnt from the data.
pub fn fit(params: &params::Normalizer) -> Normalizer {
    let norm = match params.norm.as_str() {
        "l1" => Norm::Sum,
        "max" => Norm::Largest,
        _ => Norm::Euclidean,
    };
    Normalizer { norm }
}

impl Normalizer {
    /// The norm of each row; 1 for a row of zeros.
    fn norms(&self, data: &Data) -> Vec<f64> {
        let mut norms = vec![0.0; data.rows];
        norms.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, norms)| {
            for column in &data.features {
                let values = &column.values[chunk * CHUNK..chunk * CHUNK + norms.len()];
                let pairs = norms.iter_mut().zip(values);
                match self.norm {
                    Norm::Sum => pairs.for_each(|(n, x)| *n += x.abs()),
                    Norm::Euclidean => pairs.for_each(|(n, x)| *n += x * x),
                    Norm::Largest => pairs.for_each(|(n, x)| *n = n.max(x.abs())),
                }
            }
            if let Some(sparse) = &data.sparse {
                for (i, norm) in norms.iter_mut().enumerate() {
                    let (_, values) = sparse.row(chunk * CHUNK + i);
                    match self.norm {
                        Norm::Sum => *norm += values.iter().map(|x| x.abs()).sum::<f64>(),
                        Norm::Euclidean => *norm += values.iter().map(|x| x * x).sum::<f64>(),
                        Norm::Largest => *norm = values.iter().fold(*norm, |n, x| n.max(x.abs())),
                    }
                }
            }
            if matches!(self.norm, Norm::Euclidean) {
                norms.iter_mut().for_each(|n| *n = n.sqrt());
            }
            norms.iter_mut().filter(|n| **n < 10.0 * f64::EPSILON).for_each(|n| *n = 1.0);
        });
        norms
    }
}

impl Model for Normalizer {
    fn outputs(&self, features: &[Field]) -> Vec<Role> {
        features.iter().map(|f| Role::Feature(f.name.clone(), f.kind.clone())).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let norms = self.norms(data);
        let divided = |values: &[f64]| values.iter().zip(&norms).map(|(x, n)| x / n).collect();
        Ok(outputs(wanted, |j| match (data.features.get(j), &data.sparse) {
            (Some(column), _) => divided(&column.values),
            (None, Some(sparse)) => divided(&sparse.dense(&[j - data.width()])[0]),
            (None, None) => Vec::new(),
        }))
    }

    fn sparse_outputs(&self, sparse: usize) -> usize {
        sparse
    }

    fn apply_sparse(&self, data: &Data) -> Result<Option<Sparse>, Error> {
        let Some(sparse) = &data.sparse else { return Ok(None) };
        let (mut divided, norms) = (sparse.clone(), self.norms(data));
        for (row, norm) in norms.iter().enumerate() {
            divided.values[sparse.starts[row]..sparse.starts[row + 1]].iter_mut().for_each(|v| *v /= norm);
        }
        Ok(Some(divided))
    }

    fn attribute(&self, _: &str, _: &[Field], _: &[String]) -> Option<Attribute> {
        None
    }

    fn check(&self, _: usize, _: usize) -> Result<(), Error> {
        Ok(())
    }
}
