//! Searches of parameters: `GridSearchCV` and `RandomizedSearchCV`.
//!
//! A trial is a combination of parameters, scored on each fold. The best mean wins, the first of equal ones, and is
//! trained again on all rows. A trial that fails is recorded and does not end the search, unless `error_score` is
//! `raise`. A parameter that does not exist or is out of range is an error before the first trial.
//!
//! With `prune` the folds are a race (Maron and Moore 1994). All trials run two folds, and the leader runs all of its
//! folds. Before each further fold a trial is dropped by one of two rules:
//! 1. Its mean would stay below that of the leader even if each remaining fold had the best score of any fold so far.
//! 2. The leader is better on the same folds by more than the one-sided 97.5 % bound of Student's t distribution over
//!    the differences.
//!
//! Both rules are estimates: a dropped trial could still have won. The dropped trials do not depend on threads.

use std::time::{Duration, Instant};

use onrush_wire::learn::{Detail, EARLY_STOPPING, Param, Spec, Splitter, Trial};
use parking_lot::{Mutex, MutexGuard};

use super::candidates;
use super::score;
use super::validate::{self, FirstFailure};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::estimators::{Candidate, ScorerTable, Search, State, Trainer, TrialResult, mean_and_std};
use crate::linear::t_distribution;
use crate::params;
use crate::run::Run;
use crate::split::{self, RowSplit};
use crate::tensor::Tensor;

/// The outcome of a fold of a trial.
type Outcome = Result<ScoredFold, Error>;

/// The scores of a fold, by the scorers, and its times in seconds.
#[derive(Clone, Debug)]
struct ScoredFold {
    test: Vec<f64>,
    /// Empty unless asked for.
    train: Vec<f64>,
    fit_time: f64,
    score_time: f64,
    best_iteration: Option<i64>,
    /// Why the fold has the score of `error_score`. Empty if its training did not fail.
    error: String,
}

/// Trials reported at once: the last ones.
const SHOWN: usize = 200;

/// Parameters of a search.
struct SearchParams {
    scoring: Param,
    refit: Param,
    prune: bool,
    return_train_score: bool,
    error_score: Param,
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
                let params::GridSearchCV { scoring, refit, prune, return_train_score, error_score } =
                    params::GridSearchCV::of(spec);
                SearchParams { scoring, refit, prune, return_train_score, error_score, draws: None }
            }
            _ => {
                let p = params::RandomizedSearchCV::of(spec);
                SearchParams {
                    scoring: p.scoring,
                    refit: p.refit,
                    prune: p.prune,
                    return_train_score: p.return_train_score,
                    error_score: p.error_score,
                    draws: Some(Draws { n_iter: p.n_iter, seed: params::seed(p.random_state) }),
                }
            }
        }
    }
}

/// The scorers of a search, and the rules that follow from its parameters.
struct Rules {
    scorers: Vec<String>,
    /// The names in the columns of the results: `score` if one scorer was given and not in a list.
    names: Vec<String>,
    /// The position of the scorer that decides.
    decides: usize,
    refit: bool,
    train_score: bool,
    on_error: OnError,
}

/// The outcome of a trial in which a training fails.
#[derive(Clone, Copy, Debug, PartialEq)]
enum OnError {
    /// It has no score.
    Fail,
    /// The search ends.
    Raise,
    /// The fold has this score.
    Score(f64),
}

impl Rules {
    fn of(params: &SearchParams, data: &Data) -> Result<Self, Error> {
        let is_classifier = !data.classes.is_empty();
        let wrong = |message: String| Error::new(ErrorKind::Parameter, message);
        let scorers: Vec<String> = match &params.scoring {
            Param::None => vec![score::default_scorer(is_classifier).to_string()],
            Param::Str(name) => vec![name.clone()],
            Param::List(names) => {
                let names = names.iter().map(|name| params::word(name).map(String::from)).collect::<Option<Vec<_>>>();
                names.filter(|names| !names.is_empty()).ok_or_else(|| {
                    wrong(format!("`scoring` is {}: a name of a scorer, or a list of names", params.scoring))
                })?
            }
            other => return Err(wrong(format!("`scoring` is {other}: a name of a scorer, or a list of names"))),
        };
        if let Some(twice) = (1..scorers.len()).find(|k| scorers[..*k].contains(&scorers[*k])) {
            return Err(wrong(format!("`scoring` has `{}` twice", scorers[twice])));
        }
        // Clusterers have no classes: what does not fit them is found when they are scored.
        if !data.y.is_empty() {
            scorers.iter().try_for_each(|scorer| score::check(scorer, is_classifier))?;
        }
        let list = scorers.join(", ");
        let (refit, decides) = match &params.refit {
            Param::Bool(refit) => (*refit, 0),
            Param::Str(name) => match scorers.iter().position(|scorer| scorer == name) {
                Some(decides) => (true, decides),
                None => return Err(wrong(format!("`refit` is `{name}`: one of the scorers, which are {list}"))),
            },
            other => return Err(wrong(format!("`refit` is {other}: true, false or the name of a scorer"))),
        };
        let on_error = match &params.error_score {
            Param::None => OnError::Fail,
            Param::Str(word) if word == "raise" => OnError::Raise,
            other => match other.as_f64() {
                Some(value) if value.is_nan() => OnError::Fail,
                Some(value) => OnError::Score(value),
                None => return Err(wrong(format!("`error_score` is {other}: a number or \"raise\""))),
            },
        };
        let names = match params.scoring {
            Param::List(_) => scorers.clone(),
            _ => vec!["score".to_string()],
        };
        Ok(Rules { scorers, names, decides, refit, train_score: params.return_train_score, on_error })
    }
}

/// Trains `GridSearchCV` or `RandomizedSearchCV`. `trainer` trains the candidates.
pub(crate) fn fit(spec: &Spec, data: &Data, run: &Run<'_>, trainer: Trainer<'_>) -> Result<Search, Error> {
    let Some(part) = spec.parts.first() else {
        return Err(Error::new(ErrorKind::Parts, format!("{} has no estimator to try", spec.estimator)));
    };
    let is_classifier = !data.classes.is_empty();
    let params = SearchParams::of(spec);
    let rules = Rules::of(&params, data)?;
    let candidates = match params.draws {
        None => candidates::grid(spec)?,
        Some(draws) => candidates::sample(spec, draws.n_iter, draws.seed)?,
    };
    let specs: Vec<Spec> =
        candidates.iter().map(|c| candidates::with_params(&part.spec, c)).collect::<Result<_, _>>()?;
    let splitter = spec.cv.clone().unwrap_or(Splitter::Auto { n_splits: 5 });
    let splits = validate::splits_of(data, &splitter)?;
    let mut notes: Vec<String> = Vec::new();
    if rules.scorers.len() > 1 && params.refit == Param::Bool(true) {
        notes.push(format!("`{}`, the first of the scorers, decides: `refit` can name another one", rules.scorers[0]));
    }
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
    let race = Race::new(&candidates, specs, data, splits, &rules, run, trainer);
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
    if rules.refit {
        refit(&part.spec, data, &mut search, run, trainer)?;
    }
    Ok(search)
}

/// Trains the best parameters on all rows.
fn refit(spec: &Spec, data: &Data, search: &mut Search, run: &Run<'_>, trainer: Trainer<'_>) -> Result<(), Error> {
    run.stage("train the best parameters on all rows");
    let mut best = candidates::with_params(spec, &search.trials[search.best_index].params)?;
    let rounds = search.best_rounds(search.best_index);
    if data.eval.is_empty()
        && best.stops_on_eval()
        && rounds.is_finite()
        && let Some(rounds) = fixed_rounds(&mut best, rounds)
    {
        search.notes.push(format!("trained on all rows for {rounds} rounds, the mean of the best rounds of the folds"));
    }
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
    Ok(())
}

/// Replaces early stopping by a number of rounds: the mean of best rounds, which are counted from 0. There are no rows
/// on which a training on all rows could stop. `None` if no estimator inside stops early.
fn fixed_rounds(spec: &mut Spec, best: f64) -> Option<i64> {
    let is_set = |name: &&&str| spec.param(name) != Param::None;
    if let Some(early) = EARLY_STOPPING.iter().find(is_set) {
        let rounds = best.round() as i64 + 1;
        spec.set(early, Param::None);
        spec.set("n_estimators", rounds);
        return Some(rounds);
    }
    spec.parts.iter_mut().find_map(|part| fixed_rounds(&mut part.spec, best))
}

/// The trials while they run.
struct Race<'a> {
    candidates: &'a [Candidate],
    specs: Vec<Spec>,
    data: &'a Data,
    splits: Vec<RowSplit>,
    rules: &'a Rules,
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
        rules: &'a Rules,
        run: &'a Run<'a>,
        trainer: Trainer<'a>,
    ) -> Self {
        let table = Table {
            outcomes: vec![vec![None; splits.len()]; specs.len()],
            pruned: vec![false; specs.len()],
            done: 0,
            reported: None,
        };
        Race { candidates, specs, data, splits, rules, run, trainer, table: Mutex::new(table) }
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
        let raises = self.rules.on_error == OnError::Raise;
        if raises && (0..self.specs.len()).any(|trial| self.table().has_failed(trial)) {
            return;
        }
        let failed = FirstFailure::default();
        validate::in_waves(self.data.rows, tasks, |task| {
            let (trial, fold) = (task / self.splits.len(), task % self.splits.len());
            if (self.run.is_stopped)() || (raises && failed.check(task).is_err()) {
                return;
            }
            // Only where folds run one after another: which of them ran must not depend on threads.
            if validate::is_sequential(self.data.rows) && self.table().has_failed(trial) {
                return;
            }
            let Some(outcome) = self.outcome(trial, fold) else { return };
            failed.record(task, &outcome);
            let mut table = self.table();
            table.outcomes[trial][fold] = Some(outcome);
            table.done += 1;
            drop(table);
            self.report(false);
        });
    }

    /// Trains and scores a fold of a trial. `None` if the user stopped it.
    fn outcome(&self, trial: usize, fold: usize) -> Option<Outcome> {
        let inner = Run { is_stopped: self.run.is_stopped, ..Run::silent() };
        let (spec, split, rules) = (&self.specs[trial], &self.splits[fold], self.rules);
        let (scorers, trainer) = (&rules.scorers, self.trainer);
        let made = validate::train_and_score(spec, self.data, split, scorers, rules.train_score, &inner, trainer);
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
        let means = table.outcomes.iter().map(|of| Some(self.known(&of[..folds])?.iter().sum::<f64>()));
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
        let Some(best) = self.known(&table.outcomes[leader]) else { return };
        let all = best.len() as f64;
        let goal = best.iter().sum::<f64>() / all;
        let scores =
            table.outcomes.iter().flatten().filter_map(|o| o.as_ref()?.as_ref().ok().map(|o| self.deciding(o)));
        let bound = t_distribution::quantile(0.025, (folds - 1) as f64);
        let highest = scores.fold(f64::NEG_INFINITY, f64::max);
        for trial in (0..self.specs.len()).filter(|trial| *trial != leader) {
            let Some(own) = self.known(&table.outcomes[trial][..folds]) else { continue };
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
        let scores: Vec<f64> =
            outcomes.iter().filter_map(|o| Some(self.deciding(o.as_ref()?.as_ref().ok()?))).collect();
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
        let (table, rules) = (self.table.into_inner(), self.rules);
        if let (OnError::Raise, Some(error)) =
            (rules.on_error, table.outcomes.iter().flatten().flatten().find_map(|o| o.as_ref().err()))
        {
            return Err(error.clone());
        }
        let values = |of: &dyn Fn(&ScoredFold) -> f64| {
            let value = |o: &Option<Outcome>| match o {
                Some(Ok(outcome)) => of(outcome),
                _ => f64::NAN,
            };
            Tensor::new(vec![trials, folds], table.outcomes.iter().flatten().map(value).collect())
        };
        let at = |scores: &[f64], k: usize| scores.get(k).copied().unwrap_or(f64::NAN);
        let of_scorer = |(k, name): (usize, &String)| ScorerTable {
            name: name.clone(),
            test: values(&|o| at(&o.test, k)),
            train: rules.train_score.then(|| values(&|o| at(&o.train, k))),
        };
        let is_plain = !rules.train_score && rules.names == ["score"];
        let rounds = values(&|o| o.best_iteration.map_or(f64::NAN, |round| round as f64));
        let tried = table.outcomes.iter().zip(&table.pruned).zip(self.candidates);
        let tried = tried.map(|((outcomes, pruned), params)| TrialResult {
            params: params.clone(),
            state: state(outcomes, *pruned),
            error: error_of(outcomes),
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
                let all =
                    if trials == 1 { "the trial failed".to_string() } else { format!("all {trials} trials failed") };
                let first = if trials == 1 { "with" } else { "the first with" };
                Error { message: format!("{all}, {first}: {}", error.message), ..error }
            }
            None => Error::new(ErrorKind::Search, format!("none of {trials} trials was complete")),
        })
    }
}

/// The first failure of a trial. Empty if there is none.
fn error_of(outcomes: &[Option<Outcome>]) -> String {
    let error = |outcome: &Outcome| match outcome {
        Err(error) => Some(error.message.clone()),
        Ok(scored) => (!scored.error.is_empty()).then(|| scored.error.clone()),
    };
    outcomes.iter().flatten().find_map(error).unwrap_or_default()
}

fn state(outcomes: &[Option<Outcome>], pruned: bool) -> State {
    match () {
        () if outcomes.iter().flatten().any(Result::is_err) => State::Failed,
        () if pruned => State::Pruned,
        () if outcomes.iter().all(Option::is_some) => State::Done,
        () => State::Stopped,
    }
}
