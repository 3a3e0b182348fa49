//! Searches of parameters: `GridSearchCV` and `RandomizedSearchCV`.
//!
//! A trial is a combination of parameters, scored on each fold. The best mean wins, the first of equal ones, and is
//! trained again on all rows. A trial that fails is recorded and does not end the search. A parameter that does not
//! exist or is out of range is an error before the first trial.
//!
//! With `prune` the folds are a race (Maron and Moore 1994). All trials run two folds, and the leader runs all of its
//! folds. Before each further fold a trial is dropped by one of two rules:
//! 1. Its mean would stay below that of the leader even if each remaining fold had the best score of any fold so far.
//! 2. The leader is better on the same folds by more than the one-sided 97.5 % bound of Student's t distribution over
//!    the differences.
//!
//! Both rules are estimates: a dropped trial could still have won. The dropped trials do not depend on threads.

use std::time::{Duration, Instant};

use onrush_wire::learn::{Detail, Spec, Splitter, Trial};
use parking_lot::{Mutex, MutexGuard};

use super::candidates;
use super::score;
use super::validate;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::estimators::{Candidate, Search, State, Trainer, TrialResult, mean_and_std};
use crate::linear::t_distribution;
use crate::params;
use crate::run::Run;
use crate::split::{self, RowSplit};
use crate::tensor::Tensor;

/// The outcome of a fold of a trial: score, and seconds of training and of scoring.
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

/// Trains `GridSearchCV` or `RandomizedSearchCV`. `trainer` trains the candidates.
pub(crate) fn fit(spec: &Spec, data: &Data, run: &Run<'_>, trainer: Trainer<'_>) -> Result<Search, Error> {
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
