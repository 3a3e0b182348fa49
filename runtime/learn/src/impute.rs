//! Missing values from regressions on the other features, in rounds (van Buuren and Groothuis-Oudshoorn 2011), as in
//! `sklearn/impute/_iterative.py`. The regression is `BayesianRidge`.

use serde::{Deserialize, Serialize};

use crate::data::{Column, Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::linear;
use crate::model::{Attribute, Field, Model, Role};
use crate::params;
use crate::prepare;
use crate::random::Mt19937;
use crate::run::Run;
use crate::stored::StoredAttributes;
use crate::tensor::Tensor;

/// `IterativeImputer`.
#[derive(Serialize, Deserialize)]
pub struct IterativeImputer {
    /// The first value of each feature. NaN if the feature is left out.
    fill: Tensor,
    /// Features that were empty in training and are filled with the first value.
    constant: Vec<usize>,
    /// Features that get an indicator.
    indicators: Vec<usize>,
    /// For each regression its feature, as a position among the kept ones.
    sequence: Vec<usize>,
    /// For each regression the intercept, and a coefficient for each of the kept features: 0 for its own.
    weights: Tensor,
    /// The least and the largest value that is filled in.
    range: Tensor,
    attributes: StoredAttributes,
    notes: Vec<String>,
}

/// The features while they are filled.
struct Rounds<'a> {
    names: Vec<&'a str>,
    /// The kept features, filled.
    columns: Vec<Vec<f64>>,
    /// For each kept feature the rows without a value.
    holes: Vec<Vec<usize>>,
    low: f64,
    high: f64,
}

/// Trains `IterativeImputer`.
///
/// # Errors
/// If a parameter does not fit, or a regression fails. If the user stops the work.
pub fn fit(params: &params::IterativeImputer, data: &Data, run: &Run<'_>) -> Result<IterativeImputer, Error> {
    unsupported(params)?;
    let (low, high) = (params.min_value.unwrap_or(f64::NEG_INFINITY), params.max_value.unwrap_or(f64::INFINITY));
    if low >= high {
        let message = format!("`min_value` is {low}, and `max_value` is {high}: it must be above");
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    let initial = params::SimpleImputer {
        strategy: params.initial_strategy.clone(),
        fill_value: params.fill_value.clone(),
        keep_empty_features: params.keep_empty_features,
        ..params::SimpleImputer::default()
    };
    let first = prepare::impute::fit(&initial, data, run)?;
    let fill = first.fill.data.clone();
    let empty = |j: usize| data.features[j].values.iter().all(|v| v.is_nan());
    let left_out: Vec<&str> =
        (0..data.width()).filter(|j| fill[*j].is_nan()).map(|j| data.features[j].name.as_str()).collect();
    let mut notes = match left_out.is_empty() {
        true => Vec::new(),
        false => vec![format!("left out, because all values are missing: {}", left_out.join(", "))],
    };
    let kept = kept(&fill);
    let constant: Vec<usize> = kept.iter().copied().filter(|j| empty(*j)).collect();
    let mut rounds = Rounds::new(data, &kept, &fill, low, high);
    let with_missing = (0..data.width()).filter(|j| data.features[*j].missing() > 0);
    let mut model = IterativeImputer {
        indicators: if params.add_indicator { with_missing.collect() } else { Vec::new() },
        fill: Tensor::vector(fill),
        sequence: Vec::new(),
        weights: Tensor::default(),
        range: Tensor::vector(vec![low, high]),
        attributes: StoredAttributes::default(),
        notes: Vec::new(),
        constant,
    };
    let all = rounds.holes.iter().map(Vec::len).sum::<usize>();
    let skips = kept.len() < 2 || params.max_iter == 0 || all == 0 && params.skip_complete;
    let mut n_iter = 0;
    if !skips {
        let (iterations, weights, converged) = model.rounds(params, &mut rounds, &kept, run)?;
        n_iter = iterations;
        model.weights = Tensor::new(vec![model.sequence.len(), kept.len() + 1], weights);
        if !converged && params.tol > 0.0 {
            notes.push(format!("stopped after `max_iter` = {n_iter} rounds: values still changed by more than `tol`"));
        }
    }
    model.attributes = StoredAttributes::default().int("n_iter", n_iter);
    model.notes = notes;
    Ok(model)
}

/// Refuses parameters that are not there.
fn unsupported(params: &params::IterativeImputer) -> Result<(), Error> {
    let wrong = |message: &str| Err(Error::new(ErrorKind::Parameter, message));
    match (params.sample_posterior, params.n_nearest_features) {
        (true, _) => wrong("`sample_posterior` is true: values are the predictions, and random ones are not there"),
        (_, Some(_)) => wrong("`n_nearest_features` is set: all features are taken, and a choice is not there"),
        _ => Ok(()),
    }
}

/// The features that are not left out.
fn kept(fill: &[f64]) -> Vec<usize> {
    (0..fill.len()).filter(|j| !fill[*j].is_nan()).collect()
}

impl<'a> Rounds<'a> {
    fn new(data: &'a Data, kept: &[usize], fill: &[f64], low: f64, high: f64) -> Self {
        let holes = |j: &usize| {
            let values = data.features[*j].values.iter().enumerate();
            values.filter(|(_, v)| v.is_nan()).map(|(row, _)| row).collect()
        };
        let filled =
            |j: &usize| data.features[*j].values.iter().map(|v| if v.is_nan() { fill[*j] } else { *v }).collect();
        Rounds {
            names: kept.iter().map(|j| data.features[*j].name.as_str()).collect(),
            columns: kept.iter().map(filled).collect(),
            holes: kept.iter().map(holes).collect(),
            low,
            high,
        }
    }

    /// The features in the order in which they are filled.
    fn order(&self, word: &str, skip_complete: bool) -> Vec<usize> {
        let mut order: Vec<usize> =
            (0..self.columns.len()).filter(|j| !skip_complete || !self.holes[*j].is_empty()).collect();
        match word {
            "roman" | "random" => {}
            "arabic" => order.reverse(),
            _ => order.sort_by_key(|j| self.holes[*j].len()),
        }
        if word == "descending" {
            order.reverse();
        }
        order
    }

    /// Trains the regression of a feature: the intercept and the coefficients.
    fn train(&self, feature: usize, run: &Run<'_>) -> Result<Vec<f64>, Error> {
        let mut is_hole = vec![false; self.columns[feature].len()];
        self.holes[feature].iter().for_each(|row| is_hole[*row] = true);
        let there = |values: &[f64]| {
            values.iter().zip(&is_hole).filter(|(_, hole)| !**hole).map(|(v, _)| *v).collect::<Vec<f64>>()
        };
        let others = (0..self.columns.len()).filter(|j| *j != feature);
        let features = others.clone().map(|j| Column::number(self.names[j], there(&self.columns[j]))).collect();
        let y = there(&self.columns[feature]);
        let data = Data { y, target: self.names[feature].to_string(), ..Data::new(features) };
        let silent = Run { is_stopped: run.is_stopped, ..Run::silent() };
        let model = linear::bayesian::fit(&params::BayesianRidge::default(), &data, &silent)?;
        let mut weights = vec![0.0; self.columns.len() + 1];
        weights[0] = model.intercept;
        others.zip(&model.coef.data).for_each(|(j, w)| weights[j + 1] = *w);
        Ok(weights)
    }

    /// Fills the holes of a feature.
    fn fill(&mut self, feature: usize, weights: &[f64]) {
        let predicted = |row: usize| {
            let products = weights[1..].iter().zip(&self.columns).filter(|(w, _)| **w != 0.0);
            let sum = products.map(|(w, column)| w * column[row]).sum::<f64>();
            (weights[0] + sum).clamp(self.low, self.high)
        };
        let values: Vec<f64> = self.holes[feature].iter().map(|row| predicted(*row)).collect();
        for (row, value) in self.holes[feature].iter().zip(values) {
            self.columns[feature][*row] = value;
        }
    }
}

impl IterativeImputer {
    /// Trains and fills in rounds until the values rest.
    fn rounds(
        &mut self,
        params: &params::IterativeImputer,
        rounds: &mut Rounds<'_>,
        kept: &[usize],
        run: &Run<'_>,
    ) -> Result<(usize, Vec<f64>, bool), Error> {
        let mut order = rounds.order(&params.imputation_order, params.skip_complete);
        order.retain(|j| !self.constant.contains(&kept[*j]));
        let is_random = params.imputation_order == "random";
        let base = order.clone();
        let mut random = Mt19937::new(params::seed(params.random_state));
        if is_random {
            // scikit-learn draws an order that it does not use.
            random.shuffle(&mut order);
        }
        let largest = |columns: &[Vec<f64>]| columns.iter().flatten().fold(0.0f64, |a, v| a.max(v.abs()));
        let known = rounds.columns.iter().zip(&rounds.holes).map(|(column, holes)| {
            let mut column = column.clone();
            holes.iter().for_each(|row| column[*row] = 0.0);
            column
        });
        let tol = params.tol * largest(&known.collect::<Vec<Vec<f64>>>());
        let mut weights = Vec::new();
        for round in 1..=params.max_iter {
            run.check(|| format!("{} of at most {} rounds", round - 1, params.max_iter))?;
            (run.steps)(round as u64 - 1, params.max_iter as u64);
            if is_random {
                order.clone_from(&base);
                random.shuffle(&mut order);
            }
            let before = rounds.columns.clone();
            for feature in &order {
                run.check(|| format!("a part of round {round}"))?;
                let found = rounds.train(*feature, run)?;
                rounds.fill(*feature, &found);
                self.sequence.push(*feature);
                weights.extend(found);
            }
            // The largest change of a row, as a sum over its features.
            let mut changes = vec![0.0; rounds.columns.first().map_or(0, Vec::len)];
            for (now, before) in rounds.columns.iter().zip(&before) {
                for (change, (a, b)) in changes.iter_mut().zip(now.iter().zip(before)) {
                    *change += (a - b).abs();
                }
            }
            let moved = changes.into_iter().fold(0.0, f64::max);
            run.stage(format!("round {round}, change {moved:.3e}"));
            if moved < tol {
                return Ok((round, weights, true));
            }
        }
        Ok((params.max_iter, weights, false))
    }
}

impl Model for IterativeImputer {
    fn outputs(&self, features: &[Field]) -> Vec<Role> {
        let kept = kept(&self.fill.data).into_iter().map(|j| features[j].name.clone());
        let indicators = self.indicators.iter().map(|j| format!("missingindicator_{}", features[*j].name));
        kept.chain(indicators).map(|name| Role::Feature(name, Kind::Number)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let kept = kept(&self.fill.data);
        let mut rounds = Rounds::new(data, &kept, &self.fill.data, self.range.data[0], self.range.data[1]);
        for (number, feature) in self.sequence.iter().enumerate() {
            rounds.fill(*feature, self.weights.row(number));
        }
        let column = |k: &usize| match rounds.columns.get(*k) {
            Some(values) => values.clone(),
            None => {
                let column = &data.features[self.indicators[k - kept.len()]];
                column.values.iter().map(|v| f64::from(u8::from(v.is_nan()))).collect()
            }
        };
        Ok(wanted.iter().map(column).collect())
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        match name {
            "initial_statistics" => Some(Attribute::by_feature(features, "statistic", &self.fill.data)),
            _ => self.attributes.get(name, features),
        }
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let kept = kept(&self.fill.data).len();
        let weights = self.sequence.is_empty() || self.weights.shape == [self.sequence.len(), kept + 1];
        let places = self.sequence.iter().all(|j| *j < kept) && self.indicators.iter().all(|j| *j < features);
        let range = self.range.data.len() == 2 && self.range.data[0] <= self.range.data[1];
        match self.fill.data.len() == features && weights && places && range {
            true => self.attributes.check(features),
            false => {
                let message = format!("the regressions of an imputer do not fit {features} features");
                Err(Error::new(ErrorKind::ModelFile, message))
            }
        }
    }

    fn bytes(&self) -> u64 {
        self.weights.bytes()
    }
}
