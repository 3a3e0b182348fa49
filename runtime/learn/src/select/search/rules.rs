//! The parameters of a search, checked: which trials there are, who scores them, and the outcome of a failure.

use onrush_wire::learn::{Param, Spec};

use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::params;
use crate::select::score;
use crate::select::tpe::TpeOptions;

/// Parameters of a search.
pub(super) struct SearchParams {
    pub scoring: Param,
    pub refit: Param,
    pub prune: bool,
    pub return_train_score: bool,
    pub error_score: Param,
    pub n_jobs: Option<Param>,
    /// The file of the study. `None` without one.
    pub study: Option<String>,
    pub plan: SearchPlan,
}

/// The source of the trials.
pub(super) enum SearchPlan {
    /// All combinations are tried.
    Grid,
    Random {
        n_iter: usize,
        seed: u32,
    },
    Tpe {
        n_iter: usize,
        seed: u32,
        options: TpeOptions,
    },
    Halving(HalvingParams),
}

/// Parameters of successive halving.
pub(super) struct HalvingParams {
    pub factor: f64,
    pub resource: String,
    pub max_resources: Param,
    pub min_resources: Param,
    pub aggressive_elimination: bool,
    pub seed: u32,
    /// `None`: all combinations of the grid.
    pub n_candidates: Option<Param>,
}

/// Reads the parameters that all searches have.
macro_rules! common {
    ($p:ident, $prune:expr, $study:expr, $plan:expr) => {
        SearchParams {
            scoring: $p.scoring,
            refit: $p.refit,
            prune: $prune,
            return_train_score: $p.return_train_score,
            error_score: $p.error_score,
            n_jobs: Some($p.n_jobs).filter(|jobs| *jobs != Param::None),
            study: $study,
            plan: $plan,
        }
    };
}

/// Reads the parameters that both halving searches have.
macro_rules! halving {
    ($p:ident, $n_candidates:expr) => {
        SearchPlan::Halving(HalvingParams {
            factor: $p.factor,
            resource: $p.resource,
            max_resources: $p.max_resources,
            min_resources: $p.min_resources,
            aggressive_elimination: $p.aggressive_elimination,
            seed: params::seed($p.random_state),
            n_candidates: $n_candidates,
        })
    };
}

impl SearchParams {
    pub fn of(spec: &Spec) -> Self {
        match spec.estimator.as_str() {
            "GridSearchCV" => {
                let p = params::GridSearchCV::of(spec);
                common!(p, p.prune, p.study, SearchPlan::Grid)
            }
            "RandomizedSearchCV" => {
                let p = params::RandomizedSearchCV::of(spec);
                let plan = SearchPlan::Random { n_iter: p.n_iter, seed: params::seed(p.random_state) };
                common!(p, p.prune, p.study, plan)
            }
            "HalvingGridSearchCV" => {
                let p = params::HalvingGridSearchCV::of(spec);
                common!(p, false, None, halving!(p, None))
            }
            "HalvingRandomSearchCV" => {
                let p = params::HalvingRandomSearchCV::of(spec);
                common!(p, false, None, halving!(p, Some(p.n_candidates)))
            }
            _ => {
                let p = params::TpeSearchCV::of(spec);
                let options = TpeOptions {
                    n_startup_trials: p.n_startup_trials,
                    n_ei_candidates: p.n_ei_candidates,
                    multivariate: p.multivariate,
                };
                let plan = SearchPlan::Tpe { n_iter: p.n_iter, seed: params::seed(p.random_state), options };
                common!(p, p.prune, p.study, plan)
            }
        }
    }
}

/// The scorers of a search, and the rules that follow from its parameters.
pub(super) struct Rules {
    pub scorers: Vec<String>,
    /// The names in the columns of the results: `score` if one scorer was given and not in a list.
    pub names: Vec<String>,
    /// The position of the scorer that decides.
    pub decides: usize,
    pub refit: bool,
    pub train_score: bool,
    pub on_error: OnError,
    /// Trainings at the same time. `None`: by the number of rows.
    pub jobs: Option<usize>,
}

/// The outcome of a trial in which a training fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum OnError {
    /// It has no score.
    Fail,
    /// The search ends.
    Raise,
    /// The fold has this score.
    Score(f64),
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Parameter, message)
}

/// The names of the scorers.
fn scorers(scoring: &Param, is_classifier: bool) -> Result<Vec<String>, Error> {
    let refused = || wrong(format!("`scoring` is {scoring}: a name of a scorer, or a list of names"));
    let scorers: Vec<String> = match scoring {
        Param::None => vec![score::default_scorer(is_classifier).to_string()],
        Param::Str(name) => vec![name.clone()],
        Param::List(names) => {
            let names = names.iter().map(|name| params::word(name).map(String::from)).collect::<Option<Vec<_>>>();
            names.filter(|names| !names.is_empty()).ok_or_else(refused)?
        }
        _ => return Err(refused()),
    };
    match (1..scorers.len()).find(|k| scorers[..*k].contains(&scorers[*k])) {
        Some(twice) => Err(wrong(format!("`scoring` has `{}` twice", scorers[twice]))),
        None => Ok(scorers),
    }
}

/// The number of trainings at the same time. `None`: by the number of rows.
fn jobs(n_jobs: Option<&Param>) -> Result<Option<usize>, Error> {
    match n_jobs {
        None => Ok(None),
        Some(Param::Int(-1)) => Ok(Some(rayon::current_num_threads())),
        Some(Param::Int(jobs)) if *jobs >= 1 => Ok(Some(*jobs as usize)),
        Some(other) => Err(wrong(format!("`n_jobs` is {other}: at least 1, or -1 for one on each thread"))),
    }
}

impl Rules {
    pub fn of(params: &SearchParams, data: &Data) -> Result<Self, Error> {
        let is_classifier = !data.classes.is_empty();
        let scorers = scorers(&params.scoring, is_classifier)?;
        if scorers.len() > 1 && matches!(params.plan, SearchPlan::Halving(_)) {
            let message = format!("`scoring` is {}: successive halving takes one scorer", params.scoring);
            return Err(wrong(message).help("name the scorer that decides which candidates stay"));
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
        let jobs = jobs(params.n_jobs.as_ref())?;
        Ok(Rules { scorers, names, decides, refit, train_score: params.return_train_score, on_error, jobs })
    }
}
