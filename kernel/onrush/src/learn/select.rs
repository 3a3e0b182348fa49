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

            /// Whether unpromising trials end before their last fold (racing, Maron and Moore 1994).
            pub fn prune(mut self, yes: bool) -> Self {
                self.spec.set("prune", yes);
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
    RandomizedSearchCV
}

impl RandomizedSearchCV {
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
