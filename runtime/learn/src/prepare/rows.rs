//! Rows of norm 1 (scikit-learn's `Normalizer`).

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::outputs;
use crate::data::Data;
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
        Ok(outputs(wanted, |j| data.features[j].values.iter().zip(&norms).map(|(x, n)| x / n).collect()))
    }

    fn attribute(&self, _: &str, _: &[Field], _: &[String]) -> Option<Attribute> {
        None
    }

    fn check(&self, _: usize, _: usize) -> Result<(), Error> {
        Ok(())
    }
}
