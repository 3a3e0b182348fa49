//! Estimators that train several others: votes, stacks, bagging, calibration, boosting by weights of rows.

use onrush_wire::learn::{Param, Part, Spec};
use onrush_wire::{Class, Diagnostic, Span};

use super::compose::name;
use super::model::{self, FittedModel, IntoTarget};
use super::splitters::Folds;
use super::{Estimator, SupervisedEstimator};
use crate::expr::IntoExprs;
use crate::frame::Frame;
use crate::raise::{here, raise};

/// An estimator of an ensemble: `LogisticRegression::new()`, or with a name `("lr", LogisticRegression::new())`.
pub trait NamedEstimator {
    #[doc(hidden)]
    fn into_part(self, at: &Span) -> Part;
}

impl<E: Estimator> NamedEstimator for E {
    fn into_part(self, at: &Span) -> Part {
        Part { name: String::new(), columns: Vec::new(), spec: inside(&self, at) }
    }
}

impl<N: AsRef<str>, E: Estimator> NamedEstimator for (N, E) {
    fn into_part(self, at: &Span) -> Part {
        Part { name: self.0.as_ref().to_string(), columns: Vec::new(), spec: inside(&self.1, at) }
    }
}

/// The specification of an estimator in an ensemble. Raises if it has evaluation sets, which would be lost.
fn inside(estimator: &impl Estimator, at: &Span) -> Spec {
    let spec = estimator.spec();
    if !estimator.eval_frames().is_empty() {
        let message = format!("`eval_set` of `{}`, which is inside of an ensemble", spec.estimator);
        raise(
            Diagnostic::error(Class::Plan, "eval-set", message)
                .at(at.clone(), "")
                .help("train the estimator alone, or leave `eval_set` out: an ensemble takes no evaluation sets"),
        );
    }
    spec
}

/// Several estimators of an ensemble: a tuple of up to six, or a `Vec`, such as `Vec<Box<dyn Estimator>>`. Estimators
/// without a name get scikit-learn's: the name in lower case, numbered where it occurs twice.
pub trait IntoEstimators {
    #[doc(hidden)]
    fn into_parts(self, at: &Span) -> Vec<Part>;
}

impl<N: NamedEstimator> IntoEstimators for Vec<N> {
    fn into_parts(self, at: &Span) -> Vec<Part> {
        self.into_iter().map(|estimator| estimator.into_part(at)).collect()
    }
}

macro_rules! tuples {
    ($($($name:ident)*;)*) => {$(
        #[allow(non_snake_case)]
        impl<$($name: NamedEstimator),*> IntoEstimators for ($($name,)*) {
            fn into_parts(self, at: &Span) -> Vec<Part> {
                let ($($name,)*) = self;
                vec![$($name.into_part(at)),*]
            }
        }
    )*};
}
tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
}

/// The estimators with their names.
fn named(estimators: impl IntoEstimators, at: &Span) -> Vec<Part> {
    let mut parts = estimators.into_parts(at);
    let mut unnamed: Vec<Part> = parts.iter().filter(|part| part.name.is_empty()).cloned().collect();
    name(&mut unnamed);
    let places = parts.iter_mut().filter(|part| part.name.is_empty());
    places.zip(unnamed).for_each(|(place, part)| *place = part);
    parts
}

/// A specification with one estimator inside, whose features, weights and groups become those of the whole.
fn around(estimator: &str, mut inner: Spec) -> Spec {
    let (features, weight, groups) = (inner.features.take(), inner.weight.take(), inner.groups.take());
    let part = Part { name: "estimator".to_string(), columns: Vec::new(), spec: inner };
    Spec { parts: vec![part], features, weight, groups, ..Spec::new(estimator) }
}

macro_rules! ensemble {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $setter:ident: $t:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone)]
        #[must_use]
        pub struct $name {
            spec: Spec,
        }

        impl $name {
            $(
                $(#[$about])*
                pub fn $setter(mut self, value: $t) -> Self {
                    self.spec.set(stringify!($setter), value);
                    self
                }
            )*

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

            /// Trains on the rows of `frame`. The target is a column or an expression.
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
    };
}

/// Methods that take a list of numbers.
macro_rules! weights {
    ($name:ident) => {
        impl $name {
            /// The weight of each estimator.
            pub fn weights(mut self, values: impl IntoIterator<Item = f64>) -> Self {
                self.spec.set("weights", values.into_iter().collect::<Vec<f64>>());
                self
            }
        }
    };
}

/// Makes an ensemble of different estimators.
macro_rules! of_several {
    ($($name:ident),*) => {$(
        impl $name {
            /// Takes the estimators: a tuple of up to six, or a `Vec`. Each may have a name:
            /// `(("lr", LogisticRegression::new()), ("nb", GaussianNB::new()))`.
            #[track_caller]
            pub fn new(estimators: impl IntoEstimators) -> Self {
                $name { spec: Spec { parts: named(estimators, &here("new")), ..Spec::new(stringify!($name)) } }
            }
        }
    )*};
}

/// Makes an ensemble of one estimator that is trained several times.
macro_rules! of_one {
    ($($name:ident),*) => {$(
        impl $name {
            /// Takes the estimator inside.
            #[track_caller]
            pub fn new(estimator: impl SupervisedEstimator) -> Self {
                $name { spec: around(stringify!($name), inside(&estimator, &here("new"))) }
            }
        }
    )*};
}

/// Attributes as methods of the fitted model.
macro_rules! attributes {
    ($name:ident { $($(#[$about:meta])* $attribute:ident),* }) => {
        impl FittedModel<$name> {
            $(
                $(#[$about])*
                #[track_caller]
                pub fn $attribute(&self) -> Frame {
                    model::attribute(self, stringify!($attribute), here(stringify!($attribute)))
                }
            )*
        }
    };
}

ensemble! {
    /// A vote of several classifiers.
    VotingClassifier {
        /// `"hard"` counts predicted classes, `"soft"` takes the mean of the probabilities.
        voting: &str,
    }
}
ensemble! {
    /// The mean of the predictions of several regressors.
    VotingRegressor {}
}
weights!(VotingClassifier);
weights!(VotingRegressor);

ensemble! {
    /// A classifier of the outputs of other classifiers.
    StackingClassifier {
        /// The outputs that the final estimator sees: `"auto"`, `"predict_proba"`, `"decision_function"` or
        /// `"predict"`.
        stack_method: &str,
        /// Whether the final estimator also sees the features.
        passthrough: bool,
    }
}
ensemble! {
    /// A regressor of the predictions of other regressors.
    StackingRegressor {
        /// Whether the final estimator also sees the features.
        passthrough: bool,
    }
}
of_several!(VotingClassifier, VotingRegressor);

/// Stacks have a final estimator at the end.
macro_rules! stacks {
    ($($name:ident $default:literal),*) => {$(
        impl $name {
            /// Takes the estimators: a tuple of up to six, or a `Vec`. Each may have a name.
            #[doc = concat!("The final estimator is `", $default, "` until another one is set.")]
            #[track_caller]
            pub fn new(estimators: impl IntoEstimators) -> Self {
                let mut parts = named(estimators, &here("new"));
                parts.push(Part {
                    name: "final_estimator".to_string(),
                    columns: Vec::new(),
                    spec: Spec::new($default),
                });
                $name { spec: Spec { parts, ..Spec::new(stringify!($name)) } }
            }

            /// The estimator that is trained on the outputs of the others.
            #[track_caller]
            pub fn final_estimator(mut self, estimator: impl SupervisedEstimator) -> Self {
                if let Some(last) = self.spec.parts.last_mut() {
                    last.spec = inside(&estimator, &here("final_estimator"));
                }
                self
            }

            /// Folds: a number, or a splitter that tests each row once.
            pub fn cv(mut self, folds: impl Folds) -> Self {
                self.spec.cv = Some(folds.splitter());
                self
            }
        }
    )*};
}
stacks!(StackingClassifier "LogisticRegression", StackingRegressor "RidgeCV");

ensemble! {
    /// The mean of classifiers of one kind, each trained on a random sample of the rows and features.
    BaggingClassifier {
        /// Number of classifiers.
        n_estimators: usize,
        /// Rows of a sample: a number, or a share.
        max_samples: impl Into<Param>,
        /// Features of a sample: a number, or a share.
        max_features: impl Into<Param>,
        /// Whether rows are drawn with replacement.
        bootstrap: bool,
        /// Whether features are drawn with replacement.
        bootstrap_features: bool,
        /// Whether each row is scored by the classifiers that did not see it.
        oob_score: bool,
        /// The seed.
        random_state: usize,
    }
}
ensemble! {
    /// The mean of regressors of one kind, each trained on a random sample of the rows and features.
    BaggingRegressor {
        /// Number of regressors.
        n_estimators: usize,
        /// Rows of a sample: a number, or a share.
        max_samples: impl Into<Param>,
        /// Features of a sample: a number, or a share.
        max_features: impl Into<Param>,
        /// Whether rows are drawn with replacement.
        bootstrap: bool,
        /// Whether features are drawn with replacement.
        bootstrap_features: bool,
        /// Whether each row is scored by the regressors that did not see it.
        oob_score: bool,
        /// The seed.
        random_state: usize,
    }
}
ensemble! {
    /// A classifier whose scores are turned into probabilities by calibration on rows that it was not trained on.
    CalibratedClassifierCV {
        /// `"sigmoid"` fits a logistic function, `"isotonic"` a rising step function.
        method: &str,
        /// Whether the mean of a calibrated classifier for each fold is taken, else one classifier of all rows.
        ensemble: bool,
    }
}
ensemble! {
    /// Several classes by a classifier of each class and the other ones.
    OneVsRestClassifier {}
}
ensemble! {
    /// Several classes by a classifier of each pair of classes.
    OneVsOneClassifier {}
}
of_one!(BaggingClassifier, BaggingRegressor, CalibratedClassifierCV, OneVsRestClassifier, OneVsOneClassifier);

impl CalibratedClassifierCV {
    /// Folds: a number, or a splitter.
    pub fn cv(mut self, folds: impl Folds) -> Self {
        self.spec.cv = Some(folds.splitter());
        self
    }
}

ensemble! {
    /// Boosting of a classifier by weights of rows (SAMME).
    AdaBoostClassifier {
        /// The largest number of classifiers.
        n_estimators: usize,
        /// The seed.
        random_state: usize,
    }
}
ensemble! {
    /// Boosting of a regressor by samples of rows with weights (AdaBoost.R2).
    AdaBoostRegressor {
        /// The largest number of regressors.
        n_estimators: usize,
        /// The loss of a row: `"linear"`, `"square"` or `"exponential"`.
        loss: &str,
        /// The seed.
        random_state: usize,
    }
}

macro_rules! learning_rate {
    ($($name:ident),*) => {$(
        impl $name {
            /// The factor of the weights of estimators.
            pub fn learning_rate(mut self, value: impl Into<f64>) -> Self {
                let value: f64 = value.into();
                self.spec.set("learning_rate", value);
                self
            }
        }
    )*};
}
learning_rate!(AdaBoostClassifier, AdaBoostRegressor);

/// Makes an ensemble with a default estimator: decision trees.
macro_rules! of_trees {
    ($($name:ident $tree:literal $depth:literal;)*) => {$(
        impl $name {
            #[doc = concat!("Of decision trees of depth ", $depth, ", until another estimator is set.")]
            pub fn new() -> Self {
                let depth: usize = $depth;
                $name { spec: around(stringify!($name), Spec::new($tree).with("max_depth", depth)) }
            }

            /// The estimator that is boosted.
            #[track_caller]
            pub fn estimator(mut self, estimator: impl SupervisedEstimator) -> Self {
                let around = around(stringify!($name), inside(&estimator, &here("estimator")));
                self.spec.parts = around.parts;
                self.spec.features = around.features.or(self.spec.features);
                self.spec.weight = around.weight.or(self.spec.weight);
                self.spec.groups = around.groups.or(self.spec.groups);
                self
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new()
            }
        }
    )*};
}
of_trees! {
    AdaBoostClassifier "DecisionTreeClassifier" 1;
    AdaBoostRegressor "DecisionTreeRegressor" 3;
}

/// Takes decision trees.
impl Default for BaggingClassifier {
    fn default() -> Self {
        BaggingClassifier { spec: around("BaggingClassifier", Spec::new("DecisionTreeClassifier")) }
    }
}

/// Takes decision trees.
impl Default for BaggingRegressor {
    fn default() -> Self {
        BaggingRegressor { spec: around("BaggingRegressor", Spec::new("DecisionTreeRegressor")) }
    }
}

attributes! {
    BaggingClassifier {
        /// Probabilities of each row by the classifiers that did not see it.
        oob_decision_function,
        /// The features of each classifier.
        estimators_features
    }
}
attributes! {
    BaggingRegressor {
        /// The prediction of each row by the regressors that did not see it.
        oob_prediction,
        /// The features of each regressor.
        estimators_features
    }
}
attributes! {
    CalibratedClassifierCV {
        /// Slopes and intercepts of the calibrators, or the points of their lines.
        calibrators
    }
}
attributes! {
    AdaBoostClassifier {
        /// The weight of each classifier.
        estimator_weights,
        /// The weighted share of wrong rows of each classifier.
        estimator_errors,
        /// The weighted mean of the importances of features.
        feature_importances
    }
}
attributes! {
    AdaBoostRegressor {
        /// The weight of each regressor.
        estimator_weights,
        /// The weighted mean loss of each regressor.
        estimator_errors,
        /// The weighted mean of the importances of features.
        feature_importances
    }
}

macro_rules! oob_score {
    ($($name:ident),*) => {$(
        impl FittedModel<$name> {
            /// Accuracy or R² of the rows by the estimators that did not see them.
            #[track_caller]
            pub fn oob_score(&self) -> f64 {
                model::float(self, "oob_score", here("oob_score"))
            }
        }
    )*};
}
oob_score!(BaggingClassifier, BaggingRegressor);
