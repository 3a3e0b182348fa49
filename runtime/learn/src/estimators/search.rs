//! A finished search of parameters: its trials, and the best model.

use onrush_wire::learn::Param;
use serde::{Deserialize, Serialize};

use super::FittedModel;
use crate::data::sparse::Sparse;
use crate::data::{Column, Data};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::tensor::Tensor;

/// Values of parameters by their paths, in the order of the paths.
pub type Candidate = Vec<(String, Param)>;

/// How a trial ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    Done,
    Pruned,
    Failed,
    /// The user stopped the search before its last fold.
    Stopped,
}

impl State {
    pub fn word(self) -> &'static str {
        match self {
            State::Done => "done",
            State::Pruned => "pruned",
            State::Failed => "failed",
            State::Stopped => "stopped",
        }
    }
}

/// An iteration of successive halving.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HalvingRound {
    /// From 0.
    pub iteration: usize,
    /// The rows of each candidate, or the value of the parameter.
    pub n_resources: usize,
}

/// A trial of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialResult {
    pub params: Candidate,
    pub state: State,
    /// Why it failed, or why a fold has `error_score`. Empty if none failed.
    pub error: String,
    /// The iteration of successive halving. `None` in other searches.
    #[serde(default)]
    pub round: Option<HalvingRound>,
}

/// The scores of one scorer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ScorerTable {
    /// The name in the columns of the results: `score` if one scorer was given.
    pub name: String,
    /// Trials x folds: NaN for a fold that did not run.
    pub test: Tensor,
    /// Scores of the training rows. `None` unless asked for.
    pub train: Option<Tensor>,
}

/// A search with its best model.
#[derive(Serialize, Deserialize)]
pub struct Search {
    /// `None` without `refit`.
    pub(crate) best: Option<Box<FittedModel>>,
    pub(crate) best_index: usize,
    pub(crate) trials: Vec<TrialResult>,
    /// Trials x folds, of the scorer that decides: NaN for a fold that did not run.
    pub(crate) scores: Tensor,
    /// All scores, if there is more than those of one scorer on test rows.
    #[serde(default)]
    pub(crate) all_scores: Vec<ScorerTable>,
    /// Trials x folds: the best rounds of boosted models that stop early.
    #[serde(default)]
    pub(crate) best_iterations: Option<Tensor>,
    /// Trials x folds, in seconds.
    pub(crate) fit_times: Tensor,
    pub(crate) score_times: Tensor,
    pub(crate) notes: Vec<String>,
    /// Why the best parameters were not trained on all rows. Empty if they were, or without `refit`.
    #[serde(default)]
    pub(crate) untrained: String,
}

/// The mean and the population's standard deviation.
pub(crate) fn mean_and_std(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt())
}

impl Search {
    fn folds(&self) -> usize {
        self.scores.shape.get(1).copied().unwrap_or(0)
    }

    /// Mean and standard deviation of the folds of a trial that ran. NaN if none did, or if a fold failed.
    fn spread(&self, scores: &Tensor, trial: usize) -> (f64, f64) {
        match self.trials[trial].state {
            State::Done => mean_and_std(scores.row(trial)),
            State::Failed => (f64::NAN, f64::NAN),
            State::Pruned | State::Stopped => mean_and_std(&there(scores, trial)),
        }
    }

    /// The rank of each trial by the scorer that decides.
    pub(crate) fn ranks(&self) -> Vec<i64> {
        self.ranks_by(&self.scores)
    }

    /// The rank of each trial, from 1: equal means share the first rank. Trials that are not complete, or without a
    /// score, share the last one.
    fn ranks_by(&self, scores: &Tensor) -> Vec<i64> {
        let mean = |trial: usize| match self.trials[trial].state {
            State::Done => Some(self.spread(scores, trial).0).filter(|m| !m.is_nan()),
            _ => None,
        };
        let means: Vec<Option<f64>> = (0..self.trials.len()).map(mean).collect();
        let mut order: Vec<f64> = means.iter().flatten().copied().collect();
        order.sort_by(|a, b| b.total_cmp(a));
        let rank = |mean: &Option<f64>| mean.map_or(order.len(), |mean| order.partition_point(|m| *m > mean));
        means.iter().map(|mean| rank(mean) as i64 + 1).collect()
    }

    /// The complete trial with the best mean, the first of equal ones. A successive halving has it in the last
    /// iteration that was not stopped. `None` if no trial is complete.
    pub(crate) fn best_of_last_round(&self) -> Option<usize> {
        let ranks = self.ranks();
        let best = |round: Option<usize>| {
            let is_of = |trial: &usize| round.is_none_or(|round| self.iteration(*trial) == Some(round));
            let done = (0..self.trials.len()).filter(is_of).filter(|trial| self.trials[*trial].state == State::Done);
            done.min_by_key(|trial| ranks[*trial])
        };
        let Some(last) = (0..self.trials.len()).filter_map(|trial| self.iteration(trial)).max() else {
            return best(None);
        };
        let is_stopped = |round: usize| {
            let of = |trial: &usize| self.iteration(*trial) == Some(round);
            (0..self.trials.len()).filter(of).any(|trial| self.trials[trial].state == State::Stopped)
        };
        let complete = (0..=last).rev().filter(|round| !is_stopped(*round)).find_map(|round| best(Some(round)));
        complete.or_else(|| best(Some(0)))
    }

    fn iteration(&self, trial: usize) -> Option<usize> {
        self.trials[trial].round.map(|round| round.iteration)
    }

    /// The iterations of successive halving. `None` for other searches.
    fn iterations(&self) -> Option<Attribute> {
        let mut rounds: Vec<(HalvingRound, i64)> = Vec::new();
        for round in self.trials.iter().filter_map(|trial| trial.round) {
            match rounds.last_mut() {
                Some((last, count)) if *last == round => *count += 1,
                _ => rounds.push((round, 1)),
            }
        }
        let ints = |of: &dyn Fn(&(HalvingRound, i64)) -> i64| Values::Ints(rounds.iter().map(of).collect());
        (!rounds.is_empty()).then(|| {
            Attribute::Frame(vec![
                ("iter".to_string(), ints(&|(round, _)| round.iteration as i64)),
                ("n_resources".to_string(), ints(&|(round, _)| round.n_resources as i64)),
                ("n_candidates".to_string(), ints(&|(_, count)| *count)),
            ])
        })
    }

    /// The mean over the folds of a trial that have a best round. NaN without one.
    pub(crate) fn best_rounds(&self, trial: usize) -> f64 {
        self.best_iterations.as_ref().map_or(f64::NAN, |rounds| mean_and_std(&there(rounds, trial)).0)
    }

    /// Columns of one scorer: mean, standard deviation, rank and folds.
    fn columns_of(&self, what: &str, scores: &Tensor, ranked: bool) -> Vec<(String, Values)> {
        let trials = 0..self.trials.len();
        let floats = |of: &dyn Fn(usize) -> f64| Values::Floats(trials.clone().map(of).collect());
        let mut columns = vec![
            (format!("mean_{what}"), floats(&|trial| self.spread(scores, trial).0)),
            (format!("std_{what}"), floats(&|trial| self.spread(scores, trial).1)),
        ];
        if ranked {
            columns.push((format!("rank_{what}"), Values::Ints(self.ranks_by(scores))));
        }
        let fold = |fold: usize| (format!("split{fold}_{what}"), floats(&|trial| scores.row(trial)[fold]));
        columns.extend((0..self.folds()).map(fold));
        columns
    }

    fn results(&self) -> Attribute {
        let trials = 0..self.trials.len();
        let mut columns: Vec<(String, Values)> = Vec::new();
        let rounds: Option<Vec<HalvingRound>> = self.trials.iter().map(|trial| trial.round).collect();
        if let Some(rounds) = rounds.filter(|rounds| !rounds.is_empty()) {
            let iterations = rounds.iter().map(|round| round.iteration as i64).collect();
            columns.push(("iter".to_string(), Values::Ints(iterations)));
            let resources = rounds.iter().map(|round| round.n_resources as i64).collect();
            columns.push(("n_resources".to_string(), Values::Ints(resources)));
        }
        for (i, (path, _)) in self.trials.first().map_or(&[][..], |t| &t.params).iter().enumerate() {
            let values: Vec<&Param> = self.trials.iter().map(|t| &t.params[i].1).collect();
            columns.push((format!("param_{path}"), column(&values)));
        }
        if self.all_scores.is_empty() {
            columns.extend(self.columns_of("test_score", &self.scores, true));
        }
        for ScorerTable { name, test, train } in &self.all_scores {
            columns.extend(self.columns_of(&format!("test_{name}"), test, true));
            if let Some(train) = train {
                columns.extend(self.columns_of(&format!("train_{name}"), train, false));
            }
        }
        let floats = |of: &dyn Fn(usize) -> f64| Values::Floats(trials.clone().map(of).collect());
        let mean = |times: &Tensor, trial: usize| mean_and_std(&there(times, trial)).0;
        columns.push(("mean_fit_time".to_string(), floats(&|trial| mean(&self.fit_times, trial))));
        columns.push(("mean_score_time".to_string(), floats(&|trial| mean(&self.score_times, trial))));
        if self.best_iterations.is_some() {
            columns.push(("mean_best_iteration".to_string(), floats(&|trial| self.best_rounds(trial))));
        }
        let states = self.trials.iter().map(|t| t.state.word().to_string());
        columns.push(("state".to_string(), Values::Strs(states.collect())));
        if self.trials.iter().any(|t| !t.error.is_empty()) {
            columns.push(("error".to_string(), Values::Strs(self.trials.iter().map(|t| t.error.clone()).collect())));
        }
        Attribute::Frame(columns)
    }
}

/// The values of the folds of a trial that are there.
fn there(values: &Tensor, trial: usize) -> Vec<f64> {
    values.row(trial).iter().copied().filter(|v| !v.is_nan()).collect()
}

/// The values of a parameter as a column: numbers, with NaN for none, or else strings as they are written in a cell.
pub fn column(values: &[&Param]) -> Values {
    let ints = values.iter().map(|v| match v {
        Param::Int(value) => Some(*value),
        _ => None,
    });
    if let Some(ints) = ints.collect::<Option<Vec<i64>>>() {
        return Values::Ints(ints);
    }
    let bools = values.iter().map(|v| match v {
        Param::Bool(value) => Some(*value),
        _ => None,
    });
    if let Some(bools) = bools.collect::<Option<Vec<bool>>>() {
        return Values::Bools(bools);
    }
    let floats = values.iter().map(|v| match v {
        Param::None => Some(f64::NAN),
        value => value.as_f64(),
    });
    match floats.collect::<Option<Vec<f64>>>() {
        Some(floats) => Values::Floats(floats),
        None => Values::Strs(values.iter().map(ToString::to_string).collect()),
    }
}

impl Model for Search {
    fn outputs(&self, features: &[Field]) -> Vec<Role> {
        self.best.as_ref().map_or_else(Vec::new, |best| best.model().outputs(features))
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        match &self.best {
            Some(best) => best.model().apply(&*best.ready(data)?, wanted),
            None if !self.untrained.is_empty() => {
                Err(Error::new(ErrorKind::Search, self.untrained.clone())
                    .help("train the estimator with `best_params`"))
            }
            None => Err(Error::new(ErrorKind::Search, "the search has no model: it was run with `refit` = false")
                .help("set `refit` to true, or train the estimator with `best_params`")),
        }
    }

    fn decision(&self, data: &Data) -> Result<Option<Vec<Vec<f64>>>, Error> {
        self.best.as_ref().map_or(Ok(None), |best| best.model().decision(&*best.ready(data)?))
    }

    fn inverse(&self, data: &Data, features: &[Field]) -> Result<Option<Vec<Column>>, Error> {
        self.best.as_ref().map_or(Ok(None), |best| best.model().inverse(data, features))
    }

    fn sparse_outputs(&self, _: usize) -> usize {
        self.best.as_ref().map_or(0, |best| best.sparse_outputs())
    }

    fn apply_sparse(&self, data: &Data) -> Result<Option<Sparse>, Error> {
        match &self.best {
            Some(best) => best.model().apply_sparse(&*best.ready(data)?),
            None => Ok(None),
        }
    }

    fn attribute(&self, name: &str, features: &[Field], classes: &[String]) -> Option<Attribute> {
        match name {
            "results" => Some(self.results()),
            "best_score" => Some(Attribute::Float(self.spread(&self.scores, self.best_index).0)),
            "iterations" => self.iterations(),
            "best_index" => Some(Attribute::Int(self.best_index as i64)),
            "best_params" => {
                let params = &self.trials[self.best_index].params;
                let names = params.iter().map(|(name, _)| name.clone()).collect();
                let values = params.iter().map(|(_, value)| value.to_string()).collect();
                Some(Attribute::Frame(vec![
                    ("name".to_string(), Values::Strs(names)),
                    ("value".to_string(), Values::Strs(values)),
                ]))
            }
            other => self.best.as_ref()?.model().attribute(other, features, classes),
        }
    }

    fn bars(&self) -> Option<(&'static str, Vec<f64>)> {
        self.best.as_ref()?.model().bars()
    }

    fn curves(&self) -> Vec<(String, Vec<(f64, f64)>)> {
        self.best.as_ref().map_or_else(Vec::new, |best| best.model().curves())
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        notes.extend(self.best.iter().flat_map(|best| best.model().notes()));
        notes
    }

    fn rows(&self) -> Option<Vec<f64>> {
        self.best.as_ref()?.model().rows()
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        let broken = |what: &str| Err(Error::new(ErrorKind::ModelFile, format!("the search has {what}")));
        let shape = &self.scores.shape;
        let fits = shape.len() == 2 && shape[0] == self.trials.len();
        let others = [&self.fit_times, &self.score_times].into_iter().chain(&self.best_iterations);
        let scores = self.all_scores.iter().flat_map(|scores| std::iter::once(&scores.test).chain(&scores.train));
        if !fits || others.chain(scores).any(|table| table.shape != *shape) {
            return broken("tables of scores that do not fit its trials");
        }
        if self.best_index >= self.trials.len() {
            return broken("no trial at the position of the best one");
        }
        let paths = |trial: &TrialResult| trial.params.iter().map(|p| p.0.clone()).collect::<Vec<String>>();
        if self.trials.iter().any(|trial| paths(trial) != paths(&self.trials[0])) {
            return broken("trials with different parameters");
        }
        match &self.best {
            Some(best) if best.features.len() != features || best.classes.len() != classes => {
                broken("a best model with other features or classes")
            }
            Some(best) => best.model().check(features, classes),
            None => Ok(()),
        }
    }

    fn bytes(&self) -> u64 {
        let tables = 3 + self.all_scores.iter().map(|scores| 1 + u64::from(scores.train.is_some())).sum::<u64>();
        tables * self.scores.bytes() + self.best.as_ref().map_or(0, |best| best.model().bytes())
    }
}
