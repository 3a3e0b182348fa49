//! Searches of parameters.

use onrush_wire::learn::{Grid, Param, Part, Spec};
use onrush_wire::session::{Reply, Request};

use super::model::{self, FittedModel, IntoTarget, Model};
use super::splitters::Folds;
use super::{Estimator, SupervisedEstimator};
use crate::frame::Frame;
use crate::raise::here;
use crate::session;

/// The values of a parameter that a search tries: a list, a range of integers, [`uniform`] or [`log_uniform`].
pub trait IntoGrid {
    #[doc(hidden)]
    fn into_grid(self) -> Grid;
}

impl IntoGrid for Grid {
    fn into_grid(self) -> Grid {
        self
    }
}

impl<T: Into<Param>, const N: usize> IntoGrid for [T; N] {
    fn into_grid(self) -> Grid {
        Grid::List(self.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Param>> IntoGrid for Vec<T> {
    fn into_grid(self) -> Grid {
        Grid::List(self.into_iter().map(Into::into).collect())
    }
}

macro_rules! ranges {
    ($($t:ty),*) => {$(
        impl IntoGrid for std::ops::RangeInclusive<$t> {
            fn into_grid(self) -> Grid {
                Grid::Integers(*self.start() as i64, *self.end() as i64)
            }
        }

        impl IntoGrid for std::ops::Range<$t> {
            fn into_grid(self) -> Grid {
                Grid::Integers(self.start as i64, self.end as i64 - 1)
            }
        }
    )*};
}
ranges!(i32, i64, usize);

/// Numbers from `low` to `high`, all as likely.
pub fn uniform(low: impl Into<f64>, high: impl Into<f64>) -> Grid {
    Grid::Uniform(low.into(), high.into())
}

/// Numbers from `low` to `high`, uniform in their logarithm.
pub fn log_uniform(low: impl Into<f64>, high: impl Into<f64>) -> Grid {
    Grid::LogUniform(low.into(), high.into())
}

macro_rules! searches {
    ($($(#[$doc:meta])* $name:ident),*) => {$(
        $(#[$doc])*
        #[derive(Clone)]
        #[must_use]
        pub struct $name {
            spec: Spec,
            eval: Vec<Frame>,
        }

        impl $name {
            /// A search over parameters of this estimator.
            ///
            /// A boosted model with early stopping and without an `eval_set` is scored after each round on the test
            /// rows of its fold. The best parameters are then trained on all rows for the mean number of rounds.
            pub fn new(estimator: impl SupervisedEstimator) -> Self {
                let (mut inner, eval) = (estimator.spec(), estimator.eval_frames());
                let (features, weight, groups) = (inner.features.take(), inner.weight.take(), inner.groups.take());
                let part = Part { name: "estimator".to_string(), columns: Vec::new(), spec: inner };
                let spec = Spec { parts: vec![part], features, weight, groups, ..Spec::new(stringify!($name)) };
                $name { spec, eval }
            }

            /// The values of a parameter. The path goes through the steps of a pipeline: `"ridge__alpha"` or
            /// `"ridge.alpha"`. scikit-learn's `C` is taken, too.
            pub fn param(mut self, path: &str, values: impl IntoGrid) -> Self {
                self.spec.grid.push((path.to_string(), values.into_grid()));
                self
            }

            /// Folds: a number, or a splitter.
            pub fn cv(mut self, folds: impl Folds) -> Self {
                self.spec.cv = Some(folds.splitter());
                self
            }

            /// The scorer by its name in scikit-learn, `"roc_auc"`, or several: `["roc_auc", "accuracy"]`. The
            /// first one decides, or the one that [`Self::refit`] names.
            pub fn scoring(mut self, scoring: impl Into<Param>) -> Self {
                self.spec.set("scoring", scoring.into());
                self
            }

            /// Whether the best parameters are trained on all rows. Without, the search predicts nothing. With several
            /// scorers the name of the one that decides, `"roc_auc"`, which else is the first one.
            pub fn refit(mut self, refit: impl Into<Param>) -> Self {
                self.spec.set("refit", refit.into());
                self
            }

            /// Whether the training rows are scored, too.
            pub fn return_train_score(mut self, yes: bool) -> Self {
                self.spec.set("return_train_score", yes);
                self
            }

            /// The score of a fold whose training fails: a number, or `"raise"` to end the search. Without, its trial
            /// is `failed` and has no score.
            pub fn error_score(mut self, score: impl Into<Param>) -> Self {
                self.spec.set("error_score", score.into());
                self
            }

            /// How many trainings run at the same time, -1 for one on each thread. Without a number, as many as there
            /// are threads for up to 20,000 rows, else one. Results do not depend on it.
            pub fn n_jobs(mut self, jobs: i64) -> Self {
                self.spec.set("n_jobs", jobs);
                self
            }

            /// The column of groups, for folds by group.
            pub fn groups(mut self, column: &str) -> Self {
                self.spec.groups = Some(column.to_string());
                self
            }

            /// Tries the parameters, and trains the best on all rows. Stopped in the middle, it keeps the best so far.
            #[track_caller]
            pub fn fit(&self, frame: &Frame, target: impl IntoTarget) -> FittedModel<$name> {
                FittedModel::new(model::fit(self, frame, Some(target.into_target()), here("fit")))
            }
        }

        impl Estimator for $name {
            fn spec(&self) -> Spec {
                self.spec.clone()
            }

            fn eval_frames(&self) -> Vec<Frame> {
                self.eval.clone()
            }
        }

        impl SupervisedEstimator for $name {}

        impl FittedModel<$name> {
            /// A row for each trial: its parameters, scores by fold, mean, standard deviation and rank.
            #[track_caller]
            pub fn results(&self) -> Frame {
                model::attribute(self, "results", here("results"))
            }

            /// The parameters of the best trial: `name`, `value`.
            #[track_caller]
            pub fn best_params(&self) -> Frame {
                model::attribute(self, "best_params", here("best_params"))
            }

            /// The mean score of the best trial.
            #[track_caller]
            pub fn best_score(&self) -> f64 {
                model::float(self, "best_score", here("best_score"))
            }

            /// The row of the best trial in [`Self::results`].
            #[track_caller]
            pub fn best_index(&self) -> usize {
                model::float(self, "best_index", here("best_index")) as usize
            }

            /// The model with the best parameters, trained on all rows.
            pub fn best_model(&self) -> Model {
                (**self).clone()
            }
        }
    )*};
}
searches! {
    /// Tries all combinations of the values.
    GridSearchCV,
    /// Tries combinations at random: [`RandomizedSearchCV::n_iter`] of them.
    RandomizedSearchCV,
    /// Tries combinations that the tree-structured Parzen estimator proposes, as Optuna's `TPESampler` does:
    /// [`TpeSearchCV::n_iter`] of them. Each proposal looks at the trials before it.
    TpeSearchCV,
    /// Tries all combinations with few rows, and the best of them with more and more (successive halving).
    HalvingGridSearchCV,
    /// Tries combinations at random with few rows, and the best of them with more and more (successive halving).
    HalvingRandomSearchCV
}

/// Methods of searches in which each trial runs on all rows.
macro_rules! studies {
    ($($name:ident),*) => {$(
        impl $name {
            /// Whether unpromising trials end before their last fold (racing, Maron and Moore 1994).
            pub fn prune(mut self, yes: bool) -> Self {
                self.spec.set("prune", yes);
                self
            }

            /// The file of a study, in the folder of the notebook: `"rents"` is `rents.jsonl`. Each complete trial is
            /// a line of it. A search of the same estimator, values, folds and rows continues with the trials that are
            /// there, also after a restart. A file of another search is an error.
            pub fn study(mut self, path: impl AsRef<std::path::Path>) -> Self {
                let mut path = std::path::PathBuf::from(crate::frame::path_text(path));
                if path.file_name().is_some() && path.extension().is_none() {
                    path.set_extension("jsonl");
                }
                let file = match path.as_os_str().is_empty() {
                    true => path,
                    false => std::path::Path::new(&crate::frame::folder()).join(path),
                };
                self.spec.set("study", file.display().to_string());
                self
            }
        }
    )*};
}
studies!(GridSearchCV, RandomizedSearchCV, TpeSearchCV);

/// Methods of searches that draw `n_iter` combinations.
macro_rules! draws {
    ($($name:ident),*) => {$(
        impl $name {
            /// The number of trials.
            pub fn n_iter(mut self, trials: usize) -> Self {
                self.spec.set("n_iter", trials);
                self
            }

            /// The seed.
            pub fn random_state(mut self, seed: u32) -> Self {
                self.spec.set("random_state", seed);
                self
            }
        }
    )*};
}
draws!(RandomizedSearchCV, TpeSearchCV);

impl TpeSearchCV {
    /// The number of random trials at the start.
    pub fn n_startup_trials(mut self, trials: usize) -> Self {
        self.spec.set("n_startup_trials", trials);
        self
    }

    /// The number of draws that each proposal is chosen from.
    pub fn n_ei_candidates(mut self, draws: usize) -> Self {
        self.spec.set("n_ei_candidates", draws);
        self
    }

    /// Whether the parameters are drawn together, as in Optuna 5. Otherwise each one is drawn by its own densities.
    pub fn multivariate(mut self, yes: bool) -> Self {
        self.spec.set("multivariate", yes);
        self
    }
}

/// Methods of successive halving.
macro_rules! halvings {
    ($($name:ident),*) => {$(
        impl $name {
            /// One in so many candidates stays, and its resources grow by this factor.
            pub fn factor(mut self, factor: impl Into<f64>) -> Self {
                self.spec.set("factor", factor.into());
                self
            }

            /// The resource that grows: `"n_samples"`, the number of rows, or the path of a parameter.
            pub fn resource(mut self, path: &str) -> Self {
                self.spec.set("resource", path);
                self
            }

            /// The most resources of a candidate. Without, the number of rows.
            pub fn max_resources(mut self, resources: impl Into<Param>) -> Self {
                self.spec.set("max_resources", resources.into());
                self
            }

            /// The resources of the first iteration: a number, `"smallest"` or `"exhaust"`.
            pub fn min_resources(mut self, resources: impl Into<Param>) -> Self {
                self.spec.set("min_resources", resources.into());
                self
            }

            /// Whether the first iteration repeats until the remaining candidates fit the resources.
            pub fn aggressive_elimination(mut self, yes: bool) -> Self {
                self.spec.set("aggressive_elimination", yes);
                self
            }

            /// The seed of the rows, and of random combinations.
            pub fn random_state(mut self, seed: u32) -> Self {
                self.spec.set("random_state", seed);
                self
            }
        }

        impl FittedModel<$name> {
            /// A row for each iteration: `iter`, `n_resources`, `n_candidates`.
            #[track_caller]
            pub fn iterations(&self) -> Frame {
                model::attribute(self, "iterations", here("iterations"))
            }
        }
    )*};
}
halvings!(HalvingGridSearchCV, HalvingRandomSearchCV);

impl HalvingRandomSearchCV {
    /// The number of combinations in the first iteration, or `"exhaust"`.
    pub fn n_candidates(mut self, candidates: impl Into<Param>) -> Self {
        self.spec.set("n_candidates", candidates.into());
        self
    }
}

/// Mean silhouette coefficient of all rows, from -1 to 1. `label` is the column of clusters; all other columns of
/// numbers are the features.
#[track_caller]
pub fn silhouette_score(frame: &Frame, label: &str) -> f64 {
    let at = here("silhouette_score");
    let request =
        Request::ClusterScore { frame: frame.id(), label: label.to_string(), score: "silhouette".to_string() };
    match session::expect(&request, at.clone()) {
        Reply::Value { value: onrush_wire::Value::Float(value), .. } => value,
        other => session::unexpected(&other, at),
    }
}
