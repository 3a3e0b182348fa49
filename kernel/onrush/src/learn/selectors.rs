//! Selectors of features that ask an estimator.

use onrush_wire::learn::{Param, Part, Spec};
use onrush_wire::{Class, Diagnostic};

use super::model::{self, FittedModel, IntoTarget};
use super::splitters::Folds;
use super::{Estimator, SupervisedEstimator};
use crate::expr::IntoExprs;
use crate::frame::Frame;
use crate::raise::{here, raise};

macro_rules! selectors {
    ($($(#[$doc:meta])* $name:ident),*) => {$(
        $(#[$doc])*
        #[derive(Clone)]
        #[must_use]
        pub struct $name {
            spec: Spec,
        }

        impl $name {
            /// Chooses features by what this estimator learns.
            ///
            /// Raises if it has evaluation sets: their columns are not chosen.
            #[track_caller]
            pub fn new(estimator: impl SupervisedEstimator) -> Self {
                let mut inner = estimator.spec();
                if !estimator.eval_frames().is_empty() {
                    let message = format!("`eval_set` of the estimator in `{}` has no effect", stringify!($name));
                    raise(
                        Diagnostic::error(Class::Plan, "eval-set", message)
                            .at(here("new"), "")
                            .help("leave it out, or give it to the estimator after the selector"),
                    );
                }
                let (features, weight, groups) = (inner.features.take(), inner.weight.take(), inner.groups.take());
                let part = Part { name: "estimator".to_string(), columns: Vec::new(), spec: inner };
                $name { spec: Spec { parts: vec![part], features, weight, groups, ..Spec::new(stringify!($name)) } }
            }

            /// The features: names, expressions, or `numeric().exclude("id")`. Without this call, all columns but the
            /// target.
            pub fn features(mut self, features: impl IntoExprs) -> Self {
                self.spec.features = Some(features.into_exprs());
                self
            }

            /// The column of weights of rows.
            pub fn sample_weight(mut self, column: &str) -> Self {
                self.spec.weight = Some(column.to_string());
                self
            }

            /// The column of groups, for folds by group.
            pub fn groups(mut self, column: &str) -> Self {
                self.spec.groups = Some(column.to_string());
                self
            }

            /// Chooses features by the rows of `frame`. The target is a column or an expression.
            #[track_caller]
            pub fn fit(&self, frame: &Frame, target: impl IntoTarget) -> FittedModel<$name> {
                FittedModel::new(model::fit(self, frame, Some(target.into_target()), here("fit")))
            }
        }

        impl Estimator for $name {
            fn spec(&self) -> Spec {
                self.spec.clone()
            }
        }

        impl SupervisedEstimator for $name {}

        impl FittedModel<$name> {
            /// A row for each feature: `feature`, `selected`, and for `SelectFromModel` its `importance`.
            #[track_caller]
            pub fn support(&self) -> Frame {
                model::attribute(self, "support", here("support"))
            }
        }
    )*};
}
selectors! {
    /// Keeps the features with large coefficients or importances in a model of all features.
    SelectFromModel,
    /// Leaves out the least important features round by round, and trains the estimator again in each round.
    RFE,
    /// [`RFE`] with the number of features that has the best score in a cross-validation.
    RFECV,
    /// Adds or leaves out one feature after the other: the one with the best score in a cross-validation.
    SequentialFeatureSelector
}

impl SelectFromModel {
    /// The least importance: a number, `"mean"`, `"median"`, or a multiple such as `"1.25*mean"`. Without it: 1e-5 for
    /// a model with an l1 penalty, else `"mean"`.
    pub fn threshold(mut self, value: impl Into<Param>) -> Self {
        self.spec.set("threshold", value);
        self
    }

    /// The order of the norm over several rows of coefficients: an integer, or an infinity.
    pub fn norm_order(mut self, value: impl Into<Param>) -> Self {
        self.spec.set("norm_order", value);
        self
    }

    /// The largest number of features.
    pub fn max_features(mut self, count: usize) -> Self {
        self.spec.set("max_features", count);
        self
    }
}

impl FittedModel<SelectFromModel> {
    /// The least importance of the features that stay.
    #[track_caller]
    pub fn threshold(&self) -> f64 {
        model::float(self, "threshold", here("threshold"))
    }
}

/// The options of an elimination in rounds, and its attributes.
macro_rules! rounds {
    ($($name:ident)*) => {$(
        impl $name {
            /// How many features leave in a round: a number, or a share of all features.
            pub fn step(mut self, value: impl Into<Param>) -> Self {
                self.spec.set("step", value);
                self
            }
        }

        impl FittedModel<$name> {
            /// A row for each feature: `feature`, `ranking`. 1 stays, 2 left in the last round, and so on.
            #[track_caller]
            pub fn ranking(&self) -> Frame {
                model::attribute(self, "ranking", here("ranking"))
            }

            /// How many features stay.
            #[track_caller]
            pub fn n_features(&self) -> usize {
                model::float(self, "n_features", here("n_features")) as usize
            }
        }
    )*};
}
rounds! { RFE RFECV }

/// The options of a cross-validation.
macro_rules! validated {
    ($($name:ident)*) => {$(
        impl $name {
            /// Folds: a number, or a splitter. Without it: 5.
            pub fn cv(mut self, folds: impl Folds) -> Self {
                self.spec.cv = Some(folds.splitter());
                self
            }

            /// The scorer by its name in scikit-learn: `"roc_auc"`, `"neg_mean_squared_error"`.
            pub fn scoring(mut self, scoring: &str) -> Self {
                self.spec.set("scoring", scoring);
                self
            }
        }
    )*};
}
validated! { RFECV SequentialFeatureSelector }

impl RFE {
    /// The number of features, or a share of them. Without it: half of them.
    pub fn n_features_to_select(mut self, value: impl Into<Param>) -> Self {
        self.spec.set("n_features_to_select", value);
        self
    }
}

impl RFECV {
    /// The least number of features.
    pub fn min_features_to_select(mut self, count: usize) -> Self {
        self.spec.set("min_features_to_select", count);
        self
    }
}

impl FittedModel<RFECV> {
    /// A row for each number of features: `n_features`, mean and standard deviation of the scores, and those of each
    /// fold.
    #[track_caller]
    pub fn cv_results(&self) -> Frame {
        model::attribute(self, "cv_results", here("cv_results"))
    }
}

impl SequentialFeatureSelector {
    /// The number of features, a share of them, or `"auto"`: half of them, or with [`Self::tol`] as many as change the
    /// score by it.
    pub fn n_features_to_select(mut self, value: impl Into<Param>) -> Self {
        self.spec.set("n_features_to_select", value);
        self
    }

    /// The least change of the score by a feature. Negative for `"backward"`: a loss.
    pub fn tol(mut self, change: f64) -> Self {
        self.spec.set("tol", change);
        self
    }

    /// Whether features are added to none (`"forward"`), or left out of all (`"backward"`).
    pub fn direction(mut self, direction: &str) -> Self {
        self.spec.set("direction", direction);
        self
    }
}

impl FittedModel<SequentialFeatureSelector> {
    /// How many features stay.
    #[track_caller]
    pub fn n_features_to_select(&self) -> usize {
        model::float(self, "n_features_to_select", here("n_features_to_select")) as usize
    }
}
