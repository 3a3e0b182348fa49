//! Searches of parameters: `GridSearchCV` and `RandomizedSearchCV`.
//!
//! A trial is a combination of parameters, scored on each fold. The best mean wins, the first of equal ones, and is
//! trained again on all rows. A trial that fails is recorded and does not end the search. A parameter that does not
//! exist or is out of range is an error before the first trial.
//!
//! With `prune` the folds are a race (Maron and Moore 1994). All trials run two folds, and the leader runs all of its
//! folds. Before each further fold a trial is dropped by one of two rules:
//! 1. Its mean would stay below that of the leader even if each remaining fold scored as high as the best single fold
//!    of any trial so far.
//! 2. The leader is better on the same folds by more than the one-sided 97.5 % bound of Student's t distribution over
//!    the differences.
//!
//! Both rules are estimates: a dropped trial could still have won. Which trials are dropped does not depend on threads.

use std::time::{Duration, Instant};

use onrush_wire::learn::{Detail, Param, Spec, Splitter, Trial};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

use super::candidates::{self, Candidate};
use super::score;
use super::split::{self, RowSplit};
use super::validate::{self, Trainer};
use crate::check;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::linear::t_distribution;
use crate::model::{Attribute, Field, FittedModel, Model, Role, Values};
use crate::params;
use crate::run::Run;
use crate::tensor::Tensor;

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
    fn word(self) -> &'static str {
        match self {
            State::Done => "done",
            State::Pruned => "pruned",
            State::Failed => "failed",
            State::Stopped => "stopped",
        }
    }
}

/// A trial of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialResult {
    pub params: Candidate,
    pub state: State,
    /// Why it failed. Empty if it did not.
    pub error: String,
}

/// A search with its best model.
#[derive(Serialize, Deserialize)]
pub struct Search {
    /// `None` without `refit`.
    best: Option<Box<FittedModel>>,
    best_index: usize,
    trials: Vec<TrialResult>,
    /// Trials x folds: NaN for a fold that did not run.
    scores: Tensor,
    /// Trials x folds, in seconds.
    fit_times: Tensor,
    score_times: Tensor,
    notes: Vec<String>,
    /// Why the best parameters were not trained on all rows. Empty if they were, or without `refit`.
    #[serde(default)]
    untrained: String,
}

/// What a fold of a trial gave: score, and seconds of training and of scoring.
type Outcome = Result<(f64, f64, f64), Error>;

/// Trials reported at once: the last ones.
const SHOWN: usize = 200;

/// Parameters of a search.
struct SearchParams {
    scoring: Option<String>,
    refit: bool,
    prune: bool,
    /// `None`: all combinations are tried.
    draws: Option<Draws>,
}

/// How many combinations are drawn.
#[derive(Clone, Copy)]
struct Draws {
    n_iter: usize,
    seed: u32,
}

impl SearchParams {
    fn of(spec: &Spec) -> Self {
        match spec.estimator.as_str() {
            "GridSearchCV" => {
                let params::GridSearchCV { scoring, refit, prune } = params::GridSearchCV::of(spec);
                SearchParams { scoring, refit, prune, draws: None }
            }
            _ => {
                let params::RandomizedSearchCV { n_iter, scoring, refit, random_state, prune } =
                    params::RandomizedSearchCV::of(spec);
                SearchParams { scoring, refit, prune, draws: Some(Draws { n_iter, seed: params::seed(random_state) }) }
            }
        }
    }
}

/// Trains `GridSearchCV` or `RandomizedSearchCV`.
pub fn fit(spec: &Spec, data: &Data, run: &Run<'_>) -> Result<Search, Error> {
    fit_with(spec, data, run, &crate::fit)
}

/// The work of [`fit`] with any trainer.
pub(crate) fn fit_with(spec: &Spec, data: &Data, run: &Run<'_>, trainer: Trainer<'_>) -> Result<Search, Error> {
    let Some(part) = spec.parts.first() else {
        return Err(Error::new(ErrorKind::Parts, format!("{} has no estimator to try", spec.estimator)));
    };
    let is_classifier = !data.classes.is_empty();
    let params = SearchParams::of(spec);
    let scorer = params.scoring.as_deref().unwrap_or(score::default_scorer(is_classifier));
    // Clusterers have no classes: what does not fit them is found when they are scored.
    if !data.y.is_empty() {
        score::check(scorer, is_classifier)?;
    }
    let candidates = match params.draws {
        None => candidates::grid(spec)?,
        Some(draws) => candidates::sample(spec, draws.n_iter, draws.seed)?,
    };
    let specs: Vec<Spec> =
        candidates.iter().map(|c| candidates::with_params(&part.spec, c)).collect::<Result<_, _>>()?;
    let splitter = spec.cv.clone().unwrap_or(Splitter::Auto { n_splits: 5 });
    let splits = validate::splits_of(data, &splitter)?;
    let mut notes: Vec<String> = Vec::new();
    if !data.y.is_empty() && is_classifier {
        notes.extend(split::small_class_note(&splitter, &data.y, &data.classes));
    }
    if let Some(Draws { n_iter, .. }) = params.draws
        && candidates.len() < n_iter
    {
        notes.push(format!(
            "there are {} combinations, fewer than `n_iter` = {n_iter}: all were tried",
            candidates.len()
        ));
    }
    let race = Race::new(&candidates, specs, data, splits, scorer, run, trainer);
    run.stage(format!("try {} combinations on {} folds", race.specs.len(), race.splits.len()));
    match params.prune {
        true => race.race(),
        false => race.run(race.tasks(0..race.splits.len())),
    }
    race.report(true);
    let mut search = race.into_search()?;
    if search.trials.iter().any(|t| t.state == State::Stopped) {
        let done = search.trials.iter().filter(|t| t.state == State::Done).count();
        notes.push(format!("stopped after {done} of {} trials: this is the best of them", search.trials.len()));
    }
    let failed = search.trials.iter().filter(|t| t.state == State::Failed).count();
    if failed > 0 {
        let first = search.trials.iter().find(|t| t.state == State::Failed).map_or("", |t| t.error.as_str());
        notes.push(format!("{failed} of {} trials failed, the first with: {first}", search.trials.len()));
    }
    search.notes = notes;
    if params.refit {
        run.stage("train the best parameters on all rows");
        let best = candidates::with_params(&part.spec, &search.trials[search.best_index].params)?;
        // A search that the user stopped still gives the best model. This training then cannot be stopped: the user's
        // flag stays set, so that a second stop looks like the first one.
        let listens_not = Run { is_stopped: &|| false, stage: run.stage, ..Run::silent() };
        let run = if (run.is_stopped)() {
            listens_not
        } else {
            Run { is_stopped: run.is_stopped, stage: run.stage, ..Run::silent() }
        };
        match trainer(&best, data, &run) {
            Ok(best) => search.best = Some(Box::new(best)),
            // The trials are worth more than this training: the search stays, and says why it has no model.
            Err(error) => {
                search.untrained = format!("the best parameters were not trained on all rows: {}", error.message);
                search.notes.push(search.untrained.clone());
            }
        }
    }
    Ok(search)
}

/// The trials while they run.
struct Race<'a> {
    candidates: &'a [Candidate],
    specs: Vec<Spec>,
    data: &'a Data,
    splits: Vec<RowSplit>,
    scorers: [String; 1],
    run: &'a Run<'a>,
    trainer: Trainer<'a>,
    table: Mutex<Table>,
}

struct Table {
    /// For each trial what its folds gave. `None`: has not run.
    outcomes: Vec<Vec<Option<Outcome>>>,
    pruned: Vec<bool>,
    done: u64,
    reported: Option<Instant>,
}

impl Table {
    fn has_failed(&self, trial: usize) -> bool {
        self.outcomes[trial].iter().flatten().any(Result::is_err)
    }
}

impl<'a> Race<'a> {
    fn new(
        candidates: &'a [Candidate],
        specs: Vec<Spec>,
        data: &'a Data,
        splits: Vec<RowSplit>,
        scorer: &str,
        run: &'a Run<'a>,
        trainer: Trainer<'a>,
    ) -> Self {
        let table = Table {
            outcomes: vec![vec![None; splits.len()]; specs.len()],
            pruned: vec![false; specs.len()],
            done: 0,
            reported: None,
        };
        let (scorers, table) = ([scorer.to_string()], Mutex::new(table));
        Race { candidates, specs, data, splits, scorers, run, trainer, table }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock()
    }

    /// The tasks of all trials that are in the race, on these folds: trial x folds + fold.
    fn tasks(&self, folds: std::ops::Range<usize>) -> Vec<usize> {
        let table = self.table();
        let left = (0..self.specs.len()).filter(|trial| !table.pruned[*trial]);
        let of_trial = |trial: usize| folds.clone().map(move |fold| (trial, fold));
        let tasks = left.flat_map(of_trial).filter(|(trial, fold)| table.outcomes[*trial][*fold].is_none());
        tasks.map(|(trial, fold)| trial * self.splits.len() + fold).collect()
    }

    fn run(&self, tasks: Vec<usize>) {
        validate::in_waves(self.data.rows, tasks, |task| {
            let (trial, fold) = (task / self.splits.len(), task % self.splits.len());
            if (self.run.is_stopped)() {
                return;
            }
            // Only where folds run one after another: which of them ran must not depend on threads.
            if validate::is_sequential(self.data.rows) && self.table().has_failed(trial) {
                return;
            }
            let inner = Run { is_stopped: self.run.is_stopped, ..Run::silent() };
            let (spec, split) = (&self.specs[trial], &self.splits[fold]);
            let made = validate::train_and_score(spec, self.data, split, &self.scorers, false, &inner, self.trainer);
            let outcome = match made {
                Err(error) if error.is_stopped() => return,
                Err(error) => Err(error),
                Ok(made) => Ok((made.test.first().map_or(f64::NAN, |t| t.1), made.fit_time, made.score_time)),
            };
            let mut table = self.table();
            table.outcomes[trial][fold] = Some(outcome);
            table.done += 1;
            drop(table);
            self.report(false);
        });
    }

    /// Runs the folds with pruning: see the head of this file.
    fn race(&self) {
        let folds = self.splits.len();
        self.run(self.tasks(0..folds.min(2)));
        if folds <= 2 {
            return;
        }
        let Some(leader) = self.leader(2) else { return self.run(self.tasks(2..folds)) };
        self.run((2..folds).map(|fold| leader * folds + fold).collect());
        for fold in 2..folds {
            self.prune(leader, fold);
            self.run(self.tasks(fold..fold + 1));
        }
    }

    /// The trial with the best mean over the first folds.
    fn leader(&self, folds: usize) -> Option<usize> {
        let table = self.table();
        let means = table.outcomes.iter().map(|of| Some(known(&of[..folds])?.iter().sum::<f64>()));
        let better = |best: Option<(usize, f64)>, (trial, mean): (usize, Option<f64>)| match (best, mean) {
            (best, None) => best,
            (_, Some(mean)) if mean.is_nan() => best,
            (Some((_, most)), Some(mean)) if mean <= most => best,
            (_, Some(mean)) => Some((trial, mean)),
        };
        means.enumerate().fold(None, better).map(|(trial, _)| trial)
    }

    /// Drops trials that have run `folds` folds and can hardly beat the leader.
    fn prune(&self, leader: usize, folds: usize) {
        let mut table = self.table();
        let Some(best) = known(&table.outcomes[leader]) else { return };
        let all = best.len() as f64;
        let goal = best.iter().sum::<f64>() / all;
        let scores = table.outcomes.iter().flatten().filter_map(|o| o.as_ref()?.as_ref().ok().map(|o| o.0));
        let bound = t_distribution::quantile(0.025, (folds - 1) as f64);
        let highest = scores.fold(f64::NEG_INFINITY, f64::max);
        for trial in (0..self.specs.len()).filter(|trial| *trial != leader) {
            let Some(own) = known(&table.outcomes[trial][..folds]) else { continue };
            let n = folds as f64;
            let most = (own.iter().sum::<f64>() + (all - n) * highest) / all;
            let behind: Vec<f64> = best.iter().zip(&own).map(|(a, b)| a - b).collect();
            let mean = behind.iter().sum::<f64>() / n;
            let variance = behind.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0);
            if most < goal || mean > bound * (variance / n).sqrt() {
                table.pruned[trial] = true;
            }
        }
    }

    /// Shows the trials, at most ten times a second unless it is the last time.
    fn report(&self, last: bool) {
        let mut table = self.table();
        let now = Instant::now();
        if !last && table.reported.is_some_and(|at| now - at < Duration::from_millis(100)) {
            return;
        }
        table.reported = Some(now);
        let dropped = |trial: usize| match table.pruned[trial] || table.has_failed(trial) {
            true => table.outcomes[trial].iter().filter(|o| o.is_none()).count() as u64,
            false => 0,
        };
        let all = (self.specs.len() * self.splits.len()) as u64 - (0..self.specs.len()).map(dropped).sum::<u64>();
        let started = |trial: &usize| table.outcomes[*trial].iter().any(Option::is_some);
        let mut shown: Vec<usize> = (0..self.specs.len()).rev().filter(started).take(SHOWN).collect();
        shown.reverse();
        let trials = shown.into_iter().map(|trial| self.shown(&table, trial)).collect();
        let done = table.done;
        drop(table);
        (self.run.steps)(done, all);
        (self.run.detail)(Detail::Trials(trials));
    }

    fn shown(&self, table: &Table, trial: usize) -> Trial {
        let outcomes = &table.outcomes[trial];
        let scores: Vec<f64> = outcomes.iter().filter_map(|o| Some(o.as_ref()?.as_ref().ok()?.0)).collect();
        let state = match state(outcomes, table.pruned[trial]) {
            State::Stopped => "running",
            state => state.word(),
        };
        let spread = (!scores.is_empty()).then(|| mean_and_std(&scores));
        Trial {
            number: trial as u32,
            params: self.candidates[trial].clone(),
            mean: spread.map(|s| s.0),
            std: spread.map(|s| s.1),
            folds: outcomes.iter().flatten().count() as u32,
            state: state.to_string(),
        }
    }

    fn into_search(self) -> Result<Search, Error> {
        let (trials, folds) = (self.specs.len(), self.splits.len());
        let table = self.table.into_inner();
        let values = |of: fn(&(f64, f64, f64)) -> f64| {
            let value = |o: &Option<Outcome>| match o {
                Some(Ok(outcome)) => of(outcome),
                _ => f64::NAN,
            };
            Tensor::new(vec![trials, folds], table.outcomes.iter().flatten().map(value).collect())
        };
        let tried = table.outcomes.iter().zip(&table.pruned).zip(self.candidates);
        let tried = tried.map(|((outcomes, pruned), params)| TrialResult {
            params: params.clone(),
            state: state(outcomes, *pruned),
            error: outcomes
                .iter()
                .flatten()
                .find_map(|o| o.as_ref().err())
                .map_or(String::new(), |e| e.message.clone()),
        });
        let mut search = Search {
            best: None,
            best_index: 0,
            trials: tried.collect(),
            scores: values(|o| o.0),
            fit_times: values(|o| o.1),
            score_times: values(|o| o.2),
            notes: Vec::new(),
            untrained: String::new(),
        };
        let ranks = search.ranks();
        let done = (0..trials).filter(|trial| search.trials[*trial].state == State::Done);
        if let Some(best) = done.min_by_key(|trial| ranks[*trial]) {
            search.best_index = best;
            return Ok(search);
        }
        if search.trials.iter().any(|t| t.state == State::Stopped) {
            return Err(Error::stopped(format!("stopped before one of {trials} trials was complete")));
        }
        let first = table.outcomes.into_iter().flatten().flatten().find_map(Result::err);
        Err(match first {
            Some(error) => {
                Error { message: format!("all {trials} trials failed, the first with: {}", error.message), ..error }
            }
            None => Error::new(ErrorKind::Search, format!("none of {trials} trials was complete")),
        })
    }
}

/// The scores of folds that all ran. `None` if one did not.
fn known(outcomes: &[Option<Outcome>]) -> Option<Vec<f64>> {
    outcomes.iter().map(|o| o.as_ref()?.as_ref().ok().map(|o| o.0)).collect()
}

fn state(outcomes: &[Option<Outcome>], pruned: bool) -> State {
    match () {
        () if outcomes.iter().flatten().any(Result::is_err) => State::Failed,
        () if pruned => State::Pruned,
        () if outcomes.iter().all(Option::is_some) => State::Done,
        () => State::Stopped,
    }
}

/// The mean and the population's standard deviation.
fn mean_and_std(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt())
}

impl Search {
    fn folds(&self) -> usize {
        self.scores.shape.get(1).copied().unwrap_or(0)
    }

    /// Mean and standard deviation of the folds of a trial that ran. NaN if none did, or if a fold failed.
    fn spread(&self, trial: usize) -> (f64, f64) {
        let scores = self.scores.row(trial).iter().copied();
        match self.trials[trial].state {
            State::Done => mean_and_std(self.scores.row(trial)),
            State::Failed => (f64::NAN, f64::NAN),
            State::Pruned | State::Stopped => mean_and_std(&scores.filter(|s| !s.is_nan()).collect::<Vec<f64>>()),
        }
    }

    /// The rank of each trial, from 1: equal means share the first rank. Trials that are not complete, or without a
    /// score, share the last one.
    fn ranks(&self) -> Vec<i64> {
        let mean = |trial: usize| match self.trials[trial].state {
            State::Done => Some(self.spread(trial).0).filter(|m| !m.is_nan()),
            _ => None,
        };
        let means: Vec<Option<f64>> = (0..self.trials.len()).map(mean).collect();
        let mut order: Vec<f64> = means.iter().flatten().copied().collect();
        order.sort_by(|a, b| b.total_cmp(a));
        let rank = |mean: &Option<f64>| mean.map_or(order.len(), |mean| order.partition_point(|m| *m > mean));
        means.iter().map(|mean| rank(mean) as i64 + 1).collect()
    }

    fn results(&self) -> Attribute {
        let trials = 0..self.trials.len();
        let folds = self.folds();
        let mut columns: Vec<(String, Values)> = Vec::new();
        for (i, (path, _)) in self.trials.first().map_or(&[][..], |t| &t.params).iter().enumerate() {
            let values: Vec<&Param> = self.trials.iter().map(|t| &t.params[i].1).collect();
            columns.push((format!("param_{path}"), column(&values)));
        }
        let floats = |of: &dyn Fn(usize) -> f64| Values::Floats(trials.clone().map(of).collect());
        columns.push(("mean_test_score".to_string(), floats(&|trial| self.spread(trial).0)));
        columns.push(("std_test_score".to_string(), floats(&|trial| self.spread(trial).1)));
        columns.push(("rank_test_score".to_string(), Values::Ints(self.ranks())));
        for fold in 0..folds {
            columns.push((format!("split{fold}_test_score"), floats(&|trial| self.scores.row(trial)[fold])));
        }
        let mean = |times: &Tensor, trial: usize| {
            mean_and_std(&times.row(trial).iter().copied().filter(|t| !t.is_nan()).collect::<Vec<f64>>()).0
        };
        columns.push(("mean_fit_time".to_string(), floats(&|trial| mean(&self.fit_times, trial))));
        columns.push(("mean_score_time".to_string(), floats(&|trial| mean(&self.score_times, trial))));
        let states = self.trials.iter().map(|t| t.state.word().to_string());
        columns.push(("state".to_string(), Values::Strs(states.collect())));
        if self.trials.iter().any(|t| !t.error.is_empty()) {
            columns.push(("error".to_string(), Values::Strs(self.trials.iter().map(|t| t.error.clone()).collect())));
        }
        Attribute::Frame(columns)
    }
}

/// The values of a parameter as a column: numbers, with NaN for none, or else strings as they are written in a cell.
fn column(values: &[&Param]) -> Values {
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
            Some(best) => {
                check::features(&best.spec, data)?;
                best.model().apply(data, wanted)
            }
            None if !self.untrained.is_empty() => {
                Err(Error::new(ErrorKind::Search, self.untrained.clone())
                    .help("train the estimator with `best_params`"))
            }
            None => Err(Error::new(ErrorKind::Search, "the search has no model: it was run with `refit` = false")
                .help("set `refit` to true, or train the estimator with `best_params`")),
        }
    }

    fn attribute(&self, name: &str, features: &[Field], classes: &[String]) -> Option<Attribute> {
        match name {
            "results" => Some(self.results()),
            "best_score" => Some(Attribute::Float(self.spread(self.best_index).0)),
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
        if !fits || self.fit_times.shape != *shape || self.score_times.shape != *shape {
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
        3 * self.scores.bytes() + self.best.as_ref().map_or(0, |best| best.model().bytes())
    }
}
