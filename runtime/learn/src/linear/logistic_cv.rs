//! Logistic regression with a penalty that cross-validation chooses.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use onrush_wire::learn::Param;
use rayon::prelude::*;

use super::folds;
use super::logistic::{Logistic, Problem, Settings, decisions, model, predicted, probabilities, row_weights, solve};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::params;
use crate::run::Run;
use crate::tensor::Tensor;

/// Trains `LogisticRegressionCV`.
pub fn fit(params: &params::LogisticRegressionCV, data: &Data, run: &Run<'_>) -> Result<Logistic, Error> {
    let settings = Settings::new(params.fit_intercept, params.max_iter, params.tol)?;
    let cs = penalties(&params.cs)?;
    let ratios = &params.l1_ratios;
    if ratios.is_empty() || ratios.iter().any(|r| !(0.0..=1.0).contains(r)) {
        let message = format!("`l1_ratios` is {ratios}: expected numbers between 0 and 1");
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    let folds = folds::of(params.cv, data)?;
    let scorer = params.scoring.as_deref().unwrap_or("accuracy");
    // Weights of classes are those of all rows, also in the folds.
    let weight = row_weights(&params.class_weight, data)?;
    let jobs: Vec<(usize, usize)> = (0..folds.count).flat_map(|f| (0..ratios.len()).map(move |r| (f, r))).collect();
    let quiet = Run { is_stopped: run.is_stopped, stage: &|_| {}, steps: &|_, _| {}, detail: &|_| {} };
    run.stage(format!("{} penalties on {} folds", cs.len() * ratios.len(), folds.count));
    let done = AtomicU64::new(0);
    let found: Vec<Result<Path, Error>> = jobs
        .par_iter()
        .map(|(fold, ratio)| {
            run.check(|| format!("{} of {} paths", done.load(Relaxed), jobs.len()))?;
            let train = folds.train(*fold);
            let mut problem = Problem::new(data, weight.as_deref(), Some(&train), settings.centre)?;
            let test = data.take(&folds.test(*fold));
            let path = path(&mut problem, &test, &cs, ratios[*ratio], scorer, &settings, &quiet)?;
            (run.steps)(done.fetch_add(1, Relaxed) + 1, jobs.len() as u64);
            Ok(path)
        })
        .collect();
    let found: Vec<Path> = found.into_iter().collect::<Result<_, _>>()?;
    let of = |fold: usize, ratio: usize| &found[fold * ratios.len() + ratio];
    // The first of the best, penalties before ratios.
    let sum = |c: usize, ratio: usize| (0..folds.count).map(|f| of(f, ratio).scores[c]).sum::<f64>();
    let (mut best, mut chosen) = (f64::NEG_INFINITY, (0, 0));
    for c in 0..cs.len() {
        for ratio in 0..ratios.len() {
            if sum(c, ratio) > best {
                (best, chosen) = (sum(c, ratio), (c, ratio));
            }
        }
    }
    let mut table = Vec::new();
    for (r, ratio) in ratios.iter().enumerate() {
        for (i, c) in cs.iter().enumerate() {
            (0..folds.count).for_each(|f| table.extend([*ratio, *c, f as f64, of(f, r).scores[i]]));
        }
    }
    let (c, ratio) = (cs[chosen.0], ratios[chosen.1]);
    run.stage("the chosen penalty on all rows");
    let mut problem = Problem::new(data, weight.as_deref(), None, settings.centre)?;
    problem.penalise(c, ratio);
    let mut start = vec![0.0; problem.outputs * (data.width() + 1)];
    for fold in 0..folds.count {
        let coef = &of(fold, chosen.1).coefs[chosen.0];
        start.iter_mut().zip(coef).for_each(|(s, w)| *s += w / folds.count as f64);
    }
    let end = solve(&problem, &start, &settings, run)?;
    let mut out = model(&problem, end, &settings);
    let slow: usize = found.iter().map(|p| p.slow).sum();
    if slow > 0 {
        let all = jobs.len() * cs.len();
        out.notes.push(format!(
            "{slow} of {all} trainings in folds did not converge within `max_iter` {}",
            settings.max_iter
        ));
    }
    let scores = Tensor::new(vec![table.len() / 4, 4], table);
    Ok(Logistic { c: Some(c), l1_ratio: Some(ratio), scores: Some(scores), ..out })
}

/// The penalties in ascending order of `c`: a list, or a count of powers between 1e-4 and 1e4.
fn penalties(cs: &Param) -> Result<Vec<f64>, Error> {
    let wrong = || {
        let message = format!("`cs` is {cs}: expected a count of 1 to 100000, or a list of numbers above 0");
        Error::new(ErrorKind::Parameter, message)
    };
    let list = match cs {
        Param::List(_) => params::floats(cs).ok_or_else(wrong)?,
        _ => {
            let count = params::count(cs).filter(|n| (1..=100_000).contains(n)).ok_or_else(wrong)?;
            (0..count).map(|i| 10f64.powf(-4.0 + 8.0 * i as f64 / (count.max(2) - 1) as f64)).collect()
        }
    };
    match list.is_empty() || list.iter().any(|c| c.is_nan() || *c <= 0.0) {
        true => Err(wrong()),
        false => Ok(list),
    }
}

/// Coefficients and scores on the test rows for each penalty.
struct Path {
    coefs: Vec<Vec<f64>>,
    scores: Vec<f64>,
    /// Trainings that did not converge.
    slow: usize,
}

fn path(
    problem: &mut Problem<'_>,
    test: &Data,
    cs: &[f64],
    ratio: f64,
    scorer: &str,
    settings: &Settings,
    run: &Run<'_>,
) -> Result<Path, Error> {
    let d = problem.width();
    let mut coef = vec![0.0; problem.outputs * (d + 1)];
    let mut path = Path { coefs: Vec::new(), scores: Vec::new(), slow: 0 };
    for c in cs {
        problem.penalise(*c, ratio);
        let end = solve(problem, &coef, settings, run)?;
        coef = end.coef;
        let weights: Vec<f64> = coef.chunks_exact(d + 1).flat_map(|row| row[..d].to_vec()).collect();
        let intercepts: Vec<f64> = coef.chunks_exact(d + 1).map(|row| row[d]).collect();
        path.scores.push(score(scorer, test, decisions(test, &weights, &intercepts)));
        path.coefs.push(coef.clone());
        path.slow += usize::from(!end.converged);
    }
    Ok(path)
}

/// The score of test rows under the weights of rows.
fn score(scorer: &str, test: &Data, decisions: Vec<Vec<f64>>) -> f64 {
    let (mut sum, mut total) = (0.0, 0.0);
    match scorer {
        "neg_log_loss" => {
            let proba = probabilities(decisions);
            for (i, y) in test.y.iter().enumerate() {
                // scikit-learn clips probabilities at the resolution of the type.
                let p = proba[*y as usize][i].clamp(f64::EPSILON, 1.0 - f64::EPSILON);
                sum += test.weight_of(i) * p.ln();
                total += test.weight_of(i);
            }
        }
        _ => {
            for (i, class) in predicted(&decisions).iter().enumerate() {
                sum += test.weight_of(i) * f64::from(u8::from(*class == test.y[i]));
                total += test.weight_of(i);
            }
        }
    }
    sum / total
}
