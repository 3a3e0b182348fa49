//! The trials of a search while they run: their folds, their outcomes, and the race between them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use onrush_wire::learn::{Detail, Spec, Trial};
use parking_lot::{Mutex, MutexGuard};
use rayon::prelude::*;

use super::rules::{OnError, Rules};
use super::study::Study;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::estimators::{Candidate, HalvingRound, ScorerTable, Search, State, Trainer, TrialResult, mean_and_std};
use crate::linear::t_distribution;
use crate::run::Run;
use crate::select::validate::{self, FirstFailure};
use crate::split::RowSplit;
use crate::tensor::Tensor;

/// The outcome of a fold of a trial.
pub(super) type Outcome = Result<ScoredFold, Error>;

/// The scores of a fold, by the scorers, and its times in seconds.
#[derive(Clone, Debug)]
pub(super) struct ScoredFold {
    pub test: Vec<f64>,
    /// Empty unless asked for.
    pub train: Vec<f64>,
    pub fit_time: f64,
    pub score_time: f64,
    pub best_iteration: Option<i64>,
    /// Why the fold has the score of `error_score`. Empty if its training did not fail.
    pub error: String,
}

/// Trials reported at once: the last ones.
const SHOWN: usize = 200;

/// A trial that is not complete yet.
struct RaceTrial {
    /// Its place among the trials of the search.
    number: usize,
    candidate: Candidate,
    spec: Arc<Spec>,
    splits: Arc<Vec<RowSplit>>,
    /// The iteration of successive halving.
    round: Option<HalvingRound>,
    /// For each fold. `None`: has not run.
    outcomes: Vec<Option<Outcome>>,
    pruned: bool,
}

impl RaceTrial {
    fn has_failed(&self) -> bool {
        self.outcomes.iter().flatten().any(Result::is_err)
    }

    fn state(&self) -> State {
        match () {
            () if self.has_failed() => State::Failed,
            () if self.pruned => State::Pruned,
            () if self.outcomes.iter().all(Option::is_some) => State::Done,
            () => State::Stopped,
        }
    }

    /// The first failure. Empty if there is none.
    fn error(&self) -> String {
        let error = |outcome: &Outcome| match outcome {
            Err(error) => Some(error.message.clone()),
            Ok(scored) => (!scored.error.is_empty()).then(|| scored.error.clone()),
        };
        self.outcomes.iter().flatten().find_map(error).unwrap_or_default()
    }
}

#[derive(Default)]
struct RaceTable {
    trials: Vec<RaceTrial>,
    reported: Option<Instant>,
}

/// The trials while they run.
pub(super) struct Race<'a> {
    pub data: &'a Data,
    /// The folds of all rows.
    pub splits: Arc<Vec<RowSplit>>,
    pub run: &'a Run<'a>,
    pub study: Option<Study>,
    rules: &'a Rules,
    trainer: Trainer<'a>,
    /// How many trials there will be.
    planned: AtomicUsize,
    table: Mutex<RaceTable>,
}

impl<'a> Race<'a> {
    pub fn new(
        data: &'a Data,
        splits: Vec<RowSplit>,
        rules: &'a Rules,
        run: &'a Run<'a>,
        trainer: Trainer<'a>,
        study: Option<Study>,
    ) -> Self {
        let (splits, planned, table) = (Arc::new(splits), AtomicUsize::new(0), Mutex::default());
        Race { data, splits, run, study, rules, trainer, planned, table }
    }

    fn table(&self) -> MutexGuard<'_, RaceTable> {
        self.table.lock()
    }

    pub fn folds(&self) -> usize {
        self.splits.len()
    }

    /// Says how many trials there will be, for the progress.
    pub fn plan(&self, trials: usize) {
        self.planned.store(trials, Ordering::Relaxed);
        self.run.stage(format!("try {trials} combinations on {} folds", self.folds()));
    }

    /// Adds a trial, and gives its position. Folds of the study's file, or of an equal trial, are not trained again.
    pub fn add(&self, number: usize, candidate: Candidate, spec: Spec) -> usize {
        let same = |trial: &&RaceTrial| trial.state() == State::Done && trial.candidate == candidate;
        let known = self.study.as_ref().and_then(|study| study.outcomes(&candidate));
        let mut table = self.table();
        let known = known.or_else(|| table.trials.iter().find(same).map(|trial| trial.outcomes.clone()));
        let outcomes = known.unwrap_or_else(|| vec![None; self.folds()]);
        let (spec, splits) = (Arc::new(spec), Arc::clone(&self.splits));
        table.trials.push(RaceTrial { number, candidate, spec, splits, round: None, outcomes, pruned: false });
        table.trials.len() - 1
    }

    /// Adds a trial of an iteration of successive halving, on separate folds.
    pub fn add_to_round(
        &self,
        round: HalvingRound,
        candidate: Candidate,
        spec: Spec,
        splits: &Arc<Vec<RowSplit>>,
    ) -> usize {
        let mut table = self.table();
        let (number, outcomes) = (table.trials.len(), vec![None; splits.len()]);
        let (spec, splits, round) = (Arc::new(spec), Arc::clone(splits), Some(round));
        table.trials.push(RaceTrial { number, candidate, spec, splits, round, outcomes, pruned: false });
        number
    }

    /// The folds that have not run, of trials that are in the race.
    fn tasks(&self, trials: std::ops::Range<usize>, folds: std::ops::Range<usize>) -> Vec<(usize, usize)> {
        let table = self.table();
        let left = trials.filter(|trial| !table.trials[*trial].pruned);
        let of_trial = |trial: usize| folds.clone().map(move |fold| (trial, fold));
        left.flat_map(of_trial).filter(|(trial, fold)| table.trials[*trial].outcomes[*fold].is_none()).collect()
    }

    /// Runs all folds of these trials.
    pub fn run_all(&self, trials: std::ops::Range<usize>) {
        self.run(self.tasks(trials, 0..self.folds()));
    }

    fn run(&self, tasks: Vec<(usize, usize)>) {
        let raises = self.rules.on_error == OnError::Raise;
        if raises && self.table().trials.iter().any(RaceTrial::has_failed) {
            return;
        }
        let failed = FirstFailure::default();
        let many_rows = validate::is_sequential(self.data.rows);
        self.in_parallel(tasks.len(), |at| {
            let (trial, fold) = tasks[at];
            if (self.run.is_stopped)() || (raises && failed.check(at).is_err()) {
                return;
            }
            // A training on many rows is expensive. The folds that remain do not depend on threads, because those
            // after a failure are left out in the end.
            if many_rows && self.table().trials[trial].outcomes[..fold].iter().flatten().any(Result::is_err) {
                return;
            }
            let Some(outcome) = self.outcome(trial, fold) else { return };
            failed.record(at, &outcome);
            let mut table = self.table();
            table.trials[trial].outcomes[fold] = Some(outcome);
            let complete = (table.trials[trial].state() == State::Done).then_some(&table.trials[trial]);
            if let (Some(study), Some(trial)) = (&self.study, complete) {
                study.append(trial.number, &trial.candidate, &trial.outcomes, self.rules.decides);
            }
            drop(table);
            self.report(false);
        });
    }

    /// Calls `work` for each task: on as many threads as `n_jobs` says, or as the number of rows allows.
    fn in_parallel(&self, tasks: usize, work: impl Fn(usize) + Sync) {
        match self.rules.jobs {
            None => {
                validate::in_waves(self.data.rows, (0..tasks).collect(), work);
            }
            Some(1) => (0..tasks).for_each(work),
            Some(jobs) => {
                let next = AtomicUsize::new(0);
                let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < tasks);
                let worker = |_: usize| std::iter::from_fn(take).for_each(&work);
                (0..jobs.min(tasks)).into_par_iter().with_max_len(1).for_each(worker);
            }
        }
    }

    /// Trains and scores a fold of a trial. `None` if the user stopped it.
    fn outcome(&self, trial: usize, fold: usize) -> Option<Outcome> {
        let inner = Run { is_stopped: self.run.is_stopped, ..Run::silent() };
        let (spec, splits) = {
            let trial = &self.table().trials[trial];
            (Arc::clone(&trial.spec), Arc::clone(&trial.splits))
        };
        let (split, rules) = (&splits[fold], self.rules);
        let (scorers, trainer) = (&rules.scorers, self.trainer);
        let made = validate::train_and_score(&spec, self.data, split, scorers, rules.train_score, &inner, trainer);
        let values = |scores: Vec<(String, f64)>| scores.into_iter().map(|(_, score)| score).collect();
        Some(match (made, rules.on_error) {
            (Err(error), _) if error.is_stopped() => return None,
            (Err(error), OnError::Score(value)) => Ok(ScoredFold {
                test: vec![value; scorers.len()],
                train: if rules.train_score { vec![value; scorers.len()] } else { Vec::new() },
                fit_time: f64::NAN,
                score_time: f64::NAN,
                best_iteration: None,
                error: error.message,
            }),
            (Err(error), _) => Err(error),
            (Ok(made), _) => Ok(ScoredFold {
                test: values(made.test),
                train: values(made.train),
                fit_time: made.fit_time,
                score_time: made.score_time,
                best_iteration: made.best_iteration,
                error: String::new(),
            }),
        })
    }

    /// The score of a fold by the scorer that decides.
    fn deciding(&self, scored: &ScoredFold) -> f64 {
        scored.test.get(self.rules.decides).copied().unwrap_or(f64::NAN)
    }

    /// The scores of folds that all ran. `None` if one did not.
    fn known(&self, outcomes: &[Option<Outcome>]) -> Option<Vec<f64>> {
        outcomes.iter().map(|o| o.as_ref()?.as_ref().ok().map(|o| self.deciding(o))).collect()
    }

    /// The mean score of a complete trial. `None` if the trial is not complete.
    pub fn mean(&self, trial: usize) -> Option<f64> {
        let table = self.table();
        self.known(&table.trials[trial].outcomes).map(|scores| mean_and_std(&scores).0)
    }

    /// The number of folds of a pruned trial, and their mean score. `None` if the trial was not pruned.
    pub fn pruned(&self, trial: usize) -> Option<(usize, f64)> {
        let table = self.table();
        let trial = &table.trials[trial];
        let scores = trial.outcomes.iter().filter_map(|o| Some(self.deciding(o.as_ref()?.as_ref().ok()?)));
        let scores: Vec<f64> = scores.collect();
        (trial.state() == State::Pruned).then(|| (scores.len(), mean_and_std(&scores).0))
    }

    /// Runs the folds of all trials with pruning: see the head of `search.rs`.
    pub fn race(&self) {
        let (all, folds) = (0..self.table().trials.len(), self.folds());
        self.run(self.tasks(all.clone(), 0..folds.min(2)));
        if folds <= 2 {
            return;
        }
        let Some(leader) = self.leader(2) else { return self.run(self.tasks(all, 2..folds)) };
        self.run(self.tasks(leader..leader + 1, 2..folds));
        for fold in 2..folds {
            self.prune(leader, all.clone(), fold);
            self.run(self.tasks(all.clone(), fold..fold + 1));
        }
    }

    /// Runs the folds of one trial in a race against a complete one.
    pub fn race_against(&self, leader: usize, trial: usize) {
        let (own, folds) = (trial..trial + 1, self.folds());
        self.run(self.tasks(own.clone(), 0..folds.min(2)));
        for fold in 2..folds {
            self.prune(leader, own.clone(), fold);
            self.run(self.tasks(own.clone(), fold..fold + 1));
        }
    }

    /// The trial with the best mean over the first folds.
    fn leader(&self, folds: usize) -> Option<usize> {
        let table = self.table();
        let means = table.trials.iter().map(|of| Some(self.known(&of.outcomes[..folds])?.iter().sum::<f64>()));
        let better = |best: Option<(usize, f64)>, (trial, mean): (usize, Option<f64>)| match (best, mean) {
            (best, None) => best,
            (_, Some(mean)) if mean.is_nan() => best,
            (Some((_, most)), Some(mean)) if mean <= most => best,
            (_, Some(mean)) => Some((trial, mean)),
        };
        means.enumerate().fold(None, better).map(|(trial, _)| trial)
    }

    /// Drops some of the trials that have run `folds` folds and can hardly beat the leader.
    fn prune(&self, leader: usize, trials: std::ops::Range<usize>, folds: usize) {
        let mut table = self.table();
        let Some(best) = self.known(&table.trials[leader].outcomes) else { return };
        let all = best.len() as f64;
        let goal = best.iter().sum::<f64>() / all;
        // Trials of a study's file may have run more folds than the others in the race.
        let ran = |at: usize| if at != leader && trials.contains(&at) { folds } else { self.folds() };
        let outcomes = table.trials.iter().enumerate().flat_map(|(at, trial)| &trial.outcomes[..ran(at)]);
        let scores = outcomes.filter_map(|o| o.as_ref()?.as_ref().ok().map(|o| self.deciding(o)));
        let bound = t_distribution::quantile(0.025, (folds - 1) as f64);
        let highest = scores.fold(f64::NEG_INFINITY, f64::max);
        for trial in trials.clone().filter(|trial| *trial != leader) {
            let Some(own) = self.known(&table.trials[trial].outcomes[..folds]) else { continue };
            // A trial of the study's file is complete already.
            if table.trials[trial].state() == State::Done {
                continue;
            }
            let n = folds as f64;
            let most = (own.iter().sum::<f64>() + (all - n) * highest) / all;
            let behind: Vec<f64> = best.iter().zip(&own).map(|(a, b)| a - b).collect();
            let mean = behind.iter().sum::<f64>() / n;
            let variance = behind.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0);
            if most < goal || mean > bound * (variance / n).sqrt() {
                table.trials[trial].pruned = true;
            }
        }
    }

    /// Shows the trials, at most ten times a second unless it is the last time.
    pub fn report(&self, last: bool) {
        let mut table = self.table();
        let now = Instant::now();
        if !last && table.reported.is_some_and(|at| now - at < Duration::from_millis(100)) {
            return;
        }
        table.reported = Some(now);
        let dropped = |trial: &RaceTrial| match trial.pruned || trial.has_failed() {
            true => trial.outcomes.iter().filter(|o| o.is_none()).count() as u64,
            false => 0,
        };
        let planned = self.planned.load(Ordering::Relaxed).max(table.trials.len());
        let all = (planned * self.folds()) as u64 - table.trials.iter().map(dropped).sum::<u64>();
        // Folds of a study's file and of equal trials count as done.
        let done: usize = table.trials.iter().map(|trial| trial.outcomes.iter().flatten().count()).sum();
        let started = |trial: &&RaceTrial| trial.outcomes.iter().any(Option::is_some);
        let mut shown: Vec<&RaceTrial> = table.trials.iter().rev().filter(started).take(SHOWN).collect();
        shown.reverse();
        let trials = shown.into_iter().map(|trial| self.shown(trial)).collect();
        drop(table);
        (self.run.steps)(done as u64, all);
        (self.run.detail)(Detail::Trials(trials));
    }

    fn shown(&self, trial: &RaceTrial) -> Trial {
        let outcomes = &trial.outcomes;
        let scores: Vec<f64> =
            outcomes.iter().filter_map(|o| Some(self.deciding(o.as_ref()?.as_ref().ok()?))).collect();
        let state = match trial.state() {
            State::Stopped => "running",
            state => state.word(),
        };
        let spread = (!scores.is_empty()).then(|| mean_and_std(&scores));
        Trial {
            number: trial.number as u32,
            params: trial.candidate.clone(),
            mean: spread.map(|s| s.0),
            std: spread.map(|s| s.1),
            folds: outcomes.iter().flatten().count() as u32,
            state: state.to_string(),
        }
    }

    /// How many trials there were to be.
    pub fn planned(&self) -> usize {
        self.planned.load(Ordering::Relaxed)
    }

    /// The trials in the order of their numbers, with the best one among them, and the study.
    ///
    /// # Errors
    /// If no trial is complete, or one failed and errors are raised.
    pub fn into_search(self) -> Result<(Search, Option<Study>), Error> {
        let (folds, rules, planned) = (self.folds(), self.rules, self.planned.into_inner());
        let mut trials = self.table.into_inner().trials;
        trials.sort_by_key(|trial| trial.number);
        if validate::is_sequential(self.data.rows) {
            for trial in &mut trials {
                let first = trial.outcomes.iter().position(|o| o.as_ref().is_some_and(Result::is_err));
                if let Some(at) = first {
                    trial.outcomes[at + 1..].fill(None);
                }
            }
        }
        let outcomes = || trials.iter().flat_map(|trial| &trial.outcomes);
        let failure = || outcomes().flatten().find_map(|o| o.as_ref().err());
        if let (OnError::Raise, Some(error)) = (rules.on_error, failure()) {
            return Err(error.clone());
        }
        let values = |of: &dyn Fn(&ScoredFold) -> f64| {
            let value = |o: &Option<Outcome>| match o {
                Some(Ok(outcome)) => of(outcome),
                _ => f64::NAN,
            };
            Tensor::new(vec![trials.len(), folds], outcomes().map(value).collect())
        };
        let at = |scores: &[f64], k: usize| scores.get(k).copied().unwrap_or(f64::NAN);
        let of_scorer = |(k, name): (usize, &String)| ScorerTable {
            name: name.clone(),
            test: values(&|o| at(&o.test, k)),
            train: rules.train_score.then(|| values(&|o| at(&o.train, k))),
        };
        let is_plain = !rules.train_score && rules.names == ["score"];
        let rounds = values(&|o| o.best_iteration.map_or(f64::NAN, |round| round as f64));
        let tried = trials.iter().map(|trial| TrialResult {
            params: trial.candidate.clone(),
            state: trial.state(),
            error: trial.error(),
            round: trial.round,
        });
        let mut search = Search {
            best: None,
            best_index: 0,
            trials: tried.collect(),
            scores: values(&|o| at(&o.test, rules.decides)),
            all_scores: if is_plain { Vec::new() } else { rules.names.iter().enumerate().map(of_scorer).collect() },
            best_iterations: rounds.data.iter().any(|round| !round.is_nan()).then_some(rounds),
            fit_times: values(&|o| o.fit_time),
            score_times: values(&|o| o.score_time),
            notes: Vec::new(),
            untrained: String::new(),
        };
        if let Some(best) = search.best_of_last_round() {
            search.best_index = best;
            return Ok((search, self.study));
        }
        let all = trials.len().max(planned);
        if (self.run.is_stopped)() || search.trials.iter().any(|t| t.state == State::Stopped) {
            return Err(Error::stopped(format!("stopped before one of {all} trials was complete")));
        }
        Err(match failure().cloned() {
            Some(error) => {
                let what = match all {
                    1 => "the trial failed, with".to_string(),
                    all => format!("all {all} trials failed, the first with"),
                };
                Error { message: format!("{what}: {}", error.message), ..error }
            }
            None => Error::new(ErrorKind::Search, format!("none of {all} trials was complete")),
        })
    }
}
