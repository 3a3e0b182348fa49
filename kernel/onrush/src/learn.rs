//! Models: builders of estimators, and handles of fitted models in the session.
//!
//! The builders are made from the table of estimators (`kernel/wire/src/learn`), so names, parameters and defaults are
//! written once. Training and prediction happen in the session (`runtime/learn`).

mod builders;
mod compose;
mod ensembles;
mod model;
mod report;
mod select;
mod selectors;
mod shap;
mod splitters;
mod validate;

pub use builders::*;
pub use compose::{
    ColumnTransformer, FeatureUnion, IntoSteps, Pipeline, TransformedTargetRegressor, make_pipeline, make_union,
};
pub use ensembles::{
    AdaBoostClassifier, AdaBoostRegressor, BaggingClassifier, BaggingRegressor, CalibratedClassifierCV, IntoEstimators,
    NamedEstimator, OneVsOneClassifier, OneVsRestClassifier, StackingClassifier, StackingRegressor, VotingClassifier,
    VotingRegressor,
};
pub(crate) use model::object_of;
pub use model::{FittedModel, IntoTarget, Model, Permutations, get_model, load_model, n_repeats};
pub use report::Report;
pub use select::*;
pub use selectors::{RFE, RFECV, SelectFromModel, SequentialFeatureSelector};
pub use shap::{Shap, ShapOptions, shap_options};
pub use splitters::*;
pub use validate::*;

use onrush_wire::learn::Spec;

use crate::frame::Frame;

/// An estimator with its parameters, before it has seen data. `Vec<Box<dyn Estimator>>` holds several kinds.
pub trait Estimator {
    /// The name and the parameters.
    #[doc(hidden)]
    fn spec(&self) -> Spec;

    /// Frames on which a boosted model is scored after each round.
    #[doc(hidden)]
    fn eval_frames(&self) -> Vec<Frame> {
        Vec::new()
    }
}

/// An estimator that learns from a target: a regressor or a classifier.
pub trait SupervisedEstimator: Estimator {}

/// An estimator that learns from features alone.
pub trait UnsupervisedEstimator: Estimator {}

impl<E: Estimator + ?Sized> Estimator for &E {
    fn spec(&self) -> Spec {
        (**self).spec()
    }

    fn eval_frames(&self) -> Vec<Frame> {
        (**self).eval_frames()
    }
}

impl<E: Estimator + ?Sized> Estimator for Box<E> {
    fn spec(&self) -> Spec {
        (**self).spec()
    }

    fn eval_frames(&self) -> Vec<Frame> {
        (**self).eval_frames()
    }
}

impl Estimator for Spec {
    fn spec(&self) -> Spec {
        self.clone()
    }
}

/// All columns of numbers, for `.features(numeric().exclude("id"))`.
pub fn numeric() -> crate::Expr {
    crate::Expr(onrush_wire::Expr::call("numeric", []))
}
