//! Weights of terms: tf-idf, as scikit-learn's `TfidfTransformer` (Manning, Raghavan and Schütze, Introduction to
//! Information Retrieval, 2008, chapter 6).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::documents::few_columns;
use crate::data::Data;
use crate::data::sparse::Sparse;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::params;
use crate::run::Run;
use crate::tensor::Tensor;

/// The norm that a row is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Norm {
    None,
    Sum,
    Euclidean,
}

impl Norm {
    pub fn of(word: &str) -> Self {
        match word {
            "l1" => Norm::Sum,
            "none" => Norm::None,
            _ => Norm::Euclidean,
        }
    }

    /// Divides each row by its norm. A row of zeros stays as it is.
    pub fn divide(self, sparse: &mut Sparse) {
        if self == Norm::None {
            return;
        }
        for row in 0..sparse.rows() {
            let values = &mut sparse.values[sparse.starts[row]..sparse.starts[row + 1]];
            let norm = match self {
                Norm::Euclidean => values.iter().map(|v| v * v).sum::<f64>().sqrt(),
                _ => values.iter().map(|v| v.abs()).sum(),
            };
            if norm > 0.0 {
                values.iter_mut().for_each(|v| *v /= norm);
            }
        }
    }
}

/// The weights of terms.
#[derive(Serialize, Deserialize)]
pub struct Weights {
    sublinear: bool,
    norm: Norm,
    /// The inverse document frequency of each term.
    pub idf: Option<Tensor>,
}

/// The parameters of the weights.
pub struct WeightParams<'a> {
    norm: &'a str,
    use_idf: bool,
    smooth_idf: bool,
    sublinear_tf: bool,
}

macro_rules! weights_of {
    ($($estimator:ident)*) => {$(
        impl<'a> From<&'a params::$estimator> for WeightParams<'a> {
            fn from(params: &'a params::$estimator) -> Self {
                let params::$estimator { norm, use_idf, smooth_idf, sublinear_tf, .. } = params;
                WeightParams { norm, use_idf: *use_idf, smooth_idf: *smooth_idf, sublinear_tf: *sublinear_tf }
            }
        }
    )*};
}
weights_of! { TfidfVectorizer TfidfTransformer }

impl Weights {
    /// From the number of rows, and for each term how many of them have it.
    pub fn new(params: &WeightParams<'_>, rows: usize, frequencies: &[f64]) -> Self {
        let more = f64::from(u8::from(params.smooth_idf));
        let idf = |frequency: &f64| ((rows as f64 + more) / (frequency + more)).ln() + 1.0;
        Weights {
            sublinear: params.sublinear_tf,
            norm: Norm::of(params.norm),
            idf: params.use_idf.then(|| Tensor::vector(frequencies.iter().map(idf).collect())),
        }
    }

    /// Weights the counts.
    pub fn apply(&self, counts: Sparse) -> Sparse {
        let mut sparse = match &self.idf {
            None if self.sublinear => counts.mapped(|_, count| count.ln() + 1.0),
            None => counts,
            Some(idf) if self.sublinear => counts.mapped(|column, count| (count.ln() + 1.0) * idf.data[column]),
            Some(idf) => counts.mapped(|column, count| count * idf.data[column]),
        };
        self.norm.divide(&mut sparse);
        sparse
    }

    /// # Errors
    /// If there is not one weight for each of so many terms.
    pub fn check(&self, terms: usize) -> Result<(), Error> {
        match &self.idf {
            Some(idf) if idf.data.len() != terms => {
                let message = format!("{} weights for {terms} terms", idf.data.len());
                Err(Error::new(ErrorKind::ModelFile, message))
            }
            _ => Ok(()),
        }
    }

    /// The attribute `idf`: columns `term` and `idf`.
    pub fn frame(&self, terms: Vec<String>) -> Option<Attribute> {
        let idf = self.idf.as_ref()?.data.clone();
        Some(Attribute::Frame(vec![
            ("term".to_string(), Values::Strs(terms)),
            ("idf".to_string(), Values::Floats(idf)),
        ]))
    }
}

/// `TfidfTransformer`: weights of counts that another estimator has made.
#[derive(Serialize, Deserialize)]
pub struct Tfidf {
    weights: Weights,
}

/// Trains `TfidfTransformer`.
pub fn fit(params: &params::TfidfTransformer, data: &Data, run: &Run<'_>) -> Result<Tfidf, Error> {
    let mut frequencies = vec![0.0; data.total_width()];
    run.check(|| "0 passes over the rows".to_string())?;
    data.all_sparse().columns.iter().for_each(|column| frequencies[*column as usize] += 1.0);
    Ok(Tfidf { weights: Weights::new(&params.into(), data.rows, &frequencies) })
}

impl Model for Tfidf {
    fn outputs(&self, features: &[Field]) -> Vec<Role> {
        features.iter().map(|f| Role::Feature(f.name.clone(), f.kind.clone())).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        if data.sparse.is_some() {
            few_columns("TfidfTransformer", wanted.iter().filter(|k| **k >= data.width()).count())?;
        }
        let weighted = self.weights.apply(data.all_sparse().into_owned());
        let names = Arc::new(vec![String::new(); data.total_width()]);
        Ok(Sparse { names, ..weighted }.dense(wanted))
    }

    fn apply_sparse(&self, data: &Data) -> Result<Option<Sparse>, Error> {
        let Some(sparse) = &data.sparse else { return Ok(None) };
        let weighted = self.weights.apply(data.all_sparse().into_owned());
        Ok(Some(match data.width() {
            0 => weighted,
            width => Sparse { names: Arc::clone(&sparse.names), ..weighted.after(width) },
        }))
    }

    fn sparse_outputs(&self, sparse: usize) -> usize {
        sparse
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        (name == "idf").then(|| self.weights.frame(features.iter().map(|f| f.name.clone()).collect()))?
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        self.weights.check(features)
    }

    fn bytes(&self) -> u64 {
        self.weights.idf.as_ref().map_or(0, Tensor::bytes)
    }
}
