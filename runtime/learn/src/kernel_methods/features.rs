//! Features whose products are nearly the values of a kernel: `Nystroem` (Williams and Seeger 2001) and `RBFSampler`
//! (Rahimi and Recht 2007), with the random numbers of `sklearn/kernel_approximation.py`.

use onrush_dense::{self as dense, Matrix};
use onrush_wire::learn::Param;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::pairwise::{PairwiseKernel, check_rows};
use crate::data::{Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role};
use crate::params;
use crate::random::Mt19937;
use crate::run::Run;
use crate::stored::StoredAttributes;
use crate::tensor::Tensor;

/// The least singular value of the kernel of the chosen rows.
const LEAST: f64 = 1e-12;

/// Rows of the training that stand for all others.
#[derive(Serialize, Deserialize)]
pub struct Nystroem {
    pub kernel: PairwiseKernel,
    /// components x features: the chosen rows.
    pub components: Tensor,
    /// components x components.
    pub normalization: Tensor,
    pub attributes: StoredAttributes,
    pub notes: Vec<String>,
}

/// Trains `Nystroem`.
///
/// # Errors
/// If there are too many components, or the kernel does not take the values. If the user stops the work.
pub fn nystroem(params: &params::Nystroem, data: &Data, run: &Run<'_>) -> Result<Nystroem, Error> {
    let width = data.width();
    let (coef0, degree) = (params.coef0.unwrap_or(1.0), params.degree.unwrap_or(3.0));
    let kernel = PairwiseKernel::new(&params.kernel, params.gamma, coef0, degree, width);
    kernel.check(data)?;
    let mut notes = Vec::new();
    let count = params.n_components.min(data.rows);
    if count < params.n_components {
        notes.push(format!("`n_components` is {count}: there are no more rows"));
    }
    check_rows("Nystroem", count)?;
    let mut random = Mt19937::new(params::seed(params.random_state));
    let chosen = &random.permutation(data.rows)[..count];
    let points = data.take(chosen).row_major();
    run.stage("kernel of the chosen rows");
    let (u, singular, v) = dense::svd(&kernel.matrix(&points, &points, width)).ok_or_else(|| {
        Error::new(ErrorKind::NoConvergence, "the singular value decomposition of the kernel does not converge")
            .help("scale the features first, for example with StandardScaler")
    })?;
    run.check(|| "the kernel of the chosen rows".to_string())?;
    let mut scaled = u;
    for (k, value) in singular.iter().enumerate() {
        let root = value.max(LEAST).sqrt();
        scaled.column_mut(k).iter_mut().for_each(|v| *v /= root);
    }
    let normalization = dense::multiply(&scaled, &v.transposed()).transposed().data;
    let attributes = StoredAttributes::default()
        .by_row("components", "component", points.clone())
        .columns("normalization", (0..count).map(|k| format!("nystroem{k}")).collect(), normalization.clone())
        .counts("component_indices", &["row"], chosen.iter().map(|row| *row as f64).collect());
    let components = Tensor::new(vec![count, width], points);
    Ok(Nystroem {
        kernel,
        components,
        normalization: Tensor::new(vec![count, count], normalization),
        attributes,
        notes,
    })
}

impl Model for Nystroem {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        (0..self.components.shape[0]).map(|k| Role::Feature(format!("nystroem{k}"), Kind::Number)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        self.kernel.check(data)?;
        // The rows of the normalization, which are columns here.
        let columns = wanted.iter().flat_map(|k| self.normalization.row(*k).iter().copied()).collect();
        let factors = Matrix::new(self.components.shape[0], wanted.len(), columns);
        Ok(self.kernel.times(data, &self.components, &factors))
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        self.attributes.get(name, features)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let shape = &self.components.shape;
        let fits = features > 0 && shape.len() == 2 && shape[1] == features;
        if !fits || self.normalization.shape != [shape[0], shape[0]] {
            let message = format!("rows of the shape {shape:?} for {features} features");
            return Err(Error::new(ErrorKind::ModelFile, message));
        }
        self.attributes.check(features)
    }

    fn bytes(&self) -> u64 {
        self.components.bytes() + self.normalization.bytes() + self.attributes.bytes()
    }
}

/// Cosines in random directions.
#[derive(Serialize, Deserialize)]
pub struct FourierFeatures {
    /// components x features.
    pub weights: Tensor,
    pub offsets: Tensor,
    pub attributes: StoredAttributes,
}

/// Trains `RBFSampler`.
///
/// # Errors
/// If `gamma` is neither `scale` nor a number above 0.
pub fn rbf_sampler(params: &params::RBFSampler, data: &Data) -> Result<FourierFeatures, Error> {
    let (width, count) = (data.width(), params.n_components);
    let gamma = match (&params.gamma, params.gamma.as_f64()) {
        (Param::Str(word), _) if word == "scale" => {
            let all = data.row_major();
            let mean = crate::sums::mean(&all, None);
            let squares: Vec<f64> = all.iter().map(|v| (v - mean) * (v - mean)).collect();
            let variance = crate::sums::mean(&squares, None);
            if variance > 0.0 { 1.0 / (width as f64 * variance) } else { 1.0 }
        }
        (_, Some(gamma)) if gamma > 0.0 && gamma.is_finite() => gamma,
        (other, _) => {
            let message = format!("`gamma` is {other}: \"scale\" or a number above 0");
            return Err(Error::new(ErrorKind::Parameter, message));
        }
    };
    let mut random = Mt19937::new(params::seed(params.random_state));
    let scale = (2.0 * gamma).sqrt();
    // Feature after feature, as scikit-learn draws them.
    let drawn = Matrix::new(count, width, (0..width * count).map(|_| scale * random.normal()).collect());
    let weights = drawn.transposed().data;
    let offsets: Vec<f64> = (0..count).map(|_| 2.0 * std::f64::consts::PI * random.uniform()).collect();
    let attributes = StoredAttributes::default().by_row("random_weights", "component", weights.clone()).numbered(
        "random_offset",
        "component",
        "offset",
        offsets.clone(),
    );
    Ok(FourierFeatures {
        weights: Tensor::new(vec![count, width], weights),
        offsets: Tensor::vector(offsets),
        attributes,
    })
}

impl Model for FourierFeatures {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        (0..self.offsets.data.len()).map(|k| Role::Feature(format!("rbfsampler{k}"), Kind::Number)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let scale = (2.0 / self.offsets.data.len() as f64).sqrt();
        let column = |k: &usize| {
            let mut values = vec![self.offsets.data[*k]; data.rows];
            for (column, weight) in data.features.iter().zip(self.weights.row(*k)) {
                values.iter_mut().zip(&column.values).for_each(|(sum, v)| *sum += weight * v);
            }
            values.iter_mut().for_each(|v| *v = scale * v.cos());
            values
        };
        Ok(wanted.par_iter().map(column).collect())
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        self.attributes.get(name, features)
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        match self.weights.shape == [self.offsets.data.len(), features] && features > 0 {
            true => self.attributes.check(features),
            false => {
                let message = format!("directions of the shape {:?} for {features} features", self.weights.shape);
                Err(Error::new(ErrorKind::ModelFile, message))
            }
        }
    }

    fn bytes(&self) -> u64 {
        self.weights.bytes() + self.attributes.bytes()
    }
}
