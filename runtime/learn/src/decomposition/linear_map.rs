//! A trained linear map of the features: `(x - mean) map'`.

use onrush_dense::{self as dense, Matrix};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::pca::projected;
use crate::data::{Column, Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, LinearScores, Link, Model, Role};
use crate::stored::StoredAttributes;
use crate::sums;
use crate::tensor::Tensor;

/// A linear map to new features.
#[derive(Serialize, Deserialize)]
pub struct LinearMap {
    /// The names of the new features are this word and a number.
    pub name: String,
    /// new features x features.
    pub map: Tensor,
    /// The shift of each feature.
    pub mean: Tensor,
    /// The way back, new features x features: `y back + mean`.
    pub back: Option<Tensor>,
    pub attributes: StoredAttributes,
    pub notes: Vec<String>,
}

impl LinearMap {
    pub(super) fn new(name: &str, map: Tensor, mean: Vec<f64>, attributes: StoredAttributes) -> Self {
        let mean = Tensor::vector(mean);
        LinearMap { name: name.to_string(), map, mean, back: None, attributes, notes: Vec::new() }
    }
}

/// The Moore-Penrose inverse of a matrix. Singular values up to `numpy.linalg.pinv`'s limit count as 0.
pub(super) fn pseudo_inverse(matrix: &Matrix) -> Result<Matrix, Error> {
    let (u, singular, v) = dense::svd(matrix)
        .ok_or_else(|| Error::new(ErrorKind::NoConvergence, "the singular value decomposition does not converge"))?;
    let limit = f64::EPSILON * matrix.rows.max(matrix.columns) as f64 * singular.first().copied().unwrap_or(0.0);
    let mut scaled = v;
    for (k, s) in singular.iter().enumerate() {
        let factor = if *s > limit { 1.0 / s } else { 0.0 };
        scaled.column_mut(k).iter_mut().for_each(|v| *v *= factor);
    }
    Ok(dense::multiply(&scaled, &u.transposed()))
}

/// The rows of a matrix one after the other.
pub(crate) fn row_major(matrix: &Matrix) -> Tensor {
    Tensor::new(vec![matrix.rows, matrix.columns], matrix.transposed().data)
}

impl Model for LinearMap {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        (0..self.map.shape[0]).map(|c| Role::Feature(format!("{}{c}", self.name), Kind::Number)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        if data.sparse.is_some() {
            // The estimators that take sparse features do not centre them.
            let rows = data.all_sparse();
            let column = |c: &usize| (0..data.rows).map(|row| rows.dot(row, self.map.row(*c))).collect();
            return Ok(wanted.par_iter().map(column).collect());
        }
        let rows = wanted.iter().flat_map(|c| self.map.row(*c).iter().copied());
        let map = Tensor::new(vec![wanted.len(), data.width()], rows.collect());
        let chunks: Vec<usize> = (0..data.rows).step_by(sums::CHUNK).collect();
        let blocks: Vec<Matrix> = chunks
            .into_par_iter()
            .map(|start| projected(data, start..data.rows.min(start + sums::CHUNK), &self.mean.data, &map))
            .collect();
        Ok((0..wanted.len()).map(|c| blocks.iter().flat_map(|b| b.column(c).iter().copied()).collect()).collect())
    }

    fn inverse(&self, data: &Data, features: &[Field]) -> Result<Option<Vec<Column>>, Error> {
        let Some(back) = &self.back else { return Ok(None) };
        let width = features.len();
        let column = |j: usize| {
            let mut values = vec![self.mean.data[j]; data.rows];
            for (column, factors) in data.features.iter().zip(back.data.chunks_exact(width)) {
                values.iter_mut().zip(&column.values).for_each(|(sum, v)| *sum += v * factors[j]);
            }
            Column::number(features[j].name.as_str(), values)
        };
        Ok(Some((0..width).into_par_iter().map(column).collect()))
    }

    fn linear(&self) -> Option<LinearScores> {
        let coef: Vec<Vec<f64>> = (0..self.map.shape[0]).map(|c| self.map.row(c).to_vec()).collect();
        let intercept = vec![0.0; coef.len()];
        Some(LinearScores { coef, intercept, shift: self.mean.data.clone(), link: Link::Identity })
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        self.attributes.get(name, features)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let shape = &self.map.shape;
        let is_matrix = features > 0 && shape.len() == 2 && shape[1] == features;
        let back = self.back.as_ref().is_none_or(|back| back.shape == *shape);
        if !is_matrix || !back || self.mean.data.len() != features {
            let message = format!("a map of the shape {shape:?} for {features} features");
            return Err(Error::new(ErrorKind::ModelFile, message));
        }
        self.attributes.check(features)
    }

    fn bytes(&self) -> u64 {
        self.map.bytes() + self.attributes.bytes()
    }
}
