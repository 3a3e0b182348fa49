//! A search whose trials are proposed by the tree-structured Parzen estimator.

use std::collections::BTreeMap;

use onrush_wire::learn::{Grid, Param, Spec};

use super::race::Race;
use crate::error::{Error, ErrorKind};
use crate::estimators::Candidate;
use crate::select::candidates;
use crate::select::tpe::{TpeDimension, TpeOptions, TpeSampler, TpeScore, TpeTrial};

/// The values that a search tries, in the order of their paths.
struct SearchSpace(Vec<(String, Grid)>);

impl SearchSpace {
    fn dimensions(&self) -> Vec<TpeDimension> {
        let dimension = |grid: &Grid| match *grid {
            Grid::List(ref values) => TpeDimension::Choice { count: values.len() },
            Grid::Uniform(low, high) => TpeDimension::Float { low, high, log: false },
            Grid::LogUniform(low, high) => TpeDimension::Float { low, high, log: true },
            Grid::Integers(low, high) => TpeDimension::Int { low, high },
        };
        self.0.iter().map(|(_, grid)| dimension(grid)).collect()
    }

    fn candidate(&self, values: &[f64]) -> Candidate {
        let param = |grid: &Grid, value: f64| match grid {
            Grid::List(values) => values.get(value as usize).cloned().unwrap_or_default(),
            Grid::Uniform(..) | Grid::LogUniform(..) => Param::Float(value),
            Grid::Integers(low, high) => Param::Int((value as i64).clamp(*low, *high)),
        };
        self.0.iter().zip(values).map(|((path, grid), value)| (path.clone(), param(grid, *value))).collect()
    }

    /// The inverse of [`Self::candidate`]. The path at fault if a value is not in the space.
    fn values(&self, candidate: &Candidate) -> Result<Vec<f64>, String> {
        let value = |grid: &Grid, param: &Param| match (grid, param) {
            (Grid::List(values), param) => values.iter().position(|value| value == param).map(|at| at as f64),
            (Grid::Uniform(low, high) | Grid::LogUniform(low, high), Param::Float(value)) => {
                Some(*value).filter(|value| low <= value && value <= high)
            }
            (Grid::Integers(low, high), Param::Int(value)) => (low <= value && value <= high).then_some(*value as f64),
            _ => None,
        };
        let of = |(path, grid): &(String, Grid)| {
            let param = candidate.iter().find(|(name, _)| name == path).map(|(_, param)| param);
            param.and_then(|param| value(grid, param)).ok_or_else(|| path.clone())
        };
        self.0.iter().map(of).collect()
    }

    /// Checks each value of a list, and the ends of each range, so that a search does not end in the middle.
    fn check(&self, estimator: &Spec) -> Result<(), Error> {
        for (path, grid) in &self.0 {
            let ends = match grid {
                Grid::List(values) => values.clone(),
                Grid::Uniform(low, high) | Grid::LogUniform(low, high) => vec![Param::Float(*low), Param::Float(*high)],
                Grid::Integers(low, high) => vec![Param::Int(*low), Param::Int(*high)],
            };
            for value in ends {
                candidates::with_params(estimator, &vec![(path.clone(), value)])?;
            }
        }
        Ok(())
    }
}

/// Runs the trials. The first ones are random, and run at the same time. Each one after them looks at all trials
/// before it.
///
/// # Errors
/// If the space is empty or a value is not allowed. If a trial of the study's file is not in the space.
pub(super) fn run(
    race: &Race<'_>,
    spec: &Spec,
    estimator: &Spec,
    (n_iter, seed, options): (usize, u32, TpeOptions),
    prunes: bool,
) -> Result<(), Error> {
    if n_iter > candidates::MOST as usize {
        return Err(Error::new(ErrorKind::Parameter, format!("`n_iter` is {n_iter}: at most {}", candidates::MOST)));
    }
    let space = SearchSpace(candidates::sorted(spec)?);
    space.check(estimator)?;
    let sampler = TpeSampler::new(space.dimensions(), options, seed);
    // For each number of a trial its position in the race, and its values.
    let mut trials: BTreeMap<usize, (usize, Vec<f64>)> = BTreeMap::new();
    let add = |number: usize, candidate: Candidate| -> Result<usize, Error> {
        let spec = candidates::with_params(estimator, &candidate)?;
        Ok(race.add(number, candidate, spec))
    };
    for trial in race.study.iter().flat_map(|study| &study.trials) {
        let values = space.values(&trial.candidate).map_err(|path| {
            let what = format!("`{path}` has no value of the space");
            race.study
                .as_ref()
                .map_or_else(|| Error::new(ErrorKind::Study, &*what), |s| s.wrong_line(trial.line, &what))
        })?;
        trials.insert(trial.number, (add(trial.number, trial.candidate.clone())?, values));
    }
    let new = (0..n_iter).filter(|number| !trials.contains_key(number)).collect::<Vec<usize>>();
    race.plan(trials.len() + new.len());
    let (startup, rest): (Vec<usize>, Vec<usize>) = new.into_iter().partition(|number| sampler.is_startup(*number));
    let begin = trials.len();
    for number in startup {
        let values = sampler.propose(number, &[]);
        trials.insert(number, (add(number, space.candidate(&values))?, values));
    }
    race.run_all(begin..trials.len());
    for number in rest {
        if (race.run.is_stopped)() {
            return Ok(());
        }
        let before = || trials.range(..number).map(|(_, (at, values))| (*at, values));
        let score = |at: usize| match race.mean(at) {
            Some(mean) => Some(TpeScore::Complete(mean)),
            None => race.pruned(at).map(|(folds, score)| TpeScore::Pruned { folds, score }),
        };
        let history: Vec<TpeTrial> =
            before().filter_map(|(at, values)| Some(TpeTrial { values: values.clone(), score: score(at)? })).collect();
        let values = sampler.propose(number, &history);
        let trial = add(number, space.candidate(&values))?;
        match leader(race, before().map(|(at, _)| at)) {
            Some(leader) if prunes => race.race_against(leader, trial),
            _ => race.run_all(trial..trial + 1),
        }
        trials.insert(number, (trial, values));
    }
    Ok(())
}

/// The complete trial with the best mean, the first of equal ones.
fn leader(race: &Race<'_>, trials: impl Iterator<Item = usize>) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for trial in trials {
        match race.mean(trial) {
            Some(mean) if !mean.is_nan() && best.is_none_or(|(_, most)| mean > most) => best = Some((trial, mean)),
            _ => {}
        }
    }
    best.map(|(trial, _)| trial)
}
