//! Estimators of one kind on samples of rows and features (scikit-learn's `BaggingClassifier` and `BaggingRegressor`;
//! Breiman 1996). The samples are scikit-learn's for the same seed.

use std::sync::atomic::{AtomicU64, Ordering};

use onrush_wire::learn::{Param, Spec};

use super::folds::{in_waves, positions, training_rows};
use super::members::{SEEDS, drawn_by_weight, drawn_once_by_weight, only, takes_weights, with_seeds};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::estimators::inside::in_estimator;
use crate::estimators::{Bag, Bagging, Trainer};
use crate::metrics::regression;
use crate::params;
use crate::random::Mt19937;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::trees::forest::highest;

params::shared! {
    /// Parameters of classifiers and regressors.
    struct BaggingParams of [BaggingClassifier BaggingRegressor] {
        n_estimators: usize,
        max_samples: Param,
        max_features: Param,
        bootstrap: bool,
        bootstrap_features: bool,
        oob_score: bool,
        random_state: usize,
    }
}

/// A sample of rows and features.
struct Sample {
    /// `None`: all features.
    features: Option<Vec<usize>>,
    rows: Vec<usize>,
}

/// How samples are drawn.
struct Sampler<'a> {
    data: &'a Data,
    params: &'a BaggingParams,
    rows: usize,
    features: usize,
}

/// Trains the estimators, several at the same time if there are few rows.
pub fn fit(spec: &Spec, data: &Data, run: &Run<'_>, fit: Trainer<'_>) -> Result<Bagging, Error> {
    let is_classifier = spec.is_classifier();
    let params = match is_classifier {
        true => BaggingParams::from(&params::BaggingClassifier::of(spec)),
        false => BaggingParams::from(&params::BaggingRegressor::of(spec)),
    };
    let tree = if is_classifier { "DecisionTreeClassifier" } else { "DecisionTreeRegressor" };
    let inner = only(spec, &|| Spec::new(tree))?;
    let sampler = Sampler::new(&params, data)?;
    let mut random = Mt19937::new(params::seed(params.random_state));
    let all = params.n_estimators;
    let seeds: Vec<u32> = (0..all).map(|_| random.randint(0, SEEDS) as u32).collect();
    let done = AtomicU64::new(0);
    run.stage(format!("train {all} times {}", inner.estimator));
    let bags = in_waves(data.rows, (0..all).collect(), |number| {
        run.check(|| format!("{} of {all} estimators", done.load(Ordering::Relaxed)))?;
        let quiet = Run { is_stopped: run.is_stopped, ..Run::silent() };
        let seeded = with_seeds(&inner, &mut Mt19937::new(seeds[number]))?;
        let sample = sampler.draw(seeds[number]);
        let bag = bag(&seeded, sample, data, &quiet, fit)
            .map_err(|error| in_estimator(&format!("{} of {all}", number + 1), error))?;
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        (run.steps)(done, all as u64);
        run.stage(format!("{done} of {all}: {}", inner.estimator));
        Ok(bag)
    });
    let bags = bags.into_iter().collect::<Result<Vec<Bag>, Error>>()?;
    let mut bagging = Bagging { bags, classes: data.classes.len(), oob_score: None, oob: None, notes: Vec::new() };
    if params.oob_score {
        run.stage("scoring the rows that estimators did not see");
        score(&mut bagging, &sampler, &seeds, data, run)?;
    }
    Ok(bagging)
}

/// Trains an estimator on a sample: by weights, or on the rows themselves if it takes no weights.
fn bag(spec: &Spec, sample: Sample, data: &Data, run: &Run<'_>, fit: Trainer<'_>) -> Result<Bag, Error> {
    let of_features = |data: &Data| match &sample.features {
        None => data.clone(),
        Some(features) => Data {
            eval: Vec::new(),
            ..data.with_features(features.iter().map(|j| data.features[*j].clone()).collect())
        },
    };
    let rows = match takes_weights(spec) {
        true => {
            let mut counts = vec![0.0; data.rows];
            sample.rows.iter().for_each(|row| counts[*row] += 1.0);
            Data { weight: Some(counts), ..of_features(data) }
        }
        false => Data { weight: None, ..of_features(&training_rows(data, &sample.rows)) },
    };
    let model = fit(spec, &rows, run)?;
    let classes = positions(&model.classes, &data.classes);
    Ok(Bag { model, features: sample.features, classes })
}

impl<'a> Sampler<'a> {
    fn new(params: &'a BaggingParams, data: &'a Data) -> Result<Self, Error> {
        let wrong = |name: &str, value: &Param, most: String| {
            let message = format!("`{name}` is {value}: an integer from 1 to {most}, or a share up to 1.0");
            Err(Error::new(ErrorKind::Parameter, message))
        };
        let total = data.weight.as_ref().map_or(data.rows as f64, |w| w.iter().sum());
        if total <= 0.0 {
            return Err(Error::new(ErrorKind::Weight, "all sample weights are 0: expected at least one above 0"));
        }
        let weighty = data.weight.as_ref().map_or(data.rows, |w| w.iter().filter(|w| **w > 0.0).count());
        let most = if params.bootstrap { 1 << 28 } else { weighty };
        let rows = match params.max_samples {
            Param::None => data.rows,
            Param::Int(count) if count >= 1 => count as usize,
            Param::Float(share) if share > 0.0 && share <= 1.0 => ((share * total) as usize).max(1),
            _ => return wrong("max_samples", &params.max_samples, most.to_string()),
        };
        if rows > most {
            return wrong("max_samples", &Param::from(rows), most.to_string());
        }
        let width = data.width();
        let features = match params.max_features {
            Param::Int(count) if count >= 1 && count as usize <= width => count as usize,
            Param::Float(share) if share > 0.0 && share <= 1.0 => ((share * width as f64) as usize).max(1),
            _ => return wrong("max_features", &params.max_features, width.to_string()),
        };
        if params.oob_score && !params.bootstrap {
            let message = "`oob_score` is true, and `bootstrap` is false: rows are left out only by a bootstrap";
            return Err(Error::new(ErrorKind::Parameter, message).help("set `bootstrap(true)`"));
        }
        Ok(Sampler { data, params, rows, features })
    }

    fn draw(&self, seed: u32) -> Sample {
        let mut random = Mt19937::new(seed);
        let width = self.data.width();
        let features = indices(&mut random, self.params.bootstrap_features, width, self.features);
        let is_all = self.features == width && !self.params.bootstrap_features;
        let rows = match (&self.data.weight, self.params.bootstrap) {
            (None, bootstrap) => indices(&mut random, bootstrap, self.data.rows, self.rows),
            (Some(weight), true) => drawn_by_weight(&normalized(weight), self.rows, &mut random),
            (Some(weight), false) => drawn_once_by_weight(&normalized(weight), self.rows, &mut random),
        };
        Sample { features: (!is_all).then_some(features), rows }
    }
}

fn normalized(weight: &[f64]) -> Vec<f64> {
    let total: f64 = weight.iter().sum();
    weight.iter().map(|w| w / total).collect()
}

/// Positions below `n`, with or without replacement.
fn indices(random: &mut Mt19937, replace: bool, n: usize, size: usize) -> Vec<usize> {
    match replace {
        true => (0..size).map(|_| random.randint(0, n as u64) as usize).collect(),
        false => random.sample_without_replacement(n as u64, size).into_iter().map(|i| i as usize).collect(),
    }
}

/// Predicts each row with the estimators that did not see it.
fn score(bagging: &mut Bagging, sampler: &Sampler<'_>, seeds: &[u32], data: &Data, run: &Run<'_>) -> Result<(), Error> {
    let (classes, width) = (bagging.classes, bagging.classes.max(1));
    let mut sums = vec![0.0; data.rows * width];
    let mut counts = vec![0.0f64; data.rows];
    for (bag, seed) in bagging.bags.iter().zip(seeds) {
        run.check(|| "some of the rows that estimators did not see".to_string())?;
        let mut seen = vec![false; data.rows];
        sampler.draw(*seed).rows.iter().for_each(|row| seen[*row] = true);
        let rows: Vec<usize> = (0..data.rows).filter(|row| !seen[*row]).collect();
        if rows.is_empty() {
            continue;
        }
        let mut own = vec![0.0; rows.len() * width];
        bag.add(&data.take(&rows), classes, &mut own)?;
        for (row, own) in rows.iter().zip(own.chunks(width)) {
            counts[*row] += 1.0;
            sums[row * width..(row + 1) * width].iter_mut().zip(own).for_each(|(sum, value)| *sum += value);
        }
    }
    let never = counts.iter().filter(|count| **count == 0.0).count();
    if never > 0 {
        let message =
            format!("{never} of {} rows were seen by all estimators and have no out-of-bag prediction", data.rows);
        bagging.notes.push(format!("{message}: raise `n_estimators`"));
    }
    // Rows without a prediction count as 0, or as the first class, as in scikit-learn.
    let score = if classes > 0 {
        let right = sums.chunks(width).zip(&data.y).filter(|(sums, y)| highest(sums) as f64 == **y).count();
        right as f64 / data.rows as f64
    } else {
        let predicted: Vec<f64> = sums.iter().zip(&counts).map(|(sum, count)| *sum / count.max(1.0)).collect();
        regression::r2(&data.y, &predicted, None)
    };
    for (sums, count) in sums.chunks_mut(width).zip(&counts) {
        let total = if classes > 0 { sums.iter().sum() } else { *count };
        sums.iter_mut().for_each(|sum| *sum = if *count > 0.0 { *sum / total } else { f64::NAN });
    }
    bagging.oob_score = Some(score);
    bagging.oob = Some(Tensor::new(vec![data.rows, width], sums));
    Ok(())
}
