//! Searches of parameters: `GridSearchCV`, `RandomizedSearchCV`, `TpeSearchCV`, `HalvingGridSearchCV` and
//! `HalvingRandomSearchCV`.
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
//! `TpeSearchCV` has one trial at a time, whose leader is the best complete trial before it. Its random trials at the
//! start run all folds.
//!
//! Trainings run at the same time, on the threads of the session, if there are few rows. `n_jobs` says another number.
//! Results do not depend on it.

mod halving;
mod proposals;
mod race;
mod rules;
mod study;

use onrush_wire::learn::{EARLY_STOPPING, Param, Spec, Splitter};

use self::race::Race;
use self::rules::{Rules, SearchParams, SearchPlan};
use self::study::Study;
use super::candidates;
use super::validate;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::estimators::{Candidate, Search, State, Trainer};
use crate::run::Run;
use crate::split;

/// Trains a search. `trainer` trains the candidates.
pub(crate) fn fit(spec: &Spec, data: &Data, run: &Run<'_>, trainer: Trainer<'_>) -> Result<Search, Error> {
    let Some(part) = spec.parts.first() else {
        return Err(Error::new(ErrorKind::Parts, format!("{} has no estimator to try", spec.estimator)));
    };
    let params = SearchParams::of(spec);
    let rules = Rules::of(&params, data)?;
    let combinations = match params.plan {
        SearchPlan::Grid => Some(candidates::grid(spec)?),
        SearchPlan::Random { n_iter, seed } => Some(candidates::sample(spec, n_iter, seed)?),
        SearchPlan::Tpe { .. } | SearchPlan::Halving(_) => None,
    };
    let with_spec = |candidate: Candidate| -> Result<(Spec, Candidate), Error> {
        Ok((candidates::with_params(&part.spec, &candidate)?, candidate))
    };
    let combinations: Option<Vec<(Spec, Candidate)>> =
        combinations.map(|all| all.into_iter().map(with_spec).collect::<Result<_, Error>>()).transpose()?;
    let splitter = spec.cv.clone().unwrap_or(Splitter::Auto { n_splits: 5 });
    let splits = validate::splits_of(data, &splitter)?;
    let mut notes = notes_before(&params, &rules, data, &splitter);
    let study = match &params.study {
        None => None,
        Some(path) => {
            let header = study::header(spec, &part.spec, &splitter, &rules, data);
            Some(Study::open(path, &header, splits.len(), &rules)?)
        }
    };
    let race = Race::new(data, splits, &rules, run, trainer, study);
    match (params.plan, combinations) {
        (SearchPlan::Tpe { n_iter, seed, options }, _) => {
            proposals::run(&race, spec, &part.spec, (n_iter, seed, options), params.prune)?;
        }
        (SearchPlan::Halving(params), _) => notes.extend(halving::run(&race, spec, &part.spec, &params)?),
        (plan, combinations) => {
            let combinations = combinations.unwrap_or_default();
            let all = combinations.len();
            if let SearchPlan::Random { n_iter, .. } = plan
                && all < n_iter
            {
                notes.push(format!("there are {all} combinations, fewer than `n_iter` = {n_iter}: all were tried"));
            }
            race.plan(all);
            for (number, (spec, candidate)) in combinations.into_iter().enumerate() {
                race.add(number, candidate, spec);
            }
            if params.prune { race.race() } else { race.run_all(0..all) }
        }
    }
    race.report(true);
    let planned = race.planned();
    let (mut search, study) = race.into_search()?;
    let done = search.trials.iter().filter(|t| t.state == State::Done).count();
    let is_cut = (run.is_stopped)() && search.trials.len() < planned;
    if is_cut || search.trials.iter().any(|t| t.state == State::Stopped) {
        notes.push(format!("stopped after {done} of {planned} trials: this is the best of them"));
    }
    let failed = search.trials.iter().filter(|t| t.state == State::Failed).count();
    if failed > 0 {
        let first = search.trials.iter().find(|t| t.state == State::Failed).map_or("", |t| t.error.as_str());
        notes.push(format!("{failed} of {} trials failed, the first with: {first}", search.trials.len()));
    }
    if let Some(study) = study {
        notes.extend(study.notes(search.trials.iter().map(|trial| &trial.params)));
    }
    search.notes = notes;
    if rules.refit {
        refit(&part.spec, data, &mut search, run, trainer)?;
    }
    Ok(search)
}

/// Notes that do not depend on the trials.
fn notes_before(params: &SearchParams, rules: &Rules, data: &Data, splitter: &Splitter) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    if rules.scorers.len() > 1 && params.refit == Param::Bool(true) {
        notes.push(format!("`{}`, the first of the scorers, decides: `refit` can name another one", rules.scorers[0]));
    }
    if !data.y.is_empty() && !data.classes.is_empty() {
        notes.extend(split::small_class_note(splitter, &data.y, &data.classes));
    }
    notes
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
