//! Missing values replaced by means of the nearest rows (scikit-learn's `impute/_knn.py`; Troyanskaya and others 2001,
//! "Missing value estimation methods for DNA microarrays").

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::lying;
use crate::data::{Column, Data, Kind};
use crate::error::Error;
use crate::model::{Attribute, Field, Model, Role};
use crate::params;
use crate::tensor::Tensor;

/// `KNNImputer`.
#[derive(Serialize, Deserialize)]
pub struct KnnImputer {
    /// features x rows: the values of the training. NaN is missing.
    points: Tensor,
    /// The mean of each feature. NaN if all of its values are missing.
    means: Tensor,
    n_neighbors: usize,
    /// Whether neighbours weigh 1 / distance.
    by_distance: bool,
    /// Whether features without any value are filled with 0. Otherwise they are left out.
    keep_empty: bool,
    /// Features that get an indicator.
    indicators: Vec<usize>,
    notes: Vec<String>,
}

/// Stores the rows of the training.
pub fn fit(params: &params::KNNImputer, data: &Data) -> KnnImputer {
    let mean = |column: &Column| {
        let there: Vec<f64> = column.values.iter().copied().filter(|v| !v.is_nan()).collect();
        crate::sums::mean(&there, None)
    };
    let means: Vec<f64> = data.features.par_iter().map(mean).collect();
    let empty = data.features.iter().zip(&means).filter(|(_, mean)| mean.is_nan());
    let empty: Vec<&str> = empty.map(|(column, _)| column.name.as_str()).collect();
    let notes = match empty.is_empty() || params.keep_empty_features {
        true => Vec::new(),
        false => vec![format!("left out, because all values are missing: {}", empty.join(", "))],
    };
    let with_missing = (0..data.width()).filter(|j| data.features[*j].values.iter().any(|v| v.is_nan()));
    let mut points = Vec::with_capacity(data.width() * data.rows);
    data.features.iter().for_each(|column| points.extend_from_slice(&column.values));
    KnnImputer {
        indicators: if params.add_indicator { with_missing.collect() } else { Vec::new() },
        points: Tensor::new(vec![data.width(), data.rows], points),
        means: Tensor::vector(means),
        n_neighbors: params.n_neighbors,
        by_distance: params.weights == "distance",
        keep_empty: params.keep_empty_features,
        notes,
    }
}

impl KnnImputer {
    /// The features that have an output.
    fn kept(&self) -> Vec<usize> {
        (0..self.means.data.len()).filter(|j| self.keep_empty || !self.means.data[*j].is_nan()).collect()
    }

    /// The squared distance of a row to each row of the training: the mean over the features that both have, times the
    /// number of features. NaN if they have none in common.
    fn distances(&self, data: &Data, row: usize) -> Vec<f64> {
        let (features, rows) = (self.points.shape[0], self.points.shape[1]);
        let (mut sums, mut counts) = (vec![0.0; rows], vec![0.0; rows]);
        for (j, column) in data.features.iter().enumerate().filter(|(_, column)| !column.values[row].is_nan()) {
            let value = column.values[row];
            for ((sum, count), known) in sums.iter_mut().zip(&mut counts).zip(self.points.row(j)) {
                let difference = known - value;
                let is_there = !difference.is_nan();
                *sum += if is_there { difference * difference } else { 0.0 };
                *count += f64::from(u8::from(is_there));
            }
        }
        sums.iter().zip(&counts).map(|(sum, count)| sum / count * features as f64).collect()
    }

    /// The value of a feature by the nearest rows that have one: the lower row of two equal distances.
    fn value(&self, feature: usize, distances: &[f64]) -> f64 {
        let known = self.points.row(feature);
        let donors = known.iter().zip(distances).enumerate();
        let donors = donors.filter(|(_, (value, distance))| !value.is_nan() && !distance.is_nan());
        let mut donors: Vec<(f64, usize)> = donors.map(|(row, (_, distance))| (*distance, row)).collect();
        if donors.is_empty() {
            return self.means.data[feature];
        }
        let order = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        if donors.len() > self.n_neighbors {
            donors.select_nth_unstable_by(self.n_neighbors - 1, order);
            donors.truncate(self.n_neighbors);
        }
        donors.sort_unstable_by(order);
        let is_same = donors.first().is_some_and(|(distance, _)| *distance == 0.0);
        let weight = |distance: f64| match (self.by_distance, is_same) {
            (false, _) => 1.0,
            // A row at distance 0 outweighs all others.
            (true, true) => f64::from(u8::from(distance == 0.0)),
            (true, false) => 1.0 / distance.sqrt(),
        };
        let (mut sum, mut weights) = (0.0, 0.0);
        for (distance, row) in donors {
            sum += weight(distance) * known[row];
            weights += weight(distance);
        }
        sum / weights
    }
}

impl Model for KnnImputer {
    fn outputs(&self, features: &[Field]) -> Vec<Role> {
        let kept = self.kept().into_iter().map(|j| features[j].name.clone());
        let indicators = self.indicators.iter().map(|j| format!("missingindicator_{}", features[*j].name));
        kept.chain(indicators).map(|name| Role::Feature(name, Kind::Number)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let kept = self.kept();
        let mut out: Vec<Vec<f64>> = Vec::with_capacity(wanted.len());
        // For each filled output its place and its feature.
        let mut filled: Vec<(usize, usize)> = Vec::new();
        for (place, k) in wanted.iter().enumerate() {
            out.push(match kept.get(*k) {
                Some(j) if self.means.data[*j].is_nan() => vec![0.0; data.rows],
                Some(j) => {
                    filled.push((place, *j));
                    data.features[*j].values.clone()
                }
                None => {
                    let column = &data.features[self.indicators[k - kept.len()]];
                    column.values.iter().map(|v| f64::from(u8::from(v.is_nan()))).collect()
                }
            });
        }
        let is_missing = |row: usize| filled.iter().any(|(_, j)| data.features[*j].values[row].is_nan());
        let rows: Vec<usize> = (0..data.rows).filter(|row| is_missing(*row)).collect();
        let values: Vec<Vec<(usize, f64)>> = rows
            .par_iter()
            .map(|row| {
                let distances = self.distances(data, *row);
                let holes = filled.iter().filter(|(_, j)| data.features[*j].values[*row].is_nan());
                holes.map(|(place, j)| (*place, self.value(*j, &distances))).collect()
            })
            .collect();
        for (row, values) in rows.into_iter().zip(values) {
            values.into_iter().for_each(|(place, value)| out[place][row] = value);
        }
        Ok(out)
    }

    fn attribute(&self, _: &str, _: &[Field], _: &[String]) -> Option<Attribute> {
        None
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let points = self.points.shape.len() == 2 && self.points.shape[0] == features;
        let indicators = self.indicators.iter().all(|j| *j < features);
        match points && self.means.data.len() == features && indicators && self.n_neighbors > 0 {
            true => Ok(()),
            false => Err(lying(format!("the rows of an imputer do not fit {features} features"))),
        }
    }

    fn bytes(&self) -> u64 {
        self.points.bytes()
    }
}
