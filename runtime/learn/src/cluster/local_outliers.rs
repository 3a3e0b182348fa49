//! The local outlier factor (Breunig, Kriegel, Ng and Sander, SIGMOD 2000), as in `sklearn/neighbors/_lof.py`.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::labels;
use super::outliers::{contamination, label, percentile};
use crate::data::{Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::neighbors::search::{Metric, NeighborSearch, Points};
use crate::params;
use crate::run::Run;
use crate::tensor::Tensor;

/// A density that is added to each distance, so that equal rows have a finite density.
const LEAST: f64 = 1e-10;

/// How much less dense each row lies than its neighbours.
#[derive(Serialize, Deserialize)]
pub struct LocalOutlierFactor {
    /// For each row of the training the negative factor.
    pub factors: Tensor,
    #[serde(with = "crate::tensor::scalar")]
    pub offset: f64,
    pub n_neighbors: usize,
    /// The rows of the training, if new rows are to be predicted.
    pub reference: Option<Reference>,
    pub notes: Vec<String>,
}

/// Rows that new rows are compared with.
#[derive(Serialize, Deserialize)]
pub struct Reference {
    pub points: Points,
    /// The local reachability density of each row.
    pub densities: Tensor,
    /// The distance of each row to its last neighbour.
    pub reaches: Tensor,
}

/// Trains `LocalOutlierFactor`.
///
/// # Errors
/// If there is one row only, or `contamination` is not a share.
pub fn fit(params: &params::LocalOutlierFactor, data: &Data, run: &Run<'_>) -> Result<LocalOutlierFactor, Error> {
    let share = contamination(&params.contamination)?;
    if data.rows < 2 {
        return Err(Error::new(ErrorKind::NoRows, "LocalOutlierFactor got 1 row: at least 2 rows are neighbours"));
    }
    let count = params.n_neighbors.clamp(1, data.rows - 1);
    let mut notes = Vec::new();
    if count < params.n_neighbors {
        notes.push(format!("`n_neighbors` is {}, and {count} other rows are there", params.n_neighbors));
    }
    let points = Points::new(Metric::of(&params.metric, params.p), "LocalOutlierFactor", data)?;
    run.stage("neighbours");
    let mut nearest = points.search(data, NeighborSearch::Count(count + 1), run, Ok)?;
    nearest.par_iter_mut().enumerate().for_each(|(row, list)| {
        // The row itself may be missing among many equal rows.
        let own = list.iter().position(|(_, other)| *other as usize == row);
        list.remove(own.unwrap_or(list.len() - 1));
    });
    run.stage("densities");
    let reaches: Vec<f64> = nearest.iter().map(|list| list.last().map_or(0.0, |(distance, _)| *distance)).collect();
    let densities: Vec<f64> = nearest.par_iter().map(|list| density(list, &reaches)).collect();
    let factors: Vec<f64> =
        nearest.par_iter().zip(&densities).map(|(list, own)| factor(list, *own, &densities)).collect();
    let offset = share.map_or(-1.5, |share| percentile(&factors, share));
    let reference = params.novelty.then(|| Reference {
        points,
        densities: Tensor::vector(densities),
        reaches: Tensor::vector(reaches),
    });
    Ok(LocalOutlierFactor { factors: Tensor::vector(factors), offset, n_neighbors: count, reference, notes })
}

/// The local reachability density of a row with these neighbours.
fn density(list: &[(f64, u32)], reaches: &[f64]) -> f64 {
    let sum: f64 = list.iter().map(|(distance, other)| distance.max(reaches[*other as usize])).sum();
    1.0 / (sum / list.len() as f64 + LEAST)
}

/// The negative factor of a row with this density.
fn factor(list: &[(f64, u32)], own: f64, densities: &[f64]) -> f64 {
    -list.iter().map(|(_, other)| densities[*other as usize] / own).sum::<f64>() / list.len() as f64
}

impl Model for LocalOutlierFactor {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        match self.reference {
            Some(_) => vec![Role::Label, Role::Feature("score".to_string(), Kind::Number)],
            None => Vec::new(),
        }
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let Some(Reference { points, densities, reaches }) = &self.reference else { return Ok(Vec::new()) };
        let score = |list: Vec<(f64, u32)>| Ok(factor(&list, density(&list, &reaches.data), &densities.data));
        let scores = points.search(data, NeighborSearch::Count(self.n_neighbors), &Run::silent(), score)?;
        let column = |output: &usize| match *output {
            0 => scores.iter().map(|score| label(*score, self.offset)).collect(),
            _ => scores.clone(),
        };
        Ok(wanted.iter().map(column).collect())
    }

    fn attribute(&self, name: &str, _: &[Field], _: &[String]) -> Option<Attribute> {
        match name {
            "labels" => Some(labels(&self.labels())),
            "negative_outlier_factor" => {
                let values = Values::Floats(self.factors.data.clone());
                Some(Attribute::Frame(vec![("negative_outlier_factor".to_string(), values)]))
            }
            "offset" => Some(Attribute::Float(self.offset)),
            "n_neighbors" => Some(Attribute::Int(self.n_neighbors as i64)),
            _ => None,
        }
    }

    fn rows(&self) -> Option<Vec<f64>> {
        Some(self.labels())
    }

    fn notes(&self) -> Vec<String> {
        let outliers = self.labels().iter().filter(|label| **label < 0.0).count();
        let count = format!("{outliers} of {} rows are outliers", self.factors.data.len());
        self.notes.iter().cloned().chain([count]).collect()
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let Some(Reference { points, densities, reaches }) = &self.reference else { return Ok(()) };
        points.check(features)?;
        let rows = points.rows();
        if densities.data.len() == rows && reaches.data.len() == rows && (1..=rows).contains(&self.n_neighbors) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::ModelFile, format!("{} densities for {rows} rows", densities.data.len())))
    }

    fn bytes(&self) -> u64 {
        self.factors.bytes() + self.reference.as_ref().map_or(0, |reference| reference.points.points.bytes())
    }
}

impl LocalOutlierFactor {
    fn labels(&self) -> Vec<f64> {
        self.factors.data.iter().map(|factor| label(*factor, self.offset)).collect()
    }
}
